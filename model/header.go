package model

import "time"

// Header describes one snapshot without its state: cheap enough to hold for every snapshot of a session at
// once.
//
// A header describes one visit. A session that comes back to a state it was
// in before (A, B, A) has one row for A and two visits of it, and the
// timeline draws the visits.
type Header struct {
	// ID, ParentID, SessionID, CreatedAt, Index, TurnIndex and Event are as in [Snapshot]. CreatedAt is
	// zero if the store has no time.
	ID, ParentID, SessionID string
	CreatedAt               time.Time
	Index, TurnIndex        int
	Event                   SnapshotEvent
	// EventName is set when the event has a name of its own that the seed's
	// integers do not cover; Event is then SnapshotEventNamed.
	EventName string
	// Position is the boundary at which a Strands checkpoint would stand here ("after_model",
	// "after_tools"), or "" if no checkpoint would.
	Position string
	// Title is one short line on what happened, from the data itself and so
	// untrusted; "" where the store would have to read the state to know.
	Title string
	// Visit numbers the visits of a session from 1 in the order in which they
	// were recorded; 0 where the store records none. ParentVisit is the visit
	// that this one follows; 0 to find it by ParentID.
	Visit, ParentVisit int64
	// Size is the length of the state in bytes, 0 if it is not known.
	Size int64
	// Orphaned says that the visit is off the active path.
	Orphaned bool
	// Head says that the framework would resume from here.
	Head bool
	// Marks are facts about this snapshot that the timeline shows.
	Marks Marks
	// Alias is the id that the program which recorded the visit gave it, and Attributes are the program's remarks on it. Both
	// are untrusted, and may be "".
	Alias      string
	Attributes Attributes
	// Reason says why the visit is off the active path, where the store knows;
	// nil otherwise (a [Timeline] works it out from the tree). Headers that
	// left the path together share one Reason; it is never written to.
	Reason *Reason
}

// EventText returns the event in words for people; a name of another framework
// is untrusted data and given as it is.
func (h *Header) EventText() string {
	if h.EventName != "" {
		return h.EventName
	}
	return h.Event.String()
}

// Ref names the header's visit for a store.
func (h Header) Ref() Ref { return Ref{Session: h.SessionID, ID: h.ID, Visit: h.Visit} }

// Ref names one snapshot in a store. ID is never empty. Visit tells the visits
// of one id apart; 0 means the latest visit.
type Ref struct {
	Session, ID string
	Visit       int64
}

// CheckNoVisit returns ErrNoSnapshot where the ref names a visit. A kind that counts no visits has
// each snapshot once, and none of a visit.
func (r Ref) CheckNoVisit() error {
	if r.Visit != 0 {
		return ErrNoSnapshot
	}
	return nil
}

// TurnUnknown is the TurnIndex of a header whose turn was not counted yet.
const TurnUnknown = -1

// Marks is a set of facts about one snapshot.
type Marks uint16

const (
	// MarkEvicted: the conversation manager dropped this message from the
	// context that the model sees; it is still on disk.
	MarkEvicted Marks = 1 << iota
	// MarkRedacted: the content was replaced by the framework on purpose.
	MarkRedacted
	// MarkRepaired: the framework will change this in memory when it loads it.
	MarkRepaired
	// MarkDamaged: the row or file could not be read whole; see the faults.
	MarkDamaged
	// MarkInferred: the parent, or that a tool failed, is not recorded but was worked out.
	MarkInferred
	// MarkInterrupted: an interrupt waits for an answer here.
	MarkInterrupted
	// MarkError: a tool or the model failed in this step.
	MarkError
	// MarkTraced: the store has no such snapshot; it was put together from a
	// trace of the turn, and stands before the snapshot that the turn ended in.
	MarkTraced
)

// Grave reports whether one of the marks says that something is wrong.
func (s Marks) Grave() bool { return s&(MarkDamaged|MarkError) != 0 }

// Has reports whether all marks of m are set.
func (s Marks) Has(m Marks) bool { return s&m == m }

// ReasonKind is why a snapshot is off the active path.
type ReasonKind uint8

const (
	// ReasonUnknown: nothing tells why.
	ReasonUnknown ReasonKind = iota
	// ReasonRestore: left by a restore to an earlier snapshot.
	ReasonRestore
	// ReasonSecondLeaf: another branch from the same parent was chosen.
	ReasonSecondLeaf
	// ReasonFailedLeaf: the step failed or was aborted.
	ReasonFailedLeaf
	// ReasonParentPruned: its parent is no longer in the store.
	ReasonParentPruned
	// ReasonPointer: the framework's own pointer names another snapshot.
	ReasonPointer
	// ReasonRewind: cut off by a rewind of the message log.
	ReasonRewind
	// ReasonCycle: its lineage runs in a circle, so that no path reaches it.
	ReasonCycle
	// ReasonRepair: a repair replaced it.
	ReasonRepair
	// ReasonUndo: the write that made it was undone.
	ReasonUndo
	// ReasonOverwritten: a program that is not Hindcast wrote over it.
	ReasonOverwritten
	// ReasonSidechain: a sub-agent wrote it in the session that started it.
	ReasonSidechain
	// ReasonDamaged: it is in a damaged record of the file, which the agent passes over.
	ReasonDamaged
	// ReasonCompaction: a summary that follows nothing takes the place of all before it, or a summary of
	// the messages after the target takes the target's place.
	ReasonCompaction
	// ReasonChainBroken: a parent between it and the head was never written.
	ReasonChainBroken
	// ReasonWentOn: the framework itself went on from an earlier snapshot.
	ReasonWentOn
	// ReasonForked: a program made a copy of an earlier snapshot to go on from. ReasonUpdated: it changed the state
	// of an earlier snapshot.
	ReasonForked
	ReasonUpdated
	// ReasonDropped: the session no longer names it, and the program left it where it was.
	ReasonDropped
)

// Reason says why snapshots are off the active path.
type Reason struct {
	Kind ReasonKind
	// At is when they were left; zero if that is not recorded.
	At time.Time
	// TargetID and TargetIndex name the snapshot to which the restore or the rewind went back; TargetID is
	// "" if there was no target.
	TargetID    string
	TargetIndex int
	// TargetName is the name of that visit in its timeline. [Timeline.Reason] fills it
	// in; it is not stored.
	TargetName string
}
