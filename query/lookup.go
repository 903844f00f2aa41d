package query

import (
	"slices"

	"hindcast/model"
)

// value is a value in a state as pieces of the text; the zero value is none.
type value struct{ pieces []piece }

func (v value) none() bool { return len(v.pieces) == 0 }

// at returns the value at a path in the state of a visit that is loaded, and none where
// there is no such value. The error is that of the state, or says that it is not JSON.
func (v *view) at(n model.Node, path Path) (value, error) {
	r := v.rope(n)
	if r.err != nil {
		return value{}, r.err
	}
	state := join(nil, v.bytes(), r.pieces)
	found, err := path.in(state)
	if err != nil || found == nil {
		return value{}, err
	}
	return value{cut(r.pieces, cap(state)-cap(found), len(found))}, nil
}

// cut returns n bytes of pieces, behind the first from.
func cut(pieces []piece, from, n int) (part []piece) {
	for _, p := range pieces {
		if from >= int(p.n) {
			from -= int(p.n)
			continue
		}
		length := min(int(p.n)-from, n)
		part = append(part, piece{p.off + uint32(from), uint32(length)})
		if n -= length; n == 0 {
			break
		}
		from = 0
	}
	return part
}

// json returns a value as it stands in its state, nil for none.
func (v *view) json(of value) []byte {
	if of.none() {
		return nil
	}
	return join(nil, v.bytes(), of.pieces)
}

// same reports whether two values are equal, or both none. The error is that b is not JSON;
// a is.
func (v *view) same(a, b value) (bool, error) {
	if slices.Equal(a.pieces, b.pieces) {
		return true, nil
	}
	return equal(v.json(a), v.json(b))
}
