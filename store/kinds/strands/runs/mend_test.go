package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

// Every record of the hazards on which the SDK does not start is mended, or the
// error says what is in the way; one on which it starts stays as it is.
func TestMend_ofEveryHazard(t *testing.T) {
	var words strings.Builder
	mended := make(map[string]string)
	for _, h := range hazards(t, "python") {
		orchestrator := map[bool]string{true: "s1", false: "g1"}[strings.HasPrefix(h.Base, "swarm")]
		record := h.build(t, "python-multiagent-life")
		r := decodeOf(t, record, orchestrator)
		document, did, err := r.Mend()
		if err != nil {
			fmt.Fprintf(&words, "%s\n  %v\n", h.Name, err)
			continue
		}
		if _, is := r.firstFatal(); !is {
			if len(did) > 0 || !bytes.Equal(document, record) {
				t.Errorf("%s: %q", h.Name, did)
			}
			continue
		}
		if left, is := decodeOf(t, document, orchestrator).firstFatal(); is || len(refusals(decodeOf(t, document, orchestrator))) > 0 || len(did) == 0 {
			t.Errorf("%s: what is left: %v", h.Name, left)
		}
		fmt.Fprintf(&words, "%s\n", h.Name)
		for _, text := range did {
			fmt.Fprintf(&words, "  %s\n", text)
		}
		mended[h.Base+" "+h.Name] = string(document)
	}
	golden(t, "mends.txt", words.String())
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(mended); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("..", testdata, "mended-runs.json"), b.String())
}

// The real SDK starts on each of them, and comes to the end of a run.
func TestMend_theSDKStartsOnIt(t *testing.T) {
	var mended map[string]string
	if err := json.Unmarshal(read(t, filepath.Join(testdata, "mended-runs.json")), &mended); err != nil {
		t.Fatal(err)
	}
	found := verdicts(t, "mended-runs-1.62.0.json")
	if !slices.Equal(slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(mended))) {
		t.Fatalf("the SDK was asked about others: %q", slices.Sorted(maps.Keys(found)))
	}
	for name, sdk := range found {
		if sdk.Refuses != "" || sdk.Refused != "" || sdk.Status != "completed" || len(sdk.Ran) == 0 {
			t.Errorf("%s: %+v", name, sdk)
		}
	}
}

// Whatever a record is, putting it back or mending it ends in a record that reads as
// said, or in an error.
func FuzzRewind(f *testing.F) {
	for _, name := range []string{"graph_failed/07", "graph_asks/04", "swarm_back_and_forth/05", "swarm_tool_asks/02", "graph_cycle/07"} {
		f.Add(read(f, filepath.Join(testdata, "python-multiagent-life", name+".json")))
	}
	f.Add(read(f, filepath.Join(testdata, "typescript-multiagent-life", "graph_asks", "04.json")))
	f.Add(read(f, filepath.Join(testdata, "typescript-multiagent-life", "swarm_failed", "02.json")))
	f.Fuzz(func(t *testing.T, document []byte) {
		if len(document) > 1<<16 {
			return
		}
		tape, _, err := jsontape.ParseTolerant(document)
		if err != nil {
			return
		}
		r := Decode(tape, record(tape), Place{Session: "s", File: "f.json"})
		for i := range min(r.Len(), 8) {
			w, err := r.planRewind(i, []*Run{r})
			if err != nil {
				continue
			}
			now := decodeOf(t, w.Document, "")
			if now.Len() != i+1 || now.steps[i].id != r.steps[i].id && r.summary.ID == "" {
				t.Errorf("put back to %d there are %d executions", i, now.Len())
			}
		}
		if document, _, err := r.Mend(); err == nil {
			if _, is := decodeOf(t, document, "").firstFatal(); is {
				t.Errorf("what is left is fatal: %s", document)
			}
		}
	})
}
