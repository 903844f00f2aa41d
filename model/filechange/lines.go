package filechange

import (
	"slices"
	"strings"

	"hindcast/model/align"
)

// How two texts are compared: by lines, with the fewest edits. Texts that differ in more than mostEdits lines differ as a
// whole between the lines that they begin and end with alike.

const (
	mostEdits   = 400
	contextSize = 3 // lines that are told around a change
)

// Compare returns the hunks that lead from one text to another.
func Compare(before, after string) []Hunk {
	return joinHunks(compareLines(splitLines(before), splitLines(after)), contextSize)
}

// splitLines returns the lines of a text with their ends.
func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

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
	endA, endB := len(a)-back, len(b)-back
	numbers := map[string]uint64{} // the same for equal lines
	pairs, _ := align.ShortestEdit(classesOf(numbers, a[front:endA]), classesOf(numbers, b[front:endB]), mostEdits)
	i, j := 0, 0
	advance := func(toA, toB int) {
		for ; i < toA; i++ {
			script = append(script, signed{'-', a[i]})
		}
		for ; j < toB; j++ {
			script = append(script, signed{'+', b[j]})
		}
	}
	keep := func(n int) {
		for ; n > 0; n-- {
			script, i, j = append(script, signed{' ', a[i]}), i+1, j+1
		}
	}
	keep(front)
	for _, p := range pairs {
		advance(front+int(p.A), front+int(p.B))
		keep(1)
	}
	advance(endA, endB)
	keep(back)
	return script
}

// classesOf returns lines as numbers, and adds those of new ones to numbers.
func classesOf(numbers map[string]uint64, lines []string) (list []uint64) {
	for _, line := range lines {
		if _, known := numbers[line]; !known {
			numbers[line] = uint64(len(numbers))
		}
		list = append(list, numbers[line])
	}
	return list
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
