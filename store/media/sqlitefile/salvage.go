package sqlitefile

import (
	"context"
	"errors"
	"strings"

	lib "modernc.org/sqlite/lib"
)

// IsDamage reports whether an error says that a query came to a damaged page of the file. The
// queries that do not come to it return what they always do.
func IsDamage(err error) bool {
	return errors.Is(err, ErrDamaged) || isCode(err, lib.SQLITE_CORRUPT)
}

// TooLarge is Damaged for a value that is larger than [Tx.Limit] says.
func TooLarge(err error) bool {
	return errors.Is(err, ErrTooLarge) || isCode(err, lib.SQLITE_TOOBIG)
}

// isUnreadable reports whether a query came to a row that cannot be read.
func isUnreadable(err error) bool { return IsDamage(err) || TooLarge(err) }

// Salvage is Each for columns of the rows of one table, "part WHERE session_id = ?", that
// passes over the rows on damaged pages and those with values that are too large. It returns how many it passed over, as far as an index
// or the pages around them tell, and at least 1 where there are any. The table has rowids.
func (t *Tx) Salvage(ctx context.Context, row func(scan func(into ...any) error) error, columns, from string, args ...any) (lost int, err error) {
	var id int64
	var seen []int64
	into := []any{&id}
	each := func(from string, args ...any) error {
		return t.Each(ctx, func(scan func(...any) error) error {
			err := row(func(columns ...any) error {
				into = append(into[:1], columns...)
				return scan(into...)
			})
			seen = append(seen, id)
			return err
		}, "SELECT rowid, "+columns+" FROM "+from, args...)
	}
	if err = each(from, args...); !isUnreadable(err) {
		return 0, err
	}
	table, which, _ := strings.Cut(from, " ")
	known := map[int64]bool{}
	for _, id := range seen {
		known[id] = true
	}
	for _, from := range []string{from, table + " NOT INDEXED " + which} { // either may be damaged
		var left []int64
		err := t.Each(ctx, func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			left = append(left, id)
			return err
		}, "SELECT rowid FROM "+from, args...)
		if err != nil && !isUnreadable(err) {
			return lost, err
		}
		for _, id := range left {
			if known[id] {
				continue
			}
			known[id] = true
			if err := each(table+" WHERE rowid = ?", id); isUnreadable(err) {
				lost++
			} else if err != nil {
				return lost, err
			}
		}
	}
	return max(lost, 1), nil
}
