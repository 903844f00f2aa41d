package diff

import (
	"slices"

	"hindcast/model/jsontape"
)

// advance brings the frames from i up to limit; in between, both states are the
// same. If the outermost container ends before that, it returns its end.
func (l *lockstep) advance(i, limit int) (int, error) {
	if l.tape() != nil {
		return l.lookUp(i, limit)
	}
	return l.scan(i, limit)
}

const (
	other = iota
	opening
	closing
	quote
	comma
)

var kinds = func() (c [256]uint8) {
	c['{'], c['['] = opening, opening
	c['}'], c[']'] = closing, closing
	c['"'], c[','] = quote, comma
	return c
}()

// scan is advance by reading.
func (l *lockstep) scan(i, limit int) (int, error) {
	data := l.old[:limit]
	f := l.top()
	depth := 0 // of containers in an array, which need no frames
	for i < limit {
		switch kinds[data[i]] {
		case quote:
			end := jsontape.StringEnd(data, i)
			if end < 0 {
				return limit, nil // it goes on behind the limit
			}
			i = end
			continue
		case comma:
			if depth == 0 {
				f.before++
				l.child(f, i+1)
			}
		case opening:
			if !f.object {
				depth++
				break
			}
			f = l.open(i)
		case closing:
			if depth > 0 {
				if depth--; depth == 0 {
					f.done = i + 1
				}
				break
			}
			if err := l.closeTop(i+1, i+1+l.shift, f.before+1); err != nil {
				return 0, err
			}
			if len(l.frames) == 0 {
				return i + 1, nil
			}
			f = l.top()
			f.done = i + 1
		}
		i++
	}
	return limit, nil
}

// lookUp is advance by asking the tape.
func (l *lockstep) lookUp(i, limit int) (int, error) {
	t, ahead := l.tape(), l.ahead()
	if l.frames[0].node < 0 {
		l.frames[0].node = t.NodeAt(l.frames[0].start + ahead)
	}
	last := t.LastBefore(limit + ahead)
	// Containers that end before the limit.
	for len(l.frames) > 0 {
		f := l.top()
		_, end := t.Span(f.node)
		if end -= ahead; end > limit {
			break
		}
		if err := l.closeTop(end, end+l.shift, int32(t.Count(f.node))); err != nil {
			return 0, err
		}
		if len(l.frames) == 0 {
			return end, nil
		}
		l.top().done = end
	}
	// The way down from the innermost that is left to the last value.
	var way []jsontape.Node
	for n := last; n != l.top().node; n = t.Parent(n) {
		way = append(way, n)
	}
	for _, n := range slices.Backward(way) {
		f := l.top()
		start, end := t.Span(n)
		start, end = start-ahead, end-ahead
		f.before = int32(t.Position(n))
		if end > limit {
			l.child(f, l.childStart(n, start))
			if !f.object || !isContainer(t.Kind(n)) {
				break
			}
			l.open(start).node = n
			continue
		}
		if next := skipSpace(l.old, end); next < limit {
			f.before++ // behind its comma
			l.child(f, next+1)
		} else {
			l.child(f, l.childStart(n, start))
			if isContainer(t.Kind(n)) {
				f.done = end
			}
		}
		break
	}
	return limit, nil
}

// ahead is the way from a place in the old state to its counterpart on the tape.
func (l *lockstep) ahead() int {
	if l.oldTape != nil {
		return 0
	}
	return l.shift
}

// childStart returns where a member or element starts whose value is n.
func (l *lockstep) childStart(n jsontape.Node, start int) int {
	if key, end := l.tape().KeySpan(n); end > 0 {
		return key - l.ahead()
	}
	return start
}
