package traces

import (
	"time"

	"hindcast/model"
)

// Turn is one turn of an agent, as a trace tells it. Every string in it is data
// of the trace, untrusted and bounded.
type Turn struct {
	// Trace and Span name the turn's span.
	Trace, Span string
	// Agent is the agent's name, Session the session's id.
	Agent, Session string
	// Snapshot is the id of the snapshot that the turn span names as the one in
	// which it ended; "" where it names none, because the agent keeps no
	// snapshots, the turn still runs, or it failed.
	Snapshot string
	// Answered is the snapshot that the agent's answer names; it may be an older
	// one. "" unless this is the last turn of its agent's run.
	Answered string
	// Start and End are when the turn ran, RunEnd when the agent returned; the
	// zero time where that is not recorded.
	Start, End, RunEnd time.Time
	// Error is why the turn failed, "" if it did not.
	Error string
	// Steps are the tool iterations, in the order of time.
	Steps []Step
	// Calls are the model calls that asked for no tool: the turn's last, most
	// often. They have no [Call.Tools].
	Calls []Call
}

// Step is a tool iteration: a model call that asked for tools, and their runs.
type Step struct {
	Call
	// Tools are the runs, in the order of time; at least one.
	Tools []Run
	// Size is the length of the step's state in bytes; 0 if it cannot be put together, because the trace
	// holds no whole input or output of the model.
	Size int64
}

// Call is one call of a model.
type Call struct {
	// Span is the id of the call's span, Model the model's name.
	Span, Model string
	Start, End  time.Time
	// Latency is the time that the model's plugin measured, 0 if it did not.
	Latency time.Duration
	// In and Out are the tokens that the provider counted, 0 where it did not.
	In, Out int64
	// Finish is the model's finish reason in its own word.
	Finish string
	// Error is why the call failed, "" if it did not.
	Error string
}

// Run is one run of a tool.
type Run struct {
	// Span is the id of the run's span, Name the tool's name.
	Span, Name string
	Start, End time.Time
	// Error is why the run failed; "" if it did not, and for an interrupt.
	Error string
	// Interrupted says that the tool did not answer but waits for a person.
	Interrupted bool
}

// ID returns the id under which the state of the turn's end is found: a span and
// its trace, the same at every reading.
func (t *Turn) ID() string { return join(t.Span, t.Trace) }

// StepID returns the id of step i, as it is in [Turn.Headers].
func (t *Turn) StepID(i int) string { return join(t.Steps[i].Span, t.Trace) }

// EndedIn reports whether the turn ended in the snapshot of a header of its
// session. That is the one that the turn span names. JavaScript's SDK names
// none on a turn that failed: then it is the one that the agent's answer names,
// if it was made while the turn ran. (Go's SDK up to 1.12 answers with an older
// one there.)
func (t *Turn) EndedIn(h *model.Header) bool {
	if t.Snapshot != "" {
		return t.Snapshot == h.ID
	}
	return t.Answered != "" && t.Answered == h.ID && !t.Start.IsZero() && !h.CreatedAt.Before(t.Start) && !h.CreatedAt.After(t.RunEnd)
}

// End returns when the step was over: its last tool run.
func (s *Step) End() time.Time {
	end := s.Call.End
	for i := range s.Tools {
		if at := s.Tools[i].End; at.After(end) {
			end = at
		}
	}
	return end
}
