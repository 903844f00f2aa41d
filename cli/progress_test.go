package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/cli"
	"hindcast/store"
	"hindcast/store/kinds/jsonl"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// importing is a command line with a portable file of so many snapshots.
func importing(t *testing.T, snapshots int) (c *session, dir string) {
	c, dir = start(t, sample.Rows()), t.TempDir()
	c.Create = func(ctx context.Context, path string) (store.Store, error) { return sqlite.Create(ctx, path) }
	f, err := os.Create(filepath.Join(dir, "rows.jsonl"))
	if err == nil {
		_, err = jsonl.Write(f, storetest.Grow("s", snapshots, 40))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// TestImport_showsHowFarItIs on a terminal, in a line that goes before the answer, and
// nowhere else.
func TestImport_showsHowFarItIs(t *testing.T) {
	skip.Sequential(t)
	c, dir := importing(t, 12_000)
	for i, terminal := range []bool{false, true} {
		c.ErrTerminal = terminal
		code, out, shown := c.run(t, "import", filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, []string{"a.db", "b.db"}[i]))
		if code != 0 || !strings.HasPrefix(out, "imported 12000 snapshots of 1 session, 12000 new, to ") {
			t.Fatalf("exit %d, %q %q", code, out, shown)
		}
		if !terminal && shown != "" {
			t.Errorf("no terminal is shown %q", shown)
		}
		if terminal {
			lines := strings.Split(shown, "\r")
			if len(lines) != 5 || !strings.HasPrefix(lines[1], "5000 snapshots of 1 session, 178.9 kB") || !strings.HasPrefix(lines[2], "10000 snapshots") {
				t.Errorf("a terminal is shown %q", shown)
			}
			if strings.TrimSpace(lines[3]) != "" || len(lines[3]) != len(lines[2]) || lines[4] != "" {
				t.Errorf("the line stays: %q", lines[2:])
			}
		}
	}
}

// A report shows it, too.
func TestReport_showsHowFarItIs(t *testing.T) {
	skip.Sequential(t)
	c, dir := start(t, storetest.Grow("s", 6_000, 40)), t.TempDir()
	for i, terminal := range []bool{false, true} {
		c.ErrTerminal = terminal
		code, _, shown := c.run(t, "report", "mem:x", "s", "-o", filepath.Join(dir, []string{"a.html", "b.html"}[i]))
		if code != 0 || terminal != strings.HasPrefix(shown, "\rread 1 of 6000 snapshots\r") || terminal != strings.Contains(shown, "\rwrite 6000 of 6000 snapshots\r  ") {
			t.Errorf("exit %d: a terminal %t is shown %q", code, terminal, shown)
		}
	}
}

// An export shows it where the rows go into a file, or through a pipe.
func TestExport_showsHowFarItIs(t *testing.T) {
	skip.Sequential(t)
	c, dir := start(t, storetest.Grow("s", 12_000, 40)), t.TempDir()
	for i, out := range []bool{false, true} {
		c.ErrTerminal, c.OutTerminal = true, out
		code, _, shown := c.run(t, "export", "mem:x", "-o", filepath.Join(dir, []string{"a", "b"}[i]))
		if code != 0 || !strings.HasPrefix(shown, "\r5000 snapshots of 1 session") || !strings.HasSuffix(shown, "\r") {
			t.Errorf("exit %d, %q", code, shown)
		}
		code, text, shown := c.run(t, "export", "mem:x")
		if code != 0 || strings.Count(text, "\n") != 12_000 || (shown == "") != out {
			t.Errorf("exit %d, %d lines, shown is %q where the output is a terminal: %t", code, strings.Count(text, "\n"), shown, out)
		}
	}
}

// TestImport_cancelledWritesNothing: neither into a store that is there nor beside it, and
// where none is nothing is made.
func TestImport_cancelledWritesNothing(t *testing.T) {
	skip.Sequential(t)
	for _, there := range []bool{false, true} {
		c, dir := importing(t, 12_000)
		to := filepath.Join(dir, "to.db")
		var before []byte
		if there {
			s, err := sqlite.Create(t.Context(), to)
			if err == nil {
				_, err = s.Import(t.Context(), sample.Rows())
			}
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			before, _ = os.ReadFile(to)
			c.Kinds = store.Kinds{sqlite.Kind()}
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.ErrTerminal, c.Err = true, writing(func() { cancel() })
		if code := cli.Run(ctx, c.App, []string{"import", filepath.Join(dir, "rows.jsonl"), to}); code != 1 {
			t.Errorf("exit %d", code)
		}
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 1, true: 2}[there]; len(left) != want {
			t.Errorf("in the folder are %v", left)
		}
		if now, _ := os.ReadFile(to); string(now) != string(before) {
			t.Error("the store is another")
		}
	}
}

// writing is run by each write.
type writing func()

func (w writing) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// TestFind_showsHowFarItIs on a terminal, in a line that goes before the answer.
func TestFind_showsHowFarItIs(t *testing.T) {
	c := start(t, storetest.Grow("s", 600, 40))
	for _, terminal := range []bool{false, true} {
		c.ErrTerminal = terminal
		code, out, shown := c.run(t, "find", "mem:", "s", "(.. | numbers) == -1")
		if code != 1 || out != "" {
			t.Fatalf("exit %d, %q %q", code, out, shown)
		}
		if !terminal && strings.Contains(shown, "\r") {
			t.Errorf("no terminal is shown %q", shown)
		}
		if lines := strings.Split(shown, "\r"); terminal && (len(lines) != 5 || lines[1] != "256 of 600 snapshots" || lines[2] != "512 of 600 snapshots" || strings.TrimSpace(lines[3]) != "" || !strings.HasPrefix(lines[4], "hindcast: find: ")) {
			t.Errorf("a terminal is shown %q", lines)
		}
	}
}
