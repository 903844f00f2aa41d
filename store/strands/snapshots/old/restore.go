package old

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/files"
	"hindcast/store/journal"
	"hindcast/store/writing"
)

// A restore gives snapshot_latest.json, which is all that an SDK loads when it
// starts, the bytes of another snapshot. What was there is first saved beside the
// other immutable snapshots, so that the SDKs list it, too.

// planRestore plans a restore. The errors are model.ErrNoSession, model.ErrNoSnapshot and
// a *RefusedError.
func (s *Store) planRestore(ctx context.Context, ref model.Ref) (model.Plan, error) {
	p, err := s.locate(ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if p.scope == scopeMultiAgent {
		return s.planRewind(ctx, p, ref.ID)
	}
	m, err := s.begin(ctx, p, model.OpRestore)
	if err != nil {
		return model.Plan{}, err
	}
	if err := m.aim(ref.ID); err != nil {
		return model.Plan{}, err
	}
	target, said := m.doc.resumable(m.versions(&m.doc))
	m.hazards(said)
	if said == "" {
		m.twin()
	}
	m.leave(m.target)
	if err := m.put(target); err != nil {
		return model.Plan{}, err
	}
	m.running()
	m.tell(target, p.sessionDir.id)
	return m.draft.Plan(m.plan)
}

// move is a plan in the making for the snapshots of one agent.
type move struct {
	s     *Store
	place place
	h     *history
	draft *journal.Draft
	plan  model.Plan
	// target is the position of the snapshot that is aimed at, doc its file.
	target int
	doc    document
}

// begin starts a plan.
func (s *Store) begin(ctx context.Context, p place, op model.Op) (*move, error) {
	if err := s.writer.ready(); err != nil {
		return nil, err
	}
	h, err := s.history(ctx, p)
	if err != nil {
		return nil, err
	}
	m := &move{s: s, place: p, h: h, draft: s.writer.journal.Draft(), target: -1}
	m.plan = model.Plan{Op: op, Session: p.id}
	if head := h.head(); head >= 0 {
		m.plan.Head = h.point(head)
	}
	return m, nil
}

// aim finds the snapshot that the plan is about, and reads it.
func (m *move) aim(id string) (err error) {
	if m.target = m.h.find(id); m.target < 0 {
		return model.ErrNoSnapshot
	}
	if m.doc, err = m.sound(&m.h.items[m.target]); err != nil {
		return err
	}
	m.plan.Target = m.h.point(m.target)
	return nil
}

// twin takes another snapshot for the target that has the very same bytes, where
// that will be shown as what is loaded.
func (m *move) twin() {
	i := m.h.shown(&m.h.items[m.target].capture)
	if i < 0 || i == m.target {
		return
	}
	data, err := m.s.contentOf(&m.place, &m.h.items[i])
	if err != nil || !bytes.Equal(data, m.doc.Data) {
		return // the target itself will do
	}
	m.hazards(fmt.Sprintf("#%d is the very same as #%d, and is shown as what is loaded", m.h.index(i), m.h.index(m.target)))
	m.target = i
	m.plan.Target = m.h.point(i)
}

// find returns the position of the row of an id, -1 for none.
func (h *history) find(id string) int {
	for i := range h.items {
		if h.items[i].id == id && (i != h.latest || h.same < 0) {
			return i
		}
	}
	return -1
}

// point returns the visit of an item.
func (h *history) point(i int) model.Point { return model.Point{ID: h.items[i].id, Index: h.index(i)} }

// path returns the items from the root to one, itself included.
func (h *history) path(i int) map[int]bool {
	on := make(map[int]bool)
	for ; i >= 0 && !on[i]; i = h.items[i].Parent {
		on[i] = true
	}
	return on
}

// leave notes what leaves the active path, and what comes back to it, when the
// head goes to an item.
func (m *move) leave(to int) {
	now, then := m.h.path(m.h.head()), m.h.path(to)
	for i := range m.h.items {
		switch {
		case now[i] && !then[i]:
			m.plan.Orphans = append(m.plan.Orphans, m.h.point(i))
		case then[i] && !now[i]:
			m.plan.Reactivates = append(m.plan.Reactivates, m.h.point(i))
		}
	}
}

// put drafts that snapshot_latest.json gets a content. What it holds is saved
// first, unless an immutable snapshot holds the same, or it is nothing that an SDK
// could list: then it is kept by the journal alone.
func (m *move) put(content []byte) error {
	p, w := &m.place, &m.s.writer
	latest, err := m.latest()
	if err != nil {
		return err
	}
	if bytes.Equal(latest, content) && m.h.latest >= 0 {
		m.hazards("the snapshot is what is loaded already: no file changes")
		return nil
	}
	if m.h.latest >= 0 {
		was := parsed(latest)
		if fatal, _ := m.judged(&was); len(fatal) == 0 && !m.listed(&was) {
			id, err := m.mint()
			if err != nil {
				return err
			}
			m.draft.Put(w.name(p, historyDir, "snapshot_"+id+".json"), latest)
			m.plan.Writes = append(m.plan.Writes, "what is loaded now is first saved as snapshot "+id)
		}
	}
	m.draft.Put(w.name(p, latestFile), content)
	m.guard()
	return m.stands(latest)
}

// stands refuses a draft that replaces another content of snapshot_latest.json
// than was read: an agent has saved meanwhile.
func (m *move) stands(latest []byte) error {
	name, sum := m.s.writer.name(&m.place, latestFile), ""
	if m.h.latest >= 0 {
		sum = fmt.Sprintf("%x", sha256.Sum256(latest))
	}
	for _, c := range m.draft.Changes() {
		if c.Path == name && c.Before.SHA256 != sum {
			return &journal.ConflictError{Path: m.place.file(latestFile), Found: "changed"}
		}
	}
	return nil
}

// latest reads snapshot_latest.json, nil where there is none.
func (m *move) latest() ([]byte, error) {
	if m.h.latest < 0 {
		return nil, nil
	}
	data, err := m.s.contentOf(&m.place, &m.h.items[m.h.latest])
	if errors.Is(err, model.ErrNoSnapshot) {
		return nil, fmt.Errorf("%s: %w", m.place.file(latestFile), fs.ErrNotExist)
	}
	return data, err
}

// listed reports whether an immutable snapshot holds what a document does: the
// same data, and the same of the application.
func (m *move) listed(d *document) bool {
	if m.h.same < 0 {
		return false
	}
	data, err := m.s.contentOf(&m.place, &m.h.items[m.h.same])
	if err != nil {
		return false
	}
	other := parsed(data)
	return other.Err == nil && bytes.Equal(appDataOf(d), appDataOf(&other))
}

// appDataOf returns what an application put beside the data, without white space.
func appDataOf(d *document) []byte {
	for _, key := range []string{"app_data", "appData"} {
		if n := d.Tape.Find(0, key); n >= 0 {
			return jsontape.AppendCompact(nil, d.Tape.Raw(n))
		}
	}
	return nil
}

// mint makes the id of a snapshot that sorts behind all that are there.
func (m *move) mint() (string, error) {
	ids := minter{random: m.s.writer.random}
	for i := range m.h.items {
		ids.after(m.h.items[i].id)
	}
	return ids.mint(m.s.writer.Now())
}

// guard lets the plan fail if a snapshot comes or goes before it is carried out.
func (m *move) guard() {
	p, w := &m.place, &m.s.writer
	if files.IsFolder(m.s.root, p.path(historyDir)) {
		m.draft.Expect(w.name(p, historyDir))
	}
}

// hazards adds warnings; an empty one is none.
func (m *move) hazards(list ...string) {
	for _, text := range list {
		if text != "" {
			m.plan.Hazards = append(m.plan.Hazards, text)
		}
	}
}

// tell completes a plan by what the SDK does with the content that it will load
// under a session's name.
func (m *move) tell(content []byte, session string) {
	d := parsed(content)
	at := m.place.standing(&d, m.versions(&d))
	m.plan.Loads = at.loads(&m.place, session)
	m.plan.Resume = at.resume()
	m.plan.Asks = append(m.plan.Asks, at.asks()...)
	m.warn(&d)
	m.plan.Writes = append(m.plan.Writes, "journal: one entry")
}

// recent is for how long after a write an agent is taken to be running.
const recent = time.Minute

// running tells of an agent that may hold the session in memory.
func (m *move) running() {
	m.hazards("an agent that runs now does not notice: its next save puts back what it holds in memory, so stop it first")
	if m.h.latest < 0 {
		return
	}
	info, err := m.s.root.Lstat(m.place.path(latestFile))
	if err != nil {
		return
	}
	ago, lively := m.s.writer.Lively(recent, writing.Stamp{Name: m.s.writer.name(&m.place, latestFile), At: info.ModTime()})
	if !lively {
		return
	}
	m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("the session was written %v ago: an agent may still be running, and would take the restore back", ago.Round(time.Second)))
}
