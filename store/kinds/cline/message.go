package cline

import (
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// messageOf returns a message. A user's message with results of tools is a tool's.
func messageOf(v chat.Value) chat.Message {
	m := chat.Message{Role: chat.RoleOf(v.Get("role").Text()), Model: v.Get("modelInfo", "id").Text(), Raw: [][]byte{jsontape.AppendCompact(nil, v.Raw())}}
	if is := v.Get("metrics"); is.Get("inputTokens").There() {
		m.Usage = conversation.Usage{
			Counted: true, Input: is.Get("inputTokens").Number(), Output: is.Get("outputTokens").Number(),
			CacheRead: is.Get("cacheReadTokens").Number(), CacheWrite: is.Get("cacheWriteTokens").Number(),
			Cost: is.Get("cost").Number(), Priced: is.Get("cost").Number() > 0,
		}
	}
	content := v.Get("content")
	if content.Kind() == jsontape.String {
		m.Blocks = append(m.Blocks, chat.TextBlock(content.Raw()))
	}
	if content.Kind() == jsontape.Array {
		for part := range content.Each() {
			m.Blocks = append(m.Blocks, blockOf(part))
		}
	}
	if m.Role == chat.User && len(m.Blocks) > 0 && m.Blocks[0].Kind == conversation.ToolResult {
		m.Role = chat.Tool
	}
	return m
}

// isSilent reports whether a record of a type is about requests, and no message.
func isSilent(says string) bool {
	switch says {
	case "api_req_started", "api_req_finished", "api_req_retried", "checkpoint_created", "deleted_api_reqs":
		return true
	}
	return false
}

// speakerOf returns who speaks in a record of a type (ClineSay in ExtensionMessage.ts of cline/cline).
func speakerOf(says string) chat.Role {
	switch says {
	case "task", "user_feedback", "user_feedback_diff":
		return chat.User
	case "command_output", "browser_action_result", "mcp_server_response":
		return chat.Tool
	}
	return chat.Assistant
}

// shownMessage returns a message as the extension showed it, without blocks where nothing was said. The first one is the task.
func shownMessage(v chat.Value, first bool) chat.Message {
	says := v.Get(v.Get("type").Text()).Text()
	m := chat.Message{Role: speakerOf(says), Raw: [][]byte{jsontape.AppendCompact(nil, v.Raw())}}
	if first {
		m.Role = chat.User
	}
	text := v.Get("text")
	switch {
	case text.Text() == "" || isSilent(says):
	case says == "reasoning":
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Reasoning, Body: text.Raw()})
	default:
		m.Blocks = append(m.Blocks, chat.TextBlock(text.Raw()))
	}
	return m
}

// blockOf returns the block of a part of a content.
func blockOf(part chat.Value) chat.Block {
	text := func(key string) []byte {
		if is := part.Get(key); is.Kind() == jsontape.String {
			return is.Raw()
		}
		return nil
	}
	b := chat.Block{Kind: conversation.Unknown, Body: jsontape.AppendCompact(nil, part.Raw())}
	switch part.Get("type").Text() {
	case "text":
		if body := text("text"); body != nil {
			b = chat.TextBlock(body)
		}
	case "thinking":
		if body := text("thinking"); body != nil {
			b = chat.Block{Kind: conversation.Reasoning, Body: body}
		}
	case "file":
		b = chat.ContextBlock("file", part.Get("path").Text(), part.Get("content").Text())
	case "tool_use":
		b = chat.Block{Kind: conversation.ToolCall, ID: part.Get("id").Text(), Name: part.Get("name").Text(), Body: jsontape.AppendCompact(nil, part.Get("input").Raw())}
	case "tool_result":
		b = chat.Block{Kind: conversation.ToolResult, ID: part.Get("tool_use_id").Text(), Name: part.Get("name").Text(), Failed: part.Get("is_error").True()}
		b.Body = resultOf(part.Get("content"), &b.Failed)
	}
	return b
}

// resultOf returns the content of a result. Cline's own tools answer each query by itself, and say which failed.
func resultOf(content chat.Value, failed *bool) []byte {
	var texts []string
	for one := range content.Each() {
		result := one.Get("result")
		if !one.Get("query").There() || result.Kind() != jsontape.String {
			return jsontape.AppendCompact(nil, content.Raw())
		}
		*failed = *failed || one.Get("success").Kind() == jsontape.False
		text := result.Text()
		if why := one.Get("error").Text(); !strings.Contains(text, why) {
			text = strings.TrimSpace(text + "\n" + why)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return jsontape.AppendCompact(nil, content.Raw())
	}
	return jsontape.AppendQuoted(nil, strings.Join(texts, "\n"))
}
