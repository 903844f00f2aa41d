package engine

import (
	"cmp"
	"time"

	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/tree"
)

// In is the input of a format: a tree of files, their memo, the session's journal entries, and the
// time, by which pending work expires. A database is a transaction instead.
type In struct {
	tree.Tree
	// Tx is the transaction on the tables of a database, nil in files.
	Tx   any
	Memo *tree.Memo
	// Writes are the journal's entries of all sessions.
	Writes Writes
	Now    time.Time
	// There says that only the rows that the tree has are asked for: a format that reads
	// the others itself may leave them out.
	There bool
}

// Place is where a session is in a storage.
type Place struct {
	// Session is the session's name in the storage, which is the same whatever folder of
	// it was opened.
	Session string
	// ID is the session's name in the port; "" means that it equals Session.
	ID string
	// Folders are the folders in which the journal's entries record the names that came.
	Folders []string
	// Tree holds the session if it is not in the tree of the storage, but where a link leads to.
	Tree tree.Tree
	// Own holds the format's own data.
	Own any
}

// Of returns the input in which the session at a place is read.
func (in In) Of(at Place) In {
	if at.Tree != nil {
		in.Tree = at.Tree
	}
	return in
}

// SessionName returns the session's name in the port.
func (p *Place) SessionName() string { return cmp.Or(p.ID, p.Session) }

// Log is a session as a format reads it from a tree. The slices have one item for each
// row, in the format's order.
type Log struct {
	Place Place
	// Rows are the headers: what a row tells by itself. The engine fills in Index, Head,
	// Orphaned, and Event and Reason where a write of Hindcast's says more; TurnIndex
	// too where that is model.TurnUnknown.
	Rows []model.Header
	// Files are the files that the rows are in.
	Files []string
	// Contents name what the rows hold, where an id says only where a row is: a row of
	// another content is another row, and one of the same content the same. Nil where ids
	// suffice, "" for a row whose id suffices.
	Contents []string
	// Written are the files whose modification times show an agent at work.
	Written []Written
	// Head is the row that the framework goes on from, or where the session stands if it
	// goes on from none; -1 where there are no rows.
	Head int
	// Pointed says that the framework names its head itself.
	Pointed bool
	// Settled says that the format also filled in the facts that follow from all rows together. A row
	// off the path has its reason then.
	Settled bool
	// Empty says of a log without rows that the session is there.
	Empty bool
	// Err is why not all rows could be read.
	Err error
	// Own holds the format's decoded data, and Held is how many bytes of files are in it.
	Own  any
	Held int64
	// Until is when the same files read otherwise, the zero time for never.
	Until time.Time
	// Facts say where the head is, of a log that was read from a row on.
	Facts model.HeadFacts
	// Title and Size belong to the session's info. First is the part of Size that the first row
	// takes.
	Title       string
	Size, First int64
	// Opaque names the encoding of states that are shown as raw bytes; "" if there are no such
	// states.
	Opaque string
	// Busy is why an agent may be at work on the session, "" for no sign of it: the engine
	// fills it in before a [Move].
	Busy string

	// Aside are the rows that the journal alone has, by their ids. A format that reads them
	// itself, by [In].Writes, makes the map. For any other the engine brings their files
	// back.
	Aside map[string]*Aside
	// Whole holds the format's decoded data including the rows that the engine brought back; nil if
	// it brought back no rows.
	Whole any
}

// AddRow adds a row of so many bytes behind the others.
func (l *Log) AddRow(h model.Header, size int64) {
	l.Rows, l.Size = append(l.Rows, h), l.Size+size
	if len(l.Rows) == 1 {
		l.First = size
	}
}

// At returns the position of a row, -1 if it is missing.
func (l *Log) At(id string) int {
	for i := range l.Rows {
		if l.Rows[i].ID == id {
			return i
		}
	}
	return -1
}

// IsLine reports whether the newest row is the head, and each follows the one before.
func (l *Log) IsLine() bool {
	n := len(l.Rows)
	for i := 1; i < n; i++ {
		if l.Rows[i].ParentID != l.Rows[i-1].ID {
			return false
		}
	}
	return n > 0 && (l.Facts.Newest || l.Rows[n-1].Head) && len(l.Facts.Moves) == 0
}

// HeadPoint returns the head, the zero value if there is no head.
func (l *Log) HeadPoint() model.Point {
	if l.Head < 0 {
		return model.Point{}
	}
	return l.Rows[l.Head].Point()
}

// There returns how many rows of the log the tree has.
func (l *Log) There() int { return len(l.Rows) - len(l.Aside) }

// PlanningLog returns the log as plans compare it.
func (l *Log) PlanningLog() planning.Log {
	return planning.Log{Rows: l.Rows, Head: l.Head, Places: l.Files, Contents: l.Contents, Aside: func(id string) bool { return l.Aside[id] != nil }}
}

// settleRows fills in the facts that follow from all rows together, and from the writes that moved the
// head.
func (l *Log) settleRows(t *Told) {
	for i := range l.Rows {
		l.Rows[i].Index, l.Rows[i].Head = i, i == l.Head
	}
	countTurns(l.Rows, model.Settle(l.Rows, model.HeadFacts{Moves: l.headMoves(t), Pointed: l.Pointed}))
}

// headMoves returns the writes that put the head elsewhere, by the rows as they are now.
func (l *Log) headMoves(t *Told) (list []model.Move) {
	if t == nil {
		return nil
	}
	moves := t.all().moves
	for i := range moves {
		m := &moves[i]
		why := m.restoreReason()
		if to := l.At(m.To); to >= 0 {
			why.TargetIndex = to
		}
		list = append(list, model.Move{From: l.headBefore(m), To: m.To, Why: why})
	}
	return list
}

// headBefore returns the row that was the head before a move. Where that lay in a file that got
// another content, it is the row that has its content now.
func (l *Log) headBefore(m *move) string {
	at := l.At(m.From)
	for i := range m.replaced {
		a := &m.replaced[i]
		if at >= 0 && l.Files[at] != a.Name {
			continue
		}
		for k, file := range l.Files {
			if kept := l.Aside[l.Rows[k].ID]; a.Saved == file || kept != nil && kept.Name == a.Name && kept.Version == a.Version {
				return l.Rows[k].ID
			}
		}
		if at >= 0 {
			return "" // the row of that id is another one now
		}
	}
	return m.From
}

// countTurns fills in the turns that are not known: how many were completed before each
// row, on the way to it. Parents may come later than their children.
func countTurns(rows []model.Header, t *model.Timeline) {
	known := make([]bool, len(rows))
	var way []model.Node
	for i := range rows {
		at := model.Node(i)
		for at != model.NoNode && !known[at] {
			way = append(way, at)
			at = t.Parent(at)
		}
		for ; len(way) > 0; way = way[:len(way)-1] {
			n := way[len(way)-1]
			known[n] = true
			if rows[n].TurnIndex != model.TurnUnknown {
				continue
			}
			rows[n].TurnIndex = 0
			if p := t.Parent(n); p != model.NoNode {
				rows[n].TurnIndex = rows[p].TurnIndex
				if rows[p].Event.EndsTurn() && rows[p].EventName == "" {
					rows[n].TurnIndex++
				}
			}
		}
	}
}
