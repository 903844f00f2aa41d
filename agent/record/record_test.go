package record_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"hindcast/agent/record"
	"hindcast/model"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
)

type state struct {
	Messages []string `json:"messages"`
}

func create(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "chat.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func open(t *testing.T, db typed.Recording) *record.Recorder {
	t.Helper()
	rec, err := record.Open(t.Context(), db, "s")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// line tells the visits of the session: the number of messages, the turn and what the program said, "-" for a visit off the path
// and "*" for the head.
func line(t *testing.T, db *sqlite.Store) string {
	t.Helper()
	var words []string
	for h, err := range db.Headers(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		text, err := db.State(t.Context(), h.Ref())
		if err != nil {
			t.Fatal(err)
		}
		var s state
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		word := fmt.Sprintf("%d@%d%s", len(s.Messages), h.TurnIndex, h.ProgramText())
		if h.Orphaned {
			word += "-"
		}
		if h.Head {
			word += "*"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func wantLine(t *testing.T, db *sqlite.Store, want string) {
	t.Helper()
	if got := line(t, db); got != want {
		t.Errorf("the session is\n %s\nwant\n %s", got, want)
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func messages(n int) state { return state{make([]string, n)} }

func TestRecorder_goesOnInAnotherProcess(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	var s state
	if found, err := rec.LoadState(&s); found || err != nil {
		t.Errorf("a new session: %v, %v", found, err)
	}
	if _, ok := rec.LastVisit(); ok {
		t.Error("a new session has a head")
	}
	check(t, rec.Tool(ctx, messages(3)), rec.Tool(ctx, messages(5)), rec.Turn(ctx, messages(6)), rec.Turn(ctx, messages(8)))
	again := open(t, db)
	if found, err := again.LoadState(&s); !found || err != nil || len(s.Messages) != 8 {
		t.Errorf("loaded %v, %v, %v", found, s, err)
	}
	check(t, again.Turn(ctx, messages(10)))
	wantLine(t, db, "3@0 5@0 6@0 8@1 10@2*")
	if h, ok := again.LastVisit(); !ok || h.Index != 4 || h.ID != model.SnapshotID([]byte(`{"messages":["","","","","","","","","",""]}`)) {
		t.Errorf("the head is %+v", h)
	}
}

func TestRecorder_rewritesARow(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	check(t,
		rec.Turn(ctx, messages(1), record.WithAlias("r1"), record.WithAttribute("status", "pending")),
		rec.Turn(ctx, messages(2), record.WithAlias("r1"), record.WithAttribute("status", "completed"), record.WithAttribute("tokens", 12)),
		rec.Turn(ctx, messages(4), record.WithAlias("r2"), record.WithAttribute("error", map[string]string{"kind": "timeout"})))
	wantLine(t, db, `2@0{r1, status=completed, tokens=12} 4@1{r2, error={"kind":"timeout"}}*`)
	again := open(t, db)
	check(t, again.Turn(ctx, messages(3), record.WithAlias("r1")), again.Turn(ctx, messages(6)))
	wantLine(t, db, `3@0{r1} 4@1{r2, error={"kind":"timeout"}} 6@2*`)
}

func TestRecorder_amendsTheLastVisit(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	if err := rec.Amend(ctx, messages(1)); !errors.Is(err, record.ErrNoVisit) {
		t.Errorf("before the first visit: %v", err)
	}
	check(t, rec.Turn(ctx, messages(1)), rec.Tool(ctx, messages(2), record.WithAlias("r1"), record.WithAttribute("status", "called")), rec.Amend(ctx, messages(3)))
	wantLine(t, db, "1@0 3@1{r1, status=called}*")
	again := open(t, db)
	check(t, again.Amend(ctx, messages(4)), again.Turn(ctx, messages(5)), again.Amend(ctx, messages(6)))
	wantLine(t, db, "1@0 4@1{r1, status=called} 6@1*")
	var conflict *model.ConflictError
	if err := rec.Amend(ctx, messages(7)); !errors.As(err, &conflict) {
		t.Errorf("behind another recorder: %v", err)
	}
}

func TestRecorder_goesBackToItsOwnID(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	check(t, rec.Turn(ctx, messages(1), record.WithAlias("r1")), rec.Turn(ctx, messages(2), record.WithAlias("r2")))
	again := open(t, db)
	var s state
	check(t, again.GoBack(ctx, "r1", &s))
	if len(s.Messages) != 1 {
		t.Errorf("the state is %v", s)
	}
	check(t, again.Turn(ctx, messages(3)))
	wantLine(t, db, "1@0{r1} 2@1{r2}- 3@1*")
	if err := again.GoBack(ctx, "r3", nil); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("no such alias: %v", err)
	}
}

func TestRecorder_secondOfTwoIsRefused(t *testing.T) {
	db, ctx := create(t), t.Context()
	first, second := open(t, db), open(t, db)
	check(t, first.Turn(ctx, messages(1)))
	for range 2 { // it stays so
		var conflict *model.ConflictError
		if err := second.Turn(ctx, messages(2)); !errors.As(err, &conflict) || conflict.Session != "s" || conflict.Head.Index != 0 {
			t.Errorf("the second recorder: %v", err)
		}
		if err := second.Turn(ctx, messages(2), record.WithAlias("r")); !errors.As(err, &conflict) {
			t.Errorf("the second recorder, with an alias: %v", err)
		}
	}
	if err := second.GoBack(ctx, "r", nil); !errors.As(err, new(*model.ConflictError)) {
		t.Errorf("the second recorder goes back: %v", err)
	}
	check(t, first.Turn(ctx, messages(2)), open(t, db).Turn(ctx, messages(3)))
	wantLine(t, db, "1@0 2@1 3@2*")
}

func TestRecorder_learnsOfARestore(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	check(t, rec.Turn(ctx, messages(1)), rec.Turn(ctx, messages(2)))
	plan, err := db.Plan(ctx, model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: model.SnapshotID([]byte(`{"messages":[""]}`))}})
	check(t, err)
	_, err = db.Apply(ctx, plan)
	check(t, err)
	if err := rec.Turn(ctx, messages(3)); !errors.As(err, new(*model.ConflictError)) {
		t.Errorf("after a restore: %v", err)
	}
	again := open(t, db)
	var s state
	if _, err := again.LoadState(&s); err != nil || len(s.Messages) != 1 {
		t.Errorf("the picked state is %v, %v", s, err)
	}
	check(t, again.Turn(ctx, messages(4)))
	wantLine(t, db, "1@0 2@1- 4@1*")
}

func TestRecorder_atOnce(t *testing.T) {
	db, ctx := create(t), t.Context()
	rec := open(t, db)
	var tools sync.WaitGroup
	for i := range 8 {
		tools.Go(func() {
			if err := rec.Tool(ctx, messages(i)); err != nil {
				t.Error(err)
			}
		})
	}
	tools.Wait()
	n := 0
	for h, err := range db.Headers(ctx, "s") {
		if err != nil || h.ParentVisit != int64(n) {
			t.Errorf("visit %d follows %d, %v", h.Visit, h.ParentVisit, err)
		}
		n++
	}
	if n != 8 {
		t.Errorf("%d visits", n)
	}
}

func TestRecorder_refuses(t *testing.T) {
	db, ctx := create(t), t.Context()
	if _, err := record.Open(ctx, db, ""); !errors.Is(err, record.ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
	rec := open(t, db)
	for name, c := range map[string]struct {
		state   any
		options []record.Option
		want    string
	}{
		"a state that is no JSON":      {make(chan int), nil, "unsupported type"},
		"an attribute that is no JSON": {1, []record.Option{record.WithAttribute("a", make(chan int))}, "unsupported type"},
		"an attribute twice":           {1, []record.Option{record.WithAttribute("a", 1), record.WithAttribute("a", 2)}, "twice"},
		"an attribute without a name":  {1, []record.Option{record.WithAttribute("", 1)}, "name is empty"},
		"no alias":                     {1, []record.Option{record.WithAlias("")}, record.ErrAlias.Error()},
		"two aliases":                  {1, []record.Option{record.WithAlias("a"), record.WithAlias("b")}, record.ErrAlias.Error()},
		"a long alias":                 {1, []record.Option{record.WithAlias(strings.Repeat("a", 2000))}, typed.ErrAlias.Error()},
	} {
		if err := rec.Turn(ctx, c.state, c.options...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantNone(t, db)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := rec.Turn(cancelled, messages(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	wantNone(t, db)
	check(t, rec.Turn(ctx, messages(1))) // the same call again
	wantLine(t, db, "1@0*")
}

func wantNone(t *testing.T, db *sqlite.Store) {
	t.Helper()
	for h, err := range db.Headers(t.Context(), "s") {
		if !errors.Is(err, model.ErrNoSession) {
			t.Errorf("it wrote %+v, %v", h, err)
		}
	}
}

// TestRecorder_marksTheSpan: a snapshot's id is on the span that is current.
func TestRecorder_marksTheSpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "my turn")
	rec := open(t, create(t))
	check(t, rec.Tool(ctx, messages(1)), rec.Turn(ctx, messages(2)))
	span.End()
	head, _ := rec.LastVisit()
	ended := spans.Ended()[0]
	set := attribute.NewSet(ended.Attributes()...)
	if id, _ := set.Value("genkit:metadata:snapshotId"); id.AsString() != head.ID || len(ended.Events()) != 2 {
		t.Errorf("the span has %v and %v", ended.Attributes(), ended.Events())
	}
}

// inProcess names the store into which another process records until it is killed.
const inProcess = "HINDCAST_RECORD_TEST_STORE"

// TestRecorder_crash kills a program that records without a pause. Each turn of which it was told is there.
func TestRecorder_crash(t *testing.T) {
	if path := os.Getenv(inProcess); path != "" {
		db, err := sqlite.OpenOrCreate(t.Context(), path)
		check(t, err)
		for n, rec := 1, open(t, db); ; n++ {
			check(t, rec.Turn(t.Context(), messages(n), record.WithAlias(strconv.Itoa(n)), record.WithAttribute("status", "pending")),
				rec.Turn(t.Context(), messages(n), record.WithAlias(strconv.Itoa(n)), record.WithAttribute("status", "completed")))
			fmt.Println(n)
		}
	}
	path := filepath.Join(t.TempDir(), "chat.db")
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	program.Env = append(os.Environ(), inProcess+"="+path)
	out, err := program.StdoutPipe()
	check(t, err, program.Start())
	told := 0
	for lines := bufio.NewScanner(out); told < 20 && lines.Scan(); {
		told, err = strconv.Atoi(lines.Text())
		check(t, err)
	}
	check(t, program.Process.Kill())
	_ = program.Wait()
	db, err := sqlite.OpenOrCreate(t.Context(), path)
	check(t, err)
	defer db.Close()
	completed, visits := 0, 0
	for h, err := range db.Headers(t.Context(), "s") {
		check(t, err)
		if visits++; h.ProgramText() == fmt.Sprintf("{%d, status=completed}", visits) {
			completed++
		}
	}
	if told < 20 || completed < told || visits-completed > 1 {
		t.Errorf("told of %d, %d are complete of %d", told, completed, visits)
	}
	var s state
	rec := open(t, db)
	if _, err := rec.LoadState(&s); err != nil || len(s.Messages) != visits {
		t.Errorf("the last state has %d messages, %v", len(s.Messages), err)
	}
	check(t, rec.Turn(t.Context(), messages(1)))
}
