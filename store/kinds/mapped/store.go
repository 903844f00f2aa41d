package mapped

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/recording"
)

const kind = "mapped"

// Kind describes a store of any JSON that a map reads. It recognises every path, because the map defines the
// format.
func Kind(m Map) store.Kind {
	return store.Kind{
		Name: kind,
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			_, err := os.Stat(path)
			return "it is read by the map that was given", err == nil, err
		},
		Open: func(ctx context.Context, path string) (store.Store, error) { return Open(ctx, path, m) },
	}
}

// Store is JSON that a map reads where it lies. The headers are in memory, and a state is
// read from its place. It is only read, and safe for concurrent use.
type Store struct {
	path string
	m    Map

	// mu is held for reading while states are read, and for writing while the files are
	// read anew.
	mu  sync.RWMutex
	now *reading
}

var _ store.Store = (*Store)(nil)

// reading is the result of reading the files.
type reading struct {
	list     []file
	stamps   []fs.FileInfo // nil where the files cannot be read again
	done     func() error
	sessions map[string]*session
	infos    []model.SessionInfo
}

// Open reads the headers that a map finds in a file or a folder, as [Read] does. It returns the same errors as
// Read.
func Open(ctx context.Context, path string, m Map) (*Store, error) {
	s := &Store{path: path, m: m}
	if err := s.reread(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Kind returns "mapped".
func (s *Store) Kind() string { return kind }

// Address returns the path that was opened.
func (s *Store) Address() string { return s.path }

// Features returns the store's features: it can only be read.
func (s *Store) Features() store.Features {
	f := store.Features{Lacks: s.Lacks}
	if s.m.appends {
		f.Weave = s.weaveStates
	}
	return f
}

// weaveStates is that of store.Features: states share their messages.
func (s *Store) weaveStates(ctx context.Context, refs []model.Ref, to store.Loom) error {
	if len(refs) == 0 {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.now.sessions[refs[0].Session]
	if of == nil {
		return model.ErrNoSession
	}
	ids := make([]string, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	var r stateReader
	defer r.close()
	var failed error
	take := to.Take
	to.Take = func(number int, state store.Rope) {
		if failed = cmp.Or(failed, ctx.Err()); failed != nil {
			state = store.Rope{Err: failed}
		}
		take(number, state)
	}
	r.describeStates(of, s.m, &failed).Weave(ids, to)
	return nil
}

// Lacks returns why the JSON cannot be changed, which [store.Reason] hands on.
func (s *Store) Lacks(model.Op) string {
	return "what a map reads is only read; hindcast import --map puts it into a store"
}

// Close lets go of the files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.done()
}

// reread reads the files if they are not as they were.
func (s *Store) reread(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && s.now.stamps == nil {
		return nil
	}
	next, err := s.gather()
	if err != nil {
		return err
	}
	if s.now != nil && next.isSame(s.now) {
		return next.done()
	}
	if err := next.find(ctx, s.m); err != nil {
		return errors.Join(err, next.done())
	}
	before := s.now
	s.now = next
	if before != nil {
		return before.done()
	}
	return nil
}

// gather lists the files, with the stamps by which one sees that they changed.
func (s *Store) gather() (*reading, error) {
	list, done, err := gather(From(nil, s.path))
	if err != nil {
		return nil, err
	}
	r := &reading{list: list, done: done}
	info, err := os.Stat(s.path)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return r, nil // a stream, which was copied
	}
	for _, f := range list {
		if info, err = os.Stat(f.place); err != nil {
			return nil, errors.Join(fmt.Errorf("mapped: %w", err), done())
		}
		r.stamps = append(r.stamps, info)
	}
	return r, nil
}

// isSame reports whether the files are the same as in another reading, and unchanged.
func (r *reading) isSame(before *reading) bool {
	return slices.EqualFunc(r.stamps, before.stamps, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

// mostOpening is how many messages at the beginning of a session are looked through for the first prompt.
const mostOpening = 8

// find finds the sessions, and puts the rows of each in order.
func (r *reading) find(ctx context.Context, m Map) error {
	f := finder{m: m, sessions: map[string]*session{}}
	if err := f.readFiles(ctx, r.list); err != nil {
		return err
	}
	r.sessions = f.sessions
	var states stateReader
	defer states.close()
	for _, s := range f.order {
		ordered := s.arrange(m)
		first := ordered[0]
		if m.appends { // a message of the system may come first
			first = ordered[min(len(ordered), mostOpening)-1]
		}
		state, err := states.readState(s, m, first)
		if err != nil {
			return err
		}
		placer := recording.NewPlacer(nil)
		for _, found := range ordered {
			isNew, err := placer.Place(&found.header)
			if err != nil {
				return &RowError{File: found.file.name, Line: found.line, Column: columnTime, Err: err}
			}
			if isNew {
				s.headers = append(s.headers, found.header)
			}
		}
		info := model.SessionInfo{ID: s.headers[0].SessionID, Kind: kind, Faults: model.FaultsNotCounted, Title: conversation.Opening(state)}
		info.Count(s.headers)
		info.Orphaned = model.NewTimeline(s.headers).Orphans() // a map need not say so
		for i := range s.headers {
			h := &s.headers[i]
			info.Size += h.Size
			if h.CreatedAt.After(info.UpdatedAt) {
				info.UpdatedAt = h.CreatedAt
			}
		}
		r.infos = append(r.infos, info)
	}
	slices.SortStableFunc(r.infos, store.NewestFirst)
	return nil
}

// Sessions implements store.Store. It reads files anew that changed.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		if err := s.reread(ctx); err != nil {
			yield(model.SessionInfo{}, err)
			return
		}
		s.mu.RLock()
		infos := s.now.infos
		s.mu.RUnlock()
		for _, info := range infos {
			if err := ctx.Err(); err != nil {
				yield(model.SessionInfo{}, err)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Headers implements store.Store. It reads files anew that changed.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		err := s.reread(ctx)
		s.mu.RLock()
		of := s.now.sessions[session]
		s.mu.RUnlock()
		if of == nil {
			err = cmp.Or(err, error(model.ErrNoSession))
		}
		if err != nil {
			yield(model.Header{}, fmt.Errorf("mapped: list snapshots of session %q: %w", session, err))
			return
		}
		for i := range of.headers {
			if err := ctx.Err(); err != nil {
				yield(model.Header{}, err)
				return
			}
			if !yield(of.headers[i], nil) {
				return
			}
		}
	}
}

// State implements store.Store. The error says so where the file changed since the
// headers were read.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	state, err := s.state(ref)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("mapped: read state %q of session %q: %w", ref.ID, ref.Session, err)
	}
	return state, nil
}

func (s *Store) state(ref model.Ref) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.now.sessions[ref.Session]
	if of == nil {
		return nil, model.ErrNoSession
	}
	i, there := of.states[ref.ID]
	if !there || ref.Visit != 0 && !slices.ContainsFunc(of.headers, func(h model.Header) bool { return h.ID == ref.ID && h.Visit == ref.Visit }) {
		return nil, model.ErrNoSnapshot
	}
	var r stateReader
	defer r.close()
	return r.readState(of, s.m, &of.rows[i])
}

// Faults implements store.Store. A map finds whole rows or none, so that the store itself
// has no faults.
func (s *Store) Faults(ctx context.Context, session string) ([]model.Fault, error) {
	if session == "" {
		return nil, nil
	}
	faults, err := inspect.SessionFaults(ctx, s, session)
	if err != nil {
		return nil, err
	}
	unread, err := inspect.UnreadFaults(ctx, s, session, inspect.DamagedIn(faults, session), func(yield func(*inspect.Carried)) error { return s.eachCarried(ctx, session, yield) })
	return append(faults, unread...), err
}

// eachCarried runs yield on each row of a session, as it stands in its file. What cannot be read is told
// with the state.
func (s *Store) eachCarried(ctx context.Context, session string, yield func(*inspect.Carried)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.now.sessions[session]
	if of == nil {
		return model.ErrNoSession
	}
	var r stateReader
	defer r.close()
	for i := range of.rows {
		found := &of.rows[i]
		if ctx.Err() != nil || r.open(found.file) != nil {
			break
		}
		c := inspect.Carried{File: found.file.name, Snapshot: found.header.ID, Data: make([]byte, found.to-found.from), Told: found.header.Title + "\n" + found.header.EventText()}
		if found.line > 0 {
			c.Place = fmt.Sprintf("line %d", found.line)
		}
		if _, err := r.in.ReadAt(c.Data, found.from); err == nil || err == io.EOF {
			yield(&c)
		}
	}
	return ctx.Err()
}
