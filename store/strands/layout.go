package strands

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/files"
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
	// id is what the port calls it: SESSION, or SESSION/AGENT where a session
	// has several agents. An orchestrator is SESSION/ORCHESTRATOR, and SESSION
	// where the session has nothing else.
	id string
	// session is the session's folder below the store: "session_basic", or "."
	// when the store is one session.
	session string
	// agent is the agent's folder: "agent_default". It is "" for an orchestrator,
	// and for a session that has neither.
	agent string
	// orchestrator is the orchestrator's folder: "multi_agent_g1"; "" for none.
	orchestrator string
	// updated is the time of the last change, as far as it is known.
	updated time.Time
	// err is why the folder of the session's agents, or else that of its
	// orchestrators, cannot be listed; unlisted is its name.
	err      error
	unlisted string
}

// path gives the name of a file of the agent, relative to the store.
func (p place) path(elem ...string) string {
	return path.Join(append([]string{p.session, "agents", p.agent}, elem...)...)
}

// isSession reports whether a folder is that of a session: whether it has a
// session.json or a folder of agents or orchestrators, or does not let anybody see.
func isSession(root *os.Root, dir string) bool {
	for _, name := range []string{"session.json", "agents", "multi_agents"} {
		if _, err := root.Lstat(path.Join(dir, name)); err == nil || errors.Is(err, fs.ErrPermission) {
			return true
		}
	}
	return false
}

// sessionDirs gives the folders of the sessions in a store.
func (s *Store) sessionDirs() ([]string, error) {
	if s.single != nil {
		return []string{"."}, nil
	}
	entries, err := files.Entries(s.root, ".")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), sessionPrefix) && files.IsDir(s.root, ".", e) && isSession(s.root, e.Name()) {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs, nil
}

// sessionID gives the id of the session in a folder.
func (s *Store) sessionID(dir string) string {
	if s.single != nil {
		return *s.single
	}
	return strings.TrimPrefix(dir, sessionPrefix)
}

// places gives the agents and the orchestrators of a session. A session without
// any has one place that is neither, and one in which they cannot be listed has
// such a place, too.
func (s *Store) places(dir string) []place {
	id := s.sessionID(dir)
	var list []place
	agents, err := s.named(path.Join(dir, "agents"), agentPrefix)
	if err != nil {
		list = append(list, place{id: id, session: dir, err: err, unlisted: path.Join(dir, "agents")})
	}
	runs, err := s.named(path.Join(dir, "multi_agents"), runPrefix)
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
		return []place{{id: id, session: dir}}
	}
	return list
}

// named gives the folders in a folder whose names begin with prefix, in order. A
// folder that is not there has none.
func (s *Store) named(dir, prefix string) (names []string, err error) {
	entries, err := files.Entries(s.root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && files.IsDir(s.root, dir, e) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// locate finds the place that the port calls id. Folder names hold no slash, so
// that the first one ends the session's. The id is data: it names a folder only
// as what follows the prefix in a single name, and an agent is looked up among
// the names that are there.
func (s *Store) locate(id string) (place, error) {
	session, _, _ := strings.Cut(id, "/")
	dir := sessionPrefix + session
	if s.single != nil {
		dir = "."
	}
	if s.sessionID(dir) != session || !filepath.IsLocal(dir) || filepath.Base(dir) != dir || !isSession(s.root, dir) {
		return place{}, model.ErrNoSession
	}
	for _, p := range s.places(dir) {
		if p.id == id {
			return p, nil
		}
	}
	return place{}, model.ErrNoSession
}
