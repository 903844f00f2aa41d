package genkit

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/genkit/traces"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

const project = testdata + "/devproject-go-1.13.1"

// The steps of a turn stand between the parent of its row and the row, whose own
// parent stays what the file says.
func TestHeaders_haveTheStepsOfTurns(t *testing.T) {
	s := open(t, project)
	list := storetest.Headers(t, s, "barista/sess-main")
	end := slices.IndexFunc(list, func(h model.Header) bool { return h.ID == "4961ab41-6a1e-4939-8378-81101b52182b" })
	if end < 2 {
		t.Fatalf("the row is at %d", end)
	}
	h, first, second := list[end], list[end-2], list[end-1]
	if h.ParentID != "e2351bbc-fa68-4905-a61a-0927ec4a5c95" || first.ParentID != h.ParentID || second.ParentID != first.ID {
		t.Errorf("the parents are %q, %q, %q", first.ParentID, second.ParentID, h.ParentID)
	}
	for _, step := range []model.Header{first, second} {
		if step.Marks != model.MarkTraced || step.Index != h.Index || step.TurnIndex != h.TurnIndex || step.Orphaned != h.Orphaned || step.Event != model.SnapshotEventToolIterationEnd {
			t.Errorf("a step is %+v", step)
		}
	}
	tl := model.NewTimeline(slices.Clone(list))
	var drawn []string
	for n := model.Node(end); n != model.NoNode; n = tl.Parent(n) {
		drawn = append(drawn, tl.Header(n).ID[:8])
	}
	if want := []string{"4961ab41", second.ID[:8], first.ID[:8], "e2351bbc", "bf718c99"}; !slices.Equal(drawn, want) {
		t.Errorf("the way up is %q, want %q", drawn, want)
	}
	if rows := tl.RowOf(model.Node(end)); tl.RowOf(model.Node(end-1)) != rows-1 || tl.RowOf(model.Node(end-2)) != rows-2 {
		t.Error("the steps are not drawn above their row")
	}
	for i, h := range list {
		if traced := h.Marks.Has(model.MarkTraced); traced == (h.Visit == 0) {
			t.Errorf("header %d is visit %d", i, h.Visit)
		}
	}
}

// What names a row or a step names it still when rows, turns and steps come in
// between.
func TestWithSteps_refsStayWhenTheSessionGrows(t *testing.T) {
	s := open(t, project)
	turns := s.tracedTurns(t.Context(), "sess-main")
	id := "4961ab41-6a1e-4939-8378-81101b52182b"
	end := slices.IndexFunc(turns, func(turn traces.Turn) bool { return turn.Snapshot == id })
	if end < 0 || len(turns[end].Steps) != 2 {
		t.Fatalf("the turn is at %d", end)
	}
	other, short := turns[end], turns[end]
	other.Trace, other.Snapshot = strings.Repeat("ab", 16), "b"
	short.Steps = short.Steps[:1]
	rows := []*row{completed("a", ""), completed("b", "a"), completed(id, "b"), completed("z", id)}
	known := make(map[string]model.Ref)
	for when, grown := range []struct {
		rows  []*row
		turns []traces.Turn
	}{{rows[2:3], nil}, {rows[2:3], []traces.Turn{short}}, {rows[1:3], []traces.Turn{short}}, {rows, []traces.Turn{turns[end]}}, {rows, []traces.Turn{other, turns[end]}}} {
		visits := make(map[int64]string)
		list := withSteps(headersOf(t, made(layoutGo, nil, grown.rows...)), grown.turns)
		tl := model.NewTimeline(slices.Clone(list))
		for i, h := range list {
			ref, ok := known[h.ID]
			if known[h.ID] = h.Ref(); ok && ref != h.Ref() {
				t.Errorf("at %d: %.8s was visit %d and is %d", when, h.ID, ref.Visit, h.Visit)
			}
			if h.Visit != 0 && visits[h.Visit] != "" {
				t.Errorf("at %d: %.8s and %.8s are one visit", when, h.ID, visits[h.Visit])
			}
			visits[h.Visit] = h.ID
			if h.ParentVisit != 0 && tl.Parent(model.Node(i)) != model.Node(i-1) {
				t.Errorf("at %d: %.8s does not follow its step", when, h.ID)
			}
		}
	}
	if len(known) != 4+2+2 {
		t.Errorf("%d headers were there", len(known))
	}
}

// The state of a step is that of a session, and its facts are those of the trace.
func TestState_ofAStep(t *testing.T) {
	s := open(t, project)
	steps := 0
	for _, h := range storetest.Headers(t, s, "barista/sess-main") {
		if !h.Marks.Has(model.MarkTraced) {
			continue
		}
		steps++
		var state struct {
			Messages  []json.RawMessage
			SessionID string
		}
		if err := json.Unmarshal([]byte(storeState(t, s, h.Ref())), &state); err != nil || len(state.Messages) < 2 || state.SessionID != "sess-main" {
			t.Errorf("the state of %s has %d messages of %q: %v", h.Title, len(state.Messages), state.SessionID, err)
		}
		facts, err := s.Features().Facts(t.Context(), h.Ref())
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "tool" }) {
			t.Errorf("the facts of %s are %+v, %v", h.Title, facts, err)
		}
		other := model.Ref{Session: "barista/sess-http", ID: h.ID}
		if _, err := s.State(t.Context(), other); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("in another session the state is %v", err)
		}
		if _, err := s.Features().Facts(t.Context(), other); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("in another session the facts are %v", err)
		}
		if _, err := s.State(t.Context(), model.Ref{Session: "nobody", ID: h.ID}); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("in no session the state is %v", err)
		}
	}
	if steps != 2 {
		t.Errorf("there are %d steps", steps)
	}
}

func storeState(t testing.TB, s *Store, ref model.Ref) string { return state(t, s, ref) }

// The traces of a project are found from any of its folders of rows.
func TestTraces_areFoundUpward(t *testing.T) {
	skip.Sequential(t)
	for _, dir := range []string{project, project + "/.genkit", project + "/.genkit/snapshots", project + "/.genkit/snapshots/barista", project + "/.genkit/snapshots/barista/global"} {
		s := open(t, dir)
		found := false
		for _, info := range storetest.Sessions(t, s) {
			if strings.HasSuffix(info.ID, "sess-main") {
				found = slices.ContainsFunc(storetest.Headers(t, s, info.ID), func(h model.Header) bool { return h.Marks.Has(model.MarkTraced) })
			}
		}
		if !found {
			t.Errorf("%s has no steps", dir)
		}
	}
	if s := open(t, testdata+"/go-1.13.1"); s.joinedTraces() != nil {
		t.Errorf("a store without traces has those of %s", s.joinedTraces().dir)
	}
}

// Steps hang on a row whatever is wrong with its parent.
func TestWithSteps_whateverTheParent(t *testing.T) {
	s := open(t, project)
	turns := s.tracedTurns(t.Context(), "sess-main")
	id := "4961ab41-6a1e-4939-8378-81101b52182b"
	for name, rows := range map[string][]*row{
		"none":    {completed(id, "")},
		"missing": {completed(id, "gone")},
		"itself":  {completed(id, id)},
		"circle":  {completed("a", id), completed(id, "a")},
		"later":   {completed(id, "b"), completed("b", "")},
	} {
		list := withSteps(headersOf(t, made(layoutGo, nil, rows...)), turns)
		if len(list) != len(rows)+2 {
			t.Fatalf("%s: %d headers", name, len(list))
		}
		tl := model.NewTimeline(slices.Clone(list))
		at := slices.IndexFunc(list, func(h model.Header) bool { return h.ID == id })
		if list[at].ParentID != rows[len(rows)-1].parentID && list[at].ParentID != rows[0].parentID {
			t.Errorf("%s: the parent became %q", name, list[at].ParentID)
		}
		if tl.Parent(model.Node(at)) != model.Node(at-1) || tl.Rows() < len(list) {
			t.Errorf("%s: the row does not follow its last step", name)
		}
	}
}

// A step whose trace lost what the model was given keeps nobody from exporting the
// session.
func TestRows_stepWithoutAState(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".genkit", "traces", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, strings.ReplaceAll(string(data), `"genkit:input":"{`, `"genkit:input":"`))
	}
	s := open(t, dir)
	rows, damaged := 0, 0
	for row, err := range store.Rows(t.Context(), s, "barista/sess-main") {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if row.Header.Marks.Has(model.MarkTraced) && string(row.State) == "null" {
			damaged++
		}
	}
	if rows != 11 || damaged != 2 {
		t.Errorf("%d rows, %d damaged", rows, damaged)
	}
}

// A trace that is not whole costs a fault and nothing else.
func TestFaults_ofTraces(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, ".genkit", "traces", strings.Repeat("4d5e", 8))
	write(t, torn, `{"traceId":"4d5e","spans":{`)
	s := open(t, dir)
	list := storetest.Faults(t, s, "")
	if len(list) != 1 || list[0].Code != FaultTraces || list[0].File != ".genkit/traces/"+strings.Repeat("4d5e", 8) || !strings.Contains(list[0].Meaning, "1 traces are not whole") {
		t.Errorf("told is %+v", list)
	}
	if n := len(storetest.Headers(t, s, "barista/sess-main")); n != 11 {
		t.Errorf("there are %d headers", n)
	}
}
