package cli

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"hindcast/model/printable"
)

// textWidth is how many cells sentences take: they are read on the narrowest
// screen, and a longer line is no easier to read on a wide one.
const textWidth = 60

// writeSentence writes a text of the program's own, in lines behind an indent. What is
// data in it is made safe to print.
func (p *printer) writeSentence(indent, text string) {
	p.WriteString(wrapText(indent, p.glyphs.Sentence(printable.String(text))))
}

// wrapText breaks a text that is safe to print into lines of textWidth cells,
// each behind an indent. Lines are broken at spaces; a word that is longer than
// a line has one to itself, whole, so that paths can be copied.
func wrapText(indent, text string) string {
	return hangText(indent, strings.Join(strings.Fields(text), " "))
}

// hangText breaks a text that is safe to print into lines of textWidth cells, each
// behind an indent, as wrapped does; but what it does not break stays as it is,
// spaces too, because names may hold any.
func hangText(indent, text string) string {
	var out strings.Builder
	room := textWidth - displaywidth.String(indent)
	out.WriteString(indent)
	for i, word := range strings.Split(text, " ") {
		width := displaywidth.String(word)
		switch {
		case i == 0:
		case width+1 > room:
			out.WriteString("\n" + indent)
			room = textWidth - displaywidth.String(indent)
		default:
			out.WriteByte(' ')
			room--
		}
		out.WriteString(word)
		room -= width
	}
	out.WriteByte('\n')
	return out.String()
}
