package tui

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/media/scratch"
	"hindcast/tui/dialog"
	"hindcast/tui/sheet"
)

// target is the store of another tool, in which a conversation is continued. It is opened by the first plan. It is safe for
// concurrent use.
type target struct {
	kind   store.Kind
	around store.Surroundings
	// from reads the conversation.
	from func(context.Context) (*handover.Source, error)

	mu sync.Mutex
	// file is the store of a kind without a usual place, and opened the one that is open.
	file, opened string
	store        store.Store
	undo         func() error
}

// setFile names the store.
func (t *target) setFile(file string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.file = file
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
	receipt, err := s.Features().Apply(ctx, plan)
	if _, arising := s.(*store.Arising); err == nil && arising { // it is there now, for an undo
		err = t.closeStore()
	}
	return receipt, err
}

func (t *target) openStore(ctx context.Context) (s store.Store, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != t.file {
		err = t.closeOpened()
	}
	switch t.opened = t.file; {
	case err != nil || t.store != nil:
	case t.file == "":
		t.store, t.undo, err = t.kind.OpenUsual(ctx, t.around, true)
	default:
		t.store, t.undo, err = t.openFile(ctx)
	}
	return t.store, err
}

// openFile opens the store in the file, or one that Apply makes there.
func (t *target) openFile(ctx context.Context) (s store.Store, undo func() error, err error) {
	if _, err := os.Lstat(t.file); !errors.Is(err, fs.ErrNotExist) {
		s, err = t.kind.Open(ctx, t.file)
		return s, func() error { return nil }, err
	}
	folder, err := scratch.Make("")
	if err != nil {
		return nil, nil, err
	}
	arising, err := t.kind.NewArising(ctx, t.file, folder.Path)
	if err != nil {
		return nil, nil, errors.Join(err, folder.Remove())
	}
	return arising, folder.Remove, nil
}

// closeStore closes the store, and takes away folders that were made for nothing.
func (t *target) closeStore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeOpened()
}

func (t *target) closeOpened() error {
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
		items = append(items, dialog.Item{Text: cmp.Or(kind.Framework, "your own Go program"), Do: func() tea.Cmd {
			into := &target{kind: kind, around: m.o.Around, from: func(ctx context.Context) (*handover.Source, error) {
				return query.Handover(ctx, s, line, node, &info, "")
			}}
			w := write{Change: model.Change{Op: model.OpContinue, Ref: at.ref}, into: into}
			if kind.Make == nil {
				return m.planWrite(w)
			}
			m.askText("Continue from "+at.name, "its file", filepath.Join(m.o.Around.Work, kind.Name+".db"), fileMeanings, w, func(_ *model.Change, text string) {
				into.setFile(m.expandHome(text))
			})
			return nil
		}})
	}
	m.openDialog(dialog.NewMenu(m.styles, m.keys, keymap.ContinueMenu, "Continue from "+at.name+" in another tool", "plan it", items))
}

var fileMeanings = []sheet.Paragraph{{Text: "The database that the program opens. It is made where there is none."}}
