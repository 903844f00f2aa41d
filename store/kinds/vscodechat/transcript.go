package vscodechat

import (
	"context"
	"fmt"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// isTranscript reports whether the first line of a file starts a transcript.
func isTranscript(head []byte) bool {
	for v := range chat.FirstRecords(head) {
		return v.Get("type").Text() == "session.start" && v.Get("data", "producer").Text() == "copilot-agent"
	}
	return false
}

// isKnown reports whether there are events of a type.
func isKnown(is string) bool {
	switch is {
	case "session.start", "assistant.turn_start", "assistant.turn_end", "tool.execution_start", "user.message", "assistant.message", "tool.execution_complete":
		return true
	}
	return false
}

// event is a line of a transcript.
type event struct {
	is, id string
	said   chat.Said
	speaks bool
	// dir is the folder of a session, in the event that starts it.
	dir string
	at  time.Time
}

func decodeEvent(l *chat.Line, e *event) error {
	v, err := l.Parse()
	if err == nil {
		var m chat.Message
		m, e.speaks = eventMessage(v)
		e.is, e.id, e.at, e.said, e.dir = v.Get("type").Text(), v.Get("id").Text(), v.Get("timestamp").Time(), m.Summarise(), v.Get("data", "context", "cwd").Text()
	}
	return err
}

// eventMessage returns the message of an event; false for an event that says nothing.
func eventMessage(v chat.Value) (m chat.Message, speaks bool) {
	data := v.Get("data")
	m.Raw = [][]byte{v.Raw()}
	switch content := data.Get("content"); v.Get("type").Text() {
	case "user.message":
		m.Role = chat.User
		m.Blocks = append(m.Blocks, textBlock(content.Text()))
	case "assistant.message":
		m.Role = chat.Assistant
		if text := data.Get("reasoningText"); text.Text() != "" {
			m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.Reasoning, Body: text.Raw()})
		}
		if content.Text() != "" {
			m.Blocks = append(m.Blocks, chat.TextBlock(content.Raw()))
		}
		for call := range data.Get("toolRequests").Each() {
			m.Blocks = append(m.Blocks, callOf(call.Get("toolCallId"), call))
		}
	case "tool.execution_complete":
		m.Role = chat.Tool
		text := textOf(data.Get("result"))
		if content := data.Get("result", "content"); content.There() {
			text = textOf(content)
		}
		m.Blocks = append(m.Blocks, chat.Block{Kind: conversation.ToolResult, ID: data.Get("toolCallId").Text(), Body: quoteText(text), Failed: data.Get("success").Kind() == jsontape.False})
	}
	return m, len(m.Blocks) > 0
}

// eventMessages returns the message of an event's record.
func eventMessages(raw [][]byte) ([]chat.Message, error) {
	v, err := chat.Parse(raw[0])
	m, _ := eventMessage(v)
	return []chat.Message{m}, err
}

// readEvents reads a transcript, whose events follow each other.
func (f *format) readEvents(ctx context.Context, in engine.In, s *chat.Session) error {
	file, err := f.events.Read(ctx, in, s.Spot.File)
	if err != nil {
		return err
	}
	s.Faults = file.Faults(agent.Passes)
	meta, unknown := &chat.Meta{Dir: s.Project}, map[string]int{}
	for i := range file.Records {
		r := &file.Records[i]
		meta = meta.With(chat.Meta{Dir: r.Is.dir})
		if !r.Is.speaks {
			if !isKnown(r.Is.is) {
				unknown[r.Is.is]++
			}
			continue
		}
		id := r.Is.id
		if id == "" {
			id = fmt.Sprintf("line-%d", r.Number)
		}
		s.Head = s.Add(chat.Entry{ID: id, At: r.Is.at, Said: r.Is.said, Meta: meta, File: s.Spot.File, Records: []chat.Span{r.Span}}, s.Head)
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(s.Spot.File, unknown)...)
	return nil
}
