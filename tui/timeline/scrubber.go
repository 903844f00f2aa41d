package timeline

import (
	"slices"

	"hindcast/model"
	"hindcast/tui/cell"
)

// The scrubber is the whole timeline in one row, from its first row on the left to its last
// on the right, whatever folds hide:
//
//	━━━━━━━━━┬━✗━━━━┴━━▌───┬──────◉
//	         │ │    │  │          the head
//	         │ │    │  the cursor
//	         │ │    a line ends
//	         │ an error
//	         a branch leaves
//
// A cell stands for some rows, or a row for some cells. What a cell shows is looked up in
// lists in row order and kept, so a frame costs as much as the screen is wide.

// span is the rows that a cell of the scrubber stands for, from one up to another. It is
// empty where there are more cells than rows, but for the cells in which a row stands.
type span struct{ from, to int }

// cellOf returns the cell of w in which a row stands: the first row in the first, the last in
// the last, the others in the nearest.
func cellOf(row, w, rows int) int {
	if rows < 2 {
		return 0
	}
	return (2*row*(w-1) + rows - 1) / (2 * (rows - 1))
}

// spanOf returns the rows that stand in cell x of w.
func spanOf(x, w, rows int) span {
	if w < 2 || rows < 2 {
		return span{0, rows * (1 - min(x, 1))}
	}
	first := func(x int) int { return (max(2*x-1, 0)*(rows-1) + 2*w - 3) / (2*w - 2) } // rounded up
	return span{first(x), min(first(x+1), rows)}
}

// nearestRow returns the row that stands in cell x of w, or nearest to it.
func nearestRow(x, w, rows int) int {
	if w < 2 {
		return 0
	}
	return (2*x*(rows-1) + w - 1) / (2 * (w - 1))
}

// firstIn returns the first node of a list, ordered by row, in the rows of s; NoNode when no node stands there.
func (p *Pane) firstIn(s span, list []model.Node) model.Node {
	i, _ := slices.BinarySearchFunc(list, s.from, func(n model.Node, row int) int { return p.t.RowOf(n) - row })
	if i == len(list) || p.t.RowOf(list[i]) >= s.to {
		return model.NoNode
	}
	return list[i]
}

// holdsNode reports whether a node stands in the rows of s.
func (p *Pane) holdsNode(s span, n model.Node) bool {
	return n != model.NoNode && p.t.RowOf(n) >= s.from && p.t.RowOf(n) < s.to
}

// tick is the sign in a cell of the scrubber, besides the line.
type tick uint8

const (
	noTick tick = iota
	headTick
	labelTick
	errorTick
	leavesTick
	endsTick
)

// tickOf returns the sign for the rows of s, and its node; NoNode for no sign.
func (p *Pane) tickOf(s span) (tick, model.Node) {
	if p.holdsNode(s, p.t.Head()) {
		return headTick, p.t.Head()
	}
	if n := p.firstIn(s, p.labels.nodes); n != model.NoNode {
		return labelTick, n
	}
	if n := p.firstIn(s, p.c.failed); n != model.NoNode {
		return errorTick, n
	}
	n := p.firstIn(s, p.c.stops)
	switch {
	case n == model.NoNode:
		return noTick, n
	case p.t.BranchPoint(n):
		return leavesTick, n
	case p.t.Next(n) == model.NoNode:
		return endsTick, n
	}
	return noTick, n // before a compaction
}

// ticksOf returns the ticks of w cells. They stay until there is another timeline, more of it,
// or other labels.
func (p *Pane) ticksOf(w int) []tick {
	if len(p.scrub) != w {
		p.scrub = make([]tick, w)
		for x := range p.scrub {
			p.scrub[x], _ = p.tickOf(spanOf(x, w, p.t.Rows()))
		}
	}
	return p.scrub
}

// Scrub draws the scrubber in w cells of a row.
func (p *Pane) Scrub(r *cell.Row, w int) {
	w = max(min(w, r.Room()), 0)
	s, g := p.styles, &p.styles.Glyphs
	cursor := -1
	if p.cursor != model.NoNode && w > 0 {
		cursor = cellOf(p.t.RowOf(p.cursor), w, p.t.Rows())
	}
	from := 0
	line := func(to int) {
		if from < cursor {
			r.Repeat(s.Focus, g.Bar.Full, to-from)
		} else {
			r.Repeat(s.Border, g.Bar.Empty, to-from)
		}
		from = to + 1
	}
	for x, tick := range p.ticksOf(w) {
		if tick == noTick && x != cursor {
			continue
		}
		line(x)
		switch {
		case x == cursor:
			r.Put(s.Key, g.Cursor)
		case tick == headTick:
			r.Put(s.Head, g.Head)
		case tick == labelTick:
			r.Put(s.Badge, g.Label)
		case tick == errorTick:
			r.Put(s.Error, g.Error)
		case tick == leavesTick:
			r.Put(s.Text, g.Leaves)
		default:
			r.Put(s.Orphaned, g.Ends)
		}
	}
	line(w)
}

// ScrubTo moves the cursor to the sign in cell x of w of the scrubber: the head, a label, an error, a branch
// point or the end of a line. Without a sign it moves to the snapshot in the nearest row.
func (p *Pane) ScrubTo(x, w int) {
	if p.cursor == model.NoNode || w <= 0 {
		return
	}
	x = max(0, min(x, w-1))
	_, n := p.tickOf(spanOf(x, w, p.t.Rows()))
	for row := nearestRow(x, w, p.t.Rows()); n == model.NoNode; row++ {
		n = p.t.Row(row).Node // a row that only draws has that of a snapshot below it
	}
	p.Select(n)
}
