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
	// Had reports whether Hindcast wrote or set aside a file with that content.
	Had(t *rapid.T, content []byte) bool
	// Holds fails the test where the framework does not go on as a plan that was
	// carried out says.
	Holds(t *rapid.T, plan model.Plan, receipt model.Receipt)
}

// Agent is a program that runs. It goes on from what it holds, whatever was written since.
type Agent interface {
	// Turn says something and saves. It returns the snapshots that it is about to write
	// over: the content of the file of each, by its key.
	Turn(t *rapid.T) (over map[string][]byte)
}

// World is a store in which Hindcast and agents take turns.
type World struct {
	Framework
	Store store.Writer
	Dir   string
	// Wait passes time.
	Wait func(t *rapid.T)
	// Edit returns the state of an edit, each time another. Nil leaves edits out.
	Edit func() []byte
}

// Play has Hindcast and agents do something in any order, with late also agents that run
// since long ago. After each: nothing that an agent saved is out of reach, but what an
// agent wrote over and Hindcast never had, because reading keeps nothing; each session has
// one head; and the framework goes on as the plan said. What no agent built upon is taken
// back to the very bytes, and done again to the very bytes. It returns how many snapshots
// were written over that Hindcast had.
func (w World) Play(t *rapid.T, late bool) (had int) {
	p := &play{World: w, t: t, saved: map[string]bool{}}
	for key := range p.reach() {
		p.saved[key] = true
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
	return p.had
}

type play struct {
	World
	t *rapid.T
	// saved are the keys of what agents saved.
	saved map[string]bool
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
	before := p.reach()
	for key, content := range a.Turn(p.t) {
		if p.Had(p.t, content) {
			p.had++
		} else {
			delete(p.saved, key) // though a fork may have it yet
		}
	}
	after := p.reach()
	p.keeps("an agent's turn", before, after)
	for key := range after {
		if !before[key] {
			p.saved[key] = true
		}
	}
	p.undoable = nil
}

// keeps: what agents saved is still in reach.
func (p *play) keeps(what string, before, after map[string]bool) {
	for key := range before {
		if p.saved[key] && !after[key] {
			p.t.Fatalf("after %s this is gone: %s", what, key)
		}
	}
}

// write plans something of Hindcast's and carries it out.
func (p *play) write() {
	change := model.Change{Op: rapid.SampledFrom([]model.Op{model.OpRestore, model.OpRestore, model.OpRestore, model.OpFork, model.OpUndo, model.OpUndo, model.OpRedo, model.OpRepair, model.OpEdit}).Draw(p.t, "op")}
	list := p.headers(rapid.SampledFrom(p.sessions()).Draw(p.t, "session"))
	switch change.Ref = list[rapid.IntRange(0, len(list)-1).Draw(p.t, "snapshot")].Ref(); change.Op {
	case model.OpFork, model.OpEdit:
		p.made++
		change.As = fmt.Sprint("f", p.made)
	case model.OpRepair:
		change.Ref = model.Ref{Session: change.Ref.Session}
	}
	if change.Op == model.OpEdit {
		if p.Edit == nil {
			return
		}
		change.State = p.Edit()
	}
	p.change(change)
}

// change carries out a change, unless it is refused.
func (p *play) change(change model.Change) bool {
	plan, err := p.Store.Plan(p.t.Context(), change)
	if errors.As(err, new(*model.NothingToError)) || errors.As(err, new(*model.UnsupportedError)) || errors.Is(err, model.ErrHeadMoved) {
		return false
	}
	p.ok(err)
	before, files := p.reach(), FilesOf(p.t, p.Dir)
	receipt, err := p.Store.Apply(p.t.Context(), plan)
	p.ok(err)
	after := p.reach()
	p.keeps(plan.Headline(), before, after)
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
