package difftab

import (
	"strings"

	"hindcast/diff"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/printable"
	"hindcast/tui/cell"
	"hindcast/tui/prose"
)

// Next returns the row after r.
func (p *Pane) Next(r row) (row, bool) {
	if int(r.line) < p.linesOf(r.entry) {
		return row{r.entry, r.line + 1}, true
	}
	next := r.entry + 1
	if p.isFolded(r.entry) {
		next = p.c.result.Entries[r.entry].End
	}
	if int(next) == len(p.c.result.Entries) {
		return row{entry: next}, false
	}
	return row{entry: p.c.rowEntry(next)}, true
}

// Prev returns the row before r.
func (p *Pane) Prev(r row) (row, bool) {
	if r.line > 0 {
		return row{r.entry, r.line - 1}, true
	}
	if r.entry == p.firstEntry() {
		return r, false
	}
	entry := r.entry - 1
	for p.c.isHidden(entry) {
		entry--
	}
	entry = p.visibleEntry(entry)
	return row{entry, int32(p.linesOf(entry))}, true
}

// firstEntry is the first one that has a row.
func (p *Pane) firstEntry() int32 { return p.c.rowEntry(0) }

// First returns the first row.
func (p *Pane) First() (row, bool) {
	if p.c == nil || len(p.c.result.Entries) == 0 {
		return row{}, false
	}
	return row{entry: p.firstEntry()}, true
}

// Last returns the last row.
func (p *Pane) Last() (row, bool) {
	if p.c == nil || len(p.c.result.Entries) == 0 {
		return row{}, false
	}
	entry := p.visibleEntry(int32(len(p.c.result.Entries)) - 1)
	return row{entry, int32(p.linesOf(entry))}, true
}

// isGroup reports whether an entry has others inside.
func (p *Pane) isGroup(entry int32) bool { return p.c.result.Entries[entry].End > entry+1 }

// depthOf returns how far in an entry stands.
func (p *Pane) depthOf(entry int32) int { return int(p.c.depth[entry]) }

// isFolded reports whether a fold hides what is inside an entry.
func (p *Pane) isFolded(entry int32) bool {
	if !p.isGroup(entry) || p.c.isHidden(entry) {
		return false
	}
	folded := p.folds == top || p.folds == groups && p.c.result.Entries[entry].Op == diff.Aside
	return folded != p.turned.Has(entry)
}

// isOpen reports whether a value shows all of itself.
func (p *Pane) isOpen(entry int32) bool {
	open := p.folds == everything || p.folds == groups && (p.c.first || p.c.isShort() && p.isMessage(entry))
	return !p.isGroup(entry) && open != p.turned.Has(entry)
}

// visibleEntry returns the outermost fold that hides an entry, or the entry itself.
func (p *Pane) visibleEntry(entry int32) int32 {
	for at := p.c.outer[entry]; at >= 0; at = p.c.outer[at] {
		if p.isFolded(at) {
			entry = at
		}
	}
	return entry
}

// detail holds the rows below an opened entry.
type detail struct {
	text []textRow
	// Without a text: the values of one or two trees.
	trees []tree
}

// textRow is a row of a text diff, cut to the width that it has: that of the
// tab or, with another row on its right, half of it.
type textRow struct {
	op    diff.TextOp
	bits  []diff.TextSpan
	note  string
	other *textRow
	half  int
}

// tree is the rows of a value: one for each value inside or, of a list of
// messages, one for each message.
type tree struct {
	op          diff.TextOp
	tape        *jsontape.Tape
	root, first jsontape.Node
	messages    *conversation.Conversation
}

func (t *tree) len() int {
	if t.messages != nil {
		return t.tape.Count(t.root)
	}
	return int(t.tape.End(t.root) - t.first)
}

func newTree(op diff.TextOp, s *side, root jsontape.Node) tree {
	v := tree{op: op, tape: s.tape, root: root, first: root}
	if s.tape.First(root) != jsontape.None {
		v.first++
	}
	if root == s.conv.List() {
		v.messages = s.conv
	}
	return v
}

// linesOf returns the rows that an entry shows below its own.
func (p *Pane) linesOf(entry int32) int {
	if !p.isOpen(entry) || !p.isOpenable(entry) {
		return 0
	}
	d := p.detail(entry)
	n := len(d.text)
	for i := range d.trees {
		n += d.trees[i].len()
	}
	return n
}

// maxDetails bounds the details that are kept laid out.
const maxDetails = 256

func (p *Pane) detail(entry int32) *detail {
	d := p.details[entry]
	if d == nil {
		if len(p.details) >= maxDetails {
			clear(p.details)
		}
		d = p.layOut(entry)
		p.details[entry] = d
	}
	return d
}

// layOut works out what an opened entry shows.
func (p *Pane) layOut(entry int32) *detail {
	e := &p.c.result.Entries[entry]
	if d := p.c.texts[entry]; d != nil {
		return &detail{text: p.textRows(d, p.textWidth(entry))}
	}
	if p.isMessage(entry) {
		return &detail{text: p.saidRows(entry)}
	}
	d := &detail{}
	if e.Op == diff.Replaced || e.Op == diff.Removed {
		p.addValue(d, entry, diff.Deleted, &p.c.old, e.Old)
	}
	if e.Op != diff.Removed && e.Op != diff.Respelled {
		op := diff.Inserted
		if e.Op == diff.Moved {
			op = diff.Same
		}
		p.addValue(d, entry, op, &p.c.new, e.New)
	}
	return d
}

// longValue bounds the pages of a text that is shown whole.
const longValue = 4

// addValue adds a whole value: the lines of a text, or a tree.
func (p *Pane) addValue(d *detail, entry int32, op diff.TextOp, s *side, at diff.Span) {
	n := nodeAt(s.tape, at)
	if !isString(s.tape, n) {
		d.trees = append(d.trees, newTree(op, s, n))
		return
	}
	text := prose.Of(s.tape, n)
	for page := range min(text.Pages(), longValue) {
		for _, line := range text.Lines(page, p.textWidth(entry)) {
			d.text = append(d.text, textRow{op: op, bits: []diff.TextSpan{{Op: diff.Same, Text: line}}})
		}
	}
	if text.Pages() > longValue {
		d.text = append(d.text, textRow{op: op, note: "the rest is left out; see the State tab"})
	}
}

// mostShort is how many changes there are in a short diff: its messages show
// their texts, for there is room.
const mostShort = 8

func (c *Content) isShort() bool { return len(c.changes) <= mostShort }

// isMessage reports whether an entry is a message that came or went.
func (p *Pane) isMessage(entry int32) bool {
	e := &p.c.result.Entries[entry]
	if e.Op != diff.Added && e.Op != diff.Removed {
		return false
	}
	_, m := p.c.messageOf(e)
	return m >= 0
}

// fitsRow reports whether the row of a message shows all that it says: one short
// text.
func (p *Pane) fitsRow(entry int32) bool {
	conv, m := p.c.messageOf(&p.c.result.Entries[entry])
	blocks := conv.Blocks(m)
	return len(blocks) == 1 && blocks[0].Kind == conversation.Text && blocks[0].Body >= 0 &&
		len(conv.Tape().Raw(blocks[0].Body)) < p.textWidth(entry)-16
}

// mostSaid bounds the blocks and the parts of a message that are shown.
const mostSaid = 50

// longestCompact bounds the bytes of a value that is spelled without white space.
const longestCompact = 64 << 10

// saidRows lays out what a message says, for reading.
func (p *Pane) saidRows(entry int32) []textRow {
	conv, m := p.c.messageOf(&p.c.result.Entries[entry])
	t, arrow := conv.Tape(), p.styles.Glyphs.Arrow
	var rows []textRow
	add := func(lead string, n jsontape.Node) {
		if !isString(t, n) {
			raw := t.Raw(n)
			if len(raw) <= longestCompact {
				raw = jsontape.AppendCompact(nil, raw)
			}
			text := cutText(lead + string(raw[:min(len(raw), longestBit)]))
			rows = appendWrapped(rows, textLine{op: diff.Same, bits: []diff.TextSpan{{Op: diff.Same, Text: text}}}, p.textWidth(entry))
			return
		}
		text, first := prose.Of(t, n), true
		for page := range min(text.Pages(), longValue) {
			for _, line := range text.Lines(page, max(1, p.textWidth(entry)-cell.Width(lead))) {
				if !first {
					lead = strings.Repeat(" ", cell.Width(lead))
				}
				rows, first = append(rows, textRow{op: diff.Same, bits: []diff.TextSpan{{Op: diff.Same, Text: lead + line}}}), false
			}
		}
		if text.Pages() > longValue {
			rows = append(rows, textRow{op: diff.Same, note: "the rest is left out; see the Messages tab"})
		}
	}
	for i, b := range conv.Blocks(m) {
		if i == mostSaid {
			break
		}
		switch {
		case b.Kind == conversation.ToolCall && b.Body >= 0:
			add("call "+printable.String(conv.ToolName(&b))+" ", b.Body)
		case b.Kind == conversation.ToolResult:
			parts := 0
			for part := range conv.Parts(&b) {
				if parts++; parts <= mostSaid && part.Body >= 0 && !conv.IsEncrypted(&part) {
					add(arrow+" ", part.Body)
				}
			}
		case b.Body >= 0 && !conv.IsEncrypted(&b) && (b.Kind == conversation.Text || b.Kind == conversation.Guard || b.Kind == conversation.JSON):
			add("", b.Body)
		default:
			rows = append(rows, textRow{op: diff.Same, note: printable.String(conv.Label(&b))})
		}
	}
	return rows
}

// isOpenable reports whether an entry is a value that has more to show than its
// row.
func (p *Pane) isOpenable(entry int32) bool {
	e := &p.c.result.Entries[entry]
	switch {
	case p.isGroup(entry) || e.Op == diff.Respelled:
		return false
	case p.c.texts[entry] != nil:
		return true
	case p.isMessage(entry):
		return !p.fitsRow(entry)
	}
	return isLarge(p.c.old.tape, e.Old) || isLarge(p.c.new.tape, e.New)
}

// isLarge reports whether a value takes more than a row.
func isLarge(t *jsontape.Tape, s diff.Span) bool {
	if s.Start == s.End {
		return false
	}
	n := nodeAt(t, s)
	return t.First(n) != jsontape.None || isString(t, n) && prose.Of(t, n).Len() >= shortText
}

// toggle opens or closes what is under the cursor.
func (p *Pane) toggle() {
	at, y, ok := p.window.Cursor()
	if !ok || !p.isGroup(at.entry) && !p.isOpenable(at.entry) {
		return
	}
	p.turned.Flip(at.entry)
	if at.line > 0 {
		y -= int(at.line)
	}
	p.window.Place(p, row{entry: at.entry}, y)
}

// fold closes what is under the cursor, or the group that it is in.
func (p *Pane) fold() {
	at, _, ok := p.window.Cursor()
	if !ok {
		return
	}
	if p.linesOf(at.entry) > 0 || p.isGroup(at.entry) && !p.isFolded(at.entry) {
		p.toggle()
		return
	}
	if parent := p.c.outer[at.entry]; parent >= 0 {
		p.Select(parent)
		p.toggle()
	}
}

// unfold opens what is under the cursor.
func (p *Pane) unfold() {
	at, _, ok := p.window.Cursor()
	if ok && (p.isFolded(at.entry) || !p.isGroup(at.entry) && !p.isOpen(at.entry)) {
		p.toggle()
	}
}

// unfoldAll shows all changes, and then all values.
func (p *Pane) unfoldAll() {
	if p.folds == top {
		p.setFolds(groups)
		return
	}
	p.setFolds(everything)
}

func (p *Pane) setFolds(f folds) {
	p.folds = f
	p.forget()
	p.refresh()
}

func (p *Pane) setContext(lines int) {
	p.context = lines
	clear(p.details)
	p.refresh()
}

// refresh shows the cursor's entry again after folds or details changed.
func (p *Pane) refresh() {
	at, y, ok := p.window.Cursor()
	if !ok {
		return
	}
	p.window.Place(p, row{entry: p.visibleEntry(at.entry)}, y)
}

// Select moves the cursor to an entry and unfolds what hides it.
func (p *Pane) Select(entry int32) {
	entry = p.c.rowEntry(entry)
	for at := p.c.outer[entry]; at >= 0; at = p.c.outer[at] {
		if p.isFolded(at) {
			p.turned.Flip(at)
		}
	}
	y := p.window.Height() / 2
	for i, r := range p.window.Rows() {
		if r.entry == entry && r.line == 0 {
			y = i
		}
	}
	p.window.Place(p, row{entry: entry}, y)
}
