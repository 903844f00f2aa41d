package tui_test

import (
	"strings"
	"testing"

	"hindcast/keymap"
)

// The history of the value under the cursor lists its changes on all branches; the timeline
// goes along with the cursor, Enter stays there and Esc goes back.
func TestAsk_historyOfTheValueUnderTheCursor(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "/")
	p.Type("total")
	keys(p, "enter", "b")
	shows(t, p, "History of /cart/total", "○ #0    turn 0   + 0", "~ 0 → 60.5", "◌ #11.1", "▌○ #11.2 turn 6   ~ 205.5 → 210")
	p.Key("k")
	shows(t, p, "▌ │ ◌ 11.1")
	p.Key("esc")
	shows(t, p, "[State]", "▌ ◉   13")
	keys(p, "6", "g", "j", "enter")
	shows(t, p, "[State]", "2 of ")
	lacks(t, p, "▌ ◉   13")
	before := p.Screen()
	p.Key("n")
	if p.Screen() == before {
		t.Error("n goes to no other answer")
	}
	p.Key("N")
	if !strings.Contains(p.Screen(), "2 of ") {
		t.Errorf("N does not go back:\n%s", p.Screen())
	}
}

// < and > go along the line of the snapshot to where the value changed.
func TestAsk_stepsToTheChange(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "/")
	p.Type("total")
	p.Key("enter")
	var names []string
	for {
		p.Press(keymap.State, keymap.PrevSet)
		line := lastLine(p)
		if strings.Contains(line, "no change before") {
			break
		}
		if names = append(names, line); len(names) > 10 {
			t.Fatalf("it goes on for ever: %q", names)
		}
	}
	shows(t, p, "▌ ○    0")
	if want := "/cart/total + 0"; len(names) < 4 || names[len(names)-1] != want {
		t.Errorf("the steps back are %q, which end with %q", names, want)
	}
	p.Press(keymap.State, keymap.NextSet)
	shows(t, p, names[len(names)-2])
}

// A value that is a number is drawn as a sparkline, in ASCII too.
func TestAsk_sparkline(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "/")
	p.Type("total")
	keys(p, "enter", "b")
	shows(t, p, "▁", "█")
}

// Where no value is selected, the path is asked for, and what is none is said.
func TestAsk_pathIsTyped(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "5", "b")
	p.Type("cart/total")
	p.Key("enter")
	shows(t, p, "History of /cart/total", "~ 0 → 60.5")
	keys(p, "esc", "b")
	p.Type("~x")
	p.Key("enter")
	shows(t, p, "is no path")
	keys(p, "b")
	p.Type("nowhere")
	p.Key("enter")
	shows(t, p, "History of /nowhere", "none")
}
