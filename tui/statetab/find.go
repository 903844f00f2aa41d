package statetab

import (
	"context"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/tui/match"
)

// Matches holds the values that a search found, in the order of drawing. The zero Matches is no search.
type Matches struct {
	query match.Query
	nodes []jsontape.Node
	more  bool
}

// most bounds how many matches are kept.
const most = 10_000

// often is how many values are looked at between two looks at the context.
const often = 4096

// Find searches the keys and the values of a content for a text, whatever its
// case, and stops at 10,000 matches. The time is linear in the size of the
// state, so it belongs in a command. The error is the context's.
func Find(ctx context.Context, c *Content, query string) (Matches, error) {
	m := Matches{query: match.New(query)}
	if c == nil || m.query.Empty() {
		return m, ctx.Err()
	}
	for at := range jsontape.Node(c.tape.Len()) {
		if at%often == 0 && ctx.Err() != nil {
			return Matches{}, ctx.Err()
		}
		n := c.valueAt(at)
		if !m.query.InKey(c.tape, n) && !m.query.InValue(c.tape, n) {
			continue
		}
		if len(m.nodes) == most {
			m.more = true
			break
		}
		m.nodes = append(m.nodes, n)
	}
	return m, nil
}

// Len returns the number of matches, and whether there are more than are kept.
func (m *Matches) Len() (n int, more bool) { return len(m.nodes), m.more }

// firstMatch returns the first match at or after n, and whether n is it.
func (p *Pane) firstMatch(n jsontape.Node) (i int, found bool) {
	if n < 0 {
		return 0, false
	}
	return slices.BinarySearchFunc(p.matches.nodes, p.c.placeOf(n), func(m, at jsontape.Node) int { return int(p.c.placeOf(m) - at) })
}

// SetMatches shows what a search in the content found, and moves the cursor to
// the first match at or after it, going round at the end. It reports whether
// there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	if p.c == nil || len(m.nodes) == 0 {
		return false
	}
	i, _ := p.firstMatch(p.cursorValue())
	p.Select(m.nodes[i%len(m.nodes)])
	return true
}

// Match moves the cursor by n matches, going round at the ends. It returns the number of the match from 1 and
// the number of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	of = len(p.matches.nodes)
	if p.c == nil || of == 0 {
		return 0, 0
	}
	i, on := p.firstMatch(p.cursorValue())
	if !on && n > 0 {
		n--
	}
	i = ((i+n)%of + of) % of
	p.Select(p.matches.nodes[i])
	return i + 1, of
}
