// Package picker is the list of the store's sessions, with a filter.
//
// A picker is a plain struct that draws itself and knows which session is
// selected; it may not know the store, the other panes or the root model.
package picker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// Pane lists sessions. Make it with New.
type Pane struct {
	styles *theme.Styles
	now    func() time.Time

	all    []model.SessionInfo
	folded []string // the lower-case ids of all, which the filter looks at
	shown  []int    // positions in all
	filter string
	words  []string
	window cell.Window
	w      int
}

// New makes an empty list. now gives the time against which ages are shown.
func New(styles *theme.Styles, now func() time.Time) *Pane {
	return &Pane{styles: styles, now: now}
}

// head is the row of column titles.
const head = 1

// Resize says how many cells the pane has.
func (p *Pane) Resize(w, h int) {
	p.w = max(w, 0)
	p.window.Resize(max(h-head, 0))
}

// Set shows other sessions; the selection stays on the session that it is on.
func (p *Pane) Set(sessions []model.SessionInfo) {
	selected, had := p.Selected()
	p.all, p.folded = nil, nil
	p.shown = p.shown[:0]
	p.Add(sessions...)
	if had {
		p.Select(selected.ID)
	}
}

// Add appends sessions to the list.
func (p *Pane) Add(sessions ...model.SessionInfo) {
	for _, info := range sessions {
		p.all = append(p.all, info)
		p.folded = append(p.folded, strings.ToLower(info.ID))
		if p.matches(len(p.all) - 1) {
			p.shown = append(p.shown, len(p.all)-1)
		}
	}
	p.window.SetLen(len(p.shown))
}

// Filter shows the sessions whose ids hold every word of the text, whatever
// the case; "" shows all.
func (p *Pane) Filter(text string) {
	selected, had := p.Selected()
	p.filter, p.words = text, strings.Fields(strings.ToLower(text))
	p.shown = p.shown[:0]
	for i := range p.all {
		if p.matches(i) {
			p.shown = append(p.shown, i)
		}
	}
	p.window.SetLen(len(p.shown))
	if had {
		p.Select(selected.ID)
	}
}

func (p *Pane) matches(i int) bool {
	for _, word := range p.words {
		if !strings.Contains(p.folded[i], word) {
			return false
		}
	}
	return true
}

// Selected gives the session under the cursor; false if there is none.
func (p *Pane) Selected() (model.SessionInfo, bool) {
	if p.window.Cursor >= len(p.shown) {
		return model.SessionInfo{}, false
	}
	return p.all[p.shown[p.window.Cursor]], true
}

// Select moves the cursor to a session, if it is shown.
func (p *Pane) Select(id string) {
	for row, i := range p.shown {
		if p.all[i].ID == id {
			p.window.MoveTo(row)
			return
		}
	}
}

// Len gives the number of sessions, filtered out or not.
func (p *Pane) Len() int { return len(p.all) }

// Status says how many sessions there are.
func (p *Pane) Status() string {
	switch {
	case p.filter != "":
		return fmt.Sprintf("%d of %d sessions", len(p.shown), len(p.all))
	case len(p.all) == 1:
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", len(p.all))
}

// Do carries out an action; it reports whether it knew it.
func (p *Pane) Do(a keymap.Action) bool { return p.window.Do(a) }

// Click selects the session on row y; it reports whether there is one.
func (p *Pane) Click(_, y int) bool {
	row := p.window.Top + y - head
	if y < head || row >= len(p.shown) {
		return false
	}
	p.window.MoveTo(row)
	return true
}

// Wheel scrolls by n rows.
func (p *Pane) Wheel(n int) { p.window.Scroll(n) }

// columns are the widths of what stands right of a session's id, the most
// important first: a narrow pane leaves out the last ones.
var columns = []struct {
	name  string
	width int
	text  func(p *Pane, info *model.SessionInfo) string
}{
	{"snapshots", 9, func(_ *Pane, info *model.SessionInfo) string { return strconv.Itoa(info.Snapshots) }},
	{"head", 9, func(_ *Pane, info *model.SessionInfo) string { return headText(info) }},
	{"changed", 12, func(p *Pane, info *model.SessionInfo) string { return when.Ago(p.now(), info.UpdatedAt) }},
	{"orphaned", 8, func(_ *Pane, info *model.SessionInfo) string { return some(info.Orphaned) }},
	{"faults", 6, func(_ *Pane, info *model.SessionInfo) string { return some(info.Faults) }},
}

// idWidth is what a session's id has at the least.
const idWidth = 16

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	tokens := &p.styles.Tokens
	row := p.window.Top + y - head
	var info *model.SessionInfo
	switch {
	case y < head:
	case row < len(p.shown):
		info = &p.all[p.shown[row]]
		if row == p.window.Cursor {
			tokens = p.styles.Selected
		}
	case y == head && len(p.all) > 0:
		r.Put(tokens.Muted, "  no session matches the filter")
		return r.End(tokens.Text)
	default:
		return r.End(tokens.Text)
	}
	n, width := 0, idWidth+2
	for n < len(columns) && width+columns[n].width+2 <= p.w {
		width += columns[n].width + 2
		n++
	}
	right := width - idWidth - 2
	cursor := " "
	if info != nil && row == p.window.Cursor {
		cursor = p.styles.Glyphs.Cursor
	}
	r.Put(tokens.Focus, cursor)
	r.Fill(tokens.Text, 1)
	if info == nil {
		r.Column(tokens.Muted, "session", r.Room()-right)
	} else {
		r.Column(tokens.Strong, info.ID, r.Room()-right)
	}
	for _, c := range columns[:n] {
		text, style := c.name, tokens.Muted
		if info != nil {
			text, style = c.text(p, info), tokens.Text
		}
		r.Fill(tokens.Text, 2)
		r.ColumnRight(style, text, c.width)
	}
	return r.End(tokens.Text)
}

func headText(info *model.SessionInfo) string {
	if info.Head == "" {
		return "none"
	}
	return "#" + strconv.Itoa(info.HeadIndex)
}

func some(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
