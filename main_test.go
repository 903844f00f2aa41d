package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hindcast/store/files"
	_ "hindcast/tui/screentest" // brings the flag -update along
)

// updating reports whether the scripts and the pages of prose are to be rewritten.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// The commands that scripts and the README run are this test binary itself,
// started again as the program.
func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){"hindcast": main})
}

// tidy keeps the tests out of the folders of whoever runs them, and takes away
// what they share when all have run.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	os.Setenv("HINDCAST_CACHE", "off") // what the tests read is nothing to remember
	code := m.M.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	return code
}

// shared is the program as it is shipped, built once for all tests.
var shared struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the path of the program as it is shipped.
func program(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "hindcast-test-"); shared.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", shared.dir, ".").CombinedOutput()
		if err != nil {
			shared.err = fmt.Errorf("go build: %w: %s", err, out)
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return filepath.Join(shared.dir, "hindcast")
}

// quietly is the environment in which output is the same on every machine:
// no store in the usual places, one time zone, one locale. Under the race
// detector a program sleeps for a second before it ends, if it is not told
// otherwise.
func quietly(home string) []string {
	return []string{
		"HOME=" + home, "TMPDIR=" + home, "XDG_CONFIG_HOME=" + home, "HINDCAST_CACHE=" + filepath.Join(home, ".cache"), "TZ=UTC", "LC_ALL=C.UTF-8",
		"NO_COLOR=", "HINDCAST_THEME=", "HINDCAST_PAGER=", "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0",
	}
}

func TestShelf(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]*files.Shelf{
		"": files.NewShelf(filepath.Join(cache, "hindcast")), other: files.NewShelf(other), "off": nil,
	} {
		t.Setenv("HINDCAST_CACHE", value)
		if got := shelf(); !reflect.DeepEqual(got, want) {
			t.Errorf("with HINDCAST_CACHE=%s it is %+v, and not %+v", value, got, want)
		}
	}
}

func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: updating(),
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, quietly(env.Getenv("WORK"))...)
			env.Setenv("FIXTURES", fixtures)
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Getuid() == 0, nil
			}
			return false, errors.New("no such condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "serve": serveStores},
	})
}

// exitCode is the script command `code N command…`: the command must end with
// that exit code.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
