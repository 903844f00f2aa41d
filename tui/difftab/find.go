package difftab

import (
	"context"
	"slices"

	"hindcast/diff"
	"hindcast/model/jsontape"
	"hindcast/tui/match"
)

// Matches holds the entries that a search found, in their order.
type Matches = match.Found[int32]

// Find searches the changes for a text: their keys, and their old and new values with all members. The time is
// linear in the size of the changes, so it belongs in a command. The rest is as with [match.Find].
func Find(ctx context.Context, c *Content, text string) (Matches, error) {
	if c == nil {
		return Matches{}, ctx.Err()
	}
	return match.Find(ctx, text, len(c.result.Entries), func(q match.Query, i int, add func(int32)) {
		if c.entryHolds(q, &c.result.Entries[i]) {
			add(c.rowEntry(int32(i)))
		}
	})
}

// entryHolds reports whether an entry's key or what it changed holds the query.
func (c *Content) entryHolds(q match.Query, e *diff.Entry) bool {
	if key, ok := c.result.Key(e); ok && q.InString(key) {
		return true
	}
	if e.Op == diff.Within {
		return false
	}
	return valueHolds(q, c.old.tape, e.Old) || valueHolds(q, c.new.tape, e.New)
}

// valueHolds reports whether a value, or anything in it, holds the query.
func valueHolds(q match.Query, t *jsontape.Tape, s diff.Span) bool {
	return s.Start != s.End && q.InTree(t, nodeAt(t, s))
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
	cursor, _, _ := p.window.Cursor()
	i, on := slices.BinarySearch(p.matches.At, cursor.entry)
	return p.matches.ShowMatch(i, on, n, p.showEntry)
}

// showEntry moves the cursor to an entry and opens it.
func (p *Pane) showEntry(entry int32) {
	p.Select(entry)
	p.unfold()
}
