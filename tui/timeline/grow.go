package timeline

import (
	"slices"

	"hindcast/model"
)

// How a timeline grows while it is drawn.
//
// Nearly always a session grows by snapshots that each follow the head and
// become it. Such a snapshot takes constant time and moves no row, so a bounded
// number of them is taken in on the spot, between two frames, by [Pane.Append].
// The one thing about it that would cost more is room in the arrays, so
// contents are made with some to spare (see [Spare]), and one without is not
// appended to.
//
// Everything else, such as a branch from further back, no room left or thousands
// at a time, is rare and makes a new content of all headers by [Content.With],
// in a command, while the old one is still drawn. The alternative, a second
// timeline that commands append to and that takes turns with the one that is
// drawn, would double the memory of every session for the rare case.

// most is how many snapshots are taken in on the spot. That takes 0.2 to 0.4 ms
// in a session of any length, see BenchmarkPane_append.
const most = 1024

// Spare returns for how many headers more a timeline of n should have room: a new
// content is made at the most once in that many snapshots.
func Spare(n int) int { return n/8 + most }

// Takes reports whether [Pane.Append] can take in headers that were recorded
// after those of the content: there is room for them, and each follows the one
// before it, the first one the head, and becomes the head.
func (c *Content) Takes(headers []model.Header) bool {
	t := c.Timeline
	if len(headers) > min(most, t.Room()) || t.Head() == model.NoNode || !c.findsHead(headers) {
		return false
	}
	head := t.Header(t.Head())
	for i, last := 0, &head; i < len(headers); i++ {
		h := &headers[i]
		if h.Orphaned || !isSuccessor(h, last) || !head.Head && model.CompareHeaders(h, last) <= 0 {
			return false
		}
		last = h
	}
	return !head.Head || len(headers) == 0 || headers[len(headers)-1].Head
}

// findsHead reports whether the timeline finds the head, as the parent of the first
// header, without looking for it: it is the node before, or visits are numbered
// one by one.
func (c *Content) findsHead(headers []model.Header) bool {
	t := c.Timeline
	if int(t.Head()) == t.Len()-1 || len(headers) == 0 {
		return true
	}
	return headers[0].ParentVisit != 0 && headers[0].ParentVisit-t.Header(0).Visit == int64(t.Head())
}

// isSuccessor reports whether h names p as the visit that it follows.
func isSuccessor(h, p *model.Header) bool {
	switch {
	case h.SessionID != p.SessionID:
		return false
	case h.ParentVisit != 0:
		return h.ParentVisit == p.Visit
	}
	return h.ParentID != "" && h.ParentID == p.ID
}

// With makes the content of the headers of this one and of others that were
// recorded after them. It leaves c alone, and takes as long as Prepare does.
func (c *Content) With(headers []model.Header) *Content {
	t := c.Timeline
	var all model.Headers
	for i := range model.Node(t.Len()) {
		h := t.Header(i)
		all.Add(&h)
	}
	for i := range headers {
		all.Add(&headers[i])
	}
	made := Prepare(all.Timeline(Spare(all.Len())))
	made.More = c.More
	return made
}

// Same reports whether another content is made of the same headers. The time is
// linear in their number.
func (c *Content) Same(other *Content) bool {
	if c.Timeline.Len() != other.Timeline.Len() || c.More != other.More {
		return false
	}
	for i := range model.Node(c.Timeline.Len()) {
		a, b := c.Timeline.Header(i), other.Timeline.Header(i)
		if (a.Reason == nil) != (b.Reason == nil) || a.Reason != nil && *a.Reason != *b.Reason {
			return false
		}
		a.Reason, b.Reason = nil, nil
		if a != b {
			return false
		}
	}
	return true
}

// appendHeaders takes in headers that the content takes. It reports whether the turns are others than before.
func (c *Content) appendHeaders(headers []model.Header) (anew bool) {
	if len(headers) == 0 {
		return false
	}
	t, head, from := c.Timeline, c.Timeline.Head(), model.Node(c.Timeline.Len())
	for i := range headers {
		// Each was the head in its time. The timeline takes the mark from the one
		// before, and need not search for the path.
		headers[i].Head = headers[len(headers)-1].Head
	}
	t.Append(headers...)
	c.measureColumns(from)
	if last := len(c.stops) - 1; c.stops[last] == head && !c.isStop(head) {
		c.stops = c.stops[:last]
	}
	for n := from; int(n) < t.Len(); n++ {
		c.noteStop(n)
	}
	return c.Turns.AppendVisits(from)
}

// Append takes in snapshots that were recorded after those that show and that
// the content [Content.Takes]; it keeps copies of the headers. A cursor on the
// head goes along with it; everything else stays where it is. The time is linear
// in the number of the new ones.
func (p *Pane) Append(headers []model.Header) {
	following, from := p.Following(), model.Node(p.t.Len())
	if p.c.appendHeaders(slices.Clone(headers)) {
		p.folds.Rebase(p.t, p.c.Turns)
	}
	p.scrub = nil
	p.matches.extendFrom(p.t, from)
	p.columns = p.fitColumns()
	p.rows.Len = p.folds.Rows()
	if following {
		p.Select(p.t.Head())
	}
}

// Renew shows another content of the same session, which changed by more than growth. Cursor, mark, folds and
// matches stay where possible, and a cursor on the head stays on the head. matches are the pane's matches,
// searched for again.
func (p *Pane) Renew(c *Content, matches Matches) {
	following := p.Following()
	p.Set(c)
	p.matches = matches
	if following {
		p.Select(p.t.Head())
	}
}

// Following reports whether the cursor stands on the head, and so goes along
// with it when the session grows.
func (p *Pane) Following() bool { return p.cursor != model.NoNode && p.cursor == p.t.Head() }
