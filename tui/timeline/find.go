package timeline

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/tui/match"
)

// Matches is what a search found: the nodes, in the order of their rows. The
// zero Matches is no search.
type Matches struct {
	nodes []model.Node // by row
	set   map[model.Node]struct{}
}

// Len gives the number of matches.
func (m *Matches) Len() int { return len(m.nodes) }

func (m *Matches) has(n model.Node) bool {
	_, ok := m.set[n]
	return ok
}

// often is how many headers are looked at between two looks at the context.
const often = 4096

// Find searches a timeline: titles, ids, events, positions and marks that hold
// the query in any case, or, for a query such as "#12", the index itself. The
// time is linear in the number of snapshots, so it belongs in a command. The
// error is the context's.
func Find(ctx context.Context, c *Content, query string) (Matches, error) {
	m := Matches{set: map[model.Node]struct{}{}}
	t, fits := c.Timeline, wanted(query)
	for i := range t.Rows() {
		if i%often == 0 && ctx.Err() != nil {
			return Matches{}, ctx.Err()
		}
		if n := t.Row(i).Node; n != model.NoNode && fits(t.Header(n)) {
			m.nodes = append(m.nodes, n)
			m.set[n] = struct{}{}
		}
	}
	return m, nil
}

// wanted gives the test that a query makes on headers.
func wanted(query string) func(*model.Header) bool {
	if digits, ok := strings.CutPrefix(query, "#"); ok {
		if index, err := strconv.Atoi(digits); err == nil {
			return func(h *model.Header) bool { return h.Index == index }
		}
	}
	q := match.New(query)
	return func(h *model.Header) bool {
		return q.InString(h.Title) || q.InString(h.ID) || q.InString(h.EventText()) || q.InString(h.Position) ||
			h.Marks != 0 && slices.ContainsFunc(marks, func(m mark) bool { return h.Marks.Has(m.is) && q.InString(m.word) })
	}
}

// SetMatches shows what a search in the content found, and moves the cursor to
// the first match at or after it, going round at the end. It reports whether
// there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	if m.Len() == 0 {
		return false
	}
	p.Select(m.nodes[p.nextMatch()])
	return true
}

// nextMatch gives the number of the first match at or after the cursor, 0 where
// there is none.
func (p *Pane) nextMatch() int {
	row := p.t.RowOf(p.cursor)
	i, _ := slices.BinarySearchFunc(p.matches.nodes, row, func(n model.Node, row int) int { return p.t.RowOf(n) - row })
	return i % len(p.matches.nodes)
}

// Match moves the cursor by n matches, going round at the ends, and gives the
// number of the match from 1 and how many there are; both are 0 for none.
func (p *Pane) Match(n int) (at, of int) {
	of = p.matches.Len()
	if of == 0 {
		return 0, 0
	}
	i := p.nextMatch()
	if p.matches.nodes[i] != p.cursor && n > 0 {
		n--
	}
	i = ((i+n)%of + of) % of
	p.Select(p.matches.nodes[i])
	return i + 1, of
}
