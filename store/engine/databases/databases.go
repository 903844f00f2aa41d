// Package databases opens what a database on a PostgreSQL server holds, by a URL such as
// postgres://user@host/name. Which store that is, its tables tell. Where there are several in one
// database, the kind is named before the URL: langgraph:postgres://user@host/name.
package databases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hindcast/store"
	"hindcast/store/media/pg"
)

// Format is a kind of store in a database.
type Format interface {
	// Name returns the kind's name.
	Name() string
	// Sign describes why a database is recognised, or, with false, what it lacks. has maps each table that a
	// name finds to its columns; tables of the schema hindcast are named "hindcast.TABLE".
	Sign(has map[string]map[string]bool) (why string, ok bool)
	// Open opens the store. The server is closed with it, or where that fails.
	Open(ctx context.Context, on *pg.Server) (store.Store, error)
}

// Kind describes stores in databases, each of one of the formats.
func Kind(formats ...Format) store.Kind {
	return store.Kind{
		Name: pg.Schemes[0], Schemes: pg.Schemes,
		Open: func(ctx context.Context, address string) (store.Store, error) {
			return openDatabase(ctx, formats, address)
		},
	}
}

// Also returns a kind whose stores may be in a database, too.
func Also(k store.Kind, f Format) store.Kind {
	elsewhere := k.Open
	k.Open = func(ctx context.Context, address string) (store.Store, error) {
		if pg.IsURL(address) {
			return openDatabase(ctx, []Format{f}, address)
		}
		return elsewhere(ctx, address)
	}
	return k
}

func openDatabase(ctx context.Context, formats []Format, address string) (_ store.Store, err error) {
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
	has, err := listTables(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", server, err)
	}
	var fit []Format
	var missing []string
	for _, f := range formats {
		if why, ok := f.Sign(has); ok {
			fit = append(fit, f)
		} else {
			missing = append(missing, "\n"+f.Name()+": "+why)
		}
	}
	// Hindcast's own store has the name of the URL's scheme, and goes before others.
	if i := slices.IndexFunc(fit, isOwn); i >= 0 {
		fit = fit[i : i+1]
	}
	switch len(fit) {
	case 0:
		err := fmt.Errorf("open %s: %w: look at the name of the database, and at search_path%s", server, store.ErrUnrecognised, strings.Join(missing, ""))
		if slices.ContainsFunc(formats, isOwn) {
			err = &store.VacantError{At: server.String(), Err: err}
		}
		return nil, err
	case 1:
		opened = true
		return fit[0].Open(ctx, server)
	}
	var names []string
	for _, f := range fit {
		names = append(names, f.Name()+":"+server.String())
	}
	return nil, fmt.Errorf("open %s: %w: open one of %s", server, ErrSeveral, strings.Join(names, ", "))
}

// isOwn reports whether a format is that of Hindcast's own store.
func isOwn(f Format) bool { return f.Name() == pg.Schemes[0] }

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
