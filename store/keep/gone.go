package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/home"
)

// whyNot is why a session whose files are gone does not change.
const whyNot = "its files are gone: give it back first"

// keptStore is a row of the table stores.
type keptStore struct {
	id       int64
	kind, at string
	seen     time.Time
}

// listStores returns the stores of the archive, none if there is no archive.
func (a *Archive) listStores(ctx context.Context) (list []keptStore, err error) {
	if err = a.on.renewSchema(ctx); err == nil {
		err = a.on.readTx(ctx, func(t tx) error {
			list = nil
			return t.eachRow(ctx, func(scan func(...any) error) error {
				var s keptStore
				var seen int64
				err := scan(&s.id, &s.kind, &s.at, &seen)
				s.seen = time.Unix(0, seen)
				list = append(list, s)
				return err
			}, "SELECT store, kind, at, seen FROM stores ORDER BY store")
		})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, a.wrapError(err)
}

// ListGone returns the stores whose kept files are gone, some or all. Each lists the sessions that are kept and that the tool has no
// more. It looks at every file that is kept.
func (a *Archive) ListGone(ctx context.Context) (found []store.Found, err error) {
	list, err := a.listStores(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var gone map[int64]bool
	var rows map[int64]databaseRows
	err = a.on.readTx(ctx, func(t tx) error {
		gone, rows = map[int64]bool{}, map[int64]databaseRows{} // it may run again
		return t.eachRow(ctx, func(scan func(...any) error) error {
			var of int64
			var name string
			r := new(fileRow)
			if err := scan(&of, &name, &r.size, &r.stamp, &r.gone); err != nil || gone[of] {
				return err
			}
			database, _, is := splitRows(name)
			if !is {
				gone[of] = isLost(name, r.size)
				return ctx.Err()
			}
			if rows[of] == nil {
				rows[of] = databaseRows{}
			}
			rows[of].addName(database, name, r)
			return nil
		}, "SELECT store, name, size, stamp, gone IS NOT NULL FROM files WHERE newest = 1")
	})
	if err != nil {
		return nil, a.wrapError(err)
	}
	for _, s := range list {
		k, known := a.findKind(s.kind)
		for database, list := range rows[s.id] {
			gone[s.id] = gone[s.id] || known && k.Tables != nil && len(lostRows(ctx, k, database, list)) > 0
		}
		if !gone[s.id] || !known {
			continue
		}
		kind := store.Kind{Name: k.Name, Framework: k.Framework, Open: func(ctx context.Context, _ string) (store.Store, error) { return a.openGone(ctx, k, s, false) }}
		found = append(found, store.Found{
			Identity: store.Identity{Kind: kind, At: home.KeptScheme + s.at, Why: "kept in " + a.Path()}, Sessions: store.Uncounted,
		})
	}
	return found, nil
}

// isMissing reports whether there is nothing at a name.
func isMissing(name string) bool {
	_, err := os.Lstat(filepath.FromSlash(name))
	return errors.Is(err, fs.ErrNotExist)
}

// isLost reports whether a file of so many bytes is missing, or a smaller one is in its place: an agent only appends to a transcript.
func isLost(name string, size int64) bool {
	info, err := os.Lstat(filepath.FromSlash(name))
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < size
}

// goneStore has the sessions of a store that are kept and that the tool has no more. It is the store of their kind, on
// the bytes that are kept.
type goneStore struct {
	store.Store
	a        *Archive
	kind     engine.Kind
	of       keptStore
	source   *Source
	end      context.CancelFunc
	features store.Features

	// made has the databases of the store, nil of a store of files. forks are the sessions made in it, by the names asked for.
	made  *made
	forks map[string]store.GivenRows

	mu     sync.Mutex
	live   store.Store   // nil if it is not open
	opened []store.Store // for plans that are not carried out yet
}

// openGone opens the sessions of a store that are gone. all says that the rows of sessions that the tool has are wanted as well.
func (a *Archive) openGone(ctx context.Context, k engine.Kind, of keptStore, all bool) (store.Store, error) {
	a = New(a.address, a.kinds) // it is closed with the store
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	source := a.Source(life, filepath.ToSlash(of.at))
	s := &goneStore{a: a, kind: k, of: of, source: source, end: end, forks: map[string]store.GivenRows{}}
	site := engine.Site{On: source}
	err := source.loadFiles()
	if err == nil && k.Tables != nil && (!k.Copied || source.hasRows(of.at)) {
		err = s.makeTables(life, all)
		if s.made != nil && s.made.dir != nil {
			site = engine.SiteOf(s.made.pathOf(filepath.ToSlash(of.at)))
		}
	}
	var inner store.Store
	if err == nil {
		inner, err = k.OpenAt(ctx, site)
	}
	if err != nil {
		end()
		err = errors.Join(err, a.Close(), s.removeMade())
		return nil, fmt.Errorf("open what is kept of %q: %w", of.at, err)
	}
	s.Store = inner
	f := inner.Features()
	f.Find, f.AnyOrder, f.Tally, f.Only, f.Watch = s.findGone, nil, nil, nil, nil
	f.Kept, f.Plan, f.Apply, f.Journal, f.Lacks = true, s.planBack, s.applyBack, s.readJournal, lacksOf
	f.Import, f.PlanConvert, f.PlanContinue, f.PlanGiveBack, f.PlanRowsBack, f.NamesForks, f.LabelFile = nil, nil, nil, nil, nil, nil, nil
	f.Resume = func(_ context.Context, ref model.Ref) ([]model.Resume, error) {
		return []model.Resume{{Call: "hindcast give-back " + quoteWord(ref.Session), Then: "puts the files back where they were, so that the tool resumes it"}}, nil
	}
	s.features = f
	return s, nil
}

// quoteWord returns a word for a shell.
func quoteWord(word string) string {
	if strings.IndexFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/:._-", r))
	}) < 0 && word != "" && word[0] != '-' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func lacksOf(op model.Op) string {
	if op == model.OpForget || op == model.OpGiveBack || op == model.OpRestore || op == model.OpUndo || op == model.OpRedo {
		return ""
	}
	return whyNot
}

// Address returns the address of the kept store.
func (s *goneStore) Address() string { return home.KeptScheme + s.of.at }

// Features returns the features of the kind, without those that write, and with a plan that gives back.
func (s *goneStore) Features() store.Features { return s.features }

// Close closes both stores.
func (s *goneStore) Close() error {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.Store.Close(), s.a.Close(), s.removeMade())
	if s.live != nil {
		err = errors.Join(err, s.live.Close())
		s.live = nil
	}
	for _, other := range s.opened {
		err = errors.Join(err, other.Close())
	}
	s.opened = nil
	return err
}

// removeMade removes the folder of the databases that were made.
func (s *goneStore) removeMade() error {
	if s.made == nil || s.made.dir == nil {
		return nil
	}
	return s.made.dir.Remove()
}

// openLive returns the store of the tool, nil if it does not exist any more.
func (s *goneStore) openLive(ctx context.Context) (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(s.of.at); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if s.live != nil {
		return s.live, nil
	}
	_, known, err := s.kind.Recognise(ctx, s.of.at)
	if err == nil && known {
		s.live, err = s.kind.Kind.Open(ctx, s.of.at)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s.live, err
}

// readJournal returns the journal of the store of the tool, in which the session is given back.
func (s *goneStore) readJournal(ctx context.Context) ([]model.JournalEntry, error) {
	live, err := s.openLive(ctx)
	if err != nil || live == nil || live.Features().Journal == nil {
		return nil, err
	}
	return live.Features().Journal(ctx)
}

// findGone implements [store.Features].Find: a session that the tool has is not gone.
func (s *goneStore) findGone(ctx context.Context, session string) error {
	live, err := s.openLive(ctx)
	if err != nil {
		return err
	}
	if live != nil {
		for _, err := range live.Headers(ctx, session) { // without a snapshot another file has its name
			if err == nil {
				return model.ErrNoSession
			} else if !errors.Is(err, model.ErrNoSession) {
				return err
			}
		}
	}
	return store.Find(ctx, s.Store, session)
}

// Sessions returns the sessions that are gone, the newest first.
func (s *goneStore) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		there := map[string]bool{}
		live, err := s.openLive(ctx)
		if err == nil && live != nil {
			for info, failed := range store.AnyOrder(ctx, live) {
				if err = failed; err != nil {
					break
				}
				there[info.ID] = info.Snapshots != 0 // else it has another file of that name, and nothing is in it
			}
		}
		var since func(session string) time.Time
		if err == nil {
			since, err = s.goneTimes()
		}
		missing := s.Store // of rows it has nothing else
		if err == nil && s.made == nil {
			if missing, err = s.openMissing(); err == nil {
				defer missing.Close() // it was only read
			}
		}
		if err != nil {
			yield(model.SessionInfo{}, err)
			return
		}
		for info, err := range missing.Sessions(ctx) {
			if err == nil && there[info.ID] {
				continue
			}
			if s.made != nil {
				info.Project = strings.TrimPrefix(info.Project, s.made.dir.Path)
			}
			info.GoneSince, info.ExpiresAt = since(info.ID), time.Time{}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

// openMissing opens the store with the files that are missing, and with files of other endings: a list need not
// look into the transcripts that are there.
func (s *goneStore) openMissing() (store.Store, error) {
	missing, endings := map[string]bool{}, map[string]bool{}
	for name, f := range s.source.files {
		if isBelow(name, filepath.ToSlash(s.of.at)) && isLost(name, f.size) {
			missing[name], endings[path.Ext(name)] = true, true
		}
	}
	some := &kept{a: s.a, ctx: s.source.ctx, files: map[string]*keptFile{}}
	for name, f := range s.source.files {
		if missing[name] || !endings[path.Ext(name)] {
			some.files[name] = f
		}
	}
	some.enterAll()
	return s.kind.OpenAt(s.source.ctx, engine.Site{On: &Source{some, s.source.at, nil}})
}

// goneTimes returns a function that tells since when a session is gone: when a file with its name was first missed, or
// else when the store was last seen with all of them.
func (s *goneStore) goneTimes() (since func(session string) time.Time, err error) {
	if err := s.source.loadFiles(); err != nil {
		return nil, err
	}
	by := map[string]time.Time{}
	last := s.of.seen
	for name, f := range s.source.files {
		if f.goneAt.IsZero() {
			continue
		}
		if _, session, is := splitRows(name); is {
			by[session] = f.goneAt
			continue
		}
		for _, word := range strings.Split(name, "/") {
			stem := strings.TrimSuffix(word, path.Ext(word))
			by[word], by[stem] = f.goneAt, f.goneAt
			if at := len(stem) - uuidLen; at > 0 {
				by[stem[at:]] = f.goneAt
			}
		}
	}
	return func(session string) time.Time {
		for _, word := range append([]string{session}, strings.Split(session, "/")...) {
			if at := by[word]; !at.IsZero() {
				return at
			}
		}
		return last
	}, nil
}

// uuidLen is the length of a UUID, with which the names of many transcripts end.
const uuidLen = 36

// backFile is a file that is given back.
type backFile struct {
	name string
	f    *keptFile
}

// sessionFiles returns the kept files of a session, in order: so many that its kind reads the same of them as of all
// that is kept. A session that they make appear beside it comes along whole.
func (s *goneStore) sessionFiles(ctx context.Context, session string) (list []backFile, err error) {
	names, wanted := map[string]bool{}, []string{session}
	for done := 0; done < len(wanted); done++ {
		own, read, err := s.ownFiles(ctx, wanted[done])
		if err != nil {
			return nil, err
		}
		for _, name := range own {
			names[name] = true
		}
		some, err := s.openSome(ctx, names)
		if err == nil && !sameHeaders(ctx, some, s.Store, wanted[done]) {
			for name := range read.read {
				names[name] = true
			}
			some, err = s.openSome(ctx, names)
		}
		if err != nil {
			return nil, err
		}
		for info, err := range some.Sessions(ctx) {
			if err != nil {
				return nil, err
			}
			if !slices.Contains(wanted, info.ID) && s.findGone(ctx, info.ID) == nil {
				wanted = append(wanted, info.ID)
			}
		}
		if err := some.Close(); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if f := s.source.files[name]; f != nil {
			list = append(list, backFile{name, f})
		}
	}
	return list, nil
}

// openSome opens the store as it will be with some of its files back.
func (s *goneStore) openSome(ctx context.Context, names map[string]bool) (store.Store, error) {
	some := &kept{a: s.a, ctx: s.source.ctx, files: map[string]*keptFile{}}
	for name, f := range s.source.files {
		if names[name] || !isMissing(name) {
			some.files[name] = f
		}
	}
	some.enterAll()
	return s.kind.OpenAt(ctx, engine.Site{On: &Source{some, s.source.at, nil}})
}

// sameHeaders reports whether two stores have the same snapshots of a session.
func sameHeaders(ctx context.Context, a, b store.Store, session string) bool {
	next, stop := iter.Pull2(b.Headers(ctx, session))
	defer stop()
	for x, err := range a.Headers(ctx, session) {
		y, unread, more := next()
		if err != nil || unread != nil || !more || x.Ref() != y.Ref() || x.Orphaned != y.Orphaned || x.ParentID != y.ParentID {
			return false
		}
	}
	_, _, more := next()
	return !more
}

// readFiles returns a function that reports whether a kept file is one of a session's own, and the files that its kind reads for it and to
// find any session. These are its own:
//
//	a file that its kind reads for it or for its sub-agents, more often than to find any session
//	a file that is called as the session is, or lies in a folder that is called so
func (s *goneStore) readFiles(ctx context.Context, session string) (isOwn func(name string) bool, reading, finding *recorder, err error) {
	ids := []string{session}
	for info, err := range s.Store.Sessions(ctx) {
		if err != nil {
			return nil, nil, nil, err
		}
		if info.Parent == session || strings.HasPrefix(info.ID, session+"/") {
			ids = append(ids, info.ID)
		}
	}
	if finding, err = s.recordSessions(ctx, nil); err != nil {
		return nil, nil, nil, err
	}
	if reading, err = s.recordSessions(ctx, ids); err != nil {
		return nil, nil, nil, err
	}
	named := map[string]bool{}
	for _, id := range append(ids, strings.Split(session, "/")...) {
		named[id] = true
	}
	isRead := map[string]bool{}
	for name, n := range reading.read {
		isRead[name] = n > finding.read[name]
	}
	if !slices.Contains(slices.Collect(maps.Values(isRead)), true) { // to find it the kind reads all of it
		for name := range reading.read {
			isRead[name] = true
		}
	}
	for name, is := range isRead {
		if is {
			named[strings.TrimSuffix(name, path.Ext(name))] = true
		}
	}
	return func(name string) bool { return isRead[name] || isNamed(name, named) }, reading, finding, nil
}

// ownFiles returns the kept files of a session, and all that its kind reads for it. With its own come others that lie in a folder around
// these: a file by which a session is found, and a file with an ending that no file of its own has. Such are the records of a project, an
// index, and traces.
func (s *goneStore) ownFiles(ctx context.Context, session string) (list []string, reading *recorder, err error) {
	isOwn, reading, finding, err := s.readFiles(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	own, around, endings := map[string]bool{}, map[string]bool{}, map[string]bool{}
	root := filepath.ToSlash(s.of.at)
	for name := range s.source.files {
		if isOwn(name) {
			own[name], endings[path.Ext(name)] = true, true
			dir := path.Dir(name)
			for around[ownFolder(root, dir)] = true; isBelow(dir, root); dir = path.Dir(dir) {
				around[dir] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.source.files)) {
		dir := path.Dir(name)
		near := around[dir] || around[ownFolder(root, dir)] && dir != root
		if own[name] || near && (finding.read[name] > 0 || dir != root && !endings[path.Ext(name)]) || dir == root && reading.read[name] > 0 {
			list = append(list, name)
		}
	}
	return list, reading, nil
}

// recordSessions reads sessions, and returns the files that their kind looks at. Without ids it looks for a session
// that does not exist.
func (s *goneStore) recordSessions(ctx context.Context, ids []string) (*recorder, error) {
	seen := newRecorder()
	inner, err := s.kind.OpenAt(ctx, engine.Site{On: &Source{s.source.kept, s.source.at, seen}})
	if err != nil {
		return nil, err
	}
	defer inner.Close() // it was only read
	if len(ids) == 0 {
		if err := store.Find(ctx, inner, "none"); err != nil && !errors.Is(err, model.ErrNoSession) {
			return nil, err
		}
	}
	for _, id := range ids {
		var last model.Header
		for h, err := range inner.Headers(ctx, id) {
			if err != nil {
				return nil, err
			}
			last = h
		}
		if _, err := inner.State(ctx, last.Ref()); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	return seen, nil
}

// leastNamed is the length of the shortest id that stands for a session within the name of a file.
const leastNamed = 16

// isNamed reports whether a file, or a folder that it is in, is called by one of the names, with or without an ending,
// or has a long one of them in its name.
func isNamed(name string, named map[string]bool) bool {
	for below := name; below != path.Dir(below); below = path.Dir(below) {
		base := path.Base(below)
		if named[below] || named[base] || named[strings.TrimSuffix(base, path.Ext(base))] {
			return true
		}
	}
	for id := range named {
		if len(id) >= leastNamed && strings.Contains(path.Base(name), id) {
			return true
		}
	}
	return false
}
