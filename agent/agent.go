package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Func is an agent function. It reads inputs until the channel is closed (the
// caller has no more, or ctx has ended), keeps its state in the session,
// sends its output through resp, and calls EndTurn whenever it is the
// caller's turn again. It may start goroutines, but they have to be done when
// it returns.
type Func[State, In, Out any] func(ctx context.Context, sess *Session[State], in <-chan In, resp *Responder[Out]) (Result[Out], error)

// Result is the final result of an agent function.
type Result[Out any] struct {
	Output Out
	// Artifacts are appended to the artifacts sent by Responder.SendArtifact.
	Artifacts []Artifact
}

// Artifact is a named thing that an agent made, such as a file.
type Artifact struct {
	Name string `json:"name"`
	// Parts are its parts in order; encoding/json must be able to marshal each.
	Parts []any `json:"parts"`
}

// Output is the result of an invocation: the agent's own result, and the state of
// its session.
type Output[State, Out any] struct {
	SessionID string     `json:"sessionId"`
	Output    Out        `json:"output"`
	State     State      `json:"state"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// SnapshotIDs are the ids of the captures of this invocation, in order: one
	// for each, so that a state that was captured twice is there twice.
	SnapshotIDs []string `json:"snapshotIds,omitempty"`
}

// Agent is an agent function with the store of its sessions and the rule when
// they are captured. It is safe for concurrent use.
type Agent[State, In, Out any] struct {
	name     string
	fn       Func[State, In, Out]
	home     *home[State]
	callback SnapshotCallback[State]
	now      func() time.Time
}

// Define makes an agent of that name, which spans carry. The errors are
// ErrNoEvents for a nil callback, and ErrNoStore for one without a store.
func Define[State, In, Out any](name string, fn Func[State, In, Out], options ...Option[State]) (*Agent[State, In, Out], error) {
	c := config[State]{now: time.Now}
	for _, o := range options {
		o(&c)
	}
	a := &Agent[State, In, Out]{name: name, fn: fn, callback: c.callback, now: c.now}
	if c.store != nil {
		a.home = newHome(c.store)
	}
	var err error
	switch {
	case name == "":
		err = errors.New("it has no name")
	case fn == nil:
		err = errors.New("it has no function")
	case c.hasCallback && c.callback == nil:
		err = ErrNoEvents
	case c.hasCallback && c.store == nil:
		err = fmt.Errorf("WithSnapshotCallback: %w", ErrNoStore)
	}
	if err != nil {
		return nil, fmt.Errorf("define agent %q: %w", name, err)
	}
	return a, nil
}

// Name returns the agent's name.
func (a *Agent[State, In, Out]) Name() string { return a.name }

// StreamBidi opens or makes a session, starts the agent function on it, and
// returns the connection to it. The connection lasts until the function returns;
// its caller has to close it or end ctx, which ends all that the
// invocation does. The errors are ErrEmptyID, ErrInitWithSnapshot, ErrNoStore,
// ErrSessionMismatch, model.ErrNoSnapshot, model.ErrAmbiguous for a snapshot
// that several sessions hold, and those of the store.
func (a *Agent[State, In, Out]) StreamBidi(ctx context.Context, options ...BidiOption[State]) (*Connection[State, In, Out], error) {
	var o opening[State]
	for _, option := range options {
		option(&o)
	}
	sess, err := a.openSession(ctx, &o)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", a.name, err)
	}
	return startInvocation(ctx, a, sess), nil
}

func (o *opening[S]) checkOptions(hasStore bool) error {
	switch {
	case o.snapshot != nil && *o.snapshot == "":
		return fmt.Errorf("WithSnapshotID: %w", ErrEmptyID)
	case o.session != nil && *o.session == "":
		return fmt.Errorf("WithSessionID: %w", ErrEmptyID)
	case o.snapshot != nil && o.init != nil:
		return ErrInitWithSnapshot
	case o.snapshot != nil && !hasStore:
		return fmt.Errorf("WithSnapshotID: %w", ErrNoStore)
	}
	return nil
}

// openSession returns the session that the options ask for.
func (a *Agent[State, In, Out]) openSession(ctx context.Context, o *opening[State]) (*Session[State], error) {
	if err := errors.Join(o.checkOptions(a.home != nil), ctx.Err()); err != nil {
		return nil, err
	}
	id := rand.Text()
	if o.session != nil {
		id = *o.session
	}
	if o.snapshot != nil {
		var err error
		if id, err = a.home.restoreSession(ctx, *o.snapshot, o.session); err != nil {
			return nil, fmt.Errorf("restore snapshot %.80q: %w", *o.snapshot, err)
		}
	}
	sess, err := openSession(ctx, id, a.home, o.init)
	if err != nil {
		return nil, fmt.Errorf("open session %.80q: %w", id, err)
	}
	return sess, nil
}
