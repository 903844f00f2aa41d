// Package contexttab is the tab with the request that an answer came from: what the model was sent, block by block, and
// what it no longer had of the request before.
//
// A block is a row with a bar of its size. Open, it shows what was sent, a page at a time.
package contexttab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/diff"
	"hindcast/keymap"
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/model/splice"
	"hindcast/query"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/prose"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/walk"
)

// Content is a request to show, compared with another. It is not changed, and safe for concurrent use.
type Content struct {
	units []unit
	// later is the request, and heads are the units in front of its blocks.
	later *request.Outline
	heads int
}

// unit is a line about the request, or a block.
type unit struct {
	text  string     // of a line, untrusted
	patch string     // how what a line is about changed, in the lines of a diff, which opens below it; "" for none
	pick  sheet.Pick // of the text, or of the block's sign
	sign  signKind
	b     *request.Block // nil for a line
	of    *request.Outline
	// share is how much the block has of the bytes of the largest one.
	share float64
}

// signKind compares a block with the request before.
type signKind uint8

const (
	same signKind = iota
	added
	dropped
)

// Prepare works out what to show of a request. It compares it with an earlier one, unless that is nil.
func Prepare(later, earlier *query.Sent) *Content {
	c := &Content{later: later.Outline}
	line := func(pick sheet.Pick, format string, args ...any) {
		c.units = append(c.units, unit{text: fmt.Sprintf(format, args...), pick: pick})
	}
	line(sheet.Strong, "%s", later.Summary())
	if len(later.Unknown) > 0 {
		line(sheet.Muted, "not known: %s", strings.Join(later.Unknown, ", "))
	}
	var changed *request.Comparison
	if earlier != nil {
		changed = request.Compare(earlier.Outline, later.Outline)
		line(sheet.Text, "against %s: %s", earlier.Of.Name, changed.Counts())
		for _, change := range changed.Changes {
			pick := sheet.Pick(sheet.Muted)
			if change.Kind.Breaks() {
				pick = sheet.Warn
			}
			if change.Kind != request.Dropped {
				line(pick, "  %s", change.Text)
				if old, now := change.Texts(earlier.Outline, later.Outline); old+now != "" {
					c.units[len(c.units)-1].patch = diff.TextLines(old, now)
				}
			}
		}
	}
	line(nil, "")
	c.heads = len(c.units)
	for i := range later.Blocks {
		b := &later.Blocks[i]
		u := unit{b: b, of: later.Outline}
		if changed != nil && changed.IsNew(b) {
			u.sign, u.pick = added, func(t *theme.Tokens) theme.Style { return t.Added }
		}
		c.units = append(c.units, u)
	}
	if changed != nil && len(changed.Dropped) > 0 {
		line(nil, "")
		line(sheet.Strong, "what the model no longer saw")
		for i := range earlier.Blocks {
			if b := &earlier.Blocks[i]; changed.IsDropped(b) {
				c.units = append(c.units, unit{b: b, of: earlier.Outline, sign: dropped, pick: func(t *theme.Tokens) theme.Style { return t.Removed }})
			}
		}
	}
	largest := 1
	for i := range c.units {
		if b := c.units[i].b; b != nil {
			largest = max(largest, b.Bytes)
		}
	}
	for i := range c.units {
		if u := &c.units[i]; u.b != nil {
			u.share = float64(u.b.Bytes) / float64(largest)
		}
	}
	return c
}

// row names a row: its unit; a page of the block's text, from 1, or 0 for the unit's own rows; and the line there.
type row struct{ unit, page, line int32 }

// Matches holds the units of the blocks that a search found, in their order.
type Matches = match.Found[int32]

// body is the text of a block, laid out as it is needed.
type body struct {
	*prose.Doc
	pages map[int32][]prose.Line
}

// Pane draws a request and keeps its cursor and folds. Make it with New. It is not safe for concurrent use.
type Pane struct {
	theme.Highlight
	styles *theme.Styles
	w      int
	c      *Content
	window walk.Window[row]

	folds   walk.Folds[int32]
	bodies  map[int32]*body
	lines   map[int32][]string // of the units without a block
	matches Matches
}

// New makes an empty tab.
func New(styles *theme.Styles) *Pane { return &Pane{styles: styles} }

// Title names the tab.
func (p *Pane) Title() string { return "Context" }

// Set shows a request from its first block; nil shows nothing.
func (p *Pane) Set(c *Content) {
	p.c, p.matches = c, Matches{}
	p.folds.SetAll(false)
	p.dropLayout()
	if c == nil {
		p.window.Clear()
		return
	}
	p.window.Top(p)
	p.window.Move(p, p.countHead())
}

// countHead returns the rows in front of the blocks.
func (p *Pane) countHead() (rows int) {
	for i := range p.c.heads {
		rows += len(p.textLines(int32(i)))
	}
	return rows
}

// dropLayout drops what is laid out.
func (p *Pane) dropLayout() { p.bodies, p.lines = map[int32]*body{}, map[int32][]string{} }

// Resize gives the tab its size in cells.
func (p *Pane) Resize(w, h int) {
	if w = max(w, 0); w != p.w {
		p.w = w
		p.dropLayout()
		if at, y, ok := p.window.Cursor(); ok { // its lines are other ones at another width
			p.window.Place(p, row{unit: at.unit, page: at.page}, y)
		}
	}
	p.window.Resize(p, h)
}

// Do carries out an action and reports whether it is one of the tab's.
func (p *Pane) Do(a keymap.Action) bool {
	if p.c == nil {
		return false
	}
	if p.window.Do(p, a) {
		return true
	}
	at, _, _ := p.window.Cursor()
	switch a {
	case keymap.NextMessage:
		p.jumpMessages(1)
	case keymap.PrevMessage:
		p.jumpMessages(-1)
	case keymap.Open:
		p.setOpen(!p.isOpen(at.unit))
	case keymap.Fold:
		p.setOpen(false)
	case keymap.Unfold:
		p.setOpen(true)
	case keymap.FoldAll, keymap.UnfoldAll:
		p.folds.SetAll(a == keymap.UnfoldAll)
		p.window.Place(p, row{unit: at.unit}, p.window.Height()/2)
	default:
		return false
	}
	return true
}

// jumpMessages moves the cursor by n messages: the system prompt and the tools together are one.
func (p *Pane) jumpMessages(n int) {
	at, _, ok := p.window.Cursor()
	if !ok {
		return
	}
	message := func(i int) (int, *request.Outline) {
		if b := p.c.units[i].b; b != nil {
			return b.Message, p.c.units[i].of
		}
		return -2, nil // a line
	}
	i := int(at.unit)
	from, of := message(i)
	for i+n >= 0 && i+n < len(p.c.units) {
		i += n
		if m, in := message(i); m != from || in != of {
			break
		}
	}
	m, in := message(i)
	for i > 0 { // to the first block of it
		if before, is := message(i - 1); before != m || is != in {
			break
		}
		i--
	}
	p.window.Place(p, row{unit: int32(i)}, p.window.Height()/4)
}

// opens reports whether something opens below the row of a unit.
func (u *unit) opens() bool { return u.b != nil || u.patch != "" }

func (p *Pane) isOpen(unit int32) bool {
	return p.c.units[unit].opens() && p.folds.IsOpen(unit)
}

// setOpen opens or closes the block under the cursor.
func (p *Pane) setOpen(open bool) {
	at, y, ok := p.window.Cursor()
	if !ok || !p.c.units[at.unit].opens() || p.isOpen(at.unit) == open {
		return
	}
	p.folds.TurnRow(at.unit)
	p.window.Place(p, row{unit: at.unit}, y)
}

// Click moves the cursor to row y; on the sign of a fold it folds.
func (p *Pane) Click(x, y int) {
	if p.window.Click(y) && x < signWidth {
		if at, _, _ := p.window.Cursor(); at.page == 0 {
			p.setOpen(!p.isOpen(at.unit))
		}
	}
}

// Wheel scrolls by n rows; the cursor stays in sight.
func (p *Pane) Wheel(n int) { p.window.Scroll(p, n) }

// Thumb returns the rows that the thumb of a scrollbar covers. It goes by units, for the rows are not counted.
func (p *Pane) Thumb() (from, to int) {
	return p.window.Thumb(p, func(first, last row) (int, int, int) { return int(first.unit), int(last.unit), len(p.c.units) })
}

// Status says where the cursor is.
func (p *Pane) Status() string {
	at, _, ok := p.window.Cursor()
	if !ok {
		return ""
	}
	u := &p.c.units[at.unit]
	switch {
	case u.b == nil:
		return model.Count(p.c.later.Messages(), "message")
	case u.b.Message < 0:
		return u.b.Kind.String()
	}
	return fmt.Sprintf("message %d of %d", u.b.Message+1, u.of.Messages())
}

// Value returns the text of the block under the cursor, or its JSON. It is untrusted; nil when nothing shows.
func (p *Pane) Value() []byte {
	at, _, ok := p.window.Cursor()
	if !ok || !p.c.units[at.unit].opens() {
		return nil
	}
	u := &p.c.units[at.unit]
	if u.b == nil {
		return []byte(u.patch)
	}
	if n := u.textNode(); n >= 0 {
		return []byte(u.of.Tape.Text(n))
	}
	return u.of.Tape.Raw(u.b.Node)
}

// Path returns the JSON Pointer of the block under the cursor in its request. It is untrusted.
func (p *Pane) Path() string {
	at, _, ok := p.window.Cursor()
	if !ok || p.c.units[at.unit].b == nil {
		return ""
	}
	u := &p.c.units[at.unit]
	return u.of.Tape.Pointer(u.b.Node)
}

// textNode returns the text that is all of a block, or a negative node.
func (u *unit) textNode() jsontape.Node {
	t, n := u.of.Tape, u.b.Node
	for _, key := range []string{"", "text", "content", "thinking"} {
		at := n
		if key != "" {
			at = t.Find(n, key)
		}
		if t.Kind(at) == jsontape.String && u.b.Kind != request.Tool && u.b.Kind != request.Call {
			return at
		}
	}
	return jsontape.None
}

// bodyOf returns the text of a block.
func (p *Pane) bodyOf(n int32) *body {
	if b := p.bodies[n]; b != nil {
		return b
	}
	u := &p.c.units[n]
	b := &body{u.layOut(), map[int32][]prose.Line{}}
	const most = 64
	if len(p.bodies) >= most {
		clear(p.bodies)
	}
	p.bodies[n] = b
	return b
}

// layOut returns the text that is all of a block, else its JSON; of a line what opens below it.
func (u *unit) layOut() *prose.Doc {
	if u.b == nil {
		return prose.Source("diff", u.patch)
	}
	t, at := u.of.Tape, u.textNode()
	switch n := max(at, u.b.Node); {
	case len(t.Raw(n)) > prose.LongestDoc:
		return prose.Spelled(prose.Of(t, n))
	case at >= 0:
		return prose.Source("", t.Text(at))
	}
	return prose.Source("json", string(splice.Pretty(t.Raw(u.b.Node))))
}

const (
	// signWidth is for the signs of a block and of its fold, and indent before the lines of its text.
	signWidth, indent = 4, 4
	// widest is how wide texts are wrapped.
	widest = 100
)

// linesOf returns the lines of a page of a block that is open.
func (p *Pane) linesOf(unit, page int32) []prose.Line {
	b := p.bodyOf(unit)
	if lines := b.pages[page]; lines != nil {
		return lines
	}
	lines := b.Lines(int(page)-1, max(1, min(p.w-indent-1, widest)), &p.styles.Glyphs)
	b.pages[page] = lines
	return lines
}

// textLines returns the rows of a line about the request.
func (p *Pane) textLines(unit int32) []string {
	lines := p.lines[unit]
	if lines == nil {
		lines = cell.Wrap(p.styles.Glyphs.Sentence(p.c.units[unit].text), max(1, min(p.w-2, widest)), " ")
		if len(lines) == 0 {
			lines = []string{""}
		}
		p.lines[unit] = lines
	}
	return lines
}

// countLines returns how many rows a page of a unit has.
func (p *Pane) countLines(r row) int32 {
	switch {
	case r.page > 0:
		return int32(len(p.linesOf(r.unit, r.page)))
	case p.c.units[r.unit].b == nil:
		return int32(len(p.textLines(r.unit)))
	}
	return 1
}

// lastPageOf returns the last page of a unit.
func (p *Pane) lastPageOf(unit int32) int32 {
	if !p.isOpen(unit) {
		return 0
	}
	return int32(p.bodyOf(unit).Pages())
}

// Next returns the row after r.
func (p *Pane) Next(r row) (row, bool) {
	switch {
	case r.line+1 < p.countLines(r):
		r.line++
	case r.page < p.lastPageOf(r.unit):
		r = row{r.unit, r.page + 1, 0}
	case int(r.unit)+1 < len(p.c.units):
		r = row{unit: r.unit + 1}
	default:
		return r, false
	}
	return r, true
}

// Prev returns the row before r.
func (p *Pane) Prev(r row) (row, bool) {
	switch {
	case r.line > 0:
		r.line--
		return r, true
	case r.page > 0:
		r.page--
	case r.unit > 0:
		r = row{unit: r.unit - 1, page: p.lastPageOf(r.unit - 1)}
	default:
		return r, false
	}
	r.line = p.countLines(r) - 1
	return r, true
}

// First returns the first row.
func (p *Pane) First() (row, bool) { return row{}, p.c != nil && len(p.c.units) > 0 }

// Last returns the last row.
func (p *Pane) Last() (row, bool) {
	if p.c == nil || len(p.c.units) == 0 {
		return row{}, false
	}
	r := row{unit: int32(len(p.c.units)) - 1}
	r.page = p.lastPageOf(r.unit)
	r.line = p.countLines(r) - 1
	return r, true
}

// Find searches the blocks for a text. A match is a block. It is linear in the size of the request, so it belongs in a
// command. The rest is as with [match.Find].
func Find(ctx context.Context, c *Content, text string) (Matches, error) {
	if c == nil {
		return Matches{}, ctx.Err()
	}
	return match.Find(ctx, text, len(c.units), func(q match.Query, i int, add func(int32)) {
		u := &c.units[i]
		if u.b == nil {
			return
		}
		if q.InKey(u.of.Tape, u.b.Node) || q.InTree(u.of.Tape, u.b.Node) {
			add(int32(i))
		}
	})
}

// SetMatches shows what a search in the content found, and moves the cursor to the first match at or after it, going
// round at the end. It reports whether there is one.
func (p *Pane) SetMatches(m Matches) bool {
	p.matches = m
	at, _ := p.Match(0)
	return at > 0
}

// Match moves the cursor by n matches, going round at the ends. It returns the number of the match from 1 and the number
// of matches, 0 and 0 without matches.
func (p *Pane) Match(n int) (at, of int) {
	here, _, _ := p.window.Cursor()
	i, on := slices.BinarySearch(p.matches.At, here.unit)
	return p.matches.ShowMatch(i, on, n, p.showMatch)
}

// showMatch opens a block that holds the query, and moves the cursor to the first line that shows it.
func (p *Pane) showMatch(unit int32) {
	if !p.isOpen(unit) {
		p.folds.TurnRow(unit)
	}
	b, to := p.bodyOf(unit), row{unit: unit}
	for page := range b.Pages() {
		if !b.Holds(page, p.matches.Query) {
			continue
		}
		to.page = int32(page + 1)
		to.line = int32(max(0, slices.IndexFunc(p.linesOf(unit, to.page), func(l prose.Line) bool { return p.matches.Query.InString(l.String()) })))
		break
	}
	p.window.Place(p, to, p.window.Height()/2)
}

// barWidth is how wide the bar of a block is; kindWidth and sizeWidth are for the words beside it.
const barWidth, kindWidth, sizeWidth = 10, 8, 8

// AppendRow appends row y, of exactly as many cells as there are.
func (p *Pane) AppendRow(dst []byte, y int) []byte {
	r := cell.Begin(dst, &p.styles.Glyphs, p.w)
	rows := p.window.Rows()
	if y < 0 || y >= len(rows) {
		return r.End(p.styles.Text)
	}
	at := rows[y]
	_, under, _ := p.window.Cursor()
	tokens, sign := p.RowStyle(p.styles, y == under)
	u := &p.c.units[at.unit]
	switch {
	case u.b == nil && at.page == 0:
		r.Put(tokens.Text, sign)
		text := ""
		if u.pick != nil {
			text = p.textLines(at.unit)[at.line]
		}
		if u.patch != "" && at.line == 0 { // in the place of the indent
			r.Put(tokens.Punct, p.foldSign(at.unit))
			text = strings.TrimPrefix(text, " ")
		}
		if text != "" {
			r.Put(u.pick(tokens), text)
		}
	case at.page == 0:
		p.drawBlock(&r, tokens, sign, u, p.foldSign(at.unit))
	default:
		r.Put(tokens.Text, sign)
		r.Fill(tokens.Text, indent-1)
		p.linesOf(at.unit, at.page)[at.line].Draw(&r, p.styles, tokens, tokens.Text, p.matches.Query)
	}
	return r.End(tokens.Text)
}

// foldSign returns the sign of the fold of a unit.
func (p *Pane) foldSign(unit int32) string {
	if p.isOpen(unit) {
		return p.styles.Glyphs.Open
	}
	return p.styles.Glyphs.Closed
}

// drawBlock draws the row of a block, with the sign of its fold.
func (p *Pane) drawBlock(r *cell.Row, tokens *theme.Tokens, sign string, u *unit, fold string) {
	g := &p.styles.Glyphs
	r.Put(tokens.Text, sign)
	mark, style := " ", tokens.Text
	switch u.sign {
	case added:
		mark, style = g.Added, u.pick(tokens)
	case dropped:
		mark, style = g.Removed, u.pick(tokens)
	}
	r.Put(style, mark)
	r.Put(tokens.Punct, fold)
	r.Fill(tokens.Text, 1)
	r.Column(kindStyle(tokens, u.b.Kind), u.b.Kind.String(), kindWidth)
	r.ColumnRight(tokens.Muted, string(model.AppendSize(nil, int64(u.b.Bytes))), sizeWidth)
	r.Fill(tokens.Text, 1)
	if r.Room() > barWidth+leastTitle {
		bar := g.DrawBlocks(u.share, barWidth)
		r.Put(tokens.Number, bar)
		r.Fill(tokens.Text, barWidth-cell.Width(bar)+1)
	}
	if u.b.Name != "" && u.b.Kind != request.Call {
		r.Put(tokens.Tool, u.b.Name)
		r.Fill(tokens.Text, 2)
	}
	r.Put(tokens.Text, u.b.Title)
}

// leastTitle is how many cells a title has before there is a bar.
const leastTitle = 20

// kindStyle returns the style of a kind of block: that of who speaks.
func kindStyle(t *theme.Tokens, k request.Kind) theme.Style {
	switch k {
	case request.System, request.Context:
		return t.System
	case request.Prompt:
		return t.User
	case request.Answer, request.Thought:
		return t.Assistant
	case request.Tool, request.Call, request.Result:
		return t.Tool
	}
	return t.Muted
}
