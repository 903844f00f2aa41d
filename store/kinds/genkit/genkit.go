package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const kind = "genkit"

// Store is an opened folder of snapshots. It is safe for concurrent use. Use Open.
type Store struct {
	dir string
	// tree is what is in it: disk, or that of on.
	tree  tree.Tree
	disk  *tree.Disk
	on    tree.Source
	cache *files.Cache
	// now tells the time, by which work without a sign of life has expired.
	now func() time.Time
	// running is the versions of the SDKs that are said to run.
	running sdk.Running

	basing sync.Mutex
	below  []*storage // where rows are looked for, as it was seen last
	gone   []*storage // those of folders that have others beside them by now

	joining sync.Mutex
	traces  *joined // nil until there are some
	life    store.Lifetime
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Watcher   = (*Store)(nil)
	_ store.Deriver   = (*Store)(nil)
	_ store.Writer    = (*Store)(nil)
	_ store.Versioned = (*Store)(nil)
)

// Options are what a store can be opened with.
type Options struct {
	// Now tells the time; nil is time.Now.
	Now func() time.Time
	// Cache keeps what rows said for the next time that the store is opened; nil
	// remembers it while the store is open.
	Cache *files.Cache
}

// Open opens a folder in which, or below which, rows are: the folder that a
// file store was given, one above it, one below it, a project, or its .genkit. An
// empty folder is a store without sessions. A write of Hindcast's own that was
// broken off is finished; nothing else is written. The errors are those of the
// file system: fs.ErrNotExist, fs.ErrPermission.
func Open(ctx context.Context, dir string) (*Store, error) { return Options{}.Open(ctx, dir) }

// Open opens a folder as the function of that name does.
func (o Options) Open(ctx context.Context, dir string) (*Store, error) {
	disk, err := tree.OpenDisk(dir)
	if err != nil {
		return nil, fmt.Errorf("genkit: open %q: %w", dir, files.Cause(err))
	}
	s, err := o.open(ctx, &Store{dir: dir, tree: disk, disk: disk})
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	return s, nil
}

// openOn opens what lies where no disk is.
func (o Options) openOn(ctx context.Context, on tree.Source) (store.Store, error) {
	return o.open(ctx, &Store{dir: on.Name(), tree: on.Tree(), on: on})
}

func (o Options) open(ctx context.Context, s *Store) (*Store, error) {
	s.now, s.cache = o.Now, o.Cache
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.rebase(); err != nil {
		return nil, fmt.Errorf("genkit: open %q: %w", s.dir, files.Cause(err))
	}
	for _, st := range s.storages() {
		st.Recover(ctx)
	}
	return s, nil
}

// storage is one storage of the opened folder, and where rows are looked for in it.
type storage struct {
	*folder.Storage
	base
	format format
}

// rebase looks where rows are in the opened folder, for which its names are
// listed: that is not done for each row.
func (s *Store) rebase() error {
	if s.life.Over() {
		return fs.ErrClosed
	}
	whole, err := s.whole()
	if err != nil {
		return err
	}
	found, reads := bases(s.tree, whole), format{&s.running}
	s.basing.Lock()
	defer s.basing.Unlock()
	var below []*storage
	for _, b := range found {
		i := slices.IndexFunc(s.below, func(st *storage) bool { return st.dir == b.dir })
		if i >= 0 {
			below = append(below, s.below[i])
			continue
		}
		options := folder.Options{Place: reads.placeNamed, Ignore: isTemporary, Cache: s.cache, Notes: noteKind, Now: func() time.Time { return s.now() }}
		if s.on == nil {
			b = b.storageOf(s.dir, whole)
		} else {
			options.On, _ = s.on.At(b.dir) // it is below
			options.Framework, b.storage = framework, options.On.Name()
			if b.dir == "." {
				b.up, options.Up = upOf(whole)
			}
		}
		opened, err := folder.Open(b.storage, options)
		if err != nil {
			return err
		}
		below = append(below, &storage{opened, b, reads})
	}
	for _, st := range s.below {
		if !slices.Contains(below, st) {
			s.gone = append(s.gone, st)
		}
	}
	s.below = below
	return nil
}

// whole returns the whole name of the opened folder, with slashes.
func (s *Store) whole() (string, error) {
	if s.on != nil {
		return s.dir, nil
	}
	whole, err := filepath.Abs(s.dir)
	return filepath.ToSlash(whole), err
}

// storages returns what rebase found last.
func (s *Store) storages() []*storage {
	s.basing.Lock()
	defer s.basing.Unlock()
	return s.below
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
	var err error
	if s.disk != nil {
		err = s.disk.Close()
	}
	for _, st := range append(s.gone, s.storages()...) {
		err = errors.Join(err, st.Close())
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

// Requests is what store.Asked returns.
func (s *Store) Requests() (store.Requests, bool) {
	if s.on == nil {
		return store.Requests{}, false
	}
	return s.on.Requests(), true
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
	if err := s.rebase(); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, st := range s.storages() {
		list, err := st.infos(ctx, taken)
		if err != nil {
			return nil, err
		}
		infos = append(infos, list...)
	}
	slices.SortFunc(infos, store.NewestFirst)
	return infos, nil
}

// infos returns the sessions of a storage. Those of places called "global" come first, so
// that they keep their names where there are others of the same name beside them.
func (st *storage) infos(ctx context.Context, taken map[string]bool) (infos []model.SessionInfo, err error) {
	defer st.Memo.Notes.Keep()
	in, writes := st.In(), st.Writes(ctx)
	var global, flat []place
	err = search(ctx, in, st.inside(st.dir), func(p place) bool {
		switch {
		case len(p.rows) == 0:
		case p.isGlobal():
			global = append(global, p)
		default:
			flat = append(flat, p)
		}
		return true
	}, func(string, error) {})
	if err != nil {
		return nil, err
	}
	for _, p := range append(global, flat...) {
		g, err := st.format.group(ctx, in, p)
		if err != nil {
			return nil, ctx.Err() // a folder that cannot be read is told of by Faults
		}
		g.addAside(in, &writes)
		for name, one := range g.sessions {
			id := sessionName(st.labelOf(p.dir), name)
			if taken[id] {
				id = sessionName(flatLabel(st.labelOf(p.dir)), name)
			}
			at := st.format.placeOf(p.dir, name)
			in.Told = writes.Told(at.Session)
			log, err := writes.Tell(ctx, in, one.read(at, in))
			if err != nil {
				return nil, err
			}
			if len(log.Rows) > 0 { // else what was set aside was purged
				taken[id] = true
				infos = append(infos, st.info(id, log))
			}
		}
	}
	return infos, nil
}

// addAside adds the sessions whose rows the journal alone has.
func (g *grouping) addAside(in folder.In, w *folder.Writes) {
	for _, session := range w.Sessions() {
		at := spotNamed(session)
		if at.dir == g.place.dir && g.sessions[at.name] == nil {
			g.sessions[at.name] = g.empty(in, at.name)
		}
	}
}

// flatLabel is the label of a place whose sessions "global" beside it has, too.
func flatLabel(label string) string {
	if label == "" {
		return "."
	}
	return label + "/."
}

// info returns what the list of sessions shows of one.
func (st *storage) info(id string, log *folder.Log) model.SessionInfo {
	one := sessionOf(log)
	info := model.SessionInfo{ID: id, Kind: kind}
	info.Count(log.Rows)
	for _, r := range one.rows {
		info.Title = cmp.Or(info.Title, r.opening)
		info.Size += r.written
		if at := r.changed(); at.After(info.UpdatedAt) {
			info.UpdatedAt = at
		}
	}
	for _, r := range one.rows { // one that lost its first rows has what is left
		info.Title = cmp.Or(info.Title, r.title)
	}
	info.Faults = len(model.Harmful(one.faults().All()))
	return info
}

// found is a session as it was read.
type found struct {
	storage *storage
	log     *folder.Log
}

func (f *found) one() *session { return sessionOf(f.log) }

// find returns the session that the port calls id. Of two places that have the
// same label, "global" comes first.
func (s *Store) find(ctx context.Context, id string) (*found, error) {
	for st, at := range s.places(id) {
		log, err := st.Log(ctx, at)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && len(log.Rows) > 0: // else it went, or cannot be read
			return &found{st, log}, nil
		}
	}
	return nil, model.ErrNoSession
}

// where returns the place of the session that the port calls id. Where it can be in one
// place only, it need not be there.
func (s *Store) where(ctx context.Context, id string) (*storage, folder.Place, error) {
	var only *storage
	var place folder.Place
	n := 0
	for st, at := range s.places(id) {
		only, place = st, at
		n++
	}
	if n == 1 {
		return only, place, nil
	}
	at, err := s.find(ctx, id)
	if err != nil {
		return nil, folder.Place{}, err
	}
	return at.storage, at.log.Place, nil
}

// LabelFile returns where the labels of a session are, see package labels.
func (s *Store) LabelFile(ctx context.Context, session string) (dir, file, name string) {
	st, at, err := s.where(ctx, session)
	if err != nil {
		return "", "", ""
	}
	return st.Storage.LabelFile(at)
}

// places returns where the session that the port calls id may be.
func (s *Store) places(id string) iter.Seq2[*storage, folder.Place] {
	label, name := path.Split(id)
	return func(yield func(*storage, folder.Place) bool) {
		for _, st := range s.storages() {
			for _, dir := range st.candidates(st.In(), strings.TrimSuffix(label, "/")) {
				if !yield(st, st.format.placeOf(dir, unescapeSlashes.Replace(name))) {
					return
				}
			}
		}
	}
}

// nameOf returns what the port calls a session of a storage.
func (s *Store) nameOf(ctx context.Context, st *storage, session string) string {
	at := spotNamed(session)
	id := sessionName(st.labelOf(at.dir), at.name)
	if path.Base(at.dir) == defaultPrefix {
		return id
	}
	if beside, err := st.Log(ctx, st.format.placeOf(path.Join(at.dir, defaultPrefix), at.name)); err == nil && beside.There() > 0 {
		return sessionName(flatLabel(st.labelOf(at.dir)), at.name)
	}
	return id
}

// Headers implements store.Store: in the order of the instants at which the rows
// were created, then of their ids. A parent comes after its child where their
// times say so. What traces tell of a turn stands before the row that it ended
// in, and has visits.
func (s *Store) Headers(ctx context.Context, session string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		at, err := s.find(ctx, session)
		if err != nil {
			yield(model.Header{}, fmt.Errorf("genkit: list snapshots of session %q: %w", session, err))
			return
		}
		for i := range at.log.Rows {
			at.log.Rows[i].SessionID = session
		}
		list := withSteps(at.log.Rows, s.turns(ctx, at.one().sid))
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
