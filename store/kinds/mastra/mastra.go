// Package mastra reads the threads and the runs of workflows that Mastra keeps in LibSQL.
//
//	Mastra                                 Hindcast
//	a thread of mastra_messages            session "THREAD"
//	a message                              snapshot: its state has the messages up to it
//	the row of mastra_threads              "thread", stored once, as of now, with the memory of its
//	                                       resource
//	metadata.clone of a thread             the thread that it was cloned from
//	a row of mastra_workflow_snapshot      session "WORKFLOW/RUN" with one snapshot
//
// A run has one row, which Mastra writes over, with SQLite's own encoding of JSON in it.
package mastra

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

var kind = rows.Kind{
	Name: "mastra", Framework: "Mastra",
	IDs:   "the message's or the run's, which Mastra drew",
	Lacks: "Mastra keeps one row of a run and writes over it, and knows no way back in a thread: its stores are only read",
	Tables: map[string]string{
		"mastra_workflow_snapshot": "workflow_name run_id snapshot createdAt updatedAt",
		"mastra_threads":           "id resourceId title metadata",
		"mastra_messages":          "id thread_id content role createdAt",
	},
	Sides: []rows.Side{
		{Table: "mastra_threads", Column: "id", Of: "SELECT ? WHERE ? = ''"},
		{Table: "mastra_thread_state", Column: "threadId", Of: "SELECT ? WHERE ? = ''"},
		{Table: "mastra_resources", Column: "id", Of: "SELECT resourceId FROM mastra_threads WHERE id = ? AND ? = ''"},
	},
	Held: []engine.RowSet{
		{Table: "mastra_resources", Where: "id IN (SELECT resourceId FROM mastra_threads WHERE id = ?1 AND ?2 = '')", Shared: true},
		{Table: "mastra_threads", Where: "id = ?1 AND ?2 = ''"}, {Table: "mastra_thread_state", Where: "threadId = ?1 AND ?2 = ''"},
		{Table: "mastra_messages", Where: "ifnull(thread_id, '') = ?1 AND ?2 = ''"},
		{Table: "mastra_workflow_snapshot", Where: "ifnull(workflow_name, '') = ?1 AND ifnull(run_id, '') = ?2 AND (?2 <> '' OR ?1 = '')"},
	},
	Large: []string{"snapshot", "metadata", "content"},
	Snapshots: `(SELECT rowid AS rowid, ifnull(thread_id, '') AS name, '' AS run, id, ifnull(createdAt, '') AS at, ifnull(role, '') AS role, ifnull(type, '') AS type, content AS data FROM mastra_messages
		UNION ALL SELECT rowid, ifnull(workflow_name, ''), ifnull(run_id, ''), ifnull(run_id, ''), ifnull(updatedAt, ''), '', '', snapshot FROM mastra_workflow_snapshot)`,
	Key: []string{"name", "run"}, ID: "id", Reads: "id, " + asText("data") + " AS data",
	Order: []string{"at", "rowid"},
}

// Kind describes the mastra store.
func Kind(cache *files.Cache) engine.Kind {
	k := kind
	k.Format, k.Cache = format{}, cache
	return k.Kind(nil, "")
}

// format implements rows.Format.
type format struct{}

// asText is a column of JSON as text, which may be encoded. It is NULL where it is damaged.
func asText(column string) string {
	return "iif(typeof(" + column + ") = 'blob', iif(json_valid(" + column + ", 8), json(" + column + "), NULL), " + column + ")"
}

// row is a message, or the run.
type row struct {
	id   string
	at   time.Time
	data []byte // JSON; nil where it cannot be read
	size int64
	// damaged says that the content of a message was JSON, and is shown as the text that is left.
	damaged bool
}

// isRun reports whether a session is a run of a workflow.
func isRun(at rows.Place) bool { return at.Key[1] != "" }

// loadRows returns rows of a session from one on, the one before it among them.
func loadRows(ctx context.Context, t rows.Tx, at rows.Place, from string) (list []row, span rows.Span, err error) {
	if span, err = kind.Span(ctx, t, at, from, 1); err != nil {
		return nil, span, err
	}
	err = rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		var one row
		var stamp, role, is string
		err := scan(&one.id, &stamp, &role, &is, &one.data, &one.size)
		one.at, _ = time.Parse(time.RFC3339, stamp) // the zero time says that there is none
		if !jsontape.Valid(one.data) {
			one.data, one.damaged = textOf(one.data)
			if isRun(at) {
				one.data = nil
			}
		}
		if role != "" && one.data != nil {
			head := fmt.Appendf(nil, `{"id":%s,"role":%s,"type":%s,"createdAt":%s,"content":`, quoteJSON(one.id), quoteJSON(role), quoteJSON(is), quoteJSON(stamp))
			one.data = slices.Concat(head, one.data, []byte("}"))
		}
		list = append(list, one)
		return err
	}, "SELECT id, at, role, type, "+asText("data")+", ifnull(octet_length(data), 0) FROM "+kind.Snapshots)
	return list, span, err
}

// textOf returns a content that is no JSON as a JSON string, and whether it was JSON once. Messages
// of Mastra's first format are text, which it takes as it is.
func textOf(content []byte) (text []byte, damaged bool) {
	if !utf8.Valid(content) || len(content) == 0 {
		return nil, true
	}
	return jsontape.AppendQuoted(nil, string(content)), content[0] == '{' || content[0] == '['
}

func (format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	list, span, err := loadRows(ctx, t, at, from)
	log.Facts.Newest = true
	var said rows.Said
	for i := range list {
		one := &list[i]
		h := model.Header{ID: one.id, CreatedAt: one.at, Index: span.First + i, Event: model.SnapshotEventNamed, EventName: "message"}
		if one.data == nil || one.damaged {
			h.Marks |= model.MarkDamaged
		}
		switch {
		case one.data == nil:
		case isRun(at):
			r := runOf(one.data)
			h.EventName, h.Title = cmp.Or(conversation.OneLine(r.Status), "run"), conversation.List(r.Path, r.stepOutcome)
			h.Marks |= marks[r.Status]
		default:
			said.Add(&h, one.data)
		}
		if i > 0 {
			h.ParentID = list[i-1].id
		}
		if i < span.Skip {
			continue
		}
		log.AddRow(h, one.size)
	}
	log.Title = said.Title()
	return log, err
}

// run is the row of a run.
type run struct {
	Status    string                     `json:"status"`
	Path      []string                   `json:"stepExecutionPath"`
	Suspended map[string]json.RawMessage `json:"suspendedPaths"`
	Context   map[string]json.RawMessage `json:"context"`
	Error     json.RawMessage            `json:"error"`
}

// marks has the marks for the states of a run.
var marks = map[string]model.Marks{"suspended": model.MarkInterrupted, "waiting": model.MarkInterrupted, "failed": model.MarkError}

// runOf reads a run. What is of another shape is not known.
func runOf(data []byte) (r run) {
	_ = json.Unmarshal(data, &r)
	return r
}

// stepOutcome says how a step ended.
func (r *run) stepOutcome(id string) string {
	var of struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(r.Context[id], &of)
	return strings.TrimSpace(conversation.OneLine(id) + " " + conversation.OneLine(of.Status))
}

// rowList are the rows of a session in their order.
type rowList []row

// Find returns the index of an id, or -1.
func (l rowList) Find(id string) int {
	return slices.IndexFunc(l, func(one row) bool { return one.id == id })
}

// findRow returns the rows of a session up to one.
func findRow(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]row, error) {
	list, i, err := rows.Find(t, at, id, func() (rowList, error) { return readAll(ctx, t, at) })
	return list[:i+1], err
}

// readRows reads all of a session, unless it was read and the file is as it was.
func readRows(ctx context.Context, t rows.Tx, at rows.Place) (rowList, error) {
	return rows.Keep(t, at.ID, func() (rowList, error) { return readAll(ctx, t, at) })
}

func readAll(ctx context.Context, t rows.Tx, at rows.Place) (rowList, error) {
	list, _, err := loadRows(ctx, t, at, "")
	return list, err
}

// readThread returns the row of a thread, and from where it was cloned.
func readThread(ctx context.Context, t rows.Tx, at rows.Place) (members []byte, clone string, err error) {
	var resource, title string
	var metadata []byte
	found, err := t.First(ctx, []any{&resource, &title, &metadata}, "SELECT ifnull(resourceId, ''), ifnull(title, ''), "+asText("metadata")+" FROM mastra_threads WHERE id = ?", at.Key[0])
	if err != nil || !found {
		return nil, "", err
	}
	if !jsontape.Valid(metadata) {
		metadata = []byte("null")
	}
	var of struct {
		Clone struct {
			Source string `json:"sourceThreadId"`
			Last   string `json:"lastMessageId"`
		} `json:"clone"`
	}
	_ = json.Unmarshal(metadata, &of) // of another shape it says nothing of a clone
	if clone = of.Clone.Source; clone != "" && of.Clone.Last != "" {
		clone += ", up to " + of.Clone.Last
	}
	beside, err := readMemory(ctx, t, at, resource)
	return fmt.Appendf(nil, `{"title":%s,"resourceId":%s,"metadata":%s%s}`, quoteJSON(title), quoteJSON(resource), metadata, beside), clone, err
}

// readMemory returns the members of a thread that say what Mastra remembers of its resource, and the
// states of the thread by their types. Older stores have none.
func readMemory(ctx context.Context, t rows.Tx, at rows.Place, resource string) (members []byte, err error) {
	for _, c := range []struct{ table, column, query, key string }{
		{"mastra_resources", "workingMemory", "SELECT 'workingMemory', ifnull(workingMemory, '') FROM mastra_resources WHERE id = ?", resource},
		{"mastra_resources", "metadata", "SELECT 'resource', ifnull(" + asText("metadata") + ", '') FROM mastra_resources WHERE id = ?", resource},
		{"mastra_thread_state", "value", "SELECT 'state ' || type, ifnull(" + asText("value") + ", '') FROM mastra_thread_state WHERE threadId = ? ORDER BY type", at.Key[0].(string)},
	} {
		has, err := t.Columns(ctx, c.table)
		if err != nil {
			return nil, err
		}
		if !has[c.column] {
			continue
		}
		if err := t.Each(ctx, func(scan func(...any) error) error {
			var name string
			var value []byte
			if err := scan(&name, &value); err != nil || len(value) == 0 {
				return err
			}
			if !jsontape.Valid(value) {
				value = jsontape.AppendQuoted(nil, string(value))
			}
			members = append(append(append(append(members, ','), quoteJSON(name)...), ':'), value...)
			return nil
		}, c.query, c.key); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// readLists describes the states of a thread.
func readLists(ctx context.Context, t rows.Tx, at rows.Place) (*rows.Lists, error) {
	list, err := readRows(ctx, t, at)
	if err != nil {
		return nil, err
	}
	members, _, err := readThread(ctx, t, at)
	of, end := &rows.Lists{
		Begin: `{"messages":[`, Len: len(list),
		ID:     func(i int) string { return list[i].id },
		Before: func(i int) int { return i - 1 },
		Item:   func(i int) []byte { return list[i].data },
	}, "]}"
	if members != nil {
		end, of.Gaps = `],"thread":`+string(members)+"}", gaps
	}
	of.End = func(int) string { return end }
	return of, err
}

func (format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	if isRun(at) {
		list, err := findRow(ctx, t, at, id)
		if err != nil {
			return nil, err
		}
		if state := list[len(list)-1].data; state != nil {
			return bytes.Clone(state), nil // the list may be kept
		}
		return nil, errors.New("the snapshot of the run is neither JSON nor SQLite's encoding of it")
	}
	list, err := readLists(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return list.State(id)
}

// Weave implements rows.Weaver: of a thread, but not of a run.
func (format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	if isRun(at) {
		return nil
	}
	list, err := readLists(ctx, t, at)
	if err != nil {
		return err
	}
	list.Weave(ids, to)
	return nil
}

// gaps are the gaps of a thread's states.
var gaps = model.Gaps{Keys: []string{"thread"}, Why: model.GapKeptOnce}

func (format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	list, err := findRow(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	if !isRun(at) {
		members, clone, err := readThread(ctx, t, at)
		if about.Facts.Add("cloned from", clone); members != nil {
			about.Gaps = gaps
		}
		return about, err
	}
	r := runOf(list[len(list)-1].data)
	waits := slices.Sorted(maps.Keys(r.Suspended))
	about.Facts.Add("status", r.Status)
	about.Facts.Add("waits at", conversation.List(waits, conversation.OneLine))
	about.Facts.Add("failed", string(r.Error))
	for _, step := range waits {
		about.Resume = append(about.Resume, model.Resume{
			Call: fmt.Sprintf("await (await mastra.getWorkflow(%s).createRun({ runId: %s })).resume({ step: %s, resumeData: {…} })", quoteJSON(at.Key[0].(string)), quoteJSON(at.Key[1].(string)), quoteJSON(step)),
			Then: "answers what " + step + " asks, and the run goes on",
		})
	}
	return about, nil
}

func quoteJSON(text string) string { return string(jsontape.AppendQuoted(nil, text)) }
