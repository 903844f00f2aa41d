package tui

import (
	"context"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
)

// A session is played step by step from the cursor on, at a pace that keys change. The row
// below the header, the scrubber, shows meanwhile where in the session that is; a key keeps
// it there, and the mouse moves the cursor in it.

// beat is how long each step shows at the pace of 1.
const beat = 300 * time.Millisecond

// pace is how fast a session is played: 2 to its power times as fast as a beat.
type pace int8

const (
	slowest pace = -2
	fastest pace = 3
)

// stepTime returns how long each step shows.
func (p pace) stepTime() time.Duration {
	if p < 0 {
		return beat << -p
	}
	return beat >> p
}

// String returns how many times as fast as a beat it is.
func (p pace) String() string {
	times := 1.0
	for range max(p, 0) {
		times *= 2
	}
	for range max(-p, 0) {
		times /= 2
	}
	return strconv.FormatFloat(times, 'g', -1, 64) + "×"
}

// setsPace reports whether an action changes the pace, and so does not stop what is played.
func setsPace(a keymap.Action) bool { return a == keymap.Faster || a == keymap.Slower }

// playSession goes through the session step by step, from the cursor on; from the end of a
// line, from the first snapshot on. Any click stops it, and any key that does not change the
// pace.
func (m *Model) playSession() tea.Cmd {
	if m.timeline.IsAtEnd() {
		m.timeline.Do(keymap.Top)
	}
	if m.timeline.IsAtEnd() {
		m.say("there is one snapshot, and nothing to play")
		return nil
	}
	m.sayPlaying()
	cmd := m.nextBeat()
	m.resize(m.layout.w, m.layout.h)
	return cmd
}

// sayPlaying names the keys that work while a session plays.
func (m *Model) sayPlaying() {
	const brief = "playing; any key stops"
	m.say(brief)
	if keys := slices.Concat(m.keys.Keys(keymap.Timeline, keymap.Faster), m.keys.Keys(keymap.Timeline, keymap.Slower)); len(keys) > 0 {
		m.say("playing; " + keymap.Label(keys) + " set the pace, any other key stops")
		m.message.brief = []string{brief}
	}
}

// nextBeat waits for the next step.
func (m *Model) nextBeat() tea.Cmd {
	after, wait := m.o.After, m.pace.stepTime()
	return m.start(playing, "", func(ctx context.Context, _ *progress) fact {
		select {
		case <-after(wait):
		case <-ctx.Done():
		}
		return m.playStep
	})
}

// playStep takes the next step; the last one is that to the end of the line.
func (m *Model) playStep() tea.Cmd {
	if m.place != inSession {
		return nil
	}
	m.dirty = true
	m.timeline.Do(keymap.StepForward)
	if m.timeline.IsAtEnd() {
		m.message = message{}
		m.resize(m.layout.w, m.layout.h)
		return m.followCursor()
	}
	return tea.Batch(m.followCursor(), m.nextBeat())
}

// stopPlaying reports whether a session was played, which it stops.
func (m *Model) stopPlaying() bool {
	if !m.tasks[playing].running {
		return false
	}
	m.stop(playing)
	m.message = message{}
	m.resize(m.layout.w, m.layout.h)
	return true
}

// setPace plays faster or slower, from now on where a session is played.
func (m *Model) setPace(a keymap.Action) tea.Cmd {
	was := m.pace
	if a == keymap.Faster {
		m.pace = min(m.pace+1, fastest)
	} else {
		m.pace = max(m.pace-1, slowest)
	}
	if !m.tasks[playing].running {
		m.say("a session is played at " + m.pace.String())
		return nil
	}
	m.sayPlaying()
	if m.pace == was {
		return nil
	}
	return m.nextBeat()
}

// showScrubber shows the scrubber, or no longer.
func (m *Model) showScrubber() {
	m.scrubs = !m.scrubs
	m.resize(m.layout.w, m.layout.h)
}

// The cells beside the line of the scrubber: what is done, and the time of the cursor.
const (
	scrubState = len(" playing 0.25x ")
	scrubClock = len(" 15:04:05 ")
)

// scrubLine returns the first column of the scrubber's line and how many it has.
func (m *Model) scrubLine() (x, w int) {
	return scrubState, max(m.layout.w-scrubState-scrubClock, 0)
}

// appendScrubber draws the scrubber between what is done and the time of day.
func (m *Model) appendScrubber(dst []byte) []byte {
	s := m.styles
	r := cell.Begin(dst, &s.Glyphs, m.layout.w)
	x, w := m.scrubLine()
	state, style := " paused ", s.Muted
	if m.tasks[playing].running {
		state, style = " playing ", s.Strong
	}
	r.Column(style, state+m.pace.String(), x)
	m.timeline.Scrub(&r, w)
	if n := m.timeline.SelectedNode(); n != model.NoNode {
		if at := m.timeline.Timeline().Header(n).CreatedAt; !at.IsZero() {
			r.Fill(s.Text, 1)
			r.Put(s.Time, at.In(m.o.Zone).Format(time.TimeOnly))
		}
	}
	return r.End(s.Text)
}

// scrubTo moves the cursor to the snapshot in a column of the scrubber on the screen.
func (m *Model) scrubTo(column int) tea.Cmd {
	x, w := m.scrubLine()
	m.timeline.ScrubTo(column-x, w)
	m.dirty = true
	return m.followCursor()
}
