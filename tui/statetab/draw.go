package statetab

import (
	"hindcast/diff"
	"hindcast/model"
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
		tokens, cursor := p.RowStyle(p.styles, y == at)
		r.Put(tokens.Focus, cursor)
		p.drawMargin(&r, tokens, rows[y])
		if n := rows[y].node; rows[y].line == 0 {
			p.drawValue(&r, tokens, n)
		} else if lines := p.opened[n]; lines != nil {
			p.drawLine(&r, tokens, n, lines[rows[y].line-1])
		} else {
			p.drawRemoved(&r, tokens, n, int(rows[y].line)-1)
		}
		return r.End(tokens.Text)
	case y == len(rows) && p.c.err != nil:
		r.Put(p.styles.Error, "  "+p.c.err.Error())
	case y == len(rows) && !p.c.whole:
		r.Put(p.styles.Muted, "  reading the rest")
	}
	return r.End(p.styles.Text)
}

// drawMargin draws where the value of a row comes from.
func (p *Pane) drawMargin(r *cell.Row, tokens *theme.Tokens, at row) {
	cells := p.marginCells()
	if cells == 0 {
		return
	}
	if at.line == 0 {
		r.Column(tokens.Muted, p.originOf(at.node), cells-1)
	} else {
		r.Fill(tokens.Text, cells-1)
	}
	r.Put(tokens.Border, p.styles.Glyphs.Vertical)
}

// originOf returns where a value comes from, as far as that is known.
func (p *Pane) originOf(n jsontape.Node) string {
	text, met := p.origins[n]
	if met {
		return text
	}
	text, known := p.origin(p.c.tape.Pointer(n))
	if !known {
		return p.styles.Glyphs.Ellipsis
	}
	if len(p.origins) == mostOrigins {
		clear(p.origins)
	}
	p.origins[n] = text
	return text
}

// indentOf returns the cells to the left of the sign of n's fold. Deep values stay
// in the left half.
func (p *Pane) indentOf(n jsontape.Node) int {
	return 2 + min(2*p.c.tape.Depth(n), p.w/2)
}

// signOf returns the sign of a change and its style; a container with changes in
// it has one only while a fold hides them.
func (p *Pane) signOf(tokens *theme.Tokens, n jsontape.Node) (string, theme.Style) {
	g := &p.styles.Glyphs
	at, changed := p.c.changes[n]
	switch {
	case !changed || at.op == diff.Within && !p.isFolded(n):
		return " ", tokens.Text
	case at.op == diff.Added:
		return g.Added, tokens.Added
	case at.op == diff.Respelled:
		return g.Dot, tokens.Muted
	}
	return g.Changed, tokens.Changed
}

// drawValue draws one value: what the step did to it, the sign of its fold, its
// key, and as much of it as fits.
func (p *Pane) drawValue(r *cell.Row, tokens *theme.Tokens, n jsontape.Node) {
	t, g := p.c.tape, &p.styles.Glyphs
	sign, style := p.signOf(tokens, n)
	r.Put(style, sign)
	r.Fill(tokens.Text, p.indentOf(n)-2)
	container := t.First(n) != jsontape.None
	folded := p.isFolded(n)
	switch {
	case folded:
		r.Put(tokens.Punct, g.Closed)
	case p.hasRows(n) || p.opened[n] != nil:
		r.Put(tokens.Punct, g.Open)
	default:
		r.Fill(tokens.Text, 1)
	}
	r.Fill(tokens.Text, 1)
	key, body := tokens.Name, tokens
	if _, found := p.firstMatch(n); found {
		if p.matches.Query.InKey(t, n) {
			key = tokens.Match
		}
		if p.matches.Query.InValue(t, n) {
			body = matchedTokens(tokens)
		}
	}
	if t.Parent(n) != jsontape.None {
		value.Key(r, key, t, n)
		r.Fill(tokens.Text, 2)
	}
	if kind, warned := p.c.warnings[n]; warned {
		r.Put(tokens.Warn, "("+kind.String()+") ")
	}
	switch m := p.messageOf(n); {
	case m >= 0:
		value.Message(r, tokens, p.c.conv, m, g.Arrow)
	case container && n == p.c.conv.List():
		r.Put(tokens.Muted, value.CountOf(t, n, "message"))
	case container && !folded:
		r.Put(tokens.Muted, value.Count(t, n))
	case p.c.changes[n].op == diff.Within || p.c.changes[n].op == diff.Added:
		value.Put(r, body, t, n)
	default:
		p.drawChanged(r, tokens, body, n)
	}
}

// messageOf returns the message that a value of the state is, or -1.
func (p *Pane) messageOf(n jsontape.Node) int {
	if n <= 0 || p.c.tape.Parent(n) != p.c.conv.List() {
		return -1
	}
	return p.c.conv.Find(n)
}

// drawChanged draws a value and, at the end of the row, what it was before.
func (p *Pane) drawChanged(r *cell.Row, tokens, body *theme.Tokens, n jsontape.Node) {
	const was = "  was "
	g, at := &p.styles.Glyphs, p.c.changes[n]
	old := r.Room()/2 - len(was)
	value.PutMost(r, g, body, p.c.tape, n, r.Room()-value.Width(g, p.c.base, at.old, old)-len(was))
	r.Put(tokens.Muted, was)
	if at.op == diff.Moved {
		value.Key(r, tokens.Muted, p.c.base, at.old)
		return
	}
	value.Put(r, mutedTokens(tokens), p.c.base, at.old)
}

// drawRemoved draws what is not in n any more: the i-th, or how many more there
// are.
func (p *Pane) drawRemoved(r *cell.Row, tokens *theme.Tokens, n jsontape.Node, i int) {
	all := p.c.removed[n]
	r.Put(tokens.Removed, p.styles.Glyphs.Removed)
	r.Fill(tokens.Text, min(2*(p.c.tape.Depth(n)+1), p.w/2)+2)
	if i == mostRemoved-1 && len(all) > mostRemoved {
		r.Put(tokens.Muted, p.styles.Glyphs.Sentence("… and ")+model.Count(len(all)-i, "more value"))
		return
	}
	value.Key(r, tokens.Muted, p.c.base, all[i])
	r.Put(tokens.Muted, "  was ")
	value.Put(r, mutedTokens(tokens), p.c.base, all[i])
}

// drawLine draws a line of a string that is opened.
func (p *Pane) drawLine(r *cell.Row, tokens *theme.Tokens, n jsontape.Node, line string) {
	r.Fill(tokens.Text, p.indentOf(n)+1)
	value.Text(r, tokens.String, tokens.Match, line, p.matches.Query)
}

// mutedTokens returns tokens in which a value steps back.
func mutedTokens(tokens *theme.Tokens) *theme.Tokens {
	dim := *tokens
	dim.Name, dim.String, dim.Number, dim.Literal, dim.Punct = tokens.Muted, tokens.Muted, tokens.Muted, tokens.Muted, tokens.Muted
	return &dim
}

// matchedTokens returns tokens in which a value stands out as found.
func matchedTokens(tokens *theme.Tokens) *theme.Tokens {
	found := *tokens
	found.String, found.Number, found.Literal = tokens.Match, tokens.Match, tokens.Match
	return &found
}
