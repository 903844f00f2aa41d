package cell

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// This file is for lines that are drawn: whole rows of the screen, of text that
// was put and of sequences that switch colours.

// Anchor places what stands behind each doubtful character of the line dst[start:],
// which begins in the first column of the screen, by the column:
//
//	CSI 2 X   erases the cells of the character, for a terminal may draw it in fewer
//	👍🏽        the character
//	CSI 9 G   goes to the column behind it, wherever the terminal is now
//
// A line of steady characters stays as it is.
func Anchor(dst []byte, start int) []byte {
	if steadyLine(dst[start:]) {
		return dst
	}
	end := len(dst)
	col := 0
	for i := start; i < end; {
		if n := sequenceLength(dst[i:end]); n > 0 {
			dst = append(dst, dst[i:i+n]...)
			i += n
			continue
		}
		n, cells, drawn := character(dst[:end], i)
		if r, size := utf8.DecodeRune(dst[i:end]); size == n && isSteady(r) {
			dst = append(dst, dst[i:i+n]...)
			i, col = i+n, col+cells
			continue
		}
		// The spaces behind it are drawn first: they are erased where it is wider.
		spaces := 0
		for spaces < cells-drawn && i+n+spaces < end && dst[i+n+spaces] == ' ' {
			spaces++
		}
		cells = drawn + spaces
		if spaces > 0 {
			dst = appendSpaces(dst, spaces)
			dst = appendCSI(dst, col+1, 'G')
		}
		if cells > 0 {
			dst = appendCSI(dst, cells, 'X')
		}
		dst = append(dst, dst[i:i+n]...)
		i, col = i+n+spaces, col+cells
		dst = appendCSI(dst, col+1, 'G')
	}
	return append(dst[:start], dst[end:]...)
}

// Cut appends the cells of a drawn line from column from up to column to, with all
// its colours. Of a character that is cut through, spaces are left.
func Cut(dst []byte, line string, from, to int) []byte {
	col := 0
	for i := 0; i < len(line); {
		if n := sequenceLength(line[i:]); n > 0 {
			dst = append(dst, line[i:i+n]...)
			i += n
			continue
		}
		n, _, cells := character(line, i) // what it lacks stands behind it
		if in := min(col+cells, to) - max(col, from); in == cells {
			dst = append(dst, line[i:i+n]...)
		} else {
			dst = appendSpaces(dst, in)
		}
		i, col = i+n, col+cells
	}
	return dst
}

// sequenceLength returns the length of the control sequence that a line begins with, or 0.
func sequenceLength[T ~string | ~[]byte](line T) int {
	const opener = "\x1b["
	if len(line) < len(opener) || line[0] != opener[0] || line[1] != opener[1] {
		return 0
	}
	for i := len(opener); i < len(line); i++ {
		if line[i] >= '@' && line[i] <= '~' {
			return i + 1
		}
	}
	return len(line)
}

func appendCSI(dst []byte, n int, final byte) []byte {
	dst = strconv.AppendInt(append(dst, '\x1b', '['), int64(n), 10)
	return append(dst, final)
}

// steadyLine reports whether no character of a line is doubtful.
func steadyLine(line []byte) bool {
	const high = 0x8080808080808080
	for i := 0; i < len(line); {
		if line[i] < utf8.RuneSelf {
			if i+8 <= len(line) && binary.LittleEndian.Uint64(line[i:])&high == 0 {
				i += 8
			} else {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if !isSteady(r) {
			return false
		}
		i += size
	}
	return true
}

// isEven reports whether a rune that is not ASCII is printed as it is and takes one
// cell on every terminal, unless a doubtful one follows.
func isEven(r rune) bool {
	switch r {
	case 0x378, 0x379, 0x380, 0x381, 0x382, 0x383, 0x38b, 0x38d, 0x3a2: // no letters yet
		return false
	}
	return r > 0x7f && r < 0x2600 && isSteady(r)
}

// isSteady reports whether every terminal draws a rune in as many cells as UAX #29
// says, unless a doubtful one follows: the shapes that Hindcast draws with and the
// scripts that terminals have agreed on for decades. Emoji, marks and scripts whose
// letters form clusters are not among them.
func isSteady(r rune) bool {
	switch {
	case r < 0x300: // Latin
		return r < 0x7f || r >= 0xa1 && r != 0xad
	case r < 0x530: // Greek, Cyrillic
		return r >= 0x370 && (r < 0x483 || r > 0x489)
	case r < 0x2600: // punctuation, currencies, arrows, mathematics, boxes, shapes
		return r >= 0x2010 && r <= 0x2027 || r >= 0x2030 && r <= 0x205e || r >= 0x20a0 && r <= 0x20bf ||
			r >= 0x2190 && r < 0x2300 || r == 0x232b || r >= 0x2500 && r != 0x25fd && r != 0x25fe
	case r < 0x2800: // check marks
		return r == 0x2713 || r == 0x2717
	case r < 0x3100: // CJK punctuation, Kana
		return r >= 0x3001 && r <= 0x3029 || r >= 0x3041 && r <= 0x3096 || r >= 0x309b
	default: // Han, Hangul, fullwidth forms
		return r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 || r >= 0xff01 && r <= 0xff5e
	}
}
