package multiagent

import (
	"strings"
	"testing"
)

// A run that waits for an answer goes on with that alone, so the call has the ids of
// the interrupts that wait, in the words of the SDK.
func TestAsItIs_answersWhatWaits(t *testing.T) {
	for name, want := range map[string]string{
		"python-multiagent/session_graph_interrupted/multi_agents/multi_agent_g1/multi_agent.json": `graph([{"interruptResponse": {"interruptId": "v1:`,
		"typescript-multiagent-life/graph_asks/04.json":                                            `graph.invoke([{ interruptResponse: { interruptId: "`,
	} {
		r := decode(t, read(t, testdata+"/"+name))
		if len(r.Summary().Waiting) == 0 {
			t.Fatalf("%s waits for nothing", name)
		}
		w := r.AsItIs()
		call := w.Resume[0].Call
		rest, found := strings.CutPrefix(call, want)
		if id, _, ok := strings.Cut(rest, `"`); !found || !ok || id == "" || strings.Count(call, "esponse: …")+strings.Count(call, `response": …`) != len(r.Summary().Waiting) {
			t.Errorf("%s goes on by %s", name, call)
		}
		if string(w.Document) != string(r.Source()) {
			t.Errorf("%s is changed", name)
		}
	}
}
