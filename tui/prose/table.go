package prose

import (
	"slices"
	"strings"

	"hindcast/model/markup"
	"hindcast/model/printable"
	"hindcast/tui/cell"
)

// thinnest is the number of cells below which a column that needs more is not cut: the table is stacked.
const thinnest = 8

// gap is how many cells part two columns.
const gap = 3

// layTable lays a table out in columns that fit, with their cells wrapped. Where that leaves too little room, it
// stacks the cells of each row below each other, each behind its heading.
func (l layout) layTable(b *markup.Block, w int) []Line {
	cells := make([][][]Run, len(b.Rows))
	natural := make([]int, len(b.Aligns))
	for i, row := range b.Rows {
		own := Plain
		if i == 0 {
			own = Strong
		}
		for c, spans := range row {
			runs := l.inkSpans(spans, own)
			cells[i] = append(cells[i], runs)
			text := ""
			for _, run := range runs {
				text += run.Text
			}
			natural[c] = max(natural[c], cell.Width(printable.Text(text)))
		}
	}
	widths := fitColumns(natural, w-gap*(len(natural)-1))
	if widths == nil {
		return stackRows(cells, w)
	}
	var lines []Line
	for i, row := range cells {
		lines = append(lines, l.layRow(row, widths, b.Aligns)...)
		if i == 0 {
			lines = append(lines, l.headRule(widths))
		}
	}
	return lines
}

// fitColumns returns the widths of columns that need some cells and have w in all: those that need more than a
// fair share have that. It returns nil where the share is too small.
func fitColumns(natural []int, w int) []int {
	sum := 0
	for _, n := range natural {
		sum += n
	}
	if sum <= w {
		return natural
	}
	sorted := slices.Sorted(slices.Values(natural))
	share := 0
	for i, n := range sorted {
		if share = w / (len(sorted) - i); n > share {
			break
		}
		w -= n
	}
	if share < thinnest {
		return nil
	}
	widths := make([]int, len(natural))
	for i, n := range natural {
		widths[i] = min(n, share)
	}
	return widths
}

// layRow lays the cells of a row out beside each other.
func (l layout) layRow(row [][]Run, widths []int, aligns []markup.Align) []Line {
	columns, height := make([][]Line, len(widths)), 1
	for c, runs := range row {
		columns[c] = wrapRuns(runs, widths[c])
		height = max(height, len(columns[c]))
	}
	lines := make([]Line, height)
	for y := range lines {
		for c, width := range widths {
			if c > 0 {
				lines[y] = append(lines[y], Run{Ink: Punct, Text: " " + l.glyphs.Vertical + " "})
			}
			var part Line
			if y < len(columns[c]) {
				part = columns[c][y]
			}
			left, right := 0, width-cell.Width(part.String())
			switch aligns[c] {
			case markup.RightSide:
				left, right = right, 0
			case markup.Middle:
				left, right = right/2, right-right/2
			}
			lines[y] = append(lines[y], Run{Ink: Plain, Text: strings.Repeat(" ", max(left, 0))})
			lines[y] = append(lines[y], part...)
			lines[y] = append(lines[y], Run{Ink: Plain, Text: strings.Repeat(" ", max(right, 0))})
		}
	}
	return lines
}

// headRule returns the line below the headings.
func (l layout) headRule(widths []int) Line {
	var text strings.Builder
	for c, width := range widths {
		if c > 0 {
			text.WriteString(strings.Repeat(l.glyphs.Horizontal, gap))
		}
		text.WriteString(strings.Repeat(l.glyphs.Horizontal, width))
	}
	return Line{{Ink: Punct, Text: text.String()}}
}

// stackRows lays each row out as lines of a heading and a cell.
func stackRows(cells [][][]Run, w int) (lines []Line) {
	for i, row := range cells {
		if i == 0 && len(cells) > 1 {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, nil)
		}
		for c, runs := range row {
			if i > 0 && c < len(cells[0]) {
				runs = slices.Concat(cells[0][c], []Run{{Ink: Punct, Text: ": "}}, runs)
			}
			lines = append(lines, wrapRuns(runs, w)...)
		}
	}
	return lines
}
