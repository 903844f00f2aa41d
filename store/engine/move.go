package engine

import (
	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/tree"
)

// Move is a write in the making.
type Move struct {
	// Steps are the files that change, in the order in which the store is sound.
	Steps tree.Steps
	// Rows are the rows of a database that change; nil if no rows change.
	Rows any
	// Target is the row that the session is put to, or that it goes on from: it may not
	// be the row that becomes the head.
	Target model.Point
	// New is the place of the session that the change makes; nil if it makes no session.
	New *Place
	// Others are the other sessions that the change makes.
	Others []string
	// Branch is the branch that the change makes, where that is no session of its own.
	Branch string
	// Uses maps the files that the steps copy from or replace to the SHA-256 of their content, in
	// hex. "" stands for a missing file.
	Uses map[string]string
	// Closed are folders in which only the steps may add or remove names. A missing folder counts
	// as empty.
	Closed []string
	// Keeps are files that stay as they are, and whose content is kept: an agent that runs
	// may write over them.
	Keeps []string
	// Was describes the session before the write, for the format's use in the journal entry.
	Was string
	// Forget, of a purge alone, reports whether a content that a file had is forgotten.
	Forget func(name string, data []byte) bool
	// Scope is that of the change: the engine fills it in.
	Scope model.PurgeScope
	// Carries is that of the plan.
	Carries []string
	// Writes, Hazards and Asks are the format's own words for the plan.
	Writes, Hazards, Asks []string
	// Own holds the data that Next needs.
	Own any
	// Carry is set if the kind carries the plan out itself; nil if files or rows are written.
	Carry any
}

// Idle reports whether the move changes nothing.
func (m *Move) Idle() bool { return len(m.Steps) == 0 && m.Rows == nil }

// Next describes how a framework goes on with a session.
type Next = planning.Next

// Leaves reports whether rows of a log leave the path to its head when it becomes another.
func (l *Log) Leaves(after *Log) bool {
	orphans, _ := planning.Difference(l.PlanningLog(), after.PlanningLog())
	return len(orphans) > 0
}
