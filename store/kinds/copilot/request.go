package copilot

import (
	"context"

	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// Request implements chat.Requester. What a user wrote is sent as the event's transformedContent, with the time before
// it. The last system prompt counts, which stands behind the first message of the user; what failed is not sent.
func (f *format) Request(_ context.Context, in engine.In, s *chat.Session, e *chat.Entry) (r request.Request, err error) {
	answer, err := chat.Values(in.Tree, e.File, e.Records)
	if err != nil {
		return r, err
	}
	var messages [][]byte
	var prompt chat.Value
	if before := s.At(e.Parent); before >= 0 {
		for _, i := range s.Reads(before) {
			list, err := f.Messages(in, s, &s.Entries[i])
			if err != nil {
				return r, err
			}
			for k := range list {
				m := &list[k]
				if m.Role != chat.System {
					messages = append(messages, sentMessage(m))
				} else if v, err := chat.Parse(m.Raw[0]); err == nil && v.Get("type").Text() == typeSystem {
					prompt = v
				}
			}
		}
	}
	for _, v := range answer {
		switch v.Get("type").Text() {
		case typeSystem:
			prompt = v
		case typeUsage:
			addUsage(&r.Usage, v)
			r.Window = int64(v.Get("data", "usage", "maxPromptTokens").Number())
			r.Usage.Model = v.Get("data", "usage", "model").Text()
		}
	}
	if len(messages) == 0 {
		return r, nil
	}
	r.Put("system", prompt.Get("data", "content").Raw())
	return r.With(messages), nil
}

// sentMessage returns the role and the blocks of a message as they are sent.
func sentMessage(m *chat.Message) []byte {
	if v, err := chat.Parse(m.Raw[0]); err == nil && m.Role == chat.User && len(m.Blocks) > 0 {
		if text := v.Get("data", "transformedContent"); text.Kind() == jsontape.String {
			m.Blocks[0] = chat.TextBlock(text.Raw())
		}
	}
	sent := chat.Message{Role: m.Role, Blocks: m.Blocks}
	return sent.AppendJSON(nil)
}
