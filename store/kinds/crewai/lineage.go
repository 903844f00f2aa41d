package crewai

import (
	"cmp"
	"slices"
)

// row is a checkpoint as far as its place among the others is concerned.
type row struct {
	id string
	// recorded is the parent that crewAI wrote, or "".
	recorded string
	// events are numbers of the events in it, in order.
	events []uint64
}

// parentsOf returns the parent of each row, or "". This is the recorded parent, unless the events of another row
// stand between. Of the rows whose events are a proper subset of the row's, the one with the most events is
// then the parent. A copy of a checkpoint has the same events as its original.
func parentsOf(rows []row) []string {
	at := make(map[string]*row, len(rows))
	bySize := make([]*row, len(rows))
	for i := range rows {
		at[rows[i].id], bySize[i] = &rows[i], &rows[i]
	}
	slices.SortStableFunc(bySize, func(a, b *row) int { return cmp.Compare(len(b.events), len(a.events)) })
	found := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		found[i] = r.recorded
		recorded := at[r.recorded]
		if recorded == r || recorded != nil && !isSubset(recorded.events, r.events) {
			recorded = nil
		}
		for _, q := range bySize {
			if len(q.events) >= len(r.events) || len(q.events) == 0 {
				continue
			}
			if recorded != nil && len(q.events) <= len(recorded.events) {
				break // nothing stands between
			}
			if isSubset(q.events, r.events) {
				found[i] = q.id
				break
			}
		}
	}
	return found
}

// isSubset reports whether all of some numbers, which are in order, are among others.
func isSubset(some, all []uint64) bool {
	if len(some) > len(all) {
		return false
	}
	k := 0
	for _, n := range some {
		for k < len(all) && all[k] < n {
			k++
		}
		if k == len(all) || all[k] != n {
			return false
		}
	}
	return true
}
