package messagestab

import (
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/cell"
	"hindcast/tui/kitty"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
)

// Undrawn is a picture that is laid out and that the terminal does not have yet.
type Undrawn struct {
	conv  *conversation.Conversation
	block conversation.Block
	// Width is the columns that there are for it.
	Width int
}

// Bytes decodes the picture; nil where it cannot be. It is safe to call from a command.
func (u *Undrawn) Bytes() []byte {
	_, picture := u.conv.Picture(&u.block)
	return picture
}

// TakeUndrawn returns the pictures that were laid out since it was called last.
func (p *Pane) TakeUndrawn() []Undrawn {
	list := p.undrawn
	p.undrawn = nil
	return list
}

// SetDrawn has a picture drawn that the terminal has by now. Where the tab shows another conversation, nothing changes.
func (p *Pane) SetDrawn(u *Undrawn, as kitty.Picture) {
	if p.c == nil || p.c.conv != u.conv {
		return
	}
	p.drawn[u.block.Node] = as
	p.dropLayout()
	p.refresh()
}

// forgetPictures has the pictures asked for anew.
func (p *Pane) forgetPictures() { p.drawn, p.undrawn = map[jsontape.Node]kitty.Picture{}, nil }

// layOutPicture lays out a picture: its label, and where the terminal draws pictures, below it the picture.
func (p *Pane) layOutPicture(u *unit, b *conversation.Block, in int) {
	u.addWords(in, sheet.Strong, p.styles.Glyphs.Picture+" "+p.c.conv.Label(b))
	if !p.styles.Pictures {
		return
	}
	drawn, known := p.drawn[b.Node]
	if !known {
		p.drawn[b.Node] = kitty.Picture{}
		p.undrawn = append(p.undrawn, Undrawn{p.c.conv, *b, p.textWidth(in)})
	}
	for y := range drawn.Rows {
		u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
			r.Fill(tokens.Text, in-1)
			r.Append(theme.Style{}, drawn.Cols, func(dst []byte) []byte { return drawn.AppendRow(dst, y) })
		})
	}
}
