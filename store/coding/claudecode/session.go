package claudecode

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/coding"
	"hindcast/store/folder"
)

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	b := newBuild(file, at)
	for i := range file.Records {
		b.add(i)
	}
	b.head()
	b.finish()
	f.children(in, b)
	b.s.Title = cmp.Or(b.titles.custom, b.titles.ai, b.titles.summary, f.metaOf(in, at.File).title())
	b.s.Faults = append(file.Faults(agent.Passes), b.faults()...)
	return b.s, nil
}

// own is what a session keeps.
type own struct {
	file *coding.File[record]
	// agents are the files of sub-agents, by the entry that started each; those that another
	// sub-agent started are behind -1.
	agents map[int][]string
}

// build makes a session of records.
type build struct {
	s    *coding.Session
	file *coding.File[record]
	// at has the last record of each id.
	at   map[string]int
	rows []row
	// nodes has for each record what is known of the way to it.
	nodes []node
	// last is the last record of the tree that no sub-agent wrote, -1 for none; pointer the
	// newest last-prompt with a leaf.
	last    int
	pointer *record
	mode    string
	titles  titles
	unknown map[string]int
	missing []string // records that a compaction keeps and the file does not have
}

// node is what is known of the way to a record.
type node struct {
	state state
	// entry is the last one on the way, -1 for none.
	entry int
	// bounds is the record of a boundary with no entry behind it, -1 for none.
	bounds int
	// lost is the parent of the first record on the way, which the file does not have.
	lost string
}

type state uint8

const (
	unplaced state = iota
	onTheWay
	placed
)

// row is what is known of an entry besides.
type row struct {
	// record is the first that it is made of, and parent the entry before it, -1 for none.
	record, parent int
	// answer is the id of the model's answer, "" of none, and words says that it has some.
	answer string
	words  bool
	// last is the last of the results of its calls, -1 for none, and done has the calls that
	// they answer.
	last int
	done map[string]bool
	// errors counts the requests that failed behind it, and why is how the last did.
	errors int
	why    string
	cost   model.Facts
}

func newBuild(file *coding.File[record], at coding.Spot) *build {
	b := &build{s: &coding.Session{Spot: at, Head: -1, Own: &own{file: file}}, file: file, at: make(map[string]int, len(file.Records)), nodes: make([]node, len(file.Records)), last: -1, unknown: map[string]int{}}
	for i := range file.Records {
		if is := &file.Records[i].Is; is.tree && is.id != "" {
			b.at[is.id] = i
		}
	}
	return b
}

// isAgent reports whether the session is that of a sub-agent.
func (b *build) isAgent() bool {
	return strings.HasPrefix(path.Base(b.s.Spot.File), agentPrefix)
}

// add adds a record, those before it on its way first: a record may be written before the
// one that it names.
func (b *build) add(i int) {
	is := &b.file.Records[i].Is
	if types[is.kind] == nil {
		b.unknown[is.kind]++
	}
	b.titles.add(is)
	if is.meta.Mode != "" {
		b.mode = is.meta.Mode
	}
	if is.kind == typeLastPrompt && is.text != "" {
		b.pointer = is
	}
	if is.facts != nil && b.last >= 0 && b.nodes[b.last].entry >= 0 {
		b.rows[b.nodes[b.last].entry].cost = is.facts
	}
	if b.s.Project == "" {
		b.s.Project = is.meta.Dir
	}
	if !is.tree {
		return
	}
	var way []int
	for at := i; at >= 0 && b.nodes[at].state == unplaced; at = b.before(at) {
		b.nodes[at].state = onTheWay
		way = append(way, at)
	}
	for _, at := range slices.Backward(way) {
		b.place(at)
	}
	if !is.side || b.isAgent() {
		b.last = i
	}
}

// before returns the record that a record names, -1 for none.
func (b *build) before(i int) int {
	if at, there := b.at[b.file.Records[i].Is.parent]; there && at != i {
		return at
	}
	return -1
}

// place gives a record its place behind the one that it names.
func (b *build) place(i int) {
	is, n := &b.file.Records[i].Is, &b.nodes[i]
	*n = node{state: placed, entry: -1, bounds: -1}
	if p := b.before(i); p >= 0 && b.nodes[p].state == placed {
		n.entry, n.bounds, n.lost = b.nodes[p].entry, b.nodes[p].bounds, b.nodes[p].lost
	} else {
		n.lost = is.parent
	}
	switch {
	case is.bounds != nil:
		n.bounds = i
	case is.kind == typeSystem && is.text != "" && n.entry >= 0:
		row := &b.rows[n.entry]
		row.errors, row.why = row.errors+1, is.text
	case is.speaks:
		n.entry = b.message(i, *n)
		n.bounds, n.lost = -1, ""
	}
}

// message adds a message behind a node, and returns the last entry on the way to it. The
// records of one answer are one entry. The results of its calls name the records that made
// the calls, so that they would be branches: they are sent together, and follow one another.
func (b *build) message(i int, n node) int {
	r := &b.file.Records[i]
	before, asked := n.entry, n.entry
	for asked >= 0 && b.s.Entries[asked].Said.Role == coding.Tool {
		asked = b.rows[asked].parent
	}
	if asked >= 0 && b.rows[asked].answer != "" {
		answer := &b.rows[asked]
		switch {
		case r.Is.answer == answer.answer:
			b.join(asked, r)
			return before
		case b.answers(asked, &r.Is):
			before = max(asked, answer.last)
			defer func() { b.rows[asked].last = len(b.s.Entries) - 1 }()
		case before != asked && b.isLate(before, asked):
			before = answer.last
		}
	}
	return b.entry(i, before, n)
}

// answers notes the calls of an answer that a message has the results of, and reports whether
// it has some and none had come before.
func (b *build) answers(asked int, is *record) bool {
	row := &b.rows[asked]
	if slices.ContainsFunc(is.said.Results, func(r coding.Result) bool { return row.done[r.ID] }) {
		return false
	}
	if row.done == nil {
		row.done = map[string]bool{}
	}
	for _, r := range is.said.Results {
		row.done[r.ID] = true
	}
	return len(is.said.Results) > 0
}

// isLate reports whether the last result of an answer follows another one of its results.
func (b *build) isLate(result, asked int) bool {
	for at := b.rows[asked].last; at > asked; at = b.rows[at].parent {
		if at == result {
			return true
		}
	}
	return false
}

// join adds a record to the entry of the answer that it is a part of.
func (b *build) join(to int, r *coding.Record[record]) {
	e, row := &b.s.Entries[to], &b.rows[to]
	e.Records = append(e.Records, r.Span)
	e.Said.Calls = append(e.Said.Calls, r.Is.said.Calls...)
	if r.Is.words && !row.words {
		e.Said.Words, row.words = r.Is.said.Words, true
	}
	if !row.words && len(e.Said.Calls) > 0 { // a thought is no title of a call
		e.Said.Words = ""
	}
}

// entry adds the entry of a message behind another one.
func (b *build) entry(i, before int, n node) int {
	r := &b.file.Records[i]
	is, at := &r.Is, len(b.s.Entries)
	e := coding.Entry{ID: is.id, At: is.at, Said: is.said, Event: is.event, File: b.s.Spot.File, Records: []coding.Span{r.Span}}
	if e.ID == "" {
		e.ID = fmt.Sprintf("line-%d", r.Number)
	}
	var was *coding.Meta
	if before >= 0 {
		e.Parent, was = b.s.Entries[before].ID, b.s.Entries[before].Meta
	} else {
		e.Parent = n.lost
	}
	e.Meta = b.meta(was, &is.meta)
	if is.failed {
		e.Marks |= model.MarkError
	}
	if is.kind == typeAttachment {
		e.Event = eventQueued
	}
	if n.bounds >= 0 {
		b.compact(&e, at, b.file.Records[n.bounds].Is.bounds, b.file.Records[n.bounds].Is.id)
	}
	b.s.Entries = append(b.s.Entries, e)
	b.rows = append(b.rows, row{record: i, parent: before, answer: is.answer, words: is.words, last: -1})
	return at
}

// meta returns what an entry ran with: what its record says, else what the one before did.
func (b *build) meta(was, is *coding.Meta) *coding.Meta {
	now := coding.Meta{}
	if was != nil {
		now = *was
	}
	now.Model, now.Dir, now.Branch = cmp.Or(is.Model, now.Model), cmp.Or(is.Dir, now.Dir), cmp.Or(is.Branch, now.Branch)
	now.Version, now.Mode = cmp.Or(is.Version, now.Version), cmp.Or(is.Mode, now.Mode, b.mode)
	if was != nil && now == *was {
		return was
	}
	return &now
}

// compact says what the model reads from a summary on: it, and the messages that are kept,
// which stay where they are and are not written again.
func (b *build) compact(e *coding.Entry, at int, is *boundary, id string) {
	keeps := is.keeps
	for r := is.tail; len(is.keeps) == 0 && r != ""; {
		i, there := b.at[r]
		if keeps = append(keeps, r); !there || r == is.head || len(keeps) > len(b.at) {
			slices.Reverse(keeps)
			break
		}
		r = b.file.Records[i].Is.parent
	}
	e.Context = []int{}
	taken := map[int]bool{}
	for _, keep := range keeps {
		i, there := b.at[keep]
		if !there || b.nodes[i].state != placed {
			b.missing = append(b.missing, keep)
			continue
		}
		if k := b.nodes[i].entry; k >= 0 && !taken[k] && b.file.Records[i].Is.speaks {
			taken[k] = true
			e.Context = append(e.Context, k)
		}
	}
	if is.anchor == id {
		e.Context = append(e.Context, at)
	} else {
		e.Context = slices.Insert(e.Context, 0, at)
	}
	e.Facts = append(e.Facts, is.facts...)
}

// head finds the entry that Claude Code goes on from: that of the newest last-prompt, or of
// the last record where that follows it, or where the last-prompt names no record. Times do
// not count.
func (b *build) head() {
	at := b.last
	if b.pointer != nil {
		if i, there := b.at[b.pointer.text]; there && !b.follows(b.last, i) {
			at, b.s.Pointed = i, true
		}
	}
	if at >= 0 {
		b.s.Head = b.nodes[at].entry
	}
	if b.s.Head < 0 {
		b.s.Pointed = false
		return
	}
	for asked := b.s.Head; asked >= 0; asked = b.rows[asked].parent {
		if b.s.Entries[asked].Said.Role != coding.Tool {
			if b.isLate(b.s.Head, asked) {
				b.s.Head = b.rows[asked].last
			}
			break
		}
	}
}

// follows reports whether a record is another one, or is behind it.
func (b *build) follows(i, other int) bool {
	for n := 0; i >= 0 && n <= len(b.nodes); n++ {
		if i == other {
			return true
		}
		i = b.before(i)
	}
	return false
}

// finish notes what only the whole file tells: failures, and why branches were left.
func (b *build) finish() {
	s := b.s
	onPath, parent, leaf := make([]bool, len(b.rows)), make([]int, len(b.rows)), make([]bool, len(b.rows))
	for at := s.Head; at >= 0; at = b.rows[at].parent {
		onPath[at] = true
	}
	next := map[int]int{} // the entry on the path behind another
	for i := range b.rows {
		leaf[i], parent[i] = true, b.rows[i].parent
		if parent[i] >= 0 {
			leaf[parent[i]] = false
		}
		if onPath[i] {
			next[parent[i]] = i
		}
	}
	for i := range b.rows {
		e, row := &s.Entries[i], &b.rows[i]
		if row.errors > 0 {
			e.Facts.Add("failed requests", fmt.Sprintf("%d, the last: %s", row.errors, row.why))
			if leaf[i] {
				e.Marks |= model.MarkError
			}
		}
		e.Facts = append(e.Facts, row.cost...)
		before := parent[i]
		switch {
		case onPath[i]:
		case before >= 0 && !onPath[before]:
			e.Reason = s.Entries[before].Reason
		case b.file.Records[row.record].Is.side && !b.isAgent():
			e.Reason = &model.Reason{Kind: model.ReasonSidechain}
		case before >= 0 && i < next[before]:
			e.Reason = &model.Reason{Kind: model.ReasonRewind, TargetID: s.Entries[before].ID, At: s.Entries[next[before]].At}
		}
	}
	for i := len(b.rows) - 1; i >= 0; i-- {
		if e := &s.Entries[i]; leaf[i] && !onPath[i] && e.Marks.Has(model.MarkError) {
			e.Reason = &model.Reason{Kind: model.ReasonFailedLeaf}
		}
	}
}

// children notes which sub-agents an entry started: the results name them, and so do their
// own files.
func (f *format) children(in folder.In, b *build) {
	session, _, _ := strings.Cut(b.s.Spot.ID, "/")
	dir := path.Dir(b.s.Spot.File)
	if path.Base(dir) == subagents {
		dir = path.Dir(path.Dir(dir))
	}
	caller := map[string]int{}
	for i := range b.s.Entries {
		for _, c := range b.s.Entries[i].Said.Calls {
			caller[c.ID] = i
		}
	}
	if len(caller) == 0 {
		return
	}
	agents := map[int][]string{}
	b.s.Own.(*own).agents = agents
	started := map[string]string{} // the calls by the ids of agents
	for i := range b.s.Entries {
		for _, id := range b.file.Records[b.rows[i].record].Is.agents {
			for _, r := range b.s.Entries[i].Said.Results {
				started[agentPrefix+id] = r.ID
			}
		}
	}
	note := func(file, call string) {
		child := f.Spot(file).ID
		if child == b.s.Spot.ID {
			return
		}
		i, there := caller[call]
		if !there {
			agents[-1] = append(agents[-1], file)
			return
		}
		agents[i] = append(agents[i], file)
		if e := &b.s.Entries[i]; e.Child == "" {
			e.Child = child
		} else {
			e.Facts.Add("sub-agent", child)
		}
	}
	for _, file := range f.agents(in, folder.Join(dir, session)) {
		name := strings.TrimSuffix(path.Base(file), suffix)
		note(file, cmp.Or(f.metaOf(in, file).call, started[name]))
		delete(started, name)
	}
	for name, call := range started {
		if !agentNames.MatchString(name) {
			continue
		}
		file := folder.Join(dir, name+suffix)
		if at, err := in.Stamp(file); err == nil && at.Size > 0 {
			f.learnParent(in, file)
			note(file, call)
		}
	}
}

// agentMeta is what stands beside the file of a sub-agent.
type agentMeta struct{ call, kind, description string }

// title returns what the sub-agent is for, "" where that is not known.
func (m agentMeta) title() string {
	if m.description == "" {
		return ""
	}
	return strings.TrimPrefix(m.kind+": "+m.description, ": ")
}

// metaFile returns the name of what stands beside the file of a sub-agent.
func metaFile(file string) string { return strings.TrimSuffix(file, suffix) + ".meta.json" }

// metaOf returns what stands beside a file, nothing where it is no sub-agent's.
func (f *format) metaOf(in folder.In, file string) (m agentMeta) {
	if !strings.HasPrefix(path.Base(file), agentPrefix) {
		return m
	}
	head, err := coding.Head(in.Tree, metaFile(file), 64<<10)
	if err != nil {
		return m
	}
	if v, err := coding.Parse(head); err == nil {
		m.call, m.kind, m.description = v.Get("toolUseId").Text(), v.Get("agentType").Words(), v.Get("description").Words()
	}
	return m
}

// Messages implements coding.Format: an answer of several records is one message.
func (f *format) Messages(in folder.In, _ *coding.Session, e *coding.Entry) (list []coding.Message, err error) {
	raw, err := coding.Raw(in.Tree, e.File, e.Records)
	for i := 0; err == nil && i < len(raw); i++ {
		var v coding.Value
		if v, err = coding.Parse(raw[i]); err != nil {
			break
		}
		m := messageOf(v)
		if i == 0 {
			list = append(list, m)
			continue
		}
		all := &list[0]
		all.Blocks, all.Raw = append(all.Blocks, m.Blocks...), append(all.Raw, m.Raw...)
		all.Usage = m.Usage // the last record knows all that was written
	}
	return list, err
}
