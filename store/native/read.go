package native

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/native/typed"
)

// session is a row of sessions.
type session struct {
	key      int64
	id       string
	head     sql.Null[int64]
	record   sql.Null[int64]
	turn     int
	updated  any
	revision int64
	// writes counts the changes, as a typed.Revision. rewrites counts the changes that did more than append.
	// If an undo of its fork removes a session, the journal keeps the next value of both, where findOrMake
	// finds it.
	writes, rewrites int64
	// rewrote says that the head went to a visit that was there before.
	rewrote bool
}

// findSession returns the row of a session; the error is model.ErrNoSession.
func findSession(ctx context.Context, t *tx, id string) (session, error) {
	ss := session{id: id}
	err := t.Row(ctx, "SELECT session, head, record_state, record_turn, updated, revision, writes, rewrites FROM sessions WHERE id = ?"+t.Change, id).
		Scan(&ss.key, &ss.head, &ss.record, &ss.turn, &ss.updated, &ss.revision, &ss.writes, &ss.rewrites)
	if errors.Is(err, sql.ErrNoRows) {
		return ss, model.ErrNoSession
	}
	return ss, err
}

// Sessions implements store.Store.
func (s *Store) Sessions(ctx context.Context) iter.Seq2[model.SessionInfo, error] {
	return func(yield func(model.SessionInfo, error) bool) {
		infos, err := s.listInfos(ctx)
		if err != nil {
			yield(model.SessionInfo{}, fmt.Errorf("%s: list sessions: %w", s.kind, err))
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) listInfos(ctx context.Context) (infos []model.SessionInfo, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		all, err := listSessions(ctx, t)
		if err != nil {
			return err
		}
		infos = infos[:0]
		for i := range all {
			one := &all[i]
			if one.Title, err = s.openingWords(ctx, t, one); err != nil {
				return err
			}
			one.Kind = s.kind
			infos = append(infos, one.SessionInfo)
		}
		return nil
	})
	slices.SortFunc(infos, store.NewestFirst)
	return infos, err
}

// listed is a session of the list, whose title is still to be read: from the state
// that it begins with, known by its key and its hash.
type listed struct {
	model.SessionInfo
	first sql.Null[int64]
	sum   []byte
}

// listSessions returns the sessions without their titles.
func listSessions(ctx context.Context, t *tx) (all []listed, err error) {
	size := fmt.Sprintf("(SELECT CAST(coalesce(sum(length(data)), 0) AS bigint) FROM blocks WHERE place BETWEEN s.session * %d AND (s.session + 1) * %[1]d - 1)", sessionPlaces)
	rows, err := t.Rows(ctx, `SELECT s.id, s.visits, s.orphaned, s.updated, coalesce(v.id, ''), coalesce(v.idx, 0), coalesce(v.visit, 0), `+size+`, f.state, f.sha256
		FROM sessions s LEFT JOIN visits v ON v.session = s.session AND v.visit = s.head
		LEFT JOIN states f ON f.state = (SELECT state FROM visits WHERE session = s.session ORDER BY visit LIMIT 1)`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one := listed{SessionInfo: model.SessionInfo{Faults: model.FaultsNotCounted}}
		var updated any
		if err := rows.Scan(&one.ID, &one.Snapshots, &one.Orphaned, &updated, &one.Head.ID, &one.Head.Index, &one.Head.Visit, &one.Size, &one.first, &one.sum); err != nil {
			return nil, err
		}
		if one.UpdatedAt, err = decodeTime(updated); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// openingWords returns the user's first words in a session. It returns "" if the first state cannot be read, since
// a list does not need them. It reads each state once.
func (s *Store) openingWords(ctx context.Context, t *tx, one *listed) (string, error) {
	if !one.first.Valid {
		return "", nil
	}
	if known, ok := s.openings.Load(string(one.sum)); ok {
		return known.(string), nil
	}
	state, err := s.states.peekState(ctx, t, one.first.V)
	if err != nil {
		return "", ctx.Err()
	}
	title := conversation.Opening(state)
	s.openings.Store(string(one.sum), title)
	return title, nil
}

// Headers implements store.Store. All of them are of one moment. Where the database was
// changed so that it cannot be read on as it was, the sequence ends with an error of the
// carrier, before anything wrong is given.
func (s *Store) Headers(ctx context.Context, sessionID string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		if err := s.yieldHeaders(ctx, sessionID, yield); err != nil && !errors.Is(err, errStopped) {
			yield(model.Header{}, fmt.Errorf("%s: list snapshots of session %q: %w", s.kind, sessionID, err))
		}
	}
}

// errStopped ends a reading whose consumer has had enough.
var errStopped = errors.New("stopped")

func (s *Store) yieldHeaders(ctx context.Context, sessionID string, yield func(model.Header, error) bool) error {
	begun, ended := false, error(nil) // what was yielded is not yielded again
	err := s.carrier.Retry(ctx, func() error {
		err := s.headersOnce(ctx, sessionID, func(h model.Header, err error) bool {
			begun = true
			return yield(h, err)
		})
		if begun {
			ended, err = err, nil
		}
		return err
	})
	return cmp.Or(err, ended)
}

func (s *Store) headersOnce(ctx context.Context, sessionID string, yield func(model.Header, error) bool) error {
	return s.carrier.ReadOnce(ctx, s.inReadTx(func(t *tx) error {
		ss, err := findSession(ctx, t, sessionID)
		if err != nil {
			return err
		}
		return (&listing{tx: t, session: ss}).allHeaders(ctx, func(batch []model.Header) error {
			if err := t.Fresh(); err != nil {
				return err
			}
			for i := range batch {
				if !yield(batch[i], nil) {
					return errStopped
				}
			}
			return nil
		})
	}))
}

// Tail implements [store.Features].Tail.
func (s *Store) Tail(ctx context.Context, sessionID string, n int) (headers []model.Header, before int, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		ss, err := findSession(ctx, t, sessionID)
		if err != nil {
			return err
		}
		headers, before, err = (&listing{tx: t, session: ss}).lastHeaders(ctx, max(n, 0))
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: list snapshots of session %q: %w", s.kind, sessionID, err)
	}
	return headers, before, nil
}

// State implements store.Store.
func (s *Store) State(ctx context.Context, ref model.Ref) ([]byte, error) {
	return s.stateBy(ctx, ref, s.states.readState)
}

// Peek is that of store.Features.
func (s *Store) Peek(ctx context.Context, ref model.Ref) ([]byte, error) {
	return s.stateBy(ctx, ref, s.states.peekState)
}

// stateBy calls read with the key of a snapshot's state, and returns its result.
func (s *Store) stateBy(ctx context.Context, ref model.Ref, read func(context.Context, *tx, int64) ([]byte, error)) (state []byte, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		ss, err := findSession(ctx, t, ref.Session)
		if err != nil {
			return err
		}
		key, err := stateKey(ctx, t, ss, ref)
		if err != nil {
			return err
		}
		state, err = read(ctx, t, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: read state %q of session %q: %w", s.kind, ref.ID, ref.Session, err)
	}
	return state, nil
}

// stateOf returns the state of a snapshot.
func (s *Store) stateOf(ctx context.Context, t *tx, ss session, ref model.Ref) ([]byte, error) {
	key, err := stateKey(ctx, t, ss, ref)
	if err != nil {
		return nil, err
	}
	return s.states.readState(ctx, t, key)
}

// stateKey returns the key of a snapshot's state; nothing tells the visits of one
// id apart but that they have to be there.
func stateKey(ctx context.Context, t *tx, ss session, ref model.Ref) (key int64, err error) {
	err = t.Row(ctx, "SELECT state FROM "+t.ByID+" WHERE session = ?1 AND id = ?2 AND (visit = ?3 OR ?3 = 0) LIMIT 1", ss.key, ref.ID, ref.Visit).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		err = model.ErrNoSnapshot
	}
	return key, err
}

// Get implements model.Store.
func (s *Store) Get(ctx context.Context, sessionID string) (*model.Data[json.RawMessage], error) {
	data, _, err := s.loadData(ctx, sessionID)
	if err != nil {
		return nil, fmt.Errorf("%s: get session %q: %w", s.kind, sessionID, err)
	}
	return data, nil
}

func (s *Store) loadData(ctx context.Context, sessionID string) (data *model.Data[json.RawMessage], at typed.Revision, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		data, at = nil, 0
		ss, err := findSession(ctx, t, sessionID)
		if errors.Is(err, model.ErrNoSession) {
			return nil
		}
		at = typed.Revision(ss.writes)
		if err != nil || !ss.record.Valid {
			return err
		}
		data, err = s.readData(ctx, t, ss)
		return err
	})
	return data, at, err
}

func (s *Store) readData(ctx context.Context, t *tx, ss session) (*model.Data[json.RawMessage], error) {
	state, err := s.states.readState(ctx, t, ss.record.V)
	if err != nil {
		return nil, err
	}
	data := &model.Data[json.RawMessage]{ID: ss.id, State: state, TurnIndex: ss.turn}
	if !ss.head.Valid {
		return data, nil
	}
	h, err := (&listing{tx: t, session: ss}).readOne(ctx, ss.head.V)
	if err != nil {
		return nil, err
	}
	if state, err = s.stateOf(ctx, t, ss, h.Ref()); err != nil {
		return nil, err
	}
	data.LastSnapshot = store.Snapshot(h, state)
	return data, nil
}

// GetSnapshot implements model.Store.
func (s *Store) GetSnapshot(ctx context.Context, snapshotID string) (snapshot *model.Snapshot[json.RawMessage], err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		holders, err := holderIDs(ctx, t, snapshotID)
		switch {
		case err != nil || len(holders) == 0:
			return err
		case len(holders) > 1:
			return &model.AmbiguousError{ID: snapshotID, Candidates: holders}
		}
		snapshot, err = s.firstVisit(ctx, t, holders[0], snapshotID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: get snapshot %q: %w", s.kind, snapshotID, err)
	}
	return snapshot, nil
}

// holderIDs returns the ids of the sessions that hold a snapshot, in order.
func holderIDs(ctx context.Context, t *tx, snapshotID string) ([]string, error) {
	rows, err := t.Rows(ctx, "SELECT id FROM sessions WHERE session IN (SELECT session FROM visits WHERE id = ?) ORDER BY id", snapshotID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// GetSnapshotIn implements typed.Scoped.
func (s *Store) GetSnapshotIn(ctx context.Context, sessionID, snapshotID string) (snapshot *model.Snapshot[json.RawMessage], err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		snapshot, err = s.firstVisit(ctx, t, sessionID, snapshotID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: get snapshot %q of session %q: %w", s.kind, snapshotID, sessionID, err)
	}
	return snapshot, nil
}

// firstVisit returns the first visit of an id, which is its row (rule 3), or nil. It is
// active when any of its visits is (rule 4).
func (s *Store) firstVisit(ctx context.Context, t *tx, sessionID, snapshotID string) (*model.Snapshot[json.RawMessage], error) {
	ss, err := findSession(ctx, t, sessionID)
	if errors.Is(err, model.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var first sql.Null[int64]
	var orphaned sql.Null[bool]
	err = t.Row(ctx, "SELECT min(visit), count(*) = count(reason) FROM "+t.ByID+" WHERE session = ? AND id = ?", ss.key, snapshotID).Scan(&first, &orphaned)
	if err != nil || !first.Valid {
		return nil, err
	}
	h, err := (&listing{tx: t, session: ss}).readOne(ctx, first.V)
	if err != nil {
		return nil, err
	}
	h.Orphaned = orphaned.V
	state, err := s.stateOf(ctx, t, ss, h.Ref())
	if err != nil {
		return nil, err
	}
	return store.Snapshot(h, state), nil
}

// ListSnapshots implements model.Store. An unknown session has no snapshots.
func (s *Store) ListSnapshots(ctx context.Context, sessionID string, includeOrphaned bool) (list []*model.Snapshot[json.RawMessage], err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		list = nil
		ss, err := findSession(ctx, t, sessionID)
		if errors.Is(err, model.ErrNoSession) {
			return nil
		}
		if err != nil {
			return err
		}
		visits, err := loadVisits(ctx, t, ss)
		if err != nil {
			return err
		}
		for _, h := range visits.Rows(includeOrphaned) {
			state, err := s.stateOf(ctx, t, ss, h.Ref())
			if err != nil {
				return fmt.Errorf("snapshot %q: %w", h.ID, err)
			}
			list = append(list, store.Snapshot(h, state))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: list snapshots of session %q: %w", s.kind, sessionID, err)
	}
	return list, nil
}
