package prose

import (
	"strings"

	"hindcast/model/markup"
	"hindcast/tui/cell"
	"hindcast/tui/match"
	"hindcast/tui/theme"
)

const (
	// partSize is the size of a page of a Doc, more or less, in bytes.
	partSize = 4096
	// LongestDoc bounds the bytes of a text for Markdown and Source, which cut it whole. A longer one is for Spelled.
	LongestDoc = 2 << 20
)

// Doc is a text that is laid out for reading, a page at a time. It is read-only and safe for concurrent use. Make it
// with Markdown, Source or Spelled.
type Doc struct {
	parts []markup.Part // nil of a text as it is spelled
	text  Text
	// source says that all of it is code, and stands in no further.
	source bool
}

// Markdown returns a text of markdown.
func Markdown(text string) *Doc { return &Doc{parts: markup.Parts(text, partSize)} }

// Source returns code of a language, "" for any text that keeps its lines.
func Source(language, code string) *Doc {
	return &Doc{parts: markup.SourceParts(language, code, partSize), source: true}
}

// Spelled returns a text of any length. Each page is shown as it is spelled.
func Spelled(text Text) *Doc { return &Doc{text: text} }

// Pages returns the number of pages, at least one.
func (d *Doc) Pages() int {
	if d.parts == nil {
		return d.text.Pages()
	}
	return len(d.parts)
}

// Lines returns page i, from 0, laid out in w cells: at least one line.
func (d *Doc) Lines(i, w int, g *theme.Glyphs) []Line {
	if d.parts == nil {
		return d.RawLines(i, w)
	}
	l := layout{glyphs: g, source: d.source}
	lines := l.layBlocks(d.parts[i].Parse(), max(w, 1), false)
	if i > 0 && len(lines) > 0 && !strings.HasPrefix(d.parts[i].Text, "\n") {
		if blocks := strings.HasSuffix(d.parts[i-1].Text, "\n\n"); blocks {
			lines = append([]Line{nil}, lines...)
		}
	}
	if len(lines) == 0 {
		lines = []Line{nil}
	}
	return lines
}

// RawLines returns page i as it is spelled, wrapped to w cells: at least one line.
func (d *Doc) RawLines(i, w int) (lines []Line) {
	if d.parts == nil {
		for _, line := range d.text.Lines(i, w) {
			lines = append(lines, Line{{Text: line}})
		}
		return lines
	}
	text := strings.ReplaceAll(d.parts[i].Text, "\r\n", "\n")
	return wrapRuns([]Run{{Text: strings.TrimSuffix(text, "\n")}}, w)
}

// Holds reports whether the query is in page i, or begins there.
func (d *Doc) Holds(i int, q match.Query) bool {
	if d.parts == nil {
		return d.text.Holds(i, q)
	}
	page, next := d.parts[i].Text, ""
	if i+1 < len(d.parts) {
		next = d.parts[i+1].Text[:min(len(d.parts[i+1].Text), look)]
	}
	start, _ := q.Index(page + next)
	return start >= 0 && start < len(page) || start < 0 && q.InString(page)
}

// layout lays blocks out.
type layout struct {
	glyphs *theme.Glyphs
	source bool
}

// narrow is the number of cells from which on blocks inside others stand in no further.
const narrow = 16

// layBlocks lays blocks out below each other, with an empty line between them unless they are tight.
func (l layout) layBlocks(blocks []markup.Block, w int, tight bool) (lines []Line) {
	for i := range blocks {
		b := &blocks[i]
		if i > 0 && !(tight && (b.Kind == markup.List || b.Kind == markup.Item)) {
			lines = append(lines, nil)
		}
		lines = append(lines, l.layBlock(b, w)...)
	}
	return lines
}

func (l layout) layBlock(b *markup.Block, w int) []Line {
	switch b.Kind {
	case markup.Heading:
		ink := Heading
		if b.Level > 2 {
			ink = Strong
		}
		return wrapRuns(l.inkSpans(b.Spans, ink), w)
	case markup.List:
		return l.layBlocks(b.Blocks, w, !b.Loose)
	case markup.Item:
		sign := b.Label + " "
		switch b.Task {
		case markup.OpenTask:
			sign += "[ ] "
		case markup.DoneTask:
			sign += "[x] "
		}
		return l.layInside(sign, strings.Repeat(" ", len(sign)), w, func(w int) []Line { return l.layBlocks(b.Blocks, w, true) })
	case markup.Quote:
		bar := l.glyphs.Vertical + " "
		return l.layInside(bar, bar, w, func(w int) []Line { return l.layBlocks(b.Blocks, w, false) })
	case markup.Code:
		return l.layCode(b, w)
	case markup.Table:
		return l.layTable(b, w)
	case markup.Rule:
		return []Line{{{Ink: Punct, Text: strings.Repeat(l.glyphs.Horizontal, w)}}}
	}
	return wrapRuns(l.inkSpans(b.Spans, Plain), w)
}

// layInside puts a sign before the first line that inside lays out, and another before the rest.
func (l layout) layInside(sign, rest string, w int, inside func(w int) []Line) []Line {
	cells := cell.Width(sign)
	if w-cells < narrow {
		lines := inside(w)
		if strings.TrimSpace(sign) == "" {
			return lines
		}
		return append([]Line{{{Ink: Punct, Text: strings.TrimSpace(sign)}}}, lines...)
	}
	lines := inside(w - cells)
	if len(lines) == 0 {
		lines = []Line{nil}
	}
	for i := range lines {
		lines[i] = append(Line{{Ink: Punct, Text: sign}}, lines[i]...)
		sign = rest
	}
	return lines
}

// inkSpans returns the text of spans, with the marks that tell code, strikes and the targets of links without colours.
func (l layout) inkSpans(spans []markup.Span, own Ink) (runs []Run) {
	targets := markup.Targets(spans)
	for i := range spans {
		s := &spans[i]
		ink := inkOf(s, own)
		begins := i == 0 || spans[i-1].Link != s.Link
		if s.Style&markup.Image != 0 && begins {
			runs = append(runs, Run{Ink: Punct, Text: l.glyphs.Picture + " "})
		}
		mark := ""
		switch {
		case s.Style&markup.Literal != 0:
			mark = "`"
		case s.Style&markup.Strike != 0:
			mark = "~~"
		}
		link := ""
		if s.Link != nil {
			link = s.Link.To
		}
		if mark != "" {
			runs = append(runs, Run{Ink: Punct, Text: mark}, Run{ink, s.Text, link}, Run{Ink: Punct, Text: mark})
		} else {
			runs = append(runs, Run{ink, s.Text, link})
		}
		if target := targets[i]; target != "" {
			runs = append(runs, Run{Ink: Muted, Text: " (" + target + ")"})
		}
	}
	return runs
}

// classInks are the inks of the classes of code.
var classInks = [...]Ink{
	markup.Comment: Comment, markup.String: String, markup.Number: Number, markup.Keyword: Keyword, markup.Name: Name,
	markup.Added: Added, markup.Removed: Removed, markup.Place: Place,
}

// layCode lays code out, its lines standing in.
func (l layout) layCode(b *markup.Block, w int) (lines []Line) {
	if b.Label != "" {
		lines = wrapRuns([]Run{{Ink: Muted, Text: b.Label}}, w)
	}
	indent := "  "
	if w < narrow || l.source || b.Language == "diff" {
		indent = ""
	}
	var line []Run
	flush := func() {
		for _, part := range wrapRuns(line, w-len(indent)) {
			if indent != "" && len(part) > 0 {
				part = append(Line{{Ink: Plain, Text: indent}}, part...)
			}
			lines = append(lines, part)
		}
		line = line[:0]
	}
	for _, token := range markup.Highlight(b.Language, b.Text) {
		ink, text := classInks[token.Class], token.Text
		for {
			head, rest, more := strings.Cut(text, "\n")
			if line = append(line, Run{Ink: ink, Text: head}); !more {
				break
			}
			flush()
			text = rest
		}
	}
	flush()
	return lines
}
