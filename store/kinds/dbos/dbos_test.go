package dbos

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

// recorded has what DBOS 3.4.0 kept of testdata/interop/dbos/record.py.
var recorded = filepath.Join("..", "..", "..", "testdata", "dbos", "system.db")

const forked = "3ca029e6-12d5-4fa5-b7fc-ae125b56b95d"

// Each step says which function ran and what came of it.
func TestLog_tellsTheSteps(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	for session, want := range map[string][]string{
		"w1": {`input agent ["Oslo"]`, "step model  said Oslo ☂", "step tool  rain in Oslo", "step model  said rain in Oslo ☂", "step DBOS.setEvent"},
		"w2": {`input agent ["Nowhere"]`, "step model  said Nowhere ☂", "step tool  no such city ✗"},
		"w3": {`input parent ["Rome"]`, "step agent", "step DBOS.getResult  4 values", "step DBOS.recv", "step DBOS.sleep  1795824983.5207527"},
	} {
		var told []string
		for _, h := range storetest.Headers(t, s, session) {
			told = append(told, fmt.Sprintf("%s %s%s", h.EventName, h.Title, map[bool]string{true: " ✗"}[h.Marks.Has(model.MarkError)]))
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: %q, want %q", session, told, want)
		}
		if faults := rowstest.Faults(t, s, session); faults != nil {
			t.Errorf("%s has the faults %q", session, faults)
		}
	}
}

// A state has the outputs up to a step, decoded, and what was set by then.
func TestState_upToAStep(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	const input = `{"input":{"args":["Oslo"],"kwargs":{}},"steps":[`
	for i, want := range []string{
		input + `],"workflow":`,
		input + `{"step":1,"name":"model","output":{"role":"assistant","content":"said Oslo ☂"}}],"workflow":`,
	} {
		if got := rowstest.State(t, s, "w1", i); !strings.HasPrefix(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("#%d: %s, want %s", i, got, want)
		}
	}
	if got := rowstest.State(t, s, "w1", 4); !strings.Contains(got, `{"step":4,"name":"DBOS.setEvent"}],"events":{"messages":[{"role":"user","content":"Oslo"}`) {
		t.Error(got)
	}
	if got := rowstest.State(t, s, "w2", 2); !strings.Contains(got, `"error":{"$py":"builtins.ValueError","value":"no such city"}}],"workflow":{`) {
		t.Error(got)
	}
}

// The calls that go on are DBOS's own.
func TestAbout_forks(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	rowstest.Says(t, s, "w1", 2, "workflow: agent", "status: SUCCESS", "gaps: workflow",
		`DBOS.fork_workflow("w1", 3)  runs the workflow again as a new one: its steps up to here are answered from the table`)
	rowstest.Says(t, s, forked, 0, "forked from: w1")
	rowstest.Says(t, s, "w3-1", 0, "started by: w3")
	rowstest.Says(t, s, "w3", 1, "starts: w3-1")
	if why := store.Reason(s, model.OpFork); !strings.Contains(why, "a fork of its own") {
		t.Error(why)
	}
	path := rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, "UPDATE workflow_status SET status = 'PENDING' WHERE workflow_uuid = 'w1'")
	pending := storetest.OpenStore(t, Kind(nil).Kind, path)
	rowstest.Says(t, pending, "w1", 4, `DBOS.resume_workflow("w1")  goes on with the workflow itself`)
	if got := rowstest.About(t, pending, rowstest.At(t, pending, "w1", 3)); strings.Contains(got, "resume_workflow") {
		t.Error(got)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage_isNamed(t *testing.T) {
	const step = " WHERE workflow_uuid = 'w1' AND function_id = 2"
	for name, c := range map[string]struct{ statement, fault string }{
		"no pickle":       {"UPDATE operation_outputs SET output = 'gASV'" + step, rows.FaultRow},
		"a text":          {"UPDATE operation_outputs SET output = 'plain words'" + step, rows.FaultRow},
		"JSON":            {`UPDATE operation_outputs SET output = '{"json":[1],"meta":{}}', serialization = 'portable_json'` + step, ""},
		"none":            {"UPDATE operation_outputs SET output = NULL" + step, ""},
		"an error as one": {`UPDATE operation_outputs SET error = '"why"'` + step, ""},
		"no input":        {"DELETE FROM workflow_input WHERE workflow_uuid = 'w1'", ""},
		"no history":      {"DROP TABLE workflow_events_history", ""},
		"no function":     {"UPDATE operation_outputs SET function_name = ''" + step, ""},
	} {
		t.Run(name, func(t *testing.T) { rowstest.Damaged(t, Kind(nil).Kind, recorded, "w1", c.statement, c.fault) })
	}
}

// A workflow grows by steps.
func TestGrowth_bySteps(t *testing.T) {
	insert := func(id int64) string {
		return fmt.Sprintf("INSERT INTO operation_outputs (workflow_uuid, function_id, function_name, output, started_at_epoch_ms) VALUES ('w2', %d, 'tool', '\"more\"', %d)", id, 1795824980000+id)
	}
	rowstest.Growth(t, Kind(nil).Kind, rowstest.Copied(t, recorded), "w2", []rowstest.Change{
		{What: "nothing"},
		{What: "two steps", Statements: []string{insert(3), insert(4)}, Fresh: 2},
		{What: "another workflow", Statements: []string{"DELETE FROM operation_outputs WHERE workflow_uuid = 'w1'"}},
		{What: "the newest step changes", Statements: []string{"UPDATE operation_outputs SET output = '\"else\"' WHERE workflow_uuid = 'w2' AND function_id = 4"}, Rewritten: true},
	})
}

// A torn page costs the steps on it.
func TestDamage_pages(t *testing.T) { rowstest.Torn(t, Kind(nil).Kind, recorded, 1) }

// What a state adds is its step.
func TestWeave_longSession(t *testing.T) {
	k := kind
	k.Format = format{}
	weavetest.Weaves(t, k, "long", 0, weavetest.Grown(recorded, `INSERT INTO operation_outputs (workflow_uuid, function_id, function_name, output, started_at_epoch_ms)
		SELECT 'long', i, 'step', '"' || i || '"', i * 1000 FROM n`))
}

// FuzzValue reads what a column may hold.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"gASVEAAAAAAAAACMDHJhaW4gaW4gT3Nsb5Qu", `{"a":1}`, "gASV", "plain", "", "gA==", `"x"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		value, _ := decodeValue(stored)
		if value != nil && !json.Valid(value) {
			t.Fatalf("%q is %q", stored, value)
		}
		for _, one := range []step{{name: "f", value: value}, {name: "f", number: 1, failure: value, failed: value != nil}} {
			one.tellOutcome()
		}
	})
}

// older is the folder of dumps that DBOS 1.13.0 and 2.5.0 recorded by testdata/interop/dbos/record.py: the inputs of a workflow stand in its row, and
// 1.13 notes neither the source of a fork nor when a step began.
var older = filepath.Join("..", "..", "..", "testdata", "dbos", "older")

func TestRead_older(t *testing.T) {
	for name, input := range map[string]string{"1.13.sql": `{"py/tuple": ["Oslo"]}`, "2.5.sql": `["Oslo"]`} {
		s := storetest.OpenStore(t, Kind(nil).Kind, storetest.Build(t, filepath.Join(older, name)))
		var told []string
		for _, h := range storetest.Headers(t, s, "w1") {
			told = append(told, h.Title)
		}
		if want := []string{"agent " + input, "model  said Oslo ☂", "tool  rain in Oslo", "model  said rain in Oslo ☂", "DBOS.setEvent"}; !slices.Equal(told, want) {
			t.Errorf("%s: %q, want %q", name, told, want)
		}
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if faults := storetest.FaultCodes(t, s, info.ID); faults != "" || info.UpdatedAt.IsZero() {
				t.Errorf("%s of %s, of %v: %s", info.ID, name, info.UpdatedAt, faults)
			}
		}
	}
}
