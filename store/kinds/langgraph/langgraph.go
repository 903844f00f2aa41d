// Package langgraph reads the checkpoints that LangGraph keeps in SQLite (SqliteSaver,
// AsyncSqliteSaver), in PostgreSQL (PostgresSaver), for Python and for JavaScript, and in the files of
// `langgraph dev`, see inFiles.
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
	"sync"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

var kind = rows.Kind{
	Name: "langgraph", Framework: "LangGraph",
	IDs:  "the checkpoint's, made of its time and its step",
	Does: []model.Op{model.OpRestore, model.OpFork, model.OpRepair},
	Tables: map[string]string{
		"checkpoints": "thread_id checkpoint_ns checkpoint_id parent_checkpoint_id type checkpoint metadata",
		"writes":      "thread_id checkpoint_ns checkpoint_id task_id idx channel type value",
	},
	Held: []engine.RowSet{
		{Table: "checkpoint_migrations", Where: "1", Shared: true},
		{Table: "checkpoints", Where: "thread_id = ?1 AND checkpoint_ns = ?2"}, {Table: "writes", Where: "thread_id = ?1 AND checkpoint_ns = ?2"},
		{Table: "dcode_thread_workspaces", Where: "thread_id = ?1 AND ?2 = ''"}, {Table: "dcode_workspace_snapshots", Where: "thread_id = ?1 AND ?2 = ''"},
		{Table: "dcode_thread_names", Where: "thread_id = ?1 AND ?2 = ''"},
	},
	Large:     []string{"checkpoint", "metadata", "value"},
	Snapshots: "checkpoints",
	Key:       []string{"thread_id", "checkpoint_ns"},
	ID:        "checkpoint_id",
	Places:    func(around store.Surroundings) []string { return chat.Upward(around, ".langgraph_api") },
}

// Kind describes the checkpoints of LangGraph in a SQLite file that no program of [DeepAgents] keeps, and in a database on a server. data is the user's
// folder for data.
func Kind(cache *files.Cache, data string) engine.Kind {
	k, on, in := kind, kind, kind
	k.Format, k.Cache, k.Mark = inFile{format{layout: inSQLite{}}}, cache, "SELECT NOT ("+deepAgents.mark+")"
	in.Format, in.Cache, in.Made = inFile{format{layout: inFiles{}}}, cache, &folder
	in.Does = nil
	in.Lacks = "langgraph dev has its threads in memory and writes its files whole: the Resume tab has the call of its API"
	k.Folder = &in
	k.Does = append(slices.Clone(kind.Does), model.OpConvert)
	k.Make = makeSaver
	on.Tables = map[string]string{
		"checkpoints":       "thread_id checkpoint_ns checkpoint_id parent_checkpoint_id checkpoint metadata",
		"checkpoint_blobs":  "thread_id checkpoint_ns channel version type blob",
		"checkpoint_writes": "thread_id checkpoint_ns checkpoint_id task_id idx channel type blob",
	}
	on.Format = lister{format{layout: inPostgres{}}}
	return k.Kind(&on, data)
}

// format implements rows.Format.
type format struct {
	layout layout
	// program keeps the threads; nil stands for one of the user's own.
	program *program
}

// layout is how the tables hold what LangGraph writes.
type layout interface {
	// listCheckpoints adds the steps that started from the parent of a checkpoint's parent, from the parent, and from the
	// checkpoint and those behind it. Then it runs row on the parent, and on these.
	listCheckpoints(ctx context.Context, t rows.Tx, at rows.Place, from string, steps *steps, row func(listed)) error
	// readCheckpoint reads a checkpoint and the step that started from it. The error is model.ErrNoSnapshot if the checkpoint does not exist.
	readCheckpoint(ctx context.Context, t rows.Tx, at rows.Place, id string) (checkpoint, step, error)
	// eachStored runs row on the checkpoints with some ids, and maybe on others, without reading what was written on
	// them. Values that several of them have may be woven already.
	eachStored(ctx context.Context, t rows.Tx, at rows.Place, ids []string, to store.Loom, row func(*storedCheckpoint)) error
	// readStep returns the step that started from a checkpoint.
	readStep(ctx context.Context, t rows.Tx, at rows.Place, id string) (step, error)
	// eachWrite runs add on each value that tasks wrote to a channel from a checkpoint, in their order.
	eachWrite(ctx context.Context, t rows.Tx, at rows.Place, id, channel string, add func(task, encoding string, value []byte)) error
	// findAncestor returns the parent of a checkpoint, and the values that it has of some channels, as JSON.
	findAncestor(ctx context.Context, t rows.Tx, at rows.Place, id string, channels []string) (parent string, values map[string][]byte, found bool, err error)
	// withCheckpointID returns a row of a checkpoint with another id, or why it can have none.
	withCheckpointID(row rows.Row, id string) (other rows.Row, refused string)
	// withValue returns a checkpoint's row with another value of a channel, which edit computes from the
	// present one. It also returns the steps for related rows, or the reason why the value cannot be set.
	withValue(ctx context.Context, t rows.Tx, row rows.Row, channel string, edit func(encoding string, value []byte) ([]byte, error)) (other rows.Row, more []rows.Step, refused string, err error)
	// writesTable returns the table of the tasks' writes, and the ORDER BY clause for the order in which they were
	// made.
	writesTable() (table, inOrder string)
	// copyBlobs returns the steps that copy what the checkpoints of a thread refer to into another one.
	copyBlobs(ctx context.Context, t rows.Tx, thread any, as string, copied []string) ([]rows.Step, error)
	// mentionsCondition is the condition that a checkpoint is named beside one, as the third argument.
	mentionsCondition() string
}

// listed is a checkpoint of a list.
type listed struct {
	id, parent, encoding string
	beside, whole        []byte
	// updated are the channels that the step before wrote, as JSON, where the layout tells. versions are those of all
	// channels of an update.
	updated, versions []byte
	size              int64
}

const ofSession = " WHERE thread_id = ? AND checkpoint_ns = ?"

// metadata stands beside a checkpoint in plain JSON, also where that is encrypted.
type metadata struct {
	origin
	Parents map[string]string          `json:"parents"`
	Graph   string                     `json:"graph_id"`
	Deltas  map[string]json.RawMessage `json:"counters_since_delta_snapshot"`
}

// origin is the part of it that a list needs.
type origin struct {
	Source string `json:"source"`
	Step   int    `json:"step"`
}

// unmarshalBeside reads what stands beside a checkpoint, as Python writes it.
func unmarshalBeside(beside []byte, about any) error {
	text, err := jsontape.Standard(beside)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, about)
}

func (f format) Log(ctx context.Context, t rows.Tx, at rows.Place, from string) (log rows.Log, err error) {
	steps, numbers, inputs := newSteps(), map[string]int{}, map[string]bool{}
	ends := map[string]int{} // of turns, in the list
	log.Facts.Newest = true
	err = f.layout.listCheckpoints(ctx, t, at, from, steps, func(c listed) {
		steps.endLast()
		h := model.Header{ID: c.id, ParentID: c.parent, Event: model.SnapshotEventNamed}
		var about origin
		if unmarshalBeside(c.beside, &about) != nil {
			h.Marks |= model.MarkDamaged
		}
		log.Opaque = cmp.Or(log.Opaque, opaqueEncoding(c.encoding))
		h.CreatedAt, h.Index = model.TimeOfUUID(h.ID), max(about.Step+1, 0)
		numbers[h.ID], inputs[h.ID] = about.Step, about.Source == "input"
		if h.ID < from {
			return
		}
		own := steps.findStep(h.ID)
		switch ran, kept := steps.byID[h.ParentID]; {
		case about.Source == "input":
			h.TurnIndex, h.EventName = 1, "user input"
			h.Title = cmp.Or(own.title(), c.inputTitle())
		case about.Source != "loop" && about.Source != "":
			h.EventName = about.Source
			if about.Source == "fork" { // it is a copy of what the step before led to, or of an input
				before := steps.findStep(h.ParentID)
				by := before
				if len(by.channels) == 0 {
					by = own
				}
				h.Title = cmp.Or(by.title(), conversation.List(before.nodes, conversation.OneLine))
			}
			if about.Source == "update" {
				h.Title = c.updateTitle()
			}
		case about.Step < inputStep: // writes hang on it of a run that kept its end alone
			h.TurnIndex, h.EventName = 1, "before the run"
		case !kept: // only the end of a run was kept
			h.TurnIndex, h.Event = 1, model.SnapshotEventTurnEnd
			state, _ := decodeValue(c.encoding, c.whole) // damage is told with the state
			h.Title, _ = conversation.Title(jsontape.FindMember(state, `"channel_values"`), conversation.LastMessage)
			h.Title = cmp.Or(h.Title, conversation.List(channelNames(c.updated), conversation.OneLine))
		default:
			ran.describeStep(&h, inputs[h.ParentID])
			// A node that waits for the end of a run goes on with it.
			if end, known := ends[h.ParentID]; known && about.Source == "loop" && about.Step == numbers[h.ParentID]+1 {
				before := &log.Rows[end]
				before.Event, before.EventName = model.SnapshotEventNamed, steps.findStep(before.ParentID).eventName()
			}
			// Where steps between were not kept, a whole run was, and its writes hang on the end of the one before.
			if before, known := numbers[h.ParentID]; known && about.Step > before+1 && len(ran.questions) == 0 {
				h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
				if before >= inputStep {
					h.TurnIndex = 1
				}
			}
		}
		ran, begun := steps.byID[h.ParentID], steps.byID[h.ID] != nil
		if len(own.openQuestions()) > 0 || about.Source != "input" && ran != nil && !begun && ran.callsTools(about.Source) {
			h.Marks |= model.MarkInterrupted
		}
		if own.failed != nil {
			h.Marks |= model.MarkError
			h.Title = conversation.List(own.broken, func(why string) string { return conversation.Cut(why, conversation.MaxTitle) })
		}
		if h.Event == model.SnapshotEventTurnEnd {
			ends[h.ID] = len(log.Rows)
		}
		log.AddRow(h, c.size)
	})
	log.Title = steps.opening
	return log, err
}

// inputTitle tells the input of a function, which is in the checkpoint itself; "" where that was not read.
func (c *listed) inputTitle() string {
	state, _ := decodeValue(c.encoding, c.whole) // damage is told with the state
	input := jsontape.FindMember(jsontape.FindMember(state, `"channel_values"`), quoteJSON(inputChannel))
	return cmp.Or(conversation.Assignments(input), strings.TrimSpace(conversation.Assignment("", input)))
}

// updateTitle tells the channels that an update wrote, those of the newest version, and their values where the checkpoint
// was read.
func (c *listed) updateTitle() string {
	state, _ := decodeValue(c.encoding, c.whole) // damage is told with the state
	values, versions := jsontape.FindMember(state, `"channel_values"`), c.versions
	if versions == nil {
		versions = jsontape.FindMember(state, `"channel_versions"`)
	}
	newest, told := 0, []string(nil)
	for m, err := range jsontape.Members(versions) {
		name := jsontape.Unquote(m.Key)
		number, _, _ := strings.Cut(strings.Trim(string(m.Value), `"`), ".")
		version, odd := strconv.Atoi(number)
		if err != nil || odd != nil || version < newest {
			continue
		}
		if version > newest {
			newest, told = version, nil
		}
		switch value := jsontape.FindMember(values, string(m.Key)); {
		case isPlumbing(name) || strings.HasPrefix(name, "__"):
		case name == messages && value != nil:
			said, _ := conversation.Title(values, conversation.LastMessage)
			told = append(told, cmp.Or(said, name))
		default:
			told = append(told, conversation.Assignment(name, value))
		}
	}
	return conversation.List(told, strings.Clone)
}

// inputStep is the step of the first input of a thread. A checkpoint with a lesser one is empty.
const inputStep = -1

// channelNames returns the names of a list, without the plumbing.
func channelNames(list []byte) (names []string) {
	_ = json.Unmarshal(list, &names) // an older LangGraph has none
	return slices.DeleteFunc(names, func(name string) bool { return isPlumbing(name) || strings.HasPrefix(name, "__") })
}

// plumbing fits channels that only say which node runs next: "branch:to:NODE",
// "start:NODE", and "join:A+B:NODE", which waits for both.
var plumbing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^(?:branch:|start:|join:(.+):)(?:.*:)?([^:]+)$`) })

func isPlumbing(channel string) bool { return plumbing().MatchString(channel) }

// ofNode reports whether a channel is that of a node which has run: before version 3 of the
// checkpoint LangGraph writes there the name of the node, which is that of the channel. Later such
// a value is one of the program's.
func ofNode(channel string, value []byte) bool { return string(value) == quoteJSON(channel) }

// formatVersion returns the version of a checkpoint's format, 0 if it is not recorded.
func (c *checkpoint) formatVersion() float64 {
	v, _ := strconv.ParseFloat(string(jsontape.FindMember(c.document, `"v"`)), 64)
	return v
}

// LangGraph's own channels. The node that takes the input has the name of the first. In the last, a failed
// node names its error handler.
const inputChannel, sendsChannel, failedNode = "__start__", "__pregel_tasks", "__error_source_node__"

// Channels of a function: what it returned, and what it saved for its next call.
const endChannel, previousChannel = "__end__", "__previous__"

// messages is the channel of MessagesState, whose reducer makes messages of short forms.
const messages = "messages"

// step holds the writes of the tasks that started from one checkpoint.
type step struct {
	nodes, channels []string
	// values tell what was written to the channels, and next are the nodes that run behind the step.
	values, next []string
	// tasks are the tasks that wrote. input are the channels that an input wrote.
	tasks     []task
	input     []string
	questions []question
	// done are the questions that wait no more, and answers what was answered.
	done    []question
	answers []string
	failed  []string // the errors of tasks
	broken  []string // the same behind the names of their nodes
	// said has the messages. sum summarises them once the step has ended.
	said conversation.Written
	sum  conversation.Summary
	// goesOn says that another node runs next.
	goesOn bool
}

// question is the last question of a task. It waits until the task writes its result.
type question struct{ task, json string }

// openQuestions returns the questions that wait, as JSON, each once: a function asks what a task asks that
// it calls, and LangGraph takes the answer by the function's own. Tasks that were sent come first, as in LangGraph's list of tasks.
func (s *step) openQuestions() []string {
	isSent := func(q question) bool {
		return slices.ContainsFunc(s.tasks, func(t task) bool { return t.id == q.task && t.sent >= 0 })
	}
	list := slices.Clone(s.questions)
	isCalled := func(q question) bool {
		return slices.ContainsFunc(s.tasks, func(t task) bool { return t.id == q.task && t.called })
	}
	if slices.ContainsFunc(list, func(q question) bool { return !isCalled(q) }) {
		list = slices.DeleteFunc(list, isCalled)
	}
	slices.SortStableFunc(list, func(a, b question) int {
		switch {
		case isSent(a) == isSent(b):
			return 0
		case isSent(a):
			return -1
		}
		return 1
	})
	return questionTexts(list)
}

// questionTexts returns questions as JSON, each once.
func questionTexts(questions []question) (list []string) {
	for _, q := range questions {
		list = appendNew(list, q.json)
	}
	return list
}

// callsTools reports whether the step ended with calls of tools that run next. An update hangs its writes where those of
// another step may hang already: then it is not known which were last.
func (s *step) callsTools(source string) bool {
	return s.goesOn && (source != "update" || len(s.nodes) == 0) && s.sum.Calls
}

// steps are the steps that started from checkpoints, by the ids of these.
type steps struct {
	byID map[string]*step
	// calls are the calls of tools in the steps, by their ids.
	calls map[string]conversation.Act
	// last is the step that the last write is of, and opening has the first words of the user in the ones before.
	last    *step
	opening string
}

func newSteps() *steps { return &steps{byID: map[string]*step{}, calls: map[string]conversation.Act{}} }

// findStep returns the step that started from a checkpoint, one without writes where none did.
func (s *steps) findStep(id string) *step {
	if own := s.byID[id]; own != nil {
		return own
	}
	return &step{}
}

// addWrite adds a write. They come step by step.
func (s *steps) addWrite(id, task, path string, index int, channel string, value []byte) {
	own := s.findStep(id)
	if own != s.last {
		s.endLast()
		s.byID[id], s.last = own, own
	}
	own.addWrite(task, path, index, channel, value)
}

// endLast summarises the messages of the last step, and lets go of them.
func (s *steps) endLast() {
	if own := s.last; own != nil {
		if s.opening == "" {
			s.opening = own.said.Opening()
		}
		own.sum, own.said, s.last = own.said.Summary(s.calls), conversation.Written{}, nil
	}
}

// addWrite adds a write. They come task by task, those with a negative index first, which
// are no values of channels.
func (s *step) addWrite(task, path string, index int, channel string, value []byte) {
	if n := len(s.tasks); task != nullTask && (n == 0 || s.tasks[n-1].id != task) {
		s.tasks = append(s.tasks, taskOf(task, path))
	}
	if task != nullTask {
		last := &s.tasks[len(s.tasks)-1]
		s.nodes = appendNew(s.nodes, last.node)
		last.finished = last.finished || index >= 0 && channel != failedNode
	}
	if index >= 0 && channel != failedNode { // what it asked was answered
		s.questions = slices.DeleteFunc(s.questions, func(q question) bool {
			if q.task == task {
				s.done = append(s.done, q)
			}
			return q.task == task
		})
	}
	switch {
	case index == -1:
		why := conversation.OneLine(jsontape.Unquote(value))
		if s.failed = appendNew(s.failed, why); task != nullTask {
			why = conversation.OneLine(s.tasks[len(s.tasks)-1].node) + ": " + why
		}
		s.broken = appendNew(s.broken, why)
	case index == -3:
		list := []json.RawMessage{value}
		switch {
		case value == nil: // it is damaged
			list[0] = []byte("null")
		case value[0] == '[':
			list = listElements(value)
		}
		for _, one := range list {
			s.questions = append(s.questions, question{task, string(one)})
		}
	case index == -4:
		for _, one := range listElements(value) {
			s.answers = appendNew(s.answers, string(one))
		}
	case index < 0: // it is scheduled
	case isPlumbing(channel) || path == "" && ofNode(channel, value) || channel == sendsChannel:
		s.goesOn = true
		if branch := plumbing().FindStringSubmatch(channel); branch != nil {
			s.next = appendNew(s.next, branch[2])
		}
		if path == "" && bytes.HasPrefix(value, []byte(`"`)) { // without a path it may name the node
			s.nodes = appendNew(s.nodes, jsontape.Unquote(value))
		}
	case !strings.HasPrefix(channel, "__"):
		s.addValue(channel, value)
		if task == nullTask {
			s.input = appendNew(s.input, channel)
		}
		if channel == messages {
			s.said.AddMessages(value)
		} else {
			s.said.Add(value)
		}
	}
}

// addValue notes that a task wrote a value to a channel.
func (s *step) addValue(channel string, value []byte) {
	tells := conversation.Assignment(channel, value)
	i := slices.Index(s.channels, channel)
	if i < 0 {
		s.channels, s.values = append(s.channels, channel), append(s.values, tells)
	} else if len(s.values[i]) < conversation.MaxTitle {
		s.values[i] += strings.TrimPrefix(tells, conversation.OneLine(channel))
	}
}

// title returns the title of the messages that the step wrote, or else the values.
func (s *step) title() string {
	return cmp.Or(s.sum.Title, conversation.List(s.values, strings.Clone))
}

// appendNew appends a name unless it is there, or empty.
func appendNew(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// describeStep puts event and title into the header of the snapshot that the step led to. takesInput says that the
// step took in an input, which the snapshot before tells.
func (s *step) describeStep(h *model.Header, takesInput bool) {
	if s.sum.Failed {
		h.Marks |= model.MarkError
	}
	ran := conversation.List(s.nodes, conversation.OneLine)
	h.Title = cmp.Or(s.title(), ran)
	if takesInput && ran == "" || ran == inputChannel {
		h.Title = ""
		if len(s.next) > 0 {
			h.Title = "next: " + conversation.List(s.next, conversation.OneLine)
		}
	}
	if h.EventName = s.eventName(); !s.goesOn {
		h.Event, h.EventName = model.SnapshotEventTurnEnd, ""
	}
}

// eventName returns the nodes that ran, "step" where nothing tells them.
func (s *step) eventName() string {
	return cmp.Or(strings.Trim(conversation.List(s.nodes, conversation.OneLine), "_"), "step")
}

// checkpoint is a row of the table.
type checkpoint struct {
	parent, encoding string
	about            metadata
	document         []byte
	// head says that it is the newest checkpoint of its session.
	head bool
	// graph is the name of the graph on a server that keeps the thread, "" where there is no server.
	graph string
}

// isHead is the column head.
const isHead = ` NOT EXISTS (SELECT 1 FROM checkpoints n WHERE n.thread_id = checkpoints.thread_id
	AND n.checkpoint_ns = checkpoints.checkpoint_ns AND n.checkpoint_id > checkpoints.checkpoint_id)`

// State returns the channels of the user, and the open questions. For a row that is no readable checkpoint,
// such as an encrypted one, it returns the whole row. At the head it returns the same values as get_state.
func (f format) State(ctx context.Context, t rows.Tx, at rows.Place, id string) ([]byte, error) {
	r, err := f.readRope(ctx, t, at, id)
	return r.State, err
}

// readRope returns the state of a checkpoint with its writes, and its gaps.
func (f format) readRope(ctx context.Context, t rows.Tx, at rows.Place, id string) (r store.Rope, err error) {
	c, own, err := f.layout.readCheckpoint(ctx, t, at, id)
	if err != nil || jsontape.FindMember(c.document, `"channel_values"`) == nil {
		return store.Rope{State: c.document}, err
	}
	s, err := f.readShown(ctx, t, at, id, &c, &own)
	if r.Gaps = s.channelGaps(); err == nil {
		r.State = s.buildState(&own)
	}
	return r, err
}

// buildState returns the state that a checkpoint shows, with the questions that its step asks.
func (s *shown) buildState(own *step) []byte {
	// The values of a function are the value that it returned.
	if returned := s.values[endChannel]; bytes.HasPrefix(returned, []byte("{")) {
		previous := s.values[previousChannel]
		whole := bytes.TrimSpace(returned[1 : len(returned)-1])
		s := shown{channelValues: channelValues{values: map[string][]byte{}}}
		if previous != nil && !bytes.Equal(previous, returned) {
			s.putValue(previousChannel, previous)
		}
		return s.buildObject(own.openQuestions(), whole)
	}
	return s.buildObject(own.openQuestions(), nil)
}

// channelGaps are the channels whose changes are not all there.
func (s *shown) channelGaps() (gaps model.Gaps) {
	if len(s.lost) > 0 {
		gaps.Keys, gaps.Why = s.lost, model.GapDelta
	}
	return gaps
}

// shown is the content of a checkpoint as Hindcast shows it.
type shown struct {
	channelValues
	// together are the channels whose values were put together of changes, lost those whose changes are not all there,
	// unsure those that may take the writes on the checkpoint in another way, and held those
	// that may hold back their value.
	together, lost, unsure, held []string
	// head says that it is the newest checkpoint, at which what has finished counts.
	head bool
}

// buildObject returns the values as an object, behind the members of another one, with the open questions.
func (s *shown) buildObject(asked []string, members []byte) []byte {
	var list []string
	if len(members) > 0 {
		list = append(list, string(members))
	}
	for _, channel := range s.names {
		list = append(list, quoteJSON(channel)+":"+string(s.values[channel]))
	}
	if len(asked) > 0 {
		list = append(list, `"__interrupt__":[`+strings.Join(asked, ",")+"]")
	}
	return []byte("{" + strings.Join(list, ",") + "}")
}

// readShown reads the values of a checkpoint, and the channels whose values are not certain.
func (f format) readShown(ctx context.Context, t rows.Tx, at rows.Place, id string, c *checkpoint, own *step) (s shown, err error) {
	s.values = map[string][]byte{}
	pairs := map[string]pair{}
	older := c.formatVersion() < 3
	for m := range jsontape.Members(jsontape.FindMember(c.document, `"channel_values"`)) {
		channel := jsontape.Unquote(m.Key)
		if isPlumbing(channel) || older && ofNode(channel, m.Value) || channel == sendsChannel && string(m.Value) == "[]" {
			continue
		}
		value := plainValue(m.Value)
		is, err := f.heldBack(ctx, t, at, c, channel, value)
		if err != nil {
			return s, err
		}
		if is == heldMaybe {
			s.held = append(s.held, channel)
		}
		if is == heldValue || is == heldBarrier {
			pairs[channel] = pair{is, value}
		}
		if value = is.shownOf(value); value != nil {
			s.putValue(channel, value)
		}
	}
	put, lost, err := f.readDeltas(ctx, t, at, id, c)
	if err != nil {
		return s, err
	}
	s.together, s.lost = slices.Sorted(maps.Keys(put)), lost
	for _, channel := range s.together {
		s.putValue(channel, put[channel])
	}
	finished, called := own.countFinished()
	s.head = c.head
	written := own.input
	if s.head {
		written = own.channels
	}
	stored := maps.Clone(s.values)
	if s.unsure, err = f.addWrites(ctx, t, at, id, c, &s.channelValues, written, !s.head); err == nil && s.head && finished > called {
		err = f.endStep(ctx, t, at, c, &s, stored, pairs)
	}
	for channel, p := range pairs {
		if slices.Contains(written, channel) && (!s.head || p.is == heldBarrier) {
			s.dropValue(channel) // it is held back anew
		}
	}
	return s, err
}

func (f format) About(ctx context.Context, t rows.Tx, at rows.Place, id string) (about rows.About, err error) {
	c, own, err := f.layout.readCheckpoint(ctx, t, at, id)
	if err != nil {
		return about, err
	}
	var ran step
	if c.about.Source == "loop" {
		ran, err = f.layout.readStep(ctx, t, at, c.parent)
	}
	if err != nil {
		return about, err
	}
	s, err := f.readShown(ctx, t, at, id, &c, &own)
	if err != nil {
		return about, err
	}
	next := c.readOnward(&own)
	about.Facts.Add("source", c.about.Source)
	about.Facts.Add("step", strconv.Itoa(c.about.Step))
	about.Facts.Add("ran", conversation.List(ran.nodes, conversation.OneLine))
	about.Facts.Add("next", orNothing(conversation.List(next.left, conversation.OneLine)))
	for _, q := range next.asks {
		about.Facts.Add("asks", q.String())
	}
	for _, one := range questionTexts(own.done) {
		about.Facts.Add("asked", askedOf(one).String())
	}
	for _, one := range own.answers {
		about.Facts.Add("answered", askedOf(one).text)
	}
	about.Facts.Add("failed", strings.Join(own.failed, ", "))
	about.Facts.Add("called by", c.about.Parents[""])
	about.Facts.Add("encoding", c.encoding)
	about.Facts.AddFact(model.TokensFact("tokens", "tokens", ran.said.Tokens()))
	about.Facts.Add("put together", conversation.List(s.together, conversation.OneLine))
	if s.head && next.finished > 0 {
		about.Facts.Add("so far", next.finishedTasks()+" wrote "+orNothing(conversation.List(own.channels, conversation.OneLine))+": get_state has it of the thread, not of the checkpoint_id")
	}
	if unsure := conversation.List(s.unsure, conversation.OneLine); unsure != "" {
		about.Facts.Add("not sure", unsure+": how it takes what was written since is known to the program alone")
	}
	if held := conversation.List(s.held, conversation.OneLine); held != "" {
		about.Facts.Add("not sure", held+": a channel that holds back its value until the end has [VALUE, whether that has come]; nothing tells whether this is one")
	}
	about.Gaps = s.channelGaps()
	about.Resume = next.resumeCalls(at, id)
	if f.program != nil {
		about.Resume = f.program.resumeCalls(at.Key[0].(string), next.resumeCalls(at, "")[0].Then, next.head)
	}
	return about, nil
}

// onward holds the tasks that can run on from a checkpoint.
type onward struct {
	// nodes are the nodes of all tasks of the step. left are the nodes of unfinished tasks, which run if no
	// checkpoint_id is named. At a checkpoint before the head, left has all nodes.
	nodes, left []string
	// finished counts the tasks that have finished, and called those of them that a function called.
	finished, called int
	asks             []asked
	javaScript, head bool
	graph            string // see checkpoint
}

// asked is a question that waits.
type asked struct{ id, text string }

// askedOf returns a question, or an answer, by its JSON.
func askedOf(one string) (q asked) {
	value := []byte(one)
	if of := jsontape.FindMember(value, `"value"`); of != nil {
		value = of
	}
	if q.text = string(value); value[0] == '"' {
		q.text = jsontape.Unquote(value)
	}
	if name := jsontape.FindMember([]byte(one), `"id"`); bytes.HasPrefix(name, []byte(`"`)) {
		q.id = jsontape.Unquote(name)
	}
	q.text = conversation.OneLine(q.text)
	return q
}

// String returns the question behind its id.
func (a asked) String() string {
	if a.id == "" {
		return a.text
	}
	return a.id + ": " + a.text
}

// readOnward returns the nodes, calls and questions that can go on from a checkpoint, from which the step own
// started.
func (c *checkpoint) readOnward(own *step) (o onward) {
	o.head, o.graph = c.head, c.graph
	pulled, sent, javaScript := c.nextNodes(own.nodes)
	o.nodes = slices.Sorted(slices.Values(slices.Concat(pulled, sent)))
	o.javaScript = javaScript
	for _, one := range own.openQuestions() {
		if q := askedOf(one); !slices.Contains(o.asks, q) {
			o.asks = append(o.asks, q)
		}
	}
	o.left = o.nodes
	o.finished, o.called = own.countFinished()
	if !o.head || o.finished == 0 {
		return o
	}
	var over []string
	for _, task := range own.tasks {
		switch {
		case !task.finished || task.called:
		case task.node != "":
			over = append(over, task.node)
		case task.sent >= 0 && task.sent < len(sent):
			over = append(over, sent[task.sent])
		}
	}
	o.left = slices.Clone(o.nodes)
	for _, node := range over {
		if i := slices.Index(o.left, node); i >= 0 {
			o.left = slices.Delete(o.left, i, i+1)
		}
	}
	return o
}

// finishedTasks says how many tasks have finished.
func (o *onward) finishedTasks() string {
	text := model.Count(o.finished, "task") + " that finished"
	if o.called > 0 && o.called == o.finished {
		text = model.Count(o.called, "task") + " that a function called and that finished"
	}
	return text
}

// nextNodes returns the nodes that run next: nodes with channels whose value they have not seen, and the nodes that
// were sent something, in order. javaScript reports whether JavaScript wrote the checkpoint. ran are the nodes
// that ran from the checkpoint since.
func (c *checkpoint) nextNodes(ran []string) (nodes, sent []string, javaScript bool) {
	var document struct {
		Values   map[string]json.RawMessage            `json:"channel_values"`
		Versions map[string]json.RawMessage            `json:"channel_versions"`
		Seen     map[string]map[string]json.RawMessage `json:"versions_seen"`
		Sends    []json.RawMessage                     `json:"pending_sends"`
	}
	_ = json.Unmarshal(c.document, &document) // of what is not of that shape nothing is known
	version := c.formatVersion()
	if version < 4 {
		sent = sentTo(document.Sends)
	}
	for _, version := range document.Versions {
		javaScript = javaScript || version[0] != '"' && c.encoding != "msgpack" // Python's are strings
	}
	for channel, value := range document.Values {
		at, node := document.Versions[channel], inputChannel
		switch parts := plumbing().FindStringSubmatch(channel); {
		case at == nil:
			continue
		case parts != nil:
			of, waits := deferredValue(value)
			if node = parts[2]; waits || parts[1] != "" && len(listElements(of)) <= strings.Count(parts[1], "+") {
				continue
			}
		case channel == sendsChannel:
			sent = append(sent, sentTo(listElements(value))...)
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
	if slices.Equal(nodes, []string{inputChannel}) && len(sent) == 0 {
		if len(ran) == 0 { // of a function that ran before, nodes have seen something
			for node := range document.Seen {
				if !strings.HasPrefix(node, "__") && document.Seen[node][inputChannel] != nil {
					ran = append(ran, node)
				}
			}
		}
		if len(ran) > 0 {
			nodes = ran // a function may take the input
		}
	}
	return nodes, sent, javaScript
}

// deferredValue returns the value in a node's channel, and whether the node waits for the end of the run. The
// channel of a deferred node holds [VALUE, whether the run has ended].
func deferredValue(value []byte) (of []byte, waits bool) {
	if pair := listElements(value); len(pair) == 2 && (string(pair[1]) == "true" || string(pair[1]) == "false") {
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
		nodes = append(nodes, jsontape.Unquote(append(listElements(send), jsontape.FindMember(send, `"node"`))[0]))
	}
	return nodes
}

// listElements returns the elements of a list, or of the list inside a Python value.
func listElements(list []byte) (of []json.RawMessage) {
	if inner := jsontape.FindMember(list, `"value"`); inner != nil {
		list = inner
	}
	_ = json.Unmarshal(list, &of) // the state shows what is none
	return of
}

// resumeCalls returns the calls that go on from a checkpoint, which each of them names, or from
// the newest, where the id is "".
func (o *onward) resumeCalls(at rows.Place, id string) []model.Resume {
	graph, none, command, mapped, input := "graph.invoke", "None", "Command(resume=%s)", "{%s}", "{…}"
	switch {
	case o.graph != "" && at.Key[1] != "":
		return nil // the API goes on with the thread alone
	case o.graph != "":
		none, command, input = "", `, command={"resume": %s}`, ", input={…}"
	case o.javaScript:
		graph, none, command = "await graph.invoke", "null", "new Command({resume: %s})"
	}
	names := `"thread_id": ` + quoteJSON(at.Key[0].(string))
	if id != "" {
		names += `, "checkpoint_id": ` + quoteJSON(id)
	}
	if namespace := at.Key[1].(string); namespace != "" {
		names += `, "checkpoint_ns": ` + quoteJSON(namespace)
	}
	call := func(input, then string) model.Resume {
		if o.graph != "" {
			return model.Resume{Call: o.callServer(at, id, input), Then: then}
		}
		return model.Resume{Call: fmt.Sprintf(`%s(%s, {"configurable": {%s}})`, graph, input, names), Then: then}
	}
	if len(o.nodes) == 0 {
		return []model.Resume{call(input, "takes your input as the next turn")}
	}
	// A checkpoint that is named by its id runs whole: what has finished runs again, unless an answer is given at the head.
	again := o.describeRun(id != "")
	if len(o.asks) == 0 {
		return []model.Resume{call(none, again)}
	}
	answer, then := "…", "answers what is asked, and "
	if len(o.asks) > 1 && !slices.ContainsFunc(o.asks, func(q asked) bool { return q.id == "" }) {
		var each, told []string
		for _, q := range o.asks {
			each, told = append(each, quoteJSON(q.id)+": …"), append(told, q.String())
		}
		answer = fmt.Sprintf(mapped, strings.Join(each, ", "))
		then = "answers " + strings.Join(told, "; ") + "; and "
	}
	return []model.Resume{call(fmt.Sprintf(command, answer), then+o.describeRun(id != "" && !o.head)), call(none, again+", which asks again")}
}

// describeRun names the nodes that a call runs: the whole step, or its unfinished part.
func (o *onward) describeRun(whole bool) string {
	nodes := o.left
	if whole {
		nodes = o.nodes
	}
	text := "runs " + conversation.List(nodes, conversation.OneLine) + " from here"
	switch {
	case len(nodes) == 0:
		text = "goes on behind its tasks, which have all finished,"
	case o.finished == 0:
	case o.head && !whole:
		text += " (not " + o.finishedTasks() + ")"
	case o.head || len(o.asks) > 0 || o.called > 0:
		text += " (also " + o.finishedTasks() + ")"
	}
	return text
}
