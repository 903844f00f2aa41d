package messages

import (
	"bytes"
	"sync"

	"hindcast/store/media/tree"
)

// bodies are messages as they were when their files were read for headers, until the states
// that they are in are asked for: then a file need not be read and decoded once more. A body is
// given out once, since the one that asks for states keeps it, and only where the note of its
// file is recalled, which says that the file is as it was.
type bodies struct {
	mu   sync.Mutex
	of   map[string]readBody
	size int
}

// readBody is a body, and the stamp of the file that it was read from.
type readBody struct {
	at   tree.Stamp
	json []byte
}

// mostBodies bounds the bytes of bodies that a store holds: those of 10,000 messages of 3 kB.
// What comes when they are there is not held.
const mostBodies = 32 << 20

// keep holds the body of a file.
func (b *bodies) keep(name string, at tree.Stamp, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(name)
	if b.size+len(body) > mostBodies {
		return
	}
	if b.of == nil {
		b.of = map[string]readBody{}
	}
	b.of[name] = readBody{at, bytes.Clone(body)}
	b.size += len(body)
}

// has reports whether the body of a file is held.
func (b *bodies) has(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, held := b.of[name]
	return held
}

// take returns the body of a file that has a stamp, and lets go of it; nil for none.
func (b *bodies) take(name string, at tree.Stamp) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[name]
	b.drop(name)
	if !one.at.Is(at) {
		return nil
	}
	return one.json
}

func (b *bodies) drop(name string) {
	b.size -= len(b.of[name].json)
	delete(b.of, name)
}
