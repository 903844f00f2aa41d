package diff

import (
	"bytes"
	"context"

	"hindcast/model/jsontape"
)

// comparer adds entries to a result. Its methods call each other once for each
// level of the states, which [jsontape.MaxDepth] bounds.
type comparer struct {
	aligner
	ctx        context.Context
	entries    []Entry
	duplicates bool
	steps      int
}

// place says where in its parent a pair of values stands.
type place struct {
	parent   int32 // entry of the container
	old, new int32 // places in the array, or -1
}

// add appends an entry and gives its position.
func (c *comparer) add(op Op, old, new, key Span, at place) int32 {
	i := int32(len(c.entries))
	e := Entry{Op: op, Old: old, New: new, Key: key, OldIndex: at.old, NewIndex: at.new, Parent: at.parent, End: i + 1}
	if at.parent >= 0 {
		e.Depth = c.entries[at.parent].Depth + 1
	}
	c.entries = append(c.entries, e)
	return i
}

// close ends the container's entry: it stays only if there are some inside.
func (c *comparer) close(i int32) {
	if int(i) == len(c.entries)-1 && c.entries[i].Op == Within {
		c.entries = c.entries[:i]
		return
	}
	c.entries[i].End = int32(len(c.entries))
}

// tick gives the context's error now and then.
func (c *comparer) tick() error {
	if c.steps++; c.steps&0xFF != 0 {
		return nil
	}
	return c.ctx.Err()
}

// values compares two values that are in both states at the same place. Equal
// hashes only say that it is worth comparing the bytes, so that chance cannot
// hide a change.
func (c *comparer) values(old, new value, at place) error {
	if old.hash() == new.hash() && bytes.Equal(old.raw(), new.raw()) {
		return nil
	}
	if err := c.tick(); err != nil {
		return err
	}
	kind := old.kind()
	if kind == new.kind() && isContainer(kind) {
		i := c.add(Within, old.span(), new.span(), new.keySpan(), at)
		if err := c.inside(old, new, i); err != nil {
			return err
		}
		c.close(i)
		return nil
	}
	if !jsontape.EqualScalar(old.tape, old.node, new.tape, new.node) {
		c.add(Replaced, old.span(), new.span(), new.keySpan(), at)
		return nil
	}
	if kind == jsontape.Number && !bytes.Equal(old.raw(), new.raw()) {
		c.add(Respelled, old.span(), new.span(), new.keySpan(), at)
	}
	return nil
}

// inside compares what two containers of the same kind hold.
func (c *comparer) inside(old, new value, entry int32) error {
	if old.kind() == jsontape.Object {
		return c.members(old, new, entry)
	}
	return c.elements(old, new, entry)
}

func (c *comparer) members(old, new value, entry int32) error {
	unchanged := int32(0)
	for p := range jsontape.MatchMembers(old.tape, old.node, new.tape, new.node) {
		at := place{parent: entry, old: none, new: none}
		switch {
		case p.New < 0:
			o := old.at(p.Old)
			c.add(Removed, o.span(), Span{}, o.keySpan(), at)
		case p.Old < 0:
			n := new.at(p.New)
			c.add(Added, Span{}, n.span(), n.keySpan(), at)
		default:
			before := len(c.entries)
			if err := c.values(old.at(p.Old), new.at(p.New), at); err != nil {
				return err
			}
			if len(c.entries) == before {
				unchanged++
			}
		}
	}
	c.entries[entry].Unchanged = unchanged
	if len(c.entries) > int(entry)+1 {
		c.note(old, entry)
		c.note(new, entry)
	}
	return nil
}

// note marks an object whose members are not named by their keys alone.
func (c *comparer) note(object value, entry int32) {
	t := object.tape
	for n := t.First(object.node); n >= 0; n = t.Next(n) {
		if t.Shadowed(n) {
			c.duplicates = true
			c.entries[entry].unnamed = true
		}
		if !t.CleanKey(n) {
			c.entries[entry].unnamed = true
		}
	}
}

// elements compares two arrays. Equal heads are walked in place; only what
// follows the first difference is aligned.
func (c *comparer) elements(old, new value, entry int32) error {
	unchanged, head := int32(0), int32(0)
	a, b := old.tape.First(old.node), new.tape.First(new.node)
	for a >= 0 && b >= 0 && old.tape.Hash(a) == new.tape.Hash(b) {
		same, err := c.matched(old.at(a), new.at(b), place{entry, head, head})
		if err != nil {
			return err
		}
		unchanged += same
		head++
		a, b = old.tape.Next(a), new.tape.Next(b)
	}
	if a < 0 && b < 0 {
		c.entries[entry].Unchanged = unchanged
		return nil
	}
	removed, classesA := rest(old, a)
	added, classesB := rest(new, b)
	match := c.align(classesA, classesB)
	same, err := c.aligned(removed, added, match, classesA, classesB, entry, head)
	if err != nil {
		return err
	}
	c.entries[entry].Unchanged = unchanged + same
	return nil
}

// matched compares two elements that belong together and gives 1 if there is
// nothing to tell about them.
func (c *comparer) matched(old, new value, at place) (int32, error) {
	before := len(c.entries)
	if err := c.values(old, new, at); err != nil {
		return 0, err
	}
	if len(c.entries) == before {
		return 1, nil
	}
	return 0, nil
}

// rest gives the elements from n on and their classes.
func rest(array value, n jsontape.Node) (elements []value, classes []uint64) {
	if n < 0 {
		return nil, nil
	}
	left := array.tape.Count(array.node) - array.tape.Index(n)
	elements, classes = make([]value, 0, left), make([]uint64, 0, left)
	for ; n >= 0; n = array.tape.Next(n) {
		elements = append(elements, array.at(n))
		classes = append(classes, array.tape.Hash(n))
	}
	return elements, classes
}

// aligned adds the entries of two aligned runs of elements, which start at head
// in their arrays, and gives how many are unchanged.
func (c *comparer) aligned(old, new []value, match []int32, classesA, classesB []uint64, entry, head int32) (unchanged int32, err error) {
	from := moves(match, classesA, classesB)
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		endI, endJ := i, len(new)
		for endI < len(old) && match[endI] == none {
			endI++
		}
		if endI < len(old) {
			endJ = int(match[endI])
		}
		if err := c.between(old, new, i, endI, j, endJ, from, entry, head); err != nil {
			return 0, err
		}
		i, j = endI, endJ
		if i < len(old) {
			same, err := c.matched(old[i], new[j], place{entry, head + int32(i), head + int32(j)})
			if err != nil {
				return 0, err
			}
			unchanged += same
			i, j = i+1, j+1
		}
	}
	return unchanged, nil
}

// moved tells which elements without a partner are at another place.
type moved struct {
	away []bool  // by position in the old run
	from []int32 // by position in the new run: where it was, or none
}

// moves pairs what is left on both sides by class, in order.
func moves(match []int32, a, b []uint64) moved {
	m := moved{away: make([]bool, len(a)), from: make([]int32, len(b))}
	partnered := make([]bool, len(b))
	left := make(map[uint64][]int32)
	for i, j := range match {
		if j != none {
			partnered[j] = true
			continue
		}
		left[a[i]] = append(left[a[i]], int32(i))
	}
	for j := range m.from {
		m.from[j] = none
		if at := left[b[j]]; !partnered[j] && len(at) > 0 {
			m.from[j] = at[0]
			m.away[at[0]] = true
			left[b[j]] = at[1:]
		}
	}
	return m
}

// between adds the entries of a gap: old[i:endI] and new[j:endJ] have no
// partners.
func (c *comparer) between(old, new []value, i, endI, j, endJ int, from moved, entry, head int32) error {
	var removed, added []value
	var removedAt, addedAt []int32
	for ; i < endI; i++ {
		if !from.away[i] {
			removed, removedAt = append(removed, old[i]), append(removedAt, head+int32(i))
		}
	}
	for k := j; k < endJ; k++ {
		if from.from[k] == none {
			added, addedAt = append(added, new[k]), append(addedAt, head+int32(k))
		}
	}
	pairs, coarse := pairUp(removed, added)
	c.coarse = c.coarse || coarse
	r, a := 0, 0
	remove := func(until int) {
		for ; r < until; r++ {
			c.add(Removed, removed[r].span(), Span{}, Span{}, place{entry, removedAt[r], none})
		}
	}
	for ; j < endJ; j++ {
		// What was removed comes before what was added in its place.
		until := len(removed)
		if len(pairs) > 0 {
			until = int(pairs[0].a)
		}
		remove(until)
		if i := from.from[j]; i != none {
			if err := c.move(old[i], new[j], place{entry, head + i, head + int32(j)}); err != nil {
				return err
			}
			continue
		}
		if len(pairs) > 0 && int(pairs[0].b) == a {
			if err := c.values(removed[r], added[a], place{entry, removedAt[r], addedAt[a]}); err != nil {
				return err
			}
			pairs = pairs[1:]
			r++
		} else {
			c.add(Added, Span{}, added[a].span(), Span{}, place{entry, none, addedAt[a]})
		}
		a++
	}
	remove(len(removed))
	return nil
}

// move adds the entry of an element that is at another place, with what is
// respelled in it below. Two elements whose class is the same by chance only
// are no move.
func (c *comparer) move(old, new value, at place) error {
	if bytes.Equal(old.raw(), new.raw()) {
		c.add(Moved, old.span(), new.span(), Span{}, at)
		return nil
	}
	if !jsontape.Equal(old.tape, old.node, new.tape, new.node) {
		c.add(Removed, old.span(), Span{}, Span{}, place{at.parent, at.old, none})
		c.add(Added, Span{}, new.span(), Span{}, place{at.parent, none, at.new})
		return nil
	}
	i := c.add(Moved, old.span(), new.span(), Span{}, at)
	if isContainer(old.kind()) {
		if err := c.inside(old, new, i); err != nil {
			return err
		}
		c.entries[i].Unchanged = 0
		c.close(i)
	}
	return nil
}
