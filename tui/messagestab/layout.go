package messagestab

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/transcript"
	"hindcast/tui/cell"
	"hindcast/tui/prose"
	"hindcast/tui/sheet"
	"hindcast/tui/theme"
	"hindcast/tui/value"
)

// layOut makes the pieces of a unit.
func (p *Pane) layOut(n int32) *unit {
	u := &unit{}
	m, place := p.c.messageAt(int(n))
	if place == 0 {
		p.layOutHeading(u, m)
		return u
	}
	block, ok := p.c.blockOf(int(n))
	if !ok {
		u.addRow(func(*cell.Row, *theme.Tokens) {})
		return u
	}
	b := p.c.conv.Block(block)
	switch b.Kind {
	case conversation.ToolCall:
		p.layOutCall(u, block, p.isOpen(n))
	case conversation.ToolResult:
		if b.Pair >= 0 {
			u.addWords(indent, sheet.Muted, "result of "+p.c.conv.ToolName(b)+", shown with its call")
			break
		}
		p.layOutResult(u, b, p.isOpen(n))
	case conversation.Reasoning:
		p.foldReasoning(u, b, p.isOpen(n))
	case conversation.Context:
		p.foldGiven(u, b, p.isOpen(n))
	default:
		p.layOutPart(u, b, indent, p.isOpen(n))
	}
	return u
}

func (u *unit) addRow(draw func(*cell.Row, *theme.Tokens)) {
	u.pieces = append(u.pieces, piece{kind: oneRow, draw: draw})
}

// addWords adds a row of text of the program's own.
func (u *unit) addWords(in int, pick sheet.Pick, text string) {
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		r.Fill(tokens.Text, in-1)
		r.Put(pick(tokens), text)
	})
}

// addText adds a text of the program's making.
func (u *unit) addText(doc *prose.Doc, in int, pick sheet.Pick) {
	u.pieces = append(u.pieces, piece{kind: textRows, doc: doc, in: in, style: pick})
}

// addBody adds the text of a block.
func (p *Pane) addBody(u *unit, b *conversation.Block, in int, pick sheet.Pick) {
	v := p.c.textOf(b)
	p.saySpelled(u, b.Body, in)
	v.in, v.style = in, pick
	u.pieces = append(u.pieces, v)
}

// saySpelled says of a text that is too long to be laid out why it is shown as it is spelled, and what lays it out.
func (p *Pane) saySpelled(u *unit, n jsontape.Node, in int) {
	t := p.c.conv.Tape()
	if size := len(t.Raw(n)); size > prose.LongestDoc && t.Kind(n) == jsontape.String && !p.raw {
		u.addWords(in, sheet.Muted, fmt.Sprintf("as spelled: %s, above %s", model.AppendSize(nil, int64(size)), model.AppendSize(nil, prose.LongestDoc)))
		u.addWords(in, sheet.Muted, "hindcast messages --md writes it")
	}
}

// textOf returns the text of a block: prose as markdown, and what an agent gave beside it as it is.
func (c *Content) textOf(b *conversation.Block) piece {
	t := c.conv.Tape()
	if t.Kind(b.Body) != jsontape.String || len(t.Raw(b.Body)) > prose.LongestDoc {
		return piece{kind: textRows, doc: prose.Spelled(prose.Of(t, b.Body))}
	}
	if b.Kind == conversation.Context || b.Kind == conversation.Failure {
		return piece{kind: textRows, doc: prose.Source("", t.Text(b.Body))}
	}
	return piece{kind: textRows, doc: prose.Markdown(t.Text(b.Body))}
}

func (p *Pane) addTree(u *unit, n jsontape.Node, in int) {
	u.pieces = append(u.pieces, piece{kind: treeRows, tape: p.c.conv.Tape(), tree: n, in: in})
}

// layOutHeading says who speaks, and what is special about the message.
func (p *Pane) layOutHeading(u *unit, m int) {
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
	style, sign := p.roleStyle(msg.Role)
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		r.Put(style(tokens), sign+" ")
		r.Put(tokens.Muted, "["+strconv.Itoa(m)+"] ")
		r.Put(style(tokens), name)
		if len(badges) > 0 {
			r.Fill(tokens.Text, 2)
			r.Put(tokens.Badge, strings.Join(badges, ", "))
		}
	})
}

// roleStyle returns the style and the sign of who speaks.
func (p *Pane) roleStyle(role conversation.Role) (sheet.Pick, string) {
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

// drawSign draws the sign of a fold at the indent of blocks.
func (p *Pane) drawSign(r *cell.Row, tokens *theme.Tokens, open bool) {
	glyph := p.styles.Glyphs.Closed
	if open {
		glyph = p.styles.Glyphs.Open
	}
	r.Fill(tokens.Text, indent-1)
	r.Put(tokens.Punct, glyph)
	r.Fill(tokens.Text, 1)
}

// layOutCall lays a tool call out, with its result below.
func (p *Pane) layOutCall(u *unit, block int, open bool) {
	u.foldable = true
	b := p.c.conv.Block(block)
	name, edits := p.c.conv.ToolName(b), p.editsIn(p.c.conv.Tape(), b.Body)
	file, added, removed := diff.EditSummary(edits)
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		p.drawSign(r, tokens, open)
		r.Put(tokens.Muted, "call ")
		r.Put(p.matchStyle(tokens, tokens.Tool, name), name)
		if open || b.Body < 0 {
			return
		}
		r.Fill(tokens.Text, 2)
		if edits == "" {
			value.Put(r, tokens, p.c.conv.Tape(), b.Body)
			return
		}
		counts := fmt.Sprintf("  %s%d %s%d", p.styles.Glyphs.Added, added, p.styles.Glyphs.Removed, removed)
		r.Column(p.matchStyle(tokens, tokens.Text, file), file, min(cell.Width(file), r.Room()-cell.Width(counts)))
		r.Put(tokens.Muted, counts)
	})
	switch {
	case !open || b.Body < 0:
	case edits != "":
		u.addText(prose.Source("diff", edits), inner, sheet.Text)
	default:
		p.layOutArguments(u, b.Body)
	}
	switch notRun, waits := p.c.pending[block]; {
	case b.Pair >= 0:
		p.layOutResult(u, p.c.conv.Block(int(b.Pair)), open)
	case b.Interrupted || waits && notRun && len(p.c.conv.Interrupts()) > 0:
		u.addWords(inner, sheet.Warn, p.styles.Glyphs.Arrow+" not run: an interrupt waits for an answer")
	case waits && notRun:
		u.addWords(inner, sheet.Warn, p.styles.Glyphs.Arrow+" not run")
	default:
		u.addWords(inner, sheet.Warn, p.styles.Glyphs.Arrow+" no result")
	}
}

// layOutArguments lays the arguments of a call out: a long text in lines, other values as a tree.
func (p *Pane) layOutArguments(u *unit, n jsontape.Node) {
	t := p.c.conv.Tape()
	switch {
	case p.raw && t.Kind(n) != jsontape.String:
		p.addTree(u, n, inner)
	case t.Kind(n) == jsontape.String:
		p.addString(u, n, "", inner)
	case t.Kind(n) == jsontape.Object && t.Count(n) > 0 && t.Count(n) <= maxParts:
		for c := t.First(n); c >= 0; c = t.Next(c) {
			p.layOutMember(u, n, c)
		}
	default:
		p.addTree(u, n, inner)
	}
}

// longestInline bounds the bytes of a string that stands beside its key.
const longestInline = 48

// layOutMember lays a member of the arguments of a call out.
func (p *Pane) layOutMember(u *unit, n, c jsontape.Node) {
	t := p.c.conv.Tape()
	long := t.Kind(c) == jsontape.String && (len(t.Raw(c)) > longestInline || bytes.Contains(t.Raw(c), []byte(`\n`)))
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		r.Fill(tokens.Text, inner-1)
		value.Key(r, tokens.Name, t, c)
		if long {
			return
		}
		r.Fill(tokens.Text, 2)
		if t.First(c) != jsontape.None {
			r.Put(tokens.Muted, value.Count(t, c))
			return
		}
		value.Put(r, tokens, t, c)
	})
	switch {
	case long:
		p.addString(u, c, transcript.LanguageOf(t, n, c), inner+indent)
	case t.First(c) != jsontape.None:
		p.addTree(u, c, inner+indent)
	}
}

// addString adds a string of a value, in a language.
func (p *Pane) addString(u *unit, n jsontape.Node, language string, in int) {
	t := p.c.conv.Tape()
	p.saySpelled(u, n, in)
	doc := prose.Spelled(prose.Of(t, n))
	if len(t.Raw(n)) <= prose.LongestDoc {
		text := t.Text(n)
		if diff.IsPatch(text) {
			language = "diff"
		}
		doc = prose.Source(language, text)
	}
	u.addText(doc, in, sheet.Text)
}

// layOutResult lays out the result of a tool: its status and, folded, the beginning of its output.
func (p *Pane) layOutResult(u *unit, b *conversation.Block, open bool) {
	u.foldable = true
	status, pick := "done", sheet.Muted
	switch b.Status {
	case conversation.OK:
		status, pick = "ok", sheet.Good
	case conversation.Failed:
		status, pick = "error", sheet.Error
	}
	alone := b.Pair < 0
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		if alone {
			p.drawSign(r, tokens, open)
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
			p.drawPreview(r, tokens, b)
		}
	})
	if !open {
		return
	}
	parts := 0
	for part := range p.c.conv.Parts(b) {
		if parts == maxParts {
			u.addWords(inner, sheet.Muted, "and more: see the State tab")
			break
		}
		tape := writtenText(p.c.conv.Tape(), &part)
		if edits := p.editsIn(tape, 0); edits != "" {
			u.addText(prose.Source("diff", edits), inner, sheet.Text)
		} else if tape != nil {
			u.pieces = append(u.pieces, piece{kind: treeRows, tape: tape, in: inner})
		} else {
			p.layOutPart(u, &part, inner, true)
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

// editsIn returns the edits that a value asks for or tells of, see [diff.Edits]; "" without a tape, and where the text is
// shown raw.
func (p *Pane) editsIn(tape *jsontape.Tape, n jsontape.Node) string {
	if tape == nil || p.raw {
		return ""
	}
	return diff.Edits(tape, n)
}

// drawPreview draws the beginning of a tool's output.
func (p *Pane) drawPreview(r *cell.Row, tokens *theme.Tokens, b *conversation.Block) {
	t, separator := p.c.conv.Tape(), "  "
	for part := range p.c.conv.Parts(b) {
		if r.Room() <= len(separator) {
			return
		}
		r.Put(tokens.Muted, separator)
		separator = " " + p.styles.Glyphs.Dot + " "
		switch {
		case part.Kind == conversation.Text && part.Body >= 0:
			text := strings.TrimLeft(string(t.AppendText(nil, part.Body, 20*(r.Room()+1))), " \t\r\n")
			value.Text(r, tokens.Text, tokens.Match, text, p.matches.Query)
		case part.Kind == conversation.JSON && part.Body >= 0:
			value.Put(r, tokens, t, part.Body)
		case part.Kind == conversation.Image, part.Kind == conversation.Media:
			r.Put(tokens.Name, p.styles.Glyphs.Picture+" "+p.c.conv.Label(&part))
		default:
			r.Put(tokens.Text, p.c.conv.Label(&part))
		}
	}
}

// foldReasoning folds what the model thought to its first line.
func (p *Pane) foldReasoning(u *unit, b *conversation.Block, open bool) {
	if b.Body < 0 || p.c.conv.IsEncrypted(b) {
		u.addWords(indent, sheet.Muted, p.c.conv.Label(b)+", encrypted by the provider")
		return
	}
	u.foldable = true
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		p.drawSign(r, tokens, open)
		r.Put(tokens.Muted, "reasoning")
		if !open {
			r.Fill(tokens.Text, 2)
			text := string(p.c.conv.Tape().AppendText(nil, b.Body, 20*(r.Room()+1)))
			value.Text(r, tokens.Muted, tokens.Match, text, p.matches.Query)
		}
	})
	if open {
		p.addBody(u, b, inner, sheet.Muted)
	}
}

// foldGiven folds what the agent gave the model beside the conversation to its label.
func (p *Pane) foldGiven(u *unit, b *conversation.Block, open bool) {
	u.foldable = true
	label := p.c.conv.Label(b)
	u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
		p.drawSign(r, tokens, open)
		r.Put(p.matchStyle(tokens, tokens.Muted, label), label)
	})
	if open {
		p.addBody(u, b, inner, sheet.Muted)
	}
}

// layOutPart lays out a block that is no tool's and no reasoning, or a part of a
// tool's result.
func (p *Pane) layOutPart(u *unit, b *conversation.Block, in int, open bool) {
	t := p.c.conv.Tape()
	switch b.Kind {
	case conversation.Text, conversation.Guard:
		if b.Kind == conversation.Guard {
			u.addWords(in, sheet.Muted, b.Kind.String())
		}
		switch {
		case b.Body < 0:
		case in > indent: // of a tool
			p.addString(u, b.Body, "", in)
		case p.c.conv.IsBlank(b):
			u.addWords(in, sheet.Muted, conversation.BlankText)
		default:
			p.addBody(u, b, in, sheet.Text)
		}
	case conversation.Failure:
		p.addBody(u, b, in, sheet.Error)
	case conversation.Citations:
		for part := range p.c.conv.Parts(b) {
			if part.Kind == conversation.Text {
				p.addBody(u, &part, in, sheet.Text)
			}
		}
		sources := b.Node
		if b.Body >= 0 {
			sources = t.Find(t.Parent(b.Body), "citations")
		}
		if sources >= 0 {
			p.layOutValue(u, b.Kind.String(), sources, in, open)
		}
	case conversation.JSON:
		if edits := p.editsIn(t, b.Body); edits != "" && open {
			u.addText(prose.Source("diff", edits), in, sheet.Text)
			break
		}
		p.layOutValue(u, "", b.Body, in, open)
	case conversation.Unknown:
		p.layOutValue(u, p.c.conv.Label(b), b.Node, in, open)
	case conversation.Image, conversation.Media:
		if p.raw {
			p.layOutValue(u, p.c.conv.Label(b), b.Node, in, open)
			break
		}
		p.layOutPicture(u, b, in)
	default:
		u.addWords(in, sheet.Muted, p.c.conv.Label(b))
	}
	if len(u.pieces) == 0 {
		u.addWords(in, sheet.Muted, b.Kind.String())
	}
}

// layOutValue lays out a value in one row, or as a tree where the unit is open.
func (p *Pane) layOutValue(u *unit, label string, n jsontape.Node, in int, open bool) {
	u.foldable = true
	switch {
	case !open:
		u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
			p.drawSign(r, tokens, false)
			if label != "" {
				r.Put(tokens.Muted, label+"  ")
			}
			value.Put(r, tokens, p.c.conv.Tape(), n)
		})
		return
	case in == indent:
		u.addRow(func(r *cell.Row, tokens *theme.Tokens) {
			p.drawSign(r, tokens, true)
			r.Put(tokens.Muted, label)
		})
		p.addTree(u, n, inner)
		return
	case label != "":
		u.addWords(in, sheet.Muted, label)
	}
	p.addTree(u, n, in)
}

// matchStyle returns the style of a text: its own, or that of a match.
func (p *Pane) matchStyle(tokens *theme.Tokens, own theme.Style, text string) theme.Style {
	if p.matches.Query.InString(text) {
		return tokens.Match
	}
	return own
}
