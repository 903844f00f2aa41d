package tui

import (
	"context"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/tui/checkpointtab"
	"hindcast/tui/difftab"
	"hindcast/tui/infotab"
	"hindcast/tui/messagestab"
	"hindcast/tui/statetab"
)

// newTabs makes the tabs, in the order of their keys. What prepares them runs in
// commands, so it uses what does not change once
// there is a session: the store, the states and the clock.
func (m *Model) newTabs() []*tab {
	return []*tab{
		m.diffTab(),
		m.stateTab(),
		m.messagesTab(),
		newTab(keymap.Checkpoint, checkpointtab.New(m.styles), m.prepareCheckpoint),
		newTab(keymap.Info, infotab.New(m.styles), m.prepareInfo),
	}
}

func (m *Model) diffTab() *tab {
	p := difftab.New(m.styles)
	return searchable(newTab(keymap.Diff, p, m.prepareDiff), p, difftab.Find)
}

func (m *Model) prepareDiff(ctx context.Context, s subject) (*difftab.Content, error) {
	sides := difftab.Sides{Old: difftab.Side{Header: s.base}, New: difftab.Side{Header: s.header}}
	var err error
	if sides.New.Conversation, err = m.conversation(ctx, s.ref); err != nil {
		return nil, err
	}
	if s.with.ID != "" {
		if sides.Old.Conversation, err = m.conversation(ctx, s.with); err != nil {
			return nil, err
		}
	}
	return difftab.Prepare(ctx, sides)
}

// conversation gives the messages of a state.
func (m *Model) conversation(ctx context.Context, ref model.Ref) (*conversation.Conversation, error) {
	st, err := m.states.get(ctx, ref)
	if err != nil {
		return nil, err
	}
	return st.Conversation()
}

// quick is the size of a state up to which all of it is read as quickly as its
// beginning.
const quick = 256 << 10

func (m *Model) stateTab() *tab {
	p := statetab.New(m.styles)
	t := newTab(keymap.State, p, m.prepareState)
	t.preview = m.previewState
	return searchable(t, p, statetab.Find)
}

// previewState gives the beginning of a large state, from a store that can read
// it alone without reading the rest.
func (m *Model) previewState(ctx context.Context, s subject) (any, error) {
	if peeker, ok := m.o.Store.(store.Peeker); ok && s.header.Size > quick {
		data, err := peeker.Peek(ctx, s.ref)
		if err != nil {
			return nil, err
		}
		return statetab.Preview(data, int(s.header.Size)), nil
	}
	st, err := m.states.get(ctx, s.ref)
	if err != nil || len(st.data) <= quick {
		return nil, err
	}
	return statetab.Preview(st.data, len(st.data)), nil
}

func (m *Model) prepareState(ctx context.Context, s subject) (*statetab.Content, error) {
	st, err := m.states.get(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	tape, warnings, err := st.Tape()
	return statetab.Prepare(st.data, tape, warnings, err), nil
}

func (m *Model) messagesTab() *tab {
	p := messagestab.New(m.styles)
	return searchable(newTab(keymap.Messages, p, m.prepareMessages), p, messagestab.Find)
}

func (m *Model) prepareMessages(ctx context.Context, s subject) (*messagestab.Content, error) {
	conv, err := m.conversation(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	return messagestab.Prepare(conv, s.header.Marks), nil
}

func (m *Model) prepareCheckpoint(ctx context.Context, s subject) (*checkpointtab.Content, error) {
	conv, err := m.conversation(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	return checkpointtab.Prepare(ctx, conv)
}

func (m *Model) prepareInfo(ctx context.Context, s subject) (*infotab.Content, error) {
	facts := infotab.Facts{
		Header: s.header, Kind: m.o.Store.Kind(), Address: m.o.Store.Address(),
		Faults: s.faults, Now: m.o.Now(), Zone: m.o.Zone,
	}
	if d, ok := m.o.Store.(store.Deriver); ok {
		facts.IDs = d.DerivedIDs()
	}
	if d, ok := m.o.Store.(store.Describer); ok {
		facts.Known, facts.KnownErr = d.Facts(ctx, s.ref)
	}
	if c, ok := m.o.Store.(store.Comparer); ok && s.header.ParentID != "" {
		facts.New, facts.NewErr = fresh(ctx, c, &s.header)
	}
	st, err := m.states.get(ctx, s.ref)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		facts.Err = err
	default:
		facts.Tape, _, facts.Err = st.Tape()
	}
	return infotab.Prepare(ctx, facts)
}

// fresh gives how many bytes of a snapshot's state its parent does not have. The
// visit that it follows may be that of a step.
func fresh(ctx context.Context, c store.Comparer, h *model.Header) (*int64, error) {
	spans, err := c.Compare(ctx, model.Ref{Session: h.SessionID, ID: h.ParentID}, h.Ref())
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, s := range spans {
		n += s.BTo - s.BFrom
	}
	return &n, nil
}
