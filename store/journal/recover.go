package journal

import (
	"context"
	"errors"
	"fmt"

	"hindcast/model"
)

// Recover finishes a write that was broken off. Nothing is written where there is
// none, or while somebody else writes: then the error is disk.ErrLocked.
//
// Where a file is neither as it was nor as it is to be, nothing is touched, and the
// entry says from then on why it is broken off. Where only a guard does not hold, it
// is taken back. The error is a ConflictError both times, once.
func (j *Journal) Recover(ctx context.Context) error {
	h, err := j.history()
	if err != nil {
		return explain(err, unread)
	}
	if h.open == nil {
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := j.disk.Lock(lockName)
	if err != nil {
		return explain(fmt.Errorf("write %d, a %s of %s, was broken off and cannot be finished: %w", h.open.ID, h.open.Op, h.open.Session, err), "nothing was changed now")
	}
	defer unlock()
	if h, err = j.history(); err != nil {
		return explain(err, unread)
	}
	if h.open == nil {
		return nil // whoever had the lock has finished it
	}
	if err := j.recover(h); err != nil {
		return explain(err, fmt.Sprintf("write %d, a %s of %s, was broken off before", h.open.ID, h.open.Op, h.open.Session))
	}
	return nil
}

// recover ends the open intent, under the lock.
func (j *Journal) recover(h *history) error {
	e := *h.open // what was read is not written to
	w := j.newWrite(&e, h.torn)
	if err := w.rescueAll(); err != nil {
		return &UnfinishedError{w.ID, err}
	}
	if err := w.sweep(); err != nil {
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
		err := w.takeBack(all, errors.New(w.why))
		if unfinished := (*UnfinishedError)(nil); errors.As(err, &unfinished) {
			return err
		}
		return nil
	}
	err := w.lookAll()
	if err == nil {
		err = w.unmixed()
	}
	switch conflict := (*ConflictError)(nil); {
	case errors.As(err, &conflict):
		conflict.Do = "what it set aside can still be restored"
		if failed := w.append(record{Off: w.ID, Why: conflict.Path + " " + conflict.Found}); failed != nil {
			return &UnfinishedError{w.ID, errors.Join(err, failed)}
		}
		return err
	case err != nil:
		return &UnfinishedError{w.ID, err}
	}
	for i, c := range w.Changes {
		if !c.After.file() || w.seen[i].Version == c.After {
			continue
		}
		if err := w.keep(c, nil, nil); err != nil {
			if gone := (*PurgedError)(nil); errors.As(err, &gone) {
				return w.takeBack(all, err)
			}
			return &UnfinishedError{w.ID, err}
		}
	}
	if err := w.guarded(); err != nil {
		if conflict := (*ConflictError)(nil); errors.As(err, &conflict) {
			return w.takeBack(all, err)
		}
		return &UnfinishedError{w.ID, err}
	}
	return w.carryOut(context.Background(), nil)
}

// rescueAll puts back what the changes moved away although it was somebody else's.
func (w *write) rescueAll() error {
	return parallel(len(w.Changes), func(i int, _ *[]byte) error { return w.rescue(i) })
}

// unmixed checks that every file is as it was before or as it is to be.
func (w *write) unmixed() error {
	for i, c := range w.Changes {
		if now := w.seen[i]; c.Does != model.FileForgotten && !now.same(c.Before) && !now.same(c.After) {
			return &ConflictError{Path: c.Path, Found: became(c.Before, now.Version)}
		}
	}
	return nil
}
