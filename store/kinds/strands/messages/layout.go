package messages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

const (
	sessionPrefix = "session_"
	agentPrefix   = "agent_"
	runPrefix     = "multi_agent_"
	messagePrefix = "message_"
	messageSuffix = ".json"
)

// place is where the log of one agent is, or the record of one orchestrator. Its
// names were read from folders, or compared with such.
type place struct {
	// id is the port's name of the place: SESSION, or SESSION/AGENT if a session has several
	// agents. An orchestrator is SESSION/ORCHESTRATOR, and SESSION if the session has nothing
	// else.
	id string
	// session is the session's folder in the storage: "session_basic", or "." when the
	// session's folder is a link.
	session string
	*root
	// link is the session's folder if it is a link; otherwise nil.
	link *link
	// agent is the agent's folder: "agent_default". It is "" for an orchestrator,
	// and for a session that has neither.
	agent string
	// orchestrator is the orchestrator's folder: "multi_agent_g1"; "" if the place is not an
	// orchestrator's.
	orchestrator string
	// updated is the time of the last change, as far as it is known.
	updated time.Time
	// err is why the folder of the session's agents, or else that of its
	// orchestrators, cannot be listed; unlisted is its name.
	err      error
	unlisted string
}

// path returns the name of a file of the agent, below root.
func (p place) path(elem ...string) string {
	return path.Join(append([]string{p.session, "agents", p.agent}, elem...)...)
}

// hold keeps the folders of the place open in a tree, see tree.Tree.
func (p place) hold(t tree.Tree) (release func()) {
	dirs := []string{p.session}
	if p.agent != "" {
		dirs = append(dirs, p.path(), p.path("messages"))
	}
	var releases []func()
	for _, dir := range dirs {
		releases = append(releases, t.Hold(dir))
	}
	return func() {
		for _, release := range releases {
			release()
		}
	}
}

// name returns the storage's name of the place, which is the name of its folder.
func (p place) name() string {
	switch {
	case p.agent != "":
		return p.path()
	case p.orchestrator != "":
		return path.Dir(p.recordPath())
	}
	return p.session
}

// inside returns the name of a file below the storage. For a linked session it prepends the
// link's name.
func (p place) inside(name string) string {
	if p.link == nil {
		return name
	}
	return path.Join(p.link.name, name)
}

// shown returns the name of a file below the folder that was opened.
func (p place) shown(name string) string { return within(p.way, p.inside(name)) }

// refusal is why nothing is written to a place; nil if it can be.
func (p place) refusal(op model.Op) error {
	if p.link == nil {
		return nil
	}
	return &model.UnsupportedError{Op: op, Reason: fmt.Sprintf("%s is a link to %s, and nothing is written through a link: open that folder, as strands:%s", p.link.name, p.link.to, p.link.to)}
}

// isSession reports whether a folder is that of a session: whether it has a
// session.json or a folder of agents or orchestrators, or does not let anybody see.
func isSession(t tree.Tree, dir string) bool {
	for _, name := range []string{"session.json", "agents", "multi_agents"} {
		if at, err := t.Stamp(path.Join(dir, name)); at.Kind != files.Nothing || errors.Is(err, fs.ErrPermission) {
			return true
		}
	}
	return false
}

// root is the opened folder: of sessions, or of one session.
type root struct {
	dir string
	// single is the id of the session if the folder is that of one.
	single *string
	// way leads from the storage down to the folder that was opened, folder is the name of the storage's. It
	// lies on if that is no disk.
	way, folder string
	on          tree.Source
	// running is the version of the SDK that is said to run.
	running sdk.Running

	mu sync.Mutex
	// linked are the folders of sessions that links lead to, by their paths.
	linked map[string]*tree.Disk
}

// sessionDirs returns the names that those of folders of sessions look like. Nothing is
// looked at.
func (o *root) sessionDirs(t tree.Tree) ([]string, error) {
	if o.single != nil {
		return []string{o.way}, nil
	}
	names, err := t.List(".")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, name := range names {
		if strings.HasPrefix(name, sessionPrefix) {
			dirs = append(dirs, name)
		}
	}
	return dirs, nil
}

// isSession reports whether a name in the store is the folder of a session, or a link to one.
func (o *root) isSession(t tree.Tree, name string) bool {
	switch at, err := t.Stamp(name); {
	case err != nil:
		return false
	case at.Kind == files.Link:
		return o.link(t, name) != nil
	default:
		return at.Kind == files.Directory && isSession(t, name)
	}
}

// link is a link to the folder of a session. The SDK follows it wherever it leads, and
// so it is read; nothing is written through it.
type link struct {
	name string // in the store
	to   string // the folder
	tree *tree.Disk
}

// link opens the session that a link in the storage leads to; nil for anything else, and
// for the folder that was opened. Close lets go of it.
func (o *root) link(t tree.Tree, name string) *link {
	if at, err := t.Stamp(name); err != nil || at.Kind != files.Link || name == o.way {
		return nil
	}
	to, err := linkedSession(o.folder, name)
	if err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	on := o.linked[to]
	if on == nil {
		if on, err = tree.OpenDisk(to); err != nil {
			return nil
		}
		if o.linked == nil {
			o.linked = map[string]*tree.Disk{}
		}
		o.linked[to] = on
	}
	return &link{name, to, on}
}

// closeLinks lets go of the folders that links lead to.
func (o *root) closeLinks() (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.linked {
		err = errors.Join(err, t.Close())
	}
	return err
}

// linkedSession returns the folder of the session that a link in a folder leads to.
func linkedSession(dir, name string) (string, error) {
	to, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	t, err := tree.OpenDisk(to)
	if err != nil {
		return "", err
	}
	defer t.Close()
	if !isSession(t, ".") {
		return "", fs.ErrNotExist
	}
	return to, nil
}

// sessionID returns the id of the session in a folder.
func (o *root) sessionID(dir string) string {
	if o.single != nil && dir == o.way {
		return *o.single
	}
	return strings.TrimPrefix(dir, sessionPrefix)
}

// places returns the agents and the orchestrators of a session. A session without
// any has one place that is neither, and one in which they cannot be listed has
// such a place, too.
func (o *root) places(t tree.Tree, dir string) []place {
	id, l := o.sessionID(dir), o.link(t, dir)
	if l != nil {
		t, dir = l.tree, "."
	}
	var list []place
	agents, err := named(t, path.Join(dir, "agents"), agentPrefix)
	if err != nil {
		list = append(list, place{id: id, session: dir, err: err, unlisted: path.Join(dir, "agents")})
	}
	runs, err := named(t, path.Join(dir, "multi_agents"), runPrefix)
	if err != nil && list == nil {
		list = append(list, place{id: id, session: dir, err: err, unlisted: path.Join(dir, "multi_agents")})
	}
	alone := len(list)+len(agents)+len(runs) == 1
	taken := make(map[string]bool)
	for _, folder := range agents {
		p := place{id: id, session: dir, agent: folder}
		if len(agents) > 1 || list != nil && list[0].err != nil {
			p.id += "/" + strings.TrimPrefix(folder, agentPrefix)
		}
		taken[p.id] = true
		list = append(list, p)
	}
	for _, folder := range runs {
		p := place{id: id, session: dir, orchestrator: folder}
		if !alone {
			p.id += "/" + strings.TrimPrefix(folder, runPrefix)
		}
		// Where an agent has the name, too, the folder's name tells them apart.
		for taken[p.id] {
			p.id = id + "/" + runPrefix + strings.TrimPrefix(p.id, id+"/")
		}
		taken[p.id] = true
		list = append(list, p)
	}
	if len(list) == 0 {
		list = []place{{id: id, session: dir}}
	}
	for i := range list {
		list[i].link, list[i].root = l, o
	}
	return list
}

// named returns the folders in a folder whose names begin with prefix, in order. A missing
// folder has no folders.
func named(t tree.Tree, dir, prefix string) (names []string, err error) {
	defer t.Hold(dir)()
	list, err := t.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range list {
		if strings.HasPrefix(name, prefix) && tree.IsFolder(t, path.Join(dir, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// locate finds the place that the port calls id. Folder names hold no slash, so
// that the first one ends the session's. The id is data: it names a folder only
// as what follows the prefix in a single name, and an agent is looked up among
// the names that are there.
func (o *root) locate(t tree.Tree, id string) (place, error) {
	session, _, _ := strings.Cut(id, "/")
	dir := sessionPrefix + session
	if o.single != nil {
		dir = o.way
	}
	if o.sessionID(dir) != session || !filepath.IsLocal(dir) || filepath.Base(dir) != dir || !isSession(t, dir) && o.link(t, dir) == nil {
		return place{}, model.ErrNoSession
	}
	for _, p := range o.places(t, dir) {
		if p.id == id {
			return p, nil
		}
	}
	return place{}, model.ErrNoSession
}

// forked returns the port's name for a fork of an agent's place.
func (p place) forked(as string) string {
	if _, rest, several := strings.Cut(p.id, "/"); several {
		return as + "/" + rest
	}
	return as
}

// at returns a place for the engine.
func (p place) at() engine.Place {
	at := engine.Place{Session: p.name(), ID: p.id, Own: p}
	if p.link != nil {
		at.Tree = p.link.tree
	}
	return at
}

// placeNamed returns the place of a name in the storage, which need not be there.
func (s *Store) placeNamed(name string) engine.Place {
	dir, below, _ := strings.Cut(name, "/")
	for _, p := range s.places(s.storage.In(), dir) {
		if p.name() == name {
			return p.at()
		}
	}
	p := place{id: s.sessionID(dir), session: dir, root: &s.root}
	switch in, base := path.Split(below); in {
	case "agents/":
		p.agent = base
	case "multi_agents/":
		p.orchestrator = base
	}
	if s.madeWithOthers(p) {
		p.id += "/" + strings.TrimPrefix(p.agent, agentPrefix)
	}
	return p.at()
}

// madeWithOthers reports whether Hindcast made a session with other agents or orchestrators
// beside an agent.
func (s *Store) madeWithOthers(p place) bool {
	w := s.storage.Writes(context.Background())
	for _, e := range w.ForSession(p.name()).Entries() {
		if e.NewSession == "" {
			continue
		}
		for _, c := range e.Changes() {
			if !c.After.Folder && strings.Count(c.Path, "/") > 1 && !strings.HasPrefix(c.Path, p.name()+"/") {
				return true
			}
		}
	}
	return false
}
