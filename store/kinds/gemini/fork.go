package gemini

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new file with a line of the session as it was, under the
// new id, and the messages on the way to the entry, as they are. Its name ends in a short id
// that no other has, so that it is not deleted with another.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) { return f.Join(c, c.Session.Path(c.To)) }

// Join implements chat.Joiner. The messages have no links.
func (f *format) Join(c chat.Cut, way []*chat.Entry) (*chat.Fork, error) {
	s, now := c.Session, c.In.Now.UTC()
	refuse := func(why string) (*chat.Fork, error) {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: why}
	}
	header, ok := f.headerSpan(s)
	if !ok {
		return refuse("no line of the file has the ids of a session and of its project: Gemini CLI would not list the new one")
	}
	if !slices.ContainsFunc(way, func(e *chat.Entry) bool { m := e.Own.(*node).is; return m[len(m)-1].resumable }) {
		return refuse("Gemini CLI deletes a session without a message of the user or of the model: fork from a later message")
	}
	dir := path.Dir(s.Spot.File)
	if strings.Contains(s.Spot.ID, "/") {
		dir = path.Dir(dir) // of a sub-agent
	}
	names, err := c.In.List(dir)
	if err != nil {
		return nil, err
	}
	short := c.ID[:8]
	if slices.ContainsFunc(names, func(name string) bool { return isSession(name) && shortOf(name) == short }) {
		return refuse("the id begins like that of another session, and Gemini CLI deletes both when it deletes one: choose another id")
	}
	spans := []chat.Span{header}
	for _, e := range way {
		spans = append(spans, e.Records[len(e.Records)-1])
	}
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, spans)
	if err != nil {
		return nil, err
	}
	data, err := withHeader(raw[0], c.ID, now.Format(chat.Milliseconds))
	if err != nil {
		return nil, err
	}
	for _, message := range raw[1:] {
		data = append(jsontape.AppendCompact(data, message), '\n')
	}
	name := newFile(dir, now, c.ID)
	made := &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: a new first line and %s of the path, as they are", name, model.Count(len(way), "message"))},
		Calls:  s.ResumeInProject("goes on from there in the new session", "gemini", "--resume", c.ID),
	}
	made.Spot.ID = c.ID
	if len(s.Spot.More) > 0 {
		made.Hazards = []string{"Gemini CLI may delete the session at its next start, because another file ends in the same 8 characters: the fork is a copy that stays"}
	}
	return made, nil
}

// Omits implements chat.Omitter: of the user what Gemini CLI adds itself, and commands.
func (f *format) Omits(e *chat.Entry) bool {
	is := e.Own.(*node).is
	m := is[len(is)-1]
	return m.kind == "user" && m.silent
}

// FindRepeats implements chat.Editor. A message has its text once more for the screen, and a resumed session has results twice.
func (f *format) FindRepeats(_ chat.Role, own, r chat.Value, found func(place string, text chat.Value)) {
	if r == own {
		for part := range contentParts(r.Get("displayContent")) {
			found("words", part)
			found("words", part.Get("text"))
		}
		for call := range r.Get("toolCalls").Each() {
			found("display", call.Get("resultDisplay"))
		}
		return
	}
	ids := map[string]bool{}
	for id := range resultsIn(own) {
		ids[id] = true
	}
	for id, output := range resultsIn(r) {
		if ids[id] {
			found("result "+id, output)
		}
	}
}

// resultsIn yields the outputs of tools in a record, by the ids of their calls.
func resultsIn(r chat.Value) iter.Seq2[string, chat.Value] {
	return func(yield func(string, chat.Value) bool) {
		lists := []chat.Value{r.Get("content")}
		for call := range r.Get("toolCalls").Each() {
			lists = append(lists, call.Get("result"))
		}
		for _, list := range lists {
			for part := range contentParts(list) {
				if is := part.Get("functionResponse"); is.There() && !yield(is.Get("id").Text(), is.Get("response", "output")) {
					return
				}
			}
		}
	}
}

// headerSpan returns where a line has the ids of the session and of its project.
func (f *format) headerSpan(s *chat.Session) (chat.Span, bool) {
	for _, r := range s.Own.(*chat.File[record]).Records {
		if r.Is.meta.isListed() {
			return r.Span, true
		}
	}
	return chat.Span{}, false
}

// withHeader returns the line of a session with another id, that starts now.
func withHeader(line []byte, id, now string) ([]byte, error) {
	t, err := jsontape.Parse(line)
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	p.Remove(0, func(n jsontape.Node) bool { return t.Key(n) == "messages" })
	for _, member := range [][2]string{{"sessionId", id}, {"startTime", now}, {"lastUpdated", now}, {"kind", "main"}} {
		p.Put(0, member[0], jsontape.AppendQuoted(nil, member[1]))
	}
	return append(jsontape.AppendCompact(nil, p.Bytes()), '\n'), nil
}
