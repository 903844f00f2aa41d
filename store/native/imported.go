package native

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/engine/recording"
)

// How an import is undone
//
// An import is one entry of the journal, with a row for each session that it changed, one
// behind the other:
//
//	source           the session of the first of these rows
//	target           the last visit that the session had before
//	reason           the last reason that it had before
//	before_revision  0: the import made the session
//
// What an import adds to a session has higher numbers than what is there, see
// recording.Placer. So all that is behind those two goes, and the session's row is as it was.

// beginsEntry is the condition that a row of the journal is not one of the later rows of
// an import.
const beginsEntry = "(op <> '" + string(model.OpImport) + "' OR source = session)"

// goesOn reports whether the row is one of the later rows of an import.
func (e *entry) goesOn() bool { return e.Op == model.OpImport && e.Target.Session != e.Session }

// hasContent reports whether the store holds anything. What an empty store begins with is no
// entry of the journal.
func hasContent(ctx context.Context, t *tx) (yes bool, err error) {
	err = t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM journal) OR EXISTS (SELECT 1 FROM sessions)").Scan(&yes)
	return yes, err
}

// noteEarlier notes how a session is before an import.
func (p *importing) noteEarlier(ctx context.Context, ss session, visits *recording.Visits) (e entry, err error) {
	if !p.entered {
		return e, nil
	}
	e.Op, e.Session, e.before = model.OpImport, ss.id, ss
	e.Target.Visit = visits.Next() - 1
	if visits.Head >= 0 {
		h := &visits.Headers[visits.Head]
		e.From, e.FromIndex = h.ID, h.Index
	}
	return e, p.tx.Row(ctx, "SELECT coalesce(max(reason), 0) FROM reasons WHERE session = ?", ss.key).Scan(&e.reason)
}

// enterJournal notes in the journal what an import did to a session.
func (p *importing) enterJournal(ctx context.Context, in *incoming) error {
	if !p.entered {
		return nil
	}
	if p.first == nil {
		p.first = in
	}
	e := in.earlier
	e.At, e.revision, e.Target.Session = p.store.clock(), in.revision, p.first.id
	err := p.tx.Row(ctx, "SELECT id, idx FROM visits WHERE session = ? AND visit = ?", in.key, in.head).Scan(&e.To, &e.ToIndex)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return e.insertEntry(ctx, p.tx)
}

// createdSession reports whether an import made the session of a row.
func (e *entry) createdSession() bool { return e.before.revision == 0 }

func (e *entry) importOf(visits *recording.Visits) recording.Imported {
	return recording.Imported{Visits: visits, Made: e.createdSession(), Last: e.Target.Visit, Before: e.before.head.V}
}

func planUndoImport(ctx context.Context, t *tx, e entry) (model.Plan, error) {
	list := make([]recording.Imported, len(e.rows))
	for i := range e.rows {
		r := &e.rows[i]
		ss, err := findSession(ctx, t, r.Session)
		if errors.Is(err, model.ErrNoSession) || err == nil && ss.revision != r.revision {
			err = fmt.Errorf("it was written to since: %w", model.ErrHeadMoved)
		}
		var visits *recording.Visits
		if err == nil {
			visits, err = loadVisits(ctx, t, ss)
		}
		if err != nil {
			return model.Plan{}, fmt.Errorf("entry %d on session %q: %w", e.ID, r.Session, err)
		}
		list[i] = r.importOf(visits)
	}
	return recording.PlanUndoImport(e.ID, list), nil
}

func (s *Store) undoImport(ctx context.Context, t *tx, e entry) error {
	for _, r := range e.rows {
		ss, err := findSession(ctx, t, r.Session)
		if err != nil {
			return err
		}
		if r.createdSession() {
			err = s.dropSession(ctx, t, ss, r.ID)
		} else {
			err = s.dropStates(ctx, t, ss, r.Target.Visit, func() error { return r.takeOut(ctx, t, ss) })
		}
		if err != nil {
			return err
		}
		if err := forgetEntry(ctx, t, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// takeOut removes what an import added to a session that was there.
func (e *entry) takeOut(ctx context.Context, t *tx, ss session) error {
	last := e.Target.Visit
	added := "SELECT count(*) FROM visits WHERE session = ?1 AND visit > ?2 AND " + t.Counted
	err := t.Exec(ctx, "UPDATE sessions SET visits = visits - ("+added+"), orphaned = orphaned - ("+added+" AND reason IS NOT NULL) WHERE session = ?1", ss.key, last)
	if err != nil {
		return err
	}
	if err := t.Exec(ctx, "DELETE FROM visits WHERE session = ? AND visit > ?", ss.key, last); err != nil {
		return err
	}
	if err := t.Exec(ctx, "DELETE FROM reasons WHERE session = ? AND reason > ?", ss.key, e.reason); err != nil {
		return err
	}
	before := e.before
	before.key, before.rewrote = ss.key, true
	return before.writeRow(ctx, t)
}

// checkImport reads back what the undo of an import left.
func checkImport(ctx context.Context, t *tx, e entry) error {
	for _, r := range e.rows {
		said := r.importOf(&recording.Visits{Session: r.Session})
		ss, err := findSession(ctx, t, r.Session)
		var now *recording.Visits
		if err == nil {
			now, err = loadVisits(ctx, t, ss)
		}
		if err != nil && !errors.Is(err, model.ErrNoSession) {
			return err
		}
		if err := said.Check(now); err != nil {
			return fmt.Errorf("%w: %w", ErrReadBack, err)
		}
	}
	return nil
}
