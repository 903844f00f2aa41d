// Package typed is the interface for a Go program that writes to a store itself: states of its own type
// instead of JSON, and sessions that change in one step. The port in [hindcast/store] is for readers of
// sessions.
package typed

import (
	"context"
	"encoding/json"
	"fmt"

	"hindcast/model"
)

// Scoped is a model.Store in which a snapshot can be asked for within its
// session, which settles an id that several sessions hold (rule 2).
type Scoped[S any] interface {
	model.Store[S]
	// GetSnapshotIn returns a snapshot of one session. It returns nil and no error if the session has no
	// snapshot with the id.
	GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (*model.Snapshot[S], error)
}

// Of returns a store of states of type S on top of a store of raw JSON. It writes a state as compact JSON, as
// encoding/json marshals it, so the id is the hash of exactly these bytes. The result is as safe for
// concurrent use as raw. It implements [Layered].
func Of[S any](raw Scoped[json.RawMessage]) Scoped[S] { return states[S]{raw} }

// Revision tells one moment in the life of a session from every other: each
// change of its record or its snapshots gives it another, and none is ever
// given twice, not even when a change is undone or the session goes and another
// comes under its name. 0 is while there is no session.
type Revision int64

// Committer is a store of raw JSON in which a session moves on in one step, and only
// from where the writer last saw it.
type Committer interface {
	// Load returns the record of a session and its revision at the same moment. The record is nil if the
	// session has only snapshots; the revision is 0 if the session does not exist.
	Load(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], Revision, error)
	// Commit saves the record of the session data.ID as Save does, in one transaction. Its LastSnapshot
	// becomes the head, and a visit if it is not one yet. Commit writes only while the session is at revision
	// at, which is 0 for a new session; otherwise it writes nothing and returns a [model.ConflictError]. It
	// returns the new revision. Other errors come from Save, or are store.ErrNoRecord for nil data. If it
	// returns the context's error, nothing was committed.
	Commit(ctx context.Context, data *model.Data[json.RawMessage], at Revision) (Revision, error)
}

// Layered is a store that stands on one of raw JSON, such as that of [Of], so that the
// bytes of a state can be saved without marshalling the state again.
type Layered interface {
	// Raw returns the store beneath.
	Raw() Scoped[json.RawMessage]
}

type states[S any] struct{ raw Scoped[json.RawMessage] }

// Raw implements Layered.
func (t states[S]) Raw() Scoped[json.RawMessage] { return t.raw }

func (t states[S]) Get(ctx context.Context, sessionID string) (*model.Data[S], error) {
	raw, err := t.raw.Get(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return decodeData[S](sessionID, raw)
}

func (t states[S]) Save(ctx context.Context, sessionID string, data *model.Data[S]) error {
	if data == nil {
		return t.raw.Save(ctx, sessionID, nil)
	}
	raw, err := encodeData(sessionID, data)
	if err != nil {
		return err
	}
	return t.raw.Save(ctx, sessionID, raw)
}

func (t states[S]) GetSnapshot(ctx context.Context, snapshotID string) (*model.Snapshot[S], error) {
	raw, err := t.raw.GetSnapshot(ctx, snapshotID)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot[S](raw)
}

func (t states[S]) GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (*model.Snapshot[S], error) {
	raw, err := t.raw.GetSnapshotIn(ctx, sessionID, snapshotID)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot[S](raw)
}

func (t states[S]) SaveSnapshot(ctx context.Context, snapshot *model.Snapshot[S]) error {
	raw, err := encodeSnapshot(snapshot)
	if err != nil {
		return err
	}
	return t.raw.SaveSnapshot(ctx, raw)
}

func (t states[S]) ListSnapshots(ctx context.Context, sessionID string, includeOrphaned bool) ([]*model.Snapshot[S], error) {
	raw, err := t.raw.ListSnapshots(ctx, sessionID, includeOrphaned)
	if err != nil {
		return nil, err
	}
	list := make([]*model.Snapshot[S], len(raw))
	for i := range raw {
		if list[i], err = decodeSnapshot[S](raw[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t states[S]) InvalidateSnapshotsAfter(ctx context.Context, sessionID string, afterIndex int) error {
	return t.raw.InvalidateSnapshotsAfter(ctx, sessionID, afterIndex)
}

func decodeData[S any](sessionID string, raw *model.Data[json.RawMessage]) (*model.Data[S], error) {
	if raw == nil {
		return nil, nil
	}
	data := &model.Data[S]{ID: raw.ID, TurnIndex: raw.TurnIndex}
	if err := json.Unmarshal(raw.State, &data.State); err != nil {
		return nil, fmt.Errorf("typed: decode state of session %q: %w", sessionID, err)
	}
	last, err := decodeSnapshot[S](raw.LastSnapshot)
	if err != nil {
		return nil, err
	}
	data.LastSnapshot = last
	return data, nil
}

func encodeData[S any](sessionID string, data *model.Data[S]) (*model.Data[json.RawMessage], error) {
	state, err := json.Marshal(data.State)
	if err != nil {
		return nil, fmt.Errorf("typed: encode state of session %q: %w", sessionID, err)
	}
	last, err := encodeSnapshot(data.LastSnapshot)
	if err != nil {
		return nil, err
	}
	return &model.Data[json.RawMessage]{ID: data.ID, State: state, LastSnapshot: last, TurnIndex: data.TurnIndex}, nil
}

func decodeSnapshot[S any](raw *model.Snapshot[json.RawMessage]) (*model.Snapshot[S], error) {
	if raw == nil {
		return nil, nil
	}
	s := &model.Snapshot[S]{
		ID: raw.ID, ParentID: raw.ParentID, SessionID: raw.SessionID, CreatedAt: raw.CreatedAt,
		Index: raw.Index, TurnIndex: raw.TurnIndex, Event: raw.Event, Orphaned: raw.Orphaned,
	}
	if err := json.Unmarshal(raw.State, &s.State); err != nil {
		return nil, fmt.Errorf("typed: decode state of snapshot %q in session %q: %w", raw.ID, raw.SessionID, err)
	}
	return s, nil
}

func encodeSnapshot[S any](s *model.Snapshot[S]) (*model.Snapshot[json.RawMessage], error) {
	if s == nil {
		return nil, nil
	}
	state, err := json.Marshal(s.State)
	if err != nil {
		return nil, fmt.Errorf("typed: encode state of snapshot %q in session %q: %w", s.ID, s.SessionID, err)
	}
	return &model.Snapshot[json.RawMessage]{
		ID: s.ID, ParentID: s.ParentID, SessionID: s.SessionID, CreatedAt: s.CreatedAt, State: state,
		Index: s.Index, TurnIndex: s.TurnIndex, Event: s.Event, Orphaned: s.Orphaned,
	}, nil
}
