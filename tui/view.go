package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// View implements tea.Model. Bubble Tea asks for it after every message, so the
// last frame is given again where nothing has changed.
//
// A frame is drawn by appending bytes, row by row: what it costs depends on the
// size of the screen and on nothing else.
func (m *Model) View() (frame string) {
	if !m.dirty || m.crash != nil {
		return m.frame
	}
	defer func() {
		if value := recover(); value != nil {
			// View cannot give a command, and Send waits for the caller of View.
			m.crash, frame = newPanicError(value), m.frame
			go m.leave()
		}
	}()
	m.dirty = false
	m.buf = m.appendFrame(m.buf[:0])
	m.frame = string(m.buf)
	return m.frame
}

// appendFrame draws the whole screen.
func (m *Model) appendFrame(dst []byte) []byte {
	l := &m.layout
	if l.w == 0 || l.h == 0 {
		return dst
	}
	body := m.bodyBoxes()
	for y := range l.h {
		if y > 0 {
			dst = append(dst, '\n')
		}
		start := len(dst)
		switch {
		case l.isTooSmall():
			dst = m.appendTooSmall(dst, y)
			continue
		case y == 0:
			dst = m.appendHeader(dst)
		case y == l.h-1:
			dst = m.appendFooter(dst)
		case m.place == inSession && !m.isSearching() && l.scrubber.holdsCell(0, y):
			dst = m.appendScrubber(dst)
		case m.tour != nil && y >= l.h-1-tourRows:
			dst = m.appendTour(dst, y-(l.h-1-tourRows))
		default:
			for i := range body {
				if b := &body[i]; y >= b.y && y < b.y+b.h {
					dst = m.appendBox(dst, b, y-b.y)
				}
			}
		}
		if m.dialog != nil {
			dst = m.layDialog(dst, start, y)
		}
		dst = cell.Anchor(dst, start)
	}
	return dst
}

// bodyBoxes returns the boxes between the header and the footer, from left to right.
func (m *Model) bodyBoxes() []box {
	switch {
	case m.isSearching():
		return []box{m.searchBox()}
	case m.isComparing():
		return []box{m.runsBox()}
	case m.place == atList && m.layout.preview.w > 0:
		return []box{m.listBox(), m.previewBox()}
	case m.place == atList:
		return []box{m.listBox()}
	case m.place == nowhere:
		return []box{{rect: m.layout.list, edge: m.styles.Focus, pane: m.trouble, title: m.titleOf("Store")}}
	}
	return []box{m.timelineBox(), m.tabBox()}
}

// appendTooSmall asks for a larger terminal, in lines that fit.
func (m *Model) appendTooSmall(dst []byte, y int) []byte {
	l := &m.layout
	r := cell.Begin(dst, &m.styles.Glyphs, l.w)
	text := m.styles.Glyphs.Sentence(fmt.Sprintf("Hindcast needs %d×%d cells, here are %d×%d", leastWidth, leastHeight, l.w, l.h))
	lines := cell.Wrap(text, max(l.w-1, 1), "") // Bubble Tea may clear the last cell
	if i := y - max(l.h-len(lines), 0)/2; i >= 0 && i < len(lines) {
		r.Fill(m.styles.Text, (l.w-cell.Width(lines[i]))/2)
		r.Column(m.styles.Text, lines[i], min(cell.Width(lines[i]), l.w-1))
	}
	return r.End(m.styles.Text)
}

// appendHeader appends the line that shows the open store or session, with its head and faults.
func (m *Model) appendHeader(dst []byte) []byte {
	s, g := m.styles, &m.styles.Glyphs
	r := cell.Begin(dst, g, m.layout.w)
	r.Put(s.Title, " hindcast ")
	r.Fill(s.Text, 1)
	if m.place != inSession {
		if m.place == atList && !m.alone {
			m.putHome(&r)
		} else {
			m.putStore(&r)
			m.putVersions(&r, 0)
		}
		if m.place == atList {
			m.putRecent(&r)
		}
		return r.End(s.Text)
	}
	head, standing, faults := "", m.cursorStanding(), ""
	if n := m.timeline.Timeline().Head(); n != model.NoNode {
		head = "head " + m.timeline.Timeline().Name(n)
	}
	if n := m.info.countFaults(); n > 0 {
		faults = g.Damaged + " " + model.Count(n, "fault")
	}
	if n := store.UnreadRecords(m.info.faults); n > 0 { // a fault by itself
		faults = g.Damaged + " " + model.Count(n, "record") + " unread"
		if more := m.info.countFaults() - 1; more > 0 {
			faults += ", " + model.Count(more, "fault") + " more"
		}
	}
	// A narrow screen leaves out the facts first, then the SDK, the store, whether the cursor
	// follows and the head, each of them whole. What is wrong and the session always show.
	const gap, apart, most = 2, 3, 16
	cells := func(text string, before int) int {
		if text == "" {
			return 0
		}
		return before + cell.Width(text)
	}
	right := func() int { return cells(faults, apart) + cells(head, gap) + cells(standing, gap) }
	name, into := min(most, cell.Width(m.session)), " "+g.Into+" "
	named := m.o.Tour != nil || r.Room() >= cell.Width(m.storeName())+cell.Width(into)+name+right()
	if !named && r.Room() < name+right() {
		standing = ""
	}
	if !named && r.Room() < name+right() {
		head = ""
	}
	if named {
		m.putStore(&r)
		m.putVersions(&r, cell.Width(into)+name+right())
		r.Put(s.Muted, into)
	}
	facts := ""
	for _, text := range []string{m.timeline.Status(), m.timeline.Size()} {
		if facts == "" && r.Room() >= right()+cells(text, apart)+name {
			facts = text
		}
	}
	if noun := m.countingNouns().NameSession(""); r.Room() >= right()+cells(facts, apart)+name+cells(noun, 0) {
		r.Put(s.Muted, noun)
	}
	room := max(r.Room()-right()-cells(facts, apart), 0)
	r.Column(s.Strong, cell.ShortID(m.session, room, g.Ellipsis), room)
	if facts != "" {
		r.Fill(s.Text, apart)
		r.Put(s.Text, facts)
	}
	if faults != "" {
		between := "   "
		if facts != "" {
			between = " " + g.Dot + " "
		}
		r.Put(s.Muted, between)
		r.Put(s.Error, faults)
	}
	if head != "" {
		r.Fill(s.Text, gap)
		r.Put(s.Head, head)
	}
	if standing != "" {
		r.Fill(s.Text, gap)
		r.Put(s.Key, standing)
	}
	return r.End(s.Text)
}

// countingNouns returns the words of the framework whose store is open.
func (m *Model) countingNouns() model.Nouns { return model.NounsOf(m.o.Store.Kind()) }

// putStore names what is open.
func (m *Model) putStore(r *cell.Row) {
	if m.o.Tour != nil {
		r.Put(m.styles.Badge, "DEMO")
		return
	}
	r.Put(m.styles.Muted, m.storeName())
}

// putVersions names the SDK versions that the store was opened for, and the file that states them, as far as
// there is room. rest is the number of cells to keep for later text. Without a version the store follows the
// newest SDK, and putVersions says so.
func (m *Model) putVersions(r *cell.Row, rest int) {
	var versions store.Releases
	if m.features.Assumed != nil {
		versions = m.features.Assumed()
	}
	texts := []string{versions.String(), versions.Short()}
	if m.features.SDKs != nil && len(versions) == 0 {
		texts = []string{"newest SDK", "newest"}
	}
	for _, text := range texts {
		if text != "" && cell.Width(text)+1 <= r.Room()-rest {
			r.Fill(m.styles.Text, 1)
			r.Put(m.styles.Badge, text)
			return
		}
	}
}

// storeName returns the last part of the store's path, or the store's kind; "" without a store. Before a
// session is open there is room for the path from the home folder. The stores of coding agents all end in
// "sessions" or "projects".
func (m *Model) storeName() string {
	if m.o.Store == nil {
		return ""
	}
	address := m.o.Store.Address()
	if address == "" {
		return m.o.Store.Kind()
	}
	if short := m.fromHome(address); m.place != inSession && short != address {
		return short
	}
	return filepath.Base(address)
}

// fromHome returns a path with ~ for the person's folder where it is below it.
func (m *Model) fromHome(path string) string {
	home := filepath.Clean(m.o.Getenv("HOME"))
	if rest, below := strings.CutPrefix(path, home+string(filepath.Separator)); below && len(home) > 1 {
		return filepath.Join("~", rest)
	}
	return path
}

// box is a pane in a border.
type box struct {
	rect
	edge theme.Style
	keys bool // it has the keys, and another could have them
	pane pane
	// title draws the border's upper side, from its third cell on.
	title func(*cell.Row)
	// foot is said in the lower side.
	foot string
	// from and to are the rows that the scrollbar's thumb covers.
	from, to int
}

// appendBox draws row y of a box.
func (m *Model) appendBox(dst []byte, b *box, y int) []byte {
	g := &m.styles.Glyphs
	if y > 0 && y < b.h-1 {
		dst = b.edge.Append(dst, g.Vertical)
		dst = b.pane.AppendRow(dst, y-1)
		if y-1 >= b.from && y-1 < b.to {
			return b.edge.Append(dst, g.Thumb)
		}
		return b.edge.Append(dst, g.Vertical)
	}
	r := cell.Begin(dst, g, b.w)
	if y == 0 {
		r.Put(b.edge, g.TopLeft)
		// The sign of the cursor says which box has the keys, for colour may be missing.
		if b.keys {
			r.Put(b.edge, g.Cursor)
		} else {
			r.Repeat(b.edge, g.Horizontal, 1)
		}
		b.title(&r)
		r.Repeat(b.edge, g.Horizontal, r.Room()-1)
		r.Put(b.edge, g.TopRight)
		return r.End(m.styles.Text)
	}
	foot := min(cell.Width(b.foot), b.w-6)
	r.Put(b.edge, g.BottomLeft)
	if foot > 0 {
		r.Repeat(b.edge, g.Horizontal, r.Room()-foot-4)
		r.Fill(m.styles.Text, 1)
		r.Column(m.styles.Muted, b.foot, foot)
		r.Fill(m.styles.Text, 1)
	}
	r.Repeat(b.edge, g.Horizontal, r.Room()-1)
	r.Put(b.edge, g.BottomRight)
	return r.End(m.styles.Text)
}

// hasKeys reports whether a box of a session has the keys.
func (m *Model) hasKeys(at focus) bool { return m.focus == at && m.dialog == nil }

// edgeOf returns the border of a box that has the keys, or has not.
func (m *Model) edgeOf(at focus) theme.Style {
	if m.hasKeys(at) {
		return m.styles.Focus
	}
	return m.styles.Border
}

// titleOf returns a title that says a name.
func (m *Model) titleOf(name string) func(*cell.Row) {
	return func(r *cell.Row) {
		r.Fill(m.styles.Text, 1)
		r.Put(m.styles.Title, name)
		r.Fill(m.styles.Text, 1)
	}
}

func (m *Model) timelineBox() box {
	b := box{rect: m.layout.timeline, edge: m.edgeOf(onTimeline), keys: m.hasKeys(onTimeline), pane: m.timeline, title: m.titleOf(m.timeline.Title()), foot: m.timeline.Position()}
	b.from, b.to = m.timeline.Thumb()
	if m.timeline.SelectedNode() == model.NoNode {
		if text, waits := m.awaitedText(nil); waits {
			b.pane, b.foot = waiting{nil, m.styles, b.insideBorder().w, text}, ""
		}
	}
	return b
}

func (m *Model) tabBox() box {
	t := m.tabs[m.current]
	b := box{rect: m.layout.tab, edge: m.edgeOf(onTab), keys: m.hasKeys(onTab), pane: t.paneInView(), title: m.tabTitles}
	if t.trouble == nil {
		b.foot = t.pane.Status()
		if s, ok := t.pane.(scroller); ok {
			b.from, b.to = s.Thumb()
		}
		if t.below != nil {
			b.pane = stacked{t.pane, t.below, b.insideBorder().h - t.belowH}
		}
	}
	if m.current >= namedTabs {
		return b
	}
	if text, waits := m.awaitedText(t); waits {
		was := b.pane
		if t.about == (about{}) {
			was, b.foot, b.from, b.to = nil, "", 0, 0
		} else if text != "" {
			b.foot = "of " + t.about.name
		}
		b.pane = waiting{was, m.styles, b.insideBorder().w, text}
	}
	return b
}

// stacked is a pane with another one below it, from row h on.
type stacked struct {
	pane
	below pane
	h     int
}

func (p stacked) AppendRow(dst []byte, y int) []byte {
	if y < p.h {
		return p.pane.AppendRow(dst, y)
	}
	return p.below.AppendRow(dst, y-p.h)
}

// tabTitles draws the names of the tabs. The one that shows stands in brackets,
// for colour may be missing.
func (m *Model) tabTitles(r *cell.Row) {
	edge := m.edgeOf(onTab)
	if m.current >= namedTabs {
		m.titleOf(m.tabs[m.current].pane.Title())(r)
		return
	}
	for i, name := range m.tabNames() {
		if i > 0 {
			r.Repeat(edge, m.styles.Glyphs.Horizontal, 1)
		}
		style := m.styles.Tab
		if i == m.current {
			style = m.styles.TabOn
		}
		r.Put(style, name)
	}
}

// tabNames returns the names of the tabs, with their brackets and spaces. Where they have no room, all but that of the tab
// that shows lose the spaces around them, and as many letters at the end as it takes.
func (m *Model) tabNames() []string {
	const corners = 4
	room := m.layout.tab.w - corners
	const whole = 9 // letters, more than the longest name has
	for letters := whole; ; letters-- {
		names, taken := make([]string, namedTabs), namedTabs-1
		for i, t := range m.tabs[:namedTabs] {
			switch name := t.pane.Title(); {
			case i == m.current:
				names[i] = "[" + name + "]"
			case letters == whole:
				names[i] = " " + name + " "
			default:
				names[i] = name[:min(len(name), letters)]
			}
			taken += cell.Width(names[i])
		}
		if taken <= room || letters == 1 {
			return names
		}
	}
}

// tabAt returns the tab whose name is at column x of the box, or -1.
func (m *Model) tabAt(x int) int {
	at := 2
	if m.current >= namedTabs {
		return -1
	}
	for i, name := range m.tabNames() {
		width := cell.Width(name)
		if x >= at && x < at+width {
			return i
		}
		at += width + 1
	}
	return -1
}

// blank is a pane with nothing in it but a sentence.
type blank struct {
	m    *Model
	text string
}

func (b blank) Resize(_, _ int)         {}
func (b blank) Do(_ keymap.Action) bool { return false }
func (b blank) Wheel(_ int)             {}

func (b blank) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &b.m.styles.Glyphs, b.m.layout.rows.insideBorder().w)
	if y == 1 {
		r.Fill(b.m.styles.Text, 2)
		r.Put(b.m.styles.Text, b.text)
	}
	return r.End(b.m.styles.Text)
}

// cut is a line that a dialog lies over: what shows of it on both sides, from
// the left end up to column from, and from column to on.
type cut struct {
	line        string
	from, to    int
	left, right string
}

// layDialog lays row y of the dialog over the line that starts at start. What a
// line was cut to is kept, for it seldom changes while a dialog is open.
func (m *Model) layDialog(dst []byte, start, y int) []byte {
	w, h := m.dialog.Size()
	from, top := (m.layout.w-w)/2, (m.layout.h-h)/2
	if y < top || y >= top+h {
		return dst
	}
	for len(m.cuts) <= y {
		m.cuts = append(m.cuts, cut{})
	}
	c := &m.cuts[y]
	if c.line != string(dst[start:]) || c.from != from || c.to != from+w {
		line := string(dst[start:])
		*c = cut{line, from, from + w, string(cell.Cut(nil, line, 0, from)), string(cell.Cut(nil, line, from+w, m.layout.w))}
	}
	dst = append(dst[:start], c.left...)
	dst = m.dialog.AppendRow(dst, y-top)
	return append(dst, c.right...)
}
