package query

import (
	"bytes"
	"sort"
	"sync"

	"hindcast/model/jsontape"
)

// places memoises facts about places of the text, which hold in whatever state they stand.
type places struct {
	mu sync.Mutex
	// ends are where values end that begin at a place. Of a value that is not known to end
	// it is how far it was looked for, and unended is set.
	ends map[uint32]ending
	// links are where in their chains ends of elements are.
	links map[uint32]link
	// trail is the way over the array that was gone over last.
	trail trail
}

type ending struct {
	at      uint32
	unended bool
}

// chain are ends of elements of an array that follow each other: between two of them is a
// comma and an element. It grows at both sides, since a session may be asked backwards.
type chain struct {
	// before are the ends in front of the first end that was found, the last one first.
	before, behind []uint32
	// next is the chain that goes on with the next element.
	next *chain
}

type link struct {
	*chain
	i int
}

// mostPlaces bounds how many places are remembered: some 200 MB.
const mostPlaces = 1 << 22

func (p *places) full() bool { return len(p.ends)+len(p.links) > mostPlaces }

func (p *places) forget() { p.ends, p.links = map[uint32]ending{}, map[uint32]link{} }

// end returns where the string or the container at a place ends, if that is before limit.
func (p *places) end(text pages, at, limit uint32) (end uint32, ok bool) {
	known, met := p.ends[at]
	if met && (!known.unended || known.at >= limit) {
		return known.at, !known.unended && known.at <= limit
	}
	found, err := jsontape.Skip(text.cut(at, limit), 0)
	if err != nil {
		p.ends[at] = ending{limit, true}
		return 0, false
	}
	p.ends[at] = ending{at + uint32(found), false}
	return at + uint32(found), true
}

// follow returns the end of the element behind one that ends at a place, if both the comma
// and the element are before limit.
func (p *places) follow(text pages, at, limit uint32) (end uint32, ok bool) {
	rest := bytes.TrimLeft(text.cut(at, limit), " \n\t\r")
	if len(rest) == 0 || rest[0] != ',' {
		return 0, false
	}
	rest = bytes.TrimLeft(rest[1:], " \n\t\r")
	if len(rest) == 0 {
		return 0, false
	}
	at = limit - uint32(len(rest))
	switch rest[0] {
	case '"', '{', '[':
		return p.end(text, at, limit)
	}
	for i, b := range rest {
		if endsScalar(b) {
			return at + uint32(i), i > 0
		}
	}
	return 0, false
}

// jump goes from the end of an element over the elements that follow it, most at the most, as
// far as they lie in the piece, and returns how many they are.
func (c *cursor) jump(most int) (jumped int) { return c.jumpTo(c.limit(), most) }

// jumpTo is jump as far as a place in the piece.
func (c *cursor) jumpTo(limit uint32, most int) (jumped int) {
	for most > 0 && c.at < limit {
		l, known := c.links[c.at]
		if !known {
			if l, known = c.begin(c.text, c.at, limit); !known {
				return jumped
			}
		}
		n := l.reach(c.places, c.text, limit, l.i, most)
		if n == 0 {
			return jumped
		}
		c.at = l.get(l.i + n)
		jumped, most = jumped+n, most-n
		if l.i+n < len(l.behind)-1 || l.next == nil || most == 0 {
			return jumped
		}
		first := l.next.get(-len(l.next.before))
		if !closed(c.text, first, limit) {
			return jumped
		}
		c.at = first
		jumped, most = jumped+1, most-1
	}
	return jumped
}

// closed reports whether an element that ends at a place ends in a piece that has the text
// up to limit: a number at its end may go on.
func closed(text pages, end, limit uint32) bool {
	if end != limit {
		return end < limit
	}
	switch text.at(end - 1) {
	case '"', '}', ']':
		return true
	}
	return false
}

// begin makes the end of an element the first one of a chain.
func (p *places) begin(text pages, at, limit uint32) (link, bool) {
	end, ok := p.follow(text, at, limit)
	if !ok {
		return link{}, false
	}
	l, known := p.links[end]
	if known && l.i == -len(l.before) {
		l.before = append(l.before, at)
		l.i--
	} else {
		l = link{&chain{behind: []uint32{at}}, 0}
	}
	p.links[at] = l
	return l, true
}

// get returns the end of element i of a chain, which counts from below 0.
func (c *chain) get(i int) uint32 {
	if i < 0 {
		return c.before[-i-1]
	}
	return c.behind[i]
}

// reach returns how many elements behind element i lie before limit, most at the most. The
// chain is made longer as far as that needs.
func (c *chain) reach(p *places, text pages, limit uint32, i, most int) int {
	for c.next == nil {
		last := len(c.behind) - 1
		if c.behind[last] >= limit || last-i >= most {
			break
		}
		end, ok := p.follow(text, c.behind[last], limit)
		if !ok {
			break
		}
		if l, known := p.links[end]; known && l.chain != c && l.i == -len(l.before) {
			c.next = l.chain
			break
		} else if !known {
			p.links[end] = link{c, last + 1}
		}
		c.behind = append(c.behind, end)
	}
	n := min(len(c.behind)-1-i, most)
	n = sort.Search(n, func(k int) bool { return !closed(text, c.get(i+k+1), limit) })
	return n
}
