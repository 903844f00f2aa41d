// Package iflow reads the sessions of iFlow CLI.
//
//	~/.iflow/projects/PROJECT/session-UUID.jsonl    a record a line, in Claude Code's form
//
// A session is a chain: the parents of records say in which answer they came, and not what follows what, so that records are
// read in the order of their lines. The content of a result is in Gemini CLI's form. The rules are those that
// kenn-io/agentsview and the notes of Engram on iFlow's own files have: the program could not be had to be run.
package iflow

import (
	"bytes"
	"context"
	"strings"

	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of iFlow CLI. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

// Names of files begin with prefix, as do the ids of sessions in records.
const prefix, suffix = "session-", ".jsonl"

// Types of records.
const typeUser, typeAssistant = "user", "assistant"

var agent = &chat.Agent{
	Name: "iflow", Framework: "iFlow CLI", IDs: "the uuid of the record",
	Roots: []string{".", "projects"}, Home: "iflow",
	Inner:  chat.InDashed,
	Shape:  "PROJECT/session-UUID.jsonl with records whose sessionId begins with session-",
	Noun:   "a session of iFlow CLI",
	Traces: []string{`"sessionId":"session-`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "sessionId"}}}
	},
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string { return chat.Places(around, "", ".iflow/projects") },
	Passes: "iFlow CLI passes the line over",
	Lacks:  "iFlow CLI could not be had to try what it opens: continue the session in another agent",
}

// signOf identifies a file by its beginning: its records name a session as iFlow does.
func signOf(head []byte) chat.Sign {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if !strings.HasPrefix(chat.ParseHead(first).Get("sessionId").Text(), prefix) {
		return chat.Sign{}
	}
	return chat.SignOf(head, "message.content", func(v chat.Value) (bool, chat.Body) {
		if !speaks(v) {
			return true, chat.NoBody
		}
		return true, chat.BodyOf(v, v.Get("message", "content"))
	})
}

// speaks reports whether a record has a message.
func speaks(v chat.Value) bool {
	kind := v.Get("type").Text()
	return kind == typeUser || kind == typeAssistant
}

// record holds the parts of a line that the timeline shows.
type record struct {
	entry      chat.Entry
	dir, model string
	unknown    string // the type of a record that is none of iFlow's
}

func decodeLine(line *chat.Line, r *record) error {
	v, err := line.Parse()
	if err != nil {
		return err
	}
	if !speaks(v) {
		r.unknown = v.Get("type").Text()
		return nil
	}
	m := messageOf(v)
	r.dir, r.model = v.Get("cwd").Text(), m.Model
	r.entry = chat.Entry{ID: v.Get("uuid").Text(), At: v.Get("timestamp").Time(), Said: m.Summarise(), Records: []chat.Span{line.Span}}
	if v.Get("isMeta").True() {
		r.entry.Event = chat.EventContext
	}
	return nil
}

// messageOf returns the message of a record.
func messageOf(v chat.Value) chat.Message {
	is := v.Get("message")
	m := chat.Message{Role: chat.RoleOf(v.Get("type").Text()), Model: is.Get("model").Text(), Usage: is.Usage(), Raw: [][]byte{v.Raw()}}
	m.AddContent(is.Get("content"))
	for i := range m.Blocks {
		if b := &m.Blocks[i]; b.Kind == conversation.ToolResult {
			b.Body = outputOf(b.Body)
			b.Failed = b.Failed || v.Get("toolUseResult", "status").Text() == "error"
		}
	}
	return m
}

// outputOf returns the output within the content of a result, or the content as it is.
func outputOf(content []byte) []byte {
	v, err := chat.Parse(content)
	if err != nil {
		return content
	}
	answer := v.Get("functionResponse")
	for _, part := range []chat.Value{v.Get("responseParts"), first(v.Get("responseParts"))} {
		if one := part.Get("functionResponse"); one.There() {
			answer = one
		}
	}
	if output := answer.Get("response", "output"); output.There() {
		return output.Raw()
	}
	return content
}

// first returns the first element of a list, nothing of another value.
func first(list chat.Value) chat.Value {
	for one := range list.Each() {
		return one
	}
	return chat.Value{}
}

// format implements chat.Carrier.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, 1, func(file string) (chat.Spot, bool) {
		at := f.Spot(file)
		return at, strings.HasPrefix(at.ID, prefix) && strings.HasSuffix(file, suffix)
	})
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	stem := strings.TrimSuffix(file, suffix)
	return chat.Spot{File: file, ID: stem[strings.LastIndexByte(stem, '/')+1:], Named: true}
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	lines, err := chat.HeadLines(in.Tree, at.File)
	var said chat.Opening
	for _, line := range lines {
		v := chat.ParseHead(line)
		if g.Project == "" {
			g.Project = v.Get("cwd").Text()
		}
		if speaks(v) && !v.Get("isMeta").True() {
			m := messageOf(v)
			said.Say(m.Summarise())
		}
	}
	g.Title = said.Title()
	return g, err
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes)}
	meta, unknown := &chat.Meta{}, map[string]int{}
	for i := range file.Records {
		r := &file.Records[i]
		if len(r.Is.entry.Records) == 0 {
			unknown[r.Is.unknown]++
			continue
		}
		if r.Is.dir != "" {
			s.Project = r.Is.dir
		}
		meta = meta.With(chat.Meta{Dir: s.Project, Model: r.Is.model})
		e := r.Is.entry
		e.ID, e.File, e.Meta = r.Name(e.ID), at.File, meta
		if s.Head >= 0 && e.Said.Role == chat.Assistant { // an answer may have several records
			s.Entries[s.Head].GoesOn = s.Entries[s.Head].Said.Role == chat.Assistant
		}
		s.Head = s.Add(e, s.Head)
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, unknown)...)
	return s, nil
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, messageOf)
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		if speaks(v) {
			return v.Get("type").Text(), []chat.Value{v.Get("message", "content")}
		}
		return v.Get("type").Text(), []chat.Value{v}
	})
}
