package kinds_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/kinds/mapped"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/skip"
)

// A record of another program in a store of a framework, whose text no state has, is counted with its
// place; the same store without it has no such fault.
func TestGuard_frameworks(t *testing.T) {
	skip.Sequential(t)
	const said = "a note of another program"
	adds := func(statement string) func(t *testing.T, dir string) {
		return func(t *testing.T, path string) { rowstest.Execute(t, path, statement) }
	}
	// edits puts text in place of another in the first file that fits a pattern and has it.
	edits := func(pattern, old, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			names := glob(t, dir, pattern)
			for _, name := range names {
				file := filepath.Join(dir, filepath.FromSlash(name))
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if edited := strings.Replace(string(data), old, text, 1); edited != string(data) {
					if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
						t.Fatal(err)
					}
					return
				}
			}
			t.Fatalf("none of %q has %q", names, old)
		}
	}
	const member = `"note": "` + said + `", `
	for _, c := range []struct {
		path  string
		write func(t *testing.T, path string)
	}{
		{"langgraph/agent.db", adds("INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) VALUES ('tour', '', 'none', 't', '', 0, 'messages', 'json', '[\"" + said + "\"]')")},
		{"adk/sqlite_service.db", adds("UPDATE events SET event_data = '" + said + "' WHERE rowid = (SELECT max(rowid) FROM events)")},
		{"adk/database_service.db", adds("UPDATE events SET event_data = '" + said + "' WHERE rowid = (SELECT max(rowid) FROM events)")},
		{"openaiagents/sqlite_session.db", adds("INSERT INTO agent_messages (session_id, message_data) VALUES ('tour', '" + said + "')")},
		{"llamaindex/server.db", adds("UPDATE ticks SET tick_data = '" + said + "' WHERE rowid = (SELECT max(rowid) FROM ticks)")},
		{"agno/sessions.db", adds("UPDATE agno_runs SET run_data = '" + said + "' WHERE rowid = 1")},
		{"mastra/store.db", adds("UPDATE mastra_workflow_snapshot SET snapshot = '" + said + "' WHERE rowid = 1")},
		{"genkit/go-1.13.1/barista", edits("*/*.json", `{`, `{`+member)},
		{"strands/python-file", edits("session_*/agents/agent_*/messages/message_0.json", `"message": {`, member+`"message": {`)},
		{"strands/python-snapshot", edits("session/*/scopes/agent/*/snapshots/immutable_history/*.json", `{`, `{`+member)},
		{"agent-framework/history", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "tour.jsonl"), os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString("{" + strings.TrimSuffix(member, ", ") + "}\n"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.path, func(t *testing.T) {
			from, at := filepath.Join(testdata, filepath.FromSlash(c.path)), filepath.Join(t.TempDir(), filepath.Base(c.path))
			if info, err := os.Stat(from); err != nil {
				t.Fatal(err)
			} else if info.IsDir() {
				if err := os.CopyFS(at, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			} else if data, err := os.ReadFile(from); err != nil {
				t.Fatal(err)
			} else if err := os.WriteFile(at, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := unreadIn(t, allKinds, at); got != nil {
				t.Errorf("as it was recorded it has %v", got)
			}
			c.write(t, at)
			holdUnread(t, unreadIn(t, allKinds, at), said)
		})
	}

	t.Run("jsonl", func(t *testing.T) {
		at := filepath.Join(t.TempDir(), "a.jsonl")
		const line = `{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end",NOTE"state":{"messages":[{"role":"user","content":"hello"}]}}` + "\n"
		writeFile(t, at, strings.Replace(line, "NOTE", "", 1))
		if got := unreadIn(t, allKinds, at); got != nil {
			t.Errorf("without a note it has %v", got)
		}
		writeFile(t, at, strings.Replace(line, "NOTE", member, 1))
		holdUnread(t, unreadIn(t, allKinds, at), said)
	})
	t.Run("mapped", func(t *testing.T) {
		at := filepath.Join(t.TempDir(), "a.json")
		m, err := mapped.ParseMap("state=values,id=id")
		if err != nil {
			t.Fatal(err)
		}
		list := store.Kinds{mapped.Kind(m)}
		writeFile(t, at, `[{"id":"a","values":{"said":"hello you there"}}]`)
		if got := unreadIn(t, list, at); got != nil {
			t.Errorf("without a note it has %v", got)
		}
		writeFile(t, at, `[{"id":"a",`+member+`"values":{"said":"hello you there"}}]`)
		holdUnread(t, unreadIn(t, list, at), said)
	})
}

func writeFile(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// unreadIn returns the faults of texts that no message shows, of all sessions.
func unreadIn(t *testing.T, list store.Kinds, at string) (found []model.Fault) {
	t.Helper()
	s, err := list.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, info := range sessionsOf(t, s) {
		for _, f := range faultsOf(t, s, info.ID) {
			if f.Code == store.FaultUnread {
				found = append(found, f)
			}
		}
	}
	return found
}

func holdUnread(t *testing.T, got []model.Fault, said string) {
	t.Helper()
	if len(got) != 1 || !strings.HasPrefix(got[0].Meaning, "1 record has a text") || !strings.Contains(got[0].Meaning, said) || got[0].File == "" || got[0].Severity <= model.Note {
		t.Errorf("the faults are %+v, want one of %q", slices.Clone(got), said)
	}
}
