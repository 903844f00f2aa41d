package report

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"

	"hindcast/model"
	"hindcast/query"
)

// WritePair writes one page on two lines: the common beginning once, and behind it both lines beside each other, from
// where they parted. The lines are of one session, where a and b have the same Store and ID, or of two; parting tells
// where they parted. The page has the Redactor, the Notes and the Progress of a. It fails as [Write] does.
func WritePair(ctx context.Context, w io.Writer, a, b Session, parting query.Parting) error {
	p := &page{Writer: bufio.NewWriterSize(w, 64<<10), Session: a}
	q, pages := p, []*page{p}
	if a.Store != b.Store || a.ID != b.ID {
		b.Redactor, b.Notes, b.Progress = a.Redactor, nil, a.Progress
		q = &page{Writer: p.Writer, Session: b, prefix: "b-"}
		pages = append(pages, q)
	}
	for _, of := range pages {
		if err := of.readSession(ctx); err != nil {
			return err
		}
	}
	if err := redactAll(ctx, a.Redactor, pages...); err != nil {
		return err
	}
	title := cmp.Or(p.Title, p.ID)
	if other := cmp.Or(q.Title, q.ID); other != title {
		title += " | " + other
	}
	p.writeBegin(title)
	p.putHTML(`<div class="cards">`)
	for _, of := range pages {
		of.writeCard()
	}
	p.putHTML("</div>")
	p.writeBar()
	sides := [2]side{{p, parting.A, a.Name}, {q, parting.B, b.Name}}
	p.writePairRows(sides)
	p.putHTML(`</nav><div id="talk">`)
	if err := p.writeLine(ctx, p.pathTo(parting.A.Fork)); err != nil {
		return err
	}
	p.writeElement("p", "parted", partedText(sides))
	p.putHTML(`<div class="pair">`)
	for _, s := range sides {
		p.putHTML("<div>")
		p.writeElement("p", "side", s.headingText())
		if err := s.writeLine(ctx, s.Since); err != nil {
			return err
		}
		p.putHTML("</div>")
	}
	p.putHTML("</div>")
	p.writeScript()
	return p.writeEnd(ctx)
}

// side is one of two lines beside each other, with its heading.
type side struct {
	*page
	query.Line
	name string
}

// headingText returns the heading of the line.
func (s *side) headingText() string {
	steps := 0
	for _, n := range s.Since {
		if !s.Timeline.IsStep(n) {
			steps++
		}
	}
	return s.hideText("session", s.name) + ": " + model.Count(steps, "snapshot") + " since"
}

// partedText says where two lines parted.
func partedText(sides [2]side) string {
	a, b := sides[0], sides[1]
	switch {
	case a.Fork == model.NoNode:
		return "the two have nothing in common"
	case a.page == b.page:
		return "here they parted, behind " + a.nameOf(a.Fork)
	}
	return "here they parted, behind " + a.nameOf(a.Fork) + " on the left and " + b.nameOf(b.Fork) + " on the right"
}

// pathTo returns the visits that lead to one, the first one first.
func (p *page) pathTo(n model.Node) (path []model.Node) {
	for ; n != model.NoNode; n = p.Timeline.Parent(n) {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// writePairRows writes the rows of the common beginning, and those of each line below its heading.
func (p *page) writePairRows(sides [2]side) {
	p.putHTML("<ol>")
	p.writeVisits(p.pathTo(sides[0].Fork))
	for _, s := range sides {
		p.writeElement("li", "z", s.headingText())
		s.writeVisits(s.Since)
	}
	p.putHTML("</ol>")
	p.writeLegend()
}

// writeVisits writes the rows of visits one behind the other.
func (p *page) writeVisits(visits []model.Node) {
	width := 0
	for _, n := range visits {
		width = max(width, len(p.Timeline.Name(n)))
	}
	for _, n := range visits {
		gutter := "○"
		switch {
		case n == p.Timeline.Head():
			gutter = "◉"
		case !p.Timeline.OnPath(n):
			gutter = "◌"
		}
		p.writeRow(n, gutter, width)
	}
}

// writeLine writes the sections of the visits of a line.
func (p *page) writeLine(ctx context.Context, line []model.Node) error {
	i := 0
	for said, err := range p.decodeLine(ctx, line) {
		if err != nil {
			return err
		}
		p.writeSnapshot(ctx, line[i], said)
		i++
	}
	return ctx.Err()
}
