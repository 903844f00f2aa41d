package checkpoints

import (
	"context"
	"crypto/sha256"
	"fmt"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/tree"
)

// explainLack returns why an operation cannot be done: what all sessions of the folder lack for one
// reason. Where they have several, the plan tells that of its session.
func (r reader) explainLack(op model.Op) string {
	switch op {
	case model.OpUndo, model.OpRedo:
		return ""
	case model.OpRestore, model.OpFork:
	default:
		return store.Cannot(r.Kind.Name, op)
	}
	all, err := r.readFiles(context.Background(), r.storage.In())
	if err != nil {
		return "" // the plan says why
	}
	reasons := map[string]bool{}
	for _, items := range all.sessions {
		reasons[r.Format.Lacks(op, &items[0])] = true
	}
	for why := range reasons {
		if len(reasons) == 1 {
			return why
		}
	}
	return ""
}

func (r reader) planMove(_ context.Context, in engine.In, before *engine.Log, c model.Change) (*engine.Move, error) {
	at := before.At(c.Ref.ID)
	if a := before.Aside[c.Ref.ID]; a != nil {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: "the write that made the checkpoint was undone, and it is gone; take the one that it was a copy of"}
	}
	items := itemsOf(before)
	if why := r.Format.Lacks(c.Op, &items[at]); why != "" {
		return nil, &model.UnsupportedError{Op: c.Op, Reason: why}
	}
	m := &engine.Move{Target: before.Rows[at].Point(), Uses: map[string]string{}}
	if at == before.Head {
		m.Hazards = []string{"it is the head already: nothing is written"}
		return m, nil
	}
	file := before.Files[at]
	data, _, err := in.Read(file, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	m.Uses[file] = fmt.Sprintf("%x", sha256.Sum256(data))
	p := &Putting{Dir: r.dir, Items: items, At: at, Head: before.Head, Data: data, Now: in.Now}
	made, err := r.Format.Restore(p)
	if err != nil {
		return nil, err
	}
	m.Steps = tree.Steps{{Name: made.Name, Data: made.Data}}
	m.Writes = []string{made.Writes, "journal: one entry"}
	m.Hazards, m.Asks = append(made.Hazards, r.Running), made.Asks
	return m, nil
}

func (r reader) predictNext(_ context.Context, _ engine.In, before, after *engine.Log, m *engine.Move) (next engine.Next, err error) {
	items, _ := after.Own.([]Item)
	if len(items) == 0 {
		next.Loads = r.Framework + " finds nothing of the session"
		return next, nil
	}
	items = append([]Item(nil), items...)
	head := r.Format.Arrange(items)
	next.Loads = r.Format.Loads(items, head)
	next.Calls = r.Format.Resume(r.dir, &items[head])
	if m != nil && before.Leaves(after) {
		next.Hazards = append(next.Hazards, "what tools did outside of the session since then is not taken back")
	}
	return next, nil
}
