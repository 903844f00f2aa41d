package query

import (
	"cmp"
	"context"
	"slices"

	"hindcast/model"
)

// KeySize is how much of the states of a session is below one key at their top.
type KeySize struct {
	// Key is decoded and untrusted.
	Key string
	// Here is the length of its value in the state that was asked for; 0 without the key.
	Here int64
	// All adds up the values of all snapshots, and Distinct counts what of their text
	// several share only once: as often as the store keeps it.
	All, Distinct int64
}

// Keys returns how many bytes are below the keys at the top of all snapshots, and of the
// state of one visit, or of no visit for model.NoNode. The key with the most distinct text is
// the first. A state that is no object, or cannot be read, has no keys, and a step of a turn
// is no snapshot. The error concerns reading all states.
func (q *Session) Keys(ctx context.Context, here model.Node) ([]KeySize, error) {
	v := q.view()
	k := keys{view: v, at: map[string]int{}}
	for n, err := range v.walk(ctx, v.nodes()) {
		if err != nil {
			return nil, err
		}
		if v.visits[n].traced && n != here {
			continue
		}
		for _, f := range k.members(n) {
			k.add(f, n == here, !v.visits[n].traced)
		}
	}
	sizes := make([]KeySize, len(k.list))
	for i := range k.list {
		sizes[i] = k.list[i].KeySize
	}
	slices.SortStableFunc(sizes, func(a, b KeySize) int {
		return cmp.Or(cmp.Compare(b.Distinct, a.Distinct), cmp.Compare(b.All, a.All), cmp.Compare(b.Here, a.Here))
	})
	return sizes, nil
}

// keys are the sizes as far as they are added up.
type keys struct {
	*view
	list []keySum
	at   map[string]int // in list, by key
}

// keySum is the size of a key, with its text that was met, and its value in the state before.
type keySum struct {
	KeySize
	seen   cover
	before part
	text   []piece // of before
}

// members returns the members of the state of a visit that is loaded; none where it is no
// object.
func (k *keys) members(n model.Node) []field {
	r := k.rope(n)
	if r.err != nil {
		return nil
	}
	text := k.bytes()
	k.places.mu.Lock()
	list, ok := k.places.fields(text, r.pieces)
	k.places.mu.Unlock()
	if ok {
		return list
	}
	return nil
}

// fields returns the members of a state. It reports false where that is no object, or no JSON.
func (p *places) fields(text pages, pieces []piece) (list []field, ok bool) {
	if p.full() {
		p.forget()
	}
	if len(pieces) == 0 {
		return nil, false
	}
	c := &cursor{places: p, text: text, pieces: pieces, spot: spot{0, pieces[0].off}}
	c.mark()
	if b, _ := c.next(); b != '{' {
		return nil, false
	}
	return c.members()
}

// add adds a member of a state.
func (k *keys) add(f field, here, snapshot bool) {
	i, known := k.at[f.key]
	if !known {
		i = len(k.list)
		k.at[f.key], k.list = i, append(k.list, keySum{KeySize: KeySize{Key: f.key}})
	}
	of := &k.list[i]
	size := int64(f.size())
	if here {
		of.Here += size
	}
	if !snapshot {
		return
	}
	of.All += size
	if of.before.pieces != nil && f.part.isSame(of.before) {
		return
	}
	pieces := f.text()
	from, to := changed(of.text, pieces)
	for _, p := range pieces[from:to] {
		for _, new := range of.seen.add(p) {
			of.Distinct += int64(new.n)
		}
	}
	of.before, of.text = f.part, pieces
}
