package openhands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/store/coding"
	"hindcast/store/files"
	"hindcast/store/folder"
)

// Codes of faults.
const (
	// FaultState: base_state.json is no JSON object.
	FaultState = "damaged-base-state"
	// FaultLeaf: base_state.json names an event as the head that is not there.
	FaultLeaf = "missing-leaf"
	// FaultGap: a number is missing among the events.
	FaultGap = "event-gap"
	// FaultEvent: the file of an event is no JSON object.
	FaultEvent = "damaged-event"
	// FaultTwice: two events have one id or one number.
	FaultTwice = "event-twice"
	// FaultOpenAction: the head is an action without its result.
	FaultOpenAction = "open-action"
	// FaultOld: a conversation is of the application before the SDK.
	FaultOld = "old-format"
)

// node is an event in the tree.
type node struct {
	record
	eventFile
	parent int // its position, -1 for none
	// missing is the parent that it names and that is not there.
	missing string
}

// says reports whether the event is a message.
func (n *node) says() bool { _, is := says[n.kind]; return is }

// tree are the events of a conversation.
type tree struct {
	at    coding.Spot
	nodes []node
	byID  map[string]int
	// above has, once it is known, the first message on the way up from an event, itself
	// where it is one; of an event without one -2 and less, counted down, the event where that
	// way ends.
	above []int
	state coding.Value
	usage map[string]conversation.Usage
	cost  float64
	// entry is the entry of an event that is a message.
	entry   []int
	session *coding.Session
}

const unknown = -1

// own is what an entry keeps: its events. To go on from the entry, the last one is named.
type own struct {
	nodes []int
	usage conversation.Usage
}

// Read implements coding.Format.
func (f *format) Read(ctx context.Context, in folder.In, at coding.Spot) (*coding.Session, error) {
	data, _, err := in.Read(at.File, nil)
	if err != nil {
		return nil, err
	}
	dir := eventsOf(at)
	names, err := in.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	events := named(names)
	list := make([]string, len(events))
	for i := range events {
		list[i] = events[i].file
	}
	noted, err := folder.Notes(ctx, in, dir, list, codec)
	if err != nil {
		return nil, err
	}
	t := &tree{at: at, byID: make(map[string]int, len(events)), session: &coding.Session{Spot: at, Head: -1}}
	t.session.Own = t
	for i := range noted {
		n := node{record: noted[i].Is, eventFile: events[i]}
		n.damage = cmp.Or(n.damage, errText(noted[i].Err))
		t.nodes = append(t.nodes, n)
	}
	t.read(data)
	t.grow()
	f.kin.tell(in, t)
	return t.session, nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return files.Cause(err).Error()
}

// read reads base_state.json.
func (t *tree) read(data []byte) {
	v, err := coding.Parse(data)
	if err == nil && v.Kind() == jsontape.Object {
		t.state = v
	} else {
		t.fault(model.Stops, FaultState, t.at.File, "", cmp.Or(errText(err), "it is no JSON object"), "OpenHands does not open the conversation")
	}
	t.session.Project = t.state.Get("workspace", "working_dir").Text()
	t.usage = map[string]conversation.Usage{}
	for use := range t.state.Get("stats", "usage_to_metrics").Each() {
		t.cost += use.Get("accumulated_cost").Number()
		for one := range use.Get("token_usages").Each() {
			t.usage[one.Get("response_id").Text()] = conversation.Usage{
				Counted: true, Model: one.Get("model").Text(), Input: one.Get("prompt_tokens").Number(), Output: one.Get("completion_tokens").Number(),
				CacheRead: one.Get("cache_read_tokens").Number(), CacheWrite: one.Get("cache_write_tokens").Number(),
			}
		}
		for one := range use.Get("response_latencies").Each() {
			if u, known := t.usage[one.Get("response_id").Text()]; known {
				u.Milliseconds = one.Get("latency").Number() * 1000
				t.usage[one.Get("response_id").Text()] = u
			}
		}
	}
	delete(t.usage, "")
}

func (t *tree) fault(severity model.Severity, code, file, path, meaning, verdict string) {
	t.session.Faults = append(t.session.Faults, model.Fault{Code: code, Severity: severity, File: file, Path: path, Meaning: meaning, Verdict: verdict})
}

// file returns the name of an event's file in the storage.
func (t *tree) file(i int) string { return folder.Join(eventsOf(t.at), t.nodes[i].file) }

// grow makes entries of events.
func (t *tree) grow() {
	kinds := map[string]int{}
	for i := range t.nodes {
		n := &t.nodes[i]
		if was, known := t.byID[n.eventFile.id]; known || i > 0 && t.nodes[i-1].index == n.index {
			t.fault(model.Loses, FaultTwice, t.file(i), "", fmt.Sprintf("its id or its number is that of another event, such as %s", t.nodes[max(was, 0)].file), "OpenHands reads one of the two")
		}
		if _, known := t.byID[n.eventFile.id]; !known {
			t.byID[n.eventFile.id] = i
		}
		if before := t.index(i - 1); n.index > before+1 {
			t.fault(model.Stops, FaultGap, t.file(i), "", fmt.Sprintf("no event before it has the number %d", n.index-1), "OpenHands reads the events before the gap alone, and does not open the conversation where the head is behind it")
		}
		switch {
		case n.damage != "":
			t.fault(model.Stops, FaultEvent, t.file(i), "", "the event cannot be read: "+n.damage, "OpenHands does not open the conversation where the event is on the way to the head")
		case !n.says() && !silent[n.kind]:
			kinds[n.kind]++
		}
	}
	t.session.Faults = append(t.session.Faults, coding.UnknownFaults(eventsOf(t.at), kinds)...)
	t.above = make([]int, len(t.nodes))
	for i := range t.nodes {
		t.above[i] = unknown
		t.nodes[i].parent, t.nodes[i].missing = t.parentOf(i)
	}
	t.entries()
	t.head()
	t.moves()
}

// index returns the number of an event, -1 before the first.
func (t *tree) index(i int) int {
	if i < 0 {
		return -1
	}
	return t.nodes[i].index
}

// parentOf returns the parent of an event: the one that it names; of one that names none, which
// older versions wrote, the event before it.
func (t *tree) parentOf(i int) (at int, missing string) {
	named := t.nodes[i].record.parent
	switch at, known := t.byID[named]; {
	case named == explicitRoot:
		return -1, ""
	case known:
		return at, ""
	case named != "":
		return -1, named
	}
	return i - 1, ""
}

// up returns the first message on the way up from an event, -1 for none, and the parent
// that is missing there.
func (t *tree) up(i int) (message int, missing string) {
	var passed []int
	end := i
	for i >= 0 && t.above[i] == unknown && !t.nodes[i].says() {
		t.above[i] = -2 - i // ends a circle
		passed = append(passed, i)
		end, i = i, t.nodes[i].parent
	}
	found := -2 - end
	switch {
	case i >= 0 && t.nodes[i].says():
		found = i
	case i >= 0:
		found = t.above[i]
	}
	for _, k := range passed {
		t.above[k] = found
	}
	if found >= 0 {
		return found, ""
	}
	if end = -2 - found; end < 0 {
		return -1, ""
	}
	return -1, t.nodes[end].missing
}

// parent returns the message before an event, as up does.
func (t *tree) parent(i int) (message int, missing string) {
	if p := t.nodes[i].parent; p >= 0 {
		return t.up(p)
	}
	return -1, t.nodes[i].missing
}

// leaf returns the event where the conversation goes on, -1 for none.
func (t *tree) leaf() (at int, pointed bool) {
	if id := t.state.Get("leaf_event_id").Text(); id != "" {
		if at, known := t.byID[id]; known {
			return at, true
		}
		return -1, true
	}
	if t.state.Get("head_is_empty").True() {
		return -1, true
	}
	at = -1
	for i := range t.nodes {
		if t.nodes[i].index > t.index(i-1)+1 {
			break // OpenHands does not see what is behind a gap
		}
		if kind := t.nodes[i].kind; kind != kindState && kind != kindFailure {
			at = i
		}
	}
	return at, false
}

// head fills in where the conversation goes on.
func (t *tree) head() {
	s := t.session
	leaf, pointed := t.leaf()
	s.Pointed = pointed
	if id := t.state.Get("leaf_event_id").Text(); id != "" && leaf < 0 {
		t.fault(model.Stops, FaultLeaf, t.at.File, "/leaf_event_id", fmt.Sprintf("no event has the id %.40q", id), "OpenHands does not open the conversation")
	}
	if leaf < 0 {
		return
	}
	if message, _ := t.up(leaf); message >= 0 {
		s.Head = t.entry[message]
		if t.cost > 0 { // what each answer cost is not told
			s.Entries[s.Head].Facts.Add("dollars, of the session", strconv.FormatFloat(t.cost, 'f', -1, 64))
		}
		if open := s.Open(&s.Entries[s.Head]); len(open) > 0 {
			t.fault(model.Odd, FaultOpenAction, t.file(message), "", "the conversation goes on from a tool call that nothing answers", "run() executes the tool before it asks the model")
		}
	}
}

// entries makes an entry of each message. Tool calls that follow each other in one answer of
// the model are one message, unless something goes on from between them.
func (t *tree) entries() {
	s := t.session
	meta := &coding.Meta{
		Model: t.state.Get("agent", "llm", "model").Text(), Dir: s.Project,
		Mode: t.state.Get("confirmation_policy", "kind").Text(),
	}
	t.entry = make([]int, len(t.nodes))
	follow := make([]int, len(t.nodes))
	for i := range t.nodes {
		if p, _ := t.parent(i); p >= 0 && t.nodes[i].says() {
			follow[p]++
		}
	}
	if leaf, _ := t.leaf(); leaf >= 0 {
		if at, _ := t.up(leaf); at >= 0 {
			follow[at]++
		}
	}
	used := map[string]bool{}
	for i := range t.nodes {
		n := &t.nodes[i]
		t.entry[i] = -1
		p, missing := t.parent(i)
		if n.kind == kindFailure && p >= 0 && t.entry[p] >= 0 {
			e := &s.Entries[t.entry[p]]
			e.Facts.Add("error", n.text)
			e.Marks |= model.MarkError
		}
		if !n.says() {
			continue
		}
		if p >= 0 && p < i && follow[p] == 1 && n.kind == kindAction && t.nodes[p].kind == kindAction && n.response != "" && n.response == t.nodes[p].response {
			e := &s.Entries[t.entry[p]]
			e.Said.Calls = append(e.Said.Calls[:len(e.Said.Calls):len(e.Said.Calls)], n.said.Calls...)
			o := e.Own.(*own)
			o.nodes = append(o.nodes, i)
			e.Version = version(o)
			t.entry[i] = t.entry[p]
			continue
		}
		e := coding.Entry{ID: n.eventFile.id, At: n.at, Said: n.said, Meta: meta, File: t.file(i), Parent: missing}
		if p >= 0 {
			e.Parent = t.nodes[p].eventFile.id
			if p < i {
				e.Parent = s.Entries[t.entry[p]].ID
			}
		}
		o := &own{nodes: []int{i}}
		if u, known := t.usage[n.response]; known && !used[n.response] {
			used[n.response] = true
			o.usage = u
		}
		e.Own, e.Version = o, version(o)
		t.entry[i] = len(s.Entries)
		s.Entries = append(s.Entries, e)
		if n.kind == kindCondense {
			t.condense(i, p)
		}
	}
}

// version tells the contents of an entry apart that has got more events, or a usage.
func version(o *own) string { return fmt.Sprint(len(o.nodes), o.usage) }

// condense says what the model reads after a condensation: the messages that it does not
// forget, and its summary among them.
func (t *tree) condense(i, before int) {
	s, c := t.session, &t.nodes[i]
	self := &s.Entries[t.entry[i]]
	self.Event = "compaction"
	forgotten := make(map[string]bool, len(c.forgotten))
	for _, id := range c.forgotten {
		forgotten[id] = true
	}
	at, reads, placed := 0, []int{}, false
	if before >= 0 && before < i {
		for _, k := range s.Reads(t.entry[before]) {
			nodes := s.Entries[k].Own.(*own).nodes
			first := &t.nodes[nodes[0]]
			summary := first.kind == kindCondense
			if forgotten[first.eventFile.id] || summary && forgotten[first.eventFile.id+summarySuffix] {
				continue
			}
			if at >= c.offset && c.offset != withoutSummary && !placed {
				reads, placed = append(reads, t.entry[i]), true
			}
			reads = append(reads, k)
			if !summary || first.offset != withoutSummary {
				at += len(nodes)
			}
		}
	}
	if !placed {
		reads = append(reads, t.entry[i])
	}
	self.Context = reads
}

// moves tells why messages are off the path: an event that does not follow the one before it
// was recorded after navigate_to.
func (t *tree) moves() {
	s, last := t.session, -1
	on := make([]int, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.kind == kindState || n.kind == kindFailure {
			continue
		}
		if last >= 0 && n.parent != last && n.damage == "" {
			why := &model.Reason{Kind: model.ReasonRestore, At: n.at}
			if to, _ := t.parent(i); to >= 0 {
				why.TargetID, why.TargetIndex = s.Entries[t.entry[to]].ID, t.entry[to]
			}
			for k, steps := n.parent, 0; k >= 0 && steps < len(t.nodes); k, steps = t.nodes[k].parent, steps+1 {
				on[k] = i
			}
			for k, steps := last, 0; k >= 0 && on[k] != i && steps < len(t.nodes); k, steps = t.nodes[k].parent, steps+1 {
				if t.entry[k] >= 0 {
					s.Entries[t.entry[k]].Reason = why
				}
			}
		}
		last = i
	}
}

// Messages implements coding.Format.
func (f *format) Messages(in folder.In, s *coding.Session, e *coding.Entry) ([]coding.Message, error) {
	t, o := s.Own.(*tree), e.Own.(*own)
	var m coding.Message
	for k, i := range o.nodes {
		data, _, err := in.Read(t.file(i), nil)
		if err != nil {
			return nil, err
		}
		v, err := coding.Parse(data)
		if err != nil {
			return nil, err
		}
		one := messageOf(v)
		if k == 0 {
			m = one
			continue
		}
		m.Blocks, m.Raw = append(m.Blocks, one.Blocks...), append(m.Raw, one.Raw...)
	}
	m.Usage, m.Model = o.usage, o.usage.Model
	return []coding.Message{m}, nil
}
