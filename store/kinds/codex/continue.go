package codex

import (
	"context"
	"time"

	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// writes is the version whose records Continue makes.
const writes = "0.171.0"

// Continue implements chat.Continuer: a rollout of a header and of items, and behind each text the event that Codex
// shows.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	now := c.In.Now
	var data []byte
	add := func(at time.Time, kind string, payload map[string]any) {
		data = chat.AppendRecord(data, map[string]any{"timestamp": at.UTC().Format(chat.Milliseconds), "type": kind, "payload": payload})
	}
	add(now, typeHeader, map[string]any{
		"id": c.Spot.ID, "session_id": c.Spot.ID, "timestamp": now.UTC().Format(chat.Milliseconds), "cwd": c.Project,
		"originator": "codex_cli_rs", "cli_version": writes, "source": "cli",
	})
	say := func(m *handover.Message, content any) {
		role := "user"
		if m.Assistant {
			role = "assistant"
		}
		add(m.At, typeItem, map[string]any{"type": "message", "role": role, "content": []any{content}})
	}
	turn := ""
	endTurn := func(at time.Time) {
		if turn != "" {
			add(at, typeEvent, map[string]any{"type": "task_complete", "turn_id": turn})
		}
		turn = ""
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		if last := m.Parts[len(m.Parts)-1]; !m.Assistant && last.Kind != handover.Result {
			endTurn(m.At)
			id, err := chat.UUID7("")
			if err != nil {
				return nil, err
			}
			turn = id
			add(m.At, typeEvent, map[string]any{"type": "task_started", "turn_id": turn})
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Call:
				add(m.At, typeItem, map[string]any{"type": "function_call", "name": p.Tool, "arguments": string(p.Input), "call_id": p.ID})
			case handover.Result:
				add(m.At, typeItem, map[string]any{"type": "function_call_output", "call_id": p.ID, "output": p.Text})
			case handover.Picture:
				say(m, map[string]any{"type": "input_image", "image_url": p.Picture.DataURL()})
			default:
				kind, event := "input_text", "user_message"
				if m.Assistant {
					kind, event = "output_text", "agent_message"
				}
				say(m, map[string]any{"type": kind, "text": p.Text})
				add(m.At, typeEvent, map[string]any{"type": event, "message": p.Text})
			}
		}
	}
	if last := c.Messages[len(c.Messages)-1]; last.Assistant {
		endTurn(last.At)
	}
	name := tree.Join(live+"/"+now.Local().Format("2006/01/02"), rolloutName(now, c.Spot.ID))
	return &chat.Fork{
		Spot: chat.Spot{File: name, ID: c.Spot.ID}, Steps: tree.Steps{{Name: name, Data: data}},
		Calls: resumeCalls(c.Session, c.Spot.ID, "goes on from there"),
	}, nil
}

// rolloutName returns the name of the rollout of a thread that begins at a time.
func rolloutName(at time.Time, thread string) string {
	return "rollout-" + at.Local().Format("2006-01-02T15-04-05") + "-" + thread + ".jsonl"
}
