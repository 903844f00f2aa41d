package messages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
)

const (
	calmInterrupts = `{"interrupts": {}, "context": {}, "activated": false}`
	plainManager   = `{"__name__": "SlidingWindowConversationManager", "removed_message_count": 0, "model_call_count": 0}`
)

// calmMembers are those of calmInterrupts.
var calmMembers = []struct{ key, value string }{{"interrupts", "{}"}, {"context", "{}"}, {"activated", "false"}}

// mendAgent mends one thing in agent.json, the first that keeps the SDK from the
// next: the text, then its shape, then what is in it.
func (m *mender) mendAgent(l *messageLog, faults []model.Fault) {
	name := l.path("agent.json")
	if m.agent == nil {
		m.agent = m.newAgent(`{}`, plainManager, `{"interrupt_state": `+calmInterrupts+`, "model_state": {}}`)
		m.wrote = true
		m.did(name, "made anew, so that the messages are loaded")
		m.ask("agent.json is gone: the agent's own state begins empty, and all messages are loaded with a SlidingWindowConversationManager; a program that has another one has to say so in __name__")
		return
	}
	d := files.ReadDocument(func(string, []byte) ([]byte, error) { return m.agent, nil }, name, nil)
	syntax := (*jsontape.SyntaxError)(nil)
	if errors.As(d.Err, &syntax) || d.Err == nil && d.Tape.Kind(0) != jsontape.Object {
		m.salvageAgent(name, &d)
		return
	}
	if data := plainState(d.Tape); data != nil {
		m.agent, m.wrote = data, true
		m.did(name, "encoded bytes in the agent's state become their text, as the SDK takes no bytes there")
		return
	}
	if data, words := mendText(&d); words != "" {
		m.agent, m.wrote = data, true
		m.did(name, "%s", words)
		m.ask("agent.json: %s", words)
		return
	}
	if slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == FaultSurrogate }) {
		m.agent, m.wrote = mendSurrogates(d.Tape), true
		m.did(name, "halves of surrogate pairs become U+FFFD, as the SDK cannot write them")
		return
	}
	a := agentMender{mender: m, log: l, file: name, t: d.Tape, p: jsontape.NewPatch(d.Tape)}
	switch {
	case a.members(), a.manager(), a.summary(), a.interrupts(faults):
		m.agent, m.wrote = a.p.Bytes(), true
	}
}

// plainState returns an agent.json in whose state no bytes are encoded, nil where there
// are none: the SDK decodes them, and then refuses a state that has bytes.
func plainState(t *jsontape.Tape) []byte {
	state := t.Find(0, "state")
	if state < 0 {
		return nil
	}
	p := jsontape.NewPatch(t)
	for n := state; n < t.End(state); n++ {
		if !isBytes(t, n) {
			continue
		}
		p.Set(n, jsontape.AppendQuoted(nil, identity(t, t.Find(n, "data"))))
		n = t.End(n) - 1
	}
	if !p.Changed() {
		return nil
	}
	return p.Bytes()
}

// newAgent returns an agent.json of the parts.
func (m *mender) newAgent(state, manager, internal string) []byte {
	now := pythonTime(m.s.now())
	id := strings.TrimPrefix(m.now.agentFolder(), agentPrefix)
	return fmt.Appendf(nil, `{"agent_id": %s, "state": %s, "conversation_manager_state": %s, "_internal_state": %s, "created_at": %q, "updated_at": %[5]q}`,
		jsontape.AppendQuoted(nil, id), state, manager, internal, now)
}

// agentFolder returns the name of the agent's folder. (The agent of a log is what its
// agent.json says.)
func (l *messageLog) agentFolder() string { return l.place.agent }

// salvageAgent keeps what can be read of an agent.json: those of its parts that are
// whole.
func (m *mender) salvageAgent(name string, d *files.Document) {
	parts := map[string]string{"state": `{}`, "conversation_manager_state": plainManager, "_internal_state": `{"interrupt_state": ` + calmInterrupts + `, "model_state": {}}`}
	var kept []string
	whole, cut, ok := readable(d.Data)
	if ok {
		if t, err := files.Parse(whole); err == nil && t.Kind(0) == jsontape.Object {
			for _, key := range []string{"state", "conversation_manager_state", "_internal_state"} {
				n := t.Find(0, key)
				if n < 0 || t.Kind(n) != jsontape.Object {
					continue
				}
				if _, end := t.Span(n); end <= cut {
					parts[key] = string(t.Raw(n))
					kept = append(kept, key)
				}
			}
		}
	}
	reason := "it holds no object"
	if d.Err != nil {
		reason = d.Err.Error()
	}
	m.agent, m.wrote = m.newAgent(parts["state"], parts["conversation_manager_state"], parts["_internal_state"]), true
	words := "nothing of it"
	if len(kept) > 0 {
		words = strings.Join(kept, ", ")
	}
	m.did(name, "made anew with %s (%s)", words, reason)
	for _, lost := range []struct{ key, text string }{
		{"state", "the agent's own state begins empty"},
		{"conversation_manager_state", "all messages are loaded, without a summary"},
		{"_internal_state", "an interrupt that waited is forgotten"},
	} {
		if !slices.Contains(kept, lost.key) {
			m.ask("agent.json: %s", lost.text)
		}
	}
}

// agentMender mends what is in an agent.json. Each of its methods mends one part, and
// reports whether it did.
type agentMender struct {
	*mender
	log  *messageLog
	file string
	t    *jsontape.Tape
	p    *jsontape.Patch
}

// put gives an object a member, in words.
func (a *agentMender) put(object jsontape.Node, key, value, format string, args ...any) {
	a.p.Put(object, key, []byte(value))
	a.did(a.file, format, args...)
}

// members adds what the SDK takes for granted.
func (a *agentMender) members() (mended bool) {
	t := a.t
	id := string(jsontape.AppendQuoted(nil, strings.TrimPrefix(a.now.agentFolder(), agentPrefix)))
	for _, m := range []struct{ key, value string }{{"agent_id", id}, {"state", "{}"}, {"conversation_manager_state", plainManager}} {
		if t.Find(0, m.key) < 0 {
			a.put(0, m.key, m.value, "gets the %s %s", m.key, m.value)
			mended = true
			if m.key == "state" {
				a.ask("agent.json has no state: the agent's own state begins empty")
			}
		}
	}
	switch internal := t.Find(0, "_internal_state"); t.Kind(internal) {
	case jsontape.Invalid, jsontape.Object:
	default:
		a.put(0, "_internal_state", `{"interrupt_state": `+calmInterrupts+`, "model_state": {}}`, "the internal state becomes an empty one, and was %s", t.Kind(internal))
		return true
	}
	return mended
}

// manager mends the state of the conversation manager.
func (a *agentMender) manager() (mended bool) {
	t := a.t
	n := t.Find(0, "conversation_manager_state")
	if t.Kind(n) != jsontape.Object {
		a.put(0, "conversation_manager_state", plainManager, "the conversation manager becomes the one that the SDK takes by default")
		a.ask("agent.json: all messages are loaded, as the state of the conversation manager was no object")
		return true
	}
	if t.Count(n) == 0 {
		return false // as of a BidiAgent
	}
	class, sort := t.Find(n, "__name__"), "SlidingWindowConversationManager"
	if t.Find(n, "summary_message") >= 0 {
		sort = "SummarizingConversationManager"
	}
	if t.Kind(class) != jsontape.String || !ownManagers[shortText(t, class, maxName)] {
		a.put(n, "__name__", `"`+sort+`"`, "the conversation manager becomes %s", sort)
		if class >= 0 {
			a.ask("the conversation manager was %.60s: if your program has one of that name, the SDK starts without this repair, and not with it", t.Raw(class))
		} else {
			a.hazard("the conversation manager is taken for a %s: a program that uses another one is refused, and has to say so in __name__", sort)
		}
		mended = true
	}
	for _, key := range []string{"removed_message_count", "pinned_head_count"} {
		count := t.Find(n, key)
		value, ok := number{}, false
		switch kind := t.Kind(count); {
		case count < 0 && key == "pinned_head_count", kind == jsontape.True, kind == jsontape.False:
			continue
		case kind == jsontape.Number:
			value, ok = parseNumber(string(t.Raw(count)))
		}
		if ok && !(key == "removed_message_count" && a.leavesNone(value)) {
			continue
		}
		was := "missing"
		if count >= 0 {
			was = fmt.Sprintf("%.40s", t.Raw(count))
		}
		a.put(n, key, "0", "%s becomes 0, and was %s: all messages are loaded, and the window takes out again what is too much", key, was)
		if summary := t.Find(n, "summary_message"); summary >= 0 && truthy(t, summary) {
			a.put(n, "summary_message", "null", "the summary goes, as the messages that it stands for are loaded again")
		}
		mended = true
	}
	return mended
}

// leavesNone reports whether a count of removed messages leaves none of the log.
func (a *agentMender) leavesNone(count number) bool {
	n := len(a.log.files)
	return n > 0 && a.log.agent.pinned == 0 && !count.negative && count.clamp() >= n
}

func (m *mender) hazard(format string, args ...any) {
	m.hazards = append(m.hazards, fmt.Sprintf(format, args...))
}

// summary mends the message that stands for others.
func (a *agentMender) summary() bool {
	t := a.t
	manager := t.Find(0, "conversation_manager_state")
	n := t.Find(manager, "summary_message")
	if n < 0 || !truthy(t, n) {
		return false
	}
	content := t.Find(n, "content")
	var msg message
	if t.Kind(n) == jsontape.Object {
		msg.location = summaryPath
		new(decoder).message(&msg, t, n)
	}
	switch {
	case t.Kind(n) == jsontape.Object && len(msg.flaws) == 0:
		return false
	case t.Find(n, "role") < 0 && (t.Kind(content) == jsontape.Array || t.Kind(content) == jsontape.String):
		a.put(n, "role", `"user"`, "the summary gets the role user")
	default:
		a.put(manager, "summary_message", "null", "the summary goes, as it is no message")
		a.p.Put(manager, "removed_message_count", []byte("0"))
		a.did(a.file, "removed_message_count becomes 0: what the summary stood for is loaded again")
		a.ask("agent.json: the summary goes; the messages that it stood for are loaded instead of it")
	}
	return true
}

// interrupts mends the interrupt state.
func (a *agentMender) interrupts(faults []model.Fault) (mended bool) {
	t := a.t
	internal := t.Find(0, "_internal_state")
	state := t.Find(internal, "interrupt_state")
	if state < 0 {
		return false
	}
	if t.Kind(state) != jsontape.Object {
		a.put(internal, "interrupt_state", calmInterrupts, "the interrupt state becomes an empty one, and was %s", t.Kind(state))
		return true
	}
	if slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == FaultInterrupt }) {
		a.calm(state, "nobody could answer it")
		return true
	}
	for _, m := range calmMembers {
		n := t.Find(state, m.key)
		if n < 0 || m.value == "{}" && t.Kind(n) != jsontape.Object {
			was := "missing"
			if n >= 0 {
				was = fmt.Sprintf("%.60s", t.Raw(n))
			}
			a.put(state, m.key, m.value, "%s becomes %s in the interrupt state, and was %s", m.key, m.value, was)
			mended = true
			if n >= 0 && t.Count(n) > 0 {
				a.ask("agent.json: %s of the interrupt state go: %.200s", m.key, t.Raw(n))
			}
		}
	}
	pending, list := t.Find(state, "pending_tool_execution"), t.Find(state, "interrupts")
	switch { // what else there is, is seen in the next round
	case mended:
	case pending >= 0 && t.Kind(pending) != jsontape.Null && a.pending(state, pending):
		return true
	case t.Kind(list) == jsontape.Object:
		return a.each(list)
	}
	return mended
}

// calm takes an interrupt out.
func (a *agentMender) calm(state jsontape.Node, why string) {
	t := a.t
	for _, m := range calmMembers {
		a.p.Put(state, m.key, []byte(m.value))
	}
	if n := t.Find(state, "pending_tool_execution"); n >= 0 {
		a.p.Set(n, []byte("null"))
	}
	a.did(a.file, "the interrupt goes: %s", why)
	waiting := strings.Join(a.log.agent.waiting, ", ")
	if waiting == "" {
		waiting = "without a name"
	}
	a.ask("an interrupt that waits for an answer goes: %s", waiting)
}

// pending mends the tool calls that wait, and drops them where it is not known which
// they are.
func (a *agentMender) pending(state, n jsontape.Node) bool {
	t := a.t
	if t.Kind(n) != jsontape.Object || t.Find(n, "assistant_message") < 0 {
		a.calm(state, "the tool calls that wait are not there")
		return true
	}
	if t.Find(n, "completed_tool_results") < 0 {
		a.put(n, "completed_tool_results", "[]", "the tool calls that wait get an empty list of results")
		return true
	}
	extra := func(m jsontape.Node) bool {
		key := t.Key(m)
		return key != "assistant_message" && key != "completed_tool_results"
	}
	for m := t.First(n); m >= 0; m = t.Next(m) {
		if extra(m) {
			a.did(a.file, "the key %.40q of the tool calls that wait goes, as the SDK does not know it", t.Key(m))
			a.p.Remove(n, extra)
			return true
		}
	}
	return false
}

// each mends every interrupt: the SDK makes them of exactly what is stored.
func (a *agentMender) each(list jsontape.Node) bool {
	t := a.t
	broken := func(n jsontape.Node) bool { return t.Kind(n) != jsontape.Object }
	for n := t.First(list); n >= 0; n = t.Next(n) {
		if broken(n) {
			a.did(a.file, "an interrupt that is %s goes", t.Kind(n))
			a.ask("agent.json: an interrupt goes that is no object: %.60s", t.Raw(n))
			a.p.Remove(list, broken)
			return true
		}
	}
	unknown := func(m jsontape.Node) bool { return !interruptKeys[t.Key(m)] }
	for n := t.First(list); n >= 0; n = t.Next(n) {
		id := string(jsontape.AppendQuoted(nil, t.Key(n)))
		for m := t.First(n); m >= 0; m = t.Next(m) {
			if unknown(m) {
				a.did(a.file, "the key %.40q of an interrupt goes, as the SDK does not know it", t.Key(m))
				a.p.Remove(n, unknown)
				return true
			}
		}
		for _, key := range []string{"id", "name"} {
			if t.Find(n, key) < 0 {
				a.put(n, key, id, "an interrupt gets the %s %.60s", key, id)
				return true
			}
		}
	}
	return false
}
