// Package value draws a JSON value in one row: as much of it as there is room
// for, whatever its size. All tabs show values, and messages as lines, in this
// way.
package value

import (
	"strconv"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/theme"
)

// perCell is how many bytes of text are decoded for each cell that is free.
// Row itself looks at no more of a text than that.
const perCell = 20

// large is the length in bytes from which a string that does not fit gets its
// size beside it.
const large = 1000

// Put draws value n in the rest of the row, in the colours of its parts. It spells a container out on one
// line, decodes a string, and cuts a long value. The work is bounded by the room, not by the value.
func Put(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, n jsontape.Node) {
	end := t.End(n)
	if k := t.Kind(n); k == jsontape.Object || k == jsontape.Array {
		r.Reserve() // the bracket at the end
	}
	defer r.Last()
	for c := n; c < end && r.Room() > 0; c++ {
		if c != n {
			drawSeparator(r, tokens, t, c)
		}
		switch t.Kind(c) {
		case jsontape.Object:
			r.Put(tokens.Punct, "{")
		case jsontape.Array:
			r.Put(tokens.Punct, "[")
		default:
			Scalar(r, tokens, t, c)
			drawBrackets(r, tokens, t, n, c)
			continue
		}
		if t.End(c) == c+1 {
			if c == n {
				r.Last()
			}
			closeOne(r, tokens, t, c)
			drawBrackets(r, tokens, t, n, c)
		}
	}
}

// Width returns how many cells a value needs, w at most.
func Width(g *theme.Glyphs, t *jsontape.Tape, n jsontape.Node, w int) int {
	w = max(w, 0)
	measure := cell.Begin(nil, g, w)
	Put(&measure, &theme.Tokens{}, t, n)
	return w - measure.Room()
}

// PutMost is Put in at most w cells; it takes only as many as the value needs.
func PutMost(r *cell.Row, g *theme.Glyphs, tokens *theme.Tokens, t *jsontape.Tape, n jsontape.Node, w int) {
	w = Width(g, t, n, min(w, r.Room()))
	r.Append(theme.Style{}, w, func(dst []byte) []byte {
		exact := cell.Begin(dst, g, w)
		Put(&exact, tokens, t, n)
		return exact.End(tokens.Text)
	})
}

// drawSeparator draws what stands before a child: a comma, a key.
func drawSeparator(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, c jsontape.Node) {
	parent := t.Parent(c)
	if c != parent+1 {
		r.Put(tokens.Punct, ", ")
	}
	if t.Kind(parent) == jsontape.Object {
		Key(r, tokens.Name, t, c)
		r.Put(tokens.Punct, ": ")
	}
}

// drawBrackets draws the brackets of all containers inside n that end with c.
func drawBrackets(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, n, c jsontape.Node) {
	next := t.End(c)
	for c != n && r.Room() > 0 {
		c = t.Parent(c)
		if t.End(c) != next {
			return
		}
		if c == n {
			r.Last()
		}
		closeOne(r, tokens, t, c)
	}
}

func closeOne(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, c jsontape.Node) {
	switch {
	case t.IsUnfinished(c):
		r.Put(tokens.Muted, " (unfinished)")
	case t.Kind(c) == jsontape.Object:
		r.Put(tokens.Punct, "}")
	default:
		r.Put(tokens.Punct, "]")
	}
}

// Scalar draws a value that is no container.
func Scalar(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, n jsontape.Node) {
	switch t.Kind(n) {
	case jsontape.String:
		putQuoted(r, tokens, t, n)
	case jsontape.Number:
		style := tokens.Number
		if !t.Standard(n) {
			style = tokens.Warn
		}
		r.PutBytes(style, t.Raw(n))
	case jsontape.Invalid:
		r.Put(tokens.Muted, "(nothing)")
	default:
		r.PutBytes(tokens.Literal, t.Raw(n))
	}
}

// putQuoted draws a string in quotes. Where a large one is cut, its size takes the
// last cells.
func putQuoted(r *cell.Row, tokens *theme.Tokens, t *jsontape.Tape, n jsontape.Node) {
	var buf [512]byte
	out := appendBeginning(append(buf[:0], '"'), t, n, r.Room())
	if len(out) <= r.Room()*perCell && !t.IsUnfinished(n) {
		out = append(out, '"')
	}
	raw := len(t.Raw(n))
	if raw < large || raw <= r.Room() {
		r.PutBytes(tokens.String, out)
		return
	}
	r.Last() // the string itself is cut
	size := conversation.AppendSize([]byte{' '}, int64(raw-2))
	r.Column(tokens.String, string(out), r.Room()-len(size))
	r.PutBytes(tokens.Muted, size)
}

// appendBeginning appends as much of the string n as can fill room cells, and more,
// so that Row sees that it has to cut. Of plain ASCII that is little.
func appendBeginning(dst []byte, t *jsontape.Tape, n jsontape.Node, room int) []byte {
	start := len(dst)
	dst = t.AppendText(dst, n, room+1)
	for _, c := range dst[start:] {
		if c >= utf8.RuneSelf {
			return t.AppendText(dst[:start], n, (room+1)*perCell)
		}
	}
	return dst
}

// Text draws a line of text in a style, and what a query finds in it in
// another.
func Text(r *cell.Row, style, found theme.Style, line string, q match.Query) {
	for r.Room() > 0 {
		start, end := q.Index(line)
		if start < 0 {
			break
		}
		r.Put(style, line[:start])
		r.Put(found, line[start:end])
		line = line[end:]
	}
	r.Put(style, line)
}

// maxKey bounds the cells of a key, so that a value stays in sight beside it.
const maxKey = 40

// Key draws the key of n, or its number in an array, in a style and at most 40 cells. The root has no key.
func Key(r *cell.Row, style theme.Style, t *jsontape.Tape, n jsontape.Node) {
	if i := t.Index(n); i >= 0 {
		var buf [24]byte
		r.PutBytes(style, append(strconv.AppendInt(append(buf[:0], '['), int64(i), 10), ']'))
		return
	}
	if t.Parent(n) < 0 {
		return
	}
	var key string
	if raw := t.RawKey(n); len(raw) > maxKey*perCell {
		key = string(raw[1 : maxKey*perCell])
	} else {
		key = t.Key(n)
	}
	if cell.Width(key) > maxKey {
		r.Column(style, key, maxKey)
		return
	}
	r.Put(style, key)
}

// Count says how many children a container has: "3 keys", "1 item".
func Count(t *jsontape.Tape, n jsontape.Node) string {
	if t.Kind(n) == jsontape.Object {
		return CountOf(t, n, "key")
	}
	return CountOf(t, n, "item")
}

// CountOf is Count with a word for the children of its own: "3 messages".
func CountOf(t *jsontape.Tape, n jsontape.Node, noun string) string {
	text := model.Count(t.Count(n), noun)
	if t.IsUnfinished(n) {
		text += " so far"
	}
	return text
}

// Message draws a message in one row: its role and the beginning of its text. arrow leads from a tool to its
// result.
func Message(r *cell.Row, tokens *theme.Tokens, conv *conversation.Conversation, m int, arrow string) {
	role := conv.RoleText(m)
	if role == "" {
		role = conv.Message(m).Role.String()
	}
	r.Column(tokens.Event, role, roleWidth)
	r.Fill(tokens.Text, 1)
	r.PutBytes(tokens.Text, conv.AppendSummary(nil, m, 4*(r.Room()+1), arrow))
}

// roleWidth is the cells of the column of roles.
const roleWidth = 10
