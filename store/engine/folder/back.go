package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Reversal is the write that an undo or a redo of the journal would make.
type Reversal struct {
	Entry   *journal.Entry
	storage *Storage
	plan    model.Plan
	// refused is why it cannot be.
	refused error
}

// Reversal returns the next undo or redo of the storage's journal, nil if the journal is
// empty.
func (s *Storage) Reversal(ctx context.Context, op model.Op) (*Reversal, error) {
	entries, err := s.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	plan, e, err := s.planBack(ctx, op)
	switch {
	case errors.As(err, new(*model.NothingToError)):
		return nil, nil
	case errors.As(err, new(*journal.ConflictError)):
		return &Reversal{storage: s, Entry: &entries[len(entries)-1], refused: err}, nil
	case err != nil:
		return nil, err
	}
	return &Reversal{storage: s, Entry: e, plan: plan}, nil
}

// Plan plans an undo or a redo: the files get their very bytes back. The error is
// model.ErrHeadMoved where that would lose what the agent made since.
func (r *Reversal) Plan(ctx context.Context) (model.Plan, error) {
	if r.refused != nil {
		return model.Plan{}, fmt.Errorf("the agent went on from it: restore the row that is wanted instead: %w", r.refused)
	}
	s, plan := r.storage, r.plan
	plan.Head = model.Point{}
	in, view := s.planning()
	writes := s.Writes(ctx)
	at := s.place(r.Entry.Session)
	before, err := writes.Log(ctx, in, at)
	if err != nil {
		return model.Plan{}, err
	}
	over, steps := in, tree.Back(r.Entry, plan.Op)
	kept, failed := s.strictly()
	over.Tree, over.There = tree.Overlay(view, steps, kept), true
	if busy := s.busy(before); busy != "" {
		plan.Asks = append(plan.Asks, busy)
	}
	after, err := lead(ctx, at.Format, &plan, nil, before, func(ctx context.Context) (*Log, error) {
		return writes.Log(ctx, over, at)
	})
	plan.Resume = s.Calls(plan.Resume)
	if changed := view.FindChange(); changed != nil {
		err = &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	if err = cmp.Or(failed(), err); err != nil {
		return model.Plan{}, err
	}
	e := planning.Entry{ID: r.Entry.ID, Op: r.Entry.Op, Session: r.Entry.Session, Head: r.Entry.Head}
	if err := planning.Loses(plan.Op, e, before.Compared(), after.Compared()); err != nil {
		return model.Plan{}, err
	}
	plan.Target = after.HeadPoint()
	plan.Carry = &carry{storage: s, session: plan.Session, journal: plan.Carry, steps: steps, before: before, after: after, told: writes.Told(at.Session)}
	plan.Session = s.id(at)
	return plan, nil
}
