package tui

import (
	"github.com/charmbracelet/x/ansi"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// A tab never says "nothing" while something is read. Within patience it keeps its old content. Then it names
// the work, and dims the content of another snapshot.

// awaitedText returns the text for a tab that waits, "" within patience, and whether the tab waits at all.
// The text tells when the reading was cancelled.
func (m *Model) awaitedText(t *tab) (text string, waits bool) {
	of := &m.tasks[preparing]
	switch {
	case m.timeline.SelectedNode() == model.NoNode:
		if of = &m.tasks[reading]; !of.running {
			return "", false
		}
	case m.wanted.ref == t.about.ref && m.wanted.with == t.about.with:
		return "", false
	case !of.running:
		return "not read", true
	}
	return m.workName(of), true
}

// workName returns the name of running work, "" within patience.
func (m *Model) workName(t *task) string {
	if !t.slow {
		return ""
	}
	return t.what + " " + m.styles.Glyphs.Ellipsis
}

// waiting is a pane whose content is being read; it goes on showing the old content.
type waiting struct {
	pane   // nil where nothing showed
	styles *theme.Styles
	w      int
	// text names the work, "" while it need not show.
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
