package openaiagents

import (
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// Sessions that SDK 0.24 sent to a model as they are, or changed: a reasoning item alone, an output
// without its call, two outputs of one call, and a call without its output.
func TestFaults_conversation(t *testing.T) {
	s := open(t, "testdata/refused.db")
	for session, want := range map[string]struct{ code, file, verdict string }{
		"reason":    {"reasoning-alone", "11", "OpenAI Responses answers 400"},
		"orphanout": {"orphan-result", "21", "OpenAI Chat and OpenAI Responses answer 400"},
		"dup":       {"duplicate-result", "17", "sends one output"},
		"cancel":    {"unanswered-call", "7", "leaves the call out when it asks the model, and the reasoning before it"},
	} {
		faults := storetest.Faults(t, s, session)
		if len(faults) != 1 || faults[0].Code != want.code || faults[0].File != want.file || !strings.Contains(faults[0].Verdict, want.verdict) {
			t.Errorf("%s: %+v, want %+v", session, faults, want)
		}
	}
}

// A fork that ends where the API would refuse it says so.
func TestPlan_reasoningAlone(t *testing.T) {
	s := storetest.AsWriter(open(t, rowstest.Copied(t, "testdata/refused.db")))
	for _, c := range []struct {
		session string
		index   int
		want    string
	}{
		{"cancel", 3, "a reasoning item has nothing behind it"},
		{"cancel", 5, ""},
		{"cancel", 2, ""},
		{"reason", 4, "a reasoning item has nothing behind it"},
		{"orphanout", 1, "the result of c9 has no call"},
		{"dup", 2, ""},
		{"dup", 3, "has a result already"},
	} {
		plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: rowstest.At(t, s, c.session, c.index).Ref(), As: "new"})
		if err != nil {
			t.Fatal(err)
		}
		if says := func(line string) bool { return strings.Contains(line, c.want) }; (c.want == "") != (len(plan.Hazards) == 0) || c.want != "" && !slices.ContainsFunc(plan.Hazards, says) {
			t.Errorf("%s #%d says %q, want %q", c.session, c.index, plan.Hazards, c.want)
		}
	}
}
