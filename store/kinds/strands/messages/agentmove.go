package messages

import (
	"fmt"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// agentMove describes the change of an agent.json from one log to another that ends
// elsewhere.
type agentMove struct {
	// n is the number of messages of the other log; it shares its first common messages
	// with the log of the agent.json.
	n, common int
	// same says that the other log ends where this one does, pending that it ends
	// where the interrupt waits.
	same, pending bool
	// updated is the time at which the file is written; zero leaves it out.
	updated time.Time
}

// movedAgent is the resulting agent.json.
type movedAgent struct {
	data []byte
	// lowered says that the window begins earlier than it did.
	lowered bool
	hazards []string
}

// apply returns the agent.json for the other log.
//
// removed_message_count is the field that can lose data: where it leaves no message
// of the log, the SDK numbers the next one 0 and writes over the first. So it stays
// as it is only where a message is left behind it and all that it counts is in the
// other log, too; else everything that stands for messages that were taken out goes,
// the count, the head that was held, the summary. The whole log is in the context
// then, and the window takes out again what is too much.
func (c agentMove) apply(data []byte, a *agentFile) (movedAgent, error) {
	t, err := files.Parse(data)
	if err != nil {
		return movedAgent{}, err
	}
	p := jsontape.NewPatch(t)
	out := movedAgent{}
	if t.Kind(0) == jsontape.Object {
		out.window(p, c, a)
		out.interrupt(p, c, a)
		out.model(p, c)
		if !c.updated.IsZero() {
			p.Put(0, "updated_at", jsontape.AppendQuoted(nil, pythonTime(c.updated)))
		}
	}
	out.data = p.Bytes()
	return out, nil
}

// pythonTime writes a time as the SDK does: datetime.now(timezone.utc).isoformat().
func pythonTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

func (out *movedAgent) hazard(format string, args ...any) {
	out.hazards = append(out.hazards, fmt.Sprintf(format, args...))
}

// window puts the conversation manager's state right.
func (out *movedAgent) window(p *jsontape.Patch, c agentMove, a *agentFile) {
	t := p.Tape()
	manager := t.Find(0, "conversation_manager_state")
	start := a.pinned + a.removed
	if t.Kind(manager) != jsontape.Object || t.Count(manager) == 0 || a.removed == 0 && a.pinned == 0 && a.summary == nil ||
		start < c.n && start <= c.common && (start > 0 || a.summary == nil) {
		return
	}
	if n := t.Find(manager, "removed_message_count"); n >= 0 && a.removed != 0 {
		p.Set(n, []byte("0"))
		out.lowered = true
	}
	if n := t.Find(manager, "pinned_head_count"); n >= 0 && a.pinned != 0 {
		p.Set(n, []byte("0"))
		out.lowered = true
	}
	if n := t.Find(manager, "summary_message"); n >= 0 {
		p.Set(n, []byte("null"))
	}
	switch {
	case a.summary != nil:
		out.hazard("the summary stands for messages that are not all before this one: it is taken out, and the context holds the whole log again, %s", model.Count(c.n, "message"))
	default:
		out.hazard("%s was to leave out %s: that goes back to none, the context holds the whole log again, %s, and it takes out what is too much after the next answer", a.managerName(), a.removedText(), model.Count(c.n, "message"))
	}
	if !ownManagers[a.manager] {
		out.hazard("%s is a conversation manager that only the program knows: what else it keeps stays as it is", a.managerName())
	}
}

// interrupt takes back an interrupt that waits elsewhere.
func (out *movedAgent) interrupt(p *jsontape.Patch, c agentMove, a *agentFile) {
	t := p.Tape()
	n := t.Lookup("_internal_state", "interrupt_state")
	if t.Kind(n) != jsontape.Object || c.same || c.pending {
		return
	}
	idle := t.Kind(t.Find(n, "activated")) == jsontape.False && t.Find(n, "pending_tool_execution") < 0
	for _, key := range []string{"interrupts", "context"} {
		idle = idle && t.Kind(t.Find(n, key)) == jsontape.Object && t.Count(t.Find(n, key)) == 0
	}
	if idle {
		return
	}
	for _, m := range []struct{ key, value string }{{"interrupts", "{}"}, {"context", "{}"}, {"activated", "false"}} {
		p.Put(n, m.key, []byte(m.value))
	}
	if pending := t.Find(n, "pending_tool_execution"); pending >= 0 {
		p.Set(pending, []byte("null"))
	}
	if a.interrupted {
		waits := "an interrupt"
		if len(a.waiting) > 0 {
			waits = "the interrupt " + a.waiting[0]
		}
		out.hazard("%s waits for an answer elsewhere: it is given up", waits)
	}
}

// model removes the state from which a model's provider would go on. Its response ids
// point to messages that came later.
func (out *movedAgent) model(p *jsontape.Patch, c agentMove) {
	t := p.Tape()
	n := t.Lookup("_internal_state", "model_state")
	if c.same || t.Kind(n) != jsontape.Object || t.Count(n) == 0 {
		return
	}
	for m := n + 1; m < t.End(n); m++ {
		if key := strings.ToLower(strings.ReplaceAll(t.Key(m), "_", "")); strings.Contains(key, "responseid") || strings.Contains(key, "conversationid") {
			p.Set(n, []byte("{}"))
			out.hazard("the model's provider keeps the conversation itself, and cannot be taken back: %s is emptied, so that a stateful model begins a new conversation and knows none of the messages", "model_state")
			return
		}
	}
	out.hazard("what the model keeps in model_state stays as it is: whether that fits here is known to the program alone")
}
