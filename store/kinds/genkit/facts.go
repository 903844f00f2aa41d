package genkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Facts implements store.Deriver.
func (s *Store) Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
	facts, err := s.describe(ctx, ref)
	if err = cmp.Or(err, ctx.Err()); err != nil { // which may have ended amid the traces
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
	at, err := s.row(ctx, ref)
	if err != nil {
		return nil, err
	}
	r := at.row
	one := &session{sid: r.session(), grouping: &grouping{place: at.place, running: &s.running}, rows: []*row{r}, now: s.now()}
	one.pointer = readPointer(at.storage.In(), at.place, one.sid)
	one.layout = one.layoutOf()
	writes := at.storage.Writes(ctx)
	facts := writes.Told(at.session).Facts(one.file(r.id))
	facts = append(facts, one.facts(r, artifacts(at.data), at.storage.shown(one.file(r.id)))...)
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

func (s *session) facts(r *row, artifacts []string, file string) (facts model.Facts) {
	add, now := facts.Add, s.now
	status := r.statusAt(now)
	if status != r.status && r.status != "" {
		status += ", written as " + r.status
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
	add("resume", s.resumable(r, now).String())
	add("pointer", s.pointerFact(r))
	if r.updated.text != r.created.text && !r.updated.at.IsZero() {
		add("updated", r.updated.text)
	}
	if r.messages > 0 {
		facts = append(facts, model.CountFact("messages", "messageCount", r.messages))
	}
	add("artifacts", strings.Join(artifacts, ", "))
	add("layout", s.layout.String())
	add("file", file)
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
