package kinds_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// graphs is the program that has LangGraph write a store, tell what it thinks of each
// checkpoint, and go on from each.
type graphs struct{ python, program string }

// says returns the JSON that the program answers with.
func (g graphs) says(t *testing.T, what, db string, given, answer any) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), g.python, g.program, what, db)
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
}

// placesIn returns the checkpoints of a store, each with each of its calls.
func placesIn(t *testing.T, db string) (places []reached) {
	t.Helper()
	s, err := allKinds.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, info := range sessionsOf(t, s) {
		if faults := faultsOf(t, s, info.ID); len(faults) > 0 {
			t.Errorf("%s has the faults %+v", info.ID, faults)
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			at := reached{Session: info.ID, header: h}
			if err := json.Unmarshal(stateOf(t, s, &h), &at.state); err != nil {
				t.Fatal(err)
			}
			facts, err := s.(store.Deriver).Facts(t.Context(), h.Ref())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if f.Label == "next" && f.Value != "nothing" {
					at.next = slices.Sorted(slices.Values(strings.Split(f.Value, ", ")))
				}
			}
			calls, err := s.(store.Resumer).Resume(t.Context(), h.Ref())
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
	t.Run("put back", func(t *testing.T) { g.compare(t, db, places) })
}

func (g graphs) tell(t *testing.T, db string, places []reached) {
	var told []struct {
		Values         map[string]any
		Next           []string
		Asked, Waiting []any
		Head           string
	}
	g.says(t, "tell", db, places, &told)
	for i, at := range places {
		name := fmt.Sprintf("%s #%d, %s", at.Session, at.header.Index, at.header.ID)
		is := told[i]
		shown := maps.Clone(at.state)
		maps.DeleteFunc(shown, func(key string, _ any) bool { return strings.HasPrefix(key, "__") })
		// A channel that was never written has the empty value of its reducer.
		maps.DeleteFunc(is.Values, func(key string, v any) bool {
			_, there := shown[key]
			return !there && (key == "__end__" || reflect.ValueOf(v).Kind() == reflect.Slice && reflect.ValueOf(v).Len() == 0)
		})
		if !reflect.DeepEqual(shown, is.Values) {
			t.Errorf("%s: Hindcast shows\n%v\nLangGraph has\n%v", name, shown, is.Values)
		}
		if !slices.Equal(at.next, is.Next) {
			t.Errorf("%s: Hindcast says that %q is next, LangGraph %q", name, at.next, is.Next)
		}
		if at.header.Head != (is.Head == at.header.ID) {
			t.Errorf("%s: Hindcast says %v of the head, LangGraph has %s", name, at.header.Head, is.Head)
		}
		var asked []any
		if list, ok := at.state["__interrupt__"].([]any); ok {
			for _, one := range list {
				asked = append(asked, one.(map[string]any)["value"])
			}
		}
		if at.header.Head && len(asked)+len(is.Waiting) > 0 && !reflect.DeepEqual(asked, is.Waiting) {
			t.Errorf("%s: Hindcast says that %v waits, LangGraph %v", name, asked, is.Waiting)
		}
	}
}

func (g graphs) run(t *testing.T, db string, places []reached) {
	var ran []struct {
		Line   []string
		Failed string
	}
	places = slices.DeleteFunc(slices.Clone(places), func(p reached) bool { return strings.Contains(p.Session, "/") })
	g.says(t, "run", db, places, &ran)
	for i, at := range places {
		if ran[i].Failed != "" && at.Session != "fails" {
			t.Errorf("%s #%d: %s fails: %s", at.Session, at.header.Index, at.Call, ran[i].Failed)
			continue
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
func (g graphs) compare(t *testing.T, db string, places []reached) {
	type put struct {
		Session string `json:"session"`
		ID      string `json:"id"`
		DB      string `json:"db"`
		Thread  string `json:"thread"`
		op      model.Op
		head    string
		idle    bool
	}
	var puts []put
	before := storetest.Tables(t, db)
	seen := map[string]bool{}
	for _, at := range places {
		if strings.Contains(at.Session, "/") || seen[at.header.ID] {
			continue
		}
		seen[at.header.ID] = true
		for _, change := range []model.Change{{Op: model.OpRestore, Ref: at.header.Ref()}, {Op: model.OpFork, Ref: at.header.Ref(), As: "forked"}} {
			mine := storetest.Copy(t, db)
			opened, err := allKinds.Open(t.Context(), mine)
			if err != nil {
				t.Fatal(err)
			}
			s := opened.(store.Writer)
			var receipt model.Receipt
			apply := func(change model.Change) {
				plan, err := s.Plan(t.Context(), change)
				if err == nil {
					receipt, err = s.Apply(t.Context(), plan)
				}
				if err != nil {
					t.Fatalf("%s #%d: %v", change, at.header.Index, err)
				}
			}
			apply(change)
			p := put{at.Session, at.header.ID, mine, receipt.Session, change.Op, receipt.Head.ID, receipt.Entry == 0}
			if !p.idle {
				apply(model.Change{Op: model.OpUndo})
				if storetest.Tables(t, mine) != before {
					t.Errorf("%s #%d: after an undo the tables are others", change, at.header.Index)
				}
				apply(model.Change{Op: model.OpRedo})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			puts = append(puts, p)
		}
	}
	var told []struct{ Was, Now thinks }
	g.says(t, "compare", db, puts, &told)
	counts := map[model.Op]int{}
	for i, p := range puts {
		was, now := told[i].Was, told[i].Now
		if now.ID != p.head {
			t.Errorf("%s of %s %s: LangGraph goes on from %s instead of %s", p.op, p.Session, p.ID, now.ID, p.head)
		}
		was.ID, now.ID = "", ""
		if p.op == model.OpRestore { // writes are not copied: what asks asks again when it runs
			was.Asked, now.Asked = nil, nil
		}
		// Of the head that stays LangGraph thinks with what its tasks did since.
		if !p.idle && !reflect.DeepEqual(was, now) {
			t.Errorf("%s of %s %s: LangGraph thinks of the checkpoint\n%+v\nand of what Hindcast wrote\n%+v", p.op, p.Session, p.ID, was, now)
		}
		counts[p.op]++
	}
	t.Logf("LangGraph goes on from %d restores and %d forks as from the checkpoints themselves", counts[model.OpRestore], counts[model.OpFork])
}
