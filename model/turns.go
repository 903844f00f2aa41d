package model

import (
	"slices"
	"sort"
)

// A turn begins with a prompt of the person and ends before the next one on its line.
//
// Where a session records prompts, as agents for the terminal and chats do, each opens a
// turn. Elsewhere the store counts turns: a run, an invocation, the execution of a graph.
// There a turn opens where that count rises, with a first visit, and after a turn that did
// not end well. A summary that takes the place of earlier messages opens none, nor does a
// command to the agent itself, nor what a sub-agent was told.

// userInput is the event of a visit in which the person speaks.
const userInput = "user input"

// brokenOff are the events with which a turn ends that the store does not count.
var brokenOff = map[string]bool{"failed": true, "aborted": true, "expired": true}

// isPrompt reports whether the person speaks in a visit.
func isPrompt(h *Header) bool {
	return h.EventName == userInput && (h.Reason == nil || h.Reason.Kind != ReasonSidechain)
}

// Turn is one turn of a session.
type Turn struct {
	// First is the visit that opens it, Last the last visit of its line before the next turn.
	First, Last Node
	// Steps counts the visits after First.
	Steps int
	// Branches counts the branches that leave it before its end, and none that begins with a prompt of its own
	// at its end.
	Branches int
	// end is the row after those that a fold of it hides, passed the branches that leave before Last.
	end, passed int
}

// Turns are the turns of a timeline, in the order of their rows. Use [FindTurns].
type Turns struct {
	t        *Timeline
	prompted bool // a visit is a prompt
	list     []Turn
	open     int // the place of the turn that the head is in, or -1
}

// FindTurns finds the turns of a timeline. The time is linear in its length.
func FindTurns(t *Timeline) *Turns {
	u := &Turns{t: t}
	for n := Node(0); int(n) < t.Len() && !u.prompted; n++ {
		h := t.Header(n)
		u.prompted = isPrompt(&h)
	}
	for row := range t.Rows() {
		if n := t.Row(row).Node; n != NoNode && u.opensTurn(n) {
			u.list = append(u.list, Turn{First: n, Last: n})
			u.extendTurn(&u.list[len(u.list)-1])
		}
	}
	u.open = u.placeOf(t.Head())
	return u
}

// opensTurn reports whether a visit opens a turn.
func (u *Turns) opensTurn(n Node) bool {
	if u.t.IsStep(n) {
		return false // its snapshot does
	}
	h := u.t.Header(n)
	if u.prompted {
		return isPrompt(&h)
	}
	base := u.t.Base(n)
	if base == NoNode {
		return true
	}
	before := u.t.Header(base)
	if h.TurnIndex == TurnUnknown {
		return before.EventName == "" && before.Event.EndsTurn()
	}
	return before.TurnIndex < h.TurnIndex || brokenOff[before.EventName]
}

// extendTurn takes in the visits that follow the last one of a turn on its line.
func (u *Turns) extendTurn(turn *Turn) {
	t := u.t
	for next := t.keep[turn.Last]; next != NoNode; next = t.keep[next] {
		if u.leadsIn(next) {
			break
		}
		turn.passed += t.countBranches(turn.Last)
		turn.Last = next
		turn.Steps++
	}
	turn.end, turn.Branches = u.endOf(turn.Last)
	turn.Branches += turn.passed
}

// leadsIn reports whether a visit opens a turn, or is a step before a snapshot that does.
func (u *Turns) leadsIn(n Node) bool {
	end := u.t.EndOf(n)
	return end != NoNode && u.opensTurn(end)
}

// countBranches returns how many branches leave a node.
func (t *Timeline) countBranches(n Node) (count int) {
	for c := t.first[n]; c != NoNode; c = t.next[c] {
		if c != t.keep[n] {
			count++
		}
	}
	return count
}

// endOf returns the row after those that a fold of a turn hides, and the number of branches hidden that leave its last
// visit.
func (u *Turns) endOf(last Node) (row, branches int) {
	t := u.t
	for c := t.first[last]; c != NoNode; c = t.next[c] {
		if c == t.keep[last] {
			continue
		}
		if u.leadsIn(c) {
			return t.RowOf(c) - 1, branches // where the branch leaves
		}
		branches++
	}
	switch keep := t.keep[last]; {
	case keep != NoNode:
		return t.RowOf(keep), branches
	case t.OnPath(last):
		return t.Rows(), branches
	}
	return t.RowOf(last) + int(t.span[last]), branches
}

// AppendVisits takes in the visits from one on, each appended to the timeline as a child of the head and the new head. It
// reports whether it found all turns anew: the first prompt came in.
func (u *Turns) AppendVisits(from Node) (anew bool) {
	for n := from; int(n) < u.t.Len(); n++ {
		if h := u.t.Header(n); !u.prompted && isPrompt(&h) {
			*u = *FindTurns(u.t)
			return true
		}
	}
	if u.open >= 0 {
		u.extendTurn(&u.list[u.open])
	}
	for n := from; int(n) < u.t.Len(); n++ {
		if u.opensTurn(n) {
			u.open = len(u.list)
			u.list = append(u.list, Turn{First: n, Last: n})
			u.extendTurn(&u.list[u.open])
		}
	}
	return false
}

// Len returns the number of turns.
func (u *Turns) Len() int { return len(u.list) }

// Turn returns turn i, from 0.
func (u *Turns) Turn(i int) Turn { return u.list[i] }

// HasPrompts reports whether the session records the prompts of the person.
func (u *Turns) HasPrompts() bool { return u.prompted }

// Places returns for each node the place of the turn that it belongs to, -1 where it belongs to none, and whether it is
// on the line of the turn. The time is linear in the length of the timeline.
func (u *Turns) Places() (places []int, onLine []bool) {
	t := u.t
	const unknown = -2
	places, onLine = slices.Repeat([]int{unknown}, t.Len()), make([]bool, t.Len())
	for i, turn := range u.list {
		places[turn.First] = i
		for n := turn.First; ; n = t.keep[n] {
			if onLine[n] = true; n == turn.Last {
				break
			}
		}
	}
	for n := range Node(t.Len()) {
		at, place := n, -1
		for at != NoNode && places[at] == unknown {
			at = t.parent[at]
		}
		if at != NoNode {
			place = places[at]
		}
		for at = n; at != NoNode && places[at] == unknown; at = t.parent[at] {
			places[at] = place
		}
	}
	for n := range Node(t.Len()) {
		if end := t.EndOf(n); end != NoNode {
			places[n], onLine[n] = places[end], onLine[end]
		}
	}
	return places, onLine
}

// SearchRow returns the place of the first turn that opens in a row or below it.
func (u *Turns) SearchRow(row int) int {
	return sort.Search(len(u.list), func(i int) bool { return u.t.RowOf(u.list[i].First) >= row })
}

// DivideSession reports whether turns divide the session: it records prompts, or has several turns.
func (u *Turns) DivideSession() bool { return u.prompted || len(u.list) > 1 }

// TurnFrom returns the turn that a visit opens, and whether it opens one of several.
func (u *Turns) TurnFrom(n Node) (Turn, bool) {
	if !u.DivideSession() {
		return Turn{}, false
	}
	if i := u.SearchRow(u.t.RowOf(n)); i < len(u.list) && u.list[i].First == n {
		return u.list[i], true
	}
	return Turn{}, false
}

// TurnOf returns the turn that a visit belongs to: the one that it opens, or the nearest before it in its lineage. It
// reports whether there is one.
func (u *Turns) TurnOf(n Node) (Turn, bool) {
	if i := u.placeOf(n); i >= 0 {
		return u.list[i], true
	}
	return Turn{}, false
}

// placeOf returns the place of the turn that a visit belongs to, or -1.
func (u *Turns) placeOf(n Node) int {
	if n != NoNode {
		if end := u.t.EndOf(n); end != NoNode {
			n = end
		}
	}
	for ; n != NoNode; n = u.t.parent[n] {
		if i := u.SearchRow(u.t.RowOf(n)); i < len(u.list) && u.list[i].First == n {
			return i
		}
	}
	return -1
}

// HidesRows reports whether a fold of the turn hides anything.
func (t Turn) HidesRows() bool { return t.Steps+t.Branches > 0 }

// EndRow returns the row after those that a fold of the turn hides.
func (t Turn) EndRow() int { return t.end }
