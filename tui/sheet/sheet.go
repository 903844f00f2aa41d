// Package sheet is the part that dialogs and tabs share: labelled paragraphs,
// wrapped to a width, that scroll or have a cursor.
//
// A sheet is for text that a person reads whole. It lays all of it out at once, so
// what it is given is bounded; states and timelines are drawn by panes of their own.
package sheet

import (
	"strconv"
	"strings"

	"hindcast/keymap"
	"hindcast/look"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// longest bounds the bytes of one paragraph; what is beyond is cut, and said to
// be.
const longest = 1 << 16

// longestLabel bounds the bytes of a label: more than any row shows.
const longestLabel = 1 << 9

// enoughLabel is a width that nearly all labels fit in, and mostLabelRows how many rows the
// others go on for before they are cut: more than any label of Hindcast's own needs.
const (
	enoughLabel   = 16
	mostLabelRows = 4
)

// Paragraph is a label and a text beside it. Both are wrapped, and escaped
// when they are drawn.
type Paragraph struct {
	Label     string
	LabelPick Pick
	Text      string
	Pick      Pick
	// Link is the path or the address that the text leads to; "" for plain text.
	Link string
	// Fit, where it is not nil, makes the text for a number of cells: one row, which is not
	// wrapped.
	Fit func(g *look.Glyphs, w int) string
	// Wide says that the text begins where labels do: a heading, in one row.
	Wide bool
	// Call says that the text is a call that a person copies. It is in one row, which begins where labels do if
	// that makes it fit. Else it is broken at spaces outside of quotes, and each row but the last ends in a backslash.
	Call bool
	// Most is how many rows the text takes at most; the last one then ends with an
	// ellipsis. 0 is for as many as it needs.
	Most int
}

// Sheet is a column of paragraphs. Make it with New.
type Sheet struct {
	styles     *theme.Styles
	paragraphs []Paragraph
	// selects says that a row has the cursor, rather than that text scrolls.
	selects bool
	// margin is the number of cells that stay free on both sides.
	margin int
	labels int
	w      int
	rows   []Paragraph // each fits into one row
	window cell.Window
}

// NewPage makes an empty sheet that scrolls, with a margin on both sides: one
// that fills a tab.
func NewPage(styles *theme.Styles) *Sheet { return &Sheet{styles: styles, margin: 1} }

// New makes an empty sheet that scrolls.
func New(styles *theme.Styles) *Sheet { return &Sheet{styles: styles} }

// NewList makes an empty sheet with a cursor. Its paragraphs are one row each,
// cut where they are longer.
func NewList(styles *theme.Styles) *Sheet { return &Sheet{styles: styles, selects: true} }

// Set shows other paragraphs, from the beginning. They are the sheet's from then
// on.
func (s *Sheet) Set(paragraphs []Paragraph) {
	for i := range paragraphs {
		// Before it is wrapped, for it may become longer.
		paragraphs[i].Text = s.styles.Glyphs.Sentence(paragraphs[i].Text)
		if label := paragraphs[i].Label; len(label) > longestLabel {
			paragraphs[i].Label = strings.ToValidUTF8(label[:longestLabel], "")
		}
	}
	s.paragraphs = paragraphs
	s.window.Top, s.window.Cursor = 0, 0
	s.layOutRows()
}

// Resize says how many cells there are, and lays the text out anew.
func (s *Sheet) Resize(w, h int) {
	s.window.Height = max(h, 0)
	s.w = max(w, 0)
	s.layOutRows()
}

// Len returns the number of rows that the text takes at its width.
func (s *Sheet) Len() int { return len(s.rows) }

// Cursor returns the row under the cursor of a list.
func (s *Sheet) Cursor() int { return s.window.Cursor }

// Status says which rows show, where there are more: "3-12 of 40".
func (s *Sheet) Status() string {
	from, to := s.window.Top, min(s.window.Top+s.window.Height, len(s.rows))
	if to-from >= len(s.rows) {
		return ""
	}
	return strconv.Itoa(from+1) + "-" + strconv.Itoa(to) + " of " + strconv.Itoa(len(s.rows))
}

// layOutRows wraps the paragraphs into rows.
func (s *Sheet) layOutRows() {
	s.labels = 0
	for i := range s.paragraphs {
		s.labels = max(s.labels, cell.Width(s.paragraphs[i].Label))
	}
	width := s.w - 2*s.margin
	// One long label takes more rows, rather than cells of all texts.
	s.labels = min(s.labels, max(width, 0)/2, max(width*2/5, enoughLabel))
	if s.labels > 0 {
		width -= s.labels + 2
	}
	s.rows = s.rows[:0]
	for _, p := range s.paragraphs {
		first := len(s.rows)
		s.wrapParagraph(p, max(width, 1))
		s.continueLabel(first)
	}
	s.window.Len = len(s.rows)
	s.window.Resize(s.window.Height)
}

// wrapParagraph lays one paragraph out. A short one, as most are, is one row.
func (s *Sheet) wrapParagraph(p Paragraph, width int) {
	if p.Fit != nil {
		p.Text = p.Fit(&s.styles.Glyphs, width)
		s.rows = append(s.rows, p)
		return
	}
	if s.selects || p.Wide || len(p.Text) <= width && !strings.Contains(p.Text, "\n") && cell.Width(p.Text) <= width {
		s.rows = append(s.rows, p)
		return
	}
	if p.Call {
		s.layOutCall(p, width)
		return
	}
	text := p.Text
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " (cut here)"
	}
	for n, line := range cell.Wrap(printable.Text(text), width, "/") {
		if p.Most > 0 && n >= p.Most {
			s.cutLastRow(width)
			return
		}
		p.Text = line
		s.rows = append(s.rows, p)
		p.Label = ""
	}
}

// layOutCall lays out a call that does not fit in width cells beside its label.
func (s *Sheet) layOutCall(p Paragraph, width int) {
	text := printable.Text(p.Text)
	whole := max(s.w-2*s.margin, 1)
	rows, fits := breakCall(text, width)
	if cell.Width(text) <= whole || !fits {
		rows, _ = breakCall(text, whole)
		p.Wide = true
	}
	if p.Wide && p.Label != "" {
		label := p
		label.Text, label.Wide = "", false
		s.rows = append(s.rows, label)
	}
	for _, row := range rows {
		p.Text = row
		s.rows = append(s.rows, p)
		p.Label = ""
	}
}

// breakCall breaks a call into rows of at most w cells, at spaces outside of quotes; fits is false if a word had to be
// broken. A shell joins the rows again, but for a word in single quotes that was broken.
func breakCall(text string, w int) (rows []string, fits bool) {
	const goesOn = ` \`
	row := ""
	for fits = true; ; {
		word, rest, more := cutWord(text)
		joined := strings.TrimPrefix(row+" "+word, " ")
		room := w
		if more {
			room = max(w-len(goesOn), 1)
		}
		if row != "" && cell.Width(joined) > room {
			rows, joined = append(rows, row+goesOn), word
		}
		for cell.Width(joined) > room {
			fits = false
			end := cell.Fit(joined, w-1)
			if end == 0 || end == len(joined) {
				break // the row is cut when it is drawn
			}
			rows, joined = append(rows, joined[:end]+goesOn[1:]), joined[end:]
		}
		if row, text = joined, rest; !more {
			return append(rows, row), fits
		}
	}
}

// cutWord cuts a call at its first space that is in no quotes.
func cutWord(text string) (word, rest string, more bool) {
	quote := rune(0)
	for i, c := range text {
		switch {
		case quote == 0 && c == ' ':
			return text[:i], text[i+1:], true
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return text, "", false
}

// continueLabel has the label of a paragraph, which is in its first row, go on in the rows below. It
// adds rows where the text has too few.
func (s *Sheet) continueLabel(first int) {
	p := s.rows[first]
	if s.selects || s.labels == 0 || cell.Width(p.Label) <= s.labels {
		return
	}
	lines := cell.Wrap(printable.Text(p.Label), s.labels, "/")
	if len(lines) > mostLabelRows {
		lines = append(lines[:mostLabelRows-1], strings.Join(lines[mostLabelRows-1:], " "))
	}
	for n, line := range lines {
		if first+n == len(s.rows) {
			s.rows = append(s.rows, Paragraph{})
		}
		s.rows[first+n].Label, s.rows[first+n].LabelPick = line, p.LabelPick
	}
}

// cutLastRow ends the last row with an ellipsis: there is more.
func (s *Sheet) cutLastRow(width int) {
	last, more := &s.rows[len(s.rows)-1], s.styles.Glyphs.Ellipsis
	text := strings.TrimRight(last.Text, " ") + " "
	last.Text = text[:cell.Fit(text, max(width-cell.Width(more), 0))] + more
}

// Wheel moves by n rows.
func (s *Sheet) Wheel(n int) {
	if s.selects {
		s.window.Move(n)
		return
	}
	s.window.Scroll(n)
}

// Click moves the cursor of a list to row y; it reports whether there is one.
func (s *Sheet) Click(y int) bool {
	row := s.window.Top + y
	if !s.selects || y < 0 || y >= s.window.Height || row >= len(s.rows) {
		return false
	}
	s.window.MoveTo(row)
	return true
}

// Do carries out the actions that move; it reports whether a was one.
func (s *Sheet) Do(a keymap.Action) bool {
	if s.selects {
		return s.window.Do(a)
	}
	switch n, ok := cell.Steps(a, s.window.Height); {
	case ok:
		s.window.Scroll(n)
	case a == keymap.Top:
		s.window.Scroll(-len(s.rows))
	case a == keymap.Bottom:
		s.window.Scroll(len(s.rows))
	default:
		return false
	}
	return true
}

// AppendRow appends row y of the shown rows: exactly as many cells as the sheet is wide.
func (s *Sheet) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &s.styles.Glyphs, s.w)
	i := s.window.Top + y
	if y < 0 || i >= len(s.rows) {
		return r.End(s.styles.Text)
	}
	tokens := &s.styles.Tokens
	if s.selects && i == s.window.Cursor {
		tokens = s.styles.Selected
	}
	line := &s.rows[i]
	r.Fill(tokens.Text, s.margin)
	if s.labels > 0 && !line.Wide {
		r.Column(line.LabelPick.style(tokens), line.Label, s.labels)
		r.Fill(tokens.Text, 2)
	}
	r.Put(s.styles.LinkTo(line.Link, line.Pick.style(tokens)), line.Text)
	return r.End(tokens.Text)
}
