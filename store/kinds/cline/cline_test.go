package cline

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
	"hindcast/store/storetest/formattest"
)

// fixture is recorded by testdata/interop/cline/record.py.
const fixture = "../../../testdata/coding/cline"

const listed, lost = "1763700000000", "1763700100000"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func TestFork(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, tasksFolder)); err != nil { // they are not forked
		t.Fatal(err)
	}
	storetest.Fork(t, Kind(nil).Kind, dir)
}

func openFixture(t *testing.T) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), fixture)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// sessionOf returns the session of the fixture that begins with words and has as many snapshots.
func sessionOf(t *testing.T, s store.Store, words string, snapshots int) string {
	t.Helper()
	for _, info := range storetest.Sessions(t, s) {
		headers := storetest.Headers(t, s, info.ID)
		if len(headers) == snapshots && strings.HasPrefix(headers[0].Title, words) {
			return info.ID
		}
	}
	t.Fatalf("no session begins with %q", words)
	return ""
}

func titles(t *testing.T, s store.Store, session string) (list []string) {
	t.Helper()
	for _, h := range storetest.Headers(t, s, session) {
		list = append(list, h.Title)
	}
	return list
}

// The sessions of the command, and the tasks of the extension, as they were said.
func TestRead_fixture(t *testing.T) {
	s := openFixture(t)
	for _, c := range []struct {
		session string
		want    []string
	}{
		{sessionOf(t, s, "first question", 4), []string{"first question", "reply to: first question", "what next", "reply to: what next"}},
		{listed, []string{"Add a health check", "I read the server first. (◱ server.go)", "◱ server.go  2 lines", "<attempt_completion> <result> GET /health answers now. </result> </attempt_completion>"}},
		{lost, []string{"Rename the module", "I rename it in go.mod."}},
	} {
		if got := titles(t, s, c.session); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.session, got)
		}
	}
	var failed int
	for _, h := range storetest.Headers(t, s, sessionOf(t, s, "go call: run_commands", 6)) {
		if h.Marks.Has(model.MarkError) {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d results failed", failed)
	}
	times := storetest.Headers(t, s, listed)
	if got := times[1].CreatedAt.UnixMilli(); got != 1763700004200 {
		t.Errorf("the answer is of %d", got)
	}
}

// A task that the extension does not list is there all the same, as far as its file goes.
func TestFaults(t *testing.T) {
	s := openFixture(t)
	faults, err := s.Faults(t.Context(), lost)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range faults {
		codes = append(codes, f.Code)
	}
	if !slices.Equal(codes, []string{FaultTorn, FaultUnlisted}) {
		t.Errorf("%v", faults)
	}
}

// readText returns the session of a file of a name, with other files beside it.
func readText(t testing.TB, name, text string, beside ...string) (*chat.Session, engine.In) {
	t.Helper()
	steps := tree.Steps{{Name: name, Data: []byte(text)}}
	for i := 0; i+1 < len(beside); i += 2 {
		steps = append(steps, tree.Step{Name: beside[i], Data: []byte(beside[i+1])})
	}
	below, err := tree.OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := engine.In{Tree: tree.Overlay(below, steps, nil), Memo: tree.NewMemo(&files.Memory{})}
	f := &format{}
	s, err := f.Read(t.Context(), in, f.Spot(name))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

// A compaction stands behind the messages that it is of, and the model reads it in place of them.
func TestRead_compaction(t *testing.T) {
	const said = `{"version":1,"sessionId":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
	s, in := readText(t, "s/s.messages.json", said, "s/s.compaction.json", `{"version":1,"source_message_count":2,"messages":[{"role":"user","content":"sum"},{"role":"assistant","content":"ok"}]}`)
	if len(s.Entries) != 4 || s.Entries[2].Event != "compaction" || s.Head != 3 {
		t.Fatalf("%d entries, head %d", len(s.Entries), s.Head)
	}
	if got := s.Reads(3); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the head reads %v", got)
	}
	list, err := (&format{}).Messages(in, s, &s.Entries[2])
	if err != nil || len(list) != 2 {
		t.Errorf("%d messages of the compaction: %v", len(list), err)
	}
}

// A task of Roo Code, as its source writes it: a summary hides all before it, a marker the messages that name it.
func TestRead_rooCode(t *testing.T) {
	const marked = `[{"role":"user","content":"task","ts":1763700000000},
		{"role":"assistant","content":"old","truncationParent":"t1"},{"role":"user","content":"older","truncationParent":"t1"},
		{"role":"user","content":"[Sliding window truncation: 2 messages hidden to reduce context]","isTruncationMarker":true,"truncationId":"t1"},
		{"role":"assistant","content":"new"}]`
	s, _ := readText(t, "tasks/1/"+historyFile, marked, "tasks/1/history_item.json", `{"id":"1","task":"Name it","workspace":"/home/demo/shop","number":1}`)
	if got := s.Reads(s.Head); !slices.Equal(got, []int{0, 3, 4}) || s.Title != "Name it" || s.Project != "/home/demo/shop" || len(s.Faults) > 0 {
		t.Errorf("the head reads %v: %q of %s, %v", got, s.Title, s.Project, s.Faults)
	}
	if got := s.Entries[0].At.UnixMilli(); got != 1763700000000 {
		t.Errorf("the task is of %d", got)
	}
	const condensed = `[{"role":"user","content":"task","condenseParent":"c1"},{"role":"assistant","content":"old","condenseParent":"c1"},
		{"role":"user","content":[{"type":"text","text":"## Conversation Summary"}],"isSummary":true,"condenseId":"c1"},{"role":"assistant","content":"new"}]`
	s, _ = readText(t, "tasks/1/"+historyFile, condensed)
	if got := s.Reads(s.Head); !slices.Equal(got, []int{2, 3}) || s.Entries[2].Event != "compaction" {
		t.Errorf("the head reads %v", got)
	}
}

// The tasks of Kilo Code, which are Roo Code's, are found where VS Code keeps them, and read.
func TestRead_kiloCode(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, ".config", "Code", "User", "globalStorage", "kilocode.kilo-code")
	if err := os.CopyFS(filepath.Join(folder, "tasks", listed), os.DirFS(filepath.Join(fixture, "tasks", listed))); err != nil {
		t.Fatal(err)
	}
	found := store.Kinds{Kind(nil).Kind}.Look(t.Context(), store.Surroundings{Home: home, Env: func(string) string { return "" }})
	if len(found) != 1 || !strings.HasPrefix(found[0].At, folder) {
		t.Fatalf("%+v", found)
	}
	list := storetest.Sessions(t, storetest.OpenStore(t, Kind(nil).Kind, found[0].At))
	if len(list) != 1 || list[0].Title != "Add a health check" || list[0].Snapshots < 3 {
		t.Errorf("%+v", list)
	}
}

// A restore and a fork name the session that they come from, as the manifests of the command of 3.0.65 do.
func TestRead_origin(t *testing.T) {
	for _, of := range []string{`"restoredFromSessionId":"first","restoredCheckpointRunCount":1`, `"fork":{"forkedFromSessionId":"first","forkedAt":"2026-11-30T08:09:05.902Z","source":"hindcast"}`} {
		s, _ := readText(t, "s/s.messages.json", `{"messages":[{"role":"user","content":"a"}]}`, "s/s.json", `{"metadata":{`+of+`}}`)
		if got := s.Entries[0].Facts; len(got) != 1 || got[0].Value != "first" {
			t.Errorf("%s: %v", of, got)
		}
	}
}

// The call of a sub-agent leads to its session.
func TestRead_subAgent(t *testing.T) {
	s := openFixture(t)
	session := sessionOf(t, s, "go call: spawn_agent", 4)
	_, agent, linked := strings.Cut(titles(t, s, session)[1], " → ")
	if got := titles(t, s, session+"/"+agent); !linked || !slices.Equal(got, []string{"look into it", "reply to: look into it"}) {
		t.Errorf("the call leads to %q, %q", agent, got)
	}
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"*/*.messages.json", "tasks/*/api*"} {
		if n := formattest.AddFiles(f, filepath.Join(fixture, pattern)); n == 0 {
			f.Fatalf("%d files", n)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"s/s.messages.json", "tasks/1/" + historyFile} {
			s, in := readText(t, name, string(text), "s/s.compaction.json", string(text), "tasks/1/ui_messages.json", string(text))
			form := &format{}
			formattest.CheckMessages(t, form, in, s)
			if _, err := form.ReadCarried(t.Context(), in, s); err != nil {
				t.Error(err)
			}
		}
	})
}

// Copies of tasks are read wherever they lie.
func TestOpen_copiedTasks(t *testing.T) {
	home := filepath.Join(t.TempDir(), "copies")
	for _, id := range []string{"1", "2"} {
		file := filepath.Join(home, id, historyFile)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(`[{"role":"user","content":"look"}]`), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]int{home: 2, filepath.Join(home, "1"): 1, filepath.Join(home, "2", historyFile): 1} {
		if list := storetest.Sessions(t, storetest.OpenStore(t, Kind(nil).Kind, at)); len(list) != want || list[0].Title != "look" {
			t.Errorf("%s: %+v", at, list)
		}
	}
}

// A task without the file of its messages is read as the extension showed it, and a fault says that more is gone.
func TestRead_shown(t *testing.T) {
	const ui = `[{"ts":1763700000100,"type":"say","say":"text","text":"Add a check","conversationHistoryIndex":-1},
{"ts":1763700000200,"type":"say","say":"api_req_started","text":"{\"request\":\"…\",\"tokensIn\":4100,\"tokensOut\":60,\"cost\":0.5}"},
{"ts":1763700000300,"type":"say","say":"reasoning","text":"where to"},
{"ts":1763700000400,"type":"ask","ask":"command","text":"ls"},
{"ts":1763700000500,"type":"say","say":"command_output","text":"main.go"},
{"ts":1763700000600,"type":"say","say":"user_feedback","text":"go on"},
{"ts":1763700000700,"type":"say","say":"completion_result","text":"done"}]`
	dir := t.TempDir()
	for name, text := range map[string]string{"tasks/1/ui_messages.json": ui, "state/taskHistory.json": `[{"id":"1","task":"Add a check"}]`} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{dir, filepath.Join(dir, "tasks"), filepath.Join(dir, "tasks", "1"), filepath.Join(dir, "tasks", "1", "ui_messages.json")} {
		s := storetest.OpenStore(t, Kind(nil).Kind, at)
		list := storetest.Sessions(t, s)
		if len(list) != 1 || list[0].Title != "Add a check" {
			t.Fatalf("%s: %+v", at, list)
		}
		var got []string
		for _, h := range storetest.Headers(t, s, "1") {
			got = append(got, h.Title)
		}
		if want := []string{"Add a check", "where to", "ls", "main.go", "go on", "done"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", at, got, want)
		}
		if faults := storetest.Faults(t, s, "1"); len(faults) != 1 || faults[0].Code != chat.FaultShown {
			t.Errorf("%s: %v", at, faults)
		}
	}
}
