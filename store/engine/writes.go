package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
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

func (m *Mark) restoreReason() *model.Reason {
	return &model.Reason{Kind: model.ReasonRestore, At: m.At, TargetID: m.To, TargetIndex: m.ToIndex}
}

// How is how a content came to be nowhere but in the journal.
type How uint8

const (
	// SetAside: a write took the file away.
	SetAside How = iota
	// Replaced: a write gave the file another content.
	Replaced
	// Undone: an undo took the file away, or gave it another content: Hindcast itself had
	// written it.
	Undone
	// BroughtBack: a write or an undo brought it back. Where it is not there, an agent wrote
	// over it.
	BroughtBack
)

// Aside is a content that a file of a session had, and that the journal keeps. It may be
// there again.
type Aside struct {
	*Mark
	How     How
	Name    string
	Version journal.Version
	// Saved is the file to which the same write copied the content, "" if it copied it nowhere.
	Saved string
	// Head is the head that had the content, as the plan named it.
	Head string
}

// Reason returns why a row of the content is off the path.
func (a *Aside) Reason() *model.Reason {
	reason := a.Mark.restoreReason()
	switch a.How {
	case Undone:
		reason.Kind = model.ReasonUndo
	case BroughtBack:
		return &model.Reason{Kind: model.ReasonOverwritten}
	}
	return reason
}

// Writes are the journal's entries of all sessions of a storage. The journal is read at the
// first use. The zero value is empty. They are safe for concurrent use.
type Writes struct{ told func() map[string]*Told }

// Told are the journal's entries of one session. A nil *Told is empty.
type Told struct {
	entries []*journal.Entry
	kept    tree.Kept
	// all goes through the entries, once it is needed.
	all func() *tale
}

// tale is the combined result of a session's entries.
type tale struct {
	// made are the files that Hindcast wrote.
	made map[string]*Mark
	// aside has a nil for an entry that a later entry replaced; at has the position of each
	// content.
	aside []*Aside
	at    map[content]int
	// moves are the writes that put the head elsewhere and still hold, the oldest first.
	moves []move
}

// content is one content of the file of a name.
type content struct{ name, sum string }

// move is a write that put the head elsewhere, with the contents that it took from files.
type move struct {
	*Mark
	replaced []Aside
}

// movesHead reports whether an operation puts the head of its session elsewhere.
func movesHead(op model.Op) bool { return op == model.OpRestore || op == model.OpRepair }

// Writes returns the journal's entries. For an unreadable journal it returns no entries;
// [Storage.Entries] returns the error.
func (s *Storage) Writes(ctx context.Context) Writes {
	return Writes{sync.OnceValue(func() map[string]*Told { return s.readTold(ctx) })}
}

func (s *Storage) readTold(ctx context.Context) map[string]*Told {
	entries, _ := s.Entries(ctx) // of a damaged one, those that can be read
	told := map[string]*Told{}
	for i := range entries {
		e := &entries[i]
		t := told[e.Session]
		if t == nil {
			t = &Told{kept: s.ReadKept}
			t.all = sync.OnceValue(func() *tale { return combineEntries(t.entries) })
			told[e.Session] = t
		}
		t.entries = append(t.entries, e)
	}
	return told
}

// ForSession returns the journal's entries of a session.
func (w *Writes) ForSession(session string) *Told {
	if w.told == nil {
		return nil
	}
	return w.told()[session]
}

// All returns the entries of all sessions, in any order of the sessions.
func (w *Writes) All() (list []*journal.Entry) {
	if w.told != nil {
		for _, t := range w.told() {
			list = append(list, t.entries...)
		}
	}
	return list
}

// Entries returns the entries of the session, the oldest first.
func (t *Told) Entries() []*journal.Entry {
	if t == nil {
		return nil
	}
	return t.entries
}

// combineEntries combines entries.
func combineEntries(entries []*journal.Entry) *tale {
	t := &tale{made: map[string]*Mark{}, at: map[content]int{}}
	for _, e := range entries {
		if e.Op != model.OpPurge {
			t.addEntry(e)
		}
	}
	t.aside = slices.DeleteFunc(t.aside, func(a *Aside) bool { return a == nil })
	return t
}

// addEntry adds what an entry tells.
func (t *tale) addEntry(e *journal.Entry) {
	m := &Mark{Op: e.Op, Entry: e.ID, At: e.At, From: e.From, To: e.To, ToIndex: e.ToIndex}
	var replaced []Aside
	changes := e.Changes()
	saved := savedIn(changes)
	for _, c := range changes {
		if c.Before.Folder || c.After.Folder {
			continue
		}
		was, came := t.findAside(c.Path, c.Before), t.findAside(c.Path, c.After)
		switch {
		case e.Undone && came == nil: // else that goes back to what was told of it
			t.setLast(Aside{Mark: m, How: Undone, Name: c.Path, Version: c.After, Head: m.To})
		case !e.Undone && came != nil:
			t.setLast(Aside{Mark: m, How: BroughtBack, Name: c.Path, Version: c.After, Head: m.To})
		}
		switch {
		case e.Undone && (was == nil || was.How != Undone): // else what made it was undone later
			t.setLast(Aside{Mark: m, How: BroughtBack, Name: c.Path, Version: c.Before, Head: m.From})
		case e.Undone:
		case c.Before.None():
			if e.Op != model.OpGiveBack { // an agent wrote what is given back
				t.made[c.Path] = m
			}
		default:
			a := Aside{Mark: m, How: Replaced, Name: c.Path, Version: c.Before, Saved: saved[c.Before.SHA256], Head: m.From}
			if c.After.None() {
				a.How = SetAside
			}
			replaced = append(replaced, a)
			t.setLast(a)
		}
	}
	if movesHead(e.Op) && !e.Undone && e.Broken == "" {
		t.moves = append(t.moves, move{m, replaced})
	}
}

// savedIn maps the SHA-256 of each content that changes write to a new file to that file.
func savedIn(changes []journal.Change) map[string]string {
	saved := map[string]string{}
	for _, c := range slices.Backward(changes) { // of several the first
		if c.Before.None() && !c.After.None() {
			saved[c.After.SHA256] = c.Path
		}
	}
	return saved
}

// findAside returns the record of a content that was set aside, nil if there is no record.
func (t *tale) findAside(name string, v journal.Version) *Aside {
	if at, known := t.at[content{name, v.SHA256}]; known && !v.None() {
		return t.aside[at]
	}
	return nil
}

// setLast notes the last that is told of a content.
func (t *tale) setLast(a Aside) {
	if a.Version.None() {
		return
	}
	key := content{a.Name, a.Version.SHA256}
	if before, known := t.at[key]; known {
		t.aside[before] = nil
	}
	t.at[key] = len(t.aside)
	t.aside = append(t.aside, &a)
}

// ListAside returns the contents that files of the session had, in the order in which they
// were last written about. They may be there again, or be purged.
func (t *Told) ListAside() []*Aside {
	if t == nil {
		return nil
	}
	return t.all().aside
}

// Read reads a content that is aside. The error is fs.ErrNotExist where it was purged.
func (t *Told) Read(a *Aside) ([]byte, error) { return t.kept(a.Version) }

// ReadVersion reads a content that the journal keeps. The error is fs.ErrNotExist where it was purged.
func (t *Told) ReadVersion(v journal.Version) ([]byte, error) {
	if t == nil {
		return nil, fs.ErrNotExist
	}
	return t.kept(v)
}

// MakerOf returns Hindcast's write that made a file, nil if Hindcast did not make it.
func (t *Told) MakerOf(file string) *Mark {
	if t == nil {
		return nil
	}
	return t.all().made[file]
}

// Last returns the last write that moved the head, nil if no write did.
func (t *Told) Last() *Mark {
	if t == nil || len(t.all().moves) == 0 {
		return nil
	}
	moves := t.all().moves
	return moves[len(moves)-1].Mark
}

// Sessions returns the sessions that had files which were taken away and are kept.
func (w *Writes) Sessions() (list []string) {
	if w.told == nil {
		return nil
	}
	for session, told := range w.told() {
		if len(told.removedFiles()) > 0 {
			list = append(list, session)
		}
	}
	return list
}

// removedFiles returns the files that were taken away last, by their names.
func (t *Told) removedFiles() map[string]*Aside {
	gone := map[string]*Aside{}
	for _, a := range t.ListAside() {
		if a.How == SetAside || a.How == Undone {
			gone[a.Name] = a
		}
	}
	return gone
}

// Facts returns the journal's facts about the file of a row.
func (t *Told) Facts(file string) (facts model.Facts) {
	if m := t.MakerOf(file); m != nil {
		facts.Add("written by", m.String())
	}
	switch a := t.removedFiles()[file]; {
	case a == nil:
	case a.How == Undone:
		facts.Add("taken away", fmt.Sprintf("by an undo of Hindcast's, with entry %d of its journal", a.Entry))
	default:
		facts.Add("set aside", fmt.Sprintf("by a %s of Hindcast's at %s, entry %d of its journal", a.Op, a.At.UTC().Format(time.RFC3339), a.Entry))
	}
	return facts
}

// Complete completes a log that a format read from a tree. It adds the rows that the journal
// alone has, unless the format read them: those that a write set aside, and those that an
// undo took away although a row goes on from them. They are in their places among the
// others before indexes are given.
func (w *Writes) Complete(ctx context.Context, in In, log *Log, read ReadLog) (*Log, error) {
	told := w.ForSession(log.Place.Session)
	if told != nil && log.Aside == nil {
		log.Aside = map[string]*Aside{}
		if err := told.bringBack(ctx, in, log, read); err != nil {
			return nil, err
		}
	}
	if !log.Settled {
		log.settleRows(told)
	}
	return log, nil
}

// bringBack merges the rows of files that the tree lacks into the log. The format reads them
// from a tree that has these files.
func (t *Told) bringBack(ctx context.Context, in In, log *Log, read ReadLog) error {
	var steps tree.Steps
	gone := t.removedFiles()
	for file, a := range gone {
		at, err := in.Stamp(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at.Kind != files.Nothing {
			continue
		}
		if _, err := t.Read(a); err == nil { // else it was purged
			steps = append(steps, tree.Step{Name: file, Version: a.Version})
		}
	}
	there := make(map[string]bool, len(log.Rows))
	for i := range log.Rows {
		there[log.Rows[i].ID] = true
	}
	whole := in
	for len(steps) > 0 {
		whole.Tree = tree.Overlay(in.Tree, steps, t.kept)
		all, err := read(ctx, whole, log.Place, "")
		if err != nil {
			return err
		}
		steps = steps[:0]
		wanted := all.rowsToShow(there, gone)
		for i := range all.Rows {
			if wanted[all.Rows[i].ID] {
				steps = append(steps, tree.Step{Name: all.Files[i], Version: gone[all.Files[i]].Version})
			}
		}
		if len(all.Rows) == len(there)+len(wanted) {
			log.takeRows(all, gone)
			return nil
		}
	}
	return nil
}

// takeRows replaces the rows of a log by the rows of a larger log, and marks the additional rows as
// aside.
func (l *Log) takeRows(all *Log, aside map[string]*Aside) {
	there, head := make(map[string]bool, len(l.Rows)), l.HeadPoint().ID
	for i := range l.Rows {
		there[l.Rows[i].ID] = true
	}
	l.Rows, l.Files, l.Written, l.Whole = all.Rows, all.Files, all.Written, all.Own
	for i := range l.Rows {
		if h := &l.Rows[i]; !there[h.ID] {
			l.Aside[h.ID] = aside[l.Files[i]]
			h.Orphaned, h.Reason = true, aside[l.Files[i]].Reason()
		}
	}
	if head != "" {
		l.Head = l.At(head)
	}
}

// rowsToShow returns the rows of a log that are shown though they are not there: those that a
// write set aside, and those that an undo took away and that others go on from.
func (l *Log) rowsToShow(there map[string]bool, aside map[string]*Aside) map[string]bool {
	wanted := map[string]bool{}
	parents := make(map[string]string)
	for i := range l.Rows {
		id := l.Rows[i].ID
		if there[id] {
			continue
		}
		parents[id] = l.Rows[i].ParentID
		if a := aside[l.Files[i]]; a != nil && a.How == SetAside {
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
