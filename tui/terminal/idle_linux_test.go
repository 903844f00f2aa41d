package terminal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"hindcast/store/storetest"
	"hindcast/store/storetest/program"
)

// sessions are what the list says that it has.
var sessions = regexp.MustCompile(`\d+ (sessions|threads)`)

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
			sleeps(t, term.cmd.Process.Pid, 4*time.Second)
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

// sleeps waits until no thread of a program has stopped to wait for so long.
func sleeps(tb testing.TB, pid int, window time.Duration) {
	tb.Helper()
	last := stops(tb, pid)
	for deadline := time.Now().Add(40 * time.Second); ; {
		time.Sleep(window)
		now := stops(tb, pid)
		if now == last {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("in %v it was woken %d times", window, now-last)
		}
		last = now
	}
}

// stops returns how often a thread of a program has stopped to wait for something.
func stops(tb testing.TB, pid int) (sum int) {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(threads) == 0 {
		tb.Fatalf("the program has no threads: %v", err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		sum += number(tb, string(status), "\nvoluntary_ctxt_switches:")
	}
	return sum
}

// bytesRead returns how many bytes a program has read so far, from whatever files.
func bytesRead(tb testing.TB, pid int) int {
	tb.Helper()
	counts, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		tb.Fatal(err)
	}
	return number(tb, string(counts), "rchar:")
}

// number returns the one that stands behind words in a text.
func number(tb testing.TB, text, words string) (n int) {
	tb.Helper()
	_, rest, _ := strings.Cut(text, words)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		tb.Fatalf("no number behind %q: %v", words, err)
	}
	return n
}

// In a home with many sessions the first frame is painted before a byte of them is read, and until all are listed
// no more is read than they have. The terminal takes so many cells that a frame fills what lies between the
// two: the program cannot go on before the test reads what it painted.
func TestTerminal_paintsBeforeItReads(t *testing.T) {
	many := 2_000
	if os.Getenv("HINDCAST_FULL") != "" {
		many = 10_000
	}
	atFrame := map[int]int{}
	for _, sessions := range []int{0, many} {
		home := t.TempDir()
		claudeSessions(t, home, sessions)
		cmd := exec.CommandContext(t.Context(), program.Path(t))
		cmd.Dir, cmd.Env = home, append(os.Environ(), program.Env(home)...)
		// Go reads the limits of its processors now and then, if it is let.
		cmd.Env = append(cmd.Env, "GODEBUG=updatemaxprocs=0")
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 1000, Rows: 300})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			tty.Close()
			cmd.Process.Kill()
			cmd.Wait()
		})
		var painted strings.Builder
		until := func(words string) {
			t.Helper()
			if err := tty.SetReadDeadline(time.Now().Add(40 * time.Second)); err != nil {
				t.Fatal(err)
			}
			for buf := make([]byte, 4096); !strings.Contains(painted.String(), words); {
				n, err := tty.Read(buf)
				painted.Write(buf[:n])
				if err != nil {
					t.Fatalf("%q is not painted: %v", words, err)
				}
			}
			sleeps(t, cmd.Process.Pid, time.Second/2)
		}
		until(" hindcast ")
		atFrame[sessions] = bytesRead(t, cmd.Process.Pid)
		if sessions == 0 {
			continue
		}
		until(fmt.Sprintf("%d,000 in 1 store", many/1000))
		const inSight = 300
		// A session has 8.7 kB, and the list reads it once. The sums read the sessions in sight twice. To open these, the
		// kind reads the first 48 kB of the other sessions of their projects, which is all of them here.
		most := 2 * (many + inSight) * 8_800
		listed := bytesRead(t, cmd.Process.Pid) - atFrame[sessions]
		t.Logf("%d bytes are read to list %d sessions", listed, sessions)
		if listed == 0 || listed > most {
			t.Errorf("to list the sessions %d bytes are read, more than %d", listed, most)
		}
	}
	if atFrame[0] != atFrame[many] {
		t.Errorf("before the first frame %d bytes are read where there are sessions, %d where there are none", atFrame[many], atFrame[0])
	}
}

// claudeSessions makes sessions of Claude Code in a home, of 8 kB each.
func claudeSessions(tb testing.TB, home string, n int) {
	tb.Helper()
	for i := range n {
		dir := filepath.Join(home, ".claude", "projects", fmt.Sprintf("-home-u-project-%d", i%50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		var b strings.Builder
		id, parent := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), "null"
		for k := range 2 {
			uuid := fmt.Sprintf("%08d-0000-4000-8000-%012d", i, k+1)
			fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/u/project","sessionId":%q,"version":"2.0.14","type":"user","message":{"role":"user","content":"a question of session %d %s"},"uuid":%q,"timestamp":"2026-11-01T10:00:00.000Z"}`+"\n",
				parent, id, i, strings.Repeat("x", 4000), uuid)
			parent = strconv.Quote(uuid)
		}
		file, old := filepath.Join(dir, id+".jsonl"), time.Now().Add(-time.Hour) // nothing is noted of a file that may still grow
		if err := errors.Join(os.WriteFile(file, []byte(b.String()), 0o644), os.Chtimes(file, old, old)); err != nil {
			tb.Fatal(err)
		}
	}
}
