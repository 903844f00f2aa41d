package timeline

import (
	"strconv"
	"time"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// columns is how wide each column is; 0 for one that is left out.
type columns struct {
	lanes, index, turn, event, id, clock, delta int
}

// fit shares out the pane's width. The index, the event and the id are always
// there; the rest comes in as there is room for it.
func (p *Pane) fit() columns {
	c := columns{
		lanes: min(p.t.Lanes(), max(1, p.w/8)),
		index: p.c.indexWidth,
		event: p.c.eventWidth,
		id:    4,
	}
	used := 2 + 2*c.lanes + c.index + 2 + c.event + 2 + c.id + 2
	take := func(width *int, w, keep int) {
		if used+w+2+keep <= p.w {
			*width = w
			used += w + 2
		}
	}
	take(&c.turn, len("turn ")+p.c.turnWidth, 0)
	if p.c.timed {
		take(&c.delta, 6, 0)
	}
	const title = 24 // cells that a title should have before the rest grows
	if used+4+title <= p.w {
		c.id, used = 8, used+4
	}
	if p.c.timed {
		take(&c.clock, len("15:04:05"), title)
	}
	return c
}

// AppendRow appends row y of the pane to dst: exactly as many cells as it is
// wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	switch i := p.rows.Top + y; {
	case y >= p.rows.Height:
		p.explain(&r)
	case i >= p.rows.Len:
		if p.t.Len() == 0 && y == 0 {
			r.Put(p.styles.Muted, "  no snapshots yet")
		}
	default:
		return p.drawRow(&r, p.folds.Row(i))
	}
	return r.End(p.styles.Text)
}

// drawRow draws one row of the timeline.
func (p *Pane) drawRow(r *cell.Row, i int) []byte {
	row := p.t.Row(i)
	if row.Kind != model.RowNode {
		r.Fill(p.styles.Text, 2)
		p.gutter(r, p.styles.Orphaned, i)
		p.note(r, row.Kind, i)
		return r.End(p.styles.Text)
	}
	n, tokens := row.Node, &p.styles.Tokens
	if n == p.cursor {
		tokens = p.focus
	}
	g := &p.styles.Glyphs
	if n == p.cursor {
		r.Put(tokens.Focus, g.Cursor)
	} else {
		r.Fill(tokens.Text, 1)
	}
	if n == p.marked {
		r.Put(tokens.Mark, g.Mark)
	} else {
		r.Fill(tokens.Text, 1)
	}
	shape, event, id, clock, text := tokens.Active, tokens.Event, tokens.ID, tokens.Time, tokens.Text
	switch {
	case n == p.t.Head():
		shape = tokens.Head
	case !p.t.OnPath(n):
		shape, event, id, clock, text = tokens.Orphaned, tokens.Orphaned, tokens.Orphaned, tokens.Orphaned, tokens.Orphaned
	}
	h, c := p.t.Header(n), &p.columns
	p.gutter(r, shape, i)
	number := text
	switch {
	case p.matches.has(n) && n == p.cursor:
		number = tokens.MatchOn
	case p.matches.has(n):
		number = tokens.Match
	}
	var buf [64]byte
	if step(h) {
		r.Fill(number, c.index) // the index is its snapshot's, and means that
	} else {
		r.Fill(text, c.index-digits(h.Index))
		r.PutBytes(number, strconv.AppendInt(buf[:0], int64(h.Index), 10))
	}
	if c.turn > 0 {
		r.Fill(text, 2)
		used := r.PutBytes(clock, appendTurn(buf[:0], h, g.Ellipsis))
		r.Fill(text, c.turn-used)
	}
	r.Fill(text, 2)
	r.Column(event, h.EventText(), c.event)
	r.Fill(text, 2)
	r.Column(id, model.ShortID(h.ID, c.id), c.id)
	p.times(r, clock, n)
	p.remarks(r, tokens, n)
	if r.Room() > 6 && h.Title != "" {
		r.Fill(text, 2)
		r.Put(text, h.Title)
	}
	return r.End(text)
}

// appendTurn writes the turn of a snapshot, which may be counted only later.
func appendTurn(dst []byte, h *model.Header, unknown string) []byte {
	dst = append(dst, "turn "...)
	if h.TurnIndex == model.TurnUnknown {
		return append(dst, unknown...)
	}
	return strconv.AppendInt(dst, int64(h.TurnIndex), 10)
}

// gutter draws the lanes of a row.
func (p *Pane) gutter(r *cell.Row, st theme.Style, i int) {
	lanes := p.columns.lanes
	r.Drawn(st, 2*lanes, func(dst []byte) []byte {
		return p.t.AppendGutter(dst, i, lanes, p.styles.Glyphs.Gutter)
	})
}

// note says in a row that only draws what it draws: why the branch below was
// left, or what is wrong with the edge.
func (p *Pane) note(r *cell.Row, kind model.RowKind, i int) {
	below := p.t.Row(i + 1).At
	switch {
	case kind == model.RowBreak && p.c.More:
		r.Put(p.styles.Muted, "earlier snapshots are being read")
	case kind == model.RowBranch && !p.t.OnPath(below):
		r.Fill(p.styles.Text, 2)
		r.Put(p.styles.Muted, p.t.Reason(below).Text(p.hour))
	case kind == model.RowBreak:
		r.Put(p.styles.Warn, "the parent cannot be followed")
	}
}

// times draws when a snapshot was taken, and how long after the one before it
// that shows.
func (p *Pane) times(r *cell.Row, st theme.Style, n model.Node) {
	var buf [32]byte
	at := p.t.Header(n).CreatedAt
	if p.columns.clock > 0 {
		r.Fill(st, 2)
		if at.IsZero() {
			r.Fill(st, p.columns.clock)
		} else {
			r.PutBytes(st, at.In(p.zone).AppendFormat(buf[:0], time.TimeOnly))
		}
	}
	if p.columns.delta == 0 {
		return
	}
	text := buf[:0]
	switch parent := p.before(n); {
	case at.IsZero():
	case parent != model.NoNode && !p.t.Header(parent).CreatedAt.IsZero():
		text = appendDelta(text, at.Sub(p.t.Header(parent).CreatedAt))
	case p.columns.clock == 0:
		text = at.In(p.zone).AppendFormat(text, "15:04")
	}
	r.Fill(st, 2+p.columns.delta-len(text))
	r.PutBytes(st, text)
}

// appendDelta writes a duration in its largest unit: "+40s".
func appendDelta(dst []byte, d time.Duration) []byte {
	sign := byte('+')
	if d < 0 {
		sign, d = '-', -d
	}
	dst = append(dst, sign)
	for _, unit := range []struct {
		from, size time.Duration
		name       string
	}{
		{72 * time.Hour, 24 * time.Hour, "d"},
		{2 * time.Hour, time.Hour, "h"},
		{2 * time.Minute, time.Minute, "m"},
		{time.Second, time.Second, "s"},
		{0, time.Millisecond, "ms"},
	} {
		if d >= unit.from {
			return append(strconv.AppendInt(dst, int64(d/unit.size), 10), unit.name...)
		}
	}
	return dst
}

// hour writes a time of day.
func (p *Pane) hour(t time.Time) string { return t.In(p.zone).Format("15:04") }

// remarks draws the marks of a snapshot, and how much a fold hides below it, and
// how many steps above it.
func (p *Pane) remarks(r *cell.Row, tokens *theme.Tokens, n model.Node) {
	if hidden := p.folds.Hidden(n); hidden > 0 {
		p.closed(r, tokens, strconv.Itoa(hidden)+" hidden")
	}
	if steps := p.folds.Steps(n); steps > 0 {
		text := count(steps, "step")
		if r.Room() < len(text)+4 {
			text = strconv.Itoa(steps)
		}
		p.closed(r, tokens, text)
	}
	special := p.t.Header(n).Marks &^ model.MarkTraced // its shape says that it is a step
	for m := range special.Each() {
		st := tokens.Badge
		if m&(model.MarkDamaged|model.MarkError) != 0 {
			st = tokens.Error
		}
		r.Fill(tokens.Text, 2)
		r.Put(st, m.Word())
	}
}

// closed draws what a fold hides.
func (p *Pane) closed(r *cell.Row, tokens *theme.Tokens, text string) {
	r.Fill(tokens.Text, 2)
	r.Put(tokens.Badge, p.styles.Glyphs.Closed+" "+text)
}

// explain draws the line at the bottom: why the snapshot under the cursor is
// off the path, else what leaves the path there, else its title.
func (p *Pane) explain(r *cell.Row) {
	if p.cursor == model.NoNode {
		return
	}
	n, g := p.cursor, &p.styles.Glyphs
	h := p.t.Header(n)
	r.Fill(p.styles.Text, 1)
	switch {
	case step(h):
		r.Put(p.styles.Reason, "a step of #"+strconv.Itoa(h.Index)+", from its trace")
	case !p.t.OnPath(n):
		p.because(r, "#"+strconv.Itoa(h.Index), n)
	case n == p.t.Head():
		r.Put(p.styles.Head, g.Head+" the framework resumes here")
	case p.t.BranchPoint(n):
		for c := range p.t.Children(n) {
			if !p.t.OnPath(c) {
				p.because(r, "from here: #"+strconv.Itoa(p.t.Header(c).Index), c)
				break
			}
		}
	}
	if h.Title != "" && r.Room() > 6 {
		if r.Room() < p.w-1 {
			r.Put(p.styles.Muted, " "+g.Dot+" ")
		}
		r.Put(p.styles.Muted, h.Title)
	}
}

// because says why a snapshot is off the path.
func (p *Pane) because(r *cell.Row, who string, n model.Node) {
	r.Put(p.styles.Reason, p.styles.Glyphs.Orphaned+" "+who+" "+p.t.Reason(n).Text(p.hour))
}
