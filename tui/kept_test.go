package tui_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hindcast/keymap"
	"hindcast/store/kinds/strands/messages"
	"hindcast/tui"
)

// strandsCopy opens a session of a copy of the fixtures, which may be written to.
func strandsCopy(t *testing.T, fixture, session string) tui.Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "testdata", "strands", fixture))); err != nil {
		t.Fatal(err)
	}
	// The record of an orchestrator has the time of its file.
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, now, now))
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := messages.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := options(s)
	o.Session = session
	return o
}

// What a session keeps once was not added by its newest snapshot: not as it lies
// there, and not after a restore, nor does the plan of one say that it goes.
func TestKeptOnce_messageLog(t *testing.T) {
	t.Parallel()
	p := start(t, strandsCopy(t, "python-file", "basic"), 230, 50)
	p.Press(keymap.Timeline, keymap.ShowDiff)
	line := "state, conversation_manager_state, interrupt_state, model_state: "
	lacks(t, p, "favorite_city", "SlidingWindow")
	shows(t, p, "#12 → #13", "+1  ~0  −0", line+"kept once, known only as of now")

	p.Press(keymap.Timeline, keymap.ShowState)
	shows(t, p, "favorite_city", line+"kept once, as of now")
	p.Press(keymap.Timeline, keymap.MoveUp)
	lacks(t, p, "favorite_city  ", "SlidingWindow")
	shows(t, p, line+"not recorded here (kept once, as of now)")

	for range 6 { // the row of #10 stands for #9
		p.Press(keymap.Timeline, keymap.MoveUp)
	}
	p.Press(keymap.Timeline, keymap.Restore)
	shows(t, p, "state    −8 messages  ")
	p.Press(keymap.Confirm, keymap.PlanDetails)
	shows(t, p, "against the head: 0 added, 0 changed, 8 removed", "known only as of now")
	lacks(t, p, "- /state")
	agree(t, p)
	p.Press(keymap.Timeline, keymap.ShowDiff)
	shows(t, p, "head #5", "#4 → #5", "+1  ~0  −0", line+"kept once, known only as of now")
	lacks(t, p, "favorite_city", "SlidingWindow")
}

// The record of a Graph is its last node's no more than that of any other.
func TestKeptOnce_graph(t *testing.T) {
	t.Parallel()
	for _, tab := range []keymap.Action{keymap.ShowDiff, keymap.ShowState} {
		t.Run(tab.String(), func(t *testing.T) {
			atSizes(t, func(t *testing.T, w, h int) {
				p := start(t, strandsCopy(t, "python-multiagent", "graph_done"), w, h)
				p.Press(keymap.Timeline, keymap.MoveUp, keymap.MoveDown, tab)
				p.Golden()
				shows(t, p, "status", "once")
				if tab == keymap.ShowDiff {
					lacks(t, p, `completed_nodes  [`, `"completed"`)
				}
			})
		})
	}
}
