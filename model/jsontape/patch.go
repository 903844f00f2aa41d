package jsontape

import (
	"bytes"
	"cmp"
	"slices"
)

// Patch changes a JSON text at a few places. All else stays byte for byte: unknown
// members, numbers of any size, NaN, escapes, white space. Make one with [NewPatch];
// it is not safe for concurrent use.
//
// What is asked of it is collected by node and worked out when the text is asked
// for, so the order does not matter, and neither does what is asked inside of a value
// that goes or is replaced as a whole: it goes with that.
type Patch struct {
	tape *Tape
	// values and keys hold the replacement of a node's value or key. gone holds the removed nodes, and
	// added the new members of objects.
	values, keys map[Node][]byte
	gone         map[Node]bool
	added        map[Node][]newMember
	// thinned are the containers from which something is taken out.
	thinned map[Node]bool
}

// newMember is a member that an object gets.
type newMember struct {
	key  string
	text []byte // with its key
}

// cut is a span of the text, and its replacement.
type cut struct {
	start, end int
	text       []byte
}

// NewPatch begins a change of the text of a tape, which must be a whole one.
func NewPatch(t *Tape) *Patch {
	return &Patch{tape: t, values: map[Node][]byte{}, keys: map[Node][]byte{}, gone: map[Node]bool{}, added: map[Node][]newMember{}, thinned: map[Node]bool{}}
}

// Tape returns the tape of the text before the change.
func (p *Patch) Tape() *Tape { return p.tape }

// Set gives a node another value, which is JSON and may not be written to after
// that. [None] is left alone.
func (p *Patch) Set(n Node, value []byte) {
	if n < 0 {
		return
	}
	delete(p.values, n)
	if !bytes.Equal(p.tape.Raw(n), value) {
		p.values[n] = value
	}
}

// Rename gives a member of an object another key. Nodes without a key are left
// alone.
func (p *Patch) Rename(n Node, key string) {
	if n >= 0 && p.tape.RawKey(n) != nil {
		p.keys[n] = AppendQuoted(nil, key)
	}
}

// Put gives an object a member: the value of the one that it has, as [Patch.Set]
// does, or a new one behind the others, as far in as the last of them is. What is no
// object is left alone.
func (p *Patch) Put(object Node, key string, value []byte) {
	if object < 0 || p.tape.Kind(object) != Object {
		return
	}
	if n := p.tape.Find(object, key); n >= 0 && !p.gone[n] {
		p.Set(n, value)
		return
	}
	list := p.added[object]
	i := slices.IndexFunc(list, func(m newMember) bool { return m.key == key })
	if i < 0 {
		i, list = len(list), append(list, newMember{key: key})
	}
	list[i].text = slices.Concat(AppendQuoted(nil, key), []byte(": "), value)
	p.added[object] = list
}

// Remove takes those elements or members out of a container that goes picks, each
// with the comma that it needs no more. What is no container is left alone.
func (p *Patch) Remove(container Node, goes func(n Node) bool) {
	if container < 0 {
		return
	}
	for n := p.tape.First(container); n >= 0; n = p.tape.Next(n) {
		if goes(n) {
			p.gone[n], p.thinned[container] = true, true
		}
	}
}

// HasChanges reports whether anything is another than it was.
func (p *Patch) HasChanges() bool {
	return len(p.values)+len(p.keys)+len(p.gone)+len(p.added) > 0
}

// Bytes returns the whole text as it then is: the very bytes of the tape where nothing
// is changed, else new ones.
func (p *Patch) Bytes() []byte { return p.textBetween(0, len(p.tape.Data())) }

// Raw returns the text of one value as it then is. The value itself may not be one that
// is taken out.
func (p *Patch) Raw(n Node) []byte {
	start, end := p.tape.Span(n)
	return p.textBetween(start, end)
}

func (p *Patch) textBetween(start, end int) []byte {
	data := p.tape.Data()
	if !p.HasChanges() {
		return data[start:end:end]
	}
	out := make([]byte, 0, end-start)
	at := start
	for _, c := range p.sortedCuts() {
		if c.start >= end {
			break
		}
		if c.start < at || c.end > end {
			continue // inside of what is gone already, or around what is asked for
		}
		out = append(append(out, data[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, data[at:end]...)
}

// sortedCuts returns all cuts in the order of the text. Where one cut encloses another, the
// outer one comes first.
func (p *Patch) sortedCuts() (list []cut) {
	for n, text := range p.values {
		if !p.gone[n] {
			start, end := p.tape.Span(n)
			list = append(list, cut{start, end, text})
		}
	}
	for n, text := range p.keys {
		start, end := p.tape.KeySpan(n)
		list = append(list, cut{start, end, text})
	}
	for container := range p.thinned {
		list = p.thinContainer(list, container)
	}
	for object, members := range p.added {
		if p.keepsMember(object) {
			list = append(list, p.addMembers(object, members))
		}
	}
	slices.SortFunc(list, func(a, b cut) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	return list
}

// keepsMember reports whether a container has no members yet, or one that stays.
func (p *Patch) keepsMember(container Node) bool {
	c := p.tape.First(container)
	for n := c; n >= 0; n = p.tape.Next(n) {
		if !p.gone[n] {
			return true
		}
	}
	return c < 0
}

// thinContainer takes out of a container what goes. What stands before the first one that
// stays does so itself: the white space there is the writer's.
func (p *Patch) thinContainer(list []cut, container Node) []cut {
	t := p.tape
	from, to := t.Span(container)
	if !p.keepsMember(container) {
		return append(list, cut{from + 1, to - 1, joinMembers(p.added[container])})
	}
	some, before := false, from+1
	for n := t.First(container); n >= 0; n = t.Next(n) {
		_, end := t.Span(n)
		switch {
		case !p.gone[n]:
			some = true
		case some: // with the comma before it
			list = append(list, cut{before, end, nil})
		default: // with that behind it; there is another one, which stays
			list = append(list, cut{p.childStart(n), p.childStart(t.Next(n)), nil})
		}
		before = end
	}
	return list
}

// addMembers adds members to an object that is empty, or keeps a member.
func (p *Patch) addMembers(object Node, members []newMember) cut {
	last := None
	for c := p.tape.First(object); c >= 0; c = p.tape.Next(c) {
		last = c
	}
	if last < 0 {
		_, end := p.tape.Span(object)
		return cut{end - 1, end - 1, joinMembers(members)}
	}
	key, _ := p.tape.KeySpan(last)
	from := key
	for from > 0 && bytes.IndexByte([]byte(" \t\r\n"), p.tape.Data()[from-1]) >= 0 {
		from--
	}
	space := p.tape.Data()[from:key]
	var text []byte
	for _, m := range members {
		text = append(append(append(text, ','), space...), m.text...)
	}
	_, at := p.tape.Span(last)
	return cut{at, at, text}
}

// childStart is where a child of a container starts, with its key if it has one.
func (p *Patch) childStart(n Node) int {
	start, _ := p.tape.Span(n)
	if p.tape.RawKey(n) != nil {
		start, _ = p.tape.KeySpan(n)
	}
	return start
}

func joinMembers(members []newMember) (text []byte) {
	for i, m := range members {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, m.text...)
	}
	return text
}
