// Package prose wraps the long strings of a state for reading, a page at a
// time, so that a text of 10 MB costs no more to show than its page in sight.
//
// A Text is cut into pages of about 8 kB at places that depend on the text
// alone: at a line break or a space near every multiple of that size. A page
// can be decoded and wrapped without those before it, which makes going to the
// end and scrolling back as cheap as going on. The price is that a line may
// break at the start of a page where it need not.
package prose

import (
	"strings"
	"unicode/utf8"

	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/match"
)

const (
	// pageSize is where pages start, more or less, in bytes of JSON.
	pageSize = 8192
	// look is how far behind that a good place is looked for.
	look = 1024
	// longestRun bounds the counting of backslashes. A longer run of them is
	// taken to be of even length.
	longestRun = 4096
)

// Text is a string as it stands in JSON, between its quotes. The zero Text is
// empty. It is read-only and safe for concurrent use.
type Text struct{ raw []byte }

// Of returns the text of the string n; that of any other value is as it is
// spelled.
func Of(t *jsontape.Tape, n jsontape.Node) Text {
	raw := t.Raw(n)
	if t.Kind(n) != jsontape.String {
		return Text{raw}
	}
	raw = raw[1:]
	if !t.IsUnfinished(n) {
		raw = raw[:len(raw)-1]
	}
	return Text{raw}
}

// Len returns the length of the text in bytes of JSON.
func (x Text) Len() int { return len(x.raw) }

// Pages returns the number of pages; an empty text has one.
func (x Text) Pages() int { return max(1, (len(x.raw)+pageSize-1)/pageSize) }

// Lines returns page i, from 0, wrapped to w cells. The lines are safe to print.
// There is at least one, and an empty text has one empty line.
func (x Text) Lines(i, w int) []string {
	text := strings.ReplaceAll(x.decode(x.pageStart(i), x.pageStart(i+1)), "\r\n", "\n")
	text = printable.Text(strings.TrimSuffix(text, "\n"))
	return cell.Wrap(text, max(w, 1), "")
}

// Holds reports whether the query is in page i, or begins there.
func (x Text) Holds(i int, q match.Query) bool {
	end := x.pageStart(i + 1)
	if end < len(x.raw) {
		end = x.nextRune(min(end+look, len(x.raw)))
	}
	return q.InString(x.decode(x.pageStart(i), end))
}

// decode returns a part of the text as it reads. Without a closing quote, an
// escape that was cut at the end of the whole text is left out.
func (x Text) decode(start, end int) string {
	quoted := append(append(make([]byte, 0, end-start+1), '"'), x.raw[start:end]...)
	return jsontape.Prefix(quoted, len(quoted)).Text(0)
}

// pageStart returns where page i starts: after a line break, else after a space, else
// anywhere between two characters.
func (x Text) pageStart(i int) int {
	o := i * pageSize
	if i == 0 || o >= len(x.raw) {
		return min(o, len(x.raw))
	}
	o = x.nextRune(o)
	near := x.raw[o:min(o+look, len(x.raw))]
	space := 0
	for k := 0; k < len(near); k++ {
		switch {
		case near[k] == ' ' && space == 0:
			space = k + 1
		case near[k] != '\\':
		case k+1 < len(near) && near[k+1] == 'n':
			return o + k + 2
		default:
			k++
		}
	}
	return o + space
}

// unicodeEscape is how long the longest escape is.
const unicodeEscape = len(`\u0041`)

// nextRune returns the first place at or after o that is between two characters.
func (x Text) nextRune(o int) int {
	if x.countBackslashes(o)%2 == 1 { // the last one starts an escape
		o--
		if o+1 < len(x.raw) && x.raw[o+1] == 'u' {
			o += unicodeEscape - 2
		}
		o += 2
	} else {
		for k := max(0, o-unicodeEscape+1); k < o-1; k++ {
			if x.raw[k] == '\\' && x.raw[k+1] == 'u' && x.countBackslashes(k)%2 == 0 {
				o = k + unicodeEscape
				break
			}
		}
	}
	for o < len(x.raw) && !utf8.RuneStart(x.raw[o]) {
		o++
	}
	if x.lowSurrogate(o) {
		o += unicodeEscape
	}
	return min(o, len(x.raw))
}

// countBackslashes counts those right before o.
func (x Text) countBackslashes(o int) int {
	run := 0
	for run < longestRun && run < o && x.raw[o-1-run] == '\\' {
		run++
	}
	return run
}

// lowSurrogate reports whether the second half of a surrogate pair is at o.
func (x Text) lowSurrogate(o int) bool {
	if len(x.raw)-o < 4 || x.raw[o] != '\\' || x.raw[o+1] != 'u' {
		return false
	}
	return x.raw[o+2]|0x20 == 'd' && strings.IndexByte("cdefCDEF", x.raw[o+3]) >= 0
}
