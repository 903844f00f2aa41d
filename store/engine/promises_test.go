package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/journal"
	"hindcast/store/media/tree"
)

// TestStorage_named: plans, receipts and the journal call a session as the kind does; labels lie under its
// name in the storage. What comes of the messages of a state is told where a session goes on from it.
func TestStorage_named(t *testing.T) {
	b := newBook(t)
	var asked []string
	b.called = func(session string) string { return "id of " + session }
	b.named = func(id string) string { return strings.TrimPrefix(id, "id of ") }
	b.state = func(id string) ([]byte, error) {
		if asked = append(asked, id); id == "d" {
			return nil, errBroken
		}
		return []byte(`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"t","input":{}}}]},{"role":"user","content":"on"}]}`), nil
	}
	b.kind = "langgraph" // a framework whose rules are known
	b.open(StorageOptions{})
	change := func(op model.Op, session, id string) model.Change {
		return model.Change{Op: op, Ref: model.Ref{Session: "id of " + session, ID: id}, As: "f"}
	}
	p := b.planned(change(model.OpRestore, "s", "b"))
	f := b.planned(change(model.OpFork, "s", "b"))
	if p.Session != "id of s" || f.Session != "id of s" || f.NewSession != "id of f" {
		t.Errorf("%+v, %+v", p, f)
	}
	const none = 2 // hazards without those of the messages
	if len(p.Hazards) <= none || len(f.Hazards) != len(p.Hazards) {
		t.Errorf("%q, %q", p.Hazards, f.Hazards)
	}
	if d := b.planned(change(model.OpRestore, "s", "d")); len(d.Hazards) != none {
		t.Errorf("%q", d.Hazards)
	}
	r, err := b.store.Apply(t.Context(), p)
	if err != nil || r.Session != "id of s" {
		t.Errorf("%+v, %v", r, err)
	}
	if p := b.planned(undo); p.Session != "id of s" || p.Target.ID != "e" || len(p.Asks) != 0 {
		t.Errorf("%+v", p)
	}
	r = b.do(change(model.OpFork, "s", "b"))
	list, err := b.store.Journal(t.Context())
	if err != nil || r.Session != "id of f" || len(list) != 2 || list[0].Session != "id of f" || list[1].Session != "id of s" {
		t.Errorf("%+v, %+v, %v", r, list, err)
	}
	for id, want := range map[string]string{"id of s": "s", "forbidden": "forbidden", "x": "x"} {
		if _, _, name := b.store.features.LabelFile(t.Context(), id); name != want {
			t.Errorf("%s: %q", id, name)
		}
	}
	if b.Way != "." {
		t.Errorf("the way is %q", b.Way)
	}
}

// TestStorage_movedHead: a write that only moves the head is why the rows behind it are off the path, with
// where it is now; of a row whose file got another content, the row that has its content is meant.
func TestStorage_movedHead(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Steps = slices.DeleteFunc(m.Steps, func(s tree.Step) bool { return s.Aside }) }
	b.do(to(model.OpRestore, "s", "b"))
	b.write(map[string]string{"s/rows/0": "- zero."})
	log, err := b.Log(t.Context(), b.place("s"))
	if err != nil || len(log.Rows) != 6 || log.Head != 2 {
		t.Fatalf("%+v, %v", log, err)
	}
	for i, h := range log.Rows {
		if left := i > 2; left != h.Orphaned && i > 0 || left && (h.Reason.Kind != model.ReasonRestore || h.Reason.TargetID != "b" || h.Reason.TargetIndex != 2 || !h.Reason.At.Equal(noonOf)) {
			t.Errorf("%s: %v, %+v", h.ID, h.Orphaned, h.Reason)
		}
	}
	w := b.Writes(t.Context())
	if list := log.headMoves(w.ForSession("s")); len(list) != 1 || list[0].From != "e" || list[0].To != "b" || list[0].Why.TargetIndex != 2 {
		t.Errorf("%+v", list)
	}
	if list := log.headMoves(nil); list != nil {
		t.Errorf("%+v", list)
	}
	log.Rows, log.Files = log.Rows[:2], log.Files[:2]
	if list := log.headMoves(w.ForSession("s")); len(list) != 1 || list[0].Why.TargetIndex != 1 { // as it was then
		t.Errorf("%+v", list)
	}
	for saved, want := range map[string]string{"": "", "s/rows/y": "y"} {
		b := newBook(t)
		b.format.moves = func(m *Move) {
			if saved != "" {
				m.Steps = append(tree.Steps{{Name: "s/rows/a", Data: []byte("- another.")}}, append(m.Steps, tree.Step{Name: saved, Data: []byte("d five.")})...)
				m.Keeps = nil
			}
		}
		b.do(to(model.OpRepair, "s", "e"))
		log, err := b.Log(t.Context(), b.place("s"))
		if err != nil {
			t.Fatal(err)
		}
		w := b.Writes(t.Context())
		if list := log.headMoves(w.ForSession("s")); len(list) != 1 || list[0].From != want {
			t.Errorf("saved in %q: %+v", saved, list)
		}
		log.Rows, log.Files = log.Rows[:2], log.Files[:2] // neither is there
		if list := log.headMoves(w.ForSession("s")); len(list) != 1 || list[0].From != "e" {
			t.Errorf("saved in %q: %+v", saved, list)
		}
	}
}

// TestCountTurns: turns that are known stay, and the others are counted along the parents, wherever these
// stand.
func TestCountTurns(t *testing.T) {
	end := model.SnapshotEventTurnEnd
	rows := []model.Header{
		{ID: "c", ParentID: "b", TurnIndex: model.TurnUnknown}, {ID: "a", TurnIndex: model.TurnUnknown, Event: end}, {ID: "b", ParentID: "a", TurnIndex: model.TurnUnknown, Event: end},
		{ID: "k", ParentID: "b", TurnIndex: 7, Event: end}, {ID: "l", ParentID: "k", TurnIndex: model.TurnUnknown, Event: end, EventName: "named"}, {ID: "m", ParentID: "l", TurnIndex: model.TurnUnknown},
	}
	countTurns(rows, model.NewTimeline(rows))
	var got []int
	for _, h := range rows {
		got = append(got, h.TurnIndex)
	}
	if want := []int{2, 0, 1, 7, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("%v and not %v", got, want)
	}
}

// TestStorage_verifies: a write whose session reads otherwise than planned is taken back.
func TestStorage_verifies(t *testing.T) {
	b := newBook(t)
	p := b.planned(to(model.OpRestore, "s", "b"))
	before, came := b.tree(), false
	b.ReadThrough(func(on tree.Tree) tree.Tree {
		return watched{on, func() {
			if _, err := os.Stat(filepath.Join(b.dir, "s", "head")); err == nil && !came { // behind the write
				came = true
				b.write(map[string]string{"s/rows/z": "b on."})
			}
		}}
	})
	if _, err := b.store.Apply(t.Context(), p); err == nil {
		t.Error("it is done")
	}
	before["s/rows/z"] = "b on."
	if now := b.tree(); !maps.Equal(now, before) {
		t.Errorf("it is %q", now)
	}
}

// watched is a tree that does something before each listing.
type watched struct {
	tree.Tree
	do func()
}

func (w watched) List(dir string) ([]string, error) {
	w.do()
	return w.Tree.List(dir)
}

// TestStorage_changesTwice: a file that changes between two looks of a plan is told, of an undo too.
func TestStorage_changesTwice(t *testing.T) {
	for _, c := range []model.Change{to(model.OpRestore, "s", "c"), undo} {
		b := newBook(t)
		b.do(to(model.OpRestore, "s", "d"))
		reads := 0
		b.format.reads = func(in In) {
			if reads++; reads == 2 {
				b.write(map[string]string{"s/rows/a": "- changed."})
				_, _, _ = in.Read("s/rows/a", nil) // the format passes over what it cannot read
			}
		}
		b.format.lenient = true
		if _, err := b.store.Plan(t.Context(), c); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "s/rows/a was changed") {
			t.Errorf("%s: %v", c.Op, err)
		}
	}
}

// TestStorage_keptIsLost: a plan that needs a content that cannot be read is none, though the format passes
// over the file.
func TestStorage_keptIsLost(t *testing.T) {
	for _, c := range []model.Change{undo, to(model.OpRestore, "s", "d")} {
		b := newBook(t)
		b.do(to(model.OpRestore, "s", "b"))
		entries, err := b.Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		b.format.lenient = true
		b.format.reads = func(In) {
			if reads++; reads > 2 || c.Op == model.OpUndo {
				for _, change := range entries[0].Changes() {
					if v := change.Before; v.SHA256 != "" {
						_ = os.RemoveAll(filepath.Join(b.dir, journal.Folder, "kept"))
					}
				}
			}
		}
		if _, err := b.store.Plan(t.Context(), c); err == nil {
			t.Errorf("%s is planned", c.Op)
		}
	}
}

// TestStorage_cannotOpen: a folder that went before anything was written says so, whatever is asked.
func TestStorage_cannotOpen(t *testing.T) {
	b := newBook(t)
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Apply(t.Context(), model.Plan{}); !errors.Is(err, journal.ErrNoCarry) {
		t.Errorf("apply: %v", err)
	}
	for what, err := range map[string]error{
		"ready": b.Ready(),
		"kept":  func() error { _, err := b.ReadKept(journal.Version{}); return err }(),
		"lock":  func() error { _, err := b.Lock("x"); return err }(),
		"write": b.WriteThrough(func(on disk.Disk) disk.Disk { return on }),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b.Lacks() == "" {
		t.Error("nothing lacks")
	}
}

// TestStorage_refusesPaths: a step that leads out of the storage makes no plan.
func TestStorage_refusesPaths(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Steps = append(m.Steps, tree.Step{Name: "../x", Data: []byte("out")}) }
	if p, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "b")); err == nil {
		t.Errorf("%+v", p)
	}
}

// TestReversal: nothing to take back is no entry, and an error is told as one.
func TestReversal(t *testing.T) {
	b := newBook(t)
	for _, op := range []model.Op{model.OpUndo, model.OpRedo} {
		if r, err := b.FindReversal(t.Context(), op); r != nil || err != nil {
			t.Errorf("%s: %+v, %v", op, r, err)
		}
	}
	b.do(to(model.OpRestore, "s", "b"))
	if r, err := b.FindReversal(t.Context(), model.OpRedo); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.FindReversal(t.Context(), model.OpUndo); r == nil || err != nil || r.ID != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := b.FindReversal(ended, model.OpUndo); err == nil {
		t.Errorf("%+v", r)
	}
	// A row goes on from one that an undo would take away.
	b.do(to(model.OpRestore, "s", "d"))
	b.write(map[string]string{"s/rows/x": "d on.", "s/head": "d"})
	before := b.tree()
	if p, err := b.store.Plan(t.Context(), undo); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("%+v, %v", p, err)
	}
	if now := b.tree(); !maps.Equal(now, before) {
		t.Errorf("it is %q", now)
	}
}

// TestPurge_each: a purge finds a content once, of each file and of each entry of the session, whatever
// stands between, and not once more.
func TestPurge_each(t *testing.T) {
	b := newBook(t)
	b.write(map[string]string{"s/rows/c": "b secret.", "s/rows/d": "c secret.", "t/rows/c": "b secret of t."})
	b.do(to(model.OpRestore, "t", "a"))
	b.do(to(model.OpRestore, "s", "b"))
	b.do(undo)
	b.do(to(model.OpRestore, "t", "b"))
	b.do(to(model.OpRestore, "s", "a"))
	b.do(forkAs("t", "b", "f"))
	b.do(to(model.OpRestore, "f", "a"))
	purge := func(session string, scope model.PurgeScope) (paths []string) {
		t.Helper()
		p, err := b.store.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: session}, Scope: scope})
		if errors.As(err, new(*model.NothingToError)) {
			return nil
		}
		if p.Loads != "" || len(p.Resume) != 0 { // the session stays as it is
			t.Errorf("%+v", p)
		}
		if err == nil {
			_, err = b.store.Apply(t.Context(), p)
		}
		if err != nil {
			t.Error(err)
		}
		for _, f := range p.Files {
			paths = append(paths, f.Path)
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	for _, want := range []string{"[s/rows/c s/rows/d]", "[]"} {
		if got := purge("s", ""); fmt.Sprint(got) != want {
			t.Errorf("%q and not %s", got, want)
		}
	}
	if got := purge("f", model.PurgeRedacted); !slices.Contains(got, "f/head") {
		t.Errorf("%q", got)
	}
	if got := purge("t", ""); fmt.Sprint(got) != "[t/rows/c]" {
		t.Errorf("%q", got)
	}
	file := filepath.Join(b.dir, filepath.FromSlash(JournalFile))
	if err := os.WriteFile(file, []byte("no record\n\nno record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(StorageOptions{})
	if _, err := b.store.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}}); err == nil {
		t.Error("of a journal that cannot be read something is forgotten")
	}
}

// TestWriter_locks: a lock is held by one, and seen.
func TestWriter_locks(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	put(t, dir, "a", "1")
	if d.IsHeld("a") {
		t.Error("it is held")
	}
	unlock, err := d.Lock("a")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && !d.IsHeld("a") { // other systems do not tell
		t.Error("it is not held")
	}
	if _, err := writerOf(t, dir).Lock("a"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("it is locked twice: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	again, err := d.Lock("a")
	if err != nil || again() != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := d.Entries(ended); list != nil || !errors.Is(err, context.Canceled) {
		t.Error(list, err)
	}
	if err := d.Check(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWriter_ownLast: whose a file is, its last write tells, also where others came behind.
func TestWriter_ownLast(t *testing.T) {
	dir := t.TempDir()
	d := writerOf(t, dir)
	write(t, d, "a", "one")
	write(t, d, "b", "two")
	write(t, d, "c", "six")
	for name, want := range map[string]bool{"s/a": true, "s/b": true, "s/c": true, "s/d": false} {
		if d.isOwnWrite(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	put(t, dir, "s/a", "eno") // of the same size
	if d.isOwnWrite("s/a") || !d.isOwnWrite("s/b") {
		t.Error("what an agent wrote is Hindcast's, or what it did not")
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(JournalFile)), []byte("no record\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if writerOf(t, dir).isOwnWrite("s/b") {
		t.Error("of a journal that cannot be read something is told")
	}
}

// TestStorage_recovers: a write that was broken off is finished before the next plan, and one that cannot be
// refuses it until it can.
func TestStorage_recovers(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		b := newBook(t)
		b.do(to(model.OpRestore, "t", "a"))
		if err := b.WriteThrough(func(on disk.Disk) disk.Disk { return killed{on} }); err != nil {
			t.Fatal(err)
		}
		p := b.planned(to(model.OpRepair, "s", "e"))
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("it was not killed")
				}
			}()
			_, _ = b.store.Apply(t.Context(), p)
		}()
		if foreign {
			b.write(map[string]string{"s/rows/e": "d somebody else."})
		}
		b.open(StorageOptions{})
		if !b.brokenOff(t.Context()) {
			t.Error("nothing was broken off")
		}
		_, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "b"))
		text, failed := os.ReadFile(filepath.Join(b.dir, "s/rows/e"))
		if failed != nil {
			t.Fatal(failed)
		}
		if foreign {
			if err == nil || !strings.Contains(err.Error(), "cannot be finished") || b.Broken() == nil || string(text) != "d somebody else." {
				t.Errorf("%v, %q", err, text)
			}
			b.write(map[string]string{"s/rows/e": "d five."})
			if _, err := b.store.Plan(t.Context(), to(model.OpRestore, "s", "b")); err != nil || b.Broken() != nil {
				t.Error(err, b.Broken())
			}
		} else if err != nil || string(text) != "d mended." {
			t.Errorf("%v, %q", err, text)
		}
		if b.brokenOff(t.Context()) {
			t.Error("it is broken off for ever")
		}
	}
}

// TestStorage_keeps: what is remembered outlives the storage, where there is a cache.
func TestStorage_keeps(t *testing.T) {
	b, cache := newBook(t), files.NewCache(t.TempDir())
	b.write(map[string]string{"s/rows/e": "d " + strings.Repeat("five ", 1<<20) + "."}) // what is worth it
	for i, want := range []int64{5, 0} {
		b.open(StorageOptions{Cache: cache})
		if got := b.drawn("s"); got != allRows {
			t.Error(got)
		}
		if n := b.Memo.CountReads(); n != want {
			t.Errorf("%d: %d files are read", i, n)
		}
		if err := b.Storage.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpen_farUp: a bucket that has not all the folders above what was opened is read where that is.
func TestOpen_farUp(t *testing.T) {
	b := newBook(t)
	on := newSource(t, b.dir)
	on.above, on.dir = true, "/in/two/one"
	for up, way := range map[int]string{1: "one", 3: "."} {
		b.open(StorageOptions{On: on, Up: up})
		if refused := b.Ready() != nil; refused != (way == ".") || b.Way != way || refused && b.Folder() != on.Name() {
			t.Errorf("%d up: %v, %q, %s", up, b.Ready(), b.Way, b.Folder())
		}
	}
}

// TestDraft_folders: a step may make a folder, and an undo of one that took an empty one away does.
func TestDraft_folders(t *testing.T) {
	b := newBook(t)
	j, err := b.Storage.Journal()
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.Draft(j, tree.Steps{{Name: "made", Version: journal.Version{Folder: true}}}).Plan(model.Plan{Op: model.OpRestore, Session: "s"})
	if err == nil {
		_, err = j.Apply(t.Context(), p, nil)
	}
	at, failed := os.Stat(filepath.Join(b.dir, "made"))
	if err != nil || failed != nil || !at.IsDir() {
		t.Error(err, failed)
	}
	w := b.Writes(t.Context())
	if s := w.ForSession("s"); len(s.ListAside()) != 0 || s.MakerOf("made") != nil { // a folder is no content
		t.Errorf("%+v", s.ListAside())
	}
}

// TestSavedIn: of several files that get a content the first counts, and none that had another.
func TestSavedIn(t *testing.T) {
	v := func(sum string) journal.Version { return journal.Version{SHA256: sum, Size: 1} }
	none := journal.Version{}
	got := savedIn([]journal.Change{{Path: "a", Before: none, After: v("1")}, {Path: "b", Before: none, After: v("1")}, {Path: "c", Before: v("2"), After: v("3")}, {Path: "d", Before: v("4"), After: none}, {Path: "e"}})
	if want := map[string]string{"1": "a"}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestUnread_of: files with several rows tell of each line, a file that cannot be read or that is told hides
// no other, and a row that is aside is not looked for.
func TestUnread_of(t *testing.T) {
	say := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const lost = "words that nobody can see"
	b := newBook(t)
	for name, text := range map[string]string{"one": say(lost), "two": say(lost) + "\n" + say(lost+" either"), "told": say(lost), "aside": say(lost), "last": say(lost)} {
		put(t, b.dir, name, text)
	}
	log := &Log{
		Rows:  []model.Header{{ID: "told"}, {ID: "aside"}, {ID: "none"}, {ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}},
		Files: []string{"told", "aside", "none", "one", "two", "two", "last"},
		Aside: map[string]*Aside{"aside": {}},
	}
	faults, err := b.Unread(t.Context(), shown{words: "others that are in view"}, "s", log, model.Fault{File: "told"})
	var got []string
	for _, f := range faults {
		got = append(got, fmt.Sprintf("%s %s: %d", f.File, f.Path, f.Records))
	}
	if err != nil || fmt.Sprint(got) == "[]" {
		t.Errorf("%q, %v", got, err)
	}
	records := 0
	for _, f := range faults {
		records += f.Records
	}
	if records != 4 {
		t.Errorf("%q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Unread(ended, shown{words: "x"}, "s", log); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStorage_closedToCome: a folder that a move closes and that is not there yet is none.
func TestStorage_closedToCome(t *testing.T) {
	b := newBook(t)
	p := b.planned(to(model.OpRestore, "s", "b"))
	b.write(map[string]string{"s/none/x": "1"})
	if _, err := b.store.Apply(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// TestReversal_hangs: an undo that would take away a row from which another one goes on is refused, whatever
// the move closed; and an undone write no longer says where the head is.
func TestReversal_hangs(t *testing.T) {
	b := newBook(t)
	b.format.moves = func(m *Move) { m.Closed = nil }
	b.do(to(model.OpRestore, "s", "b"))
	b.do(to(model.OpRestore, "s", "d"))
	b.write(map[string]string{"s/rows/x": "d on."})
	if p, err := b.store.Plan(t.Context(), undo); !errors.Is(err, model.ErrHeadMoved) || !strings.Contains(err.Error(), "has the child") {
		t.Errorf("%+v, %v", p, err)
	}
	b.write(map[string]string{"s/rows/x": ""})
	told := func() *Mark { w := b.Writes(t.Context()); return w.ForSession("s").Last() }
	for _, want := range []string{"d", "b", ""} {
		if last := told(); last == nil && want != "" || last != nil && last.To != want {
			t.Errorf("the last is %+v and not %q", last, want)
		}
		if want != "" {
			b.do(undo)
		}
	}
}

// TestLog_readsOnce: what was set aside is read with the rest, and no file twice.
func TestLog_readsOnce(t *testing.T) {
	b := newBook(t)
	for _, name := range []string{"a", "b", "c"} { // too young for a note
		put(t, b.dir, "u/rows/"+name, map[string]string{"a": "- one.", "b": "a two.", "c": "b three."}[name])
	}
	b.do(to(model.OpRestore, "u", "b"))
	before := b.Memo.CountReads()
	log, err := b.Log(t.Context(), b.place("u"))
	if n := b.Memo.CountReads() - before; err != nil || len(log.Rows) != 3 || n != 3 {
		t.Errorf("%d rows of %d readings, %v", len(log.Rows), n, err)
	}
}

// TestWriter_brokenOffAndLocked: while another program finishes a write that was broken off, that is no error.
func TestWriter_brokenOffAndLocked(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s/a", "agent")
	breakOff(t, dir)
	d := writerOf(t, dir)
	if err := d.WriteThrough(func(on disk.Disk) disk.Disk { return locked{on} }); err != nil {
		t.Fatal(err)
	}
	if d.Recover(t.Context()); d.Broken() != nil {
		t.Error(d.Broken())
	}
	none := writerOf(t, filepath.Join(dir, "none"))
	if list, err := none.Entries(t.Context()); list != nil || err != nil {
		t.Error(list, err)
	}
	if err := none.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
