package conversation

import (
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Provider is an API of models that refuses some conversations.
type Provider uint8

// The providers.
const (
	OpenAIChat Provider = iota
	OpenAIResponses
	Anthropic
	GeminiAPI
	Bedrock
)

var providerNames = [...]string{"OpenAI Chat", "OpenAI Responses", "Anthropic", "Gemini", "Bedrock"}

func (p Provider) String() string { return providerNames[p] }

// everyone are the providers for which most frameworks have a client.
var everyone = []Provider{OpenAIChat, OpenAIResponses, Anthropic, GeminiAPI, Bedrock}

// refusal is a trouble that an API answers with an error of status 400.
type refusal struct {
	by Provider
	// answer is how the API begins its message.
	answer string
	// source is a public thread that has the message.
	source string
}

// refusals are the troubles that APIs are known to refuse, by their public messages.
var refusals = map[string][]refusal{
	UnansweredCall: {
		{OpenAIChat, "An assistant message with 'tool_calls' must be followed by tool messages", "langchain-ai/langgraph #4289"},
		{OpenAIResponses, "No tool output found for function call", "router-for-me/CLIProxyAPI #2368"},
		{Anthropic, "tool_use ids were found without tool_result blocks immediately after", "anthropics/claude-code #6575"},
		{GeminiAPI, "ensure that the number of function response parts is equal to the number of function call parts", "google-gemini/gemini-cli #5443"},
		{Bedrock, "Expected toolResult blocks", "strands-agents/sdk-python #859"},
	},
	LateResult: {
		{OpenAIChat, "An assistant message with 'tool_calls' must be followed by tool messages", "langchain-ai/langgraph #4289"},
		{Anthropic, "tool_use ids were found without tool_result blocks immediately after", "anthropics/claude-code #6575"},
		{GeminiAPI, "ensure that function response turn comes immediately after a function call turn", "google-gemini/gemini-cli #5443"},
		{Bedrock, "Expected toolResult blocks", "strands-agents/sdk-python #859"},
	},
	OrphanResult: {
		{OpenAIChat, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'", "langchain-ai/langgraph #4289"},
		{OpenAIResponses, "No tool call found for function call output", "continuedev/continue #10092"},
		{Anthropic, "unexpected tool_use_id found in tool_result blocks", "anthropics/claude-code #18947"},
		{GeminiAPI, "ensure that function response turn comes immediately after a function call turn", "google-gemini/gemini-cli #5443"},
		{Bedrock, "The number of toolResult blocks exceeds the number of toolUse blocks", "strands-agents/sdk-python #3651"},
	},
	DuplicateResult: {
		{Anthropic, "each tool_use must have a single result", "Kilo-Org/kilocode #3772"},
		{GeminiAPI, "ensure that the number of function response parts is equal to the number of function call parts", "google-gemini/gemini-cli #5443"},
		{Bedrock, "The number of toolResult blocks exceeds the number of toolUse blocks", "strands-agents/sdk-python #3651"},
	},
	ReasoningAlone: {
		{OpenAIResponses, "Item of type 'reasoning' was provided without its required following item", "openai/openai-agents-js #929"},
	},
	EmptyContent: {
		{Anthropic, "text content blocks must be non-empty", "earendil-works/pi #4975"},
		{GeminiAPI, "contents.parts must not be empty", "google/adk-python #4740"},
		{Bedrock, "The text field in the ContentBlock object is blank", "earendil-works/pi #4975"},
	},
	RoleOrder: {
		{Bedrock, "A conversation must alternate between user and assistant roles", "langchain-ai/langchainjs #6724"},
	},
}

// practice is what one framework does with one trouble when it goes on with a session.
type practice struct {
	code string
	// does says it in words that follow the framework's name.
	does string
	// severity is how bad that is where no provider sees it.
	severity model.Severity
	// to are the providers to which it sends the trouble; nil where it sends none.
	to []Provider
	// mend is how a program mends it, with %s for the id of the call; "" where no call does.
	mend string
	// whole says that the framework writes what the model answered at once: then it is a trouble
	// at the end of a session, too.
	whole bool
	// source is where that is to be read.
	source string
}

// asItIs are the practices of a framework that sends messages as they are.
func asItIs(source string, to ...Provider) []practice {
	return []practice{
		{code: UnansweredCall, to: to, source: source, does: "sends the call without its result"},
		{code: LateResult, to: to, source: source, does: "sends the messages in the order that they have"},
		{code: OrphanResult, to: to, source: source, does: "sends the result without its call"},
		{code: DuplicateResult, to: to, source: source, does: "sends both results"},
		{code: EmptyContent, to: to, source: source, does: "sends the message as it is"},
	}
}

// practices are those of the frameworks, by the names of their kinds of store. A trouble without
// one is not told there.
var practices = map[string][]practice{
	"langgraph": {
		{code: UnansweredCall, severity: model.Loses, to: everyone, source: "langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24",
			does: "create_react_agent raises a ValueError at every further run; create_agent sends it as it is",
			mend: `graph.update_state(CONFIG, {"messages": [ToolMessage("…", tool_call_id=%s)]}) adds the result, where CONFIG names the checkpoint of the call`},
		{code: LateResult, to: everyone, source: "langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24",
			does: "sends the messages in the order that they have"},
		{code: OrphanResult, to: everyone, source: "langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24",
			does: "sends the result without its call"},
		{code: DuplicateResult, to: everyone, source: "langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24",
			does: "sends both results"},
		{code: EmptyContent, to: everyone, source: "langchain_core.messages 1.8.4", does: "sends the message as it is"},
	},
	"openai-agents": {
		{code: UnansweredCall, severity: model.Mended, source: "agents.run_internal.items.drop_orphan_function_calls 0.24.0",
			does: "leaves the call out when it asks the model, and the reasoning before it"},
		{code: OrphanResult, to: []Provider{OpenAIChat, OpenAIResponses}, source: "agents.run_internal.items.drop_orphan_function_calls 0.24.0",
			does: "sends the output without its call"},
		{code: DuplicateResult, severity: model.Mended, source: "agents.run_internal.items, a run of 0.24.0", does: "sends one output of the call"},
		{code: ReasoningAlone, to: []Provider{OpenAIResponses}, whole: true, source: "agents.run_internal.items.drop_orphan_function_calls 0.24.0",
			does: "sends the reasoning with nothing behind it"},
	},
	"adk": {
		{code: UnansweredCall, severity: model.Mended, source: "google.adk.flows.llm_flows.tools._rearranger.drop_orphaned_function_calls 2.13.0; google/adk-python #7236",
			does: "leaves the call out when it asks the model, and compacts no event from it on"},
		{code: OrphanResult, severity: model.Mended, source: "google.adk.flows.llm_flows.tools._rearranger.drop_orphaned_function_responses 2.13.0",
			does: "leaves the result out when it asks the model"},
	},
	"agent-framework": asItIs("agent_framework._tools._remove_unanswered_approval_batches_from_model_input 1.23.0", everyone...),
	"crewai":          asItIs("crewai.llm.LLM._format_messages_for_provider 1.15.30", everyone...),
	"llamaindex":      asItIs("llama_index.core.memory", everyone...),
	"mastra": {
		{code: UnansweredCall, severity: model.Mended, source: "mastra-ai/mastra packages/core/src/agent/message-list/conversion/output-converter.ts sanitizeV5UIMessages",
			does: "leaves the call out when it asks the model"},
	},
	"claude-code": {
		{code: UnansweredCall, severity: model.Mended, source: "ensureToolResultPairing of the program 2.1.332", does: "sends an error as the result of the call"},
		{code: LateResult, severity: model.Mended, source: "ensureToolResultPairing of the program 2.1.332",
			does: "sends an error as the result of the call, and leaves out the late one"},
		{code: OrphanResult, severity: model.Mended, source: "ensureToolResultPairing of the program 2.1.332", does: "leaves the result out when it asks the model"},
		{code: DuplicateResult, severity: model.Mended, source: "ensureToolResultPairing of the program 2.1.332", does: "leaves the second result out when it asks the model"},
	},
	"codex": {
		{code: UnansweredCall, severity: model.Mended, source: "openai/codex core/src/context_manager/normalize.rs ensure_call_outputs_present",
			does: `sends "aborted" as the output of the call`},
		{code: OrphanResult, severity: model.Mended, source: "openai/codex core/src/context_manager/normalize.rs remove_orphan_outputs",
			does: "leaves the output out when it asks the model"},
	},
	"gemini-cli": {
		{code: UnansweredCall, severity: model.Mended, source: "pairToolsAndEnforceSignatures of the program 0.61.0", does: "sends an error as the result of the call"},
		{code: OrphanResult, severity: model.Mended, source: "pairToolsAndEnforceSignatures of the program 0.61.0", does: "sends a call without arguments before the result"},
	},
	"pi": {
		{code: UnansweredCall, severity: model.Mended, source: "earendil-works/pi packages/ai/src/api/transform-messages.ts 1.6.0",
			does: `sends "No result provided" as the result of the call`},
	},
	"opencode": {
		{code: UnansweredCall, severity: model.Mended, source: "packages/opencode/src/session/message-v2.ts 1.18.33",
			does: `sends "[Tool execution was interrupted]" as the result of the call`},
	},
	"openhands": {
		{code: UnansweredCall, severity: model.Mended, source: "openhands.sdk.context.view.properties.tool_call_matching", does: "leaves the call out when it asks the model"},
		{code: OrphanResult, severity: model.Mended, source: "openhands.sdk.context.view.properties.tool_call_matching", does: "leaves the result out when it asks the model"},
		{code: DuplicateResult, severity: model.Mended, source: "openhands.sdk.context.view.properties.observation_uniqueness", does: "leaves the second result out when it asks the model"},
	},
}

// meanings say what is wrong. %s is the tool with the id of the call.
var meanings = map[string]string{
	UnansweredCall:  "the call of %s has no result, and the conversation went on",
	LateResult:      "the result of the call of %s stands behind other messages",
	OrphanResult:    "the result of %s has no call before it",
	DuplicateResult: "the call of %s has a result already",
	ReasoningAlone:  "a reasoning item has nothing behind it that the model answered",
	EmptyContent:    "the message says nothing",
	RoleOrder:       "the message has the role of the one before it",
}

// Fault returns what is told of a trouble in a store of a kind, without the file; false where the
// kind's framework and every provider that it asks take it, or where a run may still go on with it.
func (c *Conversation) Fault(kind string, t Trouble) (f model.Fault, is bool) {
	i := slices.IndexFunc(practices[kind], func(p practice) bool { return p.code == t.Code })
	if i < 0 || t.Open && !practices[kind][i].whole {
		return f, false
	}
	p := &practices[kind][i]
	f = model.Fault{Code: t.Code, Severity: p.severity, Path: c.tape.Pointer(c.messages[t.Message].Node), Meaning: c.meaning(t), Verdict: p.does}
	if refused := refusedBy(t.Code, p.to); refused != "" {
		f.Severity, f.Verdict = max(p.severity, model.Loses), p.does+": "+refused
	} else if p.to != nil && p.severity < model.Mended {
		return f, false // every provider takes it
	}
	if p.mend != "" {
		f.Verdict += "; " + fmt.Sprintf(p.mend, jsontape.AppendQuoted(nil, c.CallText(t)))
	}
	if t.Block >= 0 {
		f.Path = c.tape.Pointer(c.blocks[t.Block].Node)
	}
	return f, true
}

// meaning says what is wrong in a sentence.
func (c *Conversation) meaning(t Trouble) string {
	text := meanings[t.Code]
	if t.Block < 0 || !strings.Contains(text, "%s") {
		return text
	}
	b := &c.blocks[t.Block]
	tool, id := OneLine(c.ToolName(b)), OneLine(c.CallText(t))
	if id != "" && id != tool {
		tool += " (" + id + ")"
	}
	return fmt.Sprintf(text, tool)
}

// refusedBy says which of some providers answer a trouble with an error; "" for none.
func refusedBy(code string, to []Provider) string {
	var names []string
	for _, r := range refusals[code] {
		if slices.Contains(to, r.by) {
			names = append(names, r.by.String())
		}
	}
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0] + " answers 400"
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " answer 400"
	}
}
