package cline

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// NewID implements chat.Forker: milliseconds and five characters, as Cline's own.
func (f *format) NewID(as string) (string, error) {
	if as != "" {
		if !chat.IsPlainID(as) || strings.Contains(as, "__") || as[0] == '.' {
			return "", errors.New("its ids are plain names without __, such as 1796025468984_hfwhp")
		}
		return as, nil
	}
	id, err := chat.UUID7("")
	if err != nil {
		return "", err
	}
	hex := strings.ReplaceAll(id, "-", "")
	ms, err := strconv.ParseInt(hex[:12], 16, 64)
	return fmt.Sprintf("%d_%s", ms, hex[len(hex)-5:]), err
}

// Fork implements chat.Forker: a new folder with the messages up to the entry, and the manifest of the session under the
// new id.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	s := c.Session
	refuse := func(why string) (*chat.Fork, error) {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: why}
	}
	switch {
	case isTask(s.Spot):
		return refuse("the extension lists the tasks of its own index alone, which it writes from memory: continue it in an agent")
	case strings.Contains(s.Spot.ID, "/"):
		return refuse("Cline does not go on with the conversation of a sub-agent: fork the session that started it")
	}
	about, _, err := c.In.Read(s.Spot.More[0], nil)
	manifest, torn := jsontape.Parse(about)
	if err != nil || torn != nil {
		return refuse("Cline lists no session without a manifest, and this one has none that can be read")
	}
	whole, _, err := c.In.Read(s.Spot.File, nil)
	if err != nil {
		return nil, err
	}
	t, torn := jsontape.Parse(whole)
	if torn != nil {
		return refuse("the file of the session ends in its middle")
	}
	var spans []chat.Span
	for _, e := range s.Path(c.To) {
		if e.File == s.Spot.File {
			spans = append(spans, e.Records...)
		}
	}
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, spans)
	if err != nil {
		return nil, err
	}
	id := jsontape.AppendQuoted(nil, c.ID)
	p := jsontape.NewPatch(t)
	p.Put(0, "messages", slices.Concat([]byte("["), bytes.Join(raw, []byte(",")), []byte("]")))
	p.Put(0, "sessionId", id)
	if origin := t.Find(0, "origin"); origin >= 0 {
		p.Put(origin, "sessionId", id)
	}
	messages := p.Bytes()
	name := tree.Join(c.ID, c.ID+messagesEnd)
	p = jsontape.NewPatch(manifest)
	p.Remove(0, func(n jsontape.Node) bool {
		return manifest.Key(n) == "compaction_path" || manifest.Key(n) == "ended_at"
	})
	p.Put(0, "session_id", id)
	p.Put(0, "messages_path", jsontape.AppendQuoted(nil, filepath.Join(c.Dir, c.ID, c.ID+messagesEnd)))
	if data := manifest.Find(0, "metadata"); data >= 0 {
		from := slices.Concat([]byte(`{"forkedFromSessionId":`), jsontape.AppendQuoted(nil, s.Spot.ID), []byte(`,"forkedAt":`),
			jsontape.AppendQuoted(nil, c.In.Now.UTC().Format("2006-01-02T15:04:05.000Z")), []byte(`,"source":"hindcast"}`))
		p.Put(data, "fork", from)
	}
	made := &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: name, Data: messages}, {Name: tree.Join(c.ID, c.ID+manifestEnd), Data: p.Bytes()}},
		Writes: []string{fmt.Sprintf("%s: %s of the path, as they are", name, model.Count(len(raw), "message"))},
		Calls:  []model.Resume{{Call: s.Command(s.Project, "cline", "--id", c.ID), Then: "goes on from there in the new session"}},
	}
	if len(spans) < len(s.Path(c.To)) {
		made.Hazards = []string{"the new session has no compaction: Cline sends all of its messages"}
	}
	return made, nil
}
