package tui_test

import (
	"testing"
	"time"

	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/store/demo"
	"hindcast/tui/screentest"
	"hindcast/tui/screentest/picture"
	"hindcast/tui/theme"
)

// scene is one screen twice, in both themes: what is pressed is pressed in both.
type scene struct{ dark, light *screentest.Program }

// newScene opens the demo's session with branches on a terminal of w×h cells.
func newScene(t *testing.T, w, h int) *scene {
	t.Helper()
	open := func(p theme.Palette) *screentest.Program {
		o := options(demoStore(t))
		o.Session, o.Theme = demo.Trip, styles(p, termenv.TrueColor)
		return start(t, o, w, h)
	}
	return &scene{open(theme.Dark), open(theme.Light)}
}

func (s *scene) press(scope keymap.Scope, actions ...keymap.Action) {
	s.dark.Press(scope, actions...)
	s.light.Press(scope, actions...)
}

// frame returns what shows now, for a while.
func (s *scene) frame(d time.Duration) picture.Frame {
	return picture.Frame{Dark: s.dark.Picture(), Light: s.light.Picture(), For: d}
}

// The pictures are drawn from the screen that the tests see, so they cannot lie.
func TestPictures(t *testing.T) {
	t.Parallel()
	const title = "hindcast trips.db"
	s := newScene(t, 100, 28)
	s.press(keymap.Timeline, keymap.ShowDiff)
	screentest.GoldenPicture(t, "changed", title, s.frame(0))
	s.press(keymap.Timeline, keymap.Restore)
	screentest.GoldenPicture(t, "restore", title, s.frame(0))
	s.press(keymap.Confirm, keymap.Back)
	var frames []picture.Frame
	for range 4 {
		s.press(keymap.Timeline, keymap.MoveUp)
		frames = append(frames, s.frame(1200*time.Millisecond))
	}
	screentest.GoldenPicture(t, "travel", title, frames...)
}
