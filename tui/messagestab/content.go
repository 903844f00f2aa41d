package messagestab

import (
	"hindcast/model"
	"hindcast/model/conversation"
)

// Content is a conversation to show. It is read-only and safe for concurrent
// use.
type Content struct {
	conv *conversation.Conversation
	// marks are those of the snapshot: they are about its last message.
	marks model.Marks
	// pending are the tool calls that have not run.
	pending map[int]bool
}

// Prepare takes the conversation of a snapshot's state, and the marks of the
// snapshot's header; those that are about what was said are shown with the last
// message. The conversation must be of a whole state. nil stands for a state that could not be read.
func Prepare(conv *conversation.Conversation, marks model.Marks) *Content {
	if conv == nil {
		return nil
	}
	marks &^= model.MarkInferred | model.MarkTraced // they are about the snapshot
	c := &Content{conv: conv, marks: marks, pending: make(map[int]bool)}
	for _, call := range conv.Pending() {
		c.pending[call] = conv.Position() == conversation.AfterModel
	}
	return c
}

// Units. What is drawn of a message is cut into units: its heading, its blocks,
// and an empty row. They are numbered through, so that a unit is found by its
// number without a list of all of them.

func (c *Content) units() int { return c.start(c.conv.Len()) }

// start gives the heading of message m.
func (c *Content) start(m int) int { return c.conv.FirstBlock(m) + 2*m }

// at gives the message of a unit, and the unit's place in it: 0 for the
// heading, then the blocks, then the empty row.
func (c *Content) at(unit int) (m, place int) {
	low, high := 0, c.conv.Len()
	for high-low > 1 {
		if middle := (low + high) / 2; c.start(middle) <= unit {
			low = middle
		} else {
			high = middle
		}
	}
	return low, unit - c.start(low)
}

// unitOf gives the unit of a block.
func (c *Content) unitOf(block int) int {
	m := c.conv.MessageOf(block)
	return c.start(m) + 1 + block - c.conv.FirstBlock(m)
}

// blockOf gives the block of a unit; false for a heading and an empty row.
func (c *Content) blockOf(unit int) (int, bool) {
	m, place := c.at(unit)
	if place == 0 || place > len(c.conv.Blocks(m)) {
		return 0, false
	}
	return c.conv.FirstBlock(m) + place - 1, true
}
