package tui

import (
	"fmt"
	"strings"
	"sync/atomic"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
)

// progress is how far work is. The command counts what is done; the screen reads it.
type progress struct {
	atomic.Int64
	// of is how much there is to do, 0 where that is not known.
	of atomic.Int64
}

const (
	// leastProgress is the part of the last line that progress takes at the least, and
	// where there is room for two boxes side by side; on a wide screen it takes a third.
	leastProgress, wideProgress = 34, 48
	// leastBar and mostBar bound the cells of the bar.
	leastBar, mostBar = 5, 20
	// leastWork is how many cells the name of the work keeps beside a bar.
	leastWork = 7
)

// putProgress draws the keys, as many as there is room for, and at the right the work
// that goes on: "reading basic ━━━━╸──── 21,536 of 50,000 · esc". A bar needs a total.
func (m *Model) putProgress(r *cell.Row, t *task) {
	s, g := m.styles, &m.styles.Glyphs
	done, of := t.done.Load(), t.done.of.Load()
	count := ""
	if done > 0 {
		count = model.Thousands(done)
	}
	known := of > 0 && done <= of
	if known {
		whole := model.Thousands(of)
		count = fmt.Sprintf("%*s of %s", len(whole), model.Thousands(done), whole) // so that nothing moves
	}
	leave := ""
	if keys := m.keys.Keys(keymap.Session, keymap.Back); t != &m.tasks[applying] && len(keys) > 0 {
		leave = keymap.Label(keys[len(keys)-1:])
	}
	if count != "" {
		count = " " + count
	}
	tail := cell.Width(count)
	if leave != "" {
		tail += 1 + cell.Width(g.Dot) + 1 + cell.Width(leave)
	}
	room := max(m.layout.w/3, leastProgress)
	if m.layout.isSideBySide() {
		room = max(room, wideProgress)
	}
	hints, _ := m.footerHints()
	if m.dialog != nil {
		hints = nil // it says itself what answers it
	}
	most := r.Room() - 1
	if len(hints) > 0 {
		most -= m.hintWidth(hints[0])
	}
	if !known { // a name that is no more than that is cut last
		room = max(room, cell.Width(t.what)+cell.Width(g.Spinner[0])+1+tail)
	}
	room = min(room, most)
	text := room - tail // cells of the work's name
	bar := 0
	if known {
		bar = min(text-1-min(cell.Width(t.what), max(text*2/3, leastWork)), mostBar)
		if bar < leastBar {
			bar = 0
		} else {
			text -= bar + 1
		}
	}
	spin := ""
	if bar == 0 {
		spin = g.Spinner[m.spin%len(g.Spinner)] + " "
		text -= cell.Width(spin)
	}
	text = max(min(text, cell.Width(t.what)), 0)
	width := cell.Width(spin) + text + tail
	if bar > 0 {
		width += bar + 1
	}
	m.putHints(r, hints, width+1)
	r.Fill(s.Text, r.Room()-width-1)
	r.Put(s.Key, spin)
	r.Column(s.Text, t.what, text)
	if bar > 0 {
		r.Fill(s.Text, 1)
		m.putBar(r, bar, done, of)
	}
	r.Put(s.Text, count)
	if leave != "" {
		r.Put(s.Muted, " "+g.Dot+" ")
		r.Put(s.Key, leave)
	}
}

// putBar draws how much of a whole is done, in w cells.
func (m *Model) putBar(r *cell.Row, w int, done, of int64) {
	s, b := m.styles, &m.styles.Glyphs.Bar
	w -= cell.Width(b.Left) + cell.Width(b.Right)
	halves := int(int64(2*w) * done / of)
	r.Put(s.Muted, b.Left)
	r.Put(s.Key, strings.Repeat(b.Full, halves/2))
	if halves%2 == 1 {
		r.Put(s.Key, b.Half)
	}
	r.Put(s.Muted, strings.Repeat(b.Empty, w-(halves+1)/2))
	r.Put(s.Muted, b.Right)
}
