package native

import (
	"context"
	"database/sql/driver"
	"errors"

	"hindcast/model"
)

// Transaction is one of the package's own.
type Transaction = tx

// ErrStopped ends a reading whose consumer has had enough.
var ErrStopped = errStopped

// Change runs what in a transaction that writes.
func (s *Store) Change(ctx context.Context, what func(*Transaction) error) error {
	return s.withWriteTx(ctx, what)
}

// Look returns the state of a snapshot of the first session.
func (s *Store) Look(ctx context.Context, t *Transaction, id string) ([]byte, error) {
	return s.stateOf(ctx, t, session{key: 1}, model.Ref{ID: id})
}

// CheckStates looks for damage of all kinds.
func (s *Store) CheckStates(ctx context.Context, t *Transaction) (errs error) {
	for _, check := range []func(context.Context, *tx) ([]model.Fault, error){s.states.blockFaults, s.states.partFaults, s.states.recordFaults} {
		_, err := check(ctx, t)
		errs = errors.Join(errs, err)
	}
	return errs
}

// Sabotage carries a restore out, runs a statement behind its back, and reads back.
func (s *Store) Sabotage(ctx context.Context, plan model.Plan, statement string) error {
	return s.withWriteTx(ctx, func(t *tx) error {
		e, err := s.applyRestore(ctx, t, plan)
		if err != nil {
			return err
		}
		if err := t.Exec(ctx, statement); err != nil {
			return err
		}
		_, err = s.verifyPlan(ctx, t, plan, e)
		return err
	})
}

// All calls give with the headers of a session, as a listing does.
func (s *Store) All(ctx context.Context, id string, give func([]model.Header) error) error {
	return s.withReadTx(ctx, func(t *tx) error {
		ss, err := findSession(ctx, t, id)
		if err != nil {
			return err
		}
		l := listing{tx: t, session: ss}
		return l.allHeaders(ctx, give)
	})
}

// counting is a carrier that counts the rows which queries go to.
type counting struct {
	Carrier
	rows *int
}

func (c counting) Read(ctx context.Context, what func(Tx) error) error {
	return c.Carrier.Read(ctx, func(t Tx) error { return what(countingTx{t, c.rows}) })
}

type countingTx struct {
	Tx
	rows *int
}

func (t countingTx) Rows(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := t.Tx.Rows(ctx, query, args...)
	return countingRows{rows, t.rows}, err
}

type countingRows struct {
	Rows
	rows *int
}

func (r countingRows) Next() bool {
	*r.rows++
	return r.Rows.Next()
}

// RowsRead returns how many rows are gone to while a function reads the store.
func (s *Store) RowsRead(read func()) (rows int) {
	defer func(c Carrier) { s.carrier = c }(s.carrier)
	s.carrier = counting{s.carrier, &rows}
	read()
	return rows
}

// ErrCall is that of a call that fails, see FailAt.
var ErrCall = errors.New("the call failed")

// failing is a carrier one of whose calls fails, once.
type failing struct {
	Carrier
	calls *int
	at    int
}

func (f failing) within(what func(Tx) error) func(Tx) error {
	return func(t Tx) error { return what(failingTx{t, f}) }
}

func (f failing) Read(ctx context.Context, what func(Tx) error) error {
	return f.Carrier.Read(ctx, f.within(what))
}

func (f failing) ReadOnce(ctx context.Context, what func(Tx) error) error {
	return f.Carrier.ReadOnce(ctx, f.within(what))
}

func (f failing) Write(ctx context.Context, what func(Tx) error) error {
	return f.Carrier.Write(ctx, f.within(what))
}

func (f failing) WriteOnce(ctx context.Context, what func(Tx) error) error {
	return f.Carrier.WriteOnce(ctx, f.within(what))
}

func (f failing) ask() error {
	if *f.calls++; *f.calls == f.at {
		return ErrCall
	}
	return nil
}

type failingTx struct {
	Tx
	f failing
}

type failedRow struct{ error }

func (r failedRow) Scan(...any) error { return r.error }

func (t failingTx) Exec(ctx context.Context, query string, args ...any) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.Tx.Exec(ctx, query, args...)
}

func (t failingTx) Insert(ctx context.Context, key, query string, args ...any) (int64, error) {
	if err := t.f.ask(); err != nil {
		return 0, err
	}
	return t.Tx.Insert(ctx, key, query, args...)
}

func (t failingTx) Row(ctx context.Context, query string, args ...any) Row {
	if err := t.f.ask(); err != nil {
		return failedRow{err}
	}
	return t.Tx.Row(ctx, query, args...)
}

func (t failingTx) Rows(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.Tx.Rows(ctx, query, args...)
}

func (t failingTx) Values(ctx context.Context, query string, args []any, give func([]driver.Value) error) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.Tx.Values(ctx, query, args, give)
}

func (t failingTx) LockJournal(ctx context.Context) error {
	if err := t.f.ask(); err != nil {
		return err
	}
	return t.Tx.LockJournal(ctx)
}

func (t failingTx) LockDropped(ctx context.Context, state int64) (bool, error) {
	if err := t.f.ask(); err != nil {
		return false, err
	}
	return t.Tx.LockDropped(ctx, state)
}

func (t failingTx) Prepare(ctx context.Context) (func(), error) {
	if err := t.f.ask(); err != nil {
		return nil, err
	}
	return t.Tx.Prepare(ctx)
}

// FailAt has the n-th call of the database fail while a function runs, and returns how many there
// were.
func (s *Store) FailAt(n int, do func()) (calls int) {
	defer func(c Carrier) { s.carrier = c }(s.carrier)
	s.carrier = failing{s.carrier, &calls, n}
	do()
	return calls
}
