package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Tx is a transaction: one connection, and the statements prepared on it.
type Tx struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	// changing are the statements of Exec, and args the values of the last one.
	changing map[string]driver.Stmt
	args     []driver.NamedValue
	stale    func() bool
	// columns are those of the tables that were asked for, until the transaction itself may make others.
	columns map[string]map[string]bool
	// kept is the value that Keep keeps, nil if the file may change under it.
	kept *kept
}

// Stale reports whether the file moved since it was opened, so that rows may be wrong.
func (t *Tx) Stale() bool { return t.stale() }

// prepareStatement returns a statement, which is kept until the transaction ends.
func (t *Tx) prepareStatement(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement := t.statements[query]; statement != nil {
		return statement, nil
	}
	statement, err := t.conn.PrepareContext(ctx, query)
	if err == nil {
		t.statements[query] = statement
	}
	return statement, err
}

// Exec runs a statement that changes rows. It goes past database/sql, which takes as long
// as SQLite itself for a row that is inserted.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	if t.args, err = Values(t.args[:0], args); err != nil {
		return nil, err
	}
	err = t.conn.Raw(func(conn any) error {
		statement := t.changing[query]
		if statement == nil {
			if statement, err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, query); err != nil {
				return err
			}
			t.changing[query] = statement
			clear(t.columns)
		}
		result, err = statement.(driver.StmtExecContext).ExecContext(ctx, t.args)
		return err
	})
	return result, err
}

// QuoteName returns how a statement names a table or a column.
func QuoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Values appends the arguments of a statement to dst, as a driver takes them.
func Values(dst []driver.NamedValue, args []any) ([]driver.NamedValue, error) {
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		dst = append(dst, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return dst, nil
}

// Conn returns the connection, for calls that go past database/sql.
func (t *Tx) Conn() *sql.Conn {
	clear(t.columns)
	return t.conn
}

// Rows returns the rows of a query. The caller closes them.
func (t *Tx) Rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	statement, err := t.prepareStatement(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...)
}

// Each runs row on each row of a query, which it scans.
func (t *Tx) Each(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := ownValues(rows.Scan)
	for rows.Next() {
		if err := row(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// First scans the first row of a query, and reports false if there are no rows.
func (t *Tx) First(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	err = t.Row(ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Row returns the first row of a query.
func (t *Tx) Row(ctx context.Context, query string, args ...any) interface{ Scan(into ...any) error } {
	statement, err := t.prepareStatement(ctx, query)
	if err != nil {
		// It fails in the same way, and the row carries the error.
		return firstRow(t.conn.QueryRowContext(ctx, query, args...).Scan)
	}
	return firstRow(statement.QueryRowContext(ctx, args...).Scan)
}

// firstRow scans a row.
type firstRow func(into ...any) error

func (scan firstRow) Scan(into ...any) error { return ownValues(scan)(into...) }

// ownValues returns a scan that takes the values of the driver over: database/sql copies each into a []byte.
// The driver makes them for each row, and uses none of them again.
func ownValues(scan func(into ...any) error) func(into ...any) error {
	return func(into ...any) error {
		for i := range into {
			if b, is := into[i].(*[]byte); is {
				into[i] = (*owned)(b)
			}
		}
		return scan(into...)
	}
}

// owned is bytes that a value is scanned into without a copy.
type owned []byte

// Scan implements sql.Scanner.
func (o *owned) Scan(value any) error {
	switch v := value.(type) {
	case string:
		if *o = []byte{}; v != "" {
			*o = unsafe.Slice(unsafe.StringData(v), len(v))
		}
	case []byte:
		*o = v
	default:
		var other sql.Null[[]byte]
		err := other.Scan(value)
		*o = other.V
		return err
	}
	return nil
}

// record is a value of a row by the name of its column: a text or a blob is a string, without a copy.
type record struct{ value any }

// Scan implements sql.Scanner.
func (r *record) Scan(value any) error {
	if blob, is := value.([]byte); is {
		value = unsafe.String(unsafe.SliceData(blob), len(blob))
	}
	r.value = value
	return nil
}

// Records runs row on each row of a query, by the names of its columns: texts and blobs are
// strings. It is for tables whose columns differ from version to version.
func (t *Tx) Records(ctx context.Context, row func(map[string]any) error, query string, args ...any) error {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	values, into := make([]record, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for err == nil && rows.Next() {
		if err = rows.Scan(into...); err != nil {
			return err
		}
		named := make(map[string]any, len(columns))
		for i, column := range columns {
			named[column], values[i].value = values[i].value, nil
		}
		err = row(named)
	}
	return cmp.Or(err, rows.Err())
}

// Columns returns the columns of a table, no columns if there is no such table. A view and a
// virtual table have no columns here: their rows may never end. The map is lent.
func (t *Tx) Columns(ctx context.Context, table string) (map[string]bool, error) {
	if has := t.columns[table]; has != nil {
		return has, nil
	}
	has := map[string]bool{}
	err := t.Each(ctx, func(scan func(...any) error) error {
		var column string
		err := scan(&column)
		has[column] = true
		return err
	}, "SELECT c.name FROM main.sqlite_schema s, pragma_table_info(s.name, 'main') c WHERE "+isTable+" AND s.name = ? COLLATE NOCASE", table)
	if err == nil {
		t.columns[table] = has
	}
	return has, err
}

// Limit bounds the values that the transaction reads and writes, in bytes. A statement that comes
// to a larger one fails with ErrTooLarge, before the value is read.
func (t *Tx) Limit(most int) error {
	_, err := sqlite.Limit(t.conn, lib.SQLITE_LIMIT_LENGTH, most)
	return err
}

// isTable is the condition that a row of sqlite_schema, s, is a table with pages of its own.
const isTable = "s.type = 'table' AND s.rootpage > 0"

// Instead names the object that a database has in place of a table: "a view" or "a
// virtual table"; "" for a table and for nothing.
func (t *Tx) Instead(ctx context.Context, name string) (what string, err error) {
	_, err = t.First(ctx, []any{&what}, "SELECT iif(s.type = 'view', 'a view', 'a virtual table') FROM main.sqlite_schema s "+
		"WHERE s.type IN ('table', 'view') AND NOT ("+isTable+") AND s.name = ? COLLATE NOCASE", name)
	return what, err
}

// HasAny reports whether the database has one of some names for a table, a view or a virtual table.
func (t *Tx) HasAny(ctx context.Context, names iter.Seq[string]) (has bool, err error) {
	var list []any
	for name := range names {
		list = append(list, name)
	}
	if list == nil {
		return false, nil
	}
	err = t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema s WHERE s.type IN ('table', 'view') AND s.name COLLATE NOCASE IN (?"+
		strings.Repeat(", ?", len(list)-1)+"))", list...).Scan(&has)
	return has, err
}

// Lack is a table that a database lacks, or columns of it.
type Lack struct {
	// Table is its name, and Gone says that the database has no such table.
	Table string
	Gone  bool
	// Columns are those that it lacks, of so many that are asked for.
	Columns []string
	Of      int
}

// ListLacks returns the tables that the database lacks, in whole or in part, by their names. tables has the columns of each, with
// spaces between them.
func (t *Tx) ListLacks(ctx context.Context, tables map[string]string) (list []Lack, err error) {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		has, err := t.Columns(ctx, table)
		if err != nil {
			return nil, err
		}
		columns := strings.Fields(tables[table])
		of := len(columns)
		if columns = slices.DeleteFunc(columns, func(column string) bool { return has[column] }); len(columns) > 0 {
			list = append(list, Lack{table, len(has) == 0, columns, of})
		}
	}
	return list, nil
}

// DescribeLacks tells what a database lacks: "the table writes, and in checkpoints type, metadata".
func DescribeLacks(list []Lack) string {
	texts := make([]string, len(list))
	for i, lack := range list {
		if texts[i] = "in " + lack.Table + " " + strings.Join(lack.Columns, ", "); lack.Gone {
			texts[i] = "the table " + lack.Table
		}
	}
	return strings.Join(texts, ", and ")
}

// Tables returns the names of the tables with pages of their own, in order.
func (t *Tx) Tables(ctx context.Context) (names []string, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	}, "SELECT s.name FROM main.sqlite_schema s WHERE "+isTable+" ORDER BY s.name")
	return names, err
}

// Check runs SQLite's check of the whole file, and returns its complaints, in its words.
func (t *Tx) Check(ctx context.Context) (complaints []string, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var text string
		err := scan(&text)
		if text != "ok" {
			complaints = append(complaints, text)
		}
		return err
	}, "PRAGMA integrity_check(20)")
	if IsDamage(err) { // the check itself gave up there
		return append(complaints, err.Error()), nil
	}
	return complaints, err
}

// Define runs a statement that makes tables or views, which only [File.Suppose] may.
func (t *Tx) Define(ctx context.Context, query string) error {
	clear(t.columns)
	_, err := t.conn.ExecContext(ctx, query)
	return err
}

// close lets go of the statements and the connection.
func (t *Tx) close() error {
	var errs []error
	for _, statement := range t.statements {
		errs = append(errs, statement.Close())
	}
	for _, statement := range t.changing {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, t.conn.Close())...)
}

// runTransaction runs what between begin and COMMIT, or ROLLBACK if it fails.
func (f *File) runTransaction(ctx context.Context, h *handle, begin func(context.Context, *sql.Conn) error, what func(t *Tx) error) (err error) {
	defer func() {
		if isCode(err, lib.SQLITE_IOERR) && isFull(filepath.Dir(f.path)) {
			err = fmt.Errorf("%w (%w)", syscall.ENOSPC, err) // SQLite has other codes where it makes its own files
		}
	}()
	c, err := openConn(ctx, h.db)
	if err != nil {
		return explainError(err)
	}
	t := &Tx{conn: c, statements: map[string]*sql.Stmt{}, changing: map[string]driver.Stmt{}, columns: map[string]map[string]bool{}, stale: func() bool { return f.isStale(h) }}
	if h.access == immutable || h.access == made {
		t.kept = &h.kept
	}
	release, err := interruptWhenDone(ctx, c)
	if err != nil {
		return errors.Join(err, t.close())
	}
	defer func() {
		release()
		err = preferContext(ctx, errors.Join(err, t.close()))
	}()
	if err := begin(ctx, c); err != nil {
		return explainError(err)
	}
	open := true
	defer func() {
		release()
		if open {
			_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, undo)
		}
	}()
	if err := what(t); err != nil {
		return explainError(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	release()
	end := "COMMIT"
	if !h.isForWriting() { // behind a damaged page SQLite fails to commit, also where there is nothing
		end = "ROLLBACK"
	}
	if _, err := c.ExecContext(context.WithoutCancel(ctx), end); err != nil {
		return explainError(err)
	}
	open = false
	return nil
}
