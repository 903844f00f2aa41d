package messagestab

import (
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/prose"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/value"
)

const (
	// indent is how far blocks stand in from the headings, and more what is
	// inside them.
	indent = 2
	inner  = 4
	// widest is how wide text is wrapped: longer lines are hard to read.
	widest = 100
	// maxParts bounds the parts of one tool result that are shown.
	maxParts = 200
	// maxUnits bounds the units that are kept laid out.
	maxUnits = 512
)

// unit is a heading, a block or an empty row, laid out for the tab's width.
type unit struct {
	pieces []piece
	// foldable says that the unit shows more when it is open.
	foldable bool
	pages    map[[2]int32][]prose.Line // the laid out pages of its texts, by piece
}

// piece is a part of a unit whose rows are made in the same way: one row that
// is drawn as a whole, or a text, or the values of a tree.
type piece struct {
	draw func(*cell.Row, *theme.Tokens)

	doc   *prose.Doc
	style sheet.Pick

	tape *jsontape.Tape // of tree
	tree jsontape.Node

	kind pieceKind
	in   int
}

type pieceKind uint8

const (
	oneRow pieceKind = iota
	textRows
	treeRows
)

// unitAt returns a unit, laid out.
func (p *Pane) unitAt(n int32) *unit {
	u := p.units[n]
	if u == nil {
		if len(p.units) >= maxUnits {
			clear(p.units)
		}
		u = p.layOut(n)
		p.units[n] = u
	}
	return u
}

// textWidth returns the cells that text has at an indent.
func (p *Pane) textWidth(in int) int { return max(1, min(p.w-in-1, widest)) }

// pageOf returns a page of a text.
func (p *Pane) pageOf(u *unit, piece, page int32) []prose.Line {
	key := [2]int32{piece, page}
	lines := u.pages[key]
	if lines == nil {
		v, i := &u.pieces[piece], int(page)
		w := p.textWidth(v.in)
		if p.raw {
			lines = v.doc.RawLines(i, w)
		} else {
			lines = v.doc.Lines(i, w, &p.styles.Glyphs)
		}
		p.laidOut++
		if u.pages == nil || len(u.pages) >= maxUnits {
			u.pages = make(map[[2]int32][]prose.Line)
		}
		u.pages[key] = lines
	}
	return lines
}

// firstNode returns the first value of a tree that has a row: what is in a
// container, for its brackets say nothing.
func (v *piece) firstNode() jsontape.Node {
	if v.tape.First(v.tree) == jsontape.None {
		return v.tree
	}
	return v.tree + 1
}

// Next returns the row after r.
func (p *Pane) Next(r row) (row, bool) {
	u := p.unitAt(r.unit)
	switch v := &u.pieces[r.piece]; v.kind {
	case textRows:
		if int(r.line)+1 < len(p.pageOf(u, r.piece, r.page)) {
			r.line++
			return r, true
		}
		if int(r.page)+1 < v.doc.Pages() {
			return row{r.unit, r.piece, r.page + 1, 0}, true
		}
	case treeRows:
		if v.firstNode()+r.page+1 < v.tape.End(v.tree) {
			return row{r.unit, r.piece, r.page + 1, 0}, true
		}
	}
	if int(r.piece)+1 < len(u.pieces) {
		return row{unit: r.unit, piece: r.piece + 1}, true
	}
	return row{unit: r.unit + 1}, int(r.unit)+1 < p.c.countUnits()
}

// Prev returns the row before r.
func (p *Pane) Prev(r row) (row, bool) {
	switch {
	case r.line > 0:
		r.line--
		return r, true
	case r.page > 0:
		return p.lastOf(row{r.unit, r.piece, r.page - 1, 0}), true
	case r.piece > 0:
		return p.lastIn(r.unit, r.piece-1), true
	case r.unit > 0:
		return p.lastIn(r.unit-1, int32(len(p.unitAt(r.unit-1).pieces))-1), true
	}
	return r, false
}

// lastIn returns the last row of a piece.
func (p *Pane) lastIn(n, piece int32) row {
	r := row{unit: n, piece: piece}
	switch v := &p.unitAt(n).pieces[piece]; v.kind {
	case textRows:
		r.page = int32(v.doc.Pages()) - 1
	case treeRows:
		r.page = v.tape.End(v.tree) - v.firstNode() - 1
	}
	return p.lastOf(r)
}

// lastOf returns the last row of a page.
func (p *Pane) lastOf(r row) row {
	if u := p.unitAt(r.unit); u.pieces[r.piece].kind == textRows {
		r.line = int32(len(p.pageOf(u, r.piece, r.page))) - 1
	}
	return r
}

// First returns the first row.
func (p *Pane) First() (row, bool) { return row{}, p.c != nil && p.c.countUnits() > 0 }

// Last returns the last row that says something: the one before the empty row.
func (p *Pane) Last() (row, bool) {
	if p.c == nil || p.c.countUnits() == 0 {
		return row{}, false
	}
	return p.Prev(row{unit: int32(p.c.countUnits()) - 1})
}

// isOpen reports whether a unit shows all of itself.
func (p *Pane) isOpen(n int32) bool {
	return p.folds.IsOpen(n)
}

// setOpen opens or closes the unit under the cursor.
func (p *Pane) setOpen(open bool) {
	at, y, ok := p.window.Cursor()
	if !ok || !p.unitAt(at.unit).foldable || p.isOpen(at.unit) == open {
		return
	}
	p.turnUnit(at.unit)
	p.window.Place(p, row{unit: at.unit}, y)
}

func (p *Pane) turnUnit(n int32) {
	delete(p.units, n)
	p.folds.TurnRow(n)
}

func (p *Pane) foldUnit()   { p.setOpen(false) }
func (p *Pane) unfoldUnit() { p.setOpen(true) }

func (p *Pane) toggleUnit() {
	if at, _, ok := p.window.Cursor(); ok {
		p.setOpen(!p.isOpen(at.unit))
	}
}

// toggleRaw shows texts and values as they are spelled, or laid out again.
func (p *Pane) toggleRaw() {
	at, y, ok := p.window.Cursor()
	p.raw = !p.raw
	p.dropLayout()
	if !ok {
		return
	}
	pieces := p.unitAt(at.unit).pieces
	next := row{unit: at.unit}
	if int(at.piece) < len(pieces) && pieces[at.piece].kind == textRows && int(at.page) < pieces[at.piece].doc.Pages() {
		next.piece, next.page = at.piece, at.page
	}
	p.window.Place(p, next, y)
}

// setUnfolded opens or closes everything.
func (p *Pane) setUnfolded(unfolded bool) {
	p.folds.SetAll(unfolded)
	p.dropLayout()
	p.refresh()
}

// refresh shows the unit under the cursor again after it was laid out anew.
func (p *Pane) refresh() {
	at, y, ok := p.window.Cursor()
	if !ok {
		return
	}
	p.window.Place(p, row{unit: min(at.unit, int32(p.c.countUnits())-1)}, y)
}

// isProse reports whether a block is a text to read.
func isProse(b *conversation.Block) bool {
	switch b.Kind {
	case conversation.Text, conversation.Guard, conversation.Reasoning, conversation.Context, conversation.Failure:
		return true
	}
	return false
}

// AppendRow appends row y of the tab to dst: exactly as many cells as it is
// wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	rows := p.window.Rows()
	switch {
	case p.c == nil || p.c.conv.Len() == 0:
		lines := p.emptyLines()
		if y >= 0 && y < len(lines) {
			r.Fill(p.styles.Text, 2)
			r.Put(p.styles.Muted, lines[y])
		}
	case y >= 0 && y < min(len(rows), p.window.Height()):
		_, at, _ := p.window.Cursor()
		tokens, cursor := p.RowStyle(p.styles, y == at)
		r.Put(tokens.Focus, cursor)
		p.drawRow(&r, tokens, rows[y])
		return r.End(tokens.Text)
	}
	return r.End(p.styles.Text)
}

// emptyLines returns the lines that say that there are no messages, and why.
func (p *Pane) emptyLines() []string {
	const none = "no messages in this state"
	if p.c == nil || p.c.why == "" {
		return []string{none}
	}
	return append([]string{none + ":"}, cell.Wrap(printable.String(p.styles.Glyphs.Sentence(p.c.why)), max(p.w-4, 1), "")...)
}

func (p *Pane) drawRow(r *cell.Row, tokens *theme.Tokens, at row) {
	u := p.unitAt(at.unit)
	v := &u.pieces[at.piece]
	switch v.kind {
	case oneRow:
		v.draw(r, tokens)
	case textRows:
		r.Fill(tokens.Text, v.in-1)
		p.pageOf(u, at.piece, at.page)[at.line].Draw(r, p.styles, tokens, v.style(tokens), p.matches.Query)
	case treeRows:
		p.drawNode(r, tokens, v, v.firstNode()+at.page)
	}
}

// drawNode draws one value of a tree.
func (p *Pane) drawNode(r *cell.Row, tokens *theme.Tokens, v *piece, n jsontape.Node) {
	t := v.tape
	r.Fill(tokens.Text, v.in-1+min(2*(t.Depth(n)-t.Depth(v.firstNode())), p.w/2))
	if n != v.tree {
		value.Key(r, tokens.Name, t, n)
		r.Fill(tokens.Text, 2)
	}
	if t.First(n) != jsontape.None {
		r.Put(tokens.Muted, value.Count(t, n))
		return
	}
	value.Put(r, tokens, t, n)
}
