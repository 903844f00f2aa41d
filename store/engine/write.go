package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Lacks returns why an operation cannot be done, "" if it can. What was written can be taken back in every kind.
func (s *Store) Lacks(op model.Op) string {
	why := s.medium.Lacks()
	if written := (op == model.OpUndo || op == model.OpRedo) && !s.medium.Silent(); why == "" && !written {
		why = s.format.Lacks(op)
	}
	return why
}

// carry holds what Apply needs of a plan.
type carry struct {
	w      Write // no field of it is written as JSON: a plan may be
	at     Place
	after  *session // as the plan read it
	medium any      // what the medium needs
}

// Plan computes what a change would do, see [store.Features]. It takes no lock, and nothing of it is written
// anywhere.
func (s *Store) Plan(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	err = c.Ref.CheckNoVisit()
	if why := s.Lacks(c.Op); err == nil && (why != "" || c.Op == model.OpConvert) {
		err = &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if err == nil {
		err = s.medium.Suppose(ctx, func(on Stage) error {
			if c.Op == model.OpUndo || c.Op == model.OpRedo {
				plan, err = s.planReversal(ctx, on, c)
			} else {
				plan, err = s.planMove(ctx, on, c)
			}
			return err
		})
	}
	if err != nil {
		return model.Plan{}, store.NotPlanned(s.format.Name, c, err)
	}
	return plan, nil
}

// lookAt looks at a session beside the cached one, which may be nil. Tables are never the same: they do not tell
// which steps are laid over them, as a tree does.
func (s *Store) lookAt(ctx context.Context, in In, at Place, was *session) (Look, error) {
	if in.Tree == nil {
		return Look{In: in, Mark: func(string) (any, error) { return nil, nil }}, nil
	}
	return s.medium.Look(ctx, in, at, was.markAt(in.Now), "")
}

// readBareLog returns the log of a session as the format reads it, without the journal. For a missing session the log
// has no rows. was is the cached session; it may be nil.
func (s *Store) readBareLog(ctx context.Context, in In, at Place, was *session) (log *Log, err error) {
	look, err := s.lookAt(ctx, in, at, was)
	if err == nil && look.Since == Same {
		return was.raw, ctx.Err()
	}
	if err == nil {
		log, err = s.format.Read(ctx, in, at, "") // to note what is looked at costs half as much again
	}
	return orEmpty(log, at, err)
}

// orEmpty returns a log without rows in place of model.ErrNoSession.
func orEmpty(log *Log, at Place, err error) (*Log, error) {
	if errors.Is(err, model.ErrNoSession) {
		return &Log{Place: at, Head: -1}, nil
	}
	return log, err
}

// readLog is like readBareLog, and completes the log from the journal. Only the plan caches it.
func (s *Store) readLog(ctx context.Context, in In, at Place) (*session, error) {
	was := s.cache.get(at)
	look, err := s.lookAt(ctx, in, at, was)
	if err != nil {
		return nil, err
	}
	var raw *Log
	var mark any
	if look.Since == Same {
		raw, mark, err = was.raw, was.mark, ctx.Err()
	} else {
		raw, mark, err = s.readWhole(ctx, look, at)
	}
	if raw, err = orEmpty(raw, at, err); err != nil {
		return nil, err
	}
	log, err := s.completeLog(ctx, in, at, raw, false)
	if err != nil {
		return nil, err
	}
	return newSession(log, raw, mark), nil
}

func (s *Store) planMove(ctx context.Context, on Stage, c model.Change) (plan model.Plan, err error) {
	var at Place
	var before *session
	in := on.In()
	err = s.withPlace(ctx, in, c.Ref.Session, func(in In, found Place) error {
		at = found
		before, err = s.readLog(ctx, in, at)
		switch {
		case err != nil:
			return err
		case len(before.Rows) == 0 && !before.Empty:
			return model.ErrNoSession
		case before.Err != nil && c.Op != model.OpRepair:
			return before.Err
		case c.Op != model.OpRepair && c.Op != model.OpPurge && !(c.Join && s.format.Joins) && before.At(c.Ref.ID) < 0:
			return model.ErrNoSnapshot
		}
		return nil
	})
	if err == nil {
		before.Busy, err = on.Busy(ctx, before.Log)
	}
	if err != nil {
		return plan, err
	}
	if c.Gone { // no agent writes to it
		before.Busy = ""
	}
	m, err := s.format.Move(ctx, in, before.Log, c)
	if err != nil {
		return plan, err
	}
	m.Scope = c.Scope
	plan = model.Plan{Op: c.Op, Session: at.Session, Branch: m.Branch, Target: m.Target, Carries: m.Carries, Writes: m.Writes, Hazards: m.Hazards, Asks: m.Asks}
	if m.New != nil {
		at, plan.NewSession = *m.New, m.New.SessionName()
		if err := s.checkVacant(ctx, in, at); err != nil {
			return plan, err
		}
	} else if before.Busy != "" && !m.Idle() {
		plan.Asks = append([]string{before.Busy}, m.Asks...)
	}
	w := &Write{Move: m, Before: before.Log, After: before.Log}
	if m.Forget != nil { // the session stays as it is
		plan.Head = before.HeadPoint()
		return s.draftPlan(ctx, on, plan, at, before, w)
	}
	return s.completePlan(ctx, on, plan, at, before.Log, w)
}

// checkVacant returns store.ErrSessionExists where a session is at a place.
func (s *Store) checkVacant(ctx context.Context, in In, at Place) error {
	was, err := s.readLog(ctx, in, at)
	if err == nil && len(was.Rows) > 0 {
		err = store.ErrSessionExists
	}
	return err
}

// PlanNew computes the plan of an operation that makes a session from outside the store: move makes its files. It writes nothing, and returns the errors of Plan and of move.
func (s *Store) PlanNew(ctx context.Context, op model.Op, move func(In) (*Move, error)) (plan model.Plan, err error) {
	if why := s.Lacks(op); why != "" {
		return plan, &model.UnsupportedError{Op: op, Reason: why}
	}
	err = s.medium.Suppose(ctx, func(on Stage) error {
		m, err := move(on.In())
		if err != nil {
			return err
		}
		at := *m.New
		if err := s.checkVacant(ctx, on.In(), at); err != nil {
			return err
		}
		plan = model.Plan{Op: op, Session: at.SessionName(), NewSession: at.SessionName(), Others: m.Others, Target: m.Target, Carries: m.Carries, Writes: m.Writes, Hazards: m.Hazards}
		before := &Log{Place: at, Head: -1}
		plan, err = s.completePlan(ctx, on, plan, at, before, &Write{Move: m, Before: before, After: before})
		return err
	})
	return plan, err
}

// planConvert implements PlanConvert of [store.Features].
func (s *Store) planConvert(ctx context.Context, from store.Store, session, as string) (model.Plan, error) {
	plan, err := s.PlanNew(ctx, model.OpConvert, func(in In) (*Move, error) { return s.format.Take(ctx, in, from, session, as) })
	plan.Session = cmp.Or(session, plan.Session)
	return plan, s.Wrap(err, "convert %q", cmp.Or(session, from.Address()))
}

// planGiveBack computes the plan that writes files of a session. The medium reads them already as if they were there, so that the
// session is after the write as it is read before.
func (s *Store) planGiveBack(ctx context.Context, session string, list []store.GivenFile) (plan model.Plan, err error) {
	if why := s.medium.Lacks(); why != "" {
		return plan, &model.UnsupportedError{Op: model.OpGiveBack, Reason: why}
	}
	var steps tree.Steps
	for _, f := range list {
		steps = append(steps, tree.Step{Name: f.Name, Data: f.Data, Mode: f.Mode})
	}
	err = s.medium.Suppose(ctx, func(on Stage) error {
		return s.withPlace(ctx, on.In(), session, func(in In, at Place) error {
			is, err := s.readLog(ctx, in, at)
			if err != nil {
				return err
			}
			plan = model.Plan{Op: model.OpGiveBack, Session: at.Session, NewSession: at.SessionName(), Target: is.HeadPoint()}
			w := &Write{Move: &Move{Steps: steps}, Before: is.Log, After: is.Log}
			plan, err = s.draftPlan(ctx, on, plan, at, is, w)
			return err
		})
	})
	return plan, s.Wrap(err, "give back session %q", session)
}

// completePlan completes a plan with the effects of its steps.
func (s *Store) completePlan(ctx context.Context, on Stage, plan model.Plan, at Place, before *Log, w *Write) (model.Plan, error) {
	over, err := on.Lay(ctx, at, w.Move)
	if err != nil {
		return plan, err
	}
	if w.Before = before; plan.NewSession != "" {
		w.Before = &Log{Place: at, Head: -1}
	}
	after, err := s.readLog(ctx, over, at)
	if err != nil {
		return plan, err
	}
	w.After = after.Log
	planning.Lead(&plan, before.PlanningLog(), w.After.PlanningLog())
	moved := w.Move
	if w.Reversal != nil {
		moved = nil
	}
	next, err := s.format.Next(ctx, over, before, w.After, moved)
	if err != nil {
		return plan, err
	}
	if i := w.After.Head; i >= 0 && !s.format.Warns {
		state, err := s.format.State(ctx, over, &Row{at, w.After.Rows[i].ID, 0, func() (*Log, int, error) { return w.After, i, nil }})
		if ctx.Err() != nil {
			return plan, ctx.Err()
		}
		if err == nil { // the state itself says why it cannot be read
			next.Hazards = append(next.Hazards, s.messageHazards(state)...)
		}
	}
	next.Tell(&plan)
	if w.Move.Carry != nil {
		plan.Carry, plan.Session = w.Move.Carry, before.Place.SessionName()
		return plan, nil
	}
	plan, err = s.draftPlan(ctx, on, plan, at, after, w)
	plan.Session = before.Place.SessionName()
	return plan, err
}

// draftPlan adds to a plan what Apply needs.
func (s *Store) draftPlan(ctx context.Context, on Stage, plan model.Plan, at Place, after *session, w *Write) (model.Plan, error) {
	c := &carry{w: *w, at: at, after: after}
	if err := on.Draft(ctx, &plan, &c.w); err != nil {
		return plan, err
	}
	c.medium, plan.Carry, plan.Session = plan.Carry, c, at.SessionName()
	return plan, nil
}

// planReversal plans an undo or a redo: the same, with the steps of an entry.
func (s *Store) planReversal(ctx context.Context, on Stage, c model.Change) (plan model.Plan, err error) {
	r, err := on.Reversal(ctx, c.Op)
	if err == nil && r == nil {
		err = &model.NothingToError{Op: c.Op}
	}
	if err != nil {
		return plan, err
	}
	before, err := s.readLog(ctx, on.In(), r.At)
	if err != nil {
		return plan, err
	}
	plan = r.Plan
	plan.Head = model.Point{}
	if len(before.Rows) > 0 {
		busy, err := on.Busy(ctx, before.Log)
		if err != nil {
			return plan, err
		}
		if busy != "" {
			plan.Asks = append(plan.Asks, busy)
		}
	}
	w := &Write{Move: r.Move, Reversal: r}
	if plan, err = s.completePlan(ctx, on, plan, r.At, before.Log, w); err != nil {
		return plan, addWayOut(err)
	}
	err = planning.Loses(c.Op, r.Entry, before.PlanningLog(), w.After.PlanningLog())
	if err == nil && r.Hangs != nil {
		err = r.Hangs(ctx, on.In())
	}
	if err != nil {
		return plan, err
	}
	if r.Plan.Target == (model.Point{}) || c.Op == model.OpUndo {
		plan.Target = w.After.HeadPoint()
	}
	return plan, nil
}

// addWayOut adds to an error the way out when a write cannot be undone.
func addWayOut(err error) error {
	if errors.Is(err, model.ErrHeadMoved) {
		return fmt.Errorf("the agent went on from it: restore the row that is wanted instead: %w", err)
	}
	return err
}

// Apply carries out a plan, see [store.Features].
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	receipt, err := s.applyPlan(ctx, plan)
	if err != nil {
		return model.Receipt{}, fmt.Errorf("%s: %s session %q: %w", s.format.Name, plan.Op, cmp.Or(plan.NewSession, plan.Session), err)
	}
	return receipt, nil
}

func (s *Store) applyPlan(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	c, ok := plan.Carry.(*carry)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	receipt := model.Receipt{Op: plan.Op, Session: cmp.Or(plan.NewSession, plan.Session), Head: c.w.After.HeadPoint(), Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if plan.Idle() && c.medium == nil {
		return receipt, nil
	}
	was := func(ctx context.Context, in In) error {
		now, err := s.readBareLog(ctx, in, c.at, s.cache.get(c.at))
		if err != nil {
			return err
		}
		return compareLogs(c.w.Before, now)
	}
	is := func(ctx context.Context, in In) error {
		now, err := s.readBareLog(ctx, in, c.at, c.after)
		if err != nil {
			return err
		}
		if err := compareLogs(c.w.After, now); err != nil {
			return err
		}
		if now, want := now.HeadPoint().ID, c.w.After.HeadPoint().ID; now != want {
			return fmt.Errorf("the row that is resumed is %q instead of %q", now, want)
		}
		if r := c.w.Reversal; r != nil && r.Hangs != nil {
			return r.Hangs(ctx, in)
		}
		return nil
	}
	plan.Carry = c.medium
	done, err := s.medium.Commit(ctx, plan, was, is)
	receipt.Entry = done.Entry
	return receipt, err
}

// compareLogs returns an error where a log is not as it should be.
func compareLogs(want, now *Log) error {
	place, found := planning.Expect(want.PlanningLog(), now.PlanningLog())
	if found == "" {
		return nil
	}
	if now.Files == nil && want.Files == nil { // an id is the place of a row
		place = "the row " + place
	}
	return &journal.ConflictError{Path: place, Found: found}
}

// Journal returns Hindcast's own writes, see [store.Features].
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	list, err := s.medium.Journal(ctx)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.format.Name, err)
	}
	return list, err
}
