package statetab

import (
	"context"
	"slices"

	"hindcast/model/jsontape"
	"hindcast/tui/match"
)

// Matches holds the values that a search found, in the order of drawing.
type Matches = match.Found[jsontape.Node]

// Find searches the keys and the values of a content for a text. The time is linear in the size of the state, so
// it belongs in a command. The rest is as with [match.Find].
func Find(ctx context.Context, c *Content, text string) (Matches, error) {
	if c == nil {
		return Matches{}, ctx.Err()
	}
	return match.Find(ctx, text, c.tape.Len(), func(q match.Query, i int, add func(jsontape.Node)) {
		if n := c.valueAt(jsontape.Node(i)); q.InKey(c.tape, n) || q.InValue(c.tape, n) {
			add(n)
		}
	})
}

// firstMatch returns the first match at or after n, and whether n is it.
func (p *Pane) firstMatch(n jsontape.Node) (i int, found bool) {
	if n < 0 || len(p.matches.At) == 0 {
		return 0, false
	}
	return slices.BinarySearchFunc(p.matches.At, p.c.placeOf(n), func(m, at jsontape.Node) int { return int(p.c.placeOf(m) - at) })
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
	i, on := p.firstMatch(p.cursorValue())
	return p.matches.ShowMatch(i, on, n, p.Select)
}
