package recording

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
)

// Circumstances are facts around a plan that a kind knows, and warnings that a person should read before
// agreeing.
type Circumstances struct {
	// SharedWith are the other sessions that hold the target's id.
	SharedWith []string
	// WorkingState says that the session's record holds a working state that
	// no snapshot at its head has.
	WorkingState bool
	// Mismatch says that the target's id is not the hash of its state.
	Mismatch bool
	// Conversation has the problems of the messages from which the session goes on, see [hindcast/store/engine/inspect.ConversationHazards].
	Conversation []string
}

// PlanRestore computes the plan of a restore to ref. The error is
// model.ErrNoSnapshot.
func (v *Visits) PlanRestore(ref model.Ref, c Circumstances) (model.Plan, error) {
	target, err := v.Find(ref)
	if err != nil {
		return model.Plan{}, err
	}
	lineage := v.newLineage()
	orphans, reactivates := lineage.restoreTo(target)
	plan := v.planMove(model.OpRestore, target, orphans, reactivates)
	plan.Writes = append(plan.Writes, fmt.Sprintf("record of session %q: state, turn and last snapshot of #%d", v.Session, plan.Target.Index), "journal: one entry")
	if target == v.Head {
		plan.Hazards = append(plan.Hazards, "the snapshot is the head already: only the session's working state is put back")
	}
	if c.WorkingState {
		plan.Hazards = append(plan.Hazards, "the session's working state is not that of its last snapshot; it is replaced (undo brings it back)")
	}
	plan.Hazards = append(plan.Hazards, lineage.restoreHazards(target, c)...)
	if len(c.SharedWith) > 0 {
		plan.Hazards = append(plan.Hazards, nameHolders(c.SharedWith)+" the same snapshot, so that WithSnapshotID alone is ambiguous: resume by session")
	}
	return plan, nil
}

// PlanFork computes the plan of a fork of ref as a new session. The error is
// model.ErrNoSnapshot.
func (v *Visits) PlanFork(ref model.Ref, as string, c Circumstances) (model.Plan, error) {
	return v.planBranch(model.OpFork, ref, as, "", c)
}

// PlanEdit computes the plan of a fork of ref as a new session in which the
// snapshot of ref has another state, of the id edited. The errors are
// model.ErrNoSnapshot, and ErrNotEdited where the id is still the same.
func (v *Visits) PlanEdit(ref model.Ref, as, edited string, c Circumstances) (model.Plan, error) {
	return v.planBranch(model.OpEdit, ref, as, edited, c)
}

// planBranch is the plan of a new session with the way from the root to ref, whose
// state is an edited one if that has an id.
func (v *Visits) planBranch(op model.Op, ref model.Ref, as, edited string, c Circumstances) (model.Plan, error) {
	if as == "" {
		return model.Plan{}, errors.New("the new session needs a name")
	}
	target, err := v.Find(ref)
	if err != nil {
		return model.Plan{}, err
	}
	lineage := v.newLineage()
	path, _ := lineage.pathTo(target)
	plan := v.newPlan(op, target)
	plan.NewSession = as
	last, visits, which := v.Headers[target], model.Count(len(path), "visit"), ""
	if edited != "" {
		if edited == last.ID {
			return model.Plan{}, store.ErrNotEdited
		}
		last.ID, visits, which = edited, visits+", the last one new", " as edited, "+model.ShortID(edited, 8)
	}
	resumeFrom(&plan, as, &last)
	plan.Writes = append(plan.Writes,
		fmt.Sprintf("visits of session %q: %s, the way from the root to #%d%s", as, visits, plan.Target.Index, which),
		fmt.Sprintf("record of session %q: state, turn and last snapshot of #%d%s", as, plan.Target.Index, which),
		"journal: one entry")
	plan.Hazards = append(plan.Hazards, lineage.restoreHazards(target, c)...)
	if edited == "" || len(path) > 1 {
		plan.Hazards = append(plan.Hazards, "both sessions then hold the same snapshots, so that WithSnapshotID alone is ambiguous: resume by session")
	}
	return plan, nil
}

// Entry is a journal's data about one write, for its undo and redo.
type Entry struct {
	model.JournalEntry
	// Target is the visit that became the head: for a fork, in the session
	// that was read; for an edit, the one there whose state was edited.
	Target model.Ref
	// Head is the number of the previous head's visit, or 0.
	Head int64
	// Orphaned and Reactivated are the numbers of the visits that moved.
	Orphaned, Reactivated []int64
}

// PlanUndo computes how to take back an entry on the session that it changed.
func (v *Visits) PlanUndo(e Entry) model.Plan {
	if e.Op.MakesSession() {
		plan := v.newPlan(model.OpUndo, -1)
		plan.Entry, plan.Removes = e.ID, true
		plan.Loads = fmt.Sprintf("session %q is gone: nothing loads it", v.Session)
		plan.Writes = append(plan.Writes, describeRemoval(v))
		if e.Op == model.OpConvert || e.Op == model.OpContinue {
			plan.Final = true
			plan.Hazards = append(plan.Hazards, fmt.Sprintf("redo cannot bring it back, because it does not know the other store; hindcast %s can", e.Op))
		}
		return v.withJournalEntry(plan)
	}
	plan := v.planMove(model.OpUndo, v.At(e.Head), v.positionsOf(e.Reactivated), v.positionsOf(e.Orphaned))
	plan.Entry = e.ID
	plan.Writes = append(plan.Writes, fmt.Sprintf("record of session %q: as it was before", v.Session))
	return v.withJournalEntry(plan)
}

// Imported is the effect of an import on one session.
type Imported struct {
	*Visits
	// Made says that the session was not there before.
	Made bool
	// Last is the number of the last visit before the import, and Before the number of the head then; each may
	// be 0.
	Last, Before int64
}

// PlanUndoImport computes how to take an entry back that is an import: what it added to
// each session goes, and so does each session that it made.
func PlanUndoImport(entry int64, sessions []Imported) model.Plan {
	first := sessions[0]
	plan := first.newPlan(model.OpUndo, first.At(first.Before))
	plan.Entry, plan.Removes, plan.Final = entry, first.Made, true
	plan.Loads = "no snapshot: the session begins at #0"
	if first.Made {
		plan.Loads = fmt.Sprintf("session %q is gone: nothing loads it", first.Session)
	} else if i := first.At(first.Before); i >= 0 {
		resumeFrom(&plan, first.Session, &first.Headers[i])
	}
	for i, s := range sessions {
		if i > 0 {
			plan.Others = append(plan.Others, s.Session)
		}
		if s.Made {
			plan.Writes = append(plan.Writes, describeRemoval(s.Visits))
			continue
		}
		added := 0
		for _, h := range s.Headers {
			if h.Visit > s.Last {
				added++
			}
		}
		plan.Writes = append(plan.Writes, fmt.Sprintf("session %q: head and record as before the import, %s removed", s.Session, model.Count(added, "visit")))
	}
	plan.Hazards = append(plan.Hazards, "what the import brought goes, and redo cannot bring it back; hindcast import can")
	return first.withJournalEntry(plan)
}

// describeRemoval says that a session goes.
func describeRemoval(v *Visits) string {
	return fmt.Sprintf("session %q: removed with its record and %s", v.Session, model.Count(len(v.Headers), "visit"))
}

// Check compares the session, which may be nil, with the expectations of the plan to undo the import.
func (i *Imported) Check(now *Visits) error {
	switch {
	case (now == nil) != i.Made:
		return fmt.Errorf("session %q is there: %t", i.Session, now != nil)
	case now == nil:
		return nil
	case now.HeadRef().Visit != i.Before:
		return fmt.Errorf("the head of session %q is visit %d instead of %d", i.Session, now.HeadRef().Visit, i.Before)
	case now.Next() != i.Last+1:
		return fmt.Errorf("the last visit of session %q is %d instead of %d", i.Session, now.Next()-1, i.Last)
	}
	return nil
}

// PlanRedo computes how to do an undone entry again: on the session that it
// changes, or for a fork and an edit on the session that it reads. The error is
// model.ErrNoSnapshot.
func (v *Visits) PlanRedo(e Entry) (plan model.Plan, err error) {
	switch e.Op {
	case model.OpFork:
		plan, err = v.PlanFork(e.Target, e.Session, Circumstances{})
	case model.OpEdit:
		plan, err = v.PlanEdit(e.Target, e.Session, e.To, Circumstances{})
	default:
		plan, err = v.PlanRestore(e.Target, Circumstances{})
	}
	if err != nil {
		return plan, err
	}
	plan.Op, plan.Entry = model.OpRedo, e.ID
	plan.Writes = plan.Writes[:len(plan.Writes)-1]
	return v.withJournalEntry(plan), nil
}

func (v *Visits) withJournalEntry(plan model.Plan) model.Plan {
	plan.Writes = append(plan.Writes, fmt.Sprintf("journal: entry %d", plan.Entry))
	return plan
}

// positionsOf returns the positions of visits by their numbers, in rule 6's order.
func (v *Visits) positionsOf(visits []int64) []int {
	var positions []int
	for _, visit := range visits {
		if i := v.At(visit); i >= 0 {
			positions = append(positions, i)
		}
	}
	slices.SortFunc(positions, v.byIndex)
	return positions
}

// planMove is the plan of a head that goes to the visit at target.
func (v *Visits) planMove(op model.Op, target int, orphans, reactivates []int) model.Plan {
	plan := v.newPlan(op, target)
	plan.Orphans, plan.Reactivates = v.pointsAt(orphans), v.pointsAt(reactivates)
	plan.Loads = "no snapshot: the session begins at #0"
	if target >= 0 {
		resumeFrom(&plan, v.Session, &v.Headers[target])
	}
	plan.Writes = append(plan.Writes, fmt.Sprintf("visits of session %q: %d orphaned, %d active again", v.Session, len(orphans), len(reactivates)))
	return plan
}

// newPlan sets the fields that every plan has. A target of -1 is a session without a head.
func (v *Visits) newPlan(op model.Op, target int) model.Plan {
	p := model.Plan{Op: op, Session: v.Session}
	if target >= 0 {
		p.Target = v.Headers[target].Point()
	}
	if v.Head >= 0 {
		p.Head = v.Headers[v.Head].Point()
	}
	return p
}

func (v *Visits) pointsAt(positions []int) []model.Point {
	items := make([]model.Point, 0, len(positions))
	for _, i := range positions {
		items = append(items, v.Headers[i].Point())
	}
	return items
}

// resumeFrom fills in how an agent of the Genkit Go design goes on: it opens the
// session, finds its record, and loads the last snapshot there.
func resumeFrom(plan *model.Plan, session string, h *model.Header) {
	turn := fmt.Sprintf("in turn %d", h.TurnIndex)
	if h.Event.EndsTurn() {
		turn = fmt.Sprintf("with turn %d", h.TurnIndex+1)
	}
	plan.Loads = fmt.Sprintf("the state of #%d", h.Index)
	plan.Resume = []model.Resume{
		{Call: fmt.Sprintf("StreamBidi(ctx, agent.WithSessionID[State](%q))", session), Then: fmt.Sprintf("goes on %s as #%d", turn, h.Index+1)},
		{Call: fmt.Sprintf("StreamBidi(ctx, agent.WithSnapshotID[State](%q))", h.ID), Then: "goes back there by itself"},
	}
}

func (l lineage) restoreHazards(target int, c Circumstances) []string {
	var out []string
	if c.Mismatch {
		out = append(out, "the snapshot's id is not the hash of its state: the state may have been changed after it was saved")
	}
	if _, whole := l.pathTo(target); !whole {
		out = append(out, "the lineage of the snapshot is broken: a parent is missing or runs in a circle")
	}
	return append(out, c.Conversation...)
}

// Verify compares the session with a plan that was applied to it. The head must be the plan's target or, after
// an edit, have the edited state's id. Each moved visit must stand where the plan put it.
func (v *Visits) Verify(plan model.Plan, edited string) error {
	var head string
	if v.Head >= 0 {
		head = v.Headers[v.Head].ID
	}
	if want := cmp.Or(edited, plan.Target.ID); head != want {
		return fmt.Errorf("the head is %q instead of %q", head, want)
	}
	for _, moved := range []struct {
		items    []model.Point
		orphaned bool
	}{{plan.Orphans, true}, {plan.Reactivates, false}} {
		for _, item := range moved.items {
			if i := v.At(item.Visit); i < 0 || v.Headers[i].ID != item.ID || v.Headers[i].Orphaned != moved.orphaned {
				return fmt.Errorf("visit %d of %q is not as planned", item.Visit, item.ID)
			}
		}
	}
	return nil
}

// SamePlan reports whether two plans would do the same to the same session.
func SamePlan(a, b model.Plan) bool {
	return a.Op == b.Op && a.Session == b.Session && a.NewSession == b.NewSession && a.Entry == b.Entry && slices.Equal(a.Others, b.Others) &&
		sameVisit(a.Target, b.Target) && sameVisit(a.Head, b.Head) &&
		slices.EqualFunc(a.Orphans, b.Orphans, sameVisit) && slices.EqualFunc(a.Reactivates, b.Reactivates, sameVisit)
}

// sameVisit reports whether two points are one visit. Names are for people, so
// they do not count.
func sameVisit(a, b model.Point) bool {
	return a.ID == b.ID && a.Index == b.Index && a.Visit == b.Visit
}

func nameHolders(sessions []string) string {
	if len(sessions) == 1 {
		return fmt.Sprintf("session %q holds", sessions[0])
	}
	return fmt.Sprintf("%d other sessions hold", len(sessions))
}
