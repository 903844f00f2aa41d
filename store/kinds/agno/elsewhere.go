package agno

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/rows"
	"hindcast/store/media/sqlitefile"
)

// onServer are the snapshots in PostgreSQL.
const onServer = `(SELECT r.session_id AS name, ` + member + ` AS member, r.run_id || coalesce('/' || m.key, '') AS id, r.run_id AS run, coalesce(r.run_index, 0) AS turn,
		r.created_at AS made, coalesce(m.key, 0) AS number, coalesce(CASE WHEN jsonb_typeof(m.value -> 'created_at') = 'number' THEN trunc((m.value ->> 'created_at')::numeric)::bigint END, r.created_at) AS at,
		m.value AS data, r.xmin AS xmin
	FROM agno_runs r LEFT JOIN LATERAL (SELECT value, ordinality - 1 AS key FROM jsonb_array_elements(CASE WHEN jsonb_typeof(r.run_data -> 'messages') = 'array' THEN r.run_data -> 'messages' ELSE '[]' END) WITH ORDINALITY
		WHERE jsonb_typeof(value) = 'object' AND coalesce(value ->> 'from_history', 'false') = 'false') m ON true) snapshots`

// listOlderOnServer lists the same of PostgreSQL.
func listOlderOnServer() []rows.Older {
	return []rows.Older{
		olderRunsOnServer("agno_sessions", "runs", "s.runs"), olderRunsOnServer("agno_sessions", "memory", "s.memory -> 'runs'"), olderRunsOnServer("agent_sessions", "memory", "s.memory -> 'runs'"),
		{Table: "agno_sessions", From: "agent_sessions", Columns: "session_id memory agent_id", Query: "SELECT xmin AS xmin, *, 'agent'::text AS session_type FROM agent_sessions"},
	}
}

func olderRunsOnServer(table, column, list string) rows.Older {
	return rows.Older{Table: "agno_runs", From: table, Columns: "session_id " + column, Query: `SELECT s.xmin AS xmin, coalesce(r.value ->> 'run_id', r.value #>> '{response,run_id}', 'run-' || r.place) AS run_id,
		s.session_id, ''::text AS run_type, r.value ->> 'parent_run_id' AS parent_run_id, r.value ->> 'status' AS status, r.place AS run_index, r.value AS run_data,
		coalesce(CASE WHEN jsonb_typeof(r.value -> 'created_at') = 'number' THEN trunc((r.value ->> 'created_at')::numeric)::bigint END, s.created_at) AS created_at
		FROM ` + table + ` s, LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(` + list + `) = 'array' THEN ` + list + ` ELSE '[]' END) WITH ORDINALITY AS r (value, place) WHERE jsonb_typeof(r.value) = 'object'`}
}

// served is the format of a database on a server.
type served struct{ format }

var _ rows.Lister = served{}

// List implements rows.Lister. Of a session it reads the last run, and the first one where it is small.
func (served) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, len(kind.Key)), Info: model.SessionInfo{Snapshots: -1}}
		var seconds int64
		var first []byte
		err := scan(&one.Key[0], &one.Key[1], &one.Info.Head.ID, &seconds, &first)
		var said rows.Said
		if first != nil {
			said.Add(&model.Header{}, first)
		}
		one.Info.UpdatedAt, one.Info.Title = time.Unix(seconds, 0).UTC(), said.Title()
		list = append(list, one)
		return err
	}, strings.ReplaceAll(`SELECT s.session_id, s.member, e.run_id || coalesce('/' || m.key, ''), coalesce(CASE WHEN jsonb_typeof(m.value -> 'created_at') = 'number' THEN trunc((m.value ->> 'created_at')::numeric)::bigint END, e.created_at), f.said
		FROM (SELECT DISTINCT session_id, MEMBER AS member FROM agno_runs) s,
		LATERAL (SELECT * FROM agno_runs WHERE session_id = s.session_id AND MEMBER = s.member ORDER BY coalesce(run_data ->> 'status', '') = '`+regenerated+`', coalesce(run_index, 0) DESC, created_at DESC, run_id DESC LIMIT 1) e
		LEFT JOIN LATERAL (SELECT value, ordinality - 1 AS key FROM jsonb_array_elements(CASE WHEN jsonb_typeof(e.run_data -> 'messages') = 'array' THEN e.run_data -> 'messages' ELSE '[]' END) WITH ORDINALITY
			WHERE jsonb_typeof(value) = 'object' AND coalesce(value ->> 'from_history', 'false') = 'false' ORDER BY ordinality DESC LIMIT 1) m ON true,
		LATERAL (SELECT CASE WHEN pg_column_size(run_data) <= 20000 THEN jsonb_path_query_first(run_data, '$.messages[*] ? (@.role == "user")') END AS said
			FROM agno_runs WHERE session_id = s.session_id AND MEMBER = s.member ORDER BY coalesce(run_index, 0), created_at, run_id LIMIT 1) f`, "MEMBER", member))
	return list, err
}

// inFiles are the files of JsonDb. It writes the session before its run.
var inFiles = rows.Made{
	Files: []string{"agno_sessions.json", "agno_runs.json"},
	Noun:  "sessions of Agno's JsonDb",
	Signs: func(heads [][]byte) bool {
		return isTable(heads[0], `"session_id"`) && isTable(heads[1], `"run_data"`)
	},
	Fill: func(ctx context.Context, t *sqlitefile.Tx, data [][]byte) error {
		return errors.Join(fillTable(ctx, t, "agno_sessions", "session_id", data[0]), fillTable(ctx, t, "agno_runs", "run_id", data[1]))
	},
}

// inOneFile is the file of JsonDb of Agno 2, which keeps the runs in it.
var inOneFile = rows.Made{
	Files: []string{"agno_sessions.json"},
	Noun:  "sessions of Agno 2's JsonDb",
	Signs: func(heads [][]byte) bool {
		return isTable(heads[0], `"session_id"`) && isTable(heads[0], `"session_type"`)
	},
	Fill: func(ctx context.Context, t *sqlitefile.Tx, data [][]byte) error {
		return fillTable(ctx, t, "agno_sessions", "session_id", data[0])
	},
}

// isTable reports whether a file begins as an array of objects with a member, or is an empty array.
func isTable(head []byte, member string) bool {
	text := strings.TrimSpace(string(head))
	return text == "[]" || strings.HasPrefix(text, "[") && strings.HasPrefix(strings.TrimSpace(text[1:]), "{") && strings.Contains(text, member)
}

// columns are the columns of each table, and the members of its objects.
var columns = map[string]string{
	"agno_sessions": "session_id session_type agent_id team_id workflow_id user_id session_data agent_data team_data workflow_data metadata runs summary created_at updated_at",
	"agno_runs":     "run_id session_id run_type agent_id team_id workflow_id user_id parent_run_id status run_index run_data created_at updated_at",
}

// errTable: a file is not what JsonDb writes.
var errTable = errors.New("not an array of objects")

// fillTable makes a table of a file.
func fillTable(ctx context.Context, t *sqlitefile.Tx, table, key string, data []byte) error {
	names := strings.Fields(columns[table])
	if err := t.Define(ctx, "CREATE TABLE "+table+" ("+strings.Join(names, ", ")+", PRIMARY KEY ("+key+"))"); err != nil {
		return err
	}
	fail := func(err error) error { return errors.Join(errors.New(table+".json"), err) }
	data, err := jsontape.Standard(data)
	if err != nil {
		return fail(err)
	}
	for element, err := range jsontape.Members(data) {
		if err != nil || element.Key != nil || element.Value[0] != '{' {
			return fail(errTable)
		}
		values := make([]any, len(names))
		for m := range jsontape.Members(element.Value) {
			if i := slices.Index(names, jsontape.Unquote(m.Key)); i >= 0 {
				values[i] = cellOf(m.Value)
			}
		}
		if _, err := t.Exec(ctx, "INSERT OR REPLACE INTO "+table+" VALUES (?"+strings.Repeat(", ?", len(names)-1)+")", values...); err != nil {
			return fail(err)
		}
	}
	return nil
}

// cellOf returns a value as SqliteDb stores it: a text, a number, and anything else as JSON.
func cellOf(value []byte) any {
	var number json.Number
	switch {
	case string(value) == "null":
		return nil
	case value[0] == '"':
		return jsontape.Unquote(value)
	case json.Unmarshal(value, &number) == nil:
		if n, err := number.Int64(); err == nil {
			return n
		}
	}
	return string(value)
}
