package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/native"
)

// dialect are the words of SQLite's. One transaction writes at a time, so that nothing is
// locked.
var dialect = native.Dialect{
	// Without statistics SQLite would go through the whole session instead.
	ByID:    "visits INDEXED BY visits_by_id",
	Counted: fmt.Sprintf("CASE WHEN json_valid(visits.extra) THEN ifnull(visits.extra ->> '$.marks', 0) & %d = 0 ELSE 1 END", model.MarkTraced),
	Time:    encodeTime,
}

// encodeTime returns a time as a column holds it: nanoseconds since 1970 where they can
// say it, else RFC 3339.
func encodeTime(t time.Time) any {
	if _, offset := t.Zone(); offset == 0 && t.Year() >= 1678 && t.Year() < 2262 {
		return t.UnixNano()
	}
	return t.Format(time.RFC3339Nano)
}

// carrier is the file of a store.
type carrier struct {
	file *sqlitefile.Own

	mu sync.Mutex
	// met is the last file that was at the path, files how many there were.
	met   fs.FileInfo
	files int64
}

func (c *carrier) Read(ctx context.Context, what func(native.Tx) error) error {
	return c.file.Read(ctx, onTx(what))
}

func (c *carrier) ReadOnce(ctx context.Context, what func(native.Tx) error) error {
	return c.file.ReadOnce(ctx, onTx(what))
}

func (c *carrier) Retry(ctx context.Context, once func() error) error {
	return sqlitefile.Retry(ctx, once)
}

func (c *carrier) Write(ctx context.Context, what func(native.Tx) error) error {
	err := c.file.Write(ctx, onTx(what))
	if errors.Is(err, fs.ErrPermission) {
		return &model.UnwritableError{Err: c.file.WhyDenied(err), Became: "nothing was changed"}
	}
	return err
}

// WriteOnce is Write, which SQLite takes up again only where nothing was read yet.
func (c *carrier) WriteOnce(ctx context.Context, what func(native.Tx) error) error {
	return c.Write(ctx, what)
}

func (c *carrier) Watch(ctx context.Context, own <-chan struct{}) (<-chan struct{}, error) {
	return c.file.Watch(ctx, own)
}

// Era counts the files that have been at the store's path.
func (c *carrier) Era() int64 {
	info, err := os.Stat(c.file.Path())
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && (c.met == nil || !os.SameFile(c.met, info)) {
		c.met = info
		c.files++
	}
	return c.files
}

// Hazards warns of another program that has the file open.
func (c *carrier) Hazards() []string {
	if _, err := os.Stat(c.file.Path() + "-wal"); c.file.Open() || err != nil {
		return nil
	}
	return []string{"another program has the store open, or was killed with it open: an agent that runs goes on from what it holds in memory, so stop it first"}
}

func (c *carrier) Close() error { return c.file.Close() }

// onTx adapts what to a transaction of the file.
func onTx(what func(native.Tx) error) func(*sqlitefile.Tx) error {
	return func(t *sqlitefile.Tx) error { return what(fileTx{t}) }
}

// fileTx is a transaction of the file.
type fileTx struct{ file *sqlitefile.Tx }

func (t fileTx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.file.Exec(ctx, query, args...)
	return err
}

func (t fileTx) Insert(ctx context.Context, _, query string, args ...any) (int64, error) {
	result, err := t.file.Exec(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		return 0, cmp.Or(err, sql.ErrNoRows)
	}
	return result.LastInsertId()
}

func (t fileTx) Row(ctx context.Context, query string, args ...any) native.Row {
	return t.file.Row(ctx, query, args...)
}

func (t fileTx) Rows(ctx context.Context, query string, args ...any) (native.Rows, error) {
	rows, err := t.file.Rows(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Values goes past database/sql, see "How visits are read" in package native.
func (t fileTx) Values(ctx context.Context, query string, args []any, give func([]driver.Value) error) error {
	named, err := sqlitefile.Values(nil, args)
	if err != nil {
		return err
	}
	return t.file.Conn().Raw(func(conn any) error {
		rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, named)
		if err != nil {
			return err
		}
		values := make([]driver.Value, len(rows.Columns()))
		for err == nil {
			if err = rows.Next(values); err == nil {
				err = give(values)
			}
		}
		if err == io.EOF {
			err = nil
		}
		return errors.Join(err, rows.Close())
	})
}

func (t fileTx) Fresh() error {
	if t.file.Stale() {
		return sqlitefile.ErrChanged
	}
	return nil
}

// LockJournal has nothing to do: no other transaction writes.
func (t fileTx) LockJournal(context.Context) error { return nil }

// LockDropped returns true, as no other transaction writes.
func (t fileTx) LockDropped(context.Context, int64) (free bool, err error) { return true, nil }

// importCache is how much of the file an import may keep in memory, in bytes. Writes to the indexes by ids and
// hashes are in random order, and evicted pages are read again. With this cache, 100,000 rows take a quarter
// less time than with SQLite's usual one.
const importCache = 128 << 20

// Prepare has the connection keep more of the file in memory, until usual is called.
func (t fileTx) Prepare(ctx context.Context) (usual func(), err error) {
	var size int64
	if err := t.Row(ctx, "PRAGMA cache_size").Scan(&size); err != nil {
		return nil, err
	}
	set := func(ctx context.Context, size int64) error {
		_, err := t.file.Conn().ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size = %d", size))
		return err
	}
	// That a connection keeps more than it would is no harm: it is closed with the store.
	return func() { _ = set(context.WithoutCancel(ctx), size) }, set(ctx, -importCache>>10)
}

// FaultDatabase is the code of damage that SQLite's own check found.
const FaultDatabase = "damaged-database"

// Faults runs SQLite's check of the whole file.
func (t fileTx) Faults(ctx context.Context) (faults []model.Fault, err error) {
	for _, pragma := range []string{"PRAGMA integrity_check(20)", "PRAGMA foreign_key_check"} {
		found, err := t.pragmaFaults(ctx, pragma)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

// pragmaFaults returns the messages of a check by SQLite as faults.
func (t fileTx) pragmaFaults(ctx context.Context, pragma string) (faults []model.Fault, err error) {
	rows, err := t.file.Rows(ctx, pragma)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		text := fmt.Sprint(*values[0].(*any))
		if text == "ok" {
			continue
		}
		if len(columns) > 1 {
			text = "a row of " + text + " refers to one that is not there"
		}
		faults = append(faults, model.Fault{Code: FaultDatabase, Severity: model.Loses, Meaning: text, Verdict: "SQLite may refuse to read parts of the store"})
	}
	return faults, rows.Err()
}
