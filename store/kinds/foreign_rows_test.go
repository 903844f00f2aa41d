package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// What has the envelope of a kind and other bodies opens with a fault that says what was not read, and is
// not shown as a session without messages.
func TestKinds_foreignRows(t *testing.T) {
	skip.Sequential(t)
	openai := []string{
		"CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP)",
		"CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TIMESTAMP, FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id))",
		"INSERT INTO agent_sessions VALUES ('s', '2026-11-28 10:00:00', '2026-11-28 10:00:00')",
	}
	item := func(data string) string {
		return "INSERT INTO agent_messages VALUES (1, 's', '" + data + "', '2026-11-28 10:00:00')"
	}
	adk := []string{
		"CREATE TABLE app_states (app_name TEXT, state TEXT, update_time REAL)", "CREATE TABLE user_states (app_name TEXT, user_id TEXT, state TEXT, update_time REAL)",
		"CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time REAL, update_time REAL)",
		"CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, timestamp REAL, event_data TEXT)",
		"INSERT INTO sessions VALUES ('a', 'u', 's', '{}', 1, 1)",
	}
	event := func(data string) string {
		return "INSERT INTO events VALUES ('e', 'a', 'u', 's', 'i', 1, '" + data + "')"
	}
	graph := []string{
		"CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB)",
		"CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, task_path TEXT, idx INTEGER, channel TEXT, type TEXT, value BLOB)",
	}
	crush := []string{
		"CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, created_at INTEGER, updated_at INTEGER)",
		"CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, content TEXT, model TEXT, created_at INTEGER, updated_at INTEGER)",
		"INSERT INTO sessions VALUES ('s', NULL, 'one', 1764000000, 1764000000)",
	}
	opencode := []string{
		"CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, time_updated INTEGER)",
		"CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)",
		"CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT)",
		"CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, data TEXT)",
		"INSERT INTO session VALUES ('ses_1', NULL, 'one', '/work', 1764000000000)",
	}
	llamaindex := []string{
		"CREATE TABLE ticks (id INTEGER PRIMARY KEY, run_id TEXT, sequence INTEGER, timestamp TEXT, tick_data TEXT)", "CREATE TABLE handlers (handler_id TEXT, workflow_name TEXT, status TEXT, run_id TEXT)",
		"CREATE TABLE workflow_state (run_id TEXT, state_json TEXT)", "INSERT INTO handlers VALUES ('h', 'w', 'running', 'r')",
	}
	mastra := []string{
		"CREATE TABLE mastra_workflow_snapshot (workflow_name TEXT, run_id TEXT, resourceId TEXT, snapshot TEXT, createdAt TEXT, updatedAt TEXT)", "CREATE TABLE mastra_threads (id TEXT, resourceId TEXT, title TEXT, metadata TEXT)",
		"CREATE TABLE mastra_messages (id TEXT, thread_id TEXT, content TEXT, role TEXT, type TEXT, createdAt TEXT)", "INSERT INTO mastra_threads VALUES ('t', 'u', 'one', NULL)",
	}
	const crewai = "CREATE TABLE checkpoints (id TEXT PRIMARY KEY, created_at TEXT, parent_id TEXT, branch TEXT, data JSONB)"
	const hash = "0123456789abcdef0123456789abcdef"
	openhands := func(body string) map[string]string {
		const id = "11111111-1111-4111-8111-111111111111"
		return map[string]string{
			hash + "/base_state.json":                    `{"id":"01234567-89ab-cdef-0123-456789abcdef","agent":{"kind":"Agent"},"workspace":{"working_dir":"/work"}}`,
			hash + "/events/event-00000-" + id + ".json": `{"id":"` + id + `","timestamp":"2026-11-27T10:00:00",` + body + `}`,
		}
	}
	strands := func(message string) map[string]string {
		const at = `"created_at":"2026-11-21T01:10:16+00:00","updated_at":"2026-11-21T01:10:16+00:00"`
		return map[string]string{
			"session_x/session.json":                           `{"session_id":"x","session_type":"AGENT",` + at + `}`,
			"session_x/agents/agent_a/agent.json":              `{"agent_id":"a","state":{},"conversation_manager_state":{"__name__":"SlidingWindowConversationManager","removed_message_count":0},` + at + `}`,
			"session_x/agents/agent_a/messages/message_0.json": `{"message_id":0,` + message + `,` + at + `}`,
		}
	}
	snapshots := func(data string) map[string]string {
		const dir = "s/scopes/agent/default/snapshots/"
		text := `{"scope":"agent","schema_version":"1.0","created_at":"2026-11-21T01:11:47.719966Z",` + data + `}`
		return map[string]string{dir + "snapshot_latest.json": text, dir + "immutable_history/snapshot_01a1fba8-d308-7108-be55-af0a42436852.json": text}
	}
	genkit := func(state string) map[string]string {
		return map[string]string{"global/4babc1f0-1344-4d8a-84ff-9af307fa3584.json": `{"snapshotId":"4babc1f0-1344-4d8a-84ff-9af307fa3584","sessionId":"s","createdAt":"2026-11-21T01:18:00Z","updatedAt":"2026-11-21T01:18:00Z","status":"done","state":` + state + `}`}
	}
	file := func(name, text string) map[string]string { return map[string]string{name: text} }
	for _, c := range []struct {
		name, kind string
		files      map[string]string
		rows       []string
		// says is what a fault has in its meaning; "" where what stands there is in a message.
		says string
	}{
		{"openai-agents, another speaker and body", "openai-agents", nil, append(openai, item(`{"author":"user","body":"hello there you"}`)), "hello there you"},
		{"openai-agents, LangChain's dictionary is shown", "openai-agents", nil, append(openai, item(`{"type":"human","data":{"content":"hello there you"}}`)), ""},
		{"openai-agents, a constructor's arguments", "openai-agents", nil, append(openai, item(`{"kwargs":{"content":"hello there you"}}`)), "hello there you"},
		{"openai-agents, no JSON", "openai-agents", nil, append(openai, item(`hello there you`)), "hello there you"},
		{"openai-agents, parts are shown", "openai-agents", nil, append(openai, item(`{"role":"user","parts":[{"text":"hello there you"}]}`)), ""},
		{"adk, a text beside the author", "adk", nil, append(adk, event(`{"id":"e","author":"user","text":"hello there you"}`)), "hello there you"},
		{"adk, a content that is a text", "adk", nil, append(adk, event(`{"role":"user","content":"hello there you"}`)), "hello there you"},
		{"adk, blocks in place of parts", "adk", nil, append(adk, event(`{"author":"user","content":{"role":"user","blocks":[{"text":"hello there you"}]}}`)), "hello there you"},
		{"langgraph, the channel of messages", "langgraph", nil, append(graph, `INSERT INTO checkpoints VALUES ('t', '', 'c1', NULL, 'json', '{"id":"c1","v":4,"channel_values":{"messages":[{"body":"hello there you"}]}}', '{"source":"loop","step":0}')`), "hello there you"},
		{"langgraph, a channel of the program's own", "langgraph", nil, append(graph, `INSERT INTO checkpoints VALUES ('t', '', 'c1', NULL, 'json', '{"id":"c1","v":4,"channel_values":{"turns":[{"author":"user","body":"hello there you"}]}}', '{"source":"loop","step":0}')`), ""},
		{"langgraph, a record without channels", "langgraph", nil, append(graph, `INSERT INTO checkpoints VALUES ('t', '', 'c1', NULL, 'json', '{"id":"c1","values":{"messages":[{"role":"user","content":"hello there you"}]}}', '{}')`), ""},
		{"crush, a column of contents", "crush", nil, append(crush, "INSERT INTO messages VALUES ('m1', 's', 'user', '[]', 'hello there you', '', 1764000000, 1764000000)"), "hello there you"},
		{"crush, a text in place of parts", "crush", nil, append(crush, "INSERT INTO messages VALUES ('m1', 's', 'user', 'hello there you', NULL, '', 1764000000, 1764000000)"), "cannot be read"},
		{"crush, another type of parts is shown", "crush", nil, append(crush, `INSERT INTO messages VALUES ('m1', 's', 'user', '[{"kind":"text","text":"hello there you"}]', NULL, '', 1764000000, 1764000000)`), ""},
		{"opencode, messages of version 2", "opencode", nil, append(opencode, `INSERT INTO session_message VALUES ('m1', 'ses_1', 'user', '{"text":"hello there you"}')`), "hello there you"},
		{"opencode, a content in the message", "opencode", nil, append(opencode, `INSERT INTO message VALUES ('msg_1', 'ses_1', 1764000000000, 1764000000000, '{"role":"user","content":"hello there you"}')`), "hello there you"},
		{"llamaindex, no JSON", "llamaindex", nil, append(llamaindex, "INSERT INTO ticks VALUES (1, 'r', 0, '2026-11-28 10:00:00', 'hello there you')"), "hello there you"},
		{"llamaindex, another tick is in the state", "llamaindex", nil, append(llamaindex, `INSERT INTO ticks VALUES (1, 'r', 0, '2026-11-28 10:00:00', '{"body":"hello there you"}')`), ""},
		{"mastra, another content is shown", "mastra", nil, append(mastra, `INSERT INTO mastra_messages VALUES ('m', 't', '{"body":"hello there you"}', 'user', 'v9', '2026-11-28T10:00:00Z')`), ""},
		{"mastra, a content that is cut", "mastra", nil, append(mastra, `INSERT INTO mastra_messages VALUES ('m', 't', '{"body":"hello there', 'user', 'v9', '2026-11-28T10:00:00Z')`), "cannot be read"},
		{"crewai, another document", "crewai", nil, []string{crewai, `INSERT INTO checkpoints VALUES ('20261128T100000_0123abcd', '20261128T100000', NULL, 'main', '{"memory":[{"author":"user","body":"hello there you"}]}')`}, "cannot be read"},
		{"openhands, actions of version 0", "openhands", openhands(`"source":"user","action":"message","args":{"content":"hello there you"}`), nil, "hello there you"},
		{"openhands, a message of another name", "openhands", openhands(`"source":"user","kind":"MessageEvent","message":{"role":"user","content":"hello there you"}`), nil, "hello there you"},
		{"openhands, neither kind nor source", "openhands", openhands(`"role":"user","text":"hello there you"`), nil, "hello there you"},
		{"strands, the message without its wrapper", "strands", strands(`"role":"user","content":"hello there you"`), nil, "hello there you"},
		{"strands, another member", "strands", strands(`"body":{"author":"user","value":"hello there you"}`), nil, "hello there you"},
		{"strands, parts", "strands", strands(`"message":{"role":"user","parts":[{"text":"hello there you"}]}`), nil, "has no content"},
		{"strands-snapshots, another list", "strands-snapshots", snapshots(`"data":{"history":[{"author":"user","body":"hello there you"}]}`), nil, "have no messages"},
		{"strands-snapshots, another member", "strands-snapshots", snapshots(`"payload":{"messages":[{"role":"user","content":[{"text":"hello there you"}]}]}`), nil, "hello there you"},
		{"strands-snapshots, another message", "strands-snapshots", snapshots(`"data":{"messages":[{"author":"user","body":"hello there you"}]}`), nil, "no content"},
		{"genkit, blocks in place of content", "genkit", genkit(`{"sessionId":"s","messages":[{"role":"user","blocks":[{"text":"hello there you"}]}]}`), nil, "hello there you"},
		{"genkit, another list", "genkit", genkit(`{"sessionId":"s","turns":[{"author":"user","body":"hello there you"}]}`), nil, "hello there you"},
		{"genkit, what a program keeps", "genkit", genkit(`{"sessionId":"s","custom":{"turns":[{"author":"user","body":"hello there you"}]}}`), nil, ""},
		{"aider, headings are what the model said", "aider", file(".aider.chat.history.md", "# aider chat started at 2026-05-10 05:21:19\n\n## User\nhello there you\n"), nil, ""},
		{"agent-framework, another content is shown", "agent-framework", file("s.jsonl", `{"type":"message","role":"user","contents":[{"type":"x","body":"hello there you"}]}`+"\n"), nil, ""},
		{"jsonl, a message beside the state", "jsonl", file("s.jsonl", `{"id":"a","sessionId":"s","index":0,"createdAt":"2026-11-28T00:00:00Z","event":"turn end","state":null,"messages":[{"role":"user","content":"hello there you"}]}`+"\n"), nil, "hello there you"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(at, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			switch {
			case c.rows != nil && (c.kind == "crush" || c.kind == "opencode"):
				ran(t, filepath.Join(at, c.kind+".db"), c.rows...)
			case c.rows != nil:
				at = filepath.Join(at, "a.db")
				ran(t, at, c.rows...)
			case c.kind == "aider" || c.kind == "jsonl":
				for name := range c.files {
					at = filepath.Join(at, name)
				}
			}
			s, err := All(nil, "").Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Kind() != c.kind {
				t.Fatalf("it opens as %s", s.Kind())
			}
			sessions, told, unread := 0, false, false
			for info, err := range s.Sessions(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				sessions++
				faults, err := s.Faults(t.Context(), info.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range faults {
					told = told || c.says != "" && strings.Contains(f.Meaning, c.says) && f.Severity > model.Note
					unread = unread || f.Code == store.FaultUnread
				}
			}
			if sessions != 1 || told != (c.says != "") || unread && c.says == "" {
				t.Errorf("of %d sessions it is told: %t, unread: %t; want a fault that says %q", sessions, told, unread, c.says)
			}
		})
	}
}
