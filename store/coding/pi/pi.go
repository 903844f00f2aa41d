// Package pi reads the sessions of pi, and of oh-my-pi, which kept its format.
//
//	~/.pi/agent/sessions/--PROJECT--/TIME_ID.jsonl
//
// The first line that says so is the header, and each other line an entry that names its
// parent. Where the last line stands the session goes on, whatever that line is. Version 1 had
// no ids: there each line follows the one before. The format is described in pi's own
// docs/session-format.md; it was checked against 0.74.2.
package pi

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"path/filepath"
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

// Kind describes the sessions of pi. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) store.Kind { return agent.Kind(cache) }

var agent = &coding.Agent{
	Name: "pi", Framework: "pi", IDs: "pi named the entry; of version 1, its line",
	Roots:  []string{".", "agent/sessions", "sessions", ".pi/agent/sessions"},
	Inner:  inner,
	Shape:  "--PROJECT--/TIME_ID.jsonl with the header of a session",
	Signs:  func(_ coding.Spot, head []byte) bool { return isHeader(head) },
	Format: func(string) coding.Format { return newFormat() },
	Levels: []watch.Level{{}},
	Places: func(around store.Surroundings) []string {
		return coding.Places(around, "PI_CODING_AGENT_SESSION_DIR", ".pi/agent/sessions")
	},
	Passes: "pi passes the line over",
}

// inner reports how far above the folder of a project the storage is.
func inner(dir string) int {
	if strings.HasPrefix(filepath.Base(dir), "--") {
		return 1
	}
	return 0
}

// isHeader reports whether one of the first lines is the header of a session.
func isHeader(head []byte) bool {
	for range 3 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if string(jsontape.FindMember(line, `"type"`)) == `"session"` && jsontape.FindMember(line, `"cwd"`) != nil {
			return true
		}
		head = rest
	}
	return false
}

// format implements coding.Forker.
type format struct{ lines coding.Lines[record] }

func newFormat() *format { return &format{coding.Lines[record]{Decode: decode}} }

// Spots implements coding.Format.
func (f *format) Spots(ctx context.Context, in folder.In) ([]coding.Spot, error) {
	return coding.Walk(ctx, in, 1, func(file string) (coding.Spot, bool) {
		return f.Spot(file), strings.HasSuffix(file, ".jsonl")
	})
}

// Spot implements coding.Format. The id is behind the time.
func (f *format) Spot(file string) coding.Spot {
	name := strings.TrimSuffix(path.Base(file), ".jsonl")
	if _, id, ok := strings.Cut(name, "_"); ok && id != "" {
		name = id
	}
	project := strings.Trim(path.Base(path.Dir(file)), "-.")
	return coding.Spot{File: file, ID: name, Project: project}
}

// record is what is kept of a line.
type record struct {
	kind       string
	id, parent string
	at         time.Time
	// text is the summary of a compaction or of a branch, a label, a name; of a header the
	// session that it was forked from.
	text string
	said coding.Said
	meta coding.Meta
	// first is the first entry that a compaction keeps, and target what a label is on.
	first, target string
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

// decode keeps what is named here of a line.
func decode(l *coding.Line) (r record, err error) {
	v, err := l.Parse()
	if err != nil {
		return r, err
	}
	text := func(key string) string { return v.Get(key).Text() }
	r.kind, r.id, r.parent, r.at = text("type"), text("id"), text("parentId"), v.Get("timestamp").Time()
	switch r.kind {
	case typeHeader:
		r.meta.Dir, r.meta.Model, r.text = text("cwd"), text("modelId"), text("parentSession")+text("branchedFrom")
		if version := v.Get("version"); version.There() {
			r.meta.Version = "format " + string(version.Raw())
		}
	case typeModel:
		r.meta.Model = text("modelId")
	case typeThinking:
		r.meta.Mode = "thinking " + text("thinkingLevel")
	case typeMessage, typeCustomMessage, typeCompaction, typeBranch:
		m := messageOf(v)
		r.said, r.meta.Model, r.first = m.Said(), m.Model, text("firstKeptEntryId")
	case typeLabel:
		r.target, r.text = text("targetId"), text("label")
	case typeName:
		r.text = text("name")
	case typeTitle:
		r.text = text("title")
	}
	return r, nil
}

// roles are those of pi's messages. Commands that the user ran, and what extensions and
// summaries say, are sent to the model as words of the user.
var roles = map[string]coding.Role{"assistant": coding.Assistant, "toolResult": coding.Tool, "system": coding.System}

// messageOf returns the message of a line.
func messageOf(line coding.Value) (m coding.Message) {
	m.Raw = [][]byte{line.Raw()}
	v := line.Get("message")
	if !v.There() {
		v = line // a message of an extension, a summary
	}
	role, known := roles[v.Get("role").Text()]
	if m.Role = role; !known {
		m.Role = coding.User
	}
	m.ID, m.Model, m.Usage = v.Get("responseId").Text(), v.Get("model").Text(), v.Usage()
	content := v.Get("content")
	switch {
	case m.Role == coding.Tool:
		m.Blocks = []coding.Block{{
			Kind: conversation.ToolResult, ID: v.Get("toolCallId").Text(), Name: v.Get("toolName").Text(),
			Body: content.Raw(), Failed: v.Get("isError").True(),
		}}
	case content.Kind() == jsontape.Array:
		for block := range content.Each() {
			m.Blocks = append(m.Blocks, blockOf(block))
		}
	case content.There():
		m.Blocks = []coding.Block{coding.TextBlock(content.Raw())}
	default:
		for _, key := range []string{"command", "summary", "output"} {
			if body := v.Get(key); body.There() {
				m.Blocks = append(m.Blocks, coding.TextBlock(body.Raw()))
			}
		}
	}
	return m
}

func blockOf(v coding.Value) coding.Block {
	switch v.Get("type").Text() {
	case "text":
		return coding.TextBlock(v.Get("text").Raw())
	case "thinking":
		return coding.Block{Kind: conversation.Reasoning, Body: v.Get("thinking").Raw()}
	case "toolCall":
		return coding.Block{Kind: conversation.ToolCall, ID: v.Get("id").Text(), Name: v.Get("name").Text(), Body: v.Get("arguments").Raw()}
	}
	return coding.Block{Kind: conversation.Unknown, Body: v.Raw()}
}

// Messages implements coding.Format.
func (f *format) Messages(in folder.In, s *coding.Session, e *coding.Entry) (list []coding.Message, err error) {
	raw, err := coding.Raw(in.Tree, e.File, e.Records)
	for i := 0; err == nil && i < len(raw); i++ {
		var v coding.Value
		if v, err = coding.Parse(raw[i]); err == nil {
			list = append(list, messageOf(v))
		}
	}
	return list, err
}

// Glance implements coding.Format: the first words of the user are near the beginning.
func (f *format) Glance(in folder.In, at coding.Spot) (g coding.Glance, err error) {
	lines, err := coding.HeadLines(in.Tree, at.File)
	for i := 0; i < len(lines) && g.Title == ""; i++ {
		v, err := coding.Parse(lines[i])
		if err != nil {
			continue
		}
		switch v.Get("type").Text() {
		case typeHeader:
			g.Project = v.Get("cwd").Text()
		case typeTitle:
			g.Title = v.Get("title").Text()
		case typeMessage:
			if m := messageOf(v); m.Role == coding.User {
				g.Title = m.Said().Words
			}
		}
	}
	return g, err
}

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &coding.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: file}
	b := build{session: s, last: -1, node: map[string]int{}, unknown: map[string]int{}}
	for i := range file.Records {
		b.add(&file.Records[i])
	}
	s.Head = b.last
	s.Faults = append(s.Faults, coding.UnknownFaults(at.File, b.unknown)...)
	if file.Size > 0 && b.header == "" {
		s.Faults = append(s.Faults, model.Fault{Code: FaultHeader, Severity: model.Stops, File: at.File, Meaning: "no line is the header of a session", Verdict: "pi does not list the session"})
	}
	return s, nil
}

// FaultHeader: no line is the header of a session.
const FaultHeader = "no-header"

// build makes a session of lines in turn.
type build struct {
	session *coding.Session
	header  string // the id
	// node has for each line with an id the entry that is the last on the way to it, -1 for
	// none; last is that of the last line.
	node    map[string]int
	last    int
	parents []int // of the entries
	meta    coding.Meta
	shared  *coding.Meta
	unknown map[string]int
}

// add adds a line. One that is no message stands for the message before it on its path.
func (b *build) add(r *coding.Record[record]) {
	s, is := b.session, &r.Is
	before := b.last // of version 1 each follows the one before
	if is.id != "" && is.kind != typeHeader && is.kind != typeTitle {
		before = -1
		if at, known := b.node[is.parent]; known {
			before = at
		}
	}
	b.learn(&is.meta)
	at := before
	switch is.kind {
	case typeHeader:
		b.header, s.Project = is.id, is.meta.Dir
		return
	case typeTitle:
		s.Title = is.text
		return
	case typeMessage, typeCustomMessage, typeCompaction, typeBranch:
		at = b.entry(r, before)
	case typeName:
		s.Title = is.text
	case typeLabel:
		if target, known := b.node[is.target]; known && target >= 0 {
			s.Entries[target].Facts.Add("label", is.text)
		}
	case typeModel, typeThinking, typeCustom:
	default:
		b.unknown[is.kind]++
	}
	if is.id != "" {
		b.node[is.id] = at
	}
	b.last = at
}

// learn notes what the session runs with from a line on.
func (b *build) learn(m *coding.Meta) {
	now := b.meta
	for _, change := range []struct {
		to   *string
		from string
	}{{&now.Model, m.Model}, {&now.Dir, m.Dir}, {&now.Mode, m.Mode}, {&now.Version, m.Version}} {
		if change.from != "" {
			*change.to = change.from
		}
	}
	if b.shared == nil || now != b.meta {
		b.meta = now
		b.shared = &now
	}
}

// entry adds the entry of a line and returns its position.
func (b *build) entry(r *coding.Record[record], before int) int {
	s, is := b.session, &r.Is
	i := len(s.Entries)
	e := coding.Entry{ID: is.id, At: is.at, Said: is.said, Meta: b.shared, File: s.Spot.File, Records: []coding.Span{r.Span}}
	if e.ID == "" {
		e.ID = fmt.Sprintf("line-%d", r.Number)
	}
	switch {
	case before >= 0:
		e.Parent = s.Entries[before].ID
	case is.parent != "":
		e.Parent = b.missing(is.parent)
	}
	switch is.kind {
	case typeCompaction:
		e.Event = "compaction"
	case typeBranch:
		e.Event = "branch summary"
	}
	s.Entries, b.parents = append(s.Entries, e), append(b.parents, before)
	if is.kind == typeCompaction {
		b.compact(i, before, is.first)
	}
	return i
}

// missing returns the parent that an entry names and the file does not have; "" where the
// file has it and no message is before it.
func (b *build) missing(id string) string {
	if _, known := b.node[id]; known {
		return ""
	}
	return id
}

// compact says what the model reads after a compaction: its summary, then the entries from
// the first that it keeps. Those before are still in the file.
func (b *build) compact(i, before int, first string) {
	s := b.session
	var path []int
	for at := before; at >= 0; at = b.parents[at] {
		path = append(path, at)
	}
	keeps := -1
	for k, at := range path {
		if s.Entries[at].ID == first {
			keeps = k
		}
	}
	s.Entries[i].Context = append(s.Entries[i].Context, i)
	for k := len(path) - 1; k >= 0; k-- {
		if k <= keeps {
			s.Entries[i].Context = append(s.Entries[i].Context, path[k])
		}
	}
}

// NewID implements coding.Forker.
func (f *format) NewID(as string) string { return coding.UUID7(as) }

// Fork implements coding.Forker: a new file with the header for the new id, which names the
// file that it comes from, and the lines on the way to the entry, as they are.
func (f *format) Fork(c coding.Cut) (*coding.Fork, error) {
	s, now := c.Session, c.In.Now.UTC()
	file := s.Own.(*coding.File[record])
	keep, header := f.way(file, c.To), -1
	for i := range file.Records {
		if file.Records[i].Is.kind == typeHeader {
			header = i
			break
		}
	}
	if header < 0 {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "the file has no header of a session: pi would not open the new one"}
	}
	raw, err := coding.Raw(c.In.Tree, s.Spot.File, append([]coding.Span{file.Records[header].Span}, keep...))
	if err != nil {
		return nil, err
	}
	t, err := jsontape.Parse(raw[0])
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	p.Put(0, "id", jsontape.AppendQuoted(nil, c.ID))
	p.Put(0, "timestamp", jsontape.AppendQuoted(nil, now.Format("2006-01-02T15:04:05.000Z")))
	p.Put(0, "parentSession", jsontape.AppendQuoted(nil, filepath.Join(c.Dir, filepath.FromSlash(s.Spot.File))))
	data := append(p.Bytes(), '\n')
	for _, line := range raw[1:] {
		data = append(append(data, line...), '\n')
	}
	name := folder.Join(path.Dir(s.Spot.File), now.Format("2006-01-02T15-04-05-000Z")+"_"+c.ID+".jsonl")
	return &coding.Fork{
		Spot:   f.Spot(name),
		Steps:  folder.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: a new header and %s of the path, as they are", name, model.Count(len(keep), "line"))},
		Calls:  []model.Resume{{Call: "pi --session " + c.ID, Then: "goes on from there in the new session"}},
	}, nil
}

// way returns the lines on the way to an entry: of version 1 all before it, else those that
// it names, those that are no messages among them.
func (f *format) way(file *coding.File[record], to *coding.Entry) (list []coding.Span) {
	at := map[string]*coding.Record[record]{}
	var last *coding.Record[record]
	for i := range file.Records {
		r := &file.Records[i]
		if r.Is.id != "" {
			at[r.Is.id] = r
		}
		if r.At == to.Records[0].At {
			last = r
		}
	}
	on := map[int64]bool{}
	for r := last; r != nil && !on[r.At]; r = at[r.Is.parent] {
		on[r.At] = true
	}
	for i := range file.Records {
		r := &file.Records[i]
		linear := last.Is.id == "" && r.At <= last.At && r.Is.kind != typeHeader && r.Is.kind != typeTitle
		if on[r.At] || linear {
			list = append(list, r.Span)
		}
	}
	return list
}

// Calls implements coding.Caller.
func (f *format) Calls(s *coding.Session, e *coding.Entry) []model.Resume {
	if s.Head >= 0 && s.Entries[s.Head].ID == e.ID {
		return []model.Resume{{Call: "pi --session " + s.Spot.ID, Then: "goes on from here"}}
	}
	return nil
}
