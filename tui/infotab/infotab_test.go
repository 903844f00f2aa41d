package infotab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/tui/screentest"
)

const state = `{"messages":[{"role":"user","content":[{"text":"Book the train to Lyon, please."}]},{"role":"assistant","content":[{"text":"Done."}]}],"cart":{"total":140.5},"turns":2}`

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func facts(t testing.TB) Facts {
	t.Helper()
	tape, err := jsontape.Parse([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	return Facts{
		Header: model.Header{
			ID: model.SnapshotID([]byte(state)), ParentID: strings.Repeat("ab", 32), SessionID: "trip-planner",
			CreatedAt: noon.Add(-time.Hour), Index: 4, TurnIndex: 2, Visit: 5, Marks: model.MarkError,
		},
		Kind: "sqlite", Address: "trips.db", Tape: tape, Now: noon,
		Repair: "a repair mends what can be mended",
		Faults: []model.Fault{{Code: "missing-parent", File: "visits", Path: "visit 3", Meaning: "the parent is not in the store", Verdict: "loads"}},
	}
}

func show(t testing.TB, f Facts, w, h int) *Pane {
	t.Helper()
	c, err := Prepare(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return screentest.Show(New(screentest.Colourless()), c, w, h)
}

func TestPane_looksAsDrawn(t *testing.T) {
	t.Setenv("TZ", "UTC")
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	orphaned := facts(t)
	orphaned.Header.Orphaned = true
	orphaned.Header.Reason = &model.Reason{Kind: model.ReasonRestore, At: noon, TargetID: "aa", TargetIndex: 2}
	damaged := facts(t)
	damaged.Tape, damaged.Err = nil, errors.New("sqlite: read state: byte 12: it is torn")
	foreign := facts(t)
	foreign.Header.Head, foreign.IDs = true, "of the chain of its messages"
	foreign.Header.ID = strings.Repeat("cd", 32)
	foreign.Release = "strands-python 1.30 (from uv.lock)"
	step := facts(t)
	step.Header.Marks, step.Header.TurnIndex = model.MarkTraced, model.TurnUnknown
	step.Known = []model.Fact{{Label: "finish reason", Value: "stop"}, {Label: "file", Value: "a/\x1b[2Jb.json"}, {Label: "tokens", Value: "12 in, 5 out"}, {Label: "tokens from a cache, of the session", Value: "60"}}
	unknown := facts(t)
	unknown.KnownErr = errors.New("genkit: read a/b.json: permission denied")
	for name, f := range map[string]Facts{"step": step, "unknown": unknown, "active": facts(t), "orphaned": orphaned, "damaged": damaged, "foreign ids": foreign} {
		for _, w := range []int{20, 58, 100} {
			t.Run(fmt.Sprintf("%s %d", name, w), func(t *testing.T) {
				golden.RequireEqual(t, []byte(screentest.Draw(show(t, f, w, 48), 48)))
			})
		}
	}
}

func TestPane_saysWhenTheHashIsWrong(t *testing.T) {
	f := facts(t)
	f.Header.ID = strings.Repeat("0", 64)
	right, wrong := screentest.Draw(show(t, facts(t), 80, 40), 40), screentest.Draw(show(t, f, 80, 40), 40)
	const verdict = "is not the SHA-256"
	if strings.Contains(right, verdict) || !strings.Contains(wrong, verdict) {
		t.Errorf("right:\n%s\nwrong:\n%s", right, wrong)
	}
}

func TestPane_saysHowMuchIsNew(t *testing.T) {
	some, none := int64(67), int64(0)
	for _, c := range []struct {
		name string
		n    *int64
		err  error
		want string
	}{
		{"some", &some, nil, "new in it 67 B of 168 B values 15"},
		{"none", &none, nil, "new in it 0 B of 168 B values 15"},
		{"no answer", nil, errors.New("sqlite: compare: no such snapshot"), "new in it not known: sqlite: compare: no such snapshot values 15"},
		{"cannot tell", nil, nil, "size 168 B values 15"},
	} {
		f := facts(t)
		f.New, f.NewErr = c.n, c.err
		got := strings.Join(strings.Fields(screentest.Draw(show(t, f, 90, 40), 40)), " ")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, got)
		}
	}
}

func TestPane_showsWhatTheProgramSays(t *testing.T) {
	f := facts(t)
	f.Header.Alias, f.Header.Attributes = "order-7", `{"status":"completed","error":{"code":3}}`
	got := strings.Join(strings.Fields(screentest.Draw(show(t, f, 90, 60), 60)), " ")
	for _, want := range []string{"alias order-7", "From the program", "status completed", `error {"code":3}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestPane_rowsAreExactAndClean(t *testing.T) {
	const hostile = "x\x1b]52;c;aGk=\x07\x1b[2J\u202e\u009b\n\x00"
	tape, err := jsontape.Parse([]byte(`{"\u001b[2J\u202e":"\u0007"}`))
	if err != nil {
		t.Fatal(err)
	}
	f := facts(t)
	f.Header.ID, f.Header.SessionID, f.Header.EventName, f.Header.Position = hostile, hostile, hostile, hostile
	f.Header.Alias, f.Header.Attributes = hostile, `{"\u001b[2J\u202e":"\u0007"}`
	f.Address, f.Release, f.Tape, f.NewErr, f.Faults = hostile, hostile, tape, errors.New(hostile), []model.Fault{{Code: hostile, File: hostile, Meaning: hostile, Verdict: hostile}}
	f.Labels = []model.Label{{Name: hostile, Note: hostile}}
	f.Usage = &Usage{Currency: hostile, Sums: []NamedSum{{Name: hostile, Sum: query.Sum{Answers: 1, Cost: 1}, Models: []string{hostile}}}, Path: &Path{Sizes: []float64{1, 2, 3}, Tokens: []float64{3, 2, 1}}}
	for w := range 120 {
		screentest.Exact(t, show(t, f, w, 60), w, 60)
	}
}

func TestPrepare_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Prepare(ctx, facts(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestPane_scrollsAndForgets(t *testing.T) {
	p := show(t, facts(t), 60, 5)
	if p.Status() == "" || !p.Do(keymap.Bottom) || p.Do(keymap.Restore) {
		t.Fatal("a long text does not scroll, or a foreign action counts")
	}
	if got := screentest.Draw(p, 5); !strings.Contains(got, "turns") {
		t.Errorf("the end is not in sight:\n%s", got)
	}
	p.Set(nil)
	if got := strings.TrimSpace(screentest.Draw(p, 5)); got != "" {
		t.Errorf("an empty tab shows %q", got)
	}
}
