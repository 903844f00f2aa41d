// Package pi reads the sessions of pi, and of oh-my-pi, which kept its format.
//
//	~/.pi/agent/sessions/--PROJECT--/TIME_ID.jsonl
//	~/.omp/agent/sessions/PROJECT/TIME_ID.jsonl          oh-my-pi
//	~/.openclaw/agents/AGENT/sessions/ID.jsonl           OpenClaw, which embeds pi
//	~/.openclaw/agents/AGENT/sessions/sessions.json      its keys, each with the id of a session
//
// OpenClaw sets files aside: ID.jsonl.deleted.TIME, ID.jsonl.reset.TIME, ID.jsonl.bak, ID.checkpoint.ID.jsonl. They are
// sessions of their own here, called by their names.
//
// The first line that says so is the header, and each other line an entry that names its
// parent. Where the last line stands the session goes on, whatever that line is. Version 1 had
// no ids: there each line follows the one before. The format is described in pi's own
// docs/session-format.md; it was checked against 0.74.2 and 1.6.0.
package pi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// Kind describes the sessions of pi. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

var agent = &chat.Agent{
	NoIndex: true,
	Name:    "pi", Framework: "pi", IDs: "pi named the entry; of version 1, its line",
	Roots: []string{".", "agent/sessions", "sessions"}, Home: "pi",
	Inner:  inner,
	Shape:  "--PROJECT--/TIME_ID.jsonl with the header of a session",
	Noun:   "a pi session",
	Traces: []string{`"type":"session"`, `"type": "session"`},
	Signs:  func(_ chat.Spot, head []byte) chat.Sign { return signOf(head) },
	Format: func(string) chat.Format { return newFormat() },
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string {
		if settings := around.FolderOf("PI_CODING_AGENT_DIR"); settings != "" && around.FolderOf("PI_CODING_AGENT_SESSION_DIR") == "" {
			return []string{filepath.Join(settings, "sessions")}
		}
		return chat.Places(around, "PI_CODING_AGENT_SESSION_DIR", ".pi/agent/sessions")
	},
	Others: func(around store.Surroundings) []string {
		list := chat.Places(around, "", ".omp/agent/sessions")
		for _, dir := range chat.Places(around, "OPENCLAW_STATE_DIR", ".openclaw") {
			list = append(list, filepath.Join(dir, "agents", "*", "sessions"))
		}
		return list
	},
	Passes: "pi passes the line over",
}

// inner reports how far above the folder of a project the storage is.
func inner(dir string, _ tree.Tree) int {
	if strings.HasPrefix(filepath.Base(dir), "--") {
		return 1
	}
	return 0
}

// signOf identifies a file by its beginning: one of the first lines is the header of a session, and entries
// with text have types that pi writes.
func signOf(head []byte) chat.Sign {
	if !headerOf(head).Get("cwd").There() {
		return chat.Sign{}
	}
	return chat.SignOf(head, "a message of pi's", func(v chat.Value) (fits bool, body chat.Body) {
		switch v.Get("type").Text() {
		case typeMessage:
			return true, chat.BodyOf(v, v.Get("message", "content"), v.Get("message", "command"), v.Get("message", "summary"))
		case typeCustomMessage, typeCompaction, typeBranch:
			return true, chat.ReadBody
		case typeHeader, typeTitle, typeModel, typeThinking, typeLabel, typeName, typeCustom:
			return true, chat.NoBody
		}
		return true, chat.BodyOf(v)
	})
}

// headerOf returns the one of the first lines that is the header of a session, or none. The last
// line may be cut.
func headerOf(head []byte) chat.Value {
	for range 3 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if v := chat.ParseHead(line); v.Get("type").Text() == typeHeader {
			return v
		}
		head = rest
	}
	return chat.Value{}
}

// ID implements chat.Identifier: pi finds a session by the id in the header, whatever its file
// is called.
func (f *format) ID(in engine.In, at chat.Spot) string {
	const enough = 4 << 10
	head, err := tree.Head(in.Tree, at.File, enough)
	if err != nil {
		return ""
	}
	id := headerOf(head).Get("id").Text()
	if !chat.IsPlainID(id) {
		return ""
	}
	return id
}

// format implements chat.Forker and chat.Identifier.
type format struct{ lines chat.Lines[record] }

func newFormat() *format {
	return &format{chat.Lines[record]{Decode: decodeLine, Members: []string{"type", "timestamp"}}}
}

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, 1, func(file string) (chat.Spot, bool) {
		return f.Spot(file), strings.HasSuffix(file, ".jsonl") || isSetAside(file)
	})
}

// isSetAside reports whether OpenClaw took a session out of use: deleted it, began it anew, or kept a copy.
func isSetAside(file string) bool {
	name := path.Base(file)
	return slices.ContainsFunc([]string{".jsonl.deleted", ".jsonl.reset", ".jsonl.bak"}, func(mark string) bool { return strings.Contains(name, mark) }) ||
		strings.Contains(name, ".checkpoint.") && strings.HasSuffix(name, ".jsonl")
}

// keyOf returns the key by which OpenClaw calls a session, "" if it has none.
func keyOf(in engine.In, at chat.Spot) string {
	if strings.Contains(at.File, "/") { // it is in the folder of a project of pi's
		return ""
	}
	const most = 4 << 20
	text, err := tree.Head(in.Tree, "sessions.json", most)
	if err != nil || isSetAside(at.File) {
		return ""
	}
	v, _ := chat.Parse(text) // a damaged index has no key
	for session := range v.Each() {
		if session.Get("sessionId").Text() == at.ID {
			return session.Key()
		}
	}
	return ""
}

// Spot implements chat.Format. The id is behind the time, where pi named the file.
func (f *format) Spot(file string) chat.Spot {
	if isSetAside(file) {
		return chat.Spot{File: file, ID: strings.ReplaceAll(path.Base(file), ".jsonl", ""), Named: true}
	}
	name := strings.TrimSuffix(path.Base(file), ".jsonl")
	if _, id, ok := strings.Cut(name, "_"); ok && id != "" {
		name = id
	}
	project := strings.Trim(path.Base(path.Dir(file)), "-.")
	return chat.Spot{File: file, ID: name, Project: project}
}

// record holds the parts of a line that are kept.
type record struct {
	kind       string
	id, parent string
	at         time.Time
	// text is the summary of a compaction or of a branch, a label, a name; of a header the
	// session that it was forked from.
	text string
	said chat.Said
	meta chat.Meta
	// stop is why an answer ended, and why says more of it. ran is the command that the person ran with !.
	stop, why, ran string
	// first is the first entry that a compaction keeps, in version 1 by its number index, and
	// target what a label is on.
	first, target string
	index         int
}

// Types of lines.
const (
	typeHeader, typeTitle          = "session", "title"
	typeMessage, typeCustomMessage = "message", "custom_message"
	typeModel, typeThinking        = "model_change", "thinking_level_change"
	typeCompaction, typeBranch     = "compaction", "branch_summary"
	typeLabel, typeName            = "label", "session_info"
	typeCustom                     = "custom"
)

const roleBash = "bashExecution"

// Why an answer is not whole.
const stopError, stopAborted = "error", "aborted"

// decodeLine keeps what is named here of a line.
func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err != nil {
		return err
	}
	text := func(key string) string { return v.Get(key).Text() }
	r.kind, r.id, r.parent, r.at = text("type"), text("id"), text("parentId"), v.Get("timestamp").Time()
	switch r.kind {
	case typeHeader:
		r.meta.Dir, r.meta.Model, r.text = text("cwd"), text("modelId"), cmp.Or(text("parentSession"), text("branchedFrom"))
		if version := v.Get("version"); version.There() {
			r.meta.Version = string(version.Raw())
		}
	case typeModel:
		r.meta.Model = text("modelId")
	case typeThinking:
		r.meta.Mode = text("thinkingLevel")
	case typeMessage, typeCustomMessage, typeCompaction, typeBranch:
		m := messageOf(v)
		r.said, r.meta.Model, r.first = m.Summarise(), m.Model, text("firstKeptEntryId")
		switch body := bodyOf(v); {
		case m.Role == chat.Assistant:
			r.stop, r.why = body.Get("stopReason").Text(), body.Get("errorMessage").Words()
		case body.Get("role").Text() == roleBash:
			r.ran = "! " + body.Get("command").Words()
			if code := body.Get("exitCode").Number(); code != 0 {
				r.ran += model.BeforeOutcome + "exit " + strconv.FormatFloat(code, 'f', -1, 64)
			}
		}
		r.index = int(min(max(v.Get("firstKeptEntryIndex").Number(), 0), 1<<30))
	case typeLabel:
		r.target, r.text = text("targetId"), text("label")
	case typeName:
		r.text = text("name")
	case typeTitle:
		r.text = text("title")
	}
	return nil
}

// roles maps the roles of pi's messages. Other messages go to the model as the user's words: commands that the
// user ran, and the texts of extensions and summaries.
// The role roleBash is that of a command that the person ran with !, and of what it wrote.
var roles = map[string]chat.Role{"assistant": chat.Assistant, "toolResult": chat.Tool, "system": chat.System}

// messageOf returns the message of a line.
func messageOf(line chat.Value) (m chat.Message) {
	m = saidIn(line)
	m.Usage = bodyOf(line).Usage()
	return m
}

// bodyOf returns where a line has its message: in the line itself that of an extension, and a summary.
func bodyOf(line chat.Value) chat.Value {
	if v := line.Get("message"); v.There() {
		return v
	}
	return line
}

// saidIn returns the message of a line without its usage.
func saidIn(line chat.Value) (m chat.Message) {
	m.Raw = [][]byte{line.Raw()}
	v := bodyOf(line)
	role, known := roles[v.Get("role").Text()]
	if m.Role = role; !known {
		m.Role = chat.User
	}
	m.ID, m.Model = v.Get("responseId").Text(), v.Get("model").Text()
	content := v.Get("content")
	switch {
	case m.Role == chat.Tool:
		m.Blocks = []chat.Block{{
			Kind: conversation.ToolResult, ID: v.Get("toolCallId").Text(), Name: v.Get("toolName").Text(),
			Body: content.Raw(), Failed: v.Get("isError").True(),
		}}
	case content.Kind() == jsontape.Array:
		for block := range content.Each() {
			m.Blocks = append(m.Blocks, blockOf(block))
		}
	case content.There() && content.Text() == "" && v.Get("sections").There():
		// The system prompt of pi 1.6 is the text of its sections.
		for section := range v.Get("sections").Each() {
			m.Blocks = append(m.Blocks, chat.TextBlock(section.Raw()))
		}
	case content.There():
		m.Blocks = []chat.Block{chat.TextBlock(content.Raw())}
	default:
		for _, key := range []string{"command", "summary", "output"} {
			if body := v.Get(key); body.There() {
				m.Blocks = append(m.Blocks, chat.TextBlock(body.Raw()))
			}
		}
	}
	if why := v.Get("errorMessage"); why.Text() != "" {
		m.Blocks = append(m.Blocks, chat.FailureBlock(why.Raw()))
	}
	return m
}

func blockOf(v chat.Value) chat.Block {
	switch v.Get("type").Text() {
	case "text":
		return chat.TextBlock(v.Get("text").Raw())
	case "thinking":
		return chat.Block{Kind: conversation.Reasoning, Body: v.Get("thinking").Raw()}
	case "toolCall":
		return chat.Block{Kind: conversation.ToolCall, ID: v.Get("id").Text(), Name: v.Get("name").Text(), Body: v.Get("arguments").Raw()}
	}
	return chat.Block{Kind: conversation.Unknown, Body: v.Raw()}
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	return chat.MessagesIn(in, e, messageOf)
}

// Glance implements chat.Format: the first words of the user are near the beginning.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	var said chat.Opening
	lines, err := chat.HeadLines(in.Tree, at.File)
	for i := 0; i < len(lines) && g.Title == "" && !said.HasPrompt(); i++ {
		v := chat.ParseHead(lines[i])
		switch v.Get("type").Text() {
		case typeHeader:
			g.Project = v.Get("cwd").Text()
		case typeTitle:
			g.Title = v.Get("title").Text()
		case typeMessage:
			m := messageOf(v)
			said.Say(m.Summarise())
		}
	}
	g.Title = cmp.Or(g.Title, said.Title())
	return g, err
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	t := treeOf(file)
	t.key = keyOf(in, at)
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: t}
	b := build{session: s, tree: t, entry: make([]int, len(t.up)), meta: make([]*chat.Meta, len(t.up)), shared: &chat.Meta{}}
	b.readRecords()
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, b.unknown)...)
	if file.Size > 0 && t.header < 0 {
		s.Fault(FaultHeader, model.Stops, "", "no line is the header of a session", "pi does not list the session")
	}
	if t.header >= 0 && !isThere(in, file.Records[t.header].Is.text) {
		s.Fault(FaultSource, model.Note, "", "the session that it was forked from is not in the storage", "pi opens it all the same: it has all of its messages")
	}
	return s, nil
}

const (
	// FaultHeader: no line is the header of a session.
	FaultHeader = "no-header"
	// FaultSource: the session that it was forked from is not there.
	FaultSource = "missing-source"
)

// isThere reports whether the session file of a path is in the storage, wherever that was
// when the path was written: the last two names tell. "" is no file that could be missing.
func isThere(in engine.In, file string) bool {
	parts := strings.FieldsFunc(file, func(c rune) bool { return c == '/' || c == '\\' })
	if len(parts) < 2 {
		return file == ""
	}
	name := path.Join(parts[len(parts)-2:]...)
	if !filepath.IsLocal(name) || !fs.ValidPath(name) {
		return false
	}
	at, err := in.Stamp(name)
	return err == nil && at.Kind != files.Nothing
}

// tree is which line follows which. A line of the ids that several have is the last of them, which
// is not in a damaged line if another one is.
type sessionTree struct {
	// key is the key by which OpenClaw calls the session, or "".
	key  string
	file *chat.File[record]
	// up is the line before each on its path, as chat.NewLineage takes it.
	up   []int
	line *chat.Lineage
	byID map[string]int
	// header is the line of the header, or -1.
	header int
	// labels are the labels on messages.
	labels []model.Label
}

// treeOf returns the tree of a file: each line names the one before it; of version 1 that is
// the one that stands before it.
func treeOf(file *chat.File[record]) *sessionTree {
	t := &sessionTree{file: file, up: make([]int, len(file.Records)), byID: make(map[string]int, len(file.Records)), header: -1}
	for i := range file.Records {
		switch is := &file.Records[i].Is; {
		case is.kind == typeHeader && t.header < 0:
			t.header = i
		case is.id != "" && is.inTree():
			if at, known := t.byID[is.id]; !known || file.Finds(at, i) {
				t.byID[is.id] = i
			}
		}
	}
	last := -1
	for i := range file.Records {
		t.up[i] = -1
		is := &file.Records[i].Is
		if !is.inTree() {
			continue
		}
		if is.id == "" {
			t.up[i] = last
		} else if before, known := t.byID[is.parent]; known && before != i && file.Finds(i, before) {
			t.up[i] = before
		} else if is.parent != "" {
			t.up[i] = chat.Missing
		}
		if !file.Records[i].Salvaged {
			last = i
		}
	}
	t.line = chat.NewLineage(t.up, func(i int) bool { return file.Records[i].Is.isEntry() })
	return t
}

// inTree reports whether a line is on a path.
func (r *record) inTree() bool { return r.kind != typeHeader && r.kind != typeTitle }

// isEntry reports whether the model reads what a line says.
func (r *record) isEntry() bool {
	switch r.kind {
	case typeMessage, typeCustomMessage, typeCompaction, typeBranch:
		return true
	}
	return false
}

// build makes a session of the lines of a tree.
type build struct {
	session *chat.Session
	tree    *sessionTree
	// entry has the entry of each line that is one, and ids those of all.
	entry []int
	ids   chat.IDs
	// meta holds the model and settings that apply from each line on. shared is the header's.
	meta    []*chat.Meta
	shared  *chat.Meta
	unknown map[string]int
	// kept counts the lines that compactions keep, see chat.MostKept.
	kept int
}

func (b *build) readRecords() {
	s, records := b.session, b.tree.file.Records
	last := -1
	for i := range records {
		is := &records[i].Is
		b.meta[i] = b.shared
		if up := b.tree.up[i]; up >= 0 && up < i {
			b.meta[i] = b.meta[up]
		}
		b.meta[i] = b.meta[i].With(is.meta)
		switch is.kind {
		case typeHeader, typeTitle:
			b.shared = b.meta[i]
			continue
		case typeName:
			s.Title = is.text
		case typeMessage, typeCustomMessage, typeCompaction, typeBranch:
			b.entry[i] = len(s.Entries)
			s.Entries = append(s.Entries, b.entryOf(i))
		case typeModel, typeThinking, typeCustom, typeLabel:
		default:
			if b.unknown == nil {
				b.unknown = map[string]int{}
			}
			b.unknown[is.kind]++
		}
		if !records[i].Salvaged {
			last = i
		}
	}
	if h := b.tree.header; h >= 0 {
		s.Project = records[h].Is.meta.Dir
	}
	for i := range records {
		if is := &records[i].Is; is.kind == typeTitle && s.Title == "" {
			s.Title = is.text
		}
	}
	b.joinLines()
	if last >= 0 && b.tree.line.Message(last) >= 0 {
		s.Head = b.entry[b.tree.line.Message(last)]
	}
	b.tree.line.MarkBroken(s, b.entry)
}

// joinLines sets the facts that depend on several lines: parents, the messages that a compaction keeps,
// labels, and when and how a branch was left.
func (b *build) joinLines() {
	s, t := b.session, b.tree
	b.noteLabels()
	for i := range t.up {
		r := &t.file.Records[i].Is
		if !r.isEntry() {
			continue
		}
		e := &s.Entries[b.entry[i]]
		before, end := t.line.Before(i)
		switch {
		case before >= 0:
			e.Parent = s.Entries[b.entry[before]].ID
		case t.up[end] == chat.Missing:
			e.Parent = t.file.Records[end].Is.parent
		}
		if before < 0 && t.header >= 0 {
			e.Facts.Add("forked from", t.file.Records[t.header].Is.text)
		}
		if r.kind == typeCompaction {
			b.addCompaction(i)
		}
	}
	s.SkipUnsent()
	t.line.MarkLeft(s, b.entry, func(i int) (time.Time, bool) {
		r := &t.file.Records[i]
		return r.Is.at, r.Is.inTree() && !r.Salvaged
	})
	b.noteSummaries()
}

// noteSummaries tells the messages of a branch what pi wrote about it as it was left: a summary stands
// behind the last of them in the file.
func (b *build) noteSummaries() {
	s, t := b.session, b.tree
	wrote, last := map[*model.Reason]string{}, -1
	for i := range t.file.Records {
		r := &t.file.Records[i]
		if !r.Is.inTree() || r.Salvaged {
			continue
		}
		if r.Is.kind == typeBranch && last >= 0 {
			if why := s.Entries[b.entry[last]].Reason; why != nil && why.At.Equal(r.Is.at) {
				wrote[why] = r.Is.said.Words
			}
		}
		last = t.line.Message(i)
	}
	for i := range s.Entries {
		if summary, is := wrote[s.Entries[i].Reason]; is {
			s.Entries[i].Facts.Add("summary when it was left", summary)
		}
	}
}

// noteLabels notes the labels at the messages that they are on, or behind. pi lets the last label of a
// line count, and takes it away where that is empty.
func (b *build) noteLabels() {
	t, last := b.tree, map[int]int{}
	for i := range t.file.Records {
		r := &t.file.Records[i]
		if target, known := t.byID[r.Is.target]; r.Is.kind == typeLabel && known && !r.Salvaged {
			last[target] = i
		}
	}
	for _, i := range slices.Sorted(maps.Values(last)) {
		r := &t.file.Records[i].Is
		if m := t.line.Message(t.byID[r.target]); m >= 0 && r.text != "" {
			e := &b.session.Entries[b.entry[m]]
			e.Facts.Add("label", r.text)
			t.labels = append(t.labels, model.Label{ID: e.ID, Name: r.text, Note: "set in pi", At: r.at})
		}
	}
}

// Labels implements chat.Labeler.
func (f *format) Labels(s *chat.Session) []model.Label {
	if t, ok := s.Own.(*sessionTree); ok {
		return t.labels
	}
	return nil
}

// entryOf returns the entry of a line, without its parent.
func (b *build) entryOf(i int) chat.Entry {
	r := &b.tree.file.Records[i]
	id := r.Is.id
	if b.tree.byID[id] != i {
		id = ""
	}
	e := chat.Entry{ID: b.ids.Take(r.Name(id)), At: r.Is.at, Said: r.Is.said, Meta: b.meta[i], File: b.session.Spot.File, Records: []chat.Span{r.Span}}
	if r.Salvaged {
		e.Reason = chat.PassedOver
	}
	// pi leaves such an answer out when it asks the model: transform-messages.ts of pi-ai.
	if stop := r.Is.stop; stop == stopError || stop == stopAborted {
		e.Unsent = true
		if len(e.Said.Calls) == 0 {
			e.Title = conversation.FailedTurn(e.Said.Words, cmp.Or(r.Is.why, stop))
		}
		if stop == stopError {
			e.Marks |= model.MarkError
		}
	}
	switch {
	case r.Is.ran != "":
		e.Event, e.Title = chat.EventCommand, r.Is.ran
	case r.Is.kind == typeCompaction:
		e.Event = "compaction"
	case r.Is.kind == typeBranch:
		e.Event = "branch summary"
	}
	return e
}

// addCompaction sets the messages that the model reads after a compaction: its summary, then the messages from the
// first kept line on, which need not be a message. Earlier messages stay in the file; the model does not read
// summaries of older compactions again.
func (b *build) addCompaction(i int) {
	t, r, kept := b.tree, &b.tree.file.Records[i].Is, []int(nil)
	context := []int{b.entry[i]}
	first, known := t.byID[r.first]
	if r.index > 0 && r.index < len(t.up) {
		first, known = r.index, true
	}
	for at := t.up[i]; known && at >= 0 && at != i && b.kept < chat.MostKept; at = t.up[at] {
		b.kept++
		if is := &t.file.Records[at].Is; is.isEntry() && is.kind != typeCompaction {
			kept = append(kept, b.entry[at])
		}
		if at == first {
			slices.Reverse(kept)
			context = append(context, kept...)
			break
		}
	}
	b.session.Entries[b.entry[i]].Context = b.session.SentEntries(context)
}

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID7(as) }

// Fork implements chat.Forker: a new file with the header for the new id, which names the
// file that it comes from, and the lines on the way to the entry, as they are.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	t := c.Session.Own.(*sessionTree)
	if t.header < 0 {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "the file has no header of a session: pi would not open the new one"}
	}
	way := t.line.Way(t.file.At(c.To.Records[0].At))
	if first := way[0]; t.up[first] >= 0 { // pi walks the path until it has no more memory
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: fmt.Sprintf("line %d, on the way there, follows itself: pi would not open the session", t.file.Records[first].Number)}
	}
	return f.copyLines(c, way)
}

// Join implements chat.Joiner.
func (f *format) Join(c chat.Cut, entries []*chat.Entry) (*chat.Fork, error) {
	t := c.Session.Own.(*sessionTree)
	return f.copyLines(c, t.line.Pieces(t.file.RecordsOf(entries)))
}

// copyLines returns a new session of lines, each behind the one before it.
func (f *format) copyLines(c chat.Cut, lines []int) (*chat.Fork, error) {
	s, t, now := c.Session, c.Session.Own.(*sessionTree), c.In.Now.UTC()
	keep := []chat.Span{t.file.Records[t.header].Span}
	for _, i := range lines {
		keep = append(keep, t.file.Records[i].Span)
	}
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, keep)
	if err != nil {
		return nil, err
	}
	at := now.Format(chat.Milliseconds)
	raw[0], err = chat.WithTexts(raw[0], [2]string{"id", c.ID}, [2]string{"timestamp", at}, [2]string{"parentSession", absolutePath(c.Dir, s.Spot.File)})
	if err != nil {
		return nil, err
	}
	for k, i := range lines {
		parent := chat.Nothing
		if k > 0 {
			parent = t.file.Records[lines[k-1]].Is.id
		}
		if k > 0 && t.up[i] == lines[k-1] || k == 0 && t.up[i] < 0 || parent == "" {
			continue // it follows that line as it is
		}
		if raw[k+1], err = chat.WithTexts(raw[k+1], [2]string{"parentId", parent}); err != nil {
			return nil, err
		}
	}
	data := append(bytes.Join(raw, []byte("\n")), '\n')
	name := tree.Join(path.Dir(s.Spot.File), fileName(at, c.ID))
	return &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: a new header and %s of the path, as they are", name, model.Count(len(keep)-1, "line"))},
		Calls:  resumeCalls(s, f.Spot(name), "goes on from there in the new session"),
	}, nil
}

// FindRepeats implements chat.Editor. No text is written twice.
func (f *format) FindRepeats(_ chat.Role, _, _ chat.Value, _ func(place string, text chat.Value)) {}

// absolutePath returns the path of a file of a storage as pi writes it: absolute, but in a bucket.
func absolutePath(dir, file string) string {
	name := filepath.Join(dir, filepath.FromSlash(file))
	if at, err := filepath.Abs(name); err == nil && !strings.Contains(dir, "://") {
		return at
	}
	return name
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	switch t := s.Own.(*sessionTree); {
	case !s.IsHead(e):
		return nil
	case t.key != "":
		return []model.Resume{{Call: s.Command("", "openclaw", "chat", "--session", t.key), Then: "goes on from here"}}
	}
	return resumeCalls(s, s.Spot, "goes on from here")
}

// resumeCalls returns the call that resumes the session at a spot of the storage of s: by its id, or by
// its file where pi does not look for it.
func resumeCalls(s *chat.Session, at chat.Spot, then string) []model.Resume {
	name := at.ID
	if dir := s.ForeignDir(); dir != "" {
		name = filepath.Join(dir, filepath.FromSlash(at.File))
	}
	return []model.Resume{{Call: s.Command("", "pi", "--session", name), Then: then}}
}

// Sources implements chat.Plain.
func (f *format) Sources(_ engine.In, at chat.Spot) []string { return []string{at.File} }

// Adds implements chat.Plain.
func (f *format) Adds(e *chat.Entry) int { return len(e.Records) }

// TellLine implements chat.LineTeller. The settings of a session stand in other lines than its messages.
func (f *format) TellLine(_ chat.Spot, line *chat.Line, _ chat.Near) (list []chat.Message, when time.Time, tells chat.Telling) {
	v, err := line.Parse()
	if err != nil {
		return nil, when, chat.Unsure
	}
	switch r := (&record{kind: v.Get("type").Text()}); {
	case r.isEntry():
		return []chat.Message{saidIn(v)}, v.Get("timestamp").Time(), chat.Speaks
	case r.kind == typeHeader, r.kind == typeModel, r.kind == typeThinking:
		return []chat.Message{{Blocks: []chat.Block{{Body: v.Raw()}}}}, when, chat.Sets
	}
	return nil, when, chat.Silent
}

// Composes implements chat.LineTeller.
func (f *format) Composes() string { return "" }

// ReadCarried implements chat.Carrier. The other types that are known are bookkeeping: the model, a
// label, the state of an extension.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) ([]chat.Carried, error) {
	return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
		kind := v.Get("type").Text()
		switch kind {
		case typeHeader, typeTitle, typeModel, typeThinking, typeLabel, typeName, typeCustom:
			return "", nil
		}
		return kind, []chat.Value{v}
	})
}
