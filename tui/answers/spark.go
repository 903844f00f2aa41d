package answers

import (
	"math"
	"strconv"

	"hindcast/model"
	"hindcast/tui/cell"
)

// A sparkline draws the numbers of a value on the active path, the oldest on the left, between the least and
// the greatest. Where several numbers share a cell, it draws the last of them: the value at that time.

// drawSpark draws the sparkline with the least and the greatest number before and behind it.
func (p *Pane) drawSpark(r *cell.Row) {
	numbers := p.pathNumbers()
	r.Fill(p.styles.Text, 1)
	if len(numbers) == 0 {
		return
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, n := range numbers {
		least, most = min(least, n), max(most, n)
	}
	from, to := formatNumber(least), formatNumber(most)
	r.Put(p.styles.Muted, from+" ")
	bars := p.styles.Glyphs.Spark
	room := r.Room() - cell.Width(to) - 2
	cells := min(len(numbers), room)
	for i := range max(cells, 0) {
		n := numbers[(i+1)*len(numbers)/cells-1]
		level := len(bars) - 1
		if most > least {
			// Halved first: the difference of two finite numbers may be infinite.
			level = int((n/2 - least/2) / (most/2 - least/2) * float64(len(bars)-1))
		}
		r.Put(p.styles.Number, bars[min(max(level, 0), len(bars)-1)])
	}
	r.Put(p.styles.Muted, " "+to)
}

// pathNumbers returns the numbers of the answers on the active path; without any there, the numbers of all
// answers.
func (p *Pane) pathNumbers() []float64 {
	var all, path []float64
	for i := range p.rows {
		a := &p.rows[i]
		if !a.Numeric || math.IsNaN(a.Number) || math.IsInf(a.Number, 0) {
			continue
		}
		all = append(all, a.Number)
		if a.Node != model.NoNode && p.t.OnPath(a.Node) {
			path = append(path, a.Number)
		}
	}
	if len(path) > 0 {
		return path
	}
	return all
}

// formatNumber writes a number as short as it can be read.
func formatNumber(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
