package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store"
)

// pollInterval is how often Watch asks for the sessions.
const pollInterval = 500 * time.Millisecond

// Watch implements [store.Features].Watch. It asks for the list of sessions twice a second, and notifies when the list
// differs from the list at the call of Watch. A process that stops or resumes answering is a change too. The
// channel is closed only when ctx ends or the store is closed. The error is ErrNoList if an agent has no such
// list.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	ctx = s.life.Within(ctx)
	for _, name := range s.agentNames() {
		if !s.agents[name].hasAction(wire.ListSessions) {
			return nil, fmt.Errorf("reflection: watch: agent %.80q: %w", name, ErrNoList)
		}
	}
	last, err := s.listSessions(ctx)
	if err != nil {
		return nil, fmt.Errorf("reflection: watch: %w", err)
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		s.pollSessions(ctx, last, changed)
	}()
	return changed, nil
}

func (s *Store) pollSessions(ctx context.Context, last []model.SessionInfo, changed chan<- struct{}) {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := s.listSessions(ctx)
		if ctx.Err() != nil {
			return
		}
		same := failing == (err != nil)
		if failing = err != nil; !failing {
			same = same && slices.EqualFunc(now, last, sameInfo)
			last = now
		}
		if same {
			continue
		}
		select {
		case changed <- struct{}{}:
		default: // one that was not taken yet says as much
		}
	}
}

// sameInfo compares what is told of a session; times may have another zone.
func sameInfo(a, b model.SessionInfo) bool {
	same := a.UpdatedAt.Equal(b.UpdatedAt)
	a.UpdatedAt, b.UpdatedAt = time.Time{}, time.Time{}
	return same && a == b
}

// Cursor implements [store.Features].Cursor. The error is ErrNoGrowth where the process
// cannot tell what is new.
func (s *Store) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	var cursor wire.Cursor
	err := s.followChanges(ctx, wire.GetCursor, session, store.Cursor{}, func(dec *json.Decoder) error { return dec.Decode(&cursor) })
	if err != nil {
		return store.Cursor{}, fmt.Errorf("reflection: look how far session %.80q reaches: %w", session, err)
	}
	return store.Cursor(cursor), nil
}

// Growth implements [store.Features].Growth. The errors are as those of Cursor.
func (s *Store) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	var sent wire.Growth
	err := s.followChanges(ctx, wire.GetGrowth, session, since, func(dec *json.Decoder) (err error) {
		sent, err = wire.ReadGrowth(dec, s.listReader())
		return err
	})
	if err == nil {
		err = adoptHeaders(sent.Headers, session)
	}
	if err != nil {
		return store.Growth{}, fmt.Errorf("reflection: look what is new in session %.80q: %w", session, err)
	}
	growth := store.Growth{Headers: sent.Headers, Rewritten: sent.Rewritten, Cursor: store.Cursor(sent.Cursor)}
	if growth.Rewritten {
		growth.Headers = nil
	}
	return growth, nil
}

// followChanges runs one of the two actions, and has its answer read.
func (s *Store) followChanges(ctx context.Context, action, session string, since store.Cursor, read func(*json.Decoder) error) error {
	a, inside, err := s.locateAgent(session)
	if err != nil {
		return err
	}
	if !a.hasAction(action) {
		return ErrNoGrowth
	}
	in := wire.Input{SessionID: &inside, Visit: since.Visit, Rewrites: since.Rewrites}
	return noSession(s.runAction(ctx, a, action, in, read))
}
