package multiagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
