package rows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// Older tells how a database of another version of the framework keeps the rows of a table that it lacks.
type Older struct {
	// Table is the table, and Query yields its rows with their columns. SQLite's needs a column rowid.
	Table, Query string
	// From is a table that such a database has, with Columns.
	From, Columns string
}

// older has the definitions that stand for the kind's tables in a database of another version; nil defines nothing.
type older struct {
	// with begins each statement, and hides the tables of the database itself.
	with string
	// columns holds the columns of each table that it defines.
	columns map[string]map[string]bool
}

// findOlder returns the definitions of the tables that a database lacks or that lack columns, or nil if the database is not of
// the kind. itself returns how a statement names a table of the database itself, and hidden is a column that a
// table has beside its columns.
func (k Kind) findOlder(ctx context.Context, columnsOf func(context.Context, string) (map[string]bool, error), itself func(string) string, hidden string) (*older, error) {
	var defines []string
	is := &older{columns: map[string]map[string]bool{}}
	for _, table := range slices.Sorted(maps.Keys(k.Tables)) {
		has, err := columnsOf(ctx, table)
		if err != nil {
			return nil, err
		}
		columns := strings.Fields(k.Tables[table])
		lacks := slices.DeleteFunc(slices.Clone(columns), func(column string) bool { return has[column] })
		if len(lacks) == 0 {
			continue
		}
		var query string
		if len(has) > 0 {
			query = k.querySince(table, lacks, hidden, itself(table))
		} else {
			query, err = k.queryOlder(ctx, columnsOf, table)
		}
		if err != nil || query == "" {
			return nil, err
		}
		all := maps.Clone(has)
		for _, column := range columns {
			if all == nil {
				all = map[string]bool{}
			}
			all[column] = true
		}
		is.columns[table], defines = all, append(defines, table+" AS NOT MATERIALIZED ("+query+")")
	}
	if len(defines) > 0 {
		is.with = "WITH " + strings.Join(defines, ", ") + " "
	}
	return is, nil
}

// queryOlder returns the query that yields the rows of a table, "" if none does.
func (k Kind) queryOlder(ctx context.Context, columnsOf func(context.Context, string) (map[string]bool, error), table string) (string, error) {
	if k.Older == nil {
		return "", nil
	}
	for _, one := range k.Older() {
		if one.Table != table {
			continue
		}
		if has, err := columnsOf(ctx, one.From); err != nil || len(has) > 0 && hasAll(has, one.Columns) {
			return one.Query, err
		}
	}
	return "", nil
}

// querySince returns a query of a table with NULL in the columns that it lacks, "" if not each of them is of Since.
func (k Kind) querySince(table string, lacks []string, hidden, itself string) string {
	query := "SELECT " + hidden + " AS " + hidden + ", *"
	for _, column := range lacks {
		is := strings.Fields(k.Since[table])
		i := slices.IndexFunc(is, func(one string) bool { return one == column || strings.HasPrefix(one, column+":") })
		if i < 0 {
			return ""
		}
		_, kind, _ := strings.Cut(is[i], ":")
		query += ", CAST(NULL AS " + cmp.Or(kind, "text") + ") AS " + column
	}
	return query + " FROM " + itself
}

// prefix returns a statement with the definitions before it.
func (o *older) prefix(query string) string {
	if o == nil || o.with == "" || !strings.HasPrefix(query, "SELECT") {
		return query
	}
	return o.with + query
}

// replaces reports whether definitions stand for tables of the database.
func (o *older) replaces() bool { return o != nil && o.with != "" }
