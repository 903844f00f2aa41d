package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/parting"
)

// showsTwoLines reports whether a comparison with the head shows two lines: the snapshot under the
// cursor is on a branch, and neither these show already nor the diff with the head.
func (m *Model) showsTwoLines() bool {
	t := m.timeline.Timeline()
	shows := m.current == partingTab || m.against == theHead && m.current == tabOf(keymap.ShowDiff)
	return !shows && t.Head() != model.NoNode && !t.OnPath(m.timeline.SelectedNode())
}

// showParting shows what the branch of the snapshot under the cursor did since it left the
// active path, beside what the path did.
func (m *Model) showParting() tea.Cmd {
	t := m.timeline.Timeline()
	tip := tipOf(t, m.timeline.SelectedNode())
	head, states, lent := t.Head(), m.states, m.lendTimeline()
	return m.startLent(comparing, "comparing two lines", lent, func(ctx context.Context, _ *progress) fact {
		content := parting.Prepare(t, tip, head)
		plan := model.Plan{Session: t.Header(head).SessionID, Head: t.Header(head).Point(), Target: t.Header(tip).Point()}
		content.Words = stateChange(ctx, states, &plan).Brief
		return func() tea.Cmd {
			m.showLines(content)
			return nil
		}
	})
}

// tipOf returns the end of the line that a visit is on.
func tipOf(t *model.Timeline, n model.Node) model.Node {
	for next := n; next != model.NoNode; next = t.Next(next) {
		n = next
	}
	return n
}

// showLines shows two lines that parted.
func (m *Model) showLines(content *parting.Content) {
	if content.Timeline != m.timeline.Timeline() {
		return
	}
	m.parting.Set(content, m.timeline.SelectedNode())
	m.showGuide(partingTab)
	m.timeline.Select(m.parting.Node())
}
