package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/files"
)

const kind = "genkit"

// Store is an opened folder of snapshots. It is safe for concurrent use. Use Open.
type Store struct {
	dir    string
	root   *os.Root
	shelf  *files.Shelf
	memory *files.Memory
	// now tells the time, by which work without a sign of life has expired.
	now   func() time.Time
	reads atomic.Int64 // row files that were read

	basing sync.Mutex
	below  []base            // where rows are looked for, as it was seen last
	vaults map[string]*vault // by the folder of their base

	joining sync.Mutex
	traces  *joined // nil until there are some
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Watcher = (*Store)(nil)
	_ store.Deriver = (*Store)(nil)
	_ store.Writer  = (*Store)(nil)
)

// Options are what a store can be opened with.
type Options struct {
	// Now tells the time; nil is time.Now.
	Now func() time.Time
	// Shelf keeps what rows said for the next time that the store is opened; nil
	// remembers it while the store is open.
	Shelf *files.Shelf
}

// Open opens a folder in which, or below which, rows are: the folder that a
// file store was given, one above it, one below it, a project, or its .genkit. An
// empty folder is a store without sessions. A write of Hindcast's own that was
// broken off is finished; nothing else is written. The errors are those of the
// file system: fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) { return Options{}.Open(ctx, dir) }

// Open opens a folder as the function of that name does.
func (o Options) Open(ctx context.Context, dir string) (*Store, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("genkit: open %q: %w", dir, files.Cause(err))
	}
	s := &Store{dir: dir, root: root, now: o.Now, shelf: o.Shelf, memory: o.Shelf.Memory(noteKind, dir)}
	if s.now == nil {
		s.now = time.Now
	}
	s.vaults = map[string]*vault{}
	s.rebase()
	for _, v := range s.known() {
		v.Recover(ctx)
	}
	return s, nil
}

// rebase looks where rows are in the opened folder, for which its names are
// listed: that is not done for each row.
func (s *Store) rebase() []base {
	found := bases(s.root, s.dir, everyName)
	s.basing.Lock()
	defer s.basing.Unlock()
	s.below = found
	return found
}

// bases returns what rebase found last.
func (s *Store) bases() []base {
	s.basing.Lock()
	defer s.basing.Unlock()
	return s.below
}

// Kind returns "genkit".
func (s *Store) Kind() string { return kind }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// Close lets go of the folder, and keeps what is remembered on the shelf.
func (s *Store) Close() error {
	s.memory.Keep()
	s.joining.Lock()
	defer s.joining.Unlock()
	err := s.root.Close()
	for _, v := range s.known() {
		err = errors.Join(err, v.Close())
	}
	if s.traces != nil {
		s.traces.memory.Keep()
		err = errors.Join(err, s.traces.root.Close())
	}
	if err != nil {
		return fmt.Errorf("genkit: close %q: %w", s.dir, err)
	}
	return nil
}

// DerivedIDs implements store.Deriver.
func (s *Store) DerivedIDs() string {
	return "Genkit named the row"
}

// Sessions implements store.Store: the newest change comes first. Each row that
// is new or has changed is read. The faults are those that the rows tell without
// their states; Faults looks at these, too.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		infos, err := s.infos(ctx)
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("genkit: list sessions of %q: %w", s.dir, files.Cause(err)))
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) infos(ctx context.Context) (infos []model.SessionInfo, err error) {
	defer s.memory.Keep()
	taken := map[string]bool{}
	now := s.now()
	err = s.eachPlace(ctx, func(p place) error {
		g, err := s.group(ctx, p, nil)
		if err != nil {
			return ctx.Err() // a folder that cannot be read is told of by Faults
		}
		for sid, one := range g.sessions {
			if taken[one.id] {
				one.id = sessionName(flatLabel(p.label), sid)
			}
			taken[one.id] = true
			infos = append(infos, s.info(one, now))
		}
		return nil
	})
	slices.SortFunc(infos, store.NewestFirst)
	return infos, err
}

// flatLabel is the label of a place whose sessions "global" beside it has, too.
func flatLabel(label string) string {
	if label == "" {
		return "."
	}
	return label + "/."
}

// eachPlace visits the places that have rows, those called "global" first: their
// sessions keep their names where there are others of the same name beside them.
func (s *Store) eachPlace(ctx context.Context, visit func(place) error) error {
	var places []place
	err := search(ctx, s.root, s.rebase(), func(p place) bool {
		if len(p.rows) > 0 {
			places = append(places, p)
		}
		return true
	}, func(string, error) {})
	if err != nil {
		return err
	}
	for _, global := range []bool{true, false} {
		for _, p := range places {
			if p.isGlobal() != global {
				continue
			}
			if err := visit(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// info returns what the list of sessions shows of one.
func (s *Store) info(one *session, now time.Time) model.SessionInfo {
	info := model.SessionInfo{ID: one.id, Kind: kind}
	info.Count(one.headers(now))
	for _, r := range one.rows {
		info.Title = cmp.Or(info.Title, r.opening)
		info.Size += r.written
		for _, at := range []time.Time{r.created.at, r.updated.at} {
			if at.After(info.UpdatedAt) {
				info.UpdatedAt = at
			}
		}
	}
	for _, r := range one.rows { // one that lost its first rows has what is left
		info.Title = cmp.Or(info.Title, r.title)
	}
	info.Faults = len(model.Harmful(one.faults(now).All()))
	return info
}

// Headers implements store.Store: in the order of the instants at which the rows
// were created, then of their ids. A parent comes after its child where their
// times say so. What traces tell of a turn stands before the row that it ended
// in, and has visits.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		one, err := s.find(ctx, session)
		if err != nil {
			yield(model.Header{}, fmt.Errorf("genkit: list snapshots of session %q: %w", session, err))
			return
		}
		list := withSteps(one.headers(s.now()), s.turns(ctx, one.sid))
		if err := ctx.Err(); err != nil {
			yield(model.Header{}, fmt.Errorf("genkit: list snapshots of session %q: %w", session, err))
			return
		}
		for _, h := range list {
			if !yield(h, nil) {
				return
			}
		}
	}
}
