package genkit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Facts implements store.Deriver.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	facts, err := s.describe(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("genkit: describe %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return facts, nil
}

func (s *Store) describe(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	if isStep(ref.ID) {
		turn, i, err := s.step(ctx, ref)
		if err != nil {
			return nil, err
		}
		return turn.StepFacts(i), nil
	}
	p, r, data, err := s.row(ctx, ref)
	if err != nil {
		return nil, err
	}
	one := &session{id: ref.Session, sid: r.session(), place: p, rows: []*row{r}}
	one.pointer = readPointer(s.root, p, one.sid)
	one.layout = one.layoutOf()
	written := s.written(ctx, p)
	one.written = &written
	facts := one.facts(r, artifacts(data), s.now())
	h := r.header(s.now())
	if turn := endsOf(s.turns(ctx, one.sid)).turn(&h); turn != nil {
		for _, f := range turn.Facts() {
			if !slices.ContainsFunc(facts, f.Same) {
				facts = append(facts, f)
			}
		}
	}
	return facts, nil
}

func (s *session) facts(r *row, artifacts []string, now time.Time) (facts model.Facts) {
	add := facts.Add
	status := r.statusAt(now)
	if status != r.status && r.status != "" {
		status += ", written as " + r.status
	}
	if m := s.mark(r); m != nil {
		add("written by", m.fact())
	}
	for _, a := range s.written.aside {
		if a.id == r.id {
			add("set aside", fmt.Sprintf("by a repair of Hindcast's at %s, entry %d of its journal", a.at.UTC().Format(time.RFC3339), a.entry))
		}
	}
	if u, ok := s.written.undone[r.id]; ok {
		add("taken away", fmt.Sprintf("by an undo of Hindcast's, with entry %d of its journal", u.entry))
	}
	add("status", status)
	add("finish reason", r.finishReason)
	if r.errored {
		add("error", strings.TrimPrefix(r.errStatus+": "+r.errMessage, ": "))
	}
	if r.heartbeat.text != "" {
		text := r.heartbeat.text
		if !r.heartbeat.at.IsZero() {
			text += ", " + age(now.Sub(r.heartbeat.at)) + " ago"
		}
		add("heartbeat", text)
	}
	add("resume", r.resumable(s.layout, now).String())
	add("pointer", s.pointerFact(r))
	if r.updated.text != r.created.text && !r.updated.at.IsZero() {
		add("updated", r.updated.text)
	}
	if r.messages > 0 {
		facts = append(facts, model.CountFact("messages", "messageCount", r.messages))
	}
	add("artifacts", strings.Join(artifacts, ", "))
	add("layout", s.layout.String())
	add("file", s.file(r.id))
	return facts
}

// pointerFact says what the session's pointer has to do with a row.
func (s *session) pointerFact(r *row) string {
	switch {
	case s.layout == layoutPython || s.sid == "":
		return ""
	case s.pointer == nil:
		return "the session has none"
	case s.pointer.err != nil:
		return "cannot be read"
	case s.pointer.current == r.id:
		return "names this row"
	}
	return "names " + s.pointer.current
}

// mostArtifacts bounds the artifacts that are named.
const mostArtifacts = 50

// artifacts returns the names of the artifacts in a row's state.
func artifacts(data []byte) (names []string) {
	state, err := stateOf(data)
	if err != nil {
		return nil
	}
	for m, err := range jsontape.Members(state) {
		if err != nil {
			return nil
		}
		if string(m.Key) == `"artifacts"` {
			return namesOf(m.Value)
		}
	}
	return nil
}

func namesOf(list []byte) (names []string) {
	for artifact, err := range jsontape.Members(list) {
		if err != nil {
			return names
		}
		if len(names) == mostArtifacts {
			return append(names, "…")
		}
		name := "(unnamed)"
		for m, err := range jsontape.Members(artifact.Value) {
			if err == nil && string(m.Key) == `"name"` && len(m.Value) > 0 && m.Value[0] == '"' {
				name = clip(jsontape.Unquote(m.Value))
			}
		}
		names = append(names, name)
	}
	return names
}
