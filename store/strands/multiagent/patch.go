package multiagent

import (
	"bytes"
	"slices"

	"hindcast/model/jsontape"
)

// patch changes some values of a document on its bytes. What is not changed stays
// as it was written, whatever it is. The changes may not overlap.
type patch struct {
	tape  *jsontape.Tape
	edits []edit
}

// edit puts text in the place of the bytes from start to end.
type edit struct {
	start, end int
	text       []byte
}

// set gives a value another text. It does nothing where there is none.
func (p *patch) set(n jsontape.Node, text []byte) {
	if n < 0 {
		return
	}
	start, end := p.tape.Span(n)
	p.edits = append(p.edits, edit{start, end, text})
}

// put gives a member another text, or adds it behind the others.
func (p *patch) put(object jsontape.Node, key string, text []byte) {
	if n := p.tape.Find(object, key); n >= 0 {
		p.set(n, text)
		return
	}
	_, end := p.tape.Span(object)
	member := append(jsontape.AppendQuoted(nil, key), ':', ' ')
	member = append(member, text...)
	at := end - len("}")
	if last := p.last(object); last >= 0 {
		_, at = p.tape.Span(last)
		member = append([]byte(", "), member...)
	} else if slices.ContainsFunc(p.edits, func(e edit) bool { return e.start == at && e.end == at }) {
		member = append([]byte(", "), member...) // behind another one that was added
	}
	p.edits = append(p.edits, edit{at, at, member})
}

func (p *patch) last(container jsontape.Node) jsontape.Node {
	last := jsontape.None
	for n := p.tape.First(container); n >= 0; n = p.tape.Next(n) {
		last = n
	}
	return last
}

// keep takes those elements or members out of a container that keep refuses, each
// with what stands between it and the one before.
func (p *patch) keep(container jsontape.Node, keep func(n jsontape.Node) bool) {
	t := p.tape
	if k := t.Kind(container); k != jsontape.Array && k != jsontape.Object {
		return
	}
	from, to := t.Span(container)
	var cuts []edit
	some, before := false, from+1
	for n := t.First(container); n >= 0; n = t.Next(n) {
		_, end := t.Span(n)
		switch {
		case keep(n):
			some = true
		case some:
			cuts = append(cuts, edit{before, end, nil})
		default: // what stands before the first one stays
			behind := end
			if next := t.Next(n); next >= 0 {
				behind = p.start(next)
			}
			cuts = append(cuts, edit{p.start(n), behind, nil})
		}
		before = end
	}
	if !some && len(cuts) > 0 {
		cuts = []edit{{from + 1, to - 1, nil}}
	}
	p.edits = append(p.edits, cuts...)
}

// start gives where a value starts, with its key.
func (p *patch) start(n jsontape.Node) int {
	start, _ := p.tape.Span(n)
	if len(p.tape.RawKey(n)) > 0 {
		start, _ = p.tape.KeySpan(n)
	}
	return start
}

// document gives the whole document with the changes.
func (p *patch) document() []byte {
	slices.SortStableFunc(p.edits, func(a, b edit) int { return a.start - b.start })
	data := p.tape.Data()
	var out bytes.Buffer
	at := 0
	for _, e := range p.edits {
		out.Write(data[at:e.start])
		out.Write(e.text)
		at = e.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// quotedList gives a list of strings as JSON.
func quotedList(texts []string) []byte {
	list := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ", "...)
		}
		list = jsontape.AppendQuoted(list, text)
	}
	return append(list, ']')
}
