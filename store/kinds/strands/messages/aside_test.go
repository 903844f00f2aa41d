package messages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/media/disk"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// drawn returns headers as "index[parent's index]" in their order, those that are aside
// in lower case letters of their own: "0 1[0] (2[1] 3[2]) 2[1]".
func drawn(list []model.Header) string {
	index := map[string]int{}
	var text []string
	for _, h := range list {
		index[h.ID] = h.Index
		at := fmt.Sprint(h.Index)
		if h.ParentID != "" {
			at += fmt.Sprintf("<%d", index[h.ParentID])
		}
		if h.Orphaned {
			at = "(" + at + ")"
		}
		if h.Head {
			at += "!"
		}
		text = append(text, at)
	}
	return strings.Join(text, " ")
}

// Restore, go on, restore, go on: branches of branches.
func TestBranches_ofBranches(t *testing.T) {
	s, agent := freshLog(t, 6)
	clock := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	say := func(text string) {
		clock = clock.Add(time.Minute)
		startAgent(t, agent, clock).append("assistant", said(text))
	}
	first := storetest.Headers(t, s, "h")
	want := func(picture string) []model.Header {
		t.Helper()
		list := storetest.Headers(t, s, "h")
		if got := drawn(list); got != picture {
			t.Errorf("\n%s, want\n%s", got, picture)
		}
		for n := range len(list) + 1 {
			tail, before, err := s.Tail(t.Context(), "h", n)
			if err != nil || before != len(list)-n || len(tail) != n {
				t.Fatalf("the last %d are %d of %d, %d before them, %v", n, len(tail), len(list), before, err)
			}
			for k, h := range tail {
				w := list[len(list)-n+k]
				if h.ID != w.ID || h.ParentID != w.ParentID || h.Orphaned != w.Orphaned || h.Title != w.Title || h.Index != w.Index || h.Head != w.Head ||
					h.Size != 0 && h.Size != w.Size || h.TurnIndex != model.TurnUnknown && h.TurnIndex != w.TurnIndex {
					t.Errorf("tail of %d: %+v is %+v", n, h, w)
				}
			}
		}
		for _, h := range list {
			text := state(t, s, h)
			if h.Size != 0 && h.Size != int64(len(text)) {
				t.Errorf("#%d: %d bytes of %d", h.Index, h.Size, len(text))
			}
			if got := len(canonicalMessages(t, text)); got != h.Index+1 {
				t.Errorf("#%d has %d messages", h.Index, got)
			}
			if _, err := s.Facts(t.Context(), h.Ref()); err != nil {
				t.Error(err)
			}
		}
		for info, err := range s.Sessions(t.Context()) {
			if err != nil || info.Snapshots != len(list) || info.Orphaned != strings.Count(picture, "(") || info.Faults != len(model.Harmful(storetest.Faults(t, s, "h"))) {
				t.Errorf("%+v, %v", info, err)
			}
		}
		return list
	}
	restore(t, s, "h", first[3].ID)
	want("0 1<0 2<1 3<2! (4<3) (5<4)")
	say("four again")
	say("five again")
	list := want("0 1<0 2<1 3<2 (4<3) (5<4) 4<3 5<4!")
	second := list[6].ID
	restore(t, s, "h", second)
	say("five once more")
	say("six")
	list = want("0 1<0 2<1 3<2 (4<3) (5<4) 4<3 (5<4) 5<4 6<5!")
	third := list[9].ID
	restore(t, s, "h", first[0].ID)
	want("0! (1<0) (2<1) (3<2) (4<3) (5<4) (4<3) (5<4) (5<4) (6<5)")
	say("one again")
	list = want("0 (1<0) (2<1) (3<2) (4<3) (5<4) (4<3) (5<4) (5<4) (6<5) 1<0!")
	// Each of them can be put back, and is what it was.
	ids := map[string]bool{}
	for _, h := range list {
		ids[h.ID] = true
	}
	for _, h := range list {
		plan := restore(t, s, "h", h.ID)
		checkStart(t, agent, plan)
		now := storetest.Headers(t, s, "h")
		if len(now) != len(list) {
			t.Fatalf("%d snapshots of %d", len(now), len(list))
		}
		for _, n := range now {
			if !ids[n.ID] {
				t.Errorf("#%d is new", n.Index)
			}
			if n.Head != (n.ID == h.ID) {
				t.Errorf("the head is #%d, and not #%d", n.Index, h.Index)
			}
		}
		undo(t, s)
	}
	restore(t, s, "h", third)
	want("0 (1<0) 1<0 2<1 3<2 (4<3) (5<4) 4<3 (5<4) 5<4 6<5!")
	for range 4 {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); err != nil {
			break
		}
		undo(t, s)
	}
	// The agent wrote between the others.
	want("0 (1<0) (2<1) (3<2) (4<3) (5<4) (4<3) (5<4) (5<4) (6<5) 1<0!")
}

// What entries say is read once, and again where one is new; an undo is seen.
func TestBranches_ofAJournalThatGoesOn(t *testing.T) {
	s, agent := freshLog(t, 6)
	first := storetest.Headers(t, s, "h")
	restore(t, s, "h", first[3].ID)
	look := func() *history {
		t.Helper()
		storetest.Headers(t, s, "h")
		return s.storage.Memo.FindKept("session_h/agents/agent_default/messages").(*history)
	}
	read := look()
	startAgent(t, agent, time.Now()).append("user", said("four again"))
	if look() != read {
		t.Error("a message at the end has the entries read again")
	}
	restore(t, s, "h", first[5].ID)
	if look() == read {
		t.Error("a new entry is not read")
	}
	undo(t, s)
	if got, want := drawn(storetest.Headers(t, s, "h")), drawn(storetest.Headers(t, open(t, s.dir), "h")); got != want {
		t.Errorf("\n%s, worked out anew it is\n%s", got, want)
	}
	// Another journal that has as many entries has others.
	journals := filepath.Join(s.dir, ".hindcast")
	if err := os.Rename(filepath.Join(journals, "journal"), filepath.Join(journals, "journal.1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		restore(t, s, "h", storetest.Headers(t, s, "h")[2].ID)
	}
	if got, want := drawn(storetest.Headers(t, s, "h")), drawn(storetest.Headers(t, open(t, s.dir), "h")); got != want {
		t.Errorf("of another journal it is\n%s, worked out anew it is\n%s", got, want)
	}
}

// amid is a disk on which somebody is at work in the middle of a write: once the
// messages have changed, and before the write has ended.
type amid struct {
	disk.Disk
	work func()
}

func (d *amid) Sync(name string) error {
	if work := d.work; work != nil && path.Base(name) == "messages" {
		d.work = nil
		work()
	}
	return d.Disk.Sync(name)
}

// An agent starts in the middle of a restore, and says something: the restore is taken
// back, and the agent goes on from the view that it has. What it writes over had come
// back, and can be reached.
func TestBranches_ofWhatCameBackAmid(t *testing.T) {
	s, agent := freshLog(t, 6)
	first := storetest.Headers(t, s, "h")
	var a *runningAgent
	err := s.storage.WriteThrough(func(d disk.Disk) disk.Disk {
		return &amid{Disk: d, work: func() {
			a = startAgent(t, agent, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
			a.held, a.over = true, func(string) {}
			a.append("user", said("what was that"))
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: first[1].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), plan); !errors.Is(err, model.ErrHeadMoved) {
		t.Fatalf("the restore ended with %v", err)
	}
	a.append("assistant", said("nothing"))
	a.append("user", said("indeed"))
	seen := map[string]bool{}
	for _, h := range storetest.Headers(t, s, "h") {
		seen[h.ID] = true
		if _, err := s.State(t.Context(), h.Ref()); err != nil {
			t.Error(err)
		}
	}
	for _, h := range first {
		if !seen[h.ID] {
			t.Errorf("message #%d is out of reach", h.Index)
		}
	}
}

// The state of a branch that was left is what the agent held at its end.
func TestBranches_agentOfThatTime(t *testing.T) {
	s, agent := freshLog(t, 8)
	a := startAgent(t, agent, time.Now())
	a.sync(object{"cart": []any{"a", "b"}})
	rest(t, s.dir)
	list := storetest.Headers(t, s, "h")
	was := string(state(t, s, list[7]))
	restore(t, s, "h", list[3].ID)
	a = startAgent(t, agent, time.Now())
	a.append("user", said("empty it"))
	a.sync(object{"cart": []any{}})
	if got := string(state(t, s, list[7])); got != was {
		t.Errorf("%s\nwas\n%s", got, was)
	}
	if got := string(state(t, s, list[5])); strings.Contains(got, "cart") {
		t.Errorf("nothing is known of the agent then: %s", got)
	}
	plan := restore(t, s, "h", list[7].ID)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "goes back to what it was") }) {
		t.Errorf("%q", plan.Hazards)
	}
	if got := string(state(t, s, list[7])); got != was {
		t.Errorf("%s\nwas\n%s", got, was)
	}
	plan = restore(t, s, "h", list[5].ID)
	if !slices.ContainsFunc(plan.Hazards, func(h string) bool { return strings.Contains(h, "has no history") }) {
		t.Errorf("%q", plan.Hazards)
	}
}

func TestWatch_tellsOfWhatIsSetAside(t *testing.T) {
	s, _ := freshLog(t, 8)
	other := open(t, s.dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, err := s.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	restore(t, other, "h", storetest.Headers(t, s, "h")[3].ID)
	deadline := time.After(20 * time.Second)
	for {
		select {
		case <-changes:
		case <-deadline:
			t.Fatal("nothing is told")
		}
		if got := drawn(storetest.Headers(t, s, "h")); got == "0 1<0 2<1 3<2! (4<3) (5<4) (6<5) (7<6)" {
			return
		}
	}
}

func TestPurge_ofWhatWasRedacted(t *testing.T) {
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	purges := func(what model.PurgeScope) (model.Plan, error) {
		return s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "h"}, Scope: what})
	}
	restore(t, s, "h", list[3].ID)
	restore(t, s, "h", list[7].ID)
	if _, err := purges(model.PurgeRedacted); err == nil {
		t.Error("nothing was redacted")
	}
	a := startAgent(t, agent, time.Now())
	a.redact("message_6.json", "[gone]")
	faults := storetest.Faults(t, s, "h")
	if !slices.ContainsFunc(faults, func(f model.Fault) bool {
		return f.Code == FaultRedacted && strings.HasSuffix(f.File, "message_6.json")
	}) {
		t.Errorf("%+v", faults)
	}
	if got := journalHolds(t, s.dir, "call-4"); got == 0 {
		t.Fatal("nothing is kept")
	}
	plan, err := purges(model.PurgeRedacted)
	if err != nil || len(plan.Files) != 1 || plan.Files[0].Does != model.FileForgotten || len(plan.Asks) < 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	before := contents(t, s.dir)
	apply(t, s, plan, nil)
	if now := contents(t, s.dir); len(now) != len(before) {
		t.Error("the session changed")
	}
	if faults := storetest.Faults(t, s, "h"); slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == FaultRedacted }) {
		t.Errorf("%+v", faults)
	}
	if _, err := purges(model.PurgeRedacted); err == nil {
		t.Error("it is purged twice")
	}
}

// journalHolds counts the kept files that hold a text.
func journalHolds(t testing.TB, dir, text string) (n int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".hindcast", "kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			n++
		}
	}
	return n
}

func TestPurge_ofAll(t *testing.T) {
	s, _ := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[3].ID)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "h"}, Scope: model.PurgeAll})
	apply(t, s, plan, err)
	if got := drawn(storetest.Headers(t, s, "h")); got != "0 1<0 2<1 3<2!" {
		t.Errorf("%s", got)
	}
	if n := journalHolds(t, s.dir, "question 4"); n != 0 {
		t.Errorf("%d are kept", n)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo}); err == nil {
		t.Error("what is forgotten is put back")
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[6].Ref()}); err == nil {
		t.Error("what is forgotten is put back")
	}
}

// Nothing is written where nothing was restored, and nothing that is kept is taken
// for a session.
func TestOpen_leavesNothingBehind(t *testing.T) {
	s, _ := freshLog(t, 4)
	list := storetest.Headers(t, s, "h")
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[1].Ref()}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, ".hindcast")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	restore(t, s, "h", list[1].ID)
	n := 0
	for info, err := range s.Sessions(t.Context()) {
		if err != nil || info.ID != "h" {
			t.Errorf("%+v, %v", info, err)
		}
		n++
	}
	if faults, err := s.Faults(t.Context(), ""); n != 1 || err != nil || len(faults) != 0 {
		t.Errorf("%d sessions, %+v, %v", n, faults, err)
	}
}

func TestHazard13_aTextThatWasRedactedSince(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	fork(t, s, list[7].Ref(), "f")
	restore(t, s, "h", list[3].ID)
	warned := func() bool {
		t.Helper()
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[7].Ref()})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(plan.Hazards, func(h string) bool {
			return strings.Contains(h, "message_6.json comes back as it was before it was redacted in session_f/")
		})
	}
	if warned() {
		t.Error("nothing was redacted")
	}
	startAgent(t, agentDir(s.dir, "f", "default"), time.Now()).redact("message_6.json", "[gone]")
	if !warned() {
		t.Error("nobody is warned")
	}
}

// A journal that cannot be used is told, and what is there is shown all the same.
func TestFaults_ofTheJournal(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 8)
	restore(t, s, "h", storetest.Headers(t, s, "h")[3].ID)
	name := filepath.Join(s.dir, ".hindcast", "journal")
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(data), `"op":"restore"`, `"op":"RESTORE"`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, s.dir)
	if got := drawn(storetest.Headers(t, again, "h")); got != "0 1<0 2<1 3<2!" {
		t.Errorf("%s", got)
	}
	if faults := storetest.Faults(t, again, "h"); !slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == FaultJournal }) {
		t.Errorf("%+v", faults)
	}
}
