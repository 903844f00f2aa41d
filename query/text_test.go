package query

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// ranged is a store of states that are runs of a text, each state named by its number.
type ranged struct {
	text   []byte
	states [][]store.Run
	// broken is the offset of a byte that cannot be read, none below 0.
	broken int64
	filled int
	// filling is called before bytes are read.
	filling func() error
}

func (s *ranged) source() source {
	return newSource(nil, store.Features{
		Ropes: func(_ context.Context, refs []model.Ref) iter.Seq2[store.Rope, error] {
			return func(yield func(store.Rope, error) bool) {
				for _, ref := range refs {
					if !yield(store.Rope{Runs: s.states[ref.Visit]}, nil) {
						return
					}
				}
			}
		},
		Fill: func(_ context.Context, runs []store.Run, dst []byte) error {
			if s.filling != nil {
				if err := s.filling(); err != nil {
					return err
				}
			}
			for _, run := range runs {
				if run.At <= s.broken && s.broken < end(run) {
					return errors.New("a bad block")
				}
				n := copy(dst, s.text[run.At:end(run)])
				s.filled, dst = s.filled+n, dst[n:]
			}
			return nil
		},
	})
}

// add appends a state to the text, and returns its run.
func (s *ranged) add(state string) store.Run {
	run := store.Run{At: int64(len(s.text)), Len: int64(len(state))}
	s.text = append(s.text, state...)
	return run
}

func (s *ranged) refs(from, to int) (refs []model.Ref) {
	for i := from; i < to; i++ {
		refs = append(refs, model.Ref{Visit: int64(i)})
	}
	return refs
}

// state returns the bytes of a state, and whether one of them is broken.
func (s *ranged) state(i int) (state []byte, broken bool) {
	for _, run := range s.states[i] {
		state = append(state, s.text[run.At:end(run)]...)
		broken = broken || run.At <= s.broken && s.broken < end(run)
	}
	return state, broken
}

// Of small states that a store keeps whole, the text has what they share once, and each state is read once.
func TestRoped_sharesSmallStates(t *testing.T) {
	skip.Sequential(t)
	s := &ranged{broken: -1}
	const n = 1000
	for i := range n {
		s.states = append(s.states, []store.Run{s.add(slides(i, 20))})
	}
	source := s.source()
	var text pages
	for range 2 {
		for _, of := range [][]model.Ref{s.refs(0, 1), s.refs(1, 129), s.refs(129, n)} {
			var ropes []rope
			var err error
			if text, ropes, err = source.read(t.Context(), of, text); err != nil {
				t.Fatal(err)
			}
			for i, r := range ropes {
				if want, _ := s.state(int(of[i].Visit)); r.err != nil || !bytes.Equal(join(text, r.pieces), want) {
					t.Fatalf("state %d is %q, %v", of[i].Visit, join(text, r.pieces), r.err)
				}
			}
		}
		if s.filled != len(s.text) || int(text.held) > len(s.text)/4 {
			t.Fatalf("of %d bytes %d were read, and %d are kept", len(s.text), s.filled, int(text.held))
		}
	}
}

// Whatever runs states are made of, each is its bytes or, where one of these cannot be read, an error; a reading
// that is left before its end claims no state that it did not read.
func TestRoped_readsAnyRuns(t *testing.T) {
	skip.Sequential(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &ranged{broken: -1}
		for i := range 300 {
			runs := []store.Run{s.add(slides(i, 1+r.IntN(8)))}
			if i > 0 {
				other := s.states[r.IntN(i)]
				switch r.IntN(20) {
				case 0: // the same state again
					runs = other
				case 1: // a part of another
					runs = []store.Run{{At: other[0].At, Len: 1 + r.Int64N(other[0].Len)}}
				case 2: // it goes on where another ends
					runs = append([]store.Run{other[0]}, runs...)
				case 3: // over the next states
					runs = []store.Run{{At: other[0].At, Len: min(other[0].Len+r.Int64N(9000), int64(len(s.text))-other[0].At)}}
				}
			}
			s.states = append(s.states, runs)
		}
		if r.IntN(2) == 0 {
			s.broken = r.Int64N(int64(len(s.text)))
		}
		source := s.source()
		ctx, cancel := context.WithCancel(t.Context())
		fills := 1 + r.IntN(6)
		s.filling = func() error {
			if fills--; fills == 0 {
				cancel()
			}
			return ctx.Err()
		}
		var text pages
		for _, reading := range []context.Context{ctx, t.Context()} {
			for from := 0; from < len(s.states); {
				to := min(len(s.states), from+1+r.IntN(250))
				var ropes []rope
				var err error
				if text, ropes, err = source.read(reading, s.refs(from, to), text); err != nil && reading.Err() == nil {
					t.Fatal(err)
				} else if err == nil && len(ropes) != to-from {
					t.Fatalf("%d ropes of %d", len(ropes), to-from)
				}
				for i, one := range ropes {
					want, broken := s.state(from + i)
					if one.err == nil && !bytes.Equal(join(text, one.pieces), want) || reading.Err() == nil && broken != (one.err != nil) {
						t.Fatalf("seed %d: state %d is %q, %v, and not %q; broken: %v", seed, from+i, join(text, one.pieces), one.err, want, broken)
					}
				}
				from = to
			}
			s.filling = nil
		}
		cancel()
	}
}
