// Package agno reads the sessions that Agno keeps in SQLite (SqliteDb), in PostgreSQL (PostgresDb) and in files of
// JSON (JsonDb).
//
//	Agno                                  Hindcast
//	a row of agno_sessions                session "SESSION"
//	a message of a row of agno_runs       snapshot: its state has the messages up to it
//	a run of a member of a team           session "SESSION/RUN"
//	run_data besides its messages         "run" at the last message of the run
//	the rest of the row of agno_sessions  "session", stored once, as of now
//	session_state of a run                "session_state" from its last message on
//	forked_from_run_id, …_message_index   the tree: the new run goes on behind a message of the old one
//	status REGENERATED                    off the path: another run took its place
//	requirements of a paused run          a question that waits
//	the last run that was not regenerated head
//
// A new run goes on from the last one that was not regenerated. The messages that Agno repeats at the beginning
// of a run, from its history or from the run that it forks, are those of the earlier runs, and stand once. What
// Agno sends to the model before a run is another matter: all runs of the session that ended well, those that a
// fork left behind as well.
//
// PostgresDb has its tables in the schema ai, and keeps the members of run_data in an order of its own. JsonDb writes
// agno_sessions.json and agno_runs.json anew with each run: arrays of the rows, which are read whole.
//
// Agno 2 has the runs in the column runs of agno_sessions, and Agno 1 in the column memory of agent_sessions or
// agno_sessions. There agno_runs is a query.
// Source: agno/db/sqlite, agno/db/postgres, agno/db/json, agno/run/agent.py and agno/agent/_run.py of 3.1.
package agno

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

var kind = rows.Kind{
	Name: "agno", Framework: "Agno",
	IDs:  "the run's, which Agno drew, and the message's number in it",
	Does: []model.Op{model.OpFork},
	Refuses: map[model.Op]string{
		model.OpRestore: "a session of Agno goes back by a new run alone: fork it, or take the call on the Resume tab",
	},
	Own: []string{"/run", "/session", "/messages/*/id", "/messages/*/created_at", "/messages/*/metrics", "/messages/*/from_history", "/messages/*/stop_after_tool_call"},
	Tables: map[string]string{
		"agno_sessions": "session_id session_type session_data created_at",
		"agno_runs":     "run_id session_id run_type parent_run_id status run_index run_data created_at",
	},
	Since: map[string]string{"agno_runs": "parent_run_id", "agno_sessions": "session_type"},
	Older: listOlder,
	Sides: []rows.Side{
		{Table: "agno_sessions", Column: "session_id", Of: "SELECT ? WHERE ? = ''"},
		{Table: "agno_runs", Column: "run_id", Of: "SELECT run_id FROM agno_runs WHERE session_id = ? AND " + member + " = ?"},
	},
	Held: []engine.RowSet{
		{Table: "agno_schema_versions", Where: "1", Shared: true}, {Table: "agno_sessions", Where: "session_id = ?1 AND ?2 = ''"},
		{Table: "agno_sessions", Where: "session_id = ?1 AND ?2 <> ''", Shared: true}, {Table: "agno_runs", Where: "session_id = ?1 AND " + member + " = ?2"},
	},
	Large: []string{"session_data", "run_data", "data", "agent_data", "team_data", "workflow_data", "metadata", "summary"},
	// A run without messages, such as a workflow's, is one row.
	Snapshots: `(SELECT r.rowid * 65536 + ifnull(m.key, 0) AS rowid, r.session_id AS name, ` + member + ` AS member,
		r.run_id || iif(m.key IS NULL, '', '/' || m.key) AS id, r.run_id AS run, ifnull(r.run_index, 0) AS turn, r.rowid AS made, ifnull(m.key, 0) AS number,
		CAST(coalesce(m.value ->> 'created_at', r.created_at, 0) AS INTEGER) AS at, m.value AS data
		FROM agno_runs r LEFT JOIN json_each(iif(json_valid(r.run_data), r.run_data, '{}'), '$.messages') m ON m.type = 'object' AND NOT ifnull(m.value ->> 'from_history', 0))`,
	Damage:   model.Fault{Severity: model.Stops, Meaning: "the run is no JSON", Verdict: "Agno fails when it loads the session"},
	Sessions: "SELECT DISTINCT session_id, " + member + " FROM agno_runs",
	Key:      []string{"name", "member"}, ID: "id", Reads: "id, data", Seconds: true,
	Order: []string{"turn", "made", "number"},
}

// member names the run of a member of a team in its session.
const member = "CASE WHEN coalesce(parent_run_id, '') = '' THEN '' ELSE run_id END"

// listOlder lists how Agno 1 and 2 keep what they have in other tables.
func listOlder() []rows.Older {
	return []rows.Older{
		olderRuns("agno_sessions", "runs", "$"), olderRuns("agno_sessions", "memory", "$.runs"), olderRuns("agent_sessions", "memory", "$.runs"),
		{Table: "agno_sessions", From: "agent_sessions", Columns: "session_id memory agent_id", Query: "SELECT rowid AS rowid, *, 'agent' AS session_type FROM main.agent_sessions"},
	}
}

// olderRuns tells of the runs that Agno 1 and 2 keep in a column of the row of their session, at a path in it. The column is
// JSON, or JSON in a JSON text.
func olderRuns(table, column, path string) rows.Older {
	is := "s." + column
	return rows.Older{Table: "agno_runs", From: table, Columns: "session_id " + column, Query: `SELECT s.rowid * 65536 + r.key AS rowid,
		coalesce(r.value ->> 'run_id', r.value ->> '$.response.run_id', 'run-' || r.key) AS run_id, s.session_id AS session_id, '' AS run_type,
		r.value ->> 'parent_run_id' AS parent_run_id, r.value ->> 'status' AS status, r.key AS run_index, r.value AS run_data,
		coalesce(r.value ->> 'created_at', r.value ->> '$.response.created_at', s.created_at) AS created_at
		FROM main.` + table + ` s, json_each(CASE WHEN NOT json_valid(` + is + `) THEN '[]' WHEN json_type(` + is + `) = 'text' AND json_valid(` + is + ` ->> '$') THEN ` + is + ` ->> '$' ELSE ` + is + ` END, '` + path + `') r
		WHERE r.type = 'object'`}
}

// Kind describes the agno store.
func Kind(cache *files.Cache) engine.Kind {
	k, on, in := kind, kind, kind
	k.Format, k.Cache = format{}, cache
	on.Lacks = "Agno goes back by a call of its own, which the Resume tab has: its stores are written in SQLite alone"
	in.Lacks, in.Does, on.Does = on.Lacks, nil, nil
	on.Older = listOlderOnServer
	on.Format, on.Snapshots, on.Order = served{}, onServer, []string{"turn", "made", "run", "number"}
	in.Format, in.Cache, in.Made = format{}, cache, &inFiles
	before := in
	before.Made, in.Folder = &inOneFile, &before
	k.Folder = &in
	return k.Kind(&on, "")
}

// format implements rows.Format.
type format struct{}

// Decode implements rows.Decoder.
func (format) Decode(column string, row map[string]any) []byte {
	text, _ := row[column].(string)
	return withoutRuns(column, []byte(text))
}

// run is a row of agno_runs, and what its JSON says.
type run struct {
	// rest is the JSON without messages and session_state; nil where it cannot be read.
	rest, state []byte
	damaged     bool

	Status string `json:"status"`
	Source string `json:"forked_from_run_id"`
	// Shared is how many messages of Source the run repeats.
	Shared   int    `json:"forked_from_message_index"`
	Agent    string `json:"agent_id"`
	Team     string `json:"team_id"`
	Workflow string `json:"workflow_id"`
	Content  any    `json:"content"`
	Input    struct {
		Content any `json:"input_content"`
	} `json:"input"`
	Requirements []struct {
		Tool struct {
			Name string `json:"tool_name"`
			Args json.RawMessage
		} `json:"tool_execution"`
	} `json:"requirements"`
	Metrics struct {
		Input  float64 `json:"input_tokens"`
		Output float64 `json:"output_tokens"`
		Cached float64 `json:"cache_read_tokens"`
		Cost   float64 `json:"cost"`
	} `json:"metrics"`
}

// item is a snapshot: a message of a run, or a run without messages.
type item struct {
	id, run string
	// number is the place of the message in its run, and turn that of the run in its session.
	number int
	turn   int64
	at     time.Time
	data   []byte // nil for a run without messages
	parent int    // the item before it, or -1
	last   bool   // the run ends with it
	state  []byte // the session's state behind it; nil where no run told one
}

// session holds items of a session in their order.
type session struct {
	items       []item
	first, skip int // as in rows.Span
	runs        map[string]*run
	// own has the items of each run, also the items of other runs that it repeats.
	own  map[string][]int
	head int
	// about is the row of agno_sessions, nil of a run of a member.
	about []byte
}

// Find returns the index of an id, or -1.
func (s *session) Find(id string) int {
	return slices.IndexFunc(s.items, func(one item) bool { return one.id == id })
}

// findItem reads a session, and returns the place in it of the snapshot with an id.
func findItem(ctx context.Context, t rows.Tx, at rows.Place, id string) (*session, int, error) {
	return rows.Find(t, at, id, func() (*session, error) { return readSession(ctx, t, at, "") })
}

// keepSession reads all of a session, unless it was read and the file is as it was.
func keepSession(ctx context.Context, t rows.Tx, at rows.Place) (*session, error) {
	return rows.Keep(t, at.ID, func() (*session, error) { return readSession(ctx, t, at, "") })
}

// readSession reads a session, all of it or from an item on, with some before it.
func readSession(ctx context.Context, t rows.Tx, at rows.Place, from string) (*session, error) {
	span, err := kind.Span(ctx, t, at, from, rows.Context)
	if err != nil {
		return nil, err
	}
	s := &session{first: span.First, skip: span.Skip, runs: map[string]*run{}}
	var list []item
	err = rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		var one item
		var seconds int64
		err := scan(&one.id, &one.run, &one.turn, &one.number, &seconds, &one.data)
		if seconds > 0 {
			one.at = time.Unix(seconds, 0).UTC()
		}
		list = append(list, one)
		return err
	}, "SELECT id, run, turn, number, at, data FROM "+span.From)
	if err != nil || len(list) == 0 {
		return s, err
	}
	if err = s.readRuns(ctx, t, at, list[0].turn); err == nil {
		err = s.readAbout(ctx, t, at)
	}
	s.addItems(list)
	return s, err
}

// readRuns reads the rows of agno_runs that belong to a session, from a run on.
func (s *session) readRuns(ctx context.Context, t rows.Tx, at rows.Place, turn int64) error {
	return t.Each(ctx, func(scan func(...any) error) error {
		var id string
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		one := &run{damaged: !jsontape.Valid(data)}
		if !one.damaged {
			_ = json.Unmarshal(data, one) // what is of another shape is not known
			one.rest = []byte{'{'}
			for m, err := range jsontape.Members(data) {
				if err != nil || m.Key == nil {
					break
				}
				switch string(m.Key) {
				case `"messages"`:
					continue
				case `"session_state"`:
					one.state = bytes.Clone(m.Value)
					continue
				}
				if len(one.rest) > 1 {
					one.rest = append(one.rest, ',')
				}
				one.rest = append(append(append(one.rest, m.Key...), ':'), m.Value...)
			}
			one.rest = append(one.rest, '}')
		}
		s.runs[id] = one
		return nil
	}, "SELECT run_id, run_data FROM agno_runs WHERE session_id = ? AND "+member+" = ? AND coalesce(run_index, 0) >= ?", append(slices.Clip(at.Key), turn)...)
}

// isLine reports whether each run goes on from the one before it.
func (s *session) isLine() bool {
	for _, of := range s.runs {
		if of.Source != "" || of.Status == regenerated {
			return false
		}
	}
	return true
}

// regenerated is the status of a run that another took the place of.
const regenerated = "REGENERATED"

// readAbout reads the row of agno_sessions that a session has.
func (s *session) readAbout(ctx context.Context, t rows.Tx, at rows.Place) error {
	return t.Records(ctx, func(r map[string]any) error {
		all := map[string][]byte{}
		for column, value := range r {
			if text, is := value.(string); is && jsontape.Valid([]byte(text)) {
				all[column] = withoutRuns(column, []byte(text))
			} else if value != nil {
				all[column], _ = json.Marshal(value) // a number or a text
			}
		}
		maps.DeleteFunc(all, func(_ string, value []byte) bool { return string(value) == "null" })
		s.about = rows.AppendObject(nil, all)
		return nil
	}, "SELECT * FROM agno_sessions WHERE session_id = ? AND ? = ''", at.Key...)
}

// withoutRuns returns a column without the runs that Agno 1 and 2 keep in it, which are snapshots.
func withoutRuns(column string, value []byte) []byte {
	switch {
	case column == "runs":
		return []byte("null")
	case column != "memory" || !bytes.HasPrefix(value, []byte("{")):
		return value
	}
	all := map[string][]byte{}
	for m := range jsontape.Members(value) {
		if key := jsontape.Unquote(m.Key); key != "runs" {
			all[key] = m.Value
		}
	}
	return rows.AppendObject(nil, all)
}

// addItems links the messages of the runs, which stand in the order of the runs.
func (s *session) addItems(list []item) {
	s.own = map[string][]int{}
	before := -1 // the last item of the last run that was not regenerated
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].run == list[0].run {
			n++
		}
		of := s.runs[list[0].run]
		if of == nil { // another row has it by now
			of = &run{damaged: true}
			s.runs[list[0].run] = of
		}
		source, parent := s.own[of.Source], before
		shared := min(max(of.Shared, 0), len(source), n-1) // a run that repeats all has its last message still
		repeats := slices.Clone(source[:shared])
		switch {
		case shared > 0:
			parent = source[shared-1]
		case len(source) > 0:
			parent = s.items[source[0]].parent
		}
		for i, one := range list[shared:n] {
			one.parent, one.last = parent, shared+i == n-1
			if parent >= 0 {
				one.state = s.items[parent].state
			}
			if one.last && of.state != nil {
				one.state = of.state
			}
			parent = len(s.items)
			repeats, s.items = append(repeats, parent), append(s.items, one)
		}
		s.own[list[0].run] = repeats
		if of.Status != regenerated {
			before = parent
		}
		list = list[n:]
	}
	if s.head = before; before < 0 {
		s.head = len(s.items) - 1
	}
}

func (format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	s, err := readSession(ctx, t, at, from)
	if err != nil || from != "" && !s.isLine() {
		return log, err // what a fork follows may be anywhere: it is read whole
	}
	log.Facts = model.HeadFacts{Pointed: true}
	var said rows.Said
	var events []model.SnapshotEvent
	for i := range s.items {
		one, of := &s.items[i], s.runs[s.items[i].run]
		h := model.Header{ID: one.id, CreatedAt: one.at, Index: s.first + i, Event: model.SnapshotEventNamed, EventName: "run", Head: i == s.head}
		if one.data != nil {
			said.Add(&h, one.data)
		} else {
			h.Title = of.tellOutcome()
		}
		begins, turn := i == 0 || s.items[i-1].run != one.run, h.TurnIndex
		if h.TurnIndex = 0; begins && (turn > 0 || one.parent < 0) {
			h.TurnIndex = 1
		}
		if one.parent >= 0 {
			h.ParentID = s.items[one.parent].id
			if before := events[one.parent]; before == model.SnapshotEventTurnEnd || begins && one.number == 0 {
				h.TurnIndex = 1
			}
		}
		events = append(events, h.Event)
		if of.damaged {
			h.Marks |= model.MarkDamaged
		}
		if one.last {
			h.Marks |= marks[of.Status]
		}
		if string(jsontape.FindMember(one.data, `"tool_call_error"`)) == "true" {
			h.Marks |= model.MarkError
		}
		if of.Status == regenerated {
			h.Reason = &model.Reason{Kind: model.ReasonSecondLeaf}
		}
		if i < s.skip {
			continue
		}
		log.AddRow(h, int64(len(one.data)))
	}
	log.Title = said.Title()
	return log, nil
}

// marks has the marks for how a run ended.
var marks = map[string]model.Marks{"PAUSED": model.MarkInterrupted, "ERROR": model.MarkError, "CANCELLED": model.MarkError}

// tellOutcome says what a run without messages was given, and what came of it.
func (of *run) tellOutcome() string {
	var said []string
	for _, value := range []any{of.Input.Content, of.Content} {
		text, is := value.(string)
		if !is && value != nil {
			data, _ := json.Marshal(value) // it was read from JSON
			text = string(data)
		}
		if text = conversation.OneLine(conversation.Cut(text, conversation.MaxTitle)); text != "" {
			said = append(said, text)
		}
	}
	return cmp.Or(conversation.Cut(strings.Join(said, " → "), conversation.MaxTitle), conversation.OneLine(of.Status))
}

// lists describes the states of a session.
func (s *session) lists() *rows.Lists {
	list := &rows.Lists{
		Begin: `{"messages":[`, End: s.endOf, Len: len(s.items),
		ID:     func(i int) string { return s.items[i].id },
		Before: func(i int) int { return s.items[i].parent },
		Item:   func(i int) []byte { return s.items[i].data },
	}
	if s.about != nil {
		list.Gaps = gaps
	}
	return list
}

// endOf returns the part of a state behind the messages: the session's state as the last run left it, and what the run
// says that ends there.
func (s *session) endOf(i int) string {
	one, end := &s.items[i], "]"
	if one.state != nil {
		end += `,"session_state":` + string(one.state)
	}
	if of := s.runs[one.run]; one.last && of.rest != nil {
		end += `,"run":` + string(of.rest)
	}
	if s.about != nil {
		end += `,"session":` + string(s.about)
	}
	return end + "}"
}

func (format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	s, err := keepSession(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return s.lists().State(id)
}

// Weave implements rows.Weaver.
func (format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	s, err := keepSession(ctx, t, at)
	if err != nil {
		return err
	}
	s.lists().Weave(ids, to)
	return nil
}

// gaps are the gaps of a session's states.
var gaps = model.Gaps{Keys: []string{"session"}, Why: model.GapKeptOnce}

func (format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	s, i, err := findItem(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	one, of := &s.items[i], s.runs[s.items[i].run]
	if s.about != nil {
		about.Gaps = gaps
	}
	about.Facts.Add("run", one.run)
	about.Facts.Add("agent", cmp.Or(of.Agent, of.Team, of.Workflow))
	if of.Source != "" {
		about.Facts.Add("forked from", fmt.Sprintf("%s, message %d", of.Source, of.Shared))
	}
	if one.last {
		about.Facts.Add("status", of.Status)
		used := []model.Number{{Key: "input", Value: of.Metrics.Input}, {Key: "output", Value: of.Metrics.Output}, {Key: "cacheRead", Value: of.Metrics.Cached}}
		about.Facts.AddFact(model.TokensFact("tokens of the run", "tokens", slices.DeleteFunc(used, func(n model.Number) bool { return n.Value == 0 })))
	}
	name, run, session := cmp.Or(map[bool]string{true: "team"}[of.Team != "" && of.Agent == ""], "agent"), quoteJSON(one.run), quoteJSON(at.Key[0].(string))
	var asked []string
	for _, r := range of.Requirements {
		asked = append(asked, r.Tool.Name)
	}
	if waits := conversation.List(asked, conversation.OneLine); waits != "" && one.last && of.Status == "PAUSED" {
		about.Facts.Add("waits for", waits)
		about.Resume = append(about.Resume, model.Resume{Call: fmt.Sprintf("%s.continue_run(run_id=%s, session_id=%s, requirements=[…])", name, run, session), Then: "answers " + waits + ", and the run goes on"})
	}
	if i == s.head {
		about.Facts.Count(s.addCounts())
	}
	if at.Key[1] != "" || of.Workflow != "" || one.data == nil {
		return about, nil
	}
	has, err := t.Columns(ctx, "agno_runs")
	if err != nil {
		return about, err
	}
	if has["agent_id"] { // Agno 1 and 2 have no such table, and their first versions no such call
		about.Resume = append(about.Resume, model.Resume{Call: fmt.Sprintf("%s.continue_run(run_id=%s, session_id=%s, fork=True, message_index=%d)", name, run, session, one.number+1), Then: "runs on from here as a run of its own; the model is sent all of the session before it, what followed as well"})
	}
	if i == s.head {
		about.Resume = append(about.Resume, model.Resume{Call: fmt.Sprintf(`%s.run("…", session_id=%s)`, name, session), Then: "takes your input as the next turn"})
	}
	return about, nil
}

// addCounts adds up what the runs counted.
func (s *session) addCounts() (all model.Counted) {
	for _, of := range s.runs {
		all.Read += of.Metrics.Input
		all.Written += of.Metrics.Output
		all.FromCache += of.Metrics.Cached
		all.Dollars += of.Metrics.Cost
	}
	return all
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }
