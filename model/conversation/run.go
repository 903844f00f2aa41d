package conversation

import (
	"strings"

	"hindcast/model/jsontape"
)

// run describes how an orchestrator, a Graph or a Swarm, goes on, by its record. A record holds no
// conversation, but the last message of each of its nodes, and the whole of it where a node waits for an
// answer.
type run struct {
	is bool
	// call is the orchestrator in the framework's language: "graph".
	call string
	// asks: an interrupt waits. next: some nodes are to run. newest: the record
	// is as its writer left it, and not what it told of an earlier moment.
	asks, next, newest bool
}

// readRun adds what is in the record of an orchestrator: the task, unless it is
// the list of messages, and what the nodes said, in the order in which they
// ended. For Python that is {type, node_results: {NODE: RESULT}} with
// execution_order or node_history, for TypeScript {startTime, results: [RESULT],
// nodes}.
func (c *Conversation) readRun() {
	t := c.tape
	order := max(t.Find(0, "execution_order"), t.Find(0, "node_history"))
	results := t.Find(0, "results")
	switch {
	case t.Kind(order) == jsontape.Array && t.Find(0, "type") >= 0 && c.beginRun("current_task"):
		c.traits |= traitPython
		waiting := c.readPythonRun()
		c.readPythonResults(t.Find(0, "node_results"), order, waiting)
		for _, n := range waiting {
			c.readOwn(t.Find(n, "messages"), n)
		}
	case t.Kind(results) == jsontape.Array && t.Find(0, "startTime") >= 0 && t.First(results) >= 0 && t.Find(t.First(results), "nodeId") >= 0 && c.beginRun("_pendingInput"):
		c.traits |= traitTypeScript
		for n := t.First(results); n >= 0; n = t.Next(n) {
			c.typeScriptResult(n)
		}
		c.readTypeScriptRun()
	}
}

// beginRun reads the task, and reports whether this is a record at all: one that
// has messages elsewhere is the state of an agent.
func (c *Conversation) beginRun(key string) bool {
	task := c.tape.Find(0, key)
	if c.list >= 0 && c.list != task {
		return false
	}
	c.run.is = true
	c.readTask(task)
	return true
}

// readTask reads a text or a list of blocks; a list of messages was found
// already.
func (c *Conversation) readTask(n Node) {
	switch c.tape.Kind(n) {
	case jsontape.String:
		if len(c.tape.Raw(n)) == len(`""`) {
			return // nothing was asked yet
		}
		c.beginMessage(Message{Node: n, Role: User})
		c.addBlock(readValue(c.tape, n))
	case jsontape.Array:
		if n == c.list || c.tape.First(n) < 0 {
			return
		}
		c.beginMessage(Message{Node: n, Role: User})
		for b := c.tape.First(n); b >= 0; b = c.tape.Next(b) {
			c.readContent(b)
		}
	}
}

// readPythonResults reads the results in the order of the nodes, each where its
// node ran last, and after them those that are of no run in the order: of a node
// that is not in it, or that failed. A node that waits has its conversation
// elsewhere.
func (c *Conversation) readPythonResults(results, order Node, waiting []Node) {
	t := c.tape
	if t.Kind(results) != jsontape.Object {
		return
	}
	asks := make(map[string]bool)
	for _, n := range waiting {
		asks[t.Key(n)] = true
	}
	last := make(map[string]Node) // elements of the order by name
	for n := t.First(order); n >= 0; n = t.Next(n) {
		last[t.Text(n)] = n
	}
	byNode := make(map[Node]Node) // results by the element of the order
	var behind []Node
	for n := t.First(results); n >= 0; n = t.Next(n) {
		at, ran := last[t.Key(n)]
		switch {
		case t.IsShadowed(n), asks[t.Key(n)] && isText(t, t.Find(n, "status"), "interrupted"):
		case ran && !isText(t, t.Find(t.Find(n, "result"), "type"), "exception"):
			byNode[at] = n
		default:
			behind = append(behind, n)
		}
	}
	for at := t.First(order); at >= 0; at = t.Next(at) {
		if n, ok := byNode[at]; ok {
			c.pythonResult(n)
		}
	}
	for _, n := range behind {
		c.pythonResult(n)
	}
}

// pythonResult reads a NodeResult, and those of a run inside of it.
func (c *Conversation) pythonResult(n Node) {
	t := c.tape
	open := []Node{n}
	for only := true; len(open) > 0; only = false {
		at := len(open) - 1
		n := open[at]
		if open[at] = t.Next(n); only || open[at] < 0 {
			open = open[:at]
		}
		inner := t.Find(n, "result")
		switch kind := t.Find(inner, "type"); {
		case isText(t, kind, "exception"):
			c.beginMessage(Message{Node: inner, speaker: n})
			c.addBlock(readValue(t, max(inner, t.Find(inner, "message"))))
		case isText(t, kind, "multiagent_result"):
			if nested := t.Find(inner, "results"); t.Kind(nested) == jsontape.Object && t.First(nested) >= 0 {
				open = append(open, t.First(nested))
			}
		default:
			if m := t.Find(inner, "message"); t.Kind(m) == jsontape.Object {
				c.readMessage(m)
				c.messages[len(c.messages)-1].speaker = n
			}
		}
	}
}

// typeScriptResult reads a NodeResult: content, or an error.
func (c *Conversation) typeScriptResult(n Node) {
	t := c.tape
	name := t.Find(n, "nodeId")
	if t.Kind(name) != jsontape.String {
		return
	}
	c.beginMessage(Message{Node: n, Role: Assistant, speaker: name})
	if content := t.Find(n, "content"); t.Kind(content) == jsontape.Array {
		for b := t.First(content); b >= 0; b = t.Next(b) {
			c.readContent(b)
		}
	}
	if failure := t.Find(n, "error"); t.Kind(failure) == jsontape.String {
		c.addBlock(readValue(t, failure))
	}
	if m := len(c.messages) - 1; c.messages[m].first == c.messages[m].end {
		c.messages = c.messages[:m] // it stopped to ask, and said nothing
	}
}

// readPythonRun reads the next nodes, and returns the stored data of the nodes that wait for an answer.
func (c *Conversation) readPythonRun() (waiting []Node) {
	t, r := c.tape, &c.run
	r.call = "graph"
	if isText(t, t.Find(0, "type"), "swarm") {
		r.call = "swarm"
	}
	next := t.Find(0, "next_nodes_to_execute")
	r.newest = next >= 0
	r.next = t.Kind(next) == jsontape.Array && t.First(next) >= 0
	state := t.Find(t.Find(0, "_internal_state"), "interrupt_state")
	r.asks = t.Kind(t.Find(state, "activated")) == jsontape.True
	context := t.Find(state, "context")
	if !r.asks || t.Kind(context) != jsontape.Object {
		return nil
	}
	for n := t.First(context); n >= 0; n = t.Next(n) {
		if list := t.Find(n, "messages"); t.Kind(list) == jsontape.Array && t.First(list) >= 0 {
			waiting = append(waiting, n)
		}
	}
	return waiting
}

// readTypeScriptRun reads what is next, and the conversations of the nodes that
// wait for an answer.
func (c *Conversation) readTypeScriptRun() {
	t, r := c.tape, &c.run
	r.call = "orchestrator"
	nodes := t.Find(0, "nodes")
	if t.Kind(nodes) != jsontape.Object {
		return
	}
	r.newest = true
	for n := t.First(nodes); n >= 0; n = t.Next(n) {
		status := t.Find(n, "status")
		if isText(t, status, "INTERRUPTED") {
			r.asks = true
			c.readNodeInterrupts(t.Find(n, "interrupts"))
		}
		r.next = r.next || !isText(t, status, "COMPLETED")
		c.readOwn(t.Find(t.Find(t.Find(n, "interruptedSnapshot"), "data"), "messages"), n)
	}
}

func (c *Conversation) readNodeInterrupts(list Node) {
	if c.tape.Kind(list) != jsontape.Array {
		return
	}
	for n := c.tape.First(list); n >= 0; n = c.tape.Next(n) {
		c.pause.interrupts = append(c.pause.interrupts, n)
	}
}

// readOwn reads the conversation of a node.
func (c *Conversation) readOwn(messages, node Node) {
	if c.tape.Kind(messages) != jsontape.Array {
		return
	}
	for m := c.tape.First(messages); m >= 0; m = c.tape.Next(m) {
		c.readMessage(m)
		c.messages[len(c.messages)-1].speaker = node
	}
}

// speakerText returns the name of the node of an orchestrator that a message is
// of; a message to the node has the role too.
func (c *Conversation) speakerText(m *Message) string {
	t := c.tape
	name := string(t.AppendText(nil, m.speaker, maxName))
	if t.Kind(m.speaker) != jsontape.String {
		name = t.Key(m.speaker)
		name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
	}
	if m.Role != Assistant && m.Role != UnknownRole {
		name += ": " + m.Role.String()
	}
	return name
}

// runPosition is where the messages of a run stand: each of its nodes is done with
// its own conversation.
func (c *Conversation) runPosition() Position {
	switch {
	case len(c.messages) == 0:
		return Empty
	case c.messages[len(c.messages)-1].speaker == 0:
		return UserInput
	}
	return TurnEnd
}

// runResume returns the way to go on with a run, seen by running strands-agents 1.62.0 and
// @strands-agents/sdk 1.19.0; nil for an earlier moment, because its next nodes are unknown.
func (c *Conversation) runResume() []Resume {
	r := c.run
	if !r.newest {
		return nil
	}
	way := Resume{Framework: c.Framework(), Call: r.call + `("…")`}
	answer := `([{"interruptResponse": {"interruptId": "…", "response": …}}])`
	if way.Framework == StrandsTypeScript {
		way.Call = r.call + `.invoke("…")`
		answer = `.invoke([{interruptResponse: {interruptId: "…", response: …}}])`
	}
	switch python := way.Framework == StrandsPython; {
	case r.asks:
		way.Call, way.Effect = r.call+answer, "answers the interrupt and runs the nodes that wait for it."
		if python {
			way.Warning = "Any other input is a TypeError while an interrupt is pending."
		}
	case r.next && python:
		way.Effect = "runs the nodes that are next. The stored task is used, and your text is not."
		way.Warning = "The nodes' agents begin without the messages that they had."
	case python:
		way.Effect, way.Warning = "begins anew, with your text as the task.", "All results of this run are dropped."
	case r.next:
		way.Effect = "runs the nodes that did not complete and can run, with your text; the results so far are kept."
	default:
		way.Effect = "begins with the first nodes again, with your text; the results so far are kept."
	}
	return []Resume{way}
}
