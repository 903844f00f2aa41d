package pi

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Continue implements chat.Continuer: the header of a session of version 3, and a line of messages.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	at := c.In.Now.UTC().Format(chat.Milliseconds)
	data := chat.AppendRecord(nil, map[string]any{"type": typeHeader, "version": 3, "id": c.Spot.ID, "timestamp": at, "cwd": c.Project})
	parent, n := any(nil), 0
	add := func(at time.Time, message map[string]any) {
		n++
		id := fmt.Sprintf("%08x", n)
		message["timestamp"] = at.UnixMilli()
		data = chat.AppendRecord(data, map[string]any{"type": typeMessage, "id": id, "parentId": parent, "timestamp": at.UTC().Format(chat.Milliseconds), "message": message})
		parent = id
	}
	for _, m := range c.Messages {
		var content []any
		stop := "stop"
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Call:
				stop = "toolUse"
				content = append(content, map[string]any{"type": "toolCall", "id": p.ID, "name": p.Tool, "arguments": p.Input})
			case handover.Result:
				add(m.At, map[string]any{
					"role": "toolResult", "toolCallId": p.ID, "toolName": p.Tool, "isError": p.Failed,
					"content": []any{map[string]any{"type": "text", "text": p.Text}},
				})
			case handover.Picture:
				content = append(content, map[string]any{"type": "image", "mimeType": p.Picture.MediaType(), "data": p.Picture.EncodeData()})
			default:
				content = append(content, map[string]any{"type": "text", "text": p.Text})
			}
		}
		switch {
		case m.Assistant:
			add(m.At, map[string]any{
				"role": "assistant", "content": content, "stopReason": stop, "api": "anthropic-messages", "provider": "hindcast", "model": cmp.Or(m.Model, "unknown"),
				"usage": map[string]any{
					"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
					"cost": map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
				},
			})
		case len(content) > 0:
			add(m.At, map[string]any{"role": "user", "content": content})
		}
	}
	folder := "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(c.Project, `/\`)) + "--"
	name := tree.Join(folder, fileName(at, c.Spot.ID))
	return &chat.Fork{
		Spot: f.Spot(name), Steps: tree.Steps{{Name: name, Data: data}},
		Calls: c.ResumeInProject("goes on from there", "pi", "--session", c.Spot.ID),
	}, nil
}

// fileName returns the name of the file of a session that begins at a time, as its header has it.
func fileName(at, id string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(at) + "_" + id + ".jsonl"
}
