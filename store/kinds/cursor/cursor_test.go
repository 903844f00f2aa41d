package cursor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// fixture is written by testdata/interop/cursor/record.py.
const fixture = "../../../testdata/coding/cursor"

const (
	edited  = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a01"
	untimed = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a02"
	gone    = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a03"
	inline  = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a04"
	tab     = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a05"
	cli     = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a06"
	script  = "5b0c1f0e-2a54-4c61-9a59-0f1d6f3a1a07"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

// drawTree returns a line for each snapshot: its index, that of its parent, its title, and whether it is off the path.
func drawTree(t *testing.T, s store.Store, session string) (list []string) {
	t.Helper()
	at := map[string]int{"": -1}
	headers := storetest.Headers(t, s, session)
	for i := range headers {
		at[headers[i].ID] = i
	}
	for i := range headers {
		h := &headers[i]
		line := fmt.Sprintf("%d<%d %s", i, at[h.ParentID], h.Title)
		if h.Reason != nil && h.Orphaned {
			line += " – " + h.Reason.Kind.String()
		}
		if h.Head {
			line += " *"
		}
		list = append(list, line)
	}
	return list
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A message that the session no longer names is on a branch, behind what was said before it.
func TestSession_namedAndDropped(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	for session, want := range map[string][]string{
		edited: {
			"0<-1 round the totals to cents", "1<0 The totals are in total.go.", "2<1 ◱ total.go  {contents: \"total := price * n\"}", "3<2 ✎ total.go  +1 −1", "4<3 The totals are rounded.",
			"5<4 propose a discount", "6<5 Five percent from 100 on: ```go discount(100, 5) ``` *", "7<4 offer a discount – dropped", "8<7 Here is a discount of 10 %. – dropped",
		},
		untimed: {"0<-1 what does main do", "1<0 It starts the shop. *", "2<0 It starts – dropped"},
		gone:    {"0<-1 delete this chat – dropped", "1<0 It is deleted. ($ rm -r /tmp/x  removed) – dropped"},
		inline:  {"0<-1 name the variable", "1<0 Call it `total`. *"},
		tab:     {"0<-1 explain the error", "1<0 A nil map is written to. *"},
		cli: {
			"0<-1 You are a coding agent.", "1<0 list the files", "2<1 $ ls", "3<2 $ ls  2 lines", "4<3 There are main.go and total.go. *",
			"5<-1 I would rather not. – dropped",
		},
		script: {
			"0<-1 write the notes", "1<0 I write them. [REDACTED] (✎ /home/demo/shop/plan.md)", "2<1 ✎ /home/demo/shop/plan.md", "3<2 Provider Error: upstream timeout",
			"4<3 go on", "5<4 The notes are written. *",
		},
	} {
		same(t, session, drawTree(t, s, session), want)
	}
}

// The list has titles, folders and sub-agents, and each session once.
func TestSessions(t *testing.T) {
	var got []string
	for _, info := range storetest.Sessions(t, storetest.OpenStore(t, Kind(nil).Kind, fixture)) {
		got = append(got, fmt.Sprintf("%s %s %q %d", info.ID[len(info.ID)-2:], info.Project, info.Title, info.Snapshots))
	}
	slices.Sort(got)
	same(t, "the list", got, []string{
		`01 /home/demo/shop "Round the totals" 9`, `02 /home/demo/old "what does main do" 3`, `03  "delete this chat" 2`, `04  "An old one" 2`,
		`05 /home/demo/old "Explain the error" 2`, `06 /home/demo/shop "List the files" 6`, `07  "write the notes" 6`, `08  "look for notes" 2`,
	})
}

// What Cursor counted is told, and what an edit did to a file.
func TestState_countsAndResults(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	headers := storetest.Headers(t, s, edited)
	state, err := s.State(t.Context(), headers[6].Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"usage":{"inputTokens":5120,"outputTokens":64`, `"reasoning":{"text":"The totals are in total.go."}`, `"toolResult":{"toolUseId":"call_search_replace"`,
		`{"json":{"selections":[{"text":"total := price * n"`, `"model":"claude-4.5-sonnet"`, `"cwd":"/home/demo/shop"`,
	} {
		if !strings.Contains(string(state), want) {
			t.Errorf("the state has no %s: %s", want, state)
		}
	}
	if strings.Contains(string(state), "offer a discount") {
		t.Errorf("the state has a message that the session does not name: %s", state)
	}
	facts, err := s.Features().Facts(t.Context(), headers[6].Ref())
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "tokens in the context" && f.Value == "6280" }) {
		t.Errorf("the facts are %v, %v", facts, err)
	}
}

// Cursor is only read, and cursor-agent goes on from its own heads.
func TestLacks(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, fixture)
	for _, op := range []model.Op{model.OpFork, model.OpRestore, model.OpEdit} {
		if why := store.Reason(s, op); !strings.Contains(why, "Cursor takes in no session from outside") {
			t.Errorf("%v: %q", op, why)
		}
	}
}

// The storage is found from each folder in it, and from a file of it alone.
func TestOpen_anywhereInTheStorage(t *testing.T) {
	for below, want := range map[string]int{
		"": 8, "globalStorage": 4, "globalStorage/state.vscdb": 4, "workspaceStorage": 1, "workspaceStorage/2c3d": 1,
		"projects/home-demo-shop/agent-transcripts/" + script: 2, "chats/9f86d081884c7d659a2feaa0c55ad015/" + cli + "/store.db": 1,
	} {
		s, err := Kind(nil).Open(t.Context(), filepath.Join(fixture, below))
		if err != nil {
			t.Errorf("%s: %v", below, err)
			continue
		}
		if list := storetest.Sessions(t, s); len(list) != want {
			t.Errorf("%s has %d sessions, want %d", below, len(list), want)
		}
		s.Close()
	}
}

// The usual places are those of the editor on each system, and of cursor-agent.
func TestPlaces(t *testing.T) {
	got := Kind(nil).Places(store.Surroundings{Home: "/home/u"})
	same(t, "the places", got, []string{"/home/u/.config/Cursor/User", "/home/u/Library/Application Support/Cursor/User", "/home/u/AppData/Roaming/Cursor/User", "/home/u/.cursor"})
}

// write returns a folder with a database of rows.
func write(t testing.TB, rows map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "state.vscdb")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil)
	err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
		_, err := tx.Exec(t.Context(), "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
		for key, value := range rows {
			_, failed := tx.Exec(t.Context(), "INSERT INTO cursorDiskKV VALUES (?, ?)", key, value)
			err = errors.Join(err, failed)
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A list of a large database reads the rows of the sessions, and no message but the first of one without a name.
func TestSessions_readNoMessages(t *testing.T) {
	skip.Counting(t)
	rows := map[string]string{}
	for i := range 3 {
		session, headers := fmt.Sprintf("s%d", i), []string(nil)
		for k := range 10 {
			text := fmt.Sprintf("question %d", k)
			if k > 0 {
				text = strings.Repeat("x", 1<<20)
			}
			rows[bubbleKey(session, fmt.Sprint(k))] = fmt.Sprintf(`{"type":%d,"text":%q}`, 1+k%2, text)
			headers = append(headers, fmt.Sprintf(`{"bubbleId":"%d","type":%d}`, k, 1+k%2))
		}
		rows[composerPrefix+session] = `{"fullConversationHeadersOnly":[` + strings.Join(headers, ",") + `]}`
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, write(t, rows))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list := storetest.Sessions(t, s)
	runtime.ReadMemStats(&after)
	if asked := after.TotalAlloc - before.TotalAlloc; asked > 4<<20 {
		t.Errorf("the list of 30 MB takes %d kB", asked>>10)
	}
	for _, info := range list {
		if info.Title != "question 0" || info.Snapshots != store.Uncounted {
			t.Errorf("%+v", info)
		}
	}
	if len(list) != 3 || len(storetest.Headers(t, s, "s1")) != 10 {
		t.Errorf("the list is %+v", list)
	}
}

// Damage is named, and the rest is read.
func TestFaults(t *testing.T) {
	const hello = `{"type":1,"text":"hello"}`
	for name, c := range map[string]struct {
		rows map[string]string
		want []string
	}{
		"whole":     {map[string]string{"composerData:s": `{"fullConversationHeadersOnly":[{"bubbleId":"a"}]}`, "bubbleId:s:a": hello}, nil},
		"missing":   {map[string]string{"composerData:s": `{"fullConversationHeadersOnly":[{"bubbleId":"a"},{"bubbleId":"b"}]}`, "bubbleId:s:a": hello}, []string{FaultMissing + " "}},
		"no JSON":   {map[string]string{"composerData:s": `{"fullConversationHeadersOnly":[{"bubbleId":"a"}]}`, "bubbleId:s:a": "hello"}, []string{FaultMessage + " a"}},
		"no row":    {map[string]string{"bubbleId:s:a": hello}, []string{FaultStray + " s"}},
		"a bad row": {map[string]string{"composerData:s": `{"full`, "bubbleId:s:a": hello}, []string{FaultStray + " s"}},
		"unknown":   {map[string]string{"composerData:s": `{"fullConversationHeadersOnly":[{"bubbleId":"a"}]}`, "bubbleId:s:a": `{"type":1,"later":{"text":"hello"}}`}, nil},
	} {
		s := storetest.OpenStore(t, Kind(nil).Kind, write(t, c.rows))
		var got []string
		for _, f := range storetest.Faults(t, s, "s") {
			got = append(got, f.Code+" "+f.Path)
		}
		same(t, name, got, c.want)
		headers := storetest.Headers(t, s, "s")
		if state, err := s.State(t.Context(), headers[0].Ref()); err != nil || len(headers) != 1 || !strings.Contains(string(state), "hello") {
			t.Errorf("%s: %s, %v", name, state, err)
		}
	}
}

// Whatever the rows name, each message is in a state.
func TestNoMessageIsLost(t *testing.T) {
	rapid.Check(t, storetest.Few(40, func(r *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(r, "messages")
		rows, headers := map[string]string{}, []string(nil)
		for i := range n {
			form := rapid.SampledFrom([]string{
				`{"type":1,"text":%q}`, `{"type":2,"text":"","thinking":{"text":%q}}`, `{"type":2,"toolFormerData":{"name":"t","params":"{}","result":%q}}`, `{"type":2,"codeBlocks":[{"content":%q}]}`,
				`{"type":2,"toolFormerData":{"result":%q}}`, `{"type":2,"createdAt":"2026-01-01T00:00:0` + fmt.Sprint(i) + `Z","later":[{"message":%q}]}`, `{"te %q`,
			}).Draw(r, "form")
			rows[bubbleKey("s", fmt.Sprint(i))] = fmt.Sprintf(form, fmt.Sprintf("words %d.", i))
			if rapid.Bool().Draw(r, "named") {
				headers = append(headers, fmt.Sprintf(`{"bubbleId":"%d"}`, rapid.IntRange(0, n).Draw(r, "name")))
			}
		}
		if rapid.IntRange(0, 4).Draw(r, "row") > 0 {
			rows[composerPrefix+"s"] = `{"fullConversationHeadersOnly":[` + strings.Join(headers, ",") + `]}`
		}
		s, err := Kind(nil).Open(t.Context(), write(t, rows))
		if err != nil {
			r.Fatal(err)
		}
		defer s.Close()
		var all strings.Builder
		for _, h := range storetest.Headers(t, s, "s") {
			state, err := s.State(t.Context(), h.Ref())
			if err != nil {
				r.Fatal(err)
			}
			all.Write(state)
		}
		for i := range n {
			if !strings.Contains(all.String(), fmt.Sprintf("words %d.", i)) {
				r.Errorf("no state has message %d", i)
			}
		}
		for _, f := range storetest.Faults(t, s, "s") {
			if f.Code == "unread-text" {
				r.Errorf("%+v", f)
			}
		}
	}))
}

// FuzzMessage reads whatever a row or a line may hold.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":1,"text":"a"}`, `{"type":2,"toolFormerData":{"name":"t","params":"{\"a\":1}","result":"r","status":"error"}}`, `{"type":"ai","codeBlocks":[{"content":"c"}]}`,
		`{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]}}`, `{"role":"tool","content":"x","tool_call_id":"a"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "\x22\x05{\"a\":", `[`, `1`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		leafOf(data)
		v, _ := chat.Parse(data)
		a, results := bubbleMessage(v)
		b, _ := lineMessage(v)
		for _, m := range []chat.Message{a, results, b} {
			if text := m.AppendJSON(nil); !jsontape.Valid(text) {
				t.Fatalf("it is no JSON: %s", text)
			}
			m.Summarise()
		}
	})
}

// Before each session had a folder, its transcript lay among the others.
func TestSessions_flat(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "projects", "home-demo", transcripts, "s.jsonl")
	text := `{"role":"user","message":{"content":[{"type":"text","text":"look"}]}}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{home, filepath.Dir(file), file} {
		if list := storetest.Sessions(t, storetest.OpenStore(t, Kind(nil).Kind, at)); len(list) != 1 || list[0].ID != "s" {
			t.Errorf("%s: %+v", at, list)
		}
	}
}

// A workspace whose chats are gone has its prompts still.
func TestSessions_prompts(t *testing.T) {
	const prompts = `[{"text":"name it well","commandType":4},{"text":"and test it","commandType":4}]`
	for chats, want := range map[string]string{"": "prompts", `{"tabs":[{"tabId":"t","bubbles":[{"type":"user","text":"hi"}]}]}`: "t"} {
		home := t.TempDir()
		file := filepath.Join(home, workspaces, "2c3d", database)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil)
		err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
			_, made := tx.Exec(t.Context(), "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
			_, first := tx.Exec(t.Context(), "INSERT INTO ItemTable VALUES (?, ?)", promptsRow, []byte(prompts))
			_, second := tx.Exec(t.Context(), "INSERT INTO ItemTable VALUES (?, ?)", tabRows[0], []byte(chats))
			return errors.Join(made, first, second)
		})
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		s := storetest.OpenStore(t, Kind(nil).Kind, home)
		if list := storetest.Sessions(t, s); len(list) != 1 || list[0].ID != want {
			t.Fatalf("%+v", list)
		}
		if headers := storetest.Headers(t, s, want); want == "prompts" && (len(headers) != 2 || headers[0].Title != "name it well") {
			t.Errorf("%+v", headers)
		}
	}
}
