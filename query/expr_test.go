package query_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/storetest/skip"
)

func TestParseExpr_errors(t *testing.T) {
	for _, test := range []struct {
		text   string
		offset int
		why    string
	}{
		{"", 0, "it is empty"},
		{" # nothing", 0, "it is empty"},
		{".a.b[", 4, "[ is not closed"},
		{`(.a | "x)"`, 0, "( is not closed"},
		{`.a == "b`, 6, "the string has no end"},
		{`.a == "b\(.c"`, 12, "the string has no end"},
		{".a ==", 5, "something is missing at the end"},
		{"if .a then", 10, "something is missing at the end"},
		{".a ) b", 3, `unexpected token ")"`},
		{".a == b c", 8, `unexpected token "c"`},
		{".a == = 1", 6, `unexpected token "="`},
		{".é", 1, "unexpected token"},
		{"{'a': 1}", 1, "unexpected token"},
		{".a | foo", 5, "function not defined: foo/0"},
		{".foo | foo", 7, "function not defined: foo/0"},
		{".a | limit(1)", 5, "function not defined: limit/1"},
		{".a | $x", 5, "variable not defined: $x"},
		{`import "x" as x; .`, 8, "cannot load module"},
		{".a | input", 5, "there is no other input"},
		{"[inputs]", 1, "there is no other input"},
		{"env.HOME", 0, "the environment is no part"},
		{".a == $ENV.HOME", 6, "the environment is no part"},
		{".t < now", 5, "the time"},
	} {
		_, err := query.ParseExpr(test.text)
		var wrong *query.ExprError
		if !errors.As(err, &wrong) || wrong.Offset != test.offset || !strings.Contains(wrong.Why, test.why) {
			t.Errorf("%q: %#v", test.text, err)
		}
	}
	for _, text := range []string{"def now: 5; now", "def env: {}; env", ".now", ".input", `"now"`, "{env: 1}", ". as $ENVIRON | $ENVIRON"} {
		if _, err := query.ParseExpr(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is added or multiplied is as without the bounds, and what would be too large is an
// error.
func TestExpr_sums(t *testing.T) {
	skip.Sequential(t)
	for expr, want := range map[string]string{
		`1 + 2, "a" + "b", [1] + [2], {"a":1} + {"b":2}, null + 1, 1 + null`: `3 "ab" [1,2] {"a":1,"b":2} 1 1`,
		`2 * 3, "ab" * 2, "ab" * 0, {"a":{"b":1}} * {"a":{"c":2}}, 0.5 * 4`:  `6 "abab" "" {"a":{"b":1,"c":2}} 2`,
		`(1, 2) + (10, 20)`:                              `11 12 21 22`,
		`{"a":1,"b":[1,2]} | .a += 1, .b[] *= 2`:         `{"a":2,"b":[1,2]} {"a":1,"b":[2,4]}`,
		`[1,2] | .[0] += (10, 20)`:                       `[11,2] [21,2]`,
		`def f(x): x + 1; f(2) * 2 + 1`:                  `7`,
		`1 as $x | $x + $x * 2`:                          `3`,
		`[.x, .y] | add + 1`:                             `4`,
		`reduce range(5) as $i (0; . + $i)`:              `10`,
		`try (1 + "a") catch .`:                          `"cannot add: number (1) and string (\"a\")"`,
		`9007199254740993 + 1, 99999999999999999999 * 2`: `9007199254740994 199999999999999999998`,
	} {
		if v := valueOf(t, expr); string(v.JSON) != want || v.Turn != query.Passed {
			t.Errorf("%s is %s %s, not %s", expr, v.JSON, v.Why, want)
		}
	}
	for _, expr := range []string{
		`reduce range(1000) as $i ("x"; . + .) | length`,
		`reduce range(1000) as $i ([1]; . + .) | length`,
		`reduce range(1000) as $i ("x"; . * 9) | length`,
		`"x" * 1e9 | length`,
		`1e9 * "x" | length`,
		`reduce range(1000) as $i (10; . * .)`,
		`{"a":"x"} | until(false; .a += .a)`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if v := valueOf(t, expr); v.Turn != query.Fails || !strings.Contains(v.Why, "too large") {
			t.Errorf("%s: %.100s %q", expr, v.JSON, v.Why)
		}
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 { // what an evaluation may hold
			t.Errorf("%s made %d MB", expr, made>>20)
		}
	}
}

func valueOf(t *testing.T, expr string) (value query.Value) {
	t.Helper()
	p := pastOf(`a - {"x":1,"y":2}`)
	for v, err := range query.Open(p, model.NewTimeline(p.headers)).Values(t.Context(), []model.Node{0}, mustParse(t, expr)) {
		if err != nil {
			t.Fatal(err)
		}
		value = v
	}
	return value
}

// An expression that does not end is an error of the state.
func TestExpr_ends(t *testing.T) {
	skip.Sequential(t)
	for _, expr := range []string{"def f: f; f", "def f: [f]; f", "[range(1e12)]", "[limit(1e9; repeat(1))]", "last(range(1e12))", "until(false; .)", "[recurse(.)]"} {
		if v := valueOf(t, expr); v.Turn != query.Fails || v.Why != "it takes too long: does it end?" {
			t.Errorf("%s: %.100s %q", expr, v.JSON, v.Why)
		}
	}
	if v := valueOf(t, "1, halt, 2"); v.Turn != query.Passed || string(v.JSON) != "1" {
		t.Errorf("halt: %+v", v)
	}
	if v := valueOf(t, `"sorry" | halt_error`); v.Turn != query.Fails {
		t.Errorf("halt_error: %+v", v)
	}
}

// A question that is cancelled ends at once, also where gojq is in a call that it does not
// interrupt, and that would take for ever.
func TestFind_endsWithItsContext(t *testing.T) {
	if os.Getenv("HINDCAST_TEST_ALONE") == "" { // the call runs on, and what it allocates would be counted in other tests
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		alone := exec.Command(program, "-test.run=^"+t.Name()+"$")
		alone.Env = append(os.Environ(), "HINDCAST_TEST_ALONE=1")
		if out, err := alone.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	p := pastOf(`a - {}`, `b a {"x":1}`)
	tl := model.NewTimeline(p.headers)
	deep := "reduce range(26) as $i (0; [., .]) | tojson | length" // of a value that holds another many times
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	ended := 0
	for _, err := range query.Open(p, tl).Find(ctx, mustParse(t, deep)) {
		if ended++; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if ended != 1 {
		t.Errorf("it ended %d times", ended)
	}
}
