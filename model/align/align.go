// Package align pairs the equal elements of two sequences.
//
// A sequence is one of classes here: two elements have the same class if they are
// equal. Align looks for a large set of equal pairs that do not cross, in time that
// does not explode on any input:
//
//  1. What is equal at the head and at the tail is paired.
//  2. In between, a class that occurs once on either side is an anchor; the
//     longest run of anchors that do not cross is kept (patience). Messages
//     differ, so this nearly always finds everything.
//  3. Between two anchors, heads and tails are paired again, classes that the
//     other side lacks are left out, and Myers' algorithm finds the longest
//     common subsequence of the rest, up to maxEdits edits.
//  4. Beyond that, the first occurrence of a class is paired with the first on
//     the other side, the second with the second and so on, and of these pairs
//     the longest run that does not cross is kept. That may not be the best.
package align

import "slices"

// maxEdits bounds Myers' algorithm, whose time and space grow with the square.
const maxEdits = 1024

// Aligner aligns sequences, one behind the other. The zero Aligner is ready.
type Aligner struct {
	// Coarse is set once step 4 was needed.
	Coarse bool
}

// None marks an element without a partner.
const None = int32(-1)

// Align returns the partner in b of each element of a, or None. Partners have the
// same class and ascend.
func (l *Aligner) Align(a, b []uint64) []int32 {
	match := make([]int32, len(a))
	for i := range match {
		match[i] = None
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		match[head] = int32(head)
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
		match[len(a)-tail] = int32(len(b) - tail)
	}
	endA, endB := len(a)-tail, len(b)-tail
	fromA, fromB := head, head
	for _, p := range anchors(a[head:endA], b[head:endB]) {
		i, j := head+int(p.A), head+int(p.B)
		l.gap(match, a, b, fromA, i, fromB, j)
		match[i] = int32(j)
		fromA, fromB = i+1, j+1
	}
	l.gap(match, a, b, fromA, endA, fromB, endB)
	return match
}

// Pair is a position in one sequence and one in another.
type Pair struct{ A, B int32 }

// anchors returns the pairs of classes that occur once on either side, in order
// and without crossings.
func anchors(a, b []uint64) []Pair {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	const often = -2
	inB := make(map[uint64]int32, len(b))
	for j, class := range b {
		if _, seen := inB[class]; seen {
			inB[class] = often
			continue
		}
		inB[class] = int32(j)
	}
	last := make(map[uint64]int32, len(b))
	var pairs []Pair
	for i, class := range a {
		if j, found := inB[class]; !found || j == often {
			continue
		}
		if k, seen := last[class]; seen {
			if k >= 0 {
				pairs[k].B = often
				last[class] = often
			}
			continue
		}
		last[class] = int32(len(pairs))
		pairs = append(pairs, Pair{int32(i), inB[class]})
	}
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return p.B == often })
	return longestRun(pairs)
}

// longestRun returns the longest subsequence of pairs, which ascend in a, that
// ascends in b as well.
func longestRun(pairs []Pair) []Pair {
	if slices.IsSortedFunc(pairs, func(x, y Pair) int { return int(x.B - y.B) }) {
		return pairs
	}
	// piles[k] is the pair with the least b that ends a run of k+1 pairs.
	var piles []int32
	before := make([]int32, len(pairs))
	for i, p := range pairs {
		k, _ := slices.BinarySearchFunc(piles, p.B, func(top, b int32) int { return int(pairs[top].B - b) })
		before[i] = None
		if k > 0 {
			before[i] = piles[k-1]
		}
		if k == len(piles) {
			piles = append(piles, 0)
		}
		piles[k] = int32(i)
	}
	run := make([]Pair, len(piles))
	for k, i := len(piles)-1, piles[len(piles)-1]; k >= 0; k-- {
		run[k] = pairs[i]
		i = before[i]
	}
	return run
}

// gap aligns a[fromA:endA] with b[fromB:endB] without anchors.
func (l *Aligner) gap(match []int32, a, b []uint64, fromA, endA, fromB, endB int) {
	for fromA < endA && fromB < endB && a[fromA] == b[fromB] {
		match[fromA] = int32(fromB)
		fromA, fromB = fromA+1, fromB+1
	}
	for fromA < endA && fromB < endB && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
		match[endA] = int32(endB)
	}
	if fromA == endA || fromB == endB {
		return
	}
	keptA := sharedPositions(a[fromA:endA], b[fromB:endB], fromA)
	keptB := sharedPositions(b[fromB:endB], a[fromA:endA], fromB)
	if len(keptA) == 0 || len(keptB) == 0 {
		return
	}
	x, y := classesAt(a, keptA), classesAt(b, keptB)
	pairs, found := ShortestEdit(x, y, maxEdits)
	if !found {
		l.Coarse = true
		pairs = occurrences(x, y)
	}
	for _, p := range pairs {
		match[keptA[p.A]] = keptB[p.B]
	}
}

// sharedPositions returns the positions in a, counted from offset, of the classes that b
// has as well.
func sharedPositions(a, b []uint64, offset int) []int32 {
	has := make(map[uint64]bool, len(b))
	for _, class := range b {
		has[class] = true
	}
	var at []int32
	for i, class := range a {
		if has[class] {
			at = append(at, int32(offset+i))
		}
	}
	return at
}

func classesAt(all []uint64, at []int32) []uint64 {
	classes := make([]uint64, len(at))
	for i, p := range at {
		classes[i] = all[p]
	}
	return classes
}

// ShortestEdit returns the longest common subsequence of x and y, which leaves the fewest elements to edit; false where
// that takes more than most edits. Its time and space grow with the square of the edits.
//
// It is Myers' greedy algorithm ("An O(ND) Difference Algorithm and
// Its Variations", 1986): v[k] is how far one gets in x on diagonal k with d
// edits, and the v of every d is kept to walk back from the end.
func ShortestEdit(x, y []uint64, most int) (pairs []Pair, found bool) {
	n, m := len(x), len(y)
	limit := min(n+m, most)
	v := make([]int32, 2*limit+3)
	at := func(k int) *int32 { return &v[k+limit+1] }
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var i int
			if k == -d || k != d && *at(k - 1) < *at(k + 1) {
				i = int(*at(k + 1))
			} else {
				i = int(*at(k - 1)) + 1
			}
			j := i - k
			for i < n && j >= 0 && j < m && x[i] == y[j] {
				i, j = i+1, j+1
			}
			*at(k) = int32(i)
			if i >= n && j >= m {
				return walkBack(x, y, trace, d), true
			}
		}
		trace = append(trace, slices.Clone(v[limit+1-d:limit+2+d]))
	}
	return nil, false
}

// walkBack follows the furthest paths of [ShortestEdit] from the end, d edits
// long. trace[d] holds the diagonals -d to d after d edits.
func walkBack(x, y []uint64, trace [][]int32, d int) []Pair {
	i, j := int32(len(x)), int32(len(y))
	var pairs []Pair
	for ; d >= 0; d-- {
		// Where the last edit started and, after it, the run of equal ones.
		var editI, editJ, runI, runJ int32
		if d > 0 {
			v := trace[d-1]
			k := int(i - j)
			at := func(k int) int32 { return v[k+d-1] }
			if k == -d || k != d && at(k-1) < at(k+1) {
				editI = at(k + 1)
				editJ = editI - int32(k+1)
				runI, runJ = editI, editJ+1
			} else {
				editI = at(k - 1)
				editJ = editI - int32(k-1)
				runI, runJ = editI+1, editJ
			}
		}
		for i > runI && j > runJ {
			i, j = i-1, j-1
			pairs = append(pairs, Pair{i, j})
		}
		i, j = editI, editJ
	}
	slices.Reverse(pairs)
	return pairs
}

// occurrences pairs the k-th occurrence of each class in x with the k-th in y, and returns the longest
// increasing run of pairs.
func occurrences(x, y []uint64) []Pair {
	at := make(map[uint64][]int32)
	for j, class := range y {
		at[class] = append(at[class], int32(j))
	}
	var pairs []Pair
	for i, class := range x {
		if left := at[class]; len(left) > 0 {
			pairs = append(pairs, Pair{int32(i), left[0]})
			at[class] = left[1:]
		}
	}
	return longestRun(pairs)
}
