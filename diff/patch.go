package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"hindcast/model/align"
	"hindcast/model/jsontape"
)

// ErrNoPatch: the new state has values that no JSON document can hold, such as
// NaN, so there is no patch that leads to it.
var ErrNoPatch = errors.New("the new state holds what JSON cannot")

// Patch returns the changes as a JSON Patch (RFC 6902) that turns the old state
// into the new one. Applied, it makes every value as the new state spells it;
// only the order of keys may differ. A state whose root is no container is
// replaced whole, which not every implementation does.
//
// An object is replaced whole if it has a key twice, or keys that are no valid
// Unicode, since a path cannot name such members. So is one below an empty key,
// because json-patch (github.com/evanphx) loses its way there.
//
// The error is [ErrNoPatch].
func (r *Result) Patch() ([]byte, error) {
	p := patcher{r: r, out: []byte{'['}}
	if len(r.Entries) > 0 {
		if err := p.entry(&r.Entries[0], 0, nil); err != nil {
			return nil, err
		}
	}
	return append(p.out, ']'), nil
}

// patcher writes operations. A path is that of the value at the time when the
// operation is applied. Its methods call each other once for each level, which
// [jsontape.MaxDepth] bounds.
type patcher struct {
	r   *Result
	out []byte
}

// entry writes the operations of entry e, number i, that is at path.
func (p *patcher) entry(e *Entry, i int32, path []byte) error {
	switch e.Op {
	case Added:
		return p.write("add", path, p.r.New(e))
	case Removed:
		return p.write("remove", path, nil)
	case Replaced, Respelled:
		return p.write("replace", path, p.r.New(e))
	}
	if p.mustReplace(e) {
		return p.write("replace", path, p.r.New(e))
	}
	return p.inside(e, i, path)
}

// mustReplace reports whether a container that changed inside has to be replaced.
func (p *patcher) mustReplace(e *Entry) bool {
	key, inObject := p.r.Key(e)
	return e.unnamed || inObject && key == ""
}

// inside writes the operations of the entries directly below entry i.
func (p *patcher) inside(e *Entry, i int32, path []byte) error {
	if p.r.New(e)[0] == '[' {
		return p.array(e, i, path)
	}
	for k := i + 1; k < e.End; k = p.r.Entries[k].End {
		child := &p.r.Entries[k]
		if err := p.entry(child, k, p.r.appendStep(path, child, align.None)); err != nil {
			return err
		}
	}
	return nil
}

// A slot is a place in an array that is being patched: an element that is there
// before or after, or a run of elements that stay.
type slot struct {
	entry   int32 // none for a run that stays
	size    int32 // elements in it at the start
	arrives bool  // a moved element's new place, not its old one
}

// array writes the operations of an array. They are applied one after the
// other, so each has to count what is in the array at its time: the slots,
// whose sizes are kept in a tree for sums.
func (p *patcher) array(e *Entry, i int32, path []byte) error {
	slots, left := p.slots(e, i)
	sizes := newSums(slots)
	for s, t := range slots {
		if t.entry == align.None {
			continue
		}
		child := &p.r.Entries[t.entry]
		if child.Op == Moved {
			if !t.arrives {
				continue // it leaves when its new slot is reached
			}
			from := appendIndex(path, sizes.before(left[t.entry]))
			sizes.add(left[t.entry], -1)
			to := appendIndex(slices.Clone(path), sizes.before(s))
			sizes.add(s, 1)
			if string(from) != string(to) {
				p.move(from, to)
			}
			if err := p.respell(child, t.entry, to); err != nil {
				return err
			}
			continue
		}
		if err := p.entry(child, t.entry, appendIndex(path, sizes.before(s))); err != nil {
			return err
		}
		switch child.Op {
		case Added:
			sizes.add(s, 1)
		case Removed:
			sizes.add(s, -1)
		}
	}
	return nil
}

// respell writes what is left to do on an element that was moved.
func (p *patcher) respell(e *Entry, i int32, path []byte) error {
	if e.End > i+1 {
		if p.mustReplace(e) {
			return p.write("replace", path, p.r.New(e))
		}
		return p.inside(e, i, path)
	}
	if old, new := p.r.Old(e), p.r.New(e); new[0] != '{' && new[0] != '[' && new[0] != '"' && string(old) != string(new) {
		return p.write("replace", path, new)
	}
	return nil
}

// slots lays out the entries directly below entry i with the runs between them,
// in an order that has both the old elements and the new ones ascending. It
// also returns the slots that moved entries leave.
func (p *patcher) slots(e *Entry, i int32) (slots []slot, left map[int32]int) {
	var leaving, coming []int32 // entries, by place in the old and in the new array
	for k := i + 1; k < e.End; k = p.r.Entries[k].End {
		switch p.r.Entries[k].Op {
		case Removed:
			leaving = append(leaving, k)
		case Moved:
			leaving = append(leaving, k)
			coming = append(coming, k)
		default:
			coming = append(coming, k)
		}
	}
	slices.SortFunc(leaving, func(a, b int32) int { return int(p.r.Entries[a].OldIndex - p.r.Entries[b].OldIndex) })
	slices.SortFunc(coming, func(a, b int32) int { return int(p.r.Entries[a].NewIndex - p.r.Entries[b].NewIndex) })

	left = make(map[int32]int)
	old, new := int32(0), int32(0)
	for len(leaving) > 0 || len(coming) > 0 {
		// How many elements stay until the next entry on either side.
		run := int32(-1)
		if len(leaving) > 0 {
			run = p.r.Entries[leaving[0]].OldIndex - old
		}
		if len(coming) > 0 {
			if next := p.r.Entries[coming[0]].NewIndex - new; run < 0 || next < run {
				run = next
			}
		}
		if run > 0 {
			slots = append(slots, slot{entry: align.None, size: run})
			old, new = old+run, new+run
			continue
		}
		if len(leaving) > 0 && p.r.Entries[leaving[0]].OldIndex == old {
			k := leaving[0]
			leaving = leaving[1:]
			left[k] = len(slots)
			slots = append(slots, slot{entry: k, size: 1})
			old++
			continue
		}
		k := coming[0]
		coming = coming[1:]
		t := slot{entry: k, arrives: true}
		if op := p.r.Entries[k].Op; op != Added && op != Moved {
			t.size = 1
			old++
		}
		slots = append(slots, t)
		new++
	}
	return slots, left
}

// sums is a Fenwick tree over the sizes of slots.
type sums []int32

func newSums(slots []slot) sums {
	t := make(sums, len(slots)+1)
	for i, s := range slots {
		t[i+1] += s.size
		if up := (i + 1) + (i+1)&-(i+1); up < len(t) {
			t[up] += t[i+1]
		}
	}
	return t
}

func (t sums) add(i int, n int32) {
	for i++; i < len(t); i += i & -i {
		t[i] += n
	}
}

// before returns the sum of the sizes before slot i.
func (t sums) before(i int) (sum int32) {
	for ; i > 0; i -= i & -i {
		sum += t[i]
	}
	return sum
}

func appendIndex(path []byte, i int32) []byte {
	return strconv.AppendInt(append(path, '/'), int64(i), 10)
}

func (p *patcher) write(op string, path, value []byte) error {
	p.start(op)
	p.out = append(p.out, `","path":`...)
	p.out = appendQuoted(p.out, path)
	if value != nil {
		if _, err := jsontape.Parse(value); err != nil {
			return fmt.Errorf("diff: make a patch: value at %q: %w", path, ErrNoPatch)
		}
		p.out = append(p.out, `,"value":`...)
		p.out = append(p.out, value...)
	}
	p.out = append(p.out, '}')
	return nil
}

func (p *patcher) move(from, to []byte) {
	p.start("move")
	p.out = append(p.out, `","from":`...)
	p.out = appendQuoted(p.out, from)
	p.out = append(p.out, `,"path":`...)
	p.out = appendQuoted(p.out, to)
	p.out = append(p.out, '}')
}

func appendQuoted(dst, path []byte) []byte {
	quoted, err := json.Marshal(string(path))
	if err != nil {
		panic("diff: a string cannot be written as JSON: " + err.Error())
	}
	return append(dst, quoted...)
}

func (p *patcher) start(op string) {
	if len(p.out) > 1 {
		p.out = append(p.out, ',')
	}
	p.out = append(append(p.out, `{"op":"`...), op...)
}
