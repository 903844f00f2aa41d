package query

import (
	"context"
	"iter"
	"sort"

	"hindcast/model"
)

// Freed counts what removing the visits off the active path would free.
type Freed struct {
	// Snapshots counts the visits that would go, steps left out.
	Snapshots int
	// Bytes is how much text of their states no visit on the path has, and Of how much
	// text the states of the session have. Text that several states share counts once.
	Bytes, Of int64
}

// Freed counts what removing the visits off the active path would free. A state that
// cannot be read counts as one without text. An error concerns reading all of them.
func (q *Session) Freed(ctx context.Context) (f Freed, err error) {
	v := q.view()
	var seen cover
	for _, path := range []bool{true, false} {
		var before []piece
		for n, err := range v.walk(ctx, v.those(path)) {
			if err != nil {
				return f, err
			}
			if !path && !v.visits[n].traced {
				f.Snapshots++
			}
			pieces := v.rope(n).pieces
			from, to := changed(before, pieces)
			for _, p := range pieces[from:to] {
				for _, new := range seen.add(p) {
					f.Of += int64(new.n)
					if !path {
						f.Bytes += int64(new.n)
					}
				}
			}
			before = pieces
		}
	}
	return f, nil
}

// those returns the visits that are on the active path, or those that are not, in the order
// in which they were recorded.
func (v *view) those(path bool) iter.Seq[model.Node] {
	return func(yield func(model.Node) bool) {
		for n := range v.nodes() {
			if v.visits[n].onPath == path && !yield(n) {
				return
			}
		}
	}
}

// changed returns which pieces of b are not among those that a begins or ends with.
func changed(a, b []piece) (from, to int) {
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	to = len(b)
	for end := len(a); end > from && to > from && a[end-1] == b[to-1]; to-- {
		end--
	}
	return from, to
}

// cover is a set of places of the text: pieces in order, which neither touch nor overlap.
type cover struct{ pieces []piece }

// add adds a piece, and returns the parts of it that were not in the set.
func (c *cover) add(p piece) (new []piece) {
	first := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].end() >= p.off })
	last := first
	whole := p
	for ; last < len(c.pieces) && c.pieces[last].off <= whole.end(); last++ {
		in := c.pieces[last]
		if in.off > p.off {
			new = append(new, piece{p.off, in.off - p.off})
		}
		if in.end() >= p.end() {
			p = piece{p.end(), 0}
		} else if in.end() > p.off {
			p = piece{in.end(), p.end() - in.end()}
		}
		from, end := min(whole.off, in.off), max(whole.end(), in.end())
		whole = piece{from, end - from}
	}
	if p.n > 0 {
		new = append(new, p)
	}
	switch {
	case len(new) == 0: // it is one of them
	case last == first:
		c.pieces = append(c.pieces, piece{})
		copy(c.pieces[first+1:], c.pieces[first:])
		c.pieces[first] = whole
	default:
		c.pieces[first] = whole
		c.pieces = append(c.pieces[:first+1], c.pieces[last:]...)
	}
	return new
}
