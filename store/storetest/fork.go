package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// Fork is the suite of what every kind holds that makes new sessions and changes none, run
// at every position of every session of the store at an address, of which it makes a copy.
// The store is a folder, and what a fork writes are new files.
func Fork(t *testing.T, kind store.Kind, address string) {
	skip.Sequential(t)
	forked := 0
	for _, info := range Sessions(t, OpenStore(t, kind, address)) {
		mine := Copy(t, address) // with a journal of its own, which grows
		f := forking{putting: putting{TB: t, dir: mine, s: AsWriter(OpenStore(t, kind, mine)), other: AsWriter(OpenStore(t, kind, mine))}}
		forked += f.session(info.ID)
	}
	if forked == 0 {
		t.Error("no session of the store could be forked")
	}
}

// forking is a session that is forked from one of its snapshots.
type forking struct {
	putting
	line *model.Timeline
}

// session forks a session from each of its snapshots, and returns from how many it could.
func (f *forking) session(id string) (forked int) {
	f.Helper()
	all := Headers(f, f.s, id)
	f.line = model.NewTimeline(all)
	var refused []model.Header
	for _, f.to = range all {
		plan, err := f.s.Plan(f.Context(), f.change())
		switch why := (*model.UnsupportedError)(nil); {
		case errors.As(err, &why):
			if holdText(f, err.Error()); why.Op != model.OpFork || why.Reason == "" {
				f.Errorf("session %q from #%d is refused without a reason: %v", id, f.to.Index, err)
			}
			if len(f.open()) == 0 && f.said() {
				refused = append(refused, f.to)
			}
		case err != nil:
			f.Fatalf("session %q from #%d: %v", id, f.to.Index, err)
		case len(f.open()) > 0:
			f.Errorf("session %q from #%d ends with the tool calls %q, and is forked", id, f.to.Index, f.open())
		default:
			f.fork(plan)
			forked++
		}
	}
	if forked > 0 {
		for _, h := range refused {
			f.Errorf("session %q from #%d is refused, though no tool call is open", id, h.Index)
		}
		f.forkAgain()
	}
	return forked
}

func (f *forking) change() model.Change { return model.Change{Op: model.OpFork, Ref: f.to.Ref()} }

// fork makes a new session, takes that back, makes it again, and takes it back.
func (f *forking) fork(plan model.Plan) {
	f.Helper()
	files, before := FilesOf(f, f.dir), Headers(f, f.s, f.to.SessionID)
	if plan.Op != model.OpFork || plan.Session != f.to.SessionID || plan.Target.ID != f.to.ID || plan.Idle() {
		f.Errorf("session %q from #%d: the plan is %+v", f.to.SessionID, f.to.Index, plan)
	}
	if !strings.Contains(onward(&plan), plan.NewSession) {
		f.Errorf("%q does not say how %s goes on", onward(&plan), plan.NewSession)
	}
	f.samePlanned(files)
	receipt := f.apply(plan)
	after := FilesOf(f, f.dir)
	f.came(files, after)
	f.readsBack(plan, receipt)
	sameValue(f, "the session that was forked", Headers(f, f.s, f.to.SessionID), before)
	if _, err := f.other.Apply(f.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		f.Errorf("a plan that was carried out already: %v", err)
	}
	sameFiles(f, "a plan that was carried out already writes:", FilesOf(f, f.dir), after)
	for _, redo := range []bool{true, false} {
		f.apply(f.plan(f.s, model.Change{Op: model.OpUndo}))
		sameFiles(f, "after an undo", FilesOf(f, f.dir), files)
		if _, err := f.headers(plan.NewSession); !errors.Is(err, model.ErrNoSession) {
			f.Errorf("session %q was taken back, and is there: %v", plan.NewSession, err)
		}
		if redo {
			f.apply(f.plan(f.s, model.Change{Op: model.OpRedo}))
			sameFiles(f, "after a redo", FilesOf(f, f.dir), after)
			f.readsBack(plan, receipt)
		}
	}
}

// samePlanned: a plan writes nothing.
func (f *forking) samePlanned(files map[string]string) {
	f.Helper()
	entries, err := f.s.Journal(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.plan(f.s, f.change())
	if now, err := f.s.Journal(f.Context()); err != nil || len(now) != len(entries) {
		f.Errorf("a plan is an entry of the journal: %v", err)
	}
	sameFiles(f, "a plan writes:", FilesOf(f, f.dir), files)
}

// came: a fork writes new files, which only their owner may read, and leaves each other one
// as it is.
func (f *forking) came(before, after map[string]string) {
	f.Helper()
	others, files := map[string]string{}, 0
	for name, is := range after {
		if _, was := before[name]; was {
			others[name] = is
			continue
		}
		mode, _, _ := strings.Cut(is, " ")
		if want := "-rw-------"; mode == want {
			files++
		} else if mode != "drwx------" {
			f.Errorf("session %q from #%d: %s has the mode %s", f.to.SessionID, f.to.Index, name, mode)
		}
	}
	if files == 0 {
		f.Errorf("session %q from #%d: a fork writes no file", f.to.SessionID, f.to.Index)
	}
	sameFiles(f, "a fork writes:", others, before)
}

func (f *forking) headers(session string) (list []model.Header, err error) {
	for h, err := range f.s.Headers(f.Context(), session) {
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// readsBack: the new session is the way to the snapshot, and stands at its end.
func (f *forking) readsBack(plan model.Plan, receipt model.Receipt) {
	f.Helper()
	list := Headers(f, f.s, plan.NewSession)
	if len(list) == 0 {
		f.Fatalf("session %q from #%d: session %q has no snapshots", f.to.SessionID, f.to.Index, plan.NewSession)
	}
	var way []model.Header
	for n := f.line.EndOf(f.node()); n != model.NoNode; n = f.line.Parent(n) {
		way = append(way, f.line.Header(n))
	}
	slices.Reverse(way)
	titles := func(list []model.Header) (all []string) {
		for _, h := range list {
			all = append(all, h.Title)
		}
		return all
	}
	sameValue(f, "what session "+plan.NewSession+" has", titles(list), titles(way))
	for i, h := range list {
		if h.Orphaned || h.Head != (i == len(list)-1) {
			f.Errorf("session %q: of %d snapshots #%d is off the path: %t, the head: %t", plan.NewSession, len(list), h.Index, h.Orphaned, h.Head)
		}
		if i < len(way) {
			sameValue(f, "what #"+h.Title+" of session "+plan.NewSession+" says", f.messages(h), f.messages(way[i]))
		}
	}
	if head := list[len(list)-1]; receipt.Session != plan.NewSession || receipt.Head != head.Point() {
		f.Errorf("the receipt says that %q is at %+v, and it is at %+v", receipt.Session, receipt.Head, head.Point())
	}
}

// said reports whether the user or the model said anything up to the snapshot: no agent goes
// on from what it put in itself.
func (f *forking) said() bool {
	f.Helper()
	for n := f.line.EndOf(f.node()); n != model.NoNode; n = f.line.Parent(n) {
		switch h := f.line.Header(n); h.EventText() {
		case "user input", "after model", model.SnapshotEventTurnEnd.String(), model.SnapshotEventToolIterationEnd.String():
			return true
		}
	}
	return false
}

// node returns where the snapshot is in its session.
func (f *forking) node() model.Node {
	for n := range model.Node(f.line.Len()) {
		if f.line.Header(n).Ref() == f.to.Ref() {
			return n
		}
	}
	f.Fatalf("session %q has no #%d", f.to.SessionID, f.to.Index)
	return model.NoNode
}

// messages are those of a state, without the records of the agent, in which the session is
// named.
func (f *forking) messages(h model.Header) (list []map[string]any) {
	f.Helper()
	var state struct{ Messages []map[string]any }
	text, err := f.s.State(f.Context(), h.Ref())
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		f.Fatalf("session %q, #%d: %v", h.SessionID, h.Index, err)
	}
	for _, m := range state.Messages {
		delete(m, "raw")
	}
	return state.Messages
}

// open returns the tool calls of the model's last answer that nothing answers. Where the
// model answered again behind a call, the agent got by without its result.
func (f *forking) open() []string {
	f.Helper()
	var open []string
	last := ""
	for _, m := range f.messages(f.to) {
		role, _ := m["role"].(string)
		if role == "assistant" && last != role {
			open = nil
		}
		last = role
		blocks, _ := m["content"].([]any)
		for _, b := range blocks {
			block, _ := b.(map[string]any)
			if call, ok := block["toolUse"].(map[string]any); ok {
				open = append(open, call["toolUseId"].(string))
			}
			if result, ok := block["toolResult"].(map[string]any); ok {
				open = slices.DeleteFunc(open, func(id string) bool { return id == result["toolUseId"] })
			}
		}
	}
	return open
}

// forkAgain holds what takes one snapshot of the session to show: the last that can be
// forked from.
func (f *forking) forkAgain() {
	f.Helper()
	for _, h := range slices.Backward(Headers(f, f.s, f.to.SessionID)) {
		if f.to = h; len(f.open()) == 0 {
			break
		}
	}
	f.refuses()
	f.cancelled()
	f.besideAWriter()
	f.wentOn()
}

// refuses: what is not there is not forked from, nor is a session made whose name is taken.
func (f *forking) refuses() {
	f.Helper()
	session := f.to.SessionID
	for ref, want := range map[model.Ref]error{
		{Session: session, ID: "none"}:              model.ErrNoSnapshot,
		{Session: "none", ID: f.to.ID}:              model.ErrNoSession,
		{Session: "../" + session, ID: f.to.ID}:     model.ErrNoSession,
		{Session: session, ID: "\x1b[31m\u202e"}:    model.ErrNoSnapshot,
		{Session: session, ID: f.to.ID, Visit: 512}: model.ErrNoSnapshot,
	} {
		_, err := f.s.Plan(f.Context(), model.Change{Op: model.OpFork, Ref: ref})
		if !errors.Is(err, want) {
			f.Errorf("a fork of %+v: %v, want %v", ref, err, want)
		} else {
			holdText(f, err.Error())
		}
	}
	for _, info := range Sessions(f, f.s) {
		change := f.change()
		change.As = info.ID
		if _, err := f.s.Plan(f.Context(), change); !errors.Is(err, store.ErrSessionExists) {
			f.Errorf("a fork of session %q onto session %q: %v", session, info.ID, err)
		}
	}
	files := FilesOf(f, f.dir)
	for _, as := range []string{"mine", "../out", "a/../../out", "/tmp/out", "..", "\x1b[31m\u202e", strings.Repeat("x", 4096)} {
		change := f.change()
		change.As = as
		plan, err := f.s.Plan(f.Context(), change)
		if err != nil {
			if holdText(f, err.Error()); !errors.As(err, new(*model.UnsupportedError)) {
				f.Errorf("a fork called %.20q is refused by %v", as, err)
			}
			continue
		}
		if plan.NewSession != as {
			f.Errorf("a fork called %.20q is planned as %q", as, plan.NewSession)
		}
		f.apply(plan)
		f.came(files, FilesOf(f, f.dir))
		if out, err := filepath.Glob(filepath.Join(filepath.Dir(f.dir), "*")); err != nil || len(out) != 1 {
			f.Errorf("a fork called %.20q writes beside the store: %q, %v", as, out, err)
		}
		f.apply(f.plan(f.s, model.Change{Op: model.OpUndo}))
	}
	sameFiles(f, "after names that are none", FilesOf(f, f.dir), files)
}

// cancelled: a write that is cancelled did not happen.
func (f *forking) cancelled() {
	f.Helper()
	files := FilesOf(f, f.dir)
	for point := 1; ; point += 1 + point/2 {
		plan, err := f.s.Plan(newFuse(f.Context(), point), f.change())
		if err == nil {
			_, err = f.s.Apply(newFuse(f.Context(), point), plan)
		}
		if err == nil {
			break
		}
		if holdText(f, err.Error()); point > 10_000 {
			f.Fatalf("a fork with a context that ends at point %d: %v", point, err)
		}
		sameFiles(f, "a fork that was cancelled", FilesOf(f, f.dir), files)
	}
	f.apply(f.plan(f.s, model.Change{Op: model.OpUndo}))
	sameFiles(f, "after a fork that was cancelled often", FilesOf(f, f.dir), files)
}

// besideAWriter: an agent that writes to the session is not disturbed, and the fork is what
// the session was when it was planned.
func (f *forking) besideAWriter() {
	f.Helper()
	file := f.source()
	plan := f.plan(f.s, f.change())
	was, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(slices.Clip(was), `{"type":"of a writer that is at wo`...), 0o600)
	}
	if err != nil {
		f.Fatal(err)
	}
	files := FilesOf(f, f.dir)
	receipt := f.apply(plan)
	f.came(files, FilesOf(f, f.dir))
	f.readsBack(plan, receipt)
	f.apply(f.plan(f.s, model.Change{Op: model.OpUndo}))
	sameFiles(f, "after a fork beside a writer and its undo", FilesOf(f, f.dir), files)
	if err := os.WriteFile(file, was, 0o600); err != nil {
		f.Fatal(err)
	}
}

// source returns the file that the snapshot is in, which is a fact that the store tells.
func (f *forking) source() string {
	f.Helper()
	facts, err := f.s.Features().Facts(f.Context(), f.to.Ref())
	if err != nil {
		f.Fatal(err)
	}
	at := slices.IndexFunc(facts, func(fact model.Fact) bool { return fact.Label == "file" })
	if at < 0 {
		f.Fatalf("session %q, #%d: no fact tells the file", f.to.SessionID, f.to.Index)
	}
	found := ""
	for name := range FilesOf(f, f.dir) {
		if name == facts[at].Value || strings.HasSuffix(name, "/"+facts[at].Value) {
			found = cmp.Or(found, filepath.Join(f.dir, filepath.FromSlash(name)))
		}
	}
	if found == "" {
		f.Fatalf("session %q, #%d is in %q, which is not there", f.to.SessionID, f.to.Index, facts[at].Value)
	}
	return found
}

// wentOn: a session that the agent went on with is not taken back.
func (f *forking) wentOn() {
	f.Helper()
	before := FilesOf(f, f.dir)
	f.apply(f.plan(f.s, f.change()))
	for name, is := range FilesOf(f, f.dir) {
		if _, was := before[name]; was || strings.HasPrefix(is, "d") {
			continue
		}
		at := filepath.Join(f.dir, filepath.FromSlash(name))
		data, err := os.ReadFile(at)
		if err == nil {
			err = os.WriteFile(at, append(data, '\n'), 0o600)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	files := FilesOf(f, f.dir)
	plan, err := f.s.Plan(f.Context(), model.Change{Op: model.OpUndo})
	if err == nil {
		_, err = f.s.Apply(f.Context(), plan)
	}
	if !errors.Is(err, model.ErrHeadMoved) {
		f.Errorf("undo of a fork that went on: %v", err)
	}
	sameFiles(f, "an undo of a fork that went on writes:", FilesOf(f, f.dir), files)
	if reflect.DeepEqual(before, files) {
		f.Error("a fork wrote nothing")
	}
}
