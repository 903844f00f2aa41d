package splice

import (
	"bytes"
	"hash/maphash"

	"hindcast/model/jsontape"
)

// A merge writes the edited value down with the bytes of the old one. It walks both from the top. Two
// values of the same tokens are the old bytes. Of two containers of the same kind, the children that are
// the same at the beginning and at the end stay as they are, with the bytes between them. If the middles
// that remain have the same number of children and the same keys, the merge descends into each pair.
// Otherwise the edited middle replaces the old one, without white space. So a message that was put
// into a log of thousands is the only thing that is written.
//
// Whether two values have the same tokens is asked of every child on the way. Comparing the tokens each
// time would be quadratic in the depth. So each value has a hash of its tokens, and only values of equal
// hash are compared. Equal values are not descended into.

// Merge returns the value n of a tape as a value of an edited one is. Each part that is equal in both keeps
// its bytes, and the others are without white space. Both tapes must be whole.
func Merge(old *jsontape.Tape, n jsontape.Node, edited *jsontape.Tape, value jsontape.Node) []byte {
	seed := maphash.MakeSeed()
	m := merger{
		old: side{old, n, hashValues(seed, old, n)},
		new: side{edited, value, hashValues(seed, edited, value)},
	}
	start, end := old.Span(n)
	m.done = start
	m.todo = []pair{{n, value}}
	for len(m.todo) > 0 {
		p := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		m.mergePair(p)
	}
	return append(m.out, old.Data()[m.done:end]...)
}

// side is one of two values, with the hashes of all values in it.
type side struct {
	*jsontape.Tape
	root jsontape.Node
	sums []uint64
}

func (s *side) hashOf(n jsontape.Node) uint64 { return s.sums[n-s.root] }

// childStart is where a child begins in the text, with its key if it has one.
func (s *side) childStart(n jsontape.Node) int {
	if s.RawKey(n) != nil {
		start, _ := s.KeySpan(n)
		return start
	}
	start, _ := s.Span(n)
	return start
}

// childText is a child without white space, with its key if it has one.
func (s *side) childText(dst []byte, n jsontape.Node) []byte {
	if key := s.RawKey(n); key != nil {
		dst = append(append(dst, key...), ':')
	}
	return jsontape.AppendCompact(dst, s.Raw(n))
}

func (s *side) children(n jsontape.Node) []jsontape.Node {
	list := make([]jsontape.Node, 0, s.Count(n))
	for c := s.First(n); c >= 0; c = s.Next(c) {
		list = append(list, c)
	}
	return list
}

// pair is a value and the one that takes its place.
type pair struct{ old, new jsontape.Node }

// merger writes the merged value from left to right: the old text is copied up to done, and todo is a stack
// of the pairs that follow, the next on top.
type merger struct {
	old, new side
	out      []byte
	done     int
	todo     []pair
}

// putText copies the old text up to start, writes text, and goes on at end.
func (m *merger) putText(start int, text []byte, end int) {
	m.out = append(append(m.out, m.old.Data()[m.done:start]...), text...)
	m.done = end
}

func (m *merger) mergePair(p pair) {
	if m.hasSameTokens(p) {
		return
	}
	kind := m.old.Kind(p.old)
	if kind != m.new.Kind(p.new) || kind != jsontape.Array && kind != jsontape.Object {
		start, end := m.old.Span(p.old)
		m.putText(start, jsontape.AppendCompact(nil, m.new.Raw(p.new)), end)
		return
	}
	before, after := m.old.children(p.old), m.new.children(p.new)
	head := 0
	for head < min(len(before), len(after)) && m.sameChild(pair{before[head], after[head]}) {
		head++
	}
	tail := 0
	for tail < min(len(before), len(after))-head && m.sameChild(pair{before[len(before)-1-tail], after[len(after)-1-tail]}) {
		tail++
	}
	gone, come := before[head:len(before)-tail], after[head:len(after)-tail]
	if m.isPaired(gone, come) {
		for i := len(gone) - 1; i >= 0; i-- {
			m.todo = append(m.todo, pair{gone[i], come[i]})
		}
		return
	}
	m.replaceChildren(p.old, before, head, head+len(gone), come)
}

// replaceChildren replaces the children of a container from i to j.
func (m *merger) replaceChildren(container jsontape.Node, all []jsontape.Node, i, j int, come []jsontape.Node) {
	var text []byte
	for k, c := range come {
		if k > 0 {
			text = append(text, ',')
		}
		text = m.new.childText(text, c)
	}
	start, end := m.old.Span(container)
	start, end = start+1, end-1 // what is between the brackets
	switch {
	case i == j && len(all) == 0:
	case i == j && i < len(all): // before a child that stays
		start = m.old.childStart(all[i])
		end = start
		text = append(text, ',')
	case i == j: // behind all
		_, end = m.old.Span(all[i-1])
		start = end
		text = append([]byte{','}, text...)
	case len(come) > 0:
		start = m.old.childStart(all[i])
		_, end = m.old.Span(all[j-1])
	case j < len(all): // they go with the commas behind them
		start = m.old.childStart(all[i])
		end = m.old.childStart(all[j])
	case i > 0: // with those before them
		_, start = m.old.Span(all[i-1])
		_, end = m.old.Span(all[j-1])
	}
	m.putText(start, text, end)
}

// isPaired reports whether children stand for each other, one by one.
func (m *merger) isPaired(gone, come []jsontape.Node) bool {
	if len(gone) != len(come) {
		return false
	}
	for i := range gone {
		if !bytes.Equal(m.old.RawKey(gone[i]), m.new.RawKey(come[i])) {
			return false
		}
	}
	return true
}

// sameChild reports whether two children have the same tokens, keys included.
func (m *merger) sameChild(p pair) bool {
	return bytes.Equal(m.old.RawKey(p.old), m.new.RawKey(p.new)) && m.hasSameTokens(p)
}

// hasSameTokens reports whether two values have the same tokens.
func (m *merger) hasSameTokens(p pair) bool {
	return m.old.hashOf(p.old) == m.new.hashOf(p.new) &&
		bytes.Equal(jsontape.AppendCompact(nil, m.old.Raw(p.old)), jsontape.AppendCompact(nil, m.new.Raw(p.new)))
}

// hashValues returns the hash of the tokens of each value from root on. Children come
// behind their container on a tape, so they are done first from its end.
func hashValues(seed maphash.Seed, tape *jsontape.Tape, root jsontape.Node) []uint64 {
	sums := make([]uint64, tape.End(root)-root)
	var h maphash.Hash
	h.SetSeed(seed)
	for n := tape.End(root) - 1; n >= root; n-- {
		h.Reset()
		kind := tape.Kind(n)
		h.WriteByte(byte(kind))
		if kind != jsontape.Array && kind != jsontape.Object {
			h.Write(tape.Raw(n))
		}
		for c := tape.First(n); c >= 0; c = tape.Next(c) {
			h.Write(tape.RawKey(c))
			maphash.WriteComparable(&h, sums[c-root])
		}
		sums[n-root] = h.Sum64()
	}
	return sums
}
