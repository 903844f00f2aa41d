package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// Format reads and changes the records of orchestrators, for a kind that has these beside others.
type Format struct{ Files }

// Records reads the versions of a place's record from a tree.
type Files interface {
	// Records reads the versions of the record of a place that lie in a tree.
	Records(ctx context.Context, in engine.In, at engine.Place) (*Records, error)
	// Decode reads the record in an earlier content of the file, nil if there is no record
	// in it.
	Decode(rs *Records, data []byte) *Run
	// Put plans that the SDK loads the record of a move.
	Put(m *Move) error
	// New plans a session that has the record of a move alone.
	New(m *Move, as string) error
	// Mend plans that an SDK starts on the record again.
	Mend(m *Move) error
	// Back describes the effect of an undo or a redo. next describes how a start goes on
	// with the resulting record.
	Back(before, after *Records, next engine.Next) engine.Next
}

// Move is a write of a record in the making.
type Move struct {
	*engine.Move
	Records *Records
	// In is the input of the format.
	In engine.In
	// From is the version that is put back, up to execution At.
	From *Version
	At   int
	// Made is the resulting record.
	Made Rewound
	// Busy says that a run may go on.
	Busy bool
}

// Read reads the record of the session at a place, with its earlier versions in the journal.
func (f Format) Read(ctx context.Context, in engine.In, at engine.Place) (*engine.Log, error) {
	rs, err := f.Records(ctx, in, at)
	if err != nil {
		return nil, err
	}
	rs.Versions = append(f.replacedVersions(in.Writes.ForSession(at.Session), rs), rs.Versions...)
	return rs.buildLog(at), nil
}

// mostReplaced bounds the versions of one record that the journal has and that are looked
// at, the newest.
const mostReplaced = 64

// replacedVersions returns the versions of a record that the journal has, but those that an undo
// took away: Hindcast itself had written them. What cannot be read is left out.
func (f Format) replacedVersions(told *engine.Told, rs *Records) (list []Version) {
	var of []*engine.Aside
	for _, a := range told.ListAside() {
		if a.Name == rs.File && a.How != engine.Undone {
			of = append(of, a)
		}
	}
	for _, a := range of[max(0, len(of)-mostReplaced):] {
		data, err := told.Read(a)
		if err != nil {
			continue // it was purged
		}
		if run := f.Decode(rs, data); run != nil {
			list = append(list, Version{Run: run, File: a.Name, Aside: a, Left: a.Reason()})
		}
	}
	return list
}

// Move plans a change of a record, see [engine.Format].
func (f Format) Move(_ context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	if len(before.Rows) == 0 && c.Op != model.OpRepair {
		return nil, model.ErrNoSession
	}
	rs := before.Own.(*Records)
	m := &Move{Move: &engine.Move{Target: before.HeadPoint(), Uses: map[string]string{}}, Records: rs, In: in, Busy: before.Busy != ""}
	m.Own = m
	switch c.Op {
	case model.OpPurge:
		m.Forget = func(string, []byte) bool { return c.Scope == model.PurgeAll }
		return m.Move, nil
	case model.OpEdit:
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "what the nodes of an orchestrator said is not what it goes on from"}
	case model.OpRepair:
		return m.Move, f.Mend(m)
	}
	if err := m.findRecord(c); err != nil {
		return nil, err
	}
	if c.Op == model.OpFork {
		return m.Move, f.New(m, c.As)
	}
	return m.Move, f.Put(m)
}

// findRecord works out the record that stands at a row.
func (m *Move) findRecord(c model.Change) (err error) {
	if m.From, m.At, err = m.Records.Row(c.Ref.ID); err != nil {
		return err
	}
	run := m.From.Run
	m.Target = run.Headers()[m.At].Point()
	if m.At == run.Len()-1 {
		m.Made = run.asItIs()
	} else if m.Made, err = run.planRewind(m.At, m.olderVersions()); err != nil {
		unsupported := (*model.UnsupportedError)(nil)
		if errors.As(err, &unsupported) {
			err = &model.UnsupportedError{Op: c.Op, Reason: unsupported.Reason}
		}
		return err
	}
	m.Hazards, m.Asks = append(m.Hazards, m.Made.Hazards...), append(m.Asks, m.Made.Asks...)
	return nil
}

// Stands reports whether the record stands there already, and why it is not put there by a
// rewind.
func (m *Move) Stands() (why error, stands bool) {
	if !m.From.Loaded || m.At != m.From.Run.Len()-1 {
		return nil, false
	}
	return m.From.Run.refusalError(m.At), true
}

// Step returns the step that gives the file that the SDK loads the record: the very content
// that the journal has, where it is as it once was.
func (m *Move) Step() tree.Step {
	if a := m.From.Aside; a != nil && bytes.Equal(m.From.Run.sourceText(), m.Made.Document) {
		return tree.Step{Name: m.Records.File, Version: a.Version}
	}
	return tree.Step{Name: m.Records.File, Data: m.Made.Document}
}

// DescribeRepair describes the effect of a repair: the mended record is that of run.
func (m *Move) DescribeRepair(run *Run) {
	list := run.Headers()
	m.Target = list[len(list)-1].Point()
	m.Made = run.asItIs()
	m.Hazards = m.Made.Asks // what a start does is not asked by a repair
}

// Guard lets the plan fail where the record becomes another one before it is carried out.
func (m *Move) Guard() {
	rs := m.Records
	m.Uses[rs.File] = ""
	if v := rs.LoadedVersion(); v != nil {
		m.Uses[rs.File] = fmt.Sprintf("%x", sha256.Sum256(v.Data))
	}
}

// Next predicts how an SDK goes on with a record, see [engine.Format].
func (f Format) Next(_ context.Context, before, after *engine.Log, m *engine.Move) (engine.Next, error) {
	if m != nil {
		made := m.Own.(*Move).Made
		return engine.Next{Loads: made.Loads, Calls: made.Resume}, nil
	}
	now := after.Own.(*Records)
	var next engine.Next
	if v := now.LoadedVersion(); v != nil && v.Run != nil {
		made := v.Run.asItIs()
		next = engine.Next{Loads: made.Loads, Calls: made.Resume, Hazards: made.Asks}
	}
	return f.Back(before.Own.(*Records), now, next), nil
}
