package cursor

import (
	"bytes"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// assistantType is the type of the model's messages in the editor; the person's is 1. Before 0.40 they were words.
const assistantType = 2

// bubbleMessage returns a message of the editor, and the result of the tool that it calls. What Hindcast does not
// know of it and has texts stands in blocks of its own.
func bubbleMessage(v chat.Value) (m, results chat.Message) {
	m.Role, m.Raw, results.Role = chat.User, rawOf(v), chat.Tool
	if is := v.Get("type"); is.Number() == assistantType || is.Text() == "ai" || is.Text() == "assistant" {
		m.Role = chat.Assistant
	}
	m.Model = firstText(v.Get("modelInfo", "modelName"), v.Get("modelType"))
	tokens := v.Get("tokenCount")
	m.Usage = conversation.Usage{Input: tokens.Get("inputTokens").Number(), Output: tokens.Get("outputTokens").Number()}
	m.Usage.Counted = m.Usage.Input+m.Usage.Output > 0 // Cursor writes zeros where it has not counted
	add := func(kind conversation.BlockKind, body chat.Value) {
		if strings.TrimSpace(body.Text()) != "" {
			m.Blocks = append(m.Blocks, chat.Block{Kind: kind, Body: body.Raw()})
		}
	}
	add(conversation.Reasoning, v.Get("thinking"))
	add(conversation.Reasoning, v.Get("thinking", "text"))
	text := slices.IndexFunc(textKeys, func(key string) bool { return strings.TrimSpace(v.Get(key).Text()) != "" })
	if text >= 0 {
		add(conversation.Text, v.Get(textKeys[text]))
	}
	tool := v.Get("toolFormerData")
	if name := tool.Get("name").Text(); name != "" {
		id := firstText(tool.Get("toolCallId"), tool.Get("callId"), v.Get("bubbleId"))
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolCall, ID: id, Name: name, Body: argumentsOf(tool.Get("params"), tool.Get("rawArgs"))})
		b := chat.Block{Kind: conversation.ToolResult, ID: id, Name: name, Failed: tool.Get("status").Text() == "error"}
		for _, body := range []chat.Value{tool.Get("result"), tool.Get("error")} {
			if b.Body == nil && strings.TrimSpace(body.Text()) != "" {
				b.Body = body.Raw()
			}
		}
		if b.Body != nil || b.Failed {
			results.Blocks = append(results.Blocks, b)
		}
	}
	for member := range v.Each() {
		switch key := member.Key(); {
		case key == "thinking" || text >= 0 && key == textKeys[text] || key == "richText" || key == "toolFormerData" && len(results.Blocks) > 0:
		case key == "codeBlocks":
			for code := range member.Each() {
				if body := code.Get("content"); text < 0 || !strings.Contains(v.Get(textKeys[text]).Text(), body.Text()) {
					add(conversation.Text, body)
				}
			}
		case chat.HasText(member):
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Unknown, Body: member.Raw()})
		}
	}
	return m, results
}

// textKeys are the members that may have the text of a message, the best first.
var textKeys = []string{"text", "rawText", "content", "message"}

// rawOf returns a record without line breaks of its own.
func rawOf(v chat.Value) [][]byte {
	raw := v.Raw()
	if raw == nil {
		return nil
	}
	if bytes.IndexByte(raw, '\n') >= 0 {
		raw = jsontape.AppendCompact(nil, raw)
	}
	return [][]byte{raw}
}

// firstText returns the first text that is not empty.
func firstText(list ...chat.Value) string {
	for _, v := range list {
		if text := v.Text(); text != "" {
			return text
		}
	}
	return ""
}

// argumentsOf returns the first input of a call that is there: a value, or JSON in a text.
func argumentsOf(list ...chat.Value) []byte {
	for _, v := range list {
		if inner := []byte(v.Text()); len(inner) > 0 && jsontape.Valid(inner) {
			return jsontape.AppendCompact(nil, inner)
		}
		if v.Kind() != jsontape.Null && v.Text() != "" || v.Kind() == jsontape.Object {
			return v.Raw()
		}
	}
	return nil
}

func quoted(text string) []byte { return jsontape.AppendQuoted(nil, text) }

// lineMessage returns a message of cursor-agent: a line of a transcript, or a record of its database. ok is false for a
// record of another kind.
func lineMessage(v chat.Value) (m chat.Message, ok bool) {
	m.Raw = rawOf(v)
	role := v.Get("role").Text()
	if role == "" {
		why := v.Get("error")
		if m.Role = chat.Assistant; why.Kind() == jsontape.String {
			m.Blocks = []chat.Block{chat.FailureBlock(why.Raw())}
		}
		return m, len(m.Blocks) > 0
	}
	m.Role = chat.RoleOf(role)
	m.Model = v.Get("model").Text()
	content := v.Get("message", "content")
	if !content.There() {
		content = v.Get("content")
	}
	switch {
	case content.Kind() == jsontape.Array:
		for part := range content.Each() {
			m.Blocks = append(m.Blocks, partBlock(part))
		}
	case m.Role == chat.Tool:
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolResult, ID: v.Get("tool_call_id").Text(), Name: v.Get("name").Text(), Body: content.Raw()})
	case content.Kind() == jsontape.String && content.Text() != "":
		m.Blocks = append(m.Blocks, chat.TextBlock(content.Raw()))
	case content.Kind() == jsontape.Object:
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Unknown, Body: content.Raw()})
	}
	for call := range v.Get("tool_calls").Each() {
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolCall, ID: call.Get("id").Text(), Name: call.Get("function", "name").Text(), Body: argumentsOf(call.Get("function", "arguments"))})
	}
	if m.Role == chat.User && len(m.Blocks) > 0 && m.Blocks[0].Kind == conversation.ToolResult {
		m.Role = chat.Tool
	}
	return m, true
}

// partBlock returns the block of a part of a content, in the words of Anthropic or of the AI SDK.
func partBlock(part chat.Value) chat.Block {
	first := func(keys ...string) chat.Value {
		for _, key := range keys {
			if v := part.Get(key); v.There() && v.Kind() != jsontape.Null {
				return v
			}
		}
		return chat.Value{}
	}
	b := chat.Block{Kind: conversation.Unknown, Body: part.Raw()}
	id := firstText(part.Get("id"), part.Get("toolCallId"), part.Get("tool_call_id"), part.Get("tool_use_id"))
	name := firstText(part.Get("name"), part.Get("toolName"))
	switch part.Get("type").Text() {
	case "text":
		if body := part.Get("text"); body.Kind() == jsontape.String {
			b = chat.TextBlock(body.Raw())
		}
	case "thinking", "reasoning":
		if body := first("thinking", "text"); body.Kind() == jsontape.String {
			b = chat.Block{Kind: conversation.Reasoning, Body: body.Raw()}
		}
	case "tool_use", "tool-call", "tool_call":
		b = chat.Block{Kind: conversation.ToolCall, ID: id, Name: name, Body: argumentsOf(first("input", "args", "arguments"))}
	case "tool_result", "tool-result":
		b = chat.Block{Kind: conversation.ToolResult, ID: id, Name: name, Body: first("content", "result", "output").Raw(), Failed: part.Get("is_error").True() || part.Get("isError").True()}
	}
	return b
}
