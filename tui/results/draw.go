package results

import (
	"strings"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

const (
	// gap is between columns, indent before a hit.
	gap, indent = 2, 4
	// leastWords is the least width of the words of a session beside columns.
	leastWords = 20
	// roleWidth is for who speaks and the tool.
	roleWidth = 16
)

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	at := p.window.Top + y
	if at >= len(p.lines) {
		return r.End(p.styles.Text)
	}
	l := p.lines[at]
	tokens, cursor := &p.styles.Tokens, " "
	if at == p.window.Cursor && l.isSelectable() {
		tokens, cursor = p.styles.Selected, p.styles.Glyphs.Cursor
	}
	r.Put(tokens.Focus, cursor)
	switch l.kind {
	case heading:
		p.putHeading(&r, l.at)
	case findHere:
		r.Put(tokens.Text, " "+p.styles.Glyphs.Into+" find it in "+p.here)
	case title:
		p.putSession(&r, tokens, &p.titles[l.at])
	case moreTitles:
		r.Put(tokens.Muted, " "+p.styles.Glyphs.Closed+" "+countSessions(l.at)+" more with that title")
	case session:
		p.putSession(&r, tokens, &p.groups[l.at].Session)
	case found:
		p.putHit(&r, tokens, &p.groups[l.at].hits[l.hit])
	case moreHits:
		r.Fill(tokens.Text, indent-1)
		r.Put(tokens.Muted, p.styles.Glyphs.Closed+" "+model.Thousands(int64(p.groups[l.at].more))+" more hits in this session")
	}
	return r.End(tokens.Text)
}

// putHeading draws a heading, or the note in the place of hits.
func (p *Pane) putHeading(r *cell.Row, which int) {
	switch {
	case which == headTitles:
		r.Put(p.styles.Title, " titles ")
	case which == headSaid:
		r.Put(p.styles.Title, " said ")
	case p.trouble != "":
		r.Put(p.styles.Error, " "+p.styles.Glyphs.Bad+" "+p.trouble)
	case p.state.Ended:
		r.Put(p.styles.Muted, "  nothing like it was said in "+countSessions(p.state.Done))
	default:
		r.Put(p.styles.Muted, "  searching "+p.styles.Glyphs.Ellipsis)
	}
}

// putSession draws the row of a session.
func (p *Pane) putSession(r *cell.Row, tokens *theme.Tokens, s *Session) {
	r.Fill(tokens.Text, 1)
	put := func(st theme.Style, text string, width int) {
		if width > 0 && r.Room()-width-gap >= leastWords {
			r.Column(st, text, width)
			r.Fill(tokens.Text, gap)
		}
	}
	put(tokens.Time, s.When, p.widths[0])
	put(tokens.Muted, s.Tool, p.widths[1])
	put(tokens.Text, s.Project, min(p.widths[2], p.w/5))
	p.putMarked(r, tokens, tokens.Strong, s.Words)
}

// putMarked draws a text with the words of the search marked.
func (p *Pane) putMarked(r *cell.Row, tokens *theme.Tokens, st theme.Style, text string) {
	for text != "" && r.Room() > 0 {
		from, to := nextWord(text, p.words)
		if to < len(text) {
			r.Reserve()
		}
		r.Put(st, text[:from])
		r.Put(tokens.Match, text[from:to])
		r.Last()
		text = text[to:]
	}
}

// nextWord returns where in a text the first of the words is; the end of the text where none is.
func nextWord(text string, words []string) (from, to int) {
	from, to = len(text), len(text)
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		return from, to
	}
	for _, word := range words {
		if at := strings.Index(lower, word); at >= 0 && word != "" && at < from {
			from, to = at, at+len(word)
		}
	}
	return from, to
}

// putHit draws who speaks, and the words around what was found.
func (p *Pane) putHit(r *cell.Row, tokens *theme.Tokens, h *Hit) {
	g := &p.styles.Glyphs
	r.Fill(tokens.Text, indent-2)
	shape, st := " ", tokens.Text
	if h.Left {
		shape, st = g.Orphaned, tokens.Orphaned
	}
	r.Put(st, shape)
	r.Fill(tokens.Text, 1)
	sign, pick := p.signOf(h.Role)
	who := strings.TrimSpace(sign + " " + h.Role + " " + h.Tool)
	if h.Message < 0 && h.Role == "" {
		who, pick = h.Path, sheet.Muted
	}
	r.Column(pick(tokens), who, min(roleWidth, r.Room()/4))
	r.Fill(tokens.Text, 1)
	before := h.Before
	if most := r.Room() / 3; cell.Width(before) > most {
		before = g.Ellipsis + lastCells(before, max(most-cell.Width(g.Ellipsis), 0))
	}
	r.Reserve()
	r.Put(tokens.Text, before)
	r.Put(tokens.Match, h.Match)
	r.Last()
	r.Put(tokens.Text, h.After)
}

// lastCells returns the end of a text, of at most w cells.
func lastCells(text string, w int) string {
	runes := []rune(text)
	from := max(len(runes)-w, 0)
	for from < len(runes) && cell.Width(string(runes[from:])) > w {
		from++
	}
	return string(runes[from:])
}

// signOf returns the sign of who speaks, and the colour.
func (p *Pane) signOf(role string) (string, sheet.Pick) {
	g := &p.styles.Glyphs
	switch strings.ToLower(role) {
	case "user", "human":
		return g.User, func(t *theme.Tokens) theme.Style { return t.User }
	case "assistant", "model", "ai":
		return g.Assistant, func(t *theme.Tokens) theme.Style { return t.Assistant }
	case "tool", "function":
		return g.Tool, func(t *theme.Tokens) theme.Style { return t.Tool }
	case "system", "developer":
		return g.System, func(t *theme.Tokens) theme.Style { return t.System }
	}
	return "", sheet.Muted
}
