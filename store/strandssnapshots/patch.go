package strandssnapshots

import (
	"slices"

	"hindcast/model/jsontape"
)

// cut is a run of bytes in whose place others come.
type cut struct {
	from, to int
	with     string
}

// patched gives data with the cuts made, which do not overlap. All other bytes
// stay as they are: what nobody here knows survives, and so do numbers of any size
// and whatever else would not come back from a decoder.
func patched(data []byte, cuts ...cut) []byte {
	slices.SortFunc(cuts, func(a, b cut) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, c := range cuts {
		out = append(append(out, data[at:c.from]...), c.with...)
		at = c.to
	}
	return append(out, data[at:]...)
}

// replaced is the cut that gives a value another text.
func replaced(t *jsontape.Tape, n jsontape.Node, with string) cut {
	from, to := t.Span(n)
	return cut{from, to, with}
}

// member is the cut that gives a member of an object a value, a new one behind
// the others. key needs no escapes.
func member(t *jsontape.Tape, object jsontape.Node, key, value string) cut {
	if n := t.Find(object, key); n >= 0 {
		return replaced(t, n, value)
	}
	_, end := t.Span(object)
	last := jsontape.None
	for n := t.First(object); n >= 0; n = t.Next(n) {
		last = n
	}
	text := `"` + key + `": ` + value
	if last >= 0 {
		_, end = t.Span(last)
		return cut{end, end, ", " + text}
	}
	return cut{end - 1, end - 1, text}
}

// lastElement gives the last element of an array and the cut that takes it out,
// with the comma before it. There is one.
func lastElement(t *jsontape.Tape, array jsontape.Node) (last jsontape.Node, out cut) {
	from, _ := t.Span(array)
	from++ // behind the bracket
	last = t.First(array)
	for n := t.Next(last); n >= 0; n = t.Next(n) {
		_, from = t.Span(last)
		last = n
	}
	_, to := t.Span(last)
	return last, cut{from, to, ""}
}
