package snapshots

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/media/journal"
	"hindcast/store/storetest"
)

// What a guardrail had replaced lives on in what Hindcast keeps, until it is
// forgotten.
func TestPlanPurge(t *testing.T) {
	said := func(text string) string {
		return pythonFile(`"messages": [{"role": "user", "content": [{"text": "` + text + `"}], "tracking_id": "t1"}]`)
	}
	dir, s := sessionOf(t, "default", said("secret one"), said("secret two"))
	latest := filepath.Join(dir, namespace, "s", scopesDir, scopeAgent, "default", snapshots, latestFile)
	keeps := func() bool {
		t.Helper()
		found := false
		err := filepath.WalkDir(filepath.Join(dir, journal.Folder), func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			found = found || strings.Contains(string(mustRead(t, name)), "secret one")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, what := range []model.PurgeScope{model.PurgeRedacted, model.PurgeAll} {
		if _, err := s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}, Scope: what}); !errors.As(err, new(*model.NothingToError)) {
			t.Error(what, err)
		}
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: model.Ref{Session: "s", ID: "01950000-0000-7000-8000-000000000001"}})
	do(t, s, plan, err)
	saved := filepath.Join(dir, filepath.FromSlash(plan.Files[0].Path))
	if !keeps() {
		t.Fatal("nothing is kept")
	}
	// The SDK redacts, and drops its own snapshot of before.
	mustWrite(t, latest, said("[redacted]"))
	if err := os.Remove(saved); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	plan, err = s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}, Scope: model.PurgeRedacted})
	do(t, s, plan, err)
	if keeps() {
		t.Error("it is still kept")
	}
	if !strings.Contains(strings.Join(plan.Hazards, ""), "1 snapshots of the session itself") {
		t.Errorf("%q", plan.Hazards)
	}
	sameTree(t, "purge", before, treeOf(t, dir))
	if _, err := s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}, Scope: model.PurgeRedacted}); !errors.As(err, new(*model.NothingToError)) {
		t.Error(err)
	}
}

// What another session holds, or had, stays kept: an undo there needs it.
func TestPlanPurge_sparesWhatOtherSessionsHold(t *testing.T) {
	talk := func(words ...string) string { return pythonFile(pythonTalk(words...), `"state": {}`, managerState) }
	for _, forks := range []bool{false, true} {
		dir, s := sessionOf(t, "default", talk("q", "-a", "q2", "-secret"), talk("q", "-a"))
		write := func(c model.Change) {
			t.Helper()
			plan, err := s.Plan(t.Context(), c)
			do(t, s, plan, err)
		}
		rows := storetest.Headers(t, s, "s")
		write(model.Change{Op: model.OpRestore, Ref: rows[0].Ref()})
		if forks {
			left := storetest.Headers(t, s, "s")[1]
			write(model.Change{Op: model.OpFork, Ref: left.Ref(), As: "f"})
		}
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpPurge, Ref: model.Ref{Session: "s"}, Scope: model.PurgeAll})
		if forks != errors.As(err, new(*model.NothingToError)) {
			t.Errorf("forked: %t: %v, %v", forks, plan.Files, err)
		} else if !forks {
			do(t, s, plan, err)
		}
		kept, err := filepath.Glob(filepath.Join(dir, journal.Folder, "kept", "*"))
		if err != nil {
			t.Fatal(err)
		}
		holds := slices.ContainsFunc(kept, func(name string) bool { return strings.Contains(string(mustRead(t, name)), "secret") })
		if holds != forks {
			t.Errorf("forked: %t, and it is kept: %t", forks, holds)
		}
	}
}
