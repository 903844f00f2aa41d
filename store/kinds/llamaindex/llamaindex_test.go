package llamaindex

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/weavetest"
)

var recorded = filepath.Join("..", "..", "..", "testdata", "llamaindex", "server.db")

const run = "VR6ijXlTHh"

// A state has the ticks up to it, decoded, and what the run keeps as of now.
func TestState(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	got := rowstest.State(t, s, run, 2)
	for _, want := range []string{`{"ticks":[{"__is_pydantic": true, "value": {"type": "session_start"`, `"qualified_name": "workflows.runtime.types.ticks.TickStepResult"}],"state":{"":{"basket":["\u00c4pfel"]}},"events":[{"value":{"q":"Freigeben? ✅"},"qualified_name":"__main__.Ask","type":"Ask","types":["InputRequiredEvent"]}]}`} {
		if !strings.Contains(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	rowstest.Says(t, s, run, 4, `await client.send_event("f8TcFtjvDo", …)  sends the event that the run waits for, and the server goes on; client is a WorkflowClient`)
	if got := rowstest.About(t, s, rowstest.At(t, s, run, 3)); strings.Contains(got, "send_event") {
		t.Errorf("the run waits at its newest tick alone: %s", got)
	}
	rowstest.Says(t, s, run, 3, "workflow: order", "status: running", "event: __main__.Ask", "gaps: state, events")
	var titles []string
	for _, h := range storetest.Headers(t, s, run) {
		titles = append(titles, fmt.Sprintf("%s: %s", h.EventName, h.Title))
	}
	want := []string{"session start: ", "add event: StartEvent", "step result: a → Ask", "add event: Ask q: Freigeben? ✅", "idle check: "}
	if !slices.Equal(titles, want) {
		t.Errorf("%q, want %q", titles, want)
	}
	if h := rowstest.At(t, s, run, 4); !h.Marks.Has(model.MarkInterrupted) {
		t.Error("the run does not wait")
	}
	if why := store.Reason(s, model.OpRestore); !strings.Contains(why, "as of now alone") {
		t.Error(why)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct{ statement, fault string }{
		"no JSON":          {"UPDATE ticks SET tick_data = '{' WHERE id = 3", rows.FaultRow},
		"not serialised":   {`UPDATE ticks SET tick_data = '{"value":{"type":"x"}}' WHERE id = 3`, ""},
		"no JSON inside":   {`UPDATE ticks SET tick_data = '{"serialized_tick":"{"}' WHERE id = 3`, ""},
		"another shape":    {`UPDATE ticks SET tick_data = '{"value":{"result":{"a":1}}}' WHERE id = 3`, ""},
		"no number":        {`UPDATE ticks SET tick_data = '{"value":{"type":"x","event":{"value":{"v":NaN}}}}' WHERE id = 3`, ""},
		"no handler":       {"DELETE FROM handlers", ""},
		"failed":           {"UPDATE handlers SET status = 'failed', error = 'no stock'", ""},
		"no state":         {"DELETE FROM workflow_state", ""},
		"a state of words": {"UPDATE workflow_state SET state_json = 'x'", ""},
		"a typed state":    {`UPDATE workflow_state SET state_json = '{"n":1}'`, ""},
		"values":           {`UPDATE workflow_state SET state_json = '{"_data":{"a":"{","b":7}}'`, ""},
		"an older table":   {"ALTER TABLE workflow_state DROP COLUMN state_type", ""},
	} {
		path := rowstest.Copied(t, recorded)
		rowstest.Execute(t, path, c.statement)
		s := storetest.OpenStore(t, Kind(nil).Kind, path)
		codes := rowstest.Faults(t, s, run)
		if c.fault == "" && codes != nil || c.fault != "" && !slices.Contains(codes, c.fault) {
			t.Errorf("%s: the faults are %q, want %q", name, codes, c.fault)
		}
		for _, h := range storetest.Headers(t, s, run) {
			if got := rowstest.State(t, s, run, h.Index); !rows.PythonReads([]byte(got)) {
				t.Errorf("%s: %s", name, got)
			}
			rowstest.About(t, s, h)
		}
	}
}

// Rows that name no run, or name it by bytes, cost themselves alone.
func TestDamage_names(t *testing.T) {
	path := rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, "CREATE TABLE other AS SELECT * FROM ticks", "DROP TABLE ticks", "ALTER TABLE other RENAME TO ticks",
		"UPDATE ticks SET run_id = NULL WHERE id = 1", "UPDATE ticks SET run_id = CAST(run_id AS BLOB) WHERE id = 2", "UPDATE ticks SET run_id = CAST('x' AS BLOB) WHERE id = 3")
	s := storetest.OpenStore(t, Kind(nil).Kind, path)
	var listed []string
	for _, info := range storetest.Sessions(t, s) {
		listed = append(listed, info.ID)
	}
	if slices.Contains(listed, "x") || slices.Contains(listed, run+"'") || !slices.Contains(listed, run) {
		t.Errorf("the sessions are %q", listed)
	}
	if left := len(storetest.Headers(t, s, run)); left != 2 {
		t.Errorf("%d ticks are left", left)
	}
}

// A run grows by its ticks. That it waits is said of the newest.
func TestGrowth(t *testing.T) {
	tick := func(sequence int) string {
		return fmt.Sprintf(`INSERT INTO ticks (run_id, sequence, timestamp, tick_data) VALUES ('%s', %d, '2026-11-22 11:46:00', '{"value":{"type":"add_event","stamped_at":%d}}')`, run, sequence, 1795348000+sequence)
	}
	rowstest.Growth(t, Kind(nil).Kind, rowstest.Copied(t, recorded), run, []rowstest.Change{
		{What: "nothing"},
		{What: "it does not wait any more", Statements: []string{"UPDATE handlers SET idle_since = NULL", tick(5)}, Rewritten: true},
		{What: "more", Statements: []string{tick(6), tick(7)}, Fresh: 2},
		{What: "it failed", Statements: []string{"UPDATE handlers SET status = 'failed', error = 'x'"}, Rewritten: true},
	})
}

// FuzzTick reads what a row may hold.
func FuzzTick(f *testing.F) {
	f.Add([]byte(`{"serialized_tick": "{\"value\":{\"type\":\"add_event\",\"event\":{\"value\":{},\"qualified_name\":\"a.B\"}}}"}`), []byte(`{"_data":{"a":"[1]"}}`))
	f.Add([]byte(`{"value":{"step_id":"s","result":[{"result":{"qualified_name":"x"}}]}}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, data, stored []byte) {
		one := tick{data: slices.Clone(data)}
		one.read("2026-01-02 03:04:05")
		one.title()
		if one.data != nil && !rows.PythonReads(one.data) {
			t.Fatalf("%q is not JSON", one.data)
		}
		if now := decodeValues(stored); !rows.PythonReads(now) {
			t.Fatalf("%q is not JSON", now)
		}
	})
}

// A torn page costs the ticks on it.
func TestDamage_pages(t *testing.T) {
	rowstest.Torn(t, Kind(nil).Kind, recorded, 1)
}

// What all states take follows their ticks.
func TestWeave(t *testing.T) {
	k := kind
	k.Format = format{}
	weavetest.Weaves(t, k, "long", 0, weavetest.Grown(recorded, `INSERT INTO ticks SELECT NULL, 'long', i, datetime(i, 'unixepoch'),
		json_object('value', json_object('type', 'add_event', 'stamped_at', i, 'event', json_object('value', json_object('step', i), 'qualified_name', 'a.Step'))) FROM n`))
}
