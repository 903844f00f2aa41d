package timeline

import (
	"slices"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
)

// folded returns a pane with a session whose first turns are folded.
func folded(t *testing.T) *Pane {
	t.Helper()
	headers := talk("pmxm <2 mm <6 pmm <6 pm pmmm")
	return pane(t, slices.Grow(headers, 20), 60, 12)
}

// A turn folds at any of its rows, and all of them at once. The head that is folded away shows at the header.
func TestPane_foldsTheTurnOfTheCursor(t *testing.T) {
	p := folded(t)
	p.Do(keymap.Fold)
	if got := picture(t, p, 60, 12); p.SelectedNode() != 11 || !strings.Contains(got, "▌ ▸   11 user    words 11                      3 steps 3s ◉") {
		t.Errorf("at %d:\n%s", p.SelectedNode(), got)
	}
	p.Do(keymap.Unfold)
	if p.rows.Len != 8 || !slices.Contains(p.InSight(), 14) {
		t.Errorf("%d rows, %v in sight", p.rows.Len, p.InSight())
	}
	p.Do(keymap.UnfoldAll)
	if p.rows.Len != p.t.Rows() {
		t.Errorf("%d of %d rows", p.rows.Len, p.t.Rows())
	}
	p.Select(7) // on a branch with a turn of its own
	p.Do(keymap.Fold)
	if p.SelectedNode() != 6 || slices.Contains(p.InSight(), 7) || !slices.Contains(p.InSight(), 8) { // the last one of the turn
		t.Errorf("at %d, %v in sight", p.SelectedNode(), p.InSight())
	}
	p.Select(1) // where a branch leaves: first the branch, then the turn
	p.Do(keymap.Fold)
	if got := picture(t, p, 60, 12); p.SelectedNode() != 1 || !strings.Contains(got, "▸2 hidden") {
		t.Errorf("at %d:\n%s", p.SelectedNode(), got)
	}
	p.Do(keymap.Fold)
	if got := picture(t, p, 60, 12); p.SelectedNode() != 0 || strings.Contains(got, "hidden") {
		t.Errorf("at %d:\n%s", p.SelectedNode(), got)
	}
	p.Do(keymap.FoldAll)
	if want := []model.Node{5, 8, 10, 14}; !slices.Equal(p.InSight(), want) {
		t.Errorf("%v in sight, not %v", p.InSight(), want)
	}
}

// Whatever leads to a row that a fold hides opens the turn, and no other.
func TestPane_landsInFoldedTurns(t *testing.T) {
	for _, c := range []struct {
		do   string
		land func(p *Pane)
		want model.Node
	}{
		{"next error", func(p *Pane) { p.NextFailed() }, 2},
		{"search", func(p *Pane) {
			m, err := Find(t.Context(), p.c, Labels{}, "make")
			if err != nil || !p.SetMatches(m) {
				t.Fatal(err)
			}
		}, 2},
		{"branches", func(p *Pane) { p.Do(keymap.Top); p.Do(keymap.NextBranch) }, 1},
		{"step back", func(p *Pane) { p.Select(9); p.Do(keymap.StepBack) }, 5},
		{"scrubber", func(p *Pane) { p.ScrubTo(4, 20) }, 2},
		{"child", func(p *Pane) { p.Do(keymap.Top); p.Do(keymap.Child) }, 1},
	} {
		p := folded(t)
		c.land(p)
		if p.SelectedNode() != c.want || p.isHidden(c.want) {
			t.Errorf("%s: at %d, not %d", c.do, p.SelectedNode(), c.want)
		}
		if !p.folds.HasFold(9) || !p.folds.HasFold(6) {
			t.Errorf("%s opens other turns", c.do)
		}
	}
}

// The keys that the issue counts: a prompt is one key away, a command that failed at most two.
func TestPane_keysToAPrompt(t *testing.T) {
	p := folded(t)
	for _, step := range []struct {
		do   keymap.Action
		want model.Node
	}{
		{keymap.PrevPrompt, 11}, {keymap.PrevPrompt, 9}, {keymap.PrevPrompt, 6}, {keymap.PrevPrompt, 0}, {keymap.PrevPrompt, 0},
		{keymap.NextPrompt, 6}, {keymap.NextPrompt, 9}, {keymap.NextPrompt, 11}, {keymap.NextPrompt, 11},
	} {
		if p.Do(step.do); p.SelectedNode() != step.want {
			t.Errorf("after %s at %d, not %d", step.do, p.SelectedNode(), step.want)
		}
	}
	if p.rows.Len != 8 {
		t.Errorf("going from prompt to prompt opened turns: %d rows", p.rows.Len)
	}
	p = pane(t, talk("p xm pm"), 60, 12)
	p.Do(keymap.PrevPrompt)
	p.Do(keymap.PrevPrompt)
	if p.NextFailed(); p.SelectedNode() != 1 {
		t.Errorf("the error is not the next: %d", p.SelectedNode())
	}
}

// A mark, labels and matches in a folded turn show at its header.
func TestPane_headersShowWhatFoldsHide(t *testing.T) {
	p := folded(t)
	p.Mark(4)
	p.SetLabels(PlaceLabels(p.t, labelsOf(talk("pmmmmm"), 4, 5)))
	m, err := Find(t.Context(), p.c, Labels{}, "make")
	if err != nil {
		t.Fatal(err)
	}
	p.matches = m
	first, _ := p.c.Turns.TurnFrom(0)
	if got := picture(t, p, 60, 12); !strings.HasPrefix(got, " =▸    0 user    words 0                3 steps 5s ✗1 ◌1 ◊2\n") || p.holds(first, m.nodes) != 1 {
		t.Errorf("%s", got)
	}
	p.Do(keymap.UnfoldAll)
	if got := picture(t, p, 60, 22); strings.Contains(got, "◊") || strings.HasPrefix(got, " =") {
		t.Errorf("%s", got)
	}
}

// A session that grows keeps its folds. The last turn takes in what follows, folded or not, and a prompt opens another.
func TestPane_turnsGrow(t *testing.T) {
	p := folded(t)
	p.Select(9)
	p.folds.Fold(11)
	p.refold()
	grow := func(event string) {
		fresh := after(p, 1)
		fresh[0].Event, fresh[0].EventName = model.SnapshotEventNamed, event
		if !p.c.Takes(fresh) {
			t.Fatal("not taken")
		}
		p.Append(fresh)
	}
	grow("after model")
	if got := picture(t, p, 60, 12); p.rows.Len != 5 || !strings.Contains(got, "▸   11 user    words 11                         4 steps ◉") {
		t.Errorf("%d rows:\n%s", p.rows.Len, got)
	}
	grow("user input")
	grow("after model")
	if turn, _ := p.c.Turns.TurnFrom(16); p.rows.Len != 7 || turn.Steps != 1 {
		t.Errorf("%d rows:\n%s", p.rows.Len, picture(t, p, 60, 12))
	}
	if p.SelectedNode() != 9 || !p.folds.HasFold(0) || p.folds.CountHidden(11) != 4 {
		t.Errorf("at %d, %d hidden", p.SelectedNode(), p.folds.CountHidden(11))
	}
	p.Renew(p.c.With(nil), Matches{})
	if p.SelectedNode() != 9 || !p.folds.HasFold(0) || p.rows.Len != 7 {
		t.Errorf("read anew: at %d, %d rows", p.SelectedNode(), p.rows.Len)
	}
}

// A click on the sign of a turn folds it, and opens it again. Elsewhere it selects the row.
func TestPane_clickFoldsATurn(t *testing.T) {
	p := folded(t)
	for _, c := range []struct{ x, y, rows, at int }{{2, 0, 14, 0}, {2, 0, 8, 0}, {4, 2, 10, 6}, {4, 2, 8, 6}, {9, 3, 8, 9}, {2, 5, 8, 12}} {
		p.Click(c.x, c.y)
		if p.rows.Len != c.rows || p.SelectedNode() != model.Node(c.at) {
			t.Errorf("click on %d, %d: %d rows at %d, not %d at %d", c.x, c.y, p.rows.Len, p.SelectedNode(), c.rows, c.at)
		}
	}
}

// A call and its result are one row. What names the call leads to it all the same, and a label gives it a row.
func TestPane_callsAndResultsAreOneRow(t *testing.T) {
	h := func(id, parent string, title string) model.Header {
		return model.Header{ID: id, ParentID: parent, Index: int(id[0] - 'a'), Event: model.SnapshotEventNamed, EventName: "after model", Title: title}
	}
	p := pane(t, []model.Header{h("a", "", "hello"), h("b", "a", "$ ls"), h("c", "b", "$ ls  3 lines"), h("d", "c", "$ cat a"), h("e", "d", "$ cat a  no"), h("f", "e", "done")}, 60, 10)
	rows := func() (ids string) {
		for _, n := range p.InSight() {
			ids += p.t.Header(n).ID
		}
		return ids
	}
	hold := func(what, want string, cursor model.Node) {
		t.Helper()
		if got := rows(); got != want || p.SelectedNode() != cursor {
			t.Errorf("%s: rows %s and the cursor on %d, want %s and %d", what, got, p.SelectedNode(), want, cursor)
		}
	}
	hold("opened", "acef", 5)
	p.Do(keymap.StepBack)
	p.Do(keymap.StepBack)
	hold("a step back passes the call", "acef", 2)
	p.Do(keymap.StepForward)
	hold("and a step forward", "acef", 4)
	found, err := Find(t.Context(), p.c, p.labels, "#1")
	if err != nil || !p.SetMatches(found) {
		t.Fatal(err)
	}
	hold("its name leads to it", "abcef", 1)
	p.Do(keymap.Fold)
	hold("folded again", "acef", 2)
	p.Do(keymap.Unfold)
	hold("unfolded at the result", "abcef", 2)
	p.Do(keymap.FoldAll)
	p.SetLabels(PlaceLabels(p.t, []model.Label{{Name: "here", ID: "d"}}))
	hold("a label on the other call", "acdef", 2)
	p.Do(keymap.FoldAll)
	hold("all folded", "acdef", 2)

	prompt := h("a", "", "hello")
	prompt.EventName = "user input"
	p = pane(t, []model.Header{prompt, h("b", "a", "$ ls"), h("c", "b", "$ ls  3 lines"), h("d", "c", "done")}, 60, 10)
	p.Do(keymap.FoldAll)
	hold("the turn folded, with the head that its header shows", "d", 0)
	p.Select(2)
	hold("a result in a folded turn", "acd", 2)
	p.Do(keymap.FoldAll)
	p.Select(1)
	hold("a call in a folded turn", "abcd", 1)
}
