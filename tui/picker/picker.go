// Package picker is the list to pick one row from, with a filter: the sessions of
// a store, or the stores that were found.
//
// A picker is a plain struct that draws itself and knows which row is selected;
// it may not know the port's stores, the other panes or the root model.
package picker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/keymap"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Pane lists rows. Make it with NewSessions or NewStores.
type Pane[T any] struct {
	styles *theme.Styles
	now    func() time.Time
	look   look[T]

	all    []T
	folded []string // the lower-case texts of all, which the filter looks at
	shown  []int    // positions in all
	filter string
	words  []string
	window cell.Window
	w      int
}

// look is what tells the lists apart.
type look[T any] struct {
	// noun is what one row is.
	noun string
	// title is above the names.
	title string
	// name tells a row from all others.
	name func(row *T) string
	// filtered is the text that the filter looks at.
	filtered func(row *T) string
	// fitted shortens a name to a number of cells; nil to cut its end.
	fitted func(name string, cells int, ellipsis string) string
	// columns stand right of the name, the most important first: a narrow pane
	// leaves out the last ones.
	columns []column[T]
}

// column is one of the facts about a row.
type column[T any] struct {
	name  string
	width int
	text  func(p *Pane[T], row *T) string
}

// head is the row of column titles.
const head = 1

// Resize says how many cells the pane has.
func (p *Pane[T]) Resize(w, h int) {
	p.w = max(w, 0)
	p.window.Resize(max(h-head, 0))
}

// Set shows other rows; the selection stays on the row that it is on.
func (p *Pane[T]) Set(rows []T) {
	selected := p.Name()
	p.all = slices.Clone(rows)
	p.folded = nil
	for i := range p.all {
		p.folded = append(p.folded, strings.ToLower(p.look.filtered(&p.all[i])))
	}
	p.refilter(selected)
}

// Filter shows the rows whose texts hold every word of the text, whatever the
// case; "" shows all.
func (p *Pane[T]) Filter(text string) {
	p.filter, p.words = text, strings.Fields(strings.ToLower(text))
	p.refilter(p.Name())
}

// refilter shows what the filter lets through, and selects a name in it.
func (p *Pane[T]) refilter(selected string) {
	p.shown = p.shown[:0]
	for i := range p.all {
		if p.matches(i) {
			p.shown = append(p.shown, i)
		}
	}
	p.window.SetLen(len(p.shown))
	p.Select(selected)
}

func (p *Pane[T]) matches(i int) bool {
	for _, word := range p.words {
		if !strings.Contains(p.folded[i], word) {
			return false
		}
	}
	return true
}

// Named gives the row of a name, whether the filter shows it or not; false if there
// is none.
func (p *Pane[T]) Named(name string) (T, bool) {
	for i := range p.all {
		if p.look.name(&p.all[i]) == name {
			return p.all[i], true
		}
	}
	var none T
	return none, false
}

// Selected gives the row under the cursor; false if there is none.
func (p *Pane[T]) Selected() (T, bool) {
	if p.window.Cursor >= len(p.shown) {
		var none T
		return none, false
	}
	return p.all[p.shown[p.window.Cursor]], true
}

// Name gives the name of the row under the cursor, "" if there is none.
func (p *Pane[T]) Name() string {
	row, ok := p.Selected()
	if !ok {
		return ""
	}
	return p.look.name(&row)
}

// Select moves the cursor to the row of a name, if it is shown.
func (p *Pane[T]) Select(name string) {
	for row, i := range p.shown {
		if p.look.name(&p.all[i]) == name {
			p.window.MoveTo(row)
			return
		}
	}
}

// Len gives the number of rows, filtered out or not.
func (p *Pane[T]) Len() int { return len(p.all) }

// Status says how many rows there are.
func (p *Pane[T]) Status() string {
	switch {
	case p.filter != "":
		return fmt.Sprintf("%d of %d %ss", len(p.shown), len(p.all), p.look.noun)
	case len(p.all) == 1:
		return "1 " + p.look.noun
	}
	return fmt.Sprintf("%d %ss", len(p.all), p.look.noun)
}

// Do carries out an action; it reports whether it knew it.
func (p *Pane[T]) Do(a keymap.Action) bool { return p.window.Do(a) }

// Click selects what is on row y; it reports whether there is something.
func (p *Pane[T]) Click(_, y int) bool {
	row := p.window.Top + y - head
	if y < head || row >= len(p.shown) {
		return false
	}
	p.window.MoveTo(row)
	return true
}

// Wheel scrolls by n rows.
func (p *Pane[T]) Wheel(n int) { p.window.Scroll(n) }

// nameWidth is what a name has at the least.
const nameWidth = 16

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane[T]) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	tokens := &p.styles.Tokens
	row := p.window.Top + y - head
	var of *T
	switch {
	case y < head:
	case row < len(p.shown):
		of = &p.all[p.shown[row]]
		if row == p.window.Cursor {
			tokens = p.styles.Selected
		}
	case y == head && len(p.all) > 0:
		r.Put(tokens.Muted, "  no "+p.look.noun+" matches the filter")
		return r.End(tokens.Text)
	default:
		return r.End(tokens.Text)
	}
	columns, right := p.columns()
	cursor := " "
	if of != nil && row == p.window.Cursor {
		cursor = p.styles.Glyphs.Cursor
	}
	r.Put(tokens.Focus, cursor)
	r.Fill(tokens.Text, 1)
	if of == nil {
		r.Column(tokens.Muted, p.look.title, r.Room()-right)
	} else {
		r.Column(tokens.Strong, p.fitted(p.look.name(of), r.Room()-right), r.Room()-right)
	}
	for _, c := range columns {
		text, style := c.name, tokens.Muted
		if of != nil {
			text, style = c.text(p, of), tokens.Text
		}
		r.Fill(tokens.Text, 2)
		r.ColumnRight(style, text, c.width)
	}
	return r.End(tokens.Text)
}

// columns gives the columns that there is room for, and how many cells they take.
func (p *Pane[T]) columns() (columns []column[T], right int) {
	for _, c := range p.look.columns {
		if nameWidth+2+right+c.width+2 > p.w {
			break
		}
		right += c.width + 2
		columns = append(columns, c)
	}
	return columns, right
}

func (p *Pane[T]) fitted(name string, cells int) string {
	if p.look.fitted == nil {
		return name
	}
	return p.look.fitted(name, cells, p.styles.Glyphs.Ellipsis)
}
