package report

import (
	"context"
	"iter"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/query"
)

const (
	// mostLanes bounds how much of a row the drawing takes.
	mostLanes = 16
	// mostTitle bounds the titles of rows, in bytes.
	mostTitle = 120
)

// anchorOf names the section of a snapshot: n37 for #37, n11.1 for #11.1.
func (p *page) anchorOf(n model.Node) string {
	return p.prefix + "n" + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' || r == '-' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, p.Timeline.Name(n))
}

// writeBegin writes the page up to the card.
func (p *page) writeBegin(title string) {
	p.putHTML(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy() + `">`)
	p.putHTML(`<meta name="generator" content="Hindcast"><meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1"><title>`)
	p.writeText(title)
	p.putHTML(` · Hindcast</title><style>` + style + `</style></head><body><header><h1>`)
	p.writeText(conversation.Cut(title, 400))
	p.putHTML("</h1>")
}

// writeCard writes the facts about the session.
func (p *page) writeCard() {
	p.putHTML("<dl>")
	var stats []query.Stat
	for _, a := range p.additions {
		stats = append(stats, a.Stat)
	}
	facts := model.Facts{}
	facts.Add("session", p.ID)
	if p.Facts != nil {
		facts = append(facts, p.Facts(stats)...)
	}
	for _, fact := range facts {
		p.putHTML("<div>")
		p.writeElement("dt", "", fact.Label)
		p.writeElement("dd", "", p.hideText("card", fact.Value))
		p.putHTML("</div>")
	}
	p.putHTML("</dl>")
}

// writeBar writes the notes and the search field, and begins the timeline.
func (p *page) writeBar() {
	if p.Notes != nil {
		for _, note := range p.Notes() {
			p.writeElement("p", "note", note)
		}
	}
	p.putHTML(`<form role="search"><input type="search" placeholder="search (/)" aria-label="search"><output></output><button type="button" hidden>open all (o)</button></form></header><main><nav aria-label="timeline">`)
}

// writeTree writes a row for each row of the drawing. Why a branch was left stands above its first
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
	told := model.NoNode // the visit whose reason stands above it
	for i := range t.Rows() {
		gutter = t.AppendGutter(gutter[:0], i, lanes, model.GlyphsUnicode)
		r := t.Row(i)
		if r.Kind != model.RowNode {
			p.putHTML(`<li class="z">`)
			p.writeText(string(gutter))
			if i+1 < t.Rows() {
				if n := t.Row(i + 1).Node; n != model.NoNode && !t.OnPath(n) {
					told = n
					p.putHTML(" ")
					p.writeElement("i", "", t.Reason(n).Text(formatMinute))
				}
			}
			p.putHTML("</li>")
			continue
		}
		n := r.Node
		if p.beginsBranch(n) && told != n {
			p.putHTML(`<li class="z">`)
			p.writeText(strings.Map(lineAlong, string(gutter)))
			p.putHTML(" ")
			p.writeElement("i", "", t.Reason(n).Text(formatMinute))
			p.putHTML("</li>")
		}
		if !p.isInResult(n) {
			p.writeRow(n, string(gutter), width)
		}
	}
	p.putHTML("</ol>")
	p.writeLegend()
}

// writeLegend explains the shapes and the keys.
func (p *page) writeLegend() {
	p.writeElement("p", "legend", "○ on the active path · ◉ the head · ◌ left · j k next and previous snapshot · ( ) prompts · { } branches · / search, n N hits · o opens all · @ head")
}

// writeRow writes the row of a visit, behind the drawing; names take so many characters.
func (p *page) writeRow(n model.Node, gutter string, width int) {
	t := p.Timeline
	h := t.Header(n)
	p.putHTML("<li><a ")
	var classes []string
	switch {
	case n == t.Head():
		classes = append(classes, "head")
	case !t.OnPath(n):
		classes = append(classes, "off")
	}
	if p.opens[n] {
		classes = append(classes, "asked")
	}
	if classes != nil {
		p.putHTML(`class="` + strings.Join(classes, " ") + `" `)
	}
	p.putHTML(`href="#` + p.anchorOf(n) + `">`)
	p.writeText(gutter)
	p.writeText(" " + strings.Repeat(" ", width-len(t.Name(n))) + t.Name(n) + " ")
	p.writeElement("s", "", h.EventWord())
	p.writeMarks(&h)
	p.writeLabels(n)
	p.putHTML(" ")
	p.writeText(conversation.Cut(p.titles[n], mostTitle))
	p.putHTML("</a></li>")
}

// isInResult reports whether the row of a call is that of its result, as in the timeline of the screen: a label gives a call
// a row.
func (p *page) isInResult(n model.Node) bool {
	return p.folds.IsInResult(n) && len(p.Timeline.Labels(n)) == 0
}

// beginsBranch reports whether an abandoned branch begins at a visit, or a part of one with another reason.
func (p *page) beginsBranch(n model.Node) bool {
	t := p.Timeline
	if n == model.NoNode || t.OnPath(n) {
		return false
	}
	above := t.Parent(n)
	return above == model.NoNode || t.OnPath(above) || t.Reason(above) != t.Reason(n)
}

// lineAlong returns the character that continues r in a line beside it: r itself if it is vertical, else a space.
func lineAlong(r rune) rune {
	if strings.ContainsRune("│┃", r) {
		return r
	}
	return ' '
}

// quietMarks are marks whose shape in the tree tells enough, or that belong to the terminal.
const quietMarks = model.MarkTraced | model.MarkEvicted

// writeMarks writes what is special about a snapshot.
func (p *page) writeMarks(h *model.Header) {
	for mark := range (h.Marks &^ quietMarks).All() {
		p.putHTML(" ")
		p.writeElement("em", "", mark.Word())
	}
}

func (p *page) writeLabels(n model.Node) {
	for _, label := range p.Timeline.Labels(n) {
		p.putHTML(" ")
		p.writeElement("b", "", p.hideText("label", label.Name))
	}
}

// writeTalk writes the snapshots from top to bottom, as the tree draws them: each branch that was left where it parted.
func (p *page) writeTalk(ctx context.Context) error {
	t := p.Timeline
	if t.Len() == 0 {
		p.writeElement("p", "quiet", "the session has no snapshots")
	}
	var path []model.Node
	for i := range t.Rows() {
		if n := t.Row(i).Node; n != model.NoNode && t.OnPath(n) {
			path = append(path, n)
		}
	}
	next, stop := iter.Pull2(p.decodeLine(ctx, path))
	defer stop()
	roots := query.NewRoots(t)
	beside := 0 // the snapshots of the kept line that still stand beside the branches above them
	for i := 0; i < t.Rows(); i++ {
		n := t.Row(i).Node
		if n == model.NoNode {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.OnPath(n) {
			said, err, _ := next()
			if err != nil {
				return err
			}
			p.writeSnapshot(ctx, n, said)
			if beside > 0 {
				if beside--; beside == 0 || !p.goesOn(i+1) {
					p.putHTML("</div></div>")
					beside = 0
				}
			}
			continue
		}
		root := roots.Of(t, n)
		branch := []model.Node{n}
		for i+1 < t.Rows() {
			if m := t.Row(i + 1).Node; m != model.NoNode {
				if t.OnPath(m) || roots.Of(t, m) != root {
					break
				}
				branch = append(branch, m)
			}
			i++
		}
		if beside == 0 {
			p.putHTML(`<div class="fork">`)
		}
		beside = max(beside, len(branch))
		if err := p.writeBranch(ctx, branch); err != nil {
			return err
		}
		if next := p.nextShown(i + 1); next == model.NoNode {
			p.putHTML("</div>")
			beside = 0
		} else if t.OnPath(next) {
			p.putHTML(`<div class="kept">`)
			p.writeElement("p", "here", "here it parted; this is the line that was kept")
		}
	}
	return nil
}

// goesOn reports whether the next visit from row i on is on the active path.
func (p *page) goesOn(i int) bool {
	next := p.nextShown(i)
	return next != model.NoNode && p.Timeline.OnPath(next)
}

// nextShown returns the visit of the first row from i on that has one.
func (p *page) nextShown(i int) model.Node {
	for ; i < p.Timeline.Rows(); i++ {
		if n := p.Timeline.Row(i).Node; n != model.NoNode {
			return n
		}
	}
	return model.NoNode
}

// writeBranch writes a branch that was left as a fold.
func (p *page) writeBranch(ctx context.Context, branch []model.Node) error {
	t := p.Timeline
	steps := 0
	for _, n := range branch {
		if !t.IsStep(n) {
			steps++
		}
	}
	p.putHTML(`<details class="left"><summary>◌ `)
	p.writeText(t.Name(branch[0]) + ", " + model.Count(steps, "snapshot") + ": " + t.Reason(branch[0]).Text(formatMoment))
	p.putHTML(" <q>")
	p.writeText(conversation.Cut(p.titles[branch[0]], mostTitle))
	p.putHTML("</q></summary>")
	i := 0
	for said, err := range p.decodeLine(ctx, branch) {
		if err != nil {
			return err
		}
		if n := branch[i]; i > 0 && p.beginsBranch(n) {
			p.writeElement("p", "here", "from "+p.nameOf(t.Parent(n))+", "+t.Reason(n).Text(formatMoment))
		}
		p.writeSnapshot(ctx, branch[i], said)
		i++
	}
	p.putHTML("</details>")
	return nil
}

// writeUsage writes the tokens of the answers that a visit adds, and their price where it is known.
func (p *page) writeUsage(n model.Node) {
	sum := query.Sum{}
	sum.Add(p.additions[n].Stat, p.Prices)
	text := sum.TokensText()
	if cost := sum.CostText(p.Currency); cost != "" {
		text = strings.TrimPrefix(text+" · "+cost, " · ")
	}
	if text != "" {
		p.putHTML(" ")
		p.writeElement("span", "use", text)
	}
}

// nameOf returns the name of a visit, "the start" for model.NoNode.
func (p *page) nameOf(n model.Node) string {
	if n == model.NoNode {
		return "the start"
	}
	return p.Timeline.Name(n)
}

// writeSnapshot writes the section of a snapshot: what was said, and what else changed.
func (p *page) writeSnapshot(ctx context.Context, n model.Node, said talk) {
	t := p.Timeline
	p.written++
	p.tellStage("write", "snapshot", p.written, t.Len())
	h := t.Header(n)
	class := "s"
	switch {
	case slices.ContainsFunc(said, func(m spoken) bool { return m.prompt }):
		class = "s prompt"
	case !slices.ContainsFunc(said, hasParts): // its results stand with their calls
		class = "s bare"
	}
	p.putHTML(`<section class="` + class + `" id="` + p.anchorOf(n) + `"><h2><a href="#` + p.anchorOf(n) + `">`)
	p.writeText(t.Name(n))
	p.putHTML("</a> ")
	p.writeText(h.EventText())
	p.writeMarks(&h)
	if h.Marks.Has(model.MarkEvicted) {
		p.putHTML(" ")
		p.writeElement("span", "quiet", model.MarkEvicted.Text())
	}
	p.writeLabels(n)
	if n == t.Head() {
		p.putHTML(" <em class=\"is\">head</em>")
	}
	if class == "s bare" && !p.isInResult(t.Parent(n)) { // else its call says so right above
		p.putHTML(" ")
		p.writeText(conversation.Cut(p.titles[n], mostTitle))
	}
	p.writeUsage(n)
	if !h.CreatedAt.IsZero() {
		p.putHTML(" <time>")
		p.writeText(formatMoment(h.CreatedAt))
		p.putHTML("</time>")
	}
	p.putHTML("</h2>")
	for _, label := range t.Labels(n) {
		if label.Note != "" {
			p.putHTML(`<p class="note">`)
			p.writeLines(p.hideText("note", label.Note))
			p.putHTML("</p>")
		}
	}
	for i := range said {
		p.writeMessage(&said[i])
	}
	if a := &p.additions[n]; a.Unread != nil {
		p.writeElement("p", "error", "the state of "+t.Name(n)+" cannot be read: "+a.Unread.Error())
	} else {
		p.writeChanges(ctx, n)
	}
	p.putHTML("</section>")
}
