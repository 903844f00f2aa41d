package query

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/jsontape"
)

// How a value is followed back
//
// A path names a place. Where a window slides over a list, another value is there at each
// snapshot, and the history of the place says nothing about the value. So the value is
// followed from the state that it is in: the element that holds it is looked for in the base
// where it was, and beside that, by its bytes alone. Where it is not found it changed, and
// package diff finds its old counterpart: by content, else by id, else by position.
//
//	#40  [m0 m1 m2 m3 m4 m5 m6 m7]       m7 at [7] appears
//	#41     [m1 m2 m3 m4 m5 m6 m7]       at [6]
//	#42        [m2 m3 m4 m5 m6 m7'…]     at [5], changed

// Traced is a change of a value that is followed back.
type Traced struct {
	Change
	// Path is the JSON Pointer of the value in the state of Visit. Keys in it are untrusted.
	Path string
}

// beside is how far beside its place an element is looked for by its bytes.
const beside = 8

// Trace returns the changes of one value on the line that leads to a visit, the newest first:
// of the value that is at a path in the state of that visit, wherever in an array it was
// before. It ends where the value appears. Keys that the store does not know end it, too. The
// error ends the sequence: it may be ErrNoValue.
func (q *Session) Trace(ctx context.Context, n model.Node, path Path) iter.Seq2[Traced, error] {
	return func(yield func(Traced, error) bool) {
		t := &trace{view: q.view(), keys: slices.Clone(path.keys)}
		line := func(yield func(model.Node) bool) {
			for at := n; at != model.NoNode && yield(at); at = t.visits[at].base {
			}
		}
		last := model.NoNode
		for at, err := range t.walk(ctx, line) {
			var found []Traced
			switch {
			case err != nil:
			case last == model.NoNode:
				err = t.begin(at)
			default:
				found, err = t.back(ctx, last, at)
			}
			if err != nil {
				yield(Traced{}, err)
				return
			}
			for _, one := range found {
				if !yield(one, nil) {
					return
				}
			}
			if t.ended {
				return
			}
			last = at
		}
		yield(t.first(last), nil)
	}
}

// trace is the state of a running Trace: the keys that lead to the value in the last state, and
// the value.
type trace struct {
	*view
	keys  []string
	now   value
	ended bool
}

func (t *trace) begin(n model.Node) (err error) {
	if t.now, err = t.at(n, Path{t.keys}); err == nil && t.now.none() {
		err = ErrNoValue
	}
	if err != nil {
		err = t.failed(n, err)
	}
	return err
}

// first returns that the value appears at the first visit of its line.
func (t *trace) first(n model.Node) Traced {
	missing := t.visits[n].severed
	for p := t.visits[n].parent; p != model.NoNode; p = t.visits[p].parent {
		missing = t.visits[p].severed // steps may come before the first snapshot
	}
	return Traced{Change{Visit: n, New: t.json(t.now), OrBefore: missing}, t.pointer()}
}

func (t *trace) pointer() string {
	var path []byte
	for _, key := range t.keys {
		path = jsontape.AppendPointerToken(append(path, '/'), key)
	}
	return string(path)
}

// back goes on to a base, and returns the change that lies between that and the visit n.
func (t *trace) back(ctx context.Context, n, base model.Node) ([]Traced, error) {
	r := t.rope(base)
	if r.err != nil {
		return nil, t.failed(base, r.err)
	}
	if len(t.keys) > 0 && (r.gaps.Has(t.keys[0]) || t.rope(n).gaps.Has(t.keys[0])) {
		t.ended = true
		return []Traced{{Change{Visit: n, New: t.json(t.now), OrBefore: true}, t.pointer()}}, nil
	}
	if found, err := t.moved(n, base); found || err != nil {
		return nil, err
	}
	return t.compared(ctx, n, base)
}

// moved looks in a base for the first element on the path that is the same as at n, and
// reports whether it is there. A value that is in no array is the same, or not.
func (t *trace) moved(n, base model.Node) (bool, error) {
	depth, index := len(t.keys), -1
	for i, key := range t.keys {
		if index = indexOf(key); index < 0 {
			continue
		}
		holder, err := t.at(n, Path{t.keys[:i]})
		if err != nil {
			return false, t.failed(n, err)
		}
		if t.bytes().at(holder.pieces[0].off) == '[' {
			depth = i + 1
			break
		}
		index = -1
	}
	whole, err := t.at(n, Path{t.keys[:depth]})
	if err != nil {
		return false, t.failed(n, err)
	}
	in := Path{slices.Clone(t.keys[:depth])}
	for by := range 2*beside + 1 {
		// 0, 1, -1, 2, -2: a window leaves elements further ahead in the base.
		to := index + (by+1)/2
		if by%2 == 0 {
			to = index - by/2
		}
		if index >= 0 {
			if to < 0 {
				continue
			}
			in.keys[depth-1] = strconv.Itoa(to)
		}
		there, err := t.at(base, in)
		if err != nil {
			return false, nil // what is no JSON there has no value
		}
		if same := slices.Equal(there.pieces, whole.pieces); same {
			copy(t.keys, in.keys)
			t.now, err = t.at(base, Path{t.keys})
			return err == nil, err
		}
		if index < 0 {
			break
		}
	}
	return false, nil
}

// compared compares the states of a visit and its base, and returns the changes of the value.
func (t *trace) compared(ctx context.Context, n, base model.Node) ([]Traced, error) {
	change := Traced{Change{Visit: n, New: t.json(t.now)}, t.pointer()}
	keys, there, err := t.keys, true, error(nil)
	if slices.ContainsFunc(keys, func(key string) bool { return indexOf(key) >= 0 }) { // else no array is on the way
		keys, there, err = t.matched(ctx, n, base)
	}
	var before value
	if there && err == nil {
		before, err = t.at(base, Path{keys})
	}
	if wrong := (*jsontape.SyntaxError)(nil); errors.As(err, &wrong) {
		t.ended, change.OrBefore = true, true
		return []Traced{change}, nil
	}
	if err != nil {
		return nil, t.failed(base, err)
	}
	if !there {
		t.ended = true
		return []Traced{change}, nil
	}
	t.keys = keys
	same, err := t.same(before, t.now)
	if err != nil {
		return nil, t.failed(n, err)
	}
	t.now = before
	if change.Old = t.json(before); change.Old == nil {
		t.ended = true
	}
	if same {
		return nil, nil
	}
	return []Traced{change}, nil
}

// matched compares the states of a visit and its base, and returns the keys of the value in the base.
func (t *trace) matched(ctx context.Context, n, base model.Node) (keys []string, there bool, err error) {
	old, now := join(t.bytes(), t.rope(base).pieces), join(t.bytes(), t.rope(n).pieces)
	r, err := diff.Compare(ctx, diff.Bytes(old), diff.Bytes(now))
	if err != nil {
		return nil, false, err
	}
	keys, there = placeBefore(r, t.keys)
	return keys, there, nil
}

// placeBefore returns the keys that lead in the old state to the value that keys lead to in the
// new one; false where it was added.
func placeBefore(r *diff.Result, keys []string) (before []string, there bool) {
	before = slices.Clone(keys)
	if len(r.Entries) == 0 {
		return before, true
	}
	at := int32(0)
	for i, key := range keys {
		if r.Entries[at].Op == diff.Replaced {
			return nil, false // what is in another value than before came with it
		}
		array := len(r.New(&r.Entries[at])) > 0 && r.New(&r.Entries[at])[0] == '['
		index := int32(indexOf(key))
		next, news, olds := int32(-1), int32(0), []int32(nil)
		for k := at + 1; k < r.Entries[at].End; k = r.Entries[k].End {
			e := &r.Entries[k]
			switch name, named := r.Key(e); {
			case array && e.NewIndex == index && index >= 0, named && name == key && e.Op != diff.Removed:
				next = k
			case array && e.NewIndex >= 0 && e.NewIndex < index:
				news++
			}
			if e.OldIndex >= 0 {
				olds = append(olds, e.OldIndex)
			}
		}
		if next < 0 {
			if array && index >= 0 {
				before[i] = strconv.Itoa(int(unchangedAt(index-news, olds)))
			}
			break
		}
		if r.Entries[next].Op == diff.Added {
			return nil, false
		}
		if array {
			before[i] = strconv.Itoa(int(r.Entries[next].OldIndex))
		}
		at = next
	}
	return before, true
}

// unchangedAt returns the place of the element number rank, from 0, without counting the elements at
// some places.
func unchangedAt(rank int32, but []int32) int32 {
	slices.Sort(but)
	for _, place := range but {
		if place <= rank {
			rank++
		}
	}
	return rank
}
