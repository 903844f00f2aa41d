package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/storetest"
)

const (
	fixtures = "../../../testdata/coding/gemini-cli"
	resumed  = "1b5ede93-2b00-4913-81da-ca579b4743a0"
	doomed   = "13a0feae-a6d3-45e8-8c44-ecb24f563abc"
)

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixtures) }

func TestFork(t *testing.T) { storetest.Fork(t, Kind(nil).Kind, fixtures) }

func open(t testing.TB, dir string) storetest.Writer {
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
	return storetest.AsWriter(s)
}

// The trees of the fixtures, by what the reference says of their lines: what a resumed session
// writes again is there once.
func TestFixtures(t *testing.T) {
	s := open(t, fixtures)
	for session, want := range map[string]string{
		resumed: `
 0<-1 d04923d38bb0f6017037e74183378ef4 context (1): This is the Gemini CLI. We are setting u
 1<0 c45c6c09-ed41-4061-8baf-bb60b14c890a user input (2): first question
 2<1 d6e3d051-0f7d-47d8-b876-04efc6104943 turn end (3): reply to: first question
 3<2 ed9c0e5d-50ec-4b63-9d7d-a19d620a868a user input (4): run: ls -1
 4<3 edcc4975-f671-48d4-81cf-9b0ab207aa2a after model (5): $ ls -1
 5<4 f2fef368-acc2-4289-817d-a77495c78656 tool iteration (6): $ ls -1  a.txt
 6<5 54b2056e-26da-4709-b05a-3e4a0bf5a8df turn end (7): done: ls -1
 7<6 738efe70-4014-4d5c-a60c-1883f0e40e2d user input (8): third question
*8<7 afeeeb5e-370e-4f70-b098-a26fd1c6a9da turn end (9): reply to: third question
`,
		doomed: `
 0<-1 d04923d38bb0f6017037e74183378ef4 context (1): This is the Gemini CLI. We are setting u
 1<0 17ccd6f8-ff34-4d9e-ac72-4aca5e1270ef user input (2): first question
 2<1 6d45503e-775c-47c5-aac2-87ffbfbea131 turn end (3): reply to: first question
 3<2 babee4ec-95e4-45ac-8815-5d745a554a6f user input (4): run: ls -1
 4<3 a9d99105-0986-47cf-88bb-b8c187eabe79 after model (5): $ ls -1
 5<4 2ba897fa-971f-4361-a417-f4212904f4b9 tool iteration (6): $ ls -1  a.txt
*6<5 40fa2fcf-0ab3-4bd2-9191-d63816c43d8b turn end (7): done: ls -1
`,
		doomed + "'": `
*0<-1 d04923d38bb0f6017037e74183378ef4 context (1): This is the Gemini CLI. We are setting u
`,
	} {
		if got := "\n" + storetest.Draw(t, s, session); got != want {
			t.Errorf("session %s is%s\nwant%s", session, got, want)
		}
	}
	for session, want := range map[string]string{resumed: "note results-twice", doomed: "loses shared-short-id", doomed + "'": "note nothing-to-resume", "": ""} {
		if got := storetest.FaultCodes(t, s, session); got != want {
			t.Errorf("session %q has the faults %q, want %q", session, got, want)
		}
	}
	for _, info := range storetest.Sessions(t, s) {
		want := map[string]model.SessionInfo{resumed: {Title: "first question", Project: "/home/demo"}, doomed: {Title: "first question", Project: "lost", Faults: 1}, doomed + "'": {Project: "lost"}}[info.ID]
		if info.Title != want.Title || info.Project != want.Project || info.Faults != want.Faults {
			t.Errorf("%s is %q of %s with %d faults, want %+v", info.ID, info.Title, info.Project, info.Faults, want)
		}
	}
}

// Tokens are those of the first writing, which a resumed session no longer has.
func TestTokens(t *testing.T) {
	s := open(t, fixtures)
	var in, out float64
	for _, m := range storetest.Messages(t, s, model.Ref{Session: resumed, ID: "afeeeb5e-370e-4f70-b098-a26fd1c6a9da"}) {
		if usage, ok := m["usage"].(map[string]any); ok {
			in, out = in+usage["inputTokens"].(float64), out+usage["outputTokens"].(float64)
		}
	}
	if in != 133+164+268+328 || out != 7+2+3+7 {
		t.Errorf("%v in, %v out", in, out)
	}
}

// A resumed session has the tokens of the answer that it goes on from, not those of one that
// says the same and was cut off.
func TestTokens_rewind(t *testing.T) {
	answer := func(id string, input int) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"two","tokens":{"input":%d,"output":7}}`, id, input)
	}
	s := of(t, map[string]string{name: head + lines(said("u1", "one"), answer("g1", 90), rewind("u1"), said("u5", "one"), answer("g5", 100), set(said("u9", "one"), said("g9", "two")))})
	if got := storetest.Draw(t, s, id); !strings.Contains(got, "\n*3<2 g5 ") {
		t.Errorf("g5 is not the head of\n%s", got)
	}
	messages := storetest.Messages(t, s, model.Ref{Session: id, ID: "g5"})
	if usage, _ := messages[len(messages)-1]["usage"].(map[string]any); usage["inputTokens"] != 100.0 || usage["outputTokens"] != 7.0 {
		t.Errorf("the usage is %v", usage)
	}
}

// Lines of a log.
const (
	id   = "0000aaaa-0000-4000-8000-00000000000a"
	head = `{"sessionId":"` + id + `","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z","kind":"main"}` + "\n"
)

// said returns a message, of the user where its id begins with u.
func said(id, words string) string {
	kind := map[bool]string{true: "user", false: "gemini"}[id[0] == 'u']
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:01Z","type":%q,"content":%q}`, id, kind, words)
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

func set(messages ...string) string {
	return `{"$set":{"messages":[` + strings.Join(messages, ",") + `],"lastUpdated":"2026-01-01T00:00:09Z"}}`
}

func rewind(id string) string { return `{"$rewindTo":"` + id + `"}` }

// of returns the store of a session, which that file has.
func of(t testing.TB, files map[string]string) storetest.Writer {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, "p", chats, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, dir)
}

const name = "session-2026-01-01T00-00-0000aaaa.jsonl"

func TestSessions(t *testing.T) {
	call := `{"id":"g2","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","tokens":{"input":9,"output":1},"toolCalls":[{"id":"c","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a.txt"}}}]}]}`
	started := `{"id":"g2","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","tokens":{"input":9,"output":1}}`
	converted := `{"id":"g2","timestamp":"2026-01-01T00:00:09Z","type":"gemini","content":[{"functionCall":{"id":"c","name":"ls","args":{}}}]}`
	result := func(id string) string {
		return `{"id":"` + id + `","timestamp":"2026-01-01T00:00:03Z","type":"user","content":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"a.txt"}}}]}`
	}
	context := func(words string) string {
		return `{"id":"x","timestamp":"2026-01-01T00:00:00Z","type":"user","content":[{"text":"<session_context>` + words + `</session_context>"}]}`
	}
	info := `{"id":"i","timestamp":"2026-01-01T00:00:01Z","type":"info","content":"logged in"}`
	u1, g1, u2, g3 := said("u1", "one"), said("g1", "two"), said("u2", "three"), said("g3", "four")
	plain := " 0<-1 u1 user input (1): one\n*1<0 g1 turn end (2): two\n"
	for _, c := range []struct{ name, text, faults, draws string }{
		{"two messages", lines(u1, g1), "", plain},
		{"a message again, in its place", lines(u1, g1, u1), "", plain},
		{"a message again, with other words", lines(u1, g1, said("u1", "other")), "", " 0<-1 u1 user input (1): other\n*1<0 g1 turn end (2): two\n"},
		{"a rewind", lines(u1, g1, u2, g3, rewind("u2"), said("u3", "else")), "", " 0<-1 u1 user input (1): one\n 1<0 g1 turn end (2): two\n" +
			"-2<1 u2 user input (3): three (rewind to g1 at 00:00:01)\n-3<2 g3 turn end (4): four (rewind to g1 at 00:00:01)\n*4<1 u3 user input (3): else\n"},
		{"a rewind at the end", lines(u1, g1, u2, rewind("u2")), "", plain + "-2<1 u2 user input (3): three (rewind to g1 at 00:00:01)\n"},
		{"a rewind to what is not there", lines(u1, g1, rewind("gone"), u2), "loses unknown-rewind",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n*2<-1 u2 user input (1): three\n"},
		{"a rewind that leaves nothing", lines(u1, g1, rewind("u1")), "loses nothing-to-resume",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n"},
		{"a rewind to what is not there leaves nothing", lines(u1, g1, rewind("gone")), "loses unknown-rewind, loses nothing-to-resume",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n"},
		{"an empty list leaves nothing", lines(u1, g1, set()), "loses nothing-to-resume",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:09)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:09)\n"},
		{"a rewind of a summary leaves nothing", lines(u1, g1, set(said("u5", "what was")), rewind("u5")), "loses nothing-to-resume",
			"-0<-1 u1 user input (1): one (pointer to  at 00:00:00)\n-1<0 g1 turn end (2): two (pointer to  at 00:00:00)\n-2<-1 u5 user input (1): what was (rewind to  at 00:00:09)\n"},
		{"the same message after a rewind", lines(u1, g1, rewind("g1"), g1), "", plain},
		{"another of its id after a rewind", lines(u1, g1, rewind("g1"), said("g1", "else")), "",
			" 0<-1 u1 user input (1): one\n-1<0 g1 turn end (2): two (rewind to u1 at 00:00:01)\n*2<0 g1~2 turn end (2): else\n"},
		{"the same words after a rewind, resumed", lines(u1, g1, rewind("u1"), said("u5", "one"), said("g5", "else"), set(said("u5", "one"), said("g5", "else"))), "",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n 2<-1 u5 user input (1): one\n*3<2 g5 turn end (2): else\n"},
		{"all the same after a rewind, resumed under other ids", lines(u1, g1, rewind("u1"), said("u5", "one"), said("g5", "two"), set(said("u9", "one"), said("g9", "two")), u2), "",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n 2<-1 u5 user input (1): one\n 3<2 g5 turn end (2): two\n*4<3 u2 user input (3): three\n"},
		{"the same words after a rewind behind a command, resumed", lines(u1, g1, rewind("u1"), said("u5", "/help"), said("u6", "one"), said("g6", "two"), set(said("u9", "one"), said("g9", "two"))), "",
			"-0<-1 u1 user input (1): one (rewind to  at 00:00:01)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:01)\n 2<-1 u5 command (1): /help\n 3<2 u6 user input (2): one\n*4<3 g6 turn end (3): two\n"},
		{"the same words after a rewind, and the ids of before", lines(u1, g1, rewind("g1"), said("g5", "two"), set(u1), set(u1, g1)), "",
			" 0<-1 u1 user input (1): one\n*1<0 g1 turn end (2): two\n-2<0 g5 turn end (2): two (rewind to u1 at 00:00:09)\n"},
		{"the list of before a rewind comes back by its ids", lines(u1, g1, rewind("g1"), said("g5", "two"), set(u1, g1)), "",
			" 0<-1 u1 user input (1): one\n*1<0 g1 turn end (2): two\n-2<0 g5 turn end (2): two (secondLeaf to  at 00:00:00)\n"},
		{"the list again, under other ids", lines(u1, g1, set(said("u9", "one"), said("g9", "two")), u2), "", " 0<-1 u1 user input (1): one\n 1<0 g1 turn end (2): two\n*2<1 u2 user input (3): three\n"},
		{"the list cut", lines(u1, g1, u2, set(u1, g1)), "", plain + "-2<1 u2 user input (3): three (rewind to g1 at 00:00:09)\n"},
		{"the list cut, and there again", lines(u1, g1, u2, set(u1), set(u1, g1, u2)), "", " 0<-1 u1 user input (1): one\n 1<0 g1 turn end (2): two\n*2<1 u2 user input (3): three\n"},
		{"a summary for the list", lines(u1, g1, set(said("u5", "what was"), said("g5", "yes"))), "",
			"-0<-1 u1 user input (1): one (secondLeaf to  at 00:00:00)\n-1<0 g1 turn end (2): two (secondLeaf to  at 00:00:00)\n 2<-1 u5 user input (1): what was\n*3<2 g5 turn end (2): yes\n"},
		{"an empty list", lines(u1, g1, set(), u2), "", "-0<-1 u1 user input (1): one (rewind to  at 00:00:09)\n-1<0 g1 turn end (2): two (rewind to  at 00:00:09)\n*2<-1 u2 user input (1): three\n"},
		{"the context of another day", lines(set(context("monday")), u1, g1, set(context("tuesday"), u1, g1)), "",
			" 0<-1 x context (1): tuesday\n 1<0 u1 user input (2): one\n*2<1 g1 turn end (3): two\n"},
		{"a list without what is not sent", lines(u1, info, g1, set(u1, g1), u2), "", " 0<-1 u1 user input (1): one\n 1<0 i info (2): logged in\n 2<1 g1 turn end (3): two\n*3<2 u2 user input (4): three\n"},
		{"a call that gets its result", lines(u1, started, call, result("u7"), g3), "",
			" 0<-1 u1 user input (1): one\n 1<0 g2 after model (2): ls\n 2<1 u7 tool iteration (3): ls  a.txt\n*3<2 g3 turn end (4): four\n"},
		{"a call that carries its result", lines(u1, call, g3), "", " 0<-1 u1 user input (1): one\n 1<0 g2 tool iteration (3): ls  a.txt\n*2<1 g3 turn end (4): four\n"},
		{"a call, resumed", lines(u1, call, result("u7"), g3, set(u1, converted, result("g2_response"), result("u7"), g3)), "note results-twice",
			" 0<-1 u1 user input (1): one\n 1<0 g2 after model (2): ls\n 2<1 u7 tool iteration (3): ls  a.txt\n*3<2 g3 turn end (4): four\n"},
		{"a call of before, resumed", lines(u1, call, g3, set(u1, converted, result("g2_response"), g3)), "note results-twice",
			" 0<-1 u1 user input (1): one\n 1<0 g2 tool iteration (3): ls  a.txt\n*2<1 g3 turn end (4): four\n"},
		{"a command alone", lines(said("u1", "/help")), "note nothing-to-resume", "*0<-1 u1 command (1): /help\n"},
		{"a damaged line", lines(u1, "{}}", g1), "loses damaged-line", plain},
		{"a torn line", u1 + "\n" + g1 + "\n" + u2[:20], "odd torn-line", plain},
		{"lines that are not known", lines(u1, `{"new":1}`, g1), "note unknown-record", plain},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := of(t, map[string]string{name: head + c.text})
			if got := storetest.Draw(t, s, id); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := storetest.FaultCodes(t, s, id); got != c.faults {
				t.Errorf("it has the faults %q, want %q", got, c.faults)
			}
		})
	}
}

// A file of one document is read as a log, and forked as one.
func TestDocument(t *testing.T) {
	document := fmt.Sprintf("{\n  \"sessionId\": %q,\n  \"projectHash\": \"h\",\n  \"messages\": [\n    %s,\n    %s\n  ]\n}\n", id, strings.ReplaceAll(said("u1", "one"), ",", ",\n      "), said("g1", "two"))
	s := of(t, map[string]string{"session-2025-01-01T00-00-0000aaaa.json": document})
	const want = " 0<-1 u1 user input (1): one\n*1<0 g1 turn end (2): two\n"
	if got := storetest.Draw(t, s, id); got != want {
		t.Errorf("it is\n%s", got)
	}
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: id, ID: "g1"}})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := storetest.Draw(t, s, plan.NewSession); got != want {
		t.Errorf("the fork is\n%s", got)
	}
	found, err := filepath.Glob(filepath.Join(s.Address(), "p", chats, "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if n := strings.Count(string(text), "\n"); err != nil || n != 3 {
		t.Errorf("it has %d lines: %v", n, err)
	}
}

// What Gemini CLI is about to delete is told of, whatever the other file is.
func TestTwins(t *testing.T) {
	full := head + lines(said("u1", "one"), said("g1", "two"))
	const later = "session-2026-01-01T00-05-0000aaaa.jsonl"
	for _, c := range []struct {
		name   string
		files  map[string]string
		faults string
	}{
		{"no other", map[string]string{name: full}, ""},
		{"an empty one", map[string]string{name: full, later: head}, "loses shared-short-id"},
		{"one without an id", map[string]string{name: full, later: lines(said("u1", "one"))}, "loses shared-short-id"},
		{"a full one", map[string]string{name: full, later: full}, "odd shared-short-id"},
		{"the document from before", map[string]string{name: full, "session-2025-01-01T00-00-0000aaaa.json": full[:len(head)-1]}, "loses shared-short-id"},
		{"one of another project", map[string]string{name: full, "../../q/chats/" + later: head}, ""},
		{"one of another id", map[string]string{name: full, "session-2026-01-01T00-05-0000aaab.jsonl": head}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := of(t, c.files)
			var session string
			for _, info := range storetest.Sessions(t, s) {
				if info.Title == "one" && info.Snapshots == 2 {
					session = info.ID
					if want := len(strings.Fields(c.faults)) / 2; info.Faults != want {
						t.Errorf("the list says %d faults, want %d", info.Faults, want)
					}
				}
			}
			if got := storetest.FaultCodes(t, s, session); got != c.faults {
				t.Errorf("it has the faults %q, want %q", got, c.faults)
			}
		})
	}
}

// A large session that is about to be deleted is told of in the list, too, and the moment it
// is.
func TestTwins_large(t *testing.T) {
	s := of(t, map[string]string{name: head + lines(said("u1", "one"), said("g1", strings.Repeat("x", 100<<10)))})
	faults := func() int { return storetest.Sessions(t, s)[0].Faults }
	if got := faults(); got != model.FaultsNotCounted {
		t.Errorf("%d faults", got)
	}
	if err := os.WriteFile(filepath.Join(s.Address(), "p", chats, "session-2026-01-01T00-05-0000aaaa.jsonl"), []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, info := range storetest.Sessions(t, s) {
		if info.ID == id && (info.Faults != 1 || info.Size < 100<<10) {
			t.Errorf("%d faults, and its size is %d", info.Faults, info.Size)
		}
	}
}

// A sub-agent is a session of its own, reached from the call that started it.
func TestSubagent(t *testing.T) {
	call := `{"id":"g1","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"c","name":"task","args":{},"status":"success","agentId":"helper-1","result":[]}]}`
	s := of(t, map[string]string{
		name:                   head + lines(said("u1", "one"), call),
		id + "/helper-1.jsonl": strings.Replace(head, "main", "subagent", 1) + lines(said("u8", "look"), said("g8", "found")),
	})
	var ids []string
	for _, info := range storetest.Sessions(t, s) {
		ids = append(ids, info.ID)
	}
	if want := []string{id, id + "/helper-1"}; !slices.Equal(ids, want) {
		t.Fatalf("the sessions are %q", ids)
	}
	facts, err := s.Features().Facts(t.Context(), model.Ref{Session: id, ID: "g1"})
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Value == ids[1] }) {
		t.Errorf("%v, %v", facts, err)
	}
	if got := storetest.FaultCodes(t, s, ids[1]); got != "" {
		t.Error(got)
	}
	// Its fork is a session of the project.
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: ids[1], ID: "g8"}})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := storetest.Draw(t, s, plan.NewSession); got != " 0<-1 u8 user input (1): look\n*1<0 g8 turn end (2): found\n" || strings.Contains(plan.NewSession, "/") {
		t.Errorf("%s is\n%s", plan.NewSession, got)
	}
}

// Each sub-agent of a message is reached from it.
func TestSubagent_several(t *testing.T) {
	call := `{"id":"c%d","name":"task","args":{},"status":"success","agentId":"helper-%d","result":[]}`
	s := of(t, map[string]string{
		name:                   head + lines(said("u1", "one"), `{"id":"g1","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[`+fmt.Sprintf(call+","+call, 1, 1, 2, 2)+`]}`),
		id + "/helper-1.jsonl": strings.Replace(head, "main", "subagent", 1) + lines(said("u8", "look"), said("g8", "found")),
		id + "/helper-2.jsonl": strings.Replace(head, "main", "subagent", 1) + lines(said("u9", "seek"), said("g9", "none")),
	})
	facts, err := s.Features().Facts(t.Context(), model.Ref{Session: id, ID: "g1"})
	for n, first := range []string{"u8", "u9"} {
		child := fmt.Sprintf("%s/helper-%d", id, n+1)
		if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Label == "sub-agent" && f.Value == child }) {
			t.Errorf("%s is not among %v, %v", child, facts, err)
		}
		if got, err := store.MeetingPoint(t.Context(), s, model.Ref{Session: child, ID: first}); err != nil || got.ID != "g1" {
			t.Errorf("what started %s is %+v, %v", child, got, err)
		}
	}
}

// The bytes of a fork: the first line under the new id, each message on one line as it is, and
// a name by which Gemini CLI deletes no other.
func TestFork_bytes(t *testing.T) {
	s := of(t, map[string]string{name: head + lines(said("u1", "one"), said("g1", "two"), said("u2", "three"), rewind("u2"), said("u3", "else"))})
	const as = "0000bbbb-0000-4000-8000-00000000000b"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: id, ID: "u2"}, As: as})
	if err == nil {
		_, err = s.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(s.Address(), "p", chats, "session-*-0000bbbb.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if want := lines(said("u1", "one"), said("g1", "two"), said("u2", "three")); rest != want {
		t.Errorf("it holds\n%swant\n%s", rest, want)
	}
	var is map[string]string
	if err := json.Unmarshal([]byte(first), &is); err != nil || is["sessionId"] != as || is["projectHash"] != "h" || is["kind"] != "main" || is["startTime"] != is["lastUpdated"] {
		t.Errorf("%s, %v", first, err)
	}
}

// Whatever is done to the list, the words of each message stay in some state.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words, text := map[string]bool{}, strings.Builder{}
		ids := []string{"u1", "g1", "u2", "g2", "u3", "g3"}
		message := func(t *rapid.T) string {
			w := rapid.SampledFrom([]string{"one", "two", "three", "/four", "five"}).Draw(t, "words")
			words[w] = true
			return said(rapid.SampledFrom(ids).Draw(t, "id"), w)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":    func(t *rapid.T) { text.WriteString(message(t) + "\n") },
			"rewind": func(t *rapid.T) { text.WriteString(rewind(rapid.SampledFrom(append(ids, "")).Draw(t, "to")) + "\n") },
			"set": func(t *rapid.T) {
				text.WriteString(set(rapid.SliceOfN(rapid.Custom(message), 0, 6).Draw(t, "list")...) + "\n")
			},
			"damage": func(*rapid.T) { text.WriteString("{\"id\":\n") },
		})
		have := seen(t, text.String())
		if want := slices.Sorted(maps.Keys(words)); !slices.Equal(have, want) {
			t.Fatalf("%q of %q are in view of\n%s", have, want, text.String())
		}
	})
}

// seen returns the words of all records that the entries of a log keep.
func seen(t *rapid.T, text string) []string {
	file := &chat.File[record]{}
	at := int64(0)
	for line := range strings.Lines(text) {
		v, err := chat.Parse([]byte(line))
		if err == nil {
			file.Records = append(file.Records, chat.Record[record]{Is: recordOf(v, at)})
		}
		at += int64(len(line))
	}
	folded := foldLog(file)
	taken, words := map[string]bool{}, map[string]bool{}
	for i, e := range folded.buildEntries(chat.Spot{}, "") {
		if taken[e.ID] || len(e.Records) == 0 || folded.nodes[i].parent >= i {
			t.Fatalf("%+v", e)
		}
		taken[e.ID] = true
		for _, r := range e.Records {
			v, err := chat.Parse([]byte(text[r.At : r.At+r.Len]))
			if err != nil {
				t.Fatal(err)
			}
			words[v.Get("content").Text()] = true
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// FuzzDecode: no line makes the decoder fail but one that is no object, and each message of a
// line is kept.
func FuzzDecode(f *testing.F) {
	for _, file := range []string{"demo/chats/session-2026-11-22T11-36-1b5ede93.jsonl", "lost/chats/session-2026-11-22T11-24-13a0feae.jsonl"} {
		text, err := os.ReadFile(filepath.Join(fixtures, filepath.FromSlash(file)))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		recordOf(chat.ParseHead(line), 0) // as the list reads a document
		v, err := chat.Parse(line)
		if err != nil || v.Kind() != jsontape.Object {
			return
		}
		r := recordOf(v, 0)
		if v.Get("id").Kind() == jsontape.String && v.Get("$rewindTo").Kind() != jsontape.String && len(r.messages) != 1 {
			t.Errorf("%d messages", len(r.messages))
		}
		for _, m := range r.messages {
			if m.At < 0 || m.At+m.Len > int64(len(line)) || m.Len == 0 {
				t.Errorf("the message is at %+v of %d", m.Span, len(line))
			}
		}
		folded := foldLog(&chat.File[record]{Records: []chat.Record[record]{{Is: r}, {Is: r}}})
		for _, e := range folded.buildEntries(chat.Spot{}, "") {
			at := e.Records[0]
			one, err := chat.Parse(line[at.At : at.At+at.Len])
			if err != nil {
				t.Fatal(err)
			}
			m, _ := messageOf(one)
			if text := m.AppendJSON(nil); !json.Valid(text) {
				t.Errorf("%s", text)
			}
		}
	})
}

// counting counts how often a file is opened for what its session is called.
type counting struct {
	*format
	asked *atomic.Int64
}

func (c counting) ID(in engine.In, at chat.Spot) string {
	c.asked.Add(1)
	return c.format.ID(in, at)
}

// What a session is called is remembered by another process as long as the file is the same.
func TestSessions_remembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p", chats)
	at := time.Unix(1e9, 0) // what was written just now is not remembered
	write := func(name, session, words string) {
		t.Helper()
		file := filepath.Join(dir, name)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(head, id, session)+lines(said("u1", words), said("g1", "two"))), 0o600)
		}
		if at = at.Add(time.Minute); err == nil {
			err = os.Chtimes(file, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const large = "session-2026-01-01T00-00-00000000.jsonl" // a memory is kept where it saves much
	write(large, "00000000-large", strings.Repeat("x", 5<<20))
	write(name, id, "one")
	caches := t.TempDir()
	asked := func() (n int64, ids []string) {
		t.Helper()
		of := *agent
		count := counting{new(format), new(atomic.Int64)}
		count.lines.Decode = decodeLine
		of.Format = func(string) chat.Format { return count }
		s, err := of.Open(t.Context(), engine.SiteOf(filepath.Dir(filepath.Dir(dir))), files.NewCache(caches))
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range storetest.Sessions(t, s) {
			ids = append(ids, info.ID)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(ids)
		return count.asked.Load(), ids
	}
	for _, want := range []int64{2, 0} {
		if n, ids := asked(); n != want || !slices.Equal(ids, []string{"00000000-large", id}) {
			t.Errorf("%d of the files were asked, want %d; the sessions are %q", n, want, ids)
		}
	}
	write(name, "another", "one")
	if n, ids := asked(); n != 1 || !slices.Contains(ids, "another") {
		t.Errorf("of one file that changed %d were asked; the sessions are %q", n, ids)
	}
}
