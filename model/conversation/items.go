package conversation

import (
	"strings"

	"hindcast/model/jsontape"
)

// Shapes whose messages have no list of blocks as their content:
//
//	OpenAI's items    {"type": "function_call", "call_id", "name", "arguments"}
//	                  {"type": "function_call_output", "call_id", "output"}
//	                  {"type": "reasoning", "summary": [{"text"}, …], "encrypted_content"}
//	Gemini's content  {"role": "model", "parts": [{"text"}, {"function_call": {"id", "name", "args"}}, …]}
//	ADK's event       {"author": "helper", "content": a content of Gemini's, …}
//	Mastra's message  {"role": "assistant", "content": {"format": 2, "parts": [{"type", …}, …]}}
//	the AI SDK's      {"role": "assistant", "parts": [{"type": "tool-NAME", "toolCallId", "state", "input", "output"}, …]}
//	OpenTelemetry's   {"role": "assistant", "parts": [{"type": "text", "content"}, {"type": "tool_call", …}, …]}
//
// An item is a message of its own: the calls of one answer are several.

// itemType returns the type of an item of OpenAI's that has no role, "" for anything else.
// A type is a few words.
func itemType(t *jsontape.Tape, n, kind Node) string {
	if t.Kind(kind) != jsontape.String || t.Find(n, "id") < 0 && t.Find(n, "call_id") < 0 {
		return ""
	}
	name := string(t.AppendText(nil, kind, maxName))
	if name == "reasoning" || strings.HasSuffix(name, "_call") || strings.HasSuffix(name, "_call_output") {
		return name
	}
	return ""
}

// isItem reports whether n is an item of OpenAI's without a role.
func isItem(t *jsontape.Tape, n Node) bool {
	return itemType(t, n, t.Find(n, "type")) != "" && t.Find(n, "role") < 0
}

// readItem reads an item without a role, and reports whether n is one. A tool of OpenAI's own
// has no call id, and its result with it.
func (c *Conversation) readItem(n, kind Node) bool {
	t, name := c.tape, itemType(c.tape, n, kind)
	if name == "" {
		return false
	}
	b := newBlock(n)
	b.ID = t.Find(n, "call_id")
	c.traits |= traitOpenAI
	role := Assistant
	switch {
	case name == "reasoning":
		c.beginMessage(Message{Node: n, Role: Assistant})
		c.addReasoning(n)
		return true
	case strings.HasSuffix(name, "_call_output"):
		role = Tool
		b.Kind, b.Body = ToolResult, t.Find(n, "output")
	case b.ID >= 0:
		b.Kind, b.Name = ToolCall, t.Find(n, "name")
		if b.Name < 0 {
			b.Name = kind
		}
		b.Body = max(t.Find(n, "arguments"), t.Find(n, "input"), t.Find(n, "action"))
	}
	c.beginMessage(Message{Node: n, Role: role})
	c.addBlock(b)
	return true
}

// addReasoning adds what a model thought: the summaries of it, or what is encrypted.
func (c *Conversation) addReasoning(n Node) {
	t := c.tape
	b := newBlock(n)
	b.Kind = Reasoning
	list := t.Find(n, "summary")
	if t.Kind(list) != jsontape.Array || t.First(list) < 0 {
		b.Body = t.Find(n, "encrypted_content")
		c.addBlock(b)
		return
	}
	for part := t.First(list); part >= 0; part = t.Next(part) {
		b.Body = t.Find(part, "text")
		c.addBlock(b)
	}
}

// partsOf returns the list of parts in a content, or None.
func partsOf(t *jsontape.Tape, content Node) Node {
	if parts := t.Find(content, "parts"); t.Kind(parts) == jsontape.Array {
		return parts
	}
	return jsontape.None
}

// readParts finds the parts of a message, and who speaks where only the content or the
// author of an event says it.
func (f *fields) readParts(t *jsontape.Tape) {
	if t.Kind(f.parts) != jsontape.Array {
		f.parts = jsontape.None
	}
	if parts := partsOf(t, f.content); f.parts < 0 && parts >= 0 {
		f.parts = parts
		if f.role < 0 {
			f.role = t.Find(f.content, "role")
		}
		if f.role < 0 {
			f.role = f.author
		}
	}
	if f.parts >= 0 && isText(t, f.role, "model") {
		f.traits |= traitGemini
	}
}

// readParts reads the parts of a message. It passes over a mark between steps, which says nothing.
func (c *Conversation) readParts(list Node) {
	for n := c.tape.First(list); n >= 0; n = c.tape.Next(n) {
		if !isText(c.tape, c.tape.Find(n, "type"), "step-start") {
			c.readContent(n)
		}
	}
}

// functionResponse reads what a tool gave in Gemini's shape. A tool that failed has put
// that below "error".
func (b *Block) functionResponse(t *jsontape.Tape, c Node) {
	b.Kind, b.ID, b.Name, b.Body = ToolResult, t.Find(c, "id"), t.Find(c, "name"), t.Find(c, "response")
	if failure := t.Find(b.Body, "error"); t.Kind(failure) == jsontape.String {
		b.Status, b.Body = Failed, failure
	}
}

// readInvocation reads a part of Mastra's or of the AI SDK's that calls a tool, and its result where it has one.
func readInvocation(t *jsontape.Tape, n Node) (call, result Block, ok bool) {
	call, result = newBlock(n), newBlock(n)
	of := t.Find(n, "toolInvocation")
	if t.Kind(of) == jsontape.Object {
		call.Kind, call.ID, call.Name, call.Body = ToolCall, t.Find(of, "toolCallId"), t.Find(of, "toolName"), t.Find(of, "args")
		if isText(t, t.Find(of, "state"), "result") {
			result.Kind, result.ID, result.Name, result.Body = ToolResult, call.ID, call.Name, t.Find(of, "result")
		}
		return call, result, true
	}
	kind := t.Find(n, "type")
	if t.Find(n, "toolCallId") < 0 || t.Find(n, "state") < 0 || t.Kind(kind) != jsontape.String {
		return call, result, false
	}
	call.Kind, call.ID, call.Name, call.Body = ToolCall, t.Find(n, "toolCallId"), t.Find(n, "toolName"), t.Find(n, "input")
	if call.Name < 0 { // the type is "tool-NAME"
		call.Name = kind
	}
	switch state := t.Find(n, "state"); {
	case isText(t, state, "output-available"):
		result.Kind, result.Body = ToolResult, t.Find(n, "output")
	case isText(t, state, "output-error"):
		result.Kind, result.Body, result.Status = ToolResult, t.Find(n, "errorText"), Failed
	}
	result.ID, result.Name = call.ID, call.Name
	return call, result, true
}
