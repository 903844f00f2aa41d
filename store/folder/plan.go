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
	Next(ctx context.Context, before, after *Log, m *Move) (Next, error)
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
}

// Next is what a framework does with a session.
type Next struct {
	// Loads says what it loads, and Calls are the calls by which it goes on, the best
	// one first.
	Loads         string
	Calls         []model.Resume
	Hazards, Asks []string
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
	next, err := f.Next(ctx, before, then, m)
	if err != nil {
		return nil, err
	}
	plan.Loads = next.Loads
	plan.Resume = append(plan.Resume, next.Calls...)
	plan.Hazards = append(plan.Hazards, next.Hazards...)
	plan.Asks = append(plan.Asks, next.Asks...)
	return then, nil
}

// difference returns the rows of a log that leave the path to its head, and those that
// come back to it.
func difference(before, after *Log) (orphans, reactivates []model.Point) {
	then, onPath := after.finder(), map[string]bool{}
	for i := range after.Rows {
		if key := after.content(i); key != "" && !after.Rows[i].Orphaned {
			onPath[key] = true
		}
	}
	for i := range before.Rows {
		h, k := &before.Rows[i], then(before, i)
		on := k >= 0 && !after.Rows[k].Orphaned || k < 0 && onPath[before.content(i)]
		switch {
		case !h.Orphaned && !on:
			orphans = append(orphans, h.Point())
		case h.Orphaned && on:
			reactivates = append(reactivates, h.Point())
		}
	}
	return orphans, reactivates
}

// Leaves reports whether rows of a log leave the path to its head when it becomes another.
func (l *Log) Leaves(after *Log) bool {
	orphans, _ := difference(l, after)
	return len(orphans) > 0
}

// finder returns a function that finds a row of another log in a log, -1 for none.
func (l *Log) finder() func(other *Log, i int) int {
	at := make(map[string]int, len(l.Rows))
	for i := range l.Rows {
		at[l.Rows[i].ID] = i
	}
	return func(other *Log, i int) int {
		if k, there := at[other.Rows[i].ID]; there && l.content(k) == other.content(i) {
			return k
		}
		return -1
	}
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
		case now.Aside[now.Rows[i].ID] != nil:
			continue
		case !planned:
			return &journal.ConflictError{Path: now.Files[i], Found: "came"}
		case now.Files[i] != want.Files[k] || now.Rows[i].ParentID != want.Rows[k].ParentID || now.content(i) != want.content(k):
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
