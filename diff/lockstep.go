package diff

import (
	"bytes"
	"context"
	"errors"
	"math"

	"hindcast/model/jsontape"
)

// Comparing in step. Where two texts have the same bytes they have the same
// structure, so a run of equal bytes (found at the speed of memory) is read on
// one side only, and only to know which containers are open where it ends; a
// tape of either state answers that without reading. Where the texts part:
//
//   - In an object, the member that differs is compared, and then both texts go
//     on in step behind it, unless their keys part as well: then the rest of the
//     members is matched by key.
//   - In an array, the elements from there on are cut apart on both sides, until
//     what follows is the same. They are aligned by their bytes, and only those
//     without a partner are parsed. This is done for the outermost array; large
//     elements that have changed are in turn compared in step.
//
// The result is that of comparing with tapes. Where bytes do not tell enough
// for that (elements of equal value that are spelled in different ways,
// duplicate keys, keys with escapes, changes nearly everywhere, errors), this
// gives up with errOutOfStep and the states are parsed after all.

// errOutOfStep: the states have to be parsed to be compared.
var errOutOfStep = errors.New("the texts part too much")

const (
	// bigValue is from which size on two values are compared in step; smaller
	// ones are parsed at once.
	bigValue = 64 << 10
	// maxLevels bounds how often values within values are compared in step,
	// because each time their rest is read again.
	maxLevels = 4
	// strangers is how many bytes of an array may be without partners; if it is
	// more than a third of them as well, parsing all is not much more work.
	strangers = 64 << 10
)

// lockstep compares one pair of containers that starts with the same bracket.
type lockstep struct {
	*comparer
	old, new         []byte // the states, up to where the containers end
	oldTape, newTape *jsontape.Tape
	big, level       int

	frames []frame
	shift  int   // from a place in the old state to its counterpart in the new one
	keys   []int // where the members of the open objects start, without a tape
	same   int   // bytes that old and new share at their ends, -1 if not known
}

// frame is a container that is open in both states. Only the last one can be an
// array.
type frame struct {
	object          bool
	start, newStart int           // opening bracket
	child, newChild int           // where the member or element starts that is being read
	done            int           // where it ended, if it is a container that has; else 0
	before          int32         // how many members or elements came before it
	keys            int           // its part of lockstep.keys starts here
	entry           int32         // none until something in it differs
	node            jsontape.Node // on the tape, if there is one
}

// compareInStep compares two states; one may have a tape. Values from
// big bytes on are compared in step, smaller ones parsed. The error may be
// errOutOfStep.
func compareInStep(ctx context.Context, old, new State, big int) (*Result, error) {
	if uint64(max(len(old.data), len(new.data))) >= math.MaxUint32 {
		return nil, errOutOfStep // which is too much for a tape as well
	}
	o, ok := outside(old.data)
	n, okToo := outside(new.data)
	if !ok || !okToo || old.data[o.Start] != new.data[n.Start] {
		return nil, errOutOfStep
	}
	c := comparer{ctx: ctx}
	l := lockstep{comparer: &c, old: old.data, new: new.data, oldTape: old.tape, newTape: new.tape, big: big}
	if err := l.run(o, n, place{parent: none, old: none, new: none}); err != nil {
		return nil, err
	}
	return c.result(&Result{old: old.data, new: new.data}), nil
}

// outside returns where the root is, and whether it is a container.
func outside(data []byte) (Span, bool) {
	start := skipSpace(data, 0)
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		start = skipSpace(data, len("\ufeff"))
	}
	end := len(data)
	for end > start && isSpace(data[end-1]) {
		end--
	}
	ok := start < end && (data[start] == '{' || data[start] == '[')
	return Span{uint32(start), uint32(end)}, ok
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

// run compares the containers at o and n, whose brackets are the same.
func (l *lockstep) run(o, n Span, at place) error {
	l.old, l.new, l.same = l.old[:o.End], l.new[:n.End], -1
	i := int(o.Start)
	l.shift = int(n.Start) - i
	l.open(i)
	i++
	for {
		limit := i + commonPrefix(l.old[i:], l.new[i+l.shift:])
		end, err := l.advance(i, limit)
		if err == nil && len(l.frames) > 0 {
			end, err = l.resync(limit, at)
		}
		if err != nil {
			return err
		}
		if len(l.frames) == 0 {
			if end != len(l.old) || end+l.shift != len(l.new) {
				return errOutOfStep
			}
			return nil
		}
		i = end
	}
}

// open adds the frame of the container that starts at i in the old state.
func (l *lockstep) open(i int) *frame {
	l.frames = append(l.frames, frame{
		object: l.old[i] == '{', start: i, newStart: i + l.shift, entry: none, keys: len(l.keys), node: jsontape.None})
	f := l.top()
	l.child(f, i+1)
	return f
}

func (l *lockstep) top() *frame { return &l.frames[len(l.frames)-1] }

// child notes that the next member or element of f starts at i.
func (l *lockstep) child(f *frame, i int) {
	f.child, f.newChild, f.done = i, i+l.shift, 0
	if f.object && l.tape() == nil {
		l.keys = append(l.keys, i)
	}
}

func (l *lockstep) tape() *jsontape.Tape {
	if l.oldTape != nil {
		return l.oldTape
	}
	return l.newTape
}

// resync goes on where the states part, at p in the old one, up to where they
// are in step again, which it returns; or to the end of the outermost container.
func (l *lockstep) resync(p int, at place) (int, error) {
	if isBreak(l.old, p) != isBreak(l.new, p+l.shift) {
		return 0, errOutOfStep // one of them is formatted in another way
	}
	if err := l.tick(); err != nil {
		return 0, err
	}
	if err := l.addEntries(at); err != nil {
		return 0, err
	}
	var o, n int
	var closed bool
	var err error
	if f := l.top(); f.object {
		o, n, closed, err = l.member(f)
	} else {
		o, n, err = l.restOfArray(f)
		closed = true
	}
	if err != nil {
		return 0, err
	}
	if closed {
		l.frames = l.frames[:len(l.frames)-1]
		l.shift = n - o
		if len(l.frames) == 0 {
			return o, nil
		}
	}
	return l.leaveMember(o, n)
}

// isBreak reports whether the byte at i is white space that no string can hold.
func isBreak(data []byte, i int) bool {
	return i < len(data) && (data[i] == '\n' || data[i] == '\r' || data[i] == '\t')
}

// addEntries returns all open containers their entries.
func (l *lockstep) addEntries(at place) error {
	for i := range l.frames {
		f := &l.frames[i]
		if i > 0 {
			up := &l.frames[i-1]
			key := skipSpace(l.new, up.newChild)
			end := jsontape.StringEnd(l.new, key)
			if end < 0 {
				return errOutOfStep
			}
			at = place{parent: up.entry, old: none, new: none, key: Span{uint32(key), uint32(end)}}
		}
		if f.entry == none {
			f.entry = l.add(Within, Span{}, Span{}, at)
		}
	}
	return nil
}

// spans compares two values that are in both states at the same place.
func (l *lockstep) spans(o, n Span, at place) error {
	old, new := cut(l.old, o), cut(l.new, n)
	if bytes.Equal(old, new) {
		return nil
	}
	if l.inStep(o, n) {
		inner := lockstep{comparer: l.comparer, old: l.old, new: l.new, oldTape: l.oldTape, newTape: l.newTape, big: l.big, level: l.level + 1}
		return inner.run(o, n, at)
	}
	a, err := parsePart(l.old, o)
	if err != nil {
		return err
	}
	b, err := parsePart(l.new, n)
	if err != nil {
		return err
	}
	return l.values(a, b, at)
}

// inStep reports whether two values are to be compared in step.
func (l *lockstep) inStep(o, n Span) bool {
	old, new := cut(l.old, o), cut(l.new, n)
	return l.level < maxLevels && min(len(old), len(new)) >= l.big && old[0] == new[0] && (old[0] == '{' || old[0] == '[')
}

// parsePart parses one value of a state.
func parsePart(data []byte, s Span) (value, error) {
	t, _, err := jsontape.ParseTolerant(cut(data, s))
	if err != nil {
		return value{}, errOutOfStep
	}
	return value{tape: t, base: s.Start}, nil
}
