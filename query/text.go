package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"hindcast/model"
	"hindcast/store"
)

// maxText bounds the distinct text of one session that is held in memory.
const maxText = 1 << 30

// TooLargeError says that a session has more distinct text than questions hold in memory.
type TooLargeError struct {
	// Size is how many bytes it has at least.
	Size int64
}

// Error returns how large the session is, and how large it may be.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the states have %d bytes of different text, and questions hold %d; ask about another session, or use hindcast export", e.Size, maxText)
}

// piece is bytes of a session's text. The same piece is the same bytes.
type piece struct{ off, n uint32 }

func (p piece) end() uint32 { return p.off + p.n }

// appendPiece adds a piece to a list, as a part of the last one if it goes on where that ends.
func appendPiece(list []piece, p piece) []piece {
	if p.n == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].end() == p.off {
		list[n-1].n += p.n
		return list
	}
	return append(list, p)
}

// join returns the bytes of pieces of a text.
func join(text pages, pieces []piece) []byte {
	size := 0
	for _, p := range pieces {
		size += int(p.n)
	}
	dst := make([]byte, 0, size)
	for _, p := range pieces {
		dst = append(dst, text.of(p)...)
	}
	return dst
}

// roped is the source of a store that knows which bytes its states share.
type roped struct {
	store store.Features
	// whole reads states that the store returns no runs for.
	whole *cutter
	// filled are the places that are in the text, in order and apart.
	filled []interval
	// cuts are the ropes of states that were cut, by their runs.
	cuts map[store.Run][]piece
}

// interval is where in the text a run of the store is.
type interval struct {
	store.Run
	off uint32
}

func end(r store.Run) int64 { return r.At + r.Len }

// runsAtOnce bounds how many runs room is made for in one go, and mostRun how many bytes of several are read in one.
const runsAtOnce, mostRun = 1 << 14, 1 << 20

// goes implements source: a store that looks at everything each time is asked twice, once for the
// first answers.
func (r *roped) goes() (first, most int) {
	if r.store.Surveys {
		return mostAtOnce, math.MaxInt
	}
	return 1, mostAtOnce
}

// read implements source.
func (r *roped) read(ctx context.Context, refs []model.Ref, text pages) (pages, []rope, error) {
	states := make([]store.Rope, 0, len(refs))
	var all []store.Run // of some states, one behind the other
	for state, err := range r.store.Ropes(ctx, refs) {
		if err != nil {
			return text, nil, err
		}
		if len(all)+len(state.Runs) > cap(all) {
			all = make([]store.Run, 0, max(len(state.Runs), min(runsAtOnce, 2*cap(all)))) // what the others are in stays
		}
		from := len(all)
		all = append(all, state.Runs...)
		state.Runs = all[from:len(all):len(all)]
		if !sound(state.Runs) {
			state.Err = errors.Join(state.Err, errUnsound)
		}
		states = append(states, state)
	}
	if len(states) != len(refs) {
		return text, nil, fmt.Errorf("the store gave %d of %d states", len(states), len(refs))
	}
	whole := r.takeWhole(states)
	text, ropes, err := r.take(ctx, states, text, make([]rope, 0, len(refs)))
	if err == nil {
		text, err = r.cutWhole(ctx, whole, text, ropes)
	}
	if err != nil {
		return text, nil, err
	}
	return r.rest(ctx, refs, text, ropes)
}

// A state of one run of at most mostCut bytes that overlaps no other run shares nothing that the store knows,
// so it is cut. That is told among leastTold states or more, and cutAtOnce are read in one go.
const mostCut, leastTold, cutAtOnce = 1 << 14, 1 << 6, 1 << 9

// wholeRope is a state that is cut, and its number in a list.
type wholeRope struct {
	store.Rope
	number int
}

// takeWhole moves the states that are cut out of a list, which has them without runs then.
func (r *roped) takeWhole(states []store.Rope) (whole []wholeRope) {
	var may []wholeRope
	others := slices.Clone(states)
	for i, state := range states {
		if state.Err != nil || len(state.Runs) != 1 || state.Runs[0].Len > mostCut {
			continue
		}
		others[i].Runs = nil
		if _, known := r.cuts[state.Runs[0]]; known {
			states[i].Runs, whole = nil, append(whole, wholeRope{state, i})
		} else {
			may = append(may, wholeRope{state, i})
		}
	}
	if len(states) < leastTold {
		return whole
	}
	missing := r.missing(others)
	slices.SortFunc(may, func(a, b wholeRope) int { return cmp.Compare(a.Runs[0].At, b.Runs[0].At) })
	for len(may) > 0 {
		run, n, same := may[0].Runs[0], 1, true
		to := end(run)
		for ; n < len(may) && may[n].Runs[0].At < to; n++ {
			same, to = same && may[n].Runs[0] == run, max(to, end(may[n].Runs[0]))
		}
		filled := r.find(run.At)
		other := sort.Search(len(missing), func(i int) bool { return end(missing[i]) > run.At })
		if same && (filled == len(r.filled) || r.filled[filled].At >= to) && (other == len(missing) || missing[other].At >= to) {
			for _, w := range may[:n] {
				states[w.number].Runs, whole = nil, append(whole, w)
			}
		}
		may = may[n:]
	}
	return whole
}

// cutWhole sets the ropes of states that are cut. It reads a state once.
func (r *roped) cutWhole(ctx context.Context, whole []wholeRope, text pages, ropes []rope) (pages, error) {
	var unread []store.Rope
	var read, failed []rope
	var held pages
	for len(whole) > 0 {
		some := whole[:min(len(whole), cutAtOnce)]
		whole, unread, failed = whole[len(some):], unread[:0], nil
		for _, w := range some {
			if _, known := r.cuts[w.Runs[0]]; !known {
				unread = append(unread, w.Rope)
			}
		}
		var err error
		if held, read, err = (&roped{store: r.store}).take(ctx, unread, pages{}, read[:0]); err != nil {
			return text, err
		}
		for i, one := range read {
			if one.err != nil {
				failed = append(failed, one)
				continue
			}
			state := held.of(one.pieces[0]) // one run is one piece
			if err := text.fit(int64(len(state))); err != nil {
				return text, err
			}
			text, r.cuts[unread[i].Runs[0]] = r.whole.cut(state, text)
		}
		for _, w := range some {
			if pieces, known := r.cuts[w.Runs[0]]; known {
				ropes[w.number] = rope{pieces: pieces, gaps: w.Gaps}
			} else {
				ropes[w.number], failed = failed[0], failed[1:]
			}
		}
	}
	return text, nil
}

// rest reads states that the store returned no runs for.
func (r *roped) rest(ctx context.Context, refs []model.Ref, text pages, ropes []rope) (pages, []rope, error) {
	var whole []model.Ref
	var at []int
	for i := range ropes {
		if ropes[i].err == nil && len(ropes[i].pieces) == 0 {
			whole, at = append(whole, refs[i]), append(at, i)
		}
	}
	text, read, err := r.whole.read(ctx, whole, text)
	for i := range read {
		ropes[at[i]] = read[i]
	}
	if err != nil && len(read) < len(at) {
		ropes = ropes[:at[len(read)]]
	}
	return text, ropes, err
}

var errUnsound = errors.New("the store gave a state in parts that cannot be")

// sound reports whether runs may be read.
func sound(runs []store.Run) bool {
	for _, run := range runs {
		if run.Len <= 0 || run.At < 0 || run.At > math.MaxInt64-run.Len {
			return false
		}
	}
	return true
}

// take fills the text with the new parts of some states, all at once, and appends their ropes.
// Where that fails, it is tried with half of them: so a damaged run keeps only those states
// from being read that have it.
func (r *roped) take(ctx context.Context, states []store.Rope, text pages, ropes []rope) (pages, []rope, error) {
	text, err := r.fill(ctx, r.missing(states), text)
	var tooLarge *TooLargeError
	switch {
	case err == nil:
		for _, state := range states {
			to := rope{gaps: state.Gaps, err: state.Err}
			if to.err == nil {
				to.pieces = r.pieces(state.Runs)
			}
			ropes = append(ropes, to)
		}
		return text, ropes, nil
	case ctx.Err() != nil || errors.As(err, &tooLarge):
		return text, ropes, err
	case len(states) == 1:
		return text, append(ropes, rope{err: err}), nil
	}
	half := len(states) / 2
	if text, ropes, err = r.take(ctx, states[:half], text, ropes); err != nil {
		return text, ropes, err
	}
	return r.take(ctx, states[half:], text, ropes)
}

// ahead is how far a run or piece of a state is looked for in the state before: in the middle
// of two states is mostly the same, too.
const ahead = 4

// missing returns the runs of states that are not in the text, in order and apart.
func (r *roped) missing(states []store.Rope) []store.Run {
	var missing, before []store.Run
	for _, state := range states {
		if state.Err != nil {
			continue
		}
		runs := state.Runs
		for len(runs) > 0 && len(before) > 0 && runs[0] == before[0] {
			runs, before = runs[1:], before[1:]
		}
		for len(runs) > 0 && len(before) > 0 && runs[len(runs)-1] == before[len(before)-1] {
			runs, before = runs[:len(runs)-1], before[:len(before)-1]
		}
		for _, run := range runs {
			if i := slices.Index(before[:min(len(before), ahead)], run); i >= 0 {
				before = before[i+1:]
				continue // it is there, or missed already
			}
			missing = r.appendMissing(missing, run)
		}
		before = state.Runs
	}
	slices.SortFunc(missing, func(a, b store.Run) int { return cmp.Compare(a.At, b.At) })
	apart := missing[:0]
	for _, run := range missing {
		if n := len(apart); n > 0 && run.At <= end(apart[n-1]) {
			if longer := max(apart[n-1].Len, end(run)-apart[n-1].At); longer <= mostRun {
				apart[n-1].Len = longer
				continue
			}
			run.Len, run.At = end(run)-end(apart[n-1]), end(apart[n-1])
		}
		if run.Len > 0 {
			apart = append(apart, run)
		}
	}
	return apart
}

// appendMissing appends the parts of a run that are not in the text.
func (r *roped) appendMissing(missing []store.Run, run store.Run) []store.Run {
	for i := r.find(run.At); i < len(r.filled) && r.filled[i].At < end(run); i++ {
		if gap := r.filled[i].At - run.At; gap > 0 {
			missing = append(missing, store.Run{At: run.At, Len: gap})
		}
		behind := end(r.filled[i].Run)
		if behind >= end(run) {
			return missing
		}
		run.At, run.Len = behind, end(run)-behind
	}
	return append(missing, run)
}

// find returns the first interval that ends behind a place.
func (r *roped) find(at int64) int {
	return sort.Search(len(r.filled), func(i int) bool { return end(r.filled[i].Run) > at })
}

// fill appends the bytes of runs to the text. Of an error nothing is left in it.
func (r *roped) fill(ctx context.Context, runs []store.Run, text pages) (pages, error) {
	size := int64(0)
	for _, run := range runs {
		size = min(size+run.Len, math.MaxInt32) // which is too much
		if run.Len > maxText {
			size = math.MaxInt32
		}
	}
	if err := text.fit(size); err != nil {
		return text, err
	}
	for len(runs) > 0 {
		n, size := 1, int(runs[0].Len)
		for n < len(runs) && size+int(runs[n].Len) <= mostRun {
			size += int(runs[n].Len)
			n++
		}
		if err := r.store.Fill(ctx, runs[:n], text.next(size)); err != nil {
			return text, err
		}
		for _, run := range runs[:n] {
			off := text.take(int(run.Len)).off
			i := r.find(run.At)
			if i > 0 && end(r.filled[i-1].Run) == run.At && int64(r.filled[i-1].off)+r.filled[i-1].Len == int64(off) {
				r.filled[i-1].Len += run.Len
			} else {
				r.filled = slices.Insert(r.filled, i, interval{run, off})
			}
		}
		runs = runs[n:]
	}
	return text, nil
}

// pieces returns runs that are in the text as pieces of it.
func (r *roped) pieces(runs []store.Run) []piece {
	pieces := make([]piece, 0, len(runs))
	for _, run := range runs {
		for i := r.find(run.At); run.Len > 0; i++ {
			in := r.filled[i]
			from := run.At - in.At
			n := min(run.Len, in.Len-from)
			pieces = appendPiece(pieces, piece{in.off + uint32(from), uint32(n)})
			run.At, run.Len = run.At+n, run.Len-n
		}
	}
	return pieces
}
