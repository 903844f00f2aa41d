// Package picker is the list to pick a session from: the sessions of one store or of all, in
// several orders, and in groups under headings.
//
// A picker is a plain struct that draws itself and knows which row is selected. What takes time for
// many rows is [Prepare], for a command.
package picker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Pane lists rows. Make it with New.
type Pane struct {
	styles  *theme.Styles
	content *Content

	// places are the rows in order. headings are the headings of the rows, nil without groups.
	places   []int
	headings []string
	order    int // in orders
	group    int // in groupings
	// lines are the lines that show: a row by its place in the content, a heading by -1 minus the place of its
	// first row.
	lines  []int
	shown  int // how many of lines are rows
	window cell.Window
	w      int
	// unfolded are the rows whose sub-agents show.
	unfolded map[Name]bool
	// marks are the marked rows, in the order in which they were marked.
	marks []Name
	// sums are the sums of sessions that are known, widths the cells that each column needs for them.
	sums   map[Name]*Sum
	widths []int
	// summed is how many of places, from the first, are known to have their sums.
	summed int
}

// New returns an empty list.
func New(styles *theme.Styles) *Pane {
	return &Pane{
		styles: styles, content: &Content{widths: make([]int, len(columns)), nouns: model.NounsOf("")},
		unfolded: map[Name]bool{}, sums: map[Name]*Sum{}, widths: make([]int, len(columns)),
	}
}

// head is the row of column titles.
const head = 1

// Resize says how many cells the pane has.
func (p *Pane) Resize(w, h int) {
	p.w = max(w, 0)
	p.window.Resize(max(h-head, 0))
	p.settle(1)
}

// Set shows other rows. The selection stays on the row that it is on.
func (p *Pane) Set(c *Content) {
	selected := p.Name()
	p.content = c
	p.arrange(selected)
}

// Grow shows the rows that are known by now of a list that is still read. The selection stays
// on the row that it is on, or at the top.
func (p *Pane) Grow(c *Content) {
	first := p.place() <= p.firstRow()
	if p.Set(c); first {
		p.moveTo(0)
	}
}

// arrange puts the rows in order, and selects a name.
func (p *Pane) arrange(selected Name) {
	p.places, p.headings = p.content.sorted(orders[p.order], groupings[p.group], p.sums)
	p.summed = 0
	p.layOutLines(selected)
}

// layOutLines makes the lines of the rows that are not folded, and selects a name.
func (p *Pane) layOutLines(selected Name) {
	p.lines, p.shown = p.lines[:0], 0
	last := ""
	agents := map[int][]int{} // of the rows that are unfolded
	for _, i := range p.places {
		if at := p.content.above[i]; at >= 0 && p.unfolded[NameOf(&p.content.rows[at])] {
			agents[at] = append(agents[at], i)
		}
	}
	for _, i := range p.places {
		if p.content.above[i] >= 0 {
			continue
		}
		if p.headings != nil && (p.shown == 0 || p.headings[i] != last) {
			last = p.headings[i]
			p.lines = append(p.lines, -i-1)
		}
		p.lines, p.shown = append(append(p.lines, i), agents[i]...), p.shown+1+len(agents[i])
	}
	p.window.SetLen(len(p.lines))
	p.settle(1)
	p.Select(selected)
}

// settle moves the cursor off a heading, down for 1 and up for -1 if there is a row.
func (p *Pane) settle(step int) {
	if at := p.window.Cursor; at < len(p.lines) && p.lines[at] < 0 {
		if at+step < 0 {
			step = 1
		}
		p.window.Move(step)
	}
}

// moveTo moves the cursor to a line, or from a heading to the row below it.
func (p *Pane) moveTo(line int) {
	p.window.MoveTo(line)
	p.settle(1)
}

// place returns the line of the cursor, firstRow that of the first row.
func (p *Pane) place() int    { return p.window.Cursor }
func (p *Pane) firstRow() int { return slices.IndexFunc(p.lines, func(i int) bool { return i >= 0 }) }

// FindSession returns the row with a name, and whether there is one. It looks at folded rows too.
func (p *Pane) FindSession(name Name) (Row, bool) {
	for i := range p.content.rows {
		if NameOf(&p.content.rows[i]) == name {
			return p.content.rows[i], true
		}
	}
	return Row{}, false
}

// SelectedRow returns the row under the cursor; false if no row shows.
func (p *Pane) SelectedRow() (Row, bool) {
	if at := p.window.Cursor; at < len(p.lines) && p.lines[at] >= 0 {
		return p.content.rows[p.lines[at]], true
	}
	return Row{}, false
}

// Name returns the name of the row under the cursor, the zero value if no row shows.
func (p *Pane) Name() Name {
	row, _ := p.SelectedRow()
	return NameOf(&row)
}

// Select moves the cursor to the row of a name, or to the row that it folds under, if that is shown.
func (p *Pane) Select(name Name) {
	above := Name{}
	for i, at := range p.content.above {
		if at >= 0 && NameOf(&p.content.rows[i]) == name {
			above = NameOf(&p.content.rows[at])
		}
	}
	for at, i := range p.lines {
		if i < 0 {
			continue
		}
		switch NameOf(&p.content.rows[i]) {
		case name:
			p.window.MoveTo(at)
			return
		case above:
			p.window.MoveTo(at)
		}
	}
}

// fold shows the sub-agents of the row under the cursor, or folds them.
func (p *Pane) fold(shows bool) {
	at := p.window.Cursor
	if at >= len(p.lines) || p.lines[at] < 0 {
		return
	}
	i := p.lines[at]
	if above := p.content.above[i]; above >= 0 {
		i = above
	}
	name := NameOf(&p.content.rows[i])
	p.unfolded[name] = shows && len(p.content.agents[i]) > 0
	p.layOutLines(name)
}

// foldAll shows the sub-agents of all rows, or folds them.
func (p *Pane) foldAll(shows bool) {
	selected := p.Name()
	for i := range p.content.rows {
		p.unfolded[NameOf(&p.content.rows[i])] = shows && len(p.content.agents[i]) > 0
	}
	p.layOutLines(selected)
}

// toggleMark marks the session under the cursor, or takes its mark away.
func (p *Pane) toggleMark() {
	row, ok := p.SelectedRow()
	if !ok || row.Err != nil {
		return
	}
	name := NameOf(&row)
	if i := slices.Index(p.marks, name); i >= 0 {
		p.marks = slices.Delete(p.marks, i, i+1)
		return
	}
	p.marks = append(p.marks, name)
}

// Marked returns the marked sessions in the order in which they were marked. One that the list lacks by now is left out.
func (p *Pane) Marked() (rows []Row) {
	for _, name := range p.marks {
		if row, is := p.FindSession(name); is {
			rows = append(rows, row)
		}
	}
	return rows
}

// CountMarked returns how many sessions are marked.
func (p *Pane) CountMarked() int { return len(p.marks) }

// Content returns the rows of the list.
func (p *Pane) Content() *Content { return p.content }

// Len returns the number of rows, folded or not.
func (p *Pane) Len() int { return p.content.Len() }

// Sessions returns the number of rows that are sessions, folded or not.
func (p *Pane) Sessions() int { return p.content.sessions }

// Title names the pane: "Sessions", or the word of the framework whose sessions all are.
func (p *Pane) Title() string {
	noun := p.content.nouns.Session
	return strings.ToUpper(noun[:1]) + noun[1:] + "s"
}

// Status says how many rows there are and how many are marked, and how they are sorted and grouped
// if not as at first.
func (p *Pane) Status() string {
	text := model.Count(p.Sessions(), p.content.nouns.Session)
	if n := len(p.marks); n > 0 {
		text += fmt.Sprintf(", %d marked", n)
	}
	if p.order > 0 {
		text += ", " + orders[p.order].words
	}
	if p.group > 0 {
		text += ", " + groupings[p.group].words
	}
	return text
}

// Do carries out an action; it reports whether it knew it.
func (p *Pane) Do(a keymap.Action) bool {
	before := p.window.Cursor
	switch {
	case a == keymap.Sort:
		selected := p.Name()
		p.order = (p.order + 1) % len(orders)
		p.arrange(selected)
	case a == keymap.Group:
		selected := p.Name()
		p.group = (p.group + 1) % len(groupings)
		p.arrange(selected)
	case a == keymap.MarkSession:
		p.toggleMark()
	case a == keymap.ClearMarks:
		p.marks = nil
	case a == keymap.Fold:
		p.fold(false)
	case a == keymap.Unfold:
		row, _ := p.SelectedRow()
		p.fold(!p.unfolded[NameOf(&row)])
	case a == keymap.FoldAll, a == keymap.UnfoldAll:
		p.foldAll(a == keymap.UnfoldAll)
	case !p.window.Do(a):
		return false
	case p.window.Cursor < before:
		p.settle(-1)
	default:
		p.settle(1)
	}
	return true
}

// Click selects what is on row y; it reports whether there is something.
func (p *Pane) Click(_, y int) bool {
	line := p.window.Top + y - head
	if y < head || line >= len(p.lines) || p.lines[line] < 0 {
		return false
	}
	p.window.MoveTo(line)
	return true
}

// Wheel scrolls by n rows.
func (p *Pane) Wheel(n int) {
	p.window.Scroll(n)
	p.settle(1)
}

const (
	// wordsWidth is the least width of the words of a row, mediumWords that beside columns of rank medium and
	// roomyWords that beside those of rank roomy.
	wordsWidth, mediumWords, roomyWords = 20, 24, 40
	medium, roomy                       = 5, 10
	// gap is between columns; marginLeft keeps the cursor on the left and marginRight the last
	// column off the border.
	gap, marginLeft, marginRight = 2, 2, 1
)

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	tokens := &p.styles.Tokens
	line := p.window.Top + y - head
	switch {
	case y < head:
		p.putTitles(&r)
	case line < len(p.lines) && p.lines[line] < 0:
		r.Fill(tokens.Text, 1)
		r.Put(tokens.Title, " "+p.headings[-p.lines[line]-1]+" ")
	case line < len(p.lines):
		p.putRow(&r, line)
	}
	return r.End(tokens.Text)
}

// putTitles draws the titles of the columns.
func (p *Pane) putTitles(r *cell.Row) {
	muted := p.styles.Muted
	p.putColumns(r, func(k, width int) {
		switch {
		case k < 0:
			r.Column(muted, "begins with", width)
		case columns[k].left:
			r.Column(muted, p.content.headColumn(k), width)
		default:
			r.ColumnRight(muted, p.content.headColumn(k), width)
		}
	})
}

// putRow draws the row of a line.
func (p *Pane) putRow(r *cell.Row, line int) {
	tokens, cursor, i := &p.styles.Tokens, " ", p.lines[line]
	if line == p.window.Cursor {
		tokens, cursor = p.styles.Selected, p.styles.Glyphs.Cursor
	}
	r.Put(tokens.Focus, cursor)
	row := &p.content.rows[i]
	if slices.Contains(p.marks, NameOf(row)) {
		r.Put(tokens.Warn, p.styles.Glyphs.Mark)
	} else {
		r.Fill(tokens.Text, 1)
	}
	if row.Err != nil {
		r.Column(tokens.Error, p.styles.Glyphs.Bad+" "+wordsOf(row), r.Room()-marginRight)
		return
	}
	p.putColumns(r, func(k, width int) {
		if k < 0 {
			p.putWords(r, tokens, i, width)
			return
		}
		c := &columns[k]
		style := tokens.Text
		if c.style != nil {
			style = c.style(tokens)
		}
		if c.left {
			r.Column(style, p.textOf(c, i), width)
		} else {
			r.ColumnRight(style, p.textOf(c, i), width)
		}
	})
}

// putWords draws the words of a row, and behind them its danger and how many sub-agents fold under it.
func (p *Pane) putWords(r *cell.Row, tokens *theme.Tokens, i, width int) {
	g, row, end := &p.styles.Glyphs, &p.content.rows[i], r.Room()-width
	danger, agents := p.dangerOf(row), ""
	switch {
	case danger == "":
	case !row.GoneSince.IsZero():
		danger = g.Gone + " " + danger
	default:
		danger = g.Damaged + " " + danger
	}
	if n := len(p.content.agents[i]); n > 0 && r.Room()-end > wordsWidth {
		agents = "+" + model.Count(n, "agent")
		end += gap + cell.Width(agents)
	}
	if p.content.above[i] >= 0 {
		r.Put(tokens.Muted, " "+g.BottomLeft+" ")
	}
	room := r.Room() - end
	if danger != "" && room > wordsWidth {
		took := min(cell.Width(danger), max(room-gap-cell.Width(wordsOf(row)), room/2))
		room -= gap + took
		r.Column(tokens.Strong, fitWords(row, room, g.Ellipsis), room)
		r.Fill(tokens.Text, gap)
		r.Column(tokens.Error, danger, took)
	} else {
		r.Column(tokens.Strong, fitWords(row, room, g.Ellipsis), room)
	}
	if agents != "" {
		r.Fill(tokens.Text, gap)
		r.Put(tokens.Muted, agents)
	}
}

// dangerOf returns the worst fault of a session, where its sums are known, or when it goes for its age; or "".
func (p *Pane) dangerOf(row *Row) string {
	if sum := p.sums[NameOf(row)]; sum != nil && sum.Danger != "" {
		return sum.Danger
	}
	if !row.GoneSince.IsZero() {
		return "gone since " + row.GoneSince.In(p.content.day.now.Location()).Format("Jan 2 2006")
	}
	return row.DescribeEnd(p.content.day.now, soon)
}

// soon is how long before a session is deleted its row says so.
const soon = 3 * 24 * time.Hour

// textOf returns the text of a column for a row.
func (p *Pane) textOf(c *column, i int) string {
	row := &p.content.rows[i]
	text := ""
	if sum := p.sums[NameOf(row)]; sum != nil && c.sum != nil {
		text = cmp.Or(c.sum(sum), c.none)
	} else if c.text != nil {
		text = c.text(p.content, i)
	}
	if text != "" && c.sign != nil {
		text = c.sign(&p.styles.Glyphs) + text
	}
	return text
}

// putColumns calls put for each column that there is room for, from left to right, and for the words with -1, each
// with its width, and fills the gaps.
func (p *Pane) putColumns(r *cell.Row, put func(k, width int)) {
	shown, words := p.layOutColumns()
	if r.Room() == p.w {
		r.Fill(p.styles.Text, marginLeft)
	}
	for _, left := range []bool{true, false} {
		for k := range columns {
			if !shown[k] || columns[k].left != left {
				continue
			}
			if !left {
				r.Fill(p.styles.Text, gap)
			}
			if put(k, p.widthOf(k)); left {
				r.Fill(p.styles.Text, gap)
			}
		}
		if left {
			put(-1, words)
		}
	}
}

// widthOf returns the cells of a column, 0 if it is empty.
func (p *Pane) widthOf(k int) int { return max(p.content.widths[k], p.widths[k]) }

// layOutColumns shares the cells out: the words have theirs at the least, then come the columns by their rank,
// and what is left is for the words.
func (p *Pane) layOutColumns() (shown []bool, words int) {
	words = max(p.w-marginLeft-marginRight, 0)
	shown = make([]bool, len(columns))
	ranked := make([]int, len(columns))
	for k := range ranked {
		ranked[k] = k
	}
	slices.SortFunc(ranked, func(a, b int) int { return columns[a].rank - columns[b].rank })
	for _, k := range ranked {
		least := wordsWidth
		switch {
		case columns[k].rank >= roomy:
			least = roomyWords
		case columns[k].rank >= medium:
			least = mediumWords
		}
		if width := p.widthOf(k); width > 0 && words-gap-width >= min(least, max(p.content.words, 1)) {
			shown[k] = true
			words -= gap + width
		}
	}
	return shown, words
}
