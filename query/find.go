package query

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Turn is the change of an expression at a visit.
type Turn uint8

const (
	// Passed says no more than that the search has come to the visit.
	Passed Turn = iota
	// TurnsTrue and TurnsFalse: it was not so at the visit before.
	TurnsTrue
	TurnsFalse
	// Fails: the expression has an error, which is neither true nor false, and had not
	// that error at the visit before.
	Fails
	// Unknown: it asks for a value that the store does not know at the visit, and could be
	// answered at the visit before.
	Unknown
)

// Found is a visit at which an expression becomes true or false, or ceases to be either.
type Found struct {
	Visit model.Node
	Turn  Turn
	// OrBefore says that it may have turned earlier: the visit's parent is missing, or
	// nothing is known there.
	OrBefore bool
	// Why is the error of Fails, or says in words what Unknown does not know. It is
	// untrusted.
	Why string
}

// passedEach is after how many visits a search tells how far it is.
const passedEach = 256

// Find returns the visits at which an expression turns, on all branches, in the order in
// which they were recorded. Each is compared with its base, see [model.Timeline.Base]; a visit
// without a base is compared with false. An expression is true if its last output is neither
// null nor false, and false where it has no output.
//
// An expression of the whole state sees the known keys alone, see [model.Gaps].
//
// It says now and then how far it is, see [Passed], since some expressions need each state. The
// error ends the sequence; an error of the expression, or of one state, is Fails.
func (q *Session) Find(ctx context.Context, x *Expr) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		s, end := q.search(ctx, x)
		defer end()
		for n := range s.nodes() {
			s.uses[n]++
			if base := s.visits[n].base; base != model.NoNode {
				s.uses[base]++
			}
		}
		for n, err := range s.walk(ctx, s.nodes()) {
			if err == nil {
				err = s.reach(ctx, n)
			}
			if err != nil {
				yield(Found{Visit: n}, err)
				return
			}
			found := s.turn(n)
			s.release(n)
			if base := s.visits[n].base; base != model.NoNode {
				s.release(base)
			}
			if (found.Turn != Passed || n%passedEach == passedEach-1) && !yield(found, nil) {
				return
			}
		}
	}
}

// FindBack is Find for the visits on the line from a root to a visit, the newest
// first.
func (q *Session) FindBack(ctx context.Context, x *Expr, from model.Node) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		s, end := q.search(ctx, x)
		defer end()
		line := func(yield func(model.Node) bool) {
			for n := from; n != model.NoNode && yield(n); n = s.visits[n].base {
			}
		}
		// What turned at a visit is known when it is known what was before: those that
		// wait have nothing but unsure ones behind them.
		var waiting []model.Node
		passed := 0
		for n, err := range s.walk(ctx, line) {
			var near *reached
			if len(waiting) > 0 {
				near = s.reached[waiting[len(waiting)-1]]
			}
			if err == nil {
				s.reached[n], err = s.reachFrom(n, near)
			}
			if err != nil {
				yield(Found{Visit: n}, err)
				return
			}
			waiting = append(waiting, n)
			root := s.visits[n].base == model.NoNode
			if s.reached[n].unsure && !root {
				continue
			}
			var found []Found
			for i, n := range slices.Backward(waiting) {
				if i < len(waiting)-1 || root {
					s.settle(n)
					found = append(found, s.turn(n))
				}
			}
			for _, f := range slices.Backward(found) {
				if f.Turn != Passed && !yield(f, nil) {
					return
				}
			}
			for _, n := range waiting[:len(waiting)-1] {
				delete(s.reached, n)
			}
			waiting = append(waiting[:0], n)
			if passed++; passed%passedEach == 0 && !yield(Found{Visit: n}, nil) {
				return
			}
		}
	}
}

// search is the state of a running Find.
type search struct {
	*view
	expr *Expr
	eval *evaluator
	// reached has the visits that others are still compared with: uses counts how many.
	reached map[model.Node]*reached
	uses    []int32
	// last is the result at the visit reached last, for an expression of the whole state; else nil. No other
	// whole state stays decoded.
	last *reached
}

// reached is the result of an expression at a visit.
type reached struct {
	// truth is that of before where unsure is set: as turn and why say.
	truth, unsure bool
	turn          Turn
	why           string
	// places are the places that the plan reads, then the places that it folds. folds has the
	// lists there, nil where the value is no list, and answers the results of the folds. All
	// are nil where the state is not known. odd says that a place is odd.
	places  []place
	folds   []*folded
	answers []any
	odd     bool
	// read and whole are the values decoded to evaluate the expression.
	read  []*decoded
	whole *decoded
}

// search returns a search, and the function that ends it.
func (q *Session) search(ctx context.Context, x *Expr) (*search, context.CancelFunc) {
	v := q.view()
	eval, end := newEvaluator(ctx, x.time)
	return &search{view: v, expr: x, eval: eval, reached: map[model.Node]*reached{}, uses: make([]int32, len(v.visits))}, end
}

// reach finds out about a visit, and before it about those that it is compared with: a
// parent may be recorded after its child.
func (s *search) reach(ctx context.Context, n model.Node) error {
	var line []model.Node
	for ; n != model.NoNode && s.reached[n] == nil; n = s.visits[n].base {
		line = append(line, n)
	}
	if err := s.load(ctx, line...); err != nil {
		return err
	}
	for _, n := range slices.Backward(line) {
		near := s.last
		if base := s.visits[n].base; base != model.NoNode && !s.expr.plan.whole {
			near = s.reached[base]
		}
		r, err := s.reachFrom(n, near)
		if err != nil {
			return err
		}
		if s.reached[n] = r; s.expr.plan.whole {
			s.reached[n] = &reached{truth: r.truth, unsure: r.unsure, turn: r.turn, why: r.why}
			s.last = r
		}
		s.settle(n)
	}
	return nil
}

// before returns the result that a visit is compared with: that of its base.
func (s *search) before(n model.Node) *reached {
	if base := s.visits[n].base; base != model.NoNode {
		return s.reached[base]
	}
	return &reached{unsure: s.visits[n].severed}
}

// settle takes what is not known at a visit from before.
func (s *search) settle(n model.Node) {
	if r := s.reached[n]; r.unsure {
		r.truth = s.before(n).truth
	}
}

// turn compares a visit with the one before.
func (s *search) turn(n model.Node) Found {
	old, now := s.before(n), s.reached[n]
	passing := s.visits[n].traced && s.visits[n].ended
	switch {
	case now.unsure && (old.why == now.why || now.turn == Unknown && passing):
		return Found{Visit: n}
	case now.unsure:
		return Found{Visit: n, Turn: now.turn, Why: now.why}
	case now.truth == old.truth:
		return Found{Visit: n}
	case now.truth:
		return Found{Visit: n, Turn: TurnsTrue, OrBefore: old.unsure}
	}
	return Found{Visit: n, Turn: TurnsFalse, OrBefore: old.unsure}
}

func (s *search) release(n model.Node) {
	if s.uses[n]--; s.uses[n] == 0 {
		delete(s.reached, n)
	}
}

// reachFrom finds out about a visit that is loaded. near is the result at another visit,
// or nil; it helps the more, the more the two states share. The error is that of the question.
func (s *search) reachFrom(n model.Node, near *reached) (*reached, error) {
	var r *reached // which a job that is left may still write
	err := s.eval.do(s.size(n), func() (err error) {
		r, err = s.look(n, near)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// size returns how many bytes of JSON a state is.
func (s *search) size(n model.Node) int { return int(length(s.rope(n).pieces)) }

// look is reachFrom.
func (s *search) look(n model.Node, near *reached) (*reached, error) {
	r, same, err := s.prepare(n, near)
	switch {
	case err != nil || r.unsure:
		return r, err
	case same:
		r.read, r.whole = near.read, near.whole
		r.truth, r.unsure, r.turn, r.why = near.truth, near.unsure, near.turn, near.why
		return r, nil
	}
	wrong, err := s.judge(n, r, near, func(output any) { r.truth = holds(output) })
	switch {
	case err != nil:
		return s.damaged(err)
	case wrong != nil:
		r.truth, r.unsure, r.turn, r.why = false, true, Fails, wrong.Error()
	}
	return r, nil
}

// prepare finds in a state what the expression asks for, or why that is not known. same says
// that near has the same.
func (s *search) prepare(n model.Node, near *reached) (r *reached, same bool, err error) {
	rope := s.rope(n)
	if rope.err != nil {
		return failed(rope.err), false, nil
	}
	for _, key := range s.expr.plan.keys() {
		if rope.gaps.Has(key) {
			lacks := func(string) bool { return false }
			why := model.Gaps{Keys: []string{key}, Why: rope.gaps.Why}.Of(lacks, 1)
			return &reached{unsure: true, turn: Unknown, why: why}, false, nil
		}
	}
	r = &reached{}
	if same, err = s.gather(n, r, near); err != nil {
		r, err = s.damaged(err)
	}
	return r, same, err
}

func failed(err error) *reached { return &reached{unsure: true, turn: Fails, why: err.Error()} }

var errNotJSON = errors.New("the state is not JSON")

// damaged returns the result for a state that could not be searched because of an error.
func (s *search) damaged(err error) (*reached, error) {
	if wrong := (*jsontape.SyntaxError)(nil); errors.As(err, &wrong) {
		return failed(errNotJSON), nil
	}
	return nil, err
}

// gather finds in a state what the plan needs. same says that near has the same, so that
// the expression says the same.
func (s *search) gather(n model.Node, r, near *reached) (same bool, err error) {
	plan := &s.expr.plan
	same = near != nil && near.places != nil && !near.odd
	if plan.whole {
		r.places = []place{{value: value{s.rope(n).pieces}, odd: true}}
		return same && slices.Equal(near.places[0].pieces, r.places[0].pieces), nil
	}
	r.places = make([]place, 0, len(plan.reads)+len(plan.folds))
	for i, read := range plan.reads {
		p, err := s.locate(n, read)
		if err != nil {
			return false, err
		}
		same = same && !p.odd && p.upTo == near.places[i].upTo && s.alike(near.places[i].value, p.value)
		r.places, r.odd = append(r.places, p), r.odd || p.odd
	}
	known := near != nil && len(near.folds) > 0
	r.folds, r.answers = make([]*folded, len(plan.folds)), make([]any, len(plan.folds))
	for i := range plan.folds {
		f := &plan.folds[i]
		p, err := s.locate(n, f.list)
		if err != nil {
			return false, err
		}
		r.places, r.odd = append(r.places, p), r.odd || p.odd
		var of *folded
		if known {
			of = near.folds[i]
		}
		switch {
		case p.none() || s.bytes().at(p.pieces[0].off) != '[':
			r.answers[i], err = s.answerDirectly(f, p.value)
		default:
			r.folds[i], err = s.fold(p.value, of, func(l *folded, e *element) error { return s.ask(f, l, e) })
			if err == nil && r.folds[i].failed > 0 && f.collected {
				r.odd = true // which of the errors it is depends on what was collected until then
			} else if err == nil {
				r.answers[i], err = s.answer(f, r.folds[i])
			}
		}
		if err != nil {
			return false, err
		}
		same = same && !r.odd && plain(r.answers[i]) && r.answers[i] == near.answers[i]
	}
	return same, nil
}

// place is where a route leads in a state.
type place struct {
	// value is empty where the route ends before: upTo steps lead to holder, which is
	// null or an empty value of the kind that the next step may lead into.
	value
	upTo   int
	holder any
	// odd says that the next step may not: that is an error which names the value.
	odd bool
}

// locate returns where a route leads.
func (s *search) locate(n model.Node, r route) (p place, err error) {
	if p.value, err = s.at(n, r.path()); err != nil {
		return p, err
	}
	// A key that is a number leads into an array, too, and an index into an object.
	p.upTo = len(r)
	for k := len(r) - 1; k >= 0; k-- {
		if !p.none() && indexOf(r[k].key) < 0 {
			continue
		}
		of, err := s.at(n, r[:k].path())
		if err != nil {
			return p, err
		}
		if of.none() {
			continue
		}
		kind := s.bytes().at(of.pieces[0].off)
		leads := kind == '{' && !r[k].index || kind == '[' && r[k].index
		switch {
		case !p.none() || p.upTo < len(r):
			p.odd = p.odd || !leads
			continue
		case kind == '{':
			p.holder = map[string]any{}
		case kind == '[':
			p.holder = []any{}
		default:
			leads = kind == 'n'
		}
		p.upTo, p.odd = k, !leads
	}
	return p, nil
}

// plain reports whether an answer can be compared.
func plain(answer any) bool {
	switch answer.(type) {
	case bool, int:
		return true
	}
	return false
}

// alike reports whether two values are the same bytes.
func (s *search) alike(a, b value) bool {
	return slices.Equal(a.pieces, b.pieces) || bytes.Equal(s.json(a), s.json(b))
}

// judge evaluates the expression on what was gathered of a state. What that may not do for
// is evaluated on the whole state, but for the keys that are not known.
func (s *search) judge(n model.Node, r, near *reached, each func(output any)) (wrong, err error) {
	if !s.expr.plan.whole && !r.odd {
		state, size, err := s.reduced(r, near)
		if err != nil {
			return nil, err
		}
		return evaluate(s.eval.ctx, s.expr.code, size, state, r.answers, each)
	}
	state, size, err := s.state(n, r, near)
	if err != nil {
		return nil, err
	}
	if gaps := s.rope(n).gaps; !gaps.IsEmpty() {
		if object, ok := state.(map[string]any); ok {
			object = maps.Clone(object)
			for _, key := range gaps.Keys {
				delete(object, key)
			}
			state = object
		}
	}
	return evaluate(s.eval.ctx, s.expr.plain, size, state, nil, each)
}

// state returns a state decoded, and its size.
func (s *search) state(n model.Node, r, near *reached) (state any, size int, err error) {
	pieces := s.rope(n).pieces
	size = int(length(pieces))
	root, err := s.at(n, Path{})
	if err != nil {
		return nil, 0, err
	}
	if int(length(root.pieces)) != size { // something is around it, which may be no white space
		state, err = decodeText(join(s.bytes(), pieces))
		return state, size, err
	}
	r.whole, err = s.decode(root, near.wholly())
	if err != nil {
		return nil, 0, err
	}
	return r.whole.data, size, nil
}

func (r *reached) wholly() *decoded {
	if r == nil {
		return nil
	}
	return r.whole
}

// reduced returns a state that has nothing but what the plan reads, and the size of that. The
// expression says the same of it.
func (s *search) reduced(r, near *reached) (state any, size int, err error) {
	plan := &s.expr.plan
	r.read = make([]*decoded, len(plan.reads))
	for i, p := range r.places {
		value := p.holder
		var path route
		switch {
		case i >= len(plan.reads) && !p.none():
			continue // its answer is a variable
		case i >= len(plan.reads):
			path = plan.folds[i-len(plan.reads)].list
		default:
			path = plan.reads[i]
		}
		if !p.none() {
			var before *decoded
			if near != nil && near.read != nil {
				before = near.read[i]
			}
			if r.read[i], err = s.decode(p.value, before); err != nil {
				return nil, 0, err
			}
			value, size = r.read[i].data, size+int(length(p.pieces))
		}
		state = put(state, path[:p.upTo], value)
	}
	return state, size, nil
}

// put puts a value at the end of a route. An empty one or null replaces nothing.
func put(into any, path route, value any) any {
	if len(path) == 0 {
		switch value.(type) {
		case map[string]any, []any, nil:
			if into != nil {
				return into
			}
		}
		return value
	}
	if !path[0].index {
		object, ok := into.(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		object[path[0].key] = put(object[path[0].key], path[1:], value)
		return object
	}
	i := indexOf(path[0].key)
	array, _ := into.([]any)
	for len(array) <= i {
		array = append(array, nil)
	}
	array[i] = put(array[i], path[1:], value)
	return array
}
