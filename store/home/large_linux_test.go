package home_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/skip"
)

// largeHome makes a home folder of many sessions: it copies those in testdata, each with its own ids and times.
type largeHome struct {
	dir                           string
	claude, codex, opencode, runs int
}

// written is when the newest session changed; the others changed a minute before each other.
var written = time.Date(2025, 11, 20, 12, 0, 0, 0, time.UTC)

// uuids finds the ids in a transcript. The first 8 digits are those of the copy.
var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// copyTranscripts writes copies of the transcripts that match a pattern below testdata, each to the folder of its number.
func (h *largeHome) copyTranscripts(tb testing.TB, pattern string, copies int, dirOf func(n int) string) {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", filepath.FromSlash(pattern)))
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.Contains(filepath.Base(path), "_") }) // parts of others
	if err != nil || len(paths) == 0 {
		tb.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	for n := range copies {
		path := paths[n%len(paths)]
		text, err := os.ReadFile(path)
		id, name, changed := fmt.Sprintf("%08x", n), []byte(filepath.Base(path)), written.Add(-time.Duration(n)*time.Minute)
		for _, part := range [][]byte{text, name} {
			for _, at := range uuids.FindAllIndex(part, -1) {
				copy(part[at[0]:], id)
			}
		}
		dir := filepath.Join(h.dir, dirOf(n))
		to := filepath.Join(dir, string(name))
		if err := errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(to, text, 0o600), os.Chtimes(to, changed, changed)); err != nil {
			tb.Fatal(err)
		}
	}
}

// copyRows makes a database of one in testdata, and copies the rows of tables, with other ids in some columns, until the
// first table has so many.
func (h *largeHome) copyRows(tb testing.TB, from, to string, rows int, tables ...[]string) {
	tb.Helper()
	if rows == 0 {
		return
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", filepath.FromSlash(from)))
	path := filepath.Join(h.dir, filepath.FromSlash(to))
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		tb.Fatal(err)
	}
	file := sqlitefile.NewOwn(path, "&_pragma=synchronous(0)", nil)
	err = file.Write(tb.Context(), func(tx *sqlitefile.Tx) error {
		has := 1
		if err := tx.Row(tb.Context(), "SELECT count(*) FROM "+tables[0][0]).Scan(&has); err != nil {
			return err
		}
		for _, t := range tables {
			columns, err := tx.Columns(tb.Context(), t[0])
			if err != nil {
				return err
			}
			names := slices.Sorted(maps.Keys(columns))
			values := slices.Clone(names)
			for i, name := range names {
				if values[i] = "t." + name; slices.Contains(t[1:], name) {
					values[i] += " || '-' || n.i"
				}
			}
			if _, err := tx.Exec(tb.Context(), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO "+t[0]+" ("+strings.Join(names, ", ")+
				") SELECT "+strings.Join(values, ", ")+" FROM "+t[0]+" t, n", max(rows/has-1, 1)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, file.Close(), os.Chtimes(path, written, written)); err != nil {
		tb.Fatal(err)
	}
}

// make writes the home.
func (h *largeHome) make(tb testing.TB) {
	tb.Helper()
	const together = 100 // sessions of a project, and of a day
	if err := os.MkdirAll(filepath.Join(h.dir, "work"), 0o700); err != nil {
		tb.Fatal(err)
	}
	h.copyTranscripts(tb, "coding/claude-code/projects/-home-demo/*-*-*-*-*.jsonl", h.claude, func(n int) string {
		return fmt.Sprintf(".claude/projects/-home-demo-%d", n/together)
	})
	h.copyTranscripts(tb, "coding/codex/sessions/2026/11/22/*.jsonl", h.codex, func(n int) string {
		return fmt.Sprintf(".codex/sessions/2026/%02d/%02d", n/together/28%12+1, n/together%28+1)
	})
	h.copyRows(tb, "coding/opencode/opencode.db", ".local/share/opencode/opencode.db", h.opencode,
		[]string{"session", "id", "parent_id"}, []string{"message", "id", "session_id"}, []string{"part", "id", "message_id", "session_id"})
	h.copyRows(tb, "langgraph/agent.db", "work/agent.db", h.runs, []string{"checkpoints", "thread_id"}, []string{"writes", "thread_id"})
}

// cost counts the bytes that a list reads, its calls of read, the bytes that it allocates, and its processor time.
type cost struct {
	bytes, calls, allocated int
	cpu                     time.Duration
}

// without returns what c took above another cost.
func (c cost) without(other cost) cost {
	return cost{c.bytes - other.bytes, c.calls - other.calls, c.allocated - other.allocated, c.cpu - other.cpu}
}

// costNow returns what this process took so far.
func costNow(tb testing.TB) (c cost) {
	tb.Helper()
	text, err := os.ReadFile("/proc/self/io")
	var usage syscall.Rusage
	var memory runtime.MemStats
	var chars int
	runtime.ReadMemStats(&memory)
	if err := errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &usage)); err != nil {
		tb.Fatal(err)
	}
	if _, err := fmt.Fscanf(bytes.NewReader(text), "rchar: %d\nwchar: %d\nsyscr: %d\n", &c.bytes, &chars, &c.calls); err != nil {
		tb.Fatal(err)
	}
	c.allocated = int(memory.TotalAlloc)
	c.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return c
}

// list lists the sessions of the home, opened anew, and returns what that took.
func (h *largeHome) list(tb testing.TB, cache string) (all map[string]string, took cost) {
	tb.Helper()
	m := machine.Machine{Home: h.dir, Work: filepath.Join(h.dir, "work")}
	before := costNow(tb)
	all = map[string]string{}
	of := home.New(kinds.All(files.NewCache(cache), ""), home.Places{Around: m.Surroundings(), Below: []string{m.Work}})
	for s, err := range of.Sessions(tb.Context()) {
		if err = errors.Join(err, s.Err); err != nil {
			tb.Fatal(err)
		}
		all[s.Kind+" "+s.ID] = fmt.Sprintf("%+v", s.SessionInfo)
	}
	if err := of.Close(); err != nil {
		tb.Fatal(err)
	}
	after := costNow(tb)
	return all, after.without(before)
}

// listOften lists the sessions some times, each with the notes in a folder, and returns the least that it took: goroutines
// that run at once allocate more or less.
func (h *largeHome) listOften(tb testing.TB, cache func() string) (all map[string]string, least cost) {
	tb.Helper()
	all, least = h.list(tb, cache())
	for range 3 {
		_, took := h.list(tb, cache())
		least = cost{min(least.bytes, took.bytes), min(least.calls, took.calls), min(least.allocated, took.allocated), min(least.cpu, took.cpu)}
	}
	return all, least
}

// A list reads each small session once, and of a database no overflowing value. Again it reads notes alone, but for a
// small database. For each byte that it reads it allocates about 4 of Claude Code, 2 of Codex and 1 of LangGraph. What the
// list of an empty home takes grows with kinds, and is no part of that.
func TestHome_readsWhatItsListNeeds(t *testing.T) {
	skip.Counting(t)
	for name, c := range map[string]struct {
		home largeHome
		// sessions is how many are listed; bytes, calls and allocated are at most so many for each, first and again.
		sessions                               int
		bytes, calls, allocated                int
		bytesAgain, callsAgain, allocatedAgain int
	}{
		"Claude Code": {largeHome{claude: 300}, 300, 26_000, 3, 105_000, 900, 1, 8_800},
		"Codex":       {largeHome{codex: 300}, 300, 40_000, 4, 92_000, 450, 1, 9_000},
		"opencode":    {largeHome{opencode: 148}, 148, 29_000, 28, 225_000, 29_000, 28, 225_000}, // it keeps no notes of a database
		"LangGraph":   {largeHome{runs: 2_000}, 120, 56_000, 15, 56_000, 1_000, 1, 4_500},
	} {
		t.Run(name, func(t *testing.T) {
			h := c.home
			h.dir = t.TempDir()
			h.make(t)
			none := largeHome{dir: t.TempDir()}
			none.make(t)
			list, first := h.listOften(t, t.TempDir)
			cache := t.TempDir()
			h.list(t, cache)
			same, again := h.listOften(t, func() string { return cache })
			_, empty := none.listOften(t, t.TempDir)
			first, again = first.without(empty), again.without(empty)
			if len(list) != c.sessions || !reflect.DeepEqual(list, same) {
				t.Errorf("%d sessions were listed, and %d again, want %d", len(list), len(same), c.sessions)
			}
			for _, f := range []struct {
				what      string
				got, most int
			}{{"bytes", first.bytes, c.bytes}, {"reads", first.calls, c.calls}, {"bytes allocated", first.allocated, c.allocated},
				{"bytes again", again.bytes, c.bytesAgain}, {"reads again", again.calls, c.callsAgain}, {"bytes allocated again", again.allocated, c.allocatedAgain},
			} {
				if f.got > f.most*c.sessions {
					t.Errorf("%s: %d for each of %d sessions, want at most %d", f.what, f.got/c.sessions, c.sessions, f.most)
				}
			}
		})
	}
}

// What the list of a home takes is told as a multiple of ls -lAR. With HINDCAST_LARGE_HOME, an empty folder, the home is
// that of the figures: in it "hindcast sessions --json" takes 5.9 s of processor time and 145 MB with an empty cache, and
// 0.52 s and 103 MB with a warm one, on two cores that other work keeps busy.
func TestHome_takesSoManyTimesLs(t *testing.T) {
	h := largeHome{t.TempDir(), 12, 12, 8, 60}
	if dir := os.Getenv("HINDCAST_LARGE_HOME"); dir != "" {
		h = largeHome{dir, 10_000, 10_000, 5_000, 100_000}
	}
	h.make(t)
	ls := exec.CommandContext(t.Context(), "ls", "-lAR", h.dir)
	if err := ls.Run(); err != nil {
		t.Fatal(err)
	}
	of, cache := ls.ProcessState.UserTime()+ls.ProcessState.SystemTime(), t.TempDir()
	for _, when := range []string{"first", "again"} {
		list, took := h.list(t, cache)
		t.Logf("%s: %d sessions, %+v, %.1f times ls -lAR, which takes %v", when, len(list), took, float64(took.cpu)/float64(of), of)
	}
}
