package codex

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/coding"
)

// Types of records, and of events as "event_msg:TYPE".
const (
	typeHeader, typeItem, typeCompacted = "session_meta", "response_item", "compacted"
	typeContext, typeEvent, typeUsage   = "turn_context", "event_msg", "token_usage_record"
	typeBetween                         = "inter_agent_communication"
	typeState                           = "state" // of 0.20
	// typeGhost is the type of an item, from about 0.50 to 0.118, that is no message: a commit
	// which Codex makes of the work tree before a turn.
	typeGhost = "ghost_snapshot"

	eventStarted, eventTurnStarted = "event_msg:task_started", "event_msg:turn_started"
	eventEnded, eventTurnEnded     = "event_msg:task_complete", "event_msg:turn_complete"
	eventAborted, eventRolledBack  = "event_msg:turn_aborted", "event_msg:thread_rolled_back"
	eventTokens, eventSettings     = "event_msg:token_count", "event_msg:thread_settings_applied"
	eventItem, eventCommand        = "event_msg:item_completed", "event_msg:exec_command_end"
	eventError                     = "event_msg:error"
)

// silent are types of records that add nothing to a session.
var silent = map[string]bool{typeContext: true, typeState: true, typeGhost: true, "world_state": true, "inter_agent_communication_metadata": true, "realtime_item": true, "dynamic_tools_updated": true}

// record is what is kept of a line.
type record struct {
	is      string
	at      time.Time
	ordinal int64 // -1 for none
	id      string
	said    coding.Said
	// injected says of an item that Codex wrote it, though it speaks as the user.
	injected bool
	meta     coding.Meta
	header   *header // of a header alone
	// total is what the thread used so far, by a record of usage.
	total total
	// call is the tool call that an event is about, and failed says that the tool failed.
	call   string
	failed bool
	// child is the thread that a tool started, by its answer.
	child string
	// turns are how many a rollback takes back.
	turns int
	// whole says of a compaction that it holds all that the model reads on.
	whole bool
	// text is why a turn was aborted, or what failed.
	text string
}

// header is what the first record of a rollout says.
type header struct {
	thread, session, mode, provider string
	base                            *position
}

// position is where the history of a rollout stands in another.
type position struct {
	rollout string
	ordinal int64
	end     int64 // in bytes
}

// total tells one count of tokens from the next.
type total struct{ input, output float64 }

// open returns the type of a record and what is in its envelope. Version 0.20 had none.
func open(v coding.Value) (is string, body coding.Value) {
	is = v.Get("type").Text()
	body = v.Get("payload")
	switch {
	case is == typeItem && body.Get("type").Text() == typeGhost:
		return typeGhost, body
	case body.There():
		return is, body
	case is != "":
		return typeItem, v
	case v.Get("record_type").There():
		return v.Get("record_type").Text(), v
	case v.Get("id").There() && v.Get("timestamp").There():
		return typeHeader, v
	}
	return "", v
}

// decode keeps what is named here of a line.
func decode(l *coding.Line) (r record, err error) {
	v, err := l.Parse()
	if err != nil {
		return r, err
	}
	is, body := open(v)
	r.is, r.at, r.ordinal = is, v.Get("timestamp").Time(), -1
	if n := v.Get("ordinal"); n.Kind() == jsontape.Number {
		r.ordinal = int64(n.Number())
	}
	switch is {
	case typeHeader:
		r.head(body)
	case typeGhost:
		r.meta.Commit = body.Get("ghost_commit", "id").Text()
	case typeItem, typeBetween:
		m := itemOf(v)
		r.said, r.id, r.injected = m.Said(), body.Get("id").Text(), injected(body)
		if m.Role == coding.Tool {
			r.child = started(body.Get("output"))
		}
	case typeCompacted:
		r.whole = body.Get("replacement_history").Kind() == jsontape.Array
		r.said = coding.Said{Role: coding.User, Words: body.Get("message").Words()}
	case typeContext:
		r.meta = metaOf(body)
	case typeUsage:
		r.total = totalOf(body.Get("thread_token_usage"))
	case typeEvent:
		r.event(body)
	}
	return r, nil
}

// head keeps what a header says. That of 0.20 has no envelope.
func (r *record) head(v coding.Value) {
	text := func(keys ...string) string { return v.Get(keys...).Text() }
	r.at = v.Get("timestamp").Time()
	r.header = &header{thread: text("id"), session: text("session_id"), mode: text("history_mode"), provider: text("model_provider")}
	r.meta = coding.Meta{Dir: text("cwd"), Version: text("cli_version"), Branch: text("git", "branch"), Commit: text("git", "commit_hash")}
	if base := v.Get("history_base"); base.Kind() == jsontape.Object {
		r.header.base = &position{base.Get("thread_id").Text(), int64(base.Get("end_ordinal_exclusive").Number()), int64(base.Get("end_byte_offset").Number())}
	}
}

// event keeps what an event says. Most repeat for people what an item says.
func (r *record) event(v coding.Value) {
	r.is = typeEvent + ":" + v.Get("type").Text()
	switch r.is {
	case eventTokens:
		r.total = totalOf(v.Get("info", "total_token_usage"))
	case eventAborted:
		r.text = v.Get("reason").Words()
	case eventError:
		r.text = v.Get("message").Words()
	case eventRolledBack:
		r.turns = int(min(v.Get("num_turns").Number(), 1e9))
	case eventSettings:
		r.meta = metaOf(v.Get("thread_settings"))
	case eventCommand:
		r.call, r.failed = v.Get("call_id").Text(), v.Get("exit_code").Number() != 0
	case eventItem:
		item := v.Get("item")
		r.call, r.failed = item.Get("id").Text(), item.Get("exit_code").Number() != 0 || item.Get("status").Text() == "failed"
	}
}

// metaOf returns what a turn runs with.
func metaOf(v coding.Value) coding.Meta {
	return coding.Meta{Model: v.Get("model").Text(), Dir: v.Get("cwd").Text(), Mode: v.Get("approval_policy").Text()}
}

func totalOf(v coding.Value) total {
	return total{v.Get("input_tokens").Number(), v.Get("output_tokens").Number()}
}

// addUsage adds what a record of usage says that one answer cost.
func addUsage(u *conversation.Usage, v coding.Value) {
	is, body := open(v)
	count := body.Get("usage")
	if is == typeEvent {
		count = body.Get("info", "last_token_usage")
	}
	if count.Kind() != jsontape.Object {
		return
	}
	u.Counted = true
	u.Input += count.Get("input_tokens").Number()
	u.Output += count.Get("output_tokens").Number()
	u.CacheRead += count.Get("cached_input_tokens").Number()
	u.CacheWrite += count.Get("cache_write_input_tokens").Number()
}

// started returns the thread that the answer to a tool call says was started, "" for none.
func started(output coding.Value) string {
	if id := jsontape.Unquote(jsontape.FindMember([]byte(output.Text()), `"agent_id"`)); isUUID(id) {
		return id
	}
	return ""
}

// marks are how the items begin that Codex itself writes in the name of the user, by
// codex-rs/core/src/context: it does not count them as turns.
var marks = []string{
	"<environment_context>", "# AGENTS.md", "<user_instructions>", "<skill>", "<user_shell_command>",
	"<turn_aborted>", "<subagent_notification>", "<permissions instructions>", "<collaboration_mode>",
}

// injected reports whether an item of the user's is not by the user. Since 0.169 the item
// says what each part is: "user.text".
func injected(item coding.Value) bool {
	if kinds := item.Get("internal_chat_message_metadata_passthrough", "content_item_kinds"); kinds.Kind() == jsontape.Array {
		for kind := range kinds.Each() {
			if text := kind.Text(); strings.HasPrefix(text, "user.") || text == "unknown" {
				return false
			}
		}
		return true
	}
	for part := range item.Get("content").Each() {
		words := strings.TrimLeft(coding.Words(part.Get("text").Raw(), 80), " ")
		for _, mark := range marks {
			if strings.HasPrefix(words, mark) {
				return true
			}
		}
		return false
	}
	return false
}

// itemOf returns the message of a record that has an item.
func itemOf(line coding.Value) coding.Message {
	is, body := open(line)
	m := messageOf(body, line)
	if is == typeBetween { // another agent speaks
		m.Role = coding.User
	}
	return m
}

// compactedOf returns what the model reads after a compaction.
func compactedOf(line coding.Value) (list []coding.Message) {
	_, body := open(line)
	items := body.Get("replacement_history")
	if items.Kind() != jsontape.Array {
		return []coding.Message{{Role: coding.User, Blocks: []coding.Block{coding.TextBlock(body.Get("message").Raw())}, Raw: [][]byte{line.Raw()}}}
	}
	for item := range items.Each() {
		if item.Get("type").Text() != typeGhost {
			list = append(list, messageOf(item, item))
		}
	}
	return list
}

var roles = map[string]coding.Role{"assistant": coding.Assistant, "developer": coding.System, "system": coding.System}

// inputs are where the items that call a tool have its input.
var inputs = map[string]string{"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}

// messageOf returns the message of an item that is in a record.
func messageOf(v, raw coding.Value) coding.Message {
	m := coding.Message{Role: coding.Assistant, Raw: [][]byte{raw.Raw()}}
	is, id, content := v.Get("type").Text(), v.Get("call_id").Text(), v.Get("content")
	add := func(kind conversation.BlockKind, body []byte) {
		m.Blocks = append(m.Blocks, coding.Block{Kind: kind, Body: body})
	}
	switch {
	case inputs[is] != "":
		name := cmp.Or(v.Get("name").Text(), strings.TrimSuffix(is, "_call"))
		m.Blocks = []coding.Block{{Kind: conversation.ToolCall, ID: id, Name: name, Body: inputOf(v.Get(inputs[is]), is)}}
	case strings.HasSuffix(is, "_output"):
		m.Role = coding.Tool
		m.Blocks = []coding.Block{resultOf(id, v.Get("output"))}
	case is == "reasoning":
		for _, key := range []string{"summary", "content"} {
			for part := range v.Get(key).Each() {
				add(conversation.Reasoning, part.Get("text").Raw())
			}
		}
		if len(m.Blocks) == 0 { // all of it is encrypted
			add(conversation.Reasoning, nil)
		}
	case content.Kind() == jsontape.Array || content.Kind() == jsontape.String:
		m.Role = coding.User
		if role, known := roles[v.Get("role").Text()]; known {
			m.Role = role
		}
		if content.Kind() == jsontape.String {
			add(conversation.Text, content.Raw())
		}
		for part := range content.Each() {
			switch part.Get("type").Text() {
			case "input_text", "output_text", "text":
				add(conversation.Text, part.Get("text").Raw())
			default:
				add(conversation.Unknown, part.Raw())
			}
		}
	default:
		add(conversation.Unknown, v.Raw())
	}
	return m
}

// inputOf returns the input of a tool call. The arguments of a function are JSON in a string;
// they are the string where they are none.
func inputOf(v coding.Value, is string) []byte {
	if text := []byte(v.Text()); is == "function_call" && len(text) > 0 && jsontape.Valid(text) && json.Valid(text) {
		return text
	}
	return v.Raw()
}

// resultOf returns what a tool gave: a text, a list of parts, or, up to about 0.118, an object
// that says how it went.
func resultOf(call string, output coding.Value) coding.Block {
	b := coding.Block{Kind: conversation.ToolResult, ID: call, Body: output.Raw()}
	if success := output.Get("success"); success.There() {
		b.Failed = success.Kind() == jsontape.False
	}
	if content := output.Get("content"); content.There() {
		b.Body = content.Raw()
	}
	if v, err := coding.Parse([]byte(output.Text())); err == nil {
		b.Failed = b.Failed || v.Get("metadata", "exit_code").Number() != 0
	}
	return b
}

// isEntry reports whether a record is one that the model reads.
func (r *record) isEntry() bool {
	return r.is == typeItem || r.is == typeBetween || r.is == typeCompacted
}

// isEvent reports whether a type is that of an event. Codex tells people by many of them.
func isEvent(is string) bool { return strings.HasPrefix(is, typeEvent+":") }
