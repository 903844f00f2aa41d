package conversation

import (
	"fmt"
	"testing"

	"hindcast/model/jsontape"
)

// Of a message without a role, and of one without content and calls, the whole is shown as
// a block of a kind that is not known. One whose content is empty has no blocks.
func TestDecode_messagesWithoutContent(t *testing.T) {
	for message, want := range map[string]int{
		`{"role":"assistant"}`:                  0,
		`{"role":"assistant","name":"x"}`:       0,
		`{"role":"user","text":"hi","meta":{}}`: 0,
		`{"content":[]}`:                        0,
		`{"text":"hi"}`:                         0,
		`{}`:                                    0,
		`{"role":"assistant","content":[]}`:     -1,
		`{"role":"assistant","content":null,"tool_calls":[]}`: -1,
		`{"role":"assistant","tool_calls":[]}`:                -1,
	} {
		list := fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":"first"}]},%s,{"role":"user","content":[{"text":"last"}]}]}`, message)
		c := Decode(parse(t, list))
		if c.Len() != 3 {
			t.Errorf("%s: %d messages", message, c.Len())
			continue
		}
		blocks := c.Blocks(1)
		if want < 0 {
			if len(blocks) > 0 {
				t.Errorf("%s: %d blocks", message, len(blocks))
			}
			continue
		}
		if len(blocks) != 1 || c.Tape().Kind(blocks[0].Node) != jsontape.Object || blocks[0].Node != c.Message(1).Node {
			t.Errorf("%s: %+v, not a block of the whole", message, blocks)
		}
	}
}

// Only a call in a message of the model counts as one that it asks for.
func TestCalls_areOfTheModel(t *testing.T) {
	const call = `"content":[{"toolUse":{"toolUseId":"1","name":"f","input":{}}}]`
	for role, want := range map[string]int{"assistant": 1, "moderator": 0, "system": 0, "tool": 0} {
		text := `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"` + role + `",` + call + `}]}`
		c := Decode(parse(t, text))
		if calls := c.Calls(); c.Len() != 2 || len(calls) != want || c.Cycle() != want-1 {
			t.Errorf("%s: %d messages, calls %v, cycle %d", role, c.Len(), calls, c.Cycle())
		}
	}
}

// A record of an orchestrator stands where its last message does: at the task as long as
// no node has said anything.
func TestPosition_ofRecords(t *testing.T) {
	const said = `{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":"x"}]}}}`
	python := func(task, results, order string) string {
		return `{"type":"graph","current_task":` + task + `,"node_results":` + results + `,"execution_order":` + order + `,"next_nodes_to_execute":[]}`
	}
	for text, want := range map[string]Position{
		python(`""`, `{}`, `[]`):                                                                  Empty,
		python(`[]`, `{}`, `[]`):                                                                  Empty,
		python(`"T"`, `{}`, `[]`):                                                                 UserInput,
		python(`[{"text":"T"}]`, `{}`, `[]`):                                                      UserInput,
		python(`"T"`, `{"a":`+said+`}`, `["a"]`):                                                  TurnEnd,
		python(`""`, `{"a":`+said+`}`, `["a"]`):                                                   TurnEnd,
		python(`"T"`, `{"a":{"result":{}}}`, `["a"]`):                                             UserInput,
		`{"startTime":1,"results":[{"nodeId":"a","content":[]}],"_pendingInput":"T"}`:             UserInput,
		`{"startTime":1,"results":[{"nodeId":"a","content":[{"text":"x"}]}],"_pendingInput":"T"}`: TurnEnd,
	} {
		if c := Decode(parse(t, text)); c.Position() != want || !c.run.is {
			t.Errorf("%s: %v, not %v", text, c.Position(), want)
		}
	}
}
