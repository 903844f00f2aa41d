// Package cell draws one row of the screen: a fixed number of cells, filled
// from the left with styled text.
//
// Text is escaped (package printable) and cut here, in that order, so that no pane can
// send data to the terminal as it is or draw beyond its box. Work is bounded by the
// row: of a line of any length only the beginning that can fit is looked at.
package cell

import (
	"bytes"
	"unicode/utf8"

	"hindcast/model/printable"
	"hindcast/tui/theme"
)

// Row appends one row to a byte slice. Make it with [Begin], fill it with the
// methods, and take the bytes with [Row.End].
type Row struct {
	dst    []byte
	room   int
	glyphs *theme.Glyphs
	// last is the style of the latest text; text of the same style follows without a new escape sequence.
	last theme.Style
	// more says that text that fills the row is not all of it.
	more bool
}

// Begin starts a row of exactly w cells at the end of dst. A negative w counts
// as 0.
func Begin(dst []byte, g *theme.Glyphs, w int) Row {
	return Row{dst: dst, room: max(w, 0), glyphs: g}
}

// begin begins text in a style, and end ends it.
func (r *Row) begin(st theme.Style) {
	if st.Start != "" && st.Start == r.last.Start {
		r.dst = r.dst[:len(r.dst)-len(r.last.Reset)]
		return
	}
	r.dst = append(r.dst, st.Start...)
}

func (r *Row) end(st theme.Style) {
	r.dst = append(r.dst, st.Reset...)
	r.last = st
}

// Room returns the number of cells that are still free.
func (r *Row) Room() int { return r.room }

// Reserve says that something follows what is put until [Row.Last] is called: where no room
// is left for that, an ellipsis shows so.
func (r *Row) Reserve() { r.more = true }

// Last says that what is put is all.
func (r *Row) Last() { r.more = false }

// Put puts text in a style and returns how many cells it took. What does not fit
// is cut, with an ellipsis in the last cell.
func (r *Row) Put(st theme.Style, text string) int { return put(r, st, text, r.room) }

// PutBytes is Put for bytes.
func (r *Row) PutBytes(st theme.Style, text []byte) int { return put(r, st, text, r.room) }

// Column puts text into exactly w cells, or into all that are left if those
// are fewer, and pads it on the right.
func (r *Row) Column(st theme.Style, text string, w int) {
	w = min(max(w, 0), r.room)
	r.Fill(st, w-put(r, st, text, w))
}

// ColumnRight is Column with the padding on the left.
func (r *Row) ColumnRight(st theme.Style, text string, w int) {
	w = min(max(w, 0), r.room)
	cells := Width(text)
	r.Fill(st, w-cells)
	put(r, st, text, min(w, cells))
}

// Append takes over cells that append has drawn: exactly w of them, and nothing
// but text of the program's own in the style. Where they do not fit, nothing is
// called and the rest of the row stays free.
func (r *Row) Append(st theme.Style, w int, draw func(dst []byte) []byte) {
	if w > r.room {
		return
	}
	r.begin(st)
	r.dst = draw(r.dst)
	r.end(st)
	r.room -= w
}

// Fill puts n spaces, or as many as there is room for. A negative n is 0.
func (r *Row) Fill(st theme.Style, n int) { r.Repeat(st, " ", n) }

// Repeat puts n times a glyph that is one cell wide, or as often as there is
// room for it. A negative n is 0.
func (r *Row) Repeat(st theme.Style, glyph string, n int) {
	n = min(n, r.room)
	if n <= 0 {
		return
	}
	r.begin(st)
	start, end := len(r.dst), len(r.dst)+n*len(glyph)
	r.dst = append(r.dst, glyph...)
	for len(r.dst) < end { // what is there, once more
		r.dst = append(r.dst, r.dst[start:min(len(r.dst), start+end-len(r.dst))]...)
	}
	r.end(st)
	r.room -= n
}

// End fills the rest of the row with spaces and returns the slice that the row
// was appended to.
func (r *Row) End(st theme.Style) []byte {
	r.Fill(st, r.room)
	return r.dst
}

// put draws text in at most w cells and returns how many it took.
func put[T ~string | ~[]byte](r *Row, st theme.Style, text T, w int) int {
	if w <= 0 || len(text) == 0 {
		return 0
	}
	if r.more && w == r.room && len(text) <= w*cellBytes && Width(string(text)) == w {
		text = T(string(text) + " ") // which is cut, for what follows has no cell
	}
	if end, cells, cut, ok := evenBeginning(text, w, r.glyphs.Plain()); ok {
		r.begin(st)
		start := len(r.dst)
		r.dst = append(r.dst, text[:end]...)
		if cut {
			cells += r.putEllipsis(start)
		}
		r.end(st)
		r.room -= cells
		return cells
	}
	r.begin(st)
	start := len(r.dst)
	var (
		whole            bool
		end, used, spare int
	)
	// Most characters are short: what is behind the end by more than one and its
	// escapes can change nothing.
	const behind = 2 * clusterBytes
	most := (w + 1) * cellBytes
	for n := min((w+1)*utf8.UTFMax+behind, most); ; n = most {
		var head T
		head, whole = cutBytes(text, n)
		r.dst = printable.Append(r.dst[:start], head)
		if r.glyphs.Plain() {
			r.dst = append(r.dst[:start], r.glyphs.Sentence(string(r.dst[start:]))...)
		}
		end, used, spare = fit(r.dst[start:], w)
		if whole || n == most || start+end+behind <= len(r.dst) {
			break
		}
	}
	cut := start+end < len(r.dst) || !whole
	if cut {
		end, used, spare = fit(r.dst[start:], w-1)
	}
	r.dst = r.dst[:start+end]
	if spare > 0 {
		r.dst = addSpaces(r.dst, start)
	}
	if cut {
		used += r.putEllipsis(start)
	}
	r.end(st)
	r.room -= used
	return used
}

// putEllipsis ends the text that begins at an offset, unless it ends in an ellipsis. It returns how many cells that took.
func (r *Row) putEllipsis(start int) int {
	if bytes.HasSuffix(r.dst[start:], []byte(r.glyphs.Ellipsis)) {
		return 0
	}
	r.dst = append(r.dst, r.glyphs.Ellipsis...)
	return 1
}

// evenBeginning does for most texts what [put] does with more work for all: it
// returns how many bytes and cells of a text show in w cells, and whether an ellipsis
// follows. It is ok if the text is even, see [even], as far as it was looked at; for
// a plain screen that is ASCII.
func evenBeginning[T ~string | ~[]byte](text T, w int, plain bool) (end, cells int, cut, ok bool) {
	last := 0 // where the last character begins
	for end < len(text) {
		size := 1
		if c := text[end]; c < ' ' || c > '~' {
			r, n := rune(0), 0
			if c >= utf8.RuneSelf && !plain {
				r, n = decode(text[end:])
			}
			if !isEven(r) {
				return 0, 0, false, false
			}
			size = n
		}
		if cells == w {
			return last, cells - 1, true, true
		}
		last = end
		end += size
		cells++
	}
	return end, cells, false, true
}

func decode[T ~string | ~[]byte](text T) (rune, int) {
	var buf [utf8.UTFMax]byte
	return utf8.DecodeRune(buf[:copy(buf[:], text)])
}

// plainPrefix returns how many bytes at the start of text are visible ASCII,
// looking at no more than n.
func plainPrefix[T ~string | ~[]byte](text T, n int) int {
	n = min(n, len(text))
	for i := range n {
		if text[i] < ' ' || text[i] > '~' {
			return i
		}
	}
	return n
}

// cutBytes cuts text to at most n bytes, not within a rune, and reports
// whether that is all of it.
func cutBytes[T ~string | ~[]byte](text T, n int) (T, bool) {
	if len(text) <= n {
		return text, true
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i], false
		}
	}
	return text[:n], false
}
