package langgraph

import (
	"strings"
	"testing"

	"hindcast/store/storetest"
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
