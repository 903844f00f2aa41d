package filestab

import (
	"context"
	"slices"
	"strings"

	"hindcast/tui/match"
)

// Find searches the paths and the patches for a text, as [match.Find] does. A match is a file.
func Find(ctx context.Context, c *Content, text string) (Matches, error) {
	if c == nil {
		return Matches{}, ctx.Err()
	}
	return match.Find(ctx, text, len(c.files), func(q match.Query, i int, add func(int32)) {
		f := &c.files[i]
		if q.InString(f.path) || q.InString(f.how) || q.InString(f.patch) {
			add(int32(i))
		}
	})
}

// SetMatches shows what a search found, and moves the cursor to the first match at or after it, going round at the end.
// It reports whether there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	at, _ := p.Match(0)
	return at > 0
}

// Match moves the cursor by n matches, going round at the ends, and unfolds the patch that has the text. It returns the
// number of the match from 1 and the number of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	under, _, _ := p.window.Cursor()
	i, on := slices.BinarySearch(p.matches.At, max(under.file, 0))
	return p.matches.ShowMatch(i, on, n, p.showMatch)
}

// showMatch moves the cursor to a file, or to the line of its patch that shows the text.
func (p *Pane) showMatch(file int32) {
	_, y, _ := p.window.Cursor()
	to := row{file: file}
	if f := &p.c.files[file]; !p.matches.Query.InString(f.path) && p.matches.Query.InString(f.patch) {
		if !p.isOpen(file) {
			p.folds.TurnRow(file)
		}
		for k, line := range p.patchOf(file) {
			if p.matches.Query.InString(strings.TrimSpace(line.String())) {
				to.line = int32(k + 1)
				break
			}
		}
	}
	p.window.Place(p, to, y)
}
