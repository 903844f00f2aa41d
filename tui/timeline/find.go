package timeline

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/tui/match"
)

// Matches is the result of a search: the nodes, in the order of their rows. The
// zero Matches is no search.
type Matches struct {
	nodes []model.Node // by row
	set   map[model.Node]struct{}
	fits  func(*model.Timeline, model.Node) bool // nil for no search
}

// Len returns the number of matches.
func (m *Matches) Len() int { return len(m.nodes) }

func (m *Matches) has(n model.Node) bool {
	_, ok := m.set[n]
	return ok
}

// often is how many headers are looked at between two looks at the context.
const often = 4096

// Find searches a timeline: for a query such as "12", "#12" or "#12.2", the index or
// the name itself; for "label:opera", labels with that in their name, and for "label:" all;
// for any other, and for a number that is no index, titles, ids, events, positions, marks,
// and names and notes of labels that hold the query in any case. The time is linear in the
// number of snapshots, so it belongs in a command. The error is the context's.
func Find(ctx context.Context, c *Content, labels Labels, query string) (Matches, error) {
	if fits := labels.labelTest(query); fits != nil {
		return Matches{fits: fits}.In(ctx, c)
	}
	if fits := nameTest(query); fits != nil {
		m, err := Matches{fits: fits}.In(ctx, c)
		if err != nil || m.Len() > 0 || query[0] == '#' {
			return m, err
		}
	}
	return Matches{fits: textTest(labels, query)}.In(ctx, c)
}

// In makes the same search in another content; no search finds nothing. The
// rest is as with Find.
func (m Matches) In(ctx context.Context, c *Content) (Matches, error) {
	if m.fits == nil {
		return m, nil
	}
	found := Matches{set: map[model.Node]struct{}{}, fits: m.fits}
	for i := range c.Timeline.Rows() {
		if i%often == 0 && ctx.Err() != nil {
			return Matches{}, ctx.Err()
		}
		found.addIfFits(c.Timeline, c.Timeline.Row(i).Node)
	}
	return found, nil
}

// addIfFits takes n in if it fits; NoNode never does.
func (m *Matches) addIfFits(t *model.Timeline, n model.Node) {
	if n != model.NoNode && m.fits(t, n) {
		m.nodes = append(m.nodes, n)
		m.set[n] = struct{}{}
	}
}

// extendFrom looks at the nodes from one on, which are drawn below all others.
func (m *Matches) extendFrom(t *model.Timeline, from model.Node) {
	if m.fits == nil {
		return
	}
	for n := from; int(n) < t.Len(); n++ {
		m.addIfFits(t, n)
	}
}

// nameTest returns the test whether a node has an index or a name; nil for a query that
// is neither.
func nameTest(query string) func(*model.Timeline, model.Node) bool {
	digits, sharp := strings.CutPrefix(query, "#")
	if index, err := strconv.Atoi(digits); err == nil {
		return func(t *model.Timeline, n model.Node) bool { return t.Header(n).Index == index && !t.IsStep(n) }
	}
	if !sharp || len(digits) == 0 {
		return nil
	}
	return func(t *model.Timeline, n model.Node) bool {
		var buf [48]byte
		return string(t.AppendName(buf[:0], n)) == query
	}
}

// textTest returns the test whether what is told of a node holds a text.
func textTest(labels Labels, query string) func(*model.Timeline, model.Node) bool {
	q := match.New(query)
	return func(t *model.Timeline, n model.Node) bool {
		h := t.Header(n)
		return q.InString(h.Title) || q.InString(h.ID) || q.InString(h.EventText()) || q.InString(h.EventWord()) || q.InString(h.Position) || q.InString(h.ProgramText()) ||
			labels.holdsText(h.Ref(), q) || h.Marks != 0 && slices.ContainsFunc(h.Marks.Words(), q.InString)
	}
}

// Matches returns the matches that SetMatches was given, and the later matches of appended rows.
func (p *Pane) Matches() Matches { return p.matches }

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
	of = p.matches.Len()
	if of == 0 {
		return 0, 0
	}
	i, on := p.placeIn(p.matches.nodes)
	i = match.Step(i, on, n, of)
	p.Select(p.matches.nodes[i])
	return i + 1, of
}
