package diff

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"unicode/utf8"

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
	shift  int   // from a place in the old state to its twin in the new one
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

// compareInStep compares two states, of which one may have a tape. Values from
// big bytes on are compared in step, smaller ones parsed. The error may be
// errOutOfStep.
func compareInStep(ctx context.Context, old, new State, big int) (*Result, error) {
	if max(len(old.data), len(new.data)) >= math.MaxUint32 {
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

// outside gives where the root is, and whether it is a container.
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
			end, err = l.parted(limit, at)
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

// advance brings the frames from i up to limit; in between, both states are the
// same. If the outermost container ends before that, it gives its end.
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

// ahead is the way from a place in the old state to its twin on the tape.
func (l *lockstep) ahead() int {
	if l.oldTape != nil {
		return 0
	}
	return l.shift
}

// childStart gives where a member or element starts whose value is n.
func (l *lockstep) childStart(n jsontape.Node, start int) int {
	if key, end := l.tape().KeySpan(n); end > 0 {
		return key - l.ahead()
	}
	return start
}

// parted goes on where the states part, at p in the old one, up to where they
// are in step again, which it gives; or to the end of the outermost container.
func (l *lockstep) parted(p int, at place) (int, error) {
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
	return l.behind(o, n)
}

// isBreak reports whether the byte at i is white space that no string can hold.
func isBreak(data []byte, i int) bool {
	return i < len(data) && (data[i] == '\n' || data[i] == '\r' || data[i] == '\t')
}

// addEntries gives all open containers their entries.
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

// behind goes on behind a member of the last frame, an object, that ended at o
// and n: to the next one, or out of objects that end in both states.
func (l *lockstep) behind(o, n int) (int, error) {
	for {
		f := l.top()
		o, n = skipSpace(l.old, o), skipSpace(l.new, n)
		if o >= len(l.old) || n >= len(l.new) {
			return 0, errOutOfStep
		}
		l.shift = n - o
		switch a, b := l.old[o], l.new[n]; {
		case a == ',' && b == ',':
			f.before++
			l.child(f, o+1)
			return o + 1, nil
		case a == '}' && b == '}':
			o, n = o+1, n+1
			if err := l.closeTop(o, n, f.before+1); err != nil {
				return 0, err
			}
		case a == ',' && b == '}' || a == '}' && b == ',':
			f.before++
			var err error
			if o, n, err = l.restOfObject(f, behindComma(o, a), behindComma(n, b)); err != nil {
				return 0, err
			}
			l.frames = l.frames[:len(l.frames)-1]
		default:
			return 0, errOutOfStep
		}
		l.shift = n - o
		if len(l.frames) == 0 {
			return o, nil
		}
	}
}

// behindComma gives where the next member starts, or the closing bracket is.
func behindComma(i int, c byte) int {
	if c == ',' {
		return i + 1
	}
	return i
}

// closeTop ends the last frame, an object whose members have the same keys in
// both states, before o and n. Total is how many members it has.
func (l *lockstep) closeTop(o, n int, total int32) error {
	f := l.top()
	if f.entry != none {
		if !distinct(l.headKeys(f, total)) {
			return errOutOfStep
		}
		l.finish(f, o, n, total)
	}
	l.keys = l.keys[:f.keys]
	l.frames = l.frames[:len(l.frames)-1]
	return nil
}

// finish completes the entry of an object, which had so many members.
func (l *lockstep) finish(f *frame, o, n int, total int32) {
	for i := f.entry + 1; int(i) < len(l.entries); i = l.entries[i].End {
		if l.entries[i].Op != Added {
			total--
		}
	}
	l.complete(f, o, n, total)
}

func (l *lockstep) complete(f *frame, o, n int, unchanged int32) {
	e := &l.entries[f.entry]
	e.Old, e.New = Span{uint32(f.start), uint32(o)}, Span{uint32(f.newStart), uint32(n)}
	e.Unchanged = unchanged
	l.close(f.entry)
}

// headKeys gives the first n keys of an object, with their quotes.
func (l *lockstep) headKeys(f *frame, n int32) [][]byte {
	keys := make([][]byte, 0, n)
	if t := l.tape(); t != nil {
		for c := t.First(f.node); c >= 0 && len(keys) < int(n); c = t.Next(c) {
			keys = append(keys, t.RawKey(c))
		}
		return keys
	}
	for _, at := range l.keys[f.keys:min(f.keys+int(n), len(l.keys))] {
		at = skipSpace(l.old, at)
		keys = append(keys, l.old[at:max(at, jsontape.StringEnd(l.old, at))])
	}
	return keys
}

// distinct reports whether the keys of an object, with their quotes, are told
// apart by their bytes, are valid Unicode and occur once.
func distinct(keys [][]byte) bool {
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		if seen[string(k)] || !utf8.Valid(k) || bytes.Contains(k, []byte(`\u`)) || bytes.Contains(k, []byte(`\/`)) {
			return false
		}
		seen[string(k)] = true
	}
	return true
}

// member compares the members of f that the states part in, and gives where
// they end; or, if their keys part, all that follow, and closes f.
func (l *lockstep) member(f *frame) (o, n int, closed bool, err error) {
	if f.done > 0 {
		return f.done, f.done + l.shift, false, nil
	}
	a, ok := readMember(l.old, f.child)
	b, okToo := readMember(l.new, f.newChild)
	if !ok || !okToo || !bytes.Equal(cut(l.old, a.key), cut(l.new, b.key)) {
		o, n, err = l.restOfObject(f, f.child, f.newChild)
		return o, n, true, err
	}
	err = l.spans(a.value, b.value, place{parent: f.entry, old: none, new: none, key: b.key})
	return int(a.value.End), int(b.value.End), false, err
}

// a member of an object, as spans of a state.
type member struct{ key, value Span }

// readMember reads the member that starts at i. It is not ok if there is none.
func readMember(data []byte, i int) (m member, ok bool) {
	key := skipSpace(data, i)
	if key >= len(data) || data[key] != '"' {
		return member{}, false
	}
	end := jsontape.StringEnd(data, key)
	if end < 0 {
		return member{}, false
	}
	colon := skipSpace(data, end)
	if colon >= len(data) || data[colon] != ':' {
		return member{}, false
	}
	start := skipSpace(data, colon+1)
	stop, err := jsontape.Skip(data, start)
	if err != nil {
		return member{}, false
	}
	return member{Span{uint32(key), uint32(end)}, Span{uint32(start), uint32(stop)}}, true
}

// readMembers reads the members from i on, which is behind a bracket or a comma
// or at the closing bracket, and gives the byte behind that.
func readMembers(data []byte, i int) (all []member, end int, err error) {
	if at := skipSpace(data, i); at < len(data) && data[at] == '}' {
		return nil, at + 1, nil
	}
	for {
		m, ok := readMember(data, i)
		if !ok {
			return nil, 0, errOutOfStep
		}
		all = append(all, m)
		at := skipSpace(data, int(m.value.End))
		switch {
		case at < len(data) && data[at] == '}':
			return all, at + 1, nil
		case at < len(data) && data[at] == ',':
			i = at + 1
		default:
			return nil, 0, errOutOfStep
		}
	}
}

// restOfObject matches all members of f from i and j on by key and gives where
// the object ends.
func (l *lockstep) restOfObject(f *frame, i, j int) (o, n int, err error) {
	olds, o, err := readMembers(l.old, i)
	if err != nil {
		return 0, 0, err
	}
	news, n, err := readMembers(l.new, j)
	if err != nil {
		return 0, 0, err
	}
	oldKeys, newKeys := l.headKeys(f, f.before), l.headKeys(f, f.before)
	for _, m := range olds {
		oldKeys = append(oldKeys, cut(l.old, m.key))
	}
	byKey := make(map[string]member, len(news))
	for _, m := range news {
		newKeys = append(newKeys, cut(l.new, m.key))
		byKey[string(cut(l.new, m.key))] = m
	}
	if !distinct(oldKeys) || !distinct(newKeys) {
		return 0, 0, errOutOfStep
	}
	at := place{parent: f.entry, old: none, new: none}
	for _, m := range olds {
		key := string(cut(l.old, m.key))
		partner, found := byKey[key]
		if !found {
			at.key = m.key
			l.add(Removed, m.value, Span{}, at)
			continue
		}
		delete(byKey, key)
		at.key = partner.key
		if err := l.spans(m.value, partner.value, at); err != nil {
			return 0, 0, err
		}
	}
	for _, m := range news {
		if _, alone := byKey[string(cut(l.new, m.key))]; alone {
			at.key = m.key
			l.add(Added, Span{}, m.value, at)
		}
	}
	l.finish(f, o, n, f.before+int32(len(olds)))
	l.keys = l.keys[:f.keys]
	return o, n, nil
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

// restOfArray compares the arrays of f from the element on that the states part
// in and gives where they end.
func (l *lockstep) restOfArray(f *frame) (o, n int, err error) {
	head := f.before
	a, b := cutter{data: l.old, at: f.child}, cutter{data: l.new, at: f.newChild}
	if f.done > 0 {
		head++
		a.at, b.at = f.done, f.done+l.shift
		a.behind()
		b.behind()
	} else {
		a.begin()
		b.begin()
	}
	for !(a.closed && b.closed) && !l.rejoined(&a, &b) {
		if b.closed || !a.closed && len(l.old)-a.at > len(l.new)-b.at {
			a.next()
		} else {
			b.next()
		}
	}
	extend(&a, &b)
	if a.failed || b.failed {
		return 0, 0, errOutOfStep
	}
	same, err := l.cutApart(a.elements, b.elements, f.entry, head)
	if err != nil {
		return 0, 0, err
	}
	tail, o, n, err := l.tail(f, &a, &b, head)
	if err != nil {
		return 0, 0, err
	}
	l.complete(f, o, n, head+same+tail)
	return o, n, nil
}

// extend lets the common head run on into the common tail where it takes up all
// of the shorter array: of equal neighbours the last one is the one added.
func extend(a, b *cutter) {
	for i := 0; ; i++ {
		if i == min(len(a.elements), len(b.elements)) {
			if a.closed || b.closed {
				return
			}
			a.next()
			b.next()
		}
		if a.failed || b.failed || !bytes.Equal(cut(a.data, a.elements[i]), cut(b.data, b.elements[i])) {
			return
		}
	}
}

// rejoined reports whether all that follows in both states is the same.
func (l *lockstep) rejoined(a, b *cutter) bool {
	left := len(l.old) - a.at
	if a.closed || b.closed || left != len(l.new)-b.at {
		return false
	}
	if l.same < 0 {
		l.same = commonSuffix(l.old, l.new)
	}
	return left <= l.same
}

// tail counts the elements behind those that were cut, which are the same in
// both states, and gives where the arrays end.
func (l *lockstep) tail(f *frame, a, b *cutter, head int32) (count int32, o, n int, err error) {
	if a.closed {
		return 0, a.at, b.at, nil
	}
	if t := l.tape(); t != nil {
		_, end := t.Span(f.node)
		count = int32(t.Count(f.node)) - head
		if l.oldTape != nil {
			count -= int32(len(a.elements))
			return count, end, len(l.new) - (len(l.old) - end), nil
		}
		count -= int32(len(b.elements))
		return count, len(l.old) - (len(l.new) - end), end, nil
	}
	rest := cutter{data: a.data, at: a.at}
	for ; !rest.closed; count++ {
		rest.element()
	}
	if rest.failed {
		return 0, 0, 0, errOutOfStep
	}
	a.at = rest.at
	return count, a.at, len(l.new) - (len(l.old) - a.at), nil
}

// cutter cuts the elements of an array apart. Once it has failed, it is closed.
type cutter struct {
	data     []byte
	at       int // start of the next element; behind the bracket once closed
	closed   bool
	failed   bool
	elements []Span
}

// begin goes to the first element, if there is one.
func (c *cutter) begin() {
	if i := skipSpace(c.data, c.at); i < len(c.data) && c.data[i] == ']' {
		c.closed, c.at = true, i+1
	}
}

// next cuts the next element off and keeps it.
func (c *cutter) next() {
	if s := c.element(); !c.failed {
		c.elements = append(c.elements, s)
	}
}

// element gives the next element and goes to the one behind it.
func (c *cutter) element() Span {
	start := skipSpace(c.data, c.at)
	end, err := jsontape.Skip(c.data, start)
	if err != nil {
		c.closed, c.failed = true, true
		return Span{}
	}
	c.at = end
	c.behind()
	return Span{uint32(start), uint32(end)}
}

// behind goes from behind an element to the next one, or out of the array.
func (c *cutter) behind() {
	i := skipSpace(c.data, c.at)
	if i >= len(c.data) || c.data[i] != ',' && c.data[i] != ']' {
		c.closed, c.failed = true, true
		return
	}
	c.closed = c.data[i] == ']'
	c.at = i + 1
}

// cutApart adds the entries of two runs of elements, which start at place head
// of their arrays, and gives how many are unchanged.
func (l *lockstep) cutApart(olds, news []Span, entry, head int32) (int32, error) {
	p := spanPair{l: l, olds: olds, news: news, oldValues: make(map[int]value), newValues: make(map[int]value)}
	arr := l.arrange(hashes(l.old, olds), hashes(l.new, news))
	if err := p.check(&arr); err != nil {
		return 0, err
	}
	return l.arranged(&p, &arr, entry, head)
}

var seed = maphash.MakeSeed()

// hashes gives the classes of elements by their bytes.
func hashes(data []byte, all []Span) []uint64 {
	out := make([]uint64, len(all))
	for i, s := range all {
		out[i] = maphash.Bytes(seed, cut(data, s))
	}
	return out
}

// spanPair is two arrays of which only the bytes are known; elements are parsed
// when they are needed.
type spanPair struct {
	l                    *lockstep
	olds, news           []Span
	oldValues, newValues map[int]value
}

// check gives up if too much is without a partner, or if some of it has a twin
// that is only spelled in another way.
func (p *spanPair) check(arr *arrangement) error {
	all, alone := 0, 0
	for _, s := range p.olds {
		all += size(s)
	}
	gone := make(map[uint64]bool)
	var come []uint64
	for g := range arr.gaps() {
		removed, added := arr.alone(g)
		if len(removed) == 1 && len(added) == 1 && p.l.inStep(p.olds[removed[0]], p.news[added[0]]) {
			continue
		}
		for _, i := range removed {
			alone += size(p.olds[i])
		}
		if alone > strangers && alone > all/3 {
			return errOutOfStep
		}
		for _, i := range removed {
			v, err := p.old(i)
			if err != nil {
				return err
			}
			gone[v.hash()] = true
		}
		for _, j := range added {
			v, err := p.new(j)
			if err != nil {
				return err
			}
			come = append(come, v.hash())
		}
	}
	if slices.ContainsFunc(come, func(h uint64) bool { return gone[h] }) {
		return errOutOfStep
	}
	return nil
}

func size(s Span) int { return int(s.End - s.Start) }

func (p *spanPair) oldSpan(i int) Span { return p.olds[i] }
func (p *spanPair) newSpan(j int) Span { return p.news[j] }

func (p *spanPair) old(i int) (value, error) { return parsed(p.oldValues, i, p.l.old, p.olds[i]) }
func (p *spanPair) new(j int) (value, error) { return parsed(p.newValues, j, p.l.new, p.news[j]) }

func parsed(values map[int]value, i int, data []byte, s Span) (value, error) {
	if v, found := values[i]; found {
		return v, nil
	}
	v, err := parsePart(data, s)
	if err == nil {
		values[i] = v
	}
	return v, err
}

func (p *spanPair) compare(i, j int, at place) error {
	old, parsed := p.oldValues[i]
	new, parsedToo := p.newValues[j]
	if parsed && parsedToo {
		return p.l.values(old, new, at)
	}
	return p.l.spans(p.olds[i], p.news[j], at)
}
