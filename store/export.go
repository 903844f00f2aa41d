package store

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"hindcast/model"
)

// Rows gives the named sessions of a store whole, all of them in the order of
// their ids if none is named: each session's snapshots in the order of
// Headers, then its record where the store keeps one. It is what export writes
// and what [Importer] takes. A damaged step of a trace has the state null, because
// the session is whole without it; any other error ends the sequence.
func Rows(ctx context.Context, s Store, sessions ...string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if len(sessions) == 0 {
			all, err := sessionIDs(ctx, s)
			if err != nil {
				yield(Row{}, err)
				return
			}
			sessions = all
		}
		for _, id := range sessions {
			if !sessionRows(ctx, s, id, yield) {
				return
			}
		}
	}
}

func sessionIDs(ctx context.Context, s Store) ([]string, error) {
	ids := map[string]bool{}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		ids[info.ID] = true
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// sessionRows gives one session's rows and reports whether to go on.
func sessionRows(ctx context.Context, s Store, id string, yield func(Row, error) bool) bool {
	seen := map[string]bool{}
	for h, err := range s.Headers(ctx, id) {
		row := Row{Header: h}
		if err == nil && !seen[h.ID] {
			seen[h.ID] = true
			row.State, err = s.State(ctx, h.Ref())
			if err != nil && ctx.Err() == nil && h.Marks.Has(model.MarkTraced|model.MarkDamaged) {
				row.State, err = []byte("null"), nil
			}
		}
		if err != nil {
			yield(Row{}, fmt.Errorf("export: %w", err))
			return false
		}
		if !yield(row, nil) {
			return false
		}
	}
	r, ok := s.(Recorder)
	if !ok {
		return true
	}
	data, err := r.Get(ctx, id)
	if err != nil {
		yield(Row{}, fmt.Errorf("export: %w", err))
		return false
	}
	if data == nil {
		return true
	}
	data.LastSnapshot = nil
	return yield(Row{Record: data}, nil)
}
