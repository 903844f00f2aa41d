package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/tui/screentest"
)

// At a failure the screen tells the facts of hindcast why, and each line leads there; esc comes back.
func TestWhy_failure(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 18}, {100, 30}, {160, 45}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			p := trip(t, size[0], size[1])
			p.Press(keymap.Timeline, keymap.Why)
			shows(t, p, "Why a call failed up to #13", "failed  book_hotel", "from    /hotel", "worked  book_hotel", "before  is the snapshot", "1 of 4 facts")
			p.Golden()
			for i, tab := range []string{"[Messages]", "[Messages]", "[Messages]", "[Diff]"} {
				if i > 0 {
					p.Press(keymap.Session, keymap.Answers)
					p.Press(keymap.Tab, keymap.MoveDown)
				}
				at := []string{"3", "1", "4", "2"}[i]
				p.Press(keymap.Tab, keymap.Open)
				shows(t, p, tab, fmt.Sprintf("Why a call failed up to #13: %d of 4 facts", i+1))
				standsAt(t, p, at)
				p.Press(keymap.Timeline, keymap.ShowDiff)
			}
			p.Press(keymap.Timeline, keymap.GoHead, keymap.Why)
			p.Press(keymap.Tab, keymap.MoveDown, keymap.Back)
			standsAt(t, p, "13")
		})
	}
}

// standsAt holds that the cursor of the timeline is on a snapshot.
func standsAt(t *testing.T, p *screentest.Program, index string) {
	t.Helper()
	for line := range strings.Lines(p.Screen()) {
		if row, is := strings.CutPrefix(line, "│▌ "); is {
			if fields := strings.Fields(row); len(fields) < 2 || fields[1] != index {
				t.Errorf("the cursor is on %q, not on %s", line, index)
			}
			return
		}
	}
	t.Errorf("no row has the cursor:\n%s", p.Screen())
}

// Where no call failed, that is said, and nothing else shows.
func TestWhy_noFailure(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.Top, keymap.Why)
	shows(t, p, "no call failed on the line to #0", "[Diff]")
}

// At a value of the State tab the facts are the visit that set it, its earlier values and the values of other branches.
func TestWhy_value(t *testing.T) {
	t.Parallel()
	p := trip(t, 160, 45)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.Open)
	toPath(t, p, "total")
	p.Press(keymap.State, keymap.Why)
	p.Golden()
	shows(t, p, "Why /cart/total is so at #13", "set     set it to", "by  ", "was     ", "else    ", "on the branch that parted at", "before  is the snapshot before it was set")
	p.Press(keymap.Tab, keymap.Open)
	shows(t, p, "[State]")
}

// toPath moves the cursor of the State tab to the first row with a word.
func toPath(t *testing.T, p *screentest.Program, word string) {
	t.Helper()
	p.Press(keymap.State, keymap.Search)
	p.Type(word)
	p.Key("enter")
}
