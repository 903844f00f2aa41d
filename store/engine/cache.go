package engine

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"hindcast/model"
	"hindcast/store"
)

// session is a session as it was read. It is not changed any more.
type session struct {
	*Log
	raw      *Log // without what the journal tells
	mark     any
	rewrites int64 // tells apart the moments between which more than growth happened
	index    func() map[string]int
}

func newSession(log, raw *Log, mark any) *session {
	return &session{Log: log, raw: raw, mark: mark, index: sync.OnceValue(func() map[string]int {
		index := make(map[string]int, len(log.Rows))
		for i := range log.Rows {
			index[log.Rows[i].ID] = i
		}
		return index
	})}
}

func (s *session) at(id string) (int, error) {
	if i, ok := s.index()[id]; ok {
		return i, nil
	}
	return -1, model.ErrNoSnapshot
}

func (s *session) cursor() store.Cursor {
	return store.Cursor{Visit: int64(len(s.Rows)), Rewrites: s.rewrites}
}

// grewTo reports whether nothing but growth lies between the session and a later log: the rows are the
// same, and the head is the same, or among the new rows.
func (s *session) grewTo(log *Log) bool {
	if s == nil || len(log.Rows) < len(s.Rows) {
		return false
	}
	moved := slices.ContainsFunc(log.Rows[len(s.Rows):], func(h model.Header) bool { return h.Head })
	for i := range s.Rows {
		was, is := s.Rows[i], log.Rows[i]
		if !reflect.DeepEqual(was.Reason, is.Reason) {
			return false
		}
		if was.Reason, is.Reason = nil, nil; moved {
			was.Head, is.Head = false, false
		}
		if was != is {
			return false
		}
	}
	return true
}

// cache has sessions as they were read last, up to so many rows of all together.
type cache struct {
	mu       sync.Mutex
	sessions map[string]*session
	rows     int
	rewrites atomic.Int64
}

const mostCached = 200_000

func (c *cache) get(name string) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[name]
}

func (c *cache) put(name string, s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.sessions[name]; was != nil {
		c.rows -= len(was.Rows)
	}
	if c.rows += len(s.Rows); c.sessions == nil || c.rows > mostCached {
		c.sessions, c.rows = map[string]*session{}, len(s.Rows)
	}
	c.sessions[name] = s
}

// load returns a session as it is, and reads it where it changed since it was read. The error is
// model.ErrNoSession where there is none.
func (s *Store) load(ctx context.Context, in In, at Place) (*session, error) {
	was := s.cache.get(at.Session)
	var mark any
	if was != nil {
		mark = was.mark
	}
	look := s.medium.Look(in, mark)
	var raw *Log
	var err error
	switch {
	case was != nil && look.Same && s.medium.Silent():
		return was, nil
	case was != nil && look.Same:
		raw = was.raw
	default:
		if raw, err = s.format.Read(ctx, look.In, at); err != nil {
			return nil, err
		}
		mark = look.Mark()
	}
	log := *raw
	if !s.medium.Silent() { // a Teller changes rows in place
		log.Rows, log.Files = slices.Clone(raw.Rows), slices.Clone(raw.Files)
	}
	complete, err := s.medium.Teller(ctx)(ctx, in, at, &log)
	if err != nil {
		return nil, err
	}
	if len(complete.Rows) == 0 {
		return nil, model.ErrNoSession
	}
	now := newSession(complete, raw, mark)
	if was.grewTo(complete) {
		now.rewrites = was.rewrites
	} else {
		now.rewrites = s.cache.rewrites.Add(1)
	}
	if mark != nil {
		s.cache.put(at.Session, now)
	}
	return now, nil
}

// Cursor returns how far a session reaches. The error is model.ErrNoSession.
func (s *Store) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Cursor{}, s.wrap(err, "follow session %q", session)
	}
	return now.cursor(), nil
}

// Growth returns what became of a session since a cursor. The error is model.ErrNoSession.
func (s *Store) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Growth{}, s.wrap(err, "follow session %q", session)
	}
	growth := store.Growth{Cursor: now.cursor()}
	if growth.Rewritten = !since.Grows(growth.Cursor); !growth.Rewritten {
		growth.Headers = slices.Clone(now.Rows[max(since.Visit, 0):])
	}
	return growth, nil
}

// Tail returns the newest n headers of a session, and how many there are before them. The error is
// model.ErrNoSession.
func (s *Store) Tail(ctx context.Context, session string, n int) (rows []model.Header, before int, err error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return nil, 0, s.wrap(err, "list the last snapshots of session %q", session)
	}
	before = max(len(now.Rows)-max(n, 0), 0)
	return slices.Clone(now.Rows[before:]), before, nil
}
