package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/folder"
	"hindcast/store/engine/inspect"
	"hindcast/store/engine/planning"
	"hindcast/store/media/tree"
)

// Files is the medium of kinds made of files: a folder, or a prefix of a bucket.
type Files struct {
	Storage *folder.Storage
	// Watching watches a folder of this machine.
	Watching func(ctx context.Context) (<-chan struct{}, error)
	// Closing closes the other resources of the format. It may be nil.
	Closing func() error
	// Mark returns a text that changes when the session changes outside the tree. It may be nil.
	Mark func(ctx context.Context, at Place) (string, error)
	// Unread returns the faults of records whose texts no state has; nil where they are looked for in the
	// files of the rows.
	Unread func(ctx context.Context, session string) ([]model.Fault, error)
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
	s.features.Requests = m.Storage.Requests
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

// treeFormat is the format as package folder asks it, which reads a session in other trees.
type treeFormat struct{ *Format }

func (f treeFormat) Name() string { return f.Framework }

func (f treeFormat) Read(ctx context.Context, in In, at Place) (*Log, error) {
	return f.Format.Read(ctx, in, at, "")
}

func (treeFormat) Move(context.Context, In, *Log, model.Change) (*Move, error) {
	return nil, errors.ErrUnsupported // the engine asks the format
}

func (treeFormat) Next(context.Context, *Log, *Log, *Move) (n Next, err error) {
	return n, errors.ErrUnsupported
}

// Read implements Medium.
func (m *Files) Read(ctx context.Context, what func(In) error) error {
	in := m.Storage.In()
	in.Writes = m.Storage.Writes(ctx)
	if m.Storage.Begun() {
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
		return seen{view.Seen(), beside}, nil
	}}, nil
}

// Teller implements Medium.
func (m *Files) Teller(context.Context) Teller {
	return func(ctx context.Context, in In, at Place, log *Log) (*Log, error) {
		at.Format = treeFormat{m.format}
		log.Place = at
		return in.Writes.Tell(ctx, in, log)
	}
}

// Silent implements Medium.
func (m *Files) Silent() bool { return !m.Storage.Begun() }

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
	f.File, f.Meaning = folder.JournalFile, broken.Error()
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
		unread, err := m.Unread(ctx, session)
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

// Suppose implements Medium.
func (m *Files) Suppose(ctx context.Context, what func(Stage) error) error {
	return m.Storage.Suppose(ctx, func(on *folder.Staged) error { return what(&filesStage{m, on, nil, nil}) })
}

// filesStage lays the steps of a plan over the tree.
type filesStage struct {
	*Files
	on    *folder.Staged
	steps tree.Steps
	back  *folder.Reversal
}

func (f *filesStage) In() In { return f.on.In }

func (f *filesStage) Busy(_ context.Context, before *Log) (string, error) {
	return f.Storage.Busy(before)
}

func (f *filesStage) Lay(_ context.Context, at Place, m *Move) (In, error) {
	f.steps = m.Steps
	return f.on.Lay(at, m.Steps)
}

func (f *filesStage) Reversal(ctx context.Context, op model.Op) (*Reversal, error) {
	back, steps, err := f.on.Reverse(ctx, op)
	if err != nil || back == nil {
		return nil, err
	}
	f.back = back
	e := back.Entry
	return &Reversal{Plan: back.Begins(), At: f.Storage.Place(e.Session), Move: &Move{Steps: steps},
		Entry: planning.Entry{ID: e.ID, Op: e.Op, Session: e.Session, Head: e.Head}}, nil
}

func (f *filesStage) Draft(ctx context.Context, plan *model.Plan, w *Write) error {
	plan.Resume = f.Storage.Calls(plan.Resume)
	if f.back != nil {
		f.back.Draft(plan, f.steps, plan.Session)
		return nil
	}
	return f.on.Draft(ctx, plan, w.Move, w.Before, w.After)
}

// Commit implements Medium.
func (m *Files) Commit(ctx context.Context, plan model.Plan, was, is func(context.Context, In) error) (model.Receipt, error) {
	return m.Storage.Commit(ctx, plan, was, is)
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
			called[name] = at.Called()
		}
		list[i].Session = called[name]
	}
	return list, err
}
