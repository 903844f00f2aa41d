// Package dbos reads the workflows that DBOS for Python keeps in its system database, in SQLite or, in the schema dbos, in
// PostgreSQL.
//
//	DBOS                                     Hindcast
//	a row of workflow_status                 session "WORKFLOW"
//	workflow_input                           its first snapshot
//	a row of operation_outputs               snapshot: its state has the outputs of the steps up to it
//	workflow_events_history                  "events", as they were set up to the step
//	workflow_output, and what else is known  "workflow", stored once, as of now
//	forked_from, parent_workflow_id          facts: DBOS copies the steps before a fork under their numbers
//
// A workflow that is recovered or forked runs again from its beginning, and its steps up to a number are answered from
// the table. Values are pickles in base64, which are decoded as data and never run, or JSON.
// Before 3.4 inputs and outputs stand in workflow_status, or inputs in workflow_inputs.
// Source: dbos/_schemas/system_database.py, dbos/_serialization.py and dbos/_sys_db.py of 3.4.
package dbos

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/encoding/pickle"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

var kind = rows.Kind{
	Name: "dbos", Framework: "DBOS",
	IDs:   "the step's number in its workflow",
	Lacks: "DBOS goes back by a fork of its own, which the Resume tab has: its stores are only read",
	Tables: map[string]string{
		"workflow_status":   "workflow_uuid status name created_at forked_from",
		"workflow_input":    "workflow_uuid inputs",
		"workflow_output":   "workflow_uuid output error",
		"operation_outputs": "workflow_uuid function_id function_name output error child_workflow_id started_at_epoch_ms",
	},
	Since: map[string]string{
		"workflow_status":   "forked_from",
		"operation_outputs": "function_name child_workflow_id started_at_epoch_ms:bigint",
	},
	Older: func() []rows.Older { return olderTables("rowid", "main.") },
	Sides: []rows.Side{
		{Table: "workflow_status", Column: "workflow_uuid", Of: "?"},
		{Table: "workflow_output", Column: "workflow_uuid", Of: "?"},
		{Table: "workflow_events_history", Column: "workflow_uuid", Of: "?"},
	},
	Held: []engine.RowSet{
		{Table: "dbos_migrations", Where: "1", Shared: true}, {Table: "workflow_status", Where: "workflow_uuid = ?1"},
		{Table: "workflow_input", Where: "workflow_uuid = ?1"}, {Table: "workflow_output", Where: "workflow_uuid = ?1"},
		{Table: "operation_outputs", Where: "workflow_uuid = ?1"}, {Table: "workflow_events", Where: "workflow_uuid = ?1"},
		{Table: "workflow_events_history", Where: "workflow_uuid = ?1"}, {Table: "streams", Where: "workflow_uuid = ?1"},
		{Table: "notifications", Where: "destination_uuid = ?1"},
	},
	Large: []string{"inputs", "output", "error", "value", "request", "attributes", "data", "failure"},
	// Of a fork the first steps are older than the workflow.
	Snapshots: `(SELECT 2 * s.rowid AS rowid, s.workflow_uuid AS name, '0' AS id, 0 AS step, s.name AS function, i.inputs AS data, NULL AS failure,
			NULL AS child, iif(s.forked_from IS NULL, s.created_at, NULL) AS at
		FROM workflow_status s LEFT JOIN workflow_input i ON i.workflow_uuid = s.workflow_uuid
		UNION ALL SELECT 2 * rowid + 1, workflow_uuid, CAST(function_id AS TEXT), function_id, function_name, output, error,
			child_workflow_id, started_at_epoch_ms FROM operation_outputs)`,
	Key: []string{"name"}, ID: "id", Reads: "id, data, failure",
	Order:  []string{"step", "rowid"},
	Damage: model.Fault{Severity: model.Stops, Meaning: "the output of the step cannot be read", Verdict: "DBOS fails when it runs the workflow again"},
}

// olderTables tells where versions before kept inputs and outputs. hidden is a column that each table has beside its
// columns, and in stands before the name of a table.
func olderTables(hidden, in string) []rows.Older {
	query := func(columns, from string) string {
		return "SELECT " + hidden + " AS " + hidden + ", workflow_uuid, " + columns + " FROM " + in + from
	}
	return []rows.Older{
		{Table: "workflow_input", From: "workflow_status", Columns: "workflow_uuid inputs", Query: query("inputs", "workflow_status")},
		{Table: "workflow_input", From: "workflow_inputs", Columns: "workflow_uuid inputs", Query: query("inputs", "workflow_inputs")},
		{Table: "workflow_output", From: "workflow_status", Columns: "workflow_uuid output error", Query: query("output, error", "workflow_status")},
	}
}

// Kind describes the dbos store.
func Kind(cache *files.Cache) engine.Kind {
	k, on := kind, kind
	k.Format, k.Cache = format{}, cache
	on.Older = func() []rows.Older { return olderTables("xmin", "") }
	on.Format, on.Snapshots, on.Order, on.Sessions = served{}, onServer, []string{"step"}, "SELECT workflow_uuid FROM workflow_status"
	return k.Kind(&on, "")
}

// format implements rows.Format.
type format struct{}

// Decode implements rows.Decoder.
func (format) Decode(column string, row map[string]any) []byte {
	text, _ := row[column].(string)
	if !isValue[column] {
		return []byte(text)
	}
	value, _ := decodeValue([]byte(text))
	return value
}

// isValue has the columns that hold values.
var isValue = map[string]bool{"data": true, "failure": true, "inputs": true, "output": true, "error": true, "value": true}

// decodeValue returns a value as JSON: of a pickle in base64, or JSON as it is. Any other text is a JSON string, and
// damaged where it was base64. It is nil for no value.
func decodeValue(stored []byte) (value []byte, damaged bool) {
	if len(stored) == 0 {
		return nil, false
	}
	if data, err := base64.StdEncoding.DecodeString(string(stored)); err == nil && len(data) > 0 && data[0] == pickleBegin {
		if value, err = pickle.AppendJSON(nil, data); err == nil {
			return value, false
		}
		damaged = true
	}
	if jsontape.Valid(stored) {
		return stored, damaged
	}
	return jsontape.AppendQuoted(nil, string(stored)), true
}

// pickleBegin is the first byte of a pickle of protocol 2 or later.
const pickleBegin = 0x80

// step is a step of a workflow, or its input.
type step struct {
	id, name        string
	number          int64
	value, failure  []byte // JSON; nil without one
	child           string
	at              time.Time
	size            int64
	damaged, failed bool
	// set has the events that the workflow set by then, as an object; "" if it set no event.
	set string
}

// workflow holds the steps of a session in their order.
type workflow struct {
	steps       []step
	first, skip int // as in rows.Span
	// about is the row of the workflow, with its output.
	about                        []byte
	status, source, parent, name string
}

// Find returns the index of an id, or -1.
func (w *workflow) Find(id string) int {
	return slices.IndexFunc(w.steps, func(one step) bool { return one.id == id })
}

// findStep reads a session, and returns the place in it of the snapshot with an id.
func findStep(ctx context.Context, t rows.Tx, at rows.Place, id string) (*workflow, int, error) {
	return rows.Find(t, at, id, func() (*workflow, error) { return readWorkflow(ctx, t, at, "") })
}

// keepWorkflow reads all of a session, unless it was read and the file is as it was.
func keepWorkflow(ctx context.Context, t rows.Tx, at rows.Place) (*workflow, error) {
	return rows.Keep(t, at.ID, func() (*workflow, error) { return readWorkflow(ctx, t, at, "") })
}

// readWorkflow reads a session, all of it or from a step on, with the one before it.
func readWorkflow(ctx context.Context, t rows.Tx, at rows.Place, from string) (*workflow, error) {
	span, err := kind.Span(ctx, t, at, from, 1)
	if err != nil {
		return nil, err
	}
	w := &workflow{first: span.First, skip: span.Skip}
	err = rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		var one step
		var data, failure []byte
		var stamp int64
		err := scan(&one.id, &one.number, &one.name, &data, &failure, &one.child, &stamp)
		one.size = int64(len(data) + len(failure))
		one.value, one.damaged = decodeValue(data)
		one.failure, one.failed = decodeValue(failure)
		one.damaged, one.failed = one.damaged || one.failed, one.failure != nil
		if stamp > 0 {
			one.at = time.UnixMilli(stamp).UTC()
		}
		w.steps = append(w.steps, one)
		return err
	}, "SELECT id, step, coalesce(function, ''), data, failure, coalesce(child, ''), coalesce(at, 0) FROM "+span.From)
	if err == nil {
		err = w.readEvents(ctx, t, at)
	}
	if err == nil {
		err = w.readAbout(ctx, t, at)
	}
	return w, err
}

// readEvents reads what the workflow set, by steps.
func (w *workflow) readEvents(ctx context.Context, t rows.Tx, at rows.Place) error {
	has, err := t.Columns(ctx, "workflow_events_history")
	if err != nil || !has["function_id"] {
		return err
	}
	events, latest, set := map[int64]map[string][]byte{}, map[string][]byte{}, ""
	err = t.Each(ctx, func(scan func(...any) error) error {
		var number int64
		var key string
		var stored []byte
		if err := scan(&number, &key, &stored); err != nil {
			return err
		}
		if value, _ := decodeValue(stored); value != nil {
			if events[number] == nil {
				events[number] = map[string][]byte{}
			}
			events[number][key] = value
		}
		return nil
	}, "SELECT function_id, key, value FROM workflow_events_history WHERE workflow_uuid = ? ORDER BY function_id, key", at.Key...)
	for i := range w.steps {
		if with := events[w.steps[i].number]; with != nil {
			maps.Copy(latest, with)
			set = string(rows.AppendObject(nil, latest))
		}
		w.steps[i].set = set
	}
	return err
}

// readAbout reads the row of a workflow, and its output.
func (w *workflow) readAbout(ctx context.Context, t rows.Tx, at rows.Place) error {
	all := map[string][]byte{}
	for _, query := range []string{"SELECT * FROM workflow_status WHERE workflow_uuid = ?", "SELECT output, error FROM workflow_output WHERE workflow_uuid = ?"} {
		if err := t.Records(ctx, func(r map[string]any) error {
			for column, value := range r {
				switch value := value.(type) {
				case string:
					if isValue[column] {
						all[column], _ = decodeValue([]byte(value))
					} else {
						all[column] = jsontape.AppendQuoted(nil, value)
					}
				case int64:
					all[column] = strconv.AppendInt(nil, value, 10)
				}
			}
			return nil
		}, query, at.Key...); err != nil {
			return err
		}
	}
	for column, to := range map[string]*string{"status": &w.status, "forked_from": &w.source, "parent_workflow_id": &w.parent, "name": &w.name} {
		*to = conversation.OneLine(textOf(all[column]))
	}
	w.about = rows.AppendObject(nil, all)
	return nil
}

func (format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	w, err := readWorkflow(ctx, t, at, from)
	if err != nil {
		return log, err
	}
	log.Facts.Newest = true
	for i := range w.steps {
		one := &w.steps[i]
		h := model.Header{ID: one.id, CreatedAt: one.at, Index: w.first + i, Event: model.SnapshotEventNamed, EventName: "step", Title: one.tellOutcome()}
		switch {
		case one.damaged:
			h.Marks |= model.MarkDamaged
		case one.failed:
			h.Marks |= model.MarkError
		}
		if one.number == 0 {
			h.EventName = "input"
		}
		if i > 0 {
			h.ParentID = w.steps[i-1].id
		}
		if i < w.skip {
			continue
		}
		log.AddRow(h, one.size)
	}
	if len(w.steps) > 0 && w.first == 0 {
		log.Title = w.steps[0].tellOutcome()
	}
	return log, nil
}

// tellOutcome says which function ran, and what came of it.
func (one *step) tellOutcome() string {
	value := one.value
	if one.failed {
		if args := jsontape.FindMember(one.failure, `"value"`); args != nil {
			return conversation.Cut(conversation.OneLine(one.name)+model.BeforeOutcome+conversation.ReadYield(args).First, conversation.MaxTitle)
		}
		value = one.failure
	}
	if one.number == 0 {
		if args := jsontape.FindMember(value, `"args"`); args != nil {
			return conversation.Assignment(one.name, args)
		}
	}
	if said := jsontape.FindMember(value, `"content"`); len(said) > 0 && said[0] == '"' {
		value = said
	}
	yield := conversation.ReadYield(value)
	said := yield.First
	if said == "" && yield.Items > 0 {
		said = model.Count(yield.Items, "value")
	}
	return conversation.Cut(strings.TrimRight(conversation.OneLine(one.name)+model.BeforeOutcome+said, " "), conversation.MaxTitle)
}

// lists describes the states of a workflow.
func (w *workflow) lists() *rows.Lists {
	return &rows.Lists{
		Begin: w.beginState(), End: w.endOf, Gaps: gaps, Len: len(w.steps),
		ID:     func(i int) string { return w.steps[i].id },
		Before: func(i int) int { return i - 1 },
		Item:   w.stepJSON,
	}
}

// beginState returns the part of a state before the steps.
func (w *workflow) beginState() string {
	input := "null"
	if len(w.steps) > 0 && w.steps[0].value != nil {
		input = string(w.steps[0].value)
	}
	return `{"input":` + input + `,"steps":[`
}

// stepJSON returns a step as it stands in a state; nil for the input.
func (w *workflow) stepJSON(i int) []byte {
	one := &w.steps[i]
	if i == 0 {
		return nil
	}
	text := fmt.Appendf(nil, `{"step":%d,"name":%s`, one.number, jsontape.AppendQuoted(nil, one.name))
	if one.value != nil {
		text = append(append(text, `,"output":`...), one.value...)
	}
	if one.failure != nil {
		text = append(append(text, `,"error":`...), one.failure...)
	}
	if one.child != "" {
		text = append(append(text, `,"child":`...), jsontape.AppendQuoted(nil, one.child)...)
	}
	return append(text, '}')
}

// endOf returns the part of a state behind the steps: what was set so far, and the workflow as of now.
func (w *workflow) endOf(i int) string {
	end := "]"
	if set := w.steps[i].set; set != "" {
		end += `,"events":` + set
	}
	return end + `,"workflow":` + string(w.about) + "}"
}

// gaps are the gaps of each state.
var gaps = model.Gaps{Keys: []string{"workflow"}, Why: model.GapKeptOnce}

func (format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	w, err := keepWorkflow(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return w.lists().State(id)
}

// Weave implements rows.Weaver.
func (format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	w, err := keepWorkflow(ctx, t, at)
	if err != nil {
		return err
	}
	w.lists().Weave(ids, to)
	return nil
}

func (format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	w, i, err := findStep(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	one := &w.steps[i]
	about.Gaps = gaps
	about.Facts.Add("workflow", w.name)
	about.Facts.Add("status", w.status)
	about.Facts.Add("forked from", w.source)
	about.Facts.Add("started by", w.parent)
	about.Facts.Add("starts", one.child)
	name := string(jsontape.AppendQuoted(nil, at.Key[0].(string)))
	about.Resume = []model.Resume{{Call: fmt.Sprintf("DBOS.fork_workflow(%s, %d)", name, one.number+1), Then: "runs the workflow again as a new one: its steps up to here are answered from the table"}}
	if waits[w.status] && i == len(w.steps)-1 {
		about.Resume = append(about.Resume, model.Resume{Call: "DBOS.resume_workflow(" + name + ")", Then: "goes on with the workflow itself"})
	}
	return about, nil
}

// waits has the states of a workflow that DBOS goes on with.
var waits = map[string]bool{"PENDING": true, "ENQUEUED": true, "CANCELLED": true, "MAX_RECOVERY_ATTEMPTS_EXCEEDED": true}

// textOf returns a JSON string decoded, "" for anything else.
func textOf(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return jsontape.Unquote(value)
}
