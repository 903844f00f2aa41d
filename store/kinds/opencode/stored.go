package opencode

import (
	"bytes"
	"cmp"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// stored is a message as it is stored: its own record, and those of its parts by ascending id.
type stored struct {
	id      string
	created int64 // milliseconds
	// newer says that it is a row of opencode 2, which are in the order of seq. stands says that it stands for all before it.
	newer, stands bool
	seq           int64
	// info is nil where only parts are left.
	info  []byte
	parts []part
}

// part is the record of a part.
type part struct {
	id   string
	data []byte
}

// withIDs returns a record with the ids that a row has beside it, as opencode exports it: each
// follows its key.
func withIDs(data []byte, ids ...string) []byte {
	if len(data) == 0 || data[0] != '{' || !jsontape.Valid(data) {
		return data
	}
	head := []byte{'{'}
	for i := 0; i < len(ids); i += 2 {
		if ids[i+1] != "" && jsontape.FindMember(data, `"`+ids[i]+`"`) == nil {
			head = append(jsontape.AppendQuoted(append(jsontape.AppendQuoted(head, ids[i]), ':'), ids[i+1]), ',')
		}
	}
	if rest := bytes.TrimSpace(data[1:]); rest[0] == '}' {
		head = bytes.TrimSuffix(head, []byte(","))
	}
	return append(head, data[1:]...)
}

// exportJSON returns the records in one, as opencode exports them. What is no JSON becomes a string.
func (m *stored) exportJSON() []byte {
	text := append(append([]byte(`{"info":`), orString(m.info)...), `,"parts":[`...)
	for i := range m.parts {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, orString(m.parts[i].data)...)
	}
	return append(text, "]}"...)
}

func orString(data []byte) []byte {
	switch {
	case data == nil:
		return []byte("null")
	case jsontape.Valid(data):
		return data
	}
	return jsontape.AppendQuoted(nil, string(data))
}

// The texts that opencode sends in place of an old result that it cleared, and of a result that is missing
// when it resumes.
var (
	cleared     = []byte(`"[Old tool result content cleared]"`)
	interrupted = []byte(`"[Tool execution was interrupted]"`)
)

// sentMessages returns the messages that opencode sends for a stored one. An answer with tool calls is followed by
// the results, and by the model's words after them.
func (m *stored) sentMessages() (list []chat.Message) {
	info, _ := chat.Parse(m.info) // of a damaged one the parts are left
	first := chat.Message{Role: chat.Assistant}
	switch info.Get("role").Text() {
	case "user":
		first.Role = chat.User
	case "system":
		first.Role = chat.System
	}
	if first.Role == chat.Assistant {
		first.Model, first.Usage = info.Get("modelID").Text(), usageOf(info)
	}
	list = []chat.Message{first}
	at, results := 0, chat.Message{Role: chat.Tool}
	for i := range m.parts {
		v, err := chat.Parse(m.parts[i].data)
		if err != nil {
			continue // raw has it
		}
		kind := v.Get("type").Text()
		if kind == typeStepStart && len(results.Blocks) > 0 {
			list = append(list, results, chat.Message{Role: chat.Assistant})
			at, results = len(list)-1, chat.Message{Role: chat.Tool}
		}
		blocks := &list[at].Blocks
		switch kind {
		case typeText:
			if !v.Get("ignored").True() && len(v.Get("text").Raw()) > len(`""`) {
				*blocks = append(*blocks, chat.TextBlock(v.Get("text").Raw()))
			}
		case typeReasoning:
			*blocks = append(*blocks, chat.Block{Kind: conversation.Reasoning, Body: v.Get("text").Raw()})
		case typeTool:
			call, result := toolOf(v)
			if *blocks = append(*blocks, call); result != nil {
				results.Blocks = append(results.Blocks, *result)
			}
		case typeCompaction:
			*blocks = append(*blocks, chat.TextBlock([]byte(`"What did we do so far?"`)))
		case typeSubtask:
			*blocks = append(*blocks, chat.TextBlock([]byte(`"The following tool was executed by the user"`)))
		default:
			if !unread[kind] && !(kind == typeFile && unread[v.Get("mime").Text()]) {
				*blocks = append(*blocks, chat.Block{Kind: conversation.Unknown, Body: v.Raw()})
			}
		}
	}
	for _, why := range []chat.Value{info.Get("error", "data", "message"), info.Get("error", "name")} {
		if why.Text() != "" {
			list[at].Blocks = append(list[at].Blocks, chat.FailureBlock(why.Raw()))
			break
		}
	}
	if len(results.Blocks) > 0 {
		list = append(list, results)
	}
	list[0].Raw = [][]byte{m.exportJSON()}
	return list
}

// isSent reports whether opencode sends anything of the message to the model: of an answer that
// failed it does where the user stopped it when it had said or done something.
func (m *stored) isSent() bool {
	info, _ := chat.Parse(m.info) // of a damaged one the parts are left
	if info.Get("role").Text() != "assistant" {
		return len(m.parts) > 0
	}
	var thought, worked, said bool
	for i := range m.parts {
		switch kind := jsontape.Unquote(jsontape.FindMember(m.parts[i].data, `"type"`)); {
		case kind == typeStepStart:
		case kind == typeReasoning:
			thought = true
		case unread[kind]:
			worked = true
		default:
			said = true
		}
	}
	switch name := info.Get("error", "name").Text(); {
	case failureText(info) == "":
		return thought || said
	case name == errorStopped:
		return said || thought && worked
	}
	return false
}

// usageOf returns the usage of an answer. The output includes reasoning tokens or not; the total tells which.
func usageOf(info chat.Value) conversation.Usage {
	u, tokens := info.Usage(), info.Get("tokens")
	if r := tokens.Get("reasoning").Number(); r > 0 && u.Input+u.Output+r == tokens.Get("total").Number() {
		u.Output += r
	}
	return u
}

// Types of parts.
const (
	typeText, typeReasoning, typeTool  = "text", "reasoning", "tool"
	typeStepStart, typeStepFinish      = "step-start", "step-finish"
	typeSnapshot, typePatch, typeRetry = "snapshot", "patch", "retry"
	typeFile, typeAgent                = "file", "agent"
	typeSubtask, typeCompaction        = "subtask", "compaction"
	statusCompleted, statusError       = "completed", "error"
	statusPending, statusRunning       = "pending", "running"
)

var known = map[string]bool{
	typeText: true, typeReasoning: true, typeTool: true, typeStepStart: true, typeStepFinish: true, typeSnapshot: true,
	typePatch: true, typeRetry: true, typeFile: true, typeAgent: true, typeSubtask: true, typeCompaction: true,
}

// unread are the types of parts that the model reads nothing of, and those of files: what they
// stand for is in a text beside them.
var unread = map[string]bool{
	typeStepStart: true, typeStepFinish: true, typeSnapshot: true, typePatch: true, typeRetry: true, typeAgent: true,
	"text/plain": true, "application/x-directory": true,
}

// errorStopped is the name of the error of an answer that the user stopped.
const errorStopped = "MessageAbortedError"

// toolOf returns the call of a tool, and its result: nil for a status that opencode does not know.
func toolOf(v chat.Value) (call chat.Block, result *chat.Block) {
	state := v.Get("state")
	id, name := v.Get("callID").Text(), v.Get("tool").Text()
	call = chat.Block{Kind: conversation.ToolCall, ID: id, Name: name, Body: state.Get("input").Raw()}
	r := chat.Block{Kind: conversation.ToolResult, ID: id, Name: name}
	switch state.Get("status").Text() {
	case statusCompleted:
		if r.Body = state.Get("output").Raw(); isCleared(state) {
			r.Body = cleared
		}
	case statusError:
		r.Body, r.Failed = state.Get("error").Raw(), true
		if half := state.Get("metadata", "output"); state.Get("metadata", "interrupted").True() && half.Kind() == jsontape.String {
			r.Body = half.Raw() // the model reads that
		}
	default:
		if !isOpen(state) {
			return call, nil
		}
		r.Body, r.Failed = interrupted, true
	}
	return call, &r
}

// isOpen reports whether a tool has not ended, as far as its state tells.
func isOpen(state chat.Value) bool {
	status := state.Get("status").Text()
	return status == statusPending || status == statusRunning
}

// isCleared reports whether the model no longer reads a result.
func isCleared(state chat.Value) bool { return state.Get("time", "compacted").There() }

// wholeSaid joins the messages of an answer into one for the timeline, across the results between them.
func wholeSaid(list []chat.Message) chat.Said {
	whole := chat.Message{Role: list[0].Role}
	for i := range list {
		whole.Blocks = append(whole.Blocks, list[i].Blocks...)
	}
	return whole.Summarise()
}

// failureText returns, on one line, the error of an answer; "" if it succeeded.
func failureText(info chat.Value) string {
	e := info.Get("error")
	if !e.There() || e.Kind() == jsontape.Null {
		return ""
	}
	name, why := e.Get("name").Words(), e.Get("data", "message").Words()
	return cmp.Or(strings.Trim(name+": "+why, ": "), "it failed")
}
