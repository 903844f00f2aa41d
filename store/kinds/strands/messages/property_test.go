package messages

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// unsynced is a disk that a power failure would be bad for, which is faster.
type unsynced struct{ disk.Disk }

func (unsynced) Sync(string) error { return nil }

func unsync(t testing.TB, s *Store) {
	t.Helper()
	if err := s.storage.WriteThrough(func(d disk.Disk) disk.Disk { return unsynced{d} }); err != nil {
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

// framework is the agents of the sessions of a store, by the SDK's own rules. It implements
// storetest.Framework.
type framework struct {
	tb   testing.TB
	s    *Store
	root string // of the store
	late bool   // agents that run since long ago go on, too
	now  time.Time
	// writes counts those of all. old says that an agent wrote that did not know of one, or
	// left out all that the next would go on from.
	writes int
	old    bool
	// bytes are those of the message of a snapshot.
	bytes map[string]string
}

// running is an agent that runs, and how many writes it knows of.
type running struct {
	*framework
	*runningAgent
	knows int
}

func (f *framework) folder(session string) string {
	id, _, _ := strings.Cut(session, "/")
	return agentDir(f.root, id, "default")
}

// Start starts an agent on what lies in the folder of a session.
func (f *framework) Start(_ *rapid.T, session string) storetest.Agent {
	if _, err := os.Lstat(f.folder(session)); err != nil {
		return nil
	}
	a := &running{f, startAgent(f.tb, f.folder(session), f.now), f.writes}
	a.held = true // from now on
	return a
}

// Turn has the agent go on for a few messages from what it holds. An agent writes over a
// message only if it does not know of a write, or loads what such an agent made.
func (a *running) Turn(t *rapid.T) (over []storetest.Over) {
	if _, err := os.Lstat(a.dir); err != nil {
		return nil // its session was a fork, and is gone
	}
	a.old = a.old || a.knows != a.writes
	a.over = func(name string) {
		if !a.old {
			t.Fatalf("the SDK writes over %s", name)
		}
		over = append(over, a.written(t, name)...)
	}
	a.now = a.now.Add(time.Hour)
	a.clock = a.now
	most := 4
	if a.late {
		most++
	}
	for range rapid.IntRange(1, 3).Draw(t, "messages") {
		switch at := a.clock; rapid.IntRange(1, most).Draw(t, "kind") {
		case 1:
			a.append("user", said(fmt.Sprint("question at ", at)))
		case 2:
			a.append("assistant", said(fmt.Sprint("answer at ", at)))
		case 3:
			id := fmt.Sprint("call-", at.UnixNano())
			a.append("assistant", asked(id))
			if rapid.IntRange(0, 2).Draw(t, "ends amid the call") > 0 {
				a.append("user", answered(id))
			}
		case 4: // the conversation manager leaves some messages out
			got, err := startSDK(a.dir)
			if err != nil {
				t.Fatal(err)
			}
			a.window(fmt.Sprint(rapid.IntRange(0, max(0, len(got.all)-1)).Draw(t, "removed")))
			a.sync(object{"at": at.String()})
		case 5: // and this one all that it knows of: the next start may load none, and number from 0
			a.old = true
			a.window(fmt.Sprint(a.next))
			a.sync(nil)
		}
	}
	a.writes++
	a.knows = a.writes
	a.note(t)
	return over
}

// written returns what lies there as a message.
func (a *running) written(t *rapid.T, name string) (list []storetest.Over) {
	at := filepath.Join(a.dir, "messages", name)
	data, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Rel(a.root, at)
	if err != nil {
		t.Fatal(err)
	}
	for id, text := range a.bytes {
		if text == string(data) {
			list = append(list, storetest.Over{Key: id, File: filepath.ToSlash(file), Content: data})
		}
	}
	return list
}

// Key is the id, which is that of a message.
func (f *framework) Key(h *model.Header, _ []byte) string { return h.ID }

// Had: a fork keeps nothing of what it copies, and takes all along when it goes.
func (f *framework) Had(t *rapid.T, over storetest.Over) bool {
	entries, err := f.s.storage.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(over.Content))
	for _, e := range entries {
		for _, c := range e.AllChanges() {
			if c.Path == over.File && (c.Before.SHA256 == sum || c.After.SHA256 == sum && c.Does != model.FileCopied) && (e.NewSession == "" || !e.Undone) {
				return true
			}
		}
	}
	return false
}

// Holds: the SDK loads what the plan says, with the very bytes of the message that it is put
// back to, and writes over none. What an undo and a redo bring back is as it was, whatever
// an old agent had made of that.
func (f *framework) Holds(t *rapid.T, plan model.Plan, _ model.Receipt) {
	f.writes++
	f.note(t)
	if plan.Target.ID == "" {
		return // the session of a fork is gone
	}
	dir := f.folder(cmp.Or(plan.NewSession, plan.Session))
	got, err := startSDK(dir)
	if f.old && (plan.Op == model.OpUndo || plan.Op == model.OpRedo) {
		return
	}
	if err != nil || len(got.loaded) == 0 || len(got.all) != plan.Target.Index+1 {
		t.Fatalf("%s: the SDK loads %q of %q, %v", plan.Headline(), got.loaded, got.all, err)
	}
	if want, known := f.bytes[plan.Target.ID]; known && plan.Op == model.OpRestore {
		data, err := os.ReadFile(filepath.Join(dir, "messages", got.all[len(got.all)-1]))
		if err != nil || string(data) != want {
			t.Fatalf("%s: the message is %s, %v, and was %s", plan.Headline(), data, err, want)
		}
	}
	next := fmt.Sprintf("message_%d.json", got.next)
	if slices.Contains(got.all, next) || plan.Loads != "" && !strings.Contains(plan.Loads, "is restored as first created") && !strings.HasSuffix(plan.Loads, "becomes "+next) {
		t.Fatalf("%s: next is %s, and the plan says %q", plan.Headline(), next, plan.Loads)
	}
}

// note notes what lies there of the messages of all sessions, which is for each snapshot
// what it always was.
func (f *framework) note(t *rapid.T) {
	for info, err := range f.s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		dir := f.folder(info.ID)
		got, _ := startSDK(dir)
		n := 0
		for h, err := range f.s.Headers(t.Context(), info.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if h.Orphaned {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, "messages", got.all[n]))
			if err != nil {
				t.Fatal(err)
			}
			if was, known := f.bytes[h.ID]; known && was != string(data) {
				t.Fatalf("snapshot %s was %s, and is %s", h.ID, was, data)
			}
			f.bytes[h.ID] = string(data)
			n++
		}
	}
}

// newWorld makes a store with a session of six messages.
func newWorld(tb testing.TB, t *rapid.T, late bool) storetest.World {
	dir, err := os.MkdirTemp(tb.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	hazards(tb)["healthy"].write(tb, filepath.Join(dir, "session_h"))
	others, err := filepath.Glob(filepath.Join(messagesOf(dir), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		mustRemove(tb, name)
	}
	turns(startAgent(tb, agentDir(dir, "h", "default"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), 6)
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	unsync(tb, s)
	f := &framework{tb: tb, s: s, root: dir, late: late, now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), bytes: map[string]string{}}
	f.note(t)
	edits := 0
	return storetest.World{Framework: f, Store: s, Dir: dir, KeepsOwn: true, Wait: func(*rapid.T) {}, Edit: func(state []byte) []byte {
		edits++
		pointer, value := "/messages/0/content/0/text", fmt.Sprintf(`"edit %d"`, edits)
		if edits%2 == 0 {
			pointer, value = "/state", fmt.Sprintf(`{"edit": %d}`, edits)
		}
		if tape(tb, state).LookupPointer(pointer) < 0 {
			return nil
		}
		return edited(tb, state, pointer, value)
	}}
}

// Whatever Hindcast and agents do in turn, see storetest.World: also beside agents that
// hold an old view and go on from that. Every message that an agent was told it had written
// is on a branch then, and a restore brings its bytes back.
func TestProperty(t *testing.T) {
	skip.Sequential(t)
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late %t", late), func(t *testing.T) {
			t.Parallel()
			property := func(rt *rapid.T) int { return newWorld(t, rt, late).Play(rt, late) }
			if late {
				storetest.Overwritten(t, 35, property)
			} else {
				rapid.Check(t, storetest.Few(35, func(rt *rapid.T) { property(rt) }))
			}
		})
	}
}
