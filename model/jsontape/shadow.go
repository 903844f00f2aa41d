package jsontape

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// Shadowed reports whether n is a member of an object in which a later member
// has the same key, so that encoding/json would not see it.
func (t *Tape) Shadowed(n Node) bool {
	if len(t.shadowed) == 0 {
		return false
	}
	_, found := slices.BinarySearch(t.shadowed, n)
	return found
}

// HasShadowed reports whether there are duplicate keys anywhere.
func (t *Tape) HasShadowed() bool { return len(t.shadowed) > 0 }

// shadows looks for duplicate keys. It is asked for each object when that ends,
// while its keys are at hand.
type shadows struct {
	found  []Node
	keys   [][]byte
	hashes []uint64
}

// look notes the shadowed members of the object n.
func (s *shadows) look(data []byte, nodes []node, n Node) {
	s.keys = s.keys[:0]
	var flags flag
	for c := n + 1; c < Node(len(nodes)); c = nodes[c].next {
		s.keys = append(s.keys, keyBody(data, &nodes[c]))
		flags |= nodes[c].flags
	}
	if flags&keyRespelled == 0 && !s.repeats() {
		return
	}
	last := make(map[string]Node, len(s.keys))
	for c := n + 1; c < Node(len(nodes)); c = nodes[c].next {
		key := spelledKey(data, &nodes[c])
		if earlier, found := last[key]; found {
			s.found = append(s.found, earlier)
		}
		last[key] = c
	}
}

// repeats reports whether a key is there twice, or seems to be.
func (s *shadows) repeats() bool {
	if len(s.keys) <= 12 {
		for i, k := range s.keys {
			for _, other := range s.keys[:i] {
				if bytes.Equal(k, other) {
					return true
				}
			}
		}
		return false
	}
	s.hashes = s.hashes[:0]
	for _, k := range s.keys {
		s.hashes = append(s.hashes, maphash.Bytes(seed, k))
	}
	slices.Sort(s.hashes)
	for i := 1; i < len(s.hashes); i++ {
		if s.hashes[i] == s.hashes[i-1] {
			return true
		}
	}
	return false
}
