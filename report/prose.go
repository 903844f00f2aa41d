package report

import (
	"strconv"
	"strings"
	"sync"

	"hindcast/model/markup"
)

// mostHighlighted bounds the code that is cut into tokens, in bytes.
const mostHighlighted = 32 << 10

// classNames are the elements' classes of the tokens of code.
var classNames = sync.OnceValue(func() map[markup.Class]string {
	return map[markup.Class]string{
		markup.Comment: "kc", markup.String: "ks", markup.Number: "kn", markup.Keyword: "kk", markup.Name: "km",
		markup.Added: "ka", markup.Removed: "kr", markup.Place: "kp",
	}
})

// writeProse writes the markdown of a text.
func (p *page) writeProse(text string) {
	start, whole := cutText(text, mostText)
	p.putHTML(`<div class="md" dir="auto">`)
	for _, part := range markup.Parts(start, mostHighlighted) {
		p.writeBlocks(part.Parse())
	}
	p.writeRest(text, whole)
	p.putHTML("</div>")
}

// writeRest says how long a text is that was cut.
func (p *page) writeRest(text string, whole bool) {
	if !whole {
		p.writeElement("p", "quiet", "… "+formatSize(len(text))+" in all")
	}
}

func (p *page) writeBlocks(blocks []markup.Block) {
	for i := range blocks {
		p.writeBlock(&blocks[i])
	}
}

func (p *page) writeBlock(b *markup.Block) {
	switch b.Kind {
	case markup.Heading:
		level := "h" + strconv.Itoa(min(b.Level+3, 6))
		p.putHTML("<" + level + ">")
		p.writeSpans(b.Spans)
		p.putHTML("</" + level + ">")
	case markup.List:
		p.writeList(b)
	case markup.Quote:
		p.putHTML("<blockquote>")
		p.writeBlocks(b.Blocks)
		p.putHTML("</blockquote>")
	case markup.Code:
		if strings.ContainsAny(b.Label, " \t") { // more than the language, which colours tell
			p.writeElement("p", "to", b.Label)
		}
		p.writePre(b.Language, b.Text)
	case markup.Table:
		p.writeTable(b)
	case markup.Rule:
		p.putHTML("<hr>")
	default:
		p.putHTML("<p>")
		p.writeSpans(b.Spans)
		p.putHTML("</p>")
	}
}

func (p *page) writeList(b *markup.Block) {
	name := "ul"
	if b.Ordered {
		name = "ol"
		p.putHTML(`<ol start="` + strconv.Itoa(b.Start) + `">`)
	} else {
		p.putHTML("<ul>")
	}
	for i := range b.Blocks {
		item := &b.Blocks[i]
		p.putHTML("<li>")
		switch item.Task {
		case markup.OpenTask:
			p.putHTML("☐ ")
		case markup.DoneTask:
			p.putHTML("☑ ")
		}
		blocks := item.Blocks
		if len(blocks) > 0 && blocks[0].Kind == markup.Paragraph && !b.Loose {
			p.writeSpans(blocks[0].Spans)
			blocks = blocks[1:]
		}
		p.writeBlocks(blocks)
		p.putHTML("</li>")
	}
	p.putHTML("</" + name + ">")
}

func (p *page) writeTable(b *markup.Block) {
	p.putHTML(`<div class="wide"><table>`)
	for i, row := range b.Rows {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		p.putHTML("<tr>")
		for column, spans := range row {
			p.putHTML("<" + cell)
			if column < len(b.Aligns) {
				switch b.Aligns[column] {
				case markup.RightSide:
					p.putHTML(` class="r"`)
				case markup.Middle:
					p.putHTML(` class="m"`)
				}
			}
			p.putHTML(">")
			p.writeSpans(spans)
			p.putHTML("</" + cell + ">")
		}
		p.putHTML("</tr>")
	}
	p.putHTML("</table></div>")
}

// writeSpans writes text with its styles. A link is its text and where it leads: the page leads nowhere.
func (p *page) writeSpans(spans []markup.Span) {
	targets := markup.Targets(spans)
	for i, span := range spans {
		var names []string
		for _, style := range []struct {
			markup.Style
			name string
		}{{markup.Strong, "strong"}, {markup.Emphasis, "em"}, {markup.Strike, "del"}, {markup.Literal, "code"}} {
			if span.Style&style.Style != 0 {
				names = append(names, style.name)
			}
		}
		for _, name := range names {
			p.putHTML("<" + name + ">")
		}
		if span.Style&markup.Image != 0 {
			p.putHTML("▣ ")
		}
		p.writeLines(span.Text)
		for k := len(names) - 1; k >= 0; k-- {
			p.putHTML("</" + names[k] + ">")
		}
		if target := targets[i]; target != "" {
			p.putHTML(" ")
			p.writeElement("span", "to", "("+target+")")
		}
	}
}

// writePre writes code, with light colours where its language is known.
func (p *page) writePre(language, text string) {
	start, whole := cutText(text, mostText)
	p.putHTML("<pre>")
	if language == "" || len(start) > mostHighlighted {
		p.writeLines(start)
	} else {
		for _, token := range markup.Highlight(language, start) {
			if class := classNames()[token.Class]; class != "" {
				p.putHTML(`<i class="` + class + `">`)
				p.writeLines(token.Text)
				p.putHTML("</i>")
			} else {
				p.writeLines(token.Text)
			}
		}
	}
	p.putHTML("</pre>")
	p.writeRest(text, whole)
}
