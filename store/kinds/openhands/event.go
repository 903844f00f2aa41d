package openhands

import (
	"encoding/json"
	"strings"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Kinds of events.
const (
	kindSystem     = "SystemPromptEvent"
	kindMessage    = "MessageEvent"
	kindAction     = "ActionEvent"
	kindResult     = "ObservationEvent"
	kindError      = "AgentErrorEvent"
	kindReject     = "UserRejectObservation"
	kindCondense   = "Condensation"
	kindSummary    = "CondensationSummaryEvent"
	kindOther      = "ACPToolCallEvent" // a tool call of another agent, which OpenHands runs
	kindState      = "ConversationStateUpdateEvent"
	kindFailure    = "ConversationErrorEvent"
	explicitRoot   = "__root__"
	summarySuffix  = "-summary"
	withoutSummary = -1
)

// says are the kinds of events that are messages, with the role that those have which do not
// say so themselves.
var says = map[string]chat.Role{
	kindSystem: chat.System, kindMessage: chat.User, kindAction: chat.Assistant, kindResult: chat.Tool, kindError: chat.Tool,
	kindReject: chat.Tool, kindCondense: chat.User, kindSummary: chat.User, kindOther: chat.Tool,
}

// silent are the kinds of events that the model does not read.
var silent = map[string]bool{
	kindState: true, kindFailure: true, "PauseEvent": true, "InterruptEvent": true, "CondensationRequest": true, "HookExecutionEvent": true,
	"TokenEvent": true, "StreamingDeltaEvent": true, "LLMCompletionLogEvent": true, "SecurityAnalysisEvent": true,
}

// aside are the kinds of events that are not part of the tree: nothing goes on from them.
var aside = map[string]bool{kindState: true, kindFailure: true}

// record holds the parts of an event that are kept. It is cached as JSON.
type record struct {
	Kind, Parent string
	// Response is the id of the model's answer.
	Response string
	// Text is the error of a failure, and Damage why the file is no event.
	Text, Damage string
	At           time.Time
	Said         chat.Said
	// Offset is where the summary of a condensation stands among the messages that it leaves;
	// withoutSummary where the SDK sends none, as of an event without an offset. Forgotten are
	// the events that it takes away.
	Offset    int
	Forgotten []string
	// Asks is how what an action tells sub-agents to do begins.
	Asks []string
}

// decodeEvent keeps what is named here of an event.
func decodeEvent(f tree.File) (r record, whole bool) {
	v, err := (&chat.Line{Raw: f.Data}).Parse()
	if err != nil { // of one that is torn, the beginning may say where it is
		head := chat.ParseHead(f.Data)
		return record{Damage: err.Error(), Parent: head.Get("parent_id").Text(), At: timeOf(head.Get("timestamp").Text())}, false
	}
	text := func(key string) string { return v.Get(key).Text() }
	r = record{
		Kind: text("kind"), Parent: text("parent_id"), Response: text("llm_response_id"),
		At: timeOf(text("timestamp")), Offset: withoutSummary,
	}
	switch r.Kind {
	case kindCondense:
		for id := range v.Get("forgotten_event_ids").Each() {
			r.Forgotten = append(r.Forgotten, id.Text())
		}
		if at := v.Get("summary_offset"); at.Kind() == jsontape.Number && v.Get("summary").Kind() == jsontape.String {
			r.Offset = int(min(max(at.Number(), 0), 1<<30))
		}
	case kindAction:
		for _, asks := range []chat.Value{v.Get("action", "prompt"), v.Get("action", "tasks")} { // of the tools task and delegate
			if asks.Kind() == jsontape.String {
				r.Asks = append(r.Asks, asks.Words())
			}
			for one := range asks.Each() {
				r.Asks = append(r.Asks, one.Words())
			}
		}
	case kindFailure:
		r.Text = conversation.Cut(conversation.OneLine(text("code")+" "+text("detail")), conversation.MaxTitle)
	}
	if _, is := says[r.Kind]; is {
		m := messageOf(v)
		if r.Said = m.Summarise(); r.Said.Words == "" && r.Kind == kindAction {
			r.Said.Words = v.Get("summary").Words()
		}
	}
	return r, true
}

// timeOf returns the time of an event. It is that of the clock where the SDK ran, without a
// zone.
func timeOf(text string) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC()
	}
	at, _ := time.ParseInLocation("2006-01-02T15:04:05.999999999", text, time.Local)
	return at.UTC()
}

// codec remembers events: their files are not changed.
var codec = tree.Codec[record]{Decode: decodeEvent, Note: encodeNote, Recall: decodeNote}

// encodeNote encodes a record for the cache. It returns nil for a damaged event, whose file may still be
// incomplete.
func encodeNote(r record) []byte {
	text, err := json.Marshal(r)
	if r.Damage != "" || err != nil {
		return nil
	}
	return text
}

func decodeNote(f tree.File) (r record, err error) { return r, json.Unmarshal(f.Data, &r) }

// messageOf returns the message of an event.
func messageOf(v chat.Value) (m chat.Message) {
	kind := v.Get("kind").Text()
	m.Role, m.ID, m.Raw = says[kind], v.Get("llm_response_id").Text(), [][]byte{v.Raw()}
	add := func(body chat.Value) {
		if body.Kind() == jsontape.String {
			m.Blocks = append(m.Blocks, chat.TextBlock(body.Raw()))
		}
	}
	parts := func(list chat.Value) {
		for part := range list.Each() {
			m.Blocks = append(m.Blocks, partOf(part))
		}
	}
	thinks := func(v chat.Value) {
		if thought := v.Get("reasoning_content"); thought.Kind() == jsontape.String {
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Reasoning, Body: thought.Raw()})
		}
	}
	result := func(body chat.Value, failed bool) {
		m.Blocks = append(m.Blocks, chat.Block{
			Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Name: v.Get("tool_name").Text(), Body: body.Raw(), Failed: failed,
		})
	}
	switch kind {
	case kindSystem:
		add(v.Get("system_prompt", "text"))
		add(v.Get("dynamic_context", "text"))
	case kindMessage:
		said := v.Get("llm_message")
		if said.Get("role").Text() == chat.Assistant.String() {
			m.Role = chat.Assistant
		}
		thinks(said)
		parts(said.Get("content"))
		parts(v.Get("extended_content"))
	case kindAction:
		thinks(v)
		parts(v.Get("thought"))
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolCall, ID: v.Get("tool_call_id").Text(), Name: v.Get("tool_name").Text(), Body: inputOf(v)})
	case kindResult:
		body := v.Get("observation", "content")
		if body.Kind() != jsontape.Array {
			body = v.Get("observation")
		}
		result(body, v.Get("observation", "is_error").True())
	case kindError:
		result(v.Get("error"), true)
	case kindReject:
		result(v.Get("rejection_reason"), true)
	case kindCondense, kindSummary:
		add(v.Get("summary"))
	case kindOther:
		body := v.Get("raw_output")
		if !body.There() {
			body = v.Get("content")
		}
		m.Blocks = []chat.Block{{
			Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Name: v.Get("title").Text(), Body: body.Raw(), Failed: v.Get("is_error").True(),
		}}
	}
	return m
}

// partOf returns a part of a content: a text, or an image.
func partOf(v chat.Value) chat.Block {
	if text := v.Get("text"); text.Kind() == jsontape.String {
		return chat.TextBlock(text.Raw())
	}
	return chat.Block{Kind: conversation.Unknown, Body: v.Raw()}
}

// inputOf returns the input of a tool call: what the model wrote, which is JSON in a string,
// else the action that was made of it.
func inputOf(v chat.Value) []byte {
	text := v.Get("tool_call", "arguments").Text()
	if input, err := chat.Parse([]byte(text)); err == nil && strings.TrimSpace(text) != "" {
		return input.Raw()
	}
	return v.Get("action").Raw()
}
