//go:build unix

package cli_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hindcast/cli"
	"hindcast/store/sample"
	"hindcast/store/storetest/skip"
)

// A search that is interrupted leaves no process behind, also none that its test started. Each
// of them has the pipe open: at its end all are gone.
func TestBisect_leavesNothingBehind(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		skip.Missing(t, "there are no pipes: %v", err)
	}
	c := start(t, sample.Rows())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int)
	go func() {
		code <- cli.Run(ctx, c.App, []string{"bisect", "mem:", "trip-planner", "--good", "3", "--", "sh", "-c", `exec 3>"$0"; sleep 1000 & echo ready >&3; wait`, pipe})
	}()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	cancel()
	if got := <-code; got != 1 || !strings.Contains(c.err.String(), "context canceled") {
		t.Errorf("exit %d, %q", got, c.err.String())
	}
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

// What a test prints is not shown but for the last line of its errors, in which nothing is
// obeyed by a terminal; and the state is on its standard input alone.
func TestBisect_showsNothingThatATerminalObeys(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		c := start(t, hostile())
		c.OutTerminal, c.ErrTerminal = terminal, terminal
		var session string
		for info := range c.store.Sessions(t.Context()) {
			session = info.ID
		}
		for script, want := range map[string]int{"cat; cat >&2; exit 1": 0, `cat >&2; printf 'a\033[2Jb' >&2; exit 1`: 0, `printf 'x\033[2J\n\033]52;c;aGk=\a' >&2; exit 200`: 1, "exec 0<&-; exit 1": 0} {
			code, out, err := c.run(t, "bisect", "mem:", session, "--good", "0", "--", "sh", "-c", script)
			if code != want {
				t.Errorf("%s: exit %d, %q", script, code, err)
			}
			for _, text := range []string{out, err} {
				if strings.ContainsAny(ours.ReplaceAllString(text, ""), "\x1b\x07\u009b\u202e\u200b\r") {
					t.Errorf("%s: %q", script, text)
				}
			}
		}
	}
}
