//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"hindcast/store/storetest/program"
)

// The plain screen is told to a terminal that prints line by line: nothing in it moves a cursor, draws a frame or
// has a colour, and all that a person must know of a restore is in its lines.
func TestPlain_tellsTheScreenInLines(t *testing.T) {
	dir := t.TempDir()
	shell(t, dir, "hindcast demo")
	cmd := exec.CommandContext(t.Context(), "hindcast", "--plain", "hindcast-demo.db")
	cmd.Dir = dir
	cmd.Env, cmd.WaitDelay = append(os.Environ(), program.Env(dir)...), time.Second
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shown := make(chan []byte)
	go func() {
		defer close(shown)
		for {
			some := make([]byte, 4096)
			n, err := terminal.Read(some)
			if shown <- some[:n]; err != nil {
				return
			}
		}
	}()
	var all bytes.Buffer
	from := 0
	wait := func(want string) {
		t.Helper()
		for late := time.After(60 * time.Second); !strings.Contains(all.String()[from:], want); {
			select {
			case some, ok := <-shown:
				if all.Write(some); !ok {
					t.Fatalf("it ended without %q:\n%s", want, all.String()[from:])
				}
			case <-late:
				t.Fatalf("it does not say %q:\n%s", want, all.String()[from:])
			}
		}
		from += strings.Index(all.String()[from:], want) + len(want)
	}
	for _, step := range []struct {
		line  string
		wants []string
	}{
		{"", []string{"Type a word", "Sessions\r\n", "trip-planner"}},
		{"open", []string{"Timeline of trip-planner\r\n", "13, done"}},
		{"step-back", []string{"12.2 end"}},
		{"read", []string{"1. ", "left by a restore to #5", "Everything is cancelled", "off the path"}},
		{"messages", []string{"Messages of snapshot #12.2\r\n", "You leave at 10:40"}},
		{"diff", []string{"Diff of snapshot #12.2\r\n", "You leave at 10:40"}},
		{"back", []string{"Timeline of trip-planner\r\n", "12.2 end"}},
		{"nosuch", []string{`"nosuch" is no word here`}},
		{"restore", []string{"restore trip-planner to #12.2\r\n", "head #13 -> #12.2", "leaves, 1 snapshot"}},
		{"no", []string{"Timeline of trip-planner\r\n"}},
		{"restore", []string{"restore trip-planner to #12.2\r\n", "read the plan"}},
		{"yes", []string{"ok at #12.2"}},
		{"undo", []string{"undo write 1 on trip-planner\r\n"}},
		{"yes", []string{"ok undone: at #13"}},
		{"fork", []string{"new session, trip-planner-fork"}},
		{"mine", []string{"fork trip-planner from #13 as mine\r\n"}},
		{"no", []string{"nothing was changed"}},
		{"yank", []string{"1. i, copy id"}},
		{"esc", []string{"Timeline of trip-planner\r\n"}},
		{"continue", []string{"5. Claude Code"}},
		{"esc", []string{"Timeline of trip-planner\r\n"}},
		{"yank", []string{"6. s, share without secrets"}},
		{"6", []string{"1. s, share session"}},
		{"esc", []string{"Timeline of trip-planner\r\n"}},
		{"search Bellecour", []string{`"Bellecour": match`}},
		{"quit", nil},
	} {
		if step.line != "" {
			if _, err := io.WriteString(terminal, step.line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range step.wants {
			wait(want)
		}
	}
	for some := range shown {
		all.Write(some)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, drawn := range []string{"\x1b", "\b", "─", "│", "┌", "⸽"} {
		if at := strings.Index(all.String(), drawn); at >= 0 {
			t.Errorf("it writes %q: %q", drawn, all.String()[max(0, at-40):at+len(drawn)])
		}
	}
}
