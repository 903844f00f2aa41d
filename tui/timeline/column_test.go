package timeline

import (
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
)

// Columns that were asked for have a title above, stand before the time at the right, and
// are left out from the last on where the titles would have fewer than their cells.
func TestPane_columns(t *testing.T) {
	p := pane(t, trip(t), 70, 12)
	p.SetColumns([]Column{
		{Title: "node", Width: 5, Right: true, Text: func(n, _ model.Node) (string, bool) { return strconv.Itoa(int(n)), n != 13 }},
		{Title: "long title", Width: 6, Text: func(_, _ model.Node) (string, bool) { return "value of some length", true }},
	})
	got := picture(t, p, 70, 12)
	lines := strings.Split(got, "\n")
	if !strings.HasSuffix(lines[0], " node long …") {
		t.Errorf("no titles:\n%s", got)
	}
	if p.CountFitting() != 2 || !strings.Contains(got, "   12 value…") || !strings.Contains(got, "    … value…") {
		t.Errorf("no columns:\n%s", got)
	}
	if len(p.InSight()) == 0 || !strings.Contains(lines[1], " "+strconv.Itoa(int(p.InSight()[0]))+" value") {
		t.Errorf("in sight are %v:\n%s", p.InSight(), got)
	}
	first := p.InSight()[0]
	if p.Click(10, 1); p.SelectedNode() != first {
		t.Errorf("a click on the first row selects %d", p.SelectedNode())
	}
	for _, tc := range []struct{ w, fitted int }{{70, 2}, {38, 1}, {24, 0}} {
		p.Resize(tc.w, 12)
		if p.CountFitting() != tc.fitted {
			t.Errorf("%d columns at %d cells, want %d:\n%s", p.CountFitting(), tc.w, tc.fitted, picture(t, p, tc.w, 12))
		}
		picture(t, p, tc.w, 12)
	}
	p.SetColumns(nil)
	if got := picture(t, p, 24, 12); strings.Contains(got, "node") {
		t.Errorf("the columns stay:\n%s", got)
	}
}
