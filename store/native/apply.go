package native

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/recording"
)

// Lacks implements [store.Features].Lacks.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpConvert, model.OpContinue, model.OpUndo, model.OpRedo:
		return ""
	}
	return store.Cannot(s.Kind(), op)
}

// Plan implements [store.Features].Plan.
func (s *Store) Plan(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	c.State = bytes.Clone(c.State)
	err = s.withReadTx(ctx, func(t *tx) error {
		plan, err = s.planChange(ctx, t, c)
		return err
	})
	if err != nil {
		return model.Plan{}, store.NotPlanned(s.kind, c, err)
	}
	if !c.Op.MakesSession() {
		plan.Hazards = append(plan.Hazards, s.carrier.Hazards()...)
	}
	return plan, nil
}

func (s *Store) planChange(ctx context.Context, t *tx, c model.Change) (model.Plan, error) {
	switch c.Op {
	case model.OpRestore:
		return s.planRestore(ctx, t, c.Ref, nil)
	case model.OpFork:
		return s.planFork(ctx, t, c.Ref, c.As)
	case model.OpEdit:
		return s.planEdit(ctx, t, c.Ref, c.As, c.State)
	case model.OpUndo, model.OpRedo:
		e, err := nextReversal(ctx, t, c.Op)
		if err != nil {
			return model.Plan{}, err
		}
		return s.planEntry(ctx, t, c.Op, e, nil)
	}
	return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: store.Cannot(s.Kind(), c.Op)}
}

func (s *Store) planRestore(ctx context.Context, t *tx, ref model.Ref, before *seen) (model.Plan, error) {
	now, circumstances, err := s.surveySession(ctx, t, ref, before)
	if err != nil {
		return model.Plan{}, err
	}
	plan, err := now.PlanRestore(ref, circumstances)
	plan.Carry = now
	return plan, err
}

func (s *Store) planFork(ctx context.Context, t *tx, ref model.Ref, as string) (model.Plan, error) {
	visits, circumstances, err := s.surveySession(ctx, t, ref, nil)
	if err != nil {
		return model.Plan{}, err
	}
	if err := requireNoSession(ctx, t, as); err != nil {
		return model.Plan{}, err
	}
	return visits.PlanFork(ref, as, circumstances)
}

func requireNoSession(ctx context.Context, t *tx, id string) error {
	_, err := findSession(ctx, t, id)
	if err == nil {
		return store.ErrSessionExists
	}
	if errors.Is(err, model.ErrNoSession) {
		return nil
	}
	return err
}

// seen is a session as a plan saw it. A plan of a restore, an undo or a redo carries
// it, so that the write need not read a long session again that has not changed.
type seen struct {
	session
	*recording.Visits
	// era is the database that it was in, as Carrier.Era counts them.
	era int64
}

// readSeen returns a session with its visits: those that were seen before, if the session's
// counters say that nothing was written to it since. The error is model.ErrNoSession.
func (s *Store) readSeen(ctx context.Context, t *tx, id string, before *seen) (*seen, error) {
	now := &seen{era: s.carrier.Era()}
	var err error
	if now.session, err = findSession(ctx, t, id); err != nil {
		return nil, err
	}
	if before != nil && before.era == now.era && before.key == now.key && before.id == id && before.writes == now.writes && before.rewrites == now.rewrites {
		now.Visits = before.Visits
		return now, nil
	}
	now.Visits, err = loadVisits(ctx, t, now.session)
	return now, err
}

// surveySession reads the session of a plan, and what a person should know of it.
func (s *Store) surveySession(ctx context.Context, t *tx, ref model.Ref, before *seen) (*seen, recording.Circumstances, error) {
	var c recording.Circumstances
	now, err := s.readSeen(ctx, t, ref.Session, before)
	if err != nil {
		return nil, c, err
	}
	ss := now.session
	ids, err := holderIDs(ctx, t, ref.ID)
	if err != nil {
		return nil, c, err
	}
	for _, id := range ids {
		if id != ss.id {
			c.SharedWith = append(c.SharedWith, id)
		}
	}
	if c.WorkingState, err = workingState(ctx, t, ss); err != nil {
		return nil, c, err
	}
	state, err := s.stateOf(ctx, t, ss, ref)
	if err != nil {
		return nil, c, fmt.Errorf("%q: %w", ref.ID, err)
	}
	c.Mismatch, c.Conversation = store.IsMismatch(ref.ID, state), inspect.ConversationHazards(s.kind, "", state)
	return now, c, nil
}

// workingState reports whether the record of a session holds another state
// than its head.
func workingState(ctx context.Context, t *tx, ss session) (bool, error) {
	if !ss.record.Valid {
		return false, nil
	}
	var same bool
	err := t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM visits WHERE session = ? AND visit IS NOT DISTINCT FROM ? AND state = ?)", ss.key, ss.head, ss.record).Scan(&same)
	return !same, err
}

// entry is a row of the journal.
type entry struct {
	recording.Entry
	// before is the session's row before the entry, and revision its revision after it.
	reason int64
	// before is the session's row before the entry, revision that after it.
	before   session
	revision int64
	// rows are the rows of an import, this one first; see imported.go.
	rows []entry
}

const entryColumns = `entry, at, op, session, source, target, from_id, from_index, to_id, to_index, undone != 0,
	reason, before_head, before_state, before_turn, before_updated, before_revision, after_revision`

func scanEntry(row interface{ Scan(...any) error }) (e entry, err error) {
	var at any
	err = row.Scan(&e.ID, &at, &e.Op, &e.Session, &e.Target.Session, &e.Target.Visit, &e.From, &e.FromIndex, &e.To, &e.ToIndex, &e.Undone,
		&e.reason, &e.before.head, &e.before.record, &e.before.turn, &e.before.updated, &e.before.revision, &e.revision)
	if err != nil {
		return e, err
	}
	e.Target.ID, e.Head = e.To, e.before.head.V
	e.At, err = decodeTime(at)
	return e, err
}

// entriesFrom returns the entries from one on, the oldest first. first is SQL for the
// number of the one.
func entriesFrom(ctx context.Context, t *tx, first string) (list []entry, err error) {
	rows, err := t.Rows(ctx, "SELECT "+entryColumns+" FROM journal WHERE entry >= "+first+" ORDER BY entry")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, err
		}
		if n := len(list); n > 0 && e.goesOn() {
			list[n-1].Others = append(list[n-1].Others, e.Session)
			list[n-1].rows = append(list[n-1].rows, e)
			continue
		}
		if e.Op == model.OpImport {
			e.rows = []entry{e}
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// Journal implements [store.Features].Journal.
func (s *Store) Journal(ctx context.Context) (entries []model.JournalEntry, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		list, err := entriesFrom(ctx, t, "0")
		entries = make([]model.JournalEntry, 0, len(list))
		for _, e := range slices.Backward(list) {
			entries = append(entries, e.JournalEntry)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: read journal: %w", s.kind, err)
	}
	return entries, nil
}

// nextReversal returns the entry that an undo or a redo is about: the last that is
// not undone, or the first that is and was not followed by another write. The
// error is a model.NothingToError.
func nextReversal(ctx context.Context, t *tx, op model.Op) (entry, error) {
	first := "(SELECT max(entry) FROM journal WHERE undone = 0 AND " + beginsEntry + ")"
	if op == model.OpRedo {
		first = "(SELECT min(entry) FROM journal WHERE undone = 1)"
	}
	list, err := entriesFrom(ctx, t, first)
	if err != nil {
		return entry{}, err
	}
	if len(list) == 0 {
		return entry{}, &model.NothingToError{Op: op}
	}
	return list[0], nil
}

func (s *Store) planEntry(ctx context.Context, t *tx, op model.Op, e entry, before *seen) (model.Plan, error) {
	if e.Op == model.OpImport {
		return planUndoImport(ctx, t, e)
	}
	plan, err := s.planKnownEntry(ctx, t, op, e, before)
	if err != nil {
		return plan, fmt.Errorf("entry %d on session %q: %w", e.ID, e.Session, err)
	}
	return plan, nil
}

func (s *Store) planKnownEntry(ctx context.Context, t *tx, op model.Op, e entry, before *seen) (plan model.Plan, err error) {
	redoneFork := e.Op.MakesSession() && op == model.OpRedo
	from := e.Session
	if redoneFork {
		if err := requireNoSession(ctx, t, e.Session); err != nil {
			return model.Plan{}, err
		}
		from = e.Target.Session
	}
	now, err := s.readSeen(ctx, t, from, before)
	if err != nil {
		return model.Plan{}, err
	}
	want := e.revision
	if op == model.OpRedo {
		want = e.before.revision
	}
	if !redoneFork && now.revision != want {
		return model.Plan{}, fmt.Errorf("it was written to since: %w", model.ErrHeadMoved)
	}
	if op == model.OpRedo {
		if i := now.At(e.Target.Visit); e.Op == model.OpEdit && i >= 0 {
			e.Target.ID = now.Headers[i].ID // the entry has the id of the edited state
		}
		plan, err = now.PlanRedo(e.Entry)
	} else if err = e.readDetail(ctx, t, now.session); err == nil {
		plan = now.PlanUndo(e.Entry)
	}
	plan.Carry = now
	return plan, err
}

// readDetail reads which visits an entry moved.
func (e *entry) readDetail(ctx context.Context, t *tx, ss session) (err error) {
	if e.Orphaned, err = queryNumbers(ctx, t, "SELECT visit FROM visits WHERE session = ? AND reason = ?", ss.key, e.reason); err != nil {
		return err
	}
	e.Reactivated, err = queryNumbers(ctx, t, "SELECT visit FROM journal_visits WHERE entry = ?", e.ID)
	return err
}

func queryNumbers(ctx context.Context, t *tx, query string, args ...any) (all []int64, err error) {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var n int64
	into := []any{&n}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// Apply implements [store.Features].Apply. What it wrote is read back before it is
// kept; the error is then ErrReadBack if it is not as planned.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (receipt model.Receipt, err error) {
	err = s.withWriteTx(ctx, func(t *tx) error {
		if err = t.LockJournal(ctx); err == nil {
			receipt, err = s.applyPlan(ctx, t, plan)
		}
		return err
	})
	if err != nil {
		return model.Receipt{}, fmt.Errorf("%s: %s session %q: %w", s.kind, plan.Op, plan.Session, err)
	}
	return receipt, nil
}

// applyPlan computes the plan again and goes on only if it is the same: then the
// head, and all else that the plan said, is as it was.
func (s *Store) applyPlan(ctx context.Context, t *tx, plan model.Plan) (model.Receipt, error) {
	if carry, ok := plan.Carry.(*recording.Takeover); ok {
		e, err := s.takeOver(ctx, t, plan, carry)
		if err != nil {
			return model.Receipt{}, err
		}
		return s.verifyPlan(ctx, t, plan, e)
	}
	now, e, err := s.replan(ctx, t, plan)
	if err != nil {
		return model.Receipt{}, err
	}
	if !recording.SamePlan(now, plan) {
		return model.Receipt{}, model.ErrHeadMoved
	}
	switch {
	case plan.Op == model.OpRestore:
		e, err = s.applyRestore(ctx, t, now)
	case plan.Op == model.OpFork:
		e, err = s.applyFork(ctx, t, plan)
	case plan.Op == model.OpEdit:
		e, err = s.applyEdit(ctx, t, plan, plan.Carry.(edited))
	case plan.Op == model.OpUndo:
		err = s.applyUndo(ctx, t, e)
	default:
		err = s.applyRedo(ctx, t, now, e)
	}
	if err != nil {
		return model.Receipt{}, err
	}
	return s.verifyPlan(ctx, t, plan, e)
}

// replan computes a plan anew, and returns the entry that an undo or a redo is
// about.
func (s *Store) replan(ctx context.Context, t *tx, plan model.Plan) (now model.Plan, e entry, err error) {
	before, _ := plan.Carry.(*seen)
	switch plan.Op {
	case model.OpRestore:
		now, err = s.planRestore(ctx, t, plan.Ref(plan.Target), before)
		return now, e, err
	case model.OpFork:
		now, err = s.planFork(ctx, t, plan.Ref(plan.Target), plan.NewSession)
		return now, e, err
	case model.OpEdit:
		state, ok := plan.Carry.(edited)
		if !ok {
			return now, e, errForeignPlan
		}
		now, err = s.planEdit(ctx, t, plan.Ref(plan.Target), plan.NewSession, state)
		return now, e, err
	case model.OpUndo, model.OpRedo:
		e, err = nextReversal(ctx, t, plan.Op)
		if errors.As(err, new(*model.NothingToError)) || err == nil && e.ID != plan.Entry {
			err = model.ErrHeadMoved
		}
		if err != nil {
			return now, e, err
		}
		now, err = s.planEntry(ctx, t, plan.Op, e, before)
		return now, e, err
	}
	return now, e, errors.ErrUnsupported
}

func (s *Store) applyRestore(ctx context.Context, t *tx, plan model.Plan) (e entry, err error) {
	now := plan.Carry.(*seen)
	ss := now.session
	e = entry{before: ss, revision: ss.revision + 1}
	e.At, e.Op, e.Session, e.Target = s.clock(), plan.Op, plan.Session, plan.Ref(plan.Target)
	e.From, e.FromIndex, e.To, e.ToIndex = plan.Head.ID, plan.Head.Index, plan.Target.ID, plan.Target.Index
	e.reason, err = addReason(ctx, t, ss, e.restoreReason())
	if err != nil {
		return e, err
	}
	if err := e.insertEntry(ctx, t); err != nil {
		return e, err
	}
	return e, moveHead(ctx, t, now, e)
}

// restoreReason returns the reason that a restore notes on the visits that leave the path.
func (e *entry) restoreReason() model.Reason {
	return model.Reason{Kind: model.ReasonRestore, At: e.At, TargetID: e.To, TargetIndex: e.ToIndex}
}

// insertEntry adds an entry to the journal. What was undone before can then not be
// done again.
func (e *entry) insertEntry(ctx context.Context, t *tx) error {
	if err := t.Exec(ctx, "UPDATE journal SET undone = 2 WHERE undone = 1"); err != nil {
		return err
	}
	var err error
	e.ID, err = t.Insert(ctx, "entry", `INSERT INTO journal (at, op, session, source, target, from_id, from_index, to_id, to_index,
		reason, before_head, before_state, before_turn, before_updated, before_revision, after_revision)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.time(e.At), string(e.Op), e.Session, e.Target.Session, e.Target.Visit, e.From, e.FromIndex, e.To, e.ToIndex,
		e.reason, e.before.head, e.before.record, e.before.turn, e.before.updated, e.before.revision, e.revision)
	return err
}

// moveHead carries out an entry: rule 5 for the visits, then the session's row.
func moveHead(ctx context.Context, t *tx, now *seen, e entry) error {
	ss, visits := now.session, now.Visits
	target := visits.At(e.Target.Visit)
	if target < 0 {
		return model.ErrNoSnapshot
	}
	err := movePath(ctx, t, ss, visits, target, e.reason, func(visit int64) error {
		return t.Exec(ctx, "INSERT INTO journal_visits (entry, visit, reason) SELECT ?, visit, reason FROM visits WHERE session = ? AND visit = ?", e.ID, ss.key, visit)
	})
	if err != nil {
		return err
	}
	return settleHead(ctx, t, ss, e, e.Target.Visit)
}

// movePath makes the active path end at the visit at a position, by rule 5. The visits that leave get the reason.
// movePath calls before for each visit that comes back.
func movePath(ctx context.Context, t *tx, ss session, visits *recording.Visits, target int, reason int64, before func(visit int64) error) error {
	orphans, reactivates := visits.Restore(target)
	if err := orphanVisits(ctx, t, ss, visits, orphans, reason); err != nil {
		return err
	}
	for _, i := range reactivates {
		visit := visits.Headers[i].Visit
		if err := before(visit); err != nil {
			return err
		}
		if err := rejoinVisits(ctx, t, ss, "visit = ?2", visit); err != nil {
			return err
		}
	}
	return nil
}

// rejoinVisits makes the visits of a session that a condition selects active. The
// condition's argument is ?2.
func rejoinVisits(ctx context.Context, t *tx, ss session, where string, arg any) error {
	err := t.Exec(ctx, `UPDATE sessions SET rewrites = rewrites + 1,
		orphaned = orphaned - (SELECT count(*) FROM visits WHERE session = ?1 AND reason IS NOT NULL AND `+where+` AND `+t.Counted+`) WHERE session = ?1`, ss.key, arg)
	if err != nil {
		return err
	}
	err = t.Exec(ctx, "UPDATE visits SET reason = NULL WHERE session = ?1 AND "+where, ss.key, arg)
	return err
}

// settleHead makes a visit the head and its state the session's.
func settleHead(ctx context.Context, t *tx, ss session, e entry, visit int64) error {
	ss.head = sql.Null[int64]{V: visit, Valid: true}
	if err := t.Row(ctx, "SELECT state, turn FROM visits WHERE session = ? AND visit = ?", ss.key, visit).Scan(&ss.record, &ss.turn); err != nil {
		return err
	}
	ss.updated, ss.revision, ss.rewrote = t.time(e.At), e.revision, true
	return ss.writeRow(ctx, t)
}

func (s *Store) applyFork(ctx context.Context, t *tx, plan model.Plan) (entry, error) {
	e := entry{revision: 1}
	e.At, e.Op, e.Session, e.Target = s.clock(), plan.Op, plan.NewSession, plan.Ref(plan.Target)
	e.To, e.ToIndex = plan.Target.ID, plan.Target.Index
	if err := e.insertEntry(ctx, t); err != nil {
		return e, err
	}
	return e, s.copyPath(ctx, t, e)
}

// errForeignPlan: a plan does not carry what a plan of this store carries.
var errForeignPlan = errors.New("the plan was not made by this store")

// copyPath makes the session of a fork with the way from the root to the
// target.
func (s *Store) copyPath(ctx context.Context, t *tx, e entry) error {
	source, visits, path, err := s.pathTo(ctx, t, e)
	if err != nil {
		return err
	}
	ss, err := copyVisits(ctx, t, e.Session, source, visits, path)
	if err != nil {
		return err
	}
	return settleHead(ctx, t, ss, e, int64(len(path)))
}

// pathTo returns the session that holds an entry's target, and the way from the root to
// the target.
func (s *Store) pathTo(ctx context.Context, t *tx, e entry) (source session, visits *recording.Visits, path []int, err error) {
	if source, err = findSession(ctx, t, e.Target.Session); err != nil {
		return source, nil, nil, err
	}
	if visits, err = loadVisits(ctx, t, source); err != nil {
		return source, nil, nil, err
	}
	target := visits.At(e.Target.Visit)
	if target < 0 {
		return source, nil, nil, model.ErrNoSnapshot
	}
	path, _ = visits.Path(target)
	return source, visits, path, nil
}

// copyVisits makes a session with visits of another one, which are renumbered
// from 1 and each follow the one before. An alias stays with the visit that its program recorded.
func copyVisits(ctx context.Context, t *tx, id string, source session, visits *recording.Visits, path []int) (session, error) {
	ss, err := findOrMake(ctx, t, id)
	if err != nil {
		return ss, err
	}
	counted := 0
	for n, i := range path {
		if !visits.Headers[i].Marks.Has(model.MarkTraced) {
			counted++
		}
		visit := int64(n + 1)
		copied := visits.Headers[i]
		copied.Alias = ""
		more, err := extraOf(&copied)
		if err != nil {
			return ss, err
		}
		err = t.Exec(ctx, `INSERT INTO visits (session, visit, id, parent_visit, parent_id, idx, turn, event, at, state, size, extra)
			SELECT ?, ?, id, ?, CASE WHEN ? THEN parent_id ELSE ? END, idx, turn, event, at, state, size, CAST(? AS text) FROM visits WHERE session = ? AND visit = ?`,
			ss.key, visit, orNull(visit-1), n > 0, orNull(visits.Headers[i].ParentID), more, source.key, visits.Headers[i].Visit)
		if err != nil {
			return ss, err
		}
	}
	err = t.Exec(ctx, "UPDATE sessions SET visits = ? WHERE session = ?", counted, ss.key)
	return ss, err
}

func (s *Store) applyUndo(ctx context.Context, t *tx, e entry) error {
	if e.Op == model.OpImport {
		return s.undoImport(ctx, t, e)
	}
	ss, err := findSession(ctx, t, e.Session)
	if err != nil {
		return err
	}
	switch {
	case e.Op == model.OpConvert || e.Op == model.OpContinue:
		return errors.Join(s.dropSession(ctx, t, ss, e.ID), forgetEntry(ctx, t, e.ID))
	case e.Op.MakesSession():
		err = s.removeFork(ctx, t, ss, e.ID)
	default:
		err = s.putBack(ctx, t, ss, e)
	}
	if err != nil {
		return err
	}
	err = t.Exec(ctx, "UPDATE journal SET undone = 1 WHERE entry = ?", e.ID)
	return err
}

// putBack takes a restore back.
func (s *Store) putBack(ctx context.Context, t *tx, ss session, e entry) error {
	if err := rejoinVisits(ctx, t, ss, "reason = ?2", e.reason); err != nil {
		return err
	}
	err := t.Exec(ctx, `UPDATE visits SET reason = moved.reason FROM journal_visits AS moved
		WHERE moved.entry = ? AND visits.session = ? AND visits.visit = moved.visit`, e.ID, ss.key)
	if err != nil {
		return err
	}
	err = t.Exec(ctx, `UPDATE sessions SET orphaned = orphaned + (SELECT count(*) FROM journal_visits AS moved JOIN visits
		ON visits.session = ?2 AND visits.visit = moved.visit WHERE moved.entry = ?1 AND `+t.Counted+`) WHERE session = ?2`, e.ID, ss.key)
	if err != nil {
		return err
	}
	if err := t.Exec(ctx, "DELETE FROM journal_visits WHERE entry = ?", e.ID); err != nil {
		return err
	}
	e.before.key, e.before.rewrote = ss.key, true
	return e.before.writeRow(ctx, t)
}

// removeFork takes a fork or an edit back: its visits and record go, its states stay
// with the session that it was made from or with the entry, and so do its counters.
func (s *Store) removeFork(ctx context.Context, t *tx, ss session, row int64) error {
	if err := t.Exec(ctx, "UPDATE journal SET before_revision = ? WHERE entry = ?", max(ss.writes, ss.rewrites)+1, row); err != nil {
		return err
	}
	for _, table := range []string{"visits", "reasons", "sessions"} {
		if err := t.Exec(ctx, "DELETE FROM "+table+" WHERE session = ?", ss.key); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) applyRedo(ctx context.Context, t *tx, plan model.Plan, e entry) error {
	if err := t.Exec(ctx, "UPDATE journal SET undone = 0 WHERE entry = ?", e.ID); err != nil {
		return err
	}
	switch e.Op {
	case model.OpFork:
		return s.copyPath(ctx, t, e)
	case model.OpEdit:
		state, err := s.states.readState(ctx, t, e.before.record.V)
		if err == nil {
			_, err = s.copyEdited(ctx, t, e, state)
		}
		return err
	}
	now := plan.Carry.(*seen)
	// It is gone if the session was, together with the fork that made it.
	if err := keepReason(ctx, t, now.session, e.reason, e.restoreReason()); err != nil {
		return err
	}
	return moveHead(ctx, t, now, e)
}

// verifyPlan reads back what a plan has done, by the rule that says where the
// session would be resumed from.
func (s *Store) verifyPlan(ctx context.Context, t *tx, plan model.Plan, e entry) (model.Receipt, error) {
	r := model.Receipt{Entry: e.ID, Op: plan.Op, Session: plan.Session, Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if e.Op == model.OpImport {
		if err := checkImport(ctx, t, e); err != nil {
			return r, err
		}
		if !plan.Removes {
			r.Head = plan.Target
		}
		return r, nil
	}
	r.Session = e.Session
	ss, err := findSession(ctx, t, e.Session)
	if e.Op.MakesSession() && plan.Op == model.OpUndo {
		if !errors.Is(err, model.ErrNoSession) {
			return r, errors.Join(err, ErrReadBack)
		}
		return r, nil
	}
	if err != nil {
		return r, err
	}
	visits, err := loadVisits(ctx, t, ss)
	if err != nil {
		return r, err
	}
	state := ""
	if e.Op == model.OpEdit || e.Op == model.OpContinue {
		state = e.To
	}
	if err := visits.Verify(plan, state); err != nil {
		return r, fmt.Errorf("%w: %w", ErrReadBack, err)
	}
	if visits.Head >= 0 {
		r.Head = visits.Headers[visits.Head].Point()
	}
	if plan.Op == model.OpUndo || plan.Op == model.OpConvert { // a record may stand apart from its head
		return r, nil
	}
	if other, err := workingState(ctx, t, ss); err != nil || other {
		return r, errors.Join(err, ErrReadBack)
	}
	return r, nil
}
