package statetab

import (
	"hindcast/model/jsontape"
	"hindcast/tui/prose"
)

// Next returns the row after r: the next value that no fold hides.
func (p *Pane) Next(r row) (row, bool) {
	if int(r.line) < p.rowsBelow(r.node) {
		return row{r.node, r.line + 1}, true
	}
	n := r.node + 1
	if p.isFolded(r.node) {
		n = p.c.tape.End(r.node)
	}
	n, ok := p.c.valueAfter(n)
	return row{node: n}, ok
}

// Prev returns the row before r: the value before it, or the outermost fold that
// hides that one.
func (p *Pane) Prev(r row) (row, bool) {
	if r.line > 0 {
		return row{r.node, r.line - 1}, true
	}
	if r.node == 0 {
		return r, false
	}
	return p.lastOf(p.visibleValue(p.c.valueBefore(r.node))), true
}

// First returns the root.
func (p *Pane) First() (row, bool) { return row{}, p.c != nil }

// Last returns the last row that shows.
func (p *Pane) Last() (row, bool) {
	if p.c == nil {
		return row{}, false
	}
	return p.lastOf(p.visibleValue(p.c.lastValue())), true
}

// lastOf returns the last row of a value, without what is in it.
func (p *Pane) lastOf(n jsontape.Node) row { return row{n, int32(p.rowsBelow(n))} }

// rowsBelow returns how many rows stand below a value's own and before what is in
// it: the lines of a string that is opened, or what was removed from a container
// that is unfolded.
func (p *Pane) rowsBelow(n jsontape.Node) int {
	if p.isFolded(n) {
		return 0
	}
	return len(p.opened[n]) + min(len(p.c.removed[n]), mostRemoved)
}

// mostRemoved bounds the rows for values removed from one container; the last row then tells their number.
const mostRemoved = 50

// isFolded reports whether a fold hides what is in n. The messages are folded at
// first, where they are not all that there is: they have a tab of their own.
func (p *Pane) isFolded(n jsontape.Node) bool {
	t := p.c.tape
	if t.End(n) == n+1 && len(p.c.removed[n]) == 0 {
		return false
	}
	aside := p.level == firstLevel && n > 0 && n == p.c.conv.List() && t.Count(t.Parent(n)) > 1
	return (aside || t.Depth(n) >= p.level) != p.turned.Has(n)
}

// visibleValue returns the outermost fold that hides n, or n itself.
func (p *Pane) visibleValue(n jsontape.Node) jsontape.Node {
	for at := p.c.tape.Parent(n); at != jsontape.None; at = p.c.tape.Parent(at) {
		if len(p.turned) == 0 && p.c.tape.Depth(at) < p.level && p.level != firstLevel {
			break
		}
		if p.isFolded(at) {
			n = at
		}
	}
	return n
}

// hasRows reports whether n is a container that has rows in it.
func (p *Pane) hasRows(n jsontape.Node) bool {
	return p.c.tape.First(n) != jsontape.None || len(p.c.removed[n]) > 0
}

// toggle opens or closes what is under the cursor.
func (p *Pane) toggle() {
	n := p.cursorValue()
	switch {
	case n == jsontape.None:
	case p.isFolded(n) || !p.hasRows(n) && p.opened[n] == nil:
		p.unfold()
	default:
		p.fold()
	}
}

// fold closes what is under the cursor, or what that is in.
func (p *Pane) fold() {
	n := p.cursorValue()
	if n == jsontape.None {
		return
	}
	if p.opened[n] != nil {
		delete(p.opened, n)
		p.Select(n)
		return
	}
	if !p.hasRows(n) || p.isFolded(n) {
		if n = p.c.tape.Parent(n); n <= 0 {
			p.Select(0)
			return
		}
	}
	p.turned.Flip(n)
	p.Select(n)
}

// unfold opens a container or a long string; on what is open it goes on to the
// first value inside.
func (p *Pane) unfold() {
	n := p.cursorValue()
	switch {
	case n == jsontape.None:
		return
	case p.isFolded(n):
		p.turned.Flip(n)
	case p.c.tape.Kind(n) == jsontape.String:
		p.openString(n)
	default:
		p.window.Move(p, 1)
		return
	}
	p.refresh()
}

// maxPages bounds the pages of a string that are shown when it is opened; a
// person who wants more copies the value.
const maxPages = 8

// openString shows the lines of a string that has more than one or does not fit.
func (p *Pane) openString(n jsontape.Node) {
	text := prose.Of(p.c.tape, n)
	width := p.w - p.marginCells() - p.indentOf(n) - 2
	if width < 4 || text.Len() < width/2 {
		return
	}
	var lines []string
	for page := range min(text.Pages(), maxPages) {
		lines = append(lines, text.Lines(page, width)...)
	}
	if text.Pages() > maxPages {
		lines = append(lines, "(the rest is left out; copy the value to have it)")
	}
	p.opened[n] = lines
}

// setLevel folds every container from a depth on, and forgets all other folds.
func (p *Pane) setLevel(level int) {
	p.level = level
	p.forget()
	p.refresh()
}

// unfoldAllFrom is the level from which unfolding one more means unfolding all.
const unfoldAllFrom = 5

// deeperLevel returns the next level: one more, and then all.
func (p *Pane) deeperLevel() int {
	if p.level >= unfoldAllFrom {
		return all
	}
	return p.level + 1
}

// refresh shows the cursor again after folds changed; where one hides it, the
// cursor goes to the fold.
func (p *Pane) refresh() {
	at, y, ok := p.window.Cursor()
	if !ok || p.c == nil {
		return
	}
	if int(at.node) >= p.c.tape.Len() {
		at = row{node: jsontape.Node(p.c.tape.Len() - 1)}
	}
	if n := p.visibleValue(at.node); n != at.node {
		at = row{node: n}
	}
	at.line = min(at.line, int32(p.rowsBelow(at.node)))
	p.window.Place(p, at, y)
}

// Select moves the cursor to a value and unfolds what hides it.
func (p *Pane) Select(n jsontape.Node) {
	if p.c == nil || n < 0 || int(n) >= p.c.tape.Len() {
		return
	}
	for at := p.c.tape.Parent(n); at != jsontape.None; at = p.c.tape.Parent(at) {
		if p.isFolded(at) {
			p.turned.Flip(at)
		}
	}
	y := p.window.Height() / 2
	for i, r := range p.window.Rows() {
		if r.node == n && r.line == 0 {
			y = i
			break
		}
	}
	p.window.Place(p, row{node: n}, y)
}
