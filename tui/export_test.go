package tui

// Crash returns the panic that ends the program, for tests; nil without one.
func (m *Model) Crash() error {
	if m.crash == nil {
		return nil
	}
	return m.crash
}
