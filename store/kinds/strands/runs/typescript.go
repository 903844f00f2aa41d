package runs

import (
	"slices"
	"time"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// isTypeScript tells the record of the TypeScript SDK by its members.
func isTypeScript(t *jsontape.Tape, n jsontape.Node) bool {
	for _, key := range []string{"type", "node_results", "execution_order", "node_history", "next_nodes_to_execute"} {
		if t.Find(n, key) >= 0 {
			return false
		}
	}
	return t.Find(n, "results") >= 0 || t.Find(n, "nodes") >= 0 || t.Find(n, "startTime") >= 0
}

// typeScriptRecord is a record of the TypeScript SDK while it is read.
type typeScriptRecord struct {
	*Run
	// nodes are the states of the nodes by name, names their names in the order
	// of the record, which is that of the orchestrator.
	nodes map[string]jsontape.Node
	names []string
	last  map[string]int
	runs  map[string]int
}

func (r *Run) readTypeScript() {
	ts := typeScriptRecord{Run: r, nodes: make(map[string]jsontape.Node), last: make(map[string]int), runs: make(map[string]int)}
	t := r.tape
	for n := range r.childrenOf(t.Find(r.root, "nodes")) {
		if t.Kind(t.Find(r.root, "nodes")) == jsontape.Object && !t.IsShadowed(n) {
			ts.nodes[t.Key(n)] = n
			ts.names = append(ts.names, t.Key(n))
		}
	}
	r.summary.Task = r.sayInput(t.Find(r.root, "_pendingInput"))
	ts.readOutline()
	ts.readOrder()
	ts.readBehind()
	for i := range r.steps {
		s := &r.steps[i]
		s.of = ts.runs[s.node]
		if s.result >= 0 {
			s.said = r.sayTypeScript(s.result)
		}
	}
	ts.readNodes()
	ts.readSummary()
	ts.sayNext()
	ts.inspectRecord()
}

func (ts *typeScriptRecord) readOutline() {
	t := ts.tape
	for n := range ts.childrenOf(ts.root) {
		switch key := t.Key(n); {
		case t.IsShadowed(n):
		case key == "results" && t.Kind(n) == jsontape.Array:
			ts.outline.order = n
			ts.outline.members = append(ts.outline.members, n)
		case key == "startTime", key == "_pendingInput":
			ts.outline.members = append(ts.outline.members, n)
		}
	}
}

// addSnapshot adds a snapshot of a node.
func (ts *typeScriptRecord) addSnapshot(s step) {
	ts.runs[s.node]++
	ts.last[s.node] = len(ts.steps)
	s.nth = ts.runs[s.node]
	ts.steps = append(ts.steps, s)
}

func (ts *typeScriptRecord) readOrder() {
	t := ts.tape
	for n := range ts.childrenOf(ts.outline.order) {
		node := t.Find(n, "nodeId")
		ts.addSnapshot(step{node: ts.textOf(node), result: n, outcome: ts.readOutcome(t.Find(n, "status")), upto: len(ts.steps) + 1, damaged: t.Kind(node) != jsontape.String})
	}
}

// readBehind finds what the nodes know and the results do not yet: a record is
// written when a node ended, and may be before its result is among the results.
// They come in the order in which they ended.
func (ts *typeScriptRecord) readBehind() {
	t := ts.tape
	type late struct {
		step
		ended time.Time // when the node's last run did
	}
	var behind []late
	for _, name := range ts.names {
		n := ts.nodes[name]
		found, first, last := 0, len(behind), ts.lastResult(n)
		if list := t.Find(n, "results"); t.Kind(list) == jsontape.Array {
			for result := range ts.childrenOf(list) {
				if found++; found > ts.runs[name] {
					behind = append(behind, late{step: step{node: name, result: result, outcome: ts.readOutcome(t.Find(result, "status"))}})
				}
			}
		}
		switch how := ts.readOutcome(t.Find(n, "status")); how {
		case outcomeFailed, outcomeCancelled, outcomeInterrupted:
			if ts.runs[name] == 0 && found == 0 {
				behind = append(behind, late{step: step{node: name, result: jsontape.None, outcome: how}})
			}
		}
		if first == len(behind) {
			continue
		}
		newest := &behind[len(behind)-1] // the runs before it ended no later
		newest.created = ts.endTime(n, last, &newest.step)
		for i := first; i < len(behind); i++ {
			behind[i].upto, behind[i].ended = len(ts.steps), newest.created
		}
	}
	slices.SortStableFunc(behind, func(a, b late) int {
		switch { // those without a time come last
		case a.ended.IsZero() == b.ended.IsZero():
			return a.ended.Compare(b.ended)
		case a.ended.IsZero():
			return 1
		}
		return -1
	})
	for _, s := range behind {
		ts.addSnapshot(s.step)
	}
}

// readNodes takes from the states of the nodes what the results do not tell:
// who waits for an answer, and when the last run of each ended.
func (ts *typeScriptRecord) readNodes() {
	t := ts.tape
	for _, name := range ts.names {
		i, ran := ts.last[name]
		if !ran {
			continue
		}
		n, s := ts.nodes[name], &ts.steps[i]
		if ts.readOutcome(t.Find(n, "status")) == outcomeInterrupted && s.outcome == outcomeInterrupted {
			s.waits = true
			if list := t.Find(n, "interrupts"); t.Kind(list) == jsontape.Array {
				for asked := range ts.childrenOf(list) {
					s.asks = append(s.asks, asked)
				}
			}
			s.said = ts.sayInterrupts(s.asks)
			ts.noteWaiting(s.asks)
		}
		s.created = ts.endTime(n, ts.lastResult(n), s)
	}
}

// lastResult returns the last result in the state of a node, or None. It takes time
// linear in their number.
func (ts *typeScriptRecord) lastResult(node jsontape.Node) jsontape.Node {
	results := ts.tape.Find(node, "results")
	if ts.tape.Kind(results) != jsontape.Array {
		return jsontape.None
	}
	return ts.tape.At(results, ts.tape.Count(results)-1)
}

// endTime returns the end of a run whose result is the last in its node's state, the zero
// time for any other run. At that moment the SDK computes the result's duration from the
// node's startTime. A run that a hook cancelled is an exception: its duration is 0 and
// its node was never started.
func (ts *typeScriptRecord) endTime(node, last jsontape.Node, s *step) time.Time {
	t := ts.tape
	if s.result < 0 || last < 0 || !jsontape.Equal(t, last, t, s.result) {
		return time.Time{}
	}
	started, ok := ts.readNumber(t.Find(node, "startTime"))
	took, known := ts.readNumber(t.Find(s.result, "duration"))
	if !ok || !known || took == 0 && s.outcome == outcomeCancelled {
		return time.Time{}
	}
	return timeOfMillis(started + took)
}

// lastMillisecond is the end of the year 9999, behind which no time can be
// written.
const lastMillisecond = 253402300799999

// timeOfMillis returns the time of JavaScript's Date.now, the zero time if it is out of
// range.
func timeOfMillis(ms int64) time.Time {
	if ms <= 0 || ms > lastMillisecond {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// readSummary works out what the record does not say: how the run stands, what
// kind of orchestrator it is of, and what runs next.
func (ts *typeScriptRecord) readSummary() {
	t, s := ts.tape, &ts.summary
	s.Kind = ts.recogniseKind()
	standing := ts.judgeRun()
	s.Status = standing.String()
	completed := false
	for _, name := range ts.names {
		switch how := ts.readOutcome(t.Find(ts.nodes[name], "status")); {
		case how == outcomeCompleted:
			completed = true
		case how == outcomeInterrupted, s.Kind == Graph && how != outcomePending:
			s.Next = append(s.Next, name)
		}
	}
	switch {
	case len(s.Waiting) > 0:
		return
	case s.Kind == Swarm:
		s.Next = nil
		if list := ts.outline.order; list >= 0 && t.Count(list) > 0 {
			if to, _ := ts.handOff(t.At(list, t.Count(list)-1)); to != "" {
				s.Next = []string{to}
			}
		}
	case !completed: // every start begins at the sources
		s.Next = nil
	}
}

// judgeRun is how the SDK judges a run by its results (MultiAgentResult), and
// executing while a node is, or while the run's input is kept: it goes when the
// run ends, and stays when it stops to ask.
func (ts *typeScriptRecord) judgeRun() outcome {
	seen := make(map[outcome]bool)
	for i := range ts.steps {
		seen[ts.steps[i].outcome] = true
	}
	if ts.tape.Find(ts.root, "_pendingInput") >= 0 && !seen[outcomeInterrupted] {
		return outcomeExecuting
	}
	for _, name := range ts.names {
		if ts.readOutcome(ts.tape.Find(ts.nodes[name], "status")) == outcomeExecuting {
			seen[outcomeExecuting] = true
		}
	}
	for _, how := range []outcome{outcomeExecuting, outcomeFailed, outcomeInterrupted, outcomeCancelled, outcomeCompleted} {
		if seen[how] {
			return how
		}
	}
	return outcomePending
}

// recogniseKind recognises a Swarm by the structured output of its nodes: the next node, and a
// message.
func (ts *typeScriptRecord) recogniseKind() Kind {
	kind := AnyKind
	for i := range ts.steps {
		s := &ts.steps[i]
		if s.outcome != outcomeCompleted || s.result < 0 {
			continue
		}
		if !ts.isHandOff(ts.tape.Find(s.result, "structuredOutput")) {
			return Graph
		}
		kind = Swarm
	}
	return kind
}

func (ts *typeScriptRecord) isHandOff(n jsontape.Node) bool {
	t := ts.tape
	if t.Kind(n) != jsontape.Object || t.Kind(t.Find(n, "message")) != jsontape.String {
		return false
	}
	for member := range ts.childrenOf(n) {
		switch t.Key(member) {
		case "agentId", "message", "context":
		default:
			return false
		}
	}
	return true
}

// handOff returns the node that a node of a Swarm handed over to, and its message.
func (r *Run) handOff(result jsontape.Node) (to, message string) {
	output := r.tape.Find(result, "structuredOutput")
	return r.textOf(r.tape.Find(output, "agentId")), r.briefValue(r.tape.Find(output, "message"), maxText)
}

// sayNext describes the next start. The pending nodes that a Graph picks are unknown,
// because its edges are not stored.
func (ts *typeScriptRecord) sayNext() {
	name := func(name string) string { return shortenText(name, maxName) }
	next := conversation.List(ts.summary.Next, name)
	var pending []string
	completed := false
	for _, node := range ts.names {
		switch ts.readOutcome(ts.tape.Find(ts.nodes[node], "status")) {
		case outcomePending:
			pending = append(pending, node)
		case outcomeCompleted:
			completed = true
		}
	}
	switch {
	case len(ts.summary.Waiting) > 0:
		ts.next = next + ", with an answer"
		if ts.summary.Kind == Swarm {
			ts.next += "; any other prompt begins at the first node"
		}
	case next != "":
		ts.next = next
	case ts.summary.Kind == Swarm:
		ts.next = "the first node again; the results so far are kept"
	case completed && len(pending) > 0:
		ts.next = "those of " + conversation.List(pending, name) + " whose edges come from completed nodes; edges are not stored"
	case completed:
		ts.next = "the first nodes again; the results so far are kept"
	default:
		ts.next = "the first nodes"
	}
}
