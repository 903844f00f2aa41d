package messages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// copyTree copies a folder.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ids(list []model.SessionInfo) (ids []string) {
	for _, info := range list {
		ids = append(ids, info.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestKind_recognisesByShape(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		"storage/session_a/session.json", "storage/other/x",
		"one/session.json", "one/agents/agent_x/agent.json",
		"snapshots/session/a/scopes/agent/default/snapshots/snapshot_latest.json",
		"nothing/session_a/notes.txt", "half/session.json",
		"graph/session.json", "graph/multi_agents/multi_agent_g/multi_agent.json",
	} {
		mustWrite(t, filepath.Join(dir, file), "{}")
	}
	mustWrite(t, filepath.Join(dir, "empty", "x"), "")
	for name, want := range map[string]bool{
		"storage": true, "storage/session_a": false, "one": true, "graph": true, "snapshots": false, "nothing": false, "half": false, "empty": false, "empty/x": false,
	} {
		why, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, name))
		if err != nil || ok != want || ok && why == "" {
			t.Errorf("%s: %v, %q, %v; want %v", name, ok, why, err, want)
		}
	}
	if _, _, err := Kind(nil).Recognise(t.Context(), filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestKind_opensByShapeAndByName(t *testing.T) {
	for _, address := range []string{fixtures, "strands:" + fixtures} {
		s, err := store.Kinds{Kind(nil).Kind}.Open(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind() != "strands" || s.Address() != fixtures {
			t.Errorf("%s gives the kind %q at %q", address, s.Kind(), s.Address())
		}
		for _, op := range []model.Op{model.OpRestore, model.OpFork, model.OpEdit, model.OpUndo, model.OpRedo} {
			if reason := store.Reason(s, op); reason != "" {
				t.Errorf("%s: %q", op, reason)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"strands:" + filepath.Join(fixtures, "missing"), "strands:" + filepath.Join(testdata, "hazards.txtar")} {
		if s, err := (store.Kinds{Kind(nil).Kind}).Open(t.Context(), address); err == nil || !strings.HasPrefix(err.Error(), "strands: open ") {
			t.Errorf("%s: %v, %v", address, s, err)
		}
	}
}

func TestOpen_takesTheFolderOfOneSession(t *testing.T) {
	whole := open(t, fixtures)
	for _, c := range []struct{ folder, session string }{{"session_basic", "basic"}, {"session_twoagents", "twoagents/worker"}} {
		s := open(t, filepath.Join(fixtures, c.folder))
		want := storetest.Headers(t, whole, c.session)
		if got := storetest.Headers(t, s, c.session); !slices.Equal(got, want) {
			t.Errorf("%s: %v", c.folder, got)
		}
		if got := state(t, s, want[3]); !bytes.Equal(got, state(t, whole, want[3])) {
			t.Errorf("%s: another state", c.folder)
		}
	}
	t.Chdir(filepath.Join(fixtures, "session_sliding"))
	if got := ids(storetest.Sessions(t, open(t, "."))); !slices.Equal(got, []string{"sliding"}) {
		t.Errorf("in the folder itself: %q", got)
	}
}

func TestStore_takesNamesAsTheyAre(t *testing.T) {
	names := []string{"..", ".", "", `a\b`, "a b", "line\nfeed", "\x1b[31mred", "\u202egnp", "ümlaut", "e\u0301", "UPPER:colon", "bad\xffutf8", strings.Repeat("x", 200)}
	dir := t.TempDir()
	f := hazards(t)["healthy"]
	for _, name := range names {
		f.write(t, filepath.Join(dir, "session_"+name))
	}
	for _, name := range names[:len(names)-1] {
		agent := filepath.Join(dir, "session_"+names[len(names)-1], "agents", "agent_"+name)
		copyTree(t, filepath.Join(dir, "session_..", "agents", "agent_default"), agent)
	}
	s := open(t, dir)
	list := storetest.Sessions(t, s)
	want := slices.Clone(names[:len(names)-1])
	for _, name := range append(want, "default") {
		want = append(want, names[len(names)-1]+"/"+name)
	}
	slices.Sort(want)
	if got := ids(list); !slices.Equal(got, want) {
		t.Fatalf("sessions\n%q\nwant\n%q", got, want)
	}
	for _, info := range list {
		rows := storetest.Headers(t, s, info.ID)
		if len(rows) != 6 || rows[5].SessionID != info.ID || info.Head.ID != rows[5].ID {
			t.Errorf("%q has %d messages", info.ID, len(rows))
		}
		state(t, s, rows[5])
	}
}

func TestStore_knowsNoOtherIDs(t *testing.T) {
	s := open(t, fixtures)
	head := storetest.Headers(t, s, "basic")[13].ID
	for _, id := range []string{"missing", "session_basic", "basic/default", "basic/", "../python-file/session_basic", "basic/../agent_default", "twoagents", "twoagents/missing", "twoagents/../agent_worker", "/", "", ".", "..", "a\x00b"} {
		if _, err := s.State(t.Context(), model.Ref{Session: id, ID: head}); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("state of session %q: %v", id, err)
		}
		for _, err := range s.Headers(t.Context(), id) {
			if !errors.Is(err, model.ErrNoSession) {
				t.Errorf("headers of session %q: %v", id, err)
			}
		}
		if _, err := s.Faults(t.Context(), id); id != "" && !errors.Is(err, model.ErrNoSession) {
			t.Errorf("faults of session %q: %v", id, err)
		}
	}
	for _, id := range []string{"", "x", strings.ToUpper(head), head[:63], storetest.Headers(t, s, "bytes")[0].ID} {
		if _, err := s.State(t.Context(), model.Ref{Session: "basic", ID: id}); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("state %q: %v", id, err)
		}
	}
}

func TestSessions_listTheNewestChangeFirst(t *testing.T) {
	var times []string
	for _, info := range storetest.Sessions(t, open(t, fixtures)) {
		times = append(times, info.UpdatedAt.Format("15:04:05.000000")+" "+info.ID)
	}
	newestFirst := func(a, b string) int { return strings.Compare(b[:15], a[:15]) }
	if len(times) != 11 || !slices.IsSortedFunc(times, newestFirst) {
		t.Errorf("%s", strings.Join(times, "\n"))
	}
}

func TestSessions_listThoseWithoutAnAgent(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "session_graph", "session.json"), `{"session_id":"graph","session_type":"AGENT"}`)
	if err := os.MkdirAll(filepath.Join(dir, "session_graph", "multi_agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(dir, "session_new", "session.json"), `{"session_id":"new","session_type":"AGENT"}`)
	mustWrite(t, filepath.Join(dir, "session_new", "agents", "agent_a", "agent.json"), string(hazards(t)["healthy"]["agent.json"]))
	if err := os.Mkdir(filepath.Join(dir, "session_new", "agents", "agent_a", "messages"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	list := storetest.Sessions(t, s)
	if got := ids(list); !slices.Equal(got, []string{"graph", "new"}) {
		t.Fatalf("sessions %q", got)
	}
	for _, info := range list {
		if info.Snapshots != 0 || info.Head.ID != "" || info.Faults != 0 || len(storetest.Headers(t, s, info.ID)) != 0 {
			t.Errorf("%+v", info)
		}
	}
	if empty := open(t, t.TempDir()); len(storetest.Sessions(t, empty)) != 0 || len(storetest.Faults(t, empty, "")) != 0 {
		t.Error("an empty folder has sessions or faults")
	}
}

func TestSessions_listWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	healthy := hazards(t)["healthy"]
	healthy.write(t, filepath.Join(dir, "session_good"))
	healthy.write(t, filepath.Join(dir, "session_bad"))
	messages := filepath.Join(dir, "session_bad", "agents", "agent_default", "messages")
	if err := os.RemoveAll(messages); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, messages, "a file where the folder should be")
	mustWrite(t, filepath.Join(dir, "session_worse", "session.json"), "[")
	mustWrite(t, filepath.Join(dir, "session_worse", "agents"), "no folder either")
	s := open(t, dir)
	list := storetest.Sessions(t, s)
	if got := ids(list); !slices.Equal(got, []string{"bad", "good", "worse"}) {
		t.Fatalf("sessions %q", got)
	}
	for _, info := range list {
		if (info.Faults > 0) != (info.ID != "good") || (info.Snapshots > 0) != (info.ID == "good") {
			t.Errorf("%+v", info)
		}
	}
	for _, err := range s.Headers(t.Context(), "bad") {
		if err == nil || !strings.Contains(err.Error(), `"bad": session_bad/agents/agent_default/messages: `) {
			t.Errorf("headers: %v", err)
		}
	}
	if found := storetest.Faults(t, s, "bad"); len(found) != 1 || found[0].Code != FaultDirectory {
		t.Errorf("faults: %+v", found)
	}
	if found := storetest.Faults(t, s, "worse"); len(found) != 2 || found[1].Code != FaultDirectory || found[1].File != "session_worse/agents" {
		t.Errorf("faults: %+v", found)
	}
}

func TestSessions_listWhatNobodyMayRead(t *testing.T) {
	if !storetest.Unprivileged(t) {
		return
	}
	dir := t.TempDir()
	closed := filepath.Join(dir, "session_closed")
	hazards(t)["healthy"].write(t, closed)
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(closed, 0o755) })
	s := open(t, dir)
	if list := storetest.Sessions(t, s); len(list) != 1 || list[0].ID != "closed" || list[0].Faults == 0 {
		t.Errorf("%+v", list)
	}
	for _, err := range s.Headers(t.Context(), "closed") {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("headers: %v", err)
		}
	}
}

func TestFaults_ofTheStoreTellWhatIsNotListed(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	hazards(t)["healthy"].write(t, filepath.Join(dir, "session_"))
	mustWrite(t, filepath.Join(dir, "session_file"), "")
	mustWrite(t, filepath.Join(dir, "session_bare", "notes.txt"), "")
	mustWrite(t, filepath.Join(dir, "other", "notes.txt"), "")
	got := pictureFaults(storetest.Faults(t, open(t, dir), ""))
	want := "! session-file  session_bare \n    the folder has neither session.json nor agents\n    refuses to start: SessionException: the session already exists\n" +
		"! stray-file  session_file \n    it is named as a session is, and is no folder\n    loads; the SDK looks at it only for a session of that name, which it cannot start\n"
	if got != want {
		t.Errorf("%s", got)
	}
}

// Nothing outside the store is read, whatever links there are, but a session whose own
// folder is a link: the SDK loads that.
func TestStore_doesNotLeaveItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	healthy := hazards(t)["healthy"]
	secret := healthy.with(map[string]string{"messages/message_5.json": `{"message":{"role":"assistant","content":[{"text":"SECRET"}]},"message_id":5}`})
	secret.write(t, filepath.Join(outside, "session_o"))
	agent := filepath.Join(outside, "session_o", "agents", "agent_default")
	link := func(target, name string) {
		t.Helper()
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outside, "session_o"), filepath.Join(dir, "session_linked"))
	link("missing", filepath.Join(dir, "session_dangling"))
	for _, name := range []string{"session.json", "agents", "agents/agent_default", "agents/agent_default/agent.json", "agents/agent_default/messages", "agents/agent_default/messages/message_5.json"} {
		session := filepath.Join(dir, "session_"+strings.ReplaceAll(name, "/", ":"))
		healthy.write(t, session)
		link(filepath.Join(outside, "session_o", name), filepath.Join(session, name))
	}
	healthy.write(t, filepath.Join(dir, "session_relative"))
	link(filepath.Join("..", "..", "..", "..", "..", filepath.Base(outside), "session_o", "agents", "agent_default", "messages"),
		filepath.Join(dir, "session_relative", "agents", "agent_default", "messages"))
	// A link to a folder in the store is followed, as the SDK does.
	link("session_agents:agent_default:agent.json", filepath.Join(dir, "session_inside"))

	s := open(t, dir)
	for _, info := range storetest.Sessions(t, s) {
		if info.ID != "inside" && info.ID != "linked" && info.Faults == 0 && info.ID != "agents" && info.ID != "agents:agent_default" {
			t.Errorf("%s: no fault", info.ID)
		}
		for h, err := range s.Headers(t.Context(), info.ID) {
			if err != nil {
				break
			}
			if state := state(t, s, h); info.ID != "linked" && strings.Contains(string(state)+h.Title, "SECRET") {
				t.Errorf("%s: message %d is from outside: %s", info.ID, h.Index, state)
			}
		}
	}
	codes := ""
	for _, f := range storetest.Faults(t, s, "") {
		codes += f.Code + " " + f.File + "\n"
	}
	for _, want := range []string{"symlink session_dangling\n"} {
		if !strings.Contains(codes, want) {
			t.Errorf("the store's faults are\n%s", codes)
		}
	}
	if got := ids(storetest.Sessions(t, s)); !slices.Contains(got, "inside") || !slices.Contains(got, "linked") {
		t.Errorf("sessions %q", got)
	}
	if _, err := os.Stat(agent); err != nil {
		t.Fatal(err)
	}
}

// The suite of reading holds for sessions in which something is wrong.
func TestHazards_areReadLikeAnyStore(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	for name, f := range hazards(t) {
		f.write(t, filepath.Join(dir, "session_hazard "+name))
	}
	storetest.Read(t, Kind(nil).Kind, dir)
}

// inventory tells all names, sizes, times and bytes below a folder.
func inventory(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String())
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text.WriteString(" " + model.SnapshotID(data))
		}
		text.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
