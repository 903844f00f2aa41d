package fake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// entry is one of Hindcast's own writes: enough to take it back and to do it
// again.
type entry struct {
	model.JournalEntry
	// target is the visit that became the head, of the source for a fork.
	target model.Ref
	// edited is the state that an edit gave to the target; else nil.
	edited edited
	// reason is what the orphaned visits were given; nil for a fork.
	reason *model.Reason
	// reactivated holds what the reactivated visits said before, by number.
	reactivated map[int64]*model.Reason
	// head is the number of the visit that was the head before, 0 for none.
	head int64
	// superseded says that it was undone, and another write then ended redoing.
	superseded bool
	// before and after are the session's stands around the write.
	before, after stand
	// imported are the sessions that an import changed, in order; nil for all else.
	imported []imported
}

// Lacks implements [store.Features].Lacks.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpUndo, model.OpRedo:
		return ""
	}
	return store.Cannot(s.Kind(), op)
}

// Plan implements [store.Features].Plan.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, store.NotPlanned("memory", c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	switch c.Op {
	case model.OpRestore:
		return s.planRestore(ctx, c.Ref)
	case model.OpFork:
		return s.planFork(ctx, c.Ref, c.As)
	case model.OpEdit:
		return s.planEdit(ctx, c.Ref, c.As, bytes.Clone(c.State))
	case model.OpUndo, model.OpRedo:
		return s.planBack(ctx, c.Op)
	}
	return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: store.Cannot(s.Kind(), c.Op)}
}

func (s *Store) planRestore(ctx context.Context, ref model.Ref) (model.Plan, error) {
	ss, err := s.open(ctx, ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	return ss.visits.PlanRestore(ref, s.circumstances(ss, ref))
}

func (s *Store) planFork(ctx context.Context, ref model.Ref, as string) (model.Plan, error) {
	ss, err := s.open(ctx, ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if s.sessions[as] != nil {
		return model.Plan{}, store.ErrSessionExists
	}
	return ss.visits.PlanFork(ref, as, s.circumstances(ss, ref))
}

// edited is what the plan of an edit carries: the new state.
type edited []byte

// planEdit plans an edited fork. Any state that is JSON can be kept. The errors are those
// of planFork, store.ErrNotJSON and store.ErrNotEdited.
func (s *Store) planEdit(ctx context.Context, ref model.Ref, as string, state edited) (model.Plan, error) {
	if err := store.CheckState(state); err != nil {
		return model.Plan{}, err
	}
	ss, err := s.open(ctx, ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	if s.sessions[as] != nil {
		return model.Plan{}, store.ErrSessionExists
	}
	plan, err := ss.visits.PlanEdit(ref, as, model.SnapshotID(state), s.circumstances(ss, ref))
	plan.Carry = state
	return plan, err
}

func (s *Store) open(ctx context.Context, id string) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ss := s.sessions[id]
	if ss == nil {
		return nil, model.ErrNoSession
	}
	return ss, nil
}

func (s *Store) circumstances(ss *session, ref model.Ref) recording.Circumstances {
	c := recording.Circumstances{SharedWith: s.holders(ref.ID, ss)}
	if state, ok := ss.states[ref.ID]; ok {
		c.Mismatch = store.IsMismatch(ref.ID, state)
	}
	if r := ss.record; r != nil {
		head := ss.visits.Head
		c.WorkingState = head < 0 || string(ss.states[ss.visits.Headers[head].ID]) != string(r.state)
	}
	return c
}

// planBack plans an undo or a redo. The error is model.ErrHeadMoved where the session was
// written to since.
func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	if err := ctx.Err(); err != nil {
		return model.Plan{}, err
	}
	e := s.pending(op)
	if e == nil {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	plan, err := s.planEntry(op, e)
	if err != nil {
		return plan, fmt.Errorf("entry %d on session %q: %w", e.ID, e.Session, err)
	}
	return plan, nil
}

// pending returns the entry that an undo or a redo is about: the last that is
// not undone, or the first that is and was not followed by another write. Nil
// for none.
func (s *Store) pending(op model.Op) *entry {
	if op == model.OpRedo {
		for _, e := range s.journal {
			if e.Undone && !e.superseded {
				return e
			}
		}
		return nil
	}
	for _, e := range slices.Backward(s.journal) {
		if !e.Undone {
			return e
		}
	}
	return nil
}

func (s *Store) planEntry(op model.Op, e *entry) (model.Plan, error) {
	if e.imported != nil {
		return s.planUndoImport(e)
	}
	ss := s.sessions[e.Session]
	if err := e.check(op, ss); err != nil {
		return model.Plan{}, err
	}
	if op == model.OpUndo {
		return ss.visits.PlanUndo(ss.detail(e)), nil
	}
	if e.Op.MakesSession() {
		if ss = s.sessions[e.target.Session]; ss == nil {
			return model.Plan{}, model.ErrNoSession
		}
	}
	return ss.visits.PlanRedo(ss.detail(e))
}

// check refuses an entry whose session is not as the entry left it.
func (e *entry) check(op model.Op, ss *session) error {
	want := e.after
	if op == model.OpRedo {
		want = e.before
	}
	if e.Op.MakesSession() && op == model.OpRedo {
		if ss != nil {
			return store.ErrSessionExists
		}
		return nil
	}
	if ss == nil || ss.revision != want.revision {
		return fmt.Errorf("it was written to since: %w", model.ErrHeadMoved)
	}
	return nil
}

// detail returns what a plan has to know of an entry.
func (ss *session) detail(e *entry) recording.Entry {
	return recording.Entry{
		JournalEntry: e.JournalEntry, Target: e.target, Head: e.head,
		Orphaned: ss.orphanedBy(e), Reactivated: slices.Collect(maps.Keys(e.reactivated)),
	}
}

// orphanedBy returns the numbers of the visits that an entry took off the path.
func (ss *session) orphanedBy(e *entry) (visits []int64) {
	for i := range ss.visits.Headers {
		if h := &ss.visits.Headers[i]; h.Reason != nil && h.Reason == e.reason {
			visits = append(visits, h.Visit)
		}
	}
	return visits
}

// Apply implements [store.Features].Apply.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	receipt, err := s.apply(ctx, plan)
	if err != nil {
		return receipt, fmt.Errorf("memory: %s session %q: %w", plan.Op, plan.Session, err)
	}
	return receipt, nil
}

// apply computes the plan again and goes on only if it is the same: then the
// head, and all else that the plan said, is as it was.
func (s *Store) apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	now, e, err := s.again(ctx, plan)
	if err != nil {
		return model.Receipt{}, err
	}
	if !recording.SamePlan(now, plan) {
		return model.Receipt{}, model.ErrHeadMoved
	}
	switch {
	case plan.Op == model.OpRestore:
		e = s.restore(plan)
	case plan.Op == model.OpFork:
		e = s.fork(plan, nil)
	case plan.Op == model.OpEdit:
		e = s.fork(plan, plan.Carry.(edited))
	case plan.Op == model.OpUndo:
		s.undo(e)
	default:
		s.redo(e)
	}
	return s.receipt(plan, e), nil
}

// again computes a plan anew, and returns the entry that an undo or a redo is
// about.
func (s *Store) again(ctx context.Context, plan model.Plan) (model.Plan, *entry, error) {
	if err := ctx.Err(); err != nil {
		return model.Plan{}, nil, err
	}
	switch plan.Op {
	case model.OpRestore:
		now, err := s.planRestore(ctx, plan.Ref(plan.Target))
		return now, nil, err
	case model.OpFork:
		now, err := s.planFork(ctx, plan.Ref(plan.Target), plan.NewSession)
		return now, nil, err
	case model.OpEdit:
		state, ok := plan.Carry.(edited)
		if !ok {
			return model.Plan{}, nil, errors.New("the plan was not made by this store")
		}
		now, err := s.planEdit(ctx, plan.Ref(plan.Target), plan.NewSession, state)
		return now, nil, err
	case model.OpUndo, model.OpRedo:
		e := s.pending(plan.Op)
		if e == nil || e.ID != plan.Entry {
			return model.Plan{}, nil, model.ErrHeadMoved
		}
		now, err := s.planEntry(plan.Op, e)
		return now, e, err
	}
	return model.Plan{}, nil, errors.ErrUnsupported
}

func (s *Store) restore(plan model.Plan) *entry {
	ss, now := s.sessions[plan.Session], s.clock()
	e := s.enter(plan.Op, ss, plan.Ref(plan.Target))
	e.At = now
	e.reason = &model.Reason{Kind: model.ReasonRestore, At: now, TargetID: plan.Target.ID, TargetIndex: plan.Target.Index}
	e.From, e.FromIndex, e.To, e.ToIndex = plan.Head.ID, plan.Head.Index, plan.Target.ID, plan.Target.Index
	s.move(ss, e)
	e.after = ss.stand
	return e
}

// move puts the session back to an entry's target.
func (s *Store) move(ss *session, e *entry) {
	target := ss.visits.At(e.target.Visit)
	orphans, reactivates := ss.visits.Restore(target)
	ss.orphan(orphans, e.reason)
	e.reactivated = map[int64]*model.Reason{}
	for _, i := range reactivates {
		h := &ss.visits.Headers[i]
		e.reactivated[h.Visit] = h.Reason
		h.Orphaned, h.Reason = false, nil
	}
	s.settle(ss, target, e)
}

// settle makes the visit at a position the head and its state the session's.
func (s *Store) settle(ss *session, head int, e *entry) {
	h := &ss.visits.Headers[head]
	ss.visits.Head = head
	ss.record = &record{state: ss.states[h.ID], turn: h.TurnIndex}
	ss.updated = e.At
	ss.revision++
	s.wrote(ss)
	s.rewrote(ss)
}

// fork makes the session of a fork, or of an edit.
func (s *Store) fork(plan model.Plan, state edited) *entry {
	source, now := s.sessions[plan.Session], s.clock()
	ss := newSession(plan.NewSession)
	e := s.enter(plan.Op, ss, plan.Ref(plan.Target))
	e.At, e.edited = now, state
	s.copyPath(source, ss, e)
	h := &ss.visits.Headers[ss.visits.Head]
	e.To, e.ToIndex = h.ID, h.Index
	e.after = ss.stand
	return e
}

// copyPath fills a new session with the way from the root to the target.
func (s *Store) copyPath(source, ss *session, e *entry) {
	path, _ := source.visits.Path(source.visits.At(e.target.Visit))
	for _, i := range path {
		h := source.visits.Headers[i]
		h.SessionID, h.Orphaned, h.Reason, h.Visit = ss.visits.Session, false, nil, 0
		h.ParentVisit = ss.visits.Next() - 1
		state := source.states[h.ID]
		if e.edited != nil && i == path[len(path)-1] {
			h.ID, h.CreatedAt, h.Title, h.Marks = model.SnapshotID(e.edited), e.At, fmt.Sprintf("#%d, edited", h.Index), 0
			state = e.edited
		}
		s.add(ss, h, state)
	}
	s.settle(ss, len(path)-1, e)
}

// enter adds an entry to the journal, as things stand before it.
func (s *Store) enter(op model.Op, ss *session, target model.Ref) *entry {
	e := &entry{
		JournalEntry: model.JournalEntry{ID: int64(len(s.journal) + 1), Op: op, Session: ss.visits.Session},
		target:       target, head: ss.visits.HeadRef().Visit, before: ss.stand,
	}
	for _, earlier := range s.journal {
		earlier.superseded = earlier.superseded || earlier.Undone
	}
	s.journal = append(s.journal, e)
	return e
}

func (s *Store) undo(e *entry) {
	e.Undone = true
	if e.imported != nil {
		s.undoImport(e)
		return
	}
	if e.Op.MakesSession() {
		delete(s.sessions, e.Session)
		s.notifier.Notify()
		return
	}
	ss := s.sessions[e.Session]
	for _, visit := range ss.orphanedBy(e) {
		h := &ss.visits.Headers[ss.visits.At(visit)]
		h.Orphaned, h.Reason = false, nil
	}
	for visit, reason := range e.reactivated {
		h := &ss.visits.Headers[ss.visits.At(visit)]
		h.Orphaned, h.Reason = true, reason
	}
	ss.visits.Head, ss.stand = ss.visits.At(e.head), e.before
	s.wrote(ss)
	s.rewrote(ss)
}

func (s *Store) redo(e *entry) {
	e.Undone = false
	if e.Op.MakesSession() {
		s.copyPath(s.sessions[e.target.Session], newSession(e.Session), e)
		return
	}
	s.move(s.sessions[e.Session], e)
}

// receipt says what was done, by the store's own head.
func (s *Store) receipt(plan model.Plan, e *entry) model.Receipt {
	r := model.Receipt{Entry: e.ID, Op: plan.Op, Session: e.Session, Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if ss := s.sessions[e.Session]; ss != nil && ss.visits.Head >= 0 {
		r.Head = ss.visits.Headers[ss.visits.Head].Point()
	}
	return r
}

// Journal implements [store.Features].Journal.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: read journal: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	entries := make([]model.JournalEntry, 0, len(s.journal))
	for _, e := range slices.Backward(s.journal) {
		entries = append(entries, e.JournalEntry)
	}
	return entries, nil
}
