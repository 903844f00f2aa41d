package kinds_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/native/postgres"
	"hindcast/store/native/sqlite"
	"hindcast/store/native/typed"
	"hindcast/store/storetest/skip"
)

// committer is a store of Hindcast's own, as an agent writes to it.
type committer interface {
	store.Store
	typed.Committer
}

// A record that is newer than its snapshot has texts that no snapshot shows; one that a snapshot was taken
// of has none. So in a file, and so on a server.
func TestGuard_native(t *testing.T) {
	skip.Sequential(t)
	url := pgtest.SharedCluster(t).Database(t)
	for name, open := range map[string]func() (committer, error){
		"sqlite":   func() (committer, error) { return sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "a.db")) },
		"postgres": func() (committer, error) { return postgres.Create(t.Context(), url) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			state := json.RawMessage(`{"messages":[{"role":"user","content":"hello"}]}`)
			first := &model.Snapshot[json.RawMessage]{ID: model.SnapshotID(state), SessionID: "s", State: state}
			at, err := s.Commit(t.Context(), &model.Data[json.RawMessage]{ID: "s", State: state, LastSnapshot: first}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if list := faultsOf(t, s, "s"); len(list) > 0 {
				t.Errorf("what a snapshot was taken of has %+v", list)
			}
			newer := json.RawMessage(strings.Replace(string(state), "hello", "said since", 1))
			if _, err := s.Commit(t.Context(), &model.Data[json.RawMessage]{ID: "s", State: newer, LastSnapshot: first}, at); err != nil {
				t.Fatal(err)
			}
			holdUnread(t, faultsOf(t, s, "s"), "said since")
		})
	}
}

// What frameworks wrote to a server is in view, and a row of another program is counted.
func TestGuard_postgres(t *testing.T) {
	skip.Sequential(t)
	c := pgtest.SharedCluster(t)
	for framework, statement := range map[string]string{
		"langgraph":    `INSERT INTO checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) VALUES ('tour', 'none', 't', 0, 'messages', 'json', '["a note of another program"]')`,
		"adk":          `UPDATE events SET event_data = '{"note":"a note of another program"}' WHERE ctid = (SELECT max(ctid) FROM events)`,
		"openaiagents": "UPDATE agent_messages SET message_data = 'a note of another program' WHERE id = (SELECT max(id) FROM agent_messages)",
	} {
		t.Run(framework, func(t *testing.T) {
			address := c.Restore(t, filepath.Join(testdata, framework, "postgres.sql"))
			if list := unreadIn(t, allKinds, address); len(list) > 0 {
				t.Errorf("as it was recorded it has %+v", list)
			}
			c.Exec(t, address, statement)
			holdUnread(t, unreadIn(t, allKinds, address), "a note of another program")
		})
	}
}
