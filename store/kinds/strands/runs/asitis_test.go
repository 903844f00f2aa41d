package runs

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
		w := r.asItIs()
		call := w.Resume[0].Call
		rest, found := strings.CutPrefix(call, want)
		if id, _, ok := strings.Cut(rest, `"`); !found || !ok || id == "" || strings.Count(call, "esponse: …")+strings.Count(call, `response": …`) != len(r.Summary().Waiting) {
			t.Errorf("%s goes on by %s", name, call)
		}
		if string(w.Document) != string(r.sourceText()) {
			t.Errorf("%s is changed", name)
		}
	}
}

// The oldest SDKs for TypeScript take no answers: a prompt runs what waits of a Graph,
// and a Swarm from the beginning.
func TestAsItIs_whatTheOldestTypeScriptDoes(t *testing.T) {
	found := verdicts(t, "multiagent-typescript-1.0.0.json")
	waiting := 0
	for _, h := range hazards(t, "typescript") {
		r := decode(t, h.build(t, "typescript-multiagent-life", "data"))
		if len(r.Summary().Waiting) == 0 {
			continue
		}
		waiting++
		r.place.Unanswered = true
		sdk, w := found[h.Name], r.asItIs()
		if len(sdk.Answer.Ran) > 0 && sdk.Answer.Status == "COMPLETED" {
			t.Errorf("%s: the SDK takes the answer: %+v", h.Name, sdk.Answer)
		}
		if len(w.Resume) != 1 || strings.Contains(w.Resume[0].Call, "interruptResponse") || len(w.Asks) == 0 {
			t.Fatalf("%s: %+v", h.Name, w)
		}
		if begins := sdk.Ran[0] == "researcher"; begins != strings.Contains(w.Resume[0].Then, "first node") || !begins && !strings.Contains(w.Resume[0].Then, sdk.Ran[0]) {
			t.Errorf("%s: %q ran, and the call %s", h.Name, sdk.Ran, w.Resume[0].Then)
		}
	}
	if waiting != 3 {
		t.Errorf("%d records wait for an answer", waiting)
	}
}
