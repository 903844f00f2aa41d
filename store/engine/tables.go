package engine

import (
	"context"

	"hindcast/store/media/sqlitefile"
)

// Tables describes the rows that the sessions of a kind have in SQLite databases.
type Tables struct {
	// In are patterns of the databases in a folder, as path.Match has them. A store that is a file is a database itself.
	// Beside are patterns of other files of the sessions in the folder, and of whole folders.
	In, Beside []string
	// List returns the sessions of a database, and no sessions of a database of another kind.
	List func(ctx context.Context, t *sqlitefile.Tx) ([]SessionRows, error)
	// NotBack says why rows are not put back into a database; "" if [hindcast/store.Features].PlanRowsBack does it.
	NotBack string
}

// SessionRows are the rows of one session in a database.
type SessionRows struct {
	// ID is that of the session, or the last part of it. Key are the values of its parameters ?1, ?2 and so on.
	ID  string
	Key []any
	// Sets come in the order in which rows are added.
	Sets []RowSet
}

// RowSet names the rows of a session in a table. A database may lack the table.
type RowSet struct {
	// Table is the name of the table, and Where the condition that the rows fit.
	Table, Where string
	// Shared says that other sessions need the rows as well: where one is there already, it stays as it is.
	Shared bool
}

// IDColumn is a column that has the ids of sessions.
type IDColumn struct{ Table, Column string }

// ListRows makes a List: each id in the columns that a database has is a session.
func ListRows(from []IDColumn, sets ...RowSet) func(context.Context, *sqlitefile.Tx) ([]SessionRows, error) {
	return func(ctx context.Context, t *sqlitefile.Tx) (list []SessionRows, err error) {
		seen := map[string]bool{}
		for _, c := range from {
			columns, err := t.Columns(ctx, c.Table)
			if err != nil {
				return nil, err
			}
			if !columns[c.Column] {
				continue
			}
			if err := t.Each(ctx, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				if !seen[id] {
					seen[id], list = true, append(list, SessionRows{ID: id, Key: []any{id}, Sets: sets})
				}
				return err
			}, "SELECT DISTINCT "+c.Column+" FROM "+c.Table+" WHERE "+c.Column+" <> ''"); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
}
