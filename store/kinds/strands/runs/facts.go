package runs

import (
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// Facts returns the facts about snapshot i that are not in its header or state, the most
// useful first. The facts of the head also describe the whole run.
func (r *Run) Facts(i int) []model.Fact {
	f := facts{r: r}
	s := &r.steps[i]
	if !s.start {
		f.addNode(i, s)
	}
	if i == len(r.steps)-1 {
		f.addRun()
	}
	return f.Facts
}

// mostAsked bounds the interrupts of a node that are told one by one.
const mostAsked = 20

// facts gathers what there is to say about a step of a run.
type facts struct {
	r *Run
	model.Facts
}

func (f *facts) addNode(i int, s *step) {
	r := f.r
	f.Add("node", shortenText(s.node, maxText))
	if s.of > 1 {
		f.Add("run", fmt.Sprintf("%d of %d", s.nth, s.of))
	}
	if s.replaced {
		f.Add("result", "replaced by a later run")
	} else {
		f.Add("status", s.outcome.String())
	}
	if s.result >= 0 {
		f.addResult(s.result)
	}
	for k, n := range s.asks {
		if k == mostAsked {
			f.Add("waits for", fmt.Sprintf("%d more", len(s.asks)-k))
			break
		}
		f.Add("waits for", r.showInterrupt(n))
	}
	if s.nth == s.of {
		f.addShared(s.node)
	}
	f.handOffs(i)
}

// addResult adds the facts in a NodeResult of either SDK.
func (f *facts) addResult(n jsontape.Node) {
	r, t := f.r, f.r.tape
	inner := t.Find(n, "result")
	switch r.textOf(t.Find(inner, "type")) {
	case "exception":
		f.Add("error", r.briefValue(t.Find(inner, "message"), maxText))
	case "multiagent_result":
		f.Add("nested run", r.nestedNodes(n))
	}
	f.Add("error", r.briefValue(t.Find(n, "error"), maxText))
	f.Add("stop reason", r.briefValue(t.Find(inner, "stop_reason"), maxName))
	if at, c, err := r.readCheckpoint(n); at >= 0 {
		f.Add("checkpoint", showCheckpoint(c, err))
	}
	f.Facts = append(f.Facts, slices.Concat(
		Millis("took", "durationMs", t, t.Find(n, "execution_time")),
		Millis("took", "durationMs", t, t.Find(n, "duration")),
		Usage("tokens", "tokens", t, t.Find(n, "accumulated_usage")),
		Usage("tokens", "tokens", t, t.Find(n, "usage")),
		Millis("model took", "latencyMs", t, t.Find(t.Find(n, "accumulated_metrics"), "latencyMs")),
	)...)
}

// nestedNodes lists the nodes of a run inside a node.
func (r *Run) nestedNodes(result jsontape.Node) string {
	var names []string
	r.walkPython(result, func(n jsontape.Node, name string) {
		if n != result {
			names = append(names, strings.TrimSpace(shortenText(name, maxName)+" "+r.statusWord(r.tape.Find(n, "status"))))
		}
	})
	return conversation.List(names, func(name string) string { return name })
}

// addShared adds the current values of a Swarm's node in the shared context.
func (f *facts) addShared(node string) {
	t := f.r.tape
	own := t.Find(t.Find(t.Find(f.r.root, "context"), "shared_context"), node)
	if t.Kind(own) != jsontape.Object {
		return
	}
	var keys []jsontape.Node
	for n := range f.r.childrenOf(own) {
		keys = append(keys, n)
	}
	f.Add("shared", conversation.List(keys, func(n jsontape.Node) string {
		return shortenText(t.Key(n), maxName) + " = " + f.r.briefValue(n, maxName)
	}))
}

// handOffs adds the nodes of a Swarm before and after a node: who handed over to it, and
// to whom it did.
func (f *facts) handOffs(i int) {
	r := f.r
	if r.summary.Kind != Swarm {
		return
	}
	if i > 0 {
		f.Add("handed over by", shortenText(r.steps[i-1].node, maxName))
	}
	if to, message := r.handOff(r.steps[i].result); to != "" {
		f.Add("handed over to", shortenText(to, maxName))
		f.Add("hand-off message", message)
	} else if i+1 < len(r.steps) {
		f.Add("handed over to", shortenText(r.steps[i+1].node, maxName))
	}
}

// addRun tells of the run as a whole, as it stands now.
func (f *facts) addRun() {
	r, t, s := f.r, f.r.tape, f.r.summary
	f.Add(s.Kind.String(), shortenText(s.ID, maxText))
	f.Add("run status", s.Status)
	f.Add("task", s.Task)
	f.Add("next", r.next)
	context := t.Find(r.root, "context")
	f.Add("pending hand-off", r.briefValue(t.Find(context, "handoff_node"), maxName))
	f.Add("hand-off message", r.briefValue(t.Find(context, "handoff_message"), maxText))
	f.Facts = append(f.Facts, slices.Concat(
		Millis("run took", "runDurationMs", t, t.Find(r.root, "execution_time")),
		Usage("run tokens", "runTokens", t, t.Find(r.root, "accumulated_usage")),
	)...)
}

// Millis returns the fact that the SDKs note as a number of milliseconds; none
// where it is no number.
func Millis(label, key string, t *jsontape.Tape, n jsontape.Node) []model.Fact {
	if ms, ok := t.Float(n); ok {
		return []model.Fact{model.MillisecondsFact(label, key, ms)}
	}
	return nil
}

// usageKeys maps the SDKs' names of the token counts to ours.
var usageKeys = [...]struct{ sdk, key string }{
	{"inputTokens", "input"}, {"outputTokens", "output"}, {"totalTokens", "total"},
	{"cacheReadInputTokens", "cacheRead"}, {"cacheWriteInputTokens", "cacheWrite"},
}

// Usage returns the fact that the SDKs note as a Usage; none where nothing is
// counted.
func Usage(label, group string, t *jsontape.Tape, n jsontape.Node) []model.Fact {
	var counts []model.Number
	for _, p := range usageKeys {
		if count, ok := t.Float(t.Find(n, p.sdk)); ok {
			counts = append(counts, model.Number{Key: p.key, Value: count})
		}
	}
	if counts == nil {
		return nil
	}
	return []model.Fact{model.TokensFact(label, group, counts)}
}

// showInterrupt shows an interrupt: its name, its reason and its id, with which
// an answer is given.
func (r *Run) showInterrupt(n jsontape.Node) string {
	text := r.sayInterrupts([]jsontape.Node{n})
	if id := r.briefValue(r.tape.Find(n, "id"), maxText); id != "" {
		text += " (" + id + ")"
	}
	return text
}
