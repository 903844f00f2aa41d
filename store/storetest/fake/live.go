package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Load implements typed.Committer.
func (s *Store) Load(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], typed.Revision, error) {
	data, at, err := s.load(ctx, sessionID)
	if err != nil {
		return nil, 0, fmt.Errorf("memory: load session %q: %w", sessionID, err)
	}
	return data, at, nil
}

// Commit implements typed.Committer.
func (s *Store) Commit(ctx context.Context, data *model.Data[json.RawMessage], at typed.Revision) (typed.Revision, error) {
	if data == nil {
		return 0, fmt.Errorf("memory: commit: %w", store.ErrNoRecord)
	}
	now, err := s.commit(ctx, data, at)
	if err != nil {
		return 0, fmt.Errorf("memory: commit session %q: %w", data.ID, err)
	}
	return now, nil
}

func (s *Store) commit(ctx context.Context, data *model.Data[json.RawMessage], at typed.Revision) (typed.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := store.CheckData(data.ID, data); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.at(data.ID)
	if typed.Revision(ss.writes) != at {
		return 0, ss.conflict(data)
	}
	if err := s.put(ss, data); err != nil {
		return 0, err
	}
	return typed.Revision(ss.writes), nil
}

// conflict returns the error of a commit that came too late.
func (ss *session) conflict(data *model.Data[json.RawMessage]) error {
	var head *model.Header
	if i := ss.visits.Head; i >= 0 {
		head = &ss.visits.Headers[i]
	}
	var visits []model.Header
	if data.LastSnapshot != nil {
		for _, i := range ss.rows[data.LastSnapshot.ID] {
			visits = append(visits, ss.visits.Headers[i])
		}
	}
	return store.FindConflict(data, head, visits)
}

// Watch implements [store.Features].Watch. A value is there as soon as the write that
// it tells of has ended.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: watch: %w", err)
	}
	return s.notifier.Listen(ctx), nil
}

// Cursor implements [store.Features].Cursor.
func (s *Store) Cursor(ctx context.Context, sessionID string) (store.Cursor, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss, err := s.open(ctx, sessionID)
	if err != nil {
		return store.Cursor{}, fmt.Errorf("memory: look how far session %q reaches: %w", sessionID, err)
	}
	return ss.cursor(), nil
}

func (ss *session) cursor() store.Cursor {
	return store.Cursor{Visit: ss.visits.Next() - 1, Rewrites: ss.rewrites}
}

// Growth implements [store.Features].Growth.
func (s *Store) Growth(ctx context.Context, sessionID string, since store.Cursor) (store.Growth, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ss, err := s.open(ctx, sessionID)
	if err != nil {
		return store.Growth{}, fmt.Errorf("memory: look what is new in session %q: %w", sessionID, err)
	}
	now := ss.cursor()
	if !since.Grows(now) {
		return store.Growth{Rewritten: true, Cursor: now}, nil
	}
	return store.Growth{Headers: ss.after(since.Visit), Cursor: now}, nil
}

// after returns the visits beyond a number.
func (ss *session) after(visit int64) []model.Header {
	all := ss.visits.Headers
	first, _ := slices.BinarySearchFunc(all, visit+1, func(h model.Header, n int64) int { return cmp.Compare(h.Visit, n) })
	return ss.from(first)
}
