package reflection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hindcast/model"
	wire "hindcast/model/reflection"
)

// pollInterval is how often Watch asks for the sessions.
const pollInterval = 500 * time.Millisecond

// Watch implements store.Watcher: it asks for the list of sessions twice a
// second and tells when the list is another than when Watch was called. A process
// that stops answering is a change too, and so is one that answers again; the
// channel is closed only when ctx ends. The error is ErrNoList where an agent has no such list.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	for _, name := range s.names() {
		if !s.agents[name].has(wire.ListSessions) {
			return nil, fmt.Errorf("reflection: watch: agent %.80q: %w", name, ErrNoList)
		}
	}
	last, err := s.sessions(ctx)
	if err != nil {
		return nil, fmt.Errorf("reflection: watch: %w", err)
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		s.poll(ctx, last, changed)
	}()
	return changed, nil
}

func (s *Store) poll(ctx context.Context, last []model.SessionInfo, changed chan<- struct{}) {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := s.sessions(ctx)
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
		default: // one that nobody has taken yet says as much
		}
	}
}

// sameInfo compares what is told of a session; times may have another zone.
func sameInfo(a, b model.SessionInfo) bool {
	same := a.UpdatedAt.Equal(b.UpdatedAt)
	a.UpdatedAt, b.UpdatedAt = time.Time{}, time.Time{}
	return same && a == b
}
