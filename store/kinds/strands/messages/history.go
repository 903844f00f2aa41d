package messages

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/store/media/journal"
)

// A journal has room for some 450 entries that each change 10,000 messages, and a listing
// goes through all of them. So an entry is read once, and what it says of messages is kept
// in numbers of contents.

// histories are what the journal tells of each log, by the folder of its messages.
type histories struct {
	mu sync.Mutex
	of map[string]*history
}

// entryKey tells an entry from that of another journal.
type entryKey struct {
	id int64
	at time.Time
}

// history is what the journal tells of the messages in one folder.
type history struct {
	read     []entryKey
	files    []messageFile
	fileOf   map[string]int32
	contents []content
	number   map[contentKey]int32
	entries  []historyEntry
	// parts are those of the journal that were read, and lists what entries say that have
	// the same of them.
	parts map[*journal.Part]*partSaid
	lists map[string][]mention
	names map[string]*names

	// now is what the entries tell up to now, and before the predecessors of the contents
	// where the log has the files of log. Both are kept until they change.
	now    outcome
	before []int32
	log    []int32
	newest int // the last entry that counted
}

// content is one content of a message file, in one mode.
type content struct {
	file    int32
	version journal.Version
	// as is the first one of the same bytes, by whose number it is known.
	as int32
}

type contentKey struct {
	name, sum string
	mode      fs.FileMode
}

// historyEntry is what one entry says of the folder.
type historyEntry struct {
	// entry is its place among those of the session.
	entry int
	// changes are those of messages, in the order of the log.
	changes []mention
	// forgets are the contents that it forgot.
	forgets []int32
	// agents are the changes of agent.json, was the names that the log had before.
	agents []journal.Change
	was    *names
}

// partSaid is what a part of entries says of the folder.
type partSaid struct {
	number  uint32 // among those of the history
	changes []mention
	agents  []journal.Change
	forgot  []string // the SHA-256 of contents
}

// mention is what an entry says of a message: its contents before and after, none for
// none. Both are one where the write left the message, and kept it.
type mention struct {
	before, after int32
	copied        bool
}

// none is no content. Other negative numbers are of what lies in the folder, see lies.
const none = math.MinInt32

// lies returns the number of what lies in the folder as a file.
func lies(file int32) int32 { return ^file }

// with calls with what the entries of a session tell of its folder of messages.
func (p *histories) with(entries []*journal.Entry, folder string, call func(*history)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of[folder]
	if one == nil || !one.isOf(entries) {
		one = &history{fileOf: map[string]int32{}, number: map[contentKey]int32{}, parts: map[*journal.Part]*partSaid{}, lists: map[string][]mention{}, names: map[string]*names{}}
		if p.of == nil {
			p.of = map[string]*history{}
		}
		p.of[folder] = one
	}
	for i := len(one.read); i < len(entries); i++ {
		one.take(i, entries[i], folder)
		one.read = append(one.read, entryKey{entries[i].ID, entries[i].At})
	}
	call(one)
}

// isOf reports whether the entries that were read are the first of some.
func (p *history) isOf(entries []*journal.Entry) bool {
	for i, k := range p.read {
		if i == len(entries) || k.id != entries[i].ID || !k.at.Equal(entries[i].At) {
			return false
		}
	}
	return true
}

// take reads an entry. What entries have in common is read once.
func (p *history) take(i int, e *journal.Entry, folder string) {
	var parts []*partSaid
	var key []byte
	forgot := map[string]bool{}
	for _, part := range e.Parts() {
		one := p.parts[part]
		if one == nil {
			one = p.readPart(part, folder)
			one.number = uint32(len(p.parts))
			p.parts[part] = one
		}
		for _, sum := range one.forgot {
			forgot[sum] = true
		}
		if len(one.agents) > 0 {
			last := p.last(i, e)
			last.agents = append(last.agents, one.agents...)
		}
		if len(one.changes) > 0 {
			parts, key = append(parts, one), binary.BigEndian.AppendUint32(key, one.number)
		}
	}
	if len(parts) > 0 {
		p.last(i, e).changes = p.list(string(key), parts)
	}
	if len(forgot) == 0 {
		return
	}
	for v, c := range p.contents {
		if int(c.as) == v && forgot[c.version.SHA256] {
			last := p.last(i, e)
			last.forgets = append(last.forgets, c.as)
		}
	}
}

// readPart reads a part.
func (p *history) readPart(part *journal.Part, folder string) *partSaid {
	one := &partSaid{}
	agent := path.Join(path.Dir(folder), "agent.json")
	for _, c := range part.Changes() {
		dir, name := path.Split(c.Path)
		switch f, ok := fileOf(name); {
		case c.Does == model.FileForgotten:
			one.forgot = append(one.forgot, c.Before.SHA256)
		case c.Path == agent:
			one.agents = append(one.agents, c)
		case ok && len(dir) == len(folder)+1 && dir[:len(folder)] == folder && !c.Before.Folder && !c.After.Folder:
			one.changes = append(one.changes, mention{before: p.numberOf(f, c.Before), after: p.numberOf(f, c.After), copied: c.Does == model.FileCopied})
		}
	}
	return one
}

// list returns what some parts say of messages, in the order of the log.
func (p *history) list(key string, parts []*partSaid) []mention {
	changes, known := p.lists[key]
	if !known {
		n := 0
		for _, one := range parts {
			n += len(one.changes)
		}
		changes = make([]mention, 0, n)
		for _, one := range parts {
			changes = append(changes, one.changes...)
		}
		p.sort(changes)
		p.lists[key] = changes
	}
	return changes
}

// last returns what the newest entry says, which is that one.
func (p *history) last(i int, e *journal.Entry) *historyEntry {
	if n := len(p.entries); n == 0 || p.entries[n-1].entry != i {
		was, known := p.names[e.Was]
		if !known {
			was = namesFrom(e.Was)
			p.names[e.Was] = was
		}
		p.entries = append(p.entries, historyEntry{entry: i, was: was})
	}
	return &p.entries[len(p.entries)-1]
}

// numberOf returns the number of a content, none for none.
func (p *history) numberOf(f messageFile, v journal.Version) int32 {
	if v.None() {
		return none
	}
	key := contentKey{f.name, v.SHA256, v.Mode}
	n, known := p.number[key]
	if known {
		return n
	}
	file := p.intern(f)
	n = int32(len(p.contents))
	as, known := p.number[contentKey{f.name, v.SHA256, anyMode}]
	if !known {
		as = n
		p.number[contentKey{f.name, v.SHA256, anyMode}] = n
	}
	p.contents, p.number[key] = append(p.contents, content{file, v, as}), n
	return n
}

// intern returns the number of a file.
func (p *history) intern(f messageFile) int32 {
	n, known := p.fileOf[f.name]
	if !known {
		n = int32(len(p.files))
		p.files, p.fileOf[f.name] = append(p.files, f), n
	}
	return n
}

// anyMode stands for the first mode in which a content was named.
const anyMode fs.FileMode = fs.ModeIrregular

// file returns the file that a mention is about.
func (p *history) file(m mention) int32 { return p.contents[max(m.before, m.after)].file }

// sort puts changes in the order of the log.
func (p *history) sort(changes []mention) {
	order := func(a, b mention) int { return p.files[p.file(a)].compare(p.files[p.file(b)]) }
	if slices.IsSortedFunc(changes, func(a, b mention) int { return -order(a, b) }) {
		slices.Reverse(changes) // as a restore takes messages away
	}
	if !slices.IsSortedFunc(changes, order) {
		slices.SortStableFunc(changes, order)
	}
}

// told is what the journal tells of a content of a message.
type told struct {
	known bool
	// content is its number in the mode in which it was named last.
	content int32
	// reason is why it left; nil if it came, or came back.
	reason *model.Reason
	// order counts the times that one came or left.
	order int
	// sure says that it was kept.
	sure bool
}

// outcome is what entries tell together.
type outcome struct {
	// list has the contents by their numbers, those that the entries forgot not known, and
	// forgotten says which they forgot.
	list      []told
	forgotten []bool
	order     int
	// ends are how the entries ended that were gone through.
	ends []end
}

// end is how an entry ended, which an undo or a redo changes.
type end struct{ undone, broken, takenBack bool }

func endOf(e *journal.Entry) end { return end{e.Undone, e.Broken != "", e.TakenBack} }

// outcome returns what the entries tell together.
func (p *history) outcome(entries []*journal.Entry) outcome {
	for k, was := range p.now.ends {
		if was != endOf(entries[p.entries[k].entry]) {
			p.now = outcome{}
			break
		}
	}
	s := &p.now
	s.list = append(s.list, make([]told, len(p.contents)-len(s.list))...)
	s.forgotten = append(s.forgotten, make([]bool, len(p.contents)-len(s.forgotten))...)
	again := p.toldAgain(entries, len(s.ends))
	for k := len(s.ends); k < len(p.entries); k++ {
		e := entries[p.entries[k].entry]
		s.ends = append(s.ends, endOf(e))
		if !again[k] {
			s.add(p, &p.entries[k], e)
		}
	}
	return outcome{list: slices.Clone(s.list), forgotten: slices.Clone(s.forgotten)}
}

// toldAgain returns the entries, from one on, that tell nothing: a later one tells the same of
// the same contents, and what each between them tells does not depend on what was told
// before.
func (p *history) toldAgain(entries []*journal.Entry, from int) map[int]bool {
	again, later := map[int]bool{}, map[*mention]bool{}
	for k := len(p.entries) - 1; k >= from; k-- {
		one := &p.entries[k]
		if endOf(entries[one.entry]) != (end{}) || len(one.forgets) > 0 {
			clear(later)
		} else if list := one.list(); list != nil {
			again[k] = later[list]
			later[list] = true
		}
	}
	return again
}

// list returns the first change, nil for none: entries that say the same have one list.
func (e *historyEntry) list() *mention {
	if len(e.changes) == 0 {
		return nil
	}
	return &e.changes[0]
}

// add takes in what one entry tells.
func (s *outcome) add(p *history, one *historyEntry, e *journal.Entry) {
	if e.Undone && e.NewSession != "" {
		return // it took everything along that was in it
	}
	for _, v := range one.forgets {
		if s.list[v].known {
			s.list[v], s.forgotten[v] = told{}, true
		}
	}
	left, came, undone := reasonOf(e), (*model.Reason)(nil), &model.Reason{Kind: model.ReasonUndo}
	for _, m := range one.changes {
		stays := m.before == m.after // and is kept before the journal names it
		tell := func(n int32, reason *model.Reason) {
			if n == none {
				return
			}
			v := p.contents[n].as
			before := &s.list[v]
			if before.known && reason == nil && e.Broken != "" && !stays {
				return // it may not have come
			}
			s.list[v] = told{true, n, reason, s.order, before.sure || stays || e.Broken == "" && !e.TakenBack && !m.copied}
			s.forgotten[v] = false
			s.order++
		}
		switch {
		case stays:
			tell(m.before, came)
		case e.Undone:
			if m.after != none && !s.list[p.contents[m.after].as].known && !e.TakenBack { // else it is as it was before
				tell(m.after, undone)
			}
			tell(m.before, came)
		default:
			tell(m.before, left)
			tell(m.after, came)
		}
	}
}

// agents finds what agent.json was when a snapshot was the head: as a write found
// it that then led elsewhere, unless Hindcast itself had left it there.
func (p *history) agents(entries []*journal.Entry) map[string]journal.Version {
	agents, own := map[string]journal.Version{}, map[string]bool{}
	for k := range p.entries {
		for _, c := range p.entries[k].agents {
			if from := entries[p.entries[k].entry].From; from != "" && !c.Before.None() && !own[c.Before.SHA256] {
				agents[from] = c.Before
			}
			if c.Does != model.FilePutBack {
				own[c.After.SHA256] = true
			}
		}
	}
	return agents
}

// element is a message of a log as it once was: its place in the order of all files, and
// its content.
type element struct{ rank, content int32 }

// ranks returns the places of the files in the order of all, and the files in that order.
func (p *history) ranks() (rank []int32, files []messageFile) {
	order := make([]int32, len(p.files))
	for n := range order {
		order[n] = int32(n)
	}
	slices.SortFunc(order, func(a, b int32) int { return p.files[a].compare(p.files[b]) })
	rank, files = make([]int32, len(order)), make([]messageFile, len(order))
	for at, n := range order {
		rank[n], files[at] = int32(at), p.files[n]
	}
	return rank, files
}

// predecessors returns for each content that an entry wrote, replaced, set aside or kept where it
// was the one before it in the log of that time: of the first entry that names it. now are
// the files of the log as it is; those that the last entry changed, and those that came
// since, do not count.
func (p *history) predecessors(now []messageFile) []int32 {
	newest := len(p.entries) - 1
	for newest >= 0 && len(p.entries[newest].changes) == 0 {
		newest--
	}
	if newest < 0 {
		return slices.Repeat([]int32{none}, len(p.contents))
	}
	changed := make([]bool, len(p.files))
	for _, m := range p.entries[newest].changes {
		changed[p.file(m)] = true
	}
	var log []int32
	for _, f := range now {
		if !p.entries[newest].was.has(f) {
			continue
		}
		if n := p.intern(f); int(n) >= len(changed) || !changed[n] {
			log = append(log, n)
		}
	}
	if len(p.before) != len(p.contents) || !slices.Equal(log, p.log) || newest != p.newest {
		p.before, p.log, p.newest = p.workOut(log), log, newest
	}
	return p.before
}

// follows says that a content had one before it.
type follows struct{ content, before int32 }

// turn is an entry that is taken back from a log.
type turn struct {
	log     int // its number
	changes *mention
	was     *names
}

// turned is the log that comes of that, and what it says of predecessors.
type turned struct {
	number int
	log    []element
	links  []follows
}

// workOut works out the predecessors for the files of a log. A log that was put back and
// forth was the same at many entries: what comes of one of them is worked out once.
func (p *history) workOut(now []int32) (before []int32) {
	before = slices.Repeat([]int32{none}, len(p.contents))
	rank, files := p.ranks()
	b := &backwards{history: p, rank: rank, files: files, changed: make([]int, len(files))}
	var log []element
	for _, n := range now {
		log = append(log, element{rank[n], lies(n)})
	}
	often := map[turn]int{}
	for k := range p.entries {
		often[turn{changes: p.entries[k].list(), was: p.entries[k].was}]++
	}
	known, number := map[turn]*turned{}, 0
	var logs []*turned // that were kept
	for k := len(p.entries) - 1; k >= 0; k-- {
		one := &p.entries[k]
		if len(one.changes) == 0 {
			continue
		}
		at := turn{number, one.list(), one.was}
		to := known[at]
		if to == nil {
			to = &turned{number: -k - 1} // as no other
			to.log, to.links = b.take(log, one, k)
			if often[turn{changes: at.changes, was: at.was}] > 1 {
				same := func(t *turned) bool { return slices.Equal(t.log, to.log) }
				if n := slices.IndexFunc(logs, same); n >= 0 {
					to.number, to.log = n+1, logs[n].log
				} else {
					logs = append(logs, to)
					to.number = len(logs)
				}
				known[at] = to
			}
		}
		for _, l := range to.links {
			before[l.content] = l.before
		}
		log, number = to.log, to.number
	}
	return before
}

// backwards takes entries back from logs.
type backwards struct {
	*history
	rank    []int32
	files   []messageFile
	changed []int // by the entry behind which a file was
	stays   []element
}

// take returns the log before entry k, and what it says of the predecessors of contents, the
// last of one content counts.
func (b *backwards) take(log []element, one *historyEntry, k int) (tail []element, links []follows) {
	for _, m := range one.changes {
		b.changed[b.rank[b.file(m)]] = k + 1
	}
	// What is in front of the first change stays where it is.
	first, _ := slices.BinarySearchFunc(log, b.rank[b.file(one.changes[0])], func(e element, rank int32) int { return cmp.Compare(e.rank, rank) })
	if !one.was.hasAll(log[:first], b.files) {
		first = 0
	}
	b.stays = b.stays[:0]
	for _, e := range log[first:] {
		if b.changed[e.rank] != k+1 && one.was.has(b.files[e.rank]) {
			b.stays = append(b.stays, e)
		}
	}
	links = make([]follows, 0, 2*len(one.changes))
	// with is the log with one side of the changes.
	with := func(side func(m mention) int32) {
		last, rest := int32(none), b.stays
		if first > 0 {
			last = log[first-1].content
		}
		tail = append(make([]element, 0, first+len(rest)+len(one.changes)), log[:first]...)
		for _, m := range one.changes {
			n := side(m)
			if n == none {
				continue
			}
			e := element{b.rank[b.file(m)], b.contents[n].as}
			for len(rest) > 0 && rest[0].rank < e.rank {
				tail = append(tail, rest[0])
				last, rest = rest[0].content, rest[1:]
			}
			links, last = append(links, follows{e.content, last}), e.content
			tail = append(tail, e)
		}
		tail = append(tail, rest...)
	}
	with(func(m mention) int32 { return m.after })
	with(func(m mention) int32 { return m.before })
	return tail, links
}

// reasonOf words why what an entry set aside left the path.
func reasonOf(e *journal.Entry) *model.Reason {
	r := &model.Reason{At: e.At.UTC()}
	switch e.Op {
	case model.OpRestore:
		r.Kind, r.TargetID, r.TargetIndex = model.ReasonRestore, e.To, e.ToIndex
	case model.OpRepair:
		r.Kind = model.ReasonRepair
	}
	return r
}
