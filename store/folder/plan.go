package folder

import (
	"context"
	"fmt"

	"hindcast/model"
	"hindcast/store/journal"
)

// Mover is a format whose sessions Hindcast changes.
type Mover interface {
	Format
	// Move plans a change of the session of a log: what is to be written. The errors are
	// those of store.Writer. before is read from the tree of in.
	Move(ctx context.Context, in In, before *Log, change model.Change) (*Move, error)
	// Next says what the framework does with a log after a plan. The move is nil of an
	// undo and a redo. The error refuses the plan.
	Next(before, after *Log, m *Move) (Next, error)
}

// Move is a write in the making.
type Move struct {
	// Steps are the files that change, in the order in which the store is sound.
	Steps Steps
	// Target is the row that the session is put to, or that it goes on from: it may not
	// be the row that becomes the head.
	Target model.Point
	// New is where the session is that the change makes, nil of one that makes none.
	New *Place
	// Uses are files whose content is in the steps, with its SHA-256 in hex.
	Uses map[string]string
	// Writes, Hazards and Asks are what only the format knows to say in the plan.
	Writes, Hazards, Asks []string
	// Own is what Next needs.
	Own any
}

// Next is what a framework does with a session.
type Next struct {
	// Loads says what it loads, and Calls are the calls by which it goes on, the best
	// one first.
	Loads   string
	Calls   []model.Resume
	Hazards []string
}

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
	if before.Head >= 0 {
		plan.Head = before.HeadPoint()
	}
	if plan.NewSession == "" {
		plan.Orphans, plan.Reactivates = difference(before, then)
	}
	next, err := f.Next(before, then, m)
	if err != nil {
		return nil, err
	}
	plan.Loads = next.Loads
	plan.Resume = append(plan.Resume, next.Calls...)
	plan.Hazards = append(plan.Hazards, next.Hazards...)
	return then, nil
}

// difference returns the rows of a log that leave the path to its head, and those that
// come back to it.
func difference(before, after *Log) (orphans, reactivates []model.Point) {
	onPath := make(map[string]bool, len(after.Rows))
	for i := range after.Rows {
		onPath[after.Rows[i].ID] = !after.Rows[i].Orphaned
	}
	for i := range before.Rows {
		switch h := &before.Rows[i]; {
		case !h.Orphaned && !onPath[h.ID]:
			orphans = append(orphans, h.Point())
		case h.Orphaned && onPath[h.ID]:
			reactivates = append(reactivates, h.Point())
		}
	}
	return orphans, reactivates
}

// expect compares a log with the one that a plan was made of: its rows, their parents and
// their files. The error is a journal.ConflictError.
func expect(want, now *Log) error {
	there := make(map[string]int, want.There())
	for i := range want.Rows {
		if want.Aside[want.Rows[i].ID] == nil {
			there[want.Rows[i].ID] = i
		}
	}
	for i := range now.Rows {
		k, planned := there[now.Rows[i].ID]
		switch {
		case !planned:
			return &journal.ConflictError{Path: now.Files[i], Found: "came"}
		case now.Files[i] != want.Files[k] || now.Rows[i].ParentID != want.Rows[k].ParentID:
			return &journal.ConflictError{Path: now.Files[i], Found: "was changed"}
		}
		delete(there, now.Rows[i].ID)
	}
	for _, k := range there {
		return &journal.ConflictError{Path: want.Files[k], Found: "went"}
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
