package parts

import (
	"cmp"
	"slices"
	"sort"

	"hindcast/store"
)

// Compare returns the spans in which two states differ, from where their bytes
// are kept and nothing else: what lies at the same place is the same. The spans
// are in order and apart from each other.
//
// Each extent of one list is looked for in the other by its places. Of the runs
// that both have, those are chosen that stand in the same order in both and are
// the most bytes: the heaviest increasing sequence, found with a Fenwick tree
// in n log n. A list in which the same places come again and again could have
// as many runs as pairs of extents; then some are left out, and the spans are
// longer than they might be, but never wrong.
func Compare(a, b []Extent) []store.Span {
	c := comparison{a: a, b: b}
	c.trimEnds()
	c.findRuns()
	return c.spansBetween(c.chooseRuns())
}

// run is a run of bytes that both states have.
type run struct{ a, b, n int64 }

type comparison struct {
	a, b []Extent
	// front and back are how many bytes both begin and end with.
	front, back  int64
	sizeA, sizeB int64
	runs         []run
}

// trimEnds takes off what both lists begin and end with.
func (c *comparison) trimEnds() {
	c.sizeA, c.sizeB = Size(c.a), Size(c.b)
	a, b := slices.Clone(c.a), slices.Clone(c.b)
	for len(a) > 0 && len(b) > 0 && a[0].At == b[0].At {
		n := min(a[0].Len, b[0].Len)
		c.front += n
		a, b = dropFront(a, n), dropFront(b, n)
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].End() == b[len(b)-1].End() {
		n := min(a[len(a)-1].Len, b[len(b)-1].Len)
		c.back += n
		a, b = dropBack(a, n), dropBack(b, n)
	}
	c.a, c.b = a, b
}

func dropFront(list []Extent, n int64) []Extent {
	list[0].At += Place(n)
	if list[0].Len -= n; list[0].Len == 0 {
		return list[1:]
	}
	return list
}

func dropBack(list []Extent, n int64) []Extent {
	last := len(list) - 1
	if list[last].Len -= n; list[last].Len == 0 {
		return list[:last]
	}
	return list
}

// findRuns collects the runs that both have between what they begin and end with.
func (c *comparison) findRuns() {
	type where struct {
		Extent
		pos int64
		// last is the greatest end of this extent and those before it.
		last Place
	}
	there := make([]where, len(c.b))
	pos := c.front
	for i, e := range c.b {
		there[i] = where{Extent: e, pos: pos}
		pos += e.Len
	}
	slices.SortFunc(there, func(x, y where) int { return cmp.Compare(x.At, y.At) })
	for i := range there {
		there[i].last = there[i].End()
		if i > 0 {
			there[i].last = max(there[i].last, there[i-1].last)
		}
	}
	budget := 8*(len(c.a)+len(c.b)) + 1024
	pos = c.front
	for _, e := range c.a {
		i := sort.Search(len(there), func(i int) bool { return there[i].At >= e.End() })
		for i--; i >= 0 && there[i].last > e.At && budget > 0; i-- {
			budget--
			w := there[i]
			from, to := max(e.At, w.At), min(e.End(), w.End())
			if from < to {
				c.runs = append(c.runs, run{pos + int64(from-e.At), w.pos + int64(from-w.At), int64(to - from)})
			}
		}
		pos += e.Len
	}
}

// chooseRuns returns the runs that stand for each other, in order.
func (c *comparison) chooseRuns() (chosen []run) {
	runs := c.runs
	slices.SortFunc(runs, func(x, y run) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	ends := make([]int, len(runs)) // the runs by where they end in a
	heights := make([]int64, len(runs))
	for i, r := range runs {
		ends[i], heights[i] = i, r.b+r.n
	}
	slices.SortFunc(ends, func(x, y int) int { return cmp.Compare(runs[x].a+runs[x].n, runs[y].a+runs[y].n) })
	slices.Sort(heights)
	weight, before := make([]int64, len(runs)), make([]int, len(runs))
	// tree gives, for each end in b, the heaviest run that ends no later.
	tree := make([]int, len(runs)+1)
	for i := range tree {
		tree[i] = -1
	}
	best, done := -1, 0
	for i, r := range runs {
		for ; runs[ends[done]].a+runs[ends[done]].n <= r.a; done++ {
			j := ends[done]
			for k := sort.Search(len(heights), func(k int) bool { return heights[k] >= runs[j].b+runs[j].n }) + 1; k < len(tree); k += k & -k {
				if tree[k] < 0 || weight[tree[k]] < weight[j] {
					tree[k] = j
				}
			}
		}
		before[i], weight[i] = -1, r.n
		for k := sort.Search(len(heights), func(k int) bool { return heights[k] > r.b }); k > 0; k -= k & -k {
			if j := tree[k]; j >= 0 && weight[j]+r.n > weight[i] {
				before[i], weight[i] = j, weight[j]+r.n
			}
		}
		if best < 0 || weight[i] > weight[best] {
			best = i
		}
	}
	for ; best >= 0; best = before[best] {
		chosen = append(chosen, runs[best])
	}
	slices.Reverse(chosen)
	return chosen
}

// spansBetween returns the spans between the chosen runs.
func (c *comparison) spansBetween(chosen []run) (spans []store.Span) {
	a, b := c.front, c.front
	for _, r := range append(chosen, run{a: c.sizeA - c.back, b: c.sizeB - c.back}) {
		if a < r.a || b < r.b {
			spans = append(spans, store.Span{AFrom: a, ATo: r.a, BFrom: b, BTo: r.b})
		}
		a, b = r.a+r.n, r.b+r.n
	}
	return spans
}
