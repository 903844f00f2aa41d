package qwen

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// FaultMixed: records of several sessions stand in the file.
const FaultMixed = "mixed-session-ids"

// sessionTree is which record follows which.
type sessionTree struct {
	file *chat.File[record]
	up   []int
	line *chat.Lineage
	// parts has the later records of each uuid by the first one, and again the first one by a later one.
	parts map[int][]int
	again map[int]int
	byID  map[string]int
	// chained says that records name no parents.
	chained bool
}

// treeOf returns the tree of a file. Each record names the one before it.
func treeOf(file *chat.File[record]) *sessionTree {
	t := &sessionTree{file: file, up: make([]int, len(file.Records)), parts: map[int][]int{}, again: map[int]int{}, byID: make(map[string]int, len(file.Records))}
	for i := range file.Records {
		is := &file.Records[i].Is
		first, there := t.byID[is.id]
		switch {
		case is.id == "" && !is.chained || aside[is.kind] || t.isPassed(i):
		case there:
			t.parts[first], t.again[i] = append(t.parts[first], i), first
		case is.id != "":
			t.byID[is.id] = i
		}
	}
	last := -1
	for i := range file.Records {
		is := &file.Records[i].Is
		first, later := t.again[i]
		before, there := t.byID[is.parent]
		counts := !aside[is.kind] && !t.isPassed(i)
		switch t.up[i] = -1; {
		case later:
			t.up[i] = first
		case is.chained && counts:
			t.up[i], t.chained = last, true
		case there && before != i:
			t.up[i] = before
		case is.parent != "":
			t.up[i] = chat.Missing
		}
		if counts {
			last = i
		}
	}
	t.line = chat.NewLineage(t.up, t.isEntry)
	return t
}

// isPassed reports whether Qwen Code passes a record over: in a damaged line all that does not follow whole
// records from its beginning on.
func (t *sessionTree) isPassed(i int) bool {
	r := &t.file.Records[i]
	if !r.Salvaged {
		return false
	}
	if i == 0 {
		return r.At > 0
	}
	last := &t.file.Records[i-1]
	gap := int64(1)
	if last.Number == r.Number {
		gap = 0
	}
	return r.Number > last.Number+1 || r.At != last.At+last.Len+gap || gap == 0 && last.Salvaged && t.isPassed(i-1)
}

// isEntry reports whether a record is the first of a message that says something.
func (t *sessionTree) isEntry(i int) bool {
	_, again := t.again[i]
	is := &t.file.Records[i].Is
	if again || is.messages == 0 {
		return false
	}
	return !is.empty || slices.ContainsFunc(t.parts[i], func(k int) bool { return !t.file.Records[k].Is.empty })
}

// recordsOf returns the records of an entry: of a sub-agent's answer the one before it, which counts its tokens
// and has no parts.
func (t *sessionTree) recordsOf(i int) (list []int) {
	if up := t.up[i]; up >= 0 && t.file.Records[up].Is.kind == typeAssistant && t.file.Records[up].Is.empty && t.file.Records[i].Is.kind == typeAssistant {
		list = append(list, up)
	}
	return append(append(list, i), t.parts[i]...)
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	t := treeOf(file)
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes), Own: t, Title: taskOf(in, at).title}
	b := build{t: t, s: s, entry: make([]int, len(t.up)), meta: make([]*chat.Meta, len(t.up)), rewinds: map[time.Time]bool{}, sessions: map[string]bool{}, unknown: map[string]int{}}
	for i := range file.Records {
		b.addRecord(i)
	}
	b.joinRecords()
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, b.unknown)...)
	if len(b.sessions) > 1 {
		s.Fault(FaultMixed, model.Stops, "", "the records name "+model.Count(len(b.sessions), "session"), "Qwen Code does not load the session")
	}
	noteAgents(in, s)
	return s, nil
}

// build makes a session of the records of a tree.
type build struct {
	t *sessionTree
	s *chat.Session
	// entry has the entry of each record that is one, meta the settings as of each record.
	entry    []int
	meta     []*chat.Meta
	rewinds  map[time.Time]bool
	sessions map[string]bool
	unknown  map[string]int
	ids      chat.IDs
}

func (b *build) addRecord(i int) {
	r := &b.t.file.Records[i]
	is := &r.Is
	b.meta[i] = &chat.Meta{}
	if up := b.t.up[i]; up >= 0 && up < i {
		b.meta[i] = b.meta[up]
	}
	b.meta[i] = b.meta[i].With(is.meta)
	if !known()[is.kind] {
		b.unknown[is.kind]++
	}
	b.s.Title = cmp.Or(is.title, b.s.Title)
	b.s.Project = cmp.Or(b.s.Project, is.meta.Dir)
	b.sessions[is.session] = true
	if is.kind == rewind {
		b.rewinds[is.at] = true
	}
	if !b.t.isEntry(i) {
		return
	}
	e := chat.Entry{ID: b.ids.Take(cmp.Or(is.id, fmt.Sprintf("line-%d", r.Number))), At: is.at, Said: is.said, Event: is.event, Unsent: is.unsent, Meta: b.meta[i], File: b.s.Spot.File, Facts: is.facts, Own: is.messages}
	if b.t.isPassed(i) {
		e.Reason = chat.PassedOver
	}
	for _, k := range b.t.recordsOf(i) {
		part := &b.t.file.Records[k]
		e.Records = append(e.Records, part.Span)
		if k > i {
			e.Said.Calls, e.Said.Results = append(e.Said.Calls, part.Is.said.Calls...), append(e.Said.Results, part.Is.said.Results...)
			e.Said.Words = cmp.Or(e.Said.Words, part.Is.said.Words)
		}
	}
	e.Facts.Add("forked from", is.source)
	b.entry[i] = len(b.s.Entries)
	b.s.Entries = append(b.s.Entries, e)
}

// joinRecords sets the facts that depend on several records: parents, contexts, the head, why a branch was left.
func (b *build) joinRecords() {
	t, last := b.t, -1
	for i := range t.up {
		is := &t.file.Records[i].Is
		if (is.id != "" || is.chained) && !aside[is.kind] && !t.isPassed(i) {
			last = i
		}
		before, end := t.line.Before(i)
		if is.failed != "" && before >= 0 {
			b.s.Entries[b.entry[before]].Facts.Add("failed request", is.failed)
		}
		if !t.isEntry(i) {
			continue
		}
		e := &b.s.Entries[b.entry[i]]
		switch {
		case before >= 0:
			e.Parent = b.s.Entries[b.entry[before]].ID
		case t.up[end] == chat.Missing:
			e.Parent = t.file.Records[end].Is.parent
		}
		if is.kind == compression || is.kind == bootstrap {
			e.Context = []int{b.entry[i]}
		}
	}
	b.s.SkipUnsent()
	t.line.MarkLeft(b.s, b.entry, func(i int) (time.Time, bool) {
		is := &t.file.Records[i].Is
		_, again := t.again[i]
		return is.at, is.id != "" && !again && !aside[is.kind] && !t.isPassed(i)
	})
	for i := range b.s.Entries {
		if why := b.s.Entries[i].Reason; why != nil && why.Kind == model.ReasonWentOn && b.rewinds[why.At] {
			why.Kind = model.ReasonRewind
		}
	}
	if last >= 0 && t.line.Message(last) >= 0 {
		b.s.Head = b.entry[t.line.Message(last)]
	}
	t.line.MarkBroken(b.s, b.entry)
}

// noteAgents notes which sub-agents the calls of a session started: files beside theirs tell the calls.
func noteAgents(in engine.In, s *chat.Session) {
	callers := map[string]*chat.Entry{}
	for i := range s.Entries {
		for _, c := range s.Entries[i].Said.Calls {
			callers[c.ID] = &s.Entries[i]
		}
	}
	if len(callers) == 0 {
		return
	}
	dir, session, _ := agentsOf(s.Spot)
	defer in.Hold(dir)()
	names, _ := in.List(dir) // few sessions have agents
	slices.Sort(names)
	for _, name := range names {
		at := chat.Spot{File: tree.Join(dir, name), ID: session + "/" + strings.TrimSuffix(name, suffix)}
		if e := callers[taskOf(in, at).call]; strings.HasSuffix(name, suffix) && e != nil && at.ID != s.Spot.ID {
			e.Starts(at.ID)
		}
	}
}

// agentsOf returns the folder of the sub-agents of a session, the session, and the folder of the chats.
func agentsOf(at chat.Spot) (dir, session, chatsDir string) {
	if isAgent(at) {
		dir = path.Dir(at.File)
		return dir, path.Base(dir), ""
	}
	chatsDir = path.Dir(at.File)
	if path.Base(chatsDir) == archive {
		chatsDir = path.Dir(chatsDir)
	}
	return tree.Join(tree.Join(path.Dir(chatsDir), subagents), at.ID), at.ID, chatsDir
}

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) { return chat.UUID4(as) }

// Fork implements chat.Forker: a new file of the records on the way to the entry, under the new id.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	s, t := c.Session, c.Session.Own.(*sessionTree)
	if isAgent(s.Spot) {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "Qwen Code resumes no conversation of a sub-agent: fork from what started it"}
	}
	if t.chained {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "the records name no parents, so that Qwen Code would load the last one alone: continue the session in another agent"}
	}
	var way []int
	for _, span := range c.To.Records {
		way = append(way, t.line.Way(t.file.At(span.At))...)
	}
	return f.copyRecords(c, way, s.Path(c.To), nil)
}

// Join implements chat.Joiner.
func (f *format) Join(c chat.Cut, entries []*chat.Entry) (*chat.Fork, error) {
	t := c.Session.Own.(*sessionTree)
	way, links := t.line.Pieces(t.file.RecordsOf(entries)), map[chat.Span]string{}
	for k, i := range way {
		switch {
		case k == 0 && t.up[i] >= 0:
			links[t.file.Records[i].Span] = chat.Nothing
		case k > 0 && t.up[i] != way[k-1]:
			links[t.file.Records[i].Span] = t.file.Records[way[k-1]].Is.id
		}
	}
	return f.copyRecords(c, way, entries, links)
}

// copyRecords returns a new session of records, under the new id. Those with a link follow another one.
func (f *format) copyRecords(c chat.Cut, way []int, entries []*chat.Entry, links map[chat.Span]string) (*chat.Fork, error) {
	s, t := c.Session, c.Session.Own.(*sessionTree)
	on := map[int]bool{}
	for _, i := range way {
		on[i] = true
		for _, k := range t.parts[i] {
			on[k] = true
		}
	}
	spans := t.file.SpansOn(on, c.To)
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, spans)
	if err != nil {
		return nil, err
	}
	_, _, dir := agentsOf(s.Spot)
	name, data := tree.Join(dir, c.ID+suffix), []byte(nil)
	for i, line := range raw {
		members := [][2]string{{"sessionId", c.ID}}
		if parent := links[spans[i]]; parent != "" {
			members = append(members, [2]string{"parentUuid", parent})
		}
		copied, err := chat.WithTexts(line, members...)
		if err != nil {
			return nil, err
		}
		data = append(jsontape.AppendCompact(data, copied), '\n')
	}
	made := &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: name, Data: data}},
		Writes: []string{fmt.Sprintf("%s: %s of the path, under the new id", name, model.Count(len(raw), "record"))},
		Calls:  s.ResumeInProject("goes on from there in the new session", "qwen", "-r", c.ID),
	}
	agents, _, _ := agentsOf(s.Spot)
	var files []string
	for _, e := range entries {
		for _, child := range e.StartedSessions() {
			file := tree.Join(agents, path.Base(child))
			files = append(files, file+suffix, file+metaSuffix)
		}
	}
	if len(files) == 0 {
		return made, nil
	}
	return made, made.CopyAgents(c.In, tree.Join(path.Dir(agents), c.ID), len(files)/2, files)
}

// FindRepeats implements chat.Editor. A record has a result once more for the screen, and the telemetry has answers.
func (f *format) FindRepeats(role chat.Role, own, r chat.Value, found func(place string, text chat.Value)) {
	if r != own {
		if role == chat.Assistant {
			found("telemetry", r.Get("systemPayload", "uiEvent", "response_text"))
		}
		return
	}
	shown := r.Get("toolCallResult", "resultDisplay")
	for _, text := range []chat.Value{shown, shown.Get("text"), shown.Get("result")} {
		found("result", text)
	}
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || isAgent(s.Spot) || s.Own.(*sessionTree).chained || path.Base(path.Dir(s.Spot.File)) == archive {
		return nil
	}
	return s.ResumeInProject("goes on from here", "qwen", "-r", s.Spot.ID)
}
