// Package program builds Hindcast as it is shipped, for tests that run it as a
// process of its own.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hindcast/store/storetest/skip"
)

// dir is where Main lets the program be built.
var dir string

// Main runs the tests of a package, any of which may call Path, and returns the exit
// code.
func Main(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "hindcast-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// Release returns the command that builds the program as it is shipped: without C, so that
// it needs no library to start, without what only a debugger reads, and without HTTP/2, which
// no server that it talks to needs. What waits for a network or a person anyway, and what
// enciphers, is compiled small.
func Release() (env, command []string) {
	command = []string{"go", "build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s -w"}
	for _, packages := range []string{"...aws...", "...pgx...", "net/...", "crypto/...", "...golang.org/x/...",
		"...modelcontextprotocol...", "...BurntSushi...", "...charmbracelet...", "hindcast/cli/...", "hindcast/redact/...", "hindcast/report/...", "hindcast/tui/...",
		"hindcast/store/keep/...", "hindcast/store/kinds/..."} {
		command = append(command, "-gcflags="+packages+"=-l")
	}
	return []string{"CGO_ENABLED=0"}, command
}

// built is a program that is built once for all tests of a process.
type built struct {
	once sync.Once
	err  error
}

var plain, released built

// Path returns the path of the program, built with the flags of the tests: what they compiled
// is not compiled again. The tests run below Main. Beside the race detector, a test that calls Path is skipped.
func Path(tb testing.TB) string {
	tb.Helper()
	skip.Process(tb)
	return plain.path(tb, "hindcast", nil, []string{"go", "build"})
}

// Released returns the path of the program as it is shipped, for what measures it. It takes
// minutes where none of it is compiled.
func Released(tb testing.TB) string {
	tb.Helper()
	env, command := Release()
	return released.path(tb, filepath.Join("released", "hindcast"), env, command)
}

func (b *built) path(tb testing.TB, name string, env, command []string) string {
	tb.Helper()
	name = filepath.Join(dir, name)
	b.once.Do(func() {
		cmd := exec.CommandContext(tb.Context(), command[0], append(command[1:], "-buildvcs=false", "-o", name, "hindcast")...)
		cmd.Env, cmd.WaitDelay = append(os.Environ(), env...), time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("go build: %w: %s", err, out)
		}
	})
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return name
}

// Env returns the environment in which the program prints the same on every machine:
// no store in the usual places, one time zone, one locale. Under the race detector a
// program sleeps for a second before it ends, unless told otherwise.
func Env(home string) []string {
	return []string{
		"HOME=" + home, "TMPDIR=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, ".data"), "HINDCAST_CACHE=" + filepath.Join(home, ".cache"), "TZ=UTC", "LC_ALL=C.UTF-8",
		"NO_COLOR=", "HINDCAST_THEME=", "HINDCAST_PAGER=", "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0",
	}
}
