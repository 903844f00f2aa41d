package statetab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// previewSize is how much of a state [Preview] reads, in bytes.
const previewSize = 64 << 10

// Content is a state to show. It is read-only and safe for concurrent use.
type Content struct {
	tape *jsontape.Tape
	// conv are the messages in the state.
	conv *conversation.Conversation
	// whole is false while only the beginning is read.
	whole bool
	// size is that of the whole state in bytes.
	size int
	// runs are the values below the root in the order in which they are drawn.
	runs []run
	// changes holds the changes of the step by value of the state. removed holds the removed values of base
	// by their container.
	changes map[jsontape.Node]change
	removed map[jsontape.Node][]jsontape.Node
	base    *jsontape.Tape
	// warnings holds the warnings of jsontape by node.
	warnings map[jsontape.Node]jsontape.WarningKind
	warned   int
	// err says where the text stops being JSON; what is before it shows.
	err  error
	gaps model.Gaps
}

// change is the change of a value and its old value in the base; None for an added value.
type change struct {
	op  diff.Op
	old jsontape.Node
}

// run is a run of the root's members with all that is in them: the nodes from
// first up to end, drawn one after another. Before it at nodes are drawn, the
// root counted, and from bytes of the text.
type run struct {
	first, end jsontape.Node
	at         jsontape.Node
	from       int
}

// State holds a whole state to show.
type State struct {
	Data []byte
	// Tape, Warnings and Err are the results of jsontape.ParseTolerant for Data.
	Tape     *jsontape.Tape
	Warnings []jsontape.Warning
	Err      error
	// Conversation is that of Tape; nil where there is no tape.
	Conversation *conversation.Conversation
	// Base is the state to mark changes against, or nil.
	Base *jsontape.Tape
	// Gaps are the keys that are not known at the snapshot, BaseGaps those that are
	// not at the base. Of neither a change is marked.
	Gaps, BaseGaps model.Gaps
}

// Preview reads the beginning of a state of that size in bytes, in microseconds
// whatever the size. data is the state, or as much of its beginning as there is;
// the caller may not write to it any more.
func Preview(data []byte, size int) *Content {
	c := &Content{tape: jsontape.Prefix(data, previewSize), size: size}
	c.conv = conversation.Decode(c.tape)
	c.arrangeRuns()
	return c
}

// Prepare reads a whole state and compares it with its base. A text that is no
// JSON shows up to where it goes wrong, and is read once more for that, so this
// belongs in a command. The caller may not write to the data any more. The error
// is that of ctx.
func Prepare(ctx context.Context, s State) (*Content, error) {
	c := &Content{tape: s.Tape, conv: s.Conversation, whole: true, size: len(s.Data), gaps: s.Gaps}
	if s.Err != nil {
		c.err, c.tape = s.Err, jsontape.Prefix(s.Data, len(s.Data))
		var syntax *jsontape.SyntaxError
		if errors.As(s.Err, &syntax) {
			c.tape = jsontape.Prefix(s.Data, int(syntax.Offset))
			line, column := jsontape.Position(s.Data, syntax.Offset)
			c.err = fmt.Errorf("not JSON from line %d, column %d: %w", line, column, s.Err)
		}
		c.conv = conversation.Decode(c.tape)
	}
	c.noteWarnings(s.Warnings)
	c.arrangeRuns()
	if s.Base == nil || s.Err != nil {
		return c, ctx.Err()
	}
	result, err := diff.Compare(ctx, diff.FromTape(s.Base), diff.FromTape(c.tape))
	if err != nil {
		return nil, err // of ctx: both are JSON
	}
	c.takeChanges(s.Base, result.Without(s.Gaps.With(s.BaseGaps).Has))
	return c, ctx.Err()
}

func (c *Content) noteWarnings(warnings []jsontape.Warning) {
	c.warned = len(warnings)
	c.warnings = make(map[jsontape.Node]jsontape.WarningKind, len(warnings))
	for _, w := range warnings {
		if _, twice := c.warnings[w.Node]; !twice {
			c.warnings[w.Node] = w.Kind
		}
	}
}

// takeChanges takes over what changed from the base.
func (c *Content) takeChanges(base *jsontape.Tape, result *diff.Result) {
	c.base = base
	c.changes = make(map[jsontape.Node]change, len(result.Entries))
	c.removed = make(map[jsontape.Node][]jsontape.Node)
	for i := range result.Entries {
		e := &result.Entries[i]
		old, new := jsontape.None, jsontape.None
		if e.Op != diff.Added {
			old = base.NodeAt(int(e.Old.Start))
		}
		if e.Op != diff.Removed {
			new = c.tape.NodeAt(int(e.New.Start))
			c.changes[new] = change{e.Op, old}
			continue
		}
		within := c.tape.NodeAt(int(result.Entries[e.Parent].New.Start))
		c.removed[within] = append(c.removed[within], old)
	}
}

// mostRuns bounds the runs, which are looked through for each row.
const mostRuns = 64

// arrangeRuns puts the members of the state that the application keeps before those
// of the framework.
func (c *Content) arrangeRuns() {
	t := c.tape
	var own, late []run
	for n := t.First(0); n != jsontape.None && len(own)+len(late) <= mostRuns; n = t.Next(n) {
		runs := &own
		if t.Kind(0) == jsontape.Object && c.conv.OfFramework(n) {
			runs = &late
		}
		if last := len(*runs) - 1; last >= 0 && (*runs)[last].end == n {
			(*runs)[last].end = t.End(n)
			continue
		}
		*runs = append(*runs, run{first: n, end: t.End(n)})
	}
	c.runs = append(own, late...)
	if len(c.runs) == 0 || len(c.runs) > mostRuns {
		c.runs = []run{{first: 1, end: jsontape.Node(t.Len())}}
	}
	at, from := jsontape.Node(1), 0
	for i := range c.runs {
		r := &c.runs[i]
		r.at, r.from = at, from
		at += r.end - r.first
		from += c.textEnd(r.end) - c.textStart(r.first)
	}
}

// textStart returns the byte at which a run that begins with n begins, textEnd
// the one at which a run that ends before n does: where the next run begins.
func (c *Content) textStart(n jsontape.Node) int {
	if n <= 1 {
		return 0
	}
	start, _ := c.tape.Span(n)
	return start
}

func (c *Content) textEnd(n jsontape.Node) int {
	if int(n) >= c.tape.Len() {
		return c.size
	}
	return c.textStart(n)
}

// runOf returns the run that a value below the root is in.
func (c *Content) runOf(n jsontape.Node) (i int) {
	return max(0, slices.IndexFunc(c.runs, func(r run) bool { return r.first <= n && n < r.end }))
}

// valueAfter returns the value that is drawn after the one before n: n itself, or
// the first of the next run where one ends before n; false at the end.
func (c *Content) valueAfter(n jsontape.Node) (jsontape.Node, bool) {
	if n <= 1 {
		n = c.runs[0].first
	} else if i := c.runOf(n - 1); n == c.runs[i].end {
		if i++; i == len(c.runs) {
			return n, false
		}
		n = c.runs[i].first
	}
	return n, int(n) < c.tape.Len()
}

// valueBefore returns the value that stands before n when all is unfolded: the last
// of the run before where one begins with n, and 0 before the first.
func (c *Content) valueBefore(n jsontape.Node) jsontape.Node {
	switch i := c.runOf(n); {
	case n != c.runs[i].first:
		return n - 1
	case i > 0:
		return c.runs[i-1].end - 1
	}
	return 0
}

// lastValue returns the value that is drawn last when all is unfolded.
func (c *Content) lastValue() jsontape.Node { return max(0, c.runs[len(c.runs)-1].end-1) }

// placeOf returns where a value is drawn when all is unfolded, from 0.
func (c *Content) placeOf(n jsontape.Node) jsontape.Node {
	if n == 0 {
		return 0
	}
	r := &c.runs[c.runOf(n)]
	return r.at + n - r.first
}

// valueAt returns the value that is drawn at a place, from 0: place the other way
// round.
func (c *Content) valueAt(at jsontape.Node) jsontape.Node {
	if at == 0 {
		return 0
	}
	i := len(c.runs) - 1
	for i > 0 && c.runs[i].at > at {
		i--
	}
	return c.runs[i].first + at - c.runs[i].at
}

// offsetOf returns how many bytes of the text are drawn before a byte of the
// value n.
func (c *Content) offsetOf(n jsontape.Node, at int) int {
	if n == 0 {
		return at
	}
	r := &c.runs[c.runOf(n)]
	return r.from + max(0, at-c.textStart(r.first))
}

// Tape returns the tape of the state, or of its beginning.
func (c *Content) Tape() *jsontape.Tape { return c.tape }

// IsWhole reports whether all of the state has been read.
func (c *Content) IsWhole() bool { return c.whole }

// Err returns why the text could not be read to its end; nil if it could.
func (c *Content) Err() error { return c.err }

// Unknown returns a line that names the keys whose value at the snapshot is
// not known, the first most of them, or "". It is untrusted.
func (c *Content) Unknown(most int) string {
	return c.gaps.Of(func(key string) bool { return c.tape.Find(0, key) != jsontape.None }, most)
}
