package store

import (
	"hindcast/model"
)

// This file declares the operations for reading a session while it is being written.

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
