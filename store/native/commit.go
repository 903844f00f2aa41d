package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// Load implements typed.Committer.
func (s *Store) Load(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], typed.Revision, error) {
	data, at, err := s.loadData(ctx, sessionID)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: load session %q: %w", s.kind, sessionID, err)
	}
	return data, at, nil
}

// Commit implements typed.Committer.
func (s *Store) Commit(ctx context.Context, data *model.Data[json.RawMessage], at typed.Revision) (now typed.Revision, err error) {
	if data == nil {
		return 0, fmt.Errorf("%s: commit: %w", s.kind, store.ErrNoRecord)
	}
	if err = store.CheckData(data.ID, data); err == nil {
		err = s.withWriteTx(ctx, func(t *tx) error {
			now, err = s.commitData(ctx, t, data, at)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("%s: commit session %q: %w", s.kind, data.ID, err)
	}
	return now, nil
}

func (s *Store) commitData(ctx context.Context, t *tx, data *model.Data[json.RawMessage], at typed.Revision) (typed.Revision, error) {
	ss, err := findSession(ctx, t, data.ID)
	isNew := errors.Is(err, model.ErrNoSession)
	if err != nil && !isNew {
		return 0, err
	}
	if typed.Revision(ss.writes) != at {
		return 0, conflictError(ctx, t, ss, data)
	}
	if isNew {
		if ss, err = makeSession(ctx, t, data.ID); err != nil {
			return 0, err
		}
	}
	if err := s.putRecord(ctx, t, &ss, data); err != nil {
		return 0, err
	}
	return typed.Revision(ss.writes), nil
}

// conflictError returns the error of a commit that came too late.
func conflictError(ctx context.Context, t *tx, ss session, data *model.Data[json.RawMessage]) error {
	var head *model.Header
	if ss.head.Valid {
		h, err := (&listing{tx: t, session: ss}).readOne(ctx, ss.head.V)
		if err != nil {
			return err
		}
		head = &h
	}
	var visits []model.Header
	if data.LastSnapshot != nil {
		var err error
		if visits, err = visitsOf(ctx, t, ss, data.LastSnapshot.ID, data.LastSnapshot.Index); err != nil {
			return err
		}
	}
	return store.FindConflict(data, head, visits)
}
