package tui_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// foundAt returns a store of a kind that is found at a path, and what opening it gives.
func foundAt(kind, path string, open func(context.Context) (store.Store, error)) store.Found {
	k := store.Kind{Name: kind, Open: func(ctx context.Context, _ string) (store.Store, error) { return open(ctx) }}
	return store.Found{Identity: store.Identity{Kind: k, At: path, Why: "it looks like one"}}
}

// has returns what opens a store.
func has(s store.Store) func(context.Context) (store.Store, error) {
	return func(context.Context) (store.Store, error) { return s, nil }
}

// house is a home of three stores: the demo, one with a session of today, and one that cannot be opened.
type house struct {
	tui.Options
	demo, notes *fake.Store
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{Options: options(nil), demo: demoStore(t), notes: fake.New(fake.WithClock(func() time.Time { return now }))}
	newWriter(t, h.notes, "notes").write(t, 3)
	h.Ledger = ledger.New(nil)
	h.Store, h.Home = nil, home.FromFound([]store.Found{
		foundAt("strands", "/home/me/.strands/sessions", has(h.demo)),
		foundAt("adk", "notes.db", has(h.notes)),
		foundAt("langgraph", "x\x1b[2J\u202e.db", func(context.Context) (store.Store, error) {
			return nil, &fs.PathError{Op: "open", Path: "x.db", Err: fs.ErrPermission}
		}),
	})
	return h
}

func TestHome_asDrawn(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, newHouse(t).Options, w, h)
		p.Golden()
		shows(t, p, "3 stores", "q quit")
	})
}

func TestHome_asciiGlyphs(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := newHouse(t).Options
	o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	p := start(t, o, 60, 18)
	for _, r := range p.Screen() {
		if r > 126 {
			t.Fatalf("%q is not ASCII:\n%s", r, p.Screen())
		}
	}
}

// A session opens in its own store, and leaving it leads back to its row. What the store can do, can be done.
func TestHome_opensASessionAndComesBack(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	p := start(t, h.Options, 100, 30)
	p.Press(keymap.Picker, keymap.Bottom, keymap.Open)
	shows(t, p, "memory › packing-list", "q back")
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "all sessions · 3 in 3 stores", "notes")
	selects(t, p, "packing-list")
	p.Press(keymap.Picker, keymap.Search)
	p.Type("NOTES")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "memory › notes", "3 snapshots")
	p.Press(keymap.Timeline, keymap.Parent, keymap.Restore)
	agree(t, p)
	if got := head(t, h.notes, "notes"); got != "#1" {
		t.Errorf("the head is %s", got)
	}
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "NOTES", "q close")
	p.Press(keymap.Picker, keymap.Back)
	selects(t, p, "notes")
	p.Press(keymap.Picker, keymap.Undo) // of the store of the row
	agree(t, p)
	if got := head(t, h.notes, "notes"); got != "#2" {
		t.Errorf("after the undo the head is %s", got)
	}
	p.Press(keymap.Picker, keymap.Bottom, keymap.Undo)
	shows(t, p, "nothing to undo")
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
}

// A store that cannot be opened is a row with the reason. The others are as usual, and it is tried again when
// the list is read again.
func TestHome_aStoreThatCannotBeOpened(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	p := start(t, h.Options, 100, 30)
	p.Press(keymap.Picker, keymap.Top)
	selects(t, p, "✗ x^[[2J<U+202E>.db: open x.db: permission denied")
	for a, want := range map[keymap.Action]string{
		keymap.Undo: "undo: no store is open yet", keymap.Journal: "journal: no store is open yet",
		keymap.Open: "open x.db: permission denied",
	} {
		if p.Press(keymap.Picker, a); !strings.Contains(footer(p), want) {
			t.Errorf("%s says %q, want %q", a, footer(p), want)
		}
	}
	p.Press(keymap.Picker, keymap.MoveDown, keymap.Open)
	shows(t, p, "memory › notes")
}

// The list follows all of its stores, and reads again those that changed alone.
func TestHome_follows(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	h := newHouse(t)
	p := start(t, h.Options, 100, 30)
	newWriter(t, h.demo, "brand new").write(t, 2)
	waitFor(t, p, "brand new")
	shows(t, p, "4 in 3 stores")
	p.Press(keymap.Picker, keymap.Search)
	p.Type("brand")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "memory › brand new", "following")
	newWriter(t, h.demo, "brand new").write(t, 1)
	waitFor(t, p, "3 snapshots")
}

// The second click on a row opens it; a heading is none.
func TestHome_mouse(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := start(t, newHouse(t).Options, 100, 30)
	for y, line := range strings.Split(p.Screen(), "\n") {
		if strings.Contains(line, "notes") {
			p.Send(click(20, y-1))
			p.Send(click(20, y-1))
			p.Idle()
			lacks(t, p, "memory ›")
			p.Send(click(20, y))
			p.Send(click(20, y))
			p.Idle()
			break
		}
	}
	shows(t, p, "memory › notes")
}

// An only store of a home that looks for no more is shown as if it had been named, its only session at once. Its path begins with ~ in the person's
// folder.
func TestHome_ofOneStore(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	lonely := fake.New()
	newWriter(t, lonely, "lonely").write(t, 3)
	o := options(nil)
	o.Store, o.Home = nil, home.FromFound([]store.Found{foundAt("adk", "notes.db", has(lonely))})
	p := start(t, o, 100, 30)
	shows(t, p, "memory › lonely", "following", "q quit")

	dir := t.TempDir()
	path := filepath.Join(dir, ".claude", "projects")
	if err := os.CopyFS(path, os.DirFS("../testdata/coding/claude-code/projects")); err != nil {
		t.Fatal(err)
	}
	o.Home = home.FromFound([]store.Found{{Identity: store.Identity{Kind: claudecode.Kind(nil).Kind, At: path}}})
	o.Getenv = environment(map[string]string{"HOME": dir})
	p = start(t, o, 100, 30)
	shows(t, p, "hindcast  "+filepath.Join("~", ".claude", "projects"), "first question")
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "hindcast  projects › ")
}

// looked returns a home that finds one store for each path that comes, until paths is closed.
func looked(t *testing.T, s store.Store, paths <-chan string) *home.Home {
	t.Helper()
	dir := t.TempDir()
	kind := store.Kind{
		Name:      "adk",
		Recognise: func(context.Context, string) (string, bool, error) { return "", true, nil },
		Open:      func(context.Context, string) (store.Store, error) { return s, nil },
	}
	var kinds store.Kinds
	for _, name := range []string{"a", "b"} { // each waits where it is asked for its places
		k := kind
		k.Name += name
		k.Places = func(store.Surroundings) []string {
			path, more := <-paths
			if !more {
				return nil
			}
			if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
				t.Error(err)
			}
			return []string{filepath.Join(dir, path)}
		}
		kinds = append(kinds, k)
	}
	return home.New(kinds, home.Places{})
}

// The first frame stands before a store is found, the sessions of each show as it is found, and q leaves
// at any time.
func TestHome_showsStoresAsTheyAreFound(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	paths := make(chan string)
	o := newHouse(t).Options
	o.Home = looked(t, demoStore(t), paths)
	p := startBusy(t, o, 100, 30)
	waitFor(t, p, "looking for stores")
	paths <- "one"
	waitFor(t, p, "2 in 1 store")
	p.Send(screentest.Key(t, "j"))
	paths <- "two"
	waitFor(t, p, "4 in 2 stores")
	close(paths)
	p.Idle()
	lacks(t, p, "looking for")
	selects(t, p, "packing-list")

	paths = make(chan string)
	o.Home = looked(t, demoStore(t), paths)
	p = startBusy(t, o, 100, 30)
	waitFor(t, p, "looking for stores")
	p.Send(screentest.Key(t, "q"))
	close(paths)
	p.WaitEnd()
}

// Where there is no store, what Without gives is shown.
func TestHome_without(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := newHouse(t).Options
	o.Home = home.New(nil, home.Places{})
	s := demoStore(t)
	o.Without = func(context.Context) (tui.Options, error) { return tui.Options{Store: s, Session: sample.Trip}, nil }
	p := start(t, o, 100, 30)
	shows(t, p, "memory › "+sample.Trip)
}

func TestOptions_needAStoreOrAHome(t *testing.T) {
	t.Parallel()
	if _, err := tui.New(t.Context(), options(nil)); err == nil {
		t.Error("no error without either")
	}
}

// Where nothing can be shown, the screen ends with the reason. It does not take the terminal for
// that, unless looking for stores takes longer than it waits.
func TestRun_endsWhereNothingIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what       string
		wait       time.Duration
		waited, up bool
	}{
		{"no wait", 0, false, true},
		{"within the wait", time.Second, false, false},
		{"after the wait", time.Second, true, true},
	} {
		reason := errors.New("no store in there")
		terminal := newSyncBuffer()
		paths := make(chan string)
		o := newHouse(t).Options
		o.Home = looked(t, nil, paths)
		o.Without = func(context.Context) (tui.Options, error) { return tui.Options{}, reason }
		o.Input, _ = io.Pipe()
		o.Output, o.Wait = terminal, c.wait
		o.After = func(d time.Duration) <-chan time.Time {
			if d == c.wait && c.waited {
				return fired(d)
			}
			return nil
		}
		if c.up {
			go func() {
				defer close(paths)
				terminal.waitFor(t, "\x1b[?1049h")
			}()
		} else {
			close(paths)
		}
		if err := tui.Run(t.Context(), o); !errors.Is(err, reason) {
			t.Errorf("%s: error %v", c.what, err)
		}
		if c.up {
			wraps(t, terminal.String())
		} else if terminal.String() != "" {
			t.Errorf("%s: the terminal is written %q", c.what, terminal)
		}
	}
}

// A list of one framework's sessions has its words, a list of several Hindcast's.
func TestHome_hasTheWordsOfTheFramework(t *testing.T) {
	t.Parallel()
	p := start(t, recordedSession(t, "langgraph/agent.db", ""), 120, 20)
	shows(t, p, "Threads", "3 threads", "checkpoints")
	lacks(t, p, "essions", "snapshots")
	shows(t, start(t, recordedSession(t, "adk/sqlite_service.db", ""), 120, 20), "Sessions", "3 sessions", "events")
}
