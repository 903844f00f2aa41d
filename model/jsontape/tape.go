// Package jsontape reads JSON text into a flat tape of its values, without
// copying the text and without recursion, so that a 100 MB state can be walked,
// folded, compared and drawn by position.
//
// A tape has one node for each value, in the order of the text: a container
// comes before what it holds, and a subtree is one run of nodes. That is why
// folding is a jump ([Tape.End]) and why a node of a [Prefix] keeps its number
// in the full tape. A node costs 32 bytes, and 8 more once hashes are asked
// for; texts of agents have about 46 bytes for each value.
//
// The syntax is that of encoding/json (RFC 8259, nested at most [MaxDepth]
// deep); [ParseTolerant] also takes what agents' tools are known to write.
package jsontape

import (
	"math"
	"sort"
	"sync"
)

// MaxDepth is how deep containers may be nested: the limit of encoding/json.
const MaxDepth = 10_000

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds. Invalid is the kind of a value whose first byte lies behind a [Prefix].
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "false", "true", "number", "string", "array", "object"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Invalid]
}

// Node is a value's position on its tape. The root is 0; -1 is no node.
type Node = int32

// None is the node that is not there.
const None Node = -1

type flag uint8

const (
	// valueRespelled and keyRespelled: a character of the string is escaped in
	// another way than it could be, so that equal strings may differ in bytes.
	valueRespelled flag = 1 << iota
	keyRespelled
	// keyEscaped: there is a backslash in the key.
	keyEscaped
	// unfinished: the text was cut inside this value.
	unfinished
	// named: a number that JSON has no spelling for, such as NaN.
	named
)

type node struct {
	start, end uint32 // bytes of the value
	key        uint32 // opening quote of the key; only read when the parent is an object
	parent     Node
	next       Node  // first node after the subtree
	count      int32 // children
	index      int32 // position among the parent's children
	depth      uint16
	kind       Kind
	flags      flag
}

// Tape is a parsed JSON text. It never changes after it was made, keeps hold of
// the bytes it was made from (which must not be written to either) and is safe
// for concurrent use. Methods that take a node panic, as a slice does, on one
// that is not on the tape. The tape of a [Scratch] is safe for one goroutine only.
type Tape struct {
	data  []byte
	nodes []node

	shadowed []Node // ascending

	interned *interner // nil of a tape that may be read concurrently

	hashOnce sync.Once
	hashes   []uint64
}

// Data returns the text the tape was made from.
func (t *Tape) Data() []byte { return t.data }

// Len returns the number of nodes; it is at least 1.
func (t *Tape) Len() int { return len(t.nodes) }

// Kind returns the kind of n; Invalid if n is None.
func (t *Tape) Kind(n Node) Kind {
	if n < 0 {
		return Invalid
	}
	return t.nodes[n].kind
}

// Raw returns the bytes of n's value as they stand in the text. For an unfinished
// value these are the bytes that were seen. The caller may not write to them.
func (t *Tape) Raw(n Node) []byte {
	v := &t.nodes[n]
	return t.data[v.start:v.end:v.end]
}

// Span returns where the bytes of n's value start and end in the text.
func (t *Tape) Span(n Node) (start, end int) {
	v := &t.nodes[n]
	return int(v.start), int(v.end)
}

// Parent returns the container that n is in, or -1 for the root.
func (t *Tape) Parent(n Node) Node { return t.nodes[n].parent }

// First returns the first child of n, or -1 if n has no children.
func (t *Tape) First(n Node) Node {
	if t.nodes[n].count == 0 {
		return None
	}
	return n + 1
}

// Next returns the sibling that follows n, or -1 after the last.
func (t *Tape) Next(n Node) Node {
	v := &t.nodes[n]
	if v.parent < 0 || v.next >= t.nodes[v.parent].next {
		return None
	}
	return v.next
}

// End returns the node after the last one of n's subtree; or [Tape.Len] at the end.
func (t *Tape) End(n Node) Node { return t.nodes[n].next }

// Count returns how many children n has, those with duplicate keys included; 0
// for a value that is no container.
func (t *Tape) Count(n Node) int { return int(t.nodes[n].count) }

// Depth returns how many containers n is in.
func (t *Tape) Depth(n Node) int { return int(t.nodes[n].depth) }

// Index returns n's position in its array, from 0; -1 if n is not in an array.
func (t *Tape) Index(n Node) int {
	v := &t.nodes[n]
	if v.parent < 0 || t.nodes[v.parent].kind != Array {
		return -1
	}
	return int(v.index)
}

// Position returns n's position among its siblings, from 0, in an object too.
func (t *Tape) Position(n Node) int { return int(t.nodes[n].index) }

// IsUnfinished reports whether the text was cut inside n, so that more of it may
// follow. Only a tape of [Prefix] has such nodes.
func (t *Tape) IsUnfinished(n Node) bool { return t.nodes[n].flags&unfinished != 0 }

// Standard reports whether n alone is spelled as JSON allows; NaN, Infinity and
// -Infinity, which [ParseTolerant] takes, are not.
func (t *Tape) Standard(n Node) bool { return t.nodes[n].flags&named == 0 }

// RawKey returns n's key with its quotes as it stands in the text, or nil if n is
// not in an object. The caller may not write to it.
func (t *Tape) RawKey(n Node) []byte {
	start, end := t.KeySpan(n)
	if end == 0 {
		return nil
	}
	return t.data[start:end:end]
}

// KeySpan returns where n's key with its quotes starts and ends in the text; 0, 0
// if n is not in an object.
func (t *Tape) KeySpan(n Node) (start, end int) {
	body := t.keyBody(n)
	if body == nil {
		return 0, 0
	}
	start = int(t.nodes[n].key)
	return start, start + len(body) + 2
}

// NodeAt returns the innermost value whose bytes hold the byte at off, or -1. The
// bytes of a key belong to the object.
func (t *Tape) NodeAt(off int) Node {
	n := t.LastBefore(off + 1)
	for n >= 0 && int(t.nodes[n].end) <= off {
		n = t.nodes[n].parent
	}
	return n
}

// LastBefore returns the last value that starts before the byte at off, or -1.
func (t *Tape) LastBefore(off int) Node {
	return Node(sort.Search(len(t.nodes), func(i int) bool { return int(t.nodes[i].start) >= off })) - 1
}

// keyBody returns the bytes between the quotes of n's key; nil if n is not in an object, and only then.
func (t *Tape) keyBody(n Node) []byte {
	v := &t.nodes[n]
	if v.parent < 0 || t.nodes[v.parent].kind != Object {
		return nil
	}
	return keyBody(t.data, v)
}

// keyBody returns the bytes between the quotes of a member's key.
func keyBody(data []byte, member *node) []byte {
	end := int(member.start) // mostly behind a quote, a colon and at most one space
	if data[end-1] == ' ' {
		end--
	}
	if end -= 2; data[end+1] != ':' || data[end] != '"' {
		end = closingQuote(data, int(member.key)+1)
	}
	return data[member.key+1 : end : end]
}

// stringBody returns the bytes between the quotes of the string n; an unfinished one has no closing quote.
func (t *Tape) stringBody(n Node) []byte {
	v := &t.nodes[n]
	if v.flags&unfinished != 0 {
		return t.data[v.start+1 : v.end : v.end]
	}
	return t.data[v.start+1 : v.end-1 : v.end-1]
}

// maxSize keeps offsets in 32 bits, and in an int where that has 32.
const maxSize = min(math.MaxUint32-1, math.MaxInt)
