package timeline

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/when"
)

// columns holds the width of each column; 0 means that it is left out. The title takes the rest.
type columns struct {
	lanes, index, suffix, event, marks, id, clock, delta int
	edge                                                 int // between the last column and the border
	extra                                                []int
}

// The cells that a title keeps: least before any column comes in that the row can
// do without, share before the columns come in that repeat what the Info tab shows. A long
// word of an event comes before these, and leaves the titles what they need of least.
const (
	least = 28
	share = 36
)

// fitColumns shares out the pane's width. The title comes first: lanes, name and event
// are always there, and every other column has to leave the title its cells.
func (p *Pane) fitColumns() columns {
	c := columns{index: p.c.indexWidth, suffix: p.c.suffixWidth, event: min(p.c.eventWidth, events), marks: p.c.signs}
	if len(p.faulty) > 0 {
		c.marks = 1
	}
	title := p.w - 2 - c.index - c.suffix - 1 - c.event - 1
	if c.marks > 0 {
		title -= c.marks + 1
	}
	take := func(width *int, w, keep int) {
		if title-w-1 >= keep {
			*width = w
			title -= w + 1
		}
	}
	// Deep lanes are cut in the middle, see Timeline.AppendGutter.
	lanes := min(p.t.Lanes(), max(1, p.w/8))
	delta := 0
	if p.c.timed {
		delta = deltaWidth + 1
	}
	c.extra = make([]int, len(p.extra))
	for i := range p.extra {
		take(&c.extra[i], p.extra[i].Width, slim)
	}
	c.lanes = max(min(lanes, 2), min(lanes, few, (title-least)/2), min(lanes, (title-delta-least)/2))
	title -= 2 * c.lanes
	if p.c.timed {
		take(&c.delta, deltaWidth, least)
	}
	if more := min(lanes-c.lanes, (title-least)/2); c.delta == 0 && more > 0 {
		c.lanes += more // the time left them nothing, and has no room itself
		title -= 2 * more
	}
	longer := max(0, min(p.c.eventWidth-c.event, title-p.c.titleWidth))
	c.event += longer
	title -= longer
	take(&c.id, idWidth, share)
	if p.c.timed {
		take(&c.clock, len(time.TimeOnly), share)
	}
	if title > least {
		c.edge = 1
	}
	return c
}

// slim is the number of cells that a title keeps beside the columns that the person asked for. few is the
// number of lanes that come before the time between two rows.
const (
	slim = 12
	few  = 3
)

const (
	deltaWidth = len("+24s")
	idWidth    = 8
)

// AppendRow appends row y of the pane to dst: exactly as many cells as it is
// wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	y -= p.headerRows()
	switch i := p.rows.Top + y; {
	case y < 0:
		p.drawTitles(&r)
	case y >= p.rows.Height:
		p.drawExplanation(&r)
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
		p.drawGutter(r, p.styles.Orphaned, i, model.Plain)
		p.drawNote(r, row.Kind, i)
		return r.End(p.styles.Text)
	}
	n, g := row.Node, &p.styles.Glyphs
	tokens, sign := p.RowStyle(p.styles, n == p.cursor)
	if n == p.cursor {
		r.Put(tokens.Focus, sign)
	} else {
		r.Fill(tokens.Text, 1)
	}
	if p.marked != model.NoNode && n == p.rowNode(p.marked) {
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
	turn, opens := p.c.Turns.TurnFrom(n)
	folded := opens && turn.HidesRows() && p.folds.HasFold(n)
	p.drawGutter(r, shape, i, p.shapeOf(n))
	number := text
	switch found := p.matches.has(n) || folded && p.holds(turn, p.matches.nodes) > 0; {
	case found && n == p.cursor:
		number = tokens.MatchOn
	case found:
		number = tokens.Match
	}
	p.drawName(r, text, number, n)
	before := p.nodeBefore(n)
	r.Fill(text, 1)
	r.Column(event, h.EventWord(), c.event)
	r.Fill(text, 1)
	if c.id > 0 {
		r.Column(id, model.ShortID(h.ID, c.id), c.id)
		r.Fill(text, 1)
	}
	if c.clock > 0 {
		p.drawClock(r, clock, h.CreatedAt)
	}
	p.drawRemarks(r, tokens, n)
	p.drawLabels(r, tokens.Badge, n)
	room := r.Room() - c.extraWidth()
	asked, right := c.extraWidth() > 0, 0
	if c.delta > 0 {
		right = 1 + deltaWidth + c.edge
	}
	var sums, end []byte // sums stand before the columns that the person asked for, else at the end
	if opens && turn.HidesRows() {
		beside := c.edge
		if asked {
			beside = right
		}
		sums = p.appendSums(p.scratch[:0], turn, folded, room-beside)
	}
	switch {
	case len(sums) == 0:
		if room -= right; c.delta > 0 {
			end = p.appendDelta(p.scratch[:0], n, before)
		}
	case asked:
		room -= 1 + cell.Width(string(sums)) + right
	default:
		sums, end = nil, sums
		room -= 1 + cell.Width(string(end)) + c.edge
	}
	if opens && p.c.Turns.HasPrompts() && text == tokens.Text {
		text = tokens.Strong
	}
	if n == p.cursor {
		p.whole = titleFits(h.Title, room)
	}
	drawTitle(r, text, h.Title, room, g.Ellipsis)
	if len(sums) > 0 {
		r.Fill(text, 1)
		r.PutBytes(clock, sums)
	}
	p.drawExtras(r, text, clock, n)
	if len(end) > 0 {
		r.Fill(text, r.Room()-cell.Width(string(end))-c.edge)
		r.PutBytes(clock, end)
	}
	return r.End(text)
}

// drawTitle draws a title. Where it does not fit, what follows the first call keeps up to half of the cells: its outcome
// and the other calls, or the session that the row started. The path of the call gives way first.
func drawTitle(r *cell.Row, st theme.Style, title string, room int, ellipsis string) {
	act, rest := splitAct(title)
	if act == "" || room < 2*slim || titleFits(title, room) {
		r.Column(st, title, room)
		return
	}
	before := room - min(cell.Width(rest), room/2)
	act = shortenPath(act, before, ellipsis)
	before = min(before, cell.Width(act))
	r.Column(st, act, before)
	r.Column(st, rest, room-before)
}

// splitAct splits the title of a row into its first call and what follows that. act is "" where the row tells no call.
func splitAct(title string) (act, rest string) {
	at := strings.Index(title, model.BeforeOutcome)
	if at < 0 {
		at = strings.LastIndex(title, " → ")
	}
	if at <= 0 && !conversation.NamesFile(title) {
		return "", title
	}
	if at <= 0 {
		at = len(title)
	}
	if other := strings.Index(title[:at], model.BetweenActs); other > 0 {
		at = other
	}
	return title[:at], title[at:]
}

// shortenPath cuts the front of the last path in a call that needs more than w cells, where that makes it fit.
func shortenPath(act string, w int, ellipsis string) string {
	over := cell.Width(act) - w
	slash := strings.LastIndexByte(act, '/')
	if over <= 0 || slash < 0 {
		return act
	}
	from, to := strings.LastIndexByte(act[:slash], ' ')+1, len(act)
	if end := strings.IndexByte(act[slash:], ' '); end >= 0 {
		to = slash + end
	}
	path := act[from:to]
	if keep := cell.Width(path) - over; keep >= slim/2 && !strings.Contains(path, "://") {
		return act[:from] + cell.CutFront(path, keep, ellipsis) + act[to:]
	}
	return act
}

// titleFits reports whether a title of any length is drawn whole in some cells.
func titleFits(title string, room int) bool {
	return len(title) <= 4*max(room, 0) && cell.Width(title) <= room
}

// drawName draws the name of a visit without its sign, the index right-aligned. Of a
// step it draws the number of the step: the index is that of its snapshot.
func (p *Pane) drawName(r *cell.Row, text, number theme.Style, n model.Node) {
	index, suffix := nameOf(p.t, n, p.scratch[:0])
	c := &p.columns
	r.Fill(text, c.index-len(index))
	r.PutBytes(number, index)
	r.PutBytes(number, suffix)
	r.Fill(text, c.suffix-len(suffix))
}

// nameOf returns the two parts of the name that a row shows, built in buf: the
// index, and what tells the visits of one index apart.
func nameOf(t *model.Timeline, n model.Node, buf []byte) (index, suffix []byte) {
	name := t.AppendName(buf, n)[1:] // without the sign
	if at := bytes.IndexByte(name, ':'); at >= 0 {
		return nil, name[at:]
	}
	if at := bytes.IndexByte(name, '.'); at >= 0 {
		return name[:at], name[at:]
	}
	return name, nil
}

// appendTurn writes the turn of a snapshot, which may be counted only later.
func (p *Pane) appendTurn(dst []byte, h *model.Header) []byte {
	dst = append(append(dst, p.nouns.Turn...), ' ')
	if h.TurnIndex == model.TurnUnknown {
		return append(dst, p.styles.Glyphs.Ellipsis...)
	}
	return strconv.AppendInt(dst, int64(h.TurnIndex), 10)
}

// drawGutter draws the lanes of a row.
func (p *Pane) drawGutter(r *cell.Row, st theme.Style, i int, shape model.Shape) {
	lanes := p.columns.lanes
	r.Append(st, 2*lanes, func(dst []byte) []byte {
		return p.t.AppendShape(dst, i, lanes, p.styles.Glyphs.Gutter, shape)
	})
}

// drawNote says in a row that only draws what it draws: why the branch below was
// left, or what is wrong with the edge.
func (p *Pane) drawNote(r *cell.Row, kind model.RowKind, i int) {
	below := p.t.Row(i + 1).At
	switch {
	case kind == model.RowBreak && p.c.More:
		r.Put(p.styles.Muted, "earlier snapshots are being read")
	case kind == model.RowBranch && !p.t.OnPath(below):
		r.Fill(p.styles.Text, 2)
		r.Put(p.styles.Muted, p.t.Reason(below).Text(p.formatHour))
	case kind == model.RowBreak:
		r.Put(p.styles.Warn, "the parent cannot be followed")
	}
}

// drawClock draws the time of day at which a snapshot was taken.
func (p *Pane) drawClock(r *cell.Row, st theme.Style, at time.Time) {
	if !at.IsZero() {
		r.PutBytes(st, at.In(p.zone).AppendFormat(p.scratch[:0], time.TimeOnly))
		r.Fill(st, 1)
		return
	}
	r.Fill(st, p.columns.clock+1)
}

// appendDelta writes how long after the one before it that shows a snapshot was
// taken; nothing for the first one.
func (p *Pane) appendDelta(dst []byte, n, before model.Node) []byte {
	at := p.t.Header(n).CreatedAt
	if before == model.NoNode || at.IsZero() || p.t.Header(before).CreatedAt.IsZero() {
		return dst
	}
	return when.AppendShort(dst, at.Sub(p.t.Header(before).CreatedAt))
}

// formatHour writes a time of day.
func (p *Pane) formatHour(t time.Time) string { return t.In(p.zone).Format("15:04") }

// drawRemarks draws the signs of a snapshot's marks, and how much a fold hides: of the
// steps above the row, and of the branches below it.
func (p *Pane) drawRemarks(r *cell.Row, tokens *theme.Tokens, n model.Node) {
	drawn := 0
	if has := p.marksOf(n); has != 0 {
		drawn = p.drawSigns(r, tokens, has)
	}
	if p.columns.marks > 0 {
		r.Fill(tokens.Text, max(p.columns.marks-drawn, 0)+1)
	}
	if flags := len(p.flagsAt(n)); flags > 0 {
		r.Put(tokens.Warn, p.styles.Glyphs.Flag)
		if flags > 1 {
			r.Put(tokens.Warn, strconv.Itoa(flags))
		}
		r.Fill(tokens.Text, 1)
	}
	if steps := p.folds.Steps(n); steps > 0 {
		p.drawFold(r, tokens, strconv.Itoa(steps))
	}
	if hidden := p.folds.CountHidden(n); hidden > 0 && p.shapeOf(n) == model.Plain {
		p.drawFold(r, tokens, strconv.Itoa(hidden)+" hidden")
	}
}

// drawSigns draws the signs of marks and returns how many cells they take. The sign of an inferred mark stands before it.
func (p *Pane) drawSigns(r *cell.Row, tokens *theme.Tokens, has model.Marks) (drawn int) {
	for _, some := range [...]model.Marks{has & model.MarkInferred, has &^ model.MarkInferred} {
		for mark := range some.All() {
			if sign := p.styles.Glyphs.Sign(mark); sign != "" {
				st := tokens.Badge
				if mark.Grave() {
					st = tokens.Error
				}
				drawn += r.Put(st, sign)
			}
		}
	}
	return drawn
}

// marksOf returns the marks of a snapshot that its row shows: without what most
// rows have, and damaged too where the store has a fault with its id.
func (p *Pane) marksOf(n model.Node) model.Marks {
	h := p.t.Header(n)
	has := h.Marks &^ p.c.usualMarks()
	if len(p.faulty) > 0 {
		if _, faulty := p.faulty[h.ID]; faulty {
			has |= model.MarkDamaged
		}
	}
	return has
}

// drawFold draws what a fold hides.
func (p *Pane) drawFold(r *cell.Row, tokens *theme.Tokens, text string) {
	r.Put(tokens.Badge, p.styles.Glyphs.Closed+text)
	r.Fill(tokens.Text, 1)
}

// drawExplanation draws the line at the bottom: the turn, the labels and the marks of the snapshot
// under the cursor, why it is off the path, else what leaves the path there, and
// what its row has no room for: the title, else the event in full and the id.
func (p *Pane) drawExplanation(r *cell.Row) {
	if p.cursor == model.NoNode {
		return
	}
	n, g := p.cursor, &p.styles.Glyphs
	h := p.t.Header(n)
	r.Fill(p.styles.Text, 1)
	r.PutBytes(p.styles.Muted, p.appendTurn(p.scratch[:0], &h))
	dot := func() { r.Put(p.styles.Muted, " "+g.Dot+" ") }
	for _, label := range p.labels.Of(n) {
		dot()
		r.Put(p.styles.Badge, g.Label+" "+label.Name)
		if label.Note != "" {
			r.Put(p.styles.Text, " "+label.Note)
		}
	}
	for _, text := range p.flagsAt(n) {
		dot()
		r.Put(p.styles.Warn, g.Flag+" "+text)
	}
	switch {
	case p.t.IsStep(n):
		dot()
		r.Put(p.styles.Reason, "a step of "+p.t.Name(p.endOf(n))+", from its trace")
	case !p.t.OnPath(n):
		dot()
		p.reasonOf(r, p.t.Name(n), n)
	case n == p.t.Head():
		dot()
		r.Put(p.styles.Head, g.Head+" the framework resumes here")
	case p.t.BranchPoint(n):
		for c := range p.t.Children(n) {
			if !p.t.OnPath(c) {
				dot()
				p.reasonOf(r, "from here: "+p.t.Name(p.endOf(c)), c)
				break
			}
		}
	}
	if said := h.ProgramText(); said != "" {
		dot()
		r.Put(p.styles.Muted, said)
	}
	for mark := range p.marksOf(n).All() {
		if sign := g.Sign(mark); sign != "" {
			dot()
			r.Put(p.styles.Badge, sign+" "+mark.Word())
		}
	}
	switch room := r.Room() - 3; {
	case h.Title != "" && !p.whole && room > 3:
		dot()
		r.Put(p.styles.Muted, h.Title)
	default:
		if event := h.EventText(); titleFits(event, room) {
			dot()
			r.Put(p.styles.Muted, event)
		}
		if p.columns.id == 0 && r.Room()-3 >= idWidth {
			dot()
			r.Put(p.styles.Muted, model.ShortID(h.ID, idWidth))
		}
	}
}

// endOf returns the snapshot that ended the turn of a step. It returns n itself if n is no step, or if no
// snapshot ended the turn.
func (p *Pane) endOf(n model.Node) model.Node {
	if end := p.t.EndOf(n); end != model.NoNode {
		return end
	}
	return n
}

// reasonOf says why a snapshot is off the path.
func (p *Pane) reasonOf(r *cell.Row, who string, n model.Node) {
	r.Put(p.styles.Reason, p.styles.Glyphs.Orphaned+" "+who+" "+p.t.Reason(n).Text(p.formatHour))
}
