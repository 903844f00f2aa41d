package runs

import (
	"fmt"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// typeScriptBlocks are the keys by which contentBlockFromData knows a block.
var typeScriptBlocks = []string{"text", "toolUse", "toolResult", "reasoning", "cachePoint", "guardContent", "audio", "image", "video", "document", "citations"}

// inspect finds the oddities in a record of the TypeScript SDK. It follows the loading of
// MultiAgentState in multiagent/state.js, and the choice of the next nodes in graph.js
// and swarm.js.
func (ts *typeScriptRecord) inspect() {
	t := ts.tape
	results, nodes := t.Find(ts.root, "results"), t.Find(ts.root, "nodes")
	if ts.outline.order < 0 {
		ts.fault(FaultMember, orElse(results, ts.root), "there is no list of results", sdk.Refuses("TypeError: data.results is not iterable"))
	}
	for n := range ts.children(ts.outline.order) {
		ts.inspectResult(n)
	}
	if t.Kind(nodes) != jsontape.Object || t.Count(nodes) == 0 {
		ts.fault(FaultMember, orElse(nodes, ts.root), "there are no nodes", sdk.Refuses("TypeError: the first node that runs has no state"))
	}
	for _, name := range ts.names {
		ts.inspectNode(name, ts.nodes[name])
	}
	for _, key := range []string{"startTime", "steps"} {
		if n := t.Find(ts.root, key); t.Kind(n) != jsontape.Number {
			ts.fault(FaultMember, orElse(n, ts.root), key+" is not a number", sdk.Loads(map[string]string{"startTime": "the duration of the run is not a number then", "steps": "maxSteps does not hold then"}[key]))
		}
	}
	ts.inspectStanding()
}

func (ts *typeScriptRecord) inspectResult(n jsontape.Node) {
	t := ts.tape
	content := t.Find(n, "content")
	switch {
	case t.Kind(n) == jsontape.Null:
		ts.fault(FaultShape, n, "a result is null", sdk.Refuses("TypeError: Cannot read properties of null"))
		return
	case t.Kind(content) != jsontape.Array:
		ts.fault(FaultMember, orElse(content, n), "a result has no list of content", sdk.Refuses("TypeError: its content cannot be mapped"))
	}
	for block := range ts.children(content) {
		if !ts.isBlock(block) {
			ts.fault(FaultShape, block, "a block of content is of an unknown kind", sdk.Refuses("Error: Unknown ContentBlockData type"))
		}
	}
	if status := t.Find(n, "status"); ts.outcome(status) == outcomeUnknown {
		ts.fault(FaultStatus, orElse(status, n), fmt.Sprintf("the status is %.40q", ts.brief(status, maxName)), sdk.Loads("the result counts as completed"))
	}
}

func (ts *typeScriptRecord) isBlock(n jsontape.Node) bool {
	for _, key := range typeScriptBlocks {
		if ts.tape.Find(n, key) >= 0 {
			return true
		}
	}
	return false
}

func (ts *typeScriptRecord) inspectNode(name string, n jsontape.Node) {
	t := ts.tape
	if t.Kind(n) == jsontape.Null {
		ts.fault(FaultShape, n, "the state of a node is null", sdk.Refuses("TypeError: Cannot read properties of null"))
		return
	}
	results := t.Find(n, "results")
	if t.Kind(results) != jsontape.Array {
		ts.fault(FaultMember, orElse(results, n), "the state of a node has no list of results", sdk.Refuses("TypeError: data.results is not iterable"))
	} else {
		for result := range ts.children(results) {
			ts.inspectResult(result)
		}
	}
	status := t.Find(n, "status")
	switch how := ts.outcome(status); {
	case how == outcomeUnknown:
		ts.fault(FaultStatus, orElse(status, n), fmt.Sprintf("the status is %.40q", ts.brief(status, maxName)), sdk.Loads("the node counts as not completed, and runs again"))
	case how == outcomeCompleted && ts.runs[name] == 0:
		ts.fault(FaultResult, n, fmt.Sprintf("%.60q has completed, and has no result", name), sdk.Loads("what is behind it runs without its result"))
	}
}

// inspectStanding looks at how the next run would end, and where it would start.
func (ts *typeScriptRecord) inspectStanding() {
	t := ts.tape
	for n := range ts.children(ts.outline.order) {
		if how := ts.outcome(t.Find(n, "status")); how == outcomeFailed || how == outcomeCancelled {
			ts.fault(FaultFailedLeft, n, "a result is "+how.String()+", and the next start keeps the results",
				sdk.Loads("every later run ends as "+strings.ToUpper(how.String())+", even if all of its nodes complete"))
		}
		if name := t.Find(n, "nodeId"); t.Kind(name) == jsontape.String {
			if _, known := ts.nodes[t.Text(name)]; !known {
				ts.fault(FaultResult, name, fmt.Sprintf("there is a result of %.60q, which is no node", t.Text(name)), sdk.Loads("it is kept among the results"))
			}
		}
	}
	if ts.summary.Kind == Swarm {
		for _, next := range ts.summary.Next {
			if _, known := ts.nodes[next]; !known {
				ts.fault(FaultFrontier, ts.outline.order, fmt.Sprintf("the last node handed over to %.60q, which is no node", next), sdk.Loads("the next start begins at the first node, and keeps the results"))
			}
		}
	}
}
