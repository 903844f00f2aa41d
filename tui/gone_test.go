package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/query/ledger"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/kinds"
	"hindcast/store/storetest"
	"hindcast/tui/screentest"
)

// A session that is kept is listed when its file is gone, opens as any other, and r gives it back from the list.
func TestHome_gone(t *testing.T) {
	dir := storetest.Copy(t, filepath.Join("..", "testdata", "coding", "claude-code"))
	for _, other := range []string{"e3826403*", "e3e8e48f*", "b58a5d13*", "agent-*", "9274231d*", "8512ee6c*"} {
		paths, err := filepath.Glob(filepath.Join(dir, "projects", "-home-demo", other))
		if err != nil || len(paths) == 0 {
			t.Fatal(other, err)
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	archive := kinds.Archive(filepath.Join(t.TempDir(), "kept.db"), nil, "")
	t.Cleanup(func() {
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	})
	kind, _ := kinds.All(nil, "").FindKind("claude-code")
	if _, err := archive.Keep(t.Context(), store.Found{Identity: store.Identity{Kind: kind, At: dir}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "projects", "-home-demo", "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789.jsonl")
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	gone, err := archive.ListGone(t.Context())
	if err != nil || len(gone) != 1 {
		t.Fatal(gone, err)
	}
	o := options(nil)
	o.Ledger = ledger.New(nil)
	o.Home = home.FromFound(append(gone, store.Found{Identity: store.Identity{Kind: kind, At: dir}}))
	p := start(t, o, 160, 30)
	shows(t, p, "⌫ gone since ")
	for range 2 {
		if p.Press(keymap.Picker, keymap.Bottom); !selected(p, "⌫") {
			p.Press(keymap.Picker, keymap.Top)
		}
	}
	p.Press(keymap.Picker, keymap.Open)
	shows(t, p, "7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", "14 snapshots", "third question")
	p.Press(keymap.Timeline, keymap.Fork)
	shows(t, p, "its files are gone")
	p.Press(keymap.Timeline, keymap.Back)
	p.Press(keymap.Picker, keymap.Restore)
	shows(t, p, "give back 7ffd5cb9-ffe6-4e2c-bd4c-340dc7362789", "1 put back")
	agree(t, p)
	shows(t, p, "given back")
	if now, err := os.ReadFile(file); err != nil || string(now) != string(was) {
		t.Errorf("the file is not as it was: %v", err)
	}
	p.Press(keymap.Session, keymap.Undo)
	agree(t, p)
	shows(t, p, "undone: 7ffd5cb9")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is there still: %v", err)
	}
}

// selected reports whether the row under the cursor has a text.
func selected(p *screentest.Program, text string) bool {
	for line := range strings.Lines(p.Screen()) {
		if strings.Contains(line, "▌") {
			return strings.Contains(line, text)
		}
	}
	return false
}
