package copilot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"hindcast/model"
	"hindcast/model/handover"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// writes is the version whose events Continue makes.
const writes = "1.0.102"

// Continue implements chat.Continuer: a folder with the events of the turns, and the description of the session.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	var data []byte
	parent, turn := any(nil), 0
	add := func(at time.Time, kind string, body map[string]any) {
		id := uuid.NewString()
		data = chat.AppendRecord(data, map[string]any{"type": kind, "data": body, "id": id, "timestamp": at.UTC().Format(chat.Milliseconds), "parentId": parent})
		parent = id
	}
	at := c.In.Now.UTC().Format(chat.Milliseconds)
	add(c.In.Now, typeStart, map[string]any{
		"sessionId": c.Spot.ID, "version": 1, "producer": "copilot-agent", "copilotVersion": writes, "startTime": at,
		"context": map[string]any{"cwd": c.Project},
	})
	for i, m := range c.Messages {
		text, pictures := textOf(m)
		if !m.Assistant {
			if text != "" || len(pictures) > 0 {
				add(m.At, typeUser, map[string]any{"content": text, "transformedContent": text, "attachments": pictures})
			}
			continue
		}
		number := fmt.Sprint(turn)
		turn++
		requests := []any{}
		for _, p := range m.Parts {
			if p.Kind == handover.Call {
				requests = append(requests, map[string]any{"toolCallId": p.ID, "name": p.Tool, "arguments": p.Input, "type": "function"})
			}
		}
		add(m.At, typeTurnStart, map[string]any{"turnId": number})
		add(m.At, typeAssistant, map[string]any{"messageId": uuid.NewString(), "model": m.Model, "content": text, "toolRequests": requests, "turnId": number})
		if len(requests) > 0 {
			for _, p := range c.Messages[i+1].Parts {
				if p.Kind == handover.Result {
					body := map[string]any{"toolCallId": p.ID, "success": !p.Failed, "turnId": number, "result": map[string]any{"content": p.Text}}
					if p.Failed {
						body["error"] = map[string]any{"message": p.Text}
						delete(body, "result")
					}
					add(c.Messages[i+1].At, typeTool, body)
				}
			}
		}
		add(m.At, typeTurnEnd, map[string]any{"turnId": number})
	}
	about := jsontape.AppendQuoted([]byte("id: "+c.Spot.ID+"\ncwd: "), c.Project)
	name := tree.Join(c.Spot.ID, eventsFile)
	return &chat.Fork{
		Spot:  f.Spot(name),
		Steps: tree.Steps{{Name: name, Data: data}, {Name: tree.Join(c.Spot.ID, workspaceFile), Data: append(about, '\n')}},
		Calls: []model.Resume{{Call: c.Command(c.Project, "copilot", "--resume="+c.Spot.ID), Then: "goes on from there"}},
	}, nil
}

// textOf returns the texts of a message as one, and its pictures as attachments.
func textOf(m handover.Message) (text string, pictures []any) {
	var list []string
	pictures = []any{}
	for _, p := range m.Parts {
		switch p.Kind {
		case handover.Text:
			list = append(list, p.Text)
		case handover.Picture:
			pictures = append(pictures, map[string]any{
				"type": "blob", "mimeType": p.Picture.MediaType(), "data": p.Picture.EncodeData(), "displayName": "picture." + p.Picture.Format,
			})
		}
	}
	return strings.Join(list, "\n\n"), pictures
}
