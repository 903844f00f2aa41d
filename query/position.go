package query

import (
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

// position leads to places in one state after the other.
type position struct {
	// cursor walks the state, and starts are where in the state its pieces begin.
	cursor
	starts []int
	// within are the containers on the way, the outermost first.
	within []container
	path   []byte
	// message is the message that was decoded last, zero before the first. number is its
	// number among the messages, and shift is the difference between places in the state and
	// places on the tape.
	message       extent
	decoded       *conversation.Conversation
	tape          *jsontape.Tape
	number, shift int
	scratch       jsontape.Scratch
}

// beforeMessage is how many messages before one may have the calls that it has results of.
const beforeMessage = 4

// container is an object or an array that a way is in.
type container struct {
	// at is in front of the member that the way is in, or comes to next, and index is its number.
	at    spot
	index int
	// begin is where the value of that member begins, and end where it ends, 0 where that is not known; behind is
	// the spot there.
	begin, end int
	behind     spot
	// path is how much of the way's path leads to the container.
	path int
	// closing is the bracket that ends it, and comma says that a member must follow before that.
	closing byte
	comma   bool
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
func (w *position) lead(p *places, text pages, pieces []piece) {
	size := shared(w.pieces, pieces)
	w.cursor = cursor{places: p, text: text, pieces: pieces}
	w.starts = w.starts[:0]
	at := 0
	for _, p := range pieces {
		w.starts, at = append(w.starts, at), at+int(p.n)
	}
	w.keep(size)
}

// offset returns where in the state a spot is.
func (w *position) offset(of spot) int {
	return w.starts[of.piece] + int(of.at-w.pieces[of.piece].off)
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
	for i := range w.within {
		c := &w.within[i]
		if c.at.piece >= len(w.pieces) || w.offset(c.at) > size {
			w.within = w.within[:i]
			break
		}
		if c.end > size {
			if c.end = 0; c.list {
				w.within = w.within[:i+1]
				break
			}
		}
	}
	if w.message.to > size {
		w.message = extent{}
	}
}

// to fills in where the token is that begins at a place of the state: nothing where the state is
// no JSON.
func (w *position) to(hit *Hit, at int) {
	if len(w.pieces) == 0 {
		return
	}
	w.places.mu.Lock()
	defer w.places.mu.Unlock()
	if w.places.full() {
		w.places.forget()
	}
	w.find(hit, at)
	for i := range w.within {
		if c := &w.within[i]; c.list && c.begin <= at && at < c.end {
			w.inMessage(hit, c, at)
			return
		}
	}
}

// find fills in the path.
func (w *position) find(hit *Hit, at int) {
	for len(w.within) > 0 && w.offset(w.within[len(w.within)-1].at) > at {
		w.within = w.within[:len(w.within)-1]
	}
	if len(w.within) == 0 {
		w.spot = spot{0, w.pieces[0].off}
		w.mark()
		if _, ok := w.next(); !ok || w.offset(w.spot) >= at || !w.enter(w.path[:0]) {
			return
		}
	}
	for {
		c := &w.within[len(w.within)-1]
		w.spot = c.at
		b, ok := w.next()
		if ok && !c.comma && b == c.closing {
			w.within = w.within[:len(w.within)-1]
			if w.cursor.at++; len(w.within) == 0 || !w.pass() {
				return
			}
			continue
		}
		key, from := "", w.spot
		if c.closing == '}' && ok {
			if ok = b == '"' && w.string(); ok {
				key = w.unquoted(from)
				b, ok = w.next()
			}
			if ok = ok && b == ':'; ok {
				w.cursor.at++
				_, ok = w.next()
			}
		}
		if !ok {
			return
		}
		value := w.spot
		c.begin = w.offset(value)
		w.path = append(w.path[:c.path], '/')
		if c.closing == '}' {
			w.path = jsontape.AppendPointerToken(w.path, key)
		} else {
			w.path = strconv.AppendInt(w.path, int64(c.index), 10)
		}
		if at < c.begin || at == c.begin && !c.list {
			hit.Key, hit.Path = at < c.begin, string(w.path)
			return
		}
		if c.end == 0 {
			if !w.skip() {
				return
			}
			c.end, c.behind = w.offset(w.spot), w.spot
		}
		switch {
		case c.end <= at:
			if w.spot = c.behind; !w.pass() {
				return
			}
		case at == c.begin:
			hit.Path = string(w.path)
			return
		default:
			if w.spot = value; !w.enter(w.path) {
				return
			}
		}
	}
}

// enter goes into the container at the cursor. It reports whether there is one.
func (w *position) enter(path []byte) bool {
	b, ok := w.next()
	if !ok || b != '{' && b != '[' {
		return false
	}
	w.cursor.at++
	list := b == '[' && slices.Contains(listPointers, string(path))
	w.within = append(w.within, container{at: w.spot, closing: b + 2, path: len(path), list: list}) // in ASCII each bracket is two before its partner
	return true
}

// pass goes on behind the member of the innermost container whose value the cursor is behind.
func (w *position) pass() bool {
	c := &w.within[len(w.within)-1]
	if c.list {
		copy(c.before[:], c.before[1:])
		c.before[beforeMessage-1] = extent{c.begin, w.offset(w.spot)}
	}
	b, ok := w.next()
	if c.comma = b == ','; c.comma {
		w.cursor.at++
	}
	c.at, c.end, c.index = w.spot, 0, c.index+1
	return ok && (c.comma || b == c.closing)
}

// inMessage fills in the message that a place is in, the next message of a list.
func (w *position) inMessage(hit *Hit, c *container, at int) {
	is := extent{c.begin, c.end}
	if w.message != is {
		w.message = extent{}
		text, first := []byte("["), true
		for _, part := range append(c.before[:], is) {
			if part == (extent{}) {
				continue
			}
			if !first {
				text = append(text, ',')
			}
			first, w.shift = false, part.from-len(text)
			text = append(text, join(w.text, cut(w.pieces, part.from, part.to-part.from))...)
		}
		tape, err := w.scratch.ParseTolerant(append(text, ']'))
		if err != nil {
			return
		}
		w.message, w.tape, w.decoded, w.number = is, tape, conversation.Decode(tape), c.index
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
			hit.Tool, hit.Failed = w.decoded.ToolName(b), b.Kind == conversation.ToolResult && b.Status == conversation.Failed
		}
	}
}
