package folder

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Staged is the input of a plan.
type Staged struct {
	In      In
	storage *Storage
	view    *tree.View
	failed  []func() error
}

// Suppose runs what on a stage. Where what was read changed meanwhile, the error says so.
func (s *Storage) Suppose(ctx context.Context, what func(*Staged) error) error {
	if err := s.Ready(); errors.Is(err, ErrLink) {
		return &model.UnsupportedError{Op: model.OpRestore, Reason: err.Error()}
	}
	in, view := s.planning()
	if s.brokenOff(ctx) {
		s.Recover(ctx) // what stood in the way may be gone
	}
	if trouble := s.Broken(); trouble != nil {
		return trouble
	}
	in.Writes = s.Writes(ctx)
	on := &Staged{In: in, storage: s, view: view}
	err := what(on)
	if changed := view.FindChange(); changed != nil {
		return &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	for _, failed := range on.failed {
		if why := failed(); why != nil {
			return why
		}
	}
	// What is found while a program writes can be anything, and is not told as if it were so.
	if err == nil || ctx.Err() != nil || errors.Is(err, model.ErrHeadMoved) || errors.Is(err, model.ErrNoSession) || errors.Is(err, store.ErrSessionExists) {
		return err
	}
	if moved := view.FindMoved(); moved != "" {
		return &journal.ConflictError{Path: moved, Found: "was changed"}
	}
	return err
}

// Lay returns the tree after steps.
func (on *Staged) Lay(at Place, steps tree.Steps) (In, error) {
	if err := at.refusal(); err != nil {
		return In{}, err
	}
	kept, failed := on.storage.strictly()
	over := on.In
	over.Tree, over.There = tree.Overlay(on.In.Tree, steps, kept), true
	over.Told = on.In.Writes.Told(at.Session)
	on.failed = append(on.failed, failed)
	return over, nil
}

// refusal returns why nothing is written to a session, nil if it can be.
func (p *Place) refusal() error {
	if utf8.ValidString(p.Session) {
		return nil
	}
	return &model.UnsupportedError{Op: model.OpRestore, Reason: "the name of the session or of its agent is no UTF-8, and what is written is put down by name: rename its folder"}
}

// Busy asks whether an agent is at work on a session. The error is why nothing is written to it.
func (s *Storage) Busy(log *Log) (string, error) { return s.busy(log), log.Place.refusal() }

// Drafted is the data that Commit needs.
type Drafted struct {
	journal       any
	session, made string
	steps         tree.Steps
}

// Draft adds to a plan the data that Commit needs.
func (on *Staged) Draft(ctx context.Context, plan *model.Plan, m *Move, before, after *Log) error {
	w := &planned{plan: *plan, move: m, before: before, after: after, told: on.In.Writes.Told(before.Place.Session)}
	drafted, err := on.storage.carried(ctx, w)
	if err != nil {
		return err
	}
	c := drafted.Carry.(*carry)
	*plan = drafted
	plan.Carry = &Drafted{c.journal, drafted.Session, before.Place.Session, c.steps}
	return nil
}

// Reverse returns the plan of an undo or a redo as far as the journal knows it, nil for nothing.
func (on *Staged) Reverse(ctx context.Context, op model.Op) (r *Reversal, steps tree.Steps, err error) {
	if r, err = on.storage.Reversal(ctx, op); err != nil || r == nil {
		return nil, nil, err
	}
	if r.refused != nil {
		return nil, nil, fmt.Errorf("the agent went on from it: restore the row that is wanted instead: %w", r.refused)
	}
	return r, tree.Back(r.Entry, op), nil
}

// Begins returns the plan that the journal made of it.
func (r *Reversal) Begins() model.Plan { return r.plan }

// DraftReversal is Draft of an undo or a redo, whose plan the journal made.
func (r *Reversal) Draft(plan *model.Plan, steps tree.Steps, session string) {
	plan.Carry = &Drafted{r.plan.Carry, session, "", steps}
}

// Place returns where the session of a name is.
func (s *Storage) Place(session string) Place { return s.place(session) }

// Commit carries out a plan: it compares by was, writes, and verifies by is.
func (s *Storage) Commit(ctx context.Context, plan model.Plan, was, is func(context.Context, In) error) (model.Receipt, error) {
	d, ok := plan.Carry.(*Drafted)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	if err := s.Ready(); err != nil {
		return model.Receipt{}, err
	}
	tree.Fresh(s.tree)
	in := s.In()
	in.There = true
	told := s.readTold(ctx) // as it is before the write
	in.Writes = Writes{func() map[string]*Told { return told }}
	if err := was(ctx, in); err != nil {
		return model.Receipt{}, err
	}
	j, err := s.Journal()
	if err != nil {
		return model.Receipt{}, err
	}
	if plan.NewSession != "" {
		plan.NewSession = d.made
	}
	plan.Carry, plan.Session = d.journal, d.session
	return j.Apply(ctx, plan, func(ctx context.Context) error {
		tree.Fresh(s.tree)
		in.Tree = tree.Proven(in.Tree, d.steps)
		return is(ctx, in)
	})
}
