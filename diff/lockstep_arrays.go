package diff

import (
	"bytes"
	"hash/maphash"
	"slices"

	"hindcast/model/jsontape"
)

// restOfArray compares the arrays of f from the element on that the states part
// in and returns where they end.
func (l *lockstep) restOfArray(f *frame) (o, n int, err error) {
	head := f.before
	a, b := cutter{data: l.old, at: f.child}, cutter{data: l.new, at: f.newChild}
	if f.done > 0 {
		head++
		a.at, b.at = f.done, f.done+l.shift
		a.skipComma()
		b.skipComma()
	} else {
		a.begin()
		b.begin()
	}
	for !(a.closed && b.closed) && !l.endsSame(&a, &b) {
		if b.closed || !a.closed && len(l.old)-a.at > len(l.new)-b.at {
			a.next(&b)
		} else {
			b.next(&a)
		}
	}
	extend(&a, &b)
	if a.failed || b.failed {
		return 0, 0, errOutOfStep
	}
	same, err := l.cutApart(&a, &b, f.entry, head)
	if err != nil {
		return 0, 0, err
	}
	tail, o, n, err := l.tail(f, &a, &b, head)
	if err != nil {
		return 0, 0, err
	}
	l.complete(f, o, n, head+same+tail)
	return o, n, nil
}

// extend lets the common head run on into the common tail where it takes up all
// of the shorter array: of equal neighbours the last one is the one added.
func extend(a, b *cutter) {
	for i := 0; ; i++ {
		if i == min(len(a.elements), len(b.elements)) {
			if a.closed || b.closed {
				return
			}
			a.next(b)
			b.next(a)
		}
		if a.failed || b.failed || !bytes.Equal(cut(a.data, a.elements[i]), cut(b.data, b.elements[i])) {
			return
		}
	}
}

// endsSame reports whether all that follows in both states is the same.
func (l *lockstep) endsSame(a, b *cutter) bool {
	left := len(l.old) - a.at
	if a.closed || b.closed || left != len(l.new)-b.at {
		return false
	}
	if l.same < 0 {
		l.same = commonSuffix(l.old, l.new)
	}
	return left <= l.same
}

// tail counts the elements behind those that were cut, which are the same in
// both states, and returns where the arrays end.
func (l *lockstep) tail(f *frame, a, b *cutter, head int32) (count int32, o, n int, err error) {
	if a.closed {
		return 0, a.at, b.at, nil
	}
	if t := l.tape(); t != nil {
		_, end := t.Span(f.node)
		count = int32(t.Count(f.node)) - head
		if l.oldTape != nil {
			count -= int32(len(a.elements))
			return count, end, len(l.new) - (len(l.old) - end), nil
		}
		count -= int32(len(b.elements))
		return count, len(l.old) - (len(l.new) - end), end, nil
	}
	rest := cutter{data: a.data, at: a.at}
	for ; !rest.closed; count++ {
		rest.element()
	}
	if rest.failed {
		return 0, 0, 0, errOutOfStep
	}
	a.at = rest.at
	return count, a.at, len(l.new) - (len(l.old) - a.at), nil
}

// cutter cuts the elements of an array apart. Once it has failed, it is closed.
type cutter struct {
	data     []byte
	at       int // start of the next element; behind the bracket once closed
	closed   bool
	failed   bool
	elements []Span
	classes  []uint64 // of the elements, by their bytes
	like     int      // the element of the other array that the next one is probably like
}

// begin goes to the first element, if there is one.
func (c *cutter) begin() {
	if i := skipSpace(c.data, c.at); i < len(c.data) && c.data[i] == ']' {
		c.closed, c.at = true, i+1
	}
}

// next cuts off the next element and keeps it. If an element of the other array has the same bytes, next
// neither scans nor hashes the element.
func (c *cutter) next(other *cutter) {
	if k, s := c.findCopy(other); k >= 0 {
		c.at = int(s.End)
		if c.skipComma(); !c.failed {
			c.keep(s, other.classes[k])
			c.like, other.like = k+1, len(c.elements)
		}
		return
	}
	if s := c.element(); !c.failed {
		c.keep(s, maphash.Bytes(seed, cut(c.data, s)))
	}
}

var seed = maphash.MakeSeed()

func (c *cutter) keep(s Span, class uint64) {
	c.elements, c.classes = append(c.elements, s), append(c.classes, class)
}

// findCopy returns the next element and which of the other array it has the bytes of,
// -1 if that is not known. It tries the element that is due, some behind it, and the
// last one: there the arrays go on after elements that only one of them has.
func (c *cutter) findCopy(other *cutter) (k int, s Span) {
	const few = 4
	start := skipSpace(c.data, c.at)
	rest, last := c.data[start:], len(other.elements)-1
	for k := c.like; k <= last; k++ {
		if k >= c.like+few {
			k = last
		}
		// Only these end where their bytes end, whatever follows.
		element := cut(other.data, other.elements[k])
		if (element[0] == '{' || element[0] == '[' || element[0] == '"') && bytes.HasPrefix(rest, element) {
			return k, Span{uint32(start), uint32(start + len(element))}
		}
	}
	return -1, Span{}
}

// element returns the next element and goes to the one behind it.
func (c *cutter) element() Span {
	start := skipSpace(c.data, c.at)
	end, err := jsontape.Skip(c.data, start)
	if err != nil {
		c.closed, c.failed = true, true
		return Span{}
	}
	c.at = end
	c.skipComma()
	return Span{uint32(start), uint32(end)}
}

// skipComma goes from behind an element to the next one, or out of the array.
func (c *cutter) skipComma() {
	i := skipSpace(c.data, c.at)
	if i >= len(c.data) || c.data[i] != ',' && c.data[i] != ']' {
		c.closed, c.failed = true, true
		return
	}
	c.closed = c.data[i] == ']'
	c.at = i + 1
}

// cutApart adds the entries of two runs of elements, which start at place head
// of their arrays, and returns how many are unchanged.
func (l *lockstep) cutApart(a, b *cutter, entry, head int32) (int32, error) {
	p := spanPair{l: l, olds: a.elements, news: b.elements, oldValues: make(map[int]value), newValues: make(map[int]value)}
	arr := l.arrange(a.classes, b.classes)
	if err := p.check(&arr); err != nil {
		return 0, err
	}
	return l.addArrays(&p, &arr, entry, head)
}

// spanPair is two arrays whose bytes alone are known; elements are parsed
// when they are needed.
type spanPair struct {
	l                    *lockstep
	olds, news           []Span
	oldValues, newValues map[int]value
}

// check returns up if too much is without a partner, or if some of it has a counterpart
// that is only spelled in another way.
func (p *spanPair) check(arr *arrangement) error {
	all, alone := 0, 0
	for _, s := range p.olds {
		all += size(s)
	}
	gone := make(map[uint64]bool)
	var come []uint64
	for g := range arr.gaps() {
		removed, added := arr.unpairedIn(g)
		if len(removed) == 1 && len(added) == 1 && p.l.inStep(p.olds[removed[0]], p.news[added[0]]) {
			continue
		}
		for _, i := range removed {
			alone += size(p.olds[i])
		}
		if alone > strangers && alone > all/3 {
			return errOutOfStep
		}
		for _, i := range removed {
			v, err := p.old(i)
			if err != nil {
				return err
			}
			gone[v.hash()] = true
		}
		for _, j := range added {
			v, err := p.new(j)
			if err != nil {
				return err
			}
			come = append(come, v.hash())
		}
	}
	if slices.ContainsFunc(come, func(h uint64) bool { return gone[h] }) {
		return errOutOfStep
	}
	return nil
}

func size(s Span) int { return int(s.End - s.Start) }

func (p *spanPair) oldSpan(i int) Span { return p.olds[i] }
func (p *spanPair) newSpan(j int) Span { return p.news[j] }

func (p *spanPair) old(i int) (value, error) { return parseOnce(p.oldValues, i, p.l.old, p.olds[i]) }
func (p *spanPair) new(j int) (value, error) { return parseOnce(p.newValues, j, p.l.new, p.news[j]) }

func parseOnce(values map[int]value, i int, data []byte, s Span) (value, error) {
	if v, found := values[i]; found {
		return v, nil
	}
	v, err := parsePart(data, s)
	if err == nil {
		values[i] = v
	}
	return v, err
}

func (p *spanPair) compare(i, j int, at place) error {
	old, parsed := p.oldValues[i]
	new, parsedToo := p.newValues[j]
	if parsed && parsedToo {
		return p.l.values(old, new, at)
	}
	return p.l.spans(p.olds[i], p.news[j], at)
}
