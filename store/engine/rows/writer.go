package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
)

// Mover is a format whose sessions Hindcast changes. Each method runs within one
// transaction, as those of Format do, and sees the rows as they are or with some steps
// laid over them.
type Mover interface {
	Format
	// Move plans a change of a session: which rows come, go and change. before has the
	// snapshot that the change names; a repair names none. The errors are those of store.Writer.
	Move(ctx context.Context, t Tx, before *Session, change model.Change) (*Move, error)
	// Next says what the framework does with a session after a plan. The move is nil of an
	// undo and a redo.
	Next(ctx context.Context, t Tx, after *Session, m *Move) (planning.Next, error)
	// Hangs returns, in a few words, what another program wrote that would hang on nothing
	// without rows that went by some steps; "" for nothing.
	Hangs(ctx context.Context, t Tx, went []Step) (what string, err error)
}

// Session is a session as it is, or as it will be: without headers where it is not there.
type Session struct {
	Place
	Log
	// Now is the time at which a plan is made.
	Now time.Time
	// Others are the other sessions of the file.
	Others []Place
}

// Move is a write in the making.
type Move struct {
	// Steps are the rows that change, in the order in which they do. None leave the session
	// as it is.
	Steps []Step
	// Target is the snapshot that the session is put to, or that it goes on from: it may not
	// be the one that becomes the head.
	Target model.Point
	// Repairs says that the target is what is mended: nothing should go on from it.
	Repairs bool
	// New is where the session is that the change makes, nil of one that makes none.
	New *Place
	// Branch is the branch that the change makes, where that is no session of its own.
	Branch string
	// Hazards and Asks are what only the format knows to say in the plan.
	Hazards, Asks []string
}

// ConflictError says that a row is not as the plan saw it. Nothing of the plan is done then.
type ConflictError struct {
	// Row names the row, Found says what became of it.
	Row, Found string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s since: another program writes to the session: stop the agent, then plan again", e.Row, e.Found)
}

// Is makes errors.Is(err, model.ErrHeadMoved) hold.
func (e *ConflictError) Is(target error) bool { return target == model.ErrHeadMoved }

var _ store.Writer = (*Store)(nil)

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	if _, writes := s.kind.Format.(Mover); !writes {
		return s.kind.Lacks
	}
	if slices.Contains(s.kind.Does, op) || op == model.OpUndo || op == model.OpRedo {
		if s.book.path == "" {
			return errNoFolder
		}
		return ""
	}
	return cmp.Or(s.kind.Refuses[op], store.Cannot(s.kind.Name, op))
}

// errNoFolder: Hindcast writes nothing that it does not note.
const errNoFolder = "there is no folder for the journal of what is written: set XDG_DATA_HOME"

// carry is what a plan needs to be carried out.
type carry struct {
	at    Place
	steps []Step
	marks []mark
	after planning.Log
	of    int64
}

func (l *Log) compared() planning.Log {
	head := slices.IndexFunc(l.Headers, func(h model.Header) bool { return h.Head })
	return planning.Log{Rows: l.Headers, Head: head}
}

// session returns a session, without headers where it is not there.
func (s *Store) session(ctx context.Context, t tables, at Place) (*Session, error) {
	log, err := s.log(ctx, t, at)
	if errors.Is(err, model.ErrNoSession) {
		err = nil
	}
	return &Session{Place: at, Log: log, Now: s.now()}, err
}

// Plan implements store.Writer. It takes no lock, and nothing of it is written anywhere.
func (s *Store) Plan(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	if why := s.Lacks(c.Op); why != "" {
		return plan, store.NotPlanned(s.kind.Name, c, &model.UnsupportedError{Op: c.Op, Reason: why})
	}
	s.settle(ctx)
	move := s.move
	if c.Op == model.OpUndo || c.Op == model.OpRedo {
		move = s.reverse
	}
	err = c.Ref.Once()
	if err == nil {
		err = s.carrier.Suppose(ctx, func(t tables) error {
			plan, err = move(ctx, t, c)
			return err
		})
	}
	if err != nil {
		return model.Plan{}, store.NotPlanned(s.kind.Name, c, err)
	}
	return plan, nil
}

func (s *Store) move(ctx context.Context, t tables, c model.Change) (plan model.Plan, err error) {
	places, err := s.places(ctx, t)
	if err != nil {
		return plan, err
	}
	at := slices.IndexFunc(places, func(p Place) bool { return p.ID == c.Ref.Session })
	if at < 0 {
		return plan, model.ErrNoSession
	}
	before, err := s.session(ctx, t, places[at])
	if err != nil {
		return plan, err
	}
	if before.Others = slices.Delete(places, at, at+1); c.Op != model.OpRepair && before.At(c.Ref.ID) < 0 {
		return plan, model.ErrNoSnapshot
	}
	m, err := s.kind.Format.(Mover).Move(ctx, t, before, c)
	if err != nil {
		return plan, err
	}
	plan = model.Plan{Op: c.Op, Session: before.ID, Branch: m.Branch, Target: m.Target, Hazards: m.Hazards, Asks: m.Asks}
	carry := &carry{at: before.Place, steps: m.Steps}
	if m.New != nil {
		if taken := slices.ContainsFunc(append(before.Others, before.Place), func(p Place) bool { return p.ID == m.New.ID }); taken {
			return plan, store.ErrSessionExists
		}
		plan.NewSession, carry.at = m.New.ID, *m.New
	} else if len(m.Steps) > 0 {
		busy, err := s.busy(ctx, t, before)
		if err != nil {
			return plan, err
		}
		plan.Asks = append(busy, plan.Asks...)
	}
	return s.lead(ctx, t, plan, carry, m, before)
}

// lead completes a plan with what comes of its steps, which it lays over the tables.
func (s *Store) lead(ctx context.Context, t tables, plan model.Plan, c *carry, m *Move, before *Session) (model.Plan, error) {
	err := expect(ctx, t, c.steps)
	if err != nil {
		return plan, err
	}
	if c.marks, err = t.extent(ctx, s.kind, c.at); err != nil {
		return plan, err
	}
	if err := t.lay(ctx, c.steps); err != nil {
		return plan, err
	}
	after, err := s.session(ctx, t, c.at)
	if err != nil {
		return plan, err
	}
	after.Others = before.Others
	c.after = after.compared()
	planning.Lead(&plan, before.compared(), c.after)
	next, err := s.kind.Format.(Mover).Next(ctx, t, after, m)
	if err != nil {
		return plan, err
	}
	if head := c.after.Point().ID; head != "" {
		state, err := s.kind.Format.State(ctx, t, after.Place, head)
		if ctx.Err() != nil {
			return plan, ctx.Err()
		}
		if err == nil { // that a state cannot be read is told of the state
			next.Hazards = append(next.Hazards, store.ConversationHazards(s.kind.Name, s.kind.Framework, state)...)
		}
	}
	next.Tell(&plan)
	plan.Carry = c
	if len(c.steps) > 0 {
		plan.Writes = append(append(plan.Writes, words(c.steps)...), "journal: one entry, in "+s.book.name()+" "+s.carrier.Where())
	}
	return plan, nil
}

// busy returns why an agent may be at work on a session, or on one that is named below it.
func (s *Store) busy(ctx context.Context, t tables, of *Session) ([]string, error) {
	newest := of.Headers[len(of.Headers)-1]
	for _, at := range of.Others {
		if !strings.HasPrefix(at.ID, of.ID+"/") {
			continue
		}
		var last string
		if err := t.Row(ctx, "SELECT max("+s.kind.ID+") FROM "+at.Table(s.kind.Snapshots)+s.kind.where(), at.Key...).Scan(&last); err != nil {
			return nil, err
		}
		log, err := s.kind.Format.Log(ctx, t, at, last)
		if err != nil {
			return nil, err
		}
		if n := len(log.Headers); n > 0 && log.Headers[n-1].CreatedAt.After(newest.CreatedAt) {
			newest = log.Headers[n-1]
		}
	}
	h, err := s.book.history()
	if err != nil || h.wrote(newest.ID) {
		return nil, err
	}
	if busy := planning.Busy(of.Now.Sub(newest.CreatedAt)); busy != "" {
		return []string{busy}, nil
	}
	return nil, nil
}

// reverse plans an undo or a redo.
func (s *Store) reverse(ctx context.Context, t tables, c model.Change) (plan model.Plan, err error) {
	h, err := s.book.history()
	if err == nil && h.other {
		err = errFormat
	}
	if err != nil {
		return plan, err
	}
	e := h.pending(c.Op)
	if e == nil {
		return plan, &model.NothingToError{Op: c.Op}
	}
	steps, err := e.steps()
	if err != nil {
		return plan, err
	}
	if c.Op == model.OpUndo {
		steps = back(steps)
	}
	before, err := s.session(ctx, t, e.place())
	if err != nil {
		return plan, err
	}
	places, err := s.places(ctx, t)
	if err != nil {
		return plan, err
	}
	before.Others = slices.DeleteFunc(places, func(p Place) bool { return p.ID == e.Session })
	plan = model.Plan{Op: c.Op, Session: e.Session, Entry: e.ID, Removes: c.Op == model.OpUndo && e.makes()}
	if len(before.Headers) > 0 {
		if plan.Asks, err = s.busy(ctx, t, before); err != nil {
			return plan, err
		}
	}
	carry := &carry{at: e.place(), steps: steps, of: e.ID}
	plan, err = s.lead(ctx, t, plan, carry, nil, before)
	if err != nil {
		return plan, s.instead(err)
	}
	told := planning.Entry{ID: e.ID, Op: e.Op, Session: e.Session, Head: e.Head, Within: !e.makes()}
	if e.makes() { // a repair that makes a session is taken back as a fork is
		told.Op = model.OpFork
	}
	if !told.Op.MakesSession() { // while a branch is made the agent may write to another one
		told.From = e.From
	}
	if err := planning.Loses(c.Op, told, before.compared(), carry.after); err != nil {
		return plan, err
	}
	if err := s.hangs(ctx, t, steps); err != nil {
		return plan, err
	}
	if plan.Target = carry.after.Point(); c.Op == model.OpRedo && !e.makes() { // the row itself is still to come
		plan.Target = model.Point{ID: e.To, Index: e.ToIndex}
	}
	return plan, nil
}

// instead says what to do where a write cannot be taken back.
func (s *Store) instead(err error) error {
	if errors.Is(err, model.ErrHeadMoved) {
		return fmt.Errorf("the agent went on from it: restore the row that is wanted instead: %w", err)
	}
	return err
}

// hangs refuses steps after which rows of another program would hang on nothing.
func (s *Store) hangs(ctx context.Context, t tables, steps []Step) error {
	went := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.After != nil })
	if len(went) == 0 {
		return nil
	}
	what, err := s.kind.Format.(Mover).Hangs(ctx, t, went)
	if err == nil && what != "" {
		err = fmt.Errorf("%s since: restore the row that is wanted instead: the agent went on from it: %w", what, model.ErrHeadMoved)
	}
	return err
}

// Apply implements store.Writer. The rows change in one transaction. Within it everything
// that the plan saw is compared, the intent is written to the journal and synced, and the
// session is read back by the format's own rule.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	receipt, err := s.apply(ctx, plan)
	if err == nil {
		return receipt, nil
	}
	switch {
	case model.Unwritable(err):
		err = s.carrier.Denied(err)
	case errors.Is(err, syscall.ENOSPC):
		err = fmt.Errorf("%w: nothing was changed: free some space and try again", err)
	case s.carrier.Busy(err):
		err = fmt.Errorf("%w: nothing was changed: try again when it is done", err)
	}
	return model.Receipt{}, s.wrap(err, "%s session %q", plan.Op, cmp.Or(plan.NewSession, plan.Session))
}

// cause returns the system's error of a file, without its path.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

func (s *Store) apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	c, ok := plan.Carry.(*carry)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	receipt := model.Receipt{Op: plan.Op, Session: cmp.Or(plan.NewSession, plan.Session), Head: c.after.Point(), Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if plan.Idle() {
		return receipt, nil
	}
	intended, verified := int64(0), false
	err := s.carrier.Amend(ctx, func(t tables) error {
		if err := s.settleIn(ctx, t); err != nil {
			return err
		}
		if err := s.stillSo(ctx, t, &plan, c); err != nil {
			return err
		}
		id, err := s.intend(&plan, c)
		if err != nil {
			return err
		}
		intended = id
		if err := t.carryOut(ctx, c.steps); err != nil {
			return err
		}
		verified = true
		return s.verify(ctx, t, c)
	})
	if intended == 0 {
		return receipt, err
	}
	end := record{Done: intended}
	if err != nil {
		end = record{Off: intended, Why: err.Error()}
	}
	if err != nil && verified { // a commit that failed may have happened
		s.settle(context.WithoutCancel(ctx))
		return receipt, err
	}
	if told := s.book.append(end); err != nil {
		return receipt, errors.Join(err, told)
	}
	s.notifier.Notify()
	if receipt.Entry = intended; c.of != 0 {
		receipt.Entry = c.of
	}
	return receipt, nil // an end that is not told is found by the rows
}

// stillSo reports whether the rows are those that a plan saw.
func (s *Store) stillSo(ctx context.Context, t tables, plan *model.Plan, c *carry) error {
	if c.of != 0 {
		h, err := s.book.history()
		if err != nil {
			return err
		}
		if e := h.pending(plan.Op); e == nil || e.ID != c.of {
			return fmt.Errorf("something else was written since: plan again: %w", model.ErrHeadMoved)
		}
	}
	if err := expect(ctx, t, c.steps); err != nil {
		return err
	}
	now, err := t.extent(ctx, s.kind, c.at)
	if err == nil && !slices.Equal(now, c.marks) {
		err = &ConflictError{"session " + model.ShortID(c.at.ID, 80), "got other rows"}
	}
	return err
}

// intend writes down what is to be done.
func (s *Store) intend(plan *model.Plan, c *carry) (id int64, err error) {
	h, err := s.book.history()
	if err != nil {
		return 0, err
	}
	e := newEntry(plan, c.at, s.now())
	if e.ID = h.last + 1; c.of == 0 {
		e.Head = c.after.Point().ID
		if rows := c.after.Rows; len(rows) > 0 && rows[len(rows)-1].ID != e.Head {
			e.Newest = rows[len(rows)-1].ID
		}
		if e.Steps, err = pack(c.steps); err != nil {
			return 0, err
		}
	}
	return e.ID, s.book.append(record{Write: e, Of: c.of})
}

// verify compares the session as it is now with the one that the plan led to.
func (s *Store) verify(ctx context.Context, t tables, c *carry) error {
	session, err := s.session(ctx, t, c.at)
	if err != nil {
		return err
	}
	now := session.compared()
	if id, found := planning.Expect(c.after, now); found != "" {
		return &ConflictError{"the row " + id, found}
	}
	if now, want := now.Point().ID, c.after.Point().ID; now != want {
		return fmt.Errorf("the row that is resumed is %q instead of %q", now, want)
	}
	if c.of != 0 {
		return s.hangs(ctx, t, c.steps)
	}
	return nil
}

// settle tells the end of a write that was broken off, as far as the file can be written
// just now: the rows say whether it was committed. SQLite takes back what was not.
func (s *Store) settle(ctx context.Context) {
	if h, err := s.book.history(); err != nil || h.open == nil {
		return
	}
	_ = s.carrier.Amend(ctx, func(t tables) error { return s.settleIn(ctx, t) }) // the next write tries again
}

// settleIn is settle in a transaction that writes, so that no other is within a write.
func (s *Store) settleIn(ctx context.Context, t tables) error {
	h, err := s.book.history()
	if err == nil {
		err = h.err()
	}
	if err != nil || h.open == nil {
		return err
	}
	e, op := h.open, h.open.Op
	if h.of != 0 {
		if i := h.find(h.of); i >= 0 {
			e = &h.entries[i]
		}
	}
	steps, err := e.steps()
	if err != nil {
		return err
	}
	if op == model.OpUndo {
		steps = back(steps)
	}
	done, err := happened(ctx, t, steps)
	if err != nil {
		return err
	}
	if done {
		return s.book.append(record{Done: h.open.ID})
	}
	return s.book.append(record{Off: h.open.ID, Why: "it was broken off before it was committed"})
}

// happened reports whether steps were carried out: all are, or none. Rows may have
// changed again since: the first that is as one of the two tells.
func happened(ctx context.Context, t tables, steps []Step) (bool, error) {
	for i := range steps {
		list, err := t.current(ctx, steps[i:i+1])
		if err != nil {
			return false, err
		}
		switch now := list[0]; {
		case now.equal(steps[i].After):
			return true, nil
		case now.equal(steps[i].Before):
			return false, nil
		}
	}
	return true, nil
}

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	s.settle(ctx)
	h, err := s.book.history()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, s.wrap(err, "read the journal")
	}
	return h.list(), s.wrap(h.err(), "read the journal %q", s.book.path)
}
