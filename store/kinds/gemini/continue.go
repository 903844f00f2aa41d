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
	"time"

	"github.com/google/uuid"

	"hindcast/model/handover"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Continue implements chat.Continuer: the line of a session, and a line for each message. Calls and results are parts of
// their messages, as Gemini CLI 0.61.0 writes a conversation that it has loaded. Beside toolCalls it writes their results
// once more when it resumes a session, and its next request has each twice.
func (f *format) Continue(_ context.Context, c *chat.Start) (*chat.Fork, error) {
	now := c.In.Now.UTC()
	at, sum := now.Format(chat.Milliseconds), sha256.Sum256([]byte(c.Project))
	data := chat.AppendRecord(nil, map[string]any{
		"sessionId": c.Spot.ID, "projectHash": hex.EncodeToString(sum[:]), "startTime": at, "lastUpdated": at, "kind": "main",
	})
	for _, m := range c.Messages {
		var content []any
		for _, p := range m.Parts {
			switch p.Kind {
			case handover.Text:
				content = append(content, map[string]any{"text": p.Text})
			case handover.Picture:
				content = append(content, map[string]any{"inlineData": map[string]any{"mimeType": p.Picture.MediaType(), "data": p.Picture.EncodeData()}})
			case handover.Call:
				content = append(content, map[string]any{"functionCall": map[string]any{"id": p.ID, "name": p.Tool, "args": p.Input}})
			case handover.Result:
				member := "output"
				if p.Failed {
					member = "error"
				}
				content = append(content, map[string]any{"functionResponse": map[string]any{"id": p.ID, "name": p.Tool, "response": map[string]any{member: p.Text}}})
			}
		}
		record := map[string]any{"id": uuid.NewString(), "timestamp": m.At.UTC().Format(chat.Milliseconds), "type": "user", "content": content}
		if m.Assistant {
			record["type"], record["model"] = "gemini", m.Model
		}
		data = chat.AppendRecord(data, record)
	}
	dir, steps, err := projectFolder(c)
	if err != nil {
		return nil, err
	}
	name := newFile(tree.Join(dir, chats), now, c.Spot.ID)
	made := &chat.Fork{
		Spot: f.Spot(name), Steps: append(steps, tree.Step{Name: name, Data: data}),
		Calls: c.ResumeInProject("goes on from there", "gemini", "--resume", c.Spot.ID),
	}
	made.Spot.ID = c.Spot.ID
	return made, nil
}

// newFile names the file of a new session in a folder. Before Gemini CLI loads a session it begins one of the same id, in
// the file of that minute: it would write into this one that it has no messages. So the minute is the one before now.
func newFile(dir string, now time.Time, id string) string {
	return tree.Join(dir, prefix+now.Add(-time.Minute).Format("2006-01-02T15-04-")+id[:8]+".jsonl")
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
