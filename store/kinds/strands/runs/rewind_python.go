package runs

import (
	"strconv"

	"hindcast/model/jsontape"
)

// rewindPython takes out of a record of the Python SDK what ran after the position.
func (w *rewinder) rewindPython() error {
	t, p := w.tape, w.patch
	if err := w.refusePython(); err != nil {
		return err
	}
	gone := func(name string) bool { // it is as if the node had never run
		_, stays := w.kept[name]
		return w.dropped[name] && !stays
	}
	lost := func(name string) bool { // the result is that of a run that goes
		return w.dropped[name] && (gone(name) || w.steps[w.kept[name]].replaced)
	}
	w.subtractTotals(lost)
	p.Remove(w.outline.results, func(n jsontape.Node) bool { return lost(t.Key(n)) })
	upto := w.steps[w.to].upto
	p.Remove(w.outline.order, func(n jsontape.Node) bool { return t.Index(n) >= upto })
	p.Remove(t.Find(w.root, "completed_nodes"), func(n jsontape.Node) bool { return gone(t.Text(n)) })
	var failed []string
	p.Remove(t.Find(w.root, "failed_nodes"), func(n jsontape.Node) bool {
		k, stays := w.kept[t.Text(n)]
		if stays = stays && w.steps[k].outcome == outcomeFailed; stays {
			failed = append(failed, t.Text(n))
		}
		return !stays
	})
	if len(failed) > 0 {
		w.addWarning("%s failed before the position and stays so: it runs again where its edges are ready, and the run ends as failed", joinNames(failed))
	}
	p.Put(w.root, "status", []byte(`"executing"`))
	w.removeInterrupts()
	if w.summary.Kind == Swarm {
		next := w.steps[w.to+1].node
		p.Put(w.root, "next_nodes_to_execute", quotedList([]string{next}))
		w.handOver(next)
		return nil
	}
	next, known := w.nextNodes()
	p.Put(w.root, "next_nodes_to_execute", next)
	var owed []string
	if !known {
		for _, name := range sortedKeys(w.dropped) {
			if gone(name) {
				owed = append(owed, name)
			}
		}
	}
	p.Put(w.root, "interrupted_nodes", quotedList(owed))
	return nil
}

// refusePython refuses a run whose record lacks facts that the rewind needs.
func (w *rewinder) refusePython() error {
	if w.outline.order < 0 {
		return unableError("the record does not say in which order the nodes ran")
	}
	for name := range w.kept {
		if name == workOutName {
			return unableError("a node is called %q", workOutName)
		}
	}
	if w.summary.Kind == Swarm {
		for _, name := range sortedKeys(keysOf(w.kept)) {
			if w.steps[w.kept[name]].replaced && w.dropped[name] {
				w.addWarning("%s ran again since, so that its result of then is not stored any more; no node of a swarm is given it", shortenText(name, maxName))
			}
		}
		return nil
	}
	for _, name := range sortedKeys(keysOf(w.kept)) {
		if s := &w.steps[w.kept[name]]; s.replaced {
			return unableError("%s ran again after #%d and its result of then is not stored any more, which the nodes behind it are given; "+
				"no older version of the record was kept. Put the run back to where no node before it runs again", shortenText(name, maxName), w.to)
		}
	}
	ordered := make(map[string]bool)
	for _, name := range w.textsOf(w.outline.order) {
		ordered[name] = true
	}
	for _, name := range w.textsOf(w.tape.Find(w.root, "completed_nodes")) {
		if !ordered[name] {
			return unableError("%s has completed, and the order does not say when", shortenText(name, maxName))
		}
	}
	return nil
}

func keysOf(m map[string]int) map[string]bool {
	set := make(map[string]bool, len(m))
	for key := range m {
		set[key] = true
	}
	return set
}

// nextNodes returns what a Graph runs next, or workOutName where that is not known.
//
// Where it is worked out, all that ran since is listed as interrupted besides: for
// the SDK such a node still owes its result, and one that joins it with others is not
// ready. It would not wait for an entry point that it only knows not to have
// run. The list does nothing else while no interrupt is active, and stays.
func (w *rewinder) nextNodes() (next []byte, known bool) {
	t := w.tape
	now := t.Find(w.root, "next_nodes_to_execute")
	upto, ordered := w.steps[w.to].upto, t.Count(w.outline.order)
	behind := w.to+1+ordered-upto < len(w.steps)
	open := !w.isFalsy(now)
	switch {
	case upto == ordered && open && !w.workOut && t.Kind(now) == jsontape.Array:
		return t.Raw(now), true
	case ordered-upto == 1 && !behind && !open && w.summary.Status == outcomeCompleted.String() && w.isFalsy(t.Find(w.root, "failed_nodes")):
		return quotedList([]string{w.steps[w.to+1].node}), true
	}
	return quotedList([]string{workOutName}), false
}

// removeInterrupts takes the interrupts out. A node that asked before it ran asks again.
func (w *rewinder) removeInterrupts() {
	t, p := w.tape, w.patch
	internal := t.Find(w.root, "_internal_state")
	state := t.Find(internal, "interrupt_state")
	if t.Kind(state) != jsontape.Object {
		if t.Kind(internal) == jsontape.Object {
			p.Put(internal, "interrupt_state", []byte(`{"interrupts": {}, "context": {}, "activated": false}`))
		}
		return
	}
	for _, key := range []string{"interrupts", "context"} {
		if n := t.Find(state, key); t.Kind(n) == jsontape.Object {
			p.Remove(n, func(jsontape.Node) bool { return true })
		} else {
			p.Put(state, key, []byte("{}"))
		}
	}
	p.Put(state, "activated", []byte("false"))
}

// handOver sets what a Swarm gives to the node that runs next. The message goes
// when its node has been given it, so that only the newest one is stored.
func (w *rewinder) handOver(next string) {
	t, p := w.tape, w.patch
	context := t.Find(w.root, "context")
	if t.Kind(context) != jsontape.Object {
		return
	}
	message, to := t.Find(context, "handoff_message"), t.Find(context, "handoff_node")
	newest := w.steps[w.to].upto == t.Count(w.outline.order)
	if toward := w.textOf(to); !newest || t.Kind(message) != jsontape.String || toward != "" && toward != next {
		p.Set(message, []byte("null"))
		w.addWarning("the message with which %s handed over to %s is not stored any more: %s runs without it",
			shortenText(w.steps[w.to].node, maxName), shortenText(next, maxName), shortenText(next, maxName))
	}
	p.Set(to, []byte("null"))
	p.Remove(t.Find(context, "shared_context"), func(n jsontape.Node) bool {
		name := t.Key(n)
		_, stays := w.kept[name]
		if stays && w.dropped[name] {
			w.addWarning("what %s shared stays as it is now: it ran before the position and since, and the record does not say when it shared this", shortenText(name, maxName))
		}
		return !stays && w.dropped[name]
	})
}

// subtractTotals takes from the totals what the results that go had added. A result that
// is an exception added nothing but time.
func (w *rewinder) subtractTotals(goes func(name string) bool) {
	t := w.tape
	took := map[jsontape.Node]int64{}
	less := func(total, part jsontape.Node) {
		if n, ok := w.readNumber(part); ok && total >= 0 {
			took[total] += n
		}
	}
	for n := range w.childrenOf(w.outline.results) {
		if t.IsShadowed(n) || !goes(t.Key(n)) {
			continue
		}
		less(t.Find(w.root, "execution_time"), t.Find(n, "execution_time"))
		if w.textOf(t.Find(t.Find(n, "result"), "type")) == "exception" {
			continue
		}
		less(t.Find(w.root, "execution_count"), t.Find(n, "execution_count"))
		for _, key := range []string{"accumulated_usage", "accumulated_metrics"} {
			for part := range w.childrenOf(t.Find(n, key)) {
				less(t.Find(t.Find(w.root, key), t.Key(part)), part)
			}
		}
	}
	for total, part := range took {
		if n, ok := w.readNumber(total); ok {
			w.patch.Set(total, strconv.AppendInt(nil, max(0, n-part), 10))
		}
	}
}

// quotedList returns a list of strings as JSON.
func quotedList(texts []string) []byte {
	list := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ", "...)
		}
		list = jsontape.AppendQuoted(list, text)
	}
	return append(list, ']')
}
