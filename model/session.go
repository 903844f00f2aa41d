package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hindcast/model/printable"
)

// Data is the record of a session: its working state and where its snapshots stand. The Genkit Go design,
// section 11, gives the JSON names.
type Data[S any] struct {
	// ID is the session's id.
	ID string `json:"id"`
	// State is the working state.
	State S `json:"state"`
	// LastSnapshot is the newest snapshot on the active path: the parent of
	// the next one. Nil before the first.
	LastSnapshot *Snapshot[S] `json:"lastSnapshot,omitempty"`
	// TurnIndex is the number of the current turn.
	TurnIndex int `json:"turnIndex"`
}

// Store keeps sessions and their snapshots: the seed's interface (Genkit Go
// design, section 2), word for word in its signatures. An implementation is
// safe for concurrent use.
type Store[S any] interface {
	// Get returns the record of a session, or nil and no error if there is no such session.
	Get(ctx context.Context, sessionID string) (*Data[S], error)
	// Save writes the record of a session.
	Save(ctx context.Context, sessionID string, data *Data[S]) error
	// GetSnapshot returns a snapshot by its id, or nil and no error if there is no such snapshot. Where
	// several sessions hold the id, the error is an [AmbiguousError].
	GetSnapshot(ctx context.Context, snapshotID string) (*Snapshot[S], error)
	// SaveSnapshot keeps a snapshot. Where the session has the id already, the
	// row stays as it is and a visit is recorded.
	SaveSnapshot(ctx context.Context, snapshot *Snapshot[S]) error
	// ListSnapshots returns the snapshots of a session by ascending Index, then
	// time, then id; the orphaned ones only on request.
	ListSnapshots(ctx context.Context, sessionID string, includeOrphaned bool) ([]*Snapshot[S], error)
	// InvalidateSnapshotsAfter orphans all snapshots whose Index is greater.
	InvalidateSnapshotsAfter(ctx context.Context, sessionID string, afterIndex int) error
}

// SessionInfo describes one session in a list.
type SessionInfo struct {
	// ID is how every other call names the session. A session of several
	// agents is listed once for each, as "SESSION/AGENT".
	ID string
	// Kind is the kind of the store that holds it.
	Kind string
	// Snapshots counts the visits, orphaned ones included; Orphaned counts those.
	// One is below 0 where a list of sessions would have to read all of this one to
	// know it.
	Snapshots, Orphaned int
	// Head is the snapshot from which the framework would resume.
	Head Point
	// UpdatedAt is the time of the last change that the store knows of.
	UpdatedAt time.Time
	// ExpiresAt is the time from which the tool deletes the session for its age when it starts; zero for never.
	ExpiresAt time.Time
	// GoneSince is when the files of a session were first missed that is kept in the user's archive, or when they
	// were last seen; zero for a session that its tool has.
	GoneSince time.Time
	// Faults counts what is wrong with the session; FaultsNotCounted where a list
	// of sessions would have to read all of them to know.
	Faults int
	// Title is the user's first prompt, or the task of an orchestrator, on one line and cut: by it people
	// tell sessions apart whose ids say nothing. It is untrusted; "" where the store would have to read too
	// much to know.
	Title string
	// Project is the folder that the session is about, which several sessions share; ""
	// where the store does not say. It is untrusted.
	Project string
	// Size is how many bytes of the store are the session's; 0 if it is not known.
	Size int64
	// Parent is the session that started this one as a sub-agent; "" for any other session.
	Parent string
}

// DescribeEnd says when the tool deletes the session for its age, at a time now; "" if that is later than within, or
// never.
func (i *SessionInfo) DescribeEnd(now time.Time, within time.Duration) string {
	const day = 24 * time.Hour
	left := i.ExpiresAt.Sub(now)
	switch {
	case i.ExpiresAt.IsZero() || left > within:
		return ""
	case left <= 0:
		return "the next start deletes this session"
	case left < day:
		return fmt.Sprintf("deleted in %d h", left/time.Hour+1)
	}
	return fmt.Sprintf("deleted in %d d", left/day)
}

// FaultsNotCounted is the Faults of a session that was not examined.
const FaultsNotCounted = -1

var (
	// ErrNoSession: the store has no session of that id.
	ErrNoSession = errors.New("no such session")
	// ErrNoSnapshot: the session has no snapshot of that id.
	ErrNoSnapshot = errors.New("no such snapshot")
	// ErrAmbiguous: an id or a prefix fits several snapshots.
	ErrAmbiguous = errors.New("ambiguous snapshot id")
	// ErrHeadMoved: another program wrote to the session since the plan was made.
	ErrHeadMoved = errors.New("the session's head has moved")
)

// AmbiguousError lists what a name of a snapshot fits. It is ErrAmbiguous.
type AmbiguousError struct {
	// ID is the id that the caller asked for.
	ID string
	// Candidates are the sessions that hold the id, or the names of the visits that
	// it fits, see [Timeline.Name].
	Candidates []string
	// Meanings says of each candidate, if it is a visit, which one that is: the
	// beginning of its id, its event and its title, which is untrusted.
	Meanings []string
	// More counts the candidates that are not named.
	More int
}

// Error returns one line that names sessions, or a line for each visit.
func (e *AmbiguousError) Error() string {
	var text strings.Builder
	if e.Meanings == nil {
		fmt.Fprintf(&text, "snapshot %.80q is ambiguous: ", e.ID)
	} else {
		fmt.Fprintf(&text, "%.80q fits %d snapshots:", e.ID, len(e.Candidates)+e.More)
	}
	for i, candidate := range e.Candidates {
		switch {
		case e.Meanings != nil:
			fmt.Fprintf(&text, "\n%s  %.80s", candidate, printable.String(e.Meanings[i]))
		case i > 0:
			fmt.Fprintf(&text, ", %.80q", candidate)
		default:
			fmt.Fprintf(&text, "%.80q", candidate)
		}
	}
	if e.More > 0 {
		fmt.Fprintf(&text, "\nand %d more", e.More)
	}
	return text.String()
}

// Is makes errors.Is(err, ErrAmbiguous) hold.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// ConflictError says that a session is not where its writer left it: another
// program wrote to it, or it was restored. Nothing was overwritten. It is
// ErrHeadMoved.
type ConflictError struct {
	// Session is the session's id.
	Session string
	// Head is the snapshot at which the session stands now, and Expected the one from
	// which the writer went on, each by its id and index, or the zero value. They
	// are one where only the record was changed.
	Head, Expected Point
}

func (e *ConflictError) Error() string {
	if e.Head == e.Expected {
		return fmt.Sprintf("session %.80q was written to by another program: its head still is %s", e.Session, namePoint(e.Head))
	}
	return fmt.Sprintf("session %.80q has moved on: its head is %s and no longer %s", e.Session, namePoint(e.Head), namePoint(e.Expected))
}

// namePoint names a snapshot in an error.
func namePoint(p Point) string {
	if p.ID == "" {
		return "at no snapshot"
	}
	return fmt.Sprintf("#%d %.12s", p.Index, p.ID)
}

// Is makes errors.Is(err, ErrHeadMoved) hold.
func (e *ConflictError) Is(target error) bool { return target == ErrHeadMoved }
