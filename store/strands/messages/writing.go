package messages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/disk"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/journal"
	"hindcast/store/writing"
)

// desk is what a store is written with. The journal lies beside the sessions; of a
// store that is the folder of one session, in the folder around it. Its paths are
// below that folder, see onDesk.
type desk struct {
	on      *writing.Desk
	journal *journal.Journal // nil where it cannot be reached
	disk    disk.Disk
	// around is the folder in which the journal lies.
	around string
	// base is the name in it of the store, "" where it is that itself.
	base string
	// now gives the time.
	now func() time.Time
	// broken is why there is no journal, or why what was broken off stays so.
	broken error
	// histories are what the journal tells of messages.
	histories histories
}

// entries returns the entries of the journal, the oldest first; those that can be read
// where it is damaged, with a journal.DamagedError. They must not be written to.
func (d *desk) entries(ctx context.Context) ([]journal.Entry, error) { return d.on.Entries(ctx) }

// kept reads a content that the journal keeps.
func (d *desk) kept(v journal.Version) ([]byte, error) {
	data, err := d.journal.Read(v)
	return data, files.Cause(err)
}

// draft begins a write of steps, whose names are below the store.
func (d *desk) draft(steps folder.Steps) *journal.Draft {
	for i := range steps {
		steps[i].Name = d.onDesk(steps[i].Name)
	}
	return folder.Draft(d.journal, steps)
}

// openDesk opens the journal in a folder, and finishes what was broken off. Where
// there is none, nothing is written.
func openDesk(ctx context.Context, dir, base string) *desk {
	d := &desk{on: writing.New(dir, base, isTemporary), around: dir, base: base, now: time.Now}
	d.on.Now = func() time.Time { return d.now() }
	if d.broken = d.reach(); d.broken == nil {
		d.on.Recover(ctx)
		d.broken = d.on.Broken()
	}
	return d
}

// reach opens the journal and its disk.
func (d *desk) reach() (err error) {
	if d.journal, err = d.on.Journal(); err == nil {
		d.disk, err = d.on.Disk()
	}
	return err
}

// onDesk returns the path for the journal of a name below the store.
func (d *desk) onDesk(name string) string { return d.on.Inside(name) }

// inStore returns those of some steps of the journal that are in the store, with their
// names below it.
func (d *desk) inStore(steps folder.Steps) (list folder.Steps) {
	for _, s := range steps {
		if d.base == "" || strings.HasPrefix(s.Name, d.base+"/") {
			s.Name = within(d.base, s.Name)
			list = append(list, s)
		}
	}
	return list
}

// writable returns why nothing can be written, nil if it can be.
func (d *desk) writable(op model.Op) error {
	if d.journal == nil {
		return &model.UnsupportedError{Op: op, Reason: "the folder around the session cannot be opened: " + d.broken.Error()}
	}
	return nil
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpPurge, model.OpUndo, model.OpRedo:
		if err := (*model.UnsupportedError)(nil); errors.As(s.writable(op), &err) {
			return err.Reason
		}
		return ""
	}
	return store.Cannot(kind, op)
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, fmt.Errorf("strands: plan %s: %w", c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if why := s.Lacks(c.Op); why != "" {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if c.Op == model.OpUndo || c.Op == model.OpRedo {
		return s.planBack(ctx, c.Op)
	}
	return s.steady(ctx, c.Op, c.Ref.Session, func(view *folder.View) (model.Plan, error) {
		switch c.Op {
		case model.OpFork:
			return s.planFork(ctx, view, c.Ref, c.As)
		case model.OpEdit:
			return s.planEdit(ctx, view, c.Ref, c.As, c.State)
		case model.OpRepair:
			return s.planRepair(ctx, view, c.Ref.Session)
		case model.OpPurge:
			return s.planPurge(ctx, view, c.Ref.Session, c.Scope)
		}
		return s.planRestore(ctx, view, c.Ref)
	})
}

// Apply implements store.Writer. What was written is read again by the SDK's own
// rule; where that is not as planned, it is all taken back. The error is then
// errReadBack, and a journal.ConflictError where another program wrote since the plan
// was made.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	err := s.writable(plan.Op)
	var receipt model.Receipt
	if err == nil {
		verify := s.verify
		if s.ofRepair(ctx, &plan) { // asked now: later the journal would have to be read again
			verify = s.verifyRepair
		}
		receipt, err = s.journal.Apply(ctx, plan, func(ctx context.Context) error { return verify(ctx, plan) })
	}
	if err != nil {
		return model.Receipt{}, fmt.Errorf("strands: %s session %q: %w", plan.Op, cmp.Or(plan.NewSession, plan.Session), err)
	}
	return receipt, nil
}

// Journal implements store.Writer.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	if s.journal == nil {
		return nil, nil
	}
	entries, err := s.journal.Journal(ctx)
	if err != nil {
		return entries, fmt.Errorf("strands: read the journal of %q: %w", s.dir, err)
	}
	return entries, nil
}

// errReadBack: what was written is not what was planned when it is read again.
var errReadBack = errors.New("read back, the session is not as planned")

// verify reads what a plan wrote, by the rule by which the SDK starts.
func (s *Store) verify(ctx context.Context, plan model.Plan) error {
	if plan.Op == model.OpPurge {
		return nil
	}
	session := cmp.Or(plan.NewSession, plan.Session)
	s, done, err := s.whole(ctx, session)
	if err != nil {
		return err
	}
	defer done()
	p, err := s.locate(session)
	if errors.Is(err, model.ErrNoSession) && plan.Target.ID == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errReadBack, err)
	}
	if p.orchestrator != "" {
		return s.verifyRun(p, plan)
	}
	l := s.openLog(p, p.tree)
	defer l.close()
	if l.err != nil {
		return fmt.Errorf("%w: %w", errReadBack, l.err)
	}
	head, err := l.head(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errReadBack, err)
	case head.Index > plan.Target.Index && plan.Target.ID != "":
		return &journal.ConflictError{Path: l.path("messages"), Found: "got messages"}
	case head.ID != plan.Target.ID || head.Index != plan.Target.Index:
		return fmt.Errorf("%w: the last message is #%d %s", errReadBack, head.Index, head.ID)
	case plan.Op == model.OpUndo || plan.Op == model.OpRedo: // as it was, whatever that was
	case l.start >= len(l.files) || l.agent.missing:
		return fmt.Errorf("%w: no message would be loaded", errReadBack)
	}
	return nil
}

// whole returns a store that has a session: this one, or where this is the folder of
// another session the one around it. done lets go of it.
func (s *Store) whole(ctx context.Context, session string) (whole *Store, done func(), err error) {
	if id, _, _ := strings.Cut(session, "/"); s.single == nil || id == *s.single {
		return s, func() {}, nil
	}
	if whole, err = Open(ctx, s.around); err != nil {
		return nil, nil, err
	}
	whole.now = s.now
	return whole, func() { _ = whole.Close() }, nil // it was only read
}
