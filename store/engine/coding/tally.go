package coding

import (
	"context"
	"time"
)

// Tally returns how many sessions there are and when one changed last, by names and times
// alone. The errors are those of Sessions.
func (s *Store) Tally(ctx context.Context) (sessions int, changed time.Time, err error) {
	if s.life.Over() {
		return 0, changed, errClosed
	}
	in := s.storage.In()
	spots, err := s.spots(ctx, in)
	if err != nil {
		return 0, changed, s.wrap(err, "count the sessions of %q", s.address)
	}
	looks, err := looksAt(ctx, in, spots)
	for _, at := range looks {
		if !isFile(at) {
			continue
		}
		if sessions++; at.Modified.After(changed) {
			changed = at.Modified
		}
	}
	return sessions, changed, err
}
