package report

import (
	"bytes"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
)

// A state mostly is the one before it with some messages more. The messages that both begin with are
// cut out of both before they are read:
//
//	before  {"messages":[A,B,C],"n":1}      {"messages":[C],"n":1}
//	now     {"messages":[A,B,C,D],"n":2}    {"messages":[C,D],"n":2}
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

// view is a state without some of the first elements of its messages.
type view struct {
	tape *jsontape.Tape
	talk *conversation.Conversation
	// said are the messages, with their numbers in the whole state.
	said []transcript.Message
	// elements, messages and waiting count what is left out, and bytes how long that is.
	elements, messages, waiting, bytes int
}

// read reads a state without the first elements of an outline. Without elements it needs no outline.
// The error is that of jsontape.Parse.
func (p *page) read(data []byte, o *outline, elements int) (v *view, err error) {
	v = &view{elements: elements}
	if elements > 0 {
		last := o.elements[elements-1]
		rest := data[o.open+last.end:]
		v.messages, v.waiting, v.bytes = last.messages, last.waiting, last.end+bytes.IndexByte(rest, ',')+1
		data = append(bytes.Clone(data[:o.open]), data[o.open+v.bytes:]...)
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

// outline returns where the messages of the whole state are; known are the first elements, those
// that are left out among them, and are overwritten. It is nil where the messages are no array,
// where some are elsewhere, or where those of known would be read otherwise.
func (v *view) outline(known []element) *outline {
	list := v.talk.List()
	if list == jsontape.None {
		return nil
	}
	o := &outline{v.tape.Pointer(list), v.open(), known[:v.elements]}
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

// readBoth reads two states, the second one without the messages that both begin with, and the first
// one, too. It sets their views, or their errors.
func (p *page) readBoth(before, now *state) {
	if p.readApart(before, now) {
		return
	}
	before.view, before.err = p.read(before.data, nil, 0)
	p.readWhole(now)
}

// readApart reads two states without the messages that both begin with. It returns false where they
// begin with none, or where a message reads otherwise without those.
func (p *page) readApart(before, now *state) bool {
	o := before.outline
	if o == nil {
		return false
	}
	open := o.find(now.data)
	if open == 0 {
		return false
	}
	same := o.elements[:o.common(before.data, now.data, open)]
	left := lastSpeaker(same)
	if left == 0 {
		return false
	}
	a, errA := p.read(before.data, o, left)
	b, errB := p.read(now.data, &outline{o.list, open, same}, left)
	if errA != nil || errB != nil || a.open() != o.open || b.open() != open || !b.isPaired() {
		return false
	}
	before.view, now.view, now.outline = a, b, b.outline(same)
	return now.outline != nil
}

// readWhole reads a state with all of its messages.
func (p *page) readWhole(s *state) {
	if s.view, s.err = p.read(s.data, nil, 0); s.err == nil {
		s.outline = s.view.outline(nil)
	}
}

// find returns the offset behind the bracket of the messages in another state, 0 for not found: the
// key may stand elsewhere, or far behind.
func (o *outline) find(data []byte) int {
	const further = 4 << 10
	tape := jsontape.Prefix(data, o.open+further)
	return openOf(tape, tape.LookupPointer(o.list))
}

// common returns how many first elements another state has, too, whose messages begin at open.
func (o *outline) common(before, now []byte, open int) (n int) {
	before, now = before[o.open:], now[open:]
	for from := 0; n < len(o.elements); n++ {
		end := o.elements[n].end
		if end > len(now) || !bytes.Equal(before[from:end], now[from:end]) || !bytes.Contains([]byte(`}]"`), before[end-1:end]) {
			break
		}
		from = end
	}
	return n
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

// open returns the offset behind the bracket of the messages, 0 where there are none.
func (v *view) open() int { return openOf(v.tape, v.talk.List()) }

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
