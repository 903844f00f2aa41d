package opencode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"hindcast/model/handover"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
)

// Continue implements chat.Continuer: a file as `opencode export` writes it, for `opencode import`.
func (f *format) Continue(ctx context.Context, c *chat.Start) (*chat.Fork, error) {
	model, err := f.lastModel(ctx, c.In)
	if err != nil {
		return nil, err
	}
	hazards := []string{importHazard}
	if model == nil {
		model = json.RawMessage(`{"providerID":"` + provider + `","modelID":"unknown"}`)
		hazards = append(hazards, "opencode knows no model of the session: name one with -m PROVIDER/MODEL")
	}
	made := ids{tail: randomText(11)}
	now := c.In.Now.UnixMilli()
	var messages []any
	asked, last := "", int64(0)
	for i, m := range c.Messages {
		last = max(m.At.UnixMilli(), last)
		id := made.nextID("msg_", last)
		var parts []any
		add := func(part map[string]any) {
			part["id"], part["sessionID"], part["messageID"] = made.nextID("prt_", last), c.Spot.ID, id
			parts = append(parts, part)
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Text:
				add(map[string]any{"type": "text", "text": p.Text})
			case handover.Picture:
				add(map[string]any{"type": "file", "mime": p.Picture.MediaType(), "filename": "picture." + p.Picture.Format, "url": p.Picture.DataURL()})
			case handover.Call:
				add(map[string]any{"type": "tool", "callID": p.ID, "tool": p.Tool, "state": stateOf(p, &c.Messages[i+1], last)})
			}
		}
		if len(parts) == 0 { // results stand with their calls
			continue
		}
		info := map[string]any{"id": id, "sessionID": c.Spot.ID, "role": "user", "time": map[string]any{"created": last}, "agent": "build", "model": model}
		if m.Assistant {
			info = map[string]any{
				"id": id, "sessionID": c.Spot.ID, "role": "assistant", "parentID": asked, "mode": "build", "agent": "build",
				"time": map[string]any{"created": last, "completed": last}, "path": map[string]any{"cwd": c.Project, "root": "/"},
				"providerID": provider, "modelID": cmp.Or(m.Model, "unknown"), "cost": 0, "finish": "stop",
				"tokens": map[string]any{"input": 0, "output": 0, "reasoning": 0, "cache": map[string]any{"read": 0, "write": 0}},
			}
		} else {
			asked = id
		}
		messages = append(messages, map[string]any{"info": info, "parts": parts})
	}
	text := chat.AppendRecord(nil, map[string]any{
		"info": map[string]any{
			"id": c.Spot.ID, "slug": "continued-" + strings.ToLower(c.Spot.ID[len(c.Spot.ID)-6:]), "projectID": "global", "directory": c.Project,
			"title": c.Text(), "version": writes, "time": map[string]any{"created": now, "updated": now},
		},
		"messages": messages,
	})
	name := exports + "/" + c.Spot.ID + ".json"
	file := filepath.Join(c.Dir, filepath.FromSlash(name))
	return &chat.Fork{
		Spot: f.Spot(name), Steps: tree.Steps{{Name: name, Data: text}},
		Hazards: hazards,
		Calls:   importCalls(c.Session, file, c.Spot.ID),
	}, nil
}

// writes is the version whose records Continue makes, and provider stands for that of an answer.
const writes, provider = "1.18.33", "hindcast"

// lastModel returns the model of the last words of a user in the databases, which opencode goes on with; nil without any.
func (f *format) lastModel(ctx context.Context, in engine.In) (model json.RawMessage, err error) {
	names, err := f.Names(ctx, in)
	for i := 0; err == nil && i < len(names) && model == nil; i++ {
		err = ignoreUnreadable(f.Query(ctx, names[i], func(t *sqlitefile.Tx) error {
			if older, err := chat.HasTables(ctx, t, olderTables); err != nil || !older {
				return err
			}
			return t.Each(ctx, func(scan func(...any) error) error {
				var data []byte
				err := scan(&data)
				v, _ := chat.Parse(data) // damaged JSON names no model
				if is := v.Get("model"); model == nil && is.Get("providerID").Text() != "" && is.Get("providerID").Text() != provider && is.Get("modelID").Text() != "" {
					model = json.RawMessage(bytes.Clone(is.Raw()))
				}
				return err
			}, "SELECT ifnull(data, '') FROM message ORDER BY time_created DESC LIMIT 64")
		}))
	}
	return model, err
}

// stateOf returns the state of a call with its result, which is in the message behind.
func stateOf(p handover.Part, behind *handover.Message, at int64) map[string]any {
	state := map[string]any{"input": p.Input, "metadata": map[string]any{}, "time": map[string]any{"start": at, "end": at}}
	if r := behind.FindResult(p.ID); r.Failed {
		state["status"], state["error"] = "error", r.Text
	} else {
		state["status"], state["output"], state["title"] = "completed", r.Text, p.Tool
	}
	return state
}
