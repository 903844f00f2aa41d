package request

import (
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Kind is the kind of a block.
type Kind uint8

// The kinds of block, in the words of [Kind.String].
const (
	// System is the system prompt, or a part of it.
	System Kind = iota
	// Tool is the description of a tool.
	Tool
	// Context is a text that a program put beside the conversation: a file, a reminder, a message of the system between others.
	Context
	// Prompt is a text that a person wrote.
	Prompt
	// Answer is a text of the model, Thought its reasoning, Call a tool call.
	Answer
	Thought
	Call
	// Result is the result of a tool.
	Result
	// Other is any other block.
	Other
)

var kindWords = [...]string{"system", "tool", "context", "prompt", "answer", "thought", "call", "result", "other"}

// String returns the kind in a word.
func (k Kind) String() string { return kindWords[k] }

// Block is a part of a request.
type Block struct {
	Kind Kind
	// Message is the number of its message from 0, -1 of the system prompt and of tools.
	Message int
	// Name names a tool, or what a context is; "" else. Title is how it begins, on one line.
	Name, Title string
	// Node is the block as it stands in the body, and Bytes its length there.
	Node  jsontape.Node
	Bytes int
	// Cached says that the provider was asked to cache what is sent up to its end.
	Cached bool
}

// Outline is the blocks of a request, in the order in which they are sent: system prompt, tools, messages. It is not
// changed once it was made, and is safe for concurrent use.
type Outline struct {
	Request
	// Tape is the body, and Conversation its messages.
	Tape         *jsontape.Tape
	Conversation *conversation.Conversation
	Blocks       []Block
	// Model is the model that was asked, "" if that is not known.
	Model string
	// SystemBytes, ToolBytes and MessageBytes are the lengths of the parts, and Tools counts the tools.
	SystemBytes, ToolBytes, MessageBytes, Tools int

	// sums has a hash of the value of each message.
	sums []uint64
}

// NewOutline reads a request that has a body, and proves it where there is a digest. The error is a *jsontape.SyntaxError.
func NewOutline(r Request) (*Outline, error) {
	t, err := jsontape.Parse(r.Body)
	if err != nil {
		return nil, err
	}
	r.prove(t)
	o := &Outline{Request: r, Tape: t, Conversation: conversation.Decode(t)}
	o.Model = textOf(t, t.Find(0, "model"))
	if system := t.Find(0, "system"); t.Kind(system) == jsontape.Array {
		for n := t.First(system); n >= 0; n = t.Next(n) {
			o.addSystem(n)
		}
	} else if system >= 0 {
		o.addSystem(system)
	}
	for n := t.First(max(t.Find(0, "tools"), 0)); t.Kind(t.Find(0, "tools")) == jsontape.Array && n >= 0; n = t.Next(n) {
		o.addTool(n)
	}
	for m := range o.Conversation.Len() {
		o.addMessage(m)
	}
	return o, nil
}

// add adds a block.
func (o *Outline) add(b Block) {
	b.Bytes = len(o.Tape.Raw(b.Node))
	b.Cached = o.Tape.Find(b.Node, CacheControl) >= 0
	switch {
	case b.Kind == System:
		o.SystemBytes += b.Bytes
	case b.Kind == Tool:
		o.ToolBytes, o.Tools = o.ToolBytes+b.Bytes, o.Tools+1
	default:
		o.MessageBytes += b.Bytes
	}
	o.Blocks = append(o.Blocks, b)
}

// CacheControl is the key of a block by which Anthropic's models are asked to cache the request up to its end.
const CacheControl = "cache_control"

func (o *Outline) addSystem(n jsontape.Node) {
	text := n
	if o.Tape.Kind(n) == jsontape.Object {
		text = o.Tape.Find(n, "text")
	}
	o.add(Block{Kind: System, Message: -1, Node: n, Title: lineOf(o.Tape, text)})
}

// addTool adds a tool.
func (o *Outline) addTool(n jsontape.Node) {
	t := o.Tape
	o.add(Block{Kind: Tool, Message: -1, Node: n, Name: ToolName(t, n), Title: lineOf(t, t.Find(functionOf(t, n), "description"))})
}

// ToolName returns the name of a tool, as Anthropic, OpenAI and Gemini describe one; "" without one. OpenHands calls the
// name a title. It is untrusted.
func ToolName(t *jsontape.Tape, n jsontape.Node) string {
	at := functionOf(t, n)
	name := t.Find(at, "name")
	if name < 0 {
		name = t.Find(at, "title")
	}
	return textOf(t, name)
}

// functionOf returns the description in the description of a tool: OpenAI's is an object of its own.
func functionOf(t *jsontape.Tape, n jsontape.Node) jsontape.Node {
	if function := t.Find(n, "function"); function >= 0 {
		return function
	}
	return n
}

func (o *Outline) addMessage(m int) {
	c, t := o.Conversation, o.Tape
	node := c.Message(m).Node
	o.sums = append(o.sums, sumOf(t, node))
	blocks, before := c.Blocks(m), len(o.Blocks)
	for i := range blocks {
		b := &blocks[i]
		if b.Kind == conversation.CachePoint {
			if len(o.Blocks) > before {
				o.Blocks[len(o.Blocks)-1].Cached = true
			}
			continue
		}
		if b.Kind == conversation.Failure {
			continue // the model is not told
		}
		block := Block{Kind: Other, Message: m, Node: b.Node, Title: lineOf(t, b.Body)}
		if len(blocks) == 1 && t.Kind(b.Node) == jsontape.String {
			block.Node = node
		}
		switch role := c.Message(m).Role; b.Kind {
		case conversation.ToolCall:
			block.Kind, block.Name = Call, c.ToolName(b)
			block.Title = conversation.NewAct(block.Name, rawOf(t, b.Body)).Text
		case conversation.ToolResult:
			block.Kind, block.Name = Result, c.ToolName(b)
			block.Title = conversation.OneLine(conversation.ReadYield(rawOf(t, b.Body)).First)
		case conversation.Reasoning:
			block.Kind = Thought
		case conversation.Context:
			block.Kind, block.Name = Context, textOf(t, b.Name)
		case conversation.Text:
			switch {
			case role == conversation.Assistant:
				block.Kind = Answer
			case role == conversation.System && m == 0:
				block.Kind = System
			case role == conversation.User && isTyped(t, b.Body):
				block.Kind = Prompt
			case role == conversation.User || role == conversation.System:
				block.Kind = Context
			}
		default:
			block.Title = c.Label(b)
			if role == conversation.User {
				block.Kind = Prompt
			}
		}
		o.add(block)
	}
	if len(blocks) == 0 {
		empty := map[conversation.Role]Kind{conversation.User: Context, conversation.System: Context, conversation.Assistant: Answer, conversation.Tool: Result}
		kind, known := empty[c.Message(m).Role]
		if !known {
			kind = Other
		}
		o.add(Block{Kind: kind, Message: m, Node: node, Title: "(empty)"})
	}
}

// isTyped reports whether a person typed words of a text.
func isTyped(t *jsontape.Tape, n jsontape.Node) bool {
	const enough = 256 << 10 // bytes in which the words of a person stand
	words, by := conversation.WordsTyped(string(t.AppendText(nil, n, enough)))
	return by != conversation.Wrapped && words != ""
}

// mostName bounds a name in bytes.
const mostName = 80

// textOf returns the beginning of a string, "" for any other node.
func textOf(t *jsontape.Tape, n jsontape.Node) string {
	if t.Kind(n) != jsontape.String {
		return ""
	}
	return conversation.OneLine(string(t.AppendText(nil, n, mostName)))
}

// lineOf returns how a value begins, on one line.
func lineOf(t *jsontape.Tape, n jsontape.Node) string {
	const head = 4 * conversation.MaxTitle
	switch {
	case n < 0:
		return ""
	case t.Kind(n) == jsontape.String:
		return conversation.Cut(conversation.OneLine(string(t.AppendText(nil, n, head))), conversation.MaxTitle)
	}
	raw := t.Raw(n)
	return conversation.Cut(conversation.OneLine(string(raw[:min(len(raw), head)])), conversation.MaxTitle)
}

func rawOf(t *jsontape.Tape, n jsontape.Node) []byte {
	if n < 0 {
		return nil
	}
	return t.Raw(n)
}

// Messages returns how many messages are sent.
func (o *Outline) Messages() int { return len(o.sums) }

// Only returns a conversation of some messages of the request, by their numbers, in that order.
func (o *Outline) Only(messages []int) *conversation.Conversation {
	body := []byte(`{"messages":[`)
	for i, m := range messages {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, o.Tape.Raw(o.Conversation.Message(m).Node)...)
	}
	t, err := jsontape.Parse(append(body, `]}`...))
	if err != nil {
		panic(err) // they are values of a body that is parsed
	}
	return conversation.Decode(t)
}
