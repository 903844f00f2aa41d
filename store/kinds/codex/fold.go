package codex

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
)

// fold makes the entries of a session, part by part.
type fold struct {
	session *chat.Session
	// calls are the entries of tool calls, and failed says which tools failed, by the id of
	// the call.
	calls  map[string]int
	failed map[string]bool
	// ended are the events that tell how tools ended, by the id of the call.
	ended map[string][]ending
	// results are the entries of results, by the id of the call.
	results map[string]int
	started []spawned
	unknown map[string]int
	kept    int // entries that compactions are looked for in, see chat.MostKept
	lone    int // messages that events alone have
	// said collects the messages in the session's own rollouts.
	said chat.Opening
}

// ending is an event that tells how a tool ended: what it ran, and what it did to files.
type ending struct {
	file string
	chat.Span
}

// spawned is a thread that an entry started.
type spawned struct {
	entry  int
	thread string
}

// mark is where a fold stands behind the records before a byte.
type mark struct {
	behind int64
	state
}

// state is where a fold stands.
type state struct {
	tip  int // the entry that the session stands at; -1 for none
	meta *chat.Meta
	// used is the thread's count in the newest event. recorded is its count in records of usage, which starts
	// with the first such record.
	used, recorded total
	// answer is the entry that the next token count belongs to, or -1. counted marks an answer
	// with a record of usage; a following event only repeats that count.
	answer  int
	counted bool
	// spent is a count of tokens that is about no answer, but the compaction to come.
	spent chat.Span
	// failed is how what failed in the turn begins, "" for nothing: two events may say it.
	failed string
	turning
}

// start is where a fold stands before the first record.
var start = state{tip: -1, answer: -1, meta: &chat.Meta{}, turning: turning{last: -1}}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	if at.Part != "" {
		r := f.rowOf(in, at, f.currentIndex(ctx, in))
		return &chat.Session{Spot: at, Head: -1, Title: r.threadTitle(), Project: r.dir, Faults: []model.Fault{goneFault(at, r)}}, nil
	}
	n, err := f.currentNames(ctx, in)
	if err != nil {
		return nil, err
	}
	l := &lineage{ctx: ctx, format: f, in: in, names: n, mine: n.rolloutsOf(at), known: map[string]*part{}}
	var segments []*part
	for _, name := range l.mine {
		p, err := l.resolvedPart(name)
		if err != nil {
			return nil, err
		}
		if p != nil {
			segments = append(segments, p)
		}
	}
	s := &chat.Session{Spot: at, Head: -1}
	if len(segments) == 0 {
		return s, nil
	}
	b := &fold{session: s, calls: map[string]int{}, failed: map[string]bool{}, ended: map[string][]ending{}, results: map[string]int{}, unknown: map[string]int{}}
	for _, p := range l.list {
		b.foldPart(p)
	}
	for _, c := range b.started {
		s.Entries[c.entry].Starts(f.agentSession(in, n, at, c.thread))
	}
	for _, p := range segments {
		s.Faults = append(append(s.Faults, p.file.Faults(agent.Passes)...), p.recordFaults()...)
		s.Project = cmp.Or(p.began.meta.Dir, s.Project)
	}
	s.Faults = append(append(s.Faults, l.faults...), chat.UnknownFaults(at.File, b.unknown)...)
	row := f.currentIndex(ctx, in).rows[threadID(at)]
	s.Title = cmp.Or(row.threadTitle(), b.said.Title())
	head := segments[len(segments)-1] // unless the index names another one
	if i := slices.IndexFunc(segments, func(p *part) bool { return baseName(p.name) == baseName(row.rollout) }); i >= 0 {
		head, s.Pointed = segments[i], true
	}
	if b.lone > 0 {
		s.Fault(FaultAlone, model.Note, "", model.Count(b.lone, "message")+" in events alone, and in no item that the model reads", "Codex does not send them when it resumes; a fork by Hindcast has them as items")
	}
	last := head.lastState()
	if s.Head = last.tip; s.Head >= 0 {
		if last.task && last.phase > told {
			b.noteUnended(last.tip, noEnd, model.MarkInterrupted)
		}
		s.Entries[s.Head].Facts.Count(last.spentInAll(row))
	}
	b.markReverted(segments)
	return s, nil
}

// foldPart folds the records of a part.
func (b *fold) foldPart(p *part) {
	now := p.stateBefore(0)
	now.answer, now.spent = -1, chat.Span{} // an entry has records of one file
	now.leaveTask()                         // so has a task
	p.marks = []mark{{0, now}}
	aside := now // behind the records of a damaged line
	headed := false
	p.alone = p.toldAlone()
	for i := range p.file.Records {
		r := &p.file.Records[i]
		if r.At >= p.limit {
			break
		}
		if r.Is.header != nil {
			if headed { // of a parent that was copied
				continue
			}
			headed = true
		}
		if r.Salvaged {
			b.foldRecord(p, r, &aside)
			continue
		}
		was := now
		b.foldRecord(p, r, &now)
		if aside = now; now != was {
			p.marks = append(p.marks, mark{r.At + r.Len, now})
		}
	}
}

// lastState returns where the fold stands behind a part.
func (p *part) lastState() state { return p.marks[len(p.marks)-1].state }

// spentInAll returns the tokens that Codex counted for the thread. It takes the last event, since records
// count only from the first record on, and falls back to the index.
func (s *state) spentInAll(row row) model.Counted {
	all := s.used
	if all == (total{}) {
		all = s.recorded
	}
	return model.Counted{Tokens: cmp.Or(all.input+all.output, row.tokens), Read: all.input, FromCache: all.cached, Written: all.output}
}

// stateBefore returns where the fold stands behind the records before a byte.
func (p *part) stateBefore(at int64) state {
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].behind > at })
	switch {
	case i > 0:
		return p.marks[i-1].state
	case p.base != nil:
		return p.base.stateBefore(p.from)
	}
	return start
}

// foldRecord folds one record.
func (b *fold) foldRecord(p *part, r *chat.Record[record], now *state) {
	now.meta = now.meta.With(r.Is.meta)
	does, known := types()[r.Is.is]
	if does.fold != nil {
		does.fold(b, p, r, now)
	}
	if !known {
		b.unknown[r.Is.is]++
	}
}

// toolEnded notes how a tool ended, for the message of its result.
func (b *fold) toolEnded(p *part, r *chat.Record[record], _ *state) {
	if i, there := b.results[r.Is.call]; there && b.session.Entries[i].File == p.name {
		b.session.Entries[i].Records = append(b.session.Entries[i].Records, r.Span)
	} else if r.Is.call != "" {
		b.ended[r.Is.call] = append(b.ended[r.Is.call], ending{p.name, r.Span})
	}
	b.failed[r.Is.call] = b.failed[r.Is.call] || r.Is.failed
}

// addCount adds a count of tokens to the answer that it is about, unless it says again what was
// said before.
func (b *fold) addCount(p *part, r *chat.Record[record], now *state, said *total) {
	if r.Is.total == *said || r.Is.total == (total{}) {
		return
	}
	if r.Is.inAll {
		if p.counted == nil {
			p.counted = map[int64]total{}
		}
		p.counted[r.At] = *said
	}
	*said = r.Is.total
	if now.answer < 0 {
		now.spent = r.Span
	} else {
		e := &b.session.Entries[now.answer]
		e.Records = append(e.Records, r.Span)
	}
}

// addEntry adds the entry of a record behind the tip, which it becomes.
func (b *fold) addEntry(p *part, r *chat.Record[record], now *state) *chat.Entry {
	e := chat.Entry{ID: r.Name(r.Is.id), At: r.Is.at, Said: r.Is.said, Meta: now.meta, File: p.name, Records: []chat.Span{r.Span}, Own: p}
	if r.Salvaged {
		e.Reason = chat.PassedOver
	}
	before := now.tip
	now.tip = b.session.Add(e, before)
	made := &b.session.Entries[now.tip]
	if before >= 0 && b.session.Entries[before].Event == eventError && b.kept < chat.MostKept { // Codex does not send it
		made.Context = append(b.contextAt(b.session.Before(before)), now.tip)
	}
	return made
}

// contextAt returns the entries whose messages the model reads at one, while the session is read.
func (b *fold) contextAt(at int) (list []int) {
	for at >= 0 && b.session.Entries[at].Context == nil {
		list = append(list, at)
		at = b.session.Before(at)
	}
	b.kept += len(list)
	slices.Reverse(list)
	if at >= 0 {
		b.kept += len(b.session.Entries[at].Context)
		list = slices.Concat(b.session.Entries[at].Context, list)
	}
	return list
}

// addAlone adds the message that an event alone has.
func (b *fold) addAlone(p *part, r *chat.Record[record], now *state) {
	if !p.alone[r.At] {
		return
	}
	b.addItem(p, r, now)
	b.session.Entries[now.tip].Facts.Add("record", "an event alone has the message: Codex does not send it when it resumes")
	b.lone++
}

// addFailure adds what an event says that went wrong: Codex shows it, and does not send it.
func (b *fold) addFailure(p *part, r *chat.Record[record], now *state) {
	if r.Is.text == "" || now.failed == r.Is.text {
		return
	}
	e := b.addEntry(p, r, now)
	e.Event, e.Marks = eventError, e.Marks|model.MarkError
	b.setTurn(r, now)
	now.failed = r.Is.text
}

// Events of entries besides those of package chat.
const (
	eventCompaction = "compaction"
	eventContext    = chat.EventContext
	eventError      = "error"
)

// addItem adds the entry of an item.
func (b *fold) addItem(p *part, r *chat.Record[record], now *state) {
	is := &r.Is
	now.failed = ""
	e := b.addEntry(p, r, now)
	e.Said.Results = slices.Clone(e.Said.Results) // the record is shared
	switch {
	case is.injected, is.said.Role == chat.System:
		e.Event = eventContext
	case is.said.Role == chat.Assistant:
		now.answer, now.counted = now.tip, false
	}
	if p.limit == noLimit && e.Event == "" {
		b.said.Say(is.said)
	}
	b.setTurn(r, now)
	for _, c := range is.said.Calls {
		b.calls[c.ID] = now.tip
	}
	for k := range e.Said.Results {
		result := &e.Said.Results[k]
		result.Failed = result.Failed || b.failed[result.ID]
		b.results[result.ID] = now.tip
		for _, end := range b.ended[result.ID] {
			if end.file == p.name { // an entry has records of one file
				e.Records = append(e.Records, end.Span)
			}
		}
		if i, known := b.calls[result.ID]; known && is.child != "" {
			b.started = append(b.started, spawned{i, is.child})
		}
	}
}

// isHuman reports whether an entry is by the user.
func (b *fold) isHuman(i int) bool {
	e := &b.session.Entries[i]
	return e.Event == "" && e.Said.Role == chat.User
}

// noteFailure notes what went wrong in the turn that goes on, at its last entry.
func (b *fold) noteFailure(now *state, label, text string) {
	if now.tip >= 0 {
		e := &b.session.Entries[now.tip]
		e.Facts.Add(label, text)
		e.Marks |= model.MarkError
	}
}

// addCompaction adds a compaction: what the model reads from there on is in the record. Before
// there was a replacement_history, it read the user's words, and the summary.
func (b *fold) addCompaction(p *part, r *chat.Record[record], now *state) {
	var words []int
	for i := now.tip; i >= 0 && !r.Is.whole && b.kept < chat.MostKept; i = b.session.Before(i) {
		b.kept++
		if b.isHuman(i) {
			words = append(words, i)
		}
	}
	slices.Reverse(words)
	e := b.addEntry(p, r, now)
	e.Event, e.Context = eventCompaction, append(words, now.tip)
	b.setTurn(r, now)
	if now.spent.Len > 0 {
		e.Records = append(e.Records, now.spent)
	}
	now.answer, now.spent = -1, chat.Span{}
}

// rollBack takes the last turns of the user's off the path, and what Codex told the model at
// the beginning of the first of them.
func (b *fold) rollBack(_ *part, r *chat.Record[record], now *state) {
	first, left := -1, r.Is.turns
	for i := now.tip; i >= 0 && left > 0; i = b.session.Before(i) {
		if b.isHuman(i) {
			first, left = i, left-1
		}
	}
	if first < 0 {
		return
	}
	to := b.session.Before(first)
	above := to
	for above >= 0 && b.session.Entries[above].Event == eventContext {
		above = b.session.Before(above)
	}
	if above >= 0 { // what was told before the very first turn stays
		to = above
	}
	b.markLeft(now.tip, to, r.Is.at)
	now.tip, now.answer = to, -1
	b.turnBack(now)
}

// markLeft says why the entries on the way to one are off the path, as far as another one, from
// which the session went on.
func (b *fold) markLeft(from, to int, at time.Time) {
	why := &model.Reason{Kind: model.ReasonRewind, At: at}
	if to >= 0 {
		why.TargetID, why.TargetIndex = b.session.Entries[to].ID, to
	}
	for i := from; i >= 0 && i != to; i = b.session.Before(i) {
		b.session.Entries[i].Reason = why
	}
}

// markReverted says why what a revert left is off the path: a newer segment goes on from before
// it. What is on the path to the head has no reason.
func (b *fold) markReverted(segments []*part) {
	for k, p := range segments[1:] {
		on := map[int]bool{-1: true}
		for i := p.lastState().tip; i >= 0; i = b.session.Before(i) {
			on[i] = true
		}
		from := segments[k].lastState().tip
		to := from
		for !on[to] {
			to = b.session.Before(to)
		}
		b.markLeft(from, to, p.began.at)
	}
	for i := b.session.Head; i >= 0; i = b.session.Before(i) {
		b.session.Entries[i].Reason = nil
	}
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) (list []chat.Message, err error) {
	records, err := chat.Values(f.inputFor(in, e.File).Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	if list = []chat.Message{itemOf(records[0])}; e.Event == eventCompaction {
		list = compactedOf(records[0])
	}
	if len(list) == 0 {
		return nil, nil
	}
	m := &list[len(list)-1]
	for k, r := range e.Said.Results { // an item with a result has nothing else
		m.Blocks[k].Failed = r.Failed
	}
	for k, beside := range records[1:] {
		if m.Role == chat.Tool {
			m.Raw = append(m.Raw, beside.Raw())
		} else {
			addUsage(&m.Usage, beside, e.Own.(*part).counted[e.Records[k+1].At])
		}
	}
	if m.Role == chat.Assistant || m.Usage.Counted {
		m.Model = e.Meta.Model
	}
	return list, nil
}
