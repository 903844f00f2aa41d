package trajectory

import (
	"regexp"
	"slices"
	"sync"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// decodeStep returns the messages of a step of ATIF: one with the words and calls, and one with the results.
func decodeStep(v chat.Value) []chat.Message {
	calls := slices.Collect(v.Get("tool_calls").Each())
	m := chat.Message{Role: chat.RoleOf(v.Get("source").Text()), Model: v.Get("model_name").Text(), Usage: usageOf(v.Get("metrics"))}
	if v.Get("source").Text() == "agent" {
		m.Role = chat.Assistant
	}
	m.Blocks = appendTexts(m.Blocks, conversation.Reasoning, v.Get("reasoning_content"))
	m.Blocks = appendTexts(m.Blocks, conversation.Text, v.Get("message"))
	for _, call := range calls {
		m.Blocks = append(m.Blocks, chat.Block{
			Kind: conversation.ToolCall, ID: call.Get("tool_call_id").Text(), Name: call.Get("function_name").Text(), Body: call.Get("arguments").Raw(),
		})
	}
	results := chat.Message{Role: chat.Tool}
	for result := range v.Get("observation", "results").Each() {
		id, content := result.Get("source_call_id").Text(), result.Get("content")
		if len(calls) > 0 {
			if id == "" { // some converters name no call: the results are in the order of the calls
				id = calls[0].Get("tool_call_id").Text()
			}
			calls = calls[1:]
		}
		if id == "" {
			results.Blocks = appendTexts(results.Blocks, conversation.Text, content)
			continue
		}
		extra := result.Get("extra")
		failed := extra.Get("is_error").True() || extra.Get("tool_result_is_error").True()
		results.Blocks = append(results.Blocks, chat.Block{Kind: conversation.ToolResult, ID: id, Body: resultOf(content), Failed: failed})
		results.Blocks[len(results.Blocks)-1].NoteExit(returnCode, returnTag)
	}
	switch {
	case len(results.Blocks) == 0:
		return []chat.Message{m}
	case len(m.Blocks) == 0:
		return []chat.Message{results}
	}
	return []chat.Message{m, results}
}

// usageOf returns the metrics of a step. Tokens of a cache are among those of the prompt.
func usageOf(metrics chat.Value) (u conversation.Usage) {
	read, written, cost := metrics.Get("prompt_tokens"), metrics.Get("completion_tokens"), metrics.Get("cost_usd")
	u.Counted = read.There() || written.There()
	u.Input, u.Output, u.CacheRead = read.Number(), written.Number(), metrics.Get("cached_tokens").Number()
	u.Cost, u.Priced = cost.Number(), cost.Kind() == jsontape.Number
	return u
}

// returnCode finds the exit code that mini-swe-agent writes before the output of a command.
var returnCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<returncode>(-?\d+)</returncode>`) })

const returnTag = "<returncode>"

// appendTexts appends the blocks of a content: a text, or a list of parts. A part without a text stays as it is.
func appendTexts(blocks []chat.Block, kind conversation.BlockKind, content chat.Value) []chat.Block {
	switch content.Kind() {
	case jsontape.String:
		if len(content.Raw()) > len(`""`) {
			blocks = append(blocks, chat.Block{Kind: kind, Body: content.Raw()})
		}
	case jsontape.Array:
		for part := range content.Each() {
			if text := part.Get("text"); text.Kind() == jsontape.String {
				blocks = append(blocks, chat.Block{Kind: kind, Body: text.Raw()})
			} else {
				blocks = append(blocks, chat.Block{Kind: conversation.Unknown, Body: part.Raw()})
			}
		}
	}
	return blocks
}

// resultOf returns the content of a result: a text, or the parts.
func resultOf(content chat.Value) []byte {
	if content.Kind() == jsontape.Null {
		return []byte(`""`)
	}
	return content.Raw()
}

// decodeChat returns the message of a chat that a model was asked with, in the shapes of chat completions and of responses. The
// two agents say besides how the call went.
func decodeChat(v chat.Value) []chat.Message {
	extra := v.Get("extra")
	m := chat.Message{Role: chat.RoleOf(v.Get("role").Text()), Usage: extra.Get("response").Usage(), Model: extra.Get("response", "model").Text()}
	if cost := extra.Get("cost"); cost.Kind() == jsontape.Number {
		m.Usage.Cost, m.Usage.Priced = cost.Number(), true
	}
	m.Blocks = appendTexts(m.Blocks, conversation.Reasoning, v.Get("reasoning_content"))
	for block := range v.Get("thinking_blocks").Each() {
		m.Blocks = appendTexts(m.Blocks, conversation.Reasoning, block.Get("thinking"))
	}
	switch id := firstOf(v.Get("tool_call_id"), v.Get("tool_call_ids"), v.Get("call_id")); {
	case v.Get("type").Text() == "function_call_output" || id != "" && m.Role == chat.Tool:
		m.Role = chat.Tool
		content := v.Get("output")
		if !content.There() {
			content = v.Get("content")
		}
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolResult, ID: id, Body: resultOf(content), Failed: extra.Get("exception_info").Text() != ""})
		m.Blocks[len(m.Blocks)-1].NoteExit(returnCode, returnTag)
		return []chat.Message{m}
	case v.Get("role").Text() == "exit":
		m.Role = chat.Tool
	}
	m.Blocks = appendTexts(m.Blocks, conversation.Text, v.Get("content"))
	for call := range v.Get("tool_calls").Each() {
		m.Blocks = append(m.Blocks, callOf(call.Get("id"), call.Get("function")))
	}
	for item := range v.Get("output").Each() {
		switch m.Role = chat.Assistant; item.Get("type").Text() {
		case "function_call":
			m.Blocks = append(m.Blocks, callOf(item.Get("call_id"), item))
		case "reasoning":
			m.Blocks = appendTexts(m.Blocks, conversation.Reasoning, item.Get("summary"))
		default:
			m.Blocks = appendTexts(m.Blocks, conversation.Text, item.Get("content"))
		}
	}
	return []chat.Message{m}
}

// firstOf returns the first text of some values, which may be lists of texts.
func firstOf(values ...chat.Value) string {
	for _, v := range values {
		if v.Kind() == jsontape.String {
			return v.Text()
		}
		if texts := slices.Collect(v.Strings()); len(texts) > 0 {
			return texts[0]
		}
	}
	return ""
}

// callOf returns the block of a call, whose arguments are JSON in a text.
func callOf(id, function chat.Value) chat.Block {
	return chat.Block{Kind: conversation.ToolCall, ID: id.Text(), Name: function.Get("name").Text(), Body: function.Get("arguments").UnwrapJSON()}
}
