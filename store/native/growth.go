package native

import (
	"context"
	"fmt"

	"hindcast/store"
)

// Cursor implements [store.Features].Cursor.
func (s *Store) Cursor(ctx context.Context, sessionID string) (cursor store.Cursor, err error) {
	err = s.readGrowth(ctx, sessionID, func(_ *tx, _ session, now store.Cursor) error {
		cursor = now
		return nil
	})
	if err != nil {
		return store.Cursor{}, fmt.Errorf("%s: look how far session %q reaches: %w", s.kind, sessionID, err)
	}
	return cursor, nil
}

// Growth implements [store.Features].Growth.
func (s *Store) Growth(ctx context.Context, sessionID string, since store.Cursor) (growth store.Growth, err error) {
	err = s.readGrowth(ctx, sessionID, func(t *tx, ss session, now store.Cursor) error {
		growth = store.Growth{Cursor: now}
		if !since.Grows(now) {
			growth.Rewritten = true
			return nil
		}
		if since.Visit == now.Visit {
			return nil
		}
		growth.Headers, err = (&listing{tx: t, session: ss}).readFew(ctx, "visits WHERE session = ? AND visit > ? ORDER BY visit", ss.key, since.Visit)
		return err
	})
	if err != nil {
		return store.Growth{}, fmt.Errorf("%s: look what is new in session %q: %w", s.kind, sessionID, err)
	}
	return growth, nil
}

// readGrowth runs what on a session, with the cursor of the same moment.
func (s *Store) readGrowth(ctx context.Context, sessionID string, what func(t *tx, ss session, now store.Cursor) error) error {
	for {
		era := s.carrier.Era()
		err := s.withReadTx(ctx, func(t *tx) error {
			ss, err := findSession(ctx, t, sessionID)
			if err != nil {
				return err
			}
			now := store.Cursor{Rewrites: ss.rewrites + era<<32}
			if err := t.Row(ctx, "SELECT coalesce(max(visit), 0) FROM visits WHERE session = ?", ss.key).Scan(&now.Visit); err != nil {
				return err
			}
			return what(t, ss, now)
		})
		if err != nil || s.carrier.Era() == era {
			return err
		}
	}
}
