package messages

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// agentFile is the content of agent.json, as SessionAgent.from_dict of the SDK and
// restore_from_session of its conversation managers read it.
type agentFile struct {
	// members are the members of agent.json in the state of the newest snapshot, as
	// compact JSON with the comma before it.
	members []byte
	// keys are the keys of members.
	keys []string
	// missing says that there is no agent.json.
	missing bool
	// manager is the class of the conversation manager, "" where it is not said.
	manager string
	// removed is how many messages the conversation manager took out, and
	// pinned how many at the head stay although others behind them went.
	removed, pinned int
	// summary is the message that replaces the removed messages, as compact JSON; nil if
	// there is no summary.
	summary []byte
	// interrupted says that an interrupt waits for an answer; held are the
	// tool calls that run when it has one.
	interrupted bool
	held        []call
	// waiting are the interrupts that wait, each in a line.
	waiting []string
	// interrupts are the ids by which they are answered.
	interrupts []string
	updated    time.Time
	written    int64 // bytes of the file
}

// agentMember is a key of a state, and where agent.json has it.
type agentMember struct {
	key  string
	path []string
}

// agentMembers are the keys of a state and their places in agent.json. The names come
// from the SDK's own Snapshot (types/_snapshot.py).
var agentMembers = []agentMember{
	{"state", []string{"state"}},
	{"conversation_manager_state", []string{"conversation_manager_state"}},
	{"interrupt_state", []string{"_internal_state", "interrupt_state"}},
	{"model_state", []string{"_internal_state", "model_state"}},
}

// agentReader reads one agent.json and gathers what is wrong with it.
type agentReader struct {
	agentFile
	file   string
	tape   *jsontape.Tape
	faults *store.FaultList
	// running is the SDK version that is known to run, or nil.
	running *sdk.Version
}

// readAgent reads the agent.json at name. What cannot be read is left out, and
// told in faults.
func readAgent(t tree.Tree, name string, running *sdk.Version, faults *store.FaultList) agentFile {
	r := agentReader{file: name, running: running, faults: faults}
	r.take(files.ReadDocument(tree.From(t), name, nil))
	return r.agentFile
}

// parseAgent reads the bytes of an agent.json.
func parseAgent(name string, data []byte, running *sdk.Version, faults *store.FaultList) agentFile {
	r := agentReader{file: name, running: running, faults: faults}
	r.take(files.ReadDocument(func(string, []byte) ([]byte, error) { return data, nil }, name, nil))
	return r.agentFile
}

func (r *agentReader) take(d files.Document) {
	r.written = int64(len(d.Data))
	switch {
	case errors.Is(d.Err, fs.ErrNotExist):
		r.missing = true
		return
	case d.Err != nil:
		r.flaw(fileFlaw(FaultAgentFile, &d))
		return
	}
	for _, f := range encodingFlaws(&d) {
		r.flaw(f)
	}
	undecoded := bytesFlaws(&d)
	if len(undecoded) == 0 {
		undecoded = stateBytes(d.Tape)
	}
	for _, f := range slices.Concat(undecoded, oddBytes(&d)) {
		f.verdict = f.verdict.WithRule(decodesAgent, sdk.Loads("the file is not decoded"))
		r.flaw(f)
	}
	for _, f := range oddities(&d, sdk.Loses("but the SDK cannot write agent.json again, which it does at the next message: UnicodeEncodeError")) {
		r.flaw(f)
	}
	if d.Tape.Kind(0) != jsontape.Object {
		r.fault(FaultAgentFile, "", "the file holds no object", sdk.Refuses("AttributeError"))
		return
	}
	r.tape = d.Tape
	r.read()
}

func (r *agentReader) fault(code, path, meaning string, v sdk.Verdict) {
	r.flaw(flaw{code: code, path: path, meaning: meaning, verdict: v})
}

func (r *agentReader) flaw(f flaw) { r.faults.Add(f.fault(r.file, versions(r.running), stand{})) }

func (r *agentReader) read() {
	t := r.tape
	for _, key := range []string{"agent_id", "state", "conversation_manager_state"} {
		if t.Find(0, key) < 0 {
			r.fault(FaultAgentFile, "", fmt.Sprintf("there is no %s", key), sdk.Refuses(fmt.Sprintf("TypeError: missing argument '%s'", key)))
		}
	}
	for _, m := range agentMembers {
		if n := t.Lookup(m.path...); n >= 0 {
			r.members = append(append(append(r.members, `,"`...), m.key...), `":`...)
			r.members = jsontape.AppendCompact(r.members, t.Raw(n))
			r.keys = append(r.keys, m.key)
		}
	}
	r.updated = timeOf(t, t.Find(0, "updated_at"))
	if manager := t.Find(0, "conversation_manager_state"); manager >= 0 {
		r.readManager(manager)
	}
	if state := t.Find(0, "state"); state >= 0 {
		r.state(state)
	}
	switch internal := t.Find(0, "_internal_state"); t.Kind(internal) {
	case jsontape.Null, jsontape.True, jsontape.False, jsontape.Number:
		r.fault(FaultAgentFile, "/_internal_state", "the internal state is no object", sdk.Refuses("TypeError: it is not iterable"))
	}
	if interrupts := t.Lookup("_internal_state", "interrupt_state"); interrupts >= 0 {
		r.interrupt(interrupts)
	}
	if n := t.Lookup("_internal_state", "model_state"); n >= 0 && t.Count(n) > 0 {
		r.fault(FaultStatefulModel, "/_internal_state/model_state", "the model's provider may keep the conversation itself",
			sdk.Loads("with a model that is stateful, none of the messages; they are what was said all the same"))
	}
}

// stateBytes returns the first bytes in the agent's own state, which takes none.
func stateBytes(t *jsontape.Tape) []flaw {
	state := t.Find(0, "state")
	for n := max(0, state); state >= 0 && n < t.End(state); n++ {
		if isBytes(t, n) {
			return []flaw{{code: FaultBytes, path: t.Pointer(n), meaning: "encoded bytes stand in the agent's state, which takes no bytes",
				verdict: sdk.Refuses("ValueError: Value is not JSON serializable")}}
		}
	}
	return nil
}

// state looks at the agent's own state.
func (r *agentReader) state(n jsontape.Node) {
	t := r.tape
	if kind := t.Kind(n); kind != jsontape.Object && truthy(t, n) {
		r.fault(FaultState, "/state", "the agent's state is no object", sdk.Loads("reading or setting a key of it fails"))
	}
	for k := n; k < t.End(n); k++ {
		if t.Kind(k) == jsontape.Object && t.Find(k, "position") >= 0 && (t.Find(k, "cycle_index") >= 0 || t.Find(k, "cycleIndex") >= 0) {
			r.checkpoint(k)
		}
	}
}

// checkpoint looks at what an application kept of Checkpoint.to_dict.
func (r *agentReader) checkpoint(n jsontape.Node) {
	c, _, err := model.CheckpointFromDict(r.tape.Raw(n))
	switch {
	case errors.Is(err, model.ErrCheckpointSchema) || err == nil && c.Dialect == model.CheckpointTypeScript:
		meaning := "the checkpoint is one of the TypeScript SDK"
		if err != nil {
			meaning = err.Error()
		}
		r.fault(FaultCheckpoint, r.tape.Pointer(n), meaning, sdk.Loads("resuming from it rejects the checkpoint's schema version: CheckpointException").
			WithRule(raisesCheckpoint, sdk.Loads("resuming from it is a ValueError")))
	case err != nil:
		r.fault(FaultCheckpoint, r.tape.Pointer(n), err.Error(), sdk.Loads("resuming from it is a TypeError"))
	}
}

const (
	managerPath = "/conversation_manager_state"
	summaryPath = managerPath + "/summary_message"
)

// ownManagers are the conversation managers that the SDK has.
var ownManagers = map[string]bool{"SlidingWindowConversationManager": true, "SummarizingConversationManager": true, "NullConversationManager": true}

// readManager reads the state of the conversation manager. An empty one is that of
// a BidiAgent, which has no such manager and loads all messages.
func (r *agentReader) readManager(n jsontape.Node) {
	t := r.tape
	if t.Kind(n) != jsontape.Object {
		r.fault(FaultAgentFile, managerPath, "the state of the conversation manager is no object", sdk.Refuses("AttributeError"))
		return
	}
	if t.Count(n) == 0 {
		r.fault(FaultBidi, managerPath, "the conversation manager has no state, which is what a BidiAgent writes",
			sdk.Loads("that is, a BidiAgent loads it; an Agent refuses to start: ValueError: Invalid conversation manager state"))
		return
	}
	name := t.Find(n, "__name__")
	r.manager = brief(t, name)
	switch {
	case name < 0:
		r.fault(FaultAgentFile, managerPath, "the conversation manager has no __name__", sdk.Refuses("ValueError: Invalid conversation manager state"))
	case !ownManagers[shortText(t, name, maxName)]:
		r.fault(FaultManager, managerPath+"/__name__", fmt.Sprintf("the conversation manager is %.60s, which is none of the SDK's", t.Raw(name)),
			sdk.Refuses("ValueError: Invalid conversation manager state, unless the program has a conversation manager of that name"))
	}
	if removed := t.Find(n, "removed_message_count"); removed >= 0 {
		r.removed = r.count(removed, managerPath+"/removed_message_count")
	} else {
		r.fault(FaultRemovedCount, managerPath, "there is no removed_message_count", sdk.Refuses("KeyError: 'removed_message_count'"))
	}
	if pinned := t.Find(n, "pinned_head_count"); pinned >= 0 {
		r.pinned = max(0, r.count(pinned, managerPath+"/pinned_head_count"))
	}
	r.summarized(t.Find(n, "summary_message"))
}

// count reads a number of messages, of whatever size.
func (r *agentReader) count(n jsontape.Node, path string) int {
	t := r.tape
	if t.Kind(n) == jsontape.Null {
		r.fault(FaultRemovedCount, path, "the count is null", sdk.Loses("as if it was 0; the next time that messages are removed it is a TypeError"))
		return 0
	}
	if kind := t.Kind(n); kind == jsontape.True || kind == jsontape.False {
		value := 0
		if kind == jsontape.True {
			value = 1
		}
		r.fault(FaultRemovedCount, path, fmt.Sprintf("the count is %s", t.Raw(n)), sdk.Loads(fmt.Sprintf("as if it was %d", value)))
		return value
	}
	if t.Kind(n) == jsontape.Number {
		if value, ok := parseNumber(string(t.Raw(n))); ok {
			return clamp(value)
		}
	}
	r.fault(FaultRemovedCount, path, "the count is no integer", sdk.Refuses("TypeError: slice indices must be integers"))
	return 0
}

// removedText says how many messages were removed.
func (a *agentFile) removedText() string {
	if a.removed == math.MaxInt32 { // see clamp
		return "more messages than anybody has"
	}
	return model.Count(a.removed, "message")
}

// summarized takes the summary, if Python calls it true.
func (r *agentReader) summarized(n jsontape.Node) {
	t := r.tape
	switch kind := t.Kind(n); {
	case kind == jsontape.Invalid, !truthy(t, n):
	case kind == jsontape.Object:
		r.summary = jsontape.AppendCompact(nil, t.Raw(n))
		m := message{location: summaryPath}
		new(decoder).message(&m, t, n)
		for _, f := range m.flaws {
			f.code, f.verdict, f.looks = FaultSummary, f.judged(stand{first: true, role: m.role}), atFile
			r.flaw(f)
		}
	default:
		r.summary = jsontape.AppendCompact(nil, t.Raw(n))
		r.fault(FaultAgentFile, summaryPath, "the summary is no message", flaw{verdict: sdk.Refuses("TypeError"), looks: atMessage}.judged(stand{first: true}))
	}
}

// truthy reports whether Python's bool gives True for a value.
func truthy(t *jsontape.Tape, n jsontape.Node) bool {
	switch t.Kind(n) {
	case jsontape.Object, jsontape.Array:
		return t.Count(n) > 0
	case jsontape.String:
		return len(t.Raw(n)) > len(`""`)
	case jsontape.Number:
		f, err := strconv.ParseFloat(string(t.Raw(n)), 64)
		return f != 0 || err != nil
	}
	return t.Kind(n) == jsontape.True
}

// unlooked is the verdict on what older versions do not know.
var unlooked = sdk.Loads("it is not looked at")

const interruptPath = "/_internal_state/interrupt_state"

// interruptKeys are the fields of Interrupt (interrupt.py of the SDK), which
// is made with exactly what is stored.
var interruptKeys = map[string]bool{"id": true, "name": true, "reason": true, "response": true}

// interrupt reads the interrupt state: the older shape keeps the tool calls in
// "context", the newer one in "pending_tool_execution".
func (r *agentReader) interrupt(n jsontape.Node) {
	t := r.tape
	if t.Kind(n) != jsontape.Object {
		r.fault(FaultAgentFile, interruptPath, "the interrupt state is no object", sdk.Refuses("TypeError"))
		return
	}
	for _, key := range []string{"activated", "context", "interrupts"} {
		if t.Find(n, key) < 0 {
			r.fault(FaultAgentFile, interruptPath, fmt.Sprintf("the interrupt state has no %q", key), sdk.Refuses(fmt.Sprintf("KeyError: '%s'", key)))
		}
	}
	context, interrupts, pending := t.Find(n, "context"), t.Find(n, "interrupts"), t.Find(n, "pending_tool_execution")
	if context >= 0 && t.Kind(context) != jsontape.Object {
		exception := "AttributeError: it cannot be copied"
		if t.Kind(context) == jsontape.Array {
			exception = "TypeError"
		}
		r.fault(FaultAgentFile, interruptPath+"/context", "the context is no object", sdk.Refuses(exception).WithRule(readsPending, unlooked))
	}
	if active := t.Find(n, "activated"); active >= 0 {
		r.interrupted = truthy(t, active)
	}
	if interrupts >= 0 {
		r.checkInterrupts(interrupts)
	}
	if r.interrupted && t.Kind(interrupts) == jsontape.Object && t.Count(interrupts) == 0 {
		r.fault(FaultInterrupt, interruptPath+"/interrupts", "an answer is waited for, and there is no interrupt",
			sdk.Loses("anything but an answer is a TypeError, and an answer to an interrupt that is not there a KeyError"))
	}
	held := t.Find(pending, "assistant_message")
	if pending >= 0 && t.Kind(pending) != jsontape.Null {
		r.pending(pending)
	} else {
		held = t.Find(context, "tool_use_message")
	}
	if held >= 0 {
		var m message
		new(decoder).message(&m, t, held)
		r.held = m.calls
	}
}

// pending looks at what PendingToolExecution of the SDK is made of.
func (r *agentReader) pending(n jsontape.Node) {
	t := r.tape
	const path = interruptPath + "/pending_tool_execution"
	refused := sdk.Refuses("SessionException: Failed to restore pending tool execution state").WithRule(readsPending, unlooked)
	if t.Kind(n) != jsontape.Object {
		r.fault(FaultAgentFile, path, "the pending tool execution is no object", refused)
		return
	}
	fields := map[string]bool{"assistant_message": true, "completed_tool_results": true}
	for c := t.First(n); c >= 0; c = t.Next(c) {
		if key := t.Key(c); !fields[key] {
			r.fault(FaultAgentFile, t.Pointer(c), fmt.Sprintf("the pending tool execution has the key %.40q", key), refused)
		}
	}
	for _, key := range []string{"assistant_message", "completed_tool_results"} {
		if t.Find(n, key) < 0 {
			r.fault(FaultAgentFile, path, fmt.Sprintf("the pending tool execution has no %q", key), refused)
		}
	}
}

// checkInterrupts looks for interrupts that the SDK cannot make.
func (r *agentReader) checkInterrupts(n jsontape.Node) {
	t := r.tape
	if t.Kind(n) != jsontape.Object {
		r.fault(FaultAgentFile, interruptPath+"/interrupts", "the interrupts are no object", sdk.Refuses("AttributeError: it has no attribute 'items'"))
		return
	}
	for i := t.First(n); i >= 0; i = t.Next(i) {
		if t.Kind(i) != jsontape.Object {
			r.fault(FaultAgentFile, t.Pointer(i), "an interrupt is no object", sdk.Refuses("TypeError: it must be a mapping"))
			continue
		}
		r.waits(i)
		for k := t.First(i); k >= 0; k = t.Next(k) {
			if key := t.Key(k); !interruptKeys[key] {
				r.fault(FaultAgentFile, t.Pointer(k), fmt.Sprintf("an interrupt has the key %.40q", key), sdk.Refuses("TypeError: unexpected keyword argument"))
			}
		}
		for _, key := range []string{"id", "name"} {
			if t.Find(i, key) < 0 {
				r.fault(FaultAgentFile, t.Pointer(i), fmt.Sprintf("an interrupt has no %s", key), sdk.Refuses(fmt.Sprintf("TypeError: missing argument '%s'", key)))
			}
		}
	}
}

// waits notes an interrupt that has no answer: its name, its reason, and its id,
// with which it is answered.
func (r *agentReader) waits(n jsontape.Node) {
	t := r.tape
	if !r.interrupted || brief(t, t.Find(n, "response")) != "" {
		return
	}
	line := brief(t, t.Find(n, "name"))
	if reason := brief(t, t.Find(n, "reason")); reason != "" {
		line += ": " + reason
	}
	if id := brief(t, t.Find(n, "id")); id != "" {
		line += " (" + id + ")"
	}
	r.waiting = append(r.waiting, line)
	if id := t.Find(n, "id"); id >= 0 {
		r.agentFile.interrupts = append(r.agentFile.interrupts, t.Text(id))
	}
}
