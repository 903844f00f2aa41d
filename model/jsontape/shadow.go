package jsontape

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// IsShadowed reports whether n is a member of an object in which a later member
// has the same key, so that encoding/json would not see it.
func (t *Tape) IsShadowed(n Node) bool {
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
	few    [20][]byte // the keys of a small object
	hashes []uint64   // of the keys of a large one
}

// noteShadows notes the shadowed members of the object n.
func (s *shadows) noteShadows(data []byte, nodes []node, n Node) {
	var flags flag
	members := 0
	for c := n + 1; c < Node(len(nodes)); c = nodes[c].next {
		if members < len(s.few) {
			s.few[members] = keyBody(data, &nodes[c])
		}
		members++
		flags |= nodes[c].flags
	}
	if members > len(s.few) && flags&keyRespelled == 0 {
		s.hashes = slices.Grow(s.hashes[:0], members)
		for c := n + 1; c < Node(len(nodes)); c = nodes[c].next {
			s.hashes = append(s.hashes, maphash.Bytes(seed, keyBody(data, &nodes[c])))
		}
	}
	if flags&keyRespelled == 0 && !s.repeatsKey(members) {
		return
	}
	last := make(map[string]Node)
	for c := n + 1; c < Node(len(nodes)); c = nodes[c].next {
		key := spelledKey(data, &nodes[c])
		if earlier, found := last[key]; found {
			s.found = append(s.found, earlier)
		}
		last[key] = c
	}
}

// repeatsKey reports whether a key is there twice, or seems to be.
func (s *shadows) repeatsKey(members int) bool {
	if members <= len(s.few) {
		for i, k := range s.few[:members] {
			for _, other := range s.few[:i] {
				if bytes.Equal(k, other) {
					return true
				}
			}
		}
		return false
	}
	slices.Sort(s.hashes)
	for i := 1; i < len(s.hashes); i++ {
		if s.hashes[i] == s.hashes[i-1] {
			return true
		}
	}
	return false
}
