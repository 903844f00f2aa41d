package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
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

// Fact is a fact about a call that failed, or about a value, on one line.
type Fact struct {
	// Is is the question that it answers, in a word.
	Is string
	// Visit is the place to go to, and In the view that shows more there.
	Visit model.Node
	In    FactPlace
	// Text tells it. It is untrusted.
	Text string
}

// FactPlace is the view that shows more of a fact at its visit.
type FactPlace string

// The places of facts.
const (
	InMessages FactPlace = "messages"
	InFiles    FactPlace = "files"
	InContext  FactPlace = "context"
	InState    FactPlace = "show"
	InChange   FactPlace = "diff"    // what the visit changed
	InDiff     FactPlace = "diverge" // from the call to the visit
	InRestore  FactPlace = "restore"
)

// Facts tells the facts line by line. t is the timeline that Explain got.
func (w *Why) Facts(t *model.Timeline) (facts []Fact) {
	add := func(is string, at model.Node, in FactPlace, text string) {
		facts = append(facts, Fact{is, at, in, conversation.OneLine(text)})
	}
	c := &w.Calls[w.Call]
	text := t.Name(c.ResultVisit) + " " + c.Text
	if c.Exit != "" {
		text += "  exit " + c.Exit
	}
	if c.Outcome != "" {
		text += ": " + c.Outcome
	}
	add("failed", c.ResultVisit, InMessages, text)
	for _, i := range w.Before {
		before := &w.Calls[i]
		add("again", before.ResultVisit, InMessages, t.Name(before.ResultVisit)+" failed for the same reason: "+before.Text)
	}
	for i := range w.Origins {
		origin := &w.Origins[i]
		switch {
		case origin.Changed >= 0:
			by := &w.Calls[origin.Changed]
			add("from", by.Visit, InFiles, fmt.Sprintf("%s = %s was last changed at %s by %s", origin.Path, origin.Text, t.Name(by.Visit), by.Text))
		case origin.Visit != model.NoNode:
			add("from", origin.Visit, InMessages, fmt.Sprintf("%s = %q first stands in %s (%s)", origin.Path, origin.Text, t.Name(origin.Visit), origin.speaker()))
		default:
			add("from", c.Visit, InContext, fmt.Sprintf("%s = %q is the model's own: nothing before has it", origin.Path, origin.Text))
		}
	}
	if w.Worked != nil {
		worked := &w.Worked.Calls[w.WorkedCall]
		where := "on the line that goes on"
		if fork := w.Parting.A.Fork; len(w.Parting.A.Since) > 0 && fork != model.NoNode {
			where = "on the branch that parted at " + t.Name(fork)
		}
		add("worked", worked.Visit, InDiff, fmt.Sprintf("%s %s, %s", t.Name(worked.Visit), worked.Text, where))
	}
	if w.Back != model.NoNode {
		add("before", w.Back, InRestore, t.Name(w.Back)+" is the snapshot before the call")
	}
	return facts
}

// speaker names who said the text of an origin: the role, and the tool where there is one.
func (o *Origin) speaker() string { return strings.TrimSpace(o.Role + " " + o.Tool) }

// The bounds of what Explain looks at.
const (
	mostOrigins   = 6
	leastOrigin   = 3   // bytes of an argument that is looked for
	longestOrigin = 200 // bytes
	mostBranches  = 16
)

// ErrNoFailure: no call failed on the line to a visit.
var ErrNoFailure = errors.New("no call failed on the line that leads there")

// Explain tells of the call that failed at a visit or was made there and failed at the next one, or of the last one that
// failed before it. t, project and prices are
// as those of ReadRun. The error may be ErrNoFailure.
func (q *Session) Explain(ctx context.Context, t *model.Timeline, n model.Node, project string, prices Prices) (*Why, error) {
	run, err := q.ReadRun(ctx, t, n, project, prices)
	if err != nil {
		return nil, err
	}
	if next := t.Next(n); next != model.NoNode && slices.ContainsFunc(run.Calls, func(c Call) bool { return c.Visit == n && !c.IsAnswered() }) {
		answered, err := q.ReadRun(ctx, t, next, project, prices)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(answered.Calls, func(c Call) bool { return c.Visit == n && c.Failed }) {
			run = answered
		}
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
	before := placesOf(w.Path[:slices.Index(w.Path, c.Visit)])
	for i := range tape.Len() {
		n := jsontape.Node(i)
		if tape.Kind(n) != jsontape.String || len(origins) == mostOrigins {
			continue
		}
		text := tape.Text(n)
		if len(text) < leastOrigin || len(text) > longestOrigin {
			continue
		}
		o := Origin{Path: tape.Pointer(n), Text: text, Changed: -1}
		if err := q.findFirst(ctx, &o, before); err != nil {
			return nil, err
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

// placesOf returns the places of visits on their line.
func placesOf(path []model.Node) map[model.Node]int {
	places := make(map[model.Node]int, len(path))
	for i, n := range path {
		places[n] = i
	}
	return places
}

// findFirst finds the first of some visits that has the text of an origin.
func (q *Session) findFirst(ctx context.Context, o *Origin, of map[model.Node]int) error {
	o.Visit = model.NoNode
	for hit, err := range q.Grep(ctx, Search{Pattern: Literal(o.Text, MatchCase), All: true}) {
		if err != nil {
			return err
		}
		if at, is := of[hit.Visit]; is && (o.Visit == model.NoNode || at < of[o.Visit]) {
			o.Visit, o.Role, o.Tool = hit.Visit, hit.Role, hit.Tool
		}
	}
	return nil
}

// findWorked finds the line on which the tool worked: on the line behind the call, or on the branch that parted last
// before it.
func (q *Session) findWorked(ctx context.Context, t *model.Timeline, w *Why, project string, prices Prices) error {
	c := &w.Calls[w.Call]
	var best *Run
	bestCall, bestFork := -1, -1
	place := placesOf(w.Path)
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
