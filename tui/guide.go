package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
)

// A guide is a list that leads to snapshots: the answers to a question, or what two lines did
// since they parted. It stands in the place of the tabs; the timeline goes along with its
// cursor. Enter stays there, in the tab that showed before; Esc goes back.
type guide interface {
	tabPane
	// Node is the snapshot under the cursor, or model.NoNode.
	Node() model.Node
}

// The places of the guides, behind the tabs that have names.
const (
	namedTabs  = 7
	answerTab  = namedTabs
	partingTab = namedTabs + 1
)

// spot is where the person is in a session: a tab, a box, and a snapshot of a timeline.
type spot struct {
	tab   int
	focus focus
	node  model.Node
	of    *model.Timeline
}

// showGuide shows a guide, and remembers where the person was.
func (m *Model) showGuide(tab int) {
	if m.current < namedTabs {
		m.from = spot{m.current, m.focus, m.timeline.SelectedNode(), m.timeline.Timeline()}
	}
	m.showTab(tab)
	m.focusOn(onTab)
}

// doInGuide carries out an action while a guide has the keys. ok is false for an action that a guide does not
// change.
func (m *Model) doInGuide(a keymap.Action) (cmd tea.Cmd, ok bool) {
	g := m.tabs[m.current].pane.(guide)
	switch a {
	case keymap.Open:
		return m.openFromGuide(), true
	case keymap.Back:
		if m.tasks[asking].running && m.tasks[asking].slow {
			return nil, false // which ends the question, and its answers stay
		}
		m.leaveGuide()
		return nil, true
	}
	if !g.Do(a) {
		return nil, false
	}
	m.timeline.Select(g.Node())
	return nil, true
}

// openFromGuide goes to the snapshot under the guide's cursor, in the tab that showed before.
func (m *Model) openFromGuide() tea.Cmd {
	answers := m.current == answerTab
	m.timeline.Select(m.tabs[m.current].pane.(guide).Node())
	m.showTab(m.from.tab)
	m.focusOn(m.from.focus)
	if answers {
		if a, is := m.answers.SelectedAnswer(); is && a.Show != keymap.None {
			m.showTab(tabOf(a.Show))
		}
		return m.goToAnswer()
	}
	return nil
}

// leaveGuide goes back to where the person was before.
func (m *Model) leaveGuide() {
	m.stop(asking)
	m.answers.End()
	m.showTab(m.from.tab)
	m.focusOn(m.from.focus)
	if m.from.of == m.timeline.Timeline() {
		m.timeline.Select(m.from.node)
	}
}
