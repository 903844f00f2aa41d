package codex

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
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
	// typeThought is the type of an item that is a thought.
	typeThought = "reasoning"

	eventStarted, eventTurnStarted = "event_msg:task_started", "event_msg:turn_started"
	eventEnded, eventTurnEnded     = "event_msg:task_complete", "event_msg:turn_complete"
	eventAborted, eventRolledBack  = "event_msg:turn_aborted", "event_msg:thread_rolled_back"
	eventTokens                    = "event_msg:token_count"
	eventUser, eventAgent          = "event_msg:user_message", "event_msg:agent_message"
	eventFailed, eventItem         = "event_msg:error", "event_msg:item_completed"
)

// recordType has the functions for a type of record or event; nil where there is nothing to do.
type recordType struct {
	// keep parses a record: line is all of it, body what is in its envelope.
	keep func(r *record, line, body chat.Value)
	// fold changes a session by a record.
	fold func(b *fold, p *part, r *chat.Record[record], now *state)
}

// types has, for each known type of record and event, how to parse it and how it changes a session. Versions
// of Codex differ in the types that they write.
var types = sync.OnceValue(func() map[string]recordType {
	list := map[string]recordType{
		typeHeader:    {keep: (*record).keepHeader},
		typeItem:      {(*record).keepItem, (*fold).addItem},
		typeBetween:   {(*record).keepItem, (*fold).addItem},
		typeCompacted: {(*record).keepCompaction, (*fold).addCompaction},
		typeContext:   {keep: func(r *record, _, v chat.Value) { r.meta = metaOf(v) }},
		typeUsage: {(*record).keepCounts, func(b *fold, p *part, r *chat.Record[record], now *state) {
			b.addCount(p, r, now, &now.recorded)
			now.counted = true
		}},
		typeGhost: {keep: func(r *record, _, v chat.Value) { r.meta.Commit = v.Get("ghost_commit", "id").Text() }},
		typeState: {}, "world_state": {}, "inter_agent_communication_metadata": {}, "realtime_item": {}, "dynamic_tools_updated": {},

		eventTokens: {(*record).keepCounts, func(b *fold, p *part, r *chat.Record[record], now *state) {
			if now.counted {
				now.used = r.Is.total
			}
			b.addCount(p, r, now, &now.used)
		}},
		eventStarted: {fold: (*fold).beginTask}, eventTurnStarted: {fold: (*fold).beginTask},
		eventUser: {(*record).keepText, (*fold).addAlone}, eventAgent: {(*record).keepText, (*fold).addAlone},
		eventEnded: {(*record).keepFailure, (*fold).endTurn}, eventTurnEnded: {(*record).keepFailure, (*fold).endTurn},
		eventAborted: {func(r *record, _, v chat.Value) { r.text = v.Get("reason").Words() }, func(b *fold, p *part, r *chat.Record[record], now *state) {
			b.noteFailure(now, "turn", "aborted: "+cmp.Or(r.Is.text, "interrupted"))
			b.endTask(r, now)
		}},
		eventFailed:                         {(*record).keepFailure, (*fold).addFailure},
		eventRolledBack:                     {func(r *record, _, v chat.Value) { r.turns = int(min(v.Get("num_turns").Number(), 1e9)) }, (*fold).rollBack},
		"event_msg:thread_settings_applied": {keep: func(r *record, _, v chat.Value) { r.meta = metaOf(v.Get("thread_settings")) }},
		"event_msg:exec_command_end":        {func(r *record, _, v chat.Value) { r.keepEnd(v.Get("call_id"), v) }, (*fold).toolEnded},
		"event_msg:patch_apply_end":         {func(r *record, _, v chat.Value) { r.keepEnd(v.Get("call_id"), v) }, (*fold).toolEnded},
		eventItem: {func(r *record, line, v chat.Value) {
			r.keepEnd(v.Get("item", "id"), v.Get("item"))
			r.keepText(line, v)
		}, func(b *fold, p *part, r *chat.Record[record], now *state) {
			b.toolEnded(p, r, now)
			b.addAlone(p, r, now)
		}},
	}
	for _, event := range strings.Fields(shownEvents) {
		list[typeEvent+":"+event] = recordType{}
	}
	return list
})

// shownEvents are the other events that Codex has written into its files (codex-rs/rollout/src/policy.rs, and that of
// versions before): each repeats the text of an item for display, or says how the work went on.
const shownEvents = `agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break thread_goal_updated context_compacted
	entered_review_mode exited_review_mode mcp_tool_call_begin mcp_tool_call_end web_search_begin web_search_end
	image_generation_begin image_generation_end sub_agent_activity undo_started undo_completed exec_command_begin
	exec_command_output_delta terminal_interaction patch_apply_begin patch_apply_updated view_image_tool_call turn_diff plan_update
	dynamic_tool_call_request dynamic_tool_call_response exec_approval_request apply_patch_approval_request
	request_permissions request_user_input elicitation_request collab_agent_spawn_begin collab_agent_spawn_end
	collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin collab_waiting_end collab_close_begin
	collab_close_end collab_resume_begin collab_resume_end guardian_assessment guardian_warning warning stream_error
	background_event deprecation_notice hook_started hook_completed item_started session_configured model_reroute
	model_verification shutdown_complete`

// record holds the parts of a line that are kept.
type record struct {
	is      string
	at      time.Time
	ordinal int64 // -1 for none
	id      string
	said    chat.Said
	// injected says of an item that Codex wrote it, though it speaks as the user.
	injected bool
	// thought says of an item that it is no answer, but what the model thought before one.
	thought bool
	meta    chat.Meta
	header  *header // of a header alone
	// total is the thread's token count so far, from a record of usage. inAll marks a record without a count
	// of the last answer.
	total total
	inAll bool
	// call is the tool call that an event is about, and failed says that the tool failed.
	call   string
	failed bool
	// child is the thread that a tool started, by its answer.
	child string
	// turns are how many a rollback takes back, and adds how many messages a compaction has.
	turns, adds int
	// whole says of a compaction that it holds all that the model reads on.
	whole bool
	// text is why a turn was aborted, or how what failed begins.
	text string
	// tells says of an event that it has a message, which an item mostly has, too.
	tells bool
}

// header is the first record of a rollout.
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

// total is a count of tokens. Those of the cache are among the input.
type total struct{ input, output, cached, written float64 }

// openEnvelope returns the type of a record and what is in its envelope. Version 0.20 had none.
func openEnvelope(v chat.Value) (is string, body chat.Value) {
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

// decodeLine keeps what is named here of a line.
func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err != nil {
		return err
	}
	is, body := openEnvelope(v)
	r.is, r.at, r.ordinal = is, v.Get("timestamp").Time(), -1
	if n := v.Get("ordinal"); n.Kind() == jsontape.Number {
		r.ordinal = int64(n.Number())
	}
	if is == typeEvent {
		r.is += ":" + body.Get("type").Text()
	}
	if keep := types()[r.is].keep; keep != nil {
		keep(r, v, body)
	}
	return nil
}

// keepText keeps what a message says that an event repeats.
func (r *record) keepText(line, _ chat.Value) {
	m := itemOf(line)
	r.said, r.tells = m.Summarise(), len(m.Blocks) > 0
}

// keepFailure keeps what an event says that went wrong.
func (r *record) keepFailure(line, v chat.Value) {
	m := toldBy(v, line)
	r.said = m.Summarise()
	r.text = r.said.Words
}

// failureOf returns the error message of an event. An event of a turn has it inside an object.
func failureOf(event chat.Value) chat.Value {
	if in := event.Get("error", "message"); in.There() {
		return in
	}
	if event.Get("type").Text() == "error" {
		return event.Get("message")
	}
	return event.Get("error")
}

// itemRoles are the roles of the items that an event repeats, by their types.
var itemRoles = map[string]chat.Role{"UserMessage": chat.User, "AgentMessage": chat.Assistant}

// toldBy returns the message that an event repeats, or what it says that went wrong; one without
// blocks of any other.
func toldBy(event, raw chat.Value) (m chat.Message) {
	m.Raw = [][]byte{raw.Raw()}
	add := func(role chat.Role, text chat.Value) {
		if m.Role = role; text.Kind() == jsontape.String && string(text.Raw()) != `""` {
			m.Blocks = append(m.Blocks, chat.TextBlock(text.Raw()))
		}
	}
	switch is := typeEvent + ":" + event.Get("type").Text(); is {
	case eventUser:
		add(chat.User, event.Get("message"))
		for _, key := range []string{"images", "local_images"} {
			for image := range event.Get(key).Each() {
				m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Unknown, Body: append(append([]byte(`{"type":"input_image","image_url":`), image.Raw()...), '}')})
			}
		}
	case eventAgent:
		add(chat.Assistant, event.Get("message"))
	case eventItem:
		role, known := itemRoles[event.Get("item", "type").Text()]
		for part := range event.Get("item", "content").Each() {
			if known {
				add(role, part.Get("text"))
			}
		}
	case eventEnded, eventTurnEnded, eventFailed:
		add(chat.System, failureOf(event))
	}
	return m
}

// keepHeader keeps what a header says. That of 0.20 has no envelope.
func (r *record) keepHeader(_, v chat.Value) {
	text := func(keys ...string) string { return v.Get(keys...).Text() }
	r.at = v.Get("timestamp").Time()
	r.header = &header{thread: idIn(v), session: text("session_id"), mode: text("history_mode"), provider: text("model_provider")}
	r.meta = chat.Meta{Dir: text("cwd"), Version: text("cli_version"), Branch: text("git", "branch"), Commit: text("git", "commit_hash")}
	if base := v.Get("history_base"); base.Kind() == jsontape.Object {
		r.header.base = &position{base.Get("thread_id").Text(), int64(base.Get("end_ordinal_exclusive").Number()), int64(base.Get("end_byte_offset").Number())}
	}
}

// keepItem keeps what a message says.
func (r *record) keepItem(line, v chat.Value) {
	m := itemOf(line)
	r.said, r.id, r.injected = m.Summarise(), v.Get("id").Text(), isInjected(v)
	r.thought = v.Get("type").Text() == typeThought
	r.child = startedThread(v.Get("output"))
}

// keepCompaction keeps how what the model reads on begins.
func (r *record) keepCompaction(line, v chat.Value) {
	r.adds = len(compactedOf(line))
	r.whole = v.Get("replacement_history").Kind() == jsontape.Array
	r.said = chat.Said{Role: chat.User, Words: v.Get("message").Words()}
}

// keepEnd keeps how a tool call ended.
func (r *record) keepEnd(call, how chat.Value) {
	r.call, r.failed = call.Text(), how.Get("exit_code").Number() != 0 || how.Get("status").Text() == "failed" || how.Get("success").Kind() == jsontape.False
}

// metaOf returns the model, the folder and the approval mode of a turn.
func metaOf(v chat.Value) chat.Meta {
	return chat.Meta{Model: v.Get("model").Text(), Dir: v.Get("cwd").Text(), Mode: v.Get("approval_policy").Text()}
}

// usageCounts returns the two counts of a record of usage: the last answer's and the thread's.
func usageCounts(body chat.Value) (last, thread chat.Value) {
	if info := body.Get("info"); info.There() {
		return info.Get("last_token_usage"), info.Get("total_token_usage")
	}
	return body.Get("usage"), body.Get("thread_token_usage")
}

// keepCounts keeps what the thread used.
func (r *record) keepCounts(_, v chat.Value) {
	last, thread := usageCounts(v)
	r.total, r.inAll = totalOf(thread), last.Kind() != jsontape.Object
}

func totalOf(v chat.Value) total {
	number := func(key string) float64 { return v.Get(key).Number() }
	return total{number("input_tokens"), number("output_tokens"), number("cached_input_tokens"), number("cache_write_input_tokens")}
}

// tokensSince returns the tokens used since an earlier count. If the earlier count is larger, the thread began
// to count anew, and all of t is new.
func (t total) tokensSince(before total) total {
	if t.input < before.input || t.output < before.output {
		return t
	}
	return total{t.input - before.input, t.output - before.output, max(t.cached-before.cached, 0), max(t.written-before.written, 0)}
}

// addUsage adds the tokens of one answer from a record of usage. If the record does not count the answer, it
// adds the thread's tokens since the previous count.
func addUsage(u *conversation.Usage, v chat.Value, before total) {
	_, body := openEnvelope(v)
	last, thread := usageCounts(body)
	n := totalOf(last)
	if last.Kind() != jsontape.Object {
		n = totalOf(thread).tokensSince(before)
	}
	u.Counted = true
	u.Input += n.input
	u.Output += n.output
	u.CacheRead += n.cached
	u.CacheWrite += n.written
}

// startedThread returns the id of the thread that a tool call started, from the call's output; "" if it
// started none.
func startedThread(output chat.Value) string {
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

// isInjected reports whether a user item was not written by the user. Since 0.169 the item gives the kind of
// each part, such as "user.text".
func isInjected(item chat.Value) bool {
	if kinds := item.Get("internal_chat_message_metadata_passthrough", "content_item_kinds"); kinds.Kind() == jsontape.Array {
		for kind := range kinds.Each() {
			if text := kind.Text(); strings.HasPrefix(text, "user.") || text == "unknown" {
				return false
			}
		}
		return true
	}
	for part := range item.Get("content").Each() {
		words := strings.TrimLeft(chat.Words(part.Get("text").Raw(), 80), " ")
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
func itemOf(line chat.Value) chat.Message {
	is, body := openEnvelope(line)
	if is == typeEvent {
		return toldBy(body, line)
	}
	m := messageOf(body, line)
	if is == typeBetween { // another agent speaks
		m.Role = chat.User
	}
	return m
}

// compactedOf returns the messages that the model reads after a compaction.
func compactedOf(line chat.Value) (list []chat.Message) {
	_, body := openEnvelope(line)
	items := body.Get("replacement_history")
	if items.Kind() != jsontape.Array {
		return []chat.Message{{Role: chat.User, Blocks: []chat.Block{chat.TextBlock(body.Get("message").Raw())}, Raw: [][]byte{line.Raw()}}}
	}
	for item := range items.Each() {
		if item.Get("type").Text() != typeGhost {
			list = append(list, messageOf(item, item))
		}
	}
	return list
}

var roles = map[string]chat.Role{"assistant": chat.Assistant, "developer": chat.System, "system": chat.System}

// inputs are where the items that call a tool have its input.
var inputs = sync.OnceValue(func() map[string]string {
	return map[string]string{"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
})

// messageOf returns the message of an item that is in a record.
func messageOf(v, raw chat.Value) chat.Message {
	m := chat.Message{Role: chat.Assistant, Raw: [][]byte{raw.Raw()}}
	is, id, content := v.Get("type").Text(), v.Get("call_id").Text(), v.Get("content")
	add := func(kind conversation.BlockKind, body []byte) {
		m.Blocks = append(m.Blocks, chat.Block{Kind: kind, Body: body})
	}
	switch {
	case inputs()[is] != "":
		name := cmp.Or(v.Get("name").Text(), strings.TrimSuffix(is, "_call"))
		m.Blocks = []chat.Block{{Kind: conversation.ToolCall, ID: id, Name: name, Body: inputOf(v.Get(inputs()[is]), is)}}
	case strings.HasSuffix(is, "_output"):
		m.Role = chat.Tool
		m.Blocks = []chat.Block{resultOf(id, v.Get("output"))}
	case is == typeThought:
		for _, key := range []string{"summary", "content"} {
			for part := range v.Get(key).Each() {
				add(conversation.Reasoning, part.Get("text").Raw())
			}
		}
		if len(m.Blocks) == 0 { // all of it is encrypted
			add(conversation.Reasoning, nil)
		}
	case content.Kind() == jsontape.Array || content.Kind() == jsontape.String:
		m.Role = chat.User
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

// inputOf returns the input of a tool call. A function's arguments are JSON in a string.
func inputOf(v chat.Value, is string) []byte {
	if is == "function_call" {
		return v.UnwrapJSON()
	}
	return v.Raw()
}

// resultOf returns the output of a tool: a text, a list of parts, or, up to about 0.118, an object with
// metadata.
func resultOf(call string, output chat.Value) chat.Block {
	b := chat.Block{Kind: conversation.ToolResult, ID: call, Body: output.Raw(), Failed: output.Get("success").Kind() == jsontape.False}
	if content := output.Get("content"); content.There() {
		b.Body = content.Raw()
	}
	const code = "exit_code"
	if bytes.Contains(output.Raw(), []byte(code)) {
		v, err := chat.Parse([]byte(output.Text()))
		b.Failed = b.Failed || err == nil && v.Get("metadata", code).Number() != 0
	}
	b.NoteExit(exitCode, "Exit code: ", "Process exited with code ")
	return b
}

// exitCode finds the exit code of a command in the lines before its output.
var exitCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^\\]|\\[^n]|\\n)*?(?:"|\\n)(?:Exit code: |Process exited with code )(-?\d+)\\n(?:[^"\\]*\\n){0,3}?(?:Total output lines|Output)`)
})

// isEntry reports whether the model reads a record.
func (r *record) isEntry() bool {
	return r.is == typeItem || r.is == typeBetween || r.is == typeCompacted
}
