package tui

import (
	"fmt"
	"testing"
)

// Whatever the size of the screen and the person's shares, the boxes fill the body
// between header and footer, without a gap, on top of nothing.
func TestArrange_fillsTheBody(t *testing.T) {
	for w := 0; w <= 260; w++ {
		for _, h := range []int{0, 1, 2, 3, 5, 18, 30, 36, 50, 90} {
			for _, at := range []focus{onTimeline, onTab} {
				for _, s := range []shares{{}, {side: 1, stacked: 1}, {side: 430, stacked: 700}, {side: 999, stacked: 999}} {
					l := arrangeScreen(w, h, at, s)
					a, b, body := l.timeline, l.tab, l.list
					if min(a.w, a.h, b.w, b.h, a.x, b.x) < 0 {
						t.Fatalf("%d×%d %+v: %+v %+v", w, h, s, a, b)
					}
					sides := a.w+b.w == body.w && b.x == a.w && a.h == body.h && b.h == body.h && a.y == body.y && b.y == body.y
					stack := a.h+b.h == body.h && b.y == body.y+a.h && a.w == body.w && b.w == body.w && a.y == body.y
					if l.isSideBySide() && !sides || !l.isSideBySide() && !stack {
						t.Fatalf("%d×%d %+v: %+v and %+v do not fill %+v", w, h, s, a, b, body)
					}
					if !l.isTooSmall() && (min(a.w, b.w) < leastBoxWidth || min(a.h, b.h) < leastBoxHeight) {
						t.Fatalf("%d×%d %+v: %+v and %+v are too small", w, h, s, a, b)
					}
				}
				l := arrangeScreen(w, h, at, shares{zoomed: true})
				shown, hidden := l.timeline, l.tab
				if at == onTab {
					shown, hidden = hidden, shown
				}
				if shown != l.list || hidden.y < h {
					t.Fatalf("%d×%d zoomed: %+v shows, %+v is hidden", w, h, shown, hidden)
				}
			}
		}
	}
}

func TestArrange_sharesTheScreen(t *testing.T) {
	for _, tc := range []struct {
		w, h int
		at   focus
		s    shares
		want rect // of the timeline
	}{
		{60, 18, onTimeline, shares{}, rect{0, 1, 60, 8}},
		{60, 18, onTab, shares{}, rect{0, 1, 60, 5}},
		{60, 18, onTab, shares{stacked: 600}, rect{0, 1, 60, 9}},
		{80, 24, onTimeline, shares{}, rect{0, 1, 80, 12}},
		{100, 30, onTimeline, shares{}, rect{0, 1, 56, 28}},
		{100, 30, onTab, shares{}, rect{0, 1, 56, 28}},
		{100, 30, onTab, shares{side: 300}, rect{0, 1, 30, 28}},
		{120, 36, onTimeline, shares{}, rect{0, 1, 56, 34}},
		{139, 36, onTimeline, shares{}, rect{0, 1, 62, 34}},
		{140, 36, onTimeline, shares{}, rect{0, 1, 70, 34}},
		{200, 50, onTimeline, shares{}, rect{0, 1, 100, 48}},
		{200, 50, onTimeline, shares{side: 300}, rect{0, 1, 60, 48}},
		{200, 50, onTimeline, shares{side: 300, zoomed: true}, rect{0, 1, 200, 48}},
	} {
		if got := arrangeScreen(tc.w, tc.h, tc.at, tc.s).timeline; got != tc.want {
			t.Errorf("%d×%d %d %+v: %+v, want %+v", tc.w, tc.h, tc.at, tc.s, got, tc.want)
		}
	}
}

// The border goes to the cell to which it is put, as far as both boxes keep their
// least size, and the share stays when the size of the screen changes.
func TestLayout_movesTheBorder(t *testing.T) {
	for _, size := range [][2]int{{60, 18}, {99, 40}, {100, 30}, {120, 36}, {200, 50}, {233, 61}} {
		l := arrangeScreen(size[0], size[1], onTimeline, shares{})
		for at := range 250 {
			s := l.moveBorder(shares{}, at, at)
			got := arrangeScreen(size[0], size[1], onTimeline, s)
			is, want := got.tab.x, clampSize(at, l.w, leastBoxWidth)
			if !l.isSideBySide() {
				is, want = got.tab.y, 1+clampSize(at-1, l.list.h, leastBoxHeight)
			}
			if is != want {
				t.Fatalf("%v: put to %d, the border is at %d, want %d", size, at, is, want)
			}
			if !got.onBorder(got.tab.x, got.tab.y-1) && !got.onBorder(got.tab.x, 5) {
				t.Fatalf("%v: the border is not where it is", size)
			}
		}
	}
	l := arrangeScreen(100, 30, onTimeline, shares{})
	s := l.moveBorder(shares{}, 30, 0)
	if got := arrangeScreen(200, 50, onTimeline, s).tab.x; got != 60 {
		t.Errorf("on a screen twice as wide the border is at %d", got)
	}
	if got := fmt.Sprint(arrangeScreen(60, 18, onTimeline, s).timeline); got != fmt.Sprint(arrangeScreen(60, 18, onTimeline, shares{}).timeline) {
		t.Errorf("stacked: %s", got)
	}
}
