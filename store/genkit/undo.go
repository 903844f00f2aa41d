package genkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/journal"
)

// errWentOn: what a plan was to take back was built upon.
var errWentOn = fmt.Errorf("the agent went on from it: %w", model.ErrHeadMoved)

// Journal implements store.Writer. Of several journals that the opened folder
// has, see vault, the entries stand together in the order of their times, though
// each has numbers of its own.
func (s *Store) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	var list []model.JournalEntry
	var damaged error
	for _, v := range s.known() {
		if !v.Begun() {
			continue
		}
		j, err := v.Journal()
		if err != nil {
			return nil, fmt.Errorf("genkit: open the journal of %q: %w", v.Folder(), err)
		}
		part, err := j.Journal(ctx)
		if err != nil {
			err = fmt.Errorf("genkit: read the journal of %q: %w", v.Folder(), err)
		}
		if part == nil && err != nil {
			return nil, err
		}
		damaged = errors.Join(damaged, err)
		list = append(list, part...)
	}
	slices.SortStableFunc(list, func(a, b model.JournalEntry) int { return b.At.Compare(a.At) })
	return list, damaged
}

// offer is what one of several journals would take back or do again.
type offer struct {
	vault *vault
	plan  model.Plan
	entry *journal.Entry
	// refused is why it cannot be.
	refused error
}

// offers returns those of all journals, the one to take first.
func (s *Store) offers(ctx context.Context, op model.Op) ([]offer, error) {
	var list []offer
	for _, v := range s.known() {
		entries, err := v.Entries(ctx)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			continue
		}
		plan, e, err := v.PlanBack(ctx, op)
		conflict := (*journal.ConflictError)(nil)
		switch {
		case errors.As(err, new(*model.NothingToError)):
		case errors.As(err, &conflict):
			list = append(list, offer{vault: v, entry: &entries[len(entries)-1], refused: err})
		case err != nil:
			return nil, err
		default:
			list = append(list, offer{vault: v, plan: plan, entry: e})
		}
	}
	// The last that was written is undone first, the first that was undone done
	// again first.
	slices.SortStableFunc(list, func(a, b offer) int {
		if op == model.OpRedo {
			return a.entry.At.Compare(b.entry.At)
		}
		return cmp.Or(b.entry.At.Compare(a.entry.At), cmp.Compare(b.entry.ID, a.entry.ID))
	})
	return list, nil
}

// planBack plans an undo or a redo: the row that Hindcast wrote goes, or comes, and the
// pointer gets its very bytes back. The error is model.ErrHeadMoved where the agent has
// gone on from that row since.
func (s *Store) planBack(ctx context.Context, op model.Op) (model.Plan, error) {
	list, err := s.offers(ctx, op)
	if err != nil {
		return model.Plan{}, err
	}
	if len(list) == 0 {
		return model.Plan{}, &model.NothingToError{Op: op}
	}
	o := list[0]
	if o.refused != nil {
		return model.Plan{}, fmt.Errorf("the agent went on from it, so restore the session to the row that is wanted instead: %w", o.refused)
	}
	c := carry{vault: o.vault}
	steps, err := s.stepsOf(&c, o.entry, op)
	if err != nil {
		return model.Plan{}, err
	}
	if c.place.dir == "" {
		o.plan.Hazards = append(o.plan.Hazards, "the write is not in the folder that is opened: what the session resumes then is not checked")
		return c.load(o.plan), nil
	}
	one, err := s.sessionIn(ctx, c.place, c.sid)
	if err != nil {
		return model.Plan{}, err
	}
	if err := s.wentOn(one, &o, op); err != nil {
		return model.Plan{}, err
	}
	after := one.then(steps)
	if op == model.OpRedo {
		if err := redoes(one, after, &o, steps); err != nil {
			return model.Plan{}, err
		}
	}
	plan := o.plan
	plan.Session = one.id
	s.compare(&plan, one, after)
	c.before, c.after = one.ids(), after.ids()
	head := after.head()
	if head == nil {
		plan.Target = model.Point{}
		plan.Loads = fmt.Sprintf("session %q is gone: Genkit %s, asked for it, begins it anew", one.id, one.layout)
		return c.load(plan), nil
	}
	c.head = after.point(head)
	plan.Target = c.head
	t := &target{one: after, row: head, now: s.now()}
	after.loads(&plan, after, head, t)
	return c.load(plan), nil
}

// stepsOf returns what an entry changes if it is taken back or done again, and has c
// tell which session that is about. A place that is not in the opened folder is
// left empty.
func (s *Store) stepsOf(c *carry, e *journal.Entry, op model.Op) (steps []step, err error) {
	j, err := c.vault.Journal()
	if err != nil {
		return nil, err
	}
	for _, change := range e.Changes {
		is := change.After
		if op == model.OpUndo {
			is = change.Before
		}
		name := c.vault.outside(change.Path)
		id, isRow := strings.CutSuffix(path.Base(name), rowSuffix)
		if !isRow || isOutside(name) {
			continue
		}
		st := step{row: id}
		dir := path.Dir(name)
		if path.Base(dir) == pointersFolder {
			c.sid, dir, st.row = id, path.Dir(dir), ""
		}
		if !is.None() {
			if st.data, err = j.Read(is); err != nil {
				return nil, err
			}
		}
		if st.row != "" {
			held := change.After
			if held.None() {
				held = change.Before
			}
			data, err := j.Read(held)
			if err != nil {
				return nil, err
			}
			if r, ok := decodeRow(id, data); ok {
				c.sid = r.session()
			}
		}
		for _, b := range s.bases() {
			if s.vaultOf(b) == c.vault {
				c.place = place{base: b, dir: dir}
			}
		}
		steps = append(steps, st)
	}
	return steps, nil
}

// redoes reports that to do an entry again would not lead where it did, because the
// session got other rows since. Where there are pointers these tell it, too.
func redoes(one, after *session, o *offer, steps []step) error {
	want := o.entry.To
	for _, st := range steps {
		if st.row != "" && st.data != nil {
			want = st.row
		}
	}
	isNew := o.entry.Op == model.OpFork || o.entry.Op == model.OpEdit
	found, _ := after.resumed()
	if isNew && len(one.rows) > 0 || want != "" && (found.row == nil || found.row.id != want) {
		return fmt.Errorf("session %q got other rows since write %d was undone: plan it anew instead; %w", one.id, o.entry.ID, errWentOn)
	}
	return nil
}

// wentOn reports that files are no longer as an entry left them, or that rows were
// built upon those that it wrote.
func (s *Store) wentOn(one *session, o *offer, op model.Op) error {
	j, err := o.vault.Journal()
	if err != nil {
		return err
	}
	for _, c := range o.entry.Changes {
		id, isRow := rowIn(o.vault.inside(one.place.dir), c.Path)
		if op == model.OpUndo && isRow && c.Before.None() {
			for _, r := range one.rows {
				if r.parentID == id {
					return fmt.Errorf("row %s, which write %d made, has #%d as its child: restore the session to the row that is wanted instead; %w",
						model.ShortID(id, 8), o.entry.ID, one.position(r), errWentOn)
				}
			}
		}
		left := c.After
		if op == model.OpRedo {
			left = c.Before
		}
		now, err := j.Version(c.Path)
		if err != nil {
			return err
		}
		if now != left && !left.Folder && !c.Before.Folder && !c.After.Folder {
			return fmt.Errorf("%s is not as write %d left it: restore the session to the row that is wanted instead; %w", o.vault.outside(c.Path), o.entry.ID, errWentOn)
		}
	}
	return nil
}
