package tui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// shelf returns the options of a screen with several stores to choose from. Opening
// one is up to open, which gets its path.
func shelf(open func(ctx context.Context, path string) (store.Store, error)) tui.Options {
	found := func(kind, path, why string, ago time.Duration, sessions int) store.Found {
		return store.Found{Identity: store.Identity{Kind: store.Kind{Name: kind}, At: path, Why: why}, Changed: now.Add(-ago), Sessions: sessions}
	}
	o := options(nil)
	o.Store = nil
	o.Stores = []store.Found{
		found("strands", "/home/me/.strands/sessions", "session_…/session.json", 90*time.Second, 12),
		found("genkit", ".genkit/snapshots", "global/….json with a snapshotId", 3*time.Hour, -1),
		found("strands-snapshots", "/very/long/way/to/a/project/of/somebody/.strands", "session/…/scopes", 26*time.Hour, 1),
		found("sqlite", "trips\x1b[2J\u202e.db", "a SQLite database", 400*24*time.Hour, 0),
	}
	o.Note = "found 4 stores in the usual places"
	o.Open = func(ctx context.Context, chosen store.Found) (store.Store, error) { return open(ctx, chosen.At) }
	return o
}

// oneShelf is a shelf of which every store is the demo.
func oneShelf(t *testing.T) tui.Options {
	t.Helper()
	s := demoStore(t)
	return shelf(func(context.Context, string) (store.Store, error) { return s, nil })
}

func TestStores_asDrawn(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, oneShelf(t), w, h)
		p.Golden()
		p.Press(keymap.Picker, keymap.MoveDown)
		shows(t, p, "▌ .genkit/snapshots", "4 stores", "enter open", "q quit")
	})
}

// A path in the person's folder begins with ~, and the sessions are below the whole of it.
func TestStores_inThePersonsFolder(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, ".claude", "projects")
	if err := os.CopyFS(path, os.DirFS("../testdata/coding/claude-code/projects")); err != nil {
		t.Fatal(err)
	}
	o := shelf(func(ctx context.Context, path string) (store.Store, error) {
		return claudecode.Kind(nil).Open(ctx, path)
	})
	o.Stores = append(o.Stores[:1], store.Found{Identity: store.Identity{Kind: claudecode.Kind(nil).Kind, At: path}})
	o.Getenv = environment(map[string]string{"HOME": home})
	short := filepath.Join("~", ".claude", "projects")
	p := start(t, o, 100, 30)
	p.Press(keymap.Picker, keymap.MoveDown)
	shows(t, p, "▌ "+short, "  /home/me/.strands/sessions")
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "hindcast  "+short, "first question")
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "hindcast  projects › ")
}

// Once a store is chosen, all is as if it had been named.
func TestStores_chosenIsShown(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	var asked []string
	s := demoStore(t)
	o := shelf(func(_ context.Context, path string) (store.Store, error) {
		asked = append(asked, path)
		return s, nil
	})
	p := start(t, o, 60, 18)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("GENKIT")
	shows(t, p, "1 of 4 stores")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "trip-planner", "packing-list", "2 sessions", "Sessions")
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "memory › trip-planner", "head #13")
	p.Press(keymap.Timeline, keymap.Restore) // what the store can do, can be done
	lacks(t, p, "no store is open")
	p.Press(keymap.Confirm, keymap.Back)
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "2 sessions", "q stores")
	p.Press(keymap.Picker, keymap.Back, keymap.Back) // the filter goes first
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
	if fmt.Sprint(asked) != "[.genkit/snapshots]" {
		t.Errorf("opened %q", asked)
	}
}

func TestStores_onlySessionIsOpenedAtOnce(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	one := &scripted{Store: demoStore(t)}
	one.sessions = func(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
		return func(yield func(model.SessionInfo, error) bool) {
			for info, err := range one.Store.Sessions(ctx) {
				yield(info, err)
				return
			}
		}
	}
	p := start(t, shelf(func(context.Context, string) (store.Store, error) { return one, nil }), 100, 30)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "trip-planner", "head #13", "q stores")
}

func TestStores_asciiGlyphs(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := oneShelf(t)
	o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	p := start(t, o, 60, 18)
	shows(t, p, "* ~/me/.strands/sessions", "4 stores - session_.../session.json")
	for _, r := range p.Screen() {
		if r > 126 {
			t.Fatalf("%q is not ASCII", r)
		}
	}
}

func TestStores_mouse(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := start(t, oneShelf(t), 100, 30)
	p.Send(click(5, 5))
	p.Idle()
	shows(t, p, "▌ /very/long", "4 stores · session/…/scopes")
	p.Send(click(5, 5))
	p.Idle()
	shows(t, p, "2 sessions")
}

func TestStores_withoutAStoreNothingIsDone(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	p := start(t, oneShelf(t), 60, 18)
	for a, want := range map[keymap.Action]string{
		keymap.Undo:    "undo: no store is open yet",
		keymap.Journal: "journal: no store is open yet",
		keymap.Reload:  "stores are looked for when the program starts",
	} {
		p.Press(keymap.Picker, a)
		if got := lastLine(p); got != want {
			t.Errorf("%s says %q, want %q", a, got, want)
		}
	}
	p.Press(keymap.Picker, keymap.Search)
	p.Type("no such")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "no store matches the filter", "0 of 4 stores")
	p.Press(keymap.Picker, keymap.Back)
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
}

// A filter says what it holds to for as long as it is on, and to leave a list is to leave
// its filter first.
func TestStores_backClearsAFilterFirst(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, oneShelf(t), w, h)
		filter := func(text string) {
			p.Press(keymap.Picker, keymap.Search)
			p.Type(text)
			p.Press(keymap.Input, keymap.Accept)
		}
		filter("genkit")
		shows(t, p, "1 of 4 stores with genkit", "q clear filter")
		p.Send(screentest.Key(t, "esc"))
		p.Idle()
		shows(t, p, "4 stores", ".strands/sessions", "q quit", "▌ .genkit/snapshots")
		filter("genkit")
		p.Press(keymap.Picker, keymap.Open)
		filter("pack")
		shows(t, p, "1 of 2 sessions with pack", "q clear filter")
		p.Press(keymap.Picker, keymap.Open)
		p.Press(keymap.Timeline, keymap.Back)
		shows(t, p, "1 of 2 sessions with pack")
		p.Press(keymap.Picker, keymap.Back)
		shows(t, p, "2 sessions", "trip-planner", "q stores")

		filter("trip") // it does not hide a session that is made meanwhile
		p.Press(keymap.Picker, keymap.Open)
		p.Press(keymap.Timeline, keymap.Fork)
		for range len("trip-planner-fork") {
			p.Key("backspace")
		}
		p.Type("another")
		p.Press(keymap.Input, keymap.Accept)
		agree(t, p)
		p.Press(keymap.Timeline, keymap.Back)
		shows(t, p, "▌ another", "packing-list", "3 sessions")
		p.Press(keymap.Picker, keymap.Back)
		shows(t, p, "1 of 4 stores with genkit")
		p.Press(keymap.Picker, keymap.Open)
		shows(t, p, "3 sessions", "trip-planner")
		p.Press(keymap.Picker, keymap.Back)
		p.Press(keymap.Picker, keymap.Back)
		p.Send(screentest.Key(t, "q"))
		p.WaitEnd()
	})
}

func TestStores_badStoreIsToldAndAnotherCanBeChosen(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := demoStore(t)
	p := start(t, shelf(func(_ context.Context, path string) (store.Store, error) {
		if strings.HasPrefix(path, "/home") {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		return s, nil
	}), 60, 18)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "✗ open /home/me/.strands/sess", "! all of it", "Stores")
	p.Press(keymap.Picker, keymap.MoveDown, keymap.Open)
	shows(t, p, "2 sessions")
}

// What comes too late is dropped: a store that was asked for before another one,
// or before the person gave it up.
func TestStores_lastChoiceCounts(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	slow, gone := newGate(), make(chan error, 2)
	late, s := fake.New(), demoStore(t)
	o := shelf(func(ctx context.Context, path string) (store.Store, error) {
		if path != ".genkit/snapshots" {
			gone <- slow.wait(ctx)
			return late, nil // whatever the context says
		}
		return s, nil
	})
	h := &held{}
	o.After = h.after
	p := startBusy(t, o, 60, 18)
	const patience = 200 * time.Millisecond
	p.Send(screentest.Key(t, "enter"))
	p.WaitFor("the wait for patience", func(string) bool { return h.waiting(patience) == 1 })
	h.fire(patience)
	waitFor(t, p, "opening /home/me/.strands/sessions")
	p.Send(screentest.Key(t, "esc"))
	waitFor(t, p, "cancelled: opening")
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the first opening ended with %v", err)
	}
	p.Send(screentest.Key(t, "enter"))
	p.Send(screentest.Key(t, "j"))
	p.Send(screentest.Key(t, "enter"))
	waitFor(t, p, "2 sessions")
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the second opening ended with %v", err)
	}
	lacks(t, p, "no sessions yet")
}

func TestOptions_needAStoreOrSeveral(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*tui.Options){
		"nothing":         func(o *tui.Options) { o.Stores, o.Open = nil, nil },
		"nothing to open": func(o *tui.Options) { o.Open = nil },
		"none to open":    func(o *tui.Options) { o.Stores = nil },
	} {
		o := oneShelf(t)
		change(&o)
		if _, err := tui.New(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Leaving a store that was chosen leads back to the others; the next one is shown
// as the first was, and what the first one told or tells is gone.
func TestStores_wayBack(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	first, second := demoStore(t), fake.New()
	newWriter(t, second, "lonely").write(t, 3)
	o := shelf(func(_ context.Context, path string) (store.Store, error) {
		if strings.HasPrefix(path, ".genkit") {
			return second, nil
		}
		return first, nil
	})
	p := start(t, o, 100, 30)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "trip-planner", "2 sessions", "q stores")
	p.Press(keymap.Picker, keymap.Open)
	p.Press(keymap.Timeline, keymap.Search)
	p.Type("train")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Timeline, keymap.Back)
	p.Press(keymap.Picker, keymap.Back)
	shows(t, p, "4 stores", "q quit")
	lacks(t, p, "trip-planner")
	p.Press(keymap.Picker, keymap.Undo)
	shows(t, p, "undo: no store is open yet")
	newWriter(t, first, sample.Trip).write(t, 1) // nobody looks at it any more
	p.Idle()

	p.Press(keymap.Picker, keymap.MoveDown, keymap.Open) // it has one session only
	shows(t, p, "memory › lonely", "3 snapshots", "following", "q stores")
	lacks(t, p, "4 stores")
	newWriter(t, second, "lonely").write(t, 1)
	waitFor(t, p, "4 snapshots")
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "4 stores")
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
}

// lookingFor returns the options of a screen whose stores are found one by one: each as it is
// sent on release, and the last of all once that is closed.
func lookingFor(o tui.Options, last func() (tui.Options, error)) (_ tui.Options, release chan store.Found) {
	release = make(chan store.Found)
	o.Stores, o.Note = nil, ""
	o.Find = func(ctx context.Context, tell func([]store.Found)) (tui.Options, error) {
		var known []store.Found
		for {
			select {
			case f, more := <-release:
				if !more {
					return last()
				}
				known = append(known, f)
				tell(known)
			case <-ctx.Done():
				return tui.Options{}, ctx.Err()
			}
		}
	}
	return o, release
}

// The first frame stands before a store is found, each store shows as it is found, and q leaves
// at any time.
func TestStores_showAsTheyAreFound(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o := oneShelf(t)
	all := o.Stores
	o, release := lookingFor(o, func() (tui.Options, error) {
		return tui.Options{Stores: all, Note: "found all of them"}, nil
	})
	p := startBusy(t, o, 100, 30)
	showing := func(want ...string) {
		t.Helper()
		for _, text := range want {
			p.WaitFor(text, func(screen string) bool { return strings.Contains(screen, text) })
		}
	}
	showing("Stores", "looking for stores …", "· esc")
	release <- all[0]
	showing("▌ /home/me/.strands/sessions", "1 store")
	release <- all[1]
	showing("▌ /home/me/.strands/sessions", "  .genkit/snapshots", "2 stores", "looking for stores")
	p.Send(screentest.Key(t, "down"))
	close(release)
	showing("▌ .genkit/snapshots", "4 stores", "found all of them")
	lacks(t, p, "looking for")

	for _, found := range [][]store.Found{nil, all[:1], all[:3]} {
		o, release := lookingFor(oneShelf(t), nil)
		p := startBusy(t, o, 100, 30)
		for _, f := range found {
			release <- f
		}
		p.WaitFor("word of the search", func(screen string) bool { return strings.Contains(screen, "looking for stores") })
		p.Send(screentest.Key(t, "q"))
		p.WaitEnd()
	}
}

// A store that is chosen while others are looked for stays, whatever else is found.
func TestStores_chosenWhileOthersAreLookedFor(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	for name, last := range map[string]func() (tui.Options, error){
		"several": func() (tui.Options, error) { return tui.Options{Stores: oneShelf(t).Stores}, nil },
		"one":     func() (tui.Options, error) { return tui.Options{Store: demoStore(t), Session: "packing-list"}, nil },
		"error":   func() (tui.Options, error) { return tui.Options{}, errors.New("the disk is gone") },
	} {
		t.Run(name, func(t *testing.T) {
			o := oneShelf(t)
			first := o.Stores[0]
			o, release := lookingFor(o, last)
			p := startBusy(t, o, 100, 30)
			release <- first
			p.WaitFor("the store", func(screen string) bool { return strings.Contains(screen, "1 store") })
			p.Send(screentest.Key(t, "enter"))
			p.WaitFor("its sessions", func(screen string) bool { return strings.Contains(screen, "trip-planner") })
			close(release)
			p.Idle()
			shows(t, p, "Sessions", "2 sessions", "trip-planner")
			lacks(t, p, "head #", "looking for")
		})
	}
}

// The only store that is found is shown as if it had been named.
func TestStores_theOnlyOneThatIsFound(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	s := demoStore(t)
	o, release := lookingFor(oneShelf(t), func() (tui.Options, error) {
		return tui.Options{Store: s, Note: "opened the only store"}, nil
	})
	p := startBusy(t, o, 100, 30)
	close(release)
	p.Idle()
	shows(t, p, "trip-planner", "packing-list", "2 sessions", "opened the only store")
}

// Where nothing can be shown, the screen ends with the reason. It does not take the terminal for
// that, unless looking for stores takes longer than it waits.
func TestRun_endsWhereNothingIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what             string
		wait             time.Duration
		waited, told, up bool
	}{
		{"no wait", 0, false, false, true},
		{"within the wait", time.Second, false, false, false},
		{"after the wait", time.Second, true, false, true},
		{"after a store was found", time.Second, false, true, true},
	} {
		reason := errors.New("no store in there")
		terminal := newSyncBuffer()
		o := oneShelf(t)
		found := o.Stores[0]
		o, release := lookingFor(o, func() (tui.Options, error) { return tui.Options{}, reason })
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
				defer close(release)
				if c.told {
					release <- found
				}
				terminal.waitFor(t, "\x1b[?1049h")
			}()
		} else {
			close(release)
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
