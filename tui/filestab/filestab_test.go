package filestab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"hindcast/keymap"
	"hindcast/model/filechange"
	"hindcast/tui/screentest"
)

// steps are changes of every kind.
func steps() Shown {
	const command = "Bash: rm b.txt; mv a.txt c.txt; make all"
	hunk := []filechange.Hunk{{Old: 1, New: 1, Lines: []string{" line one", "-line two", "+LINE 2", " line three, which is so long that a narrow tab has to wrap it once or twice, or more"}}}
	shown := Shown{Title: "#17 → #18", Dir: "/w", Changes: []Change{
		{filechange.Change{Path: "/w/src/a.ts", Hunks: hunk}, "Edit"},
		{filechange.Change{Path: "/w/b.txt", Kind: filechange.Deleted, Hunks: filechange.Compare("x\ny\n", "")}, command},
		{filechange.Change{Path: "/w/n.txt", Kind: filechange.Created, Hunks: filechange.Compare("", "new\n")}, command},
		{filechange.Change{Path: "/w/c.txt", From: "/w/a.txt", Kind: filechange.Moved}, command},
		{filechange.Change{Path: "/etc/\x1b[2Jhosts", Known: filechange.Inferred, Hunks: []filechange.Hunk{{Old: -1, New: -1, Lines: []string{"-a", "+b"}}}}, "MultiEdit"},
	}}
	for i := range 11 {
		shown.Changes = append(shown.Changes, Change{filechange.Change{Path: fmt.Sprintf("/w/n%d.txt", i), Known: filechange.NotRecorded}, "Bash: make more"})
	}
	return shown
}

func show(shown Shown, w, h int) *Pane {
	return screentest.Show(New(screentest.Colourless()), Prepare(shown), w, h)
}

func TestPane_looksAsDrawn(t *testing.T) {
	for _, size := range [][2]int{{100, 30}, {60, 18}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p := show(steps(), size[0], size[1])
			screentest.Do(t, p, keymap.Open, keymap.Bottom, keymap.Unfold)
			golden.RequireEqual(t, []byte(screentest.DrawWithStatus(p, size[1])))
		})
	}
}

func TestPane_foldsAndNamesTheFile(t *testing.T) {
	p := show(steps(), 80, 40)
	if p.FilePath() != "/w/src/a.ts" || strings.Contains(screentest.Draw(p, 40), "+LINE 2") {
		t.Fatalf("the file is %q:\n%s", p.FilePath(), screentest.Draw(p, 40))
	}
	screentest.Do(t, p, keymap.UnfoldAll)
	for _, want := range []string{"+LINE 2", "-x", "+new", "n7.txt", "^[[2Jhosts (outside of the project)"} {
		if got := screentest.Draw(p, 60); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := string(p.Value()); !strings.HasPrefix(got, "@@ -1,3 +1,3 @@\n") {
		t.Errorf("the value is %q", got)
	}
	screentest.Do(t, p, keymap.FoldAll)
	found, err := Find(t.Context(), Prepare(steps()), "line 2")
	if err != nil || !p.SetMatches(found) || !strings.Contains(screentest.Draw(p, 40), "+LINE 2") {
		t.Errorf("the search of a line does not unfold the patch: %v", err)
	}
	one := steps()
	one.Changes = one.Changes[:1]
	if got := screentest.Draw(show(one, 80, 40), 40); !strings.Contains(got, "+LINE 2") {
		t.Errorf("the only file is folded:\n%s", got)
	}
	if got := screentest.Draw(show(Shown{Title: "#1"}, 80, 4), 4); !strings.Contains(got, "no change of a file is recorded") {
		t.Error(got)
	}
}

func TestPane_anySizeAndUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := screentest.AnySize(t, 120)
		shown := steps()
		shown.Changes = shown.Changes[:rapid.IntRange(0, len(shown.Changes)).Draw(t, "changes")]
		p := show(shown, size.W, size.H)
		screentest.AnyUse(t, p, size, func(text string) Matches {
			m, _ := Find(t.Context(), p.c, text)
			return m
		}, map[string]func(*rapid.T){"": func(t *rapid.T) { screentest.Walks(t, p, p.window.Rows()) }})
	})
}
