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
	id string
	// row is what the file held, nil if that was no row of a session.
	row  *row
	data []byte
}

// written gives what the journal tells of a place. A journal that cannot be read
// tells nothing; Faults says why.
func (s *Store) written(ctx context.Context, p place) (w written) {
	v := s.vaultOf(p.base)
	entries, err := v.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return w
	}
	w.rows = map[string]*mark{}
	dir := v.inside(p.dir)
	for i := range entries {
		e := &entries[i]
		if e.Undone {
			continue
		}
		m := &mark{op: e.Op, entry: e.ID, at: e.At, from: e.From, to: e.To, toIndex: e.ToIndex}
		here := false
		for _, c := range e.Changes {
			id, isRow := rowIn(dir, c.Path)
			here = here || isRow || path.Dir(c.Path) == path.Join(dir, pointersFolder)
			switch {
			case !isRow:
			case c.Before.None() && !c.After.None():
				w.rows[id] = m
			case c.After.None() && !c.Before.None():
				if data, err := read(v, c.Before); err == nil {
					w.aside = append(w.aside, asideRow{m, id, rowOf(id, data), data})
				}
			}
		}
		if here && (e.Op == model.OpRestore || e.Op == model.OpRepair) {
			w.moves = append(w.moves, m)
		}
	}
	return w
}

// read gives a content that the journal keeps.
func read(v *vault, version journal.Version) ([]byte, error) {
	j, err := v.Journal()
	if err != nil {
		return nil, err
	}
	return j.Read(version)
}

// rowIn gives the id of the row whose file has a path, if that is in a folder.
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
			s.aside = append(s.aside, a.row)
		}
	}
	if len(s.rows) == 0 && len(s.aside) > 0 {
		only := *s
		only.rows = s.aside
		s.layout = only.layoutOf()
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

// asideData gives what a row held that was set aside.
func (s *session) asideData(id string) []byte {
	for _, a := range s.written.aside {
		if a.id == id {
			return a.data
		}
	}
	return nil
}

// asideRow gives a row that was set aside, nil for none.
func (s *session) asideRow(id string) *row {
	for _, r := range s.aside {
		if r.id == id {
			return r
		}
	}
	return nil
}

// all gives the rows of the session and those that were set aside, in order.
func (s *session) all() []*row {
	if len(s.aside) == 0 {
		return s.rows
	}
	list := slices.Concat(s.rows, s.aside)
	slices.SortFunc(list, compareRows)
	return list
}

// leftBy gives the reasons of rows that a restore of Hindcast's left, by id: those
// on the way from the head that it left to the way to its target. The last
// restore counts. Rows that were set aside were left by what did that.
func (s *session) leftBy() map[string]*model.Reason {
	if s.written == nil || len(s.written.moves) == 0 {
		return nil
	}
	left := map[string]*model.Reason{}
	for _, m := range s.written.moves {
		kept := map[string]bool{}
		for r := s.byID[m.to]; r != nil && !kept[r.id]; r = s.byID[r.parentID] {
			kept[r.id] = true
		}
		reason := m.reason()
		passed := map[string]bool{}
		for r := s.byID[m.from]; r != nil && !kept[r.id] && !passed[r.id]; r = s.byID[r.parentID] {
			passed[r.id] = true
			left[r.id] = reason
		}
	}
	for _, a := range s.written.aside {
		left[a.id] = a.reason()
	}
	return left
}

func (m *mark) reason() *model.Reason {
	return &model.Reason{Kind: model.ReasonRestore, At: m.at, TargetID: m.to, TargetIndex: m.toIndex}
}

// mark gives what wrote a row, nil for an SDK.
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
