package strandssnapshots

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
)

// The record of an orchestrator goes back to each execution that it can go on
// from, and what is taken out stays to be seen and can come back.
func TestPlanRestore_orchestrator(t *testing.T) {
	dir := copied(t, "typescript/unified")
	s := openAt(t, dir)
	before := tree(t, dir)
	at := filepath.Join(dir, namespace, "graph-done", scopesDir, scopeMultiAgent, "g1", snapshots, latestFile)
	whole := string(mustRead(t, at))
	rows := storetest.Headers(t, s, "graph-done")
	plan, err := s.PlanRestore(t.Context(), rows[0].Ref())
	do(t, s, plan, err)
	if len(plan.Orphans) != 1 || plan.Orphans[0].ID != rows[1].ID || plan.HeadID != rows[1].ID || plan.TargetID != rows[0].ID || plan.Loads == "" || len(plan.Resume) == 0 {
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
	plan, err = s.PlanRestore(t.Context(), now[1].Ref())
	do(t, s, plan, err)
	if string(mustRead(t, at)) != whole || len(plan.Reactivates) != 1 || len(plan.Asks) == 0 {
		t.Errorf("%+v", plan)
	}
	undo(t, s)
	back := undo(t, s)
	if !strings.Contains(back.Loads, "g1") {
		t.Error(back.Loads)
	}
	sameTree(t, "undo", before, tree(t, dir))
}

func TestPlanFork_orchestrator(t *testing.T) {
	dir := copied(t, "typescript/unified")
	s := openAt(t, dir)
	rows := storetest.Headers(t, s, "graph-done")
	plan, err := s.PlanFork(t.Context(), rows[0].Ref(), "again")
	do(t, s, plan, err)
	if forked := storetest.Headers(t, s, "again"); len(forked) != 1 || !forked[0].Head {
		t.Errorf("%+v", forked)
	}
	if _, err := os.Stat(filepath.Join(dir, namespace, "again", scopesDir, scopeMultiAgent, "g1", snapshots, latestFile)); err != nil {
		t.Error(err)
	}
	if _, err := s.PlanFork(t.Context(), rows[0].Ref(), "again"); !errors.Is(err, store.ErrSessionExists) {
		t.Error(err)
	}
	if _, err := s.PlanFork(t.Context(), rows[0].Ref(), "Again"); err == nil {
		t.Error("TypeScript takes no upper case")
	}
	for _, err := range []error{
		second(s.PlanEdit(t.Context(), rows[0].Ref(), "edited", []byte(`{}`))),
		second(s.PlanRepair(t.Context(), "graph-done")),
	} {
		if !errors.As(err, new(*model.UnsupportedError)) {
			t.Error(err)
		}
	}
}

func second(_ model.Plan, err error) error { return err }

// A write of Hindcast's own that cannot be finished keeps nobody from reading or
// writing, and is told.
func TestOpen_aWriteThatCannotBeFinished(t *testing.T) {
	dir := copied(t, "python-snapshot")
	s := openAt(t, dir)
	s.writer.unfinished = errors.New("somebody changed it")
	rows := storetest.Headers(t, s, "every-turn")
	plan, err := s.PlanRestore(t.Context(), rows[0].Ref())
	do(t, s, plan, err)
	undo(t, s)
	for _, session := range []string{"", "every-turn"} {
		if list := storetest.Faults(t, s, session); len(list) != 1 || list[0].Code != FaultJournal {
			t.Errorf("%q: %+v", session, list)
		}
	}
	for _, info := range sessions(t, s) {
		if n := len(storetest.Faults(t, s, info.ID)); n != info.Faults {
			t.Errorf("%s: %d faults, and the list says %d", info.ID, n, info.Faults)
		}
	}
}
