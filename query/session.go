package query

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"hindcast/model"
	"hindcast/store"
)

// Session answers questions about one session of a store. No question makes a state: each
// asks the ropes of the states, and the text that they share is read once for all of them.
// It is safe for concurrent use.
//
//	visits   #0        #1           #2            what the timeline says
//	ropes    [p0 p1]   [p0 p2 p1]   [p0 p2 p3]    pieces of the text, a list a state
//	text     p0 p1 p2 p3                          every distinct byte of the session
type Session struct {
	store  store.Store
	source source
	// features are the features of the store. Where it derives its snapshots, the state of a
	// snapshot may be another one when its session grew.
	features store.Features
	// reading is held by the one call that adds to the text and the ropes.
	reading chan struct{}

	// all are the tokens of all visits, and active the tokens of the visits on the active path.
	all, active kept

	// mu guards what follows. Visits are never written to, but replaced; of the text what
	// is there stays.
	mu     sync.RWMutex
	visits []visit
	states *states
	text   pages

	places places
}

// states are the ropes of the states that were read.
type states struct {
	slots map[model.Ref]int32
	ropes []rope
}

// visit is a visit of the timeline, reduced to the facts that questions need.
type visit struct {
	ref model.Ref
	// slot is where its rope is. Visits of one ref share it.
	slot  int32
	index int
	// parent and base are the parent and the base in the timeline.
	parent, base model.Node
	onPath       bool
	traced       bool
	// ended says that a snapshot follows the step.
	ended bool
	// severed says that the visit names a parent that is not there.
	severed bool
}

// rope is a state as pieces of the text.
type rope struct {
	pieces []piece
	gaps   model.Gaps
	// read says that the rest is known, and stays. Until then err says why the state
	// could not be read; it is read again when it is asked for.
	read bool
	err  error
}

// source reads states as ropes over a text. It is asked by one call at a time.
type source interface {
	// goes returns how many states are best read in the first go, and at most in another.
	goes() (first, most int)
	// read returns the text with the new parts of the states of refs appended, and their
	// ropes. An error concerns all states; the error of a single state is in its rope.
	read(ctx context.Context, refs []model.Ref, text pages) (pages, []rope, error)
}

// Open returns the questions to one session of a store. It reads nothing. Of the timeline
// it copies what it needs, so that the timeline may grow afterwards.
func Open(s store.Store, t *model.Timeline) *Session {
	features := s.Features()
	q := &Session{store: s, features: features, reading: make(chan struct{}, 1)}
	q.places.forget()
	q.source = newSource(s, features)
	q.Follow(t)
	return q
}

// newSource returns the source that reads the states of a session of a store.
func newSource(s store.Store, of store.Features) source {
	switch {
	case of.Weave != nil:
		return newLoomed(s, of.Weave)
	case of.Ropes != nil:
		return &roped{store: of, whole: newCutter(s), cuts: map[store.Run][]piece{}}
	}
	return newCutter(s)
}

// Follow takes in a timeline of the same session that is newer: it grew, or was read again
// after a restore. From then on the nodes of questions are nodes of t. What was read stays;
// a question that runs goes on with the timeline that it began with.
func (q *Session) Follow(t *model.Timeline) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.features.Facts != nil || q.states == nil {
		q.states = &states{slots: make(map[model.Ref]int32, t.Len()), ropes: make([]rope, 0, t.Len())}
	}
	visits := make([]visit, t.Len())
	for n := range model.Node(t.Len()) {
		h := t.Header(n)
		v := visit{ref: h.Ref(), index: h.Index, parent: t.Parent(n), base: t.Base(n), onPath: t.OnPath(n), traced: t.IsStep(n)}
		v.ended = !v.traced || t.EndOf(n) != model.NoNode
		v.severed = v.parent == model.NoNode && (h.ParentID != "" || h.ParentVisit != 0)
		v.slot = q.states.slot(v.ref)
		visits[n] = v
	}
	q.visits = visits
}

// slot returns where the rope of a state is.
func (s *states) slot(ref model.Ref) int32 {
	slot, known := s.slots[ref]
	if !known {
		slot = int32(len(s.ropes))
		s.slots[ref], s.ropes = slot, append(s.ropes, rope{})
	}
	return slot
}

// view is a session as one question sees it from its beginning to its end.
type view struct {
	*Session
	visits []visit
	states *states
}

func (q *Session) view() *view {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return &view{q, q.visits, q.states}
}

// mostAtOnce bounds the states that are read in one go. The first go reads one unless the source
// says otherwise, each next one moreAtOnce times as many: the first answer comes early, and there
// are few goes.
const mostAtOnce, moreAtOnce = 1 << 14, 1 << 7

// walk loads the states of some visits, and returns each visit when its state is loaded.
func (v *view) walk(ctx context.Context, nodes iter.Seq[model.Node]) iter.Seq2[model.Node, error] {
	return func(yield func(model.Node, error) bool) {
		var batch []model.Node
		size, most := v.source.goes()
		give := func() bool {
			if err := v.load(ctx, batch...); err != nil {
				yield(model.NoNode, err)
				return false
			}
			for i, n := range batch {
				if i%256 == 0 && ctx.Err() != nil {
					yield(model.NoNode, ctx.Err())
					return false
				}
				if !yield(n, nil) {
					return false
				}
			}
			batch, size = batch[:0], min(moreAtOnce*size, most)
			return true
		}
		for n := range nodes {
			if batch = append(batch, n); len(batch) == size && !give() {
				return
			}
		}
		give()
	}
}

// load reads the states of some visits, those that are not read yet. A state that alone
// cannot be read is no error: its rope has that.
func (v *view) load(ctx context.Context, nodes ...model.Node) error {
	if len(v.unread(nodes)) == 0 {
		return ctx.Err()
	}
	select {
	case v.reading <- struct{}{}:
		defer func() { <-v.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return v.read(ctx, v.unread(nodes)) // another call may have read some meanwhile
}

// unread returns the visits whose states are not read, one visit for each state.
func (v *view) unread(nodes []model.Node) (unread []model.Node) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var met map[int32]bool
	for _, n := range nodes {
		slot := v.visits[n].slot
		if v.states.ropes[slot].read || met[slot] {
			continue
		}
		if met == nil {
			met = map[int32]bool{}
		}
		met[slot] = true
		unread = append(unread, n)
	}
	return unread
}

// read reads the states of visits.
func (v *view) read(ctx context.Context, nodes []model.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	refs := make([]model.Ref, len(nodes))
	for i, n := range nodes {
		refs[i] = v.visits[n].ref
	}
	text, ropes, err := v.source.read(ctx, refs, v.bytes())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text = text
	for i, r := range ropes {
		r.read = r.err == nil
		v.states.ropes[v.visits[nodes[i]].slot] = r
	}
	return err
}

// bytes returns the text as far as it is read.
func (q *Session) bytes() pages {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.text
}

// rope returns the state of a visit that is loaded.
func (v *view) rope(n model.Node) rope {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.states.ropes[v.visits[n].slot]
}

// failed returns the error of a question that cannot go on without the state of a visit.
func (v *view) failed(n model.Node, err error) error {
	return fmt.Errorf("read the state of snapshot #%d (%s): %w", v.visits[n].index, model.ShortID(v.visits[n].ref.ID, 8), err)
}

// nodes returns all visits in the order in which they were recorded.
func (v *view) nodes() iter.Seq[model.Node] {
	return func(yield func(model.Node) bool) {
		for n := range model.Node(len(v.visits)) {
			if !yield(n) {
				return
			}
		}
	}
}
