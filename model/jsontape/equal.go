package jsontape

import "bytes"

// Equal reports whether two subtrees have the same value: members in any order
// and the last one of duplicate keys, numbers by decimal value, strings decoded
// exactly (invalid UTF-8 and lone surrogates are not lumped together).
func Equal(t *Tape, n Node, u *Tape, m Node) bool {
	if bytes.Equal(t.Raw(n), u.Raw(m)) {
		return true
	}
	type pair struct{ n, m Node }
	todo := []pair{{n, m}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t.Hash(p.n) != u.Hash(p.m) {
			return false
		}
		switch kind := t.Kind(p.n); {
		case kind != u.Kind(p.m):
			return false
		case kind == Array:
			if t.Count(p.n) != u.Count(p.m) {
				return false
			}
			for a, b := t.First(p.n), u.First(p.m); a >= 0; a, b = t.Next(a), u.Next(b) {
				todo = append(todo, pair{a, b})
			}
		case kind == Object:
			members := MatchMembers(t, p.n, u, p.m)
			for _, m := range members {
				if m.Old < 0 || m.New < 0 {
					return false
				}
				todo = append(todo, pair{m.Old, m.New})
			}
		case !EqualScalar(t, p.n, u, p.m):
			return false
		}
	}
	return true
}

// EqualScalar is [Equal] for values that are no containers. Those of different
// kinds are not equal, nor is any container.
func EqualScalar(t *Tape, n Node, u *Tape, m Node) bool {
	kind := t.Kind(n)
	if kind != u.Kind(m) {
		return false
	}
	switch kind {
	case Number:
		return sameNumber(t.Raw(n), u.Raw(m))
	case String:
		if bytes.Equal(t.Raw(n), u.Raw(m)) {
			return true
		}
		if (t.nodes[n].flags|u.nodes[m].flags)&(valueRespelled|unfinished) == 0 {
			return false
		}
		return bytes.Equal(appendSpelling(nil, t.stringBody(n)), appendSpelling(nil, u.stringBody(m)))
	case Array, Object:
		return false
	}
	return true
}

// Pair is a member of one object and the one with the same key in another; -1
// where there is none.
type Pair struct{ Old, New Node }

// MatchMembers pairs the members of two objects by key, shadowed members left
// out: first those of n in their order, then those that only m has in theirs.
func MatchMembers(t *Tape, n Node, u *Tape, m Node) []Pair {
	pairs := make([]Pair, 0, max(t.Count(n), u.Count(m)))
	a, b := t.First(n), u.First(m)
	// Most objects come with their keys in the same order.
	for a >= 0 && b >= 0 && !t.Shadowed(a) && !u.Shadowed(b) && sameKey(t, a, u, b) {
		pairs = append(pairs, Pair{a, b})
		a, b = t.Next(a), u.Next(b)
	}
	if a < 0 && b < 0 {
		return pairs
	}
	rest := make(map[string]Node)
	for c := b; c >= 0; c = u.Next(c) {
		if !u.Shadowed(c) {
			rest[string(appendSpelling(nil, u.keyBody(c)))] = c
		}
	}
	for c := a; c >= 0; c = t.Next(c) {
		if t.Shadowed(c) {
			continue
		}
		key := appendSpelling(nil, t.keyBody(c))
		other, found := rest[string(key)]
		if !found {
			other = None
		}
		delete(rest, string(key))
		pairs = append(pairs, Pair{c, other})
	}
	for c := b; c >= 0; c = u.Next(c) {
		if u.Shadowed(c) {
			continue
		}
		if _, alone := rest[string(appendSpelling(nil, u.keyBody(c)))]; alone {
			pairs = append(pairs, Pair{None, c})
		}
	}
	return pairs
}
