package traces

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"hindcast/model/jsontape"
)

// Bounds on what is kept of a trace: bytes of a string, and calls.
const (
	maxID    = 256
	maxName  = 120
	maxError = 1000
	maxCalls = 10_000
)

// turns returns the turns of all agents that ran in a trace.
func (d *document) turns(trace string) []Turn {
	var turns []Turn
	calls := 0
	for agent := range d.spans {
		session := d.attr(agent, attrSession)
		if d.spans[agent].subtype != "agent" || !validID(session) {
			continue
		}
		first := len(turns)
		for _, i := range d.turnsOf(agent) {
			if calls > maxCalls {
				break
			}
			if !validID(d.spans[i].id) {
				continue
			}
			t := d.turn(i, Turn{Trace: trace, Session: session, Agent: cutText(d.spans[agent].name, maxName), RunEnd: d.spans[agent].end})
			calls += 1 + len(t.Calls)
			for k := range t.Steps {
				calls += 1 + len(t.Steps[k].Tools)
			}
			turns = append(turns, t)
		}
		if len(turns) == first {
			continue
		}
		last := &turns[len(turns)-1]
		last.Answered = d.answeredSnapshot(agent)
		// Where a turn fails, Go's SDK puts its snapshot on the agent's span.
		if failed := d.attr(agent, attrSnapshot); last.Snapshot == "" && last.Error != "" && validID(failed) {
			last.Snapshot = cutText(failed, maxID)
		}
	}
	return turns
}

// turnsOf returns the spans of an agent's turns in the order of time. Those of an
// agent that it called are not its own.
func (d *document) turnsOf(agent int) []int {
	var places []int
	d.walk(agent, func(i int) bool {
		turn := d.spans[i].turn()
		if turn {
			places = append(places, i)
		}
		return !turn && d.spans[i].subtype != "agent"
	})
	slices.SortStableFunc(places, d.byStart)
	return places
}

// turn takes one turn apart; t holds the data of its agent's span.
func (d *document) turn(i int, t Turn) Turn {
	s := &d.spans[i]
	t.Span, t.Start, t.End, t.Error = cutText(s.id, maxID), s.start, s.end, d.failure(i)
	if id := d.attr(i, attrSnapshot); validID(id) {
		t.Snapshot = cutText(id, maxID)
	}
	rounds := d.rounds(i)
	for k, r := range rounds {
		call := d.call(r.model)
		if len(r.tools) == 0 || !validID(call.Span) {
			t.Calls = append(t.Calls, call)
			continue
		}
		step := Step{Call: call}
		if state, err := d.stepState(rounds, k, t.Session, t.Trace); err == nil {
			step.Size = int64(len(state))
		}
		for _, tool := range r.tools {
			step.Tools = append(step.Tools, d.run(tool))
		}
		t.Steps = append(t.Steps, step)
	}
	return t
}

// run tells of a tool's run.
func (d *document) run(i int) Run {
	s := &d.spans[i]
	r := Run{Span: cutText(s.id, maxID), Name: cutText(s.name, maxName), Start: s.start, End: s.end, Error: d.failure(i)}
	if r.Error != "" && d.isInterrupt(i) {
		r.Error, r.Interrupted = "", true
	}
	return r
}

// call tells of a model's call. Its output holds the request once more, which
// is passed over.
func (d *document) call(i int) Call {
	s := &d.spans[i]
	c := Call{Span: cutText(s.id, maxID), Model: cutText(s.name, maxName), Start: s.start, End: s.end, Error: d.failure(i)}
	for m, err := range jsontape.Members([]byte(d.attr(i, attrOutput))) {
		if err != nil {
			break
		}
		switch string(m.Key) {
		case `"finishReason"`:
			c.Finish = cutText(jsontape.Unquote(m.Value), maxName)
		case `"latencyMs"`:
			if ms, err := strconv.ParseFloat(string(m.Value), 64); err == nil && ms > 0 && ms < 1e12 {
				c.Latency = time.Duration(ms * float64(time.Millisecond))
			}
		case `"usage"`:
			c.In, c.Out = tokens(m.Value)
		}
	}
	return c
}

func tokens(usage []byte) (in, out int64) {
	for m, err := range jsontape.Members(usage) {
		if err != nil {
			break
		}
		n, err := strconv.ParseInt(string(m.Value), 10, 64)
		switch {
		case err != nil:
		case string(m.Key) == `"inputTokens"`:
			in = n
		case string(m.Key) == `"outputTokens"`:
			out = n
		}
	}
	return in, out
}

// answeredSnapshot returns the snapshot that an agent's answer names.
func (d *document) answeredSnapshot(agent int) string {
	for m, err := range jsontape.Members([]byte(d.attr(agent, attrOutput))) {
		if err != nil {
			break
		}
		if string(m.Key) == `"snapshotId"` {
			if id := jsontape.Unquote(m.Value); validID(id) {
				return id
			}
		}
	}
	return ""
}

func validID(id string) bool { return id != "" && len(id) <= maxID && utf8.ValidString(id) }

// A note is the cached result of a trace: its turns as JSON, or nothing if no agent ran.

func note(turns []Turn) []byte {
	if len(turns) == 0 {
		return nil
	}
	text, err := json.Marshal(turns)
	if err != nil {
		return nil // it cannot be: times are within RFC 3339, the rest are strings and numbers
	}
	return text
}

// parseNote returns the turns of a note, those of one session or, for "", all.
func parseNote(text []byte, session string) []Turn {
	if len(text) == 0 {
		return nil
	}
	if quoted, err := json.Marshal(session); session != "" && (err != nil || !bytes.Contains(text, quoted)) {
		return nil
	}
	var turns []Turn
	if json.Unmarshal(text, &turns) != nil {
		return nil // it cannot be: note wrote it
	}
	if session == "" {
		return turns
	}
	kept := turns[:0]
	for _, t := range turns {
		if t.Session == session {
			kept = append(kept, t)
		}
	}
	return kept
}
