package genkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/files"
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
	expect := func(what string, want int64) {
		t.Helper()
		if got := s.reads.Swap(0); got != want {
			t.Errorf("%s reads %d files, want %d", what, got, want)
		}
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

// What rows said is known when the store is opened again, if there is a shelf.
func TestReads_acrossProcesses(t *testing.T) {
	dir, shelf := t.TempDir(), files.NewShelf(t.TempDir())
	manyRows(t, dir, 10, 60, 10_000) // what is less than some megabytes is not kept
	for i, want := range []int64{600, 0} {
		s, err := Options{Shelf: shelf, Now: func() time.Time { return evening }}.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		list := storetest.Sessions(t, s)
		if got := s.reads.Load(); len(list) != 10 || got != want {
			t.Errorf("opening %d reads %d files, want %d; %d sessions", i+1, got, want, len(list))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Several rows are read at once, but of large ones one after the other.
func TestReads_oneLargeRowAtATime(t *testing.T) {
	for _, large := range []bool{false, true} {
		dir, size := t.TempDir(), int64(1)
		if large {
			size = largeRow + 1
		}
		var names []string
		for i := range 64 {
			id := fmt.Sprintf("%02d", i)
			write(t, filepath.Join(dir, id+rowSuffix), "")
			if err := os.Truncate(filepath.Join(dir, id+rowSuffix), size); err != nil { // no disk is used
				t.Fatal(err)
			}
			names = append(names, id)
		}
		r, err := open(t, dir).openPlace(place{dir: ".", rows: names})
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		var running, most atomic.Int64
		r.fetch = func(name string, _ []byte) ([]byte, error) {
			now := running.Add(1)
			defer running.Add(-1)
			for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			}
			time.Sleep(time.Millisecond) // a file takes its time
			return []byte(goRow(strings.TrimSuffix(name, rowSuffix), "", "s", at(0), "")), nil
		}
		seen := 0
		if err := r.each(t.Context(), func(*reading) { seen++ }); err != nil || seen != 64 {
			t.Errorf("%d rows are read: %v", seen, err)
		}
		if got := most.Load(); large != (got == 1) {
			t.Errorf("of rows that are large: %v, %d are read at once", large, got)
		}
	}
}

// A row that is found broken while its writer replaces it is read again.
func TestReads_againWhatIsTorn(t *testing.T) {
	dir := t.TempDir()
	whole := goRow("a", "", "s", at(0), "")
	write(t, filepath.Join(dir, "global", "a.json"), whole[:60])
	s := open(t, dir)
	r, err := s.openPlace(place{dir: "global", rows: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	torn, err := r.fetch("a.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "global", "a.json"), whole)
	got, last, ok := r.decode("a", torn)
	if !ok || got.broken || string(last) != whole {
		t.Errorf("read is %+v", got)
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
