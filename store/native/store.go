// Package native is Hindcast's own store: how sessions, their visits, their states and the
// journal lie in the tables of a database, and the statements that read and write them.
// A [Carrier] runs the statements: a file of SQLite's for the package sqlite, a server of
// PostgreSQL's for the package postgres. What differs between the two is in the carrier
// and in its [Dialect].
//
// Sessions that have nothing in common may be written at the same time. A transaction
// that writes to a session first locks the session's row, and one that refers to a state,
// or removes one, locks the row of the state: so that two sessions meet at what they share,
// and nowhere else. In SQLite, where one transaction writes at a time, these locks are
// empty words.
package native

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

var (
	// ErrReadBack: what was written did not read back as planned, so that
	// nothing was kept.
	ErrReadBack = errors.New("the store does not read back as planned")
	// ErrRaced: another transaction did the same at the same time. The carrier takes back
	// what was done and runs the transaction again.
	ErrRaced = errors.New("another program wrote the same at the same time")
)

// Rows are the rows of a query, as database/sql has them.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}

// Row is the first row of a query. Scan returns sql.ErrNoRows if the query has no rows.
type Row interface{ Scan(into ...any) error }

// Tx is a transaction of a carrier. A placeholder of a statement is ? for the next argument
// or ?2 for the second. One query is read to its end before another is made.
type Tx interface {
	// Exec runs a statement that changes rows. A carrier may put it off until the next
	// query or the end of the transaction, whose error that of the statement is then.
	Exec(ctx context.Context, query string, args ...any) error
	// Insert runs a statement that inserts one row, and returns the value of its key, a
	// column. The error is sql.ErrNoRows where the row was there.
	Insert(ctx context.Context, key, query string, args ...any) (int64, error)
	Row(ctx context.Context, query string, args ...any) Row
	Rows(ctx context.Context, query string, args ...any) (Rows, error)
	// Values calls give with the values of each row of a query: int64, float64, string or
	// []byte. The next row overwrites them. give makes no other query.
	Values(ctx context.Context, query string, args []any, give func([]driver.Value) error) error
	// Fresh returns an error where the rows that were read may be wrong.
	Fresh() error
	// LockJournal has other transactions that write to the journal wait for this one.
	LockJournal(ctx context.Context) error
	// LockDropped has other transactions that drop a state wait for this one, and reports whether
	// the state is there and no other transaction has it locked.
	LockDropped(ctx context.Context, state int64) (free bool, err error)
	// Prepare sets the connection up for an import, until the function is called.
	Prepare(ctx context.Context) (usual func(), err error)
	// Faults looks for damage that the database itself can find.
	Faults(ctx context.Context) ([]model.Fault, error)
}

// Carrier is a database that holds the tables.
type Carrier interface {
	// Read runs what in one transaction, which sees one state of the database. It may run what again. ReadOnce
	// does not; Retry does so for Read.
	Read(ctx context.Context, what func(Tx) error) error
	ReadOnce(ctx context.Context, what func(Tx) error) error
	Retry(ctx context.Context, once func() error) error
	// Write runs what in a transaction that writes, all of it or nothing, and runs it
	// again after ErrRaced. Each statement sees what was committed before it began.
	// WriteOnce does not run it again.
	Write(ctx context.Context, what func(Tx) error) error
	WriteOnce(ctx context.Context, what func(Tx) error) error
	// Watch returns a value for each of own, which tells of the changes of this Store,
	// and one after each change of another program. The channel is closed when own is.
	Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error)
	// Era counts the databases that have been at the address: a cursor is worth nothing
	// in another one, whose sessions may have the same names and numbers.
	Era() int64
	// Hazards are the warnings for a person before the head of a session moves.
	Hazards() []string
	// Close lets go of the database. A sequence that is still running ends first.
	Close() error
}

// Dialect holds the parts of statements that differ between databases.
type Dialect struct {
	// ByID is the table visits, for the queries that ask for an id in a session.
	ByID string
	// Counted is the condition for rows of visits that sessions.visits and sessions.orphaned count. They count
	// snapshots, and not the steps that an import brought with model.MarkTraced. Other columns of the row may
	// be damaged.
	Counted string
	// These clauses follow a query for rows to lock. Change locks rows that the transaction changes, Use rows
	// that it refers to. Keep locks rows that must not change until it ends. Free is Change for the rows that
	// no other transaction has locked, without the others. They are empty where one transaction writes at a
	// time.
	Change, Use, Keep, Free string
	// Time returns a time other than zero as a column holds it: as nanoseconds since 1970
	// or in RFC 3339.
	Time func(time.Time) any
}

// Store is Hindcast's own store in the database of a carrier. It has every capability
// of the port and is a model.Store of raw JSON states. It is safe for concurrent use,
// by several programs at once too. Use New.
type Store struct {
	kind, address string
	carrier       Carrier
	dialect       Dialect

	now    func() time.Time
	states states
	// openings has the user's first words in a state, by the hash of the state.
	openings sync.Map

	notifier store.Notifier
}

var (
	_ typed.Scoped[json.RawMessage] = (*Store)(nil)
	_ typed.Committer               = (*Store)(nil)
)

// Features returns the store's features.
func (s *Store) Features() store.Features {
	return store.Features{
		Tail: s.Tail, Peek: s.Peek, States: s.States, Compare: s.Compare, Ropes: s.Ropes, Fill: s.Fill,
		Record: s.Get, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth,
		Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal, PlanConvert: s.PlanConvert, PlanContinue: s.PlanContinue, Import: s.Import,
	}
}

// New returns the store of a kind at an address. now is where it takes the time from.
func New(kind, address string, carrier Carrier, dialect Dialect, now func() time.Time) *Store {
	return &Store{kind: kind, address: address, carrier: carrier, dialect: dialect, now: now, states: states{codec: newCodec()}}
}

// Kind returns the name of the kind.
func (s *Store) Kind() string { return s.kind }

// Address returns the address that was opened.
func (s *Store) Address() string { return s.address }

// Close lets go of the database, and ends what Watch gave. A sequence that is still
// running ends first.
func (s *Store) Close() error {
	s.notifier.Close()
	if err := s.carrier.Close(); err != nil {
		return fmt.Errorf("%s: close %q: %w", s.kind, s.address, err)
	}
	return nil
}

// Watch implements [store.Features].Watch. A write of this Store is told of at once, that of
// another as its carrier says. The error is fs.ErrClosed.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	changes, err := s.carrier.Watch(ctx, s.notifier.Listen(ctx))
	if err != nil {
		return nil, fmt.Errorf("%s: watch: %w", s.kind, err)
	}
	return changes, nil
}

// clock returns the time as it is kept.
func (s *Store) clock() time.Time { return s.now().UTC().Round(0) }

// tx is a transaction, with the words of its database.
type tx struct {
	Tx
	Dialect
}

// reading returns the words of a transaction that only reads: it locks nothing.
func (d Dialect) reading() Dialect {
	d.Change, d.Use, d.Keep, d.Free = "", "", "", ""
	return d
}

// time returns a time as a column holds it: null for the zero time.
func (t *tx) time(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return t.Time(at)
}

// eachRow calls row for each row of a query, which it scans.
func (t *tx) eachRow(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// inWriteTx adapts what to a transaction of the carrier that writes.
func (s *Store) inWriteTx(what func(*tx) error) func(Tx) error {
	return func(t Tx) error { return what(&tx{t, s.dialect}) }
}

// inReadTx adapts what to a transaction of the carrier that reads.
func (s *Store) inReadTx(what func(*tx) error) func(Tx) error {
	return func(t Tx) error { return what(&tx{t, s.dialect.reading()}) }
}

// withReadTx runs what in one transaction, so that it sees one state of the store. It runs
// it again when the store moved meanwhile.
func (s *Store) withReadTx(ctx context.Context, what func(t *tx) error) error {
	return s.carrier.Read(ctx, s.inReadTx(what))
}

// withWriteTx runs what in a transaction that writes, all of it or nothing, and tells
// watchers of it. It may run it again.
func (s *Store) withWriteTx(ctx context.Context, what func(t *tx) error) error {
	return s.notifyWritten(s.carrier.Write(ctx, s.inWriteTx(what)))
}

// notifyWritten tells watchers of a write that did not fail.
func (s *Store) notifyWritten(err error) error {
	if err == nil {
		s.notifier.Notify()
	}
	return err
}
