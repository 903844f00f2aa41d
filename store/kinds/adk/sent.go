package adk

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// What ADK sends to the model of the events that lead to one: flows/llm_flows/context/_contents.py,
// context/_compaction.py and tools/_rearranger.py of 2.13.0.
//
//	summaries   one in place of the events of its time, at the end of that; one within another goes
//	calls       that of a result which is still sent comes back from below a summary
//	results     the newest of a call, right behind it; one without its call goes
//	calls       one without a result goes, unless a tool that runs long will answer it
//	questions   what ADK asks a person itself is never sent
//	others      what another agent said, called and was answered is told as a user's text, quoted
//	branches    an agent that ran beside another is not told what the other did
//
// The agent is the one that wrote the event; behind a user's input, the one that answers it.
// A call at the end is shown while it waits for its tool or for a person, although a model that was
// asked now would not see it. Each is an event of the session, or one made of the parts of several.

// sentEvent is an event as the model is sent it.
type sentEvent struct {
	event int
	// parts are the event's parts that are sent; nil means all of them in order.
	parts []partRef
	// summary says that the event is a compaction, whose summary is sent.
	summary bool
	// quoted says that another agent wrote the event: its parts are told as text.
	quoted bool
}

// partRef is a part of an event's content.
type partRef struct{ event, part int }

// partsOf returns the parts of an event that is sent.
func (s *session) partsOf(e *sentEvent) []partRef {
	if e.parts != nil || e.summary {
		return e.parts
	}
	list := make([]partRef, len(s.events[e.event].Content.Parts))
	for i := range list {
		list[i] = partRef{e.event, i}
	}
	return list
}

func (s *session) partAt(at partRef) *part { return &s.events[at.event].Content.Parts[at.part] }

// callsOf returns the calls of an event that is sent.
func (s *session) callsOf(e *sentEvent) (list []*call) {
	if e.quoted {
		return nil
	}
	for _, at := range s.partsOf(e) {
		if c := s.partAt(at).Call; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// responsesOf returns the results of calls in an event that is sent.
func (s *session) responsesOf(e *sentEvent) (list []*call) {
	if e.quoted {
		return nil
	}
	for _, at := range s.partsOf(e) {
		if c := s.partAt(at).Response; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// sentAt returns the events that the model is sent at event i.
func (s *session) sentAt(i int) []sentEvent {
	s.ensureDetails()
	path := s.pathTo(i)
	return s.sentOf(path, s.askedAgent(path), true)
}

// sentOf returns the events of a path that an agent is sent. last says that no event behind them is sent.
func (s *session) sentOf(path []int, asked agent, last bool) []sentEvent {
	var list []sentEvent
	callIDs, compacted := s.callIDs(path), false
	for _, k := range path {
		e := &s.events[k]
		switch {
		case e.rewinds != "":
		case e.Actions.Compaction != nil:
			if c := e.Actions.Compaction; asked.canSee(e) && c.Start != nil && c.End != nil && hasContent(c.Content) {
				list, compacted = append(list, sentEvent{event: k, summary: true}), true
			}
		case e.says && e.isVisible() && asked.canSee(e) && !e.isInside(asked, callIDs):
			list = append(list, sentEvent{event: k})
		}
	}
	waits := len(list)
	if last {
		waits = s.waitingFrom(list)
	}
	tail := list[waits:]
	list = slices.DeleteFunc(slices.Clone(list[:waits]), func(e sentEvent) bool { return s.events[e.event].asksItself() })
	if compacted {
		whole := append(slices.Clone(list), tail...)
		list = s.recoverCalls(s.compactEvents(whole), whole)
		tail = nil
		if waits = s.waitingFrom(list); waits < len(list) {
			list, tail = list[:waits:waits], list[waits:]
		}
	}
	list = s.quoteOthers(append(list, tail...), asked.name)
	list = s.withoutOrphanResponses(list)
	if !last {
		list = s.answeredInPlace(list)
		return s.withoutOrphanCalls(list, len(list))
	}
	list = s.answeredInPlace(s.answeredLast(list))
	return s.withoutOrphanCalls(list, s.waitingFrom(list))
}

// waitingFrom returns where the calls at the end of a list begin behind which nothing was said yet, the
// length of the list where it does not end so.
func (s *session) waitingFrom(list []sentEvent) int {
	from := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		e := &list[i]
		switch {
		case e.summary:
			continue // written beside the events, whenever
		case len(s.callsOf(e)) > 0:
			from = i
		case len(s.responsesOf(e)) == 0 || s.events[e.event].Author == "user":
			return from
		}
	}
	return from
}

// isVisible reports whether ADK counts an event as content.
func (e *event) isVisible() bool {
	return e.Scope == "" && slices.ContainsFunc(e.Content.Parts, func(p part) bool { return p.visible })
}

// isInside reports whether a tool wrote an event on a branch of its own below the agent's: <tool>@<call id>.
func (e *event) isInside(asked agent, callIDs map[string]bool) bool {
	below, is := e.Branch, true
	if asked.branch != "" {
		below, is = strings.CutPrefix(e.Branch, asked.branch+".")
	}
	if !is {
		return false
	}
	for segment := range strings.SplitSeq(below, ".") {
		if at := strings.LastIndexByte(segment, '@'); at >= 0 && callIDs[segment[at+1:]] && segment[:at] != asked.name {
			return true
		}
	}
	return false
}

// questions are the calls by which ADK asks a person, or speaks of itself.
var questions = []string{"adk_request_credential", "adk_request_confirmation", "adk_framework"}

// asksItself reports whether an event is a question of ADK's own, or the answer to one.
func (e *event) asksItself() bool {
	return slices.ContainsFunc(e.Content.Parts, func(p part) bool {
		of := cmp.Or(p.Call, p.Response)
		return of != nil && slices.Contains(questions, of.name)
	})
}

// hasContent reports whether a value that may be missing says something.
func hasContent(value []byte) bool { return len(value) > 0 && !isEmpty(value) }

// secondsOf returns when an event happened, as compactions count.
func (e *event) secondsOf() float64 {
	if e.Timestamp == 0 && !e.at.IsZero() {
		return float64(e.at.UnixMicro()) / 1e6
	}
	return e.Timestamp
}

// compactEvents replaces events with the summaries that cover them. It drops a summary whose span lies inside
// another's.
func (s *session) compactEvents(list []sentEvent) []sentEvent {
	span := func(i int) *compaction { return s.events[list[i].event].Actions.Compaction }
	var order []int
	for i := range list {
		if list[i].summary {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(*span(a).Start, *span(b).Start), cmp.Compare(*span(b).End, *span(a).End), cmp.Compare(b, a))
	})
	keeps := make([]bool, len(list))
	var last *float64
	var covers []*compaction
	for _, i := range order {
		if c := span(i); last == nil || *c.End > *last {
			keeps[i], last, covers = true, c.End, append(covers, c)
		}
	}
	at := make([]float64, len(list))
	for i := range list {
		e := &s.events[list[i].event]
		if at[i] = e.secondsOf(); list[i].summary {
			at[i] = *span(i).End
			continue
		}
		keeps[i] = !slices.ContainsFunc(covers, func(c *compaction) bool { return *c.Start <= at[i] && at[i] <= *c.End })
	}
	var left []int
	for i := range list {
		if keeps[i] {
			left = append(left, i)
		}
	}
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	made := make([]sentEvent, len(left))
	for i, from := range left {
		made[i] = list[from]
	}
	return made
}

// recoverCalls brings calls back that a summary took the place of, where a result of theirs is still there:
// before the first of them, with the newest results of the other calls of the event.
func (s *session) recoverCalls(list, source []sentEvent) (made []sentEvent) {
	type answer struct {
		call int
		id   string
	}
	present, latest := map[int]bool{}, map[string]int{} // by event
	for i := range list {
		present[list[i].event] = true
	}
	of, newest, survives := map[answer]int{}, map[answer]int{}, map[answer]bool{}
	for i := range source {
		k := source[i].event
		for _, c := range s.callsOf(&source[i]) {
			if c.id != "" {
				latest[c.id] = i
			}
		}
		for _, r := range s.responsesOf(&source[i]) {
			call, known := latest[r.id]
			if r.id == "" || !known {
				continue
			}
			of[answer{k, r.id}] = call
			to := answer{call, r.id}
			survives[to] = survives[to] || present[k]
			if before, has := newest[to]; !has || s.events[k].secondsOf() >= s.events[source[before].event].secondsOf() {
				newest[to] = i
			}
		}
	}
	again, told := map[int]bool{}, map[int]bool{}
	for i := range list {
		for _, r := range s.responsesOf(&list[i]) {
			call, known := of[answer{list[i].event, r.id}]
			if !known || present[source[call].event] || again[call] {
				continue
			}
			again[call] = true
			made = append(made, source[call])
			for _, sibling := range s.callsOf(&source[call]) {
				to := answer{call, sibling.id}
				if at, has := newest[to]; sibling.id != "" && has && !survives[to] && !told[at] {
					told[at], made = true, append(made, source[at])
				}
			}
		}
		made = append(made, list[i])
	}
	return made
}

// withoutOrphanResponses leaves out results that no call stands before.
func (s *session) withoutOrphanResponses(list []sentEvent) (made []sentEvent) {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, e := range list {
		if refs := s.partsOf(&e); len(s.responsesOf(&e)) > 0 {
			kept := slices.DeleteFunc(slices.Clone(refs), func(at partRef) bool {
				r := s.partAt(at).Response
				return r != nil && !(r.id != "" && ids[r.id] || r.id == "" && r.name != "" && names[r.name])
			})
			if len(kept) > 0 {
				made = append(made, s.withParts(e, kept))
			}
		} else {
			made = append(made, e)
		}
		for _, c := range s.callsOf(&e) {
			if c.id != "" {
				ids[c.id] = true
			} else if c.name != "" {
				names[c.name] = true
			}
		}
	}
	return made
}

// withParts returns an event with some parts alone.
func (s *session) withParts(e sentEvent, parts []partRef) sentEvent {
	if !slices.Equal(parts, s.partsOf(&e)) {
		e.parts = parts
	}
	return e
}

// findOwner returns the last event in list with the call that r answers, or -1.
func (s *session) findOwner(list []sentEvent, r *call) int {
	for i := len(list) - 1; i >= 0; i-- {
		if slices.ContainsFunc(s.callsOf(&list[i]), func(c *call) bool {
			return r.id != "" && c.id == r.id || r.id == "" && c.id == "" && r.name != "" && c.name == r.name
		}) {
			return i
		}
	}
	return -1
}

// answeredLast puts results that end a list behind the calls that they answer; what was said between goes.
func (s *session) answeredLast(list []sentEvent) []sentEvent {
	n := len(list)
	if n < 2 || len(s.responsesOf(&list[n-1])) == 0 {
		return list
	}
	byCall := map[int][]partRef{}
	var others []partRef
	last := -1
	for _, at := range s.partsOf(&list[n-1]) {
		if r := s.partAt(at).Response; r == nil {
			others = append(others, at)
		} else if to := s.findOwner(list[:n-1], r); to >= 0 {
			byCall[to], last = append(byCall[to], at), max(last, to)
		}
	}
	if last < 0 {
		return list
	}
	if byCall[last] = append(byCall[last], others...); last == n-2 && len(byCall) == 1 {
		return list
	}
	// results returns the results of a call's event, the newest for each call.
	results := func(to int) sentEvent {
		var all []sentEvent
		for i := to + 1; i < n-1; i++ {
			if len(s.responsesOf(&list[i])) == 0 {
				continue
			}
			calls := len(s.callsOf(&list[i])) > 0
			refs := slices.DeleteFunc(slices.Clone(s.partsOf(&list[i])), func(at partRef) bool {
				if r := s.partAt(at).Response; r != nil {
					return s.findOwner(list[:i], r) != to
				}
				return calls
			})
			if slices.ContainsFunc(refs, func(at partRef) bool { return s.partAt(at).Response != nil }) {
				all = append(all, s.withParts(list[i], refs))
			}
		}
		return s.mergeResults(append(all, s.withParts(list[n-1], byCall[to])))
	}
	var made []sentEvent
	for i := 0; i <= last; i++ {
		e := list[i]
		if len(s.responsesOf(&e)) > 0 {
			refs := slices.DeleteFunc(slices.Clone(s.partsOf(&e)), func(at partRef) bool {
				r := s.partAt(at).Response
				if r == nil {
					return false
				}
				_, moved := byCall[s.findOwner(list[:i], r)]
				return moved
			})
			if !slices.ContainsFunc(refs, func(at partRef) bool { return s.partAt(at).Response != nil || s.partAt(at).Call != nil }) {
				continue
			}
			e = s.withParts(e, refs)
		}
		made = append(made, e)
		if _, answered := byCall[i]; answered {
			made = append(made, results(i))
		}
	}
	return made
}

// mergeResults returns the first of some events with the results of the others, the last of each call.
func (s *session) mergeResults(list []sentEvent) sentEvent {
	if len(list) == 1 {
		return list[0]
	}
	parts, at := slices.Clone(s.partsOf(&list[0])), map[string]int{}
	for i, ref := range parts {
		if r := s.partAt(ref).Response; r != nil {
			at[r.id] = i
		}
	}
	for _, e := range list[1:] {
		for _, ref := range s.partsOf(&e) {
			r := s.partAt(ref).Response
			if r == nil {
				parts = append(parts, ref)
			} else if i, has := at[r.id]; has {
				parts[i] = ref
			} else {
				at[r.id], parts = len(parts), append(parts, ref)
			}
		}
	}
	return s.withParts(list[0], parts)
}

// answeredInPlace puts the newest result of each call right behind it. Answers of the model between two
// results of one call in one invocation go.
func (s *session) answeredInPlace(list []sentEvent) []sentEvent {
	calls := map[string][]int{}
	for i := range list {
		if len(s.responsesOf(&list[i])) == 0 {
			for _, c := range s.callsOf(&list[i]) {
				calls[c.id] = append(calls[c.id], i)
			}
		}
	}
	type owned struct {
		id   string
		call int
	}
	answers, some := map[owned][]int{}, false
	for i := range list {
		for _, r := range s.responsesOf(&list[i]) {
			some = true
			if of := calls[r.id]; len(of) > 0 {
				before, _ := slices.BinarySearch(of, i)
				key := owned{r.id, of[max(before-1, 0)]}
				answers[key] = append(answers[key], i)
			}
		}
	}
	if !some {
		return list
	}
	stale := map[int]bool{}
	for _, of := range answers {
		for k := 1; k < len(of); k++ {
			s.markStale(list, of[k-1], of[k], stale)
		}
	}
	var made []sentEvent
	for i, e := range list {
		if stale[i] || len(s.responsesOf(&e)) > 0 {
			continue
		}
		made = append(made, e)
		var of []int
		for _, c := range s.callsOf(&e) {
			if a := answers[owned{c.id, i}]; len(a) > 0 && !slices.Contains(of, a[len(a)-1]) {
				of = append(of, a[len(a)-1])
			}
		}
		slices.Sort(of)
		var results []sentEvent
		for _, a := range of {
			results = append(results, list[a])
		}
		if len(results) > 0 {
			made = append(made, s.mergeResults(results))
		}
	}
	return made
}

// markStale marks what the model said between two results of one call.
func (s *session) markStale(list []sentEvent, from, to int, stale map[int]bool) {
	a, b := &s.events[list[from].event], &s.events[list[to].event]
	if a.invocation != b.invocation || a.Author != b.Author || hasContent(a.Actions.Confirmations) || hasContent(a.Actions.Credentials) {
		return
	}
	for i := from + 1; i < to; i++ {
		e := &s.events[list[i].event]
		if e.invocation != a.invocation || list[i].quoted || e.Author == "user" || e.Content.Role != "model" || len(s.callsOf(&list[i])) > 0 || list[i].summary ||
			!slices.ContainsFunc(e.Content.Parts, func(p part) bool { return p.text }) {
			return
		}
	}
	for i := from + 1; i < to; i++ {
		stale[i] = true
	}
}

// withoutOrphanCalls leaves out calls that have an id and no result, unless they are of tools that run long
// or wait at the end of the list.
func (s *session) withoutOrphanCalls(list []sentEvent, waits int) (made []sentEvent) {
	answered := map[string]bool{}
	for i := range list {
		for _, r := range s.responsesOf(&list[i]) {
			answered[r.id] = true
		}
		if list[i].quoted {
			continue
		}
		for _, id := range s.events[list[i].event].LongRunning {
			answered[id] = true
		}
	}
	for i, e := range list {
		if refs := s.partsOf(&e); i < waits && len(s.callsOf(&e)) > 0 {
			kept := slices.DeleteFunc(slices.Clone(refs), func(at partRef) bool {
				c := s.partAt(at).Call
				return c != nil && c.id != "" && !answered[c.id]
			})
			if len(kept) == 0 {
				continue
			}
			e = s.withParts(e, kept)
		}
		made = append(made, e)
	}
	return made
}

// unsentEvents yields those of some events that have something that ADK sends to no model: an output, an
// error, a thought alone, a question of ADK's own, what a tool said on a branch of its own, a result without
// its call.
func (s *session) unsentEvents(path []int, agent agent) iter.Seq[int] {
	return func(yield func(int) bool) {
		callIDs, asked := s.callIDs(path), map[string]bool{}
		for _, k := range path {
			e, orphan := &s.events[k], false
			for _, p := range e.Content.Parts {
				if p.Call != nil {
					asked[p.Call.id], asked[p.Call.name] = true, true
				}
				orphan = orphan || p.Response != nil && !asked[p.Response.id] && !asked[p.Response.name]
			}
			if e.says && (orphan || !e.isVisible() || !agent.canSee(e) || e.isInside(agent, callIDs) || e.asksItself()) || !e.says && e.holds {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// callIDs returns the ids of the calls in some events.
func (s *session) callIDs(path []int) map[string]bool {
	ids := map[string]bool{}
	for _, k := range path {
		for _, p := range s.events[k].Content.Parts {
			if p.Call != nil && p.Call.id != "" {
				ids[p.Call.id] = true
			}
		}
	}
	return ids
}

// evictedEvents returns the events on the path to the head that a compaction removed from later requests. A
// recovered call does not count.
func (s *session) evictedEvents() map[int]bool {
	if !s.compacted {
		return nil
	}
	list, path := map[int]bool{}, s.pathTo(s.head)
	asked := s.askedAgent(path)
	for _, k := range path {
		e := &s.events[k]
		list[k] = e.says && e.isVisible() && asked.canSee(e) && !e.asksItself()
	}
	for _, e := range s.sentAt(s.head) {
		list[e.event] = false
		for _, at := range e.parts {
			list[at.event] = false
		}
	}
	return list
}

// appendSent appends an event as the model is sent it: that of the session, with other parts or with the
// summary as its content where these are another.
func (s *session) appendSent(dst []byte, e *sentEvent) []byte {
	of := &s.events[e.event]
	if e.parts == nil && !e.summary && !e.quoted {
		return append(dst, of.data...)
	}
	tape, _, err := jsontape.ParseTolerant(of.data)
	if err != nil {
		return append(dst, of.data...)
	}
	patch := jsontape.NewPatch(tape)
	if e.summary {
		patch.Put(0, "content", of.Actions.Compaction.Content)
		patch.Put(0, "author", []byte(`"model"`)) // ADK names the agent that is asked
		return append(dst, patch.Bytes()...)
	}
	if e.quoted {
		patch.Put(0, "content", s.quoteEvent(e))
		patch.Put(0, "author", []byte(`"user"`))
		if of.LongRunning != nil {
			patch.Put(0, "long_running_tool_ids", []byte("null")) // a text waits for nothing
		}
		return append(dst, patch.Bytes()...)
	}
	parts := []byte{'['}
	for i, at := range e.parts {
		if i > 0 {
			parts = append(parts, ',')
		}
		parts = append(parts, s.rawPart(at)...)
	}
	patch.Put(tape.Find(0, "content"), "parts", append(parts, ']'))
	return append(dst, patch.Bytes()...)
}

// rawPart returns a part as it stands in its event.
func (s *session) rawPart(at partRef) []byte {
	list := jsontape.FindMember(jsontape.FindMember(s.events[at.event].data, `"content"`), `"parts"`)
	i := 0
	for m := range jsontape.Members(list) {
		if i == at.part {
			return m.Value
		}
		i++
	}
	return []byte("null")
}

// findTroubles returns faults for events on the path that some models reject, before ADK corrects them. Calls that
// wait for a person or for a long-running tool are no faults.
func (s *session) findTroubles(i int) (faults []model.Fault) {
	s.ensureDetails()
	state, path := []byte(`{"messages":[`), []int{}
	waits := map[string]bool{}
	for _, k := range s.pathTo(i) {
		e := &s.events[k]
		for _, id := range e.LongRunning {
			waits[id] = true
		}
		if !e.says || e.asksItself() {
			continue
		}
		if len(path) > 0 {
			state = append(state, ',')
		}
		state, path = append(state, e.data...), append(path, k)
	}
	tape, _, err := jsontape.ParseTolerant(append(state, "]}"...))
	if err != nil {
		return nil
	}
	c := conversation.Decode(tape)
	for _, t := range c.Troubles() {
		f, is := c.Fault(kind.Name, t)
		if !is || waits[c.CallText(t)] || t.Message >= len(path) {
			continue
		}
		f.File, f.Path = s.events[path[t.Message]].id, strings.TrimPrefix(f.Path, tape.Pointer(c.Message(t.Message).Node))
		faults = append(faults, f)
	}
	return faults
}
