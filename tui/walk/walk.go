// Package walk is a cursor in a list of rows that is too long to count: the rows are reached one from
// another, and only those on the screen are known. So a state of any size folds and scrolls in the same time.
//
// For lists whose length is known there is cell.Window.
package walk

import (
	"slices"

	"hindcast/keymap"
	"hindcast/tui/cell"
)

// Row names a row of a list.
type Row comparable

// List is the list that a [Window] walks in. All of its methods take rows that show.
type List[R Row] interface {
	// Next returns the row after r; false at the end.
	Next(r R) (R, bool)
	// Prev returns the row before r; false at the beginning.
	Prev(r R) (R, bool)
	// First and Last return the ends of the list; false when it is empty.
	First() (R, bool)
	Last() (R, bool)
}

// margin is how many rows stay in sight beyond the cursor.
const margin = 2

// Window is the part of a list that is on the screen, and the cursor in it.
// The zero Window shows nothing.
type Window[R Row] struct {
	height int
	rows   []R
	at     int // the cursor, in rows
}

// Rows returns the rows on the screen, from the top. There are fewer than the
// height only when the list ends.
func (w *Window[R]) Rows() []R { return w.rows }

// Cursor returns the row under the cursor and its place on the screen; false when there are no rows.
func (w *Window[R]) Cursor() (row R, y int, ok bool) {
	if len(w.rows) == 0 {
		return row, 0, false
	}
	return w.rows[w.at], w.at, true
}

// Height returns the number of rows that there is room for.
func (w *Window[R]) Height() int { return w.height }

// Clear takes all rows off the screen, as for an empty list.
func (w *Window[R]) Clear() { w.rows, w.at = nil, 0 }

// Resize says how many rows there is room for, and keeps the cursor in sight.
func (w *Window[R]) Resize(list List[R], height int) {
	w.height = max(height, 0)
	if row, y, ok := w.Cursor(); ok {
		w.Place(list, row, y)
		return
	}
	w.Top(list)
}

// Place moves the cursor to a row and puts that at place y of the screen, or
// as near to it as the margins and the ends of the list allow.
func (w *Window[R]) Place(list List[R], row R, y int) {
	keep := min(margin, max(0, (w.height-1)/2))
	y = max(keep, min(y, w.height-1-keep))
	above := []R(nil)
	for r, ok := row, true; len(above) < y; {
		if r, ok = list.Prev(r); !ok {
			break
		}
		above = append(above, r)
	}
	slices.Reverse(above)
	w.at = len(above)
	w.rows = append(append(w.rows[:0], above...), row)
	w.fillRows(list)
}

// fillRows adds rows below those that there are, and above where the list ends
// below.
func (w *Window[R]) fillRows(list List[R]) {
	for len(w.rows) < max(w.height, 1) {
		r, ok := list.Next(w.rows[len(w.rows)-1])
		if !ok {
			break
		}
		w.rows = append(w.rows, r)
	}
	var above []R
	for r, ok := w.rows[0], true; len(above)+len(w.rows) < w.height; {
		if r, ok = list.Prev(r); !ok {
			break
		}
		above = append(above, r)
	}
	slices.Reverse(above)
	w.rows = slices.Insert(w.rows, 0, above...)
	w.at += len(above)
}

// Move moves the cursor by n rows, as far as the list goes.
func (w *Window[R]) Move(list List[R], n int) {
	row, y, ok := w.Cursor()
	if !ok {
		return
	}
	for ; n > 0 && ok; n-- {
		var next R
		if next, ok = list.Next(row); ok {
			row, y = next, y+1
		}
	}
	for ; n < 0 && ok; n++ {
		var prev R
		if prev, ok = list.Prev(row); ok {
			row, y = prev, y-1
		}
	}
	w.Place(list, row, y)
}

// Scroll moves what shows by n rows; the cursor stays in sight.
func (w *Window[R]) Scroll(list List[R], n int) {
	row, y, ok := w.Cursor()
	if !ok {
		return
	}
	top := w.rows[0]
	moved := 0
	for ; moved < n; moved++ {
		last, more := list.Next(w.rows[len(w.rows)-1])
		if !more {
			break
		}
		w.rows = append(w.rows[1:], last)
		top = w.rows[0]
	}
	for ; moved > n; moved-- {
		prev, more := list.Prev(top)
		if !more {
			break
		}
		top = prev
	}
	w.rows, w.at = append(w.rows[:0:0], top), 0
	w.fillRows(list)
	w.at = max(0, min(y-moved, len(w.rows)-1))
	if i := slices.Index(w.rows, row); i >= 0 {
		w.at = i
	}
}

// Top moves the cursor to the first row.
func (w *Window[R]) Top(list List[R]) { w.goToEnd(list, list.First) }

// Bottom moves the cursor to the last row.
func (w *Window[R]) Bottom(list List[R]) { w.goToEnd(list, list.Last) }

func (w *Window[R]) goToEnd(list List[R], end func() (R, bool)) {
	row, ok := end()
	if !ok {
		w.Clear()
		return
	}
	w.Place(list, row, 0)
}

// Thumb returns the rows of the screen that a scrollbar's thumb covers, from and
// up to but without to; both are 0 where everything is in sight. As the rows
// are not counted, measure returns how far into the list the first and the last
// row that show are, and how far it goes, in any unit; it goes further than 0.
func (w *Window[R]) Thumb(list List[R], measure func(first, last R) (start, end, size int)) (from, to int) {
	if len(w.rows) == 0 {
		return 0, 0
	}
	first, last := w.rows[0], w.rows[len(w.rows)-1]
	_, more := list.Next(last)
	if _, before := list.Prev(first); !more && !before {
		return 0, 0
	}
	start, end, size := measure(first, last)
	from = start * w.height / size
	to = max(end*w.height/size, from+1)
	if !more {
		from, to = max(0, w.height-(to-from)), w.height
	}
	return min(from, w.height-1), min(to, w.height)
}

// Do carries out the actions that move the cursor through the list; it reports
// whether a is one of them.
func (w *Window[R]) Do(list List[R], a keymap.Action) bool {
	switch n, ok := cell.Steps(a, w.height); {
	case ok:
		w.Move(list, n)
	case a == keymap.Top:
		w.Top(list)
	case a == keymap.Bottom:
		w.Bottom(list)
	default:
		return false
	}
	return true
}

// Click moves the cursor to the row at place y of the screen; it reports
// whether there is one.
func (w *Window[R]) Click(y int) bool {
	if y < 0 || y >= len(w.rows) {
		return false
	}
	w.at = y
	return true
}
