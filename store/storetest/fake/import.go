package fake

import (
	"bytes"
	"context"
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
func (s *Store) Import(ctx context.Context, rows iter.Seq2[store.Row, error]) (int, error) {
	gathered, err := gather(ctx, rows)
	if err != nil {
		return 0, fmt.Errorf("memory: import: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	imp := importing{store: s, sessions: map[string]*incoming{}}
	begun := len(s.sessions) > 0 || len(s.journal) > 0
	for i := range gathered {
		if err := imp.row(&gathered[i]); err != nil {
			return 0, fmt.Errorf("memory: import row %d: %w", i+1, err)
		}
	}
	n, changed := imp.commit()
	if begun && len(changed) > 0 {
		s.enterImport(changed)
	}
	return n, nil
}

// gather takes all rows before anything is locked: the rows may come from this
// very store.
func gather(ctx context.Context, rows iter.Seq2[store.Row, error]) ([]store.Row, error) {
	var all []store.Row
	for row, err := range rows {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		row.State = bytes.Clone(row.State)
		all = append(all, row)
	}
	return all, nil
}

// importing is one import: it collects what is new and touches the store only
// in commit.
type importing struct {
	store    *Store
	sessions map[string]*incoming
	order    []string
}

// incoming is what an import brings to one session.
type incoming struct {
	placer  *recording.Placer
	rows    []store.Row
	states  map[string]bool
	record  *model.Data[json.RawMessage]
	reasons map[model.Reason]*model.Reason
}

func (p *importing) session(id string) *incoming {
	if in := p.sessions[id]; in != nil {
		return in
	}
	var have []model.Header
	if ss := p.store.sessions[id]; ss != nil {
		have = ss.visits.Headers
	}
	in := &incoming{placer: recording.NewPlacer(have), states: map[string]bool{}, reasons: map[model.Reason]*model.Reason{}}
	p.sessions[id], p.order = in, append(p.order, id)
	return in
}

func (p *importing) row(row *store.Row) error {
	if r := row.Record; r != nil {
		if err := store.CheckState(r.State); err != nil {
			return fmt.Errorf("record of session %q: %w", r.ID, err)
		}
		p.session(r.ID).record = r
		return nil
	}
	h := &row.Header
	in := p.session(h.SessionID)
	if err := p.check(in, row); err != nil {
		return fmt.Errorf("snapshot %q of session %q: %w", h.ID, h.SessionID, err)
	}
	isNew, err := in.placer.Place(h)
	if err != nil {
		return fmt.Errorf("snapshot %q of session %q: %w", h.ID, h.SessionID, err)
	}
	if isNew {
		in.states[h.ID] = true
		in.rows = append(in.rows, *row)
	}
	return nil
}

func (p *importing) check(in *incoming, row *store.Row) error {
	h := &row.Header
	if h.ID == "" {
		return errors.New("it has no id")
	}
	if row.State != nil {
		return store.CheckState(row.State)
	}
	ss := p.store.sessions[h.SessionID]
	if in.states[h.ID] || ss != nil && ss.rows[h.ID] != nil {
		return nil
	}
	return store.ErrNoState
}

// commit puts everything in and returns the number of new visits of snapshots, and the
// sessions that changed.
func (p *importing) commit() (n int, changed []imported) {
	for _, id := range p.order {
		in := p.sessions[id]
		ss := p.store.at(id)
		fresh := p.store.sessions[id] == nil
		was := imported{id: id}
		if !fresh && (len(in.rows) > 0 || in.record != nil) {
			was.before = ss.clone()
		}
		for i := range in.rows {
			if !in.rows[i].Header.Marks.Has(model.MarkTraced) {
				n++
			}
		}
		moved := in.into(p.store, ss)
		if fresh && !moved {
			ss.visits.Head = ss.visits.LastActive()
		}
		takesRecord := in.record != nil && (ss.record == nil || moved)
		if takesRecord {
			ss.record = &record{state: bytes.Clone(in.record.State), turn: in.record.TurnIndex}
		}
		if fresh || takesRecord || len(in.rows) > 0 {
			p.settle(ss, in.rows)
			was.revision = ss.revision
			changed = append(changed, was)
		}
	}
	return n, changed
}

// into adds the new visits and reports whether one of them became the head.
func (in *incoming) into(s *Store, ss *session) (moved bool) {
	for _, row := range in.rows {
		h := row.Header
		if h.Reason != nil {
			h.Reason = in.reason(*h.Reason)
		}
		i := s.add(ss, h, row.State)
		if row.Header.Head {
			ss.visits.Head, moved = i, true
		}
	}
	return moved
}

// reason returns one pointer for equal reasons.
func (in *incoming) reason(r model.Reason) *model.Reason {
	if in.reasons[r] == nil {
		in.reasons[r] = &r
	}
	return in.reasons[r]
}

// settle dates the session by its newest snapshot, or by the clock.
func (p *importing) settle(ss *session, rows []store.Row) {
	var newest time.Time
	for i := range rows {
		if at := rows[i].Header.CreatedAt; at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		newest = p.store.clock()
	}
	if newest.After(ss.updated) {
		ss.updated = newest
	}
	ss.revision++
	p.store.wrote(ss)
}
