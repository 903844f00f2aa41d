package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"hindcast/model"
)

// recorder captures the states of a session while one invocation lasts.
type recorder[S any] struct {
	agent    string
	sess     *Session[S]
	callback SnapshotCallback[S]
	clock    func() time.Time
	spans    *spans

	// event lets one event at a time be worked on, and a context give up
	// waiting.
	event chan struct{}

	mu sync.Mutex
	// working says that the present turn has a tool iteration behind it.
	working bool
	// ids are the snapshot ids of the captures.
	ids []string
	// errs are the first errors of events; more counts the others, since a
	// store that has gone away fails at every event.
	errs []error
	more int
}

// maxErrors bounds the errors that an invocation keeps.
const maxErrors = 32

// trigger implements trigger.
func (r *recorder[S]) trigger(ctx context.Context, event model.SnapshotEvent) error {
	if event.EndsTurn() {
		return fmt.Errorf("agent %q: trigger %s: %w", r.agent, event, ErrReservedEvent)
	}
	return r.handleEvent(ctx, moment{event: event, inTurn: true})
}

// moment is when an event comes.
type moment struct {
	event model.SnapshotEvent
	// inTurn says that it belongs to the turn that the session is in, and not
	// to the last that has ended; over that it ends that turn even if nothing
	// is captured.
	inTurn, over bool
}

// handleEvent works on an event: it asks the callback, captures the state if told
// to, and in any case brings the store up to date. The error is an *EventError
// or ErrEnded.
func (r *recorder[S]) handleEvent(ctx context.Context, m moment) error {
	err := r.enterEvent(ctx)
	if err == nil {
		defer func() { <-r.event }()
	}
	now, ended := r.sess.lookAt()
	if ended {
		return fmt.Errorf("agent %q: %s in session %.80q: %w", r.agent, m.event, r.sess.id, ErrEnded)
	}
	if m.inTurn {
		r.spans.beginTurn()
	}
	h := r.newHeader(now, m)
	if err == nil {
		err = r.recordEvent(r.spans.inTurn(ctx, m), now, h, m)
	} else if m.over {
		r.sess.endTurn(h.TurnIndex)
	}
	if err != nil {
		err = &EventError{Agent: r.agent, Session: r.sess.id, Event: m.event, Index: h.Index, TurnIndex: h.TurnIndex, Err: err}
		r.noteError(err)
	}
	if m.event == model.SnapshotEventTurnEnd {
		r.spans.endTurn(err)
	}
	return err
}

func (r *recorder[S]) enterEvent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.event <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newHeader returns the header that a snapshot of this moment would have, but for its
// id and time. Its turn follows rule 7 of the design: the turn of the session. At
// the end of the invocation it is the last turn that has ended, unless the function
// returns in the middle of a turn.
func (r *recorder[S]) newHeader(now record[S], m moment) model.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := model.Header{SessionID: r.sess.id, Event: m.event, TurnIndex: now.turn}
	if !m.inTurn && !r.working && now.turn > 0 {
		h.TurnIndex--
	}
	r.working = !m.event.EndsTurn()
	if now.last != nil {
		h.Index, h.ParentID = now.last.Index+1, now.last.ID
	}
	return h
}

// recordEvent asks the callback, and writes where the session stands with or without
// a snapshot.
func (r *recorder[S]) recordEvent(ctx context.Context, now record[S], h model.Header, m moment) error {
	wanted, err := r.askCallback(ctx, now, h)
	if m.over || wanted && m.event.EndsTurn() {
		r.sess.endTurn(h.TurnIndex)
	}
	var c *capture[S]
	if wanted {
		if now.state.err != nil {
			return now.state.err // there is nothing to write
		}
		h.ID, h.CreatedAt = now.state.id(), r.snapshotTime(now)
		c = &capture[S]{h, now.state}
	}
	kept, writeErr := r.sess.writeStore(ctx, c)
	if kept && c != nil {
		r.noteCapture(ctx, h)
	}
	return errors.Join(err, writeErr)
}

// snapshotTime returns the time of a snapshot. Where the clock is too coarse to tell it
// from the one before, it is a nanosecond later, so that they have an order.
func (r *recorder[S]) snapshotTime(now record[S]) time.Time {
	at := r.clock().UTC().Round(0)
	if now.last == nil {
		return at
	}
	if ahead := now.last.CreatedAt.Sub(at); ahead >= 0 && ahead < time.Millisecond {
		return now.last.CreatedAt.UTC().Add(1)
	}
	return at
}

// askCallback returns the callback's answer; a panic of it is a *PanicError. What it does
// itself is no event: the context that it gets triggers nothing.
func (r *recorder[S]) askCallback(ctx context.Context, now record[S], h model.Header) (wanted bool, err error) {
	if r.callback == nil {
		return false, nil
	}
	snap := &SnapshotContext[S]{Event: h.Event, State: now.state.copyState(), Index: h.Index, TurnIndex: h.TurnIndex}
	if now.last != nil {
		prev := now.last.state.copyState()
		snap.PrevState = &prev
		snap.changed = func() bool { return now.state.err != nil || now.state.id() != now.last.ID }
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("snapshot callback: %w", &PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	return r.callback(context.WithValue(ctx, triggerKey{}, nil), snap), nil
}

// noteCapture notes a snapshot that is in the store and marks the spans.
func (r *recorder[S]) noteCapture(ctx context.Context, h model.Header) {
	r.mu.Lock()
	r.ids = append(r.ids, h.ID)
	r.mu.Unlock()
	r.spans.markSpans(ctx, h.ID, h.Event)
}

func (r *recorder[S]) noteError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, err)
	} else {
		r.more++
	}
}

// summary returns the ids of the captures and the errors of all events.
func (r *recorder[S]) summary() (ids []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.errs)
	if r.more > 0 {
		errs = append(errs, fmt.Errorf("and %d more errors like these", r.more))
	}
	return slices.Clone(r.ids), errors.Join(errs...)
}
