package openhands

import (
	"encoding/binary"
	"strings"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
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
var says = map[string]coding.Role{
	kindSystem: coding.System, kindMessage: coding.User, kindAction: coding.Assistant, kindResult: coding.Tool, kindError: coding.Tool,
	kindReject: coding.Tool, kindCondense: coding.User, kindSummary: coding.User, kindOther: coding.Tool,
}

// silent are the kinds of events that the model does not read.
var silent = map[string]bool{
	kindState: true, kindFailure: true, "PauseEvent": true, "InterruptEvent": true, "CondensationRequest": true, "HookExecutionEvent": true,
	"TokenEvent": true, "StreamingDeltaEvent": true, "LLMCompletionLogEvent": true, "SecurityAnalysisEvent": true,
}

// record is what is kept of an event.
type record struct {
	kind, id, parent, source string
	// response is the id of the model's answer.
	response string
	// text is the error of a failure, and damage why the file is no event.
	text, damage string
	at           time.Time
	said         coding.Said
	// offset is where the summary of a condensation stands among the messages that it leaves,
	// forgotten are the events that it takes away.
	offset    int
	forgotten []string
}

// decode keeps what is named here of an event.
func decode(f folder.File) (r record, whole bool) {
	v, err := coding.Parse(f.Data)
	if err == nil && v.Kind() != jsontape.Object {
		err = &jsontape.SyntaxError{Msg: "it is no JSON object"}
	}
	if err != nil {
		return record{damage: err.Error()}, false
	}
	text := func(key string) string { return v.Get(key).Text() }
	r = record{
		kind: text("kind"), id: text("id"), parent: text("parent_id"), source: text("source"),
		response: text("llm_response_id"), at: timeOf(text("timestamp")), offset: withoutSummary,
	}
	switch r.kind {
	case kindCondense:
		for id := range v.Get("forgotten_event_ids").Each() {
			r.forgotten = append(r.forgotten, id.Text())
		}
		if at := v.Get("summary_offset"); at.Kind() == jsontape.Number && v.Get("summary").There() {
			r.offset = int(min(max(at.Number(), 0), 1<<30))
		}
	case kindFailure:
		r.text = conversation.Cut(conversation.OneLine(text("code")+" "+text("detail")), conversation.MaxTitle)
	}
	if _, is := says[r.kind]; is {
		m := messageOf(v)
		if r.said = m.Said(); r.said.Words == "" && r.kind == kindAction {
			r.said.Words = v.Get("summary").Words()
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
var codec = folder.Codec[record]{
	Decode: decode,
	Note: func(r record) []byte {
		if r.damage != "" {
			return nil
		}
		return r.note()
	},
	Recall: recall,
}

func (r *record) texts() []*string {
	return []*string{&r.kind, &r.id, &r.parent, &r.source, &r.response, &r.text, &r.said.Words}
}

func (r *record) note() (note []byte) {
	for _, text := range r.texts() {
		note = files.AppendText(note, *text)
	}
	note = append(files.AppendTime(note, r.at), byte(r.said.Role))
	note = binary.AppendVarint(note, int64(r.offset))
	note = appendList(note, r.forgotten, func(note []byte, id string) []byte { return files.AppendText(note, id) })
	note = appendList(note, r.said.Calls, appendCall)
	return appendList(note, r.said.Results, func(note []byte, is coding.Result) []byte {
		failed := byte(0)
		if is.Failed {
			failed = 1
		}
		return append(files.AppendText(appendCall(note, is.Call), is.Why), failed)
	})
}

func appendCall(note []byte, is coding.Call) []byte {
	return files.AppendText(files.AppendText(note, is.ID), is.Name)
}

func appendList[T any](note []byte, list []T, one func([]byte, T) []byte) []byte {
	note = binary.AppendUvarint(note, uint64(len(list)))
	for _, is := range list {
		note = one(note, is)
	}
	return note
}

// errNote: a note is not what note makes.
var errNote = &jsontape.SyntaxError{Msg: "it is no note of an event"}

func recall(f folder.File) (r record, err error) {
	note := files.ReadNote(f.Data)
	text := func() string { return string(note.Text()) }
	for _, to := range r.texts() {
		*to = text()
	}
	r.at = note.Time()
	if role := note.Bytes(1); len(role) == 1 && role[0] <= byte(coding.Tool) {
		r.said.Role = coding.Role(role[0])
	}
	r.offset = int(note.Varint())
	for range note.Items() {
		r.forgotten = append(r.forgotten, text())
	}
	for range note.Items() {
		r.said.Calls = append(r.said.Calls, coding.Call{ID: text(), Name: text()})
	}
	for range note.Items() {
		is := coding.Result{Call: coding.Call{ID: text(), Name: text()}, Why: text()}
		failed := note.Bytes(1)
		is.Failed = len(failed) == 1 && failed[0] == 1
		r.said.Results = append(r.said.Results, is)
	}
	if note.Damaged() || note.Len() > 0 {
		return record{}, errNote
	}
	return r, nil
}

// messageOf returns the message of an event.
func messageOf(v coding.Value) (m coding.Message) {
	kind := v.Get("kind").Text()
	m.Role, m.ID, m.Raw = says[kind], v.Get("llm_response_id").Text(), [][]byte{v.Raw()}
	add := func(body coding.Value) {
		if body.Kind() == jsontape.String {
			m.Blocks = append(m.Blocks, coding.TextBlock(body.Raw()))
		}
	}
	parts := func(list coding.Value) {
		for part := range list.Each() {
			m.Blocks = append(m.Blocks, partOf(part))
		}
	}
	thinks := func(v coding.Value) {
		if thought := v.Get("reasoning_content"); thought.Kind() == jsontape.String {
			m.Blocks = append(m.Blocks, coding.Block{Kind: conversation.Reasoning, Body: thought.Raw()})
		}
	}
	result := func(body coding.Value, failed bool) {
		m.Blocks = append(m.Blocks, coding.Block{
			Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Name: v.Get("tool_name").Text(), Body: body.Raw(), Failed: failed,
		})
	}
	switch kind {
	case kindSystem:
		add(v.Get("system_prompt", "text"))
		add(v.Get("dynamic_context", "text"))
	case kindMessage:
		said := v.Get("llm_message")
		if said.Get("role").Text() == coding.Assistant.String() {
			m.Role = coding.Assistant
		}
		thinks(said)
		parts(said.Get("content"))
		parts(v.Get("extended_content"))
	case kindAction:
		thinks(v)
		parts(v.Get("thought"))
		m.Blocks = append(m.Blocks, coding.Block{Kind: conversation.ToolCall, ID: v.Get("tool_call_id").Text(), Name: v.Get("tool_name").Text(), Body: inputOf(v)})
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
		m.Blocks = []coding.Block{{
			Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Name: v.Get("title").Text(), Body: body.Raw(), Failed: v.Get("is_error").True(),
		}}
	}
	return m
}

// partOf returns a part of a content: a text, or an image.
func partOf(v coding.Value) coding.Block {
	if text := v.Get("text"); text.Kind() == jsontape.String {
		return coding.TextBlock(text.Raw())
	}
	return coding.Block{Kind: conversation.Unknown, Body: v.Raw()}
}

// inputOf returns the input of a tool call: what the model wrote, which is JSON in a string,
// else the action that was made of it.
func inputOf(v coding.Value) []byte {
	text := v.Get("tool_call", "arguments").Text()
	if input, err := coding.Parse([]byte(text)); err == nil && strings.TrimSpace(text) != "" {
		return input.Raw()
	}
	return v.Get("action").Raw()
}
