package vscodechat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
)

// How a log becomes a tree.
//
// Each line changes one value. Every list of requests that there was is a way through the tree, and the list after the
// last line is the way to the head:
//
//	{"kind":0,"v":{"requests":[a,b]}}          a ── b
//	{"kind":2,"k":["requests"],"v":[c]}        a ── b ── c
//	{"kind":2,"k":["requests"],"v":[d],"i":1}  a ── d        b and c are cut off
//	{"kind":1,"k":["requests",1,"result"],…}   d has a result
//
// An undo marks requests (shouldBeRemovedOnSend), and the next prompt cuts them off: the head is before them. Prompts that
// wait (pendingRequests) are not sent yet. A request that comes back keeps its node.

// The kinds of lines.
const (
	opInitial = iota
	opSet
	opPush
	opDelete
	opUnknown
)

// alone stands for the request that a line changes where the line sets one whole.
const alone = -2

// record is a line of a log, or a document, which is the first state.
type record struct {
	op int
	// at is the request that the line changes, and key is the member of it; else key is "".
	at  int
	key string
	// from is where a list is cut before it is extended, -1 for its end. lists says that it is the list of requests, and waits
	// that it is the list of prompts that wait.
	from         int
	lists, waits bool
	// requests are the list in a state or a push, or the changed member of one request. waiting are the prompts.
	requests []request
	waiting  []string
	// titled says that the line sets the title.
	titled bool
	title  string
	// unknown is the kind of a line that changes nothing that is known.
	unknown string
	// carried are values with texts, which are lent.
	carried []chat.Value
}

func decodeLine(l *chat.Line, r *record) error {
	v, err := l.Parse()
	if err == nil {
		r.decodeValue(v, l.At)
		r.carried = nil
	}
	return err
}

// decodeValue reads a line that is so far from the beginning of its file.
func (r *record) decodeValue(v chat.Value, at int64) {
	r.at, r.from = -1, -1
	value := v.Get("v")
	var way []chat.Value
	for step := range v.Get("k").Each() {
		way = append(way, step)
	}
	r.op = int(v.Get("kind").Number())
	if r.op < opInitial || r.op > opDelete {
		r.op, r.unknown = opUnknown, "kind "+string(v.Get("kind").Raw())
		return
	}
	if i := v.Get("i"); i.Kind() == jsontape.Number || r.op != opPush {
		r.from = max(int(i.Number()), 0)
	}
	switch {
	case !v.Get("kind").There():
		r.decodeState(v, at)
	case r.op == opInitial:
		r.decodeState(value, at)
	case len(way) == 0:
	case way[0].Text() == "requests" && len(way) == 1:
		r.addRequests(value, at)
	case way[0].Text() == "requests" && len(way) == 2:
		r.lists, r.at, r.from = true, alone, max(int(way[1].Number()), 0)
		r.requests = append(r.requests, newRequest(value, at, &r.carried))
	case way[0].Text() == "requests":
		r.at = int(way[1].Number())
		var keys []string
		for _, step := range way[2:] {
			keys = append(keys, strings.Trim(string(step.Raw()), `"`))
		}
		r.key = strings.Join(keys, ".")
		var one request
		one.learnMember(r.key, value, at, &r.carried)
		r.requests = append(r.requests, one)
	case way[0].Text() == "customTitle":
		r.title, r.titled = value.Text(), true
	case way[0].Text() == "pendingRequests" && len(way) == 1:
		r.addWaiting(value)
	}
}

func (r *record) decodeState(state chat.Value, at int64) {
	r.op, r.from = opInitial, 0
	r.title, r.titled = state.Get("customTitle").Text(), state.Get("customTitle").There()
	r.addRequests(state.Get("requests"), at)
	r.addWaiting(state.Get("pendingRequests"))
}

func (r *record) addRequests(list chat.Value, at int64) {
	r.lists = true
	for v := range list.Each() {
		r.requests = append(r.requests, newRequest(v, at, &r.carried))
	}
}

func (r *record) addWaiting(list chat.Value) {
	r.waits = true
	for v := range list.Each() {
		r.waiting = append(r.waiting, textOf(v.Get("request", "message")))
	}
}

// node is a request in the tree.
type node struct {
	request
	parent int // -1 without one
	// gone says how it left the list, and to is the request that the list ended with then, -1 without one.
	gone *model.Reason
	to   int
	// last is the index of its last entry.
	last int
}

// place tells a node by the one before it and by its id.
type place struct {
	parent int
	id     string
}

// requestTree is the result of replaying a log.
type requestTree struct {
	nodes   []node
	at      map[place]int
	list    []int // of requests
	waiting []string
	title   string
	now     time.Time // the latest time of a request so far
}

// applyLine applies a line.
func (t *requestTree) applyLine(r *record) {
	if r.titled {
		t.title = r.title
	}
	if r.waits {
		t.waiting = append(t.waiting[:cutAt(r.from, len(t.waiting))], r.waiting...)
	}
	switch {
	case r.key != "":
		if r.at >= 0 && r.at < len(t.list) {
			one := &t.nodes[t.list[r.at]]
			one.changeMember(r.key, &r.requests[0], r.op == opPush, r.from)
		}
	case r.lists:
		t.replaceRequests(cutAt(r.from, len(t.list)), r.requests, r.op == opSet && r.at == alone)
	}
}

// cutAt returns where a list of n is cut.
func cutAt(from, n int) int {
	if from < 0 {
		return n
	}
	return min(from, n)
}

// replaceRequests takes requests in place of all from a position on, or of one there.
func (t *requestTree) replaceRequests(from int, requests []request, one bool) {
	was := slices.Clone(t.list[from:])
	t.list = t.list[:from]
	for i := range requests {
		t.putRequest(&requests[i])
	}
	if one && len(was) > 0 {
		for _, n := range was[1:] {
			r := t.nodes[n].request
			t.putRequest(&r)
		}
	}
	why := &model.Reason{Kind: model.ReasonRewind, At: t.now}
	to := -1
	if from > 0 {
		to = t.list[from-1]
	}
	kept := map[int]bool{}
	for _, n := range t.list[from:] {
		kept[n] = true
	}
	for _, n := range was {
		if !kept[n] {
			t.nodes[n].gone, t.nodes[n].to = why, to
		}
	}
}

// putRequest appends a request to the list. One that was there before it is the same node.
func (t *requestTree) putRequest(r *request) {
	if r.at.After(t.now) {
		t.now = r.at
	}
	at := place{-1, r.id}
	if n := len(t.list); n > 0 {
		at.parent = t.list[n-1]
	}
	n, there := t.at[at]
	if !there {
		n, t.nodes = len(t.nodes), append(t.nodes, node{parent: at.parent})
		t.at[at] = n
	}
	t.nodes[n].request, t.nodes[n].gone = *r, nil
	t.nodes[n].owned = false
	t.list = append(t.list, n)
}

// addEntries adds the entries of all requests.
func (t *requestTree) addEntries(s *chat.Session) {
	for len(t.list) > 0 && t.nodes[t.list[len(t.list)-1]].hidden { // the next prompt removes them
		last := t.list[len(t.list)-1]
		t.list = t.list[:len(t.list)-1]
		t.nodes[last].gone, t.nodes[last].to = &model.Reason{Kind: model.ReasonRewind}, -1
		if n := len(t.list); n > 0 {
			t.nodes[last].to = t.list[n-1]
		}
	}
	meta := &chat.Meta{Dir: s.Project}
	for i := range t.nodes {
		n := &t.nodes[i]
		before := -1
		if n.parent >= 0 {
			before = t.nodes[n.parent].last
		}
		n.last = before
		for k, e := range n.buildEntries() {
			e.Meta, e.File, e.Reason = meta.With(chat.Meta{Model: n.model, Mode: n.mode}), s.Spot.File, n.gone
			if e.ID = n.id; k > 0 {
				e.ID = fmt.Sprintf("%s.%d", n.id, k)
			}
			n.last = s.Add(e, n.last)
		}
	}
	if len(t.list) > 0 {
		s.Head = t.nodes[t.list[len(t.list)-1]].last
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.gone != nil && n.to >= 0 && t.nodes[n.to].last >= 0 {
			at := t.nodes[n.to].last
			n.gone.TargetID, n.gone.TargetIndex = s.Entries[at].ID, at
		}
	}
	for _, words := range t.waiting {
		if s.Head >= 0 {
			s.Entries[s.Head].Facts.Add("prompt that waits", words)
		}
	}
}
