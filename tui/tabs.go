package tui

import (
	"context"

	"hindcast/keymap"
	"hindcast/model/conversation"
	"hindcast/tui/checkpointtab"
	"hindcast/tui/infotab"
)

// newTabs makes the tabs, in the order of their keys. What prepares them runs in
// commands, so it uses what never changes: the store, the states and the clock.
func (m *Model) newTabs() []*tab {
	return []*tab{
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
