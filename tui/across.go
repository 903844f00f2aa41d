package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/store"
)

// crossSessions goes to the session of the sub-agent that the snapshot under the cursor started, or
// from such a session back to that snapshot.
func (m *Model) crossSessions() tea.Cmd {
	s, ref := m.o.Store, m.subject().ref
	return m.start(crossing, "looking for a sub-agent", func(ctx context.Context, _ *progress) fact {
		to, err := store.MeetingPoint(ctx, s, ref)
		return func() tea.Cmd { return m.showCrossing(to, err) }
	})
}

// showCrossing shows the place where the session of a sub-agent meets another, once it was found.
func (m *Model) showCrossing(to model.Ref, err error) tea.Cmd {
	switch {
	case err != nil:
		m.fail(err)
	case to.Session == "":
		m.say("no sub-agent was started here")
	case to.ID == "":
		return m.openSession(to.Session)
	default:
		return m.goTo(to.Session, model.Ref{Session: to.Session, ID: to.ID})
	}
	return nil
}
