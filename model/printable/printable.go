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
// Two invisible runes pass where they make one picture of emoji, as they do in
// 👩‍👩‍👧 and ❤️: the zero-width joiner between two of them, and U+FE0F behind one.
package printable

import (
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks one character keeps. Living scripts
// stay below it; more only serve to paint over the neighbouring rows.
const maxMarks = 4

// maxJoined is how many emoji one character joins to its first: as many as the
// longest that Unicode recommends, a couple that kisses.
const maxJoined = 3

// Append appends s in its one-line form and returns the extended slice: a
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

// AppendFile appends s in its form for a file: newlines and tabs stay, all else is as in [Append].
func AppendFile[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendMarked(dst, s, "\n", "\t")
}

// String returns the one-line form of s.
func String(s string) string {
	if Plain(s) {
		return s
	}
	return string(Append(nil, s))
}

// Text returns the form of s for several lines.
func Text(s string) string {
	if Plain(s) {
		return s
	}
	return string(AppendText(nil, s))
}

// Part returns the beginning of s, of about so many bytes, whose form joined with that of the rest
// is the form of s: the rest begins with a visible ASCII character, which joins nothing.
func Part[T ~string | ~[]byte](s T, size int) T {
	for i := max(size, 1); i < len(s); i++ {
		if s[i] >= ' ' && s[i] <= '~' {
			return s[:i]
		}
	}
	return s
}

// Plain reports whether s is visible ASCII only: [Append] changes nothing of it.
func Plain[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// part is the set of runes that may continue the current character.
type part uint8

const (
	nothing part = iota // but combining marks
	keycap              // U+FE0F and U+20E3: a digit, #, or *
	bare                // U+FE0F, a skin tone or a joiner: an emoji
	dressed             // a skin tone or a joiner: an emoji that has one of the others
	joining             // the emoji behind a joiner, which was seen to follow
)

func appendMarked[T ~string | ~[]byte](dst []byte, s T, newline, tab string) []byte {
	var (
		base   rune // the rune that combining marks would sit on; 0 for none
		marks  int  // the marks that its character has
		joined int  // the joiners in it
		next   part
	)
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && s[i] >= ' ' && s[i] <= '~' {
			i++
		}
		if i > start {
			dst = append(dst, s[start:i]...)
			base, marks, next = rune(s[i-1]), 0, continuations(rune(s[i-1]))
			continue
		}
		r, size := decodeRune(s, i)
		is := s[i : i+size]
		i += size
		switch {
		case r == textSelector && (next == bare || next == keycap):
			next = next.dressings()
			continue // the character says the same without
		case r == emojiSelector && marks < maxMarks && (next == bare || next == keycap && enclosedAt(s, i)),
			isTone(r) && marks < maxMarks && (next == bare || next == dressed):
			dst, next = append(dst, is...), next.dressings()
			marks++
			continue
		case r == joiner && joined < maxJoined && (next == bare || next == dressed) && emojiAt(s, i):
			dst, next = append(dst, is...), joining
			joined++
			continue
		case next == joining:
			dst, base, next = append(dst, is...), r, bare
			continue
		case sitsOnBase(r) && isVisible(r) && base != 0 && marks < maxMarks:
			dst, next = append(dst, is...), nothing
			marks++
			continue
		}
		next = nothing
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
			dst, base = append(dst, '\\', 'x', lowerHex[is[0]>>4], lowerHex[is[0]&15]), 0
		case unicode.Is(unicode.Zs, r):
			dst, base = append(dst, "␣"...), 0
		case !isVisible(r):
			dst, base = appendCode(dst, r), 0
		case isTone(r):
			dst, base = appendCode(dst, r), 0
		case sitsOnBase(r):
			dst = appendCode(dst, r)
		default:
			dst, base, marks, joined, next = append(dst, is...), r, 0, 0, continuations(r)
		}
	}
	return dst
}

// isVisible reports whether a rune puts something on the screen. Letters that
// Unicode lists as ignorable (Hangul fillers, variation selectors) and the
// blank Braille pattern do not; nor do letters that only begin a character.
func isVisible(r rune) bool {
	return unicode.IsGraphic(r) &&
		!beginsCharacter(r) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) &&
		!unicode.Is(unicode.Variation_Selector, r) &&
		r != '\u2800'
}

// Sight tells which runes of a text a terminal shows, for a writer that spells the
// others in its own way. Its zero value is the beginning of a text.
type Sight struct{ marks int }

// Sees reports whether the next rune of the text puts something on the screen, and is
// not one more mark than a character keeps.
func (s *Sight) Sees(r rune) bool {
	if !sitsOnBase(r) {
		s.marks = 0
		return isVisible(r)
	}
	s.marks++
	return isVisible(r) && s.marks <= maxMarks
}

// sitsOnBase reports whether a rune is drawn on the one before it: a
// combining mark or one of the letters that count as marks where
// text is cut into characters (vowels of Thai and Lao, halfwidth voicing marks).
func sitsOnBase(r rune) bool {
	switch r {
	case 0x0e33, 0x0eb3, 0xff9e, 0xff9f:
		return true
	}
	return unicode.Is(unicode.M, r)
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

const (
	joiner        = 0x200d
	textSelector  = 0xfe0e
	emojiSelector = 0xfe0f
)

// continuations returns the runes that may continue a character that begins with r.
func continuations(r rune) part {
	switch {
	case r == '#' || r == '*' || r >= '0' && r <= '9':
		return keycap
	case unicode.Is(emoji, r):
		return bare
	}
	return nothing
}

// dressings returns the runes that may continue a character after a selector or a skin tone.
func (p part) dressings() part {
	if p == keycap {
		return nothing
	}
	return dressed
}

// isTone reports whether a rune is a skin tone.
func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// emojiAt reports whether there is an emoji at s[i:]. Runes that Unicode reserves but has not assigned do
// not count.
func emojiAt[T ~string | ~[]byte](s T, i int) bool {
	r, _ := decodeRune(s, i)
	return unicode.Is(emoji, r) && isVisible(r)
}

// enclosedAt reports whether U+20E3, which makes a key of a digit, is at s[i:].
func enclosedAt[T ~string | ~[]byte](s T, i int) bool {
	r, _ := decodeRune(s, i)
	return r == 0x20e3
}

// decodeRune returns the rune at s[i:] and its length.
func decodeRune[T ~string | ~[]byte](s T, i int) (rune, int) {
	return utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
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
