package timeline

import (
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Column is something about each snapshot that the person asked to see in its row. It has
// its title in a row above the others.
type Column struct {
	// Title names it. It is untrusted.
	Title string
	// Width is how many cells it takes. Columns without room are left out, the last first.
	Width int
	// Right says that its texts stand at the right.
	Right bool
	// Text returns the text of a row, which is untrusted; known is false while it is computed. The row is that of
	// n, and last is n too, but for a folded turn its last visit. Each frame calls Text for the rows in sight.
	Text func(n, last model.Node) (text string, known bool)
}

// SetColumns shows other columns than before, none for nil.
func (p *Pane) SetColumns(columns []Column) {
	p.extra = columns
	p.Resize(p.w, p.h)
}

// CountFitting returns how many of the columns have room.
func (p *Pane) CountFitting() (n int) {
	for _, w := range p.columns.extra {
		if w > 0 {
			n++
		}
	}
	return n
}

// InSight returns the snapshots of the rows in sight: of a folded turn the last one.
func (p *Pane) InSight() []model.Node {
	var nodes []model.Node
	for i := p.rows.Top; i < min(p.rows.Top+p.rows.Height, p.rows.Len); i++ {
		if n := p.t.Row(p.folds.Row(i)).Node; n != model.NoNode {
			nodes = append(nodes, p.LastOf(n))
		}
	}
	return nodes
}

// headerRows returns the rows above those of the snapshots.
func (p *Pane) headerRows() int {
	if p.CountFitting() > 0 && p.h > 4 {
		return 1
	}
	return 0
}

// extraWidth returns the number of cells that the columns take, with the gaps between them.
func (c *columns) extraWidth() (cells int) {
	for _, w := range c.extra {
		if w > 0 {
			cells += w + 1
		}
	}
	return cells
}

// drawTitles draws the row of the columns' titles.
func (p *Pane) drawTitles(r *cell.Row) {
	c := &p.columns
	behind := c.extraWidth()
	if c.delta > 0 {
		behind += 1 + deltaWidth + c.edge
	}
	r.Fill(p.styles.Text, r.Room()-behind)
	for i, w := range c.extra {
		if w > 0 {
			r.Fill(p.styles.Text, 1)
			p.drawColumn(r, p.styles.Muted, i, p.extra[i].Title, w)
		}
	}
}

// drawExtras draws the columns of a row; unknown is the style of a text that is not known yet.
func (p *Pane) drawExtras(r *cell.Row, text, unknown theme.Style, n model.Node) {
	for i, w := range p.columns.extra {
		if w == 0 {
			continue
		}
		r.Fill(text, 1)
		if said, known := p.extra[i].Text(n, p.LastOf(n)); known {
			p.drawColumn(r, text, i, said, w)
		} else {
			p.drawColumn(r, unknown, i, p.styles.Glyphs.Ellipsis, w)
		}
	}
}

func (p *Pane) drawColumn(r *cell.Row, st theme.Style, i int, text string, w int) {
	if p.extra[i].Right {
		r.ColumnRight(st, text, w)
	} else {
		r.Column(st, text, w)
	}
}
