// Package needle finds a text in large ones as fast as their bytes are read.
package needle

import (
	"bytes"
	"strings"
)

// How a text is found
//
// The two bytes of the text that are rarest in most texts are looked for at once, each in both cases. Where both stand, the text is
// compared:
//
//	needle  f r o b n i c a t e
//	        ^     ^ rarest, and beside it the next rarest
//	text    …of a robot that can frobnicate…
//
// Processors of amd64 look at 32 places at a time.

// Needle is a text to look for. The zero Needle is the empty text. It never changes, and is safe for concurrent use.
type Needle struct {
	text []byte
	fold bool
	// rarest and beside are the places of the two bytes that are rarest in most texts, which may be one place.
	rarest, beside int
	pair
}

// pair holds the two bytes of a needle to look for, and their capitals, or the bytes again.
type pair struct{ lower, upper, lowerBeside, upperBeside byte }

// New returns the needle that is a text, which is kept. With fold the text is in lower case, and its letters of ASCII match those of
// either case.
func New(text []byte, fold bool) Needle {
	n := Needle{text: text, fold: fold}
	if len(text) > 0 {
		n.rarest, n.beside = rarestTwo(text)
		n.lower, n.upper = bothCases(text[n.rarest], fold)
		n.lowerBeside, n.upperBeside = bothCases(text[n.beside], fold)
	}
	return n
}

// Text returns the text, as it was given.
func (n *Needle) Text() []byte { return n.text }

// Index returns the offset of the needle's next place in a text, from an offset on, -1 if no more follows.
func (n *Needle) Index(text []byte, from int) int {
	if len(n.text) == 0 {
		return from
	}
	for places := len(text) - len(n.text) + 1; from < places; from++ {
		at := n.indexPair(text[from+n.rarest:places+n.rarest], text[from+n.beside:places+n.beside])
		if at < 0 {
			return -1
		}
		from += at
		if part := text[from : from+len(n.text)]; n.fold && foldEqual(part, n.text) || !n.fold && bytes.Equal(part, n.text) {
			return from
		}
	}
	return -1
}

// lookedBack is how much of the end of a text is searched for the last place at first.
const lookedBack = 512

// LastIndex returns the offset of the needle's last place in a text, -1 without one. It looks at little more of the text than is
// behind that place.
func (n *Needle) LastIndex(text []byte) int {
	for end, size := len(text), lookedBack; end > 0; size *= 2 {
		from, last := max(0, end-size), -1
		part := text[from:min(len(text), end+len(n.text)-1)]
		for at := n.Index(part, 0); at >= 0 && at < len(part); at = n.Index(part, at+1) {
			last = at
		}
		if last >= 0 {
			return from + last
		}
		end = from
	}
	return -1
}

// rare has the bytes of English and JSON, the frequent ones first.
const rare = " etaoinsrhld\"\\cu,mfp:gwyb.v{}[]0123456789_-/kxjqz"

// pairAtOnce is how much of a text is searched for one case of a letter before the other one.
const pairAtOnce = 4 << 10

// indexEach returns the first offset at which two texts of one length have the bytes of a pair, -1 without one. It looks for
// one byte at a time.
func (p *pair) indexEach(text, beside []byte) int {
	for at := 0; at < len(text); {
		end := min(at+pairAtOnce, len(text))
		lower, upper := at-1, at-1
		if p.upper == p.lower {
			upper = end
		}
		for ; at < end; at++ {
			if lower < at {
				lower = indexIn(text, at, end, p.lower)
			}
			if upper < at {
				upper = indexIn(text, at, end, p.upper)
			}
			if at = min(lower, upper); at == end {
				break
			}
			if b := beside[at]; b == p.lowerBeside || b == p.upperBeside {
				return at
			}
		}
	}
	return -1
}

// rarestTwo returns the places of the two bytes of a needle that are rarest in most texts, which may be one place.
func rarestTwo(needle []byte) (rarest, next int) {
	best, second := -1, -1
	for i, b := range needle {
		rank := strings.IndexByte(rare, b)
		if rank < 0 {
			rank = len(rare)
		}
		switch {
		case rank > best:
			rarest, next, best, second = i, rarest, rank, best
		case rank > second:
			next, second = i, rank
		}
	}
	return rarest, next
}

// bothCases returns a byte and, where a small letter folds, its capital letter, else the byte again.
func bothCases(b byte, fold bool) (lower, upper byte) {
	if fold && 'a' <= b && b <= 'z' {
		return b, b - ('a' - 'A')
	}
	return b, b
}

// indexIn returns the place of a byte in text[from:end], or end.
func indexIn(text []byte, from, end int, b byte) int {
	if n := bytes.IndexByte(text[from:end], b); n >= 0 {
		return from + n
	}
	return end
}

// foldEqual reports whether a text is one in lower case but for the case of ASCII letters.
func foldEqual(text, lower []byte) bool {
	for i, b := range text {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}
