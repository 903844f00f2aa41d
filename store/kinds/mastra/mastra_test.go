package mastra

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/rows"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
	"hindcast/store/storetest/weavetest"
)

var recorded = filepath.Join("..", "..", "..", "testdata", "mastra", "store.db")

const suspended = "order/5816ea21-7244-4e9c-9c15-de90590b2fed"

// A thread has its messages, and its row as of now; a run has what Mastra's own encoding
// of JSON holds.
func TestState(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	for _, c := range []struct {
		session string
		index   int
		want    string
	}{
		{"tour", 0, `{"messages":[{"id":"m1","role":"user","type":"v2","createdAt":"2025-12-29T09:20:00.000Z","content":{"format":2,"parts":[{"type":"text","text":"hello größe"}]}}],"thread":{"title":"Größe","resourceId":"u1","metadata":null}}`},
		{suspended, 0, `"ask":{"payload":{"x":"warten größer"},"startedAt":1795347593013,"status":"suspended","suspendPayload":{"q":"Freigeben? ✅"},"suspendedAt":1795347593014}}`},
	} {
		if got := rowstest.State(t, s, c.session, c.index); !strings.Contains(got, c.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s #%d: %s, want %s", c.session, c.index, got, c.want)
		}
	}
	rowstest.Says(t, s, "fork", 1, "cloned from: tour, up to m2", "gaps: thread")
	rowstest.Says(t, s, suspended, 0, "status: suspended", "waits at: ask",
		`await (await mastra.getWorkflow("order").createRun({ runId: "5816ea21-7244-4e9c-9c15-de90590b2fed" })).resume({ step: "ask", resumeData: {…} })  answers what ask asks, and the run goes on`)
	if h := rowstest.At(t, s, suspended, 0); !h.Marks.Has(model.MarkInterrupted) || h.Title != "a success, ask suspended" {
		t.Errorf("%+v", h)
	}
	if why := store.Reason(s, model.OpFork); !strings.Contains(why, "writes over it") {
		t.Error(why)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage(t *testing.T) {
	for name, c := range map[string]struct{ statement, session, fault string }{
		"no JSON":         {"UPDATE mastra_messages SET content = '{' WHERE id = 'm2'", "tour", rows.FaultRow},
		"no encoding":     {"UPDATE mastra_messages SET content = x'ff' WHERE id = 'm2'", "tour", rows.FaultRow},
		"encoded":         {`UPDATE mastra_messages SET content = jsonb('{"format":2,"parts":[{"type":"text","text":"x"}]}') WHERE id = 'm2'`, "tour", ""},
		"no role":         {"UPDATE mastra_messages SET role = '' WHERE id = 'm2'", "tour", ""},
		"no time":         {"UPDATE mastra_messages SET createdAt = '' WHERE id = 'm2'", "tour", ""},
		"no thread":       {"DELETE FROM mastra_threads", "tour", ""},
		"no metadata":     {"UPDATE mastra_threads SET metadata = x'ff'", "tour", ""},
		"no snapshot":     {"UPDATE mastra_workflow_snapshot SET snapshot = NULL", suspended, rows.FaultRow},
		"cut":             {"UPDATE mastra_workflow_snapshot SET snapshot = substr(snapshot, 1, 40)", suspended, rows.FaultRow},
		"a text":          {`UPDATE mastra_workflow_snapshot SET snapshot = '{"status":"failed","error":"no","stepExecutionPath":["x"]}'`, suspended, ""},
		"another shape":   {`UPDATE mastra_workflow_snapshot SET snapshot = '[1]'`, suspended, ""},
		"another context": {`UPDATE mastra_workflow_snapshot SET snapshot = '{"context":7,"status":"x"}'`, suspended, ""},
	} {
		t.Run(name, func(t *testing.T) { rowstest.Damaged(t, Kind(nil).Kind, recorded, c.session, c.statement, c.fault) })
	}
}

// What Mastra remembers of a thread's resource and of the thread is in its state, and of a run there is none.
func TestState_remembered(t *testing.T) {
	path := rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, `INSERT INTO mastra_resources VALUES ('u1', '# likes pears', jsonb('{"a":"b"}'), '', '')`,
		`INSERT INTO mastra_thread_state VALUES ('tour', 'goal', '{"aim":"home"}', '', ''), ('other', 'goal', '1', '', '')`)
	s := storetest.OpenStore(t, Kind(nil).Kind, path)
	for session, want := range map[string]string{
		"tour":    `"metadata":null,"workingMemory":"# likes pears","resource":{"a":"b"},"state goal":{"aim":"home"}}}`,
		suspended: `"suspendedAt":1795347593014}}`,
	} {
		if got := rowstest.State(t, s, session, 0); !strings.Contains(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%s, want %s", got, want)
		}
		if list := storetest.Faults(t, s, session); len(list) > 0 {
			t.Errorf("%s: %+v", session, list)
		}
	}
}

// A message of Mastra's first format is text or a list of parts, and of a content that is cut what is left is shown.
func TestState_firstFormat(t *testing.T) {
	path := rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, "UPDATE mastra_messages SET type = 'text', content = 'hello \"größe\"' WHERE id = 'm1'",
		`UPDATE mastra_messages SET type = 'text', content = '[{"type":"text","text":"a part"}]' WHERE id = 'm2'`,
		`UPDATE mastra_messages SET content = '{"format":2,"parts":[{"type":"text","text":"zwe' WHERE id = 'm3'`)
	s := storetest.OpenStore(t, Kind(nil).Kind, path)
	for index, want := range []struct{ title, content string }{
		{`hello "größe"`, `"type":"text","createdAt":"2025-12-29T09:20:00.000Z","content":"hello \"größe\""`},
		{"a part", `"content":[{"type":"text","text":"a part"}]`},
		{`{"format":2,"parts":[{"type":"text","text":"zwe`, `"content":"{\"format\":2,`},
	} {
		if got := rowstest.State(t, s, "tour", index); !strings.Contains(got, want.content) || !json.Valid([]byte(got)) {
			t.Errorf("#%d: %s, want %s", index, got, want.content)
		}
		if h := rowstest.At(t, s, "tour", index); h.Title != want.title || h.Marks.Has(model.MarkDamaged) != (index == 2) {
			t.Errorf("#%d: %+v", index, h)
		}
	}
}

// A thread grows; a run is written over.
func TestGrowth(t *testing.T) {
	path := rowstest.Copied(t, recorded)
	message := func(id, at string) string {
		return `INSERT INTO mastra_messages VALUES ('` + id + `', 'tour', '{"format":2,"parts":[{"type":"text","text":"more"}]}', 'user', 'v2', '` + at + `', 'u1')`
	}
	rowstest.Growth(t, Kind(nil).Kind, path, "tour", []rowstest.Change{
		{What: "nothing"},
		{What: "two more", Statements: []string{message("m4", "2026-01-01T00:00:00.000Z"), message("m5", "2026-01-02T00:00:00.000Z")}, Fresh: 2},
		{What: "another thread", Statements: []string{"DELETE FROM mastra_messages WHERE thread_id = 'fork'"}},
		{What: "an earlier one", Statements: []string{message("m6", "2025-01-01T00:00:00.000Z")}, Rewritten: true},
		{What: "the newest changes", Statements: []string{`UPDATE mastra_messages SET content = '{"format":2,"parts":[{"type":"text","text":"else"}]}' WHERE id = 'm5'`}, Rewritten: true},
	})
	rowstest.Growth(t, Kind(nil).Kind, path, suspended, []rowstest.Change{
		{What: "nothing"},
		{What: "it goes on", Statements: []string{`UPDATE mastra_workflow_snapshot SET snapshot = jsonb('{"status":"success"}'), updatedAt = '2026-12-01T00:00:00.000Z' WHERE run_id LIKE '5816%'`}, Rewritten: true},
	})
}

// FuzzRun reads what the row of a run may hold.
func FuzzRun(f *testing.F) {
	f.Add([]byte(`{"status":"suspended","stepExecutionPath":["a"],"context":{"a":{"status":"success"}},"suspendedPaths":{"a":[1]}}`))
	f.Add([]byte(`{"context":{"a":7},"stepExecutionPath":["a","b"]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r := runOf(data)
		for _, id := range r.Path {
			r.stepOutcome(id)
		}
	})
}

// A torn page costs the messages on it.
func TestDamage_pages(t *testing.T) {
	rowstest.Torn(t, Kind(nil).Kind, recorded, 1)
}

// What all states take follows their messages.
func TestWeave(t *testing.T) {
	k := kind
	k.Format = format{}
	weavetest.Weaves(t, k, "long", 0, weavetest.Grown(recorded, `INSERT INTO mastra_messages
		SELECT 'l' || i, 'long', json_object('format', 2, 'parts', json_array(json_object('type', 'text', 'text', 'step ' || i))), 'user', 'v2', datetime(i, 'unixepoch'), 'u1' FROM n`))
}
