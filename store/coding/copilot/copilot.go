// Package copilot reads the sessions of GitHub Copilot CLI.
//
//	~/.copilot/session-state/SESSION/events.jsonl      one event a line
//	~/.copilot/session-state/SESSION/workspace.yaml    the id, the folder, the name
//	~/.copilot/session-state/SESSION/inuse.PID.lock    while a process has it open
//
// An event names the one before it. Copilot CLI does not look at that: it goes on from all
// events of the file, in their order. The events are those of session-events.schema.json in
// 1.0.102.
package copilot

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

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

var agent = &coding.Agent{
	Name: "copilot-cli", Framework: "Copilot CLI", IDs: "Copilot CLI named the event",
	Roots: []string{"session-state", "."}, Home: "copilot",
	Inner:  inner,
	Shape:  "SESSION/events.jsonl with the start of a session",
	Signs:  func(_ coding.Spot, head []byte) bool { return bytes.Contains(head, []byte(`"`+typeStart+`"`)) },
	Format: func(string) coding.Format { return &format{coding.Lines[record]{Decode: decode}} },
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string {
		if home := around.Named("COPILOT_HOME"); home != "" {
			return []string{filepath.Join(home, "session-state")}
		}
		return coding.Places(around, "", ".copilot/session-state")
	},
	Passes: "passes the line over",
}

const eventsFile, workspaceFile = "events.jsonl", "workspace.yaml"

// inner returns how far above a folder that of all sessions is.
func inner(dir string) int {
	if _, err := os.Stat(filepath.Join(dir, eventsFile)); err == nil {
		return 1
	}
	return 0
}

// sessionID is what the folders of sessions are called.
var sessionID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// format implements coding.Forker and coding.Caller.
type format struct{ lines coding.Lines[record] }

// Spots implements coding.Format.
func (f *format) Spots(ctx context.Context, in folder.In) ([]coding.Spot, error) {
	return coding.Walk(ctx, in, 0, func(name string) (coding.Spot, bool) {
		return f.Spot(folder.Join(name, eventsFile)), sessionID.MatchString(name)
	})
}

// Spot implements coding.Format.
func (f *format) Spot(file string) coding.Spot {
	return coding.Spot{File: file, ID: path.Base(path.Dir(file))}
}

// Types of events that are told apart here.
const (
	typeStart, typeResume, typeContext    = "session.start", "session.resume", "session.context_changed"
	typeModel, typeMode                   = "session.model_change", "session.mode_changed"
	typeUser, typeAssistant, typeTool     = "user.message", "assistant.message", "tool.execution_complete"
	typeSystem, typeUsage                 = "system.message", "session.usage_record"
	typeReasoning                         = "assistant.reasoning"
	typeTurnEnd, typeAgent                = "assistant.turn_end", "subagent.started"
	typeCompacting                        = "session.compaction_start"
	typeCompaction, typeCleared, typeFail = "session.compaction_complete", "session.context_cleared", "session.error"
)

// rooms are the beginnings of the types of all events; one that begins otherwise is unknown.
var rooms = []string{"session.", "user.", "assistant.", "tool.", "system.", "subagent.", "skill.", "hook.", "permission.", "external_tool.", "mcp.", "mcp_app.", "model.", "abort", "human_response.", "tool_search.", "user_input.", "command.", "elicitation.", "exit_plan_mode.", "sandbox.", "agent."}

// record is what is kept of an event.
type record struct {
	kind, id, parent string
	at               time.Time
	// agent is the sub-agent that it is of, and call the tool call that started that.
	agent, call string
	said        coding.Said
	// message joins the parts of one message.
	message string
	meta    coding.Meta
}

// decode keeps what is named here of an event.
func decode(l *coding.Line) (r record, err error) {
	v, err := l.Parse()
	if err != nil {
		return r, err
	}
	return recordOf(v), nil
}

// recordOf returns the record of an event.
func recordOf(v coding.Value) (r record) {
	data := v.Get("data")
	text := func(key string) string { return data.Get(key).Text() }
	r.kind, r.id, r.parent, r.at = v.Get("type").Text(), v.Get("id").Text(), v.Get("parentId").Text(), v.Get("timestamp").Time()
	r.agent, r.call = v.Get("agentId").Text(), text("parentToolCallId")
	switch r.kind {
	case typeStart, typeResume:
		around := data.Get("context")
		r.meta = coding.Meta{Model: text("selectedModel"), Version: text("copilotVersion"), Dir: around.Get("cwd").Text(), Branch: around.Get("branch").Text(), Commit: around.Get("headCommit").Text()}
	case typeContext:
		r.meta = coding.Meta{Dir: text("cwd"), Branch: text("branch"), Commit: text("headCommit")}
	case typeModel:
		r.meta.Model = text("newModel")
	case typeMode:
		r.meta.Mode = text("newMode")
	case typeAgent:
		r.call = text("toolCallId")
	case typeUser, typeAssistant, typeTool, typeFail, typeCompaction, typeCleared:
		m, ok := messageOf(v)
		if !ok { // a compaction that failed
			r.kind = typeCompacting
			break
		}
		r.said, r.meta.Model = m.Said(), m.Model
		if r.message = text("messageId"); data.Get("chunkCount").Number() > 1 {
			r.message = text("apiCallId")
		}
	}
	return r
}

// messageOf returns the message of an event; false for one that is none.
func messageOf(v coding.Value) (m coding.Message, ok bool) {
	m.Raw = [][]byte{v.Raw()}
	data := v.Get("data")
	add := func(kind conversation.BlockKind, body coding.Value) {
		if body.Kind() == jsontape.String && len(body.Raw()) > len(`""`) {
			m.Blocks = append(m.Blocks, coding.Block{Kind: kind, Body: body.Raw()})
		}
	}
	switch v.Get("type").Text() {
	case typeUser:
		m.Role = coding.User
		add(conversation.Text, data.Get("content"))
		for attachment := range data.Get("attachments").Each() {
			m.Blocks = append(m.Blocks, coding.Block{Kind: conversation.Unknown, Body: attachment.Raw()})
		}
	case typeAssistant:
		m.Role, m.ID, m.Model = coding.Assistant, data.Get("apiCallId").Text(), data.Get("model").Text()
		add(conversation.Reasoning, data.Get("reasoningText"))
		add(conversation.Text, data.Get("content"))
		for call := range data.Get("toolRequests").Each() {
			m.Blocks = append(m.Blocks, coding.Block{Kind: conversation.ToolCall, ID: call.Get("toolCallId").Text(), Name: call.Get("name").Text(), Body: call.Get("arguments").Raw()})
		}
	case typeTool:
		m.Role = coding.Tool
		b := coding.Block{Kind: conversation.ToolResult, ID: data.Get("toolCallId").Text(), Body: data.Get("result").Raw(), Failed: data.Get("success").Kind() == jsontape.False}
		for _, body := range []coding.Value{data.Get("result", "content"), data.Get("error", "message")} {
			if body.Kind() == jsontape.String {
				b.Body = body.Raw()
			}
		}
		m.Blocks = []coding.Block{b}
	case typeSystem:
		add(conversation.Text, data.Get("content"))
	case typeReasoning:
		m.Role = coding.Assistant
		add(conversation.Reasoning, data.Get("content"))
	case typeFail:
		add(conversation.Text, data.Get("message"))
	case typeCompaction:
		if !data.Get("success").True() {
			return m, false
		}
		m.Role = coding.User
		add(conversation.Text, data.Get("summaryContent"))
	case typeCleared:
		m.Role = coding.User
		add(conversation.Text, data.Get("initialMessage"))
	default:
		return m, false
	}
	return m, true
}

// usageOf returns what an event says that an answer cost. Tokens of a cache are among those
// of the input.
func usageOf(v coding.Value) (u conversation.Usage) {
	is := v.Get("data", "usage")
	u.Counted = is.Get("inputTokens").There() || is.Get("outputTokens").There()
	u.Input, u.Output = is.Get("inputTokens").Number(), is.Get("outputTokens").Number()
	u.CacheRead, u.CacheWrite = is.Get("cacheReadTokens").Number(), is.Get("cacheWriteTokens").Number()
	u.Milliseconds = is.Get("duration").Number()
	return u
}

// Messages implements coding.Format. The parts of an answer are one message; the system
// prompt that an entry came with is another, before it.
func (f *format) Messages(in folder.In, s *coding.Session, e *coding.Entry) (list []coding.Message, err error) {
	raw, err := coding.Raw(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	var one coding.Message
	var usage conversation.Usage
	one.Role = e.Said.Role
	for _, text := range raw {
		v, err := coding.Parse(text)
		if err != nil {
			return nil, err
		}
		kind := v.Get("type").Text()
		m, _ := messageOf(v)
		switch kind {
		case typeSystem:
			list = append(list, m)
			continue
		case typeUsage:
			usage = usageOf(v)
		default:
			one.ID, one.Model = m.ID, m.Model
		}
		one.Blocks, one.Raw = append(one.Blocks, m.Blocks...), append(one.Raw, text)
	}
	one.Usage = usage
	return append(list, one), nil
}

// Glance implements coding.Format.
func (f *format) Glance(in folder.In, at coding.Spot) (g coding.Glance, err error) {
	lines, err := coding.HeadLines(in.Tree, at.File)
	for i := 0; i < len(lines) && g.Title == ""; i++ {
		v, err := coding.Parse(lines[i])
		if err != nil {
			continue
		}
		switch v.Get("type").Text() {
		case typeStart:
			g.Project = v.Get("data", "context", "cwd").Text()
		case typeUser:
			g.Title = v.Get("data", "content").Words()
		}
	}
	return g, err
}

// Codes of faults.
const (
	// FaultChain: an event does not follow the one before it.
	FaultChain = "broken-chain"
	// FaultStart: no event starts the session.
	FaultStart = "no-session-start"
)

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &coding.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: file}
	b := newBuild(s)
	for i := range file.Records {
		b.add(&file.Records[i])
	}
	s.Head = b.last[""]
	s.Faults = append(s.Faults, coding.UnknownFaults(at.File, b.unknown)...)
	if file.Size > 0 && !b.started {
		s.Faults = append(s.Faults, model.Fault{Code: FaultStart, Severity: model.Stops, File: at.File, Meaning: "no event starts the session", Verdict: "does not resume it"})
	}
	return s, nil
}

// build makes a session of events in turn.
type build struct {
	session *coding.Session
	started bool
	// node has for each event the last entry on the way to it, -1 for none; last is that of
	// the newest event of each sub-agent, and of "", the session itself.
	node, last map[string]int
	// calls are the entries with tool calls, by these and by the sub-agents that they started.
	calls map[string]int
	// taken are the ids of entries.
	taken map[string]bool
	// waits are events that belong to the entry that comes next, of each sub-agent.
	waits   map[string][]coding.Span
	meta    coding.Meta
	shared  *coding.Meta
	unknown map[string]int
}

func newBuild(s *coding.Session) *build {
	return &build{session: s, node: map[string]int{}, calls: map[string]int{}, taken: map[string]bool{}, last: map[string]int{"": -1}, waits: map[string][]coding.Span{}, unknown: map[string]int{}}
}

// add adds an event. One that is no message stands for the message before it.
func (b *build) add(r *coding.Record[record]) {
	s, is := b.session, &r.Is
	before, known := b.node[is.parent]
	if last := b.last[""]; !known {
		if before = last; is.parent != "" {
			b.fault(r, model.Note, "the event before is missing", "goes on from the events in the order of the file")
		}
	} else if before != last && is.agent == "" && isMessage(is.kind) {
		b.fault(r, model.Odd, "the event goes on from an earlier one: there are two branches", "goes on from the messages of both, in the order of the file")
	}
	b.learn(&is.meta)
	at := before
	switch is.kind {
	case typeStart:
		b.started = true
		s.Project = is.meta.Dir
	case typeSystem, typeUsage, typeReasoning:
		b.waits[is.agent] = append(b.waits[is.agent], r.Span)
	case typeAgent:
		if call, known := b.calls[is.call]; known && is.agent != "" {
			b.calls[is.agent] = call
		}
	case typeUser, typeAssistant, typeTool, typeFail, typeCompaction, typeCleared:
		at = b.entry(r, before)
	default:
		if !b.knows(is.kind) {
			b.unknown[is.kind]++
		}
	}
	if is.agent != "" {
		b.last[is.agent] = at
		at = before // the session itself goes on from there
	}
	if is.agent == "" {
		b.last[""] = at
	}
	b.node[is.id] = at
}

func isMessage(kind string) bool {
	return kind == typeUser || kind == typeAssistant || kind == typeTool
}

func (b *build) knows(kind string) bool {
	for _, room := range rooms {
		if strings.HasPrefix(kind, room) {
			return true
		}
	}
	return false
}

func (b *build) fault(r *coding.Record[record], severity model.Severity, meaning, verdict string) {
	b.session.Faults = append(b.session.Faults, model.Fault{Code: FaultChain, Severity: severity, File: b.session.Spot.File, Path: fmt.Sprintf("line %d, byte %d", r.Number, r.At), Meaning: meaning, Verdict: verdict})
}

// learn notes what the session runs with from an event on.
func (b *build) learn(m *coding.Meta) {
	now := b.meta
	for _, change := range []struct {
		to   *string
		from string
	}{{&now.Model, m.Model}, {&now.Dir, m.Dir}, {&now.Branch, m.Branch}, {&now.Commit, m.Commit}, {&now.Mode, m.Mode}, {&now.Version, m.Version}} {
		if change.from != "" {
			*change.to = change.from
		}
	}
	if b.shared == nil || now != b.meta {
		b.meta = now
		b.shared = &now
	}
}

// entry adds the entry of an event, or the event to the entry that has the rest of its
// message, and returns its position.
func (b *build) entry(r *coding.Record[record], before int) int {
	s, is := b.session, &r.Is
	if is.agent != "" {
		last, known := b.last[is.agent]
		for _, by := range []string{is.agent, is.call} {
			if call, started := b.calls[by]; started && !known {
				last, known = call, true
			}
		}
		if known {
			before = last
		}
	}
	records := append(b.waits[is.agent], r.Span)
	delete(b.waits, is.agent)
	if before >= 0 && is.kind == typeAssistant && is.message != "" && s.Entries[before].Said.Role == coding.Assistant && s.Entries[before].Own.(string) == is.message {
		e := &s.Entries[before]
		e.Records = append(e.Records, records...)
		e.Said.Calls = append(e.Said.Calls, is.said.Calls...)
		if e.Said.Words == "" || len(e.Said.Calls) == 0 && e.Said.Words[0] == '(' {
			e.Said.Words = is.said.Words
		}
		b.called(before, &is.said)
		return before
	}
	i := len(s.Entries)
	e := coding.Entry{ID: is.id, At: is.at, Said: is.said, Meta: b.shared, File: s.Spot.File, Records: records, Own: is.message}
	for n := 2; e.ID == "" || b.taken[e.ID]; n++ {
		e.ID = fmt.Sprintf("%s~%d", is.id, n)
	}
	b.taken[e.ID] = true
	if before >= 0 {
		e.Parent = s.Entries[before].ID
	}
	switch is.kind {
	case typeCompaction:
		e.Event, e.Context = "compaction", []int{i}
	case typeCleared:
		e.Event, e.Context = "cleared", []int{i}
	case typeFail:
		e.Event, e.Marks = "error", model.MarkError
	}
	if is.agent != "" {
		e.Facts.Add("sub-agent", is.agent)
	}
	s.Entries = append(s.Entries, e)
	b.called(i, &is.said)
	return i
}

func (b *build) called(at int, said *coding.Said) {
	for _, c := range said.Calls {
		b.calls[c.ID] = at
	}
}

// Calls implements coding.Caller.
func (f *format) Calls(s *coding.Session, e *coding.Entry) []model.Resume {
	if s.Head >= 0 && s.Entries[s.Head].ID == e.ID {
		return []model.Resume{{Call: "copilot --resume=" + s.Spot.ID, Then: "goes on from here"}}
	}
	return nil
}
