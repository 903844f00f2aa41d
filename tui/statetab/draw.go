package statetab

import (
	"hindcast/model/jsontape"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/value"
)

// AppendRow appends row y of the tab to dst: exactly as many cells as it is
// wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	rows := p.window.Rows()
	switch {
	case p.c == nil && y == 0:
		r.Put(p.styles.Muted, "  no state")
	case p.c == nil || y < 0 || y >= p.window.Height():
	case y < len(rows):
		_, at, _ := p.window.Cursor()
		tokens, cursor := &p.styles.Tokens, " "
		if y == at {
			tokens, cursor = p.focus, p.styles.Glyphs.Cursor
		}
		r.Put(tokens.Focus, cursor)
		if rows[y].line > 0 {
			p.drawLine(&r, tokens, rows[y])
		} else {
			p.drawValue(&r, tokens, rows[y].node)
		}
		return r.End(tokens.Text)
	case y == len(rows) && p.c.err != nil:
		r.Put(p.styles.Error, "  "+p.c.err.Error())
	case y == len(rows) && !p.c.whole:
		r.Put(p.styles.Muted, "  reading the rest")
	}
	return r.End(p.styles.Text)
}

// indent gives the cells to the left of the sign of n's fold. Deep values stay
// in the left half.
func (p *Pane) indent(n jsontape.Node) int {
	return 1 + min(2*p.c.tape.Depth(n), p.w/2)
}

// drawValue draws one value: its sign, its key, and as much of it as fits.
func (p *Pane) drawValue(r *cell.Row, tokens *theme.Tokens, n jsontape.Node) {
	t, g := p.c.tape, &p.styles.Glyphs
	r.Fill(tokens.Text, p.indent(n)-1)
	container := t.First(n) != jsontape.None
	folded := p.folded(n)
	switch {
	case container && folded:
		r.Put(tokens.Punct, g.Closed)
	case container || p.opened[n] != nil:
		r.Put(tokens.Punct, g.Open)
	default:
		r.Fill(tokens.Text, 1)
	}
	r.Fill(tokens.Text, 1)
	key, body := tokens.Name, tokens
	if p.matches.has(n) {
		if p.matches.query.InKey(t, n) {
			key = tokens.Match
		}
		if p.matches.query.InValue(t, n) {
			body = matched(tokens)
		}
	}
	if t.Parent(n) != jsontape.None {
		value.Key(r, key, t, n)
		r.Fill(tokens.Text, 2)
	}
	if kind, warned := p.c.warnings[n]; warned {
		r.Put(tokens.Warn, "("+kind.String()+") ")
	}
	switch {
	case container && !folded:
		r.Put(tokens.Muted, value.Count(t, n))
	case container:
		r.Put(tokens.Muted, value.Count(t, n)+"  ")
		value.Put(r, tokens, t, n)
	default:
		value.Put(r, body, t, n)
	}
}

// drawLine draws a line of a string that is opened.
func (p *Pane) drawLine(r *cell.Row, tokens *theme.Tokens, at row) {
	r.Fill(tokens.Text, p.indent(at.node)+1)
	value.Text(r, tokens.String, tokens.Match, p.opened[at.node][at.line-1], p.matches.query)
}

// matched gives tokens in which a value stands out as found.
func matched(tokens *theme.Tokens) *theme.Tokens {
	found := *tokens
	found.String, found.Number, found.Literal = tokens.Match, tokens.Match, tokens.Match
	return &found
}
