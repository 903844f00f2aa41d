package crewai_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/kinds/crewai"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func recorded(name string) string { return filepath.Join("..", "..", "..", "testdata", "crewai", name) }

func open(t testing.TB, path string) store.Store {
	return storetest.OpenStore(t, crewai.Kind(nil).Kind, path)
}

// drawn is a session in one line a snapshot.
func drawn(t *testing.T, s store.Store, session string) (list []string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		list = append(list, fmt.Sprintf("%s after %s: %s, %s, off the path %t", tail(h.ID), tail(h.ParentID), h.EventText(), h.Title, h.Orphaned))
	}
	return list
}

func tail(id string) string { return id[strings.LastIndexByte(id, '_')+1:] }

// A crew that was resumed and forked, in files and in SQLite; and a flow whose checkpoints
// raced: crewAI wrote down two roots, and the first as the parent of the last.
func TestHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		want    []string
	}{
		"json": {"tour-7f6f1428", []string{
			"4cd04ec1 after : task completed, wetter: Ergebnis ☀️ größer, off the path false",
			"44a59bcc after 4cd04ec1: turn end, summe: Ergebnis ☀️ größer, off the path true",
			"724321cb after 4cd04ec1: turn end, summe: Ergebnis ☀️ größer, off the path true",
			"f4d78fa0 after 4cd04ec1: turn end, summe: Ergebnis ☀️ größer, off the path false",
		}},
		"checkpoints.db": {"tour-77f0b5ae", []string{
			"1ab8f1fa after : task completed, wetter: Ergebnis ☀️ größer, off the path false",
			"0ce86396 after 1ab8f1fa: turn end, summe: Ergebnis ☀️ größer, off the path true",
			"6956b2eb after 1ab8f1fa: turn end, summe: Ergebnis ☀️ größer, off the path true",
			"58eda801 after 1ab8f1fa: turn end, summe: Ergebnis ☀️ größer, off the path false",
		}},
		"flow": {"flow-e0a0e688", []string{
			"ccf65e48 after : method execution finished, second: ab, off the path false",
			"154aaeb5 after ccf65e48: method execution finished, second: ab, off the path false",
			"69bbcdc0 after 154aaeb5: method execution finished, third: abc, off the path false",
		}},
	} {
		if got := drawn(t, open(t, recorded(name)), c.session); !slices.Equal(got, c.want) {
			t.Errorf("%s\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The state of a file is its bytes; that of a row is what SQLite's json makes of it.
func TestState(t *testing.T) {
	s := open(t, recorded("json"))
	got, err := s.State(t.Context(), model.Ref{Session: "tour-7f6f1428", ID: "20261122T113624_4cd04ec1"})
	want, failed := os.ReadFile(filepath.Join(recorded("json"), "main", "20261122T113624_4cd04ec1_p-none.json"))
	if err != nil || failed != nil || string(got) != string(want) {
		t.Errorf("%d bytes, want %d: %v, %v", len(got), len(want), err, failed)
	}
	row, err := open(t, recorded("checkpoints.db")).State(t.Context(), model.Ref{Session: "tour-77f0b5ae", ID: "20261122T113626_58eda801"})
	var body struct{ Branch string }
	if err != nil || json.Unmarshal(row, &body) != nil || body.Branch != "main" {
		t.Errorf("%.80s, %v", row, err)
	}
}

// The copy that puts a run back differs in its parent, its branch and the store that it names;
// it is on a branch of its own, and no other file changes.
func TestRestore_copies(t *testing.T) {
	dir := storetest.Copy(t, recorded("json"))
	s := storetest.AsWriter(open(t, dir))
	const id = "20261122T113624_4cd04ec1"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "tour-7f6f1428", ID: id}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"../crewai/json" as its store`, "set agent.llm before kickoff()"} {
		if !strings.Contains(strings.Join(plan.Hazards, "\n"), part) {
			t.Errorf("the plan does not say %q: %q", part, plan.Hazards)
		}
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(dir, "hindcast-*", receipt.Head.ID+"_p-"+id+".json"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%q, %v", made, err)
	}
	was, now := parsed(t, filepath.Join(dir, "main", id+"_p-none.json")), parsed(t, made[0])
	whole, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	crew := was["entities"].([]any)[0].(map[string]any)
	crew["checkpoint"].(map[string]any)["location"] = whole
	was["parent_id"], was["branch"] = id, filepath.Base(filepath.Dir(made[0]))
	a, _ := json.Marshal(was)
	b, _ := json.Marshal(now)
	if string(a) != string(b) {
		t.Error("more than the parent, the branch and the location is another")
	}
}

// What is written is its owner's alone, whatever the files and folders beside it allow.
func TestRestore_isPrivate(t *testing.T) {
	dir := storetest.Copy(t, recorded("json"))
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o777)
		} else if err == nil {
			return os.Chmod(path, 0o666)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := modes(t, dir)
	s := storetest.AsWriter(open(t, dir))
	ref := model.Ref{Session: "tour-7f6f1428", ID: "20261122T113624_4cd04ec1"}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	files, folders := 0, 0
	for path, mode := range modes(t, dir) {
		if _, there := before[path]; there {
			continue
		}
		if mode.IsDir() {
			folders++
		} else {
			files++
		}
		if mode.Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, mode)
		}
	}
	if files == 0 || folders == 0 {
		t.Errorf("%d files and %d folders are new", files, folders)
	}
}

// modes returns the modes of all that is in a folder.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	list := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			list[path] = info.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Where all tasks are done, none is left to run: neither a file nor a row says otherwise.
func TestResume(t *testing.T) {
	for _, at := range []string{recorded("json"), recorded("checkpoints.db")} {
		s := open(t, at)
		for _, session := range storetest.Sessions(t, s) {
			for _, h := range storetest.Headers(t, s, session.ID) {
				calls, err := s.Features().Resume(t.Context(), h.Ref())
				if err != nil || len(calls) != 2 {
					t.Fatalf("%s #%d: %v, %v", at, h.Index, calls, err)
				}
				over := strings.HasPrefix(calls[0].Then, "runs no task")
				if done := h.Event == model.SnapshotEventTurnEnd; done != over {
					t.Errorf("%s #%d, all done %v: %q", at, h.Index, done, calls[0].Then)
				}
			}
		}
	}
}

func parsed(t *testing.T, file string) (all map[string]any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A flow that is resumed after a method loses what that returned: the plan asks before.
func TestRestore_ofAFlowAsks(t *testing.T) {
	s := storetest.AsWriter(open(t, storetest.Copy(t, recorded("flow"))))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "flow-e0a0e688", ID: "20261122T113626_ccf65e48"}})
	if err != nil || len(plan.Asks) != 1 || !strings.Contains(plan.Asks[0], "None") {
		t.Errorf("%q, %v", plan.Asks, err)
	}
}

// What is wrong is told of: a lineage that raced, a parent that was pruned, a file whose name
// says another parent than it, and one that is not JSON.
func TestFaults(t *testing.T) {
	dir := storetest.Copy(t, recorded("json"))
	for _, err := range []error{
		os.Remove(filepath.Join(dir, "main", "20261122T113624_4cd04ec1_p-none.json")),
		os.Rename(filepath.Join(dir, "main", "20261122T113626_f4d78fa0_p-20261122T113624_4cd04ec1.json"), filepath.Join(dir, "main", "20261122T113626_f4d78fa0_p-20200101T000000_00000000.json")),
		os.WriteFile(filepath.Join(dir, "main", "20261122T113627_00000000_p-none.json"), []byte("{"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	codes := map[string]int{}
	for _, session := range []string{"", "tour-7f6f1428"} {
		for _, f := range storetest.Faults(t, s, session) {
			codes[f.Code]++
		}
	}
	want := map[string]int{"unreadable-checkpoint": 1, "missing-parent": 3, "lineage-mismatch": 1}
	if fmt.Sprint(codes) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", codes, want)
	}
	if faults := storetest.Faults(t, open(t, recorded("flow")), "flow-e0a0e688"); len(faults) != 2 || faults[0].Code != crewai.FaultRaced {
		t.Errorf("%+v", faults)
	}
}

// At every checkpoint of a SQLite file: what is written, taken back and done again. The copy is
// JSONB as crewAI's, and names the file as its store.
func TestRows(t *testing.T) {
	storetest.Rows(t, crewai.Kind(nil).Kind, recorded("checkpoints.db"))

	file := storetest.Copy(t, recorded("checkpoints.db"))
	s := storetest.AsWriter(open(t, file))
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: storetest.Headers(t, s, "tour-77f0b5ae")[0].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := s.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	got := rowstest.Query(t, file, "SELECT typeof(data) || ' ' || json_valid(data, 8) || ' ' || (data ->> '$.branch' = branch) || ' ' || (data ->> '$.parent_id' = parent_id) || ' ' || created_at || ' ' || (data ->> '$.entities[0].checkpoint.location') FROM checkpoints WHERE id = '"+receipt.Head.ID+"'")
	second, _, _ := strings.Cut(receipt.Head.ID, "_")
	if want := "blob 1 1 1 " + second + " " + file; got[0] != want {
		t.Errorf("the copy is %q, want %q", got, want)
	}
	if why := store.Reason(s, model.OpFork); !strings.Contains(why, "Crew.fork(") {
		t.Error(why)
	}
}

// An undo refuses where crewAI wrote a checkpoint since: behind the copy, and beside it.
func TestUndo_agentWentOn(t *testing.T) {
	for name, parent := range map[string]string{"behind": "'HEAD'", "beside": "parent_id", "a root": "NULL"} {
		file := storetest.Copy(t, recorded("checkpoints.db"))
		ref := storetest.Headers(t, open(t, file), "tour-77f0b5ae")[0].Ref()
		t.Run(name, func(t *testing.T) {
			_ = rowstest.WentOn(t, crewai.Kind(nil).Kind, file, model.Change{Op: model.OpRestore, Ref: ref},
				"INSERT INTO checkpoints SELECT '9' || id, created_at, "+parent+", branch, data FROM checkpoints WHERE id = 'HEAD'")
		})
	}
}

// A row whose JSONB is damaged is a session of its own, and the others are shown.
func TestRows_damaged(t *testing.T) {
	file := rowstest.Copied(t, recorded("checkpoints.db"))
	rowstest.Execute(t, file, "UPDATE checkpoints SET data = x'ff00ff' WHERE id LIKE '%_58eda801'")
	s := open(t, file)
	var got []string
	for _, info := range storetest.Sessions(t, s) {
		got = append(got, fmt.Sprintf("%s %d", info.ID, info.Snapshots))
	}
	if slices.Sort(got); !slices.Equal(got, []string{"(damaged) 1", "tour-77f0b5ae 3"}) {
		t.Errorf("%q", got)
	}
	if faults := storetest.Faults(t, s, "(damaged)"); !slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == rows.FaultRow }) {
		t.Errorf("%+v", faults)
	}
}

// The tokens of a run are in the events of its model.
func TestFacts_tokens(t *testing.T) {
	file := rowstest.Copied(t, recorded("checkpoints.db"))
	rowstest.Execute(t, file, `UPDATE checkpoints SET data = jsonb_set(data,
		'$.event_record.nodes.one', json('{"event":{"type":"llm_call_completed","usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":40}}}}'),
		'$.event_record.nodes.two', json('{"event":{"type":"llm_call_completed","usage":{"input_tokens":20,"output_tokens":3}}}'))`)
	rowstest.Says(t, open(t, file), "tour-77f0b5ae", 0, "tokens read, of the session: 120", "tokens from a cache, of the session: 40", "tokens written, of the session: 10")
}

// Rows whose threads raced are told as files are, and so is a document that names another branch than its row.
func TestRows_raced(t *testing.T) {
	file := rowstest.Copied(t, recorded("checkpoints.db"))
	const session = "tour-77f0b5ae"
	if codes := rowstest.Faults(t, open(t, file), session); codes != nil {
		t.Errorf("of rows as crewAI wrote them: %q", codes)
	}
	rowstest.Execute(t, file, "UPDATE checkpoints SET parent_id = NULL, data = jsonb_set(data, '$.parent_id', NULL) WHERE id LIKE '%_58eda801'")
	if codes := rowstest.Faults(t, open(t, file), session); !slices.Equal(codes, []string{crewai.FaultRaced}) {
		t.Errorf("where no parent was written down: %q", codes)
	}
	rowstest.Execute(t, file, "UPDATE checkpoints SET branch = 'other' WHERE id LIKE '%_58eda801'")
	if codes := rowstest.Faults(t, open(t, file), session); !slices.Equal(codes, []string{crewai.FaultRaced, crewai.FaultInside}) {
		t.Errorf("where the row names another branch: %q", codes)
	}
}

// Whatever a file holds, a folder with it can be listed, and its states are JSON.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"json", "flow"} {
		files, err := filepath.Glob(filepath.Join(recorded(name), "main", "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(`{"entities":[{"tasks":[{"output":{"raw":1}}]}],"event_record":{"nodes":{"a":{"event":{"timestamp":"x"}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "main"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"20260101T000000_00000000_p-none.json", "20260101T000001_00000001_p-20260101T000000_00000000.json"} {
			if err := os.WriteFile(filepath.Join(dir, "main", name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := storetest.AsWriter(open(t, dir))
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for h, err := range s.Headers(t.Context(), info.ID) {
				if err != nil {
					t.Fatal(err)
				}
				if state, err := s.State(t.Context(), h.Ref()); err != nil || !jsontape.Valid(state) {
					t.Errorf("the state is %.200q, %v", state, err)
				}
				if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()}); err != nil {
					t.Errorf("%v", err)
				}
			}
		}
	})
}

// A torn page costs the checkpoints on it.
func TestDamage_pages(t *testing.T) {
	rowstest.Torn(t, crewai.Kind(nil).Kind, recorded("checkpoints.db"), 1)
}

// A run is named after what it is of, wherever that stands among what crewAI lists.
func TestRows_session(t *testing.T) {
	path := rowstest.Copied(t, recorded("checkpoints.db"))
	rowstest.Execute(t, path, `UPDATE checkpoints SET data = jsonb(replace(json(data), '"entities":[', '"entities":[{"entity_type":"flow","executor_type":"agent"},'))`)
	if sessions := storetest.Sessions(t, storetest.OpenStore(t, crewai.Kind(nil).Kind, path)); len(sessions) != 1 || sessions[0].ID != "tour-77f0b5ae" {
		t.Errorf("%+v", sessions)
	}
}
