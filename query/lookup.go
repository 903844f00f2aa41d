package query

import (
	"bytes"
	"math"
	"slices"
	"sort"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Looking up a value
//
// A state is walked from its beginning, as a text in pieces. Values beside the path are jumped
// over, and the end of each jump is kept by its place: the text does not change, so the jump ends
// there in each state that has the piece.
//
//	pieces   {"turn":7,"messages":[{…}   ,{…},{…},{…},{…}   ,{…}   ],"plan":{…}}
//	         ends: of {…}                chain: 0 1 2 3 4
//
// A value that lies in one piece has an end. In an array that lies in several, the ends of
// neighbouring elements are a chain: in a piece that has a thousand of them, the last one is
// found by bisection. Nothing is guessed: a piece is entered only from the value before it, so
// that each fact is about a whole value. A number at the end of a piece may go on in the next;
// strings and brackets close themselves.
//
// Where a text on the way is not JSON, [Path.in] tells its fault.

// value is a value in a state as pieces of the text; the zero value means that there is no value.
type value struct{ pieces []piece }

func (v value) none() bool { return len(v.pieces) == 0 }

// at returns the value at a path in the state of a visit that is loaded, and none where
// there is no such value. The error is that of the state, or says that it is not JSON.
func (v *view) at(n model.Node, path Path) (value, error) {
	r := v.rope(n)
	if r.err != nil {
		return value{}, r.err
	}
	text := v.bytes()
	v.places.mu.Lock()
	found, ok := v.places.find(text, r.pieces, path)
	v.places.mu.Unlock()
	if ok {
		return found, nil
	}
	state := join(text, r.pieces)
	json, err := path.in(state)
	if err != nil || json == nil {
		return value{}, err
	}
	return value{cut(r.pieces, cap(state)-cap(json), len(json))}, nil
}

// cut returns n bytes of pieces, behind the first from.
func cut(pieces []piece, from, n int) (part []piece) {
	for _, p := range pieces {
		if from >= int(p.n) {
			from -= int(p.n)
			continue
		}
		length := min(int(p.n)-from, n)
		part = append(part, piece{p.off + uint32(from), uint32(length)})
		if n -= length; n == 0 {
			break
		}
		from = 0
	}
	return part
}

// json returns the bytes of a value, unchanged from its state; nil if there is no value.
func (v *view) json(of value) []byte {
	if of.none() {
		return nil
	}
	return join(v.bytes(), of.pieces)
}

// same reports whether two values are equal, or both none. The error is that b is not JSON;
// a is.
func (v *view) same(a, b value) (bool, error) {
	if slices.Equal(a.pieces, b.pieces) {
		return true, nil
	}
	return equal(v.json(a), v.json(b))
}

// spot is a place in a state: a place of the text, and the piece that it is in.
type spot struct {
	piece int
	at    uint32
}

// cursor walks a state. Its functions report false where the state ends, or is no JSON.
type cursor struct {
	*places
	text   pages
	pieces []piece
	spot
}

// find returns the value at a path. It reports false where the state is not as it has to be.
func (p *places) find(text pages, pieces []piece, path Path) (found value, ok bool) {
	if p.full() {
		p.forget()
	}
	if len(pieces) == 0 {
		return value{}, false
	}
	c := &cursor{places: p, text: text, pieces: pieces, spot: spot{0, pieces[0].off}}
	c.mark()
	from, to := spot{piece: -1}, spot{} // of the value of a member
	for i, key := range path.keys {
		there := false
		switch first, _ := c.next(); {
		case first == '{':
			to, there, ok = c.member(key)
			from = c.spot
		case first == '[':
			there, ok = c.element(indexOf(key))
		case i > 0:
			from := c.spot
			if ok = c.skip(); ok {
				_, _, err := jsontape.ParseTolerant(join(text, c.between(from, c.spot)))
				ok = err == nil
			}
		}
		if !ok || !there {
			return value{}, ok
		}
	}
	c.next()
	if from != c.spot { // else the value was gone over to find it
		if from = c.spot; !c.skip() {
			return value{}, false
		}
		to = c.spot
	}
	return value{c.between(from, to)}, true
}

// between returns the pieces from one spot to another.
func (c *cursor) between(from, to spot) []piece {
	if from.piece == to.piece {
		return []piece{{from.at, to.at - from.at}}
	}
	part := slices.Clone(c.pieces[from.piece : to.piece+1])
	part[0] = piece{from.at, part[0].end() - from.at}
	last := len(part) - 1
	if part[last].n = to.at - part[last].off; part[last].n == 0 {
		part = part[:last]
	}
	return part
}

// limit returns where the piece ends that the cursor is in.
func (c *cursor) limit() uint32 { return c.pieces[c.piece].end() }

// peek returns the byte at the cursor, which goes to the next piece if it is at the end of one.
func (c *cursor) peek() (byte, bool) {
	if c.at == c.limit() {
		if c.piece+1 == len(c.pieces) {
			return 0, false
		}
		c.piece++
		c.at = c.pieces[c.piece].off
	}
	return c.text.at(c.at), true
}

// next goes behind white space and returns the byte there.
func (c *cursor) next() (byte, bool) {
	for {
		b, ok := c.peek()
		if !ok || b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b, ok
		}
		c.at++
	}
}

// mark goes behind a byte order mark.
func (c *cursor) mark() {
	begin := c.spot
	for _, want := range byteOrderMark {
		if b, ok := c.peek(); !ok || b != want {
			c.spot = begin
			return
		}
		c.at++
	}
}

// member goes to the value of a key in the object at the cursor, and returns where that ends.
// There may be several, and the last one counts: so the object is read to its end.
func (c *cursor) member(key string) (end spot, there, ok bool) {
	var found spot
	c.at++
	for first := true; ; first = false {
		b, ok := c.next()
		switch {
		case !ok:
			return end, false, false
		case b == '}' && first:
			return end, false, true
		case b != '"':
			return end, false, false
		}
		is, ok := c.key(key)
		if !ok {
			return end, false, false
		}
		if b, ok = c.next(); !ok || b != ':' {
			return end, false, false
		}
		c.at++
		if _, ok = c.next(); !ok {
			return end, false, false
		}
		begin := c.spot
		if !c.skip() {
			return end, false, false
		}
		if is {
			found, end, there = begin, c.spot, true
		}
		switch b, ok = c.next(); {
		case ok && b == ',':
			c.at++
		case ok && b == '}':
			if there {
				c.spot = found
			}
			return end, there, true
		default:
			return end, false, false
		}
	}
}

// key goes behind the key at the cursor, and reports whether it is the one that is wanted.
func (c *cursor) key(wanted string) (is, ok bool) {
	from := c.spot
	if !c.string() {
		return false, false
	}
	if from.piece == c.piece {
		spelled := c.text.cut(from.at+1, c.at-1)
		if string(spelled) == wanted {
			return bytes.IndexByte(spelled, '\\') < 0, true
		}
		if bytes.IndexByte(spelled, '\\') < 0 && isASCII(spelled) {
			return false, true
		}
	}
	return jsontape.Unquote(join(c.text, c.between(from, c.spot))) == wanted, true
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// element moves to the element at an index of the array at the cursor; it finds nothing at -1.
func (c *cursor) element(index int) (there, ok bool) {
	if index < 0 {
		index = math.MaxInt // the array is read, but there is no such element
	}
	c.at++
	b, ok := c.next()
	if !ok || b == ']' {
		return false, ok
	}
	for ; index > 0; index-- {
		if !c.skip() {
			return false, false
		}
		index -= c.jump(index - 1)
		switch b, ok = c.next(); {
		case ok && b == ',':
			c.at++
		case ok && b == ']':
			return false, true
		default:
			return false, false
		}
		if _, ok = c.next(); !ok {
			return false, false
		}
	}
	return true, true
}

// skip goes behind the value at the cursor.
func (c *cursor) skip() bool {
	switch b, ok := c.next(); {
	case !ok:
		return false
	case b == '"':
		return c.string()
	case b != '{' && b != '[':
		return c.scalar()
	}
	if end, ok := c.end(c.text, c.at, c.limit()); ok {
		c.at = end
		return true
	}
	return c.across()
}

// across goes behind the container at the cursor, which does not end in its piece. As
// [jsontape.Skip] it looks at brackets and strings only.
func (c *cursor) across() bool {
	var open []byte // the brackets that are open
	var way trail
	behind := 0 // the piece that the way begins with
	for {
		b, ok := c.peek()
		if !ok {
			return false
		}
		switch b {
		case '"':
			if !c.string() {
				return false
			}
		case '{', '[':
			end, ok := c.end(c.text, c.at, c.limit())
			if !ok {
				open = append(open, b)
				c.at++
				continue
			}
			c.at = end
		case '}', ']':
			c.at++
			if open = open[:len(open)-1]; len(open) == 0 {
				if len(way.stops) > 0 {
					c.trail = way
				}
				return true
			}
		default:
			c.at++
			continue
		}
		if open[len(open)-1] == '[' { // behind an element
			c.jump(math.MaxInt)
			switch {
			case len(open) > 1:
			case way.pieces != nil:
				way.stop(spot{c.piece - behind, c.at})
			case c.at == c.limit() && c.piece+1 < len(c.pieces):
				behind = c.piece + 1
				way = c.trail.along(c.pieces[behind:])
				c.trail = trail{}
				if n := len(way.stops); n > 0 {
					c.spot = spot{behind + way.stops[n-1].piece, way.stops[n-1].at}
				}
			}
		}
	}
}

// trail is the way over the rest of an array that was gone over last, from a piece on that an
// element ends before: as far as the rest of another array has the same pieces, the way is the same.
type trail struct {
	pieces []piece
	// stops are places behind elements, the last one in each piece that has one.
	stops []spot
}

// stop adds a place between two elements.
func (t *trail) stop(at spot) {
	if n := len(t.stops); n > 0 && t.stops[n-1].piece == at.piece {
		t.stops[n-1] = at
		return
	}
	t.stops = append(t.stops, at)
}

// along returns the way over pieces as far as it is this one, whose stops are not for use any more.
func (t *trail) along(pieces []piece) trail {
	same := 0
	for same < len(t.pieces) && same < len(pieces) && t.pieces[same] == pieces[same] {
		same++
	}
	n := sort.Search(len(t.stops), func(i int) bool { return t.stops[i].piece >= same })
	return trail{pieces, t.stops[:n]}
}

// longString is the length from which the end of a string is remembered.
const longString = 256

// string goes behind the string at the cursor.
func (c *cursor) string() bool {
	limit := c.limit()
	if end := jsontape.StringEnd(c.text.cut(c.at, min(limit, c.at+longString)), 0); end >= 0 {
		c.at += uint32(end)
		return true
	}
	if end, ok := c.end(c.text, c.at, limit); ok {
		c.at = end
		return true
	}
	// It goes on in the next piece, maybe behind a backslash.
	escaped := false
	c.at++
	for {
		if _, ok := c.peek(); !ok {
			return false
		}
		rest := c.text.cut(c.at, c.limit())
		for i, b := range rest {
			switch {
			case escaped:
				escaped = false
			case b == '\\':
				escaped = true
			case b == '"':
				c.at += uint32(i) + 1
				return true
			}
		}
		c.at = c.limit()
	}
}

// scalar goes behind a number, or a word.
func (c *cursor) scalar() bool {
	for n := 0; ; n++ {
		b, ok := c.peek()
		if !ok || endsScalar(b) {
			return n > 0
		}
		c.at++
	}
}

func endsScalar(b byte) bool {
	switch b {
	case ' ', '\n', '\t', '\r', ',', ':', '"', '{', '}', '[', ']':
		return true
	}
	return false
}
