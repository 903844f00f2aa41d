package query

import (
	"slices"
	"strconv"

	"github.com/itchyny/gojq"
)

// plan lists the parts of a state that an expression needs, told from its text alone.
//
//	.plan.status == "done"                    reads /plan/status
//	.cart.total > 9 and (.log | length) > 2   reads /cart/total, folds /log: how many
//	any(.messages[]; .role == "tool")         folds /messages: is there one
//	.. | numbers                              is whole
//
// Where each value that is read, and each list that is folded, is as in the state before,
// the answer is that of before. A fold asks each element once: what it says of a list is
// taken from the list before and from those elements that are new.
type plan struct {
	// whole says that all of the state is read. There are no reads and folds then.
	whole bool
	reads []route
	folds []fold
}

// route is a path as jq has it: an index is no key.
type route []step

type step struct {
	key   string
	index bool
}

func (r route) path() Path {
	keys := make([]string, len(r))
	for i, s := range r {
		keys[i] = s.key
	}
	return Path{keys}
}

// holds reports whether a route leads to the same value as the other, or to one around it.
func (r route) holds(other route) bool {
	return len(r) <= len(other) && slices.Equal(r, other[:len(r)])
}

// fold is a part of an expression that asks the same of all elements of one list. It is
// replaced by a variable that has the answer.
type fold struct {
	list route
	kind foldKind
	// collected says that the outputs are put into an array before they are looked at:
	// an error comes before any answer.
	collected bool
	// each is asked of an element, nil where elements are only counted; direct is asked of
	// a value that is in the place of the list and no array.
	each, direct *gojq.Code
}

type foldKind uint8

const (
	noFold    foldKind = iota
	foldAny            // any(LIST[]; F): is an output true
	foldAll            // all(LIST[]; F): is none false
	foldNone           // isempty(LIST[] | F): is there no output
	foldCount          // [LIST[] | F] | length: how many are there
	foldLast           // LIST[] | F as the whole expression: is the last one true
)

// planOf returns the plan of a query. Parts of the query that are folds become variables.
func planOf(query *gojq.Query) (plan, error) {
	var a analysis
	out := a.query(query, flow{kind: aValue})
	if out.kind == aStream {
		a.offer(out, foldLast, out.text(), func(answer *gojq.Query) { *query = *answer })
	} else {
		a.consume(out)
	}
	if a.whole {
		return plan{whole: true}, nil
	}
	p := plan{}
	slices.SortStableFunc(a.reads, func(x, y route) int { return len(x) - len(y) })
	for _, r := range a.reads {
		if !p.reading(r) {
			p.reads = append(p.reads, r)
		}
	}
	for _, o := range a.offers {
		if p.reading(o.list) {
			continue
		}
		answer := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{}}}
		if o.kind != noFold {
			f := fold{list: o.list, kind: o.kind, collected: o.collected}
			var err error
			if o.kind != foldCount || o.each != "." {
				if f.each, err = compileText(o.each); err != nil {
					return plan{}, err
				}
			}
			if f.direct, err = compileText(o.direct); err != nil {
				return plan{}, err
			}
			if answer, err = gojq.Parse("(" + foldVariable(len(p.folds)) + "|_answer)"); err != nil {
				return plan{}, err
			}
			p.folds = append(p.folds, f)
		}
		o.replace(answer)
	}
	return p, nil
}

// last reports whether the whole expression is a fold of its last output.
func (p *plan) last() bool { return len(p.folds) == 1 && p.folds[0].kind == foldLast }

// reading reports whether a value is read, be it as a part of another.
func (p *plan) reading(r route) bool {
	return slices.ContainsFunc(p.reads, func(read route) bool { return read.holds(r) })
}

// keys returns the keys at the top of a state that are read.
func (p *plan) keys() (keys []string) {
	for _, r := range p.reads {
		keys = append(keys, r[0].key)
	}
	for _, f := range p.folds {
		keys = append(keys, f.list[0].key)
	}
	return keys
}

// variables returns the names under which an expression finds the answers of its folds.
func (p *plan) variables() (names []string) {
	for i := range p.folds {
		names = append(names, foldVariable(i))
	}
	return names
}

func foldVariable(i int) string { return "$_fold" + strconv.Itoa(i) }

// analysis follows the input of an expression through it, and notes which values of the
// state are looked into. What it does not know it takes to look into all that it is given.
type analysis struct {
	whole  bool
	reads  []route
	offers []offer
}

// offer is a fold that is one unless its list is read all the same.
type offer struct {
	list         route
	kind         foldKind
	collected    bool
	each, direct string
	// replace puts the answer in the place of the fold. Where the kind is noFold it is
	// the list that another fold looks at, which becomes an empty one.
	replace func(answer *gojq.Query)
}

// flow describes the input or the output of a part of an expression.
type flow struct {
	kind flowKind
	// at is where the value is, or the list of a stream.
	at route
	// iter and each are how a stream comes from the list: iter | each.
	iter, each string
}

type flowKind uint8

const (
	aResult flowKind = iota // made of what was noted already
	aValue                  // the value at a place of the state
	aStream                 // what is made of each element of a list, one after the other
	aList                   // the same in an array
)

// text returns the expression that computes the flow from the value at its place.
func (f flow) text() string {
	switch f.kind {
	case aStream:
		return f.iter + "|" + f.each
	case aList:
		return "[" + f.iter + "|" + f.each + "]"
	}
	return "."
}

// consume notes that all of a flow is looked into.
func (a *analysis) consume(f flow) flow {
	if f.kind == aResult {
		return f
	}
	if len(f.at) == 0 {
		a.whole = true
	}
	a.reads = append(a.reads, f.at)
	return flow{}
}

// offer offers a fold of the elements of a flow; direct makes its answer of the value at the
// place of the list.
func (a *analysis) offer(of flow, kind foldKind, direct string, replace func(answer *gojq.Query)) {
	if len(of.at) == 0 {
		a.consume(of)
		return
	}
	a.offers = append(a.offers, offer{of.at, kind, of.kind == aList, of.each, direct, replace})
}

// asked returns a flow of elements with a query behind each.
func (a *analysis) asked(of flow, q *gojq.Query) flow {
	if !lone(q) {
		return a.consume(of)
	}
	of.each += "|(" + q.String() + ")"
	return of
}

// query returns the output of a query.
func (a *analysis) query(q *gojq.Query, in flow) flow {
	switch {
	case q == nil:
		return in
	case len(q.FuncDefs) > 0 || len(q.Imports) > 0 || q.Meta != nil:
		a.whole = true
		return flow{}
	case q.Term != nil:
		return a.term(q.Term, in)
	case q.Op == gojq.OpPipe && len(q.Patterns) > 0:
		a.consume(a.query(q.Left, in))
		if slices.ContainsFunc(q.Patterns, asks) {
			a.consume(in)
		}
		return a.query(q.Right, in)
	case q.Op == gojq.OpPipe:
		out := a.query(q.Left, in)
		if out.kind == aStream {
			if out = a.asked(out, q.Right); out.kind == aStream {
				return out
			}
		}
		return a.query(q.Right, out)
	case q.Op >= gojq.OpAssign && q.Op <= gojq.OpUpdateAlt:
		return a.consume(in)
	}
	a.consume(a.query(q.Left, in))
	a.consume(a.query(q.Right, in))
	return flow{}
}

// asks reports whether a pattern has a query in it.
func asks(p *gojq.Pattern) bool {
	return slices.ContainsFunc(p.Array, asks) || slices.ContainsFunc(p.Object, func(o *gojq.PatternObject) bool {
		return o.KeyQuery != nil || o.KeyString != nil && len(o.KeyString.Queries) > 0 || o.Val != nil && asks(o.Val)
	})
}

// lone reports whether a query needs nothing but its input.
func lone(q *gojq.Query) bool {
	free := true
	walk(q, func(node any) {
		switch n := node.(type) {
		case *gojq.Func:
			free = free && n.Name[0] != '$'
		case *gojq.Term:
			free = free && n.Type != gojq.TermTypeBreak
		case *gojq.ObjectKeyVal:
			free = free && (n.Key == "" || n.Key[0] != '$')
		}
	})
	return free
}

// term returns the output of a term.
func (a *analysis) term(t *gojq.Term, in flow) flow {
	out := a.base(t, in)
	for i, s := range t.SuffixList {
		switch {
		case s.Index != nil:
			out = a.index(out, s.Index, in)
		case s.Iter && out.kind == aValue:
			out = flow{aStream, out.at, ".[]", "."}
		case s.Iter && out.kind == aStream:
			out.each += "|.[]"
		case s.Optional && out.kind == aStream && out.each == "." && t.SuffixList[i-1].Iter:
			out.iter = ".[]?"
		case s.Optional && out.kind == aValue:
		default:
			out = a.consume(out)
		}
	}
	return out
}

// base returns the output of a term without its suffixes.
func (a *analysis) base(t *gojq.Term, in flow) flow {
	each := func(queries ...*gojq.Query) {
		for _, q := range queries {
			if q != nil {
				a.consume(a.query(q, in))
			}
		}
	}
	switch t.Type {
	case gojq.TermTypeIdentity:
		return in
	case gojq.TermTypeQuery:
		return a.query(t.Query, in)
	case gojq.TermTypeIndex:
		return a.index(in, t.Index, in)
	case gojq.TermTypeFunc:
		return a.call(t, in)
	case gojq.TermTypeArray:
		if t.Array.Query == nil {
			return flow{}
		}
		out := a.query(t.Array.Query, in)
		if out.kind != aStream {
			return a.consume(out)
		}
		return a.list(t, out)
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
	case gojq.TermTypeString:
		each(t.Str.Queries...)
	case gojq.TermTypeObject:
		for _, member := range t.Object.KeyVals {
			a.member(member, in)
		}
	case gojq.TermTypeReduce: // the update is asked of what was made until then
		each(t.Reduce.Query, t.Reduce.Start)
		if slices.ContainsFunc(t.Reduce.Patterns, asks) {
			a.consume(in)
		}
	case gojq.TermTypeForeach:
		each(t.Foreach.Query, t.Foreach.Start)
		if slices.ContainsFunc(t.Foreach.Patterns, asks) {
			a.consume(in)
		}
	case gojq.TermTypeUnary:
		a.consume(a.term(t.Unary.Term, in))
	case gojq.TermTypeIf:
		each(t.If.Cond, t.If.Then, t.If.Else)
		for _, e := range t.If.Elif {
			each(e.Cond, e.Then)
		}
		if t.If.Else == nil {
			a.consume(in)
		}
	case gojq.TermTypeTry:
		each(t.Try.Body)
	case gojq.TermTypeLabel:
		each(t.Label.Body)
	default: // a format, or ..
		a.consume(in)
	}
	return flow{}
}

// member notes what a member of an object that is made looks into.
func (a *analysis) member(m *gojq.ObjectKeyVal, in flow) {
	queries := []*gojq.Query{m.KeyQuery, m.Val}
	if m.KeyString != nil {
		queries = append(queries, m.KeyString.Queries...)
	}
	for _, q := range queries {
		if q != nil {
			a.consume(a.query(q, in))
		}
	}
	switch {
	case m.Val != nil || m.Key != "" && m.Key[0] == '$':
	case m.Key != "":
		a.consume(a.index(in, &gojq.Index{Name: m.Key}, in))
	default: // {"a\(.b)"} is {"a\(.b)": .["a\(.b)"]}
		a.consume(a.index(in, &gojq.Index{Str: m.KeyString}, in))
	}
}

// list returns a stream in an array, which a term makes.
func (a *analysis) list(t *gojq.Term, stream flow) flow {
	stream.kind = aList
	a.offer(stream, noFold, "", replaceTerm(t))
	return stream
}

// replaceTerm returns a function that puts an answer in the place of a term, before its suffixes.
func replaceTerm(t *gojq.Term) func(answer *gojq.Query) {
	return func(answer *gojq.Query) {
		*t = gojq.Term{Type: gojq.TermTypeQuery, Query: answer, SuffixList: t.SuffixList}
	}
}

// index returns the output of indexing a value; in is the input of the queries in the index.
func (a *analysis) index(of flow, i *gojq.Index, in flow) flow {
	key, ok := constant(i)
	if !ok {
		queries := []*gojq.Query{i.Start, i.End}
		if i.Str != nil {
			queries = append(queries, i.Str.Queries...)
		}
		for _, q := range queries {
			if q != nil {
				a.consume(a.query(q, in))
			}
		}
		return a.consume(of)
	}
	switch of.kind {
	case aValue:
		of.at = append(slices.Clip(of.at), key)
		return of
	case aStream:
		part := gojq.Term{Type: gojq.TermTypeIndex, Index: i}
		of.each += "|" + part.String()
		return of
	}
	return a.consume(of)
}

// constant returns the key or the index that an index is, if it is the same for all states:
// .a, ."a", .["a"], .[1].
func constant(i *gojq.Index) (step, bool) {
	text := i.Str
	switch {
	case i.Name != "":
		return step{key: i.Name}, true
	case text == nil && !i.IsSlice && i.Start != nil && i.Start.Term != nil && len(i.Start.Term.SuffixList) == 0:
		if t := i.Start.Term; t.Type == gojq.TermTypeNumber {
			return step{t.Number, true}, indexOf(t.Number) >= 0
		}
		if i.Start.Term.Type == gojq.TermTypeString {
			text = i.Start.Term.Str
		}
	}
	if text == nil || len(text.Queries) > 0 {
		return step{}, false
	}
	return step{key: text.Str}, true
}

// call returns the output of a call of a function. An argument is a query about the input of
// the call, or about what comes of it: where the input is looked into whole, none of
// them adds to that.
func (a *analysis) call(t *gojq.Term, in flow) flow {
	f := t.Func
	name := f.Name + "/" + strconv.Itoa(len(f.Args))
	switch {
	case f.Name[0] == '$', name == "empty/0":
		return flow{}
	case name == "select/1":
		a.consume(a.query(f.Args[0], in))
		return in
	case name == "first/1", name == "last/1", name == "add/1", name == "error/1":
		a.consume(a.query(f.Args[0], in))
		return flow{}
	case name == "any/2", name == "all/2":
		stream := a.query(f.Args[0], in)
		if stream.kind == aStream {
			stream = a.asked(stream, f.Args[1])
		}
		if stream.kind == aStream {
			a.offer(stream, foldOf[f.Name], f.Name+"("+stream.text()+";.)", replaceTerm(t))
		} else {
			a.consume(stream)
		}
		return flow{}
	case name == "isempty/1":
		if stream := a.query(f.Args[0], in); stream.kind == aStream {
			a.offer(stream, foldNone, "isempty("+stream.text()+")", replaceTerm(t))
		} else {
			a.consume(stream)
		}
		return flow{}
	case in.kind != aValue && in.kind != aList:
		return a.consume(in)
	}
	list := in
	if in.kind == aValue {
		list.iter, list.each = ".[]", "."
	}
	switch name {
	case "length/0":
		a.offer(list, foldCount, in.text()+"|length", replaceTerm(t))
		return flow{}
	case "any/0", "all/0", "any/1", "all/1":
		if len(f.Args) == 1 {
			list = a.asked(list, f.Args[0])
		}
		if list.kind != aResult {
			a.offer(list, foldOf[f.Name], in.text()+"|"+f.String(), replaceTerm(t))
		}
		return flow{}
	case "map/1":
		if list = a.asked(list, f.Args[0]); list.kind == aResult {
			return list
		}
		return a.list(t, list)
	}
	return a.consume(in)
}

var foldOf = map[string]foldKind{"any": foldAny, "all": foldAll}
