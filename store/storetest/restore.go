package storetest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// Restore is the suite of what every kind holds whose sessions can be put back, run at
// every position of every session of the store at an address, of which it makes a copy.
func Restore(t *testing.T, kind store.Kind, address string) {
	skip.Sequential(t)
	restored := 0
	for _, info := range Sessions(t, OpenStore(t, kind, address)) {
		mine := Copy(t, address) // with a journal of its own, which grows
		p := putting{TB: t, dir: mine, s: AsWriter(OpenStore(t, kind, mine)), other: AsWriter(OpenStore(t, kind, mine))}
		for _, p.to = range Headers(t, p.s, info.ID) {
			if p.restore() {
				restored++
			}
		}
		if p.to.ID != "" {
			p.refuses()
		}
	}
	if restored == 0 {
		t.Error("no session of the store could be put back")
	}
}

// failing is what a test and one case of a property can both do.
type failing interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

// FilesOf returns the mode and the content of everything below a folder but what is
// Hindcast's own. Of a file it returns nothing: how a database keeps what it has is its
// own affair.
func FilesOf(t failing, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return all
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".hindcast":
			return filepath.SkipDir
		}
		info, err := e.Info()
		name, relErr := filepath.Rel(dir, path)
		if err = errors.Join(err, relErr); err == nil {
			all[filepath.ToSlash(name)] = info.Mode().String() + " " + content(path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameFiles(t failing, when string, got, want map[string]string) {
	t.Helper()
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got[name] != want[name] {
			t.Errorf("%s %s is another: there %t, and was %t", when, name, got[name] != "", want[name] != "")
		}
	}
}

// putting is a session that is put back to one of its snapshots.
type putting struct {
	testing.TB
	s, other Writer // the same store, opened twice
	dir      string
	to       model.Header
}

// path is which snapshots of a session are on the active path, and where the head is.
type path struct {
	on   map[model.Ref]bool
	head model.Header
	// says is the conversation of the head.
	says string
}

func (p *putting) path() path {
	p.Helper()
	now := path{on: map[model.Ref]bool{}}
	for _, h := range Headers(p, p.s, p.to.SessionID) {
		if !h.Marks.Has(model.MarkTraced) { // a step is where its turn is
			now.on[h.Ref()] = !h.Orphaned
		}
		if h.Head {
			now.head, now.says = h, p.said(h)
		}
	}
	return now
}

func (p *putting) plan(s Writer, change model.Change) model.Plan {
	p.Helper()
	plan, err := s.Plan(p.Context(), change)
	if err != nil {
		p.Fatalf("%s of session %q to #%d: %v", change.Op, p.to.SessionID, p.to.Index, err)
	}
	return plan
}

func (p *putting) apply(plan model.Plan) model.Receipt {
	p.Helper()
	receipt, err := p.s.Apply(p.Context(), plan)
	if err != nil {
		p.Fatalf("%s of session %q to #%d: %v", plan.Op, p.to.SessionID, p.to.Index, err)
	}
	return receipt
}

// restore puts the session back, takes that back, does it again, and takes it back. It
// reports whether it could.
func (p *putting) restore() bool {
	p.Helper()
	change := model.Change{Op: model.OpRestore, Ref: p.to.Ref()}
	files, was := FilesOf(p, p.dir), p.path()
	entries, err := p.s.Journal(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	wanted := p.said(p.to)
	plan, err := p.s.Plan(p.Context(), change)
	if refused := (*model.UnsupportedError)(nil); errors.As(err, &refused) {
		holdText(p, err.Error())
		return false
	}
	if err != nil {
		p.Fatalf("session %q to #%d: %v", p.to.SessionID, p.to.Index, err)
	}
	if now, err := p.s.Journal(p.Context()); err != nil || len(now) != len(entries) {
		p.Errorf("a plan is an entry of the journal: %v", err)
	}
	sameFiles(p, "a plan writes:", FilesOf(p, p.dir), files)
	if plan.Op != model.OpRestore || plan.Session != p.to.SessionID || plan.Target.ID != p.to.ID || plan.Head != was.head.Point() {
		p.Errorf("session %q to #%d: the plan leads from %+v to %+v", p.to.SessionID, p.to.Index, plan.Head, plan.Target)
	}
	receipt := p.apply(plan)
	after, now := FilesOf(p, p.dir), p.path()
	if receipt.Head != now.head.Point() {
		p.Errorf("session %q to #%d: the receipt says that the head is %+v, and it is %+v", p.to.SessionID, p.to.Index, receipt.Head, now.head.Point())
	}
	if now.says != wanted {
		p.Errorf("session %q to #%d: the head says\n%s\nand not\n%s", p.to.SessionID, p.to.Index, now.says, wanted)
	}
	p.moved(plan, was, now)
	if plan.Idle() {
		if receipt.Entry != 0 {
			p.Errorf("session %q to #%d: an idle plan is entry %d", p.to.SessionID, p.to.Index, receipt.Entry)
		}
		sameFiles(p, "an idle plan writes:", after, files)
		return true
	}
	if now.head.Point() != was.head.Point() {
		p.stale(plan, after)
	}
	for _, redo := range []bool{true, false} {
		p.apply(p.plan(p.s, model.Change{Op: model.OpUndo}))
		sameFiles(p, "after an undo", FilesOf(p, p.dir), files)
		p.samePath("after an undo", p.path(), was)
		if redo {
			p.apply(p.plan(p.s, model.Change{Op: model.OpRedo}))
			sameFiles(p, "after a redo", FilesOf(p, p.dir), after)
			p.samePath("after a redo", p.path(), now)
		}
	}
	return true
}

// said is the conversation of a snapshot, "" where there is none.
func (p *putting) said(h model.Header) string {
	p.Helper()
	state, err := p.s.State(p.Context(), h.Ref())
	if err != nil {
		return "" // a damaged one may be put back to all the same
	}
	tape, _, err := jsontape.ParseTolerant(state)
	if err != nil {
		return ""
	}
	talk := conversation.Decode(tape)
	var text strings.Builder
	for i := range talk.Len() {
		text.Write(tape.Raw(talk.Message(i).Node))
		text.WriteByte('\n')
	}
	return text.String()
}

// moved: exactly the snapshots leave the path and come back to it that the plan says.
func (p *putting) moved(plan model.Plan, was, now path) {
	p.Helper()
	left, back := map[model.Ref]bool{}, map[model.Ref]bool{}
	for _, at := range plan.Orphans {
		left[plan.Ref(at)] = true
	}
	for _, at := range plan.Reactivates {
		back[plan.Ref(at)] = true
	}
	for ref, on := range was.on {
		want := on && !left[ref] || back[ref]
		isOn, there := now.on[ref]
		if !there && ref == was.head.Ref() { // the latest may get a name of its own
			there = slices.ContainsFunc(Headers(p, p.s, p.to.SessionID), func(h model.Header) bool { return p.said(h) == was.says })
		}
		if isOn != want || !there {
			p.Errorf("session %q to #%d: %q is on the path: %t, there: %t; the plan says %t", p.to.SessionID, p.to.Index, ref.ID, isOn, there, want)
		}
	}
}

func (p *putting) samePath(when string, got, want path) {
	p.Helper()
	if got.head.Point() != want.head.Point() {
		p.Errorf("%s the head of session %q is %+v, and was %+v", when, p.to.SessionID, got.head.Point(), want.head.Point())
	}
	for ref, on := range want.on {
		if got.on[ref] != on {
			p.Errorf("%s %+v is on the path: %t", when, ref, got.on[ref])
		}
	}
}

// stale: a plan that was carried out is not carried out again, nor one that was made
// before another writer wrote.
func (p *putting) stale(plan model.Plan, files map[string]string) {
	p.Helper()
	if _, err := p.other.Apply(p.Context(), plan); !errors.Is(err, model.ErrHeadMoved) && !errors.As(err, new(*model.UnsupportedError)) {
		p.Errorf("session %q to #%d: a plan whose head moved: %v", p.to.SessionID, p.to.Index, err)
	}
	sameFiles(p, "a plan whose head moved writes:", FilesOf(p, p.dir), files)
}

// refuses: what is not there cannot be put back to, and a write that is cancelled did not
// happen.
func (p *putting) refuses() {
	p.Helper()
	session := p.to.SessionID
	for ref, want := range map[model.Ref]error{
		{Session: session, ID: "none"}:           model.ErrNoSnapshot,
		{Session: "none", ID: p.to.ID}:           model.ErrNoSession,
		{Session: session, ID: "../" + session}:  model.ErrNoSnapshot,
		{Session: session, ID: "\x1b[31m\u202e"}: model.ErrNoSnapshot,
	} {
		_, err := p.s.Plan(p.Context(), model.Change{Op: model.OpRestore, Ref: ref})
		if !errors.Is(err, want) {
			p.Errorf("restore of %+v: %v, want %v", ref, err, want)
		} else {
			holdText(p, err.Error())
		}
	}
	files, was := FilesOf(p, p.dir), p.path()
	for _, h := range Headers(p, p.s, session) {
		plan, err := p.s.Plan(p.Context(), model.Change{Op: model.OpRestore, Ref: h.Ref()})
		if err != nil || plan.Idle() {
			continue
		}
		for point := 1; point < 200; point += 1 + point/2 {
			_, err := p.s.Apply(newFuse(p.Context(), point), plan)
			if err != nil {
				sameFiles(p, "a write that was cancelled", FilesOf(p, p.dir), files)
				p.samePath("after a write that was cancelled", p.path(), was)
				continue
			}
			p.apply(p.plan(p.s, model.Change{Op: model.OpUndo}))
			break
		}
		return
	}
}
