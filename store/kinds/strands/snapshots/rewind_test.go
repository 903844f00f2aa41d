package snapshots

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

// The record of an orchestrator goes back to each execution that it can go on
// from, and what is taken out stays to be seen and can come back.
func TestPlanRestore_orchestrator(t *testing.T) {
	dir := copied(t, "typescript/unified")
	s := openAt(t, dir)
	before := treeOf(t, dir)
	at := filepath.Join(dir, namespace, "graph-done", scopesDir, scopeMultiAgent, "g1", snapshots, latestFile)
	whole := string(mustRead(t, at))
	rows := storetest.Headers(t, s, "graph-done")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	do(t, s, plan, err)
	if len(plan.Orphans) != 1 || plan.Orphans[0].ID != rows[1].ID || plan.Head.ID != rows[1].ID || plan.Target.ID != rows[0].ID || plan.Loads == "" || len(plan.Resume) == 0 {
		t.Errorf("%+v", plan)
	}
	now := storetest.Headers(t, s, "graph-done")
	if len(now) != 2 || !now[0].Head || now[0].ID != rows[0].ID || !now[1].Orphaned || now[1].ID != rows[1].ID ||
		now[1].Reason == nil || now[1].Reason.Kind != model.ReasonRestore || now[1].Reason.TargetID != rows[0].ID {
		t.Errorf("%+v", now)
	}
	if string(mustRead(t, at)) == whole {
		t.Error("the record is as it was")
	}
	// What left comes back as it was.
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: now[1].Ref()})
	do(t, s, plan, err)
	if string(mustRead(t, at)) != whole || len(plan.Reactivates) != 1 || len(plan.Asks) == 0 {
		t.Errorf("%+v", plan)
	}
	undo(t, s)
	back := undo(t, s)
	if !strings.Contains(back.Loads, "g1") || len(back.Resume) == 0 {
		t.Errorf("%+v", back)
	}
	sameTree(t, "undo", before, treeOf(t, dir))
}

// What runs after a restore has the numbers of its executions, as what was left has. So
// no number changes when the other branch becomes the path.
func TestPlanRestore_anOrchestratorThatGoesOn(t *testing.T) {
	dir := copied(t, "typescript/unified")
	s := openAt(t, dir)
	at := filepath.Join(dir, namespace, "graph-done", scopesDir, scopeMultiAgent, "g1", snapshots, latestFile)
	whole := string(mustRead(t, at))
	rows := storetest.Headers(t, s, "graph-done")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	do(t, s, plan, err)
	mustWrite(t, at, strings.ReplaceAll(whole, "report out", "another report"))
	now := storetest.Headers(t, s, "graph-done")
	if len(now) != 3 || !now[2].Head || now[2].Index != 1 || now[1].ID != rows[1].ID || now[1].Index != 1 || now[1].ParentID != rows[0].ID || now[2].ParentID != rows[0].ID {
		t.Errorf("%+v", now)
	}
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: now[1].Ref()})
	do(t, s, plan, err)
	then := storetest.Headers(t, s, "graph-done")
	if len(then) != 3 || !then[2].Head || then[2].ID != rows[1].ID || then[2].Index != 1 || then[1].ID != now[2].ID || then[1].Index != 1 {
		t.Errorf("%+v", then)
	}
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: then[2].Ref()})
	if err != nil || len(plan.Files) != 0 || !strings.Contains(strings.Join(plan.Hazards, "\n"), "no file changes") {
		t.Errorf("it stands there: %+v, %v", plan, err)
	}
}

func TestPlanFork_orchestrator(t *testing.T) {
	dir := copied(t, "typescript/unified")
	s := openAt(t, dir)
	rows := storetest.Headers(t, s, "graph-done")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[0].Ref(), As: "again"})
	do(t, s, plan, err)
	if forked := storetest.Headers(t, s, "again"); len(forked) != 1 || !forked[0].Head {
		t.Errorf("%+v", forked)
	}
	if _, err := os.Stat(filepath.Join(dir, namespace, "again", scopesDir, scopeMultiAgent, "g1", snapshots, latestFile)); err != nil {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[0].Ref(), As: "again"}); !errors.Is(err, store.ErrSessionExists) {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rows[0].Ref(), As: "Again"}); err == nil {
		t.Error("TypeScript takes no upper case")
	}
	for _, err := range []error{
		second(s.Plan(t.Context(), model.Change{Op: model.OpEdit, Ref: rows[0].Ref(), As: "edited", State: []byte(`{}`)})),
		second(s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "graph-done"}})),
	} {
		if !errors.As(err, new(*model.UnsupportedError)) {
			t.Error(err)
		}
	}
}

func second(_ model.Plan, err error) error { return err }

// stopped is a disk that stops at the second record of the journal: the write that is
// under way is neither done nor taken back.
type stopped struct {
	disk.Disk
	records *int
}

func (d stopped) Append(name string, data []byte) error {
	if *d.records++; *d.records > 1 {
		return errors.New("stopped")
	}
	return d.Disk.Append(name, data)
}

// A write of Hindcast's own that cannot be finished keeps nobody from reading, and is
// told. When what was in the way is gone, the next write finishes it first.
func TestOpen_aWriteThatCannotBeFinished(t *testing.T) {
	dir := copied(t, "python-snapshot")
	s := openAt(t, dir)
	if err := s.files.Storage.WriteThrough(func(d disk.Disk) disk.Disk { return stopped{d, new(int)} }); err != nil {
		t.Fatal(err)
	}
	rows := storetest.Headers(t, s, "every-turn")
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if !errors.As(err, new(*journal.UnfinishedError)) {
		t.Fatalf("the write ends with %v", err)
	}
	s.files.Storage.Recover(t.Context())
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()}); err == nil {
		t.Error("a write is planned although another one is not finished")
	}
	for _, session := range []string{"", "every-turn"} {
		if list := storetest.Faults(t, s, session); len(list) == 0 || list[0].Code != FaultJournal {
			t.Errorf("%q: %+v", session, list)
		}
	}
	for _, info := range sessions(t, s) {
		if n := len(storetest.Faults(t, s, info.ID)); n != info.Faults {
			t.Errorf("%s: %d faults, and the list says %d", info.ID, n, info.Faults)
		}
	}
	if err := s.files.Storage.WriteThrough(func(d disk.Disk) disk.Disk { return d.(stopped).Disk }); err != nil {
		t.Fatal(err)
	}
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
	do(t, s, plan, err)
	undo(t, s)
	if list := storetest.Faults(t, s, ""); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// A run that waits for an answer, or that failed and goes on with what failed, is
// brought back and forked where it stands, as it stands.
func TestPlanRestore_aRunThatStandsThere(t *testing.T) {
	for _, name := range []string{"graph_asks", "graph_failed"} {
		s := openAt(t, t.TempDir())
		latest := filepath.Join(s.Address(), "session", "g", "scopes", "multiAgent", "g1", "snapshots", latestFile)
		mustWrite(t, latest, string(mustRead(t, filepath.Join(testdata, "typescript-multiagent-life", name, "04.json"))))
		written := treeOf(t, s.Address())
		was := head(t, s, "g")
		if was.Index == 0 {
			t.Fatalf("%s: there is nothing before %+v", name, was)
		}

		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: was.Ref(), As: "other"})
		if err != nil {
			t.Errorf("%s: it cannot be forked: %v", name, err)
			continue
		}
		do(t, s, plan, nil)
		if now := head(t, s, "other"); now.ID != was.ID && string(state(t, s, now)) != string(state(t, s, was)) {
			t.Errorf("%s: the fork stands at %+v", name, now)
		}
		undo(t, s)

		first := storetest.Headers(t, s, "g")[0]
		plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: first.Ref()})
		do(t, s, plan, err)
		plan, err = s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: was.Ref()})
		if err != nil {
			t.Errorf("%s: what was set aside cannot be brought back: %v", name, err)
			continue
		}
		if len(plan.Resume) == 0 || strings.Contains(name, "asks") != strings.Contains(plan.Resume[0].Call, "interruptResponse") {
			t.Errorf("%s goes on by %+v", name, plan.Resume)
		}
		do(t, s, plan, nil)
		if now := head(t, s, "g"); now.ID != was.ID {
			t.Errorf("%s stands at %+v, and not at %+v", name, now, was)
		}
		undo(t, s)
		undo(t, s)
		sameTree(t, name, written, treeOf(t, s.Address()))
	}
}
