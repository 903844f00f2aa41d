package query

import (
	"bytes"
	"math"

	"hindcast/model/jsontape"
)

// part is a value in a state: where it begins, and where it ends.
type part struct {
	pieces   []piece
	from, to spot
}

// field is a member of an object.
type field struct {
	key string
	part
}

// cursor returns a cursor at the beginning of a part.
func (p *places) cursor(text pages, of part) *cursor {
	return &cursor{places: p, text: text, pieces: of.pieces, spot: of.from}
}

// top returns a state as a part. It reports false if the state holds nothing, or does not end.
func (p *places) top(text pages, pieces []piece) (whole part, ok bool) {
	if len(pieces) == 0 {
		return part{}, false
	}
	c := &cursor{places: p, text: text, pieces: pieces, spot: spot{0, pieces[0].off}}
	c.mark()
	if _, ok = c.next(); !ok {
		return part{}, false
	}
	whole = part{pieces: pieces, from: c.spot}
	ok = c.skip()
	whole.to = c.spot
	return whole, ok
}

// isSame reports whether two parts are the same bytes of the text, in the same pieces.
func (a part) isSame(b part) bool {
	last := a.to.piece - a.from.piece
	if a.from.at != b.from.at || a.to.at != b.to.at || b.to.piece-b.from.piece != last {
		return false
	}
	for i := range last {
		x, y := a.pieces[a.from.piece+i], b.pieces[b.from.piece+i]
		if x.end() != y.end() || a.pieces[a.from.piece+i+1].off != b.pieces[b.from.piece+i+1].off {
			return false
		}
	}
	return true
}

// size returns how many bytes a part is.
func (a part) size() (size int) {
	if a.from.piece == a.to.piece {
		return int(a.to.at - a.from.at)
	}
	size = int(a.pieces[a.from.piece].end() - a.from.at + a.to.at - a.pieces[a.to.piece].off)
	for _, p := range a.pieces[a.from.piece+1 : a.to.piece] {
		size += int(p.n)
	}
	return size
}

// text returns the pieces of a part.
func (a part) text() []piece { return (&cursor{pieces: a.pieces}).between(a.from, a.to) }

// members returns the members of the object at the cursor, which goes behind it. Of those
// with one key all are there.
func (c *cursor) members() (list []field, ok bool) {
	c.at++
	for first := true; ; first = false {
		b, ok := c.next()
		switch {
		case ok && b == '}' && first:
			c.at++
			return list, true
		case !ok || b != '"':
			return nil, false
		}
		from := c.spot
		if !c.string() {
			return nil, false
		}
		m := field{key: c.unquoted(from)}
		if b, ok = c.next(); !ok || b != ':' {
			return nil, false
		}
		c.at++
		if m.part, ok = c.value(); !ok {
			return nil, false
		}
		list = append(list, m)
		switch b, ok = c.next(); {
		case ok && b == ',':
			c.at++
		case ok && b == '}':
			c.at++
			return list, true
		default:
			return nil, false
		}
	}
}

// unquoted returns the string that began at a spot, decoded.
func (c *cursor) unquoted(from spot) string {
	if from.piece == c.piece {
		return jsontape.Unquote(c.text.cut(from.at, c.at))
	}
	return jsontape.Unquote(join(c.text, c.between(from, c.spot)))
}

// value returns the value at the cursor, which goes behind it.
func (c *cursor) value() (part, bool) {
	if _, ok := c.next(); !ok {
		return part{}, false
	}
	of := part{pieces: c.pieces, from: c.spot}
	ok := c.skip()
	of.to = c.spot
	return of, ok
}

// comma goes behind the comma behind an element; more is false at the end of the array, which
// the cursor then goes behind.
func (c *cursor) comma() (more, ok bool) {
	b, ok := c.next()
	c.at++
	return b == ',', ok && (b == ',' || b == ']')
}

// lists returns the elements of two arrays without those that both begin with, and how many
// these are.
func lists(a, b *cursor) (common int, x, y []part, ok bool) {
	a.at++
	b.at++
	if p, ok := a.next(); !ok || p == ']' {
		y, ok2 := b.elements(nil)
		return 0, nil, y, ok && ok2
	}
	if p, ok := b.next(); !ok || p == ']' {
		x, ok2 := a.elements(nil)
		return 0, x, nil, ok && ok2
	}
	for {
		one, ok := a.value()
		other, ok2 := b.value()
		if !ok || !ok2 {
			return 0, nil, nil, false
		}
		if !one.isSame(other) {
			x, y = append(x, one), append(y, other)
			break
		}
		common++
		if a.at == b.at {
			limit := min(a.limit(), b.limit())
			common += a.jumpTo(limit, math.MaxInt)
			b.at = a.at
		}
		more, ok := a.comma()
		more2, ok2 := b.comma()
		if !ok || !ok2 {
			return 0, nil, nil, false
		}
		if !more || !more2 {
			if more {
				x, ok = a.elements(x)
			}
			if more2 {
				y, ok2 = b.elements(y)
			}
			return common, x, y, ok && ok2
		}
	}
	if x, ok = a.behind(x); !ok {
		return 0, nil, nil, false
	}
	y, ok = b.behind(y)
	return common, x, y, ok
}

// behind appends the elements behind the one that the cursor is behind.
func (c *cursor) behind(list []part) ([]part, bool) {
	more, ok := c.comma()
	if !ok || !more {
		return list, ok
	}
	return c.elements(list)
}

// elements appends the elements from the cursor on, which goes behind the array.
func (c *cursor) elements(list []part) ([]part, bool) {
	if b, ok := c.next(); ok && b == ']' && len(list) == 0 {
		c.at++
		return list, true
	}
	for {
		one, ok := c.value()
		if !ok {
			return nil, false
		}
		list = append(list, one)
		for c.at < c.limit() {
			from, piece := c.at, c.piece
			if c.jump(1) == 0 {
				break
			}
			between := c.text.cut(from, c.at)
			from = c.at - uint32(len(bytes.TrimLeft(between, ", \n\t\r")))
			list = append(list, part{c.pieces, spot{piece, from}, c.spot})
		}
		more, ok := c.comma()
		if !ok || !more {
			return list, ok
		}
	}
}
