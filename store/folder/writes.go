package folder

import (
	"context"
	"fmt"
	"time"

	"hindcast/model"
	"hindcast/store/files"
	"hindcast/store/journal"
)

// Mark is one write of Hindcast's.
type Mark struct {
	Op    model.Op
	Entry int64
	At    time.Time
	// From and To are the heads before and after, as the plan named them.
	From, To string
	ToIndex  int
}

// String says in words which write it was.
func (m *Mark) String() string {
	text := "Hindcast, by a " + string(m.Op)
	switch {
	case m.Op == model.OpFork || m.Op == model.OpEdit:
		text = fmt.Sprintf("Hindcast, by a fork from #%d %s", m.ToIndex, model.ShortID(m.To, 8))
	case m.To != "":
		text += fmt.Sprintf(" to #%d %s", m.ToIndex, model.ShortID(m.To, 8))
	}
	return fmt.Sprintf("%s at %s, entry %d of its journal", text, m.At.UTC().Format(time.RFC3339), m.Entry)
}

func (m *Mark) reason() *model.Reason {
	return &model.Reason{Kind: model.ReasonRestore, At: m.At, TargetID: m.To, TargetIndex: m.ToIndex}
}

// Aside is a file that a write took away. It is kept.
type Aside struct {
	*Mark
	// Undone says that an undo took it away: Hindcast itself had written it.
	Undone  bool
	Version journal.Version
}

func (a *Aside) reason() *model.Reason {
	reason := a.Mark.reason()
	if a.Undone {
		reason.Kind = model.ReasonUndo
	}
	return reason
}

// Writes are what the journal of a storage tells of its sessions. The zero value tells
// nothing.
type Writes struct {
	by   map[string]*written
	kept Kept
}

// written is what the journal tells of one session.
type written struct {
	// made are the files that Hindcast wrote, and aside those that it took away and that
	// nothing has put back.
	made  map[string]*Mark
	aside map[string]*Aside
	// moves are the writes that put the head elsewhere and still hold, the oldest first.
	moves []model.Move
}

// movesHead reports whether an operation puts the head of its session elsewhere.
func movesHead(op model.Op) bool { return op == model.OpRestore || op == model.OpRepair }

// Writes returns what the journal tells. A journal that cannot be read tells nothing; why,
// [Storage.Entries] says.
func (s *Storage) Writes(ctx context.Context) (w Writes) {
	entries, err := s.Entries(ctx)
	if err != nil || len(entries) == 0 {
		return w
	}
	w.by, w.kept = map[string]*written{}, s.Kept
	for i := range entries {
		e := &entries[i]
		if e.Op == model.OpPurge {
			continue
		}
		one := w.by[e.Session]
		if one == nil {
			one = &written{made: map[string]*Mark{}, aside: map[string]*Aside{}}
			w.by[e.Session] = one
		}
		m := &Mark{Op: e.Op, Entry: e.ID, At: e.At, From: e.From, To: e.To, ToIndex: e.ToIndex}
		for _, c := range e.Changes {
			switch {
			case c.Before.Folder || c.After.Folder:
			case c.Before.None() && e.Undone:
				one.aside[c.Path] = &Aside{m, true, c.After}
			case c.Before.None():
				one.made[c.Path] = m
			case c.After.None() && !e.Undone:
				one.aside[c.Path] = &Aside{m, false, c.Before}
			}
		}
		if movesHead(e.Op) && !e.Undone {
			one.moves = append(one.moves, model.Move{From: m.From, To: m.To, Why: m.reason()})
		}
	}
	return w
}

// Sessions returns the sessions whose files the journal keeps and that are not there.
func (w *Writes) Sessions() (list []string) {
	for session, one := range w.by {
		if len(one.aside) > 0 {
			list = append(list, session)
		}
	}
	return list
}

// Facts returns what the journal tells of the file of a row.
func (w *Writes) Facts(session, file string) (facts model.Facts) {
	one := w.by[session]
	if one == nil {
		return nil
	}
	if m := one.made[file]; m != nil {
		facts.Add("written by", m.String())
	}
	switch a := one.aside[file]; {
	case a == nil:
	case a.Undone:
		facts.Add("taken away", fmt.Sprintf("by an undo of Hindcast's, with entry %d of its journal", a.Entry))
	default:
		facts.Add("set aside", fmt.Sprintf("by a %s of Hindcast's at %s, entry %d of its journal", a.Op, a.At.UTC().Format(time.RFC3339), a.Entry))
	}
	return facts
}

// Log reads a session from a tree, with what the journal tells of it.
func (w *Writes) Log(ctx context.Context, f Format, in In, at Place) (*Log, error) {
	log, err := f.Read(ctx, in, at)
	if err != nil {
		return nil, err
	}
	return w.Tell(ctx, f, in, log)
}

// Tell completes a log that the format read from a tree. It adds the rows that the journal
// alone has: those that a write set aside, and those that an undo took away although a
// row goes on from them. They are in their places among the others before indexes are
// given.
func (w *Writes) Tell(ctx context.Context, f Format, in In, log *Log) (*Log, error) {
	one := w.by[log.Place.Session]
	if one == nil {
		log.settle(nil)
		return log, nil
	}
	log.Made, log.Aside = map[string]*Mark{}, map[string]*Aside{}
	if err := w.bringBack(ctx, f, in, log, one); err != nil {
		return nil, err
	}
	for i, file := range log.Files {
		if m := one.made[file]; m != nil && log.Aside[log.Rows[i].ID] == nil {
			log.Made[log.Rows[i].ID] = m
		}
	}
	log.settle(one.moves)
	return log, nil
}

// bringBack merges the rows of files that are not in the tree with those of the log: the
// format reads them from a tree in which they are.
func (w *Writes) bringBack(ctx context.Context, f Format, in In, log *Log, one *written) error {
	var steps Steps
	for file, a := range one.aside {
		at, err := in.Stamp(file)
		if err != nil && !isFree(err) {
			return err
		}
		if at.Kind != files.Nothing {
			continue
		}
		if _, err := w.kept(a.Version); err == nil { // else it was purged
			steps = append(steps, Step{Name: file, Version: a.Version})
		}
	}
	there := make(map[string]bool, len(log.Rows))
	for i := range log.Rows {
		there[log.Rows[i].ID] = true
	}
	for len(steps) > 0 {
		whole := in
		whole.Tree = Overlay(in.Tree, steps, w.kept)
		all, err := f.Read(ctx, whole, log.Place)
		if err != nil {
			return err
		}
		steps = steps[:0]
		wanted := all.wanted(there, one.aside)
		for i := range all.Rows {
			if wanted[all.Rows[i].ID] {
				steps = append(steps, Step{Name: all.Files[i], Version: one.aside[all.Files[i]].Version})
			}
		}
		if len(all.Rows) == len(there)+len(wanted) {
			log.take(all, one.aside)
			return nil
		}
	}
	return nil
}

// take makes the rows of a log those of one that has more: those are aside.
func (l *Log) take(all *Log, aside map[string]*Aside) {
	there, head := make(map[string]bool, len(l.Rows)), l.HeadPoint().ID
	for i := range l.Rows {
		there[l.Rows[i].ID] = true
	}
	l.Rows, l.Files, l.Written, l.Whole = all.Rows, all.Files, all.Written, all.Own
	for i := range l.Rows {
		if id := l.Rows[i].ID; !there[id] {
			l.Aside[id] = aside[l.Files[i]]
		}
	}
	if head != "" {
		l.Head = l.At(head)
	}
}

// wanted returns the rows of a log that are shown though they are not there: those that a
// write set aside, and those that an undo took away and that others go on from.
func (l *Log) wanted(there map[string]bool, aside map[string]*Aside) map[string]bool {
	wanted := map[string]bool{}
	parents := make(map[string]string)
	for i := range l.Rows {
		id := l.Rows[i].ID
		if there[id] {
			continue
		}
		parents[id] = l.Rows[i].ParentID
		if a := aside[l.Files[i]]; a != nil && !a.Undone {
			wanted[id] = true
		}
	}
	for i := range l.Rows {
		if !there[l.Rows[i].ID] {
			continue
		}
		for id := l.Rows[i].ParentID; ; id = parents[id] {
			if _, gone := parents[id]; !gone || wanted[id] {
				break
			}
			wanted[id] = true
		}
	}
	return wanted
}
