package old

import "time"

// Beside has the store tell the time and make ids as the one beside it.
func (s *Store) Beside(now func() time.Time, random func([]byte)) {
	s.writer.Now, s.writer.random = now, random
}
