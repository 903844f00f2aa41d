package native

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/native/typed"
)

var _ typed.Recording = (*Store)(nil)

// HeadEntry implements typed.Recording.
func (s *Store) HeadEntry(ctx context.Context, sessionID string) (*typed.Entry, typed.Revision, error) {
	e, at, err := s.findEntry(ctx, sessionID, func(_ *tx, ss session) (sql.Null[int64], error) { return ss.head, nil })
	if err != nil {
		return nil, 0, fmt.Errorf("%s: read the head of session %q: %w", s.kind, sessionID, err)
	}
	return e, at, nil
}

// FindAlias implements typed.Recording.
func (s *Store) FindAlias(ctx context.Context, sessionID, alias string) (*typed.Entry, typed.Revision, error) {
	e, at, err := s.findAlias(ctx, sessionID, alias)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: find alias %.80q: %w", s.kind, alias, err)
	}
	return e, at, nil
}

func (s *Store) findAlias(ctx context.Context, sessionID, alias string) (*typed.Entry, typed.Revision, error) {
	begins, err := aliasPrefix(alias)
	if err != nil {
		return nil, 0, err
	}
	if sessionID == "" {
		if sessionID, err = s.holderOf(ctx, alias, begins); sessionID == "" {
			return nil, 0, err
		}
	}
	return s.findEntry(ctx, sessionID, func(t *tx, ss session) (visit sql.Null[int64], err error) {
		err = t.Row(ctx, "SELECT max(visit) FROM visits WHERE session = ?1 AND substr(extra, 1, length(?2)) = ?2", ss.key, begins).Scan(&visit)
		return visit, err
	})
}

// aliasPrefix returns how the extra fields of a row with an alias begin, and with no other.
func aliasPrefix(alias string) (string, error) {
	if !utf8.ValidString(alias) || len(alias) > typed.MaxAlias || alias == "" {
		return "", typed.ErrAlias
	}
	text, err := json.Marshal(alias)
	return `{"alias":` + string(text), err
}

// holderOf returns the session in which a row begins so, or "". It reads every row of visits: an index for aliases would be
// another schema.
func (s *Store) holderOf(ctx context.Context, alias, begins string) (holder string, err error) {
	var holders []string
	err = s.withReadTx(ctx, func(t *tx) error {
		holders = nil
		return t.eachRow(ctx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			holders = append(holders, id)
			return err
		}, "SELECT id FROM sessions WHERE session IN (SELECT session FROM visits WHERE substr(extra, 1, length(?1)) = ?1) ORDER BY id", begins)
	})
	switch {
	case err != nil || len(holders) == 0:
		return "", err
	case len(holders) > 1:
		return "", &model.AmbiguousError{ID: alias, Candidates: holders}
	}
	return holders[0], nil
}

// findEntry calls which to choose a visit; null chooses no visit. It returns the entry and the revision of the session.
func (s *Store) findEntry(ctx context.Context, sessionID string, which func(*tx, session) (sql.Null[int64], error)) (e *typed.Entry, at typed.Revision, err error) {
	err = s.withReadTx(ctx, func(t *tx) error {
		e, at = nil, 0
		ss, err := findSession(ctx, t, sessionID)
		if errors.Is(err, model.ErrNoSession) {
			return nil
		}
		if err != nil {
			return err
		}
		at = typed.Revision(ss.writes)
		visit, err := which(t, ss)
		if err != nil || !visit.Valid {
			return err
		}
		e, err = s.readEntry(ctx, t, ss, visit.V)
		return err
	})
	return e, at, err
}

func (s *Store) readEntry(ctx context.Context, t *tx, ss session, visit int64) (*typed.Entry, error) {
	h, err := (&listing{tx: t, session: ss}).readOne(ctx, visit)
	if err != nil {
		return nil, err
	}
	state, err := s.stateOf(ctx, t, ss, h.Ref())
	return &typed.Entry{Header: h, State: state}, err
}

// Record implements typed.Recording.
func (s *Store) Record(ctx context.Context, e *typed.Entry, at typed.Revision) (h model.Header, now typed.Revision, err error) {
	if err = checkEntry(e); err == nil {
		err = s.withWriteTx(ctx, func(t *tx) error {
			h, now, err = s.recordEntry(ctx, t, e, at)
			return err
		})
	}
	if err != nil {
		return model.Header{}, 0, fmt.Errorf("%s: record in session %q: %w", s.kind, e.SessionID, err)
	}
	return h, now, nil
}

func checkEntry(e *typed.Entry) error {
	if e.Alias != "" {
		if _, err := aliasPrefix(e.Alias); err != nil {
			return err
		}
	}
	if e.Attributes != "" {
		if as, err := model.ParseAttributes([]byte(e.Attributes)); err != nil || as != e.Attributes {
			return errors.Join(typed.ErrAttributes, err)
		}
	}
	return store.CheckState(e.State)
}

func (s *Store) recordEntry(ctx context.Context, t *tx, e *typed.Entry, at typed.Revision) (h model.Header, now typed.Revision, err error) {
	ss, err := findSession(ctx, t, e.SessionID)
	isNew := errors.Is(err, model.ErrNoSession)
	if err != nil && !isNew {
		return h, 0, err
	}
	if typed.Revision(ss.writes) != at {
		return h, 0, conflictOf(ctx, t, ss, e)
	}
	if isNew {
		if ss, err = makeSession(ctx, t, e.SessionID); err != nil {
			return h, 0, err
		}
	}
	content := s.states.contentOf(e.State)
	snapshot := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(e.State), SessionID: e.SessionID, CreatedAt: e.CreatedAt, State: e.State, Event: e.Event}
	if h, err = store.Header(snapshot); err != nil {
		return h, 0, err
	}
	h.Visit, h.ParentVisit, h.Alias, h.Attributes = e.Visit, e.ParentVisit, e.Alias, e.Attributes
	replaced := ss.record
	var old sql.Null[int64]
	if h.Visit == 0 {
		err = s.addEntry(ctx, t, &ss, &h, content)
	} else {
		old, err = s.rewriteEntry(ctx, t, &ss, &h, content)
	}
	if err == nil {
		err = s.touchSession(ctx, t, &ss)
	}
	dropped := slices.Compact(slices.Sorted(slices.Values([]int64{replaced.V, old.V}))) // as dropStates does
	for _, state := range dropped {
		if err == nil && state != 0 && state != ss.record.V {
			err = s.states.dropState(ctx, t, state)
		}
	}
	h.Head = ss.head.Valid && ss.head.V == h.Visit
	return h, typed.Revision(ss.writes), err
}

// conflictOf returns the error of an entry that came too late: the program had seen the visit that it rewrites or goes on from.
func conflictOf(ctx context.Context, t *tx, ss session, e *typed.Entry) error {
	data := &model.Data[json.RawMessage]{ID: e.SessionID}
	seen, err := (&listing{tx: t, session: ss}).readOne(ctx, cmp.Or(e.Visit, e.ParentVisit))
	if err == nil {
		data.LastSnapshot = store.Snapshot(seen, e.State)
	} else if !errors.Is(err, model.ErrNoSnapshot) {
		return err
	}
	return conflictError(ctx, t, ss, data)
}

// addEntry adds a visit behind its parent and makes it the head.
func (s *Store) addEntry(ctx context.Context, t *tx, ss *session, h *model.Header, state content) error {
	now := h.CreatedAt.IsZero()
	if now {
		h.CreatedAt = s.clock()
	}
	if h.ParentVisit != 0 {
		parent, err := (&listing{tx: t, session: *ss}).readOne(ctx, h.ParentVisit)
		if err != nil {
			return err
		}
		h.ParentID, h.Index, h.TurnIndex = parent.ID, parent.Index+1, parent.TurnIndex
		if parent.Event.EndsTurn() {
			h.TurnIndex++
		}
		// A clock may be too coarse to tell the two apart.
		if ahead := parent.CreatedAt.Sub(h.CreatedAt); now && ahead >= 0 && ahead < time.Millisecond {
			h.CreatedAt = parent.CreatedAt.UTC().Add(1)
		}
	}
	if ss.head.Valid && ss.head.V != h.ParentVisit {
		if err := s.leavePath(ctx, t, *ss, h); err != nil {
			return err
		}
	}
	v, err := s.addVisit(ctx, t, *ss, *h, state, sql.Null[int64]{})
	if err != nil {
		return err
	}
	h.Visit = v.visit
	ss.moveTo(v)
	ss.standAt(h, v.state.V)
	return nil
}

// leavePath has the active path end at the parent of a new visit. Without a parent, every visit leaves the path.
func (s *Store) leavePath(ctx context.Context, t *tx, ss session, h *model.Header) error {
	visits, err := loadVisits(ctx, t, ss)
	if err != nil {
		return err
	}
	reason, err := addReason(ctx, t, ss, model.Reason{Kind: model.ReasonWentOn, At: h.CreatedAt, TargetID: h.ParentID, TargetIndex: max(h.Index-1, 0)})
	if err != nil {
		return err
	}
	if at := visits.At(h.ParentVisit); at >= 0 {
		return movePath(ctx, t, ss, visits, at, reason, func(int64) error { return nil })
	}
	active, _ := visits.After(-1)
	return orphanVisits(ctx, t, ss, visits, active, reason)
}

// standAt makes the state of the head, whose key is given, that of the session.
func (ss *session) standAt(h *model.Header, state int64) {
	ss.record, ss.turn = sql.Null[int64]{V: state, Valid: true}, h.TurnIndex
	if h.Event.EndsTurn() {
		ss.turn++
	}
}

// rewriteEntry rewrites a visit in its place, and returns the state that it had before.
func (s *Store) rewriteEntry(ctx context.Context, t *tx, ss *session, h *model.Header, state content) (old sql.Null[int64], err error) {
	had, err := (&listing{tx: t, session: *ss}).readOne(ctx, h.Visit)
	if err != nil {
		return old, err
	}
	if old, err = stateAt(ctx, t, *ss, h.Visit); err != nil {
		return old, err
	}
	h.ParentVisit, h.ParentID, h.Index, h.TurnIndex, h.Orphaned, h.Reason = had.ParentVisit, had.ParentID, had.Index, had.TurnIndex, had.Orphaned, had.Reason
	if h.CreatedAt.IsZero() {
		h.CreatedAt = had.CreatedAt
	}
	key := old.V
	if h.ID != had.ID {
		if key, err = s.states.putSnapshot(ctx, t, *ss, h.Visit, state); err != nil {
			return old, err
		}
	}
	more, err := extraOf(h)
	if err == nil {
		err = t.Exec(ctx, "UPDATE visits SET id = ?, event = ?, at = ?, state = ?, size = ?, extra = ? WHERE session = ? AND visit = ?",
			h.ID, int64(h.Event), t.time(h.CreatedAt), key, h.Size, more, ss.key, h.Visit)
	}
	if ss.rewrote = true; ss.head.Valid && ss.head.V == h.Visit {
		ss.standAt(h, key)
	}
	return old, err
}
