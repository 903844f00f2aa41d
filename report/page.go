package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hindcast/model"
)

// mostLanes bounds how much of a row the drawing takes.
const mostLanes = 16

// anchor names the section of a snapshot.
func anchor(n model.Node) string { return "n" + strconv.Itoa(int(n)) }

// firstShown returns the snapshot that shows where none was chosen: the head, or else the last.
func (p *page) firstShown() model.Node {
	if h := p.Timeline.Head(); h != model.NoNode {
		return h
	}
	return model.Node(p.Timeline.Len() - 1)
}

// writeBegin writes the page up to the tree.
func (p *page) writeBegin() {
	p.putHTML(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy + `">`)
	p.putHTML(`<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>`)
	p.writeText(p.ID)
	p.putHTML(` · Hindcast</title><style>` + style + `</style></head><body data-first="#` + anchor(p.firstShown()) + `"><header><h1>`)
	p.writeText(p.ID)
	p.putHTML("</h1><p>")
	head := "no head"
	if h := p.Timeline.Head(); h != model.NoNode {
		head = "head " + p.Timeline.Name(h)
	}
	p.writeText(fmt.Sprintf("%s, %d off the path, %s", model.Count(p.Timeline.Snapshots(), "snapshot"), p.Timeline.Orphans(), head))
	p.putHTML("</p>")
	for _, note := range p.Notes {
		p.writeElement("p", "quiet", note)
	}
	p.putHTML(`</header><main><nav aria-label="timeline">`)
}

// writeTree writes a row for each row of the drawing. Why a branch was left stands below its first
// row.
func (p *page) writeTree() {
	t := p.Timeline
	lanes := min(t.Lanes(), mostLanes)
	width := 0
	for n := range model.Node(t.Len()) {
		width = max(width, len(t.Name(n)))
	}
	var gutter []byte
	p.putHTML("<ol>")
	for i := range t.Rows() {
		gutter = t.AppendGutter(gutter[:0], i, lanes, model.GlyphsUnicode)
		r := t.Row(i)
		if r.Kind != model.RowNode {
			p.writeElement("li", "line", string(gutter))
			continue
		}
		n := r.Node
		h := t.Header(n)
		class := "on"
		switch {
		case n == t.Head():
			class = "head"
		case !t.OnPath(n):
			class = "off"
		}
		p.putHTML(`<li><a class="` + class + `" href="#` + anchor(n) + `">`)
		p.writeElement("span", "gutter", string(gutter))
		p.writeElement("span", "name", strings.Repeat(" ", width-len(t.Name(n)))+t.Name(n))
		p.writeElement("span", "event", h.EventWord())
		p.writeMarks(&h)
		for _, label := range t.Labels(n) {
			p.writeElement("span", "label", "("+label.Name+")")
		}
		p.writeElement("span", "title", h.Title)
		p.putHTML("</a>")
		if above := t.Parent(n); class == "off" && (above == model.NoNode || t.OnPath(above) || t.Reason(above) != t.Reason(n)) {
			p.putHTML(`<div class="line"><span class="gutter">`)
			p.writeText(strings.Map(lineBelow, string(gutter)))
			p.putHTML(`</span> <span class="why">`)
			p.writeText(t.Reason(n).Text(formatMoment))
			p.putHTML("</span></div>")
		}
		p.putHTML("</li>")
	}
	p.putHTML("</ol>")
	p.writeElement("p", "legend", "○ on the active path · ◉ the head · ◌ off the active path · j k to the next and the previous row · g G to the first and the last · @ to the head")
}

// lineBelow returns the character that continues r in a line inserted below it: r itself if it is
// vertical, else a space.
func lineBelow(r rune) rune {
	if strings.ContainsRune("│┃", r) {
		return r
	}
	return ' '
}

// writeMarks writes what is special about a snapshot. Its shape says that it is a step.
func (p *page) writeMarks(h *model.Header) {
	for mark := range (h.Marks &^ model.MarkTraced).All() {
		p.writeElement("span", "mark", "["+mark.Word()+"]")
	}
}

// writeSnapshot writes the section of a snapshot.
func (p *page) writeSnapshot(ctx context.Context, now *state, first bool) {
	t, n := p.Timeline, now.node
	h := t.Header(n)
	class := ""
	if first {
		class = ` class="first"`
	}
	p.putHTML(`<section id="` + anchor(n) + `"` + class + ">")
	p.putHTML("<h2>")
	p.writeText(t.Name(n) + " " + h.EventText() + " ")
	p.writeMarks(&h)
	p.putHTML("</h2><dl>")
	field := func(name, class, value string) {
		p.writeElement("dt", "name", name)
		p.writeElement("dd", class, value)
	}
	if h.Title != "" {
		field("title", "title", h.Title)
	}
	for _, label := range t.Labels(n) {
		p.writeElement("dt", "name", "label")
		p.putHTML(`<dd class="text"><b>`)
		p.writeText(label.Name)
		p.putHTML("</b> ")
		p.writeLines(label.Note)
		p.putHTML("</dd>")
	}
	if n == t.Head() {
		field("head", "is-head", "the framework goes on from here")
	}
	if !t.OnPath(n) {
		field("off the path", "why-off", t.Reason(n).Text(formatMoment))
	}
	if h.TurnIndex != model.TurnUnknown {
		field("turn", "turn", strconv.Itoa(h.TurnIndex))
	}
	field("taken", "taken", formatMoment(h.CreatedAt))
	field("id", "id", h.ID)
	base := t.Base(n)
	switch {
	case base != model.NoNode:
		p.putHTML(`<dt>follows</dt><dd><a href="#` + anchor(base) + `">`)
		p.writeText(t.Name(base))
		p.putHTML("</a></dd>")
	case h.ParentID != "":
		field("follows", "id", h.ParentID+", which is not here")
	}
	if h.Size > 0 {
		field("state", "size", formatSize(int(h.Size)))
	}
	p.putHTML("</dl>")
	p.writeContent(ctx, now, base)
	p.putHTML("</section>")
	p.last = now
}

// writeContent writes what changed from a base to a state, and what was said.
func (p *page) writeContent(ctx context.Context, now *state, base model.Node) {
	var before *state
	switch {
	case base == model.NoNode:
	case p.last != nil && p.last.node == base:
		before = p.last
	default:
		data, err := p.Store.State(ctx, p.Timeline.Header(base).Ref())
		before = p.newState(ctx, base, data, err)
	}
	switch {
	case now.err != nil:
	case before == nil || before.err != nil:
		p.readWhole(now)
	default:
		p.readBoth(before, now)
	}
	for _, s := range []*state{before, now} {
		if s != nil && s.err != nil {
			p.writeElement("p", "error", "the state of "+p.Timeline.Name(s.node)+" cannot be read: "+s.err.Error())
			return
		}
	}
	var old *view
	if before != nil {
		old = before.view
	}
	added := now.view.addedMessages(old)
	p.writeChanges(ctx, before, now, added)
	p.writeMessages(now.view, added)
}
