package difftab

import (
	"hindcast/diff"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/prose"
)

// Next gives the row after r.
func (p *Pane) Next(r row) (row, bool) {
	if int(r.line) < p.lines(r.entry) {
		return row{r.entry, r.line + 1}, true
	}
	next := r.entry + 1
	if p.folded(r.entry) {
		next = p.c.result.Entries[r.entry].End
	}
	return row{entry: next}, int(next) < len(p.c.result.Entries)
}

// Prev gives the row before r.
func (p *Pane) Prev(r row) (row, bool) {
	if r.line > 0 {
		return row{r.entry, r.line - 1}, true
	}
	if r.entry == p.firstEntry() {
		return r, false
	}
	entry := p.visible(r.entry - 1)
	return row{entry, int32(p.lines(entry))}, true
}

// firstEntry is the first one that has a row: the root has none when the
// changes are inside it.
func (p *Pane) firstEntry() int32 {
	if p.c.result.Entries[0].Op == diff.Within && len(p.c.result.Entries) > 1 {
		return 1
	}
	return 0
}

// First gives the first row.
func (p *Pane) First() (row, bool) {
	if p.c == nil || len(p.c.result.Entries) == 0 {
		return row{}, false
	}
	return row{entry: p.firstEntry()}, true
}

// Last gives the last row.
func (p *Pane) Last() (row, bool) {
	if p.c == nil || len(p.c.result.Entries) == 0 {
		return row{}, false
	}
	entry := p.visible(int32(len(p.c.result.Entries)) - 1)
	return row{entry, int32(p.lines(entry))}, true
}

// group reports whether an entry has others inside.
func (p *Pane) group(entry int32) bool { return p.c.result.Entries[entry].End > entry+1 }

// depth gives how far in an entry stands.
func (p *Pane) depth(entry int32) int {
	return int(p.c.result.Entries[entry].Depth - p.c.result.Entries[p.firstEntry()].Depth)
}

// folded reports whether a fold hides what is inside an entry.
func (p *Pane) folded(entry int32) bool {
	if !p.group(entry) || p.depth(entry) < 0 {
		return false
	}
	_, turned := p.turned[entry]
	return p.folds == top != turned
}

// opened reports whether a value shows all of itself.
func (p *Pane) opened(entry int32) bool {
	_, turned := p.turned[entry]
	open := p.folds == everything || p.folds == groups && p.c.first
	return !p.group(entry) && open != turned
}

// visible gives the outermost fold that hides an entry, or the entry itself.
func (p *Pane) visible(entry int32) int32 {
	for at := p.c.result.Entries[entry].Parent; at >= 0; at = p.c.result.Entries[at].Parent {
		if p.folded(at) {
			entry = at
		}
	}
	return entry
}

// detail is what an opened entry shows below its row.
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

// lines gives the rows that an entry shows below its own.
func (p *Pane) lines(entry int32) int {
	if !p.opened(entry) || !p.openable(entry) {
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
		return &detail{text: p.textRows(d, p.width(entry))}
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
		for _, line := range text.Lines(page, p.width(entry)) {
			d.text = append(d.text, textRow{op: op, bits: []diff.TextSpan{{Op: diff.Same, Text: line}}})
		}
	}
	if text.Pages() > longValue {
		d.text = append(d.text, textRow{op: op, note: "the rest is left out; see the State tab"})
	}
}

// openable reports whether an entry is a value that has more to show than its
// row.
func (p *Pane) openable(entry int32) bool {
	e := &p.c.result.Entries[entry]
	switch {
	case p.group(entry) || e.Op == diff.Respelled:
		return false
	case p.c.texts[entry] != nil:
		return true
	}
	return large(p.c.old.tape, e.Old) || large(p.c.new.tape, e.New)
}

// large reports whether a value takes more than a row.
func large(t *jsontape.Tape, s diff.Span) bool {
	if s.Start == s.End {
		return false
	}
	n := nodeAt(t, s)
	return t.First(n) != jsontape.None || isString(t, n) && prose.Of(t, n).Len() >= shortText
}

// toggle opens or closes what is under the cursor.
func (p *Pane) toggle() {
	at, y, ok := p.window.Cursor()
	if !ok || !p.group(at.entry) && !p.openable(at.entry) {
		return
	}
	if _, turned := p.turned[at.entry]; turned {
		delete(p.turned, at.entry)
	} else {
		p.turned[at.entry] = struct{}{}
	}
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
	if p.lines(at.entry) > 0 || p.group(at.entry) && !p.folded(at.entry) {
		p.toggle()
		return
	}
	if parent := p.c.result.Entries[at.entry].Parent; parent >= p.firstEntry() {
		p.Select(parent)
		p.toggle()
	}
}

// unfold opens what is under the cursor.
func (p *Pane) unfold() {
	at, _, ok := p.window.Cursor()
	if ok && (p.folded(at.entry) || !p.group(at.entry) && !p.opened(at.entry)) {
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
	p.window.Place(p, row{entry: p.visible(at.entry)}, y)
}

// Select moves the cursor to an entry and unfolds what hides it.
func (p *Pane) Select(entry int32) {
	for at := p.c.result.Entries[entry].Parent; at >= 0; at = p.c.result.Entries[at].Parent {
		if !p.folded(at) {
			continue
		}
		if _, turned := p.turned[at]; turned {
			delete(p.turned, at)
		} else {
			p.turned[at] = struct{}{}
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
