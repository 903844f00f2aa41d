package query

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/store"
)

// Rows returns the rows of [store.Rows]. Where the store knows which bytes its states share, a row costs only
// its new bytes.
func Rows(ctx context.Context, s store.Store, sessions ...string) iter.Seq2[store.Row, error] {
	return store.RowsBy(ctx, s, func(headers []model.Header) store.StateReader { return States(s, headers) }, sessions...)
}

// States returns a reader of the states of headers of one session. Where the store knows
// which bytes its states share, the reader reads of each state those that the one before lacks.
func States(s store.Store, headers []model.Header) store.StateReader {
	return (&stateReader{store: s, features: store.FeaturesOf(s), headers: headers}).read
}

// stateReader reads the states of a session one behind the other. Where the store knows
// which bytes they share, it is asked for many at once, and for bytes that a state has in common with the one before it once.
type stateReader struct {
	store    store.Store
	features store.Features
	headers  []model.Header
	// from is the first header of the batch that was read, and batch what its states are made of.
	from  int
	batch []splice
	// fresh are the bytes of the batch that no state before them has, as far as they are not
	// taken.
	fresh []byte
	// last is the state that was made last, and placed are the runs of the last one of the batch.
	last   []byte
	placed []placedRun
}

// splice is a state as pieces of the one before it and of fresh bytes; nil where the store does
// not know.
type splice []struct {
	// from is where the piece begins in the state before, or fresh.
	from, n int64
}

const fresh = -1

const (
	// statesAtOnce bounds the states of a batch, and mostFresh their fresh bytes.
	statesAtOnce = 1 << 10
	mostFresh    = 16 << 20
)

// read returns the state of header i. Calls come in the order of the headers, some may be left
// out. The errors are those of State.
func (r *stateReader) read(ctx context.Context, i int) ([]byte, error) {
	if r.features.Ropes == nil {
		return r.store.State(ctx, r.headers[i].Ref())
	}
	if i >= r.from+len(r.batch) {
		r.load(ctx, i)
	}
	for ; r.from < i; r.from, r.batch = r.from+1, r.batch[1:] {
		r.make() // the next one has pieces of it
	}
	if r.batch[0] == nil {
		return r.store.State(ctx, r.headers[i].Ref())
	}
	r.make()
	r.from, r.batch = r.from+1, r.batch[1:]
	return r.last, nil
}

// make makes the first state of the batch, where the store knows its pieces.
func (r *stateReader) make() {
	pieces := r.batch[0]
	if pieces == nil {
		return
	}
	size := int64(0)
	for _, p := range pieces {
		size += p.n
	}
	state := make([]byte, 0, size)
	for _, p := range pieces {
		if p.from == fresh {
			state, r.fresh = append(state, r.fresh[:p.n]...), r.fresh[p.n:]
		} else {
			state = append(state, r.last[p.from:p.from+p.n]...)
		}
	}
	r.last = state
}

// load reads a batch that begins at header i. Of states that the store cannot tell in runs, and
// of all where it fails, the pieces are nil: each is read by itself then.
func (r *stateReader) load(ctx context.Context, i int) {
	n := min(statesAtOnce, len(r.headers)-i)
	r.from, r.batch = i, make([]splice, n)
	refs := make([]model.Ref, n)
	for k := range refs {
		refs[k] = r.headers[i+k].Ref()
	}
	var wanted []store.Run
	k, total := 0, int64(0)
	for rope, err := range r.features.Ropes(ctx, refs) {
		if err != nil || k == n || total > mostFresh {
			break
		}
		if rope.Err == nil && len(rope.Runs) > 0 && sound(rope.Runs) {
			r.batch[k], wanted = splitRuns(rope.Runs, r.placed, wanted)
			for _, p := range r.batch[k] {
				if p.from == fresh {
					total += p.n
				}
			}
			r.placed = placeRuns(rope.Runs)
		}
		k++
	}
	r.batch = r.batch[:max(k, 1)]
	r.fresh = make([]byte, total)
	if err := r.features.Fill(ctx, wanted, r.fresh); err != nil {
		clear(r.batch)
		r.placed = nil
	}
}

// placedRun is a run and where its bytes begin in a state.
type placedRun struct {
	store.Run
	off int64
}

// placeRuns returns the runs of a state in the order of their numbering.
func placeRuns(runs []store.Run) []placedRun {
	list, off := make([]placedRun, len(runs)), int64(0)
	for i, run := range runs {
		list[i] = placedRun{run, off}
		off += run.Len
	}
	slices.SortFunc(list, func(a, b placedRun) int { return cmp.Compare(a.At, b.At) })
	return list
}

// splitRuns returns runs as pieces of the state before, whose runs are placed, and of fresh bytes;
// it appends the runs of those to wanted.
func splitRuns(runs []store.Run, before []placedRun, wanted []store.Run) (splice, []store.Run) {
	pieces := splice{}
	add := func(from, n int64) {
		if last := len(pieces) - 1; last >= 0 && (from == fresh && pieces[last].from == fresh || from != fresh && pieces[last].from != fresh && pieces[last].from+pieces[last].n == from) {
			pieces[last].n += n
			return
		}
		pieces = append(pieces, struct{ from, n int64 }{from, n})
	}
	for _, run := range runs {
		for run.Len > 0 {
			i, _ := slices.BinarySearchFunc(before, run.At+1, func(p placedRun, at int64) int { return cmp.Compare(p.At, at) })
			n := run.Len
			if i > 0 && before[i-1].At+before[i-1].Len > run.At {
				p := before[i-1]
				n = min(n, p.At+p.Len-run.At)
				add(p.off+run.At-p.At, n)
			} else {
				if i < len(before) {
					n = min(n, before[i].At-run.At)
				}
				add(fresh, n)
				wanted = append(wanted, store.Run{At: run.At, Len: n})
			}
			run.At, run.Len = run.At+n, run.Len-n
		}
	}
	return pieces, wanted
}
