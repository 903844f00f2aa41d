package filechange

import (
	"slices"
	"strings"
)

// How two texts are compared: by lines, with the shortest script of Myers's algorithm, "An O(ND) difference
// algorithm and its variations" (1986). Texts that differ in more than mostEdits lines differ as a whole between the
// lines that they begin and end with alike.

const (
	mostEdits   = 400
	contextSize = 3 // lines that are told around a change
)

// Compare returns the hunks that lead from one text to another.
func Compare(before, after string) []Hunk {
	a, b := splitLines(before), splitLines(after)
	return joinHunks(compareLines(a, b), contextSize)
}

// splitLines returns the lines of a text with their ends.
func splitLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// signed is a line with its sign.
type signed struct {
	sign byte
	text string // with its end
}

// compareLines returns all lines of two texts with their signs.
func compareLines(a, b []string) (script []signed) {
	front := 0
	for front < len(a) && front < len(b) && a[front] == b[front] {
		front++
	}
	back := 0
	for back < len(a)-front && back < len(b)-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	for _, line := range a[:front] {
		script = append(script, signed{' ', line})
	}
	script = append(script, shortestScript(a[front:len(a)-back], b[front:len(b)-back])...)
	for _, line := range a[len(a)-back:] {
		script = append(script, signed{' ', line})
	}
	return script
}

// shortestScript returns the lines of a and b with their signs.
func shortestScript(a, b []string) (script []signed) {
	n, m := len(a), len(b)
	most := min(n+m, mostEdits)
	var trace [][]int
	v := make([]int, 2*most+3)
	at := func(k int) int { return k + most + 1 }
	found := n+m == 0
	for d := 0; d <= most && !found; d++ {
		trace = append(trace, append([]int(nil), v[at(-d)-1:at(d)+2]...))
		for k := -d; k <= d; k += 2 {
			x := v[at(k-1)] + 1
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = v[at(k+1)]
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = x
			if x >= n && x-k >= m {
				found = true
				break
			}
		}
	}
	if !found {
		for _, line := range a {
			script = append(script, signed{'-', line})
		}
		for _, line := range b {
			script = append(script, signed{'+', line})
		}
		return script
	}
	x, y := n, m // backwards
	for d := len(trace) - 1; d >= 0; d-- {
		was := func(k int) int { return trace[d][k+d+1] }
		k := x - y
		from := k - 1
		if k == -d || k != d && was(k-1) < was(k+1) {
			from = k + 1
		}
		px := was(from)
		py := px - from
		for x > px && y > py && x > 0 && y > 0 {
			x, y = x-1, y-1
			script = append(script, signed{' ', a[x]})
		}
		switch {
		case d == 0:
		case x > px:
			x--
			script = append(script, signed{'-', a[x]})
		default:
			y--
			script = append(script, signed{'+', b[y]})
		}
	}
	slices.Reverse(script)
	return script
}

// joinHunks returns the hunks of a script, with at most so many lines around each change.
func joinHunks(script []signed, around int) (hunks []Hunk) {
	old, now := 1, 1
	end := 0 // of the last hunk in the script
	for i := 0; i < len(script); i++ {
		if script[i].sign == ' ' {
			old, now = old+1, now+1
			continue
		}
		from := max(end, i-around)
		last := i // the last change of the hunk
		for j := i; j < len(script) && j-last <= 2*around; j++ {
			if script[j].sign != ' ' {
				last = j
			}
		}
		end = min(len(script), last+around+1)
		h := Hunk{Old: old - (i - from), New: now - (i - from)}
		for _, line := range script[from:end] {
			h.Lines = signLines(h.Lines, string(line.sign), line.text)
		}
		for _, line := range script[i:end] {
			if line.sign != '+' {
				old++
			}
			if line.sign != '-' {
				now++
			}
		}
		hunks, i = append(hunks, h.withPlace()), end-1
	}
	return hunks
}

// withPlace returns the hunk with the numbers that a unified diff has: that of the line before it, for a side
// without lines.
func (h Hunk) withPlace() Hunk {
	before, after := h.Size()
	if before == 0 {
		h.Old--
	}
	if after == 0 {
		h.New--
	}
	return h
}
