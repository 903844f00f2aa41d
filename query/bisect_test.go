package query_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/query"
)

func TestBisect(t *testing.T) {
	for _, test := range []struct {
		name      string
		past      []string
		good, bad model.Node
		want      string
	}{
		{"the first bad one", []string{`a - {"x":1}`, `b a {"x":1}`, `c b {"x":0}`, `d c {"x":0}`, `e d {"x":0}`}, 0, 4,
			"#4 bad, #2 bad, #1 good: #2 behind #1"},
		{"the good one's own child", []string{`a - {"x":1}`, `b a {"x":0}`}, 0, 1, "#1 bad: #1 behind #0"},
		{"another branch is not looked at", []string{`a - {"x":1}`, `b a {"x":1}`, `c a {"x":1,"y":1}`, `d c {"x":0}`}, 0, 3,
			"#3 bad, #2 good: #3 behind #2"},
		{"a step is none", []string{`a - {"x":1}`, `b:1 a {"x":0}`, `b b:1 {"x":0,"y":1}`}, 0, 2, "#2 bad: #2 behind #0"},
		{"up to a step", []string{`a - {"x":1}`, `b:1 a {"x":0}`, `b b:1 {"x":1,"y":1}`}, 0, 1, "#1:1 bad: #1:1 behind #0"},
		{"one that cannot be tested", []string{`a - {"x":1}`, `b a {"x":1,"y":1}`, `c b {"x":1,"y":2}`, `d c {"x":"s"}`, `e d {"x":0}`, `f e {"x":0,"y":1}`}, 0, 5,
			`#5 bad, #3 skipped (cannot add: string ("s") and number (1)), #2 good, #4 bad: #4 behind #2, or #3`},
		{"a state that was tested is not tested again", []string{`a - {"x":1}`, `b a {"x":1,"y":1}`, `c b {"x":0}`, `a c {"x":1}`, `c a {"x":0}`, `d c {"x":0,"y":1}`}, 0, 5,
			"#5 bad, #4 bad: #4 behind #3, but #2"},
		{"a good one behind the border", []string{`a - {"x":1}`, `b a {"x":0}`, `c b {"x":0,"y":1}`, `a c {"x":1}`, `d a {"x":1,"y":1}`, `b d {"x":0}`}, 0, 5,
			"#5 bad, #4 good: #5 behind #4, but #1"},
		{"the bad one is good", []string{`a - {"x":0}`, `b a {"x":1}`}, 0, 1, "the test says that the bad snapshot is good"},
		{"the bad one is before", []string{`a - {"x":1}`, `b a {"x":0}`}, 1, 0, "the bad snapshot does not come of the good one, but of #0"},
		{"on another branch", []string{`a - {"x":1}`, `b a {"x":0}`, `c b {"x":0}`, `d b {"x":1}`}, 2, 3, "the bad snapshot does not come of the good one, but of #1"},
		{"of another root", []string{`a - {"x":1}`, `b - {"x":0}`}, 0, 1, "the bad snapshot does not come of the good one"},
		{"the same", []string{`a - {"x":1}`}, 0, 0, "the bad snapshot does not come of the good one, but of #0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pastOf(test.past...)
			tl := model.NewTimeline(p.headers)
			q := query.Open(p, tl)
			var steps []string
			end := ""
			for step, err := range q.Bisect(t.Context(), test.good, test.bad, q.TestOf(mustParse(t, ".x + 1 > 1"))) {
				if err != nil {
					steps, end = nil, err.Error()
					if apart := (*query.NotBehindError)(nil); errors.As(err, &apart) && apart.Branch != model.NoNode {
						end += ", but of " + tl.Name(apart.Branch)
					}
					break
				}
				line := tl.Name(step.Visit) + " " + step.Verdict.String()
				if step.Why != "" {
					line += " (" + step.Why + ")"
				}
				if steps = append(steps, line); step.Left > 0 {
					continue
				}
				end = ": " + tl.Name(step.Bad) + " behind " + tl.Name(step.Good)
				for _, n := range step.Skipped {
					end += ", or " + tl.Name(n)
				}
				if step.Other != model.NoNode {
					end += ", but " + tl.Name(step.Other)
				}
			}
			if got := strings.Join(steps, ", ") + end; got != test.want {
				t.Errorf("%s\nnot\n%s", got, test.want)
			}
		})
	}
}

// However long the line is and wherever the border, it is found in as many tests as halving
// takes, and one for the end.
func TestBisect_halves(t *testing.T) {
	lines := []string{`v0 - {"n":0}`}
	for i := range 300 {
		lines = append(lines, fmt.Sprintf(`v%d v%d {"n":%d}`, i+1, i, i+1))
	}
	p := pastOf(lines...)
	q := query.Open(p, model.NewTimeline(p.headers))
	for _, length := range []int{1, 2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257, 300} {
		for border := 1; border <= length; border += max(1, length/50) {
			var tested []model.Node
			test := func(_ context.Context, n model.Node) (query.Verdict, string, error) {
				if tested = append(tested, n); int(n) < border {
					return query.Good, "", nil
				}
				return query.Bad, "", nil
			}
			var last query.Tested
			for step, err := range q.Bisect(t.Context(), 0, model.Node(length), test) {
				if err != nil {
					t.Fatal(err)
				}
				last = step
			}
			most := bits.Len(uint(length-1)) + 1 // the logarithm of length, rounded up
			if int(last.Bad) != border || int(last.Good) != border-1 || last.Left != 0 || len(tested) > most {
				t.Errorf("%d of %d: %+v after %d tests, and %d should do", border, length, last, len(tested), most)
			}
			if slices.Sort(tested); len(slices.Compact(tested)) != len(tested) {
				t.Errorf("%d of %d: tested twice: %v", border, length, tested)
			}
		}
	}
}

func TestBisect_endsWithTheTest(t *testing.T) {
	p := pastOf(`a - {}`, `b a {"x":1}`, `c b {"x":2}`)
	q := query.Open(p, model.NewTimeline(p.headers))
	broken := errors.New("broken")
	steps := 0
	for _, err := range q.Bisect(t.Context(), 0, 2, func(context.Context, model.Node) (query.Verdict, string, error) { return 0, "", broken }) {
		if steps++; !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range q.Bisect(ctx, 0, 2, q.TestOf(mustParse(t, ".x != 2"))) {
		if steps++; steps == 3 && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
	}
	if steps != 3 {
		t.Errorf("%d steps", steps)
	}
}
