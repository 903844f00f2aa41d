package tui_test

import (
	"testing"

	"hindcast/keymap"
	"hindcast/store/kinds/gemini"
	"hindcast/store/storetest"
	"hindcast/tui"
)

// A session that its agent is about to delete: the list and the session warn, and one key plans
// a copy in both.
func TestSaveACopy(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) tui.Options {
		t.Helper()
		s, err := gemini.Kind(nil).Open(t.Context(), storetest.Copy(t, "../testdata/coding/gemini-cli"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return options(s)
	}
	const doomed = "13a0feae-a6d3-45e8-8c44-ecb24f563abc"
	t.Run("in the list", func(t *testing.T) {
		t.Parallel()
		p := start(t, open(t), 100, 30)
		p.Press(keymap.Picker, keymap.Search)
		p.Type("13a0feae")
		p.Press(keymap.Input, keymap.Back) // to its row
		shows(t, p, "! 1", "r save a copy")
		p.Press(keymap.Picker, keymap.Restore)
		shows(t, p, "fork "+doomed+" from #6", "the fork is a copy that stays")
		agree(t, p)
		shows(t, p, "✓ forked from #6 as")
		p.Press(keymap.Picker, keymap.MoveDown, keymap.MoveDown) // one without a fault
		lacks(t, p, "save a copy")
		p.Press(keymap.Picker, keymap.Undo)
		agree(t, p)
		shows(t, p, "is gone")
	})
	t.Run("in the session", func(t *testing.T) {
		t.Parallel()
		o := open(t)
		o.Session = doomed
		p := start(t, o, 100, 30)
		shows(t, p, "! 1 fault", "r save a copy", "f fork")
		lacks(t, p, "r restore")
		p.Press(keymap.Session, keymap.ShowInfo)
		shows(t, p, "the next start deletes", "the key r")
		p.Press(keymap.Session, keymap.Restore)
		shows(t, p, "fork "+doomed+" from #6")
		agree(t, p)
		shows(t, p, "✓ forked from #6 as")
	})
}

// In a kind that restores, the key of a restore has nothing to do in the list.
func TestSaveACopy_notWhereASessionIsRestored(t *testing.T) {
	t.Parallel()
	s := newAble(t)
	p := start(t, options(s), 100, 30)
	p.Press(keymap.Picker, keymap.Restore)
	shows(t, p, "no snapshot is selected")
}
