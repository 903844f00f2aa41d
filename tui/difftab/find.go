package difftab

import (
	"context"
	"slices"

	"hindcast/diff"
	"hindcast/model/jsontape"
	"hindcast/tui/match"
)

// Matches holds the entries that a search found, in their order. The zero Matches is no search.
type Matches struct {
	query   match.Query
	entries []int32
	more    bool
}

// most bounds how many matches are kept.
const most = 10_000

// Find searches the changes for a text, whatever its case: their keys, and their old and new values with all
// members. It stops at 10,000 matches. The time is linear in the size of the changes, so it belongs in a
// command. The error is the context's.
func Find(ctx context.Context, c *Content, query string) (Matches, error) {
	m := Matches{query: match.New(query)}
	if c == nil || m.query.Empty() {
		return m, ctx.Err()
	}
	for i := range c.result.Entries {
		if err := ctx.Err(); err != nil {
			return Matches{}, err
		}
		if !c.entryHolds(m.query, &c.result.Entries[i]) {
			continue
		}
		if len(m.entries) == most {
			m.more = true
			break
		}
		if at := c.rowEntry(int32(i)); !slices.Contains(m.entries[max(0, len(m.entries)-1):], at) {
			m.entries = append(m.entries, at)
		}
	}
	return m, nil
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
	if s.Start == s.End {
		return false
	}
	n := nodeAt(t, s)
	for at := n; at < t.End(n); at++ {
		if q.InValue(t, at) || at != n && q.InKey(t, at) {
			return true
		}
	}
	return false
}

// Len returns the number of matches, and whether there are more than are kept.
func (m *Matches) Len() (n int, more bool) { return len(m.entries), m.more }

func (m *Matches) has(entry int32) bool {
	_, found := slices.BinarySearch(m.entries, entry)
	return found
}

// SetMatches shows what a search in the content found, and moves the cursor to
// the first match at or after it, going round at the end. It reports whether
// there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	at, _, ok := p.window.Cursor()
	if !ok || len(m.entries) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(m.entries, at.entry)
	p.showEntry(m.entries[i%len(m.entries)])
	return true
}

// Match moves the cursor by n matches, going round at the ends. It returns the number of the match from 1 and
// the number of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	of = len(p.matches.entries)
	cursor, _, ok := p.window.Cursor()
	if !ok || of == 0 {
		return 0, 0
	}
	i, on := slices.BinarySearch(p.matches.entries, cursor.entry)
	if !on && n > 0 {
		n--
	}
	i = ((i+n)%of + of) % of
	p.showEntry(p.matches.entries[i])
	return i + 1, of
}

// showEntry moves the cursor to an entry and opens it.
func (p *Pane) showEntry(entry int32) {
	p.Select(entry)
	p.unfold()
}
