package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// names works the names of all headers out as plainly as can be.
func (o *oracle) names() []string {
	type turn struct {
		first, last int
		steps       int
	}
	var turns []turn
	in, step := make([]int, len(o.headers)), make([]int, len(o.headers))
	for i, h := range o.headers {
		p := o.recorded(i)
		at := slices.IndexFunc(turns, func(t turn) bool { return t.last == p })
		if p < 0 || !o.headers[p].Marks.Has(MarkTraced) || o.headers[p].Index != h.Index || at < 0 {
			at = len(turns)
			turns = append(turns, turn{first: i})
		}
		turns[at].last, in[i] = i, at
		if h.Marks.Has(MarkTraced) {
			turns[at].steps++
			step[i] = turns[at].steps
		}
	}
	var names []string
	for i, h := range o.headers {
		nth, all := 0, 0
		for j, turn := range turns {
			if o.headers[turn.first].Index != h.Index {
				continue
			}
			if all++; j <= in[i] {
				nth++
			}
		}
		name := fmt.Sprint("#", h.Index)
		if all > 1 {
			name += fmt.Sprint(".", nth)
		}
		if step[i] > 0 {
			name += fmt.Sprint(":", step[i])
		}
		names = append(names, name)
	}
	return names
}

// recorded returns the parent of a header if it is recorded before it, else -1.
func (o *oracle) recorded(i int) int {
	if p := o.findParent(i); p != NoNode && int(p) < i {
		return int(p)
	}
	return -1
}

// checkNames compares the names of a timeline with plain ones, and finds each
// visit by its name.
func checkNames(t *testing.T, tl *Timeline, names []string) {
	t.Helper()
	seen := make(map[string]bool)
	for i, want := range names {
		n := Node(i)
		if got := tl.Name(n); got != want {
			t.Fatalf("node %d is called %s, not %s", n, got, want)
		}
		if seen[want] {
			t.Fatalf("%s names two visits", want)
		}
		seen[want] = true
		for _, spec := range []string{want, want[1:]} {
			if got, err := tl.Resolve(spec); got != n || err != nil {
				t.Fatalf("%s is node %d, %v; not %d", spec, got, err, n)
			}
		}
	}
}

func TestTimeline_NamesMeanOneVisitWhateverIsWrong(t *testing.T) {
	shared, steps := 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 8))
		headers := randomHeaders(rng)
		names := newOracle(headers).names()
		checkNames(t, NewTimeline(slices.Clone(headers)), names)

		tl, from := NewTimeline(nil), 0
		for from < len(headers) {
			to := from + 1 + rng.IntN(len(headers)-from)
			tl.Append(headers[from:to]...)
			checkNames(t, tl, newOracle(headers[:to]).names())
			from = to
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, headers)
		}
		for _, name := range names {
			if name[len(name)-2] == '.' {
				shared++
			}
			if name[len(name)-2] == ':' {
				steps++
			}
		}
	}
	if shared < 1000 || steps < 1000 {
		t.Errorf("only %d names of shared indexes and %d of steps were tried", shared, steps)
	}
}

func TestTimeline_Name(t *testing.T) {
	for _, test := range []struct {
		name, table string
		want        []string
	}{
		{"one line", "a\nb a\nc b\nd c #9\n", []string{"#0", "#1", "#2", "#9"}},
		{"two branches", "a\nb a\nc b\nd a\ne d\n", []string{"#0", "#1.1", "#2.1", "#1.2", "#2.2"}},
		{"no index", "a\nb a #0\n", []string{"#0.1", "#0.2"}},
		{"before zero", "a - #-1\nb a #-1\nc b #-17\n", []string{"#-1.1", "#-1.2", "#-17"}},
		{"far apart", "a - #4611686018427387904\nb a #-4611686018427387904\nc b #4611686018427387904\n",
			[]string{"#4611686018427387904.1", "#-4611686018427387904", "#4611686018427387904.2"}},
		{"steps", "a\ns a step\nt s step #1\nb t #1\nc b\n", []string{"#0", "#1:1", "#1:2", "#1", "#2"}},
		{"a turn that goes on", "a\ns a step\n", []string{"#0", "#1:1"}},
		{"two turns of an index", "a\ns a step\nb s #1\nt a step\nu t step #1\nc u #1\nd a\n",
			[]string{"#0", "#1.1:1", "#1.1", "#1.2:1", "#1.2:2", "#1.2", "#1.3"}},
		{"a turn without an end", "a\ns a step\nb a\n", []string{"#0", "#1.1:1", "#1.2"}},
		{"two ends of a turn", "a\ns a step\nb s #1\nc s #1\n", []string{"#0", "#1.1:1", "#1.1", "#1.2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			headers, _ := picture{test.name, strings.ReplaceAll(test.table, "\n", " ¦\n")}.read(t)
			checkNames(t, NewTimeline(headers), test.want)
		})
	}
}

// A name that was given stays while the session goes on in one line.
func TestTimeline_NamesStayWhenTheSessionGoesOn(t *testing.T) {
	headers := headersOf(shapes["history"](rand.New(rand.NewPCG(3, 3)), 2000))
	for i := range headers {
		if i%3 == 1 {
			headers[i].Marks = MarkTraced
		}
	}
	tl, last := NewTimeline(nil), ""
	for i, h := range headers {
		tl.Append(h)
		if name := tl.Name(Node(i)); i > 0 && h.Index > headers[i-1].Index && tl.Name(Node(i-1)) != last {
			t.Fatalf("%s became %s when %s came", last, tl.Name(Node(i-1)), name)
		}
		last = tl.Name(Node(i))
	}
}
