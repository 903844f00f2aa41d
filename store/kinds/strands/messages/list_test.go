package messages

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// manySessions writes n sessions as the SDK does, "s0" the oldest.
func manySessions(t testing.TB, n int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		at := fmt.Sprintf("2026-03-01T10:%02d:%02d.000000+00:00", i/60, i%60)
		hazards(t)["healthy"].with(map[string]string{
			"session.json": fmt.Sprintf(`{"session_id": "s%d", "session_type": "AGENT", "created_at": %q, "updated_at": %q}`, i, at, at),
		}).write(t, filepath.Join(dir, fmt.Sprint("session_s", i)))
	}
	rest(t, dir) // what is written just now is not remembered
	return dir
}

// listed returns the ids of some sessions, as many as there are up to most.
func listed(t testing.TB, sessions iter.Seq2[model.SessionInfo, error], most int) (ids []string) {
	t.Helper()
	for info, err := range sessions {
		if err != nil {
			t.Fatal(err)
		}
		if info.Head == (model.Point{}) || info.Snapshots == 0 {
			t.Errorf("session %q is %+v", info.ID, info)
		}
		if ids = append(ids, info.ID); len(ids) == most {
			break
		}
	}
	return ids
}

// To list a session opens its folder, that of its agents, that of the agent and that of its
// messages, each once.
func TestSessions_opensEachFolderOnce(t *testing.T) {
	const sessions = 100
	s := open(t, manySessions(t, sessions))
	for range 2 { // also when all of it is remembered
		before := s.storage.CountOpenedFolders()
		if n := len(listed(t, s.Sessions(t.Context()), sessions+1)); n != sessions {
			t.Fatalf("%d sessions are listed", n)
		}
		if n := s.storage.CountOpenedFolders() - before; n != 4*sessions {
			t.Errorf("%d folders were opened for %d sessions", n, sessions)
		}
	}
}

// The first session is read alone, and no more than a few before they are asked for. Those
// whose folders changed last come first.
func TestAnyOrder_readsNoFurtherThanItIsAsked(t *testing.T) {
	const sessions = 100
	dir := manySessions(t, sessions)
	var begun []string
	for i := range sessions { // the one that was begun first is the last that was written
		name := fmt.Sprint("s", (i+10)%sessions)
		at := time.Now().Add(time.Duration(i-2*sessions) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "session_"+name), at, at); err != nil {
			t.Fatal(err)
		}
		begun = append(begun, name)
	}
	slices.Reverse(begun)
	for _, most := range []int{1, 2, 20, sessions} {
		s := open(t, dir)
		before := s.storage.CountOpenedFolders()
		if ids := listed(t, s.AnyOrder(t.Context()), most); !slices.Equal(ids, begun[:most]) {
			t.Errorf("the first %d of %q are %q", most, begun, ids)
		}
		read := int(s.storage.CountOpenedFolders()-before) / 4
		if read < most || read >= 2*most+1 {
			t.Errorf("for %d sessions, %d were read", most, read)
		}
	}
}

// That a session is the only one is known without its messages.
func TestOnly_readsNoMessage(t *testing.T) {
	s, read := counting(openFiles(t, longFiles(t, 100)))
	if only := store.Only(t.Context(), s); only != "h" || len(read.looked()) > 0 {
		t.Errorf("the only session is %q, for which these were looked at: %q", only, read.looked())
	}
	for dir, want := range map[string]string{manySessions(t, 1): "s0", manySessions(t, 2): "", t.TempDir(): "", filepath.Join(fixtures, "session_basic"): "basic", fixtures: ""} {
		if only := store.Only(t.Context(), open(t, dir)); only != want {
			t.Errorf("the only session of %s is %q, want %q", dir, only, want)
		}
	}
}

// BenchmarkSessions lists 1,000 sessions whose messages are known.
func BenchmarkSessions(b *testing.B) {
	const sessions = 1000
	s := open(b, manySessions(b, sessions))
	listed(b, s.Sessions(b.Context()), sessions)
	before := s.storage.CountOpenedFolders()
	b.ReportAllocs()
	for b.Loop() {
		if n := len(listed(b, s.Sessions(b.Context()), sessions+1)); n != sessions {
			b.Fatalf("%d sessions are listed", n)
		}
	}
	b.ReportMetric(float64(s.storage.CountOpenedFolders()-before)/float64(b.N)/sessions, "folders/session")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
}
