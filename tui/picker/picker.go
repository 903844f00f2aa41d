// Package picker is the list to pick one row from, with a filter: the sessions of
// a store, or the stores that were found.
//
// A picker is a plain struct that draws itself and knows which row is selected.
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

	given  []T
	all    []T      // the same, sorted
	folded []string // the lower-case texts of all, which the filter looks at
	// names and widths are the cells that the names and the columns need.
	names  int
	brief  int // cells that the names have, where the titles need the others
	widths []int
	titles int   // cells that the titles need; 0 where no row has one
	order  int   // in look.orders
	shown  []int // positions in all
	filter string
	words  []string
	window cell.Window
	w      int
}

// look is the difference between the lists.
type look[T any] struct {
	// noun names one row.
	noun string
	// title is above the names.
	title string
	// name tells a row from all others.
	name func(row *T) string
	// filtered is the text that the filter looks at.
	filtered func(row *T) string
	// brief is how many cells the names of rows have at most, where titles need the others;
	// nil for as many as the names need.
	brief func(rows []T) int
	// fitted shortens a name to a number of cells; nil to cut its end.
	fitted func(name string, cells int, ellipsis string) string
	// words is the heading of the titles, and said the title of a row: it takes the
	// room that is left. It is nil in a list whose rows have none.
	words string
	said  func(row *T) string
	// columns stand on the right, in order.
	columns []column[T]
	// orders are the ways to sort the rows, that in which they come first.
	orders []order[T]
}

// column is one of the facts about a row. It is left out where no row has it.
type column[T any] struct {
	name string
	// rank says which columns a narrow pane keeps: those with the lowest.
	rank int
	// width is the most that a text takes; a column is no wider than its texts.
	width int
	// known reports whether a row has it, in a column whose texts change as time
	// goes on: that has its width always. It is nil for others.
	known func(row *T) bool
	text  func(p *Pane[T], row *T) string
	// style is that of the text; nil for that of the row.
	style func(tokens *theme.Tokens) theme.Style
}

// order is one way to sort the rows; less is nil for the order in which they are
// given.
type order[T any] struct {
	words string
	less  func(a, b *T) int
	// among, if it is not nil, returns less for some rows: an order by a property that the rows share.
	among func(rows []T) (less func(a, b *T) int)
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
	p.given = slices.Clone(rows)
	p.sort()
	p.measureColumns()
	p.applyFilter(selected)
}

// Grow shows the rows that are known by now of a list that is still read. The selection stays
// on the row that it is on, or at the top.
func (p *Pane[T]) Grow(rows []T) {
	top := p.window.Cursor == 0
	if p.Set(rows); top {
		p.window.MoveTo(0)
	}
}

// sort puts the rows in order.
func (p *Pane[T]) sort() {
	p.all = append(p.all[:0], p.given...)
	order := p.look.orders[p.order]
	less := order.less
	if order.among != nil {
		less = order.among(p.all)
	}
	if less != nil {
		slices.SortStableFunc(p.all, func(a, b T) int { return less(&a, &b) })
	}
	p.folded = p.folded[:0]
	for i := range p.all {
		p.folded = append(p.folded, strings.ToLower(p.look.filtered(&p.all[i])))
	}
}

// measureColumns finds how much room names and columns need, so that a frame looks at the
// rows in sight alone.
func (p *Pane[T]) measureColumns() {
	p.names, p.titles = cell.Width(p.look.title), 0
	p.widths = make([]int, len(p.look.columns))
	for i := range p.all {
		row := &p.all[i]
		p.names = max(p.names, cell.Width(p.look.name(row)))
		if p.look.said != nil && p.look.said(row) != "" {
			p.titles = max(p.titles, saidWidth, cell.Width(p.look.said(row)))
		}
		for k := range p.look.columns {
			c := &p.look.columns[k]
			switch {
			case c.known == nil:
				if text := c.text(p, row); text != "" {
					p.widths[k] = min(max(p.widths[k], cell.Width(c.name), cell.Width(text)), c.width)
				}
			case c.known(row):
				p.widths[k] = c.width
			}
		}
	}
	p.brief = p.names
	if p.look.brief != nil {
		p.brief = min(p.names, p.look.brief(p.all))
	}
}

// nextOrder sorts the rows in the next of the orders.
func (p *Pane[T]) nextOrder() {
	selected := p.Name()
	p.order = (p.order + 1) % len(p.look.orders)
	p.sort()
	p.applyFilter(selected)
}

// Filter shows the rows whose texts hold every word of the text, whatever the
// case; "" shows all.
func (p *Pane[T]) Filter(text string) {
	p.filter, p.words = text, strings.Fields(strings.ToLower(text))
	p.applyFilter(p.Name())
}

// applyFilter shows what the filter lets through, and selects a name in it.
func (p *Pane[T]) applyFilter(selected string) {
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

// FindName returns the row with a name, whether the filter shows it or not; false if no row has it.
func (p *Pane[T]) FindName(name string) (T, bool) {
	for i := range p.all {
		if p.look.name(&p.all[i]) == name {
			return p.all[i], true
		}
	}
	var none T
	return none, false
}

// SelectedRow returns the row under the cursor; false if no row shows.
func (p *Pane[T]) SelectedRow() (T, bool) {
	if p.window.Cursor >= len(p.shown) {
		var none T
		return none, false
	}
	return p.all[p.shown[p.window.Cursor]], true
}

// Name returns the name of the row under the cursor, "" if no row shows.
func (p *Pane[T]) Name() string {
	row, ok := p.SelectedRow()
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

// Len returns the number of rows, filtered out or not.
func (p *Pane[T]) Len() int { return len(p.all) }

// IsFiltered reports whether a filter is on.
func (p *Pane[T]) IsFiltered() bool { return p.filter != "" }

// Status says how many rows there are, what the filter looks for, and how they are sorted
// if not as at first.
func (p *Pane[T]) Status() string {
	count := fmt.Sprintf("%d %ss", len(p.all), p.look.noun)
	switch {
	case p.filter != "":
		count = fmt.Sprintf("%d of %d %ss with %s", len(p.shown), len(p.all), p.look.noun, p.filter)
	case len(p.all) == 1:
		count = "1 " + p.look.noun
	}
	if p.order == 0 {
		return count
	}
	return count + ", " + p.look.orders[p.order].words
}

// Do carries out an action; it reports whether it knew it.
func (p *Pane[T]) Do(a keymap.Action) bool {
	if a == keymap.Sort {
		p.nextOrder()
		return true
	}
	return p.window.Do(a)
}

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

const (
	// nameWidth is the least width of a name beside titles, aloneWidth without titles. saidWidth is the least
	// width of a title.
	nameWidth, aloneWidth, saidWidth = 14, 24, 20
	// wideWidth is from where a title has two fifths of the pane, beside names that have
	// no more than briefWidth.
	wideWidth, briefWidth = 80, 18
	// gap is between columns; margin keeps the cursor on the left and the last
	// column off the border.
	gap, marginLeft, marginRight = 2, 2, 1
)

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
	l := p.layOutColumns()
	cursor := " "
	if of != nil && row == p.window.Cursor {
		cursor = p.styles.Glyphs.Cursor
	}
	r.Put(tokens.Focus, cursor)
	r.Fill(tokens.Text, 1)
	name, said, strong, text := p.look.title, p.look.words, tokens.Muted, tokens.Muted
	if of != nil {
		name, said, strong, text = p.fitName(p.look.name(of), l.name), "", tokens.Strong, tokens.Text
		if l.said > 0 {
			said = p.look.said(of)
		}
	}
	r.Column(strong, name, l.name)
	if l.said > 0 {
		r.Fill(tokens.Text, gap)
		r.Column(text, said, l.said)
	}
	for k := range p.look.columns {
		if !l.shown[k] {
			continue
		}
		c := &p.look.columns[k]
		r.Fill(tokens.Text, gap)
		switch {
		case of == nil:
			r.ColumnRight(tokens.Muted, c.name, p.widths[k])
		case c.style != nil:
			r.ColumnRight(c.style(tokens), c.text(p, of), p.widths[k])
		default:
			r.ColumnRight(tokens.Text, c.text(p, of), p.widths[k])
		}
	}
	return r.End(tokens.Text)
}

// layout is how many cells the parts of a row have.
type layout struct {
	name, said int
	shown      []bool // of the columns
}

// layOutColumns shares the cells out: names and titles have theirs at the least, then come
// the columns by their rank, and what is left is for the titles, or else the names.
func (p *Pane[T]) layOutColumns() layout {
	l := layout{name: min(p.brief, aloneWidth), shown: make([]bool, len(p.look.columns))}
	room := p.w - marginLeft - marginRight - l.name
	if p.titles > 0 && p.w >= marginLeft+nameWidth+gap+saidWidth+marginRight {
		l.name, l.said = min(p.brief, nameWidth), saidWidth
		if p.w >= wideWidth && p.brief <= briefWidth {
			l.said = max(l.said, min(p.titles, p.w*2/5))
		}
		room = p.w - marginLeft - marginRight - l.name - gap - l.said
	}
	ranked := make([]int, len(p.look.columns))
	for k := range ranked {
		ranked[k] = k
	}
	slices.SortFunc(ranked, func(a, b int) int { return p.look.columns[a].rank - p.look.columns[b].rank })
	for _, k := range ranked {
		if p.widths[k] == 0 || gap+p.widths[k] > room {
			continue
		}
		l.shown[k] = true
		room -= gap + p.widths[k]
	}
	if l.said == 0 {
		l.name = max(0, l.name+room)
		return l
	}
	// A longer name gets what the titles do not need, and a third of the rest at least, of
	// which a brief one needs less.
	more := max(0, min(p.brief-l.name, room/3), min(p.names-l.name, room-(p.titles-l.said)))
	l.name += more
	l.said += room - more
	return l
}

func (p *Pane[T]) fitName(name string, cells int) string {
	if p.look.fitted == nil {
		return name
	}
	return p.look.fitted(name, cells, p.styles.Glyphs.Ellipsis)
}
