package messages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
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
// cannot be read is left out.
func (s *Store) asideRuns(ctx context.Context, p place) ([]asideRun, error) {
	entries, _ := s.entries(ctx) // what is wrong with it the doctor tells
	if len(entries) == 0 {
		return nil, ctx.Err()
	}
	file := s.onDesk(p.recordPath())
	lies, err := s.journal.Version(file)
	if err != nil {
		lies = journal.Version{} // the record cannot be read, which Faults tells
	}
	var list []asideRun
	tell := func(v journal.Version, reason *model.Reason) {
		if v.SHA256 == "" {
			return
		}
		list = slices.DeleteFunc(list, func(a asideRun) bool { return a.version.SHA256 == v.SHA256 })
		list = append(list, asideRun{version: v, reason: reason, shown: v.SHA256 != lies.SHA256})
	}
	for i := range entries {
		e := &entries[i]
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
		data, err := s.journal.Read(list[k].version)
		if err != nil {
			continue // it was purged
		}
		tape, _, err := jsontape.ParseTolerant(data)
		if err != nil {
			continue
		}
		list[k].run = runs.Decode(tape, 0, runs.Place{Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: p.recordPath()})
	}
	return slices.DeleteFunc(list, func(a asideRun) bool { return a.run == nil }), nil
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

// planRewind computes what putting an orchestrator back does.
func (s *Store) planRewind(ctx context.Context, p place, ref model.Ref) (model.Plan, error) {
	o := s.openRun(p)
	if o.err != nil {
		return model.Plan{}, o.err
	}
	r, i, err := o.find(ref.ID)
	if err != nil {
		return model.Plan{}, err
	}
	plan := o.plan(model.OpRestore, r, i, ref.ID)
	draft := s.journal.Draft()
	file := s.onDesk(p.recordPath())
	if version, aside := o.versionOf(r); aside && i == r.Len()-1 {
		draft.PutBack(file, version)
		o.putBack(&plan, r)
	} else {
		w, err := r.Rewind(i, o.older())
		if err != nil {
			return model.Plan{}, err
		}
		draft.Put(file, w.Document)
		o.goesOn(&plan, w)
	}
	o.moves(&plan, r, i)
	plan.Writes = append(plan.Writes, fmt.Sprintf("record of %s %q: as it was after #%d", r.Summary().Kind, r.Summary().ID, i))
	if ask := s.busy(p.recordPath()); ask != "" {
		plan.Asks = append(plan.Asks, ask)
	}
	return draft.Plan(plan)
}

// planRunFork computes what a new session with an orchestrator as it was then takes:
// session.json and the record, and nothing of the agents beside it.
func (s *Store) planRunFork(ctx context.Context, p place, ref model.Ref, as string) (model.Plan, error) {
	o := s.openRun(p)
	if o.err != nil {
		return model.Plan{}, o.err
	}
	r, i, err := o.find(ref.ID)
	if err != nil {
		return model.Plan{}, err
	}
	if err := s.checkName(model.OpFork, as); err != nil {
		return model.Plan{}, err
	}
	plan := o.plan(model.OpFork, r, i, ref.ID)
	plan.NewSession = as
	plan.Head = model.Point{}
	document := r.Source()
	if i == r.Len()-1 {
		o.putBack(&plan, r)
	} else {
		w, err := r.Rewind(i, o.older())
		if err != nil {
			return model.Plan{}, forked(err)
		}
		document = w.Document
		o.goesOn(&plan, w)
	}
	session, err := s.sessionFile(p.session, as)
	if err != nil {
		return model.Plan{}, err
	}
	draft := s.journal.Draft()
	draft.Put(path.Join(sessionPrefix+as, "multi_agents", p.orchestrator, "multi_agent.json"), document)
	// Until there is a session.json, the SDK does not take the folder for a session.
	draft.Put(path.Join(sessionPrefix+as, "session.json"), session)
	plan.Writes = append(plan.Writes, fmt.Sprintf("session %q: session.json, and the record of %s %q as it was after #%d", as, r.Summary().Kind, r.Summary().ID, i))
	plan.Loads = fmt.Sprintf("with FileSessionManager(%s): %s", pyText(as), plan.Loads)
	return draft.Plan(plan)
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

// plan begins a plan that leads to snapshot i of a run.
func (o *orchestrator) plan(op model.Op, r *runs.Run, i int, id string) model.Plan {
	plan := model.Plan{Op: op, Session: o.id, Target: model.Point{ID: id, Index: i}}
	if list := o.now(); len(list) > 0 {
		plan.Head = list[len(list)-1].Point()
	}
	return plan
}

// moves fills in which snapshots leave the record, and which come back to it, when it
// ends with snapshot i of a run.
func (o *orchestrator) moves(plan *model.Plan, r *runs.Run, i int) {
	now, then := o.now(), r.Headers()[:i+1]
	plan.Orphans, plan.Reactivates = without(now, then), without(then, now)
}

// without returns the snapshots of a list that another list does not have.
func without(list, other []model.Header) []model.Point {
	var items []model.Point
	for i := range list {
		id := list[i].ID
		if !slices.ContainsFunc(other, func(h model.Header) bool { return h.ID == id }) {
			items = append(items, list[i].Point())
		}
	}
	return items
}

func (o *orchestrator) goesOn(plan *model.Plan, w runs.Rewound) {
	plan.Loads, plan.Resume = w.Loads, w.Resume
	plan.Hazards = append(plan.Hazards, w.Hazards...)
	plan.Asks = append(plan.Asks, w.Asks...)
}

// putBack says what comes of a record that is written as it once was.
func (o *orchestrator) putBack(plan *model.Plan, r *runs.Run) {
	now := r.AsItIs()
	plan.Loads, plan.Resume = now.Loads, now.Resume
	plan.Hazards = append(plan.Hazards, now.Asks...)
}

// completeRun says what a plan of the journal's means for an orchestrator: the record
// becomes what it was before an entry, or after it.
func (s *Store) completeRun(p place, e *journal.Entry, plan *model.Plan) error {
	o := s.openRun(p)
	if o.err != nil {
		return o.err
	}
	if list := o.now(); e.NewSession == "" && len(list) > 0 && list[len(list)-1].ID != plan.Head.ID {
		return fmt.Errorf("the run of %q went on to #%d, which would be lost; restore the branch that was set aside: %w",
			o.id, len(list)-1, model.ErrHeadMoved)
	}
	if ask := s.busy(p.recordPath()); ask != "" {
		plan.Asks = append(plan.Asks, ask)
	}
	if e.NewSession != "" && plan.Op == model.OpUndo {
		plan.Loads = fmt.Sprintf("session %q is gone: FileSessionManager(%s) begins a new one", e.NewSession, pyText(e.NewSession))
		return nil
	}
	for _, change := range e.Changes() {
		to := change.After
		if plan.Op == model.OpUndo {
			to = change.Before
		}
		if change.Path != s.onDesk(p.recordPath()) || to.None() {
			continue
		}
		data, err := s.journal.Read(to)
		if err != nil {
			return fmt.Errorf("read what is kept of %s: %w", change.Path, err)
		}
		tape, _, err := jsontape.ParseTolerant(data)
		if err != nil {
			return nil // it was broken before, too
		}
		r := runs.Decode(tape, 0, runs.Place{Session: p.id, Orchestrator: strings.TrimPrefix(p.orchestrator, runPrefix), File: p.recordPath()})
		o.putBack(plan, r)
		o.moves(plan, r, r.Len()-1)
	}
	return nil
}

// busy returns why an orchestrator may still be running, "" for no sign of it.
func (s *Store) busy(file string) string {
	at, err := s.tree.Stamp(file)
	if err != nil {
		return ""
	}
	age, ok := s.on.Lively(quiet, writing.Stamp{Name: s.onDesk(file), At: at.Modified})
	if !ok {
		return ""
	}
	return fmt.Sprintf("the record was written %s ago: a run that still goes on writes it over when the next node ends, so stop it first", age.Round(100*time.Millisecond))
}

// verifyRun reads the record of an orchestrator as the SDK does.
func (s *Store) verifyRun(p place, plan model.Plan) error {
	o := s.openRun(p)
	if o.err != nil {
		return fmt.Errorf("%w: %w", errReadBack, o.err)
	}
	list := o.now()
	if len(list) == 0 {
		return fmt.Errorf("%w: there is no record", errReadBack)
	}
	if head := &list[len(list)-1]; head.ID != plan.Target.ID || head.Index != plan.Target.Index {
		return fmt.Errorf("%w: the last node is #%d %s", errReadBack, head.Index, head.ID)
	}
	return nil
}
