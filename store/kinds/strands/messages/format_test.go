package messages

import (
	"errors"
	"os"
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

// What the SDK redacted is forgotten though a fork has the message as it was.
func TestPurge_ofWhatWasRedactedSinceAFork(t *testing.T) {
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[3].ID)
	restore(t, s, "h", list[7].ID)
	fork(t, s, list[7].Ref(), "f")
	startAgent(t, agent, time.Now()).redact("message_6.json", "[gone]")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "h"}, Scope: model.PurgeRedacted})
	if err != nil || len(plan.Files) != 1 || plan.Files[0].Does != model.FileForgotten || !strings.HasSuffix(plan.Files[0].Path, "message_6.json") {
		t.Fatalf("%+v, %v", plan.Files, err)
	}
	apply(t, s, plan, nil)
	if faults := storetest.Faults(t, s, "h"); slices.ContainsFunc(faults, func(f model.Fault) bool { return f.Code == FaultRedacted }) {
		t.Errorf("%+v", faults)
	}
	if now := storetest.Headers(t, s, "f"); now[6].ID != list[6].ID {
		t.Error("the fork changed")
	}
}

// stopping is a disk on which a write ends in the middle, as if its program was killed.
type stopping struct {
	disk.Disk
	left int
}

func (d *stopping) Place(from, to string) error {
	if d.left--; d.left < 0 {
		panic("killed")
	}
	return d.Disk.Place(from, to)
}

// A write that another program broke off since the store was opened is finished before a
// plan is made.
func TestPlan_finishesWhatAnotherProgramBrokeOff(t *testing.T) {
	s, _ := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	other := openUnsynced(t, s.dir)
	if err := other.storage.WriteThrough(func(d disk.Disk) disk.Disk { return &stopping{d, 3} }); err != nil {
		t.Fatal(err)
	}
	plan, err := other.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[3].Ref()})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Fatal("it was not killed")
			}
		}()
		_, _ = other.Apply(t.Context(), plan)
	}()
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: list[1].Ref()})
	if err != nil || plan.Head.ID != list[3].ID || len(plan.Orphans) != 2 {
		t.Fatalf("it leads from #%d, and %v leave, %v", plan.Head.Index, plan.Orphans, err)
	}
	apply(t, s, plan, nil)
}

// A fork of a session without session.json says what to do first.
func TestFork_withoutASessionFile(t *testing.T) {
	skip.Sequential(t)
	s, _ := freshLog(t, 4)
	list := storetest.Headers(t, s, "h")
	mustRemove(t, filepath.Join(s.dir, "session_h", "session.json"))
	_, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[3].Ref(), As: "f"})
	if reason := refusedFor(t, err); !strings.Contains(reason, "session_h/session.json") || !strings.Contains(reason, "repair the session first") {
		t.Error(reason)
	}
}

// A session that was made with several agents has its name also while it is gone.
func TestUndo_ofAForkWithSeveralAgents(t *testing.T) {
	s, dir := copyStore(t)
	list := storetest.Headers(t, s, "twoagents/planner")
	fork(t, s, list[0].Ref(), "copy")
	undo(t, s)
	if _, err := os.Lstat(filepath.Join(dir, "session_copy")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	entries, err := s.Journal(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Session != "copy/planner" {
		t.Errorf("%+v, %v", entries, err)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRedo})
	if receipt := apply(t, s, plan, err); plan.Session != "copy/planner" || receipt.Session != "copy/planner" || plan.Head.ID != "" {
		t.Errorf("%q from %v, then %q", plan.Session, plan.Head, receipt.Session)
	}
	if now := storetest.Headers(t, s, "copy/planner"); len(now) != 1 || now[0].ID != list[0].ID {
		t.Errorf("%+v", now)
	}
}

// An undo that leads back to a log that the SDK refuses says so; to do it again leads to
// what the SDK loads.
func TestUndo_ofARestoreFromABrokenLog(t *testing.T) {
	s, agent := freshLog(t, 8)
	list := storetest.Headers(t, s, "h")
	if err := os.WriteFile(filepath.Join(agent, "messages", "message_7.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	rest(t, s.dir)
	restore(t, s, "h", list[3].ID)
	if plan := undo(t, s); !strings.Contains(plan.Loads, "as broken as it was") || len(plan.Hazards) == 0 || len(plan.Resume) != 0 {
		t.Errorf("it loads %q, %q", plan.Loads, plan.Hazards)
	}
	if plan := redo(t, s); !strings.Contains(plan.Loads, "loads #0 to #3") || len(plan.Resume) == 0 {
		t.Errorf("it loads %q", plan.Loads)
	}
}

// What an undo puts back was read for its plan, and the journal reads it once it is there:
// the check behind it takes what is known of it.
func TestUndo_readsWhatItPutsBackOnce(t *testing.T) {
	s, _ := freshLog(t, 40)
	list := storetest.Headers(t, s, "h")
	restore(t, s, "h", list[3].ID)
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpUndo})
	if err != nil {
		t.Fatal(err)
	}
	s, read := counting(s)
	if _, err := s.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if names := read.names(); len(names) > 0 {
		t.Errorf("%q were read again", names)
	}
	if now := storetest.Headers(t, s, "h"); !slices.EqualFunc(now, list, func(a, b model.Header) bool { return a.ID == b.ID && a.Orphaned == b.Orphaned }) {
		t.Errorf("%+v", now)
	}
}
