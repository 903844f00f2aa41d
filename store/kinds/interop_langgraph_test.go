package kinds_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/kinds"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// graphs is the program that has LangGraph write a store, tell what it thinks of each
// checkpoint, and go on from each.
type graphs struct{ python, program string }

// says returns the JSON that the program answers with. more are arguments.
func (g graphs) says(t *testing.T, what, db string, given, answer any, more ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.python, append([]string{g.program, what, db}, more...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	question, err := json.Marshal(given)
	if err == nil {
		cmd.Stdin = bytes.NewReader(question)
		err = cmd.Run()
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(out.Bytes(), answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, &errs)
	}
}

// reached is a checkpoint as Hindcast shows it, with one of the calls that go on from it.
type reached struct {
	Session string `json:"session"`
	Call    string `json:"call"`
	header  model.Header
	state   map[string]any
	next    []string
	// unsure are the channels that Hindcast says it is not sure of.
	unsure []string
}

// placesIn returns the checkpoints of a store, each with each of its calls. No session has a fault but the true ones.
func placesIn(t *testing.T, db string, isTrue ...string) (places []reached) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, info := range sessionsOf(t, s) {
		for _, f := range faultsOf(t, s, info.ID) {
			if !slices.Contains(isTrue, f.Code) {
				t.Errorf("%s has the fault %+v", info.ID, f)
			}
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			at := reached{Session: info.ID, header: h}
			if err := json.Unmarshal(stateOf(t, s, &h), &at.state); err != nil {
				t.Fatal(err)
			}
			facts, err := s.Features().Facts(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if channels, _, is := strings.Cut(f.Value, ":"); is && f.Label == "not sure" {
					at.unsure = append(at.unsure, strings.Split(channels, ", ")...)
				}
				if f.Label == "next" && f.Value != "nothing" {
					at.next = slices.Sorted(slices.Values(strings.Split(f.Value, ", ")))
				}
			}
			calls, err := s.Features().Resume(t.Context(), h.Ref())
			if err != nil || len(calls) == 0 {
				t.Fatalf("%s #%d: no call goes on, %v", info.ID, h.Index, err)
			}
			for _, c := range calls {
				at.Call = c.Call
				places = append(places, at)
			}
		}
	}
	return places
}

// TestInteropLangGraph has LangGraph write checkpoints. At each, what get_state returns
// for the config that Hindcast's call names is what Hindcast shows; and each call goes
// on from there.
func TestInteropLangGraph(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	program, err := filepath.Abs(filepath.Join(testdata, "interop", "langgraph", "states.py"))
	if err != nil {
		t.Fatal(err)
	}
	g := graphs{filepath.Join(sdks(t), "langgraph", "venv", "bin", "python"), program}
	t.Run("in PostgreSQL", func(t *testing.T) { g.inPostgres(t) })
	db := filepath.Join(t.TempDir(), "checkpoints.db")
	g.says(t, "write", db, nil, nil)
	untouched := storetest.Untouched(t, filepath.Dir(db))
	places := placesIn(t, db)
	untouched()
	if len(places) < 70 {
		t.Errorf("%d places", len(places))
	}
	t.Run("tell", func(t *testing.T) { g.tell(t, db, places) })
	t.Run("run", func(t *testing.T) { g.run(t, db, places) })
	t.Run("put back", func(t *testing.T) {
		const title = "langgraph 1.2.24, langgraph-checkpoint-sqlite 3.1.2"
		var proven matrix
		g.compare(t, rewriting{T: t, db: db, title: title, restores: true, came: &proven, skips: func(session string) bool { return strings.Contains(session, "/") }})
		proven.hold(t, "langgraph", title)
	})
}

// TestInteropLangGraph_drawn does the same of graphs that are drawn at random.
// HINDCAST_DRAWN draws as many as it says.
func TestInteropLangGraph_drawn(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	count := 8
	if text := os.Getenv("HINDCAST_DRAWN"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs(filepath.Join(testdata, "interop", "langgraph", "states.py"))
	if err != nil {
		t.Fatal(err)
	}
	g := graphs{filepath.Join(sdks(t), "langgraph", "venv", "bin", "python"), program}
	db := filepath.Join(t.TempDir(), "drawn.db")
	g.says(t, "draw", db, count, nil)
	// What a task wrote that failed, or to an UntrackedValue, no state took.
	places := placesIn(t, db, conversation.ModelFirst, store.FaultUnread)
	if len(places) < 5*count {
		t.Errorf("%d places", len(places))
	}
	t.Run("tell", func(t *testing.T) { g.tell(t, db, places) })
	t.Run("put back", func(t *testing.T) {
		keeps := map[string]bool{} // a subgraph with checkpointer=True goes on from its own latest state
		for _, at := range places {
			if session, namespace, is := strings.Cut(at.Session, "/"); is && !strings.Contains(namespace, ":") {
				keeps[session] = true
			}
		}
		g.compare(t, rewriting{T: t, db: db, title: "drawn", restores: true, came: new(matrix), skips: func(session string) bool {
			return strings.Contains(session, "/") || keeps[session]
		}})
	})
}

func (g graphs) tell(t *testing.T, db string, places []reached) {
	var told []struct {
		Conflict bool
		Values   map[string]any
		Next     []string
		Waiting  []any
		Head     string
	}
	g.says(t, "tell", db, places, &told)
	for i, at := range places {
		name := fmt.Sprintf("%s #%d, %s", at.Session, at.header.Index, at.header.ID)
		is := told[i]
		if is.Conflict {
			continue
		}
		shown := maps.Clone(at.state)
		maps.DeleteFunc(shown, func(key string, _ any) bool { return strings.HasPrefix(key, "__") })
		// A channel that was never written has the empty value of its reducer, and a Topic without values none.
		isEmpty := func(v any) bool {
			is := reflect.ValueOf(v)
			return v == 0.0 || v == "" || (is.Kind() == reflect.Slice || is.Kind() == reflect.Map) && is.Len() == 0
		}
		maps.DeleteFunc(is.Values, func(key string, v any) bool {
			_, there := shown[key]
			return !there && (key == "__end__" || isEmpty(v)) || key == "__interrupt__"
		})
		maps.DeleteFunc(shown, func(key string, v any) bool {
			_, there := is.Values[key]
			return !there && isEmpty(v) && strings.HasPrefix(key, "topic")
		})
		// What Hindcast says it is not sure of is the program's alone to know.
		for _, key := range at.unsure {
			delete(shown, key)
			delete(is.Values, key)
		}
		if !reflect.DeepEqual(shown, is.Values) {
			t.Errorf("%s: Hindcast shows\n%v\nLangGraph has\n%v", name, shown, is.Values)
		}
		if !slices.Equal(at.next, is.Next) {
			t.Errorf("%s: Hindcast says that %q is next, LangGraph %q", name, at.next, is.Next)
		}
		if at.header.Head != (is.Head == at.header.ID) {
			t.Errorf("%s: Hindcast says %v of the head, LangGraph has %s", name, at.header.Head, is.Head)
		}
		asked := asOf(at.state["__interrupt__"])
		if at.header.Head && len(asked)+len(is.Waiting) > 0 && !reflect.DeepEqual(asked, is.Waiting) {
			t.Errorf("%s: Hindcast says that %v waits, LangGraph %v", name, asked, is.Waiting)
		}
	}
}

// asOf returns the questions of a state as the program tells them: each with its id.
func asOf(questions any) (list []any) {
	all, _ := questions.([]any)
	for _, one := range all {
		list = append(list, []any{one.(map[string]any)["id"], one.(map[string]any)["value"]})
	}
	return list
}

func (g graphs) run(t *testing.T, db string, places []reached) {
	var ran []struct {
		Line   []string
		Failed string
		Asked  []any
	}
	places = slices.DeleteFunc(slices.Clone(places), func(p reached) bool { return strings.Contains(p.Session, "/") })
	g.says(t, "run", db, places, &ran)
	for i, at := range places {
		if ran[i].Failed != "" && at.Session != "fails" {
			t.Errorf("%s #%d: %s fails: %s", at.Session, at.header.Index, at.Call, ran[i].Failed)
			continue
		}
		// Its answers are given: nothing that waited waits still.
		for _, one := range asOf(at.state["__interrupt__"]) {
			if strings.Contains(at.Call, "resume") && slices.ContainsFunc(ran[i].Asked, func(left any) bool { return reflect.DeepEqual(left, one) }) {
				t.Errorf("%s #%d: after %s %v waits still", at.Session, at.header.Index, at.Call, one)
			}
		}
		// LangGraph begins a branch with a copy beside the checkpoint, or with its child.
		if !slices.Contains(ran[i].Line, at.header.ID) && !slices.Contains(ran[i].Line, at.header.ParentID) {
			t.Errorf("%s #%d: %s leads to %q, which does not come of %s", at.Session, at.header.Index, at.Call, ran[i].Line, at.header.ID)
		}
	}
}

// thinks is what LangGraph thinks of a checkpoint: its values, what is next, what waits, and
// what comes of running on from it.
type thinks struct {
	Values, Result any
	Next           []string
	Asked, Sent    []any
	ID, Failed     string
}

// compare puts each thread back to each checkpoint, and forks it from each. LangGraph, which
// gets the thread alone, thinks of it as it does of the checkpoint itself, and sends the
// model the same. Undone, each table is as it was.
func (g graphs) compare(t *testing.T, r rewriting) {
	type put struct {
		Session string `json:"session"`
		ID      string `json:"id"`
		DB      string `json:"db"`
		Thread  string `json:"thread"`
		// Live says that the checkpoint counts with what its tasks did so far: a fork of the head has that, too.
		Live bool `json:"live"`
	}
	all := r.all()
	puts := make([]put, len(all))
	for i, w := range all {
		puts[i] = put{w.SessionID, w.ID, w.db, w.receipt.Session, w.Head && w.change.Op == model.OpFork}
	}
	var told []struct{ Was, Now thinks }
	g.says(t, "compare", r.db, puts, &told)
	for i := range all {
		w, was, now := &all[i], told[i].Was, told[i].Now
		if now.ID != w.receipt.Head.ID {
			t.Errorf("%s: LangGraph goes on from %s instead of %s", w, now.ID, w.receipt.Head.ID)
		}
		was.ID, now.ID = "", ""
		if w.change.Op == model.OpRestore { // writes are not copied: what asks asks again when it runs
			was.Asked, now.Asked = nil, nil
		}
		// Of the head that stays LangGraph thinks with what its tasks did since.
		if w.receipt.Entry != 0 && !reflect.DeepEqual(was, now) {
			t.Errorf("%s: LangGraph thinks of the checkpoint\n%+v\nand of what Hindcast wrote\n%+v", w, was, now)
		}
		r.ran(w)
	}
}

// TestInteropLangGraph_repair has the agents of LangGraph and of LangChain write threads in which a call has no result and
// the user wrote on. create_react_agent refuses each; after a repair both go on, and the model is sent a result right
// behind each call. Undone, each table is as it was.
func TestInteropLangGraph_repair(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	program, err := filepath.Abs(filepath.Join(testdata, "interop", "langgraph", "agents.py"))
	if err != nil {
		t.Fatal(err)
	}
	g := graphs{filepath.Join(sdks(t), "langgraph", "venv", "bin", "python"), program}
	t.Run("SQLite", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "agents.db")
		g.repairs(t, db, func() string { return storetest.Tables(t, db) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		c := pgtest.SharedCluster(t)
		address := c.Database(t)
		g.repairs(t, address, func() string { return c.Rows(t, address) })
	})
}

func (g graphs) repairs(t *testing.T, db string, tables func() string) {
	type ran struct {
		Failed string
		Sent   [][4]any // role, content, the call that a result is of, the calls
	}
	g.says(t, "write", db, nil, nil)
	opened, err := kinds.All(nil, t.TempDir()).Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	s := storetest.AsWriter(opened)
	var threads []string
	refused := 0
	before := tables()
	for _, info := range sessionsOf(t, s) {
		faults := faultsOf(t, s, info.ID)
		if len(faults) == 0 || faults[0].Code != "unanswered-call" || !strings.Contains(faults[0].Verdict, `ToolMessage("…", tool_call_id="c`) {
			t.Errorf("%s: %+v", info.ID, faults)
		}
		threads = append(threads, info.ID)
		carriedOut(t, s, model.Change{Op: model.OpRepair, Ref: model.Ref{Session: info.ID}})
		for _, f := range faultsOf(t, s, info.ID) {
			// That the user speaks behind a result is told of Mistral alone; and what a tool wrote beside the
			// one that failed LangGraph never took into a state.
			isTrue := f.Code == conversation.UserAfterResult && f.Severity == model.Note || f.Code == store.FaultUnread && strings.HasSuffix(info.ID, "-beside")
			if !isTrue {
				t.Errorf("%s: after the repair: %+v", info.ID, f)
			}
		}
	}
	for range threads {
		carriedOut(t, s, model.Change{Op: model.OpUndo})
	}
	if after := tables(); after != before {
		t.Error("after the undos the rows are others")
	}
	for range threads {
		carriedOut(t, s, model.Change{Op: model.OpRedo})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var mended []ran
	g.says(t, "run", db, threads, &mended)
	for i, of := range mended {
		if of.Failed != "" {
			t.Errorf("%s: %s", threads[i], of.Failed)
		}
		for m, message := range of.Sent {
			calls, _ := message[3].([]any)
			for k, id := range calls {
				if m+1+k >= len(of.Sent) || !slices.ContainsFunc(of.Sent[m+1:m+1+len(calls)], func(r [4]any) bool { return r[0] == "tool" && r[2] == id }) {
					t.Errorf("%s: no result of %v stands right behind its call in %v", threads[i], id, of.Sent)
				}
			}
		}
	}
	// Without a repair create_react_agent refuses them.
	other := db
	if !strings.Contains(db, "://") {
		other = filepath.Join(t.TempDir(), "again.db")
		g.says(t, "write", other, nil, nil)
		var kept []ran
		g.says(t, "run", other, threads, &kept)
		for i, of := range kept {
			if strings.HasPrefix(threads[i], "react") && strings.Contains(of.Failed, "do not have a corresponding ToolMessage") {
				refused++
			}
		}
		if refused != 4 {
			t.Errorf("create_react_agent refuses %d threads", refused)
		}
	}
	if len(threads) != 8 {
		t.Errorf("the threads are %v", threads)
	}
}

// TestInteropLangGraph_convertedDev converts the files of langgraph dev. SqliteSaver lists each checkpoint as the server's own
// saver does, get_state_history tells what the server told, and graphs go on: from an older checkpoint, from a question, and
// within a subgraph's caller.
func TestInteropLangGraph_convertedDev(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the real SDKs are driven without -short")
	}
	program, err := filepath.Abs(filepath.Join(testdata, "interop", "langgraph", "dev.py"))
	if err != nil {
		t.Fatal(err)
	}
	g := graphs{filepath.Join(sdks(t), "langgraph", "venv", "bin", "python"), program}
	folder, err := filepath.Abs(filepath.Join(testdata, "langgraph", "dev"))
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "threads.db")
	kind, _ := allKinds.FindKind("langgraph")
	if err := kind.Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	to := storetest.OpenStore(t, kind, db)
	plan, err := to.Features().PlanConvert(t.Context(), storetest.OpenStore(t, kind, folder), "", "")
	if err == nil {
		_, err = to.Features().Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Count   int
		Differ  []string
		History any
		Older   string
		Runs    []struct {
			Messages [][2]string
			Notes    []string
			Chain    []string
		}
	}
	g.says(t, "saver", db, nil, &told, folder)
	if told.Count != 34 || len(told.Differ) > 0 {
		t.Errorf("%d checkpoints, other than the server's: %q", told.Count, told.Differ)
	}
	var server any
	data, err := os.ReadFile(filepath.Join(testdata, "langgraph", "dev.json"))
	if err == nil {
		err = json.Unmarshal(data, &server)
	}
	if err != nil || !reflect.DeepEqual(told.History, server) {
		t.Errorf("the saver tells %v\nthe server %v, %v", told.History, server, err)
	}
	for i, want := range []struct{ messages, notes string }{
		{"[[human hello größe] [ai said hello größe ☂] [human anew] [ai said anew ☂]]", "[said said]"},
		{"[[human order waits] [ai said order waits ☂]]", "[said yes]"},
		{"[[human weather below] [ai ] [tool rain in Oslo] [ai said rain in Oslo ☂]]", "[said]"},
		{"[[human weather below] [ai ] [tool rain in Oslo] [ai said rain in Oslo ☂] [human more] [ai said more ☂]]", "[said said said]"},
	} {
		if got := told.Runs[i]; fmt.Sprint(got.Messages) != want.messages || fmt.Sprint(got.Notes) != want.notes {
			t.Errorf("run %d leads to %v %v", i, got.Messages, got.Notes)
		}
	}
	if chain := told.Runs[0].Chain; len(chain) != 7 || chain[3] != told.Older {
		t.Errorf("the run from %s is behind %q", told.Older, chain)
	}
}
