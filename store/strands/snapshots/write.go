package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/folder"
	"hindcast/store/journal"
)

// FaultJournal: a write of Hindcast's own was broken off and could not be finished.
const FaultJournal = "journal"

// ready returns why nothing can be written, nil if it can.
func (s *Store) ready() error {
	if s.err != nil {
		return s.err
	}
	_, err := s.storage.Journal()
	return err
}

func journalFault(meaning string) model.Fault {
	return model.Fault{Code: FaultJournal, File: folder.JournalFile, Meaning: meaning, Verdict: "loads; no SDK looks at the journal"}
}

// journalFaults tells of all that is wrong with the journal and with what is kept.
func (s *Store) journalFaults(ctx context.Context, faults *store.FaultList) {
	_, unread := s.storage.Entries(ctx)
	for _, err := range []error{s.storage.Broken(), unread, s.storage.Check(ctx)} {
		if err != nil && ctx.Err() == nil {
			faults.Add(journalFault(err.Error()))
		}
	}
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpConvert, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		if err := s.ready(); err != nil {
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

func (s *Store) plan(ctx context.Context, c model.Change) (plan model.Plan, err error) {
	if err := cmp.Or(s.ready(), c.Ref.Once()); err != nil {
		return model.Plan{}, err
	}
	switch {
	case c.Op == model.OpUndo || c.Op == model.OpRedo:
		return s.planBack(ctx, c.Op)
	case s.Lacks(c.Op) != "" || c.Op == model.OpConvert:
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: s.Lacks(c.Op)}
	}
	p, err := s.locate(c.Ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	plan, err = s.storage.Plan(ctx, s.in(p), c)
	plan.Session = p.id
	if plan.NewSession != "" {
		plan.NewSession = c.As
	}
	return plan, err
}

func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	back, err := s.storage.Reversal(ctx, op)
	if err != nil {
		return model.Plan{}, err
	}
	if back == nil {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	plan, err := back.Plan(ctx)
	plan.Session = s.placeNamed(plan.Session).Own.(place).id
	return plan, err
}

// Apply implements store.Writer. The errors are those of journal.Journal.Apply:
// a journal.ConflictError where a program wrote to the session since the plan was
// made.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	err := s.ready()
	var receipt model.Receipt
	if err == nil {
		receipt, err = folder.Apply(ctx, plan)
	}
	if err != nil {
		return receipt, fmt.Errorf("%s: %s session %q: %w", kind, plan.Op, plan.Session, err)
	}
	return receipt, nil
}

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if s.ready() != nil || !s.storage.Begun() {
		return []model.JournalEntry{}, nil
	}
	j, err := s.storage.Journal()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	list, err := j.Journal(ctx)
	if err != nil {
		err = fmt.Errorf("%s: %w", kind, err)
	}
	names := map[string]string{}
	for i := range list {
		e := &list[i]
		if _, known := names[e.Session]; !known {
			names[e.Session] = s.placeNamed(e.Session).Own.(place).id
		}
		e.Session = names[e.Session]
	}
	return list, err
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
