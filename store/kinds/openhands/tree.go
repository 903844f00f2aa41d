package openhands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
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

// verdictAnew tells how OpenHands treats a missing or empty base_state.json.
const verdictAnew = "OpenHands makes another, and goes on behind the last event"

// node is an event in the tree.
type node struct {
	record
	eventFile
}

// isMessage reports whether the event is a message.
func (n *node) isMessage() bool { _, is := says[n.Kind]; return is }

// tree are the events of a conversation.
type sessionTree struct {
	at    chat.Spot
	nodes []node
	byID  map[string]int
	// up is the event before each, as chat.NewLineage takes it.
	up    []int
	line  *chat.Lineage
	state chat.Value
	torn  bool // base_state.json is no JSON object
	usage map[string]conversation.Usage
	// counted is the usage that the SDK counted for the conversation.
	counted model.Counted
	// seen is how many events are before the first gap: OpenHands sees no others.
	seen int
	// entry is the entry of an event that is a message.
	entry   []int
	session *chat.Session
	// kept counts the entries that condensations are looked for in, see chat.MostKept.
	kept int
}

// own holds the events of an entry. base_state.json names the last one to go on from the entry.
type own struct {
	nodes []int
	usage conversation.Usage
}

// Read implements chat.Format.
func (f *format) Read(ctx context.Context, in engine.In, at chat.Spot) (*chat.Session, error) {
	data, _, err := in.Read(at.File, nil)
	if err != nil {
		return nil, err
	}
	dir := eventsOf(at)
	names, err := in.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	events := eventFiles(names)
	list := make([]string, len(events))
	for i := range events {
		list[i] = events[i].file
	}
	noted, err := tree.Notes(ctx, in.Tree, in.Memo, dir, list, codec)
	if err != nil {
		return nil, err
	}
	t := &sessionTree{at: at, byID: make(map[string]int, len(events)), session: &chat.Session{Spot: at, Head: -1}}
	t.session.Own = t
	for i := range noted {
		n := node{record: noted[i].Is, eventFile: events[i]}
		if err := noted[i].Err; err != nil {
			n.Damage = files.Cause(err).Error()
		}
		t.nodes = append(t.nodes, n)
	}
	t.readBase(data)
	t.addEntries()
	f.kin.noteKin(in, t)
	if err := f.noteAgents(ctx, in, t); err != nil {
		return nil, err
	}
	return t.session, nil
}

// noteAgents notes the sub-agents' conversations that tool calls started. No event names them: agents takes the
// first conversation that begins with the call's prompt.
func (f *format) noteAgents(ctx context.Context, in engine.In, t *sessionTree) error {
	list, err := f.conversationsIn(ctx, in, tree.Join(path.Dir(t.at.File), agentsName))
	if err != nil || len(list) == 0 {
		return ctx.Err() // most have none
	}
	children := map[string][]string{}
	for _, at := range list {
		if g, err := f.Glance(in, at); err == nil && g.Title != "" {
			children[g.Title] = append(children[g.Title], at.ID)
		}
	}
	for i := range t.nodes {
		for _, asks := range t.nodes[i].Asks {
			ids := children[asks]
			if len(ids) == 0 {
				continue
			}
			t.session.Entries[t.entry[i]].Starts(ids[0])
			children[asks] = ids[1:]
		}
	}
	return nil
}

// readBase reads base_state.json.
func (t *sessionTree) readBase(data []byte) {
	v, err := (&chat.Line{Raw: data}).Parse()
	if t.state = v; err != nil { // of one that is torn, what is before the tear counts
		t.state, t.torn = chat.ParseHead(data), true
		if len(data) == 0 {
			t.addFault(model.Loses, FaultState, t.at.File, "", "it is empty", verdictAnew)
		} else {
			t.addFault(model.Stops, FaultState, t.at.File, "", err.Error(), "OpenHands does not open the conversation")
		}
	}
	t.session.Project = t.state.Get("workspace", "working_dir").Text()
	t.usage = map[string]conversation.Usage{}
	for use := range t.state.Get("stats", "usage_to_metrics").Each() {
		sum := use.Get("accumulated_token_usage")
		t.counted.Read += sum.Get("prompt_tokens").Number()
		t.counted.Written += sum.Get("completion_tokens").Number()
		t.counted.Dollars += use.Get("accumulated_cost").Number()
		// An answer that cost nothing has no cost: those of all stand in their order.
		answers, costs := slices.Collect(use.Get("token_usages").Each()), slices.Collect(use.Get("costs").Each())
		for i, one := range answers {
			u := conversation.Usage{
				Counted: true, Model: one.Get("model").Text(), Input: one.Get("prompt_tokens").Number(), Output: one.Get("completion_tokens").Number(),
				CacheRead: one.Get("cache_read_tokens").Number(), CacheWrite: one.Get("cache_write_tokens").Number(),
			}
			if u.Priced = len(costs) == len(answers); u.Priced {
				u.Cost = costs[i].Get("cost").Number()
			}
			t.usage[one.Get("response_id").Text()] = u
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

func (t *sessionTree) addFault(severity model.Severity, code, file, path, meaning, verdict string) {
	t.session.Faults = append(t.session.Faults, model.Fault{Code: code, Severity: severity, File: file, Path: path, Meaning: meaning, Verdict: verdict})
}

// fileOf returns the name of an event's file in the storage.
func (t *sessionTree) fileOf(i int) string { return tree.Join(eventsOf(t.at), t.nodes[i].file) }

// addEntries makes entries of events.
func (t *sessionTree) addEntries() {
	kinds := map[string]int{}
	t.seen = len(t.nodes)
	for i := range t.nodes {
		n := &t.nodes[i]
		if was, known := t.byID[n.id]; known || i > 0 && t.nodes[i-1].index == n.index {
			t.addFault(model.Loses, FaultTwice, t.fileOf(i), "", fmt.Sprintf("another event, such as %s, has its id or its number", t.nodes[max(was, 0)].file), "OpenHands reads one of the two")
		}
		if _, known := t.byID[n.id]; !known {
			t.byID[n.id] = i
		}
		if n.index > t.indexOf(i-1)+1 {
			t.seen = min(t.seen, i)
			t.addFault(model.Stops, FaultGap, t.fileOf(i), "", fmt.Sprintf("no event before it has the number %d", n.index-1), "OpenHands reads the events before the gap alone, and does not open the conversation where the head is behind it")
		}
		switch {
		case n.Damage != "":
			t.addFault(model.Stops, FaultEvent, t.fileOf(i), "", "the event cannot be read: "+n.Damage, "OpenHands does not open the conversation where the event is on the way to the head")
		case !n.isMessage() && !silent[n.Kind]:
			kinds[n.Kind]++
		}
	}
	t.session.Faults = append(t.session.Faults, chat.UnknownFaults(eventsOf(t.at), kinds)...)
	for i := range t.nodes {
		t.up = append(t.up, t.parentOf(i))
	}
	t.line = chat.NewLineage(t.up, func(i int) bool { return t.nodes[i].isMessage() })
	t.makeEntries()
	t.findHead()
	t.line.MarkLeft(t.session, t.entry, func(i int) (time.Time, bool) {
		return t.nodes[i].At, !aside[t.nodes[i].Kind]
	})
}

// indexOf returns the number of an event, -1 before the first.
func (t *sessionTree) indexOf(i int) int {
	if i < 0 {
		return -1
	}
	return t.nodes[i].index
}

// parentOf returns the parent of an event. Older versions wrote events that name no parent; their parent is
// the event before.
func (t *sessionTree) parentOf(i int) int {
	named := t.nodes[i].Parent
	switch at, known := t.byID[named]; {
	case named == explicitRoot:
		return -1
	case known:
		return at
	case named != "" && t.nodes[i].Damage == "":
		return chat.Missing
	}
	return i - 1
}

// messageBefore returns the message before an event, or -1. missing is then the first id on the path that the
// conversation does not contain.
func (t *sessionTree) messageBefore(i int) (message int, missing string) {
	message, end := t.line.Before(i)
	if message < 0 && t.up[end] == chat.Missing {
		missing = t.nodes[end].Parent
	}
	return message, missing
}

// findLeaf returns the event where the conversation goes on, or -1.
func (t *sessionTree) findLeaf() (at int, pointed bool) {
	if id := t.state.Get("leaf_event_id").Text(); id != "" {
		if at, known := t.byID[id]; known {
			return at, true
		} else if !t.torn {
			return -1, true
		}
	}
	if t.state.Get("head_is_empty").True() {
		return -1, true
	}
	at = -1
	for i := range t.nodes[:t.seen] {
		if !aside[t.nodes[i].Kind] {
			at = i
		}
	}
	return at, false
}

// findHead fills in where the conversation goes on.
func (t *sessionTree) findHead() {
	s := t.session
	leaf, pointed := t.findLeaf()
	s.Pointed = pointed
	if id := t.state.Get("leaf_event_id").Text(); id != "" && leaf < 0 && pointed {
		t.addFault(model.Stops, FaultLeaf, t.at.File, "/leaf_event_id", fmt.Sprintf("no event has the id %.40q", id), "OpenHands does not open the conversation")
	}
	if leaf < 0 {
		return
	}
	if message := t.line.Message(leaf); message >= 0 {
		s.Head = t.entry[message]
		s.Entries[s.Head].Facts.Count(t.counted)
		s.Entries[s.Head].Facts.Add("status", t.state.Get("execution_status").Words())
		if open := s.Open(&s.Entries[s.Head]); len(open) > 0 {
			t.addFault(model.Odd, FaultOpenAction, t.fileOf(message), "", "the conversation goes on from a tool call that nothing answers", "run() executes the tool before it asks the model")
		}
	}
}

// makeEntries makes an entry of each message. Tool calls that follow each other in one answer of
// the model are one message, unless something goes on from between them.
func (t *sessionTree) makeEntries() {
	s := t.session
	meta := &chat.Meta{
		Model: t.state.Get("agent", "llm", "model").Text(), Dir: s.Project,
		Mode: t.state.Get("confirmation_policy", "kind").Text(),
	}
	t.entry = make([]int, len(t.nodes))
	follow := make([]int, len(t.nodes))
	for i := range t.nodes {
		if p, _ := t.messageBefore(i); p >= 0 && t.nodes[i].isMessage() {
			follow[p]++
		}
	}
	if leaf, _ := t.findLeaf(); leaf >= 0 {
		if at := t.line.Message(leaf); at >= 0 {
			follow[at]++
		}
	}
	used := map[string]bool{}
	for i := range t.nodes {
		n := &t.nodes[i]
		t.entry[i] = -1
		p, missing := t.messageBefore(i)
		if n.Kind == kindFailure && p >= 0 && t.entry[p] >= 0 {
			e := &s.Entries[t.entry[p]]
			e.Facts.Add("error", n.Text)
			e.Marks |= model.MarkError
		}
		if !n.isMessage() {
			continue
		}
		if p >= 0 && p < i && follow[p] == 1 && n.Kind == kindAction && t.nodes[p].Kind == kindAction && n.Response != "" && n.Response == t.nodes[p].Response {
			e := &s.Entries[t.entry[p]]
			e.Said.Calls = append(e.Said.Calls[:len(e.Said.Calls):len(e.Said.Calls)], n.Said.Calls...)
			o := e.Own.(*own)
			o.nodes = append(o.nodes, i)
			e.Version = contentVersion(o)
			t.entry[i] = t.entry[p]
			continue
		}
		e := chat.Entry{ID: n.id, At: n.At, Said: n.Said, Meta: meta, File: t.fileOf(i), Parent: missing}
		if p >= 0 {
			e.Parent = t.nodes[p].id
			if p < i {
				e.Parent = s.Entries[t.entry[p]].ID
			}
		}
		o := &own{nodes: []int{i}}
		if u, known := t.usage[n.Response]; known && !used[n.Response] {
			used[n.Response] = true
			o.usage = u
		}
		e.Own, e.Version = o, contentVersion(o)
		t.entry[i] = len(s.Entries)
		s.Entries = append(s.Entries, e)
		if n.Kind == kindCondense {
			t.addCondensation(i, p)
		}
	}
}

// contentVersion tells the contents of an entry apart that has got more events, or a usage.
func contentVersion(o *own) string { return fmt.Sprint(len(o.nodes), o.usage) }

// addCondensation sets the messages that the model reads after a condensation: the messages that it does not forget,
// and its summary between them. A condensation without a summary adds no message.
func (t *sessionTree) addCondensation(i, before int) {
	s, c := t.session, &t.nodes[i]
	self := &s.Entries[t.entry[i]]
	if self.Event = "compaction"; c.Offset == withoutSummary {
		self.Facts.Add("summary, not sent", c.Said.Words)
	}
	forgotten := make(map[string]bool, len(c.Forgotten))
	for _, id := range c.Forgotten {
		forgotten[id] = true
	}
	at, reads, placed := 0, []int{}, false
	if before >= 0 && before < i && t.kept < chat.MostKept {
		t.kept += len(s.Entries)
		for _, k := range s.Reads(t.entry[before]) {
			nodes := s.Entries[k].Own.(*own).nodes
			first := &t.nodes[nodes[0]]
			summary := first.Kind == kindCondense
			if forgotten[first.id] || summary && forgotten[first.id+summarySuffix] {
				continue
			}
			if at >= c.Offset && c.Offset != withoutSummary && !placed {
				reads, placed = append(reads, t.entry[i]), true
			}
			reads = append(reads, k)
			if !summary || first.Offset != withoutSummary {
				at += len(nodes)
			}
		}
	}
	if !placed {
		reads = append(reads, t.entry[i])
	}
	self.Context = reads
}

// Messages implements chat.Format.
func (f *format) Messages(in engine.In, s *chat.Session, e *chat.Entry) ([]chat.Message, error) {
	t, o := s.Own.(*sessionTree), e.Own.(*own)
	if first := &t.nodes[o.nodes[0]]; first.Kind == kindCondense && first.Offset == withoutSummary {
		return nil, nil
	}
	var m chat.Message
	for k, i := range o.nodes {
		data, _, err := in.Read(t.fileOf(i), nil)
		if err != nil {
			return nil, err
		}
		v, err := chat.Parse(data)
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
	return []chat.Message{m}, nil
}
