package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
)

// Mover is a format whose sessions Hindcast changes. Each method runs within one
// transaction, as those of Format do, and sees the rows as they are or with some steps
// laid over them.
type Mover interface {
	Format
	// Move plans a change of a session: the rows to add, delete and change. before has the
	// snapshot that the change names; a repair names no snapshot. The errors are documented at
	// [store.Features].Plan.
	Move(ctx context.Context, t Tx, before *Session, change model.Change) (*Move, error)
	// Next predicts how the framework goes on with a session after a plan. For an undo or a redo
	// the move is nil.
	Next(ctx context.Context, t Tx, after *Session, m *Move) (planning.Next, error)
	// Hangs returns, in a few words, what another program wrote that would hang on nothing
	// without rows that went by some steps; "" for nothing.
	Hangs(ctx context.Context, t Tx, went []Step) (what string, err error)
}

// Continuer is a Mover whose framework goes on with conversations of other tools.
type Continuer interface {
	Mover
	// Continue plans a new session in the tables of a place that begins with a conversation.
	Continue(ctx context.Context, t Tx, in Place, c *engine.Start) (*Move, error)
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

// Move is that of the engine, on rows.
type Move struct {
	engine.Move
	// Steps are the rows that change, in the order in which they do. Without steps the session stays as it is.
	Steps []Step
	// Repairs says that the target is the mended row: nothing should go on from it.
	Repairs bool
	// New is the place of the session that the change makes; nil if it makes no session.
	New *Place
}

// engineMove returns the move as the engine takes it.
func (m *Move) engineMove() *engine.Move {
	move := &m.Move
	if move.Own = m; len(m.Steps) > 0 {
		move.Rows = m.Steps
	}
	if m.New != nil {
		at := enginePlace(*m.New)
		move.New = &at
	}
	return move
}

// Taker is a format that takes sessions of another medium of its kind.
type Taker interface {
	// Take plans the rows that a session of the tables from becomes, or all of them if at is nil. as is the new name of the only
	// one; "" keeps the names. It returns the errors of PlanConvert of [store.Features].
	Take(ctx context.Context, t, from Tx, at *Place, as string) (*Move, error)
}

// errNoFolder: Hindcast writes nothing that it does not note.
const errNoFolder = "there is no folder for the journal of what is written: set XDG_DATA_HOME"

// carry is the data that carries out a plan.
type carry struct {
	at    Place
	steps []Step
	marks []mark
	after planning.Log
	of    int64
}

// busyReason returns why an agent may be at work on a session, or on one that is named below it.
func (m *medium) busyReason(ctx context.Context, t tables, of *Session) (string, error) {
	newest := of.Rows[len(of.Rows)-1]
	for _, at := range of.Others {
		if !strings.HasPrefix(at.ID, of.ID+"/") {
			continue
		}
		var last string
		if err := t.Row(ctx, "SELECT max("+m.kind.ID+") FROM "+at.Table(m.kind.Snapshots)+m.kind.whereClause(), at.Key...).Scan(&last); err != nil {
			return "", err
		}
		log, err := m.kind.Format.Log(ctx, t, at, last)
		if err != nil {
			return "", err
		}
		if n := len(log.Rows); n > 0 && log.Rows[n-1].CreatedAt.After(newest.CreatedAt) {
			newest = log.Rows[n-1]
		}
	}
	h, err := m.book.readHistory()
	if err != nil || h.wroteHead(newest.ID) {
		return "", err
	}
	return planning.Busy(of.Now.Sub(newest.CreatedAt)), nil
}

// refuseDangling refuses steps after which rows of another program would hang on nothing.
func (m *medium) refuseDangling(ctx context.Context, t tables, steps []Step) error {
	went := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.After != nil })
	if len(went) == 0 {
		return nil
	}
	what, err := m.kind.Format.(Mover).Hangs(ctx, t, went)
	if err == nil && what != "" {
		err = fmt.Errorf("%s since: restore the row that is wanted instead: the agent went on from it: %w", what, model.ErrHeadMoved)
	}
	return err
}

// stillSo returns an error if the rows changed since the plan.
func (m *medium) stillSo(ctx context.Context, t tables, plan *model.Plan, c *carry) error {
	if c.of != 0 {
		h, err := m.book.readHistory()
		if err != nil {
			return err
		}
		if e := h.nextReversal(plan.Op); e == nil || e.ID != c.of {
			return fmt.Errorf("something else was written since: plan again: %w", model.ErrHeadMoved)
		}
	}
	if err := expectStored(ctx, t, c.steps); err != nil {
		return err
	}
	now, err := t.readExtent(ctx, m.kind, c.at)
	if err == nil && !slices.Equal(now, c.marks) {
		err = &journal.ConflictError{Path: "session " + model.ShortID(c.at.ID, 80), Found: "got other rows"}
	}
	return err
}

// writeIntent writes down what is to be done.
func (m *medium) writeIntent(plan *model.Plan, c *carry) (id int64, err error) {
	h, err := m.book.readHistory()
	if err != nil {
		return 0, err
	}
	e := newEntry(plan, c.at, m.now())
	if e.ID = h.last + 1; c.of == 0 {
		e.Head = c.after.Point().ID
		if rows := c.after.Rows; len(rows) > 0 && rows[len(rows)-1].ID != e.Head {
			e.Newest = rows[len(rows)-1].ID
		}
		if e.Steps, err = packSteps(c.steps); err != nil {
			return 0, err
		}
	}
	return e.ID, m.book.appendRecord(record{Write: e, Of: c.of})
}

// settleIntent tells the end of a write that was broken off, as far as the file can be written
// just now: the rows say whether it was committed. SQLite takes back what was not.
func (m *medium) settleIntent(ctx context.Context) {
	if h, err := m.book.readHistory(); err != nil || h.open == nil {
		return
	}
	_ = m.carrier.Amend(ctx, func(t tables) error { return m.settleIn(ctx, t) }) // the next write tries again
}

// settleIn is settle in a transaction that writes, so that no other is within a write.
func (m *medium) settleIn(ctx context.Context, t tables) error {
	h, err := m.book.readHistory()
	if err == nil {
		err = h.damageError()
	}
	if err != nil || h.open == nil {
		return err
	}
	e, op := h.open, h.open.Op
	if h.of != 0 {
		if i := h.findEntry(h.of); i >= 0 {
			e = &h.entries[i]
		}
	}
	steps, err := e.unpackSteps()
	if err != nil {
		return err
	}
	if op == model.OpUndo {
		steps = reverseSteps(steps)
	}
	done, err := areApplied(ctx, t, steps)
	if err != nil {
		return err
	}
	if done {
		return m.book.appendRecord(record{Done: h.open.ID})
	}
	return m.book.appendRecord(record{Off: h.open.ID, Why: "it was broken off before it was committed"})
}

// areApplied reports whether steps were carried out: all are, or none. Rows may have
// changed again since: the first that is as one of the two tells.
func areApplied(ctx context.Context, t tables, steps []Step) (bool, error) {
	for i := range steps {
		list, err := t.currentRows(ctx, steps[i:i+1])
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
