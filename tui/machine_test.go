package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/keymap"
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
	o, m := machineOptions(t)
	p := start(t, o, 160, 50)
	sessions, subAgents := countMachine(t, m)
	waitFor(t, p, fmt.Sprintf("%d in %d stores", sessions, len(machine.Kinds())))
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
	if rows != sessions-subAgents {
		t.Errorf("%d rows were opened of %d sessions, of which %d are sub-agents of others", rows, sessions, subAgents)
	}
}
