package runs

import (
	"fmt"
	"strings"

	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// typeScriptBlocks are the keys by which contentBlockFromData knows a block.
var typeScriptBlocks = []string{"text", "toolUse", "toolResult", "reasoning", "cachePoint", "guardContent", "audio", "image", "video", "document", "citations"}

// inspectRecord finds what the TypeScript SDK refuses in a record, and a result that lasts. It follows the loading of
// MultiAgentState in multiagent/state.js, and the choice of the next nodes in graph.js
// and swarm.js.
func (ts *typeScriptRecord) inspectRecord() {
	t := ts.tape
	results, nodes := t.Find(ts.root, "results"), t.Find(ts.root, "nodes")
	if ts.outline.order < 0 {
		ts.addFault(FaultMember, orElse(results, ts.root), "there is no list of results", sdk.Refuses("TypeError: data.results is not iterable"))
	}
	for n := range ts.childrenOf(ts.outline.order) {
		ts.inspectResult(n)
	}
	if t.Kind(nodes) != jsontape.Object || t.Count(nodes) == 0 {
		ts.addFault(FaultMember, orElse(nodes, ts.root), "there are no nodes", sdk.Refuses("TypeError: the first node that runs has no state"))
	}
	for _, name := range ts.names {
		ts.inspectNode(ts.nodes[name])
	}
	for n := range ts.childrenOf(ts.outline.order) {
		if how := ts.readOutcome(t.Find(n, "status")); how == outcomeFailed || how == outcomeCancelled {
			ts.addFault(FaultFailedLeft, n, "a result is "+how.String()+", and the next start keeps the results",
				sdk.Loads("every later run ends as "+strings.ToUpper(how.String())+", even if all of its nodes complete"))
		}
	}
	for _, next := range ts.summary.Next {
		if _, known := ts.nodes[next]; !known && ts.summary.Kind == Swarm {
			ts.addFault(FaultFrontier, ts.outline.order, fmt.Sprintf("the last node handed over to %.60q, which is no node", next), sdk.Loads("the next start begins at the first node, and keeps the results"))
		}
	}
}

func (ts *typeScriptRecord) inspectResult(n jsontape.Node) {
	t := ts.tape
	content := t.Find(n, "content")
	switch {
	case t.Kind(n) == jsontape.Null:
		ts.addFault(FaultShape, n, "a result is null", sdk.Refuses("TypeError: Cannot read properties of null"))
		return
	case t.Kind(content) != jsontape.Array:
		ts.addFault(FaultMember, orElse(content, n), "a result has no list of content", sdk.Refuses("TypeError: its content cannot be mapped"))
	}
	for block := range ts.childrenOf(content) {
		if !ts.isBlock(block) {
			ts.addFault(FaultShape, block, "a block of content is of an unknown kind", sdk.Refuses("Error: Unknown ContentBlockData type"))
		}
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

func (ts *typeScriptRecord) inspectNode(n jsontape.Node) {
	t := ts.tape
	if t.Kind(n) == jsontape.Null {
		ts.addFault(FaultShape, n, "the state of a node is null", sdk.Refuses("TypeError: Cannot read properties of null"))
		return
	}
	results := t.Find(n, "results")
	if t.Kind(results) != jsontape.Array {
		ts.addFault(FaultMember, orElse(results, n), "the state of a node has no list of results", sdk.Refuses("TypeError: data.results is not iterable"))
	} else {
		for result := range ts.childrenOf(results) {
			ts.inspectResult(result)
		}
	}
}
