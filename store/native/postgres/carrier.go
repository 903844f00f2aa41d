package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"hindcast/model"
	"hindcast/store/media/pg"
	"hindcast/store/native"
)

// dialect are the words of PostgreSQL's.
var dialect = native.Dialect{
	ByID: "visits",
	// The marks are the last that model's JSON of a row says. In a text they would be
	// behind a backslash.
	Counted: fmt.Sprintf(`coalesce(cast(substring(visits.extra from '"marks":([0-9]{1,9})\}$') AS bigint), 0) & %d = 0`, model.MarkTraced),
	Change:  " FOR NO KEY UPDATE",
	Use:     " FOR KEY SHARE",
	Keep:    " FOR SHARE",
	Free:    " FOR NO KEY UPDATE SKIP LOCKED",
	Time:    func(t time.Time) any { return t.Format(time.RFC3339Nano) },
}

// carrier is the database of a store.
type carrier struct{ own *pg.Own }

func (c *carrier) Read(ctx context.Context, what func(native.Tx) error) error {
	return c.own.Read(ctx, onTx(what))
}

func (c *carrier) ReadOnce(ctx context.Context, what func(native.Tx) error) error {
	return c.own.Read(ctx, onTx(what))
}

// Retry runs once: what a transaction reads is of one moment, whatever is written.
func (c *carrier) Retry(_ context.Context, once func() error) error { return once() }

func (c *carrier) Write(ctx context.Context, what func(native.Tx) error) error {
	return c.own.Write(ctx, onTx(what))
}

func (c *carrier) WriteOnce(ctx context.Context, what func(native.Tx) error) error {
	return c.own.WriteOnce(ctx, onTx(what))
}

func (c *carrier) Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error) {
	return c.own.Watch(ctx, own, pg.Watching{Channel: "hindcast"})
}

// Era is always the same: a database keeps its name.
func (c *carrier) Era() int64 { return 1 }

// Hazards returns nil, because a program that records learns that its session moved.
func (c *carrier) Hazards() []string { return nil }

func (c *carrier) Close() error { return c.own.Close() }

// onTx adapts what to a transaction of the database.
func onTx(what func(native.Tx) error) func(*pg.Tx) error {
	return func(t *pg.Tx) error { return what(serverTx{t}) }
}

// serverTx is a transaction of the database.
type serverTx struct{ tx *pg.Tx }

func (t serverTx) Exec(_ context.Context, query string, args ...any) error {
	return t.tx.Later(query, pg.EscapeAll(args)...)
}

func (t serverTx) Insert(ctx context.Context, key, query string, args ...any) (value int64, err error) {
	err = t.Row(ctx, query+" RETURNING "+key, args...).Scan(&value)
	return value, err
}

func (t serverTx) Row(ctx context.Context, query string, args ...any) native.Row {
	return row{t.tx.Row(ctx, query, pg.EscapeAll(args)...)}
}

// row is a row with any texts.
type row struct{ native.Row }

func (r row) Scan(into ...any) error {
	err := r.Row.Scan(into...)
	if err == nil {
		pg.UnescapeAll(into)
	}
	return err
}

func (t serverTx) Rows(ctx context.Context, query string, args ...any) (native.Rows, error) {
	r, err := t.tx.Rows(ctx, query, pg.EscapeAll(args)...)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: r}, nil
}

// rows are rows that sql.RawBytes can be scanned from, without a copy.
type rows struct {
	*pg.Rows
	into []any
}

// Scan leaves the columns out that are taken as they came.
func (r *rows) Scan(into ...any) error {
	r.into = append(r.into[:0], into...)
	for i, to := range r.into {
		if raw, is := to.(*sql.RawBytes); is {
			*raw, r.into[i] = r.RawValues()[i], nil
			if r.FieldDescriptions()[i].DataTypeOID == pgtype.TextOID {
				*raw = sql.RawBytes(pg.Unescape(string(*raw)))
			}
		}
	}
	if err := r.Rows.Scan(r.into...); err != nil {
		return err
	}
	pg.UnescapeAll(r.into)
	return nil
}

// Values takes numbers of eight bytes and texts as they came.
func (t serverTx) Values(ctx context.Context, query string, args []any, give func([]driver.Value) error) error {
	r, err := t.tx.Rows(ctx, query, pg.EscapeAll(args)...)
	if err != nil {
		return err
	}
	defer r.Close()
	var values []driver.Value
	for r.Next() {
		values = values[:0]
		for i, raw := range r.RawValues() {
			values = append(values, value(r.FieldDescriptions()[i].DataTypeOID, raw))
		}
		if err := give(values); err != nil {
			return err
		}
	}
	return r.Err()
}

func value(oid uint32, raw []byte) driver.Value {
	switch {
	case raw == nil:
		return nil
	case oid == pgtype.Int8OID && len(raw) == 8:
		return int64(binary.BigEndian.Uint64(raw))
	case oid == pgtype.TextOID:
		return pg.Unescape(string(raw))
	}
	return raw
}

// Fresh returns nil: a transaction sees one state of the database.
func (t serverTx) Fresh() error { return nil }

func (t serverTx) LockJournal(ctx context.Context) error {
	return t.Exec(ctx, "LOCK TABLE journal IN SHARE ROW EXCLUSIVE MODE")
}

// LockDropped takes a lock that no table has, by a number that no other program takes, and then
// that of the row.
func (t serverTx) LockDropped(ctx context.Context, state int64) (free bool, err error) {
	if err := t.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('hindcast.states', ?))", state); err != nil {
		return false, err
	}
	err = t.Row(ctx, "SELECT true FROM states WHERE state = ? FOR UPDATE SKIP LOCKED", state).Scan(&free)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return free, err
}

// Prepare has nothing to do.
func (t serverTx) Prepare(context.Context) (usual func(), err error) { return func() {}, nil }

// Faults returns nil, because the server checks its pages and references itself.
func (t serverTx) Faults(context.Context) ([]model.Fault, error) { return nil, nil }
