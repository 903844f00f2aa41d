package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/store"
)

// cross goes to the session of the sub-agent that the snapshot under the cursor started, or
// from such a session back to that snapshot.
func (m *Model) cross() tea.Cmd {
	s, ref := m.o.Store, m.subject().ref
	return m.start(crossing, "looking for a sub-agent", func(ctx context.Context, gen uint64, _ *progress) tea.Msg {
		to, err := store.Across(ctx, s, ref)
		return crossedMsg{gen, to, err}
	})
}

// crossed shows the place, once it was found.
func (m *Model) crossed(msg crossedMsg) tea.Cmd {
	if !m.finish(crossing, msg.gen) {
		return nil
	}
	switch {
	case msg.err != nil:
		m.fail(msg.err)
	case msg.to.Session == "":
		m.say("no sub-agent was started here")
	case msg.to.ID == "":
		return m.openSession(msg.to.Session)
	default:
		return m.goTo(msg.to.Session, model.Ref{Session: msg.to.Session, ID: msg.to.ID})
	}
	return nil
}
