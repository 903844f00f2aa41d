// Package record records the session of any loop around a model, in three lines:
//
//	rec, err := record.Open(ctx, db, "support-17")
//	…
//	err = rec.Tool(ctx, state) // after the tools of an answer have run
//	err = rec.Turn(ctx, state) // when it is the person's turn again
//
// The loop stays as it is: nothing calls back. The state is any value that encoding/json marshals, all of it each time; the
// store keeps what is new in it. Each call is one transaction: when it has returned, a crash loses nothing of it, and
// one that failed wrote nothing.
//
// [WithAlias] gives a visit the program's own id, [WithAttribute] a remark beside its state, such as a status or
// an error. A second call with the same alias rewrites the visit: pending becomes completed.
//
// # Two recorders on one session
//
// A session has one writer at a time. When another recorder, an agent of package agent or a restore from Hindcast's
// screen has moved the session since this recorder last saw it, Turn and Tool write nothing and return a
// [model.ConflictError] that names the head as it is. Open the session again to go on from there.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"hindcast/model"
	"hindcast/store/native/typed"
)

// Recorder records one session. It is safe for concurrent use; what is recorded at once is recorded one after the other.
// It holds no resource: closing the store ends it.
type Recorder struct {
	db      typed.Recording
	session string

	mu sync.Mutex
	at typed.Revision
	// head is the last visit and its state, nil before the first. after is the visit that the next one follows, or 0.
	head  *typed.Entry
	after int64
	// visits are the visits of aliases that this recorder has met.
	visits map[string]int64
}

var (
	// ErrNoSession: the session's name is empty.
	ErrNoSession = errors.New("the session has no name")
	// ErrAlias: the alias is empty, or another was given before.
	ErrAlias = errors.New("a visit has one alias, which is not empty")
	// ErrNoVisit: the session has no visit yet.
	ErrNoVisit = errors.New("there is no visit yet")
)

// Open returns a recorder that goes on where a session of a store stands, or begins it. It writes nothing. db is a
// *sqlite.Store or a *postgres.Store. It returns [ErrNoSession] and the errors of the store.
func Open(ctx context.Context, db typed.Recording, session string) (*Recorder, error) {
	if session == "" {
		return nil, fmt.Errorf("record: open: %w", ErrNoSession)
	}
	head, at, err := db.HeadEntry(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("record: open: %w", err)
	}
	r := &Recorder{db: db, session: session, at: at, head: head, visits: map[string]int64{}}
	if head != nil {
		r.after = head.Visit
	}
	return r, nil
}

// LastVisit returns the header of the session's last visit as this recorder knows it, and false before the first visit.
func (r *Recorder) LastVisit() (model.Header, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head == nil {
		return model.Header{}, false
	}
	return r.head.Header, true
}

// LoadState decodes the state of the session's last visit, and reports whether there is one. A loop that starts again goes on from
// it; after a restore from Hindcast's screen it is the state that the person picked. The error is that of encoding/json.
func (r *Recorder) LoadState(state any) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head == nil {
		return false, nil
	}
	return true, r.decodeState(r.head, state)
}

// GoBack decodes the state of the visit with an alias, and has the next visit follow that one. Later visits leave the
// active path then, and stay in the store. state may be nil. It writes nothing. It returns model.ErrNoSnapshot if no visit of the session has
// the alias, a model.ConflictError if the session has moved, and the errors of encoding/json and the store.
func (r *Recorder) GoBack(ctx context.Context, alias string, state any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.findEntry(ctx, alias)
	if err == nil && e == nil {
		err = fmt.Errorf("record: session %q: alias %.80q: %w", r.session, alias, model.ErrNoSnapshot)
	}
	if err == nil && state != nil {
		err = r.decodeState(e, state)
	}
	if err == nil {
		r.after = e.Visit
	}
	return err
}

// findEntry returns the entry of an alias, or nil.
func (r *Recorder) findEntry(ctx context.Context, alias string) (*typed.Entry, error) {
	e, at, err := r.db.FindAlias(ctx, r.session, alias)
	if err == nil && at != r.at {
		err = &model.ConflictError{Session: r.session}
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return e, nil
}

func (r *Recorder) decodeState(e *typed.Entry, state any) error {
	if err := json.Unmarshal(e.State, state); err != nil {
		return fmt.Errorf("record: decode the state of snapshot %.12q in session %q: %w", e.ID, r.session, err)
	}
	return nil
}

// Option adds to a visit.
type Option func(*additions) error

// additions are the options of one call together.
type additions struct {
	alias      string
	attributes []byte // a JSON object that is still open
	at         time.Time
}

// WithAlias sets the program's own id of the visit, of at most [typed.MaxAlias] bytes, by which the program finds it again and
// Hindcast's commands know it. A call with the alias of a visit that the session has rewrites that visit in its place.
// A session that Hindcast forks from this one has no alias.
func WithAlias(id string) Option {
	return func(s *additions) error {
		if id == "" || s.alias != "" {
			return fmt.Errorf("alias %.80q: %w", id, ErrAlias)
		}
		s.alias = id
		return nil
	}
}

// WithAttribute adds an attribute to the visit, whose value encoding/json marshals. A visit has the attributes of
// the last call: rewriting it drops the earlier ones.
func WithAttribute(name string, value any) Option {
	return func(s *additions) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("attribute %.80q: %w", name, err)
		}
		separator := byte(',')
		if s.attributes == nil {
			separator = '{'
		}
		s.attributes = append(append(append(append(s.attributes, separator), key...), ':'), text...)
		return nil
	}
}

// WithTime sets the time of the visit, instead of the store's clock.
func WithTime(t time.Time) Option {
	return func(s *additions) error {
		s.at = t
		return nil
	}
}

// Turn records the state at the end of a turn, when it is the person's turn again. It returns a [model.ConflictError] if the session
// has moved since this recorder last saw it, and the errors of options, encoding/json and the store. A call that
// returns an error wrote nothing, and may be made again.
func (r *Recorder) Turn(ctx context.Context, state any, options ...Option) error {
	return r.recordVisit(ctx, model.SnapshotEventTurnEnd, state, options)
}

// Tool records the state within a turn, when the tools of an answer have run and their results are in the state. It returns the errors
// of Turn.
func (r *Recorder) Tool(ctx context.Context, state any, options ...Option) error {
	return r.recordVisit(ctx, model.SnapshotEventToolIterationEnd, state, options)
}

// Amend records the state in the session's last visit, in its place: the results of tools, say, behind the answer that
// called them. The visit keeps its alias, its attributes, its event and its time. It returns ErrNoVisit before the first visit, and the errors
// of Turn. The next visit follows it, whatever GoBack said.
func (r *Recorder) Amend(ctx context.Context, state any) error {
	e, err := r.newEntry(0, state, nil)
	if err != nil {
		return fmt.Errorf("record: amend session %q: %w", r.session, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head == nil {
		return fmt.Errorf("record: amend session %q: %w", r.session, ErrNoVisit)
	}
	e.Header = r.head.Header
	return r.writeEntry(ctx, e)
}

func (r *Recorder) recordVisit(ctx context.Context, event model.SnapshotEvent, state any, options []Option) error {
	e, err := r.newEntry(event, state, options)
	if err != nil {
		return fmt.Errorf("record: %s in session %q: %w", event, r.session, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Alias != "" {
		if e.Visit, err = r.visitOf(ctx, e.Alias); err != nil {
			return err
		}
	}
	return r.writeEntry(ctx, e)
}

// writeEntry writes an entry, which knows whether it is a new visit.
func (r *Recorder) writeEntry(ctx context.Context, e *typed.Entry) error {
	e.ParentVisit = r.after
	h, now, err := r.db.Record(ctx, e, r.at)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	e.Header, r.at = h, now
	if h.Head {
		r.head, r.after = e, h.Visit
	}
	if e.Alias != "" {
		r.visits[e.Alias] = h.Visit
	}
	markSpan(ctx, &h)
	return nil
}

func (r *Recorder) newEntry(event model.SnapshotEvent, state any, options []Option) (*typed.Entry, error) {
	var s additions
	for _, option := range options {
		if err := option(&s); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	e := &typed.Entry{Header: model.Header{SessionID: r.session, Event: event, CreatedAt: s.at, Alias: s.alias}, State: text}
	if s.attributes != nil {
		e.Attributes, err = model.ParseAttributes(append(s.attributes, '}'))
	}
	return e, err
}

// visitOf returns the visit of an alias, or 0.
func (r *Recorder) visitOf(ctx context.Context, alias string) (int64, error) {
	if visit := r.visits[alias]; visit != 0 {
		return visit, nil
	}
	e, err := r.findEntry(ctx, alias)
	if err != nil || e == nil {
		return 0, err
	}
	return e.Visit, nil
}

// markSpan puts a snapshot on the current span, as package agent does.
func markSpan(ctx context.Context, h *model.Header) {
	span := trace.SpanFromContext(ctx)
	id := attribute.String("genkit:metadata:snapshotId", h.ID)
	span.SetAttributes(id)
	span.AddEvent("snapshot", trace.WithAttributes(id, attribute.String("event", h.Event.String())))
}
