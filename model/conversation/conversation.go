// Package conversation reads the messages inside a state: who said what, which
// tools were called and what they answered, where the conversation stands, and
// what a framework does when it goes on from there.
//
// The messages are found and read by their shape, never by a declared type, because a state is whatever an
// agent kept. Eight shapes are known: Strands for Python and for TypeScript, Genkit, the {role, content,
// tool_calls} and the items of OpenAI, LangChain's {type, content, tool_calls}, the {role, contents} of
// Microsoft's Agent Framework, and Gemini's {role, parts}. A message of another shape is kept, and is
// labelled by its own type. In the record of an orchestrator of Strands, the messages are the words of its
// nodes.
//
// A Conversation refers to nodes of the state's tape and copies nothing, so
// that reading 100 MB of messages costs a walk over them and no second copy.
// Every text that comes out of it is untrusted.
package conversation

import (
	"sort"

	"hindcast/model/jsontape"
)

// Node is a position on the tape of the state.
type Node = jsontape.Node

// Conversation is the messages of one state. It never changes after [Decode]
// and is safe for concurrent use. The methods that take a number panic, as a
// slice does, when it is out of range.
type Conversation struct {
	tape *jsontape.Tape
	list Node
	// ended says that the messages are not sent again, because their task has ended.
	ended    bool
	messages []Message
	blocks   []Block
	traits   traits
	pause    pause
	run      run
}

// Message is one message. [Conversation.Blocks] returns its blocks.
type Message struct {
	// Node is the element of the list of messages; if the framework keeps the message outside the list, its
	// node there.
	Node Node
	Role Role
	// Held says that the message is not in the list but in the interrupt
	// state, where the framework keeps what it will go on with.
	Held bool
	// Redacted says that the content was replaced by the framework on purpose.
	Redacted bool

	first, end int32
	// speaker names the orchestrator's node that sent the message: a string, or the member whose key is the
	// name. 0 means no speaker, for the root is never one.
	speaker Node
}

// Role is who speaks.
type Role uint8

// The roles. The framework's own word is [Conversation.RoleText].
const (
	// UnknownRole: the message has no role, or one that no known framework has.
	UnknownRole Role = iota
	User
	// Assistant is the model; Genkit calls it "model".
	Assistant
	// Tool carries tool results, in Genkit and in OpenAI's shape.
	Tool
	System
)

var roleNames = [...]string{"unknown", "user", "assistant", "tool", "system"}

// String returns the role in one word for people.
func (r Role) String() string { return roleNames[r] }

// Decode finds the messages of a state and reads them. A state that holds none
// makes a Conversation of length 0. Decode takes any tape, one of
// [jsontape.Prefix] included, in time linear in the number of its blocks.
func Decode(t *jsontape.Tape) *Conversation {
	c := &Conversation{tape: t}
	c.list, c.ended = findMessages(t)
	c.noteState()
	if c.list >= 0 {
		for n := t.First(c.list); n >= 0; n = t.Next(n) {
			c.readMessage(n)
		}
	}
	c.readPause()
	c.readRun()
	c.pairTools()
	return c
}

// Tape returns the tape that the conversation was read from.
func (c *Conversation) Tape() *jsontape.Tape { return c.tape }

// List returns the array of the messages, or -1 if the state has no messages.
func (c *Conversation) List() Node { return c.list }

// Len returns the number of messages, held ones included.
func (c *Conversation) Len() int { return len(c.messages) }

// Message returns message m, from 0.
func (c *Conversation) Message(m int) Message { return c.messages[m] }

// Blocks returns the blocks of message m. The caller may not write to them.
func (c *Conversation) Blocks(m int) []Block {
	v := &c.messages[m]
	return c.blocks[v.first:v.end:v.end]
}

// FirstBlock returns the number, for [Conversation.Block], of the first block of
// message m; m may be [Conversation.Len], which returns the number of blocks.
func (c *Conversation) FirstBlock(m int) int {
	if m == len(c.messages) {
		return len(c.blocks)
	}
	return int(c.messages[m].first)
}

// Block returns block b of the whole conversation, from 0.
func (c *Conversation) Block(b int) *Block { return &c.blocks[b] }

// BlockLen returns the number of blocks.
func (c *Conversation) BlockLen() int { return len(c.blocks) }

// MessageOf returns the message that block b is in.
func (c *Conversation) MessageOf(b int) int {
	return sort.Search(len(c.messages), func(m int) bool { return int(c.messages[m].end) > b })
}

// Find returns the message whose element the node is or is inside of, or -1.
// Held messages are not found: they are not elements of the list.
func (c *Conversation) Find(n Node) int {
	if c.list < 0 || n >= c.tape.End(c.list) {
		return -1
	}
	listed := sort.Search(len(c.messages), func(m int) bool {
		return c.messages[m].Held || c.messages[m].speaker != 0 || c.messages[m].Node > n
	})
	return listed - 1
}

// RoleText returns the role of message m in the framework's own word, untrusted and at most 40 bytes long;
// "" if it has no role. In the record of an orchestrator it returns the name of the node that speaks, at
// most 80 bytes.
func (c *Conversation) RoleText(m int) string {
	if c.messages[m].speaker != 0 {
		return c.speakerText(&c.messages[m])
	}
	at := unwrapMessage(c.tape, c.messages[m].Node)
	n := c.tape.Find(at, "role")
	if n < 0 && partsOf(c.tape, c.tape.Find(at, "content")) >= 0 {
		n = c.tape.Find(at, "author")
	}
	if isItem(c.tape, at) {
		n = c.tape.Find(at, "type")
	}
	if n < 0 && c.traits&traitLangChain != 0 {
		n = max(className(c.tape, c.messages[m].Node), c.tape.Find(at, "type"))
	}
	if n < 0 {
		return ""
	}
	return string(c.tape.AppendText(nil, n, 40))
}

// isText reports whether n is a string that reads exactly so. It looks at no
// more of the string than that takes.
func isText(t *jsontape.Tape, n Node, want string) bool {
	if t.Kind(n) != jsontape.String {
		return false
	}
	var buf [64]byte
	return string(t.AppendText(buf[:0], n, len(want)+1)) == want
}
