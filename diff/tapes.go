package diff

import (
	"bytes"
	"context"

	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// comparer adds entries to a result. Its methods call each other once for each
// level of the states, which [jsontape.MaxDepth] bounds.
type comparer struct {
	align.Aligner
	ctx        context.Context
	entries    []Entry
	duplicates bool
	steps      int
	run        run
}

// run is a stretch of the old state, from from to to, that the new one has as
// well, shift bytes further on.
type run struct {
	from, to uint32
	shift    int64
}

// commonHead returns how many bytes two values share at the start. Values in
// values ask for the same bytes again and again, so the last answer is kept.
func (c *comparer) commonHead(old, new value) int {
	o, n := old.span(), new.span()
	shift := int64(n.Start) - int64(o.Start)
	if c.run.shift != shift || o.Start < c.run.from || c.run.to <= o.Start {
		c.run = run{o.Start, o.Start + uint32(commonPrefix(old.raw(), new.raw())), shift}
	}
	return int(min(c.run.to, o.End, uint32(int64(n.End)-shift)) - o.Start)
}

// sameBytes reports whether two values are spelled the same.
func (c *comparer) sameBytes(old, new value) bool {
	a, b := old.raw(), new.raw()
	if len(a) != len(b) || len(a) < block {
		return bytes.Equal(a, b)
	}
	return c.commonHead(old, new) == len(a)
}

// place says where in its parent a pair of values stands.
type place struct {
	parent   int32 // entry of the container, none for the root
	old, new int32 // places in the array, or none
	key      Span  // key in the object, if it is in one
}

// add appends an entry and returns its position.
func (c *comparer) add(op Op, old, new Span, at place) int32 {
	i := int32(len(c.entries))
	e := Entry{Op: op, Old: old, New: new, Key: at.key, OldIndex: at.old, NewIndex: at.new, Parent: at.parent, End: i + 1}
	if at.parent >= 0 {
		e.Depth = c.entries[at.parent].Depth + 1
	}
	c.entries = append(c.entries, e)
	return i
}

// close ends the entry of a container. A [Within] entry stays only if it has entries inside.
func (c *comparer) close(i int32) {
	if int(i) == len(c.entries)-1 && c.entries[i].Op == Within {
		c.entries = c.entries[:i]
		return
	}
	c.entries[i].End = int32(len(c.entries))
}

// tick returns the context's error now and then.
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
	if old.hash() == new.hash() && c.sameBytes(old, new) {
		return nil
	}
	if err := c.tick(); err != nil {
		return err
	}
	kind := old.kind()
	if kind == new.kind() && isContainer(kind) {
		i := c.add(Within, old.span(), new.span(), at)
		if err := c.inside(old, new, i); err != nil {
			return err
		}
		c.close(i)
		return nil
	}
	if !jsontape.EqualScalar(old.tape, old.node, new.tape, new.node) {
		c.add(Replaced, old.span(), new.span(), at)
		return nil
	}
	if kind == jsontape.Number && !bytes.Equal(old.raw(), new.raw()) {
		c.add(Respelled, old.span(), new.span(), at)
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
		switch {
		case p.New < 0:
			o := old.at(p.Old)
			c.add(Removed, o.span(), Span{}, place{parent: entry, old: align.None, new: align.None, key: o.keySpan()})
		case p.Old < 0:
			n := new.at(p.New)
			c.add(Added, Span{}, n.span(), place{parent: entry, old: align.None, new: align.None, key: n.keySpan()})
		default:
			before := len(c.entries)
			n := new.at(p.New)
			if err := c.values(old.at(p.Old), n, place{parent: entry, old: align.None, new: align.None, key: n.keySpan()}); err != nil {
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
		if t.IsShadowed(n) {
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
	a, b, head := c.skipHead(old, new)
	unchanged := head
	for a >= 0 && b >= 0 && old.tape.Hash(a) == new.tape.Hash(b) {
		before := len(c.entries)
		if err := c.values(old.at(a), new.at(b), place{parent: entry, old: head, new: head}); err != nil {
			return err
		}
		if len(c.entries) == before {
			unchanged++
		}
		head++
		a, b = old.tape.Next(a), new.tape.Next(b)
	}
	if a >= 0 || b >= 0 {
		var p arrays
		var classes [2][]uint64
		p.olds, classes[0] = rest(old, a)
		p.news, classes[1] = rest(new, b)
		arr := c.arrange(classes[0], classes[1])
		same, err := c.addArrays(p, &arr, entry, head)
		if err != nil {
			return err
		}
		unchanged += same
	}
	c.entries[entry].Unchanged = unchanged
	return nil
}

// longArray is from how many elements on a head is worth to be skipped.
const longArray = 64

// skipHead returns the first elements of two arrays that may differ and how many
// there are before them. Long runs of equal bytes hold equal elements, which
// need not be visited one by one.
func (c *comparer) skipHead(old, new value) (a, b jsontape.Node, head int32) {
	a, b = old.tape.First(old.node), new.tape.First(new.node)
	if min(old.tape.Count(old.node), new.tape.Count(new.node)) < longArray {
		return a, b, 0
	}
	same := c.commonHead(old, new)
	if same <= max(startIn(old, a), startIn(new, b)) {
		return a, b, 0
	}
	a, b = elementBefore(old, same), elementBefore(new, same)
	// The place where they part can be before an element in one of the two.
	head = int32(min(old.tape.Index(a), new.tape.Index(b)))
	for old.tape.Index(a) > int(head) {
		a = elementBefore(old, startIn(old, a))
	}
	for new.tape.Index(b) > int(head) {
		b = elementBefore(new, startIn(new, b))
	}
	return a, b, head
}

// elementBefore returns the last element of an array that starts less than n
// bytes behind the array.
func elementBefore(array value, n int) jsontape.Node {
	start, _ := array.tape.Span(array.node)
	e := array.tape.LastBefore(start + n)
	for array.tape.Parent(e) != array.node {
		e = array.tape.Parent(e)
	}
	return e
}

// startIn returns how far behind the array one of its elements starts.
func startIn(array value, e jsontape.Node) int {
	start, _ := array.tape.Span(array.node)
	at, _ := array.tape.Span(e)
	return at - start
}

// rest returns the elements from n on and their classes.
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

// arrays are the elements of two arrays, without those of their heads.
type arrays struct{ olds, news []value }
