package diff

import "hindcast/model/jsontape"

// value is one value on a tape.
type value struct {
	tape *jsontape.Tape
	node jsontape.Node
}

func (v value) kind() jsontape.Kind { return v.tape.Kind(v.node) }
func (v value) hash() uint64        { return v.tape.Hash(v.node) }
func (v value) raw() []byte         { return v.tape.Raw(v.node) }

func (v value) at(n jsontape.Node) value { return value{v.tape, n} }

func (v value) span() Span {
	start, end := v.tape.Span(v.node)
	return Span{uint32(start), uint32(end)}
}

func (v value) keySpan() Span {
	start, end := v.tape.KeySpan(v.node)
	if end == 0 {
		return Span{}
	}
	return Span{uint32(start), uint32(end)}
}

func isContainer(k jsontape.Kind) bool { return k == jsontape.Array || k == jsontape.Object }
