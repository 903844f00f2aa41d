package agent

import (
	"context"
	"fmt"
	"sync"

	"hindcast/model"
	"hindcast/store/native/typed"
)

// Session is one conversation of an agent while a function works on it. It is
// safe for concurrent use, by tools that run in parallel too. A state that goes
// in or comes out is copied as far as encoding/json sees it, so that it is the
// caller's own before and after.
//
// When the agent function has returned, a session can still be read, but takes
// nothing more: ErrEnded.
type Session[S any] struct {
	id   string
	home *home[S] // nil where sessions are not kept

	// changing is held while a caller works on the state between reading and
	// writing it.
	changing sync.Mutex

	// writing lets one write to the store at a time in, and a context give up
	// waiting. It guards what the store has as far as this session knows.
	writing chan struct{}
	saved   record[S]
	at      typed.Revision

	// mu guards the rest. It is never held while anything else runs.
	mu    sync.Mutex
	now   record[S]
	ended bool
}

// record is where a session stands. Two that are equal are the same moment.
type record[S any] struct {
	state *value[S]
	// last is the last snapshot, nil before the first.
	last *capture[S]
	turn int
}

// capture is a snapshot: its header and its state.
type capture[S any] struct {
	model.Header
	state *value[S]
}

// ID returns the session's id.
func (s *Session[S]) ID() string { return s.id }

// State returns the state.
func (s *Session[S]) State() S { return s.viewRecord().state.copyState() }

// LastSnapshot returns the last snapshot on the active path, or nil if the path has
// no snapshot.
func (s *Session[S]) LastSnapshot() *model.Snapshot[S] {
	last := s.viewRecord().last
	if last == nil {
		return nil
	}
	return seedSnapshot(last.Header, last.state.copyState())
}

// TurnIndex returns the number of the turn that the session is in, which is how
// many turns have ended.
func (s *Session[S]) TurnIndex() int { return s.viewRecord().turn }

func (s *Session[S]) viewRecord() record[S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// UpdateState replaces the state and saves the session's record. The session
// has the new state even when that fails; whatever is saved next saves it too.
// The errors are ErrEnded, that of a state that encoding/json cannot write, and
// those of the store, model.ConflictError among them.
func (s *Session[S]) UpdateState(ctx context.Context, state S) error {
	v := newValue(state)
	s.changing.Lock()
	err := s.setState(v)
	s.changing.Unlock()
	return s.saveRecord(ctx, v, err)
}

// ChangeState changes the state in place and saves the session's record, with
// the errors of UpdateState. Nothing comes between what change reads and what
// it writes: other changes wait, so change may neither make one itself nor
// trigger a snapshot. Where it returns an error, that is the error, and the state
// stays as it was.
func (s *Session[S]) ChangeState(ctx context.Context, change func(*S) error) error {
	v, err := s.changeState(change)
	return s.saveRecord(ctx, v, err)
}

func (s *Session[S]) changeState(change func(*S) error) (*value[S], error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	state := s.State()
	if err := change(&state); err != nil {
		return nil, err
	}
	v := newValue(state)
	return v, s.setState(v)
}

func (s *Session[S]) setState(v *value[S]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return fmt.Errorf("update state of session %.80q: %w", s.id, ErrEnded)
	}
	s.now.state = v
	return nil
}

// saveRecord saves the record with a state that was set, unless that failed.
func (s *Session[S]) saveRecord(ctx context.Context, v *value[S], err error) error {
	if err != nil {
		return err
	}
	if v.err == nil {
		_, err = s.writeStore(ctx, nil)
	} else {
		err = v.err
	}
	if err != nil {
		return fmt.Errorf("update state of session %.80q: %w", s.id, err)
	}
	return nil
}

// openSession loads a session, or makes it where it does not exist. home is
// nil where sessions are not kept.
func openSession[S any](ctx context.Context, id string, home *home[S], init *S) (*Session[S], error) {
	s := &Session[S]{id: id, home: home, writing: make(chan struct{}, 1)}
	if home != nil {
		var err error
		if s.now, s.at, err = home.loadRecord(ctx, id); err != nil {
			return nil, err
		}
	}
	if s.now.state != nil {
		s.saved = s.now
		return s, nil
	}
	var state S
	if init != nil {
		state = *init
	}
	if s.now.state = newValue(state); s.now.state.err != nil {
		return nil, s.now.state.err
	}
	if init == nil {
		s.saved = s.now // a session in which nothing happens is not kept
	}
	return s, nil
}

// lookAt returns where the session stands and whether its agent has returned.
func (s *Session[S]) lookAt() (record[S], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.ended
}

// endTurn puts the session into the turn after one.
func (s *Session[S]) endTurn(turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.turn = turn + 1
}

// endSession lets nothing more into the session and returns where it stands.
func (s *Session[S]) endSession() record[S] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return s.now
}

// writeStore brings the store up to where the session stands, with a snapshot if c
// is one. kept says that the snapshot is in the store, which it may be even if
// the rest failed.
func (s *Session[S]) writeStore(ctx context.Context, c *capture[S]) (kept bool, err error) {
	if s.home == nil {
		return false, nil
	}
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	r := s.viewRecord()
	if c != nil {
		r.last = c
	}
	if r == s.saved {
		return false, nil
	}
	if r.state.err != nil {
		return false, r.state.err
	}
	at, kept, err := s.home.commitRecord(ctx, s.id, r, s.at)
	if kept {
		s.mu.Lock()
		s.now.last = r.last
		s.mu.Unlock()
	}
	if err == nil {
		s.saved, s.at = r, at
	}
	return kept, err
}
