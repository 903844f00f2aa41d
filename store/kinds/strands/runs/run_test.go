package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// everything returns all records of the tests by name: those of the stores, of the
// lives, and the hazards.
func everything(t testing.TB) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	for _, name := range glob(t, pythonStores, typeScriptDone, pythonLife, typeScriptLife) {
		all[short(name)] = read(t, name)
	}
	for _, h := range hazards(t, "python") {
		all["python/"+h.Name] = h.build(t, "python-multiagent-life")
	}
	for _, h := range hazards(t, "typescript") {
		all["typescript/"+h.Name] = h.build(t, "typescript-multiagent-life", "data")
	}
	for name, text := range odd {
		all["odd/"+name] = []byte(text)
	}
	return all
}

// odd are records that no SDK writes, and such as are rare.
var odd = map[string]string{
	"empty":        `{}`,
	"null":         `null`,
	"scalar":       `7`,
	"nan":          `{"type":"graph","id":"g","status":"executing","execution_order":["a","b"],"node_results":{"a":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"x"}]},"stop_reason":"end_turn"},"execution_time":NaN,"accumulated_metrics":{"latencyMs":-Infinity}},"b":{"result":{"type":"agent_result","message":null}}},"next_nodes_to_execute":["c"],"big":123456789012345678901234567890}`,
	"spaces":       "{\n \"execution_order\" : [ \"a\" , \"b\" ] , \"type\" : \"graph\" , \"future\" : [ 1 , 2 ] , \"node_results\" : { \"b\" : { \"status\" : \"completed\" , \"result\" : { } } } }",
	"doubled":      `{"type":"graph","execution_order":["x"],"execution_order":["a","b"],"node_results":{"a":{"status":"failed"},"a":{"result":{"type":"exception","message":"one"},"status":"completed"}},"id":"1","id":"2"}`,
	"surrogate":    `{"type":"swarm","node_history":["\ud800","b"],"node_results":{"\ud800":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"\ud800"}]}},"status":"completed"}},"next_nodes_to_execute":[]}`,
	"shapes":       `{"type":[],"id":{},"status":7,"execution_order":{"a":1},"node_results":["x"],"next_nodes_to_execute":{"a":1},"completed_nodes":"abc","failed_nodes":[null,{},"f"],"interrupted_nodes":true,"_internal_state":[1],"current_task":{"a":1}}`,
	"history":      `{"node_history":["a"],"node_results":{}}`,
	"ts-shapes":    `{"results":[null,5,{"nodeId":4},{"nodeId":"a","status":3,"duration":1e400,"content":"x"}],"nodes":{"a":{"results":{},"startTime":"x","status":"COMPLETED"},"b":null,"c":[]},"startTime":-1}`,
	"ts-nodes":     `{"nodes":[{"status":"COMPLETED"}],"results":{}}`,
	"ts-far":       `{"startTime":1,"steps":1,"results":[{"nodeId":"a","status":"COMPLETED","duration":999999999999999999,"content":[]}],"nodes":{"a":{"status":"COMPLETED","startTime":999999999999999999,"results":[{"nodeId":"a","status":"COMPLETED","duration":999999999999999999,"content":[]}]}}}`,
	"task-message": `{"type":"graph","execution_order":[],"current_task":[{"role":"user","content":[{"text":"Find it"}]},{"role":"user","content":[{"text":"now"}]}]}`,
}

func TestState_newestIsTheRecordAndAllAreJSON(t *testing.T) {
	for name, data := range everything(t) {
		tape, n := parse(t, data)
		r := decode(t, data)
		newest := []byte("null")
		if n >= 0 {
			newest = jsontape.AppendCompact(nil, tape.Raw(n))
		}
		if got := r.State(r.Len() - 1); !bytes.Equal(got, newest) {
			t.Errorf("%s: the newest state is\n%s\nthe record\n%s", name, got, newest)
		}
		headers := r.Headers()
		for i := range r.Len() {
			state := r.State(i)
			if _, _, err := jsontape.ParseTolerant(state); err != nil {
				t.Errorf("%s: state %d: %v\n%s", name, i, err, state)
			}
			if headers[i].Size != int64(len(state)) {
				t.Errorf("%s: state %d has %d bytes, its header says %d", name, i, len(state), headers[i].Size)
			}
			if compact := jsontape.AppendCompact(nil, state); !bytes.Equal(compact, state) {
				t.Errorf("%s: state %d is not compact", name, i)
			}
		}
	}
}

// What an earlier state holds, the newest holds too, byte for byte, except that
// the lists are shorter and results are missing.
func TestState_earlierOnesHoldNothingOfTheirOwn(t *testing.T) {
	for name, data := range everything(t) {
		r := decode(t, data)
		newest, _, err := jsontape.ParseTolerant(r.State(r.Len() - 1))
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Len() - 1 {
			earlier, _, err := jsontape.ParseTolerant(r.State(i))
			if err != nil {
				t.Fatal(err)
			}
			for n := earlier.First(0); n >= 0; n = earlier.Next(n) {
				m := newest.Find(0, earlier.Key(n))
				switch key := earlier.Key(n); {
				case m < 0:
					t.Errorf("%s: state %d has a member %q", name, i, key)
				case key == "execution_order" || key == "node_history" || key == "results":
					whole, part := newest.Raw(m), bytes.TrimSuffix(earlier.Raw(n), []byte("]"))
					if !bytes.HasPrefix(whole, part) {
						t.Errorf("%s: state %d: %s is no beginning of %s", name, i, part, whole)
					}
				case key == "node_results":
					for c := earlier.First(n); c >= 0; c = earlier.Next(c) {
						if other := newest.Find(m, earlier.Key(c)); !bytes.Equal(newest.Raw(other), earlier.Raw(c)) {
							t.Errorf("%s: state %d has another result of %q", name, i, earlier.Key(c))
						}
					}
				case !bytes.Equal(newest.Raw(m), earlier.Raw(n)):
					t.Errorf("%s: state %d has another %q", name, i, key)
				}
			}
		}
	}
}

func TestHeaders_areOneLineWithDistinctIDs(t *testing.T) {
	for name, data := range everything(t) {
		r := decode(t, data)
		headers := r.Headers()
		seen := make(map[string]bool)
		for i, h := range headers {
			parent := ""
			if i > 0 {
				parent = headers[i-1].ID
			}
			if h.ParentID != parent || h.Index != i || h.SessionID != "s" || h.Head != (i == len(headers)-1) || seen[h.ID] || len(h.ID) != 64 {
				t.Errorf("%s: header %d: %+v", name, i, h)
			}
			seen[h.ID] = true
			if r.Find(h.ID) != i {
				t.Errorf("%s: Find gives %d for snapshot %d", name, r.Find(h.ID), i)
			}
			if h.Title == "" || strings.ContainsAny(h.Title, "\n") {
				t.Errorf("%s: title %q", name, h.Title)
			}
		}
		for _, f := range model.NewTimeline(headers).Faults() {
			// Nodes that run at the same time end at the same time, or are listed
			// in another order; and the tests say when a record was written.
			if f.Code != model.FaultEqualTime && f.Code != model.FaultParentNewer {
				t.Errorf("%s: the timeline finds %v", name, f)
			}
		}
		if r.Find("") != -1 {
			t.Errorf("%s: there is a snapshot without an id", name)
		}
	}
}

// steady are the lives in which no node runs a second time, no answer makes a
// node go on and no failed node runs again: there an id never goes, but for that
// of the beginning.
var steady = []string{
	"python-multiagent-life/graph_done", "python-multiagent-life/graph_nested", "python-multiagent-life/graph_tool_asks",
	"python-multiagent-life/graph_blocks", "python-multiagent-life/swarm_failed",
	"typescript-multiagent-life/graph_done", "typescript-multiagent-life/graph_parallel", "typescript-multiagent-life/graph_failed",
	"typescript-multiagent-life/graph_denied", "typescript-multiagent-life/swarm_back_and_forth", "typescript-multiagent-life/swarm_failed",
}

func TestHeaders_idsStayWhileTheRunGrows(t *testing.T) {
	for _, life := range steady {
		var before []string
		for _, name := range glob(t, filepath.Join(testdata, life, "*.json")) {
			r := decode(t, read(t, name))
			now := ids(r)
			if len(before) > 0 && !slices.Equal(before, now[:min(len(before), len(now))]) {
				t.Errorf("%s: the ids were\n%q\nand are\n%q", short(name), before, now)
			}
			before = now
			if r.steps[0].start {
				before = nil
			}
		}
		if len(before) < 1 {
			t.Errorf("%s: nothing ran", life)
		}
	}
}

// In the other lives exactly what was replaced has another id.
func TestHeaders_onlyWhatIsReplacedGetsAnotherID(t *testing.T) {
	for life, changes := range map[string][][]int{
		"python-multiagent-life/graph_cycle":          {nil, {0}, nil, {0}, {1}, {2}, {3}, nil},
		"python-multiagent-life/graph_asks":           {nil, {0}, nil, nil, nil, {3}, nil},
		"python-multiagent-life/graph_failed":         {nil, {0}, nil, nil, nil, nil, {3}, nil},
		"python-multiagent-life/swarm_back_and_forth": {nil, {0}, nil, nil, {1}, nil},
		"python-multiagent-life/swarm_asks":           {nil, {0}, nil, {1}, nil},
		"typescript-multiagent-life/graph_asks":       {nil, nil, nil, nil, nil, {3}, nil},
		"typescript-multiagent-life/swarm_asks":       {nil, nil, nil, {1}, nil},
	} {
		var before []string
		for v, name := range glob(t, filepath.Join(testdata, life, "*.json")) {
			now := ids(decode(t, read(t, name)))
			var changed []int
			for i := range min(len(before), len(now)) {
				if before[i] != now[i] {
					changed = append(changed, i)
				}
			}
			if !slices.Equal(changed, changes[v]) {
				t.Errorf("%s: the ids of %v changed, not of %v", short(name), changed, changes[v])
			}
			before = now
		}
	}
}

func TestDecode_saysTheSameForAnyWhiteSpace(t *testing.T) {
	for name, data := range everything(t) {
		compact := jsontape.AppendCompact(nil, data)
		if a, b := picture(decode(t, data)), picture(decode(t, compact)); a != b {
			t.Errorf("%s: with spaces\n%s\nwithout\n%s", name, a, b)
		}
	}
}

func TestDecode_faultsSayWhere(t *testing.T) {
	data := []byte(`{"scope":"multiAgent","data":{"state":{"type":"graph","status":"paused","execution_order":["a"],"next_nodes_to_execute":["b"],"node_results":{"a":{}}}}}`)
	tape, n := parse(t, data)
	for _, f := range Decode(tape, n, Place{File: "x.json"}).Faults() {
		if f.File != "x.json" || f.Path != "" && tape.LookupPointer(f.Path) < 0 || f.Meaning == "" || f.Verdict == "" {
			t.Errorf("a fault that leads nowhere: %+v", f)
		}
	}
	part, _, err := jsontape.ParseTolerant(tape.Raw(n))
	if err != nil {
		t.Fatal(err)
	}
	moved := Decode(part, 0, Place{File: "x.json", Pointer: "/data/state"}).Faults()
	if whole := Decode(tape, n, Place{File: "x.json"}).Faults(); !slices.Equal(moved, whole) {
		t.Errorf("faults of the part\n%v\nof the whole\n%v", moved, whole)
	}
}

func TestDecode_withoutARecord(t *testing.T) {
	tape, _ := parse(t, []byte(`{}`))
	r := Decode(tape, jsontape.None, Place{Session: "s", Orchestrator: "o"})
	if r.Len() != 1 || string(r.State(0)) != "null" || !r.Headers()[0].Marks.Has(model.MarkDamaged) || len(r.Faults()) != 1 || len(r.Facts(0)) == 0 {
		t.Errorf("%s", picture(r))
	}
}

func TestDecode_manyNodes(t *testing.T) {
	const n = 20_000
	var b bytes.Buffer
	b.WriteString(`{"type":"graph","id":"g","status":"completed","completed_nodes":[],"failed_nodes":["f"],"node_results":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"x"}]}},"status":"completed"}`, i)
	}
	b.WriteString(`},"next_nodes_to_execute":["n1"],"execution_order":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d"`, i)
	}
	b.WriteString(`]}`)
	r := decode(t, b.Bytes())
	headers := r.Headers()
	if len(headers) != n+1 || headers[n/2].Size != int64(len(r.State(n/2))) {
		t.Errorf("%d headers, size %d of a state of %d bytes", len(headers), headers[n/2].Size, len(r.State(n/2)))
	}
}

// A node of TypeScript may have run any number of times, and when its last run
// ended is looked for once.
func TestDecode_manyResultsOfOneNode(t *testing.T) {
	const n = 100_000
	var b bytes.Buffer
	b.WriteString(`{"startTime":1,"steps":1,"app":{},"results":[],"nodes":{"a":{"status":"COMPLETED","startTime":1760000000000,"results":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"nodeId":"a","status":"COMPLETED","duration":%d,"content":[]}`, i)
	}
	b.WriteString(`]}}}`)
	headers := decode(t, b.Bytes()).Headers()
	if len(headers) != n {
		t.Fatalf("%d headers", len(headers))
	}
	for _, h := range headers {
		if h.Head == h.CreatedAt.IsZero() {
			t.Fatalf("%s, the head: %v, is of %v", h.Title, h.Head, h.CreatedAt)
		}
	}
}

// What is not read is refused by nobody, and told to nobody.
func TestFaults_ofAnInterruptThatIsNotRead(t *testing.T) {
	record := `{"type":"graph","id":"g","status":"completed","completed_nodes":["a"],"failed_nodes":[],"interrupted_nodes":[],"execution_order":["a"],"next_nodes_to_execute":[%s],
		"node_results":{"a":{"status":"completed","result":{"type":"agent_result","message":{"role":"assistant","content":[]}},"interrupts":[7,{"id":"i","later":1}]}}}`
	for next, want := range map[string]int{"": 0, `"b"`: 3} {
		told := 0
		for _, f := range decode(t, fmt.Appendf(nil, record, next)).Faults() {
			if f.Code != FaultInterrupt {
				continue
			}
			told++
			if !strings.HasPrefix(f.Verdict, "refuses to start: TypeError: Interrupt") {
				t.Errorf("next %q: the verdict on %s is %q", next, f.Path, f.Verdict)
			}
		}
		if told != want {
			t.Errorf("next %q: %d faults", next, told)
		}
	}
}

func TestDecode_deeplyNestedResults(t *testing.T) {
	const depth = 2000
	inner := `{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"deep down"}]}},"status":"completed"}`
	text := strings.Repeat(`{"status":"completed","result":{"type":"multiagent_result","status":"completed","results":{"a":`, depth) + inner + strings.Repeat(`}}}`, depth)
	r := decode(t, []byte(`{"type":"graph","execution_order":["n"],"completed_nodes":["n"],"next_nodes_to_execute":["m"],"status":"executing","node_results":{"n":`+text+`}}`))
	if h := r.Headers()[0]; h.Title != "n: deep down; next: m" {
		t.Errorf("title %q", h.Title)
	}
	for _, f := range r.Facts(0) {
		if len(f.Value) > 4*maxText {
			t.Errorf("%s has %d bytes", f.Label, len(f.Value))
		}
	}
	if faults := r.Faults(); len(faults) > 0 {
		t.Errorf("faults: %v", faults[0])
	}
}

// The way to a value may be as long as the record, and there may be as many
// faults: together they are not.
func TestFaults_areNoLargerThanTheRecord(t *testing.T) {
	const depth = 3000
	text := strings.Repeat(`{"status":"x","result":{"type":"multiagent_result","status":"completed","results":{"a":`, depth) + `{}` + strings.Repeat(`}}}`, depth)
	faults := decode(t, []byte(`{"type":"graph","execution_order":["n"],"next_nodes_to_execute":["m"],"node_results":{"n":`+text+`}}`)).Faults()
	size, told := 0, 0
	for _, f := range faults {
		size += len(f.Path)
		if f.Code == FaultStatus {
			told++
		}
	}
	if told != depth || size > 4*len(text) {
		t.Errorf("%d faults, %d bytes of paths in a record of %d", told, size, len(text))
	}
}

func TestState_keepsWhatItDoesNotKnow(t *testing.T) {
	data := []byte(`{"type":"graph","execution_order":["a","b"],"node_results":{"a":{"big":12345678901234567890123,"nan":NaN,"x":"\u0041\ud800"},"b":{}},"future":{"n":1e400}}`)
	r := decode(t, data)
	if got, want := string(r.State(0)), `{"type":"graph","execution_order":["a"],"node_results":{"a":{"big":12345678901234567890123,"nan":NaN,"x":"\u0041\ud800"}}}`; got != want {
		t.Errorf("state 0 is\n%s\nnot\n%s", got, want)
	}
	if got := string(r.State(1)); got != string(data) {
		t.Errorf("state 1 is\n%s", got)
	}
}

func TestHeaders_positionIsThatOfTheCheckpoint(t *testing.T) {
	for checkpoint, want := range map[string]string{
		`{"position":"after_model","cycle_index":0,"schema_version":"1.0"}`: model.PositionAfterModel,
		`{"position":"after_tools","cycle_index":2,"schema_version":"1.0"}`: model.PositionAfterTools,
		`{"position":"after_tools","cycle_index":2,"schema_version":"9"}`:   "",
		`{}`: "", `null`: "",
	} {
		r := decode(t, []byte(`{"type":"graph","execution_order":["a"],"node_results":{"a":{"result":{"type":"agent_result","stop_reason":"checkpoint","checkpoint":`+checkpoint+`}}},"next_nodes_to_execute":["b"]}`))
		if got := r.Headers()[0].Position; got != want {
			t.Errorf("%s: position %q", checkpoint, got)
		}
		told := slices.ContainsFunc(r.Facts(0), func(f model.Fact) bool { return f.Label == "checkpoint" })
		if told != (len(checkpoint) > 4) {
			t.Errorf("%s: facts %v", checkpoint, r.Facts(0))
		}
	}
}

func TestState_holdsTheConversationOfANodeThatWaits(t *testing.T) {
	r := decode(t, read(t, filepath.Join(testdata, "python-multiagent-life/graph_tool_asks/02.json")))
	var state struct {
		Internal struct {
			Interrupts struct {
				Context map[string]json.RawMessage
			} `json:"interrupt_state"`
		} `json:"_internal_state"`
	}
	if err := json.Unmarshal(r.State(r.Len()-1), &state); err != nil {
		t.Fatal(err)
	}
	if own := state.Internal.Interrupts.Context["work"]; !bytes.Contains(own, []byte(`"messages":[{"role":"user"`)) {
		t.Errorf("the context of the node is %s", own)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range everything(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, _, err := jsontape.ParseTolerant(data)
		if err != nil {
			return
		}
		n := record(tape)
		r := Decode(tape, n, Place{Session: "s", File: "f"})
		headers := r.Headers()
		if len(headers) != r.Len() || r.Len() < 1 || r.Len() > tape.Len()+1 {
			t.Fatalf("%d headers of %d snapshots", len(headers), r.Len())
		}
		if faults := r.Faults(); len(faults) > 20*tape.Len() {
			t.Fatalf("%d faults of %d values", len(faults), tape.Len())
		}
		for _, i := range []int{0, r.Len() / 2, r.Len() - 1} {
			state := r.State(i)
			if headers[i].Size != int64(len(state)) {
				t.Errorf("state %d has %d bytes, its header says %d", i, len(state), headers[i].Size)
			}
			if _, _, err := jsontape.ParseTolerant(state); err != nil {
				t.Errorf("state %d: %v", i, err)
			}
			r.Facts(i)
			if len(headers[i].Title) > 1000 {
				t.Errorf("a title of %d bytes", len(headers[i].Title))
			}
		}
		if n >= 0 && !bytes.Equal(r.State(r.Len()-1), jsontape.AppendCompact(nil, tape.Raw(n))) {
			t.Error("the newest state is not the record")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := read(b, filepath.Join(testdata, "python-multiagent/session_graph_done/multi_agents/multi_agent_g1/multi_agent.json"))
	tape, n := parse(b, data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Decode(tape, n, Place{}).Headers()
	}
}

func TestHeaders_titlesAreShortWhateverTheTexts(t *testing.T) {
	long := strings.Repeat("é\\n ", 400)
	for name, text := range map[string]string{
		"python": `{"type":"swarm","id":"` + long + `","status":"interrupted","node_history":["` + long + `"],"node_results":{"` + long + `":{"status":"completed","execution_time":` + strings.Repeat("9", 400) + `,"result":{"type":"exception","message":"` + long + `"}}},"next_nodes_to_execute":["` + long + `","b"],"current_task":"` + long + `","context":{"shared_context":{"` + long + `":{"` + long + `":[` + strings.Repeat("1, ", 400) + `2]}}},
			"_internal_state":{"interrupt_state":{"activated":true,"context":{},"interrupts":{"i":{"id":"` + long + `","name":"` + long + `","reason":[` + strings.Repeat("1, ", 400) + `2]}}}}}`,
		"typescript": `{"startTime":1,"steps":1,"results":[{"nodeId":"` + long + `","status":"COMPLETED","duration":` + strings.Repeat("9", 40) + `,"content":[{"text":"` + long + `"}],"structuredOutput":{"message":"` + long + `","agentId":"` + long + `","more":1}},{"nodeId":"b","status":"FAILED","error":"` + long + `","content":[]}],"nodes":{"b":{"status":"FAILED","startTime":5,"results":[]},"c":{"status":"CANCELLED","results":[]}}}`,
	} {
		r := decode(t, []byte(text))
		for i, h := range r.Headers() {
			if len(h.Title) > 500 || strings.ContainsAny(h.Title, "\n") || strings.Contains(h.Title, "\uFFFD") {
				t.Errorf("%s: title %q", name, h.Title)
			}
			for _, f := range r.Facts(i) {
				if len(f.Value) > 1000 || f.Value == "" {
					t.Errorf("%s: %s has %d bytes", name, f.Label, len(f.Value))
				}
			}
		}
		for _, f := range r.Faults() {
			if len(f.Meaning)+len(f.Verdict) > 1000 {
				t.Errorf("%s: a fault of %d bytes", name, len(f.Meaning)+len(f.Verdict))
			}
		}
	}
}

// A node of a Swarm is asked for a hand-off and nothing else; whoever answers
// with more is a node of a Graph.
func TestSummary_kindOfATypeScriptRun(t *testing.T) {
	for output, want := range map[string]Kind{
		`{"message":"done"}`:                          Swarm,
		`{"agentId":"b","message":"go","context":{}}`: Swarm,
		`{"agentId":"b","message":"go","score":1}`:    Graph,
		`{"score":1}`:   Graph,
		`null`:          Graph,
		`{"message":1}`: Graph,
		`"text"`:        Graph,
	} {
		r := decode(t, []byte(`{"startTime":1,"steps":1,"results":[{"nodeId":"a","status":"COMPLETED","content":[],"structuredOutput":`+output+`}],"nodes":{"a":{"status":"COMPLETED","results":[]}}}`))
		if got := r.Summary().Kind; got != want {
			t.Errorf("%s: %s", output, got)
		}
	}
	if got := decode(t, []byte(`{"startTime":1,"steps":0,"results":[],"nodes":{"a":{"status":"PENDING","results":[]}}}`)).Summary().Kind; got != AnyKind {
		t.Errorf("before anything ran: %s", got)
	}
}
