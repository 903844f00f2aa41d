package multiagent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Runs of the real SDKs, and what those made of them when they were put back; see
// testdata/interop/strands_rewinds.py and .mjs.
const rewinds = testdata + "/rewinds"

// runsOf gives every version of the records of some runs, as an SDK writes them.
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
				w, err := r.Rewind(i, map[bool][]*Run{false: nil, true: older}[form != ""])
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

// answersTo gives what an SDK made of what was put back.
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
	for _, version := range []string{"1.62.0", "1.52.0", "1.40.0"} {
		found := answersTo(t, "python-"+version+".json", done)
		for at, w := range done {
			t.Run(version+"/"+at, func(t *testing.T) {
				checkRewind(t, at, w, found[at])
			})
		}
	}
	for at := range refused {
		name, position, _ := strings.Cut(strings.TrimSuffix(at, forms[1]), "@")
		last := fmt.Sprint(decode(t, lastOf(runsOf(t, "python-runs.json")[name])).Len() - 1)
		if position == last || name == "uneven" {
			continue
		}
		t.Errorf("%s is refused: %v", at, refused[at])
	}
}

func lastOf(versions [][]byte) []byte { return versions[len(versions)-1] }

func checkRewind(t *testing.T, at string, w Rewound, sdk answerTo) {
	t.Helper()
	name, position, _ := strings.Cut(strings.TrimSuffix(at, forms[1]), "@")
	r := decode(t, lastOf(runsOf(t, "python-runs.json")[name]))
	var i int
	fmt.Sscan(position, &i)
	ran := sdk.Ran[len(sdk.Ran)-1]
	if len(sdk.Ran) == 2 && len(sdk.Ran[0]) > 0 {
		t.Errorf("the first start ran %q", sdk.Ran[0])
	}
	var before, after []string
	for k, s := range r.steps {
		if k <= i {
			before = append(before, s.node)
		} else {
			after = append(after, s.node)
		}
	}
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
		if !strings.HasPrefix(name, join.graph) || !slices.Contains(ran, join.node) {
			continue
		}
		for _, from := range map[string][]string{"diamond": {"analysis", "factcheck"}, "two_entries": {"a", "c"}}[join.graph] {
			if !strings.Contains(sdk.Heard[join.node], "From "+from) {
				t.Errorf("%s runs without %s: %q", join.node, from, sdk.Heard[join.node])
			}
		}
	}
}
