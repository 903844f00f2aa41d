// Package claudecode reads the sessions of Claude Code.
//
//	~/.claude/projects/PROJECT/SESSION.jsonl
//	~/.claude/projects/PROJECT/SESSION/subagents/agent-ID.jsonl, agent-ID.meta.json
//	~/.claude/projects/PROJECT/agent-ID.jsonl       a sub-agent, as 2.0 wrote them
//
// A line is a record. One with a uuid names the record before it, whatever the two are, so
// that records make a tree:
//
//	user ◂── attachment ◂── … ◂── assistant ◂── assistant    one answer, a record a block
//	                              │             └◂── user    the results of its calls
//	                              └◂── user ◂── …
//	system compact_boundary ┄┄▸ the record before it         no parent, a logical one
//	└◂── user                   the summary that takes its place
//
// All other records say something of the session. The rules were found by running 2.0.30,
// 2.1.80 and 2.1.330.
//
//	claudecode.go  which files there are
//	record.go      what is kept of a line
//	session.go     the tree of messages, and its head
//	sidechain.go   sub-agents in the file of their session
//	kin.go         which sessions share records
//	fork.go        a path as a new session
//	doctor.go      what can go wrong
package claudecode

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Claude Code. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

// projects is the folder of all sessions in that of the settings.
const projects = "projects"

var moved = chat.Moved{Variable: "CLAUDE_CONFIG_DIR", Below: projects}

var agent = &chat.Agent{
	NoIndex: true,
	Name:    "claude-code", Framework: "Claude Code", IDs: "the uuid of the record; of an answer of several records, that of the first",
	Roots: []string{projects, "."}, Home: "claude",
	Inner:  inner,
	Shape:  "PROJECT/SESSION.jsonl with records of Claude Code",
	Noun:   "a Claude Code session",
	Traces: []string{`"parentUuid"`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(dir string) chat.Format { return newFormat(dir) },
	Levels: []watch.Level{{}},
	Places: moved.Places(".claude/" + projects),
	Others: otherPlaces,
	Moved:  moved,
	Passes: "Claude Code passes the line over", Lifetime: lifetimeOf,
}

// otherPlaces returns the places of Claude Desktop, whose sessions each have a home of their own, and of the homes that
// CLAUDE_CONFIG_DIRS lists for programs that read several.
func otherPlaces(around store.Surroundings) (list []string) {
	for _, dir := range filepath.SplitList(around.FolderOf("CLAUDE_CONFIG_DIRS")) {
		if dir != "" {
			list = append(list, filepath.Join(dir, projects))
		}
	}
	for _, data := range []string{"Library/Application Support", "AppData/Roaming"} {
		list = append(list, chat.Places(around, "", data+"/Claude/local-agent-mode-sessions/*/*/local_*/.claude/"+projects)...)
	}
	return list
}

// inner reports how far above the folder of a project the storage is.
func inner(dir string, _ tree.Tree) int {
	if filepath.Base(filepath.Dir(dir)) == projects {
		return 1
	}
	return 0
}

// signOf identifies a file by its beginning. A file of Claude Code has records of known types that name their
// owner, and messages with content. A first line longer than head counts as far as it goes.
func signOf(head []byte) chat.Sign {
	renamed := false
	s := chat.SignOf(head, "message.content", func(v chat.Value) (fits bool, body chat.Body) {
		kind := v.Get("type").Text()
		fits = types()[kind] != nil && slices.ContainsFunc(owners, func(key string) bool { return v.Get(key).There() })
		renamed = renamed || strings.HasPrefix(v.Get("sessionId").Text(), foreignID)
		switch {
		case kind == typeUser || kind == typeAssistant:
			body = chat.BodyOf(v, v.Get("message", "content"))
		case types()[kind] == nil:
			body = chat.BodyOf(v)
		}
		return fits, body
	})
	if s.Read() && renamed {
		s.Misses, s.Perhaps = "a uuid as its sessionId", "iFlow"
	}
	return s
}

// owners are the members by which a record names its session or its message.
var owners = []string{"sessionId", "leafUuid", "messageId", "parentUuid"}

// foreignID begins the name of a session of iFlow: its records name the prompt as the parent of all
// that follows, and are read in the order of lines. Source: the files of kenn-io/agentsview.
const foreignID = "session-"

// format implements chat.Forker, chat.Caller, chat.Checker, chat.Identifier and
// chat.Teller.
type format struct {
	dir    string // of the storage
	lines  chat.Lines[record]
	firsts sync.Map // the first record of each file of a session: it does not change

	requestsMu sync.Mutex
	requests   engine.Recent[*requests] // by file
}

func newFormat(dir string) *format {
	return &format{dir: dir, lines: chat.Lines[record]{Decode: func(l *chat.Line, r *record) error { return r.keepLine(l) }, Members: []string{"type", "sessionId"}}}
}

const (
	suffix, agentPrefix = ".jsonl", "agent-"
	// subagents is the folder of a session's sub-agents.
	subagents = "subagents"
	// mostSessions bounds the sessions that are listed.
	mostSessions = 1_000_000
)

// uuids are the ids of sessions: no other becomes a part of the id of another session.
var uuids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-fA-F-]{36}$`) })

// agentNames are the names of files of sub-agents, without what follows.
var agentNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^agent-[0-9A-Za-z-]{1,80}$`) })

// Spots implements chat.Format. The storage is the folder of all projects, or that of one.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	parts := make([][]chat.Spot, len(names)+1)
	parts[0] = f.sessionsIn(in, ".", names)
	err = chat.Parallel(ctx, len(names), func(i int) {
		if strings.Contains(names[i], ".") {
			return
		}
		if below, err := in.List(names[i]); err == nil { // Faults tells
			parts[i+1] = f.sessionsIn(in, names[i], below)
		}
	})
	list = slices.Concat(parts...)
	return list[:min(len(list), mostSessions)], err
}

// sessionsIn returns the sessions of the folder of one project, and their sub-agents.
func (f *format) sessionsIn(in engine.In, dir string, names []string) []chat.Spot {
	list := make([]chat.Spot, 0, len(names))
	for _, name := range names {
		file := tree.Join(dir, name)
		if strings.HasSuffix(name, suffix) {
			list = append(list, f.Spot(file))
		} else if uuids().MatchString(name) {
			for _, below := range agentsIn(in, file) {
				list = append(list, f.Spot(below))
			}
		}
	}
	return list
}

// agentsIn returns the files of the sub-agents in the folder of a session.
func agentsIn(in engine.In, dir string) (list []string) {
	dir = tree.Join(dir, subagents)
	names, _ := in.List(dir) // most sessions have none
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && isAgent(name) {
			list = append(list, tree.Join(dir, name))
		}
	}
	return list
}

// isAgent reports whether a file is that of a sub-agent, by its name.
func isAgent(file string) bool { return strings.HasPrefix(path.Base(file), agentPrefix) }

// Spot implements chat.Format. A sub-agent's id begins with that of its session.
func (f *format) Spot(file string) chat.Spot {
	file, part := cutPart(file)
	dir, id := path.Dir(file), strings.TrimSuffix(path.Base(file), suffix)
	if path.Base(dir) == subagents {
		if dir = path.Dir(dir); dir != "." {
			id = path.Base(dir) + "/" + id
		}
		dir = path.Dir(dir)
	}
	at := chat.Spot{File: file, ID: id, Named: !strings.HasPrefix(id, agentPrefix), Part: part}
	if part != "" {
		at.ID += "/" + part
	}
	if dir != "." {
		at.Project = path.Base(dir)
	}
	return at
}

// ID implements chat.Identifier: the first line of a sub-agent beside its session tells
// which that is.
func (f *format) ID(in engine.In, at chat.Spot) string {
	if at.Named {
		return ""
	}
	id := chat.AskHead(in, at.File, "session", func(head []byte) string {
		line, _, _ := bytes.Cut(head, []byte("\n"))
		return jsontape.Unquote(jsontape.FindMember(line, `"sessionId"`))
	})
	if !uuids().MatchString(id) {
		return "" // Read tells
	}
	return id + "/" + at.ID
}

// Glance implements chat.Format: the first words of the user are near the beginning, a
// title that was set later near the end.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	err = chat.EndLines(in.Tree, at.File, func(head [][]byte) bool {
		said, _, _ := readOpening(at, head)
		return said.HasPrompt()
	}, func(head, tail [][]byte) { g = glanceAt(in, at, head, tail) })
	return g, err
}

// readOpening reads the first lines of a file as far as the first prompt. It returns the first messages, the
// titles and the folder.
func readOpening(at chat.Spot, head [][]byte) (said chat.Opening, named titles, dir string) {
	named = titles{}
	for i := 0; i < len(head) && (!said.HasPrompt() || dir == ""); i++ {
		r := new(record)
		r.keepRecord(chat.ParseHead(head[i]))
		named.addTitle(r)
		dir = cmp.Or(dir, r.meta.Dir)
		if r.speaks && (!r.side || isAgent(at.File)) && (r.event == "" || r.event == eventAsked || r.event == eventCommand) {
			said.Say(r.said)
		}
	}
	return said, named, dir
}

// glanceAt reads a session's title and folder from the lines at both ends of its file.
func glanceAt(in engine.In, at chat.Spot, head, tail [][]byte) (g chat.Glance) {
	said, named, dir := readOpening(at, head)
	g.Project = dir
	for _, line := range tail {
		if kind, _ := typeOf(line); slices.Contains(called, kind) {
			if r, err := decodeLine(&chat.Line{Raw: line}); err == nil {
				named.addTitle(&r)
			}
		}
	}
	has := func(id string) bool { // in what is read
		return slices.ContainsFunc(slices.Concat(head, tail), func(line []byte) bool { return bytes.Contains(line, []byte(`"uuid":"`+id+`"`)) })
	}
	g.Title = cmp.Or(named.bestTitle(has), metaOf(in, at.File).taskTitle(), said.Title())
	if !isAgent(at.File) {
		g.Within = append(innerIn(head), innerIn(tail)...)
	}
	return g
}

// Sources implements chat.Plain.
func (f *format) Sources(_ engine.In, at chat.Spot) []string { return []string{at.File} }

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int { return min(len(e.Records), 1) }

// longLine is a line that is not parsed before its type is known.
const longLine = 64 << 10

// TellLine implements chat.LineTeller. The session of a line of a sub-agent is known from the whole file.
func (f *format) TellLine(at chat.Spot, line *chat.Line, near chat.Near) (list []chat.Message, when time.Time, tells chat.Telling) {
	kind := ""
	if len(line.Raw) > longLine || bytes.HasPrefix(line.Raw, []byte(`{"type":`)) { // then the type is quickly known, or worth it
		if kind, _ = typeOf(line.Raw); light()[kind] {
			return nil, when, chat.Silent
		}
	}
	v, err := line.Parse()
	if kind = v.Get("type").Text(); err == nil && kind != typeUser && kind != typeAssistant && kind != typeAttachment {
		return nil, when, chat.Silent
	}
	is := v.Get(typeAttachment, "type").Text()
	switch {
	case err != nil, v.Get("isSidechain").True() && !isAgent(at.File):
		return nil, when, chat.Unsure
	case kind == typeAttachment && is != queued && (v.Get("uuid").Text() == "" || !v.Get("parentUuid").There() || !isSent(v, is)):
		return nil, when, chat.Silent
	}
	m := contentOf(v) // a text is not in the usage
	m.Raw = [][]byte{v.Raw()}
	if kind == typeAttachment && is != queued {
		var ok bool
		if m.Role, ok = roleOfParent(v, near.Before); !ok {
			return nil, when, chat.Unsure
		}
	}
	return []chat.Message{m}, v.Get("timestamp").Time(), chat.Speaks
}

// roleOfParent returns the role of the message that an attachment is a part of, and false where that is not near.
func roleOfParent(v chat.Value, before func(string) (*chat.Line, bool)) (chat.Role, bool) {
	const most = 64 // attachments and notes between
	for range most {
		id := v.Get("parentUuid").Text()
		if id == "" {
			return chat.User, true
		}
		line, ok := before(`"uuid":"` + id + `"`)
		if !ok {
			return chat.User, false
		}
		var err error
		if v, err = line.Parse(); err != nil || v.Get("uuid").Text() != id {
			return chat.User, false
		}
		switch v.Get("type").Text() {
		case typeAssistant:
			return chat.User, true
		case typeUser:
			return messageOf(v).Role, true
		case typeAttachment:
			if v.Get(typeAttachment, "type").Text() == queued {
				return chat.User, true
			}
		}
	}
	return chat.User, false
}

// Composes implements chat.LineTeller.
func (f *format) Composes() string { return `"attachment"` }
