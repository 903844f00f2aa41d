package model

import "strconv"

// The names of visits.
//
//	#7      the visit with index 7
//	#6.2    the second visit with index 6 in recorded order, where several have it
//	#6:1    the first step (see [MarkTraced]) of the turn that ends in #6
//	#6.2:1  the same where several turns have that index
//
// Every visit has one name, and each name means one visit. A turn is a run of
// steps of one index, each the child of the one before it, with the snapshot that
// the last of them leads to. A snapshot without steps is a turn of its own. A turn
// counts among those of its index from its first step on, so that a name stays
// when the turn goes on. Only a second turn of an index changes the name of the
// first: it was #6 and becomes #6.1.

// names holds the parts of visit names in a timeline besides the index.
//
// Most sessions are one line, in which each index is greater than the one before:
// of such a session nothing is kept.
type names struct {
	// top is the greatest index while indexes only rise; it counts once any is true.
	top int
	any bool
	// turns counts the turns of an index; nil while indexes only rise.
	turns *counts
	// turn is the number of each node's turn among those of its index; nil as turns.
	turn []int32
	// step is the number of each node in its turn, 0 for a snapshot and negative
	// where the turn goes on behind the step; nil until there is a step.
	step []int32
}

// isNamedByIndex reports whether n needs no more of a name than its index, as all before it.
func (t *Timeline) isNamedByIndex(n Node) bool {
	index := t.headers.index(int(n))
	if t.turns != nil || t.any && index <= t.top || t.IsStep(n) {
		return false
	}
	t.top, t.any = index, true
	return true
}

// giveName names n, the newest node. Its parent is known by now unless
// it is recorded later.
func (t *Timeline) giveName(n Node) {
	if t.isNamedByIndex(n) {
		return
	}
	if t.turns == nil {
		t.turns, t.turn = &counts{pages: make(map[int]*countsPage)}, make([]int32, n, t.capacity())
		for i := range n {
			t.turn[i] = t.turns.addOne(t.headers.index(int(i)))
		}
	}
	step := int32(1)
	if p := t.parent[n]; t.continuesTurn(p, n) {
		step = t.step[p] + 1
		t.step[p] = -t.step[p]
		t.turn = append(t.turn, t.turn[p])
	} else {
		t.turn = append(t.turn, t.turns.addOne(t.headers.index(int(n))))
	}
	switch {
	case !t.IsStep(n):
		step = 0
	case t.step == nil:
		t.step = make([]int32, n, t.capacity())
	}
	if t.step != nil {
		t.step = append(t.step, step)
	}
}

// continuesTurn reports whether n goes on with the turn of p.
func (t *Timeline) continuesTurn(p, n Node) bool {
	return p != NoNode && p < n && t.IsStep(p) && t.step[p] > 0 && t.headers.index(int(p)) == t.headers.index(int(n))
}

// Name returns the name of a visit, such as "#7", "#6.2" or "#6:1". No other visit
// of the timeline has it, and [Timeline.Resolve] finds the visit by it.
func (t *Timeline) Name(n Node) string { return string(t.AppendName(nil, n)) }

// AppendName appends the name of a visit to dst and returns the longer slice.
func (t *Timeline) AppendName(dst []byte, n Node) []byte {
	index := t.headers.index(int(n))
	dst = strconv.AppendInt(append(dst, '#'), int64(index), 10)
	if t.turns == nil {
		return dst
	}
	if t.turns.countOf(index) > 1 {
		dst = strconv.AppendInt(append(dst, '.'), int64(t.turn[n]), 10)
	}
	if t.IsStep(n) {
		dst = strconv.AppendInt(append(dst, ':'), int64(t.stepOf(n)), 10)
	}
	return dst
}

// turnOf returns the number of a node's turn among those of its index, from 1.
func (t *Timeline) turnOf(n Node) int {
	if t.turns == nil {
		return 1
	}
	return int(t.turn[n])
}

// stepOf returns the number of a step in its turn, from 1; 0 for a snapshot.
func (t *Timeline) stepOf(n Node) int {
	if t.step == nil {
		return 0
	}
	return int(max(t.step[n], -t.step[n]))
}

// counts holds a number for each index. Neighbours share a page, because indexes
// mostly follow each other; a lone index costs one page.
type counts struct {
	pages map[int]*countsPage
	last  *countsPage // the page that was written last, and its key
	key   int
}

const countsPageBits = 4

type countsPage [1 << countsPageBits]int32

// addOne adds one to the number of an index and returns it.
func (c *counts) addOne(index int) int32 {
	if key := index >> countsPageBits; c.last == nil || key != c.key {
		c.key, c.last = key, c.pages[key]
		if c.last == nil {
			c.last = new(countsPage)
			c.pages[key] = c.last
		}
	}
	number := &c.last[index&(1<<countsPageBits-1)]
	*number++
	return *number
}

// countOf returns the number of an index.
func (c *counts) countOf(index int) int32 {
	page := c.pages[index>>countsPageBits]
	if page == nil {
		return 0
	}
	return page[index&(1<<countsPageBits-1)]
}
