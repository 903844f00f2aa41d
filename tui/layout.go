package tui

// rect is a part of the screen, in cells.
type rect struct{ x, y, w, h int }

// holdsCell reports whether a cell is in the part.
func (r rect) holdsCell(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// insideBorder returns the part within a border of one cell.
func (r rect) insideBorder() rect { return rect{r.x + 1, r.y + 1, max(r.w-2, 0), max(r.h-2, 0)} }

// The least that the screen is drawn on, the width from which its two boxes stand
// side by side, and that from which the timeline gets half of it.
const (
	leastWidth  = 60
	leastHeight = 18
	wideWidth   = 100
	halfWidth   = 140
	// leastTimeline is the width of a timeline whose titles have 28 cells, unless the person narrows it. It
	// leaves the tabs room for all of their names.
	leastTimeline = 56
)

// The least that a person can make of a box: its name still shows, and some rows.
const (
	leastBoxWidth  = 24
	leastBoxHeight = 5
)

// layout is where everything is. The first row is the header, the last the
// footer.
type layout struct {
	w, h     int
	timeline rect
	tab      rect
	list     rect // of the sessions, with their preview
	rows     rect // of the sessions alone
	preview  rect // empty on a narrow screen
	scrubber rect // above the boxes of a session, empty where it does not show
}

// isTooSmall reports whether there is too little room to draw on.
func (l *layout) isTooSmall() bool { return l.w < leastWidth || l.h < leastHeight }

// isSideBySide reports whether the boxes stand side by side.
func (l *layout) isSideBySide() bool { return l.w >= wideWidth }

// shares is how a person shared the screen out between the two boxes of a session.
// It is kept while the program runs, whatever size the screen gets.
type shares struct {
	// side and stacked are the timeline's shares of the width and of the height, in thousandths. 0 means that
	// the border was never moved.
	side, stacked int
	// zoomed says that the box with the keys takes all.
	zoomed bool
}

// thousand is the whole of a share.
const thousand = 1000

// arrangeScreen shares the screen out. Stacked, the box that has the keys gets the larger
// part unless the border was moved, for there is never enough for both. A box that
// does not show lies below the screen, as large as it is without the zoom.
func arrangeScreen(w, h int, at focus, s shares) layout {
	l := layout{w: w, h: h}
	body := rect{0, 1, w, max(h-2, 0)}
	l.list, l.timeline, l.tab = body, body, body
	if l.isSideBySide() {
		l.timeline.w = l.timelineWidth(s.side)
		l.tab.x, l.tab.w = l.timeline.w, w-l.timeline.w
	} else {
		share := s.stacked
		switch {
		case share > 0:
		case at == onTab:
			share = 350
		default:
			share = 550
		}
		l.timeline.h = clampSize(body.h*share/thousand, body.h, leastBoxHeight)
		l.tab.y, l.tab.h = body.y+l.timeline.h, body.h-l.timeline.h
	}
	if s.zoomed {
		shown, hidden := &l.timeline, &l.tab
		if at == onTab {
			shown, hidden = hidden, shown
		}
		*shown, hidden.y = body, max(h, 1)
	}
	return l
}

// The preview stands beside the list from previewWidth cells on, with a third of them within bounds.
const previewWidth, leastPreview, mostPreview = 120, 40, 72

// splitList shares the list out between the sessions and the preview.
func (l *layout) splitList() {
	if l.w >= previewWidth {
		width := max(leastPreview, min(l.w/3, mostPreview))
		l.rows.w -= width
		l.preview = rect{l.rows.x + l.rows.w, l.list.y, width, l.list.h}
	}
}

// stripRows takes rows from the bottom of the boxes, for a line above the footer.
func (l *layout) stripRows(rows int) {
	for _, r := range []*rect{&l.timeline, &l.tab, &l.list} {
		if r.y+r.h == l.h-1 {
			r.h = max(r.h-rows, 0)
		}
	}
}

// takeScrubberRow takes the first row of the boxes of a session for the scrubber.
func (l *layout) takeScrubberRow() {
	l.scrubber = rect{0, l.list.y, l.w, 1}
	for _, r := range []*rect{&l.timeline, &l.tab} {
		if r.y == l.scrubber.y {
			r.y, r.h = r.y+1, max(r.h-1, 0)
		}
	}
}

// timelineWidth returns the width of the timeline beside the tabs for a share of the screen,
// or for 0 the one that it has by itself.
func (l *layout) timelineWidth(share int) int {
	switch {
	case share > 0:
		return clampSize(l.w*share/thousand, l.w, leastBoxWidth)
	case l.w >= halfWidth:
		return l.w / 2
	}
	return max(l.w*45/100, leastTimeline)
}

// clampSize keeps the size of the first of two boxes so that each has the least size;
// where both cannot have it, they get half each.
func clampSize(size, all, least int) int {
	least = min(least, all/2)
	return max(least, min(size, all-least))
}

// moveBorder returns the shares after the border was put to a cell of the screen: its
// column where the boxes stand side by side, else its row in the body.
func (l *layout) moveBorder(s shares, x, y int) shares {
	// Rounded up, so that arrange comes to the same cell.
	share := func(size, all int) int { return max((size*thousand+all-1)/all, 1) }
	if l.isSideBySide() {
		s.side = share(clampSize(x, l.w, leastBoxWidth), l.w)
	} else {
		body := max(l.h-2, 1) // whatever stands above the footer now
		s.stacked = share(clampSize(y-1, body, leastBoxHeight), body)
	}
	return s
}

// onBorder reports whether a cell is on the border between the two boxes.
func (l *layout) onBorder(x, y int) bool {
	if l.timeline.y >= l.h || l.tab.y >= l.h {
		return false // one of them takes all
	}
	if l.isSideBySide() {
		return l.list.holdsCell(x, y) && (x == l.tab.x || x == l.tab.x-1)
	}
	return y == l.tab.y-1 // the row below has the names of the tabs
}
