package infotab

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hindcast/look"
	"hindcast/model"
	"hindcast/query"
	"hindcast/tui/sheet"
)

// Usage is the cost of a session up to now, and its growth. It is read-only.
type Usage struct {
	// Unknown says why there are no sums; "" where there are.
	Unknown string
	// Sums are the sums of the snapshot, its turn, its branch and its session, the smallest first.
	Sums []NamedSum
	// Currency is the currency of prices, "" when it is unknown, and ListDate the month of the list prices.
	Currency, ListDate string
	// Unread counts the states that could not be read; they are not counted.
	Unread int
	// Path is the active path; nil for no chart.
	Path *Path
	// Keys are the keys at the top of the states, the largest first.
	Keys []query.KeySize
	// At is where on it the snapshot is, as a part of 1; negative off the path.
	At float64
}

// NamedSum is a sum and what it is the sum of.
type NamedSum struct {
	Name string
	query.Sum
	// Models are the names of the models that answered; they are untrusted.
	Models []string
}

// Path holds the charts over equal parts of the active path: the size of the state at the end of each part,
// and its tokens.
type Path struct{ Sizes, Tokens []float64 }

// addUsage lists the costs of the snapshot, its turn, its branch and the session.
func (c *Content) addUsage(u *Usage) {
	if u == nil {
		return
	}
	c.AddHeading("Usage")
	if u.Unknown != "" {
		c.Add("tokens", u.Unknown, sheet.Muted)
		return
	}
	all := &u.Sums[len(u.Sums)-1].Sum
	for i := range u.Sums {
		c.addFact(u.Sums[i].Name, u.sumText(&u.Sums[i]))
	}
	switch {
	case all.Answers == 0:
		c.Add("tokens", "no answer tells of any", sheet.Muted)
	case all.Unpriced == all.Answers:
		c.Add("prices", "of no answer known", sheet.Muted)
	default:
		c.Add("prices", "of "+all.PricesText(u.ListDate), sheet.Muted)
	}
	if u.Unread > 0 {
		c.Add("not counted", model.Count(u.Unread, "state")+" that could not be read", sheet.Warn)
	}
	c.addPath(u, all.Answers > 0)
	c.addKeys(u.Keys)
}

// mostKeys is how many keys of all states show.
const mostKeys = 5

// addKeys tells how much of all states is below their keys.
func (c *Content) addKeys(keys []query.KeySize) {
	if len(keys) == 0 {
		return
	}
	c.AddHeading("Keys in all snapshots")
	for i := range keys[:min(len(keys), mostKeys)] {
		c.addFact(formatBytes(keys[i].All), fmt.Sprintf("%s  %s distinct", keys[i].Key, formatBytes(keys[i].Distinct)))
	}
	if more := len(keys) - mostKeys; more > 0 {
		c.Add("", fmt.Sprintf("and %d more", more), sheet.Muted)
	}
}

// addPath charts the active path, with its tokens where answers tell of any.
func (c *Content) addPath(u *Usage, tokens bool) {
	if u.Path == nil || len(u.Path.Sizes) < 2 {
		return
	}
	least, most := u.Path.Sizes[0], u.Path.Sizes[0]
	for _, size := range u.Path.Sizes {
		least, most = min(least, size), max(most, size)
	}
	c.drawChart("size", "of the state on the path: "+formatBytes(int64(least))+" to "+formatBytes(int64(most)), u.Path.Sizes, last, u.At)
	if tokens {
		c.drawChart("tokens", "on the path, where they were used", u.Path.Tokens, sum, u.At)
	}
}

// sumText says a sum in words; what is nothing is left out.
func (u *Usage) sumText(s *NamedSum) string {
	var words []string
	if tokens := s.TokensText(); tokens != "" {
		words = append(words, tokens)
	}
	if cost := s.CostText(u.Currency); cost != "" {
		words = append(words, cost)
	}
	if s.Milliseconds > 0 {
		words = append(words, time.Duration(s.Milliseconds*float64(time.Millisecond)).Round(time.Millisecond).String())
	}
	words = append(words, s.Models...)
	if s.Calls > 0 {
		words = append(words, model.Count(s.Calls, "call"))
	}
	if s.Errors > 0 {
		words = append(words, strconv.Itoa(s.Errors)+" failed")
	}
	return cmp.Or(strings.Join(words, ", "), "nothing")
}

// chartRows is how many rows a chart is high.
const chartRows = 3

// drawChart draws values from left to right in as many cells as there are, above what they are;
// in the row below the cursor's sign stands where the snapshot is.
func (c *Content) drawChart(label, text string, values []float64, join func([]float64) float64, at float64) {
	c.addFact(label, text)
	for row := range chartRows {
		c.Paragraphs = append(c.Paragraphs, sheet.Paragraph{Pick: sheet.Number, Fit: func(g *look.Glyphs, w int) string {
			return drawBars(g, joinCells(values, w, join), row)
		}})
	}
	if at < 0 {
		return
	}
	c.Paragraphs = append(c.Paragraphs, sheet.Paragraph{Pick: sheet.Key, Fit: func(g *look.Glyphs, w int) string {
		n := len(joinCells(values, w, join))
		return strings.Repeat(" ", min(int(at*float64(n)), n-1)) + g.Cursor
	}})
}

// joinCells returns the values for at most w cells: each cell joins equally many of the values. With fewer values
// than cells, each value takes several cells.
func joinCells(values []float64, w int, join func([]float64) float64) []float64 {
	n := max(min(len(values), w), 1)
	wide := max(w/n, 1)
	out := make([]float64, 0, n*wide)
	for i := range n {
		v := join(values[i*len(values)/n : (i+1)*len(values)/n])
		for range wide {
			out = append(out, v)
		}
	}
	return out
}

// last returns the last of some values, sum all of them together.
func last(values []float64) float64 { return values[len(values)-1] }

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

// drawBars draws one row of a chart, the upper one being 0: each value as high as it is beside
// the greatest. One that is not 0 shows.
func drawBars(g *look.Glyphs, values []float64, row int) string {
	most := 0.0
	for _, v := range values {
		if v > most { // and is a number
			most = v
		}
	}
	levels := len(g.Spark)
	var b strings.Builder
	for _, v := range values {
		level := 0
		if part := v / most; v >= most && v > 0 {
			level = chartRows * levels // also where both are infinite
		} else if v > 0 {
			level = max(int(part*float64(chartRows*levels)+0.5), 1)
		}
		switch level -= (chartRows - 1 - row) * levels; {
		case level <= 0:
			b.WriteByte(' ')
		default:
			b.WriteString(g.Spark[min(level, levels)-1])
		}
	}
	return b.String()
}
