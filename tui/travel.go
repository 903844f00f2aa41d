package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
)

// nextError goes to the next snapshot with an error and says which one it is.
func (m *Model) nextError() {
	m.say(fmt.Sprintf("error %d of %d", m.timeline.NextFailed(), m.timeline.Failed()))
}

// beat is how long each step shows while a session is played.
const beat = 300 * time.Millisecond

// play goes through the session step by step, from the cursor on; from the end of a
// line, from the first snapshot on. Any key and any click stops it.
func (m *Model) play() tea.Cmd {
	if m.timeline.Ended() {
		m.timeline.Do(keymap.Top)
	}
	if m.timeline.Ended() {
		m.say("there is one snapshot, and nothing to play")
		return nil
	}
	m.say("playing; any key stops")
	return m.nextBeat()
}

// nextBeat waits for the next step.
func (m *Model) nextBeat() tea.Cmd {
	after := m.o.After
	return m.start(playing, "", func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		select {
		case <-after(beat):
		case <-ctx.Done():
		}
		return playedMsg{gen}
	})
}

// played takes the next step; the last one is that to the end of the line.
func (m *Model) played(msg playedMsg) tea.Cmd {
	if !m.finish(playing, msg.gen) || m.place != inSession {
		return nil
	}
	m.dirty = true
	m.timeline.Do(keymap.StepForward)
	if m.timeline.Ended() {
		m.message = message{}
		return m.follow()
	}
	return tea.Batch(m.follow(), m.nextBeat())
}

// stopPlaying reports whether a session was played, which it stops.
func (m *Model) stopPlaying() bool {
	if !m.tasks[playing].running {
		return false
	}
	m.stop(playing)
	m.message, m.dirty = message{}, true
	return true
}

// notches is in how many steps the keys move the border over the whole screen.
const notches = 20

// split moves the border between the timeline and the tabs by a number of steps.
func (m *Model) split(by int) {
	l := &m.layout
	if m.shares.zoomed {
		m.say("one pane takes all; " + keymap.Label(m.keys.Keys(keymap.Session, keymap.Zoom)) + " shows both")
		return
	}
	m.splitAt(l.tab.x+by*max(l.w/notches, 1), l.tab.y+by*max(l.list.h/notches, 1))
}

// splitAt puts the border to a cell.
func (m *Model) splitAt(x, y int) {
	m.shares = m.layout.moved(m.shares, x, y)
	m.resized(m.layout.w, m.layout.h)
}
