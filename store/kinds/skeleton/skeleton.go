// Package skeleton reads sessions as an agent writes them that keeps a file of messages for each:
//
//	SESSION.jsonl    {"id": "m2", "parent": "m1", "role": "assistant", "text": "Hello.", "time": "2026-11-30T10:00:00Z"}
//
// It is on no list of kinds. README.md beside it tells how to write a kind.
package skeleton

import (
	"context"
	"strings"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/watch"
)

// Kind describes the store. cache keeps titles from one run of the program to the next; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

var agent = &chat.Agent{
	Name: "skeleton", Framework: "Skeleton", IDs: "the id of the message",
	Roots: []string{"."}, Shape: "SESSION.jsonl with messages of Skeleton", Noun: "a session of Skeleton",
	Signs: func(_ chat.Spot, head []byte) chat.Sign {
		return chat.SignOf(head, "text", func(v chat.Value) (bool, chat.Body) {
			return v.Get("id").There() && v.Get("role").There(), chat.BodyOf(v, v.Get("text"))
		})
	},
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"id", "role"}}}
	},
	Places: func(around store.Surroundings) []string {
		return chat.Places(around, "SKELETON_HOME", ".skeleton/sessions")
	},
	Levels: []watch.Level{{}},
	Lacks:  "Skeleton resumes no session that another program wrote",
	Passes: "Skeleton passes the line over",
}

// record holds the parts of a line that the timeline shows. The store reads the texts again when they are asked for.
type record struct {
	id, parent string
	entry      chat.Entry
}

func decodeLine(line *chat.Line, r *record) error {
	v, err := line.Parse()
	if err != nil {
		return err
	}
	m := messageOf(v)
	r.id, r.parent = v.Get("id").Text(), v.Get("parent").Text()
	r.entry = chat.Entry{ID: r.id, Parent: r.parent, At: v.Get("time").Time(), Said: m.Summarise(), Records: []chat.Span{line.Span}}
	return nil
}

// messageOf returns the message of a record.
func messageOf(v chat.Value) chat.Message {
	return chat.Message{Role: chat.RoleOf(v.Get("role").Text()), Blocks: []chat.Block{chat.TextBlock(v.Get("text").Raw())}, Raw: [][]byte{v.Raw()}}
}

// format implements chat.Format.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, 0, func(file string) (chat.Spot, bool) { return f.Spot(file), strings.HasSuffix(file, ".jsonl") })
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	return chat.Spot{File: file, ID: strings.TrimSuffix(file, ".jsonl"), Named: true}
}

// Glance implements chat.Format: it reads the beginning alone.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	lines, err := chat.HeadLines(in.Tree, at.File)
	var said chat.Opening
	for _, line := range lines {
		m := messageOf(chat.ParseHead(line))
		said.Say(m.Summarise())
	}
	g.Title = said.Title()
	return g, err
}

// Read implements chat.Format. The head is the last line; what does not lead to it was left.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes)}
	entries := map[string]int{"": -1}
	for i := range file.Records {
		e := file.Records[i].Is.entry
		e.ID, e.File = file.Records[i].Name(e.ID), at.File
		parent, there := entries[e.Parent]
		if !there {
			parent = chat.Missing
		}
		s.Head = s.Add(e, parent)
		entries[e.ID] = s.Head
	}
	return s, nil
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, messageOf)
}
