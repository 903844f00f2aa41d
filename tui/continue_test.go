package tui_test

import (
	"os"
	"path/filepath"
	"testing"

	"hindcast/keymap"
	"hindcast/store"
	"hindcast/store/kinds/claudecode"
	"hindcast/store/kinds/codex"
	"hindcast/store/kinds/openaiagents"
	"hindcast/store/storetest"
)

// A person goes on from a snapshot of Claude Code in Codex, and takes that back. The folder that was made for the plan goes
// with a No.
func TestContinue(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := claudecode.Kind(nil).Kind.Open(t.Context(), filepath.Join("..", "testdata", "coding", "claude-code", "projects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := options(s)
	o.Session = "9274231d-d69b-43e0-a377-784eb1749711"
	o.Around, o.Continuers = store.Surroundings{Home: home}, []store.Kind{codex.Kind(nil).Kind}
	p := start(t, o, 100, 40)

	p.Press(keymap.Timeline, keymap.Continue)
	shows(t, p, "Continue from #23 in another tool", "Codex")
	p.Press(keymap.ContinueMenu, keymap.Accept)
	shows(t, p, "8 messages: 8 texts", "stays behind:", "CODEX_HOME=")
	p.Press(keymap.Confirm, keymap.No)
	shows(t, p, "nothing was changed")
	p.WaitFor("the folder to go", func(string) bool {
		left, err := os.ReadDir(home)
		return err == nil && len(left) == 0
	})

	p.Press(keymap.Timeline, keymap.Continue)
	p.Press(keymap.ContinueMenu, keymap.Accept)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "continued")
	sessions := func() int {
		into, err := codex.Kind(nil).Kind.Open(t.Context(), filepath.Join(home, ".codex"))
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		return len(storetest.Sessions(t, into))
	}
	if n := sessions(); n != 1 {
		t.Errorf("Codex has %d sessions", n)
	}
	p.Press(keymap.Timeline, keymap.Undo)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "is gone")
	if n := sessions(); n != 0 {
		t.Errorf("Codex has %d sessions after an undo", n)
	}
}

// A kind without a usual place is asked for its file, which is made with the session. An undo leaves it without one.
func TestContinue_inAFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := claudecode.Kind(nil).Kind.Open(t.Context(), filepath.Join("..", "testdata", "coding", "claude-code", "projects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	o := options(s)
	o.Session = "9274231d-d69b-43e0-a377-784eb1749711"
	kind := openaiagents.Kind(nil, "").Kind
	o.Around, o.Continuers = store.Surroundings{Home: home, Work: home}, []store.Kind{kind}
	file := filepath.Join(home, "openai-agents.db")
	p := start(t, o, 120, 40)

	p.Press(keymap.Timeline, keymap.Continue)
	p.Press(keymap.ContinueMenu, keymap.Accept)
	shows(t, p, "its file")
	p.Press(keymap.Input, keymap.Accept)
	shows(t, p, "8 messages: 8 texts", "SQLiteSession(")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is there before the plan is agreed to")
	}
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "continued")
	sessions := func() int {
		into, err := kind.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		return len(storetest.Sessions(t, into))
	}
	if n := sessions(); n != 1 {
		t.Errorf("the file has %d sessions", n)
	}
	p.Press(keymap.Timeline, keymap.Undo)
	p.Press(keymap.Confirm, keymap.Yes)
	shows(t, p, "is gone")
	if n := sessions(); n != 0 {
		t.Errorf("the file has %d sessions after an undo", n)
	}
}
