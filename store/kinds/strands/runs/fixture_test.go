package runs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/storetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testdata = "../../../../testdata/strands"

// Where the records are that the real SDKs wrote: the stores, and each version
// of the records of some runs, in the order in which they were written.
const (
	pythonStores   = testdata + "/python-multiagent/session_*/multi_agents/*/multi_agent.json"
	typeScriptDone = testdata + "/typescript/unified/session/*/scopes/multiAgent/*/snapshots/snapshot_latest.json"
	pythonLife     = testdata + "/python-multiagent-life/*/*.json"
	typeScriptLife = testdata + "/typescript-multiagent-life/*/*.json"
)

// updated is when every record of the tests was written.
var updated = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func glob(t testing.TB, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Fatalf("no file is like %s", pattern)
		}
		names = append(names, found...)
	}
	return names
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// parse reads a document and finds the record in it.
func parse(t testing.TB, data []byte) (*jsontape.Tape, jsontape.Node) {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		t.Fatal(err)
	}
	return tape, record(tape)
}

// record finds the record as the stores do: the whole document, or what a
// snapshot has in data.state.
func record(tape *jsontape.Tape) jsontape.Node {
	if tape.Find(0, "scope") >= 0 {
		return tape.Lookup("data", "state")
	}
	return 0
}

func decode(t testing.TB, data []byte) *Run {
	t.Helper()
	tape, _ := parse(t, data)
	return decodeOf(t, data, tape.Text(max(0, tape.Lookup("data", "orchestratorId"))))
}

// decodeOf decodes a record that is kept as that of an orchestrator.
func decodeOf(t testing.TB, data []byte, orchestrator string) *Run {
	t.Helper()
	tape, n := parse(t, data)
	return Decode(tape, n, Place{Session: "s", File: "f.json", Updated: updated, Orchestrator: orchestrator})
}

// short returns the name of a fixture below testdata.
func short(name string) string {
	return strings.TrimPrefix(filepath.ToSlash(name), testdata+"/")
}

// picture draws a run for the golden files.
func picture(r *Run) string {
	var b strings.Builder
	s := r.Summary()
	fmt.Fprintf(&b, "%s %q %s, task %q, next %q, waiting %q\n", s.Kind, s.ID, s.Status, s.Task, s.Next, s.Waiting)
	for _, h := range r.Headers() {
		shape := "○"
		if h.Head {
			shape = "◉"
		}
		at := ""
		if !h.CreatedAt.IsZero() {
			at = h.CreatedAt.Format(" 15:04:05.000")
		}
		line := fmt.Sprintf("%s %2d  %.8s  %-16s %5d B  %s%s  %s", shape, h.Index, h.ID, h.EventText(), h.Size, h.Position, at, strings.Join(h.Marks.Words(), " "))
		fmt.Fprintf(&b, "%s %q\n", strings.TrimRight(line, " "), h.Title)
	}
	for _, f := range r.Faults() {
		fmt.Fprintf(&b, "! %s  %s %s\n    %s\n    %s\n", f.Code, f.File, f.Path, f.Meaning, f.Verdict)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	storetest.Golden(t, filepath.Join("testdata", name), got, update)
}

// hazard is a version of a life, changed at some places.
type hazard struct {
	Name, Base, Why string
	Set             map[string]json.RawMessage
	Delete          []string
}

// hazards returns the hazards of an SDK.
func hazards(t testing.TB, sdk string) []hazard {
	t.Helper()
	var all map[string][]hazard
	if err := json.Unmarshal(read(t, filepath.Join(testdata, "multiagent-hazards.json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all[sdk]) == 0 {
		t.Fatalf("there are no hazards of %s", sdk)
	}
	return all[sdk]
}

// build returns the record of a hazard.
func (h hazard) build(t testing.TB, folder string, within ...string) []byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(read(t, filepath.Join(testdata, folder, h.Base+".json"))))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	root := document
	for _, key := range within {
		root = root.(map[string]any)[key]
	}
	for _, place := range h.Delete {
		holder, key := locate(root, place)
		delete(holder.(map[string]any), key)
	}
	for place, value := range h.Set {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			t.Fatal(err)
		}
		if place == "" {
			return value
		}
		switch holder, key := locate(root, place); holder := holder.(type) {
		case map[string]any:
			holder[key] = v
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil {
				t.Fatal(err)
			}
			holder[i] = v
		}
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// locate follows a pointer, in which "*" is the only member, to what holds the
// last key of it.
func locate(at any, place string) (holder any, key string) {
	keys := strings.Split(place, "/")[1:]
	for i, key := range keys {
		if key == "*" {
			for only := range at.(map[string]any) {
				key = only
			}
		}
		if i == len(keys)-1 {
			return at, key
		}
		switch holder := at.(type) {
		case map[string]any:
			at = holder[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil {
				panic(err)
			}
			at = holder[n]
		}
	}
	panic("no place " + place)
}

// ids returns the ids of a run.
func ids(r *Run) []string {
	var list []string
	for _, h := range r.Headers() {
		list = append(list, h.ID)
	}
	return list
}

// refusals returns the faults that keep the SDK from starting.
func refusals(r *Run) (list []model.Fault) {
	for _, f := range r.Faults() {
		if f.Severity == model.Stops {
			list = append(list, f)
		}
	}
	return list
}
