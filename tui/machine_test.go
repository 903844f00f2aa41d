package tui_test

import (
	"path/filepath"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
)

// selectedLine returns the row under the cursor.
func selectedLine(screen string) string {
	for line := range strings.Lines(screen) {
		if strings.Contains(line, "▌") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// On a machine with a store of every kind each row of the list opens, each tab of its session shows something, and
// leaving it leads back to the row.
func TestMachine_opensEverySession(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	dir := t.TempDir()
	m := machine.Machine{Home: filepath.Join(dir, "me"), Work: filepath.Join(dir, "me", "work")}
	if err := machine.Lay(filepath.Join("..", "testdata"), m); err != nil {
		t.Fatal(err)
	}
	h := home.New(kinds.All(nil, ""), home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(nil)
	o.Home = h
	p := start(t, o, 160, 50)
	waitFor(t, p, "132 in 29 stores")
	p.Press(keymap.Picker, keymap.Top)
	rows := 0
	for before := ""; ; rows++ {
		p.Idle()
		row := selectedLine(p.Screen())
		if row == before {
			break
		}
		p.Press(keymap.Picker, keymap.Open)
		p.WaitFor("a session", func(screen string) bool { return strings.Contains(screen, " › ") })
		p.Idle()
		if strings.Contains(lastLine(p), "cannot") || strings.Contains(p.Screen(), "✗ ") && !strings.Contains(p.Screen(), "○") && !strings.Contains(p.Screen(), "◉") {
			t.Errorf("%s opens as\n%s", row, p.Screen())
		}
		p.Press(keymap.Timeline, keymap.Back)
		p.Idle()
		if back := selectedLine(p.Screen()); back != row {
			t.Errorf("left %q and came back to %q", row, back)
		}
		p.Press(keymap.Picker, keymap.MoveDown)
		before = row
	}
	if rows != 120 { // twelve of the 132 are sub-agents of others
		t.Errorf("%d rows were opened, not 120", rows)
	}
}
