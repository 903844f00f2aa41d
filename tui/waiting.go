package tui

import (
	"github.com/charmbracelet/x/ansi"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// A tab never says that there is nothing while something is read. Until patience has
// run out it shows what it showed before, or nothing; then it says what is read, and
// what it shows of another snapshot steps back.

// awaitedText returns the text of what a tab waits for, "" within patience, and whether it
// waits at all. Where the reading was cancelled, the text says so.
func (m *Model) awaitedText(t *tab) (text string, waits bool) {
	of := &m.tasks[preparing]
	switch {
	case m.timeline.Selected() == model.NoNode:
		if of = &m.tasks[reading]; !of.running {
			return "", false
		}
	case m.wanted.ref == t.about.ref && m.wanted.with == t.about.with:
		return "", false
	case !of.running:
		return "not read", true
	}
	return m.patiently(of), true
}

// patiently returns what work goes on, "" within patience.
func (m *Model) patiently(t *task) string {
	if !t.slow {
		return ""
	}
	return t.what + " " + m.styles.Glyphs.Ellipsis
}

// waiting is a pane in which something is read, with what showed there before.
type waiting struct {
	pane   // nil where nothing showed
	styles *theme.Styles
	w      int
	// text says what is read, "" while that need not be shown.
	text string
}

func (p waiting) AppendRow(dst []byte, y int) []byte {
	if p.pane != nil && p.text == "" {
		return p.pane.AppendRow(dst, y)
	}
	start := len(dst)
	was := ""
	if p.pane != nil && y > 0 {
		dst = p.pane.AppendRow(dst, y)
		was = ansi.Strip(string(dst[start:]))
	}
	r := cell.Begin(dst[:start], &p.styles.Glyphs, p.w)
	if y == 0 {
		r.Fill(p.styles.Text, 2)
		r.Put(p.styles.Text, p.text)
	}
	r.Put(p.styles.Muted, was)
	return r.End(p.styles.Text)
}
