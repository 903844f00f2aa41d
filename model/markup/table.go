package markup

import "strings"

// isTable reports whether the first two lines are a header and the row of dashes below it.
func isTable(lines []string) bool {
	if len(lines) < 2 || strings.IndexByte(lines[0], '|') < 0 {
		return false
	}
	aligns := parseAligns(lines[1])
	return aligns != nil && len(splitCells(lines[0])) == len(aligns)
}

// parseTable returns the table that begins at the first line, and its lines; 0 where there is no table.
func parseTable(lines []string, depth int) (Block, int) {
	if !isTable(lines) {
		return Block{}, 0
	}
	table := Block{Kind: Table, Aligns: parseAligns(lines[1])}
	table.Rows = append(table.Rows, parseRow(lines[0], len(table.Aligns)))
	n := 2
	for n < len(lines) && strings.IndexByte(lines[n], '|') >= 0 && !interrupts(lines[n], depth) {
		table.Rows, n = append(table.Rows, parseRow(lines[n], len(table.Aligns))), n+1
	}
	return table, n
}

// parseAligns returns the columns of a row of dashes, and nil for any other line.
func parseAligns(line string) (aligns []Align) {
	if indent, rest := cutIndent(line); indent > 3 || strings.IndexByte(rest, '|') < 0 || strings.Trim(rest, "|-: \t") != "" {
		return nil
	}
	cells := splitCells(line)
	if len(cells) > maxColumns {
		return nil
	}
	for _, cell := range cells {
		if dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":"); dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil
		}
		align := AnySide
		switch left, right := cell[0] == ':', cell[len(cell)-1] == ':'; {
		case left && right:
			align = Middle
		case left:
			align = LeftSide
		case right:
			align = RightSide
		}
		aligns = append(aligns, align)
	}
	return aligns
}

// parseRow returns the cells of a row; the last of them has the text of all that are too many.
func parseRow(line string, columns int) (row []Cell) {
	cells := splitCells(line)
	if len(cells) > columns {
		cells[columns-1] = strings.Join(cells[columns-1:], " | ")
		cells = cells[:columns]
	}
	for _, cell := range cells {
		row = append(row, parseSpans(cell))
	}
	return row
}

// splitCells returns the texts between the bars of a row.
func splitCells(line string) (cells []string) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cell []byte
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			cell = append(cell, '|')
		case line[i] == '|':
			cells, cell = append(cells, strings.TrimSpace(string(cell))), cell[:0]
		default:
			cell = append(cell, line[i])
		}
	}
	if last := strings.TrimSpace(string(cell)); last != "" || len(cells) == 0 {
		cells = append(cells, last)
	}
	return cells
}
