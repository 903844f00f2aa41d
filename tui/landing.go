package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
)

// goTo goes to a snapshot of a session of the store.
func (m *Model) goTo(session string, ref model.Ref) tea.Cmd {
	var open tea.Cmd
	if session != m.session {
		open = m.openSession(session)
	}
	m.landing = ref
	m.landAtTarget()
	return open
}

// landAtTarget goes to the snapshot that the person wanted to go to, once the session that has it is
// read so far.
func (m *Model) landAtTarget() {
	if m.landing == (model.Ref{}) {
		return
	}
	t := m.timeline.Timeline()
	for n := model.Node(t.Len()) - 1; n >= 0; n-- {
		if t.Header(n).Ref() == m.landing {
			m.timeline.Select(n)
			m.landing = model.Ref{}
			return
		}
	}
}
