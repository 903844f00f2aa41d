package qwen

import (
	"context"
	"time"

	"github.com/google/uuid"

	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// writes is the version whose records Continue makes.
const writes = "0.24.4"

// Continue implements chat.Continuer: a chain of records.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	var data []byte
	parent := any(nil)
	add := func(at time.Time, kind, provenance, role, model string, parts []any, more map[string]any) {
		id := uuid.NewString()
		record := map[string]any{
			"uuid": id, "parentUuid": parent, "sessionId": c.Spot.ID, "timestamp": at.UTC().Format(chat.Milliseconds), "type": kind,
			"provenance": provenance, "cwd": c.Project, "version": writes, "message": map[string]any{"role": role, "parts": parts},
		}
		if model != "" {
			record["model"] = model
		}
		for key, value := range more {
			record[key] = value
		}
		data, parent = chat.AppendRecord(data, record), id
	}
	for _, m := range c.Messages {
		var parts []any
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Call:
				parts = append(parts, map[string]any{"functionCall": map[string]any{"id": p.ID, "name": p.Tool, "args": p.Input}})
			case handover.Result:
				member, status := "output", "success"
				if p.Failed {
					member, status = "error", "error"
				}
				response := map[string]any{"functionResponse": map[string]any{"id": p.ID, "name": p.Tool, "response": map[string]any{member: p.Text}}}
				add(m.At, typeResult, "tool_result", "user", "", []any{response}, map[string]any{
					"toolCallResult": map[string]any{"callId": p.ID, "status": status, "resultDisplay": p.Text},
				})
			case handover.Picture:
				parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": p.Picture.MediaType(), "data": p.Picture.EncodeData()}})
			default:
				parts = append(parts, map[string]any{"text": p.Text})
			}
		}
		switch {
		case m.Assistant:
			add(m.At, typeAssistant, "assistant_output", "model", m.Model, parts, nil)
		case parts != nil:
			add(m.At, typeUser, "real_user", "user", "", parts, nil)
		}
	}
	name := tree.Join(tree.Join(chat.DashedPath(c.Project), chats), c.Spot.ID+suffix)
	return &chat.Fork{
		Spot: f.Spot(name), Steps: tree.Steps{{Name: name, Data: data}},
		Calls: c.ResumeInProject("goes on from there", "qwen", "-r", c.Spot.ID),
	}, nil
}
