package strands

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/files"
)

const (
	sessionPrefix = "session_"
	agentPrefix   = "agent_"
	messagePrefix = "message_"
	messageSuffix = ".json"
)

// place is where the log of one agent is. Its names were read from folders, or
// compared with such.
type place struct {
	// id is what the port calls it: SESSION, or SESSION/AGENT where a session
	// has several agents.
	id string
	// session is the session's folder below the store: "session_basic", or "."
	// when the store is one session.
	session string
	// agent is the agent's folder: "agent_default". It is "" for a session that
	// has no agent.
	agent string
	// updated is the time of the last change, as far as it is known.
	updated time.Time
	// err is why the session's agents cannot be listed.
	err error
}

// path gives the name of a file of the agent, relative to the store.
func (p place) path(elem ...string) string {
	return path.Join(append([]string{p.session, "agents", p.agent}, elem...)...)
}

// isSession reports whether a folder is that of a session: whether it has a
// session.json or a folder of agents, or does not let anybody see.
func isSession(root *os.Root, dir string) bool {
	for _, name := range []string{"session.json", "agents"} {
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

// places gives the agents of a session. A session without any, or whose
// agents cannot be listed, has one place without an agent.
func (s *Store) places(dir string) []place {
	id := s.sessionID(dir)
	agents := path.Join(dir, "agents")
	entries, err := files.Entries(s.root, agents)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []place{{id: id, session: dir, err: err}}
	}
	var list []place
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), agentPrefix); ok && files.IsDir(s.root, agents, e) {
			list = append(list, place{id: id + "/" + name, session: dir, agent: e.Name()})
		}
	}
	switch len(list) {
	case 0:
		return []place{{id: id, session: dir}}
	case 1:
		list[0].id = id
	}
	return list
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
