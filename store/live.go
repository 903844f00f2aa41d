package store

import (
	"context"

	"hindcast/model"
)

// This file is what a reader of a session that is still being written needs of its store.

// Watcher is a Store that can tell that something in it changed.
type Watcher interface {
	// Watch returns a value soon after the store may have changed: several
	// changes in a row may give one, and a value may tell of none. It writes
	// nothing. The channel is closed when ctx ends, and when the store can be
	// watched no longer.
	Watch(ctx context.Context) (<-chan struct{}, error)
}

// Cursor is how far a session has been read. It is of use to the opened store
// that gave it alone.
type Cursor struct {
	// Visit is the last visit, 0 for none.
	Visit int64
	// Rewrites tells the moments apart between which more than growth happened
	// to the session.
	Rewrites int64
}

// Grows reports whether nothing but growth lies between the cursor and a later
// one of the same session.
func (c Cursor) Grows(now Cursor) bool {
	return c.Rewrites == now.Rewrites && c.Visit <= now.Visit
}

// Growth is what a session became since it was read.
type Growth struct {
	// Headers are the visits that are new, in the order of Headers. The last of
	// them that says Head is the head; where none does, the head has stayed.
	Headers []model.Header
	// Rewritten says that more than that changed, after a restore for instance:
	// Headers is nil then, and the session has to be read again.
	Rewritten bool
	// Cursor is where the next call goes on.
	Cursor Cursor
}

// Grower is a Store that can tell what is new in a session without reading
// what is old.
type Grower interface {
	// Cursor returns how far a session reaches just now. A reader of the
	// session after that may meet visits beyond the cursor, and meets them
	// again in Growth. The error is model.ErrNoSession.
	Cursor(ctx context.Context, session string) (Cursor, error)
	// Growth returns what the session became since a cursor. The error is
	// model.ErrNoSession.
	Growth(ctx context.Context, session string, since Cursor) (Growth, error)
}
