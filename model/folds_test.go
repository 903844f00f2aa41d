package model

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// visible draws what folds leave of a timeline: ids, and behind a fold the
// number of visits that it hides.
func visible(f *Folds) string {
	var ids []string
	for i := range f.Rows() {
		row := f.t.Row(f.Row(i))
		if row.Node == NoNode {
			continue
		}
		id := f.t.Header(row.Node).ID
		if f.Folded(row.Node) {
			id += "+" + string(rune('0'+f.Hidden(row.Node)))
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

func TestFolds_hideWhatHangsOnANode(t *testing.T) {
	headers, _ := picture{"", `
g gone orphaned  ¦
h g orphaned     ¦
0                ¦
1 0              ¦
2 1 orphaned     ¦
3 2 orphaned     ¦
4 2 orphaned     ¦
5 1              ¦
6 5              ¦
7 6 orphaned     ¦
`}.read(t)
	tl := NewTimeline(headers)
	node := func(id string) Node {
		n, err := tl.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	f := NewFolds(tl)
	steps := []struct {
		do      string
		changed bool
		want    string
	}{
		{"", false, "g h 0 1 2 3 4 5 6 7"},
		{"fold 3", false, "g h 0 1 2 3 4 5 6 7"}, // a leaf
		{"fold 0", false, "g h 0 1 2 3 4 5 6 7"}, // nothing but the path hangs on it
		{"fold 1", true, "g h 0 1+3 5 6 7"},      // the branch, not the path
		{"fold 1", false, "g h 0 1+3 5 6 7"},     // it is folded
		{"fold 6", true, "g h 0 1+3 5 6+1"},      // the head
		{"unfold 5", false, "g h 0 1+3 5 6+1"},   // it is not folded
		{"fold 2", true, "g h 0 1+3 5 6+1"},      // inside another
		{"unfold 1", true, "g h 0 1 2+2 5 6+1"},  // which now shows
		{"all", false, "g+1 0 1+3 5 6+1"},
		{"fold g", false, "g+1 0 1+3 5 6+1"},   // it is folded already
		{"none", false, "g h 0 1 2 3 4 5 6 7"}, // and the inner folds are gone
		{"unfold 2", false, "g h 0 1 2 3 4 5 6 7"},
	}
	for _, step := range steps {
		verb, id, _ := strings.Cut(step.do, " ")
		changed := false
		switch verb {
		case "fold":
			changed = f.Fold(node(id))
		case "unfold":
			changed = f.Unfold(node(id))
		case "all":
			f.FoldAll()
		case "none":
			f.UnfoldAll()
		}
		if got := visible(f); got != step.want || changed != step.changed {
			t.Errorf("%s: %q, changed %v; not %q, %v", step.do, got, changed, step.want, step.changed)
		}
	}
}

// Whatever is folded, rows map to visible rows and back as plain counting says.
func TestFolds_mapRowsAsPlainCountingDoes(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		headers := randomHeaders(rng)
		cut := rng.IntN(len(headers) + 1)
		tl := NewTimeline(slices.Clone(headers[:cut]))
		f := NewFolds(tl)
		folded := make(map[Node]bool)
		for range 12 {
			switch rng.IntN(8) {
			case 0:
				more := headers[cut:min(len(headers), cut+rng.IntN(3))]
				tl.Append(more...)
				cut += len(more)
			case 1:
				tl = NewTimeline(slices.Clone(headers[:cut]))
				f.Rebase(tl)
			case 2:
				f.FoldAll()
				clear(folded)
				for n := range Node(tl.Len()) {
					if tl.OnPath(n) || tl.Parent(n) == NoNode {
						folded[n] = true
					}
				}
			default:
				if tl.Len() == 0 {
					continue
				}
				n := Node(rng.IntN(tl.Len()))
				if rng.IntN(3) > 0 {
					f.Fold(n)
					folded[n] = true
				} else {
					f.Unfold(n)
					delete(folded, n)
				}
			}
			// A fold with nothing to hide is none.
			maps.DeleteFunc(folded, func(n Node, _ bool) bool { return len(hangsOn(tl, n)) == 0 })
			checkFolds(t, tl, f, folded)
			if t.Failed() {
				t.Fatalf("seed %d: %+v", seed, headers[:cut])
			}
		}
	}
}

// hangsOn lists the nodes that a fold at n hides: its descendants, without
// those that are reached through the active path.
func hangsOn(tl *Timeline, n Node) (hidden []Node) {
	for c := range tl.Children(n) {
		if tl.OnPath(c) {
			continue
		}
		hidden = append(hidden, c)
		hidden = append(hidden, hangsOn(tl, c)...)
	}
	return hidden
}

// checkFolds compares folds with a list of hidden rows.
func checkFolds(t *testing.T, tl *Timeline, f *Folds, folded map[Node]bool) {
	t.Helper()
	hiddenBy := make([]int, tl.Rows()) // the row of the outermost fold, plus one
	for row := range tl.Rows() {
		n := tl.Row(row).Node
		if n == NoNode || !folded[n] || hiddenBy[row] != 0 {
			continue
		}
		hangs := hangsOn(tl, n)
		if !f.Folded(n) || f.Hidden(n) != len(hangs) {
			t.Errorf("fold at %d: %v, hides %d, not %d", n, f.Folded(n), f.Hidden(n), len(hangs))
			return
		}
		last := row
		for _, c := range hangs {
			last = max(last, tl.RowOf(c))
		}
		for r := row + 1; r <= last; r++ {
			hiddenBy[r] = row + 1
		}
	}
	seen := 0
	for row, by := range hiddenBy {
		want := seen
		if by != 0 {
			want = f.Visible(by - 1)
		}
		if f.Visible(row) != want {
			t.Errorf("row %d is visible at %d, not %d", row, f.Visible(row), want)
			return
		}
		if by != 0 {
			continue
		}
		if f.Row(seen) != row {
			t.Errorf("visible row %d is %d, not %d", seen, f.Row(seen), row)
			return
		}
		seen++
	}
	if f.Rows() != seen {
		t.Errorf("%d rows are visible, not %d", f.Rows(), seen)
	}
}
