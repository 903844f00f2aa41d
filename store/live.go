package store

import (
	"context"
	"encoding/json"

	"hindcast/model"
)

// This file is what a session that is still being written needs of its store:
// a writer that must not overwrite another, and a reader that wants to keep up.

// Revision tells one moment in the life of a session from every other: each
// change of its record or its snapshots gives it another, and none is ever
// given twice, not even when a change is undone or the session goes and another
// comes under its name. 0 is while there is no session.
type Revision int64

// Committer is a store of raw JSON in which a session moves on in one step, and only
// from where the writer last saw it.
type Committer interface {
	// Load returns the record of a session and the revision it is at, both of the
	// same moment. The record is nil where there is none, as in a session of
	// snapshots alone; the revision is 0 where there is no session.
	Load(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], Revision, error)
	// Commit saves the record of the session data.ID as Save does, in one
	// transaction: its LastSnapshot becomes the head, and a visit if it is not
	// one yet. It does so only while the session is at that revision, 0 for one
	// that is yet to be; otherwise the error is a [model.ConflictError] and
	// nothing is written. It gives the new revision. The other errors are those
	// of Save, and ErrNoRecord for data that is nil. After an error of the
	// context the commit was not made.
	Commit(ctx context.Context, data *model.Data[json.RawMessage], at Revision) (Revision, error)
}

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
	// Cursor returns how far a session reaches just now. Whoever reads the
	// session after that may meet visits beyond the cursor, and meets them
	// again in Growth. The error is model.ErrNoSession.
	Cursor(ctx context.Context, session string) (Cursor, error)
	// Growth returns what the session became since a cursor. The error is
	// model.ErrNoSession.
	Growth(ctx context.Context, session string, since Cursor) (Growth, error)
}

// Span is a run of bytes of one state that stands for a run of another; either
// may be empty.
type Span struct{ AFrom, ATo, BFrom, BTo int64 }

// Comparer is a Store that knows which parts two states share without reading
// them.
type Comparer interface {
	// Compare returns the spans in which the states differ, in order, apart from
	// each other; what lies between them is equal byte for byte. No spans mean
	// equal states. A span may hold equal bytes too: it is made of whole parts.
	Compare(ctx context.Context, a, b model.Ref) ([]Span, error)
}
