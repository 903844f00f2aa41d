package files

// Knows reports whether there is a note of a file, whatever became of the file
// since: where there is none, the file need not be looked at before it is read.
func (m *Memory) Knows(name string) bool {
	m.load.Do(m.takeFromShelf)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notes[name] != nil
}
