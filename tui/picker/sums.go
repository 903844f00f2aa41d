package picker

import (
	"maps"
	"strings"
	"time"

	"hindcast/tui/cell"
)

// Sum holds the figures of a session and its sub-agents that were read whole.
type Sum struct {
	// Of is the stamp of the rows that were read.
	Of Stamp
	// Turns counts the prompts of the person, in the words of Kind. Left counts the branches off the path, and Failures
	// the steps that failed, and Flags the flags of the active path.
	Turns, Left, Failures, Flags int
	Kind                         string
	// Cost is the price of the answers with a known price, Money its text; "" if no price is known.
	Cost  float64
	Money string
	// Danger is the verdict of the framework on the worst fault of the session; "" for no bad one.
	Danger string
}

// Stamp changes when a session or one of its sub-agents changes.
type Stamp struct {
	updated time.Time
	size    int64
	rows    int
}

// StampOf returns the stamp of a session and its sub-agents.
func StampOf(rows []Row) (s Stamp) {
	for i := range rows {
		s.addRow(&rows[i])
	}
	return s
}

func (s *Stamp) addRow(row *Row) {
	if row.UpdatedAt.After(s.updated) {
		s.updated = row.UpdatedAt
	}
	s.size, s.rows = s.size+row.Size, s.rows+1
}

// stampAt returns the stamp of a row and its folded sub-agents.
func (c *Content) stampAt(i int) (s Stamp) {
	s.addRow(&c.rows[i])
	for _, k := range c.agents[i] {
		s.addRow(&c.rows[k])
	}
	return s
}

// AddSums shows the sums of more sessions. It has the rows in order anew where the order goes by sums. It reports
// whether one of the sessions had a sum before.
func (p *Pane) AddSums(sums map[Name]*Sum) (again bool) {
	for name := range sums {
		again = again || p.sums[name] != nil
	}
	maps.Copy(p.sums, sums)
	for k := range columns {
		if c := &columns[k]; c.sum != nil {
			for _, sum := range sums {
				if text := c.sum(sum); text != "" {
					p.widths[k] = min(max(p.widths[k], cell.Width(p.content.headColumn(k)), cell.Width(text)+1), c.width)
				}
			}
		}
	}
	if orders[p.order].by != nil {
		p.arrange(p.Name())
	}
	return again
}

// LackSums returns up to n sessions whose sums are not known, each with its sub-agents behind it: sessions in sight, and
// behind them all others where the order goes by sums. Where again is set, it also returns sessions that changed since.
func (p *Pane) LackSums(n int, again bool) (sessions [][]Row) {
	c, taken := p.content, map[int]bool{}
	lacks := func(i int) bool {
		if i < 0 || c.rows[i].Err != nil || taken[i] {
			return false
		}
		sum := p.sums[NameOf(&c.rows[i])]
		return sum == nil || again && sum.Of != c.stampAt(i)
	}
	take := func(i int) {
		rows := []Row{c.rows[i]}
		for _, k := range c.agents[i] {
			rows = append(rows, c.rows[k])
		}
		sessions, taken[i] = append(sessions, rows), true
	}
	for _, i := range p.lines[p.window.Top:min(p.window.Top+p.window.Height, len(p.lines))] {
		if len(sessions) < n && lacks(i) {
			take(i)
		}
	}
	if orders[p.order].by == nil {
		return sessions
	}
	for at := p.summed; at < len(p.places) && len(sessions) < n; at++ {
		switch i := p.places[at]; {
		case c.above[i] < 0 && lacks(i):
			take(i)
		case again && at == p.summed:
			p.summed++
		}
	}
	return sessions
}

// SumText returns the known sums of a session in words, and its danger, or "".
func (p *Pane) SumText(row *Row) (sums, danger string) {
	sum := p.sums[NameOf(row)]
	if sum == nil {
		return "", p.dangerOf(row)
	}
	var parts []string
	for _, k := range columns {
		if k.sum == nil {
			continue
		}
		text := k.sum(sum)
		if text != "" && k.words != "" {
			text += " " + k.words
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", "), p.dangerOf(row)
}
