package tui_test

import (
	"testing"

	"hindcast/keymap"
)

// From the row that started a sub-agent o goes to its session, and from there back to that row.
func TestAcross(t *testing.T) {
	t.Parallel()
	o := options(openClaude(t, "coding/claude-code"))
	o.Session = "e3e8e48f-7fa6-465a-9f40-10a54f2d345e"
	p := start(t, o, 100, 30)
	p.Press(keymap.Session, keymap.Across)
	shows(t, p, "no sub-agent was started here")
	p.Press(keymap.Timeline, keymap.Top, keymap.MoveDown, keymap.MoveDown, keymap.MoveDown)
	shows(t, p, "→ agent-a1a2")
	p.Press(keymap.Session, keymap.Across)
	shows(t, p, "4 snapshots", "/agent-a")
	p.Press(keymap.Session, keymap.Across)
	shows(t, p, "17 snapshots", "4 of 17", "turn 1")
}
