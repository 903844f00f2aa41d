package tui_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
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
	shows(t, p, "▌ │ ▿ 11.1")
	p.Key("esc")
	shows(t, p, "[State]", "▌ ◉   13")
	keys(p, "8", "g", "j", "enter")
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

// Until something is typed a key opens the help of a field, and esc leads back to it.
func TestAsk_saysWhatCanBeTyped(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{100, 30}, {60, 18}} {
		p := trip(t, size[0], size[1])
		keys(p, "F")
		shows(t, p, "find where (jq)", "? what can be typed")
		p.Type("?")
		shows(t, p, "What can be typed", ".cart.total > 100")
		p.Key("esc")
		p.Type(".cart.total? > 100")
		shows(t, p, "find where (jq): .cart.total? > 100")
		lacks(t, p, "What can be typed")
		keys(p, "f1")
		shows(t, p, "What can be typed")
		keys(p, "esc", "esc", "w", "?")
		shows(t, p, "one watch less")
		keys(p, "esc", "esc", "f", "?")
		shows(t, p, "new session", "that no session of the store has")
		p.Key("esc")
	}
}

// Where no value is selected, the path is asked for, and what is none is said.
func TestAsk_pathIsTyped(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "7", "b")
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

// F goes to the next snapshot at which an expression becomes true; n and N go on, and the
// list has all of them.
func TestAsk_findsWhereAnExpressionBecomesTrue(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	find := func(expr string) {
		p.Key("F")
		p.Key("ctrl+u")
		p.Type(expr)
		p.Key("enter")
	}
	p.Key("g")
	find(".cart.total > 200")
	shows(t, p, "▌ │ ▿  6.1", "1 of 2 snapshots")
	p.Key("n")
	shows(t, p, "▌ ○    7.2", "2 of 2 snapshots")
	keys(p, "n", "N", "N")
	shows(t, p, "1 of 2 snapshots")
	p.Press(keymap.Timeline, keymap.GoHead)
	find(".cart.total == 0")
	shows(t, p, "▌ ○    0", "1 of 2 snapshots") // behind the head there is none
	p.Key("8")
	shows(t, p, "Where .cart.total == 0", "◌ #11.1", "becomes true")
	keys(p, "esc")
	find(".cart.total < 0")
	shows(t, p, "never")
	find(".cart.total >")
	shows(t, p, "is no expression of jq")
	p.Key("v")
	shows(t, p, ".cart.total > <-- here -->")
	p.Key("esc")
	find(".cart.total | error")
	p.Key("8")
	shows(t, p, "✗")
}

// What is watched stands in the rows, is kept for the store, and goes again.
func TestAsk_watches(t *testing.T) {
	t.Parallel()
	kept := &keeper{}
	o := options(demoStore(t))
	o.Session, o.Watches = sample.Trip, kept
	p := start(t, o, 140, 36)
	watch := func(text string) {
		p.Key("w")
		p.Type(text)
		p.Key("enter")
	}
	watch("/cart/total")
	watch(".messages | length")
	shows(t, p, " total .messages |…", " 60.5  ", " 205.5 18")
	if want := []string{"/cart/total", ".messages | length"}; !slices.Equal(kept.texts(), want) {
		t.Errorf("kept are %q", kept.texts())
	}
	again := start(t, o, 140, 36)
	shows(t, again, " total .messages |…", " 205.5 18")
	watch("/cart/total")
	lacks(t, p, " total ")
	watch("")
	lacks(t, p, ".messages |…")
	if len(kept.texts()) > 0 {
		t.Errorf("kept are %q", kept.texts())
	}
	watch(".a |")
	shows(t, p, "is no expression of jq")
	watch(`.cart.total | error("no")`)
	shows(t, p, "✗")
	keys(p, "2", "enter", "j", "j", "w")
	shows(t, p, "watch (jq or path; none: one less): /")
}

// keeper keeps watches in memory.
type keeper struct {
	mu   sync.Mutex
	list []string
}

func (k *keeper) texts() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list
}

func (k *keeper) Watches(context.Context, store.Store) ([]string, error) { return k.texts(), nil }

func (k *keeper) SetWatches(_ context.Context, _ store.Store, texts []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = texts
	return nil
}

// From a mark, B finds the first bad snapshot, shows what changed there, and keeps the log of
// its tests.
func TestAsk_bisects(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	p.Key("B")
	shows(t, p, "bisect from mark: no snapshot is marked")
	keys(p, "g", "=", "B")
	shows(t, p, "go to a bad one")
	p.Press(keymap.Timeline, keymap.GoHead)
	p.Key("B")
	p.Type(".cart.total < 200")
	p.Key("enter")
	shows(t, p, "▌ ○    7.2", "#7.2 is the first bad snapshot", "[Diff]", "180.5 → 205.5")
	p.Key("8")
	shows(t, p, "Bisect #0..#13 by .cart.total < 200", "− bad", "+ good", "tests")
	p.Key("esc")
	p.Press(keymap.Timeline, keymap.GoHead)
	p.Key("B")
	p.Type("true")
	p.Key("enter")
	shows(t, p, "is good by that test")
	keys(p, "esc", "{", "=", "@", "B")
	p.Type("false")
	p.Key("enter")
	shows(t, p, "#12.1 and #13 parted at #10")
}

// The margin of the State tab says which snapshot last set each value, in which turn, and how
// long before; it follows the cursor, and goes again.
func TestAsk_blame(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "a")
	shows(t, p, "▌#13   t6     │ ▾ 4 keys", " #0    t0 -4m │       to", " #11.2 t6 -3s │", " #13   t6     │~    status")
	p.Press(keymap.State, keymap.PrevBranch)
	shows(t, p, "#11.1 t6 -2s │", "▌ │ ◌ 12.1")
	lacks(t, p, "#11.2 t6")
	p.Key("a")
	lacks(t, p, "#11.1 t6")
}

// Of a list or an object the history says what changed in it: its beginnings are alike.
func TestAsk_historyOfAList(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "/")
	p.Type("items")
	keys(p, "enter", "b")
	shows(t, p, "History of /cart/items", "○ #0    turn 0   + []", `○ #4    turn 2   ~ + /1  {"what":"Hotel`, "◌ #11.1 turn 6   ~ - /0", `~ /0/what  "train 09:40`)
}

// A value in a list is followed to where it was in it before.
func TestAsk_historyFollowsAnElement(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	keys(p, "2", "enter", "/")
	p.Type("10:40 Paris")
	keys(p, "enter", "b")
	shows(t, p, "History of /cart/items/0/what, followed", `○ #11.2 turn 6   ~ "train 09:40 Paris-Lyon" → "train 10:40`, `+ "train 09:40 Paris-Lyon"`)
}

// Answers that show go along with a session that grows, and stay through a restore by another
// program, with other marks.
func TestAsk_goesOnWhileTheSessionGrows(t *testing.T) {
	t.Parallel()
	other := demoFile(t)
	shown, err := sqlite.Open(t.Context(), other.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	p := opened(t, shown, 120, 36)
	typed(p, "w", ".messages | length")
	p.Key("b")
	shows(t, p, "History of /status")
	before := p.Screen()
	newWriter(t, other, sample.Trip).write(t, 3)
	waitFor(t, p, "head #16")
	p.WaitFor("more answers", func(screen string) bool {
		return strings.Contains(screen, "changes") && !strings.Contains(before, status(screen))
	})
	restore(t, other, model.Ref{Session: sample.Trip, ID: idAt(t, other, 5)})
	waitFor(t, p, "head #5")
	p.WaitFor("answers off the path", func(screen string) bool { return strings.Contains(screen, "◌ #13") })
}

// status returns what stands in the lower border of the right box.
func status(screen string) string {
	for line := range strings.Lines(screen) {
		if at := strings.LastIndex(line, " changes ─┘"); at > 0 {
			return line[max(at-20, 0):at]
		}
	}
	return "no status"
}
