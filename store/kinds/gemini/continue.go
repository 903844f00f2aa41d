package gemini

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/google/uuid"

	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Continue implements chat.Continuer: the line of a session, and a line for each message. A call stands in the message of
// the model with its result, as Gemini CLI reads it.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	now := c.In.Now.UTC()
	at, sum := now.Format(chat.Milliseconds), sha256.Sum256([]byte(c.Project))
	data := chat.AppendRecord(nil, map[string]any{
		"sessionId": c.Spot.ID, "projectHash": hex.EncodeToString(sum[:]), "startTime": at, "lastUpdated": at, "kind": "main",
	})
	for i, m := range c.Messages {
		var content, calls []any
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Text:
				content = append(content, map[string]any{"text": p.Text})
			case handover.Picture:
				content = append(content, map[string]any{"inlineData": map[string]any{"mimeType": p.Picture.MediaType(), "data": p.Picture.EncodeData()}})
			case handover.Call:
				calls = append(calls, callOf(p, &c.Messages[i+1]))
			}
		}
		record := map[string]any{"id": uuid.NewString(), "timestamp": m.At.UTC().Format(chat.Milliseconds), "type": "user", "content": content}
		if m.Assistant {
			record["type"], record["model"] = "gemini", m.Model
			if content == nil {
				record["content"] = ""
			}
			if calls != nil {
				record["toolCalls"] = calls
			}
		} else if content == nil { // results stand with their calls
			continue
		}
		data = chat.AppendRecord(data, record)
	}
	dir, steps, err := projectFolder(c)
	if err != nil {
		return nil, err
	}
	name := tree.Join(tree.Join(dir, chats), prefix+now.Format("2006-01-02T15-04-")+c.Spot.ID[:8]+".jsonl")
	made := &chat.Fork{
		Spot: f.Spot(name), Steps: append(steps, tree.Step{Name: name, Data: data}),
		Calls: c.ResumeInProject("goes on from there", "gemini", "--resume", c.Spot.ID),
	}
	made.Spot.ID = c.Spot.ID
	return made, nil
}

// callOf returns a call with its result, which is in the message behind.
func callOf(p handover.Part, behind *handover.Message) map[string]any {
	status, member, r := "success", "output", behind.FindResult(p.ID)
	if r.Failed {
		status, member = "error", "error"
	}
	response := map[string]any{"id": p.ID, "name": p.Tool, "response": map[string]any{member: r.Text}}
	return map[string]any{
		"id": p.ID, "name": p.Tool, "args": p.Input, "status": status, "timestamp": behind.At.UTC().Format(chat.Milliseconds),
		"result": []any{map[string]any{"functionResponse": response}}, "resultDisplay": r.Text,
	}
}

var notSlug = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// projectFolder returns the folder of a project: the one whose file names it, or a new one with such a file, as Gemini CLI
// finds and names them.
func projectFolder(c *chat.Start) (dir string, steps tree.Steps, err error) {
	names, err := c.In.List(".")
	if err != nil {
		return "", nil, err
	}
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
		root, err := tree.Head(c.In.Tree, tree.Join(name, rootFile), mostDescribed)
		if err == nil && strings.TrimSpace(string(root)) == c.Project {
			return name, nil, nil
		}
	}
	slug := strings.Trim(notSlug().ReplaceAllString(strings.ToLower(path.Base(c.Project)), "-"), "-")
	if slug == "" {
		slug = "project"
	}
	for n := 1; taken[dir] || dir == ""; n++ {
		if dir = slug; n > 1 {
			dir = fmt.Sprintf("%s-%d", slug, n-1)
		}
	}
	return dir, tree.Steps{{Name: tree.Join(dir, rootFile), Data: []byte(c.Project)}}, nil
}

// mostDescribed bounds the bytes read from the file that names a project.
const mostDescribed = 8 << 10
