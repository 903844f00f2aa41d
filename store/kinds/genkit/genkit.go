package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const kind = "genkit"

// Store is an opened folder of snapshots: a store of the engine for each storage in it. It is safe for
// concurrent use. Use Open.
type Store struct {
	at  engine.Site
	dir string
	// tree holds the files until done.
	tree  tree.Tree
	done  func()
	on    tree.Source
	cache *files.Cache
	// now tells the time, by which work without a sign of life has expired.
	now func() time.Time
	// running is the versions of the SDKs that are said to run.
	running sdk.Running

	basing sync.Mutex
	below  []*part // where rows are looked for, as it was seen last
	gone   []*part // those of folders that have others beside them by now

	joining sync.Mutex
	traces  *joined // nil until there are some
	life    store.Lifetime
}

// part is one storage of the opened folder, and the place to look for rows in it. Its methods are the
// functions of an engine.Format.
type part struct {
	*engine.Store
	base
	files  *engine.Files
	opened *Store
}

// Options are the options to open a store.
type Options struct {
	// Now tells the time; nil is time.Now.
	Now func() time.Time
	// Cache keeps what rows said for the next time that the store is opened; nil
	// remembers it while the store is open.
	Cache *files.Cache
}

// Open opens a folder in which, or below which, rows are: the folder that a file store was given, one above
// it, one below it, a project, or its .genkit. An empty folder is a store without sessions. A write of
// Hindcast's own that was broken off is finished; nothing else is written. The errors come from the file
// system: fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) { return Options{}.Open(ctx, dir) }

// Open opens a folder as the function of that name does.
func (o Options) Open(ctx context.Context, dir string) (*Store, error) {
	return o.openAt(ctx, engine.SiteOf(dir))
}

func (o Options) openAt(ctx context.Context, at engine.Site) (*Store, error) {
	s := &Store{at: at, dir: at.Name(), on: at.On, now: o.Now, cache: o.Cache}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.tree, s.done, err = at.Tree(); err == nil {
		if err = s.findParts(); err != nil {
			s.done()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("genkit: open %q: %w", s.dir, files.Cause(err))
	}
	for _, p := range s.listParts() {
		p.files.Storage.Recover(ctx)
	}
	return s, nil
}

// findParts looks where rows are in the opened folder, for which its names are
// listed: that is not done for each row.
func (s *Store) findParts() error {
	if s.life.Over() {
		return fs.ErrClosed
	}
	whole := s.at.Whole()
	found := findBases(s.tree, whole)
	s.basing.Lock()
	defer s.basing.Unlock()
	var below []*part
	for _, b := range found {
		i := slices.IndexFunc(s.below, func(p *part) bool { return p.dir == b.dir })
		if i >= 0 {
			below = append(below, s.below[i])
			continue
		}
		p, err := s.openPart(b, whole)
		if err != nil {
			return err
		}
		below = append(below, p)
	}
	for _, p := range s.below {
		if !slices.Contains(below, p) {
			s.gone = append(s.gone, p)
		}
	}
	s.below = below
	return nil
}

// openPart opens the storage that a folder is, or is in.
func (s *Store) openPart(b base, whole string) (p *part, err error) {
	p = &part{base: b, opened: s}
	o := engine.StorageOptions{Ignore: isTemporary, Cache: s.cache, Notes: noteKind, Now: func() time.Time { return s.now() }}
	o.Place = func(session string) engine.Place { return p.placeNamed(p.files.Storage.In(), session) }
	if s.on != nil {
		o.Framework = framework
		o.On, _ = s.on.At(b.dir) // it is below
	}
	if b.dir == "." {
		o.Up = upOf(whole)
	}
	p.files = &engine.Files{
		Deep:   true,
		Damage: model.Fault{Code: FaultJournal, Verdict: "Genkit: does not look at it; the files are as they are"},
		Mark: func(context.Context, engine.Place) (string, error) {
			return s.running.ListAssumed().String(), nil
		},
	}
	if p.files.Storage, err = engine.OpenStorage(filepath.Join(s.dir, filepath.FromSlash(b.dir)), o); err != nil {
		return nil, err
	}
	if up := p.files.Storage.Way; up != "." {
		p.up = up
	}
	p.Store = engine.OnFiles(p.engineFormat(), p.files, s.dir)
	return p, nil
}

// listParts returns the parts that findParts found last.
func (s *Store) listParts() []*part {
	s.basing.Lock()
	defer s.basing.Unlock()
	return s.below
}

// partOf returns the part that a session of an id is in, if it is in any: the labels of parts tell.
func (s *Store) partOf(session string) *part {
	parts := s.listParts()
	for _, p := range parts {
		if p.label != "" && strings.HasPrefix(session, p.label+"/") {
			return p
		}
	}
	return parts[0] // the one without a label comes first
}

// Kind returns "genkit".
func (s *Store) Kind() string { return kind }

// Address returns the folder that was opened.
func (s *Store) Address() string { return s.dir }

// Close lets go of the folder, and keeps what is remembered on the cache.
func (s *Store) Close() error {
	if !s.life.End() {
		return nil
	}
	s.joining.Lock()
	defer s.joining.Unlock()
	s.done()
	var err error
	for _, p := range append(s.gone, s.listParts()...) {
		err = errors.Join(err, p.Close())
	}
	if s.traces != nil {
		s.traces.memory.Keep()
		if s.traces.disk != nil {
			err = errors.Join(err, s.traces.disk.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("genkit: close %q: %w", s.dir, err)
	}
	return nil
}

// Features returns the optional features of the store.
func (s *Store) Features() store.Features {
	return store.Features{
		Tail: func(ctx context.Context, session string, n int) ([]model.Header, int, error) {
			return s.partOf(session).Tail(ctx, session, n)
		},
		Cursor: func(ctx context.Context, session string) (store.Cursor, error) {
			return s.partOf(session).Cursor(ctx, session)
		},
		Growth: func(ctx context.Context, session string, since store.Cursor) (store.Growth, error) {
			return s.partOf(session).Growth(ctx, session, since)
		},
		Facts: func(ctx context.Context, ref model.Ref) ([]model.Fact, error) {
			return s.partOf(ref.Session).Facts(ctx, ref)
		},
		Gaps: func(ctx context.Context, ref model.Ref) (model.Gaps, error) {
			return s.partOf(ref.Session).Gaps(ctx, ref)
		},
		LabelFile: func(ctx context.Context, session string) (dir, file, name string) {
			return s.partOf(session).Features().LabelFile(ctx, session)
		},
		PlanGiveBack: func(ctx context.Context, session string, list []store.GivenFile) (model.Plan, error) {
			return s.partOf(session).Features().PlanGiveBack(ctx, session, list)
		},
		DerivedIDs: s.listParts()[0].DerivedIDs, Requests: s.listParts()[0].files.Storage.Requests,
		SDKs: opens.Names, Assume: s.Assume, Assumed: s.running.ListAssumed,
		Watch: s.Watch, Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal,
	}
}

// Assume takes a version of an SDK to run, see [store.Features]; it holds for the sessions of its layout.
func (s *Store) Assume(r store.Release) error { return s.running.Assume(kind, opens, r) }

// Sessions implements store.Store: the newest change comes first. Each row that is new or has changed is
// read. The faults are found without reading states; Faults reads the states, too.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		var infos []model.SessionInfo
		err := s.findParts()
		if err != nil {
			err = fmt.Errorf("genkit: list sessions of %q: %w", s.dir, files.Cause(err))
		}
		for _, p := range s.listParts() {
			for info, failed := range p.Sessions(ctx) {
				if err = cmp.Or(err, failed); err == nil {
					infos = append(infos, info)
				}
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, err)
			return
		}
		slices.SortStableFunc(infos, store.NewestFirst)
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Headers implements store.Store: in the order of the instants at which the rows
// were created, then of their ids. A parent comes after its child where their
// times say so. What traces tell of a turn stands before the row that it ended
// in, and has visits.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return s.partOf(session).Headers(ctx, session)
}

// State implements store.Store: the bytes of the row's state as they are in the
// file, "null" for a row without one. The state of a step of a trace is put
// together, see traces.Traces.State.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	return s.partOf(ref.Session).State(ctx, ref)
}

// Faults implements store.Store. For a session it reads every row whole; for the
// store itself it tells of the files that are not listed, and why.
func (s *Store) Faults(ctx context.Context, session string) (list []model.Fault, err error) {
	parts := []*part{s.partOf(session)}
	if session == "" {
		if err := s.findParts(); err != nil {
			return nil, fmt.Errorf("genkit: check %q: %w", s.dir, files.Cause(err))
		}
		parts = s.listParts()
	}
	for _, p := range parts {
		part, err := p.Faults(ctx, session)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			if f.File != "" {
				f.File = p.shownName(f.File)
			}
			list = append(list, f)
		}
	}
	if session == "" {
		list = append(list, s.traceFaults(ctx)...)
	}
	return list, ctx.Err()
}
