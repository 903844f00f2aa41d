package kinds

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest/skip"
)

// unreadIn returns the faults of texts that no message shows, of all sessions of a store.
func unreadIn(t *testing.T, address string) (list []model.Fault) {
	t.Helper()
	s, err := All(nil, "").Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for info, err := range s.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		faults, err := s.Faults(t.Context(), info.ID)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.DeleteFunc(faults, func(f model.Fault) bool { return f.Code != store.FaultUnread })...)
	}
	return list
}

// ran runs statements on a new database.
func ran(t *testing.T, file string, statements ...string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := sqlitefile.NewOwn(file, "&_pragma=synchronous(0)", nil)
	err := db.Fill(t.Context(), func(tx *sqlitefile.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A part of a message that no message shows counts beside one that is shown, in rows, in a file for each
// event, and in lines.
func TestGuard_partsOfMessages(t *testing.T) {
	skip.Sequential(t)
	crush := []string{
		"CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, created_at INTEGER, updated_at INTEGER)",
		"CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, updated_at INTEGER)",
		"INSERT INTO sessions VALUES ('s1', NULL, 'one', 1764000000, 1764000000)",
	}
	opencode := []string{
		"CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, time_updated INTEGER)",
		"CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)",
		"CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT)",
		"INSERT INTO session VALUES ('ses_1', NULL, 'one', '/work', 1764000000000)",
		`INSERT INTO message VALUES ('msg_1', 'ses_1', 1764000000000, 1764000000000, '{"role":"user"}')`,
		`INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1764000000000, '{"type":"text","text":"hello"}')`,
	}
	event := func(n, id, body string) [2]string {
		return [2]string{"0123456789abcdef0123456789abcdef/events/event-0000" + n + "-" + id + ".json",
			`{"id":"` + id + `","timestamp":"2026-11-27T10:00:0` + n + `","source":"user",` + body + `}`}
	}
	state := [2]string{"0123456789abcdef0123456789abcdef/base_state.json", `{"id":"01234567-89ab-cdef-0123-456789abcdef","agent":{"kind":"Agent"},"workspace":{"working_dir":"/work"}}`}
	hello := event("0", "11111111-1111-4111-8111-111111111111", `"kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"hello"}]}`)
	claude := `{"uuid":"00000009-0000-4000-8000-000000000009","parentUuid":"00000002-0000-4000-8000-000000000002","sessionId":"33333333-aaaa-4bbb-8ccc-000000000002","type":"user","message":{"role":"user","content":[{"type":"text","text":"seen"},`
	for _, c := range []struct {
		name  string
		files [][2]string
		db    string
		rows  []string
		count string // how the fault begins, "" for none
		path  string
	}{
		{name: "crush", db: "crush.db", rows: append(crush, `INSERT INTO messages VALUES ('m1', 's1', 'user', '[{"type":"text","data":{"text":"hello"}}]', '', 1764000000, 1764000000)`)},
		{name: "crush with a text in another member", db: "crush.db", rows: append(crush, `INSERT INTO messages VALUES ('m1', 's1', 'user', '[{"type":"text","data":{"text":"hello"}},{"type":"text","data":{"content":"lost"}},{"type":"finish","data":{"reason":"error","message":"it broke"}}]', '', 1764000000, 1764000000)`), count: "1 record has a text", path: "m1"},
		{name: "opencode", db: "opencode.db", rows: append(opencode, `INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', 1764000000000, '{"type":"patch","hash":"x","text":"diff"}')`)},
		{name: "opencode with a text in another member", db: "opencode.db", rows: append(opencode, `INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', 1764000000000, '{"type":"text","content":"lost"}')`), count: "1 record has a text", path: "prt_2"},
		{name: "opencode with a text in the record of a message", db: "opencode.db", rows: append(opencode, `INSERT INTO message VALUES ('msg_2', 'ses_1', 1764000001000, 1764000001000, '{"role":"user","content":"lost"}')`), count: "1 record has a text", path: "msg_2"},
		{name: "openhands", files: [][2]string{state, hello, event("1", "22222222-2222-4222-8222-222222222222", `"kind":"PauseEvent","message":"paused"`)}},
		{name: "openhands with an event of another kind", files: [][2]string{state, hello, event("1", "22222222-2222-4222-8222-222222222222", `"kind":"NoteEvent","text":"lost"`)}, count: "1 record has a text"},
		{name: "openhands with a content that is a text", files: [][2]string{state, hello, event("1", "22222222-2222-4222-8222-222222222222", `"kind":"MessageEvent","llm_message":{"role":"user","content":"lost"}`)}, count: "1 record has a text"},
		{name: "Gemini CLI with a part of a message that is known", files: [][2]string{{geminiFile, strings.Join([]string{
			`{"sessionId":"77777777-1111-4222-8333-444444444444","projectHash":"x","startTime":"2026-11-27T10:00:00.000Z"}`,
			`{"id":"1","timestamp":"2026-11-27T10:00:01.000Z","type":"user","content":[{"text":"hello"},{"kind":"x","text":"more"}]}`,
		}, "\n")}}},
		{name: "Claude Code with a part of a tool", files: [][2]string{{claudeFile, strings.Join(append(claudeLines(`user "first"`, done), claude+`{"type":"text","text":"more"}]}}`), "\n") + "\n"}}},
		{name: "Claude Code with a text in another member of a part", files: [][2]string{{claudeFile, strings.Join(append(claudeLines(`user "first"`, done), claude+`{"type":"text","body":"lost"}]}}`), "\n") + "\n"}}, count: "1 record has a text", path: "line 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				file := filepath.Join(dir, filepath.FromSlash(f[0]))
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(f[1]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.db != "" {
				ran(t, filepath.Join(dir, c.db), c.rows...)
			} else if c.files[0] != state {
				dir = filepath.Dir(filepath.Join(dir, filepath.FromSlash(c.files[0][0])))
			}
			list := unreadIn(t, dir)
			switch {
			case c.count == "" && len(list) > 0:
				t.Errorf("there is a fault: %v", list)
			case c.count != "" && (len(list) != 1 || !strings.HasPrefix(list[0].Meaning, c.count) || list[0].Path != c.path || !strings.Contains(list[0].Meaning, "lost")):
				t.Errorf("the faults are %v, want %q at %q", list, c.count, c.path)
			}
		})
	}
}

// All that the real stores of coding agents say is in view.
func TestGuard_realAgents(t *testing.T) {
	skip.Sequential(t)
	stores, err := filepath.Glob(filepath.Join("..", "..", "testdata", "coding", "*"))
	if err != nil || len(stores) < 9 {
		t.Fatalf("the stores are %q, %v", stores, err)
	}
	for _, at := range stores {
		if filepath.Base(at) == "aider" {
			at = filepath.Join(at, ".aider.chat.history.md")
		}
		if list := unreadIn(t, at); len(list) > 0 {
			t.Errorf("%s: %v", at, list)
		}
	}
}
