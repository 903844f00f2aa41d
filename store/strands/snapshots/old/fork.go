package old

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/store"
)

// stashDir is the folder beside session/ into which the context manager of the
// SDKs puts what it takes out of messages, if it was told to:
//
//	context/SESSION/scopes/agent/AGENT/…
const stashDir = "context"

// planFork plans a fork. The new session has one agent, that of the session that is read:
// its immutable snapshots up to the target, on the way that leads there, and the target
// as the latest. The errors are those of planRestore, and store.ErrSessionExists.
func (s *Store) planFork(ctx context.Context, ref model.Ref, as string) (model.Plan, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if p.scope == scopeMultiAgent {
		return s.planRunFork(ctx, p, ref.ID, as)
	}
	m, err := s.begin(ctx, p, model.OpFork)
	if err != nil {
		return model.Plan{}, err
	}
	if err := m.aim(ref.ID); err != nil {
		return model.Plan{}, err
	}
	to, err := m.found(as)
	if err != nil {
		return model.Plan{}, err
	}
	content, said := m.doc.resumable(m.versions(&m.doc))
	m.hazards(said)
	if it := &m.h.items[m.target]; said == "" && it.kept == nil {
		m.history(&to)
		m.draft.Copy(s.writer.name(&to, latestFile), s.writer.file(&p, it.name))
	} else {
		m.history(&to)
		m.draft.Put(s.writer.name(&to, latestFile), content)
	}
	if err := m.stash(&to); err != nil {
		return model.Plan{}, err
	}
	m.tell(content, as)
	return m.draft.Plan(m.plan)
}

// found checks that a session can be made under a name, and returns the place in it.
func (m *move) found(as string) (to place, err error) {
	d := m.doc.Dialect
	if err := identity(as, d); err != nil {
		return to, err
	}
	to = m.place
	to.id, to.sessionDir.id = as, as
	to.dir = path.Join(path.Dir(m.place.dir), as)
	if m.s.single != nil {
		to.dir = path.Join("..", as)
	}
	if err := m.s.vacant(&to); err != nil {
		return to, err
	}
	m.plan.NewSession = as
	return to, nil
}

// vacant refuses a session that the storage has already, wherever it puts
// sessions.
func (s *Store) vacant(to *place) error {
	for _, dir := range []string{to.dir, path.Join(path.Dir(to.dir), "..", to.sessionDir.id), path.Join(path.Dir(to.dir), namespace, to.sessionDir.id)} {
		name := s.writer.Inside(dir)
		if !fs.ValidPath(name) {
			continue
		}
		switch _, err := s.writer.disk.Lstat(name); {
		case err == nil:
			return fmt.Errorf("%s: %w", name, store.ErrSessionExists)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// history drafts the immutable snapshots of a fork: those on the way to the
// target.
func (m *move) history(to *place) {
	w := &m.s.writer
	on := m.h.path(m.target)
	for i := range m.h.items {
		it := &m.h.items[i]
		if on[i] && !it.isLatest() && it.kept == nil && it.Problem == "" {
			m.draft.Copy(w.file(to, it.name), w.file(&m.place, it.name))
		}
	}
}

// stash drafts what the context manager has put outside of the snapshots, which
// it finds by the names of the session and the agent.
func (m *move) stash(to *place) error {
	if !m.doc.external() {
		return nil
	}
	w := &m.s.writer
	at := func(session string) string {
		return path.Join(stashDir, session, scopesDir, scopeAgent, m.place.agent)
	}
	from := at(m.place.sessionDir.id)
	names, err := w.tree(from)
	if errors.Is(err, fs.ErrNotExist) {
		m.hazards("what the context manager has put outside of the snapshots is not in " + from + ": the new session will not find it")
		return nil
	}
	into := path.Join(stashDir, to.sessionDir.id)
	if _, err := w.disk.Lstat(into); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s: %w", into, store.ErrSessionExists)
		}
		return err
	}
	for _, name := range names {
		m.draft.Copy(path.Join(at(to.sessionDir.id), name), path.Join(from, name))
	}
	return err
}

// mostStashed bounds the files of a stash.
const mostStashed = 100_000

// tree lists the regular files below a folder of the storage, without
// following links.
func (w *desk) tree(dir string) (found []string, err error) {
	todo := []string{"."}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := w.disk.Names(path.Join(dir, at))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			name = path.Join(at, name)
			info, err := w.disk.Lstat(path.Join(dir, name))
			switch {
			case err != nil:
				return nil, err
			case info.IsDir():
				todo = append(todo, name)
			case info.Mode().IsRegular() && !isTemporary(path.Base(name)):
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
