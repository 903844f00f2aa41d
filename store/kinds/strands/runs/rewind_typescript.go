package runs

import (
	"strconv"

	"hindcast/model/jsontape"
)

// rewindTypeScript removes the runs after the position from a record of the TypeScript
// SDK. At the next start, a Graph runs each pending node whose incoming edges all come
// from completed nodes. A Swarm goes on with the node that its last result names.
func (w *rewinder) rewindTypeScript() error {
	t, p := w.tape, w.patch
	if err := w.refuseTypeScript(); err != nil {
		return err
	}
	kept := make(map[string]int) // executions
	for i := range w.steps[:w.to+1] {
		if s := &w.steps[i]; s.result >= 0 {
			kept[s.node]++
			if s.outcome == outcomeFailed || s.outcome == outcomeCancelled {
				w.addWarning("%s is %s before the position: every later run ends so, even if all of its nodes complete", shortenText(s.node, maxName), s.outcome)
			}
		}
	}
	upto := w.steps[w.to].upto
	p.Remove(w.outline.order, func(n jsontape.Node) bool { return t.Index(n) >= upto })
	if steps := t.Find(w.root, "steps"); steps >= 0 {
		p.Set(steps, strconv.AppendInt(nil, int64(upto), 10))
	}
	for n := range w.childrenOf(t.Find(w.root, "nodes")) {
		name := t.Key(n)
		if t.IsShadowed(n) || !w.dropped[name] || t.Kind(n) != jsontape.Object {
			continue
		}
		w.resetNode(n, kept[name])
	}
	return nil
}

func (w *rewinder) refuseTypeScript() error {
	if w.outline.order < 0 {
		return unableError("the record has no list of results")
	}
	if w.summary.Kind == Swarm || len(w.steps)-1-w.to == 1 {
		return nil
	}
	for _, name := range sortedKeys(w.dropped) {
		if _, before := w.kept[name]; before {
			return unableError("%s ran before #%d and again after it, and a graph runs what has not completed: it would not run those again that had. "+
				"Put the run back to where no node before it runs again, or to the last but one", shortenText(name, maxName), w.to)
		}
	}
	return nil
}

// resetNode makes a node one that ran so many times.
func (w *rewinder) resetNode(node jsontape.Node, runs int) {
	t, p := w.tape, w.patch
	p.Remove(node, func(n jsontape.Node) bool { return t.Key(n) == "interruptedSnapshot" })
	p.Remove(t.Find(node, "results"), func(n jsontape.Node) bool { return t.Index(n) >= runs })
	p.Remove(t.Find(node, "interrupts"), func(jsontape.Node) bool { return true })
	status := `"PENDING"`
	if w.summary.Kind == Swarm && runs > 0 {
		status = `"COMPLETED"`
	}
	p.Set(t.Find(node, "status"), []byte(status))
	p.Set(t.Find(node, "terminus"), []byte("false"))
}
