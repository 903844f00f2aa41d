package cursor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
)

// The rows of the editor. Keys are in ranges: all of a session are from "bubbleId:SESSION:" up to "bubbleId:SESSION;".
const composerPrefix, bubblePrefix = "composerData:", "bubbleId:"

func bubbleKey(session, id string) string { return bubblePrefix + session + ":" + id }

// tabMark begins the part of a chat before 0.47, and tabRows are the rows of a workspace that have such chats. promptsRow has the
// prompts of a workspace; they count where it has no chats any more.
const tabMark, promptsRow = "tab:", "aiService.prompts"

var tabRows = []string{"workbench.panel.aichat.view.aichat.chatdata", "composer.composerData"}

// composer describes a session by its row.
type composer struct {
	id, title, project string
	at                 time.Time
	size               int64
	// named is how many messages it names, and first the first of the person.
	named int
	first string
}

// composerOf reads the row of a session.
func composerOf(id string, v chat.Value) composer {
	c := composer{id: id, title: chat.StoredTitle(v.Get("name").Text(), "New Chat", "New Agent", "New Composer")}
	c.at = chat.FirstTime(v.Get("lastUpdatedAt"), v.Get("createdAt"))
	uri := v.Get("workspaceIdentifier", "uri")
	c.project = cmp.Or(uri.Get("fsPath").Text(), uri.Get("path").Text())
	for h := range v.Get("fullConversationHeadersOnly").Each() {
		if c.named++; c.first == "" && h.Get("type").Number() != assistantType {
			c.first = h.Get("bubbleId").Text()
		}
	}
	return c
}

// listComposers returns the sessions of a database, also without a row of their own.
func listComposers(ctx context.Context, t *sqlitefile.Tx) (list []composer, err error) {
	at := map[string]int{}
	_, err = t.Salvage(ctx, func(scan func(...any) error) error {
		var key string
		var data []byte
		err := scan(&key, &data)
		v, _ := chat.Parse(data) // of a damaged one the key is known
		c := composerOf(strings.TrimPrefix(key, composerPrefix), v)
		c.size = int64(len(data))
		for range v.Get("conversation").Each() {
			c.named++
		}
		at[c.id], list = len(list), append(list, c)
		return err
	}, "key, value", "cursorDiskKV WHERE key >= ? AND key < ?", composerPrefix, strings.TrimSuffix(composerPrefix, ":")+";")
	if err != nil {
		return nil, err
	}
	spoken := map[string]bool{}
	for from := bubblePrefix; ; { // one key of each session
		var key string
		found, err := t.First(ctx, []any{&key}, "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < 'bubbleId;' ORDER BY key LIMIT 1", from)
		if err != nil && !isUnreadable(err) {
			return nil, err
		}
		id, _, is := strings.Cut(strings.TrimPrefix(key, bubblePrefix), ":")
		if !found || err != nil {
			break
		}
		if from = bubblePrefix + id + ";"; !is {
			from = key + "\x00"
			continue
		}
		if spoken[id] = true; id != "" {
			if _, known := at[id]; !known {
				list = append(list, composer{id: id})
			}
		}
	}
	return slices.DeleteFunc(list, func(c composer) bool { return c.named == 0 && !spoken[c.id] || c.id == "" }), nil
}

// listRows returns the rows of the sessions of a database: those of a session by its keys, those of a workspace that have
// chats together, and the whole database that cursor-agent has of a session.
func listRows(ctx context.Context, t *sqlitefile.Tx) (list []engine.SessionRows, err error) {
	var has [4]map[string]bool
	for i, table := range []string{"cursorDiskKV", "ItemTable", "blobs", "meta"} {
		if has[i], err = t.Columns(ctx, table); err != nil {
			return nil, err
		}
	}
	if has[0]["key"] {
		all, err := listComposers(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			list = append(list, engine.SessionRows{ID: c.id, Key: []any{c.id}, Sets: []engine.RowSet{{Table: "cursorDiskKV", Where: "key = '" + composerPrefix + "' || ?1"},
				{Table: "cursorDiskKV", Where: "key > '" + bubblePrefix + "' || ?1 || ':' AND key < '" + bubblePrefix + "' || ?1 || ';'"},
				{Table: "cursorDiskKV", Where: "key NOT LIKE '" + bubblePrefix + "%' AND key LIKE '%:' || ?1 || ':%'"}}})
		}
	}
	named := func(key string, _ chat.Value, _ int) {
		if len(list) == 0 || list[len(list)-1].Key[0] != key {
			list = append(list, engine.SessionRows{ID: key, Key: []any{key}, Sets: []engine.RowSet{{Table: "ItemTable", Where: "key = ?1"}}})
		}
	}
	if err := eachTab(ctx, t, named); err != nil {
		return nil, err
	}
	if has[2]["data"] && has[3]["value"] {
		var some bool
		if err := t.Row(ctx, "SELECT EXISTS (SELECT 1 FROM blobs)").Scan(&some); err != nil || !some {
			return list, err
		}
		list = append(list, engine.SessionRows{ID: chatFile, Sets: []engine.RowSet{{Table: "blobs", Where: "1"}, {Table: "meta", Where: "1"}}})
	}
	return list, nil
}

func isUnreadable(err error) bool { return sqlitefile.IsDamage(err) || sqlitefile.TooLarge(err) }

// listTabs returns the chats in the rows of a workspace, and notes the folder of the sessions that the rows name.
func listTabs(ctx context.Context, t *sqlitefile.Tx, folders map[string]string, folder string) (list []composer, err error) {
	return list, eachTab(ctx, t, func(_ string, tab chat.Value, size int) {
		c := composerOf(tabID(tab), tab)
		if folders[c.id] = folder; len(slices.Collect(tabMessages(tab))) == 0 {
			return
		}
		c.title = cmp.Or(c.title, chat.StoredTitle(tab.Get("chatTitle").Text(), "New Chat"))
		c.at = chat.FirstTime(tab.Get("lastSendTime"), tab.Get("lastUpdatedAt"), tab.Get("createdAt"))
		c.id, c.project, c.size = tabMark+c.id, folder, int64(size)
		list = append(list, c)
	})
}

// eachTab calls yield with each chat in the rows of a workspace, and the key of its row.
func eachTab(ctx context.Context, t *sqlitefile.Tx, yield func(key string, tab chat.Value, size int)) error {
	has, err := t.Columns(ctx, "ItemTable")
	rows, some := append(slices.Clip(tabRows), promptsRow), false
	for i := 0; err == nil && i < len(rows) && has["key"] && has["value"]; i++ {
		var data []byte
		_, err = t.First(ctx, []any{&data}, "SELECT value FROM ItemTable WHERE key = ?", rows[i])
		v, _ := chat.Parse(data) // of a damaged one there are no chats
		if rows[i] == promptsRow && !some && v.Kind() == jsontape.Array {
			yield(promptsRow, v, len(v.Raw()))
		}
		for _, list := range []string{"tabs", "allComposers"} {
			for tab := range v.Get(list).Each() {
				if tabID(tab) != "" {
					some = true
					yield(rows[i], tab, len(tab.Raw()))
				}
			}
		}
	}
	return err
}

func tabID(tab chat.Value) string {
	if tab.Kind() == jsontape.Array {
		return "prompts"
	}
	return cmp.Or(tab.Get("tabId").Text(), tab.Get("composerId").Text())
}

// tabMessages returns the messages that stand in the record of a session.
func tabMessages(record chat.Value) func(yield func(chat.Value) bool) {
	if record.Kind() == jsontape.Array {
		return record.Each()
	}
	if list := record.Get("bubbles"); list.There() {
		return list.Each()
	}
	return record.Get("conversation").Each()
}

// readTab reads a chat of a workspace.
func (b *build) readTab(ctx context.Context, t *sqlitefile.Tx, id string) error {
	return eachTab(ctx, t, func(key string, tab chat.Value, _ int) {
		if tabID(tab) == id && !b.there {
			b.there = true
			b.session.Title = cmp.Or(composerOf(id, tab).title, chat.StoredTitle(tab.Get("chatTitle").Text(), "New Chat"))
			b.addInline(origin{table: "ItemTable", key: key}, tab)
		}
	})
}

// readComposer reads a session of the editor.
func (b *build) readComposer(ctx context.Context, t *sqlitefile.Tx) error {
	s, id := b.session, b.session.Spot.Part
	var data []byte
	found, err := t.First(ctx, []any{&data}, "SELECT value FROM cursorDiskKV WHERE key = ?", composerPrefix+id)
	if err != nil && !isUnreadable(err) {
		return err
	}
	v, damaged := chat.Parse(data)
	c := composerOf(id, v)
	b.there = found && damaged == nil && c.named > 0
	s.Title, s.Project = c.title, cmp.Or(c.project, s.Project)
	if !c.at.IsZero() {
		s.Spot.At = c.at
	}
	for h := range v.Get("fullConversationHeadersOnly").Each() {
		b.names = append(b.names, h.Get("bubbleId").Text())
	}
	b.meta = b.meta.With(chat.Meta{Model: v.Get("modelConfig", "modelName").Text(), Dir: s.Project, Mode: v.Get("unifiedMode").Text()})
	if len(b.names) == 0 {
		b.addInline(origin{table: "cursorDiskKV", key: composerPrefix + id}, v)
	}
	lost, err := t.Salvage(ctx, func(scan func(...any) error) error {
		var row int64
		var key string
		var data []byte
		if err := scan(&row, &key, &data); err != nil || data == nil { // Cursor deletes some by a NULL
			return err
		}
		b.addBubble(origin{table: "cursorDiskKV", key: key}, data, strings.TrimPrefix(key, bubbleKey(id, "")), row)
		return nil
	}, "rowid, key, value", "cursorDiskKV WHERE key >= ? AND key < ?", bubbleKey(id, ""), bubblePrefix+id+";")
	if err != nil {
		return err
	}
	if lost > 0 {
		s.Fault(chat.FaultDatabase, model.Loses, id, model.Count(lost, "row")+" of messages cannot be read", "SQLite reads what it can")
	}
	if len(b.list) > 0 && (!found || damaged != nil) {
		s.Fault(FaultStray, model.Loses, id, "the session has no row that can be read, and was found by its messages", "Cursor does not list it")
	}
	if i, there := b.at[lastOf(b.names)]; there {
		b.list[i].Facts.Count(model.Counted{Context: v.Get("contextTokensUsed").Number()})
	}
	return nil
}

func lastOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// addInline adds the messages that stand in the record of the session.
func (b *build) addInline(from origin, record chat.Value) {
	n := int64(0)
	for v := range tabMessages(record) {
		n++
		from.span = v.Span()
		id := cmp.Or(v.Get("bubbleId").Text(), v.Get("id").Text(), fmt.Sprintf("message-%d", n))
		for b.hasMessage(id) {
			id += "~"
		}
		b.addBubble(from, v.Raw(), id, n)
		b.names = append(b.names, id)
	}
}

func (b *build) hasMessage(id string) bool { _, there := b.at[id]; return there }

// addBubble adds a message of the editor. What it is called in its key may be another name than it has itself.
func (b *build) addBubble(from origin, data []byte, id string, row int64) {
	v, err := chat.Parse(data)
	if own := v.Get("bubbleId").Text(); own != "" && !slices.Contains(b.names, id) && slices.Contains(b.names, own) {
		id = own
	}
	m, results := bubbleMessage(v)
	b.meta = b.meta.With(chat.Meta{Model: m.Model, Dir: v.Get("workspaceProjectDir").Text()})
	e := chat.Entry{ID: id, Said: m.Summarise(), Version: chat.Sum([][]byte{data}), Meta: b.meta, Own: &from}
	e.Said.Results = results.Summarise().Results
	timing := v.Get("timingInfo")
	e.At = chat.FirstTime(v.Get("createdAt"), v.Get("timestamp"), timing.Get("clientRpcSendTime"), timing.Get("clientSettleTime"), timing.Get("clientEndTime"))
	if err != nil {
		e.Marks |= model.MarkDamaged
		b.session.Fault(FaultMessage, model.Loses, id, "the message cannot be read", agent.Passes)
	}
	e.Facts.Add("checkpoint of files", v.Get("checkpointId").Text())
	e.Facts.Add("decision of the person", v.Get("toolFormerData", "userDecision").Text())
	b.add(e, row)
}

// origin is where the message of an entry stands: in a column of a row, or in a span of it.
type origin struct {
	table, key string
	span       chat.Span
}

// read returns the message.
func (o *origin) read(ctx context.Context, t *sqlitefile.Tx) (data []byte, err error) {
	query, args := "SELECT value FROM "+o.table+" WHERE key = ?", []any{o.key}
	switch {
	case o.table == "blobs":
		query = "SELECT data FROM blobs WHERE id = ?"
	case o.span.Len > 0:
		query, args = "SELECT substr(CAST(value AS BLOB), ?, ?) FROM "+o.table+" WHERE key = ?", []any{o.span.At + 1, o.span.Len, o.key}
	}
	if found, err := t.First(ctx, []any{&data}, query, args...); err != nil || !found {
		return nil, cmp.Or(err, errGone)
	}
	return data, nil
}

var errGone = errors.New("the message is gone from the database")

// Mark implements chat.Marker: Cursor writes over a message as it grows.
func (f *format) Mark(ctx context.Context, at chat.Spot) (mark string, err error) {
	if at.Part == "" || strings.HasPrefix(at.Part, tabMark) {
		return "", nil
	}
	err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		return t.Row(ctx, `SELECT ifnull((SELECT octet_length(value) || ' ' || iif(json_valid(value), json_extract(value, '$.lastUpdatedAt'), '') FROM cursorDiskKV WHERE key = ?), '')
			|| ' ' || count(*) || ' ' || ifnull(max(rowid), 0) || ' ' || ifnull(sum(octet_length(value)), 0) FROM cursorDiskKV WHERE key >= ? AND key < ?`,
			composerPrefix+at.Part, bubbleKey(at.Part, ""), bubblePrefix+at.Part+";").Scan(&mark)
	})
	if isUnreadable(err) {
		return "", nil
	}
	return mark, err
}

// Messages implements chat.Format. The result of a tool stands in the record of its call, and is a message behind it.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	if len(e.Records) > 0 {
		list, err := chat.Values(in.Tree, e.File, e.Records)
		if err != nil {
			return nil, err
		}
		m, _ := lineMessage(list[0])
		return []chat.Message{m}, nil
	}
	ctx, o := context.Background(), e.Own.(*origin) // it is one row
	var data []byte
	if err := f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) (err error) {
		data, err = o.read(ctx, t)
		return err
	}); err != nil {
		return nil, err
	}
	if o.table == "blobs" {
		v, _ := leafOf(data)
		m, _ := lineMessage(v)
		return []chat.Message{m}, nil
	}
	v, err := chat.Parse(data)
	m, results := bubbleMessage(v)
	if err != nil {
		m.Raw = [][]byte{quoted(string(data))}
	}
	if m.Role == chat.Assistant && e.Meta != nil {
		m.Model = cmp.Or(m.Model, e.Meta.Model)
	}
	if len(results.Blocks) > 0 {
		return []chat.Message{m, results}, nil
	}
	return []chat.Message{m}, nil
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(ctx context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	if s.Spot.Part == "" && path.Base(s.Spot.File) != chatFile {
		return chat.CarriedIn(ctx, in, s.Spot.File, false, func(v chat.Value) (string, []chat.Value) {
			return cmp.Or(v.Get("type").Text(), v.Get("role").Text()), []chat.Value{v}
		})
	}
	err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) error {
		list = nil
		for i := range s.Entries {
			o, is := s.Entries[i].Own.(*origin)
			if !is {
				continue
			}
			data, err := o.read(ctx, t)
			if err != nil && !isUnreadable(err) {
				return err
			}
			v, _ := leafOf(data)
			if c, says := chat.CarriedOf(s.Spot.File, s.Entries[i].ID, "message", v); says {
				list = append(list, c)
			}
		}
		return nil
	})
	return list, err
}
