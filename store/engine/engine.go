// Package engine is the one store of kinds: a session is a log that a format reads from a medium, and
// the rest is here. A kind is a [Format], a literal of functions.
//
//	In       what a format reads: a tree of files
//	Medium   where that is: a folder or a bucket
//	Log      a session as a format reads it
//	Move     what is to be written
//
// A plan reads the log, lays the steps of the move over the medium, and reads the log again. Rows that
// leave the path, what an undo takes back and what is verified are differences of two logs.
package engine

import (
	"context"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/engine/planning"
)

// In, Place, Log, Move and Next are those of all kinds.
type (
	In    = folder.In
	Place = folder.Place
	Log   = folder.Log
	Move  = folder.Move
	Next  = planning.Next
)

// Listed is a session of a list, and its log as the list read it.
type Listed struct {
	Place Place
	Log   *Log
}

// About describes a snapshot besides its state.
type About struct {
	Facts  model.Facts
	Resume []model.Resume
	Gaps   model.Gaps
}

// Row finds a row of a session.
type Row struct {
	Place Place
	ID    string
	find  func() (*Log, int, error)
}

// In returns the log that the row is in, and its position there. The errors are model.ErrNoSession and
// model.ErrNoSnapshot.
func (r *Row) In() (*Log, int, error) { return r.find() }

// Format describes a kind. Its functions are pure: the same In gives the same answer.
type Format struct {
	// Name is that of the kind. Framework is whose verdicts its faults give. IDs says in a few words what
	// ids are.
	Name, Framework, IDs string

	// Sessions returns the sessions, in any order.
	Sessions func(context.Context, In) ([]Listed, error)
	// Place returns where the session of a name is.
	Place func(ctx context.Context, in In, session string) (Place, error)
	// Read returns the log of a session. The error is model.ErrNoSession where there is none; a log without
	// rows means the same.
	Read func(context.Context, In, Place) (*Log, error)
	// State returns the state of a row. The errors are those of [Row.In].
	State func(context.Context, In, *Row) ([]byte, error)
	// About returns what else is known of a row. The errors are those of State.
	About func(context.Context, In, *Row) (About, error)
	// Faults returns what is wrong with a session, besides its messages.
	Faults func(*Log) []model.Fault
	// Info completes what the list shows of a session.
	Info func(*Log, *model.SessionInfo)
	// Check returns what is wrong with the store itself.
	Check func(context.Context, In) ([]model.Fault, error)

	// Lacks returns why an operation is none of the kind, "" if it is one.
	Lacks func(op model.Op) string
	// Move plans a change.
	Move func(context.Context, In, *Log, model.Change) (*Move, error)
	// Next returns what the framework does with a log after a plan; the move is nil of an undo and a redo.
	Next func(ctx context.Context, in In, before, after *Log, m *Move) (Next, error)
}

// Look is a look at a session, which tells whether it is as it was.
type Look struct {
	// In holds the tree to read.
	In In
	// Same reports that nothing changed since the earlier look.
	Same bool
	// Mark returns what a later look is compared with, nil where what was read changed meanwhile.
	Mark func() any
}

// Teller completes a log with what the journal tells of its session, in place, and returns it.
type Teller func(ctx context.Context, in In, at Place, log *Log) (*Log, error)

// Medium is where sessions lie. Its methods are safe for concurrent use.
type Medium interface {
	// Read runs what on all that there is at one moment.
	Read(ctx context.Context, what func(In) error) error
	// Look begins a look at a session. was is the mark of an earlier one, nil for none.
	Look(in In, was any) Look
	// Teller returns a function that completes logs with what the journal tells now. It goes through the
	// journal once, however many logs there are.
	Teller(ctx context.Context) Teller
	// Silent reports whether nothing was ever written here, so that logs are as they are read.
	Silent() bool
	// Check returns what the medium finds wrong with itself.
	Check(ctx context.Context) ([]model.Fault, error)
	// Unread returns the faults of records whose texts no state has, see [store.UnreadFaults].
	Unread(ctx context.Context, of store.Store, session string, log *Log) ([]model.Fault, error)
	// Requests is that of [store.Asked].
	Requests() (store.Requests, bool)
	// Watch is that of [store.Features].
	Watch(ctx context.Context) (<-chan struct{}, error)
	Close() error

	// Lacks returns why nothing can be written, "" if it can.
	Lacks() string
	// Suppose runs what on a stage, for one plan. Nothing is written.
	Suppose(ctx context.Context, what func(Stage) error) error
	// Commit carries out a plan, all of it or nothing: it compares by was, writes, and verifies by is.
	Commit(ctx context.Context, plan model.Plan, was, is func(context.Context, In) error) (model.Receipt, error)
	// Journal is that of [store.Writer].
	Journal(ctx context.Context) ([]model.JournalEntry, error)
	// LabelFile returns where labels of a session are, see [store.Features].
	LabelFile(at Place) (dir, file, name string)
}

// Stage holds the tree of one plan, and the steps laid over it.
type Stage interface {
	// In returns the tree without steps.
	In() In
	// Busy returns why an agent may be at work on a session, "" for no sign of it.
	Busy(before *Log) string
	// Lay lays the steps of a move over the tree, and returns the tree that they lead to.
	Lay(at Place, m *Move) (In, error)
	// Reversal returns what an undo or a redo would write, nil for nothing.
	Reversal(ctx context.Context, op model.Op) (*Reversal, error)
	// Draft puts into a plan what Commit needs to carry it out.
	Draft(ctx context.Context, plan *model.Plan, w *Write) error
}

// Reversal is a write that is taken back, or done again.
type Reversal struct {
	Plan  model.Plan
	At    Place
	Entry planning.Entry
	Move  *Move
}

// Write holds the move of a plan, and the logs before and after it.
type Write struct {
	Move          *Move
	Before, After *Log
	Reversal      *Reversal // nil but for an undo and a redo
}
