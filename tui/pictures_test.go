package tui_test

import (
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/sample"
	"hindcast/store/storetest/fake"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
	"hindcast/tui/screentest/picture"
	"hindcast/tui/theme"
)

// trips is the demo as a store of its own: the pictures show what a person sees who
// opens it by its name.
type trips struct{ *fake.Store }

func (trips) Address() string { return "trips.db" }

// scene is one screen twice, in both themes: what is pressed is pressed in both.
type scene struct {
	t           *testing.T
	dark, light *screentest.Program
	frames      []picture.Frame
}

// newScene opens a session of the demo on a terminal of w×h cells.
func newScene(t *testing.T, session string, w, h int) *scene {
	t.Helper()
	return newSceneOf(t, func() store.Store { return trips{demoStore(t)} }, session, w, h)
}

// newSceneOf opens a session of a store on a terminal of w×h cells.
func newSceneOf(t *testing.T, open func() store.Store, session string, w, h int) *scene {
	t.Helper()
	opened := func(p theme.Palette) *screentest.Program {
		o := options(open())
		o.Session, o.Theme = session, styles(p, termenv.TrueColor)
		return start(t, o, w, h)
	}
	return &scene{t: t, dark: opened(theme.Dark), light: opened(theme.Light)}
}

// newSceneOfHome opens the home of the front page.
func newSceneOfHome(t *testing.T, columns, rows int) *scene {
	t.Helper()
	opened := func(p theme.Palette) *screentest.Program {
		o := options(nil)
		h, sums, list := picturedHome(t)
		o.Home, o.Ledger, o.Prices, o.Currency = h, sums, list, list.Currency
		o.Theme = styles(p, termenv.TrueColor)
		return start(t, o, columns, rows)
	}
	return &scene{t: t, dark: opened(theme.Dark), light: opened(theme.Light)}
}

// people is what Claude Code keeps of a person, as a store: the picture shows it by its name.
type people struct{ *chat.Store }

func (people) Address() string { return "~/.claude" }

// openClaude opens real sessions of Claude Code, below testdata.
func openClaude(t *testing.T, name string) store.Store {
	t.Helper()
	s, err := claudecode.Kind(nil).Open(t.Context(), "../testdata/"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it was only read
	return people{s.(*chat.Store)}
}

// press presses keys, and takes no picture.
func (s *scene) press(scope keymap.Scope, actions ...keymap.Action) *scene {
	s.t.Helper()
	s.dark.Press(scope, actions...)
	s.light.Press(scope, actions...)
	return s
}

// stay takes a picture of what shows now, for a while. The screen must have some
// texts, so that a scene does not lose its point in silence.
func (s *scene) stay(d time.Duration, texts ...string) *scene {
	s.t.Helper()
	shows(s.t, s.dark, texts...)
	s.frames = append(s.frames, picture.Frame{Dark: s.dark.Picture(), Light: s.light.Picture(), For: d})
	return s
}

// golden holds the pictures that were taken to the file of that name.
func (s *scene) golden(name string) {
	s.t.Helper()
	screentest.GoldenPicture(s.t, name, "hindcast trips.db", s.frames...)
}

// The pictures of the front page are drawn from the screen that the tests see, so
// they cannot lie. Each shows one thing; the first is a short scene.
func TestPictures(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const w, h = 100, 28
	const glance, read = 1500 * time.Millisecond, 3500 * time.Millisecond
	abandoned := []keymap.Action{keymap.PrevBranch} // from the head: the tip of the last branch

	t.Run("scene", func(t *testing.T) {
		s := newScene(t, sample.Trip, w, h)
		s.stay(glance, "head #13").press(keymap.Session, abandoned...).stay(read, "left by a restore to #10")
		s.press(keymap.Session, keymap.CompareHead, keymap.CompareHead).stay(read, "#13")
		s.press(keymap.Session, keymap.Parent, keymap.Parent).stay(glance)
		s.press(keymap.Session, keymap.Restore).stay(read, "restore trip-planner to #10")
		s.press(keymap.Confirm, keymap.Yes).stay(read, "at #10")
		s.press(keymap.Session, keymap.Undo).stay(glance, "undo")
		s.press(keymap.Confirm, keymap.Yes).stay(read, "undone")
		s.golden("scene")
	})
	t.Run("home", func(t *testing.T) {
		s := newSceneOfHome(t, w, 18)
		s.stay(0, "6 in 3 stores", "Customers get the same webhook twice", "payments-api", "3 turns").golden("home")
	})
	t.Run("search", func(t *testing.T) {
		s := newSceneOfHome(t, w, 22)
		s.press(keymap.Picker, keymap.Search)
		for _, p := range []*screentest.Program{s.dark, s.light} {
			p.Type("webhook")
			waitFor(t, p, "6 sessions searched")
		}
		s.stay(0, "said", "◆ assistant", "a webhook is delivered once", "[all sessions]").golden("search")
	})
	t.Run("thrown-away", func(t *testing.T) {
		s := newScene(t, sample.Trip, w, h)
		s.press(keymap.Session, abandoned...).press(keymap.Session, keymap.Parent)
		s.stay(0, "cancel_all", "left by a restore to #10").golden("thrown-away")
	})
	t.Run("changed", func(t *testing.T) {
		s := newScene(t, sample.Trip, w, h)
		s.press(keymap.Session, abandoned...).press(keymap.Session, keymap.CompareHead, keymap.CompareHead)
		s.stay(0, "total").golden("changed")
	})
	t.Run("asked", func(t *testing.T) {
		s := newScene(t, sample.Trip, w, h)
		s.press(keymap.Session, keymap.ShowState).press(keymap.Timeline, keymap.Open)
		for _, p := range []*screentest.Program{s.dark, s.light} {
			p.Key("/")
			p.Type("total")
			p.Key("enter")
		}
		s.press(keymap.Session, keymap.History).stay(0, "~ 180.5 → 420.5", "◌ #11.1").golden("asked")
	})
	t.Run("brought-back", func(t *testing.T) {
		s := newSceneOf(t, func() store.Store { return openClaude(t, "coding/claude-code") }, "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", w, h)
		s.press(keymap.Session, keymap.PrevBranch, keymap.ShowMessages)
		s.stay(0, "cut off by a rewind to #1", "reply to: third question", "f fork").golden("brought-back")
	})
	t.Run("restore", func(t *testing.T) {
		s := newScene(t, sample.Trip, w, h)
		s.press(keymap.Session, keymap.NextError, keymap.Parent, keymap.Restore)
		s.stay(0, string(model.OpRestore)+" trip-planner to #2").golden("restore")
	})
	t.Run("context", func(t *testing.T) {
		s := newSceneOf(t, func() store.Store { return openClaude(t, "files/claude-code") }, "11111111-2222-4333-8444-555555555555", w, 36)
		s.press(keymap.Session, keymap.ShowContext).press(keymap.Timeline, keymap.Open).press(keymap.Tab, keymap.Zoom)
		s.stay(0, "proven", "kept 0 of 21, dropped 21, new 5", "what the model no longer saw").golden("context")
	})
}
