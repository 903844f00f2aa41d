package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
)

// The bounds of the facts of ExplainValue.
const (
	mostEarlier = 3 // values that it had before, and values on other branches
	maxValue    = 80
)

// ErrNeverSet: a value was never set on the line to a visit.
var ErrNeverSet = errors.New("nothing set it on the line that leads there")

// ExplainValue returns the facts about the value at a path in the state of a visit: the visit and the call that set it,
// its values before, the origin of its text, other values on other branches, and the visit before it was set. t and
// project are as in ReadRun. The error may be ErrNeverSet.
func (q *Session) ExplainValue(ctx context.Context, t *model.Timeline, n model.Node, path Path, project string) (facts []Fact, err error) {
	line := q.view().path(n)
	on := placesOf(line)
	var here, elsewhere []Change // the newest last
	if path.Indexed() {
		// Another value may have been at the path: this one is followed.
		for change, err := range q.Trace(ctx, n, path) {
			if err != nil {
				return nil, err
			}
			here = append(here, change.Change)
		}
		slices.Reverse(here)
	} else {
		for change, err := range q.History(ctx, path) {
			switch _, is := on[change.Visit]; {
			case err != nil:
				return nil, err
			case change.Unknown != "":
			case is:
				here = append(here, change)
			default:
				elsewhere = append(elsewhere, change)
			}
		}
		slices.SortFunc(here, func(a, b Change) int { return on[a.Visit] - on[b.Visit] })
	}
	if len(here) == 0 {
		return nil, ErrNeverSet
	}
	add := func(is string, at model.Node, in FactPlace, text string) {
		facts = append(facts, Fact{is, at, in, conversation.OneLine(text)})
	}
	last := len(here) - 1
	set := here[last]
	before := ""
	if set.OrBefore {
		before = " or before"
	}
	add("set", set.Visit, valuePlace(set.New), fmt.Sprintf("%s%s set it to %s", t.Name(set.Visit), before, valueText(set.New)))
	run, err := q.ReadRun(ctx, t, n, project, nil)
	if err != nil {
		return nil, err
	}
	for i := range run.Calls {
		if c := &run.Calls[i]; c.ResultVisit == set.Visit || c.Visit == set.Visit {
			add("by", c.Visit, InMessages, t.Name(c.Visit)+" "+c.Text)
		}
	}
	for i := last - 1; i >= 0 && i >= last-mostEarlier; i-- {
		add("was", here[i].Visit, valuePlace(here[i].New), fmt.Sprintf("%s set it to %s", t.Name(here[i].Visit), valueText(here[i].New)))
	}
	if o := (Origin{Text: originText(set.New)}); len(o.Text) >= leastOrigin && len(o.Text) <= longestOrigin {
		if err := q.findFirst(ctx, &o, placesOf(line[:on[set.Visit]])); err != nil {
			return nil, err
		}
		if o.Visit != model.NoNode {
			add("from", o.Visit, InMessages, fmt.Sprintf("%q first stands in %s (%s)", o.Text, t.Name(o.Visit), o.speaker()))
		}
	}
	told := 0
	for _, other := range slices.Backward(elsewhere) {
		if string(other.New) == string(set.New) || told == mostEarlier {
			continue
		}
		told++
		fork := q.Diverge(n, other.Visit).A.Fork
		where := "on a line of its own"
		switch fork {
		case model.NoNode:
		case n:
			where = "on the line that goes on"
		default:
			where = "on the branch that parted at " + t.Name(fork)
		}
		add("else", other.Visit, valuePlace(other.New), fmt.Sprintf("%s set it to %s, %s", t.Name(other.Visit), valueText(other.New), where))
	}
	if back := t.Parent(set.Visit); back != model.NoNode {
		add("before", back, InRestore, t.Name(back)+" is the snapshot before it was set")
	}
	return facts, nil
}

// valueText begins a value; nil is one that was removed.
func valueText(value []byte) string {
	if value == nil {
		return "nothing"
	}
	return conversation.Cut(string(value), maxValue)
}

// valuePlace returns the view of a value: one that was removed stands in the change alone.
func valuePlace(value []byte) FactPlace {
	if value == nil {
		return InChange
	}
	return InState
}

// originText returns the text of a value by which it is looked for: of a string or a number.
func originText(value []byte) string {
	tape, err := jsontape.Parse(value)
	if err != nil || tape.Len() == 0 {
		return ""
	}
	switch tape.Kind(0) {
	case jsontape.String:
		return tape.Text(0)
	case jsontape.Number:
		return string(tape.Raw(0))
	}
	return ""
}
