// Package runs is the pane that shows runs beside each other: a column for each, a row for each prompt and call, and
// below the sums of each run.
//
//	                                    1 trip #7.1        2 trip #8
//	    8  book_hotel {hotel: "Hotel    #4 One room…       #4 One room…
//	▸   9  turn 4: And something nic…  ▌#6.1               #6.2
//	   10  book_event {event: "Opera    #6.1 Box 3…        ·
//	─────────────────────────────────────────────────────────────
//	       tokens                       12.3k              14.1k
package runs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/align"
	"hindcast/query"
	"hindcast/tui/cell"
	"hindcast/tui/theme"
)

// Run is one of the runs.
type Run struct {
	// Title names the run, and Money is its cost. Both are untrusted.
	Title, Money string
	// Run is nil until it was read, and Timeline has its visits.
	*query.Run
	Timeline *model.Timeline
}

// Pane draws runs beside each other, and keeps a cursor on one of the rows of one of them. Make it with New. It is not
// safe for concurrent use.
type Pane struct {
	styles *theme.Styles
	w, h   int
	runs   []Run
	c      *query.Comparison // nil while runs are read
	window cell.Window
	run    int // of the cursor
	first  int // the first column in sight
	rule   []string
}

// New returns a pane of runs that have not been read yet.
func New(styles *theme.Styles, runs []Run) *Pane { return &Pane{styles: styles, runs: runs} }

// AddRun shows the sums of a run.
func (p *Pane) AddRun(i int, of Run) { p.runs[i] = of }

// Set shows runs and how they compare. The cursor stays in its row and its column, or begins where the runs part.
func (p *Pane) Set(runs []Run, c *query.Comparison) {
	began := p.c == nil
	p.runs, p.c = runs, c
	p.run = max(min(p.run, len(runs)-1), 0)
	p.Resize(p.w, p.h)
	if began {
		p.window.MoveTo(min(c.Parts, len(c.Rows)-1))
	}
}

// Title says where the runs part.
func (p *Pane) Title() string {
	of := model.Count(len(p.runs), "run")
	switch {
	case p.c == nil:
		return of
	case p.c.Parts == len(p.c.Rows):
		return of + ", all with the same calls"
	}
	return fmt.Sprintf("%s part at row %d", of, p.c.Parts+1)
}

// Status says where the cursor is.
func (p *Pane) Status() string {
	if len(p.runs) == 0 {
		return ""
	}
	run := fmt.Sprintf("run %d of %d", p.run+1, len(p.runs))
	if p.c == nil || len(p.c.Rows) == 0 {
		return run
	}
	return fmt.Sprintf("row %d of %d, %s", p.window.Cursor+1, len(p.c.Rows), run)
}

// Node returns the run under the cursor, and its visit there; [model.NoNode] in an empty cell.
func (p *Pane) Node() (run int, at model.Node) {
	if p.c == nil || p.window.Cursor >= len(p.c.Rows) {
		return p.run, model.NoNode
	}
	return p.run, p.c.VisitAt(p.window.Cursor, p.run)
}

// Ref names the snapshot under the cursor; the zero value in an empty cell.
func (p *Pane) Ref() model.Ref {
	run, n := p.Node()
	if n == model.NoNode {
		return model.Ref{}
	}
	return p.runs[run].Timeline.Header(n).Ref()
}

// sums are the facts about a whole run, below the rows.
var sums = []struct {
	name string
	text func(r *Run) string
}{
	{"tokens", func(r *Run) string { return r.Sum.TotalText() }},
	{"cost", func(r *Run) string { return r.Money }},
	{"time", func(r *Run) string { return r.ElapsedText() }},
	{"failed", func(r *Run) string { return fmt.Sprintf("%d/%d", r.CountFailed(), len(r.Calls)) }},
	{"files", func(r *Run) string { return strconv.Itoa(len(r.Files)) }},
	{"result", func(r *Run) string { return r.Result() }},
}

const (
	// head is the row with the names of the runs, leastRows the rows that stay above the sums.
	head, leastRows = 1, 3
	// leastText and leastCell are the least cells of the text of a row and of a column, mostCell the most of a column, from
	// worded on a cell has words, and from resulting on the result of its run.
	leastText, leastCell, mostCell, worded, resulting = 22, 9, 48, 18, 24
	// rightMargin keeps the last column off the border.
	rightMargin = 1
)

// Resize gives the pane its size in cells.
func (p *Pane) Resize(w, h int) {
	p.w, p.h = max(w, 0), max(h, 0)
	p.rule = cell.Wrap(p.styles.Glyphs.Sentence("a row has the same call: "+query.FingerprintRule), max(p.w-2, 1), "")
	rows := 0
	if p.c != nil {
		rows = len(p.c.Rows)
	}
	p.window.Resize(max(p.h-head-p.belowRows(), 0))
	p.window.SetLen(rows)
	p.showRun()
}

// ruleRows returns how many rows the rule has: one at the least.
func (p *Pane) ruleRows() int { return min(len(p.rule), max(p.h/8, 1)) }

// belowRows returns how many rows stand below the calls.
func (p *Pane) belowRows() int {
	return min(1+len(sums)+p.ruleRows(), max(p.h-head-leastRows, 0))
}

// columns returns the cells of the numbers, of the text of a row and of a column, and how many columns are in sight.
func (p *Pane) columns() (number, text, column, shown int) {
	number = 3
	if p.c != nil {
		number = max(number, len(strconv.Itoa(len(p.c.Rows))))
	}
	n := max(len(p.runs), 1)
	before := 2 + number + 2
	text = max(p.w*2/5-before, leastText)
	if (p.w-before-text-rightMargin)/n < leastCell {
		text = max(p.w/4-before, leastText)
	}
	column = min(max((p.w-before-text-rightMargin)/n, leastCell), mostCell)
	shown = min(n, max((p.w-before-text-rightMargin)/column, 1))
	text = max(p.w-before-rightMargin-shown*column, 0)
	return number, text, column, shown
}

// showRun brings the column of the cursor in sight.
func (p *Pane) showRun() {
	_, _, _, shown := p.columns()
	p.first = max(min(p.first, p.run, len(p.runs)-shown), p.run-shown+1, 0)
}

// Do carries out an action and reports whether it is one of the pane's: the rows up and down, the runs to the left and
// to the right, and the rows that differ.
func (p *Pane) Do(a keymap.Action) bool {
	switch a {
	case keymap.PrevRun, keymap.NextRun:
		by := 1
		if a == keymap.PrevRun {
			by = -1
		}
		p.run = max(min(p.run+by, len(p.runs)-1), 0)
		p.showRun()
	case keymap.NextChange:
		p.goToChange(1)
	case keymap.PrevChange:
		p.goToChange(-1)
	default:
		return p.window.Do(a)
	}
	return true
}

// goToChange goes to the next row in which runs differ, up for -1.
func (p *Pane) goToChange(step int) {
	for at := p.window.Cursor + step; p.c != nil && at >= 0 && at < len(p.c.Rows); at += step {
		if row := &p.c.Rows[at]; !row.IsCommon() || row.Results > 1 {
			p.window.MoveTo(at)
			return
		}
	}
}

// Click moves the cursor to a row and to a run; it reports whether the cursor was there.
func (p *Pane) Click(x, y int) (same bool) {
	run, at := p.run, p.window.Cursor
	if number, text, column, shown := p.columns(); x >= 2+number+2+text {
		if i := (x - (2 + number + 2 + text)) / column; i < shown {
			p.run = min(p.first+i, max(len(p.runs)-1, 0))
		}
	}
	line := p.window.Top + y - head
	if y < head || y-head >= p.window.Height || line >= p.window.Len {
		return false
	}
	p.window.MoveTo(line)
	return run == p.run && at == line
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(n) }

// Thumb returns the rows that the thumb of a scrollbar covers.
func (p *Pane) Thumb() (from, to int) {
	if from, to = p.window.Thumb(); to > 0 {
		from, to = from+head, to+head
	}
	return from, to
}

// AppendRow appends row y: exactly as many cells as the pane is wide.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	line, below := p.window.Top+y-head, y-head-p.window.Height
	switch {
	case y < 0 || y >= p.h:
	case y < head:
		p.drawHead(&r)
	case below == 0:
		r.Fill(p.styles.Text, 1)
		r.Repeat(p.styles.Border, p.styles.Glyphs.Horizontal, r.Room()-rightMargin)
	case below > len(sums):
		p.drawRule(&r, below-1-len(sums))
	case below > 0:
		p.drawSum(&r, below-1)
	case p.c == nil:
		if y == head {
			p.drawProgress(&r)
		}
	case line < len(p.c.Rows):
		p.drawRow(&r, line)
	}
	return r.End(p.styles.Text)
}

// drawProgress says how many runs were read.
func (p *Pane) drawProgress(r *cell.Row) {
	read := 0
	for i := range p.runs {
		if p.runs[i].Run != nil {
			read++
		}
	}
	r.Put(p.styles.Muted, fmt.Sprintf("  %d of %s read %s", read, model.Count(len(p.runs), "run"), p.styles.Glyphs.Ellipsis))
}

// drawCells calls draw with each run in sight, for exactly the cells of its column but the first, which is the cursor's.
func (p *Pane) drawCells(r *cell.Row, under bool, draw func(i, w int)) {
	_, _, column, shown := p.columns()
	for i := p.first; i < min(p.first+shown, len(p.runs)); i++ {
		if under && i == p.run {
			r.Put(p.styles.Selected.Focus, p.styles.Glyphs.Cursor)
		} else {
			r.Fill(p.styles.Text, 1)
		}
		draw(i, column-1)
	}
}

// drawHead names the runs.
func (p *Pane) drawHead(r *cell.Row) {
	number, text, _, _ := p.columns()
	r.Fill(p.styles.Text, 2+number+2+text)
	p.drawCells(r, false, func(i, w int) {
		style := p.styles.Muted
		if i == p.run {
			style = p.styles.Title
		}
		label := strconv.Itoa(i + 1)
		if room := w - 1 - len(label) - 1; room > 1 {
			label += " " + cell.ShortID(p.runs[i].Title, room, p.styles.Glyphs.Ellipsis)
		}
		r.Column(style, label, w-1)
		r.Fill(p.styles.Text, 1)
	})
}

// drawRow draws a prompt, or a call in all runs that have it.
func (p *Pane) drawRow(r *cell.Row, k int) {
	number, text, _, _ := p.columns()
	row, g, under := &p.c.Rows[k], &p.styles.Glyphs, k == p.window.Cursor
	tokens, sign := &p.styles.Tokens, " "
	if under {
		tokens, sign = p.styles.Selected, g.Cursor
	}
	r.Put(tokens.Focus, sign)
	style, mark := tokens.Text, " "
	if k == p.c.Parts {
		style, mark = tokens.Changed, g.Closed
	}
	r.Put(style, mark)
	r.ColumnRight(tokens.Muted, strconv.Itoa(k+1), number)
	r.Fill(tokens.Text, 2)
	words := p.c.RowText(k)
	if row.Prompt {
		words = fmt.Sprintf("turn %d: %s", row.Turn+1, words)
	}
	if row.Results > 1 {
		words = g.Changed + " " + words
	}
	r.Column(style, words, text-1)
	r.Fill(tokens.Text, 1)
	p.drawCells(r, under, func(i, w int) { p.drawCell(r, tokens, k, i, w) })
}

// drawCell draws the snapshot of a run in row k, in w cells.
func (p *Pane) drawCell(r *cell.Row, tokens *theme.Tokens, k, i, w int) {
	g, n := &p.styles.Glyphs, p.c.VisitAt(k, i)
	if n == model.NoNode {
		r.Column(tokens.Muted, g.Dot, w)
		return
	}
	label, style, outcome := p.runs[i].Timeline.Name(n), tokens.Text, ""
	call := p.c.CallAt(k, i)
	switch {
	case call == nil:
		if at := p.c.Rows[k].Cells[i]; at != align.None && p.c.Rows[k].Results > 1 {
			outcome = p.runs[i].Turns[at].Prompt
		}
	case call.Failed:
		label, style, outcome = label+g.Error, tokens.Error, call.Outcome
	case !call.IsAnswered():
		label, style = label+g.Interrupted, tokens.Warn
	default:
		outcome = call.Outcome
	}
	if w < worded {
		r.Column(style, label, w-1)
		r.Fill(tokens.Text, 1)
		return
	}
	wide := min(cell.Width(label), w-1)
	r.Column(style, label, wide)
	r.Fill(tokens.Text, 1)
	r.Column(tokens.Muted, outcome, w-1-wide-1)
	r.Fill(tokens.Text, 1)
}

// drawSum draws one of the sums of all runs. Where columns have no room for results, that of the run under the cursor
// has all of the row.
func (p *Pane) drawSum(r *cell.Row, k int) {
	number, text, column, _ := p.columns()
	sum, none := &sums[k], "-"
	textOf := func(i int) string {
		if p.runs[i].Run == nil {
			return ""
		}
		return cmp.Or(sum.text(&p.runs[i]), none)
	}
	r.Fill(p.styles.Text, 2+number+2)
	if last := k == len(sums)-1; last && column < resulting && p.run < len(p.runs) {
		r.Put(p.styles.Muted, fmt.Sprintf("%s of %d  ", sum.name, p.run+1))
		r.Put(p.styles.Text, textOf(p.run))
		return
	}
	r.Column(p.styles.Muted, sum.name, text)
	p.drawCells(r, false, func(i, w int) {
		r.Column(p.styles.Text, textOf(i), w-1)
		r.Fill(p.styles.Text, 1)
	})
}

// drawRule draws row k of the rule. The last one has all that is left.
func (p *Pane) drawRule(r *cell.Row, k int) {
	r.Fill(p.styles.Text, 1)
	if k < p.ruleRows()-1 {
		r.Put(p.styles.Muted, p.rule[k])
		return
	}
	for i, line := range slices.Clone(p.rule[min(k, len(p.rule)):]) {
		if i > 0 {
			r.Fill(p.styles.Muted, 1)
		}
		r.Put(p.styles.Muted, line)
	}
}
