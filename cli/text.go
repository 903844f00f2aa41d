package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hindcast/model/printable"
)

// moment gives a time for people, in their own zone; "unknown" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.Local().Format(time.DateTime)
}

// idDigits is how much of an id a line of text shows: enough to tell the
// snapshots of a session apart, and to be given back as a prefix.
const idDigits = 8

// shortID gives the beginning of an id, safe to print.
func shortID(id string) string { return strings.TrimSuffix(clip(id, idDigits), "…") }

// clip gives the first runes of a text on one line, safe to print, with … where
// it is cut. It looks at no more of the text than it gives.
func clip[T ~string | ~[]byte](text T, most int) string {
	head := text[:min(len(text), utf8.UTFMax*most)]
	line := []rune(string(printable.Append(nil, head)))
	if len(line) <= most && len(head) == len(text) {
		return string(line)
	}
	return string(line[:min(len(line), most)]) + "…"
}

// count gives a number of things in words: "1 fault", "2 faults".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// table is rows of cells in columns that are as wide as their widest cell. The
// cells are safe to print.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the rows with two spaces between columns and none at the end of
// a line.
func (t *table) write(p *printer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		p.WriteString(strings.TrimRight(line.String(), " "))
		p.WriteByte('\n')
	}
}
