package jsontape

import (
	"hash/maphash"
	"math/bits"
)

// Hashes. Two subtrees with the same value have the same hash: members of an
// object are added up, so their order does not matter; numbers are hashed by
// digits and power of ten; strings by their decoded value; of duplicate keys
// only the last counts. The converse holds but for chance, so a caller that finds
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

// Hash returns the hash of n's subtree. The first call on a tape takes the time
// of hashing all of it, about a millisecond for each MB.
func (t *Tape) Hash(n Node) uint64 {
	t.hashOnce.Do(t.hashAll)
	return t.hashes[n]
}

func (t *Tape) hashAll() {
	t.hashes = make([]uint64, len(t.nodes))
	var h hasher
	for n := Node(len(t.nodes)) - 1; n >= 0; n-- {
		t.hashes[n] = h.hashNode(t, n)
	}
}

// hasher has the room that hashing needs again and again.
type hasher struct{ buf []byte }

func (h *hasher) hashNode(t *Tape, n Node) uint64 {
	v := &t.nodes[n]
	switch v.kind {
	case Null:
		return saltNull
	case False:
		return saltFalse
	case True:
		return saltTrue
	case Number:
		return mixHash(h.hashNumber(t.Raw(n)), saltNumber)
	case String:
		return mixHash(h.hashString(t.stringBody(n), v.flags&valueRespelled), saltString)
	case Array:
		var sum uint64
		for c := n + 1; c < v.next; c = t.nodes[c].next {
			sum = mixHash(sum^t.hashes[c], saltArray)
		}
		return mixHash(sum^uint64(v.count), saltArray)
	case Object:
		var sum uint64
		for c := n + 1; c < v.next; c = t.nodes[c].next {
			if !t.IsShadowed(c) {
				sum += mixHash(h.hashKey(t, c)^bits.RotateLeft64(t.hashes[c], 31), saltMember)
			}
		}
		return mixHash(sum, saltObject)
	}
	return saltInvalid
}

func (h *hasher) hashKey(t *Tape, n Node) uint64 {
	return h.hashString(t.keyBody(n), t.nodes[n].flags&keyRespelled)
}

func (h *hasher) hashString(body []byte, respelled flag) uint64 {
	if respelled != 0 {
		h.buf = appendSpelling(h.buf[:0], body)
		body = h.buf
	}
	return maphash.Bytes(seed, body)
}

func (h *hasher) hashNumber(raw []byte) uint64 {
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
		return mixHash(sum^uint64(power), saltMember)
	}
	return sum
}

func mixHash(a, salt uint64) uint64 {
	high, low := bits.Mul64(a^saltInvalid, salt)
	return high ^ low
}
