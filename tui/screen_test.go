package tui_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/tui"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// sizes are those at which every screen has a golden file: narrow and stacked,
// the least that is wide, and large.
var sizes = []struct{ w, h int }{{60, 18}, {100, 30}, {200, 50}}

// atSizes runs a test at each size.
func atSizes(t *testing.T, test func(t *testing.T, w, h int)) {
	t.Helper()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			t.Parallel()
			test(t, size.w, size.h)
		})
	}
}

func TestScreen_sessions(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		start(t, options(demoStore(t)), w, h).Golden()
	})
}

func TestScreen_filter(t *testing.T) {
	t.Parallel()
	p := start(t, options(demoStore(t)), 60, 18)
	p.Press(keymap.Picker, keymap.Search)
	p.Type("PACK")
	p.Golden()
	shows(t, p, "titles", "packing-list", "nothing like it was said in 2 sessions")
	lacks(t, p, "trip-planner")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "memory › packing-list", "stopped before buy")
	p.Press(keymap.Timeline, keymap.Back)
	shows(t, p, "› PACK")
	p.Press(keymap.Picker, keymap.Search)
	p.Key("ctrl+u")
	shows(t, p, "2 sessions", "trip-planner")
	p.Press(keymap.Input, keymap.MoveDown)
	selects(t, p, "packing-list")
	p.Type("no such")
	lacks(t, p, "titles", "packing-list")
	p.Press(keymap.Input, keymap.Back)
	shows(t, p, "2 sessions", "trip-planner")
}

func TestScreen_timeline(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := trip(t, w, h)
		p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Child)
		p.Golden()
		shows(t, p, "◌ #11.1 left by a restore to #10 at 12:07")
	})
}

func TestScreen_help(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o := options(readOnly{demoStore(t)})
		o.Session = sample.Trip
		p := start(t, o, w, h)
		p.Press(keymap.Timeline, keymap.Help)
		p.Golden()
		p.Press(keymap.Overlay, keymap.Bottom)
		p.Press(keymap.Overlay, keymap.Help) // the key that opened it closes it
		lacks(t, p, "Keys:")
	})
}

// What is typed leaves the lines of the help with it; leaving the search brings the
// others back, and leaving once more closes the help.
func TestScreen_helpIsSearched(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 40)
	p.Press(keymap.Timeline, keymap.Help)
	shows(t, p, "Signs", "off the path", "! ✗", "damaged, error", "1-7 ", "nothing was asked")
	p.Press(keymap.Manual, keymap.Search)
	p.Type("Fork") // letters are text here, whatever they mean elsewhere
	p.Golden()
	shows(t, p, "Change", "edit and fork")
	lacks(t, p, "Signs", "half a page")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "lines with Fork", "Keys:")
	p.Press(keymap.Manual, keymap.Back)
	shows(t, p, "half a page", "Signs")
	p.Press(keymap.Manual, keymap.Back)
	lacks(t, p, "Keys:")
}

func TestScreen_onlySessionIsOpenedAtOnce(t *testing.T) {
	t.Parallel()
	s := fake.New()
	rows := func(yield func(store.Row, error) bool) {
		for r, err := range sample.Rows() {
			if r.Header.SessionID == sample.Packing && !yield(r, err) {
				return
			}
		}
	}
	if _, err := s.Import(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	p := start(t, options(s), 100, 30)
	shows(t, p, "memory › packing-list", "head #2", "q quit")
	p.Send(screentest.Key(t, "q"))
	p.WaitEnd()
}

func TestScreen_note(t *testing.T) {
	t.Parallel()
	o := options(demoStore(t))
	o.Note = "no store was found, so this is the demo"
	p := start(t, o, 100, 30)
	if got := lastLine(p); got != o.Note {
		t.Errorf("last line %q", got)
	}
	p.Press(keymap.Picker, keymap.MoveDown)
	lacks(t, p, o.Note)
}

func TestScreen_emptyStore(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, options(fake.New()), w, h)
		p.Golden()
		p.Press(keymap.Picker, keymap.Open, keymap.MoveDown)
		p.Send(click(5, 3))
		p.Idle()
		shows(t, p, "This store has no sessions yet.")
	})
}

func TestScreen_badStore(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		bad := errors.New("sqlite: read trips.db: page 12: the database disk image is malformed")
		s := &scripted{Store: demoStore(t), address: "/home/me/trips.db", sessions: func(context.Context) iter.Seq2[model.SessionInfo, error] { return failing[model.SessionInfo](bad) }}
		p := start(t, options(s), w, h)
		p.Golden()
		p.Press(keymap.Picker, keymap.Open, keymap.MoveDown)
		s.sessions = nil
		p.Press(keymap.Picker, keymap.Reload)
		shows(t, p, "trip-planner")
	})
}

func TestScreen_badSession(t *testing.T) {
	t.Parallel()
	bad := errors.New("strands: read session.json: byte 812: unexpected end")
	s := &scripted{Store: demoStore(t)}
	s.tail = func(_ context.Context, session string, n int) ([]model.Header, int, error) {
		if session == sample.Trip {
			return nil, 0, bad
		}
		return s.Store.Tail(t.Context(), session, n)
	}
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "Sessions", "✗ "+bad.Error(), "v all of it")
	p.Press(keymap.Picker, keymap.Details)
	p.Golden()
	p.Press(keymap.Overlay, keymap.Back)
	p.Press(keymap.Picker, keymap.MoveDown, keymap.Open)
	shows(t, p, "memory › packing-list") // the rest of the store still opens

	o := options(s)
	o.Session = sample.Trip
	shows(t, start(t, o, 100, 30), "This session cannot be shown.", bad.Error())
}

func TestScreen_damagedState(t *testing.T) {
	t.Parallel()
	bad := errors.New("strands: read message_7.json: byte 12: unexpected end of JSON")
	s := &scripted{Store: demoStore(t)}
	s.state = func(ctx context.Context, ref model.Ref) ([]byte, error) {
		if ref.Session == sample.Trip {
			return nil, bad
		}
		return s.Store.State(ctx, ref)
	}
	o := options(s)
	o.Session = sample.Trip
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowResume)
	p.Golden()
	p.Press(keymap.Timeline, keymap.Details)
	shows(t, p, "Message")
	p.Press(keymap.Overlay, keymap.Back)
	s.state = nil
	p.Press(keymap.Timeline, keymap.Reload)
	lacks(t, p, "unexpected end")
}

// palettes are the themes at the colours for which they are made.
var palettes = map[string]*theme.Styles{
	"dark": styles(theme.Dark, termenv.TrueColor), "light": styles(theme.Light, termenv.ANSI256),
	"16": styles(theme.Sixteen, termenv.ANSI), "none": styles(theme.None, termenv.ANSI), "dumb": styles(theme.None, termenv.Ascii),
}

// Shapes and words carry the meaning in every palette.
func TestScreen_palettes(t *testing.T) {
	t.Parallel()
	styled := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	colour := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|38;[25];[0-9;]+|4[0-7]|48;[25];[0-9;]+|9[0-7]|10[0-7])m`)
	for name, s := range palettes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(demoStore(t))
			o.Session, o.Theme = sample.Trip, s
			p := start(t, o, 100, 30)
			p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Child)
			shows(t, p, "▌ │ ▿ 11", "◉   13", "◌ #11.1 left by a restore", "[Diff]")
			raw := string(p.Raw())
			if got, want := colour.MatchString(raw), name != "none" && name != "dumb"; got != want {
				t.Errorf("colours: %t", got)
			}
			if got, want := strings.Contains(raw, "\x1b[7m"), name == "none" || name == "16"; got != want {
				t.Errorf("reversed rows: %t", got)
			}
			if got, want := styled.MatchString(raw), name != "dumb"; got != want {
				t.Errorf("styles: %t", got)
			}
		})
	}
}

func TestScreen_asciiGlyphs(t *testing.T) {
	t.Parallel()
	o := options(demoStore(t))
	o.Session = sample.Trip
	o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.PrevBranch, keymap.PrevBranch, keymap.Child)
	p.Golden()
	for _, r := range p.Screen() {
		if r > 126 {
			t.Fatalf("%q is not ASCII", r)
		}
	}
}

// Every screen is ASCII where the theme is and the data are.
func TestScreen_asciiEverywhere(t *testing.T) {
	t.Parallel()
	ascii := theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
	check := func(t *testing.T, what string, p *screentest.Program) {
		t.Helper()
		for _, r := range p.Screen() {
			if r > 126 && !strings.ContainsRune("☃é☕你好", r) { // which sessions of the fixtures hold
				t.Errorf("%s: %q is not ASCII:\n%s", what, r, p.Screen())
				return
			}
		}
	}
	walk := func(t *testing.T, p *screentest.Program) {
		steps := []struct {
			scope   keymap.Scope
			actions []keymap.Action
		}{
			{keymap.Timeline, []keymap.Action{keymap.Parent, keymap.Parent, keymap.Help}},
			{keymap.Manual, []keymap.Action{keymap.Bottom, keymap.Back}},
			{keymap.Timeline, []keymap.Action{keymap.ShowState, keymap.Open, keymap.UnfoldAll, keymap.Bottom, keymap.Back, keymap.ShowMessages, keymap.Open, keymap.UnfoldAll,
				keymap.Top, keymap.Back, keymap.ShowResume, keymap.Open, keymap.Bottom, keymap.Back, keymap.ShowInfo, keymap.Open, keymap.Bottom, keymap.Back, keymap.ShowDiff, keymap.Mark, keymap.Parent, keymap.Compare, keymap.Yank}},
			{keymap.Menu, []keymap.Action{keymap.YankID}},
			{keymap.Timeline, []keymap.Action{keymap.Details}},
			{keymap.Overlay, []keymap.Action{keymap.Back}},
			{keymap.Timeline, []keymap.Action{keymap.Edit}},
			{keymap.EditMenu, []keymap.Action{keymap.Back}},
			{keymap.Timeline, []keymap.Action{keymap.Fork}},
			{keymap.Input, []keymap.Action{keymap.Back}},
			{keymap.Timeline, []keymap.Action{keymap.Restore}},
			{keymap.Confirm, []keymap.Action{keymap.PlanDetails, keymap.Bottom, keymap.Yes}},
		}
		check(t, "at first", p)
		for _, s := range steps {
			for _, a := range s.actions {
				p.Press(s.scope, a)
				check(t, a.String(), p)
			}
		}
		for _, a := range []keymap.Action{keymap.Journal, keymap.Back, keymap.Undo} {
			p.Press(keymap.Timeline, a)
			check(t, a.String(), p)
		}
		p.Press(keymap.Confirm, keymap.No)
		p.Resize(40, 8)
		check(t, "too small", p)
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("demo %dx%d", size.w, size.h), func(t *testing.T) {
			t.Parallel()
			o := options(demoStore(t))
			o.Session, o.Theme = sample.Trip, ascii
			o.Tour = &tui.Tour{Session: sample.Trip, At: sample.Cancelled, Text: "Here the cart was emptied."}
			walk(t, start(t, o, size.w, size.h))
		})
	}
	for name, d := range kept {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := copied(t, d)
			o := w.options(w.store())
			o.Theme = ascii
			walk(t, start(t, o, 100, 30))
		})
	}
	t.Run("lists", func(t *testing.T) {
		t.Parallel()
		o := options(demoStore(t))
		o.Theme = ascii
		p := start(t, o, 100, 30)
		check(t, "sessions", p)
		p.Press(keymap.Picker, keymap.Search)
		p.Type("pack")
		check(t, "filter", p)
	})
}

func TestScreen_everyLineIsAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	o := options(demoStore(t))
	o.Session = sample.Trip
	m, err := tui.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{60, 18}, {61, 19}, {99, 18}, {100, 18}, {101, 40}, {237, 61}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(m.View(), "\n")
		if len(lines) != size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for y, line := range lines {
			if w := ansi.StringWidth(line); w != size[0] {
				t.Errorf("%v: line %d is %d cells wide: %q", size, y, w, ansi.Strip(line))
			}
		}
	}
}
