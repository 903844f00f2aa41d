package report

import (
	"bytes"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
)

// A state mostly is the one before it with some messages more, and maybe without some of the first: a
// window. The messages that both have are cut out of both before they are read:
//
//	before  {"messages":[A,B,C],"n":1}      {"messages":[C],"n":1}      A is gone   {"messages":[A,C],"n":1}
//	now     {"messages":[A,B,C,D],"n":2}    {"messages":[C,D],"n":2}                {"messages":[C,D],"n":2}
//
// so that a row costs what is new in it, and a comparison of bytes. The last of them that says
// something stays, because a result is told with the call above it.

// outline is where the messages of a state are.
type outline struct {
	// list is the pointer to the array, and open the offset behind its bracket.
	list     string
	open     int
	elements []element
}

// element is an element of the array.
type element struct {
	// end is the offset behind it, counted from open.
	end int
	// messages counts the messages up to its end, and waiting the calls among them that have no id and
	// no result: the next result without an id is of the first of them.
	messages, waiting int
	// speaks reports whether it has a message of its own on the page: results stand with their calls.
	speaks bool
}

// view is a state without some elements of its messages: the first ones, or those behind the ones that
// are gone in the next state.
type view struct {
	tape *jsontape.Tape
	talk *conversation.Conversation
	// said are the messages, with their numbers in the whole state.
	said []transcript.Message
	// elements, messages and waiting count what is left out, and bytes how long that is; gone counts the
	// elements before it.
	gone, elements, messages, waiting, bytes int
}

// readState reads a state without some elements of an outline behind gone ones. Without elements it needs
// no outline. The error is that of jsontape.Parse.
func (p *page) readState(data []byte, o *outline, gone, elements int) (v *view, err error) {
	v = &view{gone: gone, elements: elements}
	if elements > 0 {
		from, to := o.elementStart(data, gone), o.elementStart(data, gone+elements)
		last := o.elements[gone+elements-1]
		v.messages, v.waiting, v.bytes = last.messages, last.waiting, to-from
		data = append(bytes.Clone(data[:from]), data[to:]...)
	}
	if v.tape, err = jsontape.Parse(data); err != nil {
		return nil, err
	}
	v.talk = conversation.Decode(v.tape)
	v.said = transcript.Of(v.talk)
	for i := range v.said {
		v.said[i].Index += v.messages
	}
	return v, nil
}

// newOutline returns where the messages of the whole state are; known are the first elements, those
// that are left out among them, and are overwritten. It is nil where the messages are no array,
// where some are elsewhere, or where those of known would be read otherwise.
func (v *view) newOutline(known []element) *outline {
	list := v.talk.List()
	if list == jsontape.None {
		return nil
	}
	o := &outline{v.tape.Pointer(list), v.messagesStart(), known[:v.elements]}
	m, waiting := 0, v.waiting
	for n := v.tape.First(list); n != jsontape.None; n = v.tape.Next(n) {
		_, end := v.tape.Span(n)
		e := element{end: end - o.open + v.bytes}
		for ; m < v.talk.Len() && v.talk.Find(v.talk.Message(m).Node) == m && v.talk.Message(m).Node < v.tape.End(n); m++ {
			e.speaks = e.speaks || len(v.said[m].Parts) > 0
			for _, b := range v.talk.Blocks(m) {
				switch {
				case b.ID >= 0:
				case b.Kind == conversation.ToolCall:
					waiting++
				case b.Kind == conversation.ToolResult && b.Pair >= 0:
					waiting--
				}
			}
		}
		e.messages, e.waiting = m+v.messages, waiting
		if i := len(o.elements); i < len(known) && (known[i].messages != e.messages || known[i].end != e.end) {
			return nil
		}
		o.elements = append(o.elements, e)
	}
	for ; m < v.talk.Len(); m++ {
		if !v.talk.Message(m).Held {
			return nil
		}
	}
	return o
}

// readBoth reads two states without the messages that both have, the first one, too. It sets their
// views, or their errors.
func (p *page) readBoth(before, now *state) {
	if p.readApart(before, now) {
		return
	}
	before.view, before.err = p.readState(before.data, nil, 0, 0)
	p.readWhole(now)
}

// readApart reads two states but skips messages that both have. It returns false if now begins with no
// message of before, or if a message would read differently without the skipped messages.
func (p *page) readApart(before, now *state) bool {
	o := before.outline
	if o == nil {
		return false
	}
	open := o.findMessages(now.data)
	if open == 0 {
		return false
	}
	same := &outline{o.list, open, o.elements[:o.countCommon(before.data, now.data, open)]}
	gone := 0
	if len(same.elements) == 0 {
		same, gone = o.windowOf(before.data, now.data, open)
	}
	left := lastSpeaker(same.elements)
	if left == 0 {
		return false
	}
	a, errA := p.readState(before.data, o, gone, left)
	b, errB := p.readState(now.data, same, 0, left)
	if errA != nil || errB != nil || a.messagesStart() != o.open || b.messagesStart() != open || !b.isPaired() || b.hasElement(a, gone) {
		return false
	}
	before.view, now.view, now.outline = a, b, b.newOutline(same.elements)
	return now.outline != nil
}

// readWhole reads a state with all of its messages.
func (p *page) readWhole(s *state) {
	if s.view, s.err = p.readState(s.data, nil, 0, 0); s.err == nil {
		s.outline = s.view.newOutline(nil)
	}
}

// findMessages returns the offset behind the bracket of the messages in another state, 0 for not found: the
// key may stand elsewhere, or far behind.
func (o *outline) findMessages(data []byte) int {
	const further = 4 << 10
	tape := jsontape.Prefix(data, o.open+further)
	return openOf(tape, tape.LookupPointer(o.list))
}

// elementStart returns the offset of the bytes of element i, those behind the comma before it; of a state
// whose outline it is.
func (o *outline) elementStart(data []byte, i int) int {
	if i == 0 {
		return o.open
	}
	at := o.open + o.elements[i-1].end
	return at + bytes.IndexByte(data[at:], ',') + 1
}

// countCommon returns how many first elements another state has, too, whose messages begin at open.
func (o *outline) countCommon(before, now []byte, open int) int {
	return countEqual(before[o.open:], now[open:], 0, o.elements)
}

// countEqual returns how many elements of before, starting at the offset from, are also at the beginning
// of now.
func countEqual(before, now []byte, from int, elements []element) (n int) {
	for first := from; n < len(elements); n++ {
		end := elements[n].end
		if end-first > len(now) || !bytes.Equal(before[from:end], now[from-first:end-first]) || !bytes.Contains([]byte(`}]"`), before[end-1:end]) {
			break
		}
		from = end
	}
	return n
}

// windowOf returns the outline of another state as far as it has the last elements of this one, whose
// first ones are gone.
func (o *outline) windowOf(before, now []byte, open int) (same *outline, gone int) {
	const space = " \t\r\n"
	same = &outline{list: o.list, open: open}
	text := bytes.TrimLeft(now[open:], space)
	for gone = 1; gone < len(o.elements); gone++ {
		at := o.elementStart(before, gone)
		at += len(before[at:]) - len(bytes.TrimLeft(before[at:], space)) - o.open
		rest := o.elements[gone:]
		if countEqual(before[o.open:], text, at, rest) < len(rest) {
			continue
		}
		first := o.elements[gone-1]
		at -= len(now) - open - len(text)
		for _, e := range rest {
			e.end, e.messages = e.end-at, e.messages-first.messages
			same.elements = append(same.elements, e)
		}
		return same, gone
	}
	return same, 0
}

// hasElement reports whether one of the first elements of another view is in the messages of this one, so that
// it is not told which of two equal ones stayed.
func (v *view) hasElement(other *view, first int) bool {
	list := other.talk.List()
	n := other.tape.First(list)
	for range first {
		start, end := v.tape.Span(v.talk.List())
		if bytes.Contains(v.tape.Data()[start:end], other.tape.Raw(n)) {
			return true
		}
		n = other.tape.Next(n)
	}
	return false
}

// lastSpeaker returns the number of the last element that has a message of its own on the page.
func lastSpeaker(list []element) int {
	for i := len(list) - 1; i > 0; i-- {
		if list[i].speaks {
			return i
		}
	}
	return 0
}

// messagesStart returns the offset just after the opening bracket of the messages, or 0 if they are not an array.
func (v *view) messagesStart() int { return openOf(v.tape, v.talk.List()) }

// openOf returns the offset behind the bracket of an array, 0 for anything else.
func openOf(t *jsontape.Tape, list jsontape.Node) int {
	if list == jsontape.None || t.Kind(list) != jsontape.Array {
		return 0
	}
	start, _ := t.Span(list)
	return start + 1
}

// isPaired reports whether each result has its call in the view.
func (v *view) isPaired() bool {
	for i := range v.talk.BlockLen() {
		if b := v.talk.Block(i); b.Kind == conversation.ToolResult && (b.Pair < 0 || b.ID < 0 && v.waiting > 0) {
			return false
		}
	}
	return true
}
