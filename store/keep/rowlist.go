package keep

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"hindcast/store/engine"
	"hindcast/store/media/sqlitefile"
)

// The rows of a session are kept as one file, which describes itself:
//
//	hindcast rows 1
//	K  the values that name the session in its rows
//	T  table, whether its rows are shared, the statements of its schema, its columns
//	R  row id (NULL without one), a value for each column
//	E
//
// A value has its storage class in front: n, or i and a varint, r and 8 bytes, t or b and the length and the bytes. So a value is
// as it was, byte for byte. A reader holds one row at a time.
const rowsMagic = "hindcast rows 1\n"

// mostValue bounds a value of a row, in bytes, as SQLite does.
const mostValue = 1_000_000_000

// rowTable is a table of a list of rows.
type rowTable struct {
	name    string
	shared  bool
	schema  []string
	columns []string
}

// rowCursor is a query that is being read.
type rowCursor interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}

// rowReader reads the rows of one session after another, each as a file. It is of one transaction.
type rowReader struct {
	ctx context.Context
	t   *sqlitefile.Tx
	of  *engine.SessionRows
	// tables have the schemas that were read, by their names: in a transaction they stay as they are.
	tables map[string]*queriedTable
	// mask hides the secrets in bytes, and returns how many it hid; nil leaves them. hidden counts all.
	mask   func([]byte) int
	hidden int

	buf    []byte
	from   int
	next   int // the set that comes next
	cursor rowCursor
	values []any
	into   []any
	end    bool
}

// rewind implements content.
func (r *rowReader) rewind() error {
	err := r.closeCursor()
	r.buf, r.from, r.next, r.end, r.hidden = append(append(r.buf[:0], rowsMagic...), 'K'), 0, 0, false, 0
	r.buf = binary.AppendUvarint(r.buf, uint64(len(r.of.Key)))
	for _, v := range r.of.Key {
		err = errors.Join(err, r.appendValue(v))
	}
	return err
}

func (r *rowReader) closeCursor() (err error) {
	if r.cursor != nil {
		err, r.cursor = r.cursor.Close(), nil
	}
	return err
}

// Read implements io.Reader.
func (r *rowReader) Read(p []byte) (n int, err error) {
	for r.from == len(r.buf) {
		if r.end {
			return 0, io.EOF
		}
		r.buf, r.from = r.buf[:0], 0
		if err := r.fillBuffer(); err != nil {
			return 0, errors.Join(err, r.closeCursor())
		}
	}
	n = copy(p, r.buf[r.from:])
	r.from += n
	return n, nil
}

// fillBuffer puts the next table, row or end into the buffer.
func (r *rowReader) fillBuffer() error {
	switch {
	case r.cursor == nil && r.next == len(r.of.Sets):
		r.buf, r.end = append(r.buf, 'E'), true
		return nil
	case r.cursor == nil:
		r.next++
		return r.openSet(&r.of.Sets[r.next-1])
	case !r.cursor.Next():
		return errors.Join(r.cursor.Err(), r.closeCursor())
	}
	if err := r.cursor.Scan(r.into...); err != nil {
		return err
	}
	r.buf = append(r.buf, 'R')
	for i, v := range r.values {
		begins := len(r.buf)
		if err := r.appendValue(v); err != nil {
			return err
		}
		if class := r.buf[begins]; r.mask != nil && i > 0 && (class == 't' || class == 'b') {
			_, n := binary.Uvarint(r.buf[begins+1:])
			r.hidden += r.mask(r.buf[begins+1+n:])
		}
	}
	return r.ctx.Err()
}

// queriedTable is a table of a database as its rows are asked for.
type queriedTable struct {
	rowTable
	query, order string // around the condition
}

// openSet begins to read a set of rows. It passes over a table that the database lacks.
func (r *rowReader) openSet(set *engine.RowSet) error {
	table, err := r.findTable(set.Table)
	if err != nil || len(table.columns) == 0 {
		return err
	}
	table.shared = set.Shared
	r.buf = table.appendTo(r.buf)
	args := r.of.Key[:min(len(r.of.Key), countParameters(set.Where))]
	rows, err := r.t.Rows(r.ctx, table.query+set.Where+table.order, args...)
	if err != nil {
		return err
	}
	r.cursor, r.values, r.into = rows, make([]any, len(table.columns)+1), nil
	for i := range r.values {
		r.into = append(r.into, &r.values[i])
	}
	return nil
}

// findTable returns a table, which it reads the schema of once. A missing table has no columns.
func (r *rowReader) findTable(name string) (*queriedTable, error) {
	if table := r.tables[name]; table != nil {
		return table, nil
	}
	found, keyed, err := readSchema(r.ctx, r.t, name)
	if err != nil {
		return nil, err
	}
	quoted := make([]string, len(found.columns))
	for i, column := range found.columns {
		quoted[i] = "+" + sqlitefile.QuoteName(column) // by itself it would come as its declared type says, such as a time
	}
	id, order := "rowid", "rowid"
	if keyed {
		id, order = "NULL", "1"
		for i := range found.columns {
			order += fmt.Sprint(", ", i+2)
		}
	}
	table := &queriedTable{found, "SELECT " + id + ", " + strings.Join(quoted, ", ") + " FROM " + sqlitefile.QuoteName(name) + " WHERE ", " ORDER BY " + order}
	if r.tables == nil {
		r.tables = map[string]*queriedTable{}
	}
	r.tables[name] = table
	return table, nil
}

// countParameters returns the greatest number of a parameter in a condition.
func countParameters(where string) (most int) {
	for i := range where {
		if where[i] == '?' && i+1 < len(where) {
			most = max(most, int(where[i+1]-'0'))
		}
	}
	return most
}

// readSchema reads the schema of a table. A missing table has no columns. keyed reports whether its rows have no ids.
func readSchema(ctx context.Context, t *sqlitefile.Tx, name string) (table rowTable, keyed bool, err error) {
	table = rowTable{name: name}
	if has, err := t.Columns(ctx, name); err != nil || len(has) == 0 {
		return table, false, err
	}
	if err := t.Each(ctx, func(scan func(...any) error) error {
		var column string
		err := scan(&column)
		table.columns = append(table.columns, column)
		return err
	}, "SELECT name FROM pragma_table_info(?, 'main')", name); err != nil {
		return table, false, err
	}
	if err := t.Each(ctx, func(scan func(...any) error) error {
		var sql string
		err := scan(&sql)
		table.schema = append(table.schema, sql)
		return err
	}, "SELECT sql FROM main.sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL AND type IN ('table', 'index') ORDER BY type DESC, name", name); err != nil {
		return table, false, err
	}
	_, err = t.First(ctx, []any{&keyed}, "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'", name)
	return table, keyed, err
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// appendTo appends the table to a list of rows.
func (t *rowTable) appendTo(dst []byte) []byte {
	dst = append(dst, 'T')
	dst = appendText(dst, t.name)
	shared := byte(0)
	if t.shared {
		shared = 1
	}
	dst = append(dst, shared)
	for _, texts := range [][]string{t.schema, t.columns} {
		dst = binary.AppendUvarint(dst, uint64(len(texts)))
		for _, text := range texts {
			dst = appendText(dst, text)
		}
	}
	return dst
}

func (r *rowReader) appendValue(v any) error {
	switch v := v.(type) {
	case nil:
		r.buf = append(r.buf, 'n')
	case int64:
		r.buf = binary.AppendVarint(append(r.buf, 'i'), v)
	case float64:
		r.buf = binary.BigEndian.AppendUint64(append(r.buf, 'r'), math.Float64bits(v))
	case string:
		r.buf = appendText(append(r.buf, 't'), v)
	case []byte:
		r.buf = appendText(append(r.buf, 'b'), v)
	default:
		return fmt.Errorf("a value is a %T", v)
	}
	return nil
}

// keptRow is a row of a list: at is its row id, or nil.
type keptRow struct {
	table  *rowTable
	at     any
	values []any
}

// readRows calls a function with each table of a list of rows, and with each row. A row without values stands for its table. key are the
// values that name the session.
func readRows(from io.Reader, found func(keptRow) error) (key []string, err error) {
	d := rowDecoder{bufio.NewReaderSize(from, 1<<20)}
	magic := make([]byte, len(rowsMagic))
	if _, err := io.ReadFull(d, magic); err != nil || string(magic) != rowsMagic {
		return nil, cmpDamage(err, "it is no list of rows")
	}
	if key, err = d.readKey(); err != nil {
		return nil, err
	}
	var table *rowTable
	for {
		kind, err := d.ReadByte()
		switch {
		case err != nil:
			return key, cmpDamage(err, "a list of rows has no end")
		case kind == 'E':
			return key, nil
		case kind == 'T':
			if table, err = d.readTable(); err != nil {
				return key, err
			}
			if err := found(keptRow{table: table}); err != nil {
				return key, err
			}
		case kind == 'R' && table != nil:
			row := keptRow{table: table, values: make([]any, len(table.columns))}
			if row.at, err = d.readValue(); err != nil {
				return key, err
			}
			for i := range row.values {
				if row.values[i], err = d.readValue(); err != nil {
					return key, err
				}
			}
			if err := found(row); err != nil {
				return key, err
			}
		default:
			return key, fmt.Errorf("%w: a list of rows has a record %q", ErrDamaged, kind)
		}
	}
}

// cmpDamage returns an error, or that the archive is damaged.
func cmpDamage(err error, what string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return err
}

// rowDecoder reads a list of rows.
type rowDecoder struct{ *bufio.Reader }

func (d rowDecoder) readText() ([]byte, error) {
	n, err := binary.ReadUvarint(d)
	if err != nil || n > mostValue {
		return nil, cmpDamage(err, "a value is too long")
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(d, data); err != nil {
		return nil, cmpDamage(err, "a value is cut")
	}
	return data, nil
}

func (d rowDecoder) readKey() (key []string, err error) {
	kind, err := d.ReadByte()
	if err != nil || kind != 'K' {
		return nil, cmpDamage(err, "a list of rows names no session")
	}
	n, err := binary.ReadUvarint(d)
	if err != nil {
		return nil, cmpDamage(err, "a list of rows is cut")
	}
	for range n {
		v, err := d.readValue()
		if err != nil {
			return nil, err
		}
		text, _ := v.(string)
		key = append(key, text)
	}
	return key, nil
}

func (d rowDecoder) readTexts() (list []string, err error) {
	n, err := binary.ReadUvarint(d)
	if err != nil || n > 1<<16 {
		return nil, cmpDamage(err, "a table has too many columns")
	}
	for range n {
		text, err := d.readText()
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

func (d rowDecoder) readTable() (*rowTable, error) {
	name, err := d.readText()
	if err != nil {
		return nil, err
	}
	shared, err := d.ReadByte()
	if err != nil {
		return nil, cmpDamage(err, "a table is cut")
	}
	t := &rowTable{name: string(name), shared: shared != 0}
	if t.schema, err = d.readTexts(); err == nil {
		t.columns, err = d.readTexts()
	}
	return t, err
}

func (d rowDecoder) readValue() (any, error) {
	class, err := d.ReadByte()
	if err != nil {
		return nil, cmpDamage(err, "a row is cut")
	}
	switch class {
	case 'n':
		return nil, nil
	case 'i':
		v, err := binary.ReadVarint(d)
		if err != nil {
			err = cmpDamage(err, "a row is cut")
		}
		return v, err
	case 'r':
		var bits [8]byte
		if _, err := io.ReadFull(d, bits[:]); err != nil {
			return nil, cmpDamage(err, "a row is cut")
		}
		return math.Float64frombits(binary.BigEndian.Uint64(bits[:])), nil
	case 't':
		text, err := d.readText()
		return string(text), err
	case 'b':
		data, err := d.readText()
		return data, err
	}
	return nil, fmt.Errorf("%w: a value of class %q", ErrDamaged, class)
}
