package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
	"hindcast/store"
	"hindcast/tui/contexttab"
	"hindcast/tui/difftab"
	"hindcast/tui/filestab"
	"hindcast/tui/infotab"
	"hindcast/tui/messagestab"
	"hindcast/tui/resumetab"
	"hindcast/tui/statetab"
	"hindcast/tui/theme"
)

// source is a store and its states, from which the tabs are prepared. Commands that prepare tabs use nothing
// else, for the model changes meanwhile.
type source struct {
	store    store.Store
	features store.Features
	states   *states
	now      func() time.Time
	zone     *time.Location
}

// newTabs makes the tabs, in the order of their keys.
func newTabs(styles *theme.Styles, from *source) []*tab {
	return []*tab{
		from.diffTab(styles),
		from.stateTab(styles),
		from.messagesTab(styles),
		from.contextTab(styles),
		filesTab(styles),
		from.resumeTab(styles),
		newTab(keymap.Info, infotab.New(styles), from.prepareInfo),
	}
}

func (f *source) diffTab(styles *theme.Styles) *tab {
	p := difftab.New(styles)
	return addNote(makeSearchable(newTab(keymap.Diff, p, f.prepareDiff), p, difftab.Find), (*difftab.Content).LeftOut)
}

func (f *source) prepareDiff(ctx context.Context, s subject) (*difftab.Content, error) {
	sides := difftab.Sides{Own: f.features.Own, Old: difftab.Side{Header: s.base, Name: s.baseName}, New: difftab.Side{Header: s.header, Name: s.name}}
	for _, side := range []struct {
		*difftab.Side
		ref model.Ref
	}{{&sides.New, s.ref}, {&sides.Old, s.with}} {
		if side.ref.ID == "" {
			continue
		}
		st, err := f.states.get(ctx, side.ref)
		if err != nil {
			return nil, err
		}
		if side.Conversation, err = st.Conversation(); err != nil {
			return nil, err
		}
		sides.Gaps = sides.Gaps.With(st.gaps)
	}
	return difftab.Prepare(ctx, sides)
}

// conversationOf returns the messages of a state.
func (f *source) conversationOf(ctx context.Context, ref model.Ref) (*conversation.Conversation, error) {
	st, err := f.states.get(ctx, ref)
	if err != nil {
		return nil, err
	}
	return st.Conversation()
}

// quick is the size of a state up to which all of it is read as quickly as its
// beginning.
const quick = 256 << 10

func (f *source) stateTab(styles *theme.Styles) *tab {
	p := statetab.New(styles)
	t := newTab(keymap.State, p, f.prepareState)
	t.preview = f.previewState
	return addNote(makeSearchable(t, p, statetab.Find), (*statetab.Content).Unknown)
}

// previewState returns the beginning of a large state, from a store that can read
// it alone without reading the rest.
func (f *source) previewState(ctx context.Context, s subject) (any, error) {
	if peek := f.features.Peek; peek != nil && s.header.Size > quick {
		data, err := peek(ctx, s.ref)
		if err != nil {
			return nil, err
		}
		return statetab.Preview(data, int(s.header.Size)), nil
	}
	st, err := f.states.get(ctx, s.ref)
	if err != nil || len(st.data) <= quick {
		return nil, err
	}
	return statetab.Preview(st.data, len(st.data)), nil
}

func (f *source) prepareState(ctx context.Context, s subject) (*statetab.Content, error) {
	st, err := f.states.get(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	of := statetab.State{Data: st.data, Gaps: st.gaps}
	of.Tape, of.Warnings, of.Err = st.Tape()
	if of.Err == nil {
		of.Conversation, _ = st.Conversation() // its error is that of the tape
	}
	if s.with.ID != "" {
		// A base that cannot be read marks nothing; the Diff tab says why.
		if base, err := f.states.get(ctx, s.with); err == nil {
			of.Base, _, _ = base.Tape()
			of.BaseGaps = base.gaps
		}
	}
	return statetab.Prepare(ctx, of)
}

func (f *source) messagesTab(styles *theme.Styles) *tab {
	p := messagestab.New(styles)
	t := makeSearchable(newTab(keymap.Messages, p, f.prepareMessages), p, messagestab.Find)
	t.showMessage = p.ShowMessage
	return t
}

func (f *source) prepareMessages(ctx context.Context, s subject) (*messagestab.Content, error) {
	conv, err := f.conversationOf(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	why := ""
	if i := slices.IndexFunc(s.faults, hidesStates); i >= 0 {
		why = s.faults[i].Meaning
	}
	return messagestab.Prepare(conv, s.header.Marks, why), nil
}

func (f *source) contextTab(styles *theme.Styles) *tab {
	p := contexttab.New(styles)
	return makeSearchable(newTab(keymap.ContextTab, p, f.prepareContext), p, contexttab.Find)
}

// prepareContext finds the request of a snapshot, and the one to compare it with: that of the mark or of the head where
// the person compares with these, else the one before it.
func (f *source) prepareContext(ctx context.Context, s subject) (*contexttab.Content, error) {
	sent, err := query.RequestAt(ctx, f.store, s.around)
	if err != nil {
		return nil, err
	}
	var earlier *query.Sent
	if s.aroundBase.ID == "" {
		earlier, err = query.RequestBefore(ctx, f.store, s.around, sent)
	} else if earlier, err = query.RequestAt(ctx, f.store, s.aroundBase); errors.Is(err, query.ErrNoRequest) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return contexttab.Prepare(sent, earlier), nil
}

// hidesStates reports whether a fault says that the states of a session are not read.
func hidesStates(f model.Fault) bool { return f.Code == model.FaultOpaque }

func filesTab(styles *theme.Styles) *tab {
	p := filestab.New(styles)
	return makeSearchable(newTab(keymap.Files, p, func(_ context.Context, s subject) (*filestab.Content, error) {
		return filestab.Prepare(*s.files), nil
	}), p, filestab.Find)
}

func (f *source) resumeTab(styles *theme.Styles) *tab {
	t := newTab(keymap.Resume, resumetab.New(styles), f.prepareResume)
	t.preview = f.previewResume
	return t
}

// previewResume tells how to resume from the state alone, before a restore is planned.
func (f *source) previewResume(ctx context.Context, s subject) (any, error) {
	if f.features.Resume != nil {
		return f.prepareResume(ctx, s) // without a plan
	}
	conv, err := f.conversationOf(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	return resumetab.Prepare(ctx, resumetab.Here{Conversation: conv, Head: s.header.Head})
}

// prepareResume has the store plan a restore to the snapshot: the plan holds the
// calls that are right after it.
func (f *source) prepareResume(ctx context.Context, s subject) (*resumetab.Content, error) {
	conv, err := f.conversationOf(ctx, s.ref)
	if err != nil {
		return nil, err
	}
	here := resumetab.Here{Conversation: conv, Head: s.header.Head}
	if f.features.Resume != nil {
		here.Named, err = f.features.Resume(ctx, s.ref)
		if err != nil {
			return nil, err
		}
	}
	if f.features.Plan != nil {
		plan, err := f.features.Plan(ctx, model.Change{Op: model.OpRestore, Ref: s.ref})
		var nothing *model.NothingToError
		switch {
		case err == nil:
			here.Planned = plan.Resume
		case !here.Head && !errors.As(err, &nothing):
			here.Refused = err
		}
	}
	return resumetab.Prepare(ctx, here)
}

func (f *source) prepareInfo(ctx context.Context, s subject) (*infotab.Content, error) {
	facts := infotab.Facts{
		Header: s.header, Kind: f.store.Kind(), Address: f.store.Address(),
		Release: store.AssumedBy(f.store).String(),
		Usage:   s.usage,
		Labels:  s.labels, Faults: s.faults, Now: f.now(), Zone: f.zone,
	}
	if store.Reason(f.store, model.OpRepair) == "" {
		facts.Repair = "a repair mends what can be mended"
	}
	if f.features.Facts != nil {
		facts.IDs = f.features.DerivedIDs()
		facts.Known, facts.KnownErr = f.features.Facts(ctx, s.ref)
	}
	if f.features.Compare != nil && s.header.ParentID != "" {
		facts.New, facts.NewErr = countNewBytes(ctx, f.features, &s.header)
	}
	st, err := f.states.get(ctx, s.ref)
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

// countNewBytes returns how many bytes of a snapshot's state its parent does not have. The
// visit that it follows may be that of a step.
func countNewBytes(ctx context.Context, f store.Features, h *model.Header) (*int64, error) {
	spans, err := f.Compare(ctx, model.Ref{Session: h.SessionID, ID: h.ParentID}, h.Ref())
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, s := range spans {
		n += s.BTo - s.BFrom
	}
	return &n, nil
}
