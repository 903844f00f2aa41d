package parts

import (
	"encoding/binary"
	"math/bits"

	"hindcast/model/jsontape"
)

// How a text is cut
//
// The cuts must fall at the same places as in the previous text, whatever
// changed elsewhere, so that only changed parts are new. One pass over the text,
// with a stack of the open containers, finds them:
//
//   - A container of at most smallContainer bytes is one value and stays whole;
//     a larger one is opened, and its elements and members are cut apart, each
//     with the comma and the key before it. Whether a container is small is
//     known when it closes: the cuts inside are then taken back, so that no
//     byte is looked at twice, however deep the text is.
//   - Small members and elements share a part. The end of such a group depends
//     on its content and not on its start, so that an insertion at the front
//     does not move the following groups.
//   - A long string, longer than maxPart, is cut by a rolling hash of its bytes,
//     for the same reason.
//
// A part knows whether it lies in an array. Arrays grow by an element at a time;
// the text around them changes in place. Stored in a stream of their own,
// successive elements lie next to each other, and become one extent.
const (
	// smallContainer is the size up to which a container stays whole.
	smallContainer = 4 << 10
	// smallMember and smallElement are the sizes below which a member and an
	// element share a part with their neighbours.
	smallMember  = 256
	smallElement = 48
	// maxGroup bounds what shares a part.
	maxGroup = 1 << 10
	// maxPart is the size from which a part is cut further.
	maxPart = 64 << 10
	minCut  = 4 << 10
	// cutMask makes cuts by the rolling hash 8 KiB apart, after minCut bytes.
	cutMask = 1<<13 - 1
)

// Part is a run of a text: it goes from the end of the part before to End.
type Part struct {
	End int
	// Array says that it lies within an array.
	Array bool
}

// Split cuts a text into its parts, which together are the text again, without
// a byte between them. It takes any bytes; only on a JSON text do the cuts fall
// well. The same text is always cut in the same way.
func Split(text []byte) []Part {
	s := splitter{text: text}
	s.scanStructure()
	s.cutAt(len(text), false, false)
	for i, from := 0, 0; i < len(s.parts); i++ {
		if s.parts[i].End-from > maxPart {
			return cutLong(text, s.parts)
		}
		from = s.parts[i].End
	}
	return s.parts
}

// frame is a container that is open.
type frame struct {
	start        int
	array, inner bool // an array; a container in one
	// What there was when it was opened.
	parts, end int
	open       bool
}

type splitter struct {
	text  []byte
	parts []Part
	stack []frame
	// open says that the last part is a group that may go on.
	open bool
}

// end returns where the last part ends.
func (s *splitter) end() int {
	if len(s.parts) == 0 {
		return 0
	}
	return s.parts[len(s.parts)-1].End
}

// scanStructure looks at the structure only: what is no JSON is cut somehow.
func (s *splitter) scanStructure() {
	for i := 0; i < len(s.text); {
		switch s.text[i] {
		case '"':
			if i = jsontape.StringEnd(s.text, i); i < 0 {
				return
			}
			continue
		case '{', '[':
			s.enterGroup(i)
		case '}', ']':
			s.leaveGroup(i)
		case ',':
			if n := len(s.stack); n > 0 {
				f := &s.stack[n-1]
				s.cutAt(i, f.array || f.inner, f.array)
			}
		}
		i++
	}
}

func (s *splitter) enterGroup(i int) {
	f := frame{start: i, array: s.text[i] == '[', parts: len(s.parts), end: s.end(), open: s.open}
	if n := len(s.stack); n > 0 {
		f.inner = s.stack[n-1].array || s.stack[n-1].inner
	}
	s.stack = append(s.stack, f)
	s.cutAt(i+1, f.inner, false)
}

func (s *splitter) leaveGroup(i int) {
	n := len(s.stack) - 1
	if n < 0 {
		return
	}
	f := s.stack[n]
	s.stack = s.stack[:n]
	if i+1-f.start <= smallContainer {
		s.parts, s.open = s.parts[:f.parts], f.open
		if f.parts > 0 {
			s.parts[f.parts-1].End = f.end
		}
		return
	}
	// The last member, without the bracket that closes the container.
	s.cutAt(i, f.array || f.inner, f.array)
}

// cutAt ends a part at i, or lets the group before it go on until there.
func (s *splitter) cutAt(i int, array, element bool) {
	from := s.end()
	if i <= from {
		return
	}
	limit := smallMember
	if element {
		limit = smallElement
	}
	small := i-from < limit
	if n := len(s.parts); small && s.open && s.parts[n-1].Array == array {
		s.parts[n-1].End = i
	} else {
		s.parts = append(s.parts, Part{End: i, Array: array})
	}
	if s.open = small; small {
		n := len(s.parts)
		start := 0
		if n > 1 {
			start = s.parts[n-2].End
		}
		s.open = i-start < maxGroup && (i-start < smallMember || mixHash(s.text[from:i])&7 != 0)
	}
}

// mixHash returns a number that depends on all bytes of a small text.
func mixHash(text []byte) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(len(text)) * prime
	for ; len(text) >= 8; text = text[8:] {
		h = bits.RotateLeft64(h^binary.LittleEndian.Uint64(text), 29) * prime
	}
	for _, c := range text {
		h = bits.RotateLeft64(h^uint64(c), 29) * prime
	}
	return h ^ h>>32
}

// cutLong cuts the parts that are too long.
func cutLong(text []byte, parts []Part) []Part {
	out := make([]Part, 0, len(parts)+len(text)/minCut/2)
	from := 0
	for _, p := range parts {
		for p.End-from > maxPart {
			from += rollingCut(text[from:min(p.End, from+maxPart)])
			out = append(out, Part{End: from, Array: p.Array})
		}
		if p.End > from {
			out = append(out, p)
		}
		from = p.End
	}
	return out
}

// rollingCut returns the length of the first piece of a text, all of it if no cut
// is found.
func rollingCut(text []byte) int {
	// The hash of the last 64 bytes: older ones have been shifted out.
	var h uint64
	for i := minCut - 64; i < len(text); i++ {
		h = h<<1 + gear[text[i]]
		if i >= minCut && h>>51&cutMask == 0 {
			return i
		}
	}
	return len(text)
}

// gear gives each byte a random number, the same in every program.
var gear = func() (table [256]uint64) {
	x := uint64(0)
	for i := range table {
		// splitmix64
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		table[i] = z ^ z>>31
	}
	return table
}()
