package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"hindcast/look"
	"hindcast/model"
)

func TestAsk(t *testing.T) {
	plan := &model.Plan{Op: model.OpRestore}
	for _, c := range []struct {
		typed string
		err   error
	}{
		{"y\n", nil},
		{" YES \n", nil},
		{"yes", nil},
		{"\n", errDeclined},
		{"n\n", errDeclined},
		{"yep\n", errDeclined},
		{"", errDeclined},
	} {
		var shown bytes.Buffer
		a := &App{In: strings.NewReader(c.typed), Err: &shown, InTerminal: true}
		if err := a.askConsent(t.Context(), plan, consent{}); !errors.Is(err, c.err) {
			t.Errorf("typed %q: %v, want %v", c.typed, err, c.err)
		}
		if shown.String() != "restore now? [y/N] " {
			t.Errorf("asked %q", &shown)
		}
	}
}

func TestAsk_withoutSomebodyToAnswerIsRefused(t *testing.T) {
	var shown bytes.Buffer
	a := &App{In: strings.NewReader("y\n"), Err: &shown}
	err := a.askConsent(t.Context(), &model.Plan{Op: model.OpRestore}, consent{})
	if err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("error %v does not say what to do", err)
	}
	if shown.Len() > 0 {
		t.Errorf("asked %q", &shown)
	}
}

func TestAsk_endsWhenInterrupted(t *testing.T) {
	never, keep := io.Pipe()
	defer keep.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &App{In: never, Err: io.Discard, InTerminal: true}
	if err := a.askConsent(ctx, &model.Plan{Op: model.OpRestore}, consent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAsk_onceMoreWhereThePlanHasReasons(t *testing.T) {
	plan := &model.Plan{Op: model.OpRestore, Asks: []string{"charge_card \x1b[2J runs again", "the session was written a moment ago"}}
	const first = "restore now? [y/N] "
	const second = "Once more, because\n  charge_card ^[[2J runs again\n  the session was written a moment ago\nrestore anyway? [y/N] "
	for _, c := range []struct {
		typed  string
		agreed consent
		shown  string
		err    error
	}{
		{"y\ny\n", consent{}, first + second, nil},
		{"y\n\n", consent{}, first + second, errDeclined},
		{"y\n", consent{}, first + second, errDeclined},
		{"n\ny\n", consent{}, first, errDeclined},
		{"y\n", consent{anyway: true}, first, nil},
		{"", consent{yes: true, anyway: true}, "", nil},
	} {
		var shown bytes.Buffer
		a := &App{In: strings.NewReader(c.typed), Err: &shown, InTerminal: true}
		if err := a.askConsent(t.Context(), plan, c.agreed); !errors.Is(err, c.err) {
			t.Errorf("typed %q with %+v: %v, want %v", c.typed, c.agreed, err, c.err)
		}
		if shown.String() != c.shown {
			t.Errorf("typed %q with %+v: asked %q, want %q", c.typed, c.agreed, &shown, c.shown)
		}
	}
}

// --yes is the answer to one question; a script has to say more where there are
// two, also at a terminal.
func TestAsk_yesAloneDoesNotAnswerTwice(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var shown bytes.Buffer
		a := &App{In: strings.NewReader("y\ny\n"), Out: io.Discard, Err: &shown, InTerminal: terminal}
		err := a.askConsent(t.Context(), &model.Plan{Op: model.OpRun, Asks: []string{"models and tools run"}}, consent{yes: true})
		if err == nil || err.Error() != "run asks once more: add --anyway" || advice("hindcast", err) != "Nothing was written. The plan says why: models and tools run." {
			t.Errorf("error %v, %q", err, advice("hindcast", err))
		}
		if shown.Len() > 0 {
			t.Errorf("asked %q", &shown)
		}
	}
}

// A plan of files is read on the narrowest screen: labels in one column, sentences
// broken, names and calls whole and harmless.
func TestPlan_filesAndCalls(t *testing.T) {
	plan := model.Plan{
		Op: model.OpRestore, Session: "chat", Head: model.Point{ID: "aaaa", Index: 9}, Target: model.Point{ID: "bbbb", Index: 2},
		Asks:    []string{"the tool calls at the end run again: charge_card; what they do outside of the session is done twice"},
		Hazards: []string{"the session was written to 200ms ago: an agent that still runs goes on from what it holds in memory"},
		Files: []model.PlanFile{
			{Path: "s/m/message_9.json", Does: model.FileSetAside, Size: 1200},
			{Path: "s/m/message_8.json", Does: model.FileSetAside, Size: 800},
			{Path: "s/a  b\x1b[2J.json", Does: model.FileReplaced, Size: 478},
			{Path: "s/back.json", Does: model.FilePutBack, Size: 5},
		},
		Loads:  "Agent(session_manager=FileSessionManager(\"chat\")) loads #0 to #2, 3 messages",
		Resume: []model.Resume{{Call: "agent(None) # \x1b[2J and a call that is far too long to stand on a line", Then: "runs charge_card without asking the model first; then the model answers the results"}, {Call: "agent(\"…\")"}},
	}
	var out bytes.Buffer
	p := &printer{Writer: bufio.NewWriter(&out), glyphs: look.Unicode}
	p.writePlan(&planned{Plan: plan, difference: "+1 ~0 -2 against the head"})
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `plan: restore chat to #2
  asks         the tool calls at the end run again:
               charge_card; what they do outside of the
               session is done twice
  warning      the session was written to 200ms ago: an
               agent that still runs goes on from what it
               holds in memory
  head now     #9 aaaa
  head then    #2 bbbb
  state        +1 ~0 -2 against the head
  loads        Agent(session_manager=FileSessionManager("chat"))
               loads #0 to #2, 3 messages
  resume       agent(None) # ^[[2J and a call that is far too long to stand on a line
                 runs charge_card without asking the model
                 first; then the model answers the results
  resume       agent("…")
  set aside    s/m/message_9.json … message_8.json (2
               files), 2.0 kB
  replace      s/a  b^[[2J.json, 478 B
  put back     s/back.json, 5 B
`
	if out.String() != want {
		t.Errorf("it is\n%swant\n%s", &out, want)
	}
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); displaywidth.String(strings.TrimSuffix(line, "\n")) > textWidth && !strings.Contains(line, plan.Resume[0].Call[:5]) && len(words) > 2 {
			t.Errorf("%q is too wide", line)
		}
	}
}

// The members of a plan's document and their order stay; lists that every plan has are
// never null.
func TestPlan_documents(t *testing.T) {
	full := model.Plan{
		Op: model.OpUndo, Session: "s", Others: []string{"o"}, NewSession: "n", Removes: true, Final: true,
		Target: model.Point{ID: "t", Index: 2, Visit: 3, Name: "#2.1"}, Head: model.Point{ID: "h", Index: 4, Visit: 5, Name: "#4.2"},
		Orphans: []model.Point{{ID: "h", Index: 4, Visit: 5, Name: "#4.2"}}, Reactivates: []model.Point{{ID: "t", Index: 2}},
		Writes: []string{"a row"}, Files: []model.PlanFile{{Path: "p", Does: model.FileReplaced, Size: 7}}, Loads: "the state",
		Resume: []model.Resume{{Call: "go()", Then: "goes on"}}, Hazards: []string{"careful"}, Asks: []string{"sure?"}, Entry: 9, Carry: "kept",
	}
	for _, tc := range []struct {
		document any
		want     string
	}{
		{planOf(&planned{Plan: full, assumed: "1.45"}), `{"op":"undo","session":"s","others":["o"],"newSession":"n","removes":true,"final":true,` +
			`"target":"t","targetIndex":2,"targetName":"#2.1","head":"h","headIndex":4,"headName":"#4.2",` +
			`"orphans":[{"id":"h","index":4,"visit":5,"name":"#4.2"}],"reactivates":[{"id":"t","index":2}],` +
			`"writes":["a row"],"files":[{"path":"p","does":"replace","size":7}],"loads":"the state",` +
			`"resume":[{"call":"go()","then":"goes on"}],"hazards":["careful"],"asks":["sure?"],"entry":9,"sdk":"1.45"}`},
		{planOf(&planned{Plan: model.Plan{Op: model.OpRestore, Session: "s"}}),
			`{"op":"restore","session":"s","target":"","targetIndex":0,"head":"","headIndex":0,"orphans":[],"reactivates":[],"writes":[],"loads":"","hazards":[]}`},
		{receiptOf(&model.Receipt{Entry: 3, Op: model.OpFork, Session: "n", Head: model.Point{ID: "t", Index: 2}, Orphaned: 1, Reactivated: 4}),
			`{"entry":3,"op":"fork","session":"n","head":"t","headIndex":2,"orphaned":1,"reactivated":4}`},
	} {
		var out bytes.Buffer
		p := &printer{Writer: bufio.NewWriter(&out)}
		if err := errors.Join(p.writeDocument(tc.document), p.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(out.String(), "\n"); got != tc.want {
			t.Errorf("it is\n%s\nand not\n%s", got, tc.want)
		}
	}
}
