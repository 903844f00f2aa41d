package openaiagents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/weavetest"
)

// recorded returns the path of a store that the SDK wrote.
func recorded(name string) string {
	return filepath.Join("..", "..", "..", "testdata", "openaiagents", name)
}

func open(t testing.TB, path string) store.Store {
	return storetest.OpenStore(t, Kind(nil, "").Kind, path)
}

// texts returns the words of the messages of a state, and the types of its other items.
func texts(t *testing.T, state string) (list []string) {
	t.Helper()
	var of struct{ Messages []map[string]any }
	if err := json.Unmarshal([]byte(state), &of); err != nil {
		t.Fatal(err)
	}
	for _, m := range of.Messages {
		switch content := m["content"].(type) {
		case string:
			list = append(list, content)
		case []any:
			list = append(list, content[0].(map[string]any)["text"].(string))
		default:
			list = append(list, fmt.Sprint(m["type"]))
		}
	}
	return list
}

// The state of an item is what stands before it in its branch, with it.
func TestState(t *testing.T) {
	for _, c := range []struct {
		store string
		index int
		want  []string
	}{
		{"sqlite_session.db", 5, []string{"hello größe", "Gern! hello größe 👋", "both please", "function_call", "function_call", "function_call_output"}},
		{"sqlalchemy.db", 2, []string{"hello größe", "Gern! hello größe 👋", "both please"}},
		{"advanced.db", 8, []string{"hello größe", "Gern! hello größe 👋", "both please", "function_call", "function_call", "function_call_output", "function_call_output", "Ergebnis: 東京: 21 °C ☀️; Zürich: 21 °C ☀️", "third"}},
		{"advanced.db", 13, []string{"hello größe", "Gern! hello größe 👋", "other second", "Gern! other second 👋", "other third", "Gern! other third 👋"}},
		{"advanced.db", 15, []string{"hello größe", "Gern! hello größe 👋", "other second", "Gern! other second 👋", "nested third", "Gern! nested third 👋"}},
	} {
		if got := texts(t, rowstest.State(t, open(t, recorded(c.store)), "tour", c.index)); !slices.Equal(got, c.want) {
			t.Errorf("%s #%d: %q, want %q", c.store, c.index, got, c.want)
		}
	}
	state := rowstest.State(t, open(t, recorded("encrypted.db")), "tour", 0)
	if !strings.HasPrefix(state, `{"messages":[{"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAAA`) {
		t.Error(state)
	}
}

// What a turn cost, which branches have an item, what was deleted, and how to go on.
func TestAbout(t *testing.T) {
	const create = `session = AdvancedSQLiteSession(session_id="tour", db_path=path); `
	advanced := open(t, recorded("advanced.db"))
	rowstest.Says(t, advanced, "tour", 1, "branches: main, alternative, nested", "tokens of the turn: 11 in, 5 out, 16 in all",
		create+`await session.create_branch_from_turn(2); await Runner.run(agent, "…", session=session)  starts a branch with what stands up to here, and takes your input as its next turn`,
		create+`await session.switch_to_branch("nested"); await session.create_branch_from_turn(2); await Runner.run(agent, "…", session=session)  starts a branch with what stands up to here, and takes your input as its next turn`)
	rowstest.Says(t, advanced, "tour", 7, "tokens of the turn: 30 in, 10 out, 40 in all")
	rowstest.Says(t, advanced, "tour", 13, "branches: alternative", "tokens of the turn: 15 in, 5 out, 20 in all",
		create+`await session.switch_to_branch("alternative"); await Runner.run(agent, "…", session=session)  takes your input as the next turn`)
	rowstest.Says(t, advanced, "tour", 17, "tokens read, of the session: 124", "tokens written, of the session: 40", create+`await Runner.run(agent, "…", session=session)  takes your input as the next turn`)
	if got := rowstest.About(t, advanced, rowstest.At(t, advanced, "tour", 3)); strings.Contains(got, "tokens") || strings.Contains(got, "await") {
		t.Errorf("within a turn: %s", got)
	}
	plain := open(t, recorded("sqlite_session.db"))
	rowstest.Says(t, plain, "tour", 14, "deleted before it: items 15 to 16")
	rowstest.Says(t, plain, "other", 1, `await Runner.run(agent, "…", session=SQLiteSession("other", path))  takes your input as the next turn`)
	if got := rowstest.About(t, plain, rowstest.At(t, plain, "tour", 13)); got != "" {
		t.Errorf("the SDK cannot go back to an item, and says %s", got)
	}
	rowstest.Says(t, open(t, recorded("encrypted.db")), "tour", 1, `await Runner.run(agent, "…", session=EncryptedSession("tour", SQLiteSession("tour", path), encryption_key=…))  takes your input as the next turn`)
	rowstest.Says(t, open(t, recorded("sqlalchemy.db")), "tour", 7, `await Runner.run(agent, "…", session=SQLAlchemySession.from_url("tour", url=url))  takes your input as the next turn`)
}

// A call that waits for an approval is answered from what the program saved. One that other
// items follow does not wait any more.
func TestAbout_waits(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_session.db"))
	rowstest.Execute(t, path, "DELETE FROM agent_messages WHERE id > 14")
	s := open(t, path)
	if h := rowstest.At(t, s, "tour", 13); !h.Marks.Has(model.MarkInterrupted) {
		t.Error("it does not wait")
	}
	rowstest.Says(t, s, "tour", 13, "asks: order",
		`await Runner.run(agent, state, session=SQLiteSession("tour", path))  answers the call: state is the RunState that the program saved when the run stopped`,
		`await Runner.run(agent, "…", session=SQLiteSession("tour", path))  takes your input as the next turn: the SDK leaves out the call that has no output`)
	if codes := rowstest.Faults(t, s, "tour"); codes != nil {
		t.Error(codes)
	}
	rowstest.Execute(t, path, add("tour", `{"type":"function_call","call_id":"x","name":"other"}`), add("tour", `{"type":"function_call_output","call_id":"x","output":"1"}`))
	if h := rowstest.At(t, open(t, path), "tour", 13); !h.Marks.Has(model.MarkInterrupted) {
		t.Error("it does not wait beside another call")
	}
}

// Numbers of items are those of a table, not of a session: what was popped shows beside the items of both
// sessions around it, and at the end of the table. It is a fault of the item that follows.
func TestDeleted(t *testing.T) {
	path := rowstest.Copied(t, recorded("async.db"))
	rowstest.Execute(t, path, "DELETE FROM agent_messages", add("tour", hello), add("tour", hello), add("tour", hello), add("other", hello), add("other", hello), add("other", hello),
		"DELETE FROM agent_messages WHERE id = (SELECT max(id) FROM agent_messages WHERE session_id = 'tour')",
		"DELETE FROM agent_messages WHERE id >= (SELECT max(id) - 1 FROM agent_messages)", "UPDATE agent_messages SET id = id - (SELECT min(id) - 1 FROM agent_messages)", "UPDATE sqlite_sequence SET seq = 6")
	s := open(t, path)
	rowstest.Says(t, s, "tour", 1, "deleted after it: item 3")
	rowstest.Says(t, s, "other", 0, "deleted before it: item 3", "deleted after it: items 5 to 6")
	if got := rowstest.About(t, s, rowstest.At(t, s, "tour", 0)); strings.Contains(got, "deleted") {
		t.Error(got)
	}
	if tour, other := rowstest.Faults(t, s, "tour"), rowstest.Faults(t, s, "other"); tour != nil || !slices.Equal(other, []string{FaultDeleted}) {
		t.Errorf("the faults are %q and %q", tour, other)
	}
}

// add returns the statement that adds an item to a session.
func add(session, item string) string {
	return fmt.Sprintf(`INSERT INTO agent_messages (session_id, message_data) VALUES ('%s', '%s')`, session, item)
}

const hello = `{"role": "user", "content": "hello"}`

// The tables may have any names, and there may be several sets of them.
func TestKind_renamed(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_session.db"))
	rowstest.Execute(t, path,
		`CREATE TABLE "my ""sessions" (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP)`,
		`CREATE TABLE "the messages" (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP, FOREIGN KEY (session_id) REFERENCES "my ""sessions" (session_id))`,
		`CREATE TABLE bystander (id INTEGER, session_id TEXT, message_data TEXT, created_at TEXT)`,
		`INSERT INTO "the messages" VALUES (7, 'tour', '{"role": "user", "content": "another tour"}', '2026-01-01 00:00:00')`)
	s := open(t, path)
	var got []string
	for _, info := range storetest.Sessions(t, s) {
		got = append(got, fmt.Sprintf("%s %d %s", info.ID, info.Snapshots, info.Title))
	}
	if want := []string{"other 2 hi", "tour 16 hello größe", "tour' 1 another tour"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := texts(t, rowstest.State(t, s, "tour'", 0)); !slices.Equal(got, []string{"another tour"}) {
		t.Error(got)
	}
	// The call that goes on names them.
	for session, want := range map[string]string{
		"tour":  `await Runner.run(agent, "…", session=SQLiteSession("tour", path))`,
		"tour'": `await Runner.run(agent, "…", session=SQLiteSession("tour", path, sessions_table="my \"sessions", messages_table="the messages"))`,
	} {
		headers := storetest.Headers(t, s, session)
		calls, err := s.Features().Resume(t.Context(), headers[len(headers)-1].Ref())
		if err != nil || len(calls) == 0 || calls[len(calls)-1].Call != want {
			t.Errorf("%s: %+v, %v, want %s", session, calls, err, want)
		}
	}
	alone := rowstest.Copied(t, recorded("async.db"))
	rowstest.Execute(t, alone, "ALTER TABLE agent_messages RENAME TO m", "ALTER TABLE agent_sessions RENAME TO s")
	if why, ok, err := Kind(nil, "").Recognise(t.Context(), alone); !ok || why != "a SQLite database with OpenAI Agents SDK's tables m and s" || err != nil {
		t.Error(why, ok, err)
	}
	for name, statement := range map[string]string{"no key": "DROP TABLE s", "no data": "ALTER TABLE m RENAME COLUMN message_data TO data"} {
		foreign := rowstest.Copied(t, alone)
		rowstest.Execute(t, foreign, statement)
		if why, ok, err := Kind(nil, "").Recognise(t.Context(), foreign); ok || why != "a SQLite database without OpenAI Agents SDK's tables agent_messages and agent_sessions" || err != nil {
			t.Error(name, why, ok, err)
		}
	}
}

// Branches of another set of tables are none of a session's.
func TestBranches_ofOtherTables(t *testing.T) {
	path := rowstest.Copied(t, recorded("advanced.db"))
	rowstest.Execute(t, path,
		`CREATE TABLE m (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP, FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id))`,
		`INSERT INTO m VALUES (1, 'tour', '`+hello+`', NULL), (2, 'tour', '`+hello+`', NULL)`)
	s := open(t, path)
	if got := storetest.Headers(t, s, "tour'"); len(got) != 2 || !got[1].Head || got[1].ParentID != "1" {
		t.Errorf("%+v", got)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct{ statement, fault string }{
		"no JSON":          {"UPDATE agent_messages SET message_data = '{' WHERE id = 3", rows.FaultRow},
		"another shape":    {"UPDATE agent_messages SET message_data = '[7]' WHERE id = 3", ""},
		"a number":         {"UPDATE agent_messages SET message_data = 7 WHERE id = 3", ""},
		"no number":        {`UPDATE agent_messages SET message_data = '{"role":"user","content":NaN}' WHERE id = 3`, ""},
		"no branch":        {"DELETE FROM message_structure WHERE message_id = 3", FaultStray},
		"no main":          {"DELETE FROM message_structure WHERE branch_id = 'main'", FaultStray},
		"no branches":      {"DELETE FROM message_structure", ""},
		"no item":          {"DELETE FROM agent_messages WHERE id = 3", FaultDeleted},
		"the other way":    {"UPDATE message_structure SET sequence_number = -sequence_number", ""},
		"a branch twice":   {"INSERT INTO message_structure (session_id, message_id, branch_id, message_type, sequence_number) SELECT session_id, 1, branch_id, 'user', 99 FROM message_structure", ""},
		"no usage":         {"UPDATE turn_usage SET input_tokens_details = 'x', total_tokens = NULL", ""},
		"no usage at all":  {"DROP TABLE turn_usage", ""},
		"unanswered":       {"DELETE FROM message_structure WHERE message_id IN (6, 7)", ""},
		"no time":          {"UPDATE agent_messages SET created_at = NULL WHERE id = 3", ""},
		"another start":    {add("tour", hello) + "; INSERT INTO message_structure (session_id, message_id, branch_id, message_type, sequence_number) SELECT 'tour', max(id), 'fresh', 'user', 99 FROM agent_messages", ""},
		"answer to no one": {add("tour", `{"type":"function_call_output","call_id":"none","output":"1"}`), FaultStray},
	} {
		path := rowstest.Copied(t, recorded("advanced.db"))
		rowstest.Execute(t, path, c.statement)
		s := open(t, path)
		codes := rowstest.Faults(t, s, "tour")
		if c.fault != "" && !slices.Contains(codes, c.fault) || c.fault == "" && (slices.Contains(codes, rows.FaultRow) || slices.Contains(codes, model.FaultSeveralRoots)) {
			t.Errorf("%s: the faults are %q, want %q", name, codes, c.fault)
		}
		headers := storetest.Headers(t, s, "tour")
		if !slices.ContainsFunc(headers, func(h model.Header) bool { return h.Head }) {
			t.Errorf("%s: no head", name)
		}
		for _, h := range headers {
			if got := rowstest.State(t, s, "tour", h.Index); !rows.PythonReads([]byte(got)) {
				t.Errorf("%s: %s", name, got)
			}
			rowstest.About(t, s, h)
		}
	}
}

// What is new in a session is read alone while it only grows.
func TestGrowth(t *testing.T) {
	call, output := `{"type":"function_call","call_id":"x","name":"weather","arguments":"{}"}`, `{"type":"function_call_output","call_id":"x","output":"1"}`
	rowstest.Growth(t, Kind(nil, "").Kind, rowstest.Copied(t, recorded("sqlite_session.db")), "tour", []rowstest.Change{
		{What: "nothing"},
		{What: "one more", Statements: []string{add("tour", hello)}, Fresh: 1},
		{What: "another session", Statements: []string{add("other", hello)}},
		{What: "many more", Statements: slices.Repeat([]string{add("tour", hello)}, 30), Fresh: 30},
		{What: "a call", Statements: []string{add("tour", call)}, Fresh: 1},
		{What: "it is answered", Statements: []string{add("tour", output)}, Rewritten: true},
		{What: "more after it", Statements: []string{add("tour", hello), add("tour", hello)}, Fresh: 2},
		{What: "one is popped", Statements: []string{"DELETE FROM agent_messages WHERE id = (SELECT max(id) FROM agent_messages)"}, Rewritten: true},
		{What: "and one comes", Statements: []string{add("tour", hello)}, Fresh: 1},
		{What: "an older one is gone", Statements: []string{"DELETE FROM agent_messages WHERE id = 4"}, Rewritten: true},
	})
	structure := func(message int, branch string, sequence int) string {
		return fmt.Sprintf("INSERT INTO message_structure (session_id, message_id, branch_id, message_type, sequence_number, user_turn_number, branch_turn_number) VALUES ('tour', %d, '%s', 'user', %d, 9, 9)", message, branch, sequence)
	}
	rowstest.Growth(t, Kind(nil, "").Kind, rowstest.Copied(t, recorded("advanced.db")), "tour", []rowstest.Change{
		{What: "nothing"},
		{What: "more on main", Statements: []string{add("tour", hello), structure(21, "main", 25)}, Fresh: 1},
		{What: "more on another branch", Statements: []string{add("tour", hello), structure(22, "nested", 26)}, Fresh: 1},
		{What: "a new branch", Statements: []string{structure(1, "new", 27), structure(2, "new", 28)}},
		{What: "more on it", Statements: []string{add("tour", hello), structure(23, "new", 29)}, Fresh: 1},
		{What: "a branch is deleted", Statements: []string{"DELETE FROM message_structure WHERE branch_id = 'new'", "DELETE FROM agent_messages WHERE id = 23"}, Rewritten: true},
	})
}

// While a program has the store open, each item is seen at once.
func TestLive(t *testing.T) {
	path := rowstest.Copied(t, recorded("sqlite_session.db"))
	program := sqlitefile.NewOwn(path, "&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)", nil)
	t.Cleanup(func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	})
	s := open(t, path)
	for n := 17; n < 20; n++ {
		err := program.Write(t.Context(), func(tx *sqlitefile.Tx) error {
			_, err := tx.Exec(t.Context(), add("tour", hello))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		headers := storetest.Headers(t, s, "tour")
		if len(headers) != n || !headers[n-1].Head || len(texts(t, rowstest.State(t, s, "tour", n-1))) != n {
			t.Errorf("%d items, want %d", len(headers), n)
		}
		rowstest.Faults(t, s, "tour")
	}
}

// FuzzItem reads what a row may hold.
func FuzzItem(f *testing.F) {
	for _, text := range []string{hello, `{"type":"function_call","call_id":"x","name":"n"}`, `{"type":"function_call_output","call_id":"x"}`, `{"__enc__":1}`, `{"type":7,"call_id":null}`, `[]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s session
		one := item{parent: -1, stamp: string(data)}
		if rows.PythonReads(data) {
			one.data = slices.Clone(data)
		}
		s.items = append(s.items, one, one)
		s.readCalls().isPending(0)
		one.createdAt()
		var said rows.Said
		var h model.Header
		if one.data != nil {
			said.Add(&h, one.data)
		}
	})
}

// A torn page costs the items on it.
func TestDamage_pages(t *testing.T) {
	rowstest.Torn(t, Kind(nil, "").Kind, recorded("advanced.db"), 1)
}

// What all states take follows their items.
func TestWeave(t *testing.T) {
	k := kind
	k.Format = format{inFile}
	weavetest.Weaves(t, k, "long", 0, weavetest.Grown(recorded("sqlite_session.db"), `INSERT INTO agent_messages
		SELECT NULL, 'long', json_object('role', iif(i % 2, 'user', 'assistant'), 'content', 'step ' || i), datetime(i, 'unixepoch') FROM n`))
}
