package snapshots

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// stashDir is the folder beside session/ into which the context manager of the
// SDKs puts what it takes out of messages, if it was told to:
//
//	context/SESSION/scopes/agent/AGENT/…
const stashDir = "context"

// planFork plans a fork. The new session has one agent, copied from the session that is read:
// its immutable snapshots on the path to the target, and the target as the latest. The
// errors are the errors of a restore, and store.ErrSessionExists.
func (m *move) planFork(as string) error {
	to, err := m.findPlace(as)
	if err != nil {
		return err
	}
	content, said := m.doc.resumableBytes(m.sdkVersions(&m.doc))
	m.addHazards(said)
	m.forkHistory(&to)
	latest := tree.Step{Name: to.storageName(latestFile), Data: content}
	if it := &m.h.items[m.target]; said == "" && it.aside == nil {
		latest.Data, latest.From = nil, m.place.storageName(it.name)
	}
	m.addStep(latest)
	return m.completeFork(&to)
}

// completeFork completes the plan of a new session.
func (m *move) completeFork(to *place) error {
	if err := m.forkStash(to); err != nil {
		return err
	}
	m.Writes = append(m.Writes, journaled)
	return nil
}

// findPlace checks that a session can be made under a name, and returns the place in it.
func (m *move) findPlace(as string) (to place, err error) {
	d := m.doc.Dialect
	if err := checkIdentity(as, d); err != nil {
		return to, err
	}
	to = m.place
	to.id, to.sessionDir.id = as, as
	to.dir = path.Join(path.Dir(m.place.dir), as)
	if m.s.single != nil {
		to.dir = path.Join("..", as)
	}
	if err := checkVacant(m.in.Tree, &to); err != nil {
		return to, err
	}
	at := to.enginePlace()
	m.New = &at
	return to, nil
}

// checkVacant refuses a session that the storage has already, wherever it puts
// sessions.
func checkVacant(t tree.Tree, to *place) error {
	for _, dir := range []string{to.dir, path.Join(path.Dir(to.dir), "..", to.sessionDir.id), path.Join(path.Dir(to.dir), namespace, to.sessionDir.id)} {
		if name := path.Join(to.way, dir); fs.ValidPath(name) {
			if err := checkFree(t, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFree refuses a name at which something is.
func checkFree(t tree.Tree, name string) error {
	at, err := t.Stamp(name)
	if err == nil && at.Kind != files.Nothing {
		err = fmt.Errorf("%s: %w", name, store.ErrSessionExists)
	}
	return err
}

// forkHistory plans the immutable snapshots of a fork: those on the way to the
// target.
func (m *move) forkHistory(to *place) {
	on := m.h.pathTo(m.target)
	for i := range m.h.items {
		it := &m.h.items[i]
		if on[i] && !it.isLatest() && it.aside == nil && it.Problem == "" {
			m.addStep(tree.Step{Name: to.storageName(it.name), From: m.place.storageName(it.name)})
		}
	}
}

// forkStash plans what the context manager has put outside of the snapshots, which
// it finds by the names of the session and the agent.
func (m *move) forkStash(to *place) error {
	if !m.doc.isExternal() {
		return nil
	}
	at := func(session string) string {
		return path.Join(stashDir, session, scopesDir, scopeAgent, m.place.agent)
	}
	from := at(m.place.sessionDir.id)
	names, err := filesBelow(m.in.Tree, from)
	if errors.Is(err, fs.ErrNotExist) {
		m.addHazards("what the context manager has put outside of the snapshots is not in " + from + ": the new session will not find it")
		return nil
	}
	if err := checkFree(m.in.Tree, path.Join(stashDir, to.sessionDir.id)); err != nil {
		return err
	}
	for _, name := range names {
		m.addStep(tree.Step{Name: path.Join(at(to.sessionDir.id), name), From: path.Join(from, name)})
	}
	return err
}

// mostStashed bounds the files of a stash.
const mostStashed = 100_000

// filesBelow lists the regular files below a folder of the storage, without
// following links.
func filesBelow(t tree.Tree, dir string) (found []string, err error) {
	todo := []string{"."}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := t.List(path.Join(dir, at))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			name = path.Join(at, name)
			is, err := t.Stamp(path.Join(dir, name))
			switch {
			case err != nil:
				return nil, err
			case is.Kind == files.Directory:
				todo = append(todo, name)
			case is.Kind == files.Regular && !isTemporary(path.Base(name)):
				found = append(found, name)
			}
			if len(found)+len(todo) > mostStashed {
				return nil, fmt.Errorf("%s: more than %d files", dir, mostStashed)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
