package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
)

// Parting is where two lines of visits parted, and what each did since.
type Parting struct{ A, B Line }

// Line is one side of a Parting.
type Line struct {
	// Fork is the last visit before the lines parted; model.NoNode where they have nothing
	// in common. In one session it is the same visit for both.
	Fork model.Node
	// Since are the visits behind it, the first one first; none where the line ends there.
	Since []model.Node
}

// Diverge returns where the lines that lead to two visits of the session parted. It reads no
// state.
func (q *Session) Diverge(a, b model.Node) Parting {
	v := q.view()
	x, y := v.path(a), v.path(b)
	same := 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	return parting(x, y, same, same)
}

// DivergeFrom returns where the line that leads to a visit of the session and one that leads
// to a visit of another parted: behind the last state that both were in, or else behind the
// last message that both have in common from the first on. Messages are the same that have the same
// value or the same id. The error is one of reading states.
func (q *Session) DivergeFrom(ctx context.Context, a model.Node, other *Session, b model.Node) (Parting, error) {
	v, w := q.view(), other.view()
	x, y := v.path(a), w.path(b)
	if i, j := v.sameState(x, w, y); i > 0 {
		return parting(x, y, i, j), nil
	}
	all := newNumbered()
	mine, err := v.messageLists(all).along(ctx, x)
	if err != nil {
		return Parting{}, err
	}
	others, err := w.messageLists(all).along(ctx, y)
	if err != nil {
		return Parting{}, err
	}
	i, j := all.together(mine, others)
	return parting(x, y, i, j), nil
}

// parting returns the Parting of two lines that were one for their first i and j visits.
func parting(x, y []model.Node, i, j int) Parting {
	line := func(of []model.Node, n int) Line {
		l := Line{model.NoNode, of[n:]}
		if n > 0 {
			l.Fork = of[n-1]
		}
		return l
	}
	return Parting{line(x, i), line(y, j)}
}

// path returns the visits that lead to one, the first one first.
func (v *view) path(n model.Node) (path []model.Node) {
	for ; n != model.NoNode; n = v.visits[n].parent {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// sameState returns how many visits lead to the last state that both lines were in, or 0. Where
// ids are not hashes of states, only visits count that have the same ids from the first on.
func (v *view) sameState(x []model.Node, w *view, y []model.Node) (i, j int) {
	if v.features.Facts != nil {
		for i < len(x) && i < len(y) && v.visits[x[i]].ref.ID == w.visits[y[i]].ref.ID {
			i++
		}
		return i, i
	}
	last := map[string]int{}
	for i, n := range x {
		last[v.visits[n].ref.ID] = i + 1
	}
	for j := len(y); j > 0; j-- {
		if i := last[w.visits[y[j-1]].ref.ID]; i > 0 {
			return i, j
		}
	}
	return 0, 0
}

// spoken are the messages that were added along a line, and behind each visit how many.
type spoken struct {
	messages []int32
	counts   []int
}

// along returns the messages that the visits of a line add. A state that cannot be read adds none.
func (s *messageLists) along(ctx context.Context, path []model.Node) (all spoken, err error) {
	for n, err := range s.walk(ctx, slices.Values(path)) {
		if err != nil {
			return all, err
		}
		added, _, err := s.adds(n)
		if err != nil && ctx.Err() != nil {
			return all, fmt.Errorf("read the messages: %w", errors.Join(err, ctx.Err()))
		}
		all.messages = append(all.messages, added...)
		all.counts = append(all.counts, len(all.messages))
	}
	return all, nil
}

// together returns how many visits of two lines have added the same messages: the last ones
// behind which both had as many, all of them the same.
func (all *numbered) together(a, b spoken) (i, j int) {
	same := 0
	for same < len(a.messages) && same < len(b.messages) && all.one(a.messages[same], b.messages[same]) {
		same++
	}
	i, _ = slices.BinarySearch(a.counts, same+1)
	j, _ = slices.BinarySearch(b.counts, same+1)
	for i > 0 && j > 0 && a.counts[i-1] != b.counts[j-1] {
		if a.counts[i-1] > b.counts[j-1] {
			i--
		} else {
			j--
		}
	}
	if i == 0 || j == 0 || a.counts[i-1] == 0 {
		return 0, 0 // without a message nothing tells
	}
	return i, j
}

// one reports whether two messages are the same, by their value or their id.
func (all *numbered) one(a, b int32) bool {
	return a == b || all.known[a].id != "" && all.known[a].id == all.known[b].id
}
