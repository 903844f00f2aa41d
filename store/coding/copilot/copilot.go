// Package copilot reads the sessions of GitHub Copilot CLI.
//
//	~/.copilot/session-state/SESSION/events.jsonl      one event a line
//	~/.copilot/session-state/SESSION/workspace.yaml    the id, the folder, the name
//	~/.copilot/session-state/SESSION/inuse.PID.lock    while a process has it open
//
// An event names the one before it. Copilot CLI does not look at that: it goes on from all
// events of the file, in their order, and so they are drawn. Those of a sub-agent stand among them, with its id, and
// are a session of their own here. The events are those of session-events.schema.json in
// 1.0.102.
//
//	copilot.go  where sessions are, and what the list shows of one
//	event.go    one event
//	session.go  events together: entries
//	fork.go     the events up to one as a new session
package copilot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/watch"
)

// Kind describes the sessions of Copilot CLI. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) store.Kind { return agent.Kind(cache) }

// Elsewhere describes sessions that were copied to where no disk is.
func Elsewhere(cache *files.Cache) folder.Opener { return agent.Elsewhere(cache) }

var agent = &coding.Agent{
	Name: "copilot-cli", Framework: "Copilot CLI", IDs: "Copilot CLI named the event",
	Roots: []string{"session-state", "."}, Home: "copilot",
	Inner: inner,
	Shape: "SESSION/events.jsonl with the start of a session",
	Noun:  "a session of Copilot CLI", Traces: []string{`"` + typeStart + `"`},
	Signs: func(_ coding.Spot, head []byte) coding.Sign { return signOf(head) },
	Format: func(string) coding.Format {
		members := []string{"type", "data", "id"}
		return &format{
			lines: coding.Lines[record]{Decode: decode, Members: members},
			marks: coding.Lines[mark]{Decode: decodeMark, Only: isMarked, Members: members},
		}
	},
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string {
		if home := around.Named("COPILOT_HOME"); home != "" {
			return []string{filepath.Join(home, "session-state")}
		}
		return coding.Places(around, "", ".copilot/session-state")
	},
	Passes: "Copilot CLI passes the line over since 1.0.57; before, it refuses the session",
}

// signOf returns what a file is whose beginning is head: one with the start of a session, and with
// events that Copilot CLI writes.
func signOf(head []byte) coding.Sign {
	if !isEvents(head) {
		return coding.Sign{}
	}
	return coding.SignOf(head, "an event with data of Copilot CLI's", func(v coding.Value) (fits bool, body coding.Body) {
		kind := v.Get("type").Text()
		if _, is := messageOf(v); is {
			return true, coding.BodyOf(v, v.Get("data", "content"), v.Get("data", "toolRequests"), v.Get("data", "result"), v.Get("data", "error"), v.Get("data", "message"))
		}
		if isKnown(kind) {
			return true, coding.NoBody
		}
		return true, coding.BodyOf(v)
	})
}

const eventsFile, workspaceFile = "events.jsonl", "workspace.yaml"

// mostDescribed bounds what is read of a description.
const mostDescribed = 1 << 20

// inner returns how far above a folder that of all sessions is.
func inner(_ string, t folder.Tree) int {
	if at, err := t.Stamp(eventsFile); err == nil && at.Kind != files.Nothing {
		return 1
	}
	return 0
}

// isEvents reports whether one of the first lines of a file is an event.
func isEvents(head []byte) bool {
	for v := range coding.FirstRecords(head) {
		if v.Get("data").Kind() == jsontape.Object && v.Get("id").There() && isKnown(v.Get("type").Text()) {
			return true
		}
	}
	return false
}

// begins reports whether a file that Copilot CLI did not name begins as its events.
func begins(in folder.In, file string) bool { return coding.Begins(in, file, "events", isEvents) }

// sessionID is what the folders of sessions are called.
var sessionID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// format implements coding.Forker, coding.Identifier, coding.Several and coding.Caller.
type format struct {
	lines coding.Lines[record]
	marks coding.Lines[mark]
	crews sync.Map // the crew of each file: the list asks for it once a sub-agent
}

// crew are the sub-agents whose events are in a file that looks so.
type crew struct {
	look folder.Stamp
	list []helper
}

// Spots implements coding.Format: those of sub-agents are behind that of their session. A file or
// a folder that has another name than Copilot CLI gives is looked into.
func (f *format) Spots(ctx context.Context, in folder.In) (list []coding.Spot, err error) {
	sessions, err := coding.Walk(ctx, in, 0, func(name string) (coding.Spot, bool) {
		file := folder.Join(name, eventsFile)
		switch {
		case sessionID.MatchString(name):
			return f.Spot(file), true
		case strings.Contains(name, ".jsonl"):
			return f.Spot(name), begins(in, name)
		}
		return f.Spot(file), begins(in, file)
	})
	if err != nil {
		return nil, err
	}
	return f.withAgents(ctx, in, sessions)
}

// Opened implements coding.Several.
func (f *format) Opened(ctx context.Context, in folder.In, file string) ([]coding.Spot, error) {
	if !begins(in, file) {
		return nil, nil
	}
	at := f.Spot(file)
	at.ID = cmp.Or(f.ID(in, at), at.ID)
	return f.withAgents(ctx, in, []coding.Spot{at})
}

// ID implements coding.Identifier: the event that starts the session tells.
func (f *format) ID(in folder.In, at coding.Spot) string {
	_, agent, child := strings.Cut(at.ID, "/")
	id := coding.AskHead(in, at.File, "session", func(head []byte) string {
		for line := range bytes.Lines(head) {
			if v := coding.ParseHead(line); v.Get("type").Text() == typeStart {
				return v.Get("data", "sessionId").Text()
			}
		}
		return ""
	})
	if !coding.IsPlainID(id) {
		return ""
	}
	if child {
		id += "/" + agent
	}
	return id
}

// withAgents returns sessions, each with those of its sub-agents behind it.
func (f *format) withAgents(ctx context.Context, in folder.In, sessions []coding.Spot) (list []coding.Spot, err error) {
	for _, at := range sessions {
		list = append(list, at)
		look, err := in.Stamp(at.File)
		if err != nil {
			continue // reading it says why
		}
		agents, err := f.agents(ctx, in, at.File)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := 0; err == nil && i < len(agents); i++ {
			child := f.Spot(at.File + "#" + agents[i].ID)
			child.ID = at.ID + "/" + agents[i].ID
			child.At, child.Size = look.Modified, agents[i].Size
			list = append(list, child)
		}
	}
	return list, nil
}

// Spot implements coding.Format. Behind the file stands the sub-agent.
func (f *format) Spot(name string) coding.Spot {
	file, part, child := strings.Cut(name, "#")
	at := coding.Spot{File: file, Part: part}
	dir, base := path.Dir(file), path.Base(file)
	if base == eventsFile && dir != "." {
		at.ID, at.Named = path.Base(dir), sessionID.MatchString(path.Base(dir))
	} else {
		at.ID, _, _ = strings.Cut(base, ".jsonl")
	}
	if child {
		at.ID += "/" + part
	} else if base == eventsFile {
		at.More = []string{folder.Join(dir, workspaceFile)}
	}
	return at
}

// helper is what is known of a sub-agent before its session is read: its name, and how many
// bytes its events take.
type helper struct {
	ID, Name string
	Size     int64
}

// mark is what is kept of an event of a sub-agent, to find it.
type mark struct{ agent, name string }

// isMarked reports whether a line may be an event of a sub-agent.
func isMarked(line []byte) bool {
	return bytes.Contains(line, []byte(`"agentId"`)) || bytes.Contains(line, []byte(`"parentToolCallId"`)) || bytes.Contains(line, []byte(`"`+typeAgent+`"`))
}

func decodeMark(l *coding.Line) (m mark, err error) {
	v, err := l.Parse()
	if m.agent = agentOf(v); v.Get("type").Text() == typeAgent {
		m.name = nameOf(v)
	}
	return m, err
}

// agents returns the sub-agents whose events are in a file, in order. A note of it is kept, for
// the file has to be read for it. The errors are those of coding.Lines.
func (f *format) agents(ctx context.Context, in folder.In, file string) (list []helper, err error) {
	look, err := in.Stamp(file)
	if err != nil {
		return nil, err
	}
	if was, ok := f.crews.Load(file); ok && was.(crew).look.Is(look) {
		return was.(crew).list, nil
	}
	defer func() {
		if err == nil {
			f.crews.Store(file, crew{look, list})
		}
	}()
	if note, ok := in.Memo.Recall(file+"#", look); ok && json.Unmarshal(note, &list) == nil {
		return list, nil
	}
	marks, err := f.marks.Read(ctx, in, file)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, r := range marks.Records {
		i, known := at[r.Is.agent]
		if r.Is.agent == "" {
			continue
		}
		if !known {
			i = len(list)
			at[r.Is.agent], list = i, append(list, helper{ID: r.Is.agent})
		}
		list[i].Size += r.Len
		list[i].Name = cmp.Or(list[i].Name, r.Is.name)
	}
	if note, err := json.Marshal(list); err == nil {
		in.Memo.Note(file+"#", look, note)
	}
	return list, nil
}

// Small implements coding.Sizer: the session of a sub-agent is read with all of its file.
func (f *format) Small(in folder.In, at coding.Spot) bool {
	look, err := in.Stamp(at.File)
	return err == nil && look.Size <= smallFile
}

const smallFile = 64 << 10

// Glance implements coding.Format.
func (f *format) Glance(in folder.In, at coding.Spot) (g coding.Glance, err error) {
	var said coding.Opening
	lines, err := coding.HeadLines(in.Tree, at.File)
	for i := 0; i < len(lines) && !said.Asked(); i++ {
		v, err := coding.Parse(lines[i])
		if err != nil {
			continue
		}
		switch v.Get("type").Text() {
		case typeStart:
			g.Project = v.Get("data", "context", "cwd").Text()
		case typeUser, typeAssistant:
			m, _ := messageOf(v)
			said.Say(m.Said())
		}
	}
	g.Title = said.Title()
	if err != nil {
		return g, err
	}
	if at.Part == "" {
		g.Title = cmp.Or(f.name(in, at), g.Title)
		return g, nil
	}
	agents, err := f.agents(context.Background(), in, at.File) // it was read for the list
	if i := slices.IndexFunc(agents, func(h helper) bool { return h.ID == at.Part }); i >= 0 {
		g.Title = agents[i].Name
	}
	return g, err
}

// nameLine is the name of a session in its description, with the lines on which it goes on.
var nameLine = regexp.MustCompile(`(?m)^name:[ \t]*(?:[|>][-+0-9]*[ \t]*\r?\n)?(.*(?:\n[ \t]+.*)*)`)

// name returns what the description of a session calls it, "" for nothing. It is untrusted.
func (f *format) name(in folder.In, at coding.Spot) string {
	if len(at.More) == 0 {
		return ""
	}
	text, err := folder.Head(in.Tree, at.More[0], mostDescribed)
	found := nameLine.FindSubmatch(text)
	if err != nil || found == nil {
		return ""
	}
	name := conversation.OneLine(string(found[1]))
	switch {
	case strings.HasPrefix(name, `"`):
		return coding.Words([]byte(name), conversation.MaxTitle)
	case strings.HasPrefix(name, "'"):
		name = strings.ReplaceAll(strings.Trim(name, "'"), "''", "'")
	case name == "null":
		return ""
	}
	return conversation.Cut(name, conversation.MaxTitle)
}

// Calls implements coding.Caller.
func (f *format) Calls(s *coding.Session, e *coding.Entry) []model.Resume {
	if s.Spot.Part == "" && s.IsHead(e) {
		return []model.Resume{{Call: "copilot --resume=" + s.Spot.ID, Then: "goes on from here"}}
	}
	return nil
}

// Carried implements coding.Carrier. Other events that are known say how the work went on, or are
// parts of a message that is written whole behind them.
func (f *format) Carried(ctx context.Context, in folder.In, s *coding.Session) ([]coding.Carried, error) {
	return coding.CarriedIn(ctx, in, s.Spot.File, false, func(v coding.Value) (string, []coding.Value) {
		kind := v.Get("type").Text()
		if _, is := messageOf(v); (is || !isKnown(kind)) && agentOf(v) == s.Spot.Part {
			return kind, []coding.Value{v}
		}
		return "", nil
	})
}
