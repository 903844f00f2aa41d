package mapped

import (
	"strconv"

	"hindcast/model/jsontape"
)

// query leads from a value to others inside it.
type query struct {
	// text is the query as it was written.
	text string
	// document says that it starts at the document ($), not at the row.
	document bool
	steps    []step
}

// step is one step down.
type step struct {
	kind  stepKind
	name  string // of stepMember and stepToken
	index int    // of stepElement
}

type stepKind uint8

const (
	// stepMember goes to the member of an object.
	stepMember stepKind = iota
	// stepElement goes to an element of an array, from its end if negative.
	stepElement
	// stepToken is one of a JSON Pointer: a member or an element, as it comes.
	stepToken
	// stepAll goes to every member or element.
	stepAll
)

// find gives the value that a query without stepAll leads to, or None.
func (p *query) find(t *jsontape.Tape, document, row jsontape.Node) jsontape.Node {
	n := row
	if p.document {
		n = document
	}
	for i := 0; i < len(p.steps) && n != jsontape.None; i++ {
		n = p.steps[i].from(t, n)
	}
	return n
}

// from gives the value that one step leads to, or None.
func (s *step) from(t *jsontape.Tape, n jsontape.Node) jsontape.Node {
	switch {
	case s.kind == stepMember, s.kind == stepToken && t.Kind(n) == jsontape.Object:
		return t.Find(n, s.name)
	case t.Kind(n) != jsontape.Array:
		return jsontape.None
	}
	i := s.index
	if s.kind == stepToken {
		var err error
		if i, err = strconv.Atoi(s.name); err != nil || i < 0 || strconv.Itoa(i) != s.name {
			return jsontape.None
		}
	}
	if i < 0 {
		i += t.Count(n)
	}
	return t.At(n, i)
}

// all gives the values that a query leads to from the root, in the order of the
// text. ok is false where it leads to nothing before its first stepAll, or that
// is not asked of an array or an object.
func (p *query) all(t *jsontape.Tape) (nodes []jsontape.Node, ok bool) {
	nodes = []jsontape.Node{0}
	spread := false
	for i := range p.steps {
		s := &p.steps[i]
		var next []jsontape.Node
		for _, n := range nodes {
			if s.kind == stepAll {
				if k := t.Kind(n); !spread && k != jsontape.Array && k != jsontape.Object {
					return nil, false
				}
				for c := t.First(n); c != jsontape.None; c = t.Next(c) {
					next = append(next, c)
				}
			} else if c := s.from(t, n); c != jsontape.None {
				next = append(next, c)
			} else if !spread {
				return nil, false
			}
		}
		spread = spread || s.kind == stepAll
		nodes = next
	}
	return nodes, true
}
