package diff

import (
	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// What is left between two matched elements of an array was removed on one side
// and added on the other, or it is the same element changed. One against one
// counts as changed. Otherwise the order-preserving pairs that have most in
// common are changed ones, and the rest was removed and added.

const (
	// same is the likeness of equal values; at half of it values are paired.
	same    = 1000
	similar = same / 2
	// maxTable is how many pairs are weighed in one gap. Beyond that, the k-th
	// is paired with the k-th if they are similar.
	maxTable = 4096
	// maxLooks is how many values of an element are looked at to weigh it.
	maxLooks = 64
)

// pairUp returns the pairs of removed and added elements that are one element
// changed, as positions in removed and added, ascending.
func (c *comparer) pairUp(p arrays, removed, added []int) ([]align.Pair, error) {
	if len(removed) == 0 || len(added) == 0 {
		return nil, nil
	}
	if len(removed) == 1 && len(added) == 1 {
		return []align.Pair{{A: 0, B: 0}}, nil
	}
	olds, news := valuesAt(p.olds, removed), valuesAt(p.news, added)
	if len(removed)*len(added) <= maxTable {
		return c.bestPairs(olds, news)
	}
	c.Coarse = true
	var pairs []align.Pair
	for i := range min(len(olds), len(news)) {
		if err := c.tick(); err != nil {
			return nil, err
		}
		if likeness(olds[i], news[i]) >= similar {
			pairs = append(pairs, align.Pair{A: int32(i), B: int32(i)})
		}
	}
	return pairs, nil
}

func valuesAt(all []value, at []int) []value {
	values := make([]value, len(at))
	for k, i := range at {
		values[k] = all[i]
	}
	return values
}

// bestPairs returns the similar pairs that do not cross and have most in common.
func (c *comparer) bestPairs(removed, added []value) ([]align.Pair, error) {
	// best[i][j] is the most that removed[i:] and added[j:] can have in common.
	width := len(added) + 1
	best := make([]int32, (len(removed)+1)*width)
	like := make([]int32, len(removed)*len(added))
	for i := len(removed) - 1; i >= 0; i-- {
		if err := c.tick(); err != nil {
			return nil, err
		}
		for j := len(added) - 1; j >= 0; j-- {
			here := max(best[(i+1)*width+j], best[i*width+j+1])
			if l := likeness(removed[i], added[j]); l >= similar {
				like[i*len(added)+j] = l
				here = max(here, l+best[(i+1)*width+j+1])
			}
			best[i*width+j] = here
		}
	}
	var pairs []align.Pair
	for i, j := 0, 0; i < len(removed) && j < len(added); {
		here := best[i*width+j]
		if l := like[i*len(added)+j]; l > 0 && here == l+best[(i+1)*width+j+1] {
			pairs = append(pairs, align.Pair{A: int32(i), B: int32(j)})
			i, j = i+1, j+1
		} else if here == best[(i+1)*width+j] {
			i++
		} else {
			j++
		}
	}
	return pairs, nil
}

// likeness weighs what two values have in common, in bytes, against their
// size: from 0 to same. Two values that are no containers are always similar,
// so that ["a"] to ["b"] is one replacement.
func likeness(a, b value) int32 {
	if !isContainer(a.kind()) && !isContainer(b.kind()) {
		return similar + share(commonText(a, b), a, b)/2
	}
	if a.kind() != b.kind() {
		return 0
	}
	w := weigher{looks: maxLooks}
	return share(w.common(a, b), a, b)
}

func share(common int, a, b value) int32 {
	size := len(a.raw()) + len(b.raw())
	return int32(min(2*common*same/max(size, 1), same))
}

// weigher adds up what two values have in common.
type weigher struct{ looks int }

// common returns the bytes in common. It goes a level down for each call, but
// never further than its looks.
func (w *weigher) common(a, b value) int {
	if w.looks--; w.looks < 0 {
		return 0
	}
	if a.hash() == b.hash() {
		return min(len(a.raw()), len(b.raw()))
	}
	if a.kind() != b.kind() {
		return 0
	}
	sum := 0
	switch a.kind() {
	case jsontape.Array:
		for n, m := a.tape.First(a.node), b.tape.First(b.node); n >= 0 && m >= 0 && w.looks > 0; n, m = a.tape.Next(n), b.tape.Next(m) {
			sum += w.common(a.at(n), b.at(m))
		}
	case jsontape.Object:
		for p := range jsontape.MatchMembers(a.tape, a.node, b.tape, b.node) {
			if w.looks <= 0 {
				break
			}
			if p.Old >= 0 && p.New >= 0 {
				sum += len(a.tape.RawKey(p.Old)) + w.common(a.at(p.Old), b.at(p.New))
			}
		}
	default:
		sum = commonText(a, b)
	}
	return sum
}

// commonText returns how many bytes two values have in common at their ends, as
// far as it is worth looking.
func commonText(a, b value) int {
	const far = 1 << 12
	x, y := a.raw(), b.raw()
	n := min(len(x), len(y), far)
	head := commonPrefix(x[:n], y[:n])
	tail := commonSuffix(x[max(head, len(x)-n):], y[max(head, len(y)-n):])
	return head + tail
}
