// Package picture draws screens of an emulated terminal as SVG.
//
// A picture is self-contained and shows the screen cell by cell. Text is text, in runs that are pinned to
// their columns, so that any font will do. Borders and blocks are shapes, so that they join in every font.
// Each cell has the colours of two themes; the reader's page chooses one. Several screens make a scene that
// loops by CSS alone, and stands still where motion is not wanted.
//
// The package is for tests only: a test draws the screen that it saw.
package picture

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Look is how a cell is drawn. Colours are "#rrggbb", or "" for the terminal's own.
type Look struct {
	Text, Ground              string
	Bold, Dim, Underline, Rev bool
}

// Cell is a cell of a screen; Text is "" in the right half of a wide character.
type Cell struct {
	Text string
	Look
}

// Screen is the content of a terminal, row by row.
type Screen [][]Cell

// Frame is a screen in both themes, of the same size, and how long it stays. Only
// scenes of several frames need For.
type Frame struct {
	Dark, Light Screen
	For         time.Duration
}

// The measures of a cell and of the window around the screen, in pixels.
const (
	cellW, cellH = 8.4, 18
	baseline     = 13.5
	fontSize     = 14
	margin       = 14
	bar          = 34
)

// theme is the terminal's own colours.
type theme struct{ text, ground, bar, edge string }

var (
	dark  = theme{"#c8d0e8", "#1a1b26", "#24283b", "#3b4261"}
	light = theme{"#2b303b", "#fafafa", "#e9eaee", "#c9ccd4"}
)

// drawing collects what the frames share.
type drawing struct {
	classes map[string]int // by both themes' declarations
	styles  [2][]string
	rows    map[string]int
	defs    []string
}

// SVG writes frames as one picture with a title, the same bytes for the same frames.
func SVG(w io.Writer, title string, frames ...Frame) error {
	d := &drawing{classes: map[string]int{}, rows: map[string]int{}}
	var body strings.Builder
	for i, f := range frames {
		fmt.Fprintf(&body, "<g class=\"f f%d\">\n", i)
		for y := range f.Dark {
			if row := d.row(f.Dark[y], f.Light[y]); row >= 0 {
				fmt.Fprintf(&body, "<use href=\"#r%d\" y=\"%d\"/>\n", row, y*cellH)
			}
		}
		body.WriteString("</g>\n")
	}
	columns := len(frames[0].Dark[0])
	width, height := float64(columns)*cellW+2*margin, len(frames[0].Dark)*cellH+bar+margin
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %d\" width=\"%s\" height=\"%d\" role=\"img\" aria-label=\"%s\">\n", number(width), height, number(width), height, escape(title))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n", escape(title))
	fmt.Fprintf(&b, "text{font:%dpx ui-monospace,\"SF Mono\",SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",\"Noto Sans Mono\",\"Noto Sans Mono CJK JP\",monospace;white-space:pre}\n.l{fill:none;stroke-width:1.2}\n", fontSize)
	b.WriteString(d.css(0, dark))
	fmt.Fprintf(&b, "@media (prefers-color-scheme:light){\n%s}\n", d.css(1, light))
	b.WriteString(scene(frames))
	b.WriteString("</style>\n<defs>\n" + strings.Join(d.defs, "") + "</defs>\n")
	fmt.Fprintf(&b, "<rect class=\"win\" x=\".5\" y=\".5\" width=\"%s\" height=\"%d\" rx=\"9\"/>\n", number(width-1), height-1)
	fmt.Fprintf(&b, "<path class=\"bar\" d=\"M1 26V10a9 9 0 0 1 9-9H%sa9 9 0 0 1 9 9V26z\"/>\n", number(width-10))
	fmt.Fprintf(&b, "<text class=\"name\" x=\"%s\" y=\"18\" text-anchor=\"middle\">%s</text>\n", number(width/2), escape(title))
	fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n%s</g>\n</svg>\n", margin, bar, body.String())
	_, err := io.WriteString(w, b.String())
	return err
}

// scene returns the style that shows the frames one after the other, for ever.
func scene(frames []Frame) string {
	if len(frames) < 2 {
		return ""
	}
	var all, at time.Duration
	for _, f := range frames {
		all += f.For
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".f{visibility:hidden;animation:%ss step-end infinite}\n", number(all.Seconds()))
	for i, f := range frames {
		from, to := percent(at, all), percent(at+f.For, all)
		at += f.For
		first, last := "0%{visibility:hidden}", to+"{visibility:hidden}"
		if i == 0 {
			first = ""
		}
		if i == len(frames)-1 {
			last = ""
		}
		fmt.Fprintf(&b, ".f%d{animation-name:k%d}@keyframes k%d{%s%s{visibility:visible}%s}\n", i, i, i, first, from, last)
	}
	fmt.Fprintf(&b, "@media (prefers-reduced-motion:reduce){.f{animation:none}.f%d{visibility:visible}}\n", len(frames)-1)
	return b.String()
}

func percent(part, all time.Duration) string {
	return number(100*float64(part)/float64(all)) + "%"
}

// css returns the classes of a theme.
func (d *drawing) css(which int, t theme) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".win{fill:%s;stroke:%s}.bar{fill:%s}.name{fill:%s;opacity:.7}\n", t.ground, t.edge, t.bar, t.text)
	for i, style := range d.styles[which] {
		fmt.Fprintf(&b, ".c%d{%s}\n", i, style)
	}
	return b.String()
}

// class returns the class of declarations in both themes.
func (d *drawing) class(inDark, inLight string) int {
	key := inDark + "|" + inLight
	n, ok := d.classes[key]
	if !ok {
		n = len(d.classes)
		d.classes[key] = n
		d.styles[0], d.styles[1] = append(d.styles[0], inDark), append(d.styles[1], inLight)
	}
	return n
}

// colours returns the colours of a look's text and ground; ground is "" for the colour of the window.
func (t theme) colours(l Look) (text, ground string) {
	text, ground = l.Text, l.Ground
	if l.Rev {
		if ground == "" {
			ground = t.ground
		}
		if text == "" {
			text = t.text
		}
		text, ground = ground, text
	}
	if text == "" {
		text = t.text
	}
	return text, ground
}

// ink returns the declarations of text.
func (t theme) ink(l Look) string {
	text, _ := t.colours(l)
	style := "fill:" + text
	if l.Bold {
		style += ";font-weight:bold"
	}
	if l.Dim {
		style += ";opacity:.6"
	}
	if l.Underline {
		style += ";text-decoration:underline"
	}
	return style
}

// run is a part of a row from one column up to another.
type run struct {
	from, to int
	text     string
}

// row returns the number of a row that is drawn once, -1 where it is empty.
func (d *drawing) row(inDark, inLight []Cell) int {
	var b strings.Builder
	// Grounds first: nothing may lie over text.
	for x := 0; x < len(inDark); {
		to := x + 1
		for to < len(inDark) && inDark[to].Look == inDark[x].Look && inLight[to].Look == inLight[x].Look {
			to++
		}
		_, one := dark.colours(inDark[x].Look)
		_, other := light.colours(inLight[x].Look)
		if one != "" || other != "" {
			fill := func(c string) string {
				if c == "" {
					c = "none"
				}
				return "fill:" + c
			}
			fmt.Fprintf(&b, "<rect class=\"c%d\" x=\"%s\" width=\"%s\" height=\"%d\"/>", d.class(fill(one), fill(other)), number(float64(x)*cellW), number(float64(to-x)*cellW), cellH)
		}
		x = to
	}
	for x := 0; x < len(inDark); {
		cell, lookDark, lookLight := inDark[x], inDark[x].Look, inLight[x].Look
		same := func(x int) bool {
			return x < len(inDark) && inDark[x].Look == lookDark && inLight[x].Look == lookLight
		}
		switch {
		case cell.Text == "" || cell.Text == " ":
			x++
			continue
		case shapes[cell.Text] != nil:
			one, _ := dark.colours(lookDark)
			other, _ := light.colours(lookLight)
			to := x
			var lines, blocks strings.Builder
			for same(to) && shapes[inDark[to].Text] != nil {
				s := shapes[inDark[to].Text]
				n := 1
				if inDark[to].Text == "─" || inDark[to].Text == "━" {
					for same(to+n) && inDark[to+n].Text == inDark[to].Text {
						n++
					}
				}
				if s.fill {
					blocks.WriteString(s.path(float64(to)*cellW, n))
				} else {
					lines.WriteString(s.path(float64(to)*cellW, n))
				}
				to += n
			}
			if lines.Len() > 0 {
				fmt.Fprintf(&b, "<path class=\"l c%d\" d=\"%s\"/>", d.class("stroke:"+one, "stroke:"+other), lines.String())
			}
			if blocks.Len() > 0 {
				fmt.Fprintf(&b, "<path class=\"c%d\" d=\"%s\"/>", d.class("fill:"+one, "fill:"+other), blocks.String())
			}
			x = to
		default:
			r := run{from: x, to: x + 1, text: cell.Text}
			for r.to < len(inDark) && inDark[r.to].Text == "" {
				r.to++ // the right half
			}
			if len(cell.Text) == 1 {
				for same(r.to) && len(inDark[r.to].Text) == 1 && (inDark[r.to].Text != " " || same(r.to+1) && len(inDark[r.to+1].Text) == 1 && inDark[r.to+1].Text != " ") {
					r.text += inDark[r.to].Text
					r.to++
				}
			}
			fmt.Fprintf(&b, "<text class=\"c%d\" x=\"%s\" y=\"%s\"", d.class(dark.ink(lookDark), light.ink(lookLight)), number(float64(r.from)*cellW), number(baseline))
			if len(r.text) > 1 && r.to-r.from > 1 {
				fmt.Fprintf(&b, " textLength=\"%s\" lengthAdjust=\"spacingAndGlyphs\"", number(float64(r.to-r.from)*cellW))
			}
			fmt.Fprintf(&b, ">%s</text>", escape(r.text))
			x = r.to
		}
	}
	markup := b.String()
	if markup == "" {
		return -1
	}
	n, ok := d.rows[markup]
	if !ok {
		n = len(d.rows)
		d.rows[markup] = n
		d.defs = append(d.defs, fmt.Sprintf("<g id=\"r%d\">%s</g>\n", n, markup))
	}
	return n
}

// shape is a glyph that is drawn rather than set, filled or as lines.
type shape struct {
	fill bool
	path func(x float64, n int) string
}

const (
	midX, midY = cellW / 2, cellH / 2
	corner     = 4
)

// shapes are the glyphs that must join.
var shapes = map[string]*shape{
	"─": strokes("h"), "│": strokes("v"), "┌": strokes("rd"), "┐": strokes("ld"), "└": strokes("ru"), "┘": strokes("lu"),
	"├": strokes("vr"), "┤": strokes("vl"), "┬": strokes("hd"), "┴": strokes("hu"), "┼": strokes("hv"),
	"╭": round(1, 1), "╮": round(-1, 1), "╰": round(1, -1), "╯": round(-1, -1),
	"█": block(0, 0, cellW, cellH), "▌": block(0, 0, cellW/2, cellH), "▐": block(cellW/2, 0, cellW/2, cellH),
	"┃": block(midX-1.5, 0, 3, cellH), "━": block(0, midY-1.5, cellW, 3), "╸": block(0, midY-1.5, cellW/2, 3),
}

// strokes draws lines: h and v through the cell, l r u d from its middle.
func strokes(arms string) *shape {
	return &shape{path: func(x float64, n int) string {
		var b strings.Builder
		for _, arm := range arms {
			switch arm {
			case 'h':
				fmt.Fprintf(&b, "M%s %sh%s", number(x), number(midY), number(float64(n)*cellW))
			case 'v':
				fmt.Fprintf(&b, "M%s 0v%d", number(x+midX), cellH)
			case 'l':
				fmt.Fprintf(&b, "M%s %sH%s", number(x), number(midY), number(x+midX+.6))
			case 'r':
				fmt.Fprintf(&b, "M%s %sH%s", number(x+midX-.6), number(midY), number(x+cellW))
			case 'u':
				fmt.Fprintf(&b, "M%s 0V%s", number(x+midX), number(midY))
			case 'd':
				fmt.Fprintf(&b, "M%s %sV%d", number(x+midX), number(midY), cellH)
			}
		}
		return b.String()
	}}
}

// round draws a round corner from one side (right for 1) to another (down for 1).
func round(side, down float64) *shape {
	return &shape{path: func(x float64, _ int) string {
		cx, edge, end := x+midX, x+midX+side*midX, midY+down*midY
		return fmt.Sprintf("M%s %sH%sQ%s %s %s %sV%s", number(edge), number(midY), number(cx+side*corner), number(cx), number(midY), number(cx), number(midY+down*corner), number(end))
	}}
}

// block draws a rectangle, as often as the glyph is repeated.
func block(dx, dy, w, h float64) *shape {
	return &shape{fill: true, path: func(x float64, n int) string {
		return fmt.Sprintf("M%s %sh%sv%sh-%sz", number(x+dx), number(dy), number(w+float64(n-1)*cellW), number(h), number(w+float64(n-1)*cellW))
	}}
}

// number writes a number with at most two digits behind the point.
func number(f float64) string {
	s := strings.TrimRight(fmt.Sprintf("%.2f", f), "0")
	return strings.TrimSuffix(s, ".")
}

func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	return b.String()
}
