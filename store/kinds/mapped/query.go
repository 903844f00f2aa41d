package mapped

import (
	"fmt"
	"slices"
	"strconv"

	"hindcast/model/jsontape"
	"hindcast/store/media/files"
)

// query leads from a value to others inside it.
type query struct {
	// text is the query as it was written.
	text string
	// document says that it starts at the document ($), not at the row.
	document bool
	steps    []step
}

// spreads reports whether the query leads to many values.
func (p *query) spreads() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.kind == stepAll })
}

// step is one step down.
type step struct {
	kind  stepKind
	name  string     // of stepMember and stepToken
	index int        // of stepElement
	only  *condition // of stepFilter
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
	// stepText enters the JSON that a text holds.
	stepText
	// stepFilter goes to the first element of an array that meets a condition; in the path of rows to all that meet it.
	stepFilter
)

// value is a place in a JSON text.
type value struct {
	tape *jsontape.Tape
	node jsontape.Node
}

func (v value) kind() jsontape.Kind { return v.tape.Kind(v.node) }

// find returns the value that a query without stepAll leads to; its node is None if nothing is there. The
// error is about a text that the query enters.
func (p *query) find(t *jsontape.Tape, document, row jsontape.Node) (value, error) {
	v := value{t, row}
	if p.document {
		v.node = document
	}
	return v.follow(p.steps)
}

// follow returns the value that steps lead to from another.
func (v value) follow(steps []step) (value, error) {
	for i := 0; i < len(steps) && v.node != jsontape.None; i++ {
		if steps[i].kind != stepText {
			v.node = steps[i].followFrom(v.tape, v.node)
			continue
		}
		switch k := v.kind(); k {
		case jsontape.Null:
			return value{v.tape, jsontape.None}, nil
		case jsontape.String:
		default:
			return v, fmt.Errorf("|fromjson enters a text, and it is %s", article(k))
		}
		inside, err := files.Parse([]byte(v.tape.Text(v.node)))
		if err != nil {
			return v, fmt.Errorf("|fromjson: the text is not JSON: %w", err)
		}
		v = value{inside, 0}
	}
	return v, nil
}

// matchesElement reports whether an element meets the condition. One with a text that is no JSON does not.
func (c *condition) matchesElement(t *jsontape.Tape, element jsontape.Node) bool {
	fits, err := c.matchesRow(t, element)
	return fits && err == nil
}

// split parts steps at the first text that they enter.
func split(steps []step) (outside, inside []step) {
	for i := range steps {
		if steps[i].kind == stepText {
			return steps[:i], steps[i:]
		}
	}
	return steps, nil
}

// followFrom returns the value that one step leads to, or None.
func (s *step) followFrom(t *jsontape.Tape, n jsontape.Node) jsontape.Node {
	switch {
	case s.kind == stepMember, s.kind == stepToken && t.Kind(n) == jsontape.Object:
		return t.Find(n, s.name)
	case t.Kind(n) != jsontape.Array:
		return jsontape.None
	case s.kind == stepFilter:
		for c := t.First(n); c != jsontape.None; c = t.Next(c) {
			if s.only.matchesElement(t, c) {
				return c
			}
		}
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

// findAll returns the values that a query leads to from the root, in the order of the
// text. ok is false where it leads to nothing before its first stepAll, or that
// is not asked of an array or an object.
func (p *query) findAll(t *jsontape.Tape) (nodes []jsontape.Node, ok bool) {
	nodes = []jsontape.Node{0}
	spread := false
	for i := range p.steps {
		s := &p.steps[i]
		var next []jsontape.Node
		for _, n := range nodes {
			if s.kind == stepAll || s.kind == stepFilter {
				if k := t.Kind(n); !spread && k != jsontape.Array && k != jsontape.Object {
					return nil, false
				}
				for c := t.First(n); c != jsontape.None; c = t.Next(c) {
					if s.only == nil || s.only.matchesElement(t, c) {
						next = append(next, c)
					}
				}
			} else if c := s.followFrom(t, n); c != jsontape.None {
				next = append(next, c)
			} else if !spread {
				return nil, false
			}
		}
		spread = spread || s.kind == stepAll || s.kind == stepFilter
		nodes = next
	}
	return nodes, true
}
