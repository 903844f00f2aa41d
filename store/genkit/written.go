package genkit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store/journal"
)

// What Hindcast's own journal tells of the rows of a place. Nothing of it may
// stand in the rows themselves.

// written is that. Its zero value is a place to which nothing was written.
type written struct {
	// rows are the rows that Hindcast wrote, by id.
	rows map[string]*mark
	// moves are the restores that still hold, the oldest first.
	moves []*mark
	// aside are the rows that were set aside, with what they held.
	aside []asideRow
	// undone are the rows that Hindcast wrote and an undo took away, by id.
	undone map[string]undoneRow
	vault  *vault
}

// undoneRow is one that an undo took away. An agent that had started from it goes on
// from it: it is part of a session again where a row names it as its parent.
type undoneRow struct {
	*mark
	version journal.Version
}

// mark is one write that made a row, or moved a pointer to one.
type mark struct {
	op    model.Op
	entry int64
	at    time.Time
	// from and to are the heads before and after, as the plan named them.
	from, to string
	toIndex  int
}

// asideRow is a row whose file was taken away.
type asideRow struct {
	*mark
	// why is the kind of the reason that it is off the path for.
	why model.ReasonKind
	id  string
	// row is what the file held, nil if that was no row of a session.
	row  *row
	data []byte
}

// written returns what the journal tells of a place. A journal that cannot be read
// tells nothing; Faults says why.
func (s *Store) written(ctx context.Context, p place) (w written) {
	v := s.vaultOf(p.base)
	entries, err := v.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return w
	}
	w.rows, w.undone, w.vault = map[string]*mark{}, map[string]undoneRow{}, v
	dir := v.inside(p.dir)
	for i := range entries {
		e := &entries[i]
		m := &mark{op: e.Op, entry: e.ID, at: e.At, from: e.From, to: e.To, toIndex: e.ToIndex}
		here := false
		for _, c := range e.Changes {
			id, isRow := rowIn(dir, c.Path)
			here = here || isRow || path.Dir(c.Path) == path.Join(dir, pointersFolder)
			switch {
			case !isRow:
			case e.Undone:
				if c.Before.None() && !c.After.None() {
					w.undone[id] = undoneRow{m, c.After}
				}
			case c.Before.None() && !c.After.None():
				w.rows[id] = m
			case c.After.None() && !c.Before.None():
				if data, err := read(v, c.Before); err == nil {
					w.aside = append(w.aside, asideRow{m, model.ReasonRestore, id, rowOf(id, data), data})
				}
			}
		}
		if here && !e.Undone && (e.Op == model.OpRestore || e.Op == model.OpRepair) {
			w.moves = append(w.moves, m)
		}
	}
	return w
}

// read returns a content that the journal keeps.
func read(v *vault, version journal.Version) ([]byte, error) {
	j, err := v.Journal()
	if err != nil {
		return nil, err
	}
	return j.Read(version)
}

// rowIn returns the id of the row whose file has a path, if that is in a folder.
func rowIn(dir, name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(path.Base(name), rowSuffix)
	return id, ok && id != "" && path.Dir(name) == dir
}

// keep adds what the journal tells to the session: rows that were set aside are
// part of it, though no SDK sees them.
func (s *session) keep(w *written) {
	s.written = w
	for _, a := range w.aside {
		if a.row != nil && a.row.session() == s.sid && s.byID[a.id] == nil && s.asideRow(a.id) == nil {
			s.aside = append(s.aside, a)
		}
	}
	if len(s.rows) == 0 && len(s.aside) > 0 {
		only := *s
		only.rows = s.all()
		s.layout = only.layoutOf()
	}
	if len(w.undone) == 0 {
		return
	}
	for _, r := range s.rows {
		s.keepUndone(r.parentID)
	}
}

// keepUndone adds a row that an undo took away although a row goes on from it, and those
// that it goes on from itself.
func (s *session) keepUndone(id string) {
	for u, ok := s.written.undone[id]; ok && s.byID[id] == nil && s.asideRow(id) == nil; u, ok = s.written.undone[id] {
		data, err := read(s.written.vault, u.version)
		if err != nil {
			return // it was purged
		}
		r := rowOf(id, data)
		if r == nil || r.session() != s.sid {
			return
		}
		s.aside = append(s.aside, asideRow{u.mark, model.ReasonUndo, id, r, data})
		id = r.parentID
	}
}

// rowOf decodes a row that was set aside, nil if it names no session.
func rowOf(id string, data []byte) *row {
	r, ok := decodeRow(id, data)
	if !ok || r.snapshotID != id || r.session() == "" {
		return nil
	}
	return &r
}

// asideRow returns a row that was set aside, nil for none.
func (s *session) asideRow(id string) *asideRow {
	for i := range s.aside {
		if s.aside[i].id == id {
			return &s.aside[i]
		}
	}
	return nil
}

// all returns the rows of the session and those that were set aside, in order.
func (s *session) all() []*row {
	if len(s.aside) == 0 {
		return s.rows
	}
	list := slices.Clone(s.rows)
	for i := range s.aside {
		list = append(list, s.aside[i].row)
	}
	slices.SortFunc(list, compareRows)
	return list
}

// moves returns the restores of Hindcast's that still hold.
func (s *session) moves() (list []model.Move) {
	if s.written == nil {
		return nil
	}
	for _, m := range s.written.moves {
		list = append(list, model.Move{From: m.from, To: m.to, Why: m.reason()})
	}
	return list
}

// reason says why the row was set aside.
func (a *asideRow) reason() *model.Reason {
	reason := a.mark.reason()
	reason.Kind = a.why
	return reason
}

func (m *mark) reason() *model.Reason {
	return &model.Reason{Kind: model.ReasonRestore, At: m.at, TargetID: m.to, TargetIndex: m.toIndex}
}

// mark returns what wrote a row, nil for an SDK.
func (s *session) mark(r *row) *mark {
	if s.written == nil || r == nil {
		return nil
	}
	return s.written.rows[r.id]
}

// fact says in words what wrote a row.
func (m *mark) fact() string {
	text := "Hindcast, by a " + string(m.op)
	switch {
	case m.op == model.OpFork || m.op == model.OpEdit:
		text = fmt.Sprintf("Hindcast, by a fork from #%d %s", m.toIndex, model.ShortID(m.to, 8))
	case m.to != "":
		text += fmt.Sprintf(" to #%d %s", m.toIndex, model.ShortID(m.to, 8))
	}
	return fmt.Sprintf("%s at %s, entry %d of its journal", text, m.at.UTC().Format(time.RFC3339), m.entry)
}
