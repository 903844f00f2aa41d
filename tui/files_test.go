package tui_test

import (
	"testing"

	"hindcast/keymap"
)

// The Files tab has the patches of the snapshot, of the folded turn, or of the way to another one, and the column of
// changes the lines of each row.
func TestFiles_ofRealSessions(t *testing.T) {
	t.Parallel()
	p := start(t, recordedSession(t, "files/claude-code", "21111111-2222-4333-8444-555555555555"), 160, 40)
	p.Press(keymap.Timeline, keymap.ShowFiles)
	shows(t, p, "[Files]", "#22 → #23  no change of a file is recorded")
	p.Press(keymap.Timeline, keymap.Lines, keymap.StepBack, keymap.StepBack, keymap.StepBack, keymap.StepBack)
	shows(t, p, "#17 → #18  15 files  +2 −3", "> a.txt → c.txt", "? 11 more files  not recorded", "+1 −1  +4s", "+2 −3  +8s")
	p.Press(keymap.Timeline, keymap.Fold)
	shows(t, p, "#15 → #19  15 files  +2 −3") // of the turn
	p.Press(keymap.Timeline, keymap.GoHead, keymap.Mark, keymap.Top, keymap.Compare, keymap.ShowFiles)
	shows(t, p, "undone: Bash", "+ b.txt", "- n1.txt", "> c.txt → a.txt")

	p = start(t, recordedSession(t, "files/odd", "41111111-2222-4333-8444-555555555555"), 120, 30)
	p.Press(keymap.Timeline, keymap.ShowFiles, keymap.StepBack)
	shows(t, p, "▾ ~ notes.txt  +1 −1  Edit", "-two", "+TWO")
	p.Press(keymap.Timeline, keymap.Open)
	p.Press(keymap.Tab, keymap.MoveDown, keymap.History)
	shows(t, p, "Changes of /home/demo/notes/notes.txt", "created  +2  Write", "changed  +1 −1  Edit", "3 of 3")
}

// The file under the cursor leads to every step of every session that touched it, and each of them to its snapshot.
func TestFiles_leadToAllSessions(t *testing.T) {
	t.Parallel()
	p := start(t, recordedSession(t, "files/odd", "41111111-2222-4333-8444-555555555555"), 120, 30)
	p.Press(keymap.Timeline, keymap.ShowFiles, keymap.StepBack)
	shows(t, p, "▾ ~ notes.txt  +1 −1  Edit")
	p.Press(keymap.Timeline, keymap.Open)
	p.Press(keymap.Tab, keymap.Top)
	p.Press(keymap.Files, keymap.TraceFile)
	shows(t, p, "no file is under the cursor")
	p.Press(keymap.Tab, keymap.MoveDown)
	p.Press(keymap.Files, keymap.TraceFile)
	shows(t, p, "file:/home/demo/notes/notes.txt", "notes/notes.txt created +2 Write", "notes/notes.txt changed +1 −1 Edit", "3 hits in 1 session")
	p.Press(keymap.Input, keymap.MoveDown, keymap.Accept)
	shows(t, p, "[Files]", "+ notes.txt  +2  Write")
}
