package codex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/coding"
	"hindcast/store/folder"
)

// fold makes the entries of a session, part by part.
type fold struct {
	session *coding.Session
	taken   map[string]int
	// calls are the entries of tool calls, and failed says which tools failed, by the id of
	// the call.
	calls   map[string]int
	failed  map[string]bool
	unknown map[string]int
	// parents are those of the entries, -1 for none.
	parents []int
	// words is what the user said first in a rollout of the session's own.
	words string
}

// mark is where a fold stands behind the records before a byte.
type mark struct {
	behind int64
	state
}

// state is where a fold stands.
type state struct {
	tip  int // the entry that the session stands at; -1 for none
	meta *coding.Meta
	// used is what events last said that the thread used, and recorded what a record of usage
	// did, which counts from where they began to be written.
	used, recorded total
	// answer is the entry that the next count of tokens is about, -1 for none. counted says
	// that it has a record of usage: an event behind that says the same.
	answer  int
	counted bool
	// spent is a count of tokens that is about no answer, but the compaction to come.
	spent coding.Span
	turn  turn
}

// turn tells the turn of an entry. It begins where an event says so, and before there were
// such events with the user's words.
type turn struct {
	began int // the position of its first entry
	told  bool
}

// own is what is kept of an entry besides.
type own struct {
	part *part
	turn int
}

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	n, err := f.now(ctx, in)
	if err != nil {
		return nil, err
	}
	index := f.index(ctx, in)
	mine := n.files(at)
	l := &lineage{ctx: ctx, format: f, in: in, names: n, thread: thread(at), known: map[string]*part{}, own: map[string]bool{}}
	for _, name := range mine {
		l.own[name] = true
	}
	s := &coding.Session{Spot: at, Head: -1}
	var segments []*part
	for _, name := range mine {
		p, err := l.part(name)
		if err != nil {
			return nil, err
		}
		if p != nil {
			segments = append(segments, p)
		}
	}
	if len(segments) == 0 {
		return s, nil
	}
	b := &fold{session: s, taken: map[string]int{}, calls: map[string]int{}, failed: map[string]bool{}, unknown: map[string]int{}}
	for _, p := range l.list {
		b.part(p)
	}
	for _, p := range segments {
		s.Faults = append(s.Faults, p.file.Faults(agent.Passes)...)
		s.Faults = append(s.Faults, p.faults()...)
		s.Project = cmp.Or(p.began.meta.Dir, s.Project)
	}
	s.Faults = append(append(s.Faults, l.faults...), coding.UnknownFaults(at.File, b.unknown)...)
	row := index.rows[thread(at)]
	head, pointed := headOf(segments, base(row.rollout))
	s.Head, s.Pointed = head.last().tip, pointed
	s.Title = cmp.Or(row.name(), b.words)
	b.reasons(segments)
	return s, nil
}

// headOf returns the segment that Codex goes on from: the one that the index names, else the
// newest.
func headOf(segments []*part, named string) (head *part, pointed bool) {
	for _, p := range segments {
		if base(p.name) == named {
			return p, true
		}
	}
	return segments[len(segments)-1], false
}

// part folds the records of a part.
func (b *fold) part(p *part) {
	now := state{tip: -1, answer: -1}
	if p.base != nil {
		now = p.base.before(p.from)
		now.answer, now.turn = -1, turn{began: len(b.session.Entries)}
	}
	headed := false
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
		was := now
		b.record(p, r, &now)
		if now != was {
			p.marks = append(p.marks, mark{r.At + r.Len, now})
		}
	}
	if len(p.marks) == 0 {
		p.marks = append(p.marks, mark{0, now})
	}
}

// last returns where the fold stands behind a part.
func (p *part) last() state { return p.marks[len(p.marks)-1].state }

// before returns where the fold stands behind the records before a byte.
func (p *part) before(at int64) state {
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].behind > at })
	switch {
	case i > 0:
		return p.marks[i-1].state
	case p.base != nil:
		return p.base.before(p.from)
	}
	return state{tip: -1, answer: -1}
}

// record folds one record.
func (b *fold) record(p *part, r *coding.Record[record], now *state) {
	is := &r.Is
	now.learn(&is.meta)
	switch is.is {
	case typeItem, typeBetween:
		b.item(p, r, now)
	case typeCompacted:
		b.compact(p, r, now)
	case typeUsage:
		b.use(r, now, &now.recorded)
		now.counted = true
	case eventTokens:
		if now.counted {
			now.used = is.total
		}
		b.use(r, now, &now.used)
	case eventStarted, eventTurnStarted:
		now.turn, now.answer, now.spent = turn{began: len(b.session.Entries), told: true}, -1, coding.Span{}
	case eventAborted:
		b.note(now, "turn", "aborted: "+cmp.Or(is.text, "interrupted"))
	case eventError:
		b.note(now, "error", is.text)
	case eventRolledBack:
		b.rollBack(is, now)
	case eventItem, eventCommand, eventSpawned:
		b.failed[is.call] = b.failed[is.call] || is.failed
		b.child(is.call, is.child)
	case typeHeader:
	default:
		if !silent[is.is] && !isEvent(is.is) {
			b.unknown[is.is]++
		}
	}
}

// use adds a count of tokens to the answer that it is about, unless it says again what was
// said before.
func (b *fold) use(r *coding.Record[record], now *state, said *total) {
	if r.Is.total == *said || r.Is.total == (total{}) {
		return
	}
	*said = r.Is.total
	if now.answer < 0 {
		now.spent = r.Span
	} else {
		e := &b.session.Entries[now.answer]
		e.Records = append(e.Records, r.Span)
	}
}

// learn notes what the session runs with from a record on.
func (now *state) learn(m *coding.Meta) {
	if *m == (coding.Meta{}) {
		return
	}
	next := coding.Meta{}
	if now.meta != nil {
		next = *now.meta
	}
	was := next
	next = coding.Meta{
		Model: cmp.Or(m.Model, was.Model), Dir: cmp.Or(m.Dir, was.Dir), Branch: cmp.Or(m.Branch, was.Branch),
		Commit: cmp.Or(m.Commit, was.Commit), Version: cmp.Or(m.Version, was.Version), Mode: cmp.Or(m.Mode, was.Mode),
	}
	if now.meta == nil || next != was {
		now.meta = &next
	}
}

// entry adds the entry of a record behind the tip, which it becomes.
func (b *fold) entry(p *part, r *coding.Record[record], now *state) *coding.Entry {
	s, i := b.session, len(b.session.Entries)
	id := r.Is.id
	if id == "" {
		id = fmt.Sprintf("line-%d", r.Number)
	}
	b.taken[id]++
	if n := b.taken[id]; n > 1 {
		id = fmt.Sprintf("%s~%d", id, n)
		b.taken[id]++
	}
	e := coding.Entry{ID: id, At: r.Is.at, Said: r.Is.said, Meta: now.meta, File: p.name, Records: []coding.Span{r.Span}, Own: own{p, now.turn.began}}
	if now.tip >= 0 {
		e.Parent = s.Entries[now.tip].ID
	}
	s.Entries, b.parents = append(s.Entries, e), append(b.parents, now.tip)
	now.tip = i
	return &s.Entries[i]
}

// Events of entries besides those of package coding.
const (
	eventCompaction = "compaction"
	eventContext    = "context"
)

// item adds the entry of an item.
func (b *fold) item(p *part, r *coding.Record[record], now *state) {
	is := &r.Is
	human := is.said.Role == coding.User && !is.injected
	if human && !now.turn.told && b.spoke(now) {
		now.turn.began = len(b.session.Entries)
	}
	e := b.entry(p, r, now)
	e.Said.Results = slices.Clone(e.Said.Results) // the record is shared
	switch {
	case human && p.own && b.words == "":
		b.words = is.said.Words
	case is.injected, is.said.Role == coding.System:
		e.Event = eventContext
	case is.said.Role == coding.Assistant:
		now.answer, now.counted = now.tip, false
	}
	for _, c := range is.said.Calls {
		b.calls[c.ID] = now.tip
	}
	for k := range e.Said.Results {
		result := &e.Said.Results[k]
		result.Failed = result.Failed || b.failed[result.ID]
		b.child(result.ID, is.child)
	}
}

// spoke reports whether the user spoke in the turn that goes on.
func (b *fold) spoke(now *state) bool {
	for i := now.turn.began; i < len(b.session.Entries); i++ {
		if b.human(i) {
			return true
		}
	}
	return false
}

// human reports whether an entry is by the user.
func (b *fold) human(i int) bool {
	e := &b.session.Entries[i]
	return e.Event == "" && e.Said.Role == coding.User
}

// child notes which thread a tool call started.
func (b *fold) child(call, thread string) {
	if i, known := b.calls[call]; known && thread != "" {
		b.session.Entries[i].Child = b.session.Spot.ID + "/" + thread
	}
}

// note notes what went wrong in the turn that goes on, at its last entry.
func (b *fold) note(now *state, label, text string) {
	if now.tip >= 0 {
		e := &b.session.Entries[now.tip]
		e.Facts.Add(label, text)
		e.Marks |= model.MarkError
	}
}

// compact adds a compaction: what the model reads from there on is in the record. Before
// there was a replacement_history, it read the user's words, and the summary.
func (b *fold) compact(p *part, r *coding.Record[record], now *state) {
	var words []int
	if !r.Is.whole {
		for _, i := range b.path(now.tip) {
			if b.human(i) {
				words = append(words, i)
			}
		}
	}
	e := b.entry(p, r, now)
	e.Event, e.Context = eventCompaction, append(words, now.tip)
	if now.spent.Len > 0 {
		e.Records = append(e.Records, now.spent)
	}
	now.answer, now.spent = -1, coding.Span{}
}

// path returns the entries from the first to one.
func (b *fold) path(to int) (list []int) {
	for i := to; i >= 0; i = b.parents[i] {
		list = append(list, i)
	}
	slices.Reverse(list)
	return list
}

// rollBack takes the last turns of the user's off the path, and what Codex told the model at
// the beginning of the first of them.
func (b *fold) rollBack(is *record, now *state) {
	path := b.path(now.tip)
	var spoke []int // in path
	for k, i := range path {
		if b.human(i) {
			spoke = append(spoke, k)
		}
	}
	if is.turns <= 0 || len(spoke) == 0 {
		return
	}
	cut := spoke[max(len(spoke)-is.turns, 0)]
	for cut > spoke[0]+1 && b.session.Entries[path[cut-1]].Event == eventContext {
		cut--
	}
	left := now.tip
	now.tip, now.answer = -1, -1
	why := &model.Reason{Kind: model.ReasonRewind, At: is.at}
	if cut > 0 {
		now.tip = path[cut-1]
		why.TargetID, why.TargetIndex = b.session.Entries[now.tip].ID, now.tip
	}
	now.turn = turn{began: len(b.session.Entries), told: now.turn.told}
	b.leave(left, now.tip, why)
}

// leave says why the entries on the way to one are off the path, as far as another.
func (b *fold) leave(from, to int, why *model.Reason) {
	for i := from; i >= 0 && i != to; i = b.parents[i] {
		if e := &b.session.Entries[i]; e.Reason == nil {
			e.Reason = why
		}
	}
}

// reasons says why what a revert left is off the path: a newer segment goes on from before
// it. What is on the path to the head has no reason.
func (b *fold) reasons(segments []*part) {
	for k, p := range segments[1:] {
		on := map[int]bool{-1: true}
		for _, i := range b.path(p.last().tip) {
			on[i] = true
		}
		from := segments[k].last().tip
		to := from
		for !on[to] {
			to = b.parents[to]
		}
		why := &model.Reason{Kind: model.ReasonRewind, At: p.began.at}
		if to >= 0 {
			why.TargetID, why.TargetIndex = b.session.Entries[to].ID, to
		}
		b.leave(from, to, why)
	}
	for _, i := range b.path(b.session.Head) {
		b.session.Entries[i].Reason = nil
	}
}

// Messages implements coding.Format.
func (f *format) Messages(in folder.In, s *coding.Session, e *coding.Entry) (list []coding.Message, err error) {
	raw, err := f.raw(in, e.File, e.Records...)
	if err != nil {
		return nil, err
	}
	v, err := coding.Parse(raw[0])
	if err != nil {
		return nil, err
	}
	if e.Event == eventCompaction {
		list = compactedOf(v)
	} else {
		list = []coding.Message{itemOf(v)}
	}
	if len(list) == 0 {
		return nil, nil
	}
	m := &list[len(list)-1]
	for _, r := range e.Said.Results {
		for k := range m.Blocks {
			m.Blocks[k].Failed = m.Blocks[k].Failed || r.Failed && m.Blocks[k].ID == r.ID
		}
	}
	for _, count := range raw[1:] {
		if v, err := coding.Parse(count); err == nil {
			m.Usage = plus(m.Usage, usageOf(v))
		}
	}
	if e.Meta != nil && (m.Role == coding.Assistant || m.Usage.Counted) {
		m.Model = e.Meta.Model
	}
	return list, nil
}

// compactedOf returns what the model reads after a compaction.
func compactedOf(line coding.Value) (list []coding.Message) {
	_, body := open(line)
	if items := body.Get("replacement_history"); items.Kind() == jsontape.Array {
		for item := range items.Each() {
			m := messageOf(item)
			m.Raw = [][]byte{item.Raw()}
			list = append(list, m)
		}
		return list
	}
	return []coding.Message{{Role: coding.User, Blocks: []coding.Block{coding.TextBlock(body.Get("message").Raw())}, Raw: [][]byte{line.Raw()}}}
}

func plus(a, b conversation.Usage) conversation.Usage {
	return conversation.Usage{
		Counted: a.Counted || b.Counted, Input: a.Input + b.Input, Output: a.Output + b.Output,
		CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
	}
}
