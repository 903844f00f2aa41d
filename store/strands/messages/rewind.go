package messages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/folder"
	"hindcast/store/journal"
	"hindcast/store/strands/runs"
	"hindcast/store/writing"
)

// How an orchestrator is put back.
//
// It has one file, which is written over and over. To put it back to a node
// execution is to write the file so that the SDK goes on with what came after; what
// that takes is worked out by package runs. The file that was there is kept by
// the journal. Its nodes that did not run any more, as the file now has it, are the
// branch that was left: each has the id that it had.

// version of a record of an orchestrator that is kept.
type asideRun struct {
	run     *runs.Run
	version journal.Version
	reason  *model.Reason
	// shown says that it is aside: that it is not what lies there.
	shown bool
}

// mostAside bounds the versions of one record that are looked at, the newest.
const mostAside = 64

// recordPath returns the name of the file of an orchestrator, relative to the store.
func (p place) recordPath() string {
	return path.Join(p.session, "multi_agents", p.orchestrator, "multi_agent.json")
}

// asideRuns returns the versions of a record that are kept, the oldest first: those that
// were set aside, and those that came back and a run from before wrote over. What
// cannot be read is left out. lies is the SHA-256 of the record that lies there.
func (s *Store) asideRuns(p place, entries []*journal.Entry, lies string) []asideRun {
	file := p.recordPath()
	var list []asideRun
	tell := func(v journal.Version, reason *model.Reason) {
		if v.SHA256 == "" {
			return
		}
		list = slices.DeleteFunc(list, func(a asideRun) bool { return a.version.SHA256 == v.SHA256 })
		list = append(list, asideRun{version: v, reason: reason, shown: v.SHA256 != lies})
	}
	for _, e := range entries {
		for _, c := range e.Changes() {
			switch {
			case c.Path != file || c.Before == c.After || c.Does == model.FileCopied || e.Undone && e.NewSession != "":
			case e.TakenBack:
				tell(c.Before, &model.Reason{Kind: model.ReasonOverwritten})
			case e.Undone:
				tell(c.After, &model.Reason{Kind: model.ReasonUndo})
				tell(c.Before, &model.Reason{Kind: model.ReasonOverwritten})
			default:
				tell(c.After, &model.Reason{Kind: model.ReasonOverwritten})
				tell(c.Before, reasonOf(e))
			}
		}
	}
	list = list[max(0, len(list)-mostAside):]
	for k := range list {
		data, err := s.kept(list[k].version)
		if err != nil {
			continue // it was purged
		}
		tape, _, err := jsontape.ParseTolerant(data)
		if err != nil {
			continue
		}
		list[k].run = runs.Decode(tape, 0, runs.Place{Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: p.recordPath()})
	}
	return slices.DeleteFunc(list, func(a asideRun) bool { return a.run == nil })
}

// older returns the runs that are kept.
func (o *orchestrator) older() (list []*runs.Run) {
	for _, a := range o.aside {
		list = append(list, a.run)
	}
	return list
}

// branches returns the headers of the nodes that are aside, by the id of the one in
// the record that they follow.
func (o *orchestrator) branches(now []model.Header) map[string][]model.Header {
	anchors := make(map[string]string, len(now)) // where a known snapshot leaves the record
	for i := range now {
		anchors[now[i].ID] = now[i].ID
	}
	leaving := make(map[string][]model.Header)
	for _, a := range o.aside {
		if !a.shown {
			continue
		}
		anchor, parent, shared := "", "", 0
		if o.run != nil {
			shared = a.run.Shared(o.run)
		}
		for i, h := range a.run.Headers() {
			if i < shared {
				anchor, parent = now[i].ID, now[i].ID
				continue
			}
			if at, known := anchors[h.ID]; known {
				anchor, parent = at, h.ID
				continue
			}
			anchors[h.ID] = anchor
			h.ParentID, parent = parent, h.ID
			h.Head, h.Orphaned, h.Reason = false, true, a.reason
			leaving[anchor] = append(leaving[anchor], h)
		}
	}
	return leaving
}

// records reads and changes the records of orchestrators.
type records struct{ s *Store }

// Name implements folder.Format.
func (records) Name() string { return "Strands" }

// Read implements folder.Format. A record that cannot be read has no rows.
func (f records) Read(ctx context.Context, in folder.In, at folder.Place) (*folder.Log, error) {
	p := at.Own.(place)
	o := f.s.readRun(p, in)
	log := &folder.Log{Place: at, Rows: o.headers(), Head: -1, Settled: true, Aside: map[string]*folder.Aside{}, Own: o}
	if at, err := in.Stamp(p.recordPath()); err == nil {
		log.Written = []writing.Stamp{{Name: p.recordPath(), At: at.Modified}}
	}
	there := len(o.now())
	for i := range log.Rows {
		h := &log.Rows[i]
		log.Files = append(log.Files, p.recordPath())
		if h.Orphaned {
			log.Aside[h.ID] = &folder.Aside{Name: p.recordPath()}
		} else if there--; there == 0 {
			log.Head = i
		}
	}
	return log, ctx.Err()
}

// rewind is a plan in the making for a record.
type rewind struct {
	*folder.Move
	*orchestrator
	s  *Store
	in folder.In
	// next is how the SDK goes on then.
	next folder.Next
}

// Move implements folder.Mover.
func (f records) Move(_ context.Context, in folder.In, before *folder.Log, c model.Change) (*folder.Move, error) {
	m := &rewind{Move: &folder.Move{Uses: map[string]string{}}, orchestrator: before.Own.(*orchestrator), s: f.s, in: in}
	m.Own = m
	if c.Op == model.OpRepair {
		return m.Move, m.repair()
	}
	if m.err != nil {
		return nil, m.err
	}
	switch c.Op {
	case model.OpPurge:
		m.Target = before.HeadPoint()
		m.Forget = func(string, []byte) bool { return c.Scope != model.PurgeRedacted }
		return m.Move, nil
	case model.OpEdit:
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "the record of an orchestrator is put back as it was, and not edited"}
	case model.OpFork:
		return m.Move, m.fork(c)
	}
	return m.Move, m.restore(c.Ref.ID, before.Busy != "")
}

// restore plans that the record ends with a node.
func (m *rewind) restore(id string, busy bool) error {
	r, i, err := m.find(id)
	if err != nil {
		return err
	}
	step := folder.Step{Name: m.recordPath()}
	if version, aside := m.versionOf(r); aside && i == r.Len()-1 {
		step.Version = version
		m.putBack(r)
	} else if step.Data, err = m.put(r, i); err != nil {
		return err
	}
	m.Target, m.Steps = model.Point{ID: id, Index: i}, folder.Steps{step}
	m.uses()
	m.Writes = append(m.Writes, fmt.Sprintf("record of %s %q: as it was after #%d", r.Summary().Kind, r.Summary().ID, i))
	if busy {
		m.Hazards = append(m.Hazards, "a run that still goes on writes the record over when the next node ends, so stop it first")
	}
	return nil
}

// put returns the record that ends with node i of a run, and says how the SDK goes on from it.
func (m *rewind) put(r *runs.Run, i int) ([]byte, error) {
	w, err := r.Rewind(i, m.older())
	m.next = folder.Next{Loads: w.Loads, Calls: w.Resume, Hazards: w.Hazards, Asks: w.Asks}
	return w.Document, err
}

// putBack says what comes of a record that is written as it once was.
func (m *rewind) putBack(r *runs.Run) { m.next = asItIs(r) }

func asItIs(r *runs.Run) folder.Next {
	w := r.AsItIs()
	return folder.Next{Loads: w.Loads, Calls: w.Resume, Hazards: w.Asks}
}

// uses guards the record that is there.
func (m *rewind) uses() {
	m.Uses[m.recordPath()] = m.sum
}

// fork plans a new session with the orchestrator as it was then: session.json and the
// record, and nothing of the agents beside it.
func (m *rewind) fork(c model.Change) error {
	r, i, err := m.find(c.Ref.ID)
	if err == nil {
		err = checkName(m.in.Tree, c.Op, c.As)
	}
	if err != nil {
		return err
	}
	document := r.Source()
	if i == r.Len()-1 {
		m.putBack(r)
	} else if document, err = m.put(r, i); err != nil {
		return forked(err)
	}
	session, err := sessionFile(m.in.Tree, m.session, c.As)
	if err != nil {
		return err
	}
	p := place{id: c.As, session: sessionPrefix + c.As, tree: m.place.tree, way: m.way, orchestrator: m.place.orchestrator}
	to := m.s.in(p)
	m.New, m.Target = &to, model.Point{ID: c.Ref.ID, Index: i}
	// Until there is a session.json, the SDK does not take the folder for a session.
	m.Steps = folder.Steps{{Name: p.recordPath(), Data: document}, {Name: path.Join(p.session, "session.json"), Data: session}}
	m.Writes = append(m.Writes, fmt.Sprintf("session %q: session.json, and the record of %s %q as it was after #%d", c.As, r.Summary().Kind, r.Summary().ID, i))
	m.next.Loads = fmt.Sprintf("with FileSessionManager(%s): %s", pyText(c.As), m.next.Loads)
	return nil
}

// forked says of a fork what a rewind says of itself.
func forked(err error) error {
	if unsupported := (*model.UnsupportedError)(nil); errors.As(err, &unsupported) {
		return &model.UnsupportedError{Op: model.OpFork, Reason: unsupported.Reason}
	}
	return err
}

// versionOf returns the version of a run that is kept, false for the one that lies
// there.
func (o *orchestrator) versionOf(r *runs.Run) (journal.Version, bool) {
	for _, a := range o.aside {
		if a.run == r {
			return a.version, true
		}
	}
	return journal.Version{}, false
}

// Next implements folder.Mover.
func (records) Next(_ context.Context, before, after *folder.Log, mv *folder.Move) (folder.Next, error) {
	if mv != nil {
		return mv.Own.(*rewind).next, nil
	}
	was, now := before.Own.(*orchestrator), after.Own.(*orchestrator)
	session, _, _ := strings.Cut(was.id, "/")
	switch {
	case now.run == nil && now.err == nil:
		return folder.Next{Loads: goneWords(was.id, session)}, nil
	case was.run == nil && was.err == nil:
		return folder.Next{Loads: thereWords(now.id)}, nil
	case now.run == nil:
		return folder.Next{Loads: brokenAgain, Hazards: []string{brokenAgain}}, nil
	}
	return asItIs(now.run), nil
}
