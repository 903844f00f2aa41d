package query

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/itchyny/gojq"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// Value is the result of an expression at a visit.
type Value struct {
	Visit model.Node
	// JSON is its outputs, with a space between two. Cut says that it is the beginning.
	JSON []byte
	Cut  bool
	// Holds says that the last output is true, as for Find.
	Holds bool
	// Turn is Passed where the outputs are all that there is, Fails where an error
	// follows them, and Unknown where there are no outputs because the store does not know
	// a value that it needs. Why says it in words, and is untrusted.
	Turn Turn
	Why  string
}

// mostShown bounds the JSON of a Value.
const mostShown = 256

// Values evaluates an expression at some visits, in their order. It reads no more than
// their states. The error ends the sequence; that of an expression, or of one state, is of
// its visit.
func (q *Session) Values(ctx context.Context, nodes []model.Node, x *Expr) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		s, end := q.search(ctx, x.shown)
		defer end()
		if err := s.load(ctx, nodes...); err != nil {
			yield(Value{Visit: model.NoNode}, err)
			return
		}
		var near *reached
		var last Value
		for _, n := range nodes {
			var r *reached // which a job that is left may still write, as v
			var v Value
			err := s.eval.do(s.size(n), func() (err error) {
				r, v, err = s.value(n, near, last)
				return err
			})
			if err != nil {
				yield(Value{Visit: n}, err)
				return
			}
			near, last = r, v
			if last.Visit = n; !yield(last, nil) {
				return
			}
		}
	}
}

// value returns the value at a visit; near is the result at another visit, and last the value
// there.
func (s *search) value(n model.Node, near *reached, last Value) (*reached, Value, error) {
	r, same, err := s.prepare(n, near)
	switch {
	case err != nil:
		return nil, Value{}, err
	case r.unsure:
		return r, Value{Turn: r.turn, Why: r.why}, nil
	case same:
		r.read, r.whole = near.read, near.whole
		return r, last, nil
	}
	var v Value
	show := func(output any) {
		v.Holds = holds(output)
		if v.Cut = v.Cut || len(v.JSON) >= mostShown; v.Cut {
			return
		}
		if len(v.JSON) > 0 {
			v.JSON = append(v.JSON, ' ')
		}
		v.JSON = appendShown(v.JSON, output)
		if v.Cut = len(v.JSON) > mostShown; v.Cut {
			v.JSON = v.JSON[:mostShown]
		}
	}
	wrong, err := s.judge(n, r, near, show)
	if err != nil {
		if r, err = s.damaged(err); err != nil {
			return nil, Value{}, err
		}
		return r, Value{Turn: r.turn, Why: r.why}, nil
	}
	if wrong != nil {
		v.Turn, v.Why = Fails, wrong.Error()
	}
	return r, v, nil
}

// appendShown appends the JSON of an output, at least as much of it as is shown.
func appendShown(dst []byte, output any) []byte {
	switch v := output.(type) {
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if len(dst) > mostShown {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendShown(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if len(dst) > mostShown {
				return dst
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontape.AppendQuoted(dst, key), ':')
			dst = appendShown(dst, v[key])
		}
		return append(dst, '}')
	case string:
		return jsontape.AppendQuoted(dst, v[:min(len(v), mostShown)])
	}
	text, _ := gojq.Marshal(output) // of a number, true, false or null
	return append(dst, text...)
}
