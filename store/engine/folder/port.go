package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
	"hindcast/store/media/journal"
)

// Port has the functions that write, of [store.Features], for a kind whose sessions are in one storage, but
// Lacks.
type Port struct {
	storage *Storage
	kind    Kind
}

// Kind describes a kind to the port.
type Kind struct {
	// Name begins the errors, and Framework what comes of the messages.
	Name, Framework string
	// Lacks is that of [store.Features].
	Lacks func(model.Op) string
	// Find returns where the session is that the port calls id. The error refuses the
	// operation.
	Find func(op model.Op, id string) (Place, error)
	// State is the method of store.Store. The port warns by it of the messages of a state that a
	// session goes on from. It is nil if the kind warns itself.
	State func(ctx context.Context, ref model.Ref) ([]byte, error)
}

// Port returns the writer of a kind.
func (s *Storage) Port(k Kind) Port { return Port{s, k} }

// LabelFile returns where the labels of a session are, see package labels: beside the journal,
// under the name that the session has in the storage. dir is "" where the storage cannot be
// opened.
func (p Port) LabelFile(_ context.Context, session string) (dir, file, name string) {
	at, err := p.kind.Find(model.OpRestore, session)
	if err != nil && at.Session == "" {
		at.Session = session // it is read all the same
	}
	return p.storage.LabelFile(at)
}

// LabelFile returns where the labels of the session at a place are, see [Port.LabelFile].
func (s *Storage) LabelFile(at Place) (dir, file, name string) {
	if s.refused != nil || s.writer.on != nil {
		return "", "", ""
	}
	return s.dir, journal.Folder + "/labels", at.Session
}

// Requests returns the counts for store.Asked.
func (p Port) Requests() (store.Requests, bool) { return p.storage.Requests() }

// Plan implements [store.Features].Plan. It returns the errors of [Storage.Plan], [Reversal.Plan] and Find, and
// a model.UnsupportedError.
func (p Port) Plan(ctx context.Context, c model.Change) (model.Plan, error) {
	plan, err := p.plan(ctx, c)
	if err != nil {
		return model.Plan{}, store.NotPlanned(p.kind.Name, c, err)
	}
	if c.Op == model.OpRestore || c.Op == model.OpFork {
		plan.Hazards = append(plan.Hazards, p.hazards(ctx, c.Ref)...)
	}
	return plan, ctx.Err()
}

// Warned returns the calls that go on from a snapshot, with what comes of its messages and from where
// the framework reads them, see [Storage.Calls].
func (p Port) Warned(ctx context.Context, ref model.Ref, calls []model.Resume) ([]model.Resume, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	return inspect.WarnOf(p.storage.Calls(calls), p.hazards(ctx, ref)), ctx.Err()
}

// hazards says what comes of the messages of a state from which a session goes on. One that cannot be
// read has none.
func (p Port) hazards(ctx context.Context, ref model.Ref) []string {
	if p.kind.State == nil {
		return nil
	}
	state, _ := p.kind.State(ctx, ref)
	return inspect.ConversationHazards(p.kind.Name, p.kind.Framework, state)
}

func (p Port) plan(ctx context.Context, c model.Change) (model.Plan, error) {
	if err := c.Ref.CheckNoVisit(); err != nil {
		return model.Plan{}, err
	}
	if why := p.kind.Lacks(c.Op); why != "" || c.Op == model.OpConvert {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	if err := p.storage.Ready(); errors.Is(err, ErrLink) {
		return model.Plan{}, &model.UnsupportedError{Op: c.Op, Reason: err.Error()}
	}
	if c.Op == model.OpUndo || c.Op == model.OpRedo {
		back, err := p.storage.Reversal(ctx, c.Op)
		if err == nil && back == nil {
			err = &model.NothingToError{Op: c.Op}
		}
		if err != nil {
			return model.Plan{}, err
		}
		return back.Plan(ctx)
	}
	at, err := p.kind.Find(c.Op, c.Ref.Session)
	if err != nil {
		return model.Plan{}, err
	}
	return p.storage.Plan(ctx, at, c)
}

// Apply implements [store.Features].Apply. It returns the errors of [Apply].
func (p Port) Apply(ctx context.Context, plan model.Plan) (receipt model.Receipt, err error) {
	if err = p.storage.Ready(); err == nil {
		receipt, err = Apply(ctx, plan)
	}
	if err != nil {
		return model.Receipt{}, fmt.Errorf("%s: %s session %q: %w", p.kind.Name, plan.Op, cmp.Or(plan.NewSession, plan.Session), err)
	}
	return receipt, nil
}

// Journal implements [store.Features].Journal.
func (p Port) Journal(ctx context.Context) ([]model.JournalEntry, error) {
	s := p.storage
	if s.Ready() != nil || !s.Begun() {
		return nil, nil
	}
	j, _ := s.Journal() // Ready opened it
	list, err := j.Journal(ctx)
	if err != nil {
		err = fmt.Errorf("%s: read the journal of %q: %w", p.kind.Name, s.Folder(), err)
	}
	ids := map[string]string{}
	for i := range list {
		e := &list[i]
		if _, known := ids[e.Session]; !known {
			ids[e.Session] = s.id(s.place(e.Session))
		}
		e.Session = ids[e.Session]
	}
	return list, err
}
