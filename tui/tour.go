package tui

import (
	"hindcast/keymap"
	"hindcast/tui/cell"
	"hindcast/tui/timeline"
)

// tourRows is how many rows the tour takes above the footer.
const tourRows = 2

// tourHints are the keys that the tour names, the most useful first.
var tourHints = []hint{
	{[]keymap.Action{keymap.Parent, keymap.Child}, "walk"},
	{[]keymap.Action{keymap.Restore}, "put the agent back"},
	{[]keymap.Action{keymap.HideTour}, "hides"},
	{[]keymap.Action{keymap.CompareHead}, "against head"},
	{[]keymap.Action{keymap.Help}, "all keys"},
}

// appendTour draws row y of the tour: what there is to see, and the keys to try.
func (m *Model) appendTour(dst []byte, y int) []byte {
	r := cell.Begin(dst, &m.styles.Glyphs, m.layout.w)
	r.Fill(m.styles.Text, 1)
	if y == 0 {
		r.Put(m.styles.Strong, m.tour.Text)
	} else {
		m.putHints(&r, tourHints, 0)
	}
	return r.End(m.styles.Text)
}

// beginTour moves the cursor to where the tour begins.
func (m *Model) beginTour(content *timeline.Content) {
	if m.tour == nil || m.session != m.tour.Session {
		return
	}
	if n, err := content.Timeline.Resolve(m.tour.At); err == nil {
		m.timeline.Select(n)
	}
}

// endTour hides the tour.
func (m *Model) endTour() {
	m.tour = nil
	m.resize(m.layout.w, m.layout.h)
}
