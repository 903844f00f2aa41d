package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// Change is a visit at which a value is not as it was before.
//
//	Old  New
//	nil  1    it appears
//	1    2    it becomes another
//	1    nil  it is removed; null is a value and not nil
type Change struct {
	Visit model.Node
	// Old and New are JSON as it stands in the states, nil where there is no such value.
	Old, New []byte
	// OrBefore says that the change may have come earlier: the visit's parent is missing,
	// or the value is not known there. Old is then the last value that is known.
	OrBefore bool
	// Unknown says in words why the value is not known at the visit, which is no change.
	// It is untrusted; "" where the value is known.
	Unknown string
}

// History returns the changes of the value at a path, on all branches, in the order in
// which the visits were recorded. Each visit is compared with its base, see
// [model.Timeline.Base]: a snapshot with the snapshot before it, a step with its parent.
// Values are compared, not their spelling.
//
// A key that the store does not know, see [model.Gaps], is told once where it ceases to be
// known; of the steps of a turn only where no snapshot follows. Each state is read once,
// or what it adds to its base where the store tells that. Of the states the values alone
// are kept, until the visits after them are compared. The error ends the sequence.
func History(ctx context.Context, s store.Store, t *model.Timeline, path Path) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		h := history{s, t, path, make([]int32, t.Len()), map[model.Node]value{}}
		for n := range model.Node(t.Len()) {
			h.uses[n]++
			if base := t.Base(n); base != model.NoNode {
				h.uses[base]++
			}
		}
		for n := range model.Node(t.Len()) {
			if err := h.read(ctx, n); err != nil {
				yield(Change{}, err)
				return
			}
			if change := h.compare(n); change != nil && !yield(*change, nil) {
				return
			}
		}
	}
}

// history is what History knows on its way.
type history struct {
	store    store.Store
	timeline *model.Timeline
	path     Path
	// uses counts for each visit the comparisons that need its value.
	uses   []int32
	values map[model.Node]value
}

// value is what is known at a visit.
type value struct {
	// json is nil where there is no value. Where unsure is set it is the last that is
	// known from before.
	json   []byte
	unsure bool
	// same says that it is equal to the one that it is compared with.
	same bool
	// why says why the value is not known; damage, that the state is not JSON.
	why    string
	damage bool
}

// read reads the value at a visit, and before it those that it stands on: a parent may be
// recorded after its child.
func (h *history) read(ctx context.Context, n model.Node) error {
	var line []model.Node
	for ; n != model.NoNode; n = h.timeline.Base(n) {
		if _, known := h.values[n]; known {
			break
		}
		line = append(line, n)
	}
	for i := len(line) - 1; i >= 0; i-- {
		n := line[i]
		v, err := h.valueAt(ctx, n, h.before(n))
		if err != nil {
			return fmt.Errorf("read the value at %s: %w", h.timeline.Name(n), err)
		}
		h.values[n] = v
	}
	return nil
}

// before returns the value with which that of a visit is compared.
func (h *history) before(n model.Node) value {
	if base := h.timeline.Base(n); base != model.NoNode {
		return h.values[base]
	}
	for h.timeline.Parent(n) != model.NoNode { // steps may come before the first snapshot
		n = h.timeline.Parent(n)
	}
	root := h.timeline.Header(n)
	return value{unsure: root.ParentID != "" || root.ParentVisit != 0}
}

// valueAt returns the value in the state of a visit; before is the one that it is
// compared with.
func (h *history) valueAt(ctx context.Context, n model.Node, before value) (value, error) {
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	header := h.timeline.Header(n)
	gaps, err := store.Gaps(ctx, h.store, header.Ref())
	if err != nil {
		return value{}, err
	}
	if len(h.path.keys) == 0 {
		// of the whole state those that are known count
	} else if key := h.path.keys[0]; gaps.Has(key) {
		lacks := func(string) bool { return false }
		why := model.Gaps{Keys: []string{key}, Why: gaps.Why}.Of(lacks, 1)
		return value{json: before.json, unsure: true, why: why}, nil
	}
	found, same, err := h.find(ctx, n, before)
	if err == nil && !same {
		same, err = equal(before.json, found)
	}
	if wrong := (*jsontape.SyntaxError)(nil); errors.As(err, &wrong) {
		return value{json: before.json, unsure: true, why: "the state is not JSON", damage: true}, nil
	}
	if same && len(found) == len(before.json) {
		return value{json: before.json, same: true}, nil
	}
	return value{json: bytes.Clone(found), same: same}, err // the state itself may go
}

// apart is a store that reads of two states only what they do not have in common.
type apart interface {
	Apart(ctx context.Context, a, b model.Ref) (store.Apart, error)
}

// find returns the value at a visit as it stands in the state; same says that it is the one
// before. A state that only adds to its base is read without what both begin with.
func (h *history) find(ctx context.Context, n model.Node, before value) (found []byte, same bool, err error) {
	header, base := h.timeline.Header(n), h.timeline.Base(n)
	if s, ok := h.store.(apart); ok && base != model.NoNode && !before.unsure {
		of := h.timeline.Header(base)
		two, err := s.Apart(ctx, of.Ref(), header.Ref())
		if err != nil {
			return nil, false, err
		}
		path, where := h.path.behind(two.Key, two.Common)
		switch where {
		case amongCommon:
			return before.json, true, nil
		case besides:
			found, err = path.in(two.B)
			return found, false, err
		}
	}
	state, err := h.store.State(ctx, header.Ref())
	if err != nil {
		return nil, false, err
	}
	found, err = h.path.in(state)
	return found, false, err
}

// compare returns the change that a visit made, nil for none. Values that no other visit
// is compared with go.
func (h *history) compare(n model.Node) *Change {
	old, now := h.before(n), h.values[n]
	base := h.timeline.Base(n)
	h.release(n)
	if base != model.NoNode {
		h.release(base)
	}
	if now.unsure {
		passing := h.timeline.Traced(n) && h.timeline.EndOf(n) != model.NoNode
		if now.damage || base == model.NoNode || !old.unsure && !passing {
			return &Change{Visit: n, Unknown: now.why}
		}
		return nil
	}
	if now.same {
		return nil
	}
	return &Change{Visit: n, Old: old.json, New: now.json, OrBefore: old.unsure}
}

func (h *history) release(n model.Node) {
	if h.uses[n]--; h.uses[n] == 0 {
		delete(h.values, n)
	}
}

// equal reports whether two texts are the same value, or both none. The error is that b is
// not JSON; a is.
func equal(a, b []byte) (bool, error) {
	switch {
	case b == nil:
		return a == nil, nil
	case bytes.Equal(a, b):
		return true, nil
	}
	y, _, err := jsontape.ParseTolerant(b)
	if err != nil || a == nil {
		return false, err
	}
	x, _, err := jsontape.ParseTolerant(a)
	return err == nil && jsontape.Equal(x, 0, y, 0), err
}
