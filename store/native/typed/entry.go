package typed

import (
	"context"
	"encoding/json"
	"errors"

	"hindcast/model"
)

var (
	// ErrAlias: an alias is no UTF-8, or longer than [MaxAlias] bytes.
	ErrAlias = errors.New("an alias is UTF-8 of at most 1024 bytes")
	// ErrAttributes: the attributes of an entry are not what model.ParseAttributes returns.
	ErrAttributes = errors.New("the attributes are no JSON object")
)

// MaxAlias bounds an alias, in bytes.
const MaxAlias = 1024

// Entry is a visit as a program of its own ids records it: a header, whose alias and attributes the seed's snapshot has no
// place for, and the state.
type Entry struct {
	model.Header
	State json.RawMessage
}

// Recording is a store of raw JSON in which a program keeps rows under ids of its own: it finds them again in another
// process, says more about them than their states, and rewrites them.
type Recording interface {
	Committer
	// HeadEntry returns the entry of a session's head, or nil, and the session's revision at that moment.
	HeadEntry(ctx context.Context, sessionID string) (*Entry, Revision, error)
	// FindAlias returns the last entry of a session that has an alias, nil if none has, and the session's revision at
	// that moment. With sessionID "" it looks through all sessions; the error is a model.AmbiguousError that names
	// the sessions if several have the alias, and the revision is 0 if none has.
	FindAlias(ctx context.Context, sessionID, alias string) (*Entry, Revision, error)
	// Record writes an entry of the session e.SessionID in one transaction, if the session is at revision at, which is
	// 0 for a new session. Otherwise it writes nothing and returns a [model.ConflictError]. It returns the header as it
	// is kept and the new revision.
	//
	// If e.Visit is 0, the entry is a new visit behind e.ParentVisit, and becomes the head; its index and its turn go on
	// from the parent's. If the parent is not the head, the visits that leave the path say that the program went on
	// from there. The alias must be new, which FindAlias tells.
	//
	// Otherwise Record rewrites that visit: the state, the event, the alias and the attributes become those of e, and the
	// time if e has one. The visit keeps its place in the session, and no state that it had before is kept. The error
	// is model.ErrNoSnapshot if the session has no such visit.
	//
	// Of the header, Record reads SessionID, Visit, ParentVisit, Event, CreatedAt, Alias and Attributes. A new visit
	// without a time has the store's. The other errors are ErrAlias, ErrAttributes, store.ErrNotJSON and store.ErrTime.
	Record(ctx context.Context, e *Entry, at Revision) (model.Header, Revision, error)
}
