package storetest

import (
	"errors"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/store"
)

// Sessions that begin with a state that somebody edited, and sessions that come
// out of another store. They run where a kind has them.

var edits = []check{
	{"TestEdit_startsFromAnotherState", edit},
	{"TestEdit_isTakenBackAndDoneAgain", undoEdit},
	{"TestEdit_refuses", refusedEdits},
	{"TestConvert_takesASessionOverWhole", convert},
	{"TestConvert_refuses", refusedConversions},
}

func (b *bench) editor() Writer {
	if why := b.Lacks(model.OpEdit); why != "" {
		b.Skip(why)
	}
	return b.Store
}

func edit(b *bench) {
	e := b.editor()
	_, ids := branched(b)
	before := b.picture("s")
	plan, err := e.Plan(b.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: ids[3]}, As: "f", State: []byte(`"e"`)})
	b.ok(err)
	if plan.Op != model.OpEdit || plan.Session != "s" || plan.NewSession != "f" || plan.Target.ID != ids[3] || !strings.Contains(onward(&plan), id(`"e"`)) {
		b.Errorf("the plan is %+v", plan)
	}
	b.clock.Advance(time.Hour)
	receipt := b.apply(plan)
	if receipt.Session != "f" || receipt.Head.ID != id(`"e"`) || receipt.Head.Index != 3 {
		b.Errorf("receipt %+v", receipt)
	}
	b.want("s", before)
	b.want("f", "a0 b1 c2 e3*")
	source, made := b.headers("s"), b.headers("f")
	for i, h := range made {
		if h.Visit != int64(i+1) || h.ParentVisit != int64(i) || h.SessionID != "f" || h.ParentID != source[i].ParentID || h.TurnIndex != source[i].TurnIndex {
			b.Errorf("visit %d is %+v, of %+v", i+1, h, source[i])
		}
	}
	if h := made[3]; h.Title != "#3, edited" || !h.CreatedAt.Equal(b.clock.Now()) {
		b.Errorf("the edited one is %+v", h)
	}
	data, err := b.Get(b.Context(), "f")
	b.ok(err)
	if data == nil || string(data.State) != `"e"` || data.LastSnapshot.ID != id(`"e"`) || data.TurnIndex != 3 {
		b.Errorf("the record is %+v", data)
	}
	for info, err := range b.Sessions(b.Context()) {
		b.ok(err)
		if info.ID == "f" && (info.Snapshots != 4 || info.Orphaned != 0 || info.Head.ID != id(`"e"`)) {
			b.Errorf("it is listed as %+v", info)
		}
	}
	a := b.agent("f")
	a.resume()
	a.turns(`"m"`)
	b.want("f", "a0 b1 c2 e3 m4*")

	// A state that was there already, at the root.
	plan, err = e.Plan(b.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: ids[0]}, As: "g", State: []byte(`"d"`)})
	b.ok(err)
	b.apply(plan)
	b.want("g", "d0*")
}

func undoEdit(b *bench) {
	e := b.editor()
	_, ids := branched(b)
	dumps := []string{b.dump()}
	plan, err := e.Plan(b.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: ids[3]}, As: "f", State: []byte(`"e"`)})
	b.ok(err)
	b.apply(plan)
	dumps = append(dumps, b.dump())
	for range 2 {
		b.undo()
		b.same(b.dump(), dumps[0])
		if b.reopen != nil {
			b.Store = b.reopen(b.T)
		}
		plan, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo})
		b.ok(err)
		if plan.Op != model.OpRedo || plan.NewSession != "f" || !strings.Contains(onward(&plan), id(`"e"`)) {
			b.Errorf("the plan is %+v", plan)
		}
		b.apply(plan)
		b.same(b.dump(), dumps[1])
	}
	entries, err := b.Journal(b.Context())
	b.ok(err)
	if len(entries) != 1 || entries[0].Op != model.OpEdit || entries[0].Session != "f" {
		b.Errorf("the journal is %+v", entries)
	}
}

func refusedEdits(b *bench) {
	e := b.editor()
	_, ids := branched(b)
	b.agent("t").turns(`"p"`)
	before := b.dump()
	for _, c := range []struct {
		id, as, state string
		want          error
	}{
		{ids[3], "t", `"e"`, store.ErrSessionExists},
		{ids[3], "u", `"d"`, store.ErrNotEdited},
		{ids[3], "u", `"d`, store.ErrNotJSON},
		{ids[3], "u", `NaN`, store.ErrNotJSON},
		{"none", "u", `"e"`, model.ErrNoSnapshot},
		{ids[3], "", `"e"`, nil},
	} {
		_, err := e.Plan(b.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: c.id}, As: c.as, State: []byte(c.state)})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			b.Errorf("%+v: %v", c, err)
		}
	}
	// The name is taken between plan and application; and a plan of a stranger.
	plan, err := e.Plan(b.Context(), model.Change{Op: model.OpEdit, Ref: model.Ref{Session: "s", ID: ids[3]}, As: "t2", State: []byte(`"e"`)})
	b.ok(err)
	stranger := plan
	stranger.Carry = nil
	if _, err := b.Apply(b.Context(), stranger); err == nil {
		b.Error("a plan without its state is applied")
	}
	b.same(b.dump(), before)
	b.agent("t2").turns(`"q"`)
	before = b.dump()
	if _, err := b.Apply(b.Context(), plan); !errors.Is(err, store.ErrSessionExists) {
		b.Errorf("an edit onto a name that was taken meanwhile: %v", err)
	}
	b.same(b.dump(), before)
}

// converter returns the store as one that takes sessions over, and another one with
// the session s to take over.
func (b *bench) converter() (store.Features, *bench) {
	c := b.Store.Features()
	if c.PlanConvert == nil {
		b.Skip("the kind takes no sessions over")
	}
	other := b.open(b.T, b.clock.Now)
	from := &bench{T: b.T, Store: other.Store, open: b.open, clock: b.clock}
	branched(from)
	return c, from
}

func convert(b *bench) {
	c, from := b.converter()
	b.agent("t").turns(`"p"`)
	dumps := []string{b.dump()}
	before := from.dump()
	plan, err := c.PlanConvert(b.Context(), from.Store, "s", "f")
	b.ok(err)
	if plan.Op != model.OpConvert || plan.Session != "s" || plan.NewSession != "f" || !strings.Contains(plan.Writes[0], "6 snapshots, 2 of them off the path") {
		b.Errorf("the plan is %+v", plan)
	}
	b.same(b.dump(), dumps[0])
	receipt := b.apply(plan)
	heads := from.headers("s")
	if head := heads[len(heads)-1]; receipt.Session != "f" || receipt.Head.ID != head.ID || receipt.Head.Index != head.Index || receipt.Entry == 0 {
		b.Errorf("receipt %+v", receipt)
	}
	b.want("f", from.picture("s"))
	from.same(from.dump(), before)
	for i, h := range b.headers("f") {
		if old := heads[i]; (h.Reason == nil) != (old.Reason == nil) || h.Reason != nil && *h.Reason != *old.Reason {
			b.Errorf("visit %d is %+v, of %+v", i+1, h, old)
		}
	}
	dumps = append(dumps, b.dump())
	entries, err := b.Journal(b.Context())
	b.ok(err)
	if len(entries) != 1 || entries[0].Op != model.OpConvert || entries[0].Session != "f" {
		b.Errorf("the journal is %+v", entries)
	}

	plan, err = b.Plan(b.Context(), model.Change{Op: model.OpUndo})
	b.ok(err)
	if !strings.Contains(strings.Join(plan.Hazards, "\n"), "redo cannot bring it back") {
		b.Errorf("the plan is %+v", plan)
	}
	b.apply(plan)
	b.same(b.dump(), dumps[0])
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpRedo}); !errors.As(err, new(*model.NothingToError)) {
		b.Errorf("redo: %v", err)
	}
	plan, err = c.PlanConvert(b.Context(), from.Store, "s", "f")
	b.ok(err)
	b.apply(plan)
	b.same(b.dump(), dumps[1])

	// It goes on, and is then not taken back.
	a := b.agent("f")
	a.resume()
	a.turns(`"m"`)
	if _, err := b.Plan(b.Context(), model.Change{Op: model.OpUndo}); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("undo of a session that went on: %v", err)
	}
	// A session of the very same store is taken over, too.
	plan, err = c.PlanConvert(b.Context(), b.Store, "f", "g")
	b.ok(err)
	b.apply(plan)
	b.want("g", b.picture("f"))
}

func refusedConversions(b *bench) {
	c, from := b.converter()
	b.agent("t").turns(`"p"`)
	if _, err := c.PlanConvert(b.Context(), from.Store, "s", "t"); !errors.Is(err, store.ErrSessionExists) {
		b.Errorf("onto a session: %v", err)
	}
	if _, err := c.PlanConvert(b.Context(), from.Store, "none", "u"); !errors.Is(err, model.ErrNoSession) {
		b.Errorf("of no session: %v", err)
	}
	if _, err := c.PlanConvert(b.Context(), from.Store, "s", ""); err == nil {
		b.Error("without a name it is planned")
	}
	taken, err := c.PlanConvert(b.Context(), from.Store, "s", "u")
	b.ok(err)
	stale, err := c.PlanConvert(b.Context(), from.Store, "s", "v")
	b.ok(err)
	b.agent("u").turns(`"q"`)
	a := from.agent("s")
	a.resume()
	a.turns(`"m"`)
	before := b.dump()
	if _, err := b.Apply(b.Context(), taken); !errors.Is(err, store.ErrSessionExists) {
		b.Errorf("onto a name that was taken meanwhile: %v", err)
	}
	if _, err := b.Apply(b.Context(), stale); !errors.Is(err, model.ErrHeadMoved) {
		b.Errorf("of a session that went on: %v", err)
	}
	b.same(b.dump(), before)
}
