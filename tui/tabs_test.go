package tui_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
)

// tabs are the tabs with the scope that their keys are in.
var tabs = []struct {
	name  string
	show  keymap.Action
	scope keymap.Scope
}{
	{"diff", keymap.ShowDiff, keymap.Diff},
	{"state", keymap.ShowState, keymap.State},
	{"messages", keymap.ShowMessages, keymap.Messages},
	{"files", keymap.ShowFiles, keymap.Files},
	{"resume", keymap.ShowResume, keymap.Resume},
	{"info", keymap.ShowInfo, keymap.Info},
}

func TestScreen_tabs(t *testing.T) {
	t.Parallel()
	for _, tab := range tabs {
		t.Run(tab.name, func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				s := demoStore(t)
				o := options(s)
				o.Session = sample.Packing
				p := start(t, o, w, h)
				p.Press(keymap.Timeline, tab.show, keymap.Open)
				p.Golden()
			})
		})
	}
}

func TestTabs_compareWithTheMark(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 30)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Mark, keymap.PrevBranch, keymap.PrevBranch, keymap.Compare)
	shows(t, p, "[Diff]", "#13 → #10", "=◉   13")
	p.Press(keymap.Timeline, keymap.StepBack)
	shows(t, p, "#13 → #9") // the mark stays
	p.Press(keymap.Timeline, keymap.Compare)
	shows(t, p, "#8 → #9") // with the parent again
	p.Press(keymap.Timeline, keymap.Compare, keymap.ClearMark)
	shows(t, p, "#8 → #9")
	lacks(t, p, "=◉")
	p.Press(keymap.Timeline, keymap.Mark, keymap.Mark) // the second takes it away
	lacks(t, p, "▌=")
}

// The changes that a framework makes for itself are behind the others, in one row that names it and opens.
func TestTabs_foldWhatIsAFrameworksOwn(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for _, c := range []struct {
		address, session string
		keys             []keymap.Action
		row, own         string
	}{
		{"crewai/checkpoints.db", "tour-77f0b5ae", []keymap.Action{keymap.ShowDiff}, "▸ 29 of crewAI's own", "current_task_id"},
		{"adk/database_service.db", "tour_app/u1/tour", []keymap.Action{keymap.Mark, keymap.PrevBranch, keymap.StepBack, keymap.Compare}, "▸ 8 of ADK's own", "invocation_id"},
	} {
		p := start(t, recordedSession(t, c.address, c.session), 160, 60)
		p.Press(keymap.Timeline, c.keys...)
		shows(t, p, c.row)
		lacks(t, p, c.own)
		p.Press(keymap.Timeline, keymap.Open)
		p.Press(keymap.Tab, keymap.Bottom, keymap.Unfold)
		shows(t, p, strings.Replace(c.row, "▸", "▾", 1), c.own)
	}
}

func TestTabs_firstSnapshotHasNothingToCompareWith(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 30)
	p.Press(keymap.Timeline, keymap.Top)
	shows(t, p, "▌ ○    0", "#0  the first snapshot: all of it is new")
}

func TestTabs_searchInsideTheState(t *testing.T) {
	t.Parallel()
	for _, tab := range tabs[:3] {
		t.Run(tab.name, func(t *testing.T) {
			t.Parallel()
			p := trip(t, 120, 30)
			p.Press(keymap.Timeline, tab.show, keymap.StepBack, keymap.StepBack, keymap.Open)
			p.Press(tab.scope, keymap.Search)
			p.Type("MOVING")
			p.Press(keymap.Input, keymap.Accept)
			shows(t, p, `"MOVING": match 1 of`, "Moving the train only.")
			p.Press(tab.scope, keymap.SearchNext)
			shows(t, p, `"MOVING": match 1 of 1`)
			p.Press(tab.scope, keymap.StepForward, keymap.SearchNext)
			// What shows is another snapshot, so it is searched anew.
			if tab.scope == keymap.Diff {
				shows(t, p, `"MOVING" was not found`)
			} else {
				shows(t, p, `"MOVING": match 1 of 1`)
			}
		})
	}
}

// A tab without texts to search is not searched: the session is.
func TestTabs_nothingToSearch(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 30)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Open)
	p.Press(keymap.Info, keymap.Search)
	p.Type("trip")
	shows(t, p, "[this session]")
	lacks(t, p, "find it in")
}

func TestTabs_copyTheValueUnderTheCursor(t *testing.T) {
	t.Parallel()
	terminal := newSyncBuffer()
	o := options(demoStore(t))
	o.Session, o.Output = sample.Trip, terminal
	p := start(t, o, 120, 30)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.Open)
	p.Press(keymap.State, keymap.Search)
	p.Type("budget")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.State, keymap.Yank)
	shows(t, p, "/trip/budget")
	p.Press(keymap.Menu, keymap.YankPath)
	p.Press(keymap.State, keymap.Yank)
	p.Press(keymap.Menu, keymap.YankValue)
	if got, want := fmt.Sprint(clipboard(t, terminal.String())), "[/trip/budget 300]"; got != want {
		t.Errorf("copied %s, want %s", got, want)
	}
}

func TestTabs_stayWhereTheyAreWhileTheSnapshotChanges(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 30)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.Open)
	p.Press(keymap.State, keymap.Search)
	p.Type("total")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "total  210", "/cart/total")
	p.Press(keymap.State, keymap.StepBack, keymap.StepBack, keymap.StepBack)
	shows(t, p, "total  205.5", "/cart/total")
}

// The beginning of a large state shows before the whole of it is read.
func TestTabs_largeStateShowsItsBeginningFirst(t *testing.T) {
	t.Parallel()
	s := fake.New()
	large := []byte(`{"first":1,"filler":"` + strings.Repeat("x", 1<<20) + `","last":2}`)
	rows := func(yield func(store.Row, error) bool) {
		yield(store.Row{Header: model.Header{ID: model.SnapshotID(large), SessionID: "large", Visit: 1, Head: true}, State: large}, nil)
	}
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	p := start(t, options(s), 120, 30)
	p.Press(keymap.Timeline, keymap.ShowState)
	shows(t, p, "first  1", "last  2", "1.0 MB")
}

func TestTabs_faultsAreFoundOnceForAllTabs(t *testing.T) {
	t.Parallel()
	var asked []string
	s := &doctored{Store: demoStore(t), asked: &asked}
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 120, 50)
	p.Press(keymap.Timeline, keymap.ShowState, keymap.StepBack)
	shows(t, p, "18 snapshots · 4 off the path · ! 1 fault")
	p.Press(keymap.Timeline, keymap.ShowInfo)
	shows(t, p, "missing-tool-result")
	p.Press(keymap.Timeline, keymap.StepBack)
	shows(t, p, "missing-tool-result")
	if fmt.Sprint(asked) != "["+sample.Trip+"]" {
		t.Errorf("asked for %v", asked)
	}
}

// doctored is a store with a fault.
type doctored struct {
	*fake.Store
	asked *[]string
}

func (d *doctored) Faults(_ context.Context, session string) ([]model.Fault, error) {
	*d.asked = append(*d.asked, session)
	return []model.Fault{{Code: "missing-tool-result", File: "message_7.json", Meaning: "a tool call has no result"}}, nil
}

func TestTabs_mouse(t *testing.T) {
	t.Parallel()
	p := trip(t, 120, 30)
	p.Press(keymap.Timeline, keymap.ShowState)
	p.Send(click(70, 4))
	p.Idle()
	shows(t, p, "/trip/from", "h l fold")
	p.Press(keymap.State, keymap.UnfoldAll)
	p.Send(wheel(70, 9, tea.MouseButtonWheelDown))
	p.Idle()
	lacks(t, p, "▾ 4 keys")
}

// The native store knows what two states share, and it is asked about the
// parent.
func TestTabs_infoSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "demo.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Import(t.Context(), sample.Rows()); err != nil {
		t.Fatal(err)
	}
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 120, 40)
	p.Press(keymap.Timeline, keymap.ShowInfo)
	// The head says "booked" instead of "planning", somewhere in small parts.
	if !regexp.MustCompile(`new in it  \d{1,3} B of 4\.3 kB`).MatchString(p.Screen()) {
		t.Errorf("the head is not nearly its parent:\n%s", p.Screen())
	}
	p.Press(keymap.Timeline, keymap.Top)
	lacks(t, p, "new in it") // there is no parent
	// #1 has 1267 bytes, and its parent 308: at least 959 are new.
	p.Press(keymap.Timeline, keymap.StepForward)
	if !regexp.MustCompile(`new in it  (9[5-9]\d B|1\.\d kB) of 1\.3 kB`).MatchString(p.Screen()) {
		t.Errorf("#1 is not mostly new:\n%s", p.Screen())
	}
}

// A key that means nothing in the timeline is one of the tab in view, and one that means
// something in another tab says where.
func TestTabs_keysOfTheTabInView(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch) // #10, where two values change
	p.Key("s")
	shows(t, p, "┌▌ Timeline", "▌ ○   10", "side by side needs")
	p.Key("+") // more around the changes
	lacks(t, p, "a session is played at")
	p.Press(keymap.Timeline, keymap.Scrubber)
	p.Key("+") // the pace is in sight
	shows(t, p, "paused 2×")
	p.Press(keymap.Timeline, keymap.Scrubber, keymap.ShowState)
	p.Key("a")
	shows(t, p, "┌▌ Timeline", "#10   t5")
	p.Key("s")
	if got := lastLine(p); got != "side by side: in the Diff tab (1)" {
		t.Errorf("last line %q", got)
	}
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Open)
	p.Key("a")
	if got := lastLine(p); got != "who set what: in the State tab (2)" {
		t.Errorf("last line %q", got)
	}
	p.Key("Z") // bound nowhere
	lacks(t, p, "Z:")
}
