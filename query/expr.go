package query

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/itchyny/gojq"
)

// Expr is an expression of jq about a state. It reads nothing but the state: no file, no
// environment, no clock. It is safe for concurrent use.
type Expr struct {
	text string
	// plain is the expression as it was given, and code what is evaluated where the plan
	// is followed: its folds are variables.
	plain, code *gojq.Code
	plan        plan
	// shown is the expression where all of its outputs are asked for, and not only
	// whether the last one is true.
	shown *Expr
	// time bounds the evaluation on one state.
	time time.Duration
}

// MostTime is how long an expression may be evaluated on one state, unless Within says else.
const MostTime = 30 * time.Second

// Within returns the expression with another bound for the time of an evaluation on one state.
func (x *Expr) Within(d time.Duration) *Expr {
	within, shown := *x, *x.shown
	within.time, shown.time = d, d
	if within.shown = &shown; x.shown == x {
		within.shown = &within
	}
	return &within
}

// String returns the expression as it was given.
func (x *Expr) String() string { return x.text }

// ExprError says that a text is no expression.
type ExprError struct {
	// Text is the text of the expression, and Why describes the mistake in it.
	Text, Why string
	// Offset is the byte of Text at which it goes wrong.
	Offset int
}

// Error returns a message with the text and the mistake.
func (e *ExprError) Error() string {
	return fmt.Sprintf("%.80q is no expression of jq: %s", e.Text, e.Why)
}

// Mistake returns the text, and the byte at which it goes wrong.
func (e *ExprError) Mistake() (text string, offset int) { return e.Text, e.Offset }

// refused are the functions that would read something besides the state.
var refused = map[string]string{
	"input": "there is no other input than the state", "inputs": "there is no other input than the state",
	"env": "the environment is no part of the state", "$ENV": "the environment is no part of the state",
	"now": "an answer may not depend on the time at which it is asked for",
}

// ParseExpr reads an expression of jq, as gojq has them. The error is an *ExprError.
func ParseExpr(text string) (*Expr, error) {
	query, err := gojq.Parse(text)
	switch {
	case err != nil:
		return nil, misread(text, err)
	case query.Term == nil && query.Right == nil:
		return nil, &ExprError{text, "it is empty; . is the whole state", 0}
	}
	own := map[string]bool{}
	walk(query, func(node any) {
		if def, ok := node.(*gojq.FuncDef); ok {
			own[def.Name] = true
		}
	})
	walk(query, func(node any) {
		if f, ok := node.(*gojq.Func); ok && refused[f.Name] != "" && !own[f.Name] && err == nil {
			err = &ExprError{text, f.Name + ": " + refused[f.Name], wordIn(text, f.Name)}
		}
	})
	if err != nil {
		return nil, err
	}
	x := &Expr{text: text, time: MostTime}
	if x.plain, err = compileText(text); err == nil {
		x.plan, err = planOf(query)
	}
	if err == nil {
		x.code, err = compile(query, x.plan.variables()...)
	}
	if err != nil {
		return nil, &ExprError{text, err.Error(), named(text, err.Error())}
	}
	if x.shown = x; x.plan.last() {
		x.shown = &Expr{text: text, time: MostTime, plain: x.plain, code: x.plain, plan: plan{reads: []route{x.plan.folds[0].list}}}
	}
	return x, nil
}

// misread returns the error of a text that the parser does not take.
func misread(text string, err error) error {
	wrong := (*gojq.ParseError)(nil)
	switch {
	case !errors.As(err, &wrong):
		return &ExprError{text, err.Error(), 0}
	case wrong.Token != "": // an invalid byte is told as one of three
		return &ExprError{text, err.Error(), max(0, min(wrong.Offset-len(wrong.Token), len(text)))}
	}
	if at, quote := unclosed(text); at >= 0 {
		why := text[at:at+1] + " is not closed"
		if quote {
			why = "the string has no end"
		}
		return &ExprError{text, why, at}
	}
	return &ExprError{text, "something is missing at the end", len(text)}
}

// unclosed returns the offset of the last unclosed bracket, or of the quote of an unclosed string;
// -1 if everything is closed.
func unclosed(text string) (at int, quote bool) {
	var open []int
	for i := 0; i < len(text); i++ {
		inside := len(open) > 0 && text[open[len(open)-1]] == '"'
		switch c := text[i]; {
		case inside && c == '\\':
			if i++; i < len(text) && text[i] == '(' {
				open = append(open, i)
			}
		case c == '"' && inside, !inside && strings.IndexByte(")]}", c) >= 0 && len(open) > 0:
			open = open[:len(open)-1]
		case c == '"', !inside && strings.IndexByte("([{", c) >= 0:
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return -1, false
	}
	at = open[len(open)-1]
	return at, text[at] == '"'
}

// namePattern is a name of a function, a variable or a label.
var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$?[A-Za-z_][A-Za-z0-9_]*`) })

// named returns where the name that ends an error of the compiler stands in a text; 0 for
// nowhere. The compiler has no places.
func named(text, why string) int {
	if _, name, ok := strings.Cut(why, ": "); ok {
		return wordIn(text, namePattern().FindString(name))
	}
	return 0
}

// wordIn returns where a name stands in a text as a word; 0 for nowhere.
func wordIn(text, name string) int {
	for _, at := range namePattern().FindAllStringIndex(text, -1) {
		if text[at[0]:at[1]] == name && (at[0] == 0 || text[at[0]-1] != '.') {
			return at[0]
		}
	}
	return 0
}

// walk calls each for every node of a gojq tree, children first.
func walk(tree any, each func(node any)) {
	var down func(v reflect.Value)
	down = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return
			}
			down(v.Elem())
			each(v.Interface())
		case reflect.Slice:
			for i := range v.Len() {
				down(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				down(v.Field(i))
			}
		}
	}
	down(reflect.ValueOf(tree))
}

// compile compiles a query, so that what it adds up is bounded. The query may be changed.
func compile(query *gojq.Query, variables ...string) (*gojq.Code, error) {
	walk(query, func(node any) {
		if q, ok := node.(*gojq.Query); ok {
			bound(q)
		}
	})
	return gojq.Compile(query, gojq.WithVariables(variables),
		gojq.WithFunction("_both", 2, 2, both),
		gojq.WithFunction("_answer", 0, 0, func(answer any, _ []any) any { return answer })) // which may be an error
}

// compileText compiles the text of a query.
func compileText(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return compile(query)
}

// bound has both sides of an addition or a multiplication looked at before it is done: of
// all steps of an expression these alone make, at once, something larger than what was there.
//
//	a + b     _both(a; b) | .[0] + .[1]
//	a += b    b as $_both | a |= (_both(.; $_both) | .[0] + .[1])
func bound(q *gojq.Query) {
	var op gojq.Operator
	switch q.Op {
	case gojq.OpAdd, gojq.OpMul:
		op = q.Op
	case gojq.OpUpdateAdd:
		op = gojq.OpAdd
	case gojq.OpUpdateMul:
		op = gojq.OpMul
	default:
		return
	}
	term := func(t gojq.Term) *gojq.Query { return &gojq.Query{Term: &t} }
	call := func(name string, args ...*gojq.Query) *gojq.Query {
		return term(gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}})
	}
	side := func(i string) *gojq.Query {
		at := term(gojq.Term{Type: gojq.TermTypeNumber, Number: i})
		return term(gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Start: at}})
	}
	looked := func(a, b *gojq.Query) *gojq.Query {
		return &gojq.Query{Left: call("_both", a, b), Op: gojq.OpPipe, Right: &gojq.Query{Left: side("0"), Op: op, Right: side("1")}}
	}
	if q.Op == op {
		*q = gojq.Query{Meta: q.Meta, Imports: q.Imports, FuncDefs: q.FuncDefs, Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: looked(q.Left, q.Right)}}
		return
	}
	sum := looked(term(gojq.Term{Type: gojq.TermTypeIdentity}), call("$_both"))
	*q = gojq.Query{
		Meta: q.Meta, Imports: q.Imports, FuncDefs: q.FuncDefs,
		Left: q.Right, Patterns: []*gojq.Pattern{{Name: "$_both"}}, Op: gojq.OpPipe,
		Right: &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: sum},
	}
}

// What an evaluation may make. An expression that runs for ever, or that grows without end,
// is an error of the state that it was evaluated on.
//
// A step of gojq takes 5 to 200 ns and at most 75 bytes that stay, but for calls of its own
// functions: those that make one value of one, such as tojson or join, or that compare, can
// take longer and make more where the value holds one large value many times. They cannot be
// interrupted either: a question that is cancelled, or whose evaluation takes too much time or
// memory, ends at once, and the call when it is done.
const (
	leastSteps   = 5_000_000
	stepsPerByte = 4 // of the state: .. takes less than one
	mostSteps    = 100_000_000
	// mostBytes, mostMembers and mostBits bound what an addition or a multiplication
	// makes. The largest list, and those that it is made of, hold less than mostGrowth.
	mostBytes   = 32 << 20
	mostMembers = 4 << 20
	mostBits    = 1 << 20
)

// errTooLarge is the error of both for values that are too large together.
var errTooLarge = errors.New("it makes a value that is too large")

// both returns its arguments as an array, or an error where to add or multiply them would
// make too much.
func both(_ any, args []any) any {
	size, most := 0, mostMembers
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			if size, most = size+len(v), mostBytes; len(v) > 0 {
				if times, ok := gojq.ToFloat64(args[1-i]); ok && times > float64(mostBytes/len(v)) {
					return errTooLarge
				}
			}
		case []any:
			size += len(v)
		case map[string]any:
			size += len(v)
		case interface{ BitLen() int }: // *big.Int
			size, most = size+v.BitLen(), mostBits
		}
	}
	if size > most {
		return errTooLarge
	}
	return []any{args[0], args[1]}
}

// meter is the context of one evaluation, which gojq asks before each step.
type meter struct {
	context.Context
	left int
	err  error
}

var over = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// stepsAtOnce is after how many steps the question's own context is asked.
const stepsAtOnce = 1 << 6

// Done implements context.Context. It is closed when the steps are used up.
func (m *meter) Done() <-chan struct{} {
	if m.left--; m.left&(stepsAtOnce-1) != 0 {
		return nil
	}
	if m.err = m.Context.Err(); m.err == nil && m.left <= 0 {
		m.err = errEndless
	}
	if m.err != nil {
		return over
	}
	return nil
}

// Err implements context.Context.
func (m *meter) Err() error { return m.err }

var errEndless = errors.New("it takes too long: does it end?")

// mostGrowth bounds the memory that an evaluation on one state holds, and watchEvery is how
// often it is looked at.
const (
	mostGrowth = 256 << 20
	watchEvery = 10 * time.Millisecond
)

// LimitError says that an expression took more time or memory on one state than it may.
type LimitError struct {
	// Time is the bound of time, 0 where it was the memory.
	Time time.Duration
}

func (e *LimitError) Error() string {
	if e.Time > 0 {
		return fmt.Sprintf("the expression ran for more than %v on one state", e.Time)
	}
	return fmt.Sprintf("the expression made more than %d MB of one state", mostGrowth>>20)
}

// evaluator evaluates expressions for one question, in a goroutine of its own: so the
// question ends when its context does, whatever gojq is at, and where a job takes more time or
// memory than it may.
type evaluator struct {
	ctx    context.Context
	cancel context.CancelFunc
	jobs   chan func()
	watch  *time.Ticker
	time   time.Duration
}

// newEvaluator returns an evaluator, and what ends it.
func newEvaluator(ctx context.Context, most time.Duration) (*evaluator, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	e := &evaluator{ctx, cancel, make(chan func()), time.NewTicker(watchEvery), most}
	go func() {
		for {
			select {
			case job := <-e.jobs:
				job()
			case <-ctx.Done():
				return
			}
		}
	}()
	return e, func() {
		e.watch.Stop()
		cancel()
	}
}

// do does a job on a state of some bytes of JSON. It returns the context's error where that ends
// first, and a *LimitError where the job takes too much. The job goes on then: what it works on
// is not for use any more.
func (e *evaluator) do(size int, job func() error) error {
	done, begun, before := make(chan error, 1), time.Now(), readHeap()
	select {
	case e.jobs <- func() { done <- job() }:
	case <-e.ctx.Done():
		return e.ctx.Err()
	}
	for {
		select {
		case err := <-done:
			return err
		case <-e.ctx.Done():
			return e.ctx.Err()
		case now := <-e.watch.C:
			var err error
			switch {
			case now.Sub(begun) > e.time:
				err = &LimitError{e.time}
			case readHeap().grown(before, size):
				err = &LimitError{}
			}
			if err != nil {
				e.cancel()
				return err
			}
		}
	}
}

// heap measures the memory of the program: the bytes alive at the last collection, and all
// bytes allocated and not collected yet.
type heap struct{ live, all uint64 }

func readHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return heap{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// grown reports whether there is more than an evaluation of a state of some bytes may add, beside
// the state decoded. Between collections there may be as much garbage as there is alive.
func (h heap) grown(before heap, size int) bool {
	most := uint64(mostGrowth + decodedBytes*size)
	return h.live > max(before.live, before.all)+most || h.all > 2*(before.all+most)
}

// decodedBytes is how many bytes a byte of JSON takes at most, decoded.
const decodedBytes = 24

// evaluate calls each with the outputs that code has for an input, which size bytes of JSON
// are. wrong is the error of the expression, as gojq has it; err is that of ctx.
func evaluate(ctx context.Context, code *gojq.Code, size int, input any, variables []any, each func(output any)) (wrong, err error) {
	defer func() {
		if r := recover(); r != nil { // what gojq cannot do it does not always return
			wrong = fmt.Errorf("%v", r)
		}
	}()
	m := &meter{Context: ctx, left: min(leastSteps+stepsPerByte*size, mostSteps)}
	outputs := code.RunWithContext(m, input, variables...)
	for {
		output, more := outputs.Next()
		if !more {
			return nil, nil
		}
		if wrong, _ = output.(error); wrong == nil {
			each(output)
			continue
		}
		if halt := (*gojq.HaltError)(nil); errors.As(wrong, &halt) && halt.Value() == nil {
			return nil, nil
		}
		return wrong, ctx.Err()
	}
}

// holds reports whether an output counts as true, as in jq.
func holds(output any) bool { return output != nil && output != false }

// evaluateText is evaluate of a text of JSON. err may be a *jsontape.SyntaxError.
func evaluateText(ctx context.Context, code *gojq.Code, text []byte, each func(output any)) (wrong, err error) {
	input, err := decodeText(text)
	if err != nil {
		return nil, err
	}
	return evaluate(ctx, code, len(text), input, nil, each)
}

// Filter returns a function that reports whether the expression is true of a document of JSON: whether its last output
// is neither null nor false. The error is of an expression that fails or takes too much. The other function ends the
// evaluation.
func (x *Expr) Filter(ctx context.Context) (test func(document []byte) (bool, error), end func()) {
	outputs, end := x.Outputs(ctx)
	return func(document []byte) (bool, error) {
		list, err := outputs(document)
		return err == nil && len(list) > 0 && holds(list[len(list)-1]), err
	}, end
}

// mostOutputs bounds the outputs of Outputs, the last one aside.
const mostOutputs = 1000

// Outputs returns a function that evaluates the expression on a document of JSON, and returns its outputs as package
// encoding/json has values: the first thousand, and the last. The error is of an expression that fails or takes too much.
// The other function ends the evaluation.
func (x *Expr) Outputs(ctx context.Context) (outputs func(document []byte) ([]any, error), end func()) {
	eval, end := newEvaluator(ctx, x.time)
	return func(document []byte) ([]any, error) {
		var wrong error
		var list []any // which a job that is left may still write
		err := eval.do(len(document), func() (err error) {
			var mine []any
			wrong, err = evaluateText(eval.ctx, x.plain, document, func(output any) {
				if len(mine) > mostOutputs {
					mine = mine[:mostOutputs]
				}
				mine = append(mine, output)
			})
			list = mine
			return err
		})
		if err != nil {
			return nil, err
		}
		return list, wrong
	}, end
}
