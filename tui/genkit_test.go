package tui_test

import (
	"path/filepath"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/store/kinds/genkit"
	"hindcast/tui"
	"hindcast/tui/screentest"
)

// genkitStore opens the sessions of an agent that Genkit's SDK for Go ran, with
// the traces of its turns.
func genkitStore(t *testing.T) tui.Options {
	t.Helper()
	now := func() time.Time { return time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC) }
	s, err := genkit.Options{Now: now}.Open(t.Context(), filepath.Join("..", "testdata", "genkit", "stepsproject-go-1.13.1", ".genkit", "snapshots", "planner"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(s)
	o.Now = now
	return o
}

// openTrip opens the session with a step of every kind.
func openTrip(p *screentest.Program) {
	p.Press(keymap.Picker, keymap.Search)
	p.Type("trip")
	p.Press(keymap.Input, keymap.Accept)
}

// A person opens a session of Genkit, sees that its turns have steps, opens those
// of a turn that failed, and looks at what the step did in every tab.
func TestGenkit_stepsOfATurn(t *testing.T) {
	t.Parallel()
	for _, screen := range []keymap.Action{keymap.None, keymap.Unfold, keymap.ShowDiff, keymap.ShowState, keymap.ShowMessages, keymap.ShowInfo} {
		t.Run(screen.String(), func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				p := start(t, genkitStore(t), w, h)
				openTrip(p)
				if screen == keymap.None {
					p.Golden()
					return
				}
				p.Press(keymap.Timeline, keymap.StepBack, keymap.Unfold, keymap.StepBack)
				if screen != keymap.Unfold {
					p.Press(keymap.Timeline, screen)
				}
				p.Golden()
			})
		})
	}
}

// The facts of a snapshot are those of its row and of its trace.
func TestGenkit_factsOfASnapshot(t *testing.T) {
	t.Parallel()
	atSizes(t, func(t *testing.T, w, h int) {
		p := start(t, genkitStore(t), w, h)
		openTrip(p)
		p.Press(keymap.Timeline, keymap.StepBack, keymap.ShowInfo)
		p.Golden()
	})
}
