package postgres

import (
	"context"

	"hindcast/store"
	"hindcast/store/media/pg"
)

// Format is the store among others that a database may hold.
type Format struct{}

// Name returns the name of the kind.
func (Format) Name() string { return kind }

// Sign recognises the store by the table of its versions, which [Migrate] makes first.
func (Format) Sign(has map[string]map[string]bool) (why string, ok bool) {
	if !has["hindcast.migrations"]["version"] {
		return "it has no table hindcast.migrations", false
	}
	return "it has the tables of the schema hindcast", true
}

// Open opens the store as On does.
func (Format) Open(ctx context.Context, on *pg.Server) (store.Store, error) {
	s, err := On(ctx, on)
	if err != nil {
		return nil, err
	}
	return s, nil
}
