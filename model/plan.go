package model

import (
	"fmt"
	"time"
)

// Op is a kind of change that Hindcast makes to a store.
type Op string

const (
	// OpRestore makes a snapshot the head of its session again.
	OpRestore Op = "restore"
	// OpFork starts a new session from a snapshot.
	OpFork Op = "fork"
	// OpUndo takes back the last operation that is not undone.
	OpUndo Op = "undo"
	// OpRedo does the last undone operation again.
	OpRedo Op = "redo"
)

// Plan is exactly what an operation will do, computed before anything is
// written. Applying it refuses with [ErrHeadMoved] when the session is no
// longer at ExpectedHead.
type Plan struct {
	Op Op `json:"op"`
	// Session is the session that changes; for a fork, the one that is read.
	Session string `json:"session"`
	// NewSession is the session that a fork makes.
	NewSession string `json:"newSession,omitempty"`
	// Target is the snapshot that becomes the head.
	Target Ref `json:"-"`
	// TargetID and TargetIndex say the same for people and scripts.
	TargetID    string `json:"target"`
	TargetIndex int    `json:"targetIndex"`
	// ExpectedHead is the head that the plan was made against; its zero value
	// stands for a session without snapshots.
	ExpectedHead Ref `json:"-"`
	// HeadID and HeadIndex are that head.
	HeadID    string `json:"head"`
	HeadIndex int    `json:"headIndex"`
	// Orphans are the visits that leave the active path, Reactivates those
	// that come back to it, both in index order.
	Orphans     []PlanItem `json:"orphans"`
	Reactivates []PlanItem `json:"reactivates"`
	// Writes lists each file or table that changes, in order, in words.
	Writes []string `json:"writes"`
	// Loads says what the framework will load next and the call that resumes.
	Loads string `json:"loads"`
	// Hazards are warnings that the person must see before saying yes.
	Hazards []string `json:"hazards"`
	// Entry is the journal entry that an undo or a redo is about, else 0.
	Entry int64 `json:"entry,omitempty"`
}

// PlanItem names one visit in a plan.
type PlanItem struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	Visit int64  `json:"visit,omitempty"`
}

// Receipt is what was done.
type Receipt struct {
	// Entry is the number of the journal entry.
	Entry int64 `json:"entry"`
	Op    Op    `json:"op"`
	// Session is the session that now has Head as its head.
	Session   string `json:"session"`
	Head      string `json:"head"`
	HeadIndex int    `json:"headIndex"`
	// Orphaned and Reactivated count the visits that moved.
	Orphaned    int `json:"orphaned"`
	Reactivated int `json:"reactivated"`
}

// JournalEntry is one of Hindcast's own writes to a store.
type JournalEntry struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Op      Op        `json:"op"`
	Session string    `json:"session"`
	// From and To are the heads before and after.
	From      string `json:"from"`
	FromIndex int    `json:"fromIndex"`
	To        string `json:"to"`
	ToIndex   int    `json:"toIndex"`
	// Undone says that the entry is taken back just now.
	Undone bool `json:"undone"`
}

// UnsupportedError says that a store cannot do an operation, and why, in words
// that fit behind the key that is disabled.
type UnsupportedError struct {
	Op     Op
	Reason string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("cannot %s: %s", e.Op, e.Reason) }

// NothingToError says that there is nothing to undo or to redo.
type NothingToError struct{ Op Op }

func (e *NothingToError) Error() string { return fmt.Sprintf("nothing to %s", e.Op) }

// PlanLine is one line of a plan as people read it.
type PlanLine struct {
	// Label is one of a few fixed words: "head now", "head then", "leaves path",
	// "comes back", "writes", "loads", "warning"; for a fork "starts at" and
	// "untouched" instead of the heads.
	Label string
	// Text may hold names out of the data; it is not escaped.
	Text string
}

// PlanWarning is the label of the lines that a person must see before saying
// yes.
const PlanWarning = "warning"

// Headline says in one line what the plan does. Names in it are not escaped.
func (p *Plan) Headline() string {
	switch p.Op {
	case OpFork:
		return fmt.Sprintf("fork %s from #%d as %s", p.Session, p.TargetIndex, p.NewSession)
	case OpUndo, OpRedo:
		return fmt.Sprintf("%s write %d on %s", p.Op, p.Entry, p.Session)
	}
	return fmt.Sprintf("%s %s to #%d", p.Op, p.Session, p.TargetIndex)
}

// Lines gives the whole plan, in the order in which people want to know it:
// the warnings first, then where the head goes, what leaves and comes back to
// the path, what is written and what the framework loads next. Every visit has
// a line of its own.
func (p *Plan) Lines() []PlanLine {
	var lines []PlanLine
	add := func(label, text string) { lines = append(lines, PlanLine{label, text}) }
	for _, hazard := range p.Hazards {
		add(PlanWarning, hazard)
	}
	now, then := planPlace(p.HeadID, p.HeadIndex), planPlace(p.TargetID, p.TargetIndex)
	if p.Op == OpFork {
		add("starts at", then)
		add("untouched", p.Session+" stays at "+now)
	} else {
		add("head now", now)
		add("head then", then)
	}
	for _, item := range p.Orphans {
		add("leaves path", planPlace(item.ID, item.Index))
	}
	for _, item := range p.Reactivates {
		add("comes back", planPlace(item.ID, item.Index))
	}
	for _, write := range p.Writes {
		add("writes", write)
	}
	if p.Loads != "" {
		add("loads", p.Loads)
	}
	return lines
}

// planPlace names a snapshot by its index and the beginning of its id.
func planPlace(id string, index int) string {
	if id == "" {
		return "none"
	}
	return fmt.Sprintf("#%d %s", index, ShortID(id, 8))
}
