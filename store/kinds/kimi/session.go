package kimi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// How events become a tree.
//
// Each event adds to a list of messages, which the model is sent, or cuts it:
//
//	message a · step (part, call, result) · message b · step      a ── step ── result ── b ── step
//	agent.switched to the line before b                                          │       left by an undo
//	message c                                                                    └── c
//	context.apply_compaction, which keeps n of the user's                        └── c ── summary    sent: a c summary
//	context.clear                                                                the next one is sent alone
//
// Behind an undo stands in the list again what Kimi Code itself said behind the prompt, unless it belongs to the prompt.

// own is the format's own data of an entry.
type own struct {
	is *record
	// record is the position of the first event, line its line, and last the line of the last one.
	record, line, last int
	// sent are the events that an answer's request is known from.
	sent []chat.Span
}

// cut is an undo: of the lines behind from up to the event that tells it, in line to, the model is sent those that stay.
type cut struct {
	from, to int
	stays    []int
}

// log is the format's own data of a session.
type log struct {
	file *chat.File[record]
	cuts []cut
}

// leadsTo reports whether an event is on the way to a line.
func (l *log) leadsTo(line int, r *chat.Record[record]) bool {
	undo := r.Is.kind == typeSwitch || r.Is.kind == typeUndo || r.Is.kind == typeUndone
	return r.Number <= line && !undo && !slices.ContainsFunc(l.cuts, func(c cut) bool {
		return c.to <= line && c.from < r.Number && r.Number <= c.to && !slices.Contains(c.stays, r.Number)
	})
}

// fold makes a session of the events of a file.
type fold struct {
	s    *chat.Session
	file *chat.File[record]
	// list are the messages that the model is sent, and fresh says that they are others than the parent's.
	list  []int
	fresh bool
	kept  int // counts what contexts hold
	// head is the last message, step the one that the open step adds to; -1 for none.
	head, step int
	stepID     string
	// waits are the calls without a result, behind which deferred messages, by their records, are placed.
	waits    map[string]bool
	deferred []int
	calls    map[string]int
	legacy   map[int]bool // the lines of undos that an agent.switched has told
	broken   bool         // a line before is damaged
	steps    int          // through lists, of undos and compactions
	again    int          // messages that stayed where others were undone
	cuts     []cut
	meta     *chat.Meta
	// request, profile are the last events of their types, and tools the lists by their hashes.
	request, profile int
	tools            map[string]int
	unknown          map[string]int
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	s := &chat.Session{Spot: at, Head: -1, Faults: file.Faults(agent.Passes)}
	s.Project, s.Title = stateOf(in, at)
	b := fold{s: s, file: file, head: -1, step: -1, waits: map[string]bool{}, calls: map[string]int{}, legacy: map[int]bool{}, meta: &chat.Meta{Dir: s.Project},
		request: -1, profile: -1, tools: map[string]int{}, unknown: map[string]int{}}
	number := 0
	for i := range file.Records {
		r := &file.Records[i]
		if b.broken = b.broken || r.Salvaged || r.Number > number+1; !b.broken {
			s.Head = b.head
		}
		number = r.Number
		b.addEvent(i)
	}
	b.endStep()
	if s.Own = (&log{file, b.cuts}); !b.broken {
		s.Head = b.head
	}
	s.Project = cmp.Or(s.Project, b.meta.Dir)
	s.Faults = append(s.Faults, chat.UnknownFaults(at.File, b.unknown)...)
	s.SkipUnsent()
	return s, nil
}

func (b *fold) addEvent(i int) {
	r := &b.file.Records[i]
	is := &r.Is
	b.meta = b.meta.With(is.meta)
	switch is.kind {
	case typeMessage:
		if b.deferred = append(b.deferred, i); len(b.waits) == 0 {
			b.flushDeferred()
		}
	case stepOn:
		b.endStep()
		b.stepID = is.id
	case stepPart, stepCall:
		b.addPart(i)
	case stepResult:
		known := b.waits[is.call]
		delete(b.waits, is.call)
		b.s.Entries[b.addEntry(i, "")].Unsent = !known
		if len(b.waits) == 0 {
			b.flushDeferred()
		}
	case stepEnd:
		if b.step >= 0 && is.step == b.stepID {
			b.extendEntry(b.step, i)
		}
	case typeCompaction:
		b.endStep()
		b.addSummary(i)
	case typeClear:
		b.endStep()
		b.list, b.fresh = nil, true
	case typeSwitch:
		b.legacy[is.legacy] = true
		b.cutBehind(is.line, i, true)
	case typeUndo:
		if line, ok := b.undoLine(is.count); ok && !b.legacy[r.Number] {
			b.cutBehind(line, i, false)
		}
	case typeRequest:
		b.request = i
	case typeProfile, typeConfig:
		b.profile = i
	case typeTools:
		b.tools[is.hash] = i
	case typeSpawned:
		if at, there := b.calls[is.call]; there && is.child != "" {
			session, _, _ := strings.Cut(b.s.Spot.ID, "/")
			b.s.Entries[at].Starts(session + "/" + is.child)
		}
	default:
		if !known()[is.kind] {
			b.unknown[is.kind]++
		}
	}
}

// endStep ends the open step. Kimi Code itself answers calls without a result.
func (b *fold) endStep() {
	b.step, b.stepID = -1, ""
	clear(b.waits)
	b.flushDeferred()
}

// flushDeferred adds the messages that waited for results.
func (b *fold) flushDeferred() {
	list := b.deferred
	b.deferred = nil
	for _, i := range list {
		b.addEntry(i, b.file.Records[i].Is.id)
	}
}

// addEntry adds an entry of an event behind the last message, and returns its position.
func (b *fold) addEntry(i int, id string) int {
	r := &b.file.Records[i]
	e := chat.Entry{ID: r.Name(id), At: r.Is.at, Said: r.Is.said, Event: r.Is.messageEvent(), Meta: b.meta, File: b.s.Spot.File, Records: []chat.Span{r.Span}, Facts: r.Is.facts,
		Own: &own{is: &r.Is, record: i, line: r.Number, last: r.Number}}
	if b.broken {
		e.Reason = chat.PassedOver
	}
	b.head = b.s.Add(e, b.head)
	b.list = append(b.list, b.head)
	if b.fresh && b.kept < chat.MostKept {
		b.s.Entries[b.head].Context = slices.Clone(b.list)
		b.kept += len(b.list)
	}
	b.fresh = false
	return b.head
}

// addPart adds a part of an answer, or a call: to the entry of its step, or as the first of it.
func (b *fold) addPart(i int) {
	r := &b.file.Records[i]
	is := &r.Is
	if is.step != b.stepID {
		b.step, b.stepID = -1, is.step // its beginning is missing
	}
	if b.step < 0 {
		b.step = b.addEntry(i, is.step)
		b.s.Entries[b.step].Own.(*own).sent = b.sentWith()
	} else {
		b.extendEntry(b.step, i)
	}
	e := &b.s.Entries[b.step]
	e.Unsent = is.empty && len(e.Said.Calls) == 0 && (e.Unsent || len(e.Records) == 1)
	if is.kind == stepCall {
		b.waits[is.call], b.calls[is.call] = true, b.step
	}
}

// sentWith returns the events of the last request: the system prompt, the tools, the request; nil without a request.
func (b *fold) sentWith() (list []chat.Span) {
	if b.request < 0 {
		return nil
	}
	request := &b.file.Records[b.request]
	if b.profile >= 0 {
		list = append(list, b.file.Records[b.profile].Span)
	}
	if at, there := b.tools[request.Is.hash]; there {
		list = append(list, b.file.Records[at].Span)
	}
	return append(list, request.Span)
}

// extendEntry adds an event to an entry.
func (b *fold) extendEntry(at, i int) {
	e, r := &b.s.Entries[at], &b.file.Records[i]
	e.Records = append(e.Records, r.Span)
	e.Said.Calls = append(e.Said.Calls, r.Is.said.Calls...)
	e.Said.Words = cmp.Or(e.Said.Words, r.Is.said.Words)
	e.Own.(*own).last = r.Number
}

// mostSteps bounds the steps through lists of messages: a file may go back with each line.
const mostSteps = 5_000_000

// countSteps counts the steps through the list, and reports whether there may be as many.
func (b *fold) countSteps() bool {
	b.steps += len(b.list)
	return b.steps < mostSteps
}

func (b *fold) ownOf(at int) *own { return b.s.Entries[at].Own.(*own) }

// addSummary adds a summary: an old one stands before the last messages, a later one behind some of the user's.
func (b *fold) addSummary(i int) {
	is, was := &b.file.Records[i].Is, b.list
	at := b.addEntry(i, "")
	b.s.Entries[at].Event = "compaction"
	b.list = nil
	if !b.countSteps() {
		return
	}
	if is.tail {
		b.list = append([]int{at}, was[min(max(is.count, 0), len(was)):]...)
	} else {
		users := slices.DeleteFunc(slices.Clone(was), func(k int) bool { return !b.ownOf(k).is.typed })
		first := min(max(is.head, 0), len(users))
		last := min(max(is.count-first, 0), len(users)-first)
		b.list = append(slices.Concat(users[:first], users[len(users)-last:]), at)
	}
	if b.kept += len(b.list); b.kept < chat.MostKept {
		b.s.Entries[at].Context = slices.Clone(b.list)
	}
}

// undoLine returns the line before a number of prompts; false where the list does not have as many since it was compacted.
func (b *fold) undoLine(prompts int) (line int, ok bool) {
	if prompts <= 0 || !b.countSteps() {
		return 0, false
	}
	for k := len(b.list) - 1; k >= 0; k-- {
		switch is := b.ownOf(b.list[k]).is; {
		case is.kind == typeCompaction || is.origin == "compaction_summary":
			return 0, false
		case is.anchor:
			if prompts--; prompts > 0 {
				continue
			}
			for k > 0 && b.belongsTo(b.list[k-1], is) {
				k--
			}
			return b.ownOf(b.list[k]).line - 1, true
		}
	}
	return 0, false
}

// belongsTo reports whether a message was said by Kimi Code for a prompt.
func (b *fold) belongsTo(at int, prompt *record) bool {
	is := b.ownOf(at).is
	return is.origin == "injection" && is.owner != "" && is.owner == prompt.id
}

// mostAgain bounds the messages of a session that stay where others are undone.
const mostAgain = 10_000

// cutBehind goes back to a line, by an event. stay says that what Kimi Code itself said behind the line is said again.
func (b *fold) cutBehind(line, i int, stay bool) {
	b.endStep()
	if !b.countSteps() {
		return
	}
	c, had, again := cut{from: line, to: b.file.Records[i].Number}, map[string]bool{}, []int(nil)
	list := b.list
	b.list = nil
	for _, at := range list {
		switch own := b.ownOf(at); {
		case own.line <= line:
			b.list = append(b.list, at)
			had[own.is.id] = own.is.anchor
		case stay && own.is.origin == "injection" && (own.is.owner == "" || had[own.is.owner]) && b.again < mostAgain:
			again, b.again = append(again, own.record), b.again+1
			c.stays = append(c.stays, own.line)
		}
	}
	left := b.head
	for b.head >= 0 && b.ownOf(b.head).line > line {
		b.head = b.s.Before(b.head)
	}
	b.fresh = len(b.list) == 0
	why := &model.Reason{Kind: model.ReasonRewind, At: b.file.Records[i].Is.at, TargetIndex: max(b.head, 0)}
	if b.head >= 0 {
		why.TargetID = b.s.Entries[b.head].ID
	}
	for ; left >= 0 && left != b.head; left = b.s.Before(left) {
		if e := &b.s.Entries[left]; e.Reason == nil {
			e.Reason = why
		}
	}
	for _, i := range again {
		b.ownOf(b.addEntry(i, b.file.Records[i].Is.id)).last = c.to
	}
	b.cuts = append(b.cuts, c)
}

// NewID implements chat.Forker.
func (f *format) NewID(as string) (string, error) {
	id, err := chat.UUID4(strings.TrimPrefix(as, prefix))
	return prefix + id, err
}

// Fork implements chat.Forker: the events on the way to the entry, in the folder of a new session.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) {
	s := c.Session
	refuse := func(why string) (*chat.Fork, error) {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: why}
	}
	if isAgent(s.Spot) {
		return refuse("Kimi Code resumes no conversation of a sub-agent: fork from what started it")
	}
	if c.To.Reason == chat.PassedOver {
		return refuse("a line before it is damaged, and Kimi Code cuts a session off there")
	}
	events, end, agents := s.Own.(*log), 0, 0
	for _, e := range s.Path(c.To) {
		end = max(end, e.Own.(*own).last)
		agents += len(e.StartedSessions())
	}
	var spans []chat.Span
	for i := range events.file.Records {
		if r := &events.file.Records[i]; events.leadsTo(end, r) {
			spans = append(spans, r.Span)
		}
	}
	raw, err := chat.Raw(c.In.Tree, s.Spot.File, spans)
	if err != nil {
		return nil, err
	}
	dir := path.Join(path.Dir(s.Spot.File), "..", "..", "..", c.ID)
	if len(s.Spot.More) == 0 {
		return refuse("the file is in no folder of a session: Kimi Code would not list the new one")
	}
	state, _, err := c.In.Read(s.Spot.More[0], nil)
	if err != nil {
		return nil, err
	}
	if state, err = withAgents(state, c.ID, tree.Join(tree.Join(dir, agentsDir), mainAgent), c.Dir); err != nil {
		return nil, err
	}
	name := tree.Join(dir, path.Join(agentsDir, mainAgent, wireFile))
	made := &chat.Fork{
		Spot:   f.Spot(name),
		Steps:  tree.Steps{{Name: tree.Join(dir, stateFile), Data: state}, {Name: name, Data: append(bytes.Join(raw, []byte("\n")), '\n')}},
		Writes: []string{fmt.Sprintf("%s: %s of the path, as they are", name, model.Count(len(raw), "event")), tree.Join(dir, stateFile) + ": the state of the session, under the new id"},
		Calls:  s.ResumeInProject("goes on from there in the new session", "kimi", "-r", c.ID),
	}
	if agents > 0 {
		made.Hazards = append(made.Hazards, "the conversations of sub-agents stay with the session: the new one cannot go on with them")
	}
	return made, nil
}

// withAgents returns the state of a session under another id, whose one agent is the main one.
func withAgents(state []byte, id, dir, storage string) ([]byte, error) {
	t, err := jsontape.Parse(state)
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	p.Put(0, "id", jsontape.AppendQuoted(nil, id))
	home := jsontape.AppendQuoted(nil, filepath.Join(storage, filepath.FromSlash(dir)))
	p.Put(0, "agents", []byte(`{"main":{"homedir":`+string(home)+`,"type":"main"}}`))
	return p.Bytes(), nil
}

// Calls implements chat.Caller.
func (f *format) Calls(s *chat.Session, e *chat.Entry) []model.Resume {
	if !s.IsHead(e) || isAgent(s.Spot) {
		return nil
	}
	return s.ResumeInProject("goes on from here", "kimi", "-r", s.Spot.ID)
}
