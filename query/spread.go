package query

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"

	"hindcast/model"
)

// Where each state is evaluated
//
// An expression that may look at all of a state is evaluated on each. The visits are given out in
// blocks, to as many workers as there are processors, and what they find is taken in order:
//
//	visits      0 | 1 2 | 3 4 5 6 | 7 8 …
//	worker 1    0         3 4 5 6
//	worker 2        1 2             7 8 …
//
// Each worker decodes for itself, and keeps what the last state that it looked at has in common
// with the next one. No two workers share a value.

// block is some visits that are evaluated one after the other.
type block struct {
	nodes []model.Node
	found chan []*reached // fewer than nodes where err ends it
	err   error
	// looked counts the visits that were evaluated.
	looked atomic.Int32
}

const (
	// mostInBlock bounds the visits of a block. The first one has one, each next one twice as
	// many.
	mostInBlock = 64
	// mostDecodedText bounds the text of the states that are decoded at once, but for one.
	mostDecodedText = 64 << 20
)

// spread returns each visit when it is reached, in order, evaluated by workers.
func (s *search) spread(ctx context.Context) iter.Seq2[model.Node, error] {
	return func(yield func(model.Node, error) bool) {
		processors := runtime.GOMAXPROCS(0)
		jobs := make(chan *block, 2*processors)
		defer close(jobs)
		var out []*block // the oldest first
		take := func() bool {
			b := out[0]
			out = out[1:]
			return s.take(ctx, b, yield)
		}
		workers, size := 0, 1
		give := func(nodes []model.Node) bool {
			for want := s.workers(nodes, processors); workers != want; {
				if workers < want {
					go s.work(jobs)
					workers++
				} else {
					jobs <- nil
					workers--
				}
			}
			b := &block{nodes: nodes, found: make(chan []*reached, 1)}
			out, size = append(out, b), min(2*size, mostInBlock)
			jobs <- b
			return len(out) <= 2*workers || take()
		}
		var nodes []model.Node
		for n, err := range s.walk(ctx, s.nodes()) {
			if err != nil {
				yield(n, err)
				return
			}
			if nodes = append(nodes, n); len(nodes) == size {
				if !give(nodes) {
					return
				}
				nodes = nil
			}
		}
		if len(nodes) > 0 && !give(nodes) {
			return
		}
		for len(out) > 0 {
			if !take() {
				return
			}
		}
	}
}

// workers returns how many workers may hold states such as those of some visits.
func (s *search) workers(nodes []model.Node, most int) int {
	largest := uint32(1)
	for _, n := range nodes {
		largest = max(largest, length(s.rope(n).pieces))
	}
	return max(1, min(most, int(mostDecodedText/largest)))
}

// work evaluates blocks until there are no more.
func (s *search) work(jobs <-chan *block) {
	var near *reached
	for b := range jobs {
		if b == nil {
			return
		}
		found := make([]*reached, 0, len(b.nodes))
		for _, n := range b.nodes {
			if b.err = s.eval.ctx.Err(); b.err != nil {
				break
			}
			r, err := s.look(n, near)
			if b.err = err; err != nil {
				break
			}
			near = r
			b.looked.Add(1)
			found = append(found, &reached{truth: r.truth, unsure: r.unsure, turn: r.turn, why: r.why})
		}
		b.found <- found
	}
}

// take takes in the results at the visits of a block. It ends when ctx does, whatever the worker
// is at.
func (s *search) take(ctx context.Context, b *block, yield func(model.Node, error) bool) bool {
	size := 0
	for _, n := range b.nodes {
		size = max(size, s.size(n))
	}
	found, err := await(s.eval, size*runtime.GOMAXPROCS(0), b.found, b.looked.Load)
	if err != nil {
		yield(b.nodes[0], err)
		return false
	}
	for i, n := range b.nodes {
		if i == len(found) {
			yield(n, b.err)
			return false
		}
		if base := s.visits[n].base; base != model.NoNode && s.reached[base] == nil { // recorded after it
			if err := s.reach(ctx, base); err != nil {
				yield(n, err)
				return false
			}
		}
		s.reached[n] = found[i]
		s.settle(n)
		if !yield(n, nil) {
			return false
		}
	}
	return true
}
