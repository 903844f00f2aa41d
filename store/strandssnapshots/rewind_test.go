package strandssnapshots

import (
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store/storetest"
)

// A run that waits for an answer, or that failed and goes on with what failed, is
// brought back and forked where it stands, as it stands.
func TestPlanRestore_aRunThatStandsThere(t *testing.T) {
	for _, name := range []string{"graph_asks", "graph_failed"} {
		s := openAt(t, t.TempDir())
		latest := filepath.Join(s.dir, "session", "g", "scopes", "multiAgent", "graph", "snapshots", latestFile)
		mustWrite(t, latest, string(mustRead(t, filepath.Join(testdata, "typescript-multiagent-life", name, "06.json"))))
		written := tree(t, s.dir)
		was := head(t, s, "g")
		if was.Index == 0 {
			t.Fatalf("%s: there is nothing before %+v", name, was)
		}

		plan, err := s.PlanFork(t.Context(), was.Ref(), "other")
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
		plan, err = s.PlanRestore(t.Context(), first.Ref())
		do(t, s, plan, err)
		plan, err = s.PlanRestore(t.Context(), was.Ref())
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
		sameTree(t, name, written, tree(t, s.dir))
	}
}
