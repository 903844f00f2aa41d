package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/jsontape"
)

// How a state is blamed
//
// From the state backwards, one base at a time, each value that is not blamed yet is looked
// for in the base. The newest changes come first, so the answers stream. What both states
// have in the same pieces is passed over: of a state of 5,000 values that is a few members
// and a message a step.
//
//	base    {"turn":7,  "messages":[m0,m1,m2     ],"plan":{"status":"open","steps":[…]}}
//	state   {"turn":8,  "messages":[   m1,m2,m3  ],"plan":{"status":"done","steps":[…]}}
//	                ^                        ^                      ^
//
// An object's members are known by their keys. An array's elements are known by their bytes,
// and what is left between those by package diff: by content, else by id, else by position.
// So a value keeps its blame when it moves, and an element that is put in front of others
// changes none of them. Where elements are in the base is kept as runs for each array.

// Blamed is a value of a state, and the visit that last set it.
type Blamed struct {
	// Path is the JSON Pointer of the value in the state. Keys in it are untrusted.
	Path string
	// Start and End are the bytes of the state that the value is.
	Start, End int
	// Holds says that the value holds others: Visit is then where it last changed, by a
	// value in it or by the removal of a value.
	Holds bool
	// Visit is the visit at which the value came to be as it is; model.NoNode where the
	// store does not know it at the state.
	Visit model.Node
	// OrBefore says that it may have come to be so earlier: the base of Visit is missing,
	// or the value is not known there.
	OrBefore bool
}

// ErrNoValue says that a state has no value at a path.
var ErrNoValue = errors.New("the state has no value there")

// Blame returns the values of a state at a path and below, each with the visit that last set
// it, the newest first. A value that moved within an array, or that is only spelled in
// another way, was not set. Keys that the store does not know, see [model.Gaps], come first,
// without a visit. The error ends the sequence: it may be ErrNoValue.
func (q *Session) Blame(ctx context.Context, n model.Node, path Path) iter.Seq2[Blamed, error] {
	return func(yield func(Blamed, error) bool) {
		b := &blame{view: q.view(), ctx: ctx}
		var line []model.Node
		for at := n; at != model.NoNode; at = b.visits[at].base {
			line = append(line, at)
		}
		give := func() bool {
			for _, one := range b.out {
				if !yield(one, nil) {
					return false
				}
			}
			b.out = b.out[:0]
			return true
		}
		for at, err := range b.walk(ctx, slices.Values(line)) {
			if err == nil && at == n {
				err = b.begin(n, path)
			} else if err == nil {
				err = b.back(at)
			}
			if err != nil {
				yield(Blamed{}, err)
				return
			}
			if !give() {
				return
			}
			if b.left() == 0 {
				return
			}
		}
		b.end(line[len(line)-1])
		give()
	}
}

// blame is the state of a running Blame.
type blame struct {
	*view
	ctx  context.Context
	text pages
	// tape is the state that is blamed, and open counts for each node the values in its
	// subtree that are still to be blamed.
	tape *jsontape.Tape
	open []int32
	done []bool
	// fields are the values at the top, or the state itself if it is no object.
	fields []pending
	// keys are the keys at the top of the last state that was read.
	keys  []string
	gaps  model.Gaps
	last  model.Node
	runs  map[jsontape.Node][]run           // of arrays: where elements are by now
	lists map[jsontape.Node][]jsontape.Node // the elements of arrays
	out   []Blamed
	// todo are the steps of one value at the top: all are done, or none.
	todo []func()
}

// fewFields is how many members are looked through for a key.
const fewFields = 16

// byKey returns a function that looks up a member by its key: the last one if there are several,
// nil if the key is missing.
func byKey(members []field) func(key string) *part {
	if len(members) > fewFields {
		all := make(map[string]*part, len(members))
		for i := range members {
			all[members[i].key] = &members[i].part
		}
		return func(key string) *part { return all[key] }
	}
	return func(key string) *part {
		for i := len(members) - 1; i >= 0; i-- {
			if members[i].key == key {
				return &members[i].part
			}
		}
		return nil
	}
}

// pending is a value at the top that is not blamed whole.
type pending struct {
	node jsontape.Node
	key  string
	// part is the value in the state of a visit, the last visit that has it in common with
	// the blamed state.
	part
	visit model.Node
}

// run says that n elements of an array, from the element at on, equal the elements from base
// on in another array.
type run struct{ at, base, n int }

// begin reads the state that is blamed.
func (b *blame) begin(n model.Node, path Path) error {
	r := b.rope(n)
	if r.err != nil {
		return b.failed(n, r.err)
	}
	tape, _, err := jsontape.ParseTolerant(join(b.bytes(), r.pieces))
	if err != nil {
		return b.failed(n, err)
	}
	root := tape.Lookup(path.keys...)
	if root < 0 {
		return b.failed(n, ErrNoValue)
	}
	b.tape, b.open, b.done = tape, make([]int32, tape.Len()), make([]bool, tape.Len())
	b.runs, b.lists = map[jsontape.Node][]run{}, map[jsontape.Node][]jsontape.Node{}
	b.gaps, b.last = r.gaps, n
	b.count(0, root, false)
	b.text = b.bytes()
	b.places.mu.Lock()
	defer b.places.mu.Unlock()
	whole, ok := b.places.top(b.text, r.pieces)
	if !ok {
		return b.failed(n, errNotJSON)
	}
	if tape.Kind(0) != jsontape.Object {
		b.fields = []pending{{node: 0, part: whole, visit: n}}
		return nil
	}
	members, ok := b.places.cursor(b.text, whole).members()
	if !ok {
		return b.failed(n, errNotJSON)
	}
	find := byKey(members)
	for _, m := range members {
		b.keys = append(b.keys, m.key)
	}
	for c := tape.First(0); c >= 0; c = tape.Next(c) {
		if tape.IsShadowed(c) || b.open[c] == 0 {
			continue
		}
		key := tape.Key(c)
		if r.gaps.Has(key) {
			b.setAll(c, model.NoNode, false)
			continue
		}
		b.fields = append(b.fields, pending{c, key, *find(key), n})
	}
	return nil
}

// count counts the values in a subtree that are to be blamed: those of root.
func (b *blame) count(n, root jsontape.Node, within bool) (sum int32) {
	within = within || n == root
	if within {
		sum = 1
	}
	for c := b.tape.First(n); c >= 0; c = b.tape.Next(c) {
		if !b.tape.IsShadowed(c) {
			sum += b.count(c, root, within)
		}
	}
	b.open[n] = sum
	b.done[n] = !within
	return sum
}

func (b *blame) left() int32 { return b.open[0] }

// back goes on to the state of a base.
func (b *blame) back(at model.Node) error {
	r := b.rope(at)
	if r.err != nil {
		return b.failed(at, r.err)
	}
	b.text = b.bytes()
	b.places.mu.Lock()
	defer b.places.mu.Unlock()
	if b.places.full() {
		b.places.forget()
	}
	whole, ok := b.places.top(b.text, r.pieces)
	if !ok {
		return nil // what is not known in one state may be in the next
	}
	if b.tape.Kind(0) != jsontape.Object {
		b.fields = b.field(b.fields[:0], b.fields[0], at, &whole)
		b.last = at
		return nil
	}
	var members []field
	if b.text.at(whole.from.at) == '{' {
		if members, ok = b.places.cursor(b.text, whole).members(); !ok {
			return nil
		}
	} else if _, _, err := jsontape.ParseTolerant(b.spelled(whole)); err != nil {
		return nil
	}
	fields := b.fields[:0]
	find := byKey(members)
	for _, f := range b.fields {
		if r.gaps.Has(f.key) {
			fields = append(fields, f)
			continue
		}
		fields = b.field(fields, f, at, find(f.key))
	}
	b.fields = fields
	if !b.done[0] {
		for _, m := range members {
			if !slices.Contains(b.keys, m.key) && !b.gaps.Has(m.key) && !r.gaps.Has(m.key) {
				b.touch(0, b.last, false)
				break
			}
		}
	}
	b.keys = b.keys[:0]
	for _, m := range members {
		b.keys = append(b.keys, m.key)
	}
	b.gaps, b.last = r.gaps, at
	return nil
}

// field compares a value at the top with its counterpart in a base, nil if the base lacks it,
// and appends the value if some of it is still to be blamed.
func (b *blame) field(list []pending, f pending, at model.Node, before *part) []pending {
	gap := b.visits[f.visit].base != at // it is not known in between
	if before == nil {
		b.setAll(f.node, f.visit, gap)
		return list
	}
	b.todo = b.todo[:0]
	if err := b.step(f.node, f.part, *before, f.visit, gap); err != nil {
		return append(list, f) // it is not JSON there: that is no value
	}
	for _, do := range b.todo {
		do()
	}
	if b.open[f.node] == 0 {
		return list
	}
	return append(list, pending{f.node, f.key, *before, at})
}

// end blames what is left on the visits that are known to have it.
func (b *blame) end(first model.Node) {
	missing := b.visits[first].severed
	for p := b.visits[first].parent; p != model.NoNode; p = b.visits[p].parent {
		missing = b.visits[p].severed // steps may come before the first snapshot
	}
	for _, f := range b.fields {
		b.setAll(f.node, f.visit, missing || f.visit != first)
	}
	if !b.done[0] {
		b.touch(0, b.last, missing)
	}
}

// setAll blames what is not blamed yet in a subtree on a visit.
func (b *blame) setAll(n jsontape.Node, visit model.Node, orBefore bool) {
	sum := b.open[n]
	if sum == 0 {
		return
	}
	b.give(n, b.tape.AppendPointer(nil, n), visit, orBefore)
	for p := b.tape.Parent(n); p >= 0; p = b.tape.Parent(p) {
		b.open[p] -= sum
	}
	if p := b.tape.Parent(n); p >= 0 && visit != model.NoNode {
		b.touch(p, visit, orBefore)
	}
}

// give gives the values of a subtree that are not blamed yet.
func (b *blame) give(n jsontape.Node, path []byte, visit model.Node, orBefore bool) {
	if !b.done[n] {
		b.blamed(n, string(path), visit, orBefore)
	}
	i := 0
	for c := b.tape.First(n); c >= 0; c = b.tape.Next(c) {
		if b.open[c] > 0 {
			below := append(path, '/')
			if b.tape.Kind(n) == jsontape.Array {
				below = strconv.AppendInt(below, int64(i), 10)
			} else {
				below = jsontape.AppendPointerToken(below, b.tape.Key(c))
			}
			b.give(c, below, visit, orBefore)
		}
		i++
	}
	b.open[n] = 0
}

func (b *blame) blamed(n jsontape.Node, path string, visit model.Node, orBefore bool) {
	start, end := b.tape.Span(n)
	b.done[n] = true
	b.out = append(b.out, Blamed{path, start, end, b.tape.First(n) >= 0, visit, orBefore})
}

// touch notes that something in a container changed at a visit: the newest change counts.
func (b *blame) touch(n jsontape.Node, visit model.Node, orBefore bool) {
	for ; n >= 0; n = b.tape.Parent(n) {
		if b.done[n] {
			continue
		}
		b.blamed(n, b.tape.Pointer(n), visit, orBefore)
		for p := n; p >= 0; p = b.tape.Parent(p) {
			b.open[p]--
		}
	}
}

// step compares a value with its counterpart in a base. It puts the parts of the value that came at
// the visit, and are still to be blamed, on todo.
func (b *blame) step(n jsontape.Node, now, before part, visit model.Node, orBefore bool) error {
	if b.open[n] == 0 || now.isSame(before) {
		return nil
	}
	switch x, y := b.text.at(now.from.at), b.text.at(before.from.at); {
	case x == '{' && y == '{':
		return b.members(n, now, before, visit, orBefore)
	case x == '[' && y == '[':
		return b.elements(n, now, before, visit, orBefore)
	}
	same, err := equal(b.spelled(now), b.spelled(before))
	if err != nil {
		return errNotJSON
	}
	if !same {
		b.todo = append(b.todo, func() { b.setAll(n, visit, orBefore) })
	}
	return nil
}

// spelled returns a part as it stands in its state.
func (b *blame) spelled(of part) []byte {
	return join(b.text, b.places.cursor(b.text, of).between(of.from, of.to))
}

func (b *blame) members(n jsontape.Node, now, before part, visit model.Node, orBefore bool) error {
	news, ok := b.places.cursor(b.text, now).members()
	olds, ok2 := b.places.cursor(b.text, before).members()
	if !ok || !ok2 {
		return errNotJSON
	}
	inNew, inOld := byKey(news), byKey(olds)
	for c := b.tape.First(n); c >= 0; c = b.tape.Next(c) {
		if b.tape.IsShadowed(c) || b.open[c] == 0 {
			continue
		}
		key := b.tape.Key(c)
		here, there := inNew(key), inOld(key)
		switch {
		case here == nil:
			return errNotJSON
		case there == nil:
			b.todo = append(b.todo, func() { b.setAll(c, visit, orBefore) })
		default:
			if err := b.step(c, *here, *there, visit, orBefore); err != nil {
				return err
			}
		}
	}
	if !b.done[n] && slices.ContainsFunc(olds, func(m field) bool { return inNew(m.key) == nil }) {
		b.todo = append(b.todo, func() { b.touch(n, visit, orBefore) })
	}
	return nil
}

// child returns element i of an array of the state that is blamed.
func (b *blame) child(n jsontape.Node, i int) jsontape.Node {
	list := b.lists[n]
	if list == nil {
		list = make([]jsontape.Node, 0, b.tape.Count(n))
		for c := b.tape.First(n); c >= 0; c = b.tape.Next(c) {
			list = append(list, c)
		}
		b.lists[n] = list
	}
	return list[i]
}

func (b *blame) elements(n jsontape.Node, now, before part, visit model.Node, orBefore bool) error {
	common, news, olds, ok := lists(b.places.cursor(b.text, now), b.places.cursor(b.text, before))
	if !ok {
		return errNotJSON
	}
	runs := b.runs[n]
	if runs == nil {
		runs = []run{{0, 0, b.tape.Count(n)}}
	}
	a := arrays{news: news, olds: olds}
	a.matchSame()
	if a.doubtful(b) {
		a.none()
	}
	wanted := !b.done[n] && slices.Contains(a.from, -1)
	for _, r := range runs {
		for k := max(0, common-r.base); k < r.n && !wanted; k++ {
			wanted = a.to[r.base+k-common] < 0 && b.open[b.child(n, r.at+k)] > 0
		}
	}
	if wanted {
		if err := a.matchRest(b); err != nil {
			return err
		}
	}
	then := []run{}
	keep := func(at, base, count int) {
		if last := len(then) - 1; last >= 0 && then[last].at+then[last].n == at && then[last].base+then[last].n == base {
			then[last].n += count
		} else if count > 0 {
			then = append(then, run{at, base, count})
		}
	}
	for _, r := range runs {
		head := min(max(0, common-r.base), r.n)
		keep(r.at, r.base, head)
		for k := head; k < r.n; k++ {
			c, i := b.child(n, r.at+k), r.base+k-common
			switch j := a.to[i]; {
			case b.open[c] == 0:
			case j < 0:
				b.todo = append(b.todo, func() { b.setAll(c, visit, orBefore) })
			default:
				keep(r.at+k, common+j, 1)
				if a.changed[i] {
					if err := b.step(c, news[i], olds[j], visit, orBefore); err != nil {
						return err
					}
				}
			}
		}
	}
	b.todo = append(b.todo, func() { b.runs[n] = then })
	if !b.done[n] && slices.Contains(a.from, -1) {
		b.todo = append(b.todo, func() { b.touch(n, visit, orBefore) })
	}
	return nil
}

// arrays are two arrays without their common beginning, and which elements pair up: to for
// each new element, from for each old element, -1 for an element without a partner.
type arrays struct {
	news, olds []part
	to, from   []int
	// changed says that a new element has another value than the old one.
	changed []bool
}

// fewAhead is how many elements a search for an equal element looks through.
const fewAhead = 64

// matchSame pairs the elements that are the same bytes, in order.
func (a *arrays) matchSame() {
	a.none()
	var begins map[uint32]int // the last old element that begins at a place
	next := 0
	for i, one := range a.news {
		found := -1
		for j := next; j < min(next+fewAhead, len(a.olds)) && found < 0; j++ {
			if one.isSame(a.olds[j]) {
				found = j
			}
		}
		if found < 0 && next+fewAhead < len(a.olds) {
			if begins == nil {
				begins = make(map[uint32]int, len(a.olds))
				for j, old := range a.olds {
					begins[old.from.at] = j
				}
			}
			if j, ok := begins[one.from.at]; ok && j >= next && one.isSame(a.olds[j]) {
				found = j
			}
		}
		if found >= 0 {
			a.to[i], a.from[found], next = found, i, found+1
		}
	}
}

// none pairs no elements.
func (a *arrays) none() {
	a.to, a.from, a.changed = slices.Repeat([]int{-1}, len(a.news)), slices.Repeat([]int{-1}, len(a.olds)), make([]bool, len(a.news))
}

// mostLooks bounds how many elements are compared to know whether some are equal.
const mostLooks = 1 << 20

// doubtful reports whether an element without a partner equals an element that has a partner:
// then package diff decides which of them the partner belongs to.
func (a *arrays) doubtful(b *blame) bool {
	alone := func(list []part, partner []int, yield func(part) bool) bool {
		for i, one := range list {
			if partner[i] < 0 && !yield(one) {
				return false
			}
		}
		return true
	}
	looks := 0
	clear := func(one part) bool {
		size := one.size()
		for i, other := range a.news {
			if looks++; looks > mostLooks {
				return false
			}
			if a.to[i] >= 0 && other.size() == size && bytes.Equal(b.spelled(one), b.spelled(other)) {
				return false
			}
		}
		return true
	}
	return !alone(a.news, a.to, clear) || !alone(a.olds, a.from, clear)
}

// matchRest pairs the others as package diff does: of each run of elements that are the
// same one word is left, so that it knows which others are between which.
func (a *arrays) matchRest(b *blame) error {
	word := rand.Uint64()
	short := func(list []part, partner []int, mark func(i int) int) (text []byte, at []int) {
		text = append(text, '[')
		for i := range list {
			if partner[i] >= 0 && i > 0 && partner[i] > 0 && partner[i-1] == partner[i]-1 {
				continue // it goes on with a run
			}
			if len(at) > 0 {
				text = append(text, ',')
			}
			if partner[i] >= 0 {
				at = append(at, -1)
				text = fmt.Appendf(text, `"%x %d"`, word, mark(i))
			} else {
				at = append(at, i)
				text = append(text, b.spelled(list[i])...)
			}
		}
		return append(text, ']'), at
	}
	old, olds := short(a.olds, a.from, func(j int) int { return a.from[j] })
	new, news := short(a.news, a.to, func(i int) int { return i })
	result, err := diff.Compare(b.ctx, diff.Bytes(old), diff.Bytes(new))
	if err != nil {
		return errors.Join(errNotJSON, b.ctx.Err())
	}
	told, toldOld := make([]bool, len(news)), make([]bool, len(olds))
	for i := int32(1); i < int32(len(result.Entries)); i = result.Entries[i].End {
		e := &result.Entries[i]
		if e.NewIndex >= 0 {
			told[e.NewIndex] = true
		}
		if e.OldIndex >= 0 {
			toldOld[e.OldIndex] = true
		}
		if e.OldIndex >= 0 && e.NewIndex >= 0 {
			a.pair(news[e.NewIndex], olds[e.OldIndex], e.Op == diff.Within || e.Op == diff.Replaced)
		}
	}
	j := 0
	for i := range news { // what is not told stays, in order
		if told[i] {
			continue
		}
		for j < len(olds) && toldOld[j] {
			j++
		}
		if j == len(olds) {
			return errNotJSON
		}
		a.pair(news[i], olds[j], false)
		j++
	}
	return nil
}

// pair notes that two elements stand for each other; -1 is the word of a run.
func (a *arrays) pair(i, j int, changed bool) {
	if i >= 0 && j >= 0 {
		a.to[i], a.from[j], a.changed[i] = j, i, changed
	}
}
