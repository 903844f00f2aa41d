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
// A fold may stand inside another; it is kept, and counts again when the outer
// one is opened. Finding a row takes time logarithmic in the number of folds,
// opening and closing one linear time in it. Folds are not safe for concurrent
// use.
type Folds struct {
	t       *Timeline
	changes int // those of the timeline when the rows below were right
	folds   []fold
	// outer are the folds that are not inside another, by row.
	outer []hiddenRun
}

// fold hides the rows from start up to end.
type fold struct {
	node       Node
	start, end int
	snapshots  int
}

// hiddenRun is a run of hidden rows, with the number of hidden rows up to its
// end.
type hiddenRun struct{ start, end, total int }

// NewFolds gives folds over a timeline, none closed.
func NewFolds(t *Timeline) *Folds { return &Folds{t: t, changes: t.changes} }

// Rebase moves the folds to a timeline that was made anew from the same
// headers, and maybe more after them. A fold with nothing left to hide opens.
func (f *Folds) Rebase(t *Timeline) {
	f.t = t
	f.refresh()
}

// span gives the fold that n would make, and whether it hides anything.
func (f *Folds) span(n Node) (fold, bool) {
	t := f.t
	made := fold{node: n, start: t.RowOf(n) + 1}
	switch {
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

// Fold hides what hangs on n and reports whether that changed anything.
func (f *Folds) Fold(n Node) bool {
	f.settle()
	at, folded := f.find(n)
	if folded {
		return false
	}
	made, hides := f.span(n)
	if !hides {
		return false
	}
	f.folds = slices.Insert(f.folds, at, made)
	f.nest()
	return true
}

// Unfold shows again what a fold at n hides and reports whether there was one.
func (f *Folds) Unfold(n Node) bool {
	f.settle()
	at, folded := f.find(n)
	if !folded {
		return false
	}
	f.folds = slices.Delete(f.folds, at, at+1)
	f.nest()
	return true
}

// FoldAll hides every branch and every tree off the active path, in place of
// the folds that there are.
func (f *Folds) FoldAll() {
	t := f.t
	f.folds = f.folds[:0]
	hide := func(n Node) {
		if made, hides := f.span(n); hides {
			f.folds = append(f.folds, made)
		}
	}
	first := NoNode // of the path, which is drawn below the other trees
	for _, root := range t.roots {
		if t.OnPath(root) {
			first = root
			continue
		}
		hide(root)
	}
	if first != NoNode {
		hide(first)
		for n := t.NextBranchPoint(first); n != NoNode; n = t.NextBranchPoint(n) {
			hide(n)
		}
	}
	f.changes = t.changes
	f.nest()
}

// UnfoldAll opens all folds.
func (f *Folds) UnfoldAll() {
	f.folds, f.outer, f.changes = f.folds[:0], f.outer[:0], f.t.changes
}

// Folded reports whether there is a fold at n.
func (f *Folds) Folded(n Node) bool {
	f.settle()
	_, folded := f.find(n)
	return folded
}

// Hidden gives the number of visits that the fold at n hides, 0 without one.
func (f *Folds) Hidden(n Node) int {
	f.settle()
	if at, folded := f.find(n); folded {
		return f.folds[at].snapshots
	}
	return 0
}

// Rows gives the number of rows that are not hidden.
func (f *Folds) Rows() int {
	f.settle()
	return f.t.Rows() - f.total(len(f.outer))
}

// Row gives the row of the timeline that is drawn as visible row i.
func (f *Folds) Row(i int) int {
	f.settle()
	k := sort.Search(len(f.outer), func(k int) bool { return f.outer[k].start-f.total(k) > i })
	return i + f.total(k)
}

// Visible gives the visible row of a row of the timeline: where it is hidden,
// the row of the fold that hides it.
func (f *Folds) Visible(row int) int {
	f.settle()
	k := sort.Search(len(f.outer), func(k int) bool { return f.outer[k].start > row })
	if k > 0 && row < f.outer[k-1].end {
		return f.outer[k-1].start - 1 - f.total(k-1)
	}
	return row - f.total(k)
}

// total gives the number of rows that the first k outer folds hide.
func (f *Folds) total(k int) int {
	if k == 0 {
		return 0
	}
	return f.outer[k-1].total
}

// find gives the place of a fold at n among the folds, which are in row order,
// and whether it is there.
func (f *Folds) find(n Node) (int, bool) {
	return slices.BinarySearchFunc(f.folds, f.t.RowOf(n)+1, func(have fold, start int) int { return have.start - start })
}

// nest works out which folds are not inside another.
func (f *Folds) nest() {
	f.outer = f.outer[:0]
	end, total := 0, 0
	for _, in := range f.folds {
		if in.start <= end {
			continue
		}
		end = in.end
		total += in.end - in.start
		f.outer = append(f.outer, hiddenRun{in.start, in.end, total})
	}
}

// settle brings the folds up to date when rows have moved since.
func (f *Folds) settle() {
	if f.changes != f.t.changes {
		f.refresh()
	}
}

// refresh finds the rows of all folds anew.
func (f *Folds) refresh() {
	old := f.folds
	f.folds = f.folds[:0]
	for _, have := range old {
		if int(have.node) >= f.t.Len() {
			continue
		}
		if made, hides := f.span(have.node); hides {
			f.folds = append(f.folds, made)
		}
	}
	slices.SortFunc(f.folds, func(a, b fold) int { return a.start - b.start })
	f.changes = f.t.changes
	f.nest()
}
