package query_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

func TestValues(t *testing.T) {
	states := []string{`a - {"x":[{"k":1},{"k":"é"}],"y":2}`, `b a {"x":[{"k":1},{"k":"é"}],"y":2,"z":1}`, `c b ?{"x":5}`, `d c {"x":"`, `e c {"y":3}`}
	for expr, want := range map[string][]string{
		".y":                {"2 yes", "2 yes", "null", "! the state is not JSON", "3 yes"},
		".x":                {`[{"k":1},{"k":"é"}] yes`, `[{"k":1},{"k":"é"}] yes`, "? x: not recorded here (kept once, as of now)", "! the state is not JSON", "null"},
		".x[].k":            {`1 "é" yes`, `1 "é" yes`, "? x: not recorded here (kept once, as of now)", "! the state is not JSON", "! cannot iterate over: null"},
		".x | length":       {"2 yes", "2 yes", "? x: not recorded here (kept once, as of now)", "! the state is not JSON", "0 yes"},
		".y, error(\"no\")": {"2! error: no", "2! error: no", "null! error: no", "! the state is not JSON", "3! error: no"},
		"keys":              {`["x","y"] yes`, `["x","y","z"] yes`, "[] yes", "! the state is not JSON", `["y"] yes`},
		"empty":             {"", "", "", "", ""},
		".y == 2, false":    {"true false", "true false", "false false", "! the state is not JSON", "false false"},
	} {
		p := pastOf(states...)
		q := query.Open(p, model.NewTimeline(p.headers))
		var got []string
		nodes := []model.Node{4, 0, 1, 2, 3} // in any order
		for v, err := range q.Values(t.Context(), nodes, mustParse(t, expr)) {
			if err != nil || v.Visit != nodes[len(got)] {
				t.Fatal(v, err)
			}
			line := string(v.JSON) + map[query.Turn]string{query.Fails: "! ", query.Unknown: "? "}[v.Turn] + v.Why
			if v.Holds && v.Turn == query.Passed {
				line += " yes"
			}
			got = append(got, line)
		}
		if got = append(got[1:], got[0]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, not %q", expr, got, want)
		}
	}
}

// A value is cut however large it is, and no more states are read than asked for.
func TestValues_areShort(t *testing.T) {
	large := strings.Repeat("x", 10_000)
	lines := []string{`v0 - {}`}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf(`v%d v%d {"x":["%s",{"%s":[%d]}]}`, i+1, i, large, large, i))
	}
	p := pastOf(lines...)
	q := query.Open(p, model.NewTimeline(p.headers))
	for v, err := range q.Values(t.Context(), []model.Node{7, 9}, mustParse(t, ".x, .x[0], .x[1]")) {
		if err != nil || !v.Cut || len(v.JSON) != 256 || !strings.HasPrefix(string(v.JSON), `["xxx`) {
			t.Error(v, err)
		}
	}
	if p.read != 2 {
		t.Errorf("%d states were read", p.read)
	}
}
