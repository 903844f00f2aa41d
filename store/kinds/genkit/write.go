package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
)

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string { return lacks(op) }

func lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpRun, model.OpUndo, model.OpRedo:
		return ""
	case model.OpConvert:
		return "rows of Genkit hold messages of its own shape: no other kind is written as these"
	case model.OpPurge:
		return "Genkit redacts nothing: there is nothing that has to be forgotten"
	}
	return store.Cannot(kind, op)
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, store.NotPlanned(kind, c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	switch {
	case c.Op == model.OpUndo || c.Op == model.OpRedo:
		return s.planBack(ctx, c.Op)
	case lacks(c.Op) != "":
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: lacks(c.Op)}
	case isStep(c.Ref.ID):
		return model.Plan{}, s.refuseStep(ctx, c.Ref, c.Op)
	case c.Ref.Once() != nil:
		return model.Plan{}, c.Ref.Once()
	}
	if c.Op == model.OpEdit {
		if err := checkState(c.State); err != nil {
			return model.Plan{}, err
		}
	}
	st, at, err := s.where(ctx, c.Ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if c.Op == model.OpRun {
		return s.planRun(ctx, st, at, c)
	}
	as := ""
	if c.Op.MakesSession() {
		label := st.labelOf(at.Own.(spot).dir)
		sid, err := nameIn(label, c.As)
		if err != nil {
			return model.Plan{}, err
		}
		as = sessionName(label, sid)
		c.As = as
	}
	plan, err := st.Storage.Plan(ctx, at, c)
	if errors.Is(err, store.ErrSessionExists) {
		err = fmt.Errorf("%q: %w", as, err)
	}
	plan.Session, plan.NewSession = c.Ref.Session, as
	return st.shownPlan(plan), err
}

// refuseStep says why nothing can go on from a step of a trace.
func (s *Store) refuseStep(ctx context.Context, ref model.Ref, op model.Op) error {
	if _, _, err := s.step(ctx, ref); err != nil {
		return err
	}
	return &model.UnsupportedError{Op: op, Reason: "it is a step inside a turn, known from a trace: Genkit keeps one row for each turn, so take the row before the turn, or the one that it ended in"}
}

// shownPlan returns a plan with its files named from the store.
func (s *storage) shownPlan(plan model.Plan) model.Plan {
	for i := range plan.Files {
		plan.Files[i].Path = s.shown(plan.Files[i].Path)
	}
	return plan
}

// Apply implements store.Writer. A row of the session that came, or went, since
// the plan was made is a [journal.ConflictError], which is model.ErrHeadMoved.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (receipt model.Receipt, err error) {
	if t, ok := plan.Carry.(*turn); ok {
		receipt, err = s.run(ctx, plan, t)
	} else {
		receipt, err = folder.Apply(ctx, plan)
	}
	if err != nil {
		return model.Receipt{}, fmt.Errorf("genkit: %s session %q: %w", plan.Op, plan.Session, err)
	}
	return receipt, nil
}

// Journal implements store.Writer. Of several journals that the opened folder has, see
// base, the entries stand together in the order of their times, though each has numbers
// of its own.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	var list []model.JournalEntry
	var damaged error
	for _, st := range s.storages() {
		if !st.Begun() {
			continue
		}
		j, err := st.Journal()
		if err != nil {
			return nil, fmt.Errorf("genkit: open the journal of %q: %w", st.storage, err)
		}
		part, err := j.Journal(ctx)
		if err != nil {
			err = fmt.Errorf("genkit: read the journal of %q: %w", st.storage, err)
		}
		if part == nil && err != nil {
			return nil, err
		}
		damaged = errors.Join(damaged, err)
		for i := range part {
			part[i].Session = s.nameOf(ctx, st, part[i].Session)
		}
		list = append(list, part...)
	}
	slices.SortStableFunc(list, func(a, b model.JournalEntry) int { return b.At.Compare(a.At) })
	return list, damaged
}

// planBack plans an undo or a redo. Of several storages, the last write is undone first,
// and the first that was undone done again first.
func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	type reversal struct {
		*folder.Reversal
		of *storage
	}
	var list []reversal
	for _, st := range s.storages() {
		back, err := st.Reversal(ctx, op)
		if err != nil {
			return model.Plan{}, err
		}
		if back != nil {
			list = append(list, reversal{back, st})
		}
	}
	if len(list) == 0 {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	slices.SortStableFunc(list, func(a, b reversal) int {
		if op == model.OpRedo {
			return a.Entry.At.Compare(b.Entry.At)
		}
		return cmp.Or(b.Entry.At.Compare(a.Entry.At), cmp.Compare(b.Entry.ID, a.Entry.ID))
	})
	plan, err := list[0].Plan(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	plan.Session = s.nameOf(ctx, list[0].of, plan.Session)
	if plan.Target.ID == "" {
		plan.Loads = fmt.Sprintf("session %q is gone: %s", plan.Session, plan.Loads)
	}
	return list[0].of.shownPlan(plan), nil
}
