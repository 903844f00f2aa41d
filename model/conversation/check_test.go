package conversation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
)

// troublesOf returns the troubles of a list of messages, as "code message id", with "?" for an
// open one.
func troublesOf(t *testing.T, state string) (list []string) {
	t.Helper()
	c := recordOf(t, state)
	for _, of := range c.Troubles() {
		text := fmt.Sprintf("%s %d", of.Code, of.Message)
		if id := c.CallText(of); id != "" {
			text += " " + id
		}
		if of.Open {
			text += "?"
		}
		list = append(list, text)
	}
	return list
}

const (
	lcUser  = `{"type":"human","content":"u","response_metadata":{}}`
	lcCalls = `{"type":"ai","content":"","response_metadata":{},"tool_calls":[{"id":"a","name":"f","args":{}},{"id":"b","name":"g","args":{}}]}`
	lcA     = `{"type":"tool","tool_call_id":"a","content":"1","response_metadata":{}}`
	lcB     = `{"type":"tool","tool_call_id":"b","content":"2","response_metadata":{}}`
	lcText  = `{"type":"ai","content":"t","response_metadata":{}}`

	openUser  = `{"role":"user","content":"u"}`
	openCalls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	openA     = `{"role":"tool","tool_call_id":"a","content":"1"}`
	openText  = `{"role":"assistant","content":"t"}`

	itemThought = `{"id":"rs","type":"reasoning","summary":[]}`
	itemCall    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}","id":"fa"}`
	itemCallB   = `{"type":"function_call","call_id":"b","name":"g","arguments":"{}","id":"fb"}`
	itemA       = `{"type":"function_call_output","call_id":"a","output":"1"}`
	itemB       = `{"type":"function_call_output","call_id":"b","output":"2"}`
	itemText    = `{"id":"m","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"t"}]}`
	itemSearch  = `{"id":"ws","type":"web_search_call","status":"completed"}`

	useUser  = `{"role":"user","content":[{"type":"text","text":"u"}]}`
	useCalls = `{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	useA     = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	useText  = `{"role":"assistant","content":[{"type":"text","text":"t"}]}`

	strUser  = `{"role":"user","content":[{"text":"u"}]}`
	strCalls = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`
	strA     = `{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"1"}]}}]}`
	strText  = `{"role":"assistant","content":[{"text":"t"}]}`

	gemUser  = `{"role":"user","parts":[{"text":"u"}]}`
	gemCalls = `{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]}`
	gemA     = `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{}}}]}`
	gemNo    = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
	gemNoA   = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`
	gemText  = `{"role":"model","parts":[{"text":"t"}]}`
)

func TestTroubles(t *testing.T) {
	for _, c := range []struct {
		name     string
		messages []string
		want     []string
	}{
		{"nothing is wrong", []string{lcUser, lcCalls, lcB, lcA, lcText, lcUser, lcText}, nil},
		{"the tools may run yet", []string{lcUser, lcCalls}, []string{"unanswered-call 1 a?", "unanswered-call 1 b?"}},
		{"one of two tools may run yet", []string{lcUser, lcCalls, lcA}, []string{"unanswered-call 1 b?"}},
		{"the user wrote on", []string{lcUser, lcCalls, lcUser}, []string{"unanswered-call 1 a", "unanswered-call 1 b"}},
		{"the model went on with one of two", []string{lcUser, lcCalls, lcB, lcText}, []string{"unanswered-call 1 a"}},
		{"the model wrote twice", []string{lcUser, lcCalls, lcText}, []string{"unanswered-call 1 a", "unanswered-call 1 b", "role-order 2"}},
		{"the result comes late", []string{lcUser, lcCalls, lcA, lcUser, lcB}, []string{"late-result 1 b", "user-after-result 3"}},
		{"a result twice", []string{lcUser, lcCalls, lcA, lcB, lcB, lcText}, []string{"duplicate-result 4 b"}},
		{"a result of another call", []string{lcUser, lcText, lcUser, lcA, lcText}, []string{"orphan-result 3 a"}},
		{"a result before its call", []string{openUser, openA, openCalls, openUser}, []string{"orphan-result 1 a", "unanswered-call 2 a"}},
		{"a system message between is nothing", []string{openUser, openCalls, `{"role":"system","content":"s"}`, openA}, nil},
		{"chat, called twice in a row", []string{openUser, openCalls, openText, openUser}, []string{"unanswered-call 1 a", "role-order 2"}},
		{"an id again", []string{openUser, openCalls, openA, openText, openUser, openCalls, openA}, nil},

		{"items", []string{openUser, itemThought, itemCall, itemCallB, itemA, itemB, itemThought, itemText, openUser}, nil},
		{"a tool of the provider", []string{openUser, itemThought, itemSearch, itemText, openUser}, nil},
		{"a thought at the end", []string{openUser, itemThought}, []string{"reasoning-alone 1?"}},
		{"a thought alone", []string{openUser, itemThought, openUser, itemText}, []string{"reasoning-alone 1"}},
		{"two thoughts alone", []string{openUser, itemThought, itemThought, openUser}, []string{"reasoning-alone 1", "reasoning-alone 2"}},
		{"a thought before a result", []string{openUser, itemCall, itemThought, itemA}, []string{"reasoning-alone 2"}},
		{"two calls, one runs", []string{openUser, itemCall, itemCallB, itemA}, []string{"unanswered-call 2 b?"}},
		{"two calls, one was lost", []string{openUser, itemCall, itemCallB, itemA, itemText}, []string{"unanswered-call 2 b"}},
		{"a call, and words in one answer", []string{openUser, itemCall, itemText, itemA}, nil},
		{"outputs twice and without a call", []string{openUser, itemCall, itemA, itemA, itemB, openUser}, []string{"duplicate-result 3 a", "orphan-result 4 b"}},

		{"Anthropic", []string{useUser, useCalls, useA, useText, useUser}, nil},
		{"Anthropic, written on", []string{useUser, useCalls, useUser}, []string{"unanswered-call 1 a"}},
		{"Anthropic, twice and late", []string{useUser, useCalls, useUser, useA, useA}, []string{"late-result 1 a", "duplicate-result 4 a"}},
		{"Anthropic, a result first", []string{useA, useText}, []string{"orphan-result 0 a"}},
		{"Strands", []string{strUser, strCalls, strA, strText, strUser}, nil},
		{"Strands, written on", []string{strUser, strCalls, strUser, strText}, []string{"unanswered-call 1 a"}},
		{"Gemini", []string{gemUser, gemCalls, gemA, gemText, gemUser}, nil},
		{"Gemini without ids", []string{gemUser, gemNo, gemNoA, gemText}, nil},
		{"Gemini without ids, written on", []string{gemUser, gemNo, gemUser, gemText}, []string{"unanswered-call 1"}},
		{"Gemini, a result without a call", []string{gemUser, gemNoA, gemText}, []string{"orphan-result 1"}},
		{"Genkit asks a person", []string{`{"role":"user","content":[{"text":"u"}]}`, `{"role":"model","content":[{"toolRequest":{"ref":"a","name":"f"},"metadata":{"interrupt":true}}]}`}, nil},

		{"empty texts", []string{openUser, `{"role":"assistant","content":""}`, `{"role":"user","content":"  "}`, `{"role":"assistant","content":[]}`, openUser},
			[]string{"empty-content 1", "empty-content 2", "empty-content 3"}},
		{"an empty text at the end may be written on", []string{openUser, `{"role":"assistant","content":""}`}, []string{"empty-content 1?"}},
		{"an empty text beside a call", []string{useUser, `{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_use","id":"a","name":"f","input":{}}]}`, useA}, []string{"empty-content 1"}},
		{"an empty result is none", []string{lcUser, lcCalls, lcA, `{"type":"tool","tool_call_id":"b","content":""}`, lcText}, nil},
		{"roles", []string{strText, strUser, strUser, strText, strText}, []string{"model-first 0", "role-order 2", "role-order 4"}},
		{"a system message between two of the user", []string{openUser, `{"role":"system","content":"s"}`, openUser}, []string{"role-order 2"}},
		{"a system message first", []string{`{"role":"system","content":"s"}`, openUser, openText}, nil},
		{"the model first, behind a system message", []string{`{"role":"system","content":"s"}`, openText, openUser}, []string{"model-first 1"}},
		{"a message of nobody first", []string{`{"role":"narrator","content":"n"}`, openText, openUser, openUser}, []string{"role-order 3"}},
		{"a call first", []string{strCalls, strA, strText}, []string{"misplaced-call 0"}},
		{"a call behind an answer", []string{gemUser, gemText, gemCalls, gemA, gemText}, []string{"misplaced-call 2"}},
		{"a call behind a result", []string{gemUser, gemCalls, gemA, gemNo, gemNoA, gemText}, nil},
		{"words of the user behind a result", []string{strUser, strCalls, strA, strUser}, []string{"user-after-result 3"}},
		{"words of the user behind those of a tool", []string{openUser, openCalls, openA, openUser}, []string{"user-after-result 3"}},
		{"words of the user behind words with a result", []string{useUser, useCalls, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"text","text":"u"}]}`, useUser}, []string{"role-order 3"}},
		{"a redacted message", []string{openUser, `{"message":{"role":"assistant","content":[{"text":"x"}]},"redact_message":{"role":"assistant","content":[{"text":" "}]}}`, openUser}, []string{"empty-content 1"}},
		{"an empty item", []string{openUser, `{"id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}`, openUser}, []string{"empty-content 1"}},
		{"an item of nothing", []string{openUser, `{"id":"m","type":"message","role":"assistant","content":[]}`, openUser}, nil},
		{"blank words of others", []string{openUser, `{"role":"system","content":""}`, `{"role":"narrator","content":" "}`, openUser}, nil},
		{"many spaces before a word", []string{openUser, `{"role":"assistant","content":"` + strings.Repeat(" ", mostBlanks+1) + `x"}`, openUser}, nil},
		{"a call of nobody, written on", []string{openUser, `{"role":"narrator","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`, openUser}, []string{"unanswered-call 1 a"}},
		{"a call of nobody, late", []string{openUser, `{"role":"narrator","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}`, openUser, strA}, []string{"late-result 1 a"}},
		{"items behind items", []string{openUser, itemText, itemText, openUser, itemCall, itemA, openUser}, nil},
	} {
		got := troublesOf(t, `{"messages":[`+strings.Join(c.messages, ",")+`]}`)
		slices.Sort(got)
		want := slices.Clone(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// The messages of an orchestrator are of many conversations, and in no order.
func TestTroubles_ofARecord(t *testing.T) {
	said := func(node string) string {
		return `"` + node + `":{"result":{"type":"agent_result","message":{"role":"assistant","content":[{"text":""}]}}}`
	}
	if got := troublesOf(t, `{"type":"graph","current_task":"T","node_results":{`+said("a")+`,`+said("b")+`},"execution_order":["a","b"]}`); got != nil {
		t.Errorf("%q", got)
	}
}

// A fault says where the trouble is, and which call it is about.
func TestFault_tellsWhere(t *testing.T) {
	for _, c := range []struct{ messages, path, meaning string }{
		{openUser + `,` + openCalls + `,` + openUser, "/messages/1/tool_calls/0", "the call of f (a) has no result, and the conversation went on"},
		{openUser + `,` + openA + `,` + openText, "/messages/1", "the result of a has no call before it"},
		{openUser + `,` + itemCall + `,` + openUser, "/messages/1", "the call of f (a) has no result, and the conversation went on"},
		{gemUser + `,` + gemNo + `,` + gemUser, "/messages/1/parts/0", "the call of f has no result, and the conversation went on"},
		{useUser + `,{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"text","text":""}]},` + useUser, "/messages/1/content/1", "the message says nothing"},
		{openUser + `,{"role":"assistant","content":""},` + openUser, "/messages/1", "the message says nothing"},
	} {
		of := recordOf(t, `{"messages":[`+c.messages+`]}`)
		list := of.Troubles()
		if len(list) != 1 {
			t.Errorf("%s: %+v", c.messages, list)
			continue
		}
		if f, is := of.Fault("sqlite", list[0]); !is || f.Path != c.path || f.Meaning != c.meaning {
			t.Errorf("%s: %t, %q at %s, want %q at %s", c.messages, is, f.Meaning, f.Path, c.meaning, c.path)
		}
	}
}

// A pause of the framework is no trouble: what waits is answered, or goes on.
func TestTroubles_whatWaits(t *testing.T) {
	for _, state := range []string{
		`{"interrupt_state":{"activated":true,"interrupts":{"i":{"id":"i"}},"context":{"tool_use_message":` + strCalls + `}}}`,
		`{"messages":[` + lcUser + `,` + lcCalls + `],"__interrupt__":[{"value":"ok?"}]}`,
		`{"messages":[` + strUser + `],"interrupt_state":{"activated":true,"interrupts":{"i":{"id":"i"}},"context":{"tool_use_message":` + strCalls + `}}}`,
	} {
		c := recordOf(t, state)
		for _, of := range c.Troubles() {
			if !of.Open || c.Message(of.Message).Held {
				t.Errorf("%s: %+v", state, of)
			}
		}
	}
}

// Each verdict has the source that it was read in, and says what a provider answers where the
// framework sends the trouble.
func TestPractices(t *testing.T) {
	for kind, list := range practices() {
		seen := map[string]bool{}
		for _, p := range list {
			id := p.code + " " + p.of.String()
			if meanings()[p.code] == "" || p.does == "" || p.source == "" || seen[id] {
				t.Errorf("%s: %+v", kind, p)
			}
			seen[id] = true
		}
	}
	refused := map[string]bool{}
	for _, r := range refusals {
		if r.answer == "" || r.source == "" || len(r.codes) == 0 {
			t.Errorf("%+v", r)
		}
		for _, code := range r.codes {
			id := code + " " + r.by.String()
			if meanings()[code] == "" || refused[id] {
				t.Errorf("%s: %+v", code, r)
			}
			refused[id] = true
		}
	}
}

// The verdict on one trouble is that of the framework, with what the providers answer to which it is sent.
func TestFault(t *testing.T) {
	mastraCall := `{"role":"assistant","content":{"format":2,"parts":[{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"a","toolName":"f","args":{}}}]}}`
	mastraUser := `{"role":"user","content":{"format":2,"parts":[{"type":"text","text":"u"}]}}`
	mastraText := `{"role":"assistant","content":{"format":2,"parts":[{"type":"text","text":"t"}]}}`
	mafText := `{"role":"assistant","contents":[{"type":"text","text":"t"}]}`
	mafResult := `{"role":"tool","contents":[{"type":"function_result","call_id":"a","result":"1"}]}`
	mafUser := `{"role":"user","contents":[{"type":"text","text":"u"}]}`
	mafCall := `{"role":"assistant","contents":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`
	for _, c := range []struct {
		kind     string
		messages []string
		// want are the codes, and severity and verdict those of the first.
		want     []string
		severity model.Severity
		verdict  string
	}{
		{"mastra", []string{mastraUser, mastraCall, mastraUser}, []string{UnansweredCall}, model.Mended, "leaves the call out when it asks the model"},
		{"mastra", []string{mastraUser, mastraCall}, nil, 0, ""},
		{"agent-framework", []string{mafUser, mafCall, mafUser}, []string{UnansweredCall}, model.Loses,
			"sends the call without its result: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"},
		{"crewai", []string{openUser, openCalls, openUser, openA}, []string{LateResult}, model.Loses,
			"sends the messages in the order that they have: OpenAI Chat, Anthropic, Gemini and Bedrock answer 400"},
		{"llamaindex", []string{openUser, `{"role":"assistant","content":""}`, openUser}, []string{EmptyContent}, model.Loses,
			"sends the message as it is: Anthropic, Gemini and Bedrock answer 400"},
		{"openai-agents", []string{openUser, itemThought}, []string{ReasoningAlone}, model.Loses, "sends the reasoning with nothing behind it: OpenAI Responses answers 400"},
		{"codex", []string{openUser, itemThought, openUser}, nil, 0, ""},
		{"openai-agents", []string{openUser, itemThought, openUser, openUser}, []string{ReasoningAlone}, model.Loses, "sends the reasoning with nothing behind it: OpenAI Responses answers 400"},
		{"copilot-cli", []string{openUser, openCalls, openUser, openA}, []string{LateResult}, model.Mended,
			`sends "The execution of this tool, or a previous tool was interrupted." as the result of the call, and leaves out the late one`},
		{"crush", []string{openUser, openCalls, openA, openUser}, []string{UserAfterResult}, model.Note, "sends the messages in the order that they have: Mistral answers 400"},
		{"crush", []string{openUser, openCalls, openA, openA, openText}, []string{DuplicateResult}, model.Loses, "sends both results: Anthropic, Gemini and Bedrock answer 400"},
		{"pi", []string{openUser, openText, openUser, openA, openText}, []string{OrphanResult}, model.Loses,
			"sends the result without its call: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"},
		{"opencode", []string{openUser, `{"role":"assistant","content":" "}`, openUser}, nil, 0, ""},
		{"genkit", []string{gemUser, gemText, gemCalls, gemA, gemText}, []string{MisplacedCall}, model.Note, "sends the messages in the order that they have: Gemini answers 400"},
		{"genkit", []string{gemUser, gemUser, gemText, gemText}, nil, 0, ""},
		{"genkit", []string{gemUser, gemCalls, gemUser}, []string{UnansweredCall}, model.Loses, "sends the call without its result: OpenAI Chat, Anthropic and Gemini answer 400"},
		{"mastra", []string{mastraUser, `{"role":"assistant","content":{"format":2,"parts":[{"type":"text","text":""}]}}`, mastraUser}, []string{EmptyContent}, model.Note, "sends a blank text as it is, and leaves out a message without parts: Anthropic answers 400"},
		{"mastra", []string{mastraUser, mastraText, `{"role":"user","content":{"format":2,"parts":[{"type":"text","text":" "}]}}`, mastraText}, nil, 0, ""},
		{"strands", []string{strUser, strUser, strText, strText}, []string{RoleOrder, RoleOrder}, model.Note, "sends the messages in the order that they have: some models of Bedrock answer 400"},
		{"strands", []string{strText, strUser}, []string{ModelFirst}, model.Note, "sends the messages in the order that they have: Bedrock answers 400"},
		{"strands", []string{strUser, strCalls, strA, strUser}, []string{UserAfterResult}, model.Note, "sends the messages in the order that they have: Mistral answers 400"},
		{"strands", []string{strUser, `{"role":"assistant","content":[{"text":""}]}`, strUser}, []string{EmptyContent}, model.Mended, `sends "[blank text]" in place of the blank one, or leaves it out beside a call`},
		{"strands", []string{strUser, strText, `{"role":"user","content":[{"text":" "}]}`, strText}, []string{EmptyContent}, model.Loses, "sends the message as it is: Anthropic, Gemini and Bedrock answer 400"},
		{"strands", []string{strUser, strCalls, strUser}, nil, 0, ""}, // which its kind tells by itself
		{"langgraph", []string{lcUser, lcUser, lcText, lcText}, nil, 0, ""},
		{"langgraph", []string{lcUser, lcCalls, lcB, lcUser}, []string{UnansweredCall, UserAfterResult}, model.Loses,
			`create_react_agent raises a ValueError at every further run; create_agent sends it as it is: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400; ` +
				`graph.update_state(CONFIG, {"messages": [ToolMessage("…", tool_call_id="a")]}) adds the result, where CONFIG names the checkpoint of the call`},
		{"langgraph", []string{lcUser, lcText, lcCalls, lcA, lcB}, []string{MisplacedCall}, model.Note, "sends the messages in the order that they have: Gemini answers 400"},
		{"langgraph", []string{lcText, lcUser}, []string{ModelFirst}, model.Note, "sends the messages in the order that they have: Bedrock answers 400"},
		{"crewai", []string{openText, openUser, openUser}, []string{RoleOrder}, model.Note, "sends the messages in the order that they have: some models of Bedrock answer 400"},
		{"agent-framework", []string{mafUser, mafText, mafCall, mafResult, mafText}, []string{MisplacedCall}, model.Note,
			"sends the messages in the order that they have: Gemini and some models of Bedrock answer 400"},
		{"sqlite", []string{openUser, openUser, openCalls, openUser}, []string{UnansweredCall}, model.Loses,
			"a program that goes on from it sends the call without its result: OpenAI Chat, OpenAI Responses, Anthropic, Gemini and Bedrock answer 400"},
		{"unknown", []string{openUser, openCalls, openUser}, nil, 0, ""},
	} {
		of := recordOf(t, `{"messages":[`+strings.Join(c.messages, ",")+`]}`)
		var found []model.Fault
		for _, one := range of.Troubles() {
			if f, is := of.Fault(c.kind, one); is {
				found = append(found, f)
			}
		}
		codes := []string(nil)
		for _, f := range found {
			codes = append(codes, f.Code)
		}
		if !slices.Equal(codes, c.want) || len(found) > 0 && (found[0].Severity != c.severity || found[0].Verdict != c.verdict) {
			t.Errorf("%s: %+v, want %q, %s: %s", c.kind, found, c.want, c.severity, c.verdict)
		}
	}
}
