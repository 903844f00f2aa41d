package difftab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
	"hindcast/tui/value"
)

// AppendRow appends row y of the tab to dst: exactly as many cells as it is
// wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	rows, i := p.window.Rows(), y-p.headRows()
	switch {
	case p.c == nil:
		if y == 0 {
			r.Put(p.styles.Muted, "  nothing to compare")
		}
	case y == 0 && p.headRows() > 0:
		p.drawHeading(&r)
	case i == 0 && len(rows) == 0:
		p.tellUnchanged(&r)
	case i >= 0 && i < min(len(rows), p.window.Height()):
		_, at, _ := p.window.Cursor()
		tokens, cursor := p.RowStyle(p.styles, i == at)
		r.Put(tokens.Focus, cursor)
		if rows[i].line > 0 {
			p.drawLine(&r, tokens, rows[i])
		} else {
			p.drawEntry(&r, tokens, rows[i].entry)
		}
		return r.End(tokens.Text)
	}
	return r.End(p.styles.Text)
}

// drawHeading names the two states, counts the changes, and tells the sizes.
func (p *Pane) drawHeading(r *cell.Row) {
	g, tokens := &p.styles.Glyphs, &p.styles.Tokens
	names := p.c.old.name + " " + g.Arrow + " " + p.c.new.name
	size := sizeText(len(p.c.old.tape.Data()), len(p.c.new.tape.Data()), g.Arrow)
	if p.c.first {
		names = p.c.new.name + "  the first snapshot: all of it is new"
		size = sizeText(0, len(p.c.new.tape.Data()), g.Arrow)
	}
	result := p.c.result
	counts := []struct {
		style theme.Style
		text  string
		n     int
		must  bool
	}{
		{tokens.Added, g.Added, result.Added, !p.c.first},
		{tokens.Changed, g.Changed, result.Replaced, !p.c.first},
		{tokens.Removed, g.Removed, result.Removed, !p.c.first},
		{tokens.Muted, "moved ", result.Moved, false},
		{tokens.Muted, "respelled ", result.Respelled, false},
	}
	width := 1
	for _, c := range counts {
		if c.must || c.n > 0 && !p.c.first {
			width += cell.Width(c.text) + len(strconv.Itoa(c.n)) + 2
		}
	}
	r.Fill(tokens.Text, 1)
	r.Put(tokens.Strong, names)
	if r.Room() >= width+cell.Width(size)+2 {
		width += cell.Width(size)
	} else {
		size = ""
	}
	r.Fill(tokens.Text, max(2, r.Room()-width))
	for _, c := range counts {
		if c.must || c.n > 0 && !p.c.first {
			r.Put(c.style, c.text+strconv.Itoa(c.n))
			r.Fill(tokens.Text, 2)
		}
	}
	r.Put(tokens.Muted, size)
	if result.Coarse {
		r.Put(tokens.Warn, "  coarse")
	}
	if result.Duplicates {
		r.Put(tokens.Warn, "  duplicate keys")
	}
}

// sizeText tells the old and the new size of a state: "state 1.2 → 2.7 kB"; old is 0 without an old state.
func sizeText(old, new int, arrow string) string {
	is, was := string(conversation.AppendSize(nil, int64(new))), string(conversation.AppendSize(nil, int64(old)))
	if old == 0 || is == was {
		return "state " + is
	}
	if _, unit, ok := strings.Cut(is, " "); ok {
		was = strings.TrimSuffix(was, " "+unit)
	}
	return "state " + was + " " + arrow + " " + is
}

// tellUnchanged says that there are no changes.
func (p *Pane) tellUnchanged(r *cell.Row) {
	text := "  the states are equal"
	if p.c.first {
		text = "  its state is empty"
	}
	r.Put(p.styles.Muted, text)
}

// signAt returns the column of an entry's sign of folding.
func (p *Pane) signAt(entry int32) int {
	if p.isGroup(entry) {
		return 1
	}
	return 3 + p.entryIndent(entry)
}

// entryIndent returns how far in an entry stands, in cells.
func (p *Pane) entryIndent(entry int32) int { return min(2*p.depthOf(entry), p.w/3) }

// textWidth returns the cells that lines below an entry have.
func (p *Pane) textWidth(entry int32) int { return max(1, p.w-p.entryIndent(entry)-8) }

// signOf returns the sign and the style of an entry's change, and the word where the sign does not say enough.
func (p *Pane) signOf(tokens *theme.Tokens, e *diff.Entry) (sign string, st theme.Style, word string) {
	g := &p.styles.Glyphs
	switch e.Op {
	case diff.Added:
		return g.Added, tokens.Added, ""
	case diff.Removed:
		return g.Removed, tokens.Removed, ""
	case diff.Replaced:
		return g.Changed, tokens.Changed, ""
	case diff.Moved:
		return g.Into, tokens.Changed, fmt.Sprintf("moved [%d] %s [%d]", e.OldIndex, g.Arrow, e.NewIndex)
	case diff.Respelled:
		return g.Dot, tokens.Muted, "respelled"
	}
	return " ", tokens.Punct, ""
}

// drawEntry draws the row of an entry.
func (p *Pane) drawEntry(r *cell.Row, tokens *theme.Tokens, entry int32) {
	e, g := &p.c.result.Entries[entry], &p.styles.Glyphs
	sign, style, word := p.signOf(tokens, e)
	group := p.isGroup(entry)
	switch {
	case group && p.isFolded(entry):
		r.Put(tokens.Punct, g.Closed)
	case group:
		r.Put(tokens.Punct, g.Open)
	default:
		r.Put(style, sign)
	}
	r.Fill(tokens.Text, 1+p.entryIndent(entry))
	switch {
	case group:
	case p.isOpen(entry) && p.isOpenable(entry):
		r.Put(tokens.Punct, g.Open+" ")
	case p.isOpenable(entry):
		r.Put(tokens.Punct, g.Closed+" ")
	default:
		r.Fill(tokens.Text, 2)
	}
	if e.Op == diff.Aside {
		r.Put(tokens.Muted, fmt.Sprintf("%d of %s's own", p.c.countChanges(entry), p.c.own.By))
		return
	}
	p.drawPath(r, tokens, entry)
	if word != "" {
		r.Fill(tokens.Text, 2)
		r.Put(style, word)
	}
	if conv, m := p.c.messageOf(e); m >= 0 {
		r.Fill(tokens.Text, 1)
		value.Message(r, tokens, conv, m, g.Arrow)
		return
	}
	switch {
	case e.Op == diff.Within && e.Unchanged == 0:
	case e.Op == diff.Within:
		text := strconv.Itoa(int(e.Unchanged)) + " unchanged"
		r.Fill(tokens.Text, max(2, r.Room()-len(text)-1))
		r.Put(tokens.Muted, text)
	case e.Op == diff.Replaced, e.Op == diff.Respelled:
		r.Fill(tokens.Text, 2)
		p.fromTo(r, tokens, entry)
	default:
		r.Fill(tokens.Text, 2)
		s, n := p.c.valueOf(e)
		if n == s.conv.List() {
			r.Put(tokens.Muted, value.CountOf(s.tape, n, "message"))
			return
		}
		value.Put(r, tokens, s.tape, n)
	}
}

// drawPath draws the key or the number of an entry, behind those of the groups that
// have no rows of their own: "artifacts[0].text". Of a long one the end shows.
func (p *Pane) drawPath(r *cell.Row, tokens *theme.Tokens, entry int32) {
	style := tokens.Name
	if _, found := slices.BinarySearch(p.matches.At, entry); found {
		style = tokens.Match
	}
	var steps []int32
	for at := entry; at > 0 && len(steps) < longestPath; at = p.c.result.Entries[at].Parent {
		if at != entry && !p.c.isHidden(at) {
			break
		}
		steps = append(steps, at)
	}
	if len(steps) == 0 {
		r.Put(style, "the whole state")
		return
	}
	for room := r.Room() / 2; len(steps) > 1; steps = steps[:len(steps)-1] {
		width := 0
		for _, at := range steps {
			width += p.stepWidth(at)
		}
		if width <= room {
			break
		}
		if len(steps) == 2 {
			r.Put(style, p.styles.Glyphs.Ellipsis)
		}
	}
	for i, at := range slices.Backward(steps) {
		s, n := p.c.valueOf(&p.c.result.Entries[at])
		if i < len(steps)-1 && s.tape.Index(n) < 0 {
			r.Put(style, ".")
		}
		value.Key(r, style, s.tape, n)
	}
}

// longestPath bounds the steps of a path that are drawn.
const longestPath = 16

// stepWidth returns how many cells a step of a path takes.
func (p *Pane) stepWidth(entry int32) int {
	s, n := p.c.valueOf(&p.c.result.Entries[entry])
	step := cell.Begin(nil, &p.styles.Glyphs, p.w)
	value.Key(&step, theme.Style{}, s.tape, n)
	return p.w - step.Room() + 1
}

// fromTo draws the old and the new value of an entry. For texts it draws the surroundings of the first
// difference, with the words removed and added in it.
func (p *Pane) fromTo(r *cell.Row, tokens *theme.Tokens, entry int32) {
	e, g := &p.c.result.Entries[entry], &p.styles.Glyphs
	if d := p.c.texts[entry]; d != nil {
		if d.coarse {
			r.Put(tokens.Warn, "coarse ")
		}
		p.drawInline(r, tokens, d.inline)
		return
	}
	from, to := p.c.old.tape, p.c.new.tape
	value.PutMost(r, g, tokens, from, nodeAt(from, e.Old), max(1, (r.Room()-3)/2))
	r.Put(tokens.Punct, " "+g.Arrow+" ")
	value.Put(r, tokens, to, nodeAt(to, e.New))
}

// drawInline draws a difference in one line: `train [-10-]{+09+}:40`. What is the
// same before a change is cut on its left, so that the change shows.
func (p *Pane) drawInline(r *cell.Row, tokens *theme.Tokens, spans []diff.TextSpan) {
	some, most := max(4, r.Room()/4), max(4, r.Room()/3)
	ellipsis := p.styles.Glyphs.Ellipsis
	r.Put(tokens.String, `"`)
	for i, span := range spans {
		text := printable.Text(span.Text)
		width := cell.Width(text)
		switch {
		case span.Op == diff.Deleted:
			r.Put(tokens.RemovedWord, "[-"+upTo(text, most, ellipsis)+"-]")
		case span.Op == diff.Inserted:
			r.Put(tokens.AddedWord, "{+"+upTo(text, most, ellipsis)+"+}")
		case i < len(spans)-1 && width > some:
			r.Put(tokens.String, ellipsis+text[cell.Fit(text, width-some+1):])
		default:
			r.Put(tokens.String, text)
		}
	}
	r.Put(tokens.String, `"`)
}

// upTo returns the beginning of a text that takes w cells at most.
func upTo(text string, w int, ellipsis string) string {
	if cell.Width(text) <= w {
		return text
	}
	return text[:cell.Fit(text, w-1)] + ellipsis
}

// textRows lays a text diff out for a width: lines are wrapped, and unchanged
// lines far from a change are counted.
func (p *Pane) textRows(d *textDiff, w int) []textRow {
	arrange := appendUnified
	if p.split && p.w >= splitFrom {
		arrange = sideBySide
	}
	var rows []textRow
	skipped := 0
	for lines := d.lines; len(lines) > 0; {
		if line := lines[0]; line.op == diff.Same && (line.skip > 0 || line.far > p.context) {
			skipped += max(line.skip, 1)
			lines = lines[1:]
			continue
		}
		if skipped > 0 {
			rows = append(rows, skippedRow(skipped))
			skipped = 0
		}
		n := 1
		for n < len(lines) && lines[n].op != diff.Same && lines[0].op != diff.Same {
			n++
		}
		rows = arrange(rows, lines[:n], w)
		lines = lines[n:]
	}
	if skipped > 0 {
		rows = append(rows, skippedRow(skipped))
	}
	if d.coarse {
		rows = append(rows, textRow{op: diff.Same, note: "coarse: the texts are too different for the best comparison"})
	}
	return rows
}

func skippedRow(n int) textRow {
	return textRow{op: diff.Same, note: model.Count(n, "unchanged line")}
}

// appendUnified adds a run of lines one below the other.
func appendUnified(rows []textRow, run []textLine, w int) []textRow {
	for _, line := range run {
		rows = appendWrapped(rows, line, w)
	}
	return rows
}

// splitFrom is the least width for two texts beside each other. between is the width of the space, the line
// and the signs between them.
const (
	splitFrom = 80
	between   = 5
)

// sideBySide adds a run of lines with the old ones on the left and the new ones
// on the right.
func sideBySide(rows []textRow, run []textLine, w int) []textRow {
	half := max(1, (w-between)/2)
	var left, right []textRow
	for _, line := range run {
		if line.op != diff.Inserted {
			left = appendWrapped(left, line, half)
		}
		if line.op != diff.Deleted {
			right = appendWrapped(right, line, half)
		}
	}
	for i := range max(len(left), len(right)) {
		row, other := textRow{op: diff.Same}, textRow{op: diff.Same}
		if i < len(left) {
			row = left[i]
		}
		if i < len(right) {
			other = right[i]
		}
		row.other, row.half = &other, half
		rows = append(rows, row)
	}
	return rows
}

// appendWrapped adds the rows of a line. Its pieces are made safe to print here,
// because they are cut by cells.
func appendWrapped(rows []textRow, line textLine, w int) []textRow {
	at := textRow{op: line.op}
	room := w
	for _, bit := range line.bits {
		text := printable.String(bit.Text)
		for text != "" {
			head := text[:cell.Fit(text, room)]
			if head == "" && room == w {
				head = text // a character wider than the tab: Row cuts it
			}
			if head != "" {
				at.bits = append(at.bits, diff.TextSpan{Op: bit.Op, Text: head})
				room -= cell.Width(head)
			}
			if text = text[len(head):]; text != "" {
				rows = append(rows, at)
				at, room = textRow{op: line.op}, w
			}
		}
	}
	return append(rows, at)
}

// drawLine draws a line below an opened entry.
func (p *Pane) drawLine(r *cell.Row, tokens *theme.Tokens, at row) {
	d, i := p.detail(at.entry), int(at.line)-1
	r.Fill(tokens.Text, p.entryIndent(at.entry)+4)
	if i < len(d.text) {
		p.drawText(r, tokens, &d.text[i])
		return
	}
	i -= len(d.text)
	for k := range d.trees {
		if n := d.trees[k].len(); i >= n {
			i -= n
			continue
		}
		p.drawNode(r, tokens, &d.trees[k], d.trees[k].first+jsontape.Node(i))
		return
	}
}

// drawSide draws the sign of the side that a line is on. It returns the styles of unchanged and of changed words.
func (p *Pane) drawSide(r *cell.Row, tokens *theme.Tokens, op diff.TextOp) (line, word theme.Style) {
	g := &p.styles.Glyphs
	line, word = tokens.Muted, tokens.Muted
	sign := " "
	switch op {
	case diff.Deleted:
		sign, line, word = g.Removed, tokens.Removed, tokens.RemovedWord
	case diff.Inserted:
		sign, line, word = g.Added, tokens.Added, tokens.AddedWord
	}
	r.Put(line, sign)
	r.Fill(tokens.Text, 1)
	return line, word
}

// drawText draws a row of a text diff, or both halves of one.
func (p *Pane) drawText(r *cell.Row, tokens *theme.Tokens, line *textRow) {
	switch {
	case line.note != "":
		r.Fill(tokens.Text, 2)
		r.Put(tokens.Muted, p.styles.Glyphs.Ellipsis+" "+line.note)
	case line.other == nil:
		p.drawBits(r, tokens, line)
	default:
		w := line.half + 2
		r.Append(theme.Style{}, w, func(dst []byte) []byte {
			left := cell.Begin(dst, &p.styles.Glyphs, w)
			p.drawBits(&left, tokens, line)
			return left.End(tokens.Text)
		})
		r.Put(tokens.Border, p.styles.Glyphs.Vertical)
		p.drawBits(r, tokens, line.other)
	}
}

func (p *Pane) drawBits(r *cell.Row, tokens *theme.Tokens, line *textRow) {
	same, word := p.drawSide(r, tokens, line.op)
	for _, bit := range line.bits {
		style := same
		if bit.Op != diff.Same {
			style = word
		}
		value.Text(r, style, tokens.Match, bit.Text, p.matches.Query)
	}
}

// drawNode draws one value of a tree.
func (p *Pane) drawNode(r *cell.Row, tokens *theme.Tokens, t *tree, n jsontape.Node) {
	p.drawSide(r, tokens, t.op)
	if t.messages != nil {
		m := int(n - t.first)
		r.Put(tokens.Name, "["+strconv.Itoa(m)+"]")
		r.Fill(tokens.Text, 1)
		value.Message(r, tokens, t.messages, m, p.styles.Glyphs.Arrow)
		return
	}
	r.Fill(tokens.Text, min(2*(t.tape.Depth(n)-t.tape.Depth(t.first)), p.w/3))
	if n != t.root {
		value.Key(r, tokens.Name, t.tape, n)
		r.Fill(tokens.Text, 2)
	}
	if t.tape.First(n) != jsontape.None {
		r.Put(tokens.Muted, value.Count(t.tape, n))
		return
	}
	value.Put(r, tokens, t.tape, n)
}
