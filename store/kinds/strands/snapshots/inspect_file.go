package snapshots

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/sdk"
)

// maxPythonDepth is how deep a file may be nested for the SDK for Python to load
// it: its decode_bytes_values recurses, two frames a level, below Python's limit
// of 1,000. maxTypeScriptDepth is where that for TypeScript was seen to fail when
// it copies a state; it depends on the size of the stack.
const (
	maxPythonDepth     = 490
	maxTypeScriptDepth = 5000
)

// inspector looks at one file.
type inspector struct {
	*checkup
	item *item
	doc  *files.Document
	t    *jsontape.Tape
	// sdk are the versions in question.
	sdk sdk.Span
}

// checkFile looks at one file, which was read whole.
func (c *checkup) checkFile(it *item, doc *files.Document) {
	in := inspector{checkup: c, item: it, doc: doc, t: doc.Tape}
	if doc.Err != nil {
		in.unreadableWords()
		return
	}
	in.sdk = c.sdkVersions(c.running, cmp.Or(it.Dialect, c.dialect), doc.Tape)
	in.inspectEncoding()
	if in.t.Kind(0) != jsontape.Object {
		in.addFaultAt(FaultFile, 0, "the file holds no object", in.notAnObject())
		return
	}
	in.inspectEnvelope()
	data := in.t.Find(0, "data")
	switch {
	case in.t.Kind(data) != jsontape.Object:
	case c.scope == scopeAgent:
		in.inspectAgent(data)
	default:
		in.inspectOrchestrator(data)
	}
}

// addFaultAt notes a fault at a node of the file.
func (in *inspector) addFaultAt(code string, n jsontape.Node, meaning string, v verdict) {
	f := model.Fault{Code: code, File: in.place.fileOf(in.item.name), Meaning: meaning}
	if n > 0 {
		f.Path = in.t.Pointer(n)
	}
	in.addFault(in.judgeFault(f, in.item, v, in.sdk))
}

// unreadableWords words why a file cannot be read.
func (in *inspector) unreadableWords() {
	err := in.doc.Err
	f := model.Fault{Code: FaultFile, File: in.place.fileOf(in.item.name), Path: files.ErrorPath(err), Meaning: "the file cannot be read: " + err.Error()}
	v := verdict{sdk.Refuses("SnapshotException: Failed to deserialize snapshot"), sdk.Refuses("SessionError: Corrupted JSON")}
	switch {
	case errors.Is(err, files.ErrSymlink):
		f.Code = FaultSymlink
		v = sameVerdict(sdk.Loads("the SDKs follow links to files"))
	case errors.Is(err, files.ErrTooLarge):
		v = sameVerdict(sdk.Loads("only Hindcast does not read files of this size"))
	case f.Path == "":
		v = verdict{sdk.Refuses("StorageError: it cannot be opened"), sdk.Refuses("SessionError: Failed to read it")}
	case len(in.doc.Data) == 0:
		f.Meaning = "the file is empty"
	}
	in.addFault(in.judgeFault(f, in.item, v, in.sdk))
}

// inspectEncoding looks for encodings that parse here, but that an SDK cannot read.
func (in *inspector) inspectEncoding() {
	e := in.doc.Encoding()
	if e.BOM {
		v := verdict{sdk.Loads("Python takes the mark"), sdk.Loads("unified storage takes the mark")}
		if !in.unified {
			v.typeScript = sdk.Refuses("SessionError: Invalid JSON (only unified storage takes the mark)")
		}
		in.addFaultAt(FaultEncoding, 0, "the file begins with a byte order mark", v)
	}
	if e.Invalid >= 0 {
		in.addFaultAt(FaultEncoding, 0, fmt.Sprintf("the file is not UTF-8 from byte %d on", e.Invalid),
			verdict{sdk.Refuses("SnapshotException: 'utf-8' codec can't decode byte"), sdk.Loads("what is not UTF-8 becomes U+FFFD")})
	}
	if e.Depth > maxPythonDepth {
		v := verdict{sdk.Refuses("RecursionError, unless Python's recursion limit is raised"), sdk.Loads("it is not too deep for JavaScript")}
		if e.Depth > maxTypeScriptDepth {
			v.typeScript = sdk.Refuses("Error: Maximum call stack size exceeded, unless the stack is larger")
		}
		in.addFaultAt(FaultDepth, 0, fmt.Sprintf("values are nested %d deep", e.Depth), v)
	}
	in.inspectNumbers()
}

// inspectNumbers looks for numbers that JSON has not. Only the first is told.
func (in *inspector) inspectNumbers() {
	for n := range jsontape.Node(in.t.Len()) {
		if in.t.Kind(n) == jsontape.Number && !in.t.Standard(n) {
			in.addFaultAt(FaultNumber, n, fmt.Sprintf("the value is %.20s, which is no JSON", in.t.Raw(n)),
				verdict{sdk.Loads("Python reads and writes it"), sdk.Refuses("SessionError: Corrupted JSON")})
			return
		}
	}
}

// notAnObject returns the SDKs' verdict on a file whose value is not an object.
func (in *inspector) notAnObject() verdict {
	v := verdict{sdk.Refuses("SnapshotException: Snapshot is not an object"), sdk.Refuses("Error: Expected snapshot scope '" + in.scope + "', got 'undefined'")}
	if in.t.Kind(0) == jsontape.Null {
		v.typeScript = sdk.Loads("it starts anew, as without a file")
	}
	return v
}

// memberByKey returns a member by the name that the dialect of the file has for it.
func (in *inspector) memberByKey(n jsontape.Node, pythonName, typeScriptName string) jsontape.Node {
	if in.item.Dialect == typeScript {
		return in.t.Find(n, typeScriptName)
	}
	return in.t.Find(n, pythonName)
}

// inspectEnvelope looks at what is around the data, as from_dict and validate of Python
// and loadSnapshot of TypeScript do.
func (in *inspector) inspectEnvelope() {
	version := in.memberByKey(0, "schema_version", "schemaVersion")
	switch {
	case version < 0:
		in.addFaultAt(FaultSchema, 0, "there is no schema version", verdict{
			sdk.Refuses("SnapshotException: Unsupported snapshot schema version: ''"), sdk.Refuses("Error: Unsupported snapshot schema version: undefined")})
	case in.t.Kind(version) != jsontape.String || in.t.Text(version) != "1.0":
		in.addFaultAt(FaultSchema, version, fmt.Sprintf("the schema version is %.40s", in.t.Raw(version)), verdict{
			sdk.Refuses(fmt.Sprintf("SnapshotException: Unsupported snapshot schema version: %.40s", in.t.Raw(version))),
			sdk.Refuses(fmt.Sprintf("Error: Unsupported snapshot schema version: %.40s", in.t.Raw(version)))})
	}
	in.envelopeScope()
	created := in.memberByKey(0, "created_at", "createdAt")
	if created < 0 {
		in.addFaultAt(FaultCreated, 0, "there is no time of creation", verdict{
			sdk.Refuses("SnapshotException: Failed to deserialize snapshot: 'created_at'"), sdk.Loads("the time is not looked at")})
	} else if in.item.Created.IsZero() {
		in.addFaultAt(FaultCreated, created, "the time of creation cannot be read", sameVerdict(sdk.Loads("the time is not looked at")))
	}
	switch data := in.t.Find(0, "data"); in.t.Kind(data) {
	case jsontape.Object:
	case jsontape.Invalid:
		in.addFaultAt(FaultData, 0, "there is no data", verdict{
			sdk.Refuses("SnapshotException: Failed to deserialize snapshot: 'data'"), sdk.Refuses("TypeError: Cannot use 'in' operator to search in undefined")})
	default:
		v := verdict{sdk.Refuses("TypeError: it is not iterable"), sdk.Refuses("TypeError: Cannot use 'in' operator")}
		switch in.t.Kind(data) {
		case jsontape.Array:
			anew := sdk.Loses("nothing is taken from a list: it starts anew")
			v = verdict{sdk.Refuses("AttributeError: 'list' object has no attribute 'get'").WithRule(readsStash, anew), anew}
		case jsontape.String:
			v.python = sdk.Refuses("AttributeError: 'str' object has no attribute 'get'")
		}
		in.addFaultAt(FaultData, data, "the data are no object", v)
	}
}

func (in *inspector) envelopeScope() {
	scope := in.t.Find(0, "scope")
	got := "undefined"
	if scope >= 0 {
		got = in.item.Scope
	}
	if got == in.scope {
		return
	}
	v := verdict{
		sdk.Refuses(fmt.Sprintf("SnapshotException: Expected snapshot scope '%s', got %.40q", in.scope, got)),
		sdk.Refuses(fmt.Sprintf("Error: Expected snapshot scope '%s', got %.40q", in.scope, got)),
	}
	if !slices.Contains(scopes, got) {
		v.python = sdk.Refuses(fmt.Sprintf("SnapshotException: Invalid snapshot scope: %.40q", got))
	}
	meaning := fmt.Sprintf("the scope is %.40q, and the folder that of %s", got, in.scope)
	if scope < 0 {
		meaning = "there is no scope"
		if in.scope == scopeAgent {
			v.python = sdk.Loads("without one it is that of an agent")
		}
	}
	in.addFaultAt(FaultScope, scope, meaning, v)
}

// inspectOrchestrator looks at what is around the record of a run.
func (in *inspector) inspectOrchestrator(data jsontape.Node) {
	id := orchestratorID(in.t, data)
	if in.t.Kind(id) == jsontape.String && in.t.Text(id) == in.checkup.agent {
		return
	}
	meaning := "there is no id of the orchestrator"
	if id >= 0 {
		meaning = fmt.Sprintf("it is the record of %.60s, in the folder of %.60q", in.t.Raw(id), in.checkup.agent)
	}
	in.addFaultAt(FaultOrchestrator, id, meaning, verdict{
		sdk.Refuses("SnapshotException: Snapshot orchestrator id mismatch"), sdk.Refuses("Error: Snapshot orchestrator ID mismatch")})
}

// inspectAgent looks at the state of an agent.
func (in *inspector) inspectAgent(data jsontape.Node) {
	in.checkMessages(in.t.Find(data, "messages"))
	if in.item.Dialect != typeScript {
		in.checkManager(in.t.Find(data, "conversation_manager_state"))
	}
	in.checkInterrupts(in.memberByKey(data, "interrupt_state", "interrupts"))
	if n := in.memberByKey(data, "model_state", "modelState"); in.t.Kind(n) == jsontape.Object && in.t.Count(n) > 0 && in.isFirst(FaultStatefulModel) {
		in.addFaultAt(FaultStatefulModel, n, "the model's provider may keep the conversation itself",
			sameVerdict(sdk.Loads("with a model that is stateful, none of the messages; they are what was said all the same")))
	}
	prompt := in.memberByKey(data, "system_prompt", "systemPrompt")
	if prompt < 0 {
		return
	}
	in.prompts = append(in.prompts, promptOf(in, prompt))
	if in.item.Dialect == typeScript {
		in.checkPrompt(prompt)
	}
}

func promptOf(in *inspector, n jsontape.Node) prompt {
	return prompt{string(jsontape.AppendCompact(nil, in.t.Raw(n))), in.place.fileOf(in.item.name)}
}

// promptBlocks are the blocks that the SDK for TypeScript takes in a system
// prompt.
var promptBlocks = []string{"type", "cachePoint", "guardContent", "text"}

func (in *inspector) checkPrompt(n jsontape.Node) {
	if in.t.Kind(n) != jsontape.Array {
		return
	}
	for b := in.t.First(n); b >= 0; b = in.t.Next(b) {
		if !in.hasAny(b, promptBlocks) {
			in.addFaultAt(FaultPrompt, b, "no SDK is known to write such a block into a system prompt", sameVerdict(sdk.Refuses("Error: Unknown SystemContentBlockData type")))
		}
	}
}

// hasAny reports whether an object has one of the keys.
func (in *inspector) hasAny(n jsontape.Node, keys []string) bool {
	for _, key := range keys {
		if in.t.Find(n, key) >= 0 {
			return true
		}
	}
	return false
}

// checkManager checks the state of the conversation manager, as restore_from_session of
// Python does. A BidiAgent has no such state.
func (in *inspector) checkManager(n jsontape.Node) {
	switch in.t.Kind(n) {
	case jsontape.Invalid:
		return
	case jsontape.Object:
	default:
		in.addFaultAt(FaultManager, n, "the state of the conversation manager is no object", sameVerdict(sdk.Refuses("AttributeError: no attribute 'get'")))
		return
	}
	if in.t.Kind(in.t.Find(n, "__name__")) != jsontape.String {
		in.addFaultAt(FaultManager, n, "the conversation manager has no __name__", sameVerdict(sdk.Refuses("ValueError: Invalid conversation manager state.")))
		return
	}
	switch name := in.item.Manager; {
	case name != "" && len(name) < maxText && in.isFirst(FaultManager, name) && in.wasOther(name):
		in.addFaultAt(FaultManager, in.t.Find(n, "__name__"), fmt.Sprintf("a newer snapshot has another conversation manager than %.60q", name),
			sameVerdict(sdk.Refuses("ValueError: Invalid conversation manager state., if the program has the other one")))
	}
	removed := in.t.Find(n, "removed_message_count")
	if removed < 0 {
		in.addFaultAt(FaultRemovedCount, n, "there is no removed_message_count", sameVerdict(sdk.Refuses("KeyError: 'removed_message_count'")))
		return
	}
	if count, err := strconv.ParseInt(string(in.t.Raw(removed)), 10, 64); err != nil || count < 0 {
		in.addFaultAt(FaultRemovedCount, removed, fmt.Sprintf("the count of removed messages is %.40s", in.t.Raw(removed)),
			sameVerdict(sdk.Loads("it is counted on from there when messages are removed, a TypeError if it is no number")))
	}
}

// wasOther reports whether a class of conversation manager is not the first that
// was seen, which is that of the newest snapshot.
func (in *inspector) wasOther(name string) bool {
	if in.manager == "" {
		in.manager = name
	}
	return in.manager != name
}

// interruptKeys are the fields of Interrupt (interrupt.py of the SDK), which is
// made with exactly what is stored.
var interruptKeys = map[string]bool{"id": true, "name": true, "reason": true, "response": true}

// checkInterrupts looks at the interrupt state.
func (in *inspector) checkInterrupts(n jsontape.Node) {
	t := in.t
	if in.item.Dialect == typeScript && !in.sdk.NewestFollows(keepsInterrupts) {
		waits := t.Find(n, "pendingToolExecution") >= 0 || t.Kind(t.Find(n, "activated")) == jsontape.True
		if waits && in.item.isLatest() {
			in.addFaultAt(FaultInterrupt, n, "tool calls wait for an answer, or to run", sameVerdict(sdk.Loads("without them: "+keepsInterrupts.Before()+" there are no interrupts")))
		}
		return
	}
	switch t.Kind(n) {
	case jsontape.Invalid:
		return
	case jsontape.Object:
	default:
		v := verdict{sdk.Refuses("TypeError: it is not subscriptable"), sdk.Refuses("TypeError: it cannot be read")}
		if t.Kind(n) == jsontape.Null {
			v.typeScript = asIs
			if in.item.Dialect == typeScript {
				return // the SDK writes it itself, for an agent without interrupts
			}
		}
		in.addFaultAt(FaultInterruptState, n, "the interrupt state is no object", v)
		return
	}
	list := t.Find(n, "interrupts")
	for _, key := range []string{"activated", "context", "interrupts"} {
		if t.Find(n, key) >= 0 || in.item.Dialect == typeScript && key != "interrupts" {
			continue
		}
		in.addFaultAt(FaultInterruptState, n, fmt.Sprintf("the interrupt state has no %q", key),
			verdict{sdk.Refuses(fmt.Sprintf("KeyError: '%s'", key)), sdk.Refuses("TypeError: Cannot convert undefined or null to object")})
	}
	if t.Kind(list) == jsontape.Object {
		in.interruptNames(list)
	}
	if in.item.isLatest() && t.Kind(t.Find(n, "activated")) == jsontape.True {
		in.addFaultAt(FaultInterrupt, n, "an interrupt waits for an answer",
			verdict{sdk.Loads("a prompt is a TypeError: must resume from interrupt with list of interruptResponse's"),
				sdk.Loads("a prompt is a TypeError: Agent is in an interrupted state")})
	}
}

// interruptNames looks for interrupts that Python cannot make.
func (in *inspector) interruptNames(list jsontape.Node) {
	t := in.t
	if in.item.Dialect == typeScript {
		return
	}
	for i := t.First(list); i >= 0; i = t.Next(i) {
		if t.Kind(i) != jsontape.Object {
			in.addFaultAt(FaultInterruptState, i, "an interrupt is no object", sameVerdict(sdk.Refuses("TypeError: it is no mapping")))
			continue
		}
		for k := t.First(i); k >= 0; k = t.Next(k) {
			if key := t.Key(k); !interruptKeys[key] {
				in.addFaultAt(FaultInterruptState, k, fmt.Sprintf("an interrupt has the key %.40q", key), sameVerdict(sdk.Refuses("TypeError: unexpected keyword argument")))
			}
		}
	}
}
