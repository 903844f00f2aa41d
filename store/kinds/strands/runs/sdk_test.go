package runs

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
)

// came is what came of starting an orchestrator on a record, see
// testdata/interop/strands_multiagent.py and .mjs.
type came struct {
	// Refuses is the exception at the start, Refused that after the prompt.
	Refuses string
	Refused string `json:"prompt refused"`
	Threw   string `json:"refused"` // TypeScript has one place for both
	Ran     []string
	Status  string
	Results []string
	Answer  *came
}

func verdicts(t *testing.T, file string) map[string]came {
	t.Helper()
	var all map[string]came
	if err := json.Unmarshal(read(t, filepath.Join(testdata, file)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// says reports whether a fault of the run has all the texts in its verdict.
func says(r *Run, texts ...string) bool {
	return slices.ContainsFunc(r.Faults(), func(f model.Fault) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(f.Verdict, text) })
	})
}

func has(r *Run, code string) bool {
	return slices.ContainsFunc(r.Faults(), func(f model.Fault) bool { return f.Code == code })
}

// exception returns the name of an exception in a message of the SDK's.
func exception(message string) string { return strings.SplitN(message, ":", 2)[0] }

func TestFaults_sayWhatThePythonSDKDoes(t *testing.T) {
	all := hazards(t, "python")
	found := verdicts(t, "multiagent-1.62.0.json")
	if len(found) != len(all) {
		t.Fatalf("%d hazards, and the SDK was asked about %d", len(all), len(found))
	}
	for _, h := range all {
		t.Run(h.Name, func(t *testing.T) {
			r := decodeOf(t, h.build(t, "python-multiagent-life"), map[bool]string{true: "s1", false: "g1"}[strings.HasPrefix(h.Base, "swarm")])
			sdk := found[h.Name]
			healthy := strings.HasPrefix(h.Why, "nothing wrong") || strings.HasPrefix(h.Why, "cannot be told")
			if healthy && len(r.Faults()) > 0 { // of what is odd and changes nothing there are none either
				t.Errorf("faults: %v", r.Faults())
			}
			if (sdk.Refuses != "") != (len(refusals(r)) > 0) {
				t.Fatalf("the SDK: %q; faults: %v", sdk.Refuses, r.Faults())
			}
			if sdk.Refuses != "" {
				if !says(r, exception(sdk.Refuses)) {
					t.Errorf("the SDK: %s; faults: %v", sdk.Refuses, r.Faults())
				}
				return
			}
			if plain := strings.Contains(r.next, "any prompt but an answer is a TypeError") || strings.Contains(r.next, "any other prompt is a TypeError"); plain != (sdk.Refused != "") {
				t.Errorf("the SDK: %q; next: %s", sdk.Refused, r.next)
			}
			checkRan(t, r, sdk)
			if (sdk.Status == "failed") != has(r, FaultFailedLeft) {
				t.Errorf("the run ends as %s; faults: %v", sdk.Status, r.Faults())
			}
			if sdk.Answer != nil {
				checkAnswer(t, r, *sdk.Answer)
			}
		})
	}
}

// checkRan compares the nodes that ran with those that are said to be next.
func checkRan(t *testing.T, r *Run, sdk came) {
	t.Helper()
	unknown := slices.Equal(r.summary.Next, []string{"ghost"}) // what nodes there are is not stored
	entry := slices.ContainsFunc(sdk.Ran, func(node string) bool {
		return slices.Contains([]string{"research", "researcher", "writer", "boss"}, node) && !slices.Contains(r.summary.Next, node)
	})
	switch {
	case sdk.Refused != "" || unknown:
	case entry:
		if len(r.summary.Next) > 0 && !says(r, "begins anew") || len(r.summary.Next) == 0 && !strings.Contains(r.next, "begins anew") {
			t.Errorf("%q ran, and %q is next: %s", sdk.Ran, r.summary.Next, r.next)
		}
	case len(sdk.Ran) == 0:
		if !says(r, "runs nothing") {
			t.Errorf("nothing ran, and %q is next: %v", r.summary.Next, r.Faults())
		}
	default:
		for i, next := range r.summary.Next {
			if !slices.Contains(sdk.Ran, next) && (r.summary.Kind != Swarm || i == 0) {
				t.Errorf("%q ran, and %q is next", sdk.Ran, r.summary.Next)
			}
		}
	}
}

// checkAnswer compares what an answer does with what is said about it.
func checkAnswer(t *testing.T, r *Run, sdk came) {
	t.Helper()
	switch {
	case sdk.Refused != "":
		if !says(r, "an answer a "+exception(sdk.Refused)) {
			t.Errorf("an answer: %s; faults: %v", sdk.Refused, r.Faults())
		}
	case len(sdk.Ran) == 0 && sdk.Status == "completed":
		if !says(r, "after an answer nothing runs and the run is called completed") {
			t.Errorf("an answer runs nothing; faults: %v", r.Faults())
		}
	case len(sdk.Ran) == 0:
		if !says(r, "an answer") || !has(r, FaultInterrupt) {
			t.Errorf("an answer ends as %s; faults: %v", sdk.Status, r.Faults())
		}
	case has(r, FaultInterrupt):
		t.Errorf("an answer runs %q; faults: %v", sdk.Ran, r.Faults())
	}
}

func TestFaults_sayWhatTheTypeScriptSDKDoes(t *testing.T) {
	all := hazards(t, "typescript")
	found := verdicts(t, "multiagent-typescript-1.19.0.json")
	if len(found) != len(all) {
		t.Fatalf("%d hazards, and the SDK was asked about %d", len(all), len(found))
	}
	for _, h := range all {
		t.Run(h.Name, func(t *testing.T) {
			r := decode(t, h.build(t, "typescript-multiagent-life", "data"))
			sdk := found[h.Name]
			healthy := strings.HasPrefix(h.Why, "nothing wrong")
			if healthy && len(r.Faults()) > 0 { // of what is odd and changes nothing there are none either
				t.Errorf("faults: %v", r.Faults())
			}
			if (sdk.Threw != "") != (len(refusals(r)) > 0) {
				t.Fatalf("the SDK: %q; faults: %v", sdk.Threw, r.Faults())
			}
			if sdk.Threw != "" {
				if !says(r, exception(sdk.Threw)) {
					t.Errorf("the SDK: %s; faults: %v", sdk.Threw, r.Faults())
				}
				return
			}
			if stays := sdk.Status == "FAILED" || sdk.Status == "CANCELLED"; stays != has(r, FaultFailedLeft) {
				t.Errorf("the run ends as %s; faults: %v", sdk.Status, r.Faults())
			}
			checkTypeScriptRan(t, r, sdk)
		})
	}
}

func checkTypeScriptRan(t *testing.T, r *Run, sdk came) {
	t.Helper()
	first := sdk.Ran[0]
	begins := first == "research" || first == "researcher"
	switch {
	case sdk.Answer != nil:
		if !slices.Contains(sdk.Answer.Ran, r.summary.Next[0]) || begins != strings.Contains(r.next, "any other prompt begins at the first node") {
			t.Errorf("%q ran, and %q after an answer; next: %s", sdk.Ran, sdk.Answer.Ran, r.next)
		}
	case begins && len(r.summary.Next) == 0:
		if !strings.Contains(r.next, "first node") && !says(r, "starts anew") && !says(r, "runs again") {
			t.Errorf("%q ran; next: %s", sdk.Ran, r.next)
		}
	case begins && first != r.summary.Next[0]:
		if !says(r, "the next start begins at the first node") && !says(r, "runs again") {
			t.Errorf("%q ran, and %q is next; faults: %v", sdk.Ran, r.summary.Next, r.Faults())
		}
	case len(r.summary.Next) > 0:
		if first != r.summary.Next[0] {
			t.Errorf("%q ran, and %q is next", sdk.Ran, r.summary.Next)
		}
	case !strings.Contains(r.next, first):
		t.Errorf("%q ran; next: %s", sdk.Ran, r.next)
	}
}
