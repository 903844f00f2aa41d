package gemini

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store/engine/chat"
)

// How a log becomes a tree.
//
// Each line changes a list of messages. Every list that there was is a way through the tree,
// and the list after the last line is the way to the head:
//
//	a  b  c            a ── b ── c
//	$rewindTo c             │
//	a  b               a ── b         c is left by a rewind to b
//	d                       └─── d ── e
//	e                                      head
//	$set [a' b' d' e']              says the same again: nothing is new
//	$set [s t]         s ── t       another branch, from the beginning
//
// When a session is resumed, Gemini CLI writes the list again. It leaves out what it does not
// send, puts the results that a call carries behind it once more, and drops tokens. So
// messages that say the same are one entry, which keeps each record that tells more than the
// others.

// node is an entry in the making.
type node struct {
	id       string
	parent   int // -1 for none
	children []int
	at       time.Time
	// is has the message's records; none of them repeats all of another. The last record is the current state.
	is []*message
	// gone says how it left the list.
	gone *model.Reason
	// carries says that its results are told nowhere else.
	carries bool
}

// held is a message in the list.
type held struct {
	id   string
	node int
}

// sessionTree is the result of replaying a log.
type sessionTree struct {
	nodes []node
	tops  []int // those without a parent
	list  []held
	// place has the position in list of each id.
	place map[string]int
	ids   chat.IDs // of the entries
	meta  meta
	// now is the latest time in the log so far, because a rewind records no time.
	now time.Time
	// had says that something worth resuming was in the list at some time.
	had     bool
	unknown map[string]int
	looks   int // at entries that may say the same as a message
	// again counts the results of tools that stand with their call, and as words of the user.
	again int
	// astray are the rewinds whose target is not in the list.
	astray []string
}

// foldLog replays a log into a tree.
func foldLog(file *chat.File[record]) *sessionTree {
	t := &sessionTree{place: map[string]int{}, unknown: map[string]int{}}
	aside := -1 // the last entry, which may be of a damaged line
	for i := range file.Records {
		r := &file.Records[i]
		is := &r.Is
		t.meta.session, t.meta.summary = cmp.Or(is.meta.session, t.meta.session), cmp.Or(is.meta.summary, t.meta.summary)
		t.meta.hashed = t.meta.hashed || is.meta.hashed
		if is.at.After(t.now) {
			t.now = is.at
		}
		if r.Salvaged {
			aside = t.passedOver(is, aside)
			continue
		}
		switch is.op {
		case opPut:
			for k := range is.messages {
				t.putMessage(&is.messages[k])
			}
		case opSet:
			t.setMessages(is.messages)
		case opRewind:
			at, known := t.place[is.rewind]
			if !known {
				t.astray = append(t.astray, fmt.Sprintf("line %d, byte %d", r.Number, r.At))
			}
			t.cutFrom(at)
		case opUnknown:
			t.unknown[is.unknown]++
		}
		aside = t.headNode()
	}
	return t
}

// passedOver adds the messages of a damaged line, which Gemini CLI passes over, behind an entry.
// It returns the last.
func (t *sessionTree) passedOver(r *record, at int) int {
	if r.op == opSet {
		at = -1
	}
	for k := range r.messages {
		m := &r.messages[k]
		n := t.findSame(at, m, nil)
		if n < 0 {
			n = t.addEntry(at, m)
			t.mergeRecord(n, m)
			t.nodes[n].gone = chat.PassedOver
		}
		at = n
	}
	return at
}

// headNode returns the node of the list's last message, or -1.
func (t *sessionTree) headNode() int {
	if len(t.list) == 0 {
		return -1
	}
	return t.list[len(t.list)-1].node
}

// isResumable reports whether Gemini CLI keeps the session.
func (t *sessionTree) isResumable() bool {
	return slices.ContainsFunc(t.list, func(h held) bool {
		return slices.ContainsFunc(t.nodes[h.node].is, func(m *message) bool { return m.resumable })
	})
}

// putMessage appends a message, or puts it in the place of one of its id.
func (t *sessionTree) putMessage(m *message) {
	if m.at.After(t.now) {
		t.now = m.at
	}
	if at, there := t.place[m.id]; there {
		t.mergeRecord(t.list[at].node, m)
		return
	}
	head := t.headNode()
	n := t.firstOf(t.childrenOf(head), func(n int) bool { // one that comes back
		was := t.nodes[n].is
		return was[len(was)-1].id == m.id && was[len(was)-1].like == m.like
	})
	if n < 0 {
		n = t.addEntry(head, m)
	}
	t.appendHeld(m, n)
}

// mostLooks bounds how many entries are compared with messages, of one log: a log may go back
// to the same place, or write the list again, with each line. Then what is said again is
// another branch.
const mostLooks = 5_000_000

// firstOf returns the first node of a list for which is holds, or -1.
func (t *sessionTree) firstOf(list []int, is func(n int) bool) int {
	for _, n := range list {
		if t.looks++; t.looks > mostLooks {
			break
		}
		if is(n) {
			return n
		}
	}
	return -1
}

// setMessages takes a list of messages in place of the one that is there.
func (t *sessionTree) setMessages(messages []message) {
	was, before := t.list, t.headNode()
	held := make(map[int]bool, len(was))
	for _, h := range was {
		held[h.node] = true
	}
	t.list, t.place = nil, make(map[string]int, len(messages))
	at := -1
	for i := range messages {
		m := &messages[i]
		if p, there := t.place[m.id]; there {
			t.mergeRecord(t.list[p].node, m)
			continue
		}
		n := t.findSame(at, m, held)
		if n < 0 && at >= 0 && t.isAnswer(at, m) {
			n = at
			t.again += len(m.said.Results)
		}
		if n < 0 {
			n = t.addEntry(at, m)
		}
		t.appendHeld(m, n)
		at = n
	}
	if at < 0 {
		t.noteLeft(was)
	}
	for n := before; n >= 0; n = t.nodes[n].parent {
		if n == at { // the end of the list was cut off
			t.noteLeft(was)
		}
	}
}

// cutFrom removes the messages from a position on.
func (t *sessionTree) cutFrom(from int) {
	removed := t.list[from:]
	t.list = t.list[:from:from]
	for _, h := range removed {
		delete(t.place, h.id)
	}
	t.noteLeft(removed)
}

// noteLeft notes why messages are off the path, as long as they are.
func (t *sessionTree) noteLeft(removed []held) {
	why := &model.Reason{Kind: model.ReasonRewind, At: t.now, TargetIndex: max(t.headNode(), 0)}
	if head := t.headNode(); head >= 0 {
		why.TargetID = t.nodes[head].id
	}
	for _, h := range removed {
		t.nodes[h.node].gone = why
	}
}

// appendHeld appends a message to the list as an entry.
func (t *sessionTree) appendHeld(m *message, n int) {
	t.mergeRecord(n, m)
	t.nodes[n].gone = nil
	t.had = t.had || m.resumable
	t.place[m.id] = len(t.list)
	t.list = append(t.list, held{m.id, n})
}

// addEntry adds an entry, whose id is its own.
func (t *sessionTree) addEntry(parent int, m *message) int {
	n := len(t.nodes)
	t.nodes = append(t.nodes, node{id: t.ids.Take(cmp.Or(m.id, "message")), parent: parent, at: m.at})
	if parent < 0 {
		t.tops = append(t.tops, n)
	} else {
		t.nodes[parent].children = append(t.nodes[parent].children, n)
	}
	return n
}

// childrenOf returns the entries behind one, the first ones of all for -1.
func (t *sessionTree) childrenOf(n int) []int {
	if n < 0 {
		return t.tops
	}
	return t.nodes[n].children
}

// findSame returns the node behind after that says the same as a message, or -1. Messages that are not sent may
// stand in between, in either list. Among several nodes it prefers the node with the message's id, else one
// that was in the list: a session goes on with its list, and never with messages that a rewind removed.
func (t *sessionTree) findSame(after int, m *message, held map[int]bool) int {
	const says, holds, same = 1, 2, 3
	best, rank := -1, 0
	look := func(n int) bool {
		is := t.nodes[n].is
		if !slices.ContainsFunc(is, func(was *message) bool { return was.saysSame(m) }) {
			return false
		}
		fits := says
		if slices.ContainsFunc(is, func(was *message) bool { return was.id == m.id }) {
			fits = same
		} else if held[n] {
			fits = holds
		}
		if fits > rank {
			best, rank = n, fits
		}
		return rank == same
	}
	t.searchNodes(t.childrenOf(after), look)
	for ; rank < same && after >= 0 && t.isSilent(after) && t.looks < mostLooks; after = t.nodes[after].parent {
		t.searchNodes(t.childrenOf(t.nodes[after].parent), look)
	}
	return best
}

// searchNodes calls is on the nodes of a list, and on the nodes behind messages that are not sent, until it returns
// true.
func (t *sessionTree) searchNodes(list []int, is func(n int) bool) {
	for len(list) > 0 {
		var behind []int // what is not sent
		if t.firstOf(list, func(n int) bool {
			if t.isSilent(n) {
				behind = append(behind, t.nodes[n].children...)
			}
			return is(n)
		}) >= 0 {
			return
		}
		list = behind
	}
}

func (t *sessionTree) isSilent(n int) bool { return t.nodes[n].is[0].silent }

// isAnswer reports whether a message only has results that an entry has, too.
func (t *sessionTree) isAnswer(n int, m *message) bool {
	return m.empty && len(m.said.Results) > 0 && slices.ContainsFunc(t.nodes[n].is, func(was *message) bool { return was.hasResults(m.said.Results) })
}

// mostTold bounds the records of an entry: a message may be written again and again. The
// newest are kept.
const mostTold = 500

// mergeRecord keeps a record of an entry if it tells more than those that are kept.
func (t *sessionTree) mergeRecord(n int, m *message) {
	one := &t.nodes[n]
	if slices.ContainsFunc(one.is, func(was *message) bool { return was.coversMessage(m) }) {
		return
	}
	one.is = append(slices.DeleteFunc(one.is, m.coversMessage), m)
	one.is = one.is[max(0, len(one.is)-mostTold):]
}

// saysSame reports whether two messages say the same.
func (m *message) saysSame(other *message) bool {
	if m.kind != other.kind {
		return false
	}
	return m.like == other.like || m.id == other.id && (m.text == other.text || m.empty || other.empty)
}

// coversMessage reports whether a message tells all that another tells.
func (m *message) coversMessage(other *message) bool {
	if m == other {
		return false
	}
	if m.text != other.text && (!other.empty || m.kind != other.kind && !m.hasResults(other.said.Results)) {
		return false
	}
	for _, c := range other.said.Calls {
		if !slices.Contains(m.said.Calls, c) {
			return false
		}
	}
	return m.hasResults(other.said.Results) && m.hasResults(other.carried) && (m.counted || !other.counted) && m.thoughts >= other.thoughts
}

// hasResults reports whether a message has results, itself or with its calls.
func (m *message) hasResults(results []chat.Result) bool {
	for _, r := range results {
		same := func(s chat.Result) bool { return s.ID == r.ID }
		if !slices.ContainsFunc(m.said.Results, same) && !slices.ContainsFunc(m.carried, same) {
			return false
		}
	}
	return true
}

// buildEntries returns the entries of the tree.
func (t *sessionTree) buildEntries(at chat.Spot, dir string) []chat.Entry {
	metas := map[string]*chat.Meta{}
	list := make([]chat.Entry, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		m := n.is[len(n.is)-1]
		name := m.model
		if name == "" && n.parent >= 0 {
			name = list[n.parent].Meta.Model
		}
		if metas[name] == nil {
			metas[name] = &chat.Meta{Model: name, Dir: dir}
		}
		e := chat.Entry{ID: n.id, At: n.at, Said: m.said, Event: m.event, Meta: metas[name], File: at.File, Reason: n.gone, Own: n}
		if n.parent >= 0 {
			e.Parent = t.nodes[n.parent].id
		}
		for _, is := range n.is {
			e.Records = append(e.Records, is.Span)
		}
		for _, child := range m.children {
			e.Starts(at.ID + "/" + child)
		}
		if len(m.carried) > 0 {
			n.carries = !slices.ContainsFunc(n.children, func(c int) bool {
				return slices.ContainsFunc(t.nodes[c].is, func(is *message) bool { return len(is.said.Results) > 0 && is.hasResults(m.carried) })
			})
			e.Version = fmt.Sprint(n.carries)
		}
		if n.carries {
			e.Said.Results = m.carried
		}
		list[i] = e
	}
	return list
}
