package tui_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// keys presses keys one by one and returns how many they are.
func keys(p *screentest.Program, names ...string) int {
	for _, name := range names {
		p.Key(name)
	}
	return len(names)
}

// What a person does most often takes few keys: counted from the screen that a
// session opens with.
func TestTravel_tasksTakeFewKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		task  string
		most  int
		keys  []string
		shows []string
	}{
		{"the end of the abandoned branch against the head", 2, []string{"{", "D"}, []string{"▌ │ ◌ 12.1", "#13 → #12.1"}},
		{"before the failing call and resume", 6, []string{"E", "K", "r", "y"}, []string{"head #2", "▌ ◉      2", "✓"}},
		{"what did the tool return at step 7", 4, []string{"/", "7", "enter", "3"}, []string{"book_event", "Box 3. 240.00 EUR."}},
	} {
		t.Run(tc.task, func(t *testing.T) {
			t.Parallel()
			p := trip(t, 120, 36)
			if n := keys(p, tc.keys...); n > tc.most {
				t.Errorf("it takes %d keys, %d are the most", n, tc.most)
			}
			shows(t, p, tc.shows...)
		})
	}
}

func TestTravel_branchesAndTips(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	for _, want := range []string{"▌ │ ◌ 12.1", "▌ ○   10", "▌ │ ◌  7.1", "▌ ○    5", "▌ ○    5"} {
		p.Press(keymap.Timeline, keymap.PrevBranch)
		shows(t, p, want)
	}
	for _, want := range []string{"▌ │ ◌  7.1", "▌ ○   10", "▌ │ ◌ 12.1", "▌ ◉   13", "▌ ◉   13"} {
		p.Press(keymap.Timeline, keymap.NextBranch)
		shows(t, p, want)
	}
}

func TestTravel_comparesWithTheHead(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	p.Press(keymap.Timeline, keymap.CompareHead)
	if got := lastLine(p); !strings.Contains(got, "diff with head: the head is selected") {
		t.Errorf("at the head: %q", got)
	}
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.PrevBranch, keymap.CompareHead)
	shows(t, p, "#13 → #12.1 since #10", "▌ │ ◌ 12.1", "▌#12.1 Everything", "#13 the trip is booked", "states: cart: −3 items, total 210 → 0")
	p.Press(keymap.Tab, keymap.MoveUp)
	shows(t, p, "▌ │ ▿ 11.1")
	p.Press(keymap.Tab, keymap.Unfold)
	shows(t, p, "▌ ▾   11.2")
	p.Press(keymap.Tab, keymap.Back)
	shows(t, p, "[Info]", "▌ │ ◌ 12.1")
	p.Press(keymap.Timeline, keymap.CompareHead, keymap.CompareHead)
	shows(t, p, "[Diff]", "#13 → #12.1")
	p.Press(keymap.Tab, keymap.Back)
	p.Press(keymap.Timeline, keymap.StepBack) // it goes on comparing with the head
	shows(t, p, "#13 → #11.1")
	p.Press(keymap.Timeline, keymap.CompareHead)
	shows(t, p, "#10 → #11.1")
	p.Press(keymap.Timeline, keymap.CompareHead, keymap.Mark, keymap.Compare, keymap.StepBack)
	shows(t, p, "#11.1 → #10") // the mark takes the place of the head
	p.Press(keymap.Timeline, keymap.CompareHead, keymap.GoHead)
	shows(t, p, "#12.2 → #13") // the head itself is compared with its parent
}

func TestTravel_errors(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.NextError)
	shows(t, p, "▌ ▾    3", "error 1 of 1")
	o := options(demoStore(t))
	o.Session = sample.Packing
	p = start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.NextError)
	shows(t, p, "next error: no snapshot has an error", "▌ ◉ 2")
}

const beat = 300 * time.Millisecond

// A session that is played goes on by one step at each beat, and stops at a key, at
// a click and at the end. Nothing waits any longer then.
func TestTravel_plays(t *testing.T) {
	t.Parallel()
	clock := &held{}
	o := options(demoStore(t))
	o.Session = sample.Trip
	o.After = func(d time.Duration) <-chan time.Time {
		if d == beat {
			return clock.after(d)
		}
		return fired(d)
	}
	p := start(t, o, 100, 30)
	beats := func(want ...string) {
		t.Helper()
		for _, row := range want {
			p.WaitFor("a beat", func(string) bool { return clock.waiting(beat) > 0 })
			clock.fire(beat)
			waitFor(t, p, row)
		}
	}
	p.Send(screentest.Key(t, " ")) // from the end it begins anew
	waitFor(t, p, "▌ ○    0")
	waitFor(t, p, "any other key stops")
	beats("▌ ▾    1", "▌ ○    2")
	p.Key(" ")
	shows(t, p, "▌ ○    2")
	lacks(t, p, "playing")
	clock.fire(beat) // no command waits for it
	p.Send(screentest.Key(t, " "))
	beats("▌ ▾    3")
	p.Key("j") // a key stops it, and does what it does
	shows(t, p, "▌ ○    4")
	clock.fire(beat)
	p.Idle()
	shows(t, p, "▌ ○    4")
	p.Send(screentest.Key(t, " "))
	beats("▌ ○    5", "▌ ▾    6.2") // along the path
	p.Send(click(10, 3))
	p.Idle()
	shows(t, p, "▌ ▾    1")
	p.Press(keymap.Timeline, keymap.GoHead, keymap.StepBack)
	clock.fire(beat)
	p.Send(screentest.Key(t, " "))
	beats("▌ ◉   13")
	p.Idle() // it has ended
	lacks(t, p, "playing")
}

// border returns the column where the right box begins, seen in the first row of it.
func border(p *screentest.Program, row int) int {
	line := line(p, row)
	return len([]rune(line[:strings.Index(line, "┐┌")])) + 1
}

func TestSplit_movesByKeysAndMouse(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 36)
	was := border(p, 1)
	p.Press(keymap.Timeline, keymap.SplitMore, keymap.SplitMore)
	if got := border(p, 1); got != was+12 {
		t.Errorf("two steps to the right: from %d to %d", was, got)
	}
	p.Press(keymap.Timeline, keymap.SplitLess)
	if got := border(p, 1); got != was+6 {
		t.Errorf("one back: from %d to %d", was, got)
	}
	drag := func(x, y int, action tea.MouseAction) {
		p.Send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: action})
		p.Idle()
	}
	drag(was+6, 9, tea.MouseActionPress)
	drag(40, 20, tea.MouseActionMotion)
	drag(42, 3, tea.MouseActionMotion)
	if got := border(p, 1); got != 42 {
		t.Errorf("dragged to 42, it is at %d", got)
	}
	drag(42, 3, tea.MouseActionRelease)
	drag(60, 3, tea.MouseActionMotion)
	shows(t, p, "▌ ◉   13") // no row was clicked
	if got := border(p, 1); got != 42 {
		t.Errorf("let go, it goes on to %d", got)
	}
	p.Resize(200, 50) // the share stays
	if got := border(p, 1); got != 70 {
		t.Errorf("on 200 columns it is at %d", got)
	}
	p.Resize(60, 18) // stacked, where it was not moved
	lines := strings.Split(p.Screen(), "\n")
	if !strings.HasPrefix(lines[9], "┌─[Diff]") {
		t.Errorf("stacked:\n%s", p.Screen())
	}
	p.Key("ctrl+up")
	if lines := strings.Split(p.Screen(), "\n"); !strings.HasPrefix(lines[8], "┌─[Diff]") {
		t.Errorf("one row up:\n%s", p.Screen())
	}
	drag(5, 7, tea.MouseActionPress)
	drag(5, 11, tea.MouseActionMotion)
	drag(5, 11, tea.MouseActionRelease)
	p.Press(keymap.Timeline, keymap.Open) // the focus moves it no longer
	if lines := strings.Split(p.Screen(), "\n"); !strings.HasPrefix(lines[11], "┌▌[Diff]") {
		t.Errorf("dragged to row 11:\n%s", p.Screen())
	}
}

func TestZoom_onePaneTakesAll(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := trip(t, w, h)
		p.Press(keymap.Timeline, keymap.Zoom)
		shows(t, p, "Timeline", "◉   13")
		lacks(t, p, "[Diff]")
		p.Golden()
		p.Press(keymap.Timeline, keymap.SplitMore)
		shows(t, p, "one pane takes all; z shows both")
		p.Press(keymap.Timeline, keymap.Open)
		shows(t, p, "[Diff]", `"planning" → "booked"`)
		lacks(t, p, "Timeline", "◉   13")
		p.Send(click(5, 4)) // on what shows, not on what lies below
		p.Idle()
		p.Press(keymap.Diff, keymap.StepBack)
		shows(t, p, "#11.2 → #12.2")
		p.Resize(w+20, h+3)
		lacks(t, p, "Timeline")
		p.Press(keymap.Diff, keymap.Back)
		shows(t, p, "Timeline", "[Diff]")
		p.Press(keymap.Diff, keymap.Zoom, keymap.Zoom)
		shows(t, p, "Timeline", "[Diff]")
	})
}

// Which box has the keys shows without colours.
func TestScreen_boxWithTheKeysIsMarked(t *testing.T) {
	t.Parallel()
	for _, look := range []theme.Glyphs{theme.Unicode, theme.ASCII} {
		o := options(demoStore(t))
		o.Session = sample.Trip
		o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: look})
		p := start(t, o, 100, 30)
		shows(t, p, look.TopLeft+look.Cursor+" Timeline ", look.TopLeft+look.Horizontal+"[Diff]")
		p.Press(keymap.Timeline, keymap.Open)
		shows(t, p, look.TopLeft+look.Horizontal+" Timeline ", look.TopLeft+look.Cursor+"[Diff]")
		p.Press(keymap.Diff, keymap.Help)
		lacks(t, p, look.TopLeft+look.Cursor) // a dialog has them
	}
}

// steady opens a store of the test data.
func steady[S interface {
	store.Store
	Close() error
}](t *testing.T, s S, err error) tui.Options {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(s)
	o.Now = func() time.Time { return time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC) }
	return o
}

// The timeline of a real session of each framework, at every size.
func TestScreen_timelines(t *testing.T) {
	t.Parallel()
	data := filepath.Join("..", "testdata")
	for _, tc := range []struct {
		name, session string
		open          func(t *testing.T) tui.Options
	}{
		{"demo", sample.Trip, func(t *testing.T) tui.Options { return options(demoStore(t)) }},
		{"strands-log", "basic", func(t *testing.T) tui.Options {
			s, err := messages.Open(t.Context(), filepath.Join(data, "strands", "python-file"))
			return steady(t, s, err)
		}},
		{"strands-faults", "broken_missing_toolresult", func(t *testing.T) tui.Options {
			s, err := messages.Open(t.Context(), filepath.Join(data, "strands", "python-file"))
			return steady(t, s, err)
		}},
		{"strands-snapshots", "every4", func(t *testing.T) tui.Options {
			s, err := snapshots.Open(t.Context(), filepath.Join(data, "strands", "python-snapshot", "session"))
			return steady(t, s, err)
		}},
		{"strands-graph", "graph_done", func(t *testing.T) tui.Options {
			// Its snapshots have the times of their files.
			dir := filepath.Join(t.TempDir(), "python-multiagent")
			aged(t, filepath.Join("strands", "python-multiagent"), dir)
			s, err := messages.Open(t.Context(), dir)
			return steady(t, s, err)
		}},
		{"genkit", "toggler/sess-aba", func(t *testing.T) tui.Options {
			s, err := genkit.Open(t.Context(), filepath.Join(data, "genkit", "go-1.13.1"))
			return steady(t, s, err)
		}},
	} {
		for _, size := range []struct{ w, h int }{{60, 18}, {100, 30}, {120, 36}, {200, 50}} {
			t.Run(fmt.Sprintf("%s/%dx%d", tc.name, size.w, size.h), func(t *testing.T) {
				t.Parallel()
				o := tc.open(t)
				o.Session = tc.session
				p := start(t, o, size.w, size.h)
				p.Golden()
			})
		}
	}
}

// A session with a fault shows that it has one: in the header, however narrow, and
// by the key that mends it.
func TestScreen_faultsAreSeen(t *testing.T) {
	t.Parallel()
	for _, w := range []int{60, 100, 200} {
		s, err := messages.Open(t.Context(), filepath.Join("..", "testdata", "strands", "python-file"))
		o := steady(t, s, err)
		o.Session = "broken_missing_toolresult"
		p := start(t, o, w, 30)
		lines := strings.Split(p.Screen(), "\n")
		if !strings.Contains(lines[0], "! 2 faults") || !strings.HasPrefix(lines[29], " R repair") {
			t.Errorf("%d columns:\n%s", w, p.Screen())
		}
	}
}

// A long session is not looked through before the Info tab asks for it.
func TestScreen_faultsOfALongSession(t *testing.T) {
	t.Parallel()
	inner := fake.New()
	rows := func(yield func(store.Row, error) bool) {
		var last model.Header
		for i := range 1001 {
			state := fmt.Appendf(nil, `{"i":%d}`, i)
			last = model.Header{ID: model.SnapshotID(state), ParentID: last.ID, SessionID: "long", Visit: int64(i + 1), ParentVisit: last.Visit, Index: i, Head: i == 1000}
			if !yield(store.Row{Header: last, State: state}, nil) {
				return
			}
		}
	}
	if _, err := inner.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	var asked []string
	o := options(&doctored{Store: inner, asked: &asked})
	o.Session = "long"
	p := start(t, o, 120, 36)
	if shows(t, p, "1001 snapshots"); len(asked) != 0 {
		t.Errorf("looked through: %v", asked)
	}
	p.Press(keymap.Timeline, keymap.ShowInfo)
	shows(t, p, "! 1 fault")
}
