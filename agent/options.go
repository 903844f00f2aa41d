package agent

import (
	"time"

	"hindcast/model"
)

// An Option changes how Define makes an agent. Of two of a kind the last holds.
type Option[S any] func(*config[S])

// config holds the options of an agent.
type config[S any] struct {
	store       model.Store[S]
	callback    SnapshotCallback[S]
	hasCallback bool
	now         func() time.Time
}

// WithSessionStore sets where sessions and their snapshots are kept. Without
// it, a session lives as long as its connection. What the store can do besides
// model.Store is found out: a typed.Committer guards a session against a second
// writer, and a store that plans restores makes WithSnapshotID one write that can be
// undone. typed.Of returns a store of any state on one of Hindcast's own.
func WithSessionStore[S any](s model.Store[S]) Option[S] {
	return func(c *config[S]) { c.store = s }
}

// WithSnapshotCallback sets when the state is captured. Without it, it never is
// by itself. It needs WithSessionStore.
func WithSnapshotCallback[S any](callback SnapshotCallback[S]) Option[S] {
	return func(c *config[S]) { c.callback, c.hasCallback = callback, true }
}

// WithClock sets where the times of snapshots come from, instead of time.Now.
func WithClock[S any](now func() time.Time) Option[S] {
	return func(c *config[S]) { c.now = now }
}

// A BidiOption changes how StreamBidi opens a connection. Of two of a kind the
// last holds.
type BidiOption[S any] func(*opening[S])

// opening holds the options of a connection.
type opening[S any] struct {
	snapshot, session *string
	init              *S
}

// WithSnapshotID goes back to a snapshot: its session goes on from its state,
// index and turn, and what came after it is orphaned. It needs
// WithSessionStore. It cannot be combined with WithInit, and with WithSessionID
// only if the snapshot is of that session; that settles which is meant where
// several sessions hold the id.
func WithSnapshotID[S any](id string) BidiOption[S] {
	return func(o *opening[S]) { o.snapshot = &id }
}

// WithSessionID names the session. One that the store has goes on where it
// stands; any other begins under that name. Without it, a new session gets a
// random id.
func WithSessionID[S any](id string) BidiOption[S] {
	return func(o *opening[S]) { o.session = &id }
}

// WithInit sets the state of a new session, instead of the zero value. A session
// that exists keeps its own.
func WithInit[S any](state S) BidiOption[S] {
	return func(o *opening[S]) { o.init = &state }
}
