package jsontape

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Eight bytes are looked at in one go: y-ones has the high bit of a byte set
// where y's byte was 0 (or at or above 0x81, which &^x takes out again, because
// x is then no ASCII there). Borrows can only spoil bytes above the first hit,
// so the lowest set bit is always right.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	quotes = '"' * ones
	slants = '\\' * ones
	spaces = ' ' * ones
)

// stringSkip returns a byte of a string, at or after i, up to which there are only characters
// that stand for themselves and simple escapes, and what those tell. It stops at the end of
// the string, at any other escape and at what is wrong, or at the end of data.
//
// Text of programs has an escape every ten bytes or so, and so in most words of eight: all of
// one word are looked at before the next is loaded. Above the first hit in a word some bytes
// are only said to be hits (see ones), so each is looked at.
func stringSkip(data []byte, i int) (at int, found escapes) {
words:
	for i+9 <= len(data) { // the last escape of a word may end behind it
		x := binary.LittleEndian.Uint64(data[i:])
		hit := ((x - spaces) | ((x ^ quotes) - ones) | ((x ^ slants) - ones)) &^ x & highs
		for hit != 0 {
			k := bits.TrailingZeros64(hit) >> 3
			switch c := data[i+k]; {
			case c == '\\' && simple[data[i+k+1]] != 0:
				found |= simple[data[i+k+1]]
				if k == 7 {
					i += 9
					continue words
				}
				hit &^= 0xffff << (8 * k)
			case c == '\\' || c == '"' || c < ' ':
				return i + k, found
			default:
				hit &^= 0xff << (8 * k)
			}
		}
		i += 8
	}
	for ; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"' || c < ' ':
			return i, found
		case c != '\\':
		case i+1 == len(data) || simple[data[i+1]] == 0:
			return i, found
		default:
			i++
			found |= simple[data[i]]
		}
	}
	return i, found
}

// closingQuote returns the position of the quote that ends the string whose first byte after the opening
// quote is i; or len(data). It looks at quotes only: one ends the string unless an odd number of
// backslashes stands before it. No byte is looked at more than twice.
func closingQuote(data []byte, i int) int {
	start := i
	for i+8 <= len(data) {
		x := binary.LittleEndian.Uint64(data[i:])
		hit := ((x ^ quotes) - ones) &^ x & highs
		if hit == 0 {
			i += 8
			if i-start < 32 {
				continue
			}
			q := bytes.IndexByte(data[i:], '"')
			if q < 0 {
				return len(data)
			}
			i += q
		} else {
			i += bits.TrailingZeros64(hit) >> 3
		}
		if !escapedAt(data, start, i) {
			return i
		}
		i++
		start = i
	}
	for ; i < len(data); i++ {
		if data[i] == '"' && !escapedAt(data, start, i) {
			return i
		}
	}
	return len(data)
}

// escapedAt reports whether an odd number of backslashes ends right before i,
// none of them before start.
func escapedAt(data []byte, start, i int) bool {
	j := i
	for j > start && data[j-1] == '\\' {
		j--
	}
	return (i-j)&1 != 0
}

// skipSpace returns the first byte at or after i that is no white space. It is
// made for line ends with an indent behind them.
func skipSpace(data []byte, i int) int {
	for i < len(data) && classes[data[i]] == classSpace {
		i++
		for i+8 <= len(data) {
			other := binary.LittleEndian.Uint64(data[i:]) ^ spaces
			if other != 0 {
				i += bits.TrailingZeros64(other) >> 3
				break
			}
			i += 8
		}
	}
	return i
}

// numberEnd returns the byte after the number that starts at i, and whether it
// follows the grammar; if not, the byte is the one that breaks it.
func numberEnd(data []byte, i int) (int, bool) {
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch {
	case i < len(data) && data[i] == '0':
		i++
	case i < len(data) && isDigit(data[i]):
		i = digitsEnd(data, i)
	default:
		return i, false
	}
	if i < len(data) && data[i] == '.' {
		end := digitsEnd(data, i+1)
		if end == i+1 {
			return end, false
		}
		i = end
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		end := digitsEnd(data, i)
		if end == i {
			return end, false
		}
		i = end
	}
	return i, true
}

func digitsEnd(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }
