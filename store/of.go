package store

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
	// GetSnapshotIn returns a snapshot of one session, or nil and no error where
	// that session has none of this id.
	GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (*model.Snapshot[S], error)
}

// Of returns a store of states of type S on top of one that keeps raw JSON. A
// state is written as encoding/json marshals it, which is compact, so that
// its id is the hash of exactly these bytes. The result is as safe for
// concurrent use as raw is. It is [Layered].
func Of[S any](raw Scoped[json.RawMessage]) Scoped[S] { return typed[S]{raw} }

// Layered is a store that stands on one of raw JSON, such as that of [Of], so that the
// bytes of a state can be saved without marshalling the state again.
type Layered interface {
	// Raw returns the store beneath.
	Raw() Scoped[json.RawMessage]
}

type typed[S any] struct{ raw Scoped[json.RawMessage] }

// Raw implements Layered.
func (t typed[S]) Raw() Scoped[json.RawMessage] { return t.raw }

func (t typed[S]) Get(ctx context.Context, sessionID string) (*model.Data[S], error) {
	raw, err := t.raw.Get(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return decodeData[S](sessionID, raw)
}

func (t typed[S]) Save(ctx context.Context, sessionID string, data *model.Data[S]) error {
	if data == nil {
		return t.raw.Save(ctx, sessionID, nil)
	}
	raw, err := encodeData(sessionID, data)
	if err != nil {
		return err
	}
	return t.raw.Save(ctx, sessionID, raw)
}

func (t typed[S]) GetSnapshot(ctx context.Context, snapshotID string) (*model.Snapshot[S], error) {
	raw, err := t.raw.GetSnapshot(ctx, snapshotID)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot[S](raw)
}

func (t typed[S]) GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (*model.Snapshot[S], error) {
	raw, err := t.raw.GetSnapshotIn(ctx, sessionID, snapshotID)
	if err != nil {
		return nil, err
	}
	return decodeSnapshot[S](raw)
}

func (t typed[S]) SaveSnapshot(ctx context.Context, snapshot *model.Snapshot[S]) error {
	raw, err := encodeSnapshot(snapshot)
	if err != nil {
		return err
	}
	return t.raw.SaveSnapshot(ctx, raw)
}

func (t typed[S]) ListSnapshots(ctx context.Context, sessionID string, includeOrphaned bool) ([]*model.Snapshot[S], error) {
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

func (t typed[S]) InvalidateSnapshotsAfter(ctx context.Context, sessionID string, afterIndex int) error {
	return t.raw.InvalidateSnapshotsAfter(ctx, sessionID, afterIndex)
}

func decodeData[S any](sessionID string, raw *model.Data[json.RawMessage]) (*model.Data[S], error) {
	if raw == nil {
		return nil, nil
	}
	data := &model.Data[S]{ID: raw.ID, TurnIndex: raw.TurnIndex}
	if err := json.Unmarshal(raw.State, &data.State); err != nil {
		return nil, fmt.Errorf("store: decode state of session %q: %w", sessionID, err)
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
		return nil, fmt.Errorf("store: encode state of session %q: %w", sessionID, err)
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
		return nil, fmt.Errorf("store: decode state of snapshot %q in session %q: %w", raw.ID, raw.SessionID, err)
	}
	return s, nil
}

func encodeSnapshot[S any](s *model.Snapshot[S]) (*model.Snapshot[json.RawMessage], error) {
	if s == nil {
		return nil, nil
	}
	state, err := json.Marshal(s.State)
	if err != nil {
		return nil, fmt.Errorf("store: encode state of snapshot %q in session %q: %w", s.ID, s.SessionID, err)
	}
	return &model.Snapshot[json.RawMessage]{
		ID: s.ID, ParentID: s.ParentID, SessionID: s.SessionID, CreatedAt: s.CreatedAt, State: state,
		Index: s.Index, TurnIndex: s.TurnIndex, Event: s.Event, Orphaned: s.Orphaned,
	}, nil
}
