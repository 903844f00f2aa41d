package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
)

// ErrSessionExists: a fork was to make a session that the store already has.
var ErrSessionExists = errors.New("the session exists already")

// Circumstances are what a kind knows around a plan and what a person should
// hear of before saying yes.
type Circumstances struct {
	// SharedWith are the other sessions that hold the target's id.
	SharedWith []string
	// WorkingState says that the session's record holds a working state that
	// no snapshot at its head has.
	WorkingState bool
	// Mismatch says that the target's id is not the hash of its state.
	Mismatch bool
}

// PlanRestore computes the plan of a restore to ref; Writes are left to the
// kind. The error is model.ErrNoSnapshot.
func (v *Visits) PlanRestore(ref model.Ref, c Circumstances) (model.Plan, error) {
	target, err := v.Find(ref)
	if err != nil {
		return model.Plan{}, err
	}
	plan := v.plan(model.OpRestore, target)
	orphans, reactivates := v.Restore(target)
	plan.Orphans, plan.Reactivates = v.items(orphans), v.items(reactivates)
	plan.Loads = v.loads(v.Session, target)
	if target == v.Head {
		plan.Hazards = append(plan.Hazards, "the snapshot is the head already: only the session's working state is put back")
	}
	if c.WorkingState {
		plan.Hazards = append(plan.Hazards, "the session's working state has changes that no snapshot holds; they are replaced (undo brings them back)")
	}
	plan.Hazards = append(plan.Hazards, v.hazards(target, c)...)
	if len(c.SharedWith) > 0 {
		plan.Hazards = append(plan.Hazards, fmt.Sprintf("%s the same snapshot, so WithSnapshotID alone is ambiguous: resume by session", holders(c.SharedWith)))
	}
	return plan, nil
}

// PlanFork computes the plan of a fork of ref as a new session; Writes are
// left to the kind. The error is model.ErrNoSnapshot.
func (v *Visits) PlanFork(ref model.Ref, as string, c Circumstances) (model.Plan, error) {
	if as == "" {
		return model.Plan{}, errors.New("the new session needs a name")
	}
	target, err := v.Find(ref)
	if err != nil {
		return model.Plan{}, err
	}
	plan := v.plan(model.OpFork, target)
	plan.NewSession = as
	plan.Loads = v.loads(as, target)
	plan.Hazards = append(plan.Hazards, v.hazards(target, c)...)
	plan.Hazards = append(plan.Hazards, "both sessions then hold the same snapshots, so WithSnapshotID alone is ambiguous: resume by session")
	return plan, nil
}

// PlanReturn computes the plan that puts the session's head from where it is
// to the visit at target as an undo or a redo of a restore: orphans and
// reactivates are positions.
func (v *Visits) PlanReturn(op model.Op, entry int64, target int, orphans, reactivates []int) model.Plan {
	plan := v.plan(op, target)
	plan.Entry = entry
	plan.Orphans, plan.Reactivates = v.items(orphans), v.items(reactivates)
	plan.Loads = v.loads(v.Session, target)
	return plan
}

// plan fills in what every plan says. A target of -1 is a session without a
// head.
func (v *Visits) plan(op model.Op, target int) model.Plan {
	p := model.Plan{
		Op: op, Session: v.Session,
		Target:       model.Ref{Session: v.Session},
		ExpectedHead: v.HeadRef(),
		Orphans:      []model.PlanItem{}, Reactivates: []model.PlanItem{},
		Writes: []string{}, Hazards: []string{},
	}
	if target >= 0 {
		h := &v.Headers[target]
		p.Target, p.TargetID, p.TargetIndex = h.Ref(), h.ID, h.Index
	}
	if v.Head >= 0 {
		h := &v.Headers[v.Head]
		p.HeadID, p.HeadIndex = h.ID, h.Index
	}
	return p
}

func (v *Visits) items(positions []int) []model.PlanItem {
	items := make([]model.PlanItem, 0, len(positions))
	for _, i := range positions {
		h := &v.Headers[i]
		items = append(items, model.PlanItem{ID: h.ID, Index: h.Index, Visit: h.Visit})
	}
	return items
}

// loads says what an agent of the Genkit Go design loads next: it opens the
// session, finds its record, and goes on from the last snapshot there.
func (v *Visits) loads(session string, target int) string {
	if target < 0 {
		return fmt.Sprintf("StreamBidi with WithSessionID(%q) finds no snapshot and begins at #0", session)
	}
	h := &v.Headers[target]
	return fmt.Sprintf("StreamBidi with WithSessionID(%q) loads the state of #%d (%s) and goes on at turn %d with #%d; WithSnapshotID(%q) names it by itself",
		session, h.Index, Short(h.ID), h.TurnIndex, h.Index+1, h.ID)
}

func (v *Visits) hazards(target int, c Circumstances) []string {
	var out []string
	if c.Mismatch {
		out = append(out, "the snapshot's id is not the hash of its state: the state may have been changed after it was saved")
	}
	if _, whole := v.Path(target); !whole {
		out = append(out, "the lineage of the snapshot is broken: a parent is missing or runs in a circle")
	}
	return out
}

// SamePlan reports whether two plans would do the same to the same session.
func SamePlan(a, b model.Plan) bool {
	return a.Op == b.Op && a.Session == b.Session && a.NewSession == b.NewSession && a.Entry == b.Entry &&
		a.Target == b.Target && a.ExpectedHead == b.ExpectedHead &&
		slices.Equal(a.Orphans, b.Orphans) && slices.Equal(a.Reactivates, b.Reactivates)
}

// Short gives the first characters of an id, enough for people to tell
// snapshots apart.
func Short(id string) string {
	const enough = 8
	if len(id) <= enough {
		return id
	}
	return strings.ToValidUTF8(id[:enough], "")
}

// Count words a number of visits: "1 visit", "3 visits".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func holders(sessions []string) string {
	if len(sessions) == 1 {
		return fmt.Sprintf("session %q holds", sessions[0])
	}
	return fmt.Sprintf("%d other sessions hold", len(sessions))
}
