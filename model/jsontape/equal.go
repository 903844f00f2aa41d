package jsontape

import (
	"bytes"
	"iter"
)

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
			for m := range MatchMembers(t, p.n, u, p.m) {
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

// Pair is a member of one object and the member of another with the same key, or -1.
type Pair struct{ Old, New Node }

// MatchMembers pairs the members of two objects by key, shadowed members left
// out: first those of n in their order, then those that only m has in theirs.
func MatchMembers(t *Tape, n Node, u *Tape, m Node) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		a, b := t.First(n), u.First(m)
		// Most objects come with their keys in the same order.
		for a >= 0 && b >= 0 && !t.IsShadowed(a) && !u.IsShadowed(b) && sameKey(t, a, u, b) {
			if !yield(Pair{a, b}) {
				return
			}
			a, b = t.Next(a), u.Next(b)
		}
		switch {
		case a < 0 && b < 0:
		case t.Count(n)+u.Count(m) <= fewMembers:
			matchFew(t, a, u, b, yield)
		default:
			matchRest(t, a, u, b, yield)
		}
	}
}

// fewMembers is how many members are matched by looking at each pair.
const fewMembers = 24

// matchFew pairs the members from a and b on without a table of keys.
func matchFew(t *Tape, a Node, u *Tape, b Node, yield func(Pair) bool) {
	for c := a; c >= 0; c = t.Next(c) {
		if !t.IsShadowed(c) && !yield(Pair{c, sameMember(t, c, u, b)}) {
			return
		}
	}
	for c := b; c >= 0; c = u.Next(c) {
		if !u.IsShadowed(c) && sameMember(u, c, t, a) < 0 && !yield(Pair{None, c}) {
			return
		}
	}
}

// sameMember returns the member from m on that has n's key and counts, or -1.
func sameMember(t *Tape, n Node, u *Tape, m Node) Node {
	for ; m >= 0; m = u.Next(m) {
		if sameKey(t, n, u, m) && !u.IsShadowed(m) {
			return m
		}
	}
	return None
}

// matchRest pairs the members from a and b on by looking their keys up.
func matchRest(t *Tape, a Node, u *Tape, b Node, yield func(Pair) bool) {
	rest := make(map[string]Node)
	for c := b; c >= 0; c = u.Next(c) {
		if !u.IsShadowed(c) {
			rest[u.spelledKey(c)] = c
		}
	}
	for c := a; c >= 0; c = t.Next(c) {
		if t.IsShadowed(c) {
			continue
		}
		key := t.spelledKey(c)
		other, found := rest[key]
		if !found {
			other = None
		}
		delete(rest, key)
		if !yield(Pair{c, other}) {
			return
		}
	}
	for c := b; c >= 0; c = u.Next(c) {
		if _, alone := rest[u.spelledKey(c)]; alone && !u.IsShadowed(c) && !yield(Pair{None, c}) {
			return
		}
	}
}

func (t *Tape) spelledKey(n Node) string { return spelledKey(t.data, &t.nodes[n]) }

// spelledKey returns a member's key so that equal keys are equal strings.
func spelledKey(data []byte, member *node) string {
	body := keyBody(data, member)
	if member.flags&keyRespelled == 0 {
		return string(body)
	}
	return string(appendSpelling(nil, body))
}
