package conversation

import (
	"bytes"

	"hindcast/model/jsontape"
)

// The codes of the troubles that [Conversation.Troubles] finds.
const (
	// UnansweredCall: a tool call has no result, and the conversation went on.
	UnansweredCall = "unanswered-call"
	// LateResult: the result of a call stands behind other messages than results.
	LateResult = "late-result"
	// OrphanResult: a result has no call before it.
	OrphanResult = "orphan-result"
	// DuplicateResult: a call has one result already.
	DuplicateResult = "duplicate-result"
	// ReasoningAlone: no answer and no call follows what the model thought.
	ReasoningAlone = "reasoning-alone"
	// EmptyContent: a message, or a text of it, says nothing.
	EmptyContent = "empty-content"
	// RoleOrder: two messages of one role follow each other.
	RoleOrder = "role-order"
	// ModelFirst: the model speaks before the user.
	ModelFirst = "model-first"
	// MisplacedCall: the model calls a tool first, or behind a message of its own.
	MisplacedCall = "misplaced-call"
	// UserAfterResult: the user speaks behind a result, before the model does.
	UserAfterResult = "user-after-result"
)

// Trouble is one place at which a conversation is not one that every provider takes.
type Trouble struct {
	// Code is one of the constants of this package.
	Code string
	// Message is the number of the message, for [Conversation.Message].
	Message int
	// Block is the number of the call, the result or the text, for [Conversation.Block];
	// -1 where it is the whole message.
	Block int
	// Open says that nothing follows yet which would make it one: a run may go on with it.
	Open bool
}

// Troubles returns the places at which a provider may refuse the messages, in their order. It takes time
// linear in the number of blocks. A call at the end is open, for it may wait for its tool or for a person.
// The record of an orchestrator has no troubles: its messages belong to many conversations. Neither has a
// task that has ended.
func (c *Conversation) Troubles() (list []Trouble) {
	if c.run.is || c.ended {
		return nil
	}
	ends, before := c.batchEnds(), Utterance{}
	for m := range c.messages {
		if c.messages[m].Held {
			break
		}
		if now := c.describeMessage(m); now.Role != System {
			if code := now.Disorder(before); code != "" {
				list = append(list, Trouble{Code: code, Message: m, Block: -1})
			}
			before = now
		}
		if t, is := c.reasoningTrouble(m); is {
			list = append(list, t)
		}
		if c.saysNothing(m) {
			list = append(list, Trouble{Code: EmptyContent, Message: m, Block: -1, Open: m == len(c.messages)-1})
		}
		for i := int(c.messages[m].first); i < int(c.messages[m].end); i++ {
			if t, is := c.blockTrouble(m, i, ends); is {
				list = append(list, t)
			}
		}
	}
	return list
}

// blockTrouble returns the trouble of one block, if it has any.
func (c *Conversation) blockTrouble(m, i int, ends []int) (t Trouble, is bool) {
	b := &c.blocks[i]
	t = Trouble{Message: m, Block: i}
	switch {
	case b.Kind == ToolCall && b.Interrupted || b.Kind == ToolCall && c.tape.Kind(b.ID) == jsontape.Null:
		return t, false // a person is asked, or the provider runs the tool itself
	case b.Kind == ToolCall && b.Pair < 0:
		t.Code, t.Open = UnansweredCall, ends[m] == len(c.messages) || c.messages[ends[m]].Held
	case b.Kind == ToolCall && c.MessageOf(int(b.Pair)) >= ends[m]:
		t.Code = LateResult
	case b.Kind == ToolResult && b.Repeated:
		t.Code = DuplicateResult
	case b.Kind == ToolResult && b.Pair < 0:
		t.Code = OrphanResult
	case b.Kind == Text && c.IsBlank(b) && !c.saysNothing(m) && b.Node != c.messages[m].Node && c.tape.Kind(b.Node) == jsontape.Object:
		t.Code = EmptyContent
	}
	return t, t.Code != ""
}

// batchEnds returns for each message the first one behind it that is neither a result nor of the same
// answer of the model, or [Conversation.Len] if there is no such message.
func (c *Conversation) batchEnds() []int {
	ends := make([]int, len(c.messages))
	// results and answers are the ends behind a result and behind a piece of an answer.
	results, answers := len(c.messages), len(c.messages)
	for m := len(c.messages) - 1; m >= 0; m-- {
		ends[m] = results
		switch role := c.messages[m].Role; {
		case role == Assistant && c.inPieces(m):
			ends[m], results = answers, m
		case role == Tool || role != Assistant && c.hasKind(m, ToolResult):
			answers = results
		case role != System:
			results, answers = m, m
		}
	}
	return ends
}

// inPieces reports whether a message is one of several that one answer of the model may be: an
// item of OpenAI's.
func (c *Conversation) inPieces(m int) bool {
	n := c.messages[m].Node
	return isItem(c.tape, n) || c.messages[m].Role == Assistant && isText(c.tape, c.tape.Find(n, "type"), "message")
}

// reasoningTrouble tells of an item of reasoning that no item of the model follows.
func (c *Conversation) reasoningTrouble(m int) (t Trouble, is bool) {
	if !c.isReasoning(m) {
		return t, false
	}
	next := m + 1
	for next < len(c.messages) && c.isReasoning(next) {
		next++
	}
	t = Trouble{Code: ReasoningAlone, Message: m, Block: -1, Open: next == len(c.messages)}
	return t, t.Open || c.messages[next].Role != Assistant && c.messages[next].Role != UnknownRole
}

// isReasoning reports whether a message is a reasoning item of OpenAI's.
func (c *Conversation) isReasoning(m int) bool {
	n := c.messages[m].Node
	return isItem(c.tape, n) && isText(c.tape, c.tape.Find(n, "type"), "reasoning")
}

// saysNothing reports whether a message of the user or of the model has nothing but blank texts.
func (c *Conversation) saysNothing(m int) bool {
	v := &c.messages[m]
	if v.Role != User && v.Role != Assistant || c.inPieces(m) {
		return false
	}
	for i := v.first; i < v.end; i++ {
		if b := &c.blocks[i]; b.Kind != CachePoint && !(b.Kind == Text && c.IsBlank(b)) {
			return false
		}
	}
	return true
}

// mostBlanks bounds how long a text may be that is looked at for being blank.
const mostBlanks = 64

// IsBlank reports whether a block of text, which has a body, has nothing but spaces.
func (c *Conversation) IsBlank(b *Block) bool {
	return len(c.tape.Raw(b.Body)) <= mostBlanks && len(bytes.TrimSpace(c.tape.AppendText(nil, b.Body, mostBlanks))) == 0
}

// CallText returns the id of the call that a trouble is about, untrusted and at most 80 bytes
// long; "" where it is about none.
func (c *Conversation) CallText(t Trouble) string {
	if t.Block < 0 || c.tape.Kind(c.blocks[t.Block].ID) != jsontape.String {
		return ""
	}
	return string(c.tape.AppendText(nil, c.blocks[t.Block].ID, maxName))
}
