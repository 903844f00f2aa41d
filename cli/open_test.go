package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hindcast/cli"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
)

// shelf is a session with a kind whose stores are the files that end in .mem; its
// places are what a test says.
type shelf struct {
	*session
	dir   string
	shown cli.Shown

	mu     sync.Mutex // several stores are looked into at once
	opened []string
	closed int
}

func (s *shelf) open(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, name)
}

func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}

// noted is a store that tells when it is closed.
type noted struct {
	*fake.Store
	closed func()
}

func (n noted) Close() error {
	n.closed()
	return nil
}

func newShelf(t *testing.T, places ...string) *shelf {
	t.Helper()
	c := &shelf{session: start(t, sample.Rows()), dir: t.TempDir()}
	c.OutTerminal = true
	inner := c.store.(keep).Store
	c.Around = store.Surroundings{Work: c.dir}
	c.Kinds = store.Kinds{{
		Name:      "mem",
		Framework: "Memo",
		Files:     []string{"*.mem"},
		Recognise: func(_ context.Context, path string) (string, bool, error) {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				return "", false, err
			}
			return "a file that ends in .mem", strings.HasSuffix(path, ".mem"), nil
		},
		Open: func(_ context.Context, address string) (store.Store, error) {
			if strings.Contains(filepath.Base(address), "broken") {
				return nil, errors.New("mem: it is broken")
			}
			c.open(filepath.Base(address))
			return noted{inner, c.close}, nil
		},
		Places: func(at store.Surroundings) (list []string) {
			for _, p := range places {
				list = append(list, filepath.Join(at.Work, p))
			}
			return list
		},
	}}
	c.Sample = func(context.Context) (cli.Shown, error) {
		c.open("demo")
		return cli.Shown{Store: c.store, Note: "the demo"}, nil
	}
	c.Screen = func(ctx context.Context, what cli.Shown) (err error) {
		c.shown, err = foundBy(ctx, what)
		return err
	}
	return c
}

// foundBy returns what the screen shows in the end: Store where it shows one.
func foundBy(ctx context.Context, what cli.Shown) (cli.Shown, error) {
	if what.Store != nil {
		return what, nil
	}
	for session, err := range what.Home.Sessions(ctx) {
		if err == nil && session.Err != nil {
			continue
		}
		if err != nil {
			return what, err
		}
	}
	if len(what.Home.Stores()) > 0 {
		what.Store = what.Home.OnlyStore()
		return what, nil
	}
	found, err := what.Without(ctx)
	found.Theme, found.Share = what.Theme, what.Share
	return found, err
}

// put makes files, each an hour younger than the one before.
func (c *shelf) put(t *testing.T, names ...string) {
	t.Helper()
	for i, name := range names {
		path := filepath.Join(c.dir, name)
		at := time.Date(2026, 1, 2, i, 0, 0, 0, time.UTC)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The screen is drawn as the command line asks.
func TestScreen_isGivenTheTheme(t *testing.T) {
	for _, c := range []struct{ given, want string }{{"", ""}, {"--theme=ascii", "ascii"}, {"--theme=dark,unicode", "dark,unicode"}} {
		s := newShelf(t)
		s.put(t, "a.mem")
		if code, _, said := s.run(t, append(strings.Fields(c.given), filepath.Join(s.dir, "a.mem"))...); code != 0 || s.shown.Theme != c.want {
			t.Errorf("%q: exit %d, theme %q, said %s", c.given, code, s.shown.Theme, said)
		}
	}
}

// The screen stands before any kind is asked whether a path is a store of it.
func TestScreen_standsBeforeStoresAreLookedFor(t *testing.T) {
	for _, inDir := range []bool{false, true} {
		s := newShelf(t, "*")
		s.put(t, "a.mem", "b.mem")
		asked := 0
		recognise := s.Kinds[0].Recognise
		s.Kinds[0].Recognise = func(ctx context.Context, path string) (string, bool, error) {
			asked++
			return recognise(ctx, path)
		}
		s.Screen = func(ctx context.Context, what cli.Shown) error {
			if waits := what.Wait > 0; waits != inDir {
				t.Errorf("in a directory: %v: the screen waits: %v", inDir, waits)
			}
			if asked > 0 || len(s.opened) > 0 || what.Home == nil {
				t.Errorf("in a directory: %v: asked %d times, opened %q before the screen stands", inDir, asked, s.opened)
				return nil
			}
			_, err := foundBy(ctx, what)
			if got := len(what.Home.Stores()); got != 2 || asked == 0 {
				t.Errorf("found %d stores", got)
			}
			return err
		}
		var args []string
		if inDir {
			args = []string{s.dir}
		}
		if code, _, said := s.run(t, args...); code != 0 {
			t.Errorf("in a directory: %v: exit %d, %q", inDir, code, said)
		}
	}
}

// A session that is named is shown at once, and one that is not there is told
// before the screen takes the terminal.
func TestScreen_opensTheSession(t *testing.T) {
	s := newShelf(t)
	s.put(t, "a.mem")
	at := filepath.Join(s.dir, "a.mem")
	if code, _, said := s.run(t, at, sample.Trip); code != 0 || s.shown.Session != sample.Trip || s.shown.Store == nil {
		t.Errorf("exit %d, shown %+v, said %s", code, s.shown, said)
	}
	s.shown = cli.Shown{}
	if code, _, said := s.run(t, at, "nobody"); code != 1 || s.shown.Store != nil || !strings.Contains(said, "no session \"nobody\" in") {
		t.Errorf("exit %d, shown %+v, said %s", code, s.shown, said)
	}
	if s.closed != 2 {
		t.Errorf("%d stores of 2 were closed", s.closed)
	}
}

func TestScreen_opensWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  []string
		places []string
		args   []string
		opened string
	}{
		{"named", []string{"a.mem", "b.mem"}, []string{"b.mem"}, []string{"mem:DIR/a.mem"}, "[a.mem]"},
		{"recognised", []string{"a.mem"}, nil, []string{"DIR/a.mem"}, "[a.mem]"},
		{"the only one in a folder", []string{"x/y/a.mem", "x/b.txt"}, nil, []string{"DIR/x"}, "[a.mem]"},
		{"the only one in its place", []string{"a.mem", "b.txt"}, []string{"none.mem", "*"}, nil, "[a.mem]"},
		{"none", []string{"a.txt"}, []string{"none.mem", "*"}, nil, "[demo]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf(t, c.places...)
			s.put(t, c.files...)
			for i, a := range c.args {
				c.args[i] = strings.ReplaceAll(a, "DIR", s.dir)
			}
			code, _, err := s.run(t, c.args...)
			if code != 0 || fmt.Sprint(s.opened) != c.opened || s.shown.Store == nil {
				t.Errorf("exit %d, %q: opened %v, want %s", code, err, s.opened, c.opened)
			}
			if c.opened != "[demo]" && s.closed != 1 {
				t.Errorf("closed %d stores", s.closed)
			}
		})
	}
}

// A folder without a store is told before the screen is, and in a pipe as well.
func TestScreen_folderWithoutAStore(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		s := newShelf(t)
		s.OutTerminal = terminal
		s.put(t, "none/x.txt")
		code, _, said := s.run(t, filepath.Join(s.dir, "none"))
		if want := "hindcast: no store in " + filepath.Join(s.dir, "none") + "\n"; code != 1 || !strings.HasPrefix(said, want) {
			t.Errorf("terminal %v: exit %d, %q", terminal, code, said)
		}
	}
}

// A folder of several stores stands for all of them. A store that cannot be read is an error.
func TestOpen_directories(t *testing.T) {
	s := newShelf(t)
	s.put(t, "many/a.mem", "many/broken.mem", "none/x.txt", "none/.git/a.mem", "deep/1/2/a.mem")
	many := filepath.Join(s.dir, "many")
	code, out, err := s.run(t, "sessions", many)
	if want := "hindcast: mem: it is broken\n"; code != 1 || strings.Count(out, "\n") != 3 || !strings.Contains(out, sample.Trip+"  memory ") || err != want {
		t.Errorf("exit %d, %q, %s", code, out, err)
	}
	s.put(t, "bad/broken1.mem", "bad/broken2.mem")
	for _, flag := range []string{"--json", "--json=false"} { // none is not the answer where none can be read
		if code, out, err = s.run(t, "sessions", flag, filepath.Join(s.dir, "bad")); code != 1 || out != "" || !strings.HasPrefix(err, "hindcast: mem: it is broken\n") {
			t.Errorf("%s: exit %d, %q, %s", flag, code, out, err)
		}
	}
	code, out, err = s.run(t, "journal", many)
	want := "hindcast: " + many + " is a directory of 2 stores:\n" +
		"  | mem  " + many + "/a.mem  2026-05-04 12:08:09\n" +
		"  | mem  " + many + "/broken.mem  2026-01-02 01:00:00\n" +
		"  Name one of them: hindcast journal " + many + "/a.mem\n"
	if code != 1 || out != "" || inUTC(err) != want {
		t.Errorf("exit %d, %q, %s", code, out, err)
	}
	none := filepath.Join(s.dir, "none")
	code, out, err = s.run(t, "sessions", none)
	want = "hindcast: no store in " + none + "; passed over: no kind knows it (1), version control (1)\n" +
		"  hindcast doctor " + none + " says what was looked at, and why it is no store.\n"
	if code != 1 || out != "" || err != want {
		t.Errorf("exit %d, %q, %s", code, out, err)
	}
	if code, out, err = s.run(t, "sessions", filepath.Join(s.dir, "deep")); code != 0 || !strings.Contains(out, sample.Trip) {
		t.Errorf("exit %d, %q, %s", code, out, err)
	}
	if code, out, err = s.run(t, "doctor", filepath.Join(s.dir, "deep"), sample.Trip); code != 0 || !strings.HasSuffix(out, "no faults\n") {
		t.Errorf("exit %d, %q, %s", code, out, err)
	}
}

// inUTC takes the zone of the machine out of a text.
func inUTC(text string) string {
	for _, at := range []time.Time{time.Date(2026, 5, 4, 12, 8, 9, 0, time.UTC), time.Date(2026, 1, 2, 1, 0, 0, 0, time.UTC)} {
		text = strings.ReplaceAll(text, at.Local().Format(time.DateTime), at.Format(time.DateTime))
	}
	return text
}
