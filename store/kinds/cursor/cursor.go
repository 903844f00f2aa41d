// Package cursor reads the sessions of Cursor.
//
//	User/globalStorage/state.vscdb              the editor: rows composerData:SESSION and bubbleId:SESSION:MESSAGE
//	User/workspaceStorage/HASH/state.vscdb      its chats before 0.47, in one row, or where they are gone its prompts
//	User/workspaceStorage/HASH/workspace.json   the folder of a workspace
//	~/.cursor/chats/HASH/SESSION/store.db       cursor-agent: messages by their hashes, and a root that names them
//	~/.cursor/chats/HASH/SESSION/meta.json      its folder
//	~/.cursor/projects/PROJECT/agent-transcripts/SESSION/SESSION.jsonl
//	                                            cursor-agent: its messages, without results; subagents/AGENT.jsonl.
//	                                            At first agent-transcripts/SESSION.jsonl
//
// A session names its messages in order. An edit or a rewind takes names out of that list, and leaves the messages
// where they are, without a link to the message before. They are one branch here:
//
//	named   a ── b ── e ── f     head
//	             └ c ── d        no longer in the conversation; behind b where the times say so
//
// A list of sessions reads the rows composerData and one key of each session's messages. There is no way back: Cursor
// takes in no session. The format follows what S2thend/cursor-history, CASR, git-ai and agent-sessions read, and
// their fixtures; Cursor itself was not run.
//
//	cursor.go   where sessions are, and what the list shows of one
//	rows.go     the rows of the editor
//	agent.go    the files of cursor-agent
//	message.go  a message
package cursor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of Cursor. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	database, global, workspaces = "state.vscdb", "globalStorage/state.vscdb", "workspaceStorage"
	transcripts, chats, chatFile = "agent-transcripts", "chats", "store.db"
)

var agent = &chat.Agent{
	Name: "cursor", Framework: "Cursor", IDs: "Cursor named the message; in a transcript, its line",
	Roots: []string{".", "User"}, Home: "cursor",
	Inner: inner,
	Local: true,
	Shape: "Cursor's table cursorDiskKV, or agent-transcripts/SESSION/SESSION.jsonl",
	Noun:  "a session of Cursor",
	Signs: func(at chat.Spot, head []byte) chat.Sign { return signOf(at.File, head) },
	Format: func(dir string) chat.Format {
		return &format{
			Databases: chat.Databases{Dir: dir, Default: database, Below: []string{global}, Tables: map[string]string{"cursorDiskKV": "key value"}},
			lines:     chat.Lines[record]{Decode: decodeLine, Members: []string{"role", "message"}},
		}
	},
	Levels: []watch.Level{{}, {Name: transcripts}, {}},
	Places: func(around store.Surroundings) []string {
		return append(chat.ConfigPlaces(around, "Cursor/User"), chat.Places(around, "", ".cursor")...)
	},
	Tables: &engine.Tables{
		In:     inFolders(database, global, workspaces+"/*/"+database, chats+"/*/*/"+chatFile),
		Beside: inFolders(transcripts, "projects/*/"+transcripts, workspaces+"/*/workspace.json", chats+"/*/*/meta.json"),
		List:   listRows, NotBack: lacks,
	},
	Lacks:  lacks,
	Passes: "Cursor passes it over",
}

// lacks says why nothing is written.
const lacks = "Cursor takes in no session from outside, and its database may be in use: it is only read"

// inFolders returns patterns of names in the folder of the storage, and in the folder around it.
func inFolders(names ...string) (list []string) {
	for _, name := range names {
		list = append(list, name, "User/"+name)
	}
	return list
}

// signOf identifies a file by its beginning: lines with a role and the content of a message alone. The name tells a
// database of cursor-agent.
func signOf(file string, head []byte) chat.Sign {
	if fits, _ := path.Match(agentPatterns[0], file); fits {
		return chat.Sign{Fits: true}
	}
	return chat.SignOf(head, "message.content", func(v chat.Value) (bool, chat.Body) {
		role := v.Get("role").Text()
		if role != "user" && role != "assistant" || !v.Get("message").There() || v.Get("type").There() || v.Get("uuid").There() {
			return false, chat.NoBody
		}
		return true, chat.BodyOf(v, v.Get("message", "content"))
	})
}

// inner returns how far above a folder the storage is.
func inner(dir string, _ tree.Tree) int {
	parts := strings.Split(filepath.ToSlash(dir), "/")
	up := func(name string, above int) int {
		if at := slices.Index(parts, name); at >= 0 {
			return len(parts) - at + above
		}
		return 0
	}
	if n := up(transcripts, 2); n > 0 {
		return n
	}
	if n := len(parts); n > 3 && parts[n-3] == chats {
		return 3
	}
	return max(up(path.Dir(global), 0), up(workspaces, 0))
}

// format implements chat.Caller, chat.Carrier, chat.Marker and chat.Sizer.
type format struct {
	chat.Databases
	lines chat.Lines[record]

	mu sync.Mutex
	// rows are the sessions of databases as they were listed last, by Spot.Name.
	rows map[string]composer
}

// Query runs a function in a transaction. It closes the databases of workspaces and of cursor-agent, which are many.
func (f *format) Query(ctx context.Context, name string, what func(*sqlitefile.Tx) error) (err error) {
	if name == global || !strings.Contains(name, "/") {
		return f.Databases.Query(ctx, name, what)
	}
	if !filepath.IsLocal(name) {
		return fs.ErrNotExist
	}
	file := sqlitefile.New(filepath.Join(f.Dir, filepath.FromSlash(name)), nil)
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Read(ctx, func(t *sqlitefile.Tx) error {
		const mostValue = 64 << 20
		return cmp.Or(t.Limit(mostValue), what(t))
	})
}

// Spots implements chat.Format.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	names, err := f.Names(ctx, in)
	if err != nil {
		return nil, err
	}
	rows, folders := map[string]composer{}, map[string]string{}
	for _, name := range chat.Match(in, workspaces+"/*/"+database) {
		folder := chat.FilePath(chat.ReadJSON(in, path.Join(path.Dir(name), "workspace.json")).Get("folder").Text())
		var some []composer
		if err := f.Query(ctx, name, func(t *sqlitefile.Tx) (err error) {
			some, err = listTabs(ctx, t, folders, folder)
			return err
		}); err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		} // a workspace that cannot be read has no chats
		list = append(list, f.spotsOf(name, some, rows)...)
	}
	for _, name := range names {
		var some []composer
		if err := f.Query(ctx, name, func(t *sqlitefile.Tx) (err error) {
			some, err = listComposers(ctx, t)
			return err
		}); err != nil {
			return nil, err
		}
		for i := range some {
			some[i].project = cmp.Or(some[i].project, folders[some[i].id])
		}
		list = append(list, f.spotsOf(name, some, rows)...)
	}
	f.mu.Lock()
	f.rows = rows
	f.mu.Unlock()
	return append(list, f.agentSpots(in)...), ctx.Err()
}

// spotsOf returns the spots of the sessions of a database, and notes them.
func (f *format) spotsOf(file string, some []composer, rows map[string]composer) (list []chat.Spot) {
	for _, c := range some {
		at := f.Spot(file + "#" + c.id)
		at.Project, at.At, at.Size = c.project, c.at, c.size
		list, rows[at.Name()] = append(list, at), c
	}
	return list
}

// Spot implements chat.Format. Behind the file of a database stands the session.
func (f *format) Spot(name string) chat.Spot {
	if file, part, ok := strings.Cut(name, "#"); ok {
		return chat.Spot{File: file, Part: part, ID: strings.TrimPrefix(part, tabMark)}
	}
	return agentSpot(name)
}

// Small implements chat.Sizer: the list reads no messages of a large database.
func (f *format) Small(in engine.In, at chat.Spot) bool {
	const mostFile, mostMessages = 16 << 20, 40
	if at.Part == "" {
		return true
	}
	look, err := in.Stamp(at.File)
	f.mu.Lock()
	defer f.mu.Unlock()
	return err == nil && look.Size <= mostFile && f.rows[at.Name()].named <= mostMessages
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	if at.Part == "" {
		return f.glanceAgent(in, at)
	}
	f.mu.Lock()
	c := f.rows[at.Name()]
	f.mu.Unlock()
	g = chat.Glance{Title: c.title, Project: cmp.Or(c.project, at.Project)}
	if g.Title != "" || c.first == "" {
		return g, nil
	}
	ctx := context.Background() // it is one row
	return g, f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		var data []byte
		_, err := t.First(ctx, []any{&data}, "SELECT value FROM cursorDiskKV WHERE key = ?", bubbleKey(c.id, c.first))
		v, _ := chat.Parse(data) // of a damaged one there are no words
		m, _ := bubbleMessage(v)
		var said chat.Opening
		said.Say(m.Summarise())
		g.Title = said.Title()
		return err
	})
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	if at.Part == "" {
		return f.readAgent(ctx, in, at)
	}
	var b *build
	err := f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		b = newBuild(at) // it may run again
		if id, is := strings.CutPrefix(at.Part, tabMark); is {
			return b.readTab(ctx, t, id)
		}
		return b.readComposer(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	if b.session.Project = cmp.Or(b.session.Project, at.Project); len(b.list) == 0 && !b.there {
		return nil, fs.ErrNotExist
	}
	b.arrange()
	return b.session, nil
}

// Codes of faults.
const (
	// FaultMessage: the record of a message cannot be read.
	FaultMessage = "damaged-message"
	// FaultMissing: messages that the session names are not there.
	FaultMissing = "missing-messages"
	// FaultStray: messages are of a session that has no row.
	FaultStray = "stray-rows"
)

// build makes a session of messages in any order, and of the list that names them.
type build struct {
	session *chat.Session
	list    []found
	at      map[string]int // by their ids
	// names are the ids in the order of the conversation.
	names []string
	meta  *chat.Meta
	// there says that the session has a row of its own.
	there bool
}

// found is a message with the place where it was written among all.
type found struct {
	chat.Entry
	row int64
}

func newBuild(at chat.Spot) *build {
	return &build{session: &chat.Session{Spot: at, Head: -1, Project: at.Project}, at: map[string]int{}, meta: &chat.Meta{}}
}

// add adds a message.
func (b *build) add(e chat.Entry, row int64) {
	b.at[e.ID] = len(b.list)
	b.list = append(b.list, found{e, row})
}

// arrange makes the entries: the messages that the session names, and the others on one branch.
func (b *build) arrange() {
	s, named, missing, last := b.session, map[int]bool{}, 0, -1
	for _, id := range b.names {
		i, there := b.at[id]
		if !there {
			missing++
		}
		if !there || named[i] {
			continue
		}
		named[i] = true
		if e := b.list[i].Entry; last >= 0 && e.Said.Role == chat.Assistant {
			s.Entries[last].GoesOn = true
		}
		last = s.Add(b.list[i].Entry, last)
	}
	s.Head = last
	if missing > 0 {
		s.Fault(FaultMissing, model.Loses, "", model.Count(missing, "message")+" that the session names "+map[bool]string{true: "is", false: "are"}[missing == 1]+" not there", agent.Passes)
	}
	var lost []found
	timed := true
	for i := range b.list {
		if !named[i] {
			lost, timed = append(lost, b.list[i]), timed && !b.list[i].At.IsZero()
		}
	}
	slices.SortStableFunc(lost, func(x, y found) int {
		if timed {
			return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.row, y.row))
		}
		return cmp.Compare(x.row, y.row)
	})
	before := -1
	if len(lost) > 0 {
		before = lastBefore(s, lost[0].At)
	}
	for i := range lost {
		lost[i].Reason = &model.Reason{Kind: model.ReasonDropped}
		before = s.Add(lost[i].Entry, before)
	}
}

// lastBefore returns the last entry before the first one that is later than a time, -1 if no time is known.
func lastBefore(s *chat.Session, at time.Time) int {
	if at.IsZero() || !slices.ContainsFunc(s.Entries, func(e chat.Entry) bool { return !e.At.IsZero() }) {
		return -1
	}
	later := slices.IndexFunc(s.Entries, func(e chat.Entry) bool { return e.At.After(at) })
	if later < 0 {
		later = len(s.Entries)
	}
	return later - 1
}
