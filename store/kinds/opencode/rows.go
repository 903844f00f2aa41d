package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/media/tree"
)

// origin says where the records of a message are: in rows, in the log of events, or in a file.
type origin struct {
	id string
	// upto leaves out the parts from that one on, of rows.
	upto string
	// seqs are events: that of the message, and those of its parts.
	seqs  []int64
	spans []chat.Span
	// newer says that they are of opencode 2.
	newer bool
	// started are the ids of the sub-agents that the message started.
	started []string
}

// readMessage returns the records of a message from the database.
func (o *origin) readMessage(ctx context.Context, t *sqlitefile.Tx, session string) (stored, error) {
	m := stored{id: o.id}
	if o.seqs == nil {
		list, _, err := rowsOf(ctx, t, session, o.id)
		if len(list) > 0 {
			m = list[0]
		}
		return m, err
	}
	for _, seq := range o.seqs {
		var data []byte
		if _, err := t.First(ctx, []any{&data}, "SELECT data FROM event WHERE aggregate_id = ? AND seq = ?", session, seq); err != nil {
			return m, err
		}
		m.learnEvent(data)
	}
	m.learnRecord()
	return m, nil
}

// learnEvent adds what an event says of a message: its record, or that of a part.
func (m *stored) learnEvent(data []byte) {
	if info := jsontape.FindMember(data, `"info"`); info != nil {
		m.info = info
	} else if p := jsontape.FindMember(data, `"part"`); p != nil {
		m.parts = append(m.parts, part{jsontape.Unquote(jsontape.FindMember(p, `"id"`)), p})
	}
}

// rowsOf returns the messages of a session in order, including messages that have only parts. With an id it
// returns that message only. A row may have any value in any column; lost counts rows on damaged pages.
func rowsOf(ctx context.Context, t *sqlitefile.Tx, session string, id ...string) (list []stored, lost int, err error) {
	newer, err := isNewer(ctx, t, session)
	if err == nil && newer {
		return newerRows(ctx, t, session, id...)
	}
	if older, err := chat.HasTables(ctx, t, olderTables); err != nil || !older {
		return nil, 0, err
	}
	ofMessage, ofPart, args := "session_id = ?", "session_id = ?", []any{session}
	if len(id) > 0 { // the plus keeps SQLite from going over all parts of the session
		ofMessage, ofPart, args = "+session_id = ? AND id IS nullif(?, '')", "+session_id = ? AND message_id IS nullif(?, '')", append(args, id[0])
	}
	at := map[string]int{}
	lost, err = t.Salvage(ctx, func(scan func(...any) error) error {
		var m stored
		err := scan(&m.id, &m.created, &m.info)
		m.info = withIDs(m.info, "id", m.id, "sessionID", session)
		if m.info == nil {
			m.info = []byte{}
		}
		at[m.id] = len(list)
		list = append(list, m)
		return err
	}, "ifnull(id, ''), ifnull(CAST(time_created AS INTEGER), 0), data", "message WHERE "+ofMessage, args...)
	if err != nil {
		return nil, lost, err
	}
	more, err := t.Salvage(ctx, func(scan func(...any) error) error {
		var p part
		var message string
		err := scan(&p.id, &message, &p.data)
		i, there := at[message]
		if !there {
			i, at[message] = len(list), len(list)
			list = append(list, stored{id: message})
		}
		p.data = withIDs(p.data, "id", p.id, "sessionID", session, "messageID", message)
		list[i].parts = append(list[i].parts, p)
		return err
	}, "ifnull(id, ''), ifnull(message_id, ''), data", "part WHERE "+ofPart, args...)
	slices.SortFunc(list, func(a, b stored) int { return strings.Compare(a.id, b.id) })
	latest := int64(0)
	for i := range list {
		m := &list[i]
		if m.info == nil { // what has only parts comes where its id says
			m.created = latest
		}
		latest = max(latest, m.created)
		slices.SortFunc(m.parts, func(a, b part) int { return strings.Compare(a.id, b.id) })
	}
	slices.SortFunc(list, func(a, b stored) int { return byTime(&a, &b) })
	return list, lost + more, err
}

// ignoreUnreadable returns the error of a query, or nil if the query met an unreadable row. Other queries read
// the rows that it did not reach.
func ignoreUnreadable(err error) error {
	if sqlitefile.IsDamage(err) || sqlitefile.TooLarge(err) {
		return nil
	}
	return err
}

// rowOf returns the record of a session as opencode exports it: that of its row, else of its
// last event, none where there is neither. listed says that it has a row.
func rowOf(ctx context.Context, t *sqlitefile.Tx, session string) (is info, listed bool, err error) {
	var row map[string]any
	newer, err := isNewer(ctx, t, session)
	older, failed := chat.HasTables(ctx, t, olderTables)
	if err = cmp.Or(err, failed); err != nil {
		return is, false, err
	}
	table := "session"
	if newer {
		table = "session_v2"
	}
	if newer || older {
		err = t.Records(ctx, func(r map[string]any) error { row = r; return nil }, "SELECT * FROM "+table+" WHERE id = ?", session)
	}
	if ignoreUnreadable(err) != nil {
		return is, false, err
	}
	if row == nil {
		logged, err := hasEvents(ctx, t)
		var data []byte
		if err == nil && logged {
			_, err = t.First(ctx, []any{&data}, "SELECT data FROM event WHERE aggregate_id = ? AND type LIKE 'session.%' ORDER BY seq DESC LIMIT 1", session)
		}
		return parseInfo(jsontape.FindMember(data, `"info"`)), false, ignoreUnreadable(err)
	}
	one := map[string]any{"time": map[string]any{}, "tokens": map[string]any{}}
	for column, value := range row {
		to, key := one, column
		if group, name, _ := strings.Cut(column, "_"); one[group] != nil && name != "" {
			to, key = one[group].(map[string]any), name
		} else if name := names[column]; name != "" {
			key = name
		}
		text, isText := value.(string)
		switch {
		case value == nil || column == "summary_diffs": // as long as the files that changed
		case isText && objects[key] && json.Valid([]byte(text)):
			to[key] = json.RawMessage(text)
		case !isText || !objects[key]:
			to[key] = value
		}
	}
	text, err := json.Marshal(one)
	return parseInfo(text), true, err
}

// names maps columns of a session to their names in an export. Other columns keep their name without "time_"
// or "tokens_". objects are the columns that hold JSON.
var (
	names   = map[string]string{"project_id": "projectID", "parent_id": "parentID", "workspace_id": "workspaceID"}
	objects = map[string]bool{"model": true, "permission": true, "metadata": true, "revert": true}
)

// Mark implements chat.Marker: opencode sets the time of each row that it changes.
func (f *format) Mark(ctx context.Context, at chat.Spot) (mark string, err error) {
	id := path.Base(at.Part)
	err = f.Query(ctx, at.File, func(t *sqlitefile.Tx) error {
		row, _, err := rowOf(ctx, t, id)
		if mark = string(row.Raw()); err != nil {
			return err
		}
		const rows = "SELECT count(*) || ' ' || ifnull(sum(time_updated), 0) || ' ' || ifnull(sum(octet_length(data)), 0) FROM "
		var queries []string
		if older, err := chat.HasTables(ctx, t, olderTables); err != nil {
			return err
		} else if older {
			queries = append(queries, rows+"message WHERE session_id = ?", rows+"part WHERE session_id = ?")
		}
		if newer, err := chat.HasTables(ctx, t, newerTables); err != nil {
			return err
		} else if newer {
			queries = append(queries, rows+"session_message WHERE session_id = ?")
		}
		if logged, err := hasEvents(ctx, t); err != nil {
			return err
		} else if logged {
			queries = append(queries, "SELECT count(*) || ' ' || ifnull(max(seq), 0) FROM event WHERE aggregate_id = ?")
		}
		for _, query := range queries {
			var text string
			if err := ignoreUnreadable(t.Row(ctx, query, id).Scan(&text)); err != nil {
				return err
			}
			mark += "\n" + text
		}
		return nil
	})
	return mark, err
}

// noteChildren notes the sub-agents that entries started: a copy names those of the session that it
// was made from. One that is nowhere is left out.
func (f *format) noteChildren(ctx context.Context, in engine.In, s *chat.Session) error {
	if !slices.ContainsFunc(s.Entries, func(e chat.Entry) bool { return len(e.Own.(*origin).started) > 0 }) {
		return nil
	}
	names, err := f.Names(ctx, in)
	parents := map[string]string{}
	for i := 0; err == nil && i < len(names); i++ {
		err = f.Query(ctx, names[i], func(t *sqlitefile.Tx) error {
			for i := range s.Entries {
				for _, child := range s.Entries[i].Own.(*origin).started {
					if err := noteAncestors(ctx, t, parents, child); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	for i := range s.Entries {
		for _, child := range s.Entries[i].Own.(*origin).started {
			if _, known := parents[child]; known {
				s.Entries[i].Starts(chat.NestedID(parents, child))
			} else if beside := f.Spot(tree.Join(path.Dir(s.Spot.File), child+".json")); sessionID().MatchString(child) {
				if one, _ := f.readHead(in, beside.File); one.sessionID() == child {
					s.Entries[i].Starts(f.ID(in, beside))
				}
			}
		}
	}
	return err
}

// noteAncestors notes the parent of a session that has a row, and those of its parents.
func noteAncestors(ctx context.Context, t *sqlitefile.Tx, parents map[string]string, session string) error {
	for at := session; at != ""; {
		if _, known := parents[at]; known {
			return nil
		}
		row, there, err := rowOf(ctx, t, at)
		parent := row.Get("parentID").Text()
		if !there || err != nil {
			return ignoreUnreadable(err)
		}
		parents[at], at = parent, parent
	}
	return nil
}

// source is of the messages of one session what they were copied from, see copiedFrom.
type source struct {
	of   *chat.Session
	from map[string]string
}

// Tell implements chat.Teller. What a message was copied from is looked for among all sessions, and
// so is not read with each.
func (f *format) Tell(ctx context.Context, _ engine.In, s *chat.Session, e *chat.Entry) (facts model.Facts, err error) {
	if s.Spot.Part == "" {
		return nil, nil
	}
	f.mu.Lock()
	last := f.source
	f.mu.Unlock()
	if last.of != s {
		last = source{of: s}
		id := path.Base(s.Spot.Part)
		err = f.Query(ctx, s.Spot.File, func(t *sqlitefile.Tx) (err error) {
			if newer, err := isNewer(ctx, t, id); err != nil || newer { // it names what it was forked from
				return err
			}
			b := build{session: &chat.Session{}, unknown: map[string]int{}}
			if _, err = b.addRows(ctx, t, id); err == nil {
				_, err = b.addDeleted(ctx, t, id)
			}
			if err == nil {
				b.sortMessages()
				last.from, err = b.copiedFrom(ctx, t, id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.source = last
		f.mu.Unlock()
	}
	if from := last.from[e.Own.(*origin).id]; from != "" {
		facts.Add("copied from", from+" (inferred)")
	}
	return facts, nil
}

// copiedFrom returns the session that messages were copied from, by their ids. opencode does not
// note it: a session that was made before has, or had, messages of the same roles, times and texts.
func (b *build) copiedFrom(ctx context.Context, t *sqlitefile.Tx, session string) (map[string]string, error) {
	if len(b.list) == 0 {
		return nil, nil
	}
	logged, err := hasEvents(ctx, t)
	if err != nil {
		return nil, err
	}
	first := b.list[0].created // of a copy it is that of the original
	deletes, had, args := "0", "0", []any{session, first}
	if logged {
		deletes = "EXISTS (SELECT 1 FROM event e WHERE e.aggregate_id = o.id AND e.type GLOB 'message.removed*')"
		had = "EXISTS (SELECT 1 FROM event e WHERE e.aggregate_id = o.id AND e.type GLOB 'message.updated*' AND instr(e.data, ?))"
		args = append(args, fmt.Sprintf(`"created":%d`, first))
	}
	var older []string
	cut := map[string]bool{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var id string
		var deletes bool
		err := scan(&id, &deletes)
		older, cut[id] = append(older, id), deletes
		return err
	}, "SELECT ifnull(o.id, ''), "+deletes+` AS deletes FROM session o, session s WHERE s.id = ? AND (o.time_created, o.rowid) < (s.time_created, s.rowid)
		AND (EXISTS (SELECT 1 FROM message m WHERE m.session_id = o.id AND m.time_created = ?) OR deletes AND `+had+`)
		ORDER BY o.time_created, o.rowid LIMIT `+fmt.Sprint(mostOlder), args...)
	if ignoreUnreadable(err) != nil {
		return nil, err
	}
	mine, copied := map[string][]string{}, map[string]string{}
	for i := range b.list {
		if m := &b.list[i]; m.created > 0 && len(older) > 0 {
			mine[m.copyKey()] = append(mine[m.copyKey()], m.id)
		}
	}
	for _, id := range older {
		other := build{session: &chat.Session{}, unknown: map[string]int{}}
		if _, err = other.addRows(ctx, t, id); err == nil && cut[id] {
			_, err = other.addDeleted(ctx, t, id)
		}
		if err != nil {
			return nil, err
		}
		has, these := map[string]bool{}, map[string]string{}
		for i := range other.list {
			has[other.list[i].copyKey()] = true
		}
		for mark, messages := range mine {
			for i := 0; has[mark] && i < len(messages); i++ {
				these[messages[i]] = id
			}
		}
		if len(these) > len(copied) {
			copied = these
		}
	}
	return copied, nil
}

// mostOlder bounds the sessions that one is compared with.
const mostOlder = 16

// copyKey identifies a message across copies: its time, its role and its text.
func (m *stored) copyKey() string {
	mark := fmt.Sprintf("%d\x00%s", m.created, jsontape.FindMember(m.info, `"role"`))
	for i := range m.parts {
		if text := jsontape.FindMember(m.parts[i].data, `"text"`); text != nil {
			mark += "\x00" + string(text)
		}
	}
	return mark
}
