package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"hindcast/model/printable"
)

// Terminals disagree on the cells that a character takes. Some count as UAX #29
// does, a character at a time; others as wcwidth does, a rune at a time:
//
//	         UAX #29   wcwidth   here
//	👍🏽           2         4      2      what is beside an emoji may cover a part of it
//	❤️           2         1      2
//	ทำ           1         2      2      but no letter is ever covered
//	বাং          1         2      2
//	日           2         2      2      steady
//
// A character gets the cells that its letters take when they are counted one by
// one. Where Unicode counts fewer, spaces behind it make up for the difference, so
// that a row is as wide as counted on either terminal. [Anchor] then
// places what follows such a character by the column.

const (
	// clusterBytes bounds the bytes of one character on the screen: more than
	// printable leaves of any emoji. Longer ones are taken apart.
	clusterBytes = 44
	// cellBytes bounds the bytes of a row that are looked at for each cell: an
	// emoji takes two.
	cellBytes = clusterBytes / 2
)

// fit returns the number of bytes of escaped text that fit into w cells, and the number of their cells. spare
// counts the cells among them that spaces must still fill.
func fit[T string | []byte](text T, w int) (end, used, spare int) {
	for end < len(text) {
		n, cells, drawn := character(text, end)
		if used+cells > w {
			break
		}
		end += n
		used += cells
		spare += cells - drawn
	}
	return end, used, spare
}

// character returns the length of the character at text[i:], the cells that a row
// has for it, and the cells that UAX #29 says it is drawn in.
func character[T string | []byte](text T, i int) (n, cells, drawn int) {
	if text[i] < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
		return 1, 1, 1
	}
	c, drawn := ansi.FirstGraphemeCluster(text[i:], ansi.GraphemeWidth)
	if len(c) > clusterBytes {
		// A part of it that does not depend on where the row is cut behind it.
		part, _ := cutBytes(c, clusterBytes)
		c, drawn = ansi.FirstGraphemeCluster(part, ansi.GraphemeWidth)
	}
	if len(c) <= utf8.UTFMax && utf8.RuneCountInString(string(c)) == 1 {
		return len(c), drawn, drawn
	}
	letters := 0
	for _, r := range string(c) {
		if unicode.IsLetter(r) && !isJamoVowel(r) || unicode.Is(unicode.Mc, r) {
			_, width := ansi.FirstGraphemeCluster(string(r), ansi.GraphemeWidth)
			letters += width
		}
	}
	return len(c), max(drawn, letters), drawn
}

// isJamoVowel reports whether a rune is a letter that wcwidth counts as none: a
// vowel or a final consonant of Hangul, which is drawn in the cells of the first.
func isJamoVowel(r rune) bool { return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff }

// addSpaces adds the spaces that the characters of dst[start:] lack.
func addSpaces(dst []byte, start int) []byte {
	end := len(dst)
	for i := start; i < end; {
		n, cells, drawn := character(dst[:end], i)
		dst = append(dst, dst[i:i+n]...)
		dst = appendSpaces(dst, cells-drawn)
		i += n
	}
	return append(dst[:start], dst[end:]...)
}

func appendSpaces(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// Width returns the number of cells that short text takes when it is put.
func Width(text string) int {
	if n := plainPrefix(text, len(text)); n == len(text) {
		return n
	}
	escaped := printable.Append(nil, text)
	_, used, _ := fit(escaped, len(escaped))
	return used
}

// Fit returns how many bytes of escaped text take up at most w cells.
func Fit(text string, w int) int {
	end, _, _ := fit(text, w)
	return end
}

// Wrap wraps escaped text to lines of at most w cells; a character that is wider is
// a line of its own. Lines break at spaces, which are then in no line, and behind hyphens and the
// characters in breaks.
func Wrap(text string, w int, breaks string) (lines []string) {
	breaks += " -"
	for rest := range strings.SplitSeq(text, "\n") {
		for {
			end := Fit(rest, w)
			if end == len(rest) {
				break
			}
			if end == 0 {
				end, _, _ = character(rest, 0)
			}
			if rest[end:] == "" {
				break
			}
			if rest[end] != ' ' {
				if at := strings.LastIndexAny(rest[:end], breaks); at >= 0 && strings.Trim(rest[:at+1], " ") != "" {
					_, n := utf8.DecodeRuneInString(rest[at:])
					end = at + n
				}
			}
			lines = append(lines, strings.TrimRight(rest[:end], " "))
			rest = strings.TrimLeft(rest[end:], " ")
		}
		lines = append(lines, rest)
	}
	return lines
}
