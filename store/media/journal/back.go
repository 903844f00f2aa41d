package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"hindcast/model"
)

// back is the Carry of a plan of an undo or a redo: the write as it will be done.
type back struct {
	Entry
	of      int64
	changes []Change
}

// PlanUndo plans to take back the newest entry that is not undone. Purges are
// passed over, and so are writes left broken off. Everything that the entry wrote
// must be as it left it: the error is a ConflictError where another program wrote since, a
// PurgedError where a content is no longer kept, and a model.NothingToError. What
// the session loads then is for the kind to say.
func (j *Journal) PlanUndo(ctx context.Context) (model.Plan, error) {
	return j.planBack(ctx, model.OpUndo)
}

// PlanRedo plans to do again what was undone first after the last write, with the
// errors of PlanUndo.
func (j *Journal) PlanRedo(ctx context.Context) (model.Plan, error) {
	return j.planBack(ctx, model.OpRedo)
}

func (j *Journal) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	h, err := j.readHistory()
	if err != nil {
		return model.Plan{}, explainOutcome(err, unread)
	}
	if err := ctx.Err(); err != nil {
		return model.Plan{}, err
	}
	e := h.nextReversal(op)
	if e == nil {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	b := &back{Entry: *e, of: e.ID, changes: e.Changes()}
	b.Undone, b.Op, b.Guards = false, op, lastingGuards(e, b.changes)
	from, to := model.Point{ID: e.From, Index: e.FromIndex}, model.Point{ID: e.To, Index: e.ToIndex}
	plan := model.Plan{Op: op, Session: e.Session, Entry: e.ID, Carry: b, Target: from, Head: to}
	if op == model.OpRedo {
		plan.Target, plan.Head = to, from
	} else {
		b.changes = reverseChanges(b.changes)
	}
	if err := j.checkPossible(b, h); err != nil {
		return model.Plan{}, explainOutcome(fmt.Errorf("%s write %d, a %s of %s: %w", op, e.ID, e.Op, e.Session, err), unchanged)
	}
	plan.Files = planFiles(b.changes)
	plan.Removes = op == model.OpUndo && e.NewSession != ""
	plan.Writes = append(plan.Writes, fmt.Sprintf("journal: entry %d", e.ID))
	return plan, nil
}

// lastingGuards returns the guards of an entry that must still hold when it is taken back:
// those in folders in which its changes are. That a fork's origin went on does
// not matter to the fork.
func lastingGuards(e *Entry, changes []Change) []Guard {
	dirs := map[string]bool{}
	for _, c := range changes {
		dirs[path.Dir(c.Path)] = true
	}
	var list []Guard
	for _, g := range e.Guards {
		dir := g.Path
		if !g.Version.Folder {
			if e.NewSession != "" {
				continue
			}
			dir = path.Dir(dir)
		}
		if dirs[dir] {
			list = append(list, g)
		}
	}
	return list
}

// checkPossible checks that everything is as it must be, and that all contents are kept.
func (j *Journal) checkPossible(b *back, h *history) error {
	w := j.newWrite(&intent{Entry: b.Entry, Changes: b.changes, of: b.of}, h)
	err := w.checkExpected()
	if conflict := (*ConflictError)(nil); errors.As(err, &conflict) {
		conflict.Do = "restore the set-aside branch instead"
		if b.Op == model.OpRedo {
			conflict.Do = "restore to the same snapshot again instead"
		}
	}
	if err != nil {
		return err
	}
	for _, c := range b.changes {
		if !c.After.file() {
			continue
		}
		_, err := j.disk.Lstat(c.After.keptPath())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &PurgedError{Path: c.Path, By: h.forgotBy(c.After)}
		case err != nil:
			return err
		}
	}
	return nil
}
