package conversation

// Position is the boundary at which a conversation stands.
type Position uint8

// The positions.
const (
	// Empty: there is no message.
	Empty Position = iota
	// UserInput: the user spoke, and the model has not answered.
	UserInput
	// AfterModel: the model asked for tools, and not all have run.
	AfterModel
	// AfterTools: the tools have answered, and the model has not seen it.
	AfterTools
	// TurnEnd: the model answered, and it is the user's turn.
	TurnEnd
)

var positionNames = [...]string{"no messages", "user input", "after model", "after tools", "turn end"}

// String returns the position in words for people.
func (p Position) String() string { return positionNames[p] }

// Name returns the position as a Strands checkpoint and [model.Header] call it,
// "after_model" or "after_tools"; "" for a position at which Strands emits no
// checkpoint, because it does so only in cycles that use tools.
func (p Position) Name() string {
	switch p {
	case AfterModel:
		return "after_model"
	case AfterTools:
		return "after_tools"
	}
	return ""
}

// Position returns where the conversation stands, from its last message.
func (c *Conversation) Position() Position {
	last := c.lastListed()
	switch {
	case c.run.is:
		return c.runPosition()
	case c.pause.held:
		return AfterModel
	case last < 0:
		return Empty
	case c.messages[last].Role == Assistant:
		if c.hasKind(last, ToolCall) && !c.isAnswered(last) {
			return AfterModel
		}
		return TurnEnd
	case c.messages[last].Role == Tool || c.hasKind(last, ToolResult):
		return AfterTools
	}
	return UserInput
}

// Cycle returns the number, from 0, of the last cycle of the current turn that
// used tools, which is the cycle_index of a Strands checkpoint there; -1 when
// the turn has used none. The turn starts at the last message in which the
// user brings something else than tool results.
func (c *Conversation) Cycle() int {
	cycle := -1
	for m := range c.currentTurn() {
		if c.asksTools(m) && (m == 0 || !c.asksTools(m-1)) {
			cycle++
		}
	}
	return cycle
}

// isAnswered reports whether the results of all calls of message m are in it too, as Mastra
// writes them.
func (c *Conversation) isAnswered(m int) bool {
	v := &c.messages[m]
	for i := v.first; i < v.end; i++ {
		if b := &c.blocks[i]; b.Kind == ToolCall && (b.Pair < v.first || b.Pair >= v.end) {
			return false
		}
	}
	return true
}

// asksTools reports whether the model calls tools in message m. Of OpenAI's items each call
// is a message, so that several follow each other.
func (c *Conversation) asksTools(m int) bool {
	return c.messages[m].Role == Assistant && c.hasKind(m, ToolCall)
}

// Calls returns the tool calls of the last cycle of the current turn, as numbers
// for [Conversation.Block], in the order in which the model asked for them.
func (c *Conversation) Calls() []int {
	for m := range c.currentTurn() {
		if !c.asksTools(m) {
			continue
		}
		first := m
		for first > 0 && c.asksTools(first-1) {
			first--
		}
		var calls []int
		for i := c.messages[first].first; i < c.messages[m].end; i++ {
			if c.blocks[i].Kind == ToolCall {
				calls = append(calls, int(i))
			}
		}
		return calls
	}
	return nil
}

// Pending returns the calls of [Conversation.Calls] that have no result: at AfterModel they have not run,
// at any later position their results are missing.
func (c *Conversation) Pending() []int {
	var pending []int
	for _, call := range c.Calls() {
		if c.blocks[call].Pair < 0 {
			pending = append(pending, call)
		}
	}
	return pending
}

// currentTurn returns the messages of the current turn, the last one first.
func (c *Conversation) currentTurn() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if c.run.is {
			return // the messages are of many conversations
		}
		for m := len(c.messages) - 1; m >= 0 && !c.opensTurn(m); m-- {
			if !yield(m) {
				return
			}
		}
	}
}

func (c *Conversation) opensTurn(m int) bool {
	return c.messages[m].Role == User && !c.messages[m].Held && !c.hasKind(m, ToolResult)
}

func (c *Conversation) hasKind(m int, kind BlockKind) bool {
	for i := c.messages[m].first; i < c.messages[m].end; i++ {
		if c.blocks[i].Kind == kind {
			return true
		}
	}
	return false
}

// lastListed returns the last message of the list that is not the system's, or
// -1. Held messages come after the list.
func (c *Conversation) lastListed() int {
	m := len(c.messages) - 1
	for m >= 0 && (c.messages[m].Held || c.messages[m].Role == System) {
		m--
	}
	return m
}
