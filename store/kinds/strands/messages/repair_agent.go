package messages

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

const calmInterrupts = `{"interrupts": {}, "context": {}, "activated": false}`

// agentPart is a part of an agent.json: what takes the place of one on which the SDK does
// not start, and what the agent then does not know any more.
type agentPart struct {
	key  string
	anew func(t *jsontape.Tape) string
	goes string
}

var agentParts = []agentPart{
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

// mendAgent mends agent.json: the parts that are at fault, or the whole of it.
func (m *mender) mendAgent(l *messageLog, faults []model.Fault) {
	name := l.path("agent.json")
	m.wrote = true
	t, _ := files.Parse([]byte(`{}`)) // it is JSON
	if m.agent == nil {
		m.agent = m.newAgent(t, nil)
		m.did(name, "made anew, so that the messages are loaded")
		m.ask("agent.json is gone: the agent's own state begins empty, and all messages are loaded with a SlidingWindowConversationManager; a program that has another one has to say so in __name__")
		return
	}
	broken := map[string]model.Fault{} // by the part
	var whole *model.Fault
	for i, f := range faults {
		key, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "/"), "/")
		if broken[key] = f; !slices.ContainsFunc(agentParts, func(p agentPart) bool { return p.key == key }) {
			whole = &faults[i]
		}
	}
	if read, err := files.Parse(plainText(m.agent)); err == nil && (whole == nil || whole.Code != FaultDepth) {
		t = read
	}
	if whole != nil {
		m.did(name, "made anew: %s", whole.Meaning)
		m.agent = m.newAgent(t, broken)
		return
	}
	for _, part := range agentParts {
		if f, is := broken[part.key]; is {
			t, _ := files.Parse(m.agent) // it has parts
			m.mendPart(l, t, part.key, part.anew(t), part.goes, f)
		}
	}
}

// plainText returns a text without a byte order mark, and with U+FFFD for invalid UTF-8.
func plainText(data []byte) []byte {
	return bytes.ToValidUTF8(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\ufffd"))
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

// newAgent returns an agent.json with the parts of another that are objects and not broken.
func (m *mender) newAgent(t *jsontape.Tape, broken map[string]model.Fault) []byte {
	now := pythonTime(m.in.Now)
	id := strings.TrimPrefix(m.now.place.agent, agentPrefix)
	out := fmt.Appendf(nil, `{"agent_id": %s`, jsontape.AppendQuoted(nil, id))
	for _, part := range agentParts {
		value := part.anew(t)
		n := t.Find(0, part.key)
		if _, is := broken[part.key]; !is && t.Kind(n) == jsontape.Object {
			value = string(t.Raw(n))
		} else if m.agent != nil {
			m.ask("agent.json: %s", part.goes)
		}
		out = fmt.Appendf(out, `, %q: %s`, part.key, value)
	}
	return fmt.Appendf(out, `, "created_at": %q, "updated_at": %[1]q}`, now)
}
