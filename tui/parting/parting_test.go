package parting

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/screentest"
)

// Both lines together have every visit behind the fork once, in order, and no visit stands
// beside one of another turn.
func TestPrepare_hasEveryVisitOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(rt, "visits")
		headers := make([]model.Header, n)
		for i := range headers {
			h := model.Header{ID: fmt.Sprint("s", i), SessionID: "s", Visit: int64(i + 1), Index: i}
			if i > 0 {
				parent := rapid.IntRange(0, i-1).Draw(rt, "parent")
				h.ParentID, h.ParentVisit = headers[parent].ID, int64(parent+1)
				h.TurnIndex = headers[parent].TurnIndex + rapid.IntRange(0, 2).Draw(rt, "turns")
			}
			headers[i] = h
		}
		tree := model.NewTimeline(headers)
		left := model.Node(rapid.IntRange(0, n-1).Draw(rt, "left"))
		right := model.Node(rapid.IntRange(0, n-1).Draw(rt, "right"))
		c := Prepare(tree, left, right)
		for side, tip := range [...]model.Node{left, right} {
			var want, got []model.Node
			for at := tip; at != c.Fork; at = tree.Parent(at) {
				want = append([]model.Node{at}, want...)
			}
			for _, r := range c.rows {
				if r.sides[side] != model.NoNode {
					got = append(got, r.sides[side])
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Fatalf("side %d has %v, want %v", side, got, want)
			}
		}
		for i, r := range c.rows {
			for _, n := range r.sides {
				if n != model.NoNode && tree.Header(n).TurnIndex != r.turn {
					rt.Fatalf("row %d of turn %d has a visit of turn %d", i, r.turn, tree.Header(n).TurnIndex)
				}
			}
		}
	})
}

// Nothing and lines that are one are drawn, too, and every row is as wide as the pane.
func TestPane_ofOneLine(t *testing.T) {
	tree := model.NewTimeline([]model.Header{{ID: "a", SessionID: "s", Visit: 1}, {ID: "b", SessionID: "s", Visit: 2, ParentID: "a", ParentVisit: 1, Index: 1, Title: "said"}})
	p := New(screentest.Colourless())
	p.Resize(50, 8)
	screentest.Exact(t, p, 50, 8)
	p.Set(Prepare(tree, 1, 1), 1)
	if got := screentest.Draw(p, 8); !strings.Contains(got, "one of them leads to the other") || p.Do(keymap.MoveDown) || p.Node() != model.NoNode {
		t.Errorf("%s", got)
	}
	p.Set(Prepare(tree, 1, 0), 1)
	if got := screentest.Draw(p, 8); !strings.Contains(got, "▌#1 said") || p.Node() != 1 || p.Title() != "#0 → #1 since #0" {
		t.Errorf("%s: %s", p.Title(), got)
	}
	for _, a := range []keymap.Action{keymap.Unfold, keymap.Top, keymap.Bottom, keymap.PageDown} {
		if p.Do(a); p.Node() != 1 {
			t.Errorf("%s leads to %d", a, p.Node())
		}
	}
	for w := range 60 {
		p.Resize(w, 8)
		screentest.Exact(t, p, w, 8)
	}
}
