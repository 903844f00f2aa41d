package model

import (
	"slices"
	"sort"
)

// Folds hides parts of a timeline's drawing. A fold at a node hides everything
// that hangs on the node except the active path: on the path the branches that
// leave there, elsewhere the whole subtree below. What a fold hides is always
// one run of rows, directly below the row of its node.
//
// The steps of a turn (see [MarkTraced]) are hidden too, by the snapshot that the
// turn ended in and so directly above its row, until they are asked for. Steps
// with anything else between them and their snapshot always show. A call is hidden
// in the same way by the result that tells it again, and counts as its step here.
//
// Where the folds know the turns, a fold at the visit that opens one hides the rest of
// the turn, with the branches that leave it. A branch at its end that begins with a
// prompt of its own stays in sight.
//
// A fold may stand inside another; it is kept, and counts again when the outer
// one is opened. Finding a row takes time logarithmic in the number of folds,
// opening and closing one linear time in it. Folds are not safe for concurrent
// use.
type Folds struct {
	t             *Timeline
	turns         *Turns // nil where they are not known
	rows          int    // those of the timeline when the last turn was right
	changes, ends int    // those of the timeline when the rows below were right
	folds         []fold
	// closed are the steps that are hidden, by row, and open the snapshots whose
	// steps are not.
	closed []fold
	open   map[Node]bool
	// outer are the folds that are not inside another, by row.
	outer []hiddenRun
}

// fold hides the rows from start up to end. Its node is in the row before start,
// or for steps in the row end.
type fold struct {
	node       Node
	start, end int
	snapshots  int
}

// hiddenRun is a run of hidden rows, with the number of hidden rows up to its
// end.
type hiddenRun struct {
	start, end, total int
	steps             bool
}

// NewFolds returns folds over a timeline, none closed but for the steps. Without turns, which may be nil, folds hide branches.
func NewFolds(t *Timeline, turns *Turns) *Folds {
	f := &Folds{t: t, turns: turns, open: make(map[Node]bool)}
	f.refreshRows()
	return f
}

// Rebase moves the folds to a timeline that was made anew from the same
// headers, and maybe more after them. A fold with nothing left to hide opens.
func (f *Folds) Rebase(t *Timeline, turns *Turns) {
	f.RebaseBy(t, turns, func(n Node) Node { return n })
}

// RebaseBy is Rebase for headers that have moved: to gives the new place of a node, or NoNode if the node
// has gone.
func (f *Folds) RebaseBy(t *Timeline, turns *Turns, to func(Node) Node) {
	kept := f.folds[:0]
	for _, have := range f.folds {
		if have.node = to(have.node); have.node != NoNode {
			kept = append(kept, have)
		}
	}
	f.folds = kept
	open := make(map[Node]bool, len(f.open))
	for n := range f.open {
		if n = to(n); n != NoNode {
			open[n] = true
		}
	}
	f.t, f.turns, f.open = t, turns, open
	f.refreshRows()
}

// foldSpan returns the fold that n would make, and whether it hides anything.
func (f *Folds) foldSpan(n Node) (fold, bool) {
	t := f.t
	made := fold{node: n, start: t.RowOf(n) + 1}
	turn, opens := f.openedTurn(n)
	switch {
	case t.IsStep(n):
		return made, false // it may be hidden itself, by what it would hide
	case opens && turn.HidesRows():
		made.end, made.snapshots = turn.end, turn.Steps
	case !t.OnPath(n):
		made.end = made.start - 1 + int(t.span[n])
		made.snapshots = int(t.size[n]) - 1
	default:
		made.end = t.Rows()
		if t.keep[n] != NoNode {
			made.end = t.RowOf(t.keep[n])
		}
		for c := range t.Children(n) {
			if c != t.keep[n] {
				made.snapshots += int(t.size[c])
			}
		}
	}
	return made, made.end > made.start
}

// openedTurn returns the turn that n opens, and whether it opens one.
func (f *Folds) openedTurn(n Node) (Turn, bool) {
	if f.turns == nil {
		return Turn{}, false
	}
	return f.turns.TurnFrom(n)
}

// FoldTurns hides the rest of each turn, in place of the folds that there are, but for the turn that a node is in.
func (f *Folds) FoldTurns(keep Node) {
	f.folds = f.folds[:0]
	open, in := f.turns.TurnOf(keep)
	for i := range f.turns.Len() {
		if first := f.turns.Turn(i).First; !in || first != open.First {
			f.addFold(first)
		}
	}
	f.refreshRows()
}

// addFold adds a fold at n behind the others, if it hides anything.
func (f *Folds) addFold(n Node) {
	if made, hides := f.foldSpan(n); hides {
		f.folds = append(f.folds, made)
	}
}

// RevealRow opens the folds that hide a row of the timeline.
func (f *Folds) RevealRow(row int) {
	f.settleFolds()
	f.folds = slices.DeleteFunc(f.folds, func(have fold) bool { return have.start <= row && row < have.end })
	f.nestFolds()
}

// Fold hides what hangs on n and reports whether that changed anything.
func (f *Folds) Fold(n Node) bool {
	f.settleFolds()
	at, folded := f.findFold(n)
	if folded {
		return false
	}
	made, hides := f.foldSpan(n)
	if !hides {
		return false
	}
	f.folds = slices.Insert(f.folds, at, made)
	f.nestFolds()
	return true
}

// Unfold shows again what a fold at n hides and reports whether there was one.
func (f *Folds) Unfold(n Node) bool {
	f.settleFolds()
	at, folded := f.findFold(n)
	if !folded {
		return false
	}
	f.folds = slices.Delete(f.folds, at, at+1)
	f.nestFolds()
	return true
}

// foldSteps returns the fold that hides the steps before n, or the call, and whether there are any.
func (f *Folds) foldSteps(n Node) (fold, bool) {
	t := f.t
	made := fold{node: n, end: t.RowOf(n)}
	made.start = made.end
	for at := t.parent[n]; at != NoNode && t.IsStep(at) && t.RowOf(at) == made.start-1; at = t.parent[at] {
		made.start--
	}
	made.snapshots = made.end - made.start
	if made.snapshots == 0 && t.isEnd(n) && f.standsForCall(n) {
		made.start--
	}
	return made, made.start < made.end
}

// HideSteps hides the steps of the turn that ended in n, or that n is a step of,
// and reports whether that changed anything.
func (f *Folds) HideSteps(n Node) bool {
	end := f.RowOwner(n)
	if end == NoNode || !f.open[end] {
		return false
	}
	delete(f.open, end)
	f.refreshRows()
	_, hides := f.foldSteps(end)
	return hides
}

// ShowSteps shows the steps that HideSteps hides and reports whether they were
// hidden.
func (f *Folds) ShowSteps(n Node) bool {
	end := f.RowOwner(n)
	if end == NoNode || f.RowsBefore(end) == 0 {
		return false
	}
	f.open[end] = true
	f.refreshRows()
	return true
}

// Steps returns the number of steps that are hidden before the snapshot n. A call is none.
func (f *Folds) Steps(n Node) int { return f.closedBefore(n).snapshots }

// RowsBefore returns the number of rows that are hidden directly above that of n: those of its steps, or of its call.
func (f *Folds) RowsBefore(n Node) int {
	hidden := f.closedBefore(n)
	return hidden.end - hidden.start
}

// closedBefore returns the fold that n hides steps or its call by, the zero fold if it hides none.
func (f *Folds) closedBefore(n Node) fold {
	f.settleFolds()
	row := f.t.RowOf(n)
	at, hidden := slices.BinarySearchFunc(f.closed, row, func(have fold, row int) int { return have.end - row })
	if !hidden {
		return fold{}
	}
	return f.closed[at]
}

// FoldAll hides all steps, and the rest of each turn. Without turns it hides every branch and every tree off the
// active path. It takes the place of the folds that there are.
func (f *Folds) FoldAll() {
	t := f.t
	clear(f.open)
	if f.turns != nil && f.turns.DivideSession() {
		f.FoldTurns(NoNode)
		return
	}
	f.folds = f.folds[:0]
	first := NoNode // of the path, which is drawn below the other trees
	for _, root := range t.roots {
		if t.OnPath(root) {
			first = root
			continue
		}
		if end := t.EndOf(root); end != NoNode {
			f.addFold(end)
		}
	}
	if first != NoNode {
		f.addFold(first)
		for n := t.NextBranchPoint(first); n != NoNode; n = t.NextBranchPoint(n) {
			f.addFold(n)
		}
	}
	f.refreshRows()
}

// UnfoldAll opens all folds and shows all steps.
func (f *Folds) UnfoldAll() {
	f.folds = f.folds[:0]
	for _, n := range f.t.ends {
		f.open[n] = true
	}
	f.refreshRows()
}

// HasFold reports whether there is a fold at n.
func (f *Folds) HasFold(n Node) bool {
	f.settleFolds()
	_, folded := f.findFold(n)
	return folded
}

// CountHidden returns the number of visits that the fold at n hides, 0 without one.
func (f *Folds) CountHidden(n Node) int {
	f.settleFolds()
	if at, folded := f.findFold(n); folded {
		return f.folds[at].snapshots
	}
	return 0
}

// Rows returns the number of rows that are not hidden.
func (f *Folds) Rows() int {
	f.settleFolds()
	return f.t.Rows() - f.hiddenRows(len(f.outer))
}

// Row returns the row of the timeline that is drawn as visible row i.
func (f *Folds) Row(i int) int {
	f.settleFolds()
	k := sort.Search(len(f.outer), func(k int) bool { return f.outer[k].start-f.hiddenRows(k) > i })
	return i + f.hiddenRows(k)
}

// Visible returns the visible row of a row of the timeline: where it is hidden,
// the row of the fold that hides it, for a step that of the snapshot.
func (f *Folds) Visible(row int) int {
	f.settleFolds()
	k := sort.Search(len(f.outer), func(k int) bool { return f.outer[k].start > row })
	if k > 0 && row < f.outer[k-1].end {
		if in := &f.outer[k-1]; in.steps {
			return in.end - in.total
		}
		return f.outer[k-1].start - 1 - f.hiddenRows(k-1)
	}
	return row - f.hiddenRows(k)
}

// hiddenRows returns the number of rows that the first k outer folds hide.
func (f *Folds) hiddenRows(k int) int {
	if k == 0 {
		return 0
	}
	return f.outer[k-1].total
}

// findFold returns the place of a fold at n among the folds, which are in row order,
// and whether it is there.
func (f *Folds) findFold(n Node) (int, bool) {
	return slices.BinarySearchFunc(f.folds, f.t.RowOf(n)+1, func(have fold, start int) int { return have.start - start })
}

// nestFolds works out which folds are not inside another.
func (f *Folds) nestFolds() {
	f.outer = f.outer[:0]
	end, total := 0, 0
	folds, closed := f.folds, f.closed
	for len(folds)+len(closed) > 0 {
		// Where both start in one row, a fold hides the steps and what comes after.
		steps := len(folds) == 0 || len(closed) > 0 && closed[0].start < folds[0].start
		if steps && closed[0].snapshots == 0 && len(folds) > 0 && folds[0].start == closed[0].end {
			closed = closed[1:] // the call is folded itself, and shows
			continue
		}
		var in fold
		row := 0 // that of the node
		if steps {
			in, closed = closed[0], closed[1:]
			row = in.end
		} else {
			in, folds = folds[0], folds[1:]
			row = in.start - 1
		}
		if row < end {
			continue
		}
		end = in.end
		total += in.end - in.start
		f.outer = append(f.outer, hiddenRun{in.start, in.end, total, steps})
	}
}

// settleFolds brings the folds up to date when rows have moved since.
func (f *Folds) settleFolds() {
	switch {
	case f.changes != f.t.changes:
		f.refreshRows()
	case f.ends != len(f.t.ends): // they are drawn below all others
		f.closeSteps(f.t.ends[f.ends:])
		f.nestFolds()
	}
	if f.turns == nil || f.rows == f.t.Rows() {
		return
	}
	for i, have := range f.folds { // a turn went on
		if turn, opens := f.openedTurn(have.node); opens && turn.HidesRows() && have.end == f.rows {
			f.folds[i].end, f.folds[i].snapshots = turn.end, turn.Steps
		}
	}
	f.rows = f.t.Rows()
	f.nestFolds()
}

// refreshRows finds the rows of all folds anew.
func (f *Folds) refreshRows() {
	old := f.folds
	f.folds = f.folds[:0]
	for _, have := range old {
		if int(have.node) >= f.t.Len() {
			continue
		}
		if made, hides := f.foldSpan(have.node); hides {
			f.folds = append(f.folds, made)
		}
	}
	slices.SortFunc(f.folds, func(a, b fold) int { return a.start - b.start })
	f.closed = f.closed[:0]
	f.closeSteps(f.t.ends)
	slices.SortFunc(f.closed, func(a, b fold) int { return a.start - b.start })
	f.changes, f.rows = f.t.changes, f.t.Rows()
	f.nestFolds()
}

// closeSteps hides what some snapshots stand for, unless it was asked for.
func (f *Folds) closeSteps(ends []Node) {
	for _, n := range ends {
		if made, hides := f.foldSteps(n); hides && !f.open[n] {
			f.closed = append(f.closed, made)
		}
	}
	f.ends = len(f.t.ends)
}
