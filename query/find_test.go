package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/itchyny/gojq"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest"
	"hindcast/store/storetest/skip"
)

// turns returns what was found, a line each: "#3 true".
func turns(t *testing.T, found iter.Seq2[query.Found, error], tl *model.Timeline) (lines []string) {
	t.Helper()
	for f, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		line := map[query.Turn]string{query.TurnsTrue: "true", query.TurnsFalse: "false", query.Fails: "fails: " + f.Why, query.Unknown: "? " + f.Why}[f.Turn]
		if f.OrBefore {
			line += " or before"
		}
		if f.Turn != query.Passed {
			lines = append(lines, tl.Name(f.Visit)+" "+line)
		}
	}
	return lines
}

func mustParse(t *testing.T, text string) *query.Expr {
	t.Helper()
	x, err := query.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		name, expr string
		past       []string
		want       []string
	}{
		{"each branch is compared with its parent", ".x == 1",
			[]string{`a - {"x":0}`, `b a {"x":1}`, `c b {"x":1}`, `d a {"x":2}`, `e a {"x":1}`, `f c {"x":0}`},
			[]string{"#1 true", "#4 true", "#5 false"}},
		{"the same state again is a visit of its own", ".x == 1",
			[]string{`a - {"x":1}`, `b a {"x":2}`, `a b {"x":1}`},
			[]string{"#0 true", "#1 false", "#2 true"}},
		{"a root that is false does not turn", ".x", []string{`a - {"x":false}`, `b a {}`, `c - {"x":null}`, `d c {"x":0}`},
			[]string{"#3 true"}},
		{"the last output counts, and none is false", ".x[]", []string{`a - {"x":[true,false]}`, `b a {"x":[false,1]}`, `c b {"x":[]}`},
			[]string{"#1 true", "#2 false"}},
		{"spelling is nothing", `.x == {"a":1,"é":"é"}`, []string{`a - {"x":{"\u00e9":"\u00e9" ,"a":1.0}}`, `b a {"\u0078":{"a":1e0,"é":"é"}}`},
			[]string{"#0 true"}},
		{"the last of duplicate keys counts", `.x.k == 2`, []string{`a - {"x":{"k":2,"k":1}}`, `b a {"x":{"k":1},"x":{"k":2}}`, `c b {"x":{"k":2},"x":{}}`},
			[]string{"#1 true", "#2 false"}},
		{"an error is neither true nor false", ".x + 1 > 2", []string{`a - {"x":1}`, `b a {"x":"s"}`, `c b {"x":"s","y":1}`, `d c {"x":2}`, `e c {"x":1}`, `f d {"x":[]}`, `g f {"x":2}`},
			[]string{`#1 fails: cannot add: string ("s") and number (1)`, "#3 true or before", `#5 fails: cannot add: array ([]) and number (1)`}},
		{"an error names the value", ".x.y", []string{`a - {"x":5}`, `b a {"x":[1]}`, `c b 5`, `d c []`},
			[]string{"#0 fails: expected an object but got: number (5)", "#1 fails: expected an object but got: array ([1])", "#2 fails: expected an object but got: number (5)", "#3 fails: expected an object but got: array ([])"}},
		{"an index is no key", ".x[0]", []string{`a - {"x":{"0":1}}`, `b a {"x":[1]}`, `c b {"x":[]}`, `d c {}`},
			[]string{`#0 fails: expected an array but got: object ({"0":1})`, "#1 true or before", "#2 false"}},
		{"a key is no index", `.x["0"]`, []string{`a - {"x":[1]}`, `b a {"x":{"0":1}}`},
			[]string{`#0 fails: expected an object but got: array ([1])`, "#1 true or before"}},
		{"null has all keys", ".x.y.z == null", []string{`a - null`, `b a {}`, `c b {"x":null}`, `d c {"x":{"y":{}}}`, `e d {"x":{"y":{"z":1}}}`},
			[]string{"#0 true", "#4 false"}},
		{"a list is asked by element", `any(.x[]; . == "b")`, []string{`a - {"x":["a"]}`, `b a {"x":["a","b"]}`, `c b {"x":["b","a"]}`, `d c {"x":["a"]}`},
			[]string{"#1 true", "#3 false"}},
		{"any ends before an error", `any(.x[]; . > 1 and error("e"))`, []string{`a - {"x":[1]}`, `b a {"x":[1,2]}`},
			[]string{"#1 fails: error: e"}},
		{"any ends at the first", `any(.x[]; if . == 2 then true else .y end)`, []string{`a - {"x":[2,1]}`, `b a {"x":[1,2]}`},
			[]string{"#0 true", "#1 fails: expected an object but got: number (1)"}},
		{"all", `all(.x[]; . > 0)`, []string{`a - {"x":[]}`, `b a {"x":[1,2]}`, `c b {"x":[1,0,2]}`, `d c {"x":[1,2,3]}`},
			[]string{"#0 true", "#2 false", "#3 true"}},
		{"how many", `[.x[] | select(. > 1)] | length > 1`, []string{`a - {"x":[1,2]}`, `b a {"x":[2,1,2]}`, `c b {"x":[3]}`, `d c {}`},
			[]string{"#1 true", "#2 false", "#3 fails: cannot iterate over: null"}},
		{"how long", `.x | length > 1`, []string{`a - {}`, `b a {"x":[1,2]}`, `c b {"x":"ab"}`, `d c {"x":{"a":1}}`, `e d {"x":-2}`, `f e {"x":true}`},
			[]string{"#1 true", "#3 false", "#4 true", "#5 fails: length cannot be applied to: boolean (true)"}},
		{"the last that is selected", `.x[] | select(.a) | .b`, []string{`a - {"x":[{"a":1,"b":true},{"b":false}]}`, `b a {"x":[{"a":1,"b":true},{"a":1,"b":null},{}]}`, `c b {"x":{"k":{"a":1,"b":1}}}`},
			[]string{"#0 true", "#1 false", "#2 true"}},
		{"the whole state", `.. | numbers | . > 2`, []string{`a - {"x":[1]}`, `b a {"x":[1,{"y":3}]}`},
			[]string{"#1 true"}},
		{"not recorded", ".x == 1", []string{`a - {"x":1}`, `b a ?{"x":2}`, `c b {"x":1}`, `d b {"x":0}`},
			[]string{"#0 true", "#1 ? x: not recorded here (kept once, as of now)", "#3 false or before"}},
		{"another key is recorded", ".y == 1", []string{`a - ?{"y":1}`}, []string{"#0 true"}},
		{"of the whole state those keys that are known", "keys == [\"y\"]", []string{`a - ?{"y":1,"x":3}`}, []string{"#0 true"}},
		{"not recorded in the steps of a turn", ".x == 1", []string{`a - {"x":1}`, `b:1 a ?{}`, `b b:1 {"x":1}`, `c:1 b ?{}`},
			[]string{"#0 true", "#3:1 ? x: not recorded here (kept once, as of now)"}},
		{"the parent is missing", ".x == 1", []string{`b gone {"x":1}`, `c b {"x":2}`, `d lost {}`},
			[]string{"#0 true or before", "#1 false"}},
		{"a parent that comes later", ".x == 1", []string{`c b {"x":1}`, `b a {"x":2}`, `a - {"x":1}`},
			[]string{"#0 true", "#1 false", "#2 true"}},
		{"a state that is not JSON", ".x == 1", []string{`a - {"x":1}`, `b a {"x":`, `c b {"x":1}`, `d c nope`},
			[]string{"#0 true", "#1 fails: the state is not JSON", "#3 fails: the state is not JSON"}},
		{"values of Python", ".x | isnan", []string{`a - {"x":NaN}`, `b a {"x":Infinity}`},
			[]string{"#0 true", "#1 false"}},
		{"large numbers are exact", ".x == 9007199254740993", []string{`a - {"x":9007199254740992}`, `b a {"x":9007199254740993}`, `c b {"x":123456789012345678901234567890}`},
			[]string{"#1 true", "#2 false"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pastOf(test.past...)
			tl := model.NewTimeline(p.headers)
			q := query.Open(p, tl)
			x := mustParse(t, test.expr)
			got := turns(t, q.Find(t.Context(), x), tl)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

// oracle evaluates expressions with gojq alone, on states that are decoded by encoding/json.
type oracle struct{ code *gojq.Code }

func oracleOf(t *testing.T, expr string) oracle {
	t.Helper()
	parsed, err := gojq.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return oracle{code}
}

// of returns "true", "false" or the error.
func (o oracle) of(t *testing.T, state string) string {
	t.Helper()
	var input any
	d := json.NewDecoder(strings.NewReader(state))
	d.UseNumber()
	if err := d.Decode(&input); err != nil {
		t.Fatal(err)
	}
	last := "false"
	for outputs := o.code.Run(numbers(input)); ; {
		switch output, more := outputs.Next(); {
		case !more:
			return last
		default:
			if err, ok := output.(error); ok {
				return err.Error()
			}
			last = fmt.Sprint(output != nil && output != false)
		}
	}
}

// numbers returns a value with numbers as gojq calculates them.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.Atoi(v.String()); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

// randomExpr returns an expression; class is 0 for one of paths, 1 for one that asks the
// elements of a list, 2 for any other.
func randomExpr(r *rand.Rand, class int) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	path := func() string {
		return pick(".x", ".x.a", ".x.b", ".x[0]", ".x[1]", `.x["1"]`, ".x.a.b", ".x?", ".x.a?", ".x[0].a", ".y", ".y.z", `.["x"].a`)
	}
	about := func() string {
		return pick(" == 1", " == 2", ` == "é"`, " != null", "", " | length > 1", " | type == \"object\"", " | not", " + 1 > 1", " | tostring | length > 3",
			" // false", " | (. == 1 or . == true)", " | if . then .a? else 1 end", " | try (.a | .b) catch (. | length > 40)", "[]? == 1", " | .. == 1", " | has(\"a\")", " as $v | $v == 1", " | [.[]?] | any", " as [$p] | $p", " == {}", " == {\"a\":1}", " | {a: 1, b: .}.b == 1", " | {a}? | .a == 1", " | \"\\(.)\" | length > 2", " as {a: $v} | $v == 1", " as {(.y?): $v} | $v == 1", " | {\"a\": .} | .a", " | {\"\\(1)\"}? == {}", " | @json \"\\(.)x\" | length > 4", " | @text")
	}
	expr := path() + about()
	switch class {
	case 1:
		list := path()
		each := pick(".", ". == 1", ".a", ".a?", "type == \"string\"", "select(. == 1)", ".a == 1", "select(.a?) | .b?", "length > 1", ".[]?", ".a, .b", "empty", "tostring", "(.a? // 2) == 2")
		expr = pick("any("+list+"[]; "+each+")", "all("+list+"[]; "+each+")", "["+list+"[] | "+each+"] | length > 1", list+" | any("+each+")", list+" | all("+each+")",
			list+" | map("+each+") | length == 2", list+"[] | "+each, list+" | length > 1", "isempty("+list+"[] | "+each+")", list+"[]? | "+each, "["+list+"[]?] | length == 2",
			list+"[].a", "["+list+"[] | "+each+"] | any", "["+list+"[] | "+each+"] | map(. == 1) | all", "first("+list+"[] | "+each+")", "["+list+"[] | "+each+"] | (length > 1 and length < 3)",
			"["+list+"[] | "+each+"] | (length > 1 and .[0] == 1)", list+" | (length > 0 and .[0] == 1)", "try any("+list+"[]; "+each+") catch (length > 30)", "reduce "+list+"[] as $e (0; . + 1) | . > 1",
			list+" | map(select("+each+")) | length as $n | $n > 1", list+"[] as $e | $e | "+each, "reduce "+list+"[] as [$e] (.y?; . // $e)", "foreach "+list+"[]? as $e (0; . + 1; . == 2)", "{a: "+list+"} | [.a[]?] | length > 1", "label $f | "+list+"[] | if . == 1 then true, break $f else false end")
	case 2:
		expr = pick("..", ". | length == 2", "[..] | length > 5", "any(..; . == 1)", "tojson | length > 20", "[paths] | length > 3", "keys == [\"x\"]", "to_entries | length == 2", "del(.x) == {}", ". as $s | $s.x == 1", "def f: .x; f == 1", ".x |= 1 | .x", ". == {\"x\":1}", "getpath([\"x\",\"a\"])", "{x} | .x == 1", "[.[]] | any")
	}
	switch r.IntN(4) {
	case 0:
		expr = "(" + expr + ") and (" + path() + about() + ")"
	case 1:
		expr = "(" + expr + ") // (" + path() + about() + ")"
	}
	return expr
}

// What is found in random sessions is what is found by decoding every state, whatever of an
// expression is asked of paths, of elements, or of the whole state.
func TestFind_isThatOfDecodedStates(t *testing.T) {
	skip.Sequential(t)
	sessions := storetest.Sized(3_000, 10_000)
	if testing.Short() {
		sessions = 1_000
	}
	counts := map[string]int{}
	for seed := range sessions {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		long := seed%8 < 2
		lines := make([]string, 1+r.IntN(20))
		parents := make([]int, len(lines))
		states := make([]string, len(lines))
		for i := range lines {
			if parents[i] = r.IntN(i+1) - 1; r.IntN(3) > 0 {
				parents[i] = i - 1 // longer lines
			}
			if parents[i] >= 0 {
				states[i] = edited(r, states[parents[i]])
			} else {
				states[i] = randomState(r)
			}
			if long { // what is large is shared with the state before
				states[i] = strings.ReplaceAll(states[i], `"]"`, largeString)
			}
			parent := "-"
			if parents[i] >= 0 {
				parent = fmt.Sprint("id", parents[i])
			}
			lines[i] = fmt.Sprintf("id%d %s %s", i, parent, states[i])
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		var from store.Store = p
		if seed%2 == 1 { // which knows what its states share, and has it cut anywhere
			from = strungOf(p, r)
		}
		q := query.Open(from, tl)
		for class := range 3 {
			expr := randomExpr(r, class)
			x := mustParse(t, expr)
			o := oracleOf(t, expr)
			says := make([]string, len(lines))
			known := make([]string, len(lines))
			var want []string
			for i := range lines {
				says[i] = o.of(t, states[i])
				before, unsure, why := "false", false, ""
				if parents[i] >= 0 {
					before, why = known[parents[i]], says[parents[i]]
					unsure = why != "true" && why != "false"
				}
				known[i] = says[i]
				line := tl.Name(model.Node(i)) + " " + says[i]
				switch {
				case says[i] != "true" && says[i] != "false":
					known[i] = before
					if line = tl.Name(model.Node(i)) + " fails: " + says[i]; why == says[i] {
						continue
					}
				case says[i] == before:
					continue
				case unsure:
					line += " or before"
				}
				want = append(want, line)
				counts[strings.Fields(line)[1]]++
			}
			if got := turns(t, q.Find(t.Context(), x), tl); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s:\n%s\nnot\n%s\nin\n%s", seed, expr, strings.Join(got, "\n"), strings.Join(want, "\n"), strings.Join(lines, "\n"))
			}
			tip := model.Node(r.IntN(len(lines)))
			var back []string
			for n := tip; n != model.NoNode; n = tl.Base(n) {
				for _, line := range want {
					if strings.HasPrefix(line, tl.Name(n)+" ") {
						back = append(back, line)
					}
				}
			}
			if got := turns(t, q.FindBack(t.Context(), x, tip), tl); !reflect.DeepEqual(got, back) {
				t.Fatalf("seed %d, %s back from %d:\n%s\nnot\n%s\nin\n%s", seed, expr, tip, strings.Join(got, "\n"), strings.Join(back, "\n"), strings.Join(lines, "\n"))
			}
		}
	}
	for _, word := range []string{"true", "false", "fails:"} {
		if counts[word] < sessions/10 {
			t.Errorf("%d %s in %d sessions", counts[word], word, sessions)
		}
	}
}

// An expression of the whole state is told in the order of the visits; a visit is compared with its parent also
// where that was recorded after it.
func TestFind_ofWholeStatesInOrder(t *testing.T) {
	var lines, want []string
	for i := range 900 {
		parent := fmt.Sprint("v", i-1)
		switch {
		case i == 0:
			parent = "-"
		case i%100 == 50:
			parent = fmt.Sprint("v", i+1)
		case i%100 == 51:
			parent = fmt.Sprint("v", i-2)
		}
		lines = append(lines, fmt.Sprintf(`v%d %s {"n":[%d]}`, i, parent, i))
	}
	p := pastOf(lines...)
	tl := model.NewTimeline(p.headers)
	is := func(n model.Node) bool { return n != model.NoNode && n%7 < 3 }
	for n := range model.Node(tl.Len()) {
		if is(n) != is(tl.Base(n)) {
			want = append(want, fmt.Sprint(tl.Name(n), " ", is(n)))
		}
	}
	x := mustParse(t, `[.. | numbers] | add % 7 < 3`)
	q := query.Open(p, tl)
	if got := turns(t, q.Find(t.Context(), x), tl); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last := model.Node(-1)
	for found, err := range q.Find(ctx, x) {
		if errors.Is(err, context.Canceled) {
			return
		}
		if err != nil || found.Visit <= last {
			t.Fatal(found, last, err)
		}
		if last = found.Visit; last > 300 {
			cancel()
		}
	}
	t.Errorf("the search went on to #%d", last)
}

// A search is left while the expression is at states that take for ever.
func TestFind_isLeftWhileItEvaluates(t *testing.T) {
	p := grown()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := mustParse(t, `. as $s | if [..] | length > 600 then [range(1e9)] | length > 1 else false end`)
	for found, err := range query.Open(p, model.NewTimeline(p.headers)).Find(ctx, x) {
		if errors.Is(err, context.Canceled) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if found.Turn == query.Passed {
			cancel()
		}
	}
	t.Error("it went on to its end")
}

// A number at the end of a piece is not the same element where it goes on in the next.
func TestFind_numbersGoOnInTheNextPiece(t *testing.T) {
	p := pastOf(`a - {"x":[1]}`, `b a {"x":[12]}`, `c a {"x":[2,1]}`, `d c {"x":[2,12]}`)
	s := strungOf(p, rand.New(rand.NewPCG(1, 1)))
	s.text = `{"x":[1]}` + `2]}` + `{"x":[2,` + `1`
	s.runs = map[string][]store.Run{
		"a": {{At: 0, Len: 7}, {At: 7, Len: 2}},
		"b": {{At: 0, Len: 7}, {At: 9, Len: 3}},
		"c": {{At: 12, Len: 9}, {At: 7, Len: 2}},
		"d": {{At: 12, Len: 9}, {At: 9, Len: 3}},
	}
	tl := model.NewTimeline(p.headers)
	want := []string{"#1 true", "#3 true"}
	if got := turns(t, query.Open(s, tl).Find(t.Context(), mustParse(t, "any(.x[]; . == 12)")), tl); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

var largeString = `"]` + strings.Repeat("large ", 1000) + `"`

func randomState(r *rand.Rand) string {
	var text bytes.Buffer
	text.WriteString(`{"x":`)
	writeRandom(&text, r, 3)
	if r.IntN(2) == 0 {
		text.WriteString(`,"y":`)
		writeRandom(&text, r, 2)
	}
	text.WriteString("}")
	return text.String()
}

// edited returns a state that has most of another: of a list at x an element comes, goes, or
// becomes another.
func edited(r *rand.Rand, state string) string {
	var of struct {
		X []json.RawMessage `json:"x"`
		Y json.RawMessage   `json:"y,omitempty"`
	}
	if r.IntN(5) == 0 || json.Unmarshal([]byte(state), &of) != nil || of.X == nil {
		return randomState(r)
	}
	var fresh bytes.Buffer
	writeRandom(&fresh, r, 2)
	i := r.IntN(len(of.X) + 1)
	switch r.IntN(4) {
	case 0:
		of.X = append(of.X, fresh.Bytes())
	case 1:
		of.X = append(of.X[:i:i], append([]json.RawMessage{fresh.Bytes()}, of.X[i:]...)...)
	case 2:
		if i < len(of.X) {
			of.X = append(of.X[:i:i], of.X[i+1:]...)
		}
	}
	var text bytes.Buffer
	text.WriteString(`{"x":[`)
	for i, e := range of.X {
		if i > 0 {
			text.WriteString(",")
		}
		text.Write(e)
	}
	text.WriteString("]")
	if of.Y != nil {
		text.WriteString(`,"y":` + string(of.Y))
	}
	text.WriteString("}")
	return text.String()
}

// What an expression costs goes by what changed, and not by the size of a state: of 500 states
// that add an element each to two thousand, it asks the two thousand once. To ask them of each
// state takes a million evaluations.
func TestFind_looksAtWhatChanged(t *testing.T) {
	skip.Counting(t)
	if testing.Short() {
		t.Skip("it weighs memory, of 500 long states")
	}
	cost := func(elements int, expr string) uint64 {
		list := strings.Repeat(`{"role":"user","text":"the same as ever, but for its place"},`, elements)
		var lines []string
		for i := range 500 {
			list += fmt.Sprintf(`{"role":"user","text":"what was said in turn %d"},`, i)
			line := fmt.Sprintf(`v%d v%d {"turn":%d,"x":[%s],"plan":{"status":"step %d"}}`, i, i-1, i, strings.TrimSuffix(list, ","), i/100)
			if lines = append(lines, line); i == 0 {
				lines[0] = strings.Replace(line, "v-1", "-", 1)
			}
		}
		p := pastOf(lines...)
		q := query.Open(p, model.NewTimeline(p.headers))
		x := mustParse(t, expr)
		seek := func() {
			for _, err := range q.Find(t.Context(), x) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		seek() // which reads the states
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		seek()
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	for _, expr := range []string{
		`.plan.status == "step 3"`,
		`any(.x[]; .text | contains("turn 400"))`,
		`[.x[] | select(.role == "user")] | length > 300`,
		`.x | length > 300`,
		`.x[] | select(.role == "assistant")`,
		`[.x[:1], .turn == 400] | .[1]`,
	} {
		small, large := cost(1, expr), cost(2000, expr)
		if large > small+100_000 {
			t.Errorf("%s: %d allocations of large states, %d of small ones", expr, large, small)
		}
	}
}
