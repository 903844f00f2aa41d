package agent

import (
	"errors"
	"fmt"

	"hindcast/model"
)

var (
	// ErrNoStore: an option needs a session store, and the agent lacks one.
	ErrNoStore = errors.New("the agent has no session store (WithSessionStore)")
	// ErrNoEvents: the snapshot callback is nil. SnapshotOn and
	// SnapshotOnChange give none when they are asked for no event, which would
	// be a callback that never fires.
	ErrNoEvents = errors.New("the snapshot callback is nil: SnapshotOn and SnapshotOnChange need an event")
	// ErrInitWithSnapshot: WithSnapshotID and WithInit were both given. The
	// state comes from the snapshot or from the caller, not from both.
	ErrInitWithSnapshot = errors.New("WithSnapshotID and WithInit exclude each other: the state is that of the snapshot")
	// ErrSessionMismatch: WithSnapshotID and WithSessionID were both given, and
	// the snapshot is of another session.
	ErrSessionMismatch = errors.New("the snapshot of WithSnapshotID is not of the session of WithSessionID")
	// ErrEmptyID: WithSnapshotID or WithSessionID was given "".
	ErrEmptyID = errors.New("the id is empty")
	// ErrReservedEvent: TriggerSnapshot was asked for an event that only the
	// end of a turn or of the agent function is.
	ErrReservedEvent = errors.New("the event belongs to EndTurn or to the return of the agent function")
	// ErrClosed: Send after Close.
	ErrClosed = errors.New("the connection is closed for inputs")
	// ErrEnded: the agent function has returned, and its session takes nothing
	// more.
	ErrEnded = errors.New("the agent function has returned")
)

// EventError is the failure of one snapshot event: in the callback, the
// state, or the store. The agent went on all the same.
type EventError struct {
	// Agent and Session are the names of both.
	Agent, Session string
	// Event, Index and TurnIndex are the values that the snapshot would have had.
	Event            model.SnapshotEvent
	Index, TurnIndex int
	// Err is the reason: a *PanicError of the callback, or an error of it, the state, the store or
	// the context.
	Err error
}

func (e *EventError) Error() string {
	return fmt.Sprintf("agent %q: %s of turn %d in session %.80q, snapshot #%d: %v", e.Agent, e.Event, e.TurnIndex, e.Session, e.Index, e.Err)
}

// Unwrap returns the reason.
func (e *EventError) Unwrap() error { return e.Err }

// PanicError is a panic of the agent function or of a snapshot callback.
type PanicError struct {
	// Value is the argument of the call to panic.
	Value any
	// Stack is the stack of the goroutine at that moment.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
