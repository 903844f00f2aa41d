package runs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/sdk"
)

// pythonStatuses are the values of the SDK's Status.
var pythonStatuses = []string{"pending", "dispatched", "executing", "completed", "failed", "interrupted"}

// inspectRecord finds what the Python SDK refuses in a record, and what a start on it loses. It follows
// deserialize_state of graph.py and swarm.py.
func (p *pythonRecord) inspectRecord() {
	p.inspectInterruptState()
	p.inspectStanding()
	if p.resumes { // else the rest is not read
		p.inspectMembers()
		p.inspectResults()
	}
}

func (p *pythonRecord) memberOf(key string) jsontape.Node { return p.tape.Find(p.root, key) }

// addRefusal notes a fault on which the SDK does not start.
func (p *pythonRecord) addRefusal(code string, n jsontape.Node, meaning, refusal string) {
	p.addFault(code, n, meaning, sdk.Refuses(refusal))
}

// inspectKind looks at whether a value that is there is of a kind.
func (p *pythonRecord) inspectKind(n jsontape.Node, what string, want jsontape.Kind, refusal string) {
	if k := p.tape.Kind(n); n >= 0 && k != want {
		p.addRefusal(FaultShape, n, fmt.Sprintf("%s is %s, not %s", what, k, kindNames[want]), refusal)
	}
}

var kindNames = map[jsontape.Kind]string{jsontape.Object: "an object", jsontape.Array: "a list"}

// isFalsy reports whether Python takes a value that is not there, or that is, for
// false.
func (r *Run) isFalsy(n jsontape.Node) bool {
	switch k := r.tape.Kind(n); k {
	case jsontape.Invalid, jsontape.Null, jsontape.False:
		return true
	case jsontape.String, jsontape.Array, jsontape.Object:
		start, end := r.tape.Span(n)
		return r.tape.Count(n) == 0 && (k != jsontape.String || end-start == len(`""`))
	case jsontape.Number:
		value, err := strconv.ParseFloat(string(r.tape.Raw(n)), 64)
		return err == nil && value == 0
	}
	return false
}

func (p *pythonRecord) inspectInterruptState() {
	t := p.tape
	internal := p.memberOf("_internal_state")
	if internal < 0 {
		return // as before there were interrupts
	}
	if p.interrupts < 0 && t.Kind(internal) == jsontape.Object {
		p.addRefusal(FaultMember, internal, "there is no interrupt_state", "KeyError: 'interrupt_state'")
		return
	}
	n := orElse(p.interrupts, internal)
	if p.inspectKind(n, "the interrupt state", jsontape.Object, "TypeError"); t.Kind(n) != jsontape.Object {
		return
	}
	for _, key := range []string{"activated", "context", "interrupts"} {
		if t.Find(p.interrupts, key) < 0 {
			p.addRefusal(FaultMember, p.interrupts, "the interrupt state has no "+key, "KeyError: '"+key+"'")
		} else if key != "activated" {
			p.inspectKind(t.Find(p.interrupts, key), key, jsontape.Object, "AttributeError or TypeError")
		}
	}
	p.inspectInterrupts(t.Find(p.interrupts, "interrupts"), sdk.Refuses)
	for own := range p.childrenOf(t.Find(p.interrupts, "context")) {
		p.inspectInterrupts(t.Find(t.Find(own, "interrupt_state"), "interrupts"), func(refusal string) sdk.Verdict { return sdk.Loses("an answer is refused: " + refusal) })
	}
	if p.active {
		p.inspectAnswer()
	}
}

// inspectAnswer looks whether an answer finds its way.
func (p *pythonRecord) inspectAnswer() {
	t := p.tape
	context := t.Find(p.interrupts, "context")
	next := ""
	if len(p.summary.Next) > 0 {
		next = p.summary.Next[0]
	}
	switch {
	case p.summary.Kind == Swarm && !p.resumes:
		p.addFault(FaultInterrupt, p.interrupts, "an interrupt waits, and nothing is next", sdk.Loses("the interrupt is forgotten and the next start begins anew; an answer to it fails"))
	case p.summary.Kind == Swarm && t.Find(context, next) < 0:
		p.addFault(FaultInterrupt, orElse(context, p.interrupts), fmt.Sprintf("an interrupt waits, and nothing is kept of %.60q, which is next", next), sdk.Loses("any prompt but an answer is a TypeError, and an answer ends the run as failed"))
	case p.summary.Kind == Swarm:
	case !p.resumes || len(p.stopped) == 0:
		p.addFault(FaultInterrupt, p.interrupts, "an interrupt is active, and no node waits that could go on",
			sdk.Loses("any prompt but an answer is a TypeError, and after an answer nothing runs and the run is called completed"))
	case t.Find(context, "completed_nodes") < 0:
		p.addFault(FaultInterrupt, orElse(context, p.interrupts), "the context of the interrupt has no completed_nodes", sdk.Loses("any prompt but an answer is a TypeError, and an answer a KeyError: 'completed_nodes'"))
	}
}

// inspectInterrupts checks the arguments of Interrupt(**…), in a list or an object.
// verdict makes a verdict of the SDK's exception.
func (p *pythonRecord) inspectInterrupts(list jsontape.Node, verdict func(refusal string) sdk.Verdict) {
	t := p.tape
	if k := t.Kind(list); k != jsontape.Object && k != jsontape.Array {
		return
	}
	for n := range p.childrenOf(list) {
		if t.Kind(n) != jsontape.Object {
			p.addFault(FaultInterrupt, n, "an interrupt is "+t.Kind(n).String()+", not an object", verdict("TypeError: Interrupt() argument after ** must be a mapping"))
			continue
		}
		for _, key := range []string{"id", "name"} {
			if t.Find(n, key) < 0 {
				p.addFault(FaultInterrupt, n, "an interrupt has no "+key, verdict("TypeError: Interrupt.__init__() missing 1 required positional argument: '"+key+"'"))
			}
		}
		for m := range p.childrenOf(n) {
			switch key := t.Key(m); key {
			case "id", "name", "reason", "response":
			default:
				p.addFault(FaultInterrupt, m, fmt.Sprintf("an interrupt has a key %.40q", key), verdict(fmt.Sprintf("TypeError: Interrupt.__init__() got an unexpected keyword argument %.40q", key)))
			}
		}
	}
}

// inspectStanding looks at what the next start makes of how the run ended.
func (p *pythonRecord) inspectStanding() {
	status := p.memberOf("status")
	switch {
	case p.resumes:
		if p.inspectStatus(status, p.root, true); p.summary.Kind != Swarm && len(p.failed) > 0 {
			p.addFault(FaultFailedLeft, p.memberOf("failed_nodes"), "nodes are listed as failed, and the run can be gone on with", sdk.Loads("the next nodes run, and the run ends as failed even if all of them complete"))
		}
	case status < 0 || len(p.steps) == 0 || p.status == outcomeCompleted:
	case p.active && p.summary.Kind != Swarm: // see inspectAnswer
	default:
		then := "the next start begins anew: all results are dropped, and the entry points run"
		if p.status == outcomeExecuting {
			then = "if its writer was stopped here, " + then
		}
		p.addFault(FaultAnew, status, fmt.Sprintf("the run is %.40s, and nothing is said to be next", p.statusWord(status)), sdk.Says(model.Odd, then))
	}
}

// inspectStatus looks at the status of a run or a node.
func (p *pythonRecord) inspectStatus(n, holder jsontape.Node, required bool) {
	switch {
	case n < 0 && required:
		p.addRefusal(FaultMember, holder, "there is no status", "KeyError: 'status'")
	case n >= 0 && !slices.Contains(pythonStatuses, p.textOf(n)):
		p.addRefusal(FaultStatus, n, fmt.Sprintf("the status is %.40q", p.briefValue(n, maxName)), fmt.Sprintf("ValueError: %.40q is not a valid Status", p.briefValue(n, maxName)))
	}
}

// inspectMembers looks at the lists of nodes, the totals and the context.
func (p *pythonRecord) inspectMembers() {
	t := p.tape
	keys := []string{"next_nodes_to_execute", "completed_nodes", "failed_nodes", "interrupted_nodes", "execution_order"}
	if p.summary.Kind == Swarm {
		keys = []string{"next_nodes_to_execute", "node_history"}
	}
	for i, key := range keys {
		list, refusal := p.memberOf(key), "TypeError: it is not iterable"
		if i == 0 {
			refusal = "TypeError or KeyError"
		}
		switch k := t.Kind(list); {
		case p.isFalsy(list):
		case i == 0 && k == jsontape.String:
			p.addFault(FaultShape, list, key+" is a string, not a list", sdk.Loads("no part of it is a node, so that a Graph runs nothing and calls the run completed, and a Swarm begins anew"))
		case k == jsontape.Number, k == jsontape.True, i == 0 && k == jsontape.Object && p.summary.Kind == Swarm:
			p.addRefusal(FaultShape, list, key+" is "+k.String()+", not a list", refusal)
		case k == jsontape.Array:
			for n := range p.childrenOf(list) {
				if k := t.Kind(n); k == jsontape.Array || k == jsontape.Object {
					p.addRefusal(FaultShape, n, "an "+k.String()+" stands where the name of a node should", "TypeError: unhashable type")
				}
			}
		}
	}
	totals := []string{"execution_time", "execution_count"}
	if p.summary.Kind == Swarm {
		totals = totals[:1]
		if context := p.memberOf("context"); context < 0 {
			p.addRefusal(FaultMember, p.root, "there is no context", "KeyError: 'context'")
		} else if !p.isFalsy(context) {
			p.inspectKind(context, "the context", jsontape.Object, "AttributeError")
		}
	}
	for _, key := range totals {
		if n := p.memberOf(key); !p.isFalsy(n) {
			p.inspectInt(n)
		}
	}
	for _, key := range []string{"accumulated_usage", "accumulated_metrics"} {
		if n := p.memberOf(key); !p.isFalsy(n) {
			p.inspectKind(n, "a count", jsontape.Object, "AttributeError")
		}
	}
}

// inspectResults looks at the results, and those inside of them.
func (p *pythonRecord) inspectResults() {
	if results := p.memberOf("node_results"); !p.isFalsy(results) {
		p.inspectKind(results, "node_results", jsontape.Object, "AttributeError")
	}
	for _, name := range p.names {
		p.walkPython(p.results[name], func(n jsontape.Node, _ string) { p.inspectResult(n) })
	}
}

func (p *pythonRecord) inspectResult(n jsontape.Node) {
	t := p.tape
	inner := t.Find(n, "result")
	kind := p.textOf(t.Find(inner, "type"))
	switch {
	case t.Kind(n) != jsontape.Object:
		p.inspectKind(n, "a result", jsontape.Object, "TypeError or AttributeError")
		return
	case inner < 0:
		p.addRefusal(FaultMember, n, "a result has no result in it", "TypeError: NodeResult.from_dict: missing 'result'")
		return
	case kind != "agent_result" && kind != "multiagent_result" && kind != "exception":
		p.addRefusal(FaultShape, inner, fmt.Sprintf("a result is of type %.40q", kind), "TypeError: NodeResult.from_dict: unsupported result payload")
		return
	case kind == "agent_result":
		p.inspectCheckpoint(n)
	case kind == "multiagent_result":
		p.inspectCounts(inner, true)
		p.inspectKind(t.Find(inner, "results"), "the list of nested results", jsontape.Object, "AttributeError")
	}
	p.inspectCounts(n, false)
}

// inspectCounts looks at what a result says besides its words.
func (p *pythonRecord) inspectCounts(n jsontape.Node, required bool) {
	t := p.tape
	p.inspectStatus(t.Find(n, "status"), n, required)
	for _, key := range []string{"accumulated_usage", "accumulated_metrics"} {
		p.inspectKind(t.Find(n, key), "a count", jsontape.Object, "AttributeError")
	}
	p.inspectInt(t.Find(n, "execution_time"))
	p.inspectInt(t.Find(n, "execution_count"))
	list := t.Find(n, "interrupts")
	p.inspectKind(list, "interrupts", jsontape.Array, "TypeError")
	if t.Kind(list) == jsontape.Array {
		p.inspectInterrupts(list, sdk.Refuses)
	}
}

// inspectInt looks at what is given to int().
func (p *pythonRecord) inspectInt(n jsontape.Node) {
	problem := "TypeError: int() argument must be a number"
	switch p.tape.Kind(n) {
	case jsontape.Invalid, jsontape.True, jsontape.False:
		return
	case jsontape.Number:
		value, err := strconv.ParseFloat(string(p.tape.Raw(n)), 64)
		switch {
		case math.IsNaN(value):
			problem = "ValueError: cannot convert float NaN to integer"
		case math.IsInf(value, 0) && (err == nil || strings.ContainsAny(string(p.tape.Raw(n)), ".eE")):
			problem = "OverflowError: cannot convert float infinity to integer"
		default:
			return
		}
	case jsontape.String:
		if _, err := strconv.ParseInt(strings.TrimSpace(p.tape.Text(n)), 10, 64); err == nil {
			return
		}
		problem = "ValueError: invalid literal for int()"
	}
	p.addRefusal(FaultShape, n, fmt.Sprintf("%.40q is no whole number", p.briefValue(n, maxName)), problem)
}

func (p *pythonRecord) inspectCheckpoint(result jsontape.Node) {
	n, _, err := p.readCheckpoint(result)
	if n < 0 || err == nil {
		return
	}
	refusal := "TypeError: it is no Checkpoint"
	if errors.Is(err, model.ErrCheckpointSchema) {
		refusal = "rejects the checkpoint's schema version (CheckpointException; ValueError in old SDKs)"
	}
	p.addRefusal(FaultCheckpoint, n, err.Error(), refusal)
}

// orElse returns n, or other where there is no n.
func orElse(n, other jsontape.Node) jsontape.Node {
	if n >= 0 {
		return n
	}
	return other
}
