package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/planning"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// Files is the medium of kinds made of files: a folder, or a prefix of a bucket.
type Files struct {
	Storage *Storage
	// Watching watches a folder of this machine.
	Watching func(ctx context.Context) (<-chan struct{}, error)
	// Closing closes the other resources of the format. It may be nil.
	Closing func() error
	// Mark returns a text that changes when the session changes outside the tree. It may be nil.
	Mark func(ctx context.Context, at Place) (string, error)
	// Unread returns the faults of records whose texts no state has, unless other faults tell of them; nil
	// where they are looked for in the files of the rows.
	Unread func(ctx context.Context, session string, log *Log, told []model.Fault) ([]model.Fault, error)
	// Damage is the fault of a write that was broken off, but for its file and its meaning; the format tells of
	// one without a code. Deep says that all that the journal keeps is read for it.
	Damage model.Fault
	Deep   bool
	format *Format
}

// OnFiles returns the store of a format on files.
func OnFiles(f Format, m *Files, address string) *Store {
	s := New(f, m, address)
	m.format = &s.format
	s.listing = fmt.Sprintf("list sessions of %q", address) // errors of files leave out the path
	s.features.Requests, s.features.PlanGiveBack = m.Storage.Requests, s.planGiveBack
	s.features.LabelFile = func(ctx context.Context, session string) (dir, file, name string) {
		at := Place{Session: session}
		_ = s.In(ctx, session, func(_ In, found Place) error { // of a place that is not found the name suffices
			at = found
			return nil
		})
		return m.Storage.LabelFile(at)
	}
	return s
}

// Read implements Medium.
func (m *Files) Read(ctx context.Context, what func(In) error) error {
	in := m.Storage.In()
	in.Writes = m.Storage.Writes(ctx)
	if m.Storage.HasWrites() {
		in.Memo = m.Storage.Memo.Planning() // what was set aside is read with the rest once more
	}
	defer m.Storage.Memo.Notes.Keep()
	return what(in)
}

// seen is the mark of a session in files.
type seen struct {
	tree.Seen
	beside string // what no tree tells
}

// Look implements Medium: a session is as it was where all that was listed and stamped is.
func (m *Files) Look(ctx context.Context, in In, at Place, was any, _ string) (Look, error) {
	beside := ""
	if m.Mark != nil {
		var err error
		if beside, err = m.Mark(ctx, at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Look{}, err
		}
	}
	if then, ok := was.(seen); ok && then.beside == beside && then.FindMoved(in.Tree) == "" {
		return Look{In: in, Since: Same}, nil
	}
	view := tree.NewView(in.Tree)
	in.Tree = view
	return Look{In: in, Mark: func(string) (any, error) {
		if view.FindChange() != nil {
			return nil, nil
		}
		return seen{view.ListSeen(), beside}, nil
	}}, nil
}

// Teller implements Medium.
func (m *Files) Teller(context.Context) Teller {
	return func(ctx context.Context, in In, at Place, log *Log) (*Log, error) {
		log.Place = at
		return in.Writes.Complete(ctx, in, log, m.format.Read)
	}
}

// Silent implements Medium.
func (m *Files) Silent() bool { return !m.Storage.HasWrites() }

// Check implements Medium.
func (m *Files) Check(ctx context.Context, _ In) ([]model.Fault, error) {
	if m.Damage.Code == "" {
		return nil, ctx.Err()
	}
	broken := m.Storage.Broken()
	if broken == nil && m.Deep {
		broken = m.Storage.Check(ctx)
	}
	if broken == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f := m.Damage
	f.File, f.Meaning = JournalFile, broken.Error()
	return []model.Fault{f}, nil
}

// Faults implements Medium.
func (m *Files) Faults(ctx context.Context, of store.Store, session string, log *Log, told []model.Fault) (messages []model.Fault, err error) {
	if !m.format.Warns {
		if messages, err = inspect.ConversationFaults(ctx, of, session); err != nil {
			return nil, err
		}
	}
	if m.Unread != nil {
		unread, err := m.Unread(ctx, session, log, told)
		return append(messages, unread...), err
	}
	stops := slices.DeleteFunc(slices.Clone(told), func(f model.Fault) bool { return f.Severity < model.Stops })
	unread, err := m.Storage.Unread(ctx, of, session, log, stops...)
	return append(messages, unread...), err
}

// Watch implements Medium.
func (m *Files) Watch(ctx context.Context) (<-chan struct{}, error) {
	if on := m.Storage.On(); on != nil {
		return on.Watch(ctx)
	}
	return m.Watching(ctx)
}

// Close implements Medium.
func (m *Files) Close() error {
	err := m.Storage.Close()
	if m.Closing != nil {
		err = errors.Join(err, m.Closing())
	}
	return err
}

// Lacks implements Medium.
func (m *Files) Lacks() string { return m.Storage.Lacks() }

// Suppose implements Medium. If a file that was read changes meanwhile, the error says so.
func (m *Files) Suppose(ctx context.Context, what func(Stage) error) error {
	s := m.Storage
	if err := s.Ready(); errors.Is(err, ErrLink) {
		return &model.UnsupportedError{Op: model.OpRestore, Reason: err.Error()}
	}
	in, view := s.planInput()
	if s.brokenOff(ctx) {
		s.Recover(ctx) // what stood in the way may be gone
	}
	if trouble := s.Broken(); trouble != nil {
		return trouble
	}
	in.Writes = s.Writes(ctx)
	on := &filesStage{Files: m, in: in}
	err := what(on)
	if changed := view.FindChange(); changed != nil {
		return &journal.ConflictError{Path: changed.Name, Found: "was changed"}
	}
	for _, failed := range on.failed {
		if why := failed(); why != nil {
			return why
		}
	}
	// What is found while a program writes can be anything, and is not told as if it were so.
	if err == nil || ctx.Err() != nil || errors.Is(err, model.ErrHeadMoved) || errors.Is(err, model.ErrNoSession) || errors.Is(err, store.ErrSessionExists) {
		return err
	}
	if moved := view.FindMoved(); moved != "" {
		return &journal.ConflictError{Path: moved, Found: "was changed"}
	}
	return err
}

// filesStage lays the steps of a plan over the tree.
type filesStage struct {
	*Files
	in     In
	steps  tree.Steps
	failed []func() error
	// back is the journal's plan of an undo or a redo.
	back model.Plan
}

func (f *filesStage) In() In { return f.in }

func (f *filesStage) Busy(_ context.Context, before *Log) (string, error) {
	busy := ""
	if ago, lively := f.Storage.findRecentWrite(before.Written); lively {
		busy = planning.Busy(ago)
	}
	return busy, before.Place.checkWritable()
}

func (f *filesStage) Lay(_ context.Context, at Place, m *Move) (In, error) {
	if err := at.checkWritable(); err != nil {
		return In{}, err
	}
	kept, failed := f.Storage.strictReader()
	over := f.in
	over.Tree, over.There = tree.Overlay(f.in.Tree, m.Steps, kept), true
	f.steps, f.failed = m.Steps, append(f.failed, failed)
	return over, nil
}

// checkWritable returns why nothing is written to a session, nil if it can be.
func (p *Place) checkWritable() error {
	if utf8.ValidString(p.Session) {
		return nil
	}
	return &model.UnsupportedError{Op: model.OpRestore, Reason: "the name of the session or of its agent is not UTF-8, and the journal records writes by name: rename its folder"}
}

func (f *filesStage) Reversal(ctx context.Context, op model.Op) (*Reversal, error) {
	s := f.Storage
	plan, e, err := s.nextReversal(ctx, op)
	if err != nil || e == nil {
		return nil, addWayOut(err)
	}
	f.back = plan
	return &Reversal{Plan: plan, At: s.Place(e.Session), Move: &Move{Steps: tree.Back(e, op)},
		Entry: planning.Entry{ID: e.ID, Op: e.Op, Session: e.Session, Head: e.Head}}, nil
}

// drafted is the data that Commit needs.
type drafted struct {
	journal any // what the journal's own plan carries
	// session is the session's name in the storage, and made the name of the session that is made.
	session, made string
	steps         tree.Steps
}

func (f *filesStage) Draft(ctx context.Context, plan *model.Plan, w *Write) error {
	s := f.Storage
	plan.Resume = s.Calls(plan.Resume)
	if w.Reversal != nil {
		plan.Carry = &drafted{f.back.Carry, plan.Session, "", f.steps}
		return nil
	}
	j, err := s.Journal()
	if err != nil {
		return err
	}
	d, changes, m := tree.Draft(j, w.Move.Steps), map[string]bool{}, w.Move
	for i := range m.Steps {
		changes[m.Steps[i].Name] = true
	}
	for name, sum := range m.Uses {
		if !changes[name] {
			d.Expect(name)
		}
		now, err := j.Version(name)
		if err != nil {
			return err
		}
		if now.SHA256 != sum {
			return &journal.ConflictError{Path: name, Found: "was changed"}
		}
	}
	for _, dir := range m.Closed {
		if at, err := s.tree.Stamp(dir); err == nil && at.Kind == files.Directory {
			d.Expect(dir)
		}
	}
	for _, name := range m.Keeps {
		d.Keep(name)
	}
	at := w.Before.Place
	if m.Forget != nil {
		if err := s.draftPurge(ctx, j, d, at.Session, m.Scope, m.Forget); err != nil {
			return err
		}
	}
	d.Leads(w.After.HeadPoint().ID)
	d.Was(m.Was)
	d.Rows(at.Folders...)
	if *plan, err = d.Plan(*plan); err != nil {
		return err
	}
	plan.Carry = &drafted{plan.Carry, plan.Session, at.Session, m.Steps}
	return nil
}

// Commit implements Medium.
func (m *Files) Commit(ctx context.Context, plan model.Plan, was, is func(context.Context, In) error) (model.Receipt, error) {
	d, ok := plan.Carry.(*drafted)
	if !ok {
		return model.Receipt{}, journal.ErrNoCarry
	}
	s := m.Storage
	if err := s.Ready(); err != nil {
		return model.Receipt{}, err
	}
	tree.Fresh(s.tree)
	in := s.In()
	in.There = true
	told := s.readTold(ctx) // as it is before the write
	in.Writes = Writes{func() map[string]*Told { return told }}
	if err := was(ctx, in); err != nil {
		return model.Receipt{}, err
	}
	j, err := s.Journal()
	if err != nil {
		return model.Receipt{}, err
	}
	if plan.NewSession != "" {
		plan.NewSession = d.made
	}
	plan.Carry, plan.Session = d.journal, d.session
	return j.Apply(ctx, plan, func(ctx context.Context) error {
		tree.Fresh(s.tree)
		in.Tree = tree.Proven(in.Tree, d.steps)
		return is(ctx, in)
	})
}

// Journal implements Medium.
func (m *Files) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if m.Storage.Ready() != nil || m.Silent() {
		return nil, nil
	}
	j, err := m.Storage.Journal()
	if err != nil {
		return nil, err
	}
	list, err := j.Journal(ctx)
	if err != nil {
		err = fmt.Errorf("read the journal of %q: %w", m.Storage.Folder(), err)
	}
	called := map[string]string{}
	for i := range list {
		name := list[i].Session
		if _, known := called[name]; !known {
			at := m.Storage.Place(name)
			called[name] = at.SessionName()
		}
		list[i].Session = called[name]
	}
	return list, err
}
