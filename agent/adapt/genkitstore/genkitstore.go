// Package genkitstore keeps the sessions of Genkit Go's agents in a store of Hindcast:
//
//	db, err := sqlite.OpenOrCreate(ctx, "sessions.db")
//	…
//	agent := exp.DefineAgent(g, "helper", prompt, aix.WithSessionStore(genkitstore.New[State](db)))
//
// Each of Genkit's snapshots is a visit of the session, under Genkit's own id. Its status, its finish reason, its error and
// its heartbeat are the attributes of the visit; what Genkit writes again (a pending turn that is completed) is rewritten in its
// place. A session that a person puts back on Hindcast's screen goes on from there when its agent runs again.
//
// It follows aix.SessionStore, aix.SnapshotMetadataReader and aix.SnapshotSubscriber in Genkit Go 1.13.1.
package genkitstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	aix "github.com/firebase/genkit/go/ai/exp"
	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/store/native/typed"
)

// poll is the time between two looks at the status of a snapshot that another process may change.
const poll = 250 * time.Millisecond

// Store implements aix.SessionStore, aix.SnapshotMetadataReader and aix.SnapshotSubscriber. It is safe for concurrent use,
// by several processes, too. It holds no resource: closing the store of Hindcast ends it.
type Store[State any] struct{ db typed.Recording }

// New returns a Store in db, which is a *sqlite.Store or a *postgres.Store.
func New[State any](db typed.Recording) *Store[State] { return &Store[State]{db} }

// GetSnapshot implements aix.SnapshotReader. The error is a model.AmbiguousError if several sessions have a
// snapshot of that id, which Genkit does not make.
func (s *Store[State]) GetSnapshot(ctx context.Context, id string) (*aix.SessionSnapshot[State], error) {
	return s.findSnapshot(ctx, id, true)
}

// GetSnapshotMetadata implements aix.SnapshotMetadataReader.
func (s *Store[State]) GetSnapshotMetadata(ctx context.Context, id string) (*aix.SessionSnapshot[State], error) {
	return s.findSnapshot(ctx, id, false)
}

func (s *Store[State]) findSnapshot(ctx context.Context, id string, state bool) (*aix.SessionSnapshot[State], error) {
	if id == "" {
		return nil, nil
	}
	e, _, err := s.db.FindAlias(ctx, "", id)
	if err != nil {
		return nil, fmt.Errorf("genkitstore: %w", err)
	}
	return decodeEntry[State](e, state)
}

// GetLatestSnapshot implements aix.SnapshotReader: the session's head, which is the snapshot that was made last, or
// the one that the session was put back to.
func (s *Store[State]) GetLatestSnapshot(ctx context.Context, session string) (*aix.SessionSnapshot[State], error) {
	return s.findLatest(ctx, session, true)
}

// GetLatestSnapshotMetadata implements aix.SnapshotMetadataReader.
func (s *Store[State]) GetLatestSnapshotMetadata(ctx context.Context, session string) (*aix.SessionSnapshot[State], error) {
	return s.findLatest(ctx, session, false)
}

func (s *Store[State]) findLatest(ctx context.Context, session string, state bool) (*aix.SessionSnapshot[State], error) {
	if session == "" {
		return nil, fmt.Errorf("genkitstore: the latest snapshot of a session: %w", aix.ErrSessionIDRequired)
	}
	e, _, err := s.db.HeadEntry(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("genkitstore: %w", err)
	}
	return decodeEntry[State](e, state)
}

// decodeEntry returns the snapshot that an entry holds, nil if there is no entry, with its state if that is asked for. An entry that another program
// wrote is a completed one, under its id in Hindcast if it has no alias.
func decodeEntry[State any](e *typed.Entry, state bool) (*aix.SessionSnapshot[State], error) {
	if e == nil {
		return nil, nil
	}
	snapshot := &aix.SessionSnapshot[State]{CreatedAt: e.CreatedAt, UpdatedAt: e.CreatedAt, Status: aix.SnapshotStatusCompleted}
	if e.Attributes != "" {
		if err := json.Unmarshal([]byte(e.Attributes), snapshot); err != nil {
			return nil, fmt.Errorf("genkitstore: what session %q says of snapshot %q: %w", e.SessionID, e.Alias, err)
		}
	}
	snapshot.SessionID, snapshot.SnapshotID = e.SessionID, e.Alias
	if snapshot.SnapshotID == "" {
		snapshot.SnapshotID = e.ID
	}
	if state && !bytes.Equal(e.State, []byte("null")) {
		if err := json.Unmarshal(e.State, &snapshot.State); err != nil {
			return nil, fmt.Errorf("genkitstore: the state of snapshot %q in session %q: %w", snapshot.SnapshotID, e.SessionID, err)
		}
	}
	return snapshot, nil
}

// SaveSnapshot implements aix.SnapshotWriter. When another process writes to the session in between, fn is
// called again with that.
func (s *Store[State]) SaveSnapshot(ctx context.Context, id string, fn func(*aix.SessionSnapshot[State]) (*aix.SessionSnapshot[State], error)) (saved *aix.SessionSnapshot[State], err error) {
	err = typed.Retry(ctx, func() (err error) {
		saved, err = s.trySave(ctx, id, fn)
		return err
	})
	return saved, err
}

func (s *Store[State]) trySave(ctx context.Context, id string, fn func(*aix.SessionSnapshot[State]) (*aix.SessionSnapshot[State], error)) (*aix.SessionSnapshot[State], error) {
	var was *typed.Entry
	var at typed.Revision
	var err error
	if id == "" {
		id = uuid.NewString() // to look for it would read every session
	} else if was, at, err = s.db.FindAlias(ctx, "", id); err != nil {
		return nil, fmt.Errorf("genkitstore: %w", err)
	}
	existing, err := decodeEntry[State](was, true)
	if err != nil {
		return nil, err
	}
	next, err := fn(existing)
	if err != nil || next == nil {
		return nil, err
	}
	next.SnapshotID = id
	if existing != nil {
		next.SessionID = existing.SessionID
	}
	if next.SessionID == "" {
		return nil, fmt.Errorf("genkitstore: snapshot %q: %w", id, aix.ErrSessionIDRequired)
	}
	if next.Status == "" {
		next.Status = aix.SnapshotStatusCompleted
	}
	e, err := encodeSnapshot(next)
	if err != nil {
		return nil, fmt.Errorf("genkitstore: snapshot %q of session %q: %w", id, next.SessionID, err)
	}
	if was != nil {
		e.Visit = was.Visit
	} else if e.ParentVisit, at, err = s.parentOf(ctx, next); err != nil {
		return nil, fmt.Errorf("genkitstore: %w", err)
	}
	if _, _, err := s.db.Record(ctx, e, at); err != nil {
		return nil, fmt.Errorf("genkitstore: %w", err)
	}
	return next, nil
}

// parentOf returns the visit that a new snapshot follows, 0 if its session has no such visit, and the
// session's revision.
func (s *Store[State]) parentOf(ctx context.Context, next *aix.SessionSnapshot[State]) (int64, typed.Revision, error) {
	head, at, err := s.db.HeadEntry(ctx, next.SessionID)
	if err != nil || next.ParentID == "" || head == nil {
		return 0, at, err
	}
	if head.Alias == next.ParentID || head.ID == next.ParentID {
		return head.Visit, at, nil
	}
	e, at, err := s.db.FindAlias(ctx, next.SessionID, next.ParentID)
	if err != nil || e == nil {
		return 0, at, err
	}
	return e.Visit, at, nil
}

// encodeSnapshot returns the entry of a snapshot: the state, and all else as attributes.
func encodeSnapshot[State any](snapshot *aix.SessionSnapshot[State]) (*typed.Entry, error) {
	state, err := json.Marshal(snapshot.State)
	if err != nil {
		return nil, err
	}
	about := *snapshot
	about.State = nil
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	delete(members, "sessionId") // the visit has both itself
	delete(members, "snapshotId")
	if text, err = json.Marshal(members); err != nil {
		return nil, err
	}
	attributes, err := model.ParseAttributes(text)
	return &typed.Entry{
		Header: model.Header{SessionID: snapshot.SessionID, Alias: snapshot.SnapshotID, Event: model.SnapshotEventTurnEnd,
			CreatedAt: snapshot.CreatedAt, Attributes: attributes},
		State: state,
	}, err
}

// OnSnapshotStatusChange implements aix.SnapshotSubscriber: it looks four times a second, so that it sees what other
// processes write. A store that cannot be read is looked at again.
func (s *Store[State]) OnSnapshotStatusChange(ctx context.Context, id string) <-chan aix.SnapshotStatus {
	changes := make(chan aix.SnapshotStatus, 1)
	go func() {
		defer close(changes)
		var last aix.SnapshotStatus
		for {
			snapshot, err := s.findSnapshot(ctx, id, false)
			if err == nil && snapshot == nil {
				return
			}
			if err == nil && snapshot.Status != last {
				last = snapshot.Status
				select {
				case changes <- last:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-time.After(poll):
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes
}
