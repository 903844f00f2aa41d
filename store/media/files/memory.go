package files

import (
	"maps"
	"sync"
)

// Memory keeps what a kind made of each file of one store, so that a file is
// read again only when its stamp is another: see [Stamp.Same]. It is bounded.
// The zero Memory lives in this process only; one from a [Cache] may outlive it.
// It is safe for concurrent use.
type Memory struct {
	cache *Cache // nil for none
	kind  string
	store string // absolute address
	load  sync.Once
	// keeping is held while the notes are written to the cache.
	keeping sync.Mutex

	mu    sync.Mutex
	notes map[string]*note
	size  int // bytes that the notes take, see [note.size]
	// read is how much was read of files for notes that were not kept yet, in
	// bytes.
	read int64
	// pruned says that notes without a reader made room once.
	pruned bool
}

// note is the note of one file.
type note struct {
	stamp Stamp
	text  []byte
	// unused is how many processes in a row did not ask for it.
	unused int
}

const (
	// maxNotes bounds the notes of a store, in bytes: those of some 200,000
	// messages.
	maxNotes = 64 << 20
	// maxUnused is how many processes in a row may keep a note without asking for
	// it. So a session that is not opened for a while keeps its notes, and the notes
	// of a removed session are dropped at last.
	maxUnused = 8
)

// noteCost is about what a note takes besides its name and text, in bytes, in
// memory and where it is kept.
const noteCost = 128

func (n *note) size(name string) int { return noteCost + len(name) + len(n.text) }

// Recall returns the note of a file that has not changed since. The note must not be
// changed.
func (m *Memory) Recall(name string, at Stamp) (text []byte, ok bool) {
	m.load.Do(m.takeFromCache)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.notes[name]
	if n == nil {
		return nil, false
	}
	n.unused = 0
	if !n.stamp.Same(at) {
		return nil, false
	}
	return n.text, true
}

// Knows reports whether there is a note of a file, whatever became of the file
// since: without a note, the file need not be looked at before it is read.
func (m *Memory) Knows(name string) bool {
	m.load.Do(m.takeFromCache)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notes[name] != nil
}

// Note keeps what was made of a file that was looked at and then read. The
// caller may not write to text any more. What cannot be trusted later is not
// kept, nor are notes that do not fit: the file is read again then.
func (m *Memory) Note(name string, at Stamp, text []byte) {
	m.load.Do(m.takeFromCache)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropNote(name)
	if !at.settled {
		return
	}
	n := &note{stamp: at, text: text}
	if m.size+n.size(name) > maxNotes {
		m.pruneNotes()
	}
	if m.size+n.size(name) > maxNotes {
		return
	}
	if m.notes == nil {
		m.notes = make(map[string]*note)
	}
	m.notes[name] = n
	m.size += n.size(name)
	m.read += at.Size
}

func (m *Memory) dropNote(name string) {
	if n := m.notes[name]; n != nil {
		m.size -= n.size(name)
		delete(m.notes, name)
	}
}

// pruneNotes drops what earlier processes kept and this one did not ask for yet. It
// does so once: after that, all notes are of this process.
func (m *Memory) pruneNotes() {
	if m.pruned {
		return
	}
	m.pruned = true
	maps.DeleteFunc(m.notes, func(name string, n *note) bool {
		if n.unused > 0 {
			m.size -= n.size(name)
		}
		return n.unused > 0
	})
}
