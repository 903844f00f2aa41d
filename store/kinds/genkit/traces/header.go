package traces

import (
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
)

// Headers returns a header for each tool iteration of the turn, to be drawn before
// the snapshot that the turn ended in, whose header is end. Each has the
// snapshot's index and turn, and names as its parent the step before it, the
// first the parent of the snapshot. Visits are left to the caller, who numbers
// them: the steps follow each other, and the snapshot the last of them.
func (t *Turn) Headers(end *model.Header) []model.Header {
	headers := make([]model.Header, len(t.Steps))
	parent := end.ParentID
	for i := range t.Steps {
		s := &t.Steps[i]
		h := &headers[i]
		*h = model.Header{
			ID: t.StepID(i), ParentID: parent, SessionID: end.SessionID, CreatedAt: s.End(),
			Index: end.Index, TurnIndex: end.TurnIndex, Event: model.SnapshotEventToolIterationEnd,
			Title: s.title(), Size: s.Size, Marks: model.MarkTraced, Orphaned: end.Orphaned, Reason: end.Reason,
		}
		if s.Size == 0 {
			h.Marks |= model.MarkDamaged
		}
		for k := range s.Tools {
			switch r := &s.Tools[k]; {
			case r.Interrupted:
				h.Marks |= model.MarkInterrupted
			case r.Error != "":
				h.Marks |= model.MarkError
			}
		}
		parent = h.ID
	}
	return headers
}

// title returns one line on a step: "get_weather ok, add: no numbers".
func (s *Step) title() string {
	return conversation.List(s.Tools, func(r Run) string {
		return conversation.Outcome(conversation.OneLine(r.Name), r.outcome(), conversation.OneLine(r.Error))
	})
}

func (r *Run) outcome() string {
	switch {
	case r.Interrupted:
		return "interrupted"
	case r.Error != "":
		return "error"
	case r.End.IsZero():
		return "running"
	}
	return "ok"
}

// Facts returns the facts in the trace about the turn, for the snapshot that it ended in.
func (t *Turn) Facts() []model.Fact {
	var f facts
	f.place(t, t.Span)
	f.took("took", "durationMs", t.Start, t.End)
	f.Add("turn error", t.Error)
	if n := len(t.Steps); n > 0 {
		f.Facts = append(f.Facts, model.CountFact("iterations", "iterations", int64(n)))
	}
	for i := range t.Calls {
		f.call(&t.Calls[i])
	}
	return f.Facts
}

// StepFacts returns the facts in the trace about step i.
func (t *Turn) StepFacts(i int) []model.Fact {
	s := &t.Steps[i]
	var f facts
	f.place(t, s.Span)
	f.call(&s.Call)
	for k := range s.Tools {
		r := &s.Tools[k]
		text := r.Name + " → " + r.outcome()
		if took := formatDuration(r.Start, r.End); took != "" {
			text += ", " + took
		}
		f.Add("tool", text)
		f.Add("error", r.Error)
		f.Add("tool span", r.Span)
	}
	return f.Facts
}

// facts gathers what is known of a step.
type facts struct{ model.Facts }

func (f *facts) place(t *Turn, span string) {
	f.Add("trace", t.Trace)
	f.Add("span", span)
	f.Add("agent", t.Agent)
}

func (f *facts) call(c *Call) {
	f.Add("model", c.Model)
	f.Add("model error", c.Error)
	f.Add("model finish", c.Finish)
	if c.In > 0 || c.Out > 0 {
		f.Facts = append(f.Facts, model.TokensFact("tokens", "tokens", []model.Number{{Key: "input", Value: float64(c.In)}, {Key: "output", Value: float64(c.Out)}}))
	}
	if c.Latency > 0 {
		f.Facts = append(f.Facts, model.DurationFact("latency", "latencyMs", c.Latency))
	} else {
		f.took("latency", "latencyMs", c.Start, c.End)
	}
}

// took adds the time between two moments; nothing where one is not known.
func (f *facts) took(label, key string, from, to time.Time) {
	if !from.IsZero() && !to.IsZero() {
		f.Facts = append(f.Facts, model.DurationFact(label, key, to.Sub(from)))
	}
}

// formatDuration returns the time between two moments; "" where one is not known.
func formatDuration(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return to.Sub(from).Round(time.Microsecond).String()
}
