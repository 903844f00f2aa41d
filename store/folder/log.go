package folder

import (
	"context"
	"time"

	"hindcast/model"
)

// Format reads the sessions of one kind from a tree of files, and from nothing else.
type Format interface {
	// Name returns the name of the framework, for people.
	Name() string
	// Place returns where the session of a name is, see [Place.Session].
	Place(session string) Place
	// Read returns the log of a session, one without rows where there are none.
	Read(ctx context.Context, in In, at Place) (*Log, error)
}

// Place is where a session is in a storage.
type Place struct {
	// Session is the session's name in the storage, which is the same whatever folder of
	// it was opened.
	Session string
	// Folders are those that the files of its rows are in.
	Folders []string
	// Own is what the format needs besides.
	Own any
}

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
	// Written are the times at which the rows were written last; zero if not known.
	Written []time.Time
	// Head is the row that the framework goes on from, or where the session stands if it
	// goes on from none; -1 where there are no rows.
	Head int
	// Pointed says that the framework names its head itself.
	Pointed bool
	// Own is what the format decoded.
	Own any

	// Aside are the rows that the journal alone has, and Made those that Hindcast wrote,
	// by their ids. They are known of a log that [Storage.Log] returned.
	Aside map[string]*Aside
	Made  map[string]*Mark
	// Whole is what the format decoded with the rows that the journal alone has; nil where
	// there are none.
	Whole any
}

// At returns the position of a row, -1 for none.
func (l *Log) At(id string) int {
	for i := range l.Rows {
		if l.Rows[i].ID == id {
			return i
		}
	}
	return -1
}

// HeadPoint returns the head, the zero value where there is none.
func (l *Log) HeadPoint() model.Point {
	if l.Head < 0 {
		return model.Point{}
	}
	return l.Rows[l.Head].Point()
}

// There returns how many rows of the log the tree has.
func (l *Log) There() int { return len(l.Rows) - len(l.Aside) }

// settle fills in what follows from the rows together, and from the moves of the head.
func (l *Log) settle(moves []model.Move) {
	for i := range l.Rows {
		h := &l.Rows[i]
		h.Index, h.Head = i, i == l.Head
		m, aside := l.Made[h.ID], l.Aside[h.ID]
		switch {
		case aside != nil:
			h.Orphaned, h.Reason = true, aside.reason()
		case m != nil:
			h.Reason = nil
		}
		if m != nil && h.EventName == "" {
			h.Event, h.EventName = model.SnapshotEventNamed, string(m.Op)
		}
	}
	countTurns(l.Rows, model.Settle(l.Rows, model.HeadFacts{Moves: moves, Pointed: l.Pointed}))
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
