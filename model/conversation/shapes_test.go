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
		"a message of messages_to_dict":   {`{"type":"ai","data":{"content":"","additional_kwargs":{},"response_metadata":{},"type":"ai","tool_calls":[{"name":"f","args":{"a":1},"id":"a","type":"tool_call"}]}}`, Assistant, []BlockKind{ToolCall}, "tool call f"},
		"one without its own type":        {`{"type":"human","data":{"content":"c"}}`, User, []BlockKind{Text}, "text"},
		"a result of messages_to_dict":    {`{"type":"tool","data":{"content":"1","response_metadata":{},"type":"tool","tool_call_id":"a"}}`, Tool, []BlockKind{ToolResult}, "tool result"},
		"an empty text beside a call":     {`{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, Assistant, []BlockKind{ToolCall}, "tool call f"},
		"an empty text without calls":     {`{"role":"assistant","content":""}`, Assistant, []BlockKind{Text}, "text"},
		"a call of the provider":          {`{"type":"web_search_call","id":"ws","status":"completed"}`, Assistant, []BlockKind{Unknown}, "unknown block web_search_call"},
		"content that is one block":       {`{"role":"user","content":{"text":"c"}}`, User, []BlockKind{Text}, "text"},
		"elements that are no blocks":     {`{"role":"user","content":[["x"],7,null]}`, User, []BlockKind{Unknown, Unknown, Unknown}, "unknown block"},
		"a type that is not known":        {`{"role":"user","content":[{"type":"sparkle","url":"https://a.example","text":"c"}]}`, User, []BlockKind{Text}, "text"},
		"an event by its author":          {`{"author":"user","content":{"parts":[{"text":"c"}]}}`, User, []BlockKind{Text}, "text"},
		"an event by its content's role":  {`{"author":"user","content":{"role":"model","parts":[{"text":"c"}]}}`, Assistant, []BlockKind{Text}, "text"},
		"a call that LangChain has twice": {`{"type":"ai","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"image","url":"x"},{"type":"text","text":"c"}],"response_metadata":{},"tool_calls":[{"id":"a","name":"f","args":{}}]}`, Assistant, []BlockKind{Image, Text, ToolCall}, "image x"},
		"parts that are no list":          {`{"role":"user","content":"c","parts":"x"}`, User, []BlockKind{Text}, "text"},
		"calls that are none":             {`{"role":"assistant","tool_calls":[{"id":"a","name":"f"},7]}`, Assistant, []BlockKind{Unknown, Unknown}, "unknown block id"},
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

// One mark is enough to tell the framework.
func TestFramework(t *testing.T) {
	for state, want := range map[string]Framework{
		`[` + itemThought + `,` + itemSearch + `]`:                               OpenAI,
		`[{"role":"user","content":"u"}]`:                                        OpenAI,
		`[{"role":"assistant","content":null,"tool_calls":[]}]`:                  OpenAI,
		`[{"role":"tool","tool_call_id":"a","content":[{"text":"1"}]}]`:          OpenAI,
		`[{"role":"user","content":[{"image_url":{"url":"x"}}]}]`:                OpenAI,
		`[{"role":"user","content":[{"text":"u"}]}]`:                             NoFramework,
		`[{"role":"user","content":[{"text":"u"}],"tracking_id":"1"}]`:           StrandsPython,
		`[{"role":"user","content":[{"text":"u"}],"trackingId":"1"}]`:            StrandsTypeScript,
		`[{"role":"user","content":[{"reasoningContent":{}}]}]`:                  StrandsPython,
		`[{"role":"user","content":[{"reasoning":{}}]}]`:                         StrandsTypeScript,
		`[{"role":"user","content":[{"citationsContent":{}},{"citations":{}}]}]`: Strands,
		`[` + strCalls + `]`: Strands,
		`[{"role":"user","content":[{"reasoning":"hm"}]}]`:                    Genkit,
		`[{"role":"user","content":[{"type":"reasoning","reasoning":"hm"}]}]`: NoFramework,
		`[{"role":"user","content":[{"media":{"url":"x"}}]}]`:                 Genkit,
		`[{"role":"model","content":[{"text":"t"}]}]`:                         Genkit,
		`[` + gemText + `]`: Gemini,
		`[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png"}}]}]`: Gemini,
		`[` + lcText + `]`: LangChain,
		`[{"role":"user","content":[{"text":"u"}],"kwargs":{"content":"x"}}]`: NoFramework,
		`[{"role":"user","contents":[{"type":"text","text":"u"}]}]`:           AgentFramework,
		`{"messages":[],"systemPrompt":"s"}`:                                  StrandsTypeScript,
		`{"data":{"messages":[],"schema_version":"1.0"}}`:                     StrandsPython,
		`{"state":{"messages":[],"artifacts":[]}}`:                            Genkit,
	} {
		if got := recordOf(t, state).Framework(); got != want {
			t.Errorf("%s is of %s, want %s", state, got, want)
		}
	}
}

// Each word of a framework for a role.
func TestRole_ofWords(t *testing.T) {
	for word, want := range map[string]Role{
		"user": User, "human": User, "HumanMessage": User, "assistant": Assistant, "ai": Assistant, "AIMessage": Assistant, "AIMessageChunk": Assistant, "model": Assistant,
		"tool": Tool, "ToolMessage": Tool, "system": System, "SystemMessage": System, "developer": System, "narrator": UnknownRole, "": UnknownRole, "users": UnknownRole,
	} {
		for _, message := range []string{`{"role":"` + word + `","content":"x"}`, `{"lc":1,"id":["messages","` + word + `"],"kwargs":{"content":"x"}}`} {
			if got := recordOf(t, `[`+message+`]`).Message(0).Role; got != want {
				t.Errorf("%s: %s, want %s", message, got, want)
			}
		}
	}
}

// A role has the framework's own word.
func TestRoleText(t *testing.T) {
	for message, want := range map[string]string{
		`{"role":"user","content":"u"}`:                                           "user",
		`{"role":"model","content":[{"text":"t"}]}`:                               "model",
		`{"type":"message","role":"assistant","content":[{"text":"t"}]}`:          "assistant",
		`{"type":"human","role":"narrator","content":"u","response_metadata":{}}`: "narrator",
		lcText:      "ai",
		itemCall:    "function_call",
		itemThought: "reasoning",
		`{"author":"helper","content":{"parts":[{"text":"t"}]}}`:                                      "helper",
		`{"role":"model","author":"helper","content":{"parts":[{"text":"t"}]}}`:                       "model",
		`{"lc":1,"type":"constructor","id":["schema","HumanMessage"],"kwargs":{"content":"c"}}`:       "HumanMessage",
		`{"message":{"role":"user","content":[]},"redact_message":{"role":"assistant","content":[]}}`: "assistant",
		`{"message":{"role":"user","content":[{"text":"u"}]},"message_id":1}`:                         "user",
		`{"role":"` + strings.Repeat("x", 50) + `","content":"u"}`:                                    strings.Repeat("x", 40),
	} {
		if got := recordOf(t, `[`+message+`]`).RoleText(0); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	if got := recordOf(t, `[`+openUser+`,{"content":"x"},["x"],7]`); got.Len() != 4 || got.RoleText(1)+got.RoleText(2)+got.RoleText(3) != "" {
		t.Errorf("%d messages, %q", got.Len(), got.RoleText(1))
	}
}

// A tool ended well or badly where its result says so, and else nothing is known.
func TestStatus_ofResults(t *testing.T) {
	for result, want := range map[string]Status{
		`{"type":"tool_result","tool_use_id":"a","content":"1"}`:                  NoStatus,
		`{"type":"tool_result","tool_use_id":"a","content":"1","is_error":false}`: NoStatus,
		`{"type":"tool_result","tool_use_id":"a","content":"1","is_error":true}`:  Failed,
		`{"type":"function_result","call_id":"a","result":"1"}`:                   NoStatus,
		`{"type":"function_result","call_id":"a","result":"1","exception":null}`:  NoStatus,
		`{"type":"function_result","call_id":"a","result":"1","exception":"E"}`:   Failed,
		`{"toolResult":{"toolUseId":"a","content":[]}}`:                           NoStatus,
		`{"toolResult":{"toolUseId":"a","status":"success","content":[]}}`:        OK,
		`{"toolResult":{"toolUseId":"a","status":"error","content":[]}}`:          Failed,
		`{"functionResponse":{"name":"f","response":{"error":"E"}}}`:              Failed,
		`{"functionResponse":{"name":"f","response":{"error":{"code":1}}}}`:       NoStatus,
	} {
		b := recordOf(t, `[{"role":"user","content":[`+result+`]}]`).Block(0)
		if b.Kind != ToolResult || b.Status != want {
			t.Errorf("%s: %s, %q, want %q", result, b.Kind, b.Status, want)
		}
	}
}

// What a tool gave is a list of blocks only if it begins with one.
func TestParts(t *testing.T) {
	for body, want := range map[string]string{
		`"x"`:                                   "text",
		`7`:                                     "json",
		`[]`:                                    "json",
		`["a","b"]`:                             "json",
		`[{"a":1},{"text":"x"}]`:                "json",
		`{"a":{"text":"x"}}`:                    "json",
		`{"a":{"image":{}}}`:                    "json",
		`[{"text":"x"},{"json":1},"y",{"a":1}]`: "text, json, text, unknown block",
	} {
		c := recordOf(t, `[{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":`+body+`}}]}]`)
		var got []string
		for part := range c.Parts(c.Block(0)) {
			got = append(got, part.Kind.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s is %q, want %s", body, got, want)
		}
	}
	c := recordOf(t, `[{"role":"user","content":[{"toolResult":{"toolUseId":"a"}}]}]`)
	for part := range c.Parts(c.Block(0)) {
		t.Errorf("a result of nothing has %+v", part)
	}
}

// A result has its own name for its tool, else the call's, else the id.
func TestToolName(t *testing.T) {
	for messages, want := range map[string]string{
		`{"role":"model","content":[{"toolRequest":{"name":"f","ref":"1"}}]},{"role":"tool","content":[{"toolResponse":{"name":"g","ref":"1"}}]}`: "f g",
		`{"role":"model","content":[{"toolRequest":{"name":"f","ref":"1"}}]},{"role":"tool","content":[{"toolResponse":{"ref":"1"}}]}`:            "f f",
		`{"role":"model","content":[{"toolRequest":{"ref":"1"}}]},{"role":"tool","content":[{"toolResponse":{"name":"g","ref":"1"}}]}`:            "1 g",
		`{"role":"tool","content":[{"toolResponse":{"ref":"1"}},{"toolResponse":{}}]}`:                                                            "1 tool",
		// By name a result answers a call of a tool, not what merely has that name.
		`{"role":"model","content":[{"toolRequest":{"name":"png"}},{"image":{"format":"png","source":{}}}]}`: "png png",
	} {
		c := recordOf(t, `[`+messages+`]`)
		if got := c.ToolName(c.Block(0)) + " " + c.ToolName(c.Block(1)); got != want {
			t.Errorf("%s: %q, want %q", messages, got, want)
		}
		if b := c.Block(0); b.Name >= 0 && b.ID < 0 && b.Pair >= 0 {
			t.Errorf("%s: the call is answered by %d", messages, b.Pair)
		}
	}
}

// A summary names 8 tools, of any number of texts.
func TestAppendSummary_namesSomeTools(t *testing.T) {
	call := `{"toolUse":{"toolUseId":"t","name":"f","input":{}}}`
	for content, want := range map[string]string{
		strings.Repeat(call+",", summaryTools-1) + call:                      "tool call f" + strings.Repeat(", f", summaryTools-1),
		strings.Repeat(call+",", summaryTools) + call:                        "tool call f" + strings.Repeat(", f", summaryTools-1) + " …",
		strings.Repeat(`{"text":"x"},`, summaryTools+1) + call:               strings.Repeat("x · ", summaryTools+1) + "tool call f",
		call + `,{"text":"x"},` + call:                                       "tool call f · x · tool call f",
		call + `,{"toolResult":{"toolUseId":"t","content":[]}}`:              "tool call f · tool result f",
		`{"reasoning":"hm"},{"text":"x"},{"cachePoint":{}}`:                  "x",
		`{"citations":{"content":[{"image":{}},{"text":"x"},{"text":"y"}]}}`: "x",
		`{"citations":{"content":[{"image":{}}]}}`:                           "citations",
		`{"reasoning":"hm"}`:                                                 "hm",
	} {
		c := recordOf(t, `[{"role":"assistant","content":[`+content+`]}]`)
		if got := string(c.AppendSummary(nil, 0, 1000, "→")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What the framework keeps beside the application's own members.
func TestOfFramework(t *testing.T) {
	c := recordOf(t, `{"data":{"messages":[`+strUser+`]},"system_prompt":"s","cart":{"":1},"list":[1]}`)
	for pointer, want := range map[string]bool{"/data": true, "/data/messages": true, "/data/messages/0": false, "/system_prompt": true, "/cart": false, "/cart/": false, "/list/0": false} {
		if got := c.OfFramework(c.tape.LookupPointer(pointer)); got != want {
			t.Errorf("%s: %t", pointer, got)
		}
	}
	if c := recordOf(t, `{"a":1}`); c.OfFramework(1) || c.Find(1) != -1 {
		t.Error("a state without messages")
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
		"a result without a name": {`{"messages":[` + lcCalls + `,` + lcA + `]}`, LastMessage, "f  1"},
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
	if got := recordOf(t, `[{"type":"event","data":{"content":"c"}}]`).Len(); got != 0 {
		t.Errorf("data of another type are %d messages", got)
	}
	if got := recordOf(t, `[`+gemText+`]`).Framework(); got != Gemini {
		t.Errorf("parts of a model are of %v", got)
	}
	c := recordOf(t, `[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"AA\/AAA\/A"}}}]}]`)
	if got := c.Label(c.Block(0)); got != "image png 6 B" {
		t.Errorf("base64 with an escape is %q", got)
	}
	if got := recordOf(t, `[{"author":"a","content":{"parts":"x"}}]`).Len(); got != 0 {
		t.Errorf("parts that are no list are %d messages", got)
	}
	cp, _ := recordOf(t, `{"a":{"position":"after_model","cycle_index":1,"schema_version":"1.0"},"b":{"c":{"position":"after_model","cycle_index":2,"schema_version":"1.0"}}}`).Checkpoint()
	if cp.CycleIndex != 1 || cp.Node != 1 {
		t.Errorf("the checkpoint is that of cycle %d, at %d", cp.CycleIndex, cp.Node)
	}
	if words, by := FirstTyped(slices.Values([]string{"Rename it", "and more"})); words != "Rename it" || by != Prompt {
		t.Errorf("the first words are %q, %v", words, by)
	}
}
