package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Written gathers the messages among the values that a step wrote. The zero value is empty. A nil one can
// be read.
type Written struct{ list []byte }

// Add adds a JSON value if it is a message, or a list of messages. Of the short forms a tuple in
// a list alone tells that it is one.
func (w *Written) Add(value []byte) {
	w.addMessages(value, func(item []byte) bool { return item[0] == '[' })
}

// AddMessages adds a JSON value from a place that holds messages alone, so that each short
// form is one.
func (w *Written) AddMessages(value []byte) {
	if whole, _, _ := WrittenOut(value); whole != nil {
		value = whole
	}
	w.addMessages(value, func([]byte) bool { return true })
}

// addMessages adds a message or a list of messages. short says which items of it may be short forms.
func (w *Written) addMessages(value []byte, short func(item []byte) bool) {
	if len(value) > 0 && value[0] == '{' {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	tape, err := jsontape.Parse(value)
	if err != nil || tape.Kind(0) != jsontape.Array || tape.First(0) < 0 {
		return
	}
	var list []byte
	are := isMessageList(tape, 0, false)
	for m := range jsontape.Members(value) {
		message := m.Value
		if short(message) {
			if whole, _, _ := WrittenOut(message); whole != nil {
				message, are = whole, are || len(list) == 0
			}
		}
		list = append(append(list, ','), message...)
	}
	if are {
		w.list = append(w.list, list...)
	}
}

// written are LangChain's messages by their roles: the type and the class, and what one has that nothing was said of.
var written = sync.OnceValue(func() map[string]struct{ kind, class, rest string } {
	return map[string]struct{ kind, class, rest string }{
		"human":     {"human", "HumanMessage", ""},
		"user":      {"human", "HumanMessage", ""},
		"ai":        {"ai", "AIMessage", ofModel},
		"assistant": {"ai", "AIMessage", ofModel},
		"system":    {"system", "SystemMessage", ""},
		"developer": {"system", "SystemMessage", ""},
		"tool":      {"tool", "ToolMessage", `,"tool_call_id":null,"artifact":null,"status":"success"`},
	}
})

const ofModel = `,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null`

// WrittenOut returns the message that LangChain makes from a short form, and its type and class. It is nil
// for another value. LangChain adds a random id; here the message lacks it.
//
//	"TEXT"                                      of the user
//	["ROLE", CONTENT]                           a tuple in Python
//	{"role": "ROLE", "content": CONTENT, …}     "type" is read as "role"
func WrittenOut(short []byte) (message []byte, kind, class string) {
	role, content, of := []byte(`"user"`), short, []byte(nil)
	switch {
	case bytes.HasPrefix(short, []byte("[")):
		var pair [][]byte
		for m := range jsontape.Members(short) {
			if pair = append(pair, m.Value); len(pair) > 2 {
				break
			}
		}
		if len(pair) != 2 || pair[1][0] != '"' && !bytes.HasPrefix(pair[1], []byte("[{")) {
			return nil, "", ""
		}
		role, content = pair[0], pair[1]
	case bytes.HasPrefix(short, []byte("{")):
		if jsontape.FindMember(short, `"$py"`) != nil || jsontape.FindMember(short, `"lc"`) != nil {
			return nil, "", "" // it is written out
		}
		if role = jsontape.FindMember(short, `"role"`); role == nil {
			role = jsontape.FindMember(short, `"type"`)
		}
		if content, of = jsontape.FindMember(short, `"content"`), short; string(content) == "null" {
			content = []byte(`""`)
		}
	case !bytes.HasPrefix(short, []byte(`"`)):
		return nil, "", ""
	}
	as, known := written()[jsontape.Unquote(role)]
	if !known || content == nil {
		return nil, "", ""
	}
	message = fmt.Appendf(nil, `{"content":%s,"additional_kwargs":{},"response_metadata":{},"type":"%s","name":null,"id":null%s}`, content, as.kind, as.rest)
	if of == nil {
		return message, as.kind, as.class
	}
	tape, err := jsontape.Parse(message)
	if err != nil {
		return nil, "", ""
	}
	patch := jsontape.NewPatch(tape)
	for m := range jsontape.Members(of) {
		if key := jsontape.Unquote(m.Key); key != "role" && key != "type" && key != "content" {
			patch.Put(0, key, m.Value)
		}
	}
	return patch.Bytes(), as.kind, as.class
}

// eachMessage yields the messages.
func (w *Written) eachMessage(yield func(message []byte) bool) {
	if w == nil || len(w.list) == 0 {
		return
	}
	for m := range jsontape.Members(slices.Concat([]byte("["), w.list[1:], []byte("]"))) {
		if !yield(m.Value) {
			return
		}
	}
}

// Summary describes the messages of a step.
type Summary struct {
	// Title is the title of the messages, on one line. It is untrusted.
	Title string
	// Failed reports that a tool failed. Calls reports that the messages end with calls of tools that have no
	// results among them.
	Failed, Calls bool
}

// Summary summarises the messages. calls are those of the steps before, by their ids, and Summary adds those of the
// messages. It may be nil.
func (w *Written) Summary(calls map[string]Act) (s Summary) {
	var titles []string
	for message := range w.eachMessage {
		c := singleMessage(message)
		if c == nil {
			continue
		}
		m := c.Len() - 1
		title, failed := c.messageTitle(m, calls)
		c.addCalls(m, calls)
		s.Failed, s.Calls = s.Failed || failed, s.Calls || c.hasKind(m, ToolCall)
		if title != "" {
			titles = append(titles, title)
		}
	}
	s.Title, s.Calls = JoinActs(titles), s.Calls && w.endsInCalls()
	return s
}

// Opening returns the first words of the user among the messages, or "".
func (w *Written) Opening() string {
	for message := range w.eachMessage {
		if words := Opening(slices.Concat([]byte("["), message, []byte("]"))); words != "" {
			return words
		}
	}
	return ""
}

// endsInCalls reports whether the messages end with calls of tools that have no results among them.
func (w *Written) endsInCalls() bool {
	var t Tail
	t.addList(slices.Concat([]byte("["), w.list[1:], []byte("]")))
	c := t.decodeLast(callMessages)
	return c != nil && len(c.Pending()) > 0
}

// Tokens returns the total tokens of the messages, for [model.TokensFact]: by the usage_metadata of
// LangChain's. It is nil if no message states them.
func (w *Written) Tokens() (counts []model.Number) {
	for message := range w.eachMessage {
		if inner := jsontape.FindMember(message, `"kwargs"`); inner != nil {
			message = inner
		}
		var usage struct {
			Input   float64 `json:"input_tokens"`
			Output  float64 `json:"output_tokens"`
			Total   float64 `json:"total_tokens"`
			Details struct {
				Read  float64 `json:"cache_read"`
				Write float64 `json:"cache_creation"`
			} `json:"input_token_details"`
		}
		if json.Unmarshal(jsontape.FindMember(message, `"usage_metadata"`), &usage) != nil || usage.Total == 0 {
			continue
		}
		for _, n := range []model.Number{
			{Key: "input", Value: usage.Input}, {Key: "output", Value: usage.Output}, {Key: "total", Value: usage.Total},
			{Key: "cacheRead", Value: usage.Details.Read}, {Key: "cacheWrite", Value: usage.Details.Write},
		} {
			counts = addCount(counts, n)
		}
	}
	return counts
}

// addCount adds a number to the one of its key. One of 0 is not told.
func addCount(counts []model.Number, n model.Number) []model.Number {
	i := slices.IndexFunc(counts, func(known model.Number) bool { return known.Key == n.Key })
	switch {
	case n.Value == 0:
	case i < 0:
		return append(counts, n)
	default:
		counts[i].Value += n.Value
	}
	return counts
}
