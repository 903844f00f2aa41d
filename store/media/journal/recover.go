package journal

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
)

// Recover finishes a write that was broken off. Nothing is written if there
// is no such write, or while another program writes: then the error is disk.ErrLocked.
//
// Where a file is neither as it was nor as it is to be, nothing is touched, and the
// entry says from then on why it is broken off. Where only a guard does not hold, it
// is taken back. The error is a ConflictError both times, once. What copies files that
// are not kept is taken back, too, and that is no error. Where a content is needed that
// is lost, it is taken back as far as that goes; the error is a PurgedError or a
// KeptError, once, in a LeftError if something stays as it is.
func (j *Journal) Recover(ctx context.Context) error {
	h, err := j.readHistory()
	if err != nil {
		return explainOutcome(err, unread)
	}
	if h.open == nil {
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := j.disk.Lock(lockName)
	if err != nil {
		return explainOutcome(fmt.Errorf("write %d, a %s of %s, was broken off and cannot be finished: %w", h.open.ID, h.open.Op, h.open.Session, err), "nothing was changed now")
	}
	defer unlock()
	if h, err = j.readHistory(); err != nil {
		return explainOutcome(err, unread)
	}
	if h.open == nil {
		return nil // the program that had the lock has finished it
	}
	if err := j.endIntent(h); err != nil {
		return explainOutcome(err, fmt.Sprintf("write %d, a %s of %s, was broken off before", h.open.ID, h.open.Op, h.open.Session))
	}
	return nil
}

// endIntent ends the open intent, under the lock.
func (j *Journal) endIntent(h *history) error {
	w := j.newWrite(h.openIntent(), h)
	if err := w.rescueAll(); err != nil {
		return &UnfinishedError{w.ID, err}
	}
	if err := w.sweepOut(); err != nil {
		return &UnfinishedError{w.ID, err}
	}
	all := len(w.Changes)
	if w.Op == model.OpPurge {
		if !w.taking {
			return w.forgetContents()
		}
		all = 0 // it had not begun
	}
	if w.taking {
		return w.takeBackQuietly(all, errors.New(w.why))
	}
	err := w.lookAll()
	if err == nil {
		err = w.checkUnmixed()
	}
	switch conflict := (*ConflictError)(nil); {
	case errors.As(err, &conflict):
		conflict.Do = "what it set aside can still be restored"
		if failed := w.appendRecord(record{Off: w.ID, Why: conflict.Path + " " + conflict.Found}); failed != nil {
			return &UnfinishedError{w.ID, errors.Join(err, failed)}
		}
		return err
	case err != nil:
		return &UnfinishedError{w.ID, err}
	}
	switch err := w.stageCopies(w.Changes, w.bringingChanges(), nil); {
	case errors.Is(err, errCopy):
		return w.takeBackQuietly(all, err)
	case isLost(err):
		return w.takeBack(all, err)
	case err != nil:
		return &UnfinishedError{w.ID, err}
	}
	if err := w.checkGuards(); err != nil {
		if conflict := (*ConflictError)(nil); errors.As(err, &conflict) {
			return w.takeBack(all, err)
		}
		return &UnfinishedError{w.ID, err}
	}
	return w.carryOut(context.Background(), nil)
}

// takeBackQuietly takes back what was begun and is no error: it is one if that fails.
func (w *write) takeBackQuietly(n int, why error) error {
	err := w.takeBack(n, why)
	unfinished, left := (*UnfinishedError)(nil), (*LeftError)(nil)
	if errors.As(err, &unfinished) || errors.As(err, &left) {
		return err
	}
	return nil
}

// isLost reports whether an error says that a content is no longer kept, or not as it
// was: what needs it will never be done.
func isLost(err error) bool {
	gone, damaged := (*PurgedError)(nil), (*KeptError)(nil)
	return errors.As(err, &gone) || errors.As(err, &damaged)
}

// rescueAll puts back what the changes moved away although it was another program's.
func (w *write) rescueAll() error {
	return w.j.runParallel(len(w.Changes), func(i int, _ *[]byte) error { return w.rescueFile(i) })
}

// checkUnmixed checks that every file is as it was before or as it is to be.
func (w *write) checkUnmixed() error {
	for i, c := range w.Changes {
		if now := w.seen[i]; c.Does != model.FileForgotten && !now.same(c.Before) && !now.same(c.After) {
			return &ConflictError{Path: c.Path, Found: describeChange(c.Before, now.Version)}
		}
	}
	return nil
}
