package store

import (
	"context"

	"hindcast/model"
)

// This file declares the operations for reading a session while it is being written.

// Watcher is a Store that can tell that something in it changed.
type Watcher interface {
	// Watch sends a value soon after the store may have changed. Several changes in a row may send one value,
	// and a value may come without a change. Watch writes nothing. The channel is closed when ctx ends, and
	// when the store can no longer be watched.
	Watch(ctx context.Context) (<-chan struct{}, error)
}

// Cursor is how far a session has been read. It is of use to the opened store
// that gave it alone.
type Cursor struct {
	// Visit is the number of the last visit, or 0.
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

// Growth describes how a session grew since it was read.
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
	// Growth returns the growth of a session since a cursor. The error is model.ErrNoSession.
	Growth(ctx context.Context, session string, since Cursor) (Growth, error)
}
