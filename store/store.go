// Package store is the port between Hindcast and the places where sessions
// live. It declares what every kind of store can do, the optional capabilities
// that are found by type assertion, and how an address finds its kind. It also
// holds what the kinds that record visits would otherwise each have: the
// visits that a restore moves, the plan in words, the checks of what is saved.
//
// The package may not know any kind by name: each is a package below this one
// and is handed in by main.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strings"

	"hindcast/model"
)

// Store is an opened store. Every kind has exactly this; the rest are
// capabilities. All methods are safe for concurrent use, and none of them
// writes anything.
type Store interface {
	// Kind gives the kind's name ("sqlite", "strands", …).
	Kind() string
	// Address gives the path or address that was opened.
	Address() string
	// Sessions gives the sessions, newest change first where that is cheap to
	// know. A session that cannot be read is still listed, with its faults
	// counted. An error ends the sequence.
	Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error]
	// Headers gives the headers of a session in the order in which they were
	// recorded, parents before children wherever the store allows, without
	// reading a state. An unknown session is model.ErrNoSession.
	Headers(ctx context.Context, session string) iter.Seq2[model.Header, error]
	// State gives the bytes of one state exactly as its writer serialised
	// them. The caller may not write to them; they stay valid until Close.
	// The errors are model.ErrNoSession and model.ErrNoSnapshot.
	State(ctx context.Context, ref model.Ref) ([]byte, error)
	// Close lets go of the store.
	Close() error
}

// Tailer is a Store that can give the newest headers of a session at once, so
// that the first screen need not wait for all of them.
type Tailer interface {
	// Tail gives up to n headers, the last in the order of Headers, in that
	// order, and whether there are more before them. What takes the earlier ones
	// to know is left out of them: a TurnIndex is model.TurnUnknown then, and a
	// Size 0.
	Tail(ctx context.Context, session string, n int) (headers []model.Header, more bool, err error)
}

// Counter is a Store in which to read the headers of a session takes long, and to
// count them does not.
type Counter interface {
	// Count returns how many headers the session has. The error is
	// model.ErrNoSession, or why they cannot be counted.
	Count(ctx context.Context, session string) (int, error)
}

// Peeker is a Store that can give the beginning of a state at once, however
// large the state is.
type Peeker interface {
	// Peek gives as much of the beginning of a state as is quick to read, all of
	// it if it is small. The bytes are as those of State.
	Peek(ctx context.Context, ref model.Ref) ([]byte, error)
}

// Doctor is a Store that can tell what is wrong with it.
type Doctor interface {
	// Faults gives what is wrong with a session, or with the store itself
	// when session is "". It reads, and never writes.
	Faults(ctx context.Context, session string) ([]model.Fault, error)
}

// Applier carries out a plan: everything in it or nothing. It refuses with
// model.ErrHeadMoved when the store is not as the plan expects it, journals
// what it does, and verifies by reading back.
type Applier interface {
	Apply(ctx context.Context, plan model.Plan) (model.Receipt, error)
}

// Restorer is a Store whose sessions can be put back to a snapshot.
type Restorer interface {
	Applier
	// PlanRestore computes what restoring ref would do; it writes nothing. Where no
	// file of the session would change the plan is idle, see model.Plan.Idle: to apply
	// it writes nothing, and its receipt has no entry. A store that numbers its
	// revisions writes all the same, so that an agent that runs notices.
	PlanRestore(ctx context.Context, ref model.Ref) (model.Plan, error)
}

// Forker is a Store in which a new session can be started from a snapshot.
type Forker interface {
	Applier
	// PlanFork computes what starting the session as from ref would do.
	PlanFork(ctx context.Context, ref model.Ref, as string) (model.Plan, error)
}

// Namer is a Store that knows how a session that is started from another can be
// called. In the others it is the name of that with something behind it.
type Namer interface {
	// NewName gives a name to offer, which may be taken: that of session with suffix,
	// as the store can have it.
	NewName(session, suffix string) string
}

// Undoer is a Store that keeps a journal of Hindcast's own writes.
type Undoer interface {
	Applier
	// PlanUndo and PlanRedo compute how to take back the last write and how to
	// do it again. The error is a model.NothingToError where there is none.
	PlanUndo(ctx context.Context) (model.Plan, error)
	PlanRedo(ctx context.Context) (model.Plan, error)
	// Journal gives the entries, newest first. Of a journal that is damaged it
	// returns those that can be read, and the error; else an error comes with nil.
	Journal(ctx context.Context) ([]model.JournalEntry, error)
}

// Editor is a Store in which a session can be started from a snapshot whose
// state somebody changed: what if that tool had answered something else.
type Editor interface {
	Applier
	// PlanEdit computes what starting the session as from ref would do if its
	// state was the given one. What of a state can be changed is for the kind to
	// say: the error names the place that cannot. The bytes stay the caller's.
	PlanEdit(ctx context.Context, ref model.Ref, as string, state []byte) (model.Plan, error)
}

// Converter is a Store that can take over a session of another kind.
type Converter interface {
	Applier
	// PlanConvert computes what making the session as out of one of another
	// store would write.
	PlanConvert(ctx context.Context, from Store, session, as string) (model.Plan, error)
}

// Repairer is a Store that can mend what keeps its framework from starting a
// session.
type Repairer interface {
	Applier
	// PlanRepair computes what that takes. Where there is nothing to mend, the
	// error is a model.NothingToError.
	PlanRepair(ctx context.Context, session string) (model.Plan, error)
}

// Purger is a Store that can forget for good what was set aside of a session,
// which is where a text lives on that the framework had redacted.
type Purger interface {
	Applier
	// PlanPurge computes what would be forgotten: all that was set aside of the
	// session, or only what the framework has redacted since.
	// Where there is nothing, the error is a model.NothingToError.
	PlanPurge(ctx context.Context, session string, what PurgeScope) (model.Plan, error)
}

// PurgeScope says how much a purge forgets.
type PurgeScope string

// The scopes of a purge.
const (
	PurgeRedacted PurgeScope = "redacted"
	PurgeAll      PurgeScope = "all"
)

// Runner is a Store whose process is running and can go on from a snapshot. To
// apply such a plan runs models and tools.
type Runner interface {
	Applier
	// PlanRun computes what sending the text as the next input would do.
	PlanRun(ctx context.Context, ref model.Ref, input string) (model.Plan, error)
}

// Recorder is a Store that keeps session records.
type Recorder interface {
	// Get gives the record of a session, nil and no error where it has none.
	Get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error)
}

// Describer is a Store that knows more about a snapshot than its header tells.
type Describer interface {
	// Facts gives what is known, in the order in which people want to know it.
	// The errors are those of State.
	Facts(ctx context.Context, ref model.Ref) ([]model.Fact, error)
}

// Limiter is a Store that can say why it lacks a capability.
type Limiter interface {
	// Lacks gives the reason in a few words, or "" if the operation is there.
	Lacks(op model.Op) string
}

// Deriver is a Store that derives its snapshots from what its framework wrote,
// so that an id need not be the hash of the state.
type Deriver interface {
	// DerivedIDs says in a few words what the ids are, such as "the SHA-256
	// of the message and its place".
	DerivedIDs() string
}

// Row is one snapshot whole, or the record of one session: what export writes
// and import reads.
type Row struct {
	Header model.Header
	// State is nil on a later visit of an id whose state came before.
	State []byte
	// Record is a session's record, its LastSnapshot left nil because the
	// headers tell the head; Header and State are then unused. Nil on a row
	// that is a snapshot.
	Record *model.Data[json.RawMessage]
}

// Importer is a Store into which rows can be put as they are, visits, orphaned
// ones and reasons included.
type Importer interface {
	// Import adds the rows, all in one transaction, and gives how many visits
	// were new, those of model.MarkTraced not counted: those that the store has
	// already are left as they are. An error in the sequence takes everything
	// back. It is an entry of the journal, unless it changes nothing, or is what an
	// empty store begins with.
	Import(ctx context.Context, rows iter.Seq2[Row, error]) (int, error)
}

// NewestFirst orders sessions by their last change, then by id.
func NewestFirst(a, b model.SessionInfo) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
}

// Reason gives why s cannot do op, or "" if it can.
func Reason(s Store, op model.Op) string {
	ok := false
	switch op {
	case model.OpRestore:
		_, ok = s.(Restorer)
	case model.OpFork:
		_, ok = s.(Forker)
	case model.OpUndo, model.OpRedo:
		_, ok = s.(Undoer)
	case model.OpEdit:
		_, ok = s.(Editor)
	case model.OpConvert:
		_, ok = s.(Converter)
	case model.OpRepair:
		_, ok = s.(Repairer)
	case model.OpPurge:
		_, ok = s.(Purger)
	case model.OpRun:
		_, ok = s.(Runner)
	}
	if l, is := s.(Limiter); is {
		if reason := l.Lacks(op); reason != "" {
			return reason
		}
	}
	if !ok {
		return "a " + s.Kind() + " store cannot " + string(op)
	}
	return ""
}
