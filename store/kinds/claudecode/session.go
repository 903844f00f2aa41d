package claudecode

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	file, err := f.lines.Read(ctx, in, at.File)
	if err != nil {
		return nil, err
	}
	b := newBuild(file, at)
	b.markPassed()
	for _, i := range b.order {
		b.addRecord(i)
	}
	b.findHead()
	b.finishEntries()
	if at.Part != "" { // what is wrong with the file is told of the session that it is part of
		return b.s, nil
	}
	f.noteChildren(in, b)
	b.s.Title = cmp.Or(b.titles.bestTitle(b.hasID), metaOf(in, at.File).taskTitle())
	b.s.Faults = append(file.Faults(agent.Passes), chat.UnknownFaults(at.File, b.unknown)...)
	b.noteFaults()
	return b.s, nil
}

// own is the format's own data of a session.
type own struct {
	*lineage
	// agents are the files of sub-agents, by the entry that started each; those that another
	// sub-agent started are behind -1.
	agents map[int][]string
}

// lineage is which record follows which.
type lineage struct {
	file *chat.File[record]
	// up has the index of each record's parent, -1 if it has no parent. Of several records with the parent's
	// id it is the last one written before, else the last one written after; see placeForward.
	up []int
	// order has all records, each behind the one that it follows, else as they were written.
	order []int
	// at has the last record of each id.
	at map[string]int
	// first has the first record of each id that several have.
	first map[string]int
	// copies are the records that are written a second time as they were, see isCopy.
	copies map[int]bool
	// strays are the records that follow another one than they name, see adoptOrphans.
	strays map[int]bool
}

func lineageOf(file *chat.File[record]) *lineage {
	t := &lineage{file: file, up: make([]int, len(file.Records)), at: make(map[string]int, len(file.Records)), first: map[string]int{}, copies: map[int]bool{}, strays: map[int]bool{}}
	for i := range file.Records {
		is := &file.Records[i].Is
		t.up[i] = t.findParent(i)
		at, there := t.at[is.id]
		if !is.tree || is.id == "" || there && !file.Finds(at, i) {
			continue
		}
		if there && t.isCopy(i, at) {
			t.copies[i] = true
			continue
		}
		if _, known := t.first[is.id]; there && !known {
			t.first[is.id] = at
		}
		t.at[is.id] = i
	}
	t.adoptOrphans()
	t.placeForward()
	t.sortRecords()
	return t
}

// isCopy reports whether a record is another one written again, behind the same record: a second
// /compact of one process writes all that was before the first one once more.
func (t *lineage) isCopy(i, other int) bool {
	is, was := &t.file.Records[i].Is, &t.file.Records[other].Is
	return is.sum == was.sum && is.sum != 0 && t.file.Records[i].Len == t.file.Records[other].Len && t.up[i] == t.up[other]
}

// findParent returns the index of the record that i names as its parent, among the records placed so far; or -1.
func (t *lineage) findParent(i int) int {
	for _, id := range t.file.Records[i].Is.parentIDs() {
		if at, there := t.at[id]; id != "" && there && t.file.Finds(i, at) {
			return at
		}
	}
	return -1
}

// placeForward has a record follow the one that it names where that was written behind it: Claude Code
// writes from a buffer, and looks ids up in the whole file. It does not where the way would be a
// circle: a fork of Claude Code's own begins with a boundary, and has the record that this names
// behind the summary.
func (t *lineage) placeForward() {
	farthest, steps := -1, 0 // the last record that one before it follows
	for i := range t.file.Records {
		r := &t.file.Records[i]
		to := t.findParent(i)
		if t.up[i] >= 0 || !r.Is.tree || to < i {
			continue
		}
		at := to
		for ; at >= 0 && at != i && (at > i || farthest >= i) && steps < mostForward; at = t.up[at] {
			steps++
		}
		if at != i && steps < mostForward {
			t.up[i], farthest = to, max(farthest, to)
		}
	}
}

// mostForward bounds the records that are passed to find circles.
const mostForward = 5_000_000

// sortRecords fills in the order.
func (t *lineage) sortRecords() {
	t.order = make([]int, 0, len(t.up))
	sorted := make([]bool, len(t.up))
	for i := range t.up {
		from := len(t.order)
		for at := i; at >= 0 && !sorted[at]; at = t.up[at] {
			sorted[at] = true
			t.order = append(t.order, at)
		}
		slices.Reverse(t.order[from:])
	}
}

const (
	// adopted is how much older a record may be that one follows whose parent is missing.
	adopted = 5 * time.Second
	// mostAdopting bounds the records that are looked at for that.
	mostAdopting = 5_000_000
)

// adoptOrphans gives each record whose parent is not in the file the newest record of the seconds before as
// its parent. Claude Code 2.1.330 does so to build the conversation. A record without a candidate becomes a
// root, as all orphans did up to 2.1.80.
func (t *lineage) adoptOrphans() {
	var older map[bool][]int // of a sub-agent in the file and of the session, by times
	steps := 0
	for i := range t.file.Records {
		r := &t.file.Records[i]
		if !r.Is.isAdoptable() || r.Salvaged || t.findParent(i) >= 0 {
			continue
		}
		if older == nil {
			older = t.byTime()
		}
		list := older[r.Is.side]
		k := sort.Search(len(list), func(k int) bool { return t.file.Records[list[k]].Is.at.After(r.Is.at) }) - 1
		for ; k >= 0 && list[k] >= i && steps < mostAdopting; k-- { // it is written later, or itself
			steps++
		}
		if k >= 0 && list[k] < i && r.Is.at.Sub(t.file.Records[list[k]].Is.at) <= adopted {
			t.up[i], t.strays[i] = list[k], true
		}
	}
}

// isAdoptable reports whether a record names one in the conversation before it.
func (r *record) isAdoptable() bool {
	return r.tree && r.parent != "" && r.bounds == nil && !r.at.IsZero()
}

// byTime returns the records of the tree, the oldest first, and of one time the first last.
func (t *lineage) byTime() map[bool][]int {
	list := map[bool][]int{}
	for i := range t.file.Records {
		if r := &t.file.Records[i]; r.Is.tree && !r.Salvaged && !r.Is.at.IsZero() {
			list[r.Is.side] = append(list[r.Is.side], i)
		}
	}
	for _, of := range list {
		slices.SortFunc(of, func(a, b int) int {
			return cmp.Or(t.file.Records[a].Is.at.Compare(t.file.Records[b].Is.at), b-a)
		})
	}
	return list
}

// hasID reports whether there is a record of an id.
func (t *lineage) hasID(id string) bool {
	_, there := t.at[id]
	return there
}

// isFollowing reports whether a record is another one, or names it or one behind it: where the
// session goes on does not count who was adopted.
func (t *lineage) isFollowing(i, other int) bool {
	for i >= 0 && i != other && !t.strays[i] {
		i = t.up[i]
	}
	return i == other
}

// build makes a session of records.
type build struct {
	*lineage
	s    *chat.Session
	rows []row
	// nodes has for each record what is known of the way to it.
	nodes []node
	// spans are those of the first record of each entry.
	spans []chat.Span
	// passed says of the record of a message that another message follows it without what it
	// is given beside it: then that is an entry of its own.
	passed []bool
	sides  sidechains
	// last is the last record of the tree that no sub-agent wrote, or -1. pointer is the newest
	// last-prompt with a leaf.
	last    int
	pointer *record
	titles  titles
	unknown map[string]int
	done    map[answered]bool
	counted map[string]bool // the answers whose tokens are counted
	total   *model.Counted  // the newest that Claude Code counted for the session
	// request is that of the answer to come.
	request model.Facts
	// replaced has the texts that the model reads in place of results, by call id.
	replaced map[string]string
	missing  []string // records that a compaction keeps and the file does not have
	kept     int      // records from one to another that compactions keep, see chat.MostKept
	headed   bool     // the messages before a compaction are not in the file
}

// answered is a call of the answer that is an entry.
type answered struct {
	entry int
	call  string
}

// node describes the path from the root to a record.
type node struct {
	// entry is the last entry on the path, or -1.
	entry int
	// bounds is the record of a boundary that no entry follows, or -1.
	bounds int
	// lost is the parent of a record on the way, which is not in the file or follows it.
	lost string
}

// row holds more data of an entry.
type row struct {
	// record is the first that it is made of.
	record int
	// asked is, of a result, the entry of the answer that made the call, else the entry
	// itself; last is, of an answer, the last result of its calls.
	asked, last int
	words       bool // the message has some
	// errors counts the requests that failed behind it, and why is how the last did.
	errors int
	why    string
	times  model.Facts
}

func newBuild(file *chat.File[record], at chat.Spot) *build {
	t := lineageOf(file)
	in := sidechains{}
	if !isAgent(at.File) {
		in = sidechainsOf(t)
	}
	s := &chat.Session{Spot: at, Head: -1, Own: &own{lineage: t}}
	entries, answer := 0, ""
	for i := range file.Records {
		if is := &file.Records[i].Is; is.speaks && (is.answer == "" || is.answer != answer) {
			entries, answer = entries+1, is.answer
		}
	}
	s.GrowEntries(entries)
	return &build{
		lineage: t, sides: in, s: s, rows: make([]row, 0, entries), spans: make([]chat.Span, 0, entries),
		nodes: slices.Repeat([]node{{-1, -1, ""}}, len(file.Records)), passed: make([]bool, len(file.Records)), last: -1, titles: titles{}, unknown: map[string]int{}, done: map[answered]bool{}, counted: map[string]bool{}, replaced: map[string]string{},
	}
}

// addRecord adds what a record says.
func (b *build) addRecord(i int) {
	is, salvaged := &b.file.Records[i].Is, b.file.Records[i].Salvaged
	if b.isForeign(i) {
		return
	}
	if is.within != "" && b.s.Spot.Part != "" {
		n := node{-1, -1, ""}
		if b.last >= 0 {
			n.entry = b.nodes[b.last].entry
		}
		b.nodes[i], b.last = node{b.addMessage(i, n), -1, ""}, i
		return
	}
	if types()[is.kind] == nil {
		b.unknown[is.kind]++
	}
	b.titles.addTitle(is)
	switch {
	case is.kind == typeLastPrompt && is.leaf != "" && !salvaged:
		b.pointer = is
	case is.kind == typeReplaced:
		for _, r := range is.facts {
			b.replaced[r.Label] = r.Value
		}
	case is.kind == typeRequest:
		b.request = is.facts
	case is.kind == typeCost && !salvaged:
		b.total = is.total
		if b.last >= 0 && b.nodes[b.last].entry >= 0 {
			b.rows[b.nodes[b.last].entry].times = is.facts
		}
	}
	b.s.Project = cmp.Or(b.s.Project, is.meta.Dir)
	if !is.tree || b.copies[i] {
		return
	}
	b.nodes[i] = b.placeRecord(i)
	if b.isMain(is.side) && !salvaged {
		b.last = max(b.last, i)
	}
}

// placeRecord returns the node of a record, and adds the record to the entries.
func (b *build) placeRecord(i int) node {
	is, n := &b.file.Records[i].Is, node{-1, -1, ""}
	if p := b.up[i]; p >= 0 {
		n = b.nodes[p]
	} else if is.bounds != nil && (is.parentIDs()[0] != "" || len(b.s.Entries) == 0) {
		b.headed = true
	}
	if is.bounds == nil && (b.up[i] < 0 || b.strays[i]) {
		n.lost = is.parent
	}
	switch {
	case is.bounds != nil:
		n.bounds = i
	case is.kind == typeSystem && is.text != "" && n.entry >= 0:
		row := &b.rows[n.entry]
		row.errors, row.why = row.errors+1, is.text
	case is.speaks:
		return node{b.addMessage(i, n), -1, ""}
	case is.given != nil:
		return node{b.addAttachment(i, n), -1, ""}
	}
	return n
}

// addAttachment adds what the model is given beside the message that a node leads to, and returns the last
// entry on the way. What stands behind an answer, or before all messages, is an entry.
func (b *build) addAttachment(i int, n node) int {
	r := &b.file.Records[i]
	if n.entry >= 0 && b.isRewritten(i, n.entry) {
		return n.entry
	}
	if n.entry < 0 || n.bounds >= 0 || r.Salvaged || !b.takesAttachments(n.entry) {
		at := b.addEntry(i, b.tailOf(n.entry), n)
		e := &b.s.Entries[at]
		e.Event, e.Title = eventContext, r.Is.given.titleLine()
		return at
	}
	e := &b.s.Entries[n.entry]
	e.Records = append(e.Records, r.Span)
	return n.entry
}

// takesAttachments reports whether what is given behind an entry is a part of it: of any that is no answer
// of the model, and that no message follows without what is given.
func (b *build) takesAttachments(entry int) bool {
	return b.s.Entries[entry].Said.Role != chat.Assistant && !b.passed[b.rows[entry].record]
}

// markPassed notes the messages that another one follows without what the model is given between.
func (b *build) markPassed() {
	near := make([]int, len(b.nodes)) // the last message on the way to each record, or what is given, itself; -1 for none
	for _, i := range b.order {
		near[i] = -1
		if up := b.up[i]; up >= 0 {
			near[i] = near[up]
		}
		switch is := &b.file.Records[i].Is; {
		case is.speaks && near[i] >= 0:
			b.passed[near[i]] = true
			near[i] = i
		case is.speaks, is.given != nil:
			near[i] = i
		}
	}
}

// addMessage adds a message behind a node, and returns the last entry on the way to it. The
// records of one answer are one entry. The results of its calls name the records that made
// the calls, so that they would be branches: they are sent together, and follow one another.
func (b *build) addMessage(i int, n node) int {
	r := &b.file.Records[i]
	if n.entry < 0 {
		return b.addEntry(i, -1, n)
	}
	asked := b.rows[n.entry].asked
	switch answer := b.answerID(asked); {
	case r.Salvaged:
	case b.isRewritten(i, n.entry):
		return n.entry
	case answer != "" && answer == r.Is.answer:
		b.joinAnswer(asked, r)
		return n.entry
	case answer != "" && b.takeResults(asked, &r.Is):
		at := b.addEntry(i, b.rows[asked].last, n)
		b.rows[at].asked, b.rows[asked].last = asked, at
		return at
	}
	return b.addEntry(i, b.tailOf(n.entry), n)
}

// isRewritten reports whether a record behind the summary of a compaction is one from before it,
// written again: /branch writes a conversation in the order in which the model reads it. The
// state at the summary then has the entry of that one.
func (b *build) isRewritten(i, summary int) bool {
	e := &b.s.Entries[summary]
	first, twice := b.first[b.file.Records[i].Is.id]
	if !twice || first == i || e.Context == nil {
		return false
	}
	if was := &b.file.Records[first].Is; !was.speaks && was.given == nil {
		return false // another record of that id, which has no entry of its own
	}
	kept := b.nodes[first].entry
	for at := b.s.Before(summary); ; at = b.s.Before(at) {
		if b.kept++; at < 0 || b.kept > chat.MostKept {
			return false
		}
		if at == kept {
			break
		}
	}
	if !slices.Contains(e.Context, kept) {
		e.Context = append(e.Context, kept)
	}
	return true
}

// answerID returns the id of the model's answer in an entry, "" if the entry is no answer.
func (b *build) answerID(entry int) string { return b.file.Records[b.rows[entry].record].Is.answer }

// takeResults reports whether a message has the first results of calls of an answer,
// and notes them.
func (b *build) takeResults(asked int, is *record) bool {
	for _, r := range is.said.Results {
		if b.done[answered{asked, r.ID}] {
			return false
		}
	}
	for _, r := range is.said.Results {
		b.done[answered{asked, r.ID}] = true
	}
	return len(is.said.Results) > 0
}

// tailOf returns the entry that what follows an entry is behind: of a result the last one of
// the same answer.
func (b *build) tailOf(entry int) int {
	if entry < 0 {
		return entry
	}
	if asked := b.rows[entry].asked; asked != entry {
		return b.rows[asked].last
	}
	return entry
}

// joinAnswer adds a record to the entry of the answer that it is a part of.
func (b *build) joinAnswer(to int, r *chat.Record[record]) {
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

// addEntry adds the entry of a message behind another one.
func (b *build) addEntry(i, before int, n node) int {
	r := &b.file.Records[i]
	is, at := &r.Is, len(b.s.Entries)
	b.spans = append(b.spans, r.Span)
	first := len(b.spans) - 1
	e := chat.Entry{ID: r.Name(is.id), Parent: n.lost, At: is.at, Said: is.said, Event: is.event, File: b.s.Spot.File, Records: b.spans[first:len(b.spans):len(b.spans)]}
	was := &chat.Meta{}
	if before >= 0 {
		was = b.s.Entries[before].Meta
		e.Facts.Add("names as its parent", n.lost)
	}
	e.Meta = was.With(is.meta)
	if is.failed {
		e.Marks |= model.MarkError
	}
	if n.bounds >= 0 {
		b.addCompaction(&e, at, n.bounds)
	}
	if is.answer != "" {
		e.Facts, b.request = append(e.Facts, b.request...), nil
		e.Own, b.counted[is.answer] = again(b.counted[is.answer]), true
	}
	b.rows = append(b.rows, row{record: i, asked: at, last: at, words: is.words})
	return b.s.Add(e, before)
}

// again says of an answer that its tokens are counted at another entry.
type again bool

// addCompaction sets the messages that the model reads after a compaction: the summary behind the boundary r, and
// the kept messages. Kept messages stay at their place in the file and are not written again. A fork has them
// behind the summary.
func (b *build) addCompaction(e *chat.Entry, at, r int) {
	is := b.file.Records[r].Is.bounds
	keeps, missing := b.keptAt(r)
	b.missing = append(b.missing, missing...)
	taken := map[int]int{} // how many records of an entry
	for _, keep := range keeps {
		i := b.at[keep]
		if is := &b.file.Records[i].Is; b.nodes[i].entry >= 0 && i < r && (is.speaks || is.given != nil) {
			k := b.nodes[i].entry
			if taken[k]++; taken[k] == 1 {
				e.Context = append(e.Context, k)
			}
		}
	}
	for _, k := range e.Context { // a state is made of whole entries
		if kept := &b.s.Entries[k]; taken[k] < len(kept.Records) {
			e.Facts.Add("keeps in part", fmt.Sprintf("%s: %d of %s; the state has all", kept.ID, taken[k], model.Count(len(kept.Records), "record")))
		}
	}
	if is.anchor == b.file.Records[r].Is.id {
		e.Context = append(e.Context, at)
	} else {
		e.Context = slices.Insert(e.Context, 0, at)
	}
	e.Facts = append(e.Facts, b.file.Records[r].Is.facts...)
}

// keptAt returns the ids of the records that the compaction of a boundary keeps, and those that the
// file does not have: Claude Code keeps all or none.
func (b *build) keptAt(r int) (keeps, missing []string) {
	is := b.file.Records[r].Is.bounds
	if keeps = is.keeps; len(keeps) == 0 {
		keeps = b.segmentIDs(is.head, is.tail)
	}
	missing = slices.DeleteFunc(slices.Clone(keeps), func(id string) bool { return b.hasID(id) && b.file.Finds(r, b.at[id]) })
	if len(missing) > 0 {
		keeps = nil
	}
	return keeps, missing
}

// segmentIDs returns the ids of the records from one to another.
func (b *build) segmentIDs(head, tail string) (ids []string) {
	for id := tail; id != "" && b.kept < chat.MostKept; b.kept++ {
		ids = append(ids, id)
		i, there := b.at[id]
		if !there || id == head {
			break
		}
		if i = b.up[i]; i < 0 {
			return append(ids, head)
		}
		id = b.file.Records[i].Is.id
	}
	slices.Reverse(ids)
	return ids
}

// findHead finds the entry that Claude Code goes on from: that of the newest last-prompt, or of
// the last record where that follows it, or where the last-prompt names no record, or one from
// before a compaction. Times do not count.
func (b *build) findHead() {
	at := b.last
	if b.pointer != nil {
		if named, there := b.at[b.pointer.leaf]; there && !b.file.Records[named].Salvaged && !b.isFollowing(at, named) && !b.isDropped(named) {
			at, b.s.Pointed = named, true
		}
	}
	if at < 0 || b.nodes[at].entry < 0 {
		b.s.Pointed = false
		return
	}
	b.s.Head = b.tailOf(b.nodes[at].entry)
	if b.total != nil {
		b.s.Entries[b.s.Head].Facts.Count(*b.total)
	}
}

// isDropped reports whether a record is written before the last boundary, which does not keep it:
// Claude Code drops it when it reads the file, on whichever branch it is.
func (b *build) isDropped(i int) bool {
	for r := len(b.file.Records) - 1; r > i; r-- {
		if at := &b.file.Records[r]; at.Is.bounds != nil && at.Is.tree && !at.Salvaged && b.isMain(at.Is.side) {
			keeps, _ := b.keptAt(r)
			return !slices.Contains(keeps, b.file.Records[i].Is.id)
		}
	}
	return false
}

// finishEntries notes what only the whole file tells: failures, and why branches were left.
func (b *build) finishEntries() {
	next := map[int]int{} // the entry on the path behind another, of -1 the first
	for at := b.s.Head; at >= 0; at = b.s.Before(at) {
		next[b.s.Before(at)] = at
	}
	var compacted *model.Reason // why all before the path is off it
	first, there := next[-1]
	if there && (b.s.Entries[first].Context != nil || b.s.Entries[first].Event == eventCompaction) {
		compacted = &model.Reason{Kind: model.ReasonCompaction, At: b.s.Entries[first].At}
	}
	onPath := func(i int) bool {
		on, there := next[b.s.Before(i)]
		return there && on == i
	}
	leaf, compacts, broken := make([]bool, len(b.rows)), make([]bool, len(b.rows)), b.isBroken()
	for i := range b.rows {
		if leaf[i] = true; b.s.Before(i) >= 0 {
			leaf[b.s.Before(i)] = false
		}
	}
	for i := len(b.rows) - 1; i >= 0; i-- { // a compaction is on the entry, or on one behind it
		compacts[i] = compacts[i] || b.s.Entries[i].Context != nil
		if before := b.s.Before(i); before >= 0 && compacts[i] {
			compacts[before] = true
		}
	}
	for i := range b.rows {
		e, row := &b.s.Entries[i], &b.rows[i]
		if row.errors > 0 {
			e.Facts.Add("failed requests", fmt.Sprintf("%d, the last: %s", row.errors, row.why))
			if leaf[i] {
				e.Marks |= model.MarkError
			}
		}
		for _, r := range e.Said.Results {
			e.Facts.Add("the model reads instead", b.replaced[r.ID])
		}
		e.Facts = append(e.Facts, row.times...)
		before := b.s.Before(i)
		switch {
		case onPath(i), leaf[i] && e.Marks.Has(model.MarkError): // the last is known by its mark
		case b.file.Records[row.record].Salvaged:
			e.Reason = chat.PassedOver
		case before >= 0 && !onPath(before):
			e.Reason = b.s.Entries[before].Reason
		case !b.isMain(b.file.Records[row.record].Is.side):
			e.Reason = &model.Reason{Kind: model.ReasonSidechain}
		case before < 0 && broken:
			e.Reason = &model.Reason{Kind: model.ReasonChainBroken}
		case i < first: // and it is a first one
			e.Reason = compacted
		case before >= 0 && i < next[before]:
			after := next[before]
			e.Reason = &model.Reason{Kind: model.ReasonRewind, TargetID: b.s.Entries[before].ID, TargetIndex: before, At: b.s.Entries[after].At}
			switch {
			case b.file.Records[b.rows[after].record].Is.onwards:
				e.Reason.Kind = model.ReasonCompaction
			case compacts[i]: // Claude Code rewinds to nothing before a compaction
				e.Reason.Kind = model.ReasonChainBroken
			}
		}
	}
}

// isBroken reports whether the conversation is in pieces: a message that is no first one follows
// none. Claude Code goes on from one piece, and does not read the others.
func (b *build) isBroken() bool {
	for i := range b.rows {
		e, is := &b.s.Entries[i], &b.file.Records[b.rows[i].record]
		if b.s.Before(i) < 0 && !is.Salvaged && b.isMain(is.Is.side) && (e.Parent != "" || i > 0 && e.Said.Role >= chat.Assistant) && e.Context == nil {
			return true
		}
	}
	return false
}

// isMain reports whether a record is of the session's own conversation: side says that it is
// marked as a sub-agent's.
func (b *build) isMain(side bool) bool {
	return !side || isAgent(b.s.Spot.File) || b.s.Spot.Part != ""
}

// noteChildren notes which sub-agents an entry started: the results name them, and so do their
// own files.
func (f *format) noteChildren(in engine.In, b *build) {
	callers, started := map[string]int{}, map[string]string{} // the entries by their calls, the calls by the names of agents
	for i := range b.s.Entries {
		said := &b.s.Entries[i].Said
		for _, c := range said.Calls {
			callers[c.ID] = i
		}
		if agent := b.file.Records[b.rows[i].record].Is.agent; agent != "" && len(said.Results) > 0 {
			started[agentPrefix+agent] = said.Results[0].ID
		}
	}
	if len(callers) == 0 {
		return
	}
	agents := map[int][]string{}
	b.s.Own.(*own).agents = agents
	note := func(file, call string) {
		at := f.Spot(file)
		child := cmp.Or(f.ID(in, at), at.ID)
		i, there := callers[call]
		switch {
		case child == b.s.Spot.ID: // as 2.0 wrote it
		case !there:
			agents[-1] = append(agents[-1], file)
		default:
			agents[i] = append(agents[i], file)
			b.s.Entries[i].Starts(child)
		}
	}
	dir := path.Dir(b.s.Spot.File)
	if path.Base(dir) == subagents {
		dir = path.Dir(path.Dir(dir))
	}
	session, _, _ := strings.Cut(b.s.Spot.ID, "/")
	own := tree.Join(dir, session)
	b.noteAgents(in, callers, tree.Join(own, subagents), dir)
	defer in.Hold(tree.Join(own, subagents))()
	for _, file := range agentsIn(in, own) {
		name := strings.TrimSuffix(path.Base(file), suffix)
		note(file, cmp.Or(metaOf(in, file).call, started[name]))
		delete(started, name)
	}
	for _, name := range slices.Sorted(maps.Keys(started)) { // as 2.0 wrote them
		if !agentNames().MatchString(name) {
			continue
		}
		file := tree.Join(dir, name+suffix)
		if at, err := in.Stamp(file); err == nil && at.Kind != files.Nothing {
			note(file, started[name])
		}
	}
}

// agentMeta is the content of the .meta.json file of a sub-agent.
type agentMeta struct{ call, kind, description string }

// taskTitle returns the task of the sub-agent, "" if it is unknown.
func (m agentMeta) taskTitle() string {
	if m.description == "" {
		return ""
	}
	return strings.TrimPrefix(m.kind+": "+m.description, ": ")
}

// metaFile returns the name of the .meta.json file of a sub-agent.
func metaFile(file string) string { return strings.TrimSuffix(file, suffix) + ".meta.json" }

// metaOf reads the .meta.json file of a sub-agent. It returns the zero value for any other file.
func metaOf(in engine.In, file string) (m agentMeta) {
	if !isAgent(file) {
		return m
	}
	head, _ := tree.Head(in.Tree, metaFile(file), 64<<10) // there may be none
	v, _ := chat.Parse(head)                              // what is no JSON has no members
	return agentMeta{v.Get("toolUseId").Text(), v.Get("agentType").Words(), v.Get("description").Words()}
}

// Messages implements chat.Format: an answer of several records is one message.
func (f *format) Messages(in engine.In, _ *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	records, err := chat.Values(in.Tree, e.File, e.Records)
	if err != nil {
		return nil, err
	}
	all := messageOf(records[0])
	for _, r := range records[1:] { // what is given stands behind the message
		m := messageOf(r)
		all.Blocks, all.Raw = append(all.Blocks, m.Blocks...), append(all.Raw, m.Raw...)
		all.Usage = mergeUsage(all.Usage, m.Usage)
	}
	if counted, _ := e.Own.(again); bool(counted) {
		all.Usage = conversation.Usage{}
	}
	return []chat.Message{all}, nil
}

// mergeUsage merges the usage that two records count for one answer. Each record repeats all counts that are
// known at the time, or has no counts.
func mergeUsage(a, b conversation.Usage) conversation.Usage {
	return conversation.Usage{
		Counted: a.Counted || b.Counted, Input: max(a.Input, b.Input), Output: max(a.Output, b.Output),
		CacheRead: max(a.CacheRead, b.CacheRead), CacheWrite: max(a.CacheWrite, b.CacheWrite),
		Milliseconds: max(a.Milliseconds, b.Milliseconds), Cost: max(a.Cost, b.Cost), Priced: a.Priced || b.Priced,
	}
}
