package genkit

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// traced are the keys of a session's state that a trace tells of in the middle of a
// turn.
var traced = map[string]bool{"messages": true, "sessionId": true}

// Gaps implements store.Deriver: a row is whole. Of a step it is what the row that
// the turn ended in has besides what a trace tells of.
func (s *Store) Gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	if !isStep(ref.ID) {
		return model.Gaps{}, nil
	}
	gaps, err := s.gaps(ctx, ref)
	if err != nil {
		return model.Gaps{}, fmt.Errorf("genkit: read what no trace tells of %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return gaps, nil
}

func (s *Store) gaps(ctx context.Context, ref model.Ref) (model.Gaps, error) {
	turn, _, err := s.step(ctx, ref)
	if err != nil {
		return model.Gaps{}, err
	}
	at, err := s.find(ctx, ref.Session)
	if err != nil {
		return model.Gaps{}, err
	}
	gaps := model.Gaps{}
	for _, r := range at.one().rows {
		if h := r.header(s.now()); !turn.EndedIn(&h) {
			continue
		}
		row, err := s.row(ctx, model.Ref{Session: ref.Session, ID: r.id})
		if errors.Is(err, model.ErrNoSnapshot) {
			continue // it went since
		}
		if err != nil {
			return model.Gaps{}, err
		}
		state, err := stateOf(row.data)
		if err != nil {
			continue // the row is damaged
		}
		for m := range jsontape.Members(state) {
			if key := jsontape.Unquote(m.Key); m.Key != nil && !traced[key] && !gaps.Has(key) {
				gaps.Keys, gaps.Why = append(gaps.Keys, key), model.GapUntraced
			}
		}
	}
	return gaps, nil
}
