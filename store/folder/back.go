package folder

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/journal"
)

// errWentOn: what a plan was to take back was built upon.
var errWentOn = fmt.Errorf("the agent went on from it: %w", model.ErrHeadMoved)

// Offer is what a journal would take back, or do again.
type Offer struct {
	Entry   *journal.Entry
	storage *Storage
	plan    model.Plan
	// refused is why it cannot be.
	refused error
}

// Offer returns what the journal of a storage would take back or do again, nil for
// nothing.
func (s *Storage) Offer(ctx context.Context, op model.Op) (*Offer, error) {
	entries, err := s.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	plan, e, err := s.PlanBack(ctx, op)
	switch {
	case errors.As(err, new(*model.NothingToError)):
		return nil, nil
	case errors.As(err, new(*journal.ConflictError)):
		return &Offer{storage: s, Entry: &entries[len(entries)-1], refused: err}, nil
	case err != nil:
		return nil, err
	}
	return &Offer{storage: s, Entry: e, plan: plan}, nil
}

// Plan plans an undo or a redo: the files get their very bytes back. The error is
// model.ErrHeadMoved where that would lose what the agent made since.
func (o *Offer) Plan(ctx context.Context) (model.Plan, error) {
	if o.refused != nil {
		return model.Plan{}, fmt.Errorf("the agent went on from it: restore the row that is wanted instead: %w", o.refused)
	}
	s, plan := o.storage, o.plan
	in, view := s.planning()
	writes := s.Writes(ctx)
	at := s.place(o.Entry.Session)
	before, err := writes.Log(ctx, in, at)
	if err != nil {
		return model.Plan{}, err
	}
	over := in
	over.Tree = Overlay(view, Back(o.Entry, plan.Op), s.Kept)
	plan.Asks = append(plan.Asks, s.live(before)...)
	after, err := lead(ctx, at.Format, &plan, nil, before, func(ctx context.Context) (*Log, error) {
		return writes.Log(ctx, over, at)
	})
	if err != nil {
		return model.Plan{}, err
	}
	if err := o.loses(plan.Op, before, after); err != nil {
		return model.Plan{}, err
	}
	plan.Target = after.HeadPoint()
	plan.Carry = &carry{storage: s, session: plan.Session, journal: plan.Carry, before: before, after: after, told: writes.Told(at.Session)}
	return plan, nil
}

// loses reports what an undo or a redo would take from the agent: a row that stays loses
// its parent, or the session would not be where the entry had put it, because it got
// other rows since.
func (o *Offer) loses(op model.Op, before, after *Log) error {
	if op == model.OpRedo {
		isNew := o.Entry.Op.MakesSession() && before.There() > 0
		if head := after.HeadPoint().ID; isNew || o.Entry.Head != "" && head != o.Entry.Head {
			return fmt.Errorf("session %q got other rows since write %d was undone: plan it anew instead; %w", o.Entry.Session, o.Entry.ID, errWentOn)
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
		if goes[h.ParentID] && !goes[h.ID] && before.Aside[h.ID] == nil {
			return fmt.Errorf("row %s of write %d has the child #%d: restore the row that is wanted instead; %w",
				model.ShortID(h.ParentID, 8), o.Entry.ID, h.Index, errWentOn)
		}
	}
	return nil
}
