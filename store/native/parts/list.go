package parts

import (
	"encoding/binary"
	"math"
)

// How a list is kept
//
// A list of up to maxEntries extents is one node: a byte for its level, 0, and
// for each extent three numbers, the streams and offsets told as what they
// differ by from what would follow. Three extents are some 15 bytes.
//
// A longer list, of a session that was edited here and there a thousand times,
// would be written whole with every state. It is a persistent list instead: it
// is cut into nodes, which are kept as parts are, and the list of the nodes
// (its level is 1) is cut again if it is long. Where a node ends depends on the
// entry that ends it. Of two lists that differ in one place all nodes but one
// at each level are the same bytes, and are kept once.
const (
	maxEntries = 64
	minEntries = 8
	nodeMask   = 31
	// maxLevel is more than a state of 1 GiB can need: each level has at least
	// minEntries times fewer entries than the one below.
	maxLevel = 8
	// bytesPerExtent is less than an extent of a list has on average, beyond the
	// first few: Split makes no more parts than that.
	bytesPerExtent = 16
)

// entry is an extent of a list, or a node with the bytes that it stands for.
type entry struct {
	Extent
	covers int64
}

// Encode returns the bytes of a list. A long list is cut into nodes; keep returns
// where a node lies, and is not called for a list of up to 64 extents.
func Encode(list []Extent, keep func(node []byte) (Place, error)) ([]byte, error) {
	entries := make([]entry, len(list))
	for i, e := range list {
		entries[i] = entry{e, e.Len}
	}
	level := byte(0)
	for ; len(entries) > maxEntries; level++ {
		var above []entry
		for len(entries) > 0 {
			n := nodeEnd(entries)
			node := appendNode(nil, level, entries[:n])
			at, err := keep(node)
			if err != nil {
				return nil, err
			}
			e := entry{Extent: Extent{at, int64(len(node))}}
			for _, below := range entries[:n] {
				e.covers += below.covers
			}
			above, entries = append(above, e), entries[n:]
		}
		entries = above
	}
	return appendNode(nil, level, entries), nil
}

// HasNodes reports whether an encoded list is cut into nodes.
func HasNodes(root []byte) bool { return len(root) > 0 && root[0] > 0 }

// nodeEnd returns how many of the entries are the first node.
func nodeEnd(entries []entry) int {
	for i, e := range entries[:min(len(entries), maxEntries)] {
		h := uint64(e.At)*0x9e3779b97f4a7c15 ^ uint64(e.Len)*0xbf58476d1ce4e5b9
		if i+1 >= minEntries && h>>40&nodeMask == 0 {
			return i + 1
		}
	}
	return min(len(entries), maxEntries)
}

// follow remembers where the last extent of each stream ended, for the few
// streams that a list has.
type follow []Extent

func (f *follow) end(s Stream) int64 {
	for _, e := range *f {
		if e.At.Stream() == s {
			return e.At.Offset() + e.Len
		}
	}
	return 0
}

func (f *follow) noteExtent(e Extent) {
	for i, have := range *f {
		if have.At.Stream() == e.At.Stream() {
			(*f)[i] = e
			return
		}
	}
	if len(*f) < 8 {
		*f = append(*f, e)
	}
}

func appendNode(dst []byte, level byte, entries []entry) []byte {
	dst = append(dst, level)
	var last Stream
	seen := make(follow, 0, 8)
	for _, e := range entries {
		stream := e.At.Stream()
		dst = binary.AppendVarint(dst, int64(stream-last))
		dst = binary.AppendVarint(dst, e.At.Offset()-seen.end(stream))
		dst = binary.AppendUvarint(dst, uint64(e.Len))
		if level > 0 {
			dst = binary.AppendUvarint(dst, uint64(e.covers))
		}
		last = stream
		seen.noteExtent(e.Extent)
	}
	return dst
}

// Decode returns the list of a state of that size, as far as its first limit
// bytes need. read returns the bytes of nodes, in their order. The error is
// ErrDamaged, or that of read. What is damaged cannot make it loop, nor give
// more than there is room for in a state of that size.
func Decode(root []byte, size, limit int64, read func(nodes []Extent) ([][]byte, error)) ([]Extent, error) {
	if len(root) == 0 {
		return nil, damagedError("an empty list")
	}
	level := root[0]
	if level > maxLevel {
		return nil, damagedError("a list of level %d", level)
	}
	entries, err := decodeNode(nil, root, level, size, size)
	if err != nil {
		return nil, err
	}
	for ; level > 0; level-- {
		entries = upTo(entries, limit)
		nodes := make([]Extent, len(entries))
		for i, e := range entries {
			nodes[i] = e.Extent
		}
		if Size(nodes) > 2*size+maxEntries*maxNode {
			return nil, damagedError("nodes that are larger than what they list")
		}
		texts, err := read(nodes)
		if err != nil {
			return nil, err
		}
		var below []entry
		for i, e := range entries {
			if below, err = decodeNode(below, texts[i], level-1, e.covers, size); err != nil {
				return nil, err
			}
		}
		entries = below
	}
	entries = upTo(entries, limit)
	list := make([]Extent, len(entries))
	for i, e := range entries {
		list[i] = e.Extent
	}
	return list, nil
}

// upTo returns the entries that stand for the first limit bytes.
func upTo(entries []entry, limit int64) []entry {
	for i, e := range entries {
		if limit <= 0 {
			return entries[:i]
		}
		limit -= e.covers
	}
	return entries
}

// maxNode bounds the bytes of a node: no entry needs more than this. In fact one
// needs 20 at the most, so that the nodes of a level are never much larger than
// the state, whose extents are bytesPerExtent each.
const maxNode = 1 + maxEntries*4*binary.MaxVarintLen64

// decodeNode adds the entries of a node of that level, which stand for covers
// bytes of a state of size.
func decodeNode(entries []entry, node []byte, level byte, covers, size int64) ([]entry, error) {
	if len(node) == 0 || node[0] != level {
		return nil, damagedError("a node that is not of level %d", level)
	}
	r := reader{rest: node[1:]}
	var last Stream
	seen := make(follow, 0, 8)
	for len(r.rest) > 0 {
		stream := last + Stream(r.varint())
		offset := r.varint()
		var e entry
		e.Len = r.uvarint()
		e.covers = e.Len
		if level > 0 {
			e.covers = r.uvarint()
		}
		switch {
		case r.bad || stream < 0 || stream > MaxStream:
			return nil, damagedError("a list that cannot be read")
		case level > 0 && e.Len > maxNode:
			return nil, damagedError("a node of %d bytes", e.Len)
		case e.Len == 0 || e.covers == 0 || e.covers > covers:
			return nil, damagedError("a list that is not as long as its state")
		case int64(len(entries)) > size/bytesPerExtent+maxEntries:
			return nil, damagedError("a list of too many parts")
		}
		offset += seen.end(stream)
		if offset < 0 || offset > MaxOffset-e.Len {
			return nil, damagedError("a list that leaves its stream")
		}
		e.At = stream.At(offset)
		covers -= e.covers
		last = stream
		seen.noteExtent(e.Extent)
		entries = append(entries, e)
	}
	if covers != 0 {
		return nil, damagedError("a list that is not as long as its state")
	}
	return entries, nil
}

// reader reads numbers until it meets an invalid one.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	return r.read(v, n)
}

// uvarint returns a number of no more than 63 bits.
func (r *reader) uvarint() int64 {
	v, n := binary.Uvarint(r.rest)
	if v > math.MaxInt64 {
		n = 0
	}
	return r.read(int64(v), n)
}

func (r *reader) read(v int64, n int) int64 {
	if n <= 0 || v > 1<<62 || v < -1<<62 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}
