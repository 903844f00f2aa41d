package query

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"hindcast/model"
	"hindcast/model/jsontape"
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
// known; of the steps of a turn only where no snapshot follows. The error ends the sequence.
func (q *Session) History(ctx context.Context, path Path) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		v := q.view()
		h := history{v, path, make([]known, len(v.visits)), make([]int32, len(v.visits))}
		for n := range v.nodes() {
			h.uses[n]++
			if base := v.visits[n].base; base != model.NoNode {
				h.uses[base]++
			}
		}
		for n, err := range v.walk(ctx, v.nodes()) {
			if err == nil {
				err = h.read(ctx, n)
			}
			if err != nil {
				yield(Change{}, err)
				return
			}
			if change := h.compare(n); change != nil && !yield(*change, nil) {
				return
			}
		}
	}
}

// history is the state of a running History.
type history struct {
	*view
	path   Path
	values []known
	// uses counts for each visit the comparisons that need its value.
	uses []int32
}

// known is the value at a visit, as far as it is known.
type known struct {
	// value is zero where there is no value. Where unsure is set, it is the last value known
	// from before.
	value
	read   bool
	unsure bool
	// same says that it is equal to the value that it is compared with.
	same bool
	// why says why the value is not known; damage, that the state is not JSON.
	why    string
	damage bool
}

// read reads the value at a visit, and before it those that it stands on: a parent may be
// recorded after its child.
func (h *history) read(ctx context.Context, n model.Node) error {
	var line []model.Node
	for ; n != model.NoNode && !h.values[n].read; n = h.visits[n].base {
		line = append(line, n)
	}
	if err := h.load(ctx, line...); err != nil {
		return err
	}
	for i := len(line) - 1; i >= 0; i-- {
		n := line[i]
		v, err := h.valueAt(n, h.before(n))
		if err != nil {
			return h.failed(n, err)
		}
		v.read = true
		h.values[n] = v
	}
	return nil
}

// before returns the value with which that of a visit is compared.
func (h *history) before(n model.Node) known {
	if base := h.visits[n].base; base != model.NoNode {
		return h.values[base]
	}
	for h.visits[n].parent != model.NoNode { // steps may come before the first snapshot
		n = h.visits[n].parent
	}
	return known{unsure: h.visits[n].severed}
}

// valueAt returns the value in the state of a visit that is loaded; before is the one that
// it is compared with.
func (h *history) valueAt(n model.Node, before known) (known, error) {
	// Of the whole state those keys count that are known.
	if gaps := h.rope(n).gaps; len(h.path.keys) > 0 && gaps.Has(h.path.keys[0]) {
		lacks := func(string) bool { return false }
		why := model.Gaps{Keys: h.path.keys[:1], Why: gaps.Why}.Of(lacks, 1)
		return known{value: before.value, unsure: true, why: why}, nil
	}
	found, err := h.at(n, h.path)
	same := false
	if err == nil {
		same, err = h.same(before.value, found)
	}
	if wrong := (*jsontape.SyntaxError)(nil); errors.As(err, &wrong) {
		return known{value: before.value, unsure: true, why: "the state is not JSON", damage: true}, nil
	}
	return known{value: found, same: same}, err
}

// compare returns the change that a visit made, nil if it made no change. It releases values
// that no other visit is compared with.
func (h *history) compare(n model.Node) *Change {
	old, now := h.before(n), h.values[n]
	base := h.visits[n].base
	h.release(n)
	if base != model.NoNode {
		h.release(base)
	}
	if now.unsure {
		passing := h.visits[n].traced && h.visits[n].ended
		if now.damage || base == model.NoNode || !old.unsure && !passing {
			return &Change{Visit: n, Unknown: now.why}
		}
		return nil
	}
	if now.same {
		return nil
	}
	return &Change{Visit: n, Old: h.json(old.value), New: h.json(now.value), OrBefore: old.unsure}
}

func (h *history) release(n model.Node) {
	if h.uses[n]--; h.uses[n] == 0 {
		h.values[n].value = value{}
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
