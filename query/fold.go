package query

import (
	"context"
	"slices"
	"sort"

	"hindcast/model/jsontape"
)

// folded is a list with what a fold knows of its elements.
//
//	before   [ e0  e1  e2  e3  e4 ]          pieces in common: the first bytes and the last
//	now      [ e0  e1  n0  n1  e3  e4 ]      e2 went, n0 and n1 are asked
//
// An element is that of before where all of it, and the byte on the side of what changed,
// lies in what the two have in common. Both are JSON, so the last bytes of both are read
// alike: they close one bracket more than they open.
type folded struct {
	value
	size     uint32
	elements []element
	// shared says that another list has put elements behind these, in the same array.
	shared bool
	// What the elements say together.
	outputs, yes, no, failed int
}

// element is where an element is in its list, and what it says.
type element struct {
	from, to uint32
	outputs  uint32
	says     says
}

// says is what is remembered of the outputs of an element.
type says uint8

const (
	saysYes  says = 1 << iota // one is true
	saysNo                    // one is false
	saysLast                  // the last is true
	saysFail                  // behind them is an error
)

// count adds what an element says, or takes it away.
func (l *folded) count(e element, by int) {
	l.outputs += by * int(e.outputs)
	for says, to := range map[says]*int{saysYes: &l.yes, saysNo: &l.no, saysFail: &l.failed} {
		if e.says&says != 0 {
			*to += by
		}
	}
}

// fold returns what a fold knows of the array that a value is; near is the list of another
// state, nil for none. It is nil where the value is no array.
func (s *search) fold(ctx context.Context, f *fold, v value, near *folded) (*folded, error) {
	if v.none() || s.bytes()[v.pieces[0].off] != '[' {
		return nil, nil
	}
	if near != nil && slices.Equal(v.pieces, near.pieces) {
		return near, nil
	}
	l := &folded{value: v, size: length(v.pieces)}
	if near == nil {
		near = new(folded)
	}
	first, last := common(near.pieces, v.pieces)
	kept := sort.Search(len(near.elements), func(i int) bool { return near.elements[i].to >= first })
	again := kept + sort.Search(len(near.elements)-kept, func(i int) bool {
		return near.elements[kept+i].from > near.size-last
	})
	from, to, shift := uint32(1), l.size, l.size-near.size // which may turn over, as sums do
	if kept > 0 {
		from = near.elements[kept-1].to
	}
	if again < len(near.elements) {
		to = near.elements[again].from + shift
	}
	fresh, err := s.ask(ctx, f, join(nil, s.bytes(), cut(v.pieces, int(from), int(to-from))), from)
	if err != nil {
		return nil, err
	}
	l.outputs, l.yes, l.no, l.failed = near.outputs, near.yes, near.no, near.failed
	for _, e := range near.elements[kept:again] {
		l.count(e, -1)
	}
	for _, e := range fresh {
		l.count(e, +1)
	}
	if kept == len(near.elements) && !near.shared {
		near.shared, l.elements = true, append(near.elements, fresh...)
		return l, nil
	}
	l.elements = make([]element, 0, kept+len(fresh)+len(near.elements)-again)
	l.elements = append(append(l.elements, near.elements[:kept]...), fresh...)
	for _, e := range near.elements[again:] {
		e.from, e.to = e.from+shift, e.to+shift
		l.elements = append(l.elements, e)
	}
	return l, nil
}

// ask asks the elements in a part of a list, which is at an offset in it.
func (s *search) ask(ctx context.Context, f *fold, text []byte, offset uint32) (fresh []element, err error) {
	for i := 0; ; {
		for i < len(text) && (text[i] == ',' || text[i] <= ' ') {
			i++
		}
		if i == len(text) || text[i] == ']' {
			return fresh, nil
		}
		to, err := jsontape.Skip(text, i)
		if err != nil {
			return nil, err
		}
		e := element{from: offset + uint32(i), to: offset + uint32(to)}
		wrong, err := evaluateText(ctx, f.each, text[i:to], func(output any) {
			e.outputs++
			e.says &^= saysLast
			if holds(output) {
				e.says |= saysYes | saysLast
			} else {
				e.says |= saysNo
			}
		})
		if err != nil {
			return nil, err
		}
		if wrong != nil {
			e.says |= saysFail
		}
		fresh, i = append(fresh, e), to
	}
}

// answer returns what a fold says of a list. Where an element has an error that the fold
// comes upon, the answer is that error.
func (s *search) answer(ctx context.Context, f *fold, l *folded) (any, error) {
	if l.failed > 0 {
		for _, e := range l.elements {
			switch {
			case f.kind == foldAny && e.says&saysYes != 0:
				return true, nil
			case f.kind == foldAll && e.says&saysNo != 0, f.kind == foldNone && e.outputs > 0:
				return false, nil
			case e.says&saysFail != 0:
				// Errors are not kept: they hold the values that they are about.
				text := join(nil, s.bytes(), cut(l.pieces, int(e.from), int(e.to-e.from)))
				wrong, err := evaluateText(ctx, f.each, text, func(any) {})
				return wrong, err
			}
		}
	}
	switch f.kind {
	case foldAny:
		return l.yes > 0, nil
	case foldAll:
		return l.no == 0, nil
	case foldNone:
		return l.outputs == 0, nil
	case foldCount:
		return l.outputs, nil
	}
	for _, e := range slices.Backward(l.elements) {
		if e.outputs > 0 {
			return e.says&saysLast != 0, nil
		}
	}
	return false, nil
}

// answerDirectly returns what a fold says of a value that is no array, null for none.
func (s *search) answerDirectly(ctx context.Context, f *fold, v value) (answer any, err error) {
	text := []byte("null")
	if !v.none() {
		text = s.json(v)
	}
	wrong, err := evaluateText(ctx, f.direct, text, func(output any) { answer = output })
	if wrong != nil || err != nil {
		return wrong, err
	}
	if f.kind == foldLast {
		return holds(answer), nil
	}
	return answer, nil
}
