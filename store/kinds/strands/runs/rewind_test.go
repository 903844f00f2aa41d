package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
)

// Runs of the real SDKs, and what those made of them when they were put back; see
// testdata/interop/strands_rewinds.py and .mjs.
const rewinds = testdata + "/rewinds"

// runsOf returns every version of the records of some runs, as an SDK writes them.
func runsOf(t testing.TB, file string) map[string][][]byte {
	t.Helper()
	var all map[string][]json.RawMessage
	if err := json.Unmarshal(read(t, filepath.Join(rewinds, file)), &all); err != nil {
		t.Fatal(err)
	}
	runs := make(map[string][][]byte)
	for name, versions := range all {
		for _, v := range versions {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, v, "", "  "); err != nil {
				t.Fatal(err)
			}
			runs[name] = append(runs[name], pretty.Bytes())
		}
	}
	return runs
}

// rewoundRecord is a record that was put back, for the SDK to be asked about.
type rewoundRecord struct {
	Record string `json:"record"`
	Starts int    `json:"starts"`
}

// answerTo is what an SDK made of one.
type answerTo struct {
	SHA256  string
	Ran     [][]string
	Status  []string
	Order   []string
	Next    []string
	Said    map[string]string
	Heard   map[string]string
	Context struct {
		SharedContext map[string]any `json:"shared_context"`
	}
}

// forms are the ways in which a run is put back: from its record alone, and with
// the versions from before.
var forms = []string{"", " with older versions"}

// rewindAll puts every run back to every position, in both forms.
func rewindAll(t *testing.T, file string) (done map[string]Rewound, refused map[string]error) {
	t.Helper()
	done, refused = make(map[string]Rewound), make(map[string]error)
	for name, versions := range runsOf(t, file) {
		r := decode(t, versions[len(versions)-1])
		var older []*Run
		for _, v := range versions[:len(versions)-1] {
			older = append(older, decode(t, v))
		}
		for _, form := range forms {
			for i := range r.Len() {
				at := fmt.Sprintf("%s@%d%s", name, i, form)
				w, err := r.planRewind(i, map[bool][]*Run{false: nil, true: older}[form != ""])
				if err == nil {
					done[at] = w
				} else {
					refused[at] = err
				}
			}
		}
	}
	return done, refused
}

// starts tells how often a start is made for the nodes to run.
func starts(w Rewound) int { return strings.Count(w.Resume[0].Call, `("…")`) }

func TestRewind_recordsThatTheSDKWasAskedAbout(t *testing.T) {
	for _, sdk := range []string{"python", "typescript"} {
		done, refused := rewindAll(t, sdk+"-runs.json")
		asked := make(map[string]rewoundRecord)
		var words strings.Builder
		for _, at := range slices.Sorted(maps.Keys(done)) {
			w := done[at]
			asked[at] = rewoundRecord{string(w.Document), starts(w)}
			fmt.Fprintf(&words, "%s\n  loads: %s\n  next: %q\n", at, w.Loads, w.Next)
			for _, r := range w.Resume {
				fmt.Fprintf(&words, "  resume: %s: %s\n", r.Call, r.Then)
			}
			for _, text := range w.Asks {
				fmt.Fprintf(&words, "  asks: %s\n", text)
			}
			for _, text := range w.Hazards {
				fmt.Fprintf(&words, "  warning: %s\n", text)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(refused)) {
			fmt.Fprintf(&words, "%s\n  %v\n", at, refused[at])
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(asked); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("..", rewinds, sdk+"-rewound.json"), b.String())
		golden(t, "rewinds-"+sdk+".txt", words.String())
	}
}

// answersTo returns what an SDK made of what was put back.
func answersTo(t *testing.T, file string, done map[string]Rewound) map[string]answerTo {
	t.Helper()
	var found map[string]answerTo
	if err := json.Unmarshal(read(t, filepath.Join(rewinds, file)), &found); err != nil {
		t.Fatal(err)
	}
	for at, w := range done {
		sum := sha256.Sum256(w.Document)
		if found[at].SHA256 != hex.EncodeToString(sum[:]) {
			t.Fatalf("%s: the SDK was asked about another record; ask it again, see testdata/interop", at)
		}
	}
	if len(found) != len(done) {
		t.Fatalf("the SDK was asked about %d records, and there are %d", len(found), len(done))
	}
	return found
}

// At every position to which a run can be put back, the real SDK runs exactly what
// had not run before it, and keeps the results of what had.
func TestRewind_theSDKRunsWhatCameAfter(t *testing.T) {
	done, refused := rewindAll(t, "python-runs.json")
	runs := runsOf(t, "python-runs.json")
	for _, version := range []string{"1.62.0", "1.52.0", "1.40.0"} {
		found := answersTo(t, "python-"+version+".json", done)
		for at := range done {
			t.Run(version+"/"+at, func(t *testing.T) {
				checkRewind(t, runs, at, found[at])
			})
		}
	}
	for at, err := range refused {
		r, i := positionOf(t, runs, at)
		if i < r.Len()-1 && !(strings.HasPrefix(at, "uneven@2") && strings.Contains(err.Error(), "is not stored any more")) {
			t.Errorf("%s is refused: %v", at, err)
		}
	}
}

func lastOf(versions [][]byte) []byte { return versions[len(versions)-1] }

func checkRewind(t *testing.T, runs map[string][][]byte, at string, sdk answerTo) {
	t.Helper()
	r, i := positionOf(t, runs, at)
	ran := sdk.Ran[len(sdk.Ran)-1]
	if len(sdk.Ran) == 2 && len(sdk.Ran[0]) > 0 {
		t.Errorf("the first start ran %q", sdk.Ran[0])
	}
	before, after := split(r, i)
	if r.summary.Kind == Swarm {
		after = after[:1] // the scripts hand over to nobody
	}
	slices.Sort(after)
	if got := slices.Sorted(slices.Values(ran)); !slices.Equal(got, slices.Compact(after)) {
		t.Errorf("%q ran, and %q came after", ran, after)
	}
	if end := sdk.Status[len(sdk.Status)-1]; end != "completed" {
		t.Errorf("the run ends as %s", end)
	}
	if !slices.Equal(sdk.Order[:i+1], before) || !slices.Equal(sdk.Order[i+1:], ran) {
		t.Errorf("the order is %q", sdk.Order)
	}
	if len(sdk.Next) > 0 {
		t.Errorf("%q is next", sdk.Next)
	}
	for _, node := range ran {
		if sdk.Said[node] != node+" again" {
			t.Errorf("%s said %q", node, sdk.Said[node])
		}
		if strings.Contains(sdk.Heard[node], "another prompt") || !strings.Contains(sdk.Heard[node], map[bool]string{true: "Build X", false: "Investigate X"}[r.summary.Kind == Swarm]) {
			t.Errorf("%s was given %q", node, sdk.Heard[node])
		}
	}
	for _, node := range before {
		if said, ok := sdk.Said[node]; ok && !slices.Contains(ran, node) && said != node+" output" {
			t.Errorf("%s, which stays, said %q", node, said)
		}
	}
	// What joins two nodes is given the words of both, old or new.
	for _, join := range []struct{ graph, node string }{{"diamond", "report"}, {"two_entries", "d"}} {
		if !strings.HasPrefix(at, join.graph) || !slices.Contains(ran, join.node) {
			continue
		}
		for _, from := range map[string][]string{"diamond": {"analysis", "factcheck"}, "two_entries": {"a", "c"}}[join.graph] {
			if !strings.Contains(sdk.Heard[join.node], "From "+from) {
				t.Errorf("%s runs without %s: %q", join.node, from, sdk.Heard[join.node])
			}
		}
	}
}

func TestRewind_theTypeScriptSDKRunsWhatCameAfter(t *testing.T) {
	done, refused := rewindAll(t, "typescript-runs.json")
	runs := runsOf(t, "typescript-runs.json")
	found := answersTo(t, "typescript-1.19.0.json", done)
	for at, w := range done {
		t.Run(at, func(t *testing.T) {
			sdk := found[at]
			r, i := positionOf(t, runs, at)
			before, after := split(r, i)
			if r.summary.Kind == Swarm {
				after = after[:1] // the scripts hand over to nobody
			}
			ran := sdk.Ran[0]
			if !slices.Equal(ran, slices.Compact(after)) {
				t.Errorf("%q ran, and %q came after", ran, after)
			}
			if !slices.Equal(sdk.Order, append(before, ran...)) {
				t.Errorf("the order is %q", sdk.Order)
			}
			stays := slices.ContainsFunc(w.Hazards, func(text string) bool { return strings.Contains(text, "every later run ends so") })
			if stays != (sdk.Status[0] == "FAILED") || !stays && sdk.Status[0] != "COMPLETED" {
				t.Errorf("the run ends as %s; warnings: %q", sdk.Status[0], w.Hazards)
			}
			for _, node := range ran {
				if sdk.Said[node] != node+" again" {
					t.Errorf("%s said %q", node, sdk.Said[node])
				}
			}
			for _, node := range before {
				if !slices.Contains(ran, node) && strings.Contains(sdk.Said[node], "again") {
					t.Errorf("%s, which stays, said %q", node, sdk.Said[node])
				}
			}
		})
	}
	for at, err := range refused {
		r, i := positionOf(t, runs, at)
		again := strings.HasPrefix(at, "cycle") || strings.HasPrefix(at, "diamond_twice")
		if i < r.Len()-1 && !(again && strings.Contains(err.Error(), "and again after it")) {
			t.Errorf("%s is refused: %v", at, err)
		}
	}
}

// positionOf returns the run and the number of the snapshot that a name stands for.
func positionOf(t *testing.T, runs map[string][][]byte, at string) (r *Run, i int) {
	t.Helper()
	name, position, _ := strings.Cut(strings.TrimSuffix(at, forms[1]), "@")
	if _, err := fmt.Sscan(position, &i); err != nil {
		t.Fatal(err)
	}
	return decode(t, lastOf(runs[name])), i
}

// split returns the nodes that ran up to a snapshot and those that ran after it.
func split(r *Run, i int) (before, after []string) {
	for k, s := range r.steps {
		if k <= i {
			before = append(before, s.node)
		} else {
			after = append(after, s.node)
		}
	}
	return before, after
}

// What a record holds besides what it is put back by stays as it was written.
func TestRewind_keepsEveryOtherByte(t *testing.T) {
	versions := runsOf(t, "python-runs.json")["linear"]
	odd := `"novel": {"big": 123456789012345678901234567890, "nan": NaN, "half": "\ud800", "twice": 1, "twice": 2},` + "\n  "
	record := bytes.Replace(lastOf(versions), []byte(`"type":`), []byte(odd+`"type":`), 1)
	record = bytes.Replace(record, []byte(`"stop_reason"`), []byte(`"novel": 1e400, "stop_reason"`), 1)
	r := decode(t, record)
	w, err := r.planRewind(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{odd, `"novel": 1e400, "stop_reason"`, "\n  \"execution_order\": [\n    \"a\",\n    \"b\",\n    \"d\"\n  ],"} {
		if !bytes.Contains(w.Document, []byte(kept)) {
			t.Errorf("%q is not in\n%s", kept, w.Document)
		}
	}
	if bytes.Contains(w.Document, []byte("e output")) {
		t.Errorf("the result of what ran since is in\n%s", w.Document)
	}
}

// What is put back from the last record is what the SDK itself had written at that
// moment, but for times, which no result tells, and for what is next.
func TestRewind_isTheRecordOfThatMoment(t *testing.T) {
	for name, versions := range runsOf(t, "python-runs.json") {
		switch name {
		case "uneven", "diamond_resumed", "swarm_back":
			continue // a node ran twice, and what its first run took is not stored
		}
		r := decode(t, lastOf(versions))
		for i := range r.Len() - 1 {
			w, err := r.planRewind(i, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, want := plain(t, w.Document), plain(t, momentOf(t, versions, r, i))
			if got != want {
				t.Errorf("%s, after %d:\n%s\nwant\n%s", name, i, got, want)
			}
		}
	}
}

// momentOf returns the version in which snapshot i was the last.
func momentOf(t *testing.T, versions [][]byte, r *Run, i int) []byte {
	t.Helper()
	for _, v := range versions {
		if d := decode(t, v); d.Len() == i+1 && d.steps[i].id == r.steps[i].id {
			return v
		}
	}
	t.Fatalf("no version ends with snapshot %d", i)
	return nil
}

// plain returns the members of a record that are the same at any moment, in order.
func plain(t *testing.T, record []byte) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(record, &members); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"status", "execution_time", "next_nodes_to_execute", "interrupted_nodes"} {
		delete(members, key)
	}
	if context, ok := members["context"].(map[string]any); ok {
		delete(context, "handoff_message")
	}
	if names, ok := members["completed_nodes"].([]any); ok {
		slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	text, err := json.MarshalIndent(members, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRewind_refuses(t *testing.T) {
	done := runsOf(t, "python-runs.json")["diamond"]
	replace := func(old, new string) []byte {
		changed := bytes.Replace(lastOf(done), []byte(old), []byte(new), 1)
		if bytes.Equal(changed, lastOf(done)) {
			t.Fatalf("there is no %q", old)
		}
		return changed
	}
	for _, c := range []struct {
		name   string
		record []byte
		to     int
		says   string
	}{
		{"no record", []byte("[]"), 0, "cannot be read"},
		{"the last position", lastOf(done), 3, "nothing is next"},
		{"the beginning", done[0], 0, "nothing is next"},
		{"what is left does not load", replace(`"stop_reason": "end_turn"`, `"stop_reason": "end_turn", "type": "novel"`), 1, "the SDK refuses to start"},
		{"completed at no time", replace(`"completed_nodes": [`, `"completed_nodes": ["ghost", `), 1, "the order does not say when"},
		{"no order", replace(`"execution_order"`, `"execution"`), 0, "order"},
		{"a node of the name", bytes.ReplaceAll(lastOf(done), []byte(`"research"`), []byte(fmt.Sprintf("%q", workOutName))), 0, "a node is called"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decode(t, c.record).planRewind(c.to, nil)
			var unsupported *model.UnsupportedError
			if !errors.As(err, &unsupported) || unsupported.Op != model.OpRestore || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
