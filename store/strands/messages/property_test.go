package messages

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/journal"
	"hindcast/store/storetest"
	"hindcast/store/writing"
)

// unsynced is a disk that a power failure would be bad for, which is faster.
type unsynced struct{ writing.Disk }

func (unsynced) Sync(string) error { return nil }

func unsync(t testing.TB, s *Store) {
	t.Helper()
	err := s.on.Through(func(d writing.Disk) writing.Disk { return unsynced{d} })
	if err = cmp.Or(err, s.reach()); err != nil {
		t.Fatal(err)
	}
}

// openUnsynced opens a store on such a disk.
func openUnsynced(t testing.TB, dir string) *Store {
	t.Helper()
	s := open(t, dir)
	unsync(t, s)
	return s
}

// world is a store in which Hindcast and agents take turns.
type world struct {
	t     *rapid.T
	tb    testing.TB
	dir   string
	s     *Store
	clock time.Time
	// seen are the snapshots that there ever were, each with its session.
	seen map[string]string
	// undoable are the contents before each write that no agent's turn followed.
	undoable []map[string]string
	forks    int
	// agents still run, each with what it holds; old says that one wrote after a
	// restore that it knows nothing of.
	agents []*runningAgent
	old    bool
	// bytes are those of the message of a snapshot.
	bytes map[string]string
	// lost are the snapshots whose messages were written over and Hindcast never held:
	// a fork may have them yet.
	lost map[string]bool
	// held counts the messages that were written over and Hindcast held.
	held int
}

func (w *world) sessions() []string {
	var list []string
	for info, err := range w.s.Sessions(w.tb.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, info.ID)
	}
	slices.Sort(list)
	return list
}

func (w *world) headers(session string) []model.Header {
	var list []model.Header
	for h, err := range w.s.Headers(w.tb.Context(), session) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, h)
	}
	return list
}

// pick draws a session and a snapshot of it.
func (w *world) pick() *model.Header {
	list := w.headers(rapid.SampledFrom(w.sessions()).Draw(w.t, "session"))
	return &list[rapid.IntRange(0, len(list)-1).Draw(w.t, "snapshot")]
}

// apply carries out a plan, and asks the SDK's rule what it makes of it.
func (w *world) apply(plan model.Plan, err error) {
	refused, conflict := (*model.UnsupportedError)(nil), (*journal.ConflictError)(nil)
	if nothing := (*model.NothingToError)(nil); errors.As(err, &nothing) || errors.As(err, &refused) || errors.As(err, &conflict) ||
		errors.Is(err, model.ErrHeadMoved) || errors.Is(err, store.ErrSessionExists) {
		return
	}
	if err != nil {
		w.t.Fatalf("%+v", err)
	}
	before := contents(w.tb, w.dir)
	if _, err := w.s.Apply(w.tb.Context(), plan); err != nil {
		w.t.Fatalf("%s: %v", plan.Headline(), err)
	}
	switch plan.Op {
	case model.OpUndo:
		if n := len(w.undoable); n > 0 {
			if now := contents(w.tb, w.dir); !maps.Equal(now, w.undoable[n-1]) {
				w.t.Fatalf("after the undo the store is not as it was before the write")
			}
			w.undoable = w.undoable[:n-1]
		}
	default:
		w.undoable = append(w.undoable, before)
	}
	session := plan.Session
	if plan.NewSession != "" {
		session = plan.NewSession
	}
	if plan.Target.ID == "" {
		return // the session of a fork is gone
	}
	id, _, _ := strings.Cut(session, "/")
	got, err := startSDK(agentDir(w.dir, id, "default"))
	if w.old && (plan.Op == model.OpUndo || plan.Op == model.OpRedo) {
		return // as it was, whatever the old agent had made of it
	}
	if want, known := w.bytes[plan.Target.ID]; known && plan.Op == model.OpRestore {
		data, err := os.ReadFile(filepath.Join(agentDir(w.dir, id, "default"), "messages", got.all[len(got.all)-1]))
		if err != nil || string(data) != want {
			w.t.Fatalf("%s: the message is %s, %v, and was %s", plan.Headline(), data, err, want)
		}
	}
	if err == nil && plan.Op == model.OpRestore { // an agent starts, and waits
		w.agents = append(w.agents, startAgent(w.tb, agentDir(w.dir, id, "default"), w.clock))
	}
	if err != nil || len(got.loaded) == 0 || len(got.all) != plan.Target.Index+1 {
		w.t.Fatalf("%s: the SDK loads %q of %q, %v", plan.Headline(), got.loaded, got.all, err)
	}
	next := fmt.Sprintf("message_%d.json", got.next)
	if slices.Contains(got.all, next) || plan.Loads != "" && !strings.Contains(plan.Loads, "is there again") && !strings.HasSuffix(plan.Loads, "becomes "+next) {
		w.t.Fatalf("%s: next is %s, and the plan says %q", plan.Headline(), next, plan.Loads)
	}
}

// turn has an agent go on for a few messages.
func (w *world) turn() {
	session := rapid.SampledFrom(w.sessions()).Draw(w.t, "session")
	w.clock = w.clock.Add(time.Hour)
	a := startAgent(w.tb, agentDir(w.dir, session, "default"), w.clock)
	if w.old { // what another wrote may have this one write over messages, too
		a.held, a.over = true, func(name string) { w.over(a, name) }
	}
	w.agents = append(w.agents, a)
	for range rapid.IntRange(1, 3).Draw(w.t, "messages") {
		switch rapid.IntRange(0, 3).Draw(w.t, "kind") {
		case 0:
			a.append("user", said(fmt.Sprint("question at ", a.clock)))
		case 1:
			a.append("assistant", said(fmt.Sprint("answer at ", a.clock)))
		case 2:
			id := fmt.Sprint("call-", a.clock.UnixNano())
			a.append("assistant", asked(id))
			a.append("user", answered(id))
		case 3:
			a.sync(object{"at": a.clock.String()})
			w.window(a)
		}
	}
	w.undoable = nil
}

// late has an agent that still runs go on from what it holds.
func (w *world) late() {
	w.agents = slices.DeleteFunc(w.agents, func(a *runningAgent) bool {
		_, err := os.Lstat(a.dir)
		return err != nil // its session was a fork, and is gone
	})
	list := slices.DeleteFunc(slices.Clone(w.agents), func(a *runningAgent) bool {
		_, err := os.Lstat(filepath.Join(a.dir, "messages", fmt.Sprintf("message_%d.json", a.next)))
		return err != nil
	})
	if len(list) == 0 { // none would write over a message
		list = w.agents
	}
	if len(list) == 0 {
		return
	}
	a := list[rapid.IntRange(0, len(list)-1).Draw(w.t, "agent")]
	w.old = true
	a.held, a.over = true, func(name string) { w.over(a, name) }
	w.clock = w.clock.Add(time.Hour)
	a.clock = w.clock
	for range rapid.IntRange(1, 3).Draw(w.t, "messages") {
		a.append("user", said(fmt.Sprint("late at ", a.clock)))
	}
	if rapid.Bool().Draw(w.t, "syncs") {
		if rapid.Bool().Draw(w.t, "slides") { // the next start may load none, and number from 0
			a.window(fmt.Sprint(a.next))
		}
		a.sync(nil)
	}
	w.undoable = nil
}

// over notes that an agent is about to write over a message. One that Hindcast never held
// is then gone: reading keeps nothing.
func (w *world) over(a *runningAgent, name string) {
	data, err := os.ReadFile(filepath.Join(a.dir, "messages", name))
	if err != nil {
		w.t.Fatal(err)
	}
	entries, err := w.s.entries(w.tb.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	file, err := filepath.Rel(w.dir, filepath.Join(a.dir, "messages", name))
	if err != nil {
		w.t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	for _, e := range entries {
		for _, c := range e.Named() {
			// A fork keeps nothing of what it copies, and takes all along when it goes.
			if c.Path == filepath.ToSlash(file) && (c.Before.SHA256 == sum || c.After.SHA256 == sum && c.Does != model.FileCopied) && (e.NewSession == "" || !e.Undone) {
				w.held++
				return
			}
		}
	}
	for id, text := range w.bytes {
		if text == string(data) {
			w.lost[id] = true
		}
	}
}

// note notes what lies there of the messages of a session.
func (w *world) note(session string, list []model.Header) {
	dir := agentDir(w.dir, session, "default")
	got, _ := startSDK(dir)
	n := 0
	for _, h := range list {
		if h.Orphaned {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "messages", got.all[n]))
		if err != nil {
			w.t.Fatal(err)
		}
		if was, known := w.bytes[h.ID]; known && was != string(data) {
			w.t.Fatalf("snapshot %s was %s, and is %s", h.ID, was, data)
		}
		w.bytes[h.ID] = string(data)
		n++
	}
}

// window has the conversation manager take some messages out.
func (w *world) window(a *runningAgent) {
	got, err := startSDK(a.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(a.dir, "agent.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	old := tape(w.tb, data)
	p := jsontape.NewPatch(old)
	removed := rapid.IntRange(0, len(got.all)-1).Draw(w.t, "removed")
	p.Put(old.Find(0, "conversation_manager_state"), "removed_message_count", []byte(fmt.Sprint(removed)))
	a.replace("agent.json", p.Bytes())
}

// check makes sure that everything that was ever seen can be reached.
func (w *world) check() {
	now := map[string]bool{}
	for _, session := range w.sessions() {
		heads := 0
		list := w.headers(session)
		w.note(session, list)
		for _, h := range list {
			now[h.ID] = true
			w.seen[h.ID] = session
			if h.Head {
				heads++
			}
		}
		if heads != 1 {
			w.t.Fatalf("session %q has %d heads", session, heads)
		}
	}
	for id, session := range w.seen {
		if !now[id] && !w.lost[id] {
			w.t.Fatalf("snapshot %s of session %q is nowhere", id, session)
		}
	}
}

// Whatever Hindcast and agents do in turn: no snapshot becomes unreachable, the SDK
// always loads what the plan said and never writes over a message, and an undo gives
// back what was there.
func TestProperty_nothingIsLost(t *testing.T) {
	t.Parallel()
	properties(t, 6)
}

// Beside agents that hold an old view and go on from that: every message that an agent
// was told it had written is on a branch, and a restore brings its bytes back. The one
// exception is a message that an agent wrote over and that no write of Hindcast's to that
// session had set aside, replaced or put back before: it lay in the folder only, and is
// gone as without Hindcast, because reading keeps nothing.
func TestProperty_nothingIsOutOfReach(t *testing.T) {
	t.Parallel()
	if properties(t, 9) == 0 && !testing.Short() { // which runs few
		t.Error("no old agent wrote over a message that Hindcast held")
	}
}

// properties has Hindcast and agents do some of the first so many things, and returns how
// many messages were written over that Hindcast held.
func properties(t *testing.T, kinds int) (held int) {
	rapid.Check(t, storetest.Few(35, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		hazards(t)["healthy"].write(t, filepath.Join(dir, "session_h"))
		others, err := filepath.Glob(filepath.Join(messagesOf(dir), "*"))
		if err != nil {
			rt.Fatal(err)
		}
		for _, name := range others {
			mustRemove(t, name)
		}
		turns(startAgent(t, agentDir(dir, "h", "default"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), 6)
		s, err := Open(t.Context(), dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		unsync(t, s)
		w := &world{t: rt, tb: t, dir: dir, s: s, clock: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), seen: map[string]string{}, bytes: map[string]string{}, lost: map[string]bool{}}
		w.check()
		for range rapid.IntRange(1, 16).Draw(rt, "steps") {
			switch rapid.IntRange(0, kinds).Draw(rt, "step") {
			case 0, 1:
				w.apply(s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: w.pick().Ref()}))
			case 2:
				w.forks++
				w.apply(s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: w.pick().Ref(), As: fmt.Sprint("f", w.forks)}))
			case 3:
				w.apply(s.Plan(t.Context(), model.Change{Op: model.OpUndo}))
			case 4:
				w.apply(s.Plan(t.Context(), model.Change{Op: model.OpRedo}))
			case 7, 8:
				w.late()
			case 9:
				w.apply(s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: rapid.SampledFrom(w.sessions()).Draw(rt, "session")}}))
			default:
				w.turn()
			}
			w.check()
		}
		for len(w.undoable) > 0 {
			n := len(w.undoable)
			if w.apply(s.Plan(t.Context(), model.Change{Op: model.OpUndo})); len(w.undoable) == n {
				rt.Fatalf("%d writes cannot be taken back", n)
			}
			w.check()
		}
		held += w.held
		seen := slices.Sorted(maps.Keys(w.seen))
		seen = slices.DeleteFunc(seen, func(id string) bool { return w.lost[id] })
		for range min(4, len(seen)) {
			id := rapid.SampledFrom(seen).Draw(rt, "id")
			w.apply(s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: w.seen[id], ID: id}}))
			w.check()
		}
	}))
	return held
}
