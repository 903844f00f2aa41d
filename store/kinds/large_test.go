package kinds_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// A value that is far larger than what the framework writes into its column costs its row, and is
// not read: what is allocated does not grow with it. The rest of the store is shown.
func TestDatabases_largeValues(t *testing.T) {
	skip.Sequential(t)
	skip.Counting(t)
	large := map[string][]string{
		"langgraph/agent.db":             {"checkpoints.type", "checkpoints.thread_id", "checkpoints.checkpoint_id", "checkpoints.parent_checkpoint_id", "writes.type", "writes.channel", "writes.task_id"},
		"adk/sqlite_service.db":          {"events.invocation_id", "events.id", "events.timestamp", "sessions.id", "app_states.app_name", "user_states.user_id"},
		"openaiagents/sqlite_session.db": {"agent_messages.session_id", "agent_messages.created_at", "agent_sessions.session_id", "agent_sessions.updated_at"},
		"crewai/checkpoints.db":          {"checkpoints.id", "checkpoints.parent_id", "checkpoints.branch", "checkpoints.created_at"},
		"mastra/store.db":                {"mastra_messages.role", "mastra_messages.thread_id", "mastra_workflow_snapshot.run_id", "mastra_threads.title"},
		"agno/sessions.db":               {"agno_runs.session_id", "agno_runs.status", "agno_sessions.session_type"},
		"dbos/system.db":                 {"operation_outputs.function_name", "operation_outputs.child_workflow_id", "workflow_status.status"},
		"llamaindex/server.db":           {"ticks.run_id", "handlers.status", "workflow_state.run_id"},
	}
	const size = 40 << 20
	for name, columns := range large {
		for _, column := range columns {
			t.Run(name+" "+column, func(t *testing.T) {
				path := storetest.Copy(t, filepath.Join(testdata, name))
				table, in, _ := strings.Cut(column, ".")
				file := sqlitefile.NewOwn(path, "", nil)
				err := file.Write(t.Context(), func(tx *sqlitefile.Tx) error {
					_, err := tx.Exec(t.Context(), fmt.Sprintf(`UPDATE %s SET "%s" = CAST(zeroblob(%d) AS TEXT) WHERE rowid = (SELECT max(rowid) FROM %[1]s)`, table, in, size))
					return err
				})
				if err = errors.Join(err, file.Close()); err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				s, err := allKinds.Open(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				said := ""
				rows := 0
				for _, f := range storetest.Faults(t, s, "") {
					said += f.Meaning + "\n"
				}
				for _, info := range storetest.Sessions(t, s) {
					for _, h := range storetest.Headers(t, s, info.ID) {
						if rows++; rows%10 == 0 {
							if _, err := s.State(t.Context(), h.Ref()); err != nil {
								t.Errorf("%s #%d: %v", info.ID, h.Index, err)
							}
						}
					}
					for _, f := range storetest.Faults(t, s, info.ID) {
						said += f.Meaning + "\n"
					}
				}
				runtime.ReadMemStats(&after)
				if rows == 0 {
					t.Error("nothing is shown")
				}
				if asked := int64(after.TotalAlloc - before.TotalAlloc); asked > size {
					t.Errorf("%d MB are allocated", asked>>20)
				}
				if want := column + " of row "; !strings.Contains(said, want) || !strings.Contains(said, "is 40 MB: the row is not read") {
					t.Errorf("the faults are %q", said)
				}
			})
		}
	}
}
