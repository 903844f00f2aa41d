package tui

import tea "github.com/charmbracelet/bubbletea"

// Crash returns the panic that ends the program, for tests; nil without one.
func (m *Model) Crash() error {
	if m.crash == nil {
		return nil
	}
	return m.crash
}

// Recoloured returns the message that the answer of a terminal about its background is.
func (m *Model) Recoloured(light bool) tea.Msg {
	return fact(func() tea.Cmd {
		m.recolour(light)
		return nil
	})
}
