package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/store"
	"hindcast/store/media/pg"
)

// Servers returns the kind of databases on a PostgreSQL server, by a URL such as postgres://user@host/name. Which
// store a database holds, its tables tell. Where there are several in one, the kind is named before the URL:
// langgraph:postgres://user@host/name.
func Servers(kinds ...Kind) store.Kind {
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !k.Served })
	return store.Kind{
		Name: pg.Schemes[0], Schemes: pg.Schemes,
		Open: func(ctx context.Context, address string) (store.Store, error) {
			return openDatabase(ctx, kinds, address)
		},
	}
}

// openDatabase opens the store that a database holds, of one of some kinds.
func openDatabase(ctx context.Context, kinds []Kind, address string) (_ store.Store, err error) {
	server, err := pg.New(address)
	if err != nil {
		return nil, fmt.Errorf("open a database: %w", err)
	}
	opened := false
	defer func() {
		if !opened {
			err = errors.Join(err, server.Close())
		}
	}()
	at := Site{Server: server}
	if at.Tables, err = listTables(ctx, server); err != nil {
		return nil, fmt.Errorf("open %s: %w", server, err)
	}
	var fit []Kind
	var missing []string
	for _, k := range kinds {
		why, ok, err := k.Sign(ctx, at)
		switch {
		case err != nil:
			return nil, fmt.Errorf("open %s: %w", server, err)
		case ok:
			fit = append(fit, k)
		default:
			missing = append(missing, "\n"+k.Name+": "+why)
		}
	}
	// Hindcast's own store has the name of the URL's scheme, and goes before others.
	if i := slices.IndexFunc(fit, isOwn); i >= 0 {
		fit = fit[i : i+1]
	}
	switch len(fit) {
	case 0:
		err := fmt.Errorf("open %s: %w: look at the name of the database, and at search_path%s", server, store.ErrUnrecognised, strings.Join(missing, ""))
		if slices.ContainsFunc(kinds, isOwn) {
			err = &store.VacantError{At: server.String(), Err: err}
		}
		return nil, err
	case 1:
		opened = true
		return fit[0].OpenAt(ctx, at)
	}
	var names []string
	for _, k := range fit {
		names = append(names, k.Name+":"+server.String())
	}
	return nil, fmt.Errorf("open %s: %w: open one of %s", server, ErrSeveral, strings.Join(names, ", "))
}

// isOwn reports whether a kind is that of Hindcast's own store.
func isOwn(k Kind) bool { return k.Name == pg.Schemes[0] }

// ErrSeveral: a database has several stores.
var ErrSeveral = errors.New("the database has several stores")

// listTables returns the tables that a name finds, with their columns. It skips views, because the query of a view
// may be endless.
func listTables(ctx context.Context, server *pg.Server) (has map[string]map[string]bool, err error) {
	err = server.Read(ctx, func(t *pg.Tx) error {
		has = map[string]map[string]bool{}
		return t.Each(ctx, func(scan func(...any) error) error {
			var table, column string
			err := scan(&table, &column)
			if has[table] == nil {
				has[table] = map[string]bool{}
			}
			has[table][column] = true
			return err
		}, `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE 'hindcast.' END || c.relname, a.attname::text
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			WHERE c.relkind IN ('r', 'p') AND (pg_table_is_visible(c.oid) OR n.nspname = 'hindcast') AND n.nspname <> 'pg_catalog'`)
	})
	return has, err
}
