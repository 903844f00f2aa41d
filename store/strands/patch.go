package strands

import (
	"bytes"
	"slices"

	"hindcast/model/jsontape"
)

// patch changes a JSON text at a few places. All else stays byte for byte: unknown
// fields, numbers of any size, NaN, escapes, white space.
type patch struct {
	tape  *jsontape.Tape
	edits []edit
}

// edit puts text in the place of the bytes from start to end.
type edit struct {
	start, end int
	text       []byte
}

// set gives a node another value. One that is equal but for white space stays as
// it is.
func (p *patch) set(n jsontape.Node, value []byte) {
	if bytes.Equal(jsontape.AppendCompact(nil, p.tape.Raw(n)), jsontape.AppendCompact(nil, value)) {
		return
	}
	start, end := p.tape.Span(n)
	p.edits = append(p.edits, edit{start, end, value})
}

// put gives an object the member key, or the one that it has another value.
func (p *patch) put(object jsontape.Node, key string, value []byte) {
	if n := p.tape.Find(object, key); n >= 0 {
		p.set(n, value)
		return
	}
	member := append(append(jsontape.AppendQuoted(nil, key), ": "...), value...)
	start, end := p.tape.Span(object)
	last := jsontape.None
	for c := p.tape.First(object); c >= 0; c = p.tape.Next(c) {
		last = c
	}
	if last < 0 {
		p.edits = append(p.edits, edit{start, end, slices.Concat([]byte("{"), member, []byte("}"))})
		return
	}
	_, at := p.tape.Span(last)
	// As far in as the last member is.
	space := []byte(" ")
	if key, _ := p.tape.KeySpan(last); key > 0 {
		from := key
		for from > 0 && bytes.IndexByte([]byte(" \t\r\n"), p.tape.Data()[from-1]) >= 0 {
			from--
		}
		space = p.tape.Data()[from:key]
	}
	p.edits = append(p.edits, edit{at, at, slices.Concat([]byte(","), space, member)})
}

// merge gives a node the value of another text. Where both are objects of the same
// keys, or arrays of the same length, what is equal inside stays as it is.
func (p *patch) merge(n jsontape.Node, from *jsontape.Tape, value jsontape.Node) {
	type pair struct{ n, value jsontape.Node }
	stack := []pair{{n, value}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !p.sameShape(at.n, from, at.value) {
			p.set(at.n, from.Raw(at.value))
			continue
		}
		c := from.First(at.value)
		for o := p.tape.First(at.n); o >= 0; o = p.tape.Next(o) {
			stack = append(stack, pair{o, c})
			c = from.Next(c)
		}
	}
}

// sameShape reports whether two containers have the same keys, or as many elements.
func (p *patch) sameShape(n jsontape.Node, from *jsontape.Tape, value jsontape.Node) bool {
	t := p.tape
	kind := t.Kind(n)
	if kind != from.Kind(value) || kind != jsontape.Object && kind != jsontape.Array || t.Count(n) != from.Count(value) {
		return false
	}
	v := from.First(value)
	for c := t.First(n); c >= 0; c = t.Next(c) {
		if !bytes.Equal(t.RawKey(c), from.RawKey(v)) {
			return false
		}
		v = from.Next(v)
	}
	return true
}

// bytes gives the changed text.
func (p *patch) bytes() []byte {
	slices.SortStableFunc(p.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range p.edits {
		out = append(append(out, p.tape.Data()[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, p.tape.Data()[at:]...)
}
