package copilot

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// Types of events that are told apart here.
const (
	typeStart, typeResume, typeContext    = "session.start", "session.resume", "session.context_changed"
	typeModel, typeMode                   = "session.model_change", "session.mode_changed"
	typeUser, typeAssistant, typeTool     = "user.message", "assistant.message", "tool.execution_complete"
	typeSystem, typeUsage                 = "system.message", "session.usage_record"
	typeReasoning                         = "assistant.reasoning"
	typeTurnStart, typeTurnEnd            = "assistant.turn_start", "assistant.turn_end"
	typeAgent                             = "subagent.started"
	typeShutdown                          = "session.shutdown"
	typeCompacting                        = "session.compaction_start"
	typeCompaction, typeCleared, typeFail = "session.compaction_complete", "session.context_cleared", "session.error"
)

// rooms are the beginnings of the types of all events; one that begins otherwise is unknown.
var rooms = []string{"session.", "user.", "assistant.", "tool.", "system.", "subagent.", "skill.", "hook.", "permission.", "external_tool.", "mcp.", "mcp_app.", "model.", "abort", "human_response.", "tool_search.", "user_input.", "command.", "elicitation.", "exit_plan_mode.", "sandbox.", "agent."}

// isKnown reports whether there are events of a type.
func isKnown(kind string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return strings.HasPrefix(kind, room) })
}

// record holds the parts of an event that are kept.
type record struct {
	kind, id, parent string
	at               time.Time
	// agent is the sub-agent that wrote the event, "" for the session itself. If the event starts a sub-agent,
	// call is the tool call that starts it, and name its name.
	agent, call, name string
	said              chat.Said
	// message joins the parts of one message, and answer names the answer of the model that it
	// is, or that a record of usage is about.
	message, answer string
	meta            chat.Meta
	// total is the usage that Copilot CLI counted for the session when it was shut down.
	total *model.Counted
}

// decodeLine keeps what is named here of an event.
func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err == nil {
		*r = recordOf(v)
	}
	return err
}

// recordOf returns the record of an event.
func recordOf(v chat.Value) (r record) {
	data := v.Get("data")
	text := func(key string) string { return data.Get(key).Text() }
	r.kind, r.id, r.parent, r.at = v.Get("type").Text(), v.Get("id").Text(), v.Get("parentId").Text(), v.Get("timestamp").Time()
	r.agent = agentOf(v)
	switch r.kind {
	case typeStart, typeResume:
		around := data.Get("context")
		r.meta = chat.Meta{Model: text("selectedModel"), Version: text("copilotVersion"), Dir: around.Get("cwd").Text(), Branch: around.Get("branch").Text(), Commit: around.Get("headCommit").Text()}
	case typeContext:
		r.meta = chat.Meta{Dir: text("cwd"), Branch: text("branch"), Commit: text("headCommit")}
	case typeModel:
		r.meta.Model = text("newModel")
	case typeMode:
		r.meta.Mode = text("newMode")
	case typeUsage:
		r.answer = data.Get("usage", "apiCallId").Text()
	case typeShutdown:
		r.total = &model.Counted{Premium: data.Get("totalPremiumRequests").Number()}
		for model := range data.Get("modelMetrics").Each() {
			r.total.Read += model.Get("usage", "inputTokens").Number()
			r.total.FromCache += model.Get("usage", "cacheReadTokens").Number()
			r.total.Written += model.Get("usage", "outputTokens").Number()
		}
	case typeAgent:
		r.call, r.name = text("toolCallId"), nameOf(v)
	case typeUser, typeAssistant, typeTool, typeFail, typeCompaction, typeCleared:
		m, ok := messageOf(v)
		if !ok { // a compaction that failed
			r.kind = typeCompacting
			break
		}
		r.said, r.meta.Model, r.answer = m.Summarise(), m.Model, m.ID
		if r.message = text("messageId"); data.Get("chunkCount").Number() > 1 {
			r.message = r.answer
		}
	}
	return r
}

// agentOf returns the sub-agent that wrote an event, "" for the session itself. Older versions named a
// sub-agent after the tool call that started it.
func agentOf(v chat.Value) string {
	data := v.Get("data")
	id := cmp.Or(v.Get("agentId").Text(), data.Get("parentToolCallId").Text())
	if id == "" && v.Get("type").Text() == typeAgent {
		id = data.Get("toolCallId").Text()
	}
	return id
}

// nameOf returns the name of the sub-agent that an event starts.
func nameOf(v chat.Value) string {
	return cmp.Or(v.Get("data", "agentDisplayName").Words(), v.Get("data", "agentName").Words())
}

// messageOf returns the message in an event; ok is false if the event has no message.
func messageOf(v chat.Value) (m chat.Message, ok bool) {
	m.Raw = [][]byte{v.Raw()}
	data := v.Get("data")
	add := func(kind conversation.BlockKind, body chat.Value) {
		if body.Kind() == jsontape.String && len(body.Raw()) > len(`""`) {
			m.Blocks = append(m.Blocks, chat.Block{Kind: kind, Body: body.Raw()})
		}
	}
	switch v.Get("type").Text() {
	case typeUser:
		m.Role = chat.User
		add(conversation.Text, data.Get("content"))
		for attachment := range data.Get("attachments").Each() {
			body := attachment.Raw()
			if is := attachment.Get("mimeType"); attachment.Get("type").Text() == "blob" && strings.HasPrefix(is.Text(), "image/") {
				body = fmt.Appendf(nil, `{"type":"image","mimeType":%s,"data":%s}`, is.Raw(), attachment.Get("data").Raw())
			}
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Unknown, Body: body})
		}
	case typeAssistant:
		m.Role, m.ID, m.Model = chat.Assistant, data.Get("apiCallId").Text(), data.Get("model").Text()
		add(conversation.Reasoning, data.Get("reasoningText"))
		add(conversation.Text, data.Get("content"))
		for call := range data.Get("toolRequests").Each() {
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolCall, ID: call.Get("toolCallId").Text(), Name: call.Get("name").Text(), Body: call.Get("arguments").Raw()})
		}
	case typeTool:
		m.Role = chat.Tool
		b := chat.Block{Kind: conversation.ToolResult, ID: data.Get("toolCallId").Text(), Body: data.Get("result").Raw(), Failed: data.Get("success").Kind() == jsontape.False}
		for _, body := range []chat.Value{data.Get("result", "content"), data.Get("error", "message")} {
			if body.Kind() == jsontape.String {
				b.Body = body.Raw()
			}
		}
		if code := data.Get("shellExecution", "exitCode"); code.There() {
			b.Failed = b.Failed || code.Number() != 0
		} else {
			b.NoteExit(exitCode, " exit code ")
		}
		m.Blocks = []chat.Block{b}
	case typeSystem:
		add(conversation.Text, data.Get("content"))
	case typeReasoning:
		m.Role = chat.Assistant
		add(conversation.Reasoning, data.Get("content"))
	case typeFail:
		add(conversation.Text, data.Get("message"))
	case typeCompaction:
		if !data.Get("success").True() {
			return m, false
		}
		m.Role = chat.User
		add(conversation.Text, data.Get("summaryContent"))
	case typeCleared:
		m.Role = chat.User
		add(conversation.Text, data.Get("initialMessage"))
	default:
		return m, false
	}
	return m, true
}

// exitCode finds the exit code of a command at the end of its output.
var exitCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(?:shellId: \S+ completed|exited) with exit code (-?\d+)>(?:\\n)*"$`)
})

// addUsage adds what an event says that a request cost. Tokens of a cache are among those of the
// input.
func addUsage(u *conversation.Usage, v chat.Value) {
	is := v.Get("data", "usage")
	u.Counted = u.Counted || is.Get("inputTokens").There() || is.Get("outputTokens").There()
	u.Input += is.Get("inputTokens").Number()
	u.Output += is.Get("outputTokens").Number()
	u.CacheRead += is.Get("cacheReadTokens").Number()
	u.CacheWrite += is.Get("cacheWriteTokens").Number()
	u.Milliseconds += is.Get("duration").Number()
}

// Messages implements chat.Format. The parts of an answer are one message; the system
// prompt that an entry came with is another, before it.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	raw, err := chat.Raw(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	var one chat.Message
	one.Role = e.Said.Role
	for _, text := range raw {
		v, err := chat.Parse(text)
		if err != nil {
			return nil, err
		}
		kind := v.Get("type").Text()
		m, _ := messageOf(v)
		switch kind {
		case typeSystem:
			list = append(list, m)
			continue
		case typeUsage:
			addUsage(&one.Usage, v)
		default:
			one.ID, one.Model = m.ID, m.Model
		}
		one.Blocks, one.Raw = append(one.Blocks, m.Blocks...), append(one.Raw, text)
	}
	return append(list, one), nil
}
