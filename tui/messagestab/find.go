package messagestab

import (
	"context"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/tui/match"
)

// Matches holds the places that a search found in the conversation, in their order.
type Matches = match.Found[place]

// place is a page of a text, or a whole unit that is not one.
type place struct{ unit, page int32 }

// Find searches the texts, the names of the tools, their arguments and their results for a text. A result is found
// where it shows, with its call. Within a long text a match is a page, about 8 kB. The time is linear in the size of
// the conversation, so it belongs in a command. The rest is as with [match.Find].
func Find(ctx context.Context, c *Content, text string) (Matches, error) {
	if c == nil {
		return Matches{}, ctx.Err()
	}
	return match.Find(ctx, text, c.conv.BlockLen(), c.searchBlock)
}

// searchBlock adds the places in a block that hold the query.
func (c *Content) searchBlock(q match.Query, block int, add func(place)) {
	b, unit := c.conv.Block(block), int32(c.unitOf(block))
	switch {
	case b.Kind == conversation.ToolResult && b.Pair >= 0:
		return // found with its call
	case isProse(b) && b.Body >= 0 && !c.conv.IsEncrypted(b):
		if !q.InValue(c.conv.Tape(), b.Body) {
			return
		}
		v := c.textOf(b)
		for page := range v.doc.Pages() {
			if v.doc.Holds(page, q) {
				add(place{unit, int32(page)})
			}
		}
		return
	}
	if q.InTree(c.conv.Tape(), b.Node) || q.InString(c.conv.ToolName(b)) || b.Pair >= 0 && q.InTree(c.conv.Tape(), c.conv.Block(int(b.Pair)).Node) {
		add(place{unit: unit})
	}
}

// SetMatches shows what a search in the content found, and moves the cursor to
// the first match at or after it, going round at the end. It reports whether
// there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	at, _ := p.Match(0)
	return at > 0
}

// Match moves the cursor by n matches, going round at the ends. It returns the number of the match from 1 and
// the number of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	i, on := p.nearestMatch()
	return p.matches.ShowMatch(i, on, n, p.showPlace)
}

// nearestMatch returns the first match at or after the cursor, and whether the cursor
// is on it.
func (p *Pane) nearestMatch() (i int, on bool) {
	at, _, _ := p.window.Cursor()
	return slices.BinarySearchFunc(p.matches.At, at, func(m place, at row) int {
		if m.unit != at.unit || p.unitAt(at.unit).pieces[at.piece].kind != textRows {
			return int(m.unit - at.unit)
		}
		return int(m.page - at.page)
	})
}

// longestLook bounds the rows of values that are looked at for the one with the match.
const longestLook = 2000

// showPlace moves the cursor to the first row of a place that holds the query, and
// opens the unit for that.
func (p *Pane) showPlace(at place) {
	if u := p.unitAt(at.unit); u.foldable && !p.isOpen(at.unit) {
		p.turnUnit(at.unit)
	}
	first := p.firstRow(at)
	for piece := int(first.piece); piece < len(p.unitAt(at.unit).pieces); piece++ {
		if r, ok := p.matchingRow(at, int32(piece)); ok {
			first = r
			break
		}
	}
	p.window.Place(p, first, p.window.Height()/2)
}

// matchingRow returns the row of a piece at a place that shows the query, or the first row of the page that has it
// across lines or in its marks.
func (p *Pane) matchingRow(at place, piece int32) (row, bool) {
	u := p.unitAt(at.unit)
	switch v := &u.pieces[piece]; v.kind {
	case textRows:
		for page := at.page; int(page) < v.doc.Pages(); page++ {
			if !v.doc.Holds(int(page), p.matches.Query) {
				continue
			}
			lines := p.pageOf(u, piece, page)
			for i, line := range lines {
				if p.matches.Query.InString(line.String()) {
					return row{at.unit, piece, page, int32(i)}, true
				}
			}
			for i := range lines[1:] { // a line breaks in it
				if p.matches.Query.InString(lines[i].String() + " " + strings.TrimSpace(lines[i+1].String())) {
					return row{at.unit, piece, page, int32(i)}, true
				}
			}
			return row{at.unit, piece, page, 0}, true
		}
	case treeRows:
		last := min(v.firstNode()+longestLook, v.tape.End(v.tree))
		for n := v.firstNode(); n < last; n++ {
			if p.matches.Query.InValue(v.tape, n) || n != v.tree && p.matches.Query.InKey(v.tape, n) {
				return row{unit: at.unit, piece: piece, page: n - v.firstNode()}, true
			}
		}
	}
	return row{}, false
}

// firstRow returns the row at which a place begins.
func (p *Pane) firstRow(at place) row {
	if at.page == 0 {
		return row{unit: at.unit}
	}
	pieces := p.unitAt(at.unit).pieces
	i := slices.IndexFunc(pieces, func(v piece) bool { return v.kind == textRows })
	return row{unit: at.unit, piece: int32(max(i, 0)), page: at.page}
}
