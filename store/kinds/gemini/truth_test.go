package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

// Gemini CLI keeps sessions in .gemini/tmp, in the folder that GEMINI_CLI_HOME names or at home.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		home string
		env  string
		want []string
	}{{"/h", "", []string{"/h/.gemini/tmp"}}, {"/h", "/other", []string{"/other/.gemini/tmp"}}, {"", "", nil}} {
		got := Kind(nil).Places(store.Surroundings{Home: c.home, Env: func(name string) string { return map[string]string{"GEMINI_CLI_HOME": c.env}[name] }})
		for i := range got {
			got[i] = strings.TrimPrefix(filepath.ToSlash(got[i]), filepath.VolumeName(got[i]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %q and %q they are %q", c.home, c.env, got)
		}
	}
}

// A document from before the logs is larger than what is read for its id; it opens wherever it
// lies and whatever it is called, by the id in it.
func TestDocument_large(t *testing.T) {
	var messages []string
	for range 40 {
		messages = append(messages, said("u1", strings.Repeat("x", 4<<10)))
	}
	document := `{"sessionId":"` + id + `","projectHash":"h","messages":[` + strings.Join(messages, ",\n") + `],"summary":"what it was about"}`
	s := of(t, map[string]string{"session-2025-01-01T00-00-0000aaaa.json": document})
	if _, ok, err := Kind(nil).Recognise(t.Context(), s.Address()); !ok || err != nil {
		t.Errorf("it is not recognised: %v", err)
	}
	if list := storetest.Sessions(t, s); len(list) != 1 || list[0].ID != id || !strings.HasPrefix(list[0].Title, "xxx") {
		t.Errorf("the sessions are %+v", list)
	}
	if got := storetest.Draw(t, s, id); !strings.HasPrefix(got, "*0<-1 u1 user input (1): xxx") {
		t.Errorf("it is\n%s", got)
	}
	file := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Kind(nil).Recognise(t.Context(), file); !ok || err != nil {
		t.Errorf("alone it is not recognised: %v", err)
	}
	if list := storetest.Sessions(t, open(t, file)); len(list) != 1 || list[0].ID != id || list[0].Project != "" {
		t.Errorf("alone the sessions are %+v", list)
	}
}

// What a message says and costs: thoughts, tokens of all kinds, parts that are no text, a tool
// that failed, and whatever else stands where these should.
func TestMessage(t *testing.T) {
	for _, c := range []struct {
		record, want string
		usage        conversation.Usage
	}{
		{`{"type":"gemini","content":"hi","model":"m","thoughts":[{"subject":"Plan","description":"do it"}],"tokens":{"input":100,"output":5,"cached":20,"thoughts":7,"tool":3,"total":115}}`,
			`[{"reasoning":{"text":"Plan\ndo it"}},{"text":"hi"}]`, conversation.Usage{Input: 103, Output: 12, CacheRead: 20, Counted: true}},
		{`{"type":"user","content":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}`,
			`[{"text":"see"},{"json":{"inlineData":{"mimeType":"image/png","data":"AA=="}}}]`, conversation.Usage{}},
		{`{"type":"user","content":{"text":"one part"}}`, `[{"text":"one part"}]`, conversation.Usage{}},
		{`{"type":"gemini","content":"","toolCalls":[{"id":"c","name":"sh","args":{"a":1}}]}`, `[{"toolUse":{"toolUseId":"c","name":"sh","input":{"a":1}}}]`, conversation.Usage{}},
		{`{"type":"user","content":null}`, `[]`, conversation.Usage{}},
		{`{"content":7,"tokens":[],"toolCalls":{"id":1},"thoughts":"x","model":{}}`, `[{"json":7}]`, conversation.Usage{}},
		{`{"type":"gemini","content":[null,[],"text"],"toolCalls":[3],"thoughts":[null],"tokens":{"input":"x","thoughts":9}}`,
			`[{"reasoning":{"text":""}},{"json":null},{"json":[]},{"text":"text"},{"toolUse":{"toolUseId":"","name":"","input":null}}]`, conversation.Usage{}},
	} {
		v, err := chat.Parse([]byte(c.record))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := messageOf(v)
		var is struct{ Content json.RawMessage }
		if err := json.Unmarshal(m.AppendJSON(nil), &is); err != nil || string(is.Content) != c.want {
			t.Errorf("%s says %s, %v", c.record, is.Content, err)
		}
		if m.Usage != c.usage {
			t.Errorf("%s costs %+v", c.record, m.Usage)
		}
	}
}

// Lines of other shapes than Gemini CLI writes: the session opens, each message is there, and a
// fault says what is off.
func TestSessions_hostile(t *testing.T) {
	u1, g1 := said("u1", "one"), said("g1", "two")
	plain := " 0<-1 u1 user input (1): one\n*1<0 g1 turn end (2): two\n"
	for _, c := range []struct{ name, text, faults, draws string }{
		{"values that are no objects", head + lines(u1, "null", "3", `"x"`, "[]", g1), "loses damaged-line, loses damaged-line, loses damaged-line, loses damaged-line", plain},
		{"an id that is no string", head + lines(u1, `{"id":5,"type":"user","content":"no"}`, g1), "note unknown-record, odd unread-text", plain},
		{"sets of nothing", head + lines(u1, `{"$set":{}}`, `{"$set":{"messages":null}}`, `{"$set":{"summary":5,"lastUpdated":{}}}`, g1), "", plain},
		{"a set that is none", head + lines(u1, `{"$set":null}`, g1), "note unknown-record", plain},
		{"a list with what is no message", head + lines(u1, set(u1, "null", `{"content":"x"}`), g1), "odd unread-text", plain},
		{"a message without anything", head + lines(u1, `{"id":""}`, g1), "", " 0<-1 u1 user input (1): one\n 1<0 message unknown (2): \n*2<1 g1 turn end (3): two\n"},
		{"a type of the future", head + lines(u1, `{"id":"f","type":"dream","content":"of sheep"}`, g1), "", " 0<-1 u1 user input (1): one\n 1<0 f dream (2): of sheep\n*2<1 g1 turn end (3): two\n"},
		{"no first line", lines(u1, g1), "loses no-session-id", plain},
		{"an empty file", "", "", ""},
		{"a byte that is torn", "{", "odd torn-line, loses no-session-id", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := of(t, map[string]string{name: c.text})
			session := strings.TrimSuffix(name, ".jsonl")
			if strings.HasPrefix(c.text, head) {
				session = id
			}
			if got := storetest.Draw(t, s, session); got != c.draws {
				t.Errorf("it is\n%swant\n%s", got, c.draws)
			}
			if got := storetest.FaultCodes(t, s, session); got != c.faults {
				t.Errorf("it has the faults %q, want %q", got, c.faults)
			}
		})
	}
}

// The summary that Gemini CLI wrote names a session.
func TestSessions_summary(t *testing.T) {
	s := of(t, map[string]string{name: head + lines(said("u1", "one"), `{"$set":{"summary":"what it was about"}}`)})
	if got := storetest.Sessions(t, s)[0].Title; got != "what it was about" {
		t.Errorf("it is called %q", got)
	}
}

// The plan of a fork has the whole command, in the folder of the project, and says what stays:
// Gemini CLI names no commit and no branch.
func TestFork_plan(t *testing.T) {
	s := of(t, map[string]string{name: head + lines(said("u1", "one"), said("g1", "two")), "../" + rootFile: "/home/a demo\n"})
	const as = "0000bbbb-0000-4000-8000-00000000000b"
	plan, err := s.Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: id, ID: "u1"}, As: as})
	if err != nil {
		t.Fatal(err)
	}
	if want := "cd '/home/a demo' && gemini --resume " + as; len(plan.Resume) != 1 || plan.Resume[0].Call != want {
		t.Errorf("it resumes by %+v", plan.Resume)
	}
	if !slices.Contains(plan.Hazards, "the files of the work tree stay as they are now") {
		t.Errorf("the hazards are %q", plan.Hazards)
	}
}
