package agno

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

// recorded has what Agno 3.1.10 kept of testdata/interop/agno/record.py: a tour, a run that waits, a tree and a team.
var recorded = filepath.Join("..", "..", "..", "testdata", "agno", "sessions.db")

// A regenerated run and a fork stand beside the run that they go on from, and repeat none of its messages.
func TestLog_drawsForks(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	headers := storetest.Headers(t, s, "tree")
	at := map[string]int{}
	for _, h := range headers {
		at[h.ID] = h.Index
	}
	var lines []string
	for _, h := range headers {
		parent, known := at[h.ParentID]
		if !known {
			parent = -1
		}
		lines = append(lines, fmt.Sprintf("%d<%d turn %d %s%s%s", h.Index, parent, h.TurnIndex, h.Title, map[bool]string{true: " left"}[h.Orphaned], map[bool]string{true: " head"}[h.Head]))
	}
	want := []string{
		"0<-1 turn 0 one", "1<0 turn 0 said one ☂", `2<1 turn 1 call remember {"what":"egg"}`, `3<2 turn 1 remember {what: "egg"}`,
		`4<3 turn 1 remember {what: "egg"}  ok`, "5<4 turn 1 said ok ☂", "6<5 turn 2 three", "7<6 turn 2 said three ☂",
		"8<6 turn 2 said three ☂ left", "9<7 turn 3 said said three ☂ ☂", "10<9 turn 4 after", "11<10 turn 4 said after ☂ head",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	rowstest.Says(t, s, "tree", 9, "forked from: f99d566e-48a2-4ee9-8942-cf10a879e3e2, message 2", "gaps: session")
}

// A state has the messages up to it, what the run says that ends there, and the session's state as the last run left it.
func TestState_atTheEndOfARun(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	var was string
	for i := range storetest.Headers(t, s, "tree") {
		var state struct {
			Messages []struct{ ID string }
			State    json.RawMessage `json:"session_state"`
			Run      struct {
				Status   string
				Messages any
			}
			Session struct {
				ID string `json:"session_id"`
			}
		}
		if err := json.Unmarshal([]byte(rowstest.State(t, s, "tree", i)), &state); err != nil {
			t.Fatal(err)
		}
		if state.Run.Messages != nil || state.Session.ID != "tree" {
			t.Errorf("#%d: %+v", i, state)
		}
		was += fmt.Sprintf("%d %s %s; ", len(state.Messages), state.State, state.Run.Status)
	}
	want := `1  ; 2 {"basket": []} COMPLETED; 3 {"basket": []} ; 4 {"basket": []} ; 5 {"basket": []} ; 6 {"basket": ["egg"]} COMPLETED; ` +
		`7 {"basket": ["egg"]} ; 8 {"basket": ["egg"]} REGENERATED; 8 {"basket": ["egg"]} COMPLETED; 9 {"basket": ["egg"]} COMPLETED; 10 {"basket": ["egg"]} ; 11 {"basket": ["egg"]} COMPLETED; `
	if was != want {
		t.Errorf("%s\nwant %s", was, want)
	}
}

// A paused run waits for what it names, and the runs of members are sessions of their own.
func TestAbout_saysWhatWaits(t *testing.T) {
	s := storetest.OpenStore(t, Kind(nil).Kind, recorded)
	if h := rowstest.At(t, s, "waits", 1); !h.Marks.Has(model.MarkInterrupted) || !h.Head {
		t.Errorf("%+v", h)
	}
	run := "fa97b3ec-87d8-4ac3-9311-36c07811b10e"
	rowstest.Says(t, s, "waits", 1, "waits for: pay",
		`agent.continue_run(run_id="`+run+`", session_id="waits", requirements=[…])  answers pay, and the run goes on`,
		`agent.continue_run(run_id="`+run+`", session_id="waits", fork=True, message_index=2)  runs on from here as a run of its own; the model is sent all of the session before it, what followed as well`)
	if got := rowstest.About(t, s, rowstest.At(t, s, "waits", 0)); strings.Contains(got, "waits for") {
		t.Error(got)
	}
	for i, failed := range map[int]bool{8: true, 12: true, 16: true, 4: false} {
		if h := rowstest.At(t, s, "tour", i); h.Marks.Has(model.MarkError) != failed {
			t.Errorf("#%d %q: %v", i, h.Title, h.Marks)
		}
	}
	member := "team/62052534-8f55-487c-b227-9c68b92afe82"
	if h := rowstest.Head(t, s, member); h.Title != "said look up ☂" {
		t.Errorf("%+v", h)
	}
	rowstest.Says(t, s, member, 1, "agent: sky", "status: COMPLETED")
	rowstest.Says(t, s, "team", 4, "agent: team", `team.run("…", session_id="team")  takes your input as the next turn`)
	if why := store.Reason(s, model.OpRestore); !strings.Contains(why, "by a new run alone") {
		t.Error(why)
	}
}

// A run without messages, as a workflow's, is a snapshot that says what went in and what came out.
func TestRun_withoutMessages(t *testing.T) {
	path := rowstest.Copied(t, recorded)
	rowstest.Execute(t, path, `INSERT INTO agno_sessions (session_id, session_type, created_at) VALUES ('flow', 'workflow', 1)`,
		`INSERT INTO agno_runs (run_id, session_id, run_type, workflow_id, status, run_index, run_data, created_at)
			VALUES ('r1', 'flow', 'workflow', 'w', 'COMPLETED', 0, '{"workflow_id":"w","status":"COMPLETED","input":{"input_content":"go"},"content":{"a":1}}', 1795996129)`)
	s := storetest.OpenStore(t, Kind(nil).Kind, path)
	if h := rowstest.At(t, s, "flow", 0); h.ID != "r1" || h.Title != `go → {"a":1}` || !h.Head || h.EventName != "run" {
		t.Errorf("%+v", h)
	}
	if got := rowstest.State(t, s, "flow", 0); !strings.HasPrefix(got, `{"messages":[],"run":{"workflow_id":"w"`) {
		t.Error(got)
	}
}

// Damage is drawn and named, and the rest is read.
func TestDamage_isNamed(t *testing.T) {
	const last = " WHERE session_id = 'tree' AND run_index = 5"
	for name, c := range map[string]struct{ statement, fault string }{
		"no JSON":          {"UPDATE agno_runs SET run_data = '{'" + last, rows.FaultRow},
		"empty":            {"UPDATE agno_runs SET run_data = ''" + last, rows.FaultRow},
		"another shape":    {`UPDATE agno_runs SET run_data = '[1]'` + last, ""},
		"other messages":   {`UPDATE agno_runs SET run_data = '{"messages":7,"status":[],"content":"x"}'` + last, ""},
		"no source":        {`UPDATE agno_runs SET run_data = json_set(run_data, '$.forked_from_run_id', 'gone', '$.forked_from_message_index', 9)` + last, ""},
		"its own source":   {`UPDATE agno_runs SET run_data = json_set(run_data, '$.forked_from_run_id', run_id, '$.forked_from_message_index', 1)` + last, ""},
		"below zero":       {`UPDATE agno_runs SET run_data = json_set(run_data, '$.forked_from_run_id', (SELECT run_id FROM agno_runs WHERE session_id = 'tree' AND run_index = 1), '$.forked_from_message_index', -3)` + last, ""},
		"all regenerated":  {"UPDATE agno_runs SET run_data = json_set(run_data, '$.status', 'REGENERATED') WHERE session_id = 'tree'", ""},
		"no index":         {"UPDATE agno_runs SET run_index = NULL" + last, ""},
		"no row":           {"DELETE FROM agno_sessions", ""},
		"a session's text": {"UPDATE agno_sessions SET session_data = '{'", ""},
	} {
		t.Run(name, func(t *testing.T) { rowstest.Damaged(t, Kind(nil).Kind, recorded, "tree", c.statement, c.fault) })
	}
}

// A session grows by runs, and Agno writes a run over that goes on.
func TestGrowth_byRuns(t *testing.T) {
	insert := func(id string, index int) string {
		return fmt.Sprintf(`INSERT INTO agno_runs (run_id, session_id, run_type, status, run_index, run_data, created_at)
			VALUES ('%s', 'waits', 'agent', 'COMPLETED', %d, '{"status":"COMPLETED","messages":[{"role":"user","content":"%[1]s"},{"role":"assistant","content":"yes"}]}', 1795996140)`, id, index)
	}
	rowstest.Growth(t, Kind(nil).Kind, rowstest.Copied(t, recorded), "waits", []rowstest.Change{
		{What: "nothing"},
		{What: "another turn", Statements: []string{insert("r1", 1)}, Fresh: 2},
		{What: "another session", Statements: []string{"DELETE FROM agno_runs WHERE session_id = 'tour'"}},
		{What: "a turn is regenerated", Statements: []string{"UPDATE agno_runs SET run_data = json_set(run_data, '$.status', 'REGENERATED') WHERE run_id = 'r1'"}, Rewritten: true},
	})
}

func TestDamage_pages(t *testing.T) { rowstest.Torn(t, Kind(nil).Kind, recorded, 6) }

// FuzzRun reads what the row of a run may hold.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{`{"messages":[{"role":"user","content":"x"}],"session_state":{"a":1},"status":"PAUSED","requirements":[{"tool_execution":{"tool_name":"t"}}]}`,
		`{"messages":[],"content":[1]}`, `{"messages":[1,null,{}]}`, `[]`, `{`, `{"messages":{"a":1}}`} {
		f.Add(seed)
	}
	path := rowstest.Copied(f, recorded)
	f.Fuzz(func(t *testing.T, data string) {
		rowstest.Execute(t, path, "UPDATE agno_runs SET run_data = CAST(x'"+fmt.Sprintf("%x", data)+"' AS TEXT) WHERE session_id = 'waits'")
		s := storetest.OpenStore(t, Kind(nil).Kind, path)
		for _, h := range storetest.Headers(t, s, "waits") {
			if state, err := s.State(t.Context(), h.Ref()); err != nil || !json.Valid(state) {
				t.Errorf("%s: %v", state, err)
			}
			rowstest.About(t, s, h)
		}
	})
}

// What a state adds is its messages, and what its run says.
func TestWeave_longSession(t *testing.T) {
	k := kind
	k.Format = format{}
	weavetest.Weaves(t, k, "long", 0, weavetest.Grown(recorded, `INSERT INTO agno_runs (run_id, session_id, run_type, status, run_index, created_at, run_data) SELECT 'r' || i, 'long', 'agent', 'COMPLETED', i, i,
		json_object('status', 'COMPLETED', 'session_state', json_object('n', i), 'messages', json_array(json_object('role', 'user', 'content', 'go on ' || i))) FROM n`))
}

// older is the folder of dumps that Agno 1.7.0 and 2.0.0 recorded with a scripted model: a session with a tool, and of 2.0 a team.
var older = filepath.Join("..", "..", "..", "testdata", "agno", "older")

// Agno 1 and 2 keep the runs in the row of their session. Nothing is written there, and the fork of Agno 3 is not offered.
func TestRead_older(t *testing.T) {
	for name, want := range map[string]string{
		"1.7.sql": `tour: hello größe | said hello größe ☂ | call weather {"city":"Oslo"} | weather {city: "Oslo"} | weather {city: "Oslo"}  rain in Oslo | said rain in Oslo ☂ | bye | said bye ☂`,
		"2.0.sql": `tour: hello größe | said hello größe ☂ | call weather {"city":"Oslo"} | weather {city: "Oslo"} | weather {city: "Oslo"}  rain in Oslo | said rain in Oslo ☂`,
	} {
		s := storetest.OpenStore(t, Kind(nil).Kind, storetest.Build(t, filepath.Join(older, name)))
		var said []string
		for _, h := range storetest.Headers(t, s, "tour") {
			said = append(said, h.Title)
			show, err := s.Features().Resume(t.Context(), h.Ref())
			if err != nil {
				t.Error(err)
			}
			for _, r := range show {
				if strings.Contains(r.Call, "fork=True") {
					t.Errorf("%s offers %s", name, r.Call)
				}
			}
		}
		if got := "tour: " + strings.Join(said, " | "); got != want {
			t.Errorf("%s has\n%s", name, got)
		}
		for info, err := range s.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if faults := storetest.FaultCodes(t, s, info.ID); faults != "" {
				t.Errorf("%s of %s: %s", info.ID, name, faults)
			}
			state, err := s.State(t.Context(), model.Ref{Session: info.ID, ID: storetest.Headers(t, s, info.ID)[0].ID})
			if err != nil || strings.Contains(string(state), `"runs"`) {
				t.Errorf("%s of %s: %s, %v", info.ID, name, state, err)
			}
		}
		if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: model.Ref{Session: "tour", ID: storetest.Headers(t, s, "tour")[0].ID}, As: "n"}); err == nil {
			t.Errorf("%s: a fork is planned", name)
		}
	}
}
