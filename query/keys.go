package query

import (
	"context"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// KeySize is how much of a state is below one key at its top.
type KeySize struct {
	// Key is decoded and untrusted.
	Key string
	// Bytes is the length of its value.
	Bytes int64
}

// Keys returns how many bytes are below the keys at the top of the state of a visit, most
// first; none for a state that is no object. The error is that of the state, or a
// *jsontape.SyntaxError.
func (q *Session) Keys(ctx context.Context, n model.Node) ([]KeySize, error) {
	v := q.view()
	if err := v.load(ctx, n); err != nil {
		return nil, v.failed(n, err)
	}
	state, err := v.at(n, Path{})
	if err != nil {
		return nil, v.failed(n, err)
	}
	var sizes []KeySize
	for m, err := range jsontape.Members(v.json(state)) {
		if err != nil || m.Key == nil {
			return nil, err
		}
		sizes = append(sizes, KeySize{jsontape.Unquote(m.Key), int64(len(m.Value))})
	}
	slices.SortStableFunc(sizes, func(a, b KeySize) int { return int(b.Bytes - a.Bytes) })
	return sizes, nil
}
