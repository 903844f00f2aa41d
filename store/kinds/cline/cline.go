// Package cline reads the sessions of Cline: of its command and SDK, and the tasks of its extension for VS Code and of
// the extensions made from that, Roo Code and Kilo Code.
//
//	~/.cline/data/sessions/ID/ID.json              the manifest: folder, model, title
//	~/.cline/data/sessions/ID/ID.messages.json     {"messages": […], "system_prompt": …}, written anew as it grows
//	~/.cline/data/sessions/ID/ID.compaction.json   the messages that are sent in place of the first ones
//	~/.cline/data/sessions/ID/AGENT.messages.json  of a sub-agent
//	globalStorage/EXTENSION/tasks/ID/api_conversation_history.json   […], of the extension
//	globalStorage/EXTENSION/tasks/ID/ui_messages.json                as it was shown: times and costs, and all that is left without the file before
//	globalStorage/EXTENSION/tasks/ID/history_item.json               title and folder, of Roo Code
//	globalStorage/EXTENSION/state/taskHistory.json                   the tasks that Cline's extension lists
//
// A session is a chain. Cline cuts a task where it is restored, and the command begins another session then. The format
// is defined by messages-contract-v1.md and session-manifest.ts of cline/cline; the command of 3.0.65 wrote the sessions
// of the tests. Its sessions.db has the manifests as rows, and for a sub-agent its prompt and times: nothing more is said
// there. Roo Code hides messages behind a summary or a marker (condense and context-management of RooCodeInc/Roo-Code,
// cb836567); Kilo Code, before it was made anew from opencode, keeps the same files.
//
//	cline.go    where sessions are, and what the list shows of one
//	message.go  a message
//	fork.go     the messages up to one as a new session
package cline

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Cline. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	messagesEnd, historyFile   = ".messages.json", "api_conversation_history.json"
	shownFile, itemFile        = "ui_messages.json", "history_item.json"
	tasksFolder, listFile      = "tasks", "state/taskHistory.json"
	compactionEnd, manifestEnd = ".compaction.json", ".json"
)

var agent = &chat.Agent{
	Name: "cline", Framework: "Cline", IDs: "Cline's id of the message, or its place among them",
	Roots: []string{".", "data/sessions", "sessions"}, Home: "cline",
	Inner:  storageAbove,
	Shape:  "ID/ID.messages.json or tasks/ID/api_conversation_history.json with messages",
	Noun:   "a session of Cline",
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format { return &format{} },
	Levels: []watch.Level{{}, {}, {}},
	Places: func(around store.Surroundings) []string {
		list := chat.Places(around, "CLINE_SESSION_DATA_DIR", ".cline/data/sessions")
		if data := around.FolderOf("CLINE_DATA_DIR"); data != "" && around.FolderOf("CLINE_SESSION_DATA_DIR") == "" {
			list = []string{filepath.Join(data, "sessions")}
		}
		return append(list, chat.ConfigPlaces(around, "*/User/globalStorage/*/"+tasksFolder)...)
	},
	Moved:  chat.Moved{Variable: "CLINE_SESSION_DATA_DIR"},
	Passes: "Cline does not open the session",
}

// signOf identifies a file by its beginning: a list of messages, or an object with one.
func signOf(head []byte) chat.Sign {
	whole := chat.ParseHead(bytes.TrimSpace(head))
	list, sign := whole, chat.Sign{}
	if whole.Kind() == jsontape.Object {
		list = whole.Get("messages")
		sign.Fits = whole.Get("sessionId").There() && list.Kind() == jsontape.Array
	}
	for v := range list.Each() {
		if is := v.Get("type").Text(); v.Get("ts").Kind() == jsontape.Number && (is == "say" || is == "ask") {
			return chat.Sign{Fits: v.Get(is).Kind() == jsontape.String}
		}
		role := v.Get("role").Text()
		if role != "user" && role != "assistant" {
			return chat.Sign{}
		}
		return chat.Sign{Fits: true, Misses: map[bool]string{true: "content"}[chat.BodyOf(v, v.Get("content")) == chat.ForeignBody]}
	}
	return sign
}

// storageAbove returns how far above a folder the storage is.
func storageAbove(dir string, t tree.Tree) int {
	has := func(file string) bool {
		at, err := t.Stamp(file)
		return err == nil && at.Kind != files.Nothing
	}
	ofTask := has(historyFile) || has(shownFile)
	switch {
	case has(filepath.Base(dir) + messagesEnd):
		return 1
	case ofTask && filepath.Base(filepath.Dir(dir)) == tasksFolder:
		return 2
	case ofTask:
		return 1
	case filepath.Base(dir) == tasksFolder:
		return 1
	}
	return 0
}

// format implements chat.Forker, chat.Caller, chat.Requester, chat.Carrier and chat.Several.
type format struct{}

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	if _, err := in.List("."); err != nil {
		return nil, err
	}
	tasks := map[string]bool{}
	for i, pattern := range []string{"*/*" + messagesEnd, tasksFolder + "/*/*.json", "*/*.json"} {
		if i == 2 && len(list) > 0 { // the last is for copies of tasks
			break
		}
		for _, file := range chat.Match(in, pattern) {
			at := f.Spot(file)
			if i > 0 && (!isTask(at) || tasks[at.ID]) { // by their names the messages come before what was shown
				continue
			}
			tasks[at.ID], list = i > 0, append(list, at)
		}
	}
	return list, ctx.Err()
}

// ReadOpened implements chat.Several.
func (f *format) ReadOpened(_ context.Context, in engine.In, file string) ([]chat.Spot, error) {
	usual := strings.HasSuffix(file, messagesEnd) || path.Base(file) == historyFile || path.Base(file) == shownFile
	if !usual || !chat.HeadTells(in, file, "cline", func(head []byte) bool { return signOf(head).Read() }) {
		return nil, nil
	}
	return []chat.Spot{f.Spot(file)}, nil
}

// Spot implements chat.Format.
func (f *format) Spot(file string) chat.Spot {
	dir, base := path.Dir(file), path.Base(file)
	at := chat.Spot{File: file, ID: strings.TrimSuffix(base, messagesEnd), Named: true}
	switch {
	case base == historyFile:
		at.ID, at.More = path.Base(dir), []string{path.Join(dir, itemFile), path.Join(dir, shownFile)}
	case base == shownFile:
		at.ID, at.More = path.Base(dir), []string{path.Join(dir, itemFile)}
	case path.Base(dir) == at.ID || dir == ".":
		stem := strings.TrimSuffix(file, messagesEnd)
		at.More = []string{stem + manifestEnd, stem + compactionEnd}
	default:
		at.ID = path.Base(dir) + "/" + at.ID
	}
	return at
}

// isTask reports whether a session is a task of the extension.
func isTask(at chat.Spot) bool { return path.Base(at.File) == historyFile || isShown(at) }

// isShown reports whether the messages of a task are gone, and ui_messages.json is left.
func isShown(at chat.Spot) bool { return path.Base(at.File) == shownFile }

// messageIn returns the message of a record of a session, the first one or another.
func messageIn(at chat.Spot, v chat.Value, first bool) chat.Message {
	if isShown(at) {
		return shownMessage(v, first)
	}
	return messageOf(v)
}

// readManifest returns the manifest of a session of the command, no value for another.
func readManifest(in engine.In, at chat.Spot) chat.Value {
	if isTask(at) || len(at.More) == 0 {
		return chat.Value{}
	}
	return chat.ReadJSON(in, at.More[0])
}

// enough is how much of a document is read for its first message, in bytes.
const enough = 32 << 10

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	about := readManifest(in, at)
	g.Project, g.Title = about.Get("cwd").Text(), titleOf(about)
	head, err := tree.Head(in.Tree, at.File, enough)
	if err != nil || g.Title != "" {
		return g, err
	}
	var said chat.Opening
	first := true
	for v := range messagesOf(chat.ParseHead(head)).Each() {
		if m := messageIn(at, v, first); !said.HasPrompt() {
			said.Say(m.Summarise())
		}
		first = false
	}
	g.Title = said.Title()
	return g, nil
}

// titleOf returns the title in a manifest.
func titleOf(about chat.Value) string { return chat.StoredTitle(about.Get("metadata", "title").Text()) }

// messagesOf returns the list of messages of a document.
func messagesOf(whole chat.Value) chat.Value {
	if list := whole.Get("messages"); list.There() {
		return list
	}
	return whole
}

// Codes of faults.
const (
	// FaultTorn: a document ends in its middle.
	FaultTorn = "torn-document"
	// FaultUnlisted: the extension does not list a task.
	FaultUnlisted = "unlisted-task"
)

// Read implements chat.Format.
func (f *format) Read(_ context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	whole, torn, err := chat.ReadDocument(in, at.File)
	if err != nil {
		return nil, err
	}
	about := readManifest(in, at)
	s := &chat.Session{Spot: at, Head: -1, Title: titleOf(about), Project: about.Get("cwd").Text()}
	if torn != nil {
		s.Fault(FaultTorn, model.Loses, "", "the file ends in its middle, or is no JSON: "+torn.Error(), agent.Passes)
	}
	meta := &chat.Meta{Dir: s.Project, Version: about.Get("metadata", "sessionHistoryOrigin", "version").Text(), Mode: about.Get("metadata", "mode").Text()}
	from := cmp.Or(about.Get("metadata", "fork", "forkedFromSessionId").Text(), about.Get("metadata", "restoredFromSessionId").Text())
	var agents map[string][]string
	times, hiddenBy, sum := map[int]time.Time{}, map[int]string{}, model.Counted{Dollars: about.Get("metadata", "aggregateUsage", "totalCost").Number()}
	if isTask(at) {
		times, sum = f.readTask(in, s)
	}
	if isShown(at) {
		s.Fault(chat.FaultShown, model.Loses, "", historyFile+" is gone, and with it what the model was sent: this is what the extension showed", "the extension shows the task, and cannot go on with it")
	}
	compaction, compacted := readCompaction(in, at)
	compact := func() { // the model reads it in place of all before
		if n := len(s.Entries); n > 0 && n == compacted {
			compaction.Context = []int{n}
			s.Head = s.Add(compaction, s.Head)
		}
	}
	for v := range messagesOf(whole).Each() {
		if !jsontape.Valid(v.Raw()) { // it is where the file ends
			break
		}
		compact()
		n := len(s.Entries)
		m := messageIn(at, v, n == 0)
		if isShown(at) && len(m.Blocks) == 0 {
			continue
		}
		meta = meta.With(chat.Meta{Model: m.Model})
		e := chat.Entry{
			ID: cmp.Or(v.Get("id").Text(), strconv.Itoa(n+1)), At: chat.FirstTime(v.Get("ts")),
			Said: m.Summarise(), Meta: meta, File: at.File, Records: []chat.Span{v.Span()},
		}
		if e.At.IsZero() {
			e.At = times[n]
		}
		switch id := v.Get("truncationId").Text(); {
		case v.Get("isSummary").True():
			e.Event, e.Context = "compaction", []int{n}
		case v.Get("isTruncationMarker").True():
			sent := slices.DeleteFunc(slices.Clone(s.Reads(s.Head)), func(i int) bool { return id != "" && hiddenBy[i] == id })
			e.Event, e.Context = "truncation", append(sent, n)
		}
		hiddenBy[n] = v.Get("truncationParent").Text()
		s.Head = s.Add(e, s.Head)
		for _, b := range m.Blocks {
			if b.Kind != conversation.ToolCall || b.Name != "spawn_agent" {
				continue
			}
			if agents == nil {
				agents = f.listAgents(in, path.Base(path.Dir(at.File)), from)
			}
			input, _ := chat.Parse(b.Body) // without it the call has no task
			if task := input.Get("task").Text(); len(agents[task]) > 0 {
				s.Entries[n].Starts(agents[task][0])
				agents[task] = agents[task][1:]
			}
		}
	}
	compact()
	if s.Head >= 0 {
		facts := &s.Entries[s.Head].Facts
		facts.Add("forked from", from)
		facts.Count(sum)
	}
	return s, nil
}

// listAgents returns the sub-agents in the folders of sessions by the words that their conversations begin with, which are
// the task of the call: Cline names none. A fork has those of the session that it comes from.
func (f *format) listAgents(in engine.In, sessions ...string) map[string][]string {
	began := map[string][]string{}
	for _, session := range sessions {
		for _, file := range chat.Match(in, session+"/agent_*"+messagesEnd) {
			head, _ := tree.Head(in.Tree, file, enough) // without it the sub-agent is not linked
			for v := range messagesOf(chat.ParseHead(head)).Each() {
				if m := messageOf(v); len(m.Blocks) > 0 {
					words := jsontape.Unquote(m.Blocks[0].Body)
					began[words] = append(began[words], f.Spot(file).ID)
				}
				break
			}
		}
	}
	return began
}

// readCompaction returns the messages that are sent in place of the first of a session, and of how many, 0 without any.
func readCompaction(in engine.In, at chat.Spot) (e chat.Entry, count int) {
	if isTask(at) || len(at.More) == 0 {
		return e, 0
	}
	whole, torn, err := chat.ReadDocument(in, at.More[1])
	if err != nil || torn != nil {
		return e, 0
	}
	e = chat.Entry{ID: "compaction", Event: "compaction", File: at.More[1]}
	for v := range whole.Get("messages").Each() {
		if m := messageOf(v); len(e.Records) == 0 {
			e.Said = m.Summarise()
		}
		e.Records = append(e.Records, v.Span())
	}
	return e, int(whole.Get("source_message_count").Number())
}

// readTask reads the files beside a task of the extension. It returns the times of messages by their places, and the sum of
// the requests.
func (f *format) readTask(in engine.In, s *chat.Session) (times map[int]time.Time, sum model.Counted) {
	times = map[int]time.Time{}
	ui, _, _ := chat.ReadDocument(in, path.Join(path.Dir(s.Spot.File), shownFile)) // without it there are no times
	for v := range ui.Each() {
		n := v.Get("conversationHistoryIndex")
		if at := int(n.Number()); n.Kind() == jsontape.Number && times[at].IsZero() {
			times[at] = v.Get("ts").Time()
		}
		if v.Get("say").Text() == "api_req_started" {
			cost, _ := chat.Parse([]byte(v.Get("text").Text())) // without it nothing is counted
			sum.Read += cost.Get("tokensIn").Number()
			sum.Written += cost.Get("tokensOut").Number()
			sum.Dollars += cost.Get("cost").Number()
		}
	}
	item := chat.ReadJSON(in, s.Spot.More[0])
	list, _, err := chat.ReadDocument(in, listFile)
	for v := range list.Each() {
		if v.Get("id").Text() == s.Spot.ID {
			item = v
		}
	}
	s.Title = chat.StoredTitle(item.Get("task").Text())
	s.Project = cmp.Or(item.Get("workspace").Text(), item.Get("cwdOnTaskInitialization").Text())
	if err != nil || item.There() {
		return times, sum
	}
	s.Fault(FaultUnlisted, model.Loses, "", "the task is not in "+listFile, "the extension does not list the task; it is in its folder all the same")
	return times, sum
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, func(v chat.Value) chat.Message { return messageIn(s.Spot, v, e == &s.Entries[0]) })
}

// Request implements chat.Requester: the system prompt stands beside the messages.
func (f *format) Request(_ context.Context, in engine.In, s *chat.Session, e *chat.Entry) (r request.Request, err error) {
	if e.Said.Role != chat.Assistant || isTask(s.Spot) || s.At(e.Parent) < 0 {
		return r, nil
	}
	whole, _, err := chat.ReadDocument(in, s.Spot.File)
	if err != nil {
		return r, err
	}
	var messages [][]byte
	for _, i := range s.Reads(s.At(e.Parent)) {
		list, err := f.Messages(in, s, &s.Entries[i])
		if err != nil {
			return r, err
		}
		for _, m := range list {
			sent := chat.Message{Role: m.Role, Blocks: m.Blocks}
			messages = append(messages, sent.AppendJSON(nil))
		}
	}
	r.Put("system", whole.Get("system_prompt").Raw())
	return r.With(messages), nil
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || isTask(s.Spot) || strings.Contains(s.Spot.ID, "/") {
		return nil
	}
	return []model.Resume{{Call: s.Command(s.Project, "cline", "--id", s.Spot.ID), Then: "goes on from here"}}
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(_ context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	whole, _, err := chat.ReadDocument(in, s.Spot.File)
	n := 0
	for v := range messagesOf(whole).Each() {
		if n++; !jsontape.Valid(v.Raw()) { // the fault of the file tells
			break
		}
		said := v.Get("content")
		if isShown(s.Spot) && !isSilent(v.Get("say").Text()) {
			said = v
		}
		if c, says := chat.CarriedOf(s.Spot.File, fmt.Sprintf("message %d", n), v.Get("role").Text(), said); says {
			list = append(list, c)
		}
	}
	return list, err
}
