package runs

import (
	"cmp"
	"slices"

	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// pythonRecord is a record of the Python SDK while it is read.
type pythonRecord struct {
	*Run
	status    outcome
	order     jsontape.Node // execution_order or node_history
	completed map[string]bool
	failed    map[string]bool
	stopped   map[string]bool // interrupted_nodes
	// results are the members of node_results by name, names their names in the
	// order of the record.
	results map[string]jsontape.Node
	names   []string
	// interrupts is _internal_state.interrupt_state.
	interrupts jsontape.Node
	// active says that an interrupt waits for an answer.
	active bool
	// resumes says that a start goes on with the run.
	resumes bool
	// last is the last snapshot of each node, runs how often each ran.
	last, runs map[string]int
}

func (r *Run) readPython() {
	t := r.tape
	p := pythonRecord{Run: r, last: make(map[string]int), runs: make(map[string]int)}
	p.readSummary()
	p.completed = p.set("completed_nodes")
	p.failed = p.set("failed_nodes")
	p.stopped = p.set("interrupted_nodes")
	p.interrupts = t.Find(t.Find(r.root, "_internal_state"), "interrupt_state")
	p.resumes = !r.isFalsy(t.Find(r.root, "next_nodes_to_execute"))
	p.active = t.Kind(t.Find(p.interrupts, "activated")) == jsontape.True
	p.readResults()
	p.readOutline()
	p.readOrder()
	p.readBehind()
	for i := range r.steps {
		s := &r.steps[i]
		s.of = p.runs[s.node]
		if s.result >= 0 {
			s.said = r.sayPython(s.result)
		}
	}
	p.readWaiting()
	p.sayNext()
	p.inspectRecord()
}

func (p *pythonRecord) readSummary() {
	t, s := p.tape, &p.summary
	if id := t.Find(p.root, "id"); t.Kind(id) == jsontape.String {
		s.ID = t.Text(id)
	}
	execution, history := t.Find(p.root, "execution_order"), t.Find(p.root, "node_history")
	switch kind := p.textOf(t.Find(p.root, "type")); {
	case kind == "graph" || kind != "swarm" && execution >= 0:
		s.Kind, p.order = Graph, execution
	case kind == "swarm" || history >= 0:
		s.Kind, p.order = Swarm, history
	default:
		p.order = jsontape.None
	}
	p.status = p.readOutcome(t.Find(p.root, "status"))
	s.Status = p.statusWord(t.Find(p.root, "status"))
	s.Task = p.sayInput(t.Find(p.root, "current_task"))
	s.Next = p.nodeNames(t.Find(p.root, "next_nodes_to_execute"))
	if slices.Equal(s.Next, []string{workOutName}) {
		s.Next, p.workOut = nil, true
	}
}

func (p *pythonRecord) set(key string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range p.nodeNames(p.tape.Find(p.root, key)) {
		set[name] = true
	}
	return set
}

// nodeNames returns the names in a list of nodes as Python goes through it: of an
// object it takes the keys.
func (p *pythonRecord) nodeNames(list jsontape.Node) []string {
	if p.tape.Kind(list) != jsontape.Object {
		return p.textsOf(list)
	}
	var names []string
	for n := range p.childrenOf(list) {
		names = append(names, p.tape.Key(n))
	}
	return names
}

func (p *pythonRecord) readResults() {
	t := p.tape
	p.results = make(map[string]jsontape.Node)
	results := t.Find(p.root, "node_results")
	if t.Kind(results) != jsontape.Object {
		return
	}
	for n := range p.childrenOf(results) {
		if name := t.Key(n); !t.IsShadowed(n) {
			p.results[name] = n
			p.names = append(p.names, name)
		}
	}
	p.outline.results = results
}

// readOutline picks the members that every state has.
func (p *pythonRecord) readOutline() {
	t := p.tape
	if t.Kind(p.order) != jsontape.Array {
		p.order = jsontape.None
	}
	p.outline.order = p.order
	for n := range p.childrenOf(p.root) {
		switch key := t.Key(n); {
		case t.IsShadowed(n):
		case n == p.order, n == p.outline.results, key == "type", key == "id", key == "current_task":
			p.outline.members = append(p.outline.members, n)
		}
	}
}

// readOrder makes a snapshot of each element of the order.
func (p *pythonRecord) readOrder() {
	t := p.tape
	upto := 0
	for n := range p.childrenOf(p.order) {
		upto++
		if t.Kind(n) != jsontape.String {
			continue // a fault, see inspect
		}
		name := t.Text(n)
		p.runs[name]++
		if before, ran := p.last[name]; ran {
			p.steps[before].replaced, p.steps[before].outcome = true, outcomeUnknown
		}
		p.last[name] = len(p.steps)
		p.steps = append(p.steps, step{node: name, upto: upto, result: jsontape.None, outcome: outcomeCompleted, nth: p.runs[name]})
	}
	for _, name := range p.names {
		if i, ran := p.last[name]; ran && !p.isBehind(name) {
			p.attachResult(&p.steps[i], name)
			p.know(name, i)
		}
	}
}

// isBehind reports whether a result belongs to a run that the order lacks. A Graph's
// order lists the runs that completed or were cancelled, but not those that raised an
// exception. A Swarm's order lists the completed runs. Neither lists a run that stopped
// to ask.
func (p *pythonRecord) isBehind(name string) bool {
	n := p.results[name]
	switch p.readOutcome(p.tape.Find(n, "status")) {
	case outcomeInterrupted:
		return true
	case outcomeFailed:
		return p.summary.Kind == Swarm || p.textOf(p.tape.Find(p.tape.Find(n, "result"), "type")) == "exception"
	}
	return false
}

// attachResult gives a snapshot the result that is stored under its node's name.
func (p *pythonRecord) attachResult(s *step, name string) {
	s.result = p.results[name]
	s.outcome = p.readOutcome(p.tape.Find(s.result, "status"))
	s.damaged = p.tape.Kind(s.result) != jsontape.Object || p.tape.Kind(p.tape.Find(s.result, "result")) != jsontape.Object
	s.waits = p.active && s.outcome == outcomeInterrupted
}

func (p *pythonRecord) know(name string, from int) {
	p.outline.known = append(p.outline.known, knownResult{p.results[name], from})
}

// readBehind adds the snapshots of nodes that the order lacks: first the nodes with a
// result, in the order of the record, then the failed nodes, then the nodes that wait for
// an answer. The SDK stores the latter two as sets, so they are sorted by name.
func (p *pythonRecord) readBehind() {
	var behind []step
	ordered := 0
	if p.order >= 0 {
		ordered = p.tape.Count(p.order)
	}
	there := make(map[string]bool)
	add := func(name string, how outcome) {
		s := step{node: name, upto: ordered, result: jsontape.None, outcome: how, waits: how == outcomeInterrupted && p.active}
		if _, stored := p.results[name]; stored && (p.runs[name] == 0 || p.isBehind(name)) {
			p.attachResult(&s, name)
		}
		there[name] = true
		behind = append(behind, s)
	}
	for _, name := range p.names {
		if _, ran := p.last[name]; !ran || p.isBehind(name) {
			add(name, outcomeUnknown)
		}
	}
	for _, name := range sortedKeys(p.failed) {
		if _, ran := p.last[name]; !ran && !there[name] {
			add(name, outcomeFailed)
		}
	}
	for _, name := range sortedKeys(p.stopped) {
		if p.active && !there[name] {
			add(name, outcomeInterrupted)
		}
	}
	if asks, ok := p.asksInSwarm(); ok && !there[asks] {
		add(asks, outcomeInterrupted)
	}
	slices.SortStableFunc(behind, func(a, b step) int {
		switch asks := a.outcome == outcomeInterrupted; {
		case asks == (b.outcome == outcomeInterrupted):
			return 0
		case asks:
			return 1
		}
		return -1
	})
	for i := range behind {
		s := &behind[i]
		if before, ran := p.last[s.node]; ran && s.result >= 0 {
			p.steps[before].replaced, p.steps[before].outcome = true, outcomeUnknown
		}
		p.runs[s.node]++
		s.nth = p.runs[s.node]
		p.last[s.node] = len(p.steps)
		if s.result >= 0 {
			p.know(s.node, len(p.steps))
		}
		p.steps = append(p.steps, *s)
	}
	// The object of results keeps its order.
	slices.SortFunc(p.outline.known, func(a, b knownResult) int { return cmp.Compare(a.member, b.member) })
}

// asksInSwarm returns the node of a Swarm that stopped to ask: the next one, or
// where none is next the one that has something kept.
func (p *pythonRecord) asksInSwarm() (name string, ok bool) {
	if p.summary.Kind != Swarm || p.status != outcomeInterrupted {
		return "", false
	}
	if len(p.summary.Next) > 0 {
		return p.summary.Next[0], true
	}
	for n := range p.childrenOf(p.tape.Find(p.interrupts, "context")) {
		if p.tape.Find(n, "interrupt_state") >= 0 {
			return p.tape.Key(n), true
		}
	}
	return "", false
}

// readWaiting finds the interrupts that wait for an answer, and who asks them.
func (p *pythonRecord) readWaiting() {
	if !p.active {
		return
	}
	var all []jsontape.Node
	byID := make(map[string]jsontape.Node)
	for n := range p.childrenOf(p.tape.Find(p.interrupts, "interrupts")) {
		all = append(all, n)
		byID[p.tape.Key(n)] = n
	}
	p.noteWaiting(all)
	context := make(map[string]jsontape.Node)
	for n := range p.childrenOf(p.tape.Find(p.interrupts, "context")) {
		context[p.tape.Key(n)] = n
	}
	for i := range p.steps {
		s := &p.steps[i]
		if !s.waits {
			continue
		}
		if own, ok := context[s.node]; ok {
			for _, id := range p.textsOf(p.tape.Find(own, "interrupt_ids")) {
				if n, ok := byID[id]; ok {
					s.asks = append(s.asks, n)
				}
			}
		}
		if len(s.asks) == 0 { // a Swarm does not say, and has one node that asks
			s.asks = all
		}
		s.said = p.sayInterrupts(s.asks)
	}
}

// sayNext describes the next start.
func (p *pythonRecord) sayNext() {
	next := conversation.List(p.summary.Next, func(name string) string { return shortenText(name, maxName) })
	switch {
	case p.workOut:
		p.next = "what the edges make ready: the next start runs nothing and stores it, the one after runs it"
	case !p.resumes && p.active && p.summary.Kind != Swarm:
		p.next = "nothing; any prompt but an answer is a TypeError"
	case !p.resumes:
		p.next = "nothing; the next start begins anew"
	case p.active:
		p.next = next + ", with an answer; any other prompt is a TypeError"
	default:
		p.next = next
	}
}
