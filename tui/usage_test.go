package tui_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/kinds/codex"
	"hindcast/store/kinds/pi"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// perToken is what each token costs.
type perToken float64

func (p perToken) Cost(u conversation.Usage) (float64, conversation.PriceSource) {
	return float64(p) * (u.Input + u.Output), conversation.UserPrice
}

// basic opens a real session whose answers tell of tokens.
func basic(t *testing.T) tui.Options {
	t.Helper()
	s, err := messages.Open(t.Context(), filepath.Join("..", "testdata", "strands", "python-file"))
	o := steady(t, s, err)
	o.Session, o.Prices, o.Currency = "basic", perToken(0.001), "EUR"
	return o
}

// A key shows the tokens of each snapshot; what was added up for that stands in Info.
func TestUsage_columnAndSums(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, basic(t), w, h)
		p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Zoom, keymap.Open)
		p.Press(keymap.Info, keymap.Bottom)
		shows(t, p, "t adds it up")
		p.Press(keymap.Info, keymap.Back, keymap.Back, keymap.Tokens)
		shows(t, p, "tokens", " 555")
		p.Golden()
		p.Press(keymap.Timeline, keymap.StepBack, keymap.StepBack, keymap.Open, keymap.Zoom)
		p.Press(keymap.Info, keymap.Bottom)
		for range map[int]int{60: 3, 100: 1}[w] {
			p.Press(keymap.Info, keymap.HalfUp)
		}
		shows(t, p, "turn 2", "1.1k in, 126 out", "session")
		p.Press(keymap.Info, keymap.Bottom, keymap.HalfUp)
		shows(t, p, "Keys in all snapshots", "distinct")
		p.Press(keymap.Info, keymap.Top)
		p.Press(keymap.Info, keymap.Zoom, keymap.Back, keymap.Tokens)
		lacks(t, p, " 555")
	})
}

// The headers of a small session's turns have the cost by themselves. A folded turn has the tokens of all its visits.
func TestUsage_costOfTurns(t *testing.T) {
	t.Parallel()
	p := start(t, basic(t), 100, 30)
	shows(t, p, "1 step <.1s 0.0530 EUR", "3 steps 0.29 EUR", "Oslo weather and 19+23, re… 5 steps ✗1")
	p.Press(keymap.Timeline, keymap.FoldAll, keymap.Tokens)
	shows(t, p, "▸  2 user    Weather in Paris?       3 steps     291", "▸  6 user    Oslo weather and 19… 5 steps ✗1    1.2k")
}

// Beside the tokens is how full the window of the model is: the one that the session records, else the listed one.
func TestUsage_fullWindow(t *testing.T) {
	t.Parallel()
	open := func(s store.Store, err error, session string, window func(string) float64) *screentest.Program {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		o := options(s)
		o.Session, o.Window = session, window
		p := start(t, o, 100, 30)
		p.Press(keymap.Timeline, keymap.Tokens)
		return p
	}
	coding := func(kind string) string { return filepath.Join("..", "testdata", "coding", kind) }
	const mono, codexSession = "ffae836b-9420-4060-ac13-7745215f90ff", "01a20b78-db17-7131-bcff-a7d643b0ac7b"
	s, err := pi.Kind(nil).Open(t.Context(), coding("pi"))
	listed := open(s, err, mono, func(model string) float64 { return map[string]float64{"claude-opus-4-5": 200_000}[model] })
	shows(t, listed, "tokens full", " 49.0k!  25%", " 33.8k  17%")
	s, err = pi.Kind(nil).Open(t.Context(), coding("pi"))
	unknown := open(s, err, mono, nil)
	shows(t, unknown, "tokens", " 49.0k!")
	lacks(t, unknown, "full")
	s, err = codex.Kind(nil).Open(t.Context(), coding("codex"))
	recorded := open(s, err, codexSession, func(string) float64 { return 10 })
	shows(t, recorded, "tokens full", " 5.3k   2%")
}

// An answer whose request found no cache has its sign beside the tokens, on a folded turn too.
func TestUsage_brokenCache(t *testing.T) {
	t.Parallel()
	s, err := pi.Kind(nil).Open(t.Context(), filepath.Join("..", "testdata", "coding", "pi"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := options(s)
	o.Session = "ffae836b-9420-4060-ac13-7745215f90ff"
	p := start(t, o, 140, 30)
	p.Press(keymap.Timeline, keymap.Tokens)
	shows(t, p, " 49.0k! +76s", " 49.2k  +4s")
	p.Press(keymap.Timeline, keymap.FoldAll)
	shows(t, p, "1 step 76s $0.40  49.0k!")
}

// Each snapshot tells the sums of its own turn or branch, whatever folds and wherever it is.
func TestUsage_turnsAndBranches(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := trip(t, 200, 50)
	p.Press(keymap.Timeline, keymap.Tokens, keymap.ShowInfo, keymap.Top)
	for _, want := range []string{
		"▌ ○    0 turn 0 nothing", "▌ ▾    1 turn 1 2 calls", "▌ ○    2 turn 1 2 calls", "▌ ▾    3 turn 2 3 calls, 1 failed", "▌ ○    4 turn 2 3 calls, 1 failed",
		"▌ ○    5 turn 2 3 calls, 1 failed", "▌ │ ▿  6.1 branch of #6.1 1 call", "▌ │ ◌  7.1 branch of #6.1 1 call", "▌ ▾    6.2 turn 3 3 calls",
		"▌ ○    7.2 turn 3 3 calls", "▌ ○    8 turn 3 3 calls", "▌ ○    9 turn 4 nothing", "▌ ○   10 turn 5 nothing", "▌ │ ▿ 11.1 branch of #11.1 1 call",
		"▌ │ ◌ 12.1 branch of #11.1 1 call", "▌ ▾   11.2 turn 6 1 call", "▌ ○   12.2 turn 6 1 call", "▌ ◉   13 turn 6 1 call",
	} {
		row, sum, _ := strings.Cut(want, " turn ")
		sum = "turn " + sum
		if row == want {
			row, sum, _ = strings.Cut(want, " branch ")
			sum = "branch " + sum
		}
		shows(t, p, row)
		if got := strings.Join(strings.Fields(p.Screen()), " "); !strings.Contains(got, sum+" │") || !strings.Contains(got, "session 11 calls, 1 failed │") || !strings.Contains(got, "path 9 calls, 1 failed │") {
			t.Errorf("%s lacks %q:\n%s", row, sum, p.Screen())
		}
		p.Press(keymap.Timeline, keymap.MoveDown)
	}
}

// What comes while the column shows is added up too, and what was restored is another path.
func TestUsage_growsWithTheSession(t *testing.T) {
	t.Parallel()
	s := fake.New()
	session := func(n int) func(func(store.Row, error) bool) {
		return func(yield func(store.Row, error) bool) {
			var last model.Header
			said := ""
			for i := range n {
				said += fmt.Sprintf(`,{"role":"assistant","content":[{"text":"%d"}],"metadata":{"usage":{"inputTokens":%d,"outputTokens":1,"totalTokens":%d}}}`, i, 100*(i+1), 100*(i+1)+1)
				state := []byte(`{"messages":[` + said[1:] + `]}`)
				last = model.Header{ID: model.SnapshotID(state), ParentID: last.ID, SessionID: "s", Visit: int64(i + 1), ParentVisit: last.Visit, Index: i, TurnIndex: i, Head: i == n-1}
				if !yield(store.Row{Header: last, State: state}, nil) {
					return
				}
			}
		}
	}
	if _, err := s.Import(t.Context(), session(3)); err != nil {
		t.Fatal(err)
	}
	o := options(s)
	o.Session = "s"
	p := start(t, o, 100, 40)
	p.Press(keymap.Timeline, keymap.Tokens, keymap.ShowInfo)
	shows(t, p, " 101", " 201", " 301", "600 in, 3 out")
	newWriter(t, s, "s").write(t, 1) // which has no answer
	waitFor(t, p, "head #3")
	p.Idle()
	shows(t, p, " 101", " 201", " 301", "session  600 in, 3 out")
	lacks(t, p, "not added up yet")
	restore(t, s, model.Ref{Session: "s", ID: firstID(t, s, "s")})
	waitFor(t, p, "head #0")
	p.Idle()
	shows(t, p, "path     100 in, 1 out", "session  600 in, 3 out")
}

// firstID returns the id of the first snapshot of a session.
func firstID(t *testing.T, s store.Store, session string) string {
	t.Helper()
	for h, err := range s.Headers(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		return h.ID
	}
	return ""
}

// Nothing is added up that was not asked for, and what was given up is not begun again by
// itself.
func TestUsage_onlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := &scripted{Store: demoStore(t)}
	var reads atomic.Int64
	var stuck atomic.Bool
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		reads.Add(1)
		if stuck.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return s.Store.State(ctx, ref)
	}
	o := options(readOnly{s})
	o.Session = sample.Trip
	p := start(t, o, 100, 40)
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.StepBack)
	if n := reads.Load(); n > 4 {
		t.Errorf("%d states were read for two snapshots and those beside them", n)
	}
	before := reads.Load()
	stuck.Store(true)
	p.Send(screentest.Key(t, "t"))
	waitFor(t, p, "adding up the tokens")
	p.WaitFor("a state to be read", func(string) bool { return reads.Load() > before })
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "cancelled: adding up the tokens", "not added up yet")
	p.Press(keymap.Timeline, keymap.Tokens)
	lacks(t, p, "  tokens   ")
	stuck.Store(false)
	p.Press(keymap.Timeline, keymap.Tokens)
	shows(t, p, "no answer tells of any", "session  11 calls, 1 failed")
}

// What sessions of other frameworks cost is added up too: of Genkit with the steps of its
// turns, of LangGraph with what the models answered.
func TestUsage_ofRealStores(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open    func(t *testing.T) tui.Options
		session string
	}{
		"genkit":    {genkitStore, "trip"},
		"langgraph": {func(t *testing.T) tui.Options { return langgraphStore(t, "agent.db") }, "other"},
		"snapshots": {func(t *testing.T) tui.Options {
			s, err := snapshots.Open(t.Context(), filepath.Join("..", "testdata", "strands", "python-snapshot", "session"))
			return steady(t, s, err)
		}, "every4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tc.open(t)
			o.Session = tc.session
			p := start(t, o, 160, 70)
			p.Press(keymap.Timeline, keymap.Tokens, keymap.ShowInfo)
			shows(t, p, "session  ", "of the state on the path")
			p.Golden()
		})
	}
}
