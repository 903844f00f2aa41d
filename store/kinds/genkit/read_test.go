package genkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

// manyRows writes sessions of rows as Go does, in one folder.
func manyRows(t testing.TB, dir string, sessions, rows, stateSize int) {
	t.Helper()
	filler := strings.Repeat("x", stateSize)
	for s := range sessions {
		sid, parent := fmt.Sprintf("sess-%04d", s), ""
		for i := range rows {
			id := fmt.Sprintf("%08x-%04x-4000-8000-000000000000", s, i)
			created := evening.Add(time.Duration(s*rows+i-1_000_000) * time.Second).Format(time.RFC3339Nano)
			state := fmt.Sprintf(`"state": {"messages": [{"role": "user", "content": [{"text": "turn %d"}]}, {"role": "model", "content": [{"text": "%s"}]}], "sessionId": %q}, "status": "completed"`, i, filler, sid)
			write(t, filepath.Join(dir, "global", id+rowSuffix), goRow(id, parent, sid, created, state))
			parent = id
		}
		write(t, filepath.Join(dir, "global", pointersFolder, sid+rowSuffix), fmt.Sprintf(`{"currentSnapshotId": %q, "currentCreatedAt": "2026-11-20T10:00:00Z"}`, parent))
	}
}

// A row is read once, whatever is asked, until it changes.
func TestReads_onlyWhatChanged(t *testing.T) {
	dir := t.TempDir()
	manyRows(t, dir, 30, 20, 10)
	s := open(t, dir)
	before := int64(0)
	expect := func(what string, want int64) {
		t.Helper()
		if got := fetched(s) - before; got != want {
			t.Errorf("%s reads %d files, want %d", what, got, want)
		}
		before = fetched(s)
	}
	if n := len(storetest.Sessions(t, s)); n != 30 {
		t.Fatalf("there are %d sessions", n)
	}
	expect("the first list", 600)
	storetest.Sessions(t, s)
	expect("the second list", 0)
	if n := len(storetest.Headers(t, s, "sess-0007")); n != 20 {
		t.Fatalf("there are %d headers", n)
	}
	expect("a session after the list", 0)
	changed := filepath.Join(dir, "global", "00000007-0003-4000-8000-000000000000.json")
	write(t, changed, goRow("00000007-0003-4000-8000-000000000000", "", "sess-0007", at(0), `"status": "failed", "error": {"message": "new"}`))
	list := storetest.Headers(t, s, "sess-0007")
	expect("a session with a new row", 1)
	if !slices.ContainsFunc(list, func(h model.Header) bool { return h.Title == "new" }) {
		t.Error("what changed is not seen")
	}
	if err := os.Remove(changed); err != nil {
		t.Fatal(err)
	}
	if n := len(storetest.Headers(t, s, "sess-0007")); n != 19 {
		t.Errorf("after a row went there are %d", n)
	}
	expect("a session without a row", 0)
}

// fetched returns how many files of rows the store has read.
func fetched(s *Store) (n int64) {
	for _, p := range s.listParts() {
		n += p.files.Storage.Memo.CountReads()
	}
	return n
}

// What rows said is known when the store is opened again, if there is a cache.
func TestReads_acrossProcesses(t *testing.T) {
	dir, cache := t.TempDir(), files.NewCache(t.TempDir())
	manyRows(t, dir, 10, 60, 10_000) // what is less than some megabytes is not kept
	for i, want := range []int64{600, 0} {
		s, err := Options{Cache: cache, Now: func() time.Time { return evening }}.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		list := storetest.Sessions(t, s)
		if got := fetched(s); len(list) != 10 || got != want {
			t.Errorf("opening %d reads %d files, want %d; %d sessions", i+1, got, want, len(list))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Rows that are rewritten all the time are whole whenever they are looked at, by
// several at once.
func TestReads_whileRowsAreRewritten(t *testing.T) {
	dir := t.TempDir()
	manyRows(t, dir, 2, 5, 100)
	s := open(t, dir)
	id := "00000000-0004-4000-8000-000000000000"
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				status := []string{`"status": "pending", "heartbeatAt": "2026-11-21T19:59:59Z"`, `"state": {"sessionId": "sess-0000"}, "status": "completed"`}[i%2]
				goWrite(t, filepath.Join(dir, "global", id+rowSuffix), goRow(id, "", "sess-0000", evening.Format(time.RFC3339Nano), status))
			}
		}
	})
	for range 4 {
		running.Go(func() {
			for range 50 {
				list := storetest.Headers(t, s, "sess-0000")
				last := list[len(list)-1]
				if len(list) != 5 || last.Marks != 0 || last.EventName != "" && last.EventName != statusPending {
					t.Errorf("%d headers, the last is %+v", len(list), last)
				}
				if got := state(t, s, last.Ref()); got != "null" && !strings.HasPrefix(got, "{") {
					t.Errorf("the state is %s", got)
				}
			}
		})
	}
	go func() {
		time.Sleep(200 * time.Millisecond) // how long it is rewritten
		close(stop)
	}()
	running.Wait()
}

// goWrite writes as Go's SDK does: under another name, then in place.
func goWrite(t testing.TB, file, content string) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		t.Error(err)
		return
	}
	// In two pieces: readers meet half a file.
	for _, piece := range []string{content[:len(content)/2], content[len(content)/2:]} {
		if _, err := f.WriteString(piece); err != nil {
			t.Error(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		t.Error(err)
	}
}
