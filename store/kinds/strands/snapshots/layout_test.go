package snapshots

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
)

// copyTree copies a fixture; its files are old enough to be remembered.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			age(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func ids(list []model.SessionInfo) (all []string) {
	for _, info := range list {
		all = append(all, info.ID)
	}
	return all
}

// A store is the folder around session/, that folder, a legacy folder, or the
// folder of one session.
func TestRecognise(t *testing.T) {
	empty := t.TempDir()
	near := t.TempDir()
	mustWrite(t, filepath.Join(near, "session", "a", "scopes", "agent", "x", "notes.txt"), "")
	other := t.TempDir()
	mustWrite(t, filepath.Join(other, "session", "a", "scopes", "future", "x", "snapshots", latestFile), "{}")
	bare := t.TempDir()
	mustWrite(t, filepath.Join(bare, "session", "readme"), "")
	file := filepath.Join(t.TempDir(), "file")
	mustWrite(t, file, "{}")
	run := t.TempDir()
	mustWrite(t, filepath.Join(run, "s", "scopes", "multiAgent", "g", "snapshots", latestFile), "{}")
	for _, c := range []struct {
		dir, why string
		ok       bool
	}{
		{fixture("python-snapshot"), "session/…/scopes/agent/…/snapshots/snapshot_latest.json", true},
		{fixture("python-snapshot/session"), "…/scopes/agent/…/snapshots/snapshot_latest.json", true},
		{fixture("python-snapshot/session/manual"), "scopes/agent/…/snapshots/snapshot_latest.json", true},
		{fixture("typescript/unified"), "session/…/scopes/agent/…/snapshots/snapshot_latest.json", true},
		{fixture("typescript/legacy"), "…/scopes/agent/…/snapshots/snapshot_latest.json", true},
		{fixture("typescript/legacy/basic"), "scopes/agent/…/snapshots/snapshot_latest.json", true},
		{run, "…/scopes/multiAgent/…/snapshots/snapshot_latest.json", true},
		{empty, "", false},
		{near, "session/…/scopes/agent holds no snapshots", false},
		{other, "session/…/scopes holds neither agent nor multiAgent", false},
		{bare, "in session/ is no folder with scopes/", false},
		{file, "", false},
		// The message logs of another kind.
		{fixture("python-file"), "", false},
		{fixture("python-file/session_basic"), "", false},
		{fixture("python-multiagent"), "", false},
	} {
		check := storetest.Untouched(t, c.dir)
		why, ok, err := Kind(nil).Recognise(t.Context(), c.dir)
		if err != nil || ok != c.ok || why != c.why {
			t.Errorf("%s: %q, %t, %v; not %q, %t", c.dir, why, ok, err, c.why, c.ok)
		}
		check()
	}
	if _, _, err := Kind(nil).Recognise(t.Context(), filepath.Join(empty, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	got := Kind(nil).Places(store.Surroundings{Home: "/home/u", Work: "."})
	want := []string{".strands", filepath.Join("/home/u", ".strands"), filepath.Join(".strands", "session")}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if got := Kind(nil).Places(store.Surroundings{}); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

// Each address of one session shows it as it is.
func TestOpen_addresses(t *testing.T) {
	for _, c := range []struct {
		address, session string
	}{
		{"python-snapshot", "every-turn"},
		{"python-snapshot/session", "every-turn"},
		{"python-snapshot/session/every-turn", "every-turn"},
	} {
		s := open(t, fixture(c.address))
		rows := storetest.Headers(t, s, c.session)
		if len(rows) != 4 || !rows[3].Head || rows[3].ParentID != rows[0].ID {
			t.Errorf("%s: %+v", c.address, rows)
		}
		data, err := os.ReadFile(filepath.Join(fixture("python-snapshot"), "session", "every-turn", "scopes", "agent", "default", "snapshots", latestFile))
		if err != nil {
			t.Fatal(err)
		}
		if got := state(t, s, rows[3]); !bytes.Contains(data, got) || !bytes.HasPrefix(got, []byte(`{"messages": [{"role"`)) {
			t.Errorf("%s: the state is %s", c.address, got)
		}
	}
	t.Chdir(fixture("typescript/legacy/basic"))
	if got := ids(sessions(t, open(t, "."))); !slices.Equal(got, []string{"basic"}) {
		t.Errorf("of the folder one stands in: %q", got)
	}
	if _, err := Open(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// Both dialects and both layouts may lie side by side, sessions have several
// agents, and names may collide.
func TestSessions_sideBySide(t *testing.T) {
	dir := t.TempDir()
	python := fixture("python-snapshot/session/manual/scopes/agent/default")
	script := fixture("typescript/legacy/basic/scopes/agent/agent")
	run := fixture("typescript/unified/session/graph-done/scopes/multiAgent/g1")
	copyTree(t, python, filepath.Join(dir, "session", "one", "scopes", "agent", "default"))
	copyTree(t, script, filepath.Join(dir, "session", "two", "scopes", "agent", "a"))
	copyTree(t, python, filepath.Join(dir, "session", "two", "scopes", "agent", "b"))
	copyTree(t, run, filepath.Join(dir, "session", "two", "scopes", "multiAgent", "b"))
	copyTree(t, script, filepath.Join(dir, "one", "scopes", "agent", "agent"))
	copyTree(t, script, filepath.Join(dir, "session", "scopes", "agent", "agent")) // a session called "session"
	mustWrite(t, filepath.Join(dir, "session", "empty", "scopes", "agent", "x", "notes"), "")
	mustWrite(t, filepath.Join(dir, "session", "two", "scopes", "future", "notes"), "")
	mustWrite(t, filepath.Join(dir, "context", "one", "notes"), "")
	mustWrite(t, filepath.Join(dir, "notes"), "")
	s := open(t, dir)
	list := sessions(t, s)
	want := []string{"one", "one~", "session", "two/a", "two/b", "two/b~"}
	if got := ids(list); !slices.Equal(got, want) {
		t.Fatalf("%q, not %q", got, want)
	}
	for i, n := range []int{2, 4, 4, 4, 2, 2} {
		rows := storetest.Headers(t, s, want[i])
		if len(rows) != n || list[i].Snapshots != n {
			t.Errorf("%s has %d rows, %d in the list", want[i], len(rows), list[i].Snapshots)
		}
		for _, h := range rows {
			if h.SessionID != want[i] || h.Size != int64(len(state(t, s, h))) {
				t.Errorf("%s: %+v", want[i], h)
			}
		}
	}
	found := storetest.Faults(t, s, "")
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code+" "+f.File)
	}
	if want := []string{FaultSession + " session/empty/scopes", FaultStray + " session/two/scopes/future"}; !slices.Equal(codes, want) {
		t.Errorf("of the store: %q, not %q", codes, want)
	}
}

// The newest change comes first.
func TestSessions_newestFirst(t *testing.T) {
	var got []string
	for info, err := range open(t, fixture("python-snapshot")).Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.ID)
	}
	if want := []string{"interrupt", "message-strategy", "manual", "every4", "default-session", "every-turn"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// Ids are data: none leads anywhere but to what is listed.
func TestLocate_unknown(t *testing.T) {
	s := open(t, fixture("python-snapshot"))
	for _, id := range []string{"", ".", "..", "/", "../python-snapshot/session/manual", "session/manual", "manual/default", "manual/", "Manual",
		"manual~", "manual\x00", strings.Repeat("a", 300), "session"} {
		for _, err := range s.Headers(t.Context(), id) {
			if !errors.Is(err, model.ErrNoSession) {
				t.Errorf("headers of %q: %v", id, err)
			}
		}
		if _, err := s.State(t.Context(), model.Ref{Session: id, ID: latestID}); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("state of %q: %v", id, err)
		}
		if _, err := s.Facts(t.Context(), model.Ref{Session: id, ID: latestID}); !errors.Is(err, model.ErrNoSession) {
			t.Errorf("facts of %q: %v", id, err)
		}
		if _, err := s.Faults(t.Context(), id); id != "" && !errors.Is(err, model.ErrNoSession) {
			t.Errorf("faults of %q: %v", id, err)
		}
	}
	for _, id := range []string{"x", "..", "../snapshot_latest", "snapshot_latest", ""} {
		if _, err := s.State(t.Context(), model.Ref{Session: "manual", ID: id}); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("state %q: %v", id, err)
		}
		if _, err := s.Facts(t.Context(), model.Ref{Session: "manual", ID: id}); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("facts %q: %v", id, err)
		}
	}
}

// What is no snapshot file, or leads out of the store, is a fault and blocks
// nothing.
func TestStore_reachesNothingElse(t *testing.T) {
	outside := t.TempDir()
	copyTree(t, fixture("python-snapshot/session/manual"), filepath.Join(outside, "manual"))
	dir := t.TempDir()
	kept := filepath.Join(dir, "session", "s", "scopes", "agent", "default", "snapshots")
	copyTree(t, fixture("python-snapshot/session/manual/scopes/agent/default/snapshots"), kept)
	for link, target := range map[string]string{
		filepath.Join(dir, "session", "far"):                                                  filepath.Join(outside, "manual"),
		filepath.Join(kept, historyDir, "snapshot_01950000-0000-7000-8000-000000000009.json"): filepath.Join(outside, "manual", "scopes", "agent", "default", "snapshots", latestFile),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(kept, historyDir, "snapshot_01950000-0000-7000-8000-00000000000a.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	storetest.Pipe(t, filepath.Join(kept, historyDir, "snapshot_01950000-0000-7000-8000-00000000000b.json"))
	s := open(t, dir)
	if got := ids(sessions(t, s)); !slices.Equal(got, []string{"s"}) {
		t.Errorf("sessions %q", got)
	}
	damaged := 0
	for _, h := range storetest.Headers(t, s, "s") {
		_, err := s.State(t.Context(), h.Ref())
		if h.Marks.Has(model.MarkDamaged) != (err != nil) {
			t.Errorf("%+v: %v", h, err)
		}
		if err != nil {
			damaged++
		}
	}
	if damaged != 3 {
		t.Errorf("%d rows are damaged", damaged)
	}
	var codes []string
	for _, f := range append(storetest.Faults(t, s, "s"), storetest.Faults(t, s, "")...) {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	if want := []string{FaultFile, FaultFile, FaultSymlink, FaultSymlink}; !slices.Equal(codes, want) {
		t.Errorf("faults %q, not %q", codes, want)
	}
}
