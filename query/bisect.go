package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"hindcast/model"
)

// Verdict is the result of a test on a snapshot.
type Verdict uint8

// The verdicts. Skipped says that the snapshot cannot be tested.
const (
	Good Verdict = iota + 1
	Bad
	Skipped
)

// String returns the verdict as a word.
func (v Verdict) String() string { return [...]string{"untested", "good", "bad", "skipped"}[v] }

// Tested is one step of a bisection.
type Tested struct {
	// Visit was tested, with the result Verdict, and Why is the test's own explanation.
	Visit   model.Node
	Verdict Verdict
	Why     string
	// Good and Bad are the ends between which it goes on, and Left how many snapshots
	// are between them that are not skipped. At 0 it is done.
	Good, Bad model.Node
	Left      int
	// Skipped are the snapshots between the ends that cannot be tested. Where it is done and
	// no snapshot was skipped, Bad is the first bad snapshot behind Good; else it is one of
	// them, or Bad.
	Skipped []model.Node
	// Other is a snapshot that shows that there are several borders: a good one behind
	// Bad, or a bad one before Good. It has a state that was tested elsewhere on the
	// line. It is model.NoNode if there is no such snapshot, and set where it is done.
	Other model.Node
}

// The errors of a bisection.
var (
	// ErrNotBehind: the bad snapshot does not come of the good one.
	ErrNotBehind = errors.New("the bad snapshot does not come of the good one")
	// ErrNotBad: the test says that the bad snapshot is good.
	ErrNotBad = errors.New("the test says that the bad snapshot is good")
)

// Test tests the state of a visit. why is the test's own explanation, untrusted. The error
// ends the bisection.
type Test func(ctx context.Context, n model.Node) (verdict Verdict, why string, err error)

// NotBehindError is an ErrNotBehind that knows where the two parted.
type NotBehindError struct {
	// Branch is the nearest common ancestor of both; model.NoNode if they have no common ancestor.
	Branch model.Node
}

// Error returns the message of ErrNotBehind, without the snapshots' names.
func (e *NotBehindError) Error() string { return ErrNotBehind.Error() }

// Is reports whether target is ErrNotBehind.
func (e *NotBehindError) Is(target error) bool { return target == ErrNotBehind }

// Bisect finds the first bad snapshot on the line from a good one to a bad one that comes of
// it. It tests the bad one first, and then at most ⌈log₂ n⌉ of the n behind the good one. A
// state that it meets again it does not test again. It yields each step; at the last one Left
// is 0. The error ends the sequence: ErrNotBad, a *NotBehindError, that of the test, or that
// of ctx.
func (q *Session) Bisect(ctx context.Context, good, bad model.Node, test Test) iter.Seq2[Tested, error] {
	return func(yield func(Tested, error) bool) {
		v := q.view()
		line, err := v.between(good, bad)
		if err != nil {
			yield(Tested{}, err)
			return
		}
		b := bisection{view: v, line: line, bad: len(line) - 1, verdicts: map[string]Verdict{v.visits[good].ref.ID: Good}}
		for i := b.bad; ; i = b.middle() {
			step := Tested{Visit: line[i], Other: model.NoNode}
			if err = ctx.Err(); err == nil {
				step.Verdict, step.Why, err = test(ctx, line[i])
			}
			if err == nil && i == len(line)-1 && step.Verdict == Good {
				err = ErrNotBad
			}
			if err != nil {
				yield(step, err)
				return
			}
			b.verdicts[v.visits[line[i]].ref.ID] = step.Verdict
			b.narrow()
			step.Good, step.Bad = line[b.good], line[b.bad]
			step.Left, step.Skipped = len(b.with(0)), nil
			for _, i := range b.with(Skipped) {
				step.Skipped = append(step.Skipped, line[i])
			}
			if step.Left == 0 {
				step.Other = b.other()
			}
			if !yield(step, nil) || step.Left == 0 {
				return
			}
		}
	}
}

// between returns the visits from one to another that comes of it: snapshots alone, but for the
// two and where the last is a step.
func (v *view) between(from, to model.Node) ([]model.Node, error) {
	var line []model.Node
	if from == to {
		return nil, &NotBehindError{from}
	}
	for n := to; n != from; n = v.visits[n].parent {
		if n == model.NoNode {
			return nil, &NotBehindError{v.branch(from, to)}
		}
		if !v.visits[n].traced || n == to {
			line = append(line, n)
		}
	}
	line = append(line, from)
	slices.Reverse(line)
	return line, nil
}

// branch returns the nearest common ancestor of two visits, model.NoNode if there is no such visit.
func (v *view) branch(a, b model.Node) model.Node {
	behind := map[model.Node]bool{}
	for n := a; n != model.NoNode; n = v.visits[n].parent {
		behind[n] = true
	}
	for b != model.NoNode && !behind[b] {
		b = v.visits[b].parent
	}
	return b
}

// TestOf returns the test whether an expression is true, as jq -e does: then a state is good.
// A snapshot is skipped if the expression fails there, or reads a value that is not known.
func (q *Session) TestOf(x *Expr) Test {
	return func(ctx context.Context, n model.Node) (Verdict, string, error) {
		for v, err := range q.Values(ctx, []model.Node{n}, x) {
			switch {
			case err != nil:
				return 0, "", err
			case v.Turn != Passed:
				return Skipped, v.Why, nil
			case v.Holds:
				return Good, "", nil
			}
		}
		return Bad, "", nil
	}
}

// bisection is the state of a running Bisect: line[good] is good, line[bad] is bad.
type bisection struct {
	*view
	line      []model.Node
	good, bad int
	// verdicts are by the id of the state.
	verdicts map[string]Verdict
}

func (b *bisection) verdict(i int) Verdict {
	if i == 0 {
		return Good // as was said
	}
	return b.verdicts[b.visits[b.line[i]].ref.ID]
}

// narrow moves the ends together as far as known verdicts allow.
func (b *bisection) narrow() {
	for i := b.bad - 1; i > b.good; i-- {
		if b.verdict(i) == Good {
			b.good = i
		}
	}
	for i := b.good + 1; i < b.bad; i++ {
		if b.verdict(i) == Bad {
			b.bad = i
		}
	}
}

// middle returns the place to test next. There is one.
func (b *bisection) middle() int {
	untested := b.with(0)
	return untested[len(untested)/2]
}

// with returns the places between the ends that have a verdict.
func (b *bisection) with(verdict Verdict) (places []int) {
	for i := b.good + 1; i < b.bad; i++ {
		if b.verdict(i) == verdict {
			places = append(places, i)
		}
	}
	return places
}

// other returns a place that is on the wrong side of the border.
func (b *bisection) other() model.Node {
	for i := range b.line {
		if v := b.verdict(i); v == Bad && i < b.good || v == Good && i > b.bad {
			return b.line[i]
		}
	}
	return model.NoNode
}
