package tui

import (
	"hindcast/keymap"
	"hindcast/tui/cell"
)

// appendFooter draws the last line: the typed text, else the progress of work, else the useful keys. The
// message stands at the right.
func (m *Model) appendFooter(dst []byte) []byte {
	s, g := m.styles, &m.styles.Glyphs
	r := cell.Begin(dst, g, m.layout.w)
	r.Fill(s.Text, 1)
	switch t := m.slowestTask(); {
	case m.input != nil:
		r.Put(s.Key, m.input.label)
		m.input.Draw(&r)
		m.putFieldHelp(&r)
	case t != nil:
		m.putProgress(&r, t)
	case m.message.text != "":
		m.putMessage(&r)
	case m.dialog != nil: // it says itself what answers it
	default:
		hints, out := m.footerHints()
		m.putHints(&r, hints, m.hintWidth(hint{[]keymap.Action{keymap.Back}, out}))
		m.putWayOut(&r, out)
	}
	return r.End(s.Text)
}

// putFieldHelp draws the key of the help of the field at the right, until something is typed.
func (m *Model) putFieldHelp(r *cell.Row) {
	const does = " what can be typed"
	key := keymap.Label(m.keys.Keys(keymap.Browse, keymap.Help))
	width := cell.Width(key+does) + 1
	if key == "" || !m.input.IsUntouched() || r.Room() < width+apart {
		return
	}
	r.Fill(m.styles.Text, r.Room()-width)
	r.Put(m.styles.Key, key)
	r.Put(m.styles.KeyHelp, does)
}

// apart are the cells between two keys, and between the keys and a message.
const apart = 3

// putMessage draws the keys, as many as there is room for, and the message at the
// right. A message that does not fit beside the most useful key is cut, and all of it
// is behind a key.
func (m *Model) putMessage(r *cell.Row) {
	hints, _ := m.footerHints()
	if m.dialog != nil {
		hints = nil // it says itself what answers it
	}
	room, all := r.Room()-1, hint{[]keymap.Action{keymap.Details}, "all of it"}
	if m.message.about != "" {
		all.text = "shows it"
	}
	if len(hints) > 0 {
		room -= m.hintWidth(hints[0])
	}
	text := m.message.text
	for _, less := range m.message.brief {
		if cell.Width(text) > room {
			text = less
		}
	}
	more := 0
	if m.message.whole != "" || cell.Width(text) > room {
		more = m.hintWidth(all)
	}
	width := min(cell.Width(text), room-more)
	m.putHints(r, hints, width+more+1)
	r.Fill(m.styles.Text, r.Room()-width-more-1)
	r.Column(m.styles.LinkTo(m.message.link, m.message.style), text, width)
	if more > 0 {
		r.Fill(m.styles.Text, apart)
		m.putKey(r, keymap.Session, keymap.Details, all.text)
	}
}

// hint is the footer's text about one or two keys.
type hint struct {
	actions []keymap.Action
	text    string // "" for the first action's own help
}

// Hints, the most useful first: what does not fit is left out, and is in the
// help.
var (
	sessionsHints = []hint{
		{[]keymap.Action{keymap.Open}, ""}, {[]keymap.Action{keymap.Search}, "search"},
		{[]keymap.Action{keymap.CompareRuns}, "compare"}, {[]keymap.Action{keymap.Group}, "group"}, {[]keymap.Action{keymap.Help}, ""}, {[]keymap.Action{keymap.Sort}, "sort"},
		{[]keymap.Action{keymap.Days}, "days"}, {[]keymap.Action{keymap.YankCall}, ""},
		{[]keymap.Action{keymap.Undo}, ""}, {[]keymap.Action{keymap.Journal}, ""},
	}
	searchHints = []hint{
		{[]keymap.Action{keymap.Accept}, "open"}, {[]keymap.Action{keymap.Open}, ""},
		{[]keymap.Action{keymap.MoveUp, keymap.MoveDown}, "move"}, {[]keymap.Action{keymap.Widen}, "scope"},
		{[]keymap.Action{keymap.Regexp}, ""}, {[]keymap.Action{keymap.Search}, "type"}, {[]keymap.Action{keymap.Help}, ""},
	}
	runsHints = []hint{
		{[]keymap.Action{keymap.Open}, "go there"}, {[]keymap.Action{keymap.PrevRun, keymap.NextRun}, "run"},
		{[]keymap.Action{keymap.PrevChange, keymap.NextChange}, "difference"}, {[]keymap.Action{keymap.Help}, ""},
	}
	nowhereHints  = []hint{{[]keymap.Action{keymap.Reload}, ""}, {[]keymap.Action{keymap.Help}, ""}}
	timelineHints = []hint{
		stepHint,
		{[]keymap.Action{keymap.Restore}, ""}, {[]keymap.Action{keymap.Fork}, ""},
		{[]keymap.Action{keymap.Help}, ""},
		{[]keymap.Action{keymap.Mark}, ""}, {[]keymap.Action{keymap.Compare}, ""},
		{[]keymap.Action{keymap.CompareHead}, ""},
		{[]keymap.Action{keymap.Search}, ""}, {[]keymap.Action{keymap.Open}, ""},
		{[]keymap.Action{keymap.Edit}, "edit"},
		{[]keymap.Action{keymap.PrevBranch, keymap.NextBranch}, "branch"}, {[]keymap.Action{keymap.NextTab}, ""},
		{[]keymap.Action{keymap.Undo}, ""}, {[]keymap.Action{keymap.Yank}, ""}, {[]keymap.Action{keymap.Journal}, ""},
	}
	stepHint = hint{[]keymap.Action{keymap.StepBack, keymap.StepForward}, "step"}
	// tabHints are the hints of tabs with a cursor, textHints the hints of tabs for reading only. diffHints
	// come first in the diff.
	tabHints = []hint{
		stepHint, {[]keymap.Action{keymap.Fold, keymap.Unfold}, "fold"}, {[]keymap.Action{keymap.Search}, ""},
		{[]keymap.Action{keymap.Help}, ""}, {[]keymap.Action{keymap.NextTab}, ""},
		{[]keymap.Action{keymap.Yank}, ""}, {[]keymap.Action{keymap.Restore}, ""}, {[]keymap.Action{keymap.Compare}, ""},
	}
	diffHints = append([]hint{{[]keymap.Action{keymap.PrevChange, keymap.NextChange}, "change"}}, tabHints...)
	textHints = []hint{
		stepHint, {[]keymap.Action{keymap.NextTab}, ""}, {[]keymap.Action{keymap.Yank}, ""},
		{[]keymap.Action{keymap.Help}, ""}, {[]keymap.Action{keymap.Restore}, ""}, {[]keymap.Action{keymap.Fork}, ""},
	}
	answersHints = []hint{
		{[]keymap.Action{keymap.Open}, "go there"}, {[]keymap.Action{keymap.SearchNext, keymap.SearchPrev}, "next"},
		{[]keymap.Action{keymap.Help}, ""}, {[]keymap.Action{keymap.Restore}, ""}, {[]keymap.Action{keymap.Fork}, ""},
	}
	// Where a session has faults, what mends them comes first, or what saves it from them.
	repairHint = hint{[]keymap.Action{keymap.Repair}, ""}
	saveHint   = hint{[]keymap.Action{keymap.Restore}, "save a copy"}
)

// footerHints returns the footer's hints for the keys that can do something now, and the name of the place that
// Back leads to.
func (m *Model) footerHints() (hints []hint, out string) {
	hints, out = timelineHints, "back"
	faults := 0
	switch {
	case m.isSearching():
		hints, out = searchHints, "close"
	case m.place == nowhere:
		hints, out = nowhereHints, "quit"
	case m.isComparing():
		hints = runsHints
	case m.place == atList:
		hints, out = sessionsHints, "quit"
		if row, ok := m.list.SelectedRow(); ok {
			faults = row.Faults
		}
	case m.focus == onTab && m.current >= namedTabs:
		hints = answersHints
	case m.focus == onTab:
		hints = tabHints
		if t := m.tabs[m.current]; t.find == nil {
			hints = textHints
		} else if t.scope == keymap.Diff {
			hints = diffHints
		}
	case m.only && m.search == nil:
		out = "quit"
	}
	if m.isSearching() || m.isComparing() {
		faults = 0
	}
	if m.place == inSession && !m.isSearching() && m.current < namedTabs {
		faults = m.info.countFaults()
	}
	if faults > 0 && m.forks {
		hints = append([]hint{saveHint}, hints...)
	} else if faults > 0 {
		hints = append([]hint{repairHint}, hints...)
	}
	now, scope := m.keyContext(), m.keyScope()
	m.usable = m.usable[:0]
	for _, h := range hints {
		forks := m.forks && h.actions[0] == keymap.Restore && h.text == "" // the key of the fork says so
		if label, _ := m.hintLabel(scope, h); label != "" && !forks && h.actions[0].WhyDisabled(now) == "" {
			m.usable = append(m.usable, h)
		}
	}
	return m.usable, out
}

// hintWidth returns the number of cells that a hint takes, with the gap after it.
func (m *Model) hintWidth(h hint) int {
	label, text := m.hintLabel(m.keyScope(), h)
	return cell.Width(label) + 1 + cell.Width(text) + apart
}

// putHints draws hints from the left, and leaves a number of cells free.
func (m *Model) putHints(r *cell.Row, hints []hint, free int) {
	scope := m.keyScope()
	for _, h := range hints {
		label, text := m.hintLabel(scope, h)
		width := cell.Width(label) + 1 + cell.Width(text) + apart
		if r.Room() < width+free {
			return
		}
		r.Put(m.styles.Key, label)
		r.Fill(m.styles.Text, 1)
		r.Put(m.styles.KeyHelp, text)
		r.Fill(m.styles.Text, apart)
	}
}

// putWayOut draws the key that leads out, at the right.
func (m *Model) putWayOut(r *cell.Row, out string) {
	leave := keymap.Label(m.keys.Keys(m.keyScope(), keymap.Back)[:1])
	r.Fill(m.styles.Text, r.Room()-cell.Width(leave)-1-len(out)-1)
	r.Put(m.styles.Key, leave)
	r.Fill(m.styles.Text, 1)
	r.Put(m.styles.KeyHelp, out)
}

// hintLabel returns the first key of each action of a hint, and what they do; "" where
// one has no key.
func (m *Model) hintLabel(scope keymap.Scope, h hint) (label, text string) {
	for _, a := range h.actions {
		keys := m.keys.Keys(scope, a)
		if len(keys) == 0 {
			return "", ""
		}
		if label != "" {
			label += " "
		}
		label += keymap.Label(keys[:1])
	}
	if h.text == "" {
		return label, h.actions[0].Help()
	}
	return label, h.text
}

// putKey draws a key and what it does.
func (m *Model) putKey(r *cell.Row, scope keymap.Scope, a keymap.Action, text string) {
	if label := keymap.Label(m.keys.Keys(scope, a)); label != "" {
		r.Put(m.styles.Key, label)
		r.Fill(m.styles.Text, 1)
		r.Put(m.styles.KeyHelp, text)
	}
}
