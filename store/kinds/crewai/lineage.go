package crewai

import (
	"cmp"
	"slices"
)

// row is a checkpoint as far as its place among the others is concerned.
type row struct {
	id string
	// recorded is the parent that crewAI wrote down, "" for none.
	recorded string
	// events are numbers of the events in it, in order.
	events []uint64
}

// parents returns the parent of each row, "" for none. It is the one that was recorded, as
// long as the events of no other stand between: of the rows whose events are all in a row, and
// fewer, the one that has the most. A copy of a checkpoint has the same events as that.
func parents(rows []row) []string {
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
		if recorded == r || recorded != nil && !within(recorded.events, r.events) {
			recorded = nil
		}
		for _, q := range bySize {
			if len(q.events) >= len(r.events) || len(q.events) == 0 {
				continue
			}
			if recorded != nil && len(q.events) <= len(recorded.events) {
				break // nothing stands between
			}
			if within(q.events, r.events) {
				found[i] = q.id
				break
			}
		}
	}
	return found
}

// within reports whether all of some numbers, which are in order, are among others.
func within(some, all []uint64) bool {
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
