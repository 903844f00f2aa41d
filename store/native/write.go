package native

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// Save implements model.Store. The last snapshot becomes the session's head;
// one that the session does not hold yet is kept, as SaveSnapshot does.
func (s *Store) Save(ctx context.Context, sessionID string, data *model.Data[json.RawMessage]) error {
	err := store.CheckData(sessionID, data)
	if err == nil {
		err = s.withWriteTx(ctx, func(t *tx) error { return s.saveData(ctx, t, sessionID, data) })
	}
	if err != nil {
		return fmt.Errorf("%s: save session %q: %w", s.kind, sessionID, err)
	}
	return nil
}

func (s *Store) saveData(ctx context.Context, t *tx, sessionID string, data *model.Data[json.RawMessage]) error {
	ss, err := findOrMake(ctx, t, sessionID)
	if err != nil {
		return err
	}
	return s.putRecord(ctx, t, &ss, data)
}

// putRecord writes a checked record into a session.
func (s *Store) putRecord(ctx context.Context, t *tx, ss *session, data *model.Data[json.RawMessage]) error {
	var kept sql.Null[int64]
	shared := store.SharesState(data)
	if data.LastSnapshot != nil {
		last := *data.LastSnapshot
		last.Orphaned = false // it is where the session stands
		v, err := s.recordVisit(ctx, t, *ss, &last)
		if err != nil {
			return err
		}
		ss.moveTo(v)
		if shared {
			kept = v.state
		}
	}
	before := ss.record
	if ss.record = kept; !kept.Valid {
		if shared {
			// It was not looked at: the visit was there, maybe with other bytes.
			if err := store.CheckState(data.State); err != nil {
				return err
			}
		}
		state, err := s.states.putRecord(ctx, t, *ss, before, s.states.contentOf(data.State))
		if err != nil {
			return err
		}
		ss.record = sql.Null[int64]{V: state, Valid: true}
	}
	ss.turn = data.TurnIndex
	if err := s.touchSession(ctx, t, ss); err != nil {
		return err
	}
	if before.Valid && before != ss.record {
		return s.states.dropState(ctx, t, before.V)
	}
	return nil
}

// SaveSnapshot implements model.Store. The snapshot becomes the session's head
// unless it is marked as orphaned. The errors are store.ErrIDMismatch,
// store.ErrNotJSON and store.ErrTime.
func (s *Store) SaveSnapshot(ctx context.Context, snapshot *model.Snapshot[json.RawMessage]) error {
	if snapshot == nil {
		return fmt.Errorf("%s: save snapshot: the snapshot is nil", s.kind)
	}
	err := s.withWriteTx(ctx, func(t *tx) error { return s.saveSnapshot(ctx, t, snapshot) })
	if err != nil {
		return fmt.Errorf("%s: save snapshot %q of session %q: %w", s.kind, snapshot.ID, snapshot.SessionID, err)
	}
	return nil
}

func (s *Store) saveSnapshot(ctx context.Context, t *tx, snapshot *model.Snapshot[json.RawMessage]) error {
	ss, err := findOrMake(ctx, t, snapshot.SessionID)
	if err != nil {
		return err
	}
	v, err := s.recordVisit(ctx, t, ss, snapshot)
	if err != nil || !v.isNew {
		return err
	}
	if !snapshot.Orphaned {
		ss.moveTo(v)
	}
	return s.touchSession(ctx, t, &ss)
}

// InvalidateSnapshotsAfter implements model.Store. The visits that it orphans
// say that they were left by a restore, and a head among them gives way to the
// last visit that is still active.
func (s *Store) InvalidateSnapshotsAfter(ctx context.Context, sessionID string, afterIndex int) error {
	err := s.withWriteTx(ctx, func(t *tx) error { return s.invalidateAfter(ctx, t, sessionID, afterIndex) })
	if err != nil {
		return fmt.Errorf("%s: invalidate snapshots of session %q after #%d: %w", s.kind, sessionID, afterIndex, err)
	}
	return nil
}

func (s *Store) invalidateAfter(ctx context.Context, t *tx, sessionID string, afterIndex int) error {
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
	positions, target := visits.After(afterIndex)
	if len(positions) == 0 {
		return nil
	}
	reason, err := addReason(ctx, t, ss, model.Reason{Kind: model.ReasonRestore, At: s.clock(), TargetID: target, TargetIndex: afterIndex})
	if err != nil {
		return err
	}
	if err := orphanVisits(ctx, t, ss, visits, positions, reason); err != nil {
		return err
	}
	for _, i := range positions {
		visits.Headers[i].Orphaned = true
	}
	if visits.Head >= 0 && visits.Headers[visits.Head].Orphaned {
		ss.head = visitAt(visits, visits.LastActive())
	}
	return s.touchSession(ctx, t, &ss)
}

// visitAt returns the number of the visit at a position, null for -1.
func visitAt(v *recording.Visits, i int) sql.Null[int64] {
	if i < 0 {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: v.Headers[i].Visit, Valid: true}
}

// findOrMake returns the row of a session, and makes it if it does not exist. A session that was removed
// before continues its counters (see session.writes).
func findOrMake(ctx context.Context, t *tx, id string) (session, error) {
	ss, err := findSession(ctx, t, id)
	if !errors.Is(err, model.ErrNoSession) {
		return ss, err
	}
	return makeSession(ctx, t, id)
}

// makeSession makes the row of a session. The error is ErrRaced where there is one by now, of
// whatever revision: what goes by that begins anew.
func makeSession(ctx context.Context, t *tx, id string) (session, error) {
	ss := session{id: id}
	err := t.Row(ctx, `INSERT INTO sessions (id, writes, rewrites) SELECT ?1, gone, gone
		FROM (SELECT coalesce(max(before_revision), 0) AS gone FROM journal WHERE session = ?1 AND op IN (?2, ?3, ?4, ?5, ?6)) AS before
		WHERE true ON CONFLICT (id) DO NOTHING RETURNING session, writes, rewrites`,
		id, string(model.OpFork), string(model.OpEdit), string(model.OpConvert), string(model.OpContinue), string(model.OpImport)).Scan(&ss.key, &ss.writes, &ss.rewrites)
	if errors.Is(err, sql.ErrNoRows) {
		return ss, ErrRaced
	}
	return ss, err
}

// orNull returns a value as a column holds it, null for the zero value.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// count returns 1 for true.
func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// touchSession writes a session's head and record and notes the change.
func (s *Store) touchSession(ctx context.Context, t *tx, ss *session) error {
	ss.updated = t.time(s.clock())
	ss.revision++
	return ss.writeRow(ctx, t)
}

// writeRow writes the row of a session as it is, at its next revision.
func (ss *session) writeRow(ctx context.Context, t *tx) error {
	return t.Row(ctx, `UPDATE sessions SET head = ?, record_state = ?, record_turn = ?, updated = ?, revision = ?,
		writes = writes + 1, rewrites = rewrites + ? WHERE session = ? RETURNING writes`,
		ss.head, ss.record, ss.turn, ss.updated, ss.revision, count(ss.rewrote), ss.key).Scan(&ss.writes)
}

// visited is a visit of a snapshot that was saved.
type visited struct {
	visit int64
	isNew bool
	// state is the key of the bytes that were saved, null where it was not looked
	// whether the session's are the same.
	state sql.Null[int64]
}

// moveTo makes a visit the head.
func (ss *session) moveTo(v visited) {
	head := sql.Null[int64]{V: v.visit, Valid: true}
	if !v.isNew && ss.head != head {
		ss.rewrote = true
	}
	ss.head = head
}

// recordVisit records a visit of the snapshot; a visit that tells of the same event,
// and stands as the snapshot does, is there already.
func (s *Store) recordVisit(ctx context.Context, t *tx, ss session, snapshot *model.Snapshot[json.RawMessage]) (v visited, err error) {
	h, err := store.Header(snapshot)
	if err != nil {
		return v, err
	}
	same, err := visitsOf(ctx, t, ss, h.ID, h.Index)
	if err != nil {
		return v, err
	}
	for _, have := range same {
		if store.SameVisit(&have, &h) && have.Orphaned == h.Orphaned {
			return visited{visit: have.Visit}, nil
		}
	}
	have, err := s.stateOf(ctx, t, ss, model.Ref{ID: h.ID})
	if err != nil && !errors.Is(err, model.ErrNoSnapshot) {
		return v, err
	}
	state := s.states.contentOf(snapshot.State)
	if state.text == nil { // else it was checked when it was written
		if err := store.CheckState(state.bytes); err != nil {
			return v, err
		}
	}
	if err := store.CheckID(h.ID, state.bytes, state.sum, have); err != nil {
		return v, err
	}
	if h.ParentVisit, err = parentOf(ctx, t, ss, h.ParentID); err != nil {
		return v, err
	}
	reason, err := unknownReason(ctx, t, ss, h.Orphaned)
	if err != nil {
		return v, err
	}
	v, err = s.addVisit(ctx, t, ss, h, state, reason)
	v.state.Valid = have == nil || bytes.Equal(have, snapshot.State)
	return v, err
}

// visitsOf returns the visits of an id with an index in a session.
func visitsOf(ctx context.Context, t *tx, ss session, id string, index int) ([]model.Header, error) {
	return (&listing{tx: t, session: ss}).readFew(ctx, t.ByID+" WHERE id = ? AND session = ? AND idx = ? ORDER BY visit", id, ss.key, index)
}

// parentOf returns the visit that a new one with that parent follows, by the
// rule of recording.Visits.ParentOf.
func parentOf(ctx context.Context, t *tx, ss session, parentID string) (visit int64, err error) {
	if parentID == "" {
		return 0, nil
	}
	err = t.Row(ctx, `SELECT visit FROM `+t.ByID+` WHERE id = ? AND session = ?
		ORDER BY visit IS NOT DISTINCT FROM ? DESC, reason IS NULL DESC, visit DESC LIMIT 1`, parentID, ss.key, ss.head).Scan(&visit)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return visit, err
}

// addVisit records a visit under the next number, or under its own if it has one. reason is why the visit is off
// the active path. state is the snapshot's state. add does not read state if the session already has the id,
// so the key may belong to other bytes.
func (s *Store) addVisit(ctx context.Context, t *tx, ss session, h model.Header, state content, reason sql.Null[int64]) (v visited, err error) {
	if h.Visit == 0 {
		if err := t.Row(ctx, "SELECT coalesce(max(visit), 0) + 1 FROM visits WHERE session = ?", ss.key).Scan(&h.Visit); err != nil {
			return v, err
		}
	}
	var key int64
	err = t.Row(ctx, "SELECT state, size FROM "+t.ByID+" WHERE id = ? AND session = ? LIMIT 1", h.ID, ss.key).Scan(&key, &h.Size)
	if errors.Is(err, sql.ErrNoRows) {
		h.Size = int64(len(state.bytes))
		key, err = s.states.putSnapshot(ctx, t, ss, h.ParentVisit, state)
	}
	if err != nil {
		return v, err
	}
	parentID, err := parentIDOf(ctx, t, ss, &h)
	if err != nil {
		return v, err
	}
	if err := insertVisit(ctx, t, ss, &h, parentID, key, reason); err != nil {
		return v, err
	}
	if !h.Marks.Has(model.MarkTraced) {
		err = t.Exec(ctx, "UPDATE sessions SET visits = visits + 1, orphaned = orphaned + ? WHERE session = ?", count(h.Orphaned), ss.key)
	}
	return visited{visit: h.Visit, isNew: true, state: sql.Null[int64]{V: key}}, err
}

// insertVisit adds the row of a visit: its parent's id where the visit does not tell it, the
// key of its state, and the number of the reason for which it is off the active path.
func insertVisit(ctx context.Context, t *tx, ss session, h *model.Header, parentID any, state int64, reason sql.Null[int64]) error {
	more, err := extraOf(h)
	if err != nil {
		return err
	}
	err = t.Exec(ctx, `INSERT INTO visits (session, visit, id, parent_visit, parent_id, idx, turn, event, at, state, size, reason, extra)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		ss.key, h.Visit, h.ID, orNull(h.ParentVisit), parentID, h.Index, h.TurnIndex, int64(h.Event), t.time(h.CreatedAt), state, h.Size, reason, more)
	return err
}

// parentIDOf returns the value of the column parent_id: the id of the parent, or null if it is the id of the
// parent visit.
func parentIDOf(ctx context.Context, t *tx, ss session, h *model.Header) (any, error) {
	if h.ParentVisit == 0 {
		if h.ParentID == "" {
			return nil, nil
		}
		return h.ParentID, nil
	}
	var id string
	err := t.Row(ctx, "SELECT id FROM visits WHERE session = ? AND visit = ?", ss.key, h.ParentVisit).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return h.ParentID, nil
	case err != nil:
		return nil, err
	case id != h.ParentID:
		return h.ParentID, nil
	}
	return nil, nil
}

// unknownReason returns the reason for a visit that is off the active path for no recorded reason; null for a
// visit on the path.
func unknownReason(ctx context.Context, t *tx, ss session, orphaned bool) (sql.Null[int64], error) {
	if !orphaned {
		return sql.Null[int64]{}, nil
	}
	err := t.Exec(ctx, "INSERT INTO reasons (session, reason, kind, target_id, target_index) VALUES (?, ?, 0, '', 0) ON CONFLICT DO NOTHING", ss.key, noReason)
	return sql.Null[int64]{V: noReason, Valid: true}, err
}

// addReason keeps a reason and returns its number, which is its own even if the
// session has another that says the same: an undo tells them apart.
func addReason(ctx context.Context, t *tx, ss session, r model.Reason) (number int64, err error) {
	if err := t.Row(ctx, "SELECT coalesce(max(reason), 0) + 1 FROM reasons WHERE session = ?", ss.key).Scan(&number); err != nil {
		return 0, err
	}
	return number, keepReason(ctx, t, ss, number, r)
}

// keepReason keeps a reason under its number, unless it is there.
func keepReason(ctx context.Context, t *tx, ss session, number int64, r model.Reason) error {
	err := t.Exec(ctx, "INSERT INTO reasons (session, reason, kind, at, target_id, target_index) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		ss.key, number, int64(r.Kind), t.time(r.At), r.TargetID, r.TargetIndex)
	return err
}

func extraOf(h *model.Header) (any, error) {
	more := extra{Alias: h.Alias, EventName: h.EventName, Position: h.Position, Title: h.Title, Attributes: h.Attributes, Marks: h.Marks}
	if more == (extra{}) {
		return nil, nil
	}
	text, err := json.Marshal(more)
	return string(text), err
}

// orphanVisits returns the visits at some positions a reason to be off the active
// path, a run of neighbours at a time.
func orphanVisits(ctx context.Context, t *tx, ss session, v *recording.Visits, positions []int, reason int64) error {
	sorted := slices.Sorted(slices.Values(positions))
	counted := 0
	for _, i := range sorted {
		if !v.Headers[i].Marks.Has(model.MarkTraced) {
			counted++
		}
	}
	for first := 0; first < len(sorted); {
		last := first
		for last+1 < len(sorted) && sorted[last+1] == sorted[last]+1 {
			last++
		}
		err := t.Exec(ctx, "UPDATE visits SET reason = ? WHERE session = ? AND visit BETWEEN ? AND ?",
			reason, ss.key, v.Headers[sorted[first]].Visit, v.Headers[sorted[last]].Visit)
		if err != nil {
			return err
		}
		first = last + 1
	}
	err := t.Exec(ctx, "UPDATE sessions SET orphaned = orphaned + ?, rewrites = rewrites + 1 WHERE session = ?", counted, ss.key)
	return err
}
