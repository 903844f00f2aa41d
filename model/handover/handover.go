// Package handover makes, of the messages in a state, a conversation that another agent goes on with.
//
// Providers refuse a request in which a call has no result, a message is empty, or an answer comes first. A state may
// have each of these. So a [Talk] is in the order that all of them take:
//
//	user       text, pictures
//	assistant  text, calls
//	user       the result of each call, then text
//	assistant  …
package handover

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
)

// Source is a conversation in a snapshot. Its texts are untrusted.
type Source struct {
	Conversation *conversation.Conversation
	// Kind is the kind of its store, by which its tools are known, and Framework names the tool that wrote it.
	Kind, Framework string
	// Session is its id, and Snapshot the visit.
	Session  string
	Snapshot model.Point
	// Project is the folder that it is about, absolute.
	Project string
	// At returns when a message came, the zero time where it is not known.
	At func(m int) time.Time
	// Agents are the sessions of the sub-agents that were started on the way to it.
	Agents []string
}

// Talk is a conversation for another agent. The user and the assistant speak in turn, the user first. The message
// behind calls begins with the result of each call, in their order. No message is empty. Ids of
// calls are unique, and they and the names of tools have at most 64 letters, digits, dashes and underscores.
type Talk struct {
	Messages []Message
	Tally
}

// Message is one message of a Talk.
type Message struct {
	// Assistant says that the model speaks, else the user.
	Assistant bool
	// At is when it came. It is never before that of the message before it, and zero if nothing is known.
	At time.Time
	// Model is the model that answered, "" where it is not known.
	Model string
	Parts []Part
}

// DateMessages gives the first time that is known to the messages before it, whose own is not: now where none is known.
func (t *Talk) DateMessages(now time.Time) {
	first := slices.IndexFunc(t.Messages, func(m Message) bool { return !m.At.IsZero() })
	if first < 0 {
		first = len(t.Messages)
	} else {
		now = t.Messages[first].At
	}
	for i := range t.Messages[:first] {
		t.Messages[i].At = now
	}
}

// FindResult returns the result of a call, by its id, or nil. It is in the message behind the call.
func (m *Message) FindResult(id string) *Part {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == Result && p.ID == id {
			return p
		}
	}
	return nil
}

// Part is a part of a message.
type Part struct {
	Kind Kind
	// Text is the text, also of a result.
	Text string
	// ID joins a call and its result, and Tool is the tool of both.
	ID, Tool string
	// Input is a JSON object, of a call alone.
	Input json.RawMessage
	// Failed says that the tool failed.
	Failed bool
	// Picture is that of a picture. Those of a result follow the results, behind a text that says so.
	Picture transcript.Picture
}

// Kind is the kind of a [Part].
type Kind uint8

// The kinds of part.
const (
	Text Kind = iota
	Picture
	Call
	Result
)

// Words that no agent said, which stand where a provider wants something.
const (
	noResult = "No result of this call was recorded."
	noOutput = "(no output)"
	noWords  = "(This conversation was continued from another agent, where it begins with an answer.)"
)

// New makes the conversation for an agent, by the name of its kind.
func New(from *Source, to string) *Talk {
	b := &builder{Talk: &Talk{}, c: from.Conversation, from: from, tools: pairTools(from.Kind, to, from.Project), taken: map[string]bool{}}
	b.Agents = from.Agents
	for m := range b.c.Len() {
		b.addMessage(m)
	}
	b.answerCalls()
	return b.Talk
}

// NewSession is New for a session that is to be made. The error is a model.UnsupportedError for a conversation without
// messages.
func NewSession(from *Source, to string) (*Talk, error) {
	talk := New(from, to)
	if len(talk.Messages) > 0 {
		return talk, nil
	}
	return nil, &model.UnsupportedError{Op: model.OpContinue, Reason: fmt.Sprintf("there are no messages at %s of %.80q: nothing is there to go on with", from.Snapshot, from.Session)}
}

// builder makes a Talk.
type builder struct {
	*Talk
	c     *conversation.Conversation
	from  *Source
	tools toolPair
	taken map[string]bool // ids of calls
	// open are the calls of the last message, which have no results yet.
	open []openCall
	// place is the block that is being added.
	place int
	at    time.Time // when the message came that is being added
	by    string    // the model that says it
}

// openCall is a call of the last message: its block, and how it is called.
type openCall struct {
	block    *conversation.Block
	id, tool string
}

// addMessage adds message m of the state.
func (b *builder) addMessage(m int) {
	msg := b.c.Message(m)
	if at := b.from.At(m); at.After(b.at) {
		b.at = at
	}
	b.by = conversation.UsageOf(b.c.Tape(), msg.Node).Model
	if b.isAnswered(m) {
		b.answerCalls()
	}
	if msg.Role == conversation.System {
		b.Prompts++
		return
	}
	assistant := msg.Role == conversation.Assistant
	for i := range b.c.Blocks(m) {
		b.place = b.c.FirstBlock(m) + i
		b.addBlock(b.c.Block(b.place), assistant)
	}
}

// isAnswered reports whether results of the open calls stand before message m, or in it: an answer that comes in several
// messages has no results between them.
func (b *builder) isAnswered(m int) bool {
	return slices.ContainsFunc(b.open, func(call openCall) bool {
		return call.block.Pair >= 0 && b.c.MessageOf(int(call.block.Pair)) <= m
	})
}

// addBlock adds a block that the assistant or the user said.
func (b *builder) addBlock(block *conversation.Block, assistant bool) {
	part := transcript.PartOf(b.c, block)
	switch block.Kind {
	case conversation.ToolCall:
		b.addCall(block, &part)
		return
	case conversation.ToolResult:
		if block.Pair < 0 {
			b.Quoted++
			b.add(false, Part{Text: quote(part.Label+" "+part.Tool, outputText(&part))})
			b.addPictures(false, part.Pictures)
		}
		return
	case conversation.Reasoning:
		b.Thoughts++
		return
	case conversation.CachePoint, conversation.Failure:
		return
	case conversation.Context:
		if !b.isAttached(block) {
			b.Contexts++
			return
		}
	}
	switch {
	case len(part.Pictures) > 0:
		b.addPictures(assistant, part.Pictures)
	case part.Text != "" && !assistant && conversation.IsOwn(part.Text):
		b.Contexts++
	case part.Text != "" && block.Kind != conversation.Context:
		b.Texts++
		b.add(assistant, Part{Text: part.Text})
	case part.Text != "":
		b.Quoted++
		b.add(assistant, Part{Text: quote(part.Label, part.Text)})
	case part.Value != nil:
		b.Quoted++
		b.add(assistant, Part{Text: quote(part.Label, transcript.Plain(part.Value))})
	case part.Label != "" && part.Label != conversation.BlankText:
		b.Left++
		b.add(assistant, Part{Text: "[" + part.Label + "]"})
	}
}

// attached are the words for context that the user gave. The agent adds other context by itself.
var attached = []string{"file", "directory", "attachment", "selected_lines_in_ide"}

func (b *builder) isAttached(block *conversation.Block) bool {
	t := b.c.Tape()
	return slices.Contains(attached, t.Text(t.Find(t.Find(block.Node, "context"), "type")))
}

// quote returns a text that stands for a part of another kind.
func quote(is, text string) string { return "[" + is + "]\n" + text }

// outputText returns the texts and values of a result.
func outputText(part *transcript.Part) (text string) {
	for i, value := range part.Output {
		if string(value) == "[]" { // a list of no blocks
			continue
		}
		if text != "" {
			text += "\n"
		}
		if !slices.ContainsFunc(part.Pictures, func(p transcript.Picture) bool { return p.Output == i }) {
			text += transcript.Plain(value)
		}
	}
	return text
}

// add adds a part to the last message, or to a new one where another speaks.
func (b *builder) add(assistant bool, part Part) {
	// A message may have results of its calls between its texts.
	isBefore := func(call openCall) bool { return call.block.Pair >= 0 && int(call.block.Pair) < b.place }
	if !assistant || slices.ContainsFunc(b.open, isBefore) {
		b.answerCalls()
	}
	b.append(assistant, part)
}

// append is add, without a look at the open calls.
func (b *builder) append(assistant bool, part Part) {
	if n := len(b.Messages); n == 0 && assistant {
		b.Notes++
		b.Messages = append(b.Messages, Message{At: b.at, Parts: []Part{{Text: noWords}}})
	}
	if n := len(b.Messages); n == 0 || b.Messages[n-1].Assistant != assistant {
		b.Messages = append(b.Messages, Message{Assistant: assistant, At: b.at})
	}
	m := &b.Messages[len(b.Messages)-1]
	if m.Parts = append(m.Parts, part); assistant && m.Model == "" {
		m.Model = b.by
	}
}

func (b *builder) addPictures(assistant bool, list []transcript.Picture) {
	for _, p := range list {
		b.Pictures++
		if assistant { // providers take pictures of the user alone
			b.append(true, Part{Text: "[picture of the answer: it follows]"})
		}
		b.add(false, Part{Kind: Picture, Picture: p})
	}
}

// addCall adds a call. Its result follows when the message ends.
func (b *builder) addCall(block *conversation.Block, part *transcript.Part) {
	input := part.Input
	if text := []byte(transcript.Plain(input)); len(input) > 0 && input[0] == '"' && jsontape.Valid(text) && len(text) > 0 && text[0] == '{' {
		input = text
	}
	if len(input) == 0 || input[0] != '{' {
		raw := input
		if input = json.RawMessage(`{}`); len(raw) > 0 && string(raw) != "null" {
			input = append(append(json.RawMessage(`{"input":`), raw...), '}')
		}
	}
	tool, converted := b.tools.convert(part.Tool, input)
	if tool != part.Tool || !bytes.Equal(converted, input) {
		b.noteRenamed(part.Tool, tool)
	}
	id := part.CallID
	if !plainID().MatchString(id) || b.taken[id] {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", id, len(b.taken)))
		id = "call_" + hex.EncodeToString(sum[:12])
		b.Renumbered++
	}
	b.taken[id] = true
	b.Calls++
	b.append(true, Part{Kind: Call, ID: id, Tool: tool, Input: jsontape.AppendCompact(nil, converted)})
	b.open = append(b.open, openCall{block, id, tool})
}

// answerCalls adds the results of the open calls.
func (b *builder) answerCalls() {
	open := b.open
	b.open = nil
	var pictures []transcript.Picture
	for _, call := range open {
		is := Part{Kind: Result, ID: call.id, Tool: call.tool, Text: noResult}
		if call.block.Pair < 0 {
			b.Unanswered++
		} else {
			part := transcript.PartOf(b.c, call.block)
			if is.Text, is.Failed = outputText(&part), part.Status == "error"; is.Text == "" {
				is.Text = noOutput
				b.Notes++
			}
			pictures = append(pictures, part.Pictures...)
		}
		b.append(false, is)
	}
	if len(pictures) > 0 {
		b.append(false, Part{Text: "[pictures of the results]"})
	}
	b.addPictures(false, pictures)
}

var plainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })
