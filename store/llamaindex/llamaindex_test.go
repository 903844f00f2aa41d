package llamaindex

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/rows"
	"hindcast/store/rows/rowstest"
	"hindcast/store/storetest"
)

var recorded = filepath.Join("..", "..", "testdata", "llamaindex", "server.db")

const run = "VR6ijXlTHh"

// A state has the ticks up to it, decoded, and what the run keeps as of now.
func TestState(t *testing.T) {
	s := storetest.OpenStore(t, Kind(), recorded)
	got := rowstest.State(t, s, run, 2)
	for _, want := range []string{`{"ticks":[{"__is_pydantic": true, "value": {"type": "session_start"`, `"qualified_name": "workflows.runtime.types.ticks.TickStepResult"}],"state":{"":{"basket":["\u00c4pfel"]}}}`} {
		if !strings.Contains(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	rowstest.Says(t, s, run, 3, "workflow: order", "status: running", "event: __main__.Ask", "gaps: state")
	var titles []string
	for _, h := range storetest.Headers(t, s, run) {
		titles = append(titles, fmt.Sprintf("%s: %s", h.EventName, h.Title))
	}
	want := []string{"session start: ", "add event: StartEvent", "step result: a → Ask", `add event: Ask {"q": "Freigeben? \u2705"}`, "idle check: "}
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
		s := storetest.OpenStore(t, Kind(), path)
		codes := rowstest.Faults(t, s, run)
		if c.fault == "" && codes != nil || c.fault != "" && !slices.Contains(codes, c.fault) {
			t.Errorf("%s: the faults are %q, want %q", name, codes, c.fault)
		}
		for _, h := range storetest.Headers(t, s, run) {
			if got := rowstest.State(t, s, run, h.Index); !json.Valid([]byte(got)) {
				t.Errorf("%s: %s", name, got)
			}
			rowstest.About(t, s, h)
		}
	}
}

// A run grows by its ticks. That it waits is said of the newest.
func TestGrowth(t *testing.T) {
	tick := func(sequence int) string {
		return fmt.Sprintf(`INSERT INTO ticks (run_id, sequence, timestamp, tick_data) VALUES ('%s', %d, '2026-11-22 11:46:00', '{"value":{"type":"add_event","stamped_at":%d}}')`, run, sequence, 1795348000+sequence)
	}
	rowstest.Growth(t, Kind(), rowstest.Copied(t, recorded), run, []rowstest.Change{
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
		if one.data != nil && !jsontape.Valid(one.data) {
			t.Fatalf("%q is not JSON", one.data)
		}
		if now := values(stored); !jsontape.Valid(now) {
			t.Fatalf("%q is not JSON", now)
		}
	})
}
