package conversation

import "hindcast/model/jsontape"

// fields are the members of a message that matter, or None for a missing member. They are found in one
// walk, because a state may have a hundred thousand messages.
type fields struct {
	role, content, calls, callID, name, status Node
	redacted, wrapped                          Node
	kind, parts, author                        Node
	traits                                     traits
}

// keyOf returns the key of a member without its quotes. The keys that are looked
// for here are never written with escapes.
func keyOf(t *jsontape.Tape, n Node) []byte {
	quoted := t.RawKey(n)
	return quoted[1 : len(quoted)-1]
}

func readFields(t *jsontape.Tape, n Node) fields {
	const none = jsontape.None
	f := fields{none, none, none, none, none, none, none, none, none, none, none, 0}
	if t.Kind(n) != jsontape.Object {
		return f
	}
	for c := t.First(n); c >= 0; c = t.Next(c) {
		switch string(keyOf(t, c)) {
		case "role":
			f.role = c
		case "type":
			if f.kind = c; isLangChain(t, n, c) {
				f.role, f.traits = c, f.traits|traitLangChain
			}
		case "parts":
			f.parts = c
		case "author":
			f.author = c
		case "status":
			f.status = c
		case "content":
			f.content = c
		case "contents":
			if f.content < 0 && t.Kind(c) == jsontape.Array {
				f.content, f.traits = c, f.traits|traitAgentFramework
			}
		case "tool_calls":
			f.calls = c
		case "tool_call_id":
			f.callID = c
		case "name":
			f.name = c
		case "redact_message":
			f.redacted = c
		case "message":
			f.wrapped = c
		case "kwargs", "data":
			if openEnvelope(t, n) == c {
				f.wrapped, f.traits = c, f.traits|traitLangChain
			}
		case "tracking_id":
			f.traits |= traitPython
		case "trackingId":
			f.traits |= traitTypeScript
		}
	}
	return f
}

// readMessage reads one element of the list.
func (c *Conversation) readMessage(n Node) {
	t := c.tape
	m, f := n, readFields(t, n)
	redacted := t.Kind(f.redacted) == jsontape.Object
	switch { // as unwrapMessage does
	case redacted:
		m, f = f.redacted, readFields(t, f.redacted)
	case f.role < 0 && t.Kind(f.wrapped) == jsontape.Object:
		role, outer := className(t, n), f.traits
		if role < 0 && outer&traitLangChain != 0 {
			role = f.kind
		}
		m, f = f.wrapped, readFields(t, f.wrapped)
		f.role, f.traits = max(f.role, role), f.traits|outer
	case f.role < 0 && c.readItem(n, f.kind):
		return
	}
	f.readParts(t)
	c.beginMessage(Message{Node: n, Role: c.readRole(f.role), Redacted: redacted})
	c.traits |= f.traits
	switch {
	case f.callID >= 0:
		b := newBlock(m)
		b.Kind, b.ID, b.Name, b.Body, b.Status = ToolResult, f.callID, f.name, f.content, readStatus(t, f.status)
		c.addBlock(b)
		c.traits |= traitOpenAI
	case f.parts >= 0:
		c.readParts(f.parts)
	case t.Kind(f.content) == jsontape.Array:
		for n := t.First(f.content); n >= 0; n = t.Next(n) {
			if b, ok := decodeTyped(t, n); ok && b.Kind == ToolCall && f.traits&traitLangChain != 0 {
				continue // which LangChain has in tool_calls too
			}
			c.readContent(n)
		}
	case t.Kind(f.content) == jsontape.String:
		if !(len(t.Raw(f.content)) == len(`""`) && f.calls >= 0) {
			c.addBlock(readValue(t, f.content))
		}
		c.traits |= traitOpenAI
	case f.content >= 0 && t.Kind(f.content) != jsontape.Null:
		c.readContent(f.content)
	}
	if t.Kind(f.calls) == jsontape.Array {
		c.traits |= traitOpenAI
		for n := t.First(f.calls); n >= 0; n = t.Next(n) {
			c.functionCall(n)
		}
	}
	if last := &c.messages[len(c.messages)-1]; last.first == last.end && (f.role < 0 || f.content < 0 && f.calls < 0) {
		c.addBlock(newBlock(m))
	}
}

// beginMessage starts a message, and add gives it its blocks.
func (c *Conversation) beginMessage(m Message) {
	m.first = int32(len(c.blocks))
	m.end = m.first
	c.messages = append(c.messages, m)
}

func (c *Conversation) addBlock(b Block) {
	c.blocks = append(c.blocks, b)
	c.messages[len(c.messages)-1].end = int32(len(c.blocks))
}

func (c *Conversation) readRole(n Node) Role {
	switch t := c.tape; {
	case isText(t, n, "user"), isText(t, n, "human"), isText(t, n, "HumanMessage"):
		return User
	case isText(t, n, "assistant"), isText(t, n, "ai"), isText(t, n, "AIMessage"), isText(t, n, "AIMessageChunk"):
		return Assistant
	case isText(t, n, "model"): // Gemini's contents have parts, which tell
		c.traits |= traitGenkit
		return Assistant
	case isText(t, n, "tool"), isText(t, n, "ToolMessage"):
		return Tool
	case isText(t, n, "system"), isText(t, n, "SystemMessage"), isText(t, n, "developer"):
		return System
	}
	return UnknownRole
}

// readContent reads one element of a content list.
func (c *Conversation) readContent(n Node) {
	for b, marks := range blocksOf(c.tape, n) {
		c.traits |= marks
		c.addBlock(b)
	}
}

// functionCall reads an element of OpenAI's tool_calls.
func (c *Conversation) functionCall(n Node) {
	t := c.tape
	b := newBlock(n)
	if f := t.Find(n, "function"); t.Kind(f) == jsontape.Object {
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "id"), t.Find(f, "name"), t.Find(f, "arguments")
	} else if args := t.Find(n, "args"); args >= 0 { // LangChain's
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "id"), t.Find(n, "name"), args
	}
	c.addBlock(b)
}

// pairTools joins tool calls with their results: by id, or without an id (a ref is optional in Genkit) by name
// with the oldest waiting call. The first result of a call counts; a second one has no pair.
func (c *Conversation) pairTools() {
	byID, byName := make(map[string]int32), make(map[string][]int32) // by name those that wait, without an id
	for i := range c.blocks {
		b := &c.blocks[i]
		switch {
		case b.Kind == ToolCall && b.ID >= 0:
			byID[string(c.tape.Raw(b.ID))] = int32(i)
		case b.Kind == ToolCall && b.Name >= 0:
			name := string(c.tape.Raw(b.Name))
			byName[name] = append(byName[name], int32(i))
		case b.Kind == ToolResult && b.ID >= 0:
			call, ok := byID[string(c.tape.Raw(b.ID))]
			switch {
			case !ok:
			case c.blocks[call].Pair < 0:
				c.joinPair(call, int32(i))
			default:
				b.Repeated = c.tape.Kind(b.ID) != jsontape.Null
			}
		case b.Kind == ToolResult && b.Name >= 0:
			name := string(c.tape.Raw(b.Name))
			if calls := byName[name]; len(calls) > 0 {
				c.joinPair(calls[0], int32(i))
				byName[name] = calls[1:]
			}
		}
	}
}

func (c *Conversation) joinPair(call, result int32) {
	c.blocks[call].Pair, c.blocks[result].Pair = result, call
}
