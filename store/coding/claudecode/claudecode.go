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
//	fork.go        a path as a new session
//	doctor.go      what can go wrong
package claudecode

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
	"hindcast/store/watch"
)

// Kind describes the sessions of Claude Code. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) store.Kind { return agent.Kind(cache) }

// projects is the folder of all sessions in that of the settings.
const projects = "projects"

var agent = &coding.Agent{
	Name: "claude-code", Framework: "Claude Code", IDs: "the uuid of the record; of an answer of several records, that of the first",
	Roots: []string{projects, "."}, Home: "claude",
	Inner:  inner,
	Shape:  "PROJECT/SESSION.jsonl with records of Claude Code",
	Signs:  func(_ coding.Spot, head []byte) bool { return isSigned(head) },
	Format: func(dir string) coding.Format { return newFormat(dir) },
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string {
		if dir := around.Named("CLAUDE_CONFIG_DIR"); dir != "" {
			return []string{filepath.Join(dir, projects)}
		}
		return coding.Places(around, "", ".claude/"+projects)
	},
	Passes: "Claude Code passes the line over",
}

// inner reports how far above the folder of a project the storage is.
func inner(dir string) int {
	if filepath.Base(filepath.Dir(dir)) == projects {
		return 1
	}
	return 0
}

// isSigned reports whether a file begins as one of Claude Code: its first records are of a
// known type, and one of them says whose it is. A first line that is longer than the
// beginning counts as far as it goes.
func isSigned(head []byte) bool {
	for range 8 {
		line, rest, _ := strings.Cut(string(head), "\n")
		known, whose := false, false
		for m, err := range jsontape.Members([]byte(line)) {
			if err != nil {
				break
			}
			switch jsontape.Unquote(m.Key) {
			case "type":
				known = types[jsontape.Unquote(m.Value)] != nil
			case "sessionId", "leafUuid", "messageId":
				whose = true
			}
		}
		if !known || rest == "" {
			return known && whose
		}
		if whose {
			return true
		}
		head = []byte(rest)
	}
	return false
}

// format implements coding.Forker, coding.Caller, coding.Checker and coding.Teller.
type format struct {
	dir   string // of the storage
	lines coding.Lines[record]
	// parents has the session of each file of a sub-agent whose name does not tell it, and
	// firsts the first record of each file of a session: neither changes.
	parents, firsts remembered
}

func newFormat(dir string) *format {
	return &format{dir: dir, lines: coding.Lines[record]{Decode: decode}}
}

// remembered has a text for each file. It is safe for concurrent use.
type remembered struct {
	mu   sync.Mutex
	text map[string]string
}

// get returns the text of a file, which find makes unless it is known.
func (r *remembered) get(file string, find func() string) string {
	r.mu.Lock()
	text, known := r.text[file]
	r.mu.Unlock()
	if known {
		return text
	}
	if text = find(); text == "" {
		return "" // it may come
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == nil || len(r.text) >= mostNames {
		r.text = map[string]string{}
	}
	r.text[file] = text
	return text
}

const (
	suffix, agentPrefix = ".jsonl", "agent-"
	// subagents is the folder of a session's sub-agents.
	subagents = "subagents"
	// mostNames bounds the names that are looked at.
	mostNames = 1_000_000
)

// uuids are the ids of sessions: no other becomes a part of the id of another session.
var uuids = regexp.MustCompile(`^[0-9a-fA-F-]{36}$`)

// agentNames are the names of files of sub-agents, without what follows.
var agentNames = regexp.MustCompile(`^agent-[0-9A-Za-z-]{1,80}$`)

// Spots implements coding.Format. The storage is the folder of all projects, or that of one.
func (f *format) Spots(ctx context.Context, in folder.In) (list []coding.Spot, err error) {
	names, err := in.List(".")
	if err != nil {
		return nil, err
	}
	seen := len(names)
	list = f.in(ctx, in, ".", names, list)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.Contains(name, ".") || seen > mostNames {
			continue
		}
		if below, err := in.List(name); err == nil { // Faults tells
			seen += len(below)
			list = f.in(ctx, in, name, below, list)
		}
	}
	return list, nil
}

// in adds the sessions of the folder of one project, and their sub-agents.
func (f *format) in(ctx context.Context, in folder.In, dir string, names []string, list []coding.Spot) []coding.Spot {
	for _, name := range names {
		if ctx.Err() != nil {
			return list
		}
		file := folder.Join(dir, name)
		switch {
		case strings.HasPrefix(name, agentPrefix) && strings.HasSuffix(name, suffix):
			f.learnParent(in, file)
			list = append(list, f.Spot(file))
		case strings.HasSuffix(name, suffix):
			list = append(list, f.Spot(file))
		case uuids.MatchString(name):
			for _, below := range f.agents(in, file) {
				list = append(list, f.Spot(below))
			}
		}
	}
	return list
}

// agents returns the files of the sub-agents in the folder of a session.
func (f *format) agents(in folder.In, dir string) (list []string) {
	dir = folder.Join(dir, subagents)
	names, err := in.List(dir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, agentPrefix) && strings.HasSuffix(name, suffix) {
			list = append(list, folder.Join(dir, name))
		}
	}
	return list
}

// learnParent notes which session a sub-agent's first line names.
func (f *format) learnParent(in folder.In, file string) {
	f.parents.get(file, func() string {
		lines, err := coding.HeadLines(in.Tree, file)
		if err != nil || len(lines) == 0 {
			return ""
		}
		if id := jsontape.Unquote(jsontape.FindMember(lines[0], `"sessionId"`)); uuids.MatchString(id) {
			return id
		}
		return ""
	})
}

// Spot implements coding.Format. A sub-agent's id begins with that of its session.
func (f *format) Spot(file string) coding.Spot {
	dir := path.Dir(file)
	at := coding.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), suffix)}
	parent := ""
	if path.Base(dir) == subagents {
		dir = path.Dir(dir)
		parent = path.Base(dir)
		dir = path.Dir(dir)
	} else if strings.HasPrefix(at.ID, agentPrefix) {
		parent = f.parents.get(file, func() string { return "" })
	}
	if parent != "" && parent != "." {
		at.ID = parent + "/" + at.ID
	}
	if at.Project = path.Base(dir); at.Project == "." {
		at.Project = ""
	}
	return at
}

// Glance implements coding.Format: the first words of the user are near the beginning, a
// title that was set later near the end.
func (f *format) Glance(in folder.In, at coding.Spot) (g coding.Glance, err error) {
	lines, err := coding.HeadLines(in.Tree, at.File)
	if err != nil {
		return g, err
	}
	words := ""
	for _, line := range lines {
		r, err := decodeText(line)
		if err != nil {
			continue
		}
		if g.Project == "" {
			g.Project = r.meta.Dir
		}
		if words == "" && r.isAsked() {
			words = r.said.Words
		}
		if words != "" && g.Project != "" {
			break
		}
	}
	tail, err := coding.TailLines(in.Tree, at.File)
	if err != nil {
		return g, err
	}
	title := titles{asked: words, agent: f.metaOf(in, at.File).title()}
	for _, line := range tail {
		if kind, err := typeOf(line); err != nil || !isTitle[kind] {
			continue
		}
		if r, err := decodeText(line); err == nil {
			title.add(&r)
		}
	}
	g.Title = title.best()
	return g, nil
}

// Sources implements coding.Plain.
func (f *format) Sources(_ folder.In, at coding.Spot) []string { return []string{at.File} }
