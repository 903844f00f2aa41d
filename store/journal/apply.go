package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"hindcast/model"
)

// ErrNoCarry: a plan is not one that this store made.
var ErrNoCarry = errors.New("the plan was not made by this store")

// Apply carries out a plan that came out of [Draft.Plan], [Journal.PlanUndo] or
// [Journal.PlanRedo]. verify reads the store again, by the framework's own rule,
// and says what is not as planned: then everything is taken back. Nil verifies
// nothing.
func (j *Journal) Apply(ctx context.Context, plan model.Plan, verify func(context.Context) error) (model.Receipt, error) {
	var r record
	var draft *Draft
	switch carry := plan.Carry.(type) {
	case *Draft:
		draft = carry
		r.Entry = &Entry{Changes: carry.changes, Guards: carry.guards, NewSession: plan.NewSession}
		r.Entry.Op, r.Entry.Session = plan.Op, plan.Session
		if plan.NewSession != "" {
			r.Entry.Session = plan.NewSession
		}
		r.Entry.From, r.Entry.FromIndex, r.Entry.To, r.Entry.ToIndex = plan.HeadID, plan.HeadIndex, plan.TargetID, plan.TargetIndex
	case *Entry: // undo or redo
		copied := *carry
		r.Entry, r.Of = &copied, carry.ID
		r.Entry.Op = plan.Op
		if plan.Op == model.OpUndo {
			r.Entry.Changes = reversed(carry.Changes)
		}
		r.Entry.Guards = nil
	default:
		return model.Receipt{}, ErrNoCarry
	}
	if err := j.prepare(); err != nil {
		return model.Receipt{}, err
	}
	unlock, err := j.disk.Lock(path.Join(Folder, "lock"))
	if err != nil {
		return model.Receipt{}, err
	}
	defer unlock()
	records, err := j.records()
	if err != nil {
		return model.Receipt{}, err
	}
	r.Entry.ID = 1
	for _, old := range records {
		if old.Entry != nil {
			r.Entry.ID = max(r.Entry.ID, old.Entry.ID+1)
		}
	}
	r.Entry.At = j.o.Now()
	for _, c := range r.Entry.Changes {
		if err := j.expect(c.Path, c.Before); err != nil {
			return model.Receipt{}, err
		}
	}
	for _, c := range r.Entry.Changes {
		if err := j.keep(draft, c); err != nil {
			return model.Receipt{}, err
		}
	}
	if err := j.append(r); err != nil {
		return model.Receipt{}, err
	}
	for i, c := range r.Entry.Changes {
		if err := j.change(c); err != nil {
			return model.Receipt{}, errors.Join(err, j.takeBack(r.Entry, i))
		}
	}
	if verify != nil {
		if err := verify(ctx); err != nil {
			return model.Receipt{}, errors.Join(err, j.takeBack(r.Entry, len(r.Entry.Changes)))
		}
	}
	if err := j.append(record{Done: r.Entry.ID}); err != nil {
		return model.Receipt{}, err
	}
	receipt := model.Receipt{Entry: r.Entry.ID, Op: plan.Op, Session: r.Entry.Session, Head: plan.TargetID, HeadIndex: plan.TargetIndex,
		Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if r.Of != 0 {
		receipt.Entry = r.Of
	}
	return receipt, nil
}

func (j *Journal) prepare() error {
	for _, dir := range []string{Folder, path.Join(Folder, "kept"), path.Join(Folder, "out")} {
		if err := j.disk.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := j.disk.Create(path.Join(Folder, "journal"), nil, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (j *Journal) expect(name string, v Version) error {
	now, err := j.Version(name)
	if err == nil && now != v {
		err = &ConflictError{name, "was changed"}
	}
	return err
}

// keep makes both contents of a change survive it.
func (j *Journal) keep(d *Draft, c Change) error {
	if !c.Before.None() && !c.Before.Folder {
		if err := j.disk.Link(c.Path, c.Before.kept()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if c.After.None() || c.After.Folder || d == nil {
		return nil
	}
	var err error
	if data, ok := d.contents[c.After.SHA256]; ok {
		err = j.disk.Create(c.After.kept(), data, c.After.Mode)
	} else if from, ok := d.sources[c.After.SHA256]; ok {
		err = j.disk.Link(from, c.After.kept())
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}

// change makes one change.
func (j *Journal) change(c Change) error {
	switch {
	case c.After.Folder:
		return j.disk.Mkdir(c.Path, c.After.Mode)
	case c.After.None():
		return j.disk.Remove(c.Path)
	case c.Before.None():
		return j.disk.Link(c.After.kept(), c.Path)
	}
	out := path.Join(Folder, "out", c.After.SHA256)
	if err := j.disk.Link(c.After.kept(), out); err != nil {
		return err
	}
	return j.disk.Rename(out, c.Path)
}

func (j *Journal) takeBack(e *Entry, done int) error {
	for _, c := range reversed(e.Changes[:done]) {
		if err := j.change(c); err != nil {
			return err
		}
	}
	return j.append(record{Back: e.ID})
}

// reversed gives the changes that take changes back.
func reversed(changes []Change) []Change {
	var back []Change
	for _, c := range slices.Backward(changes) {
		does := model.FilePutBack
		if c.Before.None() {
			does = model.FileSetAside
		}
		back = append(back, Change{c.Path, does, c.After, c.Before})
	}
	return back
}

// PlanUndo plans to take back the newest entry that is not undone. The error is a
// model.NothingToError. What the session loads then is for the kind to say.
func (j *Journal) PlanUndo(ctx context.Context) (model.Plan, error) {
	return j.planBack(ctx, model.OpUndo)
}

// PlanRedo plans to do again what was undone last, if nothing else was written
// since. The error is a model.NothingToError.
func (j *Journal) PlanRedo(ctx context.Context) (model.Plan, error) {
	return j.planBack(ctx, model.OpRedo)
}

func (j *Journal) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	list, err := j.Entries(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	undone := len(list)
	for undone > 0 && list[undone-1].Undone {
		undone--
	}
	i := undone - 1
	if op == model.OpRedo {
		i = undone
	}
	if i < 0 || i >= len(list) {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	e := &list[i]
	plan := model.Plan{Op: op, Session: e.Session, Entry: e.ID, Carry: e,
		TargetID: e.From, TargetIndex: e.FromIndex, HeadID: e.To, HeadIndex: e.ToIndex,
		Orphans: []model.PlanItem{}, Reactivates: []model.PlanItem{}, Writes: []string{}, Hazards: []string{}}
	changes := reversed(e.Changes)
	if op == model.OpRedo {
		plan.TargetID, plan.TargetIndex, plan.HeadID, plan.HeadIndex = e.To, e.ToIndex, e.From, e.FromIndex
		changes = e.Changes
	}
	plan.Target, plan.ExpectedHead = model.Ref{Session: e.Session, ID: plan.TargetID}, model.Ref{Session: e.Session, ID: plan.HeadID}
	for _, c := range changes {
		plan.Files = append(plan.Files, model.PlanFile{Path: c.Path, Does: c.Does, Size: max(c.Before.Size, c.After.Size)})
	}
	plan.Writes = append(plan.Writes, fmt.Sprintf("journal: entry %d", e.ID))
	return plan, nil
}

// Journal gives the entries as store.Undoer does, newest first.
func (j *Journal) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	list, err := j.Entries(ctx)
	entries := make([]model.JournalEntry, 0, len(list))
	for _, e := range slices.Backward(list) {
		entries = append(entries, e.JournalEntry)
	}
	return entries, err
}

// Recover finishes a write that was broken off. Nothing is written where there is
// none, or while somebody else writes. The error is a ConflictError where a file
// is neither as it was nor as it is to be.
func (j *Journal) Recover(ctx context.Context) error {
	records, err := j.records()
	if err != nil || len(records) == 0 {
		return err
	}
	last := records[len(records)-1]
	if last.Entry == nil {
		return ctx.Err()
	}
	unlock, err := j.disk.Lock(path.Join(Folder, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	for _, c := range last.Entry.Changes {
		now, err := j.Version(c.Path)
		switch {
		case err != nil:
			return err
		case now == c.After:
			continue
		case now != c.Before:
			return &ConflictError{c.Path, "was changed"}
		}
		if err := j.change(c); err != nil {
			return err
		}
	}
	return j.append(record{Done: last.Entry.ID})
}
