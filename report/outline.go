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
	p.parsed += len(data)
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
	start, _ := v.tape.Span(list)
	o := &outline{v.tape.Pointer(list), start + 1, known[:v.elements]}
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

// since returns two states without what their messages begin with, and where the messages of the
// second one are. The errors are that of the state before and that of the other.
func (p *page) since(before, now *state) (a, b *view, old, err error) {
	if o := before.outline; o != nil {
		if open := o.find(now.data); open > 0 {
			same := o.elements[:o.common(before.data, now.data, open)]
			if left := speaker(same); left > 0 {
				a, _ = p.read(before.data, o, left)
				b, _ = p.read(now.data, &outline{o.list, open, same}, left)
				if a != nil && b != nil && a.reads(o.open) && b.reads(open) && b.isPaired() {
					if now.outline = b.outline(same); now.outline != nil {
						return a, b, nil, nil
					}
				}
			}
		}
	}
	a, old = p.read(before.data, nil, 0)
	b, err = p.whole(now)
	return a, b, old, err
}

// whole reads a state with all of its messages.
func (p *page) whole(s *state) (*view, error) {
	v, err := p.read(s.data, nil, 0)
	if err == nil {
		s.outline = v.outline(nil)
	}
	return v, err
}

// find returns the offset behind the bracket of the messages in another state, 0 for not found: the
// key may stand elsewhere, or far behind.
func (o *outline) find(data []byte) int {
	const further = 4 << 10
	tape := jsontape.Prefix(data, o.open+further)
	list := tape.LookupPointer(o.list)
	if list == jsontape.None || tape.Kind(list) != jsontape.Array {
		return 0
	}
	start, _ := tape.Span(list)
	return start + 1
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

// speaker returns the number of the last element that has a message of its own on the page.
func speaker(list []element) int {
	for i := len(list) - 1; i > 0; i-- {
		if list[i].speaks {
			return i
		}
	}
	return 0
}

// reads reports whether the messages are read from the array that opens before an offset.
func (v *view) reads(open int) bool {
	list := v.talk.List()
	if list == jsontape.None {
		return false
	}
	start, _ := v.tape.Span(list)
	return start+1 == open
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
