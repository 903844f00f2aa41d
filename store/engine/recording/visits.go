package recording

import (
	"cmp"
	"fmt"
	"slices"

	"hindcast/model"
)

// Visits is one session as the kinds that record visits see it: what rule 5 of
// the design (restore) is computed from. The functions on it are pure; nothing
// in it is written to.
type Visits struct {
	// Session is the id of the session.
	Session string
	// Headers are all visits by ascending Visit.
	Headers []model.Header
	// Head is the position of the head in Headers, or -1.
	Head int
}

// At returns the position of the visit of that number, or -1.
func (v *Visits) At(visit int64) int {
	i, ok := slices.BinarySearchFunc(v.Headers, visit, func(h model.Header, n int64) int { return cmp.Compare(h.Visit, n) })
	if !ok {
		return -1
	}
	return i
}

// Find returns the position of the visit that ref names; without a number, that
// of the latest visit of the id. The error is model.ErrNoSnapshot.
func (v *Visits) Find(ref model.Ref) (int, error) {
	if ref.Visit != 0 {
		if i := v.At(ref.Visit); i >= 0 && v.Headers[i].ID == ref.ID {
			return i, nil
		}
		return -1, fmt.Errorf("visit %d of %q: %w", ref.Visit, ref.ID, model.ErrNoSnapshot)
	}
	for i, h := range slices.Backward(v.Headers) {
		if h.ID == ref.ID {
			return i, nil
		}
	}
	return -1, fmt.Errorf("%q: %w", ref.ID, model.ErrNoSnapshot)
}

// HeadRef names the head; its zero value stands for a session without one.
func (v *Visits) HeadRef() model.Ref {
	if v.Head < 0 {
		return model.Ref{}
	}
	return v.Headers[v.Head].Ref()
}

// Path returns the positions from the root to the visit at i, and whether the
// root is a true one: false where a parent is missing or the lineage ran in a
// circle, in which case the path begins where model.Timeline cuts it.
func (v *Visits) Path(i int) (path []int, whole bool) { return v.newLineage().pathTo(i) }

// Restore works out rule 5 for the visit at target: which visits leave the
// active path and which come back to it, as positions in rule 6's order.
//
// An active target orphans every active visit with a greater index. For an
// orphaned one, the branch point is its nearest active ancestor: whatever is
// active after that is orphaned, and the way from the branch point down to the
// target becomes active. Without an active ancestor the whole path comes back
// and everything else leaves.
func (v *Visits) Restore(target int) (orphans, reactivates []int) {
	return v.newLineage().restoreTo(target)
}

// lineage is the visits with their parents.
type lineage struct {
	*Visits
	tree *model.Timeline
}

func (v *Visits) newLineage() lineage { return lineage{v, model.NewTimeline(v.Headers)} }

// parentOf returns the position of the visit before the one at i, or -1. A
// timeline has no circles.
func (l lineage) parentOf(i int) int { return int(l.tree.Parent(model.Node(i))) }

func (l lineage) pathTo(i int) (path []int, whole bool) {
	root := i
	for ; i >= 0; i = l.parentOf(i) {
		path, root = append(path, i), i
	}
	slices.Reverse(path)
	h := &l.Headers[root]
	return path, h.ParentID == "" && h.ParentVisit == 0
}

func (l lineage) restoreTo(target int) (orphans, reactivates []int) {
	branch := target
	for ; branch >= 0 && l.Headers[branch].Orphaned; branch = l.parentOf(branch) {
		reactivates = append(reactivates, branch)
	}
	for i := range l.Headers {
		if h := &l.Headers[i]; !h.Orphaned && (branch < 0 || h.Index > l.Headers[branch].Index) {
			orphans = append(orphans, i)
		}
	}
	slices.SortFunc(orphans, l.byIndex)
	slices.SortFunc(reactivates, l.byIndex)
	return orphans, reactivates
}

// byIndex orders positions as rule 6 does; the order of recording settles what
// is still equal.
func (v *Visits) byIndex(a, b int) int {
	return cmp.Or(model.CompareHeaders(&v.Headers[a], &v.Headers[b]), cmp.Compare(a, b))
}

// Rows returns the row of each id (rule 3): its first visit, active if any of its
// visits is (rule 4), in rule 6's order; the orphaned ones only on request.
func (v *Visits) Rows(includeOrphaned bool) []model.Header {
	at := map[string]int{}
	var rows []model.Header
	for _, h := range v.Headers {
		i, met := at[h.ID]
		if !met {
			at[h.ID] = len(rows)
			rows = append(rows, h)
			continue
		}
		rows[i].Orphaned = rows[i].Orphaned && h.Orphaned
	}
	if !includeOrphaned {
		rows = slices.DeleteFunc(rows, func(h model.Header) bool { return h.Orphaned })
	}
	slices.SortStableFunc(rows, func(a, b model.Header) int { return model.CompareHeaders(&a, &b) })
	return rows
}

// LastActive returns the position of the active visit that comes last by rule 6,
// or -1: the head of a session whose head has been orphaned. A step, see
// model.MarkTraced, is no snapshot, and never the head.
func (v *Visits) LastActive() int {
	last := -1
	for i := range v.Headers {
		h := &v.Headers[i]
		if !h.Orphaned && !h.Marks.Has(model.MarkTraced) && (last < 0 || v.byIndex(i, last) > 0) {
			last = i
		}
	}
	return last
}

// After returns the positions of the active visits with a greater index, and the id of the last active visit
// at the index itself, or "".
func (v *Visits) After(index int) (positions []int, target string) {
	for i, h := range v.Headers {
		switch {
		case h.Orphaned:
		case h.Index > index:
			positions = append(positions, i)
		case h.Index == index:
			target = h.ID
		}
	}
	return positions, target
}

// ParentOf returns the number of the visit that a new visit with that parent follows, or 0. It takes the head
// if it has the id, else the last active candidate, else the last candidate. candidates are the positions of
// the visits with the parent's id.
func (v *Visits) ParentOf(parentID string, candidates []int) int64 {
	if parentID == "" || len(candidates) == 0 {
		return 0
	}
	if v.Head >= 0 && v.Headers[v.Head].ID == parentID {
		return v.Headers[v.Head].Visit
	}
	for _, i := range slices.Backward(candidates) {
		if !v.Headers[i].Orphaned {
			return v.Headers[i].Visit
		}
	}
	return v.Headers[candidates[len(candidates)-1]].Visit
}

// Next returns the number of the next visit.
func (v *Visits) Next() int64 {
	if len(v.Headers) == 0 {
		return 1
	}
	return v.Headers[len(v.Headers)-1].Visit + 1
}
