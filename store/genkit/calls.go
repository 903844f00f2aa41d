package genkit

import (
	"fmt"

	"hindcast/model"
)

// loads says what the SDK resumes after a plan, and by which calls. They are those
// of aix "github.com/firebase/genkit/go/ai/exp" (1.12 and 1.13.1), of defineAgent in
// "genkit/beta" for JavaScript (1.42), and of the package genkit for Python.
func (s *session) loads(plan *model.Plan, after *session, head *row, t *target) {
	what := "row " + model.ShortID(head.id, 8)
	if head.id != t.row.id {
		what += fmt.Sprintf(", which has the state of #%d,", plan.Target.Index)
	} else {
		what += fmt.Sprintf(" (#%d)", plan.Target.Index)
	}
	way := "by its pointer, and by a search too"
	if after.layout == layoutPython {
		way = "by a search"
	}
	plan.Loads = fmt.Sprintf("Genkit %s, asked for session %s, finds %s %s: %s", after.layout, s.layout.quote(after.sid), what, way, messagesOf(head))
	then := "goes on from there as the next turn"
	if t.open {
		then = "gives the tool calls their answers, and goes on"
	}
	plan.Resume = append(plan.Resume, after.layout.bySession(after.sid, t.open, then))
	// The row of a new session has an id that the next plan would not give it.
	if plan.NewSession != "" || !t.row.resumable(after.layout, t.now).whole() {
		return
	}
	plan.Resume = append(plan.Resume, after.layout.bySnapshot(t.row.id, t.open, fmt.Sprintf("goes on from #%d itself, and needs no write: a new branch", plan.Target.Index)))
}

func messagesOf(r *row) string {
	if r.messages == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", r.messages)
}

// bySession returns the call that resumes a session.
func (l layout) bySession(sid string, open bool, then string) model.Resume {
	return l.by(map[layout]string{layoutJS: "sessionId", layoutPython: "session_id", layoutGo: "WithSessionID"}, sid, open, then)
}

// bySnapshot returns the call that resumes a row.
func (l layout) bySnapshot(id string, open bool, then string) model.Resume {
	return l.by(map[layout]string{layoutJS: "snapshotId", layoutPython: "snapshot_id", layoutGo: "WithSnapshotID"}, id, open, then)
}

// by returns the call that names an id in each SDK's own way.
func (l layout) by(names map[layout]string, id string, open bool, then string) model.Resume {
	quoted := string(l.quote(id))
	switch l {
	case layoutJS:
		return model.Resume{Call: fmt.Sprintf("await agent.chat({ %s: %s }).%s", names[l], quoted, l.send(open)), Then: then}
	case layoutPython:
		return model.Resume{Call: fmt.Sprintf("await agent.chat(%s=%s).%s", names[l], quoted, l.send(open)), Then: then}
	}
	return model.Resume{Call: fmt.Sprintf("agent.%s, aix.%s[State](%s))", l.send(open), names[layoutGo], quoted), Then: then}
}

// send returns the part of the call that sends a message, or the answers that the
// last tool calls wait for.
func (l layout) send(open bool) string {
	switch l {
	case layoutJS:
		if open {
			return `resume({ respond: [...] })`
		}
		return `send("...")`
	case layoutPython:
		if open {
			return `resume(respond=[...])`
		}
		return `send("...")`
	}
	if open {
		// Not Respond: 1.13.1 checks the output of a tool that can interrupt against
		// the schema of another thing, and refuses it.
		return `Run(ctx, &aix.AgentInput{Resume: &aix.ToolResume{Restart: parts}}`
	}
	return `RunText(ctx, "..."`
}
