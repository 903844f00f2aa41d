package kinds_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// crossing counts by a row and a column, such as a source and a target. Several tests may count at once.
type crossing struct {
	mu    sync.Mutex
	count map[string]map[string]int
}

func newCrossing() *crossing { return &crossing{count: map[string]map[string]int{}} }

func (c *crossing) note(row, column string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count[row] == nil {
		c.count[row] = map[string]int{}
	}
	c.count[row][column] += n
}

// draw returns the table, its rows in order of their names. A dash stands for nothing.
func (c *crossing) draw(columns []string) string {
	rows := slices.Sorted(maps.Keys(c.count))
	wide := 0
	for _, row := range rows {
		wide = max(wide, len(row))
	}
	var b strings.Builder
	line := func(first string, cell func(column string) string) {
		text := fmt.Sprintf("%-*s", wide, first)
		for _, column := range columns {
			text += fmt.Sprintf("  %*s", len(column), cell(column))
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	line("", func(column string) string { return column })
	for _, row := range rows {
		line(row, func(column string) string {
			if n, is := c.count[row][column]; is {
				return strconv.Itoa(n)
			}
			return "-"
		})
	}
	return b.String()
}
