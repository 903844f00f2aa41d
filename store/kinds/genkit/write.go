package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/journal"
)

// Lacks returns why an operation cannot be done, "" if it can.
func (s *Store) Lacks(op model.Op) string { return s.listParts()[0].Lacks(op) }

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

// Plan computes what a change would do, see [store.Features].
func (s *Store) Plan(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	p := s.partOf(c.Ref.Session)
	switch {
	case c.Op == model.OpUndo || c.Op == model.OpRedo:
		p, err = s.lastWritten(ctx, c.Op)
	case isStep(c.Ref.ID):
		err = p.refuseStep(ctx, c)
	}
	if err != nil {
		return model.Plan{}, store.NotPlanned(kind, c, err)
	}
	if plan, err = p.Plan(ctx, c); err != nil {
		return model.Plan{}, err
	}
	if t, ok := plan.Carry.(*turn); ok {
		if err := p.planRun(ctx, &plan, t, c.Input); err != nil {
			return model.Plan{}, store.NotPlanned(kind, c, err)
		}
	}
	for i := range plan.Files {
		plan.Files[i].Path = p.shownName(plan.Files[i].Path)
	}
	return plan, nil
}

// refuseStep says why nothing can go on from a step of a trace.
func (p *part) refuseStep(ctx context.Context, c model.Change) error {
	if _, err := p.Facts(ctx, c.Ref); err != nil {
		return err
	}
	return &model.UnsupportedError{Op: c.Op, Reason: "it is a step inside a turn, known from a trace: Genkit keeps one row for each turn, so take the row before the turn, or the one that it ended in"}
}

// Apply carries out a plan, see [store.Features]. A row of the session that came, or went, since
// the plan was made is a [journal.ConflictError], which is model.ErrHeadMoved.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (receipt model.Receipt, err error) {
	p := s.partOf(cmp.Or(plan.NewSession, plan.Session))
	t, ok := plan.Carry.(*turn)
	if !ok {
		return p.Apply(ctx, plan)
	}
	if receipt, err = p.carryOutRun(ctx, plan, t); err != nil {
		return model.Receipt{}, fmt.Errorf("genkit: %s session %q: %w", plan.Op, plan.Session, err)
	}
	return receipt, nil
}

// Journal returns Hindcast's own writes, see [store.Features]. Of several journals that the opened folder
// has, see base, the entries stand together in the order of their times, though each has numbers of its own.
func (s *Store) Journal(ctx context.Context) (list []model.JournalEntry, damaged error) {
	for _, p := range s.listParts() {
		entries, err := p.Journal(ctx)
		if entries == nil && err != nil {
			return nil, err
		}
		list, damaged = append(list, entries...), errors.Join(damaged, err)
	}
	slices.SortStableFunc(list, func(a, b model.JournalEntry) int { return b.At.Compare(a.At) })
	return list, damaged
}

// lastWritten returns the part whose journal an undo or a redo is of: the last write is undone first, and
// the first that was undone is done again first.
func (s *Store) lastWritten(ctx context.Context, op model.Op) (last *part, err error) {
	parts := s.listParts()
	if len(parts) == 1 {
		return parts[0], nil
	}
	var newest *journal.Entry
	for _, p := range parts {
		back, err := p.files.Storage.FindReversal(ctx, op)
		if err != nil {
			return nil, err
		}
		if back == nil {
			continue
		}
		if newest != nil {
			order := cmp.Or(back.At.Compare(newest.At), cmp.Compare(back.ID, newest.ID))
			if order == 0 || (order > 0) == (op == model.OpRedo) {
				continue
			}
		}
		last, newest = p, back
	}
	if last == nil {
		return nil, &model.NothingToError{Op: op}
	}
	return last, nil
}
