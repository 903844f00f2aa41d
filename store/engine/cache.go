package engine

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// session is a session as it was read. It is not changed any more.
type session struct {
	*Log
	raw      *Log           // without what the journal tells
	shown    []model.Header // the rows, with the steps between them
	mark     any
	rewrites int64 // tells apart the moments between which more than growth happened
	index    func() map[string]int
}

func newSession(log, raw *Log, mark any) *session {
	return &session{Log: log, raw: raw, shown: log.Rows, mark: mark, index: sync.OnceValue(func() map[string]int {
		index := make(map[string]int, len(log.Rows))
		for i := range log.Rows {
			index[log.Rows[i].ID] = i
		}
		return index
	})}
}

func (s *session) findRow(id string) (int, error) {
	if i, ok := s.index()[id]; ok {
		return i, nil
	}
	return -1, model.ErrNoSnapshot
}

// markAt returns the mark to compare with the next look, nil if there is no session or its log has
// expired.
func (s *session) markAt(now time.Time) any {
	if s == nil || !s.raw.Until.IsZero() && !now.Before(s.raw.Until) {
		return nil
	}
	return s.mark
}

// newest returns the ID of the last row, "" if there are no rows.
func (s *session) newest() string {
	if s == nil || len(s.Rows) == 0 {
		return ""
	}
	return s.Rows[len(s.Rows)-1].ID
}

// size counts the rows, the files that tell whether they changed, and what is held of files.
func (s *session) size() int {
	files, _ := s.mark.(seen)
	return len(s.Rows) + files.Len() + int(s.Held/heldSize)
}

func (s *session) endCursor() store.Cursor {
	return store.Cursor{Visit: int64(len(s.shown)), Rewrites: s.rewrites}
}

// grewTo reports whether nothing but growth lies between the session and later rows: those that it has are
// the same, and the head is the same, or among the new rows.
func (s *session) grewTo(rows []model.Header) bool {
	if s == nil || len(rows) < len(s.shown) {
		return false
	}
	moved := slices.ContainsFunc(rows[len(s.shown):], func(h model.Header) bool { return h.Head })
	for i := range s.shown {
		was, is := s.shown[i], rows[i]
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

// cache has sessions as they were read last, up to a size of all together.
type cache struct {
	mu       sync.Mutex
	sessions Recent[*session]
	rewrites atomic.Int64
}

const (
	mostCached = 10_000
	heldSize   = 128 // bytes of files that count as much as a row
	// mostSeen bounds the files of a session that is cached: to look at more takes about as long as to read it.
	mostSeen = 1 << 16
)

// get returns the session at a place, nil where it was not read, or is called otherwise by now.
func (c *cache) get(at Place) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, _ := c.sessions.Get(at.Session, mostCached); s != nil && s.Place.ID == at.ID {
		return s
	}
	return nil
}

func (c *cache) addSession(name string, s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if files, _ := s.mark.(seen); files.Len() > mostSeen {
		c.sessions.Delete(name)
		return
	}
	c.sessions.Put(name, s, s.size(), mostCached)
}

// load returns the current session, and reads it only if it changed since the last reading. The error is
// model.ErrNoSession if the session does not exist.
func (s *Store) load(ctx context.Context, in In, at Place) (*session, error) {
	was := s.cache.get(at)
	mark := was.markAt(in.Now)
	look, err := s.medium.Look(ctx, in, at, mark, was.newest())
	if err != nil {
		return nil, err
	}
	var raw, complete *Log
	switch {
	case was != nil && look.Since == Same && s.medium.Silent():
		if s.format.Steps == nil {
			return was, nil
		}
		raw, complete = was.raw, was.Log
	case was != nil && look.Since == Same:
		raw = was.raw
	case was != nil && look.Since == Grew:
		if now, err := s.readGrowth(ctx, look, at, was); err != nil || now != nil {
			return now, err
		}
		fallthrough
	default:
		if raw, mark, err = s.readWhole(ctx, look, at); mark == nil && in.Tree != nil && !errors.Is(err, model.ErrNoSession) {
			raw, err = s.format.Read(ctx, in, at, "") // a look passes over what changed under it
		}
		if err != nil {
			return nil, err
		}
	}
	if complete == nil {
		if complete, err = s.completeLog(ctx, in, at, raw, s.medium.Silent()); err != nil {
			return nil, err
		}
	}
	if len(complete.Rows) == 0 && !complete.Empty {
		return nil, model.ErrNoSession
	}
	now := newSession(complete, raw, mark)
	if s.format.Steps != nil {
		now.shown = s.format.Steps(ctx, in, complete)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if was.grewTo(now.shown) {
		now.rewrites = was.rewrites
	} else {
		now.rewrites = s.cache.rewrites.Add(1)
	}
	if mark != nil {
		s.cache.addSession(at.Session, now)
	}
	return now, nil
}

// readWhole reads a session from its first row, and returns the log and its mark.
func (s *Store) readWhole(ctx context.Context, look Look, at Place) (log *Log, mark any, err error) {
	if log, err = s.format.Read(ctx, look.In, at, ""); err != nil {
		return nil, nil, err
	}
	newest := ""
	if n := len(log.Rows); n > 0 {
		newest = log.Rows[n-1].ID
	}
	mark, err = look.Mark(newest)
	return log, mark, err
}

// completeLog returns a log completed from the journal. It copies the rows of raw unless given is true.
func (s *Store) completeLog(ctx context.Context, in In, at Place, raw *Log, given bool) (*Log, error) {
	log := *raw
	if !given { // a Teller changes rows in place
		log.Rows, log.Files = slices.Clone(raw.Rows), slices.Clone(raw.Files)
	}
	return s.medium.Teller(ctx)(ctx, in, at, &log)
}

// readGrowth reads a session on from its newest row. It returns nil where more than growth happened.
func (s *Store) readGrowth(ctx context.Context, look Look, at Place, was *session) (*session, error) {
	more, err := s.format.Read(ctx, look.In, at, was.newest())
	if err != nil {
		return nil, err
	}
	log, marked := was.mergeGrowth(more)
	if log == nil {
		return nil, nil
	}
	if len(log.Rows) == len(was.Rows) && !marked {
		return was, nil
	}
	mark, err := look.Mark(log.Rows[len(log.Rows)-1].ID)
	if err != nil {
		return nil, err
	}
	now := newSession(log, log, mark)
	if now.rewrites = was.rewrites; marked {
		now.rewrites = s.cache.rewrites.Add(1)
	}
	s.cache.addSession(at.Session, now)
	return now, nil
}

// mergeGrowth returns the session with the rows of a log that begins with its newest row, nil where more than
// growth happened. marked reports that this row got other marks: what it waited for came.
func (s *session) mergeGrowth(more *Log) (all *Log, marked bool) {
	last := s.Rows[len(s.Rows)-1]
	if !more.IsLine() || more.Rows[0].ID != last.ID {
		return nil, false
	}
	turn := last.TurnIndex
	for i := range more.Rows {
		h := &more.Rows[i]
		if h.SessionID = last.SessionID; i > 0 {
			turn += h.TurnIndex
		}
		h.TurnIndex, h.Head = turn, i == len(more.Rows)-1
	}
	again := more.Rows[0]
	marked = again.Marks != last.Marks
	again.Marks, again.Head = last.Marks, true
	if again != last {
		return nil, false
	}
	grown := *s.Log
	grown.Title, grown.Opaque, grown.Size = cmp.Or(s.Title, more.Title), cmp.Or(s.Opaque, more.Opaque), s.Size+more.Size-more.First
	grown.Rows = append(slices.Clone(s.Rows[:len(s.Rows)-1]), more.Rows...)
	grown.Head = len(grown.Rows) - 1
	return &grown, marked
}

// Cursor returns how far a session reaches. The error is model.ErrNoSession.
func (s *Store) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Cursor{}, s.Wrap(err, "follow session %q", session)
	}
	return now.endCursor(), nil
}

// Growth returns the headers that a session got since a cursor. The error is model.ErrNoSession.
func (s *Store) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Growth{}, s.Wrap(err, "follow session %q", session)
	}
	growth := store.Growth{Cursor: now.endCursor()}
	if growth.Rewritten = !since.Grows(growth.Cursor); !growth.Rewritten {
		growth.Headers = slices.Clone(now.shown[max(since.Visit, 0):])
	}
	return growth, nil
}

// Tail returns the newest n headers of a session, and how many there are before them. The error is
// model.ErrNoSession.
func (s *Store) Tail(ctx context.Context, session string, n int) (rows []model.Header, before int, err error) {
	n = max(n, 0)
	err = s.In(ctx, session, func(in In, at Place) error {
		if s.format.Tail != nil && s.cache.get(at) == nil {
			var ok bool
			if rows, before, ok, err = s.format.Tail(ctx, in, at, n); ok || err != nil {
				return err
			}
		}
		now, err := s.load(ctx, in, at)
		if err == nil {
			before = max(len(now.shown)-n, 0)
			rows, err = slices.Clone(now.shown[before:]), now.Err
		}
		return err
	})
	return rows, before, s.Wrap(err, "list the last snapshots of session %q", session)
}
