package conversation

import (
	"iter"

	"hindcast/model/jsontape"
)

// Block is one piece of a message: a text, a tool call, a picture.
type Block struct {
	Kind BlockKind
	// Status is how a tool ended; NoStatus for any other block.
	Status Status
	// Interrupted says that the framework stopped before this tool call to ask
	// a person (Genkit's metadata.interrupt).
	Interrupted bool
	// Node is the whole block as it stands in the message.
	Node Node
	// Body is the content of the block: the string of a text, a tool's input or its results, the source of
	// a picture; or -1.
	Body Node
	// Name names the tool, the document or, for a picture and its like, the format; or -1.
	Name Node
	// ID joins a tool call and its result; or -1.
	ID Node
	// Pair is the number of the result of a tool call, or of the call of a result, for
	// [Conversation.Block]; or -1.
	Pair int32
	// Repeated says of a result without a pair that its call has an earlier result.
	Repeated bool
}

// Answers says which call a result without a pair is of, in words.
func (b *Block) Answers() string {
	if b.Repeated {
		return "a call that has a result already"
	}
	return "a call that is not here"
}

// BlockKind is the kind of a block.
type BlockKind uint8

// The kinds of block.
const (
	// Unknown is a block of a shape that is not known here.
	Unknown BlockKind = iota
	Text
	ToolCall
	ToolResult
	// Reasoning is the model's chain of thought; its Body is the text, or the encrypted bytes where the
	// provider hides it.
	Reasoning
	Image
	Document
	Video
	Audio
	// Media is Genkit's part for files of any type.
	Media
	// Citations is a text with its sources.
	Citations
	// CachePoint marks where a provider may cache the prompt.
	CachePoint
	// Guard is a text for a guardrail.
	Guard
	// JSON is a value, as tools give it.
	JSON
	// Context is a text that the agent gave the model beside the conversation: a file, a list
	// of skills, a reminder. Its Name is the agent's word for it, its Body the text.
	Context
	// Failure is a text by which an agent says why a message is not whole, or not there. The model is not told.
	Failure
)

var kindNames = [...]string{"unknown block", "text", "tool call", "tool result", "reasoning", "image", "document",
	"video", "audio", "media", "citations", "cache point", "guard content", "json", "context", "failure"}

// String returns the kind in words for people.
func (k BlockKind) String() string { return kindNames[k] }

// Status is how a tool ended.
type Status uint8

// The states of a tool's result.
const (
	// NoStatus: the framework records none, or the block is no tool result.
	NoStatus Status = iota
	OK
	Failed
)

// newBlock returns a block of the node with nothing known about it.
func newBlock(n Node) Block {
	return Block{Node: n, Body: n, Name: jsontape.None, ID: jsontape.None, Pair: -1}
}

// Parts returns the blocks inside a tool result, a citation or anything else
// that nests: texts, values, pictures. They are read while they are asked for,
// and have no pairs. A body that holds no blocks is one block itself.
func (c *Conversation) Parts(b *Block) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		t := c.tape
		switch {
		case b.Body < 0:
			return
		case t.Kind(b.Body) != jsontape.Array || !startsWithBlock(t, b.Body):
			yield(readValue(t, b.Body))
			return
		}
		for n := t.First(b.Body); n >= 0; n = t.Next(n) {
			for part := range blocksOf(t, n) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// startsWithBlock tells a list of blocks from an array that a tool gave.
func startsWithBlock(t *jsontape.Tape, list Node) bool {
	first := t.First(list)
	if t.Kind(first) != jsontape.Object {
		return false
	}
	for part := range blocksOf(t, first) {
		return part.Kind != Unknown
	}
	return false
}

// readValue returns a node as a block of its own.
func readValue(t *jsontape.Tape, n Node) Block {
	b := newBlock(n)
	b.Kind = JSON
	if t.Kind(n) == jsontape.String {
		b.Kind = Text
	}
	return b
}

// blocksOf returns the blocks that an element of a content list holds: one for
// each key that a known framework uses, and never none. Strands and Genkit
// write one such key for each block; Genkit may add metadata.
func blocksOf(t *jsontape.Tape, n Node) iter.Seq2[Block, traits] {
	return func(yield func(Block, traits) bool) {
		if t.Kind(n) == jsontape.String {
			yield(readValue(t, n), 0)
			return
		}
		if b, ok := decodeTyped(t, n); ok {
			yield(b, 0)
			return
		}
		if call, result, ok := readInvocation(t, n); ok {
			if yield(call, 0) && result.Kind == ToolResult {
				yield(result, 0)
			}
			return
		}
		some := false
		if t.Kind(n) == jsontape.Object {
			for c := t.First(n); c >= 0; c = t.Next(c) {
				b, marks := readMember(t, n, c)
				if b.Kind == Unknown {
					continue
				}
				some = true
				if !yield(b, marks) {
					return
				}
			}
		}
		if !some {
			yield(newBlock(n), 0)
		}
	}
}

// decodeTyped reads the blocks that say in "type" what they are and whose keys alone
// do not tell: those of Anthropic's messages, and of Microsoft's Agent Framework.
func decodeTyped(t *jsontape.Tape, n Node) (b Block, ok bool) {
	kind := t.Find(n, "type")
	b = newBlock(n)
	switch {
	case kind < 0:
		return b, false
	case isText(t, kind, "tool_use"):
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "id"), t.Find(n, "name"), t.Find(n, "input")
	case isText(t, kind, "tool_result"):
		b.Kind, b.ID, b.Body = ToolResult, t.Find(n, "tool_use_id"), t.Find(n, "content")
		if t.Kind(t.Find(n, "is_error")) == jsontape.True {
			b.Status = Failed
		}
	case isText(t, kind, "thinking"):
		b.Kind, b.Body = Reasoning, t.Find(n, "thinking")
	case isText(t, kind, "redacted_thinking"):
		b.Kind, b.Body = Reasoning, t.Find(n, "data")
	case isText(t, kind, "function_call"):
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "call_id"), t.Find(n, "name"), t.Find(n, "arguments")
	case isText(t, kind, "function_result"):
		b.Kind, b.ID, b.Body = ToolResult, t.Find(n, "call_id"), t.Find(n, "result")
		if t.Kind(t.Find(n, "exception")) == jsontape.String {
			b.Status = Failed
		}
	case isText(t, kind, "text_reasoning"):
		b.Kind, b.Body = Reasoning, t.Find(n, "text")
	default:
		if b.readSpelled(t, kind) {
			return b, true
		}
		return fileIn(t, n)
	}
	return b, true
}

// readSpelled reads a part in the words of OpenTelemetry's conventions for generative AI, and of the model messages of the AI SDK.
// kind is its type.
func (b *Block) readSpelled(t *jsontape.Tape, kind Node) bool {
	n := b.Node
	content := t.Find(n, "content")
	switch plain := t.Kind(content) == jsontape.String && t.Find(n, "text") < 0; {
	case plain && isText(t, kind, "text"):
		b.Kind, b.Body = Text, content
	case isText(t, kind, "reasoning") && (plain || t.Kind(t.Find(n, "text")) == jsontape.String):
		b.Kind, b.Body = Reasoning, max(content, t.Find(n, "text"))
	case isText(t, kind, "tool_call"):
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "id"), t.Find(n, "name"), t.Find(n, "arguments")
	case isText(t, kind, "tool_call_response"):
		b.Kind, b.ID, b.Body = ToolResult, t.Find(n, "id"), max(t.Find(n, "response"), t.Find(n, "result"))
		if t.Kind(t.Find(n, "is_error")) == jsontape.True { // what Hindcast writes beside the conventions
			b.Status = Failed
		}
	case isText(t, kind, "tool-call"):
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(n, "toolCallId"), t.Find(n, "toolName"), max(t.Find(n, "input"), t.Find(n, "args"))
	case isText(t, kind, "tool-result"):
		b.Kind, b.ID, b.Name, b.Body = ToolResult, t.Find(n, "toolCallId"), t.Find(n, "toolName"), max(t.Find(n, "output"), t.Find(n, "result"))
		if value := t.Find(b.Body, "value"); value >= 0 { // {"type": "error-text", "value": …}
			if is := t.Find(b.Body, "type"); isText(t, is, "error-text") || isText(t, is, "error-json") {
				b.Status = Failed
			}
			b.Body = value
		}
	default:
		return false
	}
	return true
}

// readMember reads the member c of the block n; the result is Unknown unless its
// key is one of a known framework. Strands: types/content.py of the Python SDK
// and the content blocks of @strands-agents/sdk. Genkit: partSchema of ai.
func readMember(t *jsontape.Tape, n, c Node) (b Block, marks traits) {
	b = newBlock(n)
	b.Body = c
	if t.Kind(c) == jsontape.Object {
		marks = b.readObject(t, c)
		return b, marks
	}
	switch string(keyOf(t, c)) {
	case "text":
		if b.Kind = Text; t.Kind(c) != jsontape.String {
			b.Kind = Unknown
		} else if t.Kind(t.Find(n, "thought")) == jsontape.True {
			b.Kind = Reasoning
		}
	case "reasoning":
		if b.Kind = Reasoning; t.Find(n, "type") < 0 { // Mastra's parts have one
			marks = traitGenkit
		}
	case "json", "data":
		b.Kind = JSON
	}
	return b, marks
}

// readObject reads a member of a block that is an object.
func (b *Block) readObject(t *jsontape.Tape, c Node) traits {
	switch string(keyOf(t, c)) {
	case "toolUse":
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(c, "toolUseId"), t.Find(c, "name"), t.Find(c, "input")
		return traitStrands
	case "toolResult":
		b.toolResult(t, c)
		return traitStrands
	case "toolRequest":
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(c, "ref"), t.Find(c, "name"), t.Find(c, "input")
		b.Interrupted = t.Find(t.Find(b.Node, "metadata"), "interrupt") >= 0
		return traitGenkit
	case "toolResponse":
		b.Kind, b.ID, b.Name, b.Body = ToolResult, t.Find(c, "ref"), t.Find(c, "name"), t.Find(c, "output")
		return traitGenkit
	case "reasoningContent":
		b.Kind = Reasoning
		if b.Body = t.Find(t.Find(c, "reasoningText"), "text"); b.Body < 0 {
			b.Body = t.Find(c, "redactedContent")
		}
		return traitPython
	case "reasoning":
		b.Kind = Reasoning
		if b.Body = t.Find(c, "text"); b.Body < 0 {
			b.Body = t.Find(c, "redactedContent")
		}
		return traitTypeScript
	case "image", "document", "video", "audio":
		b.Kind = fileKinds[string(keyOf(t, c))]
		b.Name, b.Body = t.Find(c, "format"), t.Find(c, "source")
	case "media":
		b.Kind, b.Name, b.Body = Media, t.Find(c, "contentType"), t.Find(c, "url")
		return traitGenkit
	case "function_call", "functionCall":
		b.Kind, b.ID, b.Name, b.Body = ToolCall, t.Find(c, "id"), t.Find(c, "name"), t.Find(c, "args")
		return traitGemini
	case "function_response", "functionResponse":
		b.functionResponse(t, c)
		return traitGemini
	case "inline_data", "inlineData":
		b.Kind, b.Name = Media, max(t.Find(c, "mime_type"), t.Find(c, "mimeType"))
		return traitGemini
	case "file_data", "fileData":
		b.Kind, b.Name = Media, max(t.Find(c, "mime_type"), t.Find(c, "mimeType"))
		b.Body = max(t.Find(c, "file_uri"), t.Find(c, "fileUri"))
		return traitGemini
	case "image_url":
		b.Kind, b.Body = Image, t.Find(c, "url")
		return traitOpenAI
	case "citationsContent":
		b.Kind, b.Body = Citations, t.Find(c, "content")
		return traitPython
	case "citations":
		b.Kind, b.Body = Citations, t.Find(c, "content")
		return traitTypeScript
	case "cachePoint":
		b.Kind = CachePoint
	case "failure":
		if text := t.Find(c, "text"); t.Kind(text) == jsontape.String {
			b.Kind, b.Body = Failure, text
		}
	case "context":
		if text := t.Find(c, "text"); t.Kind(text) == jsontape.String {
			b.Kind, b.Name, b.Body = Context, t.Find(c, "type"), text
		}
	case "guardContent":
		b.Kind, b.Body = Guard, t.Find(t.Find(c, "text"), "text")
	case "json", "data":
		if file, ok := fileIn(t, c); ok { // of a coding agent
			*b = file
			return 0
		}
		b.Kind = JSON
	}
	return 0
}

// fileKinds are the blocks that Strands writes as {format, source}.
var fileKinds = map[string]BlockKind{"image": Image, "document": Document, "video": Video, "audio": Audio}

// toolResult reads what Strands writes below "toolResult".
func (b *Block) toolResult(t *jsontape.Tape, c Node) {
	b.Kind, b.ID, b.Body, b.Status = ToolResult, t.Find(c, "toolUseId"), t.Find(c, "content"), readStatus(t, t.Find(c, "status"))
}

// readStatus reads how a tool ended, in the words of Strands and of LangChain.
func readStatus(t *jsontape.Tape, n Node) Status {
	switch {
	case isText(t, n, "success"):
		return OK
	case isText(t, n, "error"):
		return Failed
	}
	return NoStatus
}
