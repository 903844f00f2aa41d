package claudecode

import (
	"context"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Continue implements chat.Continuer: a chain of records as Claude Code 2.1 writes them, one for each part of an answer and
// for each result.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	var data []byte
	parent, caller := any(nil), map[string]string{}
	add := func(at time.Time, kind string, message map[string]any, more ...string) string {
		id := uuid.NewString()
		record := map[string]any{
			"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": c.Project, "sessionId": c.Spot.ID,
			"version": writes, "gitBranch": "", "type": kind, "message": message, "uuid": id, "timestamp": at.UTC().Format(chat.Milliseconds),
		}
		for i := 0; i < len(more); i += 2 {
			record[more[i]] = more[i+1]
		}
		data, parent = chat.AppendRecord(data, record), id
		return id
	}
	for _, m := range c.Messages {
		said := map[string]any{"role": "user"}
		if m.Assistant {
			said = map[string]any{
				"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": m.Model, "stop_reason": nil, "stop_sequence": nil,
				"usage": map[string]any{"input_tokens": 0, "output_tokens": 0},
			}
		}
		var words []any
		for _, p := range m.Parts {
			switch content := wrapPart(p); {
			case m.Assistant:
				said["content"] = []any{content}
				if id := add(m.At, "assistant", said); p.Kind == handover.Call {
					caller[p.ID] = id
				}
			case p.Kind == handover.Result:
				said["content"] = []any{content}
				add(m.At, "user", said, "sourceToolAssistantUUID", caller[p.ID])
			default:
				words = append(words, content)
			}
		}
		if len(words) > 0 {
			said["content"] = words
			add(m.At, "user", said)
		}
	}
	name := tree.Join(chat.DashedPath(c.Project), c.Spot.ID+suffix)
	var hazards []string
	if !c.Messages[len(c.Messages)-1].Assistant {
		hazards = append(hazards, unansweredHazard)
	}
	return &chat.Fork{
		Spot: f.Spot(name), Steps: tree.Steps{{Name: name, Data: data}}, Hazards: hazards,
		Calls: []model.Resume{{Call: c.Command(c.Project, "claude", "--resume", c.Spot.ID), Then: "goes on from there"}},
	}, nil
}

// writes is the version whose records Continue makes.
const writes = "2.1.332"

// wrapPart returns a part as a block of Anthropic's messages.
func wrapPart(p handover.Part) map[string]any {
	switch p.Kind {
	case handover.Picture:
		return map[string]any{"type": "image", "source": map[string]any{
			"type": "base64", "media_type": p.Picture.MediaType(), "data": p.Picture.EncodeData(),
		}}
	case handover.Call:
		return map[string]any{"type": "tool_use", "id": p.ID, "name": p.Tool, "input": p.Input}
	case handover.Result:
		return map[string]any{"type": "tool_result", "tool_use_id": p.ID, "content": p.Text, "is_error": p.Failed}
	}
	return map[string]any{"type": "text", "text": p.Text}
}
