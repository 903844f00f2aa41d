package native

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/recording"
)

// New sessions other than forks: one with an edited state, and one that is taken
// over from another store.

// edited is the payload of an edit's plan: the new state.
type edited []byte

// planEdit plans an edited fork. It accepts any state that is JSON. It returns the errors of planFork,
// store.ErrNotJSON and store.ErrNotEdited.
func (s *Store) planEdit(ctx context.Context, t *tx, ref model.Ref, as string, state edited) (model.Plan, error) {
	if err := store.CheckState(state); err != nil {
		return model.Plan{}, err
	}
	visits, circumstances, err := s.surveySession(ctx, t, ref, nil)
	if err != nil {
		return model.Plan{}, err
	}
	if err := requireNoSession(ctx, t, as); err != nil {
		return model.Plan{}, err
	}
	circumstances.Conversation = inspect.ConversationHazards(s.kind, "", state)
	plan, err := visits.PlanEdit(ref, as, model.SnapshotID(state), circumstances)
	plan.Carry = state
	return plan, err
}

// applyEdit makes the session of an edit. The entry keeps the state, so that it can be
// made again after an undo.
func (s *Store) applyEdit(ctx context.Context, t *tx, plan model.Plan, state edited) (entry, error) {
	e := entry{revision: 1}
	e.At, e.Op, e.Session, e.Target = s.clock(), plan.Op, plan.NewSession, plan.Ref(plan.Target)
	e.To, e.ToIndex = model.SnapshotID(state), plan.Target.Index
	key, err := s.copyEdited(ctx, t, e, state)
	if err != nil {
		return e, err
	}
	e.before.record = sql.Null[int64]{V: key, Valid: true}
	return e, e.insertEntry(ctx, t)
}

// copyEdited makes the session of an edit with the way from the root to the
// target, which has another state there, and returns the key of that state.
func (s *Store) copyEdited(ctx context.Context, t *tx, e entry, state edited) (int64, error) {
	source, visits, path, err := s.pathTo(ctx, t, e)
	if err != nil {
		return 0, err
	}
	last := len(path) - 1
	ss, err := copyVisits(ctx, t, e.Session, source, visits, path[:last])
	if err != nil {
		return 0, err
	}
	h := visits.Headers[path[last]]
	h.ID, h.SessionID, h.CreatedAt, h.Title = e.To, e.Session, e.At, fmt.Sprintf("#%d, edited", h.Index)
	h.Visit, h.ParentVisit = int64(last+1), int64(last)
	h.Orphaned, h.Reason, h.Marks = false, nil, 0
	if _, err := s.addVisit(ctx, t, ss, h, s.states.contentOf(state), sql.Null[int64]{}); err != nil {
		return 0, err
	}
	if err := settleHead(ctx, t, ss, e, h.Visit); err != nil {
		return 0, err
	}
	return stateKey(ctx, t, ss, h.Ref())
}

// PlanConvert is that of store.Features: rows are taken over as they are. The
// error is store.ErrSessionExists where the store has a session of the new name.
func (s *Store) PlanConvert(ctx context.Context, from store.Store, session, as string) (model.Plan, error) {
	err := s.withReadTx(ctx, func(t *tx) error { return requireNoSession(ctx, t, as) })
	var plan model.Plan
	if err == nil {
		plan, err = recording.PlanTakeover(ctx, from, session, as)
	}
	if err != nil {
		return plan, fmt.Errorf("%s: plan to take over session %q as %q: %w", s.kind, session, as, err)
	}
	return plan, nil
}

// PlanContinue is that of store.Features. The error is store.ErrSessionExists where the store has a session of the new name.
func (s *Store) PlanContinue(ctx context.Context, from *handover.Source, as string) (model.Plan, error) {
	plan, err := recording.PlanContinue(from, s.kind, as, s.clock())
	if err == nil {
		err = s.withReadTx(ctx, func(t *tx) error { return requireNoSession(ctx, t, plan.NewSession) })
	}
	if err != nil {
		return model.Plan{}, fmt.Errorf("%s: continue session %q: %w", s.kind, from.Session, err)
	}
	return plan, nil
}

// takeOver makes the session of a takeover.
func (s *Store) takeOver(ctx context.Context, t *tx, plan model.Plan, carry *recording.Takeover) (e entry, err error) {
	if err := requireNoSession(ctx, t, plan.NewSession); err != nil {
		return e, err
	}
	p := importing{store: s, tx: t}
	if _, err := p.importRows(ctx, carry.Rows(ctx, plan)); err != nil {
		return e, err
	}
	ss, err := findSession(ctx, t, plan.NewSession)
	if err != nil {
		return e, err
	}
	e.At, e.Op, e.Session, e.To, e.ToIndex = s.clock(), plan.Op, plan.NewSession, plan.Target.ID, plan.Target.Index
	if plan.Op == model.OpContinue { // the target is a snapshot of another store
		if err := t.Row(ctx, "SELECT id, idx FROM visits WHERE session = ? AND visit = ?", ss.key, ss.head.V).Scan(&e.To, &e.ToIndex); err != nil {
			return e, err
		}
	}
	e.Target.Session, e.Target.Visit, e.revision = plan.NewSession, ss.head.V, ss.revision
	return e, e.insertEntry(ctx, t)
}

// dropSession takes away a session that came from elsewhere, with its states, as
// far as nothing else here refers to them.
func (s *Store) dropSession(ctx context.Context, t *tx, ss session, row int64) error {
	return s.dropStates(ctx, t, ss, 0, func() error { return s.removeFork(ctx, t, ss, row) })
}

// dropStates removes something of a session and then the states of its record and of its
// visits behind one, to which nothing refers any more.
func (s *Store) dropStates(ctx context.Context, t *tx, ss session, visit int64, remove func() error) error {
	keys, err := queryNumbers(ctx, t, "SELECT DISTINCT state FROM visits WHERE session = ? AND visit > ?", ss.key, visit)
	if err != nil {
		return err
	}
	if ss.record.Valid {
		keys = append(keys, ss.record.V)
	}
	if err := remove(); err != nil {
		return err
	}
	slices.Sort(keys) // two that drop the same states do so in one order
	for _, key := range keys {
		if err := s.states.dropState(ctx, t, key); err != nil {
			return err
		}
	}
	return nil
}

// forgetEntry notes that a row of the journal is undone and cannot be done again, because
// what it made came from elsewhere. Nor can what was undone before it, which followed it.
func forgetEntry(ctx context.Context, t *tx, row int64) error {
	err := t.Exec(ctx, "UPDATE journal SET undone = 2 WHERE entry = ? OR undone = 1", row)
	return err
}
