// Package kimi reads the sessions of Kimi Code.
//
//	~/.kimi-code/sessions/wd_PROJECT/session_ID/state.json                     the folder, and a title
//	~/.kimi-code/sessions/wd_PROJECT/session_ID/agents/main/wire.jsonl         the conversation
//	~/.kimi-code/sessions/wd_PROJECT/session_ID/agents/agent-N/wire.jsonl      a sub-agent
//
// A line is an event, and session.go has how events become a tree. The rules follow agent-core-v2 in 2.1.0, and
// were checked by running it.
package kimi

import (
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
	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Kimi Code. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	wireFile, stateFile  = "wire.jsonl", "state.json"
	agentsDir, mainAgent = "agents", "main"
	prefix               = "session_"
)

var moved = chat.Moved{Variable: "KIMI_CODE_HOME", Below: "sessions"}

var agent = &chat.Agent{
	Name: "kimi", Framework: "Kimi Code", IDs: "Kimi Code named the message, or the line",
	Roots: []string{"sessions", "."}, Home: "kimi",
	Inner:  func(dir string, _ tree.Tree) int { return storageAbove(filepath.ToSlash(dir)) },
	Shape:  "wd_PROJECT/session_ID/agents/main/wire.jsonl with events of Kimi Code",
	Noun:   "a session of Kimi Code",
	Traces: []string{`"type":"metadata","protocol_version"`, `"type":"context.append_`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format {
		return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "time"}}}
	},
	Levels: []watch.Level{{}, {}, {Name: agentsDir}, {}},
	Places: moved.Places(".kimi-code/sessions"),
	Moved:  moved,
	Passes: "Kimi Code cuts the file off before the line, and keeps a copy of it",
}

// storageAbove returns how far above a folder the storage is, by the names that Kimi Code gives.
func storageAbove(dir string) int {
	return chat.StorageAbove(dir, func(name string) bool { return strings.HasPrefix(name, "wd_") })
}

// signOf identifies a file by its beginning: it has events of Kimi Code, with messages and parts that are read.
func signOf(head []byte) chat.Sign {
	return chat.SignOf(head, "message.content, or a part of an answer", func(v chat.Value) (fits bool, body chat.Body) {
		switch kind := v.Get("type").Text(); kind {
		case typeMessage:
			return true, chat.BodyOf(v, v.Get("message", "content"))
		case typeLoop, typeCompaction:
			return true, chat.ReadBody
		case "metadata": // kimi-cli, which came before, notes no time
			return v.Get("created_at").There(), chat.NoBody
		default:
			return known()[kind], chat.NoBody
		}
	})
}

// format implements chat.Forker, chat.Caller, chat.Requester, chat.Plain and chat.Carrier.
type format struct{ lines chat.Lines[record] }

// Spots implements chat.Format. A file of another name counts in the opened folder alone.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	if _, err := in.List("."); err != nil {
		return nil, err
	}
	for _, pattern := range []string{"*.jsonl", "*/*/" + agentsDir + "/*/" + wireFile} {
		for _, file := range chat.Match(in, pattern) {
			list = append(list, f.Spot(file))
		}
	}
	return list, ctx.Err()
}

// Spot implements chat.Format. A sub-agent's id begins with that of its session.
func (f *format) Spot(file string) chat.Spot {
	at := chat.Spot{File: file, ID: strings.TrimSuffix(path.Base(file), ".jsonl")}
	dir := path.Dir(file)
	if session := path.Dir(path.Dir(dir)); path.Base(path.Dir(dir)) == agentsDir && session != "." {
		at.ID, at.Project, at.More = path.Base(session), path.Base(path.Dir(session)), []string{tree.Join(session, stateFile)}
		if name := path.Base(dir); name != mainAgent {
			at.ID, at.More = at.ID+"/"+name, nil
		}
	}
	return at
}

// isAgent reports whether a session is that of a sub-agent.
func isAgent(at chat.Spot) bool { return strings.Contains(at.ID, "/") }

// stateOf returns the folder and the title in the state of a session, "" for none. Kimi Code calls a session by the
// last prompt until it has a name.
func stateOf(in engine.In, at chat.Spot) (dir, title string) {
	if len(at.More) == 0 {
		return "", ""
	}
	dir, title, _ = strings.Cut(chat.AskHead(in, at.More[0], "state", func(head []byte) string {
		v := chat.ParseHead(head)
		if v.Get("titleKind").Text() == "replaceable" {
			return v.Get("cwd").Text()
		}
		return v.Get("cwd").Text() + "\n" + v.Get("title").Words()
	}), "\n")
	return dir, chat.StoredTitle(title)
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	dir, title := stateOf(in, at)
	read := func(lines [][]byte) (said chat.Opening) {
		for _, line := range lines {
			if said.HasPrompt() {
				break
			}
			if r := recordOf(chat.ParseHead(line)); r.kind == typeMessage && r.messageEvent() == "" {
				said.Say(r.said)
			} else {
				dir = cmp.Or(dir, r.meta.Dir)
			}
		}
		return said
	}
	enough := func(head [][]byte) bool {
		said := read(head)
		return said.HasPrompt()
	}
	err = chat.EndLines(in.Tree, at.File, enough, func(head, _ [][]byte) {
		said := read(head)
		g.Title, g.Project = cmp.Or(title, said.Title()), dir
	})
	return g, err
}

// Types of events that change what the model reads, and other types that are read.
const (
	typeMessage, typeLoop       = "context.append_message", "context.append_loop_event"
	typeCompaction, typeClear   = "context.apply_compaction", "context.clear"
	typeUndo, typeUndone        = "context.undo", "context.undone"
	typeSwitch                  = "agent.switched"
	typeRequest, typeTools      = "llm.request", "llm.tools_snapshot"
	typeProfile, typeConfig     = "profile.bind", "config.update"
	typeSpawned, typeMode       = "subagent.spawned", "permission.set_mode"
	stepPart, stepCall          = "content.part", "tool.call"
	stepResult, stepEnd, stepOn = "tool.result", "step.end", "step.begin"
)

// known are the types of events that are read, or that carry no conversation, or carry again what others have.
var known = sync.OnceValue(func() map[string]bool {
	return knownTypes(`metadata context.append_message context.append_loop_event context.apply_compaction context.clear context.undo context.undone
	agent.switched agent.message.appended agent.turn.started agent.turn.ended llm.request llm.tools_snapshot profile.bind config.update permission.set_mode
	runtime.set_binding turn.prompt turn.steer turn.ended turn.cancel plugin.session_start usage.record token_counting.measured token_counting.rebased
	token_counting.truncated token_counting.turn_recorded prompt.completed prompt.aborted prompt.queued prompt.started prompt.steered prompt.submitted
	full_compaction.begin full_compaction.cancel full_compaction.complete subagent.spawned subagent.started subagent.completed subagent.failed
	subagent.cancelled subagent.suspended file_history.checkpoint file_history.tracked forked goal.create goal.update goal.clear plan_mode.enter
	plan_mode.exit plan_mode.cancel plan.revision permission.record_approval_result permission.rules.add skill.activated task.started task.terminated
	task.notified tools.set_active_tools tools.update_store interaction.request interaction.resolved interruptionReminder.recorded hook.result
	mcp.tools_discovered cron.add cron.delete cron.cursor cron.fired`)
})

func knownTypes(words string) map[string]bool {
	list := map[string]bool{}
	for _, word := range strings.Fields(words) {
		list[word] = true
	}
	return list
}

// record holds the parts of an event that are kept.
type record struct {
	kind, id, step, call string
	at                   time.Time
	said                 chat.Said
	origin, owner        string // what a message comes from, and the prompt that an injection belongs to
	typed, anchor        bool   // a person typed the message, and an undo goes back to before it
	empty                bool   // of a part: it says nothing
	count                int    // how many prompts are undone, or how many messages a compaction keeps
	head                 int    // how many of these are from the beginning
	line, legacy         int    // the last line before a branch, and the line of the undo that says the same
	tail                 bool   // an old compaction keeps all behind the first count messages
	child                string // the sub-agent that a call started
	hash                 string // of the tools that a request has, or of a list of tools
	meta                 chat.Meta
	facts                model.Facts
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
	r = record{kind: v.Get("type").Text(), at: v.Get("time").Milliseconds()}
	number := func(key string) int { return int(v.Get(key).Number()) }
	event := v.Get("event")
	switch r.kind {
	case typeMessage:
		m := v.Get("message")
		origin := m.Get("origin")
		r.id, r.origin, r.owner = m.Get("id").Text(), origin.Get("kind").Text(), origin.Get("ownerPromptId").Text()
		slash := (r.origin == "skill_activation" || r.origin == "plugin_command") && origin.Get("trigger").Text() == "user-slash"
		r.typed = m.Get("role").Text() == "user" && (r.origin == "" || r.origin == "user" || slash)
		r.anchor = r.typed && !origin.Get("inTurn").True()
		if r.origin == "system_trigger" && origin.Get("name").Text() == "subagent" {
			r.origin = "" // the task of a sub-agent
		}
	case typeLoop:
		r.kind, r.id, r.call = event.Get("type").Text(), event.Get("uuid").Text(), event.Get("toolCallId").Text()
		r.step = cmp.Or(event.Get("stepUuid").Text(), r.id)
		part := event.Get("part")
		r.empty = r.kind == stepPart && strings.TrimSpace(part.Get("text").Text()+part.Get("think").Text()+part.Get("encrypted").Text()) == "" &&
			(part.Get("text").There() || part.Get("think").There())
	case typeCompaction:
		kept := v.Get("keptUserMessageCount")
		r.count, r.head, r.tail = int(kept.Number()), number("keptHeadUserMessageCount"), v.Get("legacyTail").True() || !kept.There()
		if r.tail {
			r.count = max(number("compactedCount"), number("count"))
		}
		for _, key := range []string{"tokensBefore", "tokensAfter"} {
			r.facts.Add(key, string(v.Get(key).Raw()))
		}
	case typeUndo:
		r.count = number("count")
	case typeSwitch:
		r.line, r.legacy = int(v.Get("base", "line").Number()), number("legacyUndoLine")
	case typeRequest:
		r.hash, r.meta.Model = v.Get("toolsHash").Text(), v.Get("model").Text()
	case typeTools:
		r.hash = v.Get("hash").Text()
	case typeProfile:
		r.meta.Dir = v.Get("environmentDisclosure", "cwd").Text()
	case typeConfig:
		r.meta.Dir = v.Get("cwd").Text()
	case typeMode:
		r.meta.Mode = v.Get("mode").Text()
	case typeSpawned:
		r.call, r.child = v.Get("parentToolCallId").Text(), v.Get("subagentId").Text()
	}
	if m, says := messageOf(v); says {
		r.said = m.Summarise()
	}
	return r
}

// messageEvent returns the event of a message: its origin tells whether a person typed it.
func (r *record) messageEvent() string {
	if r.said.Role == chat.User && r.origin != "" && !r.typed {
		return chat.EventContext
	}
	return ""
}

// messageOf returns the message of an event, or its part of an answer; false of an event without one.
func messageOf(v chat.Value) (m chat.Message, says bool) {
	m.Raw = [][]byte{v.Raw()}
	event := v.Get("event")
	switch v.Get("type").Text() {
	case typeMessage:
		is := v.Get("message")
		m.Role = chat.RoleOf(is.Get("role").Text())
		if m.Role == chat.Tool {
			m.Blocks = []chat.Block{{Kind: conversation.ToolResult, ID: is.Get("toolCallId").Text(), Body: is.Get("content").Raw(), Failed: is.Get("isError").True()}}
			return m, true
		}
		for part := range is.Get("content").Each() {
			m.Blocks = append(m.Blocks, blockOf(part))
		}
		for call := range is.Get("toolCalls").Each() {
			m.Blocks = append(m.Blocks, callOf(call.Get("id"), call.Get("name"), call.Get("arguments")))
		}
		return m, true
	case typeCompaction:
		m.Role = chat.User
		text := v.Get("contextSummary")
		if !text.There() {
			text = v.Get("summary")
		}
		if text.Kind() == jsontape.Object { // of the first versions
			for part := range text.Get("content").Each() {
				m.Blocks = append(m.Blocks, blockOf(part))
			}
			return m, true
		}
		m.Blocks = []chat.Block{chat.TextBlock(text.Raw())}
		return m, text.There()
	case typeLoop:
		switch m.Role = chat.Assistant; event.Get("type").Text() {
		case stepPart:
			m.Blocks = []chat.Block{blockOf(event.Get("part"))}
		case stepCall:
			m.Blocks = []chat.Block{callOf(event.Get("toolCallId"), event.Get("name"), event.Get("args"))}
		case stepResult:
			result := event.Get("result")
			m.Role = chat.Tool
			m.Blocks = []chat.Block{{Kind: conversation.ToolResult, ID: event.Get("toolCallId").Text(), Body: outputOf(result), Failed: result.Get("isError").True()}}
		case stepEnd:
			m.Usage = usageOf(event.Get("usage"))
		default:
			return m, false
		}
		return m, true
	}
	return m, false
}

// outputOf returns the output of a tool, with the note to the model that stands beside it.
func outputOf(result chat.Value) []byte {
	output, note := result.Get("output"), result.Get("note")
	if output.Kind() != jsontape.String || note.Kind() != jsontape.String {
		return output.Raw()
	}
	return slices.Concat([]byte(`[{"text":`), output.Raw(), []byte(`},{"text":`), note.Raw(), []byte(`}]`))
}

// blockOf returns the block of a part of a content.
func blockOf(part chat.Value) chat.Block {
	switch text, think := part.Get("text"), part.Get("think"); {
	case text.Kind() == jsontape.String:
		return chat.TextBlock(text.Raw())
	case think.Kind() == jsontape.String:
		return chat.Block{Kind: conversation.Reasoning, Body: think.Raw()}
	}
	return chat.Block{Kind: conversation.Unknown, Body: part.Raw()}
}

// callOf returns the block of a call of a tool, whose input may be JSON in a string.
func callOf(id, name, input chat.Value) chat.Block {
	return chat.Block{Kind: conversation.ToolCall, ID: id.Text(), Name: name.Text(), Body: input.UnwrapJSON()}
}

// usageOf returns the tokens of an answer. The input counts what a cache had.
func usageOf(v chat.Value) (u conversation.Usage) {
	u.CacheRead, u.CacheWrite = v.Get("inputCacheRead").Number(), v.Get("inputCacheCreation").Number()
	u.Input, u.Output = v.Get("inputOther").Number()+u.CacheRead+u.CacheWrite, v.Get("output").Number()
	u.Counted = v.There()
	return u
}

// Messages implements chat.Format: the events of a step are joined.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	records, err := chat.Values(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	var m chat.Message
	for i, v := range records {
		part, _ := messageOf(v)
		if i == 0 {
			m = part
			continue
		}
		m.Blocks, m.Raw = append(m.Blocks, part.Blocks...), append(m.Raw, part.Raw...)
		if part.Usage.Counted {
			m.Usage = part.Usage
		}
	}
	if m.Role == chat.Assistant && e.Meta != nil {
		m.Model = e.Meta.Model
	}
	return []chat.Message{m}, nil
}

// Sources implements chat.Plain.
func (f *format) Sources(_ engine.In, at chat.Spot) []string { return []string{at.File} }

// Adds implements chat.Plain.
func (f *format) Adds(*chat.Entry) int { return 1 }

// Request implements chat.Requester: the events before an answer have the system prompt, the tools and settings.
func (f *format) Request(_ context.Context, in engine.In, _ *chat.Session, answer *chat.Entry) (r request.Request, err error) {
	from := answer.Own.(*own).sent
	if from == nil {
		return r, nil
	}
	list, err := chat.Values(in.Tree, answer.File, from)
	if err != nil {
		return r, err
	}
	for _, v := range list {
		r.Put("system", v.Get("systemPrompt").Raw())
		r.Put("tools", v.Get("tools").Raw())
		for _, key := range []string{"model", "maxTokens", "thinkingEffort"} {
			if v.Get("type").Text() == typeRequest {
				r.Put(key, v.Get(key).Raw())
			}
		}
	}
	return r, nil
}

// ReadCarried implements chat.Carrier. Other events repeat a message, or are all that is left of one.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		return v.Get("type").Text(), []chat.Value{v}
	})
}
