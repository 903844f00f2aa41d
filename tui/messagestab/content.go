package messagestab

import (
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
)

// Content is a conversation to show. It is read-only and safe for concurrent
// use.
type Content struct {
	conv *conversation.Conversation
	// marks are the marks of the snapshot about its last message.
	marks model.Marks
	// why says why there are no messages; "" for no reason.
	why string
	// pending are the tool calls that have not run.
	pending map[int]bool
	// shown are the messages that have rows, starts their first units and, at the
	// end, the number of all units. A message that holds nothing but results that
	// are shown with their calls has no rows.
	shown, starts []int32
}

// Prepare takes the conversation of a snapshot's state, and the marks of the
// snapshot's header; those that are about what was said are shown with the last
// message. The conversation must be of a whole state. nil stands for a state that could not be read.
// why is said where the state has no messages; "" for no reason.
func Prepare(conv *conversation.Conversation, marks model.Marks, why string) *Content {
	if conv == nil {
		return nil
	}
	marks &^= model.MarkInferred | model.MarkTraced // they are about the snapshot
	c := &Content{conv: conv, marks: marks, why: why, pending: make(map[int]bool)}
	for _, call := range conv.Pending() {
		c.pending[call] = conv.Position() == conversation.AfterModel
	}
	unit := int32(0)
	for m := range conv.Len() {
		if c.isResultsOnly(m) {
			continue
		}
		c.shown, c.starts = append(c.shown, int32(m)), append(c.starts, unit)
		unit += int32(len(conv.Blocks(m))) + 2
	}
	c.starts = append(c.starts, unit)
	return c
}

// isResultsOnly reports whether message m holds nothing but tool results that are
// shown with their calls.
func (c *Content) isResultsOnly(m int) bool {
	msg, blocks := c.conv.Message(m), c.conv.Blocks(m)
	return len(blocks) > 0 && !msg.Held && !msg.Redacted && !slices.ContainsFunc(blocks, func(b conversation.Block) bool {
		return b.Kind != conversation.ToolResult || b.Pair < 0
	})
}

// newestUnits returns the units of the calls whose results are the last message; none
// where that is another one.
func (c *Content) newestUnits() (units []int32) {
	if last := c.conv.Len() - 1; last >= 0 && c.isResultsOnly(last) {
		for _, b := range c.conv.Blocks(last) {
			if unit := int32(c.unitOf(int(b.Pair))); !slices.Contains(units, unit) && len(units) < maxParts {
				units = append(units, unit)
			}
		}
	}
	return units
}

// Units. What is drawn of a message is cut into units: its heading, its blocks,
// and an empty row. They are numbered through, so that a unit is found by its
// number without a list of all of them.

func (c *Content) countUnits() int { return int(c.starts[len(c.starts)-1]) }

// messageAt returns the message of a unit, and the unit's place in it: 0 for the
// heading, then the blocks, then the empty row.
func (c *Content) messageAt(unit int) (m, place int) {
	i := c.messageNumber(unit)
	return int(c.shown[i]), unit - int(c.starts[i])
}

// messageNumber returns which of the messages that show a unit is in, from 0.
func (c *Content) messageNumber(unit int) int {
	i, found := slices.BinarySearch(c.starts[:len(c.shown)], int32(unit))
	if !found {
		i--
	}
	return i
}

// unitOf returns the unit of a block, which is in a message that shows.
func (c *Content) unitOf(block int) int {
	m := c.conv.MessageOf(block)
	i, _ := slices.BinarySearch(c.shown, int32(m))
	return int(c.starts[i]) + 1 + block - c.conv.FirstBlock(m)
}

// blockOf returns the block of a unit; false for a heading and an empty row.
func (c *Content) blockOf(unit int) (int, bool) {
	m, place := c.messageAt(unit)
	if place == 0 || place > len(c.conv.Blocks(m)) {
		return 0, false
	}
	return c.conv.FirstBlock(m) + place - 1, true
}
