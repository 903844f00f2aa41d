package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// projects are real ones: what an agent did by hand, and a turn of every kind.
var projects = []string{"devproject-go-1.13.1", "stepsproject-go-1.13.1"}

func fixture(name string) string {
	return filepath.Join("..", "..", "..", "..", "testdata", "genkit", name)
}

func open(t testing.TB, dir string) *Traces {
	t.Helper()
	on, err := tree.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := on.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(on, ".genkit")
}

func all(t testing.TB, tr *Traces) []Turn {
	t.Helper()
	turns, err := tr.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// What the traces of real projects tell, every state included.
func TestTraces_ofRealProjects(t *testing.T) {
	skip.Sequential(t)
	for _, project := range projects {
		t.Run(project, func(t *testing.T) {
			untouched := storetest.Untouched(t, fixture(project))
			tr := open(t, fixture(project))
			var b strings.Builder
			for _, turn := range all(t, tr) {
				fmt.Fprintf(&b, "turn of %q in session %q\n", turn.Agent, turn.Session)
				fmt.Fprintf(&b, "  ended in %q, answered %q\n", turn.Snapshot, turn.Answered)
				writeFacts(&b, turn.Facts())
				end := model.Header{ID: turn.Snapshot, SessionID: turn.Session, ParentID: "before", Index: 4, TurnIndex: 3}
				for i, h := range turn.Headers(&end) {
					line, err := json.Marshal(h)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&b, "  step %s\n", line)
					writeFacts(&b, turn.StepFacts(i))
					state, err := tr.State(t.Context(), h.ID)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&b, "    %s\n", state)
				}
			}
			if skipped := tr.CountSkipped(); skipped != (Skipped{}) {
				t.Errorf("passed over: %+v", skipped)
			}
			golden.RequireEqual(t, []byte(b.String()))
			untouched()
		})
	}
}

func writeFacts(b *strings.Builder, facts []model.Fact) {
	for _, f := range facts {
		fmt.Fprintf(b, "    %s: %q\n", f.Label, f.Value)
	}
}

// messages returns the messages of a state as they stand in it.
func messages(t testing.TB, state []byte) (list []string) {
	t.Helper()
	if !json.Valid(state) {
		t.Fatalf("no JSON: %s", state)
	}
	for m, err := range elements(state, `"messages"`) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(m))
	}
	return list
}

// Each step adds to the one before it, and the end of the turn to the last one:
// the same bytes, and more. The one exception is a turn that an interrupt ended,
// where the SDK notes the interrupt in the model's message instead of the answer.
func TestTraces_eachStepAddsToTheOneBefore(t *testing.T) {
	skip.Sequential(t)
	steps := 0
	for _, project := range projects {
		tr := open(t, fixture(project))
		for _, turn := range all(t, tr) {
			var before []string
			for i := range turn.Steps {
				state, err := tr.State(t.Context(), turn.StepID(i))
				if err != nil {
					t.Fatal(err)
				}
				if turn.Steps[i].Size != int64(len(state)) {
					t.Errorf("%s: the state of %d bytes is said to have %d", turn.StepID(i), len(state), turn.Steps[i].Size)
				}
				now := messages(t, state)
				if len(now) <= len(before) || !slices.Equal(now[:len(before)], before) {
					t.Errorf("%s: step %d has the messages\n%s\nafter\n%s", turn.ID(), i, now, before)
				}
				if title, _ := conversation.Title(state, conversation.LastMessage); !slices.ContainsFunc(turn.Steps[i].Tools, func(r Run) bool { return strings.HasPrefix(title, r.Name) }) {
					t.Errorf("%s: step %d ends with %q", turn.ID(), i, title)
				}
				before = now
				steps++
			}
			end, err := tr.State(t.Context(), turn.ID())
			switch {
			case turn.Error != "":
				if !errors.Is(err, ErrNoState) {
					t.Errorf("%s: the state of a failed turn: %v", turn.ID(), err)
				}
				continue
			case err != nil:
				t.Fatal(err)
			}
			if n := len(turn.Steps); n > 0 && slices.ContainsFunc(turn.Steps[n-1].Tools, func(r Run) bool { return r.Interrupted }) {
				before = before[:len(before)-2]
			}
			if now := messages(t, end); len(now) <= len(before) || !slices.Equal(now[:len(before)], before) {
				t.Errorf("%s: the turn ended with\n%s\nafter\n%s", turn.ID(), now, before)
			}
		}
	}
	if steps < 9 {
		t.Errorf("only %d steps", steps)
	}
}

func TestTraces_TurnsOfOneSession(t *testing.T) {
	skip.Sequential(t)
	tr := open(t, fixture("stepsproject-go-1.13.1"))
	for session, want := range map[string]int{"trip": 5, "talk": 3, "inside": 1, "nobody": 0, "": 0} {
		turns, err := tr.Turns(t.Context(), session)
		if err != nil || len(turns) != want {
			t.Errorf("session %q: %d turns, %v; not %d", session, len(turns), err, want)
		}
		for _, turn := range turns {
			if turn.Session != session {
				t.Errorf("session %q has a turn of %q", session, turn.Session)
			}
		}
	}
}

// A failed turn of JavaScript's SDK names no snapshot, and one of Go's up to 1.12
// is answered with an older one.
func TestTurn_EndedIn(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(id string, s int) *model.Header {
		return &model.Header{ID: id, CreatedAt: start.Add(time.Duration(s) * time.Second)}
	}
	named := Turn{Snapshot: "a", Answered: "b", Start: start, RunEnd: start.Add(9 * time.Second)}
	answered := Turn{Answered: "b", Start: start, RunEnd: start.Add(9 * time.Second)}
	for _, test := range []struct {
		turn *Turn
		h    *model.Header
		want bool
	}{
		{&named, at("a", 99), true}, {&named, at("b", 5), false},
		{&answered, at("b", 5), true}, {&answered, at("b", 0), true}, {&answered, at("b", 9), true},
		{&answered, at("b", -1), false}, {&answered, at("b", 10), false}, {&answered, at("a", 5), false},
		{&Turn{Answered: "b"}, at("b", 5), false}, {&Turn{}, at("", 5), false}, {&Turn{}, at("a", 5), false},
	} {
		if got := test.turn.EndedIn(test.h); got != test.want {
			t.Errorf("%+v ended in %s at %v: %v", test.turn, test.h.ID, test.h.CreatedAt, got)
		}
	}
}

const (
	ended = "0123456789abcdef0123456789abcdef"
	other = "ffffffffffffffffffffffffffffffff"
)

// project is a project's .genkit that a test fills.
type project struct {
	t   testing.TB
	dir string
	now *time.Time
}

func newFolder(t testing.TB) project {
	f := project{t, t.TempDir(), new(time.Time)}
	*f.now = time.Now().Add(-time.Hour)
	for _, dir := range []string{"traces", "traces_idx"} {
		if err := os.MkdirAll(filepath.Join(f.dir, ".genkit", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f project) path(name string) string { return filepath.Join(f.dir, ".genkit", name) }

// write writes a file as if that were long ago, each a second after the last one:
// what was written just now is not remembered.
func (f project) write(name, text string) {
	f.t.Helper()
	*f.now = f.now.Add(time.Second)
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Chtimes(f.path(name), *f.now, *f.now); err != nil {
		f.t.Fatal(err)
	}
}

// aTrace is a trace as the telemetry server writes it, of one turn with a step.
func aTrace(id, session, snapshot string) string {
	span := func(id, parent, name string, start int, attrs map[string]string) string {
		text, _ := json.Marshal(map[string]any{"spanId": id, "parentSpanId": parent, "displayName": name,
			"startTime": 1795302034508.5 + float64(start), "endTime": 1795302034509.25 + float64(start), "attributes": attrs})
		return `"` + id + `":` + string(text)
	}
	spans := []string{
		span("a1", "", "agent", 0, map[string]string{attrSubtype: "agent", attrSession: session}),
		span("a2", "a1", "runTurn-1", 1, map[string]string{attrSnapshot: snapshot, attrOutput: `{"state":{"messages":[]}}`}),
		span("a3", "a2", "generate", 2, nil),
		span("a4", "a3", "model", 3, map[string]string{attrSubtype: "model", attrInput: `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
			attrOutput: `{"message":{"role":"model","content":[{"toolRequest":{"name":"t","ref":"1","input":{"n":1.0}}}]}}`, attrState: "success"}),
		span("a5", "a3", "t", 4, map[string]string{attrSubtype: "tool", attrInput: `{"n":1}`, attrOutput: `[9007199254740993]`, attrState: "success"}),
	}
	return `{"traceId":"` + id + `","displayName":"agent","spans":{` + strings.Join(spans, ",") + `}}`
}

// A tool of the first version gives its output bare, and where no later call
// was given its answer that is made from this.
func TestTraces_makesTheAnswerOfATool(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, aTrace(ended, "s", "snap"))
	tr := open(t, f.dir)
	turns := all(t, tr)
	if len(turns) != 1 || len(turns[0].Steps) != 1 {
		t.Fatalf("%+v", turns)
	}
	state, err := tr.State(t.Context(), "a4@"+ended)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"role":"user","content":[{"text":"hi"}]}`,
		`{"role":"model","content":[{"toolRequest":{"name":"t","ref":"1","input":{"n":1.0}}}]}`,
		`{"content":[{"toolResponse":{"name":"t","output":[9007199254740993],"ref":"1"}}],"role":"tool"}`}
	if got := messages(t, state); !slices.Equal(got, want) {
		t.Errorf("messages %s", got)
	}
	if got, err := tr.State(t.Context(), turns[0].ID()); err != nil || string(got) != `{"messages":[]}` {
		t.Errorf("the end: %s, %v", got, err)
	}
	for _, id := range []string{"", "a4", "a5@" + ended, "a9@" + ended, "a4@" + other, "a4@../traces/" + ended, "a4@" + strings.ToUpper(ended), "@" + ended} {
		if _, err := tr.State(t.Context(), id); err == nil {
			t.Errorf("%q has a state", id)
		} else if id != "a4@"+other && !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// A model that answered with nothing adds no message.
func TestTraces_answerThatIsNone(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	text := aTrace(ended, "s", "snap")
	cut := strings.Replace(text, `{\"message\":`, `{\"message\":null,\"was\":`, 1)
	if cut == text {
		t.Fatal("the answer is not as it was")
	}
	f.write("traces/"+ended, cut)
	state, err := open(t, f.dir).State(t.Context(), "a4@"+ended)
	if err != nil {
		t.Fatal(err)
	}
	if got := messages(t, state); len(got) != 1 {
		t.Errorf("messages %s", got)
	}
}

// A step whose model call is not whole in the trace is there, and says so.
func TestTraces_stepThatIsNotWhole(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, strings.Replace(aTrace(ended, "s", "snap"), `{\"messages\":[{\"role\":\"user\"`, `{\"messages\":[{\"role\":`, 1))
	tr := open(t, f.dir)
	turns := all(t, tr)
	if len(turns) != 1 || len(turns[0].Steps) != 1 {
		t.Fatalf("%+v", turns)
	}
	h := turns[0].Headers(&model.Header{ID: "snap", SessionID: "s"})[0]
	if !h.Marks.Has(model.MarkDamaged|model.MarkTraced) || h.Size != 0 {
		t.Errorf("header %+v", h)
	}
	_, err := tr.State(t.Context(), h.ID)
	if want := "genkit: .genkit/traces/" + ended + `: span "a4": input: byte `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("state: %v", err)
	}
}

// What is no whole trace is passed over and counted, and the others are read.
func TestTraces_passesOverWhatIsNone(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, aTrace(ended, "s", "snap"))
	hex := func(i int) string { return fmt.Sprintf("traces/%032x", i) }
	whole := aTrace(ended, "s", "snap")
	f.write(hex(1), whole[:len(whole)/2]) // torn
	f.write(hex(2), "")
	f.write(hex(3), `{"spans":[]}`) // JSON, but no trace
	f.write(hex(4), `7`)
	f.write("traces/"+ended+".tmp", whole) // names that are none
	f.write("traces/notes.txt", "hello")
	if err := os.Symlink(f.path("traces/"+ended), f.path(hex(5))); err != nil {
		t.Fatal(err)
	}
	storetest.Pipe(t, f.path(hex(6)))
	if err := os.Mkdir(f.path(hex(7)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path(hex(8)), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.path(hex(8)), maxSize+1); err != nil {
		t.Fatal(err)
	}
	tr := open(t, f.dir)
	for range 2 { // the second time from memory
		if turns := all(t, tr); len(turns) != 1 {
			t.Errorf("%d turns", len(turns))
		}
		got := tr.CountSkipped()
		if got.Torn != 2 || got.Foreign != 4 || got.Unread != 4 || got.Err == nil || !strings.HasPrefix(got.Name, "traces/0") {
			t.Errorf("passed over: %+v", got)
		}
	}
}

func TestTraces_noFolder(t *testing.T) {
	skip.Sequential(t)
	tr := open(t, t.TempDir())
	if turns := all(t, tr); len(turns) != 0 {
		t.Errorf("%+v", turns)
	}
	f := project{t, t.TempDir(), new(time.Time)}
	if err := os.Mkdir(filepath.Join(f.dir, ".genkit"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.write("traces", "a file")
	if _, err := open(t, f.dir).All(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "genkit: list .genkit/traces: ") {
		t.Errorf("a file in place of the folder: %v", err)
	}
}

// count makes the traces count which files they read.
func count(tr *Traces) (read func() []string) {
	var mu sync.Mutex
	var names []string
	reads := tr.read
	tr.read = func(name string, buf []byte) ([]byte, error) {
		mu.Lock()
		names = append(names, path.Base(name))
		mu.Unlock()
		return reads(name, buf)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		got := names
		names = nil
		slices.Sort(got)
		return got
	}
}

// Reads of snapshots are not read, a file is read again only when it changed, and
// the index only when there is something new.
func TestTraces_readsNoMoreThanItMust(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, aTrace(ended, "s", "snap"))
	f.write("traces/"+other, "large, and not even JSON")
	f.write("traces_idx/idx_1.json", `{"id":"`+other+`","type":"agent-snapshot","start":1}`+"\n"+`{"id":"`+ended+`","type":"agent"}`+"\n"+`{"id":"torn`)
	f.write("traces_idx/genkit.metadata", `{"version":"1.43.0"}`)
	tr := open(t, f.dir)
	read := count(tr)
	look := func(what string, turns int, want ...string) {
		t.Helper()
		if got := all(t, tr); len(got) != turns {
			t.Errorf("%s: %d turns", what, len(got))
		}
		if got := read(); !slices.Equal(got, want) {
			t.Errorf("%s: read %v, not %v", what, got, want)
		}
	}
	look("at first", 1, ended, "idx_1.json")
	look("again", 1)
	f.write("traces/"+ended, strings.ReplaceAll(aTrace(ended, "s", "snap"), "runTurn-1", "runTurn-10"))
	look("after a change", 1, ended, "idx_1.json")
	third := strings.Repeat("1", 32)
	f.write("traces/"+third, aTrace(third, "s", "snap"))
	look("after a trace more", 2, third, "idx_1.json")
	if err := os.Remove(f.path("traces/" + ended)); err != nil {
		t.Fatal(err)
	}
	look("after a trace went", 1)
	if got := tr.CountSkipped(); got != (Skipped{}) {
		t.Errorf("passed over: %+v", got)
	}
}

// A file that cannot be read for a moment is read the next time, although it is
// the same.
func TestTraces_cannotBeReadForAMoment(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, aTrace(ended, "s", "snap"))
	tr := open(t, f.dir)
	read := tr.read
	tr.read = func(string, []byte) ([]byte, error) { return nil, syscall.EMFILE }
	if got := all(t, tr); len(got) != 0 || tr.CountSkipped().Unread != 1 {
		t.Errorf("%d turns, passed over %+v", len(got), tr.CountSkipped())
	}
	tr.read = read
	if got := all(t, tr); len(got) != 1 || tr.CountSkipped().Unread != 0 {
		t.Errorf("later %d turns, passed over %+v", len(got), tr.CountSkipped())
	}
}

// A model that asks for more tools than were run takes no longer than that.
func TestTraces_manyRequests(t *testing.T) {
	skip.Sequential(t)
	const n = 30_000
	var asks, runs strings.Builder
	for i := range n {
		fmt.Fprintf(&asks, `{"toolRequest":{"name":"a%d","input":1}},`, i)
	}
	for i := range maxCalls - 1 {
		fmt.Fprintf(&runs, `,"r%d":{"displayName":"b%d","parentSpanId":"1","startTime":3,"endTime":4,"attributes":{"genkit:metadata:subtype":"tool","genkit:input":"1","genkit:output":"2"}}`, i, i)
	}
	answer, err := json.Marshal(`{"message":{"role":"model","content":[` + asks.String() + `{"toolRequest":{"name":"b7","input":1}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t)
	f.write("traces/"+ended, `{"spans":{"0":{"displayName":"x","startTime":1,"attributes":{"genkit:metadata:subtype":"agent","genkit:metadata:agent:sessionId":"s"}},
		"1":{"displayName":"runTurn-1","parentSpanId":"0","startTime":1,"attributes":{"genkit:metadata:agent:snapshotId":"snap"}},
		"2":{"displayName":"m","parentSpanId":"1","startTime":2,"attributes":{"genkit:metadata:subtype":"model","genkit:input":"{\"messages\":[]}","genkit:output":`+string(answer)+`}}`+runs.String()+`}}`)
	tr := open(t, f.dir)
	turns := all(t, tr)
	if len(turns) != 1 || len(turns[0].Steps) != 1 || len(turns[0].Steps[0].Tools) != maxCalls-1 {
		t.Fatalf("%d turns", len(turns))
	}
	state, err := tr.State(t.Context(), turns[0].StepID(0))
	if list := messages(t, state); err != nil || len(list) != 2 || list[1] != `{"content":[{"toolResponse":{"name":"b7","output":2}}],"role":"tool"}` {
		t.Errorf("%d messages, %v", len(list), err)
	}
}

// Notes that outlive the traces spare another program the reading.
func TestTraces_Remember(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	f.write("traces/"+ended, aTrace(ended, "s", "snap"))
	f.write("traces/"+other, "torn")
	var memory files.Memory
	var want []Turn
	for i := range 2 {
		tr := open(t, f.dir)
		tr.Remember(&memory)
		read := count(tr)
		got := all(t, tr)
		if names := read(); (len(names) == 0) != (i == 1) {
			t.Errorf("program %d read %v", i, names)
		}
		if i == 1 && !reflect.DeepEqual(got, want) || tr.CountSkipped().Torn != 1 {
			t.Errorf("program %d has %+v, not %+v, passed over %+v", i, got, want, tr.CountSkipped())
		}
		want = got
	}
}

func TestTraces_endWithTheirContext(t *testing.T) {
	skip.Sequential(t)
	f := newFolder(t)
	for i := range 40 {
		f.write(fmt.Sprintf("traces/%032x", i), aTrace(ended, "s", "snap"))
	}
	tr := open(t, f.dir)
	ctx, cancel := context.WithCancel(t.Context())
	var reads atomic.Int32
	read := tr.read
	tr.read = func(name string, buf []byte) ([]byte, error) {
		if reads.Add(1) == 3 {
			cancel()
		}
		return read(name, buf)
	}
	if _, err := tr.All(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it reads: %v", err)
	}
	if _, err := tr.State(ctx, "a4@"+ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a state: %v", err)
	}
	if turns := all(t, tr); len(turns) != 40 {
		t.Errorf("then: %d turns", len(turns))
	}
}

// Several at once see the same.
func TestTraces_severalAtOnce(t *testing.T) {
	tr := open(t, fixture("stepsproject-go-1.13.1"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			turns, err := tr.Turns(t.Context(), []string{"trip", "talk"}[i%2])
			if err != nil || len(turns) != []int{5, 3}[i%2] {
				t.Errorf("%d turns, %v", len(turns), err)
			}
			if _, err := tr.State(t.Context(), turns[0].ID()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Spans that name each other as parents, one within the other a thousand times,
// or by the ten thousand, neither hang nor grow.
func TestTraces_standAnyTree(t *testing.T) {
	skip.Sequential(t)
	span := func(id, parent, subtype string) string {
		return fmt.Sprintf(`%q:{"parentSpanId":%q,"displayName":"runTurn-1","attributes":{%q:%q,%q:"s"}}`, id, parent, attrSubtype, subtype, attrSession)
	}
	var deep, wide []string
	for i := range 20_000 {
		deep = append(deep, span(fmt.Sprint(i), fmt.Sprint(i-1), []string{"agent", "", "", "model", "tool.v2"}[i%5]))
	}
	wide = append(wide, span("0", "", "agent"), span("1", "0", ""))
	for i := range 30_000 {
		wide = append(wide, span(fmt.Sprint(i+2), "1", []string{"model", "tool"}[i%2]))
	}
	for name, spans := range map[string][]string{
		"circle":   {span("a", "b", "agent"), span("b", "a", ""), span("c", "c", "agent")},
		"deep":     deep,
		"wide":     wide,
		"agents":   slices.Repeat([]string{span("x", "y", "agent")}, 20_000),
		"no times": {`"a":{"startTime":1e400,"endTime":-5,"attributes":{}}`, `"b":7`, `"c":{"attributes":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := mustRead(t, []byte(`{"spans":{`+strings.Join(spans, ",")+`}}`))
			runs := 0
			for _, turn := range d.turns(ended) {
				runs += 1 + len(turn.Calls) + len(turn.Steps)
				for _, step := range turn.Steps {
					runs += len(step.Tools)
				}
			}
			if runs > 2*maxCalls+10 {
				t.Errorf("%d calls are kept", runs)
			}
		})
	}
}

func mustRead(t testing.TB, data []byte) *document {
	t.Helper()
	tape, err := files.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := takeApart(tape)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever a trace holds, what is made of it is bounded and JSON, and comes back
// from a note as it was.
func FuzzTrace(f *testing.F) {
	for _, project := range projects {
		names, err := filepath.Glob(filepath.Join(fixture(project), ".genkit", "traces", "*"))
		if err != nil || len(names) == 0 {
			f.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 5000 { // large ones mutate too slowly
				f.Add(data)
			}
		}
	}
	whole := aTrace(ended, "s", "snap")
	for _, text := range []string{whole,
		strings.ReplaceAll(whole, `"parentSpanId":"a3"`, `"parentSpanId":"a2"`),
		strings.ReplaceAll(whole, "success", "error"),
		strings.ReplaceAll(whole, `"tool"`, `"tool.v2"`),
		strings.ReplaceAll(whole, `"model"`, `"agent"`),
	} {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"spans":{"a":{"attributes":{}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, err := files.Parse(data)
		if err != nil {
			return
		}
		d, err := takeApart(tape)
		if err != nil {
			return
		}
		turns := d.turns(ended)
		if again := parseNote(note(turns), ""); len(again) != len(turns) {
			t.Fatalf("%d turns come back as %d", len(turns), len(again))
		}
		for _, turn := range turns {
			end := model.Header{ID: turn.Snapshot, SessionID: turn.Session}
			headers := turn.Headers(&end)
			if len(headers) != len(turn.Steps) {
				t.Fatalf("%d headers of %d steps", len(headers), len(turn.Steps))
			}
			for i := range headers {
				if h := &headers[i]; len(h.Title) > conversation.MaxTitle+2*maxName || len(h.ID) > maxID+33 || !Owns(h.ID) {
					t.Fatalf("header %+v", h)
				}
				turn.StepFacts(i)
				state, err := d.state(turn.Steps[i].Span, ended)
				if err == nil && !jsontape.Valid(state) {
					t.Fatalf("the state of %s is no JSON: %s", headers[i].ID, state)
				}
			}
			if state, err := d.state(turn.Span, ended); err == nil && !jsontape.Valid(state) {
				t.Fatalf("the end of %s is no JSON: %s", turn.ID(), state)
			}
		}
	})
}

// FuzzIndex holds that a line of the index is read as a reader of JSON reads it.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"id":"75dae475ca5d33d630ebace2caadf8da","type":"agent-snapshot","start":1795223918917.734,"name":"barista","end":1795223918919.211,"status":0}`))
	f.Add([]byte(`{"id":"a","type":"b"`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		id, kind := parseIndexLine(line)
		var want struct{ ID, Type string }
		if !jsontape.Valid(line) || json.Unmarshal(line, &want) != nil || bytes.ContainsAny(line, `\`) {
			return
		}
		keys := map[string]int{}
		for m, err := range jsontape.Members(line) {
			if err != nil {
				return
			}
			keys[strings.ToLower(string(m.Key))]++
		}
		if keys[`"id"`] == 1 && keys[`"type"`] == 1 && bytes.Contains(line, []byte(`"id"`)) && bytes.Contains(line, []byte(`"type"`)) && (id != want.ID || kind != want.Type) {
			t.Fatalf("%s: %q, %q", line, id, kind)
		}
	})
}
