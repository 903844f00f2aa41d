// Package trajectory reads the runs that agents hand on to be looked at and learned from: one JSON document
// for each run, in its order, in one of three layouts.
//
//	run.json             ATIF, Harbor's Agent Trajectory Interchange Format, 1.0 to 1.8
//	  schema_version     "ATIF-v1.8"
//	  steps[]            {step_id, source, message, reasoning_content, tool_calls[], observation{results[]}, metrics}
//	  subagent_trajectories[]   whole documents, that a result names by trajectory_id
//	trajectory.cont-N.json      beside it: a continuation
//	trajectory.NAME.json        beside it: a sub-agent's run, that a result names by trajectory_path
//	NAME.traj            SWE-agent
//	  history[]          {role, content, thought, tool_calls[], tool_call_ids[]}
//	  trajectory[]       a record for each answer: {action, observation, state, execution_time}
//	NAME.traj.json       mini-swe-agent 1 and 2
//	  trajectory_format  "mini-swe-agent-1.1"
//	  messages[]         messages of a chat, with the model's response and the outcome of commands in extra;
//	                     before 1.0 the document is that list
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
	return []engine.Kind{
		newAgent("atif", "ATIF", isHarbors, &atif).Kind(cache),
		newAgent("trajectory", "SWE-agent", isAgents, &sweAgent, &miniAgent, &miniList).Kind(cache),
	}
}

// layout describes how a document is laid out.
type layout struct {
	// rows is the member that has the steps, "" where they are the document, and beside one whose elements belong to the
	// answers, in their order. children is the member that has whole documents.
	rows, beside, children string
	// tells reports whether a document is laid out so, by its beginning and the name of its file.
	tells func(head chat.Value, file string) bool
	// decode returns the messages of a step.
	decode func(v chat.Value) []chat.Message
	// texts returns the values in a step that carry conversation.
	texts func(step chat.Value) []chat.Value
	// total returns the sums that the document has of the whole run.
	total func(whole chat.Value) model.Counted
}

var atif = layout{
	rows: "steps", children: "subagent_trajectories", decode: decodeStep, texts: textsOfStep,
	tells: func(head chat.Value, _ string) bool {
		if first := firstIn(head.Get("steps")); first.There() {
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
	tells: func(head chat.Value, _ string) bool { // the first answer may be longer than the beginning
		answer, said := firstIn(head.Get("trajectory")), firstIn(head.Get("history"))
		return answer.Get("action").There() && answer.Get("observation").There() || said.Get("role").There() && said.Get("agent").There() ||
			head.Get("trajectory").Kind() == jsontape.Array && (head.Get("history").Kind() == jsontape.Array || head.Get("environment").There())
	},
}

var miniAgent = layout{
	rows: "messages", decode: decodeChat, texts: textsOfChat, total: countedByAgent,
	tells: func(head chat.Value, _ string) bool { // 1.0 to 1.4 have no version
		return head.Get("info", "mini_version").There() || head.Get("info", "exit_status").There() && head.Get("info", "submission").There() &&
			head.Get("messages").Kind() == jsontape.Array
	},
}

var miniList = layout{
	decode: decodeChat, texts: textsOfChat, total: countedByAgent,
	tells: func(head chat.Value, file string) bool { // other programs have such lists, too
		first := firstIn(head)
		return isAgents(file) && first.Get("role").There() && first.Get("content").There()
	},
}

// stepsOf returns the list of steps of a document.
func (l *layout) stepsOf(whole chat.Value) chat.Value {
	if l.rows == "" {
		return whole
	}
	return whole.Get(l.rows)
}

// firstIn returns the first element of a list, no value of anything else.
func firstIn(list chat.Value) chat.Value {
	if list.Kind() == jsontape.Array {
		for v := range list.Each() {
			return v
		}
	}
	return chat.Value{}
}

// countedByAgent returns the sums of SWE-agent and mini-swe-agent.
func countedByAgent(whole chat.Value) model.Counted {
	is := whole.Get("info", "model_stats")
	return model.Counted{Read: is.Get("tokens_sent").Number(), Written: is.Get("tokens_received").Number(), Dollars: is.Get("instance_cost").Number()}
}

func newAgent(name, framework string, named func(file string) bool, layouts ...*layout) *chat.Agent {
	f := &format{name: name, named: named, layouts: layouts}
	return &chat.Agent{
		Name: name, Framework: framework, IDs: "the position of the step",
		Roots: []string{"."}, Inner: inner, Files: []string{"*.traj", "*.traj.json", usualFile},
		Shape: "a document with the steps of a run", Noun: "a run of " + framework,
		Signs: func(at chat.Spot, head []byte) chat.Sign {
			return chat.Sign{Fits: f.layoutOf(chat.ParseHead(head), at.File) != nil}
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
	name string
	// named reports whether a file has a name that no other program gives.
	named   func(file string) bool
	layouts []*layout
}

// layoutOf returns the layout of a document by its beginning and the name of its file, or nil.
func (f *format) layoutOf(head chat.Value, file string) *layout {
	if i := slices.IndexFunc(f.layouts, func(l *layout) bool { return l.tells(head, file) }); i >= 0 {
		return f.layouts[i]
	}
	return nil
}

// holdsRun reports whether a file is a document of the format.
func (f *format) holdsRun(in engine.In, file string) bool {
	return chat.HeadTells(in, file, f.name, func(head []byte) bool { return f.layoutOf(chat.ParseHead(head), file) != nil })
}

// isLost reports whether a file has a name that the format's agents alone give, and is no document: it was emptied, or
// overwritten.
func (f *format) isLost(in engine.In, file string) bool {
	if !f.named(path.Base(file)) {
		return false
	}
	return chat.HeadTells(in, file, f.name+" lost", func(head []byte) bool {
		kind := chat.ParseHead(head).Kind()
		return kind != jsontape.Object && kind != jsontape.Array
	})
}

// isAgents reports whether a file has a name that SWE-agent or mini-swe-agent gives.
func isAgents(file string) bool {
	return strings.HasSuffix(file, ".traj") || strings.HasSuffix(file, ".traj.json")
}

// isHarbors reports whether a file has a name that Harbor gives.
func isHarbors(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, usualStem+".") && strings.HasSuffix(base, ".json")
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
const usualFolder, usualStem, usualFile = "agent", "trajectory", usualStem + ".json"

// deep is how many folders below a storage runs are looked for.
const deep = 2

// Spots implements chat.Format. In the storage itself a document may have any name, in folders below it one that
// the agents give: a folder around a job is no storage, since it may have whatever else.
func (f *format) Spots(ctx context.Context, in engine.In) ([]chat.Spot, error) {
	return chat.Walk(ctx, in, deep, func(file string) (chat.Spot, bool) {
		dir, base := path.Dir(file), path.Base(file)
		run := trimExtensions(base)
		switch {
		case isHarbors(file):
			dir = strings.TrimSuffix(dir, "/"+usualFolder)
		case run == base || dir != "." && (dir != run || !strings.Contains(base, ".traj")):
			return chat.Spot{}, false
		}
		return f.Spot(file), !strings.Contains(dir, "/") && (f.holdsRun(in, file) || f.isLost(in, file))
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
	dir, base := path.Split(id)
	beside, isBeside := strings.CutPrefix(base, usualStem+".")
	if isBeside = isBeside && dir != ""; isBeside {
		id = dir + usualStem
	}
	for _, usual := range []string{"/" + usualStem, "/" + usualFolder, "/" + path.Base(path.Dir(id))} {
		id = strings.TrimSuffix(id, usual) // JOB/TRIAL/agent/trajectory.json, RUN/INSTANCE/INSTANCE.traj
	}
	id = strings.ReplaceAll(id, "/", ".")
	switch {
	case isBeside && strings.HasPrefix(beside, "cont-"): // no sub-agent
		id += "." + beside
	case isBeside:
		id += "/" + beside
	}
	if child {
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
	l := f.layoutOf(whole, at.File)
	if l == nil {
		return g, nil
	}
	var said chat.Opening
	for v := range l.stepsOf(whole).Each() {
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
// without an error, if the file has no run. A torn document yields its whole steps.
func (f *format) readDocuments(in engine.In, file string) (list []document, torn, err error) {
	whole, torn, err := chat.ReadDocument(in, file)
	if err != nil {
		return nil, nil, err
	}
	l := f.layoutOf(whole, file)
	if l == nil {
		return nil, torn, nil
	}
	list = append(list, document{l, whole, ""})
	var names chat.IDs
	for i := 0; i < len(list); i++ { // they nest
		for child := range list[i].Get(l.children).Each() {
			name := strings.ReplaceAll(child.Get("trajectory_id").Words(), "/", ".")
			list = append(list, document{l, child, names.Take(name)})
		}
	}
	return list, torn, nil
}

// Read implements chat.Format.
func (f *format) Read(_ context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	list, torn, err := f.readDocuments(in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1}
	switch verdict := "a reader of " + f.name + " refuses it"; {
	case len(list) == 0:
		s.Fault(FaultDocument, model.Stops, "", "the file is no document with the steps of a run", verdict)
	case torn != nil:
		s.Fault(FaultDocument, model.Stops, "", "the file ends in its middle, or is no JSON: "+torn.Error(), verdict)
	}
	for _, d := range list {
		if d.name != "" && at.Part == "" {
			s.Within = append(s.Within, chat.Inner{Name: d.name, Title: d.Get("agent", "name").Words()})
		}
		if d.name == at.Part {
			s.Own = d.layout
			b := build{document: d, session: s, format: f, in: in}
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
	format  *format
	in      engine.In
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
	for n, step := range slices.Collect(b.stepsOf(b.Value).Each()) {
		if !jsontape.Valid(step.Raw()) { // it is where the file ends
			break
		}
		list := b.decode(step)
		for part, m := range list {
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
			if part == len(list)-1 {
				b.noteChildren(&e, step)
			}
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
	at := b.session.Spot
	for result := range step.Get("observation", "results").Each() {
		for ref := range result.Get("subagent_trajectory_ref").Each() {
			name, beside := ref.Get("trajectory_id").Words(), ref.Get("trajectory_path").Words()
			file := path.Join(path.Dir(at.File), path.Base(beside))
			if look, err := b.in.Stamp(file); beside != "" && err == nil && look.Kind != files.Nothing {
				e.Starts(b.format.Spot(file).ID)
			} else if name != "" {
				e.Starts(strings.TrimSuffix(at.ID, "/"+at.Part) + "/" + strings.ReplaceAll(name, "/", "."))
			}
			e.Facts.Add("sub-agent's run", beside)
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
	docs, _, err := f.readDocuments(in, s.Spot.File)
	for _, d := range docs {
		if d.name != s.Spot.Part {
			continue
		}
		for i, step := range slices.Collect(d.stepsOf(d.Value).Each()) {
			if !jsontape.Valid(step.Raw()) { // the fault of the file tells
				break
			}
			for _, v := range d.texts(step) {
				if c, says := chat.CarriedOf(s.Spot.File, fmt.Sprintf("%s[%d]", d.rows, i), v.Key(), v); says {
					list = append(list, c)
				}
			}
		}
	}
	return list, err
}
