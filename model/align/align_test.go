package align

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fewClasses draws sequences in which most classes occur often.
func fewClasses(t *rapid.T, label string) []uint64 {
	return rapid.SliceOfN(rapid.Uint64Range(0, 4), 0, 30).Draw(t, label)
}

// longestCommon is the length of the longest common subsequence, by the table
// of the textbook.
func longestCommon(x, y []uint64) int {
	row := make([]int, len(y)+1)
	for i := range x {
		diagonal := 0
		for j := range y {
			here := max(row[j], row[j+1])
			if x[i] == y[j] {
				here = diagonal + 1
			}
			diagonal, row[j+1] = row[j+1], here
		}
	}
	return row[len(y)]
}

// failer is a test, or a draw of one.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkPairs(t failer, x, y []uint64, pairs []Pair) {
	t.Helper()
	for k, p := range pairs {
		if x[p.A] != y[p.B] {
			t.Fatalf("%v and %v: pair %v is not equal", x, y, p)
		}
		if k > 0 && (p.A <= pairs[k-1].A || p.B <= pairs[k-1].B) {
			t.Fatalf("%v and %v: pairs cross: %v", x, y, pairs)
		}
	}
}

func TestShortestEdit_findsTheLongestCommonSubsequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := fewClasses(t, "x"), fewClasses(t, "y")
		pairs, found := ShortestEdit(x, y, maxEdits)
		checkPairs(t, x, y, pairs)
		if want := longestCommon(x, y); !found || len(pairs) != want {
			t.Fatalf("%v and %v: %d pairs, want %d", x, y, len(pairs), want)
		}
	})
}

func TestShortestEdit_givesUpBeyondItsBound(t *testing.T) {
	x, y := make([]uint64, maxEdits), make([]uint64, maxEdits)
	for i := range x {
		x[i], y[i] = uint64(i), uint64(i+len(x))
	}
	if _, found := ShortestEdit(x, y, maxEdits); found {
		t.Error("found, with twice as many edits as allowed")
	}
	if _, found := ShortestEdit(x[:maxEdits/2], y[:maxEdits/2], maxEdits); !found {
		t.Error("not found, with as many edits as allowed")
	}
}

func TestLongestRun_isTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.Permutation([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Draw(t, "to")
		pairs := make([]Pair, len(to))
		for i, b := range to {
			pairs[i] = Pair{int32(i), b}
		}
		// The longest increasing subsequence is the longest one that a sequence
		// has in common with its sorted self.
		x, sorted := make([]uint64, len(to)), make([]uint64, len(to))
		for i, b := range to {
			x[i], sorted[i] = uint64(b), uint64(i)
		}
		run := longestRun(pairs)
		for k := 1; k < len(run); k++ {
			if run[k].A <= run[k-1].A || run[k].B <= run[k-1].B {
				t.Fatalf("%v: %v does not ascend", to, run)
			}
		}
		if want := longestCommon(x, sorted); len(run) != want {
			t.Fatalf("%v: run of %d, want %d", to, len(run), want)
		}
	})
}

func checkAlign(t failer, l *Aligner, x, y []uint64) (matched int) {
	t.Helper()
	var pairs []Pair
	for i, j := range l.Align(x, y) {
		if j != None {
			pairs = append(pairs, Pair{int32(i), j})
		}
	}
	checkPairs(t, x, y, pairs)
	return len(pairs)
}

// A class that occurs more than once on either side is no anchor: which of them is meant
// is not known yet.
func TestAnchors_occurOnce(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []uint64
		want []Pair
	}{
		"all once":             {[]uint64{1, 2, 3}, []uint64{1, 2, 3}, []Pair{{0, 0}, {1, 1}, {2, 2}}},
		"twice in the first":   {[]uint64{1, 2, 1}, []uint64{9, 1, 2}, []Pair{{1, 2}}},
		"thrice in the first":  {[]uint64{1, 1, 2, 1}, []uint64{9, 1, 2}, []Pair{{2, 2}}},
		"twice in the second":  {[]uint64{1, 2}, []uint64{1, 1, 2, 9}, []Pair{{1, 2}}},
		"thrice in the second": {[]uint64{1, 2}, []uint64{1, 1, 1, 2}, []Pair{{1, 3}}},
		"twice on either side": {[]uint64{1, 3, 1}, []uint64{1, 1, 3}, []Pair{{1, 2}}},
		"several often":        {[]uint64{1, 2, 1, 2, 3}, []uint64{3, 1, 2}, []Pair{{4, 0}}},
		"of crossing ones one": {[]uint64{1, 2, 3}, []uint64{3, 1, 2}, []Pair{{0, 1}, {1, 2}}},
		"nothing in common":    {[]uint64{1, 2}, []uint64{3, 4}, nil},
	} {
		if got := anchors(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

// Heads and tails between two anchors are paired in turn, the last ones with the last.
func TestAligner_pairsHeadsAndTailsOfAGap(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []uint64
		want []int32
	}{
		"one at the tail":    {[]uint64{1, 100, 5, 7, 101, 2}, []uint64{3, 100, 7, 7, 101, 4}, []int32{None, 1, None, 3, 4, None}},
		"several, and more":  {[]uint64{1, 100, 5, 7, 7, 101, 2}, []uint64{3, 100, 7, 7, 7, 101, 4}, []int32{None, 1, None, 3, 4, 5, None}},
		"one at the head":    {[]uint64{1, 100, 7, 5, 101, 2}, []uint64{3, 100, 7, 7, 101, 4}, []int32{None, 1, 2, None, 4, None}},
		"a head and a tail":  {[]uint64{1, 100, 7, 5, 8, 101, 2}, []uint64{3, 100, 7, 7, 8, 8, 101, 4}, []int32{None, 1, 2, None, 5, 6, None}},
		"less in the second": {[]uint64{1, 100, 7, 7, 7, 101, 2}, []uint64{3, 100, 7, 101, 4}, []int32{None, 1, 2, None, None, 3, None}},
	} {
		var l Aligner
		if got := l.Align(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

func TestAligner_pairsAreEqualAndDoNotCross(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Aligner
		x, y := fewClasses(t, "x"), fewClasses(t, "y")
		checkAlign(t, &l, x, y)
		// With a class that is unlike all others here and there.
		wide := rapid.SliceOfN(rapid.Uint64Range(0, 40), 0, 30)
		checkAlign(t, &l, wide.Draw(t, "wide x"), wide.Draw(t, "wide y"))
		if l.Coarse {
			t.Fatalf("coarse")
		}
	})
}

func TestAligner_isBestWithoutAnchors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Aligner
		x, y := fewClasses(t, "x"), fewClasses(t, "y")
		x, y = append(x, x...), append(y, y...) // no class occurs once
		if got, want := checkAlign(t, &l, x, y), longestCommon(x, y); got != want {
			t.Fatalf("%v and %v: %d pairs, want %d", x, y, got, want)
		}
	})
}

func TestAligner_staysWithinBoundsOnRepetitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := make([]uint64, 100_000), make([]uint64, 100_000)
	for i := range x {
		x[i], y[i] = r.Uint64N(50), r.Uint64N(50)
	}
	var l Aligner
	if got := checkAlign(t, &l, x, y); got < len(x)/50 || !l.Coarse {
		t.Errorf("%d pairs, coarse %v", got, l.Coarse)
	}
}

func TestAligner_keepsWhatIsCommonToLongArrays(t *testing.T) {
	x := make([]uint64, 50_000)
	for i := range x {
		x[i] = uint64(i) * 7
	}
	y := slices.Delete(slices.Insert(slices.Clone(x), 40_000, 1, 2, 3), 100, 200)
	var l Aligner
	if got, want := checkAlign(t, &l, x, y), len(x)-100; got != want || l.Coarse {
		t.Errorf("%d pairs, want %d, coarse %v", got, want, l.Coarse)
	}
}
