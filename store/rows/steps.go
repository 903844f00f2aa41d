package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hindcast/store/sqlitefile"
)

// Row is a row of a table exactly as it is stored, by its columns: nil, int64, float64,
// string or []byte. The bytes are not written to.
type Row map[string]any

// With returns the row with another value in a column.
func (r Row) With(column string, value any) Row {
	other := maps.Clone(r)
	other[column] = value
	return other
}

// Text returns what a column has, as text; "" of one that is NULL.
func (r Row) Text(column string) string { return string(r.Bytes(column)) }

// Bytes returns what a column has, if that is text or bytes.
func (r Row) Bytes(column string) []byte {
	switch v := r[column].(type) {
	case string:
		return []byte(v)
	case []byte:
		return v
	}
	return nil
}

// As returns text in the type that a column has: text or bytes.
func (r Row) As(column string, text []byte) any {
	if _, is := r[column].(string); is {
		return string(text)
	}
	return text
}

func (r Row) equal(other Row) bool {
	return (r == nil) == (other == nil) && maps.EqualFunc(r, other, func(a, b any) bool {
		x, isBytes := a.([]byte)
		y, areBytes := b.([]byte)
		if isBytes && areBytes {
			return bytes.Equal(x, y)
		}
		return isBytes == areBytes && a == b
	})
}

// Step is one row of one table that changes: the row before, nil of one that comes, and
// after, nil of one that goes. Its primary key stays.
type Step struct {
	Table         string `json:"table"`
	Before, After Row
	// At is the row id of a row that was there, by which it comes back; 0 where it is not
	// known.
	At int64 `json:"at,omitempty"`
}

// Rows returns rows of a table as they are stored, by a condition behind the table's name:
// " WHERE … ORDER BY …".
func Rows(ctx context.Context, t *sqlitefile.Tx, table, where string, args ...any) (list []Row, err error) {
	err = eachRow(ctx, t, table, where, func(_ int64, r Row) { list = append(list, r) }, args...)
	return list, err
}

func eachRow(ctx context.Context, t *sqlitefile.Tx, table, where string, row func(at int64, r Row), args ...any) error {
	columns, _, err := shape(ctx, t, table)
	if err != nil {
		return err
	}
	// A column by itself would come as its declared type says, such as a time.
	query := "SELECT rowid"
	for _, c := range columns {
		query += ", +" + quoted(c)
	}
	return t.Each(ctx, func(scan func(...any) error) error {
		var at int64
		values, into := make([]any, len(columns)), []any{&at}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		r := make(Row, len(columns))
		for i, c := range columns {
			if data, is := values[i].([]byte); is {
				values[i] = append([]byte{}, data...)
			}
			r[c] = values[i]
		}
		row(at, r)
		return nil
	}, query+" FROM "+quoted(table)+where, args...)
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// shape returns the columns of a table in the file, and those of its primary key.
func shape(ctx context.Context, t *sqlitefile.Tx, table string) (columns, key []string, err error) {
	keys := map[int]string{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var column string
		var place int
		err := scan(&column, &place)
		columns = append(columns, column)
		if place > 0 {
			keys[place] = column
		}
		return err
	}, "SELECT name, pk FROM pragma_table_info(?, 'main')", table)
	for _, place := range slices.Sorted(maps.Keys(keys)) {
		key = append(key, keys[place])
	}
	if err == nil && len(key) == 0 {
		err = fmt.Errorf("table %q has no primary key", table)
	}
	return columns, key, err
}

// row returns the row that one after a step takes the place of, or that it is.
func (s *Step) row() Row {
	if s.Before != nil {
		return s.Before
	}
	return s.After
}

// is returns the condition that the row of a step fits, and its values.
func (s *Step) is(key []string) (where string, args []any) {
	for i, column := range key {
		where += [...]string{" WHERE ", " AND "}[min(i, 1)] + quoted(column) + " = ?"
		args = append(args, s.row()[column])
	}
	return where, args
}

// now returns the row as it is, nil where it is not there, and notes its row id.
func (s *Step) now(ctx context.Context, t *sqlitefile.Tx) (now Row, err error) {
	_, key, err := shape(ctx, t, s.Table)
	if err != nil {
		return nil, err
	}
	where, args := s.is(key)
	err = eachRow(ctx, t, s.Table, where, func(at int64, r Row) { s.At, now = at, r }, args...)
	return now, err
}

// String names the row of a step, for people.
func (s *Step) String() string {
	var values []string
	for _, column := range slices.Sorted(maps.Keys(s.row())) {
		if text, is := s.row()[column].(string); is && strings.HasSuffix(column, "id") {
			values = append(values, fmt.Sprintf("%s %.40q", column, text))
		}
	}
	return "the row of " + s.Table + " with " + strings.Join(values, ", ")
}

// back returns the steps that take steps back.
func back(steps []Step) []Step {
	list := make([]Step, len(steps))
	for i, s := range steps {
		list[len(steps)-1-i] = Step{Table: s.Table, Before: s.After, After: s.Before, At: s.At}
	}
	return list
}

// expect compares the rows of steps with those before them, and notes where they are.
func expect(ctx context.Context, t *sqlitefile.Tx, steps []Step) error {
	for i := range steps {
		s := &steps[i]
		now, err := s.now(ctx, t)
		switch {
		case err != nil:
			return err
		case now.equal(s.Before):
			continue
		case now == nil:
			return &ConflictError{s.String(), "went"}
		case s.Before == nil:
			return &ConflictError{s.String(), "came"}
		}
		return &ConflictError{s.String(), "was changed"}
	}
	return nil
}

// Names of what an overlay is made of. No program has tables called so.
const over, gone = "hindcast over ", "hindcast without "

// lay lays steps over the tables: views of the tables' names hide them from this
// connection, as long as the transaction lasts.
func lay(ctx context.Context, t *sqlitefile.Tx, steps []Step) error {
	tables := map[string]bool{}
	for i := range steps {
		tables[steps[i].Table] = true
	}
	next := map[string]int64{}
	columnsOf := map[string][]string{}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		columns, _, err := shape(ctx, t, table)
		if err != nil {
			return err
		}
		var last int64
		if err := t.Row(ctx, "SELECT ifnull(max(rowid), 0) FROM "+quoted(table)).Scan(&last); err != nil {
			return err
		}
		next[table], columnsOf[table] = last, columns
		var list []string
		for _, c := range columns {
			list = append(list, quoted(c))
		}
		of := strings.Join(list, ", ")
		for _, define := range []string{
			fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT rowid AS %s, %s FROM main.%s WHERE 0", quoted(over+table), quoted(over), of, quoted(table)),
			fmt.Sprintf("CREATE TEMP TABLE %s (id INTEGER PRIMARY KEY)", quoted(gone+table)),
			fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT rowid, %s FROM main.%s WHERE rowid NOT IN (SELECT id FROM temp.%s) UNION ALL SELECT %s, %s FROM temp.%s",
				quoted(table), of, quoted(table), quoted(gone+table), quoted(over), of, quoted(over+table)),
		} {
			if err := t.Define(ctx, define); err != nil {
				return err
			}
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.Before != nil {
			if _, err := t.Exec(ctx, "INSERT INTO temp."+quoted(gone+s.Table)+" VALUES (?)", s.At); err != nil {
				return err
			}
		}
		if s.After == nil {
			continue
		}
		at := s.At
		if s.Before == nil {
			next[s.Table]++
			at = next[s.Table]
		}
		args := []any{at}
		for _, c := range columnsOf[s.Table] {
			args = append(args, s.After[c])
		}
		if _, err := t.Exec(ctx, "INSERT INTO temp."+quoted(over+s.Table)+" VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...); err != nil {
			return err
		}
	}
	return nil
}

// carryOut changes the rows of steps, and no other: a trigger that does more is an error.
func carryOut(ctx context.Context, t *sqlitefile.Tx, steps []Step) error {
	changes := func() (n int64, err error) {
		err = t.Row(ctx, "SELECT total_changes()").Scan(&n)
		return n, err
	}
	before, err := changes()
	for i := 0; i < len(steps) && err == nil; i++ {
		err = steps[i].carryOut(ctx, t)
	}
	if err != nil {
		return err
	}
	after, err := changes()
	if err == nil && after-before != int64(len(steps)) {
		err = fmt.Errorf("%d rows would change instead of %d: the file has a trigger", after-before, len(steps))
	}
	return err
}

func (s *Step) carryOut(ctx context.Context, t *sqlitefile.Tx) error {
	_, key, err := shape(ctx, t, s.Table)
	if err != nil {
		return err
	}
	where, is := s.is(key)
	columns := slices.Sorted(maps.Keys(s.row()))
	var names, values []string
	var args []any
	for _, c := range columns {
		names, values, args = append(names, quoted(c)), append(values, "?"), append(args, s.After[c])
	}
	table := "main." + quoted(s.Table)
	if s.Before == nil && s.At != 0 {
		var taken bool
		if err := t.Row(ctx, "SELECT count(*) FROM "+table+" WHERE rowid = ?", s.At).Scan(&taken); err != nil {
			return err
		}
		if !taken {
			names, values, args = append(names, "rowid"), append(values, "?"), append(args, s.At)
		}
	}
	switch {
	case s.After == nil:
		_, err = t.Exec(ctx, "DELETE FROM "+table+where, is...)
	case s.Before == nil:
		_, err = t.Exec(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+")", args...)
	default:
		_, err = t.Exec(ctx, "UPDATE "+table+" SET ("+strings.Join(names, ", ")+") = ("+strings.Join(values, ", ")+")"+where, append(args, is...)...)
	}
	return err
}

// words says in words what steps write, a line for each table.
func words(steps []Step) (lines []string) {
	type count struct{ added, replaced, removed int }
	var tables []string
	counts := map[string]*count{}
	for i := range steps {
		s := &steps[i]
		if counts[s.Table] == nil {
			counts[s.Table], tables = &count{}, append(tables, s.Table)
		}
		switch c := counts[s.Table]; {
		case s.Before == nil:
			c.added++
		case s.After == nil:
			c.removed++
		default:
			c.replaced++
		}
	}
	for _, table := range tables {
		var parts []string
		for _, part := range []struct {
			n    int
			does string
		}{{counts[table].added, "added"}, {counts[table].replaced, "replaced"}, {counts[table].removed, "removed"}} {
			if part.n > 0 {
				parts = append(parts, strconv.Itoa(part.n)+" "+part.does)
			}
		}
		lines = append(lines, "rows of "+table+": "+strings.Join(parts, ", "))
	}
	return lines
}

// MarshalJSON writes each value so that its type is kept: text as text, and as "t" where it
// is not UTF-8, an integer as a number, a real as "r", bytes as "b".
func (r Row) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	plain := make(map[string]any, len(r))
	for column, v := range r {
		switch v := v.(type) {
		case nil, int64:
			plain[column] = v
		case float64:
			plain[column] = map[string]string{"r": strconv.FormatFloat(v, 'x', -1, 64)}
		case string:
			if plain[column] = v; !utf8.ValidString(v) {
				plain[column] = map[string][]byte{"t": []byte(v)}
			}
		case []byte:
			plain[column] = map[string][]byte{"b": v}
		default:
			return nil, fmt.Errorf("column %q is a %T", column, v)
		}
	}
	return json.Marshal(plain)
}

var errValue = errors.New("a value of no known type")

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Row) UnmarshalJSON(data []byte) error {
	var plain map[string]json.RawMessage
	if err := json.Unmarshal(data, &plain); err != nil || plain == nil {
		*r = nil
		return err
	}
	*r = make(Row, len(plain))
	for column, raw := range plain {
		var text string
		var typed struct {
			R    *string
			T, B *[]byte
		}
		switch {
		case string(raw) == "null":
			(*r)[column] = nil
		case raw[0] == '"':
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			(*r)[column] = text
		case raw[0] == '{':
			if err := json.Unmarshal(raw, &typed); err != nil {
				return err
			}
			switch {
			case typed.R != nil:
				v, err := strconv.ParseFloat(*typed.R, 64)
				if err != nil {
					return err
				}
				(*r)[column] = v
			case typed.T != nil:
				(*r)[column] = string(*typed.T)
			case typed.B != nil:
				(*r)[column] = append([]byte{}, *typed.B...)
			default:
				return errValue
			}
		default:
			v, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				return errValue
			}
			(*r)[column] = v
		}
	}
	return nil
}
