package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/engine/planning"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// JournalFile is the file of the journal, in the storage folder.
const JournalFile = journal.Folder + "/journal"

// writer is the journal of a storage, opened when it is first needed. It is safe for
// concurrent use, but for Now and WriteThrough.
type writer struct {
	// Now gives the time. It may be replaced before the storage is used.
	Now func() time.Time

	dir string
	// on is where the storage lies if that is no folder of this machine.
	on      tree.Source
	ignore  func(name string) bool
	private bool

	mu      sync.Mutex
	opened  io.Closer // nil until it is needed
	disk    disk.Disk
	journal *journal.Journal
	broken  error
}

// Folder returns the storage folder, in which the journal's lies.
func (w *writer) Folder() string { return w.dir }

// Journal opens the journal, and the disk that it is on. The error is why nothing can be
// written. Nothing is written by this.
func (w *writer) Journal() (*journal.Journal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.journal != nil {
		return w.journal, nil
	}
	if w.on != nil {
		w.setDisk(w.on.Disk())
		return w.journal, nil
	}
	on, err := disk.Open(w.dir)
	if err != nil {
		return nil, files.Cause(err)
	}
	w.opened = on
	w.setDisk(on)
	return w.journal, nil
}

func (w *writer) setDisk(on disk.Disk) {
	w.disk = on
	w.journal = journal.New(on, journal.Options{Ignore: w.ignore, Private: w.private, Now: func() time.Time { return w.Now() }})
}

// WriteThrough has all that is written go through another disk, such as one that fails.
func (w *writer) WriteThrough(other func(disk.Disk) disk.Disk) error {
	if _, err := w.Journal(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setDisk(other(w.disk))
	return nil
}

// Lock takes the lock of a file of the storage folder, as disk.Disk does: that of an agent,
// which is not to write meanwhile. Where the storage is on no disk no agent has one.
func (w *writer) Lock(name string) (unlock func() error, err error) {
	if w.on != nil {
		return func() error { return nil }, nil
	}
	if _, err := w.Journal(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	on := w.disk
	w.mu.Unlock()
	return on.Lock(name)
}

// IsHeld reports whether a program has the lock of a file of the storage folder, see disk.Held.
func (w *writer) IsHeld(name string) bool {
	if w.on != nil {
		return false
	}
	return disk.IsHeld(filepath.Join(w.dir, filepath.FromSlash(name)))
}

// HasWrites reports whether anything was ever written here.
func (w *writer) HasWrites() bool {
	if w.on != nil {
		at, err := w.on.Tree().Stamp(JournalFile)
		return err == nil && at.Kind == files.Regular
	}
	_, err := os.Lstat(filepath.Join(w.dir, filepath.FromSlash(JournalFile)))
	return err == nil
}

// Recover finishes an interrupted write of Hindcast's own. It is the only write without a
// plan, because that write was shown and confirmed. A program that is writing just now causes
// no error. Broken returns any other error from then on; reading still works.
func (w *writer) Recover(ctx context.Context) {
	if !w.HasWrites() {
		return
	}
	j, err := w.Journal()
	if err == nil {
		err = j.Recover(ctx)
	}
	if errors.Is(err, disk.ErrLocked) {
		err = nil
	}
	if err != nil && !errors.As(err, new(*journal.FormatError)) {
		err = fmt.Errorf("a write of Hindcast's own was broken off, and cannot be finished: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = err
}

// Broken says why a write that was broken off could not be finished, or that the journal
// is of another version; nil if neither is so.
func (w *writer) Broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Check reads all kept contents, and reports each whose hash differs from its name. It
// returns the errors of journal.Journal.Check.
func (w *writer) Check(ctx context.Context) error {
	if !w.HasWrites() {
		return ctx.Err()
	}
	j, err := w.Journal()
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	return j.Check(ctx)
}

// Entries returns the journal's entries, the oldest first; no entries if there is no journal.
// For a damaged journal it returns the readable entries and a journal.DamagedError.
func (w *writer) Entries(ctx context.Context) ([]journal.Entry, error) {
	if !w.HasWrites() {
		return nil, ctx.Err()
	}
	j, err := w.Journal()
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return j.Entries(ctx)
}

// isOwnWrite reports whether a file of the storage folder is as Hindcast's last write to it
// left it.
func (w *writer) isOwnWrite(name string) bool {
	list, _ := w.Entries(context.Background()) // it is in memory but for the first time
	seen := map[*journal.Part]bool{}
	for _, e := range slices.Backward(list) {
		for _, p := range e.Parts() {
			if seen[p] {
				continue
			}
			seen[p] = true
			c, _ := p.Find(name)
			if c.Before == c.After {
				continue
			}
			left := c.After
			if e.Undone {
				left = c.Before
			}
			j, err := w.Journal()
			if err != nil {
				return false
			}
			now, err := j.Version(name)
			return err == nil && now.SHA256 == left.SHA256 && now.Size == left.Size
		}
	}
	return false
}

// Written is when a file of the storage folder was written.
type Written struct {
	Name string
	At   time.Time
}

// findRecentWrite reports whether one of some files was written by another program just now: then
// an agent may be at work on the session. ago is how long ago the newest was. A time as
// far ahead of the clock counts as well, and is no time ago.
func (w *writer) findRecentWrite(list []Written) (ago time.Duration, lively bool) {
	now := w.Now()
	slices.SortStableFunc(list, func(a, b Written) int { return b.At.Compare(a.At) })
	for _, f := range list {
		ago = now.Sub(f.At)
		if f.At.IsZero() || ago > planning.LiveWithin {
			return 0, false
		}
		if ago >= -planning.LiveWithin && !w.isOwnWrite(f.Name) {
			return max(0, ago), true
		}
	}
	return 0, false
}

// planBack plans an undo or a redo as far as the journal knows it, and returns the reversed
// entry. It returns the errors of journal.Journal.PlanUndo.
func (w *writer) planBack(ctx context.Context, op model.Op) (model.Plan, *journal.Entry, error) {
	j, err := w.Journal()
	if err != nil {
		return model.Plan{}, nil, err
	}
	back := j.PlanUndo
	if op == model.OpRedo {
		back = j.PlanRedo
	}
	plan, err := back(ctx)
	if err != nil {
		return plan, nil, err
	}
	list, err := j.Entries(ctx)
	if i := slices.IndexFunc(list, func(e journal.Entry) bool { return e.ID == plan.Entry }); i >= 0 {
		return plan, &list[i], nil
	}
	return plan, nil, cmp.Or(err, error(&model.NothingToError{Op: op}))
}

// closeDisk lets go of the disk.
func (w *writer) closeDisk() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened == nil {
		return nil
	}
	return w.opened.Close()
}
