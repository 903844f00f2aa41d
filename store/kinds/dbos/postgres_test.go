package dbos

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// onDatabase returns the URL of a database that DBOS 3.4.0 wrote to, for a role that may only read.
func onDatabase(t *testing.T) (address string, c *pgtest.Cluster) {
	t.Helper()
	c = pgtest.SharedCluster(t)
	return c.Role(t, c.Restore(t, filepath.Join(filepath.Dir(recorded), "postgres.sql")), "USAGE ON SCHEMA dbos", "SELECT ON ALL TABLES IN SCHEMA dbos") + "?search_path=dbos", c
}

// toldSteps returns the steps of each workflow, and the state of each up to where the row of the workflow stands. Two workflows
// have names that DBOS drew.
func toldSteps(t *testing.T, s store.Store) (told []string) {
	t.Helper()
	for _, info := range storetest.Sessions(t, s) {
		text := info.ID
		if len(text) == len(forked) {
			text = "a fork"
		}
		for _, h := range storetest.Headers(t, s, info.ID) {
			state, _, _ := strings.Cut(rowstest.State(t, s, info.ID, h.Index), `,"workflow":`)
			if !strings.Contains(state, "DBOS.sleep") { // until when is another time
				text += "\n" + state
			}
			text += fmt.Sprint("\n", h.ID, h.EventName, h.Marks, h.Head, h.CreatedAt.IsZero())
		}
		told = append(told, text)
	}
	slices.Sort(told)
	return told
}

// What one program leaves in SQLite and in PostgreSQL is read as the same workflows.
func TestPostgres_isAlike(t *testing.T) {
	address, _ := onDatabase(t)
	s := storetest.OpenStore(t, engine.Servers(Kind(nil)), address)
	want, got := toldSteps(t, storetest.OpenStore(t, Kind(nil).Kind, recorded)), toldSteps(t, s)
	if !slices.Equal(got, want) {
		t.Errorf("in PostgreSQL\n%s\nin SQLite\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	rowstest.Says(t, s, "w1", 2, "workflow: agent", "status: SUCCESS", "gaps: workflow",
		`DBOS.fork_workflow("w1", 3)  runs the workflow again as a new one: its steps up to here are answered from the table`)
	rowstest.Says(t, s, "w3", 1, "starts: w3-1")
}

// A database holds all that every store holds that is read.
func TestPostgres_read(t *testing.T) {
	address, _ := onDatabase(t)
	storetest.Read(t, Kind(nil).Kind, address)
}

// A list of a database has titles, times and heads, and of a workflow that grows the new steps are read.
func TestPostgres_growsBySteps(t *testing.T) {
	address, c := onDatabase(t)
	s := storetest.OpenStore(t, engine.Servers(Kind(nil)), address)
	for _, info := range storetest.Sessions(t, s) {
		head, first := rowstest.Head(t, s, info.ID), rowstest.At(t, s, info.ID, 0)
		if head.ID != info.Head.ID || !head.CreatedAt.Equal(info.UpdatedAt) || info.Title != first.Title {
			t.Errorf("%s: %+v, want %+v and %q", info.ID, info, head, first.Title)
		}
	}
	at, err := s.Features().Cursor(t.Context(), "w2")
	if err != nil {
		t.Fatal(err)
	}
	c.Exec(t, c.Superuser(t, address), `INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, output, started_at_epoch_ms) VALUES ('w2', 3, 'tool', '"more"', 1895824980000)`)
	growth, err := s.Features().Growth(t.Context(), "w2", at)
	if err != nil || growth.Rewritten || len(growth.Headers) != 1 || growth.Headers[0].ID != "3" {
		t.Errorf("%+v, %v", growth, err)
	}
	headers, before, err := s.Features().Tail(t.Context(), "w2", 2)
	if err != nil || len(headers) != 2 || before != 2 {
		t.Error(headers, before, err)
	}
}

// A database of a version before 2 is read as the same steps: it has the inputs in the rows of the workflows, and no times.
func TestPostgres_older(t *testing.T) {
	address, c := onDatabase(t)
	want := toldSteps(t, storetest.OpenStore(t, engine.Servers(Kind(nil)), address))
	c.Exec(t, c.Superuser(t, address),
		"ALTER TABLE dbos.workflow_status DROP COLUMN inputs, DROP COLUMN output, DROP COLUMN error, DROP COLUMN forked_from",
		"ALTER TABLE dbos.workflow_status ADD COLUMN output text, ADD COLUMN error text", "ALTER TABLE dbos.workflow_input RENAME TO workflow_inputs",
		"UPDATE dbos.workflow_status s SET output = o.output, error = o.error FROM dbos.workflow_output o WHERE o.workflow_uuid = s.workflow_uuid",
		"DROP TABLE dbos.workflow_output", "ALTER TABLE dbos.operation_outputs DROP COLUMN started_at_epoch_ms")
	s := storetest.OpenStore(t, engine.Servers(Kind(nil)), address)
	timed := regexp.MustCompile(`(?m) (true|false)$`)
	for i, got := range toldSteps(t, s) {
		if timed.ReplaceAllString(got, "") != timed.ReplaceAllString(want[i], "") {
			t.Errorf("got\n%s\nwant\n%s", got, want[i])
		}
	}
}
