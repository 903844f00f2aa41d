package tui

import (
	"container/list"
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// stateBudget bounds the memory of the states that are kept, in bytes.
const stateBudget = 256 << 20

// state is one state of the store and what was read from it. It is safe for
// concurrent use.
type state struct {
	data []byte
	// gaps are the keys of it that the store does not know at the snapshot.
	gaps model.Gaps

	parse sync.Once
	tape  *jsontape.Tape
	warn  []jsontape.Warning
	err   error

	decode sync.Once
	conv   *conversation.Conversation
}

// Tape returns the state as a tape, and what is odd about its JSON.
func (s *state) Tape() (*jsontape.Tape, []jsontape.Warning, error) {
	s.parse.Do(func() {
		s.tape, s.warn, s.err = jsontape.ParseTolerant(s.data)
		letGo(len(s.data))
	})
	return s.tape, s.warn, s.err
}

// much is how many bytes leave so much behind when they are read that the system gets it
// back at once: the program stays open beside others for hours.
const much = 32 << 20

// letGo returns to the system what the reading of so many bytes left behind, if that is
// much.
func letGo(size int) {
	if size >= much {
		debug.FreeOSMemory()
	}
}

// Conversation returns the messages of the state.
func (s *state) Conversation() (*conversation.Conversation, error) {
	tape, _, err := s.Tape()
	if err != nil {
		return nil, err
	}
	s.decode.Do(func() { s.conv = conversation.Decode(tape) })
	return s.conv, nil
}

// cost is about what the state takes up: its bytes, and a tape that is about as
// large.
func (s *state) cost() int64 { return 2 * int64(len(s.data)) }

// states gives states by their ids and keeps those that were asked for last,
// within a budget of bytes. A state is read once however many ask for it at the
// same time. It is safe for concurrent use.
type states struct {
	store  store.Store
	budget int64

	mu    sync.Mutex
	used  int64
	byRef map[model.Ref]*list.Element
	order list.List // of *stateEntry, the latest first
}

// stateEntry is a state that is there, or being read until ready is closed.
type stateEntry struct {
	ref   model.Ref
	ready chan struct{}
	state *state
	err   error
	cost  int64 // 0 until it is there; guarded by the cache
}

func newStates(s store.Store, budget int64) *states {
	return &states{store: s, budget: budget, byRef: map[model.Ref]*list.Element{}}
}

// get returns a state. The errors are the store's, and that of ctx.
func (c *states) get(ctx context.Context, ref model.Ref) (*state, error) {
	ref.Visit = 0 // all visits of an id share its state
	for {
		entry, mine := c.entryOf(ref)
		if mine {
			c.fillEntry(ctx, entry)
			return entry.state, entry.err
		}
		select {
		case <-entry.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Its reader may have been cancelled, which is no reason for us.
		if !errors.Is(entry.err, context.Canceled) || ctx.Err() != nil {
			return entry.state, entry.err
		}
	}
}

// entryOf returns the entry of a state, and whether the caller has to fill it.
func (c *states) entryOf(ref model.Ref) (entry *stateEntry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byRef[ref]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*stateEntry), false
	}
	entry = &stateEntry{ref: ref, ready: make(chan struct{})}
	c.byRef[ref] = c.order.PushFront(entry)
	return entry, true
}

// fillEntry reads a state into its entry, and makes room for it. An error is not
// kept: the next one who asks tries again.
func (c *states) fillEntry(ctx context.Context, entry *stateEntry) {
	data, err := c.store.State(ctx, entry.ref)
	var gaps model.Gaps
	if err == nil {
		gaps, err = store.Gaps(ctx, c.store, entry.ref)
	}
	if err != nil {
		entry.err = err
	} else {
		entry.state = &state{data: data, gaps: gaps}
	}
	close(entry.ready)

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRef[entry.ref] == nil || c.byRef[entry.ref].Value != entry {
		return // forgotten meanwhile
	}
	if err != nil {
		c.dropEntry(entry)
		return
	}
	entry.cost = entry.state.cost()
	c.used += entry.cost
	for e := c.order.Back(); e != nil && c.used > c.budget; {
		old := e.Value.(*stateEntry)
		e = e.Prev()
		if old != entry && old.cost > 0 {
			c.dropEntry(old)
		}
	}
}

// dropEntry forgets an entry that the cache holds.
func (c *states) dropEntry(entry *stateEntry) {
	c.used -= entry.cost
	c.order.Remove(c.byRef[entry.ref])
	delete(c.byRef, entry.ref)
}

// forgetAll drops every state that is there: the store may have changed.
func (c *states) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byRef, c.used = map[model.Ref]*list.Element{}, 0
	c.order.Init()
}
