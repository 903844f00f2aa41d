package rows

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hindcast/model"
	"hindcast/store"
)

// What was read of a session is kept, and read on from there. A program that only adds
// puts its rows behind those that there were, and gives them greater row ids:
//
//	rows since                                  what is read
//	none, and the newest is as it was           the newest
//	more, each following the one before         those
//	fewer, of an older snapshot, or elsewhere   all
//
// A row that another takes the place of gets a new row id, but for the last of a table:
// so the newest snapshot is read each time.

// mark is how far a table has been read: how many rows of a session it has, and in SQLite the
// greatest row id.
type mark struct {
	rows, last int64
	// earlier and wrote are of PostgreSQL alone, where last is the sum of the transactions that wrote the rows:
	// how many come before the newest snapshot, and the sum of those.
	earlier, wrote int64
}

// kept is a session as it was read. It is not changed any more.
type kept struct {
	Log
	marks []mark // by table
	// rewrites tells apart the moments between which more than growth happened.
	rewrites int64
}

// memory is what is kept of sessions. Its zero value is ready.
type memory struct {
	mu       sync.Mutex
	sessions map[string]*kept
	headers  int
	rewrites atomic.Int64
}

// mostKept bounds how many headers are kept of all sessions together.
const mostKept = 200_000

func (m *memory) get(session string) *kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[session]
}

func (m *memory) put(session string, k *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was := m.sessions[session]; was != nil {
		m.headers -= len(was.Headers)
	}
	if m.headers += len(k.Headers); m.sessions == nil || m.headers > mostKept {
		m.sessions, m.headers = map[string]*kept{}, len(k.Headers)
	}
	m.sessions[session] = k
}

// where is the condition that the rows of a session fit.
func (k Kind) where() string { return " WHERE " + strings.Join(k.Key, " = ? AND ") + " = ?" }

// look returns a session as it is, and reads of it what is not kept.
func (s *Store) look(ctx context.Context, t tables, at Place) (*kept, error) {
	was := s.memory.get(at.ID)
	now, newest := &kept{}, ""
	grows := was != nil
	if grows {
		newest = was.head().ID
	}
	var err error
	var same bool
	if now.marks, same, err = t.marks(ctx, s.kind, at, was); err != nil {
		return nil, err
	}
	grows = grows && same
	if grows {
		log, err := s.kind.Format.Log(ctx, t, at, newest)
		if err != nil {
			return nil, err
		}
		if grown, marked, ok := was.with(log, at.ID); ok {
			if now.Log, now.rewrites = grown, was.rewrites; marked {
				now.rewrites = s.memory.rewrites.Add(1)
			}
			if slices.Equal(now.marks, was.marks) && !marked {
				return now, nil
			}
			if now.marks, err = t.upTo(ctx, s.kind, at, now.head().ID, now.marks); err == nil {
				s.memory.put(at.ID, now)
			}
			return now, err
		}
	}
	log, err := s.log(ctx, t, at)
	if err != nil {
		return nil, err
	}
	if now.Log = log; was.begins(&now.Log) {
		now.rewrites = was.rewrites
	} else {
		now.rewrites = s.memory.rewrites.Add(1)
	}
	if now.marks, err = t.upTo(ctx, s.kind, at, now.head().ID, now.marks); err == nil {
		s.memory.put(at.ID, now)
	}
	return now, err
}

// begins reports whether the session only grew to a log of all its snapshots: the head is
// the same, or among the new ones.
func (k *kept) begins(log *Log) bool {
	if k == nil || len(log.Headers) < len(k.Headers) {
		return false
	}
	moved := slices.ContainsFunc(log.Headers[len(k.Headers):], func(h model.Header) bool { return h.Head })
	for i := range k.Headers {
		was, is := k.Headers[i], log.Headers[i]
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

// head returns the newest snapshot.
func (k *kept) head() *model.Header { return &k.Headers[len(k.Headers)-1] }

// with returns the session with what a log says that begins with its newest snapshot;
// false where more than growth happened. marked says that this one got other marks: what
// it waited for came.
func (k *kept) with(log Log, session string) (grown Log, marked, ok bool) {
	if !log.line() || log.Headers[0].ID != k.head().ID {
		return Log{}, false, false
	}
	begin(log.Headers, session, k.head().TurnIndex)
	again := log.Headers[0]
	again.TurnIndex, again.Head, again.Marks = k.head().TurnIndex, true, k.head().Marks
	if again != *k.head() {
		return Log{}, false, false
	}
	grown, marked = k.Log, log.Headers[0].Marks != k.head().Marks
	grown.Title, grown.Opaque, grown.Size = cmp.Or(k.Title, log.Title), cmp.Or(k.Opaque, log.Opaque), k.Size+log.Size-log.First
	if fresh := log.Headers[1:]; len(fresh) > 0 || marked {
		grown.Headers = append(slices.Clone(k.Headers), fresh...)
		last := &grown.Headers[len(k.Headers)-1]
		last.Head, last.Marks = false, log.Headers[0].Marks
		grown.Headers[len(grown.Headers)-1].Head = true
	}
	return grown, marked, true
}

// line reports whether the newest snapshot is the head, and each follows the one before.
func (l *Log) line() bool {
	n := len(l.Headers)
	for i := range l.Headers {
		if i > 0 && l.Headers[i].ParentID != l.Headers[i-1].ID {
			return false
		}
	}
	return n > 0 && (l.Head.Newest || l.Headers[n-1].Head) && len(l.Head.Moves) == 0
}

// begin counts the turns of headers. The first has that turn.
func begin(headers []model.Header, session string, turn int) {
	for i := range headers {
		h := &headers[i]
		if h.SessionID = session; i > 0 {
			turn += h.TurnIndex
			h.TurnIndex = turn
		}
	}
}

// Tail implements store.Tailer. Of a session that was not read yet it reads the last
// snapshots alone, as long as each follows the one before.
func (s *Store) Tail(ctx context.Context, session string, n int) (headers []model.Header, before int, err error) {
	err = s.in(ctx, session, func(t tables, at Place) error {
		headers, before, err = s.tail(ctx, t, at, max(n, 0))
		return err
	})
	return headers, before, s.wrap(err, "list the last snapshots of session %q", session)
}

func (s *Store) tail(ctx context.Context, t tables, at Place, n int) ([]model.Header, int, error) {
	if s.memory.get(at.ID) == nil {
		var all int
		var from *string
		table, backwards := at.Table(s.kind.Snapshots)+s.kind.where(), strings.Join(s.kind.order(), " DESC, ")+" DESC"
		most := t.mostCounted()
		args := append(append(append(slices.Clone(at.Key), most), at.Key...), max(n-1, 0))
		if err := t.Row(ctx, "SELECT (SELECT count(*) FROM (SELECT 1 FROM "+table+" LIMIT ?) counted), (SELECT "+s.kind.ID+" FROM "+table+" ORDER BY "+backwards+" LIMIT 1 OFFSET ?)", args...).Scan(&all, &from); err != nil {
			return nil, 0, err
		}
		if 0 < n && n < all && from != nil {
			log, err := s.kind.Format.Log(ctx, t, at, *from)
			if err != nil {
				return nil, 0, err
			}
			if log.line() && len(log.Headers) == n && log.Headers[0].ParentID != "" { // ids of one second may be in no order
				for i := range log.Headers {
					h := &log.Headers[i]
					h.SessionID, h.TurnIndex, h.Head = at.ID, model.TurnUnknown, i == len(log.Headers)-1
				}
				if all == most {
					return log.Headers, store.Uncounted, nil
				}
				return log.Headers, all - n, nil
			}
		}
	}
	now, err := s.look(ctx, t, at)
	if err != nil {
		return nil, 0, err
	}
	before := max(len(now.Headers)-n, 0)
	return slices.Clone(now.Headers[before:]), before, nil
}

// Cursor implements store.Grower.
func (s *Store) Cursor(ctx context.Context, session string) (store.Cursor, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Cursor{}, s.wrap(err, "follow session %q", session)
	}
	return now.cursor(), nil
}

// cursor says how many snapshots there are.
func (k *kept) cursor() store.Cursor {
	return store.Cursor{Visit: int64(len(k.Headers)), Rewrites: k.rewrites}
}

// Growth implements store.Grower.
func (s *Store) Growth(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
	now, err := s.current(ctx, session)
	if err != nil {
		return store.Growth{}, s.wrap(err, "follow session %q", session)
	}
	growth := store.Growth{Cursor: now.cursor()}
	if growth.Rewritten = !since.Grows(growth.Cursor); !growth.Rewritten {
		growth.Headers = slices.Clone(now.Headers[max(since.Visit, 0):])
	}
	return growth, nil
}

func (s *Store) current(ctx context.Context, session string) (now *kept, err error) {
	err = s.in(ctx, session, func(t tables, at Place) error {
		now, err = s.look(ctx, t, at)
		return err
	})
	return now, err
}
