package jsontape

import (
	"slices"
	"sync"
)

// Scratch parses one text after another in the same memory: of 100,000 small
// files each would otherwise leave a tape behind. The zero value is ready. It is
// not safe for concurrent use.
type Scratch struct {
	parser   parser
	tape     Tape
	interned *interner // made for the second text
}

// mostKept bounds the nodes that a Scratch keeps room for: 2 MB.
const mostKept = 1 << 16

// Parse reads a text as the function [Parse] does. The tape is lent: the next
// call overwrites it, whether it returns another or not.
func (s *Scratch) Parse(data []byte) (*Tape, error) { return s.parseText(data, false) }

// ParseTolerant reads a text as the function [ParseTolerant] does, but tells no
// warnings. The tape is lent as that of [Scratch.Parse].
func (s *Scratch) ParseTolerant(data []byte) (*Tape, error) { return s.parseText(data, true) }

func (s *Scratch) parseText(data []byte, tolerant bool) (*Tape, error) {
	p := &s.parser
	if cap(p.nodes) > mostKept {
		*p = parser{}
	}
	p.data, p.nodes, p.tolerant = data, p.nodes[:0], tolerant
	p.shadows.found = p.shadows.found[:0]
	start := 0
	if tolerant {
		start = markLen(data)
	}
	if err := p.readAll(start); err != nil {
		return nil, err
	}
	slices.Sort(p.shadows.found)
	if s.tape.data != nil && s.interned == nil {
		s.interned = new(interner)
	}
	s.tape.interned = s.interned
	s.tape.data, s.tape.nodes, s.tape.shadowed = data, p.nodes, p.shadows.found
	s.tape.hashOnce, s.tape.hashes = sync.Once{}, nil
	return &s.tape, nil
}
