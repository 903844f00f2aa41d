// Package droid reads the sessions of Droid, Factory's agent.
//
//	~/.factory/sessions/PROJECT/ID.jsonl          a session_start, then a record a line
//	~/.factory/sessions/PROJECT/ID.settings.json  model, and the tokens of the session
//
// A session is a chain: Droid takes the messages in the order of their lines, and an edit of an earlier prompt begins a
// session of its own. A compaction_state has the text that is sent in place of all messages up to its anchor. The rules
// are those of the program of 0.225.2, which wrote the sessions of the tests; compactions and sub-agents are read as its
// source has them.
package droid

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Droid. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

// Types of records. The last two are the list of things to do, which a call has too, and how a turn ended.
const typeHeader, typeMessage, typeCompaction, typeTodo, typeOutcome = "session_start", "message", "compaction_state", "todo_state", "agent_turn_outcome"

const suffix, settingsEnd = ".jsonl", ".settings.json"

var agent = &chat.Agent{
	Name: "droid", Framework: "Droid", IDs: "Droid's id of the message",
	Roots: []string{".", "sessions"}, Home: "factory",
	Inner:  chat.InDashed,
	Shape:  "PROJECT/ID.jsonl with a session_start",
	Noun:   "a session of Droid",
	Traces: []string{`"session_start"`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "id"}}}
	},
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string { return chat.Places(around, "", ".factory/sessions") },
	Passes: "Droid passes the line over",
}

// signOf identifies a file by its beginning: its first line is the header of a session.
func signOf(head []byte) chat.Sign {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if chat.ParseHead(first).Get("type").Text() != typeHeader {
		return chat.Sign{}
	}
	return chat.SignOf(head, "message.content", func(v chat.Value) (bool, chat.Body) {
		if v.Get("type").Text() != typeMessage {
			return true, chat.NoBody
		}
		return true, chat.BodyOf(v, v.Get("message", "content"))
	})
}

// record holds the parts of a line that the timeline shows.
type record struct {
	kind   string
	entry  chat.Entry
	model  string
	anchor string // of a compaction, the last message that it takes the place of
	header chat.Value
}

func decodeLine(line *chat.Line, r *record) error {
	v, err := line.Parse()
	if err != nil {
		return err
	}
	switch r.kind = v.Get("type").Text(); r.kind {
	case typeHeader:
		r.header = chat.ParseHead(bytes.Clone(v.Raw()))
	case typeMessage, typeCompaction:
		m := messageOf(v)
		r.model, r.anchor = m.Model, v.Get("anchorMessage", "id").Text()
		r.entry = chat.Entry{ID: v.Get("id").Text(), At: v.Get("timestamp").Time(), Said: m.Summarise(), Records: []chat.Span{line.Span}}
		switch v.Get("message", "visibility").Text() {
		case "user_only":
			r.entry.Unsent = true
		case "llm_only":
			r.entry.Event = chat.EventContext
		}
	}
	return nil
}

// messageOf returns the message of a record.
func messageOf(v chat.Value) chat.Message {
	is := v.Get("message")
	m := chat.Message{Role: chat.RoleOf(is.Get("role").Text()), Model: is.Get("modelId").Text(), Raw: [][]byte{v.Raw()}}
	if v.Get("type").Text() == typeCompaction {
		m.Role, m.Blocks = chat.User, []chat.Block{chat.TextBlock(v.Get("summaryText").Raw())}
		return m
	}
	m.AddContent(is.Get("content"))
	return m
}

// format implements chat.Forker and chat.Carrier.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format. Droid names its files by UUIDs, and puts them into folders of projects, -home-demo, with
// settings beside them: no other file is looked into.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	settings := map[string]bool{}
	list, err := chat.Walk(ctx, in, 1, func(file string) (chat.Spot, bool) {
		at := f.Spot(file)
		_, foreign := f.NewID(at.ID)
		settings[file] = strings.HasSuffix(file, settingsEnd)
		return at, strings.HasSuffix(file, suffix) && foreign == nil && at.ID != ""
	})
	return slices.DeleteFunc(list, func(at chat.Spot) bool { return at.File[0] != '-' && !settings[at.More[0]] }), err
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	stem := strings.TrimSuffix(file, suffix)
	return chat.Spot{File: file, ID: stem[strings.LastIndexByte(stem, '/')+1:], Named: true, More: []string{stem + settingsEnd}}
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	lines, err := chat.HeadLines(in.Tree, at.File)
	var said chat.Opening
	for i, line := range lines {
		if v := chat.ParseHead(line); i == 0 {
			g.Title, g.Project = chat.StoredTitle(v.Get("title").Text()), v.Get("cwd").Text()
		} else if v.Get("type").Text() == typeMessage {
			m := messageOf(v)
			said.Say(m.Summarise())
		}
	}
	g.Title = cmp.Or(g.Title, said.Title())
	return g, err
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes)}
	var header chat.Value
	meta, unknown := &chat.Meta{}, map[string]int{}
	for i := range file.Records {
		r := &file.Records[i]
		switch r.Is.kind {
		case typeHeader:
			header = r.Is.header
			s.Title, s.Project = chat.StoredTitle(header.Get("title").Text()), header.Get("cwd").Text()
		case typeMessage, typeCompaction, typeTodo, typeOutcome:
		default:
			unknown[r.Is.kind]++
		}
		meta = meta.With(chat.Meta{Dir: s.Project, Model: r.Is.model})
		if len(r.Is.entry.Records) == 0 {
			continue
		}
		e := r.Is.entry
		e.ID, e.File, e.Meta = r.Name(e.ID), at.File, meta
		if r.Is.kind == typeCompaction {
			e.Event, e.Context = "compaction", append([]int{len(s.Entries)}, keptBehind(s, r.Is.anchor)...)
		}
		s.Head = s.Add(e, s.Head)
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, unknown)...)
	s.SkipUnsent()
	if s.Head >= 0 {
		facts := &s.Entries[s.Head].Facts
		facts.Add("started by", header.Get("callingSessionId").Text())
		if header.Get("forkedAtMessageId").There() {
			facts.Add("forked from", header.Get("parent").Text())
		}
		sum := chat.ReadJSON(in, at.More[0]).Get("tokenUsage")
		facts.Count(model.Counted{Read: sum.Get("inputTokens").Number(), FromCache: sum.Get("cacheReadTokens").Number(), Written: sum.Get("outputTokens").Number()})
	}
	return s, nil
}

// keptBehind returns the entries of the path that a compaction with an anchor leaves: those behind it.
func keptBehind(s *chat.Session, anchor string) (list []int) {
	for _, i := range s.Reads(s.Head) {
		if list = append(list, i); s.Entries[i].ID == anchor {
			list = list[:0]
		}
	}
	if len(list) == len(s.Reads(s.Head)) { // the anchor is not there
		return nil
	}
	return list
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, messageOf)
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		switch kind := v.Get("type").Text(); kind {
		case typeMessage:
			return kind, []chat.Value{v.Get("message", "content")}
		case typeCompaction:
			return kind, []chat.Value{v.Get("summaryText")}
		case typeHeader, typeOutcome:
			return "", nil
		default:
			return kind, []chat.Value{v}
		}
	})
}

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new file with the header under the new id, and the records of the path.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	s := c.Session
	head, err := tree.Head(c.In.Tree, s.Spot.File, 64<<10)
	if err != nil {
		return nil, err
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	t, err := jsontape.Parse(first)
	if err != nil {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "its first line is no session_start that can be read, so Droid does not open it"}
	}
	p := jsontape.NewPatch(t)
	p.Put(0, "id", jsontape.AppendQuoted(nil, c.ID))
	p.Put(0, "parent", jsontape.AppendQuoted(nil, s.Spot.ID))
	p.Put(0, "forkedAtMessageId", jsontape.AppendQuoted(nil, c.To.ID))
	var spans []chat.Span
	for _, e := range s.Path(c.To) {
		spans = append(spans, e.Records...)
	}
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, spans)
	if err != nil {
		return nil, err
	}
	name := s.Spot.File[:strings.LastIndexByte(s.Spot.File, '/')+1] + c.ID + suffix
	text := append(bytes.Join(append([][]byte{p.Bytes()}, raw...), []byte("\n")), '\n')
	return &chat.Fork{
		Spot: f.Spot(name), Steps: tree.Steps{{Name: name, Data: text}},
		Writes: []string{fmt.Sprintf("%s: %s of the path, as they are", name, model.Count(len(raw), "record"))},
		Calls:  []model.Resume{{Call: s.Command(s.Project, "droid", "--fork", c.ID), Then: "goes on from there in one more session"}},
	}, nil
}
