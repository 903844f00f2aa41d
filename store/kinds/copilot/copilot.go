// Package copilot reads the sessions of GitHub Copilot CLI.
//
//	~/.copilot/session-state/SESSION/events.jsonl      one event a line
//	~/.copilot/session-state/SESSION/workspace.yaml    the id, the folder, the name
//	~/.copilot/session-state/SESSION/inuse.PID.lock    while a process has it open
//
// An event names its parent. Copilot CLI ignores the parent: it goes on from all events of the file, in
// their order, and the timeline draws them so. The events of a sub-agent stand among them, with its id; here they
// are a session of their own. The events are defined by session-events.schema.json in 1.0.102.
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
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Copilot CLI. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

var moved = chat.Moved{Variable: "COPILOT_HOME", Below: "session-state"}

var agent = &chat.Agent{
	Name: "copilot-cli", Framework: "Copilot CLI", IDs: "Copilot CLI named the event",
	Roots: []string{"session-state", "."}, Home: "copilot",
	Inner: inner,
	Shape: "SESSION/events.jsonl with the start of a session",
	Noun:  "a session of Copilot CLI", Traces: []string{`"` + typeStart + `"`},
	Signs: func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "data", "id"}}}
	},
	Levels: []watch.Level{{}},
	Places: moved.Places(".copilot/session-state"),
	Moved:  moved,
	Passes: "Copilot CLI passes the line over since 1.0.57; before, it refuses the session",
}

// signOf identifies a file by its beginning: it has the start of a session, and events that Copilot CLI
// writes.
func signOf(head []byte) chat.Sign {
	if !isEvents(head) {
		return chat.Sign{}
	}
	return chat.SignOf(head, "an event with data of Copilot CLI's", func(v chat.Value) (fits bool, body chat.Body) {
		kind := v.Get("type").Text()
		if _, is := messageOf(v); is {
			return true, chat.BodyOf(v, v.Get("data", "content"), v.Get("data", "toolRequests"), v.Get("data", "result"), v.Get("data", "error"), v.Get("data", "message"))
		}
		if isKnown(kind) {
			return true, chat.NoBody
		}
		return true, chat.BodyOf(v)
	})
}

const eventsFile, workspaceFile = "events.jsonl", "workspace.yaml"

// mostDescribed bounds what is read of a description, and mostNamed what is read for its name, which
// stands near the beginning.
const mostDescribed, mostNamed = 1 << 20, 48 << 10

// inner returns how far above a folder that of all sessions is.
func inner(_ string, t tree.Tree) int {
	if at, err := t.Stamp(eventsFile); err == nil && at.Kind != files.Nothing {
		return 1
	}
	return 0
}

// isEvents reports whether one of the first lines of a file is an event.
func isEvents(head []byte) bool {
	for v := range chat.FirstRecords(head) {
		if v.Get("data").Kind() == jsontape.Object && v.Get("id").There() && isKnown(v.Get("type").Text()) {
			return true
		}
	}
	return false
}

// sessionOf returns the session id in the first events of a file that Copilot CLI did not name. It returns
// noSession if the events give no id, and "" if the file has no events.
func sessionOf(in engine.In, file string) string {
	return chat.AskHead(in, file, "session", func(head []byte) string {
		if !isEvents(head) {
			return ""
		}
		for line := range bytes.Lines(head) {
			if v := chat.ParseHead(line); v.Get("type").Text() == typeStart {
				return cmp.Or(v.Get("data", "sessionId").Text(), noSession)
			}
		}
		return noSession
	})
}

// noSession is the id of a session whose events give no id. It contains a byte that no id has.
const noSession = "\x00"

// sessionID matches the names of session folders.
var sessionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

// format implements chat.Forker, chat.Identifier, chat.Nested and chat.Caller.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format. A file or a folder that has another name than Copilot CLI gives is
// looked into.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	return chat.Walk(ctx, in, 0, func(name string) (chat.Spot, bool) {
		file := tree.Join(name, eventsFile)
		switch {
		case sessionID().MatchString(name):
			return f.Spot(file), true
		case strings.Contains(name, ".jsonl"):
			return f.Spot(name), sessionOf(in, name) != ""
		}
		return f.Spot(file), sessionOf(in, file) != ""
	})
}

// ID implements chat.Identifier: the event that starts the session tells.
func (f *format) ID(in engine.In, at chat.Spot) string {
	_, agent, child := strings.Cut(at.ID, "/")
	id := sessionOf(in, at.File)
	if !chat.IsPlainID(id) {
		return ""
	}
	if child {
		id += "/" + agent
	}
	return id
}

// Spot implements chat.Format. Behind the file stands the sub-agent.
func (f *format) Spot(name string) chat.Spot {
	file, part, child := strings.Cut(name, "#")
	at := chat.Spot{File: file, Part: part}
	dir, base := path.Dir(file), path.Base(file)
	if base == eventsFile && dir != "." {
		at.ID, at.Named = path.Base(dir), sessionID().MatchString(path.Base(dir))
	} else {
		at.ID, _, _ = strings.Cut(base, ".jsonl")
	}
	if child {
		at.ID += "/" + part
	} else if base == eventsFile {
		at.More = []string{tree.Join(dir, workspaceFile)}
	}
	return at
}

// Within implements chat.Nested.
func (f *format) Within(session chat.Spot, name string) (chat.Spot, bool) {
	at := f.Spot(session.File + "#" + name)
	at.ID = session.ID + "/" + name
	return at, session.Part == "" && name != ""
}

// crew are the sub-agents whose events are in a file.
type crew struct {
	list []chat.Inner
	at   map[string]int
}

// addAgent adds the sub-agent that an event is of, with the name that it has.
func (c *crew) addAgent(agent, name string) {
	if agent == "" {
		return
	}
	i, known := c.at[agent]
	if !known {
		if c.at == nil {
			c.at = map[string]int{}
		}
		i = len(c.list)
		c.at[agent], c.list = i, append(c.list, chat.Inner{Name: agent})
	}
	c.list[i].Title = cmp.Or(c.list[i].Title, name)
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	err = chat.EndLines(in.Tree, at.File, func(head [][]byte) bool {
		g := glanceAt(head, nil)
		return g.Title != ""
	}, func(head, tail [][]byte) { g = glanceAt(head, tail) })
	if err == nil {
		g.Title = cmp.Or(f.workspaceName(in, at), g.Title)
	}
	return g, err
}

// glanceAt reads a session's title and folder from the lines at both ends of its file.
func glanceAt(head, tail [][]byte) (g chat.Glance) {
	var said chat.Opening
	var agents crew
	for _, line := range slices.Concat(head, tail) {
		v, err := chat.Parse(line)
		if err != nil {
			continue
		}
		is := recordOf(v)
		agents.addAgent(is.agent, is.name)
		switch {
		case is.kind == typeStart:
			g.Project = cmp.Or(g.Project, is.meta.Dir)
		case is.agent == "" && (is.kind == typeUser || is.kind == typeAssistant) && !said.HasPrompt():
			said.Say(is.said)
		}
	}
	g.Title, g.Within = said.Title(), agents.list
	return g
}

// nameLine is the name of a session in its description, with the lines on which it goes on.
var nameLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^name:[ \t]*(?:[|>][-+0-9]*[ \t]*\r?\n)?(.*(?:\n[ \t]+.*)*)`)
})

// workspaceName returns the session's name in workspace.yaml, or "". The name is untrusted.
func (f *format) workspaceName(in engine.In, at chat.Spot) string {
	if len(at.More) == 0 {
		return ""
	}
	text, err := tree.Head(in.Tree, at.More[0], mostNamed)
	found := nameLine().FindSubmatch(text)
	if err != nil || found == nil {
		return ""
	}
	name := conversation.OneLine(string(found[1]))
	switch {
	case strings.HasPrefix(name, `"`):
		return chat.Words([]byte(name), conversation.MaxTitle)
	case strings.HasPrefix(name, "'"):
		name = strings.ReplaceAll(strings.Trim(name, "'"), "''", "'")
	case name == "null":
		return ""
	}
	return conversation.Cut(name, conversation.MaxTitle)
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if s.Spot.Part == "" && s.IsHead(e) {
		return []model.Resume{{Call: s.Command("", "copilot", "--resume="+s.Spot.ID), Then: "goes on from here"}}
	}
	return nil
}

// ReadCarried implements chat.Carrier. Other events that are known say how the work went on, or are
// parts of a message that is written whole behind them.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		kind := v.Get("type").Text()
		if _, is := messageOf(v); (is || !isKnown(kind)) && agentOf(v) == s.Spot.Part {
			return kind, []chat.Value{v}
		}
		return "", nil
	})
}
