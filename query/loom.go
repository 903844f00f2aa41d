package query

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"

	"hindcast/model"
	"hindcast/store"
)

// loomed is the source of a store that says which texts its states are made of. The text of one reading is
// put together of two: listed texts lie one behind the other, so that a list of them is one piece.
//
//	states   {"messages":[a],"n":1}   {"messages":[a,b],"n":2}
//	text     a,b      {"messages":[ ],"n":1} ],"n":2}
//	         listed             others
type loomed struct {
	weave func(ctx context.Context, refs []model.Ref, to store.Loom) error
	// surveys says that weave looks at a whole session for any of its states.
	surveys bool
	// whole cuts states that come whole.
	whole *cutter
	// known are the texts that are in the session's, by two hashes.
	seeds [2]maphash.Seed
	known map[[2]uint64]piece
}

// newLoomed returns the source of a store with a Weave.
func newLoomed(s store.Store, weave func(ctx context.Context, refs []model.Ref, to store.Loom) error) *loomed {
	return &loomed{weave: weave, surveys: s.Features().Surveys, whole: newCutter(s), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: map[[2]uint64]piece{}}
}

// firstWoven is how many states are read in the first go: the session's rows are gone over in each.
const firstWoven = 1 << 7

// goes implements source.
func (l *loomed) goes() (first, most int) {
	if l.surveys {
		return firstWoven, math.MaxInt
	}
	return firstWoven, mostAtOnce
}

// read implements source.
func (l *loomed) read(ctx context.Context, refs []model.Ref, text pages) (pages, []rope, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &weaving{loomed: l, cancel: cancel, text: text, ropes: make([]rope, len(refs))}
	for i := range w.ropes {
		w.ropes[i].err = errUntaken
	}
	err := l.weave(ctx, refs, store.Loom{Put: w.put, Take: w.take})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && w.taken < len(refs) {
		err = fmt.Errorf("the store gave %d of %d states", w.taken, len(refs))
	}
	w.settle()
	return w.text, w.ropes, err
}

var errUntaken = fmt.Errorf("the state was not read")

// weaving is the loom of one reading. A piece of others has its offset among these, and the bit of otherText,
// until they are put behind the text.
type weaving struct {
	*loomed
	cancel context.CancelCauseFunc
	text   pages
	others pages
	fresh  [][2]uint64 // those of others
	ropes  []rope
	taken  int
}

// put is the Put of store.Loom.
func (w *weaving) put(t store.Text) store.Run {
	var sum [2]uint64
	var h maphash.Hash
	for i, seed := range w.seeds {
		h.SetSeed(seed)
		h.WriteByte(t.Kind)
		h.WriteByte(byte(len(t.Before)))
		h.WriteString(t.Before)
		h.Write(t.Raw)
		sum[i] = h.Sum64()
	}
	p, known := w.known[sum]
	if !known {
		made := t.Raw
		if t.Make != nil {
			if made = t.Make(t.Raw); made == nil {
				return store.Run{}
			}
		}
		if !w.fits(len(t.Before) + len(made)) {
			return store.Run{}
		}
		if t.Listed {
			p = w.text.add([]byte(t.Before), made)
		} else {
			p = w.others.add([]byte(t.Before), made)
			p.off, w.fresh = p.off|otherText, append(w.fresh, sum)
		}
		w.known[sum] = p
	}
	return store.Run{At: int64(p.off), Len: int64(p.n)}
}

// fits reports whether there is room for more bytes, and ends the reading if there is no room.
func (w *weaving) fits(n int) bool {
	err := w.text.fit(w.others.held + int64(n))
	if err != nil {
		w.cancel(err)
	}
	return err == nil
}

// take is the Take of store.Loom.
func (w *weaving) take(number int, state store.Rope) {
	r := rope{gaps: state.Gaps, err: state.Err}
	switch {
	case r.err != nil:
	case len(state.Runs) > 0:
		r.pieces = make([]piece, 0, len(state.Runs))
		for _, run := range state.Runs {
			r.pieces = appendPiece(r.pieces, piece{uint32(run.At), uint32(run.Len)})
		}
	case w.fits(len(state.State)):
		w.text, r.pieces = w.whole.cut(state.State, w.text)
	default:
		return
	}
	if w.ropes[number].err == errUntaken {
		w.taken++
	}
	w.ropes[number] = r
}

// settle puts the others behind the text.
func (w *weaving) settle() {
	base := make([]uint32, len(w.others.list)) // of each page
	for off, part := range w.others.from(0) {
		to := w.text.add(part).off - off
		for i := off >> pageBits; i <= (off+uint32(len(part))-1)>>pageBits; i++ {
			base[i] = to
		}
	}
	settled := func(p piece) piece {
		if p.off&otherText != 0 && p.n > 0 {
			p.off &^= otherText
			p.off += base[p.off>>pageBits]
		}
		return p
	}
	for _, sum := range w.fresh {
		w.known[sum] = settled(w.known[sum])
	}
	for i := range w.ropes {
		for k, p := range w.ropes[i].pieces {
			w.ropes[i].pieces[k] = settled(p)
		}
	}
}
