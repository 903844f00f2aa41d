package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"hindcast/model"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
)

// Why gathers the facts about a call that failed.
type Why struct {
	// Run is the line to the visit that was asked for, and Call the place of the call in it.
	*Run
	Call int
	// Before are the places of the calls that failed for the same reason before.
	Before []int
	// Origins tell where the arguments of the call come from.
	Origins []Origin
	// Worked is the line on which the same tool went on to work, nil without one; WorkedCall is the place of its call.
	Worked     *Run
	WorkedCall int
	// Parting is where the two lines parted; the zero value of one line.
	Parting Parting
	// Back is the visit before the call; model.NoNode where the call is in the first one.
	Back model.Node
}

// Origin is where an argument of a call comes from.
type Origin struct {
	// Path is the JSON Pointer of the argument in the input, and Text its value. Both are untrusted.
	Path, Text string
	// Visit is the first visit on the line that has the text, before the call; model.NoNode where the call has it first.
	Visit model.Node
	// Role says who said it there in the framework's word, and Tool is the tool of its call or result, or "".
	Role, Tool string
	// Changed is the place of the last call before that changed the file of this name, -1 without one.
	Changed int
}

// The bounds of what Explain looks at.
const (
	mostOrigins   = 6
	leastOrigin   = 3   // bytes of an argument that is looked for
	longestOrigin = 200 // bytes
	mostBranches  = 16
)

// ErrNoFailure: no call failed on the line to a visit.
var ErrNoFailure = errors.New("no call failed on the line that leads there")

// Explain tells of the call that failed at a visit, or of the last one that failed before it. t, project and prices are
// as those of ReadRun. The error may be ErrNoFailure.
func (q *Session) Explain(ctx context.Context, t *model.Timeline, n model.Node, project string, prices Prices) (*Why, error) {
	run, err := q.ReadRun(ctx, t, n, project, prices)
	if err != nil {
		return nil, err
	}
	w := &Why{Run: run, Call: -1, WorkedCall: -1, Back: model.NoNode}
	for i := range run.Calls {
		if run.Calls[i].Failed {
			w.Call = i
		}
	}
	if w.Call < 0 {
		return nil, ErrNoFailure
	}
	c := &run.Calls[w.Call]
	w.Back = t.Parent(c.Visit)
	for i := range w.Call {
		if run.Calls[i].Failed && run.Calls[i].Error == c.Error {
			w.Before = append(w.Before, i)
		}
	}
	if w.Origins, err = q.findOrigins(ctx, w); err != nil {
		return nil, err
	}
	return w, q.findWorked(ctx, t, w, project, prices)
}

// findOrigins finds where the texts among the arguments come from.
func (q *Session) findOrigins(ctx context.Context, w *Why) (origins []Origin, err error) {
	c := &w.Calls[w.Call]
	tape, err := jsontape.Parse(c.Input)
	if err != nil {
		return nil, nil // of what is no JSON no argument can be told
	}
	on := map[model.Node]int{}
	for i, n := range w.Path {
		on[n] = i
	}
	for i := range tape.Len() {
		n := jsontape.Node(i)
		if tape.Kind(n) != jsontape.String || len(origins) == mostOrigins {
			continue
		}
		text := tape.Text(n)
		if len(text) < leastOrigin || len(text) > longestOrigin {
			continue
		}
		o := Origin{Path: tape.Pointer(n), Text: text, Visit: model.NoNode, Changed: -1}
		for hit, err := range q.Grep(ctx, Search{Pattern: Literal(text, MatchCase), All: true}) {
			if err != nil {
				return nil, err
			}
			if at, is := on[hit.Visit]; is && at < on[c.Visit] && (o.Visit == model.NoNode || at < on[o.Visit]) {
				o.Visit, o.Role, o.Tool = hit.Visit, hit.Role, hit.Tool
			}
		}
		for k := range w.Call {
			if slices.ContainsFunc(w.Calls[k].Changes, func(change filechange.Change) bool { return change.IsOf(text, "") }) {
				o.Changed = k
			}
		}
		origins = append(origins, o)
	}
	return origins, nil
}

// findWorked finds the line on which the tool worked: on the line behind the call, or on the branch that parted last
// before it.
func (q *Session) findWorked(ctx context.Context, t *model.Timeline, w *Why, project string, prices Prices) error {
	c := &w.Calls[w.Call]
	var best *Run
	bestCall, bestFork := -1, -1
	place := map[model.Node]int{}
	for i, n := range w.Path {
		place[n] = i
	}
	v, looked := q.view(), 0
	for leaf := model.Node(t.Len() - 1); leaf >= 0 && looked < mostBranches; leaf-- {
		if isLeaf := !anyOf(t.Children(leaf)); !isLeaf {
			continue
		}
		looked++
		fork := -1 // the place of the last visit that both have
		for i, n := range v.path(leaf) {
			if i < len(w.Path) && w.Path[i] == n {
				fork = i
			}
		}
		if fork <= bestFork { // also where they have none
			continue
		}
		run := w.Run
		if leaf != w.Path[len(w.Path)-1] {
			var err error
			if run, err = q.ReadRun(ctx, t, leaf, project, prices); err != nil {
				return err
			}
		}
		for i := range run.Calls {
			of := &run.Calls[i]
			at, shared := place[of.Visit]
			isBehind := !shared || at > place[c.Visit] || at == place[c.Visit] && i > w.Call
			if of.Tool == c.Tool && of.IsAnswered() && !of.Failed && isBehind {
				best, bestCall, bestFork = run, i, fork
				break
			}
		}
	}
	if best != nil {
		w.Worked, w.WorkedCall = best, bestCall
		w.Parting = q.Diverge(c.Visit, best.Calls[bestCall].Visit)
	}
	return nil
}

// anyOf reports whether a sequence yields a visit.
func anyOf(visits iter.Seq[model.Node]) bool {
	for range visits {
		return true
	}
	return false
}
