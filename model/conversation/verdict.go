package conversation

import (
	"fmt"
	"slices"
	"strings"
	"sync"

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
	Mistral
)

var providerNames = [...]string{"OpenAI Chat", "OpenAI Responses", "Anthropic", "Gemini", "Bedrock", "Mistral"}

func (p Provider) String() string { return providerNames[p] }

// everyone are the providers for which most frameworks have a client.
var everyone = []Provider{OpenAIChat, OpenAIResponses, Anthropic, GeminiAPI, Bedrock, Mistral}

// allExcept returns the providers of everyone without some.
func allExcept(without ...Provider) []Provider {
	return slices.DeleteFunc(slices.Clone(everyone), func(p Provider) bool { return slices.Contains(without, p) })
}

// refusal is an error of status 400 of an API.
type refusal struct {
	by Provider
	// answer is how the API begins its message.
	answer string
	// source is a public thread that has the message.
	source string
	// some says that only some models of the provider refuse it.
	some bool
	// codes are the troubles that it answers so.
	codes []string
}

// refusals are the troubles that APIs are known to refuse, by their public messages, in the order of the providers.
var refusals = []refusal{
	{by: OpenAIChat, answer: "An assistant message with 'tool_calls' must be followed by tool messages", source: "langchain-ai/langgraph #4289",
		codes: []string{UnansweredCall, LateResult}},
	{by: OpenAIChat, answer: "messages with role 'tool' must be a response to a preceding message with 'tool_calls'", source: "langchain-ai/langgraph #4289",
		codes: []string{OrphanResult}},
	{by: OpenAIResponses, answer: "No tool output found for function call", source: "router-for-me/CLIProxyAPI #2368",
		codes: []string{UnansweredCall}},
	{by: OpenAIResponses, answer: "No tool call found for function call output", source: "continuedev/continue #10092",
		codes: []string{OrphanResult}},
	{by: OpenAIResponses, answer: "Item of type 'reasoning' was provided without its required following item", source: "openai/openai-agents-js #929",
		codes: []string{ReasoningAlone}},
	{by: Anthropic, answer: "tool_use ids were found without tool_result blocks immediately after", source: "anthropics/claude-code #6575",
		codes: []string{UnansweredCall, LateResult}},
	{by: Anthropic, answer: "unexpected tool_use_id found in tool_result blocks", source: "anthropics/claude-code #18947",
		codes: []string{OrphanResult}},
	{by: Anthropic, answer: "each tool_use must have a single result", source: "Kilo-Org/kilocode #3772",
		codes: []string{DuplicateResult}},
	{by: Anthropic, answer: "text content blocks must be non-empty", source: "earendil-works/pi #4975",
		codes: []string{EmptyContent}},
	{by: GeminiAPI, answer: "ensure that the number of function response parts is equal to the number of function call parts", source: "google-gemini/gemini-cli #5443",
		codes: []string{UnansweredCall, DuplicateResult}},
	{by: GeminiAPI, answer: "ensure that function response turn comes immediately after a function call turn", source: "google-gemini/gemini-cli #5443",
		codes: []string{LateResult, OrphanResult}},
	{by: GeminiAPI, answer: "contents.parts must not be empty", source: "google/adk-python #4740",
		codes: []string{EmptyContent}},
	{by: GeminiAPI, answer: "ensure that function call turn comes immediately after a user turn", source: "google-gemini/gemini-cli #11814",
		codes: []string{MisplacedCall}},
	{by: Bedrock, answer: "Expected toolResult blocks", source: "strands-agents/sdk-python #859",
		codes: []string{UnansweredCall, LateResult}},
	{by: Bedrock, answer: "The number of toolResult blocks exceeds the number of toolUse blocks", source: "strands-agents/sdk-python #3651",
		codes: []string{OrphanResult, DuplicateResult}},
	{by: Bedrock, answer: "The text field in the ContentBlock object is blank", source: "earendil-works/pi #4975",
		codes: []string{EmptyContent}},
	{by: Bedrock, answer: "A conversation must alternate between user and assistant roles", source: "langchain-ai/langchain-aws #130", some: true,
		codes: []string{RoleOrder, MisplacedCall}},
	{by: Bedrock, answer: "A conversation must start with a user message", source: "langgenius/dify #12340",
		codes: []string{ModelFirst}},
	{by: Bedrock, answer: "A conversation must alternate between user and assistant roles", source: "strands-agents/harness-sdk #1223", some: true,
		codes: []string{UserAfterResult}},
	{by: Mistral, answer: "Unexpected role 'user' after role 'tool'", source: "onyx-dot-app/onyx #6458",
		codes: []string{UserAfterResult}},
}

// practice describes what one framework does with a trouble when it goes on with a session.
type practice struct {
	code string
	// of is the role whose message has the trouble; UnknownRole stands for anyone's.
	of Role
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

// inOrder describes a framework that keeps the order of messages.
const inOrder = "sends the messages in the order that they have"

// asItIs returns the practices of a framework that sends the messages as they are.
func asItIs(source string, to ...Provider) []practice {
	return []practice{
		{code: UnansweredCall, to: to, source: source, does: "sends the call without its result"},
		{code: LateResult, to: to, source: source, does: inOrder},
		{code: OrphanResult, to: to, source: source, does: "sends the result without its call"},
		{code: DuplicateResult, to: to, source: source, does: "sends both results"},
		{code: EmptyContent, to: to, source: source, does: "sends the message as it is"},
		{code: RoleOrder, to: to, source: source, does: inOrder},
		{code: ModelFirst, to: to, source: source, does: inOrder},
		{code: MisplacedCall, to: to, source: source, does: inOrder},
		{code: UserAfterResult, to: to, source: source, does: inOrder},
	}
}

// withoutTroubles returns a list of practices without those with some troubles.
func withoutTroubles(list []practice, codes ...string) []practice {
	return slices.DeleteFunc(list, func(p practice) bool { return slices.Contains(codes, p.code) })
}

// replacePractices replaces the practices of a list that have the codes of others by these.
func replacePractices(list []practice, others ...practice) []practice {
	for _, p := range others {
		list = withoutTroubles(list, p.code)
	}
	return append(list, others...)
}

// ofAProgram returns the practices of kinds that many programs write: one may send the messages as they are.
// What only some models refuse is not told there.
func ofAProgram() []practice {
	list := withoutTroubles(asItIs("hindcast/agent: a program is handed the state that it left", OpenAIChat, OpenAIResponses, Anthropic, GeminiAPI, Bedrock),
		RoleOrder, ModelFirst, MisplacedCall, UserAfterResult)
	for i := range list {
		list[i].does = "a program that goes on from it " + list[i].does
	}
	return list
}

// practices maps the name of a kind of store to the practices of its framework. A trouble without one is
// not told there: a blank message that a framework leaves out, for one, loses nothing.
var practices = sync.OnceValue(func() map[string][]practice {
	return map[string][]practice{
		"langgraph": replacePractices(asItIs("langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24", everyone...),
			practice{code: UnansweredCall, severity: model.Loses, to: everyone, source: "langgraph.prebuilt.chat_agent_executor._validate_chat_history 1.2.24",
				does: "create_react_agent raises a ValueError at every further run; create_agent sends it as it is",
				mend: `graph.update_state(CONFIG, {"messages": [ToolMessage("…", tool_call_id=%s)]}) adds the result, where CONFIG names the checkpoint of the call`},
			practice{code: LateResult, to: allExcept(GeminiAPI), source: "langchain_google_genai.chat_models._parse_chat_history 4.4.3 moves it",
				does: inOrder},
			practice{code: OrphanResult, to: allExcept(GeminiAPI), source: "langchain_google_genai.chat_models._parse_chat_history 4.4.3 leaves it out",
				does: "sends the result without its call"},
			practice{code: RoleOrder, to: allExcept(Bedrock), source: "langchain_aws.chat_models.bedrock_converse._messages_to_bedrock 1.9.1 merges them",
				does: inOrder},
			practice{code: MisplacedCall, to: allExcept(Bedrock), source: "langchain_google_genai.chat_models._parse_chat_history 4.4.3",
				does: inOrder},
			practice{code: UserAfterResult, to: allExcept(Bedrock), source: "langchain_mistralai.chat_models._create_message_dicts 1.1.6",
				does: inOrder},
		),
		"deepagents": replacePractices(asItIs("deepagents.middleware.patch_tool_calls.PatchToolCallsMiddleware 0.7.30", everyone...),
			practice{code: UnansweredCall, severity: model.Mended, source: "deepagents.middleware.patch_tool_calls.PatchToolCallsMiddleware 0.7.30",
				does: "adds an error as the result of the call"}),
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
		// Several agents may have said the messages, and each has a way of its own to send those of others.
		"agent-framework": withoutTroubles(asItIs("agent_framework._tools._remove_unanswered_approval_batches_from_model_input 1.23.0; agent_framework_bedrock._chat_client 1.0.0b261022", everyone...),
			RoleOrder),
		"crewai": replacePractices(asItIs("crewai.llms.providers._format_messages_for_*, a run of 1.15.30", everyone...),
			practice{code: ModelFirst, to: allExcept(Bedrock), source: "crewai.llms.providers.bedrock.completion._format_messages_for_converse 1.15.30",
				does: "puts a prompt before the first answer"}),
		"llamaindex": replacePractices(asItIs("llama_index.core.agent.workflow.FunctionAgent, a run of 0.14.25", everyone...),
			practice{code: RoleOrder, to: allExcept(Bedrock), source: "llama_index.llms.bedrock_converse.utils 0.15.5 merges them",
				does: inOrder},
			practice{code: MisplacedCall, to: allExcept(GeminiAPI, Bedrock), source: "llama_index.llms.google_genai.utils.merge_neighboring_same_role_messages 0.11.3",
				does: inOrder},
			practice{code: UserAfterResult, to: allExcept(Bedrock), source: "llama_index.llms.mistralai.base.to_mistral_chatmessage 0.11.0",
				does: inOrder},
		),
		"genkit": replacePractices(asItIs("genkit.Generate, runs of Go 1.13.1 and JavaScript 1.42.0", OpenAIChat, Anthropic, GeminiAPI),
			practice{code: EmptyContent, to: []Provider{OpenAIChat, Anthropic}, source: "plugins/googlegenai/gemini.go toGeminiContents 1.13.1 leaves it out", does: "sends the message as it is"}),
		"mastra": {
			{code: UnansweredCall, severity: model.Mended, source: "MessageList.get.all.aiV5.prompt, sanitizeV5UIMessages, a run of @mastra/core 1.71.0",
				does: "leaves the call out when it asks the model"},
			{code: DuplicateResult, to: everyone, source: "MessageList.get.all.aiV5.prompt, a run of @mastra/core 1.71.0", does: "sends the call twice, with both results"},
			{code: EmptyContent, of: Assistant, to: allExcept(GeminiAPI, Bedrock), source: "sanitizeV5UIMessages, a run of @mastra/core 1.71.0",
				does: "sends a blank text as it is, and leaves out a message without parts"},
			{code: UserAfterResult, to: allExcept(Bedrock), source: "MessageList.get.all.aiV5.prompt, a run of @mastra/core 1.71.0",
				does: inOrder},
		},
		"strands":            strandsPython(),
		"strands-snapshots":  replacePractices(asItIs("strands.agent.agent.Agent.load_snapshot, runs of 1.62.0", everyone...), strandsPython()...),
		"strands-typescript": asItIs("@strands-agents/sdk models/bedrock _formatMessages, a run of 1.19.0", everyone...),
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
		"copilot-cli": {
			{code: UnansweredCall, severity: model.Mended, source: "a run of the program 1.0.102",
				does: `sends "The execution of this tool, or a previous tool was interrupted." as the result of the call`},
			{code: LateResult, severity: model.Mended, source: "a run of the program 1.0.102",
				does: `sends "The execution of this tool, or a previous tool was interrupted." as the result of the call, and leaves out the late one`},
			{code: OrphanResult, severity: model.Mended, source: "a run of the program 1.0.102", does: "leaves the result out when it asks the model"},
			{code: DuplicateResult, severity: model.Mended, source: "a run of the program 1.0.102", does: "leaves the second result out when it asks the model"},
		},
		"crush": {
			{code: UnansweredCall, severity: model.Mended, source: "charmbracelet/crush internal/agent/agent.go syntheticToolResultsForOrphanedCalls 37f36e9",
				does: `sends "tool call was interrupted and did not produce a result, …" as the result of the call`},
			{code: LateResult, to: everyone, source: "charmbracelet/crush internal/agent/agent.go preparePrompt 37f36e9", does: inOrder},
			{code: OrphanResult, severity: model.Mended, source: "charmbracelet/crush internal/agent/agent.go filterOrphanedToolResults 37f36e9",
				does: "leaves the result out when it asks the model"},
			{code: DuplicateResult, to: everyone, source: "charmbracelet/crush internal/agent/agent.go filterOrphanedToolResults 37f36e9", does: "sends both results"},
			{code: UserAfterResult, to: allExcept(Bedrock), source: "charmbracelet/crush #279", does: inOrder},
		},
		"gemini-cli": {
			{code: UnansweredCall, severity: model.Mended, source: "pairToolsAndEnforceSignatures of the program 0.61.0", does: "sends an error as the result of the call"},
			{code: OrphanResult, severity: model.Mended, source: "pairToolsAndEnforceSignatures of the program 0.61.0", does: "sends a call without arguments before the result"},
		},
		"qwen": {
			{code: UnansweredCall, severity: model.Mended, source: "repairOrphanedToolUseTurns of the program 0.24.4", does: "sends an error as the result of the call"},
			{code: LateResult, severity: model.Mended, source: "repairOrphanedToolUseTurns of the program 0.24.4", does: "sends the result right behind its call"},
			{code: DuplicateResult, severity: model.Mended, source: "repairOrphanedToolUseTurns of the program 0.24.4", does: "leaves the second result out when it asks the model"},
		},
		"kimi": {
			{code: UnansweredCall, severity: model.Mended, source: "loopEventFold of the program 2.1.0", does: "sends an error as the result of the call"},
			{code: OrphanResult, severity: model.Mended, source: "loopEventFold of the program 2.1.0", does: "leaves the result out when it asks the model"},
			{code: DuplicateResult, severity: model.Mended, source: "loopEventFold of the program 2.1.0", does: "leaves the second result out when it asks the model"},
		},
		"pi": {
			{code: UnansweredCall, severity: model.Mended, source: "earendil-works/pi packages/ai/src/api/transform-messages.ts 1.6.0",
				does: `sends "No result provided" as the result of the call`},
			{code: LateResult, to: everyone, source: "earendil-works/pi packages/ai/src/api/transform-messages.ts 1.6.0",
				does: `sends "No result provided" as the result of the call, and the late one`},
			{code: OrphanResult, to: everyone, source: "earendil-works/pi packages/ai/src/api/transform-messages.ts 1.6.0", does: "sends the result without its call"},
			{code: DuplicateResult, to: everyone, source: "earendil-works/pi packages/ai/src/api/transform-messages.ts 1.6.0", does: "sends both results"},
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
		"sqlite": ofAProgram(), "postgres": ofAProgram(), "jsonl": ofAProgram(), "mapped": ofAProgram(), "reflection": ofAProgram(),
	}
})

// strandsPython returns the practices of Strands for Python. Its kinds check calls and results themselves.
func strandsPython() []practice {
	return []practice{
		{code: EmptyContent, of: Assistant, severity: model.Mended, source: "strands.event_loop.streaming._normalize_messages 1.62.0",
			does: `sends "[blank text]" in place of the blank one, or leaves it out beside a call`},
		{code: EmptyContent, of: User, to: everyone, source: "strands.event_loop.streaming._normalize_messages 1.62.0", does: "sends the message as it is"},
		{code: RoleOrder, to: everyone, source: "strands.models.bedrock.BedrockModel._format_bedrock_messages, a run of 1.62.0", does: inOrder},
		{code: ModelFirst, to: everyone, source: "strands.models.bedrock.BedrockModel._format_bedrock_messages, a run of 1.62.0; strands-agents/sdk-typescript #727",
			does: inOrder},
		{code: MisplacedCall, to: everyone, source: "strands.models.gemini.GeminiModel._format_request_content 1.62.0", does: inOrder},
		{code: UserAfterResult, to: allExcept(Bedrock), source: "strands.models.mistral.MistralModel._format_request_messages 1.62.0",
			does: inOrder},
	}
}

// meanings say what is wrong. %s is the tool with the id of the call.
var meanings = sync.OnceValue(func() map[string]string {
	return map[string]string{
		UnansweredCall:  "the call of %s has no result, and the conversation went on",
		LateResult:      "the result of the call of %s stands behind other messages",
		OrphanResult:    "the result of %s has no call before it",
		DuplicateResult: "the call of %s has a result already",
		ReasoningAlone:  "a reasoning item has nothing behind it that the model answered",
		EmptyContent:    "the message says nothing",
		RoleOrder:       "the message has the role of the one before it",
		ModelFirst:      "the model speaks before the user",
		MisplacedCall:   "the model calls a tool where neither the user nor a tool spoke before it",
		UserAfterResult: "the user speaks behind a result to which the model has not answered",
	}
})

// Judge returns how the framework of a kind handles a trouble in a message of a role: the severity, and a
// verdict on it and the providers. It returns false if all of them take it.
func Judge(kind, code string, of Role) (severity model.Severity, verdict string, is bool) {
	p := practiceOf(kind, code, of)
	if p == nil {
		return 0, "", false
	}
	answers, severity := answersOf(code, p.to)
	switch {
	case answers != "":
		return severity, p.does + ": " + answers, true
	case p.severity < model.Mended:
		return 0, "", false // every provider takes it
	}
	return p.severity, p.does, true
}

// practiceOf returns the practice of a kind with a trouble, or nil.
func practiceOf(kind, code string, of Role) *practice {
	list := practices()[kind]
	i := slices.IndexFunc(list, func(p practice) bool { return p.code == code && (p.of == UnknownRole || p.of == of) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Fault returns the fault for a trouble in a store of a kind, without the file. It returns false if the
// kind's framework and every provider that it asks take it, or if a run may still go on with it.
func (c *Conversation) Fault(kind string, t Trouble) (f model.Fault, is bool) {
	role := c.messages[t.Message].Role
	severity, verdict, is := Judge(kind, t.Code, role)
	p := practiceOf(kind, t.Code, role)
	if !is || t.Open && !p.whole {
		return f, false
	}
	f = model.Fault{Code: t.Code, Severity: severity, Path: c.tape.Pointer(c.messages[t.Message].Node), Meaning: c.describeTrouble(t), Verdict: verdict}
	if p.mend != "" {
		f.Verdict += "; " + fmt.Sprintf(p.mend, jsontape.AppendQuoted(nil, c.CallText(t)))
	}
	if t.Block >= 0 {
		f.Path = c.tape.Pointer(c.blocks[t.Block].Node)
	}
	return f, true
}

// Meaning describes the trouble of a code in a sentence, if it concerns no call.
func Meaning(code string) string { return meanings()[code] }

// describeTrouble describes the trouble in a sentence.
func (c *Conversation) describeTrouble(t Trouble) string {
	text := meanings()[t.Code]
	if !strings.Contains(text, "%s") {
		return text
	}
	b := &c.blocks[t.Block]
	tool, id := OneLine(c.ToolName(b)), OneLine(c.CallText(t))
	if id != "" && id != tool {
		tool += " (" + id + ")"
	}
	return fmt.Sprintf(text, tool)
}

// answersOf says which of the providers to which a trouble is sent answer it with an error, and how bad
// that is: where most of them take it, that is no fault of the session. "" says that all take it.
func answersOf(code string, to []Provider) (answers string, severity model.Severity) {
	var names []string
	severity = model.Note
	for _, r := range refusals {
		switch {
		case !slices.Contains(r.codes, code), !slices.Contains(to, r.by):
		case r.some:
			names = append(names, "some models of "+r.by.String())
		default:
			names = append(names, r.by.String())
		}
	}
	if 2*len(names) >= len(to) {
		severity = model.Loses
	}
	switch n := len(names); {
	case n == 0:
		return "", severity
	case n == 1 && !strings.HasPrefix(names[0], "some"):
		return names[0] + " answers 400", severity
	case n == 1:
		return names[0] + " answer 400", severity
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " answer 400", severity
	}
}
