package conversation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model/jsontape"
)

// readRecord reads the record of an orchestrator as the SDKs write it.
func readRecord(t *testing.T, name string) *Conversation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/strands", name))
	if err != nil {
		t.Fatal(err)
	}
	tape, _, err := jsontape.ParseTolerant(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := tape.Lookup("data", "state"); n >= 0 {
		return recordOf(t, string(tape.Raw(n)))
	}
	return Decode(tape)
}

func recordOf(t *testing.T, text string) *Conversation {
	t.Helper()
	tape, _, err := jsontape.ParseTolerant([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Decode(tape)
}

// told returns who says what, one line each.
func told(c *Conversation) string {
	var lines []string
	for m := range c.Len() {
		who := c.RoleText(m)
		if who == "" {
			who = c.Message(m).Role.String()
		}
		lines = append(lines, OneLine(string(c.AppendSummary([]byte(who+" | "), m, 60, "→"))))
	}
	return strings.Join(lines, "\n")
}

func TestDecode_whatTheNodesOfAnOrchestratorSaid(t *testing.T) {
	for name, want := range map[string]string{
		"python-multiagent-life/graph_done/05.json":           "user | Investigate X\nresearch | research output\nanalysis | analysis output\nfactcheck | factcheck output\nreport | report output",
		"python-multiagent-life/graph_done/00.json":           "",
		"python-multiagent-life/graph_failed/05.json":         "user | Investigate X\nresearch | research output\nanalysis | analysis output\nfactcheck | factcheck output\nreport | model exploded",
		"python-multiagent-life/graph_cycle/07.json":          "user | Write\nwriter | draft 2\ncritic | critique 2",
		"python-multiagent-life/graph_nested/04.json":         "user | Nest\nfirst | first output\na | over\nb | inner answer\nlast | last output",
		"python-multiagent-life/graph_blocks/02.json":         "user | What is this? · image png 8 B\nresearch | research output",
		"python-multiagent-life/graph_tool_asks/02.json":      "user | Clean up\nplan | delete it\nwork: user | Original Task: Clean up · Inputs from previous nodes: · …\nwork | tool call delete",
		"python-multiagent-life/swarm_back_and_forth/05.json": "user | Build X\nresearcher | handed off\nreviewer | needs work\ncoder | code v2",
		"python-multiagent-life/graph_cycle_failed/04.json":   "user | Write\ncritic | critique 0\nwriter | out of ideas",
		"python-multiagent-life/swarm_tool_asks/02.json":      "user | Build X\nboss | handed over\nworker: user | Context: Handoff Message: clean up User Request: Build X P\nworker | tool call delete",
		"typescript-multiagent-life/graph_done/01.json":       "user | Investigate X\nresearch | research output\nanalysis | analysis output",
		"typescript-multiagent-life/graph_failed/06.json":     "research | research output\nanalysis | analysis output\nfactcheck | factcheck output\nreport | model exploded\nreport | report output",
		"typescript-multiagent-life/swarm_failed/01.json":     "user | Build X\nresearcher | tool call strands_structured_output\ncoder | coder model exploded",
	} {
		c := readRecord(t, name)
		if got := told(c); got != want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, want)
		}
		if got := c.Framework(); (got == StrandsPython) != strings.HasPrefix(name, "python") {
			t.Errorf("%s is of %s", name, got)
		}
		if cp, ok := c.Checkpoint(); ok {
			t.Errorf("%s: a checkpoint %+v, though an orchestrator has none", name, cp)
		}
	}
}

func TestResume_ofAnOrchestrator(t *testing.T) {
	for name, want := range map[string]string{
		"python-multiagent-life/graph_done/03.json":               `graph("…") runs the nodes that are next`,
		"python-multiagent-life/graph_done/05.json":               `graph("…") begins anew`,
		"python-multiagent-life/graph_asks/04.json":               `graph([{"interruptResponse"`,
		"python-multiagent-life/swarm_back_and_forth/01.json":     `swarm("…") runs the nodes that are next`,
		"typescript-multiagent-life/graph_done/01.json":           `orchestrator.invoke("…") runs the nodes that did not complete`,
		"typescript-multiagent-life/graph_done/04.json":           `orchestrator.invoke("…") begins with the first nodes`,
		"typescript-multiagent-life/graph_asks/04.json":           `orchestrator.invoke([{interruptResponse`,
		"python-multiagent-life/swarm_back_and_forth/00.json":     `swarm("…") begins anew`,
		"typescript-multiagent-life/swarm_back_and_forth/04.json": `orchestrator.invoke("…") begins with the first nodes`,
	} {
		ways := readRecord(t, name).Resume()
		if len(ways) != 1 {
			t.Fatalf("%s: %d ways", name, len(ways))
		}
		if got := ways[0].Call + " " + ways[0].Effect; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nnot %s", name, got, want)
		}
		if warns := ways[0].Warning != ""; warns != strings.HasPrefix(name, "python") {
			t.Errorf("%s: the warning is %q", name, ways[0].Warning)
		}
	}
}

// While calls are held back, what goes on is the answer to the interrupt, or else the call that runs them.
func TestResume_ofAPause(t *testing.T) {
	const input = `{"interruptResponse": {"interruptId": "…", "response": …}}`
	for state, want := range map[string]string{
		`{"messages":[` + strUser + `],"interrupt_state":{"activated":true,"interrupts":{"i":{"id":"i"}},"context":{"tool_use_message":` + strCalls + `}}}`:                                                              `agent([` + input + `])`,
		`{"messages":[` + strUser + `],"interrupt_state":{"activated":false,"interrupts":{},"context":{"tool_use_message":` + strCalls + `}}}`:                                                                           `agent([])`,
		`{"messages":[` + strUser + `],"interrupt_state":{"activated":false,"interrupts":{},"context":{}}}`:                                                                                                              `agent(None)`,
		`{"messages":[` + strUser + `],"interrupts":{"activated":false,"interrupts":{},"pendingToolExecution":{"assistantMessageData":` + strCalls + `}}}`:                                                               `agent.invoke(undefined)`,
		`{"messages":[` + strUser + `],"interrupt_state":{"activated":false,"interrupts":{},"pending_tool_execution":{"assistant_message":` + strCalls + `,"completed_tool_results":[{"toolUseId":"a","content":[]}]}}}`: `agent([])`,
	} {
		if c := recordOf(t, state); strings.Contains(state, "completed") && (c.Len() != 3 || len(c.Pending()) != 0) {
			t.Errorf("%s: %d messages, %v wait", state, c.Len(), c.Pending())
		}
		ways := recordOf(t, state).Resume()
		if len(ways) == 0 || !slices.ContainsFunc(ways, func(w Resume) bool { return w.Call == want }) || ways[0].Call != want && !strings.Contains(state, "pendingToolExecution") {
			t.Errorf("%s: %+v, want %s", state, ways, want)
		}
	}
}

// Of two results of one node the last counts; a node in a run of its own may have none; who waits is asked.
func TestDecode_oddRecords(t *testing.T) {
	const said = `{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"%s"}]}}}`
	x, y := strings.Replace(said, "%s", "x", 1), strings.Replace(said, "%s", "y", 1)
	python := func(results, more string) string {
		return `{"type":"graph","current_task":"T","node_results":` + results + `,"execution_order":["a"],"next_nodes_to_execute":[]` + more + `}`
	}
	waits := func(activated string) string {
		return `,"_internal_state":{"interrupt_state":{"activated":` + activated + `,"context":{"b":{"messages":[` + strUser + `]},"c":{"messages":[]},"d":7}}}`
	}
	for state, want := range map[string]string{
		python(`{"a":`+x+`,"a":`+y+`}`, ""):                                                                   "user | T\na | y",
		python(`{"a":`+x+`}`, `,"_internal_state":{"interrupt_state":{"activated":true}}`):                    "user | T\na | x",
		python(`{"a":{"result":{"type":"multiagent_result","results":{}}},"b":`+x+`}`, ""):                    "user | T\nb | x",
		python(`{"a":{"result":{"type":"multiagent_result","results":[`+x+`]}}}`, ""):                         "user | T",
		python(`{"a":{"result":{"type":"multiagent_result","results":{"p":`+x+`,"q":`+y+`}}},"b":`+x+`}`, ""): "user | T\np | x\nq | y\nb | x",
		python(`{"a":`+strings.Replace(x, "{", `{"status":"interrupted",`, 1)+`}`, ""):                        "user | T\na | x",
		python(`{"b":`+x+`}`, waits("true")):                                                                  "user | T\nb | x\nb: user | u",
		python(`{"b":`+strings.Replace(x, "{", `{"status":"interrupted",`, 1)+`}`, waits("true")):             "user | T\nb: user | u",
		python(`{"`+strings.Repeat("é", 41)+`":`+x+`}`, ""):                                                   "user | T\n" + strings.Repeat("é", 40) + " | x",
		python(`{"x`+strings.Repeat("é", 41)+`":`+x+`}`, ""):                                                  "user | T\nx" + strings.Repeat("é", 39) + " | x",
		`{"startTime":1,"results":[{"nodeId":"a","error":"boom"},{"nodeId":"b"}],"_pendingInput":"T"}`:        "user | T\na | boom",
		`{"startTime":1,"results":[{"nodeId":"a","content":[{"text":"x"}]}],"nodes":{"b":{"status":"INTERRUPTED","interruptedSnapshot":{"data":{"messages":[` + strUser + `]}}}}}`: "a | x\nb: user | u",
		python(`[`+x+`]`, ""):                 "user | T",
		python(`{"a":`+x+`}`, waits("true")):  "user | T\na | x\nb: user | u",
		python(`{"a":`+x+`}`, waits("false")): "user | T\na | x",
		`{"startTime":1,"results":[{"nodeId":"a","content":[{"text":"x"}]},{"nodeId":7,"content":[{"text":"y"}]}],"_pendingInput":"T","nodes":{"a":{"status":"INTERRUPTED"}}}`: "user | T\na | x",
	} {
		if got := told(recordOf(t, state)); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

// A state of an earlier moment tells what was said, and not how to go on.
func TestResume_ofAnEarlierMoment(t *testing.T) {
	for _, text := range []string{
		`{"type":"graph","id":"g","node_results":{"a":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"x"}]}}}},"current_task":"T","execution_order":["a"]}`,
		`{"startTime":1,"results":[{"nodeId":"a","content":[{"text":"x"}]}],"_pendingInput":"T"}`,
	} {
		c := recordOf(t, text)
		if told(c) != "user | T\na | x" || len(c.Resume()) > 0 || c.Position() != TurnEnd {
			t.Errorf("%s: %q, %v, %v", text, told(c), c.Resume(), c.Position())
		}
	}
}

func TestDecode_aTaskOfMessages(t *testing.T) {
	c := recordOf(t, `{"type":"swarm","node_results":{"a":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"x"}]}}}},"current_task":[{"role":"user","content":[{"text":"T"}]}],"node_history":["a"],"next_nodes_to_execute":[]}`)
	if got := told(c); got != "user | T\na | x" {
		t.Error(got)
	}
	if m := c.Find(c.List() + 2); m != 0 {
		t.Errorf("the task's role is in message %d", m)
	}
}

// What an agent keeps under these names makes no orchestrator of it.
func TestDecode_agentsWithResultsOfTheirOwn(t *testing.T) {
	for _, text := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"results":[{"nodeId":"a"}],"startTime":1}`,
		`{"messages":[{"role":"user","content":"hi"}],"type":"graph","execution_order":[]}`,
		`{"messages":[{"role":"user","content":"hi"}],"type":"graph","execution_order":["a"],"node_results":{"a":{"result":{"type":"exception","message":"x"}}}}`,
		`{"results":[1],"startTime":1}`,
		`{"results":[],"startTime":1}`,
		`{"results":[{"nodeId":"a","content":[{"text":"x"}]}]}`,
		`{"results":{"a":{"nodeId":"a","content":[{"text":"x"}]}},"startTime":1}`,
	} {
		if c := recordOf(t, text); c.run.is || c.Len() != strings.Count(text, "hi") {
			t.Errorf("%s is taken for an orchestrator with %d messages", text, c.Len())
		}
	}
}
