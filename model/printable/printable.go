// Package printable makes text that came from somewhere else safe to print.
//
// States, ids, titles, file names and errors are written by models and tools.
// Printed as they are they could move the cursor, set the clipboard, turn text
// around or hide it. Every such text passes through this package exactly once,
// before it is styled, cut or padded. What is not plain visible text is
// replaced by something visible and the rest is kept: nothing is thrown away up
// to a terminator, because a terminator may never come.
//
//	ESC and the other C0 controls   ^[ ^G ^M        as in cat -v
//	DEL                             ^?
//	C1 controls, format characters  <U+009B>        bidi, zero-width, tags, …
//	unassigned and private runes    <U+E000>
//	letters that join the next one  <U+0D4E>
//	bytes that are not UTF-8        \xff
//	spaces other than U+0020        ␣
//
// The package may not know about styles, widths or terminals; it uses the
// standard library only.
package printable

import (
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks one character keeps. Living scripts
// stay below it; more only serve to paint over the neighbouring rows.
const maxMarks = 4

// Append appends s in its one-line form and gives the extended slice: a
// newline becomes ↵ and a tab ⇥. The result has no control character, no
// invisible rune and no invalid UTF-8, and is at most four times as long as s.
func Append[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendMarked(dst, s, "↵", "⇥")
}

// AppendText appends s in its form for several lines: newlines stay, a tab
// becomes four spaces, all else is as in [Append].
func AppendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendMarked(dst, s, "\n", "    ")
}

// String gives the one-line form of s.
func String(s string) string {
	if plain(s) {
		return s
	}
	return string(Append(nil, s))
}

// Text gives the form of s for several lines.
func Text(s string) string {
	if plain(s) {
		return s
	}
	return string(AppendText(nil, s))
}

// plain reports whether s is visible ASCII only.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func appendMarked[T ~string | ~[]byte](dst []byte, s T, newline, tab string) []byte {
	var base rune // the rune that combining marks would sit on; 0 for none
	marks := 0    // the marks that it has
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && s[i] >= ' ' && s[i] <= '~' {
			i++
		}
		if i > start {
			dst = append(dst, s[start:i]...)
			base, marks = rune(s[i-1]), 0
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == '\n':
			dst, base = append(dst, newline...), 0
		case r == '\t':
			dst, base = append(dst, tab...), 0
		case r < ' ':
			dst, base = append(dst, '^', byte(r)+'@'), 0
		case r == 0x7f:
			dst, base = append(dst, "^?"...), 0
		case r == utf8.RuneError && size == 1:
			dst, base = append(dst, '\\', 'x', lowerHex[s[i]>>4], lowerHex[s[i]&15]), 0
		case unicode.Is(unicode.Zs, r):
			dst, base = append(dst, "␣"...), 0
		case asksForPicture(r) && marks == 0 && hasPicture(base):
			marks++ // terminals disagree on the width, and the character says the same
		case !visible(r):
			dst, base = appendCode(dst, r), 0
		case !sitsOnBase(r):
			dst, base, marks = append(dst, s[i:i+size]...), r, 0
		case base != 0 && marks < maxMarks:
			dst = append(dst, s[i:i+size]...)
			marks++
		default:
			dst = appendCode(dst, r)
		}
		i += size
	}
	return dst
}

// visible reports whether a rune puts something on the screen. Letters that
// Unicode lists as ignorable (Hangul fillers, variation selectors) and the
// blank Braille pattern do not; nor do letters that only begin a character.
func visible(r rune) bool {
	return unicode.IsGraphic(r) &&
		!beginsCharacter(r) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) &&
		!unicode.Is(unicode.Variation_Selector, r) &&
		r != '\u2800'
}

// sitsOnBase reports whether a rune is drawn on the one before it: a
// combining mark, a skin tone, or one of the letters that count as marks where
// text is cut into characters (vowels of Thai and Lao, halfwidth voicing marks).
func sitsOnBase(r rune) bool {
	switch r {
	case 0x0e33, 0x0eb3, 0xff9e, 0xff9f:
		return true
	}
	return unicode.Is(unicode.M, r) || r >= 0x1f3fb && r <= 0x1f3ff
}

// beginsCharacter reports whether a rune is one of the few letters that make
// one character with whatever follows, which may be a border of ours: those
// that Unicode's GraphemeBreakProperty.txt calls Prepend, format characters
// apart.
func beginsCharacter(r rune) bool {
	switch r {
	case 0x0d4e, 0x111c2, 0x111c3, 0x1193f, 0x11941, 0x11a84, 0x11a85, 0x11a86, 0x11a87, 0x11a88, 0x11a89, 0x11d46, 0x11f02:
		return true
	}
	return false
}

// asksForPicture reports whether r is the variation selector for text (U+FE0E)
// or for emoji (U+FE0F) presentation.
func asksForPicture(r rune) bool { return r == 0xfe0e || r == 0xfe0f }

// hasPicture reports whether a rune may be drawn as text and as emoji: symbols,
// and the few others of Unicode's emoji-variation-sequences.txt.
func hasPicture(r rune) bool {
	switch r {
	case '#', '*', '‼', '⁉', 'ℹ', '〰':
		return true
	}
	return r >= '0' && r <= '9' || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r)
}

const (
	lowerHex = "0123456789abcdef"
	upperHex = "0123456789ABCDEF"
)

// appendCode writes a rune by its number, with at least four digits.
func appendCode(dst []byte, r rune) []byte {
	dst = append(dst, "<U+"...)
	digits := 4
	for r>>(4*digits) != 0 {
		digits++
	}
	for digits > 0 {
		digits--
		dst = append(dst, upperHex[r>>(4*digits)&15])
	}
	return append(dst, '>')
}
