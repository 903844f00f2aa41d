package messages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
)

// Apart is that of store.Features: the elements that two states of one log begin with alike are not read.
func (s *Store) Apart(ctx context.Context, a, b model.Ref) (two store.Apart, err error) {
	whole := true
	if a.Session == b.Session && cmp.Or(a.CheckNoVisit(), b.CheckNoVisit()) == nil {
		err = s.In(ctx, a.Session, func(in engine.In, at engine.Place) (err error) {
			if p := at.Own.(place); p.orchestrator == "" {
				whole = false
				two, err = agentLog{s, p, in}.apart(ctx, a.ID, b.ID)
			}
			return err
		})
	}
	if err != nil {
		return store.Apart{}, s.Wrap(err, "compare states %q and %q of session %q", a.ID, b.ID, a.Session)
	}
	if whole {
		if two.A, err = s.State(ctx, a); err == nil {
			two.B, err = s.State(ctx, b)
		}
	}
	return two, err
}

// apart returns the states of two snapshots without what they have in common.
func (a agentLog) apart(ctx context.Context, ids ...string) (two store.Apart, err error) {
	l := openLog(a.place, a.in)
	defer l.close()
	var elements []func() []byte
	numbers := map[string]int64{} // of the elements
	var states [2][]int64
	var ends [2][]byte
	for k, id := range ids {
		at, err := l.find(ctx, id)
		if err != nil {
			return two, err
		}
		err = at.log.weave(ctx, map[int][]int{at.i: {k}}, &loom{
			has: func([sha256.Size]byte) bool { return true },
			put: func(e piece, _ bool) store.Run {
				key := string(e.text(true).Raw)
				n, known := numbers[key]
				if !known {
					n = int64(len(elements))
					numbers[key] = n
					elements = append(elements, e.later())
				}
				states[k] = append(states[k], n)
				return store.Run{At: n, Len: 1}
			},
			take: at.check,
		})
		if err != nil {
			return two, err
		}
		ends[k] = at.log.end(at.i)
	}
	for n := min(len(states[0]), len(states[1])); two.Common < n && states[0][two.Common] == states[1][two.Common]; {
		two.Common++
	}
	if two.Common > 0 {
		two.Key = "messages"
	}
	for k, state := range []*[]byte{&two.A, &two.B} {
		*state = []byte(stateOpen)
		for i, n := range states[k][two.Common:] {
			text := elements[n]()
			if text == nil {
				return two, errMoved
			}
			if i > 0 {
				*state = append(*state, ',')
			}
			*state = append(*state, text...)
		}
		*state = slices.Concat(*state, ends[k])
	}
	return two, ctx.Err()
}
