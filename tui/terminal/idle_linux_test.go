package terminal_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
)

// sessions are what the list says that it has.
var sessions = regexp.MustCompile(`\d+ sessions`)

// While nothing moves, nothing runs: for four seconds no thread of the program stops to wait, as
// each does after it was woken. Then what another process writes wakes it, is shown. A timer of half a second would wake it eight times.
func TestTerminal_sleepsWhileNothingMoves(t *testing.T) {
	fixtures, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	demo := func(t *testing.T) string { return filepath.Join(demoStore(t), "hindcast-demo.db") }
	copied := func(name ...string) func(t *testing.T) string {
		return func(t *testing.T) string {
			return storetest.Copy(t, filepath.Join(append([]string{fixtures}, name...)...))
		}
	}
	for name, c := range map[string]struct {
		store func(t *testing.T) string
		fork  []string // what is forked
	}{
		"a SQLite file of Hindcast":        {demo, []string{"trip-planner", "#5", "--as", "another"}},
		"a SQLite file of another program": {copied("langgraph", "agent.db"), []string{"tour", "#2", "--as", "another"}},
		"files in folders":                 {copied("strands", "python-file"), []string{"bytes", "#3", "--as", "another"}},
		"files of a coding agent":          {copied("coding", "claude-code"), []string{"b58a5d13-7517-4bb3-9c99-e62cde19c103", "head"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.store(t)
			long := time.Now().Add(-time.Hour)
			err := filepath.WalkDir(path, func(file string, _ fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Chtimes(file, long, long) // a write a moment ago may have echoes
			})
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			term := on(t, 100, 30, home, nil, path)
			term.until(t, "a list", sessions.MatchString)
			term.sleeps(t)
			before := sessions.FindString(term.shown())
			cmd := exec.CommandContext(t.Context(), program.Path(t), append([]string{"fork", path, "--yes"}, c.fork...)...)
			cmd.Env = append(os.Environ(), program.Env(home)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			term.until(t, "one session more than "+before, func(screen string) bool {
				now := sessions.FindString(screen)
				return now != "" && now != before
			})
		})
	}
}

// sleeps waits until no thread of the program has stopped to wait for four seconds.
func (t *terminal) sleeps(tb testing.TB) {
	tb.Helper()
	const window = 4 * time.Second
	last, lines := t.stops(tb), len(t.written())
	for deadline := time.Now().Add(40 * time.Second); ; {
		time.Sleep(window)
		now := t.stops(tb)
		if now == last {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("in %v it was woken %d times, and wrote %d bytes", window, now-last, len(t.written())-lines)
		}
		last, lines = now, len(t.written())
	}
}

// stops returns how often a thread of the program has stopped to wait for something.
func (t *terminal) stops(tb testing.TB) (sum int) {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", t.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		tb.Fatalf("the program has no threads: %v", err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		n := 0
		if _, err := fmt.Sscan(rest, &n); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		sum += n
	}
	return sum
}
