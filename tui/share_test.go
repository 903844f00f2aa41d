package tui_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// The session is shared in a file of the person's choice, and the last line says where it is
// and what was hidden.
func TestShare_writesAFile(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o := options(demoStore(t))
		o.Session = sample.Trip
		dir := t.TempDir()
		o.Getenv = func(name string) string { return map[string]string{"HOME": dir, "TERM": "xterm"}[name] }
		var asked []string
		o.Share = func(_ context.Context, s store.Store, session, only, path string) (int, string, error) {
			asked = append(asked, session+only+" "+path)
			switch len(asked) {
			case 1:
				return 0, "", fmt.Errorf("share: %w", fs.ErrExist)
			case 2:
				return 2, "hidden:\n  jwt  /messages/*/text  2 secrets\n", os.WriteFile(path, nil, 0o600)
			}
			return 0, "hidden: nothing; no secret was found\n", nil
		}
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.Yank)
		p.Press(keymap.Menu, keymap.Share)
		p.Press(keymap.ShareMenu, keymap.ShareSession)
		shows(t, p, "trip-planner.html", "Share trip-planner without secrets")
		p.Golden()
		p.Key("ctrl+u")
		p.Type("~/trip.txt")
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "end its name in .html or .jsonl")
		p.Key("ctrl+u")
		p.Type("~/trip.html")
		p.Press(keymap.Input, keymap.Accept)
		shows(t, p, "it is there already", "new file")
		p.Press(keymap.Input, keymap.Accept)
		lacks(t, p, "new file")
		shows(t, p, "✓ shared in")
		p.Press(keymap.Timeline, keymap.Details)
		shows(t, p, "What was shared", "trip.html", "jwt  /messages/*/text  2 secrets")
		p.Press(keymap.Overlay, keymap.Back)
		want := sample.Trip + " " + filepath.Join(dir, "trip.html")
		if len(asked) != 2 || asked[0] != want || asked[1] != want {
			t.Errorf("asked were %q, want %q twice", asked, want)
		}
		p.Press(keymap.Timeline, keymap.Yank)
		p.Press(keymap.Menu, keymap.Share)
		p.Press(keymap.ShareMenu, keymap.Accept)
		p.Key("ctrl+u")
		p.Type("~/trip.jsonl")
		p.Press(keymap.Input, keymap.Accept)
		p.Press(keymap.Timeline, keymap.Details)
		shows(t, p, "trip.jsonl", "no secret was found")
	})
}

// Leaving the prompt gives up what is written.
func TestShare_isGivenUp(t *testing.T) {
	t.Parallel()
	o := options(demoStore(t))
	o.Session = sample.Trip
	ended := make(chan error, 1)
	o.Share = func(ctx context.Context, _ store.Store, _, _, _ string) (int, string, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return 0, "", ctx.Err()
	}
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.Yank)
	p.Press(keymap.Menu, keymap.Share)
	p.Press(keymap.ShareMenu, keymap.ShareSession)
	p.Send(screentest.Key(t, "enter"))
	waitFor(t, p, "sharing trip-planner")
	p.Press(keymap.Input, keymap.Back)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	lacks(t, p, "new file", "shared in", "sharing")
}

func TestShare_needsAWriter(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.Yank)
	shows(t, p, "share without secrets (off: nothing is shared from here)")
	p.Press(keymap.Menu, keymap.Share)
	lacks(t, p, "new file", "share path")
}

// A part of the session is shared as well: what led to the cursor, the branch that it is on,
// and what lies between the mark and the cursor, whichever of the two came first.
func TestShare_aPart(t *testing.T) {
	t.Parallel()
	o := options(demoStore(t))
	o.Session = sample.Trip
	o.Getenv = func(string) string { return "/home/demo" }
	var asked []string
	o.Share = func(_ context.Context, _ store.Store, _, only, path string) (int, string, error) {
		asked = append(asked, only+" "+filepath.Base(path))
		return 0, "hidden: nothing\n", nil
	}
	p := start(t, o, 100, 30)
	share := func(a keymap.Action) {
		t.Helper()
		p.Press(keymap.Timeline, keymap.Yank)
		p.Press(keymap.Menu, keymap.Share)
		p.Press(keymap.ShareMenu, a)
	}
	share(keymap.ShareBranch)
	shows(t, p, "all 18 snapshots", "to #13, 14 snapshots", "(off: #13 is on the way to the head)", "(off: no snapshot is marked)")
	p.Press(keymap.ShareMenu, keymap.ShareRange, keymap.Back)
	lacks(t, p, "new file")

	p.Press(keymap.Timeline, keymap.Top, keymap.StepForward, keymap.StepForward, keymap.StepForward, keymap.Mark, keymap.NextBranch, keymap.NextBranch)
	shows(t, p, "#7.1")
	share(keymap.ShareRange)
	shows(t, p, "Share #3 to #7.1, 5 snapshots, without secrets", "trip-planner-3-to-7.1.html")
	p.Press(keymap.Input, keymap.Accept)
	share(keymap.ShareBranch)
	shows(t, p, "Share #5 to #7.1, 3 snapshots, without secrets", "trip-planner-5-to-7.1.html")
	p.Press(keymap.Input, keymap.Accept)
	share(keymap.SharePath)
	shows(t, p, "Share to #7.1, 8 snapshots, without secrets", "trip-planner-to-7.1.html")
	p.Press(keymap.Input, keymap.Accept)

	p.Press(keymap.Timeline, keymap.Top)
	share(keymap.ShareRange)
	shows(t, p, "Share #0 to #3, 4 snapshots, without secrets")
	p.Press(keymap.Input, keymap.Accept)
	p.Press(keymap.Timeline, keymap.NextBranch, keymap.NextBranch, keymap.Mark, keymap.Parent, keymap.Yank)
	p.Press(keymap.Menu, keymap.Share)
	p.Golden()
	p.Press(keymap.ShareMenu, keymap.Back)
	p.Press(keymap.Timeline, keymap.GoHead, keymap.Yank)
	p.Press(keymap.Menu, keymap.Share)
	shows(t, p, "(off: the marked #7.1 is on another line)")

	want := []string{
		"#3..#7.1 trip-planner-3-to-7.1.html", "#5..#7.1 trip-planner-5-to-7.1.html",
		"#7.1 trip-planner-to-7.1.html", "#0..#3 trip-planner-0-to-3.html",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked were\n%q, want\n%q", asked, want)
	}
}

// Where the terminal opens links the message leads to the file; what shows is the same.
func TestShare_linksTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a b.html")
	var screens []string
	for _, links := range []bool{false, true} {
		o := options(demoStore(t))
		o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.Unicode, Links: links})
		o.Session = sample.Trip
		o.Share = func(context.Context, store.Store, string, string, string) (int, string, error) { return 0, "", nil }
		p := start(t, o, 200, 50)
		p.Press(keymap.Timeline, keymap.Yank)
		p.Press(keymap.Menu, keymap.Share)
		p.Press(keymap.ShareMenu, keymap.ShareSession)
		p.Key("ctrl+u")
		p.Type(file)
		p.Key("enter")
		shows(t, p, "shared in "+file)
		screens = append(screens, p.Screen())
		if linked := strings.Contains(string(p.Raw()), "\x1b]8;;file://"+filepath.ToSlash(filepath.Dir(file))+"/a%20b.html\x1b\\"); linked != links && filepath.Separator == '/' {
			t.Errorf("links %t, and there is one: %t", links, linked)
		}
	}
	if screens[0] != screens[1] {
		t.Errorf("with links it looks otherwise:\n%s\n%s", screens[0], screens[1])
	}
}
