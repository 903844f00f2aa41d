package old

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/disk"
	"hindcast/store/journal"
	"hindcast/store/writing"
)

// FaultJournal: a write of Hindcast's own was broken off and could not be finished.
const FaultJournal = "journal"

// desk is what it takes to write. Everything is written through the journal, which
// lies in the storage folder: that around session/, or the one that the folders
// of legacy sessions are in. So it is the same one whether the storage, its
// session/ or the folder of one session was opened.
type desk struct {
	*writing.Desk
	// journal and disk are nil where err says why nothing can be written.
	journal *journal.Journal
	disk    disk.Disk
	err     error
	// unfinished is why a write that was broken off could not be finished.
	unfinished error
	// random is replaced in tests.
	random func([]byte)
}

// openWriter opens what writing needs. If that fails,
// reading still works. A write of Hindcast's own that was broken off is finished.
func (s *Store) openWriter(ctx context.Context) {
	dir, err := filepath.Abs(s.dir)
	below := "."
	up := func() {
		below = path.Join(filepath.Base(dir), below)
		dir = filepath.Dir(dir)
	}
	if s.single != nil {
		up()
	}
	if s.unified || s.single != nil && s.single.unified {
		up()
	}
	w := &s.writer
	w.Desk = writing.New(dir, below, isTemporary)
	w.random = func(b []byte) { _, _ = rand.Read(b) } // it never fails
	if err == nil {
		err = w.reach()
	}
	if err != nil {
		w.err = fmt.Errorf("the folder %q, in which the journal is kept, cannot be opened: %w", dir, err)
		return
	}
	w.Recover(ctx)
	w.unfinished = w.Broken()
}

// reach opens the journal and its disk.
func (w *desk) reach() (err error) {
	if w.journal, err = w.Journal(); err == nil {
		w.disk, err = w.Disk()
	}
	return err
}

// name returns the name of a file of a place in the storage folder.
func (w *desk) name(p *place, elem ...string) string {
	return w.Inside(p.path(elem...))
}

// file is name for a snapshot.
func (w *desk) file(p *place, name string) string { return w.Inside(p.file(name)) }

// ready returns why nothing can be written, nil if it can. A write that was broken
// off is no reason: the next one finishes it first.
func (w *desk) ready() error { return w.err }

// entries returns what the journal knows; nothing where it cannot be read, because
// the sessions can be read without it. Where some records are damaged, it is the others.
func (w *desk) entries(ctx context.Context) []journal.Entry {
	list, _ := w.Entries(ctx)
	return list
}

// fault tells of a write that was broken off and could not be finished.
func (w *desk) fault() (f model.Fault, ok bool) {
	if w.unfinished == nil {
		return f, false
	}
	return journalFault(w.unfinished.Error()), true
}

func journalFault(meaning string) model.Fault {
	return model.Fault{Code: FaultJournal, File: writing.JournalFile, Meaning: meaning, Verdict: "loads; no SDK looks at the journal"}
}

// faults tells of all that is wrong with the journal and with what is kept.
func (w *desk) faults(ctx context.Context, faults *store.FaultList) {
	if f, ok := w.fault(); ok {
		faults.Add(f)
	}
	_, unread := w.Entries(ctx)
	for _, err := range []error{unread, w.Check(ctx)} {
		if err != nil && ctx.Err() == nil {
			faults.Add(journalFault(err.Error()))
		}
	}
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpConvert, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		if err := s.writer.ready(); err != nil {
			return err.Error()
		}
		return ""
	case model.OpRun:
		return "Strands has no process that can be asked to go on"
	}
	return store.Cannot(kind, op)
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, fmt.Errorf("%s: plan %s: %w", kind, c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if err := s.writer.ready(); err != nil {
		return model.Plan{}, err
	}
	switch c.Op {
	case model.OpRestore:
		return s.planRestore(ctx, c.Ref)
	case model.OpFork:
		return s.planFork(ctx, c.Ref, c.As)
	case model.OpEdit:
		return s.planEdit(ctx, c.Ref, c.As, c.State)
	case model.OpRepair:
		return s.planRepair(ctx, c.Ref.Session)
	case model.OpPurge:
		return s.planPurge(ctx, c.Ref.Session, c.Scope)
	case model.OpUndo, model.OpRedo:
		return s.planBack(ctx, c.Op)
	}
	return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: s.Lacks(c.Op)}
}

// Apply implements store.Writer. The errors are those of journal.Journal.Apply:
// a journal.ConflictError where a program wrote to the session since the plan was
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
	case as == journal.Folder || as == namespace || as == stashDir || as == latestFile:
		return fmt.Errorf("the name %q is taken by the storage itself", as)
	}
	return nil
}
