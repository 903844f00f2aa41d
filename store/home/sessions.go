package home

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/store"
)

// Session is one session of a home, or a store without one: see Err.
type Session struct {
	model.SessionInfo
	// Store is the store that has the session.
	Store *Store
	// Err is why the store, or the rest of it, could not be read; the other fields of the session are empty
	// then. It is nil for a session.
	Err error
}

// NewestFirst orders sessions by their last change, then by store and id. Stores that could not be read come
// first.
func NewestFirst(a, b *Session) int {
	switch {
	case a.Err != nil && b.Err == nil:
		return -1
	case a.Err == nil && b.Err != nil:
		return 1
	}
	return cmp.Or(store.NewestFirst(a.SessionInfo, b.SessionInfo), strings.Compare(a.Store.At, b.Store.At))
}

// atOnce bounds the stores that are read at the same time. A server that a person added is not counted: while it
// does not answer, others are read.
const atOnce = 4

// Sessions looks for stores and yields the sessions of all, as they are read. The home keeps them: they must not be
// changed. An error is that of [Home.FindStores], and comes with an empty session.
func (h *Home) Sessions(ctx context.Context) iter.Seq2[*Session, error] {
	return h.eachStore(ctx, (*Store).readSessions)
}

// ListNewest looks for stores and yields the sessions of all, the newest change first, as far as each store lists its own so:
// the sub-agents of a session follow it. It reads no more of a store's list than the next session. A store that
// cannot be read comes first, the rest of one in its place. An error is that of [Home.FindStores].
func (h *Home) ListNewest(ctx context.Context) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		ctx, end := context.WithCancel(ctx)
		defer end()
		var mu sync.Mutex
		var lists []*aheadList
		defer func() {
			for _, l := range lists {
				l.stop()
			}
		}()
		begin := func(s *Store, _ context.Context) iter.Seq[*Session] {
			return func(func(*Session) bool) {
				next, stop := iter.Pull(s.readInOrder(ctx, newestFirst))
				l := &aheadList{next: next, stop: stop}
				if l.readNext() {
					mu.Lock()
					defer mu.Unlock()
					lists = append(lists, l)
				}
			}
		}
		for _, err := range h.eachStore(ctx, begin) {
			if !yield(new(Session), err) {
				return
			}
		}
		for len(lists) > 0 && ctx.Err() == nil {
			l := slices.MinFunc(lists, func(a, b *aheadList) int { return NewestFirst(a.by, b.by) })
			if !yield(l.first, nil) {
				return
			}
			if !l.readNext() {
				lists = slices.DeleteFunc(lists, func(other *aheadList) bool { return other == l })
			}
		}
	}
}

// newestFirst lists a store, the newest change first.
func newestFirst(ctx context.Context, s store.Store) iter.Seq2[model.SessionInfo, error] {
	return s.Sessions(ctx)
}

// aheadList is the list of a store, whose next session is first. by is the session that a sub-agent in first follows, else
// first itself.
type aheadList struct {
	first, by *Session
	next      func() (*Session, bool)
	stop      func()
}

// readNext reads the next session, and reports whether there is one.
func (l *aheadList) readNext() (ok bool) {
	if l.first, ok = l.next(); ok && (l.first.Parent == "" || l.by == nil) {
		l.by = l.first
	}
	return ok
}

// lister yields the sessions of a store.
type lister = func(s *Store, ctx context.Context) iter.Seq[*Session]

// result holds one element of a list: a session, an error, or a panic.
type result struct {
	session  *Session
	err      error
	panicked *store.Panic
}

// readStores sends what list yields of each store, several at once, and what keeps stores from being found. The receiver
// takes all, or ends ctx and takes the rest.
func (h *Home) readStores(ctx context.Context, list lister) <-chan result {
	results := make(chan result, 256)
	guard := func(work func()) {
		defer store.CatchPanic(func(p store.Panic) { results <- result{panicked: &p} })
		work()
	}
	go func() {
		defer close(results)
		var reading sync.WaitGroup
		defer reading.Wait()
		free := make(chan struct{}, atOnce)
		guard(func() {
			for s, err := range h.FindStores(ctx) {
				if err != nil {
					results <- result{err: err}
					continue
				}
				reading.Go(func() {
					if !s.isServer() {
						free <- struct{}{}
						defer func() { <-free }()
					}
					guard(func() {
						for session := range list(s, ctx) {
							results <- result{session: session}
						}
						h.noteRenewal()
					})
				})
			}
		})
	}()
	return results
}

// eachStore yields what list yields of each store, several at once.
func (h *Home) eachStore(ctx context.Context, list lister) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		results := h.readStores(ctx, list)
		defer func() {
			stop()
			for range results { // the readers end
			}
		}()
		for r := range results {
			if r.panicked != nil {
				panic(*r.panicked)
			}
			if !yield(cmp.Or(r.session, new(Session)), r.err) {
				return
			}
		}
	}
}

// readSessions yields the sessions of a store as they are read, and at last why there are no more, if
// that is an error. It ends with ctx.
func (s *Store) readSessions(ctx context.Context) iter.Seq[*Session] {
	return s.readInOrder(ctx, store.AnyOrder)
}

// readInOrder does what readSessions does, in the order of a list.
func (s *Store) readInOrder(ctx context.Context, list func(context.Context, store.Store) iter.Seq2[model.SessionInfo, error]) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		s.mu.Lock()
		s.changed = false
		s.mu.Unlock()
		whole := false
		defer func() {
			if !whole {
				s.markChanged() // what was read before is not told again
			}
		}()
		var read []*Session
		add := func(session *Session) bool {
			read = append(read, session)
			return yield(session)
		}
		opened, err := s.Open(ctx)
		if err == nil {
			for info, wrong := range list(ctx, opened) {
				if err = wrong; err != nil {
					break
				}
				if ctx.Err() != nil || !add(&Session{SessionInfo: info, Store: s}) {
					return
				}
			}
		}
		if ctx.Err() != nil || err != nil && !add(&Session{Store: s, Err: err}) {
			return
		}
		whole = true
		s.mu.Lock()
		s.listed, s.whole = read, true
		s.mu.Unlock()
	}
}

// recallSessions yields the sessions of a store as they were read last, or reads them where they may have changed.
func (s *Store) recallSessions(ctx context.Context) iter.Seq[*Session] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole || s.changed {
		return s.readSessions(ctx)
	}
	return slices.Values(s.listed)
}

// LatestSession returns the session that changed last. It reads no more than the first session of each store that
// lists its newest first. An empty home is model.ErrNoSession; if no store can be read, the error is that of one.
func (h *Home) LatestSession(ctx context.Context) (latest Session, err error) {
	newest := func(s *Store, ctx context.Context) iter.Seq[*Session] {
		return func(yield func(*Session) bool) {
			opened, err := s.Open(ctx)
			if err != nil {
				yield(&Session{Store: s, Err: err})
				return
			}
			if only := store.Only(ctx, opened); only != "" && h.OnlyStore() != nil { // without a time to compare
				yield(&Session{SessionInfo: model.SessionInfo{ID: only, Kind: opened.Kind()}, Store: s})
				return
			}
			for info, err := range opened.Sessions(ctx) {
				yield(&Session{SessionInfo: info, Store: s, Err: err})
				return
			}
		}
	}
	var unread error
	for session, wrong := range h.eachStore(ctx, newest) {
		switch {
		case wrong != nil:
			err = cmp.Or(err, wrong)
		case session.Err != nil:
			unread = cmp.Or(unread, session.Err)
		case latest.Store == nil || NewestFirst(session, &latest) < 0:
			latest = *session
		}
	}
	if latest.Store == nil && err == nil {
		err = cmp.Or(ctx.Err(), unread, model.ErrNoSession)
	}
	return latest, err
}

// leastPrefix is the length of the shortest beginning that stands for an id.
const leastPrefix = 4

// FindSession returns the sessions with an id. If there are none, it returns those whose id begins with the name,
// which then has at least 4 bytes, without the sub-agents of a session among them. Several are returned with all that
// their stores list of them.
func (h *Home) FindSession(ctx context.Context, name string) ([]Session, error) {
	var exact, listed, begin []Session
	for s, err := range h.FindStores(ctx) {
		if err != nil {
			return nil, err
		}
		opened, err := s.Open(ctx)
		if err != nil {
			continue // the list of sessions tells
		}
		switch err := store.Find(ctx, opened, name); {
		case err == nil:
			exact = append(exact, Session{SessionInfo: model.SessionInfo{ID: name, Kind: opened.Kind()}, Store: s})
		case !errors.Is(err, model.ErrNoSession) && ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	if len(exact) == 1 || len(exact) == 0 && len(name) < leastPrefix {
		return exact, nil
	}
	for session, err := range h.Sessions(ctx) {
		switch {
		case err != nil || session.Err != nil || !strings.HasPrefix(session.ID, name):
		case session.ID == name:
			listed = append(listed, *session)
		default:
			begin = append(begin, *session)
		}
	}
	switch {
	case len(exact) == 0:
		return withoutAgents(begin), ctx.Err()
	case len(listed) < len(exact): // a store finds what it does not list
		return exact, ctx.Err()
	}
	return listed, ctx.Err()
}

// withoutAgents returns the sessions that no other one of them started.
func withoutAgents(sessions []Session) []Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(agent Session) bool {
		return agent.Parent != "" && slices.ContainsFunc(sessions, func(s Session) bool {
			return s.Store == agent.Store && s.ID == agent.Parent
		})
	})
}
