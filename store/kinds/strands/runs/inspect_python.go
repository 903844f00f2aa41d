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

// inspect finds what is odd in a record of the Python SDK. What it says follows
// deserialize_state of graph.py and swarm.py.
func (p *pythonRecord) inspect() {
	p.inspectIdentity()
	p.inspectInterruptState()
	p.inspectStatus()
	p.inspectLists()
	p.inspectNext()
	p.inspectResults()
	p.inspectTotals()
	p.inspectAgreement()
}

// ifRead returns a verdict on what is read only by a start that goes on with the
// run.
func (p *pythonRecord) ifRead(refusal string) sdk.Verdict {
	if p.resumes {
		return sdk.Refuses(refusal)
	}
	return unread
}

func (p *pythonRecord) member(key string) jsontape.Node { return p.tape.Find(p.root, key) }

// falsy reports whether Python takes a value that is not there, or that is, for
// false.
func (r *Run) falsy(n jsontape.Node) bool {
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

func (p *pythonRecord) inspectIdentity() {
	if kind := p.member("type"); p.summary.Kind != Graph && p.summary.Kind != Swarm || p.text(kind) != p.summary.Kind.String() {
		what := "the record has no type"
		if kind >= 0 {
			what = fmt.Sprintf("the type is %.40q", p.brief(kind, maxName))
		}
		p.fault(FaultType, orElse(kind, p.root), what, sdk.Loads("the type is not looked at: a Graph and a Swarm each take the members that they know"))
	}
	if id := p.member("id"); p.place.Orchestrator != "" && p.text(id) != p.place.Orchestrator {
		p.fault(FaultIdentity, orElse(id, p.root), fmt.Sprintf("the record is said to be of %.60q, and is kept as that of %.60q", p.brief(id, maxName), p.place.Orchestrator),
			sdk.Loads("the id in the record is not looked at"))
	}
}

func (p *pythonRecord) inspectInterruptState() {
	t := p.tape
	internal := p.member("_internal_state")
	if internal < 0 {
		return // as before there were interrupts
	}
	if p.interrupts < 0 && t.Kind(internal) == jsontape.Object {
		p.fault(FaultMember, internal, "there is no interrupt_state", sdk.Refuses("KeyError: 'interrupt_state'"))
		return
	}
	if n := orElse(p.interrupts, internal); t.Kind(n) != jsontape.Object {
		p.fault(FaultShape, n, "the interrupt state is "+t.Kind(n).String()+", not an object", sdk.Refuses("TypeError"))
		return
	}
	for _, key := range []string{"activated", "context", "interrupts"} {
		if t.Find(p.interrupts, key) < 0 {
			p.fault(FaultMember, p.interrupts, "the interrupt state has no "+key, sdk.Refuses("KeyError: '"+key+"'"))
		}
	}
	for _, key := range []string{"context", "interrupts"} {
		if n := t.Find(p.interrupts, key); n >= 0 && t.Kind(n) != jsontape.Object {
			p.fault(FaultShape, n, key+" is "+t.Kind(n).String()+", not an object", sdk.Refuses("AttributeError or TypeError"))
		}
	}
	p.inspectInterrupts(t.Find(p.interrupts, "interrupts"), sdk.Refuses)
	for own := range p.children(t.Find(p.interrupts, "context")) {
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
		p.fault(FaultInterrupt, p.interrupts, "an interrupt waits, and nothing is next", sdk.Loses("the interrupt is forgotten and the next start begins anew; an answer to it fails"))
	case p.summary.Kind == Swarm && t.Find(context, next) < 0:
		p.fault(FaultInterrupt, orElse(context, p.interrupts), fmt.Sprintf("an interrupt waits, and nothing is kept of %.60q, which is next", next), sdk.Loses("any prompt but an answer is a TypeError, and an answer ends the run as failed"))
	case p.summary.Kind == Swarm:
	case !p.resumes || len(p.stopped) == 0:
		p.fault(FaultInterrupt, p.interrupts, "an interrupt is active, and no node waits that could go on",
			sdk.Loses("any prompt but an answer is a TypeError, and after an answer nothing runs and the run is called completed"))
	case t.Find(context, "completed_nodes") < 0:
		p.fault(FaultInterrupt, orElse(context, p.interrupts), "the context of the interrupt has no completed_nodes", sdk.Loses("any prompt but an answer is a TypeError, and an answer a KeyError: 'completed_nodes'"))
	}
}

// inspectInterrupts checks the arguments of Interrupt(**…), in a list or an object.
// verdict makes a verdict of the SDK's exception.
func (p *pythonRecord) inspectInterrupts(list jsontape.Node, verdict func(refusal string) sdk.Verdict) {
	t := p.tape
	if k := t.Kind(list); k != jsontape.Object && k != jsontape.Array {
		return
	}
	for n := range p.children(list) {
		if t.Kind(n) != jsontape.Object {
			p.fault(FaultInterrupt, n, "an interrupt is "+t.Kind(n).String()+", not an object", verdict("TypeError: Interrupt() argument after ** must be a mapping"))
			continue
		}
		for _, key := range []string{"id", "name"} {
			if t.Find(n, key) < 0 {
				p.fault(FaultInterrupt, n, "an interrupt has no "+key, verdict("TypeError: Interrupt.__init__() missing 1 required positional argument: '"+key+"'"))
			}
		}
		for m := range p.children(n) {
			switch key := t.Key(m); key {
			case "id", "name", "reason", "response":
			default:
				p.fault(FaultInterrupt, m, fmt.Sprintf("an interrupt has a key %.40q", key), verdict(fmt.Sprintf("TypeError: Interrupt.__init__() got an unexpected keyword argument %.40q", key)))
			}
		}
	}
}

func (p *pythonRecord) inspectStatus() {
	status := p.member("status")
	known := p.inspectOneStatus(status, p.root, true)
	ran := len(p.steps) > 0
	switch {
	case p.resumes || !ran || p.status == outcomeCompleted:
	case p.active && p.summary.Kind != Swarm: // see inspectAnswer
	case p.status == outcomeExecuting:
		p.fault(FaultStopped, status, "the run is executing, and nothing is said to be next",
			sdk.Says(model.Odd, "if its writer was stopped here, the next start begins anew: all results are dropped, and the entry points run"))
	case known || status >= 0:
		p.fault(FaultAnew, status, fmt.Sprintf("the run is %.40s, and nothing is said to be next", p.word(status)),
			sdk.Says(model.Odd, "the next start begins anew: all results are dropped, and the entry points run"))
	}
}

// inspectOneStatus looks at the status of a run or a node, and reports whether
// the SDK knows it.
func (p *pythonRecord) inspectOneStatus(n, holder jsontape.Node, required bool) bool {
	switch {
	case n < 0 && required:
		p.fault(FaultMember, holder, "there is no status", p.ifRead("KeyError: 'status'"))
		return false
	case n >= 0 && !slices.Contains(pythonStatuses, p.text(n)):
		p.fault(FaultStatus, n, fmt.Sprintf("the status is %.40q", p.brief(n, maxName)), p.ifRead(fmt.Sprintf("ValueError: %.40q is not a valid Status", p.brief(n, maxName))))
		return false
	}
	return true
}

// inspectLists looks at the lists of nodes.
func (p *pythonRecord) inspectLists() {
	t := p.tape
	keys := []string{"completed_nodes", "failed_nodes", "interrupted_nodes", "execution_order"}
	if p.summary.Kind == Swarm {
		keys = []string{"node_history"}
	}
	for _, key := range keys {
		list := p.member(key)
		if p.falsy(list) {
			continue
		}
		switch t.Kind(list) {
		case jsontape.Array:
			for n := range p.children(list) {
				p.inspectName(n)
			}
		case jsontape.Number, jsontape.True:
			p.fault(FaultShape, list, key+" is "+t.Kind(list).String()+", not a list", p.ifRead("TypeError: it is not iterable"))
		case jsontape.Object:
			p.fault(FaultShape, list, key+" is an object, not a list", sdk.Loads("its keys are taken for the names of nodes"))
		default:
			p.fault(FaultShape, list, key+" is "+t.Kind(list).String()+", not a list", sdk.Loads("it is left out, as no part of it is a node"))
		}
	}
}

// inspectName looks at an element of a list of nodes.
func (p *pythonRecord) inspectName(n jsontape.Node) {
	switch k := p.tape.Kind(n); k {
	case jsontape.String:
	case jsontape.Array, jsontape.Object:
		p.fault(FaultShape, n, "an "+k.String()+" stands where the name of a node should", p.ifRead("TypeError: unhashable type"))
	default:
		p.fault(FaultShape, n, "the name of a node is "+k.String(), sdk.Loads("it is left out, as no node is called so"))
	}
}

func (p *pythonRecord) inspectNext() {
	t := p.tape
	list := p.member("next_nodes_to_execute")
	if !p.resumes {
		return
	}
	switch k := t.Kind(list); {
	case k == jsontape.Array:
	case k == jsontape.Object && p.summary.Kind != Swarm:
		p.fault(FaultShape, list, "next_nodes_to_execute is an object, not a list", sdk.Loads("its keys are taken for the names of nodes"))
		return
	case k == jsontape.String:
		p.fault(FaultShape, list, "next_nodes_to_execute is a string, not a list", sdk.Loads("no part of it is a node, so that a Graph runs nothing and calls the run completed, and a Swarm begins anew"))
		return
	default:
		p.fault(FaultShape, list, "next_nodes_to_execute is "+k.String()+", not a list", sdk.Refuses("TypeError or KeyError"))
		return
	}
	seen := make(map[string]bool)
	for n := range p.children(list) {
		name := t.Text(n)
		switch {
		case t.Kind(n) != jsontape.String:
			p.inspectName(n)
			continue
		case p.summary.Kind == Swarm && t.Index(n) > 0:
			p.fault(FaultFrontier, n, fmt.Sprintf("%.60q is next too", name), sdk.Loads("a Swarm runs the first one only"))
		case p.summary.Kind != Swarm && seen[name]:
			p.fault(FaultFrontier, n, fmt.Sprintf("%.60q is next twice", name), sdk.Loads("it runs twice, at the same time"))
		case p.summary.Kind != Swarm && p.completed[name]:
			p.fault(FaultFrontier, n, fmt.Sprintf("%.60q is next and has completed", name), sdk.Loads("it runs again, and what follows it"))
		}
		seen[name] = true
	}
	if p.summary.Kind == Swarm {
		return
	}
	for _, name := range sorted(p.failed) {
		if !seen[name] && !p.completed[name] {
			p.fault(FaultFrontier, list, fmt.Sprintf("%.60q failed, and is not next", name),
				sdk.Loads("it does not run again unless an edge leads back to it, and what is behind it runs without its result"))
		}
	}
	owed := p.workOut // a list of what is still to run, as a rewind leaves it
	for name := range p.stopped {
		owed = owed || seen[name]
	}
	for _, name := range sorted(p.stopped) {
		if !p.active && !owed {
			p.fault(FaultFrontier, list, fmt.Sprintf("%.60q was interrupted, and is not next", name), sdk.Loads("it does not run again unless an edge leads back to it"))
		}
	}
	if len(p.failed) > 0 {
		p.fault(FaultFailedLeft, p.member("failed_nodes"), "nodes are listed as failed, and the run can be gone on with", sdk.Loads("what is next runs, and the run ends as failed even if all of it completes"))
	}
}

// inspectResults looks at the results, and those inside of them.
func (p *pythonRecord) inspectResults() {
	t := p.tape
	results := p.member("node_results")
	if p.falsy(results) {
		return
	}
	if t.Kind(results) != jsontape.Object {
		p.fault(FaultShape, results, "node_results is "+t.Kind(results).String()+", not an object", p.ifRead("AttributeError"))
		return
	}
	for _, name := range p.names {
		p.walkPython(p.results[name], func(n jsontape.Node, _ string) { p.inspectResult(n) })
	}
}

func (p *pythonRecord) inspectResult(n jsontape.Node) {
	t := p.tape
	inner := t.Find(n, "result")
	kind := p.text(t.Find(inner, "type"))
	switch {
	case t.Kind(n) != jsontape.Object:
		p.fault(FaultShape, n, "a result is "+t.Kind(n).String()+", not an object", p.ifRead("TypeError or AttributeError"))
		return
	case inner < 0:
		p.fault(FaultMember, n, "a result has no result in it", p.ifRead("TypeError: NodeResult.from_dict: missing 'result'"))
		return
	case kind != "agent_result" && kind != "multiagent_result" && kind != "exception":
		p.fault(FaultShape, inner, fmt.Sprintf("a result is of type %.40q", kind), p.ifRead("TypeError: NodeResult.from_dict: unsupported result payload"))
		return
	}
	p.inspectOneStatus(t.Find(n, "status"), n, false)
	p.inspectUsage(t.Find(n, "accumulated_usage"), t.Find(n, "accumulated_metrics"))
	p.inspectInt(t.Find(n, "execution_time"), false)
	p.inspectInt(t.Find(n, "execution_count"), false)
	p.inspectInterruptList(t.Find(n, "interrupts"))
	switch kind {
	case "agent_result":
		p.inspectCheckpoint(n)
	case "multiagent_result":
		p.inspectOneStatus(t.Find(inner, "status"), inner, true)
		p.inspectUsage(t.Find(inner, "accumulated_usage"), t.Find(inner, "accumulated_metrics"))
		p.inspectInt(t.Find(inner, "execution_time"), false)
		p.inspectInt(t.Find(inner, "execution_count"), false)
		p.inspectInterruptList(t.Find(inner, "interrupts"))
		if list := t.Find(inner, "results"); list >= 0 && t.Kind(list) != jsontape.Object {
			p.fault(FaultShape, list, "the nested results are "+t.Kind(list).String()+", not an object", p.ifRead("AttributeError"))
		}
	}
}

func (p *pythonRecord) inspectInterruptList(list jsontape.Node) {
	switch k := p.tape.Kind(list); k {
	case jsontape.Invalid:
	case jsontape.Array:
		p.inspectInterrupts(list, p.ifRead)
	default:
		p.fault(FaultShape, list, "interrupts is "+k.String()+", not a list", p.ifRead("TypeError"))
	}
}

func (p *pythonRecord) inspectUsage(members ...jsontape.Node) {
	for _, n := range members {
		if n >= 0 && p.tape.Kind(n) != jsontape.Object {
			p.fault(FaultShape, n, "a count is "+p.tape.Kind(n).String()+", not an object", p.ifRead("AttributeError"))
		}
	}
}

// inspectInt looks at what is given to int().
func (p *pythonRecord) inspectInt(n jsontape.Node, orZero bool) {
	var problem string
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
	default:
		problem = "TypeError: int() argument must be a number"
	}
	if orZero && p.falsy(n) {
		return
	}
	p.fault(FaultShape, n, fmt.Sprintf("%.40q is no whole number", p.brief(n, maxName)), p.ifRead(problem))
}

func (p *pythonRecord) inspectTotals() {
	p.inspectInt(p.member("execution_time"), true)
	if p.summary.Kind != Swarm {
		p.inspectInt(p.member("execution_count"), true)
	}
	for _, key := range []string{"accumulated_usage", "accumulated_metrics"} {
		if n := p.member(key); !p.falsy(n) {
			p.inspectUsage(n)
		}
	}
	if p.summary.Kind != Swarm || !p.resumes {
		return
	}
	switch context := p.member("context"); {
	case context < 0:
		p.fault(FaultMember, p.root, "there is no context", sdk.Refuses("KeyError: 'context'"))
	case !p.falsy(context) && p.tape.Kind(context) != jsontape.Object:
		p.fault(FaultShape, context, "the context is "+p.tape.Kind(context).String()+", not an object", sdk.Refuses("AttributeError"))
	}
}

func (p *pythonRecord) inspectCheckpoint(result jsontape.Node) {
	n, _, err := p.checkpoint(result)
	if n < 0 || err == nil {
		return
	}
	verdict := p.ifRead("TypeError: it is no Checkpoint")
	if errors.Is(err, model.ErrCheckpointSchema) {
		verdict = p.ifRead("rejects the checkpoint's schema version (CheckpointException; ValueError in old SDKs)")
	}
	p.fault(FaultCheckpoint, n, err.Error(), verdict)
}

// inspectAgreement compares the order with the other lists and the results.
func (p *pythonRecord) inspectAgreement() {
	ordered := make(map[string]bool)
	for _, name := range p.texts(p.order) {
		ordered[name] = true
	}
	next := make(map[string]bool)
	for _, name := range p.summary.Next {
		next[name] = true
	}
	if p.summary.Kind != Swarm {
		for _, name := range sorted(p.completed) {
			if !ordered[name] {
				p.fault(FaultOrder, p.member("completed_nodes"), fmt.Sprintf("%.60q has completed, and is not in the order", name), sdk.Loads("it counts as completed, and does not run"))
			}
		}
		for _, name := range sorted(ordered) {
			if !p.completed[name] && !p.failed[name] && !p.stopped[name] && !next[name] {
				p.fault(FaultOrder, p.order, fmt.Sprintf("%.60q is in the order, and has neither completed nor failed", name), sdk.Loads("what is behind it runs without its result"))
			}
		}
	}
	for _, name := range sorted(ordered) {
		if _, stored := p.results[name]; !stored {
			p.fault(FaultResult, p.order, fmt.Sprintf("%.60q ran, and has no result", name), sdk.Loads("what is behind it runs without its result"))
		}
	}
	for _, name := range p.names {
		n := p.results[name]
		if !ordered[name] && !p.completed[name] && !p.failed[name] && p.outcome(p.tape.Find(n, "status")) == outcomeCompleted {
			p.fault(FaultResult, n, fmt.Sprintf("there is a result of %.60q, which did not run", name), sdk.Loads("it is kept among the results, and dropped where there is no such node"))
		}
	}
}

// orElse returns n, or other where there is no n.
func orElse(n, other jsontape.Node) jsontape.Node {
	if n >= 0 {
		return n
	}
	return other
}
