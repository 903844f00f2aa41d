package dialog

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/model"
	"hindcast/tui/cell"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

const (
	// widest is how wide a dialog grows: longer lines are hard to read.
	widest = 96
	// sides are the border and a space on both sides.
	sides = 4
	// frame are the rows above and below the text: the two borders, and the
	// foot with the empty row that sets it off.
	frame = 4
	// besideTitle are the cells of the upper border that its title cannot have.
	besideTitle = 6
)

// span is text in one style.
type span struct {
	pick sheet.Pick
	text string
}

// box is the frame of every dialog: a border with a title, a sheet of text, and a foot that names the keys.
// Some dialogs have text that always stays in sight below the sheet, under a line with a heading.
type box struct {
	styles    *theme.Styles
	title     string
	brief     string // title with fewer cells, for where that does not fit; "" for none
	text      *sheet.Sheet
	kept      *sheet.Sheet // what stays in sight, nil for nothing
	keptTitle string
	keptRows  int // of it that there is room for
	// keptFixed is how many rows it takes whatever is in it, so that the dialog keeps
	// its size while that changes; 0 for as many as it has.
	keptFixed  int
	foot       []span
	notice     []span // above the foot
	w, h       int
	maxW, maxH int
}

// Items returns the choices: none.
func (b *box) Items() []Item { return nil }

// HoldsItems reports whether row y is of a list of choices.
func (b *box) HoldsItems(int) bool { return false }

// leastText is how many rows of the text show beside what stays in sight.
const leastText = 3

// Resize says how much room there is and lays the text out anew.
func (b *box) Resize(maxW, maxH int) {
	b.maxW, b.maxH = maxW, maxH
	b.w = max(min(maxW, widest), 0)
	room := max(maxH-frame, 0)
	kept := b.fitKept(room)
	text := room - kept
	b.text.Resize(b.w-sides, text)
	if n := b.text.Len(); n < text {
		text = n
		b.text.Resize(b.w-sides, text)
	}
	b.h = min(text+kept+frame, maxH)
}

// fitKept sizes the text that stays in sight, up to half of the room. It returns the number of its rows, with
// the line above.
func (b *box) fitKept(room int) int {
	b.keptRows = 0
	if b.kept == nil {
		return 0
	}
	b.kept.Resize(b.w-sides, room)
	rows := min(b.kept.Len(), room/2)
	if b.keptFixed > 0 {
		rows = min(b.keptFixed, room/2)
	}
	if rows == 0 || room-rows-1 < leastText {
		return 0
	}
	b.keptRows = rows
	b.kept.Resize(b.w-sides, rows)
	return rows + 1
}

// Size returns the cells that the dialog takes.
func (b *box) Size() (w, h int) { return b.w, b.h }

// Wheel scrolls by n rows.
func (b *box) Wheel(n int) { b.text.Wheel(n) }

// AppendRow appends row y of the dialog: exactly as many cells as Size says.
func (b *box) AppendRow(dst []byte, y int) []byte {
	g := &b.styles.Glyphs
	r := cell.Begin(dst, g, b.w)
	switch y {
	case 0:
		title := b.title
		if b.brief != "" && cell.Width(title) > b.w-besideTitle {
			title = b.brief
		}
		b.drawEdge(&r, g.TopLeft, title, g.TopRight)
	case b.h - 1:
		b.drawEdge(&r, g.BottomLeft, b.text.Status(), g.BottomRight)
	case b.h - 2:
		b.drawLine(&r, b.foot)
	case b.h - 3:
		b.drawLine(&r, b.notice)
	default:
		b.drawBody(&r, y-1)
	}
	return r.End(b.styles.Text)
}

// drawBody draws row y between the title and the foot.
func (b *box) drawBody(r *cell.Row, y int) {
	rule := b.h - frame - b.keptRows // of the rows from 1
	switch {
	case b.keptRows == 0 || y < rule-1:
		b.drawInside(r, func(dst []byte, _ int) []byte { return b.text.AppendRow(dst, y) })
	case y == rule-1:
		b.drawInside(r, func(dst []byte, w int) []byte {
			in := cell.Begin(dst, &b.styles.Glyphs, w)
			in.Put(b.styles.Muted, b.keptTitle+" ")
			more := b.kept.Status()
			in.Repeat(b.styles.Border, b.styles.Glyphs.Horizontal, in.Room()-cell.Width(more)-1)
			in.Put(b.styles.Muted, " "+more)
			return in.End(b.styles.Text)
		})
	default:
		b.drawInside(r, func(dst []byte, _ int) []byte { return b.kept.AppendRow(dst, y-rule) })
	}
}

// drawLine draws spans between the borders.
func (b *box) drawLine(r *cell.Row, spans []span) {
	b.drawInside(r, func(dst []byte, w int) []byte {
		in := cell.Begin(dst, &b.styles.Glyphs, w)
		for i, s := range spans {
			if i == len(spans)-1 {
				s.text = strings.TrimRight(s.text, " ") // what follows it would be cut for nothing
			}
			in.Put(s.pick(&b.styles.Tokens), s.text)
		}
		return in.End(b.styles.Text)
	})
}

// drawEdge draws a border with a title in it.
func (b *box) drawEdge(r *cell.Row, left, title, right string) {
	r.Put(b.styles.Focus, left)
	r.Repeat(b.styles.Focus, b.styles.Glyphs.Horizontal, min(1, r.Room()-1))
	if title != "" && r.Room() > 4 {
		r.Put(b.styles.Text, " ")
		r.Column(b.styles.Title, title, min(cell.Width(title), r.Room()-3))
		r.Put(b.styles.Text, " ")
	}
	r.Repeat(b.styles.Focus, b.styles.Glyphs.Horizontal, r.Room()-1)
	r.Put(b.styles.Focus, right)
}

// drawInside draws the borders at both ends and what stands between them, which
// draw appends in exactly w cells.
func (b *box) drawInside(r *cell.Row, draw func(dst []byte, w int) []byte) {
	r.Put(b.styles.Focus, b.styles.Glyphs.Vertical)
	r.Fill(b.styles.Text, 1)
	if w := b.w - sides; w >= 0 {
		r.Append(theme.Style{}, w, func(dst []byte) []byte { return draw(dst, w) })
	}
	r.Fill(b.styles.Text, 1)
	r.Put(b.styles.Focus, b.styles.Glyphs.Vertical)
}

// Type takes a key that is not bound to an action: nothing, but for dialogs with text to
// type.
func (b *box) Type(tea.KeyMsg) {}

// Arm lets keys answer: nothing, but for dialogs that open unarmed.
func (b *box) Arm() {}

// NoteHead says where the head of a session is now: nothing, but for dialogs that rest on it.
func (b *box) NoteHead(string, model.Ref) {}
