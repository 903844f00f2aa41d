package conversation

import "hindcast/model/jsontape"

// pause is the data that a framework keeps when it stops within a cycle to ask a person.
type pause struct {
	active     bool
	interrupts []Node
	held       bool // it keeps an assistant message that the list lacks
}

// pauseKeys are the two spellings of the keys that Strands keeps. Python (interrupt.py) has interrupt_state
// {interrupts, context {tool_use_message, tool_results}, activated}, newer ones pending_tool_execution
// {assistant_message, completed_tool_results}. TypeScript has interrupts {interrupts, activated,
// pendingToolExecution {assistantMessageData, completedToolResults}}, and the assistant message is nowhere
// else until the tools have run.
var pauseKeys = []struct {
	outer             string
	inner             []string
	messages, results []string
}{
	{"interrupt_state", []string{"context", "pending_tool_execution"}, []string{"tool_use_message", "assistant_message"}, []string{"tool_results", "completed_tool_results"}},
	{"interrupts", []string{"pendingToolExecution"}, []string{"assistantMessageData"}, []string{"completedToolResults"}},
}

// readPause finds the interrupt state of a snapshot or of agent.json, or the list of
// interrupts that LangGraph puts beside the channels.
func (c *Conversation) readPause() {
	t := c.tape
	if list := t.Find(0, "__interrupt__"); t.Kind(list) == jsontape.Array {
		c.pause.active = t.First(list) >= 0
		for n := t.First(list); n >= 0; n = t.Next(n) {
			c.pause.interrupts = append(c.pause.interrupts, n)
		}
	}
	for _, place := range [][]string{{}, {"data"}, {"_internal_state"}, {"data", "_internal_state"}} {
		for _, keys := range pauseKeys {
			state := t.Find(t.Lookup(place...), keys.outer)
			if t.Kind(t.Find(state, "interrupts")) == jsontape.Object {
				c.readInterrupts(state)
				for _, inner := range keys.inner {
					c.readHeld(t.Find(state, inner), keys.messages, keys.results)
				}
				return
			}
		}
	}
}

func (c *Conversation) readInterrupts(state Node) {
	t := c.tape
	c.pause.active = t.Kind(t.Find(state, "activated")) == jsontape.True
	list := t.Find(state, "interrupts")
	for n := t.First(list); n >= 0; n = t.Next(n) {
		c.pause.interrupts = append(c.pause.interrupts, n)
	}
}

// readHeld adds the messages that are kept outside the list: the model's
// answer, unless the list ends with it, and the results of the tools that had
// finished.
func (c *Conversation) readHeld(holder Node, messages, results []string) {
	t := c.tape
	for _, key := range messages {
		if m := t.Find(holder, key); t.Kind(m) == jsontape.Object && !c.endsWith(m) {
			c.readMessage(m)
			c.messages[len(c.messages)-1].Held = true
			c.pause.held = true
		}
	}
	for _, key := range results {
		n := t.Find(holder, key)
		if n < 0 || t.First(n) < 0 {
			continue
		}
		c.beginMessage(Message{Node: n, Role: User, Held: true})
		for r := t.First(n); r >= 0; r = t.Next(r) {
			c.heldResult(r)
		}
	}
}

// heldResult reads a tool result with or without "toolResult" around it.
func (c *Conversation) heldResult(r Node) {
	if c.tape.Kind(c.tape.Find(r, "toolUseId")) == jsontape.String {
		b := newBlock(r)
		b.toolResult(c.tape, r)
		c.addBlock(b)
		return
	}
	c.readContent(r)
}

// endsWith reports whether the last message of the list asks for the same
// first tool call as m, and so is the same message.
func (c *Conversation) endsWith(m Node) bool {
	if len(c.messages) == 0 {
		return false
	}
	first := func(blocks []Block) string {
		for i := range blocks {
			if blocks[i].Kind == ToolCall && blocks[i].ID >= 0 {
				return string(c.tape.Raw(blocks[i].ID))
			}
		}
		return ""
	}
	held := Conversation{tape: c.tape}
	held.readMessage(m)
	id := first(held.blocks)
	return id != "" && id == first(c.Blocks(len(c.messages)-1))
}

// IsInterrupted reports whether the framework waits for an answer to an
// interrupt, or else holds back tool calls that it will run on the next start.
func (c *Conversation) IsInterrupted() bool {
	if c.run.is {
		return c.run.asks
	}
	if c.pause.active || c.pause.held {
		return true
	}
	for _, call := range c.Pending() {
		if c.blocks[call].Interrupted {
			return true
		}
	}
	return false
}

// Interrupts returns the objects that describe the interrupts which wait for an
// answer, as Strands writes them: id, name, reason, response.
func (c *Conversation) Interrupts() []Node { return c.pause.interrupts }
