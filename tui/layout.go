package tui

// rect is a part of the screen, in cells.
type rect struct{ x, y, w, h int }

// holds reports whether a cell is in the part.
func (r rect) holds(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// inside gives the part within a border of one cell.
func (r rect) inside() rect { return rect{r.x + 1, r.y + 1, max(r.w-2, 0), max(r.h-2, 0)} }

// The least that the screen is drawn on, and the width from which its two boxes
// stand side by side.
const (
	leastWidth  = 60
	leastHeight = 18
	wideWidth   = 100
	// leastTimeline is what all columns of a timeline but the titles take.
	leastTimeline = 52
)

// layout is where everything is. The first row is the header, the last the
// footer.
type layout struct {
	w, h     int
	timeline rect
	tab      rect
	list     rect // of the sessions
}

// small reports whether there is too little room to draw on.
func (l *layout) small() bool { return l.w < leastWidth || l.h < leastHeight }

// wide reports whether the boxes stand side by side.
func (l *layout) wide() bool { return l.w >= wideWidth }

// arrange shares the screen out. Stacked, the box that has the keys gets the
// larger part, for there is never enough for both.
func arrange(w, h int, at focus) layout {
	l := layout{w: w, h: h}
	body := rect{0, 1, w, max(h-2, 0)}
	l.list, l.timeline, l.tab = body, body, body
	if l.wide() {
		l.timeline.w = max(w*45/100, leastTimeline)
		l.tab.x, l.tab.w = l.timeline.w, w-l.timeline.w
		return l
	}
	l.timeline.h = body.h * 55 / 100
	if at == onTab {
		l.timeline.h = body.h * 35 / 100
	}
	l.tab.y, l.tab.h = body.y+l.timeline.h, body.h-l.timeline.h
	return l
}

// strip takes rows from the bottom of the boxes, for what stands above the footer.
func (l *layout) strip(rows int) {
	for _, r := range []*rect{&l.timeline, &l.tab, &l.list} {
		if r.y+r.h == l.h-1 {
			r.h = max(r.h-rows, 0)
		}
	}
}
