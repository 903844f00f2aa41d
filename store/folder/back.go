package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/journal"
)

// errWentOn: what a plan was to take back was built upon.
var errWentOn = fmt.Errorf("the agent went on from it: %w", model.ErrHeadMoved)

// Reversal is what a journal would take back, or do again.
type Reversal struct {
	Entry   *journal.Entry
	storage *Storage
	plan    model.Plan
	// refused is why it cannot be.
	refused error
}

// Reversal returns what the journal of a storage would take back or do again, nil for
// nothing.
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
	over, steps := in, Back(r.Entry, plan.Op)
	kept, failed := s.strictly()
	over.Tree, over.There = Overlay(view, steps, kept), true
	if busy := s.busy(before); busy != "" {
		plan.Asks = append(plan.Asks, busy)
	}
	after, err := lead(ctx, at.Format, &plan, nil, before, func(ctx context.Context) (*Log, error) {
		return writes.Log(ctx, over, at)
	})
	if changed := view.Changed(); changed != nil {
		err = &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	if err = cmp.Or(failed(), err); err != nil {
		return model.Plan{}, err
	}
	if err := r.loses(plan.Op, before, after); err != nil {
		return model.Plan{}, err
	}
	plan.Target = after.HeadPoint()
	plan.Carry = &carry{storage: s, session: plan.Session, journal: plan.Carry, steps: steps, before: before, after: after, told: writes.Told(at.Session)}
	plan.Session = s.id(at)
	return plan, nil
}

// loses reports what an undo or a redo would take from the agent: a row that stays loses
// its parent, or the session would not be where the entry had put it, because it got
// other rows since.
func (r *Reversal) loses(op model.Op, before, after *Log) error {
	if op == model.OpRedo {
		isNew := r.Entry.Op.MakesSession() && before.There() > 0
		if head := after.HeadPoint().ID; isNew || r.Entry.Head != "" && head != r.Entry.Head {
			return fmt.Errorf("session %q got other rows since write %d was undone: plan it anew instead; %w", r.Entry.Session, r.Entry.ID, errWentOn)
		}
		return nil
	}
	goes, then := map[string]bool{}, after.finder()
	for i := range before.Rows {
		if id := before.Rows[i].ID; before.Aside[id] == nil {
			k := then(before, i)
			goes[id] = k < 0 || after.Aside[id] != nil
		}
	}
	for i := range before.Rows {
		h := &before.Rows[i]
		if !goes[h.ParentID] || goes[h.ID] || before.Aside[h.ID] != nil {
			continue
		}
		// One that was there before the write gets its old parent back, where that follows
		// from what is there.
		if k := then(before, i); after.Rows[k].ParentID == h.ParentID || before.HeadPoint().ID != r.Entry.Head {
			return fmt.Errorf("row %s of write %d has the child #%d: restore the row that is wanted instead; %w",
				model.ShortID(h.ParentID, 8), r.Entry.ID, h.Index, errWentOn)
		}
	}
	return nil
}
