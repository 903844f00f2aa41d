package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	// Head is the position of the head in Headers, -1 for none.
	Head int
}

// ByIndex orders headers as rule 6 does: by index, then time, then id; the
// order of recording settles what is still equal.
func ByIndex(a, b model.Header) int {
	return cmp.Or(
		cmp.Compare(a.Index, b.Index),
		a.CreatedAt.Compare(b.CreatedAt),
		strings.Compare(a.ID, b.ID),
		cmp.Compare(a.Visit, b.Visit),
	)
}

// At gives the position of the visit of that number, or -1.
func (v *Visits) At(visit int64) int {
	i, ok := slices.BinarySearchFunc(v.Headers, visit, func(h model.Header, n int64) int { return cmp.Compare(h.Visit, n) })
	if !ok {
		return -1
	}
	return i
}

// Find gives the position of the visit that ref names; without a number, that
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

// Path gives the positions from the root to the visit at i, and whether the
// root is a true one: false where a parent is missing or the lineage runs in a
// circle, in which case the path begins at the last visit that is there.
func (v *Visits) Path(i int) (path []int, whole bool) {
	seen := map[int]bool{}
	parents := parentFinder{visits: v}
	for {
		seen[i] = true
		path = append(path, i)
		parent, rooted := parents.of(i)
		if parent < 0 || seen[parent] {
			slices.Reverse(path)
			return path, rooted
		}
		i = parent
	}
}

// Restore works out rule 5 for the visit at target: which visits leave the
// active path and which come back to it, as positions in rule 6's order.
//
// An active target orphans every active visit with a greater index. For an
// orphaned one, the branch point is its nearest active ancestor: whatever is
// active after that is orphaned, and the way from the branch point down to the
// target becomes active. Without an active ancestor the whole path comes back
// and everything else leaves.
func (v *Visits) Restore(target int) (orphans, reactivates []int) {
	branch, seen := target, map[int]bool{}
	parents := parentFinder{visits: v}
	for branch >= 0 && v.Headers[branch].Orphaned && !seen[branch] {
		seen[branch] = true
		reactivates = append(reactivates, branch)
		branch, _ = parents.of(branch)
	}
	found := branch >= 0 && !v.Headers[branch].Orphaned
	for i, h := range v.Headers {
		if !h.Orphaned && (!found || h.Index > v.Headers[branch].Index) {
			orphans = append(orphans, i)
		}
	}
	slices.SortFunc(orphans, v.byIndex)
	slices.SortFunc(reactivates, v.byIndex)
	return orphans, reactivates
}

func (v *Visits) byIndex(a, b int) int { return ByIndex(v.Headers[a], v.Headers[b]) }

// Rows gives the row of each id (rule 3): its first visit, active if any of its
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
	slices.SortFunc(rows, ByIndex)
	return rows
}

// LastActive gives the position of the active visit that comes last by rule 6,
// or -1: the head of a session whose head has been orphaned.
func (v *Visits) LastActive() int {
	last := -1
	for i, h := range v.Headers {
		if !h.Orphaned && (last < 0 || ByIndex(h, v.Headers[last]) > 0) {
			last = i
		}
	}
	return last
}

// After gives the positions of the active visits with a greater index, and the
// id of the last active visit at the index itself, "" for none.
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

// ParentOf gives the number of the visit that a new one with that parent
// follows: the head, if it is a visit of the id, else the last active one of
// candidates, else the last. 0 means that there is none. candidates are the
// positions of the visits of the parent's id.
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

// Next gives the number of the next visit.
func (v *Visits) Next() int64 {
	if len(v.Headers) == 0 {
		return 1
	}
	return v.Headers[len(v.Headers)-1].Visit + 1
}

// parentFinder finds parents by visit number, and by id where a visit only
// knows that; the ids are gathered when the first such visit is met.
type parentFinder struct {
	visits *Visits
	byID   map[string][]int
}

// of gives the position of the parent, or -1; rooted is false when there ought
// to be one.
func (p *parentFinder) of(i int) (parent int, rooted bool) {
	h := &p.visits.Headers[i]
	switch {
	case h.ParentVisit != 0:
		return p.visits.At(h.ParentVisit), false
	case h.ParentID == "":
		return -1, true
	}
	if p.byID == nil {
		p.byID = map[string][]int{}
		for j, other := range p.visits.Headers {
			p.byID[other.ID] = append(p.byID[other.ID], j)
		}
	}
	// The latest visit before this one is the parent; failing that, any.
	parent = -1
	for _, j := range p.byID[h.ParentID] {
		if j < i || parent < 0 {
			parent = j
		}
	}
	return parent, false
}
