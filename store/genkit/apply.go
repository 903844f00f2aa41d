package genkit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/journal"
)

// carry is what a plan of this kind needs to be carried out: the journal that it
// goes through, and the session as it was and as it has to be after that.
type carry struct {
	vault   *vault
	journal any // what the journal's own plan carries
	// place is where the session's rows are, and sid its id in them. A place
	// outside of the opened folder has no base, and is not looked at.
	place place
	sid   string
	// before and after are the ids of its rows, in order, and head the one that
	// the SDK resumes then.
	before, after []string
	head          model.Point
}

// step is one file of a place that a plan changes, or brings.
type step struct {
	// row is the id of a row; "" for the pointer of the session.
	row string
	// data is what the file holds then, nil for no file.
	data []byte
}

// then returns the session as it is after some steps.
func (s *session) then(steps []step) *session {
	after := *s
	after.rows = slices.Clone(s.rows)
	for _, st := range steps {
		if st.row == "" {
			if after.pointer = nil; st.data != nil {
				p := decodePointer(st.data)
				after.pointer = &p
			}
			continue
		}
		after.rows = slices.DeleteFunc(after.rows, func(r *row) bool { return r.id == st.row })
		if st.data == nil {
			continue
		}
		if r, ok := decodeRow(st.row, st.data); ok && r.snapshotID == st.row {
			after.rows = append(after.rows, &r)
		}
	}
	slices.SortFunc(after.rows, compareRows)
	after.byID = make(map[string]*row, len(after.rows))
	for _, r := range after.rows {
		after.byID[r.id] = r
	}
	if len(s.rows) == 0 && len(after.rows) > 0 {
		after.layout = after.layoutOf() // it had none to have a layout by
	}
	gone := s.get
	after.get = func(id string) *row {
		if r := after.byID[id]; r != nil || s.byID[id] != nil {
			return r
		}
		return gone(id)
	}
	return &after
}

// ids returns the ids of the session's rows, in the order of their names.
func (s *session) ids() []string {
	list := make([]string, 0, len(s.rows))
	for _, r := range s.rows {
		list = append(list, r.id)
	}
	slices.Sort(list)
	return list
}

// compare fills in what a plan says about the heads of a session, and about what
// leaves and comes back to its path.
func (s *Store) compare(plan *model.Plan, before, after *session) {
	now := s.now()
	plan.Orphans, plan.Reactivates = nil, nil
	onPath := map[string]bool{}
	for _, h := range after.headers(now) {
		onPath[h.ID] = !h.Orphaned
	}
	for _, h := range before.headers(now) {
		if h.Head {
			plan.Head = h.Point()
		}
		switch {
		case !h.Orphaned && !onPath[h.ID]:
			plan.Orphans = append(plan.Orphans, h.Point())
		case h.Orphaned && onPath[h.ID]:
			plan.Reactivates = append(plan.Reactivates, h.Point())
		}
	}
}

// write makes the steps in a place, in their order, a plan that can be carried
// out. from is what its state comes from, whose file must be as it was read, and
// stay so until then; nil for none. The error is a [journal.ConflictError] where it
// is not.
func (s *Store) write(plan model.Plan, c carry, steps []step, from *target) (model.Plan, error) {
	j, err := c.vault.Journal()
	if err != nil {
		return model.Plan{}, err
	}
	d := j.Draft()
	if from != nil {
		name := c.vault.inside(from.one.file(from.row.id))
		d.Expect(name)
		now, err := j.Version(name)
		if err != nil {
			return model.Plan{}, err
		}
		if now.SHA256 != from.sum {
			return model.Plan{}, &journal.ConflictError{Path: c.vault.outside(name), Found: "changed"}
		}
	}
	for _, st := range steps {
		name := c.vault.inside(c.file(st))
		if st.data == nil {
			d.SetAside(name)
		} else {
			d.Put(name, st.data)
		}
	}
	plan, err = d.Plan(plan)
	if err != nil {
		return model.Plan{}, err
	}
	return c.load(plan), nil
}

// file returns the name of a step's file in the store.
func (c *carry) file(st step) string {
	if st.row == "" {
		return path.Join(c.place.dir, pointersFolder, c.sid+rowSuffix)
	}
	return path.Join(c.place.dir, st.row+rowSuffix)
}

// load has a plan of the journal's carry more, and name its files from the store.
func (c carry) load(plan model.Plan) model.Plan {
	for i := range plan.Files {
		plan.Files[i].Path = c.vault.outside(plan.Files[i].Path)
	}
	c.journal, plan.Carry = plan.Carry, &c
	return plan
}

// Lacks implements store.Writer.
func (s *Store) Lacks(op model.Op) string {
	switch op {
	case model.OpRestore, model.OpFork, model.OpEdit, model.OpRepair, model.OpRun, model.OpUndo, model.OpRedo:
		return ""
	case model.OpConvert:
		return "rows of Genkit hold messages of its own shape: no other kind is written as these"
	case model.OpPurge:
		return "Genkit redacts nothing: there is nothing that has to be forgotten"
	}
	return store.Cannot(kind, op)
}

// Plan implements store.Writer.
func (s *Store) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := s.plan(ctx, c)
	if err != nil {
		return model.Plan{}, fmt.Errorf("genkit: plan %s: %w", c, err)
	}
	return plan, nil
}

func (s *Store) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	switch c.Op {
	case model.OpRestore:
		return s.planRestore(ctx, c.Ref)
	case model.OpFork:
		return s.planFork(ctx, c.Op, c.Ref, c.As, nil)
	case model.OpEdit:
		return s.planEdit(ctx, c.Ref, c.As, c.State)
	case model.OpRepair:
		return s.planRepair(ctx, c.Ref.Session)
	case model.OpRun:
		return s.planRun(ctx, c.Ref, c.Input)
	case model.OpUndo, model.OpRedo:
		return s.planBack(ctx, c.Op)
	}
	return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: s.Lacks(c.Op)}
}

// Apply implements store.Writer. A row of the session that came, or went, since
// the plan was made is a [journal.ConflictError], which is model.ErrHeadMoved.
func (s *Store) Apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	receipt, err := s.apply(ctx, plan)
	if err != nil {
		return model.Receipt{}, fmt.Errorf("genkit: %s session %q: %w", plan.Op, plan.Session, err)
	}
	return receipt, nil
}

func (s *Store) apply(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	if t, ok := plan.Carry.(*turn); ok {
		return s.run(ctx, plan, t)
	}
	c, ok := plan.Carry.(*carry)
	if !ok || c.vault == nil {
		return model.Receipt{}, journal.ErrNoCarry
	}
	if err := s.expect(ctx, c, c.before, nil); err != nil {
		return model.Receipt{}, err
	}
	j, err := c.vault.Journal()
	if err != nil {
		return model.Receipt{}, err
	}
	plan.Carry = c.journal
	receipt, err := j.Apply(ctx, plan, func(ctx context.Context) error { return s.expect(ctx, c, c.after, &c.head.ID) })
	if err != nil {
		return model.Receipt{}, err
	}
	receipt.Head = c.head
	return receipt, nil
}

// expect reads the session again and compares it with what a plan says: its rows,
// and the row that the SDK resumes if head is not nil.
func (s *Store) expect(ctx context.Context, c *carry, rows []string, head *string) error {
	if c.place.dir == "" {
		return ctx.Err()
	}
	one, err := s.sessionIn(ctx, c.place, c.sid)
	if err != nil {
		return err
	}
	there := one.ids()
	for _, id := range there {
		if !slices.Contains(rows, id) {
			return &journal.ConflictError{Path: one.file(id), Found: "came"}
		}
	}
	for _, id := range rows {
		if !slices.Contains(there, id) {
			return &journal.ConflictError{Path: one.file(id), Found: "went"}
		}
	}
	if head == nil {
		return nil
	}
	found := ""
	if r := one.head(); r != nil {
		found = r.id
	}
	if found != *head {
		return fmt.Errorf("the row that is resumed is %q instead of %q", found, *head)
	}
	return nil
}

// sessionIn returns a session of a place; one without rows where there are none.
func (s *Store) sessionIn(ctx context.Context, p place, sid string) (*session, error) {
	p, _, err := p.base.list(s.root, p.dir, everyName)
	if err != nil {
		return nil, err
	}
	g, err := s.group(ctx, p, func(id string) bool { return id == sid })
	if err != nil {
		return nil, err
	}
	if one := g.sessions[sid]; one != nil {
		return one, nil
	}
	one := &session{id: sessionName(p.label, sid), sid: sid, place: p}
	s.settle(one)
	w := s.written(ctx, p)
	one.keep(&w)
	return one, nil
}

// isOutside reports whether a name of the store is not in the opened folder.
func isOutside(name string) bool { return strings.HasPrefix(name, "../") }
