package files

import "sync"

// Memory keeps what a kind made of each file of one store, so that a file is
// read again only when its stamp is another. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	notes map[string]note
}

type note struct {
	stamp Stamp
	text  []byte
}

// Recall gives the note of a file that has not changed since.
func (m *Memory) Recall(name string, at Stamp) (text []byte, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.notes[name]
	if !ok || !n.stamp.Same(at) {
		return nil, false
	}
	return n.text, true
}

// Note keeps what was made of a file that was read while it had the stamp. The
// caller may not write to text any more.
func (m *Memory) Note(name string, at Stamp, text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes == nil {
		m.notes = make(map[string]note)
	}
	m.notes[name] = note{at, text}
}
