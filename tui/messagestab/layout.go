package messagestab

import (
	"bytes"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/tui/cell"
	"hindcast/tui/prose"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/value"
)

// layOut makes the pieces of a unit.
func (p *Pane) layOut(n int32) *unit {
	u := &unit{}
	m, place := p.c.at(int(n))
	if place == 0 {
		p.heading(u, m)
		return u
	}
	block, ok := p.c.blockOf(int(n))
	if !ok {
		u.row(func(*cell.Row, *theme.Tokens) {})
		return u
	}
	b := p.c.conv.Block(block)
	switch b.Kind {
	case conversation.ToolCall:
		p.call(u, block, p.isOpen(n))
	case conversation.ToolResult:
		if b.Pair >= 0 {
			u.words(indent, sheet.Muted, "result of "+p.c.conv.ToolName(b)+", shown with its call")
			break
		}
		p.result(u, b, p.isOpen(n))
	case conversation.Reasoning:
		p.reasoning(u, b, p.isOpen(n))
	case conversation.Context:
		p.given(u, b, p.isOpen(n))
	default:
		p.part(u, b, indent, p.isOpen(n))
	}
	return u
}

func (u *unit) row(draw func(*cell.Row, *theme.Tokens)) {
	u.pieces = append(u.pieces, piece{kind: oneRow, draw: draw})
}

// words adds a row of text of the program's own.
func (u *unit) words(in int, pick sheet.Pick, text string) {
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		r.Fill(tokens.Text, in-1)
		r.Put(pick(tokens), text)
	})
}

func (u *unit) text(text prose.Text, in int, pick sheet.Pick) {
	u.pieces = append(u.pieces, piece{kind: textRows, text: text, in: in, style: pick})
}

func (p *Pane) tree(u *unit, n jsontape.Node, in int) {
	u.pieces = append(u.pieces, piece{kind: treeRows, tape: p.c.conv.Tape(), tree: n, in: in})
}

// heading says who speaks, and what is special about the message.
func (p *Pane) heading(u *unit, m int) {
	msg, name := p.c.conv.Message(m), p.c.conv.RoleText(m)
	if name == "" {
		name = msg.Role.String()
	}
	var badges []string
	if msg.Held {
		badges = append(badges, "held in the interrupt state")
	}
	var marks model.Marks
	if msg.Redacted {
		marks = model.MarkRedacted
	}
	if m == int(p.c.shown[len(p.c.shown)-1]) {
		marks |= p.c.marks
	}
	badges = append(badges, marks.Words()...)
	style, sign := p.role(msg.Role)
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		r.Put(style(tokens), sign+" ")
		r.Put(tokens.Muted, "["+strconv.Itoa(m)+"] ")
		r.Put(style(tokens), name)
		if len(badges) > 0 {
			r.Fill(tokens.Text, 2)
			r.Put(tokens.Badge, strings.Join(badges, ", "))
		}
	})
}

// role returns the style and the sign of who speaks.
func (p *Pane) role(role conversation.Role) (sheet.Pick, string) {
	g := &p.styles.Glyphs
	switch role {
	case conversation.User:
		return func(t *theme.Tokens) theme.Style { return t.User }, g.User
	case conversation.Assistant:
		return func(t *theme.Tokens) theme.Style { return t.Assistant }, g.Assistant
	case conversation.Tool:
		return func(t *theme.Tokens) theme.Style { return t.Tool }, g.Tool
	case conversation.System:
		return func(t *theme.Tokens) theme.Style { return t.System }, g.System
	}
	return sheet.Strong, " "
}

// sign draws the sign of a fold at the indent of blocks.
func (p *Pane) sign(r *cell.Row, tokens *theme.Tokens, open bool) {
	glyph := p.styles.Glyphs.Closed
	if open {
		glyph = p.styles.Glyphs.Open
	}
	r.Fill(tokens.Text, indent-1)
	r.Put(tokens.Punct, glyph)
	r.Fill(tokens.Text, 1)
}

// call lays a tool call out, with its result below.
func (p *Pane) call(u *unit, block int, open bool) {
	u.foldable = true
	b := p.c.conv.Block(block)
	name := p.c.conv.ToolName(b)
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		p.sign(r, tokens, open)
		r.Put(tokens.Muted, "call ")
		r.Put(p.matchStyle(tokens, tokens.Tool, name), name)
		if !open && b.Body >= 0 {
			r.Fill(tokens.Text, 2)
			value.Put(r, tokens, p.c.conv.Tape(), b.Body)
		}
	})
	if open && b.Body >= 0 {
		p.body(u, b.Body)
	}
	switch notRun, waits := p.c.pending[block]; {
	case b.Pair >= 0:
		p.result(u, p.c.conv.Block(int(b.Pair)), open)
	case b.Interrupted || waits && notRun && len(p.c.conv.Interrupts()) > 0:
		u.words(inner, sheet.Warn, p.styles.Glyphs.Arrow+" not run: an interrupt waits for an answer")
	case waits && notRun:
		u.words(inner, sheet.Warn, p.styles.Glyphs.Arrow+" not run")
	default:
		u.words(inner, sheet.Warn, p.styles.Glyphs.Arrow+" no result")
	}
}

// body lays a value out whole: the arguments of a call.
func (p *Pane) body(u *unit, n jsontape.Node) {
	if p.c.conv.Tape().Kind(n) == jsontape.String {
		u.text(prose.Of(p.c.conv.Tape(), n), inner, sheet.Text)
		return
	}
	p.tree(u, n, inner)
}

// result lays out the result of a tool: its status and, folded, the beginning of its output.
func (p *Pane) result(u *unit, b *conversation.Block, open bool) {
	u.foldable = true
	status, pick := "done", sheet.Muted
	switch b.Status {
	case conversation.OK:
		status, pick = "ok", sheet.Good
	case conversation.Failed:
		status, pick = "error", sheet.Error
	}
	alone := b.Pair < 0
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		if alone {
			p.sign(r, tokens, open)
			r.Put(tokens.Muted, "result ")
			r.Put(tokens.Tool, p.c.conv.ToolName(b)+" ")
		} else {
			r.Fill(tokens.Text, inner-1)
		}
		r.Put(tokens.Punct, p.styles.Glyphs.Arrow+" ")
		r.Put(pick(tokens), status)
		if alone {
			r.Put(tokens.Warn, ", for "+b.Answers())
		}
		if !open {
			p.preview(r, tokens, b)
		}
	})
	if !open {
		return
	}
	parts := 0
	for part := range p.c.conv.Parts(b) {
		if parts == maxParts {
			u.words(inner, sheet.Muted, "and more: see the State tab")
			break
		}
		if tape := writtenText(p.c.conv.Tape(), &part); tape != nil {
			u.pieces = append(u.pieces, piece{kind: treeRows, tape: tape, in: inner})
		} else {
			p.part(u, &part, inner, true)
		}
		parts++
	}
}

// longestWritten bounds the bytes of a text that is looked into for a value.
const longestWritten = 64 << 10

// writtenText returns the value that a tool wrote as a text of one line, or nil.
func writtenText(t *jsontape.Tape, part *conversation.Block) *jsontape.Tape {
	if part.Kind != conversation.Text || part.Body < 0 || len(t.Raw(part.Body)) > longestWritten {
		return nil
	}
	text := t.AppendText(nil, part.Body, longestWritten)
	if bytes.IndexByte(bytes.TrimSpace(text), '\n') >= 0 {
		return nil
	}
	value, err := jsontape.Parse(text)
	if err != nil || value.First(0) == jsontape.None {
		return nil
	}
	return value
}

// preview draws the beginning of a tool's output.
func (p *Pane) preview(r *cell.Row, tokens *theme.Tokens, b *conversation.Block) {
	t, separator := p.c.conv.Tape(), "  "
	for part := range p.c.conv.Parts(b) {
		if r.Room() <= len(separator) {
			return
		}
		r.Put(tokens.Muted, separator)
		separator = " " + p.styles.Glyphs.Dot + " "
		switch {
		case part.Kind == conversation.Text && part.Body >= 0:
			text := string(t.AppendText(nil, part.Body, 20*(r.Room()+1)))
			value.Text(r, tokens.Text, tokens.Match, text, p.matches.query)
		case part.Kind == conversation.JSON && part.Body >= 0:
			value.Put(r, tokens, t, part.Body)
		default:
			r.Put(tokens.Text, p.c.conv.Label(&part))
		}
	}
}

// reasoning folds what the model thought to its first line.
func (p *Pane) reasoning(u *unit, b *conversation.Block, open bool) {
	if b.Body < 0 || p.c.conv.IsEncrypted(b) {
		u.words(indent, sheet.Muted, p.c.conv.Label(b)+", encrypted by the provider")
		return
	}
	u.foldable = true
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		p.sign(r, tokens, open)
		r.Put(tokens.Muted, "reasoning")
		if !open {
			r.Fill(tokens.Text, 2)
			text := string(p.c.conv.Tape().AppendText(nil, b.Body, 20*(r.Room()+1)))
			value.Text(r, tokens.Muted, tokens.Match, text, p.matches.query)
		}
	})
	if open {
		u.text(prose.Of(p.c.conv.Tape(), b.Body), inner, sheet.Muted)
	}
}

// given folds what the agent gave the model beside the conversation to its label.
func (p *Pane) given(u *unit, b *conversation.Block, open bool) {
	u.foldable = true
	label := p.c.conv.Label(b)
	u.row(func(r *cell.Row, tokens *theme.Tokens) {
		p.sign(r, tokens, open)
		r.Put(p.matchStyle(tokens, tokens.Muted, label), label)
	})
	if open {
		u.text(prose.Of(p.c.conv.Tape(), b.Body), inner, sheet.Muted)
	}
}

// part lays out a block that is no tool's and no reasoning, or a part of a
// tool's result.
func (p *Pane) part(u *unit, b *conversation.Block, in int, open bool) {
	t := p.c.conv.Tape()
	switch b.Kind {
	case conversation.Text, conversation.Guard:
		if b.Kind == conversation.Guard {
			u.words(in, sheet.Muted, b.Kind.String())
		}
		if b.Body >= 0 {
			u.text(prose.Of(t, b.Body), in, sheet.Text)
		}
	case conversation.Citations:
		for part := range p.c.conv.Parts(b) {
			if part.Kind == conversation.Text {
				u.text(prose.Of(t, part.Body), in, sheet.Text)
			}
		}
		sources := b.Node
		if b.Body >= 0 {
			sources = t.Find(t.Parent(b.Body), "citations")
		}
		if sources >= 0 {
			p.value(u, b.Kind.String(), sources, in, open)
		}
	case conversation.JSON:
		p.value(u, "", b.Body, in, open)
	case conversation.Unknown:
		p.value(u, p.c.conv.Label(b), b.Node, in, open)
	default:
		u.words(in, sheet.Muted, p.c.conv.Label(b))
	}
	if len(u.pieces) == 0 {
		u.words(in, sheet.Muted, b.Kind.String())
	}
}

// value lays out a value in one row, or as a tree where the unit is open.
func (p *Pane) value(u *unit, label string, n jsontape.Node, in int, open bool) {
	u.foldable = true
	switch {
	case !open:
		u.row(func(r *cell.Row, tokens *theme.Tokens) {
			p.sign(r, tokens, false)
			if label != "" {
				r.Put(tokens.Muted, label+"  ")
			}
			value.Put(r, tokens, p.c.conv.Tape(), n)
		})
		return
	case in == indent:
		u.row(func(r *cell.Row, tokens *theme.Tokens) {
			p.sign(r, tokens, true)
			r.Put(tokens.Muted, label)
		})
		p.tree(u, n, inner)
		return
	case label != "":
		u.words(in, sheet.Muted, label)
	}
	p.tree(u, n, in)
}

// matchStyle returns the style of a text: its own, or that of a match.
func (p *Pane) matchStyle(tokens *theme.Tokens, own theme.Style, text string) theme.Style {
	if p.matches.query.InString(text) {
		return tokens.Match
	}
	return own
}
