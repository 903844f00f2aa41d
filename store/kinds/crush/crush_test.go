package crush

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
)

const fixture = "../../../testdata/coding/crush"

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

// A database whose tables are still in its log alone is crush's, and has no session.
func TestRead_tablesInTheLog(t *testing.T) {
	dir := storetest.Copy(t, "testdata/wal-only-empty")
	defer storetest.Untouched(t, dir)()
	why, ok, err := Kind(nil).Recognise(t.Context(), dir)
	if !ok || err != nil || why == "" {
		t.Errorf("recognised %v because of %q, %v", ok, why, err)
	}
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, faults := storetest.Sessions(t, s), storetest.Faults(t, s, ""); len(list)+len(faults) > 0 {
		t.Errorf("it has the sessions %v and the faults %v", list, faults)
	}
}

// crush takes the closest folder from that of work on up, and none of the home folder's.
func TestPlaces(t *testing.T) {
	home := filepath.FromSlash("/home/u")
	for work, want := range map[string][]string{
		"":               nil,
		"/home/u":        {"/home/u/.crush"},
		"/home/u/p/a":    {"/home/u/p/a/.crush", "/home/u/p/.crush"},
		"/srv/p":         {"/srv/p/.crush", "/srv/.crush", "/.crush"},
		"/home/user/p":   {"/home/user/p/.crush", "/home/user/.crush", "/home/.crush", "/.crush"},
		"/home/u[1]/dir": {"/home/u[1]/dir/.crush", "/home/u[1]/.crush", "/home/.crush", "/.crush"},
	} {
		for i := range want {
			want[i] = filepath.FromSlash(want[i])
		}
		same(t, "from "+work, Kind(nil).Places(store.Surroundings{Home: home, Work: filepath.FromSlash(work)}), want)
	}
}

// What crush has written and not yet moved from its log into the database is read, and is
// not moved.
func TestRead_rowsInTheLog(t *testing.T) {
	dir := storetest.Copy(t, "testdata/wal-only-empty")
	db := sqlitefile.NewOwn(filepath.Join(dir, "crush.db"), "&_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)", nil)
	defer db.Close()
	if err := db.Write(t.Context(), func(tx *sqlitefile.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO sessions (id, title, created_at, updated_at) VALUES ('s', 'in the log', 1754709060, 1754709060)")
		_, failed := tx.Exec(t.Context(), `INSERT INTO messages (id, session_id, role, parts, created_at, updated_at) VALUES ('m', 's', 'user', '[{"type":"text","data":{"text":"hello"}}]', 1754709060, 1754709060)`)
		return errors.Join(err, failed)
	}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "crush.db")); err != nil || info.Size() > 4096 {
		t.Fatalf("the rows are not in the log alone: %v, %v", info, err)
	}
	same(t, "the session", tree(t, open(t, dir), "s"), []string{"0<-1 hello [head]"})
	if info, err := os.Stat(filepath.Join(dir, "crush.db")); err != nil || info.Size() > 4096 {
		t.Errorf("the rows were moved: %v, %v", info, err)
	}
}

func open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tree returns a line for each snapshot: its position, that of its parent, and what it is.
func tree(t testing.TB, s store.Store, session string) (lines []string) {
	t.Helper()
	list := storetest.Headers(t, s, session)
	at := map[string]int{"": -1}
	for i := range list {
		at[list[i].ID] = i
	}
	for i := range list {
		h := &list[i]
		text := fmt.Sprintf("%d<%d %.40s", i, at[h.ParentID], h.Title)
		for _, c := range []struct {
			is   bool
			says string
		}{{h.Head, "head"}, {h.Orphaned, "off"}, {h.Marks.Has(model.MarkEvicted), "evicted"}, {h.Marks.Has(model.MarkError), "error"}, {h.Marks.Has(model.MarkDamaged), "damaged"}, {h.EventName == "compaction", "compaction"}} {
			if c.is {
				text += " [" + c.says + "]"
			}
		}
		lines = append(lines, text)
	}
	return lines
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s is\n  %s\ninstead of\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestTree(t *testing.T) {
	s := open(t, storetest.Copy(t, fixture))
	same(t, "the smaller session", tree(t, s, "f306c145-4c83-492c-b575-739c30bbced4"), []string{
		`0<-1 I have instructions for you in @CLI.md`,
		`1<0 I'll open the CLI.md file to read your i`,
		`2<1 ◱ /Users/max/codeZ/dbos-transact-golang/`,
		`3<2 I’ve read your CLI.md. Here’s my underst [head]`,
	})
	same(t, "the larger session", tree(t, s, "a20c5ed5-41d4-45f7-88eb-7ba0645f1341"), []string{
		"0<-1 `Please analyze this codebase and create",
		`1<0 API Error: POST "https://api.openai.com/ [error]`,
		`2<1 try again`,
		`3<2 I will scan the repository to see if CRU`,
		`4<3 ◱ /Users/max/codeZ/dbos-transact-golang/ [error]`,
		`5<4 I will open the GitHub Actions workflow `,
		`6<5 ◱ /Users/max/codeZ/dbos-transact-golang/`,
		`7<6 I will write a concise CRUSH.md capturin`,
		`8<7 ◱ /Users/max/codeZ/dbos-transact-golang/ [error]`,
		`9<8 API Error: POST "https://api.openai.com/ [error]`,
		`10<9 try again`,
		`11<10 I will inspect dbos/system_database.go t`,
		`12<11 ◱ /Users/max/codeZ/dbos-transact-golang/`,
		`13<12 I will open dbos/.env to see helpful env [head]`,
	})
}

// tables are those of a later crush, with a column that is not known.
const tables = `CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INT, prompt_tokens INT, completion_tokens INT, cost REAL,
	summary_message_id TEXT, todos TEXT, mood TEXT, updated_at INT, created_at INT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, provider TEXT, created_at INT, updated_at INT, finished_at INT, is_summary_message INT, mood TEXT);
CREATE TABLE files (id TEXT, session_id TEXT, path TEXT, content TEXT, version INT, created_at INT, updated_at INT)`

// made makes a database and returns its folder.
func made(t interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}, dir string, fill func(exec func(query string, args ...any))) string {
	t.Helper()
	file := filepath.Join(dir, "crush.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, ctx := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil), t.Context()
	err := db.Fill(ctx, func(tx *sqlitefile.Tx) (err error) {
		exec := func(query string, args ...any) {
			_, failed := tx.Exec(ctx, query, args...)
			err = errors.Join(err, failed)
		}
		for table := range strings.SplitSeq(tables, ";") {
			exec(table)
		}
		fill(exec)
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What the fixtures do not have: messages of one second in the order of their rows, summaries,
// sub-agents, versions of files, and damage.
func TestRead_whatTheTablesAllow(t *testing.T) {
	dir := made(t, t.TempDir(), func(exec func(string, ...any)) {
		exec("INSERT INTO sessions VALUES ('s', NULL, 'New Session', 9, 10, 20, 0.5, 'm4', '[]', 'x', 1754709070, 1754709060)")
		exec("INSERT INTO sessions VALUES ('m2$$call', 's', 'look', 1, 0, 0, 0, '', '', '', 1754709061, 1754709061)")
		exec("INSERT INTO sessions VALUES ('other', 's', 'search', 1, 0, 0, 0, '', '', '', 1754709061, 1754709061)")
		exec("INSERT INTO sessions VALUES ('title-s', 's', 'no message', 0, 0, 0, 0, '', '', '', 1754709061, 1754709061)")
		message := func(id, session, role, parts string, at, summary int) {
			exec("INSERT INTO messages VALUES (?, ?, ?, ?, 'gpt', 'openai', ?, ?, NULL, ?, '')", id, session, role, parts, at, at, summary)
		}
		text := func(words string) string { return fmt.Sprintf(`[{"type":"text","data":{"text":%q}}]`, words) }
		message("z1", "s", "user", text("begin"), 1754709060, 0)
		message("m2", "s", "assistant", `[{"type":"tool_call","data":{"id":"call","name":"agent","input":"{\"prompt\":\"look\"}","finished":true}},{"type":"tool_call","data":{"id":"other","name":"agent","input":"{}","finished":true}}]`, 1754709060, 0)
		message("a3", "s", "tool", `[{"type":"tool_result","data":{"tool_call_id":"call","content":"seen"}}]`, 1754709060, 0)
		message("m4", "s", "assistant", text("what was said"), 1754709061, 1)
		message("m5", "s", "user", text("go on"), 1754709062, 0)
		message("m6", "s", "assistant", `[{"type":"text","da`, 1754709063, 0)
		message("m7", "s", "assistant", `[{"type":"dream","data":{"of":1}}]`, 1754709064, 0)
		message("k1", "m2$$call", "user", text("look"), 1754709060, 0)
		message("l1", "other", "user", text("search"), 1754709060, 0)
		message("x1", "gone", "user", text("a session without a row"), 1754709050, 0)
		exec("INSERT INTO files VALUES ('f1', 's', 'main.go', 'package main', 3, 1754709062, 1754709062)")
	})
	s := open(t, dir)
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID+": "+info.Title)
	}
	same(t, "the list", ids, []string{"s: begin", "s/other: search", "s/m2$$call: look", "gone: a session without a row"})
	same(t, "the session", tree(t, s, "s"), []string{
		"0<-1 begin [evicted]",
		"1<0 → task \"look\" · agent → m2$$call [evicted]",
		"2<1 → task \"look\"  seen [evicted]",
		"3<2 what was said [compaction]",
		"4<3 go on",
		"5<4  [damaged]",
		"6<5 (dream) [head]",
	})
	headers := storetest.Headers(t, s, "s")
	for i, want := range []string{"seen", "what was said", "go on", `"mood": ""`} {
		state, err := s.State(t.Context(), headers[min(i+2, 6)].Ref())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(state), strings.ReplaceAll(want, ": ", ":")) {
			t.Errorf("the state at #%d has no %s: %s", min(i+2, 6), want, state)
		}
		if i > 0 && strings.Contains(string(state), "begin") {
			t.Errorf("the state at #%d still begins before the summary: %s", i+2, state)
		}
	}
	facts, err := s.Features().Facts(t.Context(), headers[1].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "sub-agent" && f.Value == "s/other" }) {
		t.Errorf("of two sub-agents the facts are %v, %v", facts, err)
	}
	facts, err = s.Features().Facts(t.Context(), headers[4].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "file" && f.Value == "main.go version 3, 12 bytes" }) {
		t.Errorf("the facts are %v, %v", facts, err)
	}
	var codes []string
	for _, f := range append(storetest.Faults(t, s, "s"), storetest.Faults(t, s, "gone")...) {
		codes = append(codes, f.Code+" "+f.Path)
	}
	same(t, "what is wrong", codes, []string{"damaged-message m6", "unknown-record ", "stray-rows gone"})
}

// A value of another type than the tables declare costs what it says, and nothing else.
func TestRead_otherTypes(t *testing.T) {
	s := open(t, made(t, t.TempDir(), func(exec func(string, ...any)) {
		exec("INSERT INTO sessions VALUES ('s', NULL, 'a', 2, 'x', NULL, 1, NULL, '', '', 'x', 1754709060.5)")
		exec("INSERT INTO sessions VALUES (NULL, 's', 'b', 2, 0, 0, 0, NULL, '', '', 1, 1)")
		exec(`INSERT INTO messages VALUES ('m1', 's', 'user', '[{"type":"text","data":{"text":"one"}}]', NULL, NULL, 1754709060.5, 1, NULL, 'x', '')`)
		exec("INSERT INTO messages VALUES ('m2', 's', 'assistant', NULL, NULL, NULL, 1754709061, 1, NULL, 0, '')")
		exec("INSERT INTO messages VALUES ('m3', 'empty', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
		exec("INSERT INTO messages VALUES ('m4', NULL, 'user', '[]', NULL, NULL, 'x', 1, NULL, 0, '')")
		exec("INSERT INTO files VALUES ('f1', 's', 'main.go', 'x', 'initial', 1754709062, 1754709062)")
		exec("INSERT INTO files VALUES ('f2', 's', NULL, NULL, NULL, NULL, NULL)")
	}))
	if list := storetest.Sessions(t, s); len(list) == 0 || list[0].ID != "s" {
		t.Errorf("the list is %+v", list)
	}
	same(t, "the session", tree(t, s, "s"), []string{"0<-1 one", "1<0  [head] [damaged]"})
	list := storetest.Headers(t, s, "s")
	if at := list[0].CreatedAt.Unix(); at != 1754709060 {
		t.Errorf("it began at %d", at)
	}
	facts, err := s.Features().Facts(t.Context(), list[1].Ref())
	for label, value := range map[string]string{"file": "main.go version initial, 1 byte", "dollars, of the session": "1"} {
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == label && f.Value == value }) {
			t.Errorf("the facts are %+v, %v, want %s", facts, err, value)
		}
	}
	for _, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Error(err)
		}
	}
}

// The tables call their times milliseconds, and real ones have seconds: both are times, also
// those of files.
func TestRead_times(t *testing.T) {
	for name, unit := range map[string]int64{"seconds": 1, "milliseconds": 1000} {
		s := open(t, made(t, t.TempDir(), func(exec func(string, ...any)) {
			exec("INSERT INTO sessions VALUES ('s', NULL, 'a', 2, 0, 0, 0, NULL, '', '', ?, ?)", 1754709070*unit, 1754709060*unit)
			exec("INSERT INTO messages VALUES ('m1', 's', 'user', '[]', '', '', ?, ?, NULL, 0, '')", 1754709060*unit, 1754709060*unit)
			exec("INSERT INTO messages VALUES ('m2', 's', 'assistant', '[]', '', '', ?, ?, ?, 0, '')", 1754709062*unit, 1754709062*unit, 1754709064*unit)
			exec("INSERT INTO files VALUES ('f1', 's', 'main.go', 'x', 0, ?, ?)", 1754709061*unit, 1754709061*unit)
		}))
		list := storetest.Headers(t, s, "s")
		times := []int64{storetest.Sessions(t, s)[0].UpdatedAt.Unix(), list[0].CreatedAt.Unix(), list[1].CreatedAt.Unix()}
		if !slices.Equal(times, []int64{1754709070, 1754709060, 1754709064}) {
			t.Errorf("in %s the times are %v", name, times)
		}
		facts, err := s.Features().Facts(t.Context(), list[0].Ref())
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "file" && strings.HasPrefix(f.Value, "main.go") }) {
			t.Errorf("in %s the file is not at the message before it: %v, %v", name, facts, err)
		}
	}
}

// The model reads from the summary on that the session names. An older one counted until then; of
// one that was broken off, which the session does not name, the model reads nothing less.
func TestRead_summaries(t *testing.T) {
	for names, want := range map[string]string{"m1": "m1 m2 m3", "m3": "m3", "": "m0 m1 m2 m3"} {
		s := open(t, made(t, t.TempDir(), func(exec func(string, ...any)) {
			exec("INSERT INTO sessions VALUES ('s', NULL, 'a', 4, 10, 20, 0.5, ?, '', '', 1, 1)", names)
			for i := range 4 {
				exec("INSERT INTO messages VALUES (?, 's', 'assistant', ?, '', '', 1, 1, NULL, ?, '')", fmt.Sprint("m", i), fmt.Sprintf(`[{"type":"text","data":{"text":"m%d"}}]`, i), i%2)
			}
		}))
		head := storetest.Headers(t, s, "s")[3].Ref()
		var got []string
		for _, m := range storetest.Messages(t, s, head) {
			got = append(got, m["content"].([]any)[0].(map[string]any)["text"].(string))
		}
		if is := strings.Join(got, " "); is != want {
			t.Errorf("where the session names %q the model reads %s, want %s", names, is, want)
		}
		facts, err := s.Features().Facts(t.Context(), head)
		for label, value := range map[string]string{"tokens in the context": "30", "dollars, of the session": "0.5"} {
			if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == label && f.Value == value }) {
				t.Errorf("the facts are %+v, %v", facts, err)
			}
		}
	}
}

// A summary that is named and not there takes nothing away.
func TestRead_missingSummary(t *testing.T) {
	s := open(t, made(t, t.TempDir(), func(exec func(string, ...any)) {
		exec("INSERT INTO sessions VALUES ('s', NULL, 'a', 1, 0, 0, 0, 'm9', '', '', 1, 1)")
		exec("INSERT INTO messages VALUES ('m1', 's', 'user', '[]', '', '', 1, 1, NULL, 0, '')")
	}))
	if faults := storetest.Faults(t, s, "s"); len(faults) != 1 || faults[0].Code != FaultSummary {
		t.Errorf("the faults are %v", faults)
	}
	same(t, "the session", tree(t, s, "s"), []string{"0<-1  [head]"})
}

// Whatever the rows are, each message is in the state at the head, or before a summary.
func TestNoMessageIsLost(t *testing.T) {
	dir, runs := t.TempDir(), 0
	rapid.Check(t, storetest.Few(40, func(t *rapid.T) {
		runs++
		at := filepath.Join(dir, fmt.Sprint(runs))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, 10).Draw(t, "messages")
		made(t, at, func(exec func(string, ...any)) {
			pick := func(what string) string { return fmt.Sprint("m", rapid.IntRange(0, n).Draw(t, what)) }
			if rapid.IntRange(0, 5).Draw(t, "row") > 0 {
				exec("INSERT INTO sessions VALUES ('s', ?, 'a', 1, 0, 0, 0, ?, '', '', 1, 1)", rapid.SampledFrom([]string{"", "s", "gone"}).Draw(t, "parent"), pick("summary"))
			}
			for i := range n {
				text := fmt.Sprintf("<%d>", i)
				parts := rapid.SampledFrom([]string{
					`[{"type":"text","data":{"text":%q}}]`, `[{"type":"dream","data":%q}]`, `{"type":"text","data":%q}`, `[{"type":"te %q`,
					`[{"type":"tool_call","data":{"id":"c","name":"n","input":%q}},{"type":"finish","data":{"reason":"error"}}]`,
					`[{"type":"tool_result","data":{"tool_call_id":"c","content":%q}}]`,
				}).Draw(t, "parts")
				exec("INSERT INTO messages VALUES (?, 's', ?, ?, '', '', ?, 1, NULL, ?, '')", fmt.Sprint("m", i), rapid.SampledFrom([]string{"user", "assistant", "tool", "?"}).Draw(t, "role"),
					fmt.Sprintf(parts, text), rapid.IntRange(0, 3).Draw(t, "second"), rapid.IntRange(0, 1).Draw(t, "is a summary"))
			}
		})
		s, err := Kind(nil).Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all strings.Builder
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for h, err := range s.Headers(t.Context(), info.ID) {
				if err != nil {
					t.Fatal(err)
				}
				state, err := s.State(t.Context(), h.Ref())
				if err != nil {
					t.Fatalf("state of %s: %v", h.ID, err)
				}
				all.Write(state)
			}
		}
		for i := range n {
			if !strings.Contains(all.String(), fmt.Sprintf("<%d>", i)) {
				t.Errorf("no state has message %d", i)
			}
		}
	}))
}

// FuzzDecode: whatever the parts of a row are, they become JSON that has them.
func FuzzDecode(f *testing.F) {
	for _, parts := range []string{
		`[{"type":"text","data":{"text":"try again"}},{"type":"finish","data":{"reason":"stop","time":0}}]`,
		`[{"type":"tool_call","data":{"id":"call_V","name":"ls","input":"{\"path\": \"/\"}","type":"function","finished":true}}]`,
		`[{"type":"tool_result","data":{"tool_call_id":"call_V","name":"","content":"a","is_error":true}}]`,
		`[{"type":"reasoning","data":{"thinking":"hm"}},{"type":"binary","data":{"Data":"AA=="}}]`, `[`, `{}`, `[1,null,[]]`,
	} {
		f.Add("assistant", parts)
	}
	f.Fuzz(func(t *testing.T, role, parts string) {
		m, _ := messageOf(map[string]any{"id": "m", "role": role, "parts": parts})
		text := m.AppendJSON(nil)
		if !jsontape.Valid(text) {
			t.Fatalf("it is no JSON: %s", text)
		}
		var compact any
		if json.Unmarshal([]byte(parts), &compact) == nil && len(m.Raw) != 1 {
			t.Fatalf("the row is not in it: %s", text)
		}
		m.Summarise()
	})
}

// A log that was copied without its index is read as it is with it.
func TestRead_logWithoutItsIndex(t *testing.T) {
	dir := storetest.Copy(t, "testdata/wal-only-empty")
	if err := os.Remove(filepath.Join(dir, "crush.db-shm")); err != nil {
		t.Fatal(err)
	}
	defer storetest.Untouched(t, dir)()
	if _, ok, err := Kind(nil).Recognise(t.Context(), dir); !ok || err != nil {
		t.Errorf("recognised %v, %v", ok, err)
	}
	s := open(t, dir)
	if faults := storetest.Faults(t, s, ""); len(faults) > 0 {
		t.Errorf("the faults are %v", faults)
	}
	for session, err := range s.Sessions(t.Context()) {
		t.Errorf("the list has %v, %v", session, err)
	}
}

// Titles that crush sets by itself are none: the first prompt is the title.
func TestTitleOf(t *testing.T) {
	for title, want := range map[string]string{
		"New Session": "", "Untitled Session": "", "New Agent Session": "", "New Session handling": "New Session handling",
		"<system-reminder>x</system-reminder> fix the build": "fix the build",
	} {
		if got := titleOf(map[string]any{"title": title}); got != want {
			t.Errorf("%q is called %q, want %q", title, got, want)
		}
	}
}

// The versions of a file are in their order; those of another session are not among them.
func TestCopies(t *testing.T) {
	dir := made(t, t.TempDir(), func(exec func(string, ...any)) {
		exec("INSERT INTO sessions VALUES ('s', NULL, 'one', 1, 0, 0, 0, '', '', '', 1754709060, 1754709060)")
		exec("INSERT INTO messages VALUES ('m1', 's', 'user', '[{\"type\":\"text\",\"data\":{\"text\":\"go\"}}]', '', '', 1754709060, 1754709060, NULL, 0, '')")
		for i, of := range [][]any{{"s", "/w/a", "", 0}, {"s", "/w/b", "only", 0}, {"s", "/w/a", "two\n", 2}, {"s", "/w/a", "one\n", 1}, {"other", "/w/a", "x", 3}} {
			exec("INSERT INTO files VALUES (?, ?, ?, ?, ?, 1754709061, 1754709061)", append([]any{fmt.Sprint("f", i)}, of...)...)
		}
	})
	var got []string
	for c, err := range open(t, dir).Features().FileCopies(t.Context(), "s") {
		got = append(got, fmt.Sprintf("%q %q %v", c.Snapshots, c.Versions, err))
	}
	same(t, "the list", got, []string{`["m1"] map["/w/a":["" "one\n" "two\n"]] <nil>`})
}
