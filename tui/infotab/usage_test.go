package infotab

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"hindcast/look"
	"hindcast/query"
	"hindcast/tui/screentest"
)

// The cells of a chart are as many as there is room for, whether there are fewer values or
// more, and show all of the tokens.
func TestCells(t *testing.T) {
	for w := 1; w < 90; w++ {
		for n := 1; n < 90; n++ {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(i + 1)
			}
			got := joinCells(values, w, sum)
			if len(got) > w || len(got) <= w/2 && n >= 1 && len(got) < w-n {
				t.Fatalf("%d values in %d cells take %d", n, w, len(got))
			}
			if all := sum(got) / float64(max(w/min(n, w), 1)); all != sum(values) {
				t.Fatalf("%d values in %d cells are %v in all, not %v", n, w, all, sum(values))
			}
			if at := joinCells(values, w, last); at[len(at)-1] != float64(n) {
				t.Fatalf("the last of %d values in %d cells is %v", n, w, at[len(at)-1])
			}
		}
	}
}

func TestBars(t *testing.T) {
	values := []float64{0, 1, 1000, 500, 250, 0}
	for g, want := range map[*look.Glyphs]string{
		&look.Unicode: "  █   |  █▄  | ▁██▆ ",
		&look.ASCII:   "  #   |  #-  | _##* ",
	} {
		var rows []string
		for row := range chartRows {
			rows = append(rows, drawBars(g, values, row))
		}
		if got := strings.Join(rows, "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		values []float64
		want   string
	}{{[]float64{0, 0}, "  "}, {[]float64{-1, 1}, " █"}, {[]float64{math.Inf(1), 1}, "█▁"}, {[]float64{math.NaN(), 1}, " █"}} {
		if got := drawBars(&look.Unicode, c.values, chartRows-1); got != c.want {
			t.Errorf("%v are drawn as %q, want %q", c.values, got, c.want)
		}
	}
}

// The sums and the charts are drawn as wide as the tab, and a model's name is no more than
// text.
func TestPane_usage(t *testing.T) {
	f := facts(t)
	f.Usage = &Usage{
		Currency: "USD", Unread: 2, At: 0.5,
		Keys: []query.KeySize{
			{Key: "m\x1b[2J", All: 123_456, Distinct: 4567}, {Key: "b", All: 2, Distinct: 2}, {Key: "c"}, {Key: "d"}, {Key: "e"}, {Key: "f"}, {Key: "g"},
		},
		Path: &Path{Sizes: []float64{100, 2000, 4000, 1000}, Tokens: []float64{0, 10, 20_000, 5}},
		Sums: []NamedSum{
			{Name: "here"},
			{Name: "turn 2", Sum: query.Sum{Answers: 1, Input: 20_000, Output: 12, CacheRead: 9, Cost: 0.25, Milliseconds: 1234.5, Calls: 2, Errors: 1}, Models: []string{"m\x1b[2J"}},
			{Name: "session", Sum: query.Sum{Answers: 3, Input: 20_015, Unpriced: 1, Cost: 0.25}},
		},
	}
	for name, w := range map[string]int{"narrow": 40, "wide": 98} {
		t.Run(name, func(t *testing.T) {
			p := show(t, f, w, 60)
			golden.RequireEqual(t, []byte(screentest.Draw(p, 60)))
		})
	}
	f.Usage = &Usage{Unknown: "t adds it up"}
	if got := screentest.Draw(show(t, f, 60, 60), 60); !strings.Contains(got, "t adds it up") {
		t.Errorf("it does not say what to do:\n%s", got)
	}
}
