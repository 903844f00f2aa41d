package genkit

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/engine"
)

// predictNext describes how Genkit goes on with a session after a plan. The calls come from aix
// "github.com/firebase/genkit/go/ai/exp" (1.12 and 1.13.1), from defineAgent in "genkit/beta" for JavaScript
// (1.42), and from the package genkit for Python.
func (p *part) predictNext(_ context.Context, _ engine.In, before, after *engine.Log, m *engine.Move) (engine.Next, error) {
	was, one := sessionOf(before), sessionOf(after)
	head := one.headRow()
	if m == nil {
		if head == nil {
			return engine.Next{Loads: fmt.Sprintf("session %q is gone: Genkit %s, asked for it, begins it anew", after.Place.SessionName(), was.layout)}, nil
		}
		return one.predictResume(head, &target{one: one, row: head, now: one.now}, one.pointOf(head)), nil
	}
	g := m.Own.(*goal)
	switch {
	case g.runs:
		return engine.Next{}, nil
	case g.target == nil:
		return engine.Next{
			Loads: fmt.Sprintf("Genkit %s, asked for session %s, finds nothing and begins it anew", was.layout, was.layout.quoteText(one.sid)),
			Calls: []model.Resume{was.layout.bySession(one.sid, false, "begins the session with an empty state")},
		}, nil
	case m.New != nil:
		if head == nil {
			return engine.Next{}, errors.New("the new row cannot be read back")
		}
		from := *g.target
		from.row = head
		next := one.predictResume(head, &from, m.Target)
		next.Calls = next.Calls[:1] // the row has an id that the next plan would not give it
		if g.edits {
			next.Hazards = append(next.Hazards, "what tools did outside of the session stays as it is: only what the agent knows of it was edited")
		}
		return next, nil
	}
	found, scanned := one.resumedRow()
	head = one.byID[g.want]
	switch {
	case head == nil:
		return engine.Next{}, errNoRow
	case found.row != head:
		return engine.Next{}, &model.UnsupportedError{Op: g.op, Reason: noneAfter}
	}
	next := one.predictResume(head, g.target, m.Target)
	if scanned.row != head {
		next.Hazards = append(next.Hazards, "a row of the session has a time that none comes after: the pointer alone leads to the new row, and a search would not find it")
	}
	return next, nil
}

// goal is the intended result of a write.
type goal struct {
	op     model.Op
	target *target // nil for nothing to go on from
	// want is the row that is to be the head.
	want string
	// edits says that the state is another, runs that the agent writes the row.
	edits, runs bool
}

// predictResume describes how the SDK resumes a head that has the state of a target, and by which calls.
func (s *session) predictResume(head *row, t *target, at model.Point) (next engine.Next) {
	what := "row " + model.ShortID(head.id, 8)
	if head.id != t.row.id {
		what += fmt.Sprintf(", which has the state of #%d,", at.Index)
	} else {
		what += fmt.Sprintf(" (#%d)", at.Index)
	}
	way := "by its pointer, and by a search too"
	if s.layout == layoutPython {
		way = "by a search"
	}
	next.Loads = fmt.Sprintf("Genkit %s, asked for session %s, finds %s %s: %s", s.layout, s.layout.quoteText(s.sid), what, way, messagesOf(head))
	then := "goes on from there as the next turn"
	if t.open {
		then = "gives the tool calls their answers, and goes on"
	}
	next.Calls = append(next.Calls, s.layout.bySession(s.sid, t.open, then))
	if s.resumeByID(t.row, t.now).isWhole() {
		next.Calls = append(next.Calls, s.layout.bySnapshot(t.row.id, t.open, fmt.Sprintf("goes on from #%d itself, and needs no write: a new branch", at.Index)))
	}
	return next
}

func messagesOf(r *row) string {
	if r.messages == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", r.messages)
}

// bySession returns the call that resumes a session.
func (l layout) bySession(sid string, open bool, then string) model.Resume {
	return l.callByID(map[layout]string{layoutJS: "sessionId", layoutPython: "session_id", layoutGo: "WithSessionID"}, sid, open, then)
}

// bySnapshot returns the call that resumes a row.
func (l layout) bySnapshot(id string, open bool, then string) model.Resume {
	return l.callByID(map[layout]string{layoutJS: "snapshotId", layoutPython: "snapshot_id", layoutGo: "WithSnapshotID"}, id, open, then)
}

// callByID returns the call that names an id in each SDK's own way.
func (l layout) callByID(names map[layout]string, id string, open bool, then string) model.Resume {
	quoted := string(l.quoteText(id))
	switch l {
	case layoutJS:
		return model.Resume{Call: fmt.Sprintf("await agent.chat({ %s: %s }).%s", names[l], quoted, l.sendPart(open)), Then: then}
	case layoutPython:
		return model.Resume{Call: fmt.Sprintf("await agent.chat(%s=%s).%s", names[l], quoted, l.sendPart(open)), Then: then}
	}
	return model.Resume{Call: fmt.Sprintf("agent.%s, aix.%s[State](%s))", l.sendPart(open), names[layoutGo], quoted), Then: then}
}

// sendPart returns the part of the call that sends a message, or the answers that the
// last tool calls wait for.
func (l layout) sendPart(open bool) string {
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
