package messagestab

import (
	"context"
	"slices"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/match"
	"hindcast/tui/prose"
)

// Matches holds the places that a search found in the conversation, in their order. The zero Matches is no
// search.
type Matches struct {
	query  match.Query
	places []place
	more   bool
}

// place is a page of a text, or a whole unit that is not one.
type place struct{ unit, page int32 }

// most bounds how many matches are kept.
const most = 10_000

// Find searches the texts, the names of the tools, their arguments and their
// results for a text, whatever its case, and stops at 10,000 matches. A result
// is found where it shows, with its call. Within a long text a match is a page,
// about 8 kB. The time is linear in the size of the conversation, so it belongs
// in a command. The error is the context's.
func Find(ctx context.Context, c *Content, query string) (Matches, error) {
	m := Matches{query: match.New(query)}
	if c == nil || m.query.Empty() {
		return m, ctx.Err()
	}
	for b := range c.conv.BlockLen() {
		if err := ctx.Err(); err != nil {
			return Matches{}, err
		}
		for at := range c.searchBlock(m.query, b) {
			if len(m.places) == most {
				m.more = true
				return m, nil
			}
			m.places = append(m.places, at)
		}
	}
	return m, nil
}

// searchBlock returns the places in a block that hold the query.
func (c *Content) searchBlock(q match.Query, block int) func(yield func(place) bool) {
	return func(yield func(place) bool) {
		b, unit := c.conv.Block(block), int32(c.unitOf(block))
		t := c.conv.Tape()
		switch {
		case b.Kind == conversation.ToolResult && b.Pair >= 0:
			return // found with its call
		case isProse(b) && b.Body >= 0 && !c.conv.IsEncrypted(b):
			text := prose.Of(t, b.Body)
			for page := range text.Pages() {
				if text.Holds(page, q) && !yield(place{unit, int32(page)}) {
					return
				}
			}
			return
		}
		found := c.subtreeHolds(q, b.Node) || q.InString(c.conv.ToolName(b))
		if !found && b.Pair >= 0 {
			found = c.subtreeHolds(q, c.conv.Block(int(b.Pair)).Node)
		}
		if found {
			yield(place{unit: unit})
		}
	}
}

// subtreeHolds reports whether a key or a value in n's subtree holds the query.
func (c *Content) subtreeHolds(q match.Query, n jsontape.Node) bool {
	t := c.conv.Tape()
	for at := n; at < t.End(n); at++ {
		if q.InValue(t, at) || at != n && q.InKey(t, at) {
			return true
		}
	}
	return false
}

// Len returns the number of matches, and whether there are more than are kept.
func (m *Matches) Len() (n int, more bool) { return len(m.places), m.more }

// SetMatches shows what a search in the content found, and moves the cursor to
// the first match at or after it, going round at the end. It reports whether
// there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	if p.c == nil || len(m.places) == 0 {
		return false
	}
	i, _ := p.nearestMatch()
	p.showPlace(m.places[i%len(m.places)])
	return true
}

// Match moves the cursor by n matches, going round at the ends. It returns the number of the match from 1 and
// the number of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	of = len(p.matches.places)
	if p.c == nil || of == 0 {
		return 0, 0
	}
	i, on := p.nearestMatch()
	if !on && n > 0 {
		n--
	}
	i = ((i+n)%of + of) % of
	p.showPlace(p.matches.places[i])
	return i + 1, of
}

// nearestMatch returns the first match at or after the cursor, and whether the cursor
// is on it.
func (p *Pane) nearestMatch() (i int, on bool) {
	at, _, _ := p.window.Cursor()
	return slices.BinarySearchFunc(p.matches.places, at, func(m place, at row) int {
		if m.unit != at.unit || p.unitAt(at.unit).pieces[at.piece].kind != textRows {
			return int(m.unit - at.unit)
		}
		return int(m.page - at.page)
	})
}

// longestLook bounds the rows that are looked at for the one with the match.
const longestLook = 2000

// showPlace moves the cursor to the first row of a place that holds the query, and
// opens the unit for that.
func (p *Pane) showPlace(at place) {
	if u := p.unitAt(at.unit); u.foldable && !p.isOpen(at.unit) {
		p.turn(at.unit)
	}
	first := p.firstRow(at)
	r, ok := first, true
	for range longestLook {
		if !ok || r.unit != at.unit || r.page > at.page && p.unitAt(r.unit).pieces[r.piece].kind == textRows {
			break
		}
		if p.rowHolds(r) {
			first = r
			break
		}
		r, ok = p.Next(r)
	}
	p.window.Place(p, first, p.window.Height()/2)
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

// rowHolds reports whether what a row shows holds the query.
func (p *Pane) rowHolds(r row) bool {
	u := p.unitAt(r.unit)
	switch v := &u.pieces[r.piece]; v.kind {
	case textRows:
		return p.matches.query.InString(p.pageOf(u, r.piece, r.page)[r.line])
	case treeRows:
		n := v.firstNode() + r.page
		return p.matches.query.InValue(v.tape, n) || n != v.tree && p.matches.query.InKey(v.tape, n)
	}
	return false
}
