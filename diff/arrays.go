package diff

import (
	"bytes"
	"iter"

	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// arrangement pairs the elements of two arrays: unmoved pairs in match, the moved elements, and the gaps with
// all others.
type arrangement struct {
	match []int32 // by position in the old array: its partner in the new one, or none
	away  []bool  // by position in the old array: it is moved
	from  []int32 // by position in the new one: where it was before it moved, or none
}

// arrange aligns two arrays and pairs what that left on both sides by class, in
// order: those were moved.
func (c *comparer) arrange(old, new []uint64) arrangement {
	a := arrangement{match: c.Align(old, new), away: make([]bool, len(old)), from: make([]int32, len(new))}
	for j := range a.from {
		a.from[j] = align.None
	}
	partnered := make([]bool, len(new))
	left := make(map[uint64][]int32)
	for i, j := range a.match {
		if j != align.None {
			partnered[j] = true
			continue
		}
		left[old[i]] = append(left[old[i]], int32(i))
	}
	if len(left) == 0 {
		return a
	}
	for j, class := range new {
		if at := left[class]; !partnered[j] && len(at) > 0 {
			a.from[j] = at[0]
			a.away[at[0]] = true
			left[class] = at[1:]
		}
	}
	return a
}

// gap is the range before a matched pair or at the end: elements i to endI of the old array and j to endJ of
// the new one have no partners.
type gap struct{ i, endI, j, endJ int }

// gaps returns all gaps in order, empty ones too. The matched pair behind a gap is
// endI and endJ, but for the last one.
func (a *arrangement) gaps() iter.Seq[gap] {
	return func(yield func(gap) bool) {
		g := gap{}
		for ; g.endI < len(a.match); g.endI++ {
			if a.match[g.endI] == align.None {
				continue
			}
			if g.endJ = int(a.match[g.endI]); !yield(g) {
				return
			}
			g = gap{g.endI + 1, g.endI, g.endJ + 1, g.endJ}
		}
		g.endJ = len(a.from)
		yield(g)
	}
}

// unpairedIn returns the elements of a gap that are neither matched nor moved.
func (a *arrangement) unpairedIn(g gap) (removed, added []int) {
	for i := g.i; i < g.endI; i++ {
		if !a.away[i] {
			removed = append(removed, i)
		}
	}
	for j := g.j; j < g.endJ; j++ {
		if a.from[j] == align.None {
			added = append(added, j)
		}
	}
	return removed, added
}

// addArrays adds the entries of two arrays and returns how many elements are
// unchanged. The first ones stand at place head.
func (c *comparer) addArrays(p arrays, a *arrangement, entry, head int32) (unchanged int32, err error) {
	for g := range a.gaps() {
		if err := c.between(p, a, g, entry, head); err != nil {
			return 0, err
		}
		if g.endI == len(a.match) {
			break
		}
		before := len(c.entries)
		if err := c.values(p.olds[g.endI], p.news[g.endJ], place{parent: entry, old: head + int32(g.endI), new: head + int32(g.endJ)}); err != nil {
			return 0, err
		}
		if len(c.entries) == before {
			unchanged++
		}
	}
	return unchanged, nil
}

// between adds the entries of a gap.
func (c *comparer) between(p arrays, arr *arrangement, g gap, entry, head int32) error {
	removed, added := arr.unpairedIn(g)
	pairs, err := c.pairUp(p, removed, added)
	if err != nil {
		return err
	}
	r, a := 0, 0
	// What was removed comes before what was added in its place.
	remove := func(until int) {
		for ; r < until; r++ {
			c.add(Removed, p.olds[removed[r]].span(), Span{}, place{parent: entry, old: head + int32(removed[r]), new: align.None})
		}
	}
	for j := g.j; j < g.endJ; j++ {
		at := place{parent: entry, old: align.None, new: head + int32(j)}
		paired := len(pairs) > 0 && int(pairs[0].B) == a
		if len(pairs) > 0 {
			remove(int(pairs[0].A))
		} else {
			remove(len(removed))
		}
		switch i := int(arr.from[j]); {
		case i >= 0:
			at.old = head + int32(i)
			if err := c.move(p, i, j, at); err != nil {
				return err
			}
			continue
		case paired:
			at.old = head + int32(removed[r])
			if err := c.values(p.olds[removed[r]], p.news[j], at); err != nil {
				return err
			}
			pairs = pairs[1:]
			r++
		default:
			c.add(Added, Span{}, p.news[j].span(), at)
		}
		a++
	}
	remove(len(removed))
	return nil
}

// move adds the entry of a moved element, and below it the entries for respelled values inside. Two elements
// with equal classes by chance are no move.
func (c *comparer) move(p arrays, i, j int, at place) error {
	old, new := p.olds[i], p.news[j]
	if bytes.Equal(old.raw(), new.raw()) {
		c.add(Moved, old.span(), new.span(), at)
		return nil
	}
	if !jsontape.Equal(old.tape, old.node, new.tape, new.node) {
		c.add(Removed, old.span(), Span{}, place{parent: at.parent, old: at.old, new: align.None})
		c.add(Added, Span{}, new.span(), place{parent: at.parent, old: align.None, new: at.new})
		return nil
	}
	entry := c.add(Moved, old.span(), new.span(), at)
	if isContainer(old.kind()) {
		if err := c.inside(old, new, entry); err != nil {
			return err
		}
		c.entries[entry].Unchanged = 0
		c.close(entry)
	}
	return nil
}
