package folder

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Mover is a format whose sessions Hindcast changes.
type Mover interface {
	Format
	// Move plans a change of the session of a log: what is to be written. The errors are
	// those of store.Writer. before is read from the tree of in.
	Move(ctx context.Context, in In, before *Log, change model.Change) (*Move, error)
	// Next says what the framework does with a log after a plan. The move is nil of an
	// undo and a redo. The error refuses the plan.
	Next(ctx context.Context, before, after *Log, m *Move) (Next, error)
}

// Move is a write in the making.
type Move struct {
	// Steps are the files that change, in the order in which the store is sound.
	Steps tree.Steps
	// Rows are the rows that change in a database, nil for none.
	Rows any
	// Target is the row that the session is put to, or that it goes on from: it may not
	// be the row that becomes the head.
	Target model.Point
	// New is where the session is that the change makes, nil of one that makes none.
	New *Place
	// Branch is the branch that the change makes, where that is no session of its own.
	Branch string
	// Uses are files whose content is in the steps, or that they replace, with the SHA-256
	// in hex of what was read; "" of one that is not there.
	Uses map[string]string
	// Closed are folders that may get and lose no names but those of the steps. One that
	// is not there yet is none.
	Closed []string
	// Keeps are files that stay as they are, and whose content is kept: an agent that runs
	// may write over them.
	Keeps []string
	// Was is what the format puts down in the entry of the session as it was before.
	Was string
	// Forget, of a purge alone, reports whether a content that a file had is forgotten.
	Forget func(name string, data []byte) bool
	// Writes, Hazards and Asks are what only the format knows to say in the plan.
	Writes, Hazards, Asks []string
	// Own is what Next needs.
	Own any
	// Carry is what the kind itself carries the plan out with, nil where files or rows are written.
	Carry any
}

// Idle reports whether the move changes nothing.
func (m *Move) Idle() bool { return len(m.Steps) == 0 && m.Rows == nil }

// Next is what a framework does with a session.
type Next = planning.Next

// Reader reads a log: of files as they are, or as they are after some steps. A store made
// of rows has one of its own.
type Reader func(context.Context) (*Log, error)

// lead completes a plan with where the session goes: its heads, the rows that leave the
// path and those that come back, and what the framework does then.
func lead(ctx context.Context, f Mover, plan *model.Plan, m *Move, before *Log, after Reader) (*Log, error) {
	then, err := after(ctx)
	if err != nil {
		return nil, err
	}
	planning.Lead(plan, before.Compared(), then.Compared())
	next, err := f.Next(ctx, before, then, m)
	if err != nil {
		return nil, err
	}
	next.Tell(plan)
	return then, nil
}

// Leaves reports whether rows of a log leave the path to its head when it becomes another.
func (l *Log) Leaves(after *Log) bool {
	orphans, _ := planning.Difference(l.Compared(), after.Compared())
	return len(orphans) > 0
}

// expect compares a log with the one that a plan was made of: its rows, their parents and
// their files. The error is a journal.ConflictError.
func expect(want, now *Log) error {
	if file, found := planning.Expect(want.Compared(), now.Compared()); found != "" {
		return &journal.ConflictError{Path: file, Found: found}
	}
	return nil
}

// verify compares a log with the one that a plan led to, its head too.
func verify(want, now *Log) error {
	if err := expect(want, now); err != nil {
		return err
	}
	if now, want := now.HeadPoint().ID, want.HeadPoint().ID; now != want {
		return fmt.Errorf("the row that is resumed is %q instead of %q", now, want)
	}
	return nil
}
