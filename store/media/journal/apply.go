package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hindcast/model"
)

// Apply carries out a plan that came out of [Draft.Plan], [Journal.PlanUndo] or
// [Journal.PlanRedo]. verify reads the store again, by the framework's own rule,
// and says what is not as planned: then everything is taken back. Nil verifies
// nothing.
//
// A plan that writes nothing is done when nothing has been written: its receipt is
// without an entry.
//
// After an error nothing is changed, or all of it was taken back, but for an
// UnfinishedError and a LeftError. The errors are ErrNoCarry, a ConflictError, a
// PurgedError, a KeptError,
// disk.ErrLocked, the error of verify, and errors of the file system. A ctx that ends
// stops it until the first file changes, and not after.
func (j *Journal) Apply(ctx context.Context, plan model.Plan, verify func(context.Context) error) (model.Receipt, error) {
	e := &intent{}
	var d *Draft
	switch carry := plan.Carry.(type) {
	case *Draft:
		d = carry
		e.Changes, e.Stays, e.NewSession, e.Was, e.Head = carry.changes, carry.stays, plan.NewSession, carry.was, carry.head
		for _, g := range carry.guards {
			e.Guards = append(e.Guards, g.Guard)
		}
		e.Session = plan.Session
		if plan.NewSession != "" {
			e.Session = plan.NewSession
		}
		if len(carry.changes) == 0 {
			return model.Receipt{Op: plan.Op, Session: e.Session, Head: plan.Target}, ctx.Err()
		}
		e.From, e.FromIndex, e.To, e.ToIndex = plan.Head.ID, plan.Head.Index, plan.Target.ID, plan.Target.Index
	case *back:
		e.Entry, e.Changes, e.of = carry.Entry, carry.changes, carry.of
	default:
		return model.Receipt{}, ErrNoCarry
	}
	e.Op = plan.Op
	if err := j.applyIntent(ctx, e, d, verify); err != nil {
		return model.Receipt{}, err
	}
	receipt := model.Receipt{Entry: e.ID, Op: plan.Op, Session: e.Session, Head: plan.Target,
		Orphaned: len(plan.Orphans), Reactivated: len(plan.Reactivates)}
	if e.of != 0 {
		receipt.Entry = e.of
	}
	return receipt, nil
}

const unchanged = "nothing was changed"

func (j *Journal) applyIntent(ctx context.Context, e *intent, d *Draft, verify func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.makeFolders(); err != nil {
		return explainOutcome(err, unchanged)
	}
	unlock, err := j.disk.Lock(lockName)
	if err != nil {
		return explainOutcome(err, unchanged)
	}
	defer unlock()
	if err := j.prepareFile(); err != nil {
		return explainOutcome(err, unchanged)
	}
	w, err := j.beginWrite(ctx, e, d)
	if err != nil {
		return explainOutcome(err, unchanged)
	}
	if err := w.carryOut(ctx, verify); err != nil {
		if unfinished := (*UnfinishedError)(nil); errors.As(err, &unfinished) {
			return explainOutcome(err, "the journal has the steps that are left to do")
		}
		if left := (*LeftError)(nil); errors.As(err, &left) {
			return explainOutcome(err, "the journal lists what it changed")
		}
		return explainOutcome(err, "everything was taken back")
	}
	return nil
}

// makeFolders makes the journal's own folders.
func (j *Journal) makeFolders() error {
	for _, dir := range []string{Folder, keptName, outName} {
		if err := j.disk.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// prepareFile makes the journal's file, under the lock.
func (j *Journal) prepareFile() error {
	if _, err := j.disk.Lstat(fileName); err == nil {
		return nil
	}
	if err := j.disk.Create(fileName, nil, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// beginWrite does all of a write that changes no file: after it, the intent is in the
// journal. When it fails, the intent is not, or its end is as well.
func (j *Journal) beginWrite(ctx context.Context, e *intent, d *Draft) (*write, error) {
	h, err := j.readHistory()
	if err != nil {
		return nil, err
	}
	if h.open != nil {
		if err := j.endIntent(h); err != nil {
			return nil, fmt.Errorf("a write was broken off before: %w", err)
		}
		if h, err = j.readHistory(); err != nil {
			return nil, err
		}
	}
	if e.of != 0 {
		if p := h.nextReversal(e.Op); p == nil || p.ID != e.of {
			return nil, fmt.Errorf("%s of write %d: another write came before it: look again: %w", e.Op, e.of, model.ErrHeadMoved)
		}
	}
	e.ID, e.At = h.last+1, j.o.Now()
	w := j.newWrite(e, h)
	if err := w.sweepOut(); err != nil {
		return nil, err
	}
	if err := w.checkExpected(); err != nil {
		return nil, err
	}
	if err := w.keepAll(d); err != nil {
		return nil, err
	}
	if err := w.keepStays(); err != nil {
		return nil, err
	}
	if err := w.stageCopies(w.Changes, w.bringingChanges(), d); err != nil {
		return nil, err
	}
	// The names of the journal and its folders may be new, or another's who was
	// killed before he synced them.
	for _, dir := range []string{keptName, Folder, "."} {
		if err := j.disk.Sync(dir); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := record{Entry: &Entry{JournalEntry: e.JournalEntry, NewSession: e.NewSession, Guards: e.Guards}, Of: e.of}
	if e.of == 0 {
		r.Changes, r.Was, r.Head = slices.Concat(e.Changes, e.Stays), e.Was, e.Head
		if r.Came, err = j.namesSince(h, d); err != nil {
			return nil, err
		}
	}
	if err := w.appendRecord(r); err != nil {
		// It may be there nevertheless.
		if h, unknown := j.readHistory(); unknown == nil && h.open == nil {
			return nil, err
		}
		if failed := w.appendRecord(record{Back: e.ID, Why: err.Error()}); failed != nil {
			return nil, &UnfinishedError{e.ID, errors.Join(err, failed)}
		}
		return nil, err
	}
	return w, nil
}

// keepAll puts all new contents into kept/, and checks that what is replaced and set
// aside can be put there later.
func (w *write) keepAll(d *Draft) error {
	var old, fresh []Version
	var leaves []int // the changes by which the old ones leave
	leaving, coming := map[Version]bool{}, map[Version]bool{}
	for i, c := range w.Changes {
		if c.Before.file() && c.Does != model.FileForgotten && !leaving[c.Before] {
			leaving[c.Before] = true
			old, leaves = append(old, c.Before), append(leaves, i)
		}
		if _, given := d.findContent(c.After); given && !coming[c.After] {
			coming[c.After] = true
			fresh = append(fresh, c.After)
		}
	}
	there := make([]bool, len(old))
	err := w.j.runParallel(len(old), func(i int, buf *[]byte) (err error) {
		there[i], err = w.isKept(old[i], buf)
		if err == nil && !there[i] && w.j.turner != nil {
			err, there[i] = w.keepLive(w.Changes[leaves[i]].Path, old[i], w.seen[leaves[i]]), true
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, v := range old {
		w.have[v] = there[i]
	}
	err = w.j.runParallel(len(fresh), func(i int, buf *[]byte) error {
		one := *w // the names of what it makes are its own
		one.fresh = i * 2
		data, _ := d.findContent(fresh[i])
		return one.keepNew(data, fresh[i], buf)
	})
	w.fresh = 2 * len(fresh)
	if err != nil {
		return err
	}
	for _, v := range fresh {
		w.have[v] = true
	}
	return nil
}

// keepStays copies what stays into kept/, as far as it is not there yet.
func (w *write) keepStays() error {
	if w.of != 0 {
		return nil // it was kept by the write that this takes back, or does again
	}
	copies := make([]string, len(w.Stays))
	err := w.j.runParallel(len(w.Stays), func(i int, buf *[]byte) error {
		s := w.Stays[i]
		there, err := w.isKept(s.Before, buf)
		if err != nil || there {
			return err
		}
		if w.j.turner != nil {
			now, err := w.j.lookAt(s.Path, buf)
			if err == nil && now.Version != s.Before {
				err = &ConflictError{Path: s.Path, Found: describeChange(s.Before, now.Version)}
			}
			if err == nil {
				err = w.keepLive(s.Path, s.Before, now)
			}
			return err
		}
		copies[i] = fmt.Sprintf("%s/%s%d.stays.%d", outName, newPrefix, w.ID, i)
		return w.copyLive(s.Path, copies[i], s.Before, buf)
	})
	made := slices.DeleteFunc(slices.Clone(copies), func(name string) bool { return name == "" })
	if err == nil {
		err = w.j.disk.Flush(made)
	}
	if err != nil {
		return err
	}
	for i, name := range copies {
		if name == "" {
			continue
		}
		if err := w.moveToKept(name, w.Stays[i].Before); err != nil {
			return err
		}
	}
	return nil
}

// carryOut makes all changes and says so in the journal, or takes them back.
func (w *write) carryOut(ctx context.Context, verify func(context.Context) error) error {
	if w.Op == model.OpPurge {
		return w.forgetAll(ctx, verify)
	}
	for from, to := 0, 0; from < len(w.Changes); from = to {
		to = from + w.batchSize(from)
		err := w.j.runParallel(to-from, func(n int, _ *[]byte) error {
			i := from + n
			if w.Changes[i].After.same(w.seen[i].Version) {
				return nil // in Recover: it is done
			}
			return w.makeChange(i, w.Changes[i], w.seen[i])
		})
		if err != nil {
			return w.takeBack(to, err)
		}
	}
	err := w.syncFolders()
	if err == nil {
		err = w.verifyStore(context.WithoutCancel(ctx), verify)
	}
	if err != nil {
		return w.takeBack(len(w.Changes), err)
	}
	return w.noteDone()
}

// batchSize returns how many of the changes from one on are made at once: on a disk where each
// takes long, the files that are taken away one after the other.
func (w *write) batchSize(from int) int {
	n := 0
	for w.j.turner != nil && from+n < len(w.Changes) && w.Changes[from+n].Before.file() && w.Changes[from+n].After.None() {
		n++
	}
	return max(n, 1)
}

// verifyStore checks that no other program wrote meanwhile, and then what the kind reads.
// If another program wrote while the kind read, the error is that conflict.
func (w *write) verifyStore(ctx context.Context, verify func(context.Context) error) error {
	err := w.checkUndisturbed()
	if err != nil || verify == nil {
		return err
	}
	if err = verify(ctx); err == nil {
		return nil
	}
	return cmp.Or(w.checkUndisturbed(), err)
}

// checkUndisturbed checks that all changes are as they were made, and that the guards hold.
func (w *write) checkUndisturbed() error {
	if err := w.checkChanges(); err != nil {
		return err
	}
	return w.checkGuards()
}

// forgetAll carries out a purge. As nothing can be taken back, it is verified
// first: the store itself does not change.
func (w *write) forgetAll(ctx context.Context, verify func(context.Context) error) error {
	if err := w.verifyStore(ctx, verify); err != nil {
		return w.takeBack(0, err)
	}
	return w.forgetContents()
}

func (w *write) forgetContents() error {
	for _, c := range w.Changes {
		if err := w.forgetContent(c.Before); err != nil {
			return &UnfinishedError{w.ID, err}
		}
	}
	if err := w.j.disk.Sync(keptName); err != nil {
		return &UnfinishedError{w.ID, err}
	}
	return w.noteDone()
}

func (w *write) noteDone() error {
	if err := w.appendRecord(record{Done: w.ID}); err != nil {
		return &UnfinishedError{w.ID, err}
	}
	return nil
}
