package langgraph

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/encoding/pickle"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// dev holds the threads that langgraph-api 0.16.7 kept of testdata/interop/langgraph/dev.py, and devHistory the answers of
// its API.
var dev, devHistory = recorded("dev"), recorded("dev.json")

const devThread = "1f1eab00-0000-4000-8000-00000000000"

// copyDev copies the store, and replaces text in its files.
func copyDev(t testing.TB, edit func(name string, data []byte) []byte) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range fileNames {
		data, err := os.ReadFile(filepath.Join(dev, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), edit(name, data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func stateOf(t testing.TB, s store.Store, h model.Header) []byte {
	t.Helper()
	state, err := s.State(t.Context(), h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Each checkpoint has the parent, the values and the next nodes that the server tells.
func TestDev_asTheServerTells(t *testing.T) {
	data, err := os.ReadFile(devHistory)
	var history map[string][]struct {
		ID, Parent string
		Next       []string
		Messages   [][2]string
		Notes      []string
	}
	if err == nil {
		err = json.Unmarshal(data, &history)
	}
	if err != nil || len(history) != 4 {
		t.Fatal(err)
	}
	s := open(t, dev)
	for thread, told := range history {
		headers := storetest.Headers(t, s, thread)
		if len(headers) != len(told) {
			t.Errorf("%s has %d checkpoints, the server tells %d", thread, len(headers), len(told))
		}
		for _, want := range told {
			i := slices.IndexFunc(headers, func(h model.Header) bool { return h.ID == want.ID })
			if i < 0 || headers[i].ParentID != want.Parent {
				t.Errorf("%s: %s is not there behind %s", thread, want.ID, want.Parent)
				continue
			}
			var state struct {
				Messages []struct{ Type, Role, Content string }
				Notes    []string
			}
			if err := json.Unmarshal(stateOf(t, s, headers[i]), &state); err != nil {
				t.Fatal(err)
			}
			var messages [][2]string
			for _, m := range state.Messages {
				messages = append(messages, [2]string{m.Type + m.Role, m.Content})
			}
			if !slices.Equal(messages, want.Messages) || !slices.Equal(state.Notes, want.Notes) {
				t.Errorf("%s #%d: %v %v, the server tells %v %v", thread, headers[i].Index, messages, state.Notes, want.Messages, want.Notes)
			}
			next := strings.Join(want.Next, ", ")
			if next == "" {
				next = "nothing"
			}
			if got := about(t, s, headers[i]); !strings.Contains(got, "next: "+next+"\n") {
				t.Errorf("%s #%d: the server tells next %q\n%s", thread, headers[i].Index, next, got)
			}
		}
	}
}

// The server's API goes on with a thread alone; nothing is written.
func TestDev_callsTheServer(t *testing.T) {
	s := open(t, dev)
	const call = `await client.runs.wait("` + devThread
	rowstest.Says(t, s, devThread+"1", 9, call+`1", "agent", input={…}, checkpoint_id="1f1ecac9-08ad-6361-8008-53571a6d4db3")  takes your input as the next turn`)
	rowstest.Says(t, s, devThread+"1", 8, call+`1", "agent", checkpoint_id="1f1ecac9-08a5-6cb1-8007-013567a92ffc")  runs ask from here`)
	rowstest.Says(t, s, devThread+"2", 2, call+`2", "agent", command={"resume": …}, checkpoint_id="1f1ecac9-2ff4-6bdc-8001-f9dcb296c6bc")  answers what is asked, and runs ask from here`)
	rowstest.Says(t, s, devThread+"3", 1, call+`3", "nested", checkpoint_id="1f1ecac9-3992-63ce-8000-bc156921e2ea")  runs inner from here`)
	for _, info := range storetest.Sessions(t, s) {
		if !strings.Contains(info.ID, "/") {
			continue
		}
		if got := about(t, s, storetest.Headers(t, s, info.ID)[0]); strings.Contains(got, "client") || !strings.Contains(got, "called by: 1f1ecac9-3992-63ce-8000-bc156921e2ea") {
			t.Error(got)
		}
	}
	for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpRepair} {
		if why := store.Reason(s, op); !strings.Contains(why, "the Resume tab has the call of its API") {
			t.Errorf("%s: %q", op, why)
		}
	}
}

// A store is told by the beginnings of its three files; other pickles are refused.
func TestDev_isRecognised(t *testing.T) {
	kind := Kind(nil, "").Kind
	for name, c := range map[string]struct {
		edit func(name string, data []byte) []byte
		ok   bool
	}{
		"as it is":          {func(_ string, data []byte) []byte { return data }, true},
		"before any thread": {func(string, []byte) []byte { return []byte("\x80\x02}q\x00.") }, true},
		"other pickles":     {func(string, []byte) []byte { return []byte("\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.") }, false},
		"texts":             {func(string, []byte) []byte { return []byte("channel_versions") }, false},
	} {
		folder := copyDev(t, c.edit)
		if why, ok, err := kind.Recognise(t.Context(), folder); ok != c.ok || err != nil {
			t.Errorf("%s: %v, %q, %v", name, ok, why, err)
		}
		if s, err := kind.Open(t.Context(), folder); c.ok {
			if err != nil || len(storetest.Sessions(t, s)) > 0 != (name == "as it is") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	folder := copyDev(t, func(_ string, data []byte) []byte { return data })
	if err := os.Remove(filepath.Join(folder, fileNames[1])); err != nil {
		t.Fatal(err)
	}
	if why, ok, err := kind.Recognise(t.Context(), folder); ok || err != nil || !strings.Contains(why, fileNames[1]) {
		t.Errorf("without a file: %q, %v, %v", why, ok, err)
	}
	around := store.Surroundings{Home: t.TempDir(), Work: filepath.Join(t.TempDir(), "project", "src")}
	if list := kind.Places(around); !slices.Contains(list, filepath.Join(filepath.Dir(around.Work), ".langgraph_api")) {
		t.Error(list)
	}
}

// A file that is torn, or of another shape, is named.
func TestDev_namesDamage(t *testing.T) {
	for i, name := range fileNames {
		for what, c := range map[string]struct {
			edit func([]byte) []byte
			is   error
		}{
			"torn":          {func(data []byte) []byte { return data[:len(data)/2] }, pickle.ErrShort},
			"another shape": {func([]byte) []byte { return []byte("\x80\x02}q\x00X\x01\x00\x00\x00aq\x01K\x01s.") }, errShape},
		} {
			folder := copyDev(t, func(file string, data []byte) []byte {
				if file == name {
					return c.edit(data)
				}
				return data
			})
			if _, err := Kind(nil, "").Open(t.Context(), folder); !errors.Is(err, c.is) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of file %d: %v", what, i+1, err)
			}
		}
	}
	// A value that is damaged costs its snapshot alone.
	s := open(t, copyDev(t, func(_ string, data []byte) []byte {
		return []byte(strings.Replace(string(data), "\u00adversions_seen", "\u00c1versions_seen", 1))
	}))
	for i, h := range storetest.Headers(t, s, devThread+"1") {
		if _, err := s.State(t.Context(), h.Ref()); err != nil != (i == 0) {
			t.Errorf("#%d: %v", h.Index, err)
		}
	}
}

// The server writes its files anew, and a store that is open reads them again.
func TestDev_readsAgain(t *testing.T) {
	folder := copyDev(t, func(string, []byte) []byte { return []byte("\x80\x02}q\x00.") })
	s := open(t, folder)
	if list := storetest.Sessions(t, s); len(list) != 0 {
		t.Fatal(list)
	}
	for _, name := range fileNames {
		data, err := os.ReadFile(filepath.Join(dev, name))
		path := filepath.Join(folder, name)
		if err == nil {
			err = os.WriteFile(path+".tmp", data, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".tmp", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if list := storetest.Sessions(t, s); len(list) != 5 {
		t.Errorf("%d sessions", len(list))
	}
}

// FuzzDev reads what the files may hold.
func FuzzDev(f *testing.F) {
	f.Add(0, []byte(`{"t":{"$py":"collections.defaultdict","value":{"$global":"builtins.dict"},"items":{"":{"c":[["msgpack",{"$bytes":"gA=="}],["msgpack",{"$bytes":"gA=="}],"b"]}}}}`))
	f.Add(0, []byte(`{"t":{"":{"c":[["json",{"$bytes":"e30="}],["json",null],null]}}}`))
	f.Add(1, []byte(`{"[\"t\",\"\",\"c\"]":{"[1,2]":["t","c",["null",{"$bytes":""}]]}}`))
	f.Add(2, []byte(`{"[\"t\",\"\",\"c\",1.5]":["empty",{"$bytes":"!"}]}`))
	fills := []func(func(string, ...any), []byte) error{fillCheckpoints, fillWrites, fillBlobs}
	columns := map[string]int{"checkpoints": 7, "writes": 9, "checkpoint_blobs": 6}
	f.Fuzz(func(t *testing.T, which int, file []byte) {
		if !json.Valid(file) || which < 0 || which > 2 {
			return
		}
		_ = fills[which](func(table string, args ...any) {
			if len(args) != columns[table] {
				t.Fatal(fmt.Sprintln(table, args))
			}
		}, file)
	})
}
