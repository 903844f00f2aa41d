// Package parting is the pane that shows two lines of a session since they parted: side by side, aligned by
// turn, with the difference of their last states.
//
//	 ◌ #12.1 since #10               ◉ #13 since #10
//	 turn 6
//	▌#11.1 cancel_all ok             #11.2 change_train ok
//	 #12.1 Everything is cancelled   #12.2 You leave at 10:40; …
//	 turn 7
//	                                 #13   the trip is booked
//	 state: cart: total 210 → 0, −3 items
package parting

import (
	"slices"
	"strconv"
	"strings"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Content is two lines of a session since they parted.
type Content struct {
	// Timeline is the one that the nodes are of.
	Timeline *model.Timeline
	// Left and Right are the last visits of the two lines, Fork their nearest common ancestor; model.NoNode
	// if they share none.
	Left, Right, Fork model.Node
	// Words say what sets their states apart, a key of the state each.
	Words []string

	rows []row
}

// row holds a visit of each line, model.NoNode for a gap. A row with two gaps is the heading of a turn.
type row struct {
	sides [2]model.Node
	turn  int
}

// Prepare works out where the lines that lead to two visits parted. The time is linear in
// their length.
func Prepare(t *model.Timeline, left, right model.Node) *Content {
	c := &Content{Timeline: t, Left: left, Right: right, Fork: model.NoNode}
	on := map[model.Node]bool{}
	for n := right; n != model.NoNode; n = t.Parent(n) {
		on[n] = true
	}
	for c.Fork = left; c.Fork != model.NoNode && !on[c.Fork]; {
		c.Fork = t.Parent(c.Fork)
	}
	a, b := lineSince(t, c.Fork, left), lineSince(t, c.Fork, right)
	for len(a)+len(b) > 0 {
		turn := t.Header(slices.Concat(head(a), head(b))[0]).TurnIndex
		for _, n := range slices.Concat(head(a), head(b)) {
			turn = min(turn, t.Header(n).TurnIndex)
		}
		c.rows = append(c.rows, row{[2]model.Node{model.NoNode, model.NoNode}, turn})
		for {
			next := row{[2]model.Node{model.NoNode, model.NoNode}, turn}
			for i, line := range []*[]model.Node{&a, &b} {
				if len(*line) > 0 && t.Header((*line)[0]).TurnIndex <= turn {
					next.sides[i], *line = (*line)[0], (*line)[1:]
				}
			}
			if next.isTurn() {
				break
			}
			c.rows = append(c.rows, next)
		}
	}
	return c
}

// lineSince returns the visits of the line that leads to one, behind another.
func lineSince(t *model.Timeline, fork, tip model.Node) (line []model.Node) {
	for n := tip; n != fork && n != model.NoNode; n = t.Parent(n) {
		line = append(line, n)
	}
	slices.Reverse(line)
	return line
}

func head(line []model.Node) []model.Node { return line[:min(len(line), 1)] }

// isTurn reports whether the row is that of a turn.
func (r *row) isTurn() bool { return r.sides[0] == model.NoNode && r.sides[1] == model.NoNode }

// Pane draws two lines and keeps a cursor on one of them. Make it with New. It is not safe
// for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w, h   int
	c      *Content
	window cell.Window
	side   int
}

// New makes an empty pane.
func New(styles *theme.Styles) *Pane { return &Pane{styles: styles} }

// Set shows another content, nil for nothing. The cursor is on a visit, or where that is on
// neither line on the first one on the left.
func (p *Pane) Set(c *Content, at model.Node) {
	p.c, p.side, p.window = c, 0, cell.Window{}
	p.Resize(p.w, p.h)
	p.moveTo(0, 1)
	for i := range p.rows() {
		for side, n := range p.c.rows[i].sides {
			if n == at && n != model.NoNode {
				p.side = side
				p.moveTo(i, 1)
			}
		}
	}
}

// rows returns the number of rows.
func (p *Pane) rows() int {
	if p.c == nil {
		return 0
	}
	return len(p.c.rows)
}

// Title names both lines and the snapshot at which they parted.
func (p *Pane) Title() string {
	if p.c == nil {
		return "Parted"
	}
	t, arrow := p.c.Timeline, " "+p.styles.Glyphs.Arrow+" "
	return name(t, p.c.Right) + arrow + name(t, p.c.Left) + " since " + name(t, p.c.Fork)
}

func name(t *model.Timeline, n model.Node) string {
	if n == model.NoNode {
		return "the beginning"
	}
	return t.Name(n)
}

// Status says how many snapshots each line has.
func (p *Pane) Status() string {
	if p.c == nil {
		return ""
	}
	var counts [2]int
	for i := range p.c.rows {
		for side, n := range p.c.rows[i].sides {
			if n != model.NoNode {
				counts[side]++
			}
		}
	}
	return strconv.Itoa(counts[0]) + " and " + model.Count(counts[1], "snapshot")
}

// Node returns the visit under the cursor, or model.NoNode.
func (p *Pane) Node() model.Node {
	if p.window.Cursor >= p.rows() {
		return model.NoNode
	}
	return p.c.rows[p.window.Cursor].sides[p.side]
}

// header is the row with the names of the lines.
const header = 1

// Resize gives the pane its size in cells.
func (p *Pane) Resize(w, h int) {
	p.w, p.h = max(w, 0), max(h, 0)
	p.window.Resize(max(p.h-header-p.differenceRows(), 0))
	p.window.SetLen(p.rows())
}

// differenceRows returns the rows that say what sets the states apart.
func (p *Pane) differenceRows() int {
	if p.c == nil || len(p.c.Words) == 0 || p.h < 8 {
		return 0
	}
	return min(len(p.words()), p.h/3)
}

func (p *Pane) words() []string {
	return cell.Wrap(p.styles.Glyphs.Sentence("states: "+strings.Join(p.c.Words, ", ")), max(p.w-2, 1), "")
}

// Do carries out an action and reports whether it is one of the pane's: the rows up and down,
// and the other line.
func (p *Pane) Do(a keymap.Action) bool {
	if p.rows() == 0 {
		return false
	}
	if n, ok := cell.Steps(a, p.window.Height); ok {
		step := 1
		if n < 0 {
			step = -1
		}
		p.moveTo(p.window.Cursor+n, step)
		return true
	}
	switch a {
	case keymap.Top:
		p.moveTo(0, 1)
	case keymap.Bottom:
		p.moveTo(len(p.c.rows)-1, -1)
	case keymap.Fold, keymap.Unfold:
		side := 0
		if a == keymap.Unfold {
			side = 1
		}
		if p.hasVisits(side) {
			p.side = side
			p.moveTo(p.window.Cursor, 1)
		}
	default:
		return false
	}
	return true
}

// hasVisits reports whether a line has visits behind the fork.
func (p *Pane) hasVisits(side int) bool {
	return slices.ContainsFunc(p.c.rows, func(r row) bool { return r.sides[side] != model.NoNode })
}

// moveTo moves the cursor to a row, or on from there to the nearest that has a visit of its line,
// in the direction of step first.
func (p *Pane) moveTo(to, step int) {
	if p.rows() == 0 {
		return
	}
	if !p.hasVisits(p.side) {
		p.side = 1 - p.side
	}
	to = max(0, min(to, len(p.c.rows)-1))
	for _, d := range [...]int{step, -step} {
		for i := to; i >= 0 && i < len(p.c.rows); i += d {
			if p.c.rows[i].sides[p.side] != model.NoNode {
				p.window.MoveTo(i)
				return
			}
		}
	}
}

// Click moves the cursor to row y, and to the line that is at column x.
func (p *Pane) Click(x, y int) {
	i := p.window.Top + y - header
	if p.c == nil || y < header || y-header >= p.window.Height || i >= len(p.c.rows) {
		return
	}
	side := 0
	if x > p.w/2 {
		side = 1
	}
	if p.c.rows[i].sides[side] != model.NoNode {
		p.side = side
		p.window.MoveTo(i)
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) {
	p.window.Scroll(n)
	p.moveTo(p.window.Cursor, 1)
}

// Thumb returns the rows that the thumb of a scrollbar covers.
func (p *Pane) Thumb() (from, to int) {
	if from, to = p.window.Thumb(); to > 0 {
		from, to = from+header, to+header
	}
	return from, to
}

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	switch i := p.window.Top + y - header; {
	case p.c == nil:
	case y < header:
		p.heading(&r)
	case y >= header+p.window.Height:
		if words := p.words(); y-header-p.window.Height < len(words) {
			r.Fill(p.styles.Text, 1)
			r.Put(p.styles.Changed, words[y-header-p.window.Height])
		}
	case i < len(p.c.rows):
		p.drawRow(&r, i)
	case y == header:
		r.Put(p.styles.Muted, "  one of them leads to the other")
	}
	return r.End(p.styles.Text)
}

// heading names both lines.
func (p *Pane) heading(r *cell.Row) {
	half := p.columnWidth()
	for side, n := range [...]model.Node{p.c.Left, p.c.Right} {
		shape, st := p.signOf(&p.styles.Tokens, n)
		r.Fill(p.styles.Text, 1)
		r.Put(st, shape+" ")
		r.Column(p.styles.Strong, p.c.Timeline.Name(n), half-3)
		if side == 0 {
			r.Put(p.styles.Border, p.styles.Glyphs.Vertical)
		}
	}
}

// columnWidth returns the cells of a column.
func (p *Pane) columnWidth() int { return max((p.w-1)/2, 4) }

// signOf returns the sign of a visit and its style.
func (p *Pane) signOf(tokens *theme.Tokens, n model.Node) (string, theme.Style) {
	g, t := &p.styles.Glyphs, p.c.Timeline
	switch {
	case n == t.Head():
		return g.Head, tokens.Head
	case !t.OnPath(n):
		return g.Orphaned, tokens.Orphaned
	}
	return g.Active, tokens.Active
}

// drawRow draws what both lines did in a row.
func (p *Pane) drawRow(r *cell.Row, i int) {
	at, g, half := &p.c.rows[i], &p.styles.Glyphs, p.columnWidth()
	if at.isTurn() {
		turn := "turn " + strconv.Itoa(at.turn) + " "
		if at.turn == model.TurnUnknown {
			turn = "turn " + g.Ellipsis + " "
		}
		r.Fill(p.styles.Text, 1)
		r.Put(p.styles.Muted, turn)
		r.Repeat(p.styles.Border, g.Horizontal, r.Room()-1)
		return
	}
	for side, n := range at.sides {
		tokens, cursor := p.RowStyle(p.styles, i == p.window.Cursor && side == p.side)
		if side == 1 {
			r.Put(p.styles.Border, g.Vertical)
		}
		if n == model.NoNode {
			r.Fill(tokens.Text, half)
			continue
		}
		h := p.c.Timeline.Header(n)
		said := h.Title
		if said == "" {
			said = h.EventText()
		}
		name := p.c.Timeline.Name(n)
		if h.Marks.Has(model.MarkError) {
			name += " " + g.Error
		}
		_, st := p.signOf(tokens, n)
		r.Put(tokens.Focus, cursor)
		width := min(cell.Width(name), half-2)
		r.Column(st, name, width)
		r.Fill(tokens.Text, 1)
		r.Column(tokens.Text, said, half-2-width)
	}
}
