package kinds_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// operations are the columns of the matrix.
var operations = []string{"restore", "resume", "undo", "redo", "back", "fork", "edit", "cut"}

// matrix is what came of every operation at every position of every SDK. It may be
// written by several tests at once.
type matrix struct {
	mu   sync.Mutex
	rows map[[2]string]*matrixRow // by title and position
}

type matrixRow struct {
	positions int
	cells     map[string]map[string]int // how often, by operation and outcome
}

// What can come of an operation; anything else is the reason of a refusal.
const (
	itsOK   = "ok"
	itsAsks = "asks"
)

func (m *matrix) row(title, stands string) *matrixRow {
	if m.rows == nil {
		m.rows = make(map[[2]string]*matrixRow)
	}
	row := m.rows[[2]string{title, stands}]
	if row == nil {
		row = &matrixRow{cells: make(map[string]map[string]int)}
		m.rows[[2]string{title, stands}] = row
	}
	return row
}

// visit counts a position.
func (m *matrix) visit(title, stands string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.row(title, stands).positions++
}

// note counts what came of an operation.
func (m *matrix) note(title, stands, operation, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row := m.row(title, stands)
	if row.cells[operation] == nil {
		row.cells[operation] = make(map[string]int)
	}
	row.cells[operation][outcome]++
}

// draw returns the matrix as a table, its rows in the order of the titles and the
// stances, with the reasons of refusals below it.
func (m *matrix) draw(titles []string) string {
	table := [][]string{append([]string{"", "positions"}, operations...)}
	var reasons []string
	for _, title := range titles {
		table = append(table, []string{title})
		for _, stands := range stances {
			row := m.rows[[2]string{title, stands}]
			if row == nil {
				continue
			}
			line := []string{"  " + stands, cmp.Or(strings.TrimPrefix(fmt.Sprint(row.positions), "0"), "–")}
			for _, operation := range operations {
				var text string
				text, reasons = cell(row.cells[operation], operation == "resume", reasons)
				line = append(line, text)
			}
			table = append(table, line)
		}
	}
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, text := range line {
			if len(line) > 1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	var b strings.Builder
	for _, line := range table {
		var text string
		for i, words := range line {
			text += words + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(words))+2)
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	if len(reasons) > 0 {
		fmt.Fprintln(&b)
	}
	for i, reason := range reasons {
		fmt.Fprintf(&b, "no %d  %s\n", i+1, reason)
	}
	return b.String()
}

// cell says what came of an operation in one cell. Where all went the same way it
// is one word, and a number where it counts.
func cell(outcomes map[string]int, counted bool, reasons []string) (string, []string) {
	var parts []string
	for _, outcome := range slices.SortedFunc(keys(outcomes), func(a, b string) int {
		return strings.Compare(rank(a), rank(b))
	}) {
		word := outcome
		if outcome != itsOK && outcome != itsAsks {
			i := slices.Index(reasons, outcome)
			if i < 0 {
				reasons = append(reasons, outcome)
				i = len(reasons) - 1
			}
			word = fmt.Sprintf("no %d", i+1)
		}
		if len(outcomes) > 1 || counted {
			word = fmt.Sprintf("%s ×%d", word, outcomes[outcome])
		}
		parts = append(parts, word)
	}
	if len(parts) == 0 {
		return "–", reasons
	}
	return strings.Join(parts, ", "), reasons
}

func keys(counts map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range counts {
			if !yield(key) {
				return
			}
		}
	}
}

// rank puts what went well first.
func rank(outcome string) string {
	switch outcome {
	case itsOK:
		return "0"
	case itsAsks:
		return "1"
	}
	return "2" + outcome
}

var (
	quoted  = regexp.MustCompile(`"[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}`)
	numbers = regexp.MustCompile(`\d+`)
)

// reason returns the words of a refusal without what is different each time.
func reason(said string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(said, "hindcast: "), "\n")
	return numbers.ReplaceAllString(quoted.ReplaceAllString(first, "…"), "N")
}
