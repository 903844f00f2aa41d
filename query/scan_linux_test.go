package query_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"hindcast/query"
	"hindcast/store"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/codex"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// countReads returns how many bytes this process reads in the course of a function, and by how many calls.
func countReads(t *testing.T, do func()) (n, calls int64) {
	t.Helper()
	count := func() (n, calls int64) {
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("rchar: "))
		if _, err := fmt.Sscanf(string(text), "%d", &n); err != nil {
			t.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("syscr: "))
		if _, err := fmt.Sscanf(string(text), "%d", &calls); err != nil {
			t.Fatal(err)
		}
		return n, calls
	}
	n, calls = count()
	do()
	after, done := count()
	return after - n, done - calls
}

// A search reads each file once in few calls, whether all of it has the text or nothing. An absent text costs few allocations a
// file, and a frequent one few for each hit, fewer where hits are counted.
func TestSearchHome_readsFilesOnce(t *testing.T) {
	skip.Sequential(t)
	const sessions, records, of = 40, 100, 3000
	dir := t.TempDir()
	for i := range sessions {
		id := fmt.Sprintf("5e551011-0000-4000-8000-%012d", i)
		began := time.Unix(1e9, 0).UTC()
		file := filepath.Join(dir, "claude", "projects", "-p", id+".jsonl")
		storetest.SaveTranscript(t, file, storetest.ClaudeTranscript, id, began, records*of, of)
		rollout := filepath.Join(dir, "codex", "sessions", began.Format("2006/01/02/rollout-2006-01-02T15-04-05-")+id+".jsonl")
		text := bytes.Replace(longRollout(records, of), []byte("01a202f5-bfd0-70d1-aab1-5dc3e55b8000"), []byte(id), 1)
		if err := errors.Join(os.MkdirAll(filepath.Dir(rollout), 0o700), os.WriteFile(rollout, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	claude, err := claudecode.Kind(nil).Open(t.Context(), filepath.Join(dir, "claude", "projects"))
	if err != nil {
		t.Fatal(err)
	}
	defer claude.Close()
	rollouts, err := codex.Kind(nil).Open(t.Context(), filepath.Join(dir, "codex"))
	if err != nil {
		t.Fatal(err)
	}
	defer rollouts.Close()
	const (
		head     = 16 << 10 // of a file, which says what it is
		calls    = 4
		perFile  = 60
		perHit   = 12
		perCount = 10
	)
	for word, least := range map[string]int{"xqzzyv": 0, "some more than there is": 0, "please look": sessions, "agent answers": sessions * records} {
		most := 0
		for _, s := range []store.Store{claude, rollouts} {
			var list []query.Source
			size := int64(0)
			for source, err := range query.Sources(s, s.Sessions(t.Context())) {
				if err != nil {
					t.Fatal(err)
				}
				list, size = append(list, source), size+source.Size
			}
			for counts, perText := range map[bool]int{false: perHit, true: perCount} {
				found := 0
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				n, done := countReads(t, func() {
					search := query.HomeSearch{Search: query.Search{Pattern: query.Literal(word, query.SmartCase)}, Counts: counts}
					for hit, err := range query.SearchHome(t.Context(), yieldSources(list, nil), search) {
						if err := errors.Join(err, hit.Err); err != nil {
							t.Fatal(err)
						}
						found += 1 + hit.More
					}
				})
				runtime.ReadMemStats(&after)
				made := after.Mallocs - before.Mallocs
				if n > size+sessions*head || done > sessions*calls || made > uint64(sessions*perFile+found*perText) {
					t.Errorf("%s, %d times in %d bytes of %s: %d bytes were read in %d calls, %d allocations", word, found, size, s.Address(), n, done, made)
				}
				most = max(most, found)
			}
		}
		if most < least || least == 0 && most > 0 {
			t.Errorf("%s was found %d times, want %d", word, most, least)
		}
	}
}
