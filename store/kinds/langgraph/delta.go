package langgraph

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/encoding/msgpack"
	"hindcast/store/engine/rows"
)

// A DeltaChannel is in a checkpoint only now and then. Between, LangGraph puts its value
// together: from the nearest ancestor that has one, and what was written since, on that ancestor
// and behind it. How a write changes the value is a function of the program's, which is not in
// the store. Hindcast does what the functions of LangGraph's own do:
//
//	messages     one takes the place of that with its id, a RemoveMessage takes that away;
//	             short forms are written out
//	lists        are put one behind another
//	objects      get each other's members
//	all others   the last counts
//	Overwrite    begins anew

// readDeltas returns the values of the channels that a checkpoint stores only as changes. lost are the channels
// with missing changes, because an ancestor was pruned.
func (f format) readDeltas(ctx context.Context, t rows.Tx, at rows.Place, id string, c *checkpoint) (put map[string][]byte, lost []string, err error) {
	values := jsontape.FindMember(c.document, `"channel_values"`)
	if values == nil {
		return nil, nil, nil
	}
	type history struct {
		line []string // the ancestors whose writes count, the newest first
		seed []byte
	}
	open := map[string]*history{}
	versions := jsontape.FindMember(c.document, `"channel_versions"`)
	for channel := range c.about.Deltas {
		// One without a version was never written.
		if jsontape.FindMember(values, quoteJSON(channel)) == nil && jsontape.FindMember(versions, quoteJSON(channel)) != nil {
			open[channel] = &history{}
		}
	}
	if len(open) == 0 {
		return nil, nil, nil
	}
	put = map[string][]byte{}
	finish := func(channel string) error {
		h := open[channel]
		delete(open, channel)
		var writes [][]byte
		var value reduced
		for _, id := range slices.Backward(h.line) {
			err := f.layout.eachWrite(ctx, t, at, id, channel, func(_, encoding string, written []byte) {
				if shown, err := decodeValue(encoding, written); err == nil { // one that is damaged is as none
					writes, value.javaScript = append(writes, shown), encoding == "json"
				}
			})
			if err != nil {
				return err
			}
		}
		value.messages = holdsMessages(channel, h.seed, writes)
		value.setValue(h.seed)
		for _, write := range writes {
			value.addWrite(write)
		}
		if whole := value.value(); whole != nil {
			put[channel] = whole
		}
		return nil
	}
	seen := map[string]bool{id: true}
	for id := c.parent; len(open) > 0; {
		if id == "" || seen[id] {
			for _, channel := range slices.Sorted(maps.Keys(open)) {
				if err := finish(channel); err != nil {
					return nil, nil, err
				}
			}
			break
		}
		seen[id] = true
		channels := slices.Sorted(maps.Keys(open))
		parent, seeds, found, err := f.layout.findAncestor(ctx, t, at, id, channels)
		if err != nil {
			return nil, nil, err
		}
		if !found {
			return put, channels, nil
		}
		for _, channel := range channels {
			h := open[channel]
			h.line = append(h.line, id)
			if h.seed = plainValue(seeds[channel]); h.seed != nil {
				if err := finish(channel); err != nil {
					return nil, nil, err
				}
			}
		}
		id = parent
	}
	return put, nil, nil
}

// keptValue returns a checkpoint's value of a channel, or nil. It decodes no other value.
func keptValue(encoding string, whole []byte, channel string) []byte {
	if encoding != "msgpack" {
		document, _ := decodeValue(encoding, whole) // one that is damaged has none
		return plainValue(jsontape.FindMember(jsontape.FindMember(document, `"channel_values"`), quoteJSON(channel)))
	}
	for _, key := range []string{"channel_values", channel} {
		begin, end, ok, err := msgpack.Member(whole, key)
		if err != nil || !ok {
			return nil
		}
		whole = whole[begin:end]
	}
	value, err := decodeValue(encoding, whole)
	if err != nil {
		return nil
	}
	return plainValue(value)
}

// plainValue returns the value of a channel without the sign that it is one of a DeltaChannel.
func plainValue(value []byte) []byte {
	if inner := jsontape.FindMember(value, `"$delta"`); inner != nil {
		return inner
	}
	if bytes.HasPrefix(value, []byte(`{"lc":2,`)) && string(jsontape.FindMember(value, `"type"`)) == `"delta_snapshot"` { // of JavaScript
		return jsontape.FindMember(value, `"value"`)
	}
	return value
}

// holdsMessages reports whether the reducer of a channel makes messages of short forms, as far as its values
// tell: one of them is a message, or a tuple that stands for one. No value tells of a channel that has texts
// alone, but its name may.
func holdsMessages(channel string, seed []byte, writes [][]byte) bool {
	for m, err := range jsontape.Members(seed) {
		if err == nil {
			return isMessage(m.Value)
		}
	}
	tells := func(item []byte) bool {
		return isMessage(item) || bytes.HasPrefix(item, []byte("[")) && writtenOut(item, false) != nil
	}
	return channel == messages || slices.ContainsFunc(writes, func(write []byte) bool {
		if write = plainValue(write); !bytes.HasPrefix(write, []byte("[")) {
			return tells(write)
		}
		for m := range jsontape.Members(write) {
			if tells(m.Value) {
				return true
			}
		}
		return false
	})
}

// writtenOut returns the message that a short form stands for, as LangGraph stores one; nil for another value.
func writtenOut(short []byte, javaScript bool) []byte {
	message, kind, class := conversation.WrittenOut(short)
	switch {
	case message == nil:
		return nil
	case javaScript:
		return slices.Concat([]byte(`{"lc":1,"type":"constructor","id":["langchain_core","messages","`+class+`"],"kwargs":`), message, []byte("}"))
	}
	return slices.Concat([]byte(`{"$py":"langchain_core.messages.`+kind+"."+class+`",`), message[1:])
}

// reduced is a value to which writes are added.
type reduced struct {
	// messages says that short forms of messages are written out, and javaScript how.
	messages, javaScript bool

	isList bool
	items  [][]byte       // those of a list, nil where one was taken away
	ids    map[string]int // where messages are in it
	other  []byte         // a value that is no list
}

// setValue starts the reduction with a value, which may be nil.
func (r *reduced) setValue(value []byte) {
	*r = reduced{messages: r.messages, javaScript: r.javaScript, ids: map[string]int{}}
	if r.isList = bytes.HasPrefix(value, []byte("[")); !r.isList {
		r.other = value
		return
	}
	for m := range jsontape.Members(value) {
		r.appendItem(m.Value)
	}
}

// addWrite adds a write.
func (r *reduced) addWrite(write []byte) {
	write = plainValue(write)
	over := jsontape.FindMember(write, `"__overwrite__"`)
	if className(write) == "Overwrite" || string(jsontape.FindMember(write, `"type"`)) == `"__overwrite__"` {
		over = jsontape.FindMember(write, `"value"`)
	}
	isList := bytes.HasPrefix(write, []byte("["))
	if !isList {
		write = r.writtenItem(write)
	}
	switch {
	case string(over) == "null" && r.isList: // as it is before the first write
		r.setValue([]byte("[]"))
	case string(over) == "null" && bytes.HasPrefix(r.other, []byte("{")):
		r.setValue([]byte("{}"))
	case over != nil:
		r.setValue(over)
	case !r.isList && r.other != nil && bytes.HasPrefix(r.other, []byte("{")) && bytes.HasPrefix(write, []byte("{")) && className(r.other)+className(write) == "":
		r.other = mergeObjects(r.other, write)
	case !r.isList && (r.other != nil || !isList && !isMessage(write)):
		r.setValue(write)
	case isList:
		r.isList = true
		for m := range jsontape.Members(write) {
			r.appendItem(m.Value)
		}
	default:
		r.isList = true
		r.appendItem(write)
	}
}

// removeAll is the id of a RemoveMessage that takes away all messages before it.
const removeAll = "__remove_all__"

// writtenItem returns an item as what is kept of it.
func (r *reduced) writtenItem(item []byte) []byte {
	if r.messages {
		if message := writtenOut(item, r.javaScript); message != nil {
			return message
		}
	}
	return item
}

// appendItem adds an item of a list. A message takes the place of that with its id.
func (r *reduced) appendItem(item []byte) {
	item = r.writtenItem(item)
	if !isMessage(item) {
		r.items = append(r.items, item)
		return
	}
	members := item
	if of := jsontape.FindMember(item, `"kwargs"`); of != nil && bytes.HasPrefix(item, []byte(`{"lc":`)) {
		members = of
	}
	id := ""
	if text := jsontape.FindMember(members, `"id"`); bytes.HasPrefix(text, []byte(`"`)) { // null of a message without one
		id = jsontape.Unquote(text)
	}
	at, known := r.ids[id]
	switch {
	case className(item) == "RemoveMessage" && id == removeAll:
		r.items, r.ids = nil, map[string]int{}
	case className(item) == "RemoveMessage":
		if known {
			r.items[at] = nil
			delete(r.ids, id)
		}
	case known:
		r.items[at] = item
	default:
		if id != "" {
			r.ids[id] = len(r.items)
		}
		r.items = append(r.items, item)
	}
}

// value returns the reduced value, or nil.
func (r *reduced) value() []byte {
	if !r.isList {
		return r.other
	}
	items := slices.DeleteFunc(r.items, func(item []byte) bool { return item == nil })
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// mergeObjects returns an object with the members of another.
func mergeObjects(object, with []byte) []byte {
	tape, err := jsontape.Parse(object)
	if err != nil {
		return with
	}
	patch := jsontape.NewPatch(tape)
	for m := range jsontape.Members(with) {
		if m.Key != nil {
			patch.Put(0, jsontape.Unquote(m.Key), m.Value)
		}
	}
	return patch.Bytes()
}

// className returns the name of the class of a value of Python's or of JavaScript's, without its module.
func className(value []byte) string {
	if bytes.HasPrefix(value, []byte(`{"lc":`)) {
		path := listElements(jsontape.FindMember(value, `"id"`))
		if len(path) == 0 {
			return ""
		}
		return jsontape.Unquote(path[len(path)-1])
	}
	if !bytes.HasPrefix(value, []byte("{")) {
		return ""
	}
	name := jsontape.Unquote(jsontape.FindMember(value, `"$py"`))
	return name[strings.LastIndexByte(name, '.')+1:]
}

func isMessage(value []byte) bool { return strings.HasSuffix(className(value), "Message") }
