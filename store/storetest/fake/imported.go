package fake

import (
	"fmt"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/store/engine/recording"
)

// imported is what the journal keeps of a session that an import changed.
type imported struct {
	id string
	// before is the session as it was, nil where the import made it; revision that
	// after the import.
	before   *session
	revision int64
}

// clone returns a session that does not change with this one.
func (ss *session) clone() *session {
	c := *ss
	c.visits.Headers = slices.Clone(ss.visits.Headers)
	c.states = maps.Clone(ss.states)
	c.rows = make(map[string][]int, len(ss.rows))
	for id, rows := range ss.rows {
		c.rows[id] = slices.Clone(rows)
	}
	return &c
}

// enterImport adds an import to the journal.
func (s *Store) enterImport(changed []imported) {
	first := s.sessions[changed[0].id]
	e := s.enter(model.OpImport, first, model.Ref{})
	e.At, e.imported = s.clock(), changed
	for _, i := range changed[1:] {
		e.Others = append(e.Others, i.id)
	}
	if b := changed[0].before; b != nil && b.visits.Head >= 0 {
		h := &b.visits.Headers[b.visits.Head]
		e.From, e.FromIndex = h.ID, h.Index
	}
	if first.visits.Head >= 0 {
		h := &first.visits.Headers[first.visits.Head]
		e.To, e.ToIndex = h.ID, h.Index
	}
}

func (s *Store) planUndoImport(e *entry) (model.Plan, error) {
	list := make([]recording.Imported, len(e.imported))
	for n, i := range e.imported {
		ss := s.sessions[i.id]
		if ss == nil || ss.revision != i.revision {
			return model.Plan{}, fmt.Errorf("session %q: it was written to since: %w", i.id, model.ErrHeadMoved)
		}
		list[n] = recording.Imported{Visits: &ss.visits, Made: i.before == nil}
		if i.before != nil {
			list[n].Last, list[n].Before = i.before.visits.Next()-1, i.before.visits.HeadRef().Visit
		}
	}
	return recording.PlanUndoImport(e.ID, list), nil
}

func (s *Store) undoImport(e *entry) {
	for _, later := range s.journal { // it cannot be done again, nor can what followed it
		later.superseded = later.superseded || later.Undone
	}
	for _, i := range e.imported {
		if i.before == nil {
			delete(s.sessions, i.id)
			s.notifier.Notify()
			continue
		}
		was, ss := i.before.clone(), s.sessions[i.id]
		ss.visits, ss.rows, ss.states, ss.stand = was.visits, was.rows, was.states, was.stand
		s.wrote(ss)
		s.rewrote(ss)
	}
}
