package messages

import (
	"fmt"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

const calmInterrupts = `{"interrupts": {}, "context": {}, "activated": false}`

// agentParts are the parts of an agent.json: what takes the place of one on which the
// SDK does not start, and what the agent then does not know any more.
var agentParts = []struct {
	key  string
	anew func(t *jsontape.Tape) string
	goes string
}{
	{"state", func(*jsontape.Tape) string { return `{}` }, "the agent's own state begins empty"},
	{"conversation_manager_state", plainManager, "all messages are loaded, without a summary"},
	{"_internal_state", calmInternals, "any interrupt that waits for an answer is forgotten"},
}

// plainManager returns the state of a conversation manager that took nothing out, of
// the class that agent.json names if it is one of the SDK's.
func plainManager(t *jsontape.Tape) string {
	class := "SlidingWindowConversationManager"
	if name := t.Lookup("conversation_manager_state", "__name__"); name >= 0 && ownManagers[shortText(t, name, maxName)] {
		class = shortText(t, name, maxName)
	}
	return fmt.Sprintf(`{"__name__": %q, "removed_message_count": 0, "model_call_count": 0}`, class)
}

// calmInternals returns an internal state in which nothing waits, with the model's own
// state as agent.json has it.
func calmInternals(t *jsontape.Tape) string {
	model := "{}"
	if n := t.Lookup("_internal_state", "model_state"); t.Kind(n) == jsontape.Object {
		model = string(t.Raw(n))
	}
	return `{"interrupt_state": ` + calmInterrupts + `, "model_state": ` + model + `}`
}

// mendAgent mends one thing in agent.json: a part of it, or else the whole of it.
func (m *mender) mendAgent(l *messageLog, f model.Fault) {
	name := l.path("agent.json")
	m.wrote = true
	t, _ := files.Parse([]byte(`{}`)) // it is JSON
	if m.agent == nil {
		m.agent = m.newAgent(t, 0)
		m.did(name, "made anew, so that the messages are loaded")
		m.ask("agent.json is gone: the agent's own state begins empty, and all messages are loaded with a SlidingWindowConversationManager; a program that has another one has to say so in __name__")
		return
	}
	d := files.ReadDocument(func(string, []byte) ([]byte, error) { return m.agent, nil }, name, nil)
	if d.Err == nil && d.Tape.Kind(0) == jsontape.Object {
		key, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "/"), "/")
		for _, part := range agentParts {
			if part.key == key {
				m.mendPart(l, d.Tape, key, part.anew(d.Tape), part.goes, f)
				return
			}
		}
	}
	// The parts that are whole stay.
	whole, cut, _ := readable(m.agent)
	if read, err := files.Parse(whole); err == nil && f.Code != FaultDepth {
		t = read
	}
	m.did(name, "made anew: %s", f.Meaning)
	m.agent = m.newAgent(t, cut)
}

// mendPart gives agent.json a new part.
func (m *mender) mendPart(l *messageLog, t *jsontape.Tape, key, anew, goes string, f model.Fault) {
	if key == "_internal_state" && len(l.agent.waiting) > 0 {
		goes += ": " + strings.Join(l.agent.waiting, ", ")
	}
	if f.Code == FaultManager {
		goes += fmt.Sprintf("; %s: if your program has it, the SDK starts without this repair, and not with it", f.Meaning)
	}
	p := jsontape.NewPatch(t)
	p.Put(0, key, []byte(anew))
	m.agent = p.Bytes()
	m.did(l.path("agent.json"), "%s begins anew: %s", key, f.Meaning)
	m.ask("agent.json: %s", goes)
}

// newAgent returns an agent.json with the parts of another that are objects and end
// before cut.
func (m *mender) newAgent(t *jsontape.Tape, cut int) []byte {
	now := pythonTime(m.in.Now)
	id := strings.TrimPrefix(m.now.agentFolder(), agentPrefix)
	out := fmt.Appendf(nil, `{"agent_id": %s`, jsontape.AppendQuoted(nil, id))
	for _, part := range agentParts {
		value := part.anew(t)
		n := t.Find(0, part.key)
		if _, end := t.Span(max(0, n)); t.Kind(n) == jsontape.Object && end <= cut {
			value = string(t.Raw(n))
		} else if m.agent != nil {
			m.ask("agent.json: %s", part.goes)
		}
		out = fmt.Appendf(out, `, %q: %s`, part.key, value)
	}
	return fmt.Appendf(out, `, "created_at": %q, "updated_at": %[1]q}`, now)
}

// agentFolder returns the name of the agent's folder. (The agent of a log is what its
// agent.json says.)
func (l *messageLog) agentFolder() string { return l.place.agent }
