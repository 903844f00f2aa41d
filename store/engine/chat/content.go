package chat

import (
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// PartBlock returns the block of a part of a content of the Gemini API, which several agents keep.
func PartBlock(part Value) Block {
	call, result, text := part.Get("functionCall"), part.Get("functionResponse"), part.Get("text")
	switch {
	case call.There():
		return Block{Kind: conversation.ToolCall, ID: call.Get("id").Text(), Name: call.Get("name").Text(), Body: call.Get("args").Raw()}
	case result.There():
		body := result.Get("response")
		output, failure := body.Get("output"), body.Get("error")
		b := Block{Kind: conversation.ToolResult, ID: result.Get("id").Text(), Name: result.Get("name").Text(), Body: body.Raw(), Failed: failure.There()}
		if output.Kind() == jsontape.String {
			b.Body = output.Raw()
		} else if failure.Kind() == jsontape.String {
			b.Body = failure.Raw()
		}
		return b
	case part.Get("thought").True():
		return Block{Kind: conversation.Reasoning, Body: text.Raw()}
	case text.Kind() == jsontape.String:
		return TextBlock(text.Raw())
	}
	return Block{Kind: conversation.Unknown, Body: part.Raw()}
}
