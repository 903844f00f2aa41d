// Package opencode reads the sessions of opencode.
//
//	opencode.db                              session, message and part rows, and the event log; those of opencode 2, see newerTables
//	storage/{session,message,part}/….json    the same of 0.x, one file for each
//	hindcast/SESSION.json                    a fork: what `opencode export` writes, for `opencode import`
//
// The messages of a session follow each other by the time at which they were created, and then
// by id. To revert puts a mark into the session at first; the next prompt deletes what is behind
// it. The log of events keeps what was deleted and what was written over: its records by their
// sequence tell of every message that ever was. The format was checked against 1.18.33.
package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kind describes the sessions of opencode. cache keeps titles; it may be nil.
func Kind(cache *files.Cache) engine.Kind { return agent.Kind(cache) }

const (
	// exports is Hindcast's own folder, for files that opencode imports.
	exports = "hindcast"
	// storage is that of 0.x.
	storage = "storage"
	// database is the one that opencode opens.
	database = "opencode.db"
)

var agent = &chat.Agent{
	Name: "opencode", Framework: "opencode", IDs: "opencode named the message",
	Roots: []string{"."},
	Local: true,
	Shape: "opencode's tables session, message and part, or its files storage/session/PROJECT/SESSION.json",
	Signs: func(_ chat.Spot, head []byte) chat.Sign {
		return chat.Sign{Fits: infoOf(chat.ParseHead(head)).sessionID() != ""}
	},
	Format: func(dir string) chat.Format {
		return &format{Databases: chat.Databases{Dir: dir, Default: database, Tables: olderTables, Later: newerTables,
			Unread: map[string]string{"session_v2": "sessions of an opencode 2 with other tables are not read"}}}
	},
	Tables: &engine.Tables{
		In: []string{"*.db"}, Beside: []string{storage, exports},
		NotBack: "opencode takes in a session by its own import alone, and its database may be in use: hindcast continue makes one for it",
		List: engine.ListRows([]engine.IDColumn{{Table: "session", Column: "id"}, {Table: "message", Column: "session_id"},
			{Table: "session_v2", Column: "id"}, {Table: "session_message", Column: "session_id"}, {Table: "event", Column: "aggregate_id"}}, rowSets()...),
	},
	Levels: []watch.Level{{Name: exports}},
	Moved:  chat.Moved{Variable: "OPENCODE_DB"}, Database: database,
	Places: func(around store.Surroundings) []string {
		list := chat.Places(around, "", ".local/share/opencode")
		if data := around.FolderOf("XDG_DATA_HOME"); data != "" {
			list = []string{filepath.Join(data, "opencode")}
		}
		if db := around.FolderOf("OPENCODE_DB"); filepath.IsAbs(db) {
			list = append(list, db)
		} else if db != "" && len(list) > 0 { // ":memory:" is no file
			list = append(list, filepath.Join(list[0], db))
		}
		return list
	},
	Passes: "opencode passes it over",
}

// olderTables are the tables of opencode 1, with columns.
var olderTables = map[string]string{
	"session": "id parent_id title directory time_updated",
	"message": "id session_id time_created time_updated data",
	"part":    "id message_id session_id time_updated data",
}

// rowSets returns the rows of a session. What belongs to an account stays out.
func rowSets() []engine.RowSet {
	sets := []engine.RowSet{
		{Table: "migration", Where: "1", Shared: true}, {Table: "project", Where: "id = (SELECT project_id FROM session WHERE id = ?1)", Shared: true},
		{Table: "session", Where: "id = ?1"}, {Table: "session_v2", Where: "id = ?1"}, {Table: "event_sequence", Where: "aggregate_id = ?1"}, {Table: "event", Where: "aggregate_id = ?1"},
	}
	for _, table := range append([]string{"message", "part", "todo"}, next...) {
		sets = append(sets, engine.RowSet{Table: table, Where: "session_id = ?1"})
	}
	return sets
}

// format implements chat.Forker, chat.Identifier, chat.Sizer, chat.Caller and
// chat.Marker and chat.Teller.
type format struct {
	chat.Databases

	mu sync.Mutex
	// rows are the sessions of databases as they were listed last, by Spot.Name.
	rows map[string]listed
	// source is of the session whose facts were asked for last.
	source source
}

// listed is a session's summary from one query over the rows of all sessions.
type listed struct {
	at    time.Time
	title string
}

// mostWhole is how many sessions of databases are read whole for a list. Of more the rows of
// sessions alone are.
const mostWhole = 200

// sessionID fits the ids of sessions: the time counted down, and chance.
var sessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ses_[0-9A-Za-z_-]{1,60}$`) })

// Spots implements chat.Format. What a database has stands for the file that it came from.
func (f *format) Spots(ctx context.Context, in engine.In) (list []chat.Spot, err error) {
	names, err := f.Names(ctx, in)
	titles := map[string]string{}
	for i := 0; err == nil && i < len(names); i++ {
		err = f.Query(ctx, names[i], func(t *sqlitefile.Tx) error {
			some, err := spotsOf(ctx, t, names[i], titles)
			list = append(list, some...)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	known, rows := map[string]bool{}, make(map[string]listed, len(list))
	for _, at := range list {
		known[path.Base(at.ID)] = true
		rows[at.Name()] = listed{at.At, titles[at.File+"#"+path.Base(at.Part)]}
	}
	f.mu.Lock()
	f.rows = rows
	f.mu.Unlock()
	for _, at := range append(f.inFolder(in, exports), f.inProjects(in)...) {
		if !known[at.ID] {
			list = append(list, at)
		}
	}
	return list, ctx.Err()
}

// inProjects returns the sessions of 0.x.
func (f *format) inProjects(in engine.In) (list []chat.Spot) {
	dir := storage + "/session"
	projects, _ := in.List(dir) // there may be none
	for _, project := range projects {
		list = append(list, f.inFolder(in, tree.Join(dir, project))...)
	}
	return list
}

// inFolder returns the sessions of a folder of files.
func (f *format) inFolder(in engine.In, dir string) (list []chat.Spot) {
	names, _ := in.List(dir) // there may be none
	slices.Sort(names)
	for _, name := range names {
		if id, is := strings.CutSuffix(name, ".json"); is && sessionID().MatchString(id) {
			list = append(list, f.Spot(tree.Join(dir, name)))
		}
	}
	return list
}

// spotsOf returns the sessions of a database: those that have a row, and those that have only
// messages or events. titles gets the title of each, by its file and its own id.
func spotsOf(ctx context.Context, t *sqlitefile.Tx, file string, titles map[string]string) (list []chat.Spot, err error) {
	parents, at := map[string]string{}, map[string]int{}
	var untitled []string
	add := func(id string) *chat.Spot {
		if _, known := at[id]; !known {
			at[id], list = len(list), append(list, chat.Spot{File: file, Part: id})
		}
		return &list[at[id]]
	}
	older, err := chat.HasTables(ctx, t, olderTables)
	if err != nil {
		return nil, err
	}
	newer, err := chat.HasTables(ctx, t, newerTables)
	if err != nil {
		return nil, err
	}
	var sources []string
	if older {
		sources = append(sources, "session WHERE id IS NOT NULL ORDER BY id")
	}
	if newer { // what both have is of the later one
		sources = append(sources, "session_v2 WHERE id IN (SELECT session_id FROM session_message) ORDER BY id")
	}
	addSession := func(scan func(...any) error) error {
		var id, parent, dir, title string
		var updated int64
		err := scan(&id, &parent, &dir, &updated, &title)
		if titles[file+"#"+id] = typedTitleOf(title); titles[file+"#"+id] == "" {
			untitled = append(untitled, id)
		}
		one := add(id)
		one.Project, one.At, parents[id] = dir, time.UnixMilli(updated).UTC(), parent
		return err
	}
	for _, from := range sources {
		if _, err := t.Salvage(ctx, addSession, "id, ifnull(parent_id, ''), ifnull(directory, ''), ifnull(CAST(time_updated AS INTEGER), 0), ifnull(title, '')", from); err != nil {
			return nil, err
		}
	}
	var queries []string
	if older {
		queries = append(queries, "SELECT session_id, count(*) * 64, ifnull(max(CAST(time_created AS INTEGER)), 0) FROM message WHERE session_id IS NOT NULL GROUP BY session_id",
			"SELECT session_id, ifnull(sum(octet_length(data)), 0), 0 FROM part WHERE session_id IS NOT NULL GROUP BY session_id")
	}
	if logged, err := hasEvents(ctx, t); err != nil {
		return nil, err
	} else if logged {
		queries = append(queries, "SELECT aggregate_id, count(*), 0 FROM event WHERE type LIKE 'message.updated%' AND aggregate_id IS NOT NULL GROUP BY aggregate_id")
	}
	if has, err := hasNewer(ctx, t); err != nil {
		return nil, err
	} else if has {
		queries = append(queries, "SELECT session_id, sum(octet_length(data)), 0 FROM session_message WHERE session_id IS NOT NULL GROUP BY session_id")
	}
	whole := true
	for _, query := range queries {
		err := t.Each(ctx, func(scan func(...any) error) error {
			var id string
			var size, last int64
			err := scan(&id, &size, &last)
			one := add(id)
			if one.Size += size; one.At.IsZero() && last > 0 {
				one.At = time.UnixMilli(last).UTC()
			}
			return err
		}, query)
		if whole = whole && err == nil; ignoreUnreadable(err) != nil {
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(at chat.Spot) bool { return whole && at.Size == 0 }) // no message yet
	if older && len(list) > mostWhole && len(untitled) > 0 {                                 // of fewer each is read whole
		if err := firstWords(ctx, t, untitled, func(id, title string) { titles[file+"#"+id] = title }); err != nil {
			return nil, err
		}
	}
	for i := range list {
		list[i].Part = chat.NestedID(parents, list[i].Part)
		list[i].ID = list[i].Part
	}
	return list, nil
}

// firstWords calls yield with the first words of the person in each of some sessions. It makes one query.
func firstWords(ctx context.Context, t *sqlitefile.Tx, sessions []string, yield func(id, title string)) error {
	ids, err := json.Marshal(sessions)
	if err != nil {
		return err
	}
	const most = 8 << 10 // bytes of a part
	said := map[string]*chat.Opening{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var id string
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		v := chat.ParseHead(data)
		if v.Get("type").Text() != typeText || v.Get("synthetic").True() || v.Get("ignored").True() {
			return nil
		}
		if said[id] == nil {
			said[id] = &chat.Opening{}
		}
		said[id].Say((&chat.Message{Role: chat.User, Blocks: []chat.Block{chat.TextBlock(v.Get("text").Raw())}}).Summarise())
		return nil
	}, `WITH first AS (SELECT session_id, id, min(time_created) FROM message
		WHERE session_id IN (SELECT value FROM json_each(?)) AND iif(json_valid(data), json_extract(data, '$.role'), '') = 'user' GROUP BY session_id)
		SELECT first.session_id, substr(part.data, 1, ?) FROM first JOIN part ON part.message_id = first.id ORDER BY part.message_id, part.id`, string(ids), most)
	for id, o := range said {
		yield(id, o.Title())
	}
	return ignoreUnreadable(err)
}

// hasEvents reports whether a database has the log of events.
func hasEvents(ctx context.Context, t *sqlitefile.Tx) (bool, error) {
	has, err := t.Columns(ctx, "event")
	return has["aggregate_id"] && has["seq"] && has["type"] && has["data"], err
}

// hasNewer reports whether a database has messages of opencode 2. Those of a session without a row in session_v2 are not read: doctor counts them.
func hasNewer(ctx context.Context, t *sqlitefile.Tx) (bool, error) {
	has, err := t.Columns(ctx, "session_message")
	return has["id"] && has["session_id"] && has["type"] && has["data"], err
}

// FaultNewer: sessions of opencode 2 are in tables that are not read.
const FaultNewer = "opencode-2"

// Check implements chat.Checker: it counts the sessions of an opencode 2 whose tables are not read.
func (f *format) Check(ctx context.Context, in engine.In) ([]model.Fault, error) {
	faults, err := f.Databases.Check(ctx, in)
	if err != nil {
		return nil, err
	}
	names, err := f.Names(ctx, in)
	for _, name := range names {
		unread := 0
		_ = f.Query(ctx, name, func(t *sqlitefile.Tx) error { // a database that cannot be read is told above
			has, err := t.Columns(ctx, "session_v2")
			if err != nil || !has["id"] {
				return err
			}
			if older, err := chat.HasTables(ctx, t, olderTables); err != nil || !older {
				return err
			}
			if newer, err := chat.HasTables(ctx, t, newerTables); err != nil || newer {
				return err
			}
			return t.Row(ctx, "SELECT count(*) FROM session_v2 WHERE id NOT IN (SELECT id FROM session WHERE id IS NOT NULL)").Scan(&unread)
		})
		if unread > 0 {
			faults = append(faults, model.Fault{Code: FaultNewer, Severity: model.Note, File: name,
				Meaning: model.Count(unread, "session") + " of opencode 2, in its table session_v2: sessions of an opencode 2 with other tables are not read", Verdict: "opencode 2 reads them"})
		}
	}
	return faults, err
}

// Spot implements chat.Format.
func (f *format) Spot(name string) chat.Spot {
	if file, part, ok := strings.Cut(name, "#"); ok {
		return chat.Spot{File: file, Part: part, ID: part}
	}
	return chat.Spot{File: name, ID: strings.TrimSuffix(path.Base(name), ".json")}
}

// ID implements chat.Identifier: an export may have any name, and a session of 0.x is below
// the one that started it.
func (f *format) ID(in engine.In, at chat.Spot) string {
	if at.Part != "" {
		return "" // the name tells
	}
	if !strings.HasPrefix(at.File, storage+"/") {
		one, _ := f.readHead(in, at.File) // of one that cannot be read there is none
		return one.sessionID()
	}
	parents := map[string]string{}
	for id := at.ID; sessionID().MatchString(id) && parents[id] == ""; id = parents[id] {
		one, _ := f.readHead(in, tree.Join(path.Dir(at.File), id+".json")) // it may be gone
		parents[id] = one.Get("parentID").Text()
	}
	return chat.NestedID(parents, at.ID)
}

// readHead returns the record of a session by the beginning of its file.
func (f *format) readHead(in engine.In, file string) (info, error) {
	const enough = 64 << 10
	text, err := tree.Head(in.Tree, file, enough)
	return infoOf(chat.ParseHead(text)), err
}

// Small implements chat.Sizer: a session of 0.x has a file for each message.
func (f *format) Small(in engine.In, at chat.Spot) bool {
	if at.Part != "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.rows) <= mostWhole
	}
	names, _ := in.List(storage + "/message/" + path.Base(at.ID)) // there may be none
	return len(names) <= 50
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	var one info
	f.mu.Lock()
	row, known := f.rows[at.Name()]
	f.mu.Unlock()
	switch {
	case at.Part == "":
		one, err = f.readHead(in, at.File)
	case known && row.at.Equal(at.At):
		return chat.Glance{Title: row.title, Project: at.Project}, nil
	default:
		ctx := context.Background() // it is one row
		err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) (err error) {
			one, _, err = rowOf(ctx, t, path.Base(at.Part))
			return err
		})
	}
	g.Title, g.Project = one.typedTitle(), one.Get("directory").Text()
	return g, err
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	b := build{session: &chat.Session{Spot: at, Head: -1}, unknown: map[string]int{}}
	var err error
	if at.Part != "" {
		err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
			b = build{session: &chat.Session{Spot: at, Head: -1}, unknown: map[string]int{}} // it may run again
			return b.readDatabase(ctx, t)
		})
	} else {
		err = b.readFile(in)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !b.info.There() && len(b.list) == 0 {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	b.makeEntries()
	return b.session, f.noteChildren(ctx, in, b.session)
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	one, err := f.loadEntry(in, s, e)
	if err != nil {
		return nil, err
	}
	return one.sentMessages(), nil
}

// loadEntry returns the records of an entry.
func (f *format) loadEntry(in engine.In, s *chat.Session, e *chat.Entry) (one stored, err error) {
	from := e.Own.(*origin)
	switch {
	case len(e.Records) > 0:
		var raw [][]byte
		if raw, err = chat.Raw(in.Tree, s.Spot.File, e.Records); err == nil {
			v, _ := chat.Parse(raw[0]) // it is a part of what was parsed
			one = ofExport(v)
		}
	case s.Spot.Part == "":
		one, err = ofFiles(in, from.id)
	default:
		ctx := context.Background() // they are a few rows
		err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) (err error) {
			one, err = from.readMessage(ctx, t, path.Base(s.Spot.Part))
			return err
		})
	}
	if at := slices.IndexFunc(one.parts, func(p part) bool { return p.id == from.upto }); at >= 0 && from.upto != "" {
		one.parts = one.parts[:at]
	}
	return one, err
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || e.Own.(*origin).newer { // what resumes opencode 2 was not tried
		return nil
	}
	if s.Spot.Part == "" {
		return importCalls(s, filepath.Join(f.Dir, filepath.FromSlash(s.Spot.File)), s.Spot.ID)
	}
	then := "goes on from here"
	if s.Pointed {
		then += ", and deletes what was reverted"
	}
	call := s.Command(s.Project, "opencode", "-s", path.Base(s.Spot.Part))
	return []model.Resume{{Call: call, Then: then}, {Call: call + " --fork", Then: "goes on from here in a copy"}}
}

// ReadCarried implements chat.Carrier: the parts of messages that the model reads, and what the record of
// a message says besides.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	var messages []stored
	add := func(id, kind string, v chat.Value) {
		if c, says := chat.CarriedOf(s.Spot.File, id, kind, v); says {
			list = append(list, c)
		}
	}
	if s.Spot.Part != "" {
		err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) (err error) {
			list = nil
			if messages, _, err = rowsOf(ctx, t, path.Base(s.Spot.Part)); err != nil {
				return err
			}
			newer, err := hasNewer(ctx, t)
			if err != nil || !newer {
				return err
			}
			read, err := isNewer(ctx, t, path.Base(s.Spot.Part))
			if err != nil {
				return err
			}
			return ignoreUnreadable(t.Each(ctx, func(scan func(...any) error) error {
				var id, kind string
				var data []byte
				err := scan(&id, &kind, &data)
				v, _ := chat.Parse(data) // of one that is no JSON there is nothing to say
				if read && kind == "user" {
					v = v.Get("text") // files are looked for as parts
				}
				if !read || !markers[kind] {
					add(id, kind, v)
				}
				return err
			}, "SELECT ifnull(id, ''), ifnull(type, ''), ifnull(data, '') FROM session_message WHERE session_id = ? ORDER BY id", path.Base(s.Spot.Part)))
		})
	} else {
		for i := range s.Entries {
			if one, err := f.loadEntry(in, s, &s.Entries[i]); err == nil { // reading the session says why not
				messages = append(messages, one)
			}
		}
	}
	for i := range messages {
		m := &messages[i]
		info, _ := chat.Parse(m.info) // a damaged one is told of
		for member := range info.Each() {
			if key := member.Key(); key != "error" && key != "summary" {
				add(m.id, "message", member)
			}
		}
		for _, p := range m.parts {
			v, _ := chat.Parse(p.data)
			kind := v.Get("type").Text()
			replaced := kind == typeTool && (isCleared(v.Get("state")) || isOpen(v.Get("state"))) // the model reads other words
			if !replaced && !unread[kind] && !unread[v.Get("mime").Text()] && !v.Get("ignored").True() {
				add(p.id, kind, v)
			}
		}
	}
	return list, err
}

// info is the record of a session, as opencode exports it.
type info struct{ chat.Value }

// sessionID returns the id of the session, "" for the record of anything else.
func (i info) sessionID() string {
	if id := i.Get("id").Text(); sessionID().MatchString(id) {
		return id
	}
	return ""
}

// typedTitle returns the title, "" for a placeholder.
func (i info) typedTitle() string { return typedTitleOf(i.Get("title").Text()) }

// typedTitleOf returns a title as the person typed it, "" for opencode's own with the time.
func typedTitleOf(title string) string {
	return chat.StoredTitle(title, "New session - [0-9][0-9][0-9][0-9]-*", "Child session - [0-9][0-9][0-9][0-9]-*")
}

// infoOf returns the record of a session, or that in an export: none for anything else.
func infoOf(v chat.Value) info {
	if inner := v.Get("info"); inner.Kind() == jsontape.Object {
		v = inner
	}
	if v.Kind() != jsontape.Object {
		return info{}
	}
	return info{v}
}

// parseInfo parses the record of a session. It returns the zero value for a damaged record.
func parseInfo(raw []byte) info {
	v, _ := chat.Parse(raw) // of a damaged one there is no object
	return infoOf(v)
}

// byTime orders messages as opencode does.
func byTime(a, b *stored) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.created, b.created), strings.Compare(a.id, b.id))
}
