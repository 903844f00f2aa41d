package agno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/media/pg/pgtest"
	"hindcast/store/media/sqlitefile"
	"hindcast/store/storetest"
	"hindcast/store/storetest/rowstest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// recordedJSON and recordedSQL have what Agno 3.1.10 kept of the same program in JsonDb and in PostgresDb.
var recordedJSON, recordedSQL = filepath.Join("..", "..", "..", "testdata", "agno", "json"), filepath.Join("..", "..", "..", "testdata", "agno", "postgres.sql")

// onDatabase returns the URL of a database that PostgresDb wrote to, for a role that may only read.
func onDatabase(t *testing.T) (address string, c *pgtest.Cluster) {
	t.Helper()
	c = pgtest.SharedCluster(t)
	return c.Role(t, c.Restore(t, recordedSQL), "USAGE ON SCHEMA ai", "SELECT ON ALL TABLES IN SCHEMA ai") + "?search_path=ai", c
}

// drawn returns for each session its rows. The id of each run is the same word, since Agno draws it.
func drawn(t *testing.T, s store.Store) (sessions []string) {
	t.Helper()
	drawn := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	for _, info := range storetest.Sessions(t, s) {
		at := map[string]int{"": -1}
		text := info.ID
		for _, h := range storetest.Headers(t, s, info.ID) {
			at[h.ID] = h.Index
			marks := h.Marks
			text += fmt.Sprintf("\n%d<%d %s turn %d %v head %v left %v %s", h.Index, at[h.ParentID], h.EventName, h.TurnIndex, marks, h.Head, h.Orphaned, sortWords(h.Title))
			var state map[string]json.RawMessage
			if err := json.Unmarshal([]byte(rowstest.State(t, s, info.ID, h.Index)), &state); err != nil {
				t.Fatal(err)
			}
			var basket any
			_ = json.Unmarshal(state["session_state"], &basket)
			text += fmt.Sprint(" ", basket, len(state["run"]) > 0, len(state["session"]) > 0)
		}
		sessions = append(sessions, drawn.ReplaceAllString(text, "RUN"))
	}
	slices.Sort(sessions)
	return sessions
}

// sortWords returns the letters of a title in order: PostgreSQL keeps members in an order of its own.
func sortWords(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(" {},:\"", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

// What one program leaves in SQLite, in JSON and in PostgreSQL is drawn as the same sessions.
func TestStores_areAlike(t *testing.T) {
	want := drawn(t, storetest.OpenStore(t, Kind(nil).Kind, recorded))
	if got := drawn(t, storetest.OpenStore(t, Kind(nil).Kind, recordedJSON)); !reflect.DeepEqual(got, want) {
		t.Errorf("in JSON\n%s\nin SQLite\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	address, _ := onDatabase(t)
	if got := drawn(t, storetest.OpenStore(t, engine.Servers(Kind(nil)), address)); !reflect.DeepEqual(got, want) {
		t.Errorf("in PostgreSQL\n%s\nin SQLite\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each store holds all that every store holds that is read.
func TestStores_read(t *testing.T) {
	storetest.Read(t, Kind(nil).Kind, recordedJSON)
	address, _ := onDatabase(t)
	storetest.Read(t, Kind(nil).Kind, address)
}

// A list of a database has titles, times and heads, and of a run that comes only the run is read.
func TestPostgres_growsByRuns(t *testing.T) {
	address, c := onDatabase(t)
	s := storetest.OpenStore(t, engine.Servers(Kind(nil)), address)
	titles := map[string]string{}
	for _, info := range storetest.Sessions(t, s) {
		id, _, _ := strings.Cut(info.ID, "/")
		titles[id] += info.Title + ";"
		if head := rowstest.Head(t, s, info.ID); head.ID != info.Head.ID || !head.CreatedAt.Equal(info.UpdatedAt) {
			t.Errorf("%s: the head is %+v at %v, want %+v", info.ID, info.Head, info.UpdatedAt, head)
		}
	}
	if titles["tour"] != "hello größe;" || titles["tree"] != "one;" || !strings.Contains(titles["team"], "look up;") {
		t.Errorf("%q", titles)
	}
	at, err := s.Features().Cursor(t.Context(), "waits")
	if err != nil {
		t.Fatal(err)
	}
	c.Exec(t, c.Superuser(t, address), `INSERT INTO ai.agno_runs (run_id, session_id, run_type, status, run_index, run_data, created_at)
		VALUES ('r1', 'waits', 'agent', 'COMPLETED', 1, '{"status":"COMPLETED","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"yes"}]}', 1895996140)`)
	growth, err := s.Features().Growth(t.Context(), "waits", at)
	if err != nil || growth.Rewritten || len(growth.Headers) != 2 || growth.Headers[1].Title != "yes" {
		t.Errorf("%+v, %v", growth, err)
	}
	headers, before, err := s.Features().Tail(t.Context(), "waits", 2)
	if err != nil || len(headers) != 2 || before != 2 {
		t.Error(headers, before, err)
	}
}

// A folder is told by its two files and what they begin with.
func TestJSON_isRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		sessions, runs string
		ok             bool
		err            error
	}{
		"empty":         {"[]", "[]\n", true, nil},
		"of others":     {`[{"id": 1}]`, "[]", false, nil},
		"an object":     {`{"session_id": "a"}`, "[]", false, nil},
		"torn":          {`[{"session_id": "a"}, {"session`, "[]", true, new(jsontape.SyntaxError)},
		"no objects":    {`[{"session_id": "a"}, 1]`, "[]", true, errTable},
		"one row":       {`[{"session_id": "a", "session_data": {"x": NaN}}]`, `[{"run_id": "r", "session_id": "a", "run_data": {"messages": [{"role": "user", "content": "hi"}]}}]`, true, nil},
		"a row of none": {`[{"session_id": null}]`, `[{"run_data": null, "run_id": [1]}]`, true, nil},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"agno_sessions.json": c.sessions, "agno_runs.json": c.runs} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if why, ok, err := Kind(nil).Recognise(t.Context(), dir); ok != c.ok || err != nil {
			t.Errorf("%s: %v %q %v", name, ok, why, err)
		}
		if !c.ok {
			continue
		}
		s, err := Kind(nil).Open(t.Context(), dir)
		if syntax := new(jsontape.SyntaxError); c.err != nil && !errors.Is(err, c.err) && !errors.As(err, &syntax) || c.err == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (len(storetest.Sessions(t, s)) > 0) != (name == "one row") {
			t.Errorf("%s: %+v", name, storetest.Sessions(t, s))
		}
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, recordedJSON)
	if why := store.Reason(s, model.OpRestore); !strings.Contains(why, "a call of its own") {
		t.Error(why)
	}
}

// FuzzTable reads what a file of JsonDb may hold.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{"[]", `[{"run_id":"r","run_data":{"messages":[]},"run_index":1.5,"created_at":12}]`, `[{"run_id":null},{"run_id":true}]`, `[1]`, `{"a":[]}`, `[{"a":NaN}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file := sqlitefile.NewMade(sqlitefile.Source{Files: []string{path}, Fill: func(ctx context.Context, tx *sqlitefile.Tx) error {
			return fillTable(ctx, tx, "agno_runs", "run_id", data)
		}}, nil)
		_ = file.Read(t.Context(), func(*sqlitefile.Tx) error { return nil }) // damage is an error
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The files and the database of Agno 2, which keep the runs in the rows of their sessions, are read as those of Agno 3 are.
func TestStores_older(t *testing.T) {
	address, c := onDatabase(t)
	want := drawn(t, storetest.OpenStore(t, engine.Servers(Kind(nil)), address))
	c.Exec(t, c.Superuser(t, address), "ALTER TABLE ai.agno_sessions ADD COLUMN runs jsonb",
		"UPDATE ai.agno_sessions s SET runs = (SELECT jsonb_agg(r.run_data || jsonb_build_object('parent_run_id', r.parent_run_id, 'created_at', r.created_at) ORDER BY r.run_index, r.created_at) FROM ai.agno_runs r WHERE r.session_id = s.session_id)",
		"DROP TABLE ai.agno_runs")
	if got := drawn(t, storetest.OpenStore(t, engine.Servers(Kind(nil)), address)); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	file, err := os.ReadFile(filepath.Join(older, "2.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agno_sessions.json"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	s := storetest.OpenStore(t, Kind(nil).Kind, dir)
	if headers := storetest.Headers(t, s, "tour"); len(headers) != 6 || headers[5].Title != "said rain in Oslo ☂" {
		t.Errorf("%v", headers)
	}
}
