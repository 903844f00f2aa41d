package difftab

import (
	"context"
	"fmt"
	"slices"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Side is one of the two states.
type Side struct {
	// Conversation is that of the whole state, whose tape is compared. It is
	// nil on the old side of a snapshot that has nothing before it, and never on
	// the new side.
	Conversation *conversation.Conversation
	// Header is the snapshot's.
	Header model.Header
}

// Sides are the states to compare, but for the gaps.
type Sides struct {
	Old, New Side
	Gaps     model.Gaps
}

// side is one of the two states, and never without one.
type side struct {
	tape   *jsontape.Tape
	conv   *conversation.Conversation
	header *model.Header
}

// Content is a diff to show. It is read-only and safe for concurrent use.
type Content struct {
	old, new side
	first    bool // there is nothing before the new state
	result   *diff.Result
	// changes are the entries that are changes, in order.
	changes []int32
	size    int64 // of what was added, removed and replaced, in bytes
	texts   map[int32]*textDiff
	gaps    model.Gaps
}

// LeftOut returns a line with the keys that are not compared, the first most by
// name; "" for none. It is untrusted.
func (c *Content) LeftOut(most int) string { return c.gaps.Compared(most) }

// sideOf gives one of the states; for none, an empty one of the kind of other.
func sideOf(s *Side, other *jsontape.Tape) side {
	conv := s.Conversation
	if conv == nil {
		text := []byte("{}")
		if other.Kind(0) == jsontape.Array {
			text = []byte("[]")
		}
		conv = conversation.Decode(jsontape.Prefix(text, len(text)))
	}
	return side{conv.Tape(), conv, &s.Header}
}

// Prepare compares two states. It takes the time of the comparison, so it
// belongs in a command. The error is the context's, or says why the states
// cannot be compared.
func Prepare(ctx context.Context, sides Sides) (*Content, error) {
	c := &Content{first: sides.Old.Conversation == nil, gaps: sides.Gaps}
	c.new = sideOf(&sides.New, nil)
	c.old = sideOf(&sides.Old, c.new.tape)
	result, err := diff.Compare(ctx, diff.Parsed(c.old.tape), diff.Parsed(c.new.tape))
	if err != nil {
		return nil, fmt.Errorf("compare #%d with #%d: %w", c.old.header.Index, c.new.header.Index, err)
	}
	result = result.Without(sides.Gaps.Has)
	c.result = result
	for i, e := range result.Changes() {
		c.changes = append(c.changes, int32(i))
		if e.Op != diff.Moved && e.Op != diff.Respelled {
			c.size += int64(max(e.New.End-e.New.Start, e.Old.End-e.Old.Start))
		}
	}
	c.texts = compareTexts(ctx, c)
	return c, ctx.Err()
}

// number gives which change an entry is, from 1; 0 for none.
func (c *Content) number(entry int32) int {
	i, found := slices.BinarySearch(c.changes, entry)
	if !found {
		return 0
	}
	return i + 1
}

// nodeAt gives the value of a tape that has the bytes of a span.
func nodeAt(t *jsontape.Tape, s diff.Span) jsontape.Node { return t.NodeAt(int(s.Start)) }

func isString(t *jsontape.Tape, n jsontape.Node) bool {
	return n >= 0 && t.Kind(n) == jsontape.String
}

// value gives where an entry's value is, and its place there: in the new state
// unless it was removed.
func (c *Content) value(e *diff.Entry) (*side, jsontape.Node) {
	if e.Op == diff.Removed {
		return &c.old, nodeAt(c.old.tape, e.Old)
	}
	return &c.new, nodeAt(c.new.tape, e.New)
}

// message gives the message that an entry is, or -1.
func (c *Content) message(e *diff.Entry) (*conversation.Conversation, int) {
	s, n := c.value(e)
	if n <= 0 || s.tape.Parent(n) != s.conv.List() {
		return nil, -1
	}
	return s.conv, s.conv.Find(n)
}
