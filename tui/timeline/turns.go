package timeline

import (
	"bytes"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/when"
)

// How turns are drawn and folded.
//
// The row of the visit that opens a turn is the header of its turn: it has the sign of the
// fold in place of its shape, the person's words as its title, and what the turn came to at
// the right. So each row stays a visit, and each visit a row. A folded turn hides the rest of
// its rows with the branches that leave among them, and its header counts the failures of all; that of an open turn
// counts its own.

// foldEarlier folds all turns but that of the cursor, where the session records prompts and is longer than a screen.
// A pane without a size folds them when it gets one. What has a label stays in view.
func (p *Pane) foldEarlier() {
	p.unsized = p.rows.Height == 0
	if turns := p.c.Turns; turns.HasPrompts() && !p.unsized && p.folds.Rows() > p.rows.Height {
		p.folds.FoldTurns(p.cursor)
	}
	p.showLabelled()
}

// turnAt returns the turn on whose line n is, and whether there is one.
func (p *Pane) turnAt(n model.Node) (model.Turn, bool) {
	turn, in := p.c.Turns.TurnOf(n)
	if !in || !p.c.Turns.DivideSession() {
		return turn, false
	}
	return turn, p.t.Row(p.t.RowOf(turn.First)).Lane == p.t.Row(p.t.RowOf(n)).Lane
}

// CountTurns returns the number of turns.
func (p *Pane) CountTurns() int { return p.c.Turns.Len() }

// shapeOf returns the shape of a visit: a sign of the fold where it opens a turn.
func (p *Pane) shapeOf(n model.Node) model.Shape {
	turn, opens := p.c.Turns.TurnFrom(n)
	switch {
	case opens && turn.HidesRows() && p.folds.HasFold(n):
		return model.Closed
	case opens && (turn.HidesRows() || p.c.Turns.HasPrompts()):
		return model.Opened
	}
	return model.Plain
}

// LastOf returns the last visit of the turn that n opens where that is folded, else n.
func (p *Pane) LastOf(n model.Node) model.Node {
	if p.shapeOf(n) == model.Closed {
		turn, _ := p.c.Turns.TurnFrom(n)
		return turn.Last
	}
	return n
}

// SetCosts has the headers of turns show what each cost: cost returns it for people by the first visit, "" where it is
// not known.
func (p *Pane) SetCosts(cost func(first model.Node) string) { p.cost = cost }

// signAt returns the cell of a row that has the shape of its visit.
func (p *Pane) signAt(row model.Row) int {
	return 2 + 2*min(row.Lane, p.columns.lanes-1)
}

// promptFrom returns the nearest visit above the cursor that opens a turn, or for a positive step the nearest one
// below it. It returns NoNode if there is no such visit.
func (p *Pane) promptFrom(step int) model.Node {
	turns, row := p.c.Turns, p.t.RowOf(p.cursor)
	i := turns.SearchRow(row) - 1
	if step > 0 {
		i = turns.SearchRow(row + 1)
	}
	if i < 0 || i >= turns.Len() {
		return model.NoNode
	}
	return turns.Turn(i).First
}

// rowNode returns the visit whose row n shows in: n itself, or the first visit of the turn that hides it.
func (p *Pane) rowNode(n model.Node) model.Node {
	return p.t.Row(p.folds.Row(p.folds.Visible(p.t.RowOf(n)))).Node
}

// holds returns how many nodes of a list, ordered by row, are in the rows of a turn.
func (p *Pane) holds(turn model.Turn, list []model.Node) int {
	place := func(row int) int {
		i, _ := slices.BinarySearchFunc(list, row, func(n model.Node, row int) int { return p.t.RowOf(n) - row })
		return i
	}
	return place(turn.EndRow()) - place(p.t.RowOf(turn.First))
}

// ownFailures returns how many visits of a turn failed, without those of the turns on branches that leave it.
func (p *Pane) ownFailures(turn model.Turn) (n int) {
	at, _ := slices.BinarySearchFunc(p.c.failed, p.t.RowOf(turn.First), func(n model.Node, row int) int { return p.t.RowOf(n) - row })
	for ; at < len(p.c.failed) && p.t.RowOf(p.c.failed[at]) < turn.EndRow(); at++ {
		if of, in := p.c.Turns.TurnOf(p.c.failed[at]); in && of.First == turn.First {
			n++
		}
	}
	return n
}

// The cells that a title keeps beside all that its turn came to: that of a prompt, and that of a call with its outcome.
const (
	words   = 20
	outcome = 32
)

// appendSums writes what a turn came to: its steps, the time, the cost, failures, branches, and what a fold hides
// besides. Where that leaves the title less than it needs of its words, the time goes first, then the cost, and then the
// steps of a turn that is not folded.
func (p *Pane) appendSums(dst []byte, turn model.Turn, folded bool, room int) []byte {
	g, from := &p.styles.Glyphs, len(dst)
	var tail []byte
	count := func(sign string, n int) {
		if n > 0 {
			tail = strconv.AppendInt(append(append(tail, ' '), sign...), int64(n), 10)
		}
	}
	if folded {
		count(g.Error, p.holds(turn, p.c.failed))
	} else {
		count(g.Error, p.ownFailures(turn))
	}
	count(g.Orphaned, turn.Branches)
	if folded {
		hidden := p.holds(turn, p.labels.nodes)
		if len(p.labels.Of(turn.First)) > 0 {
			hidden--
		}
		count(g.Label, hidden)
		if head := p.t.Head(); head != model.NoNode && head != turn.First && p.rowNode(head) == turn.First {
			tail = append(append(tail, ' '), g.Head...)
		}
	}
	var took, cost []byte
	first, last := p.t.Header(turn.First).CreatedAt, p.t.Header(turn.Last).CreatedAt
	if !first.IsZero() && last.After(first) {
		took = append(took, ' ')
		if took = when.AppendShort(took, last.Sub(first)); took[1] == '+' {
			took = slices.Delete(took, 1, 2)
		}
	}
	if p.cost != nil {
		if said := p.cost(turn.First); said != "" {
			cost = append(append(cost, ' '), said...)
		}
	}
	keep := outcome
	if p.c.Turns.HasPrompts() {
		keep = words
	}
	for _, parts := range [][][]byte{{took, cost, tail}, {cost, tail}, {tail}} {
		dst = append(dst[:from], model.Count(turn.Steps, "step")...)
		for _, part := range parts {
			dst = append(dst, part...)
		}
		if left := room - 1 - cell.Width(string(dst[from:])); left >= keep || titleFits(p.t.Header(turn.First).Title, left) {
			return dst
		}
	}
	dst = dst[:from]
	if folded {
		dst = strconv.AppendInt(dst, int64(turn.Steps), 10)
	} else {
		tail = bytes.TrimPrefix(tail, []byte(" "))
	}
	return append(dst, tail...)
}
