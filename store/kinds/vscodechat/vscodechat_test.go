package vscodechat

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/storetest"
)

// fixture is written by VS Code's own code, see testdata/interop/vscode-chat/record.mjs.
const fixture = "../../../testdata/coding/vscode-chat"

func idOf(n int) string { return fmt.Sprintf("7c1e0f5e-2a54-4c61-9a59-0f1d6f3a1b0%d", n) }

func TestRead(t *testing.T) { storetest.Read(t, Kind(nil).Kind, fixture) }

func openFixture(t *testing.T) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), fixture)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// draw returns a line for each entry: its index, that of its parent, its title, and how it is off the path.
func draw(s *chat.Session) (list []string) {
	for i := range s.Entries {
		e := &s.Entries[i]
		line := fmt.Sprintf("%d<%d %s", i, s.Before(i), titleOf(e))
		if e.Reason != nil {
			line += " – " + e.Reason.Kind.String() + " " + e.Reason.TargetID
		}
		if i == s.Head {
			line += " *"
		}
		list = append(list, line)
	}
	return list
}

func titleOf(e *chat.Entry) string {
	title, _ := e.Said.Title(nil, "")
	return title
}

// readText returns the session of a file.
func readText(t testing.TB, name, text string) (*chat.Session, engine.In) {
	t.Helper()
	in := engine.In{Tree: tree.Overlay(nil, tree.Steps{{Name: name, Data: []byte(text)}}, nil), Memo: tree.NewMemo(&files.Memory{})}
	f := agent.Format("").(*format)
	s, err := f.Read(t.Context(), in, f.Spot(name))
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

const start = `{"kind":0,"v":{"version":3,"sessionId":"s","requests":[`

func ask(id, words string) string {
	return fmt.Sprintf(`{"requestId":"request_%s","timestamp":1795251600000,"message":{"text":%q},"response":[]}`, id, words)
}

// Each change of the list of requests leaves what it cuts off as a branch.
func TestRead_log(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a cut, and what is pushed behind it": {
			start + ask("a", "A") + `,` + ask("b", "B") + "]}}\n" + `{"kind":2,"k":["requests"],"v":[` + ask("c", "C") + `],"i":1}`,
			"0<-1 A | 1<0 B – rewind a | 2<0 C *",
		},
		"a cut alone": {
			start + ask("a", "A") + `,` + ask("b", "B") + "]}}\n" + `{"kind":2,"k":["requests"],"i":0}`,
			"0<-1 A – rewind  | 1<0 B – rewind ",
		},
		"a request that comes back": {
			start + ask("a", "A") + `,` + ask("b", "B") + "]}}\n" + `{"kind":2,"k":["requests"],"i":1}` + "\n" + `{"kind":2,"k":["requests"],"v":[` + ask("b", "B again") + `]}`,
			"0<-1 A | 1<0 B again *",
		},
		"a request in place of one before another": {
			start + ask("a", "A") + `,` + ask("b", "B") + "]}}\n" + `{"kind":1,"k":["requests",0],"v":` + ask("x", "X") + `}`,
			"0<-1 A – rewind  | 1<0 B – rewind  | 2<-1 X | 3<2 B *",
		},
		"another first state": {
			start + ask("a", "A") + "]}}\n" + start + ask("a", "A") + `,` + ask("b", "B") + "]}}",
			"0<-1 A | 1<0 B *",
		},
		"an undo, and one that is taken back": {
			start + ask("a", "A") + `,` + ask("b", "B") + "]}}\n" + `{"kind":1,"k":["requests",0,"shouldBeRemovedOnSend"],"v":{"requestId":"a"}}` + "\n" +
				`{"kind":1,"k":["requests",1,"shouldBeRemovedOnSend"],"v":{"requestId":"b"}}` + "\n" + `{"kind":3,"k":["requests",0,"shouldBeRemovedOnSend"]}`,
			"0<-1 A * | 1<0 B – rewind a",
		},
		"an undo of a part of an answer": {
			start + ask("a", "A") + "]}}\n" + `{"kind":1,"k":["requests",0,"shouldBeRemovedOnSend"],"v":{"requestId":"a","afterUndoStop":"u"}}`,
			"0<-1 A *",
		},
		"an answer that is written as it comes": {
			start + ask("a", "A") + "]}}\n" + `{"kind":2,"k":["requests",0,"response"],"v":[{"value":"on"}]}` + "\n" +
				`{"kind":2,"k":["requests",0,"response"],"v":[{"value":"one "},{"value":"two"}],"i":0}` + "\n" + `{"kind":1,"k":["requests",0,"message","text"],"v":"A?"}`,
			"0<-1 A? | 1<0 one two *",
		},
		"a part of an answer in place of another": {
			start + ask("a", "A") + "]}}\n" + `{"kind":2,"k":["requests",0,"response"],"v":[{"value":"one "},{"value":"tw"},{"value":"x"}]}` + "\n" +
				`{"kind":1,"k":["requests",0,"response",1],"v":{"value":"two"}}` + "\n" + `{"kind":3,"k":["requests",0,"response",2]}`,
			"0<-1 A | 1<0 one two *",
		},
		"places that are not there": {
			start + ask("a", "A") + "]}}\n" + `{"kind":2,"k":["requests",7,"response"],"v":[{"value":"x"}]}` + "\n" + `{"kind":2,"k":["requests"],"i":-3}` + "\n" + `{"kind":1,"k":[],"v":1}`,
			"0<-1 A – rewind ",
		},
	} {
		s, _ := readText(t, "s.jsonl", c.text)
		if got := strings.Join(draw(s), " | "); got != c.want || len(s.Faults) > 0 {
			t.Errorf("%s: %s, with %v", name, got, s.Faults)
		}
	}
}

// The requests on the way to the head are those that VS Code has after any changes, and each message can be read.
func TestRead_anyLog(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text, ids := start+"]}}\n", []string(nil)
		for range rapid.IntRange(0, 12).Draw(r, "lines") {
			var added []string
			for range rapid.IntRange(0, 2).Draw(r, "added") {
				added = append(added, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "id"))
			}
			var rows []string
			for _, id := range added {
				rows = append(rows, ask(id, id))
			}
			from := rapid.IntRange(0, len(ids)).Draw(r, "from")
			ids = append(ids[:from], added...)
			text += fmt.Sprintf(`{"kind":2,"k":["requests"],"v":[%s],"i":%d}`, strings.Join(rows, ","), from) + "\n"
		}
		s, in := readText(t, "s.jsonl", text)
		var got []string
		for at := s.Head; at >= 0; at = s.Before(at) {
			list, err := agent.Format("").Messages(in, s, &s.Entries[at])
			if err != nil || len(list) != 1 {
				r.Fatal(list, err)
			}
			got = append(got, titleOf(&s.Entries[at]))
		}
		slices.Reverse(got)
		if !slices.Equal(got, ids) {
			r.Errorf("%v, not %v of %s", got, ids, text)
		}
	})
}

// What no log is, is a fault.
func TestRead_damaged(t *testing.T) {
	for text, code := range map[string]string{
		`{"kind":2,"k":["requests"],"v":[` + ask("a", "A") + `]}`:                                      FaultStart,
		start + ask("a", "A") + "]}}\n" + `{"kind":2,"k":["requ` + "\n" + `{"kind":1,"k":["x"],"v":1}`: chat.FaultLine,
	} {
		s, _ := readText(t, "s.jsonl", text)
		if len(s.Faults) != 1 || s.Faults[0].Code != code || len(s.Entries) != 1 {
			t.Errorf("%s: %v, %d entries", text, s.Faults, len(s.Entries))
		}
	}
}

// A prompt that waits is told at the head, an edit that no round says is in the answer, and a session is listed once.
func TestRead_fixture(t *testing.T) {
	s := openFixture(t)
	if n := len(storetest.Sessions(t, s)); n != 6 {
		t.Errorf("%d sessions", n)
	}
	head := model.Ref{Session: idOf(3), ID: idOf(8) + ".1"}
	facts, err := s.Features().Facts(t.Context(), head)
	if err != nil || !slices.ContainsFunc(facts, func(f model.Fact) bool { return f.Value == "And in Go?" }) {
		t.Errorf("%v: %v", facts, err)
	}
	state, err := s.State(t.Context(), model.Ref{Session: idOf(1), ID: idOf(3) + ".3"})
	if err != nil || !strings.Contains(string(state), `"textEditGroup"`) {
		t.Errorf("%s: %v", state, err)
	}
	for _, c := range []struct {
		session int
		want    string
	}{
		{4, "Name a prime/7/Another prime/11"},
		{5, "/explain this/It returns the price./as a table/| price | |---|"},
		{6, "Where is the port set?/I look. (grep PORT)/grep PORT  config.go:12: PORT/In config.go, line 12."},
	} {
		var titles []string
		for _, h := range storetest.Headers(t, s, idOf(c.session)) {
			if !h.Orphaned {
				titles = append(titles, h.Title)
			}
		}
		if got := strings.Join(titles, "/"); got != c.want {
			t.Errorf("session %d: %s", c.session, got)
		}
	}
}

// A session is opened by the folder of its user, of a workspace, of its chats, and by its file.
func TestOpen_places(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixture, globals, "emptyWindowChatSessions", idOf(3)+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, name := range []string{"Code/User/workspaceStorage/h/chatSessions/s.jsonl", "copied/chatSessions/s.jsonl", "alone/my chat.txt"} {
		name = filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]string{
		"Code": "s", "Code/User": "s", "Code/User/workspaceStorage": "s", "Code/User/workspaceStorage/h": "s", "Code/User/workspaceStorage/h/chatSessions/s.jsonl": "s",
		"copied": "s", "copied/chatSessions": "s", "alone/my chat.txt": "my chat.txt",
	} {
		s, err := Kind(nil).Open(t.Context(), filepath.Join(home, at))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if list := storetest.Sessions(t, s); len(list) != 1 || strings.TrimSuffix(want, ".txt") != list[0].ID {
			t.Errorf("%s has %v", at, list)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if why, ok, err := Kind(nil).Recognise(t.Context(), filepath.Join(home, "alone")); ok || err != nil {
		t.Errorf("a folder with a file is taken for a store: %s, %v", why, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"*/*/chatSessions/*", "*/emptyWindowChatSessions/*", "*/*/*/transcripts/*"} {
		names, err := filepath.Glob(filepath.Join(fixture, pattern))
		if err != nil || len(names) == 0 {
			f.Fatal(names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"s.jsonl", "s.json"} {
			s, in := readText(t, name, string(text))
			form := agent.Format("").(*format)
			for i := range s.Entries {
				list, err := form.Messages(in, s, &s.Entries[i])
				if err != nil {
					t.Fatal(err)
				}
				for k := range list {
					if text := list[k].AppendJSON(nil); !json.Valid(text) {
						t.Errorf("%s", text)
					}
				}
			}
			if _, err := form.ReadCarried(t.Context(), in, s); err != nil {
				t.Error(err)
			}
			if _, err := form.Glance(in, s.Spot); err != nil {
				t.Error(err)
			}
		}
	})
}
