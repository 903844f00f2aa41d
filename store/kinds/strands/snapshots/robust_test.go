package snapshots

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hindcast/store/engine"
	"hindcast/store/kinds/strands/lineage"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// A session whose older snapshots cannot be listed does not hide the others, and
// has the one that the SDK starts from.
func TestSessions_oneThatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	copyTree(t, fixture("python-snapshot/session/manual"), filepath.Join(dir, "session", "good"))
	copyTree(t, fixture("python-snapshot/session/manual"), filepath.Join(dir, "session", "odd"))
	odd := filepath.Join(dir, "session", "odd", "scopes", "agent", "default", "snapshots", historyDir)
	if err := os.RemoveAll(odd); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, odd, "a file")
	s := open(t, dir)
	list := sessions(t, s)
	if got, want := ids(list), []string{"good", "odd"}; !slices.Equal(got, want) {
		t.Fatalf("%q, not %q", got, want)
	}
	found := storetest.Faults(t, s, "odd")
	if len(found) != 1 || found[0].Code != FaultDirectory || found[0].Verdict != "starts; refuses to restore it: it cannot be read" || list[1].Faults != 1 {
		t.Errorf("of the odd one: %+v, and the list counts %d", found, list[1].Faults)
	}
	if rows := storetest.Headers(t, s, "odd"); len(rows) != 1 || !rows[0].Head || list[1].Snapshots != 1 {
		t.Errorf("the odd one has the rows\n%s", picture(rows))
	}
}

// A session that goes while the others are read is not listed, and is no error.
func TestSessions_oneThatGoes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		copyTree(t, fixture("python-snapshot/session/manual"), filepath.Join(dir, "session", name))
	}
	var got []string
	for info, err := range open(t, dir).Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, info.ID); len(got) == 1 {
			if err := os.RemoveAll(filepath.Join(dir, "session", "b")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"a", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// The faults of a session are counted again when something in its folders
// changed, and not before; in another process neither.
func TestSessions_countFaultsOfWhatChanged(t *testing.T) {
	dir := t.TempDir()
	cache := files.NewCache(t.TempDir())
	kept := snapshotsOf(dir, "long")
	grow(t, kept, 60, 2000, 1000)
	count := func(s *Store, faults int, checked int64) {
		t.Helper()
		s.checks.Store(0)
		if list := sessions(t, s); len(list) != 1 || list[0].Faults != faults || s.checks.Load() != checked {
			t.Errorf("%d files were checked, not %d: %+v", s.checks.Load(), checked, list)
		}
	}
	s, err := openSite(t.Context(), cache, engine.SiteOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	count(s, 0, 61)
	count(s, 0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = openSite(t.Context(), cache, engine.SiteOf(dir)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count(s, 0, 0)
	rewrite(t, filepath.Join(kept, historyDir, "notes.txt"), []byte("x"))
	count(s, 1, 61)
	count(s, 1, 0)
	mustWrite(t, filepath.Join(kept, "manifest.json"), "{}") // now: it may change again unnoticed
	count(s, 2, 61)
	count(s, 2, 61)
}

// To compare two long lists of messages that are all alike takes no time to
// speak of: a file of a few megabytes may hold a million.
func TestAppendNote_ofMessagesThatAreAlike(t *testing.T) {
	alike := func(n int) *messages {
		m := &messages{prints: make([]lineage.Print, n), shapes: make([]shape, n)}
		for i := range m.prints {
			m.prints[i] = 2
		}
		return m
	}
	all, m := alike(1_000_000), alike(500_000)
	m.prints[len(m.prints)-1] = 4
	before, read := first(all.prints, all.shapes), &scanned{messages: *m}
	done := make(chan []byte, 1)
	go func() {
		read.joinShared(before)
		done <- read.appendNote()
	}()
	select {
	case note := <-done:
		if back, err := parseNote(note); err != nil || !back.joinShared(before) || !slices.Equal(back.prints, m.prints) {
			t.Error("the note does not give the messages back")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it takes forever")
	}
}

// What is read of a file leaves its bytes as they are, also where a role is no JSON: the text of
// the state is cut from them.
func TestReadCapture_leavesTheFileAsItIs(t *testing.T) {
	const file = "{\"data\":{\"messages\":[{\"role\":\"a\x00b\",\"content\":u{\"text\":\"a1\"}]}]}}"
	data := []byte(file)
	if readCapture(data); string(data) != file {
		t.Errorf("the file is %q", data)
	}
}
