package native

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/recording"
)

// Import implements [store.Features].Import. The head of a session is the last new row
// that says it is, else, in a new session, its last active visit.
//
// The rows are read while the store is locked against other writers. They may
// come from this very store: a reader sees it as it was before.
func (s *Store) Import(ctx context.Context, rows iter.Seq2[store.Row, error]) (n int, err error) {
	err = s.notifyWritten(s.carrier.WriteOnce(ctx, s.inWriteTx(func(t *tx) error {
		usual, err := t.Prepare(ctx)
		if err != nil {
			return err
		}
		defer usual()
		if err := t.LockJournal(ctx); err != nil {
			return err
		}
		p := importing{store: s, tx: t}
		if p.entered, err = hasContent(ctx, t); err != nil {
			return err
		}
		n, err = p.importRows(ctx, rows)
		return err
	})))
	if err != nil {
		return 0, fmt.Errorf("%s: import: %w", s.kind, err)
	}
	return n, nil
}

// importRows takes rows in and returns how many visits of snapshots were new. No statement can be cancelled: the driver
// would start a goroutine for each, which takes longer than to insert a row.
func (p *importing) importRows(ctx context.Context, rows iter.Seq2[store.Row, error]) (int, error) {
	p.sessions = map[string]*incoming{}
	within := context.WithoutCancel(ctx)
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = p.importRow(within, &row)
		}
		if err != nil {
			return 0, err
		}
	}
	return p.finishSessions(within)
}

// importing is one import.
type importing struct {
	store *Store
	tx    *tx
	// entered says that it is an entry of the journal, first is the session of its
	// first row.
	entered  bool
	first    *incoming
	sessions map[string]*incoming
	order    []*incoming
	// writing is the session whose streams are open.
	writing *incoming
}

// incoming is the part of an import that belongs to one session.
type incoming struct {
	session
	fresh   bool
	earlier entry // the row of the journal, as far as it is known beforehand
	placer  *recording.Placer
	reasons map[reasonKey]int64
	// putting keeps the states. last is the visit that was put in last, and lastState its state.
	putting   putting
	last      model.Ref
	lastState int64
	unknown   sql.Null[int64] // the reason that is none, once it is kept
	record    *model.Data[json.RawMessage]
	added     int // visits
	steps     int // of these
	off       int // the others of them that are off the path
	moved     bool
	newest    time.Time
}

// reasonKey tells reasons apart, so that rows that left the path together
// share one again.
type reasonKey struct {
	kind  model.ReasonKind
	at    any
	id    string
	index int
}

func (p *importing) findSession(ctx context.Context, id string) (*incoming, error) {
	if in := p.sessions[id]; in != nil {
		return in, nil
	}
	_, err := findSession(ctx, p.tx, id)
	in := &incoming{fresh: errors.Is(err, model.ErrNoSession), reasons: map[reasonKey]int64{}}
	if err != nil && !in.fresh {
		return nil, err
	}
	if in.session, err = findOrMake(ctx, p.tx, id); err != nil {
		return nil, err
	}
	visits, err := loadVisits(ctx, p.tx, in.session)
	if err != nil {
		return nil, err
	}
	in.placer, in.putting = recording.NewPlacer(visits.Headers), newPutting(&p.store.states, p.tx, owner{session: in.key})
	if in.earlier, err = p.noteEarlier(ctx, in.session, visits); err != nil {
		return nil, err
	}
	p.sessions[id], p.order = in, append(p.order, in)
	return in, nil
}

func (p *importing) importRow(ctx context.Context, row *store.Row) error {
	r := row.Record
	if r == nil {
		err := p.importSnapshot(ctx, row)
		if err != nil {
			err = fmt.Errorf("snapshot %q of session %q: %w", row.Header.ID, row.Header.SessionID, err)
		}
		return err
	}
	if err := store.CheckState(r.State); err != nil {
		return fmt.Errorf("record of session %q: %w", r.ID, err)
	}
	in, err := p.findSession(ctx, r.ID)
	if err == nil {
		record := *r
		record.State = bytes.Clone(r.State)
		in.record = &record
	}
	return err
}

// importSnapshot checks a row and puts it in, if it is new.
func (p *importing) importSnapshot(ctx context.Context, row *store.Row) error {
	h := &row.Header
	in, err := p.findSession(ctx, h.SessionID)
	if err != nil {
		return err
	}
	if in != p.writing {
		if err := p.flushStreams(ctx); err != nil {
			return err
		}
		p.writing = in
	}
	if h.ID == "" {
		return errors.New("it has no id")
	}
	if row.State != nil {
		if err := store.CheckState(row.State); err != nil {
			return err
		}
	}
	isNew, err := in.placer.Place(h)
	if err != nil || !isNew {
		return err
	}
	reason, err := p.readReason(ctx, in, h)
	if err == nil {
		err = p.importVisit(ctx, in, h, row.State, reason)
	}
	if err != nil {
		return err
	}
	in.added++
	switch {
	case h.Marks.Has(model.MarkTraced):
		in.steps++
	case h.Orphaned:
		in.off++
	}
	if h.Head {
		in.head, in.moved = sql.Null[int64]{V: h.Visit, Valid: true}, true
	}
	if h.CreatedAt.After(in.newest) {
		in.newest = h.CreatedAt
	}
	return nil
}

// importVisit puts a visit in, and its state unless the session has the id.
func (p *importing) importVisit(ctx context.Context, in *incoming, h *model.Header, bytes []byte, reason sql.Null[int64]) error {
	var state int64
	err := p.tx.Row(ctx, "SELECT state, size FROM "+p.tx.ByID+" WHERE id = ? AND session = ? LIMIT 1", h.ID, in.key).Scan(&state, &h.Size)
	if errors.Is(err, sql.ErrNoRows) {
		if bytes == nil {
			return store.ErrNoState
		}
		base := sql.Null[int64]{V: in.lastState, Valid: in.lastState != 0}
		if h.ParentVisit != 0 && h.ParentVisit != in.last.Visit {
			if at, err := stateAt(ctx, p.tx, in.session, h.ParentVisit); err != nil {
				return err
			} else if at.Valid {
				base = at
			}
		}
		h.Size = int64(len(bytes))
		state, err = in.putting.putState(ctx, p.store.states.contentOf(bytes), base)
	}
	if err != nil {
		return err
	}
	var parentID any
	if h.ParentVisit != in.last.Visit || h.ParentVisit == 0 {
		parentID, err = parentIDOf(ctx, p.tx, in.session, h)
	} else if h.ParentID != in.last.ID {
		parentID = h.ParentID
	}
	if err != nil {
		return err
	}
	in.last, in.lastState = h.Ref(), state
	return insertVisit(ctx, p.tx, in.session, h, parentID, state, reason)
}

// flushStreams writes what the streams of the session at hand have left.
func (p *importing) flushStreams(ctx context.Context) error {
	if p.writing == nil {
		return nil
	}
	return p.writing.putting.flush(ctx)
}

func (p *importing) readReason(ctx context.Context, in *incoming, h *model.Header) (sql.Null[int64], error) {
	if !h.Orphaned {
		return sql.Null[int64]{}, nil
	}
	if h.Reason == nil {
		if in.unknown.Valid {
			return in.unknown, nil
		}
		var err error
		in.unknown, err = unknownReason(ctx, p.tx, in.session, true)
		return in.unknown, err
	}
	k := reasonKey{h.Reason.Kind, p.tx.time(h.Reason.At), h.Reason.TargetID, h.Reason.TargetIndex}
	number, known := in.reasons[k]
	if !known {
		var err error
		if number, err = addReason(ctx, p.tx, in.session, *h.Reason); err != nil {
			return sql.Null[int64]{}, err
		}
		in.reasons[k] = number
	}
	return sql.Null[int64]{V: number, Valid: true}, nil
}

// finishSessions settles the heads and records of the sessions and returns the number of
// new visits of snapshots.
func (p *importing) finishSessions(ctx context.Context) (n int, err error) {
	if err := p.flushStreams(ctx); err != nil {
		return 0, err
	}
	for _, in := range p.order {
		n += in.added - in.steps
		err := p.tx.Exec(ctx, "UPDATE sessions SET visits = visits + ?, orphaned = orphaned + ? WHERE session = ?", in.added-in.steps, in.off, in.key)
		if err != nil {
			return 0, err
		}
		if err := p.settleSession(ctx, in); err != nil {
			return 0, fmt.Errorf("session %q: %w", in.id, err)
		}
	}
	return n, nil
}

func (p *importing) settleSession(ctx context.Context, in *incoming) error {
	takesRecord := in.record != nil && (!in.session.record.Valid || in.moved)
	if !in.fresh && in.added == 0 && !takesRecord {
		return nil
	}
	if in.fresh && !in.moved {
		visits, err := loadVisits(ctx, p.tx, in.session)
		if err != nil {
			return err
		}
		in.head = visitAt(visits, visits.LastActive())
	}
	before := in.session.record
	if takesRecord {
		state, err := p.store.states.putRecord(ctx, p.tx, in.session, before, p.store.states.contentOf(in.record.State))
		if err != nil {
			return err
		}
		in.session.record, in.turn = sql.Null[int64]{V: state, Valid: true}, in.record.TurnIndex
	}
	if err := p.dateSession(in); err != nil {
		return err
	}
	if err := in.writeRow(ctx, p.tx); err != nil {
		return err
	}
	if err := p.enterJournal(ctx, in); err != nil {
		return err
	}
	if before.Valid && before != in.session.record {
		return p.store.states.dropState(ctx, p.tx, before.V)
	}
	return nil
}

// dateSession dates the session by its newest snapshot, or by the clock.
func (p *importing) dateSession(in *incoming) error {
	updated, err := decodeTime(in.updated)
	if err != nil {
		return err
	}
	if in.newest.IsZero() {
		in.newest = p.store.clock()
	}
	if in.newest.After(updated) {
		in.updated = p.tx.time(in.newest)
	}
	in.revision++
	return nil
}
