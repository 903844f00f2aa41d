package cell

import "hindcast/keymap"

// Window is a cursor in a list of rows, some of them on the screen.
// The zero Window is at the top of an empty list.
type Window struct {
	// Height is the number of rows on the screen, Len that of the list.
	Height, Len int
	// Top is the first row that shows, Cursor the one that is selected.
	Top, Cursor int
}

// margin is how many rows stay in sight beyond the cursor.
const margin = 2

// Move moves the cursor by n rows, as far as the list goes, and scrolls to it.
// It reports whether the cursor moved.
func (v *Window) Move(n int) bool { return v.MoveTo(v.Cursor + n) }

// MoveTo moves the cursor to a row, or to the nearest one, and scrolls to it.
// It reports whether the cursor moved.
func (v *Window) MoveTo(row int) bool {
	before := v.Cursor
	v.Cursor = max(0, min(row, v.Len-1))
	keep := min(margin, max(0, (v.Height-1)/2))
	v.Top = max(min(v.Top, v.Cursor-keep), v.Cursor+keep-v.Height+1)
	v.clamp()
	return v.Cursor != before
}

// Scroll moves what shows by n rows; the cursor stays in sight. It reports
// whether anything moved.
func (v *Window) Scroll(n int) bool {
	top, cursor := v.Top, v.Cursor
	v.Top += n
	v.clamp()
	v.Cursor = max(0, min(max(v.Cursor, v.Top), v.Top+v.Height-1, v.Len-1))
	return v.Top != top || v.Cursor != cursor
}

// Resize says how many rows are on the screen, and keeps the cursor in sight.
func (v *Window) Resize(height int) {
	v.Height = max(height, 0)
	v.MoveTo(v.Cursor)
}

// SetLen says how many rows the list has, and keeps the cursor in it.
func (v *Window) SetLen(n int) {
	v.Len = n
	v.MoveTo(v.Cursor)
}

func (v *Window) clamp() { v.Top = max(0, min(v.Top, v.Len-v.Height)) }

// Thumb returns the rows of the screen that a scrollbar's thumb covers, from and
// up to but without to; both are 0 where everything is in sight.
func (v *Window) Thumb() (from, to int) {
	if v.Len <= v.Height || v.Height <= 0 {
		return 0, 0
	}
	size := max(1, v.Height*v.Height/v.Len)
	from = v.Top * (v.Height - size) / (v.Len - v.Height)
	return from, from + size
}

// Steps returns by how many rows an action moves down a list that shows height
// rows; up is negative. ok is false for actions that do not move by rows.
func Steps(a keymap.Action, height int) (n int, ok bool) {
	// A row of the page before stays in sight, so that the eye finds its place.
	page := max(height-1, 1)
	switch a {
	case keymap.MoveDown:
		return 1, true
	case keymap.MoveUp:
		return -1, true
	case keymap.HalfDown:
		return max(page/2, 1), true
	case keymap.HalfUp:
		return -max(page/2, 1), true
	case keymap.PageDown:
		return page, true
	case keymap.PageUp:
		return -page, true
	}
	return 0, false
}

// Do carries out the actions that move the cursor through the list; it reports
// whether a is one of them.
func (v *Window) Do(a keymap.Action) bool {
	switch n, ok := Steps(a, v.Height); {
	case ok:
		v.Move(n)
	case a == keymap.Top:
		v.MoveTo(0)
	case a == keymap.Bottom:
		v.MoveTo(v.Len - 1)
	default:
		return false
	}
	return true
}
