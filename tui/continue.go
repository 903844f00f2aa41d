package tui

import (
	"context"
	"errors"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/dialog"
)

// target is the store of another tool, in which a conversation is continued. It is opened by the first plan. It is safe for
// concurrent use.
type target struct {
	kind   store.Kind
	around store.Surroundings
	// from reads the conversation.
	from func(context.Context) (*handover.Source, error)

	mu    sync.Mutex
	store store.Store
	undo  func() error
}

// planChange plans to continue the conversation, or a change of the store.
func (t *target) planChange(ctx context.Context, c model.Change) (model.Plan, error) {
	s, err := t.openStore(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	if c.Op != model.OpContinue {
		return s.Features().Plan(ctx, c)
	}
	from, err := t.from(ctx)
	if err != nil {
		return model.Plan{}, err
	}
	return s.Features().PlanContinue(ctx, from, c.As)
}

// applyPlan carries out a plan.
func (t *target) applyPlan(ctx context.Context, plan model.Plan) (model.Receipt, error) {
	s, err := t.openStore(ctx)
	if err != nil {
		return model.Receipt{}, err
	}
	return s.Features().Apply(ctx, plan)
}

func (t *target) openStore(ctx context.Context) (s store.Store, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store == nil {
		t.store, t.undo, err = t.kind.OpenUsual(ctx, t.around, true)
	}
	return t.store, err
}

// closeStore closes the store, and takes away folders that were made for nothing.
func (t *target) closeStore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store == nil {
		return nil
	}
	err := errors.Join(t.store.Close(), t.undo())
	t.store = nil
	return err
}

// dropTarget closes the store of another tool after a plan came to nothing, unless an undo may still change it.
func (m *Model) dropTarget(t *target) tea.Cmd {
	if t == m.continued {
		return nil
	}
	return m.closeTarget(t)
}

// closeTarget closes the store of another tool, which may be nil.
func (m *Model) closeTarget(t *target) tea.Cmd {
	if t == nil {
		return nil
	}
	return func() tea.Msg {
		_ = t.closeStore() // nothing waits for it, and the write is complete
		return nil
	}
}

// askContinue asks in which tool to go on from the snapshot under the cursor.
func (m *Model) askContinue() {
	at, s, line, node := m.subject(), m.o.Store, m.timeline.Timeline(), m.timeline.SelectedNode()
	row, _ := m.list.FindSession(m.rowName(m.session))
	info := row.SessionInfo
	items := make([]dialog.Item, 0, len(m.o.Continuers))
	for _, kind := range m.o.Continuers {
		items = append(items, dialog.Item{Text: kind.Framework, Do: func() tea.Cmd {
			into := &target{kind: kind, around: m.o.Around, from: func(ctx context.Context) (*handover.Source, error) {
				return query.Handover(ctx, s, line, node, &info, "")
			}}
			return m.planWrite(write{Change: model.Change{Op: model.OpContinue, Ref: at.ref}, into: into})
		}})
	}
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.ContinueMenu, "Continue from "+at.name+" in another tool", "plan it", items))
}
