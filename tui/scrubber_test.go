package tui_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"hindcast/keymap"
	"hindcast/store/sample"
	"hindcast/tui/screentest"
	"hindcast/tui/theme"
)

// line returns line y of the screen.
func line(p *screentest.Program, y int) string { return strings.Split(p.Screen(), "\n")[y] }

// The pace of playing changes without stopping it, from the next step on, and the
// scrubber shows it for as long as the session is played.
func TestScrubber_pace(t *testing.T) {
	t.Parallel()
	clock := &held{}
	o := options(demoStore(t))
	o.Session = sample.Trip
	beats := []time.Duration{4 * beat, 2 * beat, beat, beat / 2, beat / 4, beat / 8}
	o.After = func(d time.Duration) <-chan time.Time {
		if slices.Contains(beats, d) {
			return clock.after(d)
		}
		return fired(d)
	}
	p := start(t, o, 100, 30)
	plays := func(d time.Duration, pace, row string) {
		t.Helper()
		p.WaitFor("a beat", func(string) bool { return clock.waiting(d) > 0 })
		waitFor(t, p, "\n playing "+pace+" ")
		clock.fire(d)
		waitFor(t, p, row)
	}
	lacks(t, p, "paused")
	p.Send(screentest.Key(t, " "))
	waitFor(t, p, "playing; + - set the pace, any other key stops")
	plays(beat, "1×", "▌ ▾    1")
	p.WaitFor("a beat", func(string) bool { return clock.waiting(beat) > 0 })
	p.Send(screentest.Key(t, "+"))
	plays(beat/2, "2×", "▌ ○    2")
	for range 5 {
		p.Send(screentest.Key(t, "+"))
	}
	waitFor(t, p, "playing 8×")
	plays(beat/8, "8×", "▌ ▾    3")
	for range 9 {
		p.Send(screentest.Key(t, "-"))
	}
	waitFor(t, p, "playing 0.25×")
	plays(4*beat, "0.25×", "▌ ○    4")
	p.Key(",") // a single frame back, and the session is played no longer
	shows(t, p, "▌ ▾    3")
	lacks(t, p, "playing", "paused")
	p.Press(keymap.Timeline, keymap.ShowInfo, keymap.Faster) // the Diff tab has a use for the key
	shows(t, p, "a session is played at 0.5×")
	p.Key(".")
	shows(t, p, "▌ ○    4")
	for _, d := range beats {
		clock.fire(d) // no command waits for those that the keys cut short
	}
	p.Press(keymap.Timeline, keymap.Scrubber)
	p.Send(screentest.Key(t, " "))
	plays(2*beat, "0.5×", "▌ ○    5")
	p.Key(" ")
	if got := line(p, 1); !strings.HasPrefix(got, " paused 0.5× ") {
		t.Errorf("stopped: %q", got)
	}
}

func TestScrubber_sizes(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := trip(t, w, h)
		p.Press(keymap.Timeline, keymap.Scrubber, keymap.PrevBranch, keymap.PrevBranch)
		p.Golden()
		p.Press(keymap.Timeline, keymap.Open, keymap.Zoom)
		shows(t, p, " paused 1×")
		p.Press(keymap.Diff, keymap.Zoom, keymap.Back, keymap.Scrubber)
		lacks(t, p, " paused")
		before := p.Screen()
		p.Press(keymap.Timeline, keymap.Scrubber, keymap.Scrubber)
		if p.Screen() != before {
			t.Errorf("shown and hidden again:\n%s\nbefore:\n%s", p.Screen(), before)
		}
	})
	t.Run("ascii", func(t *testing.T) {
		t.Parallel()
		o := options(demoStore(t))
		o.Session = sample.Trip
		o.Theme = theme.New(theme.Choice{Palette: theme.None, Profile: termenv.Ascii, Glyphs: theme.ASCII})
		p := start(t, o, 60, 18)
		p.Press(keymap.Timeline, keymap.Scrubber, keymap.PrevBranch, keymap.PrevBranch)
		if got, want := line(p, 1), " paused 1x     #####x###+####'########*-----'----@ 12:06:44"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// The mouse moves the cursor in the scrubber, also while it is held and leaves the row; the
// border is moved only where it was taken.
func TestScrubber_mouse(t *testing.T) {
	t.Parallel()
	p := trip(t, 100, 30)
	p.Press(keymap.Timeline, keymap.Scrubber)
	was := border(p, 2)
	mouse := func(x, y int, action tea.MouseAction, row string) {
		t.Helper()
		p.Send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: action})
		p.Idle()
		shows(t, p, row)
	}
	at := func(glyph string) int {
		t.Helper()
		before, _, found := strings.Cut(line(p, 1), glyph)
		if !found {
			t.Fatalf("no %s: %s", glyph, line(p, 1))
		}
		return len([]rune(before))
	}
	mouse(at("✗"), 1, tea.MouseActionPress, "▌ ▾    3")
	mouse(at("┬"), 1, tea.MouseActionMotion, "▌ ○    5")
	mouse(at("┴"), 9, tea.MouseActionMotion, "▌ │ ◌  7.1")
	mouse(2, 0, tea.MouseActionMotion, "▌ ○    0")
	mouse(99, 0, tea.MouseActionRelease, "▌ ○    0")
	mouse(at("◉"), 1, tea.MouseActionMotion, "▌ ○    0") // it was let go
	mouse(at("◉"), 1, tea.MouseActionPress, "▌ ◉   13")
	if got := border(p, 2); got != was {
		t.Errorf("the border went from %d to %d", was, got)
	}
	mouse(was, 1, tea.MouseActionPress, " paused") // above the border
	mouse(40, 5, tea.MouseActionMotion, " paused")
	if got := border(p, 2); got != was {
		t.Errorf("the border went from %d to %d", was, got)
	}
	p.Press(keymap.Timeline, keymap.Back) // in the list it does not show
	lacks(t, p, "paused")
}
