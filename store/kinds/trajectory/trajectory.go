// Package trajectory reads the runs that agents hand on to be looked at and learned from: one JSON document
// for each run, in its order, in one of three layouts.
//
//	run.json             ATIF, Harbor's Agent Trajectory Interchange Format, 1.0 to 1.8
//	  schema_version     "ATIF-v1.8"
//	  steps[]            {step_id, source, message, reasoning_content, tool_calls[], observation{results[]}, metrics}
//	  subagent_trajectories[]   whole documents, that a result names by trajectory_id
//	NAME.traj            SWE-agent
//	  history[]          {role, content, thought, tool_calls[], tool_call_ids[]}
//	  trajectory[]       a record for each answer: {action, observation, state, execution_time}
//	NAME.traj.json       mini-swe-agent 1 and 2
//	  trajectory_format  "mini-swe-agent-1.1"
//	  messages[]         messages of a chat, with the model's response and the outcome of commands in extra
//
// Nothing resumes a run. ATIF is defined by the models of the package harbor (0.26), harbor.models.trajectories;
// the other two by files of the agents: mini-swe-agent 2.4.6, SWE-agent 1.1.
package trajectory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/media/watch"
)

// Kinds describes the runs in ATIF, and the runs of SWE-agent and mini-swe-agent. cache keeps titles; it may be nil.
func Kinds(cache *files.Cache) []engine.Kind {
	return []engine.Kind{newAgent("atif", "ATIF", &atif).Kind(cache), newAgent("trajectory", "SWE-agent", &sweAgent, &miniAgent).Kind(cache)}
}

// layout describes how a document is laid out.
type layout struct {
	// rows is the member that has the steps, and beside one whose elements belong to the answers, in their order. children
	// is the member that has whole documents.
	rows, beside, children string
	// tells reports whether a document is laid out so, by its beginning.
	tells func(head chat.Value) bool
	// decode returns the messages of a step.
	decode func(v chat.Value) []chat.Message
	// texts returns the values in a step that carry conversation.
	texts func(step chat.Value) []chat.Value
	// total returns the sums that the document has of the whole run.
	total func(whole chat.Value) model.Counted
}

var atif = layout{
	rows: "steps", children: "subagent_trajectories", decode: decodeStep, texts: textsOfStep,
	tells: func(head chat.Value) bool {
		for first := range head.Get("steps").Each() {
			return first.Get("step_id").There() && first.Get("source").There()
		}
		return strings.HasPrefix(head.Get("schema_version").Text(), "ATIF-v1.")
	},
	total: func(whole chat.Value) model.Counted {
		is := whole.Get("final_metrics")
		return model.Counted{
			Read: is.Get("total_prompt_tokens").Number(), FromCache: is.Get("total_cached_tokens").Number(),
			Written: is.Get("total_completion_tokens").Number(), Dollars: is.Get("total_cost_usd").Number(),
		}
	},
}

var sweAgent = layout{
	rows: "history", beside: "trajectory", decode: decodeChat, texts: textsOfChat, total: countedByAgent,
	tells: func(head chat.Value) bool {
		return head.Get("trajectory").Kind() == jsontape.Array && (head.Get("history").Kind() == jsontape.Array || head.Get("environment").There())
	},
}

var miniAgent = layout{
	rows: "messages", decode: decodeChat, texts: textsOfChat, total: countedByAgent,
	tells: func(head chat.Value) bool { return head.Get("info", "mini_version").There() },
}

// countedByAgent returns the sums of SWE-agent and mini-swe-agent.
func countedByAgent(whole chat.Value) model.Counted {
	is := whole.Get("info", "model_stats")
	return model.Counted{Read: is.Get("tokens_sent").Number(), Written: is.Get("tokens_received").Number(), Dollars: is.Get("instance_cost").Number()}
}

func newAgent(name, framework string, layouts ...*layout) *chat.Agent {
	f := &format{name: name, layouts: layouts}
	return &chat.Agent{
		Name: name, Framework: framework, IDs: "the position of the step",
		Roots: []string{"."}, Inner: inner, Files: []string{"*.traj", "*.traj.json", usualFile},
		Shape: "a document with the steps of a run", Noun: "a run of " + framework,
		Signs: func(_ chat.Spot, head []byte) chat.Sign {
			return chat.Sign{Fits: f.layoutOf(chat.ParseHead(head)) != nil}
		},
		Format: func(string) chat.Format { return f },
		Levels: []watch.Level{{}, {}, {}, {}},
		Lacks:  "nothing resumes a run of " + framework + ": continue it in an agent, or convert it",
	}
}

// textsOfStep returns the texts of a step of ATIF; its extra repeats them in the words of the agent.
func textsOfStep(step chat.Value) []chat.Value {
	list := []chat.Value{step.Get("message"), step.Get("reasoning_content"), step.Get("tool_calls")}
	for result := range step.Get("observation", "results").Each() {
		list = append(list, result.Get("content"))
	}
	return list
}

func textsOfChat(step chat.Value) []chat.Value {
	return []chat.Value{step.Get("content"), step.Get("reasoning_content"), step.Get("tool_calls"), step.Get("output")}
}

// format implements chat.Nested, chat.Several and chat.Carrier.
type format struct {
	name    string
	layouts []*layout
}

// layoutOf returns the layout of a document by its beginning, or nil.
func (f *format) layoutOf(head chat.Value) *layout {
	if i := slices.IndexFunc(f.layouts, func(l *layout) bool { return l.tells(head) }); i >= 0 {
		return f.layouts[i]
	}
	return nil
}

// holdsRun reports whether a file is a document of the format.
func (f *format) holdsRun(in engine.In, file string) bool {
	return chat.HeadTells(in, file, f.name, func(head []byte) bool { return f.layoutOf(chat.ParseHead(head)) != nil })
}

// inner returns how far above a folder that of all runs is: Harbor names a run by the folder around its trajectory.json.
func inner(dir string, t tree.Tree) int {
	has := func(file string) bool {
		at, err := t.Stamp(file)
		return err == nil && at.Kind != files.Nothing
	}
	switch {
	case has(usualFolder + "/" + usualFile):
		return 1
	case !has(usualFile):
		return 0
	case path.Base(dir) == usualFolder:
		return 2
	}
	return 1
}

// The names of Harbor's: JOB/TRIAL/agent/trajectory.json.
const usualFolder, usualFile = "agent", "trajectory.json"

// deep is how many folders below a storage runs are looked for.
const deep = 2

// Spots implements chat.Format. In the storage itself a document may have any name, in folders below it one that
// the agents give: a folder around a job is no storage, since it may have whatever else.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, deep, func(file string) (chat.Spot, bool) {
		dir, base := path.Dir(file), path.Base(file)
		run := trimExtensions(base)
		switch {
		case base == usualFile:
			dir = strings.TrimSuffix(dir, "/"+usualFolder)
		case run == base || dir != "." && (dir != run || !strings.Contains(base, ".traj")):
			return chat.Spot{}, false
		}
		return f.Spot(file), !strings.Contains(dir, "/") && f.holdsRun(in, file)
	})
}

// trimExtensions returns the name of a document without its extensions, or the name itself of another file.
func trimExtensions(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".traj")
}

// ReadOpened implements chat.Several.
func (f *format) ReadOpened(_ context.Context, in engine.In, file string) ([]chat.Spot, error) {
	if !f.holdsRun(in, file) {
		return nil, nil
	}
	return []chat.Spot{f.Spot(file)}, nil
}

// Spot implements chat.Format. Behind the file stands the run of a sub-agent.
func (f *format) Spot(name string) chat.Spot {
	file, part, child := strings.Cut(name, "#")
	id := trimExtensions(file)
	for _, usual := range []string{"/trajectory", "/" + usualFolder, "/" + path.Base(path.Dir(id))} {
		id = strings.TrimSuffix(id, usual) // JOB/TRIAL/agent/trajectory.json, RUN/INSTANCE/INSTANCE.traj
	}
	if id = strings.ReplaceAll(id, "/", "."); child {
		id += "/" + part
	}
	return chat.Spot{File: file, Part: part, ID: id, Named: true}
}

// Within implements chat.Nested.
func (f *format) Within(session chat.Spot, name string) (chat.Spot, bool) {
	return f.Spot(session.File + "#" + name), session.Part == "" && name != ""
}

// Glance implements chat.Format.
func (f *format) Glance(in engine.In, at chat.Spot) (g chat.Glance, err error) {
	const enough = 48 << 10
	head, err := tree.Head(in.Tree, at.File, enough)
	if err != nil {
		return g, err
	}
	whole := chat.ParseHead(bytes.TrimPrefix(head, []byte("\ufeff")))
	l := f.layoutOf(whole)
	if l == nil {
		return g, nil
	}
	var said chat.Opening
	for v := range whole.Get(l.rows).Each() {
		for _, m := range l.decode(v) {
			if !said.HasPrompt() {
				said.Say(m.Summarise())
			}
		}
	}
	g.Title = said.Title()
	return g, nil
}

// document is a run in a file.
type document struct {
	*layout
	chat.Value
	// name is that of a sub-agent's run, "" of the run that the file is about.
	name string
}

// readDocuments returns the runs in a file: the one that it is about, then the runs of its sub-agents. The list is empty,
// without an error, if the file has no run.
func (f *format) readDocuments(in engine.In, file string) (list []document, err error) {
	data, _, err := in.Read(file, nil)
	if err != nil {
		return nil, err
	}
	whole, err := chat.Parse(data)
	l := f.layoutOf(whole)
	if err != nil || l == nil {
		return nil, nil
	}
	list = append(list, document{l, whole, ""})
	var names chat.IDs
	for i := 0; i < len(list); i++ { // they nest
		for child := range list[i].Get(l.children).Each() {
			name := strings.ReplaceAll(child.Get("trajectory_id").Words(), "/", ".")
			list = append(list, document{l, child, names.Take(name)})
		}
	}
	return list, nil
}

// Read implements chat.Format.
func (f *format) Read(_ context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	list, err := f.readDocuments(in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1}
	if len(list) == 0 {
		s.Fault(FaultDocument, model.Stops, "", "the file is no document with the steps of a run", "a reader of "+f.name+" refuses it")
	}
	for _, d := range list {
		if d.name != "" && at.Part == "" {
			s.Within = append(s.Within, chat.Inner{Name: d.name, Title: d.Get("agent", "name").Words()})
		}
		if d.name == at.Part {
			s.Own = d.layout
			b := build{document: d, session: s}
			b.addSteps()
		}
	}
	return s, nil
}

// FaultDocument: a file is no document of a run.
const FaultDocument = "bad-document"

// origin says which of the messages of a step an entry is, and under which keys the records behind the step stand.
type origin struct {
	part int
	keys []string
}

// build makes a session of a run.
type build struct {
	document
	session *chat.Session
}

// addSteps adds an entry for each message. What the document says besides is with the first.
func (b *build) addSteps() {
	s, agent := b.session, b.Get("agent")
	meta := &chat.Meta{
		Model: agent.Get("model_name").Text(), Dir: b.Get("info", "config", "environment", "cwd").Text(),
		Version: strings.TrimSpace(agent.Get("name").Words() + " " + cmp.Or(agent.Get("version").Words(), b.Get("info", "mini_version").Words())),
	}
	s.Project = meta.Dir
	from, spans := origin{}, []chat.Span(nil) // first the other members of the document, then the record of an answer
	for v := range b.Each() {
		if !slices.Contains([]string{b.rows, b.beside, b.children}, v.Key()) {
			from.keys, spans = append(from.keys, v.Key()), append(spans, v.Span())
		}
	}
	aside := slices.Collect(b.Get(b.beside).Each())
	for n, step := range slices.Collect(b.Get(b.rows).Each()) {
		for part, m := range b.decode(step) {
			if from.part = part; m.Role == chat.Assistant && len(aside) > 0 && !isDemonstration(step) {
				for _, key := range []string{"state", "extra_info"} {
					if v := aside[0].Get(key); v.There() {
						from.keys, spans = append(from.keys, key), append(spans, v.Span())
					}
				}
				aside = aside[1:]
			}
			e := chat.Entry{ID: strconv.Itoa(n + 1), At: chat.FirstTime(step.Get("timestamp"), step.Get("extra", "timestamp")), Said: m.Summarise(), Meta: meta.With(chat.Meta{Model: m.Model}), File: s.Spot.File, Records: append([]chat.Span{step.Span()}, spans...), Own: from}
			from, spans = origin{}, nil
			switch {
			case step.Get("is_copied_context").True():
				e.Note = "copied from the run before"
			case isDemonstration(step):
				e.Event = chat.EventContext
			}
			b.noteChildren(&e, step)
			s.Head = s.Add(e, len(s.Entries)-1)
		}
	}
	if s.Head >= 0 {
		s.Entries[s.Head].Facts.Count(b.total(b.Value))
		s.Entries[s.Head].Facts.Add("goes on in", b.Get("continued_trajectory_ref").Words())
	}
}

// noteChildren notes the runs of sub-agents that the results of a step name.
func (b *build) noteChildren(e *chat.Entry, step chat.Value) {
	if len(e.Said.Results) == 0 {
		return
	}
	session, _, _ := strings.Cut(b.session.Spot.ID, "/")
	for result := range step.Get("observation", "results").Each() {
		for ref := range result.Get("subagent_trajectory_ref").Each() {
			if name := ref.Get("trajectory_id").Words(); name != "" {
				e.Starts(session + "/" + strings.ReplaceAll(name, "/", "."))
			}
			e.Facts.Add("sub-agent's run", ref.Get("trajectory_path").Words())
		}
	}
}

// isDemonstration reports whether a step of SWE-agent's is an example that it was given.
func isDemonstration(step chat.Value) bool {
	return step.Get("is_demo").True() || step.Get("message_type").Text() == "demonstration"
}

var errChanged = errors.New("the file changed while it was read")

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	raw, err := chat.Raw(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	from := e.Own.(origin)
	for i, key := range from.keys {
		raw[i+1] = slices.Concat([]byte("{"), jsontape.AppendQuoted(nil, key), []byte(":"), raw[i+1], []byte("}"))
	}
	step, err := chat.Parse(raw[0])
	if err != nil {
		return nil, err
	}
	list := s.Own.(*layout).decode(step)
	if from.part >= len(list) {
		return nil, errChanged
	}
	list[from.part].Raw = raw
	return list[from.part : from.part+1], nil
}

// ReadCarried implements chat.Carrier.
func (f *format) ReadCarried(_ context.Context, in engine.In, s *chat.Session) (list []chat.Carried, err error) {
	docs, err := f.readDocuments(in, s.Spot.File)
	for _, d := range docs {
		if d.name != s.Spot.Part {
			continue
		}
		for i, step := range slices.Collect(d.Get(d.rows).Each()) {
			for _, v := range d.texts(step) {
				if c, says := chat.CarriedOf(s.Spot.File, fmt.Sprintf("%s[%d]", d.rows, i), v.Key(), v); says {
					list = append(list, c)
				}
			}
		}
	}
	return list, err
}
