package model

import "strings"

// A call and its result are two snapshots, and one row where nothing else happened between them: the row of the
// result, which tells the call again with what came of it. Both titles tell so.
//
//	#3 model  $ ls · ◱ a.txt 1-80
//	#4 tool   $ ls  3 lines · ◱ a.txt 1-80
//
// The call keeps a row of its own where a branch leaves it, where it opens a turn, where it is the head, where it has a
// mark that the result lacks, and where the model said something with it.

// BetweenActs stands between the calls of a title, and BeforeOutcome between a call and its outcome.
const (
	BetweenActs   = " · "
	BeforeOutcome = "  "
)

// answers reports whether a header tells the call of the one before it again.
func (h *Header) answers(call *Header) bool {
	ran := h.Event == SnapshotEventToolIterationEnd
	if call.Title == "" || h.Title == "" || call.Event == SnapshotEventToolIterationEnd || call.EventName == userInput ||
		call.Marks&^h.Marks != 0 || call.Orphaned != h.Orphaned || strings.Contains(call.Title, BeforeOutcome) ||
		!ran && !strings.Contains(h.Title, BeforeOutcome) {
		return false
	}
	for call := range strings.SplitSeq(call.Title, BetweenActs) {
		found := false
		for result := range strings.SplitSeq(h.Title, BetweenActs) { // nothing is allocated for a row
			found = found || strings.HasPrefix(result, call) && (result == call && ran || strings.HasPrefix(result[len(call):], BeforeOutcome))
		}
		if !found {
			return false
		}
	}
	return true
}

// isEnd reports whether the row of n may stand for those of its parent: a step, or a call that it answers.
func (t *Timeline) isEnd(n Node) bool {
	p := t.parent[n]
	if p == NoNode || t.IsStep(n) {
		return false
	}
	if t.IsStep(p) {
		return true
	}
	h, call := t.Header(n), t.Header(p)
	return h.answers(&call)
}

// standsForCall reports whether the row of n stands for the call before it, too. n answers it.
func (f *Folds) standsForCall(n Node) bool {
	t := f.t
	call := t.parent[n]
	if call == NoNode || call == t.head || t.IsStep(call) || t.first[call] != n || t.last[call] != n || t.RowOf(call) != t.RowOf(n)-1 {
		return false
	}
	if before := t.parent[call]; before != NoNode && t.IsStep(before) {
		return false // its own row stands for steps
	}
	_, opens := f.openedTurn(call)
	_, ends := f.openedTurn(n)
	return !opens && !ends
}

// RowOwner returns the node whose row stands for n: the snapshot that the turn of a step ended in, the result of a call, or
// else n itself. It is NoNode for a step whose turn did not end.
func (f *Folds) RowOwner(n Node) Node {
	if next := f.t.keep[n]; next != NoNode && !f.t.IsStep(n) && f.t.isEnd(next) && f.standsForCall(next) {
		return next
	}
	return f.t.EndOf(n)
}

// IsInResult reports whether the row of a call is that of its result.
func (f *Folds) IsInResult(n Node) bool { return n != NoNode && !f.t.IsStep(n) && f.RowOwner(n) != n }
