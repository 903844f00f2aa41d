package gemini

import (
	"cmp"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// op is the effect of a line on the list of messages.
type op uint8

const (
	// opNone: nothing; opUnknown: Gemini CLI passes the line over, too.
	opNone op = iota
	opUnknown
	// opPut appends messages, each in the place of one of its id that is there.
	opPut
	// opSet takes a list of messages in place of all.
	opSet
	// opRewind removes a message and all behind it.
	opRewind
)

// record holds the parts of a line that are kept.
type record struct {
	op       op
	messages []message
	rewind   string
	unknown  string // the type of a line that is not known
	meta     meta
	at       time.Time
}

// meta is the session's metadata in a line.
type meta struct {
	session, summary string
	// hashed says that a line names the project.
	hashed bool
}

// isListed reports whether Gemini CLI lists a session of that.
func (m *meta) isListed() bool { return m.session != "" && m.hashed }

// message holds the parts of a message that are kept.
type message struct {
	chat.Span
	id, kind string
	at       time.Time
	said     chat.Said
	// carried are the results that its calls carry.
	carried []chat.Result
	model   string
	// event says in a word what it is that its role does not tell, "" for nothing.
	event string
	// children are the sub-agents that its calls started.
	children []string
	// like is a hash of the content, and text a hash of the text. empty marks a message without text.
	like, text uint64
	empty      bool
	// silent says that a resumed session is without it, resumable that it is worth resuming.
	silent, resumable bool
	counted           bool
	thoughts          int
}

// decodeLine keeps what is named here of a line.
func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err == nil {
		*r = recordOf(v, l.At)
	}
	return err
}

// recordOf returns the record of a line that is so far from the beginning of its file. What
// Gemini CLI looks at first counts.
func recordOf(v chat.Value, at int64) (r record) {
	set := v.Get("$set")
	switch {
	case v.Get("$rewindTo").Kind() == jsontape.String:
		r.op, r.rewind = opRewind, v.Get("$rewindTo").Text()
	case v.Get("id").Kind() == jsontape.String:
		r.op, r.messages = opPut, []message{glanceAt(v, at)}
	case set.Kind() == jsontape.Object:
		r.learnFrom(set)
		if list := set.Get("messages"); list.Kind() == jsontape.Array {
			r.op, r.messages = opSet, messagesOf(list, at)
		}
	case v.Get("sessionId").Kind() == jsontape.String:
		r.learnFrom(v)
		if list := v.Get("messages"); list.Kind() == jsontape.Array {
			r.op, r.messages = opPut, messagesOf(list, at)
		}
	default:
		r.op, r.unknown = opUnknown, cmp.Or(v.Get("type").Text(), "line")
	}
	return r
}

func (r *record) learnFrom(v chat.Value) {
	r.meta = meta{v.Get("sessionId").Text(), v.Get("summary").Words(), v.Get("projectHash").Kind() == jsontape.String}
	r.at = v.Get("lastUpdated").Time()
}

func messagesOf(list chat.Value, at int64) []message {
	messages := []message{}
	for v := range list.Each() {
		if v.Get("id").Kind() == jsontape.String {
			messages = append(messages, glanceAt(v, at))
		}
	}
	return messages
}

// glanceAt returns the kept parts of a message.
func glanceAt(v chat.Value, at int64) message {
	m, results := messageOf(v)
	span := v.Span()
	is := message{
		Span: chat.Span{At: at + span.At, Len: span.Len}, id: v.Get("id").Text(), kind: v.Get("type").Text(),
		at: v.Get("timestamp").Time(), said: m.Summarise(), model: m.Model, counted: m.Usage.Counted, empty: true,
	}
	is.carried = results.Summarise().Results
	for call := range v.Get("toolCalls").Each() {
		if child := call.Get("agentId").Text(); chat.IsPlainID(child) {
			is.children = append(is.children, child)
		}
	}
	text, first := fnv.New64a(), ""
	text.Write([]byte(is.kind))
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Kind {
		case conversation.Reasoning:
			is.thoughts++
			continue
		case conversation.ToolCall, conversation.ToolResult:
			first = first + "["
			continue
		case conversation.Text:
			first += chat.Words(b.Body, 2*len(injected[0]))
			text.Write([]byte(strings.Trim(string(b.Body), `"`)))
		default:
			first += "["
			text.Write(b.Body)
		}
		is.empty = is.empty && len(b.Body) <= len(`""`)
	}
	is.text = text.Sum64()
	is.judgeWords(first)
	for _, c := range is.said.Calls {
		text.Write([]byte("\x00call" + c.ID))
	}
	for _, r := range is.said.Results {
		text.Write([]byte("\x00result" + r.ID))
	}
	is.like = text.Sum64()
	if is.event == eventContext {
		is.like = 0 // it is made anew at each start
	}
	return is
}

// injected begin messages that Gemini CLI makes itself, ignored those of a user that no
// resumed session has.
var (
	injected = []string{"<session_context>", "<hook_context>"}
	ignored  = append([]string{"/", "?"}, injected...)
)

// What a message is that its role does not tell: its type, of the others.
const eventContext, eventCommand = chat.EventContext, chat.EventCommand

// judgeWords classifies a message by its first words: whether a resumed session contains it, and whether the
// session is kept for it.
func (m *message) judgeWords(first string) {
	switch m.kind {
	case "user":
		m.silent = first == ""
		for _, words := range ignored {
			m.silent = m.silent || strings.HasPrefix(first, words)
		}
		m.resumable = !m.silent
		if strings.HasPrefix(first, injected[0]) {
			m.event = eventContext
		} else if m.silent {
			m.event = eventCommand
		}
	case "gemini":
		m.resumable = first != "" || len(m.said.Calls)+m.thoughts > 0
	default:
		m.silent, m.event = true, m.kind
	}
}

// messageOf returns a message, and the results that its calls carry.
func messageOf(v chat.Value) (m, results chat.Message) {
	m.Raw = [][]byte{v.Raw()}
	m.Model, m.Usage = v.Get("model").Text(), v.Usage()
	if tokens := v.Get("tokens"); m.Usage.Counted { // these are counted beside the others
		m.Usage.Input += tokens.Get("tool").Number()
		m.Usage.Output += tokens.Get("thoughts").Number()
	}
	results.Role = chat.Tool
	switch v.Get("type").Text() {
	case "user":
		m.Role = chat.User
	case "gemini":
		m.Role = chat.Assistant
	case "info", "warning", "error":
	default:
		m.Role = chat.Other
	}
	converted := false // a resumed session has thoughts and calls among the parts
	for part := range contentParts(v.Get("content")) {
		b := blockOf(part)
		if b.Kind == conversation.Text && string(b.Body) == `""` {
			continue
		}
		converted = converted || b.Kind == conversation.Reasoning || b.Kind == conversation.ToolCall
		m.Blocks = append(m.Blocks, b)
	}
	if m.Role == chat.User && len(m.Blocks) > 0 && m.Blocks[0].Kind == conversation.ToolResult {
		m.Role = chat.Tool
	}
	if m.Role != chat.Assistant {
		return m, results
	}
	if !converted {
		var thoughts []chat.Block
		for thought := range v.Get("thoughts").Each() {
			words := strings.TrimSpace(thought.Get("subject").Text() + "\n" + thought.Get("description").Text())
			thoughts = append(thoughts, chat.Block{Kind: conversation.Reasoning, Body: jsontape.AppendQuoted(nil, words)})
		}
		m.Blocks = append(thoughts, m.Blocks...)
	}
	for call := range v.Get("toolCalls").Each() {
		id, name := call.Get("id").Text(), call.Get("name").Text()
		if !converted {
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolCall, ID: id, Name: name, Body: call.Get("args").Raw()})
		}
		result := call.Get("result")
		if !result.There() || result.Kind() == jsontape.Null {
			continue
		}
		b := chat.Block{Kind: conversation.ToolResult, ID: id, Name: name, Body: result.Raw()}
		for part := range contentParts(result) {
			if is := blockOf(part); is.Kind == conversation.ToolResult {
				b.Body = is.Body
				break
			}
		}
		b.Failed = call.Get("status").Text() == "error"
		b.NoteExit(exitCode, "Exit Code: ")
		results.Blocks = append(results.Blocks, b)
	}
	return m, results
}

// contentParts returns the parts of a content: a list of them, or one alone.
func contentParts(content chat.Value) func(yield func(chat.Value) bool) {
	if content.Kind() == jsontape.Array {
		return content.Each()
	}
	return func(yield func(chat.Value) bool) {
		if content.There() && content.Kind() != jsontape.Null {
			yield(content)
		}
	}
}

// exitCode finds how a command ended behind what it printed.
var exitCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\n(?:Exit Code|Process Exit Code): (-?\d+)(?:\\n|"|$)`)
})

func blockOf(part chat.Value) chat.Block {
	if part.Kind() == jsontape.String {
		return chat.TextBlock(part.Raw())
	}
	b := chat.PartBlock(part)
	if b.Kind == conversation.ToolResult {
		b.NoteExit(exitCode, "Exit Code: ")
	}
	return b
}
