package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
)

// Framework is how the agents of a format use a store, by the rules of the framework's own
// sources and not by those of the kind. The tests of each kind implement it.
type Framework interface {
	// Start has an agent start on a session, nil where none would.
	Start(t *rapid.T, session string) Agent
	// Key names what is in a snapshot, whatever its id: that stays as long as it was an
	// agent that saved it.
	Key(h *model.Header, state []byte) string
	// Had reports whether Hindcast wrote or set aside what an agent wrote over.
	Had(t *rapid.T, over Over) bool
	// Holds fails the test where the framework does not go on as a plan that was
	// carried out says.
	Holds(t *rapid.T, plan model.Plan, receipt model.Receipt)
}

// Agent is a program that runs. It goes on from what it holds, whatever was written since.
type Agent interface {
	// Turn says something and saves. It returns the snapshots that it wrote over.
	Turn(t *rapid.T) []Over
}

// Over is a snapshot that an agent wrote over: its key, and what its file was.
type Over struct {
	Key, File string
	Content   []byte
}

// World is a store in which Hindcast and agents take turns.
type World struct {
	Framework
	Store Writer
	Dir   string
	// Wait passes time.
	Wait func(t *rapid.T)
	// Edit returns a state that was edited, each time in another way, and nil of one that is
	// not. A nil Edit leaves edits out.
	Edit func(state []byte) []byte
	// KeepsOwn says that what a restore or a repair saved stays in reach, too, when that is
	// taken back.
	KeepsOwn bool
}

// Play has Hindcast and agents do something in any order, with late also agents that run
// since long ago. After each: nothing that an agent saved is out of reach, but what an
// agent wrote over and Hindcast never had, because reading keeps nothing; each session has
// one head; and the framework goes on as the plan said. What no agent built upon is taken
// back to the very bytes, and done again to the very bytes. It returns how many snapshots
// were written over that Hindcast had. At the end, states that are taken apart are the whole
// ones.
func (w World) Play(t *rapid.T, late bool) (had int) {
	p := &play{World: w, t: t, saved: map[string]string{}}
	p.now = p.reach()
	for key := range p.now {
		p.saved[key] = ""
	}
	acts := []func(){p.start, p.write, p.write, p.write}
	if late {
		acts = append(acts, p.goOn, p.goOn)
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		w.Wait(t)
		acts[rapid.IntRange(0, len(acts)-1).Draw(t, "act")]()
	}
	p.takeBack()
	for range 4 {
		p.restore()
	}
	for _, session := range p.sessions() {
		Apart(t, p.Store, p.headers(session))
	}
	return p.had
}

type play struct {
	World
	t *rapid.T
	// saved has the keys of what agents saved, and with its session of what Hindcast did.
	saved map[string]string
	// now are the keys of all that can be reached.
	now map[string]bool
	// running are the agents that run; old says that one of them went on late.
	running []Agent
	old     bool
	// undoable are the files before each write that no agent's turn followed.
	undoable []map[string]string
	made     int // sessions
	had      int
}

func (p *play) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) sessions() (ids []string) {
	for info, err := range p.Store.Sessions(p.t.Context()) {
		p.ok(err)
		ids = append(ids, info.ID)
	}
	slices.Sort(ids)
	return ids
}

func (p *play) headers(session string) (list []model.Header) {
	for h, err := range p.Store.Headers(p.t.Context(), session) {
		p.ok(err)
		list = append(list, h)
	}
	return list
}

// reach returns the keys of all that can be reached.
func (p *play) reach() map[string]bool {
	keys := map[string]bool{}
	for _, session := range p.sessions() {
		heads, ids := 0, map[string]bool{}
		list := p.headers(session)
		for _, h := range list {
			ids[h.ID] = true
		}
		for _, h := range list {
			if h.ParentID != "" && !ids[h.ParentID] {
				p.t.Fatalf("session %q: the parent %q of %q is not there", session, h.ParentID, h.ID)
			}
			state, err := p.Store.State(p.t.Context(), h.Ref())
			p.ok(err)
			if keys[p.Key(&h, state)] = true; h.Head {
				heads++
			}
		}
		if heads != 1 {
			p.t.Fatalf("session %q has %d heads", session, heads)
		}
	}
	return keys
}

func (p *play) start() {
	if a := p.Start(p.t, rapid.SampledFrom(p.sessions()).Draw(p.t, "session")); a != nil {
		p.running = append(p.running, a)
		p.turn(a)
	}
}

func (p *play) goOn() {
	if len(p.running) > 0 {
		p.old = true
		p.turn(rapid.SampledFrom(p.running).Draw(p.t, "agent"))
	}
}

func (p *play) turn(a Agent) {
	before := p.now
	for _, over := range a.Turn(p.t) {
		if p.Had(p.t, over) {
			p.had++
		} else {
			delete(p.saved, over.Key) // though a fork may have it yet
		}
	}
	after := p.reach()
	p.now = after
	p.keeps("an agent's turn", before, after)
	p.saves(before, after, "")
	p.undoable = nil
}

// saves notes what came: what Hindcast saved with the session, for it goes with that.
func (p *play) saves(before, after map[string]bool, session string) {
	for key := range after {
		if _, known := p.saved[key]; !known && !before[key] {
			p.saved[key] = session
		}
	}
}

// keeps: what was saved is still in reach.
func (p *play) keeps(what string, before, after map[string]bool) {
	for key := range before {
		session, saved := p.saved[key]
		if saved && !after[key] && (session == "" || slices.Contains(p.sessions(), session)) {
			p.t.Fatalf("after %s this is gone: %s", what, key)
		}
	}
}

// write plans something of Hindcast's and carries it out.
func (p *play) write() {
	change := model.Change{Op: rapid.SampledFrom([]model.Op{model.OpRestore, model.OpRestore, model.OpRestore, model.OpFork, model.OpUndo, model.OpUndo, model.OpRedo, model.OpRepair, model.OpRepair, model.OpEdit}).Draw(p.t, "op")}
	switch change.Ref = p.snapshot(); change.Op {
	case model.OpFork, model.OpEdit:
		if !store.NamesForks(p.Store) {
			p.made++
			change.As = fmt.Sprint("f", p.made)
		}
	case model.OpRepair:
		change.Ref = model.Ref{Session: change.Ref.Session}
	}
	if change.Op == model.OpEdit {
		if p.Edit == nil {
			return
		}
		state, err := p.Store.State(p.t.Context(), change.Ref)
		p.ok(err)
		if change.State = p.Edit(state); change.State == nil {
			return
		}
	}
	p.change(change)
}

// snapshot draws a snapshot of a session.
func (p *play) snapshot() model.Ref {
	list := p.headers(rapid.SampledFrom(p.sessions()).Draw(p.t, "session"))
	return list[rapid.IntRange(0, len(list)-1).Draw(p.t, "snapshot")].Ref()
}

// restore puts a session back to any of its snapshots.
func (p *play) restore() { p.change(model.Change{Op: model.OpRestore, Ref: p.snapshot()}) }

// change carries out a change, unless it is refused.
func (p *play) change(change model.Change) bool {
	plan, err := p.Store.Plan(p.t.Context(), change)
	if errors.As(err, new(*model.NothingToError)) || errors.As(err, new(*model.UnsupportedError)) || errors.Is(err, model.ErrHeadMoved) {
		return false
	}
	p.ok(err)
	before, files := p.now, FilesOf(p.t, p.Dir)
	receipt, err := p.Store.Apply(p.t.Context(), plan)
	p.ok(err)
	after := p.reach()
	p.now = after
	p.keeps(plan.Headline(), before, after)
	if p.KeepsOwn && (plan.Op == model.OpRestore || plan.Op == model.OpRepair) {
		p.saves(before, after, plan.Session)
	}
	p.Holds(p.t, plan, receipt)
	switch n := len(p.undoable); {
	case receipt.Entry == 0: // there was nothing to write
	case plan.Op != model.OpUndo:
		p.undoable = append(p.undoable, files)
		if a := p.Start(p.t, cmp.Or(plan.NewSession, plan.Session)); a != nil { // and waits
			p.running = append(p.running, a)
		}
	case n > 0:
		sameFiles(p.t, "after an undo", FilesOf(p.t, p.Dir), p.undoable[n-1])
		p.undoable = p.undoable[:n-1]
	}
	return true
}

// takeBack takes back all that no agent built upon, and does it again.
func (p *play) takeBack() {
	last, done := FilesOf(p.t, p.Dir), 0
	for len(p.undoable) > 0 {
		if !p.change(model.Change{Op: model.OpUndo}) {
			if !p.old { // which may have built upon what was not there
				p.t.Fatalf("%d writes cannot be taken back", len(p.undoable))
			}
			return
		}
		done++
	}
	for range done {
		if !p.change(model.Change{Op: model.OpRedo}) {
			p.t.Fatal("a write that was taken back cannot be done again")
		}
	}
	sameFiles(p.t, "all taken back and done again:", FilesOf(p.t, p.Dir), last)
}
