package tui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/storetest/fake"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// talker adds snapshots to a session, each with one message more.
type talker struct {
	t        testing.TB
	s        *fake.Store
	session  string
	every    time.Duration
	messages []string
	parent   string
	index    int
}

// say adds a message of some blocks.
func (k *talker) say(role, content string) {
	k.t.Helper()
	k.messages = append(k.messages, fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, content))
	state := []byte(`{"run":"` + k.session + `","messages":[` + strings.Join(k.messages, ",") + `]}`)
	id := model.SnapshotID(state)
	err := k.s.SaveSnapshot(k.t.Context(), &model.Snapshot[json.RawMessage]{
		ID: id, ParentID: k.parent, SessionID: k.session, CreatedAt: now.Add(time.Duration(k.index) * k.every), State: state,
		Index: k.index, Event: model.SnapshotEventTurnEnd,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.parent, k.index = id, k.index+1
}

// call adds a call of a tool, and its result unless the status is "".
func (k *talker) call(tool, input, status, result string) {
	k.t.Helper()
	id := fmt.Sprintf("t%d", k.index)
	k.say("assistant", fmt.Sprintf(`{"toolUse":{"toolUseId":%q,"name":%q,"input":%s}}`, id, tool, input))
	if status != "" {
		k.say("user", fmt.Sprintf(`{"toolResult":{"toolUseId":%q,"status":%q,"content":[{"text":%q}]}}`, id, status, result))
	}
}

// evals is a store with n runs of one task. All list the files; from the second call on they part by their number: some
// read a file, others run a test that fails, and every third has no result of its last call.
func evals(t testing.TB, n int) *fake.Store {
	t.Helper()
	s := fake.New(fake.WithClock(func() time.Time { return now }))
	for i := range n {
		k := &talker{t: t, s: s, session: fmt.Sprintf("run-%02d", i+1), every: time.Duration(i+1) * time.Second}
		k.say("user", `{"text":"mend the sum"}`)
		k.call("list_files", `{"path":"src"}`, "success", "sum.go")
		if i%2 == 0 {
			k.call("read_file", `{"path":"src/sum.go"}`, "success", fmt.Sprint("sum, version ", i))
		} else {
			k.call("run_tests", `{"package":"src"}`, "error", "sum_test.go:12: 3, not 4")
		}
		k.call("write_file", `{"path":"src/sum.go"}`, "success", "ok")
		if i%3 == 2 {
			k.call("run_tests", `{"package":"src"}`, "", "")
			continue
		}
		k.say("assistant", fmt.Sprintf(`{"text":"The sum is mended, by way %d."}`, i+1))
	}
	return s
}

// markRows marks the first n rows of the list.
func markRows(p *screentest.Program, n int) {
	p.Press(keymap.Picker, keymap.Top)
	for i := range n {
		if i > 0 {
			p.Press(keymap.Picker, keymap.MoveDown)
		}
		p.Press(keymap.Picker, keymap.MarkSession)
	}
}

// Two runs and many stand beside each other at any size, with colours and without.
func TestCompare_asDrawn(t *testing.T) {
	t.Parallel()
	none := theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	for _, c := range []struct {
		runs, w, h int
		theme      *theme.Styles
	}{
		{2, 60, 18, nil}, {2, 100, 30, nil}, {2, 160, 45, nil}, {20, 60, 18, nil}, {20, 100, 30, nil}, {20, 200, 50, nil},
		{2, 60, 18, none}, {20, 100, 30, none},
	} {
		name := fmt.Sprintf("%d at %dx%d", c.runs, c.w, c.h)
		if c.theme != nil {
			name += " NO_COLOR"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(evals(t, 20))
			if c.theme != nil {
				o.Theme = c.theme
			}
			p := start(t, o, c.w, c.h)
			markRows(p, c.runs)
			shows(t, p, fmt.Sprintf("20 sessions, %d marked", c.runs))
			p.Press(keymap.Picker, keymap.CompareRuns)
			shows(t, p, fmt.Sprintf("%d runs part at row 3", c.runs), "a row has the same call: the tool and its arg", "failed", "result")
			p.Golden()
		})
	}
}

// Enter goes to the snapshot of the run in the row, and esc comes back to that row, then to the list with its marks.
func TestCompare_leadsThereAndBack(t *testing.T) {
	t.Parallel()
	p := start(t, options(evals(t, 4)), 100, 30)
	p.Press(keymap.Picker, keymap.CompareRuns)
	shows(t, p, "compare marked: mark two sessions or more first")
	p.Press(keymap.Picker, keymap.Top, keymap.MarkSession)
	shows(t, p, "4 sessions, 1 marked", "▌=")
	p.Press(keymap.Picker, keymap.CompareRuns)
	shows(t, p, "mark two sessions or more first")
	p.Press(keymap.Picker, keymap.MoveDown, keymap.MarkSession, keymap.MoveDown, keymap.MarkSession, keymap.MarkSession)
	shows(t, p, "4 sessions, 2 marked")
	p.Press(keymap.Picker, keymap.CompareRuns)
	shows(t, p, "row 3 of 5, run 1 of 2")
	p.Press(keymap.Runs, keymap.Help)
	shows(t, p, "Keys: compared runs", "the runs part here", "A row has the same call", "white space folded")
	p.Press(keymap.Manual, keymap.Back)
	p.Press(keymap.Runs, keymap.NextRun)
	p.Press(keymap.Runs, keymap.Open)
	shows(t, p, "run 2 has nothing in this row", "run 2 of 2")
	p.Press(keymap.Runs, keymap.NextChange)
	shows(t, p, "row 4 of 5, run 2 of 2")
	p.Press(keymap.Runs, keymap.Open)
	second := sessionShown(t, p)
	shows(t, p, "▌ ○ 3 end")
	p.Press(keymap.Timeline, keymap.Open) // the tab has the keys, and esc takes them back first
	p.Press(keymap.Tab, keymap.Back)
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "2 runs part at row 3", "row 4 of 5, run 2 of 2")
	p.Press(keymap.Runs, keymap.PrevRun, keymap.PrevChange)
	shows(t, p, "row 3 of 5, run 1 of 2")
	p.Press(keymap.Runs, keymap.Open)
	if first := sessionShown(t, p); first == second {
		t.Errorf("both runs lead to %s", first)
	}
	p.Press(keymap.Timeline, keymap.Back)
	p.Press(keymap.Runs, keymap.Reload)
	shows(t, p, "row 3 of 5, run 1 of 2")
	p.Press(keymap.Runs, keymap.Back)
	shows(t, p, "4 sessions, 2 marked", "q quit")
	p.Press(keymap.Picker, keymap.ClearMarks)
	shows(t, p, "4 sessions ")
	lacks(t, p, "marked")
}

// sessionShown returns the session of the header.
func sessionShown(t *testing.T, p *screentest.Program) string {
	t.Helper()
	first, _, _ := strings.Cut(p.Screen(), "\n")
	at := strings.Index(first, "run-")
	if at < 0 {
		t.Fatalf("no session shows: %q", first)
	}
	return first[at : at+len("run-01")]
}

// A click selects a row of a run, the second one opens it, and the wheel scrolls.
func TestCompare_mouse(t *testing.T) {
	t.Parallel()
	p := start(t, options(evals(t, 3)), 60, 18)
	markRows(p, 3)
	p.Press(keymap.Picker, keymap.CompareRuns)
	p.Send(wheel(10, 5, 4))
	p.Send(click(50, 3))
	p.Idle()
	shows(t, p, "row 1 of 6, run 3 of 3")
	p.Send(click(50, 3))
	p.Idle()
	shows(t, p, "▌ ○ 0 end mend the sum")
}

// Sessions of several stores are compared. One that cannot be read is told, and stands in no column; with one left there
// is nothing to compare.
func TestCompare_ofStoresAndFaults(t *testing.T) {
	t.Parallel()
	broken := &scripted{Store: evals(t, 1)}
	broken.headers = func(context.Context, string) iter.Seq2[model.Header, error] {
		return failing[model.Header](errors.New("it \x1b[2Jbroke"))
	}
	o := options(nil)
	o.Store, o.Home = nil, home.FromFound([]store.Found{
		foundAt("adk", "a.db", has(evals(t, 2))), foundAt("crewai", "b.db", has(broken)), foundAt("langgraph", "c.db", has(evals(t, 2)))})
	p := start(t, o, 160, 45)
	markRows(p, 4)
	shows(t, p, "4 marked")
	p.Press(keymap.Picker, keymap.CompareRuns)
	shows(t, p, "3 runs", "1 session of 4 could not be read and stands in no column: run-01: it ^[[2Jbroke")
	p.Press(keymap.Runs, keymap.Back)
	p.Press(keymap.Picker, keymap.ClearMarks)
	shows(t, p, "all sessions · 5 in 3 stores")
}

// TestCompare_isCancelled gives up the reading by Esc: an answer that comes too late changes nothing.
func TestCompare_isCancelled(t *testing.T) {
	t.Parallel()
	inner, gate := evals(t, 2), newGate()
	s := &scripted{Store: inner}
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		if err := gate.wait(ctx); err != nil {
			return nil, err
		}
		return inner.State(ctx, ref)
	}
	p := startBusy(t, options(s), 100, 30)
	waitFor(t, p, "2 sessions")
	for _, a := range []keymap.Action{keymap.Top, keymap.MarkSession, keymap.MoveDown, keymap.MarkSession, keymap.CompareRuns} {
		p.Send(screentest.Key(t, keymap.Default().Keys(keymap.Picker, a)[0]))
	}
	waitFor(t, p, "0 of 2 runs read")
	p.Send(screentest.Key(t, keymap.Default().Keys(keymap.Runs, keymap.Back)[0]))
	waitFor(t, p, "2 sessions, 2 marked")
	gate.open()
	p.Idle()
	shows(t, p, "2 sessions, 2 marked", "q quit")
	p.Press(keymap.Picker, keymap.CompareRuns)
	shows(t, p, "2 runs part at row 3")
}
