// Package writing is what every kind of store that is a folder of files writes with: the
// storage folder with its journal, opened when it is first needed, with what was
// broken off finished; why nothing can be written; what Hindcast itself wrote, so that
// it is not taken for an agent at work; and undo and redo as far as the journal knows
// them.
//
// A kind has a [Desk] for each storage folder, and says itself what a plan means for
// its sessions.
package writing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/disk"
	"hindcast/store/files"
	"hindcast/store/journal"
)

// JournalFile is the file of the journal, in the storage folder.
const JournalFile = journal.Folder + "/journal"

// Disk is a disk that is let go of.
type Disk interface {
	disk.Disk
	io.Closer
}

// Desk is what a storage folder is written with. It is safe for concurrent use, but for
// Now and Through.
type Desk struct {
	// Now gives the time. It may be replaced before the desk is used.
	Now func() time.Time

	dir, way string
	ignore   func(name string) bool

	mu      sync.Mutex
	disk    Disk // nil until it is needed
	journal *journal.Journal
	broken  error
}

// New returns the desk of a storage folder. way leads from there down to the folder that
// the names of the store are below; "" and "." are the folder itself. ignore is
// that of journal.Options. Nothing is opened.
func New(dir, way string, ignore func(name string) bool) *Desk {
	return &Desk{Now: time.Now, dir: dir, way: way, ignore: ignore}
}

// Folder returns the storage folder, in which the journal's lies.
func (d *Desk) Folder() string { return d.dir }

// Inside returns the name in the storage folder of a name in the store.
func (d *Desk) Inside(name string) string { return path.Join(d.way, name) }

// Journal opens the journal, and the disk that it is on. The error is why nothing can be
// written. Nothing is written by this.
func (d *Desk) Journal() (*journal.Journal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.journal != nil {
		return d.journal, nil
	}
	on, err := disk.Open(d.dir)
	if err != nil {
		return nil, files.Cause(err)
	}
	d.put(on)
	return d.journal, nil
}

func (d *Desk) put(on Disk) {
	d.disk = on
	d.journal = journal.New(on, journal.Options{Ignore: d.ignore, Now: func() time.Time { return d.Now() }})
}

// Disk returns the disk that the journal is on, with the errors of Journal.
func (d *Desk) Disk() (disk.Disk, error) {
	if _, err := d.Journal(); err != nil {
		return nil, err
	}
	return d.disk, nil
}

// Through has all that is written go through another disk, such as one that fails.
func (d *Desk) Through(other func(Disk) Disk) error {
	if _, err := d.Journal(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(other(d.disk))
	return nil
}

// Begun reports whether anything was ever written here.
func (d *Desk) Begun() bool {
	_, err := os.Lstat(filepath.Join(d.dir, filepath.FromSlash(JournalFile)))
	return err == nil
}

// Recover finishes a write of Hindcast's own that was broken off: the one thing that is
// written without a plan, because that write was shown and confirmed. That a program
// writes just now is no error. Any other is what Broken returns from then on; reading
// still works.
func (d *Desk) Recover(ctx context.Context) {
	if !d.Begun() {
		return
	}
	j, err := d.Journal()
	if err == nil {
		err = j.Recover(ctx)
	}
	if errors.Is(err, disk.ErrLocked) {
		err = nil
	}
	if err != nil && !errors.As(err, new(*journal.FormatError)) {
		err = fmt.Errorf("a write of Hindcast's own was broken off, and cannot be finished: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

// Broken says why a write that was broken off could not be finished, or that the journal
// is of another version; nil if neither is so.
func (d *Desk) Broken() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// Check tells of what is kept and is not what its name says, with the errors of
// journal.Journal.Check. It reads all that is kept.
func (d *Desk) Check(ctx context.Context) error {
	if !d.Begun() {
		return ctx.Err()
	}
	j, err := d.Journal()
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	return j.Check(ctx)
}

// Entries returns what was written, the oldest first; nothing where that is nothing. What
// can be read of a damaged journal comes with a journal.DamagedError.
func (d *Desk) Entries(ctx context.Context) ([]journal.Entry, error) {
	if !d.Begun() {
		return nil, ctx.Err()
	}
	j, err := d.Journal()
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	return j.Entries(ctx)
}

// Own reports whether a file of the storage folder is as Hindcast's last write to it
// left it.
func (d *Desk) Own(name string) bool {
	list, err := d.Entries(context.Background()) // it is in memory but for the first time
	if err != nil && len(list) == 0 {
		return false
	}
	seen := map[*journal.Part]bool{}
	for _, e := range slices.Backward(list) {
		for _, p := range e.Parts() {
			if seen[p] {
				continue
			}
			seen[p] = true
			c, found := p.Find(name)
			if !found || c.Before == c.After {
				continue
			}
			left := c.After
			if e.Undone {
				left = c.Before
			}
			j, err := d.Journal()
			if err != nil {
				return false
			}
			now, err := j.Version(name)
			return err == nil && now.SHA256 == left.SHA256 && now.Size == left.Size
		}
	}
	return false
}

// Stamp is when a file of the storage folder was written.
type Stamp struct {
	Name string
	At   time.Time
}

// Lively reports whether one of some files was written by another program within a time
// before now: then an agent may be at work on the session. ago is how long ago the
// newest was. A time as far ahead of the clock counts as well, and is no time ago.
func (d *Desk) Lively(within time.Duration, list ...Stamp) (ago time.Duration, lively bool) {
	now := d.Now()
	slices.SortStableFunc(list, func(a, b Stamp) int { return b.At.Compare(a.At) })
	for _, f := range list {
		ago = now.Sub(f.At)
		if f.At.IsZero() || ago > within {
			return 0, false
		}
		if ago >= -within && !d.Own(f.Name) {
			return max(0, ago), true
		}
	}
	return 0, false
}

// PlanBack plans an undo or a redo as far as the journal knows it, and returns the entry
// that it is of. The errors are those of journal.Journal.PlanUndo.
func (d *Desk) PlanBack(ctx context.Context, op model.Op) (model.Plan, *journal.Entry, error) {
	j, err := d.Journal()
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
	if err == nil {
		err = &model.NothingToError{Op: op}
	}
	return plan, nil, err
}

// Close lets go of the disk.
func (d *Desk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.disk == nil {
		return nil
	}
	return d.disk.Close()
}
