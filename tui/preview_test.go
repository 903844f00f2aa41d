package tui_test

import (
	"strings"
	"testing"
	"time"

	"hindcast/keymap"
	"hindcast/store/storetest/skip"
	"hindcast/tui/screentest"
)

// From 120 cells on, what the session under the cursor ends with stands beside the list. A key copies the call that
// resumes it, there and on a narrower screen.
func TestHome_preview(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	o, _ := codingHome(t)
	terminal := newSyncBuffer()
	o.Output = terminal
	p := start(t, o, 160, 40)
	shows(t, p, "Preview", "5 turns, 1 left off the path", "prompt   after revert", "answer   reply to: after revert", "codex resume")
	p.Press(keymap.Picker, keymap.Bottom)
	shows(t, p, "6 turns, $0.98", "this plan must be written in such a way", "Yes, that's a major benefit", "pi --session")
	lacks(t, p, "after revert")
	for range 10 {
		p.Press(keymap.Picker, keymap.MoveUp)
	}
	shows(t, p, "danger   the next start deletes this session")
	p.Press(keymap.Picker, keymap.Bottom)
	p.Press(keymap.Picker, keymap.YankCall)
	shows(t, p, "the resume call was sent to the terminal's clipboard")
	copied := terminal.String()
	p.Resize(119, 40)
	lacks(t, p, "Preview")
	p.Press(keymap.Picker, keymap.MoveUp, keymap.YankCall)
	shows(t, p, "the resume call was sent to the terminal's clipboard")
	for i, written := range []string{copied, strings.TrimPrefix(terminal.String(), copied)} {
		texts := clipboard(t, written)
		if want := []string{"pi --session ", "claude --resume "}[i]; len(texts) != 1 || !strings.Contains(texts[0], want) {
			t.Errorf("%q was copied, want %q", texts, want)
		}
	}
}

// A preview is read once the cursor rests, and one that was read shows at once.
func TestHome_previewWaitsForTheCursor(t *testing.T) {
	skip.Sequential(t)
	t.Parallel()
	const rests = 120 * time.Millisecond
	clock := &held{}
	o := newHouse(t).Options
	o.After = clock.after
	p := startBusy(t, o, 160, 30)
	read := func(selected, words string) {
		t.Helper()
		waitFor(t, p, "▌ "+selected)
		lacks(t, p, words)
		p.WaitFor("the wait", func(string) bool { return clock.waiting(rests) > 0 })
		clock.fire(rests)
		waitFor(t, p, words)
	}
	read("✗ x", "not read  ")
	p.Send(screentest.Key(t, "j"))
	read("09:00    memory     notes", "session  notes")
	p.Send(screentest.Key(t, "k"))
	waitFor(t, p, "not read  ")
	if n := clock.waiting(rests); n > 0 {
		t.Errorf("%d waits for a preview that was read", n)
	}
}
