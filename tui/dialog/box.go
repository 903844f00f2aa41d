package dialog

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hindcast/keymap"
	"hindcast/model/printable"
	"hindcast/tui/cell"
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
	// longest bounds the bytes of one paragraph.
	longest = 1 << 16
)

// pick chooses a token, so that a row can be drawn under the cursor too.
type pick func(*theme.Tokens) theme.Style

// span is text in one style.
type span struct {
	pick pick
	text string
}

// paragraph is a label and a text that is wrapped beside it. The text is
// untrusted.
type paragraph struct {
	label     string
	labelPick pick
	text      string
	pick      pick
	// wide says that the text begins where labels do: a heading, in one row.
	wide bool
}

// row is one row of text, ready to be drawn.
type row struct {
	label     string
	labelPick pick
	text      string
	pick      pick
	wide      bool
}

// box is what every dialog is drawn in: a border with a title, text that
// scrolls, and a foot that says which keys answer.
type box struct {
	styles     *theme.Styles
	title      string
	paragraphs []paragraph
	foot       []span
	// labels is the width of the column of labels, 0 for none.
	labels int
	// selects says that a row has the cursor, rather than that text scrolls.
	selects bool

	window     cell.Window
	rows       []row
	w          int
	maxW, maxH int
}

// Resize says how much room there is and lays the text out anew.
func (b *box) Resize(maxW, maxH int) {
	b.maxW, b.maxH = maxW, maxH
	b.layout()
}

// layout wraps the paragraphs into rows.
func (b *box) layout() {
	b.w = max(min(b.maxW, widest), 0)
	b.labels = 0
	for i := range b.paragraphs {
		b.labels = max(b.labels, cell.Width(b.paragraphs[i].label))
	}
	b.labels = min(b.labels, max(b.w-sides, 0)/2)
	width := b.w - sides
	if b.labels > 0 {
		width -= b.labels + 2
	}
	b.rows = b.rows[:0]
	for i := range b.paragraphs {
		b.wrap(&b.paragraphs[i], max(width, 1))
	}
	b.window.Len = len(b.rows)
	b.window.Resize(max(min(len(b.rows), b.maxH-frame), 0))
}

// wrap lays one paragraph out. A short one, as most are, is one row.
func (b *box) wrap(p *paragraph, width int) {
	label := p.label
	add := func(text string) {
		b.rows = append(b.rows, row{label, p.labelPick, text, p.pick, p.wide})
		label = ""
	}
	if p.wide || len(p.text) <= width && !strings.Contains(p.text, "\n") && cell.Width(p.text) <= width {
		add(p.text)
		return
	}
	text := p.text
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + " … cut here"
	}
	for line := range strings.SplitSeq(ansi.Wrap(printable.Text(text), width, "/"), "\n") {
		add(line)
	}
}

// Size gives the cells that the dialog takes.
func (b *box) Size() (w, h int) {
	return b.w, min(b.window.Height+frame, b.maxH)
}

// Wheel scrolls by n rows.
func (b *box) Wheel(n int) {
	if b.selects {
		b.window.Move(n)
		return
	}
	b.window.Scroll(n)
}

// move carries out the actions that move; it reports whether a was one.
func (b *box) move(a keymap.Action) bool {
	step := b.window.Move
	if !b.selects {
		step = b.window.Scroll
	}
	switch a {
	case keymap.MoveDown:
		step(1)
	case keymap.MoveUp:
		step(-1)
	case keymap.HalfDown:
		step(max(b.window.Height/2, 1))
	case keymap.HalfUp:
		step(-max(b.window.Height/2, 1))
	case keymap.PageDown:
		step(max(b.window.Height, 1))
	case keymap.PageUp:
		step(-max(b.window.Height, 1))
	case keymap.Top:
		step(-b.window.Len)
	case keymap.Bottom:
		step(b.window.Len)
	default:
		return false
	}
	return true
}

// AppendRow appends row y of the dialog: exactly as many cells as Size says.
func (b *box) AppendRow(dst []byte, y int) []byte {
	_, h := b.Size()
	r := cell.Begin(dst, &b.styles.Glyphs, b.w)
	switch {
	case y == 0:
		b.edge(&r, b.styles.Glyphs.TopLeft, b.title, b.styles.Glyphs.TopRight)
	case y == h-1:
		b.edge(&r, b.styles.Glyphs.BottomLeft, b.position(), b.styles.Glyphs.BottomRight)
	default:
		b.inside(&r, func(in *cell.Row) {
			switch {
			case y-1 < b.window.Height:
				b.text(in, b.window.Top+y-1)
			case y == h-2:
				for _, s := range b.foot {
					in.Put(s.pick(&b.styles.Tokens), s.text)
				}
			}
		})
	}
	return r.End(b.styles.Text)
}

// edge draws a border with a title in it.
func (b *box) edge(r *cell.Row, left, title, right string) {
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

// inside draws the borders at both ends and what stands between them. The
// inner row is built apart, so that it cannot run into the border.
func (b *box) inside(r *cell.Row, draw func(in *cell.Row)) {
	r.Put(b.styles.Focus, b.styles.Glyphs.Vertical)
	r.Fill(b.styles.Text, 1)
	width := r.Room() - 2
	r.Drawn(theme.Style{}, max(width, 0), func(dst []byte) []byte {
		in := cell.Begin(dst, &b.styles.Glyphs, width)
		draw(&in)
		return in.End(b.styles.Text)
	})
	r.Fill(b.styles.Text, 1)
	r.Put(b.styles.Focus, b.styles.Glyphs.Vertical)
}

// text draws row i of the text.
func (b *box) text(r *cell.Row, i int) {
	if i >= len(b.rows) {
		return
	}
	tokens := &b.styles.Tokens
	if b.selects && i == b.window.Cursor {
		tokens = b.styles.Selected
	}
	line := &b.rows[i]
	if b.labels > 0 && !line.wide {
		r.Column(chosen(line.labelPick, tokens), line.label, b.labels)
		r.Fill(tokens.Text, 2)
	}
	r.Put(chosen(line.pick, tokens), line.text)
	r.Fill(tokens.Text, r.Room())
}

func chosen(p pick, tokens *theme.Tokens) theme.Style {
	if p == nil {
		return tokens.Text
	}
	return p(tokens)
}

// position says which rows show, where there are more.
func (b *box) position() string {
	if b.window.Len <= b.window.Height {
		return ""
	}
	return rangeOf(b.window.Top+1, b.window.Top+b.window.Height, b.window.Len)
}

// Picks for the tokens that dialogs use.
func muted(t *theme.Tokens) theme.Style  { return t.Muted }
func strong(t *theme.Tokens) theme.Style { return t.Strong }
func plain(t *theme.Tokens) theme.Style  { return t.Text }
func warn(t *theme.Tokens) theme.Style   { return t.Warn }
func bad(t *theme.Tokens) theme.Style    { return t.Error }
func keyOn(t *theme.Tokens) theme.Style  { return t.Key }
func keyOff(t *theme.Tokens) theme.Style { return t.KeyOff }
func head(t *theme.Tokens) theme.Style   { return t.Head }
func title(t *theme.Tokens) theme.Style  { return t.Title }
func orphan(t *theme.Tokens) theme.Style { return t.Orphaned }
func active(t *theme.Tokens) theme.Style { return t.Active }
