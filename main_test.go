package main

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hindcast/agent/serve"
	"hindcast/cli"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/files"
	"hindcast/store/native/sqlite"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/machine"
	"hindcast/store/storetest/program"
	"hindcast/store/storetest/skip"
	"hindcast/tui/quiet"
	_ "hindcast/tui/screentest" // brings the flag -update along
)

// updating reports whether the scripts and the pages of prose are to be rewritten.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// The commands that scripts and the README run are this test binary itself,
// started again as the program.
func TestMain(m *testing.M) {
	quiet.Restore()
	testscript.Main(m, map[string]func(){"hindcast": main})
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
	for value, want := range map[string]*files.Cache{
		"": files.NewCache(filepath.Join(cache, "hindcast")), other: files.NewCache(other), "off": nil,
	} {
		t.Setenv("HINDCAST_CACHE", value)
		if got := keptNotes(); !reflect.DeepEqual(got, want) {
			t.Errorf("with HINDCAST_CACHE=%s it is %+v, and not %+v", value, got, want)
		}
	}
}

// A released program has 41 MB at most, as the README says, on the system where it is largest,
// too. To compile it takes minutes, so only CI asks for its size.
func TestProgram_isSmall(t *testing.T) {
	if os.Getenv(skip.All) == "" {
		t.Skip(skip.All + " asks for the size of the program")
	}
	env, command := program.Release()
	for _, system := range []string{runtime.GOOS, "windows"} {
		name := filepath.Join(t.TempDir(), "hindcast")
		build := exec.CommandContext(t.Context(), command[0], append(command[1:], "-o", name, ".")...)
		build.Env, build.WaitDelay = append(append(os.Environ(), env...), "GOOS="+system), time.Second
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build for %s: %v\n%s", system, err, out)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		const most = 41_000_000
		if info.Size() > most {
			t.Errorf("the program has %d bytes for %s, more than %d", info.Size(), system, most)
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
			env.Vars = append(env.Vars, program.Env(env.Getenv("WORK"))...)
			env.Setenv("FIXTURES", fixtures)
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition == "root" {
				return os.Getuid() == 0, nil
			}
			return false, errors.New("no such condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": exitCode, "serve": serveStores, "machine": layMachine},
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

// serveStores is the script command `serve AGENT…`: until the script ends it shows
// the demo as the sessions of each agent, at $URL.
func serveStores(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve agent...")
	}
	server, err := demoServer(context.Background(), args...)
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Setenv("URL", server.URL)
}

// layMachine is the script command `machine HOME WORK`: it lays stores of many kinds out below both folders, as their
// tools keep them.
func layMachine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: machine home work")
	}
	ts.Check(machine.LayCounted("testdata", machine.Machine{Home: ts.MkAbs(args[0]), Work: ts.MkAbs(args[1])}))
}

// demoServer shows the demo as the sessions of each agent.
func demoServer(ctx context.Context, names ...string) (*httptest.Server, error) {
	agents := make([]serve.Agent, len(names))
	for i, name := range names {
		s := fake.New()
		if _, err := s.Import(ctx, sample.Rows()); err != nil {
			return nil, err
		}
		agents[i] = serve.Agent{Name: name, Store: s}
	}
	h, err := serve.New(agents)
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(h), nil
}

// What the screen shares of a session has no secret in it, is a page or a portable file, and
// never takes the place of a file.
func TestScreen_shares(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	db := filepath.Join(dir, "secret.db")
	s, err := sqlite.Create(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	state := []byte(`{"messages":[{"role":"user","content":[{"text":"the key is ` + secret + `"}]}]}`)
	row := store.Row{State: state, Header: model.Header{ID: model.SnapshotID(state), SessionID: "s", Visit: 1, Head: true}}
	_, err = s.Import(t.Context(), func(yield func(store.Row, error) bool) { yield(row, nil) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	a := app()
	a.OutTerminal, a.Out, a.Err = true, &printed, &printed
	a.Screen = func(ctx context.Context, what cli.Shown) error {
		for name, only := range map[string]string{"s.html": "", "s.jsonl": "", "part.html": "#0..#0", "part.jsonl": "#0"} {
			path := filepath.Join(dir, name)
			places, hidden, err := what.Share(ctx, what.Store, "s", only, path)
			if err != nil || places == 0 || !strings.Contains(hidden, "/messages/*/content/*/text") {
				t.Errorf("%s: %d places, %q, %v", name, places, hidden, err)
			}
			text, err := os.ReadFile(path)
			if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), "the key is [redacted") {
				t.Errorf("%s, %v:\n%s", name, err, text)
			}
			if _, _, err := what.Share(ctx, what.Store, "s", only, path); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s again: %v", name, err)
			}
		}
		if _, _, err := what.Share(ctx, what.Store, "s", "#0..#7", filepath.Join(dir, "none.html")); !errors.Is(err, model.ErrNoSnapshot) {
			t.Errorf("a part that is not there: %v", err)
		}
		return nil
	}
	if code := cli.Run(t.Context(), a, []string{db}); code != 0 || printed.Len() > 0 {
		t.Errorf("exit code %d, printed %q", code, printed.String())
	}
}
