package jsontape

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// AppendCompact appends JSON without the white space between its values. Each
// value stays byte for byte as it is: numbers of any size, NaN, escapes, and
// bytes that are not UTF-8. The text must have been parsed; of another, what is
// outside of its strings loses its white space.
func AppendCompact(dst, text []byte) []byte {
	dst = slices.Grow(dst, len(text))
	out := dst[len(dst) : len(dst)+len(text)]
	n := 0 // bytes of out
	for i := 0; i < len(text); {
		c := text[i]
		if classes[c] == classSpace {
			i = skipSpace(text, i)
			continue
		}
		out[n] = c
		i++
		n++
		if c == '"' {
			size := copyString(out[n:], text[i:])
			i += size
			n += size
		}
	}
	return dst[:len(dst)+n]
}

// Compact is AppendCompact without a copy where nothing is left out.
func Compact(text []byte) []byte {
	for i := 0; i < len(text); {
		switch {
		case classes[text[i]] == classSpace:
			return AppendCompact(nil, text)
		case text[i] == '"':
			if i = StringEnd(text, i); i < 0 {
				return text
			}
		default:
			i++
		}
	}
	return text
}

// longString is from which byte on a string is rather searched and then copied.
const longString = 64

// copyString copies the rest of a string, closing quote included, and returns how
// many bytes that are. It looks at 16 bytes in one go, as [stringStop] does at
// eight. Behind them, it may write as much of src as dst has room for.
func copyString(dst, src []byte) int {
	dst = dst[:len(src)]
	i := 0
	for i+16 <= len(src) {
		x, y := binary.LittleEndian.Uint64(src[i:]), binary.LittleEndian.Uint64(src[i+8:])
		binary.LittleEndian.PutUint64(dst[i:], x)
		binary.LittleEndian.PutUint64(dst[i+8:], y)
		hitX := (((x ^ quotes) - ones) | ((x ^ slants) - ones)) &^ x & highs
		hitY := (((y ^ quotes) - ones) | ((y ^ slants) - ones)) &^ y & highs
		if hitX|hitY == 0 {
			if i += 16; i < longString {
				continue
			}
			end := min(closingQuote(src, i)+1, len(src))
			copy(dst[i:end], src[i:end])
			return end
		}
		inX, inY := bits.TrailingZeros64(hitX)>>3, bits.TrailingZeros64(hitY)>>3
		if inX == 8 { // nothing is there
			inX += inY
		}
		i += inX
		if src[i] == '"' {
			return i + 1
		}
		i++
		if i < len(src) {
			dst[i] = src[i]
			i++
		}
	}
	for i < len(src) {
		c := src[i]
		dst[i] = c
		i++
		if c == '"' {
			break
		}
		if c == '\\' && i < len(src) {
			dst[i] = src[i]
			i++
		}
	}
	return i
}
