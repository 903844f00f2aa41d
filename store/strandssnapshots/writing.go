package strandssnapshots

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/disk"
	"hindcast/store/files"
	"hindcast/store/journal"
)

// FaultJournal: a write of Hindcast's own was broken off and could not be finished.
const FaultJournal = "journal"

// writing is what it takes to write. Everything is written through the journal, which
// lies in the storage folder: that around session/, or the one that the folders
// of legacy sessions are in. So it is the same one whether the storage, its
// session/ or the folder of one session was opened.
type writing struct {
	disk    *disk.OS
	journal *journal.Journal
	// below is where the opened folder is in the storage folder: ".", "session",
	// "basic" or "session/basic".
	below string
	// now and random are replaced in tests.
	now    func() time.Time
	random func([]byte)
	// err is why nothing can be written, unfinished why a write that was broken
	// off could not be finished; nil for no reason.
	err, unfinished error
	// known is what the journal held when it had the size, in bytes.
	known struct {
		sync.Mutex
		size int64
		list []journal.Entry
	}
}

// openWriter opens what writing needs. That it cannot be opened keeps nobody from
// reading. A write of Hindcast's own that was broken off is finished.
func (s *Store) openWriter(ctx context.Context) {
	w := &s.writer
	w.below, w.now = ".", time.Now
	w.random = func(b []byte) { _, _ = rand.Read(b) } // it never fails
	dir, err := filepath.Abs(s.dir)
	up := func() {
		w.below = path.Join(filepath.Base(dir), w.below)
		dir = filepath.Dir(dir)
	}
	if s.single != nil {
		up()
	}
	if s.unified || s.single != nil && s.single.unified {
		up()
	}
	if err == nil {
		w.disk, err = disk.Open(dir)
	}
	if err != nil {
		w.err = fmt.Errorf("the folder %q, in which the journal is kept, cannot be opened: %w", dir, files.Cause(err))
		return
	}
	w.journalOn(w.disk)
	if err := w.journal.Recover(ctx); err != nil && !errors.Is(err, disk.ErrLocked) {
		w.unfinished = err
	}
}

// journalOn makes the journal on a disk.
func (w *writing) journalOn(d disk.Disk) {
	w.journal = journal.New(d, journal.Options{
		Ignore: isTemporary,
		Now:    func() time.Time { return w.now() },
	})
}

func (w *writing) close() error {
	if w.disk == nil {
		return nil
	}
	return w.disk.Close()
}

// name gives the name of a file of a place in the storage folder.
func (w *writing) name(p *place, elem ...string) string {
	return path.Join(w.below, p.path(elem...))
}

// file is name for a snapshot.
func (w *writing) file(p *place, name string) string { return path.Join(w.below, p.file(name)) }

// ready gives why nothing can be written, nil if it can. A write that was broken
// off is no reason: the next one finishes it first.
func (w *writing) ready() error { return w.err }

// entries gives what the journal knows; nothing where it cannot be read, because
// the sessions can be read without it. Nobody may write to it. A list of sessions
// asks for it once for each, so it is kept for as long as nothing is appended.
func (w *writing) entries(ctx context.Context) []journal.Entry {
	if w.journal == nil {
		return nil
	}
	info, err := w.disk.Lstat(path.Join(journal.Folder, "journal"))
	if err != nil {
		return nil
	}
	w.known.Lock()
	defer w.known.Unlock()
	if w.known.size == info.Size() && w.known.list != nil {
		return w.known.list
	}
	list, err := w.journal.Entries(ctx)
	if err != nil && len(list) == 0 {
		return nil // where some records are damaged, the others are told
	}
	w.known.size, w.known.list = info.Size(), list
	return list
}

// fault tells of a write that was broken off and could not be finished.
func (w *writing) fault() (f model.Fault, ok bool) {
	if w.unfinished == nil {
		return f, false
	}
	return model.Fault{Code: FaultJournal, File: path.Join(journal.Folder, "journal"),
		Meaning: "a write of Hindcast's own was broken off and could not be finished: " + w.unfinished.Error(),
		Verdict: loads + "no SDK looks at the journal"}, true
}

// Apply implements store.Applier. The errors are those of journal.Journal.Apply:
// a journal.ConflictError where somebody wrote to the session since the plan was
// made.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	receipt, err := s.apply(ctx, plan)
	if err != nil {
		return receipt, fmt.Errorf("%s: %s session %q: %w", kind, plan.Op, plan.Session, err)
	}
	return receipt, nil
}

func (s *Store) apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	if err := s.writer.ready(); err != nil {
		return model.Receipt{}, err
	}
	if draft, ok := plan.Carry.(*journal.Draft); ok && len(draft.Changes()) == 0 {
		return model.Receipt{Op: plan.Op, Session: plan.Session, Head: plan.TargetID, HeadIndex: plan.TargetIndex}, nil
	}
	return s.writer.journal.Apply(ctx, plan, func(ctx context.Context) error {
		return s.verify(ctx, plan)
	})
}

// verify reads the files again that a plan changed. Each must hold what the plan
// said, and where the SDKs start from, snapshot_latest.json, a whole snapshot.
func (s *Store) verify(ctx context.Context, plan model.Plan) error {
	draft, ok := plan.Carry.(*journal.Draft)
	if !ok || plan.Op == model.OpPurge {
		return ctx.Err() // the journal does all of an undo, a redo and a purge
	}
	for _, c := range draft.Changes() {
		if err := ctx.Err(); err != nil {
			return err
		}
		now, err := s.writer.journal.Version(c.Path)
		switch {
		case err != nil:
			return err
		case now != c.After:
			return fmt.Errorf("%s does not hold what was written there", c.Path)
		case path.Base(c.Path) != latestFile || now.None():
			continue
		}
		data, err := s.writer.disk.Read(c.Path)
		if err != nil {
			return err
		}
		if found, _ := readCapture(data); found.Problem != "" {
			return fmt.Errorf("%s cannot be loaded: %s", c.Path, found.Problem)
		}
	}
	return nil
}

// identity checks the name of a new session: that the SDK of a dialect takes it,
// and that it names one folder.
func identity(as string, d dialect) error {
	switch {
	case as == "":
		return errors.New("the new session needs a name")
	case d == typeScript && !identifier.MatchString(as):
		return fmt.Errorf("%q is no session for Strands for TypeScript: use a-z, 0-9, - and _ alone", as)
	case strings.TrimSpace(as) == "" || as == "." || as == ".." || strings.ContainsAny(as, "/\x00"):
		return fmt.Errorf("%q is no session for Strands: take the name of a folder, without a slash", as)
	case !fs.ValidPath(as) || !filepath.IsLocal(as) || filepath.Base(as) != as:
		return fmt.Errorf("%q cannot be the name of a folder", as)
	case as == journal.Folder || as == namespace || as == stashDir:
		return fmt.Errorf("the name %q is taken by the storage itself", as)
	}
	return nil
}
