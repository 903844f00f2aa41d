package tui_test

import (
	"path/filepath"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/store"
	"hindcast/store/kinds/strands/messages"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// strandsStore opens the sessions that the Strands SDK for Python wrote.
func strandsStore(t *testing.T) tui.Options {
	t.Helper()
	s, err := messages.Open(t.Context(), filepath.Join("..", "testdata", "strands", "python-file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(s)
	o.Now = func() time.Time { return time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC) }
	return o
}

// A person opens real sessions, picks one by a filter, goes to the step whose
// tools have not run, and looks at every tab.
func TestStrands_realSessions(t *testing.T) {
	t.Parallel()
	for _, screen := range []keymap.Action{keymap.None, keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowResume, keymap.ShowInfo} {
		t.Run(screen.String(), func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				p := start(t, strandsStore(t), w, h)
				if screen == keymap.None {
					p.Golden()
					return
				}
				openBasic(p)
				p.Press(keymap.Timeline, screen)
				p.Golden()
			})
		})
	}
}

// The header says which version of the SDK the screen is for: the newest where none was
// named.
func TestStrands_saysForWhichVersion(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		o := strandsStore(t)
		if o.Store.Features().Assume == nil {
			t.Fatal("the store knows no versions")
		}
		if any := start(t, o, w, h); w >= 100 {
			shows(t, any, "newest SDK")
		}
		for _, of := range []struct {
			version, shown string
			beside         int // the width from which a session's id leaves room for it
		}{{"1.14.0", "1.14, older than 1.34: its rules are not known", 200}, {"1.40.0", "1.40", 100}} {
			o = strandsStore(t)
			if err := o.Store.Features().Assume(store.Release{SDK: "strands-python", Version: of.version, From: "uv.lock"}); err != nil {
				t.Fatal(err)
			}
			p := start(t, o, w, h)
			if w >= 100 {
				shows(t, p, "strands-python "+of.shown+" (from uv.lock)")
			}
			openBasic(p)
			shows(t, p, "basic")
			if w >= of.beside {
				shows(t, p, "strands-python "+of.shown)
			}
		}
	})
}

// openBasic opens a session by a filter and goes to #7.
func openBasic(p *screentest.Program) {
	p.Press(keymap.Picker, keymap.Search)
	p.Type("basic")
	p.Press(keymap.Input, keymap.Accept)
	for range 6 {
		p.Press(keymap.Timeline, keymap.MoveUp)
	}
}
