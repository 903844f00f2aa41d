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

	"hindcast/store/media/journal"
	"hindcast/store/media/sqlitefile"
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

// Text returns the value of a column as text; "" for NULL.
func (r Row) Text(column string) string { return string(r.Bytes(column)) }

// Bytes returns the value of a text or blob column, nil for any other.
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

// Step is the change of one row of a table. Before is nil for a new row, and After for a
// deleted row. Its primary key stays.
type Step struct {
	Table         string `json:"table"`
	Before, After Row
	// At is the row id of a row that was there, by which it comes back; 0 where it is not
	// known.
	At int64 `json:"at,omitempty"`
}

// QuoteName returns how a statement names a table or a column: PostgreSQL quotes as SQLite does.
func QuoteName(name string) string { return sqlitefile.QuoteName(name) }

func columnList(columns []string) string {
	var list []string
	for _, c := range columns {
		list = append(list, QuoteName(c))
	}
	return strings.Join(list, ", ")
}

// targetRow returns the row that one after a step takes the place of, or that it is.
func (s *Step) targetRow() Row {
	if s.Before != nil {
		return s.Before
	}
	return s.After
}

// rowCondition returns the condition that the row of a step fits, and its values.
func (s *Step) rowCondition(key []string) (where string, args []any) {
	for i, column := range key {
		where += [...]string{" WHERE ", " AND "}[min(i, 1)] + QuoteName(column) + " = ?"
		args = append(args, s.targetRow()[column])
	}
	return where, args
}

// These are the prefixes of an overlay's tables. No program has tables called so.
const over, gone, within = "hindcast over ", "hindcast without ", "hindcast within "

// tablesOf returns the tables of steps, in order.
func tablesOf(steps []Step) []string {
	tables := map[string]bool{}
	for i := range steps {
		tables[steps[i].Table] = true
	}
	return slices.Sorted(maps.Keys(tables))
}

// Rows returns rows of a table as they are stored, by a condition behind the table's name:
// " WHERE … ORDER BY …".
func Rows(ctx context.Context, t Tx, table, where string, args ...any) (list []Row, err error) {
	err = t.(tables).eachRow(ctx, table, where, func(_ int64, r Row) { list = append(list, r) }, args...)
	return list, err
}

// String names the row of a step, for people.
func (s *Step) String() string {
	var values []string
	for _, column := range slices.Sorted(maps.Keys(s.targetRow())) {
		if text, is := s.targetRow()[column].(string); is && strings.HasSuffix(column, "id") {
			values = append(values, fmt.Sprintf("%s %.40q", column, text))
		}
	}
	return "the row of " + s.Table + " with " + strings.Join(values, ", ")
}

// reverseSteps returns the steps that take steps back.
func reverseSteps(steps []Step) []Step {
	list := make([]Step, len(steps))
	for i, s := range steps {
		list[len(steps)-1-i] = Step{Table: s.Table, Before: s.After, After: s.Before, At: s.At}
	}
	return list
}

// expectStored compares the stored rows of steps with Before, and notes their row ids.
func expectStored(ctx context.Context, t tables, steps []Step) error {
	list, err := t.currentRows(ctx, steps)
	if err != nil {
		return err
	}
	for i, now := range list {
		s := &steps[i]
		switch {
		case now.equal(s.Before):
			continue
		case now == nil:
			return &journal.ConflictError{Path: s.String(), Found: "went"}
		case s.Before == nil:
			return &journal.ConflictError{Path: s.String(), Found: "came"}
		}
		return &journal.ConflictError{Path: s.String(), Found: "was changed"}
	}
	return nil
}

// describeSteps says in words what steps write, a line for each table.
func describeSteps(steps []Step) (lines []string) {
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
