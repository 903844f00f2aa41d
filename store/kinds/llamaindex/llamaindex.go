// Package llamaindex reads the runs that the server of LlamaIndex's workflows keeps in
// SQLite.
//
//	llama-agents-server         Hindcast
//	run_id                      session
//	a row of ticks              snapshot: its state has the ticks up to it
//	rows of workflow_state      "state" by namespaces, which is kept once, as of now
//	rows of events              "events" that steps streamed, likewise
//	the row of handlers         whether the run waits, and how it ended
//
// A tick is JSON in a JSON string, and so is each value of a state; both are shown decoded.
package llamaindex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	Name: "llamaindex", Framework: "LlamaIndex",
	IDs:   "the tick's number in its table",
	Lacks: "LlamaIndex keeps the state of a run as of now alone, and what its ticks made of it is known to the program: its stores are only read",
	Tables: map[string]string{
		"ticks":          "id run_id sequence timestamp tick_data",
		"handlers":       "handler_id workflow_name status run_id",
		"workflow_state": "run_id state_json",
	},
	Sides: []rows.Side{{Table: "events", Column: "run_id", Of: "?"}},
	Held: []engine.RowSet{
		{Table: "schema_migrations", Where: "1", Shared: true}, {Table: "handlers", Where: "run_id = ?1"}, {Table: "ticks", Where: "run_id = ?1"},
		{Table: "workflow_state", Where: "run_id = ?1"}, {Table: "events", Where: "run_id = ?1"},
	},
	Large:     []string{"state_json", "tick_data"},
	Snapshots: "ticks", Seconds: true, Key: []string{"run_id"}, ID: "id",
	Order: []string{"sequence", "id"},
}

// Kind describes the llamaindex store.
func Kind(cache *files.Cache) engine.Kind {
	k := kind
	k.Format, k.Cache = format{}, cache
	return k.Kind(nil, "")
}

// format implements rows.Format.
type format struct{}

// Decode implements rows.Decoder.
func (format) Decode(column string, row map[string]any) []byte {
	text, _ := row[column].(string)
	if column == "event_json" && isInternal([]byte(text)) {
		return nil
	}
	return []byte(text)
}

// isInternal reports whether an event is one by which the server tells of its own steps: it names classes.
func isInternal(event []byte) bool {
	return bytes.Contains(jsontape.FindMember(event, `"types"`), []byte(`"InternalDispatchEvent"`))
}

// events returns the events that the steps of a run streamed, as a member of the state; nil for a run without
// events.
func events(ctx context.Context, t rows.Tx, at rows.Place) (member []byte, err error) {
	has, err := t.Columns(ctx, "events")
	if err != nil || !has["event_json"] {
		return nil, err
	}
	var list [][]byte
	err = t.Each(ctx, func(scan func(...any) error) error {
		var event []byte
		if err := scan(&event); err != nil || isInternal(event) {
			return err
		}
		list = append(list, decodeValues(event))
		return nil
	}, "SELECT event_json FROM events WHERE run_id = ? ORDER BY sequence, id", at.Key...)
	if list == nil || err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`,"events":[`), bytes.Join(list, []byte(",")), []byte("]")), nil
}

// tick is a row of the table, and what its JSON says.
type tick struct {
	id   string
	at   time.Time
	data []byte // JSON; nil where it cannot be read
	size int64

	Value struct {
		Type   string  `json:"type"`
		Step   string  `json:"step_id"`
		At     float64 `json:"stamped_at"`
		Event  event   `json:"event"`
		Result []struct {
			Result event `json:"result"`
		} `json:"result"`
	} `json:"value"`
}

// event is an event of a workflow.
type event struct {
	Value json.RawMessage `json:"value"`
	Class string          `json:"qualified_name"`
}

// name returns the event's class without its module.
func (e event) name() string {
	return conversation.OneLine(e.Class[strings.LastIndexByte(e.Class, '.')+1:])
}

// loadTicks returns ticks of a run from one on, the one before it among them.
func loadTicks(ctx context.Context, t rows.Tx, at rows.Place, from string) (list []tick, span rows.Span, err error) {
	if span, err = kind.Span(ctx, t, at, from, 1); err != nil {
		return nil, span, err
	}
	err = rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		var one tick
		var stamp string
		err := scan(&one.id, &stamp, &one.data)
		if one.read(stamp); one.Value.At == 0 && len(list) > 0 && list[len(list)-1].at.After(one.at) {
			one.at = list[len(list)-1].at // the row has whole seconds
		}
		list = append(list, one)
		return err
	}, "SELECT id, ifnull(CAST(timestamp AS TEXT), ''), tick_data FROM ticks")
	return list, span, err
}

// read reads the JSON of a tick. stamp is the time in its row.
func (one *tick) read(stamp string) {
	one.size = int64(len(one.data))
	one.at, _ = time.Parse(time.DateTime, stamp) // the zero time says that there is none
	one.data = decodeMember(one.data, "serialized_tick")
	if !rows.PythonReads(one.data) {
		one.data = nil
	}
	_ = json.Unmarshal(one.data, one) // of another shape nothing is known
	if at := one.Value.At; at > 0 && at < 1e11 {
		one.at = time.UnixMicro(int64(at * 1e6)).UTC()
	}
}

// decodeMember returns the JSON inside a string member of an object. Without such a member it returns the
// object itself.
func decodeMember(object []byte, key string) []byte {
	if text := jsontape.FindMember(object, `"`+key+`"`); bytes.HasPrefix(text, []byte(`"`)) {
		if inner := []byte(jsontape.Unquote(text)); rows.PythonReads(inner) {
			return inner
		}
	}
	return object
}

// handler is how a run is known to the server.
type handler struct{ id, workflow, status, failure, idle string }

func handlerOf(ctx context.Context, t rows.Tx, at rows.Place) (h handler, err error) {
	err = t.Records(ctx, func(r map[string]any) error {
		text := func(column string) string { s, _ := r[column].(string); return conversation.OneLine(s) }
		h = handler{text("handler_id"), text("workflow_name"), text("status"), text("error"), text("idle_since")}
		return nil
	}, "SELECT * FROM handlers WHERE run_id = ? ORDER BY rowid", at.Key...)
	return h, err
}

// isWaiting reports whether the run waits for an event from outside.
func (h handler) isWaiting() bool { return h.status == "running" && h.idle != "" }

func (format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	list, span, err := loadTicks(ctx, t, at, from)
	if err != nil {
		return log, err
	}
	run, err := handlerOf(ctx, t, at)
	log.Facts.Newest = true
	for i := range list {
		one := &list[i]
		log.Title = cmp.Or(log.Title, one.prompt())
		h := model.Header{ID: one.id, CreatedAt: one.at, Index: span.First + i, Event: model.SnapshotEventNamed}
		h.EventName, h.Title = cmp.Or(strings.ReplaceAll(conversation.OneLine(one.Value.Type), "_", " "), "tick"), one.title()
		if one.data == nil {
			h.Marks |= model.MarkDamaged
		}
		if i > 0 {
			h.ParentID = list[i-1].id
		}
		if i == len(list)-1 && run.isWaiting() {
			h.Marks |= model.MarkInterrupted
		}
		if i == len(list)-1 && run.failure != "" {
			h.Marks |= model.MarkError
		}
		if i < span.Skip {
			continue
		}
		log.AddRow(h, one.size)
	}
	log.Title = cmp.Or(log.Title, run.workflow)
	return log, err
}

// prompt returns the words of a person in the event that starts an agent: a text, or a message with blocks of
// text. It returns "" for another event.
func (one *tick) prompt() string {
	said := jsontape.FindMember(one.Value.Event.Value, `"user_msg"`)
	if bytes.HasPrefix(said, []byte(`"`)) {
		return conversation.PromptTitle(jsontape.Unquote(said))
	}
	var message struct {
		Value struct { // the message in an envelope with its class
			Blocks []struct{ Text string }
		}
		Blocks []struct{ Text string }
	}
	_ = json.Unmarshal(said, &message) // of another shape it says nothing
	words, by := conversation.FirstTyped(func(yield func(string) bool) {
		for _, b := range slices.Concat(message.Blocks, message.Value.Blocks) {
			if !yield(b.Text) {
				return
			}
		}
	})
	if by == conversation.Wrapped {
		return ""
	}
	return conversation.PromptTitle(words)
}

// title says which event came, or which step returned which.
func (one *tick) title() string {
	if one.Value.Step == "" {
		if said := one.prompt(); said != "" {
			return strings.TrimSpace(one.Value.Event.name() + " " + said)
		}
		var fields []string
		for m, err := range jsontape.Members(one.Value.Event.Value) {
			if err != nil || m.Key == nil { // it is no object
				break
			}
			value := string(m.Value)
			if m.Value[0] == '"' {
				value = jsontape.Unquote(m.Value)
			}
			fields = append(fields, jsontape.Unquote(m.Key)+": "+value)
		}
		said := conversation.Cut(conversation.OneLine(strings.Join(fields, ", ")), conversation.MaxTitle)
		return strings.TrimSpace(one.Value.Event.name() + " " + said)
	}
	var made []string
	for _, r := range one.Value.Result {
		made = append(made, r.Result.name())
	}
	return strings.TrimSuffix(conversation.OneLine(one.Value.Step)+" → "+conversation.List(made, strings.Clone), " → ")
}

// readLists describes the states of a run.
func readLists(ctx context.Context, t rows.Tx, at rows.Place) (*rows.Lists, error) {
	list, err := rows.Keep(t, at.ID, func() (tickList, error) { return readAll(ctx, t, at) })
	if err != nil {
		return nil, err
	}
	end, err := stateEnd(ctx, t, at)
	return &rows.Lists{
		Begin: `{"ticks":[`, End: func(int) string { return end }, Gaps: gaps, Len: len(list),
		ID:     func(i int) string { return list[i].id },
		Before: func(i int) int { return i - 1 },
		Item:   func(i int) []byte { return list[i].data },
	}, err
}

// stateEnd returns the part of a run's states behind the ticks: it is the same in each state.
func stateEnd(ctx context.Context, t rows.Tx, at rows.Place) (string, error) {
	now, err := currentState(ctx, t, at)
	if err != nil {
		return "", err
	}
	events, err := events(ctx, t, at)
	return `],"state":` + string(now) + string(events) + "}", err
}

func (format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	list, err := readLists(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return list.State(id)
}

// Weave implements rows.Weaver.
func (format) Weave(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom) error {
	list, err := readLists(ctx, t, at)
	if err != nil {
		return err
	}
	list.Weave(ids, to)
	return nil
}

// gaps are the gaps of each state.
var gaps = model.Gaps{Keys: []string{"state", "events"}, Why: model.GapKeptOnce}

// tickList are the ticks of a run in their order.
type tickList []tick

// Find returns the index of an id, or -1.
func (l tickList) Find(id string) int {
	return slices.IndexFunc(l, func(one tick) bool { return one.id == id })
}

// findTicks returns the ticks of a run up to one.
func findTicks(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]tick, error) {
	list, i, err := rows.Find(t, at, id, func() (tickList, error) { return readAll(ctx, t, at) })
	return list[:i+1], err
}

func readAll(ctx context.Context, t rows.Tx, at rows.Place) (tickList, error) {
	list, _, err := loadTicks(ctx, t, at, "")
	return list, err
}

// currentState returns the state of a run as of now, by its namespaces.
func currentState(ctx context.Context, t rows.Tx, at rows.Place) ([]byte, error) {
	has, err := t.Columns(ctx, "workflow_state")
	if err != nil {
		return nil, err
	}
	namespace := "''" // a column that older files do not have
	if has["namespace"] {
		namespace = "namespace"
	}
	state := []byte{'{'}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var name string
		var value []byte
		err := scan(&name, &value)
		if len(state) > 1 {
			state = append(state, ',')
		}
		state = append(append(jsontape.AppendQuoted(state, name), ':'), decodeValues(value)...)
		return err
	}, "SELECT "+namespace+", state_json FROM workflow_state WHERE run_id = ? ORDER BY 1", at.Key...)
	return append(state, '}'), err
}

// decodeValues returns a state with its values decoded: each is JSON in a string. A state that is
// no JSON is a string.
func decodeValues(stored []byte) []byte {
	if !rows.PythonReads(stored) {
		return jsontape.AppendQuoted(nil, string(stored))
	}
	data := jsontape.FindMember(stored, `"_data"`)
	if !bytes.HasPrefix(data, []byte("{")) {
		return stored
	}
	all := []byte{'{'}
	for m := range jsontape.Members(data) {
		if len(all) > 1 {
			all = append(all, ',')
		}
		value := m.Value
		if inner := []byte(jsontape.Unquote(value)); bytes.HasPrefix(value, []byte(`"`)) && rows.PythonReads(inner) {
			value = inner
		}
		all = append(append(append(all, m.Key...), ':'), value...)
	}
	return append(all, '}')
}

func (format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	list, err := findTicks(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	run, err := handlerOf(ctx, t, at)
	about.Facts.Add("workflow", run.workflow)
	about.Facts.Add("status", run.status)
	about.Facts.Add("idle since", run.idle)
	about.Facts.Add("failed", run.failure)
	about.Facts.Add("event", list[len(list)-1].Value.Event.Class)
	about.Gaps = gaps
	if err != nil || !run.isWaiting() {
		return about, err
	}
	var newest string
	if err = t.Row(ctx, "SELECT CAST(id AS TEXT) FROM ticks WHERE run_id = ? ORDER BY sequence DESC, id DESC LIMIT 1", at.Key...).Scan(&newest); err == nil && newest == id {
		about.Resume = []model.Resume{{Call: "await client.send_event(" + string(jsontape.AppendQuoted(nil, run.id)) + ", …)", Then: "sends the event that the run waits for, and the server goes on; client is a WorkflowClient"}}
	}
	return about, err
}
