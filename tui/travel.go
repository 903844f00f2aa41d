package tui

import (
	"fmt"

	"hindcast/keymap"
)

// nextError goes to the next snapshot with an error and says which one it is.
func (m *Model) nextError() {
	m.say(fmt.Sprintf("error %d of %d", m.timeline.NextFailed(), m.timeline.CountFailed()))
}

// notches is in how many steps the keys move the border over the whole screen.
const notches = 20

// moveSplit moves the border between the timeline and the tabs by a number of steps.
func (m *Model) moveSplit(by int) {
	l := &m.layout
	if m.shares.zoomed {
		m.say("one pane takes all; " + keymap.Label(m.keys.Keys(keymap.Session, keymap.Zoom)) + " shows both")
		return
	}
	m.splitAt(l.tab.x+by*max(l.w/notches, 1), l.tab.y+by*max(l.list.h/notches, 1))
}

// splitAt puts the border to a cell.
func (m *Model) splitAt(x, y int) {
	m.shares = m.layout.moveBorder(m.shares, x, y)
	m.resize(m.layout.w, m.layout.h)
}
