package difftab

import (
	"context"
	"fmt"
	"slices"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
)

// Side is one of the two states.
type Side struct {
	// Conversation is that of the whole state, whose tape is compared. It is
	// nil on the old side of a snapshot that has nothing before it, and never on
	// the new side.
	Conversation *conversation.Conversation
	// Header is the snapshot's.
	Header model.Header
	// Name names the snapshot on the screen: "#6.2".
	Name string
}

// Sides are the states to compare, but for the gaps.
type Sides struct {
	Old, New Side
	Gaps     model.Gaps
	// Own are the parts of the states that the framework keeps for itself; nil if the kind knows no such part.
	Own *store.Own
}

// side is one of the two states, and never without one.
type side struct {
	tape   *jsontape.Tape
	conv   *conversation.Conversation
	header *model.Header
	name   string
}

// Content is a diff to show. It is read-only and safe for concurrent use.
type Content struct {
	old, new side
	first    bool // there is nothing before the new state
	result   *diff.Result
	// changes are the entries that are changes, in order.
	changes []int32
	// outer is the group that each entry is drawn in, or -1; depth counts
	// the groups around it. An entry without a row is in no count; see hidden.
	outer, depth []int32
	texts        map[int32]*textDiff
	gaps         model.Gaps
	own          *store.Own
}

// LeftOut returns a line with the keys that are not compared, the first most by
// name, or "". It is untrusted.
func (c *Content) LeftOut(most int) string { return c.gaps.ComparisonLine(most) }

// sideOf returns one of the states; for a missing state it returns an empty one of the kind of other.
func sideOf(s *Side, other *jsontape.Tape) side {
	conv := s.Conversation
	if conv == nil {
		text := []byte("{}")
		if other.Kind(0) == jsontape.Array {
			text = []byte("[]")
		}
		conv = conversation.Decode(jsontape.Prefix(text, len(text)))
	}
	return side{conv.Tape(), conv, &s.Header, s.Name}
}

// Prepare compares two states. It takes the time of the comparison, so it
// belongs in a command. The error is the context's, or says why the states
// cannot be compared.
func Prepare(ctx context.Context, sides Sides) (*Content, error) {
	c := &Content{first: sides.Old.Conversation == nil, gaps: sides.Gaps}
	c.new = sideOf(&sides.New, nil)
	c.old = sideOf(&sides.Old, c.new.tape)
	result, err := diff.Compare(ctx, diff.FromTape(c.old.tape), diff.FromTape(c.new.tape))
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", c.old.name, c.new.name, err)
	}
	result = result.Without(sides.Gaps.Has)
	if c.own = sides.Own; c.own != nil {
		result = result.SetAside(c.own.Has)
	}
	c.result = result
	for i := range result.Changes() {
		c.changes = append(c.changes, int32(i))
	}
	c.nestEntries()
	c.texts = compareTexts(ctx, c)
	return c, ctx.Err()
}

// nestEntries works out in which group each entry is drawn.
func (c *Content) nestEntries() {
	entries := c.result.Entries
	c.outer, c.depth = make([]int32, len(entries)), make([]int32, len(entries))
	for i := range entries {
		switch at := entries[i].Parent; {
		case at < 0:
			c.outer[i] = -1
		case c.isHidden(at):
			c.outer[i], c.depth[i] = c.outer[at], c.depth[at]
		default:
			c.outer[i], c.depth[i] = at, c.depth[at]+1
		}
	}
}

// isHidden reports whether a group has no row of its own: the root, and a group
// with one entry, whose path begins with that of the group. The list of messages
// keeps its row.
func (c *Content) isHidden(entry int32) bool {
	entries := c.result.Entries
	e := &entries[entry]
	switch {
	case e.Op != diff.Within || e.End == entry+1:
		return false
	case e.Parent < 0:
		return true
	}
	_, n := c.valueOf(e)
	return entries[entry+1].End == e.End && n != c.new.conv.List()
}

// rowEntry returns the entry whose row an entry is on: itself, or the next one that
// is not hidden.
func (c *Content) rowEntry(entry int32) int32 {
	for c.isHidden(entry) {
		entry++
	}
	return entry
}

// changeNumber returns which change an entry is, from 1, or 0.
func (c *Content) changeNumber(entry int32) int {
	i, found := slices.BinarySearch(c.changes, entry)
	if !found {
		return 0
	}
	return i + 1
}

// countChanges returns the number of changes in a group.
func (c *Content) countChanges(entry int32) int {
	from, _ := slices.BinarySearch(c.changes, entry)
	to, _ := slices.BinarySearch(c.changes, c.result.Entries[entry].End)
	return to - from
}

// nodeAt returns the value of a tape that has the bytes of a span.
func nodeAt(t *jsontape.Tape, s diff.Span) jsontape.Node { return t.NodeAt(int(s.Start)) }

func isString(t *jsontape.Tape, n jsontape.Node) bool {
	return n >= 0 && t.Kind(n) == jsontape.String
}

// valueOf returns where an entry's value is, and its place there: in the new state
// unless it was removed.
func (c *Content) valueOf(e *diff.Entry) (*side, jsontape.Node) {
	if e.Op == diff.Removed {
		return &c.old, nodeAt(c.old.tape, e.Old)
	}
	return &c.new, nodeAt(c.new.tape, e.New)
}

// messageOf returns the message that an entry is, or -1.
func (c *Content) messageOf(e *diff.Entry) (*conversation.Conversation, int) {
	s, n := c.valueOf(e)
	if n <= 0 || s.tape.Parent(n) != s.conv.List() {
		return nil, -1
	}
	return s.conv, s.conv.Find(n)
}
