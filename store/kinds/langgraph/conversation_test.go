package langgraph

import (
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

// A thread whose tool raised before it had a result, and to which the user wrote on, is told once,
// at the checkpoint that has the call. create_react_agent raised a ValueError on the thread
// prebuilt at both further runs.
func TestFaults_unansweredCall(t *testing.T) {
	s := open(t, "testdata/unanswered.db")
	for _, session := range []string{"prebuilt", "agent"} {
		faults := storetest.Faults(t, s, session)
		if len(faults) != 1 {
			t.Fatalf("%s: %+v", session, faults)
		}
		f, call := faults[0], at(t, s, session, 5)
		if f.Code != "unanswered-call" || f.File != call.ID || f.Path != "/messages/3/tool_calls/0" || !strings.Contains(f.Meaning, "boom (c4_0)") {
			t.Errorf("%s: %+v, want the call of %s", session, f, call.ID)
		}
		for _, word := range []string{"create_react_agent raises a ValueError", "create_agent sends it", "OpenAI Chat", "Anthropic", "400"} {
			if !strings.Contains(f.Verdict, word) {
				t.Errorf("%s: the verdict %q does not say %q", session, f.Verdict, word)
			}
		}
	}
}

// A plan and the calls of a snapshot say that what they lead to is refused; those of one at which
// the tool may still run do not.
func TestPlan_unansweredCall(t *testing.T) {
	s := storetest.AsWriter(open(t, rowstest.Copied(t, "testdata/unanswered.db")))
	for _, c := range []struct {
		op    model.Op
		index int
		said  bool
	}{
		{model.OpRestore, 9, true}, {model.OpRestore, 7, true}, {model.OpFork, 7, true}, {model.OpRestore, 5, false}, {model.OpFork, 5, false}, {model.OpRestore, 2, false},
	} {
		h := at(t, s, "prebuilt", c.index)
		plan, err := s.Plan(t.Context(), model.Change{Op: c.op, Ref: h.Ref(), As: "new"})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan.Hazards, "\n"); strings.Contains(text, "create_react_agent raises") != c.said {
			t.Errorf("%s of #%d says %q", c.op, c.index, text)
		}
		calls, err := s.Features().Resume(t.Context(), h.Ref())
		if err != nil || len(calls) == 0 {
			t.Fatal(calls, err)
		}
		if strings.Contains(calls[0].Then, "create_react_agent raises") != c.said {
			t.Errorf("#%d goes on with %+v", c.index, calls[0])
		}
	}
}
