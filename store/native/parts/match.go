package parts

import (
	"bytes"
	"sort"
)

// Text is a text with its parts.
type Text struct {
	Bytes []byte
	Parts []Part
}

// NewText cuts a text. The text is kept, not copied.
func NewText(text []byte) *Text { return &Text{text, Split(text)} }

// partAt returns the bytes of the part at i.
func (t *Text) partAt(i int) []byte { return t.Bytes[t.partStart(i):t.Parts[i].End] }

// partStart returns where the part at i begins.
func (t *Text) partStart(i int) int {
	if i == 0 {
		return 0
	}
	return t.Parts[i-1].End
}

// Base is a state that is kept already: where a new one may find its parts.
type Base struct {
	*Text
	List []Extent
}

// Piece is a part of a new text, and where it is kept if it is.
type Piece struct {
	From, To int
	// Array says, of a new part, that it lies within an array.
	Array bool
	// At is nil for a part that is new.
	At []Extent
}

// lookahead is how many parts of a base are passed over to find one again.
const lookahead = 256

// Match finds the parts of a text in bases, the first of them preferred. A part
// that is in a base has the same bytes there, which are compared: nothing is
// hashed. may says which places can be used.
//
// The parts are looked for in their order, from behind the last one found:
// where the text has grown, that is the next. Whatever moved to the front is
// not found.
//
// The comma before an element is in the part of the element. That of an element
// whose neighbours before it went, as they do when a window slides, is not: the
// part is found in the one of the base behind its comma. Otherwise the element
// would be kept again, away from those that follow it, and each turn would cut
// the list of every later state once more.
func Match(t *Text, bases []Base, may func(Place) bool) []Piece {
	cursors := make([]cursor, len(bases))
	for i, b := range bases {
		cursors[i] = cursor{base: b, may: may}
	}
	pieces := make([]Piece, 0, len(t.Parts))
	for i, p := range t.Parts {
		piece := Piece{From: t.partStart(i), To: p.End, Array: p.Array}
		for c := range cursors {
			if piece.At = cursors[c].findPart(t.partAt(i)); piece.At != nil {
				break
			}
		}
		pieces = append(pieces, piece)
	}
	return pieces
}

// cursor is how far a base has been gone through.
type cursor struct {
	base Base
	may  func(Place) bool
	next int
	// ends are the ends of the extents of the list, made when first needed.
	ends []int64
	// given are the extents that were found, all in few allocations.
	given []Extent
}

// findPart returns where a part is kept, nil if it is not found.
func (c *cursor) findPart(part []byte) []Extent {
	for i := c.next; i < min(c.next+lookahead, len(c.base.Parts)); i++ {
		// A base's part that has one byte more than this one can only be the same
		// behind a comma.
		kept, from := c.base.partAt(i), c.base.partStart(i)
		if len(kept) == len(part)+1 && kept[0] == ',' {
			kept, from = kept[1:], from+1
		}
		if bytes.Equal(kept, part) {
			at := c.extentsOf(int64(from), int64(c.base.Parts[i].End))
			if at != nil {
				c.next = i + 1
			}
			return at
		}
	}
	return nil
}

// extentsOf returns where a run of the base lies, nil if that may not be used.
func (c *cursor) extentsOf(from, to int64) []Extent {
	if c.ends == nil {
		c.ends = make([]int64, len(c.base.List))
		end := int64(0)
		for i, e := range c.base.List {
			end += e.Len
			c.ends[i] = end
		}
	}
	start := len(c.given)
	i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > from })
	for ; from < to; i++ {
		if i == len(c.ends) {
			return nil
		}
		e := c.base.List[i]
		if !c.may(e.At) {
			return nil
		}
		skip := e.Len - (c.ends[i] - from)
		n := min(to, c.ends[i]) - from
		c.given = append(c.given, Extent{e.At + Place(skip), n})
		from += n
	}
	return c.given[start:len(c.given):len(c.given)]
}
