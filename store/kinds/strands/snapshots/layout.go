package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

const (
	// namespace is the folder that unified storage puts all sessions in.
	namespace  = "session"
	scopesDir  = "scopes"
	snapshots  = "snapshots"
	latestFile = "snapshot_latest.json"
	historyDir = "immutable_history"

	scopeAgent      = "agent"
	scopeMultiAgent = "multiAgent"
)

// scopes are the folders that both SDKs know, in the order of the list.
var scopes = []string{scopeAgent, scopeMultiAgent}

// sessionDir is the folder of a session.
type sessionDir struct {
	dir string // below the store: "session/basic", "basic" or "."
	id  string // its name
	// unified says that it lies as unified storage puts it: below a folder
	// "session". The SDK for Python knows no other place.
	unified bool
}

// place is where the snapshots of one agent or orchestrator are. Its names were
// read from folders.
type place struct {
	// id is the port's name of the place: SESSION, or SESSION/AGENT if a session has several
	// agents. A ~ is appended to a name that is already taken.
	id string
	sessionDir
	scope string // the name of the folder below "scopes"
	agent string // the name of the folder below that
	// way leads down to the store from the storage folder, in which the journal lies.
	way string
}

// pathOf returns the name of a file of the place, relative to the store.
func (p *place) pathOf(elem ...string) string {
	return path.Join(append([]string{p.dir, scopesDir, p.scope, p.agent, snapshots}, elem...)...)
}

// nameOf returns the name of a file of the place in the storage.
func (p *place) nameOf(elem ...string) string {
	if p.way == "." {
		return p.pathOf(elem...)
	}
	return path.Join(p.way, p.pathOf(elem...)) // what a fork makes may lie beside the store
}

// fileOf returns the name of a snapshot's file, relative to the store.
func (p *place) fileOf(name string) string {
	if name == latestFile {
		return p.pathOf(name)
	}
	return p.pathOf(historyDir, name)
}

// storageName returns the name of a snapshot's file in the storage.
func (p *place) storageName(name string) string {
	if name == latestFile {
		return p.nameOf(name)
	}
	return p.nameOf(historyDir, name)
}

// enginePlace returns the place for the engine. Its name is that of its folder in the storage.
func (p place) enginePlace() engine.Place {
	return engine.Place{Session: path.Dir(p.nameOf()), ID: p.id, Own: p}
}

// placeWrites returns the journal's entries of the place.
func (p *place) placeWrites(in engine.In) *engine.Told {
	return in.Writes.ForSession(p.enginePlace().Session)
}

// placeNamed returns the place of a name in the storage, which need not be there.
func (s *Store) placeNamed(session string) engine.Place {
	list, _ := s.listPlaces(s.files.Storage.In()) // what cannot be listed is not there
	for _, p := range list {
		if at := p.enginePlace(); at.Session == session {
			return at
		}
	}
	// …/SESSION/scopes/SCOPE/AGENT
	p := place{way: s.wayDown(), agent: path.Base(session), scope: path.Base(path.Dir(session))}
	at := path.Dir(path.Dir(path.Dir(session)))
	if below, err := filepath.Rel(filepath.FromSlash(s.wayDown()), filepath.FromSlash(at)); err == nil {
		p.dir = filepath.ToSlash(below)
	}
	p.sessionDir.id, p.unified = path.Base(at), path.Base(path.Dir(at)) == namespace
	p.id = p.sessionDir.id
	return p.enginePlace()
}

// wayDown leads from the storage down to the folder that was opened.
func (s *Store) wayDown() string { return s.files.Storage.Way }

// isSingle reports whether a folder is itself that of one session.
func isSingle(t tree.Tree) bool { return tree.IsFolder(t, scopesDir) }

// sessionDirs returns the folders of the sessions: those below "session" and,
// because legacy storage of TypeScript has no such folder, those beside it. Both
// may be in one store.
func (s *Store) sessionDirs(in engine.In) ([]sessionDir, error) {
	if s.single != nil {
		return []sessionDir{*s.single}, nil
	}
	dirs, err := s.sessionsIn(in, namespace, true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	more, err := s.sessionsIn(in, ".", s.unified)
	return append(dirs, more...), err
}

// sessionsIn returns the folders of sessions that lie directly in a folder, by
// name.
func (s *Store) sessionsIn(in engine.In, dir string, unified bool) (dirs []sessionDir, err error) {
	names, err := in.List(path.Join(s.wayDown(), dir))
	if err != nil {
		return nil, err
	}
	for _, base := range slices.Sorted(slices.Values(names)) {
		name := tree.Join(dir, base)
		if base != journal.Folder && tree.IsFolder(in, tree.Join(s.wayDown(), tree.Join(name, scopesDir))) {
			dirs = append(dirs, sessionDir{name, base, unified})
		}
	}
	return dirs, nil
}

// placesIn returns the agents and orchestrators of a session that have snapshots,
// agents first, by name.
func (s *Store) placesIn(in engine.In, d sessionDir) (list []place, err error) {
	for _, scope := range scopes {
		dir := tree.Join(s.wayDown(), tree.Join(d.dir, scopesDir+"/"+scope))
		names, err := in.List(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return list, err
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			if tree.IsFolder(in, tree.Join(dir, tree.Join(name, snapshots))) {
				list = append(list, place{id: d.id + "/" + name, sessionDir: d, scope: scope, agent: name, way: s.wayDown()})
			}
		}
	}
	if len(list) == 1 {
		list[0].id = d.id
	}
	return list, nil
}

// listPlaces returns all places of the store, each with an id of its own.
func (s *Store) listPlaces(in engine.In) ([]place, error) {
	dirs, err := s.sessionDirs(in)
	if err != nil {
		return nil, err
	}
	return s.placesOf(in, dirs), nil
}

// placesOf returns the places of some sessions. If not all folders of a session can be listed,
// it returns the places that were found.
func (s *Store) placesOf(in engine.In, dirs []sessionDir) (list []place) {
	taken := make(map[string]bool)
	for _, d := range dirs {
		found, _ := s.placesIn(in, d) // what cannot be listed is told by Faults
		for _, p := range found {
			for taken[p.id] {
				p.id += "~"
			}
			taken[p.id] = true
			list = append(list, p)
		}
	}
	return list
}

// findPlace finds the place that the port calls id. An id is data: it names a
// folder only as what comes before the first slash, in a single name, and the
// agents are looked up among those that are there.
func (s *Store) findPlace(_ context.Context, in engine.In, id string) (at engine.Place, err error) {
	dirs, err := s.foldersOf(in, id)
	if err != nil {
		return at, err
	}
	for _, p := range s.placesOf(in, dirs) {
		if p.id == id {
			return p.enginePlace(), nil
		}
	}
	return at, model.ErrNoSession
}

// foldersOf returns the folders of the sessions that a place of this id can be in: all
// of them, if two may have had one name.
func (s *Store) foldersOf(in engine.In, id string) (dirs []sessionDir, err error) {
	if s.single != nil || strings.HasSuffix(id, "~") {
		return s.sessionDirs(in)
	}
	name, _, _ := strings.Cut(id, "/")
	if name == "." || name == journal.Folder || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return nil, nil
	}
	for _, d := range []sessionDir{{tree.Join(namespace, name), name, true}, {name, name, s.unified}} {
		if tree.IsFolder(in, tree.Join(s.wayDown(), tree.Join(d.dir, scopesDir))) {
			dirs = append(dirs, d)
		}
	}
	return dirs, nil
}

// singleSession returns the session in folder dir, given by its whole name with slashes; nil if dir is
// not a session's folder.
func singleSession(dir string, t tree.Tree) *sessionDir {
	if !isSingle(t) {
		return nil
	}
	return &sessionDir{".", path.Base(dir), path.Base(path.Dir(dir)) == namespace}
}
