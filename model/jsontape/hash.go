package jsontape

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// Hashes. Two subtrees with the same value have the same hash: members of an
// object are added up, so their order does not matter; numbers are hashed by
// digits and power of ten; strings by their decoded value; of duplicate keys
// only the last counts. The converse holds but for chance, so whoever finds
// equal hashes still has to compare ([Equal]). The seed is new in each process,
// so that no text can be made to collide on purpose.
//
// The tape is walked backwards: every child is done before its parent.

var seed = maphash.MakeSeed()

// Salts keep values of different kinds apart. They are odd, as multipliers
// have to be, and otherwise arbitrary.
const (
	saltNull    = 0x9E3779B97F4A7C15
	saltFalse   = 0xC2B2AE3D27D4EB4F
	saltTrue    = 0x165667B19E3779F9
	saltNumber  = 0xD6E8FEB86659FD93
	saltString  = 0xA0761D6478BD642F
	saltArray   = 0xE7037ED1A0B428DB
	saltObject  = 0x8EBC6AF09C88C6E3
	saltMember  = 0x589965CC75374CC3
	saltInvalid = 0x1D8E4E27C47D124F
)

// Hash gives the hash of n's subtree. The first call on a tape takes the time
// of hashing all of it, about half a millisecond for each MB.
func (t *Tape) Hash(n Node) uint64 {
	t.hashOnce.Do(t.hashAll)
	return t.hashes[n]
}

// Shadowed reports whether n is a member of an object in which a later member
// has the same key, so that encoding/json would not see it. Like [Tape.Hash],
// the first call looks at the whole tape.
func (t *Tape) Shadowed(n Node) bool {
	t.hashOnce.Do(t.hashAll)
	if len(t.shadowed) == 0 {
		return false
	}
	_, found := slices.BinarySearch(t.shadowed, n)
	return found
}

// HasShadowed reports whether there are duplicate keys anywhere.
func (t *Tape) HasShadowed() bool {
	t.hashOnce.Do(t.hashAll)
	return len(t.shadowed) > 0
}

func (t *Tape) hashAll() {
	h := hasher{t: t, hashes: make([]uint64, len(t.nodes))}
	for n := Node(len(t.nodes)) - 1; n >= 0; n-- {
		h.hashes[n] = h.hash(n)
	}
	slices.Sort(h.shadowed)
	t.hashes, t.shadowed = h.hashes, h.shadowed
}

type hasher struct {
	t        *Tape
	hashes   []uint64
	shadowed []Node
	buf      []byte
	keys     []uint64
	sorted   []uint64
}

func (h *hasher) hash(n Node) uint64 {
	v := &h.t.nodes[n]
	switch v.kind {
	case Null:
		return saltNull
	case False:
		return saltFalse
	case True:
		return saltTrue
	case Number:
		return mix(h.number(h.t.Raw(n)), saltNumber)
	case String:
		return mix(h.string(h.t.stringBody(n), v.flags&valueRespelled), saltString)
	case Array:
		var sum uint64
		for c := n + 1; c < v.next; c = h.t.nodes[c].next {
			sum = mix(sum^h.hashes[c], saltArray)
		}
		return mix(sum^uint64(v.count), saltArray)
	case Object:
		return mix(h.members(n), saltObject)
	}
	return saltInvalid
}

// members adds up the members of an object and notes the shadowed ones.
func (h *hasher) members(n Node) uint64 {
	v := &h.t.nodes[n]
	var sum uint64
	keys := h.keys[:0]
	for c := n + 1; c < v.next; c = h.t.nodes[c].next {
		k := h.string(h.t.keyBody(c), h.t.nodes[c].flags&keyRespelled)
		keys = append(keys, k)
		sum += mix(k^bits.RotateLeft64(h.hashes[c], 31), saltMember)
	}
	h.keys = keys
	if !h.repeats(keys) {
		return sum
	}
	sum = 0
	seen := make(map[string]bool, len(keys))
	for i, c := range slices.Backward(h.t.children(n)) {
		key := h.t.spelledKey(c)
		if seen[key] {
			h.shadowed = append(h.shadowed, c)
			continue
		}
		seen[key] = true
		sum += mix(keys[i]^bits.RotateLeft64(h.hashes[c], 31), saltMember)
	}
	return sum
}

// repeats reports whether a hash is in keys twice.
func (h *hasher) repeats(keys []uint64) bool {
	if len(keys) <= 12 {
		for i := range keys {
			if slices.Contains(keys[:i], keys[i]) {
				return true
			}
		}
		return false
	}
	h.sorted = append(h.sorted[:0], keys...)
	slices.Sort(h.sorted)
	for i := 1; i < len(h.sorted); i++ {
		if h.sorted[i] == h.sorted[i-1] {
			return true
		}
	}
	return false
}

func (t *Tape) children(n Node) []Node {
	all := make([]Node, 0, t.nodes[n].count)
	for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
		all = append(all, c)
	}
	return all
}

func (h *hasher) string(body []byte, respelled flag) uint64 {
	if respelled != 0 {
		h.buf = appendSpelling(h.buf[:0], body)
		body = h.buf
	}
	return maphash.Bytes(seed, body)
}

func (h *hasher) number(raw []byte) uint64 {
	if len(raw) == 0 || !isNumeric(raw) {
		return maphash.Bytes(seed, raw)
	}
	d := parseDecimal(raw)
	digits := d.whole
	if len(d.fraction) > 0 {
		h.buf = append(append(h.buf[:0], d.whole...), d.fraction...)
		digits = h.buf
	}
	sum := maphash.Bytes(seed, digits)
	if d.negative {
		sum = ^sum
	}
	if power, fits := d.power(); fits {
		return mix(sum^uint64(power), saltMember)
	}
	return sum
}

func mix(a, salt uint64) uint64 {
	high, low := bits.Mul64(a^saltInvalid, salt)
	return high ^ low
}
