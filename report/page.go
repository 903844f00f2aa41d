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

// first returns the snapshot that shows where none was chosen: the head, or else the last.
func (p *page) first() model.Node {
	if h := p.Timeline.Head(); h != model.NoNode {
		return h
	}
	return model.Node(p.Timeline.Len() - 1)
}

// begin writes the page up to the tree.
func (p *page) begin() {
	p.put(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy + `">`)
	p.put(`<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>`)
	p.text(p.ID)
	p.put(` · Hindcast</title><style>` + style + `</style></head><body data-first="#` + anchor(p.first()) + `"><header><h1>`)
	p.text(p.ID)
	p.put("</h1><p>")
	head := "no head"
	if h := p.Timeline.Head(); h != model.NoNode {
		head = "head " + p.Timeline.Name(h)
	}
	p.text(fmt.Sprintf("%s, %d off the path, %s", model.Count(p.Timeline.Snapshots(), "snapshot"), p.Timeline.Orphans(), head))
	p.put("</p>")
	for _, note := range p.Notes {
		p.element("p", "quiet", note)
	}
	p.put(`</header><main><nav aria-label="timeline">`)
}

// tree writes a row for each row of the drawing. Why a branch was left stands below its first
// row.
func (p *page) tree() {
	t := p.Timeline
	lanes := min(t.Lanes(), mostLanes)
	width := 0
	for n := range model.Node(t.Len()) {
		width = max(width, len(t.Name(n)))
	}
	var gutter []byte
	p.put("<ol>")
	for i := range t.Rows() {
		gutter = t.AppendGutter(gutter[:0], i, lanes, model.GlyphsUnicode)
		r := t.Row(i)
		if r.Kind != model.RowNode {
			p.element("li", "line", string(gutter))
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
		p.put(`<li><a class="` + class + `" href="#` + anchor(n) + `">`)
		p.element("span", "gutter", string(gutter))
		p.element("span", "name", strings.Repeat(" ", width-len(t.Name(n)))+t.Name(n))
		p.element("span", "event", h.EventWord())
		p.marks(&h)
		for _, label := range t.Labels(n) {
			p.element("span", "label", "("+label.Name+")")
		}
		p.element("span", "title", h.Title)
		p.put("</a>")
		if above := t.Parent(n); class == "off" && (above == model.NoNode || t.OnPath(above) || t.Reason(above) != t.Reason(n)) {
			p.put(`<div class="line"><span class="gutter">`)
			p.text(strings.Map(lineBelow, string(gutter)))
			p.put(`</span> <span class="why">`)
			p.text(t.Reason(n).Text(moment))
			p.put("</span></div>")
		}
		p.put("</li>")
	}
	p.put("</ol>")
	p.element("p", "legend", "○ on the active path · ◉ the head · ◌ off the active path · j k to the next and the previous row · g G to the first and the last · @ to the head")
}

// lineBelow returns the character that continues r in a line inserted below it: r itself if it is
// vertical, else a space.
func lineBelow(r rune) rune {
	if strings.ContainsRune("│┃", r) {
		return r
	}
	return ' '
}

// marks writes what is special about a snapshot. Its shape says that it is a step.
func (p *page) marks(h *model.Header) {
	for mark := range (h.Marks &^ model.MarkTraced).All() {
		p.element("span", "mark", "["+mark.Word()+"]")
	}
}

// snapshot writes the section of a snapshot.
func (p *page) snapshot(ctx context.Context, now *state, first bool) {
	t, n := p.Timeline, now.node
	h := t.Header(n)
	class := ""
	if first {
		class = ` class="first"`
	}
	p.put(`<section id="` + anchor(n) + `"` + class + ">")
	p.put("<h2>")
	p.text(t.Name(n) + " " + h.EventText() + " ")
	p.marks(&h)
	p.put("</h2><dl>")
	field := func(name, class, value string) {
		p.element("dt", "name", name)
		p.element("dd", class, value)
	}
	if h.Title != "" {
		field("title", "title", h.Title)
	}
	for _, label := range t.Labels(n) {
		p.element("dt", "name", "label")
		p.put(`<dd class="text"><b>`)
		p.text(label.Name)
		p.put("</b> ")
		p.lines(label.Note)
		p.put("</dd>")
	}
	if n == t.Head() {
		field("head", "is-head", "the framework goes on from here")
	}
	if !t.OnPath(n) {
		field("off the path", "why-off", t.Reason(n).Text(moment))
	}
	if h.TurnIndex != model.TurnUnknown {
		field("turn", "turn", strconv.Itoa(h.TurnIndex))
	}
	field("taken", "taken", moment(h.CreatedAt))
	field("id", "id", h.ID)
	base := t.Base(n)
	switch {
	case base != model.NoNode:
		p.put(`<dt>follows</dt><dd><a href="#` + anchor(base) + `">`)
		p.text(t.Name(base))
		p.put("</a></dd>")
	case h.ParentID != "":
		field("follows", "id", h.ParentID+", which is not here")
	}
	if h.Size > 0 {
		field("state", "size", size(int(h.Size)))
	}
	p.put("</dl>")
	p.content(ctx, now, base)
	p.put("</section>")
	p.last = now
}

// content writes what changed from a base to a state, and what was said.
func (p *page) content(ctx context.Context, now *state, base model.Node) {
	var before *state
	switch {
	case base == model.NoNode:
	case p.last != nil && p.last.node == base:
		before = p.last
	default:
		data, err := p.Store.State(ctx, p.Timeline.Header(base).Ref())
		before = p.state(ctx, base, data, err)
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
			p.element("p", "error", "the state of "+p.Timeline.Name(s.node)+" cannot be read: "+s.err.Error())
			return
		}
	}
	var old *view
	if before != nil {
		old = before.view
	}
	added := now.view.addedMessages(old)
	p.changes(ctx, before, now, added)
	p.messages(now.view, added)
}
