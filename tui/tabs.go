package tui

import (
	"context"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/tui/cell"
	"hindcast/tui/checkpointtab"
	"hindcast/tui/infotab"
)

// newTabs makes the tabs, in the order of their keys. What prepares them runs in
// commands, so it uses what never changes: the store, the states and the clock.
func (m *Model) newTabs() []*tab {
	return []*tab{
		m.comingTab(keymap.Diff, "Diff"),
		m.comingTab(keymap.State, "State"),
		m.comingTab(keymap.Messages, "Messages"),
		newTab(keymap.Checkpoint, checkpointtab.New(m.styles), m.prepareCheckpoint),
		newTab(keymap.Info, infotab.New(m.styles), m.prepareInfo),
	}
}

func (m *Model) prepareCheckpoint(ctx context.Context, s subject) (*checkpointtab.Content, error) {
	st, err := m.states.get(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	tape, _, err := st.Tape()
	if err != nil {
		return nil, err
	}
	return checkpointtab.Prepare(ctx, conversation.Decode(tape))
}

func (m *Model) prepareInfo(ctx context.Context, s subject) (*infotab.Content, error) {
	facts := infotab.Facts{
		Header: s.header, Kind: m.o.Store.Kind(), Address: m.o.Store.Address(),
		Faults: s.faults, Now: m.o.Now(),
	}
	st, err := m.states.get(ctx, s.ref)
	if err == nil {
		facts.Tape, _, err = st.Tape()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	facts.Err = err
	return infotab.Prepare(ctx, facts)
}

// coming stands for a tab that is being built.
type coming struct {
	blank
	title string
	w     int
}

func (c *coming) Resize(w, _ int) { c.w = w }
func (c *coming) Title() string   { return c.title }
func (c *coming) Status() string  { return "" }
func (c *coming) Click(_, _ int)  {}
func (c *coming) Set(_ any)       {}
func (c *coming) AppendRow(dst []byte, _ int) []byte {
	r := cell.Begin(dst, &c.m.styles.Glyphs, c.w)
	return r.End(c.m.styles.Text)
}

func (m *Model) comingTab(scope keymap.Scope, title string) *tab {
	return newTab[any](scope, &coming{blank: blank{m: m}, title: title}, func(context.Context, subject) (any, error) { return nil, nil })
}
