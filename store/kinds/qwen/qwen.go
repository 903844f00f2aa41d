// Package qwen reads the sessions of Qwen Code.
//
//	~/.qwen/projects/PROJECT/chats/SESSION.jsonl
//	~/.qwen/projects/PROJECT/chats/archive/SESSION.jsonl
//	~/.qwen/projects/PROJECT/subagents/SESSION/agent-ID.jsonl, agent-ID.meta.json
//
// A line is a record that names the one before it, whatever the two are. The session goes on from the last
// line, and has the records on the way there:
//
//	user ◂── system ◂── assistant ◂── tool_result ◂── tool_result ◂── assistant
//	 └◂── system rewind ◂── user ◂── …                   back to before the prompt
//	         system chat_compression ◂── user ◂── …      the messages in it take the place of all before
//
// Records of one uuid are parts of one message. A record that names no parent, of a tool that converts sessions, follows the one
// before it. The rules follow sessionService and transcript-records in
// 0.24.4, and were checked by running it.
package qwen

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Qwen Code. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	projects, chats, archive, subagents = "projects", "chats", "archive", "subagents"

	suffix, metaSuffix = ".jsonl", ".meta.json"
)

var agent = &chat.Agent{
	Name: "qwen", Framework: "Qwen Code", IDs: "the uuid of the record",
	Roots: []string{projects, "."}, Home: "qwen",
	Inner:  storageAbove,
	Shape:  "PROJECT/chats/SESSION.jsonl with records of Qwen Code",
	Noun:   "a session of Qwen Code",
	Traces: []string{`"provenance":"real_user"`, `"parts":[`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format { return newFormat() },
	Levels: []watch.Level{{}, {}, {}},
	Places: func(around store.Surroundings) []string {
		for _, variable := range []string{runtimeDir, "QWEN_HOME"} {
			if dir := around.FolderOf(variable); dir != "" {
				return []string{filepath.Join(dir, projects)}
			}
		}
		return chat.Places(around, "", ".qwen/"+projects)
	},
	Moved:  chat.Moved{Variable: runtimeDir, Below: projects},
	Passes: "Qwen Code takes the records that stand whole at its beginning",
}

// runtimeDir names the folder of the projects; settings and logins stay where they are.
const runtimeDir = "QWEN_RUNTIME_DIR"

// storageAbove returns how far above the folder of a project, or of its chats, the storage is.
func storageAbove(dir string, t tree.Tree) int {
	if filepath.Base(dir) == chats {
		return 2
	}
	if names, err := t.List(chats); err == nil && len(names) > 0 {
		return 1
	}
	return 0
}

// signOf identifies a file by its beginning: records name their session, and messages have parts.
func signOf(head []byte) chat.Sign {
	return chat.SignOf(head, "message.parts", func(v chat.Value) (fits bool, body chat.Body) {
		parts := v.Get("message", "parts")
		fits = v.Get("sessionId").There() && (v.Get("parentUuid").There() || parts.There()) && known()[v.Get("type").Text()]
		switch {
		case parts.There(), v.Get("systemPayload").There():
			return fits && !v.Get("message", "content").There(), chat.ReadBody
		case v.Get("type").Text() == typeSystem:
			return false, chat.NoBody // Claude Code writes such records, too
		}
		return fits, chat.BodyOf(v)
	})
}

// format implements chat.Forker, chat.Caller, chat.LineTeller and chat.Carrier.
type format struct{ lines chat.Lines[record] }

func newFormat() *format {
	return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"uuid", "sessionId", "type"}}}
}

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, 3, func(file string) (chat.Spot, bool) {
		_, project, held := placeOf(file)
		return f.Spot(file), held && !strings.Contains(project, "/") && strings.HasSuffix(file, suffix)
	})
}

// placeOf returns the session that started a sub-agent by the file of that, "" of others, and the folder of
// the project. held reports whether Qwen Code keeps sessions there, or it is the opened folder.
func placeOf(file string) (of, project string, held bool) {
	dir := path.Dir(file)
	above := path.Dir(dir)
	switch {
	case path.Base(above) == subagents:
		return path.Base(dir), path.Dir(above), true
	case path.Base(dir) == archive:
		return "", path.Dir(above), true
	case path.Base(dir) == chats:
		return "", above, true
	}
	return "", dir, dir == "."
}

// Spot implements chat.Format. A sub-agent's id begins with that of its session.
func (f *format) Spot(file string) chat.Spot {
	at := chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), suffix)}
	of, project, _ := placeOf(file)
	if of != "" {
		at.ID = of + "/" + at.ID
	}
	if project != "." {
		at.Project = path.Base(project)
	}
	return at
}

// isAgent reports whether a session is that of a sub-agent.
func isAgent(at chat.Spot) bool { return strings.Contains(at.ID, "/") }

// record holds the parts of a line that are kept.
type record struct {
	kind, id, parent, session string
	at                        time.Time
	said                      chat.Said
	// messages is how many messages the record has, and empty says that its message has no parts.
	messages int
	empty    bool
	event    string
	unsent   bool // it is on the screen alone
	title    string
	chained  bool   // it names no parent, not even null
	source   string // the session that Qwen Code copied the record from
	failed   string // why a request failed
	meta     chat.Meta
	facts    model.Facts
}

// Types of records, and the subtypes that are read.
const (
	typeUser, typeAssistant = "user", "assistant"
	typeResult, typeSystem  = "tool_result", "system"

	compression, bootstrap, command = typeSystem + "/chat_compression", typeSystem + "/agent_bootstrap", typeSystem + "/slash_command"
	rewind, title, telemetry        = typeSystem + "/rewind", typeSystem + "/custom_title", typeSystem + "/ui_telemetry"
)

// known are the records whose texts are read, or which carry no conversation.
var known = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		typeUser: true, typeAssistant: true, typeResult: true, typeSystem: true,
		compression: true, bootstrap: true, command: true, rewind: true, title: true, telemetry: true,
		"system/at_command": true, "system/attribution_snapshot": true, "system/background_task_completed": true, "system/parent_session": true,
		"system/agent_launch_prompt": true, "system/agent_retry": true, "system/agent_session_ready": true, "system/file_history_snapshot": true,
		"system/session_source": true, "system/session_model": true, "system/session_sources_snapshot": true, "system/branch_checkpoint": true,
		"system/goal_state": true, "system/goal_runtime": true, "system/goal_turn_end": true, "system/turn_result": true,
		"system/user_text_elements": true, "system/session_artifact_event": true, "system/session_artifact_snapshot": true,
	}
})

// aside are the records that Qwen Code takes for no part of the conversation.
var aside = map[string]bool{"system/session_sources_snapshot": true, "system/session_artifact_event": true, "system/session_artifact_snapshot": true}

// kindOf returns the type of a record, with its subtype if it is the system's.
func kindOf(v chat.Value) string {
	kind := v.Get("type").Text()
	if kind == typeSystem {
		kind += "/" + v.Get("subtype").Text()
	}
	return kind
}

// decodeLine reads a line into its record.
func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err == nil {
		*r = recordOf(v)
	}
	return err
}

func recordOf(v chat.Value) (r record) {
	text := func(key string) string { return v.Get(key).Text() }
	r = record{kind: kindOf(v), id: text("uuid"), parent: text("parentUuid"), session: text("sessionId"), at: v.Get("timestamp").Time(), chained: !v.Get("parentUuid").There(), source: sourceOf(v)}
	r.meta = chat.Meta{Dir: text("cwd"), Branch: text("gitBranch"), Version: text("version"), Model: text("model")}
	payload := v.Get("systemPayload")
	list := messagesOf(v)
	if r.messages = len(list); r.messages > 0 {
		r.said, r.empty = list[0].Summarise(), len(list[0].Blocks) == 0
	}
	subtype := text("subtype")
	switch r.kind {
	case typeUser, typeAssistant, typeResult:
		r.unsent = subtype == "realtime_message"
		if subtype == "notification" {
			r.event = chat.EventContext
		}
	case compression:
		r.event = "compaction"
		info := payload.Get("info")
		r.facts.Add("compaction", info.Get("triggerReason").Words())
		for _, key := range []string{"originalTokenCount", "newTokenCount"} {
			r.facts.Add(key, string(info.Get(key).Raw()))
		}
	case bootstrap:
		r.event = chat.EventContext
	case command:
		r.event, r.unsent = chat.EventCommand, true
	case title:
		r.title = payload.Get("customTitle").Words()
	case telemetry:
		if is := payload.Get("uiEvent"); is.Get("event.name").Text() == "qwen-code.api_error" {
			r.failed = cmp.Or(is.Get("error_message").Words(), is.Get("error").Words(), "api_error")
		}
	}
	return r
}

// sourceOf returns the session that a record was copied from, "" if it is no copy.
func sourceOf(v chat.Value) string {
	if source := v.Get("forkedFrom", "sessionId").Text(); source != v.Get("sessionId").Text() {
		return source
	}
	return ""
}

// messagesOf returns the messages of a record: its own, the history of a compression, or a command with the
// texts that it showed.
func messagesOf(v chat.Value) (list []chat.Message) {
	payload := v.Get("systemPayload")
	switch kindOf(v) {
	case typeUser, typeAssistant, typeResult:
		m := contentOf(v.Get("message"))
		if v.Get("type").Text() == typeAssistant {
			m.Role, m.Model = chat.Assistant, v.Get("model").Text()
		}
		if sourceOf(v) == "" { // else that session has counted it
			m.Usage = usageOf(v.Get("usageMetadata"))
		}
		m.Raw = [][]byte{v.Raw()}
		if v.Get("toolCallResult", "status").Text() == "error" && len(m.Blocks) > 0 {
			m.Blocks[0].Failed = m.Blocks[0].Kind == conversation.ToolResult
		}
		return []chat.Message{m}
	case compression, bootstrap:
		for _, history := range []chat.Value{payload.Get("compressedHistory"), payload.Get("history")} {
			for content := range history.Each() {
				m := contentOf(content)
				m.Raw = [][]byte{content.Raw()}
				list = append(list, m)
			}
		}
	case command:
		if items := payload.Get("outputHistoryItems"); items.Kind() == jsontape.Array && payload.Get("rawCommand").There() {
			m := chat.Message{Role: chat.User, Blocks: []chat.Block{chat.TextBlock(payload.Get("rawCommand").Raw())}, Raw: [][]byte{v.Raw()}}
			for item := range items.Each() {
				if text := item.Get("text"); text.Kind() == jsontape.String {
					m.Blocks = append(m.Blocks, chat.TextBlock(text.Raw()))
				}
			}
			return []chat.Message{m}
		}
	}
	return list
}

// usageOf returns the tokens of an answer. The output has the thoughts, where the vendor counts them beside it.
func usageOf(v chat.Value) (u conversation.Usage) {
	u.Input, u.CacheRead = v.Get("promptTokenCount").Number(), v.Get("cachedContentTokenCount").Number()
	u.Output = max(v.Get("candidatesTokenCount").Number(), v.Get("totalTokenCount").Number()-u.Input)
	u.Counted = v.There()
	return u
}

// contentOf returns the message of a content of the Gemini API.
func contentOf(content chat.Value) (m chat.Message) {
	m.Role = chat.User
	if content.Get("role").Text() == "model" {
		m.Role = chat.Assistant
	}
	for part := range content.Get("parts").Each() {
		b := chat.PartBlock(part)
		if b.Kind == conversation.ToolResult {
			m.Role = chat.Tool
		}
		m.Blocks = append(m.Blocks, b)
	}
	return m
}

// Messages implements chat.Format: records of one message are joined.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	records, err := chat.Values(in.Tree, e.File, e.Records)
	for i, v := range records {
		more := messagesOf(v)
		if i == 0 || len(more) != 1 {
			list = append(list, more...)
			continue
		}
		m := &list[0]
		m.Blocks, m.Raw = append(m.Blocks, more[0].Blocks...), append(m.Raw, more[0].Raw...)
		if more[0].Usage.Counted {
			m.Usage = more[0].Usage
		}
	}
	return list, err
}

// Glance implements chat.Format: the first words of the user are near the beginning, the title near the end.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	read := func(lines [][]byte) (said chat.Opening, named, dir string) {
		for _, line := range lines {
			if said.HasPrompt() && !bytes.Contains(line, []byte("custom_title")) {
				continue
			}
			r := recordOf(chat.ParseHead(line))
			named, dir = cmp.Or(r.title, named), cmp.Or(dir, r.meta.Dir)
			if r.messages > 0 && (r.event == "" || r.event == chat.EventCommand) {
				said.Say(r.said)
			}
		}
		return said, named, dir
	}
	enough := func(head [][]byte) bool {
		said, _, _ := read(head)
		return said.HasPrompt()
	}
	err = chat.EndLines(in.Tree, at.File, enough, func(head, tail [][]byte) {
		said, named, dir := read(head)
		_, later, _ := read(tail)
		g.Title, g.Project = cmp.Or(later, named, taskOf(in, at).title, said.Title()), dir
	})
	return g, err
}

// task is the content of the .meta.json file of a sub-agent.
type task struct{ call, title string }

func taskOf(in engine.In, at chat.Spot) task {
	if !isAgent(at) {
		return task{}
	}
	call, name, _ := strings.Cut(chat.AskHead(in, strings.TrimSuffix(at.File, suffix)+metaSuffix, "task", func(head []byte) string {
		v := chat.ParseHead(head)
		return v.Get("toolUseId").Text() + "\n" + strings.TrimPrefix(v.Get("agentType").Words()+": "+v.Get("description").Words(), ": ")
	}), "\n")
	return task{call, strings.TrimSuffix(name, ": ")}
}

// Sources implements chat.Plain.
func (f *format) Sources(_ engine.In, at chat.Spot) []string { return []string{at.File} }

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int {
	n, _ := e.Own.(int)
	return n
}

// TellLine implements chat.LineTeller. A message of several records is known from the whole file.
func (f *format) TellLine(_ chat.Spot, line *chat.Line, near chat.Near) (list []chat.Message, when time.Time, tells chat.Telling) {
	v, err := line.Parse()
	if err != nil {
		return nil, when, chat.Unsure
	}
	list = messagesOf(v)
	_, again := near.Before(`"uuid":"` + v.Get("uuid").Text() + `"`)
	switch {
	case len(list) == 0:
		return nil, when, chat.Silent
	case again, len(list[0].Blocks) == 0, kindOf(v) == command:
		return nil, when, chat.Unsure
	}
	return list, v.Get("timestamp").Time(), chat.Speaks
}

// Composes implements chat.LineTeller.
func (f *format) Composes() string { return "" }

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		kind := kindOf(v)
		switch kind {
		case typeUser, typeAssistant, typeResult:
			return kind, []chat.Value{v.Get("message")}
		case compression, bootstrap:
			payload := v.Get("systemPayload")
			return kind, slices.Concat(slices.Collect(payload.Get("compressedHistory").Each()), slices.Collect(payload.Get("history").Each()))
		case command:
			return kind, slices.Collect(v.Get("systemPayload", "outputHistoryItems").Each())
		}
		if known()[kind] {
			return "", nil
		}
		return kind, []chat.Value{v}
	})
}
