package genkit

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

func assume(t testing.TB, s *Store, sdk, version string) {
	t.Helper()
	if err := s.Assume(store.Release{SDK: sdk, Version: version}); err != nil {
		t.Fatal(err)
	}
}

// A version that opens such a store is taken, and one from before there were agents is
// refused.
func TestAssume_takesTheVersionsWithAgents(t *testing.T) {
	s := open(t, filepath.Join(testdata, "go-1.13.1"))
	for _, said := range []store.Release{{SDK: "genkit-go", Version: "1.9"}, {SDK: "genkit-js", Version: "1.38.0"}, {SDK: "genkit-python", Version: "0.8"}, {SDK: "genkit", Version: "1.13"}, {SDK: "strands-python", Version: "1.30"}} {
		if err := s.Assume(said); !errors.Is(err, store.ErrUnknownSDK) || !strings.Contains(err.Error(), "genkit-go@VERSION, of 1.10 or later") {
			t.Errorf("%s@%s: %v", said.SDK, said.Version, err)
		}
	}
	assume(t, s, "genkit-go", "1.10")
	assume(t, s, "genkit-js", "1.39.0")
	assume(t, s, "genkit-python", "0.9.0")
	if got := s.Features().Assumed().String(); got != "genkit-go 1.10, genkit-js 1.39, genkit-python 0.9" {
		t.Errorf("assumed is %q", got)
	}
}

// What is said of a fault is what the version does, or both where any may run.
func TestVersions_narrowTheVerdicts(t *testing.T) {
	const am, pm = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"
	heard := `, "heartbeatAt": "` + evening.Format("2006-01-02T15:04:05Z07:00") + `"`
	dead := `"status": "pending", "heartbeatAt": "2026-11-20T10:00:00Z"`
	for name, c := range map[string]struct {
		last                 string // the newest of two rows
		code                 string
		sdk, older, newer    string
		says, before, inward string
	}{
		"aborting, Go": {goRow("b", "a", "s", pm, `"status": "aborting"`+heard), FaultAborting, "genkit-go", "1.12", "1.13.1",
			"waits for the worker to record its state", "does not know the status, and resumes it as an empty session", " (before 1.13: "},
		"expired, Go": {goRow("b", "a", "s", pm, dead), FaultExpired, "genkit-go", "1.10", "1.13",
			"names the parent", "resuming it is refused with FAILED_PRECONDITION", " (before 1.13: "},
		"aborted, Go": {goRow("b", "a", "s", pm, `"status": "aborted"`), FaultAbortedEmpty, "genkit-go", "1.11", "1.13",
			"names the parent", "refused with FAILED_PRECONDITION", " (before 1.13: "},
		"aborting, Python": {strings.Replace(jsRow("b", "a", "s", pm, "aborting"), `"status"`, heard[2:]+`, "status"`, 1), FaultAborting, "genkit-python", "0.10", "0.11",
			"goes back to the last completed row", "the model forbids it", " (before 0.11: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			below, first := "global", goRow("a", "", "s", am, "")
			if c.sdk == "genkit-python" {
				below, first = "", jsRow("a", "", "s", am, "completed")
			}
			write(t, filepath.Join(dir, below, "a.json"), first)
			write(t, filepath.Join(dir, below, "b.json"), c.last)
			verdict := func(version string) string {
				t.Helper()
				s := open(t, dir)
				if version != "" {
					assume(t, s, c.sdk, version)
				}
				list := storetest.Faults(t, s, "s")
				at := slices.IndexFunc(list, func(f model.Fault) bool { return f.Code == c.code })
				if at < 0 {
					t.Fatalf("%s: there is no %s in %v", cmp.Or(version, "any"), c.code, list)
				}
				return list[at].Verdict
			}
			if got := verdict(c.newer); !strings.Contains(got, c.says) || strings.Contains(got, "before") {
				t.Errorf("%s: %q", c.newer, got)
			}
			if got := verdict(c.older); strings.Contains(got, c.says) || !strings.Contains(got, c.before) {
				t.Errorf("%s: %q", c.older, got)
			}
			if got := verdict(""); !strings.Contains(got, c.says) || !strings.Contains(got, c.inward+c.before) {
				t.Errorf("any: %q", got)
			}
		})
	}
}

// Go before 1.13 resumes no failed row: the session is stopped there until a repair, and a
// restore writes. Since 1.13 it is the head, and by its id it is resumed, too.
func TestVersions_narrowThePlanOfAFailedTurn(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "a.json"), goRow("a", "", "s", "2026-11-20T10:00:00Z", ""))
	write(t, filepath.Join(dir, "global", "b.json"), goRow("b", "a", "s", "2026-11-20T11:00:00Z", `"state": {"sessionId": "s"}, "status": "failed"`))
	for version, want := range map[string]struct {
		resume        string
		stops         bool
		writes, calls int
	}{
		"":     {"yes, since 1.13; before it is refused (FAILED_PRECONDITION)", false, 3, 1},
		"1.12": {"no: FAILED_PRECONDITION, a turn that failed or was aborted is resumed since 1.13", true, 3, 1},
		"1.13": {"yes", false, 0, 2},
	} {
		s := open(t, dir)
		if version != "" {
			assume(t, s, "genkit-go", version)
		}
		ref := model.Ref{Session: "s", ID: "b"}
		facts, err := s.Features().Facts(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc(facts, func(f model.Fact) bool { return f.Label == "resume" }); at < 0 || facts[at].Value != want.resume {
			t.Errorf("%q: the facts are %+v", version, facts)
		}
		stops := slices.ContainsFunc(storetest.Faults(t, s, "s"), func(f model.Fault) bool { return f.Severity == model.Stops })
		if stops != want.stops {
			t.Errorf("%q: it stops the session: %t", version, stops)
		}
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRestore, Ref: ref})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Files) != want.writes || len(plan.Resume) != want.calls {
			t.Errorf("%q: %d files are written and %d calls are named: %+v", version, len(plan.Files), len(plan.Resume), plan)
		}
		nothing := (*model.NothingToError)(nil)
		_, err = s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
		if errors.As(err, &nothing) == want.stops {
			t.Errorf("%q: a repair: %v", version, err)
		}
	}
}

// In 1.12 the repaired session is resumed with the state that the failed turn left.
func TestRepair_mendsAFailedTurnForAnOlderVersion(t *testing.T) {
	skip.Sequential(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "global", "b.json"), goRow("b", "", "s", "2026-11-20T11:00:00Z", `"state": {"sessionId": "s"}, "status": "failed"`))
	s := open(t, dir)
	assume(t, s, "genkit-go", "1.12")
	repair(t, s, dir, "s", true) // and undoes that
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpRepair, Ref: model.Ref{Session: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, plan, nil)
	for _, f := range storetest.Faults(t, s, "s") {
		if f.Severity > model.Odd {
			t.Errorf("after the repair there is %+v", f)
		}
	}
}

// Python before 0.11 does not find a row whose status it does not know.
func TestVersions_narrowWhatPythonFinds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.json"), jsRow("a", "", "s", "2026-11-20T10:00:00Z", "completed"))
	write(t, filepath.Join(dir, "b.json"), jsRow("b", "", "s", "2026-11-20T11:00:00Z", "aborting"))
	for version, want := range map[string]string{"0.10": "a", "0.11": ""} {
		s := open(t, dir)
		assume(t, s, "genkit-python", version)
		now, _ := session1(t, s, "s").resumedRow()
		got := ""
		if now.row != nil {
			got = now.row.id
		}
		if got != want {
			t.Errorf("%s resumes %q, want %q", version, got, want)
		}
	}
}
