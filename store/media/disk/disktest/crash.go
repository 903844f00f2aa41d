package disktest

import (
	"math/rand/v2"
	"slices"
)

// Crash returns a disk as a power failure at this moment could leave it. The receiver
// stays as it is. The disk is as bad as a file system may be that journals its names, as
// ext4, XFS, Btrfs and APFS do:
//
//   - Each block of 512 or 4096 bytes that was not synced may be lost, in any order:
//     the old bytes, or zeros, are there instead. The length is the old one, the new
//     one, zero, or a length of some blocks in between.
//   - Each name in a folder that was not synced has the file that it had at the last
//     sync or after any later change, independently of the other names. A folder whose
//     own name is lost is lost with all its entries.
//   - A renamed file has the new name, the old one or both, but never neither. After an
//     exchange, both names are as before or both are exchanged. A folder has one name.
//   - A file that is there has its mode.
func (m *Memory) Crash(rng *rand.Rand) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := &Memory{NoExchange: m.NoExchange, Lies: m.Lies, locks: map[string]bool{}, clock: m.clock}
	found := map[*name]int{} // how many pending events of it are
	choose(m.root, rng, found)
	copies := map[*node]*node{}
	after.root = survive(m.root, rng, found, copies)
	return after
}

// Clone returns a disk with the same on it, all of it durable.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := &Memory{NoExchange: m.NoExchange, Lies: m.Lies, locks: map[string]bool{}, clock: m.clock}
	same.root = m.root.clone(map[*node]*node{})
	return same
}

func (n *node) clone(copies map[*node]*node) *node {
	if old := copies[n]; old != nil {
		return old
	}
	next := &node{mode: n.mode, time: n.time, data: n.data, safe: n.data}
	copies[n] = next
	if n.names != nil {
		next.names = map[string]*name{}
		for base, s := range n.names {
			if s.now != nil {
				to := s.now.clone(copies)
				next.names[base] = &name{now: to, safe: to}
			}
		}
	}
	return next
}

// sortedNames returns the names of a folder in order, so that a seed always returns the same.
func (n *node) sortedNames() []string {
	var list []string
	for base := range n.names {
		list = append(list, base)
	}
	slices.Sort(list)
	return list
}

// choose picks how many of the events of every name are found, in folders that are
// there now or were before.
func choose(root *node, rng *rand.Rand, found map[*name]int) {
	seen := map[*node]bool{root: true}
	var picked []*name
	for todo := []*node{root}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		for _, base := range at.sortedNames() {
			s := at.names[base]
			picked = append(picked, s)
			if len(s.pending) > 0 {
				found[s] = rng.IntN(len(s.pending) + 1)
			}
			candidates := []*node{s.safe, s.now}
			for _, e := range s.pending {
				candidates = append(candidates, e.to)
			}
			for _, n := range candidates {
				if n != nil && n.names != nil && !seen[n] {
					seen[n] = true
					todo = append(todo, n)
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for _, s := range picked {
			for _, e := range s.pending[:found[s]] {
				for _, other := range e.with {
					if at := slices.Index(other.of.pending, other); at >= found[other.of] {
						found[other.of], again = at+1, true
					}
				}
			}
		}
	}
}

// survive copies what is found of a node.
func survive(n *node, rng *rand.Rand, found map[*name]int, copies map[*node]*node) *node {
	if old := copies[n]; old != nil {
		return old
	}
	next := &node{mode: n.mode, time: n.time}
	copies[n] = next
	if n.names == nil {
		next.data = n.data
		if string(n.safe) != string(n.data) {
			next.data = tear(n.safe, n.data, rng)
		}
		next.safe = next.data
		return next
	}
	next.names = map[string]*name{}
	for _, base := range n.sortedNames() {
		s := n.names[base]
		to := s.safe
		if k := found[s]; k > 0 {
			to = s.pending[k-1].to
		}
		if to != nil {
			to = survive(to, rng, found, copies)
			next.names[base] = &name{now: to, safe: to}
		}
	}
	return next
}

// tear returns bytes that a crash may leave of new bytes that were replacing old bytes.
func tear(old, new []byte, rng *rand.Rand) []byte {
	unit := 512
	if rng.IntN(2) == 0 {
		unit = 4096
	}
	length := 0
	switch rng.IntN(4) {
	case 0:
		length = len(old)
	case 1, 2:
		length = len(new)
	default:
		longest := max(len(old), len(new))
		length = min(rng.IntN(longest/unit+1)*unit, longest)
		if len(new) > len(old) && string(new[:len(old)]) == string(old) {
			length = max(length, len(old)) // it was only appended to
		}
	}
	data := make([]byte, length)
	for at := 0; at < length; at += unit {
		from := new
		if rng.IntN(2) == 0 {
			from = old
		}
		if at < len(from) {
			copy(data[at:min(at+unit, length)], from[at:])
		}
	}
	return data
}
