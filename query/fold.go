package query

import (
	"math"
	"slices"
	"sort"

	"hindcast/model/jsontape"
)

// folded is a list with the results of a fold for its elements. It goes on from the list of
// another state:
//
//	before   [ e0  e1  e2  e3  e4 ]
//	now      [ e0  e1  n0  e3  e4  n1 ]      n0 and n1 are asked
//
// The list is walked as a text in pieces. Where an element of before begins at the same place
// of the text, and all of it lies in the piece, it is the same element. So are the elements
// after it, up to a gap between pieces.
type folded struct {
	value
	elements []element
	// shared says that another list has put elements behind these, in the same memory.
	shared bool
	sum
}

// element is one of a list, and what it says.
type element struct {
	// at is its place in the text, noPlace where it lies in several pieces, n its length,
	// and to where it ends in the list.
	at, n, to uint32
	outputs   uint32
	says      says
	// data is the element decoded, if the fold asks for it.
	data any
}

const noPlace = math.MaxUint32

// says is a set of facts memoised for an element.
type says uint8

const (
	saysYes  says = 1 << iota // an output is true
	saysNo                    // one is false
	saysLast                  // the last is true
	saysFail                  // behind them is an error
	follows                   // what is between the element before and this one lies in their piece
)

// sum counts the outputs and answers of elements.
type sum struct{ outputs, yes, no, failed int }

// count adds what elements say, or takes it away.
func (s *sum) count(list []element, by int) {
	for i := range list {
		e := &list[i]
		s.outputs += by * int(e.outputs)
		s.yes += by * int(e.says&saysYes)
		s.no += by * int(e.says&saysNo/saysNo)
		s.failed += by * int(e.says&saysFail/saysFail)
	}
}

// fold asks each element of an array, and returns the list; near is the list of another
// state, or nil.
func (s *search) fold(v value, near *folded, ask func(*folded, *element) error) (*folded, error) {
	if near == nil {
		near = new(folded)
	}
	if slices.Equal(v.pieces, near.pieces) {
		return near, nil
	}
	front, _ := common(behindBracket(near.pieces), behindBracket(v.pieces))
	front++ // the bracket is often in a piece of what is before the list
	kept := sort.Search(len(near.elements), func(i int) bool { return near.elements[i].to > front })
	if kept > 0 && near.elements[kept-1].to == front && !s.closes(&near.elements[kept-1]) {
		kept-- // it may go on
	}
	l := &folded{value: v, sum: near.sum}
	l.count(near.elements[kept:], -1)
	if kept == len(near.elements) && !near.shared {
		near.shared, l.elements = true, near.elements
	} else {
		l.elements = append(make([]element, 0, len(near.elements)+1), near.elements[:kept]...)
	}
	fresh, err := s.split(l, near)
	if err != nil {
		return nil, err
	}
	for _, i := range fresh {
		if err := ask(l, &l.elements[i]); err != nil {
			return nil, err
		}
	}
	l.count(l.elements[kept:], +1)
	return l, nil
}

// behindBracket returns the pieces of a list without its first byte.
func behindBracket(pieces []piece) []piece {
	if len(pieces) == 0 {
		return nil
	}
	rest := slices.Clone(pieces)
	if rest[0].off, rest[0].n = rest[0].off+1, rest[0].n-1; rest[0].n == 0 {
		rest = rest[1:]
	}
	return rest
}

// closes reports whether an element ends where it does whatever is behind it, as a number does
// not.
func (s *search) closes(e *element) bool {
	return e.at != noPlace && closed(s.bytes(), e.at+e.n, e.at+e.n)
}

// split walks a list behind the elements that it has, and adds the others: from near where
// they are the same. It returns which ones are to be asked.
func (s *search) split(l, near *folded) (fresh []int, err error) {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	c := &cursor{places: &s.places, text: s.bytes(), pieces: l.pieces}
	starts, size := make([]uint32, len(l.pieces)), uint32(0)
	for i, p := range l.pieces {
		starts[i], size = size, size+p.n
	}
	offset := func() uint32 { return starts[c.piece] + c.at - l.pieces[c.piece].off }
	kept, begin := len(l.elements), uint32(1)
	if kept > 0 {
		begin = l.elements[kept-1].to
	}
	same := kept // what may come next of near
	c.piece = sort.Search(len(starts), func(i int) bool { return starts[i] > begin }) - 1
	c.at = l.pieces[c.piece].off + begin - starts[c.piece]
	for {
		last := c.piece
		b, ok := c.next()
		for ok && b == ',' {
			c.at++
			b, ok = c.next()
		}
		if !ok {
			return nil, &jsontape.SyntaxError{Offset: int64(size)}
		}
		if b == ']' {
			return fresh, nil
		}
		e := element{at: c.at}
		if c.piece == last && len(l.elements) > 0 {
			e.says = follows
		}
		from := c.spot
		if same = near.find(c.at, kept, same); same >= 0 {
			for limit := c.limit(); ; {
				old := near.elements[same]
				if !closed(c.text, old.at+old.n, limit) {
					break
				}
				c.at = old.at + old.n
				old.to, old.says = offset(), old.says&^follows|e.says
				l.elements = append(l.elements, old)
				if same++; same == len(near.elements) || near.elements[same].says&follows == 0 || near.elements[same].at >= limit {
					break
				}
				c.at, e.says = near.elements[same].at, follows
				from = c.spot
			}
			if c.spot != from {
				continue
			}
			e.at = c.at // the element goes on in the next piece
		}
		same = max(same, kept)
		if !c.skip() {
			return nil, &jsontape.SyntaxError{Offset: int64(size)}
		}
		e.to = offset()
		if e.n = e.to - (starts[from.piece] + from.at - l.pieces[from.piece].off); from.piece != c.piece {
			e.at = noPlace
		}
		fresh, l.elements = append(fresh, len(l.elements)), append(l.elements, e)
	}
}

// find returns the number of an element at a place of the text, from one on and then before
// that, but for the first kept; -1 if it is not found.
func (l *folded) find(at uint32, kept, from int) int {
	for i := from; i < len(l.elements); i++ {
		if l.elements[i].at == at {
			return i
		}
	}
	for i := kept; i < from; i++ {
		if l.elements[i].at == at {
			return i
		}
	}
	return -1
}

// text returns an element as it stands in its list.
func (s *search) text(l *folded, e *element) []byte {
	if e.at != noPlace {
		return s.bytes().cut(e.at, e.at+e.n)
	}
	return join(s.bytes(), cut(l.pieces, int(e.to-e.n), int(e.n)))
}

// ask asks an element what a fold asks.
func (s *search) ask(f *fold, l *folded, e *element) error {
	if f.each == nil {
		e.outputs = 1
		return nil
	}
	wrong, err := evaluateText(s.eval.ctx, f.each, s.text(l, e), func(output any) {
		e.outputs++
		e.says &^= saysLast
		if holds(output) {
			e.says |= saysYes | saysLast
		} else {
			e.says |= saysNo
		}
	})
	if wrong != nil {
		e.says |= saysFail
	}
	return err
}

// answer returns the answer of a fold for a list. Where it comes upon an element that has an error,
// the answer is that error.
func (s *search) answer(f *fold, l *folded) (any, error) {
	if l.failed > 0 {
		for i := range l.elements {
			e := &l.elements[i]
			switch {
			case f.kind == foldAny && e.says&saysYes != 0:
				return true, nil
			case f.kind == foldAll && e.says&saysNo != 0, f.kind == foldNone && e.outputs > 0:
				return false, nil
			case e.says&saysFail != 0: // errors are not kept: they hold the values that they are about
				wrong, err := evaluateText(s.eval.ctx, f.each, s.text(l, e), func(any) {})
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

// answerDirectly evaluates a fold on a value that is not an array, or on null if there is no value.
func (s *search) answerDirectly(f *fold, v value) (answer any, err error) {
	text := []byte("null")
	if !v.none() {
		text = s.json(v)
	}
	wrong, err := evaluateText(s.eval.ctx, f.direct, text, func(output any) { answer = output })
	if wrong != nil || err != nil {
		return wrong, err
	}
	if f.kind == foldLast {
		return holds(answer), nil
	}
	return answer, nil
}
