// Package planning holds the logic that plans of all kinds of stores share. A plan compares the log of a
// session as it is with the log that a framework would read after the write. The package knows neither files
// nor rows.
package planning

import (
	"fmt"
	"time"

	"hindcast/model"
)

// Log is a session as a plan sees it. The slices have one item for each row, in the
// order of the format.
type Log struct {
	// Rows are the headers, with who is off the path.
	Rows []model.Header
	// Head is the row that the framework goes on from, -1 where there are no rows.
	Head int
	// Places say where each row is, such as its file; nil where its id says it.
	Places []string
	// Contents name what the rows hold, where an id says only where a row is: a row of
	// another content is another row. Nil where ids suffice, "" for a row whose id does.
	Contents []string
	// Aside reports whether the store itself does not have the row of an id, only
	// Hindcast's journal; nil where it has all.
	Aside func(id string) bool
}

// Point returns the head, the zero value if there is no head.
func (l Log) Point() model.Point {
	if l.Head < 0 {
		return model.Point{}
	}
	return l.Rows[l.Head].Point()
}

func (l Log) isAside(i int) bool { return l.Aside != nil && l.Aside(l.Rows[i].ID) }

func (l Log) contentAt(i int) string {
	if l.Contents == nil {
		return ""
	}
	return l.Contents[i]
}

func (l Log) placeAt(i int) string {
	if l.Places == nil {
		return l.Rows[i].ID
	}
	return l.Places[i]
}

// rowFinder returns a function that finds a row of another log in this log, -1 if it is missing.
func (l Log) rowFinder() func(other Log, i int) int {
	at := make(map[string]int, len(l.Rows))
	for i := range l.Rows {
		at[l.Rows[i].ID] = i
	}
	return func(other Log, i int) int {
		if k, there := at[other.Rows[i].ID]; there && l.contentAt(k) == other.contentAt(i) {
			return k
		}
		return -1
	}
}

// Next describes how a framework goes on with a session.
type Next struct {
	// Loads describes the state that the framework loads. Calls resume the session, the best
	// call first.
	Loads         string
	Calls         []model.Resume
	Hazards, Asks []string
}

// Lead completes a plan with where the session goes: its head before, whether that of then is
// a new row, the rows that leave the path and those that come back. Of a session that a plan
// makes nothing leaves.
func Lead(plan *model.Plan, before, after Log) {
	if before.Head >= 0 {
		plan.Head = before.Point()
	}
	if plan.NewSession == "" {
		plan.NewHead = (plan.Op == model.OpRestore || plan.Op == model.OpRepair) && after.Head >= 0 && before.rowFinder()(after, after.Head) < 0
		plan.Orphans, plan.Reactivates = Difference(before, after)
	}
}

// Tell adds the framework's next steps to a plan.
func (n Next) Tell(plan *model.Plan) {
	plan.Loads = n.Loads
	plan.Resume = append(plan.Resume, n.Calls...)
	plan.Hazards = append(plan.Hazards, n.Hazards...)
	plan.Asks = append(plan.Asks, n.Asks...)
}

// Difference returns the rows of a log that leave the path to its head, and those that
// come back to it.
func Difference(before, after Log) (orphans, reactivates []model.Point) {
	then, onPath := after.rowFinder(), map[string]bool{}
	for i := range after.Rows {
		if key := after.contentAt(i); key != "" && !after.Rows[i].Orphaned {
			onPath[key] = true
		}
	}
	for i := range before.Rows {
		h, k := &before.Rows[i], then(before, i)
		on := k >= 0 && !after.Rows[k].Orphaned || k < 0 && onPath[before.contentAt(i)]
		switch {
		case !h.Orphaned && !on:
			orphans = append(orphans, h.Point())
		case h.Orphaned && on:
			reactivates = append(reactivates, h.Point())
		}
	}
	return orphans, reactivates
}

// Expect compares a log with the one that a plan was made of: its rows, their parents,
// places and contents. It returns the place of the first row that is another, and what
// became of it; found is "" where all are the same.
func Expect(want, now Log) (place, found string) {
	there := make(map[string]int, len(want.Rows))
	for i := range want.Rows {
		if !want.isAside(i) {
			there[want.Rows[i].ID] = i
		}
	}
	for i := range now.Rows {
		k, planned := there[now.Rows[i].ID]
		switch {
		case now.isAside(i):
			continue
		case !planned:
			return now.placeAt(i), "came"
		case now.placeAt(i) != want.placeAt(k) || now.Rows[i].ParentID != want.Rows[k].ParentID || now.contentAt(i) != want.contentAt(k):
			return now.placeAt(i), "was changed"
		}
		delete(there, now.Rows[i].ID)
	}
	for _, k := range there {
		return want.placeAt(k), "went"
	}
	return "", ""
}

// Entry is a write that is taken back, or done again.
type Entry struct {
	ID      int64
	Op      model.Op
	Session string
	// From is the row that was the head before it, where an undo has to lead back there.
	From string
	// Head is the row that became the head by it; "" where that is not known.
	Head string
	// Within says that a fork made a branch of the session, and no other session.
	Within bool
}

// errWentOn: what a plan was to take back was built upon.
var errWentOn = fmt.Errorf("the agent went on from it: %w", model.ErrHeadMoved)

// Loses reports what an undo or a redo of an entry would take from the agent: a row that
// stays loses its parent, or the session would not be where it was, because it got other
// rows since. The error is model.ErrHeadMoved.
func Loses(op model.Op, e Entry, before, after Log) error {
	if op == model.OpRedo {
		isNew := false
		for i := range before.Rows {
			isNew = isNew || e.Op.MakesSession() && !e.Within && !before.isAside(i)
		}
		if head := after.Point().ID; isNew || e.Head != "" && head != e.Head {
			return fmt.Errorf("session %q got other rows since write %d was undone: plan it anew instead; %w", e.Session, e.ID, errWentOn)
		}
		return nil
	}
	if e.Op.MakesSession() && !e.Within {
		for i := range after.Rows {
			if !after.isAside(i) {
				return fmt.Errorf("session %q got the row %s since write %d made it: restore the row that is wanted instead; %w",
					e.Session, model.ShortID(after.Rows[i].ID, 8), e.ID, errWentOn)
			}
		}
	}
	goes, then := map[string]bool{}, after.rowFinder()
	for i := range before.Rows {
		if !before.isAside(i) {
			k := then(before, i)
			goes[before.Rows[i].ID] = k < 0 || after.isAside(k)
		}
	}
	for i := range before.Rows {
		h := &before.Rows[i]
		if !goes[h.ParentID] || goes[h.ID] || before.isAside(i) {
			continue
		}
		// One that was there before the write gets its old parent back, where that follows
		// from what is there.
		if k := then(before, i); after.Rows[k].ParentID == h.ParentID || before.Point().ID != e.Head {
			return fmt.Errorf("row %s of write %d has the child #%d: restore the row that is wanted instead; %w",
				model.ShortID(h.ParentID, 8), e.ID, h.Index, errWentOn)
		}
	}
	if e.From != "" && after.Point().ID != e.From {
		return fmt.Errorf("session %q got other rows since write %d: restore the row that is wanted instead; %w", e.Session, e.ID, errWentOn)
	}
	return nil
}

// LiveWithin is for how long after its last write an agent is taken to be at work. While a
// model answers and tools run nothing is written, which takes up to a minute more often
// than not. To be asked in vain costs a key; a write between two writes of an agent is lost.
const LiveWithin = time.Minute

// Busy returns the question whether an agent is at work on a session that was written that
// long ago, "" where that is too long.
func Busy(ago time.Duration) string {
	if ago > LiveWithin || ago < -LiveWithin {
		return ""
	}
	return fmt.Sprintf("the session was written %s ago: an agent may still be running", max(0, ago).Truncate(time.Second))
}
