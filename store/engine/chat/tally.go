package chat

import (
	"context"
	"time"

	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// Tally returns how many sessions there are and when a session changed last, by names and times alone. The
// errors are those of Sessions.
func (s *Store) Tally(ctx context.Context) (sessions int, changed time.Time, err error) {
	var looks []tree.Stamp
	err = s.Read(ctx, func(in engine.In) error {
		spots, err := s.listSpots(ctx, in)
		if err == nil {
			looks, err = looksAt(ctx, in, spots)
		}
		return err
	})
	for _, at := range looks {
		if !isFile(at) {
			continue
		}
		if sessions++; at.Modified.After(changed) {
			changed = at.Modified
		}
	}
	return sessions, changed, s.Wrap(err, "count the sessions of %q", s.Address())
}
