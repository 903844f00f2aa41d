package agent

import (
	"context"
	"encoding/json"
	"slices"

	"hindcast/model"
)

// SnapshotContext is the argument of a snapshot callback. State and PrevState
// are the callback's own copies.
type SnapshotContext[S any] struct {
	// Event is why the callback is asked.
	Event model.SnapshotEvent
	// State is the state that is captured if the callback says so.
	State S
	// PrevState is the state of the last snapshot on the active path, nil if
	// the path has no snapshot.
	PrevState *S
	// Index is the number that the snapshot would have. It stays as it is when
	// the callback says no, so that it does not count events.
	Index int
	// TurnIndex is the turn that the snapshot would carry.
	TurnIndex int

	// changed tells whether State is another than PrevState by their ids, which
	// are known already. Nil in a context from elsewhere.
	changed func() bool
}

// SnapshotCallback decides at each event whether the state is captured. The
// runtime calls it from one goroutine at a time for each connection. It may
// read the session and change its state, which does not change what is
// captured now; it may not end a turn. A panic is an error of the event.
type SnapshotCallback[S any] func(ctx context.Context, snap *SnapshotContext[S]) bool

// SnapshotAlways captures at every event.
func SnapshotAlways[S any]() SnapshotCallback[S] {
	return func(context.Context, *SnapshotContext[S]) bool { return true }
}

// SnapshotNever captures at no event, which is how an agent without a callback
// behaves.
func SnapshotNever[S any]() SnapshotCallback[S] {
	return func(context.Context, *SnapshotContext[S]) bool { return false }
}

// SnapshotOn captures at the given events. Without events it returns nil, which
// Define refuses with ErrNoEvents.
func SnapshotOn[S any](events ...model.SnapshotEvent) SnapshotCallback[S] {
	if len(events) == 0 {
		return nil
	}
	events = slices.Clone(events)
	return func(_ context.Context, snap *SnapshotContext[S]) bool { return slices.Contains(events, snap.Event) }
}

// SnapshotOnChange captures at the given events if the state is another than
// that of the last snapshot, by their ids. The first snapshot is always taken.
// Without events it returns nil, which Define refuses with ErrNoEvents.
func SnapshotOnChange[S any](events ...model.SnapshotEvent) SnapshotCallback[S] {
	on := SnapshotOn[S](events...)
	if on == nil {
		return nil
	}
	return func(ctx context.Context, snap *SnapshotContext[S]) bool { return on(ctx, snap) && snap.isChange() }
}

func (snap *SnapshotContext[S]) isChange() bool {
	switch {
	case snap.PrevState == nil:
		return true
	case snap.changed != nil:
		return snap.changed()
	}
	now, err := json.Marshal(snap.State)
	if err != nil {
		return true // the capture says what is wrong with it
	}
	before, err := json.Marshal(*snap.PrevState)
	return err != nil || model.SnapshotID(now) != model.SnapshotID(before)
}

// trigger is the value in the context of an agent function: the recorder of
// its session, without the type of the state.
type trigger interface {
	trigger(ctx context.Context, event model.SnapshotEvent) error
}

type triggerKey struct{}

// TriggerSnapshot says that an event has come: it asks the snapshot callback of
// the agent that ctx comes from, the innermost if there are several, and
// captures the session's state if the callback says so. It is for code that runs
// tools, at the end of a tool iteration, and knows nothing of the session; any
// event but the ends of a turn and of the invocation will do, and those are
// ErrReservedEvent. Without an agent above it does nothing. The error is an
// *EventError, which the connection tells its caller of too.
//
// The span that is current in ctx is marked with the snapshot, and that of the turn.
func TriggerSnapshot(ctx context.Context, event model.SnapshotEvent) error {
	t, ok := ctx.Value(triggerKey{}).(trigger)
	if !ok {
		return nil
	}
	return t.trigger(ctx, event)
}
