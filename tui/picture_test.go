package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/fake"
)

// opener puts a program with the name of the system's viewer on the PATH. It returns the file to which the program
// writes its arguments.
func opener(t *testing.T) (seen string) {
	t.Helper()
	dir := t.TempDir()
	seen = filepath.Join(dir, "seen")
	script := fmt.Sprintf("#!/bin/sh\n{ stat -c %%a \"$1\" \"$(dirname \"$1\")\"; basename \"$1\"; od -An -c -N4 \"$1\"; } > '%[1]s.new'; mv '%[1]s.new' '%[1]s'\n", seen)
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return seen
}

// The picture at the cursor is opened from a file that only the person can read; o on another row is the key of
// sub-agents.
func TestPicture_opensInTheViewer(t *testing.T) {
	seen := opener(t)
	state, err := os.ReadFile(filepath.Join("messagestab", "testdata", "coding.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := fake.New()
	if _, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
		yield(store.Row{Header: model.Header{ID: model.SnapshotID(state), SessionID: "s", Visit: 1, Event: model.SnapshotEventTurnEnd, Head: true}, State: state}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	o := options(s)
	o.Session, o.Temp = "s", t.TempDir()
	p := start(t, o, 100, 30)
	p.Press(keymap.Timeline, keymap.ShowMessages, keymap.Open)
	p.Press(keymap.Messages, keymap.Top, keymap.OpenPicture)
	shows(t, p, "no sub-agent was started here")
	p.Press(keymap.Messages, keymap.MoveDown, keymap.MoveDown, keymap.MoveDown, keymap.MoveDown, keymap.OpenPicture)
	shows(t, p, "the picture is open in another window")
	p.WaitFor("the viewer to tell", func(string) bool { _, err := os.Stat(seen); return err == nil })
	told, err := os.ReadFile(seen)
	if got := strings.Join(strings.Fields(string(told)), " "); err != nil || got != "600 700 picture-1.png 211 P N G" {
		t.Errorf("the viewer got %q, %v", got, err)
	}
}
