package tui_test

import (
	"testing"

	"hindcast/keymap"
	"hindcast/store"
	"hindcast/store/sample"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// touring opens the demo as it is opened where there is no store.
func touring(t *testing.T, s store.Store, w, h int) *screentest.Program {
	t.Helper()
	o := options(s)
	o.Session, o.Tour = sample.Trip, &tui.Tour{Session: sample.Trip, At: sample.Cancelled, Text: "Here the cart was emptied."}
	return start(t, o, w, h)
}

// The demo says that it is one, begins where something went wrong, and says what to
// try, until a key hides that.
func TestTour(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := touring(t, demoStore(t), w, h)
		p.Golden()
		shows(t, p, "DEMO", "Here the cart was emptied.", "K J walk", "r put the agent back", "T hides", "▌ │ ▿ 11", "left by a restore to #10")
		p.Press(keymap.Timeline, keymap.HideTour)
		lacks(t, p, "Here the cart was emptied.", "T hides")
		shows(t, p, "DEMO", "r restore")
		p.Press(keymap.Timeline, keymap.HideTour)
		if got := lastLine(p); got != "hide the tour: no tour shows" {
			t.Errorf("the footer says %q", got)
		}
	})
}

// The first restore ends the tour; what is done by then is the tour.
func TestTour_endsWithARestore(t *testing.T) {
	t.Parallel()
	s := demoStore(t)
	p := touring(t, s, 100, 30)
	p.Press(keymap.Timeline, keymap.Help)
	p.Press(keymap.Manual, keymap.Back)
	shows(t, p, "T hides")
	p.Press(keymap.Timeline, keymap.Parent, keymap.Restore)
	p.Press(keymap.Confirm, keymap.Yes)
	if got := head(t, s, sample.Trip); got != "#10" {
		t.Errorf("head %s", got)
	}
	lacks(t, p, "T hides")
	shows(t, p, "✓ at #10")
}
