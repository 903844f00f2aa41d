// Package openaiagents reads the sessions that OpenAI's Agents SDK keeps in SQLite: of
// SQLiteSession, AsyncSQLiteSession, AdvancedSQLiteSession and SQLAlchemySession, and what
// EncryptedSession makes of them. Those of SQLAlchemySession may be in PostgreSQL, too.
//
//	OpenAI Agents                             Hindcast
//	session_id                                session
//	an item of the messages' table            snapshot: its state has the items up to it
//	a message of the user                     a turn begins
//	message_structure: (branch, message)      the tree: branches share the items before they part
//	the last item of "main"                   head: a new session object is on no other branch
//	turn_usage                                tokens of a turn
//	a call of a function without its output   a question that waits, where nothing follows it
//
// The tables may have other names, and are found by their columns. Ids that are missing
// are the only trace of items that pop_item or clear_session deleted.
package openaiagents

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
	"hindcast/store/media/sqlitefile"
)

// The tables, by the names that they have by default.
const sessions, messages = "agent_sessions", "agent_messages"

var kind = rows.Kind{
	Name: "openai-agents", Framework: "OpenAI Agents SDK",
	IDs:  "the item's number in its table",
	Does: []model.Op{model.OpFork, model.OpRepair, model.OpContinue},
	Refuses: map[model.Op]string{
		model.OpRestore: "a session of the OpenAI Agents SDK goes back by deleting its items alone, and those are gone then: fork it instead, an AdvancedSQLiteSession also as SESSION/BRANCH",
	},
	Tables: map[string]string{
		sessions: "session_id created_at updated_at",
		messages: "id session_id message_data created_at",
	},
	Held: []engine.RowSet{
		{Table: sessions, Where: "session_id = ?1"}, {Table: messages, Where: "session_id = ?1"}, {Table: "message_structure", Where: "session_id = ?1"},
		{Table: "turn_usage", Where: "session_id = ?1"}, {Table: "branch_reservations", Where: "session_id = ?1"},
		{Table: "session_clear_generations", Where: "session_id = ?1"},
	},
	Make: func(ctx context.Context, path string) error {
		return sqlitefile.CreateFile(ctx, path, schema, "")
	},
	Large:   []string{"message_data"},
	Renamed: true, Seconds: true, Snapshots: messages, Key: []string{"session_id"}, ID: "id",
	Damage: model.Fault{Severity: model.Loses, Meaning: "the item is no JSON", Verdict: "passes over the item"},
}

// schema makes the tables as SQLiteSession does.
const schema = `CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
		CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
			FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id) ON DELETE CASCADE);
		CREATE INDEX idx_agent_messages_session_id ON agent_messages (session_id, id);`

// Kind describes the sessions of the OpenAI Agents SDK in a SQLite file, and those of SQLAlchemySession in a database
// on a server, in tables of the names that they have by default. data is the user's folder for data.
func Kind(cache *files.Cache, data string) engine.Kind {
	k, on := kind, kind
	k.Format, k.Cache = format{inFile}, cache
	// What transactions add at the same time has numbers in another order than times, and the SDK reads by time.
	on.Order, on.Format = []string{"created_at", "id"}, served{format{onServer}}
	return k.Kind(&on, data)
}

// Codes of faults.
const (
	// FaultDeleted: items of a session were deleted.
	FaultDeleted = "deleted-items"
	// FaultStray: an item is in no branch.
	FaultStray = "stray-item"
)

// format implements rows.Format.
type format struct {
	// class reads which class of the SDK wrote the tables.
	class func(context.Context, rows.Tx, rows.Place) (class, error)
}

func (f format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	s, err := f.loadSession(ctx, t, at, from)
	if err != nil || from != "" && s.branches != nil {
		return log, err // branches are read whole
	}
	calls := s.calls()
	log.Facts = model.HeadFacts{Newest: s.branches == nil, Pointed: s.branches != nil}
	var said rows.Said
	for i := range s.items {
		one := &s.items[i]
		h := model.Header{ID: one.id, CreatedAt: one.createdAt(), Index: s.first + i, Event: model.SnapshotEventNamed, EventName: "message", Head: s.branches != nil && i == s.head}
		switch {
		case one.data == nil:
			h.Marks |= model.MarkDamaged
		case calls.of[i].encrypted:
			log.Opaque = "tokens of EncryptedSession"
		default:
			if said.Add(&h, one.data); h.Marks.Has(model.MarkError) {
				h.Marks |= model.MarkInferred // no item says that a tool failed: its text does
			}
		}
		if one.parent >= 0 {
			h.ParentID = s.items[one.parent].id
		}
		if calls.isPending(i) {
			h.Marks |= model.MarkInterrupted
		}
		if one.stray {
			h.Orphaned = true
		} else if s.branches != nil {
			h.Reason = &model.Reason{Kind: model.ReasonSecondLeaf}
		}
		if i < s.skip {
			continue
		}
		log.AddRow(h, one.size)
	}
	log.Title = said.Title()
	return log, nil
}

// loadWhole reads all of a session, unless it was read and the file is as it was.
func (f format) loadWhole(ctx context.Context, t rows.Tx, at rows.Place) (*session, error) {
	return rows.Keep(t, at.ID, func() (*session, error) { return f.loadSession(ctx, t, at, "") })
}

// findItem reads a session, and returns the place in it of the snapshot with an id.
func (f format) findItem(ctx context.Context, t rows.Tx, at rows.Place, id string) (*session, int, error) {
	return rows.Find(t, at, id, func() (*session, error) { return f.loadSession(ctx, t, at, "") })
}

// Find returns the index of an id, or -1.
func (s *session) Find(id string) int {
	return slices.IndexFunc(s.items, func(one item) bool { return one.id == id })
}

// lists describes the states of a session.
func (s *session) lists() *rows.Lists {
	return &rows.Lists{
		Begin: `{"messages":[`, End: func(int) string { return "]}" }, Len: len(s.items),
		ID:     func(i int) string { return s.items[i].id },
		Before: func(i int) int { return s.items[i].parent },
		Item:   func(i int) []byte { return s.items[i].data },
	}
}

func (f format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	s, err := f.loadWhole(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return s.lists().State(id)
}

// Weave implements rows.Weaver.
func (f format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	s, err := f.loadWhole(ctx, t, at)
	if err != nil {
		return err
	}
	s.lists().Weave(ids, to)
	return nil
}

func (f format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	s, i, err := f.findItem(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	one := &s.items[i]
	about.Facts.Add("branches", conversation.List(one.branches, conversation.OneLine))
	if s.endsTurn(i) {
		used, err := usedBy(ctx, t, ofBranch+" AND user_turn_number = ?", at.Key[0], one.branches[0], one.turn)
		if err != nil {
			return about, err
		}
		about.Facts.AddFact(model.TokensFact("tokens of the turn", "tokens", slices.DeleteFunc(used, func(n model.Number) bool { return n.Value == 0 })))
	}
	if s.branches != nil && i == s.head {
		used, err := usedBy(ctx, t, ofSession, at.Key...)
		if err != nil {
			return about, err
		}
		about.Facts.Count(model.Counted{Read: used[0].Value, Written: used[1].Value, FromCache: used[3].Value})
	}
	gaps, err := findDeleted(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	for _, g := range gaps {
		about.Facts.Add("deleted before it", g.gapText())
	}
	g, is, err := s.deletedBehind(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	if is {
		about.Facts.Add("deleted after it", g.gapText())
	}
	if calls := s.calls(); calls.isPending(i) {
		about.Facts.Add("asks", calls.of[i].function)
	}
	about.Resume = s.resumeCalls(at, i)
	return about, nil
}

// usedBy returns the tokens of the turns that a condition fits: read, written, all, and those of the first that came from a cache.
func usedBy(ctx context.Context, t rows.Tx, where string, args ...any) (counts []model.Number, err error) {
	counts = []model.Number{{Key: "input"}, {Key: "output"}, {Key: "total"}, {Key: "cacheRead"}}
	if has, err := t.Columns(ctx, usage); err != nil || !has["input_tokens_details"] {
		return counts, err
	}
	err = t.Row(ctx, `SELECT ifnull(sum(input_tokens), 0), ifnull(sum(output_tokens), 0), ifnull(sum(total_tokens), 0), ifnull(sum(iif(json_valid(input_tokens_details), json_extract(input_tokens_details, '$.cached_tokens'), 0)), 0)
		FROM turn_usage`+where, args...).Scan(&counts[0].Value, &counts[1].Value, &counts[2].Value, &counts[3].Value)
	return counts, err
}

// gap is ids beside an item that no item has: from is the first of them.
type gap struct {
	id       string
	from, to int64
}

func (g gap) gapText() string {
	if g.from == g.to {
		return "item " + strconv.FormatInt(g.to, 10)
	}
	return fmt.Sprintf("items %d to %d", g.from, g.to)
}

// findDeleted returns where items were deleted before those of a session, or before one. The sessions of a table share
// its numbers.
func findDeleted(ctx context.Context, t rows.Tx, at rows.Place, id string) (gaps []gap, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		var g gap
		err := scan(&g.id, &g.from, &g.to)
		gaps = append(gaps, g)
		return err
	}, `SELECT id, before + 1, id - 1 FROM (SELECT id, session_id, lag(id, 1, 0) OVER (ORDER BY id) AS before FROM `+at.Table(messages)+` WHERE id > 0) r
		WHERE session_id = ?1 AND id > before + 1 AND (?2 = '' OR CAST(id AS TEXT) = ?2)`, at.Key[0], id)
	return gaps, err
}

// deletedBehind returns the items that were deleted behind one that no other of its session follows: before one of
// another session, or at the end of the table, which is not known of a sequence.
func (s *session) deletedBehind(ctx context.Context, t rows.Tx, at rows.Place, id string) (g gap, is bool, err error) {
	if g.from, err = strconv.ParseInt(id, 10, 64); err != nil || g.from < 0 {
		return g, false, nil // a copy
	}
	g.from++
	var next int64
	var follows bool
	table := at.Name(messages)
	found, err := t.First(ctx, []any{&next, &follows}, "SELECT id, session_id = ? FROM "+rows.QuoteName(table)+" WHERE id >= ? ORDER BY id LIMIT 1", at.Key[0], g.from)
	if err == nil && !found && !s.sequenced {
		next, err = lastNumber(ctx, t, table)
		next++
	}
	g.to = next - 1
	return g, !follows && g.from <= g.to, err
}

// Faults implements rows.Doctor.
func (f format) Faults(ctx context.Context, t rows.Tx, at rows.Place) (faults []model.Fault, err error) {
	s, err := f.loadWhole(ctx, t, at)
	if err != nil {
		return nil, err
	}
	gaps, err := findDeleted(ctx, t, at, "") // what was popped at the end is no fault, but a fact
	for _, g := range gaps {
		faults = append(faults, model.Fault{Code: FaultDeleted, Severity: model.Odd, File: g.id, Meaning: g.gapText() + " before it were deleted: by pop_item, by clear_session of another session, or by an undo of a fork", Verdict: "goes on without them"})
	}
	for i := range s.items {
		if one := &s.items[i]; one.stray {
			faults = append(faults, model.Fault{Code: FaultStray, Severity: model.Loses, File: one.id, Meaning: "the item is in no branch", Verdict: "AdvancedSQLiteSession does not load it"})
		}
	}
	return faults, err
}

// resumeCalls returns the calls that go on from an item: from the end of a branch, or before a
// message of the user in one.
func (s *session) resumeCalls(at rows.Place, i int) (calls []model.Resume) {
	id := quoteJSON(at.Key[0].(string))
	tables := "" // where they have other names than the SDK gives them
	if at.Name(sessions) != sessions || at.Name(messages) != messages {
		tables = fmt.Sprintf(", sessions_table=%s, messages_table=%s", quoteJSON(at.Name(sessions)), quoteJSON(at.Name(messages)))
	}
	object, create := fmt.Sprintf(s.create, id, tables), ""
	if s.branches != nil {
		object, create = "session", fmt.Sprintf("session = AdvancedSQLiteSession(session_id=%s, db_path=path%s); ", id, tables)
	}
	if s.calls().of[i].encrypted {
		object = fmt.Sprintf("EncryptedSession(%s, %s, encryption_key=…)", id, object)
	}
	run := func(before, input, then string) {
		calls = append(calls, model.Resume{Call: before + "await Runner.run(agent, " + input + ", session=" + object + ")", Then: then})
	}
	end := func(before string) {
		if s.calls().isPending(i) {
			run(before, "state", "answers the call: state is the RunState that the program saved when the run stopped")
			run(before, `"…"`, "takes your input as the next turn: the SDK leaves out the call that has no output")
			return
		}
		run(before, `"…"`, "takes your input as the next turn")
	}
	if s.branches == nil {
		if i == s.head {
			end("")
		}
		return calls
	}
	for _, b := range s.items[i].branches {
		path := s.branches[b]
		k := slices.IndexFunc(path, func(p place) bool { return p.item == i })
		before := create
		if b != mainBranch {
			before += "await session.switch_to_branch(" + quoteJSON(b) + "); "
		}
		if k == len(path)-1 {
			end(before)
		} else if next := path[k+1]; next.user {
			run(fmt.Sprintf("%sawait session.create_branch_from_turn(%d); ", before, next.branchTurn), `"…"`, "starts a branch with what stands up to here, and takes your input as its next turn")
		}
	}
	return calls
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }

// textMember returns the text of a member of an object, "" for anything else.
func textMember(data []byte, key string) string {
	if value := jsontape.FindMember(data, `"`+key+`"`); bytes.HasPrefix(value, []byte(`"`)) {
		return jsontape.Unquote(value)
	}
	return ""
}
