package snapshots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/kinds/strands/runs"
	"hindcast/store/media/tree"
)

// A restore gives snapshot_latest.json, which is all that an SDK loads when it
// starts, the bytes of another snapshot. What was there is first saved beside the
// other immutable snapshots, so that the SDKs list it, too.

// planMove plans a change. The errors are a *RefusedError and those of [store.Features].Plan.
func (s *Store) planMove(ctx context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	if _, ok := before.Own.(*runs.Records); ok {
		return runs.Format{Files: orchestrators{s}}.Move(ctx, in, before, c)
	}
	m := s.beginPlan(in, before.Own.(*history))
	if c.Op == model.OpRepair {
		return m.Move, m.planRepair()
	}
	if c.Op == model.OpPurge {
		m.planPurge(c.Scope)
		return m.Move, nil
	}
	if err := m.findTarget(c.Ref.ID); err != nil {
		return nil, err
	}
	switch c.Op {
	case model.OpRestore:
		return m.Move, m.planRestore()
	case model.OpFork:
		return m.Move, m.planFork(c.As)
	case model.OpEdit:
		return m.Move, m.planEdit(c.As, c.State)
	}
	return nil, &model.UnsupportedError{Op: c.Op, Reason: lacks(c.Op)}
}

// move is a plan in the making for the snapshots of one place.
type move struct {
	*engine.Move
	s     *Store
	place place
	in    engine.In
	h     *history
	// target is the position of the snapshot that is aimed at, doc its file.
	target int
	doc    document
}

// beginPlan starts a plan.
func (s *Store) beginPlan(in engine.In, h *history) *move {
	m := &move{Move: &engine.Move{Uses: map[string]string{}}, s: s, place: h.place, in: in, h: h.withInput(in), target: -1}
	m.Own = m
	return m
}

// findTarget finds the snapshot that the plan is about, and reads it.
func (m *move) findTarget(id string) (err error) {
	if m.target = m.h.findRow(id); m.target < 0 {
		return model.ErrNoSnapshot
	}
	if m.doc, err = m.soundDocument(&m.h.items[m.target]); err != nil {
		return err
	}
	m.Target = m.h.pointOf(m.target)
	return nil
}

// planRestore plans to make the target what is loaded.
func (m *move) planRestore() error {
	content, said := m.doc.resumableBytes(m.sdkVersions(&m.doc))
	m.addHazards(said)
	if said == "" {
		m.aimAtShown()
	}
	if err := m.putLatest(content); err != nil {
		return err
	}
	m.addHazards(running)
	m.Writes = append(m.Writes, journaled)
	return nil
}

// aimAtShown takes another snapshot for the target that has the very same bytes, where
// that will be shown as what is loaded.
func (m *move) aimAtShown() {
	i := m.h.shownPosition(&m.h.items[m.target].capture)
	if i < 0 || i == m.target {
		return
	}
	data, err := m.h.readContent(&m.h.items[i])
	if err != nil || !bytes.Equal(data, m.doc.Data) {
		return // the target itself will do
	}
	m.addHazards(fmt.Sprintf("#%d has the same bytes as #%d, which is shown as the loaded snapshot", m.h.indexOf(i), m.h.indexOf(m.target)))
	m.target = i
	m.Target = m.h.pointOf(i)
}

// addStep adds a step to the plan.
func (m *move) addStep(s tree.Step) { m.Steps = append(m.Steps, s) }

// putLatest plans that snapshot_latest.json gets a content. What it holds is saved
// first, unless an immutable snapshot holds the same, or it is nothing that an SDK
// could list: then it is kept by the journal alone.
func (m *move) putLatest(content []byte) error {
	latest, err := m.readLatest()
	if err != nil {
		return err
	}
	if bytes.Equal(latest, content) && m.h.at >= 0 {
		m.addHazards("the snapshot is loaded already: no file changes")
		return nil
	}
	if m.h.at >= 0 {
		was := parseFile(latest)
		if fatal, _ := m.judgeLatest(&was); len(fatal) == 0 && !m.isListed(&was) {
			id, err := m.mintID()
			if err != nil {
				return err
			}
			m.addStep(tree.Step{Name: m.place.storageName("snapshot_" + id + ".json"), Data: latest})
			m.Writes = append(m.Writes, "the snapshot that is loaded now is first saved as "+id)
		}
	}
	m.addStep(tree.Step{Name: m.place.storageName(latestFile), Data: content})
	m.addGuard()
	return nil
}

// readLatest reads snapshot_latest.json, nil if it is missing. The plan fails if the file
// differs when it is made or carried out: an agent has saved meanwhile.
func (m *move) readLatest() ([]byte, error) {
	name := m.place.storageName(latestFile)
	if m.Uses[name] = ""; m.h.at < 0 {
		return nil, nil
	}
	data, err := m.h.readContent(&m.h.items[m.h.at])
	if errors.Is(err, model.ErrNoSnapshot) {
		return nil, fmt.Errorf("%s: %w", m.place.fileOf(latestFile), fs.ErrNotExist)
	}
	m.Uses[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	return data, err
}

// isListed reports whether an immutable snapshot holds what a document does: the
// same data, and the same of the application.
func (m *move) isListed(d *document) bool {
	if m.h.same < 0 {
		return false
	}
	data, err := m.h.readContent(&m.h.items[m.h.same])
	if err != nil {
		return false
	}
	other := parseFile(data)
	return other.Err == nil && bytes.Equal(appDataOf(d), appDataOf(&other))
}

// appDataOf returns the application's own data in a snapshot, without white space.
func appDataOf(d *document) []byte {
	for _, key := range []string{"app_data", "appData"} {
		if n := d.Tape.Find(0, key); n >= 0 {
			return jsontape.AppendCompact(nil, d.Tape.Raw(n))
		}
	}
	return nil
}

// mintID makes the id of a snapshot that sorts behind all that are there.
func (m *move) mintID() (string, error) {
	ids := minter{random: m.s.random}
	for i := range m.h.items {
		ids.noteID(m.h.items[i].id)
	}
	return ids.mintID(m.in.Now)
}

// addGuard lets the plan fail if a snapshot comes or goes before it is carried out.
func (m *move) addGuard() { m.Closed = []string{m.place.nameOf(historyDir)} }

// addHazards adds warnings, and skips empty ones.
func (m *move) addHazards(list ...string) {
	for _, text := range list {
		if text != "" {
			m.Hazards = append(m.Hazards, text)
		}
	}
}

const (
	running   = "an agent that runs now does not notice: its next save puts back what it holds in memory, so stop it first"
	journaled = "journal: one entry"
)

// predictNext predicts how an SDK goes on after a plan. The calls are worked out from where the messages end that
// are then loaded, see resume.go.
func (s *Store) predictNext(ctx context.Context, in engine.In, before, after *engine.Log, mv *engine.Move) (engine.Next, error) {
	if _, ok := after.Own.(*runs.Records); ok {
		return runs.Format{Files: orchestrators{s}}.Next(ctx, before, after, mv)
	}
	was, now := before.Own.(*history), after.Own.(*history).withInput(in)
	loaded := now.loadedContent()
	switch {
	case mv == nil:
		return was.describeReversal(now, func() engine.Next { return s.loadsWords(now, loaded, nil) }), nil
	case loaded == nil:
		return engine.Next{Loads: "the SDK finds no " + latestFile + " and begins anew"}, nil
	}
	m, _ := mv.Own.(*move) // none of what is made of another kind
	next := s.loadsWords(now, loaded, m)
	if mv.New == nil && before.Leaves(after) {
		next.Hazards = append(next.Hazards, "what tools did outside of the session since then is not taken back")
	}
	return next, nil
}

// loadsWords says how an SDK goes on from a content of snapshot_latest.json.
func (s *Store) loadsWords(h *history, loaded []byte, m *move) (next engine.Next) {
	d := parseFile(loaded)
	if d.Err != nil {
		next.Loads = latestFile + " is then what it was, which no SDK can load: " + d.Problem
		return next
	}
	in := h.sdkVersions(&s.running, d.Dialect, d.Tape)
	if m != nil {
		in = m.sdkVersions(&d)
	}
	at := h.readStanding(&d, in)
	next.Loads, next.Calls, next.Asks = at.loadsSentence(&h.place, h.sessionDir.id), at.resumeCalls(), at.reasonsToAsk()
	if m != nil {
		m.addWarnings(&d, &next)
	}
	return next
}

// loadedContent returns the content of snapshot_latest.json, nil if it is missing.
func (h *history) loadedContent() []byte {
	if h.at < 0 {
		return nil
	}
	data, err := h.readContent(&h.items[h.at])
	if err != nil {
		return nil
	}
	return data
}

// describeReversal describes how an undo or a redo changes the snapshot that an SDK loads. next
// describes how the SDK goes on from it.
func (h *history) describeReversal(now *history, next func() engine.Next) (n engine.Next) {
	was, then := h.loadedContent(), now.loadedContent()
	switch {
	case len(h.items) > 0 && now.gone != nil:
		n.Loads = fmt.Sprintf("session %q is gone: nothing loads it", h.id)
		return n
	case (was == nil) == (then == nil) && bytes.Equal(was, then):
		n.Loads = "what an SDK loads stays as it is"
		return n
	case then == nil:
		n.Loads = fmt.Sprintf("session %q has no %s: nothing is loaded, and the SDK begins anew", h.id, latestFile)
	default:
		n = next()
	}
	if h.gone == nil {
		n.Hazards = append(n.Hazards, running)
	}
	return n
}
