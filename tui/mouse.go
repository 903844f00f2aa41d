package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
)

// notch is how many rows one turn of the wheel scrolls.
const notch = 3

// grip is the thing that the mouse drags.
type grip uint8

const (
	free       grip = iota
	onBorder        // between the timeline and the tabs
	onScrubber      // and so through the session
)

// takeMouse takes what the mouse did.
func (m *Model) takeMouse(msg tea.MouseMsg) tea.Cmd {
	m.stopPlaying()
	held := m.held
	m.held = free
	if held != free && msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionMotion {
		m.held = held
		if held == onScrubber {
			return m.scrubTo(msg.X)
		}
		m.splitAt(msg.X, msg.Y)
		return nil
	}
	switch {
	case m.layout.isTooSmall():
	case msg.Button == tea.MouseButtonWheelUp:
		return m.scrollAt(msg.X, msg.Y, -notch)
	case msg.Button == tea.MouseButtonWheelDown:
		return m.scrollAt(msg.X, msg.Y, notch)
	case msg.Button == tea.MouseButtonLeft && msg.Action == tea.MouseActionPress:
		return m.clickAt(msg.X, msg.Y)
	}
	return nil
}

// scrollAt scrolls what is under the mouse.
func (m *Model) scrollAt(x, y, n int) tea.Cmd {
	m.dirty = true
	switch {
	case m.dialog != nil:
		m.dialog.Wheel(n)
	case m.isSearching() && m.search.typed != "":
		m.search.results.Wheel(n)
	case m.isComparing():
		m.compared.pane.Wheel(n)
	case m.place == atList && m.layout.preview.holdsCell(x, y):
		m.preview.pane.Wheel(n)
	case m.place == atList:
		m.list.Wheel(n)
	case m.place == nowhere:
	case m.layout.timeline.holdsCell(x, y):
		m.timeline.Wheel(n)
		return m.followCursor()
	case m.layout.tab.holdsCell(x, y):
		m.tabs[m.current].paneInView().Wheel(n)
	}
	return nil
}

// clickAt moves the keys to the pane under the mouse, and selects there. It does nothing while a dialog or a
// field is open: keys answer those.
func (m *Model) clickAt(x, y int) tea.Cmd {
	l := &m.layout
	m.dirty = true
	switch {
	case m.dialog != nil || m.input != nil || m.place == nowhere:
	case m.isSearching():
		return m.clickInSearch(x, y)
	case m.isComparing():
		return m.clickInRuns(x, y)
	case m.place == atList && l.preview.holdsCell(x, y):
	case m.place == atList:
		in, list := l.rows.insideBorder(), m.list
		before := list.Name()
		if list.Click(x-in.x, y-in.y) && list.Name() == before {
			return m.do(keymap.Open) // the second click on the same row
		}
	case l.scrubber.holdsCell(x, y):
		m.held = onScrubber
		return m.scrubTo(x)
	case l.onBorder(x, y):
		m.held = onBorder
	case l.timeline.holdsCell(x, y):
		in := l.timeline.insideBorder()
		m.focusOn(onTimeline)
		m.timeline.Click(x-in.x, y-in.y)
		return m.followCursor()
	case l.tab.holdsCell(x, y) && y == l.tab.y:
		if i := m.tabAt(x - l.tab.x); i >= 0 {
			m.showTab(i)
		}
		return m.followCursor()
	case l.tab.holdsCell(x, y):
		m.focusOn(onTab)
		in := l.tab.insideBorder() // the focus may have moved the box
		if t := m.tabs[m.current]; t.trouble == nil && in.holdsCell(x, y) {
			t.pane.Click(x-in.x, y-in.y)
		}
	}
	return nil
}
