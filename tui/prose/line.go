package prose

import (
	"strings"

	"hindcast/model/markup"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/theme"
)

// Line is a line of a laid out text.
type Line []Run

// Run is a stretch of a line in one ink. Its text is safe to print.
type Run struct {
	Ink  Ink
	Text string
	// Link is the place that the run leads to, as it is spelled; "" for nowhere.
	Link string
}

// Ink is the look of a run on any row.
type Ink uint8

// Plain is the ink of the text around.
const (
	Plain Ink = iota
	Heading
	Strong
	Emphasis
	StrongEmphasis
	Muted
	Punct
	Literal
	Link
	Comment
	String
	Number
	Keyword
	Name
	Added
	Removed
	Place
)

// styleOf returns the style of an ink; own is that of Plain.
func (k Ink) styleOf(t *theme.Tokens, own theme.Style) theme.Style {
	switch k {
	case Heading:
		return t.Title
	case Strong:
		return t.Strong
	case Emphasis:
		return t.Emphasis
	case StrongEmphasis:
		return t.StrongEmphasis
	case Muted, Comment:
		return t.Muted
	case Punct:
		return t.Punct
	case Literal, Keyword:
		return t.Literal
	case Link:
		return t.Link
	case String:
		return t.String
	case Number:
		return t.Number
	case Name, Place:
		return t.Name
	case Added:
		return t.Added
	case Removed:
		return t.Removed
	}
	return own
}

// String returns the text of the line.
func (l Line) String() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, run := range l {
		b.WriteString(run.Text)
	}
	return b.String()
}

// Draw draws the line in the tokens of its row. What a query finds in it is marked, also where the ink changes in
// between.
func (l Line) Draw(r *cell.Row, styles *theme.Styles, tokens *theme.Tokens, own theme.Style, q match.Query) {
	var text string
	if !q.Empty() {
		text = l.String()
	}
	at, start, end := 0, 0, 0 // the place in the text, and the next match
	for _, run := range l {
		style := styles.LinkTo(run.Link, run.Ink.styleOf(tokens, own))
		for rest := run.Text; rest != ""; {
			if at == end && !q.Empty() {
				from, to := q.Index(text[at:])
				if start, end = at+from, at+to; from < 0 {
					q = match.Query{}
				}
			}
			n, as := len(rest), style
			switch {
			case q.Empty():
			case at < start:
				n = min(n, start-at)
			default:
				n, as = min(n, end-at), tokens.Match
			}
			r.Put(as, rest[:n])
			rest, at = rest[n:], at+n
		}
	}
}

// wrapRuns wraps runs, whose texts need not be safe, to lines of at most w cells.
func wrapRuns(runs []Run, w int) (lines []Line) {
	var text strings.Builder
	safe := make([]Run, 0, len(runs))
	for _, run := range runs {
		run.Text = printable.Text(run.Text)
		text.WriteString(run.Text)
		safe = append(safe, run)
	}
	rest := text.String()
	for _, line := range cell.Wrap(rest, max(w, 1), "") {
		for !strings.HasPrefix(rest, line) { // the spaces at which a line breaks are in no line
			rest, safe = rest[1:], cutRuns(safe, 1, nil)
		}
		var l Line
		safe = cutRuns(safe, len(line), &l)
		rest = rest[len(line):]
		if space := strings.TrimLeft(rest, " "); strings.HasPrefix(space, "\n") {
			n := len(rest) - len(space) + 1
			rest, safe = rest[n:], cutRuns(safe, n, nil)
		}
		lines = append(lines, l)
	}
	return lines
}

// cutRuns returns the runs behind the first n bytes, which it adds to a line.
func cutRuns(runs []Run, n int, to *Line) []Run {
	for n > 0 {
		first := &runs[0]
		k := min(n, len(first.Text))
		if to != nil && k > 0 {
			*to = append(*to, Run{first.Ink, first.Text[:k], first.Link})
		}
		first.Text, n = first.Text[k:], n-k
		if first.Text == "" {
			runs = runs[1:]
		}
	}
	return runs
}

// inkOf returns the ink of a span.
func inkOf(s *markup.Span, own Ink) Ink {
	switch {
	case s.Style&markup.Literal != 0:
		return Literal
	case s.Link != nil:
		return Link
	case s.Style&markup.Strike != 0:
		return Muted
	case own == Heading:
		return own
	case s.Style&(markup.Strong|markup.Emphasis) == markup.Strong|markup.Emphasis, own == Strong && s.Style&markup.Emphasis != 0:
		return StrongEmphasis
	case s.Style&markup.Strong != 0:
		return Strong
	case s.Style&markup.Emphasis != 0:
		return Emphasis
	}
	return own
}
