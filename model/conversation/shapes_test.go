package conversation

import (
	"slices"
	"strings"
	"testing"
)

// Shapes that are read otherwise than they look.
func TestDecode_oddShapes(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		role    Role
		kinds   []BlockKind
		label   string
	}{
		"a text that is a number":         {`{"role":"user","content":[{"text":5}]}`, User, []BlockKind{Unknown}, "unknown block text"},
		"content and contents":            {`{"role":"user","content":"c","contents":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`, User, []BlockKind{Text}, "text"},
		"a chunk of LangChain":            {`{"type":"AIMessageChunk","content":"c","response_metadata":{},"tool_calls":[]}`, Assistant, []BlockKind{Text}, "text"},
		"a thought in an object":          {`{"type":"reasoning","id":"rs","summary":{"a":{"text":"hm"}},"encrypted_content":"AAAA"}`, Assistant, []BlockKind{Reasoning}, "reasoning 3 B"},
		"a thought in two parts":          {`{"type":"reasoning","id":"rs","summary":[{"text":"a"},{"text":"b"}]}`, Assistant, []BlockKind{Reasoning, Reasoning}, "reasoning"},
		"a message in a file":             {`{"message":{"role":"assistant","content":[{"text":"c"}]},"message_id":1}`, Assistant, []BlockKind{Text}, "text"},
		"a message that has one, too":     {`{"role":"user","content":"c","message":{"role":"assistant","content":"x"}}`, User, []BlockKind{Text}, "text"},
		"a redacted message":              {`{"message":{"role":"user","content":"x"},"redact_message":{"role":"user","content":[{"text":"a"},{"text":"b"}]}}`, User, []BlockKind{Text, Text}, "text"},
		"a redaction that is null":        {`{"message":{"role":"user","content":[{"text":"a"}]},"redact_message":null}`, User, []BlockKind{Text}, "text"},
		"an envelope of LangChain":        {`{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"c"}}`, User, []BlockKind{Text}, "text"},
		"an empty text beside a call":     {`{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, Assistant, []BlockKind{ToolCall}, "tool call f"},
		"an empty text without calls":     {`{"role":"assistant","content":""}`, Assistant, []BlockKind{Text}, "text"},
		"a call of the provider":          {`{"type":"web_search_call","id":"ws","status":"completed"}`, Assistant, []BlockKind{Unknown}, "unknown block web_search_call"},
		"a shell call, named by its type": {`{"type":"local_shell_call","call_id":"a","action":{"command":["ls"]}}`, Assistant, []BlockKind{ToolCall}, "tool call local_shell_call"},
	} {
		conv := recordOf(t, `[`+c.message+`]`)
		if conv.Len() != 1 {
			t.Errorf("%s: %d messages", name, conv.Len())
			continue
		}
		var kinds []BlockKind
		for _, b := range conv.Blocks(0) {
			kinds = append(kinds, b.Kind)
		}
		if conv.Message(0).Role != c.role || !slices.Equal(kinds, c.kinds) || conv.Label(&conv.Blocks(0)[0]) != c.label {
			t.Errorf("%s: %s %v %q, want %s %v %q", name, conv.Message(0).Role, kinds, conv.Label(&conv.Blocks(0)[0]), c.role, c.kinds, c.label)
		}
	}
}

// Only items make a conversation one of OpenAI's.
func TestFramework_ofItems(t *testing.T) {
	if got := recordOf(t, `[`+itemThought+`,`+itemSearch+`]`).Framework(); got != OpenAI {
		t.Error(got)
	}
}

// A call that has its result in the same message leaves no tool to run.
func TestPosition_callAndResultInOneMessage(t *testing.T) {
	const (
		user   = `{"role":"user","content":{"format":2,"parts":[{"type":"text","text":"u"}]}}`
		ran    = `{"role":"assistant","content":{"format":2,"parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"b","toolName":"f","args":{},"result":1}}]}}`
		called = `{"role":"assistant","content":{"format":2,"parts":[{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"a","toolName":"f","args":{}}}]}}`
	)
	for state, want := range map[string]Position{user + "," + ran: TurnEnd, user + "," + called: AfterModel, user: UserInput} {
		if got := recordOf(t, `{"messages":[`+state+`]}`).Position(); got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
	// The second answer follows the first one's call, which was lost.
	if got := troublesOf(t, `{"messages":[`+user+","+called+","+ran+`]}`); !slices.Equal(got, []string{"unanswered-call 1 a"}) {
		t.Errorf("%q", got)
	}
}

// A turn has the words of the user, whoever spoke last; the call names what ran.
func TestTitle_ofATurn(t *testing.T) {
	large := `{"role":"user","content":"` + strings.Repeat("x", maxTail+1) + `"}`
	for name, c := range map[string]struct {
		state string
		adds  Span
		want  string
	}{
		"LangChain":               {`{"messages":[` + lcUser + `,` + lcText + `]}`, LastTurn, "u"},
		"no words of the user":    {`{"messages":[` + lcText + `]}`, LastTurn, "t"},
		"a message too large":     {`{"messages":[` + large + `,` + openText + `]}`, LastTurn, "t"},
		"a result without a name": {`{"messages":[` + lcCalls + `,` + lcA + `]}`, LastMessage, "f"},
		"broken off":              {`{"messages":[` + lcUser, LastTurn, ""},
		"a value broken off":      {`{"a":[1,"messages":[` + lcUser + `]}`, LastTurn, ""},
		"behind other members":    {`{"a":[1],"messages":[` + lcUser + `]}`, LastTurn, "u"},
		"a blank answer":          {`{"messages":[` + openUser + `,{"role":"assistant","content":" "}]}`, LastMessage, "[blank text]"},
	} {
		if got, _ := Title([]byte(c.state), c.adds); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What is wrong between the calls of a message and the results of the next.
func TestPair(t *testing.T) {
	id := func(s string) string { return s }
	for _, c := range []struct {
		calls, results        string
		missing, stale, again []int
	}{
		{"", "", nil, nil, nil},
		{"a", "a", nil, nil, nil},
		{"a b", "b a", nil, nil, nil},
		{"a b", "b", []int{0}, nil, nil},
		{"a", "", []int{0}, nil, nil},
		{"", "a", nil, []int{0}, nil},
		{"a", "b", []int{0}, []int{0}, nil},
		{"a", "a a", nil, nil, []int{1}},
		{"a b", "a a a", []int{1}, nil, []int{1, 2}},
		{"a", "b b", []int{0}, []int{0, 1}, nil},
		{"a a", "a", nil, nil, nil},
	} {
		got := Pair(strings.Fields(c.calls), strings.Fields(c.results), id, id)
		if !slices.Equal(got.Missing, c.missing) || !slices.Equal(got.Stale, c.stale) || !slices.Equal(got.Again, c.again) {
			t.Errorf("%q and %q: %+v", c.calls, c.results, got)
		}
	}
}

// What is like a message, a checkpoint or a prompt, and what is not.
func TestDecode_alike(t *testing.T) {
	if got := recordOf(t, `[{"kwargs":{"content":"c"},"x":1}]`).Len(); got != 0 {
		t.Errorf("kwargs without a mark of LangChain are %d messages", got)
	}
	if got := recordOf(t, `[`+gemText+`]`).Framework(); got != Gemini {
		t.Errorf("parts of a model are of %v", got)
	}
	c := recordOf(t, `[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AA\/A"}}}]}]`)
	if got := c.Label(c.Block(0)); got != "image png 3 B" {
		t.Errorf("base64 with an escape is %q", got)
	}
	cp, _ := recordOf(t, `{"a":{"position":"after_model","cycle_index":1,"schema_version":"1.0"},"b":{"c":{"position":"after_model","cycle_index":2,"schema_version":"1.0"}}}`).Checkpoint()
	if cp.CycleIndex != 1 {
		t.Errorf("the checkpoint is that of cycle %d", cp.CycleIndex)
	}
	if words, by := FirstTyped(slices.Values([]string{"Rename it", "and more"})); words != "Rename it" || by != Prompt {
		t.Errorf("the first words are %q, %v", words, by)
	}
}
