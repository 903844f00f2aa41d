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
		if f.HasFold(row.Node) {
			id += "+" + string(rune('0'+f.CountHidden(row.Node)))
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
	node := func(id string) Node { return nodeOf(tl, id) }
	f := NewFolds(tl, nil)
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

// The steps of a turn are hidden until they are asked for, on the path and off.
func TestFolds_hideTheStepsOfATurn(t *testing.T) {
	headers, _ := picture{"", `
a - v1           ¦
s a v2 step #1   ¦
t s v3 step #1   ¦
b a v4 ^v3 #1    ¦
u a v5 step #1   ¦
c a v6 ^v5 #1    ¦
d c v7 #2        ¦
`}.read(t)
	tl := NewTimeline(headers)
	f := NewFolds(tl, nil)
	node := func(id string) Node { return nodeOf(tl, id) }
	steps := []struct {
		do, id  string
		changed bool
		want    string
	}{
		{"", "", false, "a b c d"},
		{"hide", "b", false, "a b c d"}, // they are hidden
		{"show", "d", false, "a b c d"}, // it has none
		{"show", "s", true, "a s t b c d"},
		{"show", "t", false, "a s t b c d"},
		{"show", "c", true, "a s t b u c d"},
		{"fold", "t", false, "a s t b u c d"}, // what hangs on a step is its snapshot
		{"fold", "a", true, "a+3 u c d"},
		{"hide", "u", true, "a+3 c d"},
		{"unfold", "a", true, "a s t b c d"},
		{"hide", "b", true, "a b c d"},
		{"none", "", false, "a s t b u c d"},
		{"all", "", false, "a+3 c d"},
		{"show", "s", true, "a+3 c d"}, // inside another
	}
	for _, step := range steps {
		changed := false
		switch step.do {
		case "show":
			changed = f.ShowSteps(node(step.id))
		case "hide":
			changed = f.HideSteps(node(step.id))
		case "fold":
			changed = f.Fold(node(step.id))
		case "unfold":
			changed = f.Unfold(node(step.id))
		case "all":
			f.FoldAll()
		case "none":
			f.UnfoldAll()
		}
		if got := visible(f); got != step.want || changed != step.changed {
			t.Errorf("%s %s: %q, changed %v; not %q, %v", step.do, step.id, got, changed, step.want, step.changed)
		}
	}
	f.UnfoldAll()
	tl.Append(Header{ID: "v", SessionID: "s", ParentID: "d", Visit: 8, Index: 3, Marks: MarkTraced},
		Header{ID: "e", SessionID: "s", ParentID: "d", Visit: 9, ParentVisit: 8, Index: 3})
	if got := visible(f); got != "a s t b u c d e" {
		t.Errorf("a turn that was appended shows as %q", got)
	}
	if got := f.Steps(node("e")); got != 1 {
		t.Errorf("%d of its steps are hidden", got)
	}
}

// Whatever is folded, rows map to visible rows and back as plain counting says.
func TestFolds_mapRowsAsPlainCountingDoes(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		headers := randomHeaders(rng)
		for i := range headers {
			headers[i].Title = []string{"", "$ ls", "$ ls  3 lines", "said"}[rng.IntN(4)]
		}
		cut := rng.IntN(len(headers) + 1)
		tl := NewTimeline(slices.Clone(headers[:cut]))
		f := NewFolds(tl, nil)
		folded, open := make(map[Node]bool), make(map[Node]bool)
		for range 12 {
			switch rng.IntN(10) {
			case 0:
				more := headers[cut:min(len(headers), cut+rng.IntN(3))]
				tl.Append(more...)
				cut += len(more)
			case 1:
				tl = NewTimeline(slices.Clone(headers[:cut]))
				f.Rebase(tl, nil)
			case 2:
				f.FoldAll()
				clear(folded)
				clear(open)
				for n := range Node(tl.Len()) {
					if tl.OnPath(n) {
						folded[n] = true
					} else if end := tl.EndOf(n); tl.Parent(n) == NoNode && end != NoNode {
						folded[end] = true
					}
				}
			case 3:
				f.UnfoldAll()
				clear(folded)
				for n := range Node(tl.Len()) {
					open[n] = len(stepsOf(tl, n)) > 0
				}
			case 4, 5:
				if tl.Len() == 0 {
					continue
				}
				n := Node(rng.IntN(tl.Len()))
				end, changed, hides := tl.EndOf(n), false, false
				if next := tl.Next(n); next != NoNode && slices.Contains(stepsOf(tl, next), tl.RowOf(n)) && !tl.IsStep(n) {
					end = next
				}
				show := rng.IntN(3) > 0
				if end != NoNode {
					hides = len(stepsOf(tl, end)) > 0 && open[end] != show
				}
				if show {
					changed = f.ShowSteps(n)
				} else {
					changed = f.HideSteps(n)
				}
				if hides {
					open[end] = show
				}
				if changed != hides {
					t.Errorf("steps of %d: changed %v, not %v", n, changed, hides)
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
			maps.DeleteFunc(folded, func(n Node, _ bool) bool { return len(hangsOn(tl, n)) == 0 || tl.IsStep(n) })
			checkFolds(t, tl, f, folded, open)
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

// stepsOf lists the rows of the steps before the snapshot n, from the last.
func stepsOf(tl *Timeline, n Node) (rows []int) {
	if tl.IsStep(n) {
		return nil
	}
	for row := tl.RowOf(n) - 1; row >= 0; row-- {
		at := tl.Row(row).Node
		if at == NoNode || !tl.IsStep(at) || tl.Parent(tl.Row(row+1).Node) != at {
			break
		}
		rows = append(rows, row)
	}
	if call := tl.Parent(n); len(rows) == 0 && call != NoNode && hidesCall(tl, call, n) {
		rows = append(rows, tl.RowOf(call))
	}
	return rows
}

// hidesCall reports whether the row of n stands for the call before it, by the letter of the rule.
func hidesCall(tl *Timeline, call, n Node) bool {
	children := 0
	for range tl.Children(call) {
		children++
	}
	was, is := tl.Header(call), tl.Header(n)
	return children == 1 && call != tl.Head() && tl.RowOf(call)+1 == tl.RowOf(n) && !tl.IsStep(call) && (tl.Parent(call) == NoNode || !tl.IsStep(tl.Parent(call))) &&
		was.Title == "$ ls" && is.Title == "$ ls  3 lines" && was.Event != SnapshotEventToolIterationEnd && was.EventName != userInput && was.Marks&^is.Marks == 0 && was.Orphaned == is.Orphaned
}

// A result tells its call again where it names each call, and more.
func TestHeader_answers(t *testing.T) {
	const tool = SnapshotEventToolIterationEnd
	for _, c := range []struct {
		call, result Header
		want         bool
	}{
		{Header{Title: "$ ls", Event: -1}, Header{Title: "$ ls  3 lines", Event: tool}, true},
		{Header{Title: "$ ls", Event: -1}, Header{Title: "$ ls  3 lines", Event: -1, EventName: "tools"}, true},
		{Header{Title: "$ ls", Event: -1}, Header{Title: "$ lsof  3 lines", Event: tool}, false},
		{Header{Title: "$ ls · $ cat a", Event: -1}, Header{Title: "$ cat a  no such file · $ ls  3 lines", Event: tool}, true},
		{Header{Title: "$ ls · $ cat a", Event: -1}, Header{Title: "$ ls  3 lines", Event: tool}, false},
		{Header{Title: "I look. ($ ls)", Event: -1}, Header{Title: "$ ls  3 lines", Event: tool}, false},
		{Header{Title: "◱ a.txt 1-80", Event: -1}, Header{Title: "◱ a.txt 1-80", Event: tool}, true},
		{Header{Title: "◱ a.txt 1-80", Event: -1}, Header{Title: "◱ a.txt 1-80", Event: -1}, false}, // a copy
		{Header{Title: "$ ls", Event: tool}, Header{Title: "$ ls  3 lines", Event: tool}, false},
		{Header{Title: "$ ls", EventName: userInput, Event: -1}, Header{Title: "$ ls  3 lines", Event: tool}, false},
		{Header{Title: "$ ls", Event: -1, Marks: MarkInterrupted}, Header{Title: "$ ls  3 lines", Event: tool}, false},
		{Header{Title: "$ ls", Event: -1, Marks: MarkEvicted}, Header{Title: "$ ls  3 lines", Event: tool, Marks: MarkEvicted | MarkError}, true},
		{Header{Title: "", Event: -1}, Header{Title: "$ ls  3 lines", Event: tool}, false},
	} {
		if got := c.result.answers(&c.call); got != c.want {
			t.Errorf("%q, then %q: %v", c.call.Title, c.result.Title, got)
		}
	}
}

// A call keeps its row where it opens a turn, and where a branch leaves it.
func TestFolds_showCallsThatSayMore(t *testing.T) {
	h := func(id, parent string, turn int, title string) Header {
		return Header{ID: id, ParentID: parent, TurnIndex: turn, Event: SnapshotEventNamed, EventName: "after model", Title: title}
	}
	list := []Header{h("a", "", 0, "hello"), h("b", "a", 1, "$ ls"), h("c", "b", 1, "$ ls  3 lines"), h("d", "c", 1, "$ ls"), h("e", "d", 1, "$ ls  3 lines")}
	tl := NewTimeline(list)
	f := NewFolds(tl, FindTurns(tl))
	if got := visible(f); got != "a b c e" {
		t.Errorf("%q", got)
	}
	tl.Append(h("f", "d", 1, "another"))
	if got := visible(f); got != "a b c d e f" {
		t.Errorf("with a branch behind the call: %q", got)
	}
}

// checkFolds compares folds with a list of hidden rows.
func checkFolds(t *testing.T, tl *Timeline, f *Folds, folded, open map[Node]bool) {
	t.Helper()
	hiddenBy := make([]int, tl.Rows()) // the row of the outermost fold, plus one
	for row := range tl.Rows() {
		n := tl.Row(row).Node
		if n == NoNode || !folded[n] || hiddenBy[row] != 0 {
			continue
		}
		hangs := hangsOn(tl, n)
		if !f.HasFold(n) || f.CountHidden(n) != len(hangs) {
			t.Errorf("fold at %d: %v, hides %d, not %d", n, f.HasFold(n), f.CountHidden(n), len(hangs))
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
	for n := range Node(tl.Len()) {
		steps := stepsOf(tl, n)
		if open[n] {
			steps = nil
		}
		if !tl.IsStep(n) && f.RowsBefore(n) != len(steps) {
			t.Errorf("%d rows before %d are hidden, not %d", f.RowsBefore(n), n, len(steps))
			return
		}
		for _, row := range steps {
			if hiddenBy[tl.RowOf(n)] == 0 {
				hiddenBy[row] = tl.RowOf(n) + 1
			}
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

// nodeOf returns the first node of an id, NoNode for none.
func nodeOf(tl *Timeline, id string) Node {
	for i := range tl.Len() {
		if tl.headers.id(i) == id {
			return Node(i)
		}
	}
	return NoNode
}
