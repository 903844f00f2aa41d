// Package langgraph reads the checkpoints that LangGraph keeps in SQLite (SqliteSaver,
// AsyncSqliteSaver) and in PostgreSQL (PostgresSaver), for Python and for JavaScript.
//
//	LangGraph                               Hindcast
//	thread_id                               session
//	thread_id and checkpoint_ns             session "THREAD/NAMESPACE": a subgraph has checkpoints of its own
//	checkpoint_id, parent_checkpoint_id     id and parent of a snapshot
//	the greatest checkpoint_id              head
//	channel_values, without the plumbing    state
//	writes on the parent                    what the step did: event, title, tokens
//	writes on the checkpoint itself         what its tasks did so far: an error, a question
//
// A write hangs on the checkpoint that its task started from. Nothing that a checkpoint
// names is imported or called: values are decoded as data, pickles too, and encrypted ones
// are shown as the bytes that they are.
package langgraph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/rows"
)

var kind = rows.Kind{
	Name: "langgraph", Framework: "LangGraph",
	IDs:  "the checkpoint's, made of its time and its step",
	Does: []model.Op{model.OpRestore, model.OpFork},
	Tables: map[string]string{
		"checkpoints": "thread_id checkpoint_ns checkpoint_id parent_checkpoint_id type checkpoint metadata",
		"writes":      "thread_id checkpoint_ns checkpoint_id task_id idx channel type value",
	},
	Snapshots: "checkpoints",
	Key:       []string{"thread_id", "checkpoint_ns"},
	ID:        "checkpoint_id",
}

// Kind describes the langgraph store.
func Kind() store.Kind {
	k := kind
	k.Format = format{inSQLite{}}
	return k.Kind()
}

// Served describes the langgraph store in a database on a server. data is the user's folder for data.
func Served(data string) *rows.Served {
	k := kind
	k.Tables = map[string]string{
		"checkpoints":       "thread_id checkpoint_ns checkpoint_id parent_checkpoint_id checkpoint metadata",
		"checkpoint_blobs":  "thread_id checkpoint_ns channel version type blob",
		"checkpoint_writes": "thread_id checkpoint_ns checkpoint_id task_id idx channel type blob",
	}
	k.Format = lister{format{inPostgres{}}}
	return k.Served(data)
}

// format implements rows.Format.
type format struct{ layout layout }

// layout is how the tables hold what LangGraph writes.
type layout interface {
	// list adds the steps that started from the parent of a checkpoint and from those behind it, and then
	// runs row on each of these.
	list(ctx context.Context, t rows.Tx, at rows.Place, from string, steps steps, row func(listed)) error
	// read reads a checkpoint, and the step that started from it, and the one that it started from where
	// that is wanted. The error is model.ErrNoSnapshot where there is none.
	read(ctx context.Context, t rows.Tx, at rows.Place, id string) (checkpoint, step, error)
	// on returns the step that started from a checkpoint.
	on(ctx context.Context, t rows.Tx, at rows.Place, id string) (step, error)
	// written runs add on each value that tasks wrote to a channel from a checkpoint, in their order.
	written(ctx context.Context, t rows.Tx, at rows.Place, id, channel string, add func(encoding string, value []byte)) error
	// ancestor returns the parent of a checkpoint, and the values that it has of some channels, as JSON.
	ancestor(ctx context.Context, t rows.Tx, at rows.Place, id string, channels []string) (parent string, values map[string][]byte, found bool, err error)
	// renamed returns a row of a checkpoint with another id, or why it can have none.
	renamed(row rows.Row, id string) (other rows.Row, refused string)
	// writes returns the table of what tasks wrote, and the end of a query for the order in which they did.
	writes() (table, inOrder string)
	// behind returns the steps that copy what the checkpoints of a thread refer to into another one.
	behind(ctx context.Context, t rows.Tx, thread any, as string, copied []string) ([]rows.Step, error)
	// mentions is the condition that a checkpoint is named beside one, as the third argument.
	mentions() string
}

// listed is a checkpoint of a list.
type listed struct {
	id, parent, encoding string
	beside, whole        []byte
	// updated are the channels that the step before wrote, as JSON, where the layout tells.
	updated []byte
	size    int64
}

const ofSession = " WHERE thread_id = ? AND checkpoint_ns = ?"

// metadata stands beside a checkpoint in plain JSON, also where that is encrypted.
type metadata struct {
	origin
	Parents map[string]string          `json:"parents"`
	Deltas  map[string]json.RawMessage `json:"counters_since_delta_snapshot"`
}

// origin is the part of it that a list needs.
type origin struct {
	Source string `json:"source"`
	Step   int    `json:"step"`
}

// originOf reads the origin alone: of 100,000 checkpoints encoding/json takes a fifth of the time of
// their list for it. It reports false where the metadata is damaged.
func originOf(beside []byte) (o origin, whole bool) {
	text, err := jsontape.Standard(beside)
	if text = bytes.TrimSpace(text); err != nil || text[0] != '{' && string(text) != "null" {
		return o, false
	}
	for m := range jsontape.Members(text) {
		switch string(m.Key) {
		case `"source"`:
			o.Source = jsontape.Unquote(m.Value)
		case `"step"`:
			o.Step, err = strconv.Atoi(string(m.Value))
		}
	}
	return o, err == nil
}

// unmarshal reads what stands beside a checkpoint, as Python writes it.
func unmarshal(beside []byte, about *metadata) error {
	text, err := jsontape.Standard(beside)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, about)
}

func (f format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	steps, numbers := steps{}, map[string]int{}
	log.Head.Newest = true
	err = f.layout.list(ctx, t, at, from, steps, func(c listed) {
		h := model.Header{ID: c.id, ParentID: c.parent, Event: model.SnapshotEventNamed}
		about, whole := originOf(c.beside)
		if !whole {
			h.Marks |= model.MarkDamaged
		}
		log.Opaque = cmp.Or(log.Opaque, opaque(c.encoding))
		h.CreatedAt, h.Index = model.TimeOfUUID(h.ID), max(about.Step+1, 0)
		numbers[h.ID] = about.Step
		own := steps.of(h.ID)
		switch ran, kept := steps[h.ParentID]; {
		case about.Source == "input":
			h.TurnIndex, h.EventName = 1, "user input"
			said, _ := own.said.Title()
			h.Title = cmp.Or(said, conversation.List(own.channels, conversation.OneLine))
		case about.Source != "loop" && about.Source != "":
			h.EventName = about.Source
		case about.Step < inputStep: // writes hang on it of a run that kept its end alone
			h.TurnIndex, h.EventName = 1, "before the run"
		case !kept: // only the end of a run was kept
			h.TurnIndex, h.Event = 1, model.SnapshotEventTurnEnd
			state, _ := decode(c.encoding, c.whole) // damage is told with the state
			h.Title, _ = conversation.Title(jsontape.FindMember(state, `"channel_values"`), conversation.LastMessage)
			h.Title = cmp.Or(h.Title, conversation.List(channels(c.updated), conversation.OneLine))
		default:
			ran.describe(&h)
			// Where steps between were not kept, a whole run was, and its writes hang on the end of the one before.
			if before, known := numbers[h.ParentID]; known && about.Step > before+1 && len(ran.questions) == 0 {
				h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
				if before >= inputStep {
					h.TurnIndex = 1
				}
			}
		}
		ran, begun := steps[h.ParentID], steps[h.ID] != nil
		if len(own.asked()) > 0 || about.Source != "input" && ran != nil && !begun && ran.calls(about.Source) {
			h.Marks |= model.MarkInterrupted
		}
		if own.failed != nil {
			h.Marks |= model.MarkError
		}
		log.Title = cmp.Or(log.Title, own.said.Opening())
		if log.Headers, log.Size = append(log.Headers, h), log.Size+c.size; len(log.Headers) == 1 {
			log.First = c.size
		}
	})
	return log, err
}

// inputStep is the step of the first input of a thread. A checkpoint with a lesser one is empty.
const inputStep = -1

// channels returns the names of a list, without the plumbing.
func channels(list []byte) (names []string) {
	_ = json.Unmarshal(list, &names) // an older LangGraph has none
	return slices.DeleteFunc(names, func(name string) bool { return isPlumbing(name) || strings.HasPrefix(name, "__") })
}

// plumbing fits channels that only say which node runs next: "branch:to:NODE",
// "start:NODE", and "join:A+B:NODE", which waits for both.
var plumbing = regexp.MustCompile(`(?s)^(?:branch:|start:|join:(.+):)(?:.*:)?([^:]+)$`)

func isPlumbing(channel string) bool { return plumbing.MatchString(channel) }

// ofNode reports whether a channel is that of a node which has run: before version 3 of the
// checkpoint LangGraph writes there the name of the node, which is that of the channel. Later such
// a value is one of the program's.
func ofNode(channel string, value []byte) bool { return string(value) == quoted(channel) }

// version returns the version of a checkpoint's format, 0 where it tells none.
func (c *checkpoint) version() float64 {
	v, _ := strconv.ParseFloat(string(jsontape.FindMember(c.document, `"v"`)), 64)
	return v
}

// Channels of LangGraph's own. The node that takes the input has the name of the first; in the last
// a node that failed is named for what handles its error.
const inputChannel, sendsChannel, failedNode = "__start__", "__pregel_tasks", "__error_source_node__"

// messages is the channel of MessagesState, whose reducer makes messages of short forms.
const messages = "messages"

// step is what the tasks wrote that started from one checkpoint.
type step struct {
	nodes, channels []string
	questions       []question
	failed          []string // the errors of tasks
	said            conversation.Written
	// goesOn says that another node runs next.
	goesOn bool
}

// question is what a task asked last. It waits until the task writes what it did.
type question struct{ task, json string }

// asked returns the questions that wait, as JSON, each once: a function asks what a task asks that
// it calls.
func (s *step) asked() (list []string) {
	for _, q := range s.questions {
		list = appendNew(list, q.json)
	}
	return list
}

// calls reports whether the step ended with calls of tools that run next. An update hangs its writes where those of
// another step may hang already: then it is not known which were last.
func (s *step) calls(source string) bool {
	return s.goesOn && (source != "update" || len(s.nodes) == 0) && s.said.Calls()
}

// steps are the steps that started from checkpoints, by the ids of these.
type steps map[string]*step

// of returns the step that started from a checkpoint, one without writes where none did.
func (s steps) of(id string) *step {
	if own := s[id]; own != nil {
		return own
	}
	return &step{}
}

// from returns the step that started from a checkpoint, to add writes to.
func (s steps) from(id string) *step {
	own := s.of(id)
	s[id] = own
	return own
}

// add adds a write. They come task by task, those with a negative index first, which
// are no values of channels.
func (s *step) add(task, path string, index int, channel string, value []byte) {
	if pulled, ok := strings.CutPrefix(path, "~__pregel_pull, "); ok {
		node, _, _ := strings.Cut(pulled, ", ")
		s.nodes = appendNew(s.nodes, node)
	}
	if index >= 0 && channel != failedNode { // what it asked was answered
		s.questions = slices.DeleteFunc(s.questions, func(q question) bool { return q.task == task })
	}
	switch {
	case index == -1:
		s.failed = appendNew(s.failed, conversation.OneLine(jsontape.Unquote(value)))
	case index == -3:
		list := []json.RawMessage{value}
		switch {
		case value == nil: // it is damaged
			list[0] = []byte("null")
		case value[0] == '[':
			list = elements(value)
		}
		for _, one := range list {
			s.questions = append(s.questions, question{task, string(one)})
		}
	case index < 0: // it is scheduled, it was resumed
	case isPlumbing(channel) || path == "" && ofNode(channel, value) || channel == sendsChannel:
		s.goesOn = true
		if path == "" && bytes.HasPrefix(value, []byte(`"`)) { // without a path it may name the node
			s.nodes = appendNew(s.nodes, jsontape.Unquote(value))
		}
	case !strings.HasPrefix(channel, "__"):
		s.channels = appendNew(s.channels, channel)
		if channel == messages {
			s.said.AddMessages(value)
		} else {
			s.said.Add(value)
		}
	}
}

// appendNew appends a name unless it is there, or empty.
func appendNew(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// describe puts event and title into the header of the snapshot that the step led to.
func (s *step) describe(h *model.Header) {
	said, failed := s.said.Title()
	if failed {
		h.Marks |= model.MarkError
	}
	ran := conversation.List(s.nodes, conversation.OneLine)
	if ran == inputChannel {
		said = "" // the snapshot before says it
	}
	h.Title = cmp.Or(said, conversation.List(s.channels, conversation.OneLine), ran)
	if h.EventName = cmp.Or(strings.Trim(ran, "_"), "step"); !s.goesOn {
		h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
	}
}

// checkpoint is a row of the table.
type checkpoint struct {
	parent, encoding string
	about            metadata
	document         []byte
}

// State returns the channels that are not plumbing, and what is asked; all of a row
// that is no checkpoint, such as one that is encrypted.
func (f format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	c, own, err := f.layout.read(ctx, t, at, id)
	values := jsontape.FindMember(c.document, `"channel_values"`)
	if err != nil || values == nil {
		return c.document, err
	}
	var members []string
	older := c.version() < 3
	for m := range jsontape.Members(values) {
		if channel := jsontape.Unquote(m.Key); !isPlumbing(channel) && !(older && ofNode(channel, m.Value)) && !(channel == sendsChannel && string(m.Value) == "[]") {
			members = append(members, string(m.Key)+":"+string(plain(m.Value)))
		}
	}
	put, _, err := f.deltas(ctx, t, at, id, &c)
	if err != nil {
		return nil, err
	}
	for _, channel := range slices.Sorted(maps.Keys(put)) {
		members = append(members, quoted(channel)+":"+string(put[channel]))
	}
	if len(own.asked()) > 0 {
		members = append(members, `"__interrupt__":[`+strings.Join(own.asked(), ",")+"]")
	}
	return []byte("{" + strings.Join(members, ",") + "}"), nil
}

func (f format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	c, own, err := f.layout.read(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	var ran step
	if c.about.Source == "loop" {
		ran, err = f.layout.on(ctx, t, at, c.parent)
	}
	nodes, javaScript := c.next(own.nodes)
	next := conversation.List(nodes, conversation.OneLine)
	about.Facts.Add("source", c.about.Source)
	about.Facts.Add("step", strconv.Itoa(c.about.Step))
	about.Facts.Add("ran", conversation.List(ran.nodes, conversation.OneLine))
	about.Facts.Add("next", cmp.Or(next, "nothing"))
	about.Facts.Add("asks", strings.Join(own.asked(), ", "))
	about.Facts.Add("failed", strings.Join(own.failed, ", "))
	about.Facts.Add("called by", c.about.Parents[""])
	about.Facts.Add("encoding", c.encoding)
	about.Facts.AddFact(model.TokensFact("tokens", "tokens", ran.said.Tokens()))
	if err != nil {
		return about, err
	}
	put, lost, err := f.deltas(ctx, t, at, id, &c)
	if about.Facts.Add("put together", conversation.List(slices.Sorted(maps.Keys(put)), conversation.OneLine)); len(lost) > 0 {
		about.Gaps.Keys, about.Gaps.Why = lost, model.GapDelta
	}
	about.Resume = resume(at, id, next, javaScript, len(own.asked()) > 0)
	return about, err
}

// next returns the nodes that run next, those of channels whose value they have not
// seen, and whether JavaScript wrote the checkpoint. ran are those that ran from it since.
func (c *checkpoint) next(ran []string) (nodes []string, javaScript bool) {
	var document struct {
		Values   map[string]json.RawMessage            `json:"channel_values"`
		Versions map[string]json.RawMessage            `json:"channel_versions"`
		Seen     map[string]map[string]json.RawMessage `json:"versions_seen"`
		Sends    []json.RawMessage                     `json:"pending_sends"`
	}
	_ = json.Unmarshal(c.document, &document) // of what is not of that shape nothing is known
	version := c.version()
	var sent []string
	if version < 4 {
		sent = sentTo(document.Sends)
	}
	for _, version := range document.Versions {
		javaScript = javaScript || version[0] != '"' && c.encoding != "msgpack" // Python's are strings
	}
	for channel, value := range document.Values {
		at, node := document.Versions[channel], inputChannel
		switch parts := plumbing.FindStringSubmatch(channel); {
		case at == nil:
			continue
		case parts != nil:
			of, waits := deferred(value)
			if node = parts[2]; waits || parts[1] != "" && len(elements(of)) <= strings.Count(parts[1], "+") {
				continue
			}
		case channel == sendsChannel:
			sent = append(sent, sentTo(elements(value))...)
			continue
		case version < 3 && ofNode(channel, value):
			nodes = append(nodes, "what follows "+channel)
			continue
		case channel != inputChannel:
			continue
		}
		if string(at) != string(document.Seen[node][channel]) {
			nodes = appendNew(nodes, node)
		}
	}
	if nodes = append(nodes, sent...); slices.Equal(nodes, []string{inputChannel}) && len(ran) > 0 {
		return ran, javaScript // a function may take the input
	}
	slices.Sort(nodes)
	return nodes, javaScript
}

// deferred returns what the channel of a node holds, and whether the node waits for the end of the
// run: a node that is deferred has [VALUE, whether the end has come].
func deferred(value []byte) (of []byte, waits bool) {
	if pair := elements(value); len(pair) == 2 && (string(pair[1]) == "true" || string(pair[1]) == "false") {
		return pair[0], string(pair[1]) == "false"
	}
	return value, false
}

// sentTo returns the nodes to which something is sent: of Python {"value":[NODE,…]}, of an older
// one {"kwargs":{"node":NODE}}, of JavaScript {"node":NODE}.
func sentTo(sends []json.RawMessage) (nodes []string) {
	for _, send := range sends {
		if members := jsontape.FindMember(send, `"kwargs"`); members != nil {
			send = members
		}
		nodes = append(nodes, jsontape.Unquote(append(elements(send), jsontape.FindMember(send, `"node"`))[0]))
	}
	return nodes
}

// elements returns those of a list, or of the list in a value of Python's.
func elements(list []byte) (of []json.RawMessage) {
	if inner := jsontape.FindMember(list, `"value"`); inner != nil {
		list = inner
	}
	_ = json.Unmarshal(list, &of) // the state shows what is none
	return of
}

// resume returns the calls that go on from a checkpoint, which each of them names, or from
// the newest, where the id is "".
func resume(at rows.Place, id, next string, javaScript, asks bool) []model.Resume {
	graph, none, answer := "graph.invoke", "None", "Command(resume=…)"
	if javaScript {
		graph, none, answer = "await graph.invoke", "null", "new Command({resume: …})"
	}
	names := `"thread_id": ` + quoted(at.Key[0].(string))
	if id != "" {
		names += `, "checkpoint_id": ` + quoted(id)
	}
	if namespace := at.Key[1].(string); namespace != "" {
		names += `, "checkpoint_ns": ` + quoted(namespace)
	}
	call := func(input, then string) model.Resume {
		return model.Resume{Call: fmt.Sprintf(`%s(%s, {"configurable": {%s}})`, graph, input, names), Then: then}
	}
	runs := "runs " + next + " from here"
	if next == "" {
		return []model.Resume{call("{…}", "takes your input as the next turn")}
	}
	if asks {
		return []model.Resume{call(answer, "answers what is asked, and "+runs), call(none, runs+", which asks again")}
	}
	return []model.Resume{call(none, runs)}
}
