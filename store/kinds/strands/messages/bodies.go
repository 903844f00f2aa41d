package messages

import (
	"bytes"
	"sync"
)

// bodies are messages as they were when their files were read for headers, until the states
// that they are in are asked for: then a file need not be looked at, read and decoded once more.
// A body is given out once, since the one that asks for states keeps it. It is that of the listed
// id, whatever became of the file since.
type bodies struct {
	mu   sync.Mutex
	of   map[string]readBody
	size int
}

// readBody is a body, the note of its file, and the bytes of that.
type readBody struct {
	json, note []byte
	written    int64
}

// mostBodies bounds the bytes of bodies that a store holds: those of 100,000 messages of 600 B.
// What comes when they are there is not held.
const mostBodies = 64 << 20

// keep holds the body of a file, which it copies, and its note.
func (b *bodies) keep(name string, read readBody) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(name)
	if b.size+len(read.json) > mostBodies {
		return
	}
	if b.of == nil {
		b.of = map[string]readBody{}
	}
	read.json = bytes.Clone(read.json)
	b.of[name] = read
	b.size += len(read.json)
}

// take returns what was read of a file, and lets go of it. It reports false where nothing is held.
func (b *bodies) take(name string) (read readBody, held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read, held = b.of[name]
	b.drop(name)
	return read, held
}

func (b *bodies) drop(name string) {
	b.size -= len(b.of[name].json)
	delete(b.of, name)
}
