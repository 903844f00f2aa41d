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
// it needs no library to start, and without what only a debugger reads.
func Release() (env, command []string) {
	return []string{"CGO_ENABLED=0"}, []string{"go", "build", "-trimpath", "-ldflags=-s -w"}
}

// build builds the program once.
var build = sync.OnceValue(func() error {
	env, command := Release()
	cmd := exec.Command(command[0], append(command[1:], "-buildvcs=false", "-o", dir, "hindcast")...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
})

// Path returns the path of the program. The tests run below Main.
func Path(tb testing.TB) string {
	tb.Helper()
	if err := build(); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "hindcast")
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
