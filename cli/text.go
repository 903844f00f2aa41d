package cli

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"hindcast/model"
	"hindcast/model/printable"
)

// formatMoment formats a time for people, in their own zone; the zero time is "unknown".
func formatMoment(t time.Time) string { return string(appendMoment(nil, t)) }

// appendMoment appends what moment returns to dst.
func appendMoment(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "unknown"...)
	}
	return t.Local().AppendFormat(dst, time.DateTime)
}

// idDigits is how much of an id a line of text shows: enough to tell the
// snapshots of a session apart, and to be given back.
const idDigits = 8

// shortID returns the part of an id that tells it from others, safe to print.
func shortID(id string) string {
	head, _ := headOf(model.ShortID(id, idDigits), idDigits)
	return head
}

// headOf returns the first runes of a text on one line, safe to print, and
// whether that is all of it. It looks at no more of the text than it returns.
func headOf[T ~string | ~[]byte](text T, most int) (head string, whole bool) {
	seen := text[:min(len(text), utf8.UTFMax*most)]
	if printable.Plain(seen) { // each byte is a rune
		return string(seen[:min(len(seen), most)]), len(text) <= most
	}
	line := []rune(string(printable.Append(nil, seen)))
	if len(line) <= most {
		return string(line), len(seen) == len(text)
	}
	return string(line[:most]), false
}

// clipText returns the first runes of a text on one line, safe to print, with an
// ellipsis where it is cut.
func clipText(text string, most int, ellipsis string) string {
	head, whole := headOf(text, most)
	if !whole {
		head += ellipsis
	}
	return head
}

// clipLine returns the first runes of a text on one line, safe to print. It is cut on a
// terminal only.
func (p *printer) clipLine(text string, most int) string {
	if p.width == 0 {
		return printable.String(text)
	}
	return clipText(text, most, p.glyphs.Ellipsis)
}

// fitLine cuts a line that is safe to print to the rest of the terminal's width behind some
// cells. There is always room for leastFit.
func (p *printer) fitLine(line string, behind int) string {
	if p.width == 0 {
		return line
	}
	cut := displaywidth.TruncateString(line, max(p.width-behind, leastFit), p.glyphs.Ellipsis)
	if rest := strings.TrimSuffix(cut, p.glyphs.Ellipsis); cut != line && strings.HasSuffix(rest, p.glyphs.Ellipsis) {
		return rest // it was cut there before
	}
	return cut
}

// fitName returns a name that is safe to print. On a terminal it has a number of cells
// at most: a longer one loses its middle, as names may begin alike.
func (p *printer) fitName(name string, most int) string {
	if p.width == 0 || displaywidth.String(name) <= most {
		return name
	}
	end := ""
	for i := range name { // the longest end that has a third of the cells
		if displaywidth.String(name[i:]) <= most/3 {
			end = name[i:]
			break
		}
	}
	return displaywidth.TruncateString(name, most-displaywidth.String(end), p.glyphs.Ellipsis) + end
}

// leastFit is how many cells a line has in any case behind what precedes it.
const leastFit = 16

// padRight fills a text that is safe to print up to a number of cells.
func padRight(text string, cells int) string {
	return string(appendPadded(nil, text, cells))
}

// appendPadded appends what padded returns to dst.
func appendPadded(dst []byte, text string, cells int) []byte {
	return append(append(dst, text...), spaces(cells-displaywidth.String(text))...)
}

// spaces returns n spaces, none for fewer than one.
func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// table is rows of cells in columns that are as wide as their widest cell. The
// cells are safe to print.
type table struct {
	rows [][]string
	// numbers says that all columns but the first hold numbers, which stand on the right.
	numbers bool
}

func (t *table) addRow(cells ...string) { t.rows = append(t.rows, cells) }

// dropEmpty drops the columns in which no row but the first, the headings, has
// something besides zero.
func (t *table) dropEmpty() {
	for i := len(t.rows[0]) - 1; i >= 0; i-- {
		if slices.ContainsFunc(t.rows[1:], func(row []string) bool { return row[i] != "" && row[i] != "0" }) {
			continue
		}
		for k := range t.rows {
			t.rows[k] = slices.Delete(t.rows[k], i, i+1)
		}
	}
}

// dropWide drops columns until the rows fit a width, in the order of sparedHeads, and returns the headings of the columns
// that it dropped. Before that the first column is cut to some cells.
func (t *table) dropWide(width, first int) (dropped []string) {
	for _, head := range sparedHeads {
		over := -width
		for i := range t.rows[0] {
			widest := 0
			for _, row := range t.rows {
				widest = max(widest, displaywidth.String(row[i]))
			}
			if i == 0 {
				over += min(widest, first)
			} else {
				over += 2 + widest
			}
		}
		i := slices.Index(t.rows[0], head)
		if width == 0 || over <= 0 {
			return dropped
		} else if i < 0 {
			continue
		}
		for k := range t.rows {
			t.rows[k] = slices.Delete(t.rows[k], i, i+1)
		}
		dropped = append(dropped, head)
	}
	return dropped
}

// writeTable writes the rows with two spaces between columns and none at the end of
// a line. On a terminal the last column takes what is left of its width; where that
// is too little, the widest of the others, which has names, is cut.
func (t *table) writeTable(p *printer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	if last := len(widths) - 1; p.width > 0 && last > 0 {
		over := min(widths[last], leastFit) - p.width
		widest := 0
		for i, width := range widths[:last] {
			over += width + 2
			if width > widths[widest] {
				widest = i
			}
		}
		if over > 0 {
			widths[widest] = max(widths[widest]-over, min(widths[widest], leastFit))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		behind := 0
		for i, cell := range row {
			if i == len(row)-1 {
				cell = p.fitLine(cell, behind)
			} else {
				cell = p.fitName(cell, widths[i])
			}
			if cell = padRight(cell, widths[i]); t.numbers && i > 0 {
				text := strings.TrimRight(cell, " ")
				cell = cell[len(text):] + text
			}
			line.WriteString(cell + "  ")
			behind += widths[i] + 2
		}
		p.WriteString(strings.TrimRight(line.String(), " "))
		p.WriteByte('\n')
	}
}

// shellWord returns a name as a word of a command line that can be copied to a shell.
func shellWord(name string) string {
	name = printable.String(name)
	if name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+=,", r))
	}) < 0 && name[0] != '-' {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
