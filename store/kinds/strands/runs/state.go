package runs

import (
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// outline lists the parts of an earlier state: the members that every state has
// unchanged, the beginning of one list, and some members of one object.
type outline struct {
	// members are all of these in the order of the record.
	members []jsontape.Node
	// order is the list, or None.
	order jsontape.Node
	// results is the object, or None; known are its members, in its order.
	results jsontape.Node
	known   []knownResult
}

// knownResult is a result in the object of results.
type knownResult struct {
	member jsontape.Node
	// from is the first snapshot that holds it, or a number past the last if only the
	// newest does.
	from int
}

// State returns the state of snapshot i, a new slice. The newest is the whole
// record; see the package comment for the others. It is JSON as the record is:
// with NaN where that has it.
func (r *Run) State(i int) []byte {
	s := &r.steps[i]
	if i == len(r.steps)-1 {
		if r.root < 0 {
			return []byte("null")
		}
		return jsontape.AppendCompact(make([]byte, 0, s.size), r.tape.Raw(r.root))
	}
	dst := append(make([]byte, 0, s.size), '{')
	for k, m := range r.outline.members {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, r.tape.RawKey(m)...), ':')
		switch m {
		case r.outline.order:
			dst = r.appendOrder(dst, s.upto)
		case r.outline.results:
			dst = r.appendResults(dst, i)
		default:
			dst = jsontape.AppendCompact(dst, r.tape.Raw(m))
		}
	}
	return append(dst, '}')
}

// Gaps returns the keys of the record that it has once, as of now: all that are in
// the newest state alone. They are the same for every snapshot.
func (r *Run) Gaps() model.Gaps {
	var keys []string
	for n := range r.childrenOf(r.root) {
		if r.tape.Kind(r.root) == jsontape.Object && !r.tape.IsShadowed(n) && !slices.Contains(r.outline.members, n) {
			keys = append(keys, r.tape.Key(n))
		}
	}
	if keys == nil {
		return model.Gaps{}
	}
	return model.Gaps{Keys: keys, Why: model.GapKeptOnce}
}

func (r *Run) appendOrder(dst []byte, upto int) []byte {
	dst = append(dst, '[')
	for n, k := r.tape.First(r.outline.order), 0; n >= 0 && k < upto; n, k = r.tape.Next(n), k+1 {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = jsontape.AppendCompact(dst, r.tape.Raw(n))
	}
	return append(dst, ']')
}

func (r *Run) appendResults(dst []byte, i int) []byte {
	dst = append(dst, '{')
	first := true
	for _, known := range r.outline.known {
		if known.from > i {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, r.tape.RawKey(known.member)...), ':')
		dst = jsontape.AppendCompact(dst, r.tape.Raw(known.member))
	}
	return append(dst, '}')
}

// measureStates works out the sizes of all states in one pass over the record.
func (r *Run) measureStates() {
	var buf []byte
	compact := func(n jsontape.Node) int64 {
		buf = jsontape.AppendCompact(buf[:0], r.tape.Raw(n))
		return int64(len(buf))
	}
	last := len(r.steps) - 1
	if r.root < 0 {
		r.steps[last].size = int64(len("null"))
	} else {
		r.steps[last].size = compact(r.root)
	}
	base := int64(len("{}")) + max(0, int64(len(r.outline.members))-1)
	for _, m := range r.outline.members {
		base += int64(len(r.tape.RawKey(m)) + 1)
		if m == r.outline.order || m == r.outline.results {
			base += int64(len("[]"))
		} else {
			base += compact(m)
		}
	}
	// gains[i] is the size of the results that snapshot i is the first to hold.
	gains, count := make([]int64, last+1), make([]int, last+1)
	for _, known := range r.outline.known {
		if known.from < last {
			gains[known.from] += int64(len(r.tape.RawKey(known.member))+1) + compact(known.member)
			count[known.from]++
		}
	}
	element, taken, order := jsontape.None, 0, int64(0)
	if r.outline.order >= 0 {
		element = r.tape.First(r.outline.order)
	}
	results, held := int64(0), 0
	for i := range last {
		for ; element >= 0 && taken < r.steps[i].upto; element, taken = r.tape.Next(element), taken+1 {
			order += compact(element)
		}
		results, held = results+gains[i], held+count[i]
		r.steps[i].size = base + order + int64(max(0, taken-1)) + results + int64(max(0, held-1))
	}
}
