package query

import (
	"bytes"
	"slices"
	"strconv"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Where in its state a text stands
//
// The hits in a state come in the order of their places, and a state mostly begins as the one
// before. So the way to a hit goes on from that to the hit before, in the innermost container
// that has both:
//
//	{"messages":[{"content":"a"},{"content":"b","role":"user"}],"meta":…
//	^           ^                ^          1   2
//	each container on the way, with the member that the way is in, or comes to next
//
// So each byte of a session is gone over a few times, however many hits there are.

// position leads to places in one state after the other. The zero value is ready.
type position struct {
	// text is the state, and pieces what it is made of.
	text   []byte
	pieces []piece
	// within are the containers on the way, the outermost first.
	within []container
	path   []byte
	// at is the place of the message that was decoded last, zero before the first. number is its
	// number among the messages, and shift is the difference between places in the state and
	// places on the tape.
	at            extent
	decoded       *conversation.Conversation
	tape          *jsontape.Tape
	number, shift int
	scratch       jsontape.Scratch
}

// beforeMessage is how many messages before one may have the calls that it has results of.
const beforeMessage = 4

// container is an object or an array that a way is in.
type container struct {
	// Cursor is in front of the member that the way is in, or comes to next.
	jsontape.Cursor
	// end is where the value of that member ends, 0 where that is not known.
	end int
	// path is how much of the way's path leads to the container.
	path int
	// list says that it has messages. before are the last messages that were passed, in order.
	list   bool
	before [beforeMessage]extent
}

// extent is a part of a state; the zero value means that there is no part.
type extent struct{ from, to int }

// listPointers is where the frameworks keep their messages.
var listPointers = func() (pointers []string) {
	for _, path := range listPaths {
		pointer := ""
		for _, key := range path.keys {
			pointer += "/" + key
		}
		pointers = append(pointers, pointer)
	}
	return pointers
}()

// lead has the way lead through a state from now on.
func (w *position) lead(text []byte, pieces []piece) {
	same := shared(w.pieces, pieces)
	size := same
	w.text, w.pieces = w.text[:same], pieces
	for _, p := range pieces {
		if at := max(int(p.n)-same, 0); at > 0 {
			w.text = append(w.text, text[p.end()-uint32(at):p.end()]...)
		}
		same = max(same-int(p.n), 0)
	}
	w.keep(size)
}

// shared returns how many bytes two states begin with that are the same, as far as their pieces
// tell.
func shared(a, b []piece) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i].off == b[i].off {
				n += int(min(a[i].n, b[i].n))
			}
			break
		}
		n += int(a[i].n)
	}
	return n
}

// keep forgets what was found behind so many bytes of the state.
func (w *position) keep(size int) {
	w.back(size)
	for i := range w.within {
		if c := &w.within[i]; c.end > size {
			if c.end = 0; c.list {
				w.within = w.within[:i+1]
				break
			}
		}
	}
	if w.at.to > size {
		w.at = extent{}
	}
}

// back leaves the containers that have gone on behind a place.
func (w *position) back(to int) {
	for len(w.within) > 0 && w.within[len(w.within)-1].At > to {
		w.within = w.within[:len(w.within)-1]
	}
}

// to fills in where the token is that begins at a place of the state: nothing where the state is
// no JSON.
func (w *position) to(hit *Hit, at int) {
	w.find(hit, at)
	for i := range w.within {
		if c := &w.within[i]; c.list && c.At <= at && at < c.end {
			w.message(hit, c, at)
			return
		}
	}
}

// find fills in the path.
func (w *position) find(hit *Hit, at int) {
	w.back(at)
	if len(w.within) == 0 {
		base := len(w.text) - len(bytes.TrimPrefix(w.text, byteOrderMark))
		base += len(w.text[base:]) - len(bytes.TrimLeft(w.text[base:], " \t\r\n"))
		if base >= at || !w.enter(base, w.path[:0]) {
			return
		}
	}
	for {
		c := &w.within[len(w.within)-1]
		m, more, err := c.Head(w.text)
		if err == nil && !more {
			if w.within = w.within[:len(w.within)-1]; len(w.within) == 0 {
				return
			}
			end := c.At + 1
			c = &w.within[len(w.within)-1]
			if err = c.pass(w.text, end); err != nil {
				return
			}
			continue
		}
		if err != nil {
			return
		}
		w.path = w.path[:c.path]
		if at < m.Offset {
			hit.Key, hit.Path = true, string(w.step(c, m))
			return
		}
		if at == m.Offset && !c.list {
			hit.Path = string(w.step(c, m))
			return
		}
		if c.end == 0 {
			if c.end, err = jsontape.Skip(w.text, m.Offset); err != nil {
				return
			}
		}
		if c.end <= at {
			if c.pass(w.text, c.end) != nil {
				return
			}
			continue
		}
		path := w.step(c, m)
		if at == m.Offset {
			hit.Path = string(path)
			return
		}
		if !w.enter(m.Offset, path) {
			return
		}
	}
}

// step returns the path to a member of the innermost container.
func (w *position) step(c *container, m jsontape.Member) []byte {
	w.path = append(w.path, '/')
	if m.Key == nil {
		w.path = strconv.AppendInt(w.path, int64(c.Index), 10)
	} else {
		w.path = jsontape.AppendPointerToken(w.path, jsontape.Unquote(m.Key))
	}
	return w.path
}

// enter goes into the container that begins at a place. It reports whether one does.
func (w *position) enter(at int, path []byte) bool {
	c, err := jsontape.CursorAt(w.text, at)
	if err == nil {
		w.within = append(w.within, container{Cursor: c, path: len(path), list: w.text[at] == '[' && slices.Contains(listPointers, string(path))})
	}
	return err == nil
}

// pass goes on behind the member whose value ends at end.
func (c *container) pass(text []byte, end int) error {
	if c.list {
		copy(c.before[:], c.before[1:])
		c.before[beforeMessage-1] = extent{c.At, end}
	}
	c.end = 0
	return c.Pass(text, end)
}

// message fills in the message that a place is in, the next message of a list.
func (w *position) message(hit *Hit, c *container, at int) {
	is := extent{c.At, c.end}
	if w.at != is {
		w.at = extent{}
		text, first := []byte("["), true
		for _, part := range append(c.before[:], is) {
			if part == (extent{}) {
				continue
			}
			if !first {
				text = append(text, ',')
			}
			first, w.shift = false, part.from-len(text)
			text = append(text, w.text[part.from:part.to]...)
		}
		tape, err := w.scratch.ParseTolerant(append(text, ']'))
		if err != nil {
			return
		}
		w.at, w.tape, w.decoded, w.number = is, tape, conversation.Decode(tape), c.Index
	}
	at -= w.shift
	m := w.decoded.Find(w.tape.NodeAt(at))
	if m < 0 {
		return
	}
	hit.Message, hit.Role = w.number, w.decoded.RoleText(m)
	for i := range w.decoded.Blocks(m) {
		b := w.decoded.Block(w.decoded.FirstBlock(m) + i)
		if from, to := w.tape.Span(b.Node); from <= at && at < to && (b.Kind == conversation.ToolCall || b.Kind == conversation.ToolResult) {
			hit.Tool = w.decoded.ToolName(b)
		}
	}
}
