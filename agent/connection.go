package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"hindcast/model"
)

// Connection is one invocation of an agent as its client sees it. It is safe
// for concurrent use.
type Connection[State, In, Out any] struct {
	ctx    context.Context
	sess   *Session[State]
	inputs *inputs[In]
	stream *stream[Out]

	close sync.Once

	// done is closed when the invocation has ended; output, state and err are
	// set by then.
	done   chan struct{}
	output Output[State, Out]
	state  *value[State]
	err    error
}

// SessionID returns the id of the session.
func (c *Connection[State, In, Out]) SessionID() string { return c.sess.id }

// Send hands the agent function an input, and returns when it has taken it. The
// errors are ErrClosed, ErrEnded, and that of the connection's context.
func (c *Connection[State, In, Out]) Send(in In) error {
	if err := c.inputs.sendInput(c.ctx, in); err != nil {
		return fmt.Errorf("send to session %.80q: %w", c.sess.id, err)
	}
	return nil
}

// Close says that no more inputs come, so that the agent function can return.
// It does not wait for that, and its error is always nil.
func (c *Connection[State, In, Out]) Close() error {
	c.close.Do(func() { close(c.inputs.closing) })
	return nil
}

// Receive returns the outputs of the agent up to the end of its turn, and waits for them. Called again, it
// returns the outputs of the next turn; after a break it goes on where it stopped. It ends with the turn's
// *EventError, if there is one. Once the agent function has returned and everything was received, it ends
// with the error of Output. Outputs that are not received are kept until the connection is let go.
func (c *Connection[State, In, Out]) Receive() iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		var none Out
		for {
			i, ok := c.stream.takeItem()
			switch {
			case !ok:
				if c.err != nil {
					yield(none, c.err)
				}
				return
			case i.endTurn:
				if i.err != nil {
					yield(none, i.err)
				}
				return
			case !yield(i.value, nil):
				return
			}
		}
	}
}

// Done returns a channel that is closed when the invocation has ended and Output
// does not wait any more.
func (c *Connection[State, In, Out]) Done() <-chan struct{} { return c.done }

// Output waits until the agent function has returned, which most do after Close, and returns its output. Even
// with an error it has the session's id and state, and the artifacts and snapshots made until then. The error
// joins the error of the agent function (a *PanicError if it panicked) and an *EventError for each event that
// failed. It includes the context's error if that cut the inputs short.
func (c *Connection[State, In, Out]) Output() (Output[State, Out], error) {
	<-c.done
	o := c.output
	o.State = c.state.copyState()
	o.Artifacts, o.SnapshotIDs = slices.Clone(o.Artifacts), slices.Clone(o.SnapshotIDs)
	return o, c.err
}

// Responder is how an agent function answers. It is safe for concurrent use.
type Responder[Out any] struct {
	stream *stream[Out]
	end    func() error

	mu        sync.Mutex
	artifacts []Artifact
}

// Send says something to the client. It does not wait for the client to listen.
func (r *Responder[Out]) Send(out Out) { r.stream.putItem(item[Out]{value: out}) }

// SendArtifact adds an artifact to the output.
func (r *Responder[Out]) SendArtifact(a Artifact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.artifacts = append(r.artifacts, a)
}

func (r *Responder[Out]) sentArtifacts() []Artifact {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.artifacts)
}

// EndTurn ends the turn: the state is captured if the snapshot callback says
// so, and control goes back to the client. The error is an *EventError, which
// the client hears of too, so that a function that can do nothing about it may
// let it be; or ErrEnded.
func (r *Responder[Out]) EndTurn() error {
	err := r.end()
	r.stream.putItem(item[Out]{endTurn: true, err: err})
	return err
}

// invocation is one run of an agent function.
type invocation[State, In, Out any] struct {
	*Connection[State, In, Out]
	agent     *Agent[State, In, Out]
	recorder  *recorder[State]
	responder *Responder[Out]
	// turned is how many inputs the function had taken at the last end of a turn.
	turned atomic.Int64
}

// startInvocation runs the agent function on a session.
func startInvocation[State, In, Out any](ctx context.Context, a *Agent[State, In, Out], sess *Session[State]) *Connection[State, In, Out] {
	ctx, cancel := context.WithCancel(ctx)
	spans := startSpans(ctx, a.name)
	c := &Connection[State, In, Out]{
		ctx: spans.ctx, sess: sess, inputs: newInputs[In](spans.beginTurn), stream: newStream[Out](), done: make(chan struct{}),
	}
	r := &invocation[State, In, Out]{
		Connection: c, agent: a,
		recorder: &recorder[State]{
			agent: a.name, sess: sess, callback: a.callback, clock: a.now, spans: spans, event: make(chan struct{}, 1),
		},
	}
	r.responder = &Responder[Out]{stream: c.stream, end: r.endTurn}
	go r.runAgent(cancel)
	return c
}

func (r *invocation[State, In, Out]) endTurn() error {
	r.turned.Store(int64(r.inputs.countTaken()))
	return r.recorder.handleEvent(r.ctx, moment{event: model.SnapshotEventTurnEnd, inTurn: true, over: true})
}

// runAgent runs the agent function to its end, however it comes to that, and lets go
// of the connection.
func (r *invocation[State, In, Out]) runAgent(cancel context.CancelFunc) {
	in := make(chan In)
	go r.inputs.handOn(r.ctx, in)
	var result Result[Out]
	var returned bool
	err := errGoexit
	defer func() {
		defer cancel()
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		r.finish(result, err, returned)
	}()
	result, err = r.agent.fn(context.WithValue(r.ctx, triggerKey{}, r.recorder), r.sess, in, r.responder)
	returned = true
}

// errGoexit: the agent function, or a callback, neither returned nor panicked.
var errGoexit = errors.New("the goroutine was ended by runtime.Goexit")

// finish works on the end of the invocation. Whatever becomes of that, clients
// do not wait any more afterwards.
func (r *invocation[State, In, Out]) finish(result Result[Out], err error, returned bool) {
	close(r.inputs.returned)
	<-r.inputs.done
	inTurn := int64(r.inputs.taken) > r.turned.Load()
	last := moment{event: model.SnapshotEventInvocationEnd, inTurn: inTurn, over: inTurn && err == nil}
	if cut := r.inputs.cut; cut != nil && !errors.Is(err, cut) {
		err = errors.Join(err, fmt.Errorf("inputs: %w", cut))
	}
	ending := errGoexit
	defer func() {
		if p := recover(); p != nil {
			ending = &PanicError{Value: p, Stack: debug.Stack()}
		}
		if ending != nil {
			ending = fmt.Errorf("end of the invocation: %w", ending)
		}
		r.makeOutput(result, errors.Join(err, ending))
	}()
	ending = r.saveLast(last, returned)
}

// saveLast brings the store up to date, with a snapshot if the function
// returned and the callback says so.
func (r *invocation[State, In, Out]) saveLast(last moment, returned bool) error {
	if returned {
		r.recorder.handleEvent(r.ctx, last) // the summary has its error
		return nil
	}
	_, err := r.sess.writeStore(r.ctx, nil)
	return err
}

// makeOutput makes the output. err is any error other than the errors of events.
func (r *invocation[State, In, Out]) makeOutput(result Result[Out], err error) {
	if err != nil {
		err = fmt.Errorf("agent %q: session %.80q: %w", r.agent.name, r.sess.id, err)
	}
	ids, eventErr := r.recorder.summary()
	r.state = r.sess.endSession().state
	r.output = Output[State, Out]{
		SessionID: r.sess.id, Output: result.Output, SnapshotIDs: ids,
		Artifacts: append(r.responder.sentArtifacts(), result.Artifacts...),
	}
	r.err = errors.Join(err, eventErr)
	r.recorder.spans.endSpans(err, r.err)
	close(r.done)
	r.stream.endStream()
}
