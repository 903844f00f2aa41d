// Package crush reads the sessions of crush.
//
//	PROJECT/.crush/crush.db    sessions, their messages, and the files that they wrote
//
// crush takes the closest such folder from the folder of work on up. Its option data_directory
// names another, which is opened by its name.
//
// The messages of a session follow each other by the second at which they were created, and then by row. A
// session with a parent is a sub-agent's. After a compaction the model reads the summary and the messages
// behind it. There is no other branch, and no way back: crush neither imports nor forks. The tables have the
// columns of the migrations 20250424200609 to 20250627000000 and later; queries leave out missing columns.
package crush

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// Kind describes the sessions of crush. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

// lacks says why nothing is written.
const lacks = "crush takes in no session from outside, and its database may be in use: it is only read"

var agent = &chat.Agent{
	Name: "crush", Framework: "crush", IDs: "crush named the message",
	Roots: []string{".", ".crush"},
	Local: true,
	Shape: "crush's tables sessions and messages",
	Format: func(dir string) chat.Format {
		return &format{chat.Databases{Dir: dir, Default: "crush.db", Tables: map[string]string{
			"sessions": "id title created_at",
			"messages": "id session_id role parts created_at",
		}}}
	},
	Tables: &engine.Tables{
		In: []string{"*.db", ".crush/*.db"}, NotBack: lacks,
		List: engine.ListRows([]engine.IDColumn{{Table: "sessions", Column: "id"}, {Table: "messages", Column: "session_id"}},
			engine.RowSet{Table: "goose_db_version", Where: "1", Shared: true}, engine.RowSet{Table: "sessions", Where: "id = ?1"},
			engine.RowSet{Table: "files", Where: "session_id = ?1"}, engine.RowSet{Table: "read_files", Where: "session_id = ?1"},
			engine.RowSet{Table: "messages", Where: "session_id = ?1"}),
	},
	Places: func(around store.Surroundings) []string { return chat.Upward(around, ".crush") },
	Lacks:  lacks,
	Passes: "crush refuses to load the session",
}

// Codes of faults.
const (
	// FaultMessage: the parts of a message are no JSON array.
	FaultMessage = "damaged-message"
	// FaultSummary: the summary that the session begins with is not there.
	FaultSummary = "missing-summary"
	// FaultStray: messages belong to a session that has no row.
	FaultStray = "stray-rows"
)

// format implements chat.Format.
type format struct{ chat.Databases }

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	names, err := f.Names(ctx, in)
	for i := 0; err == nil && i < len(names); i++ {
		var some []chat.Spot
		err = f.Query(ctx, names[i], func(t *sqlitefile.Tx) (err error) {
			some, err = f.spotsOf(ctx, t, names[i])
			return err
		})
		list = append(list, some...)
	}
	return list, err
}

// spotsOf returns the sessions of a database: those that have a row, and those that have only
// messages.
func (f *format) spotsOf(ctx context.Context, t *sqlitefile.Tx, file string) (list []chat.Spot, err error) {
	parents, at := map[string]string{}, map[string]int{}
	err = t.Records(ctx, func(r map[string]any) error {
		id := textOf(r["id"])
		parents[id] = textOf(r["parent_session_id"])
		at[id] = len(list)
		list = append(list, chat.Spot{File: file, Part: id, Project: f.projectDir(), At: timeOf(cmp.Or(numberOf(r["updated_at"]), numberOf(r["created_at"])))})
		return nil
	}, "SELECT * FROM sessions ORDER BY created_at, rowid")
	if err != nil {
		return nil, err
	}
	err = t.Records(ctx, func(r map[string]any) error {
		id := textOf(r["session_id"])
		if _, known := at[id]; !known {
			at[id], list = len(list), append(list, chat.Spot{File: file, Part: id, Project: f.projectDir(), At: timeOf(numberOf(r["last"]))})
		}
		list[at[id]].Size = numberOf(r["size"])
		return nil
	}, "SELECT session_id, sum(octet_length(parts)) AS size, max(created_at) AS last FROM messages GROUP BY session_id")
	list = slices.DeleteFunc(list, func(at chat.Spot) bool { return at.Size == 0 || at.Part == "" }) // no message yet
	for i := range list {
		list[i].Part = chat.NestedID(parents, list[i].Part)
		list[i].ID = list[i].Part
	}
	return list, err
}

// projectDir returns the folder that the sessions are about: the one around ".crush".
func (f *format) projectDir() string {
	dir, err := filepath.Abs(f.Dir)
	if err != nil || filepath.Base(dir) != ".crush" {
		return ""
	}
	return filepath.Dir(dir)
}

// Spot implements chat.Format.
func (f *format) Spot(name string) chat.Spot {
	file, part, _ := strings.Cut(name, "#")
	return chat.Spot{File: file, Part: part, ID: part, Project: f.projectDir()}
}

func textOf(v any) string { s, _ := v.(string); return s }

// numberOf returns a number, in whatever type a row has it; 0 for anything else.
func numberOf(v any) int64 {
	if n, is := v.(float64); is {
		return int64(n)
	}
	n, _ := v.(int64)
	return n
}

// timeOf returns a time. The tables call it milliseconds, and have seconds.
func timeOf(n int64) time.Time {
	switch {
	case n <= 0:
		return time.Time{}
	case n < 1e11:
		return time.Unix(n, 0).UTC()
	}
	return time.UnixMilli(n).UTC()
}

// titleOf returns the title of a session, "" for a placeholder.
func titleOf(r map[string]any) string {
	return chat.StoredTitle(textOf(r["title"]), "New Session", "Untitled Session", "New Agent Session")
}

// Glance implements chat.Format.
func (f *format) Glance(_ engine.In, at chat.Spot) (g chat.Glance, err error) {
	ctx := context.Background() // it is one row
	g.Project = f.projectDir()
	return g, f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		return t.Records(ctx, func(r map[string]any) error {
			g.Title = titleOf(r)
			return nil
		}, "SELECT * FROM sessions WHERE id = ?", path.Base(at.Part))
	})
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, _ engine.In, at chat.Spot) (s *chat.Session, err error) {
	err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		b := build{session: &chat.Session{Spot: at, Head: -1, Project: f.projectDir()}, unknown: map[string]int{}}
		s = b.session
		return b.readRows(ctx, t)
	})
	return s, err
}

// build makes a session of rows.
type build struct {
	session  *chat.Session
	row      map[string]any
	children map[string]bool
	unknown  map[string]int
	meta     *chat.Meta
}

func (b *build) readRows(ctx context.Context, t *sqlitefile.Tx) error {
	s := b.session
	id := path.Base(s.Spot.Part)
	if err := t.Records(ctx, func(r map[string]any) error { b.row = r; return nil }, "SELECT * FROM sessions WHERE id = ?", id); err != nil {
		return err
	}
	if err := b.noteChildren(ctx, t, id); err != nil {
		return err
	}
	err := eachMessage(ctx, t, id, b.addMessage)
	if err != nil {
		return err
	}
	if b.row == nil && len(s.Entries) == 0 {
		return fs.ErrNotExist
	}
	if b.row == nil {
		b.session.Fault(FaultStray, model.Loses, id, "the session has no row, and was found by its messages", "crush does not list it")
	}
	s.Title, s.Head = titleOf(b.row), len(s.Entries)-1
	if at := timeOf(numberOf(b.row["updated_at"])); !at.IsZero() {
		s.Spot.At = at
	}
	if summary := textOf(b.row["summary_message_id"]); summary != "" {
		last := s.At(summary)
		if last < 0 {
			b.session.Fault(FaultSummary, model.Loses, summary, "the summary that the session begins with is not there", "crush sends the whole conversation")
		}
		for i := range s.Entries[:last+1] { // the older ones were named before
			if e := &s.Entries[i]; i == last || e.Own.(bool) {
				e.Event, e.Context = "compaction", []int{i}
			}
		}
	}
	s.Faults = append(s.Faults, chat.UnknownFaults(s.Spot.File, b.unknown)...)
	return b.addTotals(ctx, t, id)
}

// noteChildren notes the sessions that name this one as their parent.
func (b *build) noteChildren(ctx context.Context, t *sqlitefile.Tx, id string) error {
	has, err := t.Columns(ctx, "sessions")
	if err != nil || !has["parent_session_id"] {
		return err
	}
	b.children = map[string]bool{}
	return t.Records(ctx, func(r map[string]any) error {
		b.children[textOf(r["id"])] = true
		return nil
	}, "SELECT id FROM sessions WHERE parent_session_id = ?", id)
}

// addMessage adds the entry of a message.
func (b *build) addMessage(r map[string]any) {
	s := b.session
	m, parts := messageOf(r)
	e := chat.Entry{ID: textOf(r["id"]), At: timeOf(cmp.Or(numberOf(r["finished_at"]), numberOf(r["created_at"]))), Said: m.Summarise(), Version: chat.Sum(m.Raw), Meta: b.metaFor(m.Model), Own: numberOf(r["is_summary_message"]) != 0}
	if n := len(s.Entries); n > 0 {
		e.Parent = s.Entries[n-1].ID
	}
	if parts.Kind() != jsontape.Array {
		e.Marks |= model.MarkDamaged
		b.session.Fault(FaultMessage, model.Loses, e.ID, "the parts of the message cannot be read", agent.Passes)
	}
	for p := range parts.Each() {
		data := p.Get("data")
		switch kind := p.Get("type").Text(); kind {
		case "finish":
			if reason := data.Get("reason").Text(); reason == "error" || reason == "canceled" {
				why := strings.Trim(data.Get("message").Words()+": "+data.Get("details").Words(), ": ")
				e.Title = conversation.Cut(strings.Trim(e.Said.Words+": "+cmp.Or(why, reason), ": "), conversation.MaxTitle)
				if reason == "error" {
					e.Marks |= model.MarkError
				}
			}
		case "tool_call":
			call := data.Get("id").Text()
			for _, child := range []string{call, e.ID + "$$" + call} { // of an older crush, and of now
				if b.children[child] {
					e.Starts(s.Spot.ID + "/" + child)
				}
			}
		case "text", "reasoning", "tool_result", "binary", "image_url":
		default:
			b.unknown[kind]++
		}
	}
	if provider := textOf(r["provider"]); provider != "" {
		e.Facts.Add("provider", provider)
	}
	s.Entries = append(s.Entries, e)
}

// metaFor returns the model and the folder that apply from a message on.
func (b *build) metaFor(name string) *chat.Meta {
	if b.meta == nil || name != "" && name != b.meta.Model {
		b.meta = &chat.Meta{Model: name, Dir: b.session.Project}
	}
	return b.meta
}

// eachMessage runs a function on each row of a session's messages, in their order. It sorts the numbers
// of the rows alone: SQLite copies what it sorts.
func eachMessage(ctx context.Context, t *sqlitefile.Tx, session string, do func(map[string]any)) error {
	var order []int64
	err := t.Each(ctx, func(scan func(...any) error) error {
		order = append(order, 0)
		return scan(&order[len(order)-1])
	}, "SELECT rowid FROM messages WHERE session_id = ? ORDER BY created_at, rowid", session)
	for i := 0; err == nil && i < len(order); i++ {
		err = t.Records(ctx, func(r map[string]any) error { do(r); return nil }, "SELECT * FROM messages WHERE rowid = ?", order[i])
	}
	return err
}

// messageOf returns the message of a row, and its parts.
func messageOf(r map[string]any) (m chat.Message, parts chat.Value) {
	m.Raw = [][]byte{rowJSON(r)}
	if tape, err := jsontape.Parse(m.Raw[0]); err == nil {
		parts = chat.ValueOf(tape).Get("parts")
	}
	m.Role, m.Model = chat.Assistant, textOf(r["model"])
	switch textOf(r["role"]) {
	case "user":
		m.Role = chat.User
	case "tool":
		m.Role = chat.Tool
	case "system":
		m.Role = chat.System
	}
	for p := range parts.Each() {
		if b, is := blockOf(p); is {
			m.Blocks = append(m.Blocks, b)
		}
	}
	return m, parts
}

// rowJSON returns a row as JSON, with its parts as they stand where they are JSON.
func rowJSON(row map[string]any) []byte {
	parts := []byte(textOf(row["parts"]))
	stands := jsontape.Valid(parts)
	if stands && bytes.IndexByte(parts, '\n') >= 0 {
		parts = jsontape.AppendCompact(nil, parts)
	}
	data := bytes.NewBuffer(append(make([]byte, 0, len(parts)+1024), '{'))
	to := json.NewEncoder(data)
	to.SetEscapeHTML(false) // texts stay as they are
	for _, key := range slices.Sorted(maps.Keys(row)) {
		if data.Len() > 1 {
			data.WriteByte(',')
		}
		data.Write(append(jsontape.AppendQuoted(nil, key), ':'))
		if key == "parts" && stands {
			data.Write(parts)
		} else if err := to.Encode(row[key]); err != nil { // JSON has no such number
			data.WriteString("null")
		} else {
			data.Truncate(data.Len() - 1) // the line's end
		}
	}
	data.WriteByte('}')
	return data.Bytes()
}

// blockOf returns the block of a part, and false for a part without content for the model.
func blockOf(p chat.Value) (chat.Block, bool) {
	data := p.Get("data")
	switch p.Get("type").Text() {
	case "text":
		return chat.TextBlock(data.Get("text").Raw()), len(data.Get("text").Raw()) > len(`""`)
	case "reasoning":
		return chat.Block{Kind: conversation.Reasoning, Body: data.Get("thinking").Raw()}, true
	case "tool_call":
		return chat.Block{Kind: conversation.ToolCall, ID: data.Get("id").Text(), Name: data.Get("name").Text(), Body: data.Get("input").UnwrapJSON()}, true
	case "tool_result":
		return chat.Block{Kind: conversation.ToolResult, ID: data.Get("tool_call_id").Text(), Name: data.Get("name").Text(), Body: data.Get("content").Raw(), Failed: data.Get("is_error").True()}, true
	case "finish":
		for _, key := range []string{"details", "message"} { // the details say more
			if why := data.Get(key); why.Text() != "" && data.Get("reason").Text() == "error" {
				return chat.FailureBlock(why.Raw()), true
			}
		}
		return chat.Block{}, false
	}
	return chat.Block{Kind: conversation.Unknown, Body: p.Raw()}, true
}

// addTotals adds crush's counts for the session to the head, and to each message the files written before the
// next one. Dollars add up. Tokens count the last request only, from which crush computes how full the context
// is.
func (b *build) addTotals(ctx context.Context, t *sqlitefile.Tx, id string) error {
	s := b.session
	if s.Head < 0 {
		return nil
	}
	cost, _ := b.row["cost"].(float64)
	s.Entries[s.Head].Facts.Count(model.Counted{Context: float64(numberOf(b.row["prompt_tokens"]) + numberOf(b.row["completion_tokens"])), Dollars: cost})
	has, err := t.Columns(ctx, "files")
	if err != nil || !has["path"] || !has["version"] || !has["content"] || !has["session_id"] || !has["created_at"] {
		return err
	}
	return t.Records(ctx, func(r map[string]any) error {
		written := timeOf(numberOf(r["created_at"]))
		at := slices.IndexFunc(s.Entries, func(e chat.Entry) bool { return e.At.After(written) })
		if at < 0 {
			at = len(s.Entries)
		}
		if name := textOf(r["path"]); name != "" {
			s.Entries[max(at-1, 0)].Facts.Add("file", fmt.Sprintf("%s version %v, %s", name, r["version"], model.Count(int(numberOf(r["size"])), "byte")))
		}
		return nil
	}, "SELECT path, version, octet_length(content) AS size, created_at FROM files WHERE session_id = ? ORDER BY created_at, rowid", id)
}

// mostText bounds a version of a file, mostTexts the versions of one, and mostFiles the files of a session.
const mostText, mostTexts, mostFiles = 2 << 20, 64 << 20, 10000

// Copies implements chat.Copier: the versions of the files that a session wrote. The first of a file is its text before.
func (f *format) Copies(ctx context.Context, _ engine.In, s *chat.Session, found func(filechange.Copies) bool) error {
	paths, id := []string(nil), path.Base(s.Spot.Part)
	err := f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) error {
		has, err := t.Columns(ctx, "files")
		if err != nil || !has["path"] || !has["version"] || !has["content"] || !has["session_id"] {
			return err
		}
		paths = nil
		return t.Each(ctx, func(scan func(...any) error) error {
			paths = append(paths, "")
			return scan(&paths[len(paths)-1])
		}, "SELECT path FROM files WHERE session_id = ? AND typeof(path) = 'text' GROUP BY path ORDER BY min(rowid) LIMIT ?", id, mostFiles)
	})
	c := filechange.Copies{Dir: s.Project}
	for i := range s.Entries {
		c.Snapshots = append(c.Snapshots, s.Entries[i].ID)
	}
	for i := 0; err == nil && i < len(paths); i++ {
		c.Versions = map[string][]string{}
		err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) error {
			c.Versions[paths[i]] = nil
			size := 0
			return t.Each(ctx, func(scan func(...any) error) error {
				var text string
				err := scan(&text)
				if size += len(text); size <= mostTexts {
					c.Versions[paths[i]] = append(c.Versions[paths[i]], text)
				}
				return err
			}, "SELECT content FROM files WHERE session_id = ? AND path = ? AND typeof(content) = 'text' AND octet_length(content) <= ? ORDER BY version, rowid", id, paths[i], mostText)
		})
		if err == nil && len(c.Versions[paths[i]]) > 1 && !found(c) {
			return nil
		}
	}
	return err
}

// Mark implements chat.Marker: crush changes a message as it is written, and notes when.
func (f *format) Mark(ctx context.Context, at chat.Spot) (mark string, err error) {
	id := path.Base(at.Part)
	err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		var size string
		err := t.Row(ctx, "SELECT count(*) || ' ' || ifnull(max(rowid), 0) || ' ' || ifnull(sum(octet_length(parts)), 0) FROM messages WHERE session_id = ?", id).Scan(&size)
		if err != nil {
			return err
		}
		mark = size
		return t.Records(ctx, func(r map[string]any) error {
			text, err := json.Marshal(r)
			mark += " " + string(text)
			return err
		}, "SELECT * FROM sessions WHERE id = ?", id)
	})
	return mark, err
}

// Messages implements chat.Format.
func (f *format) Messages(_ engine.In, s *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	ctx := context.Background() // it is one row
	id, _, _ := strings.Cut(e.ID, "~")
	err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) error {
		list = nil
		return t.Records(ctx, func(r map[string]any) error {
			m, _ := messageOf(r)
			list = append(list, m)
			return nil
		}, "SELECT * FROM messages WHERE id = ? AND session_id = ?", id, path.Base(s.Spot.Part))
	})
	return list, err
}

// columns are the columns that crush writes of a message. Hindcast shows the text of no other column.
var columns = strings.Fields("id session_id role parts model provider created_at updated_at finished_at is_summary_message")

// ReadCarried implements chat.Carrier: the parts of each message, but for how it ended, and what stands in
// columns that crush has not.
func (f *format) ReadCarried(ctx context.Context, _ engine.In, s *chat.Session) (list []chat.Carried, err error) {
	err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) error {
		list = nil
		return eachMessage(ctx, t, path.Base(s.Spot.Part), func(r map[string]any) {
			for column, value := range r {
				if text, is := value.(string); is && !slices.Contains(columns, column) {
					v, _ := chat.Parse(slices.Concat([]byte(`{"text":`), jsontape.AppendQuoted(nil, text), []byte("}"))) // it is JSON
					if c, says := chat.CarriedOf(s.Spot.File, fmt.Sprint(r["id"]), column, v); says {
						list = append(list, c)
					}
				}
			}
			_, parts := messageOf(r)
			for p := range parts.Each() {
				if kind := p.Get("type").Text(); kind != "finish" {
					if c, says := chat.CarriedOf(s.Spot.File, textOf(r["id"]), kind, p); says {
						list = append(list, c)
					}
				}
			}
		})
	})
	return list, err
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || strings.Contains(s.Spot.Part, "/") {
		return nil
	}
	words := []string{"crush", "-s", s.Spot.Part}
	if dir := s.ForeignDir(); dir != "" {
		words = slices.Insert(words, 1, "--data-dir", dir)
	}
	return []model.Resume{{Call: s.Command("", words...), Then: "goes on from here"}}
}
