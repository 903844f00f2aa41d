// Package engine is the one store of kinds: a session is a log that a format reads from a medium, and
// the rest is here. A kind is a [Format], a literal of functions.
//
//	In       what a format reads: a tree of files, or a transaction on tables
//	Medium   where that is: a folder, a bucket, a SQLite file, a database on a server
//	Log      a session as a format reads it
//	Move     what is to be written
//
// A plan reads the log, lays the steps of the move over the medium, and reads the log again. Rows that
// leave the path, what an undo takes back and what is verified are differences of two logs.
package engine

import (
	"context"
	"iter"

	"hindcast/model"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine/planning"
)

// Listed is a session of a list.
type Listed struct {
	Place Place
	// Log is the session as the list read it. Info is the list's entry for a session that the list did not
	// read. If both are nil, the engine reads the session.
	Log  *Log
	Info *model.SessionInfo
}

// About describes a snapshot besides its state.
type About struct {
	Facts  model.Facts
	Resume []model.Resume
	Gaps   model.Gaps
}

// Row finds a row of a session. A database finds it by its id, and files in the log.
type Row struct {
	Place Place
	ID    string
	Visit int64 // not 0 of a step, see [Format.Steps]
	find  func() (*Log, int, error)
}

// In returns the log that the row is in, and its position there. The errors are model.ErrNoSession and
// model.ErrNoSnapshot, with which comes the log that has no such row.
func (r *Row) In() (*Log, int, error) { return r.find() }

// ReadLog reads the log of a session from the row from, see [Format].Read.
type ReadLog func(ctx context.Context, in In, at Place, from string) (*Log, error)

// Format describes a kind. Its functions are pure: the same In gives the same answer.
type Format struct {
	// Name is the name of the kind. Framework names the framework that the faults are about. IDs describes the
	// row IDs in a few words.
	Name, Framework, IDs string
	// Own are the paths of the Own of [store.Features].
	Own []string
	// Nested reports that session "a/b" belongs to session "a", which changes with it.
	Nested bool

	// Sessions returns the sessions, in any order.
	Sessions func(context.Context, In) ([]Listed, error)
	// Memoise returns the list of the sessions as they are shown, which it may have kept of an unchanged medium, or
	// else what read returns. It may be nil.
	Memoise func(in In, read func() ([]model.SessionInfo, error)) ([]model.SessionInfo, error)
	// List returns the sessions as they are shown, the newest first, instead of Sessions: for a kind that
	// reads less for a list than the sessions.
	List func(context.Context, In) iter.Seq2[model.SessionInfo, error]
	// Place returns where the session of a name is. Where it is nil, Places returns where all sessions are.
	Place  func(ctx context.Context, in In, session string) (Place, error)
	Places func(context.Context, In) ([]Place, error)
	// Read returns the log of a session from the row from, or the whole log if from is "". The engine passes a
	// from only if [Look.Since] is Grew, and appends the rows to the log it has. The error is
	// model.ErrNoSession if there is no session; a log without rows that is not Empty means the same.
	Read ReadLog
	// Headers yields the rows of a session that is not cached, instead of Read: for a kind whose logs are too large
	// to be kept for a list. It returns false where Read tells them. It may be nil.
	Headers func(ctx context.Context, in In, at Place, yield func(model.Header) error) (ok bool, err error)
	// Tail returns the newest n rows, and how many there are before them, without those; false where all have
	// to be read. It may be nil.
	Tail func(ctx context.Context, in In, at Place, n int) (rows []model.Header, before int, ok bool, err error)
	// State returns the state of a row. It returns the errors of [Row.In].
	State func(context.Context, In, *Row) ([]byte, error)
	// About describes a row besides its state. It returns the errors of State.
	About func(context.Context, In, *Row) (About, error)
	// Resume returns the calls that go on from a row, for a kind whose calls depend on many rows: About, which
	// is asked for each row, leaves them out then. It may be nil.
	Resume func(context.Context, In, *Row) ([]model.Resume, error)
	// Request returns the ModelRequest of [store.Features]. It may be nil.
	Request func(context.Context, In, *Row) (request.Request, error)
	// Steps returns the rows of a log with the steps that lie between them, which have visits and are in no
	// log. It may be nil.
	Steps func(context.Context, In, *Log) []model.Header
	// Faults returns the faults of a session that the medium does not find. It may be nil.
	Faults func(context.Context, In, *Log) ([]model.Fault, error)
	// Warns reports that Faults and Next tell of the messages that the framework or a provider rejects.
	Warns bool
	// RowsBack makes the move of [store.Features].PlanRowsBack; nil for a kind that is not made of rows.
	RowsBack func(ctx context.Context, in In, of store.GivenRows) (*Move, error)
	// Weave is that of [store.Features]. It may be nil.
	Weave func(ctx context.Context, s *Store, refs []model.Ref, to store.Loom) error
	// Info completes what the list shows of a session.
	Info func(*Log, *model.SessionInfo)
	// Check returns the faults of the store itself. It may be nil.
	Check func(context.Context, In) ([]model.Fault, error)

	// Lacks returns why the kind does not support an operation, "" if it does.
	Lacks func(op model.Op) string
	// Joins says that a fork may join the pieces of a session, and names no snapshot then.
	Joins bool
	// Move plans a change.
	Move func(context.Context, In, *Log, model.Change) (*Move, error)
	// Take plans a conversion, see PlanConvert of [store.Features]. It may be nil.
	Take func(ctx context.Context, in In, from store.Store, session, as string) (*Move, error)
	// Continue plans a session that begins with the conversation of another tool: its steps, its place, and the calls that
	// go on. It may be nil.
	Continue func(context.Context, *Start) (*Move, error)
	// Next predicts how the framework goes on after a plan. For an undo or a redo the move is nil, and before a session
	// of [Format].Continue is a log that Read did not make.
	Next func(ctx context.Context, in In, before, after *Log, m *Move) (Next, error)
}

// Since says how a session changed since it was read.
type Since uint8

const (
	// Unknown: the session has to be read.
	Unknown Since = iota
	// Same: nothing changed.
	Same
	// Grew: all that changed comes behind the newest row, which may have changed itself.
	Grew
)

// Look is a look at a session, which tells whether it is as it was.
type Look struct {
	// In holds what is to be read.
	In    In
	Since Since
	// Mark returns the mark that a later look compares with; nil means that the session changed during the
	// reading. newest is the last row that was read.
	Mark func(newest string) (any, error)
}

// Teller completes a log from the journal of its session, in place, and returns it.
type Teller func(ctx context.Context, in In, at Place, log *Log) (*Log, error)

// Medium is where sessions lie. Its methods are safe for concurrent use.
type Medium interface {
	// Read runs what on all that there is at one moment.
	Read(ctx context.Context, what func(In) error) error
	// Look begins a look at a session. was is the mark of the previous look, nil if there is no such look;
	// newest is the last row read then.
	Look(ctx context.Context, in In, at Place, was any, newest string) (Look, error)
	// Teller returns a function that completes logs from the current journal. It scans the journal once for any
	// number of logs.
	Teller(ctx context.Context) Teller
	// Silent reports whether nothing was ever written here, so that logs are as they are read.
	Silent() bool
	// Check returns the faults of the medium itself.
	Check(ctx context.Context, in In) ([]model.Fault, error)
	// Faults returns the faults of a session's states and messages, and of records whose texts no state has,
	// see [hindcast/store/engine/inspect.UnreadFaults]. told are the faults that the format found.
	Faults(ctx context.Context, of store.Store, session string, log *Log, told []model.Fault) ([]model.Fault, error)
	// Watch is that of [store.Features].
	Watch(ctx context.Context) (<-chan struct{}, error)
	Close() error

	// Lacks returns why nothing can be written, "" if it can.
	Lacks() string
	// Suppose runs what on a stage, for one plan. Nothing is written.
	Suppose(ctx context.Context, what func(Stage) error) error
	// Commit carries out a plan, all of it or nothing: it compares by was, writes, and verifies by is.
	Commit(ctx context.Context, plan model.Plan, was, is func(context.Context, In) error) (model.Receipt, error)
	// Journal is that of [store.Features].
	Journal(ctx context.Context) ([]model.JournalEntry, error)
}

// Stage holds what one plan is made on, and the steps laid over it.
type Stage interface {
	// In returns the input without the steps.
	In() In
	// Busy returns why an agent may be at work on a session, "" for no sign of it.
	Busy(ctx context.Context, before *Log) (string, error)
	// Lay lays the steps of a move over the input, and returns the result.
	Lay(ctx context.Context, at Place, m *Move) (In, error)
	// Reversal returns the write of an undo or a redo, nil if there is nothing to reverse.
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
	// Hangs refuses steps after which what another program wrote would hang on nothing. It may be nil.
	Hangs func(context.Context, In) error
}

// Write holds the move of a plan, and the logs before and after it.
type Write struct {
	Move          *Move
	Before, After *Log
	Reversal      *Reversal // nil but for an undo and a redo
}
